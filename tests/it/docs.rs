//! The documents against the program: the reference tables are current, every command line, flag
//! and option that is shown is accepted, every file and heading that is linked exists.
//! `UPDATE_DOCS=1 cargo nextest run --test it docs` writes the tables.

mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use moai_config::{Config, OptionFile};
use moai_lsp::registry::Catalogue;
use serde_json::Value;

use crate::mcp_client::Client;
use crate::support::{CHECKOUT, Sandbox};

/// Flags of other programs that the documents name.
const FOREIGN_FLAGS: [&str; 1] = ["--no-ff"];

/// The documents for users: both introductions and everything below `docs/`.
fn user_documents() -> Vec<String> {
    let pages = tables::files_below(&Path::new(CHECKOUT).join("docs"), "md");
    let relative = |page: &PathBuf| {
        let path = page.strip_prefix(CHECKOUT).expect("it is below the checkout");
        path.to_string_lossy().into_owned()
    };
    let mut documents: Vec<String> = pages.iter().map(relative).collect();
    assert!(documents.len() >= 10, "{documents:?}");
    documents.extend(owned(&["README.md", "README.ko.md"]));
    documents
}

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

/// One option of `config/ralph.yaml`.
struct OptionRow {
    /// Its dotted path below `ralph`.
    key: String,
    default: String,
    /// The comment above it.
    comment: String,
}

fn option_rows() -> Vec<OptionRow> {
    let mut path: Vec<String> = Vec::new();
    let mut comment = Vec::new();
    let mut rows = Vec::new();
    for line in read("config/ralph.yaml").lines() {
        let text = line.trim_start();
        if let Some(text) = text.strip_prefix('#') {
            comment.push(text.trim().to_owned());
            continue;
        }
        let Some((key, value)) = text.split_once(':') else { continue };
        path.truncate((line.len() - text.len()) / 2);
        path.push(key.to_owned());
        let comment = std::mem::take(&mut comment).join(" ");
        if !value.trim().is_empty() {
            let key = path[1..].join(".");
            assert!(!comment.is_empty(), "config/ralph.yaml does not explain {key}");
            rows.push(OptionRow { key, default: value.trim().to_owned(), comment });
        }
    }
    assert!(rows.len() >= 36, "{}", rows.len());
    rows
}

/// The document with up-to-date generated tables, and their names.
fn with_current_tables(
    name: &str,
    text: &str,
    tables: &BTreeMap<&'static str, String>,
) -> (String, Vec<String>) {
    let (mut current, mut names) = (String::new(), Vec::new());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        current.push_str(line);
        current.push('\n');
        let Some(rest) = line.strip_prefix("<!-- generated: ") else { continue };
        let table = rest.trim_end_matches(" -->");
        let new = tables.get(table).unwrap_or_else(|| panic!("{name}: no table {table}"));
        assert!(lines.any(|line| line == "<!-- end -->"), "{name}: {table} has no end");
        current.push_str(new);
        current.push_str("<!-- end -->\n");
        names.push(table.to_owned());
    }
    (current, names)
}

#[test]
fn reference_tables_are_current() {
    let tables = tables::all();
    let is_update = std::env::var_os("UPDATE_DOCS").is_some();
    let mut shown = BTreeSet::new();
    let mut outdated = Vec::new();
    for name in user_documents() {
        let text = read(&name);
        let (current, names) = with_current_tables(&name, &text, &tables);
        shown.extend(names);
        if current == text {
            continue;
        }
        if is_update {
            fs::write(Path::new(CHECKOUT).join(&name), current).expect("a document can be written");
            continue;
        }
        let mut pairs = text.lines().zip(current.lines());
        let difference = pairs.find(|(old, new)| old != new);
        outdated.push(format!("{name}: {difference:?}"));
    }
    assert!(
        outdated.is_empty(),
        "run UPDATE_DOCS=1 cargo nextest run --test it docs\n  {}",
        outdated.join("\n  ")
    );
    let hidden: Vec<_> = tables.keys().filter(|table| !shown.contains(**table)).collect();
    assert!(hidden.is_empty(), "no document shows these tables: {hidden:?}");
}

fn assert_accepted(sandbox: &Sandbox, document: &str, line: &[String]) {
    // With `--help` at its end, a line is parsed and not executed.
    let mut arguments: Vec<&str> = line.iter().map(String::as_str).collect();
    arguments.push("--help");
    let output = sandbox.run(&arguments);
    assert_eq!(output.code, 0, "{document}: {line:?}: {output:#?}");
    assert!(output.stdout.contains("Usage: moai-ralph"), "{document}: {line:?}: {output:#?}");
}

