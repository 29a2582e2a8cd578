//! Which rules of ruff and flake8 a configuration enables. A rule is selected by its code or a
//! prefix of it, and the longest prefix decides.

use serde_json::Value;

use super::compare::Relaxation;
use super::tools::{ConfiguredTool, RUFF};
use crate::settings::{as_list, value_at};

/// Ruff's default selection (its documentation, "Rule selection").
const RUFF_SELECTED: [&str; 4] = ["E4", "E7", "E9", "F"];
/// Flake8's default selection (its documentation, "Options").
const FLAKE8_SELECTED: [&str; 4] = ["E", "F", "W", "C90"];
const FLAKE8_IGNORED: [&str; 8] = ["E121", "E123", "E126", "E226", "E24", "E704", "W503", "W504"];

/// Rules that a formatter makes redundant or that contradict another rule, per ruff's and black's
/// documentation.
const POINTLESS: [&str; 18] = [
    "COM812", "COM819", "D203", "D206", "D213", "D300", "E111", "E114", "E117", "E203", "E501",
    "E701", "ISC001", "ISC002", "Q00", "W191", "W503", "W504",
];

/// Rules that make no sense in tests, and in files that only re-export names.
const IN_TESTS: [&str; 7] = ["ANN", "ARG", "D", "INP", "PLR2004", "S", "SLF"];
const IN_INITS: [&str; 3] = ["F401", "F403", "F405"];

struct RuleSelection {
    on: Vec<String>,
    off: Vec<String>,
    /// Disabled codes by glob.
    by_glob: Vec<(String, String)>,
}

impl RuleSelection {
    fn of(tool: &ConfiguredTool, value: &Value) -> Self {
        let is_ruff = tool.name == RUFF.name;
        let list = |name: &str| {
            let found = value_at(value, &["lint", name]).or_else(|| value.get(name));
            found.map(codes)
        };
        let or = |list: Option<Vec<String>>, default: &[&str]| {
            list.unwrap_or_else(|| default.iter().map(|it| (*it).to_owned()).collect())
        };
        let (selected, ignored): (&[&str], &[&str]) =
            if is_ruff { (&RUFF_SELECTED, &[]) } else { (&FLAKE8_SELECTED, &FLAKE8_IGNORED) };
        let mut on = or(list("select"), selected);
        on.extend(list("extend-select").unwrap_or_default());
        let mut off = or(list("ignore"), ignored);
        off.extend(list("extend-ignore").unwrap_or_default());
        let mut by_glob = Vec::new();
        for name in ["per-file-ignores", "extend-per-file-ignores"] {
            let found = value_at(value, &["lint", name]).or_else(|| value.get(name));
            by_glob.extend(found.map(pairs).unwrap_or_default());
        }
        Self { on, off, by_glob }
    }

    fn is_on(&self, code: &str) -> bool {
        let longest = |list: &[String]| {
            let fits = list.iter().filter(|it| *it == "ALL" || code.starts_with(it.as_str()));
            fits.map(|it| if it == "ALL" { 0 } else { it.len() }).max()
        };
        match (longest(&self.on), longest(&self.off)) {
            (Some(on), Some(off)) => on > off,
            (on, _) => on.is_some(),
        }
    }

    fn is_off_in(&self, glob: &str, code: &str) -> bool {
        self.by_glob
            .iter()
            .find(|(own, off)| own == glob && code.starts_with(off.as_str()))
            .is_some()
    }
}

/// Every rule that was enabled and no longer is.
pub(super) fn relaxed_codes(
    tool: &ConfiguredTool,
    before: &Value,
    after: &Value,
) -> Vec<Relaxation> {
    let (was, mut is) = (RuleSelection::of(tool, before), RuleSelection::of(tool, after));
    let is_ruff = tool.name == RUFF.name;
    // Without a selection flake8 enables the rules of its plugins, except those that are opt-in.
    if !is_ruff && after.get("select").is_none() {
        is.on.push("ALL".to_owned());
        is.off.extend(was.on.iter().filter(|it| it.starts_with("B9")).cloned());
    }
    let mut named: Vec<&String> =
        [&was.on, &was.off, &is.on, &is.off].into_iter().flatten().collect();
    named.sort();
    named.dedup();
    let is_pointless = |code: &str| POINTLESS.iter().any(|it| code.starts_with(it));
    let off = named.into_iter().filter(|code| {
        let is_rule = *code != "ALL" && !is_pointless(code);
        is_rule && was.is_on(code) && !is.is_on(code)
    });
    let mut found: Vec<Relaxation> =
        off.map(|code| Relaxation::new(code, "is no longer checked")).collect();
    if is_ruff && was.on.iter().any(|it| it == "ALL") && !is.on.iter().any(|it| it == "ALL") {
        found.push(Relaxation::new("select", "lost `ALL`"));
    }
    for (glob, code) in &is.by_glob {
        let is_fine = is_pointless(code)
            || glob.contains("__init__") && IN_INITS.contains(&code.as_str())
            || is_tests(glob) && IN_TESTS.iter().any(|it| code.starts_with(it));
        let is_moved = was.by_glob.iter().any(|(old, off)| {
            off == code && is_same_file(old, glob) && !is.by_glob.iter().any(|(now, _)| now == old)
        });
        if !is_fine && !is_moved && was.is_on(code) && !was.is_off_in(glob, code) {
            found.push(Relaxation::new(
                "per-file-ignores",
                format!("leaves `{code}` out in `{glob}`"),
            ));
        }
    }
    found
}

