//! The commits of a pipeline: uncommitted files, messages that do not fit the project's style, and
//! the commands that each commit must pass. An acceptance command must pass from the first commit
//! where it passed; a check of the project must pass at every commit.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::commit_proposal::{CommitStyle, message_faults};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    COMMIT_FILES_KEPT_MAX, COMMITS_MAX, PLAN_TITLE_CHARS_MAX, UNCOMMITTED_NAMED_MAX,
};

/// One commit since the pipeline began.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PipelineCommit {
    /// Its id in hex.
    pub id: String,
    /// The first line of its message, bounded.
    pub subject: String,
    /// Files that it changes, relative to the root; bounded.
    pub files: Vec<String>,
    /// The runs of the commands in a checkout of it; `None` before they ended.
    pub check: Option<CommitCheck>,
}

/// The runs of all commands at one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitCheck {
    /// Identifies the commands that were run.
    pub commands: String,
    /// Commands that failed, with the end of their output on one line.
    pub failed: BTreeMap<String, String>,
    /// Commands without a result, with the reason.
    pub unmeasured: BTreeMap<String, String>,
}

/// The commits and the working tree, before any command is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitSurvey {
    /// Files of the work that are in no commit, relative to the root.
    pub uncommitted: Vec<String>,
    /// The plan, if it differs from its commit only in boxes set by the engine.
    pub plan_with_boxes: Option<String>,
    /// The commits, oldest first.
    pub commits: Vec<SurveyedCommit>,
    /// The style of the project's commits.
    pub style: CommitStyle,
    /// The reason why the commits may not be the pipeline's, as a fragment.
    pub gap: Option<String>,
    /// The branch on which the pipeline began, if the work is still on it and must not be.
    pub on_first_branch: Option<String>,
}

/// A commit with its whole message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SurveyedCommit {
    pub commit: PipelineCommit,
    pub message: String,
    /// True if it has several parents.
    pub is_merge: bool,
}

/// The commits at a Stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitsReading {
    /// They are unknown, with the reason.
    Unavailable(String),
    Surveyed {
        /// Oldest first.
        commits: Vec<PipelineCommit>,
        /// Their faults.
        faults: Vec<CommitFault>,
        /// The unmeasured part.
        gap: Option<String>,
    },
}

/// A fault of the commits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommitFault {
    /// These files of the work are in no commit.
    Uncommitted {
        /// The first ones.
        files: Vec<String>,
        total: usize,
    },
    /// There are more commits than can be checked.
    TooMany,
    /// The work must be on a separate branch.
    OnFirstBranch {
        /// The branch where the pipeline began.
        branch: String,
    },
    /// A message does not fit; the text includes the commit.
    Message(String),
    /// A command fails at a commit that must pass it.
    Breaks {
        /// Short id and subject.
        commit: String,
        command: String,
        /// The end of its output.
        output: String,
    },
    /// The time of this Stop was not enough for all commits.
    Unfinished {
        /// Commits that are checked.
        checked: usize,
        /// All commits.
        total: usize,
    },
}

impl CommitFault {
    /// True for an instruction to the agent, false for a fault of one commit.
    #[must_use]
    pub fn is_task(&self) -> bool {
        !matches!(self, Self::Message(_) | Self::Breaks { .. })
    }
}

/// The acceptance commands that a commit need not pass: no commit up to it does, and the last one does.
#[must_use]
pub fn not_yet_passing<'c>(
    commits: &'c [PipelineCommit],
    at: usize,
    acceptance: &BTreeSet<String>,
) -> BTreeSet<&'c str> {
    let failing = |commit: &'c PipelineCommit| commit.check.as_ref().map(|check| &check.failed);
    let Some(here) = commits.get(at).and_then(failing) else { return BTreeSet::new() };
    let last = commits.last().and_then(|commit| commit.check.as_ref());
    let names = here.keys().filter(|name| {
        let is_new = acceptance.contains(*name)
            && commits[..at].iter().filter_map(failing).all(|failed| failed.contains_key(*name));
        let passes_later = last.is_some_and(|check| {
            !check.failed.contains_key(*name) && !check.unmeasured.contains_key(*name)
        });
        is_new && passes_later
    });
    names.map(String::as_str).collect()
}

