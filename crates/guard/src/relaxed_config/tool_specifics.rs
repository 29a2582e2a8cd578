//! Tool-specific semantics of configurations beyond single keys: flags that imply others, options
//! in a command line, old names.

use serde_json::{Map, Value};

use super::codes;
use super::compare::Relaxation;
use super::rules;
use super::tools::{CARGO, ConfiguredTool, ESLINT, FLAKE8, PYTEST, RUFF};
use crate::commands::{ScriptCommand, weakened_commands};
use crate::settings::{as_bool, as_list, as_word, value_at};

/// Flags implied by `strict` in TypeScript 5 (its tsconfig reference).
const TSC_STRICT: [&str; 9] = [
    "alwaysStrict",
    "noImplicitAny",
    "noImplicitThis",
    "strictBindCallApply",
    "strictBuiltinIteratorReturn",
    "strictFunctionTypes",
    "strictNullChecks",
    "strictPropertyInitialization",
    "useUnknownInCatchVariables",
];

/// Flags implied by `strict` in mypy (`mypy --help`).
const MYPY_STRICT: [&str; 13] = [
    "check_untyped_defs",
    "disallow_any_generics",
    "disallow_incomplete_defs",
    "disallow_subclassing_any",
    "disallow_untyped_calls",
    "disallow_untyped_decorators",
    "disallow_untyped_defs",
    "extra_checks",
    "no_implicit_reexport",
    "strict_equality",
    "warn_redundant_casts",
    "warn_return_any",
    "warn_unused_ignores",
];

/// The flags that the tool's `strict` implies.
pub(super) fn implied_by_strict(tool: &ConfiguredTool) -> &'static [&'static str] {
    match tool.name {
        "mypy" => &MYPY_STRICT,
        "tsconfig" => &TSC_STRICT,
        _ => &[],
    }
}

/// Normalizes a configuration to one shape, independent of its location.
pub(super) fn normalize_config(tool: &ConfiguredTool, value: Value) -> Value {
    let Value::Object(mut table) = value else { return value };
    match tool.name {
        "mypy" => mypy(&mut table),
        "ruff" => ruff(&mut table),
        "coverage" => return Value::Object(coverage(table)),
        "pyright" => environments(&mut table),
        "pylint" => return Value::Object(flat(table)),
        "tsconfig" => {
            if let Some(Value::Object(options)) = table.get_mut("compilerOptions") {
                spread(options, &TSC_STRICT);
            }
        }
        "eslint" => rules::normalize_rules(&mut table),
        "the compiler of C#" => severities(&mut table),
        _ => {}
    }
    Value::Object(table)
}

/// Relaxations that comparing single keys does not show.
pub(super) fn relaxed_specially(
    tool: &ConfiguredTool,
    before: &Value,
    after: &Value,
    inherits: bool,
) -> Vec<Relaxation> {
    match tool.name {
        name if name == RUFF.name || name == FLAKE8.name => {
            codes::relaxed_codes(tool, before, after)
        }
        name if name == PYTEST.name => pytest(before, after),
        name if name == ESLINT.name => rules::relaxed_rules(before, after, inherits),
        name if name == CARGO.name => cargo(before, after),
        _ => Vec::new(),
    }
}

/// Sets the flags that a strict flag implies, unless they are set explicitly.
fn spread(options: &mut Map<String, Value>, flags: &[&str]) {
    if options.get("strict").and_then(as_bool) == Some(true) {
        for flag in flags {
            options.entry(*flag).or_insert(Value::Bool(true));
        }
    }
}

/// Sections `mypy` and `mypy-module` of an ini file, and the list `overrides` of a TOML one, both
/// as `overrides.module`.
fn mypy(table: &mut Map<String, Value>) {
    let names: Vec<String> = table.keys().filter(|it| it.starts_with("mypy")).cloned().collect();
    let mut overrides = Map::new();
    for name in names {
        let Some(section) = table.remove(&name) else { continue };
        match (name.strip_prefix("mypy-"), section) {
            (Some(modules), section) => {
                for module in as_list(&Value::String(modules.to_owned())) {
                    overrides.insert(module, section.clone());
                }
            }
            (None, Value::Object(own)) => table.extend(own),
            (None, _) => {}
        }
    }
    if let Some(Value::Array(list)) = table.remove("overrides") {
        for one in list {
            for module in one.get("module").map(as_list).unwrap_or_default() {
                overrides.insert(module, one.clone());
            }
        }
    }
    table.insert("overrides".to_owned(), Value::Object(overrides));
    spread(table, &MYPY_STRICT);
}

