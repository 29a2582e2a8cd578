//! Named pipes and devices in the place of files: nothing waits for their writers, and nothing reads without
//! end.

use std::process::Command;

use serde_json::json;

use crate::support::{Output, SESSION, Sandbox, finish};

const LINE: &str = r#"{"title": "the cache is cold after a restart", "kind": "note"}"#;

fn pipe(sandbox: &Sandbox, name: &str) -> String {
    let path = sandbox.path(name).display().to_string();
    let _ = std::fs::remove_file(&path);
    let made = Command::new("mkfifo").arg(&path).status();
    assert!(made.is_ok_and(|status| status.success()), "mkfifo");
    path
}

/// Runs a command line of bash, in which `$P` is the program.
fn bash(sandbox: &Sandbox, line: &str) -> Output {
    let mut command = Command::new("bash");
    sandbox.prepare(&mut command);
    finish(command.args(["-c", line]).env("P", crate::support::PROGRAM), "")
}

#[test]
fn what_has_no_end_is_refused_where_a_user_names_a_file() {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", "x = 1\n");
    let pipe = pipe(&sandbox, "pipe");
    for special in [pipe.as_str(), "/dev/zero"] {
        for arguments in [
            &["check", "--all", "--no-lsp", "--baseline", special][..],
            &["scan", "--write-baseline", special],
            &["memory", "import", special],
            &["memory", "restore", special, "--apply"],
            &["loop", "start", "--session", SESSION, "--prompt-file", special],
        ] {
            let refused = sandbox.run(arguments);
            assert!(matches!(refused.code, 1 | 3), "{arguments:?}: {refused:#?}");
            assert!(!refused.stderr.is_empty(), "{arguments:?}");
        }
    }
}

#[test]
fn pipes_that_a_shell_opens_are_read() {
    let sandbox = Sandbox::new();
    sandbox.write("lines.jsonl", &format!("{LINE}\n"));
    let pipe = pipe(&sandbox, "pipe");
    for line in [
        "\"$P\" memory import <(cat lines.jsonl)".to_owned(),
        "cat lines.jsonl | \"$P\" memory import -".to_owned(),
        "\"$P\" memory import - <lines.jsonl".to_owned(),
        format!("cat lines.jsonl >'{pipe}' & \"$P\" memory import - <'{pipe}'; wait"),
    ] {
        let imported = bash(&sandbox, &line);
        assert_eq!(imported.code, 0, "{line}: {imported:#?}");
    }
    let found = sandbox.run(&["memory", "search", "cache cold", "--json"]).json();
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(1), "{found:#}");
    let started = bash(&sandbox, "\"$P\" loop start --prompt-file <(echo 'fix it')");
    assert_eq!(started.code, 0, "{started:#?}");
}

#[test]
fn git_data_with_a_pipe_in_it_is_a_named_gap() {
    for name in [".git/config", ".git/info/attributes", ".gitattributes", ".git/packed-refs"] {
        let sandbox = Sandbox::new();
        sandbox.write("app.py", "x = 1\n");
        sandbox.commit();
        sandbox.write("app.py", "x = 2\n");
        let path = pipe(&sandbox, name);
        let checked = sandbox.run(&["check", "--no-lsp"]);
        let told = format!("{}{}", checked.stdout, checked.stderr);
        assert!(told.contains(&format!("{path} is not a regular file")), "{name}: {checked:#?}");
        assert_ne!(checked.code, 0, "{checked:#?}");
        assert_eq!(sandbox.tool_write("app.py", "x = 3\n").code, 0);
        assert_eq!(sandbox.hook("stop", &sandbox.payload("Stop")).code, 0);
        let prompt = sandbox.hook("user-prompt-submit", &sandbox.payload("UserPromptSubmit"));
        assert_eq!(prompt.code, 0, "{prompt:#?}");
        let denied = sandbox.hook("pre-tool-use", &json!({"session_id": SESSION}));
        assert_eq!(denied.code, 0, "{denied:#?}");
    }
}

#[test]
fn an_object_of_git_that_is_a_pipe_is_a_named_gap() {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", "x = 1\n");
    sandbox.commit();
    let begun = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "fix it"]);
    assert_eq!(begun.code, 0, "{begun:#?}");
    sandbox.write("app.py", "x = 2\n");
    let mut git = Command::new("git");
    sandbox.prepare(&mut git);
    let id = finish(git.args(["rev-parse", "HEAD^{tree}"]), "").stdout;
    let (folder, name) = id.trim().split_at(2);
    let path = pipe(&sandbox, &format!(".git/objects/{folder}/{name}"));
    let checked = sandbox.run(&["check", "--no-lsp"]);
    let reported = format!("{}{}", checked.stdout, checked.stderr);
    assert!(reported.contains(&format!("{path} is not a regular file")), "{checked:#?}");
    assert_eq!(sandbox.tool_write("app.py", "x = 3\n").code, 0);
    let stopped = sandbox.hook("stop", &sandbox.payload("Stop"));
    assert!(stopped.code == 0 && !stopped.stdout.contains("completed,"), "{stopped:#?}");
}

