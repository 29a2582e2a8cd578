//! The files of a loop that agents and people read: `progress.txt`, `decisions.md`,
//! `.claude/gulf-align.md` and the notes in `.claude/memory/`. Never outside the root, always
//! bounded; what cannot be read or written costs a notice and never the loop. What the texts mean
//! is decided in `looping`.

use std::path::Path;
use std::sync::Arc;

use super::change_journal;
use super::engine::{Engine, run_blocking};
use super::project::Project;
use crate::base::change::{ChangeSet, NewContent, PathChange};
use crate::base::hash::ContentHash;
use crate::base::limits::{LOOP_FILE_BYTES_MAX, LOOP_FILE_TRIES_MAX, WIKI_LOOPS_MAX};
use crate::base::path::RelPath;
use crate::files;
use crate::files::transaction::ApplyError;
use crate::looping::handoff::{self, EndedLoop};
use crate::looping::research::{ResearchGate, research_gate};
use crate::looping::{align as alignment, wiki};
use crate::report::align as words;

pub(super) const PROGRESS_FILE: &str = "progress.txt";
pub(super) const DECISIONS_FILE: &str = "decisions.md";
pub(super) const ALIGN_FILE: &str = ".claude/gulf-align.md";

/// What the files say before a Stop is decided.
#[derive(Debug)]
pub(super) struct LoopFileNotes {
    /// Whether the research is written down.
    pub(super) research: ResearchGate,
    /// What is left to do by the agent's own account.
    pub(super) remaining: Vec<String>,
    /// Lines of a `progress.txt` that is too long.
    pub(super) too_many_lines: Option<usize>,
    /// What the user must know about files that could not be read.
    pub(super) notices: Vec<String>,
}

/// A Stop that was decided.
#[derive(Clone, Debug)]
pub(super) struct IterationSummary {
    /// The loop's id.
    pub(super) id: String,
    /// The iteration that ended.
    pub(super) iteration: u32,
    /// Whether the loop is completed with it.
    pub(super) is_completed: bool,
    /// Whether it keeps notes in `.claude/memory/`.
    pub(super) has_memory: bool,
    /// Now, in milliseconds since the epoch.
    pub(super) at_ms: u64,
}

