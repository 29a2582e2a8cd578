//! Compares the time of an answer with that of a minimal client of the same server that knows as much,
//! alternately, both warm.
//!
//! The hook is a process, the other client is not: the time of a hook that asks no server at all (start of
//! the process, the way to the daemon and back, the project's options) is measured in the same run and
//! subtracted from the answer. The client has two times: until it has seen the right list, which only a bench
//! can recognize, and until it can know that this was the last.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::play::servers::{Natural, Server, on_path};
use crate::play::stage::Stage;
use crate::play::{planted_lines, sample};
use crate::raw_client::{RawClient, Start};

/// Pairs of edits, an error and its end, measured with each client.
const PAIRS: usize = 10;
/// Pairs before the first that counts.
const WARM_UP: usize = 2;
/// Pause between two edits, so that no measurement includes a server's work after its answer.
const PAUSE: Duration = Duration::from_millis(500);
/// A file that no sensor handles.
const UNASKED: &str = "notes.txt";

#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    /// Of the hook, from before its process starts to after it has ended.
    pub(crate) hook: Duration,
    /// Of a hook that asks no server.
    pub(crate) bare: Duration,
    /// Until the comparing client saw the right list.
    pub(crate) seen: Duration,
    /// Until it knows that no other follows.
    pub(crate) known: Duration,
    /// Hooks whose answer was left to the next one, because it took far longer than usual; neither they nor
    /// the hook after each are in the times.
    pub(crate) late: usize,
}

impl Timing {
    /// The engine's time for the answer, without the time of every hook.
    pub(crate) fn answer(&self) -> Duration {
        self.hook.saturating_sub(self.bare)
    }

    /// Ratio of the engine's time to that of the minimal client.
    pub(crate) fn ratio(&self) -> f64 {
        self.answer().as_secs_f64() / self.known.as_secs_f64()
    }
}

/// The times of each kind, in the order in which they were taken.
#[derive(Debug, Default)]
struct Times {
    hook: Vec<Duration>,
    bare: Vec<Duration>,
    seen: Vec<Duration>,
    known: Vec<Duration>,
    late: usize,
}

