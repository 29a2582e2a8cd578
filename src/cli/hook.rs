//! `hook [EVENT]`: reads stdin, asks the daemon, prints one document. Always exits with 0: a failed hook
//! prints nothing and logs one line; the second failure in a row is reported to the user.

mod outages;

use std::cell::Cell;
use std::ffi::OsString;
use std::io::{Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::{client, current_program};
use moai_base::limits::{
    DAEMON_ALIVE_BUSY_MS_MAX, DAEMON_ALIVE_MS_MAX, HOOK_COLD_START_MS_MAX, HOOK_EDIT_MS_MAX,
    HOOK_EDIT_SILENCE_MS, HOOK_END_MS_MAX, HOOK_FIELD_BYTES_MAX, HOOK_INPUT_BYTES_MAX,
    HOOK_INPUT_SEARCHED_BYTES_MAX, HOOK_MS_MAX, HOOK_START_MS_MAX, HOOK_STOP_ALIVE_MS,
    HOOK_STOP_MS_MAX, HOOK_STOP_SILENCE_MS, HOOK_TOOL_MS_MAX, LINE_CHARS_MAX, LOG_BYTES_MAX,
    SILENCE_MS,
};
use moai_base::redaction::redacted;
use moai_base::verdict::{Cause, Gap};
use moai_engine::protection::{
    WrittenPath, may_be_protected, person_only_call, swept_by_git, writes_anywhere, written_paths,
};
use moai_host::callers::parent_was_started_with;
use moai_host::ipc::client::{AfterSilence, CallError, CallTimeout};
use moai_host::ipc::{StateDirs, client as ipc_client};
use moai_host::memory::MemoryStore;
use moai_host::models::RECURSION_MARK;
use moai_host::protected_places::ProtectedPlaces;
use moai_host::store::peek;
use moai_host::store::peek::SessionQuery;
use moai_host::store::pipelines;
use moai_protocol::control::{CallerContext, DaemonCall, DaemonRequest, PROTOCOL_VERSION};
use moai_protocol::hook::payload_text::{ShortFields, payload_text};
use moai_protocol::hook::{HookEvent, HookInput, HookOutput};
use moai_protocol::hosts::answer::{add_to_answer, answer_text};
use moai_protocol::hosts::{HostKind, agent_variables};
use moai_report::notice::{self, DaemonOutage};

/// Event in the log while it is unknown.
const UNNAMED_EVENT: &str = "?";

/// Event and host named in a hook's registration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct NamedHook<'a> {
    /// The event, such as `stop`; without one the input decides.
    pub(super) event: Option<&'a str>,
    /// The host, such as `codex`; without one the input tells.
    pub(super) host: Option<&'a str>,
}

impl<'a> NamedHook<'a> {
    /// The hook in plain arguments: `hook [EVENT] [--host HOST]`.
    pub(super) fn of_arguments(args: &'a [OsString]) -> Option<Self> {
        let mut words = args.iter().skip(1).map(|word| word.to_str());
        if words.next()?? != "hook" {
            return None;
        }
        let mut named = Self::default();
        while let Some(word) = words.next() {
            match word? {
                "--host" if named.host.is_none() => named.host = Some(words.next()??),
                option if option.starts_with('-') => return None,
                event if named.event.is_none() => named.event = Some(event),
                _ => return None,
            }
        }
        Some(named)
    }

    /// The payload; an unreadable one has no session, no tool and no prompt.
    fn parse(&self, input: &str) -> HookInput {
        let host = self.host.and_then(HostKind::from_name);
        HookInput::parse_from(input, host).unwrap_or_default()
    }
}

/// The program was started without arguments: a hook, if the input is one of a host that drops them.
/// `None` otherwise, and in the shell of an agent, which hooks of those hosts are not started in.
pub(super) fn run_without_arguments() -> Option<u8> {
    if agent_variables().any(|name| std::env::var_os(name).is_some()) {
        return None;
    }
    let input = read_input().ok()?;
    let parsed = HookInput::parse(&input.text).ok()?;
    let is_hook = parsed.host != HostKind::ClaudeCode && !parsed.hook_event_name.is_empty();
    is_hook.then(|| run_with(NamedHook::default(), Ok(input)))
}

