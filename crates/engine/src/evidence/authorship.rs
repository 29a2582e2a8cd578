//! Which files the session of a loop wrote. A finding of the guard about any other file is not held
//! against the agent: the user is asked about it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::branches::loop_branch::loop_base_commit;
use crate::engine::{Engine, run_blocking};
use crate::exam::{ToolWrite, change_time_ns};
use crate::guard::guard_run::{GuardRunOptions, run_guard};
use crate::guard::waivers::WaiverStore;
use crate::project::Project;
use moai_base::finding::{Finding, Severity};
use moai_base::hash::ContentHash;
use moai_base::limits::{
    FOREIGN_FILES_NAMED_MAX, GAP_CHARS_MAX, SESSION_WRITES_MAX, SOURCE_BYTES_MAX,
};
use moai_base::path::RelPath;
use moai_base::text::one_line;
use moai_host::files;
use moai_host::store::StoreError;
use moai_loops::exam::{ExamRole, SessionWrites};
use moai_loops::state::LoopState;

/// Records the files that the guard reads as a tool call of the loop's session left them.
pub(crate) async fn note_session_writes(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
    write: ToolWrite,
) -> Result<(), StoreError> {
    let (store, key, root) = (&engine.store, &project.key, project.root.clone());
    let written = match write {
        ToolWrite::File(file) => run_blocking(move || written_file(&root, &file)).await,
        ToolWrite::Since(since_ns) => {
            let exam = store.find_exam(key, &state.id, ExamRole::ALL).await?;
            let known = exam.into_iter().flat_map(|exam| exam.files.into_keys()).collect();
            run_blocking(move || written_since(&root, since_ns, known)).await
        }
    };
    let Some(written) = written else {
        tracing::error!("the files that a tool call wrote are unknown after an internal error");
        return Ok(());
    };
    if written.is_empty() {
        return Ok(());
    }
    store.note_session_writes(key, &state.id, written).await
}

fn written_file(root: &Path, file: &Path) -> SessionWrites {
    let path = RelPath::below(root, file).filter(moai_guard::is_guarded_path);
    path.map(|path| (path.clone(), hash_of(root, &path))).into_iter().collect()
}

/// Files that changed since a time; `known` are files that are named when they are gone.
fn written_since(root: &Path, since_ns: i128, known: BTreeSet<RelPath>) -> SessionWrites {
    let mut paths: BTreeSet<RelPath> =
        files::walk_names(root, &|path| moai_guard::is_guarded_path(path)).into_iter().collect();
    paths.extend(known.into_iter().filter(moai_guard::is_guarded_path));
    let is_changed = |path: &RelPath| {
        change_time_ns(&path.under(root)).is_some_and(|changed| changed >= since_ns)
    };
    let changed: Vec<RelPath> = paths.into_iter().filter(is_changed).collect();
    if changed.len() > SESSION_WRITES_MAX {
        tracing::warn!(count = changed.len(), "a tool call changed too many files to remember");
        return SessionWrites::new();
    }
    let hashed = changed.into_iter().map(|path| {
        let hash = hash_of(root, &path);
        (path, hash)
    });
    hashed.collect()
}

/// `None` for a missing file; one that the guard cannot read has a hash of its size.
fn hash_of(root: &Path, path: &RelPath) -> Option<ContentHash> {
    let file: PathBuf = path.under(root);
    let metadata = file.symlink_metadata().ok()?;
    if !metadata.is_file() || metadata.len() > SOURCE_BYTES_MAX {
        return Some(ContentHash::of_bytes(format!("unread, {} bytes", metadata.len()).as_bytes()));
    }
    std::fs::read(&file).ok().map(|bytes| ContentHash::of_bytes(&bytes))
}

