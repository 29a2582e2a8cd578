//! The texts of a pipeline for its agent and its user, and its JSON document.

use std::fmt::Write as _;

use crate::pipeline_end::end_note;
use crate::pipeline_status::pipeline_status;
use crate::pipeline_worktrees::{TodoWorktreeStatus, worktree_entries};
use crate::plan_objections::objection_lines;
use crate::wording;
use crate::wording::pipelines as phrases;
use moai_base::foreign_text::{one_line, quoted_lines};
use moai_base::limits::{
    BUGFIX_ATTEMPTS_MAX, LINE_CHARS_MAX, PLAN_FAULTS_NAMED_MAX, REASON_LINE_CHARS_MAX,
    TASK_CHARS_MAX,
};
use moai_loops::framework::{MessageLanguage, language_of};
use moai_pipeline::commits::PipelineCommit;
use moai_pipeline::escalation::Escalation;
use moai_pipeline::gate::GateStatus;
use moai_pipeline::objection::PlanObjection;
use moai_pipeline::state::{
    PipelineKind, PipelineOutcome, PipelinePhase, PipelineState, ShellWriteOutcome,
    ShellWriteRecord,
};
use moai_pipeline::write_rules::WriteObjection;
use moai_protocol::documents::pipelines::{
    ClaimEntry, PipelineCommitEntry, PipelineDocument, PipelineGateEntries, PipelineReportDocument,
    PipelineTodoCounts, ProposalEntry, RequirementEntry, ShellWriteEntry,
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
    let items =
        if state.kind == PipelineKind::Full { phrases::ITEMS_OF_FULL } else { phrases::ITEMS };
    let lines = [
        started,
        goal.join("\n"),
        String::new(),
        wording::PIPELINE_PLAN_FIRST.with(language, &[&path]),
        PLAN_FORM.trim_end().to_owned(),
        wording::PIPELINE_COMMAND_RULE.text_in(language).to_owned(),
        items.text_in(language).to_owned(),
        wording::PIPELINE_ASK.text_in(language).to_owned(),
        format!("3. {}", wording::PIPELINE_BOXES.with(language, &[&path])),
    ];
    lines.into_iter().chain(writer_rule(state)).collect::<Vec<_>>().join("\n")
}

/// Who writes the source files; `None` if the main agent does.
fn writer_rule(state: &PipelineState) -> Option<String> {
    match state.workers {
        _ if state.is_solo => None,
        0 => Some(phrases::BY_WORKERS.text_in(language(state)).to_owned()),
        most => Some(phrases::IN_WORKTREES.with(language(state), &[&most.to_string()])),
    }
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
    let rules: Vec<String> = std::iter::once(rule).chain(writer_rule(state)).collect();
    format!("{}\n{}", rules.join("\n"), pipeline_status(state))
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

/// Why no approved plan is printed.
#[must_use]
pub fn no_approved_plan(state: &PipelineState) -> String {
    let phrase =
        if state.kind.has_plan() { phrases::NO_APPROVED_PLAN } else { phrases::WITHOUT_PLAN };
    phrase.with(language(state), &[&state.id])
}

/// Why a command of an active pipeline is refused.
#[must_use]
pub fn has_ended(state: &PipelineState) -> String {
    phrases::HAS_ENDED.with(language(state), &[&state.id])
}

fn with_lines(mut head: String, state: &PipelineState, objections: &[PlanObjection]) -> String {
    push_objections(&mut head, state, objections, "  ");
    head
}

/// Adds the first objections and the number of the others to a text, each on a line of its own.
pub(crate) fn push_objections(
    text: &mut String,
    state: &PipelineState,
    objections: &[PlanObjection],
    indent: &str,
) {
    let named = &objections[..objections.len().min(PLAN_FAULTS_NAMED_MAX)];
    for line in objection_lines(state, named) {
        let _ = write!(text, "\n{indent}{line}");
    }
    let more = objections.len() - named.len();
    if more > 0 {
        let more = phrases::MORE_FAULTS.with(language(state), &[&more.to_string()]);
        let _ = write!(text, "\n{indent}{more}");
    }
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
    format!("{option} was given twice; give it once, before the goal")
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
pub(crate) fn gate_entries(state: &PipelineState) -> PipelineGateEntries {
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
pub fn pipeline_document<'s>(
    state: &'s PipelineState,
    tokens: Option<u64>,
    statuses: &'s [TodoWorktreeStatus],
) -> PipelineDocument<'s> {
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
        worktrees: worktree_entries(statuses),
    }
}

/// `moai-ralph/pipeline-report@1`.
#[must_use]
pub fn report_document(
    state: &PipelineState,
    requirements: Vec<RequirementEntry>,
) -> PipelineReportDocument<'_> {
    let claims =
        state.corrections.iter().map(|it| ClaimEntry { todo: &it.todo, reason: &it.reason });
    let shell_writes = state.shell_writes.iter().map(|record| ShellWriteEntry {
        path: &record.path,
        by: if record.is_by_worker { "worker" } else { "main" },
        outcome: match record.outcome {
            ShellWriteOutcome::Named => "named",
            ShellWriteOutcome::TakenBack { .. } => "taken_back",
            ShellWriteOutcome::Left { .. } => "left",
        },
    });
    let proposals = state.discoveries.iter().map(|discovery| ProposalEntry {
        todo: &discovery.todo,
        summary: &discovery.summary,
        verdict: &discovery.verdict,
        allowed: discovery.answer.map(|answer| answer.is_yes),
        conflicts: &discovery.conflicts,
    });
    PipelineReportDocument {
        id: &state.id,
        goal: &state.goal,
        outcome: state.outcome.map(PipelineOutcome::as_str),
        note: end_note(state),
        gates: gate_entries(state),
        requirements,
        commits: state.commits.iter().map(commit_entry).collect(),
        claims: claims.collect(),
        shell_writes: shell_writes.collect(),
        proposals: proposals.collect(),
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
