//! Hiding a bad file does not end a loop: behind an ignore rule it is still measured; in a package
//! folder or under a name that no sensor reads it is reported.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use super::commands::expand;
use super::{CLEAN, DIRTY, FIXED, git, looping, notice, project, shell, start, status, stop};
use crate::support::{PATIENCE, Sandbox, eventually, write_file};

const OPTIONS: [&str; 4] = ["--until", "diagnostics", "--max-iterations", "9"];
const BUILT: &str = "dist/\ntarget/\n.cache/\nnode_modules/\n";

fn rename(sandbox: &Sandbox, from: &str, to: &str) {
    let target = sandbox.path(to);
    fs::create_dir_all(target.parent().expect("below the root")).expect("ours");
    fs::rename(sandbox.path(from), target).expect("ours");
}

fn held(options: &[&str], ignore_file: &str, rules: &str) {
    let sandbox = looping(&[&OPTIONS[..], options].concat());
    shell(&sandbox, || {
        sandbox.write("part/bad.py", DIRTY);
        sandbox.write(ignore_file, rules);
    });
    let reason = stop(&sandbox, "finished").expect("the hidden file holds the loop");
    assert!(reason.contains("part/bad.py:1:9"), "{reason}");
    assert_eq!(status(&sandbox)["status"], "running");
}

#[test]
fn a_file_that_the_loop_made_and_then_ignored_is_measured() {
    held(&[], ".gitignore", "bad.py\n");
}

#[test]
fn rules_that_exclude_themselves_hide_nothing() {
    held(&[], "part/.gitignore", "*\n");
}

#[test]
fn without_git_rules_hide_nothing_either() {
    for ignore_file in [".gitignore", "../home/.config/git/ignore"] {
        let sandbox = project();
        fs::remove_dir_all(sandbox.path(".git")).expect("there");
        assert_eq!(start(&sandbox, &OPTIONS).code, 0);
        // No hook detects it: without git, hooks do not read ignore rules.
        sandbox.write("part/bad.py", DIRTY);
        sandbox.write(ignore_file, "bad.py\n");
        let reason = stop(&sandbox, "finished").expect("the hidden file holds the loop");
        assert!(reason.contains("part/bad.py:1:9"), "{ignore_file}: {reason}");
    }
}

#[test]
fn a_loop_that_mends_what_was_there_measures_them_too() {
    held(&["--baseline", "none"], ".gitignore", "bad.py\n");
}

#[test]
fn a_file_that_was_ignored_before_the_loop_is_not_measured() {
    let sandbox = project();
    sandbox.write(".gitignore", "local.py\n");
    sandbox.write("local.py", DIRTY);
    sandbox.commit();
    assert_eq!(start(&sandbox, &OPTIONS).code, 0);
    shell(&sandbox, || {
        sandbox.write("app.py", FIXED);
        sandbox.write(".gitignore", "local.py\nother.py\n");
    });
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed");
}

/// Ways to hide a file from git without a change in the tree; the rules are in `rules`.
const PRIVATE: [fn(&Sandbox, &str); 5] = [
    |sandbox, _| write_file(&sandbox.path(".git/info/exclude"), "bad.py\n"),
    |sandbox, rules| drop(git(sandbox, &["config", "core.excludesFile", rules])),
    |sandbox, rules| drop(git(sandbox, &["config", "--global", "core.excludesFile", rules])),
    |sandbox, _| write_file(&sandbox.base().join("home/.config/git/ignore"), "bad.py\n"),
    |sandbox, rules| {
        let config = format!("[core]\n\texcludesFile = {rules}\n");
        write_file(&sandbox.path(".git/more"), &config);
        git(sandbox, &["config", "include.path", "more"]);
    },
];

