//! The import table: a module imports only from lower layers, modules of one layer do not see each
//! other, and a third-party crate is named only by the module that owns it.

use std::path::Path;

use super::sources::{Source, files};
use super::text::{code_only, line_of, word_positions};
use crate::support::CHECKOUT;

/// Layer of every module at the top of `src`. A new module gets its row here first.
const LAYERS: &[(u8, &[&str])] = &[
    (0, &["base"]),
    (1, &["wire"]),
    (2, &["scan", "lsp", "looping", "judge", "pipeline", "memory"]),
    (3, &["report", "config", "guard"]),
    (4, &["processes"]),
    (5, &["ipc", "servers", "store", "files", "git", "checks", "models"]),
    (6, &["daemon"]),
    (7, &["mcp", "editor", "dashboard"]),
    (8, &["cli"]),
];

/// Crate (or the beginning of crate names, with `*`) and the modules that may name it.
const OWNERS: &[(&str, &[&str])] = &[
    ("aho_corasick", &["scan::engine"]),
    ("ast_grep_*", &["scan::engine"]),
    ("blake3", &["base::hash"]),
    ("clap", &["cli"]),
    ("git2", &["git"]),
    ("globset", &["scan::engine"]),
    ("ignore", &["files"]),
    ("indicatif", &["cli"]),
    ("regex_syntax", &["scan::engine"]),
    ("rmcp", &["mcp"]),
    ("rusqlite", &["store"]),
    ("serde_saphyr", &["config", "guard::settings", "scan::rules"]),
    ("similar", &["report"]),
    ("toml", &["guard::settings"]),
    ("tree_sitter_r", &["scan::engine"]),
    ("ureq", &["models::http"]),
    ("tracing_subscriber", &["cli", "daemon"]),
];

/// Layers in which nothing touches the world, and the words for touching it.
const CORE_LAYER_MAX: u8 = 3;
const RIM_WORDS: &[&str] = &[
    "tokio",
    "rustix",
    "std::process",
    "std::net",
    "std::os::unix::net",
    "SystemTime::now",
    "Instant::now",
];

/// `scan::rules` for `src/scan/rules.rs`.
fn module_of(path: &str) -> String {
    path.trim_start_matches("src/").trim_end_matches(".rs").replace('/', "::")
}

fn layer_of(module: &str) -> Option<u8> {
    let top = module.split("::").next()?;
    LAYERS.iter().find(|(_, modules)| modules.contains(&top)).map(|(layer, _)| *layer)
}

/// Top modules that a file imports, with the line.
fn imports(path: &str, code: &str) -> Vec<(usize, String)> {
    let mut starts: Vec<usize> = word_positions(code, "crate")
        .into_iter()
        .map(|at| at + "crate".len())
        .filter(|at| code[*at..].starts_with("::"))
        .collect();
    // `use super::…` at the left margin can climb to the crate as well.
    let climb = format!("use {}", vec!["super"; module_of(path).split("::").count()].join("::"));
    starts.extend(
        code.match_indices(&climb)
            .filter(|(at, _)| *at == 0 || code[..*at].ends_with('\n'))
            .map(|(at, _)| at + climb.len())
            .filter(|at| code[*at..].starts_with("::") && !code[*at..].starts_with("::super")),
    );
    starts
        .into_iter()
        .flat_map(|at| {
            let line = line_of(code, at);
            first_segments(&code[at + 2..]).into_iter().map(move |name| (line, name))
        })
        .collect()
}

