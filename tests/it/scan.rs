//! `scan` and the formats and baselines that `check` shares with it: options, exit codes, output.

use std::fs;
use std::process::Stdio;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::{CHECKOUT, Output, PATIENCE, Sandbox, eventually};

/// A project with one error, one warning and a clean file.
fn project() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("app.py", "import os\n\n\ndef run(code, seen=[]):\n    return eval(code)\n");
    sandbox.write("lib/clean.py", "def add(a, b):\n    return a + b\n");
    sandbox
}

/// A rule that finds `forbidden()`.
fn rule(id: &str, severity: &str) -> String {
    format!(
        "id: {id}\nlanguage: python\nseverity: {severity}\nmessage: do not call it\n\
         rule: {{ pattern: forbidden() }}\n"
    )
}

fn scan(sandbox: &Sandbox, arguments: &[&str], code: i32) -> Output {
    let output = sandbox.run(&[&["scan"], arguments].concat());
    assert_eq!(output.code, code, "{arguments:?}: {output:#?}");
    output
}

/// The JSON document, whose counts of files agree.
fn report(sandbox: &Sandbox, arguments: &[&str], code: i32) -> Value {
    let report = scan(sandbox, &[arguments, &["--json"]].concat(), code).json();
    assert_eq!(report["schema"], "moai-ralph/report@1");
    let count = |key: &str| report[key].as_u64().unwrap_or(u64::MAX);
    let skipped = report["files_skipped"].as_array().map_or(0, Vec::len) as u64;
    assert_eq!(count("files_checked") + skipped, count("files_total"), "{report:#}");
    report
}

/// Path and rule of every finding.
fn found(report: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().expect("a report lists its findings");
    findings.iter().map(|it| (text(&it["path"]), text(&it["code"]))).collect()
}

fn codes(report: &Value) -> Vec<String> {
    found(report).into_iter().map(|(_, code)| code).collect()
}

#[test]
fn a_finding_is_shown_with_its_line_and_only_the_scan_is_asked() {
    let sandbox = project();
    let output = scan(&sandbox, &[], 1);
    let place = "app.py:5:12 error py-eval (CWE-95): ";
    assert!(output.stdout.contains(place), "{output:#?}");
    let excerpt = "     5 |     return eval(code)\n       |            ^^^^^^^^^^\n";
    assert!(output.stdout.contains(excerpt), "{output:#?}");
    assert!(output.stdout.contains("1 error, 1 warning; 2 of 2 files checked"), "{output:#?}");
    assert_eq!(output.stderr, "", "no bar where there is no terminal");
    let report = report(&sandbox, &[], 1);
    assert_eq!(report["sensors"].as_array().map(Vec::len), Some(1), "{report:#}");
    assert_eq!(report["sensors"][0]["name"], "scan");
    assert_eq!(report["verdict"], "dirty");
    let status = sandbox.run(&["daemon", "status"]);
    assert!(status.stdout.contains("no daemon"), "none is started for a scan: {status:#?}");
}

#[test]
fn every_severity_and_gap_has_its_exit_code() {
    let sandbox = project();
    scan(&sandbox, &["lib"], 0);
    scan(&sandbox, &["--fail-on", "never"], 0);
    fs::write(sandbox.path("latin.py"), b"# \xe9\n").expect("ours");
    scan(&sandbox, &["app.py", "latin.py", "--fail-on", "never"], 4);
    fs::remove_file(sandbox.path("latin.py")).expect("ours");
    sandbox.write("app.py", "def run(seen=[]):\n    return seen\n");
    scan(&sandbox, &[], 0);
    scan(&sandbox, &["--fail-on", "warning"], 1);
    let gone = report(&sandbox, &["none.py", "lib"], 4);
    assert_eq!(gone["files_skipped"][0]["reason"], "does not exist");
    scan(&sandbox, &["none.py", "lib", "--allow-unmeasured"], 0);
    sandbox.write("notes.txt", "x");
    let other = report(&sandbox, &["notes.txt"], 4);
    assert!(other["files_skipped"][0]["reason"].as_str().is_some_and(|it| it.contains("no rule")));
    for wrong in [
        &["--format", "xml"][..],
        &["--fail-on", "hint"],
        &["--changed", "lib"],
        &["--lang", "python"],
        &["--rules", "none"],
        &["--only-rules", "lib"],
        &["--rules", "lib", "--only-rules", "lib"],
        &["--baseline", "none.json"],
        &["--baseline", "app.py"],
        &["--write-baseline", "app.py"],
    ] {
        let output = scan(&sandbox, wrong, 3);
        assert_eq!(output.stdout, "", "{wrong:?}");
        assert!(!output.stderr.is_empty(), "{wrong:?}");
    }
    assert!(sandbox.read("app.py").starts_with("def run"), "no other file is overwritten");
}

