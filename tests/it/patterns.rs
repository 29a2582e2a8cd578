//! The `search` and `rewrite` commands: matches, exclusions, writes and refusals, also when a write
//! fails or the process is killed halfway.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::support::{Output, PATIENCE, PROGRAM, Sandbox, eventually, finish};

const FILES: [(&str, &str); 4] = [
    ("a.py", "log(1)\nprint('🦀', log(x, log(y)))\n"),
    ("src/b.py", "\u{feff}def f():\r\n    log('한')\r\n"),
    ("src/c.py", "# log(1)\ntext = 'log(2)'\n"),
    ("web/d.ts", "log(1);\n"),
];

fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    for (path, text) in FILES {
        sandbox.write(path, text);
    }
    sandbox
}

fn search(sandbox: &Sandbox, more: &[&str]) -> Output {
    sandbox.run(&[&["search", "log($$$A)", "--lang", "python"], more].concat())
}

fn rewrite(sandbox: &Sandbox, more: &[&str]) -> Output {
    let rewrite = ["rewrite", "log($$$A)", "emit($$$A)", "--lang", "python"];
    sandbox.run(&[&rewrite[..], more].concat())
}

fn assert_untouched(sandbox: &Sandbox) {
    for (path, text) in FILES {
        assert_eq!(sandbox.read(path), text, "{path}");
    }
    assert_nothing_left_over(&sandbox.root());
}

fn assert_nothing_left_over(folder: &PathBuf) {
    for entry in fs::read_dir(folder).expect("readable").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        assert!(!name.starts_with(".moai-ralph"), "left over: {name} in {}", folder.display());
        if entry.path().is_dir() && name != ".git" {
            assert_nothing_left_over(&entry.path());
        }
    }
}

#[test]
fn code_is_found_by_its_shape_and_words_in_texts_are_not() {
    let sandbox = project();
    let output = search(&sandbox, &[]);
    assert_eq!(output.code, 0, "{output:#?}");
    let lines: Vec<&str> = output.stdout.lines().collect();
    let expected = [
        "a.py:1:1: log(1)",
        "a.py:2:13: print('🦀', log(x, log(y)))",
        "a.py:2:20: print('🦀', log(x, log(y)))",
        "src/b.py:2:5: log('한')",
    ];
    assert_eq!(&lines[..4], expected, "{output:#?}");
    assert!(lines[4].starts_with("4 matches in 2 files; 3 of 3 files searched in "), "{lines:?}");

    let document = search(&sandbox, &["--json", "a.py"]).json();
    assert_eq!(document["schema"], "moai-ralph/search@1");
    assert_eq!((&document["status"], &document["files_total"]), (&json!("answered"), &json!(1)));
    let second = &document["matches"][1];
    assert_eq!(second["range"]["start"], json!({"line": 1, "character": 12}), "{document:#}");
    assert_eq!(second["variables"]["A"]["text"], "x, log(y)");
    assert_eq!(second["variables"]["A"]["list"], true);
}

#[test]
fn no_match_is_said_with_what_was_looked_for() {
    let sandbox = project();
    let output = sandbox.run(&["search", "warn($A)", "--lang", "py", "src"]);
    let expected = "no match in 2 files; the pattern is read as call\n";
    assert_eq!((output.code, output.stdout.as_str()), (0, expected), "{output:#?}");
    let output = sandbox.run(&["search", "f($A)", "--lang", "go"]);
    assert_eq!(output.stdout, "no match: there are no files in this language\n");
}

#[test]
fn results_beyond_the_wanted_number_are_counted() {
    let sandbox = project();
    let output = search(&sandbox, &["--max-results", "2"]);
    let last = output.stdout.lines().last().unwrap_or_default();
    assert_eq!(output.stdout.lines().count(), 3, "{output:#?}");
    assert!(last.starts_with("4 matches in 2 files"), "{last}");
    assert!(last.ends_with("2 more not shown: --max-results"), "{last}");
    assert_eq!(search(&sandbox, &["--max-results", "0"]).code, 3);
}

