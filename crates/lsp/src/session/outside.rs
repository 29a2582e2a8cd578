//! A server's dependencies outside the polled files of the root: the places it registered for, and
//! the files of its projects where it lists them.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use super::embedded::{NamedPlaces, embedded_places};
use super::schemas::schema_files;
use super::{DiskChange, DocumentRequest, LspSession, SessionEffect, SessionPhase};
use crate::registry::{DiagnosticsMethod, OutsideRestart};
use moai_base::path::{RelPath, is_installed, is_unpolled};
use moai_base::verdict::Gap;

/// clangd's configuration of a folder.
const CLANGD_CONFIG: &str = ".clangd";

/// Files and folders outside the polled files of the root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutsidePlaces {
    /// Files that its projects read.
    pub files: BTreeSet<PathBuf>,
    /// Files and folders that it registered for, whether or not they exist.
    pub watched: BTreeSet<PathBuf>,
}

impl OutsidePlaces {
    /// True for such a file, or one in such a folder.
    #[must_use]
    pub fn contains(&self, file: &Path) -> bool {
        self.files.contains(file) || file.ancestors().any(|place| self.watched.contains(place))
    }
}

/// A request for the files of the project that covers a document, over the socket of the TypeScript
/// 7 server's API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectListing {
    /// The socket that the server listens on.
    pub socket: PathBuf,
    pub uri: String,
    /// The project's configuration; empty for a project without one.
    pub config: PathBuf,
}

/// What the API of the TypeScript 7 server reports about a project.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportedProject {
    /// All files that the project reads, its configuration and that one's bases among them.
    pub files: Vec<PathBuf>,
    /// The diagnostics of its configuration, as the API writes them.
    pub diagnostics: Vec<Value>,
}

/// A project of the server, and its files where the server was asked for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedProject {
    /// Path of the project's configuration, or another name.
    pub(crate) name: String,
    /// All files that the project reads.
    pub(crate) files: Vec<PathBuf>,
    /// The first error of its configuration, reported for no source file.
    pub(crate) fault: Option<ConfigurationFault>,
    /// [`ProjectLists::change_count`] when the server was asked for them.
    pub(crate) change_count: u64,
}

/// An error of a project's configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConfigurationFault {
    /// The configuration or the base with the error; the configuration where the server names no file.
    pub(crate) file: PathBuf,
    /// The first line of the server's message.
    pub(crate) message: String,
}

impl ConfigurationFault {
    /// The file, relative to the root if it is below, and its error.
    pub(crate) fn describe(&self, root: &Path) -> String {
        let file = self.file.strip_prefix(root).unwrap_or(&self.file);
        format!("{} has an error: {}", file.display(), self.message)
    }
}

/// The configuration of the project that covers a file, as the server reported it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CoveringConfig {
    pub(crate) path: String,
    /// [`ProjectLists::change_count`] when the server was asked for it.
    pub(crate) change_count: u64,
}

/// The unpolled files of each project of the server. A file stays when a later list lacks it, because nothing else
/// would show that the project reads it again: it was deleted and restored, or its package was resolved differently.
#[derive(Debug, Default)]
pub(crate) struct ProjectLists {
    files: BTreeMap<String, BTreeSet<PathBuf>>,
    /// The errors of the projects' configurations.
    faults: BTreeMap<String, ConfigurationFault>,
    /// The folders of these files in installed packages.
    package_folders: BTreeSet<PathBuf>,
    /// The projects whose files were listed after the last change that may have changed them.
    current: BTreeSet<String>,
    /// Configurations of the projects that cover files, as reported since that change.
    covering: BTreeMap<PathBuf, String>,
    change_count: u64,
}

impl ProjectLists {
    /// True if no list was received since the last such change.
    pub(crate) fn are_outdated(&self) -> bool {
        self.current.is_empty()
    }

    /// True if a project's list was received since the last such change.
    pub(crate) fn is_current(&self, project: &str) -> bool {
        self.current.contains(project)
    }

    /// The configuration of the project that covers a file, if the server has reported it and listed the
    /// project's files since the last such change.
    pub(crate) fn covering_config(&self, file: &Path) -> Option<&str> {
        self.covering.get(file).map(String::as_str).filter(|config| self.is_current(config))
    }