#[test]
fn odd_files_are_skipped_and_files_with_secrets_left_out() {
    let sandbox = project();
    sandbox.write("rules/yaml.yml", "id: y\nlanguage: yaml\nrule: { kind: block_mapping }\n");
    let rules = ["--rules", "rules"];
    fs::write(sandbox.path("binary.py"), [0_u8, 159, 146]).expect("the sandbox is writable");
    fs::write(sandbox.path("latin.py"), b"caf\xe9").expect("the sandbox is writable");
    sandbox.write("big.py", &"x = 1\n".repeat(200_000));
    let odd = report(&sandbox, &[], 1);
    let reasons: Vec<(&str, &str)> = odd["files_skipped"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (one["path"].as_str().unwrap(), one["reason"].as_str().unwrap()))
        .collect();
    let expected =
        [("big.py", "larger than 1 MiB"), ("binary.py", "binary"), ("latin.py", "not UTF-8")];
    assert_eq!(reasons, expected);
    for name in ["binary.py", "latin.py", "big.py", "app.py"] {
        fs::remove_file(sandbox.path(name)).expect("it was written");
    }
    sandbox.write("credentials.yaml", "password: x\n");
    let left_out = report(&sandbox, &rules, 0);
    assert_eq!(left_out["verdict"], "clean", "left out by configuration is no gap");
    assert_eq!(left_out["files_skipped"][0]["path"], "credentials.yaml");
    let all = report(&sandbox, &[&rules[..], &["--include-sensitive"]].concat(), 0);
    assert!(found(&all).contains(&("credentials.yaml".to_owned(), "y".to_owned())), "{all:#}");
    let text = scan(&sandbox, &[&rules[..], &["credentials.yaml"]].concat(), 4).stdout;
    assert!(text.contains("excluded: credentials.yaml"), "{text}");
}

/// The parser alone would take such a text seconds, and longer ones minutes.
#[test]
fn a_text_that_takes_too_long_to_parse_is_unmeasured() {
    let sandbox = project();
    let text = format!("eval(code)\n{}", "\\\n".repeat(40_000));
    sandbox.write("slow.py", &text);
    let report = report(&sandbox, &["slow.py"], 4);
    let expected = json!([{"path": "slow.py", "reason": "parsing took too long"}]);
    assert_eq!(report["files_skipped"], expected);
    let feedback = sandbox.tool_write("slow.py", &text).context();
    assert!(feedback.contains("parsing took too long"), "{feedback}");
}

