//! Rules of a project: where they are found, that changes are picked up, and how errors in them are
//! reported.

use serde_json::Value;

use crate::support::Sandbox;

const OPTIONS: &str = ".moai/config/sections/ralph.yaml";
const RULE: &str =
    "id: own\nlanguage: Python\nseverity: error\nmessage: leave it\nrule:\n  pattern: bad($X)\n";

/// A project with one file of each language that the tests use.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", "bad(1)\nprint(eval(word))\n");
    sandbox
}

/// Checks the project by the scan alone.
fn report(sandbox: &Sandbox) -> Value {
    sandbox.run(&["check", "--all", "--no-lsp", "--json"]).json()
}

fn codes(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().filter_map(|finding| finding["code"].as_str()).collect()
}

/// The scan's verdict and reason.
fn verdict(report: &Value) -> (&str, String) {
    let scan = &report["sensors"][0];
    (scan["verdict"].as_str().unwrap_or_default(), scan["reason"].to_string())
}

#[test]
fn rules_of_a_project_stand_beside_the_built_in_ones_and_changes_are_noticed() {
    let sandbox = project();
    assert_eq!(codes(&report(&sandbox)), ["py-eval"]);
    sandbox.write(".moai/rules/team/own.yml", RULE);
    assert_eq!(codes(&report(&sandbox)), ["own", "py-eval"]);
    sandbox.write(".moai/rules/team/own.yml", &RULE.replace("bad", "worse"));
    assert_eq!(codes(&report(&sandbox)), ["py-eval"]);
    let told = sandbox.tool_write("app.py", "worse(1)\n").context();
    assert!(told.contains("leave it"), "{told}");
    std::fs::remove_file(sandbox.root().join(".moai/rules/team/own.yml")).expect("removed");
    assert_eq!(codes(&report(&sandbox)), Vec::<&str>::new());
}

#[test]
fn rule_folders_outside_the_root_are_named_and_not_read() {
    let sandbox = project();
    let outside = sandbox.base().join("outside");
    std::fs::create_dir_all(&outside).expect("ours");
    std::fs::write(outside.join("own.yml"), RULE).expect("ours");
    sandbox.write("sgconfig.yml", "ruleDirs: [../outside, linked]\nutilDirs: [/etc]\n");
    std::os::unix::fs::symlink(&outside, sandbox.root().join("linked")).expect("ours");
    let found = report(&sandbox);
    assert_eq!(codes(&found), ["py-eval"]);
    let reason = found["sensors"][0]["reason"].to_string();
    assert!(reason.contains("outside the project"), "{found:#}");
}

#[test]
fn what_sgconfig_names_counts() {
    let sandbox = project();
    let config = "ruleDirs: [lint]\nutilDirs: [utils]\nlanguageGlobs: { python: [\"*.star\"] }\n\
                  languageInjections:\n- hostLanguage: js\n  rule: { pattern: css`$CONTENT` }\n  injected: css\n\
                  customLanguages: { mojo: { libraryPath: mojo.so, extensions: [mojo] } }\n";
    sandbox.write("sgconfig.yml", config);
    sandbox.write(
        "utils/call.yml",
        "id: call-of\nlanguage: python\narguments: [NAME]\nrule:\n  kind: call\n  has: { field: function, matches: NAME }\n",
    );
    let rule = "id: own\nlanguage: python\nseverity: error\nrule:\n  matches: { call-of: { NAME: { regex: ^bad$ } } }\n";
    sandbox.write("lint/own.yml", rule);
    sandbox.write(
        "lint/css.yml",
        "id: red\nlanguage: css\nseverity: error\nrule: { pattern: \"a { color: red; }\" }\n",
    );
    sandbox.write("build.star", "bad(1)\n");
    sandbox.write("style.js", "const a = 1;\nconst b = css`a { color: red; }`;\n");
    let first = report(&sandbox);
    assert_eq!(codes(&first), ["own", "py-eval", "own", "red"]);
    let red = &first["findings"][3];
    let start = serde_json::json!({"line": 1, "character": 14});
    assert_eq!((&red["path"], &red["range"]["start"]), (&"style.js".into(), &start));
    assert_eq!(first["files_skipped"], serde_json::json!([]));
    // A language whose grammar is native code: its files are not measured.
    sandbox.write("x.mojo", "fn main(): pass\n");
    let second = report(&sandbox);
    let skipped = &second["files_skipped"][0];
    assert_eq!(skipped["path"], "x.mojo", "{second:#}");
    assert!(skipped["reason"].to_string().contains("grammar of mojo"), "{second:#}");
}

