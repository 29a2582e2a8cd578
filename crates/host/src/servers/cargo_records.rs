//! cargo compiles a file again only if its modification time is later than the last compilation. It skips a
//! file that was moved, restored or copied with its old time, so a run of `cargo check` does not check that
//! file. This module compares cargo's records with the change times of the files, which cannot be set back,
//! and where they disagree makes cargo forget the compilation.
//!
//! Source: <https://doc.rust-lang.org/nightly/nightly-rustc/cargo/core/compiler/fingerprint>. A unit's record
//! `NAME.json` lists its inputs; `NAME` holds the hash without which cargo compiles the unit again. rustc
//! lists the sources in a `.d` file.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::resolve::{ResolvedServer, program_on_path};
use crate::files::{FileStamp, read_regular, read_regular_text};
use crate::programs::{ProgramCall, ProgramEnd, ProgramStreams, run_program};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    CARGO_ERROR_CHARS_MAX, CARGO_INPUT_FILES_MAX, CARGO_METADATA_BYTES_MAX, CARGO_METADATA_MS_MAX,
};
use moai_base::verdict::{Cause, Gap};

/// The folder that rust-analyzer uses below the target folder where `cargo.targetDir` is true.
const SERVER_FOLDER: &str = "rust-analyzer";

/// Before rust-analyzer runs `cargo check`: makes cargo forget compilations of files that may have changed
/// without a later time. A gap means that the run may skip changes.
pub(super) async fn forget_changed_units(
    server: ResolvedServer,
    env: BTreeMap<String, String>,
) -> Result<(), Gap> {
    for folder in cargo_folders(&server.workspace) {
        let metadata = cargo_metadata(&folder, &env).await?;
        let records = RecordFolder::new(metadata, target_setting(&server));
        let forgotten = tokio::task::spawn_blocking(move || records.forget_changed());
        forgotten
            .await
            .map_err(|_| Gap::new(Cause::Crashed, "cargo's records were not read"))??;
    }
    Ok(())
}

/// The option `cargo.targetDir` of rust-analyzer.
fn target_setting(server: &ResolvedServer) -> &Value {
    let option = &server.spec.initialization_options["cargo"]["targetDir"];
    server.settings.pointer("/rust-analyzer/cargo/targetDir").unwrap_or(option)
}

/// The folders where rust-analyzer runs cargo: the workspace if it belongs to a package, else the folders of
/// the packages directly below. Empty if there is no cargo project.
fn cargo_folders(workspace: &Path) -> Vec<PathBuf> {
    if workspace.ancestors().any(|folder| folder.join("Cargo.toml").is_file()) {
        return vec![workspace.to_path_buf()];
    }
    let mut folders = folder_entries(workspace);
    folders.retain(|folder| folder.join("Cargo.toml").is_file());
    folders
}

/// The part of `cargo metadata` that is used.
#[derive(Debug, Deserialize)]
struct CargoMetadata {
    workspace_root: PathBuf,
    target_directory: PathBuf,
    /// Since cargo 1.91; where its records are if the user separates them from the results.
    build_directory: Option<PathBuf>,
    packages: Vec<CargoPackage>,
}

#[derive(Debug, Deserialize)]
struct CargoPackage {
    name: String,
    manifest_path: PathBuf,
}

