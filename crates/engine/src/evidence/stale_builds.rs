//! Packages of a monorepo that others read as built: their declaration files, not their sources. Servers measure an
//! importer against the last build, so a source that changed after it is unmeasured there. Blocking.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use crate::project::Project;
use moai_base::evidence::SkippedFile;
use moai_base::limits::{BUILT_FILES_MAX, IMPACT_SEARCH_MS_MAX};
use moai_base::path::{RelPath, normalize};
use moai_host::{files, git};
use moai_loops::exam::roles::{ExamRole, role};
use moai_lsp::impact::TouchedSymbols;
use serde_json::Value;

const MANIFEST: &str = "package.json";
const SOURCES: [&str; 8] = ["cjs", "cts", "js", "jsx", "mjs", "mts", "ts", "tsx"];
const DECLARATIONS: [&str; 3] = [".d.ts", ".d.mts", ".d.cts"];

/// A built package with a source that changed after the build.
struct StalePackage {
    /// The name that importers write.
    name: String,
    folder: String,
    /// One of the declaration files that importers read.
    built: RelPath,
    /// The source that changed last.
    source: RelPath,
}

/// For each stale package whose importers the work may affect, its declaration file. `changed` are the changed and
/// deleted files of the work, and `touched` the symbols that they touch.
pub(super) fn stale_builds(
    project: &Project,
    changed: &[RelPath],
    touched: &TouchedSymbols,
) -> Vec<SkippedFile> {
    if touched.is_empty() {
        return Vec::new();
    }
    let mut latest: BTreeMap<String, (SystemTime, &RelPath)> = BTreeMap::new();
    for path in changed.iter().filter(|path| is_source(path)) {
        let found = package_folder(&project.root, path).zip(changed_at(&project.root, path));
        let Some((folder, at)) = found else { continue };
        let known = latest.entry(folder).or_insert((at, path));
        if at > known.0 {
            *known = (at, path);
        }
    }
    let mut skipped = Vec::new();
    let deadline = Instant::now() + Duration::from_millis(IMPACT_SEARCH_MS_MAX);
    for (folder, (at, source)) in latest {
        let Some(package) = stale_package(&project.root, folder, at, source) else { continue };
        if package.is_affected(project, changed, touched, deadline) {
            let StalePackage { name, built, source, .. } = package;
            let reason = format!(
                "built before {source} changed; files that import {name} were measured against it"
            );
            skipped.push(SkippedFile { path: built.to_string(), reason });
        }
    }
    skipped
}

fn is_source(path: &RelPath) -> bool {
    path.extension().is_some_and(|extension| SOURCES.contains(&extension.as_str()))
        && !is_declaration(path.as_str())
        && role(path) != Some(ExamRole::Test)
}

fn is_declaration(name: &str) -> bool {
    DECLARATIONS.iter().any(|end| name.ends_with(end))
}

/// The nearest folder below the root that has a manifest.
fn package_folder(root: &Path, path: &RelPath) -> Option<String> {
    let folders: Vec<&str> = path.folders().collect();
    let mut nearest_first = folders.into_iter().rev();
    let folder = nearest_first.find(|folder| root.join(folder).join(MANIFEST).is_file());
    folder.map(str::to_owned)
}

/// When a file changed; of a deleted one, when its folder did.
pub(super) fn changed_at(root: &Path, path: &RelPath) -> Option<SystemTime> {
    let file = path.under(root);
    let metadata = file.ancestors().find_map(|at| at.symlink_metadata().ok())?;
    metadata.modified().ok()
}

/// The package in this folder, if it has been built and nothing of the build is as new as its source.
fn stale_package(
    root: &Path,
    folder: String,
    changed_at: SystemTime,
    source: &RelPath,
) -> Option<StalePackage> {
    let text = read_text(root, &format!("{folder}/{MANIFEST}"))?;
    let manifest: Value = serde_json::from_str(&text).ok()?;
    let name = manifest.get("name")?.as_str()?.to_owned();
    let mut targets = BTreeSet::new();
    for key in ["types", "typings", "main", "module", "exports"] {
        add_declarations(&manifest[key], &mut targets);
    }
    let built: Vec<RelPath> = targets
        .into_iter()
        .filter_map(|target| {
            let place = normalize(&Path::new(&folder).join(target));
            let place = RelPath::parse(place.to_str()?)?;
            place.under(root).is_file().then_some(place)
        })
        .collect();
    // A tracked declaration file is written by hand, or is a change like others.
    let ignored = git::ignored_paths(root, &built).ok()?;
    let built = built.into_iter().find(|place| ignored.contains(place))?;
    let below = built.as_str().strip_prefix(&folder)?.trim_start_matches('/');
    let output = below.split_once('/').map_or("", |(first, _)| first);
    // Importers with a project reference read the sources instead.
    let is_referenced = read_text(root, &format!("{folder}/tsconfig.json"))
        .is_some_and(|text| text.contains("\"composite\""));
    let is_stale = !output.is_empty()
        && !is_referenced
        && newest_file(&root.join(&folder).join(output)).is_some_and(|newest| newest < changed_at);
    is_stale.then(|| StalePackage { name, folder, built, source: source.clone() })
}