/// The first segment of a path, or of every branch of a `{…}` group.
fn first_segments(rest: &str) -> Vec<String> {
    let segment = |text: &str| -> String {
        text.trim_start()
            .chars()
            .take_while(|character| character.is_alphanumeric() || *character == '_')
            .collect()
    };
    let Some(group) = rest.strip_prefix('{') else { return vec![segment(rest)] };
    let mut depth = 0;
    let mut branches = vec![String::new()];
    for character in group.chars() {
        match character {
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            '{' => depth += 1,
            ',' if depth == 0 => {
                branches.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(branch) = branches.last_mut() {
            branch.push(character);
        }
    }
    branches.iter().map(|branch| segment(branch)).filter(|name| !name.is_empty()).collect()
}

fn violations(file: &Source) -> Vec<String> {
    let code = code_only(&file.text);
    let module = module_of(&file.path);
    let mut found = crate_violations(&file.path, &module, &code);
    // The crate's root declares the modules and the thin `main` starts the highest of them.
    if module == "lib" || module == "main" {
        return found;
    }
    let Some(layer) = layer_of(&module) else {
        found.push(format!("{}: `{module}` has no row in the table of layers", file.path));
        return found;
    };
    let own = module.split("::").next().unwrap_or_default();
    for (line, name) in imports(&file.path, &code) {
        if name != own && layer_of(&name).is_none_or(|other| other >= layer) {
            found.push(format!("{}:{line}: {own} (layer {layer}) imports {name}", file.path));
        }
    }
    if layer <= CORE_LAYER_MAX && !module.ends_with("::tests") {
        // Tests may ask the clock; what they test may not.
        let production = &code[..code.find("#[cfg(test)]").unwrap_or(code.len())];
        for word in RIM_WORDS {
            for at in word_positions(production, word) {
                let line = line_of(&code, at);
                found.push(format!("{}:{line}: the core touches the world: {word}", file.path));
            }
        }
    }
    found
}

fn crate_violations(path: &str, module: &str, code: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (owned, owners) in OWNERS {
        let allowed = owners
            .iter()
            .any(|owner| module == *owner || module.starts_with(&format!("{owner}::")));
        if allowed {
            continue;
        }
        for at in crate_mentions(code, owned) {
            let line = line_of(code, at);
            found.push(format!("{path}:{line}: {owned} belongs to {}", owners.join(", ")));
        }
    }
    found
}

/// Where a crate is named as one: followed by `::`, or alone in a `use`; not `self::ignore::…`.
fn crate_mentions(code: &str, owned: &str) -> Vec<usize> {
    let name = owned.trim_end_matches('*');
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(name)
        .map(|(at, _)| at)
        .filter(|at| {
            let before = code[..*at].trim_end_matches("::");
            let rooted =
                before.len() == *at || before.len() + 2 == *at && !before.ends_with(is_word);
            rooted && !before.ends_with(is_word)
        })
        .filter(|at| {
            let rest = code[at + name.len()..]
                .trim_start_matches(|character| owned.ends_with('*') && is_word(character));
            let used = code[..*at].ends_with("use ");
            rest.starts_with("::") || used && rest.starts_with([';', ' '])
        })
        .collect()
}

#[test]
fn modules_import_only_from_lower_layers() {
    let found: Vec<String> = files("src", Some("rs")).iter().flat_map(violations).collect();
    assert!(found.is_empty(), "against the layers:\n  {}", found.join("\n  "));
}

#[test]
fn the_table_is_kept_by_the_test_itself() {
    let check = |path: &str, text: &str, expected: usize| {
        let file = Source { path: path.to_owned(), text: text.to_owned() };
        assert_eq!(violations(&file).len(), expected, "{path}: {text}\n{:?}", violations(&file));
    };
    check("src/scan/engine.rs", "use crate::base::text::LineIndex;", 0);
    check("src/scan/engine.rs", "use crate::scan::rules; use ast_grep_core::Pattern;", 0);
    check("src/scan/rules.rs", "use ast_grep_core::Pattern; use serde_saphyr::from_str;", 1);
    check("src/scan.rs", "use crate::lsp::registry;", 1);
    check("src/scan.rs", "use crate::{base::text, report::{agent, human}, store};", 2);
    check("src/base/text.rs", "fn f() { crate::wire::hook::x(); }", 1);
    check("src/base/text.rs", "//! see [`crate::wire`]\nconst S: &str = \"crate::wire\";", 0);
    check("src/wire/hook.rs", "use super::super::daemon::run;", 1);
    check("src/wire/hook.rs", "use super::lsp::run;", 0);
    check("src/daemon.rs", "use crate::{store, files}; use tokio::net::UnixStream;", 0);
    check("src/looping/step.rs", "fn f() { std::time::Instant::now(); }", 1);
    check("src/looping/step.rs", "#[cfg(test)]\nmod tests { fn f() { Instant::now(); } }", 0);
    check("src/files/walk.rs", "use ignore::WalkBuilder; use git2::Repository;", 1);
    check(
        "src/git/status.rs",
        "fn f(ignore: bool) { self::ignore::x(ignore); files_ignore::x(); }",
        0,
    );
    check("src/novel.rs", "", 1);
    check("src/main.rs", "fn main() { moai_ralph::cli::main(); }", 0);
}

/// Names of the crates that the program depends on, as code spells them.
fn dependencies() -> Vec<String> {
    let manifest = std::fs::read_to_string(Path::new(CHECKOUT).join("Cargo.toml"))
        .expect("the manifest can be read");
    let section = manifest.split("\n[").find_map(|it| it.strip_prefix("dependencies]\n"));
    let lines = section.expect("the manifest lists dependencies").lines();
    let names = lines.filter(|line| !line.starts_with([' ', '"', ']', '#']));
    names
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, _)| name.replace('-', "_"))
        .collect()
}

#[test]
fn every_dependency_is_used_and_every_owner_owns_one() {
    let code: Vec<String> = files("src", Some("rs")).iter().map(|it| code_only(&it.text)).collect();
    let is_named = |name: &String| code.iter().any(|text| !word_positions(text, name).is_empty());
    let all = dependencies();
    let unused: Vec<&String> = all.iter().filter(|name| !is_named(name)).collect();
    assert!(unused.is_empty(), "no source names {unused:?}");
    let matches = |owned: &str, name: &str| {
        owned.strip_suffix('*').map_or(owned == name, |start| name.starts_with(start))
    };
    let owners = OWNERS.iter().map(|(owned, _)| *owned);
    let strays: Vec<&str> =
        owners.filter(|owned| !all.iter().any(|name| matches(owned, name))).collect();
    assert!(strays.is_empty(), "the table of owners names crates that are not used: {strays:?}");
}