/// True if two paths name a file that moved to another folder.
fn is_same_file(old: &str, new: &str) -> bool {
    let tail = |path: &str| path.rsplit('/').take(2).map(str::to_owned).collect::<Vec<_>>();
    !new.contains('*') && tail(old) == tail(new)
}

fn is_tests(glob: &str) -> bool {
    glob.contains("test")
}

/// The codes of a list; other words, such as a trailing comment, are skipped.
fn codes(value: &Value) -> Vec<String> {
    let words = as_list(value).into_iter().filter_map(|it| {
        let code = it.split(['#', ' ']).next().unwrap_or_default().to_owned();
        (!code.is_empty()).then_some(code)
    });
    words.collect()
}

/// The globs with their codes: a table of ruff, or lines `glob:codes` of flake8.
fn pairs(value: &Value) -> Vec<(String, String)> {
    let Value::String(text) = value else {
        let table = value.as_object().into_iter().flatten();
        return table
            .flat_map(|(glob, list)| codes(list).into_iter().map(move |it| (glob.clone(), it)))
            .collect();
    };
    let mut glob = "";
    let mut found = Vec::new();
    for word in text.split([',', '\n', ' ']).map(str::trim).filter(|it| !it.is_empty()) {
        let code = match word.split_once(':') {
            Some((name, code)) => {
                glob = name;
                code
            }
            None => word,
        };
        if !code.is_empty() {
            found.push((glob.to_owned(), code.to_owned()));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tools::FLAKE8;
    use super::*;

    fn check(tool: &ConfiguredTool, before: &Value, after: &Value, expected: &[&str]) {
        let found = relaxed_codes(tool, before, after);
        let keys: Vec<&str> = found.iter().map(|it| it.key.as_str()).collect();
        assert_eq!(keys, expected, "{before} -> {after}");
    }

    #[test]
    fn only_rules_that_were_on_can_be_turned_off() {
        let lint = |table: Value| json!({ "lint": table });
        check(&RUFF, &json!({}), &lint(json!({"ignore": ["F401"]})), &["F401"]);
        check(
            &RUFF,
            &json!({}),
            &lint(json!({"select": ["E", "F", "B"], "ignore": ["B008"]})),
            &[],
        );
        check(
            &RUFF,
            &lint(json!({"select": ["E", "F", "B"]})),
            &lint(json!({"select": ["E", "F"]})),
            &["B"],
        );
        check(&RUFF, &lint(json!({"select": ["E", "F"]})), &lint(json!({"select": ["ALL"]})), &[]);
        check(&RUFF, &json!({"select": ["F"]}), &lint(json!({"select": ["F"]})), &[]);
        check(&FLAKE8, &json!({}), &json!({"extend-ignore": "E203, W503"}), &[]);
        check(&FLAKE8, &json!({"ignore": "E1"}), &json!({"ignore": "E1,F841"}), &["F841"]);
    }

    #[test]
    fn rules_of_single_files_count_unless_they_make_no_sense_there() {
        let files = |glob: &str, code: &str| json!({"lint": {"per-file-ignores": {glob: [code]}}});
        check(&RUFF, &json!({}), &files("src/a.py", "F821"), &["per-file-ignores"]);
        check(&RUFF, &json!({}), &files("__init__.py", "F401"), &[]);
        check(
            &RUFF,
            &json!({"lint": {"select": ["S"]}}),
            &json!({"lint": {"select": ["S"], "per-file-ignores": {"tests/*": ["S101"]}}}),
            &[],
        );
        check(
            &FLAKE8,
            &json!({}),
            &json!({"per-file-ignores": "a.py:F401,E711\nb.py: F841"}),
            &["per-file-ignores"; 3],
        );
    }
}
