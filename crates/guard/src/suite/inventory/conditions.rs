//! Conditions that skip tests: facts about the machine, or arbitrary switches.

use super::{TestMarkerKind, rows};
use crate::facts::tokens;
use crate::suite::expression::{TokenSlice, bare, is_name, split, unquoted};
use crate::suite::goal::words;
use moai_scan::syntax::SyntaxNode;

/// Parts of names that refer to the machine, the system, the interpreter or installed software.
const MACHINE: &[&str] = &[
    "platform",
    "windows",
    "win32",
    "linux",
    "darwin",
    "macos",
    "osx",
    "cygwin",
    "mingw",
    "posix",
    "android",
    "emscripten",
    "wasm",
    "wasi",
    "pypy",
    "cpython",
    "jython",
    "implementation",
    "version",
    "ipv6",
    "goos",
    "goarch",
    "endian",
    "byteorder",
    "maxsize",
    "missing",
    "available",
    "support",
    "installed",
    "find_spec",
    "lookpath",
    "exists",
    "which",
    "has_",
    "have_",
    "runtime",
    "testing . short",
    "locale",
    "geteuid",
    "getuid",
    "symlink",
    "musl",
    "glibc",
    "openssl",
    "hasattr",
];
/// Whole words that do the same.
const MACHINE_WORDS: &[&str] =
    &["win", "mac", "unix", "os", "py", "gil", "arch", "ios", "nt", "has", "have"];
/// Words of switches that are set arbitrarily or never.
const SWITCHES: &[&str] = &[
    "env",
    "environ",
    "getenv",
    "environment",
    "property",
    "ci",
    "slow",
    "skip",
    "run",
    "flaky",
    "broken",
    "failing",
    "todo",
    "wip",
    "disabled",
    "enabled",
    "later",
    "integration",
];
/// Functions in conditions that reveal nothing about their subject.
const PLAIN_CALLS: &[&str] = &[
    "len",
    "str",
    "int",
    "bool",
    "tuple",
    "any",
    "all",
    "not",
    "and",
    "or",
    "in",
    "if",
    "isinstance",
    "getattr",
    "startsWith",
    "startswith",
    "includes",
];
/// Maximum depth of name resolution.
const DEFINITIONS_MAX: usize = 3;

/// The effect on a test of a condition outside its body.
pub(super) fn kind<'t>(condition: SyntaxNode<'t>, root: SyntaxNode<'t>) -> TestMarkerKind {
    let own = tokens(condition);
    match own.as_slice() {
        // Older runners take the condition as a text.
        [text] if text.starts_with(['"', '\'']) => {
            let words = unquoted(text).split(|it: char| !it.is_alphanumeric() && it != '_');
            of_tokens(words.collect(), root)
        }
        _ => of_tokens(own, root),
    }
}

/// The effect of a condition inside a test's body; one decided by the test's own values may have
/// any subject.
pub(super) fn kind_inside<'t>(
    condition: SyntaxNode<'t>,
    body: SyntaxNode<'t>,
    root: SyntaxNode<'t>,
) -> TestMarkerKind {
    let own = tokens(condition);
    let parameters = body.parent().and_then(|it| it.field("parameters")).map(tokens);
    let is_given = |name: &str| parameters.as_ref().is_some_and(|all| all.contains(&name));
    let is_own = |name: &str| is_given(name) || rows::named(name, body).is_some();
    let of_part = |part: TokenSlice<'_, 't>| {
        if part.iter().any(|name| is_name(name) && is_own(name)) {
            return TestMarkerKind::Conditional;
        }
        match of_tokens(part.to_vec(), root) {
            TestMarkerKind::Skip => TestMarkerKind::Conditional,
            kind => kind,
        }
    };
    // With `and`, a single condition about the machine is enough, because the others only narrow
    // it.
    let choices = split(bare(&own), |token| matches!(token, "or" | "||"));
    let of_choice = |choice: TokenSlice<'_, 't>| {
        let parts = split(choice, |token| matches!(token, "and" | "&&"));
        parts.into_iter().map(of_part).min().unwrap_or(TestMarkerKind::Conditional)
    };
    choices.into_iter().map(of_choice).max().unwrap_or(TestMarkerKind::Conditional)
}

/// A token, or the value that the text gives the name.
fn looked_up<'t>(token: &'t str, root: SyntaxNode<'t>) -> Vec<&'t str> {
    let value = Some(token).filter(|it| is_name(it)).and_then(|name| rows::named(name, root));
    value.map_or_else(|| vec![token], tokens)
}

fn of_tokens<'t>(mut all: Vec<&'t str>, root: SyntaxNode<'t>) -> TestMarkerKind {
    // Names are judged by their words, not by their values.
    let mut spoken: Vec<&str> = all.iter().copied().filter(|token| is_name(token)).collect();
    for _ in 0..DEFINITIONS_MAX {
        all = all.into_iter().flat_map(|token| looked_up(token, root)).collect();
        spoken.extend(all.iter().filter(|token| is_name(token)));
    }
    let plain: Vec<&str> =
        all.iter().filter(|it| !it.contains(['"', '\'', '`'])).copied().collect();
    if !plain.iter().any(|token| is_name(token)) {
        return TestMarkerKind::Skip;
    }
    let whole = format!("{} {}", spoken.join(" "), plain.join(" "));
    let parts: Vec<String> = words(&whole).collect();
    let whole = whole.to_lowercase();
    let has = |list: &[&str]| parts.iter().any(|part| list.contains(&part.as_str()));
    if has(SWITCHES) {
        return TestMarkerKind::Conditional;
    }
    let is_machine = MACHINE.iter().any(|part| whole.contains(part)) || has(MACHINE_WORDS);
    let called = plain.windows(2).filter(|two| two[1] == "(" && is_name(two[0]));
    let asks = called.map(|two| two[0]).any(|name| !PLAIN_CALLS.contains(&name));
    if is_machine || !asks { TestMarkerKind::Machine } else { TestMarkerKind::Conditional }
}
