//! Claude Code, as observed with version 2.1.330.

use super::ContextChannel::Nested;
use super::{HeldTurn, HostEvent, HostKind, HostProfile, LastWords, SettingsFile, TextLimit};
use crate::hook::HookEvent;

pub(super) static PROFILE: HostProfile = HostProfile {
    kind: HostKind::ClaudeCode,
    name: "claude-code",
    title: "Claude Code",
    events: &[
        HostEvent::new(HookEvent::SessionStart, Nested),
        HostEvent::new(HookEvent::UserPromptSubmit, Nested).with_block(),
        HostEvent::new(HookEvent::UserPromptExpansion, Nested).with_block(),
        HostEvent::new(HookEvent::PreToolUse, Nested),
        HostEvent::new(HookEvent::PostToolUse, Nested),
        HostEvent::new(HookEvent::PostToolBatch, Nested),
        HostEvent::new(HookEvent::Stop, super::ContextChannel::None).with_block(),
        HostEvent::new(HookEvent::SubagentStop, Nested).with_block(),
        HostEvent::new(HookEvent::PreCompact, Nested),
        HostEvent::new(HookEvent::SessionEnd, Nested),
    ],
    edit_tools: &["Write", "Edit", "MultiEdit", "NotebookEdit"],
    server_tools: Some("mcp__.*"),
    text_limit: TextLimit::AsWritten,
    held_turn: HeldTurn::SameTurn,
    last_words: LastWords::Payload,
    has_token_counts: true,
    has_continuation_cap: true,
    has_typed_commands: false,
    has_event_times: false,
    project_variable: Some("CLAUDE_PROJECT_DIR"),
    session_variable: Some("CLAUDE_CODE_SESSION_ID"),
    agent_variables: &["CLAUDECODE", "AI_AGENT"],
    settings: &[
        SettingsFile { folders: &[".claude"], name: "settings.json" },
        SettingsFile { folders: &[".claude"], name: "settings.local.json" },
    ],
};