/// The declaration files that a value of a manifest names, or that stand next to the named script.
fn add_declarations(value: &Value, targets: &mut BTreeSet<String>) {
    match value {
        Value::String(target) if is_declaration(target) => drop(targets.insert(target.clone())),
        Value::String(target) => {
            for (script, declaration) in [(".js", ".d.ts"), (".mjs", ".d.mts"), (".cjs", ".d.cts")]
            {
                if let Some(stem) = target.strip_suffix(script) {
                    targets.insert(format!("{stem}{declaration}"));
                }
            }
        }
        Value::Object(map) => map.values().for_each(|value| add_declarations(value, targets)),
        Value::Array(items) => items.iter().for_each(|value| add_declarations(value, targets)),
        _ => {}
    }
}

/// The time of the newest file below a folder, of the first [`BUILT_FILES_MAX`].
fn newest_file(folder: &Path) -> Option<SystemTime> {
    let (mut newest, mut left) = (None, BUILT_FILES_MAX);
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten().take(left) {
            left -= 1;
            let Ok(metadata) = entry.metadata() else { continue };
            if metadata.is_dir() {
                folders.push(entry.path());
            } else {
                newest = newest.max(metadata.modified().ok());
            }
        }
    }
    newest
}

impl StalePackage {
    /// True if another package imports this one, and unchanged sources of this one or its importers mention what
    /// changed. A search that takes too long counts as that.
    fn is_affected(
        &self,
        project: &Project,
        changed: &[RelPath],
        touched: &TouchedSymbols,
        deadline: Instant,
    ) -> bool {
        let root = &project.root;
        let sources = files::walk_names(root, &|path| {
            let is_own_change = path.is_in(&self.folder) && changed.contains(path);
            is_source(path) && !is_own_change
        });
        let found = files::search_files(root, &sources, deadline, &|text| {
            let imports = names_package(text, &self.name);
            let mentions = touched.may_change_meaning_of(text);
            (imports || mentions).then_some(SourceMentions { imports, mentions })
        });
        let (mut is_imported, mut is_mentioned) = (false, false);
        for (path, source) in &found.files {
            let is_own = path.is_in(&self.folder);
            let reads_build = !is_own && source.imports && !self.is_mapped(root, path);
            is_imported |= reads_build;
            is_mentioned |= source.mentions && (is_own || reads_build);
        }
        found.is_truncated || (is_imported && is_mentioned)
    }

    /// True if a configuration that may cover the file leads the package's name to other files, such as its sources.
    fn is_mapped(&self, root: &Path, path: &RelPath) -> bool {
        let own = package_folder(root, path).unwrap_or_default();
        [String::new(), own].iter().any(|folder| {
            ["tsconfig.json", "tsconfig.base.json"].iter().any(|name| {
                let place = format!("{folder}/{name}");
                let text = read_text(root, place.trim_start_matches('/'));
                text.is_some_and(|text| names_package(&text, &self.name))
            })
        })
    }
}

/// What a source says about a stale package.
struct SourceMentions {
    imports: bool,
    /// It mentions a touched symbol.
    mentions: bool,
}

/// True if a string of the text begins with the name of the package.
fn names_package(text: &str, name: &str) -> bool {
    text.match_indices(name).any(|(at, _)| {
        text[..at].ends_with(['"', '\'', '`'])
            && text[at + name.len()..].starts_with(['"', '\'', '`', '/'])
    })
}

fn read_text(root: &Path, path: &str) -> Option<String> {
    let path = RelPath::parse(path)?;
    let snapshot = files::read_snapshot(root, &path.under(root)).ok()?;
    Some(snapshot.text.to_string())
}
