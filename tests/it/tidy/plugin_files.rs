//! The plugin's files refer only to things that exist, and its commands stay out of the shell.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use moai_protocol::hosts::HostKind;
use serde_json::Value;

use super::sources::files;
use crate::support::{CHECKOUT, write_file};

/// The host's events that the program answers, with its name for each.
const EVENTS: &[(&str, &str)] = &[
    ("SessionStart", "session-start"),
    ("UserPromptSubmit", "user-prompt-submit"),
    ("UserPromptExpansion", "user-prompt-expansion"),
    ("PreToolUse", "pre-tool-use"),
    ("PostToolUse", "post-tool-use"),
    ("PostToolUseFailure", "post-tool-use-failure"),
    ("PostToolBatch", "post-tool-batch"),
    ("SubagentStart", "subagent-start"),
    ("SubagentStop", "subagent-stop"),
    ("Stop", "stop"),
    ("PreCompact", "pre-compact"),
    ("SessionEnd", "session-end"),
];

/// The host's own ceiling for a command hook, in seconds.
const TIMEOUT_SECONDS_MAX: u64 = 600;

fn json(path: &str) -> Value {
    let text = fs::read_to_string(Path::new(CHECKOUT).join(path))
        .unwrap_or_else(|error| panic!("{path} cannot be read: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path} is not JSON: {error}"))
}

#[test]
fn every_hook_is_a_real_event_and_starts_the_launcher() {
    let hooks = json("hooks/hooks.json");
    let hooks = hooks["hooks"].as_object().expect("hooks.json holds events");
    assert!(hooks.contains_key("Stop") && hooks.contains_key("PostToolUse"));
    for (event, groups) in hooks {
        let known = EVENTS.iter().find(|(name, _)| name == event);
        let (_, ours) = known.unwrap_or_else(|| panic!("{event} is no event we answer"));
        for group in groups.as_array().expect("an event holds groups") {
            for hook in group["hooks"].as_array().expect("a group holds hooks") {
                assert_eq!(hook["type"], "command", "{event}");
                assert_eq!(hook["command"], "${CLAUDE_PLUGIN_ROOT}/bin/moai-ralph", "{event}");
                assert_eq!(hook["args"], serde_json::json!(["hook", ours]), "{event}");
                let timeout = hook["timeout"].as_u64().unwrap_or(0);
                assert!((1..=TIMEOUT_SECONDS_MAX).contains(&timeout), "{event}: {timeout}");
            }
        }
    }
}

/// The hooks of the other hosts: they drop arguments, and start every hook in a shell.
const SHELL_HOOKS: &[(HostKind, &str, &[&str])] = &[
    (HostKind::Codex, "hooks/codex.json", &[]),
    (HostKind::Copilot, "hooks/copilot.json", &["SessionEnd"]),
];

#[test]
fn hooks_of_other_hosts_are_commands_of_a_shell_without_arguments() {
    let common = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"];
    for (host, path, more) in SHELL_HOOKS {
        let hooks = json(path);
        let hooks = hooks["hooks"].as_object().expect("the file holds events");
        let mut expected: Vec<&str> = common.iter().chain(*more).copied().collect();
        let mut found: Vec<&str> = hooks.keys().map(String::as_str).collect();
        expected.sort_unstable();
        found.sort_unstable();
        assert_eq!(found, expected, "{path}");
        for (event, groups) in hooks {
            let group = &groups[0];
            let (_, ours) = EVENTS.iter().find(|(name, _)| name == event).expect("an event");
            let command = format!("sh \"${{CLAUDE_PLUGIN_ROOT}}/bin/moai-ralph\" hook {ours}");
            assert_eq!(group["hooks"][0]["command"], command, "{path}");
            assert!(group["hooks"][0].get("args").is_none(), "{path}: {event}");
            let tools = [host.profile().edit_tools, &["Bash"]].concat().join("|");
            // An empty matcher would make the whole file invalid in GitHub Copilot CLI.
            let expected = match (event.as_str(), host.profile().server_tools) {
                ("PreToolUse", Some(pattern)) => Value::from(format!("^({tools}|{pattern})$")),
                ("PostToolUse", _) => Value::from(tools),
                _ => Value::Null,
            };
            assert_eq!(group.get("matcher").unwrap_or(&Value::Null), &expected, "{path}: {event}");
        }
    }
}

/// The files of the plugin, which hosts copy from a folder with nothing else.
const PLUGIN_PARTS: &[&str] = &[
    ".claude-plugin/plugin.json",
    ".codex-plugin",
    ".github/plugin",
    ".mcp.json",
    "agents",
    "bin",
    "commands",
    "hooks",
];

/// Paths of the files at or below a path of the checkout, relative to `base`.
fn files_below(base: &Path, part: &str) -> Vec<String> {
    let path = base.join(part);
    if path.is_file() {
        return vec![part.to_owned()];
    }
    let entries = fs::read_dir(&path).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut found: Vec<String> =
        names.flat_map(|name| files_below(base, &format!("{part}/{name}"))).collect();
    found.sort();
    found
}

