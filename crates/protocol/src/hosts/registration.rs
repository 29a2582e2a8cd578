//! The files that register this program's hooks with a host: a file of its own where the host reads
//! a folder of them, entries in the host's file elsewhere. Foreign entries are kept, in their
//! order.

use moai_base::jsonc::edit::edited_json;
use serde_json::{Map, Value, json};

use super::typed_command::COMMAND_NAMES;
use super::{HostKind, HostProfile};
use crate::hook::HookEvent;

/// The plugin for OpenCode; a placeholder stands for the path of the program.
const OPENCODE_PLUGIN: &str = include_str!("opencode_plugin.ts");
const PROGRAM_MARK: &str = "@PROGRAM@";
/// File name of the program.
const PROGRAM_NAME: &str = "moai-ralph";
/// The commands, which OpenCode gets as files.
const OPENCODE_COMMANDS: [(&str, &str); COMMAND_NAMES.len()] = [
    ("alfred", include_str!("../../../../commands/alfred.md")),
    ("cancel-loop", include_str!("../../../../commands/cancel-loop.md")),
    ("mem-forget", include_str!("../../../../commands/mem-forget.md")),
    ("mem-inject", include_str!("../../../../commands/mem-inject.md")),
    ("mem-search", include_str!("../../../../commands/mem-search.md")),
    ("mem-status", include_str!("../../../../commands/mem-status.md")),
    ("moai-adopt", include_str!("../../../../commands/moai-adopt.md")),
    ("moai-align", include_str!("../../../../commands/moai-align.md")),
    ("moai-fix", include_str!("../../../../commands/moai-fix.md")),
    ("moai-loop", include_str!("../../../../commands/moai-loop.md")),
    ("moai-pivot", include_str!("../../../../commands/moai-pivot.md")),
    ("moai-plan", include_str!("../../../../commands/moai-plan.md")),
    ("moai-resume", include_str!("../../../../commands/moai-resume.md")),
    ("moai-run", include_str!("../../../../commands/moai-run.md")),
    ("moai-status", include_str!("../../../../commands/moai-status.md")),
    ("moai-sync", include_str!("../../../../commands/moai-sync.md")),
    ("pipeline-answer", include_str!("../../../../commands/pipeline-answer.md")),
    ("pipeline-cancel", include_str!("../../../../commands/pipeline-cancel.md")),
    ("pipeline-resume", include_str!("../../../../commands/pipeline-resume.md")),
    ("pipeline-status", include_str!("../../../../commands/pipeline-status.md")),
    ("ralph", include_str!("../../../../commands/ralph.md")),
    ("uam", include_str!("../../../../commands/uam.md")),
    ("uam-answer", include_str!("../../../../commands/uam-answer.md")),
    ("uam-bugfix", include_str!("../../../../commands/uam-bugfix.md")),
    ("uam-cancel", include_str!("../../../../commands/uam-cancel.md")),
    ("uam-compound", include_str!("../../../../commands/uam-compound.md")),
    ("uam-resume", include_str!("../../../../commands/uam-resume.md")),
    ("uam-run", include_str!("../../../../commands/uam-run.md")),
    ("uam-small", include_str!("../../../../commands/uam-small.md")),
    ("uam-status", include_str!("../../../../commands/uam-status.md")),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationScope {
    Project,
    /// For the user, in the home folder.
    User,
}

/// The desired state of a file that registers hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistrationFile {
    /// Relative to the project or to the home folder.
    pub path: String,
    pub content: RegistrationContent,
}

/// Content of a registration file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegistrationContent {
    /// The whole file belongs to this program.
    Own(String),
    /// Entries in a JSON document of the host.
    Entries {
        host: HostKind,
        /// Path of the program.
        program: String,
    },
}

/// The files that register the hooks of a host.
#[must_use]
pub fn registration_files(
    host: HostKind,
    scope: RegistrationScope,
    program: &str,
) -> Vec<RegistrationFile> {
    let is_user = scope == RegistrationScope::User;
    let one = |path: &str, content| vec![RegistrationFile { path: path.to_owned(), content }];
    let entries = || RegistrationContent::Entries { host, program: program.to_owned() };
    match host {
        HostKind::ClaudeCode => one(".claude/settings.json", entries()),
        HostKind::Codex => one(".codex/hooks.json", entries()),
        HostKind::Copilot => {
            let folder = if is_user { ".copilot/hooks" } else { ".github/hooks" };
            let content = RegistrationContent::Own(copilot_file(program));
            one(&format!("{folder}/moai-ralph.json"), content)
        }
        HostKind::OpenCode => {
            let folder = if is_user { ".config/opencode" } else { ".opencode" };
            let own = |path: &str, text: String| RegistrationFile {
                path: format!("{folder}/{path}"),
                content: RegistrationContent::Own(text),
            };
            let quoted = Value::from(program).to_string();
            let plugin = OPENCODE_PLUGIN.replace(&format!("\"{PROGRAM_MARK}\""), &quoted);
            let commands = OPENCODE_COMMANDS
                .iter()
                .map(|(name, text)| own(&format!("commands/{name}.md"), (*text).to_owned()));
            std::iter::once(own("plugins/moai-ralph.ts", plugin)).chain(commands).collect()
        }
    }
}

