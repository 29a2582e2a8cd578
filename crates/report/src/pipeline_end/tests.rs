//! Every end of a pipeline, as its user reads it.

use std::collections::BTreeMap;

use super::*;
use moai_pipeline::approved_plan::ApprovedPlan;
use moai_pipeline::ending::LoopEnding;
use moai_pipeline::gate::PipelineGates;
use moai_pipeline::review::CategoryReview;
use moai_pipeline::state::{PipelineKind, PlanApprover};
use moai_pipeline::step::{PipelineEvent, step};

const PLAN: &str = "\
# PLAN: files

### [ ] TODO 1: one
- [A] `check one`

### [ ] TODO 2: two
- [A] `check two`
";

/// The sentences about what is next.
const GO_ON: &str =
    "`/moai-ralph:pipeline-resume`, or `moai-ralph pipeline resume` at a terminal, continues it.";
const VERIFY: &str =
    "Check that yourself, or remedy it and continue with `/moai-ralph:pipeline-resume`.";
const EVIDENCE: &str = "`moai-ralph pipeline report` shows the evidence.";
const MORE_TOKENS: &str = "`/moai-ralph:pipeline-resume` allows as many tokens again, `moai-ralph pipeline \
                           resume --max-tokens N` another number.";
const PLAN_IT: &str = "It may need a plan: `/moai-ralph:alfred GOAL`, or `moai-ralph pipeline start --kind full \
                       --goal …` at a terminal.";

/// One end of a pipeline.
struct EndCase {
    before: PipelineState,
    ending: LoopEnding,
    /// What the end is and why.
    what: &'static str,
    /// What the user can do next.
    next: &'static str,
}

fn case(
    before: PipelineState,
    ending: LoopEnding,
    what: &'static str,
    next: &'static str,
) -> EndCase {
    EndCase { before, ending, what, next }
}

fn begun(kind: PipelineKind) -> PipelineState {
    let (id, spec) = ("pipeline-1".to_owned(), "SPEC-A-001".to_owned());
    PipelineState::begin(id, kind, "files".to_owned(), spec, 1)
}

fn approved(passing: &[&str]) -> PipelineState {
    let (text, by) = (PLAN.to_owned(), PlanApprover::Person);
    let begun = begun(PipelineKind::Small);
    let (mut state, _) = step(&begun, PipelineEvent::PlanApproved { text, by }, 2);
    for (todo, progress) in &mut state.todos {
        progress.has_passed = passing.contains(&todo.as_str());
    }
    state
}

fn half() -> PipelineState {
    approved(&["TODO-1"])
}

fn done() -> PipelineState {
    approved(&["TODO-1", "TODO-2"])
}

/// A full pipeline whose TODOs pass, with these gates.
fn full(review: GateStatus, scenarios: GateStatus) -> PipelineState {
    let tests = GateStatus::Passed;
    let gates = PipelineGates { tests, review, scenarios, ..PipelineGates::default() };
    PipelineState { kind: PipelineKind::Full, gates, ..done() }
}

fn reviewed(state: PipelineState, verdict: &str, gap: &str) -> PipelineState {
    let review = CategoryReview {
        verdict: verdict.to_owned(),
        critical: 0,
        warnings: 0,
        findings: Vec::new(),
        judges: Vec::new(),
        gap: Some(gap.to_owned()),
    };
    PipelineState { review: Some(review), ..state }
}

