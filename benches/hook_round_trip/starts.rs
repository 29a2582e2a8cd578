//! Compares a hook without work with the start of a minimal program, one after the other and several
//! at once.

use std::fs::File;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::support::{CHECKOUT, PROGRAM, Sandbox};
use crate::table::{Figure, Samples, Table, times};

/// The smallest program there is.
pub(crate) const TRUE: &str = "/bin/true";
/// Starts of each kind, one after the other.
const STARTS: usize = 400;
/// Hooks at once, as subagents cause them.
const AT_ONCE: usize = 8;
/// Starts of each kind in each of the threads.
const STARTS_AT_ONCE: usize = 60;
/// Starts of each kind before the first that counts.
const WARM_UP: usize = 20;
/// A hook with no work, warm daemon, alone, and the hook before a tool call: p50 by p50.
const ALONE_BUDGET: Figure = Figure::Times(4.0);
/// The same with concurrent hooks: p99.
const AT_ONCE_BUDGET: Figure = Figure::Times(12.0);

/// One process to start, with a file as its input.
#[derive(Clone, Debug)]
pub(crate) struct Start {
    program: PathBuf,
    arguments: Vec<&'static str>,
    input: PathBuf,
}

impl Start {
    pub(crate) fn new(program: impl AsRef<Path>, arguments: &[&'static str], input: &Path) -> Self {
        let (program, input) = (program.as_ref().to_path_buf(), input.to_path_buf());
        Self { program, arguments: arguments.to_vec(), input }
    }

    /// From before the start to the end of the process and of its output.
    fn time(&self, sandbox: &Sandbox) -> Duration {
        let mut command = Command::new(&self.program);
        sandbox.prepare(&mut command);
        let input = File::open(&self.input).expect("the input was just written");
        command.args(&self.arguments).stdin(input).stderr(Stdio::null());
        let begun = Instant::now();
        let output = command.output().expect("the program starts");
        let elapsed = begun.elapsed();
        assert!(output.status.success() && output.stdout.is_empty(), "{self:?}: {output:?}");
        elapsed
    }
}

/// Fills the table; returns the start time of the smallest program.
pub(crate) fn measure(sandbox: &Sandbox, table: &mut Table) -> Duration {
    let input = |name: &str| {
        let file = sandbox.base().join(format!("{name}.json"));
        std::fs::write(&file, sandbox.payload(name).to_string()).expect("the sandbox is writable");
        file
    };
    let (stop, bash) = (input("Stop"), input("PostToolUse-Bash"));
    let before_bash = input("PreToolUse-Bash");
    let launcher = Path::new(CHECKOUT).join("bin/moai-ralph");
    let smallest = Start::new(TRUE, &[], &stop);
    let on_stop = Start::new(PROGRAM, &["hook", "stop"], &stop);
    let on_tool = Start::new(PROGRAM, &["hook", "post-tool-use"], &bash);
    let before_tool = Start::new(PROGRAM, &["hook", "pre-tool-use"], &before_bash);
    let by_shell = Start::new(launcher, &["hook", "post-tool-use"], &bash);

    let alone = [smallest.clone(), on_stop.clone(), before_tool, on_tool, by_shell];
    alternate(sandbox, &alone, WARM_UP);
    let samples = alternate(sandbox, &alone, STARTS).map(Samples::new);
    let [bare, hook, before, no_work, through_launcher] = &samples;
    let ratio = |samples: &Samples| times(samples.p50(), bare.p50());
    table.base(TRUE, bare);
    table.budgeted("hook stop, no loop: p50 by p50", Some(hook), ratio(hook), ALONE_BUDGET);
    let name = "hook pre-tool-use, allowed: p50 by p50";
    table.budgeted(name, Some(before), ratio(before), ALONE_BUDGET);
    table.informational("hook post-tool-use, no work", no_work, ratio(no_work));
    let name = "hook post-tool-use, no work, launcher";
    table.informational(name, through_launcher, ratio(through_launcher));

    let (bare_at_once, hook_at_once) = at_once(sandbox, &[smallest, on_stop]);
    table.base(&format!("{TRUE}, {AT_ONCE} at once"), &bare_at_once);
    let name = |by: &str| format!("hook stop, {AT_ONCE} at once: p99 by {by}");
    let same_load = times(hook_at_once.p99(), bare_at_once.p99());
    table.budgeted(&name("p99 at once"), Some(&hook_at_once), same_load, AT_ONCE_BUDGET);
    let unloaded = times(hook_at_once.p99(), bare.p50());
    let bare_unloaded = times(bare_at_once.p99(), bare.p50());
    table.informational(
        &format!("{TRUE}, {AT_ONCE} at once: p99 by p50 alone"),
        &bare_at_once,
        bare_unloaded,
    );
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    if cores >= AT_ONCE {
        table.budgeted(&name("p50 alone"), Some(&hook_at_once), unloaded, AT_ONCE_BUDGET);
    } else {
        // Here the waiting for a core is most of it, for the smallest program, too.
        table.informational(&name("p50 alone"), &hook_at_once, unloaded);
        table.note(format!(
            "{AT_ONCE} at once on {cores} cores: `by p50 alone` has its budget from {AT_ONCE} cores on"
        ));
    }

    let log = sandbox.base().join("state/log/hook.log");
    assert!(!log.exists(), "a hook went without the daemon: {:?}", std::fs::read_to_string(log));
    bare.p50()
}

/// Starts each process in turn, `count` times over.
pub(crate) fn alternate<const N: usize>(
    sandbox: &Sandbox,
    starts: &[Start; N],
    count: usize,
) -> [Vec<Duration>; N] {
    let mut samples = [const { Vec::new() }; N];
    for _ in 0..count {
        for (samples, start) in samples.iter_mut().zip(starts) {
            samples.push(start.time(sandbox));
        }
    }
    samples
}

/// The same in several threads, so that each kind meets the load of all.
fn at_once(sandbox: &Sandbox, starts: &[Start; 2]) -> (Samples, Samples) {
    let parts: Vec<[Vec<Duration>; 2]> = thread::scope(|scope| {
        let work = || alternate(sandbox, starts, STARTS_AT_ONCE);
        let threads: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(work)).collect();
        threads.into_iter().map(|one| one.join().expect("a start does not panic")).collect()
    });
    let all = |at: usize| Samples::new(parts.iter().flat_map(|part| part[at].clone()).collect());
    (all(0), all(1))
}
