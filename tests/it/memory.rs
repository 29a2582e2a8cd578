//! `memory …` over the real program: stored observations are found, forgotten ones are nowhere, and bad input
//! loses nothing.

use std::fs;

use serde_json::{Value, json};

use crate::support::Sandbox;

fn line(id: &str, title: &str, body: &str) -> String {
    json!({"id": id, "project": "web", "session": "s-1", "type": "fix", "ts": 1_790_000_000_000_u64,
        "title": title, "body": body})
    .to_string()
}

fn import(sandbox: &Sandbox, lines: &[String]) -> Value {
    sandbox.write("in.jsonl", &lines.join("\n"));
    let output = sandbox.run(&["memory", "import", "in.jsonl", "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    output.json()
}

/// Ids of the hits in the project `web`.
fn found(sandbox: &Sandbox, query: &str) -> Vec<String> {
    let output = sandbox.run(&["memory", "search", query, "--project", "web", "--json"]);
    assert_eq!(output.code, 0, "{output:?}");
    let hits = output.json()["hits"].clone();
    let ids = hits.as_array().expect("a list").iter();
    ids.map(|hit| hit["id"].as_str().expect("an id").to_owned()).collect()
}

#[test]
fn a_pipe_is_imported_from_its_first_line_on() {
    let sandbox = Sandbox::new();
    let lines = [line("a", "from a pipe", ""), line("b", "its second line", "")].join("\n");
    let output = sandbox.run_with(&["memory", "import", "-", "--json"], &lines);
    assert_eq!(output.code, 0, "{output:?}");
    assert_eq!(output.json()["rejected_total"], 0, "{output:?}");
    assert_eq!(found(&sandbox, "from a pipe"), ["a"]);
}

#[test]
fn words_of_the_glossary_are_found_in_the_other_language() {
    let sandbox = Sandbox::new();
    import(&sandbox, &[line("a", "the weighbridge reported twice", "")]);
    assert_eq!(found(&sandbox, "계근대가"), [""; 0]);
    let options = "ralph:\n  memory:\n    glossary:\n      계근대: weighbridge, truck scale\n";
    sandbox.write(".moai/config/sections/ralph.yaml", options);
    assert_eq!(found(&sandbox, "계근대가"), ["a"]);
}

/// Files below the state folder that have a text.
fn files_with(sandbox: &Sandbox, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut folders = vec![sandbox.base().join("state")];
    folders.retain(|folder| folder.exists());
    assert!(!folders.is_empty(), "the state folder exists");
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.is_file()
                && fs::read(&path)
                    .expect("readable")
                    .windows(text.len())
                    .any(|part| part == text.as_bytes())
            {
                found.push(path.display().to_string());
            }
        }
    }
    found
}

#[test]
fn korean_names_and_codes_are_found_in_other_forms() {
    let sandbox = Sandbox::new();
    import(
        &sandbox,
        &[
            line("a", "결제모듈에서 토큰을 갱신했다", "src/auth/tokenStore.rs TS2345"),
            line("b", "validate_token was slow", "nothing else"),
            line("c", "배송 지도를 그렸다", ""),
        ],
    );
    assert_eq!(found(&sandbox, "토큰은 결제")[0], "a");
    assert_eq!(found(&sandbox, "validateToken")[0], "b");
    assert_eq!(found(&sandbox, "ts-2345")[0], "a");
    assert_eq!(found(&sandbox, "tokenStore.rs")[0], "a");
    assert_eq!(found(&sandbox, "지도가")[0], "c");
    let nothing = sandbox.run(&["memory", "search", "지도가", "--json"]).json();
    let why = nothing["why_empty"].as_str().expect("a reason");
    assert!(why.contains("1 hit in other projects"), "{why}");
}