impl RegistrationContent {
    /// The text of the file, given its present text. The error is the reason why the file must not
    /// be changed.
    pub fn text(&self, present: Option<&str>) -> Result<String, String> {
        match self {
            Self::Own(text) => Ok(text.clone()),
            Self::Entries { host, program } => {
                let mut document = parsed(present)?;
                let hooks = hooks_of(&mut document)?;
                for event in registered_events(*host) {
                    add_entry(hooks, event, entry(*host, event, program))?;
                }
                Ok(edited(present, &document))
            }
        }
    }

    /// The text without this program's entries; `None` if nothing is left. The error is the reason
    /// why the file must not be changed.
    pub fn text_without(&self, present: &str) -> Result<Option<String>, String> {
        match self {
            Self::Own(text) if text == present => Ok(None),
            Self::Own(_) => {
                Err("it was changed since moai-ralph wrote it, and is left alone; if you do \
                                 not need the change, delete the file yourself"
                    .to_owned())
            }
            Self::Entries { .. } => {
                let mut document = parsed(Some(present))?;
                let hooks = hooks_of(&mut document)?;
                let mut has_entries = false;
                for groups in hooks.values_mut().filter_map(Value::as_array_mut) {
                    for group in &mut *groups {
                        has_entries |= remove_own_hooks(group);
                    }
                    groups.retain(|group| !is_empty_group(group));
                }
                if !has_entries {
                    return Ok(Some(present.to_owned()));
                }
                hooks.retain(|_, groups| groups.as_array().is_none_or(|it| !it.is_empty()));
                let is_empty = hooks.is_empty();
                if let Some(root) = document.as_object_mut().filter(|_| is_empty) {
                    root.shift_remove("hooks");
                }
                let is_left = document.as_object().is_some_and(|root| !root.is_empty());
                Ok(is_left.then(|| edited(Some(present), &document)))
            }
        }
    }
}

/// True if a command only runs a hook of this program: `moai-ralph`, or a path of it in quotes or
/// without spaces, perhaps after `sh`.
#[must_use]
pub fn is_own_command(command: &str) -> bool {
    let command = command.trim();
    let command = command.strip_prefix("sh ").unwrap_or(command);
    // Folders above the program may have its name too.
    command.match_indices(PROGRAM_NAME).any(|(start, name)| {
        let (path, rest) = (&command[..start], &command[start + name.len()..]);
        is_own_path(path, rest) && is_hook_call(rest.trim_start_matches(['\'', '"']))
    })
}

/// True if the text before the name is a path that ends there; `rest` follows the name.
fn is_own_path(path: &str, rest: &str) -> bool {
    let quote = path.chars().next().filter(|first| matches!(first, '\'' | '"'));
    let is_one_word = match quote {
        Some(quote) => rest.starts_with(quote),
        None => !path.contains(|it: char| it.is_whitespace() || ";|&<>(".contains(it)),
    };
    is_one_word && (path.len() == quote.map_or(0, char::len_utf8) || path.ends_with('/'))
}

/// True if the words after the program are those of a hook's registration.
fn is_hook_call(words: &str) -> bool {
    let is_plain = words.chars().all(|it| it.is_ascii_alphanumeric() || it == '-' || it == ' ');
    let mut words = words.split(' ').filter(|word| !word.is_empty());
    is_plain && words.next().is_none_or(|first| first == "hook")
}

/// The events that are registered with a host. Codex asks the user to approve each of them.
pub fn registered_events(host: HostKind) -> impl Iterator<Item = HookEvent> {
    let is_dear = host == HostKind::Codex;
    let rare = [HookEvent::SubagentStop, HookEvent::PreCompact, HookEvent::SessionEnd];
    let events = host.profile().events.iter().map(|row| row.event);
    events.filter(move |event| !is_dear || !rare.contains(event))
}

