//! Success criteria of a loop and the project's own commands that answer them.

pub mod command_line;
pub mod counts;
pub mod error_lines;
pub mod propose;

use crate::named_enum::named_variants;
use moai_base::limits::GAP_CHARS_MAX;
use moai_base::text::one_line;
use moai_base::verdict::{Cause, Gap};

/// What a loop may ask for beside its sensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CheckCriterion {
    /// The tests pass, and there are some.
    TestPass,
    /// It builds.
    BuildSuccess,
    /// The linter is content.
    LintClean,
    /// The types agree.
    TypeCheck,
    /// A command of the project that fits no other word.
    Custom,
    /// The agent claims completion; no command answers this.
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
    /// All words, for a message about an unknown one.
    #[must_use]
    pub fn words() -> String {
        Self::NAMES.map(|row| row.1).join(", ")
    }
}

/// One command that answers a criterion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckCommand {
    /// What people call it: `npm test`.
    pub name: String,
    /// What its success means.
    pub criterion: CheckCriterion,
    /// Program and arguments; never empty, and never read by a shell.
    pub argv: Vec<String>,
    /// Where it runs, relative to the root; empty for the root itself.
    pub folder: String,
    /// Longest run, in seconds; `None` stands for the option.
    pub timeout_secs: Option<u64>,
    /// The file that names it or made it be proposed, relative to the root.
    pub source: String,
    /// Why it is run, as a fragment for people: `package.json has a script test`.
    pub why: String,
}

/// Something asked for that no command answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriterionGap {
    /// The criterion's word, or the name of a command that cannot be run.
    pub name: String,
    /// Why nothing measures it.
    pub gap: Gap,
}

/// Which of the project's checks a Stop runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckScope {
    /// Those that options, `RUBRIC.md` and `.claude/autochecks.sh` ask for.
    Configured,
    /// The same; where nothing is asked for, the tests and the build that the files suggest.
    Proposed,
}

/// What a Stop runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckPlan {
    /// The commands, in this order.
    pub commands: Vec<CheckCommand>,
    /// What stays unmeasured.
    pub unanswered: Vec<CriterionGap>,
}

/// What a plan is made of.
#[derive(Clone, Copy, Debug)]
pub struct PlanSources<'a> {
    /// What was asked for (`loop.success_criteria`).
    pub criteria: &'a [CheckCriterion],
    /// The user's commands (`loop.checks`); all of them are run.
    pub own: &'a [CheckCommand],
    /// The commands of `RUBRIC.md`, as they are written; all of them are run.
    pub rubric: &'a [String],
    /// What the project's files suggest; run only for a criterion that nothing else answers.
    pub proposed: &'a [CheckCommand],
    /// Whether `.claude/autochecks.sh` is there, which answers [`CheckCriterion::Custom`].
    pub has_autochecks: bool,
    /// Whether proposals are run although nothing asks for them.
    pub scope: CheckScope,
}

/// What is asked of the proposals where the project asks for nothing. Linters and type checkers are
/// not: their commands speak about the whole project, with everything that was wrong before. What
/// they say about the changed files comes from the language servers.
const ASKED_BY_DEFAULT: [CheckCriterion; 2] =
    [CheckCriterion::TestPass, CheckCriterion::BuildSuccess];

impl PlanSources<'_> {
    /// Whether the proposals are asked because the project itself asks for nothing.
    #[must_use]
    pub fn asks_proposals(&self) -> bool {
        let asks_nothing = self.own.is_empty()
            && self.rubric.is_empty()
            && !self.has_autochecks
            && self.criteria.iter().all(|criterion| *criterion == CheckCriterion::Marker);
        asks_nothing && self.scope == CheckScope::Proposed
    }
}

impl CheckCommand {
    /// Whether the project's files suggest it, and nobody named it.
    #[must_use]
    pub fn is_proposed(&self) -> bool {
        self.source != OPTIONS && self.source != RUBRIC
    }
}

/// The file that commands of options are said to come from.
pub const OPTIONS: &str = ".moai/config/sections/ralph.yaml";

