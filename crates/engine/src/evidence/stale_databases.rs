//! Compilation databases that a build system wrote before its description changed: clangd measures with the flags
//! and generated headers of that time, which a compiler no longer uses. Blocking.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::evidence::stale_builds::changed_at;
use crate::project::Project;
use moai_base::evidence::SkippedFile;
use moai_base::path::RelPath;
use moai_host::servers::compile_database::DATABASE_NAMES;

/// A build system that writes compilation databases.
struct BuildSystem {
    /// A file of its own in every build folder.
    mark: &'static str,
    /// Names of its descriptions, and ends of such names.
    descriptions: &'static [&'static str],
    /// Files of which each configuration writes at least one, in the build folder.
    written: &'static [&'static str],
    command: &'static str,
}

/// Observed with `cmake` 3.25 and `meson` 1.12, each configured twice.
const BUILD_SYSTEMS: [BuildSystem; 2] = [
    BuildSystem {
        mark: "CMakeCache.txt",
        descriptions: &[
            "CMakeLists.txt",
            "CMakePresets.json",
            ".cmake",
            ".h.in",
            ".hh.in",
            ".hpp.in",
            ".hxx.in",
            ".c.in",
            ".cc.in",
            ".cpp.in",
            ".cxx.in",
        ],
        written: &["compile_commands.json", "CMakeFiles/cmake.check_cache"],
        command: "cmake",
    },
    BuildSystem {
        mark: "meson-info/meson-info.json",
        descriptions: &["meson.build", "meson_options.txt", "meson.options", ".h.in", ".c.in"],
        written: &["compile_commands.json", "meson-info/meson-info.json"],
        command: "meson setup",
    },
];

/// The databases that are older than a changed or deleted description of their build.
pub(super) fn stale_databases(project: &Project, changed: &[RelPath]) -> Vec<SkippedFile> {
    let mut stale: BTreeMap<PathBuf, SkippedFile> = BTreeMap::new();
    for path in changed {
        if !BUILD_SYSTEMS.iter().any(|system| system.is_described_by(path)) {
            continue;
        }
        let root = &project.root;
        let mut folder = path.under(root);
        while folder.pop() && folder.starts_with(root) {
            for database in DATABASE_NAMES.map(|name| folder.join(name)) {
                if let Some(reason) = stale_reason(root, &database, path) {
                    let shown = database.strip_prefix(root).unwrap_or(&database);
                    let shown = shown.to_string_lossy().into_owned();
                    stale.insert(database, SkippedFile { path: shown, reason });
                }
            }
        }
    }
    stale.into_values().collect()
}

/// Why a database is out of date, if it is.
fn stale_reason(root: &Path, database: &Path, description: &RelPath) -> Option<String> {
    let folder = fs::canonicalize(database).ok()?.parent()?.to_path_buf();
    let is_its = |system: &&BuildSystem| {
        system.is_described_by(description) && folder.join(system.mark).is_file()
    };
    let system = BUILD_SYSTEMS.iter().find(is_its)?;
    let time = |name: &&str| folder.join(name).metadata().ok()?.modified().ok();
    let configured_at: SystemTime = system.written.iter().filter_map(time).max()?;
    let is_stale = changed_at(root, description)? > configured_at;
    let command = system.command;
    is_stale.then(|| format!("made before {description} changed: run {command} again"))
}

impl BuildSystem {
    fn is_described_by(&self, path: &RelPath) -> bool {
        let name = path.file_name();
        self.descriptions.iter().any(|known| match known.strip_prefix('.') {
            Some(_) => name.ends_with(known),
            None => name == *known,
        })
    }
}
