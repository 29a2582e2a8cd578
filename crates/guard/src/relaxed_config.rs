//! G12: configuration of tests, linters and builds that demands less than before. Adding or
//! tightening a rule is never a finding.

mod builds;
pub(super) mod cargo_targets;
mod codes;
mod compare;
mod first_config;
mod literals;
mod project_references;
mod rules;
mod scripts;
mod tool_specifics;
mod tools;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use self::compare::Relaxation;
use self::tools::{CODE_HOMES, ConfigLocation, ConfiguredTool, HOMES};
use super::facts::{ParsedFiles, SourceSide};
use super::settings::{self, SettingsFormat, value_at};
use super::{Detection, GuardInput, SourceChange};
use moai_base::finding::Severity;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};

const CODE: &str = "G12";

/// The end of every message.
const REMEDY: &str = "restore it and fix the code, or let the user decide";

/// The configuration of one tool in one file.
struct ToolConfig {
    tool: &'static ConfiguredTool,
    value: Value,
    /// True if a program computes it, so that a missing key may still be set.
    is_code: bool,
    /// Its file, by the current path.
    path: RelPath,
}

/// The configurations of one tool in one folder.
#[derive(Default)]
struct ConfigPair {
    before: Vec<ToolConfig>,
    after: Vec<ToolConfig>,
}

pub(super) fn relaxed_hits(input: &GuardInput<'_>, files: &ParsedFiles<'_>) -> Vec<Detection> {
    let mut pairs: BTreeMap<(&str, String), ConfigPair> = BTreeMap::new();
    for file in &files.files {
        for reading in readings(
            file.change.path_before(),
            file.change.before.as_deref(),
            file.before.as_ref(),
            file.change,
        ) {
            pairs.entry(slot(&reading)).or_default().before.push(reading);
        }
        for reading in readings(
            &file.change.path,
            file.change.after.as_deref(),
            file.after.as_ref(),
            file.change,
        ) {
            pairs.entry(slot(&reading)).or_default().after.push(reading);
        }
    }
    let trades: Vec<&str> =
        pairs.values().flat_map(|pair| &pair.after).map(|it| it.tool.category).collect();
    let mut hits: Vec<Detection> =
        pairs.values().flat_map(|pair| pair_hits(pair, &trades, input.changes)).collect();
    let old_trades: Vec<&str> =
        pairs.values().flat_map(|pair| &pair.before).map(|it| it.tool.category).collect();
    let firsts = pairs.values().filter(|pair| pair.before.is_empty());
    hits.extend(firsts.flat_map(|pair| first_hits(pair, &old_trades, input.changes)));
    hits.extend(scripts::script_hits(input.changes));
    hits.extend(builds::build_hits(input.changes));
    hits
}

/// True if a file configures a known tool, runs checks or describes a build.
pub(super) fn is_tool_config(path: &RelPath) -> bool {
    HOMES.iter().any(|home| is_named(path, home.file))
        || scripts::is_script(path)
        || builds::is_build(path)
}

/// Hidden folders with files that are compared.
pub(super) fn hidden_folders() -> impl Iterator<Item = &'static str> {
    scripts::WORKFLOW_FOLDERS.iter().copied().chain([".cargo"])
}

/// Configuration files that cannot be read now.
pub(super) fn unreadable_configs(changes: &[SourceChange]) -> Vec<(RelPath, Gap)> {
    changes
        .iter()
        .filter_map(|change| {
            let text = change.after.as_deref()?;
            let home = HOMES.iter().find(|home| is_named(&change.path, home.file))?;
            let error = settings::parse_settings(home.format, text).err()?;
            Some((change.path.clone(), Gap::new(Cause::Skipped, error)))
        })
        .collect()
}

fn slot(reading: &ToolConfig) -> (&'static str, String) {
    let folder = reading.path.folder();
    // TypeScript configurations next to each other apply to different files.
    let own = if reading.tool.name == tools::TSC.name { reading.path.as_str() } else { folder };
    (reading.tool.name, own.to_owned())
}

/// The configurations in one text of a file.
fn readings(
    path: &RelPath,
    text: Option<&str>,
    side: Option<&SourceSide<'_>>,
    change: &SourceChange,
) -> Vec<ToolConfig> {
    let Some(text) = text else { return Vec::new() };
    let mut found = Vec::new();
    let name = path.file_name();
    if let Some((_, tool)) = CODE_HOMES.iter().find(|(start, _)| name.starts_with(start)) {
        let value = side.map(|side| literals::exported_config(side.root));
        found.extend(value.map(|value| (*tool, value, true)));
    }
    for home in HOMES.iter().filter(|home| is_named(path, home.file)) {
        let Ok(whole) = settings::parse_settings(home.format, text) else { continue };
        found.extend(table(home, &whole).map(|value| (home.tool, value, false)));
    }
    found
        .into_iter()
        .map(|(tool, value, is_code)| {
            let value = tool_specifics::normalize_config(tool, value);
            ToolConfig { tool, value, is_code, path: change.path.clone() }
        })
        .collect()
}

fn is_named(path: &RelPath, name: &str) -> bool {
    let own = path.file_name();
    match name.split_once('*') {
        Some((start, end)) => own.starts_with(start) && own.ends_with(end),
        None => own == name,
    }
}