/// The parser cannot be cancelled at the end of such a text: C takes minutes and gigabytes.
#[test]
fn a_text_whose_parsing_cannot_be_cancelled_costs_no_more_than_a_worker() {
    let sandbox = project();
    let (in_c, in_bash) = ("x => ".repeat(12_000), "a|".repeat(30_000));
    sandbox.write("hostile.c", &in_c);
    sandbox.write("hostile.sh", &in_bash);
    let report = report(&sandbox, &[], 1);
    let skipped = report["files_skipped"].as_array().expect("a list");
    let paths: Vec<&str> = skipped.iter().filter_map(|one| one["path"].as_str()).collect();
    assert_eq!(paths, ["hostile.c", "hostile.sh"]);
    assert!(found(&report).iter().any(|(path, _)| path == "app.py"), "{report:#}");
    let feedback = sandbox.tool_write("hostile.c", &in_c).context();
    assert!(feedback.contains("not measured: scan"), "{feedback}");
    // The same daemon serves on, for the guard too.
    sandbox.commit();
    sandbox.write("slow.py", &"\\\n".repeat(40_000));
    sandbox.write("app.py", "def run(code):\n    return eval(code)  # type: ignore\n");
    let guarded = sandbox.run(&["guard", "--json"]);
    assert!(guarded.stdout.contains("slow.py"), "{guarded:#?}");
    assert!(guarded.stdout.contains("\"app.py\""), "{guarded:#?}");
}

/// A project with a rule whose one attempt compares each number with each pair of numbers before it, and a
/// file in which that takes minutes.
fn with_slow_rule() -> Sandbox {
    let sandbox = project();
    let rule = "id: slow\nlanguage: python\nmessage: m\nrule:\n  kind: module\n  has:\n    stopBy: end\n    \
                kind: integer\n    follows:\n      stopBy: end\n      kind: integer\n      follows: { stopBy: \
                end, regex: never }\n";
    sandbox.write(".moai/rules/slow.yml", rule);
    sandbox.write("numbers.py", &format!("x = [{}]  # never\n", "1, ".repeat(5_000)));
    sandbox
}

#[test]
fn a_rule_whose_attempt_takes_minutes_is_unmeasured() {
    let sandbox = with_slow_rule();
    let report = report(&sandbox, &[], 1);
    let expected = json!([{"path": "numbers.py", "reason": "scanning took too long"}]);
    assert_eq!(report["files_skipped"], expected);
    assert!(found(&report).iter().any(|(path, _)| path == "app.py"), "{report:#}");
}

#[test]
fn a_worker_that_somebody_kills_is_no_fault_of_the_text() {
    let sandbox = with_slow_rule();
    let mut command = sandbox.program();
    command.args(["scan", "numbers.py", "--format", "json"]).stdout(Stdio::piped());
    let scanning = command.spawn().expect("the program starts");
    let worker = eventually(PATIENCE, || worker_of(scanning.id())).expect("it has a worker");
    kill_process(worker, Signal::KILL).expect("it is ours");
    let output = scanning.wait_with_output().expect("it ends");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(told.contains("no worker process: the process was killed"), "{told}");
    let again = report(&sandbox, &["numbers.py"], 4);
    assert_eq!(again["files_skipped"][0]["reason"], "scanning took too long", "{again:#}");
}

/// The scan worker that a process has started.
fn worker_of(process: u32) -> Option<Pid> {
    let entries = fs::read_dir("/proc").expect("it is mounted").flatten();
    let mut ids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let is_worker = |id: &i32| {
        let read =
            |name: &str| fs::read_to_string(format!("/proc/{id}/{name}")).unwrap_or_default();
        let parent = format!(" {process} ");
        let stat = read("stat");
        let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        after_name.get(2..).is_some_and(|rest| rest.starts_with(&parent))
            && read("cmdline").contains("scan-worker")
    };
    ids.find(is_worker).and_then(Pid::from_raw)
}

/// YAML nested deeper than its grammar can record, so that the grammar aborts the process.
fn aborting_yaml() -> String {
    format!("{}a", "- ".repeat(300))
}

