//! The style of a project's commits, from the subjects of its history.

use moai_base::limits::COMMIT_STYLE_SUBJECTS_MIN;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitStyle {
    /// `feat: …`, `fix(auth)!: …`: Conventional Commits.
    Conventional,
    /// `area: …`
    Area,
    /// No common prefix.
    Free,
}

/// Types of Conventional Commits.
const TYPES: [&str; 12] = [
    "feat", "fix", "docs", "style", "refactor", "perf", "test", "build", "ci", "chore", "revert",
    "wip",
];
/// Minimum share of subjects in a style, in percent.
const STYLE_PERCENT_MIN: usize = 60;
/// Longest prefix of a subject, in characters; a longer text before a colon is a sentence.
const PREFIX_CHARS_MAX: usize = 30;

impl CommitStyle {
    /// The style of most subjects. A short history has no style. Merges are ignored.
    #[must_use]
    pub fn of_subjects(subjects: &[String]) -> Self {
        let own: Vec<&String> = subjects.iter().filter(|it| !it.starts_with("Merge ")).collect();
        if own.len() < COMMIT_STYLE_SUBJECTS_MIN {
            return Self::Free;
        }
        let is_most = |count: usize| count * 100 >= own.len() * STYLE_PERCENT_MIN;
        if is_most(own.iter().filter(|subject| is_conventional(subject)).count()) {
            Self::Conventional
        } else if is_most(own.iter().filter(|subject| prefix(subject).is_some()).count()) {
            Self::Area
        } else {
            Self::Free
        }
    }

    /// The reason why a subject does not fit, as a fragment.
    pub(super) fn objection(self, subject: &str) -> Option<&'static str> {
        match self {
            Self::Conventional if !is_conventional(subject) => {
                Some("does not begin with a type, such as `feat:`, as the project's commits do")
            }
            Self::Area if prefix(subject).is_none() => {
                Some("does not begin with an area and a colon, as the project's commits do")
            }
            _ => None,
        }
    }
}

/// The words before the first colon, if they are a prefix.
fn prefix(subject: &str) -> Option<&str> {
    let (prefix, rest) = subject.split_once(": ")?;
    let is_name = !prefix.is_empty()
        && prefix.chars().count() <= PREFIX_CHARS_MAX
        && prefix.split(' ').count() <= 2;
    (is_name && !rest.trim().is_empty()).then_some(prefix)
}

fn is_conventional(subject: &str) -> bool {
    let Some(prefix) = prefix(subject) else { return false };
    let bare = prefix.trim_end_matches('!');
    let kind = bare.split('(').next().unwrap_or(bare);
    TYPES.contains(&kind) && (kind.len() == bare.len() || bare.ends_with(')'))
}
