//! Pipelines in the host: a plan, a worker that lies and is caught, and boxes that the engine sets.

use serde_json::{Value, json};

use crate::host::run_with_agent;
use crate::model::{SideScript, Turn, texts};
use crate::support::{PROGRAM, Sandbox};

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

#[test]
fn a_small_one_in_korean_catches_a_worker_that_lies() {
    let sandbox = Sandbox::new();
    sandbox.write(".claude/agents/worker.md", WORKER);
    sandbox.commit();
    let (one, two) = (sandbox.path("src/one.txt"), sandbox.path("src/two.txt"));
    let turns = vec![
        Turn::write(&sandbox.path(PLAN_FILE), PLAN),
        Turn::bash(&format!("{PROGRAM} pipeline approve")),
        Turn::write(&one, "print('hello')\n"),
        Turn::agent("worker", "TODO-1"),
        Turn::text("워커를 기다립니다"),
        Turn::agent("worker", "TODO-2"),
        Turn::text("워커를 기다립니다"),
        Turn::text("끝났습니다"),
    ];
    let side = SideScript {
        marker: "YOU_ARE_THE_WORKER",
        turns: vec![
            report("TODO-1"),
            Turn::write(&one, "print('hello')\n"),
            report("TODO-1"),
            Turn::write(&two, "print('hello')\n"),
            report("TODO-2"),
        ],
    };
    let run = run_with_agent(&sandbox, PROMPT, turns, side);
    run.assert_finished();
    run.assert_first_told_in(1, "계획부터 시작합니다");
    run.assert_first_told_in(4, "소스 파일은 워커가 씁니다");
    let held = run.model.side_requests();
    let told = |number: usize| -> String {
        let messages = held[number]["messages"].as_array().expect("messages").clone();
        messages.iter().flat_map(|message| texts(&message["content"])).collect()
    };
    assert!(told(1).contains("3번 중 1번째 시도"), "{}", told(1));
    let ended = status(&sandbox);
    if (&ended["outcome"], &ended["todos"]["done"]) != (&json!("completed"), &json!(2)) {
        run.fail(&format!("the pipeline is not completed: {ended:#}"));
    }
    assert_eq!(ended["approved_by"], "agent");
    assert_eq!(sandbox.read(PLAN_FILE), PLAN.replace("### [ ]", "### [x]"));
    let report = sandbox.run(&["pipeline", "report"]).stdout;
    assert!(report.contains("its worker reported PASS"), "{report}");
}
