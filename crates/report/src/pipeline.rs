//! The texts of a pipeline for its agent and its user, and its JSON document.

use std::fmt::Write as _;

use crate::person_questions::question_lines;
use crate::pipeline_end::{end_lines, end_note};
use crate::pipeline_worktrees::worktree_entries;
use crate::plan_objections::objection_lines;
use crate::wording;
use crate::wording::pipelines as phrases;
use moai_base::foreign_text::{one_line, quoted_lines};
use moai_base::limits::{
    BUGFIX_ATTEMPTS_MAX, LINE_CHARS_MAX, PLAN_FAULTS_NAMED_MAX, REASON_LINE_CHARS_MAX,
    SPARKLINE_CHARS_MAX, TASK_CHARS_MAX, TODO_FAILURE_CHARS_MAX,
};
use moai_loops::framework::{MessageLanguage, language_of};
use moai_pipeline::commits::PipelineCommit;
use moai_pipeline::escalation::Escalation;
use moai_pipeline::gate::GateStatus;
use moai_pipeline::objection::PlanObjection;
use moai_pipeline::person_question::open_questions;
use moai_pipeline::state::{
    PassCount, PipelineKind, PipelineOutcome, PipelinePhase, PipelineState, PlanApprover,
    ShellWriteOutcome, ShellWriteRecord,
};
use moai_pipeline::write_rules::WriteObjection;
use moai_protocol::documents::pipelines::{
    PipelineCommitEntry, PipelineDocument, PipelineGateEntries, PipelineTodoCounts,
};

/// The form of a plan, as the agent is shown it.
const PLAN_FORM: &str = "\
# PLAN: name of the feature

## TODOs

### [ ] TODO 1: title
- Description: what is to be done
- Dependencies: none
- Files: src/…
- Acceptance Criteria:
  - [A] `command and arguments` passes
";

/// The language of a pipeline's texts: that of its goal.
#[must_use]
pub fn language(state: &PipelineState) -> MessageLanguage {
    language_of(&state.goal)
}

/// The agent's instructions at the start, and again after a compaction while the plan is not
/// approved.
#[must_use]
pub fn plan_instructions(state: &PipelineState) -> String {
    let language = language(state);
    let started = wording::PIPELINE_STARTED.with(language, &[&state.id, state.kind.as_str()]);
    let path = state.plan_path();
    let goal: String = state.goal.chars().take(TASK_CHARS_MAX).collect();
    let goal: Vec<String> = quoted_lines(&goal).collect();
    let lines = [
        started,
        goal.join("\n"),
        String::new(),
        wording::PIPELINE_PLAN_FIRST.with(language, &[&path]),
        PLAN_FORM.trim_end().to_owned(),
        wording::PIPELINE_COMMAND_RULE.text_in(language).to_owned(),
        wording::PIPELINE_ASK.text_in(language).to_owned(),
        format!("3. {}", wording::PIPELINE_BOXES.with(language, &[&path])),
    ];
    lines.join("\n")
}

/// Instructions for an agent at the start, and when a pipeline is continued.
#[must_use]
pub fn instructions(state: &PipelineState) -> String {
    match state.kind {
        PipelineKind::Bugfix => fix_instructions(state),
        _ if state.needs_approval() => plan_instructions(state),
        PipelineKind::Full | PipelineKind::Small => work_instructions(state),
    }
}

fn fix_instructions(state: &PipelineState) -> String {
    let (language, max) = (language(state), BUGFIX_ATTEMPTS_MAX.to_string());
    let goal: String = state.goal.chars().take(TASK_CHARS_MAX).collect();
    let goal: Vec<String> = quoted_lines(&goal).collect();
    let started = wording::BUGFIX_STARTED.with(language, &[&state.id, &max]);
    format!("{started}\n{}\n{}", goal.join("\n"), fix_rule(state))
}

/// How a fault is fixed.
#[must_use]
pub fn fix_rule(state: &PipelineState) -> &'static str {
    wording::BUGFIX_HOW.text_in(language(state))
}

/// Instructions for continuing after the approval.
#[must_use]
pub fn work_instructions(state: &PipelineState) -> String {
    let rule = wording::PIPELINE_BOXES.with(language(state), &[&state.plan_path()]);
    format!("{rule}\n{}", pipeline_status(state))
}

/// For the user: the agent wrote no usable plan.
#[must_use]
pub fn no_plan(state: &PipelineState, objections: &[PlanObjection]) -> String {
    let head = wording::PIPELINE_NO_PLAN.with(language(state), &[&state.id, &state.plan_path()]);
    with_lines(head, state, objections)
}

