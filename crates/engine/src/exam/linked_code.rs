//! Source files behind links that lead out of the project. No diff shows their changes, so a loop in
//! which one changed is not measured completely.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::exam::change_times::change_time_ns;
use moai_base::evidence::{SensorKind, SensorReading};
use moai_base::limits::LINKED_ENTRIES_MAX;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::{self, PlaceWalk, WalkEnd};
use moai_host::git;
use moai_loops::exam::Exam;
use moai_lsp::registry::Catalogue;

/// The links to folders with such files, or with more files than are visited, except those that git
/// ignores.
pub(super) fn links_to_code(root: &Path, catalogue: &Catalogue) -> BTreeSet<RelPath> {
    let mut links = files::links_to_outside(root);
    let ignored = git::ignored_paths(root, &links).unwrap_or_default();
    let mut entries_left = LINKED_ENTRIES_MAX;
    links.retain(|link| {
        if ignored.contains(link) {
            return false;
        }
        let target = link.under(root).canonicalize();
        let Some(place) = target.ok().filter(|target| target.is_dir()) else { return false };
        let walk = walk_linked_place(root, &place, catalogue, entries_left);
        entries_left -= walk.entries;
        !walk.files.is_empty() || walk.end != WalkEnd::Whole
    });
    links.into_iter().collect()
}

/// The reading for the first change of such files since the exam was frozen.
pub(super) fn changed_linked_code(
    root: &Path,
    catalogue: &Catalogue,
    exam: &Exam,
) -> Option<SensorReading> {
    let links = files::links_to_outside(root);
    let ignored = git::ignored_paths(root, &links).unwrap_or_default();
    let entries_left = LINKED_ENTRIES_MAX;
    let mut search = LinkedCodeSearch { root, catalogue, exam, entries_left };
    for link in &links {
        // A link that a build made, such as that of Bazel to its output.
        if ignored.contains(link) && !search.is_changed(&link.under(root)) {
            continue;
        }
        if let Some(change) = search.change_behind(link) {
            return Some(unmeasured(&change));
        }
    }
    None
}

/// The search for changes behind all links of a project.
struct LinkedCodeSearch<'a> {
    root: &'a Path,
    catalogue: &'a Catalogue,
    exam: &'a Exam,
    entries_left: usize,
}

impl LinkedCodeSearch<'_> {
    /// What changed behind a link, in words.
    fn change_behind(&mut self, link: &RelPath) -> Option<String> {
        let Ok(place) = link.under(self.root).canonicalize() else {
            let around = files::existing_target(&link.under(self.root))?;
            return self.is_changed(&around).then(|| format!("{link} lost its target"));
        };
        let walk = walk_linked_place(self.root, &place, self.catalogue, self.entries_left);
        self.entries_left -= walk.entries;
        for file in &walk.files {
            let is_code = place.is_dir() || is_code_file(file, self.catalogue);
            if is_code && self.is_replaced(file, &place) {
                return Some(format!("{} was changed", name_behind(link, &place, file)));
            }
        }
        // Only the time of its folder shows that a file was deleted. Files of a folder that has held
        // only data since the start do not count.
        let had_code = self.exam.code_links.contains(link);
        let is_data = walk.files.is_empty() && walk.has_other_files && !had_code;
        for folder in walk.folders.iter().filter(|_| !is_data) {
            if folder.canonicalize().is_ok_and(|folder| self.is_changed(&folder)) {
                let folder = name_behind(link, &place, folder);
                return Some(format!("a file appeared in or disappeared from {folder}"));
            }
        }
        (walk.end != WalkEnd::Whole).then(|| format!("{link} leads to too many files"))
    }

    /// True if a file changed, or a link on the way to it from the place leads to another one.
    fn is_replaced(&self, file: &Path, place: &Path) -> bool {
        let mut folders = file.ancestors().skip(1).take_while(|at| at.starts_with(place));
        self.is_changed(file)
            || file.is_symlink() && file.canonicalize().is_ok_and(|target| self.is_changed(&target))
            || folders.any(|at| at.is_symlink() && self.is_changed(at))
    }

    fn is_changed(&self, path: &Path) -> bool {
        let start_ns = i128::from(self.exam.frozen_ms) * 1_000_000;
        change_time_ns(path).is_none_or(|changed| changed >= start_ns)
    }
}

/// The code in a linked place, or the linked file itself.
fn walk_linked_place(
    root: &Path,
    place: &Path,
    catalogue: &Catalogue,
    entries_max: usize,
) -> PlaceWalk {
    files::walk_place(root, place, entries_max, &|path| catalogue.language_of(path).is_some())
}

/// The name of a file in a linked place, by the link.
fn name_behind(link: &RelPath, place: &Path, file: &Path) -> String {
    let below = file.strip_prefix(place).unwrap_or(Path::new(""));
    // Without the separator behind the name of a linked file.
    let name: PathBuf = [Path::new(link.as_str()), below].into_iter().flatten().collect();
    name.display().to_string()
}

fn is_code_file(file: &Path, catalogue: &Catalogue) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).and_then(RelPath::parse);
    name.is_some_and(|name| catalogue.language_of(&name).is_some())
}

fn unmeasured(what: &str) -> SensorReading {
    reading(Gap::new(
        Cause::Skipped,
        format!("{what} outside the project, where the loop cannot check it"),
    ))
}

/// The reading of a Stop that knows nothing about such files.
pub(super) fn reading(gap: Gap) -> SensorReading {
    SensorReading::unmeasured("links", SensorKind::Guard, gap)
}
