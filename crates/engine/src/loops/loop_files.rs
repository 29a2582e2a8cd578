//! The files of a loop for agents and users: `progress.txt`, `decisions.md`, `.claude/gulf-align.md`
//! and the notes in `.claude/memory/`. Files are bounded and never outside the root; one that cannot
//! be read or written causes a notice and never ends the loop. `looping` interprets the texts.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::Arc;

use crate::code::change_journal;
use crate::engine::{Engine, panic_gap, run_blocking};
use crate::project::Project;
use moai_base::change::{ChangeSet, NewContent, PathChange};
use moai_base::hash::ContentHash;
use moai_base::limits::{LOOP_FILE_BYTES_MAX, LOOP_FILE_TRIES_MAX, WIKI_LOOPS_MAX};
use moai_base::path::RelPath;
use moai_base::redaction::redacted;
use moai_host::files;
use moai_host::files::transaction::{ApplyError, WriteReach};
use moai_loops::handoff::{self, EndedLoop};
use moai_loops::research::{ResearchGate, research_gate};
use moai_loops::{align as alignment, wiki};
use moai_report::align as words;

pub(crate) const PROGRESS_FILE: &str = "progress.txt";
pub(crate) const DECISIONS_FILE: &str = "decisions.md";
pub(crate) const ALIGN_FILE: &str = ".claude/gulf-align.md";

/// The contents of the files before a Stop is decided.
#[derive(Debug)]
pub(crate) struct LoopFileNotes {
    /// State of the research document.
    pub(crate) research: ResearchGate,
    /// The remaining work, as the agent lists it.
    pub(crate) remaining: Vec<String>,
    /// The number of lines of `progress.txt`, if there are too many.
    pub(crate) too_many_lines: Option<usize>,
    /// Notices about unreadable files.
    pub(crate) notices: Vec<String>,
}

#[derive(Clone, Debug)]
pub(crate) struct IterationSummary {
    pub(crate) id: String,
    /// The iteration that ended.
    pub(crate) iteration: u32,
    /// True if this iteration completes the loop.
    pub(crate) is_completed: bool,
    /// True if the loop keeps notes in `.claude/memory/`.
    pub(crate) has_memory: bool,
    /// The present time in milliseconds since the epoch.
    pub(crate) at_ms: u64,
}

/// The refusal of a start while the alignment has open questions or cannot be read.
pub(crate) async fn open_questions(project: &Project) -> Option<String> {
    let root = project.root.clone();
    let questions = run_blocking(move || {
        let file = load_loop_file(&root, ALIGN_FILE)?;
        Ok(alignment::blocking_questions(&file.text))
    });
    match questions.await.unwrap_or_else(|| Err("internal error".to_owned())) {
        Ok(questions) => (!questions.is_empty()).then(|| words::unanswered_refusal(&questions)),
        Err(reason) => Some(words::unread(&reason)),
    }
}

/// The context of `/moai-align`.
pub(crate) async fn align(project: &Project, task: &str) -> String {
    let root = project.root.clone();
    let is_there = run_blocking(move || {
        read_loop_file(&root, ALIGN_FILE).is_ok_and(|file| file.hash.is_some())
    });
    words::instructions(task, is_there.await.unwrap_or(false))
}

/// Creates the missing files of a loop's structured memory. Returns notices.
pub(crate) async fn create_memory_folder(engine: &Arc<Engine>, project: &Project) -> Vec<String> {
    edit(engine, project, wiki::FOLDER, |root: &Path| Ok(missing_notes(root)))
        .await
        .into_iter()
        .collect()
}

fn missing_notes(root: &Path) -> Vec<LoopFileWrite> {
    let folder = root.join(wiki::FOLDER);
    let missing = wiki::scaffold(|path: &str| folder.join(path).symlink_metadata().is_ok());
    let writes = missing.into_iter().map(|(path, text)| LoopFileWrite {
        file: LoopFile::absent(in_wiki(path)),
        text: text.to_owned(),
    });
    writes.collect()
}

/// Reads the files that a Stop needs.
pub(crate) async fn read_loop_notes(project: &Project) -> LoopFileNotes {
    let root = project.root.clone();
    let read = run_blocking(move || read_loop_file(&root, PROGRESS_FILE)).await;
    match read.unwrap_or_else(|| Err(words::file_not_saved(PROGRESS_FILE, "internal error"))) {
        Ok(file) => LoopFileNotes {
            research: research_gate(file.hash.map(|_| file.text.as_str())),
            remaining: handoff::remaining_gap(&file.text),
            too_many_lines: handoff::too_many_lines(&file.text),
            notices: Vec::new(),
        },
        Err(notice) => LoopFileNotes {
            research: research_gate(None),
            remaining: Vec::new(),
            too_many_lines: None,
            notices: vec![notice],
        },
    }
}