/// For the agent: why the turn continues before the approval.
#[must_use]
pub fn plan_held(state: &PipelineState, objections: &[PlanObjection]) -> String {
    let head = wording::PIPELINE_PLAN_HELD.with(language(state), &[&state.id]);
    format!("{}\n{}", with_lines(head, state, objections), plan_instructions(state))
}

/// Why `pipeline approve` is refused.
#[must_use]
pub fn not_approved(state: &PipelineState, objections: &[PlanObjection]) -> String {
    let head = wording::PIPELINE_NOT_APPROVED.with(language(state), &[&state.id]);
    with_lines(head, state, objections)
}

fn with_lines(mut head: String, state: &PipelineState, objections: &[PlanObjection]) -> String {
    let named = &objections[..objections.len().min(PLAN_FAULTS_NAMED_MAX)];
    for line in objection_lines(state, named) {
        let _ = write!(head, "\n  {line}");
    }
    let more = objections.len() - named.len();
    if more > 0 {
        let more = phrases::MORE_FAULTS.with(language(state), &[&more.to_string()]);
        let _ = write!(head, "\n  {more}");
    }
    head
}

/// For the agent: where a stronger model is proposed.
#[must_use]
pub fn escalation_lines(
    state: &PipelineState,
    model: &str,
    proposals: &[Escalation],
) -> Vec<String> {
    let language = language(state);
    let lines = proposals.iter().map(|proposal| match proposal {
        Escalation::Size { todo, size } => {
            wording::ESCALATE_SIZE.with(language, &[todo, size.as_str(), model])
        }
        Escalation::Attempts { todo, attempts } => {
            let attempts = wording::ATTEMPTS.count(language, *attempts as usize);
            wording::ESCALATE_ATTEMPTS.with(language, &[todo, &attempts, model])
        }
        Escalation::Rounds(rounds) => wording::ESCALATE_ROUNDS
            .with(language, &[&wording::ROUNDS.count(language, *rounds as usize), model]),
    });
    lines.collect()
}

