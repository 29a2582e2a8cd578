//! Codes that were shown at terminals and not answered yet.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use moai_base::limits::{CODE_ANSWER_MS_MAX, CODE_QUESTIONS_MAX};

/// A code that was shown at a terminal.
#[derive(Debug)]
struct CodeQuestion {
    /// The object of the acceptance.
    subject: String,
    terminal: PathBuf,
    code: String,
    asked: Instant,
}

/// The open questions; see the module.
#[derive(Debug, Default)]
pub(crate) struct CodeQuestions(Vec<CodeQuestion>);

impl CodeQuestions {
    /// Records a question; `false` if too many are open. It replaces an abandoned one of its terminal, which
    /// shows one at a time.
    pub(crate) fn ask(&mut self, subject: &str, terminal: &Path, code: String) -> bool {
        self.drop_old();
        self.0.retain(|question| question.terminal != terminal);
        if self.0.len() >= CODE_QUESTIONS_MAX {
            return false;
        }
        let (subject, terminal) = (subject.to_owned(), terminal.to_path_buf());
        self.0.push(CodeQuestion { subject, terminal, code, asked: Instant::now() });
        true
    }

    /// True if this is the code that was shown at the terminal for the subject. A question takes one answer.
    pub(crate) fn answer(&mut self, subject: &str, terminal: &Path, code: &str) -> bool {
        self.drop_old();
        let asked = self.0.iter().position(|it| it.subject == subject && it.terminal == terminal);
        let question = asked.map(|position| self.0.remove(position));
        question.is_some_and(|question| question.code.eq_ignore_ascii_case(code.trim()))
    }

    fn drop_old(&mut self) {
        let limit = Duration::from_millis(CODE_ANSWER_MS_MAX);
        self.0.retain(|question| question.asked.elapsed() < limit);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_counts_once_for_its_subject_and_terminal() {
        let mut questions = CodeQuestions::default();
        let (here, there) = (Path::new("/dev/pts/1"), Path::new("/dev/pts/2"));
        assert!(questions.ask("a", here, "QRS234".to_owned()));
        assert!(!questions.answer("a", there, "QRS234"));
        assert!(!questions.answer("b", here, "QRS234"));
        assert!(questions.answer("a", here, " qrs234\n"));
        assert!(!questions.answer("a", here, "QRS234"), "it was answered");
        assert!(questions.ask("a", here, "QRS234".to_owned()));
        assert!(!questions.answer("a", here, "wrong"));
        assert!(!questions.answer("a", here, "QRS234"), "one try");
        for number in 0..CODE_QUESTIONS_MAX {
            let terminal = PathBuf::from(format!("/dev/pts/{number}"));
            assert!(questions.ask("a", &terminal, "QRS234".to_owned()));
        }
        assert!(!questions.ask("a", Path::new("/dev/pts/one-more"), "QRS234".to_owned()));
    }

    #[test]
    fn a_new_question_replaces_an_abandoned_one_of_its_terminal() {
        let mut questions = CodeQuestions::default();
        let (here, there) = (Path::new("/dev/pts/1"), Path::new("/dev/pts/2"));
        assert!(questions.ask("a", here, "OLD234".to_owned()));
        assert!(questions.ask("a", there, "THERE2".to_owned()));
        assert!(questions.ask("a", here, "NEW234".to_owned()));
        assert!(questions.answer("a", here, "NEW234"));
        assert!(!questions.answer("a", here, "OLD234"));
        assert!(questions.answer("a", there, "THERE2"));
    }
}
