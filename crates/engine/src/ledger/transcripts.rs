//! The transcripts of a session: how far they have been read, and the tokens counted in them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use moai_base::limits::{
    TRANSCRIPT_FILES_MAX, TRANSCRIPT_LINE_BYTES_MAX, TRANSCRIPT_READ_BYTES_MAX,
    WORKER_TASK_BYTES_MAX,
};
use moai_base::verdict::{Cause, Gap};
use moai_host::files;
use moai_host::files::{TailPosition, read_tail};
use moai_protocol::transcript::{ContextSize, TranscriptTally, TranscriptThread, first_task};

/// The state kept between two readings.
#[derive(Debug, Default)]
pub(crate) struct Spending {
    pub(crate) tally: TranscriptTally,
    pub(crate) tails: BTreeMap<PathBuf, TailPosition>,
    /// Why the session's own transcript was not read to its end.
    pub(crate) unread: Option<Gap>,
}

impl Spending {
    /// Reads on from the last position; the gap tells why something was not read.
    pub(crate) fn read(&mut self, transcript: &Path) -> Option<Gap> {
        let mut bytes_left = TRANSCRIPT_READ_BYTES_MAX;
        let gap = self.read_file(transcript, TranscriptThread::Main, &mut bytes_left).err();
        self.unread.clone_from(&gap);
        if gap.as_ref().is_some_and(|gap| gap.cause == Cause::Loading) {
            return gap;
        }
        let (paths, is_cut) = subagent_transcripts(transcript);
        let cut = is_cut.then(|| {
            let detail = format!("more than {TRANSCRIPT_FILES_MAX} subagents");
            Gap::new(Cause::Skipped, detail)
        });
        let mut gap = gap.or(cut);
        for path in paths {
            // With fewer bytes left, an ordinary line would count as too long.
            if bytes_left < TRANSCRIPT_LINE_BYTES_MAX {
                return Some(read_later());
            }
            match self.read_file(&path, TranscriptThread::Subagent, &mut bytes_left) {
                Err(unread) if unread.cause == Cause::Loading => return Some(unread),
                Err(unread) => drop(gap.get_or_insert(unread)),
                Ok(()) => {}
            }
        }
        gap
    }

    fn read_file(
        &mut self,
        path: &Path,
        thread: TranscriptThread,
        bytes_left: &mut usize,
    ) -> Result<(), Gap> {
        let tail = self.tails.entry(path.to_path_buf()).or_default();
        let grown = read_tail(path, tail, *bytes_left).map_err(|error| {
            Gap::new(Cause::Skipped, format!("a transcript cannot be read: {error}"))
        })?;
        grown.text.lines().for_each(|line| self.tally.add_line(line, thread));
        self.tally.add_junk_lines(grown.long_lines, thread);
        *bytes_left -= grown.bytes;
        if grown.has_more { Err(read_later()) } else { Ok(()) }
    }

    /// The present size of the context; a gap if the transcript was not read to its end.
    pub(crate) fn context(&self) -> Result<ContextSize, Gap> {
        if let Some(gap) = &self.unread {
            return Err(gap.clone());
        }
        let detail = "no reply in the transcript since the context started or was compacted";
        self.tally.context().cloned().ok_or_else(|| Gap::new(Cause::Loading, detail))
    }
}

fn read_later() -> Gap {
    Gap::new(Cause::Loading, "the rest of the transcript has not been read yet")
}

/// The files `<session>/subagents/agent-*.jsonl` next to `<session>.jsonl`, and whether there are
/// more than are read. Hosts without subagent transcripts have no such folder.
fn subagent_transcripts(transcript: &Path) -> (Vec<PathBuf>, bool) {
    let folder = transcript.with_extension("").join("subagents");
    let Ok(entries) = fs::read_dir(folder) else { return (Vec::new(), false) };
    let mut paths: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(is_subagent_file))
        .map(|entry| entry.path())
        .take(TRANSCRIPT_FILES_MAX + 1)
        .collect();
    paths.sort();
    let is_cut = paths.len() > TRANSCRIPT_FILES_MAX;
    paths.truncate(TRANSCRIPT_FILES_MAX);
    (paths, is_cut)
}

/// The task of a subagent, from the beginning of its transcript. Blocks.
pub(crate) fn subagent_task(transcript: &Path, agent: &str) -> Option<String> {
    let is_name = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    if !agent.chars().all(is_name) {
        return None;
    }
    let name = format!("agent-{agent}.jsonl");
    let path = transcript.with_extension("").join("subagents").join(name);
    let mut bytes = Vec::new();
    let file = files::open_regular(&path).ok()?;
    file.take(WORKER_TASK_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    first_task(&String::from_utf8_lossy(&bytes))
}

fn is_subagent_file(name: &str) -> bool {
    name.strip_prefix("agent-").is_some_and(|rest| rest.strip_suffix(".jsonl").is_some())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn line(id: &str, output: u64) -> String {
        let usage = json!({"input_tokens": 1, "output_tokens": output});
        let message = json!({"id": id, "model": "claude-opus-4-6", "usage": usage});
        format!("{}\n", json!({"type": "assistant", "requestId": id, "message": message}))
    }

    #[test]
    fn subagents_count_and_copied_lines_count_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let transcript = folder.path().join("session.jsonl");
        let agents = folder.path().join("session/subagents");
        fs::create_dir_all(&agents).expect("made");
        fs::write(&transcript, line("a", 10)).expect("written");
        fs::write(agents.join("agent-1.jsonl"), line("b", 20) + &line("a", 2)).expect("written");
        fs::write(agents.join("notes.txt"), line("c", 40)).expect("written");
        let mut spending = Spending::default();
        assert_eq!(spending.read(&transcript), None);
        assert_eq!(spending.tally.usage(0).total().output, 30);
        fs::write(agents.join("agent-2.jsonl"), line("d", 5)).expect("written");
        let more = line("a", 10) + &line("e", 1);
        fs::write(&transcript, more).expect("written");
        assert_eq!(spending.read(&transcript), None);
        assert_eq!(spending.tally.usage(0).total().output, 36);
        assert_eq!(spending.context().map(|context| context.tokens), Ok(2), "the last of its own");
        fs::remove_file(&transcript).expect("there");
        assert!(spending.read(&transcript).is_some());
        assert!(spending.context().is_err(), "an unread transcript leaves the context unknown");
    }

    #[test]
    fn an_unreadable_transcript_is_a_gap_and_not_zero_tokens() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut spending = Spending::default();
        let gap = spending.read(&folder.path().join("none.jsonl"));
        assert_eq!(gap.as_ref().map(|gap| gap.cause), Some(Cause::Skipped));
        assert_eq!(spending.context().err(), gap);
    }
}
