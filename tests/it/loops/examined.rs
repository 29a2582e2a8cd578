//! The exam of a loop: changes to any file that test runners load are noticed. If the session did
//! not make a change, the user is asked and the loop is not failed for it.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::crashes::{daemon, kill};
use super::{DIRTY, FEWER, FIXED, TESTS, looping, notice, project, shell, start, status, stop};
use crate::support::{Output, SESSION, Sandbox, finish, write_file};
use crate::terminal;

const OPTIONS: &str = ".moai/config/sections/ralph.yaml";
const RUBRIC: &str = "# Rubric\n\n## Checks\n\n- true\n";
const STRICTER: &str = "# Rubric\n\n## Checks\n\n- true\n- test -f app.py\n";

/// A program on the sandbox's PATH that does nothing and passes.
fn passing_program(sandbox: &Sandbox, name: &str) {
    let file = sandbox.base().join("bin").join(name);
    write_file(&file, "#!/bin/sh\nexit 0\n");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("ours");
}

/// A loop of a project with one check and a commit.
fn checked(command: &str) -> Sandbox {
    checked_with(command, "test:\n\ttrue\n")
}

/// The same with this makefile, next to one in `mk`.
fn checked_with(command: &str, makefile: &str) -> Sandbox {
    let sandbox = project();
    passing_program(&sandbox, command.split(' ').next().expect("a program"));
    let words = command.split(' ').collect::<Vec<_>>().join(", ");
    let check = format!("{{name: unit, command: [{words}]}}");
    sandbox.write(OPTIONS, &format!("ralph: {{loop: {{checks: [{check}]}}}}\n"));
    sandbox.write("Makefile", makefile);
    sandbox.write("mk/a.mk", "A = 1\n");
    sandbox.write(".gitignore", "conftest.py\n");
    sandbox.commit();
    let begun = start(&sandbox, &["--until", "checks", "--max-iterations", "9"]);
    assert_eq!(begun.code, 0, "{begun:#?}");
    sandbox.write("app.py", FIXED);
    sandbox
}

#[test]
fn a_file_that_a_runner_loads_by_itself_holds_the_stop() {
    let doors = [
        ("python3 -m unittest", "unittest.py", ""),
        ("python3 -m unittest", "unittest/__init__.py", ""),
        ("python3 -m unittest", "sitecustomize.py", ""),
        ("pytest", "tests/pytest.py", ""),
        ("pytest", ".pytest.ini", "[pytest]\n"),
        ("pytest", "conftest.py", ""),
        ("make test", "GNUmakefile", "test:\n"),
        ("npm test", ".npmrc", "script-shell=/bin/true\n"),
        ("cargo test", "rust-toolchain.toml", "[toolchain]\npath = \"/tmp/fake\"\n"),
        ("cargo test", ".cargo/config", "[alias]\ntest = \"check\"\n"),
    ];
    for (command, door, text) in doors {
        let sandbox = checked(command);
        shell(&sandbox, || sandbox.write(door, text));
        let reason = stop(&sandbox, "finished").unwrap_or_else(|| panic!("{command}: {door}"));
        assert!(reason.contains("guard(G19)") && reason.contains(door), "{command}: {reason}");
        fs::remove_file(sandbox.path(door)).expect("there");
        assert_eq!(stop(&sandbox, "finished"), None, "{command}: {door}");
        assert_eq!(status(&sandbox)["status"], "completed", "{command}: {door}");
    }
}

