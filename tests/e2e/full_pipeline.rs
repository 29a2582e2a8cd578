//! A whole full pipeline in the host: a plan that the user approves, a worker that lies, a gate that
//! fails, a fix, a review, and commits that are checked one by one.

use serde_json::{Value, json};

use crate::host::{checkout, resume_with_agent, run};
use crate::model::{SideScript, Turn, texts};
use crate::support::Sandbox;

const SPEC: &str = "SPEC-GREET-001";
const PLAN: &str = "\
# PLAN: greetings

### [ ] TODO 1: say hello
- Files: src/hello.sh, tests/hello.sh
- [A] `sh tests/hello.sh`

### [ ] TODO 2: say bye
- Dependencies: TODO-1
- Files: src/bye.sh, tests/bye.sh
- [A] `sh tests/bye.sh`
";
const OPTIONS: &str = "\
ralph:
  loop:
    checks: [{name: lint, command: [sh, lint.sh]}]
  judge: {backend: command, command: [./review.sh]}
  sync: {verify_each: true}
";
/// The project's own check: nothing half-finished is left.
const LINT: &str = "if grep -rn LATER src; then exit 1; fi\n";
/// A judge that finds everything met, by quoting the first line of `src/hello.sh`, and rejects planted
/// claims.
const REVIEW: &str = r#"#!/bin/sh
prompt=$(cat)
nonce=$(printf '%s\n' "$prompt" | sed -n 's/^<evidence \([0-9a-f]*\)>$/\1/p')
sep=
printf '{"schema":1,"nonce":"%s","criteria":[' "$nonce"
printf '%s\n' "$prompt" | sed '/^<evidence/q' | sed -n 's/^\(C[0-9]*\): \(.*\)$/\1|\2/p' | while IFS='|' read -r id text; do
  verdict=met
  case "$text" in *total_*) verdict=unmet ;; esac
  printf '%s{"id":"%s","verdict":"%s","evidence":[{"path":"src/hello.sh","line_start":1,"line_end":1,"quote":"echo hello"}],"reason":"","fix_hint":null}' "$sep" "$id" "$verdict"
  sep=,
done
printf '],"suspicions":[],"unread":[],"confidence":0.9}'
"#;
/// Agents of the project, so that the test needs no other file of the plugin.
const WORKER: &str = "---\nname: worker\ndescription: does one TODO\n---\nYOU_ARE_A_HELPER\n";
const COMMITTER: &str =
    "---\nname: git-master\ndescription: proposes commits\n---\nYOU_ARE_A_HELPER\n";

fn report(todo: &str) -> Turn {
    Turn::text(
        &json!({
            "todo_id": todo,
            "status": "PASS",
            "outputs": {"files_changed": [], "summary": "written"},
            "acceptance_criteria": [{"id": "AC-1", "status": "PASS"}],
            "learnings": ["greetings are scripts"], "issues": [], "decisions": [],
        })
        .to_string(),
    )
}

fn status(sandbox: &Sandbox) -> Value {
    let output = sandbox.run(&["pipeline", "status", "--json"]);
    assert_eq!(output.code, 0, "{output:#?}");
    output.json()
}

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write(".moai/config/sections/ralph.yaml", OPTIONS);
    sandbox.write("lint.sh", LINT);
    sandbox.write("review.sh", REVIEW);
    sandbox.write("src/.keep", "");
    sandbox.write(".claude/agents/worker.md", WORKER);
    sandbox.write(".claude/agents/git-master.md", COMMITTER);
    make_executable(&sandbox.path("review.sh"));
    sandbox.commit();
    sandbox
}

fn make_executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("ours");
}

