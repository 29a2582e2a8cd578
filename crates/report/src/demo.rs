//! Texts of the demo: its steps, and the output of each hook.

use std::fmt::Write as _;
use std::time::Duration;

/// A step: `3. agent: writes app.py`, with the written text below it.
#[must_use]
pub fn step(number: usize, actor: &str, act: &str, detail: &str) -> String {
    let mut text = format!("\n{number}. {actor}: {act}\n");
    for line in detail.lines() {
        let _ = writeln!(text, "      {line}");
    }
    text
}

/// A hook's answer, and the time the host waited for it, including the start of its process.
#[must_use]
pub fn hook(event: &str, elapsed: Duration, said: &str) -> String {
    let mut text = format!("   hook {event} ({} ms)", elapsed.as_millis());
    if said.is_empty() {
        text.push_str(": no output\n");
        return text;
    }
    text.push('\n');
    for line in said.lines() {
        let _ = writeln!(text, "   | {line}");
    }
    text
}

/// The sensors of the demo.
#[must_use]
pub fn sensors(server: Option<&str>, rule_count: usize) -> String {
    match server {
        Some(server) => {
            format!("sensors: {server}, and the structural scan with {rule_count} rules\n")
        }
        None => format!(
            "sensors: the structural scan with {rule_count} rules; type errors are not measured \
             (moai-ralph server install python, or demo --install)\n"
        ),
    }
}

#[must_use]
pub fn end(status: &str, is_expected: bool) -> String {
    if is_expected {
        format!("\nThe loop ended as {status}.\n")
    } else {
        format!("\nThe loop ended as {status}, which is not the expected end of this demo.\n")
    }
}
