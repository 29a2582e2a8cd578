//! The observations that a session was shown, and the language of its user.

use std::collections::BTreeSet;

use moai_base::limits::SHOWN_ROWS_MAX;
use moai_loops::framework::{MessageLanguage, language_of};
use moai_memory::database::Injection;

/// The part of a session's state that concerns the memory.
#[derive(Debug, Default)]
pub(crate) struct SessionRecall {
    /// The language of the user's last prompt in a language.
    language: Option<MessageLanguage>,
    /// True if the session has its record of earlier sessions, or needs none.
    pub(crate) has_record: bool,
    shown: BTreeSet<i64>,
    injected_tokens: usize,
}

impl SessionRecall {
    /// Takes the language of a prompt; one without words, such as `2`, changes nothing.
    pub(crate) fn learn_language(&mut self, prompt: &str) {
        if prompt.chars().any(char::is_alphabetic) {
            self.language = Some(language_of(prompt));
        }
    }

    pub(crate) fn language(&self) -> Option<MessageLanguage> {
        self.language
    }

    /// True if an observation was shown since the host's last compaction.
    pub(crate) fn is_shown(&self, row: i64) -> bool {
        self.shown.contains(&row)
    }

    /// Sum of the tokens of all injections.
    pub(crate) fn injected_tokens(&self) -> usize {
        self.injected_tokens
    }

    /// Records the observations in a reply.
    pub(crate) fn add_shown(&mut self, injections: &[Injection]) {
        for injection in injections {
            self.injected_tokens = self.injected_tokens.saturating_add(injection.tokens);
            if self.shown.len() < SHOWN_ROWS_MAX {
                self.shown.insert(injection.row);
            }
        }
    }

    /// Removes the observations of an undelivered reply.
    pub(crate) fn remove_shown(&mut self, injections: &[Injection]) {
        for injection in injections {
            self.injected_tokens = self.injected_tokens.saturating_sub(injection.tokens);
            self.shown.remove(&injection.row);
        }
    }

    /// The host has compacted the session: the agent no longer sees earlier observations.
    pub(crate) fn forget_shown(&mut self) {
        self.shown.clear();
        self.has_record = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_memory::budget::InjectionEvent;

    #[test]
    fn what_was_shown_is_forgotten_when_the_host_shortens_the_session() {
        let mut recall = SessionRecall { has_record: true, ..SessionRecall::default() };
        let injection = Injection {
            session: "s".to_owned(),
            row: 4,
            at_ms: 1,
            event: InjectionEvent::Prompt,
            tokens: 30,
        };
        recall.add_shown(&[injection]);
        assert!(recall.is_shown(4) && !recall.is_shown(5));
        recall.forget_shown();
        assert!(!recall.is_shown(4) && !recall.has_record);
        assert_eq!(recall.injected_tokens(), 30, "they were spent");
    }

    #[test]
    fn a_prompt_without_words_keeps_the_language() {
        let mut recall = SessionRecall::default();
        assert_eq!(recall.language(), None);
        recall.learn_language("로그인을 고쳐줘");
        recall.learn_language("2");
        assert_eq!(recall.language(), Some(MessageLanguage::Korean));
        recall.learn_language("now in English please");
        assert_eq!(recall.language(), Some(MessageLanguage::English));
    }
}