#[test]
fn a_text_that_aborts_a_grammar_ends_a_worker_only() {
    let sandbox = project();
    let text = format!("foo: 1\nbar:\n  {}\n", aborting_yaml());
    assert!(text.len() < 1024, "short texts abort it, too");
    sandbox.write("deep.yaml", &text);
    sandbox.write("plain.yaml", "foo: 2\n");
    let searched = sandbox.run(&["search", "foo: $A", "--lang", "yaml"]);
    assert!(searched.stdout.contains("plain.yaml:1"), "{searched:#?}");
    assert!(searched.stdout.contains("deep.yaml"), "{searched:#?}");
    let rewritten = sandbox.run(&["rewrite", "foo: $A", "foo: [$A]", "--lang", "yaml", "--apply"]);
    assert!(rewritten.stdout.contains("plain.yaml"), "{rewritten:#?}");
    assert_eq!(sandbox.read("deep.yaml"), text);
    assert_eq!(sandbox.read("plain.yaml"), "foo: [2]\n");
    let refused = sandbox.run(&["search", "--lang", "yaml", "--", &aborting_yaml()]);
    assert_eq!(refused.code, 3, "{refused:#?}");
    assert!(refused.stderr.contains("the parser crashed"), "{refused:#?}");
}

#[test]
fn rules_of_a_clone_that_abort_or_occupy_a_grammar_end_no_daemon() {
    let sandbox = project();
    sandbox.hook("session-start", &sandbox.payload("SessionStart-startup"));
    let daemon = || sandbox.run(&["daemon", "status", "--json"]).json()["pid"].clone();
    let pid = eventually(PATIENCE, || Some(daemon()).filter(Value::is_u64)).expect("it runs");
    let rule = |id: &str, rule: &str| format!("id: {id}\nlanguage: yaml\nmessage: m\n{rule}\n");
    let pattern = format!("rule: {{ pattern: '{}' }}", aborting_yaml());
    sandbox.write("sgconfig.yml", "ruleDirs: [rules]\nutilDirs: [utils]\n");
    sandbox.write("rules/good.yml", &rule("good", "severity: error\nrule: { pattern: 'a: $X' }"));
    sandbox.write("utils/u.yml", &rule("u", &pattern));
    let told = || {
        // On a busy machine the report comes later.
        sandbox.tool_write("a.yaml", "a: 1\n");
        sandbox.run(&["check", "a.yaml"]).stdout
    };
    let report = told();
    assert!(report.contains("good"), "the other rules are used: {report}");
    assert!(report.contains("utils/u.yml"), "{report}");
    fs::remove_file(sandbox.path("utils/u.yml")).expect("ours");
    sandbox.write("rules/bad.yml", &rule("bad", &pattern));
    let report = told();
    assert!(report.contains("good") && report.contains("rules/bad.yml"), "{report}");
    fs::remove_file(sandbox.path("rules/bad.yml")).expect("ours");
    let injection = format!("- hostLanguage: yaml\n  injected: bash\n  {pattern}\n");
    sandbox.write("sgconfig.yml", &format!("ruleDirs: [rules]\nlanguageInjections:\n{injection}"));
    let report = told();
    assert!(report.contains("good") && report.contains("sgconfig.yml"), "{report}");
    // Each of these patterns takes a third of a second.
    let occupying = "a=>".repeat(650);
    let rules = (0..200)
        .map(|at| rule(&format!("s{at}"), &format!("rule: {{ pattern: '{at} {occupying}' }}")));
    let slow = rules.map(|rule| rule.replace("yaml", "java")).collect::<Vec<_>>().join("---\n");
    sandbox.write("sgconfig.yml", "ruleDirs: [rules]\n");
    sandbox.write("rules/slow.yml", &slow);
    let report = told();
    assert!(report.contains("took too long"), "{report}");
    assert_eq!(daemon(), pid, "the same daemon");
}

#[test]
fn a_pattern_that_is_too_long_to_be_parsed_is_a_fault_of_its_rule() {
    let sandbox = project();
    let rule = |pattern: &str| {
        format!("id: own\nlanguage: c\nmessage: m\nrule: {{ any: [{{ pattern: '{pattern}' }}] }}\n")
    };
    sandbox.write(".moai/rules/own.yml", &rule(&"x => ".repeat(12_000)));
    sandbox.write("a.c", "int x;\n");
    let report = report(&sandbox, &["a.c"], 4);
    assert!(report.to_string().contains("a pattern is longer than 2048 bytes"), "{report:#}");
    let searched = sandbox.run(&["search", &"x => ".repeat(12_000), "--lang", "c"]);
    assert!(searched.stderr.contains("longer than 2048 bytes"), "{searched:#?}");
}