/// The findings that hold a Stop although the loop's session did not leave their file as it is now.
pub(crate) async fn foreign_findings(
    engine: &Engine,
    project: &Project,
    state: &LoopState,
    findings: &[Finding],
) -> Result<Vec<Finding>, StoreError> {
    let holding = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let holding: Vec<Finding> = holding.cloned().collect();
    if holding.is_empty() {
        return Ok(Vec::new());
    }
    let writes = engine.store.session_writes(&project.key, &state.id).await?;
    let root = project.root.clone();
    let sorted = run_blocking(move || {
        let is_foreign =
            |finding: &Finding| writes.get(&finding.path) != Some(&hash_of(&root, &finding.path));
        holding.into_iter().filter(is_foreign).collect()
    });
    let unread = || StoreError::Unavailable("the files could not be read".to_owned());
    sorted.await.ok_or_else(unread)
}

/// The files of these findings, one line each, for the user.
pub(crate) fn foreign_finding_lines(findings: &[Finding]) -> Vec<String> {
    let mut by_path: BTreeMap<&RelPath, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        by_path.entry(&finding.path).or_default().push(finding);
    }
    let line = |(path, found): (&&RelPath, &Vec<&Finding>)| {
        let said = one_line(&found[0].message, GAP_CHARS_MAX);
        let more = match found.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        format!("{path} was changed (guard({}): {said}{more})", found[0].code)
    };
    let mut lines: Vec<String> = by_path.iter().take(FOREIGN_FILES_NAMED_MAX).map(line).collect();
    let more = by_path.len().saturating_sub(FOREIGN_FILES_NAMED_MAX);
    if more > 0 {
        lines.push(format!("{more} more files were changed"));
    }
    lines
}

/// Allows the guard's findings about files that the loop's session did not write, and returns them.
/// The error is one line for people.
pub(crate) async fn allow_foreign_findings(
    engine: &std::sync::Arc<Engine>,
    project: &Project,
    state: &LoopState,
) -> Result<Vec<Finding>, String> {
    let wanted = GuardRunOptions {
        base: loop_base_commit(project, state).await,
        goal: state.prompt.clone(),
        known: Vec::new(),
        threshold: Severity::Error,
        loop_id: Some(state.id.clone()),
    };
    let guarded = run_guard(engine, project, wanted).await?;
    let found = foreign_findings(engine, project, state, &guarded.evidence.findings).await;
    let found = found.map_err(|error| error.to_string())?;
    let (folder, key) = (engine.dirs.state.clone(), project.key.clone());
    let reason = format!("taken over by the user in {}", state.id);
    let allowed = run_blocking(move || {
        for finding in &found {
            WaiverStore::load(&folder, &key).allow(finding, &reason)?;
        }
        Ok::<_, std::io::Error>(found)
    });
    let allowed = allowed.await.unwrap_or_else(|| Err(std::io::Error::other("internal error")));
    allowed.map_err(|error| format!("not written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::samples::finding;

    #[test]
    fn each_file_is_named_once_and_only_a_few_are() {
        let found: Vec<Finding> =
            (0..7).map(|at| finding(&format!("{}.py", at / 2), at, "G01")).collect();
        let lines = foreign_finding_lines(&found);
        assert!(lines[0].starts_with("0.py was changed (guard(G01): "), "{lines:?}");
        assert!(lines[0].ends_with(", and 1 more)") && lines.len() == 4, "{lines:?}");
    }

    #[test]
    fn a_call_wrote_what_changed_since_it_began_and_nothing_older() {
        let temp = tempfile::tempdir().expect("a folder");
        let root = temp.path();
        let path = |name: &str| RelPath::parse(name).expect("a relative path");
        std::fs::write(root.join("a.py"), "x = 1\n").expect("written");
        let changed = change_time_ns(&root.join("a.py")).expect("there");
        let known = BTreeSet::from([path("test_gone.py")]);
        let found = written_since(root, changed, known.clone());
        let expected =
            [(path("a.py"), Some(ContentHash::of_bytes(b"x = 1\n"))), (path("test_gone.py"), None)];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
        assert_eq!(written_since(root, changed + 1_000_000_000_000, known), SessionWrites::new());
    }
}
