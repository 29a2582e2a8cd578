//! Pipelines in the host: a plan, a worker that lies and is caught, boxes that the engine sets, a fault
//! that needs a plan, and a pipeline that is cancelled and continued.

use serde_json::{Value, json};

use crate::host::{Run, checkout, resume, resume_with_agent, run, run_with_dialog};
use crate::model::{SideScript, Turn, texts};
use crate::support::{PROGRAM, Sandbox, finish};

const PROMPT: &str = "uam small 방식으로 인사 모듈 두 개를 만들어 줘";
const PLAN_FILE: &str = ".moai/specs/SPEC-UAM-001/plan.md";
const PLAN: &str = "\
# PLAN: 인사

### [ ] TODO 1: 첫 번째 인사
- Files: src/one.txt
- [A] `grep -q hello src/one.txt`

### [ ] TODO 2: 두 번째 인사
- Dependencies: TODO-1
- Files: src/two.txt
- [A] `grep -q hello src/two.txt`
";
/// An agent of the project, so that the test needs no other file of the plugin.
const WORKER: &str = "---\nname: worker\ndescription: does one TODO\n---\nYOU_ARE_THE_WORKER\n";
/// Words of its instructions.
const WORKER_MARKER: &str = "YOU_ARE_THE_WORKER";

fn report(todo: &str) -> Turn {
    Turn::text(
        &json!({
            "todo_id": todo,
            "status": "PASS",
            "outputs": {"files_changed": [], "summary": "인사를 썼습니다"},
            "acceptance_criteria": [{"id": "AC-1", "status": "PASS"}],
            "learnings": [], "issues": [], "decisions": [],
        })
        .to_string(),
    )
}

fn status(sandbox: &Sandbox) -> Value {
    let output = sandbox.run(&["pipeline", "status", "--json"]);
    assert_eq!(output.code, 0, "{output:#?}");
    output.json()
}

/// A session in which the agent has written the plan, asked for its approval, and waits.
fn planned(sandbox: &Sandbox) -> Run {
    sandbox.write(".claude/agents/worker.md", WORKER);
    sandbox.commit();
    let turns = vec![
        Turn::write(&sandbox.path(PLAN_FILE), PLAN),
        Turn::bash(&format!("{PROGRAM} pipeline approve")),
        Turn::text("승인을 기다립니다"),
    ];
    let run = run(sandbox, checkout(), PROMPT, turns);
    run.assert_finished();
    run.assert_first_told_in(1, "계획부터 시작합니다");
    run.assert_first_told_in(3, "에이전트가 승인할 수는 없습니다");
    assert_eq!(status(sandbox)["phase"], "plan", "an agent does not approve");
    run
}

#[test]
fn a_small_one_in_korean_catches_a_worker_that_lies() {
    let sandbox = Sandbox::new();
    let session = planned(&sandbox).session_id();
    let (one, two) = (sandbox.path("src/one.txt"), sandbox.path("src/two.txt"));
    let turns = vec![
        Turn::write(&one, "print('hello')\n"),
        Turn::agent("worker", "TODO-1"),
        Turn::text("워커를 기다립니다"),
        Turn::agent("worker", "TODO-2"),
        Turn::text("워커를 기다립니다"),
        Turn::text("끝났습니다"),
    ];
    let side = SideScript {
        marker: WORKER_MARKER,
        turns: vec![
            report("TODO-1"),
            // Its task is a different TODO.
            Turn::write(&two, "print('hello')\n"),
            Turn::write(&one, "print('hello')\n"),
            report("TODO-1"),
            Turn::write(&two, "print('hello')\n"),
            report("TODO-2"),
        ],
    };
    let run = resume_with_agent(&sandbox, &session, "/moai-ralph:moai-run", turns, side);
    run.assert_finished();
    run.assert_first_told_in(1, "승인했고");
    run.assert_first_told_in(2, "소스 파일은 워커가 씁니다");
    let held = run.model.side_requests();
    let told = |number: usize| -> String {
        let messages = held[number]["messages"].as_array().expect("messages").clone();
        messages.iter().flat_map(|message| texts(&message["content"])).collect()
    };
    assert!(told(1).contains("3번 중 1번째 시도"), "{}", told(1));
    assert!(told(2).contains("그 파일: src/one.txt"), "{}", told(2));
    let ended = status(&sandbox);
    if (&ended["outcome"], &ended["todos"]["done"]) != (&json!("completed"), &json!(2)) {
        run.fail(&format!("the pipeline is not completed: {ended:#}"));
    }
    assert_eq!(ended["approved_by"], "person");
    assert_eq!(sandbox.read(PLAN_FILE), PLAN.replace("### [ ]", "### [x]"));
    let report = sandbox.run(&["pipeline", "report"]).stdout;
    assert!(report.contains("워커가 PASS로 보고함"), "{report}");
}