/// The refusal of a start while questions in the alignment are open, or may be because it cannot
/// be read.
pub(super) async fn open_questions(project: &Project) -> Option<String> {
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
pub(super) async fn align(project: &Project, task: &str) -> String {
    let root = project.root.clone();
    let is_there = run_blocking(move || {
        read_loop_file(&root, ALIGN_FILE).is_ok_and(|file| file.hash.is_some())
    });
    words::instructions(task, is_there.await.unwrap_or(false))
}

/// Makes the folder of a loop with structured memory, as far as it is not there. Returns notices.
pub(super) async fn create_memory_folder(engine: &Arc<Engine>, project: &Project) -> Vec<String> {
    let missing = |root: &Path| {
        let is_there = |path: &str| root.join(wiki::FOLDER).join(path).symlink_metadata().is_ok();
        let write = |(path, text): (&str, &str)| {
            Ok(LoopFileWrite { file: LoopFile::absent(in_wiki(path)), text: text.to_owned() })
        };
        wiki::scaffold(is_there).into_iter().map(write).collect()
    };
    edit(engine, project, wiki::FOLDER, missing).await.into_iter().collect()
}

/// Reads what a Stop needs to know.
pub(super) async fn read_loop_notes(project: &Project) -> LoopFileNotes {
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

/// Keeps what an iteration leaves: decisions; and of a completed loop its hand-off and its notes.
/// Returns notices.
pub(super) async fn write_loop_notes(
    engine: &Arc<Engine>,
    project: &Project,
    decided: &IterationSummary,
) -> Vec<String> {
    let mut notices = Vec::new();
    let iteration = decided.iteration;
    let decisions = move |root: &Path| {
        let progress = read_loop_file(root, PROGRESS_FILE)?;
        let file = read_loop_file(root, DECISIONS_FILE)?;
        let text = handoff::with_decisions(&file.text, &progress.text, iteration);
        Ok(text.map(|text| LoopFileWrite { file, text }).into_iter().collect())
    };
    notices.extend(edit(engine, project, DECISIONS_FILE, decisions).await);
    if decided.is_completed {
        let ended = decided.clone();
        let hand_off = move |root: &Path| {
            let progress = read_loop_file(root, PROGRESS_FILE)?;
            let file = read_loop_file(root, ALIGN_FILE)?;
            let text = handoff::with_completed(&file.text, &progress.text, ended.ended());
            Ok(text.map(|text| LoopFileWrite { file, text }).into_iter().collect())
        };
        notices.extend(edit(engine, project, ALIGN_FILE, hand_off).await);
    }
    if decided.is_completed && decided.has_memory {
        let ended = decided.clone();
        let put_away = move |root: &Path| archive_notes(root, ended.ended());
        notices.extend(edit(engine, project, wiki::FOLDER, put_away).await);
    }
    notices.dedup();
    notices
}

impl IterationSummary {
    fn ended(&self) -> EndedLoop<'_> {
        EndedLoop { id: &self.id, iteration: self.iteration, at_ms: self.at_ms }
    }
}

/// The notes of a completed loop go into a file of their own, and the list links it.
fn archive_notes(root: &Path, ended: EndedLoop<'_>) -> Result<Vec<LoopFileWrite>, String> {
    let path = |name: &str| format!("{}/{name}", wiki::FOLDER);
    let current = read_loop_file(root, &path(wiki::CURRENT))?;
    let index = read_loop_file(root, &path(wiki::INDEX))?;
    let names = match root.join(path(wiki::LOOPS)).read_dir() {
        Ok(entries) => entries.flatten().take(WIKI_LOOPS_MAX),
        Err(_) => return Ok(Vec::new()),
    };
    let names: Vec<String> =
        names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let Some(done) = wiki::archive(&current.text, &index.text, &names, ended) else {
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

/// A file as it was read; without a hash it was not there.
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

/// What shall stand in a file.
struct LoopFileWrite {
    file: LoopFile,
    text: String,
}

/// Reads a file below the root; one that is not there is empty. The error is the notice.
fn read_loop_file(root: &Path, path: &str) -> Result<LoopFile, String> {
    load_loop_file(root, path).map_err(|reason| words::file_not_saved(path, &reason))
}

/// The same; the error is the reason alone.
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

/// Makes the changes that `plan` finds necessary, or none of them. The notice says why not.
async fn edit<P>(engine: &Arc<Engine>, project: &Project, what: &str, plan: P) -> Option<String>
where
    P: Fn(&Path) -> Result<Vec<LoopFileWrite>, String> + Clone + Send + 'static,
{
    let mut notice = None;
    for _ in 0..LOOP_FILE_TRIES_MAX {
        let (root, plan) = (project.root.clone(), plan.clone());
        let internal = || words::file_not_saved(what, "internal error; see the daemon's log");
        let writes = match run_blocking(move || plan(&root)).await {
            None => return Some(internal()),
            Some(Err(notice)) => return Some(notice),
            Some(Ok(writes)) if writes.is_empty() => return None,
            Some(Ok(writes)) => writes,
        };
        if let Some(large) = writes.iter().find(|write| write.text.len() > LOOP_FILE_BYTES_MAX) {
            let reason = format!("it would be larger than {} KiB", LOOP_FILE_BYTES_MAX / 1024);
            return Some(words::file_not_saved(large.file.path.as_str(), &reason));
        }
        match change_journal::apply_changes(engine, project, change_set(writes)).await {
            Some(Ok(())) => return None,
            Some(Err(error)) => {
                notice = Some(words::file_not_saved(what, &error.to_string()));
                if !matches!(error, ApplyError::Changed(_)) {
                    break;
                }
            }
            None => return Some(internal()),
        }
    }
    notice
}

fn change_set(writes: Vec<LoopFileWrite>) -> ChangeSet {
    let change = |LoopFileWrite { file, text }: LoopFileWrite| {
        let after = NewContent { bytes: Arc::from(text.into_bytes()), permissions_from: None };
        PathChange { path: file.path, before: file.hash, after: Some(after) }
    };
    let mut changes: Vec<PathChange> = writes.into_iter().map(change).collect();
    changes.sort_by(|one, other| one.path.cmp(&other.path));
    ChangeSet { changes, emptied_folders: Vec::new() }
}

#[cfg(test)]
mod tests;
