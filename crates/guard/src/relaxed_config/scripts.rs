//! G12 in the files that run the checks: package scripts, makefiles, workflows.

use serde_json::{Map, Value};

use super::hit;
use crate::commands::{
    CommandLoss, CommandPurpose, ScriptCommand, parse_commands, weakened_commands,
};
use crate::settings::{self, SettingsFormat, as_word};
use crate::{Detection, SourceChange};
use moai_base::path::RelPath;

const PACKAGES: &[&str] = &["package.json", "composer.json"];
const MAKEFILES: &[&str] = &["Makefile", "makefile", "GNUmakefile", "justfile", "Justfile"];

/// Folders of workflows that are hidden.
pub(super) const WORKFLOW_FOLDERS: &[&str] = &[".github/workflows", ".circleci"];

/// True if a file may run checks.
pub(super) fn is_script(path: &RelPath) -> bool {
    let name = path.file_name();
    PACKAGES.contains(&name)
        || MAKEFILES.contains(&name)
        || name == "tox.ini"
        || is_in_scripts(path)
        || is_workflow(path)
}

/// A script in the folder of scripts, by its name: others may be pictures or archives.
fn is_in_scripts(path: &RelPath) -> bool {
    let is_named = path.extension().is_none_or(|it| ["sh", "bash", "zsh", "mk"].contains(&&*it));
    is_named && path.as_str().starts_with("scripts/")
}

fn is_workflow(path: &RelPath) -> bool {
    let text = path.as_str();
    text.starts_with(".github/workflows/")
        || text == ".gitlab-ci.yml"
        || text == ".circleci/config.yml"
        || text == "azure-pipelines.yml"
        || text == "bitbucket-pipelines.yml"
}

pub(super) fn script_hits(changes: &[SourceChange]) -> Vec<Detection> {
    let mut hits = Vec::new();
    for change in changes {
        let found = match change.path.file_name() {
            name if PACKAGES.contains(&name) => packages(change),
            name if MAKEFILES.contains(&name) => makefiles(change),
            "tox.ini" => tox(change),
            _ if is_in_scripts(&change.path) => whole(change),
            _ => Vec::new(),
        };
        hits.extend(found.into_iter().map(|(key, what)| hit(&change.path, &key, &what, changes)));
    }
    hits.extend(workflows(changes));
    hits
}

/// The checks that named scripts lost, each with the name for the message.
fn weakened_scripts(
    before: &[(String, Vec<ScriptCommand>)],
    after: &[(String, Vec<ScriptCommand>)],
) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (name, old) in before {
        if let Some((_, new)) = after.iter().find(|(other, _)| other == name) {
            let elsewhere: Vec<ScriptCommand> = after
                .iter()
                .filter(|(other, _)| other != name)
                .flat_map(|it| it.1.clone())
                .collect();
            for loss in weakened_commands(old, new) {
                let is_moved = match &loss {
                    CommandLoss::NotRun(program) => {
                        elsewhere.iter().any(|other| other.name() == *program)
                    }
                    _ => false,
                };
                if !is_moved {
                    found.push((name.clone(), format!("`{name}`: {loss}")));
                }
            }
        } else if let Some(lost) =
            old.iter().find(|it| it.kind().is_some_and(|kind| kind != CommandPurpose::Script))
        {
            let is_elsewhere = after.iter().flat_map(|it| &it.1).any(|it| it.kind() == lost.kind());
            if !is_elsewhere {
                found.push((
                    name.clone(),
                    format!("`{name}`, which runs `{}`, was removed", lost.name()),
                ));
            }
        }
    }
    found
}

fn packages(change: &SourceChange) -> Vec<(String, String)> {
    let scripts = |text: Option<&str>| -> Vec<(String, Vec<ScriptCommand>)> {
        let value = settings::parse_settings(SettingsFormat::Json, text.unwrap_or_default())
            .unwrap_or_default();
        let table = value.get("scripts").and_then(Value::as_object).cloned().unwrap_or_default();
        table.into_iter().map(|(name, script)| (name, parse_commands(&as_word(&script)))).collect()
    };
    if change.after.is_none() {
        return Vec::new();
    }
    let (before, after) = (scripts(change.before.as_deref()), scripts(change.after.as_deref()));
    let mut found = weakened_scripts(&before, &after);
    // A test script that no longer runs any known command was removed in effect.
    let emptied = before.iter().filter_map(|(name, old)| {
        let new = &after.iter().find(|(other, _)| other == name)?.1;
        let is_check = ["test", "lint", "typecheck", "check"].contains(&name.as_str());
        (is_check && !old.is_empty() && new.is_empty())
            .then(|| (name.clone(), format!("`{name}` runs nothing")))
    });
    let emptied: Vec<(String, String)> = emptied.collect();
    found.retain(|(name, _)| !emptied.iter().any(|(other, _)| other == name));
    found.extend(emptied);
    found
}