#[test]
fn an_included_makefile_holds_the_stop_when_it_is_new_or_edited() {
    let makefile = "-include local.mk\ninclude mk/*.mk\n-include build/app.d\ntest:\n\ttrue\n";
    let begin = || {
        let sandbox = checked_with("make test", makefile);
        // Dependencies that a compiler writes do not list programs that run.
        shell(&sandbox, || sandbox.write("build/app.d", "app.o: app.c\n"));
        sandbox
    };
    for (door, text) in [
        ("local.mk", "PY = echo Ran 1 test\n"),
        ("mk/b.mk", "SHELL = ./mk/sh\n"),
        ("mk/a.mk", "test:\n\techo ok\n"),
        ("build/app.d", "PY = echo\n"),
    ] {
        let sandbox = begin();
        let before = fs::read_to_string(sandbox.path(door)).ok();
        shell(&sandbox, || sandbox.write(door, text));
        let reason = stop(&sandbox, "finished").unwrap_or_else(|| panic!("{door}"));
        assert!(reason.contains("guard(G19)") && reason.contains(door), "{door}: {reason}");
        match before {
            Some(before) => sandbox.write(door, &before),
            None => fs::remove_file(sandbox.path(door)).expect("there"),
        }
        assert_eq!(stop(&sandbox, "finished"), None, "{door}");
        assert_eq!(status(&sandbox)["status"], "completed", "{door}");
    }
}

#[test]
fn an_included_makefile_that_git_ignores_leaves_a_loop_unverified() {
    let begin = || {
        let sandbox = checked_with("make test", "include config.mk\ntest:\n\ttrue\n");
        sandbox.write(".gitignore", "conftest.py\nconfig.mk\n");
        sandbox.commit();
        sandbox
    };
    let made = begin();
    shell(&made, || made.write("config.mk", "PREFIX = /usr\n"));
    assert_eq!(stop(&made, "finished"), None, "a build made it");
    assert_eq!(status(&made)["status"], "completed_unverified");
    let report = made.run(&["loop", "report"]).stdout;
    assert!(report.contains("config.mk was added"), "{report}");

    let unignored = begin();
    shell(&unignored, || {
        unignored.write(".gitignore", "conftest.py\n");
        unignored.write("config.mk", "PREFIX = /usr\n");
    });
    let reason = stop(&unignored, "finished").expect("it is new");
    assert!(reason.contains("guard(G19)") && reason.contains("config.mk"), "{reason}");

    let tracked = begin();
    shell(&tracked, || {
        tracked.write("config.mk", "PREFIX = /usr\n");
        tracked.git(&["add", "-f", "config.mk"]);
    });
    let reason = stop(&tracked, "finished").expect("it is new");
    assert!(reason.contains("guard(G19)") && reason.contains("config.mk"), "{reason}");
}

#[test]
fn the_users_own_files_of_a_runner_leave_a_loop_unverified_if_they_changed() {
    for (command, file) in [("npm test", ".npmrc"), ("go test", ".config/go/env")] {
        let sandbox = checked(command);
        shell(&sandbox, || write_file(&sandbox.base().join("home").join(file), "a=/tmp/x\n"));
        assert_eq!(stop(&sandbox, "finished"), None, "{file}");
        assert_eq!(status(&sandbox)["status"], "completed_unverified", "{file}");
        let report = sandbox.run(&["loop", "report"]);
        assert!(report.stdout.contains(&format!("~/{file} was added")), "{report:#?}");
    }
    let sandbox = checked("cargo test");
    shell(&sandbox, || write_file(&sandbox.base().join("home/.npmrc"), "a=/tmp/x\n"));
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed", "cargo does not load it");
}

#[test]
fn an_interpreter_may_be_chosen_by_its_version_and_not_by_its_path() {
    for (text, is_held) in [("3.12\n", false), ("system\n", true), ("/tmp/x/python\n", true)] {
        let sandbox = checked("python3 -m unittest");
        shell(&sandbox, || sandbox.write(".python-version", text));
        assert_eq!(stop(&sandbox, "finished").is_some(), is_held, "{text}");
    }
}

