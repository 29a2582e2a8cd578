//! Random edits of real packages: nothing that was said is stale, nothing wrong is called clean, and
//! every error is found.

use std::io::Write as _;

use crate::play::play;
use crate::play::servers::{SERVERS, environment};
use crate::play::stage::Stage;
use crate::servers::project_in;
use crate::table::Table;

/// Steps of one play.
const STEPS: usize = 30;
/// The seed, unless the environment names another one.
const SEED: u64 = 1;

fn check(name: &str) {
    let named = std::env::var("MOAI_RALPH_EDITS_SEED").ok();
    let seed = named.map_or(SEED, |it| it.parse().expect("MOAI_RALPH_EDITS_SEED is a number"));
    let _ = writeln!(std::io::stderr(), "MOAI_RALPH_EDITS_SEED={seed}");
    let mut sandbox = project_in(&["python", "typescript", name]);
    environment(&mut sandbox);
    let stage = Stage::new(&sandbox, name);
    let server = SERVERS.iter().find(|server| server.name == name).expect("it has a row");
    server.lay(&stage);
    let score = play(&stage, server, STEPS, seed);
    let (complaints, journal) = (score.complaints(), &score.journal);
    let mut table = Table::default();
    table.add(server.name, score.clone(), Err("the bench measures it".to_owned()));
    let _ = writeln!(std::io::stderr(), "{table}");
    assert!(complaints.is_empty(), "seed {seed}: {complaints:#?}\n{journal:#?}\n{score:?}");
}

#[test]
fn pyright_after_random_edits() {
    check("pyright");
}

#[test]
fn basedpyright_after_random_edits() {
    check("basedpyright");
}

#[test]
fn typescript_after_random_edits() {
    check("typescript-language-server");
}

#[test]
fn typescript_7_after_random_edits() {
    check("typescript-native");
}
