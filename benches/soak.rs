//! Growth of the daemon: `cargo bench --bench soak`. Many sessions in many projects send hooks to one daemon;
//! some clients are killed in the middle of a call, some send garbage.
//!
//! `MOAI_RALPH_SOAK_HOOKS` sets the number of hooks, `MOAI_RALPH_SOAK_SEED` their sequence. Ends with 1 when
//! a budget is exceeded, and panics when an answer is wrong or a process is left over.

#[path = "soak/resources.rs"]
mod resources;
#[path = "edits/seeded_random.rs"]
#[expect(dead_code, reason = "shared with the bench of edits, which uses the rest")]
mod seeded_random;
#[path = "soak/sessions.rs"]
mod sessions;
#[path = "../tests/it/support.rs"]
#[expect(dead_code, reason = "shared with the tests, which use the rest")]
mod support;

use std::env;
use std::io::Write as _;
use std::process::ExitCode;

use serde_json::json;

use resources::Resources;
use sessions::{Soak, Tally};
use support::Sandbox;

/// Hooks of a whole run; the first measurement is after a fifth of them.
const HOOKS: usize = 10_000;
const WARM_UP_PART: usize = 5;

/// Budgets of the second measurement, compared with the first.
const MEMORY_RATIO_MAX: f64 = 1.25;
/// Language servers come and go: each has three pipes, and threads that read them.
const DESCRIPTORS_MORE_MAX: usize = 20;
const THREADS_MORE_MAX: usize = 20;

fn main() -> ExitCode {
    let number = |name: &str| env::var(name).ok().and_then(|text| text.parse().ok());
    let hooks = number("MOAI_RALPH_SOAK_HOOKS").unwrap_or(HOOKS).max(WARM_UP_PART);
    let seed = number("MOAI_RALPH_SOAK_SEED").unwrap_or(1) as u64;
    let mut sandbox = Sandbox::new();
    // A daemon that has nothing to do keeps no server for minutes.
    sandbox.set("MOAI_RALPH_LSP_IDLE_SECS", "5");
    sandbox.fake_server(
        "pyright-langserver",
        json!({"errors": [{"needle": "BAD", "message": "bad word", "code": "badWord"}]}),
    );
    let soak = Soak::new(&sandbox, seed);
    let warm_up = hooks / WARM_UP_PART;
    let mut tally = soak.send(warm_up, 0);
    let first = Resources::of_idle_daemon(&sandbox);
    tally += soak.send(hooks - warm_up, 1);
    let last = Resources::of_idle_daemon(&sandbox);
    let is_within = report(&tally, (warm_up, &first), (hooks, &last));
    drop(sandbox);
    ExitCode::from(u8::from(!is_within))
}

/// Prints the table; whether all budgets are kept.
fn report(tally: &Tally, first: (usize, &Resources), last: (usize, &Resources)) -> bool {
    let ratio = last.1.megabytes / first.1.megabytes;
    let rows = [
        (
            "resident memory, MB",
            first.1.megabytes,
            last.1.megabytes,
            format!("{ratio:.2} of at most {MEMORY_RATIO_MAX}"),
            ratio <= MEMORY_RATIO_MAX,
        ),
        count_row(
            "open file descriptors",
            first.1.descriptors,
            last.1.descriptors,
            DESCRIPTORS_MORE_MAX,
        ),
        count_row("threads", first.1.threads, last.1.threads, THREADS_MORE_MAX),
    ];
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{tally}");
    let _ = writeln!(
        out,
        "{:24} {:>12} {:>12}",
        "",
        format!("{} hooks", first.0),
        format!("{} hooks", last.0)
    );
    for (name, before, after, budget, is_within) in &rows {
        let verdict = if *is_within { "ok" } else { "OVER" };
        let _ = writeln!(out, "{name:24} {before:>12.1} {after:>12.1}  {budget}  {verdict}");
    }
    rows.iter().all(|row| row.4)
}

type Row = (&'static str, f64, f64, String, bool);

fn count_row(name: &'static str, before: usize, after: usize, more_max: usize) -> Row {
    let budget = format!("at most {more_max} more");
    let shown = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    (name, shown(before), shown(after), budget, after <= before + more_max)
}
