//! Texts about hosts: their registrations and limits.

use std::fmt::Write as _;
use std::path::PathBuf;

use moai_base::foreign_text::one_line;
use moai_base::limits::MESSAGE_CHARS_MAX;
use moai_protocol::documents::hosts::{HostDocumentEntry, HostsDocument, UnreadableHostFile};
use moai_protocol::hook::HookEvent;
use moai_protocol::hosts::{HeldTurn, HostKind, HostProfile, LastWords};

use super::sanitized_name;

/// A file of a registration, and the change made to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredFile {
    pub path: PathBuf,
    /// The change, such as `written`.
    pub words: &'static str,
}

/// The result of `init`.
#[must_use]
pub fn registration_text(host: HostKind, files: &[RegisteredFile], is_removed: bool) -> String {
    let mut out = String::new();
    for RegisteredFile { path, words } in files {
        let _ = writeln!(out, "{}: {words}", sanitized_name(&path.display().to_string()));
    }
    if is_removed || files.is_empty() {
        return out;
    }
    let _ = writeln!(out, "{}", next_step(host));
    for limit in host_limits(host.profile()) {
        let _ = writeln!(out, "note: {limit}");
    }
    out
}

fn next_step(host: HostKind) -> &'static str {
    match host {
        HostKind::ClaudeCode => {
            "Start a new session of Claude Code. Its slash commands, such as /moai-loop, need the \
             plugin (claude --plugin-dir CHECKOUT); without it, start loops with moai-ralph loop start."
        }
        HostKind::Codex => {
            "In Codex, run /hooks and approve them; until then it starts none of them."
        }
        HostKind::Copilot => {
            "Start GitHub Copilot CLI in the project and trust the folder; until then it starts none \
             of them."
        }
        HostKind::OpenCode => "Start OpenCode again.",
    }
}

/// Functions that a host does not support, a sentence each.
#[must_use]
pub fn host_limits(host: &HostProfile) -> Vec<String> {
    let mut limits = Vec::new();
    if host.held_turn == HeldTurn::PluginPrompt {
        limits.push(format!(
            "{}: a one-shot run cannot be held; a session that stays open continues with a new prompt",
            host.title
        ));
    }
    if host.last_words == LastWords::Transcript {
        limits.push(format!(
            "{}: a promise counts only if the transcript shows it within half a second of the Stop",
            host.title
        ));
    }
    if !host.has_token_counts {
        limits.push(format!("{}: tokens are not measured, so no limit on them acts", host.title));
    }
    limits
}

/// Limits of a loop in this host, shown at its start; `None` if it has none.
#[must_use]
pub fn host_note(host: &HostProfile) -> Option<String> {
    let limits = host_limits(host);
    (!limits.is_empty()).then(|| format!("[moai-ralph] note: {}", limits.join("; ")))
}

/// Approval that a host requires before it runs a hook; `None` if it requires none.
#[must_use]
pub fn approval(host: HostKind) -> Option<&'static str> {
    match host {
        HostKind::Codex => {
            Some("each hook, in /hooks, again after each change; until then it does not run")
        }
        HostKind::Copilot => Some("the folder, for hooks in the project"),
        HostKind::ClaudeCode | HostKind::OpenCode => None,
    }
}

/// Where hooks are registered, and when each last ran.
#[must_use]
pub fn hosts_text(document: &HostsDocument, now_ms: u64) -> String {
    let mut out = String::new();
    for host in &document.hosts {
        let title = HostKind::from_name(host.host).map_or(host.host, |kind| kind.profile().title);
        let places: Vec<String> = host.registered_in.iter().map(|it| sanitized_name(it)).collect();
        let has_run = host.events.iter().any(|event| event.last_ms.is_some());
        match places.as_slice() {
            [] if !has_run => {
                let _ = writeln!(out, "{title}: not registered");
                add_unreadable(&mut out, title, host);
                continue;
            }
            [] => {
                let _ = writeln!(out, "{title}: registered in no file that is known here");
            }
            places => {
                let _ = writeln!(out, "{title}: {}", places.join(", "));
            }
        }
        add_unreadable(&mut out, title, host);
        if let Some(approval) = host.approval {
            let _ = writeln!(out, "  to approve: {approval}");
        }
        for event in &host.events {
            let registered = if event.registered { "registered" } else { "not registered" };
            let approval = match event.approval.filter(|_| event.registered) {
                None => "",
                Some("approved") => ", approved",
                Some("outdated") => ", changed since it was approved",
                Some("switched-off") => ", switched off",
                Some(_) => ", not approved",
            };
            let last = match event.last_ms {
                Some(at_ms) => ago(at_ms, now_ms),
                // Most of these calls end without the daemon, which counts them.
                None if event.event == HookEvent::PreToolUse.name() => {
                    "never refused a call here".to_owned()
                }
                None => "never ran here".to_owned(),
            };
            let _ = writeln!(out, "  {:<22} {registered}{approval}, {last}", event.event);
        }
    }
    out
}

/// Lists the files of a host that cannot be read, with the remedy.
fn add_unreadable(out: &mut String, title: &str, host: &HostDocumentEntry) {
    for UnreadableHostFile { file, reason } in &host.unreadable {
        let _ = writeln!(
            out,
            "  cannot be read: {}: {}; {title} may start no hook of it: repair the file, then run \
             moai-ralph init --host {}",
            sanitized_name(file),
            one_line(reason, MESSAGE_CHARS_MAX),
            host.host
        );
    }
}

fn ago(at_ms: u64, now_ms: u64) -> String {
    let minutes = now_ms.saturating_sub(at_ms) / 60_000;
    let (number, unit) = match minutes {
        0 => return "ran here less than a minute ago".to_owned(),
        1..60 => (minutes, "minute"),
        60..1440 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    format!(
        "last ran here {} ago",
        super::count_noun(usize::try_from(number).unwrap_or(usize::MAX), unit)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_can_everything_has_no_limits() {
        assert!(host_limits(HostKind::ClaudeCode.profile()).is_empty());
        let limits = host_limits(HostKind::OpenCode.profile());
        assert!(limits[0].starts_with("OpenCode: a one-shot run cannot be held"), "{limits:?}");
    }

    #[test]
    fn a_registration_says_what_to_do_next() {
        let files = [RegisteredFile { path: "/p/.codex/hooks.json".into(), words: "written" }];
        let text = registration_text(HostKind::Codex, &files, false);
        assert!(text.starts_with("/p/.codex/hooks.json: written\nIn Codex, run /hooks"), "{text}");
        assert_eq!(
            registration_text(HostKind::Codex, &files, true),
            "/p/.codex/hooks.json: written\n"
        );
    }
}
