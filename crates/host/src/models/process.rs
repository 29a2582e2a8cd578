//! Asks a model that is a program. It runs in an empty folder, with bounded time and output.

use std::path::PathBuf;
use std::time::Duration;

use super::{CallerEnv, RECURSION_MARK};
use crate::programs::{ProgramCall, ProgramEnd, ProgramStreams, run_program};
use crate::run_folders::{RunFolderKind, run_folder};
use moai_base::foreign_text::one_line;
use moai_base::limits::{JUDGE_ANSWER_BYTES_MAX, JUDGE_FAULT_CHARS_MAX};
use moai_base::verdict::{Cause, Gap};

/// Variables that the host sets for its own children; a new host must not consider itself one.
/// Login variables stay.
const HOST_VARIABLES: [&str; 14] = [
    "CLAUDECODE",
    "CLAUDE_CODE_CHILD_NOTES_DIR",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ATTENDED",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_ENV_FILE",
    "CLAUDE_PID",
    "CLAUDE_PLUGIN_DATA",
    "CLAUDE_PLUGIN_ROOT",
    "CLAUDE_PROJECT_DIR",
    "OLDPWD",
    "PWD",
];

/// A question to a program.
pub(super) struct ProgramQuestion {
    /// A path, or a name in the `PATH` of the environment.
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) input: String,
    pub(super) timeout: Duration,
}

/// The answer of a program that ended by itself.
pub(super) struct ProgramAnswer {
    /// `None`: by a signal.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl ProgramAnswer {
    /// One bounded line about a failure: the end of stderr.
    pub(super) fn fault(&self) -> String {
        let last = self.stderr.lines().rev().find(|line| !line.trim().is_empty());
        let said = last.map(|line| format!(": {}", one_line(line, JUDGE_FAULT_CHARS_MAX)));
        let how =
            self.code.map_or("by a signal".to_owned(), |code| format!("with exit status {code}"));
        format!("it ended {how}{}", said.unwrap_or_default())
    }
}

/// Asks a program a question: text on stdin, answer on stdout.
pub(super) async fn ask_program(
    question: ProgramQuestion,
    env: &CallerEnv,
) -> Result<ProgramAnswer, Gap> {
    let name = question.program.display().to_string();
    let folder = run_folder(RunFolderKind::Judge, &std::env::temp_dir());
    let folder = folder.map_err(|error| not_started(&name, &error))?;
    let own = env.iter().filter(|(key, _)| !HOST_VARIABLES.contains(&key.as_str())).cloned();
    let call = ProgramCall {
        program: question.program,
        args: question.args,
        cwd: folder.path().to_path_buf(),
        env: own.chain([(RECURSION_MARK.to_owned(), "1".to_owned())]).collect(),
        timeout: question.timeout,
        kill_grace: Duration::ZERO,
        parent: None,
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let streams = ProgramStreams {
        stdin: Some(question.input),
        stdout: &mut |bytes| append_bounded(&mut stdout, bytes),
        stderr: Some(&mut |bytes| append_bounded(&mut stderr, bytes)),
    };
    let code = match run_program(&call, streams).await {
        ProgramEnd::Exited(status) => status.code(),
        ProgramEnd::Lost(_) => None,
        ProgramEnd::NotStarted(error) => return Err(not_started(&name, &error)),
        ProgramEnd::TimedOut => {
            let detail = format!("{name} gave no answer within {} s", call.timeout.as_secs_f32());
            return Err(Gap::new(Cause::TimedOut, detail));
        }
    };
    if stdout.len().max(stderr.len()) > JUDGE_ANSWER_BYTES_MAX {
        let detail = format!("{name} wrote more than {JUDGE_ANSWER_BYTES_MAX} bytes");
        return Err(Gap::new(Cause::Crashed, detail));
    }
    let stdout = String::from_utf8(stdout)
        .map_err(|_| Gap::new(Cause::Crashed, format!("the answer of {name} is not UTF-8")))?;
    let stderr = String::from_utf8_lossy(&stderr).into_owned();
    Ok(ProgramAnswer { code, stdout, stderr })
}

/// Keeps one byte more than the limit, which shows that the stream exceeds it.
fn append_bounded(kept: &mut Vec<u8>, bytes: &[u8]) {
    let room = JUDGE_ANSWER_BYTES_MAX + 1 - kept.len();
    kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

fn not_started(name: &str, error: &std::io::Error) -> Gap {
    let cause = match error.kind() {
        std::io::ErrorKind::NotFound => Cause::NotInstalled,
        std::io::ErrorKind::PermissionDenied => Cause::Refused,
        _ => Cause::Crashed,
    };
    match cause {
        Cause::NotInstalled => Gap::new(cause, format!("{name} was not found")),
        _ => Gap::new(cause, format!("{name} could not be started: {error}")),
    }
}
