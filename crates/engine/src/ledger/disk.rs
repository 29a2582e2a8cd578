//! One root's files on disk from poll to poll: when each changed, and which bytes a session
//! is known to have written. The number of the last poll that found a change is the root's epoch. Pure
//! bookkeeping.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::evidence::poll_gate::{DiskEpoch, PollLimit};
use crate::ledger::outside::OutsideStamps;
use moai_base::hash::ContentHash;
use moai_base::limits::WALK_FILES_MAX;
use moai_base::path::RelPath;
use moai_host::files::FileStamp;
use moai_lsp::session::DiskChange;

/// The watched files of a root, as one poll found them.
pub(crate) type DiskStamps = BTreeMap<RelPath, FileStamp>;

/// The history of one root's files; see the module.
#[derive(Debug, Default)]
pub(crate) struct DiskHistory {
    stamps: Arc<DiskStamps>,
    /// The epoch of each file's last change, including deleted files.
    changed_at: BTreeMap<RelPath, u64>,
    /// The epoch in which a file appeared after the first poll.
    created_at: BTreeMap<RelPath, u64>,
    /// Time of the first poll, in milliseconds since the epoch of Unix.
    first_ms: u64,
    /// When a poll found that a file was gone, in milliseconds since the epoch of Unix.
    gone_ms: BTreeMap<RelPath, u64>,
    /// The epoch after which all changes are known: that of the first poll, later than that once
    /// old changes were dropped.
    known_since: u64,
    /// The number of the last poll that found a change; 0 before the first poll.
    pub(crate) epoch: u64,
    /// The epoch up to which language servers were notified. Replies to new queries include these
    /// changes; notifications of later ones may still be on their way.
    pub(crate) announced_epoch: u64,
    /// A file of the newest change, with its epoch.
    newest: Option<(RelPath, u64)>,
    /// The epoch of the last change of any other file.
    others_at: u64,
    /// The files outside the walk that servers depend on.
    outside: Arc<OutsideStamps>,
    /// The limit that the last poll reached.
    limit: Option<PollLimit>,
    /// The bytes that a session wrote to a file with a reported tool call.
    tool_writes: BTreeMap<RelPath, ContentHash>,
}

/// The part of a poll that is outside the walk of the root.
#[derive(Debug, Default)]
pub(crate) struct OutsidePoll {
    pub(crate) stamps: Arc<OutsideStamps>,
    pub(crate) has_changes: bool,
    /// The limit that the whole poll reached.
    pub(crate) limit: Option<PollLimit>,
    /// Time of the whole poll, in milliseconds since the epoch of Unix.
    pub(crate) at_ms: u64,
}

/// The changes from one poll to the next, in the order of their paths.
pub(crate) fn disk_changes(before: &DiskStamps, now: &DiskStamps) -> Vec<(RelPath, DiskChange)> {
    let mut changes = Vec::new();
    // Both are sorted, so that one pass over both replaces a search for each of many thousand paths.
    let mut old = before.iter().peekable();
    for (path, stamp) in now {
        while let Some((deleted, _)) = old.next_if(|(old_path, _)| *old_path < path) {
            changes.push((deleted.clone(), DiskChange::Deleted));
        }
        match old.next_if(|(old_path, _)| *old_path == path) {
            None => changes.push((path.clone(), DiskChange::Created)),
            Some((_, old_stamp)) if old_stamp != stamp => {
                changes.push((path.clone(), DiskChange::Changed));
            }
            Some(_) => {}
        }
    }
    changes.extend(old.map(|(path, _)| (path.clone(), DiskChange::Deleted)));
    changes
}

impl DiskHistory {
    /// The files of the last poll; `None` before the first.
    pub(crate) fn stamps(&self) -> Option<Arc<DiskStamps>> {
        (self.epoch > 0).then(|| Arc::clone(&self.stamps))
    }

    /// Takes the result of a poll and its changes since the previous one, all as changed at the first
    /// poll. `number` must exceed that of every earlier poll of any root, because the epochs of a
    /// forgotten root must not repeat. `at_ms` is its time in milliseconds since the epoch of Unix.
    pub(crate) fn update(
        &mut self,
        now: Arc<DiskStamps>,
        changes: &[(RelPath, DiskChange)],
        number: u64,
        at_ms: u64,
    ) {
        self.stamps = now;
        if self.epoch == 0 {
            (self.known_since, self.epoch, self.others_at) = (number, number, number);
            self.first_ms = at_ms;
        } else {
            self.record_changes(changes, number, at_ms);
        }
    }

    /// Takes the other half of the same poll: the files outside the walk. Their changes count as
    /// changes of other files for every file of the root.
    pub(crate) fn update_outside(&mut self, outside: OutsidePoll, number: u64) {
        if outside.has_changes {
            (self.epoch, self.others_at, self.newest) = (number, number, None);
        }
        self.outside = outside.stamps;
        self.limit = outside.limit;
    }

    /// The files outside the walk at the last poll.
    pub(crate) fn outside(&self) -> Arc<OutsideStamps> {
        Arc::clone(&self.outside)
    }

