//! `rename` with a scripted server in place of pyright: previewed, written completely or not at
//! all, refused with a reason.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{Output, Sandbox};

const FILES: [(&str, &str); 3] = [
    ("a.py", "from lib import total\r\nprint('🦀', total(1))\r\n"),
    ("b.py", "import lib\nprint(lib.total(2))\n"),
    ("lib.py", "def total(x):\n    return x\n"),
];

fn edit(line: u32, from: u32, to: u32) -> Value {
    json!({
        "range": {
            "start": {"line": line, "character": from},
            "end": {"line": line, "character": to},
        },
        "newText": "summed",
    })
}

fn changes() -> Value {
    json!({"changes": {
        "file://{{ROOT}}/a.py": [edit(0, 16, 21), edit(1, 12, 17)],
        "file://{{ROOT}}/b.py": [edit(1, 10, 15)],
        "file://{{ROOT}}/lib.py": [edit(0, 4, 9)],
    }})
}

/// Three files, and a server that proposes this for every rename.
fn project(proposal: &Value) -> Sandbox {
    project_with(&json!({"answers": {"textDocument/rename": proposal}}))
}

fn project_with(script: &Value) -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in FILES {
        sandbox.write(path, text);
    }
    serve(&sandbox, script);
    sandbox
}

fn serve(sandbox: &Sandbox, script: &Value) {
    let text = script.to_string().replace("{{ROOT}}", &sandbox.root().to_string_lossy());
    let mut script: Value = serde_json::from_str(&text).expect("JSON");
    if script["capabilities"].is_null() {
        script["capabilities"] = json!({"renameProvider": true});
    }
    script["log_message"] = json!("Found 3 source files");
    script["errors"] = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", script);
}

const RENAME: [&str; 3] = ["rename", "lib.py:1:5", "summed"];

fn apply(sandbox: &Sandbox) -> Output {
    sandbox.run(&[&RENAME[..], &["--apply"]].concat())
}

fn assert_untouched(sandbox: &Sandbox) {
    for (path, text) in FILES {
        assert_eq!(sandbox.read(path), text, "{path}");
    }
    let names = fs::read_dir(sandbox.root()).expect("readable").flatten();
    let left: Vec<_> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with(".moai-ralph"))
        .collect();
    assert!(left.is_empty(), "left over: {left:?}");
}

#[test]
fn a_preview_shows_the_diff_and_writes_nothing() {
    let sandbox = project(&changes());
    let output = sandbox.run(&RENAME);
    assert_eq!(output.code, 0, "{output:#?}");
    for line in ["--- a/a.py", "-print(lib.total(2))", "+print(lib.summed(2))", "+def summed(x):"] {
        assert!(output.stdout.lines().any(|it| it.trim_end() == line), "{line}: {output:#?}");
    }
    let last = output.stdout.lines().last().expect("a summary");
    assert_eq!(last, "total -> summed: 4 edits in 3 files (pyright); not written, use --apply");
    assert_untouched(&sandbox);
    let document = sandbox.run(&[&RENAME[..], &["--json"]].concat()).json();
    assert_eq!(document["schema"], "moai-ralph/rename@1");
    assert_eq!((&document["status"], &document["edits"]), (&json!("preview"), &json!(4)));
    assert_eq!(document["files"].as_array().map(Vec::len), Some(3));
}

#[test]
fn apply_writes_all_files_and_tells_the_server() {
    let sandbox = project(&changes());
    let output = apply(&sandbox);
    assert_eq!(output.code, 0, "{output:#?}");
    assert!(output.stdout.contains("total -> summed: 4 edits in 3 files written"), "{output:#?}");
    assert!(output.stdout.contains("nothing introduced"), "{output:#?}");
    assert_eq!(sandbox.read("a.py"), "from lib import summed\r\nprint('🦀', summed(1))\r\n");
    assert_eq!(sandbox.read("b.py"), "import lib\nprint(lib.summed(2))\n");
    assert_eq!(sandbox.read("lib.py"), "def summed(x):\n    return x\n");
}

