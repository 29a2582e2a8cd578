//! The instructions at the start of iterations, and the files that a loop keeps in the working tree.

use serde_json::json;

use super::{DIRTY, FIXED, project, start, status, stop};
use crate::support::{SESSION, Sandbox};

const RESEARCH: &str = "ORIGINAL_GOAL: fix it\nAPPROACHES_CONSIDERED:\n- rewrite: too large\n\
    APPROACH:\nRename the word where it is made, because every reader takes it from there.\n\
    CONFIDENCE: 70\n";
const PROGRESS: &str = "ORIGINAL_GOAL: fix it\nITERATION: 1\nCOMPLETED:\n- the word\n\
    DECISIONS:\n- chose: one word, rejected: two, reason: shorter, revisit_if: never\n\
    REMAINING_GAP:\n- hash the word\nCONFIDENCE: 80\n";

fn begin(sandbox: &Sandbox, prompt: &str, options: &[&str]) {
    let arguments = ["loop", "start", "--session", SESSION, "--prompt", prompt];
    let output = sandbox.run(&[&arguments, options].concat());
    assert_eq!(output.code, 0, "{output:#?}");
}

#[test]
fn research_comes_first_and_its_stop_is_not_counted() {
    let sandbox = project();
    begin(&sandbox, "fix it", &["--research"]);
    sandbox.write("app.py", DIRTY);
    let reason = stop(&sandbox, "finished").expect("there is no research");
    assert!(reason.contains("progress.txt is not there"), "{reason}");
    assert!(reason.contains("change no source file"), "{reason}");
    assert_eq!(status(&sandbox)["iteration"], 0);
    // The full instructions of both phases are given once, before any write.
    let told = sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit")).context();
    assert!(told.contains("change no source file yet"), "{told}");
    assert!(told.contains("Take one step from REMAINING_GAP and finish it"), "{told}");
    sandbox.write("progress.txt", RESEARCH);
    let reason = stop(&sandbox, "finished").expect("it is dirty");
    assert!(reason.contains("bad word") && !reason.contains("research phase"), "{reason}");
    assert!(reason.contains("Take one step from REMAINING_GAP"), "{reason}");
    assert_eq!(status(&sandbox)["iteration"], 1);
}

#[test]
fn a_task_in_korean_is_answered_in_korean_and_the_agents_own_list_comes_back() {
    let sandbox = project();
    begin(&sandbox, "이 파일을 고쳐줘", &["--completion-promise", "DONE"]);
    sandbox.write("app.py", DIRTY);
    sandbox.write("progress.txt", PROGRESS);
    let reason = stop(&sandbox, "finished").expect("it is dirty");
    assert!(reason.contains("남겨 둔 일") && reason.contains("hash the word"), "{reason}");
    assert!(reason.contains("REMAINING_GAP에서 하나만"), "{reason}");
    assert!(reason.chars().count() <= 9_500, "{}", reason.chars().count());
}

#[test]
fn everything_a_stop_may_say_stays_below_what_the_host_shows() {
    let sandbox = project();
    sandbox.write("RUBRIC.md", "## Judge criteria\n- The word is sensible.\n");
    let prompt = "고치기 ".repeat(3_000);
    begin(&sandbox, &prompt, &["--structured-memory", "--mode", "judge", "--no-research"]);
    let many: Vec<String> = (0..400).map(|number| format!("word_{number} = 'BAD'\n")).collect();
    sandbox.write("app.py", &many.concat());
    sandbox.write("progress.txt", &PROGRESS.replace("hash the word", &"x".repeat(5_000)));
    let reason = stop(&sandbox, "finished").expect("it is dirty");
    let (own, task) = reason.split_once("작업:\n").expect("the task is repeated");
    let (task, rest) = task.split_once("--json\n").expect("and cut");
    assert!(task.chars().count() <= 3_000, "{}", task.chars().count());
    assert!(own.len() + rest.len() <= 1_024, "{} {}", own.len(), rest.len());
    assert!(own.contains("bad word") && rest.contains("JUDGE_FEEDBACK.md"), "{reason}");
}

#[test]
fn decisions_are_kept_and_a_completed_loop_hands_over() {
    let sandbox = project();
    begin(&sandbox, "fix it", &["--structured-memory"]);
    for file in ["INDEX.md", "loops/current.md"] {
        assert!(sandbox.path(".claude/memory").join(file).is_file(), "{file}");
    }
    sandbox.write("app.py", DIRTY);
    sandbox.write("progress.txt", PROGRESS);
    assert!(stop(&sandbox, "finished").is_some());
    let decisions = sandbox.read("decisions.md");
    assert!(decisions.contains("one word"), "{decisions}");
    assert!(!sandbox.path(".claude/gulf-align.md").exists(), "nothing is handed over yet");
    sandbox.write(".claude/memory/loops/current.md", "# This loop\n\n- named the word\n");
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], json!("completed"));
    let handed = sandbox.read(".claude/gulf-align.md");
    assert!(handed.contains("hash the word"), "{handed}");
    assert_eq!(sandbox.read("decisions.md"), decisions, "nothing is written twice");
}

#[test]
fn an_open_question_stops_a_start_and_leaves_nothing_behind() {
    let sandbox = project();
    let align = "## Gulf of Envisioning — Gap Check\n- **Blocking questions**:\n  - [ ] Which?\n";
    sandbox.write(".claude/gulf-align.md", align);
    let refused = start(&sandbox, &["--mode", "autonomous", "--no-research"]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("Which?"), "{refused:#?}");
    assert_eq!(super::git(&sandbox, &["branch", "--list", "gulf/*"]), "");
}