fn ends_of_done_plans() -> Vec<EndCase> {
    use GateStatus::{Absent, Degraded, Passed, Skipped};
    let mut untouched = done();
    untouched.todos.get_mut("TODO-1").expect("it is there").has_passed_untouched = true;
    let skipped = reviewed(full(Skipped, Absent), "SKIPPED", "no judge is configured");
    let degraded = reviewed(full(Degraded, Skipped), "DEGRADED", "local gave no answer");
    let alone = PipelineState { is_solo: true, ..full(Passed, Skipped) };
    let late = PipelineState { late_scripts: vec!["t/new.sh".to_owned()], ..done() };
    let commits = PipelineState { commit_gap: Some("there is no git".to_owned()), ..done() };
    let gaps = Some("nothing was changed; pyright (no answer)".to_owned());
    let completed = || LoopEnding::Completed;
    vec![
        case(done(), completed(), "is completed: 2 of 2 TODOs pass.", EVIDENCE),
        case(
            untouched,
            completed(),
            "is completed: 2 of 2 TODOs pass. The commands of TODO-1 passed before anything was changed, so \
             they prove nothing about the work.",
            EVIDENCE,
        ),
        case(
            skipped,
            completed(),
            "is done, but not verified (completed_unverified): 2 of 2 TODOs pass, but the review was skipped \
             (no judge is configured).",
            VERIFY,
        ),
        case(
            degraded,
            completed(),
            "is done, but not verified (completed_unverified): 2 of 2 TODOs pass, but the review gave no usable \
             answer (local gave no answer); the scenarios were not played often enough.",
            VERIFY,
        ),
        case(
            alone,
            completed(),
            "is done, but not verified (completed_unverified): 2 of 2 TODOs pass, but the scenarios were not \
             played, because --solo has no agent for that.",
            VERIFY,
        ),
        case(
            full(Passed, Degraded),
            completed(),
            "is done, but not verified (completed_unverified): 2 of 2 TODOs pass, but no step of a scenario \
             names a command, so the runs rest on the words of agents alone.",
            VERIFY,
        ),
        case(
            late,
            completed(),
            "is done, but not verified (completed_unverified): 2 of 2 TODOs pass, but scripts were written \
             after the approval, and nobody has read them (t/new.sh).",
            "Read them; then, at a terminal and before the agent's next turn, `moai-ralph pipeline resume` \
             continues it and `moai-ralph loop refreeze` freezes them.",
        ),
        case(
            commits,
            completed(),
            "is done, but not verified (completed_unverified): 2 of 2 TODOs pass, but the commits are not \
             verified (there is no git).",
            VERIFY,
        ),
        case(
            done(),
            LoopEnding::Unverified(gaps),
            "is done, but not verified (completed_unverified): 2 of 2 TODOs pass, but nothing but \
             specifications was changed; not everything was measured (pyright (no answer)).",
            VERIFY,
        ),
    ]
}

fn ends_of_unfinished_plans() -> Vec<EndCase> {
    let mut given_up = half();
    given_up.todos.get_mut("TODO-2").expect("it is there").is_given_up = true;
    let unapproved = PipelineState { approved: None, todos: BTreeMap::new(), ..half() };
    let extended = PipelineState { replans: 2, is_replanning: true, ..half() };
    let asked = PLAN.replace("`check one`\n", "`check one`\n- [H] it is nice\n");
    let asked = ApprovedPlan::new(asked, 2, PlanApprover::Person);
    let unasked = PipelineState { approved: Some(asked), ..done() };
    let uncommitted = PipelineState { commit_faults: 1, ..done() };
    let limit = LoopEnding::Limit;
    vec![
        case(half(), LoopEnding::Cancelled, "is cancelled, and its files stay as they are.", GO_ON),
        case(
            half(),
            limit(Status::Stalled),
            "ended unfinished (partial): there was no progress in 3 iterations; 1 of 2 TODOs passes; still to \
             be done: TODO-2.",
            GO_ON,
        ),
        case(
            half(),
            limit(Status::MaxIterations),
            "ended unfinished (partial): the limit of 60 iterations is reached; 1 of 2 TODOs passes; still to \
             be done: TODO-2.",
            GO_ON,
        ),
        case(
            half(),
            limit(Status::Oscillating),
            "ended unfinished (partial): the work went back and forth between the same states; 1 of 2 TODOs \
             passes; still to be done: TODO-2.",
            GO_ON,
        ),
        case(
            half(),
            limit(Status::Budget),
            "ended unfinished (partial): the token limit is reached; 1 of 2 TODOs passes; still to be done: \
             TODO-2.",
            MORE_TOKENS,
        ),
        case(
            half(),
            limit(Status::Gaming),
            "ended unfinished (partial): tests or checks were weakened again after a warning; 1 of 2 TODOs \
             passes; still to be done: TODO-2.",
            "Look at what changed; only you can continue it, with `/moai-ralph:pipeline-resume`, or \
             `moai-ralph pipeline resume` at a terminal.",
        ),
        case(
            given_up,
            LoopEnding::Failed(None),
            "ended unfinished (partial): 3 attempts at TODO-2 failed; 1 of 2 TODOs passes.",
            GO_ON,
        ),
        case(
            extended,
            LoopEnding::Failed(None),
            "ended unfinished (partial): a gate still fails, although the plan was extended 2 times; 1 of 2 \
             TODOs passes; still to be done: TODO-2; the plan had to be extended, and no extended plan was \
             approved.",
            GO_ON,
        ),
        case(
            unapproved,
            limit(Status::TimedOut),
            "ended unfinished (partial): the time limit is reached; the plan was not approved.",
            GO_ON,
        ),
        case(
            unasked,
            limit(Status::TimedOut),
            "ended unfinished (partial): the time limit is reached; 2 of 2 TODOs pass; nobody has agreed to \
             TODO-1/AC-2.",
            "`/moai-ralph:pipeline-resume` continues it, and you are asked again.",
        ),
        case(
            uncommitted,
            limit(Status::MaxIterations),
            "ended unfinished (partial): the limit of 60 iterations is reached; 2 of 2 TODOs pass; one fault \
             of the commits is left.",
            GO_ON,
        ),
        case(
            half(),
            LoopEnding::Gone,
            "ended unfinished (partial): the record of its loop is gone; 1 of 2 TODOs passes; still to be \
             done: TODO-2.",
            GO_ON,
        ),
    ]
}

