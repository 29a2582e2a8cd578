//! OpenCode, as observed with version 1.18.33. Its plugin of this program makes the payloads and reads
//! the answers.

use super::ContextChannel::{Flat, None as Nowhere};
use super::{HeldTurn, HostEvent, HostKind, HostProfile, LastWords, SettingsFile, TextLimit};
use crate::hook::HookEvent;
use moai_base::limits::CONTEXT_CHARS_MAX;

pub(super) static PROFILE: HostProfile = HostProfile {
    kind: HostKind::OpenCode,
    name: "opencode",
    title: "OpenCode",
    events: &[
        HostEvent::new(HookEvent::SessionStart, Flat).without_notices(),
        HostEvent::new(HookEvent::UserPromptSubmit, Flat).without_notices(),
        HostEvent::new(HookEvent::UserPromptExpansion, Flat).without_notices(),
        HostEvent::new(HookEvent::PreToolUse, Nowhere).without_notices(),
        HostEvent::new(HookEvent::PostToolUse, Flat).without_notices(),
        HostEvent::new(HookEvent::Stop, Nowhere).with_block().without_notices(),
        HostEvent::new(HookEvent::SessionEnd, Nowhere).without_notices(),
    ],
    edit_tools: &["edit", "write", "apply_patch", "patch", "multiedit"],
    server_tools: None,
    text_limit: TextLimit::Characters(CONTEXT_CHARS_MAX),
    held_turn: HeldTurn::PluginPrompt,
    last_words: LastWords::Payload,
    has_token_counts: false,
    has_continuation_cap: false,
    has_typed_commands: true,
    has_event_times: false,
    project_variable: None,
    session_variable: None,
    agent_variables: &["OPENCODE"],
    settings: &[
        SettingsFile { folders: &[".opencode", "plugin"], name: "*" },
        SettingsFile { folders: &[".opencode", "plugins"], name: "*" },
        SettingsFile { folders: &["opencode", "plugin"], name: "*" },
        SettingsFile { folders: &["opencode", "plugins"], name: "*" },
        SettingsFile { folders: &[], name: "opencode.json" },
        SettingsFile { folders: &[], name: "opencode.jsonc" },
    ],
};
