//! Claims that a measurement contradicts, and the many sentences that it must not accuse.

use super::*;
use moai_base::samples::finding;

fn run(name: &str, output: &str) -> SensorReading {
    SensorReading {
        dirty: true,
        output: Some(output.to_owned()),
        ..SensorReading::clean(name, SensorKind::Check, 0)
    }
}

fn failed(output: &str) -> Evidence {
    Evidence { readings: vec![run("npm test", output)], ..Evidence::default() }
}

fn check(message: &str, evidence: &Evidence, expected: &[&str]) {
    let found = contradictions(message, evidence);
    let measured: Vec<&str> = found.iter().map(|it| it.measured.as_str()).collect();
    assert_eq!(measured, expected, "{message}");
}

const RED: &str = "npm test failed (2 failed, 40 passed)";

#[test]
fn a_claim_contradicted_by_a_failed_run_is_reported() {
    let evidence = failed("Tests: 2 failed, 40 passed, 42 total");
    for claim in [
        "All tests pass.",
        "I fixed it; all tests now pass.",
        "**All 42 tests are passing!**",
        "Done. All of the tests pass now.",
        "42 tests passed",
        "Result: 41 passed, 0 failed",
        "There are no failing tests.",
        "모든 테스트가 통과합니다.",
        "전체 테스트 통과",
        "테스트가 모두 통과했습니다!",
        "테스트 42개 모두 통과했습니다.",
        "테스트42개 통과",
        "42개 테스트가 통과했습니다.",
    ] {
        check(claim, &evidence, &[RED]);
    }
    let found = contradictions("Ready.\nAll tests pass. Bye.", &evidence);
    assert_eq!(found[0].claim, "All tests pass.");
}

#[test]
fn hedged_partial_quoted_and_true_claims_are_ignored() {
    let evidence = failed("Tests: 2 failed, 40 passed, 42 total");
    for fair in [
        "Not all tests pass.",
        "All tests pass except two.",
        "I will make all tests pass.",
        "When all tests pass, I stop.",
        "Do all tests pass?",
        "All auth tests pass.",
        "All unit tests pass.",
        "All tests pass in auth_test.py.",
        "> All tests pass.",
        "```\nAll tests pass.\n```",
        "The goal: all tests pass.",
        "Earlier you said \"all tests pass\".",
        "40 tests passed.",
        "All tests passed initially.",
        "All tests passed before this change.",
        "12 tests pass.",
        "2 failed, 40 passed",
        "모든 테스트가 통과하면 끝냅니다.",
        "모든 테스트가 통과하지 않습니다.",
        "모든 테스트가 통과해야 합니다.",
        "아직 모든 테스트가 통과한 것은 아닙니다.",
        "로그인 테스트 3개 통과했습니다.",
        "All tests are in tests/.",
        "No errors in app.py.",
    ] {
        check(fair, &evidence, &[]);
    }
}

#[test]
fn a_failed_linter_does_not_contradict_claims_about_tests() {
    let lint =
        Evidence { readings: vec![run("npm run lint", "x.js:1 bad")], ..Evidence::default() };
    check("All tests pass.", &lint, &[]);
    check("All checks pass.", &lint, &["npm run lint failed"]);
    check("모든 검사가 통과했습니다.", &lint, &["npm run lint failed"]);
    let script = Evidence {
        readings: vec![run(".claude/autochecks.sh", "test result: FAILED. 3 passed; 1 failed")],
        ..Evidence::default()
    };
    check("All tests pass.", &script, &[".claude/autochecks.sh failed (1 failed, 3 passed)"]);
}

#[test]
fn without_errors_means_without_errors() {
    let evidence = Evidence { findings: vec![finding("a.py", 2, "x")], ..Evidence::default() };
    for claim in
        ["No errors remain.", "0 errors", "There are no more errors.", "이제 오류가 없습니다."]
    {
        check(claim, &evidence, &["1 error"]);
    }
    for fair in [
        "No type errors.",
        "No new errors.",
        "No errors in b.py.",
        "타입 오류가 없습니다.",
        "오류가 없으면 끝냅니다.",
        "No errors were found by the linter.",
    ] {
        check(fair, &evidence, &[]);
    }
}

#[test]
fn unmeasured_claims_are_not_contradicted() {
    check("All tests pass. No errors.", &Evidence::default(), &[]);
    let clean = SensorReading::clean("npm test", SensorKind::Check, 0);
    check("All tests pass.", &Evidence { readings: vec![clean], ..Evidence::default() }, &[]);
    // Several counts in one output, of which some may be cut away.
    let many =
        failed("test result: ok. 3 passed; 0 failed\ntest result: FAILED. 1 passed; 1 failed");
    check("4 tests passed.", &many, &[]);
    check("All tests pass.", &many, &["npm test failed"]);
    check("All tests pass.", &failed("Test Suites: 1 failed, 3 passed"), &["npm test failed"]);
}

#[test]
fn a_sentence_with_two_claims_is_held_against_both() {
    let evidence = Evidence { findings: vec![finding("a.py", 0, "x")], ..Evidence::default() };
    let claim = "All tests pass and there are no errors.";
    check(claim, &evidence, &["1 error"]);
    check("All tests pass.", &evidence, &[]);
    check("All checks pass and there are no errors.", &evidence, &["1 error"]);
    check(claim, &failed("Tests: 2 failed, 40 passed, 42 total"), &[RED]);
}
