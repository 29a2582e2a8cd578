//! Compares two configurations of a tool key by key and reports which keys became laxer.

use serde_json::Value;

use super::tool_specifics::implied_by_strict;
use super::tools::{ConfiguredTool, LEVELS, Strictness};
use crate::settings::{as_bool, as_list, as_number, as_word};

/// One key that became laxer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Relaxation {
    /// Dotted path of the key.
    pub(super) key: String,
    /// Description of the change.
    pub(super) change: String,
}

impl Relaxation {
    pub(super) fn new(key: &str, what: impl Into<String>) -> Self {
        Self { key: key.to_owned(), change: what.into() }
    }
}

/// Every key that became laxer. If the later configuration inherits settings, a removed key means
/// nothing.
pub(super) fn relaxed_keys(
    tool: &ConfiguredTool,
    before: &Value,
    after: &Value,
    inherits: bool,
) -> Vec<Relaxation> {
    let pairs = pairs(before, after);
    let is_raised = pairs.iter().any(|(path, was, is)| match strictness_of(tool, path) {
        Some(Strictness::Ladder(ladder)) => rank(ladder, *is) > rank(ladder, *was).or(Some(0)),
        _ => false,
    });
    let is_strict = |value: &Value| value.get("strict").and_then(as_bool) == Some(true);
    let took_strict = is_strict(after) && !is_strict(before);
    // One change turns off all flags that it implies.
    let lost_strict = pairs.iter().any(|(path, was, is)| {
        path.last().is_some_and(|key| key == "strict")
            && was.and_then(as_bool) == Some(true)
            && is.and_then(as_bool) != Some(true)
    });
    let one = |(path, was, is): &(Vec<String>, Option<&Value>, Option<&Value>)| {
        let way = strictness_of(tool, path)?;
        // Enabling a whole set does not list its flags.
        let is_in_set = matches!(way, Strictness::Strict) && took_strict;
        let is_implied = lost_strict
            && path.last().is_some_and(|key| implied_by_strict(tool).contains(&key.as_str()));
        if is.is_none() && (inherits || is_in_set || is_implied) {
            return None;
        }
        let what = relaxation_of(way, *was, *is, is_raised)?;
        Some(Relaxation::new(&path.join("."), what))
    };
    pairs.iter().filter_map(one).collect()
}

/// In which direction a key becomes laxer; `None` for a key that does not matter.
pub(super) fn strictness_of(tool: &ConfiguredTool, path: &[String]) -> Option<Strictness> {
    let is_meant = |pattern: &str| {
        let steps: Vec<&str> = pattern.split('.').collect();
        let (steps, is_open) = match steps.split_last() {
            Some((&"**", above)) => (above, true),
            _ => (steps.as_slice(), false),
        };
        let is_long_enough = path.len() == steps.len() || is_open && path.len() > steps.len();
        is_long_enough && steps.iter().zip(path).all(|(step, it)| *step == "*" || step == it)
    };
    tool.keys.iter().find(|key| is_meant(key.path)).map(|key| key.strictness)
}

/// A key's path, and its values before and after.
type ValueChange<'v> = (Vec<String>, Option<&'v Value>, Option<&'v Value>);

/// The leaves of two values, paired, in the order of the first.
fn pairs<'v>(before: &'v Value, after: &'v Value) -> Vec<ValueChange<'v>> {
    let (mut olds, mut news) = (Vec::new(), Vec::new());
    leaves(before, &mut Vec::new(), &mut olds);
    leaves(after, &mut Vec::new(), &mut news);
    let mut pairs: Vec<ValueChange<'v>> =
        olds.into_iter().map(|(path, was)| (path, Some(was), None)).collect();
    for (path, is) in news {
        match pairs.iter_mut().find(|pair| pair.0 == path) {
            Some(pair) => pair.2 = Some(is),
            None => pairs.push((path, None, Some(is))),
        }
    }
    pairs
}

