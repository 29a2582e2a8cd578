//! intelephense publishes without version, an empty list long before it knows anything, and later
//! always a second after a change. The end of its indexing and the quiet after that second are proof.

use serde_json::Value;

use crate::servers::{findings, project_of};
use crate::support::Sandbox;

const RIGHT: &str = "<?php\nfunction main() { return greet('x'); }\n";
const WRONG: &str = "<?php\nfunction main() { return unknown('x'); }\n";
const LIB: &str = "<?php\nfunction greet($name) { return $name; }\n";

fn check(sandbox: &Sandbox, path: &str) -> (i32, Vec<(String, String, u64)>) {
    let output = sandbox.run(&["check", path, "--no-scan", "--json"]);
    let report: Value = output.json();
    (output.code, findings(&report, "intelephense"))
}

fn wrong() -> (i32, Vec<(String, String, u64)>) {
    (1, vec![("main.php".to_owned(), "P1010".to_owned(), 1)])
}

#[test]
fn its_word_follows_the_edits_and_the_disk() {
    let sandbox = project_of("php", "intelephense");
    sandbox.write("lib.php", LIB);
    sandbox.write("main.php", WRONG);
    assert_eq!(check(&sandbox, "main.php"), wrong());
    let clean = (0, Vec::new());
    sandbox.write("main.php", RIGHT);
    assert_eq!(check(&sandbox, "main.php"), clean);
    sandbox.write("main.php", WRONG);
    assert_eq!(check(&sandbox, "main.php"), wrong());
    sandbox.write("main.php", RIGHT);
    assert_eq!(check(&sandbox, "main.php"), clean);
    // The function it calls is gone, and comes back.
    sandbox.write("lib.php", &LIB.replace("greet", "welcome"));
    assert_eq!(check(&sandbox, "main.php"), wrong());
    sandbox.write("lib.php", LIB);
    assert_eq!(check(&sandbox, "main.php"), clean);
    std::fs::remove_file(sandbox.path("lib.php")).expect("the file is ours");
    assert_eq!(check(&sandbox, "main.php"), wrong());
}
