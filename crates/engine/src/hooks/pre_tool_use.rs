//! Before a tool call: denies an agent's writes to files that decide about its work, and writes that the
//! pipeline of its loop does not allow.

use std::path::Path;

use crate::hooks::hook_call::HookCall;
use crate::loops::loop_elsewhere::active_loop_anywhere;
use crate::pipeline::{shell_undo, write_guard};
use crate::protection::{
    WrittenPath, changes_hooks, first_protected, person_only_call, swept_by_git, written_paths,
};
use moai_base::limits::SOURCE_BYTES_MAX;
use moai_base::path::RelPath;
use moai_guard::shell_writes::GitSweep;
use moai_host::files::{IgnoreRules, read_regular};
use moai_host::git::base_versions::{BytesAtBase, versions_at};
use moai_host::git::untracked_paths;
use moai_host::protected_places::ProtectedPlaces;
use moai_loops::exam::front_matter::may_register_hooks;
use moai_loops::exam::roles::UNSEEN;
use moai_loops::exam::{Exam, ExamRole, role};
use moai_protocol::hook::HookOutput;
use moai_report::notice;

/// Roles of files that an agent has no reason to change during a loop. Tests and configuration change
/// with the work; the guard and the exam examine them at the Stop.
const DENIED_ROLES: &[ExamRole] =
    &[ExamRole::Rubric, ExamRole::Checks, ExamRole::Hooks, ExamRole::Engine, ExamRole::Unseen];

pub(crate) async fn handle(call: &HookCall<'_>) -> HookOutput {
    let HookCall { engine, caller, project, input, .. } = call;
    if let Some(command) = person_only_call(input) {
        return HookOutput::Deny(notice::command_denied(&command));
    }
    if input.answers_itself() {
        return HookOutput::Deny(notice::answers_are_the_users());
    }
    let protected = ProtectedPlaces::new(&engine.dirs, &caller.env, &project.root);
    // A relative path of a command is meant from the agent's folder, not from the project's.
    let cwd = if input.cwd.is_absolute() { &input.cwd } else { &caller.cwd };
    let written = written_paths(input, &protected, cwd);
    if let Some((one, place)) = first_protected(&written, &protected) {
        return HookOutput::Deny(notice::write_denied(&one.named, place.words()));
    }
    shell_undo::note_call(call);
    let found = active_loop_anywhere(engine, caller, project, &input.session_id).await;
    let Some((loop_project, state)) = found else {
        let refused = write_guard::refused_in_other_session(engine, project, input, &written).await;
        return refused.unwrap_or_default();
    };
    // Only a whole folder is compared with the files of the exam; the role of one file is in its path.
    let sweeps = swept_by_git(input);
    let exam = if !sweeps.is_empty() || written.iter().any(|one| one.is_whole_folder) {
        let found = engine.store.find_exam(&loop_project.key, &state.id, DENIED_ROLES).await;
        found.ok().flatten()
    } else {
        None
    };
    let denied = written.iter().find_map(|one| {
        // Also a user's own, outside of the project.
        if may_register_hooks(&one.path.to_string_lossy()) {
            return changes_hooks(input, &one.path).then_some((one, ExamRole::Hooks));
        }
        if one.is_whole_folder && loop_project.root.starts_with(&one.path) {
            return exam.as_ref()?.files.values().next().map(|file| (one, file.role));
        }
        let path = RelPath::below(&loop_project.root, &one.path)?;
        Some((one, denied_role(&path, one, exam.as_ref())?))
    });
    if let Some((one, role)) = denied {
        return HookOutput::Deny(notice::exam_write_denied(&one.named, role.words(), &state.id));
    }
    if let Some((file, role)) = exam.and_then(|exam| swept_file(&loop_project.root, &exam, &sweeps))
    {
        return HookOutput::Deny(notice::exam_write_denied(file.as_str(), role.words(), &state.id));
    }
    let refused = write_guard::refused_write(engine, &loop_project, &state, input, &written).await;
    if refused.is_none() {
        shell_undo::note_command(call, &loop_project, &state).await;
    }
    refused.unwrap_or_default()
}

/// The role of a frozen file at this path, or below it if the whole folder is written.
fn denied_role(path: &RelPath, written: &WrittenPath, exam: Option<&Exam>) -> Option<ExamRole> {
    let own = role(path).filter(|role| DENIED_ROLES.contains(role));
    let below = || {
        let folder = format!("{path}/");
        if written.is_whole_folder && UNSEEN.iter().any(|file| file.starts_with(&folder)) {
            return Some(ExamRole::Unseen);
        }
        let files = exam.filter(|_| written.is_whole_folder).map(|exam| &exam.files);
        let mut frozen = files.into_iter().flatten();
        frozen.find(|(file, _)| file.as_str().starts_with(&folder)).map(|(_, file)| file.role)
    };
    own.or_else(below)
}

/// The first frozen file that commands of git would change or remove without naming it.
fn swept_file(root: &Path, exam: &Exam, sweeps: &[GitSweep]) -> Option<(RelPath, ExamRole)> {
    let files: Vec<RelPath> =
        exam.files.keys().filter(|path| path.under(root).exists()).cloned().collect();
    let swept = sweeps.iter().find_map(|sweep| match sweep {
        GitSweep::Reverts(commit) => {
            let versions = versions_at(root, Some(commit), &files).ok().flatten()?;
            let mut pairs = files.iter().zip(versions);
            let differs = |file: &RelPath, version: BytesAtBase| match version {
                BytesAtBase::Bytes(bytes) => {
                    read_regular(&file.under(root), SOURCE_BYTES_MAX).ok() != Some(bytes)
                }
                BytesAtBase::Absent | BytesAtBase::NotRead(_) => false,
            };
            pairs.find(|(file, version)| differs(file, version.clone())).map(|(file, _)| file)
        }
        GitSweep::Cleans { with_ignored, except } => {
            let untracked = untracked_paths(root, &files, *with_ignored).ok()?;
            files.iter().find(|file| untracked.contains(*file) && !is_excepted(file, except))
        }
    })?;
    Some((swept.clone(), exam.files.get(swept)?.role))
}

/// True if the patterns of `git clean -e` exclude a file. Git adds them to the ignore rules of the root.
fn is_excepted(file: &RelPath, patterns: &[String]) -> bool {
    let mut rules = IgnoreRules::default();
    if let Some(rule_file) = RelPath::parse(".gitignore") {
        rules.add_file(&rule_file, &patterns.join("\n"));
    }
    rules.excludes(file)
}
