//! A memory whose disk becomes full at any of its writes, which several processes write, and whose clock
//! jumps: stored observations stay, nothing is half written, and hooks are silent.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::failed_writes::assert_valid;
use crate::failing_disk::FailingDisk;
use crate::support::{Output, PATIENCE, Sandbox, eventually};

/// More writes than any command makes.
const WRITES_MAX: usize = 200;
/// Lines of a file, about 1.3 MB.
const LINES: usize = 1_200;
/// Notes that are added meanwhile.
const NOTES: usize = 25;
/// When a pass of retention ended.
const PASSED: &str = "SELECT value FROM meta WHERE name = 'retention'";

fn database(sandbox: &Sandbox) -> PathBuf {
    sandbox.base().join("state/memory/memory.db")
}

/// The titles of all observations, each of which is whole.
fn titles(sandbox: &Sandbox) -> BTreeSet<String> {
    let exported = sandbox.run(&["memory", "export", "--all-projects"]);
    assert_eq!(exported.code, 0, "{exported:#?}");
    let lines = exported.stdout.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        line["title"].as_str().expect("a title").to_owned()
    });
    lines.collect()
}

fn assert_sound(sandbox: &Sandbox) {
    let database = Connection::open(database(sandbox)).expect("it exists");
    let checked = database.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0));
    assert_eq!(checked, Ok("ok".to_owned()));
    // FTS5 compares its index with itself.
    let index = "INSERT INTO entries (entries, rank) VALUES ('integrity-check', 0)";
    assert_eq!(database.execute(index, []).map(drop), Ok(()));
}

/// Runs a command while the disk is full from its first write on, from its second one on, and so on,
/// until it succeeds; after each time with `check`. Answers how often it failed.
fn with_full_disk(
    disk: &FailingDisk,
    command: impl Fn(usize) -> Output,
    mut check: impl FnMut(usize, &Output),
) -> usize {
    for writes in 1..WRITES_MAX {
        disk.fail_after(writes);
        let output = command(writes);
        disk.work();
        check(writes, &output);
        if output.code == 0 {
            return writes - 1;
        }
        assert_eq!((output.code, output.stdout.as_str()), (1, ""), "{output:#?}");
        assert!(output.stderr.contains("the memory"), "a clear error: {output:#?}");
    }
    panic!("it never succeeds");
}

#[test]
fn on_a_full_disk_an_observation_is_stored_or_refused_and_the_others_stay() {
    let disk = FailingDisk::new();
    let sandbox = &disk.sandbox;
    assert_eq!(sandbox.run(&["memory", "add", "the first one"]).code, 0);
    let mut kept = BTreeSet::from(["the first one".to_owned()]);
    let long = "text of a note ".repeat(600);
    let title = |writes: usize| format!("note {writes}x");
    let failed = with_full_disk(
        &disk,
        |writes| sandbox.run(&["memory", "add", &format!("{}\n{long}", title(writes))]),
        |writes, output| {
            let found = titles(sandbox);
            if output.code == 0 {
                kept.insert(title(writes));
            }
            let new: Vec<&String> = found.difference(&kept).collect();
            assert!(found.is_superset(&kept), "{kept:?} {found:?}");
            assert!(new.is_empty() || new == [&title(writes)], "{new:?}");
            kept = found;
        },
    );
    assert!(failed > 0, "the disk was full at least once");
    assert_sound(sandbox);
}

#[test]
fn on_a_full_disk_forgetting_ends_or_is_refused_and_a_backup_is_whole_or_missing() {
    let disk = FailingDisk::new();
    let sandbox = &disk.sandbox;
    for text in ["giraffes stay here", "zebracorn plan"] {
        assert_eq!(sandbox.run(&["memory", "add", text]).code, 0);
    }
    assert_eq!(sandbox.run(&["memory", "backup"]).code, 0);
    let copy = sandbox.base().join("state/memory/copy.db");
    let backed_up = with_full_disk(
        &disk,
        |_| sandbox.run(&["memory", "backup", &copy.to_string_lossy()]),
        |_, output| {
            assert_eq!(copy.exists(), output.code == 0, "{output:#?}");
            assert_eq!(titles(sandbox).len(), 2);
        },
    );
    let count = Connection::open(&copy).expect("a copy").query_row(
        "SELECT count(*) FROM observations",
        [],
        |row| row.get::<_, i64>(0),
    );
    assert_eq!(count, Ok(2));
    let forgotten = with_full_disk(
        &disk,
        |_| sandbox.run(&["memory", "forget", "--query", "zebracorn", "--apply"]),
        |_, _| assert!(titles(sandbox).contains("giraffes stay here")),
    );
    assert!(backed_up > 0 && forgotten > 0, "{backed_up} {forgotten}");
    assert!(!titles(sandbox).contains("zebracorn plan"));
    assert_sound(sandbox);
    let restored = sandbox.run(&["memory", "restore", "--apply"]);
    assert_eq!(restored.code, 0, "{restored:#?}");
    assert_eq!(titles(sandbox), BTreeSet::from(["giraffes stay here".to_owned()]));
}

