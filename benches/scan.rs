//! Compares the scan with the ast-grep program, over the same code with the same rules:
//! `cargo bench --bench scan [-- same|cold|again|file|rules]…`.
//!
//! Ends with 1 when a budget is exceeded or the findings differ.

#[path = "edits/download.rs"]
mod download;
#[path = "scan/own.rs"]
mod own;
#[path = "scan/sameness.rs"]
mod sameness;
#[path = "../tests/it/support.rs"]
#[expect(dead_code, reason = "shared with the tests, which use the rest")]
mod support;

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use moai_base::hash::ContentHash;
use moai_base::path::RelPath;
use moai_scan::{RuleSet, scan_here, scan_text};
use sameness::code::{self, CodeBase, DJANGO};
use sameness::program::Program;
use sameness::{compare, files, plain};
use support::Sandbox;

/// Minimum ratio of the program's time to that of a cold scan of a project with the built-in rules. With few
/// rules both do little more than parse, with the same parsers.
const COLD_RATIO_MIN: f64 = 1.6;
/// Minimum ratio of the program's time to that of a repeated scan of an unchanged project.
const AGAIN_RATIO_MIN: f64 = 30.0;
/// Memory of a cold scan of 500,000 lines, at most, in MB (10⁶ bytes).
const MEMORY_MB_MAX: f64 = 150.0;
/// Maximum ratio of the time of all built-in rules on one text in the warm engine to that of [`ROOT_RULE`],
/// which does little more than parse. Parsing 1,000 lines takes 2 to 5 ms, depending on the machine.
const FILE_RATIO_MAX: f64 = 1.7;
/// A rule that matches the root of a tree only.
const ROOT_RULE: &str = "id: root\nlanguage: python\nrule: {kind: module}\n";
/// The part of the time of a scan that one rule may take.
const RULE_SHARE_MAX: f64 = 0.05;
/// Pairs of scans, one of each, alternately.
const PAIRS: usize = 7;
/// Scans of one text.
const FILE_SCANS: usize = 200;
const THREADS: usize = 2;

/// Prints its measurements; true if its budget is kept.
type Section = fn(&Sandbox) -> bool;

fn main() -> ExitCode {
    // Cargo adds `--bench`.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|it| it != "--bench").collect();
    if let [own, project] = wanted.as_slice()
        && own == own::ARGUMENT
    {
        return own::scan_project(Path::new(project), THREADS);
    }
    let sections: [(&str, Section); 5] =
        [("same", same), ("cold", cold), ("again", again), ("file", file), ("rules", rules)];
    let sandbox = Sandbox::new();
    let mut kept = true;
    for (name, section) in sections {
        if wanted.is_empty() || wanted.iter().any(|it| it == name) {
            kept &= section(&sandbox);
        }
    }
    ExitCode::from(u8::from(!kept))
}

fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// A separate project with this code and these rules.
fn lay(sandbox: &Sandbox, name: &str, code: &CodeBase, rules: &[(String, String)]) -> PathBuf {
    let project = sandbox.base().join("projects").join(name).join(code.name);
    fs::create_dir_all(&project).expect("the sandbox is writable");
    let project = fs::canonicalize(project).expect("it is there");
    code.lay(&project);
    plain::lay(&project, rules);
    project
}

/// Both find the same in every code base.
fn same(sandbox: &Sandbox) -> bool {
    let program = Program::installed();
    let mut is_same = true;
    for (name, rules) in [("probes", plain::probes()), ("built-in", plain::built_in())] {
        let set = RuleSet::load(rules.clone());
        for code in code::ALL {
            let project = lay(sandbox, name, code, &rules);
            let same = compare(&program, &project, &set);
            say(&format!(
                "same: {name}, {}: {} findings of {} rules in {} files ({} refused); \
                 {} missing, {} added",
                code.name,
                same.findings,
                same.rules,
                same.files,
                same.refused,
                same.missing.len(),
                same.added.len()
            ));
            for place in same.missing.iter().chain(&same.added).take(5) {
                say(&format!("    {place:?}"));
            }
            is_same &= same.missing.is_empty() && same.added.is_empty();
        }
    }
    is_same
}

/// Compares a cold scan of a project, in a separate process, with the program.
fn cold(sandbox: &Sandbox) -> bool {
    let program = Program::installed();
    let mut kept = true;
    let sets = [("probes", plain::probes(), 0.0), ("built-in", plain::built_in(), COLD_RATIO_MIN)];
    for (name, rules, ratio_min) in sets {
        let project = lay(sandbox, &format!("cold-{name}"), &DJANGO, &rules);
        let (mut own, mut theirs, mut memory) = (Vec::new(), Vec::new(), 0.0_f64);
        for _ in 0..PAIRS {
            let (elapsed, output) = timed(&mut own::command(&project));
            own.push(elapsed);
            memory = memory.max(own::memory(&output));
            theirs.push(timed(&mut program.command(&project, THREADS)).0);
        }
        let (own, theirs) = (middle(own), middle(theirs));
        let ratio = theirs.as_secs_f64() / own.as_secs_f64();
        say(&format!(
            "cold: {name}, {}: {own:.2?}, the program {theirs:.2?}: {ratio:.2} times as fast \
             (at least {ratio_min}); {memory:.0} MB (at most {MEMORY_MB_MAX})",
            DJANGO.name
        ));
        kept &= ratio >= ratio_min && memory <= MEMORY_MB_MAX;
    }
    kept
}

