//! Cost of the program for its host: `cargo bench --bench hook_round_trip`.
//!
//! Machines differ and are shared, so no budget is a time: each is a ratio of two things measured
//! alternately in this run, except the memory of the idle daemon, the time of a loop's Stop, and the
//! pure parts of a pipeline. Ends with 1 when a budget is exceeded, with 4 when something could not be
//! measured.

#[path = "hook_round_trip/edits.rs"]
mod edits;
#[path = "hook_round_trip/hosts.rs"]
mod hosts;
#[path = "hook_round_trip/large_tree.rs"]
mod large_tree;
#[path = "hook_round_trip/memory.rs"]
mod memory;
#[path = "hook_round_trip/pipelines.rs"]
mod pipelines;
#[path = "hook_round_trip/project_check.rs"]
mod project_check;
#[path = "hook_round_trip/raw_client.rs"]
#[expect(dead_code, reason = "shared with the bench of edits, which uses the rest")]
mod raw_client;
#[path = "hook_round_trip/recall.rs"]
mod recall;
#[path = "hook_round_trip/resident.rs"]
mod resident;
#[path = "hook_round_trip/starts.rs"]
mod starts;
#[path = "hook_round_trip/stops.rs"]
mod stops;
#[path = "../tests/it/support.rs"]
#[expect(dead_code, reason = "shared with the tests, which use the rest")]
mod support;
#[path = "hook_round_trip/table.rs"]
mod table;

use std::io::Write as _;
use std::process::ExitCode;

use support::Sandbox;
use table::Table;

fn main() -> ExitCode {
    let mut table = Table::default();
    let process_start = {
        let sandbox = Sandbox::new();
        let process_start = starts::measure(&sandbox, &mut table);
        memory::measure(&sandbox, &mut table);
        process_start
    };
    hosts::measure(&mut table);
    recall::measure(&mut table);
    pipelines::measure(&mut table);
    stops::measure(&mut table);
    large_tree::measure(&mut table);
    edits::measure(process_start, &mut table);
    project_check::measure(&mut table);
    let _ = write!(std::io::stdout().lock(), "{table}");
    ExitCode::from(table.exit_code())
}
