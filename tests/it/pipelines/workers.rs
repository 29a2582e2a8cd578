//! Workers: the files they may write, and when they may end.

use serde_json::{Value, json};

use super::{
    GOAL, PLAN, approve, approved, begun, notice, pipeline, plan_path, status, stop, stop_output,
};
use crate::support::{SESSION, Sandbox, write_file};

pub(super) const WORKER: &str = "moai-ralph:worker";

pub(super) fn report(todo: &str, status: &str) -> String {
    json!({
        "todo_id": todo,
        "status": status,
        "outputs": {"files_changed": ["one.txt"], "summary": "written"},
        "acceptance_criteria": [{"id": "AC-1", "status": status}],
        "learnings": [], "issues": [], "decisions": [],
    })
    .to_string()
}

/// The end of a subagent: the reason when it is held.
pub(super) fn end(sandbox: &Sandbox, agent_type: &str, words: &str) -> Option<String> {
    let mut input = sandbox.payload("SubagentStop");
    input["agent_type"] = agent_type.into();
    input["last_assistant_message"] = words.into();
    let output = sandbox.hook("subagent-stop", &input);
    assert_eq!(output.code, 0, "{output:#?}");
    if output.stdout.trim().is_empty() {
        return None;
    }
    let answer = output.json();
    assert_eq!(answer["decision"], "block", "{answer}");
    answer["reason"].as_str().map(str::to_owned)
}

/// The reason why a write is denied.
fn denial(sandbox: &Sandbox, file: &str, agent: Option<&str>) -> Option<String> {
    let written = json!({"file_path": sandbox.path(file), "content": "x"});
    denied_call(sandbox, "Write", written, agent)
}

/// The reason why a tool call is denied.
fn denied_call(
    sandbox: &Sandbox,
    tool: &str,
    arguments: Value,
    agent: Option<&str>,
) -> Option<String> {
    let mut input = sandbox.payload("PreToolUse-Edit");
    input["tool_name"] = tool.into();
    input["tool_input"] = arguments;
    if let Some(agent) = agent {
        input["agent_id"] = agent.into();
        input["agent_type"] = WORKER.into();
    }
    let output = sandbox.hook("pre-tool-use", &input);
    assert_eq!(output.code, 0, "{output:#?}");
    if output.stdout.trim().is_empty() {
        return None;
    }
    let answer: Value = output.json();
    assert_eq!(answer["hookSpecificOutput"]["permissionDecision"], "deny", "{answer}");
    answer["hookSpecificOutput"]["permissionDecisionReason"].as_str().map(str::to_owned)
}

#[test]
fn a_worker_that_lies_about_its_commands_is_held_and_then_its_todo_has_failed() {
    let sandbox = approved(PLAN);
    let path = plan_path(&sandbox);
    for attempt in 1..=2 {
        let reason = end(&sandbox, WORKER, &report("TODO-1", "PASS")).expect("one.txt is missing");
        let told = format!("attempt {attempt} of 3");
        assert!(reason.contains("test -f one.txt") && reason.contains(&told), "{reason}");
    }
    assert_eq!(end(&sandbox, WORKER, &report("TODO-1", "PASS")), None, "it has failed");
    assert!(sandbox.read(&path).contains("### [FAILED] TODO 1"));
    assert_eq!(status(&sandbox)["todos"]["failed"], 1);
    let text = pipeline(&sandbox, &["report"]).stdout;
    assert_eq!(text.matches("its worker reported PASS").count(), 3, "{text}");
    // Another worker may still do it.
    sandbox.write("one.txt", "one\n");
    assert_eq!(end(&sandbox, WORKER, &report("TODO-1", "PASS")), None);
    assert!(sandbox.read(&path).contains("### [x] TODO 1"));
}

#[test]
fn a_run_with_another_check_script_accepts_no_todo() {
    let sandbox = begun("write a file");
    sandbox.write("check.sh", "test -f one.txt\n");
    let path = plan_path(&sandbox);
    sandbox.write(&path, "# PLAN: x\n\n### [ ] TODO 1: one\n- [A] `sh check.sh`\n");
    approve(&sandbox);
    sandbox.write("check.sh", "true\n");
    let reason =
        end(&sandbox, WORKER, &report("TODO-1", "PASS")).expect("it is not what was frozen");
    assert!(reason.contains("check.sh (the project's checks) was edited"), "{reason}");
    // Another program changed it, so the user is asked; no box is set meanwhile.
    stop(&sandbox);
    assert!(sandbox.read(&path).contains("### [ ] TODO 1"));
}

