//! The base state that a change is compared with: the first checkpoint of a loop, or a commit, with
//! the texts of its files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use crate::engine::{Engine, run_blocking};
use crate::evidence::base_results::BaseId;
use crate::project::Project;
use crate::restore::checkpoints;
use crate::restore::checkpoints::{CheckpointStore, START_CHECKPOINT};
use moai_base::hash::ContentHash;
use moai_base::limits::SOURCE_BYTES_MAX;
use moai_base::path::RelPath;
use moai_base::tree::{FileKind, FileTree};
use moai_base::verdict::{Cause, Gap};
use moai_host::git::base_versions::{BytesAtBase, versions_at};
use moai_host::git::{self, GitError, WorkTreeChanges};
use moai_loops::charter::Charter;

/// A file in the base state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BaseText {
    /// The file did not exist.
    Absent,
    /// The file had this text.
    Text(Arc<str>),
    /// The text is unknown; the reason is a lower-case fragment.
    Unknown(String),
}

impl BaseText {
    /// Hash of the text, if there is one.
    pub(crate) fn hash(&self) -> Option<ContentHash> {
        match self {
            Self::Text(text) => Some(ContentHash::of_bytes(text.as_bytes())),
            Self::Absent | Self::Unknown(_) => None,
        }
    }
}

/// The base state of a change; see the module.
#[derive(Clone, Debug)]
pub(crate) struct WorkBase {
    /// The key of stored results.
    pub(crate) id: BaseId,
    root: PathBuf,
    source: BaseSource,
}

#[derive(Clone, Debug)]
enum BaseSource {
    /// The files at the start of a loop, uncommitted ones included.
    Checkpoint { keeper: CheckpointStore, tree: FileTree, at_secs: i64 },
    /// A commit; `None` for HEAD.
    Commit(Option<String>),
}

impl WorkBase {
    /// The commit of HEAD.
    pub(crate) fn head(project: &Project) -> Self {
        // If git's data cannot be read, the base texts are unknown, and each carries the reason.
        let commit = git::base_commit(&project.root).ok().flatten();
        let state = format!("commit {}", commit.as_deref().unwrap_or_default());
        Self::new(project, state, BaseSource::Commit(commit))
    }

    pub(crate) fn at_commit(project: &Project, commit: &str) -> Self {
        let source = BaseSource::Commit(Some(commit.to_owned()));
        Self::new(project, format!("commit {commit}"), source)
    }

    /// The base of a loop's work; its changes count from `commit`. Blocking.
    pub(crate) fn of_loop(
        engine: &Engine,
        project: &Project,
        charter: &Charter,
        commit: Option<&str>,
    ) -> Result<Self, Gap> {
        // The branch merged foreign work, which is not the loop's.
        if let Some(commit) = commit
            && charter.branch.is_some()
            && charter.base.as_deref() != Some(commit)
        {
            let key = format!("{} at {commit}", charter.id);
            return Ok(Self::new(project, key, BaseSource::Commit(Some(commit.to_owned()))));
        }
        let folder = checkpoints::folder(engine, project);
        let keeper = CheckpointStore::find(project.root.clone(), folder).map_err(no_baseline)?;
        let mut all = keeper.list().map_err(no_baseline)?.into_iter();
        let source = match all.find(|checkpoint| is_start_of(checkpoint, &charter.id)) {
            Some(start) => {
                let tree = keeper.tree(&start).map_err(no_baseline)?;
                BaseSource::Checkpoint { keeper, tree, at_secs: start.at_secs }
            }
            None => first_commit(project, charter).map_err(no_baseline)?,
        };
        Ok(Self::new(project, charter.id.clone(), source))
    }

    fn new(project: &Project, state: String, source: BaseSource) -> Self {
        let root = project.root.clone();
        Self { id: BaseId { root: root.clone(), state }, root, source }
    }

    /// True if a file was last changed before the checkpoint; false for a commit.
    pub(crate) fn is_older(&self, path: &RelPath) -> bool {
        let file = path.under(&self.root);
        self.at_secs().is_some_and(|at_secs| checkpoints::is_older(&file, at_secs))
    }

    /// Time of the checkpoint in seconds since the epoch; `None` for a commit.
    pub(crate) fn at_secs(&self) -> Option<i64> {
        match &self.source {
            BaseSource::Checkpoint { at_secs, .. } => Some(*at_secs),
            BaseSource::Commit(_) => None,
        }
    }

    /// Time of the checkpoint or commit in seconds since the epoch; `None` without a commit.
    pub(crate) fn since_secs(&self) -> Option<i64> {
        match &self.source {
            BaseSource::Checkpoint { at_secs, .. } => Some(*at_secs),
            BaseSource::Commit(commit) => git::commit_secs(&self.root, commit.as_deref()?),
        }
    }