#[test]
fn what_cannot_be_looked_for_is_a_usage_error_with_what_to_do() {
    let sandbox = project();
    let check = |arguments: &[&str], part: &str| {
        let output = sandbox.run(arguments);
        assert_eq!(output.code, 3, "{arguments:?}: {output:#?}");
        assert!(output.stderr.contains(part), "{arguments:?}: {output:#?}");
        let output = sandbox.run(&[arguments, &["--json"]].concat());
        let document = output.json();
        assert_eq!((output.code, &document["status"]), (3, &json!("invalid")), "{document:#}");
        assert!(document["reason"].as_str().is_some_and(|it| it.contains(part)), "{document:#}");
    };
    check(&["search", "", "--lang", "python"], "it is empty");
    check(
        &["search", "f(", "--lang", "python"],
        "`f(` cannot be used: it is not python code at 1:",
    );
    check(&["search", "f(); g()", "--lang", "ts"], "more than one expression or statement");
    check(&["search", "$A", "--lang", "ts"], "matches everything");
    check(&["search", "f()", "--lang", "klingon"], "unknown language klingon; known: bash, c,");
    check(&["rewrite", "f($A)", "g($B)", "--lang", "ts"], "$B is not in the pattern");
    assert_eq!(sandbox.run(&["search", "f()"]).code, 3);
}

#[test]
fn files_that_cannot_be_searched_are_named_and_the_others_count() {
    let sandbox = project();
    sandbox.write(".gitignore", "ignored/\n");
    sandbox.write("ignored/i.py", "log(1)\n");
    sandbox.write(".hidden/h.py", "log(1)\n");
    sandbox.write("node_modules/n.py", "log(1)\n");
    sandbox.write("binary.py", "log(1)\0");
    fs::write(sandbox.path("latin.py"), b"log('\xe9')\n").expect("written");
    sandbox.write("deep.py", &format!("log({}1{})\n", "(".repeat(100_000), ")".repeat(100_000)));
    sandbox.write("huge.py", &"log(1);".repeat(200_000));
    sandbox.write("line.py", &"log(1);".repeat(10_000));
    symlink("..", sandbox.path("src/up")).expect("linked");
    let output = search(&sandbox, &["--json"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let document = output.json();
    let skipped: Vec<String> = document["files_skipped"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| format!("{}: {}", one["path"], one["reason"]).replace('"', ""))
        .collect();
    let expected = [
        "binary.py: binary",
        "deep.py: code nested deeper than 500 levels",
        "huge.py: larger than 1 MiB",
        "latin.py: not UTF-8",
    ];
    assert_eq!(skipped, expected);
    assert_eq!((&document["files_total"], &document["files_checked"]), (&json!(8), &json!(4)));
    assert_eq!(document["files_with_matches"], 3);
    assert_eq!(document["matches_omitted"], 10_004 - 1_000);
    // A skipped file that was requested explicitly leaves the result unmeasured.
    let output = search(&sandbox, &["latin.py", "a.py"]);
    assert_eq!(output.code, 4, "{output:#?}");
    assert!(output.stdout.contains("skipped: latin.py (not UTF-8)\n3 matches"), "{output:#?}");
    assert_eq!(search(&sandbox, &["gone.py"]).code, 4);
    assert_eq!(search(&sandbox, &["ignored"]).code, 0);
}

#[test]
fn files_of_secrets_are_not_shown() {
    let sandbox = project();
    sandbox.write("conf/secrets.json", "{\"key\": 1}\n");
    let output = sandbox.run(&["search", "{\"key\": 1}", "--lang", "json"]);
    let expected = "skipped: conf/secrets.json (usually holds secrets)\nno match in 0 files";
    assert!(output.stdout.starts_with(expected), "{output:#?}");
}

#[test]
fn a_rewrite_is_a_diff_until_it_is_applied() {
    let sandbox = project();
    let output = rewrite(&sandbox, &[]);
    assert_eq!(output.code, 0, "{output:#?}");
    for line in ["--- a/a.py", "-log(1)", "+print('🦀', emit(x, emit(y)))", "+++ b/src/b.py"] {
        assert!(output.stdout.lines().any(|it| it.trim_end() == line), "{line}: {output:#?}");
    }
    let last = output.stdout.lines().last();
    assert_eq!(last, Some("4 edits in 2 files; not written, use --apply"));
    assert_untouched(&sandbox);
    let document = rewrite(&sandbox, &["--json"]).json();
    assert_eq!(document["schema"], "moai-ralph/rewrite@1");
    assert_eq!((&document["status"], &document["edits"]), (&json!("preview"), &json!(4)));
    assert_eq!(document["files"][0]["path"], "a.py");
    assert_untouched(&sandbox);
}

#[test]
fn apply_writes_all_files_and_keeps_what_they_are() {
    let sandbox = project();
    let script = sandbox.path("src/b.py");
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).expect("ours");
    let output = rewrite(&sandbox, &["--apply"]);
    assert_eq!(output.code, 0, "{output:#?}");
    let expected = "edit   a.py\nedit   src/b.py\n4 edits in 2 files written; nothing introduced\n";
    assert_eq!(output.stdout, expected);
    assert_eq!(sandbox.read("a.py"), "emit(1)\nprint('🦀', emit(x, emit(y)))\n");
    assert_eq!(sandbox.read("src/b.py"), "\u{feff}def f():\r\n    emit('한')\r\n");
    let mode = fs::metadata(&script).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o750);
    for (path, text) in &FILES[2..] {
        assert_eq!(sandbox.read(path), *text, "{path}");
    }
    assert_nothing_left_over(&sandbox.root());
    let again = rewrite(&sandbox, &["--apply"]);
    let expected = "nothing to change in 3 files; the pattern is read as call\n";
    assert_eq!((again.code, again.stdout.as_str()), (0, expected));
}

