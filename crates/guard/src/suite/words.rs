//! The meanings of words in assertion libraries: pytest and unittest, jest, vitest, mocha, chai and
//! node:assert, testify, the macros of Rust, `JUnit`, `TestNG`, `AssertJ` and Hamcrest, xUnit,
//! `NUnit`, `MSTest` and `FluentAssertions`.

/// Meaning of a matcher's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatcherWord {
    Equal,
    /// It is null, empty, zero or without error.
    Nothing,
    /// It is true: the condition itself is asserted.
    True,
    False,
    /// It counts as true, or is there.
    Truthy,
    /// It counts as false.
    Falsy,
    /// Part of it is known: it contains, matches, or is larger.
    Partial,
    /// Its type or size is known.
    Shape,
    /// It is nearly this one.
    Close,
    /// It throws.
    Raises,
    /// It equals the recorded result.
    Snapshot,
    Called,
    /// It was called once.
    Once,
    /// It is in a state of a library's own matcher: visible, enabled, with a text.
    State,
}

const EQUAL: &[&str] = &[
    "equal",
    "equals",
    "equalto",
    "eq",
    "eql",
    "eqls",
    "strictequal",
    "strictlyequal",
    "deepequal",
    "deepstrictequal",
    "same",
    "sameas",
    "tobe",
    "shouldbe",
    "be",
    "listequal",
    "dictequal",
    "sequenceequal",
    "tupleequal",
    "setequal",
    "countequal",
    "multilineequal",
    "arrayequals",
    "arrayequal",
    "iterableequals",
    "linesmatch",
    "jsoneq",
    "elementsmatch",
    "exactly",
    "containsexactly",
    "containsexactlyinanyorder",
    "containsexactlyelementsof",
    "equivalentto",
    "equivalent",
    "calledwith",
    "calledoncewith",
    "calledexactlyoncewith",
    "nthcalledwith",
    "lastcalledwith",
    "calledtimes",
    "callcount",
    "calls",
    "value",
    "allequal",
    "frameequal",
    "seriesequal",
    "deepequals",
    "is",
    "ne",
    "exactlyequal",
];
const NOTHING: &[&str] =
    &["none", "null", "nil", "undefined", "zero", "empty", "noerror", "nan", "nullvalue", "some"];
const TRUTHY: &[&str] =
    &["truthy", "defined", "exist", "exists", "error", "present", "nonempty", "ok", "any"];
const PARTIAL: &[&str] = &[
    "contain",
    "contains",
    "containequal",
    "containsequence",
    "include",
    "includes",
    "included",
    "in",
    "match",
    "matches",
    "matchregex",
    "regex",
    "regexp",
    "matchesregex",
    "matchobject",
    "containskey",
    "containsentry",
    "containskeys",
    "key",
    "keys",
    "property",
    "greater",
    "greaterthan",
    "greaterequal",
    "greaterthanorequal",
    "greaterthanorequalto",
    "greaterorequal",
    "less",
    "lessthan",
    "lessequal",
    "lessthanorequal",
    "lessthanorequalto",
    "lessorequal",
    "above",
    "below",
    "atleast",
    "atmost",
    "between",
    "startswith",
    "endswith",
    "startwith",
    "endwith",
    "substring",
    "string",
    "containsstring",
    "stringcontaining",
    "item",
    "items",
    "member",
    "members",
    "subset",
    "subsetof",
    "superset",
    "anyof",
    "oneof",
    "anycallwith",
    "negative",
    "positive",
    "inrange",
    "allmatch",
    "containssubstring",
    "equaltoignoringcase",
    "containsonlyonce",
    "containsanyof",
    "stringmatching",
];
const SHAPE: &[&str] = &[
    "instance",
    "instanceof",
    "instanceofany",
    "type",
    "typeof",
    "a",
    "an",
    "len",
    "length",
    "lengthof",
    "size",
    "count",
    "assignableto",
    "assignablefrom",
    "exactinstanceof",
    "oftype",
    "implements",
    "exactlyinstanceof",
];
const CLOSE: &[&str] = &[
    "almostequal",
    "almostequals",
    "closeto",
    "indelta",
    "inepsilon",
    "approximately",
    "allclose",
    "relativeeq",
    "absdiffeq",
    "abs_diff_eq",
    "approxequal",
    "approxeq",
];
const RAISES: &[&str] = &[
    "raises",
    "raisesregex",
    "throws",
    "throw",
    "throwerror",
    "throwsasync",
    "throwasync",
    "throwsany",
    "throwsanyasync",
    "throwsexactly",
    "throwsexactlyasync",
    "throwsexception",
    "throwsexceptionasync",
    "panics",
    "panicswithvalue",
    "panicswitherror",
    "reject",
    "rejects",
    "errorcontains",
    "erroris",
    "erroras",
    "equalerror",
    "warns",
    "thrownby",
    "throwexactly",
    "rejectedwith",
    "catch",
];
const SNAPSHOT: &[&str] = &[
    "matchsnapshot",
    "matchinlinesnapshot",
    "snapshot",
    "debugsnapshot",
    "jsonsnapshot",
    "yamlsnapshot",
    "displaysnapshot",
    "inlinesnapshot",
    "throwerrormatchingsnapshot",
];
const CALLED: &[&str] = &["called", "received", "awaited", "returned"];
const ONCE: &[&str] = &["calledonce", "awaitedonce"];
/// jest-dom and Playwright.
const STATE: &[&str] = &[
    "attached",
    "attribute",
    "accessibledescription",
    "accessiblename",
    "checked",
    "class",
    "containclass",
    "containelement",
    "containhtml",
    "containtext",
    "css",
    "disabled",
    "displayvalue",
    "editable",
    "emptydomelement",
    "enabled",
    "focus",
    "focused",
    "formvalues",
    "hidden",
    "id",
    "inthedocument",
    "inviewport",
    "invalid",
    "jsproperty",
    "partiallychecked",
    "required",
    "role",
    "style",
    "text",
    "textcontent",
    "title",
    "url",
    "valid",
    "values",
    "visible",
];

