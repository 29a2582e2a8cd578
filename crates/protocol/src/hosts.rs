//! The hosts: agent clients that call this program's hooks. Their differences are data
//! ([`HostProfile`]) and two functions: which host sent a payload ([`HostKind::of_payload`]), and
//! the answer it reads ([`answer::answer_text`]). Handlers are independent of the host.

pub mod answer;
mod claude_code;
mod codex;
pub mod codex_approval;
mod copilot;
pub mod edits;
pub mod last_words;
mod opencode;
pub mod registration;
pub mod typed_command;

use std::ffi::OsStr;
use std::path::Path;

use crate::hook::{HookEvent, HookInput};

/// A client that calls this program's hooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostKind {
    #[default]
    ClaudeCode,
    /// Codex CLI.
    Codex,
    /// GitHub Copilot CLI.
    Copilot,
    /// OpenCode, whose plugin calls this program.
    OpenCode,
}

/// The properties of a host.
#[derive(Debug)]
pub struct HostProfile {
    pub kind: HostKind,
    /// Its name for `--host` and in documents.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// The events that it sends and this program handles.
    pub events: &'static [HostEvent],
    /// The tools that write the files in their arguments.
    pub edit_tools: &'static [&'static str],
    /// Its pattern for tools of MCP servers, if their names are recognizable; else it calls the
    /// hooks before every tool.
    pub server_tools: Option<&'static str>,
    /// The longest text that it passes on without cutting.
    pub text_limit: TextLimit,
    /// How it returns the reason of a held turn.
    pub held_turn: HeldTurn,
    /// Where the agent's final message is found.
    pub last_words: LastWords,
    /// True if the tokens in its transcripts can be counted.
    pub has_token_counts: bool,
    /// True if it ends a turn that was held repeatedly without a tool call.
    pub has_continuation_cap: bool,
    /// True if a prompt may be a command as typed.
    pub has_typed_commands: bool,
    /// True if each payload carries the time of its event, so that equal payloads are one event.
    pub has_event_times: bool,
    /// Its variable with the project's folder, for hooks.
    pub project_variable: Option<&'static str>,
    /// Its variable with the session's id, for the commands of its agent.
    pub session_variable: Option<&'static str>,
    /// Variables that only the commands of its agent have.
    pub agent_variables: &'static [&'static str],
    /// The files that register hooks.
    pub settings: &'static [SettingsFile],
}

/// An event of a host, and the possible contents of its answer.
#[derive(Clone, Copy, Debug)]
pub struct HostEvent {
    pub event: HookEvent,
    /// Where the answer carries text for the agent.
    pub context: ContextChannel,
    /// True if the answer may block.
    pub can_block: bool,
    /// True if the user is shown a text.
    pub has_notices: bool,
}

/// Where an answer carries text for the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextChannel {
    /// No such field.
    None,
    /// `hookSpecificOutput.additionalContext`.
    Nested,
    /// `additionalContext`.
    Flat,
}

/// The longest text that a host passes on without cutting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLimit {
    /// Longer than every text of this program.
    AsWritten,
    Characters(usize),
    Bytes(usize),
}

/// How the reason of a held turn returns to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeldTurn {
    /// In the same turn, without an event.
    SameTurn,
    /// As a prompt of the user, with its event.
    NewPrompt,
    /// As a prompt that the plugin sends, as long as the host runs: a one-shot run ends before it.
    PluginPrompt,
}

/// Where the agent's final message is found at a Stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastWords {
    Payload,
    /// In the transcript, which may not be written yet.
    Transcript,
}

/// A file that registers hooks: its name, in certain folders or in any. The name may be `*`.
#[derive(Clone, Copy, Debug)]
pub struct SettingsFile {
    /// The folders above it, the innermost last.
    pub folders: &'static [&'static str],
    pub name: &'static str,
}

impl HostKind {
    pub const ALL: [Self; 4] = [Self::ClaudeCode, Self::Codex, Self::Copilot, Self::OpenCode];

    #[must_use]
    pub fn profile(self) -> &'static HostProfile {
        match self {
            Self::ClaudeCode => &claude_code::PROFILE,
            Self::Codex => &codex::PROFILE,
            Self::Copilot => &copilot::PROFILE,
            Self::OpenCode => &opencode::PROFILE,
        }
    }

    /// The host with a name such as `codex`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.profile().name == name)
    }

    /// The host that sent a payload. The payload alone decides: all hosts set the variables of Claude
    /// Code, one of them runs its settings, and a host that was started in the shell of another
    /// inherits its variables.
    #[must_use]
    pub fn of_payload(input: &HookInput) -> Self {
        let has_mode = !input.permission_mode.is_empty();
        let is_rollout = input.transcript_path.as_deref().and_then(Path::file_name);
        let is_rollout = is_rollout.and_then(OsStr::to_str).is_some_and(is_rollout_name);
        if input.has_event_time() && !has_mode {
            Self::Copilot
        } else if !input.has_prompt_id() && (input.has_turn_id() || input.has_model() && has_mode)
            || is_rollout
        {
            Self::Codex
        } else {
            Self::ClaudeCode
        }
    }
}

