//! Targets of a Makefile, for criteria that no other file answers.

use super::{CheckCriterion, CheckProposals};

const TARGETS: [(CheckCriterion, &[&str]); 4] = [
    (CheckCriterion::TestPass, &["test", "tests", "check"]),
    (CheckCriterion::BuildSuccess, &["build", "all"]),
    (CheckCriterion::LintClean, &["lint"]),
    (CheckCriterion::TypeCheck, &["typecheck", "type-check", "types"]),
];

pub(super) fn propose(found: &mut CheckProposals<'_>) {
    for (criterion, names) in TARGETS {
        if found.has_criterion(criterion) {
            continue;
        }
        let text = found.text("Makefile");
        let target = names.iter().find(|name| text.lines().any(|line| is_rule(line, name)));
        if let Some(target) = target {
            let why = format!("has a target {target}");
            found.add(criterion, &format!("make {target}"), "Makefile", &why);
        }
    }
}

/// True if a line begins the rule of a target; `name := value` is a variable.
fn is_rule(line: &str, target: &str) -> bool {
    let Some((targets, rest)) = line.split_once(':') else { return false };
    let is_variable = rest.trim_start_matches(':').starts_with('=');
    let is_recipe = line.starts_with('\t');
    !is_variable && !is_recipe && targets.split_whitespace().any(|one| one == target)
}
