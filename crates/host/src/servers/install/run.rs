//! Runs an installing program, bounded in time, and keeps the end of its output for the error.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::InstallError;
use crate::processes;
use moai_base::limits::{INSTALL_MS_MAX, INSTALL_POLL_MS};

/// Environment variables that redirect packages away from the requested folder.
const REDIRECTING_VARIABLES: [&str; 8] = [
    "PYTHONHOME",
    "PYTHONPATH",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "npm_config_global",
    "npm_config_location",
];

pub(super) struct InstallTool<'a> {
    pub(super) name: &'static str,
    pub(super) program: PathBuf,
    pub(super) env: &'a BTreeMap<String, String>,
}

impl InstallTool<'_> {
    /// Runs it in `folder` with empty input, so that it cannot prompt.
    pub(super) fn run(&self, arguments: &[String], folder: &Path) -> Result<(), InstallError> {
        let output = match self.failure(arguments, folder) {
            Ok(None) => return Ok(()),
            Ok(Some(output)) => output,
            Err(error) => error.to_string(),
        };
        let command = format!("{} {}", self.name, arguments.join(" "));
        Err(InstallError::Failed { command, output })
    }

    /// Runs it; the end of its output if it failed, `None` for success.
    fn failure(&self, arguments: &[String], folder: &Path) -> std::io::Result<Option<String>> {
        // Output goes to a file because a pipe could fill up.
        let mut output = tempfile::tempfile()?;
        let mut child = Command::new(&self.program)
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(
                self.env.iter().filter(|(name, _)| !REDIRECTING_VARIABLES.contains(&name.as_str())),
            )
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output.try_clone()?)
            .spawn()?;
        Ok(match wait(&mut child, Duration::from_millis(INSTALL_MS_MAX))? {
            Some(status) if status.success() => None,
            Some(status) => Some(output_tail(&mut output, status)),
            None => Some(format!("timed out after {} s", INSTALL_MS_MAX / 1000)),
        })
    }
}

/// Waits for the child; at the time limit it is killed with all its children. It gets no process group of its
/// own, so that a terminal's interrupt ends it with us.
fn wait(child: &mut Child, bound: Duration) -> std::io::Result<Option<ExitStatus>> {
    let deadline = Instant::now() + bound;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(INSTALL_POLL_MS));
    }
    // Children are listed before the kill, because they get other parents by it.
    let id = i32::try_from(child.id()).unwrap_or_default();
    let below = processes::living_descendants(&processes::list_processes(), id);
    child.kill()?;
    below.iter().for_each(processes::kill);
    child.wait()?;
    Ok(None)
}

fn output_tail(output: &mut std::fs::File, status: ExitStatus) -> String {
    let mut bytes = Vec::new();
    let read = output.rewind().and_then(|()| output.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.rev().take(5).collect();
    if read.is_err() || lines.is_empty() {
        return status.to_string();
    }
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::io::{BufRead as _, BufReader};

    use super::*;

    #[test]
    fn a_run_over_the_time_limit_is_ended_with_its_children() {
        let script = "sh -c 'sleep 1000 & echo; wait' & wait";
        let mut command = Command::new("sh");
        let mut child = command.args(["-c", script]).stdout(Stdio::piped()).spawn().unwrap();
        let mut words = BufReader::new(child.stdout.take().unwrap());
        words.read_line(&mut String::new()).unwrap();
        assert_eq!(wait(&mut child, Duration::ZERO).unwrap(), None);
        // End of the pipe: no process holds it any more.
        assert_eq!(words.read_line(&mut String::new()).unwrap(), 0);
    }
}
