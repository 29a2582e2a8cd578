//! Records the files that the session of a loop wrote. A guard finding in any other file is not
//! attributed to the agent; the user is asked about it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::engine::{Engine, panic_gap, run_blocking};
use crate::exam::{ToolWrite, change_time_ns};
use crate::guard::guard_run::run_loop_guard;
use crate::guard::waivers::WaiverStore;
use crate::project::Project;
use moai_base::finding::{Finding, Severity};
use moai_base::foreign_text::one_line;
use moai_base::hash::ContentHash;
use moai_base::limits::{
    FOREIGN_FILES_NAMED_MAX, GAP_CHARS_MAX, SESSION_WRITES_MAX, SOURCE_BYTES_MAX,
};
use moai_base::path::RelPath;
use moai_host::files;
use moai_host::store::StoreError;
use moai_loops::charter::Charter;
use moai_loops::exam::{ExamRole, SessionWrites};

/// Records the guarded files that a tool call of the loop's session wrote, with their hashes.
pub(crate) async fn note_session_writes(
    engine: &Engine,
    project: &Project,
    charter: &Charter,
    write: ToolWrite,
) -> Result<(), StoreError> {
    let (store, key, root) = (&engine.store, &project.key, project.root.clone());
    let written = match write {
        ToolWrite::File(file) => run_blocking(move || written_file(&root, &file)).await,
        ToolWrite::Since(since_ns) => {
            let exam = store.find_exam(key, &charter.id, ExamRole::ALL).await?;
            let known = exam.into_iter().flat_map(|exam| exam.files.into_keys()).collect();
            run_blocking(move || written_since(&root, since_ns, known)).await
        }
    };
    // Unrecorded writes count as the user's: the Stop asks the user about them.
    let written = written.ok_or_else(|| StoreError::Unavailable(panic_gap().to_string()))?;
    if written.is_empty() {
        return Ok(());
    }
    store.note_session_writes(key, &charter.id, written).await
}

fn written_file(root: &Path, file: &Path) -> SessionWrites {
    let path = RelPath::below(root, file).filter(moai_guard::is_guarded_path);
    path.map(|path| (path.clone(), hash_of(root, &path))).into_iter().collect()
}

/// The files that changed since a time; `known` files are included even if they were deleted.
fn written_since(root: &Path, since_ns: i128, known: BTreeSet<RelPath>) -> SessionWrites {
    let mut paths: BTreeSet<RelPath> =
        files::walk_names(root, &|path| moai_guard::is_guarded_path(path)).into_iter().collect();
    // A walk leaves hidden folders out.
    for folder in moai_guard::hidden_folders() {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        let files = entries.filter_map(|entry| RelPath::below(root, &entry.path()));
        paths.extend(files.filter(moai_guard::is_guarded_path));
    }
    paths.extend(known.into_iter().filter(moai_guard::is_guarded_path));
    paths.retain(|path| {
        change_time_ns(&path.under(root)).is_some_and(|changed| changed >= since_ns)
    });
    if paths.len() > SESSION_WRITES_MAX {
        tracing::warn!(count = paths.len(), "a tool call changed too many files to remember");
        return SessionWrites::new();
    }
    paths
        .into_iter()
        .map(|path| {
            let hash = hash_of(root, &path);
            (path, hash)
        })
        .collect()
}

/// Hash of a file; `None` if it is missing. For a file that the guard cannot read, a hash of its size.
fn hash_of(root: &Path, path: &RelPath) -> Option<ContentHash> {
    let file = path.under(root);
    let metadata = file.symlink_metadata().ok()?;
    if !metadata.is_file() || metadata.len() > SOURCE_BYTES_MAX {
        return Some(ContentHash::of_bytes(format!("unread, {} bytes", metadata.len()).as_bytes()));
    }
    files::read_regular(&file, SOURCE_BYTES_MAX).ok().map(|bytes| ContentHash::of_bytes(&bytes))
}

/// The findings that hold a Stop in files whose present content the loop's session did not write.
pub(crate) async fn foreign_findings(
    engine: &Engine,
    project: &Project,
    charter: &Charter,
    findings: &[Finding],
) -> Result<Vec<Finding>, StoreError> {
    let holding = findings.iter().filter(|finding| finding.severity == Severity::Error);
    let holding: Vec<Finding> = holding.cloned().collect();
    if holding.is_empty() {
        return Ok(Vec::new());
    }
    let writes = engine.store.session_writes(&project.key, &charter.id).await?;
    let root = project.root.clone();
    let foreign = run_blocking(move || {
        holding
            .into_iter()
            .filter(|finding| writes.get(&finding.path) != Some(&hash_of(&root, &finding.path)))
            .collect()
    });
    foreign.await.ok_or_else(|| StoreError::Unavailable("the files could not be read".to_owned()))
}