    /// The error of a project's configuration, if its list is current.
    pub(crate) fn configuration_fault(&self, project: &str) -> Option<&ConfigurationFault> {
        self.faults.get(project).filter(|_| self.is_current(project))
    }

    /// The configurations of the projects whose files were listed.
    fn configurations(&self) -> impl Iterator<Item = PathBuf> {
        self.files.keys().map(PathBuf::from).filter(|name| may_be_configuration(name))
    }

    /// Number of changes so far that may have changed the files of a project.
    pub(crate) fn change_count(&self) -> u64 {
        self.change_count
    }

    /// Files appeared, disappeared or may refer to others, or a file changed whose earlier text is
    /// unknown, such as a configuration.
    pub(crate) fn mark_outdated(&mut self) {
        self.current.clear();
        self.covering.clear();
        self.change_count += 1;
    }

    pub(crate) fn store_covering(&mut self, file: PathBuf, config: CoveringConfig) {
        if config.change_count == self.change_count {
            self.covering.insert(file, config.path);
        }
    }

    pub(crate) fn store(&mut self, root: &Path, project: ListedProject) {
        // Polls select files by their extension, which the base of a configuration need not have.
        let is_listed = |file: &PathBuf| is_unpolled(root, file) || file.extension().is_none();
        let mut unpolled: BTreeSet<PathBuf> = project.files.into_iter().filter(is_listed).collect();
        // Decides which files of its package a project reads; no list contains it.
        let manifests: BTreeSet<PathBuf> =
            unpolled.iter().filter_map(|file| package_manifest(file)).collect();
        unpolled.extend(manifests);
        let folders = unpolled.iter().flat_map(|file| package_folders(file));
        self.package_folders.extend(folders.map(Path::to_path_buf));
        self.faults.remove(&project.name);
        self.faults.extend(project.fault.map(|fault| (project.name.clone(), fault)));
        self.files.entry(project.name.clone()).or_default().extend(unpolled);
        if project.change_count == self.change_count {
            self.current.insert(project.name);
        }
    }
}

/// True for a file that may be the configuration of a TypeScript project, or a base of one.
fn may_be_configuration(file: &Path) -> bool {
    file.extension().is_some_and(|extension| extension == "json")
}

/// The `package.json` of the package in `node_modules` that a file belongs to.
fn package_manifest(file: &Path) -> Option<PathBuf> {
    let manifest = package_folder(file)?.join("package.json");
    Some(manifest).filter(|manifest| manifest != file)
}

/// The folder of the package in `node_modules` that a file belongs to.
fn package_folder(file: &Path) -> Option<&Path> {
    let packages = file.ancestors().skip(1).find(|folder| folder.ends_with("node_modules"))?;
    let mut below = file.strip_prefix(packages).ok()?.components();
    let is_scope = below.next()?.as_os_str().as_encoded_bytes().starts_with(b"@");
    let depth = packages.components().count() + if is_scope { 2 } else { 1 };
    file.ancestors().skip(1).find(|folder| folder.components().count() == depth)
}

/// The folders from a file in a package of `node_modules` up to the package's own.
fn package_folders(file: &Path) -> impl Iterator<Item = &Path> {
    let package = package_folder(file);
    file.ancestors()
        .skip(1)
        .take_while(move |folder| package.is_some_and(|it| folder.starts_with(it)))
}

/// True for `tsconfig.json` and files like `tsconfig.base.json` or `tsconfig/strict.json`. Many other JSON files come
/// and go: data, reports of tests.
fn is_named_as_configuration(file: &Path) -> bool {
    let names = file.iter().rev().take(2).map(OsStr::to_string_lossy);
    names.into_iter().any(|name| name.contains("tsconfig") || name.contains("jsconfig"))
}

impl LspSession {
    pub(super) fn store_project_list(&mut self, project: ListedProject) {
        self.project_lists.store(&self.root, project);
        self.update_outside_places();
    }