/// Every non-table value, with its path.
pub(super) fn leaves<'v>(
    value: &'v Value,
    path: &mut Vec<String>,
    found: &mut Vec<(Vec<String>, &'v Value)>,
) {
    let Value::Object(table) = value else {
        found.push((path.clone(), value));
        return;
    };
    for (name, inner) in table {
        path.push(name.clone());
        leaves(inner, path, found);
        path.pop();
    }
}

/// The relaxation of a key, if any.
fn relaxation_of(
    way: Strictness,
    was: Option<&Value>,
    is: Option<&Value>,
    is_raised: bool,
) -> Option<String> {
    let turned = || format!("was {} and is {}", shown(was), shown(is));
    let truth = |value: Option<&Value>| value.and_then(as_bool);
    let number = |value: Option<&Value>| value.and_then(as_number);
    let is_laxer = match way {
        Strictness::Free => false,
        Strictness::Strict => {
            truth(was) == Some(true) && !is_dynamic(is) && truth(is) != Some(true)
        }
        Strictness::StrictByDefault => truth(is) == Some(false) && truth(was) != Some(false),
        Strictness::Lax => truth(is) == Some(true) && truth(was) != Some(true),
        Strictness::Ladder(ladder) => is_lower(ladder, was, is, is_raised),
        Strictness::Floor => {
            let was = number(was)?;
            !is_dynamic(is) && number(is).is_none_or(|is| is < was)
        }
        Strictness::Ceiling(default) => number(is)? > number(was).unwrap_or(default),
        Strictness::KeepsItems => return lost(was?, is),
        Strictness::Paths => return narrowed(was, is?),
        Strictness::Closed => return added_items(was, is?, false),
        Strictness::ClosedButTests => return added_items(was, is?, true),
    };
    is_laxer.then(turned)
}

/// True if a key is set, but computed by code instead of given as a literal.
fn is_dynamic(value: Option<&Value>) -> bool {
    value.is_some_and(Value::is_null)
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "unset".to_owned(), |value| format!("`{}`", as_word(value)))
}

/// Rank of a value on a ladder: a word, the first item of a list, a boolean, or a number as in
/// `ESLint`.
pub(super) fn rank(ladder: &[&str], value: Option<&Value>) -> Option<usize> {
    let top = ladder.len().saturating_sub(1);
    match value? {
        Value::Array(items) => rank(ladder, items.first()),
        Value::Bool(is) => Some(if *is { top } else { 0 }),
        Value::Number(number) if ladder == LEVELS => match number.as_u64()? {
            0 => Some(0),
            1 => Some(2),
            _ => Some(3),
        },
        Value::String(word) => {
            let word = word.to_ascii_lowercase();
            match word.as_str() {
                "true" | "on" => Some(top),
                "false" => Some(0),
                _ => ladder.iter().position(|step| *step == word),
            }
        }
        _ => None,
    }
}

/// True if a level fell. A rule set to the lowest level without an earlier level counts, unless the
/// same change raises another rule: enabling a whole set may require disabling some of its rules.
fn is_lower(ladder: &[&str], was: Option<&Value>, is: Option<&Value>, is_raised: bool) -> bool {
    match (rank(ladder, was), is, rank(ladder, is)) {
        (Some(was), _, Some(is)) => is < was,
        (Some(was), None, _) => was > 1 || ladder.get(was).is_some_and(|it| *it == "warn"),
        (None, _, Some(0)) => was.is_none() && !is_raised,
        _ => false,
    }
}

fn lost(was: &Value, is: Option<&Value>) -> Option<String> {
    if is_dynamic(is) {
        return None;
    }
    let (olds, news) = (as_list(was), is.map(as_list).unwrap_or_default());
    let lost: Vec<&String> = olds.iter().filter(|old| !news.contains(old)).collect();
    let added = news.iter().filter(|new| !olds.contains(new)).count();
    // An equal number of new items may replace the removed ones under other names.
    let first = lost.first().filter(|_| lost.len() > added)?;
    Some(format!("lost `{first}`"))
}

