//! `pipeline report` and `pipeline pr`: what they say about TODOs, items and requirements, as text and as JSON.

use super::workers::{WORKER, end, report};
use super::{GOAL, approve, begun, notice, pipeline, plan_path, slash, stop, stop_output};
use crate::support::{SESSION, Sandbox};

const PLAN: &str = "\
# PLAN: two files

### [ ] TODO 1: the first file
- Requirements: REQ-FILES-001
- Acceptance Criteria:
  - [A] `test -d .` passes
  - [A] `test -f one.txt` passes
  - [A] `test -f more.txt` passes

### [ ] TODO 2: the second file
- Requirements: REQ-FILES-002
- Acceptance Criteria:
  - [A] `test -f two.txt` passes
  - [H] it reads well
";

const SPEC: &str = "\
# Two files

### REQ-FILES-001: First
- The system shall write one file.

### REQ-FILES-002: Second
- The system shall write another file.
";

/// A pipeline whose plan and specification are approved.
fn specified(goal: &str) -> Sandbox {
    let sandbox = begun(goal);
    let plan = plan_path(&sandbox);
    sandbox.write(&plan, PLAN);
    sandbox.write(&plan.replace("plan.md", "spec.md"), SPEC);
    approve(&sandbox);
    sandbox
}

#[test]
fn a_report_shows_a_result_for_each_item_and_what_keeps_a_requirement_open() {
    let sandbox = specified(GOAL);
    sandbox.write("two.txt", "two\n");
    assert!(stop(&sandbox).is_some());
    let text = pipeline(&sandbox, &["report"]).stdout;
    for line in [
        "REQ-FILES-001 (First): not met, because of TODO-1\n",
        "AC-1 [A] test -d .: passed in the engine's last run\n",
        "AC-2 [A] test -f one.txt: does not pass\n",
        "AC-3 [A] test -f more.txt: not decided, because an earlier command does not pass\n",
        "REQ-FILES-002 (Second): not met, because of TODO-2/AC-2\n",
        "AC-2 [H] it reads well: nobody has answered\n",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
    slash(&sandbox, "pipeline-answer", "TODO-2/AC-2 yes");
    let text = pipeline(&sandbox, &["report"]).stdout;
    assert!(text.contains("REQ-FILES-002 (Second): its TODOs pass\n"), "{text}");
    assert!(text.contains("it reads well: met, answered by a person at 2"), "{text}");
    let document = pipeline(&sandbox, &["report", "--json"]).json();
    assert_eq!(document["schema"], "moai-ralph/pipeline-report@1");
    let items = |at: usize| {
        let items = document["requirements"][at]["todos"][0]["items"].as_array().expect("items");
        items.iter().map(|item| item["result"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(items(0), ["passed", "failed", "undecided"]);
    assert_eq!(items(1), ["passed", "met"]);
}

#[test]
fn a_failed_todo_is_failed_in_every_text() {
    let sandbox = specified(GOAL);
    for _ in 0..3 {
        end(&sandbox, WORKER, &report("TODO-1", "PASS"));
    }
    let held = stop(&sandbox).expect("the second TODO is open");
    assert!(held.contains("TODO-1 is [FAILED]: 3 attempts did not pass"), "{held}");
    let shown = pipeline(&sandbox, &["report"]).stdout;
    assert!(!shown.contains("[ ] TODO-1"), "{shown}");
    let request = pipeline(&sandbox, &["pr"]).stdout;
    assert!(request.contains("[FAILED] TODO-1"), "{request}");
    assert!(request.contains("REQ-FILES-001 (First): not met, because of TODO-1"), "{request}");
    let document = pipeline(&sandbox, &["report", "--json"]).json();
    assert_eq!(document["requirements"][0]["todos"][0]["status"], "failed");
    let document = pipeline(&sandbox, &["pr", "--json"]).json();
    assert_eq!(document["schema"], "moai-ralph/pull-request@1");
    assert!(document["body"].as_str().is_some_and(|body| body.contains("[FAILED] TODO-1")));
}

#[test]
fn changed_expectations_of_tests_are_named_at_the_end_and_in_the_report() {
    let sandbox = Sandbox::new();
    let write = |value: &str| {
        sandbox.write("a.py", &format!("def f():\n    return {value}\n"));
        let test = format!(
            "import unittest\n\nfrom a import f\n\n\nclass TestA(unittest.TestCase):\n    def test_f(self):\n        \
             self.assertEqual(f(), {value})\n"
        );
        sandbox.write("tests/test_a.py", &test);
    };
    write("1");
    sandbox.commit();
    let goal = ["start", "--kind", "small", "--goal", "write a function", "--session", SESSION];
    assert_eq!(pipeline(&sandbox, &goal).code, 0);
    let plan = "# PLAN: x\n\n### [ ] TODO 1: one\n- [A] `python3 -m unittest discover -s tests`\n";
    sandbox.write(&plan_path(&sandbox), plan);
    approve(&sandbox);
    write("5");
    let mut answer = stop_output(&sandbox);
    while answer["decision"] == "block" {
        answer = stop_output(&sandbox);
    }
    let named = "tests/test_a.py:8 test `TestA > test_f` expects `5` instead of `1`";
    let told = notice(&answer);
    assert!(told.contains("The guard only warns about these changes of tests"), "{told}");
    assert!(told.contains(named), "{told}");
    for command in ["report", "pr"] {
        let shown = pipeline(&sandbox, &[command]).stdout;
        assert!(shown.contains("changed expectations and other changes of tests"), "{shown}");
        assert!(shown.contains(named), "{shown}");
    }
}

#[test]
fn without_a_pipeline_the_refusal_names_what_starts_one() {
    let sandbox = Sandbox::new();
    sandbox.commit();
    for arguments in [&["report"][..], &["report", "--json"], &["plan"], &["pr"]] {
        let output = pipeline(&sandbox, arguments);
        assert_eq!(output.code, 1, "{arguments:?}: {output:#?}");
        assert!(output.stderr.contains("moai-ralph pipeline start --goal"), "{output:#?}");
    }
}

#[test]
fn a_pull_request_of_a_bugfix_has_neither_todos_nor_a_specification() {
    let sandbox = Sandbox::new();
    sandbox.write("readme.txt", "a project\n");
    sandbox.commit();
    let start = ["start", "--kind", "bugfix", "--goal", "x must be 2", "--session", SESSION];
    assert_eq!(pipeline(&sandbox, &start).code, 0);
    let text = pipeline(&sandbox, &["pr"]).stdout;
    assert!(text.contains("A bugfix without a plan (not ended yet)"), "{text}");
    for other in ["TODO", "Specification", "````"] {
        assert!(!text.contains(other), "{other}: {text}");
    }
    let shown = pipeline(&sandbox, &["report"]).stdout;
    assert!(shown.contains("`moai-ralph loop report loop-"), "{shown}");
}

#[test]
fn a_korean_pipeline_is_shown_in_korean() {
    let sandbox = specified("파일 두 개를 만들어 주세요");
    let shown = |arguments: &[&str]| pipeline(&sandbox, arguments).stdout;
    sandbox.write("two.txt", "two\n");
    assert!(stop(&sandbox).is_some());
    for (text, words) in [
        (shown(&["status"]), ["목표:", "계획:", "사람이 승인함", "실패:", "토큰:"]),
        (
            shown(&["report"]),
            ["요구사항", "통과하지 못함", "답한 사람 없음", "아직 끝나지 않음", "작업"],
        ),
        (
            shown(&["pr"]),
            ["엔진의 직접 실행", "명세:", "TODO 2개 중 1개 통과", "판정하지 않음", "통과"],
        ),
    ] {
        for word in words {
            assert!(text.contains(word), "{word}: {text}");
        }
        for english in ["goal:", "approved by", " fails: ", "not met", "tokens:", "Specification"] {
            assert!(!text.contains(english), "{english}: {text}");
        }
    }
}

#[test]
fn faults_of_plans_and_reports_are_named_in_the_language_of_the_goal() {
    let sandbox = begun("파일 두 개를 만들어 주세요");
    let path = plan_path(&sandbox);
    sandbox.write(&path, &PLAN.replace("### [ ] TODO 2", "- Dependencies: TODO-9\n### [ ] TODO 1"));
    let reason = stop(&sandbox).expect("the plan has faults");
    for part in ["TODO-1이 의존하는 TODO-9가 없습니다", "TODO-1이 3번째 줄에도 있습니다"]
    {
        assert!(reason.contains(part), "{part}: {reason}");
    }
    sandbox.write(&path, PLAN);
    sandbox.write(&path.replace("plan.md", "spec.md"), SPEC);
    approve(&sandbox);
    let held = end(&sandbox, WORKER, "done").expect("there is no report");
    assert!(held.contains("마지막 메시지에 JSON 객체가 없습니다"), "{held}");
    end(&sandbox, WORKER, &report("TODO-1", "PASS"));
    let shown = pipeline(&sandbox, &["report"]).stdout;
    assert!(shown.contains("TODO-1: 워커가 PASS로 보고함: `test -f one.txt` 실패:"), "{shown}");
}

#[test]
fn the_start_of_each_kind_says_who_writes_and_which_items_there_are() {
    let told = |options: &[&str]| {
        let sandbox = Sandbox::new();
        sandbox.write("readme.txt", "a project\n");
        sandbox.commit();
        let start = [&["start", "--goal", GOAL, "--session", SESSION], options].concat();
        pipeline(&sandbox, &start).stdout
    };
    let full = told(&["--kind", "full"]);
    for part in ["`- [S] SC-1: title`", "`- [H] text`", "the gates follow", "Do TODO-1"] {
        assert!(full.contains(part), "{part}: {full}");
    }
    let small = told(&["--kind", "small", "--solo"]);
    assert!(small.contains("`- [H] text`") && !small.contains("[S]"), "{small}");
    assert!(!small.contains("worker agent"), "{small}");
    let parallel = told(&["--kind", "small", "--workers", "2"]);
    assert!(parallel.contains("Up to 2 independent TODOs"), "{parallel}");
    assert!(!parallel.contains("worker agent"), "{parallel}");
}