    /// clangd rereads a configuration only after seconds, and most configurations are outside the
    /// folders whose files restart it; so those that apply to the file count as files of its
    /// project.
    pub(super) fn follow_configurations(&mut self, file: &Path) {
        let Some(folder) = file.parent().filter(|_| self.method == DiagnosticsMethod::Clangd)
        else {
            return;
        };
        let name = folder.to_string_lossy().into_owned();
        if !self.project_lists.files.contains_key(&name) {
            let files = folder.ancestors().map(|above| above.join(CLANGD_CONFIG)).collect();
            let change_count = self.project_lists.change_count();
            self.store_project_list(ListedProject { name, files, fault: None, change_count });
        }
    }

    /// Servers do not look again for what a document names and they do not register for: the files that a Go source
    /// embeds, and the schemas of a document.
    pub(super) fn follow_named(&mut self, document: &DocumentRequest) {
        let file = document.path.under(&self.root);
        let folder = file.parent().unwrap_or(&self.root);
        let places = if self.method == DiagnosticsMethod::Gopls {
            embedded_places(folder, &document.text)
        } else {
            let mut files = schema_files(&document.language_id, folder, &document.text);
            files.retain(|file| self.is_unnoticed_schema(file));
            NamedPlaces { files, folders: Vec::new() }
        };
        let before = if places == NamedPlaces::default() {
            self.named_places.remove(&document.path)
        } else {
            self.named_places.insert(document.path.clone(), places.clone())
        };
        if before.unwrap_or_default() != places {
            self.update_outside_places();
        }
    }

    /// True if a notice is not enough, or impossible, to make the server read this schema again. A server with `watches`
    /// does that when it is notified; tombi 1.9 handles the notice and the text after it at the same time.
    fn is_unnoticed_schema(&self, file: &Path) -> bool {
        self.spec.watches.is_empty()
            || is_unpolled(&self.root, file)
            || !self.is_watched(file, DiskChange::Changed)
    }

    /// Forgets what a deleted document named.
    pub(super) fn forget_named(&mut self, path: &RelPath) {
        if self.named_places.remove(path).is_some() {
            self.update_outside_places();
        }
    }

    /// The answer to [`SessionEffect::ListProjectFiles`] of this job.
    pub fn project_files_listed(
        &mut self,
        job: u64,
        project: Result<ReportedProject, Gap>,
        now: Instant,
    ) {
        self.advance_job(job, now, |protocol, _| protocol.on_project_listed(project));
    }

    /// Sets the folders outside the root whose files the server reads, but does not register for.
    pub fn set_dependencies(&mut self, dependencies: BTreeSet<PathBuf>) {
        self.dependencies = dependencies;
        self.update_outside_places();
    }

    /// Makes the server read changed files outside the polled ones, where a notice is not enough.
    pub(super) fn reread_outside(&mut self, changes: &[(PathBuf, DiskChange)]) {
        let is_installed = |(path, _): &(PathBuf, DiskChange)| self.spec.is_restarted_by(path);
        if changes.iter().any(is_installed) {
            self.effects.push(SessionEffect::Outdated);
            return;
        }
        let mut outside = changes.iter().filter(|(file, _)| self.outside_places.contains(file));
        let Some(first) = outside.next() else { return };
        // tsserver ignores notices about `node_modules/.*`; it rereads all files on request.
        self.is_behind_disk |= self.method == DiagnosticsMethod::Tsserver;
        let mut of_documents = self.named_places.values().flat_map(|places| &places.folders);
        let has_other_names = first.1 != DiskChange::Changed
            || outside.any(|(_, change)| *change != DiskChange::Changed)
            || of_documents.any(|folder| changes.iter().any(|(path, _)| path == folder));
        let is_restarted = match self.spec.outside_restart {
            OutsideRestart::None => false,
            OutsideRestart::Names => has_other_names,
            OutsideRestart::Changes => true,
        };
        // TypeScript does not search a package again for a file that appeared in it, unless it has read it before.
        let named = changes.iter().filter(|(_, change)| *change != DiskChange::Changed);
        let known: BTreeSet<&Path> = named.filter_map(|(path, _)| path.parent()).collect();
        let package_folders = &self.project_lists.package_folders;
        let has_other_files = changes
            .iter()
            .any(|(path, _)| package_folders.contains(path) && !known.contains(path.as_path()));
        if is_restarted || has_other_files {
            self.effects.push(SessionEffect::Outdated);
        }
    }