#[test]
fn every_command_line_shown_is_accepted() {
    let sandbox = Sandbox::new();
    let mut count = 0;
    for name in user_documents() {
        let text = read(&name);
        let inline = spans(&without_tables(&text)).into_iter();
        let inline = inline.filter_map(|span| Some(words(span.strip_prefix("moai-ralph ")?)));
        for line in command_lines(&text).into_iter().chain(inline) {
            assert_accepted(&sandbox, &name, &line);
            count += 1;
        }
    }
    assert!(count >= 80, "only {count} command lines");
}

/// A clone in CI: the last commit adds an error and weakens a test, and nothing differs from HEAD.
fn ci_checkout() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", "def run(code):\n    return eval(code)\n");
    sandbox.write("test_app.py", "def test_run():\n    assert run('1') == 1\n");
    let known = sandbox.run(&["scan", "--write-baseline", "known.json"]);
    assert_eq!(known.code, 0, "{known:#?}");
    sandbox.commit();
    sandbox.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    sandbox.write("more.py", "def run(code):\n    return eval(code)\n");
    sandbox.write("test_app.py", "def test_run():\n    assert run('1')\n");
    sandbox.commit();
    sandbox
}

#[test]
fn the_ci_recipe_fails_on_what_the_last_commit_added() {
    let sandbox = ci_checkout();
    for name in ["README.md", "README.ko.md"] {
        let fences = fences(&read(name));
        let recipe = fences.iter().find(|(_, body)| body.contains("--format github"));
        let (_, recipe) = recipe.unwrap_or_else(|| panic!("{name} has no recipe for CI"));
        let lines = command_lines(&format!("```sh\n{recipe}\n```"));
        assert_eq!(lines.len(), 4, "{name}: {lines:?}");
        for line in lines {
            let arguments: Vec<&str> = line.iter().map(String::as_str).collect();
            let output = sandbox.run(&arguments);
            assert_eq!(output.code, 1, "{name}: {line:?}: {output:#?}");
        }
    }
}

/// The document without its generated parts.
fn without_tables(text: &str) -> String {
    let mut is_generated = false;
    let mut kept = Vec::new();
    for line in text.lines() {
        is_generated |= line.starts_with("<!-- generated: ");
        if !is_generated {
            kept.push(line);
        }
        is_generated &= line != "<!-- end -->";
    }
    kept.join("\n")
}

#[test]
fn every_flag_option_and_slash_command_named_exists() {
    let sandbox = Sandbox::new();
    let commands = tables::commands(&sandbox);
    let flags: BTreeSet<&str> = commands.iter().flat_map(tables::CommandHelp::flags).collect();
    let options: BTreeSet<String> = option_rows().into_iter().map(|row| row.key).collect();
    let groups: BTreeSet<&str> =
        options.iter().filter_map(|key| Some(key.split_once('.')?.0)).collect();
    let mut unknown = Vec::new();
    for name in user_documents() {
        let text = without_tables(&read(&name));
        let slash_lines = text.lines().filter(|line| line.starts_with("/moai-ralph:"));
        let named = spans(&text).into_iter().filter(|span| span.starts_with("--"));
        for line in named.chain(slash_lines.map(str::to_owned)) {
            let known = |flag: &&str| flags.contains(*flag) || FOREIGN_FLAGS.contains(flag);
            let mentioned = line.split(' ').filter(|word| word.len() > 2 && word.starts_with("--"));
            unknown.extend(mentioned.filter(|flag| !known(flag)).map(|it| format!("{name}: {it}")));
        }
        for span in spans(&text) {
            let Some((group, rest)) = span.split_once('.') else { continue };
            let is_key = |it: char| it.is_ascii_lowercase() || it == '_';
            let is_file = ["json", "log", "md"].contains(&rest);
            let is_option = groups.contains(group) && !is_file && rest.chars().all(is_key);
            if is_option && !options.contains(&span) {
                unknown.push(format!("{name}: {span}"));
            }
        }
        for rest in text.split("/moai-ralph:").skip(1) {
            let is_part = |it: char| it.is_ascii_lowercase() || it == '-';
            let command = &rest[..rest.find(|it| !is_part(it)).unwrap_or(rest.len())];
            if !Path::new(CHECKOUT).join(format!("commands/{command}.md")).is_file() {
                unknown.push(format!("{name}: /moai-ralph:{command}"));
            }
        }
    }
    assert!(unknown.is_empty(), "named, but unknown:\n  {}", unknown.join("\n  "));
}

