//! Reasons why a loop was not started, with a working alternative, ready to be copied.

use std::fmt::Write as _;

use crate::{sanitized_line, sanitized_name};
use moai_base::limits::QUESTIONS_NAMED_MAX;
use moai_loops::criteria::CheckCommand;

/// The smallest rubric that a judge can work with.
const RUBRIC: &str = "\
## Judge criteria
- The change does what the task asks, and nothing else.
- Every new branch of the code has a test that fails without it.
";

/// `--until checks` in a project without checks: proposals from the project's files.
#[must_use]
pub fn no_checks(proposed: &[CheckCommand]) -> String {
    let mut text = "--until checks needs checks, and the project names none.".to_owned();
    if proposed.is_empty() {
        text.push_str(
            " Its files suggest none either: write .claude/autochecks.sh (executable; it passes \
             when it exits with 0), then start again.",
        );
        return text;
    }
    text.push_str(" Its files suggest these:");
    for command in proposed.iter().take(QUESTIONS_NAMED_MAX) {
        let _ = write!(
            text,
            "\n  {} ({})",
            sanitized_name(&command.name),
            sanitized_line(&command.why)
        );
    }
    let mut criteria: Vec<&str> =
        proposed.iter().map(|command| command.criterion.as_str()).collect();
    criteria.sort_unstable();
    criteria.dedup();
    let criteria = criteria.join(", ");
    let _ = write!(
        text,
        "\nTo have them run at every Stop, put this into .moai/config/sections/ralph.yaml and start \
         again:\n  ralph: {{loop: {{success_criteria: [{criteria}]}}}}"
    );
    text
}

/// `--mode judge` without anything to judge by: a rubric to begin with.
#[must_use]
pub fn no_rubric() -> String {
    format!(
        "--mode judge needs criteria in RUBRIC.md. Add some and start \
         again, for example:\n\n{RUBRIC}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_loops::criteria::CheckCriterion;
    use moai_loops::judge::rubric::Rubric;
    use moai_loops::samples::command;

    #[test]
    fn what_is_proposed_would_work() {
        let rubric = Rubric::parse(RUBRIC);
        assert_eq!((rubric.criteria.len(), rubric.gap), (2, None));
        assert!(no_rubric().ends_with(RUBRIC));
        let proposed = [
            command("npm test", CheckCriterion::TestPass),
            command("npm run lint", CheckCriterion::LintClean),
        ];
        let text = no_checks(&proposed);
        assert!(text.contains("\n  npm test (") && text.contains("\n  npm run lint ("), "{text}");
        assert!(text.contains("success_criteria: [lint_clean, test_pass]"), "{text}");
        assert!(no_checks(&[]).contains(".claude/autochecks.sh"));
    }
}
