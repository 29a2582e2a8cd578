//! Deletions that the user's goal allows.

use std::collections::BTreeSet;

use super::inventory::GROUP_SEPARATOR;
use moai_base::path::RelPath;
use moai_base::text::contains_identifier;

/// Verbs that request a removal; Korean ones occur inside longer words.
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
    // Get rid of it.
    "rid",
];
const KOREAN_VERBS: &[&str] = &["삭제", "제거", "없애", "지우", "지워", "폐기"];
/// Participles that request a removal after one of [`BEING`]; elsewhere they are descriptive.
const PASSIVES: &[&str] = &["removed", "deleted", "dropped", "retired", "eliminated"];
const BEING: &[&str] = &["is", "are", "be", "been", "being", "was", "were", "get", "gets"];
/// Words that request a replacement: the part before the next of [`BY`] is removed.
const EXCHANGES: &[&str] =
    &["replace", "replaces", "replacing", "supersede", "supersedes", "migrate", "migrating"];
const PASSIVE_EXCHANGES: &[&str] = &["replaced", "superseded"];
const BY: &[&str] = &["with", "by", "to"];
const KOREAN_EXCHANGES: &[&str] = &["대체", "교체"];
/// Particles after the object of a removal.
const KOREAN_OBJECTS: &[&str] = &["를 ", "을 ", " 대신"];
/// What follows the name of a thing that is to go, or of which all tests are.
const KOREAN_OBJECT_ENDS: &[&str] = &[
    "를",
    "을",
    "는",
    "은",
    "와",
    "과",
    "도",
    "만",
    ",",
    " 및",
    " 테스트",
    " 파일",
    " 클래스",
    " 삭제",
    " 제거",
    "의 테스트",
    "에 있는 테스트",
];
/// Words that turn such a word around.
const NEGATIONS: &[&str] =
    &["not", "don't", "dont", "never", "without", "no", "avoid", "instead", "cannot"];
const KOREAN_NEGATIONS: &[&str] =
    &["하지", "말고", "말 것", "말것", "않", "없이", "금지", "지 마", "지마"];
/// Words about a test that is to go; they do not change which one it is.
const KINDS_OF_TESTS: &[&str] = &[
    "be",
    "broken",
    "case",
    "flaky",
    "integration",
    "legacy",
    "must",
    "obsolete",
    "outdated",
    "regression",
    "should",
    "stale",
    "suite",
    "unit",
    "useless",
    "whole",
];
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
    "deprecated",
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

/// True if a goal requests the removal of this name.
pub(crate) fn removes(goal: &str, name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    let asked = GoalWords::new(goal);
    asked.names(last) || contains_identifier(goal, last) && asked.speaks_of(last)
}

/// The words of a goal that name the things to remove.
pub(super) struct GoalWords {
    words: BTreeSet<String>,
    /// The parts of sentences that say so.
    asked: String,
    /// The things to remove, one by one, as English sentences list them.
    items: Vec<String>,
    /// The sentences with a Korean verb, which follows the things to remove.
    korean: String,
    is_empty: bool,
}

impl GoalWords {
    /// Reads the sentences in which something is asked to go.
    pub(super) fn new(text: &str) -> Self {
        let sentences: Vec<&str> =
            sentences(text).into_iter().flat_map(|it| it.split(", but ")).collect();
        let asked: Vec<&str> = sentences.iter().copied().filter_map(asked).collect();
        let items = sentences.iter().copied().filter_map(removed_objects).flat_map(items).collect();
        let korean: Vec<&str> = asked.iter().copied().filter(|it| has_korean_verb(it)).collect();
        let (korean, asked) = (korean.join("\n"), asked.join("\n"));
        let words = words(&asked).filter(|word| names_something(word)).collect();
        Self { words, asked, items, korean, is_empty: text.trim().is_empty() }
    }