#[test]
fn bad_lines_are_named_and_the_rest_is_imported() {
    let sandbox = Sandbox::new();
    let huge = line("huge", "a huge text", &"로그 한 줄 ".repeat(700_000));
    let lines = [
        line("good", "좋은 줄", "text"),
        "no json".to_owned(),
        "[1]".to_owned(),
        String::new(),
        r#"{"id":"half","project":"web","title":"half \ud83d of a smile"}"#.to_owned(),
        line("emoji", "🙂👩‍💻 smile", "\u{202e}right to left שלום\u{202c}"),
        line("private", "<private>all of it</private>", ""),
        huge,
    ];
    let mut bytes = lines.join("\n").into_bytes();
    bytes.extend(b"\n{\"id\":\"latin\",\"project\":\"web\",\"title\":\"caf\xe9 kettle\"}\n");
    fs::write(sandbox.root().join("in.jsonl"), bytes).expect("written");
    let output = sandbox.run(&["memory", "import", "in.jsonl", "--json"]).json();
    assert_eq!((&output["observations"], &output["rejected_total"]), (&json!(5), &json!(3)));
    let places: Vec<u64> = output["rejected"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|it| it["line"].as_u64().expect("a number"))
        .collect();
    assert_eq!(places, [2, 3, 7]);
    assert_eq!(found(&sandbox, "smile").len(), 2);
    assert_eq!(found(&sandbox, "kettle"), ["latin"]);
    assert_eq!(found(&sandbox, "huge"), ["huge"]);
    let again = sandbox.run(&["memory", "import", "in.jsonl", "--json"]).json();
    assert_eq!(again["repeated"], 5);
}

#[test]
fn syntax_of_the_index_is_only_text() {
    let sandbox = Sandbox::new();
    import(&sandbox, &[line("a", "토큰 NEAR cache", "")]);
    for query in [
        "\"",
        "토큰\" OR *",
        "NEAR(토큰 cache)",
        "words:토큰 ^cache",
        "'; DROP TABLE x; --",
        "-",
        "🙂",
        "",
    ] {
        let output = sandbox.run(&["memory", "search", "--project", "web", "--json", "--", query]);
        assert_eq!(output.code, 0, "{query}: {output:?}");
    }
    assert_eq!(found(&sandbox, "NEAR(토큰) AND \"cache\"*"), ["a"]);
}

#[test]
fn what_is_forgotten_is_nowhere_on_disk() {
    let sandbox = Sandbox::new();
    import(
        &sandbox,
        &[
            line("keep", "giraffes stay here", ""),
            line("drop", "zebracorn launch plan", "quokkafox is the code word"),
        ],
    );
    assert_eq!(sandbox.run(&["memory", "backup"]).code, 0);
    assert!(!files_with(&sandbox, "zebracorn").is_empty());
    // A restore that was killed leaves its copy.
    let copy = sandbox.base().join("state/memory/restored");
    fs::write(copy, "zebracorn").expect("the sandbox is writable");
    let preview =
        sandbox.run(&["memory", "forget", "--query", "zebracorn", "--project", "web", "--json"]);
    assert_eq!(
        (&preview.json()["status"], &preview.json()["ids"]),
        (&json!("preview"), &json!(["drop"]))
    );
    assert_eq!(found(&sandbox, "quokkafox"), ["drop"]);
    let done = sandbox.run(&[
        "memory",
        "forget",
        "--query",
        "zebracorn",
        "--project",
        "web",
        "--apply",
        "--json",
    ]);
    assert_eq!((&done.json()["status"], &done.json()["observations"]), (&json!("done"), &json!(1)));
    for word in ["zebracorn", "quokkafox"] {
        assert_eq!(files_with(&sandbox, word), [""; 0], "{word}");
    }
    assert_eq!(found(&sandbox, "giraffe"), ["keep"]);
    let restored = sandbox.run(&["memory", "restore", "--apply"]);
    assert_eq!(restored.code, 0, "{restored:?}");
    assert_eq!(found(&sandbox, "giraffe"), ["keep"]);
    assert!(found(&sandbox, "zebracorn").is_empty());
}

