//! Projects with a past: honest edits are not blamed for old findings, and end their loops; every breaking
//! edit is held and reported.

use std::io::Write as _;

use crate::past::projects::{HECK_PAST, PastProject, REQUESTS_PAST, RXJS_PAST};
use crate::past::tally::PastTable;
use crate::past::trial::{TrialPlan, run_trial};
use crate::play::servers::{SERVERS, environment};
use crate::play::stage::Stage;
use crate::servers::project;

/// The bench makes more of them, from more seeds.
const PLAN: TrialPlan = TrialPlan { honest: 5, breaking: 3, seed: 1 };

fn check(past: &'static PastProject) {
    let mut sandbox = project();
    environment(&mut sandbox);
    let server = SERVERS.iter().find(|server| server.name == past.server);
    let server = server.expect("a project with a past names a row");
    let stage = Stage::new(&sandbox, past.name);
    let tally = run_trial(&stage, server, past, PLAN);
    let complaints = tally.complaints();
    let _ = writeln!(std::io::stderr(), "{}", PastTable(vec![tally]));
    assert!(complaints.is_empty(), "{complaints:#?}");
}

#[test]
fn old_findings_of_python_are_not_held_against_honest_edits() {
    check(&REQUESTS_PAST);
}

#[test]
fn old_findings_of_typescript_are_not_held_against_honest_edits() {
    check(&RXJS_PAST);
}

#[test]
fn old_findings_of_rust_are_not_held_against_honest_edits() {
    check(&HECK_PAST);
}