pub(super) fn run(named: NamedHook<'_>) -> u8 {
    run_with(named, read_input())
}

fn run_with(named: NamedHook<'_>, input: Result<HookText, String>) -> u8 {
    let Ok(caller) = client::hook_caller() else { return 0 };
    let Some(dirs) = StateDirs::from_env(&caller.env) else {
        // Nothing can be noted either.
        if named.event == Some("stop") {
            let reason = "neither HOME nor MOAI_RALPH_HOME is set";
            let host = input.map_or_else(|_| HostKind::default(), |it| named.parse(&it.text).host);
            print(&add_outage("", host, HookEvent::Stop, reason, DaemonOutage::Nothing));
        }
        return 0;
    };
    let event = named.event.unwrap_or(UNNAMED_EVENT);
    let input = match input {
        Ok(HookText { text, is_reduced }) => {
            if is_reduced {
                log(&dirs, event, &too_large());
            }
            text
        }
        Err(error) => {
            log(&dirs, event, &error);
            return 0;
        }
    };
    if let Some(unknown) = named.host.filter(|name| HostKind::from_name(name).is_none()) {
        log(&dirs, event, &format!("no host is named {unknown}"));
        return 0;
    }
    if named.event.is_some() {
        return answer(&dirs, caller, named, event, input);
    }
    match event_in(&input) {
        Ok(event) => answer(&dirs, caller, named, event.name(), input),
        Err(error) => {
            log(&dirs, event, &error);
            0
        }
    }
}

fn too_large() -> String {
    format!(
        "the input is larger than {HOOK_INPUT_BYTES_MAX} bytes; its fields beyond {HOOK_FIELD_BYTES_MAX} are \
         left out"
    )
}

/// The event of a payload.
fn event_in(input: &str) -> Result<HookEvent, String> {
    let parsed = HookInput::parse(input).map_err(|error| error.to_string())?;
    let name = parsed.hook_event_name.as_str();
    HookEvent::from_host_name(name).ok_or_else(|| format!("no event is named {name:?}"))
}