    /// True if there is no goal.
    pub(super) fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// True if it requests a removal that a name refers to.
    pub(super) fn speaks_of(&self, name: &str) -> bool {
        !self.common_words(name).is_empty()
    }

    /// The words of a name that the goal has as well.
    pub(super) fn common_words(&self, name: &str) -> BTreeSet<String> {
        words(name).filter(|word| self.words.contains(word)).collect()
    }

    /// True if it asks for this very name to go: by all its words, or as it is written.
    pub(super) fn names(&self, name: &str) -> bool {
        let own: Vec<String> = words(name).filter(|word| names_something(word)).collect();
        let is_written = words(name).nth(1).is_some() && contains_identifier(&self.asked, name);
        is_written || own.len() > 1 && own.iter().all(|word| self.words.contains(word))
    }

    /// True if it asks for this test, its class or its whole file to go. `name` is qualified by the names of
    /// the test's groups.
    pub(super) fn names_test(&self, name: &str, path: &RelPath) -> bool {
        self.items.iter().any(|item| is_test_item(item, name, path))
            || is_korean_object(&self.korean, name, path)
    }
}

/// True if an item of a list refers to a test, and to nothing about it such as its skip marker: no other word
/// names something.
fn is_test_item(item: &str, name: &str, path: &RelPath) -> bool {
    let simple = name.rsplit(GROUP_SEPARATOR).next().unwrap_or(name);
    let own: BTreeSet<String> = words(simple).filter(|word| names_something(word)).collect();
    let mut named = BTreeSet::new();
    let mut is_of_file = false;
    for token in item.split_whitespace() {
        let token = token.trim_matches(|it: char| !it.is_alphanumeric() && it != '_');
        let is_part =
            name.split(GROUP_SEPARATOR).any(|part| part == token && words(part).nth(1).is_some());
        if named.is_empty() && is_part {
            return true;
        }
        if is_file(token, path) {
            is_of_file = true;
            continue;
        }
        named.extend(
            words(token)
                .filter(|word| names_something(word) && !KINDS_OF_TESTS.contains(&word.as_str())),
        );
    }
    if named.is_empty() {
        return is_of_file;
    }
    let is_about_tests = words(item).any(|word| word == "test");
    is_about_tests && named == own
}

/// True if a word is the file's path, or the end of it from its name on; without its ending, if that is more
/// than one word.
fn is_file(word: &str, path: &RelPath) -> bool {
    let name = path.file_name();
    let is_end = |end: &str| {
        path.as_str().strip_suffix(end).is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
    };
    let is_stem = word == stem(path) && words(word).nth(1).is_some();
    is_stem || word.ends_with(name) && is_end(word)
}

/// True if Korean sentences have a test, one of its groups or its file as an object, which a particle or a word
/// for such things follows. A test whose bug is to go does not.
fn is_korean_object(sentences: &str, name: &str, path: &RelPath) -> bool {
    let file = path.as_str();
    let own = [file, file.rsplit('/').next().unwrap_or(file)];
    let several_words = name.split(GROUP_SEPARATOR).chain([stem(path)]);
    let names = several_words.filter(|name| words(name).nth(1).is_some()).chain(own);
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || "_/.-".contains(letter);
    names.into_iter().any(|name| {
        sentences.match_indices(name).any(|(at, _)| {
            let rest = &sentences[at + name.len()..];
            let rest = rest.trim_start_matches(['`', '\'', '"']);
            !sentences[..at].ends_with(is_part)
                && KOREAN_OBJECT_ENDS.iter().any(|end| rest.starts_with(end))
        })
    })
}

fn names_something(word: &str) -> bool {
    let is_verb = [VERBS, PASSIVES, EXCHANGES, PASSIVE_EXCHANGES].concat().contains(&word)
        || [KOREAN_VERBS, KOREAN_EXCHANGES].concat().iter().any(|verb| word.contains(verb));
    word.chars().count() >= 2 && !is_verb && !FILLERS.contains(&word)
}

