//! Language servers in words and documents: `server list`, what was done to them, what they wrote.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::json::rfc3339;
use super::shown;

/// One language server.
#[derive(Clone, Debug)]
pub struct Row {
    /// Server id.
    pub id: String,
    /// Language ids.
    pub languages: Vec<String>,
    /// Absolute root.
    pub root: String,
    /// `starting`, `loading`, `ready`, `busy` or `down`.
    pub state: &'static str,
    /// Process id, when it runs.
    pub pid: Option<u32>,
    /// Memory of its process tree; `None`: not measured.
    pub memory_bytes: Option<u64>,
    /// Seconds since its start, when it runs.
    pub uptime_secs: Option<u64>,
    /// Questions it answered.
    pub answered: u64,
    /// Times it was started anew.
    pub restarts: u64,
    /// Why it was last given up.
    pub last_gap: Option<String>,
}

/// What was done to one.
#[derive(Clone, Debug)]
pub struct Acted {
    /// Server id.
    pub id: String,
    /// Absolute root.
    pub root: String,
    /// `started`, `stopped` or `restarted`.
    pub act: &'static str,
    /// Why not.
    pub reason: Option<String>,
}

/// What one wrote.
#[derive(Clone, Debug)]
pub struct Log {
    /// Server id.
    pub id: String,
    /// Absolute root.
    pub root: String,
    /// Oldest first.
    pub said: Vec<Said>,
}

/// One line of it.
#[derive(Clone, Debug)]
pub struct Said {
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// `stderr`, a message type, or `engine`.
    pub source: &'static str,
    /// The line.
    pub text: String,
}

const NONE: &str = "no language server runs\n";

/// The list as text.
#[must_use]
pub fn list(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let _ = write!(text, "{} {}", row.id, row.state);
        if let Some(pid) = row.pid {
            let memory = row.memory_bytes.map_or("memory not measured".to_owned(), mib);
            let uptime = duration(row.uptime_secs.unwrap_or(0));
            let _ = write!(text, ", pid {pid}, {memory}, up {uptime}");
        }
        let _ = writeln!(text, ", {} answered, {}", row.answered, shown(&row.root));
        if let Some(gap) = &row.last_gap {
            let _ = writeln!(text, "  last trouble: {gap}");
        }
    }
    if rows.is_empty() { NONE.to_owned() } else { text }
}

/// The list as a document.
#[must_use]
pub fn list_json(rows: &[Row]) -> Value {
    let row = |row: &Row| {
        json!({
            "id": row.id, "languages": row.languages, "root": row.root, "state": row.state,
            "pid": row.pid, "memory_bytes": row.memory_bytes, "uptime_secs": row.uptime_secs,
            "answered": row.answered, "restarts": row.restarts, "last_gap": row.last_gap,
        })
    };
    json!({"schema": "moai-ralph/servers@1", "servers": rows.iter().map(row).collect::<Vec<_>>()})
}

/// What was done, as text.
#[must_use]
pub fn acted(acted: &[Acted]) -> String {
    let line = |one: &Acted| match &one.reason {
        None => format!("{}: {}, {}\n", one.id, one.act, shown(&one.root)),
        Some(reason) => format!("{}: not {}: {reason}\n", one.id, one.act),
    };
    if acted.is_empty() { NONE.to_owned() } else { acted.iter().map(line).collect() }
}

/// What was done, as a document.
#[must_use]
pub fn acted_json(acted: &[Acted]) -> Value {
    let one = |one: &Acted| {
        json!({
            "id": one.id, "root": one.root, "act": one.act, "done": one.reason.is_none(),
            "reason": one.reason,
        })
    };
    let servers: Vec<Value> = acted.iter().map(one).collect();
    json!({"schema": "moai-ralph/server-acts@1", "servers": servers})
}

/// What they wrote, as text; with a headline for each when there are several.
#[must_use]
pub fn logs(logs: &[Log]) -> String {
    let mut text = String::new();
    for log in logs {
        if logs.len() > 1 {
            let _ = writeln!(text, "{} {}", log.id, shown(&log.root));
        }
        if log.said.is_empty() {
            let _ = writeln!(text, "{} wrote nothing", log.id);
        }
        for said in &log.said {
            let _ = writeln!(text, "{} {}: {}", rfc3339(said.at_ms), said.source, said.text);
        }
    }
    text
}

/// What they wrote, as a document.
#[must_use]
pub fn logs_json(logs: &[Log]) -> Value {
    let said =
        |said: &Said| json!({"at": rfc3339(said.at_ms), "source": said.source, "text": said.text});
    let log = |log: &Log| {
        let lines: Vec<Value> = log.said.iter().map(said).collect();
        json!({"id": log.id, "root": log.root, "lines": lines})
    };
    let servers: Vec<Value> = logs.iter().map(log).collect();
    json!({"schema": "moai-ralph/server-logs@1", "servers": servers})
}

fn mib(bytes: u64) -> String {
    format!("{} MiB", bytes.div_ceil(1024 * 1024))
}

fn duration(secs: u64) -> String {
    match secs {
        0..120 => format!("{secs} s"),
        120..7_200 => format!("{} min", secs / 60),
        _ => format!("{} h", secs / 3_600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Row {
        Row {
            id: "pyright".into(),
            languages: vec!["python".into()],
            root: "/r".into(),
            state: "ready",
            pid: Some(7),
            memory_bytes: Some(300 * 1024 * 1024 + 1),
            uptime_secs: Some(150),
            answered: 3,
            restarts: 1,
            last_gap: Some("it ended: exit status: 1".into()),
        }
    }

    #[test]
    fn a_list_says_what_is_measured_and_what_is_not() {
        let down = Row { pid: None, memory_bytes: None, state: "down", last_gap: None, ..row() };
        let unmeasured = Row { memory_bytes: None, uptime_secs: Some(9), ..down.clone() };
        let unmeasured = Row { pid: Some(8), state: "busy", ..unmeasured };
        let expected = "pyright ready, pid 7, 301 MiB, up 2 min, 3 answered, /r\n  \
                        last trouble: it ended: exit status: 1\n\
                        pyright down, 3 answered, /r\n\
                        pyright busy, pid 8, memory not measured, up 9 s, 3 answered, /r\n";
        assert_eq!(list(&[row(), down, unmeasured]), expected);
        assert_eq!(list(&[]), "no language server runs\n");
        assert_eq!(list_json(&[])["servers"], json!([]));
    }

    #[test]
    fn acts_and_logs_name_the_server() {
        let act = |reason: Option<&str>| Acted {
            id: "pyright".into(),
            root: "/r".into(),
            act: "stopped",
            reason: reason.map(str::to_owned),
        };
        let text = acted(&[act(None), act(Some("it has not ended yet"))]);
        assert_eq!(text, "pyright: stopped, /r\npyright: not stopped: it has not ended yet\n");
        let said = Said { at_ms: 0, source: "stderr", text: "hello".into() };
        let log = |said| Log { id: "pyright".into(), root: "/r".into(), said };
        assert_eq!(logs(&[log(vec![said])]), "1970-01-01T00:00:00.000Z stderr: hello\n");
        assert_eq!(logs(&[log(Vec::new())]), "pyright wrote nothing\n");
    }
}