/// Compares `moai-ralph scan` with the built-in rules, a first and a repeated run, with the program and
/// the same rules.
fn again(sandbox: &Sandbox) -> bool {
    let project = lay(sandbox, "again", &DJANGO, &[]);
    let with_rules = lay(sandbox, "again-plain", &DJANGO, &plain::built_in());
    let program = Program::installed();
    let (mut first, mut second, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let home = sandbox.base().join(format!("home-{pair}"));
        let scan = || {
            let mut command = sandbox.program();
            command.current_dir(&project).env("MOAI_RALPH_HOME", &home);
            timed(command.args(["scan", "--format", "jsonl", "code"]))
        };
        let ((cold, found), (warm, found_again)) = (scan(), scan());
        assert!(!found.is_empty() && found == found_again, "the same twice");
        first.push(cold);
        second.push(warm);
        theirs.push(timed(&mut program.command(&with_rules, THREADS)).0);
    }
    let (first, second, theirs) = (middle(first), middle(second), middle(theirs));
    let times = |of: Duration, as_fast_as: Duration| of.as_secs_f64() / as_fast_as.as_secs_f64();
    let ratio = times(theirs, second);
    say(&format!(
        "again: moai-ralph scan, built-in, {}: {first:.2?}, repeated {second:.2?}; the program \
         {theirs:.2?}: repeated {ratio:.1} times as fast (at least {AGAIN_RATIO_MIN}), the first \
         {:.2} times; repeated {:.1} times as fast as the first",
        DJANGO.name,
        times(theirs, first),
        times(first, second)
    ));
    ratio >= AGAIN_RATIO_MIN
}

fn timed(command: &mut Command) -> (Duration, String) {
    let begun = Instant::now();
    let output = command.output().expect("the program starts");
    let elapsed = begun.elapsed();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{command:?}: {output:?}");
    (elapsed, String::from_utf8_lossy(&output.stdout).into_owned())
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// One text of 1,000 lines, all built-in rules, in a warm engine.
fn file(sandbox: &Sandbox) -> bool {
    let project = lay(sandbox, "file", &DJANGO, &[]);
    let path = RelPath::below(&project, &project.join("base.py")).expect("below the root");
    let folder = project.join("code/unpacked/django-5.2.8.tar.gz/django-5.2.8/django");
    let source = fs::read_to_string(folder.join("db/models/base.py")).expect("a module of Django");
    let text: String = source.split_inclusive('\n').take(1000).collect();
    let hash = ContentHash::of_bytes(text.as_bytes());
    let root_rule = RuleSet::load([("root.yml".to_owned(), ROOT_RULE.to_owned())]);
    let timed = |rules: &RuleSet| {
        let begun = Instant::now();
        let outcome = scan_text(rules, &path, &text, hash);
        let elapsed = begun.elapsed();
        assert_eq!(outcome.gap, None);
        elapsed
    };
    let (mut all_rules, mut one_rule) = (Vec::new(), Vec::new());
    for _ in 0..=FILE_SCANS {
        all_rules.push(timed(RuleSet::built_in()));
        one_rule.push(timed(&root_rule));
    }
    // The first of each compiles the rules.
    let percentiles = |times: &mut Vec<Duration>| {
        times.remove(0);
        times.sort_unstable();
        [times[FILE_SCANS / 2], times[FILE_SCANS * 95 / 100]]
    };
    let [p50, p95] = percentiles(&mut all_rules);
    let [root_p50, root_p95] = percentiles(&mut one_rule);
    let ratio = p50.as_secs_f64() / root_p50.as_secs_f64();
    say(&format!(
        "file: 1,000 lines, {} bytes: p50 {p50:.2?}, p95 {p95:.2?}; a rule for the root only \
         {root_p50:.2?}, {root_p95:.2?}: {ratio:.2} times as long (at most {FILE_RATIO_MAX})",
        text.len()
    ));
    ratio <= FILE_RATIO_MAX
}

/// Share of each built-in rule in a scan's time.
fn rules(sandbox: &Sandbox) -> bool {
    let mut kept = true;
    for code in code::ALL {
        let project = lay(sandbox, "rules", code, &[]);
        let mut costs = BTreeMap::<String, Duration>::new();
        let begun = Instant::now();
        for file in files(&project) {
            let path = RelPath::below(&project, &file).expect("below the root");
            let Ok(text) = fs::read_to_string(&file) else { continue };
            let hash = ContentHash::of_bytes(text.as_bytes());
            // The time before the first try is for reading and parsing.
            let mut last = None;
            let mut tried = |rule: &str| {
                let cost = last.map_or(Duration::ZERO, |last: Instant| last.elapsed());
                match costs.get_mut(rule) {
                    Some(sum) => *sum += cost,
                    None => drop(costs.insert(rule.to_owned(), cost)),
                }
                last = Some(Instant::now());
            };
            let _ = scan_here(RuleSet::built_in(), &path, &text, hash, &mut tried);
        }
        let total = begun.elapsed().as_secs_f64();
        let share = |cost: &Duration| cost.as_secs_f64() / total;
        let matching: f64 = costs.values().map(share).sum();
        say(&format!("rules: {}: {total:.2} s, {:.0} % in rules", code.name, matching * 100.0));
        let mut costs: Vec<(String, Duration)> = costs.into_iter().collect();
        costs.sort_by_key(|(_, cost)| std::cmp::Reverse(*cost));
        for (rule, cost) in costs.iter().take(8) {
            say(&format!("    {rule}: {:.1} %", share(cost) * 100.0));
        }
        kept &= costs.iter().all(|(_, cost)| share(cost) <= RULE_SHARE_MAX);
    }
    kept
}