    /// True if a tree equals the base state in the selected files; false for a commit.
    pub(crate) fn is_tree(&self, now: &FileTree, is_selected: impl Fn(&RelPath) -> bool) -> bool {
        let BaseSource::Checkpoint { tree, .. } = &self.source else { return false };
        let then = tree.nodes.iter().filter(|(path, _)| is_selected(path));
        then.eq(now.nodes.iter().filter(|(path, _)| is_selected(path)))
    }

    /// The base texts of files. Blocking.
    pub(crate) fn texts(&self, paths: &BTreeSet<RelPath>) -> BTreeMap<RelPath, BaseText> {
        let paths: Vec<RelPath> = paths.iter().cloned().collect();
        match &self.source {
            BaseSource::Checkpoint { keeper, tree, .. } => {
                let mut texts = in_checkpoint(keeper, tree, &paths);
                mark_ignored(&mut texts, &git::ignored_paths(&self.root, &paths));
                texts
            }
            BaseSource::Commit(commit) => self.in_commit(commit.as_deref(), paths),
        }
    }

    /// The files deleted since the checkpoint, or since the commit according to git. Blocking.
    pub(crate) fn deleted_files(&self) -> Result<Vec<RelPath>, Gap> {
        match &self.source {
            BaseSource::Checkpoint { tree, .. } => {
                // A checkpoint has no files below a link, so those of a folder that became one are gone.
                let folders: BTreeSet<&str> =
                    tree.nodes.keys().flat_map(RelPath::folders).collect();
                let is_link = |folder: &&str| self.root.join(folder).is_symlink();
                let links: BTreeSet<&str> = folders.into_iter().filter(is_link).collect();
                let is_deleted = |path: &&RelPath| {
                    path.folders().any(|folder| links.contains(folder))
                        || path.under(&self.root).symlink_metadata().is_err()
                };
                Ok(tree.nodes.keys().filter(is_deleted).cloned().collect())
            }
            BaseSource::Commit(commit) => {
                deleted_since(git::files_changed_since(&self.root, commit.as_deref()))
            }
        }
    }

    fn in_commit(&self, commit: Option<&str>, paths: Vec<RelPath>) -> BTreeMap<RelPath, BaseText> {
        let reason = match versions_at(&self.root, commit, &paths) {
            Ok(Some(versions)) => {
                let texts = versions.into_iter().map(|version| match version {
                    BytesAtBase::Absent => BaseText::Absent,
                    BytesAtBase::Bytes(bytes) => text_of(bytes),
                    BytesAtBase::NotRead(reason) => BaseText::Unknown(reason.to_owned()),
                });
                return paths.into_iter().zip(texts).collect();
            }
            Ok(None) => "there is no git".to_owned(),
            Err(error) => error.to_string(),
        };
        paths.into_iter().map(|path| (path, BaseText::Unknown(reason.clone()))).collect()
    }
}

fn no_baseline(reason: String) -> Gap {
    Gap::new(Cause::NoBaseline, reason)
}

/// A checkpoint holds no ignored files, so a file that it lacks may have existed. If git cannot tell which
/// files are ignored, all such files are unknown.
fn mark_ignored(
    texts: &mut BTreeMap<RelPath, BaseText>,
    ignored: &Result<BTreeSet<RelPath>, GitError>,
) {
    for (path, text) in texts.iter_mut().filter(|(_, text)| **text == BaseText::Absent) {
        match ignored {
            Ok(ignored) if !ignored.contains(path) => {}
            Ok(_) => *text = BaseText::Unknown("git ignores it".to_owned()),
            Err(error) => *text = BaseText::Unknown(error.to_string()),
        }
    }
}

fn deleted_since(changed: Result<Option<WorkTreeChanges>, GitError>) -> Result<Vec<RelPath>, Gap> {
    let reason = match changed {
        Ok(Some(changed)) => return Ok(changed.deleted),
        Ok(None) => "there is no git".to_owned(),
        Err(error) => error.to_string(),
    };
    Err(no_baseline(format!("deleted files cannot be listed: {reason}")))
}

/// The start commit of a loop whose checkpoint is missing.
fn first_commit(project: &Project, charter: &Charter) -> Result<BaseSource, String> {
    let Some(commit) = charter.base.clone() else {
        return Err("the checkpoint of its beginning is missing".to_owned());
    };
    match versions_at(&project.root, Some(&commit), &[]) {
        Ok(Some(_)) => Ok(BaseSource::Commit(Some(commit))),
        Ok(None) => Err("its checkpoint and the repository no longer exist".to_owned()),
        Err(error) => {
            Err(format!("its checkpoint no longer exists and its commit is unreadable: {error}"))
        }
    }
}

fn is_start_of(checkpoint: &moai_base::tree::Checkpoint, loop_id: &str) -> bool {
    checkpoint.owner == loop_id && checkpoint.name == START_CHECKPOINT
}

