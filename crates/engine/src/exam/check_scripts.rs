//! Finds the scripts that the checks run.

use std::collections::BTreeSet;
use std::path::Path;

use moai_base::limits::{EXAM_FILE_BYTES_MAX, EXAM_FILES_MAX};
use moai_base::path::RelPath;
use moai_host::{files, git};
use moai_loops::criteria::{AUTOCHECKS, CheckPlan};
use moai_loops::exam::role;
use moai_loops::exam::scripts::{is_shell_script, scripts_of_plan, scripts_of_script};

/// The project's text files that its checks run, and those that these run, without other roles in the
/// exam. Files that git ignores are left out, because a build makes them.
pub(super) fn check_scripts(root: &Path, plan: &CheckPlan) -> Vec<RelPath> {
    let folders = plan.commands.iter().map(|command| command.folder.as_str());
    let folders: BTreeSet<&str> = std::iter::once("").chain(folders).collect();
    let mut open: Vec<RelPath> = RelPath::parse(AUTOCHECKS).into_iter().collect();
    open.extend(scripts_of_plan(plan));
    let mut found = BTreeSet::new();
    while let Some(path) = open.pop() {
        if found.len() >= EXAM_FILES_MAX || found.contains(&path) {
            continue;
        }
        let read = files::read_regular(&path.under(root), EXAM_FILE_BYTES_MAX);
        let Some(bytes) = read.ok().filter(|bytes| !bytes.contains(&0)) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        if is_shell_script(&path, &text) {
            for folder in &folders {
                open.extend(scripts_of_script(&path, &text, folder));
            }
        }
        found.insert(path);
    }
    let mut found: Vec<RelPath> = found.into_iter().filter(|path| role(path).is_none()).collect();
    if let Ok(ignored) = git::ignored_paths(root, &found) {
        found.retain(|path| path.as_str().starts_with('.') || !ignored.contains(path));
    }
    found
}
