//! intelephense publishes without version, an empty list long before it knows anything, and later
//! always a second after a change. The end of its indexing and the quiet after that second are proof.

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

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
    // The function it calls is removed, and restored.
    sandbox.write("lib.php", &LIB.replace("greet", "welcome"));
    assert_eq!(check(&sandbox, "main.php"), wrong());
    sandbox.write("lib.php", LIB);
    assert_eq!(check(&sandbox, "main.php"), clean);
    fs::remove_file(sandbox.path("lib.php")).expect("the file is ours");
    assert_eq!(check(&sandbox, "main.php"), wrong());
}

/// It analyses the files that changed within a second together, the last changed first, and an open
/// document that it has not analysed again keeps its earlier declarations for the others.
#[test]
fn an_open_file_that_changes_just_before_a_measurement_counts_in_it() {
    let sandbox = project_of("php", "intelephense");
    sandbox.write("lib.php", LIB);
    sandbox.write("main.php", RIGHT);
    // Opens both.
    assert_eq!(check(&sandbox, ".").0, 0);
    let clean = (0, Vec::new());
    for _ in 0..2 {
        sandbox.write("lib.php", &LIB.replace("greet", "welcome"));
        assert_eq!(check(&sandbox, "main.php"), wrong());
        sandbox.write("lib.php", LIB);
        assert_eq!(check(&sandbox, "main.php"), clean);
    }
}

/// The first list for an open file is empty and precedes the indexing, which takes seconds here.
#[test]
fn nothing_is_clean_before_a_large_project_is_indexed() {
    let sandbox = project_of("php", "intelephense");
    let method = "  function method(int $a): int { return $a + 1; }\n";
    for number in 0..1000 {
        let methods: Vec<String> =
            (0..30).map(|part| method.replace("method", &format!("method{part}"))).collect();
        let class =
            format!("<?php\nnamespace Large;\nclass Class{number} {{\n{}}}\n", methods.concat());
        sandbox.write(&format!("src/Class{number}.php"), &class);
    }
    sandbox.write("zz/lib.php", LIB);
    sandbox.write("main.php", WRONG);
    assert_eq!(check(&sandbox, "main.php"), wrong());
    assert_eq!(sandbox.run(&["server", "stop", "intelephense"]).code, 0);
    sandbox.write("main.php", RIGHT);
    assert_eq!(check(&sandbox, "main.php"), (0, Vec::new()));
}

/// A server's cache of an earlier start overlooks some files that changed in between.
#[test]
fn files_that_changed_between_two_starts_are_indexed() {
    let sandbox = project_of("php", "intelephense");
    sandbox.write("main.php", RIGHT);
    let yesterday = SystemTime::now() - Duration::from_hours(24);
    let broken = LIB.replace("greet", "welcome");
    let clean = (0, Vec::new());
    for (text, age, expected) in [
        (LIB, 0, clean.clone()),
        (broken.as_str(), 100, wrong()),
        (LIB, 90, clean.clone()),
        (broken.as_str(), 80, wrong()),
        (LIB, 70, clean),
    ] {
        sandbox.write("new.txt", text);
        let new = File::options().write(true).open(sandbox.path("new.txt"));
        let modified = yesterday - Duration::from_secs(age);
        new.and_then(|file| file.set_modified(modified)).expect("the file is ours");
        fs::rename(sandbox.path("new.txt"), sandbox.path("lib.php")).expect("the file is ours");
        assert_eq!(check(&sandbox, "main.php"), expected, "{age}");
        assert_eq!(sandbox.run(&["daemon", "stop"]).code, 0);
    }
}
