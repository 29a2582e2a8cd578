//! Hook payloads and outputs. The fields are as observed with Claude Code 2.1.330 and with the
//! other hosts ([`crate::hosts`]); unknown fields are ignored and missing ones get neutral values,
//! so that other host versions work too.

mod file_arguments;
pub mod payload_text;

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Deserialize;
use serde_json::Value;

use crate::hosts::edits::{FileEdit, edits_of, is_patch};
use crate::hosts::typed_command::{TypedCommand, is_own_text, typed_command};
use crate::hosts::{HeldTurn, HostKind};
use crate::lone_surrogates::parse_with_lone_surrogates;

/// The hook events of this program (contract section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookEvent {
    /// A session starts, resumes, or continues after compaction.
    SessionStart,
    /// The user sent a prompt.
    UserPromptSubmit,
    /// A slash command is about to be expanded.
    UserPromptExpansion,
    /// A tool is about to be called.
    PreToolUse,
    /// One tool call succeeded.
    PostToolUse,
    /// All tool calls of one assistant message ended.
    PostToolBatch,
    /// The agent is about to end its turn.
    Stop,
    /// A subagent is about to end.
    SubagentStop,
    /// The host is about to shorten the session.
    PreCompact,
    SessionEnd,
}

impl HookEvent {
    const NAMES: [(Self, &'static str, &'static str); 10] = [
        (Self::SessionStart, "session-start", "SessionStart"),
        (Self::UserPromptSubmit, "user-prompt-submit", "UserPromptSubmit"),
        (Self::UserPromptExpansion, "user-prompt-expansion", "UserPromptExpansion"),
        (Self::PreToolUse, "pre-tool-use", "PreToolUse"),
        (Self::PostToolUse, "post-tool-use", "PostToolUse"),
        (Self::PostToolBatch, "post-tool-batch", "PostToolBatch"),
        (Self::Stop, "stop", "Stop"),
        (Self::SubagentStop, "subagent-stop", "SubagentStop"),
        (Self::PreCompact, "pre-compact", "PreCompact"),
        (Self::SessionEnd, "session-end", "SessionEnd"),
    ];

    /// The event of a command-line name such as `post-tool-use`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    /// The event of a host's name such as `PostToolUse`.
    #[must_use]
    pub fn from_host_name(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|row| row.2 == name).map(|row| row.0)
    }

    /// The command-line name of the event, such as `post-tool-use`.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|row| row.0 == self).map_or("", |row| row.1)
    }

    /// The host's name of the event, such as `PostToolUse`.
    #[must_use]
    pub fn host_name(self) -> &'static str {
        Self::NAMES.iter().find(|row| row.0 == self).map_or("", |row| row.2)
    }
}

/// One hook payload; which fields are set depends on the event.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct HookInput {
    /// The host that sent the payload.
    #[serde(skip)]
    pub host: HostKind,
    /// The host's name of the event, such as `PostToolUse`.
    #[serde(deserialize_with = "lenient")]
    pub hook_event_name: String,
    /// Session id; empty if the host did not send one.
    #[serde(deserialize_with = "lenient")]
    pub session_id: String,
    /// The session's current working directory.
    #[serde(deserialize_with = "lenient")]
    pub cwd: PathBuf,
    /// The session's transcript, which the host writes with a delay.
    #[serde(deserialize_with = "lenient")]
    pub transcript_path: Option<PathBuf>,
    /// `startup`, `resume`, `clear`, `compact` or `fork` (session start).
    #[serde(deserialize_with = "lenient")]
    pub source: String,
    /// Id of the subagent, if the event comes from one.
    #[serde(deserialize_with = "lenient")]
    pub agent_id: Option<String>,
    /// Type of the subagent: a name with its plugin's prefix; empty for the host's own agents.
    #[serde(deserialize_with = "lenient")]
    pub agent_type: String,
    /// Prompt: the text as typed.
    #[serde(deserialize_with = "lenient")]
    pub prompt: String,
    /// Tool events: the tool's name.
    #[serde(deserialize_with = "lenient")]
    pub tool_name: String,
    /// Tool events: the tool's arguments.
    #[serde(deserialize_with = "lenient")]
    pub tool_input: ToolInput,
    /// Tool events: the tool's response.
    #[serde(deserialize_with = "lenient")]
    pub tool_response: Value,
    /// Tool events of GitHub Copilot CLI: the tool's response.
    #[serde(deserialize_with = "lenient")]
    tool_result: Value,
    /// Tool events: run time of the tool, in milliseconds.
    #[serde(deserialize_with = "lenient")]
    pub duration_ms: Option<u64>,
    /// Batch: the calls, with their responses as the agent reads them.
    #[serde(deserialize_with = "lenient")]
    pub tool_calls: Vec<BatchedToolCall>,
    /// Stop: the agent's last message.
    #[serde(deserialize_with = "lenient")]
    pub last_assistant_message: Option<String>,
    /// Stop: tasks that the agent is still waiting for.
    #[serde(deserialize_with = "lenient")]
    pub background_tasks: Vec<Value>,
    /// Stop: true if the turn continues only because a hook blocked an earlier Stop.
    #[serde(deserialize_with = "lenient")]
    pub stop_hook_active: bool,
    /// Stop: the reason why the turn ends, in host versions that report it.
    #[serde(deserialize_with = "lenient", alias = "stopReason", alias = "end_turn_reason")]
    pub stop_reason: String,
    /// Permission mode; in `plan` mode nothing may be changed.
    #[serde(deserialize_with = "lenient")]
    pub permission_mode: String,
    /// Expansion: the command as typed, with or without a plugin prefix.
    #[serde(deserialize_with = "lenient")]
    pub command_name: String,
    /// Expansion: the arguments exactly as typed.
    #[serde(deserialize_with = "lenient")]
    pub command_args: String,
    // These fields identify the host.
    prompt_id: Value,
    turn_id: Value,
    model: Value,
    timestamp: Value,
}