#[test]
fn changed_files_alone_are_scanned() {
    let sandbox = project();
    sandbox.commit();
    let nothing = scan(&sandbox, &["--changed"], 0);
    assert!(nothing.stderr.contains("differs from HEAD"), "{nothing:#?}");
    sandbox.write("lib/clean.py", "def add(a, b):\n    return eval(a)\n");
    sandbox.write("new.py", "x = 1\n");
    let changed = report(&sandbox, &["--changed"], 1);
    assert_eq!(changed["files_total"], 2, "{changed:#}");
    assert_eq!(found(&changed), [("lib/clean.py".to_owned(), "py-eval".to_owned())]);
}

#[test]
fn rules_are_added_or_replace_the_built_in_ones() {
    let sandbox = project();
    sandbox.write("app.py", "forbidden()\neval(x)\n");
    sandbox.write("more/one.yml", &rule("no-forbidden", "error"));
    sandbox.write("other/two.yaml", &rule("no-forbidden-2", "warning"));
    let added = report(&sandbox, &["--rules", "more", "--rules", "other"], 1);
    let mut ids = codes(&added);
    ids.sort();
    assert_eq!(ids, ["no-forbidden", "no-forbidden-2", "py-eval"]);
    let only = report(&sandbox, &["--only-rules", "other"], 0);
    assert_eq!(codes(&only), ["no-forbidden-2"]);
    sandbox.write("more/broken.yml", "id: broken\nlanguage: python\nrule: { pattern: [] }\n");
    let output = scan(&sandbox, &["--only-rules", "more", "lib"], 4);
    assert!(output.stderr.contains("more/broken.yml"), "{output:#?}");
    assert!(output.stdout.contains("not measured: scan"), "{output:#?}");
}

#[test]
fn a_text_on_stdin_is_scanned_as_the_file_it_stands_for() {
    let sandbox = project();
    let given = |arguments: &[&str], text: &str| {
        sandbox.run_with(&[&["scan", "--stdin", "--json"], arguments].concat(), text)
    };
    let python = given(&["--lang", "python"], "eval(x)\n");
    assert_eq!(python.code, 1, "{python:#?}");
    assert_eq!(found(&python.json()), [("stdin.py".to_owned(), "py-eval".to_owned())]);
    let named = given(&["--stdin-path", "src/x.py"], "eval(x)\n");
    assert_eq!(found(&named.json()), [("src/x.py".to_owned(), "py-eval".to_owned())]);
    assert_eq!(given(&["--lang", "python"], "x = 1\n").code, 0);
    for wrong in [
        &[][..],
        &["--lang", "cobol"],
        &["--lang", "python", "--stdin-path", "x.go"],
        &["--stdin-path", "../x.py"],
    ] {
        let output = given(wrong, "x = 1\n");
        assert_eq!((output.code, output.stdout.as_str()), (3, ""), "{wrong:?}: {output:#?}");
    }
    let large = given(&["--lang", "python"], &"x = 1\n".repeat(200_000));
    assert_eq!(large.code, 4);
    assert_eq!(large.json()["files_skipped"][0]["reason"], "larger than 1 MiB");
}

#[test]
fn json_takes_no_other_format_away() {
    let sandbox = project();
    for command in ["scan", "check"] {
        let arguments = [command, "app.py", "--no-lsp", "--format", "sarif", "--json"];
        let kept = arguments.iter().filter(|it| command == "check" || **it != "--no-lsp");
        let output = sandbox.run(&kept.copied().collect::<Vec<_>>());
        assert_eq!((output.code, &output.json()["version"]), (1, &json!("2.1.0")), "{command}");
    }
}