#[test]
fn what_the_rename_introduced_is_told_and_what_only_changed_its_name_is_not() {
    let mut proposal = changes();
    proposal["changes"]["file://{{ROOT}}/b.py"][0]["newText"] = json!("summed_BAD");
    let sandbox = Sandbox::new();
    for (path, text) in FILES {
        sandbox.write(path, text);
    }
    sandbox.write("lib.py", "def total(x):\n    return x  # BAD\n");
    serve(&sandbox, &json!({"answers": {"textDocument/rename": proposal}}));
    let output = apply(&sandbox);
    assert_eq!(output.code, 1, "{output:#?}");
    assert!(output.stdout.contains("introduced 1 error"), "{output:#?}");
    assert!(output.stdout.contains("error b.py:2:18 pyright(badWord)"), "{output:#?}");
    assert!(!output.stdout.contains("error lib.py"), "{output:#?}");
}

#[test]
fn a_file_that_is_too_large_to_measure_is_not_called_unharmed() {
    let sandbox = project(&changes());
    sandbox.write("b.py", &format!("{}{}", FILES[1].1, "# a long line\n".repeat(100_000)));
    let output = apply(&sandbox);
    assert_eq!(output.code, 4, "{output:#?}");
    assert!(sandbox.read("b.py").contains("lib.summed(2)"));
    assert!(output.stdout.contains("no introduced findings known"), "{output:#?}");
    assert!(output.stdout.contains("not measured: b.py (larger than 1 MiB)"), "{output:#?}");
    assert!(output.stdout.lines().all(|line| !line.contains("nothing introduced")));
}

#[test]
fn what_is_no_name_is_refused_before_the_server_is_asked() {
    let sandbox = project(&changes());
    for (name, code) in [("a b", 1), ("a;b", 1), ("1x", 1), ("a\nb", 3), ("", 3)] {
        let output = sandbox.run(&["rename", "lib.py:1:5", name, "--apply"]);
        assert_eq!(output.code, code, "{name:?}: {output:#?}");
        assert_untouched(&sandbox);
    }
    let document = sandbox.run(&["rename", "lib.py:1:5", "a b", "--json"]).json();
    assert_eq!(document["kind"], "invalid_name");
    assert_eq!(document["reason"], "\"a b\" is not a valid name: it contains ' '");
}

#[test]
fn files_move_with_the_edits_in_them() {
    let sandbox = project(&json!({"documentChanges": [
        {"textDocument": {"uri": "file://{{ROOT}}/a.py", "version": null},
            "edits": [edit(0, 16, 21), edit(1, 12, 17)]},
        {"kind": "rename", "oldUri": "file://{{ROOT}}/lib.py", "newUri": "file://{{ROOT}}/core/lib.py"},
        {"textDocument": {"uri": "file://{{ROOT}}/core/lib.py", "version": null},
            "edits": [edit(0, 4, 9)]},
    ]}));
    let preview = sandbox.run(&RENAME);
    assert!(
        preview.stdout.contains("rename lib.py => core/lib.py\n--- a/lib.py\n+++ b/core/lib.py"),
        "{preview:#?}"
    );
    let output = apply(&sandbox);
    assert_eq!(output.code, 0, "{output:#?}");
    assert_eq!(sandbox.read("core/lib.py"), "def summed(x):\n    return x\n");
    assert!(!sandbox.path("lib.py").exists());
    assert!(sandbox.read("a.py").contains("summed(1)"));
}

#[test]
fn refusals_name_their_reason_and_write_nothing() {
    let refused = |sandbox: &Sandbox, kind: &str, line: &str| {
        let output = apply(sandbox);
        assert_eq!(output.code, 1, "{output:#?}");
        assert_eq!(output.stderr, format!("moai-ralph: {line}\n"));
        assert_untouched(sandbox);
        let document = sandbox.run(&[&RENAME[..], &["--apply", "--json"]].concat()).json();
        assert_eq!((&document["status"], &document["kind"]), (&json!("refused"), &json!(kind)));
    };
    let empty = "pyright: the language server proposes no change here";
    refused(&project(&json!("null")), "empty", empty);
    refused(&project(&json!({"changes": {}})), "empty", empty);
    let versioned = json!({"documentChanges": [{
        "textDocument": {"uri": "file://{{ROOT}}/lib.py", "version": 9}, "edits": [edit(0, 4, 9)],
    }]});
    let line = "lib.py: the edit is for document version 9, but the server has version 2";
    refused(&project(&versioned), "version_mismatch", line);
    let overlap = json!({"changes": {"file://{{ROOT}}/lib.py": [edit(0, 4, 9), edit(0, 5, 7)]}});
    refused(&project(&overlap), "overlap", "lib.py:1:6: two edits overlap");
    let outside = json!({"changes": {"file://{{ROOT}}/../x.py": [edit(0, 0, 0)]}});
    let sandbox = project(&outside);
    fs::write(sandbox.base().join("x.py"), "x\n").expect("the sandbox is writable");
    let line = format!("{}/../x.py: outside the root", sandbox.root().display());
    refused(&sandbox, "outside_root", &line);
    let refusing = project(&json!({"error": "You cannot rename this element."}));
    let line = "pyright: the server refused: You cannot rename this element.";
    refused(&refusing, "server_refused", line);
    let unable = project_with(&json!({"capabilities": {"hoverProvider": true}}));
    let line = "pyright: the server does not offer textDocument/rename";
    refused(&unable, "unsupported", line);
    let prepared = project_with(&json!({
        "capabilities": {"renameProvider": {"prepareProvider": true}},
        "answers": {"textDocument/prepareRename": "null", "textDocument/rename": changes()},
    }));
    refused(&prepared, "not_renameable", "pyright: nothing here can be renamed");
}

