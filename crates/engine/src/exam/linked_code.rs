//! Source files behind links that lead out of the project. No diff shows their changes, so a loop in
//! which one changed is not measured completely.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::exam::change_times::change_time_ns;
use moai_base::evidence::{SensorKind, SensorReading};
use moai_base::limits::LINKED_ENTRIES_MAX;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::{self, WalkEnd};
use moai_host::git;
use moai_lsp::registry::Catalogue;

/// The reading for the first such file that changed since a time in milliseconds since the epoch.
pub(super) fn changed_linked_code(
    root: &Path,
    catalogue: &Catalogue,
    since_ms: u64,
) -> Option<SensorReading> {
    let links = files::links_to_outside(root);
    // A link that a build made, such as that of Bazel to its output.
    let ignored = git::ignored_paths(root, &links).unwrap_or_default();
    let is_changed = |file: &Path| {
        change_time_ns(file).is_none_or(|changed| changed >= i128::from(since_ms) * 1_000_000)
    };
    let is_old_output = |link: &RelPath| ignored.contains(link) && !is_changed(&link.under(root));
    let entries = AtomicUsize::new(0);
    let links = links.iter().filter(|link| !is_old_output(link));
    links.into_iter().find_map(|link| {
        let place = link.under(root).canonicalize().ok()?;
        let entries_left = LINKED_ENTRIES_MAX.saturating_sub(entries.load(Ordering::Relaxed));
        let is_code = |path: &RelPath| {
            entries.fetch_add(1, Ordering::Relaxed);
            catalogue.language_of(path).is_some()
        };
        let walk = files::walk_place(root, &place, entries_left, &is_code);
        let is_of_code = |file: &Path| place.is_dir() || is_code_file(file, catalogue);
        // A link in the folder that leads to another one since then has old files behind it.
        let is_relinked = |file: &Path| {
            let mut folders = file.ancestors().skip(1).take_while(|at| at.starts_with(&place));
            folders.any(|at| at.is_symlink() && is_changed(at))
        };
        let has_new_target = |file: &Path| {
            file.is_symlink() && file.canonicalize().is_ok_and(|target| is_changed(&target))
        };
        let mut files = walk.files.into_iter().filter(|file| is_of_code(file));
        let changed =
            files.find(|file| is_changed(file) || has_new_target(file) || is_relinked(file));
        if let Some(file) = changed {
            let below = file.strip_prefix(&place).unwrap_or(Path::new(""));
            // Without the separator behind the name of a linked file.
            let named: PathBuf = [Path::new(link.as_str()), below].into_iter().flatten().collect();
            return Some(unmeasured(&format!("{} was changed", named.display())));
        }
        (walk.end != WalkEnd::Whole).then(|| unmeasured(&format!("{link} leads to too many files")))
    })
}

fn is_code_file(file: &Path, catalogue: &Catalogue) -> bool {
    let name = file.file_name().and_then(|name| name.to_str()).and_then(RelPath::parse);
    name.is_some_and(|name| catalogue.language_of(&name).is_some())
}

fn unmeasured(what: &str) -> SensorReading {
    reading(Gap::new(Cause::Skipped, format!("{what}, outside the project: not bound")))
}

/// The reading of a Stop that knows nothing about such files.
pub(super) fn reading(gap: Gap) -> SensorReading {
    SensorReading { gap: Some(gap), ..SensorReading::clean("links", SensorKind::Guard, 0) }
}
