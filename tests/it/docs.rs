//! The documents against the program: every option and subcommand is named, every command line
//! that is shown is accepted, every file that is spoken of exists. It must not judge wording.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use moai_ralph::config::Config;
use moai_ralph::lsp::registry::Catalogue;
use serde_json::Value;

use crate::mcp_client::Client;
use crate::support::{CHECKOUT, Sandbox};

const READMES: [&str; 2] = ["README.md", "README.ko.md"];
const DOCUMENTS: [&str; 5] =
    ["README.md", "README.ko.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"];

fn read(name: &str) -> String {
    let file = Path::new(CHECKOUT).join(name);
    fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

/// Language and text of every fenced code block.
fn fences(text: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(language) = line.strip_prefix("```") else { continue };
        let body: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
        blocks.push((language.to_owned(), body.join("\n")));
    }
    blocks
}

/// The document without its fenced blocks.
fn prose(text: &str) -> String {
    let mut is_code = false;
    let is_prose = |line: &&str| {
        let is_fence = line.starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    };
    text.lines().filter(is_prose).collect::<Vec<_>>().join("\n")
}

/// Texts between single backticks.
fn spans(text: &str) -> Vec<String> {
    prose(text)
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

/// Words as a shell splits them, up to a comment; quotes group, nothing is expanded.
fn words(line: &str) -> Vec<String> {
    let (mut found, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if character == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, ' ') => found.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    found.extend(word);
    found
}

/// The arguments of every command line of this program that a document shows in a code block.
fn command_lines(text: &str) -> Vec<Vec<String>> {
    let starts: [&[&str]; 3] =
        [&["moai-ralph"], &["bin/moai-ralph"], &["cargo", "run", "--release", "--"]];
    let shown = fences(text).into_iter().filter(|(language, _)| language != "json");
    let lines: Vec<String> =
        shown.flat_map(|(_, body)| body.lines().map(str::to_owned).collect::<Vec<_>>()).collect();
    lines
        .iter()
        .filter_map(|line| {
            let words = words(line.strip_prefix("$ ").unwrap_or(line));
            let start = starts.iter().find(|start| words.starts_with(&owned(start)))?;
            Some(words[start.len()..].to_vec())
        })
        .collect()
}

fn owned(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Dotted key and documented default of every option.
fn options() -> Vec<(String, String)> {
    let mut path: Vec<String> = Vec::new();
    let mut found = Vec::new();
    for line in read("config/ralph.yaml").lines() {
        let text = line.trim_start();
        let Some((key, value)) = text.split_once(':').filter(|_| !text.starts_with('#')) else {
            continue;
        };
        path.truncate((line.len() - text.len()) / 2);
        path.push(key.to_owned());
        if !value.trim().is_empty() {
            found.push((path[1..].join("."), value.trim().to_owned()));
        }
    }
    found
}

/// Names in the `Commands:` part of a help text.
fn subcommands(sandbox: &Sandbox, path: &[String]) -> Vec<String> {
    let mut arguments = vec!["help"];
    arguments.extend(path.iter().map(String::as_str));
    let help = sandbox.run(&arguments);
    assert_eq!(help.code, 0, "{path:?}: {help:#?}");
    let part = help.stdout.split_once("Commands:\n").map_or("", |(_, rest)| rest);
    part.lines()
        .take_while(|line| !line.trim().is_empty())
        .filter_map(|line| line.strip_prefix("  ")?.split(' ').next())
        .filter(|name| !name.is_empty() && *name != "help")
        .map(str::to_owned)
        .collect()
}

/// Every command that does something, as the words behind the program's name.
fn leaves(sandbox: &Sandbox, path: &[String]) -> Vec<Vec<String>> {
    let below = subcommands(sandbox, path);
    if below.is_empty() {
        return vec![path.to_vec()];
    }
    let longer = |name: String| [path, &[name]].concat();
    below.into_iter().flat_map(|name| leaves(sandbox, &longer(name))).collect()
}

#[test]
fn every_option_stands_in_the_table_with_its_default_and_its_variable() {
    let options = options();
    assert!(options.len() >= 11, "{options:?}");
    for name in READMES {
        let text = read(name);
        for (key, default) in &options {
            let row = text.lines().find(|line| line.starts_with(&format!("| `{key}` |")));
            let row = row.unwrap_or_else(|| panic!("{name}: no row for {key}"));
            let variable = format!("MOAI_RALPH_{}", key.replace('.', "_").to_uppercase());
            for part in [default, &variable] {
                assert!(row.contains(&format!("| `{part}` |")), "{name}: {part} not in {row}");
            }
        }
    }
}

#[test]
fn every_subcommand_is_named() {
    let sandbox = Sandbox::new();
    let leaves = leaves(&sandbox, &[]);
    assert!(leaves.len() >= 10, "{leaves:?}");
    for name in READMES {
        let text = read(name);
        for leaf in &leaves {
            let row = format!("| `moai-ralph {}` |", leaf.join(" "));
            assert!(text.contains(&row), "{name}: {row} is missing");
        }
    }
}

#[test]
fn every_command_line_shown_is_accepted() {
    let sandbox = Sandbox::new();
    for name in READMES {
        let lines = command_lines(&read(name));
        assert!(lines.len() >= 15, "{name}: only {lines:?}");
        for line in lines {
            // `help` behind a whole line: what stands before it was read and accepted.
            let mut arguments: Vec<&str> = line.iter().map(String::as_str).collect();
            arguments.push("--help");
            let output = sandbox.run(&arguments);
            assert_eq!(output.code, 0, "{name}: {line:?}: {output:#?}");
            assert!(output.stdout.contains("Usage: moai-ralph"), "{name}: {line:?}: {output:#?}");
        }
    }
}

#[test]
fn both_languages_show_the_same_commands() {
    let [english, korean] = READMES.map(read);
    assert_eq!(command_lines(&english), command_lines(&korean));
    let blocks = |text: &str| {
        let blocks = fences(text).into_iter().filter(|(language, _)| language != "sh");
        blocks.collect::<Vec<_>>()
    };
    assert_eq!(blocks(&english), blocks(&korean));
}

#[test]
fn json_that_is_shown_is_what_the_program_reads_and_writes() {
    let text = read("README.md");
    let (catalogues, reports): (Vec<_>, Vec<_>) = fences(&text)
        .into_iter()
        .filter(|(language, _)| language == "json")
        .map(|(_, body)| body)
        .partition(|body| body.contains("\"servers\""));
    assert_eq!((catalogues.len(), reports.len()), (1, 1));
    let own = Catalogue::parse(&catalogues[0]).expect("the example is a catalogue");
    assert_eq!(Catalogue::built_in().with_project_entries(own).dangling_server(), None);

    let shown: Value = serde_json::from_str(&reports[0]).expect("the example is JSON");
    let sandbox = Sandbox::new();
    sandbox.write("app.py", "import os\n\ndef run(code):\n    return eval(code)\n");
    let real = sandbox.run(&["check", "--json", "--no-lsp", "app.py"]).json();
    let keys = |value: &Value| -> BTreeSet<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    assert_eq!(shown["schema"], real["schema"]);
    for place in ["", "/summary", "/sensors/0", "/findings/0", "/findings/0/range"] {
        let at = |document: &Value| keys(document.pointer(place).expect(place));
        assert_eq!(at(&shown), at(&real), "keys at {place:?}");
    }
}

#[test]
fn options_that_are_shown_are_accepted() {
    for name in READMES {
        let shown = fences(&read(name)).into_iter().filter(|(language, _)| language == "yaml");
        let shown: Vec<(String, String)> = shown.map(|(_, body)| (name.to_owned(), body)).collect();
        assert_eq!(shown.len(), 1, "{name}");
        let loaded = Config::load(&shown, &BTreeMap::new(), Catalogue::built_in());
        assert!(loaded.is_ok_and(|options| options != Config::default()), "{name}");
    }
}

#[test]
fn every_server_of_the_catalogue_stands_in_the_table_with_what_is_known_of_it() {
    for (name, unverified) in [("README.md", "not verified"), ("README.ko.md", "검증 안 됨")] {
        let text = read(name);
        for (id, spec) in Catalogue::built_in().servers() {
            let is_row = |line: &&str| {
                let cells: Vec<&str> = line.split('|').collect();
                let words = |cell: &str| {
                    let is_between = |it: char| !it.is_ascii_alphanumeric() && it != '-';
                    cell.split(is_between).any(|word| word == id)
                };
                cells.len() == 6 && words(cells[2])
            };
            let row = text.lines().find(is_row);
            let row = row.unwrap_or_else(|| panic!("{name}: {id} has no row"));
            assert_eq!(row.contains(unverified), !spec.verified, "{name}: {row}");
        }
    }
}

#[test]
fn every_tool_of_an_agent_stands_in_the_table_and_in_the_options() {
    let sandbox = Sandbox::new();
    let mut client = Client::start(&sandbox);
    let options = read("config/ralph.yaml");
    for name in client.tool_names() {
        for file in READMES {
            let row = format!("\n| `{name}` | ");
            assert!(read(file).contains(&row), "{file} has no row for the tool {name}");
        }
        assert!(options.contains(&name), "config/ralph.yaml does not name the tool {name}");
    }
    client.end();
}

#[test]
fn every_file_spoken_of_exists() {
    let folders = [
        "src/",
        "tests/",
        "rules/",
        "config/",
        "hooks/",
        "commands/",
        "scripts/",
        "bin/",
        ".claude-plugin/",
        ".ci/",
    ];
    let mut missing = Vec::new();
    for name in DOCUMENTS {
        let text = read(name);
        let prose = prose(&text);
        let links = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let links = links.filter(|link| !link.contains("://")).map(str::to_owned);
        let files = spans(&text).into_iter().filter_map(|span| {
            let file = span.split(' ').next().unwrap_or_default().to_owned();
            let is_pattern = file.contains(['<', '*', '{']);
            let is_file = folders.iter().any(|folder| file.starts_with(folder));
            (is_file && !is_pattern).then_some(file)
        });
        for file in links.chain(files) {
            // `tests/it/tidy` stands for the module, whose file is `tests/it/tidy.rs`.
            let path = Path::new(CHECKOUT).join(&file);
            if !path.exists() && !path.with_extension("rs").exists() {
                missing.push(format!("{name}: {file}"));
            }
        }
    }
    assert!(missing.is_empty(), "spoken of, but not there:\n  {}", missing.join("\n  "));
}

#[test]
fn the_map_names_every_module_and_nothing_that_is_not_built() {
    let text = read("ARCHITECTURE.md");
    let spans: BTreeSet<String> = spans(&text).into_iter().collect();
    let source = Path::new(CHECKOUT).join("src");
    let mut modules = BTreeSet::new();
    for entry in fs::read_dir(&source).expect("the sources can be read").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some(module) = name.strip_suffix(".rs").filter(|it| !["lib", "main"].contains(it)) {
            assert!(spans.contains(module), "the map does not name {module}");
            modules.insert(module.to_owned());
        }
    }
    let rooms = text.split_once("## Rooms that are left free").expect("its chapter").1;
    let rooms = rooms.split_once("\n## ").expect("a next chapter").0;
    for line in rooms.lines().filter(|line| line.starts_with("| ") && line.contains('`')) {
        for room in line.split('`').skip(1).step_by(2) {
            assert!(!modules.contains(room), "{room} is built and still called free");
        }
    }
    // `scan::engine` and its like are modules or items of them; their files must be there.
    for span in spans.iter().filter(|span| span.contains("::")) {
        let parts: Vec<&str> = span.split("::").collect();
        if !modules.contains(parts[0]) {
            continue;
        }
        let is_file =
            |length: usize| source.join(parts[..length].join("/")).with_extension("rs").is_file();
        assert!(is_file(parts.len()) || parts.len() > 2 && is_file(parts.len() - 1), "{span}");
    }
}