/// Prefixes without a meaning, longest first.
const FILLERS: &[&str] = &[
    "assertions",
    "debugassert",
    "propassert",
    "shouldhave",
    "shouldbe",
    "assert",
    "should",
    "expect",
    "been",
    "have",
    "has",
    "are",
    "be",
    "is",
    "to",
];

/// The meaning of an assertion's name; true if it is negated.
pub(super) fn meaning(name: &str) -> Option<(MatcherWord, bool)> {
    let lower: String = name.chars().filter(|it| *it != '_').flat_map(char::to_lowercase).collect();
    match lower.as_str() {
        "assert" | "asserttrue" | "istrue" | "propassert" | "debugassert" | "true" => {
            return Some((MatcherWord::True, false));
        }
        "iferror" | "iferr" => return Some((MatcherWord::Nothing, false)),
        "isok" | "ok" => return Some((MatcherWord::Truthy, false)),
        "refute" => return Some((MatcherWord::True, true)),
        "ne" | "assertne" | "propassertne" | "debugassertne" => {
            return Some((MatcherWord::Equal, true));
        }
        _ => {}
    }
    let (mut rest, mut is_contrary) = (lower.as_str(), false);
    for _ in 0..lower.len() {
        if let Some(word) = plain(rest) {
            return Some((word, is_contrary));
        }
        rest = if let Some(rest) = without_not(rest) {
            is_contrary = !is_contrary;
            rest
        } else {
            FILLERS.iter().find_map(|filler| rest.strip_prefix(filler))?
        };
    }
    None
}

fn without_not(word: &str) -> Option<&str> {
    ["doesnot", "arenot", "isnot", "not"].iter().find_map(|not| word.strip_prefix(not))
}

fn plain(word: &str) -> Option<MatcherWord> {
    const TABLE: &[(&[&str], MatcherWord)] = &[
        (EQUAL, MatcherWord::Equal),
        (NOTHING, MatcherWord::Nothing),
        (&["true"], MatcherWord::True),
        (&["false"], MatcherWord::False),
        (TRUTHY, MatcherWord::Truthy),
        (&["falsy"], MatcherWord::Falsy),
        (PARTIAL, MatcherWord::Partial),
        (SHAPE, MatcherWord::Shape),
        (CLOSE, MatcherWord::Close),
        (RAISES, MatcherWord::Raises),
        (SNAPSHOT, MatcherWord::Snapshot),
        (CALLED, MatcherWord::Called),
        (ONCE, MatcherWord::Once),
    ];
    TABLE.iter().find(|(words, _)| words.contains(&word)).map(|(_, meaning)| *meaning)
}