/// One line for the user for each file of these findings, up to a bound.
pub(crate) fn foreign_finding_lines(findings: &[Finding]) -> Vec<String> {
    let mut by_path: BTreeMap<&RelPath, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        by_path.entry(&finding.path).or_default().push(finding);
    }
    let mut lines = Vec::new();
    for (path, findings) in by_path.iter().take(FOREIGN_FILES_NAMED_MAX) {
        let (code, message) = (&findings[0].code, &findings[0].message);
        let message = one_line(message, GAP_CHARS_MAX);
        let more = match findings.len() {
            1 => String::new(),
            count => format!(", and {} more", count - 1),
        };
        lines.push(format!("{path} was changed (guard({code}): {message}{more})"));
    }
    let more = by_path.len().saturating_sub(FOREIGN_FILES_NAMED_MAX);
    match more {
        0 => {}
        1 => lines.push("1 more file was changed".to_owned()),
        _ => lines.push(format!("{more} more files were changed")),
    }
    lines
}

/// The guard findings in files that the loop's session did not write. The error is one line for the user.
pub(crate) async fn foreign_guard_findings(
    engine: &std::sync::Arc<Engine>,
    project: &Project,
    charter: &Charter,
) -> Result<Vec<Finding>, String> {
    let guarded = run_loop_guard(engine, project, charter).await?;
    let foreign = foreign_findings(engine, project, charter, &guarded.evidence.findings).await;
    foreign.map_err(|error| error.to_string())
}

/// Allows these findings and returns them. The error is one line for the user.
pub(crate) async fn allow_foreign_findings(
    engine: &std::sync::Arc<Engine>,
    project: &Project,
    charter: &Charter,
) -> Result<Vec<Finding>, String> {
    let foreign = foreign_guard_findings(engine, project, charter).await?;
    let (folder, key) = (engine.dirs.state.clone(), project.key.clone());
    let reason = format!("taken over by the user in {}", charter.id);
    let allowed = run_blocking(move || {
        for finding in &foreign {
            WaiverStore::load(&folder, &key).allow(finding, &reason)?;
        }
        Ok::<_, std::io::Error>(foreign)
    });
    let allowed = allowed.await.unwrap_or_else(|| Err(std::io::Error::other("internal error")));
    allowed.map_err(|error| format!("not written: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::samples::finding;

    #[test]
    fn each_file_has_one_line_up_to_a_bound() {
        let found: Vec<Finding> =
            (0..7).map(|at| finding(&format!("{}.py", at / 2), at, "G01")).collect();
        let lines = foreign_finding_lines(&found);
        assert!(lines[0].starts_with("0.py was changed (guard(G01): "), "{lines:?}");
        assert!(lines[0].ends_with(", and 1 more)") && lines.len() == 4, "{lines:?}");
    }

    #[test]
    fn a_tool_call_wrote_the_files_that_changed_since_its_start() {
        let temp = tempfile::tempdir().expect("a folder");
        let root = temp.path();
        let path = |name: &str| RelPath::parse(name).expect("a relative path");
        std::fs::write(root.join("a.py"), "x = 1\n").expect("written");
        let changed = change_time_ns(&root.join("a.py")).expect("there");
        let known = BTreeSet::from([path("test_gone.py")]);
        std::fs::create_dir_all(root.join(".github/workflows")).expect("made");
        for name in ["Makefile", ".github/workflows/ci.yml"] {
            std::fs::write(root.join(name), "x").expect("written");
        }
        let found = written_since(root, changed, known.clone());
        let hash = |text: &str| Some(ContentHash::of_bytes(text.as_bytes()));
        let expected = [
            (path(".github/workflows/ci.yml"), hash("x")),
            (path("Makefile"), hash("x")),
            (path("a.py"), hash("x = 1\n")),
            (path("test_gone.py"), None),
        ];
        assert_eq!(found.into_iter().collect::<Vec<_>>(), expected);
        assert_eq!(written_since(root, changed + 1_000_000_000_000, known), SessionWrites::new());
    }
}