/// Variables that only the commands of agents have, of all hosts.
pub fn agent_variables() -> impl Iterator<Item = &'static str> {
    HostKind::ALL.into_iter().flat_map(|kind| kind.profile().agent_variables).copied()
}

/// Variables in which hosts pass the session to the commands of their agents.
pub fn session_variables() -> impl Iterator<Item = &'static str> {
    HostKind::ALL.into_iter().filter_map(|kind| kind.profile().session_variable)
}

/// True if a file registers hooks of a host or, with `is_whole_folder`, if a folder holds such a
/// file.
#[must_use]
pub fn is_settings_place(path: &Path, is_whole_folder: bool) -> bool {
    let mut files = HostKind::ALL.into_iter().flat_map(|kind| kind.profile().settings);
    let holds = |file: &SettingsFile| !file.folders.is_empty() && file.is_folder_at(path);
    files.any(|file| file.is_at(path) || is_whole_folder && holds(file))
}

/// True for the file name of a Codex transcript.
fn is_rollout_name(name: &str) -> bool {
    name.starts_with("rollout-")
}

impl HostProfile {
    /// The host's handling of the answer to an event; `None` if it does not send the event.
    #[must_use]
    pub fn event(&self, event: HookEvent) -> Option<&HostEvent> {
        self.events.iter().find(|row| row.event == event)
    }
}

impl HostEvent {
    const fn new(event: HookEvent, context: ContextChannel) -> Self {
        Self { event, context, can_block: false, has_notices: true }
    }

    const fn with_block(self) -> Self {
        Self { can_block: true, ..self }
    }

    const fn without_notices(self) -> Self {
        Self { has_notices: false, ..self }
    }
}

impl SettingsFile {
    /// True if a path is such a file.
    fn is_at(&self, path: &Path) -> bool {
        let is_named = self.name == "*" || path.file_name().is_some_and(|name| name == self.name);
        is_named && path.parent().is_some_and(|folder| self.is_folder_at(folder))
    }

    /// True if a path is the folder of such a file.
    fn is_folder_at(&self, folder: &Path) -> bool {
        let mut above = Some(folder);
        self.folders.iter().rev().all(|name| {
            let is_it = above.and_then(Path::file_name).is_some_and(|found| found == *name);
            above = above.and_then(Path::parent);
            is_it
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        for kind in HostKind::ALL {
            assert_eq!(HostKind::from_name(kind.profile().name), Some(kind));
            assert_eq!(kind.profile().kind, kind);
        }
        assert_eq!(HostKind::from_name("cursor"), None);
    }

    #[test]
    fn the_payload_tells_the_host() {
        let check = |payload: &str, expected: HostKind| {
            let input = HookInput::parse(payload).expect("valid input");
            assert_eq!(input.host, expected, "{payload}");
        };
        check(r#"{"session_id":"s"}"#, HostKind::ClaudeCode);
        check(r#"{"prompt_id":"p","turn_id":"t"}"#, HostKind::ClaudeCode);
        check(r#"{"model":"opus","prompt_id":"p"}"#, HostKind::ClaudeCode);
        check(r#"{"turn_id":"t"}"#, HostKind::Codex);
        check(r#"{"model":"gpt","permission_mode":"default"}"#, HostKind::Codex);
        check(r#"{"transcript_path":"/h/rollout-1.jsonl"}"#, HostKind::Codex);
        check(r#"{"timestamp":"2026-01-01T00:00:00.000Z"}"#, HostKind::Copilot);
        check(r#"{"timestamp":1,"permission_mode":"default"}"#, HostKind::ClaudeCode);
        let named = HookInput::parse_from(r#"{"turn_id":"t"}"#, Some(HostKind::OpenCode));
        assert_eq!(named.expect("valid input").host, HostKind::OpenCode);
    }

    #[test]
    fn settings_are_found_by_their_folders() {
        for path in [
            "/p/.claude/settings.json",
            "/p/.claude/settings.local.json",
            "/h/.codex/hooks.json",
            "/h/.codex/config.toml",
            "/p/.github/hooks/any.json",
            "/h/.copilot/hooks/any.json",
            "/h/.copilot/config.json",
            "/p/.opencode/plugins/any.ts",
            "/p/.opencode/plugin/any.js",
            "/p/opencode.json",
            "/h/.config/opencode/opencode.jsonc",
            "/h/.config/opencode/plugins/any.ts",
        ] {
            assert!(is_settings_place(Path::new(path), false), "{path}");
        }
        for path in ["/p/settings.json", "/p/hooks/any.json", "/p/src/plugins/any.ts"] {
            assert!(!is_settings_place(Path::new(path), false), "{path}");
        }
        let is_folder = |path: &str| is_settings_place(Path::new(path), true);
        assert!(is_folder("/p/.codex") && is_folder("/p/.github/hooks"));
        assert!(!is_folder("/p/hooks") && !is_folder("/p/.github"));
    }
}
