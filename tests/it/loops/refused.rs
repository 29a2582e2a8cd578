//! Arguments of the commands that start a loop: accepted options, paths and tasks, and refusals
//! that name a valid alternative.

use serde_json::json;

use super::commands::expand;
use super::{CLEAN, DIRTY, blocked, project, start, status, stop};
use crate::support::Sandbox;

fn refusal(sandbox: &Sandbox, name: &str, typed: &str) -> String {
    let output = expand(sandbox, name, typed);
    let reason = blocked(&output).unwrap_or_else(|| panic!("{typed}: {output:#?}"));
    assert_eq!(sandbox.run(&["loop", "status", "--json"]).stdout.trim(), "null", "{typed}");
    reason
}

#[test]
fn an_unknown_option_is_refused_with_the_one_that_was_meant() {
    let sandbox = project();
    for typed in ["fix it --max-iteration 3", "--max-iteration 3 fix it", "fix it --iterations=3"] {
        let reason = refusal(&sandbox, "moai-loop", typed);
        assert!(reason.contains("did you mean --max-iterations?"), "{typed}: {reason}");
    }
    let reason = refusal(&sandbox, "moai-fix", "app.py --untill checks");
    assert!(reason.contains("did you mean --until?"), "{reason}");
    let output = start(&sandbox, &["--max-iteration", "3"]);
    assert_eq!(output.code, 3, "{output:#?}");
    assert!(output.stderr.contains("--max-iterations"), "{output:#?}");
    let told = expand(&sandbox, "moai-loop", "-- fix it --max-iteration 3");
    assert_eq!(blocked(&told), None);
    assert_eq!(status(&sandbox)["prompt"], "fix it --max-iteration 3");
}

#[test]
fn a_judge_without_a_rubric_is_refused_with_one_that_works() {
    let sandbox = project();
    let reason = refusal(&sandbox, "moai-loop", "fix it --mode judge --no-research");
    let (_, rubric) = reason.split_once("\n\n").expect("a rubric to copy");
    sandbox.write("RUBRIC.md", rubric);
    assert_eq!(start(&sandbox, &["--mode", "judge", "--no-research"]).code, 0);
}

#[test]
fn checks_that_are_not_there_are_refused_with_those_that_would_work() {
    let sandbox = project();
    let options = ".moai/config/sections/ralph.yaml";
    sandbox.write(options, "ralph: {loop: {propose_checks: false}}\n");
    let refused = start(&sandbox, &["--until", "checks"]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains(".claude/autochecks.sh"), "{refused:#?}");
    sandbox.write("Makefile", "test:\n\ttrue\n");
    let refused = start(&sandbox, &["--until", "checks"]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("make test"), "{refused:#?}");
    let line = refused.stderr.lines().find(|line| line.contains("success_criteria"));
    sandbox.write(options, &format!("{}\n", line.expect("what to write").trim()));
    assert_eq!(start(&sandbox, &["--until", "checks"]).code, 0);
}

#[test]
fn a_fix_of_a_path_measures_and_holds_that_path_alone_with_what_was_there_before() {
    let sandbox = project();
    sandbox.write("src/api/old.py", DIRTY);
    sandbox.write("src/other.py", DIRTY);
    sandbox.commit();
    // The example of the README.
    let told = expand(&sandbox, "moai-fix", "only src/api").context();
    assert!(told.contains("src/api/old.py:1:9") && !told.contains("src/other.py"), "{told}");
    let started = status(&sandbox);
    assert_eq!(started["options"]["paths"], json!(["src/api"]));
    assert_eq!(started["options"]["baseline"], "none");
    sandbox.write("src/third.py", DIRTY);
    let reason = stop(&sandbox, "done").expect("what was there before is the task");
    assert!(reason.contains("src/api/old.py"), "{reason}");
    assert!(!reason.contains("other.py") && !reason.contains("third.py"), "{reason}");
    sandbox.write("src/api/old.py", CLEAN);
    assert_eq!(stop(&sandbox, "done"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_fix_of_a_path_that_is_not_there_is_refused() {
    let sandbox = project();
    let reason = refusal(&sandbox, "moai-fix", "src/gone.py");
    assert!(reason.contains("src/gone.py is not a file or folder of this project"), "{reason}");
    let outside = refusal(&sandbox, "moai-fix", "/etc/hosts");
    assert!(outside.contains("/etc/hosts"), "{outside}");
}

#[test]
fn a_loop_whose_repository_cannot_be_read_does_not_start() {
    let sandbox = project();
    let head = sandbox.read(".git/HEAD");
    sandbox.write(".git/HEAD", "ref: refs/heads/\n");
    let refused = start(&sandbox, &[]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("git data cannot be read"), "{refused:#?}");
    sandbox.write(".git/HEAD", &head);
    assert_eq!(start(&sandbox, &[]).code, 0);
}