#[test]
fn rules_of_git_that_are_in_no_tree_do_not_complete_a_loop() {
    for (number, hide) in PRIVATE.iter().enumerate() {
        let sandbox = looping(&OPTIONS);
        let rules = sandbox.base().join("rules");
        write_file(&rules, "bad.py\n");
        shell(&sandbox, || {
            sandbox.write("app.py", FIXED);
            sandbox.write("part/bad.py", DIRTY);
            hide(&sandbox, rules.to_str().expect("a path"));
        });
        assert_eq!(git(&sandbox, &["check-ignore", "part/bad.py"]), "part/bad.py", "{number}");
        let told = sandbox.hook("stop", &sandbox.payload("Stop"));
        assert!(told.stdout.contains(".git/info/exclude"), "{number}: {told:#?}");
        let now = status(&sandbox);
        let is_open = now["status"] == "running" || now["pause_reason"] == "exam_changed";
        assert!(is_open, "{number}: {now:#}");
    }
}

/// A loop whose shell wrote a bad file and moved it with the next command.
fn moved_to(place: &str) -> Sandbox {
    let sandbox = project();
    sandbox.write(".gitignore", BUILT);
    sandbox.commit();
    assert_eq!(start(&sandbox, &OPTIONS).code, 0);
    shell(&sandbox, || {
        sandbox.write("app.py", FIXED);
        sandbox.write("part/bad.py", DIRTY);
    });
    shell(&sandbox, || rename(&sandbox, "part/bad.py", place));
    sandbox
}

fn ends_unverified(sandbox: &Sandbox, named: &[&str]) {
    let told = notice(&sandbox.hook("stop", &sandbox.payload("Stop")));
    assert_eq!(status(sandbox)["status"], "completed_unverified", "{named:?}: {told}");
    for name in named {
        assert!(told.contains(name), "{name}: {told}");
    }
}

#[test]
fn a_file_that_was_moved_to_where_no_sensor_looks_is_named() {
    let places = [
        "node_modules/bad.py",
        "dist/deep/bad.py",
        "target/bad.py",
        ".venv/lib/site-packages/bad.py",
        ".cache/bad.py",
        "part/bad",
        "part/bad.txt",
        "part/한글.txt",
    ];
    for place in places {
        ends_unverified(&moved_to(place), &[place, "part/bad.py"]);
    }
}

#[test]
fn a_committed_file_that_was_moved_away_is_named_by_a_new_daemon_too() {
    let sandbox = project();
    sandbox.write("old.py", DIRTY);
    sandbox.commit();
    assert_eq!(start(&sandbox, &OPTIONS).code, 0);
    sandbox.write("app.py", FIXED);
    git(&sandbox, &["mv", "old.py", "old"]);
    assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    ends_unverified(&sandbox, &["old ", "old.py"]);
}

#[test]
fn a_file_of_the_write_tool_that_was_copied_and_removed_is_named() {
    let sandbox = looping(&OPTIONS);
    sandbox.tool_write("app.py", FIXED);
    sandbox.tool_write("bad.py", DIRTY);
    shell(&sandbox, || {
        sandbox.write("node_modules/tool/bad.py", DIRTY);
        fs::remove_file(sandbox.path("bad.py")).expect("there");
    });
    ends_unverified(&sandbox, &["node_modules/tool/bad.py"]);
}

#[test]
fn a_folder_that_was_moved_into_a_hidden_one_is_named_in_a_loop_that_mends() {
    let sandbox = project();
    sandbox.write("part/old.py", DIRTY);
    sandbox.commit();
    the_second_passes(&sandbox, "part/old.py");
    assert_eq!(start(&sandbox, &[&OPTIONS[..], &["--baseline", "none"]].concat()).code, 0);
    shell(&sandbox, || {
        sandbox.write("app.py", FIXED);
        rename(&sandbox, "part", "node_modules/part");
    });
    ends_unverified(&sandbox, &["node_modules/part/old.py"]);
}

/// A loop limited to `part`, and a change there.
fn fixing_a_part() -> Sandbox {
    let sandbox = project();
    sandbox.write(".gitignore", BUILT);
    sandbox.write("part/app.py", CLEAN);
    sandbox.commit();
    let begun = expand(&sandbox, "moai-fix", "part");
    assert_eq!(status(&sandbox)["status"], "running", "{begun:#?}");
    shell(&sandbox, || sandbox.write("part/app.py", FIXED));
    sandbox
}

