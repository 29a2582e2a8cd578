//! One hook's report to the agent: parts of several origins in one context of bounded length.

use crate::agent::{EditText, truncate_text};

/// Origin of a part, the most important first: when the context is too short for all parts, the
/// least important are omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContributionOrigin {
    /// Instructions of the loop, which are given once.
    Loop,
    /// Feedback about the tool call of this hook, which is given once.
    ToolCall,
    /// Results that came after their hook had answered; the next hook can deliver them as well.
    DeferredReport,
    /// The memory of earlier sessions, which a later hook can show as well.
    Memory,
}

/// One part of a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contribution {
    pub origin: ContributionOrigin,
    /// Its text for the agent, and its line for the user.
    pub text: EditText,
}

/// A context for the agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinedContext {
    /// For the agent; empty without contributions.
    pub text: String,
    pub notice: Option<String>,
    /// Positions of the contributions without a place in the text.
    pub omitted: Vec<usize>,
}

/// Joins contributions in their order, in at most `chars_max` characters. The most important one
/// is truncated if it is too long alone; any other that does not fit is omitted.
#[must_use]
pub fn join_contributions(contributions: &[Contribution], chars_max: usize) -> JoinedContext {
    let mut by_importance: Vec<usize> = (0..contributions.len()).collect();
    by_importance.sort_by_key(|&index| contributions[index].origin);
    let mut texts: Vec<Option<String>> = vec![None; contributions.len()];
    let mut room = chars_max;
    for (rank, index) in by_importance.into_iter().enumerate() {
        let text = &contributions[index].text.text;
        let length = text.chars().count() + usize::from(rank > 0);
        if length <= room {
            room -= length;
            texts[index] = Some(text.clone());
        } else if rank == 0 {
            texts[index] = Some(truncate_text(text, chars_max, "see moai-ralph check"));
            room = 0;
        }
    }
    let mut joined = JoinedContext::default();
    let mut notices = Vec::new();
    let mut lines = Vec::new();
    for (index, text) in texts.into_iter().enumerate() {
        match text {
            Some(text) => {
                lines.push(text);
                notices.extend(contributions[index].text.notice.clone());
            }
            None => joined.omitted.push(index),
        }
    }
    joined.text = lines.join("\n");
    joined.notice = Some(notices.join("\n")).filter(|notice| !notice.is_empty());
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(origin: ContributionOrigin, text: &str) -> Contribution {
        let notice = Some(format!("notice of {}", text.chars().next().unwrap_or_default()));
        Contribution { origin, text: EditText { text: text.to_owned(), notice } }
    }

    #[test]
    fn parts_keep_their_order_and_their_notices() {
        let parts = [
            part(ContributionOrigin::DeferredReport, "late"),
            part(ContributionOrigin::ToolCall, "now"),
            part(ContributionOrigin::Loop, "task"),
        ];
        let joined = join_contributions(&parts, 100);
        assert_eq!(joined.text, "late\nnow\ntask");
        assert_eq!(joined.notice.as_deref(), Some("notice of l\nnotice of n\nnotice of t"));
        assert_eq!(joined.omitted, [0; 0]);
        assert_eq!(join_contributions(&[], 100), JoinedContext::default());
    }

    #[test]
    fn the_least_important_part_is_omitted_first_and_with_it_its_notice() {
        let parts = [
            part(ContributionOrigin::DeferredReport, "aaaaa"),
            part(ContributionOrigin::DeferredReport, "bb"),
            part(ContributionOrigin::ToolCall, "ccccc"),
            part(ContributionOrigin::Loop, "ddddd"),
        ];
        let joined = join_contributions(&parts, 14);
        assert_eq!(joined.text, "bb\nccccc\nddddd");
        assert_eq!(joined.omitted, [0]);
        assert_eq!(joined.notice.as_deref(), Some("notice of b\nnotice of c\nnotice of d"));
    }

    #[test]
    fn the_most_important_part_is_truncated_instead_of_omitted() {
        let long = "줄 하나\n".repeat(900);
        let parts = [
            part(ContributionOrigin::DeferredReport, "late"),
            part(ContributionOrigin::ToolCall, &long),
        ];
        let joined = join_contributions(&parts, 100);
        assert!(joined.text.chars().count() <= 100, "{}", joined.text);
        assert!(joined.text.ends_with("truncated: see moai-ralph check"), "{}", joined.text);
        assert_eq!(joined.omitted, [0]);
    }
}
