//! Texts of pipelines for agents and users are true, complete, and no longer than needed.

use super::workers::{WORKER, end, report, shell};
use super::{
    GOAL, PLAN, approve, approved, begun, notice, pipeline, plan_path, slash, status, stop,
    stop_output,
};
use crate::killed_writes::{daemon, kill};
use crate::support::{SESSION, Sandbox};
use crate::terminal;

fn status_text(sandbox: &Sandbox) -> String {
    pipeline(sandbox, &["status"]).stdout
}

#[test]
fn commands_that_pass_before_the_work_are_named() {
    let sandbox = approved(&PLAN.replace("test -f one.txt", "test -f readme.txt"));
    let reason = stop(&sandbox).expect("the second file is missing");
    assert!(reason.contains("The commands of TODO-1 pass although nothing"), "{reason}");
    let shown = status_text(&sandbox);
    assert!(shown.contains("[x] TODO-1 the first file: its commands passed before"), "{shown}");
    let again = stop(&sandbox).expect("the second file is missing");
    assert!(!again.contains("although nothing was changed"), "it is said once: {again}");
    sandbox.write("two.txt", "two\n");
    let answer = stop_output(&sandbox);
    assert!(notice(&answer).contains("The commands of TODO-1 passed before anything"), "{answer}");
}

#[test]
fn without_workers_no_text_speaks_of_them() {
    let sandbox = Sandbox::new();
    sandbox.commit();
    let start = ["start", "--kind", "small", "--solo", "--goal", GOAL, "--session", SESSION];
    assert_eq!(pipeline(&sandbox, &start).code, 0);
    sandbox.write(&plan_path(&sandbox), PLAN);
    let told = approve(&sandbox);
    assert!(told.contains("TODO-1 can be done now") && !told.contains("worker"), "{told}");
    let reason = stop(&sandbox).expect("nothing is done");
    assert!(reason.contains("TODO-1 can be done now") && !reason.contains("worker"), "{reason}");
}

#[test]
fn one_todo_is_for_one_worker() {
    let sandbox = approved(PLAN);
    let reason = stop(&sandbox).expect("nothing is done");
    assert!(reason.contains("TODO-1 can be given to a worker now"), "{reason}");
}

#[test]
fn an_approved_plan_that_cannot_be_read_is_shown_with_the_reason() {
    let sandbox = approved(PLAN);
    sandbox.write(&plan_path(&sandbox), &format!("{PLAN}\0"));
    let reason = stop(&sandbox).expect("the plan cannot be read");
    assert!(reason.contains("plan.md cannot be read: "), "{reason}");
    assert!(!reason.contains("is missing or"), "{reason}");
}

#[test]
fn the_faults_of_a_plan_are_bounded() {
    let sandbox = begun(GOAL);
    let todos: Vec<String> =
        (1..400).map(|number| format!("### [ ] TODO {number}: x\n- [H] it is nice\n")).collect();
    sandbox.write(&plan_path(&sandbox), &format!("# PLAN: x\n{}", todos.concat()));
    let reason = stop(&sandbox).expect("the plan has faults");
    assert!(reason.contains("and 389 more") && reason.len() < 4_000, "{reason}");
    let refused = slash(&sandbox, "moai-run", "");
    assert!(refused["reason"].as_str().is_some_and(|text| text.len() < 3_000), "{refused}");
}

#[test]
fn a_failure_that_an_agent_declares_is_no_claim_about_a_run() {
    let sandbox = approved(PLAN);
    let plan = PLAN.replace("### [ ] TODO 2", "### [FAILED] TODO 2");
    sandbox.write(&plan_path(&sandbox), &plan);
    let reason = stop(&sandbox).expect("it is still to be done");
    assert!(reason.contains("TODO-2 was marked [FAILED], which the engine decides"), "{reason}");
    let told = pipeline(&sandbox, &["report"]).stdout;
    assert!(told.contains("claims that moai-ralph's own runs did not confirm:"), "{told}");
    assert!(told.contains("TODO-2: was marked [FAILED]: `grep -q two two.txt` fails"), "{told}");
}

