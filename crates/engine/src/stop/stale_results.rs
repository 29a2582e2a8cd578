//! Files of the work that are older than their last change, as far as their time of modification says. Tools
//! that compare times (Cargo, make, Ninja) then take a result of other contents for a new one, so that the
//! checks may not have run what the files say.

use std::io::Read as _;
use std::path::Path;

use crate::hooks::hook_call::HookCall;
use crate::restore::checkpoints::{self, TreeSnapshot};
use moai_base::evidence::{SensorKind, SensorReading};
use moai_base::limits::FILE_WRITE_MS_MAX;
use moai_base::path::RelPath;
use moai_base::tree::{FileKind, FileTree};
use moai_base::verdict::{Cause, Gap};
use moai_host::files::open_regular;
use moai_loops::state::LoopState;

/// The reading for files with such times.
pub(super) async fn reading(
    call: &HookCall<'_>,
    state: &LoopState,
    measured: &TreeSnapshot,
) -> Option<SensorReading> {
    // Without it, the measurements name the gap.
    let start = checkpoints::start_snapshot(call.engine, &call.project, &state.id).await.ok()?;
    let older = stale_files(&call.project.root, &start.tree, measured, state.created_ms);
    if older.is_empty() {
        return None;
    }
    let (detail, remedy) = moai_report::loops::older_than_change(&older);
    let gap = Some(Gap::new(Cause::ProjectFault, detail).with_remedy(remedy));
    Some(SensorReading { gap, ..SensorReading::clean("times", SensorKind::Guard, 0) })
}

/// The changed files that build tools may take for unchanged ones.
fn stale_files(
    root: &Path,
    start: &FileTree,
    measured: &TreeSnapshot,
    start_ms: u64,
) -> Vec<RelPath> {
    let now = &measured.tree;
    let is_stale = |path: &RelPath| {
        let (Some(node), Some(stamp)) = (now.nodes.get(path), measured.stamps.of_file(path)) else {
            return false;
        };
        let is_old = match start.nodes.get(path) {
            Some(before) => before.content != node.content && stamp.lag_ms() > FILE_WRITE_MS_MAX,
            // A moved file keeps its time, and no result of the new name exists.
            None => {
                stamp.lag_ms() > FILE_WRITE_MS_MAX
                    && !stamp.is_written_since(start_ms)
                    && start.nodes.values().all(|before| before.content != node.content)
            }
        };
        is_old && node.kind != FileKind::Link && !is_script(&path.under(root))
    };
    start.changed_paths(now).into_iter().filter(is_stale).collect()
}

/// Whether a file is run as it is; making it executable changes it without a write.
fn is_script(file: &Path) -> bool {
    let mut first = Vec::new();
    let read = open_regular(file).and_then(|file| file.take(2).read_to_end(&mut first));
    read.is_ok() && first == b"#!"
}