    /// The configurations of projects that must be announced as changed, because one that they may extend
    /// appeared or disappeared in a package: TypeScript does not search for it again (7.0.2 and 5.9.3). A tsserver that
    /// watches the disk itself finds a new one only seconds later, and is restarted.
    pub(super) fn extending_configurations(
        &mut self,
        changes: &[(PathBuf, DiskChange)],
    ) -> Vec<(PathBuf, DiskChange)> {
        let mut is_packaged = false;
        for (file, change) in changes {
            if *change == DiskChange::Changed || !may_be_configuration(file) {
                continue;
            }
            is_packaged |= is_installed(file);
            let is_ready_tsserver =
                self.phase == SessionPhase::Ready && self.method == DiagnosticsMethod::Tsserver;
            let is_base = is_installed(file) || is_named_as_configuration(file);
            if is_ready_tsserver && is_base && !self.is_watched(file, *change) {
                self.effects.push(SessionEffect::Outdated);
                return Vec::new();
            }
        }
        let is_announced = |file: &PathBuf| changes.iter().any(|(changed, _)| changed == file);
        let configurations = self.project_lists.configurations().filter(|_| is_packaged);
        let extending = configurations.filter(|file| !is_announced(file));
        extending.map(|configuration| (configuration, DiskChange::Changed)).collect()
    }

    /// Reports the places if they have changed.
    pub(super) fn update_outside_places(&mut self) {
        let of_projects = self.project_lists.files.values().flatten();
        let of_documents = self
            .named_places
            .values()
            .flat_map(|places| places.files.iter().chain(&places.folders));
        let folders = &self.project_lists.package_folders;
        let files = of_projects.chain(of_documents).chain(folders).cloned().collect();
        let mut watched = self.registrations.outside_places(&self.root);
        watched.extend(self.dependencies.iter().cloned());
        let places = OutsidePlaces { files, watched };
        if places != self.outside_places {
            self.outside_places = places.clone();
            self.effects.push(SessionEffect::OutsidePlacesChanged(places));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listed_file_has_the_manifest_of_its_package() {
        let manifest = |file: &str| {
            let manifest = package_manifest(Path::new(file))?;
            Some(manifest.to_str().expect("UTF-8").to_owned())
        };
        for (file, package) in [
            ("/r/node_modules/a/lib/i.d.ts", "/r/node_modules/a"),
            ("/r/node_modules/@s/a/i.d.ts", "/r/node_modules/@s/a"),
            ("/r/node_modules/.p/node_modules/b/i.d.ts", "/r/node_modules/.p/node_modules/b"),
        ] {
            assert_eq!(manifest(file), Some(format!("{package}/package.json")), "{file}");
        }
        for file in ["/r/src/a.ts", "/r/node_modules/a.d.ts", "/r/node_modules/a/package.json"] {
            assert_eq!(manifest(file), None, "{file}");
        }
    }

    #[test]
    fn the_folders_of_a_packaged_file_end_with_its_package() {
        let folders = |file: &'static str| {
            let folders = package_folders(Path::new(file));
            folders.map(|folder| folder.to_str().expect("UTF-8")).collect::<Vec<_>>()
        };
        let scoped = ["/r/node_modules/@s/a/b/c", "/r/node_modules/@s/a/b", "/r/node_modules/@s/a"];
        assert_eq!(folders("/r/node_modules/@s/a/b/c/i.d.ts"), scoped);
        let inner = "/r/node_modules/a/node_modules/b";
        assert_eq!(folders("/r/node_modules/a/node_modules/b/i.d.ts"), [inner]);
        assert!(folders("/r/src/a.ts").is_empty() && folders("/r/node_modules/a.d.ts").is_empty());
    }

    #[test]
    fn a_file_stays_polled_when_a_later_list_lacks_it() {
        let mut lists = ProjectLists::default();
        for file in ["/o/a.ts", "/o/b.ts"] {
            let files = vec![PathBuf::from(file)];
            let project =
                ListedProject { name: "p".to_owned(), files, fault: None, change_count: 0 };
            lists.store(Path::new("/r"), project);
        }
        assert_eq!(lists.files["p"], BTreeSet::from(["/o/a.ts", "/o/b.ts"].map(PathBuf::from)));
    }
}