/// The recipes of a makefile; a leading `-` ignores failure.
fn makefiles(change: &SourceChange) -> Vec<(String, String)> {
    if change.after.is_none() {
        return Vec::new();
    }
    weakened_scripts(&recipes(change.before.as_deref()), &recipes(change.after.as_deref()))
}

fn recipes(text: Option<&str>) -> Vec<(String, Vec<ScriptCommand>)> {
    let mut targets: Vec<(String, Vec<ScriptCommand>)> = Vec::new();
    for line in text.unwrap_or_default().replace("\\\n", " ").lines() {
        if line.starts_with(['\t', ' ']) {
            let recipe = line.trim_start();
            let command = recipe.trim_start_matches(['-', '@', '+']);
            let is_forgiven = recipe[..recipe.len() - command.len()].contains('-');
            let Some((_, own)) = targets.last_mut() else { continue };
            own.extend(parse_commands(command).into_iter().map(|it| ScriptCommand {
                ignores_failure: it.ignores_failure || is_forgiven,
                ..it
            }));
        } else if let Some((names, rest)) =
            line.split_once(':').filter(|(_, rest)| !rest.starts_with('='))
        {
            let is_target = !names.starts_with(['#', '.']) && !names.contains('=');
            if is_target {
                // Prerequisites of a target run before it.
                let needed = rest.split_whitespace().take_while(|it| !it.starts_with(['#', ';']));
                let needed = needed.map(|it| ScriptCommand {
                    words: vec!["make".to_owned(), it.to_owned()],
                    ignores_failure: false,
                });
                let needed: Vec<ScriptCommand> = needed.collect();
                targets.push((names.trim().to_owned(), needed));
            }
        }
    }
    targets
}

fn tox(change: &SourceChange) -> Vec<(String, String)> {
    let environments = |text: Option<&str>| -> Vec<(String, Vec<ScriptCommand>)> {
        let value = settings::parse_settings(SettingsFormat::Ini, text.unwrap_or_default())
            .unwrap_or_default();
        let sections = value.as_object().cloned().unwrap_or_default();
        let own = sections.into_iter().filter(|(name, _)| name.starts_with("testenv"));
        own.map(|(name, section)| {
            let script = section.get("commands").map(as_word).unwrap_or_default();
            let recipe = |line: &str| {
                let line = without_factor(line);
                let is_forgiven = line.starts_with('-');
                let found = parse_commands(line.trim_start_matches(['-', '!', ' '])).into_iter();
                found
                    .map(|it| ScriptCommand {
                        ignores_failure: it.ignores_failure || is_forgiven,
                        ..it
                    })
                    .collect::<Vec<_>>()
            };
            (name, script.lines().flat_map(recipe).collect())
        })
        .collect()
    };
    if change.after.is_none() {
        return Vec::new();
    }
    weakened_scripts(
        &environments(change.before.as_deref()),
        &environments(change.after.as_deref()),
    )
}

/// A tox line without its factor: `py311-tests: pytest`.
fn without_factor(line: &str) -> &str {
    let parts = line.split_once(": ").filter(|(head, _)| {
        head.trim().chars().all(|it| it.is_ascii_alphanumeric() || "-_,.!{}".contains(it))
    });
    parts.map_or(line, |(_, rest)| rest).trim_start()
}

/// A whole script. A deleted one may no longer be needed.
fn whole(change: &SourceChange) -> Vec<(String, String)> {
    let (Some(before), Some(after)) = (&change.before, &change.after) else { return Vec::new() };
    let found = weakened_commands(&parse_commands(before), &parse_commands(after));
    found.iter().map(|loss| (String::new(), loss.to_string())).collect()
}

/// The steps of all changed workflows, taken together, because steps move between files.
fn workflows(changes: &[SourceChange]) -> Vec<Detection> {
    let own: Vec<&SourceChange> =
        changes.iter().filter(|change| is_workflow(&change.path)).collect();
    let mut before = WorkflowChecks::default();
    let mut after = WorkflowChecks::default();
    let mut hits = Vec::new();
    for change in &own {
        let (old, new) = (
            WorkflowChecks::read(change.before.as_deref()),
            WorkflowChecks::read(change.after.as_deref()),
        );
        if change.before.is_some() && change.after.is_some() {
            let found = old
                .weaker(&new)
                .into_iter()
                .map(|(key, what)| hit(&change.path, key, &what, changes));
            hits.extend(found);
        }
        before.commands.extend(old.commands);
        after.commands.extend(new.commands);
    }
    for loss in weakened_commands(&before.commands, &after.commands) {
        let place = own
            .iter()
            .find(|change| {
                let flows =
                    [&change.before, &change.after].map(|it| WorkflowChecks::read(it.as_deref()));
                weakened_commands(&flows[0].commands, &flows[1].commands).contains(&loss)
            })
            .or(own.first());
        let found = place.map(|it| hit(&it.path, "run", &format!("workflow: {loss}"), changes));
        hits.extend(found);
    }
    hits
}

