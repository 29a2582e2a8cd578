//! Stamps the files that language servers depend on and the walk of the root leaves out: generated
//! and installed packages, hidden folders, places outside the root, also those that a link in the root
//! leads to. Beyond a limit, results get gaps.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::evidence::poll_gate::PollLimit;
use crate::evidence::snapshot_measurement::SensorResult;
use crate::ledger::outside::OutsideStamps;
use crate::project::Project;
use moai_base::evidence::SensorKind;
use moai_base::limits::OUTSIDE_FILES_MAX;
use moai_base::path::RelPath;
use moai_host::files::{OutsideFolder, WalkEnd, await_tick, stamp_source, walk_place};
use moai_host::git;
use moai_host::servers::ServerReach;

/// Stamps the places that servers depend on, and the folders outside the root that links in it lead to. A linked
/// folder with too many entries is one of data if git ignores the link, or if no program is among the entries that
/// the walk visited; such folders are left out of this poll and of later ones.
pub(crate) fn stamp_outside(
    project: &Project,
    reaches: &[ServerReach],
    before: &OutsideStamps,
    linked: &[OutsideFolder],
    data_folders: &mut BTreeSet<PathBuf>,
) -> OutsideStamps {
    let read: BTreeSet<&PathBuf> = reaches.iter().flat_map(|reach| &reach.places.files).collect();
    let mut is_whole = read.len() <= OUTSIDE_FILES_MAX;
    let read = read.into_iter().take(OUTSIDE_FILES_MAX);
    let mut files: BTreeMap<_, _> = read.map(|file| (file.clone(), stamp_source(file))).collect();
    let registered = reaches.iter().flat_map(|reach| &reach.places.watched);
    let linked = linked.iter().filter(|folder| !data_folders.contains(&folder.target));
    let mut links: BTreeMap<PathBuf, PathBuf> =
        linked.map(|folder| (folder.link.clone(), folder.target.clone())).collect();
    let mut watched: BTreeSet<PathBuf> = registered.chain(links.keys()).cloned().collect();
    let is_nested = |place: &PathBuf| place.ancestors().skip(1).any(|at| watched.contains(at));
    let places: Vec<PathBuf> = watched.iter().filter(|place| !is_nested(place)).cloned().collect();
    for place in places {
        let left = OUTSIDE_FILES_MAX.saturating_sub(files.len());
        let found = walk_place(&place, left, &|path| project.is_watched(path));
        if found.end == WalkEnd::TooManyEntries
            && links.contains_key(&place)
            && is_data(project, &place, &found.files)
        {
            watched.remove(&place);
            data_folders.extend(links.remove(&place));
            continue;
        }
        is_whole &= found.end == WalkEnd::Whole;
        let stamps = found.files.into_iter();
        files.extend(stamps.filter_map(|file| Some((file.clone(), Some(stamp_source(&file)?)))));
    }
    let links: BTreeSet<PathBuf> = links.into_keys().collect();
    // The files behind a link that is gone, but not those in a folder of data.
    let lost_links: Vec<&PathBuf> = before.links.difference(&links).collect();
    let is_lost = |file: &&PathBuf| lost_links.iter().any(|link| file.starts_with(link));
    for file in before.files.keys().filter(is_lost) {
        files.entry(file.clone()).or_insert_with(|| stamp_source(file));
    }
    await_tick(files.values().flatten());
    OutsideStamps { files, watched, links, is_whole }
}

fn is_data(project: &Project, link: &Path, files: &[PathBuf]) -> bool {
    let is_program = |file: &PathBuf| {
        RelPath::below(&project.root, file).is_some_and(|path| project.is_program(&path))
    };
    let path = RelPath::below(&project.root, link);
    // If git's data is unusable, the link counts as one that it does not ignore.
    let is_ignored = |path: RelPath| {
        git::ignored_paths(&project.root, &[path]).is_ok_and(|ignored| !ignored.is_empty())
    };
    !files.iter().any(is_program) || path.is_some_and(is_ignored)
}

/// Adds a gap to the findings of language servers that may depend on files no poll covers.
pub(crate) fn add_limit_gaps(results: &mut [SensorResult], limit: PollLimit) {
    for result in results.iter_mut().filter(|result| result.kind == SensorKind::Lsp) {
        result.gap.get_or_insert_with(|| limit.gap());
    }
}
