//! Codex CLI, as observed with version 0.169.0. It drops an answer with an unknown key.

use super::ContextChannel::{Nested, None as Nowhere};
use super::{HeldTurn, HostEvent, HostKind, HostProfile, LastWords, SettingsFile, TextLimit};
use crate::hook::HookEvent;
use moai_base::limits::CODEX_TEXT_BYTES_MAX;

pub(super) static PROFILE: HostProfile = HostProfile {
    kind: HostKind::Codex,
    name: "codex",
    title: "Codex CLI",
    events: &[
        HostEvent::new(HookEvent::SessionStart, Nested),
        HostEvent::new(HookEvent::UserPromptSubmit, Nested).with_block(),
        HostEvent::new(HookEvent::PreToolUse, Nested),
        HostEvent::new(HookEvent::PostToolUse, Nested),
        HostEvent::new(HookEvent::Stop, Nowhere).with_block(),
        HostEvent::new(HookEvent::SubagentStop, Nowhere).with_block(),
        HostEvent::new(HookEvent::PreCompact, Nowhere),
        HostEvent::new(HookEvent::SessionEnd, Nowhere).without_notices(),
    ],
    edit_tools: &["apply_patch"],
    server_tools: Some("mcp__.*"),
    text_limit: TextLimit::Bytes(CODEX_TEXT_BYTES_MAX),
    held_turn: HeldTurn::SameTurn,
    last_words: LastWords::Payload,
    has_token_counts: false,
    has_continuation_cap: false,
    has_typed_commands: true,
    has_event_times: false,
    project_variable: None,
    session_variable: Some("CODEX_SESSION_ID"),
    agent_variables: &["CODEX_SESSION_ID"],
    settings: &[
        SettingsFile { folders: &[".codex"], name: "hooks.json" },
        SettingsFile { folders: &[".codex"], name: "config.toml" },
    ],
};