    /// The outcome of the last poll.
    pub(crate) fn last_poll(&self) -> DiskEpoch {
        DiskEpoch { epoch: Some(self.epoch), limit: self.limit }
    }

    fn record_changes(&mut self, changes: &[(RelPath, DiskChange)], number: u64, at_ms: u64) {
        let Some((first, _)) = changes.first() else { return };
        let before = std::mem::replace(&mut self.epoch, number);
        let newest = self.newest.replace((first.clone(), self.epoch));
        if changes.len() > 1 {
            self.others_at = self.epoch;
        } else if let Some((path, at)) = newest
            && path != *first
        {
            self.others_at = at;
        }
        self.changed_at.extend(changes.iter().map(|(path, _)| (path.clone(), self.epoch)));
        for (path, change) in changes {
            match change {
                DiskChange::Created => {
                    self.gone_ms.remove(path);
                    self.created_at.insert(path.clone(), self.epoch);
                }
                DiskChange::Deleted => {
                    // If the same bytes come back, another writer put them there.
                    self.tool_writes.remove(path);
                    self.created_at.remove(path);
                    self.gone_ms.insert(path.clone(), at_ms);
                }
                DiskChange::Changed => {}
            }
        }
        let most = self.changed_at.len().max(self.created_at.len()).max(self.gone_ms.len());
        if most > WALK_FILES_MAX {
            self.changed_at.retain(|_, at| *at == self.epoch);
            self.created_at.retain(|_, at| *at == self.epoch);
            self.gone_ms.retain(|_, gone_ms| *gone_ms == at_ms);
            self.known_since = before;
        }
    }

    /// Time of the first poll, in milliseconds since the epoch of Unix; 0 before it.
    pub(crate) fn first_ms(&self) -> u64 {
        self.first_ms
    }

    /// Files that polls found gone at or after a time in milliseconds since the epoch of Unix.
    pub(crate) fn gone_since(&self, since_ms: u64) -> Vec<RelPath> {
        let gone = self.gone_ms.iter().filter(|(_, at_ms)| **at_ms >= since_ms);
        gone.map(|(path, _)| path.clone()).collect()
    }

    /// True if all changes after an epoch are known.
    pub(crate) fn covers(&self, epoch: u64) -> bool {
        epoch >= self.known_since
    }

    /// Records that language servers were notified of all changes polled so far.
    pub(crate) fn announce(&mut self) {
        self.announced_epoch = self.epoch;
    }

    /// True if language servers were notified of all changes polled so far.
    pub(crate) fn is_announced(&self) -> bool {
        self.announced_epoch == self.epoch
    }

    /// Files that changed after an epoch, including deleted ones.
    pub(crate) fn changed_since(&self, epoch: u64) -> Vec<RelPath> {
        if epoch >= self.epoch {
            return Vec::new();
        }
        let changed = self.changed_at.iter().filter(|(_, at)| **at > epoch);
        changed.map(|(path, _)| path.clone()).collect()
    }

    /// Files that appeared after an epoch.
    pub(crate) fn created_since(&self, epoch: u64) -> BTreeSet<RelPath> {
        if epoch >= self.epoch {
            return BTreeSet::new();
        }
        let created = self.created_at.iter().filter(|(_, at)| **at > epoch);
        created.map(|(path, _)| path.clone()).collect()
    }

    /// True if any file but this one changed after an epoch, as of the last poll.
    pub(crate) fn others_changed_since(&self, path: &RelPath, epoch: u64) -> bool {
        let at = match &self.newest {
            Some((newest, at)) if newest != path => *at,
            _ => self.others_at,
        };
        self.epoch == 0 || at > epoch
    }

    /// True if a file existed at the last poll.
    pub(crate) fn is_there(&self, path: &RelPath) -> bool {
        self.stamps.contains_key(path)
    }

    /// Records that a session wrote these bytes to a file and its own hook reports on them.
    pub(crate) fn set_tool_write(&mut self, path: &RelPath, hash: ContentHash) {
        self.tool_writes.insert(path.clone(), hash);
    }

