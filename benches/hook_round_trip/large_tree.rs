//! The poll for other programs' changes in a large project: several hooks at once, each of a different
//! session, compared with a single one. They may share a poll, but none may be served by one that began
//! before it asked. No language server takes part.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::{Sandbox, finish};
use crate::table::{Figure, Samples, Table, times};

/// Folders, and files in each: 45,000 files.
const FOLDERS: usize = 1_500;
const FILES_IN_FOLDER: usize = 30;
const AT_ONCE: usize = 8;
/// Rounds that count, and those before them.
const ROUNDS: usize = 12;
const WARM_UP: usize = 2;
/// The last of the hooks at once by one alone, middle values.
const BUDGET: Figure = Figure::Times(1.5);

pub(crate) fn measure(table: &mut Table) {
    let mut sandbox = Sandbox::new();
    sandbox.set("MOAI_RALPH_LSP_ENABLED", "false");
    for folder in 0..FOLDERS {
        for file in 0..FILES_IN_FOLDER {
            sandbox.write(&format!("part_{folder}/module_{file}.py"), "value = 1\n");
        }
    }
    sandbox.commit();
    let inputs: Vec<String> = (0..AT_ONCE).map(|number| input(&sandbox, number)).collect();
    for input in &inputs {
        let _ = time_look(&sandbox, input);
    }
    let (mut alone, mut at_once) = (Vec::new(), Vec::new());
    for round in 0..WARM_UP + ROUNDS {
        let one = time_look(&sandbox, &inputs[0]);
        let last = time_all(&sandbox, &inputs);
        if round >= WARM_UP {
            alone.push(one);
            at_once.push(last);
        }
    }
    let (alone, at_once) = (Samples::new(alone), Samples::new(at_once));
    let files = FOLDERS * FILES_IN_FOLDER;
    table.base(&format!("hook post-tool-batch, {files} files"), &alone);
    let name = format!("hook post-tool-batch, {files} files, last of {AT_ONCE} at once");
    table.budgeted(&name, Some(&at_once), times(at_once.p50(), alone.p50()), BUDGET);
}

/// A batch of one command, in a session of its own.
fn input(sandbox: &Sandbox, number: usize) -> String {
    let mut input = sandbox.payload("PostToolBatch-Bash-failed");
    input["session_id"] = Value::from(format!("00000000-0000-4000-8000-{number:012}"));
    input.to_string()
}

fn time_look(sandbox: &Sandbox, input: &str) -> Duration {
    let mut command = sandbox.program();
    command.args(["hook", "post-tool-batch"]);
    let begun = Instant::now();
    let output = finish(&mut command, input);
    let elapsed = begun.elapsed();
    assert_eq!((output.code, output.stdout.as_str()), (0, ""), "{output:#?}");
    elapsed
}

/// The longest of all, which begin together.
fn time_all(sandbox: &Sandbox, inputs: &[String]) -> Duration {
    let begin = &Barrier::new(inputs.len());
    let times: Vec<Duration> = thread::scope(|scope| {
        let mut threads = Vec::new();
        for input in inputs {
            threads.push(scope.spawn(move || {
                begin.wait();
                time_look(sandbox, input)
            }));
        }
        threads.into_iter().map(|one| one.join().expect("a hook does not panic")).collect()
    });
    times.into_iter().max().expect("there are several")
}
