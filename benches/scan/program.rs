//! The ast-grep program in the version of the crates that this program is built from.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::Places;
use crate::download::run;
use crate::support::test_cache;

/// Name and version in the registry.
const PACKAGE: &str = "ast-grep-cli==0.51.1";

/// Options that make the program search every file.
const EVERY_FILE: &[&str] = &["hidden", "dot", "exclude", "global", "parent", "vcs"];

pub(crate) struct Program {
    path: PathBuf,
}

impl Program {
    /// The program, installed on first use by its registry's own client.
    pub(crate) fn installed() -> Self {
        let tools = test_cache().join("tools");
        fs::create_dir_all(&tools).expect("the cache folder is writable");
        let lock = File::create(test_cache().join("tools.lock")).expect("the cache is writable");
        // Every test runs in its own process, and two of them may need it.
        lock.lock().expect("a local file can be locked");
        let folder = tools.join(PACKAGE);
        let path = folder.join("bin/ast-grep");
        if !path.is_file() {
            run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
            run(Command::new(folder.join("bin/pip")).args(["install", "--quiet", PACKAGE]));
        }
        Self { path }
    }

    /// A scan of a project's folder by its rules, as JSON, with this many threads.
    pub(crate) fn command(&self, project: &Path, threads: usize) -> Command {
        let mut command = Command::new(&self.path);
        command.args(["scan", "--json=stream", "--threads", &threads.to_string()]);
        command.args(EVERY_FILE.iter().flat_map(|kind| ["--no-ignore", kind]));
        command.current_dir(project);
        command
    }

    /// The places that it finds in a project.
    pub(crate) fn scan(&self, project: &Path) -> Places {
        let output = self.command(project, 2).output().expect("the program starts");
        // 1 means that a rule of severity `error` has findings.
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}: {complaint}", output.status);
        let mut places = Places::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let found: Value = serde_json::from_str(line).expect("a line is a finding");
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let offset = |end: &str| {
                let offset = found["range"]["byteOffset"][end].as_u64();
                usize::try_from(offset.expect("an offset")).expect("a small file")
            };
            let path = text(&found["file"]);
            let path = path.strip_prefix("./").unwrap_or(&path).to_owned();
            places.insert((text(&found["ruleId"]), path, offset("start"), offset("end")));
        }
        places
    }
}