    /// True if a session's own hook reports on these bytes, which are in the file now. If they are others, another
    /// program wrote them; it also writes the tool's bytes if they come back.
    pub(crate) fn is_tool_write(&mut self, path: &RelPath, hash: ContentHash) -> bool {
        let is_tool_write = self.tool_writes.get(path) == Some(&hash);
        if !is_tool_write {
            self.tool_writes.remove(path);
        }
        is_tool_write
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_host::files::stamp_files;

    struct Tree {
        folder: tempfile::TempDir,
        disk: DiskHistory,
        polls: u64,
    }

    impl Tree {
        fn path(&self, name: &str) -> RelPath {
            RelPath::below(self.folder.path(), &self.folder.path().join(name)).expect("relative")
        }

        /// Writes files (an empty text deletes), polls, and returns the epoch.
        fn write(&mut self, files: &[(&str, &str)]) -> u64 {
            for (name, text) in files {
                let path = self.folder.path().join(name);
                let done = match *text {
                    "" => std::fs::remove_file(path),
                    text => std::fs::write(path, text),
                };
                done.expect("the folder is ours");
            }
            let all = ["a", "b", "c"].map(|name| self.path(name));
            let now = stamp_files(self.folder.path(), &all);
            self.polls += 1;
            let changes = disk_changes(&self.disk.stamps, &now);
            self.disk.update(Arc::new(now), &changes, self.polls, self.polls);
            self.disk.epoch
        }
    }

    fn tree() -> Tree {
        Tree {
            folder: tempfile::tempdir().expect("a folder"),
            disk: DiskHistory::default(),
            polls: 0,
        }
    }

    #[test]
    fn changes_since_an_epoch_are_listed_and_an_unchanged_poll_keeps_the_epoch() {
        let mut tree = tree();
        let first = tree.write(&[("a", "1"), ("b", "1")]);
        assert!(tree.disk.changed_since(first).is_empty());
        assert_eq!(tree.write(&[]), first);
        let second = tree.write(&[("a", "22")]);
        tree.write(&[("b", ""), ("c", "1")]);
        let names = |tree: &Tree, epoch| -> Vec<String> {
            tree.disk.changed_since(epoch).iter().map(ToString::to_string).collect()
        };
        assert_eq!(names(&tree, first), ["a", "b", "c"]);
        assert_eq!(names(&tree, second), ["b", "c"]);
        assert!(!tree.disk.is_there(&tree.path("b")));
        let gone = |since_ms| tree.disk.gone_since(since_ms);
        assert_eq!((gone(4), gone(5)), (vec![tree.path("b")], Vec::new()));
        let created = tree.disk.created_since(first);
        assert_eq!(created.iter().map(RelPath::as_str).collect::<Vec<_>>(), ["c"]);
    }

    #[test]
    fn created_changed_and_deleted_files_are_found_wherever_they_are_in_the_order() {
        let mut tree = tree();
        let all = ["a", "b", "c"];
        tree.write(&all.map(|name| (name, "1")));
        for name in all {
            let whole = Arc::clone(&tree.disk.stamps);
            let path = tree.path(name);
            tree.write(&[(name, "")]);
            let without = Arc::clone(&tree.disk.stamps);
            assert_eq!(disk_changes(&whole, &without), [(path.clone(), DiskChange::Deleted)]);
            assert_eq!(disk_changes(&without, &whole), [(path.clone(), DiskChange::Created)]);
            tree.write(&[(name, "1")]);
            let again = &tree.disk.stamps;
            assert_eq!(disk_changes(&without, again), [(path.clone(), DiskChange::Created)]);
            assert_eq!(disk_changes(again, again), []);
            let mut changed = BTreeMap::clone(&whole);
            changed.insert(path.clone(), stamp_of_other(&whole, &path));
            assert_eq!(disk_changes(&whole, &changed), [(path, DiskChange::Changed)]);
        }
        let (whole, none) = (&tree.disk.stamps, DiskStamps::new());
        assert_eq!((disk_changes(whole, &none).len(), disk_changes(&none, whole).len()), (3, 3));
    }

    /// The stamp of a file other than this one.
    fn stamp_of_other(stamps: &DiskStamps, path: &RelPath) -> FileStamp {
        *stamps.iter().find(|(other, _)| *other != path).expect("several").1
    }

    #[test]
    fn a_change_of_another_file_differs_from_one_of_the_file_itself() {
        let mut tree = tree();
        let (a, b) = (tree.path("a"), tree.path("b"));
        let first = tree.write(&[("a", "1"), ("b", "1")]);
        assert!(!tree.disk.others_changed_since(&a, first));
        let second = tree.write(&[("a", "22")]);
        assert!(!tree.disk.others_changed_since(&a, first));
        assert!(tree.disk.others_changed_since(&b, first));
        assert!(!tree.disk.others_changed_since(&b, second));
        tree.write(&[("b", "22")]);
        assert!(tree.disk.others_changed_since(&a, second));
        tree.write(&[("b", "333")]);
        assert!(tree.disk.others_changed_since(&b, first), "a changed as well");
        assert!(!tree.disk.others_changed_since(&b, second));
        let many = tree.write(&[("a", "4444"), ("c", "1")]);
        assert!(tree.disk.others_changed_since(&a, many - 1));
        assert!(!tree.disk.others_changed_since(&a, many));
    }
    #[test]
    fn bytes_that_come_back_after_others_are_not_a_tools() {
        let mut disk = DiskHistory::default();
        let path = RelPath::parse("a").expect("relative");
        let hash = |text: &str| ContentHash::of_bytes(text.as_bytes());
        disk.set_tool_write(&path, hash("1"));
        assert!(disk.is_tool_write(&path, hash("1")) && disk.is_tool_write(&path, hash("1")));
        assert!(!disk.is_tool_write(&path, hash("2")), "another program's");
        assert!(!disk.is_tool_write(&path, hash("1")), "restored by another program");
    }
}