#[test]
fn jsonl_is_a_finding_a_line_and_quiet_leaves_the_exit_code() {
    let sandbox = project();
    let output = scan(&sandbox, &["--format", "jsonl"], 1);
    let lines: Vec<Value> =
        output.stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 2, "{output:#?}");
    let eval = lines.iter().find(|line| line["rule_id"] == "py-eval").expect("the finding");
    assert_eq!(
        (&eval["file"], &eval["line"], &eval["column"]),
        (&json!("app.py"), &json!(5), &json!(12))
    );
    assert_eq!((&eval["end_line"], &eval["end_column"]), (&json!(5), &json!(22)));
    assert_eq!((&eval["cwe"], &eval["severity"]), (&json!(["CWE-95"]), &json!("error")));
    assert!(eval["fingerprint"].as_str().is_some_and(|id| id.len() == 16), "{eval}");
    let quiet = scan(&sandbox, &["-q"], 1);
    assert_eq!((quiet.stdout.as_str(), quiet.stderr.as_str()), ("", ""));
    assert!(!scan(&sandbox, &["-q", "--format", "jsonl"], 1).stdout.is_empty());
    let colored = scan(&sandbox, &["--color", "always"], 1).stdout;
    assert!(colored.contains("\u{1b}[31merror\u{1b}[0m"), "{colored}");
}