#[test]
fn a_loop_over_paths_measures_what_was_ignored_there_and_names_what_was_moved_away() {
    let sandbox = fixing_a_part();
    shell(&sandbox, || {
        sandbox.write("part/bad.py", DIRTY);
        sandbox.write(".gitignore", "bad.py\n");
    });
    let reason = stop(&sandbox, "finished").expect("the hidden file holds the loop");
    assert!(reason.contains("part/bad.py:1:9"), "{reason}");
    shell(&sandbox, || rename(&sandbox, "part/bad.py", "node_modules/bad.py"));
    ends_unverified(&sandbox, &["node_modules/bad.py"]);
}

#[test]
fn a_loop_over_paths_has_nothing_to_do_with_what_moves_elsewhere() {
    let sandbox = fixing_a_part();
    shell(&sandbox, || sandbox.write("other/bad.py", DIRTY));
    shell(&sandbox, || rename(&sandbox, "other/bad.py", "node_modules/bad.py"));
    let told = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert_eq!(status(&sandbox)["status"], "completed", "{told:#?}");
}

#[test]
fn a_file_that_was_deleted_or_renamed_to_a_measured_one_is_no_gap() {
    let sandbox = project();
    sandbox.write(".gitignore", BUILT);
    sandbox.write("old.py", "word = 'old'\n");
    sandbox.write("empty.py", "\n");
    sandbox.write("node_modules/copy.py", "word = 'old'\n");
    sandbox.commit();
    the_second_passes(&sandbox, "node_modules/copy.py");
    assert_eq!(start(&sandbox, &OPTIONS).code, 0);
    shell(&sandbox, || {
        sandbox.write("app.py", FIXED);
        sandbox.write("bad.py", DIRTY);
        sandbox.write("named.py", "word = 'named'\n");
    });
    shell(&sandbox, || {
        for name in ["bad.py", "old.py", "empty.py"] {
            fs::remove_file(sandbox.path(name)).expect("there");
        }
        sandbox.write("dist/empty.py", "\n");
        sandbox.write("dist/named.py", "word = 'named'\n");
        rename(&sandbox, "named.py", "renamed.py");
    });
    let told = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert_eq!(status(&sandbox)["status"], "completed", "{told:#?}");
}

#[test]
fn what_builds_and_installs_write_is_no_gap() {
    let sandbox = project();
    sandbox.write(".gitignore", BUILT);
    sandbox.write("old.py", CLEAN);
    sandbox.commit();
    assert_eq!(start(&sandbox, &OPTIONS).code, 0);
    shell(&sandbox, || {
        sandbox.write("app.py", FIXED);
        fs::remove_file(sandbox.path("old.py")).expect("there");
        for number in 0..3_000 {
            sandbox.write(&format!("node_modules/p{number}/index.py"), DIRTY);
        }
        sandbox.write("target/debug/app.py", FIXED);
        sandbox.write("dist/app.py", FIXED);
    });
    let told = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert_eq!(status(&sandbox)["status"], "completed", "{told:#?}");
}

/// A file changed in the second of a loop's start may have changed after it.
fn the_second_passes(sandbox: &Sandbox, name: &str) {
    let at = fs::metadata(sandbox.path(name)).expect("there").ctime().unsigned_abs();
    let passed = eventually(PATIENCE, || {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after the epoch");
        (now.as_secs() > at).then_some(())
    });
    passed.expect("time goes by");
}

#[test]
fn a_worktree_that_the_agent_adds_inside_is_one_gap() {
    let sandbox = project();
    sandbox.write("legacy.py", DIRTY);
    sandbox.commit();
    assert_eq!(start(&sandbox, &["--until", "diagnostics"]).code, 0);
    sandbox.tool_write("app.py", FIXED);
    shell(&sandbox, || {
        git(&sandbox, &["worktree", "add", "-q", "copy", "-b", "copy"]);
    });
    assert_eq!(stop(&sandbox, "finished"), None);
    assert_eq!(status(&sandbox)["status"], "completed_unverified");
    let report = sandbox.run(&["loop", "report"]).stdout;
    assert!(report.contains("copy (a nested repository)"), "{report}");
}