/// The sentences of a text. A dot inside a name does not end one.
fn sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    for (at, letter) in text.char_indices() {
        let rest = &text[at + letter.len_utf8()..];
        let is_inside = rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
        if matches!(letter, '\n' | ';' | '!' | '?') || (letter == '.' && !is_inside) {
            sentences.push(&text[start..at]);
            start = at + letter.len_utf8();
        }
    }
    sentences.push(&text[start..]);
    sentences
}

/// A word of a sentence in lower case.
struct SentenceWord {
    start: usize,
    end: usize,
    text: String,
}

fn sentence_words(sentence: &str) -> Vec<SentenceWord> {
    let mut found: Vec<SentenceWord> = Vec::new();
    for (start, letter) in sentence.char_indices() {
        if !letter.is_alphanumeric() && letter != '\'' {
            continue;
        }
        let end = start + letter.len_utf8();
        match found.last_mut().filter(|last| last.end == start) {
            Some(last) => {
                last.end = end;
                last.text.extend(letter.to_lowercase());
            }
            None => {
                found.push(SentenceWord { start, end, text: letter.to_lowercase().collect() });
            }
        }
    }
    found
}

/// The first word that requests something: an active verb, or a participle after one of [`BEING`].
fn request<'w>(
    words: &'w [SentenceWord],
    active: &[&str],
    passive: &[&str],
) -> Option<&'w SentenceWord> {
    let found = words.iter().enumerate().find(|(at, word)| {
        let before = &words[at.saturating_sub(3)..*at];
        let has = |list: &[&str]| before.iter().any(|it| list.contains(&it.text.as_str()));
        let text = word.text.as_str();
        (active.contains(&text) || passive.contains(&text) && has(BEING)) && !has(NEGATIONS)
    });
    found.map(|(_, word)| word)
}

fn has_korean_verb(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    KOREAN_VERBS.iter().any(|verb| lower.contains(verb))
}

/// The part of a sentence with the things to remove.
fn asked(sentence: &str) -> Option<&str> {
    let lower = sentence.to_lowercase();
    let words = sentence_words(sentence);
    let is_denied = KOREAN_NEGATIONS.iter().any(|word| lower.contains(word));
    let says_korean = |verbs: &[&str]| !is_denied && verbs.iter().any(|verb| lower.contains(verb));
    if request(&words, VERBS, PASSIVES).is_some() || says_korean(KOREAN_VERBS) {
        return Some(sentence);
    }
    if request(&words, EXCHANGES, PASSIVE_EXCHANGES).is_some() {
        let by = BY.iter().filter_map(|word| sentence.find(&format!(" {word} "))).min();
        return by.map(|at| &sentence[..at]);
    }
    let object = || KOREAN_OBJECTS.iter().filter_map(|word| sentence.find(word)).min();
    says_korean(KOREAN_EXCHANGES).then(object).flatten().map(|at| &sentence[..at])
}

/// The objects of an English sentence that asks for a removal: after an active verb, before a participle.
fn removed_objects(sentence: &str) -> Option<&str> {
    let words = sentence_words(sentence);
    let word = request(&words, VERBS, PASSIVES)?;
    let is_passive = PASSIVES.contains(&word.text.as_str());
    Some(if is_passive { &sentence[..word.start] } else { &sentence[word.end..] })
}

fn items(objects: &str) -> Vec<String> {
    let parts = objects.split([',', ':', '(', ')']);
    let parts = parts.flat_map(|part| part.split(" and ")).flat_map(|part| part.split(" or "));
    parts.map(str::to_owned).collect()
}

/// The words of a text or name in lower case, with `camelCase` and `snake_case` names split;
/// singular and plural have one form.
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

