//! Cost of the memory for a hook: the same hook with and without it, in turn, against one daemon.

use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{PROGRAM, Sandbox, finish};
use crate::table::{Figure, Samples, Table};

/// Prompts that the memory holds before anything is measured.
const KEPT: usize = 300;
/// Calls of each kind.
const CALLS: usize = 200;
/// Pairs before the first that counts.
const WARM_UP: usize = 10;
/// Time that the memory adds to a hook: p50 minus p50.
const HOOK_BUDGET: Figure = Figure::Milliseconds(3.0);
/// Time that it adds to the start of a session.
const START_BUDGET: Figure = Figure::Milliseconds(30.0);

/// One hook in both ways.
struct RecallPair {
    on: Vec<Duration>,
    off: Vec<Duration>,
}

pub(crate) fn measure(table: &mut Table) {
    let sandbox = Sandbox::new();
    for number in 0..KEPT {
        let text =
            format!("결정 {number}: 모듈 module_{number}는 캐시 cache_{number}를 쓰기로 했다");
        call(&sandbox, "user-prompt-submit", &prompt(&sandbox, "kept", &text), true);
    }
    let prompts = pairs(&sandbox, |number| {
        let text = format!("module_{number}의 캐시를 고쳐줘");
        ("user-prompt-submit", prompt(&sandbox, "now", &text))
    });
    add(table, "hook user-prompt-submit", prompts, HOOK_BUDGET);
    let edits = pairs(&sandbox, |number| {
        let file = sandbox.path("app.py");
        let text = format!("value = {number}\n");
        let before = std::fs::read_to_string(&file).ok();
        sandbox.write("app.py", &text);
        let mut input = sandbox.payload("PostToolUse-Write");
        input["tool_input"] = json!({"file_path": file, "content": text});
        input["tool_response"] =
            json!({"type": "update", "filePath": file, "content": text, "originalFile": before});
        ("post-tool-use", input)
    });
    add(table, "hook post-tool-use, an edit", edits, HOOK_BUDGET);
    let starts = pairs(&sandbox, |number| {
        let mut input = sandbox.payload("SessionStart-startup");
        input["session_id"] = json!(format!("start-{number}"));
        ("session-start", input)
    });
    add(table, "hook session-start", starts, START_BUDGET);
}

fn prompt(sandbox: &Sandbox, session: &str, text: &str) -> Value {
    let mut input = sandbox.payload("UserPromptSubmit");
    input["session_id"] = json!(session);
    input["prompt"] = json!(text);
    input
}

fn pairs(sandbox: &Sandbox, input: impl Fn(usize) -> (&'static str, Value)) -> RecallPair {
    let mut pair = RecallPair { on: Vec::new(), off: Vec::new() };
    for number in 0..WARM_UP + CALLS {
        // The order changes, so that neither profits from the other.
        let order = if number % 2 == 0 { [true, false] } else { [false, true] };
        for (which, is_on) in order.into_iter().enumerate() {
            let (event, input) = input(2 * number + which);
            let took = call(sandbox, event, &input, is_on);
            if number >= WARM_UP {
                if is_on { &mut pair.on } else { &mut pair.off }.push(took);
            }
        }
    }
    pair
}

fn call(sandbox: &Sandbox, event: &str, input: &Value, is_on: bool) -> Duration {
    let mut command = std::process::Command::new(PROGRAM);
    sandbox.prepare(&mut command);
    command.env("MOAI_RALPH_MEMORY_ENABLED", is_on.to_string());
    command.args(["hook", event]).stderr(Stdio::null());
    let begun = Instant::now();
    let output = finish(&mut command, &input.to_string());
    let took = begun.elapsed();
    assert_eq!(output.code, 0, "{event}: {output:?}");
    took
}

fn add(table: &mut Table, name: &str, pair: RecallPair, budget: Figure) {
    let (on, off) = (Samples::new(pair.on), Samples::new(pair.off));
    table.base(&format!("{name}, no memory"), &off);
    let added = on.p50().saturating_sub(off.p50()).as_secs_f64() * 1_000.0;
    let name = format!("{name}, memory: added to p50");
    table.budgeted(&name, Some(&on), Figure::Milliseconds(added), budget);
}
