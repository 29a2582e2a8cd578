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
use moai_base::path::{RelPath, is_installed};
use moai_host::files::{NameWalk, WalkEnd, await_tick, stamp_source, walk_place};
use moai_host::git;
use moai_host::servers::ServerReach;

/// Stamps the places that servers depend on, the installations of packages below the root, and the folders outside the
/// root that links in it lead to. A linked folder with too many entries is one of data if git ignores the link, or if
/// no program is among the entries that the walk visited; such folders are left out of this poll and of later ones.
pub(crate) fn stamp_outside(
    project: &Project,
    reaches: &[ServerReach],
    before: &OutsideStamps,
    walk: &NameWalk,
    data_folders: &mut BTreeSet<PathBuf>,
) -> OutsideStamps {
    let read: BTreeSet<&PathBuf> = reaches.iter().flat_map(|reach| &reach.places.files).collect();
    let mut is_whole = read.len() <= OUTSIDE_FILES_MAX;
    let read = read.into_iter().take(OUTSIDE_FILES_MAX);
    let mut files: BTreeMap<_, _> = read.map(|file| (file.clone(), stamp_source(file))).collect();
    let registered = reaches.iter().flat_map(|reach| &reach.places.watched);
    let linked =
        walk.outside_folders.iter().filter(|folder| !data_folders.contains(&folder.target));
    let mut links: BTreeMap<PathBuf, PathBuf> =
        linked.map(|folder| (folder.link.clone(), folder.target.clone())).collect();
    let mut watched: BTreeSet<PathBuf> = registered.chain(links.keys()).cloned().collect();
    let is_nested = |place: &PathBuf| place.ancestors().skip(1).any(|at| watched.contains(at));
    let places: Vec<PathBuf> = watched.iter().filter(|place| !is_nested(place)).cloned().collect();
    for place in places {
        let found =
            walk_place(&project.root, &place, OUTSIDE_FILES_MAX, &|path| project.is_watched(path));
        if found.end == WalkEnd::TooManyEntries
            && links.contains_key(&place)
            && is_data(project, &place, &found.files)
        {
            watched.remove(&place);
            data_folders.extend(links.remove(&place));
            continue;
        }
        let left = OUTSIDE_FILES_MAX.saturating_sub(files.len());
        is_whole &= found.end == WalkEnd::Whole && found.files.len() <= left;
        let stamps = found.files.into_iter().take(left);
        files.extend(stamps.filter_map(|file| Some((file.clone(), Some(stamp_source(&file)?)))));
    }
    let links: BTreeSet<PathBuf> = links.into_keys().collect();
    // The files behind a link that is gone, but not those in a folder of data.
    let lost_links: Vec<&PathBuf> = before.links.difference(&links).collect();
    let is_lost = |file: &&PathBuf| lost_links.iter().any(|link| file.starts_with(link));
    for file in before.files.keys().filter(is_lost) {
        files.entry(file.clone()).or_insert_with(|| stamp_source(file));
    }
    // A missing file stays known: when the server that named it starts again, it names it again, and that is no
    // change, which would restart the server.
    let missing = before.files.iter().filter(|(_, stamp)| stamp.is_none());
    for (file, _) in missing.take(OUTSIDE_FILES_MAX) {
        files.entry(file.clone()).or_insert_with(|| stamp_source(file));
    }
    let counts = |path: &&PathBuf| project.watched_catalogue.is_restarted_by(path);
    let installations: BTreeSet<PathBuf> =
        walk.installations.iter().filter(counts).cloned().collect();
    for path in installations.union(&before.installations) {
        files.entry(path.clone()).or_insert_with(|| stamp_source(path));
    }
    await_tick(files.values().flatten());
    OutsideStamps { files, watched, links, installations, is_whole }
}