impl PipelineCommit {
    /// A commit that was not checked yet.
    #[must_use]
    pub fn new(id: String, message: &str, mut files: Vec<String>) -> Self {
        let subject = one_line(message.lines().next().unwrap_or_default(), PLAN_TITLE_CHARS_MAX);
        files.truncate(COMMIT_FILES_KEPT_MAX);
        Self { id, subject, files, check: None }
    }

    #[must_use]
    pub fn short_id(&self) -> &str {
        self.id.get(..SHORT_ID_CHARS).unwrap_or(&self.id)
    }

    /// Short id and subject.
    #[must_use]
    pub fn named(&self) -> String {
        format!("{} ({})", self.short_id(), self.subject)
    }
}

/// Characters of a short id.
const SHORT_ID_CHARS: usize = 10;

impl CommitSurvey {
    /// The faults found before any command is run.
    #[must_use]
    pub fn faults(&self) -> Vec<CommitFault> {
        let mut faults = Vec::new();
        if let Some(branch) = &self.on_first_branch {
            faults.push(CommitFault::OnFirstBranch { branch: branch.clone() });
        }
        if !self.uncommitted.is_empty() {
            let files = self.uncommitted.iter().take(UNCOMMITTED_NAMED_MAX).cloned().collect();
            faults.push(CommitFault::Uncommitted { files, total: self.uncommitted.len() });
        }
        if self.commits.len() > COMMITS_MAX {
            faults.push(CommitFault::TooMany);
        }
        for SurveyedCommit { commit, message, is_merge } in self.commits.iter().take(COMMITS_MAX) {
            // Git writes the messages of merges.
            if !is_merge {
                let found = message_faults(message, commit.short_id(), self.style);
                faults.extend(found.into_iter().map(CommitFault::Message));
            }
        }
        faults
    }
}