#[test]
fn what_a_shell_command_changed_is_said_for_the_agent_and_the_user() {
    let sandbox = approved(PLAN);
    let told = shell(&sandbox, None, || sandbox.write("src/app.py", "print(1)\n"));
    assert!(told.contains("while a shell command of the main agent ran, src/app.py"), "{told}");
    assert!(!told.contains("your shell command"), "{told}");
}

#[test]
fn a_box_that_a_worker_earned_since_the_last_stop_is_counted() {
    let sandbox = approved(PLAN);
    assert!(stop(&sandbox).is_some());
    sandbox.write("one.txt", "one\n");
    assert_eq!(end(&sandbox, WORKER, &report("TODO-1", "PASS")), None);
    let shown = status_text(&sandbox);
    assert!(shown.contains("[x] TODO-1") && shown.contains("0/2, now 1"), "{shown}");
}

#[test]
fn an_end_because_of_weakened_checks_says_so_and_only_a_person_goes_on() {
    let sandbox = Sandbox::new();
    sandbox.write("checks/one.sh", "grep -q right one.txt\n");
    sandbox.commit();
    let start = ["start", "--kind", "small", "--goal", GOAL, "--session", SESSION];
    assert_eq!(pipeline(&sandbox, &start).code, 0);
    let plan = PLAN.replace("test -f one.txt", "sh checks/one.sh");
    sandbox.write(&plan_path(&sandbox), &plan);
    approve(&sandbox);
    let mut last = serde_json::Value::Null;
    for number in 0..4 {
        shell(&sandbox, None, || sandbox.write("checks/one.sh", &format!("exit 0 # {number}\n")));
        last = stop_output(&sandbox);
        if last["decision"] != "block" {
            break;
        }
    }
    let shown = notice(&last);
    assert!(shown.contains("only you can continue it"), "{shown}");
    assert!(!shown.contains("moai-ralph loop resume"), "{shown}");
    let way = "run at a terminal: moai-ralph pipeline resume, then moai-ralph loop refreeze";
    assert!(shown.contains(way) && !shown.contains("guard allow"), "{shown}");
    let early = terminal::with_code(&sandbox, &["loop", "refreeze", "--now"]);
    assert_eq!(early.code, 1, "{early:#?}");
    assert!(early.stderr.contains("first (`moai-ralph pipeline resume`)"), "{early:#?}");
    assert!(
        status(&sandbox)["note"]
            .as_str()
            .is_some_and(|it| it.starts_with("tests or checks were weakened"))
    );
    let mut by_agent = sandbox.program();
    by_agent.env("CLAUDECODE", "1").args(["pipeline", "resume", "--session", SESSION]);
    let refused = crate::support::finish(&mut by_agent, "");
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("only the user continues it"), "{refused:#?}");
    assert_eq!(status(&sandbox)["phase"], "ended");
    let answer = slash(&sandbox, "pipeline-resume", "");
    assert_ne!(answer["decision"], "block", "{answer}");
    let output = terminal::with_code(&sandbox, &["loop", "refreeze", "--now"]);
    assert_eq!(output.code, 0, "{output:#?}");
    for command in ["report", "pr"] {
        let shown = pipeline(&sandbox, &[command]).stdout;
        assert!(shown.contains("continued after an end because tests or checks"), "{shown}");
        assert!(shown.contains("frozen again: checks/one.sh"), "{shown}");
    }
}

#[test]
fn a_pipeline_that_its_store_has_lost_is_named() {
    let sandbox = approved(PLAN);
    let id = status(&sandbox)["id"].as_str().expect("an id").to_owned();
    kill(daemon(&sandbox));
    std::fs::remove_dir_all(sandbox.base().join("state")).expect("there");
    let told = stop_output(&sandbox);
    let shown = notice(&told);
    for part in [id.as_str(), "pipeline start", ".moai/specs", "loop forget"] {
        assert!(shown.contains(part), "{part} is not in {shown}");
    }
}

