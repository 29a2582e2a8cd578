//! A disk whose writes fail with an I/O error for a while: nothing is lost, nothing is half written, and
//! everything works again afterwards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use crate::failed_writes::{
    allow, assert_nothing_stays, assert_valid, assert_works, private_file, session,
};
use crate::support::{CHECKOUT, SESSION, Sandbox};

/// A project in a sandbox whose processes can be given a failing disk.
pub(crate) struct FailingDisk {
    pub(crate) sandbox: Sandbox,
    flag: PathBuf,
}

impl FailingDisk {
    pub(crate) fn new() -> Self {
        let mut sandbox = Sandbox::new();
        let library = sandbox.base().join("failing-disk.so");
        let source = Path::new(CHECKOUT).join("tests/data/failing_disk.c");
        // A C compiler links this program, too.
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(source).arg("-ldl");
        assert!(compiler.status().expect("cc runs").success());
        let flag = sandbox.base().join("disk-fails");
        sandbox.set("LD_PRELOAD", &library);
        sandbox.set("FAILING_DISK", &flag);
        Self { sandbox, flag }
    }

    fn fail(&self) {
        fs::write(&self.flag, "").expect("ours");
    }

    /// Lets so many calls that write in the folder of the memory succeed; the disk is full then.
    pub(crate) fn fail_after(&self, calls: usize) {
        assert!(calls > 0, "an empty file stands for another failure");
        fs::write(&self.flag, "x".repeat(calls)).expect("ours");
    }

    pub(crate) fn work(&self) {
        fs::remove_file(&self.flag).expect("it was failing");
    }
}

#[test]
fn hooks_answer_while_the_disk_fails_and_the_same_daemon_works_afterwards() {
    let disk = FailingDisk::new();
    let sandbox = &disk.sandbox;
    sandbox.write("a.py", "def half(n):\n    return n / 2\n");
    sandbox.commit();
    disk.fail();
    for (event, input) in session(sandbox, "00000000-0000-4000-8000-00000000000e") {
        assert_valid(event, &sandbox.hook(event, &input));
    }
    assert_nothing_stays(&sandbox.base());
    disk.work();
    assert_works(sandbox);
}

#[test]
fn a_loop_is_the_same_after_its_disk_has_failed() {
    let disk = FailingDisk::new();
    let sandbox = &disk.sandbox;
    sandbox.write("a.py", "x = 1\n");
    sandbox.commit();
    let prompt = ["--session", SESSION, "--prompt", "tidy up", "--max-iterations", "5"];
    let started = sandbox.run(&[&["loop", "start"], &prompt[..], &["--json"]].concat()).json();
    let id = started["id"].as_str().expect("an id").to_owned();
    assert_valid("stop", &sandbox.hook("stop", &sandbox.payload("Stop")));
    let before = sandbox.run(&["loop", "status", "--json"]).json();
    disk.fail();
    assert_valid("stop", &sandbox.hook("stop", &sandbox.payload("Stop")));
    let refused = sandbox.run(&["loop", "pause", &id]);
    assert_ne!(refused.code, 0, "{refused:#?}");
    disk.work();
    let after = sandbox.run(&["loop", "status", "--json"]).json();
    assert_eq!(
        (&after["status"], &after["iteration"]),
        (&before["status"], &before["iteration"]),
        "{after:#}"
    );
    let report = sandbox.run(&["loop", "report", &id]);
    assert!(report.code == 0 && !report.stdout.contains("changed by"), "{report:#?}");
    assert_eq!(sandbox.run(&["loop", "pause", &id]).code, 0);
    assert_eq!(sandbox.run(&["loop", "status", "--json"]).json()["status"], "paused");
    assert_nothing_stays(&sandbox.base());
}

