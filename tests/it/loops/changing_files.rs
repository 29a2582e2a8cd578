//! Files that change between the checks and the verdict: the verdict must be about the checked text.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::judged::{judged, says};
use super::{CLEAN, FIXED, autochecks, notice, project, start, status, stop};
use crate::support::{Sandbox, finish, write_file};

fn checked(body: &str) -> Sandbox {
    let sandbox = project();
    sandbox.write("stamp.txt", "0\n");
    autochecks(&sandbox, body);
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", FIXED);
    sandbox
}

#[test]
fn work_that_changes_after_its_checks_is_checked_again() {
    let sandbox = checked("grep -q better app.py || exit 1\necho \"word = 'none'\" >app.py");
    let reason = stop(&sandbox, "finished").expect("the files on disk fail the checks");
    assert!(reason.contains("Check failed: .claude/autochecks.sh"), "{reason}");
    assert_eq!(status(&sandbox)["status"], "running");
}

#[test]
fn checks_that_change_the_work_in_every_run_prove_nothing() {
    let sandbox = checked("cat /proc/sys/kernel/random/uuid >stamp.txt");
    let reason = stop(&sandbox, "finished").expect("the checks did not see these bytes");
    assert!(reason.contains("files changed while they were measured: stamp.txt"), "{reason}");
    let again = stop(&sandbox, "finished").expect("nothing is different now");
    let remedy = "stop whatever changes them during the Stop";
    assert!(reason.contains(remedy) && again.contains(remedy), "{again}");
    let mut last = sandbox.hook("stop", &sandbox.payload("Stop"));
    while status(&sandbox)["status"] == "running" {
        last = sandbox.hook("stop", &sandbox.payload("Stop"));
    }
    assert_eq!(status(&sandbox)["status"], "completed_unverified", "{last:#?}");
    assert!(notice(&last).contains("stamp.txt"), "{last:#?}");
}

#[test]
fn data_that_the_agent_wrote_is_work_although_git_does_not_track_it() {
    let sandbox = checked("cat /proc/sys/kernel/random/uuid >data.txt");
    sandbox.tool_write("data.txt", "good\n");
    let reason = stop(&sandbox, "finished").expect("the checks did not see these bytes");
    assert!(reason.contains("files changed while they were measured: data.txt"), "{reason}");
}

#[test]
fn a_formatter_and_the_reports_of_checks_hold_nothing_up() {
    let checks = "sed -i 's/ = /  =  /; s/  *=  */ = /' app.py\n\
        mkdir -p reports __pycache__\n\
        cat /proc/sys/kernel/random/uuid | tee reports/junit.xml >__pycache__/app.pyc";
    let sandbox = checked(checks);
    sandbox.write("app.py", "word    =    'better'\n");
    assert_eq!(stop(&sandbox, "finished"), None, "{}", status(&sandbox));
    assert_eq!(status(&sandbox)["status"], "completed");
    assert_eq!(sandbox.read("app.py"), FIXED);
}

#[test]
fn folders_and_scripts_that_others_stand_for_while_the_checks_run_prove_nothing() {
    let folder = ("mv lib away; mv good lib", "mv lib good; mv away lib", "lib/");
    let script = ("cp t/c.sh .git/real; echo true >t/c.sh", "cat .git/real >t/c.sh", "t/c.sh");
    for (before, after, named) in [folder, script] {
        let sandbox = project();
        sandbox.write("lib/f.py", "it = 'wrong'\n");
        sandbox.write("good/f.py", "it = 'right'\n");
        sandbox.write("t/c.sh", "grep -q right lib/f.py\n");
        for (name, body) in [("swap", before), ("swap-back", after)] {
            let program = sandbox.base().join("bin").join(name);
            write_file(&program, &format!("#!/bin/sh\n{body}\n"));
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
        }
        autochecks(&sandbox, "swap\nsh t/c.sh\nit=$?\nswap-back\nexit $it");
        sandbox.commit();
        assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "9"]).code, 0);
        sandbox.write("app.py", FIXED);
        let reason = stop(&sandbox, "finished");
        let reason = reason.unwrap_or_else(|| panic!("{named}: {:#}", status(&sandbox)));
        assert!(reason.contains("files changed while they were measured: "), "{reason}");
        assert!(reason.contains(named), "{named}: {reason}");
    }
}