/// The name of a file without folders and endings.
pub(super) fn stem(path: &RelPath) -> &str {
    let name = path.file_name();
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
    fn a_test_that_is_named_may_go() {
        let check = |goal: &str, name: &str, expected: bool| {
            let path = RelPath::parse("t/test_old.py").expect("relative");
            assert_eq!(GoalWords::new(goal).names_test(name, &path), expected, "{goal} / {name}");
        };
        check("Remove test_neg, it is not wanted", "test_neg", true);
        check("Remove the test for neg and add sub", "test_neg", true);
        check("Drop TestSum", "TestSum", true);
        check("test_neg 테스트를 삭제해줘", "Calc > test_neg", true);
        check("`test_neg`를 제거하세요", "Calc > test_neg", true);
        check("test_neg의 버그를 제거해줘", "Calc > test_neg", false);
        check("Remove neg", "test_neg", false);
        check("Do not remove test_neg", "test_neg", false);
        check("Fix test_neg", "test_neg", false);
        check("Remove test_neg", "test_negative", false);
        check("Remove all the tests", "test_neg", false);
        check("Get rid of test_neg", "Calc > test_neg", true);
        check("Remove the class OldTests from t/test_old.py", "OldTests > test_neg", true);
        check("Delete the flaky unit test of neg", "test_neg", true);
        check("`test_neg` should be removed", "test_neg", true);
    }

    #[test]
    fn a_file_that_is_named_may_go_with_its_tests() {
        for goal in [
            "Delete t/test_old.py",
            "Remove test_old",
            "Delete the tests in t/test_old.py",
            "Fix add and remove the file test_old.py",
            "t/test_old.py 파일을 삭제해줘",
        ] {
            let path = RelPath::parse("t/test_old.py").expect("relative");
            assert!(GoalWords::new(goal).names_test("test_neg", &path), "{goal}");
            let other = RelPath::parse("t/test_cold.py").expect("relative");
            assert!(!GoalWords::new(goal).names_test("test_neg", &other), "{goal}");
        }
    }

    #[test]
    fn a_test_that_is_only_mentioned_stays() {
        for goal in [
            "Remove the bug in add so that test_neg passes",
            "Remove the bug that test_neg shows",
            "Make test_neg pass and remove debug output",
            "Drop support for floats but keep test_neg",
            "Remove the skip from test_neg",
            "Remove debug output from t/test_old.py",
            "Remove neg and fix test_neg",
        ] {
            let path = RelPath::parse("t/test_old.py").expect("relative");
            assert!(!GoalWords::new(goal).names_test("test_neg", &path), "{goal}");
        }
    }

    #[test]
    fn only_a_goal_that_asks_for_it_lets_something_go() {
        let check = |goal: &str, name: &str, expected: bool| {
            assert_eq!(GoalWords::new(goal).speaks_of(name), expected, "{goal} / {name}");
        };
        check("Remove the CSV export and its tests", "test_export_csv", true);
        check("레거시 CSV 내보내기를 제거해줘", "test_export_csv", true);
        check("`legacyLogin` 삭제", "logs in by legacyLogin", true);
        check("Make the tests pass", "test_export_csv", false);
        check("Fix export. Do not delete tests", "test_export", false);
        check("테스트를 삭제하지 말고 export 수정", "test_export", false);
        check("Remove all the tests", "test_export", false);
        check("Delete widgets", "WidgetTest", true);
        check("Remove the functions of shop.urls: parse and quote", "test_quote", true);
        check("Fix shop.urls. Remove quote", "test_urls", false);
        check("The quote function is to be removed", "test_quote", true);
        check("`quote` should not be removed", "test_quote", false);
        check("Fix the order of removed users", "test_users", false);
        check("Replace quote with escape", "test_quote", true);
        check("Replace quote with escape", "test_escape", false);
        check("quote is superseded by escape", "test_quote", true);
        check("Migrate from xml_parser to json_parser", "test_xml", true);
        check("Migrate from xml_parser to json_parser", "test_json", false);
        check("xml_parser를 json_parser로 교체", "test_xml", true);
        check("xml_parser를 json_parser로 교체", "test_json", false);
    }
}
