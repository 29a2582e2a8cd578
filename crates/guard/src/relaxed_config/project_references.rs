//! A configuration of TypeScript that only refers to others: their options are those that count.

use serde_json::{Map, Value};

use super::tool_specifics::normalize_config;
use super::tools::{ConfiguredTool, TSC};
use crate::SourceChange;
use crate::settings::{SettingsFormat, as_list, parse_settings};
use moai_base::path::RelPath;

/// Longest chain of configurations that extend each other.
const BASES_MAX: usize = 5;

/// The configurations that a configuration without sources refers to, each with the sources of all. `None` if
/// it has sources, or if one of them did not change and is unknown.
pub(super) fn referenced_configs(
    tool: &ConfiguredTool,
    config: &Value,
    path: &RelPath,
    changes: &[SourceChange],
) -> Option<Vec<Value>> {
    let has_no_source =
        config.get("files")?.as_array()?.is_empty() && config.get("include").is_none();
    let references = config.get("references")?.as_array().filter(|it| !it.is_empty())?;
    if tool.name != TSC.name || !has_no_source {
        return None;
    }
    let folder = folder_of(path.as_str());
    let mut configs = Vec::new();
    let mut sources = Vec::new();
    for reference in references {
        let named = joined(folder, reference.get("path")?.as_str()?)?;
        let file = if is_file(&named) { named } else { format!("{named}/tsconfig.json") };
        let config = with_bases(&file, changes, BASES_MAX)?;
        sources.extend(sources_of(&config, folder_of(&file), folder)?);
        configs.push(config);
    }
    let sources = Value::Array(sources.into_iter().map(Value::String).collect());
    let whole = |mut config: Value| {
        config.as_object_mut()?.insert("include".to_owned(), sources.clone());
        Some(normalize_config(tool, config))
    };
    configs.into_iter().map(whole).collect()
}

/// A configuration with the options of those that it extends, as far as they changed.
fn with_bases(file: &str, changes: &[SourceChange], bases: usize) -> Option<Value> {
    let change = changes.iter().find(|it| it.path.as_str() == file)?;
    let own = parse_settings(SettingsFormat::Json, change.after.as_deref()?).ok()?;
    let Some(named) = own.get("extends").map(as_list).filter(|_| bases > 0) else {
        return Some(own);
    };
    let mut all = Value::Object(Map::new());
    for base in named {
        let path = joined(folder_of(file), &base).filter(|_| base.starts_with('.'));
        let path = path.map(|it| if is_file(&it) { it } else { format!("{it}.json") });
        let base = path.and_then(|path| with_bases(&path, changes, bases - 1));
        // Of an unknown base every option may come.
        let Some(base) = base else { return Some(own) };
        super::merge(&mut all, &base);
    }
    super::merge(&mut all, &own);
    let table = all.as_object_mut()?;
    table.remove("extends");
    for list in ["exclude", "files", "include"] {
        if let Some(own) = own.get(list) {
            table.insert(list.to_owned(), own.clone());
        }
    }
    Some(all)
}

/// The sources of a configuration, relative to another folder above it.
fn sources_of(config: &Value, own: &str, above: &str) -> Option<Vec<String>> {
    let lists = [config.get("include"), config.get("files")];
    let named: Vec<String> = lists.into_iter().flatten().flat_map(as_list).collect();
    let all = if lists == [None, None] { vec!["**/*".to_owned()] } else { named };
    let start = if above.is_empty() { String::new() } else { format!("{above}/") };
    let relative = |source: String| {
        let path = joined(own, &source)?;
        let path = path.strip_prefix(&start).unwrap_or(&path);
        // `test/**/*` are all files of `test`.
        let folder = path.strip_suffix("/**/*").or_else(|| path.strip_suffix("/**"));
        Some(folder.unwrap_or(path).to_owned())
    };
    all.into_iter().map(relative).collect()
}

fn is_file(path: &str) -> bool {
    path.rsplit('.').next() == Some("json")
}

fn folder_of(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// A path that begins in a folder; `None` if it leaves the project.
fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|it| !it.is_empty()).collect();
    for part in path.split('/').filter(|it| !matches!(*it, "" | ".")) {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    Some(parts.join("/"))
}
