//! Random edits of real packages: nothing that was said is stale, nothing wrong is called clean, and
//! every error is found.

use std::io::Write as _;

use crate::play::play;
use crate::play::servers::{SERVERS, environment};
use crate::play::stage::Stage;
use crate::servers::{project, project_in};
use crate::support::Sandbox;
use crate::table::Table;

/// Steps of one play, unless `MOAI_RALPH_EDITS_STEPS` is set.
const STEPS: usize = 20;
/// The same of a server that takes its time.
const STEPS_OF_SLOW: usize = 10;
/// The same of jdtls, whose every answer takes a build.
const STEPS_OF_JAVA: usize = 6;
/// The seed, unless `MOAI_RALPH_EDITS_SEED` is set.
const SEED: u64 = 1;

fn check(name: &str) {
    check_in(project(), name, STEPS);
}

/// In a project where the server is installed.
fn check_in(mut sandbox: Sandbox, name: &str, steps: usize) {
    let seed = number_from("MOAI_RALPH_EDITS_SEED").unwrap_or(SEED);
    let steps = number_from("MOAI_RALPH_EDITS_STEPS").unwrap_or(steps);
    let _ =
        writeln!(std::io::stderr(), "MOAI_RALPH_EDITS_SEED={seed} MOAI_RALPH_EDITS_STEPS={steps}");
    environment(&mut sandbox);
    let server = SERVERS.iter().find(|server| server.name == name).expect("it has a row");
    let stage = Stage::with_layout(&sandbox, name, server.layout(seed));
    server.lay(&stage);
    let score = play(&stage, server, steps, seed);
    let (complaints, journal) = (score.complaints(), &score.journal);
    let mut table = Table::default();
    table.add(server.name, score.clone(), Err("the bench measures it".to_owned()));
    let _ = writeln!(std::io::stderr(), "{table}");
    assert!(complaints.is_empty(), "seed {seed}: {complaints:#?}\n{journal:#?}\n{score:?}");
}

fn number_from<T: std::str::FromStr>(variable: &str) -> Option<T> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

#[test]
fn pyright_after_random_edits() {
    check("pyright");
}

#[test]
fn basedpyright_after_random_edits() {
    check_in(project_in(&["python", "basedpyright"]), "basedpyright", STEPS);
}

#[test]
fn typescript_after_random_edits() {
    check("typescript-language-server");
}

#[test]
fn typescript_7_after_random_edits() {
    check("typescript-native");
}

#[test]
fn gopls_after_random_edits() {
    check("gopls");
}

#[test]
fn clangd_after_random_edits() {
    check_in(project_in(&["clangd"]), "clangd", STEPS_OF_SLOW);
}

#[test]
fn rust_analyzer_after_random_edits() {
    check_in(project(), "rust-analyzer", STEPS_OF_SLOW);
}

#[test]
fn intelephense_after_random_edits() {
    check_in(project_in(&["intelephense"]), "intelephense", STEPS_OF_SLOW);
}

#[test]
fn jdtls_after_random_edits() {
    check_in(project_in(&["jdtls"]), "jdtls", STEPS_OF_JAVA);
}
