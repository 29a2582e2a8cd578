//! Success criteria of a loop and the project's own commands that answer them.

pub mod command_line;
pub mod counts;
pub mod error_lines;
pub mod propose;

use crate::named_enum::named_variants;
use moai_base::foreign_text::one_line;
use moai_base::limits::GAP_CHARS_MAX;
use moai_base::verdict::{Cause, Gap};

/// A criterion that a loop may require in addition to its sensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckCriterion {
    /// The tests pass, and at least one ran.
    TestPass,
    /// The project builds.
    BuildSuccess,
    /// The linter reports nothing.
    LintClean,
    /// The type checker reports nothing.
    TypeCheck,
    /// A command of the project of no other kind.
    Custom,
    /// The agent claims completion; no command measures this.
    Marker,
}

named_variants!(CheckCriterion {
    TestPass: "test_pass",
    BuildSuccess: "build_success",
    LintClean: "lint_clean",
    TypeCheck: "type_check",
    Custom: "custom",
    Marker: "marker",
});

impl CheckCriterion {
    /// All names, for the message about an unknown one.
    #[must_use]
    pub fn words() -> String {
        Self::NAMES.map(|row| row.1).join(", ")
    }
}

/// One command that answers a criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckCommand {
    /// Its name for people: `npm test`.
    pub name: String,
    /// The criterion that its success meets.
    pub criterion: CheckCriterion,
    /// Program and arguments; never empty, and never passed to a shell.
    pub argv: Vec<String>,
    /// Its folder relative to the root; empty for the root.
    pub folder: String,
    /// Time limit in seconds; `None` for the option's.
    pub timeout_secs: Option<u64>,
    /// The file that names it or suggests it, relative to the root.
    pub source: String,
    /// The reason why it runs, as a fragment for people: `package.json has a script test`.
    pub why: String,
}

/// A required criterion without a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriterionGap {
    /// The criterion's name, or that of a command that cannot run.
    pub name: String,
    /// The reason why nothing measures it.
    pub gap: Gap,
}

/// Which of the project's checks a Stop runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckScope {
    /// The checks required by options, `RUBRIC.md` and `.claude/autochecks.sh`.
    Configured,
    /// These; if there are none, the tests and the build that the project's files suggest.
    Proposed,
}

/// The checks of a Stop.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckPlan {
    /// The commands, in this order.
    pub commands: Vec<CheckCommand>,
    /// Criteria that stay unmeasured.
    pub unanswered: Vec<CriterionGap>,
}

#[derive(Clone, Copy, Debug)]
pub struct PlanSources<'a> {
    /// Required criteria (`loop.success_criteria`).
    pub criteria: &'a [CheckCriterion],
    /// The user's commands (`loop.checks`); all of them run.
    pub own: &'a [CheckCommand],
    /// The commands of `RUBRIC.md` as written; all of them run.
    pub rubric: &'a [String],
    /// Commands suggested by the project's files; run only for a criterion without another command.
    pub proposed: &'a [CheckCommand],
    /// True if `.claude/autochecks.sh` exists, which answers [`CheckCriterion::Custom`].
    pub has_autochecks: bool,
    /// Decides if suggested commands run even when nothing requires them.
    pub scope: CheckScope,
}

/// The suggested criteria of a project that requires none. Linters and type checkers are not among
/// them: their commands report on the whole project with all its older findings, and the language
/// servers report on the changed files.
const PROPOSED_BY_DEFAULT: [CheckCriterion; 2] =
    [CheckCriterion::TestPass, CheckCriterion::BuildSuccess];

impl PlanSources<'_> {
    /// True if the suggestions apply because the project requires nothing.
    #[must_use]
    pub fn uses_proposals(&self) -> bool {
        let requires_nothing = self.own.is_empty()
            && self.rubric.is_empty()
            && !self.has_autochecks
            && self.criteria.iter().all(|criterion| *criterion == CheckCriterion::Marker);
        requires_nothing && self.scope == CheckScope::Proposed
    }
}

impl CheckCommand {
    /// True if it is suggested by the project's files only.
    #[must_use]
    pub fn is_proposed(&self) -> bool {
        self.source != OPTIONS && self.source != RUBRIC && !self.is_acceptance()
    }

    /// True if it accepts a TODO of an approved plan.
    #[must_use]
    pub fn is_acceptance(&self) -> bool {
        self.source.starts_with(SPECS_FOLDER)
    }
}

/// The source shown for commands from options.
pub const OPTIONS: &str = ".moai/config/sections/ralph.yaml";

/// The file of the rubric, below the root.
pub const RUBRIC: &str = "RUBRIC.md";
/// The folder of specifications and their plans, below the root.
pub const SPECS_FOLDER: &str = ".moai/specs";
/// The project's own checks as one script, below the root, as in the gulf-loop format.
pub const AUTOCHECKS: &str = ".claude/autochecks.sh";