/// The text of a file below the root; `None` if it does not exist or cannot be read.
pub(crate) async fn file_text(project: &Project, path: &str) -> Option<String> {
    text_or_reason(project, path).await.ok().flatten()
}

/// The text of a file below the root; `None` if it does not exist. The error is the reason why it cannot be
/// read, as a fragment.
pub(crate) async fn text_or_reason(
    project: &Project,
    path: &str,
) -> Result<Option<String>, String> {
    let (root, path) = (project.root.clone(), path.to_owned());
    let read = run_blocking(move || load_loop_file(&root, &path)).await;
    let read = read.ok_or_else(|| panic_gap().detail)??;
    Ok(read.hash.map(|_| read.text))
}

/// Changes one existing file; `change` gets its text and returns the new one, or `None` to leave it
/// unchanged. Returns the notice if that failed.
pub(crate) async fn change_file(
    engine: &Arc<Engine>,
    project: &Project,
    path: &str,
    change: impl Fn(&str) -> Option<String> + Clone + Send + 'static,
) -> Option<String> {
    change_or_create(engine, project, path, move |text: Option<&str>| text.and_then(&change)).await
}

/// Like [`change_file`]; `change` gets `None` for a file that does not exist.
pub(crate) async fn change_or_create(
    engine: &Arc<Engine>,
    project: &Project,
    path: &str,
    change: impl Fn(Option<&str>) -> Option<String> + Clone + Send + 'static,
) -> Option<String> {
    let named = path.to_owned();
    edit(engine, project, path, move |root: &Path| {
        let file = read_loop_file(root, &named)?;
        let text = change(file.hash.map(|_| file.text.as_str()));
        Ok(text.map(|text| LoopFileWrite { file, text }).into_iter().collect())
    })
    .await
}

/// The text of a loop's file; empty if it does not exist or cannot be read.
pub(crate) fn loop_file_text(root: &Path, path: &str) -> String {
    load_loop_file(root, path).map(|file| file.text).unwrap_or_default()
}

/// Saves the decisions of an iteration, and the hand-off and notes of a completed loop. Returns
/// notices.
pub(crate) async fn write_loop_notes(
    engine: &Arc<Engine>,
    project: &Project,
    decided: &IterationSummary,
) -> Vec<String> {
    let mut notices = Vec::new();
    let iteration = decided.iteration;
    let plan = move |root: &Path| plan_decisions(root, iteration);
    notices.extend(edit(engine, project, DECISIONS_FILE, plan).await);
    if decided.is_completed {
        let summary = decided.clone();
        notices.extend(
            edit(engine, project, ALIGN_FILE, move |root: &Path| {
                plan_hand_off(root, summary.ended())
            })
            .await,
        );
    }
    if decided.is_completed && decided.has_memory {
        let summary = decided.clone();
        notices.extend(
            edit(engine, project, wiki::FOLDER, move |root: &Path| {
                plan_archive(root, summary.ended())
            })
            .await,
        );
    }
    notices.dedup();
    notices
}

impl IterationSummary {
    fn ended(&self) -> EndedLoop<'_> {
        EndedLoop { id: &self.id, iteration: self.iteration, at_ms: self.at_ms }
    }
}

fn plan_decisions(root: &Path, iteration: u32) -> Result<Vec<LoopFileWrite>, String> {
    let progress = read_loop_file(root, PROGRESS_FILE)?;
    let file = read_loop_file(root, DECISIONS_FILE)?;
    let text = handoff::with_decisions(&file.text, &redacted(&progress.text), iteration);
    Ok(text.map(|text| LoopFileWrite { file, text }).into_iter().collect())
}

fn plan_hand_off(root: &Path, ended: EndedLoop<'_>) -> Result<Vec<LoopFileWrite>, String> {
    let progress = read_loop_file(root, PROGRESS_FILE)?;
    let file = read_loop_file(root, ALIGN_FILE)?;
    let text = handoff::with_completed(&file.text, &redacted(&progress.text), ended);
    Ok(text.map(|text| LoopFileWrite { file, text }).into_iter().collect())
}

