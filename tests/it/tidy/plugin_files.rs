//! The plugin's files refer only to things that exist, and its commands stay out of the shell.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;

use super::sources::files;
use crate::support::CHECKOUT;

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
