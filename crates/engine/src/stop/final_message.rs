//! The agent's final message where the host does not send it with a Stop: it is in the transcript, which may
//! be written only after the hook has started.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::engine::run_blocking;
use crate::hooks::hook_call::HookCall;
use moai_base::limits::{LAST_WORDS_BYTES_MAX, LAST_WORDS_MS_MAX, LAST_WORDS_POLL_MS};
use moai_host::files::open_regular;
use moai_protocol::hosts::LastWords;
use moai_protocol::hosts::last_words::last_words;

/// Adds the agent's final message to the input of a Stop. An unreadable promise does not count.
pub(super) async fn complete(call: &mut HookCall<'_>) {
    let input = &mut call.input;
    let is_late = input.host.profile().last_words == LastWords::Transcript;
    if !is_late || input.last_assistant_message.is_some() {
        return;
    }
    let Some(transcript) = input.transcript_path.clone().filter(|path| path.is_absolute()) else {
        return;
    };
    // A Stop without an event time gets the message that is already there.
    let stop_time = input.event_time().unwrap_or_default().to_owned();
    let deadline = Instant::now() + Duration::from_millis(LAST_WORDS_MS_MAX);
    loop {
        let path = transcript.clone();
        let read = run_blocking(move || read_end(&path)).await.flatten();
        input.last_assistant_message = read.and_then(|end| last_words(&end, &stop_time));
        if input.last_assistant_message.is_some() || Instant::now() >= deadline {
            return;
        }
        tokio::time::sleep(Duration::from_millis(LAST_WORDS_POLL_MS)).await;
    }
}

/// The end of a file, from the first whole character on.
fn read_end(path: &Path) -> Option<String> {
    let mut file = open_regular(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LAST_WORDS_BYTES_MAX))).ok()?;
    let mut bytes = Vec::new();
    file.take(LAST_WORDS_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
