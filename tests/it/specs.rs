//! `spec …` over the real program: new documents are reported as unfinished, faults with their line, and
//! nothing that a person wrote is lost.

use serde_json::{Value, json};

use crate::support::{Output, Sandbox};

const SPEC: &str = "# SPEC-AUTH-001: 로그인\n\n### REQ-AUTH-001: Session\n- EARS Pattern: Event-Driven\n\
                    - WHEN a user logs in THEN the system shall create a session\n";
const PLAN: &str = "# PLAN: 로그인\n\n### [ ] TODO 1: Sessions\n- Requirements: REQ-AUTH-001\n\
                    - Acceptance Criteria:\n  - [A] `cargo test session`\n  - [S] SC-1: logs in\n";
const ACCEPTANCE: &str = "## SC-1: logs in\n- Requirements: REQ-AUTH-001\n- When the form is sent\n\
                          - Then the page is shown\n";

fn spec(sandbox: &Sandbox, arguments: &[&str]) -> Output {
    let mut all = vec!["spec"];
    all.extend(arguments);
    sandbox.run(&all)
}

fn write_spec(sandbox: &Sandbox, plan: &str) {
    sandbox.write(".moai/specs/SPEC-AUTH-001/spec.md", SPEC);
    sandbox.write(".moai/specs/SPEC-AUTH-001/plan.md", plan);
    sandbox.write(".moai/specs/SPEC-AUTH-001/acceptance.md", ACCEPTANCE);
}

fn text_of(sandbox: &Sandbox, path: &str) -> String {
    std::fs::read_to_string(sandbox.root().join(path)).expect(path)
}

/// Reasons and lines of the faults of the only specification.
fn faults(sandbox: &Sandbox) -> Vec<String> {
    let output = spec(sandbox, &["check", "--json"]);
    assert_eq!(output.code, 1, "{output:?}");
    let faults = output.json()["specs"][0]["faults"].clone();
    let shown = |fault: &Value| {
        let path = fault["path"].as_str().expect("a path").rsplit('/').next().expect("a name");
        format!("{path}:{}: {}", fault["line"], fault["reason"].as_str().expect("a reason"))
    };
    faults.as_array().expect("a list").iter().map(shown).collect()
}

