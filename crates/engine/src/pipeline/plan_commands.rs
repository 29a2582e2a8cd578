//! The acceptance commands of a plan as checks of the loop's exam.

use crate::engine::{Engine, now_ms};
use crate::exam;
use crate::loops::loop_selection::change_loop;
use crate::project::Project;
use moai_host::store::loops::LoopQuery;
use moai_loops::criteria::{CheckCommand, CheckCriterion};
use moai_loops::state::LoopState;
use moai_pipeline::plan::{AcceptanceKind, PlanDocument, Todo, TodoId};

/// One check for each command of the plan. The exam runs equal ones once.
pub(super) fn acceptance_commands(plan: &PlanDocument, source: &str) -> Vec<CheckCommand> {
    plan.todos.iter().flat_map(|todo| commands_of(todo, source)).collect()
}

/// The same for one TODO.
pub(super) fn commands_of_todo(
    plan: &PlanDocument,
    todo: &TodoId,
    source: &str,
) -> Vec<CheckCommand> {
    plan.todo(todo).map(|todo| commands_of(todo, source)).unwrap_or_default()
}

fn commands_of(todo: &Todo, source: &str) -> Vec<CheckCommand> {
    let items = todo.items_of(AcceptanceKind::Automatic);
    let commands = items.filter_map(|item| {
        Some(CheckCommand {
            name: item.check_name()?,
            criterion: CheckCriterion::Custom,
            argv: item.argv.clone(),
            folder: String::new(),
            timeout_secs: None,
            source: source.to_owned(),
            why: format!("it accepts {}", todo.id),
        })
    });
    commands.collect()
}

/// Freezes acceptance commands into the exam of an active loop; returns their number. With an `earlier` loop,
/// the files that were frozen for it decide.
pub(super) async fn freeze_commands(
    engine: &Engine,
    project: &Project,
    loop_id: &str,
    commands: Vec<CheckCommand>,
    earlier: Option<&str>,
) -> Result<usize, String> {
    let which = LoopQuery::Id(loop_id.to_owned());
    let found = engine.store.find_loop(&project.key, &project.root, which.clone()).await;
    let found = found.map_err(|error| error.to_string())?;
    let held = found.filter(|held| held.status.is_active());
    let held = held.ok_or_else(|| format!("loop {loop_id} of the pipeline has ended"))?;
    let count = commands.len();
    let names = exam::freeze_exam_with(engine, project, &held.charter(), commands, earlier).await;
    let names = names.map_err(|error| error.to_string())?;
    let changed = change_loop(engine, project, which, |held: &LoopState| {
        let checks = names.clone();
        Ok::<_, String>(LoopState { checks, updated_ms: now_ms(), ..held.clone() })
    });
    changed.await.map_err(|error| error.to_string())?;
    Ok(count)
}