#[test]
fn a_run_of_weakened_tests_accepts_no_todo() {
    let sandbox = Sandbox::new();
    let tests = |mark: &str| {
        format!(
            "import unittest\n\n\nclass TestA(unittest.TestCase):\n{mark}    def test_f(self):\n        \
             from a import f\n        self.assertEqual(f(), 1)\n\n    def test_one(self):\n        \
             self.assertEqual(int('1'), 1)\n"
        )
    };
    sandbox.write("tests/test_a.py", &tests(""));
    sandbox.commit();
    let goal = ["start", "--kind", "small", "--goal", "write a function", "--session", SESSION];
    assert_eq!(pipeline(&sandbox, &goal).code, 0);
    let path = plan_path(&sandbox);
    sandbox.write(
        &path,
        "# PLAN: x\n\n### [ ] TODO 1: one\n- [A] `python3 -m unittest discover -s tests`\n",
    );
    approve(&sandbox);
    sandbox.write("a.py", "def f():\n    return 5\n");
    sandbox.write("tests/test_a.py", &tests("    @unittest.skip('later')\n"));
    let reason = end(&sandbox, WORKER, &report("TODO-1", "PASS")).expect("its test is skipped");
    assert!(reason.contains("tests/test_a.py (guard(G02)"), "{reason}");
    stop(&sandbox);
    assert!(sandbox.read(&path).contains("### [ ] TODO 1"));
}

#[test]
fn a_worker_ends_with_a_report_or_is_held_three_times() {
    let sandbox = approved(PLAN);
    for _ in 0..3 {
        let reason = end(&sandbox, WORKER, "All done, everything works!").expect("no report");
        assert!(reason.contains("JSON"), "{reason}");
    }
    assert_eq!(end(&sandbox, WORKER, "All done, everything works!"), None);
    assert_eq!(status(&sandbox)["todos"]["done"], 0);
    let reason = end(&sandbox, "moai-ralph:frontend", &report("TODO-9", "PASS"));
    assert_eq!(reason, None, "the same agent was held often enough");
}

#[test]
fn proposals_of_workers_are_checked_against_the_pivot_points() {
    let sandbox = approved(PLAN);
    for (id, title, words) in [("confirmed", "one file", "database"), ("open", "no web", "server")]
    {
        let output =
            sandbox.run(&["spec", "pivot", "add", title, "--forbids", words, "--reason", id]);
        assert_eq!(output.code, 0, "{output:#?}");
    }
    assert_eq!(sandbox.run(&["spec", "pivot", "confirm", "PP-1"]).code, 0);
    sandbox.write("one.txt", "one\n");
    let mut words: Value = serde_json::from_str(&report("TODO-1", "PASS")).expect("JSON");
    words["discoveries"] =
        json!(["a database is faster", "a server is nicer", "a test is missing"]);
    assert_eq!(end(&sandbox, WORKER, &words.to_string()), None);
    let text = pipeline(&sandbox, &["report"]).stdout;
    assert!(text.contains("a database is faster: rejected: PP-1"), "{text}");
    assert!(text.contains("a server is nicer: waits for the user: PP-2"), "{text}");
    assert!(text.contains("a test is missing: accepted"), "{text}");
}

#[test]
fn a_discovery_is_for_the_user_if_constraints_cannot_be_read() {
    let sandbox = approved(PLAN);
    sandbox.write(".moai/specs/pivot-points.md", "<!-- never closed\n\n# Pivot points\n");
    sandbox.write("one.txt", "one\n");
    let mut words: Value = serde_json::from_str(&report("TODO-1", "PASS")).expect("JSON");
    words["discoveries"] = json!(["a test is missing"]);
    assert_eq!(end(&sandbox, WORKER, &words.to_string()), None);
    let text = pipeline(&sandbox, &["report"]).stdout;
    assert!(
        text.contains("a test is missing: waits for the user: .moai/specs/pivot-points.md"),
        "{text}"
    );
}

#[test]
fn agents_that_are_no_workers_end_as_they_like() {
    let sandbox = approved(PLAN);
    for agent_type in ["moai-ralph:explore", "", "general-purpose"] {
        assert_eq!(end(&sandbox, agent_type, "I have seen the code."), None, "{agent_type}");
    }
    let without = Sandbox::new();
    assert_eq!(end(&without, WORKER, "no pipeline here"), None);
}

