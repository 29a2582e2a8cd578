//! GitHub Copilot CLI, as observed with version 1.0.102. It reads a context only at the top level
//! of an answer, and the only text of a hook that it shows to the user is the reason of a refused
//! prompt.

use super::ContextChannel::{Flat, None as Nowhere};
use super::{HeldTurn, HostEvent, HostKind, HostProfile, LastWords, SettingsFile, TextLimit};
use crate::hook::HookEvent;
use moai_base::limits::CONTEXT_CHARS_MAX;

pub(super) static PROFILE: HostProfile = HostProfile {
    kind: HostKind::Copilot,
    name: "copilot",
    title: "GitHub Copilot CLI",
    events: &[
        HostEvent::new(HookEvent::SessionStart, Flat).without_notices(),
        HostEvent::new(HookEvent::UserPromptSubmit, Flat).with_block().without_notices(),
        HostEvent::new(HookEvent::PreToolUse, Nowhere).without_notices(),
        HostEvent::new(HookEvent::PostToolUse, Flat).without_notices(),
        HostEvent::new(HookEvent::Stop, Nowhere).with_block().without_notices(),
        HostEvent::new(HookEvent::SessionEnd, Nowhere).without_notices(),
    ],
    edit_tools: &["Edit", "Write"],
    server_tools: None,
    text_limit: TextLimit::Characters(CONTEXT_CHARS_MAX),
    held_turn: HeldTurn::NewPrompt,
    last_words: LastWords::Transcript,
    has_token_counts: false,
    has_continuation_cap: false,
    has_typed_commands: true,
    has_event_times: true,
    project_variable: Some("COPILOT_PROJECT_DIR"),
    session_variable: Some("COPILOT_AGENT_SESSION_ID"),
    agent_variables: &["COPILOT_AGENT_SESSION_ID"],
    settings: &[
        SettingsFile { folders: &[".github", "hooks"], name: "*" },
        SettingsFile { folders: &[".copilot", "hooks"], name: "*" },
        SettingsFile { folders: &[".copilot"], name: "config.json" },
        SettingsFile { folders: &[".copilot"], name: "settings.json" },
    ],
};
