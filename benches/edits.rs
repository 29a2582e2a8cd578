//! The program's answers after random edits of real packages, compared with batch tools, per real
//! language server: `cargo bench --bench edits [-- LANGUAGE|SERVER|PROJECT…]`. Projects with old findings
//! get honest and breaking edits: `past` names all of them.
//!
//! `MOAI_RALPH_EDITS_SEED` and `MOAI_RALPH_EDITS_STEPS` change the play, `MOAI_RALPH_EDITS_TRIALS`
//! the number of honest and of breaking edits. Ends with 1 when a budget is exceeded, with 4 when
//! something could not be measured.

#[path = "edits/download.rs"]
mod download;
#[path = "edits/past/past.rs"]
mod past;
#[path = "edits/play.rs"]
mod play;
#[path = "hook_round_trip/raw_client.rs"]
mod raw_client;
#[path = "hook_round_trip/resident.rs"]
mod resident;
#[path = "../tests/it/support.rs"]
#[expect(dead_code, reason = "shared with the tests, which use the rest")]
mod support;
#[path = "edits/table.rs"]
mod table;
#[path = "edits/timing.rs"]
mod timing;

use std::io::Write as _;
use std::process::ExitCode;

use past::projects::{HECK_PAST, PastProject, REQUESTS_PAST, RXJS_PAST};
use past::tally::{EditTally, PastTable};
use past::trial::{TrialPlan, run_trial};
use play::servers::{SERVERS, Server};
use play::stage::Stage;
use support::{Sandbox, test_cache};
use table::Table;

/// Steps of a play.
const STEPS: usize = 40;
/// Projects with a past.
const PROJECTS: [&PastProject; 3] = [&REQUESTS_PAST, &RXJS_PAST, &HECK_PAST];
/// Honest edits of each project with a past, and as many breaking ones.
const TRIAL_EDITS: usize = 20;
const SEED: u64 = 1;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|it| !it.starts_with('-')).collect();
    let is_wanted = |server: &&Server| {
        let is_named = |name: &String| name == server.name || name == server.language;
        wanted.is_empty() || wanted.iter().any(is_named)
    };
    let mut sandbox = Sandbox::with_data(&test_cache().join("data"));
    play::servers::environment(&mut sandbox);
    let (mut table, mut complaints) = (Table::default(), Vec::new());
    let (steps, seed) =
        (number("STEPS", STEPS), number("SEED", usize::try_from(SEED).unwrap_or(1)));
    for server in SERVERS.iter().filter(is_wanted) {
        let seed = u64::try_from(seed).unwrap_or(SEED);
        complaints.extend(one(&sandbox, server, steps, seed, &mut table));
    }
    if SERVERS.iter().any(|server| is_wanted(&server)) {
        engine(&sandbox, &mut table);
    }
    let plan = TrialPlan {
        honest: number("TRIALS", TRIAL_EDITS),
        breaking: number("TRIALS", TRIAL_EDITS),
        seed: u64::try_from(seed).unwrap_or(SEED),
    };
    let is_tried = |project: &&&PastProject| {
        wanted.is_empty() || wanted.iter().any(|name| name == "past" || name == project.name)
    };
    let mut trials = PastTable::default();
    for project in PROJECTS.iter().filter(is_tried) {
        trials.0.extend(trial(&sandbox, project, plan, &mut table));
    }
    complaints.extend(trials.0.iter().flat_map(EditTally::complaints));
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "seed {seed}\n{table}{trials}{}", complaints.join("\n"));
    let is_good = trials.0.iter().all(|tally| tally.complaints().is_empty());
    ExitCode::from(if is_good { table.exit_code() } else { table::EXCEEDED })
}

/// Tries one project with a past; none if its server is not installed, which the table reports.
fn trial(
    sandbox: &Sandbox,
    project: &'static PastProject,
    plan: TrialPlan,
    table: &mut Table,
) -> Option<EditTally> {
    let server = SERVERS.iter().find(|server| server.name == project.server);
    let server = server.expect("a project with a past names a row");
    if let Err(reason) = server.install(sandbox) {
        table.unmeasured(project.name, &reason);
        return None;
    }
    let _ = writeln!(std::io::stderr(), "trying {}", project.name);
    let stage = Stage::new(sandbox, project.name);
    Some(run_trial(&stage, server, project, plan))
}

fn number(name: &str, default: usize) -> usize {
    let value = std::env::var(format!("MOAI_RALPH_EDITS_{name}")).ok();
    value.map_or(default, |value| value.parse().expect("the variable is a number"))
}

/// Plays with one server and measures its answers; returns its wrong answers.
fn one(
    sandbox: &Sandbox,
    server: &'static Server,
    steps: usize,
    seed: u64,
    table: &mut Table,
) -> Vec<String> {
    if let Err(reason) = server.install(sandbox) {
        table.unmeasured(server.name, &reason);
        return Vec::new();
    }
    let _ = writeln!(std::io::stderr(), "playing with {}", server.name);
    let stage = Stage::with_layout(sandbox, server.name, server.layout(seed));
    server.lay(&stage);
    let score = play::play(&stage, server, steps, seed);
    let complaints: Vec<String> =
        score.complaints().into_iter().map(|it| format!("{}: {it}", server.name)).collect();
    if !complaints.is_empty() {
        // A wrong answer seldom returns with its seed: servers differ in time from run to run.
        let _ = writeln!(std::io::stderr(), "{}", score.journal.join("\n"));
    }
    let timing = timing::measure(&stage, server);
    table.add(server.name, score, timing);
    complaints
}

/// The engine's memory while all servers of the run are alive.
fn engine(sandbox: &Sandbox, table: &mut Table) {
    let status = sandbox.run(&["daemon", "status", "--json"]).json();
    let servers = status["servers"].as_array().map_or(0, Vec::len);
    match resident::megabytes(&status["pid"]) {
        Ok(megabytes) => table.engine(megabytes, servers),
        Err(reason) => table.unmeasured("engine", &reason),
    }
}