#[test]
fn a_preview_shows_what_would_be_forgotten() {
    let sandbox = Sandbox::new();
    let lines: Vec<String> =
        (0..25).map(|number| line(&format!("z{number}"), &format!("zebra {number}"), "")).collect();
    import(&sandbox, &lines);
    let forget = |asked: &[&str]| {
        let output = sandbox.run(&[&["memory", "forget", "--project", "web"], asked].concat());
        assert_eq!((output.code, output.stderr.as_str()), (0, ""), "{output:?}");
        output.stdout
    };
    let preview = forget(&["--query", "zebra"]);
    assert_eq!(preview.lines().filter(|line| line.contains(" · fix · zebra ")).count(), 20);
    let end = "… and 5 more\nwould forget 25 observations: repeat with --apply\n";
    assert!(preview.ends_with(end), "{preview}");
    assert_eq!(forget(&["--query", "owl"]), "nothing to forget\n");
    // The parts of a name in different places are not the name.
    import(&sandbox, &[line("w", "conc w2 i1", ""), line("u", "utf16 in i8", "")]);
    for query in ["conc w1", "utf8"] {
        assert_eq!(forget(&["--query", query]), "nothing to forget\n", "{query}");
    }
    assert!(
        forget(&["--query", "conc W2"]).ends_with("forget 1 observation: repeat with --apply\n")
    );
    assert_eq!(forget(&["--query", "owl", "--apply"]), "0 observations forgotten\n");
    assert_eq!(forget(&["nothing"]), "left out: unknown: nothing\nnothing to forget\n");
    assert_eq!(forget(&["z3", "--apply"]), "1 observation forgotten\n", "there is no backup");
}

#[test]
fn an_unusable_file_of_the_user_is_no_damage_of_the_memory() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.run(&["memory", "add", "giraffes stay here"]).code, 0);
    sandbox.write("notes.db", &"no database ".repeat(100));
    for (file, reason) in [("notes.db", "file is not a database"), ("gone.db", "No such file")] {
        let refused = sandbox.run(&["memory", "restore", file, "--apply"]);
        assert_eq!(refused.code, 3, "{refused:?}");
        assert!(refused.stderr.contains(file) && refused.stderr.contains(reason), "{refused:?}");
        assert!(!refused.stderr.contains("the memory:"), "{refused:?}");
    }
    assert!(sandbox.run(&["memory", "search", "giraffes"]).stdout.contains("giraffes stay"));
}

#[test]
fn secrets_and_private_passages_are_never_written() {
    let sandbox = Sandbox::new();
    let key = format!("AKIA{}", "Q7ZK3XW4RT2LM5VB");
    import(
        &sandbox,
        &[line("a", "a key", &format!("it is {key} <private>hush{}</private>", "word"))],
    );
    fs::remove_file(sandbox.root().join("in.jsonl")).expect("removed");
    let text = format!("decided <private>about{} </private> it {key}", "mice");
    assert_eq!(sandbox.run(&["memory", "add", &text]).code, 0);
    for secret in [&key, "hushword", "aboutmice"] {
        assert_eq!(files_with(&sandbox, secret), [""; 0], "{secret}");
    }
    let refused = sandbox.run(&["memory", "add", "<private>all of it</private>"]);
    assert_eq!(refused.code, 3, "{refused:?}");
}

