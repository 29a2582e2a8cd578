//! The rules of an `ESLint` configuration, in its old and its flat form.

use serde_json::{Map, Value};

use super::compare::{Relaxation, rank};
use super::merge;
use super::tools::LEVELS;
use crate::settings::as_list;

/// Normalizes both forms to `rules`, `ignores` and `overrides.<files>.rules`.
pub(super) fn normalize_rules(table: &mut Map<String, Value>) {
    let mut overrides = Map::new();
    for part in take_list(table, "overrides") {
        let files = part.get("files").map(as_list).unwrap_or_default().join(" ");
        add(&mut overrides, files, &part);
    }
    for part in take_list(table, LIST) {
        let Value::Object(part) = part else { continue };
        let files = part.get("files").map(as_list).unwrap_or_default();
        let covers_all = files.is_empty() || files.iter().any(|it| it.starts_with("**/*"));
        if !covers_all {
            add(&mut overrides, files.join(" "), &Value::Object(part));
            continue;
        }
        for (key, value) in part {
            let own = table.entry(key).or_insert_with(|| Value::Object(Map::new()));
            match (own, value) {
                (Value::Object(own), Value::Object(value)) => own.extend(value),
                (Value::Array(own), Value::Array(value)) => own.extend(value),
                (own, value) => *own = value,
            }
        }
    }
    table.insert("overrides".to_owned(), Value::Object(overrides));
}

/// Merges parts that apply to the same files.
fn add(overrides: &mut Map<String, Value>, files: String, part: &Value) {
    merge(overrides.entry(files).or_insert_with(|| Value::Object(Map::new())), part);
}

/// Key that holds a configuration that is a list.
pub(super) const LIST: &str = "[]";

fn take_list(table: &mut Map<String, Value>, key: &str) -> Vec<Value> {
    match table.remove(key) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

/// Every rule with a lower level. A rule that is turned off where it had no level counts unless
/// the change brings other rules, or one of the same name from a plugin: it then takes its place.
pub(super) fn relaxed_rules(before: &Value, after: &Value, inherits: bool) -> Vec<Relaxation> {
    let nothing = Value::Null;
    let has_new_sets = inherits && !has_same_sets(before, after);
    let mut found = relaxed_in_part(before, after, &nothing, "rules", has_new_sets);
    for (files, part) in after.get("overrides").and_then(Value::as_object).into_iter().flatten() {
        let old = before.get("overrides").and_then(|it| it.get(files));
        let is_known = old.is_some() || !files.contains("test") && !files.contains("spec");
        if is_known {
            found.extend(relaxed_in_part(old.unwrap_or(&nothing), part, after, files, false));
        }
    }
    found
}

/// True if both versions extend the same sets.
fn has_same_sets(before: &Value, after: &Value) -> bool {
    before.get("extends") == after.get("extends") && before.get("plugins") == after.get("plugins")
}

/// The rules of one part that became laxer; a rule in neither version is as in the `base`.
fn relaxed_in_part(
    before: &Value,
    after: &Value,
    base: &Value,
    place: &str,
    has_new_sets: bool,
) -> Vec<Relaxation> {
    let rules =
        |value: &Value| value.get("rules").and_then(Value::as_object).cloned().unwrap_or_default();
    let (was, is, base) = (rules(before), rules(after), rules(base));
    // Rules disabled only for tests do not affect other files.
    let is_of_tests = ["test", "spec"].iter().any(|word| place.contains(word));
    let level = |value: Option<&Value>| rank(LEVELS, value);
    let is_raised =
        is.iter().any(|(name, value)| level(Some(value)) > level(was.get(name)).or(Some(0)));
    let mut found = Vec::new();
    for (name, value) in &is {
        let Some(new) = level(Some(value)) else { continue };
        let is_lower = match level(was.get(name)) {
            Some(old) => new < old,
            None => {
                new == 0 && !is_raised && !has_new_sets && !is_of_tests && !was.contains_key(name)
            }
        };
        if is_lower && !has_namesake(name, &is) {
            found.push(Relaxation::new(name, format!("is lower in `{place}`")));
        }
    }
    let gone = was.iter().filter(|(name, value)| {
        let is_gone = !is.contains_key(*name) && level(base.get(*name)) < level(Some(value));
        level(Some(value)) > Some(0) && is_gone && !has_namesake(name, &is)
    });
    // The sets may contain the removed rule.
    let may_be_held = has_new_sets || after.get("extends").is_some();
    let gone = gone.filter(|_| {
        !may_be_held && !is.is_empty() || is.is_empty() && after.get("rules").is_some()
    });
    found
        .extend(gone.map(|(name, _)| Relaxation::new(name, format!("was removed from `{place}`"))));
    found
}

/// True if another rule of the same name is enabled, with or without a plugin prefix.
fn has_namesake(name: &str, rules: &Map<String, Value>) -> bool {
    let last = |name: &str| name.rsplit('/').next().unwrap_or_default().to_owned();
    rules.iter().any(|(other, value)| {
        other != name && last(other) == last(name) && rank(LEVELS, Some(value)) > Some(0)
    })
}