/// Report levels of pyright's `executionEnvironments`, by folder. Of two entries for
/// one folder pyright takes the first.
fn environments(table: &mut Map<String, Value>) {
    let Some(Value::Array(list)) = table.remove("executionEnvironments") else { return };
    let mut folders = Map::new();
    for one in list {
        let Value::Object(mut one) = one else { continue };
        let root = one.get("root").map(as_word).unwrap_or_default();
        one.retain(|key, _| key.starts_with("report") || key == "typeCheckingMode");
        folders.entry(root).or_insert(Value::Object(one));
    }
    table.insert("executionEnvironments".to_owned(), Value::Object(folders));
}

/// Ruff's old top-level keys are now below `lint`.
fn ruff(table: &mut Map<String, Value>) {
    for name in ["mccabe", "pylint"] {
        let Some(value) = table.remove(name) else { continue };
        let lint = table.entry("lint").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(lint) = lint {
            lint.entry(name).or_insert(value);
        }
    }
}

fn coverage(table: Map<String, Value>) -> Map<String, Value> {
    let plain = |name: String| name.strip_prefix("coverage:").map_or(name.clone(), str::to_owned);
    table.into_iter().map(|(name, value)| (plain(name), value)).collect()
}

/// Merges all sections.
fn flat(table: Map<String, Value>) -> Map<String, Value> {
    let mut all = Map::new();
    for (name, value) in table {
        match value {
            Value::Object(section) => all.extend(section),
            other => _ = all.insert(name, other),
        }
    }
    all
}

/// Keeps only the severities of diagnostics.
fn severities(table: &mut Map<String, Value>) {
    for section in table.values_mut().filter_map(Value::as_object_mut) {
        section.retain(|key, _| key.ends_with(".severity"));
    }
}

/// Options in `addopts`, and warnings that are no longer errors.
fn pytest(before: &Value, after: &Value) -> Vec<Relaxation> {
    let options = |value: &Value| {
        let text = value.get("addopts").map_or(String::new(), |it| match it {
            Value::Array(items) => items.iter().map(as_word).collect::<Vec<_>>().join("\n"),
            other => as_word(other),
        });
        let mut words = vec!["pytest".to_owned()];
        words.extend(text.split_whitespace().map(|it| it.trim_matches(['"', '\'']).to_owned()));
        [ScriptCommand { words, ignores_failure: false }]
    };
    let mut found: Vec<Relaxation> = weakened_commands(&options(before), &options(after))
        .iter()
        .map(|loss| Relaxation::new("addopts", loss.to_string()))
        .collect();
    let filters = |value: &Value| value.get("filterwarnings").map(lines).unwrap_or_default();
    let (was, is) = (filters(before), filters(after));
    let has = |list: &[String], word: &str| list.iter().any(|it| it == word);
    if has(&was, "error") && !has(&is, "error") || !has(&was, "ignore") && has(&is, "ignore") {
        found.push(Relaxation::new("filterwarnings", "lets warnings pass"));
    }
    found
}

fn lines(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => text.lines().map(|it| it.trim().to_owned()).collect(),
        other => as_list(other),
    }
}

/// Lints no longer inherited from the workspace, and test targets that Cargo no longer discovers by
/// itself. Other removals are found by their keys.
fn cargo(before: &Value, after: &Value) -> Vec<Relaxation> {
    let mut found = Vec::new();
    if inherits_lints(&CARGO, before) && after.get("lints").is_none() {
        found.push(Relaxation::new("lints.workspace", "is gone"));
    }
    let is_off =
        |value: &Value| value_at(value, &["package", "autotests"]).and_then(as_bool) == Some(false);
    let names_tests = after.get("test").and_then(Value::as_array).is_some_and(|it| !it.is_empty());
    if is_off(after) && !is_off(before) && !names_tests {
        found.push(Relaxation::new("package.autotests", "is `false` and no test is named"));
    }
    found
}

/// True if later lints come from the workspace.
pub(super) fn inherits_lints(tool: &ConfiguredTool, after: &Value) -> bool {
    let flag = after.get("lints").and_then(|it| it.get("workspace")).and_then(as_bool);
    tool.name == CARGO.name && flag == Some(true)
}
