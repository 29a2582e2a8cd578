//! Language servers as text and documents: `server list`, `server start|stop|restart`, `server
//! logs`.

use std::fmt::Write as _;

use super::json::rfc3339;
use super::{sanitized_line, sanitized_name};
use moai_protocol::documents::servers::{
    LogLineEntry, ServerActEntry, ServerActsDocument, ServerLogEntry, ServerLogsDocument, ServerRow,
};

/// An action on one server.
#[derive(Clone, Debug)]
pub struct ServerAction {
    pub id: String,
    pub root: String,
    /// `started`, `stopped` or `restarted`.
    pub action: &'static str,
    pub reason: Option<String>,
}

/// The log of one server.
#[derive(Clone, Debug)]
pub struct ServerLogReport {
    pub id: String,
    pub root: String,
    /// Lines, the oldest first.
    pub lines: Vec<ServerLogLine>,
}

/// One line of a log.
#[derive(Clone, Debug)]
pub struct ServerLogLine {
    /// Milliseconds since the epoch.
    pub at_ms: u64,
    /// `stderr`, a message type, or `engine`.
    pub source: &'static str,
    pub text: String,
}

const NONE: &str = "no language server is running\n";

/// The list as text.
#[must_use]
pub fn list(rows: &[ServerRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let _ = write!(text, "{} {}", row.id, row.state);
        if let Some(pid) = row.pid {
            let memory = row.memory_bytes.map_or("memory not measured".to_owned(), mib);
            let uptime = duration(row.uptime_secs.unwrap_or(0));
            let _ = write!(text, ", pid {pid}, {memory}, up {uptime}");
        }
        let _ = writeln!(text, ", {} answered, {}", row.answered, sanitized_name(&row.root));
        if let Some(gap) = &row.last_gap {
            let _ = writeln!(text, "  last failure: {gap}");
        }
    }
    if rows.is_empty() { NONE.to_owned() } else { text }
}

/// The actions as text.
#[must_use]
pub fn actions_text(acted: &[ServerAction]) -> String {
    let line = |one: &ServerAction| match &one.reason {
        None => format!("{}: {}, {}\n", one.id, one.action, sanitized_name(&one.root)),
        Some(reason) => format!("{}: not {}: {}\n", one.id, one.action, sanitized_line(reason)),
    };
    if acted.is_empty() { NONE.to_owned() } else { acted.iter().map(line).collect() }
}

/// The actions as a document.
#[must_use]
pub fn actions_document(acted: &[ServerAction]) -> ServerActsDocument {
    ServerActsDocument { servers: acted.iter().map(act_entry).collect() }
}

fn act_entry(acted: &ServerAction) -> ServerActEntry {
    ServerActEntry {
        id: acted.id.clone(),
        root: acted.root.clone(),
        act: acted.action,
        done: acted.reason.is_none(),
        reason: acted.reason.clone(),
    }
}

/// The logs as text; several with a heading each.
#[must_use]
pub fn logs(logs: &[ServerLogReport]) -> String {
    let mut text = String::new();
    for log in logs {
        if logs.len() > 1 {
            let _ = writeln!(text, "{} {}", log.id, sanitized_name(&log.root));
        }
        if log.lines.is_empty() {
            let _ = writeln!(text, "{} wrote nothing", log.id);
        }
        for said in &log.lines {
            let _ = writeln!(
                text,
                "{} {}: {}",
                rfc3339(said.at_ms),
                said.source,
                sanitized_line(&said.text)
            );
        }
    }
    text
}

/// The logs as a document.
#[must_use]
pub fn logs_document(logs: &[ServerLogReport]) -> ServerLogsDocument {
    ServerLogsDocument { servers: logs.iter().map(log_entry).collect() }
}

fn log_entry(log: &ServerLogReport) -> ServerLogEntry {
    let lines = log.lines.iter().map(line_entry).collect();
    ServerLogEntry { id: log.id.clone(), root: log.root.clone(), lines }
}

fn line_entry(line: &ServerLogLine) -> LogLineEntry {
    LogLineEntry { at: rfc3339(line.at_ms), source: line.source, text: line.text.clone() }
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

    fn row() -> ServerRow {
        ServerRow {
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
        let down =
            ServerRow { pid: None, memory_bytes: None, state: "down", last_gap: None, ..row() };
        let unmeasured = ServerRow { memory_bytes: None, uptime_secs: Some(9), ..down.clone() };
        let unmeasured = ServerRow { pid: Some(8), state: "busy", ..unmeasured };
        let expected = "pyright ready, pid 7, 301 MiB, up 2 min, 3 answered, /r\n  \
                        last failure: it ended: exit status: 1\n\
                        pyright down, 3 answered, /r\n\
                        pyright busy, pid 8, memory not measured, up 9 s, 3 answered, /r\n";
        assert_eq!(list(&[row(), down, unmeasured]), expected);
        assert_eq!(list(&[]), "no language server is running\n");
    }

    #[test]
    fn acts_and_logs_name_the_server() {
        let act = |reason: Option<&str>| ServerAction {
            id: "pyright".into(),
            root: "/r".into(),
            action: "stopped",
            reason: reason.map(str::to_owned),
        };
        let text = actions_text(&[act(None), act(Some("it has not ended yet"))]);
        assert_eq!(text, "pyright: stopped, /r\npyright: not stopped: it has not ended yet\n");
        let said = ServerLogLine { at_ms: 0, source: "stderr", text: "hello".into() };
        let log = |said| ServerLogReport { id: "pyright".into(), root: "/r".into(), lines: said };
        assert_eq!(logs(&[log(vec![said])]), "1970-01-01T00:00:00.000Z stderr: hello\n");
        assert_eq!(logs(&[log(Vec::new())]), "pyright wrote nothing\n");
    }
}
