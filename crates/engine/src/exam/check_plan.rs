//! The check commands of a project: `.claude/autochecks.sh`, those of the options and `RUBRIC.md`, and
//! those that the project's files suggest. `loops::criteria` plans them.

use std::path::Path;

use crate::engine::run_blocking;
use crate::exam::proposals::proposals;
use crate::exam::rubrics;
use crate::project::Project;
use moai_base::path::RelPath;
use moai_host::files;
use moai_loops::criteria::{
    self, AUTOCHECKS, CheckCommand, CheckPlan, CheckScope, CriterionGap, PlanSources, RUBRIC,
    UNRUN_TESTS, missing_test_command,
};
use moai_loops::exam::{ExamRole, role};

/// Why tests are not measured.
const NO_TEST_COMMAND: &str = "no command is known that runs it";

/// The commands that a Stop would run for the current project; reads the disk.
pub(crate) fn check_plan(project: &Project, scope: CheckScope) -> CheckPlan {
    let config = &project.config;
    let proposed = if config.propose_checks { proposals(project) } else { Vec::new() };
    let rubric = rubrics::rubric_on_disk(&project.root);
    let sources = PlanSources {
        criteria: &config.success_criteria,
        own: &config.checks,
        rubric: &rubric.checks,
        proposed: &proposed,
        has_autochecks: project.root.join(AUTOCHECKS).symlink_metadata().is_ok(),
        scope,
    };
    let mut plan = criteria::plan_checks(&sources);
    if sources.uses_proposals()
        && !plan.runs_tests()
        && let Some(test) = first_test_file(&project.root, &[])
    {
        plan.unanswered.push(missing_test_command(&test, NO_TEST_COMMAND));
    }
    // The unread part of the rubric may name commands.
    let unread = rubric.gap.map(|gap| CriterionGap { name: RUBRIC.to_owned(), gap });
    plan.unanswered.extend(unread);
    plan
}

/// The first test of a project by its path that none of these commands runs.
pub(super) fn first_test_file(root: &Path, commands: &[CheckCommand]) -> Option<String> {
    let mut tests = files::walk_names(root, &|path| role(path) == Some(ExamRole::Test));
    // A package of Python begins with this file, which holds no tests.
    tests.retain(|test| test.file_name() != "__init__.py");
    let is_run =
        |test: &RelPath| commands.iter().any(|command| runs_test(&command.argv, test.as_str()));
    tests.into_iter().filter(|test| !is_run(test)).min().map(|test| test.to_string())
}

/// A gap of the plan, without the tests that these acceptance commands have run.
pub(super) async fn still_unanswered(
    project: &Project,
    criterion: CriterionGap,
    commands: &[CheckCommand],
) -> Option<CriterionGap> {
    if commands.is_empty() || criterion.name != UNRUN_TESTS {
        return Some(criterion);
    }
    let (root, commands) = (project.root.clone(), commands.to_vec());
    match run_blocking(move || first_test_file(&root, &commands)).await {
        Some(test) => Some(missing_test_command(&test?, NO_TEST_COMMAND)),
        None => Some(criterion),
    }
}

/// True if a test runner's command runs this test: it names it (by path, folder or module), or names no
/// test at all.
fn runs_test(argv: &[String], test: &str) -> bool {
    let module = test.strip_suffix(".py").map(|path| path.replace('/', "."));
    let names = |word: &String| {
        let path = word.split("::").next().unwrap_or_default();
        let path = path.trim_start_matches("./").trim_end_matches('/');
        let is_in_folder = test.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'));
        let is_module = module.as_ref().is_some_and(|module| {
            word.strip_prefix(module.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        });
        path == test || is_in_folder || is_module
    };
    let is_of_all = argv.last().is_some_and(|last| {
        matches!(last.rsplit('/').next(), Some("pytest" | "unittest" | "discover"))
    });
    is_of_all || argv.iter().any(names)
}

/// Names of the commands that a Stop runs under this plan.
pub(crate) fn check_names(project: &Project, plan: &CheckPlan) -> Vec<String> {
    let has_autochecks = project.root.join(AUTOCHECKS).symlink_metadata().is_ok();
    let script = has_autochecks.then(|| AUTOCHECKS.to_owned());
    script.into_iter().chain(plan.commands.iter().map(|command| command.name.clone())).collect()
}