async fn cargo_metadata(
    folder: &Path,
    env: &BTreeMap<String, String>,
) -> Result<CargoMetadata, Gap> {
    let args = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
    let call = ProgramCall {
        program: cargo_program(env),
        args: args.map(str::to_owned).to_vec(),
        cwd: folder.to_path_buf(),
        env: env.clone().into_iter().collect(),
        timeout: Duration::from_millis(CARGO_METADATA_MS_MAX),
        kill_grace: Duration::ZERO,
        parent: None,
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let streams = ProgramStreams {
        stdin: None,
        stdout: &mut |bytes| append_bounded(&mut stdout, bytes),
        stderr: Some(&mut |bytes| append_bounded(&mut stderr, bytes)),
    };
    match run_program(&call, streams).await {
        ProgramEnd::Exited(status) if status.success() => {}
        ProgramEnd::Exited(_) => {
            let text = String::from_utf8_lossy(&stderr);
            let error = text.lines().find(|line| line.starts_with("error")).unwrap_or(&text);
            let error = one_line(error, CARGO_ERROR_CHARS_MAX);
            let detail = format!("the cargo project has a fault: {error}");
            return Err(Gap::new(Cause::ProjectFault, detail));
        }
        ProgramEnd::TimedOut => {
            return Err(Gap::new(Cause::TimedOut, "cargo metadata did not end in time"));
        }
        ProgramEnd::NotStarted(error) => {
            let detail = format!("cargo could not be started: {error}");
            return Err(Gap::new(Cause::NotInstalled, detail));
        }
        ProgramEnd::Lost(detail) => return Err(Gap::new(Cause::Crashed, detail)),
    }
    serde_json::from_slice(&stdout)
        .map_err(|_| Gap::new(Cause::Crashed, "the output of cargo metadata could not be read"))
}

/// rust-analyzer, too, searches Cargo's home when PATH does not lead to cargo.
fn cargo_program(env: &BTreeMap<String, String>) -> PathBuf {
    let named = env.get("CARGO").map(PathBuf::from);
    let on_path = named.or_else(|| program_on_path("cargo", env));
    let home = env.get("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(env.get("HOME")?).join(".cargo")));
    on_path.or_else(|| Some(home?.join("bin/cargo"))).unwrap_or_else(|| PathBuf::from("cargo"))
}

fn append_bounded(text: &mut Vec<u8>, bytes: &[u8]) {
    let room = CARGO_METADATA_BYTES_MAX.saturating_sub(text.len());
    text.extend_from_slice(&bytes[..bytes.len().min(room)]);
}

/// cargo's records of one workspace.
#[derive(Debug)]
struct RecordFolder {
    /// The folder to which cargo's relative paths refer.
    path: PathBuf,
    /// True if only language servers use it. The user's own compilations are never forgotten.
    is_own: bool,
    workspace: PathBuf,
    /// The folders of the workspace's packages.
    packages: BTreeMap<String, PathBuf>,
}

impl RecordFolder {
    fn new(metadata: CargoMetadata, target_setting: &Value) -> Self {
        let CargoMetadata { workspace_root, target_directory, build_directory, packages } =
            metadata;
        let separate = build_directory.filter(|folder| *folder != target_directory);
        let (path, is_own) = match (separate, target_setting) {
            (Some(shared), _) => (shared, false),
            (None, Value::Bool(true)) => (target_directory.join(SERVER_FOLDER), true),
            (None, Value::String(folder)) => {
                let folder = workspace_root.join(folder);
                let is_own = folder != target_directory;
                (folder, is_own)
            }
            (None, _) => (target_directory, false),
        };
        let packages = packages.into_iter().filter_map(|package| {
            Some((package.name, package.manifest_path.parent()?.to_path_buf()))
        });
        Self { path, is_own, workspace: workspace_root, packages: packages.collect() }
    }

    /// Forgets the units that were compiled from files that may differ now.
    fn forget_changed(&self) -> Result<(), Gap> {
        let mut places = PlaceStamps { top: self.workspace.clone(), ..PlaceStamps::default() };
        for profile in profile_folders(&self.path) {
            for unit in unit_records(&profile)? {
                let Some(changed) = self.changed_file(&unit, &mut places) else { continue };
                if !self.is_own {
                    return Err(hidden_change_gap(&changed, &self.workspace));
                }
                // Another process may have forgotten it already.
                let _ = fs::remove_file(&unit.hash_file);
                if unit.hash_file.exists() {
                    return Err(hidden_change_gap(&changed, &self.workspace));
                }
            }
        }
        Ok(())
    }

    /// A file that cargo considers compiled although it may have changed.
    fn changed_file(&self, unit: &UnitRecord, places: &mut PlaceStamps) -> Option<PathBuf> {
        // cargo empties it when it begins to compile the unit.
        if fs::metadata(&unit.hash_file).map_or(0, |meta| meta.len()) == 0 {
            return None;
        }
        let record = read_regular(&unit.record, CARGO_METADATA_BYTES_MAX as u64).ok();
        let record: Option<CompiledUnit> =
            record.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let Some(record) = record else { return Some(unit.record.clone()) };
        record.local.into_iter().find_map(|part| {
            let ComparedFiles { compiled_at, files } = self.compared_files(unit, part)?;
            // Without this file cargo compiles the unit.
            let compiled_ns = FileStamp::new(&fs::metadata(&compiled_at).ok()?).modified_ns();
            let Some(files) = files else { return Some(compiled_at) };
            files.into_iter().find(|file| places.hides_change(file, compiled_ns))
        })
    }

    fn compared_files(&self, unit: &UnitRecord, part: CompiledPart) -> Option<ComparedFiles> {
        if let Some(sources) = part.sources {
            let compiled_at = self.path.join(sources.dep_info);
            return Some(ComparedFiles { compiled_at, files: unit.sources(&self.workspace) });
        }
        let inputs = part.inputs?;
        // The files of a package from a registry do not change.
        let package = self.packages.get(&unit.package)?;
        let compiled_at = self.path.join(inputs.output);
        Some(ComparedFiles { compiled_at, files: input_files(package, &inputs.paths) })
    }
}

/// The files whose times cargo compares before it compiles a unit.
#[derive(Debug)]
struct ComparedFiles {
    /// The file whose time cargo uses as that of the compilation.
    compiled_at: PathBuf,
    /// `None` if they are not known.
    files: Option<Vec<PathBuf>>,
}

fn hidden_change_gap(file: &Path, workspace: &Path) -> Gap {
    let file = file.strip_prefix(workspace).unwrap_or(file).display();
    let detail = format!("cargo passes over {file}, whose time is before the last compilation");
    Gap::new(Cause::ProjectFault, detail).with_remedy(format!("touch {file}"))
}

/// Folders of profiles (`debug`), also below a target's folder. Each holds a folder `build`.
fn profile_folders(target: &Path) -> Vec<PathBuf> {
    let mut profiles = Vec::new();
    for folder in folder_entries(target) {
        if folder.join("build").is_dir() {
            profiles.push(folder);
        } else {
            let below = folder_entries(&folder).into_iter();
            profiles.extend(below.filter(|folder| folder.join("build").is_dir()));
        }
    }
    profiles
}

/// One compiled unit of a package: a library, a test, a build script or the run of one.
#[derive(Debug)]
struct UnitRecord {
    package: String,
    record: PathBuf,
    hash_file: PathBuf,
    /// rustc's list of its sources, if it was found.
    dep_info: Option<PathBuf>,
}

impl UnitRecord {
    /// The record `NAME.json` in a folder, if there is one.
    fn in_folder(folder: &Path, package: &str, dep_info: Option<PathBuf>) -> Option<Self> {
        let record = file_with_extension(folder, "json")?;
        let hash_file = record.with_extension("");
        Some(Self { package: package.to_owned(), record, hash_file, dep_info })
    }

    /// The files that rustc read; `None` if the list cannot be read. Relative paths are relative to
    /// the workspace, where cargo starts rustc.
    fn sources(&self, workspace: &Path) -> Option<Vec<PathBuf>> {
        let text =
            read_regular_text(self.dep_info.as_ref()?, CARGO_METADATA_BYTES_MAX as u64).ok()?;
        let sources = source_paths(&text);
        (!sources.is_empty())
            .then(|| sources.into_iter().map(|path| workspace.join(path)).collect())
    }
}

/// The records of a profile, in cargo's present layout (`.fingerprint/NAME-HASH`, `deps`) and in its
/// next one (`build/NAME/HASH/fingerprint`, `out`).
fn unit_records(profile: &Path) -> Result<Vec<UnitRecord>, Gap> {
    let listed = dep_infos_by_hash(&profile.join("deps"));
    let mut units = Vec::new();
    for folder in folder_entries(&profile.join(".fingerprint")) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some((package, hash)) = name.rsplit_once('-') else { continue };
        let dep_info = match listed.get(hash) {
            Some(file) => Some(file.clone()),
            None => file_with_extension(&profile.join("build").join(&name), "d"),
        };
        units.extend(UnitRecord::in_folder(&folder, package, dep_info));
    }
    let built = folder_entries(&profile.join("build"));
    for package in &built {
        for unit in folder_entries(package) {
            let name = package.file_name().unwrap_or_default().to_string_lossy();
            let dep_info = file_with_extension(&unit.join("out"), "d");
            units.extend(UnitRecord::in_folder(&unit.join("fingerprint"), &name, dep_info));
        }
    }
    if units.is_empty() && !built.is_empty() {
        let detail = format!("the layout of {} is unknown", profile.display());
        return Err(Gap::new(Cause::NoTool, detail));
    }
    Ok(units)
}

fn dep_infos_by_hash(folder: &Path) -> HashMap<String, PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let listed = files.filter_map(|file| {
        let (_, hash) = file.file_name()?.to_str()?.strip_suffix(".d")?.rsplit_once('-')?;
        Some((hash.to_owned(), file))
    });
    listed.collect()
}