/// The plan of a Stop for these sources. A criterion without a command is unmeasured, never passed.
#[must_use]
pub fn plan_checks(sources: &PlanSources<'_>) -> CheckPlan {
    let mut plan = CheckPlan { commands: sources.own.to_vec(), unanswered: Vec::new() };
    for line in sources.rubric {
        let name = one_line(line, GAP_CHARS_MAX);
        match command_line::split_command_line(line) {
            Ok(argv) => plan.commands.push(CheckCommand {
                name,
                criterion: CheckCriterion::Custom,
                argv,
                folder: String::new(),
                timeout_secs: None,
                source: RUBRIC.to_owned(),
                why: "a check of RUBRIC.md".to_owned(),
            }),
            Err(error) => {
                let gap = Gap::new(Cause::Refused, error.to_string());
                plan.unanswered.push(CriterionGap { name, gap });
            }
        }
    }
    let own_count = plan.commands.len();
    let mut required = sources.criteria.to_vec();
    required.sort();
    required.dedup();
    for criterion in required {
        let is_of = |command: &&CheckCommand| command.criterion == criterion;
        let is_answered = plan.commands[..own_count].iter().any(|command| is_of(&command));
        let found: Vec<_> = sources.proposed.iter().filter(is_of).cloned().collect();
        match criterion {
            CheckCriterion::Marker => {}
            CheckCriterion::Custom if sources.has_autochecks => {}
            _ if is_answered => {}
            _ if found.is_empty() => plan.unanswered.push(unknown_criterion(criterion)),
            _ => plan.commands.extend(found),
        }
    }
    if sources.uses_proposals() {
        plan.commands.extend(
            sources
                .proposed
                .iter()
                .filter(|command| PROPOSED_BY_DEFAULT.contains(&command.criterion))
                .cloned(),
        );
    }
    plan.deduplicate();
    plan
}

/// Criteria for which the project's files suggest a command and that the plan does not answer.
#[must_use]
pub fn unrequested_criteria(plan: &CheckPlan, proposed: &[CheckCommand]) -> Vec<CheckCriterion> {
    let is_planned = |criterion: CheckCriterion| {
        let is_answered = plan.commands.iter().any(|command| command.criterion == criterion);
        is_answered || plan.unanswered.iter().any(|one| one.name == criterion.as_str())
    };
    let mut missing: Vec<CheckCriterion> =
        proposed.iter().map(|command| command.criterion).collect();
    missing.sort();
    missing.dedup();
    missing.retain(|criterion| !is_planned(*criterion));
    missing
}

/// Name of the gap of [`missing_test_command`].
pub const UNRUN_TESTS: &str = "tests";

/// The gap for tests without a command that runs them; `test` is one of the tests.
#[must_use]
pub fn missing_test_command(test: &str, why: &str) -> CriterionGap {
    let test = one_line(test, GAP_CHARS_MAX / 2);
    let gap = Gap::new(Cause::NoCheck, format!("{test} is a test, but {why}"))
        .with_remedy("name the command under loop.checks with kind: test_pass");
    CriterionGap { name: UNRUN_TESTS.to_owned(), gap }
}

fn unknown_criterion(criterion: CheckCriterion) -> CriterionGap {
    let name = criterion.as_str().to_owned();
    let gap = Gap::new(Cause::NoTool, format!("no command is known for {name}"))
        .with_remedy(format!("name one under loop.checks with kind: {name}"));
    CriterionGap { name, gap }
}

impl CheckPlan {
    /// The plan with these commands before its own; a command that is there twice runs once.
    #[must_use]
    pub fn preceded_by(mut self, commands: Vec<CheckCommand>) -> Self {
        self.commands.splice(0..0, commands);
        self.deduplicate();
        self
    }

    /// True if a command runs the tests.
    #[must_use]
    pub fn runs_tests(&self) -> bool {
        self.commands.iter().any(|command| command.criterion == CheckCriterion::TestPass)
    }

    /// Drops duplicate commands and gives the others unique names, because readings are
    /// distinguished by name.
    fn deduplicate(&mut self) {
        let mut kept: Vec<CheckCommand> = Vec::new();
        for mut command in self.commands.drain(..) {
            if kept.iter().any(|one| one.argv == command.argv && one.folder == command.folder) {
                continue;
            }
            let plain = command.name.clone();
            let mut number = 2;
            while kept.iter().any(|one| one.name == command.name) {
                command.name = format!("{plain} ({number})");
                number += 1;
            }
            kept.push(command);
        }
        self.commands = kept;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::command;

    const NOTHING: PlanSources<'static> = PlanSources {
        criteria: &[],
        own: &[],
        rubric: &[],
        proposed: &[],
        has_autochecks: false,
        scope: CheckScope::Configured,
    };

