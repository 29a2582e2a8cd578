//! The same edit as each host reports it, compared with that of Claude Code, alternately: a different form of
//! the input must not cost more. Claude Code has a separate event after which the disk is polled
//! (`PostToolBatch`); for the others one hook does both. No language server takes part.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{SESSION, Sandbox, finish};
use crate::table::{Figure, Samples, Table, times};

/// Edits that count with each host, and those before them.
const EDITS: usize = 100;
const WARM_UP: usize = 5;
/// The hook of another host by the two of Claude Code: p50 by p50.
const BUDGET: Figure = Figure::Times(1.25);
/// The hosts, the one that the others are compared with first.
const HOSTS: [&str; 4] = ["claude-code", "codex", "copilot", "opencode"];
const FILE: &str = "app.py";

pub(crate) fn measure(table: &mut Table) {
    let mut sandbox = Sandbox::new();
    sandbox.set("MOAI_RALPH_LSP_ENABLED", "false");
    sandbox.write(FILE, &text(0));
    sandbox.commit();
    let mut samples = HOSTS.map(|_| Vec::new());
    let mut edit = 0;
    for round in 0..WARM_UP + EDITS {
        for (host, samples) in HOSTS.iter().zip(&mut samples) {
            edit += 1;
            let took = time(&sandbox, host, edit);
            if round >= WARM_UP {
                samples.push(took);
            }
        }
    }
    let [claude_code, others @ ..] = samples.map(Samples::new);
    table.base("hooks post-tool-use and post-tool-batch, edit", &claude_code);
    for (host, samples) in HOSTS[1..].iter().zip(&others) {
        let ratio = times(samples.p50(), claude_code.p50());
        let name = format!("hook post-tool-use, edit by {host}: p50 by p50");
        table.budgeted(&name, Some(samples), ratio, BUDGET);
    }
}

fn text(edit: usize) -> String {
    format!("word = {edit}\n")
}

fn time(sandbox: &Sandbox, host: &'static str, edit: usize) -> Duration {
    sandbox.write(FILE, &text(edit));
    let input = payload(sandbox, host, edit);
    let took = time_hook(sandbox, host, "post-tool-use", &input);
    if host != HOSTS[0] {
        return took;
    }
    let mut batch = sandbox.payload("PostToolBatch");
    batch["tool_calls"] = json!([{
        "tool_name": "Edit", "tool_use_id": input["tool_use_id"], "tool_input": input["tool_input"],
    }]);
    took + time_hook(sandbox, host, "post-tool-batch", &batch)
}

fn time_hook(sandbox: &Sandbox, host: &str, event: &str, input: &Value) -> Duration {
    let (mut command, input) = (sandbox.program(), input.to_string());
    command.args(["hook", "--host", host, event]);
    let begun = Instant::now();
    let output = finish(&mut command, &input);
    let elapsed = begun.elapsed();
    assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{host}: {output:#?}");
    elapsed
}

/// The edit from the text before to the present one, as the host reports it.
fn payload(sandbox: &Sandbox, host: &str, edit: usize) -> Value {
    let (path, old, new) = (sandbox.path(FILE), text(edit - 1), text(edit));
    let mut input = match host {
        "claude-code" => sandbox.payload("PostToolUse-Edit"),
        "codex" => sandbox.payload("codex/PostToolUse-apply_patch-update"),
        "copilot" => sandbox.payload("copilot/PostToolUse-Edit"),
        _ => json!({
            "hook_event_name": "PostToolUse", "session_id": SESSION, "cwd": sandbox.root(),
            "tool_name": "edit", "tool_response": null,
        }),
    };
    input["tool_use_id"] = format!("edit-{edit}").into();
    input["tool_input"] = match host {
        "claude-code" => json!({"file_path": path, "old_string": old, "new_string": new}),
        "codex" => json!({"command": format!(
            "*** Begin Patch\n*** Update File: {FILE}\n@@\n-{old}+{new}*** End Patch\n"
        )}),
        "copilot" => json!({"path": path, "old_str": old, "new_str": new}),
        _ => json!({"filePath": path, "oldString": old, "newString": new}),
    };
    match host {
        "claude-code" => input["tool_response"] = json!({"filePath": path, "originalFile": old}),
        "copilot" => {
            // Its events differ in their times.
            input["timestamp"] = format!("2026-01-01T00:00:{:06.3}Z", time_of(edit)).into();
        }
        _ => {}
    }
    input
}

/// Seconds of a time that no other edit has.
fn time_of(edit: usize) -> f64 {
    Duration::from_millis(u64::try_from(edit).unwrap_or_default()).as_secs_f64()
}
