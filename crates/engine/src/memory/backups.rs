//! `memory backup` and `memory restore`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::replies::{MemoryReply, reply};
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
        repeated: 0,
        ids: Vec::new(),
        rejected: Vec::new(),
        rejected_total: 0,
        file: Some(file.to_string_lossy().into_owned()),
    }
}