/// The relevant arguments of a tool.
#[derive(Clone, Debug, Default)]
pub struct ToolInput {
    /// The files in them: by a path, or in a patch.
    pub edits: Vec<FileEdit>,
    pub command: Option<String>,
    /// The agent's description of the command.
    pub description: Option<String>,
    /// True if the command continues after its call.
    pub is_background: bool,
    /// All tools: arguments with files or folders, recognized by their keys.
    pub named_files: Vec<String>,
    /// `AskUserQuestion`: prefilled answers; the host adds those of the user later.
    pub answers: Option<Value>,
    pub arguments: Value,
}

/// The host's tool that asks the user.
pub const ASK_TOOL: &str = "AskUserQuestion";

/// A question that the host showed, with the answer that the user chose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenAnswer {
    pub question: String,
    /// The offered answers, in this order.
    pub options: Vec<OfferedAnswer>,
    /// The chosen label, or the typed text.
    pub answer: String,
}

/// An offered answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct OfferedAnswer {
    #[serde(deserialize_with = "lenient")]
    pub label: String,
    #[serde(deserialize_with = "lenient")]
    pub description: String,
}

impl<'de> Deserialize<'de> for ToolInput {
    fn deserialize<D: serde::Deserializer<'de>>(input: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(input)?;
        let text = |name: &str| value[name].as_str().map(str::to_owned);
        Ok(Self {
            edits: edits_of(&value),
            command: text("command").filter(|command| !is_patch(command)),
            description: text("description"),
            is_background: value["run_in_background"].as_bool().unwrap_or_default(),
            named_files: file_arguments::named_files(&value),
            answers: Some(value["answers"].clone()).filter(|answers| !answers.is_null()),
            arguments: value,
        })
    }
}

/// One of several tool calls of a message.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct BatchedToolCall {
    #[serde(deserialize_with = "lenient")]
    pub tool_name: String,
    #[serde(deserialize_with = "lenient")]
    pub tool_input: ToolInput,
    /// The tool's response; a text in Claude Code.
    #[serde(deserialize_with = "lenient")]
    pub tool_response: Value,
}

/// Prefix of the response of a failed command.
const FAILED_COMMAND_START: &str = "Exit code ";

/// Prefix of the response of GitHub Copilot CLI's Write.
const CREATED_FILE_START: &str = "Created file ";

/// A failed command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedToolCall<'i> {
    pub command: &'i str,
    /// The agent's description of it; may be empty.
    pub description: &'i str,
    /// Exit code and output.
    pub error: &'i str,
}

/// Treats a field that is null or has an unexpected type as absent, so that one odd field does not
/// invalidate the others.
fn lenient<'de, D, T>(input: D) -> Result<T, D::Error>
where
    D: serde::Deserializer<'de>,
    T: serde::de::DeserializeOwned + Default,
{
    let value = Value::deserialize(input)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

/// The text before an edit, as far as the host reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextBeforeEdit {
    /// The file did not exist.
    Absent,
    /// The file's text.
    Text(String),
    /// The host did not report it.
    Unknown,
}

impl HookInput {
    /// Parses a payload and recognizes its host. A lone surrogate counts as the replacement
    /// character; the error has the position.
    pub fn parse(input: &str) -> Result<Self, serde_json::Error> {
        Self::parse_from(input, None)
    }

