//! What every file keeps to: a header, a bounded length, no leftovers, no machine's paths.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ignore::WalkBuilder;
use moai_base::redaction::redacted;

use super::text::{code_only, functions, line_of, word_positions};
use crate::support::CHECKOUT;

const FILE_LINES_MAX: usize = 700;
const FILE_LINES_WITH_TESTS_MAX: usize = 1000;
/// Length of 95 % of the functions.
const FUNCTION_LINES_P95_MAX: usize = 40;
/// A ratchet: locks are owned by one module each, and there are few of them.
const LOCKS_MAX: usize = 7;

/// One text file of the checkout.
pub(super) struct Source {
    /// Relative, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

/// Every text file that version control would take, in a fixed order.
pub(super) fn files(under: &str, extension: Option<&str>) -> Vec<Source> {
    let root = Path::new(CHECKOUT);
    let mut paths: Vec<PathBuf> = WalkBuilder::new(root.join(under))
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| entry.file_name() != ".git")
        .build()
        .map(|entry| entry.expect("the checkout can be read").into_path())
        .filter(|path| path.is_file())
        .filter(|path| {
            extension.is_none_or(|wanted| path.extension().is_some_and(|it| it == wanted))
        })
        .collect();
    paths.sort();
    paths
        .into_iter()
        .filter_map(|path| {
            let text = String::from_utf8(std::fs::read(&path).ok()?).ok()?;
            let path = path.strip_prefix(root).ok()?.to_string_lossy().into_owned();
            Some(Source { path, text })
        })
        .collect()
}

/// Rust sources of the program, without its tests, benches and build scripts.
pub(super) fn product_sources() -> Vec<Source> {
    let mut all = files("src", Some("rs"));
    all.extend(files("crates", Some("rs")).into_iter().filter(|file| file.path.contains("/src/")));
    all
}

pub(super) fn assert_none(what: &str, found: &[String]) {
    assert!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
}

#[test]
fn every_rust_file_says_what_it_is_for() {
    let bare: Vec<String> = files("", Some("rs"))
        .into_iter()
        .filter(|file| !file.text.starts_with("//!"))
        .map(|file| file.path)
        .collect();
    assert_none("files without a `//!` header", &bare);
}

#[test]
fn files_are_short() {
    let mut long = Vec::new();
    for file in files("", Some("rs")) {
        let total = file.text.lines().count();
        let tests = file.text.find("#[cfg(test)]\nmod tests {");
        let code = tests.map_or(total, |at| line_of(&file.text, at) - 1);
        if code > FILE_LINES_MAX || total > FILE_LINES_WITH_TESTS_MAX {
            long.push(format!("{}: {code} lines, {total} with tests", file.path));
        }
    }
    assert_none("too long", &long);
}

/// A flat function that reads from top to bottom may be long; most are short.
#[test]
fn most_functions_are_short() {
    let sources = product_sources();
    let lengths = sources.iter().flat_map(|file| functions(&code_only(&file.text)));
    let mut lengths: Vec<usize> = lengths.map(|(_, _, lines)| lines).collect();
    lengths.sort_unstable();
    let percentile_95 = lengths[lengths.len() * 95 / 100];
    assert!(percentile_95 <= FUNCTION_LINES_P95_MAX, "95 % have up to {percentile_95} lines");
}

/// A name that several types share sends every reader of a search to the wrong place.
#[test]
fn type_names_are_unique() {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let is_test = |path: &str| path.ends_with("/tests.rs") || path.contains("/tests/");
    for file in product_sources().into_iter().filter(|file| !is_test(&file.path)) {
        let tests = file.text.find("#[cfg(test)]\nmod tests {");
        let code = code_only(&file.text[..tests.unwrap_or(file.text.len())]);
        for name in type_names(&code) {
            places.entry(name.to_owned()).or_default().push(file.path.clone());
        }
    }
    places.retain(|_, files| files.len() > 1);
    assert!(places.is_empty(), "{places:#?}");
}

