//! Renames by real servers over several files: found at once after a cold start, written in all
//! files, and in none when one cannot be written.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::servers::project;
use crate::support::Sandbox;

const PYTHON: [(&str, &str); 4] = [
    ("lib.py", "def total(items: list[int]) -> int:\n    return sum(items)\n"),
    ("a.py", "from lib import total\n\nnumber: int = total([1])\n"),
    ("b.py", "import lib\n\nprint('🦀', lib.total([1, 2]))\n"),
    ("sub/c.py", "from lib import total as t\n\nprint(t([]))\n"),
];

const TYPESCRIPT: [(&str, &str); 4] = [
    ("tsconfig.json", "{\"compilerOptions\": {\"strict\": true, \"noEmit\": true}}\n"),
    ("lib.ts", "export function total(items: number[]): number {\n  return items.length;\n}\n"),
    ("a.ts", "import { total } from \"./lib\";\n\nexport const one = total([1]);\n"),
    ("b.ts", "import * as lib from \"./lib\";\n\nexport const two = lib.total([1, 2]);\n"),
];

fn write(sandbox: &Sandbox, files: &[(&str, &str)]) {
    for (path, text) in files {
        sandbox.write(path, text);
    }
}

fn document(sandbox: &Sandbox, arguments: &[&str], code: i32) -> Value {
    let output = sandbox.run(&[arguments, &["--json"]].concat());
    assert_eq!(output.code, code, "{output:#?}");
    output.json()
}

fn paths(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list");
    list.iter().map(|one| one["path"].as_str().unwrap_or_default()).collect()
}

#[test]
fn pyright_renames_in_all_files_right_after_it_was_started() {
    let sandbox = project();
    write(&sandbox, &PYTHON);
    let preview = document(&sandbox, &["rename", "lib.py:1:5", "summed"], 0);
    assert_eq!(preview["status"], "preview");
    assert_eq!(paths(&preview["files"]), ["a.py", "b.py", "lib.py", "sub/c.py"]);
    for (path, text) in PYTHON {
        assert_eq!(sandbox.read(path), text);
    }
    let applied = document(&sandbox, &["rename", "lib.py:1:5", "summed", "--apply"], 0);
    assert_eq!(applied["status"], "applied");
    assert_eq!(applied["check"]["introduced"], json!([]));
    assert_eq!(sandbox.read("b.py"), "import lib\n\nprint('🦀', lib.summed([1, 2]))\n");
    assert!(sandbox.read("sub/c.py").starts_with("from lib import summed as t"));
    let clean = sandbox.run(&["check", "--all"]);
    assert_eq!(clean.code, 0, "{clean:#?}");
}

#[test]
fn pyright_renames_for_a_tool_of_an_agent() {
    let sandbox = project();
    write(&sandbox, &PYTHON);
    let mut client = Client::start(&sandbox);
    let request = json!({"path": "lib.py", "line": 1, "symbol": "total", "new_name": "summed",
        "dry_run": false});
    let answer = client.tool("rename", &request);
    let values = &answer["result"]["structuredContent"];
    assert_eq!((&values["status"], &values["written"]), (&json!("answered"), &json!(true)));
    assert_eq!(paths(&values["files"]), ["a.py", "b.py", "lib.py", "sub/c.py"]);
    assert_eq!(values["check"]["introduced"], json!([]));
    assert_eq!(sandbox.read("a.py"), PYTHON[1].1.replace("total", "summed"));
    assert_eq!(sandbox.read("b.py"), PYTHON[2].1.replace("total", "summed"));
    let clean = client.tool("diagnostics", &json!({"all": true}));
    assert_eq!(clean["result"]["structuredContent"]["verdict"], "clean", "{clean:#}");
    client.end();
}

#[test]
fn pyright_knows_a_file_that_was_written_a_moment_ago() {
    let sandbox = project();
    write(&sandbox, &PYTHON);
    document(&sandbox, &["references", "lib.py:1:5"], 0);
    sandbox.write("new.py", "import lib\n\nprint(lib.total([3]))\n");
    let found = document(&sandbox, &["references", "lib.py:1", "--symbol", "total"], 0);
    let expected = ["a.py", "a.py", "b.py", "lib.py", "new.py", "sub/c.py"];
    assert_eq!(paths(&found["locations"]), expected);
    assert_eq!(found["complete"], true);
}

