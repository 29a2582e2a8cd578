//! Gathers the facts that `lsp::faults` needs: names that exist around a file, contents of
//! manifests, programs that can be started. Reads the disk, decides nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::checking_config::{CheckingConfig, tsconfig_base};
use super::compile_database::DatabaseSearch;
use super::go_workspace;
use super::{MeasureInput, ServerContext};
use crate::files::read_regular_text;
use moai_base::finding::Finding;
use moai_base::limits::{JAVA_TWIN_FILES_MAX, SOURCE_BYTES_MAX};
use moai_base::verdict::{Cause, Gap};
use moai_lsp::faults::{self, FaultFacts, NeededFacts};
use moai_lsp::switched_off::{self, CheckedFile};

/// A file that a server has measured.
#[derive(Debug)]
pub(super) struct MeasuredFile {
    pub(super) input: MeasureInput,
    /// Its LSP language id.
    pub(super) language_id: String,
    /// The configuration that can switch the server's checking off.
    pub(super) checking: Option<CheckingConfig>,
    /// The search for the file's compiler flags.
    pub(super) database: DatabaseSearch,
}

/// The findings that no fault of the project explains, and the gap for the rest, or for a file that the
/// project's configuration excludes from checking.
pub(super) async fn explain_faults(
    context: &ServerContext,
    file: MeasuredFile,
    findings: Vec<Finding>,
) -> (Vec<Finding>, Option<Gap>) {
    let wanted = faults::needed_facts(&file.language_id, &findings);
    if wanted.is_none() && file.checking.is_none() {
        return (findings, None);
    }
    let context = context.clone();
    let explained = tokio::task::spawn_blocking(move || {
        let switched_off = file.switched_off_gap(&context.root, &findings);
        let facts = wanted.map(|wanted| gather(&context, &file, wanted)).unwrap_or_default();
        let text = &file.input.text;
        let (findings, fault) = faults::explain_findings(&file.language_id, text, &facts, findings);
        (findings, fault.or(switched_off))
    });
    explained.await.unwrap_or_else(|_| (Vec::new(), Some(panic_gap())))
}

fn panic_gap() -> Gap {
    Gap::new(Cause::Crashed, "its findings could not be compared with the project's configuration")
}

impl MeasuredFile {
    fn switched_off_gap(&self, root: &Path, findings: &[Finding]) -> Option<Gap> {
        let MeasureInput { path, text, .. } = &self.input;
        let file = CheckedFile { path, language_id: &self.language_id, text };
        self.checking.as_ref()?.gap(root, file, switched_off::reported_project(findings))
    }
}

fn gather(context: &ServerContext, measured: &MeasuredFile, wanted: NeededFacts) -> FaultFacts {
    let path = &measured.input.path;
    let file = path.under(&context.root);
    let folders: Vec<&Path> =
        file.ancestors().skip(1).take_while(|folder| folder.starts_with(&context.root)).collect();
    let mut facts =
        FaultFacts { has_environment: has_environment(context), ..FaultFacts::default() };
    for name in wanted.names {
        if folders.iter().any(|folder| folder.join(name).symlink_metadata().is_ok()) {
            facts.names.insert((*name).to_owned());
        }
    }
    for name in wanted.manifests {
        if let Some(text) = nearest_text(&folders, name) {
            facts.manifests.insert((*name).to_owned(), text);
        }
    }
    for name in wanted.programs {
        if context.program_on_path(name).is_some() || is_in_cargo_home(context, name) {
            facts.programs.insert((*name).to_owned());
        }
    }
    if wanted.neighbours {
        facts.neighbours = neighbours(&context.root, &folders);
    }
    if wanted.java_sources {
        facts.java_twins = java_twins(&file, &measured.input.text);
        if facts.names.is_empty() {
            facts.java_packages = java_packages(&context.root, &folders);
        }
    }
    if let Some(manifest) = facts.manifests.get("package.json") {
        let mut packages = faults::declared_packages(manifest);
        packages.retain(|package| !is_installed(&file, package));
        facts.missing_packages = packages;
    }
    facts.path = path.to_string();
    if wanted.compile_flags {
        facts.compile_flags = measured.database.compile_flags(context, &file);
    }
    if wanted.names.contains(&"go.work") {
        facts.module_outside_go_work = go_workspace::unlisted_module(&context.env, &file);
        facts.local_modules = go_workspace::local_modules(&context.env, &file);
    }
    if wanted.names.contains(&"tsconfig.json") {
        facts.missing_base = missing_base(&folders);
        facts.has_broken_config = nearest_text(&folders, "tsconfig.json")
            .is_some_and(|config| !faults::is_readable(&config));
    }
    facts
}