/// The results of the runs for checked commits, oldest first. `acceptance` lists the commands that
/// need not pass before the commit that makes them pass. A command that fails at the last commit
/// proves nothing about the others: the same files pass in the working tree, so the command needs
/// uncommitted files, such as installed packages; it is part of the gap.
#[must_use]
pub fn run_faults(
    commits: &[PipelineCommit],
    acceptance: &BTreeSet<String>,
) -> (Vec<CommitFault>, Option<String>) {
    let Some(last) = commits.last().and_then(|commit| commit.check.as_ref()) else {
        return (Vec::new(), None);
    };
    let mut gaps: BTreeMap<&str, String> = BTreeMap::new();
    for name in last.failed.keys() {
        let reason = "passes in the work tree but not in a checkout of its commit: \
                      it needs files that are in no commit";
        gaps.insert(name, reason.to_owned());
    }
    let mut faults = Vec::new();
    let mut passed: BTreeSet<&str> = BTreeSet::new();
    for commit in commits {
        let Some(check) = &commit.check else { continue };
        for (name, reason) in &check.unmeasured {
            gaps.entry(name).or_insert_with(|| reason.clone());
        }
        for (name, output) in &check.failed {
            let must_pass = !acceptance.contains(name) || passed.contains(name.as_str());
            if must_pass && !last.failed.contains_key(name) {
                let (commit, command) = (commit.named(), name.clone());
                faults.push(CommitFault::Breaks { commit, command, output: output.clone() });
            }
        }
        let is_result = |name: &&str| {
            !check.failed.contains_key(*name) && !check.unmeasured.contains_key(*name)
        };
        passed.extend(acceptance.iter().map(String::as_str).filter(is_result));
    }
    let gap = gaps.iter().map(|(name, reason)| format!("`{name}` {reason}"));
    let gap = gap.collect::<Vec<_>>().join("; ");
    (faults, (!gap.is_empty()).then_some(gap))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commit(id: &str, failed: &[&str]) -> PipelineCommit {
        let failed = failed.iter().map(|name| ((*name).to_owned(), "1 failed".to_owned()));
        let check = CommitCheck { failed: failed.collect(), ..CommitCheck::default() };
        PipelineCommit { check: Some(check), ..PipelineCommit::new(id.into(), "auth: x", vec![]) }
    }

    fn broken(commits: &[PipelineCommit]) -> Vec<String> {
        let acceptance = ["one", "two"].map(str::to_owned).into();
        let (faults, gap) = run_faults(commits, &acceptance);
        assert_eq!(gap, None);
        let named = faults.iter().map(|fault| match fault {
            CommitFault::Breaks { commit, command, .. } => format!("{command} at {commit}"),
            other => panic!("{other:?}"),
        });
        named.collect()
    }

    #[test]
    fn an_acceptance_command_passes_from_the_commit_that_makes_it_pass() {
        let grows = [commit("a", &["one", "two"]), commit("b", &["two"]), commit("c", &[])];
        assert_eq!(broken(&grows), [""; 0]);
        let breaks = [commit("a", &["two"]), commit("b", &["one"]), commit("c", &[])];
        assert_eq!(broken(&breaks), ["one at b (auth: x)"]);
    }

    #[test]
    fn a_command_that_a_later_commit_makes_pass_is_no_fault_of_an_earlier_one() {
        let acceptance = ["one", "two"].map(str::to_owned).into();
        let commits =
            [commit("a", &["one", "two", "build"]), commit("b", &["two"]), commit("c", &[])];
        let named = |at: usize| -> Vec<&str> {
            not_yet_passing(&commits, at, &acceptance).into_iter().collect()
        };
        assert_eq!([named(0), named(1), named(2)], [vec!["one", "two"], vec!["two"], vec![]]);
        let again = [commit("a", &[]), commit("b", &["one"]), commit("c", &[])];
        assert!(not_yet_passing(&again, 1, &acceptance).is_empty());
    }

    #[test]
    fn a_check_of_the_project_passes_at_every_commit() {
        let commits = [commit("a", &["build", "two"]), commit("b", &[])];
        assert_eq!(broken(&commits), ["build at a (auth: x)"]);
    }

    #[test]
    fn what_fails_at_the_last_commit_needs_files_without_a_commit_and_is_a_gap() {
        let commits = [commit("a", &["build"]), commit("b", &["build"])];
        let (faults, gap) = run_faults(&commits, &BTreeSet::new());
        assert_eq!(faults, []);
        assert!(gap.is_some_and(|gap| gap.starts_with("`build` passes in the work tree")));
        assert_eq!(run_faults(&[], &BTreeSet::new()), (Vec::new(), None));
        let mut unmeasured = commit("a", &[]);
        if let Some(check) = &mut unmeasured.check {
            check.unmeasured.insert("one".to_owned(), "no answer".to_owned());
        }
        let (faults, gap) = run_faults(&[unmeasured, commit("b", &[])], &BTreeSet::new());
        assert_eq!((faults, gap.as_deref()), (Vec::new(), Some("`one` no answer")));
    }

    #[test]
    fn a_survey_names_what_is_not_committed_and_messages_that_do_not_fit() {
        let surveyed = |id: &str, message: &str| SurveyedCommit {
            commit: commit(id, &[]),
            message: message.to_owned(),
            is_merge: false,
        };
        let message = "Merge branch 'x' into some very long name.";
        let merge = SurveyedCommit { is_merge: true, ..surveyed("a1", message) };
        let wrong = surveyed("b2", "Add a thing.");
        let survey = CommitSurvey {
            gap: None,
            plan_with_boxes: None,
            uncommitted: (0..30).map(|number| format!("f{number}")).collect(),
            commits: vec![merge, wrong],
            style: CommitStyle::Area,
            on_first_branch: Some("main".to_owned()),
        };
        let faults = survey.faults();
        assert_eq!(faults[0], CommitFault::OnFirstBranch { branch: "main".to_owned() });
        let CommitFault::Uncommitted { files, total } = &faults[1] else { panic!("{faults:?}") };
        assert_eq!((files.len(), *total), (UNCOMMITTED_NAMED_MAX, 30));
        let messages = &faults[2..];
        assert_eq!(messages.len(), 2, "the full stop and the missing area: {messages:?}");
    }
}