/// A folder so deep that its files have valid paths, but temporary files next to them would not.
fn too_deep(sandbox: &Sandbox) -> PathBuf {
    const PATH_BYTES_MAX: usize = 4095;
    let mut folder = sandbox.root();
    let room = |folder: &PathBuf| PATH_BYTES_MAX - 1 - "/x.py".len() - folder.as_os_str().len();
    while room(&folder) > 2 {
        let length = (room(&folder) - 1).min(200);
        folder.push("d".repeat(length));
    }
    fs::create_dir_all(&folder).expect("the path is just short enough");
    folder.join("x.py")
}

#[test]
fn a_write_that_fails_leaves_every_byte_as_it_was() {
    let sandbox = project();
    write(&sandbox, &PYTHON);
    let deep = too_deep(&sandbox);
    let text = "import lib\n\nprint(lib.total([4]))\n";
    fs::write(&deep, text).expect("the path is just short enough");
    let preview = document(&sandbox, &["rename", "lib.py:1:5", "summed"], 0);
    assert_eq!(paths(&preview["files"]).len(), 5, "{preview:#}");
    let refused = document(&sandbox, &["rename", "lib.py:1:5", "summed", "--apply"], 1);
    assert_eq!((&refused["status"], &refused["kind"]), (&json!("refused"), &json!("not_written")));
    for (path, text) in PYTHON {
        assert_eq!(sandbox.read(path), text);
    }
    assert_eq!(fs::read_to_string(&deep).expect("the file is there"), text);
}

#[test]
fn pyright_says_where_nothing_can_be_renamed() {
    let sandbox = project();
    write(&sandbox, &PYTHON);
    let output = sandbox.run(&["rename", "b.py:3:1", "shown", "--apply"]);
    assert_eq!(output.code, 1, "a builtin is not ours to rename: {output:#?}");
    assert_eq!(sandbox.read("b.py"), PYTHON[2].1);
}

#[test]
fn typescript_renames_at_the_definition_and_at_an_import() {
    for at in ["lib.ts:1:17", "a.ts:1:10"] {
        let sandbox = project();
        write(&sandbox, &TYPESCRIPT);
        let applied = document(&sandbox, &["rename", at, "summed", "--apply"], 0);
        assert_eq!(paths(&applied["files"]), ["a.ts", "b.ts", "lib.ts"], "{at}");
        assert_eq!(applied["check"]["introduced"], json!([]));
        assert!(sandbox.read("a.ts").starts_with("import { summed } from"), "{at}");
        assert!(sandbox.read("b.ts").contains("lib.summed([1, 2])"), "{at}");
    }
}

#[test]
fn typescript_7_renames_at_the_definition_and_refuses_a_mere_alias() {
    let sandbox = project();
    write(&sandbox, &TYPESCRIPT);
    sandbox.write("package.json", "{\"devDependencies\": {\"typescript\": \"^7.0.0\"}}\n");
    let alias = document(&sandbox, &["rename", "a.ts:1:10", "summed", "--apply"], 1);
    assert_eq!((&alias["status"], &alias["kind"]), (&json!("refused"), &json!("alias_only")));
    assert_eq!(sandbox.read("a.ts"), TYPESCRIPT[2].1);
    let applied = document(&sandbox, &["rename", "lib.ts:1:17", "summed", "--apply"], 0);
    assert_eq!(paths(&applied["files"]), ["a.ts", "b.ts", "lib.ts"]);
    assert!(sandbox.read("a.ts").contains("summed([1])"));
}

#[test]
fn typescript_answers_questions_about_a_symbol() {
    let sandbox = project();
    write(&sandbox, &TYPESCRIPT);
    let found = document(&sandbox, &["references", "lib.ts:1:17"], 0);
    assert_eq!(paths(&found["locations"]), ["a.ts", "a.ts", "b.ts", "lib.ts"]);
    let defined = document(&sandbox, &["definition", "b.ts:3", "--symbol", "total"], 0);
    assert_eq!(paths(&defined["locations"]), ["lib.ts"]);
    let hover = document(&sandbox, &["hover", "a.ts:3", "--symbol", "total"], 0);
    assert!(hover["text"].as_str().is_some_and(|text| text.contains("total(items: number[])")));
    let symbols = document(&sandbox, &["symbols", "lib.ts"], 0);
    assert_eq!(symbols["symbols"][0]["name"], "total");
    let symbols = document(&sandbox, &["symbols", "tota"], 0);
    assert!(paths(&symbols["symbols"]).contains(&"lib.ts"), "{symbols:#}");
}