#[test]
fn a_broken_rule_of_a_project_is_named_and_nothing_is_clean() {
    let sandbox = project();
    sandbox.write("app.py", "x = 1\n");
    sandbox.write(
        ".moai/rules/own.yml",
        &format!("{RULE}---\nid: broken\nlanguage: python\nrule: {{ kind: nothing }}\n"),
    );
    let output = sandbox.run(&["check", "--all", "--no-lsp", "--json"]);
    let report = output.json();
    let (verdict, reason) = verdict(&report);
    assert_eq!((output.code, verdict), (4, "unmeasured"));
    assert!(reason.contains(".moai/rules/own.yml:10: rule `broken`"), "{reason}");
    assert!(reason.contains("nothing"), "{reason}");
}

#[test]
fn options_add_folders_and_switch_rules_off_or_weigh_them() {
    let sandbox = project();
    sandbox.write("lint/own.yml", RULE);
    let with = |options: &str| {
        sandbox.write(OPTIONS, &format!("ralph: {{scan: {options}}}\n"));
        report(&sandbox)
    };
    assert_eq!(codes(&with("{rule_dirs: [lint]}")), ["own", "py-eval"]);
    assert_eq!(codes(&with("{rule_dirs: [lint], disable: [py-eval]}")), ["own"]);
    assert_eq!(codes(&with("{rule_dirs: [lint], severity: {own: off}}")), ["py-eval"]);
    let weighed = with("{severity: {py-eval: info}}");
    assert_eq!(weighed["findings"][0]["severity"], "info");
    assert_eq!(verdict(&weighed).0, "clean");
    assert_eq!(codes(&with("{rule_dirs: [nowhere]}")), ["py-eval"]);
    sandbox.write("app.py", "x = 1\n");
    let clean = report(&sandbox);
    let (verdict, reason) = verdict(&clean);
    assert_eq!(verdict, "unmeasured");
    assert!(reason.contains("nowhere: no such folder"), "{reason}");
}

#[test]
fn a_scan_of_many_files_is_remembered_and_damage_is_not_minded() {
    let sandbox = project();
    for number in 0..60 {
        sandbox.write(&format!("src/m{number}.py"), &format!("print(eval(word{number}))\n"));
    }
    let first = report(&sandbox);
    assert_eq!(codes(&first).len(), 61);
    let kept = kept_files(&sandbox);
    let [file] = kept.as_slice() else { panic!("{kept:?}") };
    let same = |now: Value| assert_eq!(now["findings"], first["findings"]);
    same(report(&sandbox));
    std::fs::write(file, "not ours").expect("written");
    same(report(&sandbox));
    assert_ne!(std::fs::read(file).expect("read"), b"not ours");
    sandbox.write("src/m7.py", "word = 1\n");
    assert_eq!(codes(&report(&sandbox)).len(), 60);
}

/// The files with results of scans below the state folder.
fn kept_files(sandbox: &Sandbox) -> Vec<std::path::PathBuf> {
    let projects = sandbox.base().join("state/projects").read_dir().expect("projects").flatten();
    let files = projects.filter_map(|project| project.path().read_dir().ok()).flatten().flatten();
    let is_kept = |path: &std::path::PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("scans-"))
    };
    files.map(|file| file.path()).filter(is_kept).collect()
}
