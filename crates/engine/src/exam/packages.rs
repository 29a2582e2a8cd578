//! Installed packages of the project, whose programs run in checks and language servers. No copy of them is
//! kept when a loop begins. The change times of files, which no program can set back, show later changes, and
//! an installer writes a record after its files.

use std::collections::{BTreeSet, VecDeque};
use std::fs::{DirEntry, Metadata};
use std::os::unix::fs::MetadataExt as _;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

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
/// Folders that are found one after the other before all processors share them.
const SHARED_FOLDERS_MIN: usize = 64;
/// Number of examples in a text.
const NAMED_MAX: usize = 3;

/// Changes of the packages since a loop began.
#[derive(Debug, Default)]
pub(super) struct PackageReport {
    /// Why the loop is not measured completely.
    pub(super) reading: Option<SensorReading>,
    /// The notice for the user.
    pub(super) notice: Option<String>,
}

/// Examines the packages at the root and where checks run; `base` is the commit from which the loop's
/// changes count.
pub(super) fn package_report(root: &Path, exam: &Exam, base: Option<&str>) -> PackageReport {
    let plan = &exam.plan;
    let mut look = PackageLook {
        walk: PackageWalk {
            root,
            since_ns: i128::from(exam.frozen_ms) * 1_000_000,
            entries: AtomicUsize::new(0),
        },
        changed: Vec::new(),
        installed: Vec::new(),
        first_installed: Vec::new(),
    };
    for InstalledFolder { packages, programs } in package_folders(root, plan) {
        let is_known = RelPath::below(root, &root.join(&packages))
            .is_some_and(|it| exam.files.contains_key(&it));
        look.packages(&packages, programs.as_deref(), is_known);
    }
    let PackageLook { walk, changed, installed, first_installed } = look;
    if walk.is_cut() {
        let detail = format!("more than {PACKAGE_ENTRIES_MAX} files of packages: not compared");
        return unmeasured(detail);
    }
    if !changed.is_empty() {
        let detail = format!(
            "files of installed packages changed since the loop started, but not by an installer: {}",
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
    SensorReading::unmeasured("packages", SensorKind::Guard, gap)
}

fn some_of(paths: &[PathBuf]) -> String {
    let named: Vec<String> =
        paths.iter().take(NAMED_MAX).map(|path| path.display().to_string()).collect();
    match paths.len().saturating_sub(NAMED_MAX) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// True if the checks install packages themselves, so that these are new at each Stop.
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

/// A look at all folders with packages.
struct PackageLook<'r> {
    walk: PackageWalk<'r>,
    /// Files and folders that changed without an installer, relative to the root.
    changed: Vec<PathBuf>,
    /// Folders of packages into which something was installed.
    installed: Vec<PathBuf>,
    /// Those among them that did not exist when the loop began.
    first_installed: Vec<PathBuf>,
}

impl PackageLook<'_> {
    /// Examines the files of one installer, which leaves its records in these packages. `is_known` is true if
    /// there were any when the loop began.
    fn packages(&mut self, packages: &Path, programs: Option<&Path>, is_known: bool) {
        let mut look = FolderLook::default();
        for folder in std::iter::once(packages).chain(programs) {
            look.add(self.walk.all_below(folder));
        }
        let FolderLook { changed, recorded_ns } = look;
        let is_installed = recorded_ns > 0;
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
}

/// Findings about the files of one folder of packages.
#[derive(Default)]
struct FolderLook {
    /// Changed files and folders, with their times.
    changed: Vec<(PathBuf, i128)>,
    /// The time of the installer's last record since the loop began; 0 without one.
    recorded_ns: i128,
}

impl FolderLook {
    fn add(&mut self, other: Self) {
        self.changed.extend(other.changed);
        self.recorded_ns = self.recorded_ns.max(other.recorded_ns);
    }
}

/// A walk over packages. Most of their files are old, so that these cost a look at their times only.
struct PackageWalk<'r> {
    root: &'r Path,
    /// When the loop began, in nanoseconds since the epoch.
    since_ns: i128,
    /// Files and folders so far.
    entries: AtomicUsize,
}

impl PackageWalk<'_> {
    fn is_cut(&self) -> bool {
        self.entries.load(Ordering::Relaxed) > PACKAGE_ENTRIES_MAX
    }

    /// Walks breadth-first until there is a folder for each processor; these then walk depth-first.
    fn all_below(&self, top: &Path) -> FolderLook {
        let mut look = FolderLook::default();
        let mut open = VecDeque::new();
        self.folder(top, true, &mut look, &mut open);
        while open.len() < SHARED_FOLDERS_MIN
            && let Some(folder) = open.pop_front()
        {
            self.folder(&folder, false, &mut look, &mut open);
        }
        let open = Vec::from(open);
        let threads = moai_host::processors::processor_count();
        let looks = std::thread::scope(|scope| {
            let shares = open.chunks(open.len().div_ceil(threads).max(1));
            let walks: Vec<_> = shares.map(|share| scope.spawn(|| self.in_depth(share))).collect();
            let joined = walks.into_iter().map(std::thread::ScopedJoinHandle::join);
            joined.map(|look| look.unwrap_or_else(|panic| resume_unwind(panic))).collect::<Vec<_>>()
        });
        for found in looks {
            look.add(found);
        }
        look
    }

    fn in_depth(&self, folders: &[PathBuf]) -> FolderLook {
        let mut look = FolderLook::default();
        let mut open = VecDeque::from(folders.to_vec());
        while let Some(folder) = open.pop_back() {
            self.folder(&folder, false, &mut look, &mut open);
        }
        look
    }

    fn folder(
        &self,
        folder: &Path,
        is_top: bool,
        look: &mut FolderLook,
        open: &mut VecDeque<PathBuf>,
    ) {
        let (before, mut has_new_cache) = (look.changed.len(), false);
        let absolute = self.root.join(folder);
        for entry in absolute.read_dir().into_iter().flatten().flatten() {
            if self.entries.fetch_add(1, Ordering::Relaxed) >= PACKAGE_ENTRIES_MAX {
                return;
            }
            has_new_cache |= self.entry(folder, &entry, look, open);
        }
        // A removal shows in the folder alone. The folder of all packages also holds files of installers.
        let has_changed = look.changed.len() > before || has_new_cache;
        if !is_top && !has_changed {
            let time_ns = self.new_time(absolute.symlink_metadata().ok().as_ref());
            look.changed.extend(time_ns.map(|time_ns| (folder.to_path_buf(), time_ns)));
        }
    }

    /// Looks at an entry; returns whether it is a cache that is new.
    fn entry(
        &self,
        folder: &Path,
        entry: &DirEntry,
        look: &mut FolderLook,
        open: &mut VecDeque<PathBuf>,
    ) -> bool {
        let metadata = entry.metadata().ok();
        let is_folder = metadata.as_ref().is_some_and(Metadata::is_dir);
        let new_time = self.new_time(metadata.as_ref());
        if !is_folder && new_time.is_none() {
            return false;
        }
        let path = folder.join(entry.file_name());
        let Some(name) = path.to_str().and_then(RelPath::parse) else { return false };
        // Files that Python runs at its start are compared by their content.
        if is_packages_cache(&name) || runners::is_startup_file(&name) {
            return new_time.is_some();
        }
        if is_folder {
            open.push_back(path);
        } else if let Some(time_ns) = new_time {
            if is_installers_record(&name) {
                let is_readable = metadata.is_some();
                look.recorded_ns = look.recorded_ns.max(if is_readable { time_ns } else { 0 });
            } else {
                look.changed.push((path, time_ns));
            }
        }
        false
    }

    /// Time of a change, if it was since the loop began. Unreadable metadata counts as new.
    fn new_time(&self, metadata: Option<&Metadata>) -> Option<i128> {
        Some(metadata.map_or(i128::MAX, time_ns)).filter(|time_ns| *time_ns >= self.since_ns)
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
