//! What every file keeps to: a header, a bounded length, no leftovers, no machine's paths.

use std::path::{Path, PathBuf};

use ignore::WalkBuilder;

use super::text::{code_only, functions, line_of, word_positions};
use crate::support::CHECKOUT;

const FILE_LINES_MAX: usize = 700;
const FILE_LINES_WITH_TESTS_MAX: usize = 1000;
const FUNCTION_LINES_MAX: usize = 70;
/// A ratchet: locks are owned by one module each, and there are few of them.
const LOCKS_MAX: usize = 5;

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

fn assert_none(what: &str, found: &[String]) {
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
fn files_and_functions_are_short() {
    let mut long = Vec::new();
    for file in files("", Some("rs")) {
        let total = file.text.lines().count();
        let tests = file.text.find("#[cfg(test)]\nmod tests {");
        let code = tests.map_or(total, |at| line_of(&file.text, at) - 1);
        if code > FILE_LINES_MAX || total > FILE_LINES_WITH_TESTS_MAX {
            long.push(format!("{}: {code} lines, {total} with tests", file.path));
        }
        for (line, name, lines) in functions(&code_only(&file.text)) {
            if lines > FUNCTION_LINES_MAX {
                long.push(format!("{}:{line}: `{name}` has {lines} lines", file.path));
            }
        }
    }
    assert_none("too long", &long);
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
    let found: Vec<String> = files("src", Some("rs"))
        .into_iter()
        .map(|file| file.path)
        .filter(|path| path.trim_end_matches(".rs").split('/').any(|part| vague.contains(&part)))
        .collect();
    assert_none("names that say nothing", &found);
}

#[test]
fn locks_stay_few() {
    let mut found = Vec::new();
    for file in files("src", Some("rs")) {
        let code = code_only(&file.text);
        for lock in ["Mutex", "RwLock"] {
            for at in word_positions(&code, lock) {
                if code[at + lock.len()..].starts_with('<') {
                    found.push(format!("{}:{}: {lock}", file.path, line_of(&code, at)));
                }
            }
        }
    }
    assert!(found.len() <= LOCKS_MAX, "{} locks, at most {LOCKS_MAX}: {found:#?}", found.len());
}