#[test]
fn the_main_agent_writes_the_plan_and_workers_write_source() {
    let sandbox = begun("guard the files");
    let path = plan_path(&sandbox);
    assert_eq!(denial(&sandbox, &path, None), None);
    for agent in [None, Some("a1")] {
        let reason = denial(&sandbox, "app.py", agent).expect("the plan comes first");
        assert!(reason.contains("not approved"), "{reason}");
    }
    let plan = PLAN.replace("- Dependencies: none", "- Dependencies: none\n- Files: src/**");
    let plan = plan.replace("- Dependencies: TODO-1", "- Dependencies: TODO-1\n- Files: two.txt");
    sandbox.write(&path, &plan);
    approve(&sandbox);
    let reason = denial(&sandbox, "src/app.py", None).expect("a worker must write it");
    assert!(reason.contains("worker"), "{reason}");
    assert_eq!(denial(&sandbox, "src/app.py", Some("a1")), None);
    let shell = |file: &str, agent: Option<&str>| {
        let text = format!("*** Begin Patch\n*** Add File: {file}\n+x\n*** End Patch");
        let command = format!("cd src && apply_patch <<'EOF'\n{text}\nEOF");
        denied_call(&sandbox, "Bash", json!({"command": command}), agent)
    };
    assert!(shell("app.py", None).expect("a patch in a command").contains("worker"));
    assert_eq!(shell("app.py", Some("a1")), None);
    let reason = denial(&sandbox, "lib/other.py", Some("a1")).expect("no TODO names it");
    assert!(reason.contains("src/**"), "{reason}");
    for free in ["docs/notes.md", ".claude/agents/x.md", "README.md"] {
        assert_eq!(denial(&sandbox, free, None), None, "{free}");
    }
    assert_eq!(pipeline(&sandbox, &["cancel"]).code, 0);
    assert_eq!(denial(&sandbox, "src/app.py", None), None, "nothing is guarded any more");
}

#[test]
fn on_a_host_without_subagents_the_main_agent_writes_itself() {
    let sandbox = Sandbox::new();
    let arguments = ["start", "--goal", "alone", "--solo", "--session", SESSION];
    assert_eq!(pipeline(&sandbox, &arguments).code, 0);
    assert!(denial(&sandbox, "app.py", None).is_some(), "the plan still comes first");
    sandbox.write(&plan_path(&sandbox), PLAN);
    approve(&sandbox);
    assert_eq!(denial(&sandbox, "app.py", None), None);
}

#[test]
fn when_only_failed_todos_are_left_the_pipeline_ends_as_partial() {
    let sandbox = approved(PLAN);
    sandbox.write("one.txt", "one\n");
    for _ in 0..3 {
        end(&sandbox, WORKER, &report("TODO-2", "FAIL"));
    }
    let answer = stop_output(&sandbox);
    let shown = notice(&answer);
    assert!(shown.contains("3 attempts at TODO-2 failed"), "nothing is left to try: {shown}");
    assert!(!shown.contains("iteration limit"), "{shown}");
    let status = status(&sandbox);
    assert_eq!(status["outcome"], "partial", "{status}");
    assert_eq!(status["note"], "3 attempts at TODO-2 failed; 1 of 2 TODOs passes");
    assert!(sandbox.read(&plan_path(&sandbox)).contains("### [FAILED] TODO 2"));
}

#[test]
fn the_failed_mark_of_the_engine_is_no_claim_of_the_agent_after_a_resume() {
    let sandbox = approved(PLAN);
    let path = plan_path(&sandbox);
    sandbox.write("one.txt", "one\n");
    for _ in 0..3 {
        end(&sandbox, WORKER, &report("TODO-2", "FAIL"));
    }
    assert_eq!(stop(&sandbox), None);
    assert_eq!(pipeline(&sandbox, &["resume", "--session", SESSION]).code, 0);
    let reason = stop(&sandbox).expect("the second file is missing");
    assert!(!reason.contains("was marked [FAILED]"), "{reason}");
    let plan = sandbox.read(&path);
    assert!(plan.contains("### [ ] TODO 2"), "{plan}");
    assert!(!pipeline(&sandbox, &["report"]).stdout.contains("was marked"));
    sandbox.write(&path, &plan.replace("### [ ] TODO 2", "### [FAILED] TODO 2"));
    let reason = stop(&sandbox).expect("the second file is missing");
    assert!(reason.contains("TODO-2 was marked [FAILED]"), "{reason}");
}