/// Moves the notes of a completed loop into a separate file, linked from the index.
fn plan_archive(root: &Path, ended: EndedLoop<'_>) -> Result<Vec<LoopFileWrite>, String> {
    let current = read_loop_file(root, in_wiki(wiki::CURRENT).as_str())?;
    let index = read_loop_file(root, in_wiki(wiki::INDEX).as_str())?;
    let names = match root.join(wiki::FOLDER).join(wiki::LOOPS).read_dir() {
        Ok(entries) => entries.flatten().take(WIKI_LOOPS_MAX),
        Err(_) => return Ok(Vec::new()),
    };
    let names: Vec<String> =
        names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let Some(done) = wiki::archive(&redacted(&current.text), &index.text, &names, ended) else {
        return Ok(Vec::new());
    };
    Ok(vec![
        LoopFileWrite { file: index, text: done.index },
        LoopFileWrite { file: current, text: done.current },
        LoopFileWrite { file: LoopFile::absent(in_wiki(&done.path)), text: done.text },
    ])
}

fn in_wiki(path: &str) -> RelPath {
    RelPath::parse(&format!("{}/{path}", wiki::FOLDER)).expect("the names of the notes are plain")
}

/// A file as read; without a hash it did not exist.
struct LoopFile {
    path: RelPath,
    text: String,
    hash: Option<ContentHash>,
}

impl LoopFile {
    fn absent(path: RelPath) -> Self {
        Self { path, text: String::new(), hash: None }
    }
}

/// A file with its new text.
struct LoopFileWrite {
    file: LoopFile,
    text: String,
}

/// Reads a file below the root; a missing one is empty. The error is the notice.
fn read_loop_file(root: &Path, path: &str) -> Result<LoopFile, String> {
    load_loop_file(root, path).map_err(|reason| words::file_not_saved(path, &reason))
}

/// Like [`read_loop_file`]; the error is the reason alone.
fn load_loop_file(root: &Path, path: &str) -> Result<LoopFile, String> {
    use std::io::ErrorKind::{NotADirectory, NotFound};
    let at = Path::new(path);
    match files::read_snapshot(root, at) {
        Ok(snapshot) => Ok(LoopFile {
            text: snapshot.text.to_string(),
            hash: Some(snapshot.hash),
            path: snapshot.path,
        }),
        Err(skipped) => match (root.join(at).symlink_metadata(), RelPath::parse(path)) {
            (Err(error), Some(path)) if matches!(error.kind(), NotFound | NotADirectory) => {
                Ok(LoopFile::absent(path))
            }
            _ => Err(skipped.reason),
        },
    }
}

/// Makes all changes of `plan`, or none of them; the notice tells why not. Plans again if a file
/// changed meanwhile.
async fn edit<P>(engine: &Arc<Engine>, project: &Project, subject: &str, plan: P) -> Option<String>
where
    P: Fn(&Path) -> Result<Vec<LoopFileWrite>, String> + Clone + Send + 'static,
{
    let mut notice = None;
    for _ in 0..LOOP_FILE_TRIES_MAX {
        let (root, plan) = (project.root.clone(), plan.clone());
        let writes = match run_blocking(move || plan(&root)).await {
            None => return Some(words::file_not_saved(subject, &panic_gap().detail)),
            Some(Err(notice)) => return Some(notice),
            Some(Ok(writes)) if writes.is_empty() => return None,
            Some(Ok(writes)) => writes,
        };
        if let Some(large) = writes.iter().find(|write| write.text.len() > LOOP_FILE_BYTES_MAX) {
            let reason = format!("it would be larger than {} KiB", LOOP_FILE_BYTES_MAX / 1024);
            return Some(words::file_not_saved(large.file.path.as_str(), &reason));
        }
        let reach = WriteReach::OwnRepository;
        match change_journal::apply_changes(engine, project, change_set(writes), reach).await {
            Some(Ok(())) => return None,
            Some(Err(error)) => {
                notice = Some(words::file_not_saved(subject, &error.to_string()));
                if !matches!(error, ApplyError::Changed(_)) {
                    break;
                }
            }
            None => return Some(words::file_not_saved(subject, &panic_gap().detail)),
        }
    }
    notice
}

fn change_set(writes: Vec<LoopFileWrite>) -> ChangeSet {
    let mut changes = Vec::with_capacity(writes.len());
    for LoopFileWrite { file, text } in writes {
        let after = NewContent { bytes: Arc::from(text.into_bytes()), permissions_from: None };
        changes.push(PathChange { path: file.path, before: file.hash, after: Some(after) });
    }
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    ChangeSet { changes, emptied_folders: Vec::new() }
}