    fn check(sources: &PlanSources<'_>, commands: &[&str], unanswered: &[&str]) {
        let plan = plan_checks(sources);
        let names: Vec<_> = plan.commands.iter().map(|one| one.name.as_str()).collect();
        let missing: Vec<_> = plan.unanswered.iter().map(|one| one.name.as_str()).collect();
        assert_eq!((names.as_slice(), missing.as_slice()), (commands, unanswered));
    }

    #[test]
    fn a_configured_command_wins_over_a_proposed_one_and_without_a_command_the_criterion_is_unmeasured()
     {
        let own = [command("make check", CheckCriterion::TestPass)];
        let proposed = [
            command("npm test", CheckCriterion::TestPass),
            command("npm run lint", CheckCriterion::LintClean),
        ];
        let criteria =
            [CheckCriterion::LintClean, CheckCriterion::TestPass, CheckCriterion::TypeCheck];
        let all = PlanSources { criteria: &criteria, own: &own, proposed: &proposed, ..NOTHING };
        check(&all, &["make check", "npm run lint"], &["type_check"]);
        check(&PlanSources { own: &[], ..all }, &["npm test", "npm run lint"], &["type_check"]);
        check(
            &PlanSources { proposed: &[], ..all },
            &["make check"],
            &["lint_clean", "type_check"],
        );
        // Suggestions that nothing requires do not run.
        check(&PlanSources { proposed: &proposed, ..NOTHING }, &[], &[]);
        let gap = plan_checks(&all).unanswered.remove(0).gap;
        assert_eq!(gap.cause, Cause::NoTool);
    }

    #[test]
    fn unrequested_criteria_with_a_command_are_listed() {
        let proposed = [
            command("npm test", CheckCriterion::TestPass),
            command("npm run build", CheckCriterion::BuildSuccess),
        ];
        let own = [command("make check", CheckCriterion::TestPass)];
        let plan = plan_checks(&PlanSources { own: &own, proposed: &proposed, ..NOTHING });
        assert_eq!(unrequested_criteria(&plan, &proposed), [CheckCriterion::BuildSuccess]);
        let criteria = [CheckCriterion::BuildSuccess];
        let both = plan_checks(&PlanSources {
            criteria: &criteria,
            own: &own,
            proposed: &proposed,
            ..NOTHING
        });
        assert_eq!(unrequested_criteria(&both, &proposed), []);
    }

    #[test]
    fn without_configured_checks_the_proposed_tests_and_build_run() {
        let proposed = [
            command("npm test", CheckCriterion::TestPass),
            command("npm run build", CheckCriterion::BuildSuccess),
            command("npm run lint", CheckCriterion::LintClean),
        ];
        let own = [command("make check", CheckCriterion::LintClean)];
        let rubric = ["make smoke".to_owned()];
        let open = PlanSources { proposed: &proposed, scope: CheckScope::Proposed, ..NOTHING };
        check(&open, &["npm test", "npm run build"], &[]);
        check(
            &PlanSources { criteria: &[CheckCriterion::Marker], ..open },
            &["npm test", "npm run build"],
            &[],
        );
        // A required command replaces all suggested ones.
        check(&PlanSources { own: &own, ..open }, &["make check"], &[]);
        check(&PlanSources { rubric: &rubric, ..open }, &["make smoke"], &[]);
        check(&PlanSources { has_autochecks: true, ..open }, &[], &[]);
        check(
            &PlanSources { criteria: &[CheckCriterion::LintClean], ..open },
            &["npm run lint"],
            &[],
        );
        check(&PlanSources { scope: CheckScope::Configured, ..open }, &[], &[]);
    }

    #[test]
    fn custom_is_answered_by_the_script_or_a_check_and_the_marker_by_no_command() {
        let criteria = [CheckCriterion::Custom, CheckCriterion::Marker];
        let sources = PlanSources { criteria: &criteria, ..NOTHING };
        check(&sources, &[], &["custom"]);
        check(&PlanSources { has_autochecks: true, ..sources }, &[], &[]);
        let rubric = ["node -e \"run('a b')\"".to_owned()];
        check(&PlanSources { rubric: &rubric, ..sources }, &["node -e \"run('a b')\""], &[]);
        let plan = plan_checks(&PlanSources { rubric: &rubric, ..sources });
        assert_eq!(plan.commands[0].argv, ["node", "-e", "run('a b')"]);
    }

    #[test]
    fn a_line_that_needs_a_shell_is_unmeasured_and_the_same_command_is_run_once() {
        let rubric = ["npm test && npm run lint", "npm test", "a 'b c'"].map(str::to_owned);
        let own = [
            command("npm test", CheckCriterion::TestPass),
            command("a 'b c'", CheckCriterion::Custom),
        ];
        let names = ["npm test", "a 'b c'", "a 'b c' (2)"];
        check(
            &PlanSources { own: &own, rubric: &rubric, ..NOTHING },
            &names,
            &["npm test && npm run lint"],
        );
    }
}