#[test]
fn a_change_set_that_the_disk_refuses_changes_nothing() {
    let disk = FailingDisk::new();
    let sandbox = &disk.sandbox;
    for name in ["a.py", "b.py", "c.py"] {
        sandbox.write(name, "print(old(1))\n");
    }
    sandbox.commit();
    let rewrite = ["rewrite", "old($A)", "new($A)", "--lang", "python", "--apply"];
    let baseline = ["check", "--all", "--no-lsp", "--write-baseline", "known.json"];
    sandbox.run(&baseline);
    let known = sandbox.read("known.json");
    disk.fail();
    let refused = sandbox.run(&rewrite);
    assert!(refused.code == 1 && refused.stderr.contains("Input/output error"), "{refused:#?}");
    sandbox.run(&baseline);
    disk.work();
    for name in ["a.py", "b.py", "c.py"] {
        assert_eq!(sandbox.read(name), "print(old(1))\n");
    }
    assert_eq!(sandbox.read("known.json"), known);
    assert_nothing_stays(&sandbox.base());
    assert_eq!(sandbox.run(&rewrite).code, 0);
    assert_eq!(sandbox.read("c.py"), "print(new(1))\n");
}

#[test]
fn a_waiver_that_the_disk_refuses_allows_nothing() {
    let disk = FailingDisk::new();
    let sandbox = &disk.sandbox;
    for number in [1, 2] {
        let test = format!("def test_a():\n    assert a({number}) == 3\n");
        sandbox.write(
            &format!("tests/test_{number}.py"),
            &format!("{test}\n\ndef test_b():\n    assert b()\n"),
        );
    }
    sandbox.commit();
    for number in [1, 2] {
        sandbox.write(
            &format!("tests/test_{number}.py"),
            &format!("def test_a():\n    assert a({number}) == 3\n"),
        );
    }
    let report = sandbox.run(&["guard", "--json"]).json();
    let id = |at: usize| report["findings"][at]["id"].as_str().expect("an id").to_owned();
    assert_eq!(allow(sandbox.program(), &id(0)).code, 0);
    let file = private_file(sandbox, "waivers.jsonl");
    let before = fs::read_to_string(&file).expect("ours");
    disk.fail();
    let refused = allow(sandbox.program(), &id(1));
    assert!(refused.code == 1 && refused.stderr.contains("not written"), "{refused:#?}");
    disk.work();
    assert_eq!(fs::read_to_string(&file).expect("ours"), before);
    assert_nothing_stays(&sandbox.base());
    assert_eq!(sandbox.run(&["guard"]).code, 1, "the other finding counts");
    assert_eq!(allow(sandbox.program(), &id(1)).code, 0);
}

#[test]
fn scans_and_checkpoints_that_the_disk_refuses_are_made_later() {
    /// More than are scanned without a cache.
    const FILES: usize = 120;
    let disk = FailingDisk::new();
    let sandbox = &disk.sandbox;
    fs::remove_dir_all(sandbox.path(".git")).expect("there");
    for number in 0..FILES {
        sandbox.write(&format!("f{number}.py"), "eval(x)\n");
    }
    let check = ["check", "--all", "--no-lsp", "--json"];
    let prompt = ["--session", SESSION, "--prompt", "tidy up", "--max-iterations", "5"];
    sandbox.run(&[&["loop", "start"], &prompt[..]].concat());
    let id = sandbox.run(&["loop", "status", "--json"]).json()["id"].clone();
    let id = id.as_str().expect("an id").to_owned();
    disk.fail();
    assert_eq!(sandbox.run(&check).json()["findings"].as_array().map(Vec::len), Some(FILES));
    assert_valid("stop", &sandbox.hook("stop", &sandbox.payload("Stop")));
    disk.work();
    assert_nothing_stays(&sandbox.base());
    assert_eq!(sandbox.run(&check).json()["findings"].as_array().map(Vec::len), Some(FILES));
    sandbox.write("f1.py", "y = 1\n");
    assert_valid("stop", &sandbox.hook("stop", &sandbox.payload("Stop")));
    let history = sandbox.run(&["loop", "status", "--json"]).json();
    assert_eq!(history["id"], json!(id));
    sandbox.write("f1.py", "broken(\n");
    let restored = sandbox.run(&["loop", "restore", &id, "--to", "0", "--apply"]);
    assert_eq!(restored.code, 0, "{restored:#?}");
    assert_eq!(sandbox.read("f1.py"), "eval(x)\n");
}
