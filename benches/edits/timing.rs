//! What an answer takes beside the least a client of the same server needs, alternately, both warm.

use std::fs;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::play::servers::{Natural, Server, on_path};
use crate::play::stage::Stage;
use crate::play::{planted_lines, sample};
use crate::raw_client::{RawClient, Start};

/// Pairs of edits, an error and its end, measured with each client.
const PAIRS: usize = 6;
/// Pairs before the first that counts.
const WARM_UP: usize = 2;
/// Between two edits, so that what a server does after its answer is in nobody's time.
const PAUSE: Duration = Duration::from_millis(500);

/// Middle times of the hook and of the raw client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) hook: Duration,
    pub(crate) raw: Duration,
}

impl Timing {
    /// How many times as long the hook takes.
    pub(crate) fn ratio(&self) -> f64 {
        self.hook.as_secs_f64() / self.raw.as_secs_f64()
    }
}

/// `Err` says why one of the two has no answer.
pub(crate) fn measure(stage: &Stage<'_>, server: &'static Server) -> Result<Timing, String> {
    let file = server.package.edited[0];
    let clean = stage.read(file);
    let mut raw = start(stage, server, file, &clean)?;
    let (mut hooks, mut raws, mut last) = (Vec::new(), Vec::new(), clean.clone());
    for pair in 0..WARM_UP + PAIRS {
        for is_wrong in [true, false] {
            // Each has a text of its own, because a server may remember what it saw; and each is
            // the first in turn, because the other's server may still be at work.
            for turn in 0..2 {
                let is_hook = (pair + turn) % 2 == 0;
                let number = pair * 2 + usize::from(is_hook);
                let text = if is_wrong { sample(server, &clean, number) } else { clean.clone() };
                sleep(PAUSE);
                if is_hook {
                    hooks.push(by_hook(stage, server, file, &last, &text)?);
                } else {
                    raws.push(by_hand(&mut raw, stage, server, file, &text)?);
                }
                if is_hook || server.natural == Natural::SaveAndPublish {
                    last = text;
                }
            }
        }
        if pair + 1 == WARM_UP {
            hooks.clear();
            raws.clear();
        }
    }
    Ok(Timing { hook: middle(hooks), raw: middle(raws) })
}

fn middle(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn start(stage: &Stage<'_>, server: &Server, file: &str, text: &str) -> Result<RawClient, String> {
    let command = server.command(stage).ok_or("its program is not there")?;
    let python = on_path("python3").map(|path| path.display().to_string());
    let start = Start {
        command,
        root: &stage.root,
        settings: json!({"python": {"pythonPath": python}}),
        options: server.initialization_options(),
        is_pulling: server.natural == Natural::Pull,
        language_id: server.language_id,
        file: &stage.path(file),
        text,
    };
    Ok(RawClient::start(start))
}

/// From before the hook's process starts to after it has ended.
fn by_hook(
    stage: &Stage<'_>,
    server: &Server,
    file: &str,
    before: &str,
    after: &str,
) -> Result<Duration, String> {
    stage.write(file, after);
    let (output, elapsed) = stage.hook("post-tool-use", &stage.edited(file, before, after));
    let said = output.context();
    let wanted = if planted_lines(after).is_empty() { "fixed" } else { server.name };
    let is_answer = said.contains(wanted) && !said.contains("not measured");
    if is_answer { Ok(elapsed) } else { Err(format!("the hook said: {said:?}")) }
}

/// Until the server's word about this text.
fn by_hand(
    raw: &mut RawClient,
    stage: &Stage<'_>,
    server: &Server,
    file: &str,
    text: &str,
) -> Result<Duration, String> {
    let wrong = planted_lines(text);
    let is_right = |lines: &[u64]| {
        let is_told = wrong.iter().all(|line| lines.contains(line));
        is_told && (!wrong.is_empty() || lines.is_empty())
    };
    let begun = Instant::now();
    if server.natural == Natural::SaveAndPublish {
        fs::write(stage.path(file), text).expect("the stage is ours");
    }
    raw.change(text);
    if server.natural == Natural::SaveAndPublish {
        raw.save();
    }
    loop {
        let lines = match server.natural {
            Natural::Pull => raw.pull(),
            Natural::Publish | Natural::SaveAndPublish => {
                raw.published().ok_or("the server publishes nothing")?
            }
        };
        if is_right(&lines) {
            return Ok(begun.elapsed());
        }
    }
}