/// The time that the host gives a hook, in seconds.
fn timeout_secs(event: HookEvent) -> u32 {
    match event {
        HookEvent::SessionStart | HookEvent::UserPromptSubmit | HookEvent::UserPromptExpansion => {
            10
        }
        HookEvent::PostToolUse | HookEvent::PostToolBatch => 15,
        HookEvent::Stop | HookEvent::SubagentStop => 600,
        HookEvent::PreToolUse | HookEvent::PreCompact => 5,
        HookEvent::SessionEnd => 2,
    }
}

/// A command of the shell: the hosts drop arguments.
fn hook_command(program: &str, event: HookEvent) -> String {
    format!("'{}' hook {}", program.replace('\'', "'\\''"), event.name())
}

fn entry(host: HostKind, event: HookEvent, program: &str) -> Value {
    let hook = json!({
        "type": "command", "command": hook_command(program, event), "timeout": timeout_secs(event),
    });
    let HostProfile { edit_tools, server_tools, .. } = host.profile();
    let own = [*edit_tools, &["Bash"]].concat();
    match event {
        HookEvent::PreToolUse => match server_tools {
            Some(pattern) => {
                let matcher = format!("^({}|{pattern})$", own.join("|"));
                json!({"matcher": matcher, "hooks": [hook]})
            }
            None => json!({"hooks": [hook]}),
        },
        HookEvent::PostToolUse => json!({"matcher": own.join("|"), "hooks": [hook]}),
        _ => json!({"hooks": [hook]}),
    }
}

/// The file of GitHub Copilot CLI, in its own layout.
fn copilot_file(program: &str) -> String {
    let mut hooks = Map::new();
    for event in registered_events(HostKind::Copilot) {
        let hook = json!({
            "type": "command", "bash": hook_command(program, event),
            "timeoutSec": timeout_secs(event),
        });
        hooks.insert(event.host_name().to_owned(), json!([hook]));
    }
    written(&json!({"version": 1, "hooks": hooks}))
}

fn parsed(present: Option<&str>) -> Result<Value, String> {
    match present.map(str::trim) {
        None | Some("") => Ok(json!({})),
        Some(text) => {
            serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))
        }
    }
}

fn hooks_of(document: &mut Value) -> Result<&mut Map<String, Value>, String> {
    let root = document.as_object_mut().ok_or("it holds no JSON object")?;
    let hooks = root.entry("hooks").or_insert_with(|| json!({}));
    hooks.as_object_mut().ok_or_else(|| "its hooks are no JSON object".to_owned())
}

/// Replaces the program's entry of an event in its place, else appends it.
fn add_entry(hooks: &mut Map<String, Value>, event: HookEvent, entry: Value) -> Result<(), String> {
    let name = event.host_name();
    let groups = hooks.entry(name).or_insert_with(|| json!([]));
    let groups = groups.as_array_mut().ok_or_else(|| format!("its {name} is not a list"))?;
    let mut place = None;
    for (at, group) in groups.iter_mut().enumerate() {
        if remove_own_hooks(group) && is_empty_group(group) && place.is_none() {
            place = Some(at);
        }
    }
    match place {
        Some(at) => groups[at] = entry,
        None => groups.push(entry),
    }
    groups.retain(|group| !is_empty_group(group));
    Ok(())
}

/// Removes the program's hooks of a group; returns whether there were any.
fn remove_own_hooks(group: &mut Value) -> bool {
    let Some(hooks) = group.get_mut("hooks").and_then(Value::as_array_mut) else { return false };
    let before = hooks.len();
    hooks.retain(|hook| !hook["command"].as_str().is_some_and(is_own_command));
    hooks.len() < before
}

fn is_empty_group(group: &Value) -> bool {
    group["hooks"].as_array().is_some_and(Vec::is_empty)
}

/// A present text with another value; everything else in it is kept as the user wrote it.
fn edited(present: Option<&str>, document: &Value) -> String {
    let edited = present.and_then(|present| edited_json(present, document));
    edited.unwrap_or_else(|| written(document))
}

