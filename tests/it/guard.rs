//! The `guard` command: working tree, index and commits, unmeasurable files, and who may waive a finding.

use std::fs;
use std::process::Command;

use moai_host::store::ProjectKey;
use serde_json::{Value, json};

use crate::support::{Sandbox, finish};

const TESTS: &str = "from cart import total\n\n\ndef test_sum():\n    assert total([1, 2]) == 3\n\n\n\
    def test_empty():\n    assert total([]) == 0\n";
const FEWER: &str = "from cart import total\n\n\ndef test_sum():\n    assert total([1, 2]) == 3\n";

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("cart.py", "def total(items):\n    return sum(items)\n");
    sandbox.write("tests/test_cart.py", TESTS);
    sandbox.commit();
    sandbox
}

fn git(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    sandbox.prepare(&mut command);
    let output = finish(command.args(arguments), "");
    assert_eq!(output.code, 0, "{arguments:?}: {output:#?}");
    output.stdout
}

/// Code and path of each finding, and the exit code.
fn guard(sandbox: &Sandbox, more: &[&str]) -> (u8, Vec<String>) {
    let output = sandbox.run(&[&["guard", "--json"], more].concat());
    let report = output.json();
    assert_eq!(report["schema"], "moai-ralph/report@1", "{output:#?}");
    let one = |finding: &Value| {
        let word = |key: &str| finding[key].as_str().expect("a text").to_owned();
        format!("{} {} {}", word("severity"), word("code"), word("path"))
    };
    let findings = report["findings"].as_array().expect("a list").iter().map(one).collect();
    (u8::try_from(output.code).expect("a code"), findings)
}

#[test]
fn examples_that_a_manifest_switches_off_are_looked_for_in_all_modules() {
    let sandbox = Sandbox::new();
    let manifest = "[package]\nname = \"x\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    sandbox.write("Cargo.toml", manifest);
    sandbox.write("src/lib.rs", "pub mod outer;\n");
    sandbox.write("src/outer.rs", "pub mod inner;\n");
    sandbox.write("src/outer/inner.rs", "/// One.\npub fn one() {}\n");
    sandbox.commit();
    let switched_off = format!("{manifest}\n[lib]\ndoctest = false\n");
    sandbox.write("Cargo.toml", &switched_off);
    assert_eq!(guard(&sandbox, &[]), (0, Vec::new()));
    sandbox.write("Cargo.toml", manifest);
    let example = "/// ```\n/// x::outer::inner::one();\n/// ```\npub fn one() {}\n";
    sandbox.write("src/outer/inner.rs", example);
    sandbox.commit();
    sandbox.write("Cargo.toml", &switched_off);
    assert_eq!(guard(&sandbox, &[]), (1, vec!["error G12 Cargo.toml".to_owned()]));
}

#[test]
fn a_deleted_test_is_found_in_the_work_tree_the_index_and_commits() {
    let sandbox = project();
    let base = git(&sandbox, &["rev-parse", "HEAD"]);
    let expected = (1, vec!["error G01 tests/test_cart.py".to_owned()]);
    assert_eq!(guard(&sandbox, &[]), (0, Vec::new()));
    sandbox.write("tests/test_cart.py", FEWER);
    assert_eq!(guard(&sandbox, &[]), expected);
    git(&sandbox, &["add", "-A"]);
    assert_eq!(guard(&sandbox, &[]), expected);
    sandbox.commit();
    assert_eq!(guard(&sandbox, &[]), (0, Vec::new()));
    assert_eq!(guard(&sandbox, &["--base", base.trim()]), expected);
    let text = sandbox.run(&["guard", "--base", base.trim()]);
    assert_eq!(text.code, 1);
    assert!(text.stdout.contains("guard(G01): test `test_empty` is gone"), "{text:#?}");
}

#[test]
fn a_mark_in_the_index_hides_no_deleted_test() {
    let sandbox = project();
    for mark in ["--assume-unchanged", "--skip-worktree"] {
        git(&sandbox, &["update-index", mark, "tests/test_cart.py"]);
        sandbox.write("tests/test_cart.py", FEWER);
        let found = guard(&sandbox, &[]);
        assert_eq!(found, (1, vec!["error G01 tests/test_cart.py".to_owned()]), "{mark}");
        sandbox.write("tests/test_cart.py", TESTS);
        assert_eq!(guard(&sandbox, &[]), (0, Vec::new()), "{mark}");
    }
}

#[test]
fn what_changed_in_a_repository_inside_is_unmeasured() {
    let (sandbox, inner) = (project(), project());
    let url = inner.root().display().to_string();
    let add = ["-c", "protocol.file.allow=always", "submodule", "add", "-q", &url, "suite"];
    git(&sandbox, &add);
    sandbox.commit();
    assert_eq!(guard(&sandbox, &[]), (0, Vec::new()));
    sandbox.write("suite/tests/test_cart.py", FEWER);
    let output = sandbox.run(&["guard"]);
    assert_eq!(output.code, 4, "{output:#?}");
    let said = format!("{}{}", output.stdout, output.stderr);
    assert!(said.contains("suite") && said.contains("a nested repository"), "{output:#?}");
}

