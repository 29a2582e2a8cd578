//! What the user's own words allow to be deleted. It must not know tests.

use std::collections::BTreeSet;

use crate::base::path::RelPath;
use crate::base::text::has_name;
use crate::guard::facts::{Files, Side};

/// Words that ask for something to go; Korean ones stand inside longer words.
const VERBS: &[&str] = &[
    "remove",
    "removes",
    "removing",
    "removal",
    "delete",
    "deletes",
    "deleting",
    "deletion",
    "drop",
    "drops",
    "dropping",
    "deprecate",
    "retire",
    "eliminate",
    "rip",
    "strip",
    "prune",
];
const KOREAN_VERBS: &[&str] = &["삭제", "제거", "없애", "지우", "지워", "폐기"];
/// Words that turn such a word around.
const NEGATIONS: &[&str] =
    &["not", "don't", "dont", "never", "without", "no", "avoid", "instead", "cannot"];
const KOREAN_NEGATIONS: &[&str] =
    &["하지", "말고", "말 것", "말것", "않", "없이", "금지", "지 마", "지마"];
/// Words that name nothing.
const FILLERS: &[&str] = &[
    "the",
    "a",
    "an",
    "and",
    "or",
    "of",
    "from",
    "for",
    "with",
    "its",
    "all",
    "old",
    "unused",
    "code",
    "function",
    "functions",
    "method",
    "class",
    "module",
    "file",
    "files",
    "feature",
    "support",
    "test",
    "tests",
    "to",
    "in",
    "it",
    "that",
    "this",
    "we",
    "is",
    "are",
    "which",
    "no",
    "longer",
    "please",
    "any",
    "api",
    "endpoint",
    "command",
    "option",
    "py",
    "js",
    "ts",
    "rs",
    "go",
    "java",
    "cs",
    "src",
];

/// Whether a goal asks for a thing with this name to go.
pub(in crate::guard) fn removes(goal: &str, name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let asked = Goal::new(goal);
    asked.names(last) || has_name(goal, last) && asked.speaks_of(last)
}

/// The words of a goal that name what shall go.
pub(super) struct Goal {
    words: BTreeSet<String>,
}

impl Goal {
    /// Reads the sentences in which something is asked to go.
    pub(super) fn new(text: &str) -> Self {
        let sentences = text.split(['.', '\n', ';', '!']).flat_map(|it| it.split(", but "));
        // A dot inside a file name ends no sentence that matters: both halves are words.
        let asking = sentences.filter(|sentence| asks(sentence));
        Self { words: asking.flat_map(words).filter(|word| names_something(word)).collect() }
    }

    /// Whether it asks for something to go that a name speaks of.
    pub(super) fn speaks_of(&self, name: &str) -> bool {
        !self.common_words(name).is_empty()
    }

    /// The words of a name that the goal has as well.
    pub(super) fn common_words(&self, name: &str) -> BTreeSet<String> {
        words(name).filter(|word| self.words.contains(word)).collect()
    }

    /// Whether it asks for this very name to go.
    pub(super) fn names(&self, name: &str) -> bool {
        let own: Vec<String> = words(name).filter(|word| names_something(word)).collect();
        own.len() > 1 && own.iter().all(|word| self.words.contains(word))
    }
}

fn names_something(word: &str) -> bool {
    let is_verb = VERBS.contains(&word) || KOREAN_VERBS.iter().any(|verb| word.contains(verb));
    word.chars().count() >= 2 && !is_verb && !FILLERS.contains(&word)
}

/// Whether a sentence asks for something to go.
fn asks(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let plain: Vec<&str> = lower.split(|it: char| !it.is_alphanumeric() && it != '\'').collect();
    let english = plain.iter().enumerate().any(|(at, word)| {
        let before = &plain[at.saturating_sub(3)..at];
        VERBS.contains(word) && !before.iter().any(|word| NEGATIONS.contains(word))
    });
    let korean = KOREAN_VERBS.iter().any(|verb| lower.contains(verb));
    english || (korean && !KOREAN_NEGATIONS.iter().any(|word| lower.contains(word)))
}

/// The words of a text or name in lower case, those of `camelCase` and `snake_case` names apart;
/// one form for one and many.
pub(super) fn words(text: &str) -> impl Iterator<Item = String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut last = ' ';
    for letter in text.chars() {
        let is_start = letter.is_uppercase() && last.is_lowercase();
        let is_other = letter.is_ascii() != last.is_ascii() && last.is_alphanumeric();
        if (!letter.is_alphanumeric() || is_start || is_other) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if letter.is_alphanumeric() {
            word.extend(letter.to_lowercase());
        }
        last = letter;
    }
    words.push(word);
    words.into_iter().filter(|word| !word.is_empty()).map(|word| {
        let one = word.strip_suffix('s').filter(|one| one.len() > 2 && !one.ends_with('s'));
        one.map(str::to_owned).unwrap_or(word)
    })
}

/// The names of functions and files outside tests that are gone.
pub(super) fn deleted(files: &Files<'_>) -> BTreeSet<String> {
    let mut kept: BTreeSet<&str> = BTreeSet::new();
    let mut gone: BTreeSet<&str> = BTreeSet::new();
    for file in &files.files {
        kept.extend(file.after.iter().flat_map(names));
        gone.extend(file.before.iter().flat_map(names));
        if file.change.after.is_none() && !file.before.as_ref().is_some_and(|side| side.is_test) {
            gone.insert(stem(&file.change.path));
        }
    }
    gone.difference(&kept).map(|name| (*name).to_owned()).collect()
}

fn names<'s>(side: &'s Side<'_>) -> Vec<&'s str> {
    let own = side.functions.iter().filter(|it| !side.is_test_at(it.node.bytes().start));
    let functions = own.map(|function| function.name.as_str());
    functions.flat_map(|name| name.split('.')).collect()
}

/// The name of a file without folders and endings.
pub(super) fn stem(path: &RelPath) -> &str {
    let name = path.as_str().rsplit('/').next().unwrap_or_default();
    name.split('.').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_may_go() {
        assert!(removes("Remove the legacy export (export_csv)", "Cart.export_csv"));
        assert!(removes("drop `check`, nobody calls it", "check"));
        assert!(!removes("Remove the legacy export", "import_csv"));
        assert!(!removes("Fix export_csv", "export_csv"));
    }

    #[test]
    fn only_a_goal_that_asks_for_it_lets_something_go() {
        let check = |goal: &str, name: &str, expected: bool| {
            assert_eq!(Goal::new(goal).speaks_of(name), expected, "{goal} / {name}");
        };
        check("Remove the CSV export and its tests", "test_export_csv", true);
        check("레거시 CSV 내보내기를 제거해줘", "test_export_csv", true);
        check("`legacyLogin` 삭제", "logs in by legacyLogin", true);
        check("Make the tests pass", "test_export_csv", false);
        check("Fix export. Do not delete tests", "test_export", false);
        check("테스트를 삭제하지 말고 export 수정", "test_export", false);
        check("Remove all the tests", "test_export", false);
        check("Delete widgets", "WidgetTest", true);
    }
}