/// Second names of commands, with the command whose file they repeat.
const ALIASES: &[(&str, &str)] = &[
    ("moai-plan", "alfred"),
    ("uam", "alfred"),
    ("uam-answer", "pipeline-answer"),
    ("uam-cancel", "pipeline-cancel"),
    ("uam-compound", "moai-sync"),
    ("uam-resume", "pipeline-resume"),
    ("uam-run", "moai-run"),
    ("uam-status", "pipeline-status"),
];

/// Commands with a front matter of their own and the instructions of another one.
const SAME_INSTRUCTIONS: &[(&str, &str)] = &[("uam-small", "alfred")];

/// Front matter, without its marks, and instructions.
fn command_parts(path: &str) -> (String, String) {
    let text = fs::read_to_string(Path::new(CHECKOUT).join(path)).expect("a command");
    let parts = text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
    let (front, body) = parts.unwrap_or_else(|| panic!("{path} has no front matter"));
    (front.to_owned(), body.to_owned())
}

/// The files of the second names, as the first ones make them.
fn alias_files() -> Vec<(String, String)> {
    let mut expected = Vec::new();
    let path = |name: &str| format!("commands/{name}.md");
    for (alias, name) in ALIASES {
        let (front, body) = command_parts(&path(name));
        let mut lines: Vec<String> = front.lines().map(str::to_owned).collect();
        for line in lines.iter_mut().filter(|line| line.starts_with("description: ")) {
            *line = format!("{line} (another name for /{name})");
        }
        expected.push((path(alias), format!("---\n{}\n---\n{body}", lines.join("\n"))));
    }
    for (command, name) in SAME_INSTRUCTIONS {
        let (front, _) = command_parts(&path(command));
        let (_, body) = command_parts(&path(name));
        expected.push((path(command), format!("---\n{front}\n---\n{body}")));
    }
    expected
}

fn check_aliases(checkout: &Path) {
    for (path, text) in alias_files() {
        if std::env::var_os("UPDATE_DOCS").is_some() {
            write_file(&checkout.join(&path), &text);
        }
        let written = fs::read_to_string(checkout.join(&path)).expect("ours");
        assert_eq!(written, text, "UPDATE_DOCS=1 writes {path}");
    }
}

/// The commands as skills of Codex, which knows no slash commands. Elsewhere they would appear twice.
const SKILLS: &str = ".codex-plugin/skills";

/// The policy that Codex reads next to a skill: only the user starts a command.
const SKILL_POLICY: &str = "policy:\n  allow_implicit_invocation: false\n";

/// A command as a skill: the same text, with its arguments in the text, because a skill has no hint.
fn skill_text(name: &str, command: &str) -> String {
    let (front, body) = command
        .strip_prefix("---\n")
        .and_then(|rest| rest.split_once("\n---\n"))
        .unwrap_or_else(|| panic!("{name} has no front matter"));
    let value = |key: &str| front.lines().find_map(|line| line.strip_prefix(key));
    let description = value("description: ").unwrap_or_else(|| panic!("{name} says nothing"));
    let hint = value("argument-hint: ")
        .map_or_else(String::new, |hint| format!("\nArguments: `{}`\n", hint.trim_matches('"')));
    format!("---\nname: {name}\ndescription: {description}\n---\n{hint}{body}")
}

/// Paths and texts of the skills, as the commands make them.
fn skill_files() -> Vec<(String, String)> {
    let mut expected = Vec::new();
    for command in files("commands", Some("md")) {
        let name = Path::new(&command.path).file_stem().and_then(|stem| stem.to_str());
        let name = name.expect("a plain name");
        let folder = format!("{SKILLS}/{name}");
        expected.push((format!("{folder}/SKILL.md"), skill_text(name, &command.text)));
        expected.push((format!("{folder}/agents/openai.yaml"), SKILL_POLICY.to_owned()));
    }
    expected.sort();
    expected
}

fn check_skills(checkout: &Path) {
    let expected = skill_files();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let _ = fs::remove_dir_all(checkout.join(SKILLS));
        for (path, text) in &expected {
            write_file(&checkout.join(path), text);
        }
    }
    let paths: Vec<&str> = expected.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(files_below(checkout, SKILLS), paths, "UPDATE_DOCS=1 writes the skills");
    for (path, text) in &expected {
        let written = fs::read_to_string(checkout.join(path)).expect("ours");
        assert_eq!(&written, text, "UPDATE_DOCS=1 writes {path}");
    }
    assert_eq!(json(".codex-plugin/plugin.json")["skills"], format!("./{SKILLS}/"));
}