fn nearest_text(folders: &[&Path], name: &str) -> Option<String> {
    folders.iter().find_map(|folder| read_bounded_text(&folder.join(name)))
}

/// Devices and pipes are not opened and the size is bounded, because a project may hold any file.
pub(super) fn read_bounded_text(path: &Path) -> Option<String> {
    read_regular_text(path, SOURCE_BYTES_MAX).ok()
}

/// The folder of the user's settings; on macOS, where programs disagree, one below the home.
pub(super) fn settings_folder(env: &BTreeMap<String, String>, on_macos: &str) -> Option<PathBuf> {
    let home = env.get("HOME").map(PathBuf::from);
    if cfg!(target_os = "macos") {
        return Some(home?.join(on_macos));
    }
    let configured = env.get("XDG_CONFIG_HOME").filter(|folder| !folder.is_empty());
    configured.map(PathBuf::from).or_else(|| Some(home?.join(".config")))
}

/// rustup's programs need not be on PATH; rust-analyzer looks in Cargo's home as well.
fn is_in_cargo_home(context: &ServerContext, name: &str) -> bool {
    let home = context.env.get("HOME").map(PathBuf::from);
    home.is_some_and(|home| home.join(".cargo/bin").join(name).is_file())
}

fn has_environment(context: &ServerContext) -> bool {
    let is_active =
        ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().any(|name| context.env.contains_key(*name));
    is_active
        || [".venv", "venv"].iter().any(|name| context.root.join(name).join("bin/python").exists())
}

/// The folders with Java sources among these and the folders in them, relative to the root.
fn java_packages(root: &Path, folders: &[&Path]) -> BTreeSet<String> {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut all: BTreeSet<PathBuf> = folders.iter().map(|folder| folder.to_path_buf()).collect();
    for folder in folders {
        all.extend(entries(folder).map(|entry| entry.path()).filter(|path| path.is_dir()));
    }
    all.retain(|folder| {
        entries(folder).any(|entry| entry.path().extension().is_some_and(|it| it == "java"))
    });
    let relative = all.iter().filter_map(|folder| folder.strip_prefix(root).ok()?.to_str());
    relative.map(str::to_owned).collect()
}

/// The types that a Java source and another one of its folder declare, with the name of the other file.
fn java_twins(file: &Path, text: &str) -> BTreeMap<String, String> {
    let own = faults::java_types(text);
    let is_mentioned =
        |name: &String, text: &str| text.contains(name.rsplit('.').next().unwrap_or(name));
    let entries = file.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    let mut others: Vec<PathBuf> =
        entries.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    others.retain(|other| other.extension().is_some_and(|it| it == "java") && other != file);
    others.sort();
    let mut twins = BTreeMap::new();
    for other in others.into_iter().take(JAVA_TWIN_FILES_MAX) {
        let name = other.file_name().map(|name| name.to_string_lossy().into_owned());
        let text = read_bounded_text(&other).unwrap_or_default();
        if !own.iter().any(|name| is_mentioned(name, &text)) {
            continue;
        }
        for declared in faults::java_types(&text).intersection(&own) {
            twins.insert(declared.clone(), name.clone().unwrap_or_default());
        }
    }
    twins
}

/// Python modules of the project that can be imported by their file names.
fn neighbours(root: &Path, folders: &[&Path]) -> BTreeSet<String> {
    let source = root.join("src");
    let places = [Some(root), Some(source.as_path()), folders.first().copied()];
    let entries = places.into_iter().flatten().filter_map(|place| std::fs::read_dir(place).ok());
    let files = entries.flatten().flatten().map(|entry| entry.path());
    files.filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned())).collect()
}

/// True if Node finds a package from this file, searching up to the file system's root. Yarn's Plug'n'Play
/// has no folders to search.
fn is_installed(file: &Path, package: &str) -> bool {
    file.ancestors().skip(1).any(|folder| {
        folder.join("node_modules").join(package).exists() || folder.join(".pnp.cjs").exists()
    })
}

