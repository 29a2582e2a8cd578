//! The time of a Stop of a running loop without the answers of language servers: the changed files,
//! the scan, the guard, the exam, the checkpoint and the store.

use std::time::Instant;

use crate::edits::source;
use crate::support::{SESSION, Sandbox, finish};
use crate::table::{Figure, Samples, Table};

/// Files that differ from the last commit at every Stop.
const CHANGED: usize = 20;
/// Files that do not.
const UNCHANGED: usize = 200;
/// Functions of each, which make about 150 lines.
const FUNCTIONS: usize = 8;
/// Stops that count, and those before them.
const STOPS: usize = 25;
const WARM_UP: usize = 3;
/// All of it, middle value. There is nothing to compare it with, so this is a time.
const BUDGET: Figure = Figure::Milliseconds(150.0);

pub(crate) fn measure(table: &mut Table) {
    let mut sandbox = Sandbox::new();
    sandbox.set("MOAI_RALPH_LSP_ENABLED", "false");
    for module in 0..CHANGED + UNCHANGED {
        sandbox.write(&format!("part_{module}/module.py"), &source(module, FUNCTIONS));
    }
    sandbox.commit();
    // The promise is never given, so that the loop holds every Stop.
    let start = ["loop", "start", "--session", SESSION, "--prompt", "Mend it", "--max-iterations"];
    let started = sandbox.run(&[&start[..], &["1000", "--completion-promise", "DONE"]].concat());
    assert_eq!(started.code, 0, "{started:#?}");
    let input = sandbox.payload("Stop").to_string();
    let mut samples = Vec::new();
    for stop in 0..WARM_UP + STOPS {
        for module in 0..CHANGED {
            let text = format!("{}# {stop}\n", source(module, FUNCTIONS));
            sandbox.write(&format!("part_{module}/module.py"), &text);
        }
        let mut command = sandbox.program();
        command.args(["hook", "stop"]);
        let begun = Instant::now();
        let output = finish(&mut command, &input);
        if stop >= WARM_UP {
            samples.push(begun.elapsed());
        }
        assert_eq!(output.json()["decision"], "block", "{output:#?}");
    }
    let samples = Samples::new(samples);
    let took = Figure::Milliseconds(samples.p50().as_secs_f64() * 1000.0);
    let name = format!("hook stop, loop, {CHANGED} of {} files changed", CHANGED + UNCHANGED);
    table.budgeted(&name, Some(&samples), took, BUDGET);
}