/// `Err` is the reason why one of the clients has no answer.
pub(crate) fn measure(stage: &Stage<'_>, server: &'static Server) -> Result<Timing, String> {
    let file = server.package.edited[0];
    let clean = stage.read(file);
    let mut raw = start(stage, server, file, &clean)?;
    let (mut times, mut last, mut was_late) = (Times::default(), clean.clone(), false);
    for pair in 0..WARM_UP + PAIRS {
        if pair == WARM_UP {
            times = Times::default();
        }
        for is_wrong in [true, false] {
            // Each has a different text, because a server may remember what it saw; and each is the first in
            // turn, because the other's server may still be working.
            for turn in 0..2 {
                let is_hook = (pair + turn) % 2 == 0;
                let number = pair * 2 + usize::from(is_hook);
                let text = if is_wrong { sample(server, &clean, number) } else { clean.clone() };
                sleep(PAUSE);
                if is_hook {
                    was_late = match by_hook(stage, server, file, &last, &text) {
                        Said::Late => true,
                        // It tells two edits in one, or none.
                        _ if was_late => false,
                        Said::Answer(time) => {
                            times.hook.push(time);
                            false
                        }
                        Said::Other(said) => return Err(format!("the hook said: {said:?}")),
                    };
                    times.late += usize::from(was_late);
                    times.bare.push(by_bare_hook(stage, pair));
                } else {
                    let (seen, known) = by_hand(&mut raw, stage, server, file, &text)?;
                    times.seen.push(seen);
                    times.known.push(known);
                }
                if is_hook || server.natural == Natural::SaveAndCheck {
                    last = text;
                }
            }
        }
    }
    let Times { hook, bare, seen, known, late } = times;
    if hook.len() < PAIRS {
        return Err(format!("{late} answers came late"));
    }
    let [hook, bare, seen, known] = [hook, bare, seen, known].map(middle);
    Ok(Timing { hook, bare, seen, known, late })
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn start(stage: &Stage<'_>, server: &Server, file: &str, text: &str) -> Result<RawClient, String> {
    let command = server.command(stage).ok_or("its program is not there")?;
    let python = on_path("python3").map(|path| path.display().to_string());
    let is_checking = server.natural == Natural::SaveAndCheck;
    let start = Start {
        command,
        root: &stage.root,
        settings: json!({"python": {"pythonPath": python}}),
        options: server.initialization_options(),
        is_pulling: is_checking || server.natural == Natural::Pull,
        wants_progress: is_checking,
        language_id: server.language_id,
        file: &stage.path(file),
        text,
    };
    let mut client = RawClient::start(start);
    if is_checking && !client.wait_until_loaded() {
        return Err("the server does not load the project".to_owned());
    }
    Ok(client)
}

/// A hook's text.
enum Said {
    /// The correct result, after this time: from before its process started to after it has ended.
    Answer(Duration),
    /// The answer follows.
    Late,
    Other(String),
}

fn by_hook(stage: &Stage<'_>, server: &Server, file: &str, before: &str, after: &str) -> Said {
    stage.write(file, after);
    let (output, elapsed) = stage.hook("post-tool-use", &stage.edited(file, before, after));
    let said = output.context();
    let wanted = if planted_lines(after).is_empty() { "fixed" } else { server.name };
    match () {
        () if said.contains("it follows") => Said::Late,
        () if said.contains(wanted) && !said.contains("not measured") => Said::Answer(elapsed),
        () => Said::Other(said),
    }
}

/// Time of a hook for a file without a sensor.
fn by_bare_hook(stage: &Stage<'_>, number: usize) -> Duration {
    let text = format!("{number}\n");
    stage.write(UNASKED, &text);
    let (output, elapsed) = stage.hook("post-tool-use", &stage.edited(UNASKED, "", &text));
    assert!(output.stdout.trim().is_empty(), "nobody is asked: {output:#?}");
    elapsed
}

/// Time until the server's result for this text was seen, and until it is known to be the last.
fn by_hand(
    raw: &mut RawClient,
    stage: &Stage<'_>,
    server: &Server,
    file: &str,
    text: &str,
) -> Result<(Duration, Duration), String> {
    let wrong = planted_lines(text);
    let is_right = |lines: &[u64]| {
        let is_told = wrong.iter().all(|line| lines.contains(line));
        is_told && (!wrong.is_empty() || lines.is_empty())
    };
    let silent = || "the server publishes nothing".to_owned();
    let begun = Instant::now();
    if server.natural == Natural::SaveAndCheck {
        fs::write(stage.path(file), text).expect("the stage is ours");
    }
    raw.change(text);
    loop {
        let lines = match server.natural {
            Natural::Pull => raw.pull(),
            Natural::SaveAndCheck => checked(raw).ok_or("no cargo check begins and ends")?,
            _ => raw.published().ok_or_else(silent)?,
        };
        if !is_right(&lines) {
            continue;
        }
        let seen = begun.elapsed();
        let last = match server.natural {
            Natural::Pull | Natural::Publish | Natural::SaveAndCheck => lines,
            Natural::PublishAndIdle if raw.wait_for(is_idle) => raw.last_published().to_vec(),
            Natural::PublishAndIdle => return Err("the server is never idle".to_owned()),
            Natural::PublishAndQuiet => {
                let mut last = lines;
                while let Some(lines) = raw.published_within(server.quiet()) {
                    last = lines;
                }
                last
            }
        };
        if is_right(&last) {
            return Ok((seen, begun.elapsed()));
        }
    }
}

fn is_idle(method: &str, params: &Value) -> bool {
    method == "textDocument/clangd.fileStatus" && params["state"] == "idle"
}

/// Both results of rust-analyzer: the compiler's, published in a run after the save, and its own.
fn checked(raw: &mut RawClient) -> Option<Vec<u64>> {
    raw.save();
    for kind in ["begin", "end"] {
        let is_it = |method: &str, params: &Value| {
            let is_check = params["token"].as_str().is_some_and(|it| it.contains("flycheck"));
            method == "$/progress" && is_check && params["value"]["kind"] == kind
        };
        raw.wait_for(is_it).then_some(())?;
    }
    let own = raw.pull();
    Some([raw.last_published(), &own].concat())
}