fn ends_of_bugfixes() -> Vec<EndCase> {
    let bugfix = || begun(PipelineKind::Bugfix);
    let limit = LoopEnding::Limit;
    vec![
        case(
            bugfix(),
            LoopEnding::Completed,
            "is completed: everything that was measured is clean.",
            EVIDENCE,
        ),
        case(
            bugfix(),
            LoopEnding::Unverified(None),
            "is done, but not verified (completed_unverified): everything that was measured is clean, but not \
             everything was measured.",
            VERIFY,
        ),
        case(
            bugfix(),
            limit(Status::MaxIterations),
            "ended (escalated) and the fault is not fixed: 3 attempts were not enough.",
            PLAN_IT,
        ),
        case(
            bugfix(),
            limit(Status::Stalled),
            "ended (escalated) and the fault is not fixed: there was no progress in 3 iterations.",
            PLAN_IT,
        ),
        case(
            bugfix(),
            limit(Status::Budget),
            "ended unfinished (partial): the token limit is reached.",
            MORE_TOKENS,
        ),
    ]
}

fn ends() -> impl Iterator<Item = EndCase> {
    [ends_of_done_plans(), ends_of_unfinished_plans(), ends_of_bugfixes()].into_iter().flatten()
}

#[test]
fn every_end_is_told_in_whole_sentences() {
    for EndCase { before, ending, what, next } in ends() {
        let (after, _) = step(&before, PipelineEvent::LoopEnded(ending), 5);
        assert_eq!(ended(&after), format!("[moai-ralph] pipeline pipeline-1 {what} {next}"));
    }
}

#[test]
fn no_end_is_told_in_names_of_the_program_or_in_two_languages() {
    for EndCase { before, ending, .. } in ends() {
        let korean = PipelineState { goal: "파일을 만들어 주세요".to_owned(), ..before };
        let (after, _) = step(&korean, PipelineEvent::LoopEnded(ending), 5);
        let text = ended(&after);
        for name in ["max_iterations", "stalled", "oscillating", "timed_out", "gaming", "because"] {
            assert!(!text.contains(name), "{text}");
        }
        assert!(text.starts_with("[moai-ralph] 파이프라인") && text.ends_with('.'), "{text}");
    }
}

#[test]
fn the_status_shows_why_and_what_is_next() {
    let stalled = LoopEnding::Limit(Status::Stalled);
    let (after, _) = step(&half(), PipelineEvent::LoopEnded(stalled), 5);
    let lines = end_lines(&after);
    assert!(lines.starts_with("  why: there was no progress in 3 iterations; 1 of 2"), "{lines}");
    assert!(lines.contains("\n  next: `/moai-ralph:pipeline-resume`"), "{lines}");
    assert_eq!(end_lines(&half()), "");
}

#[test]
fn warnings_about_tests_that_are_not_named_are_counted() {
    let warnings = |total| PipelineState {
        test_warnings: vec!["a.py:1 x".to_owned()],
        test_warnings_total: total,
        ..begun(PipelineKind::Small)
    };
    let all = test_warnings(&warnings(1)).expect("a sentence");
    assert!(all.ends_with(": a.py:1 x."), "{all}");
    let first = test_warnings(&warnings(3)).expect("a sentence");
    assert!(first.ends_with(": a.py:1 x; and 2 more."), "{first}");
}
