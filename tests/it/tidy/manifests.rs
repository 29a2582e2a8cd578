//! The manifests are the import table of the crates. What they cannot say is checked here: which
//! crates are pure, and which module of a crate owns a third-party crate.

use std::fs;
use std::path::Path;

use super::sources::product_sources;
use super::text::{code_only, line_of, word_positions};
use crate::support::CHECKOUT;

/// Crates in which nothing touches the world: values in, values out.
const PURE_CRATES: &[&str] = &[
    "base", "protocol", "scan", "lsp", "guard", "loops", "memory", "pipeline", "report", "config",
];

/// Dependencies that a pure crate does not have.
const WORLD_CRATES: &[&str] =
    &["git2", "ignore", "rusqlite", "rustix", "tokio", "tokio_postgres", "tokio_rustls", "ureq"];

/// Exceptions: a pure crate, its dependency, and the only module of it that the crate names. Hostile
/// texts are bounded by processor time, which is no input of a result.
const WORLD_MODULES: &[(&str, &str, &str)] = &[("scan", "rustix", "rustix::time")];

/// What pure code does not name either.
const WORLD_PATHS: &[&str] =
    &["std::process", "std::net", "std::os::unix::net", "SystemTime::now", "Instant::now"];

/// A third-party crate (or the beginning of its name, with `*`) that only one module names.
const OWNERS: &[(&str, &str)] = &[
    ("aho_corasick", "crates/scan/src/engine"),
    ("ast_grep_*", "crates/scan/src/engine"),
    ("regex_syntax", "crates/scan/src/engine"),
    ("tree_sitter", "crates/scan/src/engine"),
    ("tree_sitter_r", "crates/scan/src/engine"),
    ("blake3", "crates/base/src/hash"),
    ("unicode_normalization", "crates/memory/src"),
    ("unicode_width", "crates/report/src/excerpt"),
    ("jsonc_parser", "crates/base/src/jsonc"),
    ("toml", "crates/base/src/toml_value"),
    ("git2", "crates/host/src/git"),
    ("ignore", "crates/host/src/files"),
    ("rusqlite", "crates/host/src/store"),
    ("tokio_postgres", "crates/host/src/memory/postgres"),
    ("tokio_rustls", "crates/host/src/memory/postgres/tls"),
    ("webpki_roots", "crates/host/src/memory/postgres/tls"),
    ("sha2", "crates/protocol/src/hosts/codex_approval"),
    ("ureq", "crates/host/src/models/http"),
    ("clap", "src/cli"),
    ("indicatif", "src/cli"),
    ("rmcp", "src/mcp"),
];

/// A package of the workspace.
struct Package {
    /// Folder relative to the checkout; empty for the root package.
    folder: String,
    /// Names of its `[dependencies]`, as code spells them.
    dependencies: Vec<String>,
}

fn packages() -> Vec<Package> {
    let crates = Path::new(CHECKOUT).join("crates");
    let mut folders: Vec<String> = fs::read_dir(crates)
        .expect("the crates can be read")
        .flatten()
        .map(|entry| format!("crates/{}", entry.file_name().to_string_lossy()))
        .collect();
    folders.sort();
    folders.push(String::new());
    folders.into_iter().map(read_package).collect()
}

fn read_package(folder: String) -> Package {
    let manifest = fs::read_to_string(Path::new(CHECKOUT).join(&folder).join("Cargo.toml"))
        .expect("the manifest can be read");
    let section = manifest.split("\n[").find_map(|it| it.strip_prefix("dependencies]\n"));
    let names = section.unwrap_or_default().lines().filter_map(|line| line.split_once(" = "));
    let dependencies = names
        .map(|(name, _)| name.trim_end_matches(".workspace").replace('-', "_"))
        .filter(|name| !name.starts_with('#'))
        .collect();
    Package { folder, dependencies }
}

/// Path and code of each source of a package; comments and strings are blank.
fn package_code(package: &Package) -> Vec<(String, String)> {
    let start = Path::new(&package.folder).join("src");
    let mut code = Vec::new();
    for file in product_sources() {
        if Path::new(&file.path).starts_with(&start) {
            let text = code_only(&file.text);
            code.push((file.path, text));
        }
    }
    code
}