#[test]
fn a_damaged_memory_is_replaced_by_its_backup() {
    let sandbox = Sandbox::new();
    import(&sandbox, &[line("a", "giraffes stay here", "")]);
    assert_eq!(sandbox.run(&["memory", "backup"]).code, 0);
    sandbox.run(&["daemon", "stop"]);
    let database = sandbox.base().join("state/memory/memory.db");
    let mut bytes = fs::read(&database).expect("the database");
    bytes[4096..].fill(0xa5);
    fs::write(&database, bytes).expect("written");
    let _ = fs::remove_file(sandbox.base().join("state/memory/memory.db-wal"));
    let first = sandbox.run(&["memory", "search", "giraffe", "--project", "web"]);
    assert!(first.stdout.contains("giraffes stay here"), "{first:?}");
    assert!(first.stderr.contains("restored from the backup of 20"), "{first:?}");
    assert_eq!(found(&sandbox, "giraffe"), ["a"]);
}

#[test]
fn export_and_import_are_inverse() {
    let sandbox = Sandbox::new();
    import(
        &sandbox,
        &[
            line("a", "결제를 고쳤다", "둘째 줄\n셋째 줄"),
            line("b", "cache", "src/a.rs"),
            line("c", "cache", "src/a.rs").replace("s-1", "s-2").replace("179000", "179001"),
            r#"{"project":"web","session":"s-1","title":"no id","ts":5}"#.to_owned(),
            r#"{"project":"web","session":"s-2","title":"no id","ts":5}"#.to_owned(),
            r#"{"project":"web","session":"s-2","title":"no id","ts":6,"repeats":4}"#.to_owned(),
        ],
    );
    for _ in 0..2 {
        assert_eq!(sandbox.run(&["memory", "add", "결정: 캐시는 쓰지 않는다"]).code, 0);
    }
    let export = |sandbox: &Sandbox| sandbox.run(&["memory", "export", "--all-projects"]).stdout;
    let exported = export(&sandbox);
    assert_eq!(exported.lines().count(), 7);
    assert!(exported.contains("\"repeats\":4") && exported.contains("\"repeats\":1"), "{exported}");
    let other = Sandbox::new();
    for sandbox in [&other, &sandbox] {
        sandbox.write("in.jsonl", &exported);
        assert_eq!(sandbox.run(&["memory", "import", "in.jsonl"]).code, 0);
        assert_eq!(export(sandbox), exported);
    }
}

#[test]
fn two_memories_number_their_records_alike_and_can_still_be_united() {
    let (one, other) = (Sandbox::new(), Sandbox::new());
    assert_eq!(one.run(&["memory", "add", "zzqfirst machine"]).code, 0);
    assert_eq!(other.run(&["memory", "add", "zzqsecond machine"]).code, 0);
    let exported = one.run(&["memory", "export", "--all-projects"]).stdout;
    other.write("in.jsonl", &exported);
    for _ in 0..2 {
        assert_eq!(other.run(&["memory", "import", "in.jsonl"]).code, 0);
    }
    let hits =
        |query: &str| other.run(&["memory", "search", query, "--all-projects", "--json"]).json();
    let ids: Vec<String> = ["zzqfirst", "zzqsecond"]
        .iter()
        .flat_map(|query| hits(query)["hits"].as_array().cloned().expect("hits"))
        .map(|hit| hit["id"].as_str().expect("an id").to_owned())
        .collect();
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert_ne!(ids[0], ids[1]);
    for (id, text) in ids.iter().zip(["zzqfirst", "zzqsecond"]) {
        let shown = other.run(&["memory", "get", id]).stdout;
        assert!(shown.contains(text), "{id}: {shown}");
    }
}

#[test]
fn what_became_of_a_fix_is_exported_and_imported() {
    let sandbox = Sandbox::new();
    let fix = r#"{"id":"f","project":"web","type":"fix","title":"fixed E0308 in a.rs","ts":5,"shapes":["00112233445566aa","../x"],"outcome":"held","files":[],"codes":["E0308"]}"#;
    sandbox.write("in.jsonl", fix);
    assert_eq!(sandbox.run(&["memory", "import", "in.jsonl"]).code, 0);
    let exported = sandbox.run(&["memory", "export", "--all-projects"]).stdout;
    let line: Value = serde_json::from_str(&exported).expect("one line");
    assert_eq!(line["outcome"], "held", "{line}");
    assert_eq!(line["shapes"], json!(["00112233445566aa"]), "{line}");
    assert_eq!(line["files"], json!([]), "the text names one, but the list is empty: {line}");
}

