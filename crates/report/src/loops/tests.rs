//! The texts of a loop.

use super::*;
use moai_base::evidence::{SensorKind, SensorReading, TestTotals};
use moai_base::limits::{FAILED_LINES_MAX, REASON_BYTES_MAX};
use moai_base::samples::finding;
use moai_base::verdict::{Cause, Gap};
use moai_loops::options::LoopOptions;
use moai_loops::progress::{ProgressSignals, weigh};
use moai_loops::samples::state;
use moai_loops::state::{Iteration, Mode, PauseReason, RemainingWork, SensorSummary, StopBasis};

#[test]
fn a_blocked_stop_says_what_is_wrong_what_failed_and_what_is_unknown() {
    let gap = Gap::new(Cause::Loading, "it is still loading the project");
    let evidence = Evidence {
        findings: vec![finding("a.py", 2, "x")],
        readings: vec![
            SensorReading { gap: Some(gap), ..SensorReading::clean("pyright", SensorKind::Lsp, 1) },
            SensorReading {
                dirty: true,
                output: Some("FAIL test_a\nexpected 1\n(exit status 1)".into()),
                ..SensorReading::clean(".claude/autochecks.sh", SensorKind::Check, 0)
            },
        ],
        ..Evidence::default()
    };
    let reasons = HoldReasons { is_dirty: true, ..HoldReasons::default() };
    let plain = LoopState { iteration: 1, promise: None, ..state() };
    let text = hold_reason(&plain, &plain, &evidence, &reasons, IterationNotes::default());
    insta::assert_snapshot!(text, @r"
    [moai-ralph] loop loop-1: not done yet. Iteration 2 of 3 begins.
    Check failed: .claude/autochecks.sh. Its output:
      | FAIL test_a
      | expected 1
      | (exit status 1)
    Still wrong: 1 error
      error a.py:3:1 pyright(x): x is wrong
    Not measured: pyright (it is still loading the project)
    Task:
    fix it
    The loop ends when everything measured is clean.
    ");
    let text = hold_reason(&state(), &state(), &evidence, &reasons, IterationNotes::default());
    let (feedback, rest) = text.split_once("\nTask:\nfix it\n").expect("the task is repeated");
    assert!(feedback.contains("a.py:3:1") && rest.contains("one step from REMAINING_GAP"));
    assert!(text.ends_with("this line alone:\n<promise>DONE</promise>"), "{text}");
}

#[test]
fn a_blocked_stop_counts_the_failures_that_it_does_not_show() {
    let failed = (0..FAILED_LINES_MAX + 2).map(|number| format!("FAILED test_{number}\n"));
    let evidence = Evidence {
        readings: vec![SensorReading {
            dirty: true,
            output: Some(failed.collect()),
            ..SensorReading::clean("pytest", SensorKind::Check, 0)
        }],
        ..Evidence::default()
    };
    let reasons = HoldReasons { is_dirty: true, ..HoldReasons::default() };
    let plain = LoopState { iteration: 1, promise: None, ..state() };
    let text = hold_reason(&plain, &plain, &evidence, &reasons, IterationNotes::default());
    let last = FAILED_LINES_MAX - 1;
    assert!(text.contains(&format!("  | FAILED test_{last}\n  … and 2 more\n")), "{text}");
}

#[test]
fn each_end_has_its_own_honest_words() {
    let words = |status, note: Option<&str>| {
        end_notice(&LoopState { status, iteration: 3, note: note.map(str::to_owned), ..state() })
    };
    assert!(words(Status::Completed, None).contains("completed after 3 iterations"));
    let unverified = words(Status::CompletedUnverified, Some("pyright (not installed)"));
    assert!(unverified.contains("not measured: pyright (not installed)"), "{unverified}");
    assert!(!unverified.contains("completed"), "{unverified}");
    for (status, _) in Status::NAMES.into_iter().filter(|(status, _)| !status.is_active()) {
        let said = words(status, Some("why"));
        let is_success = said.contains("completed") && !said.contains("not completed");
        assert_eq!(is_success, status == Status::Completed, "{said}");
    }
    assert!(words(Status::Gaming, Some("G01")).contains("guard: G01"));
    assert!(
        words(Status::Failed, Some("auto could not be merged")).contains("could not be merged")
    );
}

#[test]
fn the_command_that_continues_is_one_that_works_and_is_named_once() {
    let note = Some("G01".to_owned());
    let gamed = LoopState { status: Status::Gaming, note: note.clone(), ..state() };
    let alone = end_notice(&gamed);
    assert!(alone.contains("guard allow ID --reason TEXT"), "{alone}");
    assert!(alone.ends_with("continue: moai-ralph loop resume"), "{alone}");
    let since = LoopState { base: Some("0f1e".to_owned()), ..gamed.clone() };
    assert!(end_notice(&since).contains("ids: moai-ralph guard --json --base 0f1e)"), "{alone}");
    let options = LoopOptions { pipeline: Some("pipeline-1".to_owned()), ..gamed.options.clone() };
    let gamed = LoopState { options, ..gamed };
    let of_pipeline = end_notice(&gamed);
    assert!(of_pipeline.ends_with("continue: moai-ralph pipeline resume"), "{of_pipeline}");
    let with_note =
        |note: &str| end_notice(&LoopState { note: Some(note.into()), ..gamed.clone() });
    let exam = with_note("G19");
    assert!(exam.contains("moai-ralph pipeline resume, then moai-ralph loop refreeze"), "{exam}");
    assert!(!exam.contains("guard allow") && !exam.contains("guard --json"), "{exam}");
    let both = with_note("G19, G02");
    assert!(both.contains("guard allow ID --reason TEXT"), "{both}");
    assert!(both.ends_with("the frozen checks: moai-ralph loop refreeze"), "{both}");
    let pause_reason = Some(PauseReason::ExamChanged);
    let paused = LoopState { status: Status::Paused, pause_reason, note, ..state() };
    let said = end_notice(&paused);
    assert_eq!(said.matches("moai-ralph loop resume").count(), 1, "{said}");
}

fn iteration(number: u32, errors: usize) -> Iteration {
    let weight = Some(errors as u64 * 8);
    let checks = "none".into();
    Iteration { number, errors, checks, weight, ..Iteration::default() }
}

#[test]
fn an_end_names_the_best_iteration_and_how_to_have_it_back() {
    let checkpoint = Some("refs/x".to_owned());
    let history =
        vec![Iteration { checkpoint, ..iteration(1, 1) }, iteration(2, 3), iteration(3, 4)];
    let remaining = RemainingWork { errors: 4, ..RemainingWork::default() };
    let stalled =
        LoopState { status: Status::Stalled, iteration: 3, history, remaining, ..state() };
    insta::assert_snapshot!(end_notice(&stalled), @"[moai-ralph] loop loop-1 stopped: no progress in 3 iterations; not completed in 3 iterations: 4 errors, 0 warnings left; best: iteration 1 (1 error, 0 warnings, checks none; restore: moai-ralph loop restore loop-1 --to best); continue: moai-ralph loop resume");
}

#[test]
fn a_report_has_five_parts_and_hides_no_gap() {
    let sensed = sensed("pyright 1.1", SensorKind::Lsp, "unmeasured", 2);
    let basis = StopBasis {
        last_words: "All 12 tests pass.".into(),
        is_claimed: Some(true),
        sensors: vec![sensed],
        gaps: vec!["pyright (no answer)".into(), "judge (not asked)".into()],
        contradictions: vec!["12 tests were claimed, 10 ran".into()],
        files: 2,
        ..StopBasis::default()
    };
    let unverified = LoopState {
        mode: Mode::Judge,
        status: Status::CompletedUnverified,
        iteration: 2,
        options: LoopOptions { max_tokens: Some(5), ..state().options },
        history: vec![
            iteration(1, 3),
            Iteration { guard_codes: vec!["G01".into()], ..iteration(2, 0) },
        ],
        remaining: RemainingWork { older: 1, ..RemainingWork::default() },
        note: Some("pyright (no answer); judge (not asked)".into()),
        basis,
        ..state()
    };
    insta::assert_snapshot!(loop_report(&unverified, None), @r"
    [moai-ralph] loop loop-1 ended unverified after 2 iterations: no new errors found, but not measured: pyright (no answer); judge (not asked)
    Claim:
      - the agent claimed completion with its promise
      - last message: All 12 tests pass.
      - contradicts the measurement: 12 tests were claimed, 10 ran
    Evidence:
      - pyright 1.1: unmeasured (2 files)
      - 0 errors, 0 warnings left
      - best: iteration 1 (3 errors, 0 warnings, checks none)
    Before:
      - at the first Stop: 3 errors, 0 warnings, checks none
      - 1 error from before the loop
    Gaps:
      - pyright (no answer)
      - judge (not asked)
      - tokens: not counted, so their limit was not enforced
    Residual risk:
      - errors in what was not measured
      - a judge is a model and can be wrong
      - guard findings along the way: G01
    ");
}

#[test]
fn an_agent_hears_why_it_goes_on_and_how_it_is_doing() {
    let signals = ProgressSignals {
        stalled_for: 2,
        worse_than: Some(1),
        is_no_op: true,
        flips: vec![String::new()],
        ..ProgressSignals::default()
    };
    let reasons = HoldReasons {
        rejected: vec!["the parser has no test".into()],
        needs_new_strategy: true,
        conflict: Some("fix a.py".into()),
        research_missing: vec!["APPROACH (50 characters at least)".into()],
        contradictions: vec!["all tests pass: 2 failed".into()],
        waiting_gap: Some(Gap::new(Cause::TimedOut, "the judge did not answer within 60 s")),
        signals,
        ..HoldReasons::default()
    };
    let evidence = Evidence { findings: vec![finding("a.py", 2, "x")], ..Evidence::default() };
    let remaining = ["a second test".to_owned()];
    let notes = IterationNotes { remaining: &remaining, too_many_lines: Some(90) };
    let plain = LoopState { promise: None, ..state() };
    let text = hold_reason(&plain, &plain, &evidence, &reasons, notes);
    insta::assert_snapshot!(text, @r"
    [moai-ralph] loop loop-1: not done yet. Iteration 1 of 3 begins.
    No progress for two iterations. Take another approach: question what you assume about the cause. One more iteration like this ends the loop.
    This is worse than iteration 1.
    No file changed in the last two iterations, so the result cannot differ.
    Keeps coming back: error a.py:3:1 pyright(x): x is wrong
    Still wrong: 1 error
      error a.py:3:1 pyright(x): x is wrong
    Not measured: the judge did not answer within 60 s
    End your turn again shortly; the missing measurement is retried.
    Rejected 5 times in a row: do not refine this approach again. Read all of JUDGE_FEEDBACK.md, name the common cause of the rejections in progress.txt, and take an approach without it; record the old one as rejected.
    The judge did not approve:
      - the parser has no test
    Your message contradicts the measurement:
      - all tests pass: 2 failed
    … truncated: see moai-ralph check
    fix a.py
    Task:
    fix it
    The loop ends when everything measured is clean.
    ");
    let back = ProgressSignals { oscillates: Some((1, 2)), ..ProgressSignals::default() };
    let back = HoldReasons { signals: back, ..HoldReasons::default() };
    let told = hold_reason(&state(), &state(), &evidence, &back, IterationNotes::default());
    assert!(
        told.contains("the problems or the files of iteration 1; iteration 2 had others"),
        "{told}"
    );
    let told = yield_notice(&LoopState { iteration: 9, ..state() }, &evidence, &back);
    assert!(told.contains("CLAUDE_CODE_STOP_HOOK_BLOCK_CAP") && told.contains("keeps running"));
}

#[test]
fn an_end_at_the_limit_says_what_stood_in_the_way() {
    let over = LoopState { status: Status::MaxIterations, iteration: 3, ..state() };
    let sensor = |verdict: &str| sensed("judge", SensorKind::Judge, verdict, 1);
    let with = |is_claimed, verdict| {
        let sensors = vec![sensor(verdict)];
        let basis = StopBasis { is_claimed, sensors, ..StopBasis::default() };
        end_notice(&LoopState { basis, ..over.clone() })
    };
    assert!(with(Some(false), "clean").contains("; completion was not claimed"));
    assert!(with(Some(true), "dirty").contains("; the judge did not approve"));
    let neither = with(None, "clean");
    assert!(!neither.contains("promise") && !neither.contains("judge"), "{neither}");
}

#[test]
fn a_branch_is_named_with_the_branch_it_belongs_to() {
    let options = LoopOptions {
        base_branch: Some("main".into()),
        ..LoopOptions::defaults_for(Mode::Autonomous)
    };
    let branch = Some("gulf/auto-1".to_owned());
    let of =
        |status| LoopState { status, options: options.clone(), branch: branch.clone(), ..state() };
    let done = of(Status::Completed);
    assert!(end_notice(&done).ends_with("; merged into main"), "{}", end_notice(&done));
    assert!(loop_report(&done, None).contains("gulf/auto-1 is merged into main"));
    let over = of(Status::MaxIterations);
    assert!(end_notice(&over).contains("; gulf/auto-1 is not merged"), "{}", end_notice(&over));
    assert!(loop_report(&over, None).contains("gulf/auto-1 is not merged into main"));
    assert!(loop_status(&of(Status::Running)).contains("branch: gulf/auto-1, for main\n"));
}

#[test]
fn what_the_judge_noticed_is_told_with_success_and_in_the_report() {
    let noticed = vec!["instruction_in_data at app.py:3".to_owned()];
    let basis = StopBasis { observations: noticed, ..StopBasis::default() };
    let done = LoopState { status: Status::Completed, basis, ..state() };
    assert!(end_notice(&done).contains("please review: instruction_in_data at app.py:3"));
    assert!(loop_report(&done, None).contains("noticed by the judge: instruction_in_data"));
}

#[test]
fn forced_iterations_are_not_said_to_end_by_themselves() {
    let options = LoopOptions { force_max: true, ..LoopOptions::defaults_for(Mode::Basic) };
    let forced = LoopState { options, promise: None, ..state() };
    let reasons = HoldReasons { is_acknowledged: true, ..HoldReasons::default() };
    let text =
        hold_reason(&forced, &forced, &Evidence::default(), &reasons, IterationNotes::default());
    assert!(!text.contains("The loop ends") && text.contains("runs all 3 iterations"), "{text}");
}

#[test]
fn output_that_is_cut_names_the_command_that_shows_it() {
    let check = SensorReading {
        dirty: true,
        output: Some("line\n".repeat(9_000)),
        ..SensorReading::clean("npm test", SensorKind::Check, 0)
    };
    let failed = Evidence { readings: vec![check], ..Evidence::default() };
    let text = hold_reason(
        &state(),
        &state(),
        &failed,
        &HoldReasons::default(),
        IterationNotes::default(),
    );
    assert!(text.contains("Check failed: npm test. Its output:\n  | line\n"), "{text}");
    let reasons = HoldReasons { rejected: vec!["why ".repeat(40); 9], ..HoldReasons::default() };
    let text = hold_reason(&state(), &state(), &failed, &reasons, IterationNotes::default());
    assert!(text.contains("moai-ralph loop checks"), "{text}");
}

fn sensed(sensor: &str, kind: SensorKind, verdict: &str, files: usize) -> SensorSummary {
    let kind = kind.as_str().to_owned();
    let (sensor, verdict) = (sensor.to_owned(), verdict.to_owned());
    SensorSummary { sensor, kind, verdict, files, tests_passed: None }
}

/// A loop that decided a Stop in which these were wrong.
fn after_a_stop(errors: &[Finding]) -> LoopState {
    let evidence = Evidence { findings: errors.to_vec(), ..Evidence::default() };
    let errors_seen = weigh(&evidence, None).errors;
    let history = vec![Iteration { errors_seen, ..iteration(1, errors.len()) }];
    LoopState { history, iteration: 2, promise: None, ..state() }
}

fn errors(count: u32) -> Vec<Finding> {
    let mut errors: Vec<Finding> =
        (0..count).map(|line| finding("a.py", line, &format!("code{line}"))).collect();
    moai_base::finding::assign_fingerprints(&mut errors);
    errors
}

fn said(before: &LoopState, findings: Vec<Finding>) -> String {
    let evidence = Evidence { findings, ..Evidence::default() };
    let reasons = HoldReasons { is_dirty: true, ..HoldReasons::default() };
    hold_reason(before, before, &evidence, &reasons, IterationNotes::default())
}

#[test]
fn a_later_stop_lists_what_is_new_and_counts_the_rest() {
    let all = errors(5);
    let text = said(&after_a_stop(&all[..4]), all.clone());
    assert!(text.contains("New since the last Stop: 1 error\n  error a.py:5:1 "), "{text}");
    assert!(text.contains("Still wrong: 4 errors (list: moai-ralph check)\n"), "{text}");
    assert!(!text.contains("a.py:1:1"), "{text}");
    // Nothing new: the agent still learns where to begin.
    let text = said(&after_a_stop(&all), all.clone());
    assert!(text.contains("Still wrong: 5 errors\n  error a.py:1:1 "), "{text}");
    assert!(!text.contains("New since"), "{text}");
    let very_many = errors(300);
    let text = said(&after_a_stop(&very_many), very_many);
    assert!(text.contains("Still wrong: 300 errors\n") && !text.contains("New since"), "{text}");
}

#[test]
fn warnings_that_hold_nothing_are_not_called_wrong() {
    let mut findings = errors(3);
    for finding in &mut findings {
        finding.severity = Severity::Warning;
    }
    let text = said(&LoopState { promise: None, ..state() }, findings);
    assert!(text.contains("\nNot blocking: 3 warnings\n"), "{text}");
    assert!(!text.contains("Still wrong"), "{text}");
}

#[test]
fn a_reason_stays_below_its_bound_whatever_is_wrong() {
    for prompt in ["fix it", "로그인을 고쳐줘"] {
        for mode in [Mode::Basic, Mode::Judge, Mode::Autonomous] {
            let mut before = after_a_stop(&errors(1));
            before.prompt = prompt.to_owned();
            before.promise = Some("DONE".to_owned());
            before.mode = mode;
            before.options = LoopOptions::defaults_for(mode);
            let reading = |name: &str, kind| SensorReading {
                dirty: true,
                gap: Some(Gap::new(Cause::Crashed, "가".repeat(300))),
                output: Some("FAILED tests/test_a.py::test_x - assert 1 == 2\n".repeat(90)),
                tests: Some(TestTotals { passed: 20, failed: 4 }),
                ..SensorReading::clean(name, kind, 1)
            };
            let evidence = Evidence {
                findings: errors(500),
                readings: vec![
                    reading("pytest", SensorKind::Check),
                    reading("npm test", SensorKind::Check),
                    reading("pyright", SensorKind::Lsp),
                ],
                older: 7,
                ..Evidence::default()
            };
            let signals = ProgressSignals {
                oscillates: Some((1, 2)),
                is_no_op: true,
                ..ProgressSignals::default()
            };
            let reasons = HoldReasons {
                is_dirty: true,
                rejected: vec!["because ".repeat(50); 30],
                contradictions: vec!["all tests pass: 4 failed".to_owned(); 9],
                needs_new_strategy: true,
                signals,
                ..HoldReasons::default()
            };
            let text =
                hold_reason(&before, &before, &evidence, &reasons, IterationNotes::default());
            let own = text.len() - prompt.len() - "<promise>DONE</promise>".len();
            assert!(own <= REASON_BYTES_MAX, "{own} bytes: {text}");
            // Counts and the tests that failed survive the cut, in this order.
            let at = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
            let (first, second) = (at("FAILED tests/test_a.py"), at("pytest"));
            assert!(second < first && text.matches("FAILED").count() <= FAILED_LINES_MAX, "{text}");
            at(if prompt == "fix it" {
                "Still wrong: 1 error"
            } else {
                "남은 문제: 오류 1개"
            });
        }
    }
}

#[test]
fn an_end_names_what_it_rests_on_in_one_line() {
    let pytest =
        SensorSummary { tests_passed: Some(24), ..sensed("pytest", SensorKind::Check, "clean", 0) };
    let sensors = vec![
        sensed("pyright 1.1.400", SensorKind::Lsp, "clean", 3),
        sensed("ruff", SensorKind::Lsp, "unmeasured", 3),
        sensed("scan", SensorKind::Scan, "clean", 3),
        sensed("exam", SensorKind::Guard, "clean", 0),
        sensed("guard", SensorKind::Guard, "clean", 3),
        pytest,
    ];
    let basis = StopBasis {
        sensors,
        unrequested_criteria: vec!["build_success".to_owned()],
        ..StopBasis::default()
    };
    let done = LoopState { status: Status::Completed, iteration: 3, basis, ..state() };
    insta::assert_snapshot!(end_notice(&done), @"[moai-ralph] loop loop-1 completed after 3 iterations: 24 tests passed (pytest), pyright on 3 files, scan, guard; not run: build");
    let korean = LoopState { prompt: "고쳐줘".to_owned(), ..done };
    insta::assert_snapshot!(end_notice(&korean), @"[moai-ralph] 루프 loop-1 완료(반복 3회): 테스트 24개 통과(pytest), pyright(파일 3개 대상), 스캔, 가드; 실행하지 않음: 빌드");
    let status = Status::CompletedUnverified;
    let note = Some("ruff (not installed)".to_owned());
    let missing = LoopState { status, note, prompt: "fix it".to_owned(), ..korean };
    assert!(end_notice(&missing).ends_with("guard; not run: build"), "{}", end_notice(&missing));
}

#[test]
fn the_user_hears_at_the_start_what_ends_the_loop_and_what_it_is_held_to() {
    let plain = LoopState { promise: None, ..state() };
    let plain = LoopState { until: UntilCondition::Clean, ..plain };
    let notice = started_notice(&plain, &["npm test".to_owned()]);
    insta::assert_snapshot!(notice, @"[moai-ralph] loop loop-1 started: ends when diagnostics are clean and the checks pass, or after 3 iterations; checks: npm test");
    let korean = LoopState { prompt: "로그인을 고쳐줘".to_owned(), ..state() };
    insta::assert_snapshot!(started_notice(&korean, &[]), @"[moai-ralph] 루프 loop-1 시작: 측정 결과가 모두 깨끗하고 에이전트가 <promise>DONE</promise>를 쓰면 종료, 최대 반복 3회; 검사: 없음");
    let text = start_instructions(&korean, &["npm test".to_owned()]);
    assert!(text.contains("검사: npm test") && !text.contains("Task"), "{text}");
}

#[test]
fn a_loop_that_begins_with_research_is_told_the_work_as_well() {
    let options = LoopOptions::defaults_for(Mode::Judge);
    let judged = LoopState { mode: Mode::Judge, options, ..state() };
    let text = start_instructions(&judged, &[]);
    let (research, work) = text.split_once("From the next iteration on:").expect("both phases");
    assert!(research.contains("change no source file") && work.contains("commit"), "{text}");
}