#[test]
fn what_a_rewrite_introduces_is_told() {
    let sandbox = project();
    let arguments = ["rewrite", "log($A)", "eval($A)", "--lang", "python", "a.py", "--apply"];
    let output = sandbox.run(&arguments);
    assert_eq!(output.code, 1, "{output:#?}");
    assert!(output.stdout.contains("2 edits in 1 file written; introduced "), "{output:#?}");
    assert!(output.stdout.contains("error a.py:2:"), "{output:#?}");
}

#[test]
fn a_rewrite_that_would_break_one_file_changes_none() {
    let sandbox = project();
    sandbox.write("src/z.py", "x = [log(1) for y in z]\n");
    let arguments = ["rewrite", "log($A)", "del $A", "--lang", "python", "--apply"];
    let output = sandbox.run(&arguments);
    assert_eq!(output.code, 1, "{output:#?}");
    assert!(output.stderr.contains("would no longer parse"), "{output:#?}");
    assert_untouched(&sandbox);
    let document = sandbox.run(&[&arguments[..], &["--json"]].concat()).json();
    assert_eq!(
        (&document["status"], &document["kind"]),
        (&json!("refused"), &json!("syntax_error"))
    );
    // A preview is refused as well: there is nothing that could be applied.
    assert_eq!(sandbox.run(&arguments[..5]).code, 1);
}

#[test]
fn files_that_are_not_the_projects_to_edit_stay() {
    let sandbox = Sandbox::new();
    sandbox.write(".gitignore", "made.py\n");
    let kept = [
        ("vendor/v.py", "log(1)\n"),
        ("g.py", "# Code generated by x. DO NOT EDIT.\nlog(1)\n"),
        ("made.py", "log(1)\n"),
    ];
    for (path, text) in kept {
        sandbox.write(path, text);
    }
    sandbox.write("a.py", "log(1)\n");
    let output = rewrite(&sandbox, &["--apply", ".", "made.py"]);
    assert_eq!(output.code, 4, "{output:#?}");
    for reason in
        ["g.py (marked as generated)", "made.py (ignored by git)", "vendor/v.py (in vendor/)"]
    {
        assert!(output.stdout.contains(&format!("skipped: {reason}\n")), "{reason}: {output:#?}");
    }
    for (path, text) in kept {
        assert_eq!(sandbox.read(path), text, "{path}");
    }
    assert_eq!(sandbox.read("a.py"), "emit(1)\n");
    assert_eq!(rewrite(&sandbox, &["--apply"]).code, 0);
}

#[test]
fn when_one_file_cannot_be_written_no_byte_changes() {
    let sandbox = Sandbox::new();
    let small = "log(1)\n".to_owned();
    // Afterwards larger than any file of this process may become.
    let large = "log(1)\n".repeat(4_000);
    let files = [("a.py", &small), ("b.py", &large), ("c.py", &small)];
    for (path, text) in files {
        sandbox.write(path, text);
    }
    let longer = format!("emit('{}')", "x".repeat(500));
    let mut limited = Command::new("sh");
    sandbox.prepare(&mut limited);
    // Without the signal, a write beyond the limit fails like one on a full disk.
    limited.args(["-c", "trap '' 25; ulimit -f 2000; exec \"$0\" \"$@\"", PROGRAM]);
    limited.args(["rewrite", "log(1)", &longer, "--lang", "python", "--apply"]);
    let output = finish(&mut limited, "");
    assert_eq!(output.code, 1, "{output:#?}");
    assert!(output.stderr.contains("b.py: "), "{output:#?}");
    assert!(output.stderr.contains("all files were restored"), "{output:#?}");
    for (path, text) in files {
        assert!(sandbox.read(path) == *text, "{path} is not as it was");
    }
    assert_nothing_left_over(&sandbox.root());
}

const KILLS: u64 = 10;
const KILLED_FILES: usize = 40;

