//! Runs one program with bounded time, input and output. It runs in an empty folder and in a
//! process group that does not outlive the call.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::timeout;

use super::{CallerEnv, RECURSION_MARK};
use moai_base::limits::{JUDGE_ANSWER_BYTES_MAX, JUDGE_FAULT_CHARS_MAX};
use moai_base::text::one_line;
use moai_base::verdict::{Cause, Gap};

/// Variables that the host sets for its own children; a new host must not take itself for one.
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

/// A program to run.
pub(super) struct ProgramCall {
    /// A path, or a name in the `PATH` of the environment.
    pub(super) path: PathBuf,
    pub(super) args: Vec<String>,
    /// The complete stdin.
    pub(super) input: String,
    pub(super) timeout: Duration,
}

/// Result of a program that ended by itself.
pub(super) struct ProgramOutput {
    /// `None`: by a signal.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl ProgramOutput {
    /// One bounded line about a failure: the end of stderr.
    pub(super) fn fault(&self) -> String {
        let last = self.stderr.lines().rev().find(|line| !line.trim().is_empty());
        let said = last.map(|line| format!(": {}", one_line(line, JUDGE_FAULT_CHARS_MAX)));
        let how =
            self.code.map_or("by a signal".to_owned(), |code| format!("with exit status {code}"));
        format!("it ended {how}{}", said.unwrap_or_default())
    }
}

/// Runs a program to its end or its timeout.
pub(super) async fn run_program(
    program: ProgramCall,
    env: &CallerEnv,
) -> Result<ProgramOutput, Gap> {
    let name = program.path.display().to_string();
    let limit = program.timeout;
    timeout(limit, run_unbounded(program, env)).await.unwrap_or_else(|_| {
        let detail = format!("{name} gave no answer within {} s", limit.as_secs_f32());
        Err(Gap::new(Cause::TimedOut, detail))
    })
}

async fn run_unbounded(program: ProgramCall, env: &CallerEnv) -> Result<ProgramOutput, Gap> {
    let name = program.path.display().to_string();
    let failed = |error: std::io::Error| not_started(&name, &error);
    let folder = tempfile::Builder::new().prefix("moai-ralph-judge-").tempdir().map_err(failed)?;
    let own = env.iter().filter(|(key, _)| !HOST_VARIABLES.contains(&key.as_str()));
    let mut command = tokio::process::Command::new(&program.path);
    command
        .args(&program.args)
        .current_dir(folder.path())
        .env_clear()
        .envs(own.map(|(key, value)| (key, value)))
        .env(RECURSION_MARK, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    let mut child = command.spawn().map_err(failed)?;
    let group = KillOnDropGroup(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let write = async {
        if let Some(mut stdin) = stdin {
            // A program may answer before it has read all input.
            let _ = stdin.write_all(program.input.as_bytes()).await;
        }
    };
    let end = async {
        let status = child.wait().await;
        // Leftover processes would keep the pipes open.
        drop(group);
        status
    };
    let (status, (), stdout, stderr) = tokio::join!(end, write, read(stdout), read(stderr));
    let code = status.ok().and_then(|status| status.code());
    let (Some(stdout), Some(stderr)) = (stdout, stderr) else {
        let detail = format!("{name} wrote more than {JUDGE_ANSWER_BYTES_MAX} bytes");
        return Err(Gap::new(Cause::Crashed, detail));
    };
    let stdout = String::from_utf8(stdout)
        .map_err(|_| Gap::new(Cause::Crashed, format!("the answer of {name} is not UTF-8")))?;
    Ok(ProgramOutput { code, stdout, stderr: String::from_utf8_lossy(&stderr).into_owned() })
}

/// `None` if the answer exceeds the limit. The rest is read and dropped, so that the program ends.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> Option<Vec<u8>> {
    let mut stream = stream?;
    let (mut bytes, mut is_whole) = (Vec::new(), true);
    let mut buffer = vec![0; 16 * 1024];
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        if bytes.len() + count > JUDGE_ANSWER_BYTES_MAX {
            is_whole = false;
        } else {
            bytes.extend_from_slice(&buffer[..count]);
        }
    }
    is_whole.then_some(bytes)
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

/// A process group that is killed on drop.
struct KillOnDropGroup(Option<Pid>);

impl Drop for KillOnDropGroup {
    fn drop(&mut self) {
        if let Some(id) = self.0 {
            // This fails only if the group is already gone.
            let _ = kill_process_group(id, Signal::KILL);
        }
    }
}
