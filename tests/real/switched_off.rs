//! Files that the project's configuration excludes from checking are never plain clean. The excluded set
//! agrees with the batch tools: they report nothing either.

use std::fs;

use serde_json::json;

use crate::servers::{findings, project, report};
use crate::support::Sandbox;

const WRONG_JS: &str = "/** @type {number} */\nexport const n = 'one';\n";
const WRONG_TS: &str = "export const n: number = \"one\";\n";
const WRONG_PY: &str = "n: int = \"one\"\n";

/// The reason why a file is switched off, and the codes of its findings.
fn check(sandbox: &Sandbox, file: &str, code: i32) -> (String, Vec<String>) {
    let report = report(&sandbox.run(&["check", file, "--json"]), code);
    let servers = report["sensors"].as_array().expect("a list");
    let server = servers.iter().find(|it| it["kind"] == "lsp").expect("a server");
    let name = server["name"].as_str().unwrap_or_default();
    let codes = findings(&report, name).into_iter().map(|(_, code, _)| code).collect();
    let off = &report["files_switched_off"];
    let reason = off[0]["reason"].as_str().unwrap_or_default().to_owned();
    let expected = match (code, reason.as_str()) {
        (0, "") => "clean",
        (0, _) => "unmeasured",
        _ => "dirty",
    };
    assert_eq!(report["verdict"], expected, "{report:#}");
    (reason, codes)
}

fn is_off(sandbox: &Sandbox, file: &str, reason: &str) {
    let (told, codes) = check(sandbox, file, 0);
    assert!(told.starts_with(reason), "{file}: {told}");
    assert_eq!(codes, [""; 0], "{file}");
}

fn is_checked(sandbox: &Sandbox, file: &str, code: &str) {
    let (told, codes) = check(sandbox, file, 1);
    assert_eq!((told.as_str(), codes), ("", vec![code.to_owned()]), "{file}");
}

const CHECK_JS_IS_OFF: &str = "checked for syntax only: checkJs is off";

fn javascript_without_configuration(sandbox: &Sandbox) {
    sandbox.write("a.js", WRONG_JS);
    is_off(sandbox, "a.js", CHECK_JS_IS_OFF);
}

fn javascript(sandbox: &Sandbox) {
    sandbox.write("a.js", WRONG_JS);
    sandbox.write("base/jsconfig.json", "{\"compilerOptions\": {\"checkJs\": true}}\n");
    sandbox.write("jsconfig.json", "{\"compilerOptions\": {\"module\": \"esnext\"}}\n");
    is_off(sandbox, "a.js", CHECK_JS_IS_OFF);
    sandbox.write("jsconfig.json", "{\"extends\": \"./base/jsconfig.json\"}\n");
    is_checked(sandbox, "a.js", "2322");
    sandbox.write("a.js", &format!("// @ts-nocheck\n{WRONG_JS}"));
    is_off(sandbox, "a.js", "checked for syntax only: @ts-nocheck is at its top");
    sandbox.write("jsconfig.json", "{}\n");
    sandbox.write("a.js", &format!("// @ts-check\n{WRONG_JS}"));
    is_checked(sandbox, "a.js", "2322");
    sandbox.write("a.js", "let a b;\n");
    let (told, codes) = check(sandbox, "a.js", 1);
    assert!(told.starts_with(CHECK_JS_IS_OFF) && codes == ["1005"], "{told} {codes:?}");
}

fn typescript(sandbox: &Sandbox) {
    let config = "{\"compilerOptions\": {\"skipLibCheck\": true}, \"include\": [\"src\"]}\n";
    sandbox.write("tsconfig.json", config);
    for folder in ["src", "scripts"] {
        sandbox.write(&format!("{folder}/a.ts"), WRONG_TS);
        sandbox.write(&format!("{folder}/b.ts"), "export const n = 1;\n");
    }
    is_checked(sandbox, "src/a.ts", "2322");
    assert_eq!(check(sandbox, "src/b.ts", 0).0, "");
    let outside = "excluded by the project's configuration: no tsconfig.json covers the file";
    is_off(sandbox, "scripts/b.ts", outside);
    let (told, codes) = check(sandbox, "scripts/a.ts", 1);
    assert!(told.starts_with(outside) && codes == ["2322"], "{told} {codes:?}");
    sandbox.write("src/new.ts", "export const n = 1;\n");
    assert_eq!(check(sandbox, "src/new.ts", 0).0, "", "a new file is covered");
    sandbox.write("src/a.ts", &format!("// @ts-nocheck\n{WRONG_TS}"));
    is_off(sandbox, "src/a.ts", "checked for syntax only: @ts-nocheck");
    sandbox.write("src/types.d.ts", "export const n: Missing;\n");
    is_off(sandbox, "src/types.d.ts", "checked for syntax only: skipLibCheck is on");
}

fn with_typescript_7() -> Sandbox {
    let sandbox = project();
    sandbox.write("package.json", "{\"devDependencies\": {\"typescript\": \"^7.0.0\"}}\n");
    sandbox.write("node_modules/typescript/package.json", "{\"version\": \"7.0.2\"}\n");
    sandbox
}

#[test]
fn javascript_without_check_js() {
    javascript_without_configuration(&project());
    javascript(&project());
}

#[test]
fn javascript_without_check_js_in_typescript_7() {
    javascript_without_configuration(&with_typescript_7());
    javascript(&with_typescript_7());
}

#[test]
fn typescript_that_no_configuration_covers() {
    typescript(&project());
}

#[test]
fn typescript_that_no_configuration_covers_in_typescript_7() {
    typescript(&with_typescript_7());
}

#[test]
fn python_that_pyright_ignores() {
    let sandbox = project();
    let config = json!({"ignore": ["**/gen", "*_pb2.py"], "exclude": ["old"], "include": ["src"]});
    sandbox.write("pyrightconfig.json", &config.to_string());
    let files = ["a_pb2.py", "src/gen/deep/a.py", "src/a.py", "old/a.py", "other/a.py"];
    for file in files {
        sandbox.write(file, WRONG_PY);
    }
    let ignored = "excluded by the project's configuration: \"ignore\" in pyrightconfig.json";
    is_off(&sandbox, "a_pb2.py", ignored);
    is_off(&sandbox, "src/gen/deep/a.py", ignored);
    // An open file is checked, whatever is excluded.
    for file in ["src/a.py", "old/a.py", "other/a.py"] {
        is_checked(&sandbox, file, "reportAssignmentType");
    }
    sandbox.write("src/a.py", &format!("# type: ignore\n{WRONG_PY}"));
    is_off(&sandbox, "src/a.py", "not checked: # type: ignore is at its top");
    // The nearest configuration counts.
    sandbox.write("part/pyproject.toml", "[tool.pyright]\ntypeCheckingMode = \"off\"\n");
    fs::remove_file(sandbox.root().join("pyrightconfig.json")).expect("it was there");
    sandbox.write("part/a.py", WRONG_PY);
    let off = "checked for little more than syntax: typeCheckingMode is off";
    is_off(&sandbox, "part/a.py", off);
    sandbox.write("part/a.py", &format!("# pyright: basic\n{WRONG_PY}"));
    is_checked(&sandbox, "part/a.py", "reportAssignmentType");
}