#[test]
fn an_import_that_fills_the_disk_says_how_much_is_stored_and_is_completed_later() {
    let disk = FailingDisk::new();
    let sandbox = &disk.sandbox;
    sandbox.write("in.jsonl", &old_lines("web", LINES));
    assert_eq!(sandbox.run(&["memory", "add", "the first one"]).code, 0);
    let (mut partly, mut stored) = (0, 1);
    for writes in [1, 40, 120, 200, 300, 400, 600, 900, 1_400, 2_000, 4_000] {
        disk.fail_after(writes);
        let imported = sandbox.run(&["memory", "import", "in.jsonl"]);
        disk.work();
        let found = titles(sandbox).len();
        if imported.code == 0 {
            break;
        }
        assert_eq!((imported.code, imported.stdout.as_str()), (1, ""), "{imported:#?}");
        assert!(imported.stderr.contains("run the import again"), "{imported:#?}");
        assert!(found == 1 || found == 1_001, "a part is stored or not: {found}");
        let number = imported.stderr.contains("1000 observations of the file stored");
        partly += usize::from(number);
        assert!(found >= stored, "{found} {stored}");
        stored = found;
    }
    assert!(partly > 0, "at least one import was stored in part");
    assert_eq!(sandbox.run(&["memory", "import", "in.jsonl"]).code, 0);
    assert_eq!(titles(sandbox).len(), LINES + 2);
    assert_sound(sandbox);
}

/// A prompt of a session; the hook must be silent.
fn prompt(sandbox: &Sandbox, text: &str) {
    let mut prompt = sandbox.payload("UserPromptSubmit");
    prompt["prompt"] = json!(text);
    prompt["session_id"] = json!("full-disk");
    let output = sandbox.hook("user-prompt-submit", &prompt);
    assert_valid("user-prompt-submit", &output);
    assert_eq!(output.stderr, "", "{output:#?}");
}

#[test]
fn on_a_full_disk_hooks_are_silent_and_what_was_stored_or_spooled_stays() {
    let disk = FailingDisk::new();
    let sandbox = &disk.sandbox;
    sandbox.commit();
    sandbox.hook("session-start", &sandbox.payload("SessionStart-startup"));
    let is_stored = |title: &str| titles(sandbox).contains(title);
    prompt(sandbox, "고치기 전의 프롬프트");
    assert!(eventually(PATIENCE, || is_stored("고치기 전의 프롬프트").then_some(())).is_some());
    let mut known = 0_i64;
    for is_newer in [false, true] {
        if is_newer {
            // A database of a newer program is not changed: prompts are spooled.
            sandbox.run(&["daemon", "stop"]);
            let newer = Connection::open(database(sandbox)).expect("it exists");
            let version = newer.query_row("PRAGMA user_version", [], |row| row.get(0));
            known = version.expect("a number");
            newer.pragma_update(None, "user_version", 99).expect("changed");
        }
        for writes in [1, 2, 3, 4, 6, 9] {
            disk.fail_after(writes);
            prompt(sandbox, &format!("{is_newer} 프롬프트 {writes}x"));
            // Until it was written or could not be.
            sandbox.run(&["daemon", "stop"]);
            disk.work();
        }
        prompt(sandbox, &format!("{is_newer} 다시 자리가 있다"));
        sandbox.run(&["daemon", "stop"]);
    }
    let schema = Connection::open(database(sandbox)).expect("it exists");
    schema.pragma_update(None, "user_version", known).expect("changed");
    drop(schema);
    assert_eq!(sandbox.run(&["memory", "add", "the spool is stored first"]).code, 0);
    let found = titles(sandbox);
    for title in ["고치기 전의 프롬프트", "false 다시 자리가 있다", "true 다시 자리가 있다"]
    {
        assert!(found.contains(title), "{title}: {found:?}");
    }
    assert_sound(sandbox);
    assert_eq!(
        fs::read_dir(sandbox.base().join("state/memory"))
            .into_iter()
            .flatten()
            .flatten()
            .filter(|it| it.file_name().to_string_lossy().contains("corrupt"))
            .count(),
        0
    );
}

