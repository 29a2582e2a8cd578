//! A check of the whole project: its time compared with that of its slowest sensor, and the time of an edit's
//! hook next to one compared with the same hook alone.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::edits::{FUNCTIONS, by_hook, source, with_pyright};
use crate::support::Sandbox;
use crate::table::{Figure, Samples, Table};

/// Modules of the project; all import one that changes before each check.
const MODULES: usize = 150;
const CHECKS: usize = 5;
/// Edits measured alone; next to checks, as many as there is time for.
const EDITS: usize = 20;
/// Edits before the first that counts.
const WARM_UP: usize = 4;
/// The time of a check by that of its slowest sensor.
const CHECK_BUDGET: Figure = Figure::Times(1.3);
/// The time of a hook next to a check by that of the hook alone.
const HOOK_BUDGET: Figure = Figure::Times(2.0);

/// Fills the table, or reports why it cannot.
pub(crate) fn measure(table: &mut Table) {
    let sandbox = match with_pyright() {
        Ok((sandbox, _)) => sandbox,
        Err(reason) => return table.unmeasured("check --all", &reason),
    };
    for module in 0..MODULES {
        let text = format!("from shared import LIMIT as SHARED\n{}", source(module, 2));
        sandbox.write(&format!("part_{module}.py"), &text);
    }
    sandbox.write("edited.py", &source(0, FUNCTIONS));
    sandbox.write("shared.py", "LIMIT: int = 0\n");
    sandbox.commit();
    let checks: Vec<ProjectCheck> = (0..CHECKS).map(|number| check(&sandbox, number)).collect();
    let times = Samples::new(checks.iter().map(|check| check.elapsed).collect());
    let sensors = Samples::new(checks.iter().map(|check| check.slowest_sensor).collect());
    let name = format!("check --all, {MODULES} modules");
    table.base(&format!("{name}: slowest sensor"), &sensors);
    table.budgeted(&name, Some(&times), ratio(&times, &sensors), CHECK_BUDGET);

    let file = sandbox.path("edited.py");
    let edit = |number: usize| by_hook(&sandbox, &file, number).elapsed;
    for number in 1..=WARM_UP {
        edit(number);
    }
    let alone = Samples::new((WARM_UP + 1..=WARM_UP + EDITS).map(edit).collect());
    let next_to_checks = std::thread::scope(|scope| {
        let checks = scope.spawn(|| {
            for number in CHECKS..2 * CHECKS {
                check(&sandbox, number);
            }
        });
        let mut times = Vec::new();
        while !checks.is_finished() {
            times.push(edit(WARM_UP + EDITS + 1 + times.len()));
        }
        // The last one was measured after the end of the checks, too.
        times.pop();
        Samples::new(times)
    });
    table.base("hook post-tool-use, an edit", &alone);
    let name = "hook post-tool-use, an edit next to a check";
    let figure = ratio(&next_to_checks, &alone);
    table.budgeted(name, Some(&next_to_checks), figure, HOOK_BUDGET);
}

struct ProjectCheck {
    elapsed: Duration,
    slowest_sensor: Duration,
}

/// A check after a change that all modules depend on.
fn check(sandbox: &Sandbox, number: usize) -> ProjectCheck {
    sandbox.write("shared.py", &format!("LIMIT: int = {number}\n"));
    let start = Instant::now();
    let output = sandbox.run(&["check", "--all", "--json"]);
    let elapsed = start.elapsed();
    let report: Value = serde_json::from_str(&output.stdout).expect("a report");
    let sensors = report["sensors"].as_array().into_iter().flatten();
    let slowest = sensors.filter_map(|sensor| sensor["elapsed_ms"].as_u64()).max();
    let slowest_sensor = Duration::from_millis(slowest.expect("a sensor has measured"));
    ProjectCheck { elapsed, slowest_sensor }
}

fn ratio(times: &Samples, base: &Samples) -> Figure {
    Figure::Times(times.p50().as_secs_f64() / base.p50().as_secs_f64())
}