fn file_with_extension(folder: &Path, extension: &str) -> Option<PathBuf> {
    let mut files = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    files.find(|file| file.extension().is_some_and(|it| it == extension))
}

fn folder_entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    folders.map(|entry| entry.path()).collect()
}

/// The fields of cargo's record that are used.
#[derive(Debug, Deserialize)]
struct CompiledUnit {
    local: Vec<CompiledPart>,
}

/// One condition under which cargo compiles a unit again; the other conditions do not depend on files.
#[derive(Debug, Deserialize)]
struct CompiledPart {
    #[serde(rename = "CheckDepInfo")]
    sources: Option<CompiledSources>,
    #[serde(rename = "RerunIfChanged")]
    inputs: Option<ScriptInputs>,
}

/// The sources of a package that is not from a registry. The file's time is the compilation's.
#[derive(Debug, Deserialize)]
struct CompiledSources {
    dep_info: PathBuf,
}

/// The inputs that a build script declares. The time of its output is that of its run.
#[derive(Debug, Deserialize)]
struct ScriptInputs {
    output: PathBuf,
    paths: Vec<PathBuf>,
}

/// The sources in rustc's `.d` file: each one is repeated on its own line, as a target without dependencies,
/// with escaped spaces.
fn source_paths(dep_info: &str) -> Vec<PathBuf> {
    let lines = dep_info.lines().filter(|line| !line.starts_with('#'));
    let paths = lines.filter_map(|line| line.strip_suffix(':'));
    paths.map(|path| PathBuf::from(path.replace("\\ ", " "))).collect()
}