/// For the agent and the user: a shell command changed source files that its agent may not write.
#[must_use]
pub fn shell_wrote(state: &PipelineState, loop_id: &str, records: &[ShellWriteRecord]) -> String {
    let mut paths: Vec<(&ShellWriteOutcome, Vec<&str>)> = Vec::new();
    for ShellWriteRecord { path, outcome, .. } in records {
        match paths.iter_mut().find(|(other, _)| *other == outcome) {
            Some((_, paths)) => paths.push(path),
            None => paths.push((outcome, vec![path])),
        }
    }
    let is_by_worker = records.iter().any(|record| record.is_by_worker);
    let lines = paths.into_iter().map(|(outcome, paths)| {
        let named = one_line(&paths.join(", "), REASON_LINE_CHARS_MAX);
        let language = language(state);
        let by = if is_by_worker { phrases::BY_WORKER } else { phrases::BY_MAIN_AGENT };
        let by = by.text_in(language);
        match outcome {
            ShellWriteOutcome::Named if is_by_worker => {
                phrases::WORKER_SHELL_WROTE.with(language, &[&state.id, &named])
            }
            ShellWriteOutcome::Named => phrases::SHELL_WROTE.with(language, &[&state.id, &named]),
            ShellWriteOutcome::TakenBack { checkpoint } => phrases::SHELL_TAKEN_BACK
                .with(language, &[&state.id, &named, loop_id, checkpoint, by]),
            ShellWriteOutcome::Left { reason } => {
                let reason = one_line(reason, REASON_LINE_CHARS_MAX);
                phrases::SHELL_LEFT.with(language, &[&state.id, &named, &reason, by])
            }
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// For a worker: why it must continue.
#[must_use]
pub fn worker_held(state: &PipelineState, objections: &[PlanObjection]) -> String {
    let head = wording::WORKER_HELD.with(language(state), &[&state.id]);
    with_lines(head, state, objections)
}

/// For an agent: why it must not write a file.
#[must_use]
pub fn write_refused(state: &PipelineState, file: &str, objection: &WriteObjection) -> String {
    let (language, file) = (language(state), one_line(file, REASON_LINE_CHARS_MAX));
    match objection {
        WriteObjection::PlanFirst => {
            wording::WRITE_PLAN_FIRST.with(language, &[&file, &state.id, &state.plan_path()])
        }
        WriteObjection::NeedsWorker => {
            wording::WRITE_NEEDS_WORKER.with(language, &[&file, &state.id])
        }
        WriteObjection::InWorktrees => {
            wording::WRITE_IN_WORKTREES.with(language, &[&file, &state.id])
        }
        WriteObjection::OtherWorkTree => {
            wording::WRITE_IN_OTHER_TREE.with(language, &[&file, &state.id])
        }
        WriteObjection::OtherSession(loop_id) => {
            wording::WRITE_OTHER_SESSION.with(language, &[&file, &state.id, loop_id])
        }
        WriteObjection::FreshWorker => {
            wording::WRITE_FRESH_WORKER.with(language, &[&file, &state.id])
        }
        WriteObjection::OutsideTodos(patterns) => {
            let patterns = one_line(&patterns.join(", "), REASON_LINE_CHARS_MAX);
            wording::WRITE_OUTSIDE_TODOS.with(language, &[&file, &state.id, &patterns])
        }
    }
}

/// For the agent: why a keyword started nothing.
#[must_use]
pub fn not_started(language: MessageLanguage, reason: &str) -> String {
    wording::PIPELINE_NOT_STARTED.with(language, &[&one_line(reason, LINE_CHARS_MAX)])
}

/// For the user: a document of a gate is not as the engine wrote it.
#[must_use]
pub fn document_changed(state: &PipelineState, path: &str) -> String {
    wording::DOCUMENT_CHANGED.with(language(state), &[path])
}

/// For the user: a Stop's changes to the pipeline were not saved.
#[must_use]
pub fn not_saved(state: &PipelineState, reason: &str) -> String {
    wording::PIPELINE_NOT_SAVED.with(language(state), &[&state.id, reason])
}

/// `pipeline status`: phase, TODOs, gates and progress.
#[must_use]
pub fn pipeline_status(state: &PipelineState) -> String {
    let goal = one_line(&state.goal, REASON_LINE_CHARS_MAX);
    let phase = match state.outcome {
        Some(outcome) => format!("{} ({})", state.phase.as_str(), outcome.as_str()),
        None => state.phase.as_str().to_owned(),
    };
    let mut text = format!("{} ({}): {phase}\n  goal: {goal}\n", state.id, state.kind.as_str());
    let approval = state.approved.as_ref().map_or_else(
        || "not approved".to_owned(),
        |plan| format!("approved by {}", approver(plan.by)),
    );
    if state.kind.has_plan() {
        let _ = writeln!(text, "  plan: {} ({approval})", state.plan_path());
    }
    let _ = writeln!(text, "  loop: {}", state.loop_id);
    push_todos(&mut text, state);
    for line in question_lines(state, &open_questions(state)) {
        let _ = writeln!(text, "  asks you: {line}");
    }
    if let Some(last) = state.pass_counts.last() {
        let line = sparkline(&state.pass_counts);
        let _ = write!(text, "  passing at each Stop: {line} {}/{}", last.passed, last.total);
        let now = state.passed_todos();
        // Workers end between two Stops.
        let since = if now == last.passed { String::new() } else { format!(", now {now}") };
        let _ = writeln!(text, "{since}");
    }
    if state.kind == PipelineKind::Full {
        let gates = gate_entries(state);
        let PipelineGateEntries { tests, review, scenarios } = gates;
        let _ = writeln!(text, "  gates: tests {tests}, review {review}, scenarios {scenarios}");
        push_gates(&mut text, state);
    }
    if !state.fix_rounds.is_empty() {
        let _ = writeln!(text, "  rounds of fixes: {}", state.fix_rounds.len());
    }
    text.push_str(&end_lines(state));
    text
}

/// One character for each of the last measured Stops: the share of TODOs that passed.
fn sparkline(counts: &[PassCount]) -> String {
    let shown = &counts[counts.len().saturating_sub(SPARKLINE_CHARS_MAX)..];
    let level = |count: &PassCount| {
        let top = SPARKLINE_LEVELS.len() - 1;
        let level = (count.passed * top).checked_div(count.total).unwrap_or(0);
        SPARKLINE_LEVELS[level.min(top)]
    };
    shown.iter().map(level).collect()
}

/// From nothing to everything.
const SPARKLINE_LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The tokens of a pipeline, as a line of its status.
#[must_use]
pub fn tokens_line(tokens: Option<u64>) -> String {
    match tokens {
        Some(tokens) => format!("  tokens: {tokens}\n"),
        None => "  tokens: unknown\n".to_owned(),
    }
}

/// Details of the gates that their own texts omit.
fn push_gates(text: &mut String, state: &PipelineState) {
    if let Some(place) = &state.sandbox {
        let _ = writeln!(text, "    gate 1: {}", one_line(place, REASON_LINE_CHARS_MAX));
    }
    if let Some(review) = &state.review {
        let (verdict, judges) = (&review.verdict, review.judges.join(", "));
        let (critical, warnings) = (review.critical, review.warnings);
        let _ = write!(text, "    gate 2: {verdict}, critical {critical}, warnings {warnings}");
        let rest = review.gap.as_ref().unwrap_or(&judges);
        let _ = writeln!(text, " ({})", one_line(rest, REASON_LINE_CHARS_MAX));
    }
    for scenario in &state.scenarios {
        let runs = state.scenario_runs.get(&scenario.key).map(Vec::as_slice).unwrap_or_default();
        let passed = runs.iter().filter(|run| run.has_passed).count();
        let _ =
            writeln!(text, "    gate 3: {}: {passed} of {} runs passed", scenario.key, runs.len());
    }
    for path in &state.changed_documents {
        let _ = writeln!(text, "    changed after it was written: {path}");
    }
}

fn approver(by: PlanApprover) -> &'static str {
    match by {
        PlanApprover::Person => "a person",
        PlanApprover::Question => "a person, who answered the host's question",
    }
}

fn push_todos(text: &mut String, state: &PipelineState) {
    let Some(approved) = &state.approved else { return };
    for todo in &approved.document().todos {
        let Some(progress) = state.todos.get(todo.id.as_str()) else { continue };
        let mark = match (progress.has_passed, progress.is_given_up) {
            (true, _) => "x",
            (false, true) => "FAILED",
            (false, false) => " ",
        };
        let title = one_line(&todo.title, REASON_LINE_CHARS_MAX);
        let _ = write!(text, "  [{mark}] {} {title}", todo.id);
        if !progress.failure.is_empty() {
            let _ = write!(text, ": {}", one_line(&progress.failure, TODO_FAILURE_CHARS_MAX));
        } else if progress.has_passed_untouched {
            text.push_str(": its commands passed before anything was changed");
        }
        text.push('\n');
    }
}

/// Why a pipeline does not begin: the number of workers is invalid.
#[must_use]
pub fn workers_out_of_range(given: &str, max: u32) -> String {
    let given = one_line(given, REASON_LINE_CHARS_MAX);
    format!(
        "--workers is the number of TODOs that are worked on at the same time: between 1 and {max}, not {given:?}"
    )
}

/// Why a pipeline does not begin: two ways of work at once.
#[must_use]
pub fn workers_without_solo() -> String {
    "--workers and --solo exclude each other: with --workers a session in each worktree does a TODO, with --solo \
     the main agent does all of them here. Leave one of them out"
        .to_owned()
}

/// Why a pipeline does not begin: it has no TODOs.
#[must_use]
pub fn workers_need_plan() -> String {
    "--workers shares out the TODOs of a plan, and a bugfix has none: leave it out, or take --kind small or full"
        .to_owned()
}

/// Why a pipeline does not begin: an option is there again.
#[must_use]
pub fn option_given_twice(option: &str) -> String {
    format!("{option} is given twice: say it once, before the goal")
}

/// `pipeline report`: claims, results of the engine's runs, and missing evidence.
#[must_use]
pub fn pipeline_report(state: &PipelineState) -> String {
    let mut text = pipeline_status(state);
    if !state.corrections.is_empty() {
        let _ = writeln!(text, "  claims that the engine's own runs did not confirm:");
        for correction in &state.corrections {
            let reason = one_line(&correction.reason, REASON_LINE_CHARS_MAX);
            let _ = writeln!(text, "    {}: {reason}", correction.todo);
        }
    }
    if !state.shell_writes.is_empty() {
        let _ = writeln!(text, "  source files that shell commands changed against the rules:");
    }
    for record in &state.shell_writes {
        let path = one_line(&record.path, REASON_LINE_CHARS_MAX);
        let by = if record.is_by_worker { "a worker" } else { "the main agent" };
        let outcome = match &record.outcome {
            ShellWriteOutcome::Named => String::new(),
            ShellWriteOutcome::TakenBack { checkpoint } => {
                format!(", taken back; what it wrote is checkpoint {checkpoint} of the loop")
            }
            ShellWriteOutcome::Left { reason } => {
                format!(", not taken back: {}", one_line(reason, REASON_LINE_CHARS_MAX))
            }
        };
        let _ = writeln!(text, "    {path}: by {by}{outcome}");
    }
    if !state.human_answers.is_empty() {
        let _ = writeln!(text, "  what the user said about items for a person:");
    }
    for (name, answer) in &state.human_answers {
        let _ = writeln!(text, "    {name}: {}", if answer.is_yes { "met" } else { "not met" });
    }
    if !state.discoveries.is_empty() {
        let _ = writeln!(text, "  proposals of workers, checked against the pivot points:");
    }
    for discovery in &state.discoveries {
        let summary = one_line(&discovery.summary, REASON_LINE_CHARS_MAX);
        let conflicts = match discovery.conflicts.as_slice() {
            [] => String::new(),
            conflicts => format!(": {}", one_line(&conflicts.join(", "), REASON_LINE_CHARS_MAX)),
        };
        let verdict = match discovery.answer {
            None => discovery.verdict.as_str(),
            Some(answer) if answer.is_yes => "allowed by the user",
            Some(_) => "rejected by the user",
        };
        let _ = writeln!(text, "    {}: {summary}: {verdict}{conflicts}", discovery.todo);
    }
    if state.is_active() {
        let _ = writeln!(text, "  it has not ended yet");
    }
    text
}

/// Numbers of a pipeline that ended, one line each, for `metrics.md`.
#[must_use]
pub fn metric_lines(state: &PipelineState) -> Vec<String> {
    let PipelineGateEntries { tests, review, scenarios } = gate_entries(state);
    let outcome = state.outcome.map_or("not ended yet", PipelineOutcome::as_str);
    let (passed, total) = (state.passed_todos(), state.todos.len());
    let minutes = state.updated_ms.saturating_sub(state.created_ms) / 60_000;
    vec![
        format!("outcome: {outcome}; {passed} of {total} TODOs pass"),
        format!("gates: tests {tests}, review {review}, scenarios {scenarios}"),
        format!(
            "measured Stops: {}; rounds of fixes: {}",
            state.pass_counts.len(),
            state.fix_rounds.len()
        ),
        format!("claims that the engine's runs did not confirm: {}", state.corrections.len()),
        format!("minutes from start to end: {minutes}"),
    ]
}

/// The gates; a small pipeline has only the first.
fn gate_entries(state: &PipelineState) -> PipelineGateEntries {
    if state.kind == PipelineKind::Full {
        let gates = state.gates;
        return PipelineGateEntries {
            tests: gates.tests.as_str(),
            review: gates.review.as_str(),
            scenarios: gates.scenarios.as_str(),
        };
    }
    let has_all = state.passed_todos() == state.todos.len();
    let tests = match (state.approved.is_some(), has_all) {
        (true, true) => GateStatus::Passed,
        (true, false) if !state.pass_counts.is_empty() => GateStatus::Failed,
        _ => GateStatus::Open,
    };
    let absent = GateStatus::Absent.as_str();
    PipelineGateEntries { tests: tests.as_str(), review: absent, scenarios: absent }
}

/// `moai-ralph/pipeline@1`; `tokens` were used since the start, if they are known.
#[must_use]
pub fn pipeline_document(state: &PipelineState, tokens: Option<u64>) -> PipelineDocument<'_> {
    let (done, total) = (state.passed_todos(), state.todos.len());
    let failed = state.failed_todos().len();
    let is_sprint = state.phase == PipelinePhase::Sprint;
    PipelineDocument {
        id: &state.id,
        kind: state.kind.as_str(),
        phase: state.phase.as_str(),
        outcome: state.outcome.map(PipelineOutcome::as_str),
        goal: &state.goal,
        plan: state.plan_path(),
        approved_by: state.approved.as_ref().map(|plan| plan.by.as_str()),
        loop_id: &state.loop_id,
        todos: PipelineTodoCounts {
            total,
            done,
            failed,
            in_progress: if is_sprint { total - done - failed } else { 0 },
        },
        gates: gate_entries(state),
        fix_loops: state.fix_rounds.len(),
        tokens,
        convergence: state.pass_counts.iter().map(|count| count.passed).collect(),
        commits: state.commits.iter().map(commit_entry).collect(),
        note: end_note(state),
        worktrees: worktree_entries(state),
        requirements: Vec::new(),
    }
}

fn commit_entry(commit: &PipelineCommit) -> PipelineCommitEntry<'_> {
    let check = commit.check.as_ref();
    let names = check.map(|check| check.failed.keys().map(String::as_str).collect());
    PipelineCommitEntry {
        id: &commit.id,
        subject: &commit.subject,
        checked: check.is_some(),
        failing: names.unwrap_or_default(),
    }
}
