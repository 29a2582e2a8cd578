//! The acceptance commands of a plan as checks of the loop's exam.

use moai_base::foreign_text::one_line;
use moai_base::limits::GAP_CHARS_MAX;
use moai_loops::criteria::{CheckCommand, CheckCriterion};
use moai_pipeline::plan::{AcceptanceKind, PlanDocument};

/// One check for each command of the plan. The exam runs equal ones once.
pub(super) fn acceptance_commands(plan: &PlanDocument, source: &str) -> Vec<CheckCommand> {
    let mut commands = Vec::new();
    for todo in &plan.todos {
        for item in todo.items_of(AcceptanceKind::Automatic).filter(|item| !item.argv.is_empty()) {
            let name = item.command.clone().unwrap_or_else(|| item.argv.join(" "));
            commands.push(CheckCommand {
                name: one_line(&name, GAP_CHARS_MAX),
                criterion: CheckCriterion::Custom,
                argv: item.argv.clone(),
                folder: String::new(),
                timeout_secs: None,
                source: source.to_owned(),
                why: format!("it accepts {}", todo.id),
            });
        }
    }
    commands
}