#[test]
fn links_permissions_and_moved_documents_hold_nothing_up() {
    let link = "rm -rf .copy; cp -al lib .copy; rm -r .copy";
    let permissions = "chmod u+rw lib/*.py; chmod -R u+rwX lib";
    let documents = "mv docs docs.off; mv docs.off docs";
    for body in [link, permissions, documents] {
        let sandbox = project();
        sandbox.write("lib/f.py", "it = 'right'\n");
        sandbox.write("docs/a.md", "read me\n");
        autochecks(&sandbox, body);
        sandbox.commit();
        assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "9"]).code, 0);
        sandbox.write("app.py", FIXED);
        assert_eq!(stop(&sandbox, "finished"), None, "{body}: {:#}", status(&sandbox));
        assert_eq!(status(&sandbox)["status"], "completed", "{body}");
    }
}

#[test]
fn code_in_reports_of_the_checks_is_no_work() {
    let report = "mkdir -p htmlcov; cat /proc/sys/kernel/random/uuid >htmlcov/data.js";
    let sandbox = checked(report);
    assert_eq!(stop(&sandbox, "finished"), None, "{}", status(&sandbox));
    assert_eq!(status(&sandbox)["status"], "completed");
    // Those of an earlier run are there before the checks.
    let sandbox = checked(&format!("{report}\ngrep -q better app.py"));
    sandbox.write("app.py", CLEAN);
    stop(&sandbox, "finished").expect("the check fails");
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None, "{}", status(&sandbox));
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn reports_that_were_there_before_the_loop_hold_nothing_up() {
    let sandbox = project();
    autochecks(&sandbox, "echo \"a = $(date +%s%N)\" >gen/data.py");
    sandbox.commit();
    sandbox.write("gen/data.py", "a = 1\n");
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", FIXED);
    assert_eq!(stop(&sandbox, "finished"), None, "{}", status(&sandbox));
    assert_eq!(status(&sandbox)["status"], "completed");
}

/// Runs the checks as the agent does, with the hooks of that call.
fn run_by_agent(sandbox: &Sandbox) {
    let command = "sh .claude/autochecks.sh";
    let mut input = sandbox.payload("PostToolUse-Bash");
    input["tool_input"] = json!({"command": command});
    let mut shell = Command::new("sh");
    sandbox.prepare(&mut shell);
    assert_eq!(finish(shell.args(["-c", command]), "").code, 0);
    sandbox.hook("post-tool-use", &input);
}

#[test]
fn reports_that_the_agent_made_with_the_checks_are_no_work() {
    for report in ["BAD", "BAD $(cat /proc/sys/kernel/random/uuid)"] {
        let report = format!("mkdir -p htmlcov; echo \"{report}\" >htmlcov/data.py");
        let sandbox = checked(&report);
        run_by_agent(&sandbox);
        assert_eq!(stop(&sandbox, "finished"), None, "{report}: {}", status(&sandbox));
        assert_eq!(status(&sandbox)["status"], "completed", "{report}");
        // Nor do they count as the work that the task asks for.
        let sandbox = checked(&report);
        sandbox.write("app.py", CLEAN);
        run_by_agent(&sandbox);
        let reason = stop(&sandbox, "finished").expect("the work is as it was");
        assert!(reason.contains("No file changed"), "{report}: {reason}");
    }
}

#[test]
fn code_of_the_checks_that_mentions_what_changed_is_measured() {
    let sandbox = checked("mkdir -p lib; echo \"word = 'BAD'\" >lib/words.py");
    run_by_agent(&sandbox);
    let reason = stop(&sandbox, "finished").expect("a file of the work is wrong");
    assert!(reason.contains("lib/words.py"), "{reason}");
}

#[test]
fn what_the_agent_wrote_is_work_although_the_checks_write_it_again() {
    let sandbox = checked("mkdir -p htmlcov; echo BAD >htmlcov/data.py");
    let mut input = sandbox.payload("PostToolUse-Write");
    input["tool_input"] = json!({"file_path": sandbox.path("htmlcov/data.py"), "content": "BAD\n"});
    sandbox.write("htmlcov/data.py", "BAD\n");
    sandbox.hook("post-tool-use", &input);
    let reason = stop(&sandbox, "finished").expect("a file of the work is wrong");
    assert!(reason.contains("htmlcov/data.py"), "{reason}");
}

#[test]
fn what_the_agent_wrote_in_a_shell_is_work_although_the_checks_format_it() {
    let format = "grep -q '  $' htmlcov/data.py && sed -i 's/ *$//' htmlcov/data.py; true";
    let sandbox = checked(format);
    sandbox.write("htmlcov/data.py", "BAD  \n");
    let reason = stop(&sandbox, "finished").expect("a file of the work is wrong");
    assert!(reason.contains("htmlcov/data.py"), "{reason}");
    assert_eq!(sandbox.read("htmlcov/data.py"), "BAD\n");
}

