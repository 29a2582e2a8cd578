//! Stamps the files that language servers depend on and the walk of the root leaves out: generated
//! and installed packages, hidden folders, places outside the root. Beyond a limit, results get gaps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::evidence::poll_gate::PollLimit;
use crate::evidence::snapshot_measurement::SensorResult;
use crate::ledger::outside::OutsideStamps;
use crate::project::Project;
use moai_base::evidence::SensorKind;
use moai_base::limits::OUTSIDE_FILES_MAX;
use moai_host::files::{await_tick, stamp_source, walk_place};
use moai_host::servers::ServerReach;

pub(crate) fn stamp_outside(project: &Project, reaches: &[ServerReach]) -> OutsideStamps {
    let read: BTreeSet<&PathBuf> = reaches.iter().flat_map(|reach| &reach.places.files).collect();
    let watched: BTreeSet<PathBuf> =
        reaches.iter().flat_map(|reach| &reach.places.watched).cloned().collect();
    let mut is_whole = read.len() <= OUTSIDE_FILES_MAX;
    let read = read.into_iter().take(OUTSIDE_FILES_MAX);
    let mut files: BTreeMap<_, _> = read.map(|file| (file.clone(), stamp_source(file))).collect();
    let is_nested = |place: &&PathBuf| place.ancestors().skip(1).any(|at| watched.contains(at));
    for place in watched.iter().filter(|place| !is_nested(place)) {
        let left = OUTSIDE_FILES_MAX.saturating_sub(files.len());
        let (found, is_all) = walk_place(place, left, &|path| project.is_watched(path));
        is_whole &= is_all;
        files.extend(
            found.into_iter().filter_map(|file| Some((file.clone(), Some(stamp_source(&file)?)))),
        );
    }
    await_tick(files.values().flatten());
    OutsideStamps { files, watched, is_whole }
}

/// Adds a gap to the findings of language servers that may depend on files no poll covers.
pub(crate) fn add_limit_gaps(results: &mut [SensorResult], limit: PollLimit) {
    for result in results.iter_mut().filter(|result| result.kind == SensorKind::Lsp) {
        result.gap.get_or_insert_with(|| limit.gap());
    }
}