#[test]
fn a_folder_in_place_of_a_project_is_the_project_there() {
    let sandbox = Sandbox::new();
    let record = json!({"id": "r", "project": sandbox.root(), "title": "zzqfolder", "ts": 5});
    sandbox.write("in.jsonl", &record.to_string());
    assert_eq!(sandbox.run(&["memory", "import", "in.jsonl"]).code, 0);
    let found = sandbox.run(&["memory", "search", "zzqfolder", "--json"]).json();
    assert_eq!(found["hits"].as_array().map(Vec::len), Some(1), "{found:#}");
}

#[test]
fn a_full_or_unwritable_place_is_a_clear_error() {
    let sandbox = Sandbox::new();
    let state = sandbox.base().join("state");
    fs::create_dir_all(&state).expect("made");
    fs::write(state.join("memory"), "a file where the folder should be").expect("written");
    sandbox.write("in.jsonl", &line("a", "x", ""));
    let refused = sandbox.run(&["memory", "import", "in.jsonl"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stderr.contains("the memory"), "{refused:?}");
    fs::remove_file(state.join("memory")).expect("removed");
    assert_eq!(sandbox.run(&["memory", "import", "in.jsonl"]).code, 0);
    let missing = sandbox.run(&["memory", "import", "nothing.jsonl"]);
    assert_eq!(missing.code, 3, "{missing:?}");
}

#[test]
fn a_command_with_unusable_arguments_or_options_says_so() {
    let mut sandbox = Sandbox::new();
    let refused = |sandbox: &Sandbox, arguments: &[&str], code: i32, text: &str| {
        let output = sandbox.run(&[&["memory"], arguments].concat());
        assert_eq!((output.code, output.stdout.as_str()), (code, ""), "{output:?}");
        assert!(output.stderr.contains(text), "{output:?}");
    };
    refused(&sandbox, &["add", "x", "--type", "bogus"], 3, "unknown type; one of edit");
    refused(&sandbox, &["add", "x", "--team"], 3, "memory.url names none");
    refused(&sandbox, &["timeline", "obs-1"], 1, "no observation: obs-1");
    assert_eq!(sandbox.run(&["memory", "add", "zzq", "--type", "bugfix"]).code, 0);
    refused(&sandbox, &["timeline", "obs-9"], 1, "no observation: obs-9");
    sandbox.run(&["daemon", "stop"]);
    for (url, reason) in
        [("mysql://h/team", "postgres://"), ("postgres://h/t?nonsense=1", "unknown")]
    {
        sandbox.set("MOAI_RALPH_MEMORY_URL", url);
        for arguments in [&["search", "zzq"][..], &["status"], &["add", "y"], &["export"]] {
            refused(&sandbox, arguments, 3, "MOAI_RALPH_MEMORY_URL");
            refused(&sandbox, arguments, 3, reason);
        }
        sandbox.run(&["daemon", "stop"]);
    }
}

#[test]
fn an_import_of_nothing_usable_fails_and_an_empty_file_is_an_empty_memory() {
    let sandbox = Sandbox::new();
    sandbox.write("bad.jsonl", "no JSON\n{\"title\": \"x\", \"ts\": \"99999-01-01T00:00:00Z\"}\n");
    let refused = sandbox.run(&["memory", "import", "bad.jsonl"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(refused.stdout.contains("left out: line 2"), "{refused:?}");
    sandbox.write("empty.jsonl", "\n");
    assert_eq!(sandbox.run(&["memory", "import", "empty.jsonl"]).code, 0);
}

#[test]
fn ids_that_an_import_brings_are_given_to_no_later_row() {
    let sandbox = Sandbox::new();
    let huge = "obs-9223372036854775807";
    import(&sandbox, &[line("obs-3", "zzqforeign", ""), line(huge, "zzqhuge", "")]);
    for number in 1..6 {
        assert_eq!(sandbox.run(&["memory", "add", &format!("zzqown {number}")]).code, 0);
    }
    let shown = sandbox.run(&["memory", "get", "obs-3"]).stdout;
    assert!(shown.contains("zzqforeign"), "{shown}");
    let listed = sandbox.run(&["memory", "search", "zzqown", "--json"]).json();
    let hits = listed["hits"].as_array().expect("hits").clone();
    assert_eq!(hits.len(), 5, "{listed:#}");
    for hit in hits {
        let id = hit["id"].as_str().expect("an id");
        let shown = sandbox.run(&["memory", "get", id]).stdout;
        assert!(shown.contains(hit["title"].as_str().expect("a title")), "{id}: {shown}");
    }
    assert_eq!(found(&sandbox, "zzqhuge").len(), 1);
    assert_ne!(found(&sandbox, "zzqhuge"), [huge]);
}

#[test]
fn a_missing_memory_is_restored_from_its_backup_and_named_once() {
    let sandbox = Sandbox::new();
    import(&sandbox, &[line("a", "giraffes stay here", "")]);
    assert_eq!(sandbox.run(&["memory", "backup"]).code, 0);
    let folder = sandbox.base().join("state/memory");
    for is_running in [true, false] {
        if !is_running {
            sandbox.run(&["daemon", "stop"]);
        }
        for name in ["memory.db", "memory.db-wal", "memory.db-shm"] {
            let _ = fs::remove_file(folder.join(name));
        }
        let first = sandbox.run(&["memory", "search", "giraffe", "--project", "web"]);
        assert!(first.stdout.contains("giraffes stay here"), "{first:?}");
        assert!(first.stderr.contains("was missing although it has backups"), "{first:?}");
        assert!(first.stderr.contains("restored from the backup of 20"), "{first:?}");
        let second = sandbox.run(&["memory", "search", "giraffe", "--project", "web"]);
        assert_eq!(second.stderr, "", "{second:?}");
    }
}

#[test]
fn observations_of_one_worktree_are_found() {
    let sandbox = Sandbox::new();
    sandbox.write("a.py", "x = 1\n");
    sandbox.commit();
    let folder = sandbox.base().join("shop-fix");
    let path = folder.to_string_lossy().into_owned();
    sandbox.git(&["worktree", "add", &path]);
    for (place, text) in [(sandbox.root(), "zzqmain plan"), (folder.clone(), "zzqfix plan")] {
        let mut prompt = sandbox.payload("UserPromptSubmit");
        prompt["prompt"] = json!(text);
        prompt["session_id"] = json!(text);
        prompt["cwd"] = json!(place);
        sandbox.hook("user-prompt-submit", &prompt);
    }
    let titles = |options: &[&str]| {
        let words = [&["memory", "search", "zzqmain zzqfix plan", "--json"], options].concat();
        let hits = sandbox.run(&words).json()["hits"].as_array().cloned().expect("hits");
        let mut titles: Vec<String> =
            hits.iter().map(|hit| hit["title"].as_str().expect("a title").to_owned()).collect();
        titles.sort();
        titles
    };
    let both = crate::support::eventually(crate::support::PATIENCE, || {
        (titles(&[]).len() == 2).then_some(())
    });
    assert!(both.is_some(), "worktrees are one project: {:?}", titles(&[]));
    assert_eq!(titles(&["--worktree", "shop-fix"]), ["zzqfix plan"]);
    assert_eq!(titles(&["--worktree", &path]), ["zzqfix plan"]);
    assert_eq!(titles(&["--worktree", "."]), ["zzqmain plan"]);
    assert_eq!(titles(&["--worktree", "other"]), [""; 0]);
}
