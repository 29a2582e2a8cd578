//! File trees: the content hashes of all files below a root at one moment, as stored in a
//! checkpoint, and the differences between two trees.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::hash::ContentHash;
use super::path::RelPath;

/// Kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A file that its owner may execute.
    Program,
    /// A symbolic link; its content is its target.
    Link,
}

/// An entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNode {
    /// Kind of the entry.
    pub kind: FileKind,
    /// Content hash in hex.
    pub content: String,
}

/// The files below a root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileTree {
    /// Entries by path.
    pub nodes: BTreeMap<RelPath, FileNode>,
    /// Omitted entries, with the reason as a lower-case fragment. Keyed by the displayed path,
    /// because a path may not be UTF-8.
    pub omitted: BTreeMap<String, String>,
}

impl FileTree {
    /// Equal trees have equal ids; 64 hex digits.
    #[must_use]
    pub fn id(&self) -> String {
        let nodes = self.nodes.iter();
        let lines: Vec<String> = nodes
            .map(|(path, node)| format!("{:?} {} {path}\0", node.kind, node.content))
            .collect();
        ContentHash::of_bytes(lines.concat().as_bytes()).to_string()
    }

    /// The entries of either tree that differ.
    #[must_use]
    pub fn changed_paths(&self, later: &Self) -> Vec<RelPath> {
        let (before, now) = (&self.nodes, &later.nodes);
        let paths: BTreeSet<&RelPath> = before.keys().chain(now.keys()).collect();
        let changed = paths.into_iter().filter(|path| before.get(*path) != now.get(*path));
        changed.cloned().collect()
    }
}

/// A stored tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// Id of the loop.
    pub owner: String,
    /// Number of the iteration, or another name.
    pub name: String,
    /// Creation time, in seconds since the epoch.
    pub at_secs: i64,
    /// Id of the tree in the storage that holds it (git, or a folder of copies).
    pub tree_id: String,
    /// Root of the tree.
    pub root: PathBuf,
}

/// Sorts checkpoints by age, and those of one loop by iteration.
pub fn sort_checkpoints(checkpoints: &mut [Checkpoint]) {
    checkpoints.sort_by_key(|checkpoint| {
        let Checkpoint { at_secs, owner, name, .. } = checkpoint;
        let iteration: u64 = name.parse().unwrap_or(u64::MAX);
        (*at_secs, owner.clone(), iteration, name.clone())
    });
}

/// The effect of a restore on one path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestoreStep {
    Added,
    /// Its content or kind is restored.
    Changed,
    Removed,
}

impl RestoreStep {
    /// The name in JSON and texts.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Removed => "removed",
        }
    }
}

/// Steps that restore a target tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreSteps {
    /// One per path that changes.
    pub steps: BTreeMap<RelPath, RestoreStep>,
    /// Files kept although the target lacks them, because no checkpoint shows that the loop created
    /// them.
    pub kept_files: Vec<RelPath>,
    /// Unchanged paths that one of the two trees omits, with the reason.
    pub untouched: BTreeMap<String, String>,
}

/// Steps from `present` to `target`. A file that the target lacks is removed only if `made`
/// contains it, because then a later checkpoint of the same loop holds it. Any other such file
/// belongs to the user.
#[must_use]
pub fn restore_steps(
    present: &FileTree,
    target: &FileTree,
    made: &BTreeSet<RelPath>,
) -> RestoreSteps {
    let mut plan = RestoreSteps::default();
    for (path, node) in &target.nodes {
        let step = match present.nodes.get(path) {
            Some(now) if now == node => continue,
            Some(_) => RestoreStep::Changed,
            None => RestoreStep::Added,
        };
        match omission_reason(path, present, target) {
            Some(reason) => drop(plan.untouched.insert(path.to_string(), reason)),
            None => drop(plan.steps.insert(path.clone(), step)),
        }
    }
    for path in present.nodes.keys().filter(|path| !target.nodes.contains_key(*path)) {
        if let Some(reason) = omission_reason(path, present, target) {
            plan.untouched.insert(path.to_string(), reason);
        } else if made.contains(path) {
            plan.steps.insert(path.clone(), RestoreStep::Removed);
        } else {
            plan.kept_files.push(path.clone());
        }
    }
    plan
}

/// The reason why one of the two trees omits the path; `None` if neither does.
fn omission_reason(path: &RelPath, present: &FileTree, target: &FileTree) -> Option<String> {
    let text = path.as_str();
    let now = present.omitted.get(text).map(|reason| format!("not saved now: {reason}"));
    now.or_else(|| target.omitted.get(text).map(|reason| format!("not saved then: {reason}")))
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
    fn files_made_by_the_loop_are_removed_and_lost_or_changed_ones_restored() {
        let target = tree(&[("a", "1"), ("b", "1"), ("same", "1")], &[]);
        let present = tree(&[("a", "2"), ("same", "1"), ("new", "1"), ("mine", "1")], &[]);
        let plan = restore_steps(&present, &target, &BTreeSet::from([path("new"), path("a")]));
        let steps: Vec<_> = plan.steps.iter().map(|(at, step)| (at.as_str(), *step)).collect();
        assert_eq!(
            steps,
            [("a", RestoreStep::Changed), ("b", RestoreStep::Added), ("new", RestoreStep::Removed)]
        );
        assert_eq!(plan.kept_files, [path("mine")]);
        assert!(plan.untouched.is_empty());
    }

    #[test]
    fn paths_omitted_by_either_tree_are_left_alone() {
        let target = tree(&[("grew", "1")], &["shrank"]);
        let present = tree(&[("shrank", "1")], &["grew"]);
        let plan = restore_steps(&present, &target, &BTreeSet::from([path("shrank")]));
        assert!(plan.steps.is_empty() && plan.kept_files.is_empty());
        assert_eq!(plan.untouched["grew"], "not saved now: huge");
        assert_eq!(plan.untouched["shrank"], "not saved then: huge");
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