fn answer(
    dirs: &StateDirs,
    caller: CallerContext,
    named: NamedHook<'_>,
    event: &str,
    input: String,
) -> u8 {
    let parsed = named.parse(&input);
    // Below a judge that the program started itself; judging it would recurse. Such a session has no
    // loop, so the mark does not silence one that has. Settings can give the mark to hooks, but not
    // to the process that starts them.
    if std::env::var_os(RECURSION_MARK).is_some()
        && parent_was_started_with(RECURSION_MARK).unwrap_or(true)
        && !is_of_loop(dirs, &parsed)
    {
        return 0;
    }
    if event == "pre-tool-use" && !may_be_denied(dirs, &caller, &parsed) {
        return 0;
    }
    if event == "subagent-stop" && !has_pipeline(dirs, &caller, &parsed) {
        return 0;
    }
    let is_new_session = event == "session-start" && !is_resumed_session(&parsed);
    let (id, begun_ms) = (client::new_call_id(), client::process_start_ms());
    let host = named.host.map(str::to_owned);
    let request = DaemonRequest::Hook { event: event.to_owned(), host, input, id, begun_ms };
    let call = DaemonCall { protocol: PROTOCOL_VERSION, caller, request };
    if is_new_session {
        match start_detached(dirs) {
            Ok(true) => {
                print(&first_answer(dirs, &call));
                return 0;
            }
            Ok(false) => {}
            Err(error) => log(dirs, event, &error),
        }
    }
    if event == "session-end" {
        // Without a daemon, no session state exists that could be dropped.
        let _ = ipc_client::call_daemon(dirs, &call, CallTimeout::new(hook_timeout(event)));
        return 0;
    }
    let limit = answer_limit(event, &parsed);
    let asked_ms = client::now_ms();
    let SilenceChecks { first, again, within } = SilenceChecks::for_event(event);
    let (is_continued, has_checked) = (Cell::new(false), Cell::new(false));
    let check = || {
        if ipc_client::continue_stopped_daemon(dirs) {
            is_continued.set(true);
        }
        let is_first = !has_checked.replace(true);
        if is_first && event == "stop" && !may_have_loop(dirs, &call.caller, &parsed, asked_ms) {
            AfterSilence::Abandon
        } else if ipc_client::is_daemon_alive(dirs, within) {
            AfterSilence::Wait(again)
        } else {
            AfterSilence::GiveUp
        }
    };
    let timeout = CallTimeout { limit, silence_check: Some((first, &check)) };
    let answered = client::through_daemon(dirs, &call, timeout);
    let host = parsed.host;
    let known_event = HookEvent::from_name(event);
    let stdout = match answered {
        Ok(reply) => {
            outages::note_answer(dirs, &parsed.session_id);
            reply.stdout
        }
        Err(error) => {
            let reason = error.to_string();
            log(dirs, event, &reason);
            let told =
                known_event.filter(|event| outages::note_failure(dirs, &parsed.session_id, *event));
            let (stdout, outage) = answer_without_daemon(dirs, host, event, call, &error);
            match told {
                Some(event) => add_outage(&stdout, host, event, &reason, outage),
                None => stdout,
            }
        }
    };
    print(&match known_event.filter(|_| is_continued.get()) {
        Some(event) => add_to_answer(host, event, &stdout, &notice::continued_daemon()),
        None => stdout,
    });
    0
}

/// Times at which a hook with a silent daemon checks whether it is alive.
struct SilenceChecks {
    /// After this time first.
    first: Duration,
    /// After this time again.
    again: Duration,
    /// Time for the daemon to show that it is alive.
    within: Duration,
}

impl SilenceChecks {
    fn for_event(event: &str) -> Self {
        let (first, again, within) = match event {
            "stop" => (HOOK_STOP_SILENCE_MS, HOOK_STOP_ALIVE_MS, DAEMON_ALIVE_BUSY_MS_MAX),
            "subagent-stop" => (HOOK_STOP_ALIVE_MS, HOOK_STOP_ALIVE_MS, DAEMON_ALIVE_BUSY_MS_MAX),
            "post-tool-use" | "post-tool-batch" => {
                (HOOK_EDIT_SILENCE_MS, HOOK_EDIT_SILENCE_MS, DAEMON_ALIVE_MS_MAX)
            }
            _ => (SILENCE_MS, SILENCE_MS, DAEMON_ALIVE_MS_MAX),
        };
        let [first, again, within] = [first, again, within].map(Duration::from_millis);
        Self { first, again, within }
    }
}

/// Starts a daemon if none listens; returns whether it did.
fn start_detached(dirs: &StateDirs) -> Result<bool, String> {
    client::create_socket_dir(dirs)?;
    let program = current_program().map_err(|error| error.to_string())?;
    ipc_client::start_daemon_detached(dirs, &program).map_err(|error| error.to_string())
}

/// The answer of a newly started daemon to a new session. Waits only a moment, and only if the memory has
/// observations: a late record goes to the first prompt.
fn first_answer(dirs: &StateDirs, call: &DaemonCall) -> String {
    if !MemoryStore::start(dirs.state.clone()).exists() {
        return String::new();
    }
    let started_at = Instant::now();
    let limit = Duration::from_millis(HOOK_COLD_START_MS_MAX);
    if !ipc_client::wait_until_listening(dirs, limit) {
        return String::new();
    }
    let rest = limit.saturating_sub(started_at.elapsed());
    let answered = ipc_client::call_daemon(dirs, call, CallTimeout::new(rest));
    answered.map(|answer| answer.reply.stdout).unwrap_or_default()
}

