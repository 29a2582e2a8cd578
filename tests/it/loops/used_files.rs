//! Files that the checks run and load besides those in their commands: a changed script holds a Stop, and a
//! file that may be part of the work leaves a loop unverified.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use super::{FIXED, project, shell, start, status, stop};
use crate::support::{Sandbox, write_file};

const WORK: &str = "grep -q right src/f.txt && echo 1 passed\n";
const PYTHON: &str = "import sys\nsys.exit(0 if 'right' in open('src/f.txt').read() else 1)\n";

/// Names of files with their texts.
type NamedTexts<'c> = &'c [(&'c str, &'c str)];
/// A command, the files of its project, and the one that changes.
type HeldCase<'c> = (&'c str, NamedTexts<'c>, &'c str);
/// The same with the new text, and the file that the end reports.
type UsedCase<'c> = (&'c str, NamedTexts<'c>, (&'c str, &'c str), Option<&'c str>);

/// A loop of a project with these files, whose check is this command and whose work satisfies it.
fn checked(command: &str, files: &[(&str, &str)]) -> Sandbox {
    let sandbox = project();
    sandbox.write("RUBRIC.md", &format!("# Rubric\n\n## Checks\n\n- `{command}`\n"));
    sandbox.write("src/f.txt", "wrong\n");
    for (name, text) in files {
        sandbox.write(name, text);
    }
    sandbox.commit();
    let begun = start(&sandbox, &["--until", "checks", "--max-iterations", "9"]);
    assert_eq!(begun.code, 0, "{begun:#?}");
    sandbox.write("app.py", FIXED);
    sandbox.write("src/f.txt", "right\n");
    sandbox
}

#[test]
fn a_changed_script_or_program_that_a_check_runs_holds_the_stop() {
    let makefile = "RUN = ./t\ntest: lint\n\t@sh $(RUN)/c.sh\nlint:\n\ttrue\nother:\n\tsh t/o.sh\n";
    let package = "{\"scripts\": {\"test\": \"npm run --silent unit\", \"unit\": \"sh t/c.sh\"}}\n";
    let cases: [HeldCase<'_>; 9] = [
        ("make test", &[("Makefile", makefile), ("t/c.sh", WORK)], "t/c.sh"),
        ("make -f t/m.mk", &[("t/m.mk", "a:\n\tgrep right src/f.txt\n")], "t/m.mk"),
        ("npm test", &[("package.json", package), ("t/c.sh", WORK)], "t/c.sh"),
        ("sh -c \"nice -n 1 sh t/c.sh\"", &[("t/c.sh", WORK)], "t/c.sh"),
        (
            "sh t/all",
            &[("t/all", "for f in t/cases/*; do sh \"$f\" || exit 1; done\n"), ("t/cases/a", WORK)],
            "t/cases/a",
        ),
        ("python3 -m t.chk", &[("t/__init__.py", ""), ("t/chk.py", PYTHON)], "t/chk.py"),
        (
            "python3 t/c.py",
            &[("t/c.py", "import aid\naid.go()\n"), ("t/aid.py", "def go():\n    pass\n")],
            "t/aid.py",
        ),
        ("sh t/c.sh", &[("t/c.sh", "perl t/c.pl\n"), ("t/c.pl", "exit 0;\n")], "t/c.pl"),
        (
            "node scripts/run.js",
            &[
                ("scripts/run.js", "require('./aid').run();\n"),
                ("scripts/aid.js", "exports.run = () => process.exit(0);\n"),
            ],
            "scripts/aid.js",
        ),
    ];
    for (command, files, door) in cases {
        let sandbox = checked(command, files);
        let before = fs::read_to_string(sandbox.path(door)).expect("there");
        shell(&sandbox, || sandbox.write(door, &format!("{before}\n")));
        let reason = stop(&sandbox, "finished").unwrap_or_else(|| panic!("{command}: {door}"));
        assert!(reason.contains("guard(G19)") && reason.contains(door), "{command}: {reason}");
        sandbox.write(door, &before);
        assert_eq!(stop(&sandbox, "finished"), None, "{command}: {door}");
        assert_eq!(status(&sandbox)["status"], "completed", "{command}: {door}");
    }
}