#[test]
fn rules_below_the_root_and_files_that_git_is_configured_with_are_named_gaps() {
    let places = [
        ("sub/.gitattributes", ""),
        ("sub/.gitignore", ""),
        (".git/info/exclude", ""),
        (".github/.gitignore", ""),
        ("new/deep/.gitignore", ""),
        (".git/refs/heads/other", ""),
        ("inner/.git/info/exclude", ""),
        ("wait", "[core]\n\texcludesFile = {}\n"),
        ("wait", "[core]\n\tattributesFile = {}\n"),
        ("wait", "[include]\n\tpath = {}\n"),
    ];
    for (name, setting) in places {
        let sandbox = Sandbox::new();
        for file in ["app.py", "sub/app.py", ".github/a.py", "inner/b.py"] {
            sandbox.write(file, "x = 1\n");
        }
        sandbox.write(
            ".moai/rules/a.yml",
            "id: a\nlanguage: python\nrule: {pattern: foo()}\nmessage: m\nseverity: warning\n",
        );
        sandbox.commit();
        for file in ["app.py", "sub/app.py", "new/deep/c.py", "inner/.git/info/x"] {
            sandbox.write(file, "x = 2\n");
        }
        let path = pipe(&sandbox, name);
        if !setting.is_empty() {
            let config = std::fs::read_to_string(sandbox.path(".git/config")).expect("there");
            sandbox.write(".git/config", &format!("{config}{}", setting.replace("{}", &path)));
        }
        let checked = sandbox.run(&["check", "--no-lsp"]);
        let reported = format!("{}{}", checked.stdout, checked.stderr);
        assert!(
            reported.contains(&format!("{path} is not a regular file")),
            "{name}: {checked:#?}"
        );
        assert_ne!(checked.code, 0, "{checked:#?}");
        let scanned = sandbox.run(&["scan"]);
        assert!(is_answered(&scanned), "{name}: {scanned:#?}");
        let guarded = sandbox.run(&["guard"]);
        assert_ne!(guarded.code, 0, "{name}: {guarded:#?}");
        let started = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "fix it"]);
        assert!(matches!(started.code, 0 | 1), "{name}: {started:#?}");
        assert_eq!(sandbox.tool_write("app.py", "x = 3\n").code, 0);
        let stopped = sandbox.hook("stop", &sandbox.payload("Stop"));
        assert_eq!(stopped.code, 0, "{name}: {stopped:#?}");
        assert!(!stopped.stdout.contains("completed,"), "{name}: {stopped:#?}");
    }
}

/// True if a command did its work, or reports the file that it does not read.
fn is_answered(output: &Output) -> bool {
    matches!(output.code, 0 | 1 | 4) || output.stderr.contains("a file of the kernel")
}

#[test]
fn files_of_the_kernel_under_names_of_settings_are_not_read() {
    let names = [
        ".claude/autochecks.sh",
        ".claude/settings.json",
        ".gitattributes",
        ".gitignore",
        ".lsp.json",
        ".moai/config/lsp.json",
        ".moai/config/sections/ralph.yaml",
        "Cargo.toml",
        "RUBRIC.md",
        "compile_commands.json",
        "package.json",
        "pyproject.toml",
        "rules/rule.yml",
        "sgconfig.yml",
        "tsconfig.json",
    ];
    for name in names {
        let sandbox = Sandbox::new();
        if name == "rules/rule.yml" {
            sandbox.write("sgconfig.yml", "ruleDirs: [rules]\n");
        }
        sandbox.write("app.py", "x = 1\n");
        sandbox.commit();
        let link = sandbox.path(name);
        std::fs::create_dir_all(link.parent().expect("a folder")).expect("writable");
        // It has lines, or waits for them, but claims to be an empty regular file.
        std::os::unix::fs::symlink("/proc/kmsg", &link).expect("writable");
        let scanned = sandbox.run(&["scan"]);
        assert!(is_answered(&scanned), "{name}: {scanned:#?}");
        let started = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "fix it"]);
        assert!(is_answered(&started), "{name}: {started:#?}");
        let edited = sandbox.tool_write("app.py", "x = 3\n");
        assert_eq!(edited.code, 0, "{name}: {edited:#?}");
    }
}

#[test]
fn a_pipe_where_git_looks_for_its_shared_folder_is_a_named_gap() {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", "x = 1\n");
    sandbox.commit();
    let path = pipe(&sandbox, ".git/commondir");
    sandbox.write("app.py", "x = 2\n");
    let checked = sandbox.run(&["check", "--no-lsp"]);
    assert!(
        format!("{checked:?}").contains(&format!("{path} is not a regular file")),
        "{checked:#?}"
    );
    let started = sandbox.run(&["loop", "start", "--session", SESSION, "--prompt", "fix it"]);
    assert!(matches!(started.code, 0 | 1), "{started:#?}");
}