#[test]
fn a_new_specification_is_created_once_and_is_unfinished() {
    let sandbox = Sandbox::new();
    let title = "Login \"now\" $(touch pwned) `id` 로그인";
    let output = spec(&sandbox, &["new", title, "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let document = output.json();
    assert_eq!((&document["id"], &document["title"]), (&json!("SPEC-LOGIN-001"), &json!(title)));
    assert!(text_of(&sandbox, ".moai/specs/SPEC-LOGIN-001/plan.md").contains(title));
    assert!(!sandbox.root().join("pwned").exists());
    assert!(faults(&sandbox).iter().all(|fault| fault.contains("not filled in")));
    let again = spec(&sandbox, &["new", "Login again"]);
    assert!(again.stdout.contains("SPEC-LOGIN-002"), "{again:?}");
    let taken = spec(&sandbox, &["new", "x", "--id", "SPEC-LOGIN-001"]);
    assert_eq!(taken.code, 1, "{taken:?}");
    assert!(taken.stderr.contains("exists already; nothing was written"), "{taken:?}");
    let outside = spec(&sandbox, &["new", "x", "--id", "../../SPEC-A-1"]);
    assert_eq!(outside.code, 3, "{outside:?}");
    let list = spec(&sandbox, &["list"]);
    assert_eq!(list.stdout.lines().count(), 2, "{list:?}");
}

#[test]
fn a_finished_specification_is_clean_and_nonsense_names_its_line() {
    let sandbox = Sandbox::new();
    write_spec(&sandbox, PLAN);
    let output = spec(&sandbox, &["check"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, "SPEC-AUTH-001: clean\n"), "{output:?}");
    let list = spec(&sandbox, &["list"]);
    assert_eq!(list.stdout, "SPEC-AUTH-001: 로그인 (1 requirement, 0/1 TODOs done)\n");

    write_spec(&sandbox, &PLAN.replace("[ ] TODO 1", "[almost] TODO 1"));
    let broken = text_of(&sandbox, ".moai/specs/SPEC-AUTH-001/plan.md");
    assert!(faults(&sandbox)[0].starts_with("plan.md:3: `almost` is not a state of a TODO"));
    assert_eq!(text_of(&sandbox, ".moai/specs/SPEC-AUTH-001/plan.md"), broken);

    let twice = format!("{PLAN}### [ ] TODO-1: Again\n- Dependencies: TODO 2\n- [A] `true`\n");
    write_spec(&sandbox, &twice);
    let shown = faults(&sandbox);
    assert_eq!(shown[0], "plan.md:8: TODO-1 is also on line 3");
    assert_eq!(shown[1], "plan.md:8: TODO-1 depends on TODO-2, which does not exist");

    let cycle = format!(
        "{PLAN}- Dependencies: TODO 2\n### [ ] TODO 2: b\n- Dependencies: 1\n- [A] `true`\n"
    );
    write_spec(&sandbox, &cycle);
    assert_eq!(
        faults(&sandbox),
        ["plan.md:3: the dependencies form a cycle: TODO-1 -> TODO-2 -> TODO-1"]
    );

    write_spec(&sandbox, &PLAN.replace("REQ-AUTH-001", "none"));
    assert!(faults(&sandbox)[0].starts_with("spec.md:3: REQ-AUTH-001 is met by no TODO"));
}

#[test]
fn what_is_missing_or_unknown_is_not_called_clean() {
    let sandbox = Sandbox::new();
    let none = spec(&sandbox, &["check"]);
    assert_eq!(none.code, 0, "{none:?}");
    assert!(none.stdout.contains("no specification"), "{none:?}");
    write_spec(&sandbox, PLAN);
    let unknown = spec(&sandbox, &["check", "SPEC-AUTH-009"]);
    assert_eq!(unknown.code, 3, "{unknown:?}");
    let wrong = spec(&sandbox, &["check", "$(id)"]);
    assert!(wrong.code == 3 && wrong.stderr.contains("invalid id"), "{wrong:?}");
    sandbox.write(".moai/specs/login/spec.md", SPEC);
    let skipped = spec(&sandbox, &["check"]);
    assert_eq!(skipped.code, 4, "{skipped:?}");
    assert!(skipped.stdout.contains("not read: .moai/specs/login"), "{skipped:?}");
    assert_eq!(spec(&sandbox, &["check", "SPEC-AUTH-001"]).code, 0);
    std::fs::remove_file(sandbox.root().join(".moai/specs/SPEC-AUTH-001/plan.md"))
        .expect("removed");
    assert_eq!(faults(&sandbox), ["plan.md:1: the file does not exist"]);
    // One that cannot be read hides no other.
    std::fs::create_dir_all(sandbox.root().join(".moai/specs/SPEC-AUTH-002")).expect("ours");
    std::fs::write(sandbox.root().join(".moai/specs/SPEC-AUTH-002/spec.md"), b"# \xff\n")
        .expect("ours");
    let checked = spec(&sandbox, &["check"]);
    assert_eq!(checked.code, 1, "{checked:?}");
    for id in ["SPEC-AUTH-001", "SPEC-AUTH-002"] {
        assert!(checked.stdout.contains(id), "{checked:?}");
        assert!(spec(&sandbox, &["list"]).stdout.contains(id));
    }
}

#[test]
fn pivot_points_are_only_added_and_confirmed() {
    let sandbox = Sandbox::new();
    let pivot = |arguments: &[&str]| spec(&sandbox, &[&["pivot"], arguments].concat());
    assert!(pivot(&["list"]).stdout.contains("no pivot points yet"));
    let added =
        pivot(&["add", "One binary `$(id)`", "--forbids", "docker", "--protects", "src/api"]);
    assert!(added.stdout.contains("PP-1 PROVISIONAL: One binary `$(id)`"), "{added:?}");
    let own = text_of(&sandbox, ".moai/specs/pivot-points.md") + "\n## My notes\r\nkeep  \n";
    sandbox.write(".moai/specs/pivot-points.md", &own);
    let asked = pivot(&["check", "Run it in Docker"]);
    assert_eq!(asked.code, 1, "{asked:?}");
    assert!(
        asked.stdout.starts_with("the user decides") && asked.stdout.contains("it proposes docker"),
        "{asked:?}"
    );
    assert_eq!(pivot(&["confirm", "PP-1"]).code, 0);
    assert_eq!(
        text_of(&sandbox, ".moai/specs/pivot-points.md"),
        own.replace("PROVISIONAL", "CONFIRMED")
    );
    let rejected = pivot(&["check", "Faster", "--path", "src/api/a.rs", "--json"]);
    assert_eq!((rejected.code, &rejected.json()["verdict"]), (1, &json!("rejected")));
    assert_eq!(pivot(&["check", "Faster", "--path", "src/other.rs"]).code, 0);
    assert_eq!(pivot(&["confirm", "PP-7"]).code, 3);

    sandbox.write(".moai/specs/pivot-points.md", "## PP-1: a\n- Status: perhaps\n");
    let broken = pivot(&["check", "Anything"]);
    assert_eq!(broken.code, 1, "{broken:?}");
    assert!(broken.stderr.contains("line 1: PP-1 has no status"), "{broken:?}");
    let refused = pivot(&["add", "b"]);
    assert!(refused.code == 1 && refused.stderr.contains("cannot be used"), "{refused:?}");
    assert_eq!(text_of(&sandbox, ".moai/specs/pivot-points.md"), "## PP-1: a\n- Status: perhaps\n");
}

#[test]
fn the_slash_command_adds_what_the_user_types() {
    let sandbox = Sandbox::new();
    let expand = |arguments: &str| {
        let mut payload = sandbox.payload("UserPromptExpansion");
        payload["command_name"] = "moai-ralph:moai-pivot".into();
        payload["command_args"] = arguments.into();
        let output = sandbox.hook("user-prompt-expansion", &payload).json();
        output["hookSpecificOutput"]["additionalContext"].as_str().expect("context").to_owned()
    };
    let interview = expand("");
    assert!(
        interview.starts_with("[moai-ralph] pivot points") && interview.contains("AskUserQuestion")
    );
    let added = expand("API \"v1\" 는 $(touch pwned) 그대로");
    assert!(added.contains("PP-1 CONFIRMED: API \"v1\" 는 $(touch pwned) 그대로"), "{added}");
    assert!(!sandbox.root().join("pwned").exists());
}
