//! `memory backup` and `memory restore`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::replies::{MemoryRefusal, MemoryReply, reply};
use crate::engine::Engine;
use moai_protocol::control::CallerContext;
use moai_protocol::documents::json_text;
use moai_protocol::documents::memory::MemoryChangeDocument;
use moai_report::memory::change_text;

pub(super) async fn back_up(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    file: Option<PathBuf>,
    json: bool,
) -> MemoryReply {
    let file = file.map(|file| caller.cwd.join(file));
    let written = engine.memory.back_up(file).await?;
    let document = change("backup", "done", 0, &written);
    let text = change_text(&document);
    Ok(reply(json_text(&document), text, json))
}

pub(super) async fn restore(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    file: Option<PathBuf>,
    apply: bool,
    json: bool,
) -> MemoryReply {
    let file = file.map(|file| caller.cwd.join(file));
    let named = file.clone();
    if let Some(file) = named {
        // A file that cannot be restored is not evidence about the memory.
        let inspected = engine.memory.inspect_backup(Some(file.clone())).await;
        inspected.map_err(|error| MemoryRefusal::of_file(&file, error))?;
    }
    let document = if apply {
        let (backup, observations) = engine.memory.restore(file).await?;
        change("restore", "done", observations, &backup)
    } else {
        let (backup, observations) = engine.memory.inspect_backup(file).await?;
        change("restore", "preview", observations, &backup)
    };
    let text = change_text(&document);
    Ok(reply(json_text(&document), text, json))
}

fn change(
    command: &'static str,
    status: &'static str,
    observations: u64,
    file: &Path,
) -> MemoryChangeDocument {
    MemoryChangeDocument {
        command,
        status,
        observations,
        file: Some(file.to_string_lossy().into_owned()),
        ..MemoryChangeDocument::default()
    }
}
