//! Commits proposed by an agent at the end of a pipeline, and the engine's checks before they are
//! made: every changed file in exactly one commit, messages in the project's style.

mod style;

use std::collections::BTreeMap;

use serde::Deserialize;

pub use self::style::CommitStyle;
use crate::json_object::last_object_with;
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    COMMIT_SUBJECT_CHARS_MAX, COMMITS_MAX, FAULT_QUOTE_CHARS_MAX, PLAN_TEXT_CHARS_MAX,
    WORKER_REPORT_BYTES_MAX,
};

/// The commits of a change, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitProposal {
    pub commits: Vec<ProposedCommit>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ProposedCommit {
    /// The whole message as proposed.
    pub message: String,
    /// Its files, relative to the root.
    pub files: Vec<String>,
}

/// The reason why an answer is not a proposal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommitProposalError {
    /// It has no JSON object with commits.
    #[error("the answer has no JSON object with commits")]
    Prose,
    /// It is too large to be read.
    #[error("the answer is larger than {} KiB", WORKER_REPORT_BYTES_MAX / 1024)]
    TooLarge,
    /// A field is missing or wrong.
    #[error("{0}")]
    Field(String),
}

#[derive(Deserialize)]
struct RawProposal {
    commits: Vec<ProposedCommit>,
}

impl ProposedCommit {
    /// The first line of the message.
    #[must_use]
    pub fn subject(&self) -> &str {
        self.message.lines().next().unwrap_or_default()
    }
}

impl CommitProposal {
    /// Parses the answer of an agent.
    pub fn parse(answer: &str) -> Result<Self, CommitProposalError> {
        if answer.len() > WORKER_REPORT_BYTES_MAX {
            return Err(CommitProposalError::TooLarge);
        }
        let object = last_object_with(answer, "commits").ok_or(CommitProposalError::Prose)?;
        let raw: RawProposal = serde_path_to_error::deserialize(object).map_err(|error| {
            CommitProposalError::Field(one_line(&error.to_string(), PLAN_TEXT_CHARS_MAX))
        })?;
        Ok(Self { commits: raw.commits })
    }

    /// True if a commit has this file.
    #[must_use]
    pub fn names(&self, file: &str) -> bool {
        self.commits.iter().any(|commit| commit.files.iter().any(|named| named == file))
    }

    /// The reasons why the commits cannot be made. `changed` has the paths of the change, relative
    /// to the root.
    #[must_use]
    pub fn faults(&self, changed: &[String], style: CommitStyle) -> Vec<String> {
        let mut faults = Vec::new();
        if self.commits.is_empty() {
            faults.push("there is no commit".to_owned());
        }
        if self.commits.len() > COMMITS_MAX {
            faults.push(format!("there are more than {COMMITS_MAX} commits"));
        }
        let mut owners: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, commit) in self.commits.iter().enumerate().take(COMMITS_MAX) {
            let number = at + 1;
            faults.extend(message_faults(&commit.message, &number.to_string(), style));
            if commit.files.is_empty() {
                faults.push(format!("commit {number} has no file"));
            }
            for file in &commit.files {
                let shown = one_line(file, FAULT_QUOTE_CHARS_MAX);
                if !changed.contains(file) {
                    faults.push(format!("commit {number} names {shown}, which was not changed"));
                } else if let Some(first) = owners.insert(file, number) {
                    faults.push(format!("{shown} is in commit {first} and in commit {number}"));
                }
            }
        }
        for file in changed.iter().filter(|file| !owners.contains_key(file.as_str())) {
            faults.push(format!("{} is in no commit", one_line(file, FAULT_QUOTE_CHARS_MAX)));
        }
        faults
    }
}

/// The faults of a message, as fragments after `commit` and its name.
pub(crate) fn message_faults(message: &str, commit: &str, style: CommitStyle) -> Vec<String> {
    let mut faults = Vec::new();
    let mut lines = message.lines();
    let subject = lines.next().unwrap_or_default().trim();
    if subject.is_empty() {
        return vec![format!("commit {commit} has no subject")];
    }
    if subject.chars().count() > COMMIT_SUBJECT_CHARS_MAX {
        let reason = format!("is longer than {COMMIT_SUBJECT_CHARS_MAX} characters");
        faults.push(format!("the subject of commit {commit} {reason}"));
    }
    if subject.ends_with('.') {
        faults.push(format!("the subject of commit {commit} ends with a full stop"));
    }
    if lines.next().is_some_and(|second| !second.trim().is_empty()) {
        faults.push(format!("commit {commit} has no blank line below its subject"));
    }
    if message.chars().any(|it| it.is_control() && it != '\n' && it != '\t' && it != '\r') {
        faults.push(format!("the message of commit {commit} has control characters"));
    }
    if let Some(reason) = style.objection(subject) {
        faults.push(format!("the subject of commit {commit} {reason}"));
    }
    faults
}

#[cfg(test)]
mod tests;