/// Workers: the first one lies, and the second leaves something half-finished, which a third repairs. Then
/// the commits are proposed.
fn helpers(sandbox: &Sandbox) -> Vec<Turn> {
    let write = |name: &str, text: &str| Turn::write(&sandbox.path(name), text);
    let proposal = json!({"commits": [
        {"message": "Say hello", "files": ["src/hello.sh", "tests/hello.sh"]},
        {"message": "Say bye and keep the plan", "files": ["src/bye.sh", "tests/bye.sh"]},
    ]});
    vec![
        report("TODO-1"),
        write("src/hello.sh", "echo hello\n"),
        write("tests/hello.sh", "sh src/hello.sh | grep -q hello\n"),
        report("TODO-1"),
        write("src/bye.sh", "echo bye # LATER: more\n"),
        write("tests/bye.sh", "sh src/bye.sh | grep -q bye\n"),
        report("TODO-2"),
        Turn::bash("printf 'echo bye\\n' > src/bye.sh"),
        report("TODO-2"),
        Turn::text(&proposal.to_string()),
        Turn::text(&proposal.to_string()),
        Turn::text(&proposal.to_string()),
        Turn::text(&proposal.to_string()),
    ]
}

#[test]
fn a_full_one_goes_from_a_plan_to_checked_commits() {
    let sandbox = project();
    let plan = sandbox.path(&format!(".moai/specs/{SPEC}/plan.md"));
    let planning = vec![Turn::write(&plan, PLAN), Turn::text("The plan is ready.")];
    let begun = run(&sandbox, checkout(), "/moai-ralph:alfred greet people", planning);
    begun.assert_finished();
    assert_eq!(status(&sandbox)["phase"], "plan");

    let waiting = || Turn::text("I wait for the worker.");
    let turns = vec![
        Turn::agent("worker", "TODO-1"),
        waiting(),
        Turn::agent("worker", "TODO-2"),
        waiting(),
        Turn::text("Everything is done."),
        Turn::agent("worker", "repair TODO-2"),
        waiting(),
        Turn::text("Everything is done."),
        Turn::agent("git-master", "propose the commits"),
        waiting(),
        Turn::bash("git add src/hello.sh tests/hello.sh && git commit -qm 'Say hello'"),
        Turn::bash("git add -A && git commit -qm 'Say bye and keep the plan'"),
        Turn::text("Everything is committed."),
    ];
    let side = SideScript { marker: "YOU_ARE_A_HELPER", turns: helpers(&sandbox) };
    let session = begun.session_id();
    let worked = resume_with_agent(&sandbox, &session, "/moai-ralph:moai-run", turns, side);
    worked.assert_finished();
    let held = worked.model.side_requests();
    let told = |number: usize| -> String {
        let messages = held[number]["messages"].as_array().expect("messages").clone();
        messages.iter().flat_map(|message| texts(&message["content"])).collect()
    };
    assert!(told(1).contains("attempt 1 of 3"), "the lie is caught: {}", told(1));
    worked.assert_first_told_in(6, "round 1 of 10");
    worked.assert_first_told_in(9, "The work passes and is not committed");
    let ended = status(&sandbox);
    let gates = json!({"tests": "passed", "review": "passed", "scenarios": "none"});
    if (&ended["outcome"], &ended["gates"]) != (&json!("completed"), &gates) {
        worked.fail(&format!("the pipeline is not completed: {ended:#}"));
    }
    assert_eq!(ended["fix_loops"], 1);
    let commits = ended["commits"].as_array().expect("commits");
    let failing: Vec<&Value> = commits.iter().map(|one| &one["failing"]).collect();
    // The second TODO is not in the first commit, and the last one passes everything.
    assert_eq!(failing, [&json!(["sh tests/bye.sh"]), &json!([])], "{commits:?}");
    assert!(commits.iter().all(|one| one["checked"] == true), "{commits:?}");
    let report = sandbox.run(&["pipeline", "report"]).stdout;
    assert!(report.contains("its worker reported PASS"), "{report}");
    assert!(report.contains("commits: ") && report.contains("(Say hello)"), "{report}");
    assert!(sandbox.read("docs/learnings/greetings/learnings.md").contains("scripts"));
}
