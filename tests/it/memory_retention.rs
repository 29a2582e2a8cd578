//! Retention by the real daemon, and a memory that other processes, clocks and full disks interfere with.

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{PATIENCE, Sandbox, eventually};

/// Lines of old commands, each with about half a kilobyte of text.
fn old_commands(count: usize) -> String {
    let line = |number| {
        json!({"id": format!("c{number}"), "project": "web", "session": "s", "type": "command",
            "ts": 1_700_000_000_000_u64 + number, "title": format!("step{number}x failed"),
            "body": format!("reason{number}x of it ").repeat(28)})
        .to_string()
    };
    (0..count as u64).map(line).collect::<Vec<_>>().join("\n")
}

fn status(sandbox: &Sandbox) -> Value {
    sandbox.run(&["memory", "status", "--project", "web", "--json"]).json()
}

#[test]
fn the_daemon_keeps_a_project_below_its_ceiling_and_the_decisions() {
    let mut sandbox = Sandbox::new();
    sandbox.set("MOAI_RALPH_MEMORY_MAX_MB", "1");
    let decision = json!({"id": "d", "project": "web", "type": "decision", "ts": 1, "title": "캐시는 쓰지 않는다"});
    sandbox.write("in.jsonl", &format!("{decision}\n{}", old_commands(3_000)));
    let imported = sandbox.run(&["memory", "import", "in.jsonl", "--json"]);
    assert_eq!(imported.json()["observations"], 3_001, "{imported:?}");
    assert_eq!(status(&sandbox)["dropped"], 0, "the daemon knows of the memory now");
    // Read from the file, because each question to the daemon makes retention wait.
    let database = sandbox.base().join("state/memory/memory.db");
    let passed = eventually(PATIENCE, || {
        let database = Connection::open(&database).ok()?;
        let sql = "SELECT value FROM meta WHERE name = 'retention'";
        database.query_row(sql, [], |row| row.get::<_, i64>(0)).ok()
    });
    assert!(passed.is_some(), "a pass ends");
    let kept = status(&sandbox);
    assert!(kept["project_bytes"].as_u64().is_some_and(|bytes| bytes <= 1 << 20), "{kept}");
    assert_eq!(kept["project_bytes_max"], 1 << 20);
    assert!(kept["dropped"].as_u64().is_some_and(|dropped| dropped > 500), "{kept}");
    let text = sandbox.run(&["memory", "status", "--project", "web"]).stdout;
    assert!(text.contains("of 1 MiB; folded: 0, dropped: "), "{text}");
    let ids = |query: &str| {
        let found = sandbox.run(&["memory", "search", query, "--project", "web", "--json"]).json();
        let hits = found["hits"].as_array().expect("a list").clone();
        hits.into_iter().map(|hit| hit["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids("캐시는"), ["d"]);
    assert_eq!(ids("step2999x"), ["c2999"], "the last ones are kept");
    assert!(ids("step0x").is_empty());
}