fn written(document: &Value) -> String {
    format!("{document:#}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = "/opt/it's/moai-ralph";

    fn content(host: HostKind) -> RegistrationContent {
        let mut files = registration_files(host, RegistrationScope::Project, PROGRAM);
        files.remove(0).content
    }

    #[test]
    fn entries_are_added_once_and_nothing_else_changes() {
        let foreign = r#"{
  "unknown": [1],
  "hooks": {
    "Stop": [
      {
        "hooks": [
          {
            "type": "command",
            "command": "other"
          }
        ]
      }
    ],
    "Notification": []
  },
  "a": true
}
"#;
        let content = content(HostKind::Codex);
        let once = content.text(Some(foreign)).expect("a document");
        assert_eq!(content.text(Some(&once)).expect("a document"), once, "twice");
        let document: Value = serde_json::from_str(&once).expect("JSON");
        let keys: Vec<&String> = document.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["unknown", "hooks", "a"]);
        assert_eq!(document["hooks"]["Stop"][0]["hooks"][0]["command"], "other");
        let ours = &document["hooks"]["Stop"][1]["hooks"][0]["command"];
        assert_eq!(ours, "'/opt/it'\\''s/moai-ralph' hook stop");
        assert_eq!(document["hooks"]["PostToolUse"][0]["matcher"], "apply_patch|Bash");
        let before = &document["hooks"]["PreToolUse"][0]["matcher"];
        assert_eq!(before, "^(apply_patch|Bash|mcp__.*)$", "tools of servers write, too");
        let without = content.text_without(&once).expect("a document").expect("something is left");
        assert!(!without.contains("moai-ralph") && without.contains("other"), "{without}");
    }

    #[test]
    fn the_form_that_a_person_gave_a_file_stays() {
        let content = content(HostKind::Codex);
        let mine = "{\n\t\"env\": { \"A\":\"1\" },\n\t\"hooks\": {\n\t\t\"Stop\": [\n\
                    \t\t\t{\"hooks\": [ {\"type\":\"command\",\"command\":\"x\"} ]}\n\t\t]\n\t}\n}\n";
        let with = content.text(Some(mine)).expect("a document");
        assert!(with.contains("\"env\": { \"A\":\"1\" }"), "{with}");
        // The user edits it later.
        let edited = with.replace("\"A\":\"1\"", "\"A\":\"2\"");
        let without = content.text_without(&edited).expect("a document").expect("theirs is left");
        assert_eq!(without, mine.replace("\"A\":\"1\"", "\"A\":\"2\""));
    }

    #[test]
    fn an_older_entry_is_replaced_in_its_place() {
        let older = r#"{"hooks": {"Stop": [
            {"hooks": [{"type": "command", "command": "sh /old/moai-ralph hook stop"}]},
            {"hooks": [{"type": "command", "command": "other"}]}]}}"#;
        let text = content(HostKind::ClaudeCode).text(Some(older)).expect("a document");
        let document: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(document["hooks"]["Stop"].as_array().map(Vec::len), Some(2), "{text}");
        assert_eq!(document["hooks"]["Stop"][1]["hooks"][0]["command"], "other");
    }

    #[test]
    fn a_file_that_is_only_ours_goes_away_again() {
        for host in HostKind::ALL {
            let content = content(host);
            let text = content.text(None).expect("a document");
            assert_eq!(content.text_without(&text), Ok(None), "{host:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_left_alone() {
        let content = content(HostKind::Codex);
        for odd in ["{", "[]", r#"{"hooks": []}"#, r#"{"hooks": {"Stop": {}}}"#] {
            assert!(content.text(Some(odd)).is_err(), "{odd}");
        }
        let own = RegistrationContent::Own("x".to_owned());
        assert!(own.text_without("{}").is_err());
    }

    #[test]
    fn opencode_gets_every_command() {
        assert!(OPENCODE_COMMANDS.iter().map(|(name, _)| *name).eq(COMMAND_NAMES.iter().copied()));
    }

    #[test]
    fn only_hooks_of_this_program_are_its_own() {
        for own in [
            "moai-ralph hook stop",
            "sh \"/p/bin/moai-ralph\" hook",
            "'/p/moai-ralph' hook x",
            "'/moai-ralph-target/moai-ralph/debug/moai-ralph' hook stop",
        ] {
            assert!(is_own_command(own), "{own}");
        }
        for other in [
            "moai-ralph-lint hook",
            "my-moai-ralph hook",
            "moai-ralph hookx",
            "./before; moai-ralph hook stop",
            "grep -r 'moai-ralph hook' .",
            "# moai-ralph hook\n./mine.sh",
            "tee log | moai-ralph hook stop",
            "moai-ralph hook stop; ./after",
            "moai-ralph hook stop 2>>log",
            "logger moai-ralph hook",
            "cat moai-ralph.log",
            "moai-ralph check",
            "other hook",
        ] {
            assert!(!is_own_command(other), "{other}");
        }
    }

    #[test]
    fn the_plugin_of_opencode_starts_this_program_and_is_short() {
        let files = registration_files(HostKind::OpenCode, RegistrationScope::Project, PROGRAM);
        let RegistrationContent::Own(text) = &files[0].content else { panic!("a file of its own") };
        assert!(text.contains("|| \"/opt/it's/moai-ralph\"") && !text.contains(PROGRAM_MARK));
        assert!(text.lines().count() <= 200);
    }
}
