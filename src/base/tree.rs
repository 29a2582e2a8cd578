//! The files below a root at one moment, as names of contents: what a checkpoint holds, and how two
//! of them differ. Only data; who keeps the contents, and where, is not known here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::hash::ContentHash;
use super::path::RelPath;

/// What kind of entry stands under a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// One that its owner may execute.
    Program,
    /// A symbolic link; its content is the path it leads to.
    Link,
}

/// One entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNode {
    /// Its kind.
    pub kind: FileKind,
    /// The name of its content, in hex; equal names, equal bytes.
    pub content: String,
}

/// The files below a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileTree {
    /// Every entry that is held.
    pub nodes: BTreeMap<RelPath, FileNode>,
    /// What stood there and is not held, with the reason as a lower-case fragment; as shown to
    /// people, because a path may be no text.
    pub omitted: BTreeMap<String, String>,
}

impl FileTree {
    /// Equal files, equal id; 64 hex digits.
    #[must_use]
    pub fn id(&self) -> String {
        let line = |(path, node): (&RelPath, &FileNode)| {
            format!("{:?} {} {path}\0", node.kind, node.content)
        };
        let lines: String = self.nodes.iter().map(line).collect();
        ContentHash::of_bytes(lines.as_bytes()).to_string()
    }
}

/// A tree that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The loop.
    pub owner: String,
    /// The number of an iteration, or another name.
    pub name: String,
    /// When it was made, in seconds since the epoch.
    pub at_secs: i64,
    /// The id of its tree, as its keeper names trees.
    pub tree_id: String,
    /// The root whose files it holds.
    pub root: PathBuf,
}

/// Sorts checkpoints: the oldest first, those of one loop in the order they were made.
pub fn sort_checkpoints(checkpoints: &mut [Checkpoint]) {
    let number = |name: &str| name.parse::<u64>().unwrap_or(u64::MAX);
    checkpoints.sort_by_key(|it| (it.at_secs, it.owner.clone(), number(&it.name), it.name.clone()));
}

/// How one path gets from the present to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreStep {
    /// It is there again.
    Added,
    /// Its content or kind changes.
    Changed,
    /// It goes.
    Removed,
}

impl RestoreStep {
    /// The word in JSON and in texts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// What it takes to bring a target back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreSteps {
    /// One per path that changes.
    pub steps: BTreeMap<RelPath, RestoreStep>,
    /// Files that stay although the target has none: nothing shows that the loop made them.
    pub kept_files: Vec<RelPath>,
    /// Paths that stay as they are because one of the two trees does not hold them, with the reason.
    pub untouched: BTreeMap<String, String>,
}

/// The way from `present` to `target`. A file that the target has not goes only when `made` names
/// it: then a later checkpoint of the same loop holds it. Everything else is somebody's own.
#[must_use]
pub fn restore_steps(
    present: &FileTree,
    target: &FileTree,
    made: &BTreeSet<RelPath>,
) -> RestoreSteps {
    let mut way = RestoreSteps::default();
    let reason = |path: &RelPath| {
        let text = path.as_str();
        let now = present.omitted.get(text).map(|reason| format!("not saved now: {reason}"));
        now.or_else(|| target.omitted.get(text).map(|reason| format!("not saved then: {reason}")))
    };
    for (path, node) in &target.nodes {
        let step = match present.nodes.get(path) {
            Some(now) if now == node => continue,
            Some(_) => RestoreStep::Changed,
            None => RestoreStep::Added,
        };
        match reason(path) {
            Some(reason) => drop(way.untouched.insert(path.to_string(), reason)),
            None => drop(way.steps.insert(path.clone(), step)),
        }
    }
    for path in present.nodes.keys().filter(|path| !target.nodes.contains_key(*path)) {
        if let Some(reason) = reason(path) {
            way.untouched.insert(path.to_string(), reason);
        } else if made.contains(path) {
            way.steps.insert(path.clone(), RestoreStep::Removed);
        } else {
            way.kept_files.push(path.clone());
        }
    }
    way
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RelPath {
        RelPath::parse(text).unwrap()
    }

    fn tree(files: &[(&str, &str)], left_out: &[&str]) -> FileTree {
        let node = |content: &str| FileNode { kind: FileKind::File, content: content.to_owned() };
        FileTree {
            nodes: files.iter().map(|(name, content)| (path(name), node(content))).collect(),
            omitted: left_out.iter().map(|name| ((*name).to_owned(), "huge".to_owned())).collect(),
        }
    }

    #[test]
    fn what_the_loop_made_goes_and_what_it_lost_or_changed_comes_back() {
        let target = tree(&[("a", "1"), ("b", "1"), ("same", "1")], &[]);
        let present = tree(&[("a", "2"), ("same", "1"), ("new", "1"), ("mine", "1")], &[]);
        let way = restore_steps(&present, &target, &BTreeSet::from([path("new"), path("a")]));
        let steps: Vec<_> = way.steps.iter().map(|(at, step)| (at.as_str(), *step)).collect();
        assert_eq!(
            steps,
            [("a", RestoreStep::Changed), ("b", RestoreStep::Added), ("new", RestoreStep::Removed)]
        );
        assert_eq!(way.kept_files, [path("mine")]);
        assert!(way.untouched.is_empty());
    }

    #[test]
    fn what_one_of_the_two_does_not_hold_is_not_touched() {
        let target = tree(&[("grew", "1")], &["shrank"]);
        let present = tree(&[("shrank", "1")], &["grew"]);
        let way = restore_steps(&present, &target, &BTreeSet::from([path("shrank")]));
        assert!(way.steps.is_empty() && way.kept_files.is_empty());
        assert_eq!(way.untouched["grew"], "not saved now: huge");
        assert_eq!(way.untouched["shrank"], "not saved then: huge");
    }

    #[test]
    fn another_kind_with_the_same_content_is_a_change() {
        let target = tree(&[("run", "1")], &[]);
        let mut present = target.clone();
        present.nodes.get_mut(&path("run")).unwrap().kind = FileKind::Program;
        assert_eq!(
            restore_steps(&present, &target, &BTreeSet::new()).steps[&path("run")],
            RestoreStep::Changed
        );
    }
}