/// The tool's table in a file.
fn table(home: &ConfigLocation, whole: &Value) -> Option<Value> {
    let Some(start) = home.table.first().and_then(|name| name.strip_suffix('*')) else {
        return value_at(whole, home.table).cloned();
    };
    let tables: Map<String, Value> = whole
        .as_object()?
        .iter()
        .filter(|(name, _)| name.starts_with(start))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    (!tables.is_empty() && home.format == SettingsFormat::Ini).then_some(Value::Object(tables))
}

fn pair_hits(pair: &ConfigPair, trades: &[&str], changes: &[SourceChange]) -> Vec<Detection> {
    let Some(first) = pair.before.first() else { return Vec::new() };
    let tool = first.tool;
    let before = merged(&pair.before);
    let is_code = |readings: &[ToolConfig]| readings.iter().any(|it| it.is_code);
    let Some(now) = pair.after.first() else {
        let is_replaced = trades.contains(&tool.category) || is_code(&pair.before);
        let was_strict = !is_replaced
            && !find_relaxations(tool, &before, &Value::Object(Map::new()), false).is_empty();
        let is_unreadable = unreadable_configs(changes).iter().any(|(path, _)| *path == first.path);
        let fate = if is_unreadable { "can no longer be read" } else { "was removed" };
        let what = format!("the configuration of {} {fate}", tool.name);
        return was_strict
            .then(|| hit(&first.path, tool.name, &what, changes))
            .into_iter()
            .collect();
    };
    let after = merged(&pair.after);
    let is_other_kind = is_code(&pair.before) != is_code(&pair.after);
    let found_in = |after: &Value| {
        let inherits = is_other_kind
            || tool_specifics::inherits_lints(tool, after)
            || ["extends", "extend"].iter().any(|key| after.get(key).is_some());
        find_relaxations(tool, &before, after, inherits)
    };
    let parts = project_references::referenced_configs(tool, &after, &now.path, changes);
    let mut found: Vec<Relaxation> = Vec::new();
    for relaxation in parts.unwrap_or_else(|| vec![after]).iter().flat_map(found_in) {
        if !found.contains(&relaxation) {
            found.push(relaxation);
        }
    }
    found.retain(|it| !it.change.split('`').nth(1).is_some_and(|word| is_emptied(word, changes)));
    let place = |key: &str| {
        let last = key.rsplit('.').next().unwrap_or_default();
        pair.after
            .iter()
            .find(|reading| {
                let change = changes.iter().find(|change| change.path == reading.path);
                change.and_then(|it| it.after.as_deref()).is_some_and(|text| text.contains(last))
            })
            .unwrap_or(now)
            .path
            .clone()
    };
    found
        .into_iter()
        .map(|Relaxation { key, change: what }: Relaxation| {
            hit(&place(&key), &key, &format!("{}: `{key}` {what}", tool.name), changes)
        })
        .collect()
}

/// The exclusions in the first configuration of a kind.
fn first_hits(pair: &ConfigPair, old_trades: &[&str], changes: &[SourceChange]) -> Vec<Detection> {
    let news = pair.after.iter().filter(|it| !old_trades.contains(&it.tool.category));
    let hits = news.flat_map(|reading| {
        let (tool, path) = (reading.tool, &reading.path);
        first_config::first_config_exclusions(tool, &reading.value, changes).into_iter().map(
            move |(severity, Relaxation { key, change: what })| {
                let what = format!("{}: `{key}` {what}", tool.name);
                Detection { severity, ..hit(path, &key, &what, changes) }
            },
        )
    });
    hits.collect()
}

/// True if a word is a folder whose files were removed in the same change.
fn is_emptied(word: &str, changes: &[SourceChange]) -> bool {
    let is_below = |path: &RelPath| path.as_str().starts_with(&format!("{word}/"));
    let is_left = changes.iter().any(|it| it.after.is_some() && is_below(&it.path));
    !is_left
        && changes.iter().any(|it| {
            is_below(it.path_before())
                && it.before.is_some()
                && (it.after.is_none() || !is_below(&it.path))
        })
}

fn find_relaxations(
    tool: &ConfiguredTool,
    before: &Value,
    after: &Value,
    inherits: bool,
) -> Vec<Relaxation> {
    let mut found = compare::relaxed_keys(tool, before, after, inherits);
    if inherits && tool.name == tools::ESLINT.name {
        // The content of a rule set is unknown: a changed list of sets may demand more.
        found.retain(|it| it.key != "extends" || !after.get("extends").is_some_and(Value::is_null));
    }
    found.extend(tool_specifics::relaxed_specially(tool, before, after, inherits));
    found
}

/// All configurations merged; later ones win.
fn merged(readings: &[ToolConfig]) -> Value {
    let mut all = Value::Object(Map::new());
    for reading in readings {
        merge(&mut all, &reading.value);
    }
    all
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// A finding about a key, on the first line that contains it.
fn hit(path: &RelPath, key: &str, what: &str, changes: &[SourceChange]) -> Detection {
    let last = key.rsplit('.').next().unwrap_or(key);
    let text =
        changes.iter().find(|change| change.path == *path).and_then(|it| it.after.as_deref());
    let start = text.and_then(|text| text.find(last)).unwrap_or(0);
    let end = if text.is_some_and(|text| text.contains(last)) { start + last.len() } else { 0 };
    Detection {
        code: CODE,
        severity: Severity::Error,
        path: path.clone(),
        bytes: start..end.max(start),
        message: format!("{what}: {REMEDY}"),
        anchor: what.to_owned(),
    }
}
