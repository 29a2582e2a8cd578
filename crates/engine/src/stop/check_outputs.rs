//! Code that a loop's checks generate and that git neither tracks nor ignores, such as scripts in reports. It
//! does not count as work of the loop, and it may differ after every run.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::hooks::hook_call::HookCall;
use crate::ledger::known_outputs::KnownOutputs;
use crate::restore::checkpoints::TreeSnapshot;
use moai_base::path::RelPath;
use moai_base::verdict::Gap;
use moai_loops::state::LoopState;

/// Files that the checks made in folders where git tracks nothing. A module next to the sources is part of the
/// work, regardless of its author. Without git, outputs cannot be distinguished from the work.
#[derive(Clone, Debug, Default)]
pub(crate) struct CheckOutputs {
    /// In earlier runs.
    known: BTreeSet<RelPath>,
    /// Files that tools of the session wrote: they are work, whatever the checks do with them.
    edited: BTreeSet<RelPath>,
    before: Option<Arc<FilesBeforeRun>>,
}

/// The files before the present run.
#[derive(Debug)]
struct FilesBeforeRun {
    snapshot: TreeSnapshot,
    tracked_folders: BTreeSet<String>,
}

impl FilesBeforeRun {
    fn may_be_output(&self, path: &RelPath) -> bool {
        !self.tracked_folders.is_empty()
            && !self.tracked_folders.contains(path.folder())
            && !self.snapshot.is_tracked(path)
    }
}

impl CheckOutputs {
    /// Those of the loop's earlier Stops, and those of a run that begins with these files. Files that the session
    /// wrote since are excluded.
    pub(super) fn of_loop(
        call: &HookCall<'_>,
        state: &LoopState,
        files: &Result<TreeSnapshot, Gap>,
    ) -> Self {
        let mut ledger = call.engine.ledger();
        let session = ledger.session(&call.input.session_id);
        let known = session.known_outputs.as_ref().filter(|it| it.loop_id == state.id);
        let mut known = known.map(|it| it.files.clone()).unwrap_or_default();
        let (written, _) = session.written(&call.project.root);
        let edited = session.edited(&call.project.root);
        drop(ledger);
        known.retain(|path| !written.contains(path));
        Self { known, edited, before: None }.starting_from(files)
    }

    /// The outputs of a further run that begins with these files.
    pub(super) fn starting_from(self, files: &Result<TreeSnapshot, Gap>) -> Self {
        let Ok(snapshot) = files else { return Self::default() };
        let tracked_folders = snapshot.tracked_folders().into_iter().map(str::to_owned).collect();
        let before = FilesBeforeRun { snapshot: snapshot.clone(), tracked_folders };
        let known = self.known.into_iter().filter(|path| before.may_be_output(path)).collect();
        Self { known, edited: self.edited, before: Some(Arc::new(before)) }
    }

    /// Adds files that earlier runs made.
    pub(super) fn adding(mut self, made: &BTreeSet<RelPath>) -> Self {
        self.known.extend(made.iter().cloned());
        self
    }

    /// The files of before the run that the checks wrote again: an earlier run may have made them, also one that
    /// the agent started.
    pub(super) fn rewritten(&self, now: &Result<TreeSnapshot, Gap>) -> BTreeSet<RelPath> {
        let (Some(before), Ok(now)) = (&self.before, now) else { return BTreeSet::new() };
        let is_rewritten = |path: &&RelPath| {
            let stamps = before.snapshot.stamps.of_file(path).zip(now.stamps.of_file(path));
            stamps.is_some_and(|(old, new)| new != old && !new.is_moved_since(old))
                && before.may_be_output(path)
                && !self.edited.contains(*path)
        };
        before.snapshot.tree.nodes.keys().filter(is_rewritten).cloned().collect()
    }

    /// Adds the files that the checks wrote again as they were.
    pub(super) fn add_equal(&mut self, now: &Result<TreeSnapshot, Gap>) {
        let (Some(before), Ok(files)) = (&self.before, now) else { return };
        let (old, new) = (&before.snapshot.tree.nodes, &files.tree.nodes);
        let mut equal = self.rewritten(now);
        equal.retain(|path| old.get(path) == new.get(path));
        self.known.extend(equal);
    }

    /// True if the checks created or deleted this file, which git does not track.
    pub(super) fn is_untracked_output(&self, now: &TreeSnapshot, path: &RelPath) -> bool {
        self.contains(path) && !now.is_tracked(path)
    }

    /// True if the checks created or deleted this file, provided that git does not track it.
    pub(crate) fn contains(&self, path: &RelPath) -> bool {
        let is_new = |before: &Arc<FilesBeforeRun>| {
            let tree = &before.snapshot.tree;
            !tree.nodes.contains_key(path)
                && !tree.omitted.contains_key(path.as_str())
                && before.may_be_output(path)
        };
        let is_made = self.known.contains(path) || self.before.as_ref().is_some_and(is_new);
        is_made && !self.edited.contains(path)
    }

    /// Takes those out of `files` that may be outputs, because every run left them in another form.
    pub(super) fn take_rewritten(&mut self, files: &mut Vec<RelPath>, rewritten: &[RelPath]) {
        let Some(before) = &self.before else { return };
        let is_made = |path: &RelPath| rewritten.contains(path) && before.may_be_output(path);
        self.known.extend(files.iter().filter(|path| is_made(path)).cloned());
        files.retain(|path| !self.known.contains(path) || self.edited.contains(path));
    }

    /// Keeps them for the next Stop.
    pub(super) fn keep(
        &self,
        call: &HookCall<'_>,
        state: &LoopState,
        now: &Result<TreeSnapshot, Gap>,
    ) {
        let Ok(now) = now else { return };
        let files = now
            .tree
            .nodes
            .keys()
            .filter(|path| self.is_untracked_output(now, path))
            .cloned()
            .collect();
        let outputs = KnownOutputs { loop_id: state.id.clone(), files };
        call.engine.ledger().session(&call.input.session_id).known_outputs = Some(outputs);
    }
}