#[test]
fn a_test_that_an_acceptance_command_has_run_is_measured() {
    let test = "import unittest\n\n\nclass Case(unittest.TestCase):\n    def test_one(self):\n        \
                with open(\"one.txt\") as file:\n            self.assertEqual(file.read(), \"one\\n\")\n";
    for (more, is_named) in [(None, false), (Some("t/test_other.py"), true)] {
        let sandbox = begun(GOAL);
        sandbox.write("t/__init__.py", "");
        sandbox.write("tests/__init__.py", "");
        sandbox.write("t/test_x.py", test);
        if let Some(other) = more {
            sandbox.write(other, test);
        }
        sandbox.commit();
        sandbox.write(
            &plan_path(&sandbox),
            &PLAN.replace("test -f one.txt", "python3 -m unittest t.test_x"),
        );
        approve(&sandbox);
        sandbox.write("one.txt", "one\n");
        sandbox.write("two.txt", "two\n");
        while stop(&sandbox).is_some() {}
        let ended = status(&sandbox);
        assert_eq!(ended["todos"]["done"], 2, "{ended}");
        let note = ended["note"].as_str().unwrap_or_default();
        assert_eq!(note.contains("no command is known that runs it"), is_named, "{note}");
        assert!(!note.contains("t/test_x.py"), "{note}");
    }
}

#[test]
fn what_to_do_about_a_changed_check_is_said_to_its_end() {
    let script = "checks/of-a-part-with-a-long-name/that-is-run.sh";
    let sandbox = Sandbox::new();
    sandbox.write(script, "grep -q right one.txt\n");
    sandbox.commit();
    let start = ["start", "--kind", "small", "--goal", GOAL, "--session", SESSION];
    assert_eq!(pipeline(&sandbox, &start).code, 0);
    let plan = PLAN.replace("test -f one.txt", &format!("sh {script}"));
    sandbox.write(&plan_path(&sandbox), &plan);
    approve(&sandbox);
    shell(&sandbox, None, || sandbox.write(script, "true\n"));
    let reason = stop(&sandbox).expect("the check is another one");
    assert!(reason.contains("accept it (moai-ralph loop refreeze)"), "{reason}");
}

#[test]
fn decisions_come_before_the_details_of_checks() {
    let commands = (1..=6).map(|number| {
        format!("  - [A] `sh checks/a-check-with-quite-a-long-name-{number}.sh` passes\n")
    });
    let plan = format!(
        "# PLAN: checks\n\n### [ ] TODO 1: all\n- Acceptance Criteria:\n{}",
        commands.collect::<String>()
    );
    let sandbox = begun(GOAL);
    for number in 1..=6 {
        let script =
            "for i in 1 2 3 4 5 6; do echo \"FAILED case $i: expected 1, got $i\"; done; exit 1\n";
        sandbox.write(&format!("checks/a-check-with-quite-a-long-name-{number}.sh"), script);
    }
    sandbox.commit();
    sandbox.write(&plan_path(&sandbox), &plan);
    approve(&sandbox);
    let more = format!(
        "{plan}  - [H] it is nice\n\n### [ ] TODO 2: more\n- [A] `test -f two.txt`\n\n### [ ] TODO 3: \
         even more\n- [A] `test -f three.txt`\n"
    );
    sandbox.write(&plan_path(&sandbox), &more);
    let reason = stop(&sandbox).expect("nothing is done");
    let added =
        reason.find("TODO-1 AC-7 (line 11), TODO-2 (line 13), TODO-3 (line 16). Run `moai-ralph");
    let check = reason.find("Check failed:").expect("they fail");
    assert!(added.is_some_and(|added| added < check), "{reason}");
    assert!(reason.find("can be given to a worker").is_some_and(|ready| ready < check), "{reason}");
    let shown = status_text(&sandbox);
    assert!(shown.contains("not approved yet: TODO-1 AC-7 (line 11), TODO-2 (line 13)"), "{shown}");
    approve(&sandbox);
    assert!(!status_text(&sandbox).contains("not approved yet"));
}

