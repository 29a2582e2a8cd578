//! intelephense publishes without version, an empty list long before it knows anything, and later
//! always a second after a change. What is wrong is found; what it does not prove is no clean.

use serde_json::{Value, json};

use crate::servers::findings;
use crate::support::Sandbox;
use crate::tools::{npm, project_of};

const RIGHT: &str = "<?php\nfunction main() { return greet('x'); }\n";
const WRONG: &str = "<?php\nfunction main() { return unknown('x'); }\n";
const LIB: &str = "<?php\nfunction greet($name) { return $name; }\n";

fn php() -> Sandbox {
    let program = npm("intelephense@1.18.5", ".bin/intelephense");
    project_of("php", "php", "intelephense", |sandbox| {
        let storage = sandbox.base().join("storage");
        json!({"command": program, "args": ["--stdio"], "diagnostics": "push",
            "ready": "progress", "initialization_options": {
                "storagePath": storage, "globalStoragePath": storage}})
    })
}

fn check(sandbox: &Sandbox, path: &str) -> (i32, Vec<(String, String, u64)>) {
    let output = sandbox.run(&["check", path, "--no-scan", "--json"]);
    let report: Value = output.json();
    (output.code, findings(&report, "intelephense"))
}

fn wrong() -> (i32, Vec<(String, String, u64)>) {
    (1, vec![("main.php".to_owned(), "P1010".to_owned(), 1)])
}

#[test]
fn what_is_wrong_is_found_and_what_was_mended_is_not_told_again() {
    let sandbox = php();
    sandbox.write("lib.php", LIB);
    sandbox.write("main.php", WRONG);
    assert_eq!(check(&sandbox, "main.php"), wrong());
    let is_not_wrong = || {
        let (code, found) = check(&sandbox, "main.php");
        // Clean, or not proven; wrong it is not.
        assert!(matches!(code, 0 | 4) && found.is_empty(), "{code} {found:?}");
    };
    sandbox.write("main.php", RIGHT);
    is_not_wrong();
    sandbox.write("main.php", WRONG);
    assert_eq!(check(&sandbox, "main.php"), wrong());
    sandbox.write("main.php", RIGHT);
    is_not_wrong();
    // The function it calls is gone, and comes back.
    sandbox.write("lib.php", &LIB.replace("greet", "welcome"));
    assert_eq!(check(&sandbox, "main.php"), wrong());
    sandbox.write("lib.php", LIB);
    is_not_wrong();
    std::fs::remove_file(sandbox.path("lib.php")).expect("the file is ours");
    assert_eq!(check(&sandbox, "main.php"), wrong());
}
