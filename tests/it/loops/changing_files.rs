//! Files that change between the checks and the verdict: what was checked must be what is called done.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::judged::{judged, says};
use super::{CLEAN, FIXED, autochecks, notice, project, start, status, stop};
use crate::support::{Sandbox, write_file};

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
    let mut last = sandbox.hook("stop", &sandbox.payload("Stop"));
    while status(&sandbox)["status"] == "running" {
        last = sandbox.hook("stop", &sandbox.payload("Stop"));
    }
    assert_eq!(status(&sandbox)["status"], "completed_unverified", "{last:#?}");
    assert!(notice(&last).contains("stamp.txt"), "{last:#?}");
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