/// The names of structs, enums, traits and aliases. A type inside a trait or an implementation is indented,
/// and its name belongs to the trait.
fn type_names(code: &str) -> impl Iterator<Item = &str> {
    let is_associated = |line: &&str| line.starts_with(' ') && line.trim().starts_with("type ");
    code.lines().filter(move |line| !is_associated(line)).filter_map(|line| {
        let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
        let keyword = words.next()?;
        let name =
            words.next().filter(|_| ["struct", "enum", "trait", "type"].contains(&keyword))?;
        let end = name.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(name.len());
        Some(&name[..end]).filter(|name| name.starts_with(char::is_uppercase))
    })
}

#[test]
fn nothing_is_left_half_done() {
    // Joined here, because this file must not contain them either.
    let marks =
        [["FIX", "ME"], ["XX", "X"], ["todo", "!"], ["unimplemented", "!"], ["#[ign", "ore"]];
    let mut found = Vec::new();
    for file in files("", Some("rs")) {
        for mark in marks.map(|halves| halves.concat()) {
            for (at, _) in file.text.match_indices(&mark) {
                found.push(format!("{}:{}: {mark}", file.path, line_of(&file.text, at)));
            }
        }
    }
    assert_none("left half done", &found);
}

#[test]
fn no_file_knows_a_machine() {
    let folders = [["/ho", "me/"], ["/ro", "ot/"], ["/wo", "rk/"], ["/Use", "rs/"]];
    let starts_path = |before: Option<char>| {
        before.is_none_or(|character| !character.is_alphanumeric() && !".}_-*".contains(character))
    };
    let mut found = Vec::new();
    for file in files("", None) {
        for folder in folders.map(|halves| halves.concat()) {
            for (at, _) in file.text.match_indices(&folder) {
                if starts_path(file.text[..at].chars().next_back()) {
                    found.push(format!("{}:{}: {folder}", file.path, line_of(&file.text, at)));
                }
            }
        }
    }
    assert_none("absolute paths of some machine", &found);
}

#[test]
fn modules_have_names_of_their_own() {
    let vague = ["common", "helper", "helpers", "manager", "misc", "mod", "types", "util", "utils"];
    let found: Vec<String> = product_sources()
        .into_iter()
        .map(|file| file.path)
        .filter(|path| path.trim_end_matches(".rs").split('/').any(|part| vague.contains(&part)))
        .collect();
    assert_none("names that say nothing", &found);
}

#[test]
fn locks_stay_few() {
    let mut found = Vec::new();
    for file in product_sources() {
        let code = code_only(&file.text);
        for lock in ["Mutex", "RwLock"] {
            let positions = |suffix: &str| -> Vec<usize> {
                let uses = word_positions(&code, lock).into_iter();
                uses.filter(|at| code[at + lock.len()..].starts_with(suffix)).collect()
            };
            // A lock whose type is inferred shows only where it is made.
            let types = positions("<");
            let locks = if types.is_empty() { positions("::new(") } else { types };
            let line = |at| format!("{}:{}: {lock}", file.path, line_of(&code, at));
            found.extend(locks.into_iter().map(line));
        }
    }
    assert!(found.len() <= LOCKS_MAX, "{} locks, at most {LOCKS_MAX}: {found:#?}", found.len());
}

#[test]
fn nothing_in_the_sources_is_taken_for_a_secret() {
    let mut found = Vec::new();
    // Those rules find secrets, and show some as examples.
    let has_examples =
        |path: &str| path.ends_with("-secret.yml") || path.ends_with("-private-key.yml");
    for file in files("", None).into_iter().filter(|file| !has_examples(&file.path)) {
        let clean = redacted(&file.text);
        let changed = file.text.lines().zip(clean.lines()).find(|(line, clean)| line != clean);
        found.extend(changed.map(|(line, _)| format!("{}: {line}", file.path)));
    }
    assert_none("what redaction would replace", &found);
}