/// The schema's complaints about a log; empty when it is valid.
fn complaints(log: &Value) -> Vec<String> {
    let file = format!("{CHECKOUT}/tests/data/sarif-schema-2.1.0.json");
    let schema = fs::read_to_string(file).expect("the schema is in the checkout");
    // A lone `]` in the pattern of languages is not a valid regular expression for a strict reader.
    let schema = schema.replace("{2}]?$\"", "{2}\\\\]?$\"");
    let schema = serde_json::from_str(&schema).expect("it is JSON");
    let validator = jsonschema::validator_for(&schema).expect("it is a schema");
    validator.iter_errors(log).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn sarif_is_valid_with_findings_gaps_a_baseline_and_nothing_at_all() {
    let sandbox = project();
    sandbox.write("한 글.py", "'한글 😀', eval(x)\n");
    fs::write(sandbox.path("binary.py"), [0_u8, 1]).expect("the sandbox is writable");
    let log = |arguments: &[&str], code| {
        let log = scan(&sandbox, &[&["--format", "sarif"], arguments].concat(), code).json();
        assert_eq!(complaints(&log), Vec::<String>::new(), "{log:#}");
        log
    };
    let all = log(&[], 1);
    let run = &all["runs"][0];
    let results = run["results"].as_array().expect("results");
    assert_eq!(results.len(), 3);
    for result in results {
        let index = usize::try_from(result["ruleIndex"].as_u64().expect("an index")).unwrap();
        assert_eq!(run["tool"]["driver"]["rules"][index]["id"], result["ruleId"]);
    }
    let korean = &results[2]["locations"][0]["physicalLocation"];
    assert_eq!(korean["artifactLocation"]["uri"], "%ED%95%9C%20%EA%B8%80.py");
    assert_eq!(korean["region"]["startColumn"], 10, "UTF-16 units, as columnKind says");
    assert_eq!(run["invocations"][0]["executionSuccessful"], false);
    let note = &run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"];
    assert!(note.as_str().is_some_and(|it| it.contains("binary.py")), "{run:#}");
    log(&["none.py"], 4);
    assert_eq!(log(&["lib"], 0)["runs"][0]["invocations"][0]["executionSuccessful"], true);
    scan(&sandbox, &["app.py", "--write-baseline", "known.json"], 0);
    let compared = log(&["--baseline", "known.json"], 1);
    let states: Vec<&str> = compared["runs"][0]["results"]
        .as_array()
        .expect("results")
        .iter()
        .filter_map(|result| result["baselineState"].as_str())
        .collect();
    assert_eq!(states, ["unchanged", "unchanged", "new"]);
    // The validator can say no.
    assert!(!complaints(&json!({"version": "2.1.0", "runs": [{}]})).is_empty());
}

#[test]
fn github_gets_a_command_for_each_finding_and_skip() {
    let sandbox = project();
    sandbox.write("a,b.py", "eval(x)\n");
    fs::write(sandbox.path("binary.py"), [0_u8, 1]).expect("the sandbox is writable");
    let output = scan(&sandbox, &["--format", "github"], 1).stdout;
    let error =
        "::error file=a%2Cb.py,line=1,endLine=1,col=1,endColumn=7,title=scan py-eval CWE-95::";
    assert!(output.contains(error), "{output}");
    assert!(output.contains("::warning file=app.py,line=4,"), "{output}");
    assert!(output.contains("::warning file=binary.py,title=skipped::binary\n"), "{output}");
    assert!(output.lines().last().is_some_and(|line| line.starts_with("dirty: ")), "{output}");
}

#[test]
fn what_a_baseline_knows_does_not_fail_and_what_is_new_does() {
    let sandbox = project();
    let written = scan(&sandbox, &["--write-baseline", "known.json"], 0);
    assert!(written.stderr.contains("2 findings written"), "{written:#?}");
    let known = ["--baseline", "known.json"];
    let text = scan(&sandbox, &known, 0).stdout;
    assert!(
        !text.contains("py-eval")
            && text.contains("nothing new (2 known from the baseline, 0 fixed)"),
        "{text}"
    );
    assert!(scan(&sandbox, &[&known[..], &["-v"]].concat(), 0).stdout.contains("py-eval"));
    // Moved lines and a renamed file change nothing; one occurrence more does.
    let text = sandbox.read("app.py");
    fs::remove_file(sandbox.path("app.py")).expect("it was written");
    sandbox.write("src/main.py", &format!("# moved\n{text}"));
    let renamed = report(&sandbox, &known, 0);
    assert_eq!(renamed["baseline"], json!({"known": 2, "new": 0, "fixed": 0}), "{renamed:#}");
    assert_eq!(renamed["findings"][0]["state"], "existing");
    sandbox.write("src/main.py", &format!("{text}\n\ndef again(code):\n    return eval(code)\n"));
    let more = report(&sandbox, &known, 1);
    assert_eq!(more["baseline"], json!({"known": 2, "new": 1, "fixed": 0}), "{more:#}");
    sandbox.write("src/main.py", "x = 1\n");
    let fixed = report(&sandbox, &known, 0);
    assert_eq!(fixed["baseline"], json!({"known": 0, "new": 0, "fixed": 2}), "{fixed:#}");
    // A part of the project rewrites its own part.
    sandbox.write("lib/clean.py", "eval(x)\n");
    scan(&sandbox, &["lib", "--write-baseline", "part.json"], 0);
    sandbox.write("src/main.py", "eval(y)\n");
    scan(&sandbox, &["src", "--write-baseline", "part.json"], 0);
    scan(&sandbox, &["--baseline", "part.json"], 0);
}

#[test]
fn check_knows_baselines_and_formats_with_the_findings_of_language_servers() {
    let sandbox = project();
    let errors = json!([{"needle": "BAD", "message": "bad word", "code": "badWord"}]);
    sandbox.fake_server("pyright-langserver", json!({"errors": errors}));
    sandbox.write("app.py", "word = 'BAD'\neval(word)\n");
    let check = |arguments: &[&str], code: i32| {
        let output = sandbox.run(&[&["check", "--all"], arguments].concat());
        assert_eq!(output.code, code, "{arguments:?}: {output:#?}");
        output
    };
    let log = check(&["--format", "sarif"], 1).json();
    assert_eq!(complaints(&log), Vec::<String>::new(), "{log:#}");
    let drivers: Vec<&Value> =
        log["runs"].as_array().unwrap().iter().map(|run| &run["tool"]["driver"]["name"]).collect();
    assert_eq!(drivers, ["pyright", "moai-ralph"]);
    assert_eq!(log["runs"][0]["results"][0]["ruleId"], "badWord");
    let commands = check(&["--format", "github"], 1).stdout;
    assert!(commands.contains("title=pyright badWord::bad word"), "{commands}");
    check(&["--write-baseline", "known.json"], 0);
    check(&["--baseline", "known.json"], 0);
    // A baseline of the scan alone does not cover the language server's findings.
    let scanned = report(&sandbox, &["--baseline", "known.json"], 0);
    assert_eq!(scanned["baseline"], json!({"known": 1, "new": 0, "fixed": 0}), "{scanned:#}");
    sandbox.write("app.py", "word = 'BAD'\neval(word)\nother = 'BAD'\n");
    check(&["--baseline", "known.json"], 1);
    check(&["--baseline", "none.json"], 3);
}

#[test]
fn rules_are_tried_on_their_own_snippets() {
    let sandbox = project();
    let test = |arguments: &[&str], code: i32| {
        let output = sandbox.run(&[&["scan", "test"], arguments].concat());
        assert_eq!(output.code, code, "{arguments:?}: {output:#?}");
        output
    };
    let with_tests =
        |tests: &str| format!("{}tests: {{ {tests} }}\n", rule("no-forbidden", "error"));
    let good = with_tests("valid: [allowed()], invalid: [forbidden()]");
    sandbox.write("mine/no-forbidden.yml", &good);
    let output = test(&["mine"], 0);
    assert_eq!(output.stdout, "1 rule, 2 snippets: 0 failures\n");
    let wrong = with_tests("valid: [forbidden()], invalid: [allowed()]");
    sandbox.write("mine/no-forbidden.yml", &wrong);
    let output = test(&["mine"], 1);
    let failed =
        "mine/no-forbidden.yml: no-forbidden in python: valid, but found 1 ×\n    | forbidden()\n";
    assert!(output.stdout.contains(failed), "{output:#?}");
    let json = test(&["mine", "--json"], 1).json();
    assert_eq!(json["schema"], "moai-ralph/rule-tests@1");
    assert_eq!(json["failures"].as_array().map(Vec::len), Some(2), "{json:#}");
    // The project's own, with test files of the ast-grep program.
    sandbox.write("sgconfig.yml", "ruleDirs: [lint]\ntestConfigs: [{ testDir: lint-tests }]\n");
    sandbox.write("lint/own.yml", &rule("own", "error"));
    let tests = "id: own\nvalid: [allowed()]\ninvalid: [forbidden()]\n";
    sandbox.write("lint-tests/own-test.yml", tests);
    let all = test(&["--json"], 0).json();
    assert!(all["rules"].as_u64().is_some_and(|rules| rules > 20), "built-in ones, too: {all:#}");
    assert_eq!(all["without_tests"], json!([]), "{all:#}");
    sandbox.write("lint-tests/own-test.yml", &tests.replace("allowed", "forbidden"));
    assert!(test(&[], 1).stdout.contains("lint/own.yml: own in python"));
    sandbox.write("lint-tests/own-test.yml", &tests.replace("id: own", "id: other"));
    assert!(test(&[], 1).stdout.contains("no rule has this id"));
    for wrong in ["none", "lib"] {
        assert_eq!(test(&[wrong], 3).stdout, "", "{wrong}");
    }
}

#[test]
fn a_second_scan_of_many_files_says_the_same() {
    let sandbox = project();
    for number in 0..60 {
        sandbox.write(&format!("many/m{number}.py"), &format!("x = {number}\neval(x)\n"));
    }
    let first = scan(&sandbox, &["--format", "jsonl"], 1).stdout;
    assert_eq!(scan(&sandbox, &["--format", "jsonl"], 1).stdout, first);
    assert_eq!(first.lines().count(), 62);
    let text = scan(&sandbox, &[], 1).stdout;
    assert!(text.contains("    61 py-eval\n"), "counted by rule: {text}");
    sandbox.write("many/m7.py", "x = 1\n");
    assert_eq!(scan(&sandbox, &["--format", "jsonl"], 1).stdout.lines().count(), 61);
}