#[test]
fn the_published_folder_is_the_plugin_and_nothing_else() {
    let checkout = Path::new(CHECKOUT);
    check_aliases(checkout);
    check_skills(checkout);
    let published = checkout.join("plugin");
    let parts = PLUGIN_PARTS.iter().flat_map(|part| files_below(checkout, part));
    let expected: Vec<String> = parts.collect();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        let _ = fs::remove_dir_all(&published);
        for path in &expected {
            let target = published.join(path);
            fs::create_dir_all(target.parent().expect("a folder")).expect("ours");
            fs::copy(checkout.join(path), target).expect("ours");
        }
    }
    let mut found: Vec<String> = fs::read_dir(&published)
        .expect("run UPDATE_DOCS=1 cargo nextest run --test it published_folder")
        .flatten()
        .flat_map(|entry| files_below(&published, &entry.file_name().to_string_lossy()))
        .collect();
    let mut sorted = expected.clone();
    sorted.sort();
    found.sort();
    assert_eq!(found, sorted, "UPDATE_DOCS=1 copies the files");
    for path in &expected {
        let (one, other) = (fs::read(checkout.join(path)), fs::read(published.join(path)));
        assert!(one.expect("ours") == other.expect("ours"), "UPDATE_DOCS=1 copies {path}");
    }
    let market = json(".claude-plugin/marketplace.json");
    assert_eq!(market["plugins"][0]["source"], "./plugin");
}

#[test]
fn each_host_has_a_manifest_of_the_same_plugin() {
    let own = json(".claude-plugin/plugin.json");
    for path in [".codex-plugin/plugin.json", ".github/plugin/plugin.json"] {
        let manifest = json(path);
        for key in ["name", "version", "description", "license"] {
            assert_eq!(manifest[key], own[key], "{path}: {key}");
        }
        for key in ["hooks", "mcpServers"] {
            let named = manifest[key].as_str().unwrap_or("./hooks/hooks.json");
            assert!(Path::new(CHECKOUT).join(named).is_file(), "{path}: {named}");
        }
    }
    // Codex expands no variable there.
    let server = &json(".codex-plugin/mcp.json")["mcpServers"]["moai-ralph"];
    assert_eq!((&server["command"], &server["cwd"]), (&"./bin/moai-ralph".into(), &".".into()));
}

#[test]
fn a_typed_command_is_one_of_the_files() {
    let mut names: Vec<String> = files("commands", Some("md"))
        .iter()
        .filter_map(|file| Path::new(&file.path).file_stem()?.to_str().map(str::to_owned))
        .collect();
    names.sort();
    assert_eq!(names, moai_protocol::hosts::typed_command::COMMAND_NAMES);
}

#[test]
fn every_tool_that_writes_is_heard_of() {
    let hooks = json("hooks/hooks.json");
    let matcher = hooks["hooks"]["PostToolUse"][0]["matcher"].as_str().unwrap_or_default();
    for tool in ["Write", "Edit", "NotebookEdit", "Bash"] {
        assert!(matcher.split('|').any(|name| name == tool), "{tool} is missing: {matcher}");
    }
    let before = hooks["hooks"]["PreToolUse"].as_array().expect("groups");
    let matchers: Vec<&str> = before.iter().filter_map(|it| it["matcher"].as_str()).collect();
    assert_eq!(matchers, [matcher, "mcp__.*"], "what is written is looked at before");
    // The batch event covers all others and failed commands; it measures like an edit.
    let batch = &hooks["hooks"]["PostToolBatch"][0];
    assert!(batch.get("matcher").is_none(), "{batch}");
    let edit = &hooks["hooks"]["PostToolUse"][0]["hooks"][0]["timeout"];
    assert_eq!(&batch["hooks"][0]["timeout"], edit);
}

#[test]
fn scripts_can_be_run() {
    for script in ["bin/moai-ralph", "scripts/test", ".ci/run"] {
        let path = Path::new(CHECKOUT).join(script);
        let mode = fs::metadata(&path).map(|data| data.permissions().mode());
        assert!(mode.is_ok_and(|mode| mode & 0o111 != 0), "{script} is missing or not executable");
        let text = fs::read_to_string(&path).expect("a script is text");
        assert!(text.starts_with("#!"), "{script} names no interpreter");
    }
}

#[test]
fn the_manifest_names_this_version_and_not_the_default_files() {
    let manifest = json(".claude-plugin/plugin.json");
    assert_eq!(manifest["name"], "moai-ralph");
    assert_eq!(manifest["version"], env!("CARGO_PKG_VERSION"));
    // Listing the default hooks file would load it twice.
    assert!(manifest.get("hooks").is_none());
    assert!(json(".mcp.json")["mcpServers"].is_object());
}

#[test]
fn commands_describe_themselves_and_never_touch_a_shell() {
    let commands = files("commands", Some("md"));
    assert!(commands.len() >= 3);
    for command in commands {
        let front = command.text.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n"));
        let (front, body) = front.unwrap_or_else(|| panic!("{} has no front matter", command.path));
        assert!(front.lines().any(|line| line.starts_with("description: ")), "{}", command.path);
        assert!(
            front.lines().any(|line| line == "disable-model-invocation: true"),
            "{}",
            command.path
        );
        assert!(body.contains("`[moai-ralph]`"), "{} names no marker", command.path);
        assert!(!body.contains("!`"), "{} runs a shell", command.path);
        assert!(!body.contains("$ARGUMENTS"), "{} pastes arguments", command.path);
    }
}