/// See [`stamp_outside`]; `files` are those behind the link that the walk visited.
fn is_data(project: &Project, link: &Path, files: &[PathBuf]) -> bool {
    let is_program = |file: &PathBuf| {
        RelPath::below(&project.root, file).is_some_and(|path| project.is_program(&path))
    };
    let path = RelPath::below(&project.root, link);
    // If git's data is unusable, the link counts as one that it does not ignore.
    let is_ignored = |path: RelPath| {
        git::ignored_paths(&project.root, &[path]).is_ok_and(|ignored| !ignored.is_empty())
    };
    // Git ignores every link of a package manager.
    !files.iter().any(is_program) || !is_installed(link) && path.is_some_and(is_ignored)
}

/// Adds a gap to the findings of language servers that may depend on files no poll covers.
pub(crate) fn add_limit_gaps(results: &mut [SensorResult], limit: PollLimit) {
    for result in results.iter_mut().filter(|result| result.kind == SensorKind::Lsp) {
        result.gap.get_or_insert_with(|| limit.gap());
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use moai_host::files::LinkedFolder;

    use moai_lsp::session::OutsidePlaces;

    use super::*;
    use crate::ledger::outside::outside_changes;
    use crate::test_project::TestProject;

    /// A link in the root to a folder outside of it, with these empty files.
    fn linked(
        project: &TestProject,
        name: &str,
        files: impl Iterator<Item = String>,
    ) -> LinkedFolder {
        let (link, target) = (project.root().join(name), project.top().join(name));
        fs::create_dir(&target).unwrap();
        symlink(&target, &link).unwrap();
        for file in files {
            fs::write(target.join(file), "").unwrap();
        }
        LinkedFolder { link, target }
    }

    #[tokio::test]
    async fn a_linked_folder_is_polled_unless_it_holds_data() {
        let project = TestProject::repository(&[(".gitignore", "output\n")]);
        let small = linked(&project, "small", ["a.py".to_owned()].into_iter());
        let many = |extension: &'static str| {
            (0..=OUTSIDE_FILES_MAX).map(move |number| format!("{number}.{extension}"))
        };
        let tables = linked(&project, "tables", many("csv"));
        let programs = linked(&project, "programs", many("py"));
        let loaded = project.project(&project.root());
        let mut data = BTreeSet::new();
        let mut poll = |before: &OutsideStamps, folders: &[&LinkedFolder]| {
            let outside_folders = folders.iter().copied().cloned().collect();
            let walk = NameWalk { outside_folders, ..NameWalk::default() };
            stamp_outside(&loaded, &[], before, &walk, &mut data)
        };
        let first = poll(&OutsideStamps::default(), &[&small, &tables]);
        let file = small.link.join("a.py");
        assert!(first.is_whole && first.files.keys().eq([&file]), "{:?}", first.files.keys());
        assert!(!poll(&first, &[&small, &programs]).is_whole);
        fs::rename(&programs.link, project.root().join("output")).unwrap();
        let output = LinkedFolder { link: project.root().join("output"), ..programs };
        assert!(poll(&first, &[&small, &output]).is_whole, "git ignores the link");
        fs::remove_file(&small.link).unwrap();
        assert_eq!(
            poll(&first, &[]).files,
            BTreeMap::from([(file, None)]),
            "deleted with its link"
        );
        assert_eq!(data, BTreeSet::from([tables.target, output.target]));
    }

    #[tokio::test]
    async fn a_missing_file_stays_known_without_a_server_that_names_it() {
        let project = TestProject::repository(&[("a.cpp", "")]);
        let loaded = project.project(&project.root());
        let missing = project.top().join(".clangd");
        let places =
            OutsidePlaces { files: BTreeSet::from([missing.clone()]), ..Default::default() };
        let reach = ServerReach { places: places.into(), started_ns: 0 };
        let poll = |before: &OutsideStamps, reaches: &[ServerReach]| {
            stamp_outside(&loaded, reaches, before, &NameWalk::default(), &mut BTreeSet::new())
        };
        let named = poll(&OutsideStamps::default(), std::slice::from_ref(&reach));
        let restarting = poll(&named, &[]);
        assert_eq!(restarting.files, BTreeMap::from([(missing, None)]));
        assert!(outside_changes(&restarting, &poll(&restarting, &[reach]), &|_| 0).is_empty());
    }
}
