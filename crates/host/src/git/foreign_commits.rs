//! Finds the latest commit of the base branch, made elsewhere, that a branch has merged or was rebased onto.
//! Only certain cases count: a commit made in this worktree is never foreign, wherever it was moved later,
//! and without a complete reflog nothing is certain.

use std::collections::BTreeSet;
use std::path::Path;

use git2::{Oid, Reflog, Repository, Sort};

use super::branches::branch_ref;
use super::{GitError, needed, unreadable_repository};
use moai_base::limits::{FOREIGN_COMMITS_MAX, REFLOG_ENTRIES_MAX};

/// Prefix of a reflog message for a rebase onto the commit whose id follows; its commits were made
/// elsewhere.
pub const REBASED_ONTO: &str = "moai-ralph rebase onto ";

/// Ref of a remote branch that a merge fetched, separate from the refs of the user's own fetches.
#[must_use]
pub fn fetched_ref(remote: &str, branch: &str) -> String {
    format!("refs/moai-ralph/bases/{remote}/{branch}")
}

/// The commit after which changes are the branch's own: the newest commit of `base` that HEAD
/// contains if everything between `start` and it is certainly foreign, else `start`, the commit the
/// branch began with. `base` is a local branch; its state at the remote counts as well.
pub fn own_changes_base(
    root: &Path,
    start: &str,
    base: &str,
    remote: Option<&str>,
) -> Result<String, GitError> {
    let repository = needed(root)?;
    let mut names = vec![branch_ref(base)];
    if let Some(remote) = remote {
        names.push(format!("refs/remotes/{remote}/{base}"));
        names.push(fetched_ref(remote, base));
    }
    let found = newest_foreign_base(&repository, start, &names)
        .map_err(|error| unreadable_repository(root, &error))?;
    Ok(found.map_or_else(|| start.to_owned(), |commit| commit.to_string()))
}

fn newest_foreign_base(
    repository: &Repository,
    start: &str,
    names: &[String],
) -> Result<Option<Oid>, git2::Error> {
    let start = Oid::from_str(start)?;
    let head = repository.head()?.peel_to_commit()?.id();
    let mut found = None;
    let mut made = None;
    for name in names {
        let tip = repository.find_reference(name).and_then(|it| it.peel_to_commit());
        let Ok(tip) = tip.map(|tip| tip.id()) else { continue };
        let Ok(met) = repository.merge_base(head, tip) else { continue };
        let beyond = found.unwrap_or(start);
        if met == beyond || !repository.graph_descendant_of(met, beyond)? {
            continue;
        }
        if made.is_none() {
            made = Some(commits_made_here(repository, start, head)?);
        }
        // Nothing is certain without a complete reflog.
        let Some(Some(made)) = &made else { return Ok(None) };
        if is_foreign(repository, start, met, made)? {
            found = Some(met);
        }
    }
    Ok(found)
}

/// True if none of the commits between the two was made here.
fn is_foreign(
    repository: &Repository,
    start: Oid,
    met: Oid,
    made: &BTreeSet<Oid>,
) -> Result<bool, git2::Error> {
    match commits_between(repository, start, met)? {
        Some(commits) => Ok(commits.is_disjoint(made)),
        None => Ok(false),
    }
}

/// The commits since `start` that were fetched from a remote and certainly not made in this worktree.
pub(super) fn fetched_commits(
    repository: &Repository,
    start: Oid,
) -> Result<BTreeSet<Oid>, git2::Error> {
    let head = repository.head()?.peel_to_commit()?.id();
    let Some(made) = commits_made_here(repository, start, head)? else {
        return Ok(BTreeSet::new());
    };
    let mut walk = repository.revwalk()?;
    walk.push_glob("refs/remotes/*")?;
    walk.hide(start)?;
    let fetched: BTreeSet<Oid> = walk.take(FOREIGN_COMMITS_MAX).collect::<Result<_, _>>()?;
    Ok(fetched.difference(&made).copied().collect())
}