/// Facts about workflows that are compared.
#[derive(Default)]
struct WorkflowChecks {
    commands: Vec<ScriptCommand>,
    /// Jobs and steps whose failure is ignored.
    ignored_failures: usize,
    /// Steps that never run.
    disabled_jobs: usize,
    /// Events that trigger the workflows.
    triggers: Vec<String>,
}

impl WorkflowChecks {
    fn read(text: Option<&str>) -> Self {
        let value = settings::parse_settings(SettingsFormat::Yaml, text.unwrap_or_default())
            .unwrap_or_default();
        let triggers = match value.get("on") {
            Some(Value::Object(table)) => table.keys().cloned().collect(),
            Some(Value::Array(list)) => list.iter().map(as_word).collect(),
            Some(Value::String(word)) => vec![word.clone()],
            _ => Vec::new(),
        };
        let mut flow = Self { triggers, ..Self::default() };
        flow.visit(&value);
        flow
    }

    fn visit(&mut self, value: &Value) {
        match value {
            Value::Object(table) => {
                self.ignored_failures += usize::from(is_forgiven(table));
                table.iter().for_each(|(key, inner)| self.entry(key, inner));
            }
            Value::Array(list) => list.iter().for_each(|inner| self.visit(inner)),
            _ => {}
        }
    }

    fn entry(&mut self, key: &str, value: &Value) {
        let is_never = || match value {
            Value::Bool(is) => !is,
            Value::String(word) => matches!(word.replace(' ', "").as_str(), "${{false}}" | "false"),
            _ => false,
        };
        match key {
            "if" => self.disabled_jobs += usize::from(is_never()),
            "run" | "script" | "before_script" if !value.is_object() => match value {
                Value::Array(lines) => {
                    let lines = lines.iter().filter_map(Value::as_str);
                    self.commands.extend(lines.flat_map(parse_commands));
                }
                script => self.commands.extend(parse_commands(script.as_str().unwrap_or_default())),
            },
            _ => self.visit(value),
        }
    }

    fn weaker(&self, after: &Self) -> Vec<(&'static str, String)> {
        let mut found = Vec::new();
        if after.ignored_failures > self.ignored_failures {
            found.push(("continue-on-error", "workflow: a failure no longer counts".to_owned()));
        }
        if after.disabled_jobs > self.disabled_jobs {
            found.push(("if: false", "workflow: a step no longer runs".to_owned()));
        }
        let checks = |flow: &Self| {
            flow.commands
                .iter()
                .any(|it| it.kind().is_some_and(|kind| kind != CommandPurpose::Script))
        };
        for trigger in ["push", "pull_request"] {
            let has = |flow: &Self| flow.triggers.iter().any(|it| it == trigger);
            let is_left = after.triggers.iter().any(|it| {
                ["push", "pull_request", "merge_group", "pull_request_target", "workflow_call"]
                    .contains(&it.as_str())
            });
            if checks(self) && has(self) && !has(after) && !is_left {
                found.push(("on", format!("workflow: it no longer runs on `{trigger}`")));
            }
        }
        found
    }
}

/// True if a job, or a step that checks something, may fail. A failing upload does not matter.
fn is_forgiven(part: &Map<String, Value>) -> bool {
    let names = ["continue-on-error", "allow_failure", "continueOnError"];
    let may_fail = names.iter().any(|name| part.get(*name) == Some(&Value::Bool(true)));
    let run = ["run", "script", "bash"].iter().find_map(|name| part.get(*name));
    let checks = match (run, part.get("uses").and_then(Value::as_str)) {
        (Some(run), _) => {
            let lines = match run {
                Value::Array(lines) => lines.iter().map(as_word).collect::<Vec<_>>().join("\n"),
                script => as_word(script),
            };
            parse_commands(&lines).iter().any(|it| it.kind().is_some())
        }
        (None, Some(action)) => ["lint", "audit"].iter().any(|word| action.contains(word)),
        (None, None) => true,
    };
    may_fail && checks
}
