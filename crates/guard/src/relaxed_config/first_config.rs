//! A new configuration where there was none: reported only if it can only disable checks: if it
//! excludes a source or test by name, or all errors.

use serde_json::Value;

use super::compare::{Relaxation, is_harmless, is_source, leaves, strictness_of};
use super::tools::{ConfiguredTool, PYTEST, Strictness};
use crate::SourceChange;
use crate::settings::{as_bool, as_list, as_word};
use moai_base::finding::Severity;

/// Keys that silence a tool completely.
const ALL_OFF: [&str; 3] =
    ["ignore_errors", "compilerOptions.noCheck", "test.dangerouslyIgnoreUnhandledErrors"];

/// Scripts at the top of many projects.
const BESIDE: [&str; 7] =
    ["conf.py", "conftest.py", "manage.py", "noxfile.py", "setup.py", "tasks.py", "versioneer.py"];

/// Options of pytest that deselect tests.
const TAKEN_OUT: [&str; 3] = ["--deselect", "--ignore", "--ignore-glob"];

/// The exclusions in the first configuration of a tool, with the strength of the evidence.
pub(super) fn first_config_exclusions(
    tool: &ConfiguredTool,
    value: &Value,
    changes: &[SourceChange],
) -> Vec<(Severity, Relaxation)> {
    let mut found = Vec::new();
    let mut all = Vec::new();
    leaves(value, &mut Vec::new(), &mut all);
    for (path, value) in all {
        let key = path.join(".");
        if ALL_OFF.contains(&key.as_str()) && as_bool(value) == Some(true) {
            found.push((Severity::Warning, Relaxation::new(&key, "ignores every error")));
        }
        if matches!(strictness_of(tool, &path), Some(Strictness::Closed)) {
            let named = as_list(value).into_iter().find(|it| is_left_out(it, changes));
            found.extend(named.map(|it| left_out(&key, &it)));
        }
    }
    if tool.name == PYTEST.name {
        found.extend(value.get("addopts").into_iter().flat_map(|it| options(it, changes)));
    }
    found
}

/// Sources named by a first list of ignored paths.
pub(super) fn ignored(text: &str, changes: &[SourceChange]) -> Vec<Relaxation> {
    let lines = text.lines().map(str::trim).filter(|it| !it.starts_with(['#', '!']));
    let named = lines.filter(|it| is_left_out(it, changes));
    named.map(|it| Relaxation::new(it, format!("`{it}` is ignored"))).collect()
}

fn left_out(key: &str, name: &str) -> (Severity, Relaxation) {
    (Severity::Error, Relaxation::new(key, format!("leaves out `{name}`")))
}

/// Exclusions in command line options: `--deselect tests/test_a.py::test_f`.
fn options(value: &Value, changes: &[SourceChange]) -> Vec<(Severity, Relaxation)> {
    let text = match value {
        Value::Array(items) => items.iter().map(as_word).collect::<Vec<_>>().join(" "),
        other => as_word(other),
    };
    let text = text.replace(['"', '\''], " ").replace('=', " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let named = words.windows(2).filter(|pair| TAKEN_OUT.contains(&pair[0])).map(|pair| pair[1]);
    let named = named.filter(|it| {
        let file = it.split("::").next().unwrap_or(it);
        is_left_out(file, changes)
    });
    named.map(|it| left_out("addopts", it)).collect()
}

/// True if a name is that of one existing source file: neither a pattern nor a script at the top of
/// many projects.
fn is_left_out(name: &str, changes: &[SourceChange]) -> bool {
    let plain = name.trim_start_matches(['/', '^', '.']).trim_end_matches('$').replace('\\', "");
    let file = plain.rsplit('/').next().unwrap_or(&plain);
    let is_file = is_source(file) && file.len() > 3 && !plain.contains(['*', '{', '|', '(']);
    let is_tool = file.contains(".config.") || file.contains("rc.") || BESIDE.contains(&file);
    let is_new = changes.iter().any(|it| {
        it.before.is_none() && it.old_path.is_none() && it.path.as_str().ends_with(&plain)
    });
    is_file && !is_tool && !is_new && !is_harmless(name)
}
