//! The user's approval of hooks in Codex. Codex silently skips hooks without approval. Its
//! `config.toml` keeps a hash of each approved entry, as observed with version 0.169.0.

use std::fmt::Write as _;

use moai_base::toml_value::parse_toml;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::registration::is_own_command;
use crate::hook::HookEvent;

/// The time that Codex gives a hook whose entry names none, in seconds.
const DEFAULT_TIMEOUT_SECS: u64 = 600;

/// The user's decision about a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookApproval {
    /// Nothing yet.
    Missing,
    SwitchedOff,
    /// An earlier form of it was approved.
    Outdated,
    Approved,
}

impl HookApproval {
    /// Its name in documents.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Missing => "missing",
            Self::SwitchedOff => "switched-off",
            Self::Outdated => "outdated",
            Self::Approved => "approved",
        }
    }
}

/// The approvals in a `config.toml` of Codex.
#[derive(Debug)]
pub struct CodexApprovals {
    /// By key: `state` with `trusted_hash` and `enabled`.
    states: Value,
}

impl CodexApprovals {
    /// Reads the file; an unreadable file has no approvals.
    #[must_use]
    pub fn parse(config: &str) -> Self {
        let mut document = parse_toml(config).unwrap_or_default();
        Self { states: document["hooks"]["state"].take() }
    }

    /// The approval of this program's hook for an event in a file of hooks; `place` is the file, or the
    /// plugin with the file in it. `None` if the file has no such hook. Of several hooks the best counts,
    /// because one is enough.
    #[must_use]
    pub fn of_event(&self, hooks: &Value, place: &str, event: HookEvent) -> Option<HookApproval> {
        let label = event.name().replace('-', "_");
        let groups = hooks["hooks"][event.host_name()].as_array()?;
        let mut best = None;
        for (group_at, group) in groups.iter().enumerate() {
            for (hook_at, hook) in group["hooks"].as_array().into_iter().flatten().enumerate() {
                if hook["command"].as_str().is_some_and(is_own_command) {
                    let key = format!("{place}:{label}:{group_at}:{hook_at}");
                    let hash = entry_hash(&label, &group["matcher"], hook);
                    best = best.max(Some(self.of_entry(&key, &hash)));
                }
            }
        }
        best
    }

    fn of_entry(&self, key: &str, hash: &str) -> HookApproval {
        let state = &self.states[key];
        match state["trusted_hash"].as_str() {
            _ if state["enabled"] == false => HookApproval::SwitchedOff,
            None => HookApproval::Missing,
            Some(approved) if approved == hash => HookApproval::Approved,
            Some(_) => HookApproval::Outdated,
        }
    }
}

/// Codex's hash of an entry: of its canonical JSON, in which the keys are sorted.
fn entry_hash(label: &str, matcher: &Value, hook: &Value) -> String {
    let hook = json!({
        "async": hook["async"] == true,
        "command": hook["command"],
        "timeout": hook["timeout"].as_u64().unwrap_or(DEFAULT_TIMEOUT_SECS),
        "type": "command",
    });
    let mut entry = json!({"event_name": label, "hooks": [hook]});
    if matcher.is_string() {
        entry["matcher"] = matcher.clone();
    }
    let mut hash = "sha256:".to_owned();
    for byte in Sha256::digest(entry.to_string()) {
        // Writing to a `String` cannot fail.
        let _ = write!(hash, "{byte:02x}");
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hashes that Codex shows for the hooks of the plugin.
    const CONFIG: &str = r#"
        model = "x"
        [hooks.state."moai-ralph@m:hooks/codex.json:stop:0:0"]
        trusted_hash = "sha256:307ac7e4601f37870f92d05b0770f073b1be907a03c3c438afafaef7a1580f32"
        [hooks.state."moai-ralph@m:hooks/codex.json:pre_tool_use:0:0"]
        trusted_hash = "sha256:eb499c21f0c1ea8da7d5a85647cc1e189c5ffc3e6abcff9ef21f2151eac3040d"
        [hooks.state."moai-ralph@m:hooks/codex.json:session_start:0:0"]
        trusted_hash = "sha256:0000"
        [hooks.state."moai-ralph@m:hooks/codex.json:post_tool_use:0:0"]
        enabled = false
    "#;

    #[test]
    fn the_hash_is_the_one_that_codex_computes() {
        let hooks: Value = serde_json::from_str(include_str!("../../../../hooks/codex.json"))
            .expect("a file of the plugin");
        let approvals = CodexApprovals::parse(CONFIG);
        let check = |event, expected| {
            let found = approvals.of_event(&hooks, "moai-ralph@m:hooks/codex.json", event);
            assert_eq!(found, expected, "{event:?}");
        };
        check(HookEvent::Stop, Some(HookApproval::Approved));
        check(HookEvent::PreToolUse, Some(HookApproval::Approved));
        check(HookEvent::SessionStart, Some(HookApproval::Outdated));
        check(HookEvent::PostToolUse, Some(HookApproval::SwitchedOff));
        check(HookEvent::UserPromptSubmit, Some(HookApproval::Missing));
        check(HookEvent::PreCompact, None);
    }

    #[test]
    fn hooks_of_others_and_unreadable_files_approve_nothing() {
        let other = json!({"hooks": {"Stop": [{"hooks": [{"command": "true"}]}]}});
        let own = json!({"hooks": {"Stop": [{"hooks": [{"command": "moai-ralph hook stop"}]}]}});
        let approvals = CodexApprovals::parse("not = = TOML");
        assert_eq!(approvals.of_event(&other, "f", HookEvent::Stop), None);
        assert_eq!(approvals.of_event(&own, "f", HookEvent::Stop), Some(HookApproval::Missing));
    }
}