/// True if a tool call may write something protected or belongs to a pipeline, determined without the daemon,
/// because this hook runs before every call.
fn may_be_denied(dirs: &StateDirs, caller: &CallerContext, input: &HookInput) -> bool {
    let cwd = if input.cwd.is_absolute() { &input.cwd } else { &caller.cwd };
    let project = project_variable(input, caller).map_or(cwd.as_path(), Path::new);
    let protected = ProtectedPlaces::new(dirs, &caller.env, project);
    let written = written_paths(input, &protected, cwd);
    person_only_call(input).is_some()
        || input.answers_itself()
        || may_be_protected(&written, &protected)
        || !swept_by_git(input).is_empty()
        || may_write(input, &written) && has_pipeline(dirs, caller, input)
}

/// True if a tool writes files itself, or runs a command before which the daemon may have to read the files.
fn may_write(input: &HookInput, written: &[WrittenPath]) -> bool {
    input.tool_input.command.is_some() || !written.is_empty() || writes_anywhere(input)
}

/// True if a pipeline is active in a folder of the session, determined without the daemon.
fn has_pipeline(dirs: &StateDirs, caller: &CallerContext, input: &HookInput) -> bool {
    pipelines::has_active_pipeline(&dirs.state, || session_folders(caller, input))
}

fn print(stdout: &str) {
    let _ = std::io::stdout().write_all(stdout.as_bytes());
}

/// The output of a hook without an answer, with the reason.
fn answer_without_daemon(
    dirs: &StateDirs,
    host: HostKind,
    event: &str,
    call: DaemonCall,
    error: &CallError,
) -> (String, DaemonOutage) {
    let reason = error.to_string();
    let answer = match error {
        // Looking twice at a call that waits for its permission changes nothing.
        CallError::TimedOut(_) | CallError::DaemonEnded if event == "pre-tool-use" => {
            return handled_here(dirs, call, reason);
        }
        // The daemon continues with the request; handling it here would act twice.
        CallError::TimedOut(_) | CallError::DaemonEnded if event == "stop" => {
            let undecided = HookOutput::Notice(notice::undecided(&reason));
            answer_text(host, HookEvent::Stop, &undecided)
        }
        CallError::Abandoned(_) | CallError::TimedOut(_) | CallError::DaemonEnded => String::new(),
        CallError::NoDaemon | CallError::Unusable(_) | CallError::Unresponsive(_) => {
            return handled_here(dirs, call, reason);
        }
    };
    (answer, DaemonOutage::Unanswered)
}

/// The answer of an engine in this process, which has no language servers because of `reason`.
fn handled_here(dirs: &StateDirs, call: DaemonCall, reason: String) -> (String, DaemonOutage) {
    let gap = Gap::new(Cause::Crashed, reason);
    let reply = client::in_process(dirs, call.caller, call.request, Some(gap), "");
    (reply.stdout, DaemonOutage::WithoutServers)
}

fn add_outage(
    stdout: &str,
    host: HostKind,
    event: HookEvent,
    reason: &str,
    outage: DaemonOutage,
) -> String {
    let reason = moai_base::foreign_text::one_line(reason, LINE_CHARS_MAX);
    add_to_answer(host, event, stdout, &notice::daemon_outage(&reason, outage))
}

fn is_of_loop(dirs: &StateDirs, input: &HookInput) -> bool {
    !input.session_id.is_empty() && peek::holds_session(&dirs.state, &input.session_id)
}

/// True if the session of a Stop may have a loop, or had one when the daemon was asked, determined without
/// the daemon.
fn may_have_loop(
    dirs: &StateDirs,
    caller: &CallerContext,
    input: &HookInput,
    asked_ms: u64,
) -> bool {
    let folders = session_folders(caller, input);
    let (session, since_ms) = (input.session_id.as_str(), asked_ms);
    peek::may_hold_session(&dirs.state, &SessionQuery { session, folders: &folders, since_ms })
}

