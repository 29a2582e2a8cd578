//! Changed files whose modification time is older than their last change, or than the loop: these came with a
//! folder that was moved. Build tools that compare times (Cargo, make, Ninja) may then reuse a result of
//! other contents, so the checks may not have run these files.

use std::io::Read as _;
use std::path::Path;

use crate::hooks::hook_call::HookCall;
use crate::restore::checkpoints::{self, TreeSnapshot};
use moai_base::evidence::{SensorKind, SensorReading};
use moai_base::limits::FILE_WRITE_MS_MAX;
use moai_base::path::RelPath;
use moai_base::tree::{FileKind, FileTree};
use moai_base::verdict::{Cause, Gap};
use moai_guard::run_files::MAKEFILES;
use moai_host::files::{FileStamp, open_regular};
use moai_loops::state::LoopState;

/// The reading for files with such times.
pub(super) async fn reading(
    call: &HookCall<'_>,
    state: &LoopState,
    measured: &TreeSnapshot,
) -> Option<SensorReading> {
    if !measured.tree.nodes.keys().any(is_of_build) {
        return None;
    }
    // Without it, the measurements name the gap.
    let start = checkpoints::start_snapshot(call.engine, &call.project, &state.id).await.ok()?;
    // The files of an earlier loop may be older than this one.
    let is_first = state.continues.is_none();
    let start_ns = if is_first { i128::from(state.created_ms) * 1_000_000 } else { 0 };
    let older = stale_files(&call.project.root, &start.tree, measured, start_ns);
    if older.is_empty() {
        return None;
    }
    let (detail, remedy) = moai_report::loops::older_than_change(&older);
    let gap = Gap::new(Cause::ProjectFault, detail).with_remedy(remedy);
    Some(SensorReading::unmeasured("times", SensorKind::Guard, gap))
}

/// Files of build tools that compare times, other than makefiles.
const BUILD_FILES: [&str; 4] = ["Cargo.toml", "CMakeLists.txt", "build.ninja", "meson.build"];

/// True if a file belongs to a build tool that compares times.
fn is_of_build(path: &RelPath) -> bool {
    let name = path.file_name();
    BUILD_FILES.contains(&name) || MAKEFILES.contains(&name)
}

/// The changed files that build tools may consider unchanged. They have no earlier result of new files.
fn stale_files(
    root: &Path,
    start: &FileTree,
    measured: &TreeSnapshot,
    start_ns: i128,
) -> Vec<RelPath> {
    let now = &measured.tree;
    let is_stale = |path: &RelPath| {
        let (Some(before), Some(node)) = (start.nodes.get(path), now.nodes.get(path)) else {
            return false;
        };
        let stamp = measured.stamps.of_file(path);
        let is_late = |it: &FileStamp| it.lag_ms() > FILE_WRITE_MS_MAX;
        before.content != node.content
            && stamp.is_some_and(|it| is_late(it) || !it.is_modified_since(start_ns))
            && node.kind != FileKind::Link
            && !is_script(&path.under(root))
    };
    start.changed_paths(now).into_iter().filter(is_stale).collect()
}

/// True if a file is run directly; making it executable changes it without a write.
fn is_script(file: &Path) -> bool {
    let mut first = Vec::new();
    let read = open_regular(file).and_then(|file| file.take(2).read_to_end(&mut first));
    read.is_ok() && first == b"#!"
}