#[test]
fn a_moved_file_is_no_deleted_one_and_a_deleted_one_is() {
    let sandbox = project();
    fs::create_dir_all(sandbox.path("tests/unit")).expect("a folder");
    let (old, new) = (sandbox.path("tests/test_cart.py"), sandbox.path("tests/unit/test_cart.py"));
    fs::rename(&old, &new).expect("moved");
    assert_eq!(guard(&sandbox, &[]), (0, Vec::new()));
    fs::remove_file(&new).expect("removed");
    assert_eq!(guard(&sandbox, &[]), (1, vec!["error G01 tests/test_cart.py".to_owned()]));
}

#[test]
fn a_goal_that_asks_for_it_lets_a_feature_go_with_its_tests() {
    let sandbox = project();
    sandbox.write("cart.py", "def count(items):\n    return len(items)\n");
    sandbox.write("tests/test_cart.py", "from cart import count\n");
    let kept = guard(&sandbox, &["--goal", "Make `total` faster"]);
    assert_eq!(kept.0, 1, "{kept:?}");
    assert_eq!(guard(&sandbox, &["--goal", "Remove `total`"]), (0, Vec::new()));
}

#[test]
fn answers_to_tests_that_did_not_change_and_laxer_configuration_are_found() {
    let sandbox = project();
    sandbox.write("pytest.ini", "[pytest]\ntestpaths = tests\n");
    sandbox.write(
        "tests/test_cart.py",
        "from cart import total\n\n\ndef test_sum():\n    assert total(\"3 + 4\") == 7\n\n\n\
         def test_more():\n    assert total(\"5 * 8\") == 40\n",
    );
    sandbox.commit();
    sandbox.write(
        "cart.py",
        "def total(text):\n    if text == \"3 + 4\":\n        return 7\n\
         \x20   if text == \"5 * 8\":\n        return 40\n    return sum(text)\n",
    );
    sandbox.write("pytest.ini", "[pytest]\ntestpaths = tests/unit\n");
    let (code, findings) = guard(&sandbox, &[]);
    assert_eq!(code, 1);
    assert_eq!(
        findings,
        ["error G08 cart.py", "error G08 cart.py", "error G12 pytest.ini"].map(str::to_owned)
    );
    sandbox.write("pytest.ini", "[pytest\n= broken");
    fs::remove_file(sandbox.path("cart.py")).expect("removed");
}

#[test]
fn what_cannot_be_judged_is_not_clean() {
    let sandbox = project();
    sandbox.write("tests/test_cart.py", &"(".repeat(2_000));
    assert_eq!(guard(&sandbox, &[]).0, 4);
    assert_eq!(guard(&sandbox, &["--allow-unmeasured"]).0, 0);
    let bare = Sandbox::new();
    fs::remove_dir_all(bare.path(".git")).expect("a repository");
    bare.write("a.py", "x = 1\n");
    assert_eq!(guard(&bare, &[]).0, 4);
    let unknown = sandbox.run(&["guard", "--base", "no-such-commit"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (3, ""), "{unknown:#?}");
}

#[test]
fn a_repository_without_a_commit_has_only_new_files() {
    let sandbox = Sandbox::new();
    fs::remove_dir_all(sandbox.path(".git")).expect("a repository");
    git(&sandbox, &["init", "-q"]);
    sandbox.write("tests/test_cart.py", TESTS);
    assert_eq!(guard(&sandbox, &[]), (0, Vec::new()));
}

#[test]
fn a_folder_of_a_repository_is_judged_by_itself() {
    let sandbox = project();
    sandbox.write("part/tests/test_cart.py", TESTS);
    sandbox.commit();
    sandbox.write("part/tests/test_cart.py", FEWER);
    sandbox.write("tests/test_cart.py", FEWER);
    let part = sandbox.path("part").display().to_string();
    let found = guard(&sandbox, &["--root", &part]);
    assert_eq!(found, (1, vec!["error G01 tests/test_cart.py".to_owned()]));
}

#[test]
fn what_was_allowed_is_named_and_does_not_count() {
    let sandbox = project();
    sandbox.write("tests/test_cart.py", FEWER);
    let report = sandbox.run(&["guard", "--json"]).json();
    let id = &report["findings"][0]["id"];
    let shared = sandbox.path(".git").canonicalize().expect("a repository");
    let folder = ProjectKey::from_folder(&shared).folder(&sandbox.base().join("state"));
    let waiver = json!({"id": id, "code": "G01", "reason": "covered elsewhere"});
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("waivers.jsonl"), format!("{waiver}\nno line of ours\n"))
        .expect("written");
    let output = sandbox.run(&["guard"]);
    assert_eq!(output.code, 0, "{output:#?}");
    assert!(output.stderr.contains("guard(G01) is allowed: covered elsewhere"), "{output:#?}");
    assert!(!output.stdout.contains("G01"), "{output:#?}");
}

#[test]
fn only_a_person_lets_a_finding_be() {
    let sandbox = project();
    sandbox.write("tests/test_cart.py", FEWER);
    let report = sandbox.run(&["guard", "--json"]).json();
    let id = report["findings"][0]["id"].as_str().expect("an id").to_owned();
    let answer = format!("{id}\n");
    let output = sandbox.run_with(&["guard", "allow", &id, "--reason", "asked for"], &answer);
    assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:#?}");
    assert!(output.stderr.contains("only a person at a terminal"), "{output:#?}");
    assert_eq!(guard(&sandbox, &[]).0, 1);
}