/// The transcript of a subagent, as the host writes it.
fn write_task(sandbox: &Sandbox, agent: &str, task: &str) {
    let input = sandbox.payload("PreToolUse-Edit");
    let transcript = input["transcript_path"].as_str().expect("a path").replace(".jsonl", "");
    let line = json!({"type": "user", "message": {"role": "user", "content": task}});
    let file = std::path::Path::new(&transcript).join(format!("subagents/agent-{agent}.jsonl"));
    write_file(&file, &format!("{line}\n"));
}

#[test]
fn a_worker_writes_the_files_of_the_todo_that_its_task_names() {
    let plan = PLAN.replace("- Dependencies: none", "- Dependencies: none\n- Files: src/one.py");
    let plan = plan.replace("- Dependencies: TODO-1", "- Dependencies: none\n- Files: src/two.py");
    let sandbox = approved(&plan);
    write_task(&sandbox, "a1", "Do TODO-1 of the plan");
    write_task(&sandbox, "a2", "Do todo 2");
    write_task(&sandbox, "a3", "Fix what is open");
    for (agent, file) in [("a1", "src/one.py"), ("a2", "src/two.py"), ("a3", "src/two.py")] {
        assert_eq!(denial(&sandbox, file, Some(agent)), None, "{agent} {file}");
    }
    let reason = denial(&sandbox, "src/two.py", Some("a1")).expect("it belongs to TODO-2");
    assert!(reason.contains("src/one.py"), "{reason}");
    assert!(denial(&sandbox, "src/one.py", Some("a2")).is_some());
    assert!(denial(&sandbox, "src/other.py", Some("../a1")).is_some(), "no name of an agent");
}

#[test]
fn todos_that_do_not_need_each_other_are_offered_together() {
    let plan = PLAN.replace("- Dependencies: none", "- Dependencies: none\n- Files: one.txt");
    let plan =
        plan.replace("- Dependencies: TODO-1", "- Dependencies: TODO-1\n- Files: two.txt, x/*.txt");
    let more = "
### [ ] TODO 3: a third file\n- Files: three.txt\n- [A] `test -f three.txt`

### [ ] TODO 4: it may write files of others\n- Files: x/**\n- [A] `test -f four.txt`

### [ ] TODO 5: it may write everything\n- [A] `test -f five.txt`\n";
    let sandbox = begun("five files");
    sandbox.write(&plan_path(&sandbox), &format!("{plan}{more}"));
    let told = approve(&sandbox);
    assert!(told.contains("TODO-1, TODO-3, TODO-4 can be given to workers now"), "{told}");
    sandbox.write("one.txt", "one\n");
    let reason = stop(&sandbox).expect("four are missing");
    let ready = reason.lines().find(|line| line.contains("at the same time")).unwrap_or_default();
    assert!(ready.starts_with("TODO-2, TODO-3 can be given to workers now"), "{reason}");
}

#[test]
fn source_that_shell_commands_write_against_the_rules_is_named_and_reported() {
    let plan = PLAN.replace("- Dependencies: none", "- Dependencies: none\n- Files: src/two.py");
    let plan = plan.replace("- Dependencies: TODO-1", "- Dependencies: TODO-1\n- Files: src/**");
    let sandbox = approved(&plan);
    write_task(&sandbox, "a1", "Do TODO-1");
    let bash = |agent: Option<&str>, name: &str| {
        let mut input = sandbox.payload("PostToolUse-Bash");
        if let Some(agent) = agent {
            input["agent_id"] = agent.into();
        }
        sandbox.hook("post-tool-use", &input);
        sandbox.write(name, "print(1)\n");
        let output = sandbox.hook("post-tool-use", &input);
        assert_eq!(output.code, 0, "{output:#?}");
        output.stdout
    };
    let told = bash(None, "src/app.py");
    assert!(told.contains("src/app.py") && told.contains("written by workers"), "{told}");
    let told = bash(None, "src/run.sh");
    assert!(told.contains("src/run.sh changed"), "the scan knows it: {told}");
    assert!(!bash(None, "docs/app.py").contains("written by workers"), "documents are free");
    let told = bash(Some("a1"), "src/two.py");
    assert!(!told.contains("[moai-ralph] pipeline"), "it is its TODO's: {told}");
    let told = bash(Some("a1"), "src/three.py");
    assert!(told.contains("src/three.py changed, which is outside"), "{told}");
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert!(report.contains("src/app.py: by the main agent"), "{report}");
    assert!(report.contains("src/three.py: by a worker"), "{report}");
    assert!(!report.contains("two.py: by"), "{report}");
}