#[test]
fn killed_in_the_middle_all_files_are_old_or_all_are_new() {
    for kill in 0..KILLS {
        let sandbox = Sandbox::new();
        for number in 0..KILLED_FILES {
            sandbox.write(&format!("f{number}.py"), "log(1)\n");
        }
        let mut child = sandbox
            .program()
            .args(["rewrite", "log($A)", "emit($A)", "--lang", "python", "--apply"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the program starts");
        eventually(PATIENCE, || records(&sandbox).or_else(|| ended(&mut child)));
        // The moment of the kill is what this test varies, so the wait is fixed.
        let (begun, after) = (Instant::now(), Duration::from_millis(kill * 2));
        while begun.elapsed() < after {
            std::hint::spin_loop();
        }
        child.kill().expect("the child is ours");
        child.wait().expect("the child is ours");
        // Whatever comes next settles it.
        assert_eq!(sandbox.run(&["search", "emit($A)", "--lang", "python"]).code, 0);
        let texts: Vec<String> =
            (0..KILLED_FILES).map(|number| sandbox.read(&format!("f{number}.py"))).collect();
        let first = texts[0].clone();
        assert!(["log(1)\n", "emit(1)\n"].contains(&first.as_str()), "{first}");
        assert!(texts.iter().all(|text| *text == first), "a mixture: {texts:?}");
        assert_nothing_left_over(&sandbox.root());
    }
}

/// True once a set of changes has begun to be made.
fn records(sandbox: &Sandbox) -> Option<()> {
    let projects = fs::read_dir(sandbox.base().join("state/projects")).ok()?;
    projects.flatten().any(|project| project.path().join("changes/lock").exists()).then_some(())
}

fn ended(child: &mut std::process::Child) -> Option<()> {
    child.try_wait().expect("the child is ours").map(drop)
}

fn call(client: &mut Client, tool: &str, arguments: &Value) -> Value {
    let answer = client.tool(tool, arguments);
    assert!(answer["error"].is_null(), "{answer:#}");
    answer["result"].clone()
}

#[test]
fn an_agent_searches_rewrites_and_scans_with_tools() {
    let sandbox = project();
    let mut client = Client::start(&sandbox);
    let answer =
        call(&mut client, "search_code", &json!({"pattern": "log($$$A)", "lang": "python"}));
    let values = &answer["structuredContent"];
    let first = json!({"path": "a.py", "line": 1, "column": 1, "text": "log(1)"});
    assert_eq!(values["matches"][0], first, "{answer:#}");
    let arguments = json!({"pattern": "log($$$A)", "lang": ["ts", "py"], "max_results": 1});
    let answer = call(&mut client, "search_code", &arguments);
    assert_eq!(answer["structuredContent"]["matches_omitted"], 4, "{answer:#}");

    let mut arguments = json!({"pattern": "log($A)", "replacement": "eval($A)", "lang": "python", "paths": ["a.py"]});
    let answer = call(&mut client, "rewrite", &arguments);
    let values = &answer["structuredContent"];
    assert_eq!((&values["written"], &values["edits"]), (&json!(false), &json!(2)), "{answer:#}");
    assert!(values["diff"].as_str().is_some_and(|it| it.contains("+eval(1)")), "{answer:#}");
    let text = answer["content"][0]["text"].as_str().expect("a text");
    assert!(text.ends_with("not written, set dry_run to false"), "{text}");
    assert_untouched(&sandbox);
    arguments["dry_run"] = json!(false);
    let answer = call(&mut client, "rewrite", &arguments);
    let values = &answer["structuredContent"];
    assert_eq!((&values["written"], &values["files"]), (&json!(true), &json!(["a.py"])));
    assert_eq!(values["check"]["introduced"][0]["path"], "a.py", "{answer:#}");
    assert_eq!(sandbox.read("a.py"), "eval(1)\nprint('🦀', log(x, eval(y)))\n");

    let answer = call(&mut client, "scan", &json!({"paths": ["a.py"]}));
    let values = &answer["structuredContent"];
    assert_eq!((&values["verdict"], &values["files_checked"]), (&json!("dirty"), &json!(1)));
    assert_eq!(values["findings"][0]["sensor"], "scan", "{answer:#}");
    client.end();
}

#[test]
fn a_tool_call_that_makes_no_sense_is_an_error_that_helps() {
    let sandbox = project();
    let mut client = Client::start(&sandbox);
    let check = |client: &mut Client, tool: &str, arguments: &Value, part: &str| {
        let answer = call(client, tool, arguments);
        assert_eq!(answer["isError"], true, "{answer:#}");
        let text = answer["content"][0]["text"].as_str().expect("a text");
        assert!(text.contains(part), "{text}");
    };
    let broken = json!({"pattern": "f(", "lang": "python"});
    check(&mut client, "search_code", &broken, "it is not python code at 1:");
    check(&mut client, "search_code", &json!({"pattern": "f()"}), "lang");
    let unknown = json!({"pattern": "f($A)", "replacement": "g($B)", "lang": "python"});
    check(&mut client, "rewrite", &unknown, "$B is not in the pattern");
    let both = json!({"paths": ["a.py"], "changed": true});
    check(&mut client, "scan", &both, "either paths or changed");
    let too_many = json!({"pattern": "f()", "lang": "python", "max_results": 5000});
    check(&mut client, "search_code", &too_many, "max_results");
    client.end();
}

/// Rules in a separate folder: a safe fix, and one that is not marked as safe.
fn fix_rules(sandbox: &Sandbox) {
    let rule = |id: &str, pattern: &str, fix: &str, more: &str| {
        let head = format!("id: {id}\nlanguage: python\nseverity: warning\nmessage: use {fix}\n");
        let text = format!("{head}rule: {{pattern: '{pattern}'}}\nfix: '{fix}'\n{more}");
        sandbox.write(&format!("own/{id}.yml"), &text);
    };
    let safe = "metadata: {fix: safe}\n";
    rule("own-log", "log($$$A)", "emit($$$A)", safe);
    rule("own-print", "print($$$A)", "show($$$A)", "");
}

#[test]
fn fixes_are_a_diff_until_they_are_applied_and_only_safe_ones_are_made() {
    let sandbox = project();
    fix_rules(&sandbox);
    let scan = ["scan", "--only-rules", "own", "--fix"];
    let output = sandbox.run(&scan);
    assert_eq!(output.code, 0, "{output:#?}");
    assert!(output.stdout.contains("+print('🦀', emit(x, emit(y)))\n"), "{output:#?}");
    let end = "not changed: 1 fix not marked safe: --unsafe-fixes\n4 edits in 2 files; not written, use --apply\n";
    assert!(output.stdout.ends_with(end), "{output:#?}");
    assert_untouched(&sandbox);

    let output = sandbox.run(&[&scan[..], &["--apply"]].concat());
    assert_eq!(output.code, 0, "{output:#?}");
    let written = "4 edits in 2 files written; nothing introduced; fixed 4\n";
    assert!(output.stdout.ends_with(written), "{output:#?}");
    assert_eq!(sandbox.read("a.py"), "emit(1)\nprint('🦀', emit(x, emit(y)))\n");
    assert_eq!(sandbox.read("src/b.py"), "\u{feff}def f():\r\n    emit('한')\r\n");
    let output = sandbox.run(&[&scan[..], &["--apply", "--unsafe-fixes", "--json"]].concat());
    let document = output.json();
    assert_eq!((output.code, &document["status"]), (0, &json!("applied")), "{document:#}");
    assert_eq!(sandbox.read("a.py"), "emit(1)\nshow('🦀', emit(x, emit(y)))\n");
    let output = sandbox.run(&scan);
    assert!(output.stdout.starts_with("nothing to change in "), "{output:#?}");
}

#[test]
fn a_fix_that_does_harm_changes_no_file() {
    let sandbox = project();
    fix_rules(&sandbox);
    let check = |id: &str, fix: &str, part: &str| {
        let head = format!("id: {id}\nlanguage: python\nseverity: error\nmessage: x\n");
        let rule = format!("metadata: {{fix: safe}}\nrule: {{pattern: 'log($A)'}}\nfix: '{fix}'\n");
        sandbox.write("harm/x.yml", &format!("{head}{rule}"));
        let output = sandbox.run(&["scan", "--only-rules", "harm", "--fix", "--apply"]);
        assert_eq!(output.code, 1, "{output:#?}");
        assert!(output.stderr.contains(part), "{output:#?}");
        assert_untouched(&sandbox);
    };
    check("breaks", "log($A", "would no longer parse");
    check("grows", "log(log($A))", "still not stable after 10 rounds");
    let senseless: [&[&str]; 4] = [
        &["--apply"],
        &["--fix", "--stdin", "--lang", "py"],
        &["--fix", "--baseline", "known.json"],
        &["--fix", "--format", "sarif"],
    ];
    for arguments in senseless {
        assert_eq!(sandbox.run(&[&["scan"], arguments].concat()).code, 3, "{arguments:?}");
    }
}