/// The file of the rubric, below the root.
pub const RUBRIC: &str = "RUBRIC.md";
/// The project's own checks as one script, below the root, as in the gulf-loop format.
pub const AUTOCHECKS: &str = ".claude/autochecks.sh";

/// What a Stop runs for these sources. A criterion without a command is unmeasured, never passed.
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
    let mut wanted = sources.criteria.to_vec();
    wanted.sort();
    wanted.dedup();
    for criterion in wanted {
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
    if sources.asks_proposals() {
        plan.commands.extend(
            sources
                .proposed
                .iter()
                .filter(|one| ASKED_BY_DEFAULT.contains(&one.criterion))
                .cloned(),
        );
    }
    plan.deduplicate();
    plan
}

/// Criteria that the project's files suggest a command for, and that nothing in the plan answers.
#[must_use]
pub fn unrequested_criteria(plan: &CheckPlan, proposed: &[CheckCommand]) -> Vec<CheckCriterion> {
    let is_asked = |criterion: CheckCriterion| {
        let is_answered = plan.commands.iter().any(|command| command.criterion == criterion);
        is_answered || plan.unanswered.iter().any(|one| one.name == criterion.as_str())
    };
    let mut missing: Vec<CheckCriterion> =
        proposed.iter().map(|command| command.criterion).collect();
    missing.sort();
    missing.dedup();
    missing.retain(|criterion| !is_asked(*criterion));
    missing
}

/// Tests without a command that runs them; `test` is one of them.
#[must_use]
pub fn missing_test_command(test: &str, why: &str) -> CriterionGap {
    let test = one_line(test, GAP_CHARS_MAX / 2);
    let gap = Gap::new(Cause::NoCheck, format!("{test} is a test, but {why}"))
        .with_remedy("name the command under loop.checks with kind: test_pass");
    CriterionGap { name: "tests".to_owned(), gap }
}

fn unknown_criterion(criterion: CheckCriterion) -> CriterionGap {
    let name = criterion.as_str().to_owned();
    let gap = Gap::new(Cause::NoTool, format!("no command is known for {name}"))
        .with_remedy(format!("name one under loop.checks with kind: {name}"));
    CriterionGap { name, gap }
}

impl CheckPlan {
    /// Whether a command runs the tests.
    #[must_use]
    pub fn runs_tests(&self) -> bool {
        self.commands.iter().any(|command| command.criterion == CheckCriterion::TestPass)
    }

    /// Each command once, and each name once: readings are told apart by it.
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
    fn a_criterion_takes_the_users_command_before_a_proposed_one_and_is_unmeasured_without_any() {
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
        // What nobody asked for is not run.
        check(&PlanSources { proposed: &proposed, ..NOTHING }, &[], &[]);
        let gap = plan_checks(&all).unanswered.remove(0).gap;
        assert_eq!(gap.cause, Cause::NoTool);
    }

    #[test]
    fn what_the_project_could_be_asked_and_was_not_is_known() {
        let proposed = [
            command("npm test", CheckCriterion::TestPass),
            command("npm run build", CheckCriterion::BuildSuccess),
        ];
        let own = [command("make check", CheckCriterion::TestPass)];
        let asked = plan_checks(&PlanSources { own: &own, proposed: &proposed, ..NOTHING });
        assert_eq!(unrequested_criteria(&asked, &proposed), [CheckCriterion::BuildSuccess]);
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
    fn where_the_project_asks_for_nothing_its_tests_and_its_build_are_asked_for() {
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
        // What the user asks for takes the place of all that is merely suggested.
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
        let asked = PlanSources { criteria: &criteria, ..NOTHING };
        check(&asked, &[], &["custom"]);
        check(&PlanSources { has_autochecks: true, ..asked }, &[], &[]);
        let rubric = ["node -e \"run('a b')\"".to_owned()];
        check(&PlanSources { rubric: &rubric, ..asked }, &["node -e \"run('a b')\""], &[]);
        let plan = plan_checks(&PlanSources { rubric: &rubric, ..asked });
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