/// A shell command of an agent, with the hooks before and after it.
pub(super) fn shell(sandbox: &Sandbox, agent: Option<&str>, command: impl FnOnce()) -> String {
    let started = std::time::Instant::now();
    let mut input = sandbox.payload("PreToolUse-Bash");
    if let Some(agent) = agent {
        input["agent_id"] = agent.into();
    }
    let output = sandbox.hook("pre-tool-use", &input);
    assert_eq!((output.code, output.stdout.trim()), (0, ""), "{output:#?}");
    command();
    after_shell(sandbox, agent, Some(started.elapsed()))
}

#[test]
fn a_file_of_the_exam_that_a_shell_command_restores_is_no_breach_of_the_rules() {
    let sandbox = begun(GOAL);
    let right = "grep -q right one.txt\n";
    sandbox.write("checks/one.sh", right);
    sandbox.commit();
    sandbox.write(&plan_path(&sandbox), &PLAN.replace("test -f one.txt", "sh checks/one.sh"));
    approve(&sandbox);
    let told = shell(&sandbox, None, || sandbox.write("checks/one.sh", "true\n"));
    assert!(told.contains("checks/one.sh changed"), "{told}");
    let told = shell(&sandbox, None, || sandbox.write("checks/one.sh", right));
    assert!(!told.contains("checks/one.sh"), "{told}");
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert_eq!(report.matches("checks/one.sh: by the main agent").count(), 1, "{report}");
}

/// The hook after a shell command that took this long; `None` on a host that does not say.
fn after_shell(
    sandbox: &Sandbox,
    agent: Option<&str>,
    took: Option<std::time::Duration>,
) -> String {
    let mut input = sandbox.payload("PostToolUse-Bash");
    if let Some(agent) = agent {
        input["agent_id"] = agent.into();
    }
    input["duration_ms"] = json!(took.map(|took| took.as_millis()));
    let output = sandbox.hook("post-tool-use", &input);
    assert_eq!(output.code, 0, "{output:#?}");
    output.stdout
}

/// A pipeline that undoes shell writes, with source in its project.
fn taking_back() -> Sandbox {
    let plan = PLAN.replace("- Dependencies: none", "- Dependencies: none\n- Files: src/one.py");
    let plan =
        plan.replace("- Dependencies: TODO-1", "- Dependencies: TODO-1\n- Files: src/two.py");
    let sandbox = Sandbox::new();
    sandbox.write(
        ".moai/config/sections/ralph.yaml",
        "ralph:\n  pipeline: {shell_writes: take_back}\n",
    );
    sandbox.write("src/old.py", "print('old')\n");
    sandbox.write("src/gone.sh", "echo gone\n");
    sandbox.write("src/run.sh", "echo run\n");
    sandbox.commit();
    let arguments = ["start", "--kind", "small", "--goal", "x", "--session", SESSION];
    assert_eq!(pipeline(&sandbox, &arguments).code, 0);
    sandbox.write(&plan_path(&sandbox), &plan);
    approve(&sandbox);
    write_task(&sandbox, "a1", "Do TODO-1");
    sandbox
}

#[test]
fn shell_writes_against_the_rules_are_taken_back_if_asked_and_kept() {
    let sandbox = taking_back();
    // Not committed, so only the look before the command knows it.
    sandbox.write("src/old.py", "print('mine')\n");
    let told = shell(&sandbox, None, || {
        sandbox.write("src/old.py", "print('hacked')\n");
        sandbox.write("src/new/new.txt", "new\n");
        std::fs::remove_file(sandbox.path("src/gone.sh")).expect("ours");
        sandbox.write("docs/free.md", "free\n");
    });
    assert!(told.contains("src/gone.sh, src/new/new.txt, src/old.py"), "{told}");
    assert!(told.contains("taken back") && told.contains("--to before-1"), "{told}");
    assert_eq!(sandbox.read("src/old.py"), "print('mine')\n");
    assert_eq!(sandbox.read("src/gone.sh"), "echo gone\n");
    assert!(!sandbox.path("src/new").exists());
    assert_eq!(sandbox.read("docs/free.md"), "free\n");
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert!(report.contains("src/old.py: by the main agent, taken back"), "{report}");
    // The command's text can be restored.
    let loops = sandbox.run(&["loop", "status", "--json"]).json();
    let id = loops["id"].as_str().expect("a loop").to_owned();
    let restored = sandbox.run(&["loop", "restore", &id, "--to", "before-1", "--apply"]);
    assert_eq!(restored.code, 0, "{restored:#?}");
    assert_eq!(sandbox.read("src/old.py"), "print('hacked')\n");
    assert_eq!(sandbox.read("src/new/new.txt"), "new\n");
    assert!(!sandbox.path("src/gone.sh").exists());
}