#[test]
fn a_session_that_adopts_a_pipeline_learns_where_it_is_when_it_is_told() {
    let sandbox = begun(GOAL);
    sandbox.write(&plan_path(&sandbox), PLAN);
    let loop_id = status(&sandbox)["loop_id"].as_str().expect("an id").to_owned();
    // The start of the pipeline was not told to anyone yet either.
    assert_eq!(sandbox.run(&["loop", "adopt", &loop_id, "--session", SESSION]).code, 0);
    let approved = approve(&sandbox);
    let next = sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit")).stdout;
    let told = format!("{approved}\n{next}");
    assert!(told.contains("is approved") && told.contains("[ ] TODO-1 the first file"), "{told}");
    assert!(!told.contains("write the plan to"), "the plan is written: {told}");
}

#[test]
fn what_a_failing_test_asserts_reaches_the_agent_with_its_file_and_line() {
    let test = "import unittest\n\n\nclass Case(unittest.TestCase):\n    def test_one(self):\n        \
                self.assertEqual(open(\"one.txt\").read(), \"one\\n\")\n";
    let sandbox = begun(GOAL);
    sandbox.write("t/__init__.py", "");
    sandbox.write("t/test_x.py", test);
    sandbox.write("one.txt", "other\n");
    sandbox.commit();
    let plan = PLAN.replace("test -f one.txt", "python3 -m unittest t.test_x");
    sandbox.write(&plan_path(&sandbox), &plan);
    approve(&sandbox);
    let reason = stop(&sandbox).expect("nothing is done");
    for part in ["FAIL: test_one", "test_x.py\", line 6, in test_one", "AssertionError: 'other"] {
        assert!(reason.contains(part), "{part} is not in {reason}");
    }
    assert!(!reason.contains("Traceback"), "{reason}");
    let held = end(&sandbox, WORKER, &report("TODO-1", "PASS")).expect("it does not pass");
    let shown = status_text(&sandbox);
    for text in [held, shown] {
        assert!(text.contains("line 6") && text.contains("AssertionError: 'other"), "{text}");
    }
}

#[test]
fn a_session_that_starts_with_a_pipeline_of_its_own_is_told_once() {
    let sandbox = begun(GOAL);
    let told = sandbox.hook("session-start", &sandbox.payload("SessionStart-startup")).context();
    assert_eq!(told.matches("write the plan to").count(), 1, "{told}");
}

#[test]
fn a_question_is_asked_with_the_command_that_answers_it() {
    let sandbox = approved(&PLAN.replace("  - [A] `grep", "  - [H] it reads well\n  - [A] `grep"));
    sandbox.write("one.txt", "one\n");
    sandbox.write("two.txt", "two\n");
    let answer = "Is TODO-2/AC-1 met (it reads well)? Answer with `/moai-ralph:pipeline-answer \
                  TODO-2/AC-1 yes` (or `no`)";
    while stop(&sandbox).is_some() {}
    let told = stop_output(&sandbox);
    let shown = notice(&told);
    assert!(
        shown.contains(answer) && !shown.contains("NAME") && !shown.contains("resume"),
        "{shown}"
    );
    let shown = status_text(&sandbox);
    assert!(shown.contains(&format!("asks you: {answer}")), "{shown}");
    assert!(shown.contains("its loop is paused until you have answered"), "{shown}");
    let refused = slash(&sandbox, "pipeline-answer", "TODO-9/AC-1 yes");
    let reason = refused["reason"].as_str().unwrap_or_default();
    assert!(
        reason.contains("TODO-9/AC-1 is not an open question. Open questions: TODO-2/AC-1"),
        "{reason}"
    );
    slash(&sandbox, "pipeline-answer", "TODO-2/AC-1 yes");
    let refused = slash(&sandbox, "pipeline-answer", "TODO-9/AC-1 yes");
    assert!(
        refused["reason"].as_str().is_some_and(|it| it.contains("none is open now")),
        "{refused}"
    );
}
