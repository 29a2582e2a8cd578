//! Files that programs load at their start, before any check, and that no diff of the project shows:
//! those that Python runs among the installed packages of the project and of the user, configuration in
//! the folders above the project, and the user's own configuration of tools.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use moai_base::evidence::{SensorKind, SensorReading};
use moai_base::hash::ContentHash;
use moai_base::limits::{EXAM_FILE_BYTES_MAX, EXAM_FILES_MAX};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::read_regular;
use moai_loops::criteria::CheckPlan;
use moai_loops::exam::roles::{is_irrelevant_settings, relevant_bytes};
use moai_loops::exam::runners::{
    ABOVE, HOME, files_above, is_of_login_shell, is_startup_file, user_files,
};
use moai_loops::exam::{ExamDifference, ExamRole};

/// Folders of virtual environments in the root and where checks run.
pub(super) const ENVIRONMENTS: [&str; 3] = [".venv", "venv", "env"];
/// The user's own environment, below the home folder.
const USER_ENVIRONMENT: &str = ".local";
/// Variables that move a folder of the home folder elsewhere, as their programs document.
const MOVED_FOLDERS: [(&str, &str); 3] =
    [(".config/", "XDG_CONFIG_HOME"), (".cargo/", "CARGO_HOME"), (".gradle/", "GRADLE_USER_HOME")];

/// A file and its name in an exam.
struct StartupFile {
    name: RelPath,
    file: PathBuf,
}

/// The hashes of the files that exist now. Those of login shells count where the checks start one.
pub(super) fn hashes(
    root: &Path,
    plan: &CheckPlan,
    has_login_shell: bool,
    env: &BTreeMap<String, String>,
) -> Vec<(RelPath, ContentHash)> {
    let folders = plan.commands.iter().map(|command| command.folder.as_str());
    let folders: BTreeSet<&str> = folders.filter(|folder| !folder.is_empty()).collect();
    let mut files = startup_files(root, folders.into_iter(), env);
    files.retain(|one| has_login_shell || !is_of_login_shell(&one.name));
    let hash = |one: StartupFile| {
        // A file that cannot be read counts as changed.
        let bytes = read_regular(&one.file, EXAM_FILE_BYTES_MAX).unwrap_or_default();
        let is_relevant = !is_irrelevant_settings(&one.name, &bytes);
        let hash = ContentHash::of_bytes(&relevant_bytes(&one.name, &bytes));
        is_relevant.then_some((one.name, hash))
    };
    files.into_iter().filter_map(hash).collect()
}

/// The files that exist now. `folders` are those where checks run.
fn startup_files<'f>(
    root: &Path,
    folders: impl Iterator<Item = &'f str>,
    env: &BTreeMap<String, String>,
) -> Vec<StartupFile> {
    let mut found = Vec::new();
    for folder in std::iter::once("").chain(folders) {
        for environment in ENVIRONMENTS {
            let place = Path::new(folder).join(environment);
            add_files(&root.join(&place), &place, &mut found);
        }
    }
    for folder in root.ancestors().skip(1) {
        for file in files_above().map(|name| folder.join(name)).filter(|file| file.is_file()) {
            let name = file.to_str().and_then(|file| RelPath::parse(&format!("{ABOVE}{file}")));
            found.extend(name.map(|name| StartupFile { name, file }));
        }
    }
    if let Some(home) = env.get("HOME") {
        let place = Path::new(HOME).join(USER_ENVIRONMENT);
        add_files(&Path::new(home).join(USER_ENVIRONMENT), &place, &mut found);
        for name in user_files() {
            add_user_file(name, &place_of(name, Path::new(home), env), &mut found);
        }
    }
    found
}

/// The path of one of the user's own files.
fn place_of(name: &str, home: &Path, env: &BTreeMap<String, String>) -> PathBuf {
    let moved = MOVED_FOLDERS.iter().find_map(|(folder, variable)| {
        let place = env.get(*variable).filter(|place| Path::new(place).is_absolute())?;
        Some(Path::new(place).join(name.strip_prefix(folder)?))
    });
    moved.unwrap_or_else(|| home.join(name))
}

/// Adds the file, or the files directly in a folder.
fn add_user_file(name: &str, place: &Path, found: &mut Vec<StartupFile>) {
    let below = if name.ends_with('/') { entries(place) } else { Vec::new() };
    let below = below
        .iter()
        .filter_map(|below| Some((format!("{name}{}", below.to_str()?), place.join(below))));
    for (name, file) in std::iter::once((name.to_owned(), place.to_path_buf())).chain(below) {
        let name = RelPath::parse(&format!("{HOME}{name}")).filter(|_| file.is_file());
        found.extend(name.map(|name| StartupFile { name, file }));
    }
}

/// Adds the files of one environment, such as `lib/python3.12/site-packages/a.pth` in it.
fn add_files(environment: &Path, name: &Path, found: &mut Vec<StartupFile>) {
    for python in entries(&environment.join("lib")) {
        let packages = environment.join("lib").join(&python).join("site-packages");
        for entry in entries(&packages) {
            let path = name.join("lib").join(&python).join("site-packages").join(&entry);
            let name = path.to_str().and_then(RelPath::parse).filter(is_startup_file);
            found.extend(name.map(|name| StartupFile { name, file: packages.join(&entry) }));
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten().take(EXAM_FILES_MAX);
    entries.map(|entry| PathBuf::from(entry.file_name())).collect()
}

/// The reading for a file that has changed since the loop began. Installing a package or the user may have
/// changed it, so the loop ends as unverified, and nothing is held against it.
pub(super) fn unmeasured(difference: &ExamDifference) -> SensorReading {
    let (path, change) = (&difference.path, difference.change.as_str());
    let (sensor, why) = match difference.role {
        ExamRole::Used => ("used", "a check uses it"),
        _ => ("startup", "a program of the checks loads it at its start"),
    };
    let detail = format!("{path} was {change} since the loop started, and {why}");
    let gap = Gap::new(Cause::Skipped, detail);
    SensorReading::unmeasured(sensor, SensorKind::Guard, gap)
}