/// Positions at which code names a crate: followed by `::`, or alone in a `use`.
fn crate_mentions(code: &str, owned: &str) -> Vec<usize> {
    let name = owned.trim_end_matches('*');
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    code.match_indices(name)
        .map(|(at, _)| at)
        .filter(|at| {
            let before = code[..*at].trim_end_matches("::");
            let is_rooted =
                before.len() == *at || before.len() + 2 == *at && !before.ends_with(is_word);
            is_rooted && !before.ends_with(is_word)
        })
        .filter(|at| {
            let rest = code[at + name.len()..]
                .trim_start_matches(|character| owned.ends_with('*') && is_word(character));
            let is_imported = code[..*at].ends_with("use ");
            rest.starts_with("::") || is_imported && rest.starts_with([';', ' '])
        })
        .collect()
}

/// Whether `path` is the file of the module `module` or below it.
fn is_in_module(path: &str, module: &str) -> bool {
    path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
}

#[test]
fn pure_crates_do_not_touch_the_world() {
    let mut found = Vec::new();
    for package in packages() {
        let name = package.folder.trim_start_matches("crates/");
        if !PURE_CRATES.contains(&name) {
            continue;
        }
        for dependency in &package.dependencies {
            let is_exception =
                WORLD_MODULES.iter().any(|(owner, it, _)| *owner == name && it == dependency);
            if WORLD_CRATES.contains(&dependency.as_str()) && !is_exception {
                found.push(format!("{}/Cargo.toml: {dependency}", package.folder));
            }
        }
        for (path, code) in package_code(&package) {
            // Tests may ask the clock; what they test may not.
            if path.ends_with("/tests.rs") || path.contains("/tests/") {
                continue;
            }
            let production = &code[..code.find("#[cfg(test)]\nmod tests {").unwrap_or(code.len())];
            for (owner, dependency, module) in WORLD_MODULES {
                let is_other = |at: &usize| !production[*at..].starts_with(module);
                for at in word_positions(production, dependency).into_iter().filter(is_other) {
                    if *owner == name {
                        found.push(format!("{path}:{}: {dependency}", line_of(&code, at)));
                    }
                }
            }
            for word in WORLD_PATHS {
                for at in word_positions(production, word) {
                    found.push(format!("{path}:{}: {word}", line_of(&code, at)));
                }
            }
        }
    }
    assert!(found.is_empty(), "pure crates touch the world:\n  {}", found.join("\n  "));
}

#[test]
fn a_third_party_crate_is_named_only_by_its_owner() {
    let mut found = Vec::new();
    for file in product_sources() {
        let code = code_only(&file.text);
        for (owned, owner) in OWNERS {
            if is_in_module(&file.path, owner) {
                continue;
            }
            for at in crate_mentions(&code, owned) {
                let line = line_of(&code, at);
                found.push(format!("{}:{line}: {owned} belongs to {owner}", file.path));
            }
        }
    }
    assert!(found.is_empty(), "against the table of owners:\n  {}", found.join("\n  "));
}

#[test]
fn mentions_of_a_crate_are_recognized() {
    let check = |owned: &str, code: &str, expected: usize| {
        assert_eq!(crate_mentions(code, owned).len(), expected, "{owned}: {code}");
    };
    check("ast_grep_*", "use ast_grep_core::Pattern; fn f() { ast_grep_config::x(); }", 2);
    check("ignore", "use ignore::WalkBuilder;", 1);
    check("ignore", "fn f(ignore: bool) { self::ignore::x(ignore); files_ignore::x(); }", 0);
    assert!(is_in_module("crates/scan/src/engine/tree.rs", "crates/scan/src/engine"));
    assert!(!is_in_module("crates/scan/src/engines.rs", "crates/scan/src/engine"));
}

#[test]
fn every_dependency_is_used() {
    let mut unused = Vec::new();
    for package in packages() {
        let sources = package_code(&package);
        for name in &package.dependencies {
            if !sources.iter().any(|(_, code)| !word_positions(code, name).is_empty()) {
                unused.push(format!("{}/Cargo.toml: {name}", package.folder));
            }
        }
    }
    assert!(unused.is_empty(), "no source names them:\n  {}", unused.join("\n  "));
}