/// The files at these paths and below, as cargo searches them; `None` if there are too many.
fn input_files(package: &Path, paths: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let mut open: Vec<PathBuf> = paths.iter().map(|path| package.join(path)).collect();
    let mut files = Vec::new();
    while let Some(path) = open.pop() {
        if files.len() + open.len() > CARGO_INPUT_FILES_MAX {
            return None;
        }
        if path.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            let entries = fs::read_dir(&path).into_iter().flatten().flatten();
            open.extend(entries.map(|entry| entry.path()));
        }
        files.push(path);
    }
    Some(files)
}

/// The entry at a path; links are not followed.
#[derive(Clone, Copy, Debug)]
struct PathStamp {
    kind: FileType,
    stamp: FileStamp,
}

/// Stamps of sources and of their folders, each read once.
#[derive(Debug, Default)]
struct PlaceStamps {
    /// The workspace; nothing above it is compared.
    top: PathBuf,
    read: HashMap<PathBuf, Option<PathStamp>>,
}

impl PlaceStamps {
    /// True if cargo considers a file compiled at this time (nanoseconds since the epoch) although the file,
    /// its folder or a link to them was changed or replaced since.
    fn hides_change(&mut self, file: &Path, compiled_ns: i128) -> bool {
        let Some(place) = self.stamp(file) else { return false };
        let followed = if place.kind.is_symlink() {
            fs::metadata(file).ok().map(|meta| FileStamp::new(&meta))
        } else {
            Some(place.stamp)
        };
        // cargo compiles a unit again if a file is missing or has a later time.
        let Some(stamp) = followed.filter(|stamp| stamp.modified_ns() <= compiled_ns) else {
            return false;
        };
        let top = self.top.clone();
        let mut places = file.ancestors().take_while(|place| place.starts_with(&top));
        stamp.is_modified_since(compiled_ns)
            || places.any(|place| self.is_replaced(place, compiled_ns))
    }

    /// True if a link was set or a folder moved since. A new entry of a folder changes both times.
    fn is_replaced(&mut self, place: &Path, since_ns: i128) -> bool {
        let Some(PathStamp { kind, stamp }) = self.stamp(place) else { return false };
        let is_moved = kind.is_dir() && stamp.is_moved();
        (kind.is_symlink() || is_moved) && stamp.is_modified_since(since_ns)
    }

    fn stamp(&mut self, place: &Path) -> Option<PathStamp> {
        if let Some(known) = self.read.get(place) {
            return *known;
        }
        let meta = place.symlink_metadata().ok();
        let stamp =
            meta.map(|meta| PathStamp { kind: meta.file_type(), stamp: FileStamp::new(&meta) });
        self.read.insert(place.to_path_buf(), stamp);
        stamp
    }
}

#[cfg(test)]
mod tests;