fn narrowed(was: Option<&Value>, is: &Value) -> Option<String> {
    let news = as_list(is);
    let Some(was) = was else {
        let is_file =
            |it: &&String| !it.contains('*') && it.rsplit('/').next().is_some_and(is_source);
        let file = news.iter().find(is_file).filter(|_| news.iter().all(|it| is_file(&it)))?;
        return Some(format!("is narrowed to `{file}`"));
    };
    let olds = as_list(was);
    let is_covered = |old: &&String| news.iter().any(|new| new == *old || is_below(old, new));
    let dropped: Vec<&String> = olds.iter().filter(|old| !is_covered(old)).collect();
    let added: Vec<&String> = news.iter().filter(|new| !olds.contains(new)).collect();
    let narrower = |old: &str| added.iter().find(|new| is_below(new, old) || is_finer(new, old));
    if let Some((old, new)) = dropped.iter().find_map(|old| Some((old, narrower(old)?))) {
        return Some(format!("is narrowed from `{old}` to `{new}`"));
    }
    let first = dropped.first().filter(|_| added.is_empty() && !news.is_empty())?;
    Some(format!("lost `{first}`"))
}

/// True if a name is that of a source file.
pub(super) fn is_source(name: &str) -> bool {
    let end = name.rsplit_once('.').map_or("", |(_, end)| end);
    ["py", "ts", "tsx", "js", "jsx", "mjs", "go", "rs", "java", "cs"].contains(&end)
}

/// True if a path is below another.
fn is_below(path: &str, folder: &str) -> bool {
    let plain = |it: &str| it.trim_start_matches("./").trim_end_matches(['*', '/']).to_owned();
    let (path, folder) = (plain(path), plain(folder));
    folder.is_empty() || folder == "." || path.starts_with(&format!("{folder}/"))
}

/// True if a glob is another one with additional letters before its end.
fn is_finer(new: &str, old: &str) -> bool {
    let tail = |glob: &str| glob.rsplit(['*', '/']).next().unwrap_or_default().to_owned();
    let (new_tail, old_tail) = (tail(new), tail(old));
    old_tail.len() > 2 && new_tail.len() > old_tail.len() && new_tail.ends_with(&old_tail)
}

fn added_items(was: Option<&Value>, is: &Value, but_tests: bool) -> Option<String> {
    let (olds, news) = (was.map(as_list).unwrap_or_default(), as_list(is));
    let added: Vec<&String> = news.iter().filter(|new| !olds.contains(new)).collect();
    let dropped = olds.iter().filter(|old| !news.contains(old)).count();
    let is_fine =
        |new: &str| is_harmless(new) || but_tests && TESTS.iter().any(|word| new.contains(word));
    let first = added.iter().find(|new| !is_fine(new)).filter(|_| added.len() > dropped)?;
    Some(format!("got `{first}`"))
}

/// Path parts without project sources, and names that no linter can check.
const HARMLESS: &[&str] = &[
    ".d.ts",
    ".git",
    ".min.",
    ".mypy_cache",
    ".next",
    ".nox",
    ".nuxt",
    ".pytest_cache",
    ".ruff_cache",
    ".tox",
    ".turbo",
    ".venv",
    "__generated__",
    "__pycache__",
    "__snapshots__",
    "_pb2",
    ".pb.",
    "bower_components",
    "build",
    "coverage",
    "dist",
    "docs/_build",
    "egg-info",
    "generated",
    "migrations",
    "node_modules",
    "out",
    "site-packages",
    "storybook-static",
    "target",
    "third_party",
    "third-party",
    "thirdparty",
    "vendor",
    "venv",
    ".cache",
    "htmlcov",
    "__mocks__",
    "testdata",
    "fixtures",
    ".eslintrc.js",
    ".eslintrc.cjs",
    "eslint.config",
];

/// Words in names of tests.
const TESTS: &[&str] = &["test", "spec", "e2e", "conftest", "stories"];