#[test]
fn what_no_runner_of_the_checks_loads_holds_nothing() {
    let sandbox = checked("cargo test");
    let harmless = [
        (".npmrc", "registry=https://example.com\n"),
        ("GNUmakefile", "test:\n"),
        ("rust-toolchain.toml", "[toolchain]\nchannel = \"1.90\"\n"),
    ];
    for (name, text) in harmless {
        shell(&sandbox, || sandbox.write(name, text));
    }
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn hooks_in_front_matter_hold_the_stop_and_documents_without_them_do_not() {
    const HOOKS: &str = "---\nname: a\nhooks:\n  Stop: [x]\n---\nText\n";
    for door in [".claude/skills/a/SKILL.md", ".claude/agents/team/b.md", ".claude/commands/c.md"] {
        let sandbox = checked("cargo test");
        shell(&sandbox, || sandbox.write(door, &HOOKS.replace("hooks", "other")));
        shell(&sandbox, || sandbox.write(door, HOOKS));
        let reason = stop(&sandbox, "finished").unwrap_or_else(|| panic!("{door}"));
        assert!(reason.contains("guard(G19)") && reason.contains(door), "{reason}");
        shell(&sandbox, || sandbox.write(door, &HOOKS.replace("hooks", "other")));
        assert_eq!(stop(&sandbox, "finished"), None, "{door}");
        assert_eq!(status(&sandbox)["status"], "completed", "{door}");
    }
    // A folder of skills may be a link.
    let sandbox = checked("cargo test");
    let elsewhere = sandbox.base().join("elsewhere");
    write_file(&elsewhere.join("SKILL.md"), HOOKS);
    fs::create_dir_all(sandbox.path(".claude/skills")).expect("ours");
    shell(&sandbox, || {
        symlink(&elsewhere, sandbox.path(".claude/skills/a")).expect("ours");
    });
    let reason = stop(&sandbox, "finished").expect("there are hooks");
    assert!(reason.contains(".claude/skills/a/SKILL.md"), "{reason}");
}

/// A loop of a project with a module that its test finds wrong, checked by the real interpreter.
fn checked_by_python() -> Sandbox {
    let sandbox = project();
    sandbox
        .write(OPTIONS, "ralph: {loop: {checks: [{name: unit, command: python3 -m unittest}]}}\n");
    sandbox.write("word.py", "VALUE = 1\n");
    let test = "import unittest\nimport word\n\nclass T(unittest.TestCase):\n    def test_word(self):\n        self.assertEqual(word.VALUE, 2)\n";
    sandbox.write("test_word.py", test);
    sandbox.write(".gitignore", "__pycache__\n.venv\n");
    sandbox.commit();
    let begun = start(&sandbox, &["--until", "checks", "--max-iterations", "9"]);
    assert_eq!(begun.code, 0, "{begun:#?}");
    sandbox.write("app.py", FIXED);
    sandbox
}

/// Code that the agent runs with the real interpreter.
fn python(sandbox: &Sandbox, code: &str) {
    let mut command = std::process::Command::new("python3");
    sandbox.prepare(&mut command);
    let output = finish(command.args(["-c", code]).current_dir(sandbox.root()), "");
    assert_eq!(output.code, 0, "{output:#?}");
}

#[test]
fn compiled_modules_next_to_the_sources_are_not_what_checks_run() {
    let sandbox = checked_by_python();
    // Another module, compiled with the size and the time of the source.
    let code = "import importlib.util as u, importlib._bootstrap_external as e, os\n\
        s = os.stat('word.py')\n\
        data = e._code_to_timestamp_pyc(compile('VALUE = 2', 'word.py', 'exec'), int(s.st_mtime), s.st_size)\n\
        p = u.cache_from_source('word.py')\n\
        os.makedirs(os.path.dirname(p), exist_ok=True)\n\
        open(p, 'wb').write(data)\n\
        import sys; sys.path.insert(0, '.')\n\
        import word; assert word.VALUE == 2\n";
    shell(&sandbox, || python(&sandbox, code));
    let reason = stop(&sandbox, "finished").expect("the test fails");
    assert!(reason.contains("unit"), "{reason}");
}

#[test]
fn what_python_runs_at_its_start_leaves_a_loop_unverified() {
    for file in ["evil.pth", "sitecustomize.py"] {
        let sandbox = checked("python3 -m unittest");
        let place = format!(".venv/lib/python3.12/site-packages/{file}");
        shell(&sandbox, || sandbox.write(&place, "import os\n"));
        assert_eq!(stop(&sandbox, "finished"), None, "{file}");
        assert_eq!(status(&sandbox)["status"], "completed_unverified", "{file}");
        let report = sandbox.run(&["loop", "report"]);
        assert!(report.stdout.contains(&place), "{report:#?}");
    }
    let sandbox = checked("python3 -m unittest");
    let place = ".venv/lib/python3.12/site-packages/paths.pth";
    shell(&sandbox, || sandbox.write(place, "/src\n"));
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_plugin_of_pytest_in_the_root_leaves_a_loop_unverified() {
    for (text, expected) in [
        ("[console_scripts]\na = b:main\n", "completed"),
        ("[pytest11]\nzz = src.metrics\n", "completed_unverified"),
    ] {
        let sandbox = checked("pytest");
        shell(&sandbox, || sandbox.write("x.egg-info/entry_points.txt", text));
        assert_eq!(stop(&sandbox, "finished"), None, "{text}");
        assert_eq!(status(&sandbox)["status"], expected, "{text}");
    }
}

#[test]
fn a_file_without_an_extension_that_a_program_runs_leaves_a_loop_unverified() {
    for (source, expected) in [
        ("exec(open('rules').read())\n", "completed_unverified"),
        ("print(open('rules').read())\n", "completed"),
    ] {
        let sandbox = project();
        sandbox.write("run.py", source);
        sandbox.write("rules", "x = 1\n");
        sandbox.commit();
        let options = ["--until", "diagnostics", "--max-iterations", "9"];
        assert_eq!(start(&sandbox, &options).code, 0);
        sandbox.write("app.py", FIXED);
        shell(&sandbox, || sandbox.write("rules", "x = 2\n"));
        assert_eq!(stop(&sandbox, "finished"), None, "{source}");
        assert_eq!(status(&sandbox)["status"], expected, "{source}");
    }
}

#[test]
fn a_new_module_in_place_of_one_that_the_runner_imports_holds_the_stop() {
    let sandbox = checked("python3 -m unittest");
    shell(&sandbox, || sandbox.write("textwrap.py", "x = 1\n"));
    let reason = stop(&sandbox, "finished").expect("it is loaded in place of another");
    assert!(reason.contains("guard(G19)") && reason.contains("textwrap.py"), "{reason}");
}

#[test]
fn the_script_of_the_judge_belongs_to_the_exam() {
    let sandbox = project();
    sandbox.write("grade.sh", "exit 1\n");
    sandbox.write(OPTIONS, "ralph: {judge: {backend: command, command: [sh, grade.sh]}}\n");
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", FIXED);
    sandbox.tool_write("grade.sh", "exit 0\n");
    let reason = stop(&sandbox, "finished").expect("the judge was edited");
    assert!(reason.contains("guard(G19)") && reason.contains("grade.sh"), "{reason}");
}

/// A loop with a rubric and an honest change.
fn with_rubric() -> Sandbox {
    let sandbox = project();
    sandbox.write("RUBRIC.md", RUBRIC);
    sandbox.commit();
    let begun = start(&sandbox, &["--max-iterations", "9"]);
    assert_eq!(begun.code, 0, "{begun:#?}");
    sandbox.write("app.py", FIXED);
    sandbox
}

fn refreeze(sandbox: &Sandbox) -> Output {
    terminal::with_code(sandbox, &["loop", "refreeze", "--now"])
}

/// Each Stop asks the user about the change, and none counts.
fn pauses_and_asks(sandbox: &Sandbox, named: &[&str]) {
    for _ in 0..3 {
        let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
        for part in
            named.iter().chain(&["this session did not do it", "loop refreeze", "loop resume"])
        {
            assert!(told.contains(part), "{part}: {told}");
        }
        let paused = status(sandbox);
        assert_eq!((&paused["status"], &paused["iteration"]), (&"paused".into(), &0.into()));
        assert_eq!(paused["pause_reason"], "exam_changed");
        assert_eq!(sandbox.run(&["loop", "resume"]).code, 0);
    }
}

#[test]
fn a_rubric_that_the_user_tightened_pauses_and_asks_and_is_no_gaming() {
    let sandbox = with_rubric();
    sandbox.write("RUBRIC.md", STRICTER);
    pauses_and_asks(&sandbox, &["RUBRIC.md"]);
    let taken = refreeze(&sandbox);
    assert_eq!(taken.code, 0, "{taken:#?}");
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert!(told.contains("completed") && told.contains(REFROZEN), "{told}");
    assert_eq!(status(&sandbox)["status"], "completed");
}

const REFROZEN: &str = "the checks were refrozen by hand at ";

/// A refreeze that the agent may have run itself pauses the loop and is reported.
fn is_asked_about_the_refreeze(sandbox: &Sandbox) {
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    for part in [REFROZEN, "while the agent was working", "loop resume", "loop cancel"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    let paused = status(sandbox);
    assert_eq!((&paused["status"], &paused["iteration"]), (&"paused".into(), &0.into()));
    assert_eq!(paused["pause_reason"], "overridden");
    assert_eq!(sandbox.run(&["loop", "resume"]).code, 0);
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert!(told.contains("completed") && told.contains(REFROZEN), "{told}");
    let report = sandbox.run(&["loop", "report"]);
    assert!(report.stdout.contains(REFROZEN), "{report:#?}");
}

#[test]
fn a_refreeze_is_refused_while_the_session_is_at_work() {
    let sandbox = with_rubric();
    sandbox.write("RUBRIC.md", STRICTER);
    sandbox.tool_write("app.py", DIRTY);
    let refused = terminal::with_code(&sandbox, &["loop", "refreeze"]);
    assert_eq!(refused.code, 1, "{refused:#?}");
    assert!(refused.stderr.contains("is at work"), "{refused:#?}");
    assert_eq!(sandbox.run(&["loop", "pause"]).code, 0);
    let stopped = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert_eq!(stopped.code, 0, "{stopped:#?}");
    assert_eq!(terminal::with_code(&sandbox, &["loop", "refreeze"]).code, 0);
}

#[test]
fn an_agent_ends_only_the_loop_of_its_own_session() {
    let sandbox = with_rubric();
    let id = status(&sandbox)["id"].as_str().expect("an id").to_owned();
    let as_agent = |session: &str, act: &str| {
        let mut command = sandbox.program();
        command.env("CLAUDECODE", "1").env("CLAUDE_CODE_SESSION_ID", session);
        finish(command.args(["loop", act, &id]), "")
    };
    for act in ["pause", "cancel"] {
        let refused = as_agent("another", act);
        assert_eq!(refused.code, 1, "{refused:#?}");
        assert!(refused.stderr.contains("no hook of session another has called"), "{refused:#?}");
        assert_eq!(status(&sandbox)["status"], "running");
    }
    assert_eq!(as_agent(SESSION, "cancel").code, 0);
    assert_eq!(status(&sandbox)["status"], "cancelled");
}

#[test]
fn a_refreeze_while_the_agent_is_at_work_waits_for_a_person() {
    let sandbox = with_rubric();
    sandbox.tool_write("RUBRIC.md", "# Rubric\n");
    assert_eq!(refreeze(&sandbox).code, 0);
    let told = notice(&sandbox.tool_write("app.py", &format!("{FIXED}# done\n")));
    assert!(told.contains(REFROZEN), "{told}");
    is_asked_about_the_refreeze(&sandbox);
}

#[test]
fn so_does_one_during_the_first_command_after_a_prompt() {
    let sandbox = with_rubric();
    sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit"));
    shell(&sandbox, || {
        sandbox.write("RUBRIC.md", "# Rubric\n");
        assert_eq!(refreeze(&sandbox).code, 0);
    });
    is_asked_about_the_refreeze(&sandbox);
}

#[test]
fn what_the_user_puts_back_is_over() {
    let sandbox = with_rubric();
    fs::remove_file(sandbox.path("RUBRIC.md")).expect("there");
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["pause_reason"], "exam_changed");
    sandbox.write("RUBRIC.md", RUBRIC);
    assert_eq!(sandbox.run(&["loop", "resume"]).code, 0);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn what_the_session_wrote_stays_its_own_when_the_daemon_is_gone() {
    let sandbox = with_rubric();
    sandbox.tool_write("RUBRIC.md", "# Rubric\n");
    kill(daemon(&sandbox));
    let reason = stop(&sandbox, "finished").expect("the session weakened its exam");
    assert!(reason.contains("guard(G19)") && reason.contains("RUBRIC.md"), "{reason}");
    // The user wrote over it: from here on it is the user's.
    sandbox.write("RUBRIC.md", STRICTER);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["pause_reason"], "exam_changed");
}

#[test]
fn what_the_sessions_shell_removed_is_its_own() {
    let sandbox = looping(&["--max-iterations", "9"]);
    assert_eq!(sandbox.run(&["loop", "cancel"]).code, 0);
    sandbox.write("RUBRIC.md", RUBRIC);
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--max-iterations", "9"]).code, 0);
    sandbox.write("app.py", FIXED);
    shell(&sandbox, || fs::remove_file(sandbox.path("RUBRIC.md")).expect("there"));
    let reason = stop(&sandbox, "finished").expect("the session removed its exam");
    assert!(reason.contains("RUBRIC.md (the rubric) was removed"), "{reason}");
}

const TEST: &str = "tests/test_app.py";
const CONFIG: &str = "pyrightconfig.json";

/// A loop whose agent has made an honest edit, of a project with tests and a strict configuration.
fn with_tests() -> Sandbox {
    let sandbox = project();
    sandbox.write(TEST, TESTS);
    sandbox.write(CONFIG, "{\"typeCheckingMode\": \"standard\"}\n");
    sandbox.commit();
    let begun = start(&sandbox, &["--max-iterations", "9", "--until", "diagnostics"]);
    assert_eq!(begun.code, 0, "{begun:#?}");
    sandbox.tool_write("app.py", FIXED);
    sandbox
}

/// A file, the code of the finding about it, and the edit that weakens it.
type WeakeningEdit = (&'static str, &'static str, Box<dyn Fn(&Sandbox)>);

/// Edits that a user may make to the tests and to the configuration while the agent works.
fn users_edits() -> [WeakeningEdit; 4] {
    let skipped = TESTS.replacen("def test_", "@unittest.skip(\"x\")\ndef test_", 1);
    [
        (TEST, "G01", Box::new(|sandbox| sandbox.write(TEST, FEWER))),
        (TEST, "G0", Box::new(|it| fs::remove_file(it.path(TEST)).expect("there"))),
        (
            TEST,
            "G02",
            Box::new(move |sandbox| {
                sandbox.write(TEST, &skipped);
                sandbox.commit();
            }),
        ),
        (CONFIG, "G12", Box::new(|it| it.write(CONFIG, "{\"typeCheckingMode\": \"basic\"}\n"))),
    ]
}

#[test]
fn weaker_tests_or_configuration_of_the_user_pause_and_are_no_gaming() {
    for (file, code, edit) in users_edits() {
        let sandbox = with_tests();
        edit(&sandbox);
        sandbox.tool_write("app.py", &format!("{FIXED}# done\n"));
        pauses_and_asks(&sandbox, &[file, code]);
        let taken = refreeze(&sandbox);
        assert_eq!(taken.code, 0, "{taken:#?}");
        assert!(taken.stdout.contains("allowed: ") && taken.stdout.contains(code), "{taken:#?}");
        assert_eq!(stop(&sandbox, "finished"), None);
        assert_eq!(status(&sandbox)["status"], "completed", "{file} {code}");
    }
}

#[test]
fn weaker_tests_of_the_sessions_shell_are_held_also_when_the_daemon_is_gone() {
    for (file, code, edit) in users_edits() {
        let sandbox = with_tests();
        shell(&sandbox, || edit(&sandbox));
        kill(daemon(&sandbox));
        let reason = stop(&sandbox, "finished").expect("the session weakened its exam");
        assert!(reason.contains(&format!("guard({code}")), "{file}: {reason}");
    }
}

#[test]
fn who_wrote_last_decides_whom_a_weaker_test_is_held_against() {
    let sandbox = with_tests();
    sandbox.tool_write(TEST, FEWER);
    let reason = stop(&sandbox, "finished").expect("a test is gone");
    assert!(reason.contains("guard(G01)"), "{reason}");
    sandbox.write(TEST, &format!("{FEWER}# by the user\n"));
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["pause_reason"], "exam_changed");
    sandbox.tool_write(TEST, TESTS);
    assert_eq!(sandbox.run(&["loop", "resume"]).code, 0);
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn hooks_of_the_host_below_a_folder_are_compared_like_those_of_the_root() {
    const HOOKED: &str = "---\nname: a\nhooks:\n  Stop: [x]\n---\nText\n";
    let files = [
        ("web/.claude/skills/a/SKILL.md", HOOKED),
        ("web/deep/.claude/agents/b.md", HOOKED),
        ("web/.claude/settings.json", "{\"hooks\": {\"Stop\": []}}"),
    ];
    for (name, text) in files {
        let sandbox = checked("make test");
        shell(&sandbox, || sandbox.write(name, text));
        let reason = stop(&sandbox, "finished").unwrap_or_else(|| panic!("{name}"));
        assert!(reason.contains("guard(G19)") && reason.contains(name), "{name}: {reason}");
        fs::remove_file(sandbox.path(name)).expect("there");
        assert_eq!(stop(&sandbox, "finished"), None, "{name}");
        assert_eq!(status(&sandbox)["status"], "completed", "{name}");
    }
    let sandbox = checked("make test");
    shell(&sandbox, || {
        sandbox.write("web/.claude/skills/a/SKILL.md", "---\nname: a\n---\nText\n");
        sandbox.write("web/.claude/settings.json", "{\"permissions\": {}}");
        sandbox.write("web/.claude/worktrees/a/.claude/skills/a/SKILL.md", HOOKED);
    });
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

#[test]
fn a_script_that_a_script_of_the_checks_runs_belongs_to_the_exam() {
    for (script, call) in [
        ("t/check.sh", ". t/lib/h.sh"),
        ("t/check.sh", "bash ./t/lib/h.sh"),
        ("t/check.sh", "sh \"$(dirname \"$0\")\"/lib/h.sh"),
        // A shell runs it whatever its name is.
        ("t/check", ". t/lib/h.sh"),
    ] {
        let sandbox = project();
        let check = format!("{{name: unit, command: [sh, {script}]}}");
        sandbox.write(OPTIONS, &format!("ralph: {{loop: {{checks: [{check}]}}}}\n"));
        sandbox.write(script, &format!("set -e\n{call}\n"));
        sandbox.write("t/lib/h.sh", "grep -q word app.py\n");
        sandbox.commit();
        let begun = start(&sandbox, &["--until", "checks", "--max-iterations", "9"]);
        assert_eq!(begun.code, 0, "{begun:#?}");
        shell(&sandbox, || sandbox.write("t/lib/h.sh", "true\n"));
        let reason = stop(&sandbox, "finished").unwrap_or_else(|| panic!("{call}"));
        assert!(reason.contains("guard(G19)") && reason.contains("t/lib/h.sh"), "{call}: {reason}");
    }
}

#[test]
fn scripts_of_targets_and_of_packages_belong_to_the_exam() {
    let package = "{\"scripts\": {\"test\": \"node scripts/run.js\"}}\n";
    for (command, file, text, script) in [
        ("make test", "Makefile", "test: unit\nunit:\n\t@./scripts/unit.sh\n", "scripts/unit.sh"),
        ("npm test", "package.json", package, "scripts/run.js"),
        ("npm test", "package.json", package, "scripts/lib.js"),
    ] {
        let sandbox = project();
        passing_program(&sandbox, command.split(' ').next().expect("a program"));
        let words = command.split(' ').collect::<Vec<_>>().join(", ");
        let check = format!("{{name: unit, command: [{words}]}}");
        sandbox.write(OPTIONS, &format!("ralph: {{loop: {{checks: [{check}]}}}}\n"));
        sandbox.write(file, text);
        sandbox.write("scripts/unit.sh", "exit 1\n");
        sandbox.write("scripts/run.js", "require(\"./lib\");\n");
        sandbox.write("scripts/lib.js", "process.exit(1);\n");
        sandbox.write("scripts/other.sh", "exit 1\n");
        sandbox.commit();
        let begun = start(&sandbox, &["--until", "checks", "--max-iterations", "9"]);
        assert_eq!(begun.code, 0, "{begun:#?}");
        shell(&sandbox, || {
            sandbox.write("scripts/other.sh", "exit 0\n");
            sandbox.write(script, "");
        });
        let reason = stop(&sandbox, "finished").unwrap_or_else(|| panic!("{command}: {script}"));
        assert!(reason.contains("guard(G19)") && reason.contains(script), "{command}: {reason}");
        assert!(!reason.contains("other.sh"), "{command}: {reason}");
    }
}

#[test]
fn what_stands_in_front_of_code_leaves_a_loop_unverified() {
    type Change<'c> = (&'c str, &'c str, &'c dyn Fn(&Sandbox));
    let changes: [Change<'_>; 2] = [
        ("pytest", "Python loads app/__init__.pyc", &|it| it.write("app/__init__.pyc", "")),
        ("cargo test", ".cargo/config.toml was added", &|it| {
            write_file(&it.base().join(".cargo/config.toml"), "[alias]\ntest = 'check'\n");
        }),
    ];
    for (command, named, change) in changes {
        let sandbox = checked(command);
        shell(&sandbox, || change(&sandbox));
        assert_eq!(stop(&sandbox, "finished"), None, "{named}");
        assert_eq!(status(&sandbox)["status"], "completed_unverified", "{named}");
        let report = sandbox.run(&["loop", "report"]).stdout;
        assert!(report.contains(named), "{named}: {report}");
    }
}

#[test]
fn skipped_tests_do_not_pass_and_a_target_that_is_up_to_date_is_not_measured() {
    let prints = |sandbox: &Sandbox, program: &str, line: &str| {
        let file = sandbox.base().join("bin").join(program);
        write_file(&file, &format!("#!/bin/sh\nprintf \"{line}\"\n"));
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("ours");
    };
    for (program, line, held) in [
        ("mytests", "Ran 2 tests in 0.001s\\n\\nOK (skipped=2)\\n", Some("no test ran")),
        ("mytests", "Ran 2 tests in 0.001s\\n\\nOK (skipped=1)\\n", None),
        ("make", "make: 'test' is up to date.\\n", None),
    ] {
        let sandbox = project();
        prints(&sandbox, program, line);
        let check = format!("{{name: unit, command: [{program}, test]}}");
        sandbox.write(OPTIONS, &format!("ralph: {{loop: {{checks: [{check}]}}}}\n"));
        sandbox.commit();
        let begun = start(&sandbox, &["--until", "checks", "--max-iterations", "9"]);
        assert_eq!(begun.code, 0, "{begun:#?}");
        sandbox.write("app.py", FIXED);
        let reason = stop(&sandbox, "finished");
        assert_eq!(reason.is_some(), held.is_some(), "{line}: {reason:?}");
        assert!(reason.is_none_or(|reason| reason.contains(held.unwrap_or_default())), "{line}");
        let expected = match (program, held) {
            (_, Some(_)) => "running",
            ("make", None) => "completed_unverified",
            _ => "completed",
        };
        assert_eq!(status(&sandbox)["status"], expected, "{line}");
    }
}