#[test]
fn what_checks_make_in_the_place_of_the_work_is_measured() {
    let sandbox = project();
    sandbox.write("lib/f.py", "it = 'good'\n");
    autochecks(&sandbox, "mkdir -p lib; echo \"it = 'BAD'\" >lib/f.py");
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", FIXED);
    fs::remove_dir_all(sandbox.path("lib")).expect("ours");
    let reason = stop(&sandbox, "finished").expect("a file of the work is wrong");
    assert!(reason.contains("lib/f.py") && reason.contains("badWord"), "{reason}");
}

#[test]
fn only_reports_were_made_and_nothing_was_done() {
    let sandbox = checked("mkdir -p htmlcov; cat /proc/sys/kernel/random/uuid >htmlcov/data.js");
    sandbox.write("app.py", CLEAN);
    let reason = stop(&sandbox, "finished").expect("the work is as it was");
    assert!(reason.contains("No file changed"), "{reason}");
}

#[test]
fn a_changed_file_with_an_older_time_is_no_proof_until_it_is_touched() {
    let sandbox = checked("grep -q better app.py");
    sandbox.write("Makefile", "all:\n");
    let file = || fs::File::options().append(true).open(sandbox.path("app.py")).expect("ours");
    let earlier = SystemTime::now() - Duration::from_secs(30);
    file().set_modified(earlier).expect("ours");
    let reason = stop(&sandbox, "finished").expect("a build may have used an earlier result");
    assert!(
        reason.contains("changed without a newer time") && reason.contains("app.py"),
        "{reason}"
    );
    assert!(reason.contains("touch these files"), "{reason}");
    file().set_modified(SystemTime::now()).expect("ours");
    assert_eq!(stop(&sandbox, "finished"), None, "{}", status(&sandbox));
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_folder_that_is_older_than_the_loop_is_no_proof() {
    let sandbox = project();
    sandbox.write("lib/f.py", "it = 'new'\n");
    sandbox.write("Makefile", "all:\n");
    let older = sandbox.base().join("older");
    write_file(&older.join("f.py"), "it = 'old'\n");
    autochecks(&sandbox, "true");
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "checks", "--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", FIXED);
    fs::rename(sandbox.path("lib"), sandbox.base().join("newer")).expect("ours");
    fs::rename(older, sandbox.path("lib")).expect("ours");
    let reason = stop(&sandbox, "finished").expect("a build may have used an earlier result");
    assert!(
        reason.contains("changed without a newer time") && reason.contains("lib/f.py"),
        "{reason}"
    );
}

#[test]
fn no_time_is_compared_where_no_tool_builds_by_it() {
    let sandbox = checked("grep -q better app.py");
    let file = fs::File::options().append(true).open(sandbox.path("app.py")).expect("ours");
    file.set_modified(SystemTime::now() - Duration::from_secs(30)).expect("ours");
    assert_eq!(stop(&sandbox, "finished"), None, "{}", status(&sandbox));
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn moved_files_and_scripts_that_become_executable_hold_nothing_up() {
    let sandbox = checked("grep -q better app.py && ./run.sh");
    sandbox.write("Makefile", "all:\n");
    sandbox.write("run.sh", "#!/bin/sh\ntrue\n");
    for (name, seconds) in [("run.sh", 30), ("stamp.txt", 9999)] {
        let file = fs::File::options().append(true).open(sandbox.path(name)).expect("ours");
        file.set_modified(SystemTime::now() - Duration::from_secs(seconds)).expect("ours");
    }
    let mode = fs::Permissions::from_mode(0o755);
    fs::set_permissions(sandbox.path("run.sh"), mode).expect("ours");
    fs::rename(sandbox.path("stamp.txt"), sandbox.path("moved.txt")).expect("ours");
    assert_eq!(stop(&sandbox, "finished"), None, "{}", status(&sandbox));
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn work_that_changes_while_it_is_judged_is_not_done() {
    let sandbox = judged(&["--max-iterations", "9"]);
    says(&sandbox, "met");
    let (asked, judge) = (sandbox.base().join("bin/ask-model"), sandbox.base().join("judge"));
    fs::rename(&asked, &judge).expect("ours");
    let app = sandbox.path("app.py");
    let body = format!(
        "#!/bin/sh\necho \"word = 'none'\" >'{}'\nexec '{}'\n",
        app.display(),
        judge.display()
    );
    write_file(&asked, &body);
    fs::set_permissions(&asked, fs::Permissions::from_mode(0o755)).expect("ours");
    sandbox.write("app.py", FIXED);
    let reason = stop(&sandbox, "finished").expect("the judge has approved other bytes");
    assert!(reason.contains("files changed while they were measured: app.py"), "{reason}");
    assert_ne!(sandbox.read("app.py"), CLEAN);
}