/// The commits in `from..to`; `None` if there are too many.
fn commits_between(
    repository: &Repository,
    from: Oid,
    to: Oid,
) -> Result<Option<BTreeSet<Oid>>, git2::Error> {
    let mut walk = repository.revwalk()?;
    walk.set_sorting(Sort::NONE)?;
    walk.push(to)?;
    walk.hide(from)?;
    let commits: BTreeSet<Oid> = walk.take(FOREIGN_COMMITS_MAX + 1).collect::<Result<_, _>>()?;
    Ok((commits.len() <= FOREIGN_COMMITS_MAX).then_some(commits))
}

/// The commits made in this worktree since `start`, on any branch. `None` if the reflog has a gap between
/// `start` and HEAD.
fn commits_made_here(
    repository: &Repository,
    start: Oid,
    head: Oid,
) -> Result<Option<BTreeSet<Oid>>, git2::Error> {
    let log: Reflog = repository.reflog("HEAD")?;
    let mut made = BTreeSet::new();
    let mut next = head;
    let mut has_start = false;
    // Newest first.
    for (index, entry) in log.iter().enumerate() {
        if index == REFLOG_ENTRIES_MAX {
            break;
        }
        let (old, new) = (entry.id_old(), entry.id_new());
        if new != next {
            return Ok(None);
        }
        next = old;
        has_start |= new == start;
        if old == new {
            continue;
        }
        let message = String::from_utf8_lossy(entry.message_bytes().unwrap_or_default());
        match HeadMove::from_log_message(&message) {
            HeadMove::Committed => {
                made.insert(new);
            }
            HeadMove::MovedTo => {}
            HeadMove::Rebased(onto) => match commits_between(repository, onto, new)? {
                Some(commits) => made.extend(commits),
                None => return Ok(None),
            },
        }
    }
    Ok(has_start.then_some(made))
}

/// A move of HEAD to a commit.
#[derive(Debug, PartialEq, Eq)]
enum HeadMove {
    /// It was committed.
    Committed,
    /// It existed before.
    MovedTo,
    /// It was rebased elsewhere, with other commits, onto this commit.
    Rebased(Oid),
}

impl HeadMove {
    /// Parses a reflog message as git 2.47 writes it; an unknown one counts as a commit.
    fn from_log_message(message: &str) -> Self {
        let (action, rest) = message.split_once(": ").unwrap_or((message, ""));
        let rebased = action.strip_prefix(REBASED_ONTO).and_then(|id| Oid::from_str(id).ok());
        if let Some(onto) = rebased {
            return Self::Rebased(onto);
        }
        let first = action.split(' ').next().unwrap_or_default();
        let is_step = ["(start)", "(finish)", "(abort)"].iter().any(|it| action.ends_with(it));
        let is_elsewhere = match first {
            "checkout" | "reset" => action == first && rest.starts_with("moving "),
            "merge" | "pull" if rest == "Fast-forward" => true,
            "rebase" | "pull" => is_step,
            _ => false,
        };
        if is_elsewhere { Self::MovedTo } else { Self::Committed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_to_come_from_elsewhere_was_made_here() {
        let onto = Oid::from_str(&"a".repeat(40)).unwrap();
        assert_eq!(
            HeadMove::from_log_message(&format!("{REBASED_ONTO}{onto}: updating HEAD")),
            HeadMove::Rebased(onto)
        );
        for message in [
            "checkout: moving from main to side",
            "reset: moving to main",
            "merge main: Fast-forward",
            "pull -q origin main: Fast-forward",
            "rebase (start): checkout main",
            "pull --rebase (finish): returning to refs/heads/side",
        ] {
            assert_eq!(HeadMove::from_log_message(message), HeadMove::MovedTo, "{message}");
        }
        for message in [
            "commit: merge main: Fast-forward",
            "commit (amend): reset: moving to main",
            "reset: a subject",
            "commit (merge): x",
            "rebase (pick): checkout: x",
            "rebase (continue): x",
            "merge main: Merge made by the 'ort' strategy.",
            "pull: Merge made by the 'ort' strategy.",
            "cherry-pick: x",
            "am: x",
            "moai-ralph rebase onto nothing: updating HEAD",
            "",
        ] {
            assert_eq!(HeadMove::from_log_message(message), HeadMove::Committed, "{message}");
        }
    }
}