    /// Like [`Self::parse`], for a known host.
    pub fn parse_from(input: &str, host: Option<HostKind>) -> Result<Self, serde_json::Error> {
        let mut parsed: Self = parse_with_lone_surrogates(input)?;
        parsed.host = host.unwrap_or_else(|| HostKind::of_payload(&parsed));
        Ok(parsed)
    }

    pub(crate) fn has_prompt_id(&self) -> bool {
        !self.prompt_id.is_null()
    }

    pub(crate) fn has_turn_id(&self) -> bool {
        !self.turn_id.is_null()
    }

    pub(crate) fn has_model(&self) -> bool {
        !self.model.is_null()
    }

    /// Time of the event in the host's format, if it is reported as text.
    #[must_use]
    pub fn event_time(&self) -> Option<&str> {
        self.timestamp.as_str()
    }

    pub(crate) fn has_event_time(&self) -> bool {
        !self.timestamp.is_null()
    }

    /// The files that the host's edit tool writes; empty for other tools.
    #[must_use]
    pub fn edits(&self) -> &[FileEdit] {
        let is_edit_tool = self.host.profile().edit_tools.contains(&self.tool_name.as_str());
        if is_edit_tool { &self.tool_input.edits } else { &[] }
    }

    /// The text of an edited file before the edit, given the text `now`. Claude Code reports it: a
    /// Write of a new file carries `type: create` and no `originalFile`. GitHub Copilot CLI says so
    /// in its response.
    #[must_use]
    pub fn text_before_edit(&self, edit: &FileEdit, now: &str) -> TextBeforeEdit {
        match (&self.tool_response["originalFile"], self.tool_response["type"].as_str()) {
            (Value::String(text), _) => TextBeforeEdit::Text(text.clone()),
            (_, Some("create")) => TextBeforeEdit::Absent,
            _ if self.has_created_file() => TextBeforeEdit::Absent,
            _ => edit.text_before(now),
        }
    }

    /// The questions of an `AskUserQuestion` that the user answered. A dialog that timed out has no
    /// answers.
    #[must_use]
    pub fn chosen_answers(&self) -> Vec<ChosenAnswer> {
        let response = &self.tool_response;
        if self.tool_name != ASK_TOOL || !response["afkTimeoutMs"].is_null() {
            return Vec::new();
        }
        let questions = response["questions"].as_array().map(Vec::as_slice).unwrap_or_default();
        let chosen = questions.iter().filter(|one| one["multiSelect"] != true).filter_map(|one| {
            let question = one["question"].as_str()?;
            let answer = response["answers"][question].as_str()?;
            let options = serde_json::from_value(one["options"].clone()).unwrap_or_default();
            Some(ChosenAnswer { question: question.to_owned(), options, answer: answer.to_owned() })
        });
        chosen.collect()
    }

    /// True if an `AskUserQuestion` would be answered by the agent itself.
    #[must_use]
    pub fn answers_itself(&self) -> bool {
        let answers = self.tool_input.answers.as_ref();
        self.tool_name == ASK_TOOL
            && answers.is_some_and(|it| it.as_object().is_none_or(|answers| !answers.is_empty()))
    }

    fn has_created_file(&self) -> bool {
        let said = self.tool_result["text_result_for_llm"].as_str();
        said.is_some_and(|said| said.starts_with(CREATED_FILE_START))
    }

    /// True if this prompt is the reason of a held turn, which the host sends back as a prompt,
    /// without input from the user.
    #[must_use]
    pub fn is_returned_reason(&self, event: HookEvent) -> bool {
        event == HookEvent::UserPromptSubmit
            && self.host.profile().held_turn != HeldTurn::SameTurn
            && is_own_text(&self.prompt)
    }

    /// For hosts that pass on commands as typed: moves a command from the prompt to the command
    /// fields. Returns true if there was one.
    pub fn take_typed_command(&mut self) -> bool {
        if !self.host.profile().has_typed_commands {
            return false;
        }
        let Some(TypedCommand { name, arguments }) = typed_command(&self.prompt) else {
            return false;
        };
        (self.command_name, self.command_args) = (name.to_owned(), arguments.to_owned());
        true
    }