fn in_checkpoint(
    keeper: &CheckpointStore,
    tree: &FileTree,
    paths: &[RelPath],
) -> BTreeMap<RelPath, BaseText> {
    let mut texts = BTreeMap::new();
    let (mut held, mut names) = (Vec::new(), Vec::new());
    for path in paths {
        let text = match (tree.nodes.get(path), tree.omitted.get(path.as_str())) {
            (Some(node), _) if node.kind == FileKind::Link => {
                BaseText::Unknown("it was a symbolic link".to_owned())
            }
            (Some(node), _) => {
                held.push(path);
                names.push(node.content.as_str());
                continue;
            }
            (None, Some(reason)) => BaseText::Unknown(reason.clone()),
            (None, None) => BaseText::Absent,
        };
        texts.insert(path.clone(), text);
    }
    match keeper.contents(&names) {
        Ok(contents) => {
            for (path, bytes) in held.into_iter().zip(contents) {
                texts.insert(path.clone(), text_of(bytes));
            }
        }
        Err(reason) => {
            for path in held {
                texts.insert(path.clone(), BaseText::Unknown(reason.clone()));
            }
        }
    }
    texts
}

fn text_of(bytes: Vec<u8>) -> BaseText {
    if bytes.len() as u64 > SOURCE_BYTES_MAX {
        return BaseText::Unknown("it was larger than 1 MiB".to_owned());
    }
    if bytes.contains(&0) {
        return BaseText::Unknown("it was binary".to_owned());
    }
    match String::from_utf8(bytes) {
        Ok(text) => BaseText::Text(text.into()),
        Err(_) => BaseText::Unknown("it was not UTF-8".to_owned()),
    }
}

/// The commit that the changes since a revision that the user named count from, off the event loop; `None` for
/// HEAD, and without git. The error is one line for the user.
pub(crate) async fn base_of_changes(
    project: &Project,
    revision: Option<String>,
) -> Result<Option<String>, String> {
    let Some(revision) = revision else { return Ok(None) };
    let root = project.root.clone();
    match run_blocking(move || git::history::base_of_changes(&root, &revision)).await {
        Some(Ok(base)) => Ok(base),
        Some(Err(error)) => {
            let remedy = error.remedy.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
            Err(format!("nothing to compare with: {error}{remedy}"))
        }
        None => Err("internal error; see the daemon's log".to_owned()),
    }
}

/// The base of a loop, off the event loop.
pub(crate) async fn base_of_loop(
    engine: &Arc<Engine>,
    project: &Project,
    charter: &Charter,
    commit: Option<&str>,
) -> Result<WorkBase, Gap> {
    let (engine, project, charter) = (Arc::clone(engine), project.clone(), charter.clone());
    let commit = commit.map(str::to_owned);
    let base =
        run_blocking(move || WorkBase::of_loop(&engine, &project, &charter, commit.as_deref()));
    base.await
        .unwrap_or_else(|| Err(Gap::new(Cause::NoBaseline, "internal error; see the daemon's log")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(name: &str) -> RelPath {
        RelPath::parse(name).unwrap()
    }

    fn git_error() -> GitError {
        GitError { detail: "the index is damaged".to_owned(), remedy: None }
    }

    #[test]
    fn a_git_error_does_not_mean_that_nothing_was_deleted() {
        let changed = WorkTreeChanges { deleted: vec![path("a.py")], ..WorkTreeChanges::default() };
        assert_eq!(deleted_since(Ok(Some(changed))), Ok(vec![path("a.py")]));
        let detail = |changed| deleted_since(changed).unwrap_err().detail;
        assert_eq!(
            detail(Err(git_error())),
            "deleted files cannot be listed: the index is damaged"
        );
        assert_eq!(detail(Ok(None)), "deleted files cannot be listed: there is no git");
    }

    #[test]
    fn a_file_that_the_checkpoint_lacks_is_unknown_if_git_ignores_it_or_cannot_tell() {
        let texts = BTreeMap::from([
            (path("absent.py"), BaseText::Absent),
            (path("held.py"), BaseText::Text("x = 1\n".into())),
            (path("ignored.py"), BaseText::Absent),
        ]);
        let mut marked = texts.clone();
        mark_ignored(&mut marked, &Ok(BTreeSet::from([path("ignored.py")])));
        assert_eq!(marked[&path("absent.py")], BaseText::Absent);
        assert_eq!(marked[&path("ignored.py")], BaseText::Unknown("git ignores it".to_owned()));
        let mut unknown = texts.clone();
        mark_ignored(&mut unknown, &Err(git_error()));
        let reason = BaseText::Unknown("the index is damaged".to_owned());
        assert_eq!(unknown[&path("absent.py")], reason);
        assert_eq!(unknown[&path("ignored.py")], reason);
        assert_eq!(unknown[&path("held.py")], texts[&path("held.py")]);
    }
}