/// True if the exclusion affects no source of the project.
pub(super) fn is_harmless(item: &str) -> bool {
    let is_known = CODES.contains(&item) || NO_FOLDERS.contains(&item);
    is_known
        || HARMLESS
            .iter()
            .find(|part| {
                let trimmed = item.trim_matches(['*', '/', '^', '$', '\\', '(', ')']);
                let is_step = trimmed.split(['/', '\\', '|']).any(|step| step == **part);
                is_step || part.contains(['.', '_']) && item.contains(**part)
            })
            .is_some()
}

/// Folders that pytest skips by default (its documentation, `norecursedirs`).
const NO_FOLDERS: &[&str] = &["*.egg", ".*", "CVS", "_darcs", "{arch}"];

/// Rules that a formatter or another rule makes redundant, per the formatters' documentation.
const CODES: &[&str] = &[
    "deadcode",
    "exportloopref",
    "exhaustivestruct",
    "golint",
    "gomnd",
    "ifshort",
    "interfacer",
    "maligned",
    "nosnakecase",
    "scopelint",
    "structcheck",
    "tenv",
    "varcheck",
    "execinquery",
    "bad-continuation",
    "line-too-long",
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tool_specifics::normalize_config;
    use super::super::tools::{CARGO, MYPY, PYTEST, TSC};
    use super::*;

    fn check(tool: &ConfiguredTool, before: &Value, after: &Value, expected: &[&str]) {
        let found = relaxed_keys(tool, before, after, false);
        let found: Vec<String> =
            found.iter().map(|it| format!("{} {}", it.key, it.change)).collect();
        assert_eq!(found, expected, "{before} -> {after}");
    }

    #[test]
    fn a_flag_that_falls_or_goes_is_laxer() {
        let strict = json!({"compilerOptions": {"strict": true}});
        let gone = ["compilerOptions.strict was `true` and is unset"];
        check(&TSC, &strict, &json!({"compilerOptions": {"target": "es2022"}}), &gone);
        check(&TSC, &json!({"compilerOptions": {}}), &strict, &[]);
        let both = json!({"compilerOptions": {"strict": true, "noUnusedLocals": true}});
        let lost = [
            "compilerOptions.strict was `true` and is `false`",
            "compilerOptions.noUnusedLocals was `true` and is unset",
        ];
        let not_strict = json!({"compilerOptions": {"strict": false}});
        check(&TSC, &normalize_config(&TSC, both), &not_strict, &lost);
        check(
            &MYPY,
            &json!({}),
            &json!({"ignore_errors": "True"}),
            &["ignore_errors was unset and is `True`"],
        );
    }

    #[test]
    fn levels_fall_by_words_tables_and_removal() {
        let all = json!({"level": "warn"});
        let clippy = |table: Value| json!({"lints": {"clippy": table}});
        let lints = |level: &str| clippy(json!({"unwrap_used": level, "all": all}));
        check(
            &CARGO,
            &lints("deny"),
            &lints("warn"),
            &["lints.clippy.unwrap_used was `deny` and is `warn`"],
        );
        check(&CARGO, &lints("warn"), &lints("deny"), &[]);
        let more = json!({
            "unwrap_used": "warn", "all": all, "pedantic": "warn", "similar_names": "allow",
        });
        let more = clippy(more);
        check(&CARGO, &lints("warn"), &more, &[]);
    }

    #[test]
    fn paths_are_narrowed_by_what_lies_below_only() {
        let paths = |list: &[&str]| json!({"testpaths": list});
        let narrowed = ["testpaths is narrowed from `tests` to `tests/unit`"];
        check(&PYTEST, &paths(&["tests"]), &paths(&["tests/unit"]), &narrowed);
        check(&PYTEST, &paths(&["tests/unit"]), &paths(&["tests"]), &[]);
        check(&PYTEST, &paths(&["tests"]), &paths(&["test"]), &[]);
        check(&PYTEST, &paths(&["a", "b"]), &paths(&["a"]), &["testpaths lost `b`"]);
        check(&PYTEST, &json!({}), &paths(&["tests"]), &[]);
        check(&PYTEST, &paths(&["tests"]), &json!({}), &[]);
    }
}