#[test]
fn the_files_of_its_todo_stay_as_the_command_of_a_worker_left_them() {
    let sandbox = taking_back();
    let told = shell(&sandbox, Some("a1"), || {
        sandbox.write("src/one.py", "print(1)\n");
        sandbox.write("src/two.py", "print(2)\n");
    });
    assert!(told.contains("src/two.py") && !told.contains("src/one.py, "), "{told}");
    assert_eq!(sandbox.read("src/one.py"), "print(1)\n");
    assert!(!sandbox.path("src/two.py").exists());
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert!(report.contains("src/two.py: by a worker, taken back"), "{report}");
}

#[test]
fn a_file_that_someone_else_may_have_written_is_not_taken_back() {
    let sandbox = taking_back();
    let hacked = || sandbox.write("src/old.py", "print('hacked')\n");
    // Another agent has called a tool meanwhile.
    let told = shell(&sandbox, None, || {
        let mut other = sandbox.payload("PreToolUse-Bash");
        other["agent_id"] = "a1".into();
        sandbox.hook("pre-tool-use", &other);
        hacked();
    });
    assert!(told.contains("other agents were at work"), "{told}");
    after_shell(&sandbox, Some("a1"), None);
    assert_eq!(sandbox.read("src/old.py"), "print('hacked')\n");
    // A file from before the command, which the user wrote while it waited.
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    let input = sandbox.payload("PreToolUse-Bash");
    sandbox.hook("pre-tool-use", &input);
    sandbox.write("src/run.sh", "echo mine\n");
    std::thread::sleep(std::time::Duration::from_millis(1_500));
    let told = after_shell(&sandbox, None, Some(std::time::Duration::from_millis(1)));
    assert!(told.contains("not taken back"), "{told}");
    assert_eq!(sandbox.read("src/run.sh"), "echo mine\n");
    // A host that does not say how long the command ran.
    sandbox.hook("pre-tool-use", &input);
    sandbox.write("src/run.sh", "echo again\n");
    let told = after_shell(&sandbox, None, None);
    assert!(told.contains("the host does not say"), "{told}");
    assert_eq!(sandbox.read("src/run.sh"), "echo again\n");
    // A commit during the command.
    let told = shell(&sandbox, None, || {
        sandbox.write("src/run.sh", "echo commit\n");
        sandbox.commit();
    });
    assert!(told.contains("another commit"), "{told}");
    let report = pipeline(&sandbox, &["report"]).stdout;
    assert!(!report.contains(", taken back") && report.contains("not taken back:"), "{report}");
}

#[test]
fn after_a_restart_nothing_is_known_of_a_command_and_nothing_taken_back() {
    let sandbox = taking_back();
    let told = shell(&sandbox, None, || {
        assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
        sandbox.write("src/old.py", "print('hacked')\n");
    });
    assert!(!told.contains("taken back. What"), "{told}");
    assert_eq!(sandbox.read("src/old.py"), "print('hacked')\n");
}

#[test]
fn reading_tools_are_free_and_a_rewrite_of_the_whole_project_is_not() {
    let sandbox = begun("write two files");
    sandbox.write(&plan_path(&sandbox), PLAN);
    let call = |tool: &str, arguments: Value| {
        denied_call(
            &sandbox,
            &format!("mcp__plugin_moai-ralph_moai-ralph__{tool}"),
            arguments,
            None,
        )
    };
    for tool in ["diagnostics", "references", "rename", "rewrite"] {
        assert_eq!(call(tool, json!({"path": "src/a.py"})), None, "{tool}");
    }
    for arguments in [json!({"dry_run": false}), json!({"dry_run": false, "paths": ["src/a.py"]})] {
        let reason = call("rewrite", arguments).expect("it writes source files");
        assert!(reason.contains("is not approved yet"), "{reason}");
    }
    approve(&sandbox);
    let reason = call("rewrite", json!({"dry_run": false})).expect("workers write");
    assert!(!reason.contains("approved"), "{reason}");
}