/// Lines of old commands in a separate project, and a decision.
fn old_lines(name: &str, count: usize) -> String {
    let line = |number: usize| {
        json!({"id": format!("{name}{number}"), "project": name, "session": "s", "type": "command",
            "ts": 1_700_000_000_000_u64 + number as u64, "title": format!("{name}{number}x failed"),
            "body": format!("reason{number}x of it ").repeat(60)})
        .to_string()
    };
    let decision = json!({"id": "d", "project": name, "type": "decision", "ts": 1,
        "title": format!("decided for {name}")});
    let lines = std::iter::once(decision.to_string()).chain((0..count).map(line));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn on_a_full_disk_retention_drops_whole_rows_or_none() {
    let mut disk = FailingDisk::new();
    disk.sandbox.set("MOAI_RALPH_MEMORY_MAX_MB", "1");
    let sandbox = &disk.sandbox;
    sandbox.write("in.jsonl", &old_lines("web", LINES));
    assert_eq!(sandbox.run(&["memory", "import", "in.jsonl"]).code, 0);
    sandbox.run(&["daemon", "stop"]);
    let value = |sql: &str| {
        let database = Connection::open(database(sandbox)).ok()?;
        database.query_row(sql, [], |row| row.get::<_, i64>(0)).ok()
    };
    let failures = || {
        let log = fs::read_to_string(sandbox.base().join("state/log/daemon.log"));
        log.unwrap_or_default().matches("retention of the memory has failed").count()
    };
    for writes in [1, 3, 20] {
        let before = failures();
        disk.fail_after(writes);
        // The daemon learns that there is a memory.
        sandbox.run(&["memory", "status"]);
        let failed = eventually(PATIENCE, || (failures() > before).then_some(()));
        assert!(failed.is_some() && value(PASSED).is_none(), "after {writes} writes");
        disk.work();
        sandbox.run(&["daemon", "stop"]);
        let dropped = value("SELECT coalesce(sum(value), 0) FROM counters WHERE name = 'dropped'");
        let found = titles(sandbox);
        let dropped = usize::try_from(dropped.expect("a number")).expect("no row is dropped twice");
        assert_eq!(found.len() + dropped, LINES + 1, "after {writes} writes");
        assert!(found.contains("decided for web"));
        assert_sound(sandbox);
    }
    sandbox.run(&["memory", "status"]);
    assert!(eventually(PATIENCE, || value(PASSED)).is_some(), "with room the pass ends");
    let status = sandbox.run(&["memory", "status", "--project", "web", "--json"]).json();
    assert!(status["project_bytes"].as_u64().is_some_and(|bytes| bytes <= 1 << 20), "{status}");
}

#[test]
fn several_processes_write_one_memory_and_lose_nothing() {
    let sandbox = Sandbox::new();
    for name in ["one", "two"] {
        sandbox.write(&format!("{name}.jsonl"), &old_lines(name, LINES));
    }
    std::thread::scope(|scope| {
        // Each import is a process that writes by itself; notes are written by the daemon. A command waits
        // for the other ones, however slow the machine is.
        for name in ["one", "two"] {
            let sandbox = &sandbox;
            scope.spawn(move || {
                let imported = sandbox.run(&["memory", "import", &format!("{name}.jsonl")]);
                assert_eq!(imported.code, 0, "{imported:#?}");
            });
        }
        for number in 0..NOTES {
            let added = sandbox.run(&["memory", "add", &format!("note number{number}x")]);
            assert_eq!(added.code, 0, "{added:#?}");
        }
    });
    let found = titles(&sandbox);
    assert_eq!(found.len(), 2 * (LINES + 1) + NOTES);
    assert_sound(&sandbox);
}