#[test]
fn a_fault_that_three_attempts_do_not_fix_is_escalated() {
    let sandbox = Sandbox::new();
    sandbox.write(
        ".moai/config/sections/ralph.yaml",
        "ralph:\n  loop:\n    checks: [{name: unit, command: [test, -f, fixed.txt]}]\n",
    );
    sandbox.commit();
    let attempt = |number: u32| Turn::write(&sandbox.path("try.txt"), &format!("{number}\n"));
    let turns = vec![
        attempt(1),
        Turn::text("fixed, I think"),
        attempt(2),
        Turn::text("now it is fixed"),
        attempt(3),
        Turn::text("it must be fixed"),
    ];
    let prompt = "/moai-ralph:uam-bugfix the program crashes at its start";
    let run = run(&sandbox, checkout(), prompt, turns);
    run.assert_finished();
    run.assert_first_told_in(1, "3 attempts");
    run.assert_first_told_in(3, "unit");
    let ended = status(&sandbox);
    if ended["outcome"] != "escalated" {
        run.fail(&format!("it is not escalated: {ended:#}"));
    }
    let notices: Vec<String> = run.stream.iter().map(Value::to_string).collect();
    assert!(notices.iter().any(|line| line.contains("--kind full")), "a plan is proposed");
    // The user follows the proposal.
    let turns = vec![Turn::text("I will write a plan")];
    let planned = resume(&sandbox, &run.session_id(), "/moai-ralph:alfred fix the crash", turns);
    planned.assert_first_told_in(1, "begins with a plan");
    assert_eq!(status(&sandbox)["kind"], "full");
}

#[test]
fn one_that_is_cancelled_goes_on_where_it_was() {
    let sandbox = Sandbox::new();
    let session = planned(&sandbox).session_id();
    let (one, two) = (sandbox.path("src/one.txt"), sandbox.path("src/two.txt"));
    let work = |file: &std::path::Path, todo: &str| SideScript {
        marker: WORKER_MARKER,
        turns: vec![Turn::write(file, "print('hello')\n"), report(todo)],
    };
    let turns = vec![
        Turn::agent("worker", "TODO-1"),
        Turn::text("워커를 기다립니다"),
        Turn::bash(&format!("{PROGRAM} pipeline cancel")),
        Turn::text("취소했습니다"),
    ];
    let side = work(&one, "TODO-1");
    let run = resume_with_agent(&sandbox, &session, "/moai-ralph:moai-run", turns, side);
    run.assert_finished();
    assert_eq!(status(&sandbox)["outcome"], "cancelled");
    let half = PLAN.replace("### [ ] TODO 1", "### [x] TODO 1");
    assert_eq!(sandbox.read(PLAN_FILE), half, "files stay as they are");

    let turns = vec![
        Turn::agent("worker", "TODO-2"),
        Turn::text("워커를 기다립니다"),
        Turn::text("끝났습니다"),
    ];
    let side = work(&two, "TODO-2");
    let run = resume_with_agent(&sandbox, &session, "/moai-ralph:pipeline-resume", turns, side);
    run.assert_finished();
    run.assert_first_told_in(1, "[x] TODO-1");
    let ended = status(&sandbox);
    if ended["outcome"] != "completed" {
        run.fail(&format!("the pipeline is not completed: {ended:#}"));
    }
    assert_eq!(ended["approved_by"], "person", "what was approved stays approved");
    assert_eq!(sandbox.read(PLAN_FILE), PLAN.replace("### [ ]", "### [x]"));
}

#[test]
fn the_users_answer_in_the_hosts_dialog_approves_and_no_other() {
    let sandbox = Sandbox::new();
    sandbox.commit();
    let goal = "moai: write one file";
    let started = sandbox.run(&["pipeline", "start", "--kind", "small", "--goal", goal]);
    assert_eq!(started.code, 0, "{started:#?}");
    let path = status(&sandbox)["plan"].as_str().expect("a plan").to_owned();
    let plan = "# PLAN: one file\n\n### [ ] TODO 1: it\n- [A] `test -f src/one.txt`\n";
    sandbox.write(&path, plan);
    // The question that the engine gives to an agent.
    let refused =
        finish(sandbox.program().env("CLAUDECODE", "1").args(["pipeline", "approve"]), "");
    let at = refused.stderr.find("{\"questions\"").expect("a question");
    let mut values = serde_json::Deserializer::from_str(&refused.stderr[at..]).into_iter::<Value>();
    let asked = values.next().expect("a value").expect("JSON");
    let mut filled = asked.clone();
    let question = asked["questions"][0]["question"].as_str().expect("a question");
    filled["answers"] = json!({question: "Approve"});
    let ask = |input: &Value| Turn::Tool { name: "AskUserQuestion", input: input.clone() };
    let turns = vec![ask(&filled), ask(&asked), Turn::text("it waits")];
    let run = run_with_dialog(&sandbox, "go on", turns, "Change it", None);
    run.assert_finished();
    assert_eq!(status(&sandbox)["phase"], "plan", "the user does not agree");
    let cancel = Turn::bash(&format!("{PROGRAM} pipeline cancel"));
    let turns = vec![ask(&asked), cancel, Turn::text("cancelled")];
    let session = run.session_id();
    let run = run_with_dialog(&sandbox, "go on", turns, "Approve", Some(&session));
    run.assert_finished();
    run.assert_first_told_in(2, "is approved, and its acceptance commands are frozen");
    assert_eq!(status(&sandbox)["approved_by"], "question");
}