#[test]
fn links_ignored_and_foreign_files_are_left_alone() {
    let proposal = |path: &str| {
        json!({"changes": {
            "file://{{ROOT}}/lib.py": [edit(0, 4, 9)],
            format!("file://{{{{ROOT}}}}/{path}"): [edit(0, 0, 1)],
        }})
    };
    let refused = |path: &str, prepare: &dyn Fn(&Sandbox), reason: &str| {
        let sandbox = project(&proposal(path));
        prepare(&sandbox);
        let output = apply(&sandbox);
        assert_eq!(output.code, 1, "{path}: {output:#?}");
        assert!(output.stderr.contains(reason), "{path}: {output:#?}");
        assert_untouched(&sandbox);
    };
    refused(
        "out/x.py",
        &|sandbox| {
            fs::create_dir(sandbox.base().join("elsewhere")).expect("writable");
            fs::write(sandbox.base().join("elsewhere/x.py"), "x\n").expect("writable");
            std::os::unix::fs::symlink("../elsewhere", sandbox.path("out")).expect("writable");
        },
        "outside the root",
    );
    refused(
        "gen/x.py",
        &|sandbox| {
            sandbox.write(".gitignore", "gen/\n");
            sandbox.write("gen/x.py", "x\n");
        },
        "gen/x.py: ignored by git, so a change would be overwritten",
    );
    refused(
        "node_modules/x.py",
        &|sandbox| {
            sandbox.write("node_modules/x.py", "x\n");
        },
        "in node_modules/",
    );
    refused(
        "x.py",
        &|sandbox| {
            sandbox.write("x.py", "# Code generated by a tool. DO NOT EDIT.\n");
        },
        "marked as generated",
    );
}

/// A folder so deep that its files have valid paths, but temporary files next to them would not: the
/// system refuses them to everybody, the superuser as well.
fn too_deep(sandbox: &Sandbox) -> PathBuf {
    const PATH_BYTES_MAX: usize = 4095;
    let mut folder = sandbox.root();
    let room = |folder: &PathBuf| PATH_BYTES_MAX - 1 - "/x.py".len() - folder.as_os_str().len();
    while room(&folder) > 2 {
        let length = (room(&folder) - 1).min(200);
        folder.push("d".repeat(length));
    }
    fs::create_dir_all(&folder).expect("the path is just short enough");
    let file = folder.join("x.py");
    fs::write(&file, "total\n").expect("the path is just short enough");
    file
}

#[test]
fn a_write_that_fails_leaves_every_byte_as_it_was() {
    let sandbox = Sandbox::new();
    for (path, text) in FILES {
        sandbox.write(path, text);
    }
    let file = too_deep(&sandbox);
    let mut proposal = changes();
    proposal["changes"][format!("file://{}", file.display())] = json!([edit(0, 0, 5)]);
    serve(&sandbox, &json!({"answers": {"textDocument/rename": proposal}}));
    let preview = sandbox.run(&RENAME);
    assert_eq!(preview.code, 0, "{preview:#?}");
    assert!(preview.stdout.contains("5 edits in 4 files"), "{preview:#?}");
    let output = sandbox.run(&[&RENAME[..], &["--apply", "--json"]].concat());
    assert_eq!(output.code, 1, "{output:#?}");
    let document = output.json();
    let reason = document["reason"].as_str().unwrap_or_default();
    assert!(reason.ends_with("all files were restored"), "{document:#}");
    assert_untouched(&sandbox);
    assert_eq!(fs::read_to_string(&file).expect("the file is there"), "total\n");
}
