//! A cold scan of a project in a separate process, like one by the program.

use std::fs;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering};

use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_scan::{RuleSet, scan_text};

use crate::sameness::files;
use crate::say;

/// Makes the bench scan a project instead.
pub(crate) const ARGUMENT: &str = "scan-project";

/// A scan of this project.
pub(crate) fn command(project: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program is a file"));
    // As the daemon is started, which makes the scans of `moai-ralph scan`.
    let (name, value) = moai_host::ipc::client::MALLOC_TUNABLES;
    command.arg(ARGUMENT).arg(project).env(name, value);
    command
}

/// Memory of a scan according to its output, in MB (10⁶ bytes).
pub(crate) fn memory(output: &str) -> f64 {
    let line = output.lines().find(|line| line.starts_with("VmHWM:")).expect("it said so");
    let kilobytes = line.split_whitespace().nth(1).and_then(|number| number.parse::<f64>().ok());
    kilobytes.expect("a number") * 1024.0 / 1e6
}

/// Scans all files of a project with its rules, and prints the findings.
pub(crate) fn scan_project(project: &Path, threads: usize) -> ExitCode {
    let is_rule = |path: &std::path::PathBuf| path.extension().is_some_and(|it| it == "yml");
    let read = |path: std::path::PathBuf| {
        (path.display().to_string(), fs::read_to_string(path).expect("a rule file"))
    };
    let sources = files(&project.join("rules")).into_iter().filter(is_rule).map(read);
    let rules = RuleSet::load(sources);
    let mut files = files(&project.join("code"));
    // The largest first, so that no thread begins one when the rest are done.
    files.sort_by_cached_key(|file| std::cmp::Reverse(fs::metadata(file).map_or(0, |it| it.len())));
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                    scan_file(&rules, project, file);
                }
            });
        }
    });
    let status = fs::read_to_string("/proc/self/status").expect("the kernel tells");
    say(status.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default());
    ExitCode::SUCCESS
}

fn scan_file(rules: &RuleSet, project: &Path, file: &Path) {
    let Some(path) = RelPath::below(project, file) else { return };
    if !rules.handles(&path) {
        return;
    }
    let Ok(text) = fs::read_to_string(file) else { return };
    for finding in scan_text(rules, &path, &text, ContentHash::of_bytes(text.as_bytes())).findings {
        say(&format!("{finding:?}"));
    }
}