/// The meaning of the last name of a chain that starts with `expect`; words about pages have a
/// meaning only there.
pub(super) fn meaning_in_chain(name: &str) -> Option<(MatcherWord, bool)> {
    let lower = name.to_lowercase();
    let state = ["tobe", "tohave", "to"].iter().find_map(|start| lower.strip_prefix(start));
    let is_state = || state.is_some_and(|state| STATE.contains(&state));
    meaning(name).or_else(|| is_state().then_some((MatcherWord::State, false)))
}

/// True for exception classes without specific meaning.
pub(super) fn is_base_error(class: &str) -> bool {
    let name = class.rsplit(['.', ':', ' ']).next().unwrap_or(class);
    let bases =
        ["Exception", "BaseException", "Error", "Throwable", "RuntimeException", "SystemException"];
    bases.contains(&name)
}

const WILDCARDS: [&str; 6] =
    ["expect.any", "expect.anything", "Matchers.any", "It.IsAny", "mock.Anything", "anything("];

/// True if an expected value accepts anything.
pub(super) fn is_wildcard(expected: &str) -> bool {
    let plain: String = expected.split_whitespace().collect();
    let inner = super::expression::unquoted(&plain).trim_matches(['^', '$', '/']);
    matches!(inner, ".*" | ".+" | "[\\s\\S]*" | "(.*)" | "") && !plain.is_empty() && plain.len() > 2
        || ["ANY", "mock.ANY", "anything()", "any()", "_.anything()"].contains(&plain.as_str())
        || WILDCARDS.iter().any(|word| plain.starts_with(word) && !has_more(&plain))
}

/// True if a part of an expected value accepts anything.
pub(super) fn has_wildcard(expected: &str) -> bool {
    let plain: String = expected.split_whitespace().collect();
    WILDCARDS.iter().any(|word| plain.contains(word))
}

/// True if other values follow the first one.
fn has_more(plain: &str) -> bool {
    let mut depth = 0_i32;
    plain.chars().any(|letter| {
        depth += i32::from(matches!(letter, '(' | '[' | '{'));
        depth -= i32::from(matches!(letter, ')' | ']' | '}'));
        letter == ',' && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_all_libraries_are_understood() {
        let check = |name: &str, word: MatcherWord, is_contrary: bool| {
            assert_eq!(meaning(name), Some((word, is_contrary)), "{name}");
        };
        check("assertEqual", MatcherWord::Equal, false);
        check("assertNotEqual", MatcherWord::Equal, true);
        check("AreEqual", MatcherWord::Equal, false);
        check("toBe", MatcherWord::Equal, false);
        check("toStrictEqual", MatcherWord::Equal, false);
        check("toHaveBeenCalledWith", MatcherWord::Equal, false);
        check("assert_called_once_with", MatcherWord::Equal, false);
        check("assert_eq", MatcherWord::Equal, false);
        check("assert_ne", MatcherWord::Equal, true);
        check("assertIsNotNone", MatcherWord::Nothing, true);
        check("toBeNull", MatcherWord::Nothing, false);
        check("isNotEmpty", MatcherWord::Nothing, true);
        check("notNullValue", MatcherWord::Nothing, true);
        check("NoError", MatcherWord::Nothing, false);
        check("assertTrue", MatcherWord::True, false);
        check("toBeTruthy", MatcherWord::Truthy, false);
        check("doesNotContain", MatcherWord::Partial, true);
        check("assertGreaterEqual", MatcherWord::Partial, false);
        check("BeGreaterThan", MatcherWord::Partial, false);
        check("assertIsInstance", MatcherWord::Shape, false);
        check("toHaveLength", MatcherWord::Shape, false);
        check("assertAlmostEqual", MatcherWord::Close, false);
        check("ThrowsAsync", MatcherWord::Raises, false);
        check("toThrowError", MatcherWord::Raises, false);
        check("toMatchSnapshot", MatcherWord::Snapshot, false);
        check("toHaveBeenCalled", MatcherWord::Called, false);
        check("assert_called_once", MatcherWord::Once, false);
        check("ifError", MatcherWord::Nothing, false);
        check("doesNotReject", MatcherWord::Raises, true);
        assert_eq!(meaning_in_chain("toBeVisible"), Some((MatcherWord::State, false)));
        assert_eq!(meaning_in_chain("toHaveTextContent"), Some((MatcherWord::State, false)));
        assert_eq!(meaning("assert_valid_order"), None);
        assert_eq!(meaning("compute"), None);
    }
}