#[test]
fn every_slash_command_and_detector_is_documented() {
    let pages = ["docs/loops.md", "docs/memory.md", "docs/pipeline.md", "docs/specs.md"];
    let documented = pages.map(read).concat();
    for entry in fs::read_dir(Path::new(CHECKOUT).join("commands")).expect("commands").flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let command = format!("/moai-ralph:{}", file.trim_end_matches(".md"));
        assert!(documented.contains(&command), "docs/ does not show {command}");
    }
    let guard = read("docs/guard.md");
    let rows = guard.lines().filter_map(|line| line.strip_prefix("| `G")?.get(..2));
    let documented: BTreeSet<String> = rows.map(|number| format!("G{number}")).collect();
    assert_eq!(documented, tables::detectors());
}

/// The sources of the program, with strings that continue on the next line joined.
fn sources() -> String {
    let mut text = read("crates/lsp/lsp.json");
    for folder in ["crates", "src"] {
        for file in tables::files_below(&Path::new(CHECKOUT).join(folder), "rs") {
            let source = fs::read_to_string(file).expect("a source can be read");
            let mut parts = source.split("\\\n");
            text.push_str(parts.next().unwrap_or_default());
            parts.for_each(|part| text.push_str(part.trim_start()));
        }
    }
    text
}

#[test]
fn the_reasons_in_the_table_are_those_that_the_program_gives() {
    let text = read("docs/troubleshooting.md");
    let (_, table) = text.split_once("## Reasons for \"not measured\"").expect("the table");
    let rows = table.lines().take_while(|line| !line.starts_with("## "));
    let cells: Vec<&str> =
        rows.filter_map(|row| row.strip_prefix("| `")?.split(" | ").next()).collect();
    assert!(cells.len() >= 15, "{cells:?}");
    let sources = sources();
    let mut unknown = Vec::new();
    for reason in cells.iter().flat_map(|cell| cell.split('`').step_by(2)) {
        // What follows the colon is a remedy or an output; names and numbers vary.
        let detail = reason.split(": ").next().unwrap_or_default();
        let parts = detail.split(|letter: char| letter == '…' || letter.is_ascii_digit());
        let fixed = parts.filter(|part| part.trim().len() > 3);
        unknown.extend(fixed.filter(|part| !sources.contains(part)).map(str::to_owned));
    }
    assert!(unknown.is_empty(), "the program says nothing of this: {unknown:#?}");
}

#[test]
fn json_that_is_shown_is_what_the_program_reads_and_writes() {
    let shown = |name: &str| -> String {
        let blocks = fences(&read(name)).into_iter().filter(|(language, _)| language == "json");
        let blocks: Vec<String> = blocks.map(|(_, body)| body).collect();
        assert_eq!(blocks.len(), 1, "{name}");
        blocks.concat()
    };
    let own = Catalogue::parse(&shown("docs/language-servers.md"));
    let own = own.expect("the example is a catalogue");
    assert_eq!(Catalogue::built_in().with_project_entries(own).dangling_server(), None);

    let shown: Value =
        serde_json::from_str(&shown("docs/json-documents.md")).expect("the example is JSON");
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
    let mut count = 0;
    for name in user_documents() {
        for (_, body) in fences(&read(&name)).into_iter().filter(|(language, _)| language == "yaml")
        {
            let shown =
                OptionFile { name: name.clone(), text: body, is_trusted: true, is_of_user: true };
            let loaded = Config::load(&[shown], &BTreeMap::new(), Catalogue::built_in());
            assert!(loaded.is_ok_and(|options| options != Config::default()), "{name}");
            count += 1;
        }
    }
    assert!(count >= 2, "{count}");
}

#[test]
fn every_documented_environment_variable_is_read() {
    for OptionRow { key, .. } in option_rows() {
        let variable = tables::environment_variable(&key);
        let broken = BTreeMap::from([(variable.clone(), "[".to_owned())]);
        let error = Config::load(&[], &broken, Catalogue::built_in()).expect_err(&variable);
        assert!(error.to_string().contains(&variable), "{error}");
    }
}

#[test]
fn every_tool_of_an_agent_is_named_in_the_options() {
    let sandbox = Sandbox::new();
    let mut client = Client::start(&sandbox);
    let options = read("config/ralph.yaml");
    for name in client.tool_names() {
        assert!(options.contains(&name), "config/ralph.yaml does not name the tool {name}");
    }
    client.end();
}

