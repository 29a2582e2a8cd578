//! Runs a parser on changed samples: a fixed number of them, or for the time that the environment
//! sets. A failure is reduced to the fewest changes that still cause it.

use std::cell::Cell;
use std::env;
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};
use rustix::time::{ClockId, clock_gettime};

use crate::mutation::{Mutation, mutation};

/// Samples of one target in an ordinary run.
const CASES: u32 = 128;
/// The same for a target that parses whole programs.
const COSTLY_CASES: u32 = 16;
/// Changes of one sample.
const MUTATIONS_MAX: usize = 6;
/// Processor time for one sample of at most 128 KiB, in an unoptimized build.
const CASE_MS_MAX: u128 = 2_000;
const COSTLY_CASE_MS_MAX: u128 = 15_000;
/// Bytes of an answer per byte of input, and for an empty one.
const ANSWER_FACTOR_MAX: usize = 64;
const ANSWER_BYTES_MAX: usize = 256 * 1024;
/// Reducing a failure ends after this many attempts.
const SHRINK_STEPS_MAX: u32 = 2_000;
const SHRINK_MS_MAX: u32 = 60_000;

/// Sets the time of each target in seconds, instead of a number of samples.
const SECONDS_VARIABLE: &str = "MOAI_RALPH_FUZZ_SECS";
/// Sets where the sequence of changes begins.
const SEED_VARIABLE: &str = "MOAI_RALPH_FUZZ_SEED";

/// Calls `parse` with changed samples. It returns the size of its result, in bytes, and panics if a property
/// does not hold. Every sample itself is tried first.
pub(crate) fn fuzz(target: &str, samples: &[Vec<u8>], parse: fn(&[u8]) -> usize) {
    run(&Target { name: target, samples, parse, cases: CASES, case_ms_max: CASE_MS_MAX });
}

/// Like [`fuzz`], for a parser that takes long.
pub(crate) fn fuzz_costly(target: &str, samples: &[Vec<u8>], parse: fn(&[u8]) -> usize) {
    run(&Target {
        name: target,
        samples,
        parse,
        cases: COSTLY_CASES,
        case_ms_max: COSTLY_CASE_MS_MAX,
    });
}

struct Target<'a> {
    name: &'a str,
    samples: &'a [Vec<u8>],
    parse: fn(&[u8]) -> usize,
    /// Samples of one batch.
    cases: u32,
    case_ms_max: u128,
}

fn run(target: &Target<'_>) {
    assert!(!target.samples.is_empty(), "{} needs samples", target.name);
    for sample in target.samples {
        run_case(target, sample);
    }
    let number = |variable: &str| env::var(variable).ok().and_then(|text| text.parse().ok());
    let (seconds, seed) = (number(SECONDS_VARIABLE), number(SEED_VARIABLE));
    let (limit, first) = (Duration::from_secs(seconds.unwrap_or(0)), seed.unwrap_or(1));
    let (started, mut batches, mut slowest) = (Instant::now(), 0, Duration::ZERO);
    while batches == 0 || started.elapsed() < limit {
        slowest = slowest.max(run_batch(target, first.wrapping_add(batches)));
        batches += 1;
    }
    let (cases, took) = (batches * u64::from(target.cases), started.elapsed());
    let summary = format!("{cases} inputs in {took:.1?}, the slowest {slowest:.1?}");
    let _ = writeln!(std::io::stdout().lock(), "{}: {summary}", target.name);
}

/// The processor time of the slowest input.
fn run_batch(target: &Target<'_>, seed: u64) -> Duration {
    let config = Config {
        cases: target.cases,
        failure_persistence: None,
        max_shrink_iters: SHRINK_STEPS_MAX,
        max_shrink_time: SHRINK_MS_MAX,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    let changes = prop::collection::vec(mutation(), 1..=MUTATIONS_MAX);
    let slowest = Cell::new(Duration::ZERO);
    let outcome = TestRunner::new_with_rng(config, rng).run(
        &(any::<Index>(), changes),
        |(which, changes): (Index, Vec<Mutation>)| {
            let took = run_case(target, &changed(target.samples, which, &changes));
            slowest.set(slowest.get().max(took));
            Ok::<(), TestCaseError>(())
        },
    );
    if let Err(TestError::Fail(reason, (which, changes))) = outcome {
        let input = changed(target.samples, which, &changes);
        let (name, input) = (target.name, input.escape_ascii());
        panic!("{name}, seed {seed}: {reason}\n{changes:#?}\n{input}");
    }
    slowest.get()
}

fn changed(samples: &[Vec<u8>], which: Index, changes: &[Mutation]) -> Vec<u8> {
    let mut input = samples[which.index(samples.len())].clone();
    for change in changes {
        change.apply(&mut input, samples);
    }
    input
}

/// The processor time of one input. It is left in a file while it is tried, because an exhausted
/// stack ends the process.
fn run_case(target: &Target<'_>, input: &[u8]) -> Duration {
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", target.name));
    fs::write(&kept, input).expect("the build folder can be written");
    let before = processor_time();
    let size = (target.parse)(input);
    let took = processor_time().saturating_sub(before);
    let bound = ANSWER_BYTES_MAX + input.len() * ANSWER_FACTOR_MAX;
    assert!(size <= bound, "{size} bytes were made of {}", input.len());
    assert!(took.as_millis() <= target.case_ms_max, "{} bytes took {took:?}", input.len());
    fs::remove_file(&kept).expect("it was just written");
    took
}

fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    let (seconds, nanoseconds) = (u64::try_from(now.tv_sec), u32::try_from(now.tv_nsec));
    Duration::new(seconds.expect("not negative"), nanoseconds.expect("below a second"))
}

/// The valid UTF-8 part of an input, as text.
pub(crate) fn text(input: &[u8]) -> String {
    String::from_utf8_lossy(input).into_owned()
}

/// The size of a value as it would be shown.
pub(crate) fn shown(value: &impl std::fmt::Debug) -> usize {
    format!("{value:?}").len()
}