/// The base that the nearest tsconfig.json extends, if it is missing.
fn missing_base(folders: &[&Path]) -> Option<String> {
    let (folder, config) = folders
        .iter()
        .find_map(|folder| Some((folder, read_bounded_text(&folder.join("tsconfig.json"))?)))?;
    let config_file = folder.join("tsconfig.json");
    faults::extended_configs(&config).into_iter().find(|base| {
        if !base.starts_with(['.', '/']) {
            let package = faults::package_of_module(base);
            let is_found = || tsconfig_base(&config_file, base).is_some();
            return !is_installed(&config_file, package)
                || !is_found() && !has_exports(&config_file, package);
        }
        let file = folder.join(base);
        !file.exists() && !folder.join(format!("{base}.json")).exists()
    })
}

/// True if the package decides itself which files its names lead to. Yarn's Plug'n'Play has no folder to look into.
fn has_exports(file: &Path, package: &str) -> bool {
    let packages = file.ancestors().skip(1).map(|folder| folder.join("node_modules").join(package));
    let mut manifests = packages.map(|folder| folder.join("package.json"));
    let manifest = manifests.find_map(|manifest| read_bounded_text(&manifest));
    manifest.is_none_or(|manifest| manifest.contains("\"exports\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::servers::ProjectPrograms;
    use moai_base::hash::ContentHash;
    use moai_base::path::RelPath;
    use moai_lsp::registry::Catalogue;
    use moai_lsp::session::MeasureLane;

    /// Checks the facts for a TypeScript file `pkg/a.ts` without findings among these files.
    fn check(files: &[(&str, &str)], missing_base: Option<&str>, missing_packages: &[&str]) {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().to_path_buf();
        for (name, text) in files {
            let file = root.join(name);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
            std::fs::write(&file, text).expect("a file");
        }
        let catalogue = Catalogue::built_in().clone().into();
        let context = ServerContext::new(
            root.clone(),
            BTreeMap::new().into(),
            catalogue,
            ProjectPrograms::Allowed,
        );
        let path = RelPath::below(&root, &root.join("pkg/a.ts")).expect("relative");
        let input = MeasureInput {
            path,
            text: "".into(),
            hash: ContentHash::of_bytes(b""),
            lane: MeasureLane::Batch,
        };
        let measured = MeasuredFile {
            input,
            language_id: "typescript".to_owned(),
            checking: None,
            database: DatabaseSearch::default(),
        };
        let mut wanted = faults::needed_facts("typescript", &[]).expect("always");
        wanted.manifests = &["package.json"];
        let facts = gather(&context, &measured, wanted);
        assert_eq!(facts.missing_base.as_deref(), missing_base, "{files:?}");
        let missing: Vec<&str> = facts.missing_packages.iter().map(String::as_str).collect();
        assert_eq!(missing, missing_packages, "{files:?}");
    }

    #[test]
    fn packages_are_resolved_as_by_node() {
        let manifest =
            ("package.json", r#"{"dependencies": {"a": "1"}, "devDependencies": {"@b/c": "1"}}"#);
        check(&[manifest], None, &["@b/c", "a"]);
        check(&[manifest, ("node_modules/a/index.js", "")], None, &["@b/c"]);
        check(&[manifest, ("pkg/node_modules/@b/c/index.js", "")], None, &["a"]);
        check(&[manifest, (".pnp.cjs", "")], None, &[]);
    }

    #[test]
    fn the_base_of_the_nearest_tsconfig_must_be_there() {
        let config = |base: &str| format!("{{ // \"extends\": \"./no\"\n \"extends\": {base},}}");
        check(&[("tsconfig.json", &config("\"./base\""))], Some("./base"), &[]);
        check(&[("tsconfig.json", &config("\"./base\"")), ("base.json", "{}")], None, &[]);
        check(&[("tsconfig.json", &config("[\"./x.json\"]")), ("x.json", "{}")], None, &[]);
        check(
            &[("tsconfig.json", &config("\"@t/node/tsconfig.json\""))],
            Some("@t/node/tsconfig.json"),
            &[],
        );
        check(&[("tsconfig.json", &config("\"./no\"")), ("pkg/tsconfig.json", "{}")], None, &[]);
        let extending = config("\"@t/node/strict\"");
        let of_package = ("tsconfig.json", extending.as_str());
        let manifest = |text| ("node_modules/@t/node/package.json", text);
        check(&[of_package, manifest("{}")], Some("@t/node/strict"), &[]);
        check(&[of_package, manifest("{}"), ("node_modules/@t/node/strict.json", "{}")], None, &[]);
        check(&[of_package, manifest("{\"exports\": {\"./strict\": \"./a.json\"}}")], None, &[]);
    }
}
