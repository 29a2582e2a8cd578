//! Cost of an active pipeline for the hook before a tool call, and of its pure parts: reading and editing a
//! large plan, and one step.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use moai_pipeline::plan::{PlanDocument, TodoId, TodoStatus};
use moai_pipeline::state::{PipelineKind, PipelineState, PlanApprover};
use moai_pipeline::step::{CommandReading, PipelineEvent, WorkReading, step};

use crate::starts::{Start, TRUE, alternate};
use crate::support::{PROGRAM, SESSION, Sandbox};
use crate::table::{Figure, Samples, Table, times};

/// TODOs of the large plan, and of one as agents write them.
const TODOS: usize = 200;
const USUAL_TODOS: usize = 12;
/// Starts of each kind, one after the other.
const STARTS: usize = 200;
/// Starts of each kind before the first that counts.
const WARM_UP: usize = 20;
/// Repetitions of the pure parts.
const PURE_RUNS: usize = 100;
/// The hook before a tool call while a pipeline is active: p50 by p50 of the smallest program.
const HOOK_BUDGET: Figure = Figure::Times(4.0);
/// Reading a large plan and setting one of its boxes.
const PLAN_BUDGET: Figure = Figure::Milliseconds(10.0);
/// One step with a large plan, all of whose commands were run.
const STEP_BUDGET: Figure = Figure::Milliseconds(5.0);

pub(crate) fn measure(table: &mut Table) {
    for todos in [USUAL_TODOS, TODOS] {
        measure_hooks(table, todos);
    }
    let plan = plan_of(TODOS);
    let edits = samples(|| {
        let document = PlanDocument::parse(&plan);
        let todo = TodoId::parse("TODO-150").expect("an id");
        let edited = PlanDocument::set_status(&plan, &todo, TodoStatus::Done).expect("it is there");
        assert!(document.todos.len() == TODOS && edited.len() == plan.len());
    });
    let figure = milliseconds(edits.p50());
    let name = format!("plan of {TODOS} TODOs: read and edited");
    table.budgeted(&name, Some(&edits), figure, PLAN_BUDGET);
    let (state, reading) = large_state(&plan);
    let steps = samples(|| {
        let event = PipelineEvent::WorkMeasured(reading.clone());
        let (next, _) = step(&state, event, 2);
        assert_eq!(next.passed_todos(), TODOS);
    });
    let figure = milliseconds(steps.p50());
    let name = format!("step of a pipeline with {TODOS} TODOs");
    table.budgeted(&name, Some(&steps), figure, STEP_BUDGET);
}

/// The budget is for a plan of a usual size.
fn measure_hooks(table: &mut Table, todos: usize) {
    let sandbox = Sandbox::new();
    sandbox.write("src/a.py", "value = 1\n");
    sandbox.commit();
    begin(&sandbox, todos);
    let input = |name: &str, value: &Value| {
        let file = sandbox.base().join(name);
        std::fs::write(&file, value.to_string()).expect("the sandbox is writable");
        file
    };
    let mut by_worker = sandbox.payload("PreToolUse-Edit");
    by_worker["agent_id"] = "a1".into();
    by_worker["agent_type"] = "moai-ralph:worker".into();
    by_worker["tool_input"]["file_path"] = json!(sandbox.path("src/a.py"));
    let by_worker = input("edit.json", &by_worker);
    let bash = input("bash.json", &sandbox.payload("PreToolUse-Bash"));
    let starts = [
        Start::new(TRUE, &[], &bash),
        Start::new(PROGRAM, &["hook", "pre-tool-use"], &by_worker),
        Start::new(PROGRAM, &["hook", "pre-tool-use"], &bash),
    ];
    alternate(&sandbox, &starts, WARM_UP);
    let [bare, edit, bash] = alternate(&sandbox, &starts, STARTS).map(Samples::new);
    for (name, samples) in [("an edit", &edit), ("Bash", &bash)] {
        let name = format!("hook pre-tool-use, {name}, {todos} TODOs: p50 by p50");
        let figure = times(samples.p50(), bare.p50());
        if todos == USUAL_TODOS {
            table.budgeted(&name, Some(samples), figure, HOOK_BUDGET);
        } else {
            table.informational(&name, samples, figure);
        }
    }
}

/// Starts a pipeline and approves its plan, as a user types it.
fn begin(sandbox: &Sandbox, todos: usize) {
    let type_command = |name: &str, typed: &str| {
        let mut input = sandbox.payload("UserPromptExpansion");
        input["session_id"] = SESSION.into();
        input["command_name"] = name.into();
        input["command_args"] = typed.into();
        input["prompt"] = format!("/{name} {typed}").into();
        sandbox.hook("user-prompt-expansion", &input)
    };
    type_command("moai-ralph:alfred", "write the files");
    let status = sandbox.run(&["pipeline", "status", "--json"]).json();
    sandbox.write(status["plan"].as_str().expect("a pipeline has a plan"), &plan_of(todos));
    // The first one shows the plan.
    for _ in 0..2 {
        type_command("moai-ralph:moai-run", "");
    }
    let status = sandbox.run(&["pipeline", "status", "--json"]).json();
    assert_eq!(status["phase"], "sprint", "{status}");
}

fn plan_of(todos: usize) -> String {
    let todo = |number: usize| {
        format!(
            "### [ ] TODO {number}: part {number} of the work\n- Description: what part {number} does\n\
             - Dependencies: none\n- Files: src/**\n- Risk: LOW\n- Acceptance Criteria:\n  \
             - [A] `check --part {number}` passes\n  - [H] it reads well\n\n"
        )
    };
    format!("# PLAN: many parts\n\n## TODOs\n\n{}", (1..=todos).map(todo).collect::<String>())
}

/// An approved pipeline, and a Stop at which everything passes.
fn large_state(plan: &str) -> (PipelineState, WorkReading) {
    let (id, goal) = ("pipeline-1".to_owned(), "parts".to_owned());
    let state = PipelineState::begin(id, PipelineKind::Full, goal, "SPEC-PARTS-001".to_owned(), 1);
    let by = PlanApprover::Person;
    let (state, _) = step(&state, PipelineEvent::PlanApproved { text: plan.to_owned(), by }, 1);
    let argv =
        |number: usize| ["check".to_owned(), "--part".to_owned(), number.to_string()].to_vec();
    let commands = (1..=TODOS).map(|number| (argv(number), CommandReading::Passed)).collect();
    (state, WorkReading { plan: Some(plan.to_owned()), commands, ..WorkReading::default() })
}

fn samples(work: impl Fn()) -> Samples {
    work();
    let runs = (0..PURE_RUNS).map(|_| {
        let begun = Instant::now();
        work();
        begun.elapsed()
    });
    Samples::new(runs.collect())
}

fn milliseconds(time: Duration) -> Figure {
    Figure::Milliseconds(time.as_secs_f64() * 1_000.0)
}