#[test]
fn what_a_check_uses_and_may_be_the_work_leaves_a_loop_unverified() {
    let makefile = "check:\n\tgrep -q right src/f.txt\nother:\n\ttrue\n";
    let weaker = "check:\n\ttrue\nother:\n\ttrue\n";
    let more = "check:\n\tgrep -q right src/f.txt\nother:\n\tfalse\n";
    let reads = "import json, sys\nsys.exit(0 if json.load(open('t/want.json')) else 1)\n";
    let results = "sort src/f.txt > t/out.txt\ndiff t/out.txt t/exp\n";
    let cases: [UsedCase<'_>; 8] = [
        ("diff src/f.txt t/exp", &[("t/exp", "right\n")], ("t/exp", "right\n\n"), Some("t/exp")),
        ("grep -q -f t/pat src/f.txt", &[("t/pat", "right\n")], ("t/pat", "r\n"), Some("t/pat")),
        (
            "awk -f t/a.awk src/f.txt",
            &[("t/a.awk", "END{}\n")],
            ("t/a.awk", "END { }\n"),
            Some("t/a.awk"),
        ),
        (
            "python3 t/c.py",
            &[("t/c.py", reads), ("t/want.json", "[1]\n")],
            ("t/want.json", "[2]\n"),
            Some("t/want.json"),
        ),
        ("make check", &[("Makefile", makefile)], ("Makefile", weaker), Some("Makefile (check)")),
        ("make check", &[("Makefile", makefile)], ("Makefile", more), None),
        ("sh tests/c.sh", &[("tests/c.sh", WORK)], ("tests/c.sh", "true\n"), Some("tests/c.sh")),
        (
            "sh t/c.sh",
            &[("t/c.sh", results), ("t/exp", "right\n"), ("t/out.txt", "wrong\n")],
            ("t/out.txt", "right\n"),
            None,
        ),
    ];
    for (command, files, (door, text), named) in cases {
        let sandbox = checked(command, files);
        if command.starts_with("diff") {
            sandbox.write("src/f.txt", text);
        }
        shell(&sandbox, || sandbox.write(door, text));
        assert_eq!(stop(&sandbox, "finished"), None, "{command}: {door}");
        let expected = if named.is_some() { "completed_unverified" } else { "completed" };
        assert_eq!(status(&sandbox)["status"], expected, "{command}: {door}");
        let report = sandbox.run(&["loop", "report"]).stdout;
        let named = named.unwrap_or_default();
        assert!(report.contains(named), "{command}: {report}");
    }
}

#[test]
fn the_work_that_a_check_runs_is_no_part_of_its_exam() {
    let sandbox = checked(
        "make check",
        &[
            (
                "Makefile",
                "check:\n\tpython3 src/main.py\n\tsh t/c.sh\ndeploy:\n\tsh scripts/up.sh\n",
            ),
            ("src/main.py", "import lib\n"),
            ("src/lib.py", "x = 1\n"),
            ("scripts/up.sh", "true\n"),
            ("t/c.sh", "python3 -c 'import src.lib'\n"),
        ],
    );
    for work in ["src/main.py", "src/lib.py", "scripts/up.sh"] {
        let before = fs::read_to_string(sandbox.path(work)).expect("there");
        shell(&sandbox, || sandbox.write(work, &format!("{before}\n")));
    }
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn what_is_outside_of_the_project_leaves_a_loop_unverified_if_a_check_loads_it() {
    let program = |file: &std::path::Path| {
        write_file(file, "#!/bin/sh\nexit 0\n");
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).expect("ours");
    };
    let ended = |sandbox: &Sandbox, named: &str, expected: &str| {
        assert_eq!(stop(sandbox, "finished"), None, "{named}");
        assert_eq!(status(sandbox)["status"], expected, "{named}");
        let report = sandbox.run(&["loop", "report"]).stdout;
        let is_named = expected == "completed_unverified";
        assert_eq!(report.contains(named), is_named, "{named}: {report}");
    };
    // A program of the check's name, earlier on PATH.
    let sandbox = checked("grep -q right src/f.txt", &[]);
    shell(&sandbox, || program(&sandbox.base().join("bin/grep")));
    ended(&sandbox, "bin/grep", "completed_unverified");
    // A program that no check runs.
    let sandbox = checked("grep -q right src/f.txt", &[]);
    shell(&sandbox, || program(&sandbox.base().join("bin/sed")));
    ended(&sandbox, "bin/sed", "completed");
    let above = |sandbox: &Sandbox, name: &str| {
        let folder = sandbox.root().parent().expect("a folder").to_path_buf();
        write_file(&folder.join(name), "[pytest]\n");
    };
    for (file, expected) in [("pytest.ini", "completed_unverified"), ("go.work", "completed")] {
        let sandbox = checked("python3 -c 'import os'", &[]);
        shell(&sandbox, || above(&sandbox, file));
        ended(&sandbox, file, expected);
    }
    // Start files of a login shell.
    for (option, expected) in [("-lc", "completed_unverified"), ("-c", "completed")] {
        let sandbox = checked(&format!("bash {option} 'grep -q right src/f.txt'"), &[]);
        let file = sandbox.base().join("home/.bash_profile");
        shell(&sandbox, || write_file(&file, "true\n"));
        ended(&sandbox, ".bash_profile", expected);
    }
}