    /// Batch: the failed shell commands. The host reports them here and not after each call.
    pub fn failed_commands(&self) -> impl Iterator<Item = FailedToolCall<'_>> {
        self.tool_calls.iter().filter(|call| call.tool_name == "Bash").filter_map(|call| {
            let error = call.tool_response.as_str()?;
            let failed = FailedToolCall {
                command: call.tool_input.command.as_deref()?,
                description: call.tool_input.description.as_deref().unwrap_or_default(),
                error,
            };
            error.starts_with(FAILED_COMMAND_START).then_some(failed)
        })
    }

    /// Ids of running background tasks; the host calls Stop again when they end.
    #[must_use]
    pub fn running_tasks(&self) -> BTreeSet<String> {
        self.background_tasks
            .iter()
            .filter(|task| matches!(task["status"].as_str(), Some("running" | "pending")))
            .map(|task| task["id"].as_str().map_or_else(|| task.to_string(), str::to_owned))
            .collect()
    }

    /// True if a hook must not block the end of the turn: the user interrupted it, the context is
    /// full, or the model is unavailable. Blocking it would only waste turns.
    #[must_use]
    pub fn must_end(&self) -> bool {
        let reason = self.stop_reason.to_lowercase();
        let words = ["abort", "interrupt", "cancel", "context", "max_tokens", "rate_limit", "auth"];
        words.iter().any(|word| reason.contains(word))
    }

    /// True if the session is in plan mode, in which the host allows no changes.
    #[must_use]
    pub fn is_planning(&self) -> bool {
        self.permission_mode == "plan"
    }

    /// The command's name without its prefix: `moai-ralph:moai-loop` and `moai-loop` are the same
    /// command. `None` for the prefix of a different plugin.
    #[must_use]
    pub fn own_command(&self) -> Option<&str> {
        match self.command_name.split_once(':') {
            None => Some(&self.command_name),
            Some(("moai-ralph", name)) => Some(name),
            Some(_) => None,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HookOutput {
    /// No output.
    #[default]
    Silent,
    /// Text for the agent.
    Context(String),
    /// Refuses the tool call, with this reason.
    Deny(String),
    /// A refused tool call and a text for the user.
    DenyAndNotice(String, String),
    /// Blocks the turn (Stop) or the prompt (expansion), with this reason.
    Block(String),
    /// A block and a text for the user.
    BlockAndNotice(String, String),
    /// Text for the user only.
    Notice(String),
    /// Text for the agent, and text for the user.
    ContextAndNotice(String, String),
}

impl HookOutput {
    /// True if the hook blocks.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Block(_) | Self::BlockAndNotice(..))
    }

    /// Adds a text for the user after an existing one; a block remains a block.
    #[must_use]
    pub fn with_notice(self, notice: Option<String>) -> Self {
        match (self, notice) {
            (Self::Silent, Some(notice)) => Self::Notice(notice),
            (Self::Context(context), Some(notice)) => Self::ContextAndNotice(context, notice),
            (Self::Deny(reason), Some(notice)) => Self::DenyAndNotice(reason, notice),
            (Self::DenyAndNotice(reason, text), Some(notice)) => {
                Self::DenyAndNotice(reason, format!("{text}\n{notice}"))
            }
            (Self::Block(reason), Some(notice)) => Self::BlockAndNotice(reason, notice),
            (Self::Notice(text), Some(notice)) => Self::Notice(format!("{text}\n{notice}")),
            (Self::BlockAndNotice(reason, text), Some(notice)) => {
                Self::BlockAndNotice(reason, format!("{text}\n{notice}"))
            }
            (Self::ContextAndNotice(context, text), Some(notice)) => {
                Self::ContextAndNotice(context, format!("{text}\n{notice}"))
            }
            (output, None) => output,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(value: &Value) -> HookInput {
        HookInput::parse(&value.to_string()).expect("valid input")
    }

    #[test]
    fn only_answers_that_a_user_chose_count() {
        let option = |label: &str| json!({"label": label, "description": "d"});
        let question = json!({"question": "Q?", "options": [option("A"), option("B")]});
        let asked =
            |response: Value| parse(&json!({"tool_name": ASK_TOOL, "tool_response": response}));
        let response = json!({"questions": [question], "answers": {"Q?": "A"}});
        let chosen = asked(response.clone()).chosen_answers();
        assert_eq!((chosen[0].question.as_str(), chosen[0].answer.as_str()), ("Q?", "A"));
        assert_eq!(chosen[0].options[1].label, "B");
        let mut alone = response.clone();
        alone["afkTimeoutMs"] = json!(60_000);
        assert_eq!(asked(alone).chosen_answers(), []);
        for odd in [json!({"questions": [question], "answers": {}}), json!("text"), json!(null)] {
            assert_eq!(asked(odd).chosen_answers(), []);
        }
        let itself = |answers: Value| {
            parse(&json!({"tool_name": ASK_TOOL, "tool_input": {"answers": answers}}))
                .answers_itself()
        };
        assert!(itself(json!({"Q?": "A"})) && itself(json!("A")));
        assert!(!itself(json!({})) && !itself(json!(null)));
    }

    #[test]
    fn created_edited_and_unknown_files_are_distinguished() {
        let check = |value: Value, expected: Option<TextBeforeEdit>| {
            let input = parse(&value);
            let before = input.edits().first().map(|edit| input.text_before_edit(edit, "now"));
            assert_eq!(before, expected, "{value}");
        };
        let file = json!({"file_path": "/p/a.py"});
        check(
            json!({"tool_name": "Write", "tool_input": file,
                "tool_response": {"type": "create", "originalFile": null}}),
            Some(TextBeforeEdit::Absent),
        );
        check(
            json!({"tool_name": "Edit", "tool_input": file, "tool_response": {"originalFile": "x"}}),
            Some(TextBeforeEdit::Text("x".into())),
        );
        check(json!({"tool_name": "Edit", "tool_input": file}), Some(TextBeforeEdit::Unknown));
        check(json!({"tool_name": "Read", "tool_input": file}), None);
        check(json!({"tool_name": "Bash", "tool_input": {"command": "ls"}}), None);
    }

    #[test]
    fn a_patch_is_no_command_of_a_shell() {
        let patch = "*** Begin Patch\n*** Add File: a.py\n+x\n*** End Patch\n";
        let of_tool = |tool: &str, command: &str| {
            parse(&json!({"turn_id": "t", "tool_name": tool, "tool_input": {"command": command}}))
        };
        let patched = of_tool("apply_patch", patch);
        assert_eq!((patched.edits().len(), patched.tool_input.command), (1, None));
        let shell = of_tool("Bash", &format!("apply_patch <<'E'\n{patch}E"));
        assert!(shell.edits().is_empty() && shell.tool_input.command.is_some());
        assert_eq!(shell.tool_input.edits.len(), 1);
    }

    #[test]
    fn commands_that_failed_are_found_in_a_batch() {
        let call = |tool: &str, command: &str, response: Value| {
            json!({"tool_name": tool, "tool_input": {"command": command, "description": "d"},
                "tool_response": response})
        };
        let input = parse(&json!({"tool_calls": [
            call("Bash", "make", json!("Exit code 2\nerror: no rule")),
            call("Bash", "ls", json!("a.rs")),
            call("Bash", "odd", json!({"stdout": "Exit code 2"})),
            call("Read", "cat", json!("Exit code 2")),
        ]}));
        let expected = FailedToolCall {
            command: "make",
            description: "d",
            error: "Exit code 2\nerror: no rule",
        };
        assert_eq!(input.failed_commands().collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn only_running_background_work_counts_as_waiting() {
        let with = |status: &str| parse(&json!({"background_tasks": [{"status": status}]}));
        assert_eq!(with("running").running_tasks().len(), 1);
        assert!(with("completed").running_tasks().is_empty());
        assert!(parse(&json!({"background_tasks": []})).running_tasks().is_empty());
    }

    #[test]
    fn a_turn_that_must_end_is_recognized_by_its_reason() {
        let with = |reason: &str| parse(&json!({"stop_reason": reason})).must_end();
        for reason in ["user_abort", "context_limit", "Interrupted", "rate_limit"] {
            assert!(with(reason), "{reason}");
        }
        assert!(!with("end_turn") && !with(""));
        assert!(parse(&json!({"stopReason": "context_window_exceeded"})).must_end());
        assert!(!parse(&json!({"stop_hook_active": true})).must_end());
    }

    #[test]
    fn an_invalid_field_does_not_affect_the_others() {
        let odd = parse(&json!({"session_id": "s", "cwd": null, "tool_input": null, "agent_id": 7,
            "tool_name": [], "background_tasks": "x", "last_assistant_message": "words"}));
        assert_eq!(odd.session_id, "s");
        assert_eq!(odd.last_assistant_message.as_deref(), Some("words"));
        assert!(odd.running_tasks().is_empty());
        let odd = parse(&json!({"background_tasks": [null, {"status": null}]}));
        assert!(odd.running_tasks().is_empty());
    }

    #[test]
    fn a_command_of_another_plugin_is_not_ours() {
        let named = |name: &str| parse(&json!({"command_name": name}));
        assert_eq!(named("moai-ralph:moai-loop").own_command(), Some("moai-loop"));
        assert_eq!(named("moai-loop").own_command(), Some("moai-loop"));
        assert_eq!(named("other:moai-loop").own_command(), None);
    }
}