/// The project's folder, as the host sets it in the environment.
fn project_variable<'c>(input: &HookInput, caller: &'c CallerContext) -> Option<&'c String> {
    input.host.profile().project_variable.and_then(|name| caller.env.get(name))
}

/// The folders that a session works in, without links.
fn session_folders(caller: &CallerContext, input: &HookInput) -> Vec<PathBuf> {
    let named = project_variable(input, caller).map(PathBuf::from);
    let folders = [named, Some(input.cwd.clone()), Some(caller.cwd.clone())].into_iter().flatten();
    folders.map(|folder| folder.canonicalize().unwrap_or(folder)).collect()
}

/// Time limit for an answer. A prompt that is a command may take as long as that command.
fn answer_limit(event: &str, input: &HookInput) -> Duration {
    let is_command = event == "user-prompt-submit" && input.clone().take_typed_command();
    hook_timeout(if is_command { "user-prompt-expansion" } else { event })
}

fn hook_timeout(event: &str) -> Duration {
    Duration::from_millis(match event {
        "stop" | "subagent-stop" => HOOK_STOP_MS_MAX,
        "post-tool-use" | "post-tool-batch" => HOOK_EDIT_MS_MAX,
        "user-prompt-expansion" | "session-start" => HOOK_START_MS_MAX,
        "session-end" => HOOK_END_MS_MAX,
        "pre-tool-use" => HOOK_TOOL_MS_MAX,
        _ => HOOK_MS_MAX,
    })
}

/// The input of a hook.
struct HookText {
    text: String,
    /// True if the input was too large, so that its long fields are missing.
    is_reduced: bool,
}

fn read_input() -> Result<HookText, String> {
    let mut bytes = Vec::new();
    let mut stdin = std::io::stdin().lock();
    let bound = HOOK_INPUT_BYTES_MAX + 1;
    stdin.by_ref().take(bound).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.is_empty() {
        return Err("the input is empty".to_owned());
    }
    let is_reduced = bytes.len() as u64 > HOOK_INPUT_BYTES_MAX;
    if is_reduced {
        bytes = short_fields(&bytes, stdin).map_err(|error| error.to_string())?;
    }
    Ok(HookText { text: payload_text(&bytes), is_reduced })
}

/// The short fields of an input: who stops and where must be known, or a large Stop would end a loop.
fn short_fields(begin: &[u8], rest: impl Read) -> std::io::Result<Vec<u8>> {
    let mut fields = ShortFields::default();
    fields.read(begin);
    let mut rest = rest.take(HOOK_INPUT_SEARCHED_BYTES_MAX - begin.len() as u64);
    let mut part = vec![0; HOOK_FIELD_BYTES_MAX];
    loop {
        match rest.read(&mut part)? {
            0 => return Ok(fields.into_object()),
            count => fields.read(&part[..count]),
        }
    }
}

/// True if the session start continues or replaces a session that may own a loop.
fn is_resumed_session(input: &HookInput) -> bool {
    matches!(input.source.as_str(), "resume" | "clear" | "compact" | "fork")
}

/// Logs one line, without any of the input.
fn log(dirs: &StateDirs, event: &str, message: &str) {
    let path = dirs.log_folder().join("hook.log");
    let _ = moai_host::files::private_dir(&dirs.log_folder());
    if path.metadata().is_ok_and(|meta| meta.len() > LOG_BYTES_MAX) {
        let _ = std::fs::rename(&path, path.with_extension("log.1"));
    }
    let file = std::fs::File::options().create(true).append(true).mode(0o600).open(&path);
    if let Ok(mut file) = file {
        let (event, message) = (redacted(event), redacted(message));
        let message = moai_base::foreign_text::one_line(&message, 300);
        let _ = writeln!(file, "hook {}: {message}", moai_base::foreign_text::one_line(&event, 40));
    }
}
