//! Installed packages of the project, whose programs run in checks and language servers. No copy of
//! them is kept when a loop begins. The change times of files, which no program can set back, show what
//! changed since, and an installer writes a record after its files.

use std::collections::BTreeSet;
use std::fs::{DirEntry, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use moai_base::evidence::{SensorKind, SensorReading};
use moai_base::limits::{EXAM_FILE_BYTES_MAX, PACKAGE_ENTRIES_MAX};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::read_regular;
use moai_host::git;
use moai_loops::criteria::{AUTOCHECKS, CheckPlan};
use moai_loops::exam::packages::{
    is_installers_record, is_manifest, is_packages_cache, plan_installs_packages,
};
use moai_loops::exam::{Exam, runners};

use super::startup_files::ENVIRONMENTS;

/// The folder with the packages of Node.
const NODE_PACKAGES: &str = "node_modules";
/// Examples that a text names.
const NAMED_MAX: usize = 3;

/// What became of the packages since a loop began.
#[derive(Debug, Default)]
pub(super) struct PackageReport {
    /// Why the loop is not measured completely.
    pub(super) reading: Option<SensorReading>,
    /// What the user should know.
    pub(super) notice: Option<String>,
}

/// Examines the packages at the root and where checks run; `base` is the commit from which the loop's
/// changes count.
pub(super) fn package_report(root: &Path, exam: &Exam, base: Option<&str>) -> PackageReport {
    let plan = &exam.plan;
    let mut look = PackageLook {
        since_ns: i128::from(exam.frozen_ms) * 1_000_000,
        entries_left: PACKAGE_ENTRIES_MAX,
        changed: Vec::new(),
        installed: Vec::new(),
        first_installed: Vec::new(),
    };
    for InstalledFolder { packages, programs } in package_folders(root, plan) {
        let is_known = RelPath::below(root, &root.join(&packages))
            .is_some_and(|it| exam.files.contains_key(&it));
        look.packages(root, &packages, programs.as_deref(), is_known);
    }
    let PackageLook { changed, installed, first_installed, entries_left, .. } = look;
    if entries_left == 0 {
        let detail = format!("more than {PACKAGE_ENTRIES_MAX} files of packages: not compared");
        return unmeasured(detail);
    }
    if !changed.is_empty() {
        let detail = format!(
            "{} of installed packages changed since the loop started, and no installer wrote it",
            some_of(&changed)
        );
        return unmeasured(detail);
    }
    if installs_itself(root, plan) || installed.is_empty() && first_installed.is_empty() {
        return PackageReport::default();
    }
    let places = some_of(&[installed.clone(), first_installed].concat());
    if !installed.is_empty() && !has_changed_manifest(root, base) {
        let places = some_of(&installed);
        let detail = format!(
            "packages in {places} were installed since the loop started, though no manifest or \
             lock file changed"
        );
        return unmeasured(detail);
    }
    PackageReport { notice: Some(moai_report::notice::installed_packages(&places)), reading: None }
}

fn unmeasured(detail: String) -> PackageReport {
    PackageReport { reading: Some(reading(Gap::new(Cause::Skipped, detail))), notice: None }
}

/// The reading of a Stop that knows nothing about packages.
pub(super) fn reading(gap: Gap) -> SensorReading {
    let gap = gap.with_remedy("moai-ralph loop refreeze");
    SensorReading { gap: Some(gap), ..SensorReading::clean("packages", SensorKind::Guard, 0) }
}

fn some_of(paths: &[PathBuf]) -> String {
    let named: Vec<String> =
        paths.iter().take(NAMED_MAX).map(|path| path.display().to_string()).collect();
    match paths.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Whether the checks install packages themselves, so that these are new at each Stop.
fn installs_itself(root: &Path, plan: &CheckPlan) -> bool {
    let script = read_regular(&root.join(AUTOCHECKS), EXAM_FILE_BYTES_MAX).unwrap_or_default();
    plan_installs_packages(plan, &String::from_utf8_lossy(&script))
}

fn has_changed_manifest(root: &Path, base: Option<&str>) -> bool {
    let changed = git::files_changed_since(root, base).ok().flatten().unwrap_or_default();
    let mut paths = changed.files.iter().chain(&changed.deleted);
    paths.any(is_manifest)
}

/// A folder with packages, and that of their programs, relative to the root.
struct InstalledFolder {
    packages: PathBuf,
    programs: Option<PathBuf>,
}

/// The folders with packages at the root and where checks run.
fn package_folders(root: &Path, plan: &CheckPlan) -> Vec<InstalledFolder> {
    let folders = plan.commands.iter().map(|command| command.folder.as_str());
    let folders: BTreeSet<&str> = std::iter::once("").chain(folders).collect();
    let mut found = Vec::new();
    for folder in folders.into_iter().map(Path::new) {
        found.push(InstalledFolder { packages: folder.join(NODE_PACKAGES), programs: None });
        for environment in ENVIRONMENTS {
            let environment = folder.join(environment);
            let pythons = root.join(environment.join("lib")).read_dir().into_iter().flatten();
            for python in pythons.flatten() {
                let packages =
                    environment.join("lib").join(python.file_name()).join("site-packages");
                found.push(InstalledFolder { packages, programs: Some(environment.join("bin")) });
            }
        }
    }
    found.retain(|one| root.join(&one.packages).is_dir());
    found
}

/// The folders with packages that exist when a loop begins.
pub(super) fn known_packages(root: &Path, plan: &CheckPlan) -> Vec<RelPath> {
    let folders = package_folders(root, plan).into_iter();
    folders.filter_map(|one| RelPath::below(root, &root.join(one.packages))).collect()
}

/// A walk over packages.
struct PackageLook {
    /// When the loop began, in nanoseconds since the epoch.
    since_ns: i128,
    entries_left: usize,
    /// Files and folders that changed without an installer, relative to the root.
    changed: Vec<PathBuf>,
    /// Folders of packages into which something was installed.
    installed: Vec<PathBuf>,
    /// Those among them that did not exist when the loop began.
    first_installed: Vec<PathBuf>,
}

/// What the files of one folder of packages show.
#[derive(Default)]
struct FolderLook {
    /// Changed files and folders, with their times.
    changed: Vec<(PathBuf, i128)>,
    /// The time of the installer's last record; 0 without one.
    recorded_ns: i128,
}

impl PackageLook {
    /// Looks at the files of one installer, which leaves its records in these packages. `is_known` says
    /// whether there were any when the loop began.
    fn packages(&mut self, root: &Path, packages: &Path, programs: Option<&Path>, is_known: bool) {
        let mut look = FolderLook::default();
        for folder in std::iter::once(packages).chain(programs) {
            self.folder(root, folder, &mut look);
        }
        let FolderLook { changed, recorded_ns } = look;
        let is_installed = recorded_ns >= self.since_ns;
        if !is_known && !changed.is_empty() {
            self.first_installed.push(packages.to_path_buf());
        } else if is_installed {
            self.installed.push(packages.to_path_buf());
        }
        // The first installation may leave no record.
        if is_known || is_installed {
            let by_hand = changed.into_iter().filter(|(_, time_ns)| *time_ns > recorded_ns);
            self.changed.extend(by_hand.map(|(path, _)| path));
        }
    }

    fn folder(&mut self, root: &Path, top: &Path, look: &mut FolderLook) {
        let mut open = vec![top.to_path_buf()];
        while let Some(folder) = open.pop() {
            let (before, mut has_new_cache) = (look.changed.len(), false);
            for entry in root.join(&folder).read_dir().into_iter().flatten().flatten() {
                if self.entries_left == 0 {
                    return;
                }
                self.entries_left -= 1;
                has_new_cache |= self.entry(&folder, &entry, look, &mut open);
            }
            // What was removed shows in the folder alone. That of all packages has files of installers.
            let has_changed = look.changed.len() > before || has_new_cache;
            if folder != top && !has_changed {
                let metadata = root.join(&folder).symlink_metadata().ok();
                self.note(&folder, metadata.as_ref(), look);
            }
        }
    }

    /// Looks at an entry; returns whether it is a cache that is new.
    fn entry(
        &self,
        folder: &Path,
        entry: &DirEntry,
        look: &mut FolderLook,
        open: &mut Vec<PathBuf>,
    ) -> bool {
        let path = folder.join(entry.file_name());
        let Some(name) = path.to_str().and_then(RelPath::parse) else { return false };
        let metadata = entry.metadata().ok();
        let is_folder = metadata.as_ref().is_some_and(Metadata::is_dir);
        // What Python runs at its start is compared by its content.
        if is_packages_cache(&name) || runners::is_startup_file(&name) {
            return metadata.as_ref().is_none_or(|it| time_ns(it) >= self.since_ns);
        }
        if is_installers_record(&name) {
            let time_ns = metadata.as_ref().map_or(0, time_ns);
            look.recorded_ns = look.recorded_ns.max(time_ns);
        } else if is_folder {
            open.push(path);
        } else {
            self.note(&path, metadata.as_ref(), look);
        }
        false
    }

    fn note(&self, path: &Path, metadata: Option<&Metadata>, look: &mut FolderLook) {
        let time_ns = metadata.map_or(i128::MAX, time_ns);
        if time_ns >= self.since_ns {
            look.changed.push((path.to_path_buf(), time_ns));
        }
    }
}

/// When a file changed. Package managers share files between projects by links, and another link
/// changes the time of all, so that of the contents counts there.
fn time_ns(metadata: &Metadata) -> i128 {
    if metadata.is_file() && metadata.nlink() > 1 {
        return nanoseconds(metadata.mtime(), metadata.mtime_nsec());
    }
    nanoseconds(metadata.ctime(), metadata.ctime_nsec())
}

fn nanoseconds(seconds: i64, rest: i64) -> i128 {
    i128::from(seconds) * 1_000_000_000 + i128::from(rest)
}
