//! One run of an installing program, bounded in time, with its last words for the error.

use std::collections::BTreeMap;
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::InstallError;
use crate::base::limits::{INSTALL_MS_MAX, INSTALL_POLL_MS};

/// Variables with which a user sends packages elsewhere than into the folder that is asked for.
const DETOURS: [&str; 8] = [
    "PYTHONHOME",
    "PYTHONPATH",
    "PIP_TARGET",
    "PIP_PREFIX",
    "PIP_ROOT",
    "PIP_USER",
    "npm_config_global",
    "npm_config_location",
];

/// A program that installs.
pub(super) struct Tool<'a> {
    pub(super) name: &'static str,
    pub(super) program: PathBuf,
    pub(super) env: &'a BTreeMap<String, String>,
}

impl Tool<'_> {
    /// Runs it in `folder`; it asks nothing, because its input is empty.
    pub(super) fn run(&self, arguments: &[String], folder: &Path) -> Result<(), InstallError> {
        let command = || format!("{} {}", self.name, arguments.join(" "));
        let failed = |output: String| InstallError::Failed { command: command(), output };
        let io = |error: std::io::Error| failed(error.to_string());
        // A file, unlike a pipe, never fills up.
        let mut words = tempfile::tempfile().map_err(io)?;
        let mut child = Command::new(&self.program)
            .args(arguments)
            .current_dir(folder)
            .env_clear()
            .envs(self.env.iter().filter(|(name, _)| !DETOURS.contains(&name.as_str())))
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .stdout(words.try_clone().map_err(io)?)
            .stderr(words.try_clone().map_err(io)?)
            .spawn()
            .map_err(io)?;
        let deadline = Instant::now() + Duration::from_millis(INSTALL_MS_MAX);
        let status = loop {
            match child.try_wait().map_err(io)? {
                Some(status) => break Some(status),
                None if Instant::now() >= deadline => break None,
                None => std::thread::sleep(Duration::from_millis(INSTALL_POLL_MS)),
            }
        };
        match status {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(failed(last_words(&mut words, status))),
            None => {
                let _ = child.kill();
                let _ = child.wait();
                Err(failed(format!("no end within {} s", INSTALL_MS_MAX / 1000)))
            }
        }
    }
}

fn last_words(words: &mut std::fs::File, status: ExitStatus) -> String {
    let mut bytes = Vec::new();
    let read = words.rewind().and_then(|()| words.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.rev().take(5).collect();
    if read.is_err() || lines.is_empty() {
        return status.to_string();
    }
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}