/// The anchor that a heading gets.
fn anchor(heading: &str) -> String {
    let text = heading.trim_start_matches('#').trim().to_lowercase();
    let kept = text.chars().filter(|it| it.is_alphanumeric() || matches!(it, ' ' | '-' | '_'));
    kept.collect::<String>().replace(' ', "-")
}

#[test]
fn every_file_spoken_of_exists() {
    let folders = [
        "src/",
        "crates/",
        "tests/",
        "config/",
        "hooks/",
        "commands/",
        "scripts/",
        "bin/",
        ".claude-plugin/",
        ".ci/",
    ];
    let mut missing = Vec::new();
    let others = owned(&["ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md"]);
    for name in user_documents().into_iter().chain(others) {
        let text = read(&name);
        let body = prose(&text);
        let links = body.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let folder = Path::new(&name).parent().expect("a document is in a folder").to_owned();
        let mut targets = Vec::new();
        for link in links.filter(|link| !link.contains("://")) {
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() {
                name.clone()
            } else {
                format!("{}", folder.join(file).display())
            };
            if !heading.is_empty() {
                let target = prose(&read(&file));
                let mut headings = target.lines().filter(|line| line.starts_with('#'));
                assert!(headings.any(|line| anchor(line) == heading), "{name}: {link}");
            }
            targets.push(file);
        }
        let files = spans(&text).into_iter().filter_map(|span| {
            let file = span.split(' ').next().unwrap_or_default().to_owned();
            let is_pattern = file.contains(['<', '*', '{']);
            let is_file = folders.iter().any(|folder| file.starts_with(folder));
            (is_file && !is_pattern).then_some(file)
        });
        for file in targets.into_iter().chain(files) {
            // `tests/it/tidy` means the module, whose file is `tests/it/tidy.rs`.
            let path = Path::new(CHECKOUT).join(&file);
            if !path.exists() && !path.with_extension("rs").exists() {
                missing.push(format!("{name}: {file}"));
            }
        }
    }
    assert!(missing.is_empty(), "spoken of, but not there:\n  {}", missing.join("\n  "));
}

#[test]
fn the_map_names_every_crate_and_only_modules_that_exist() {
    let text = read("ARCHITECTURE.md");
    let spans: BTreeSet<String> = spans(&text).into_iter().collect();
    let crates = Path::new(CHECKOUT).join("crates");
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(&crates).expect("the crates can be read").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(spans.contains(&name), "the map does not name {name}");
        names.insert(name);
    }
    for row in text.lines().filter(|row| row.starts_with("| `")) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let manifest = crates.join(cells[1].trim_matches('`')).join("Cargo.toml");
        let (Ok(manifest), false) = (fs::read_to_string(manifest), cells[2].contains("all")) else {
            continue;
        };
        let imported: BTreeSet<&str> =
            cells[2].split(", ").filter(|name| !name.is_empty()).collect();
        let dependencies = manifest.split("\n[").find(|it| it.starts_with("dependencies]"));
        let lines = dependencies.unwrap_or_default().lines();
        let names = lines.filter_map(|line| line.strip_prefix("moai-")?.split_once('.'));
        assert_eq!(imported, names.map(|(name, _)| name).collect(), "{row}");
    }
    for name in ["engine", "host"] {
        for file in fs::read_dir(crates.join(name).join("src")).expect("sources").flatten() {
            let file = file.file_name().to_string_lossy().into_owned();
            let Some(module) = file.strip_suffix(".rs") else { continue };
            let is_private = module == "lib" || module.starts_with("test_");
            let is_named = spans.contains(&format!("{name}::{module}"))
                || spans.contains(&format!("crates/{name}/src/{file}"));
            assert!(is_private || is_named, "the map does not name {name}::{module}");
        }
    }
    // `scan::engine` is a module of the crate `scan`, or an item of the module before it.
    let more = self::spans(&read("docs/internals/modules.md"));
    for span in spans.iter().chain(&more).filter(|span| span.contains("::")) {
        let parts: Vec<&str> = span.split("::").collect();
        if !names.contains(parts[0]) {
            continue;
        }
        let source = crates.join(parts[0]).join("src");
        let is_module =
            |names: &[&str]| source.join(names.join("/")).with_extension("rs").is_file();
        let is_item = parts.len() > 2 && is_module(&parts[1..parts.len() - 1]);
        assert!(is_module(&parts[1..]) || is_item, "{span}");
    }
}
