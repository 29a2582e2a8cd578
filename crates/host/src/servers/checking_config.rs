//! Reads the configurations that can switch a server's checking of a file off, with their bases, for
//! `lsp::switched_off`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::fault_facts::read_bounded_text;
use crate::files::walk_names;
use moai_base::jsonc::parse_jsonc;
use moai_base::limits::CONFIG_BASES_MAX;
use moai_base::path::{RelPath, normalize};
use moai_base::toml_value::parse_toml;
use moai_base::verdict::Gap;
use moai_lsp::faults::{extended_configs, package_of_module};
use moai_lsp::registry::{Catalogue, CheckingRules};
use moai_lsp::session::DiskChange;
use moai_lsp::switched_off::{
    CheckedFile, CoveringProject, PyrightConfig, PyrightLayer, pyright_gap, typescript_gap,
};

use super::resolve::ResolvedServer;

/// The server whose configuration is read, and the folder to read it in.
#[derive(Clone, Debug)]
pub(super) struct CheckingConfig {
    rules: CheckingRules,
    workspace: PathBuf,
    markers: Vec<String>,
}

impl CheckingConfig {
    /// `None` for a server with no known setting that switches its checking off.
    pub(super) fn of_server(server: &ResolvedServer) -> Option<Self> {
        let rules = server.spec.checking?;
        let (workspace, markers) =
            (server.workspace.clone(), server.spec.workspace_markers.clone());
        Some(Self { rules, workspace, markers })
    }

    /// True if the server overlooks one of these changes on disk. `has_text` is true for a file whose text the
    /// server gets from us.
    pub(super) fn overlooks(
        &self,
        changes: &[(PathBuf, DiskChange)],
        has_text: impl Fn(&Path) -> bool,
    ) -> bool {
        if self.rules != CheckingRules::Pyright {
            return false;
        }
        let is_module = |file: &Path| file.extension().is_some_and(|it| it == "py" || it == "pyi");
        let mut modules = changes
            .iter()
            .filter(|(file, _)| is_module(file))
            .filter(|(file, change)| *change != DiskChange::Changed || !has_text(file))
            .peekable();
        // Before the configuration is read, because most changes need no look at it.
        if modules.peek().is_none() {
            return false;
        }
        pyright_config(&self.workspace, &self.markers)
            .is_some_and(|config| modules.any(|(file, _)| !config.covers(&file.to_string_lossy())))
    }

    /// Why the server does not check the file. `project` is the configuration that it reported, empty for a
    /// file outside every project.
    pub(super) fn gap(
        &self,
        root: &Path,
        file: CheckedFile<'_>,
        project: Option<&str>,
    ) -> Option<Gap> {
        match self.rules {
            CheckingRules::Typescript => {
                typescript_gap(file, &covering_project(root, file.path, project?))
            }
            CheckingRules::Pyright => {
                let config = pyright_config(&self.workspace, &self.markers);
                let path = file.path.under(root);
                pyright_gap(&path.to_string_lossy(), file.text, config.as_ref())
            }
        }
    }
}

fn covering_project(root: &Path, path: &RelPath, config: &str) -> CoveringProject {
    let file = path.under(root);
    let mut folders = file.ancestors().skip(1).take_while(|folder| folder.starts_with(root));
    let is_near_config = folders.any(|folder| {
        ["tsconfig.json", "jsconfig.json"].iter().any(|name| folder.join(name).is_file())
    });
    let config = Path::new(config);
    let name = config.file_name().map(|name| name.to_string_lossy().into_owned());
    let mut texts = Vec::new();
    if name.is_some() {
        read_tsconfig(config, &mut texts, &mut Vec::new());
    }
    CoveringProject { config: name, texts, is_near_config }
}

/// A configuration and its bases.
pub(super) fn tsconfig_chain(config: &Path) -> Vec<PathBuf> {
    let mut chain = Vec::new();
    read_tsconfig(config, &mut Vec::new(), &mut chain);
    chain
}

/// Adds the texts of a configuration's bases, then its own.
fn read_tsconfig(config: &Path, texts: &mut Vec<String>, seen: &mut Vec<PathBuf>) {
    if seen.len() >= CONFIG_BASES_MAX || seen.iter().any(|known| known == config) {
        return;
    }
    seen.push(config.to_path_buf());
    let Some(text) = read_bounded_text(config) else { return };
    for base in extended_configs(&text) {
        if let Some(base) = tsconfig_base(config, &base) {
            read_tsconfig(&base, texts, seen);
        }
    }
    texts.push(text);
}

/// The file that `extends` refers to: a path, or a file of a package.
pub(super) fn tsconfig_base(config: &Path, base: &str) -> Option<PathBuf> {
    if base.starts_with(['.', '/']) {
        return config_file(&config.parent()?.join(base));
    }
    config.ancestors().skip(1).find_map(|folder| {
        let modules = folder.join("node_modules");
        let place = modules.join(base);
        let manifest = modules.join(package_of_module(base)).join("package.json");
        let named = (package_of_module(base) == base)
            .then(|| serde_json::from_str::<Value>(&read_bounded_text(&manifest)?).ok())
            .flatten();
        let named = named.and_then(|manifest| Some(place.join(manifest["tsconfig"].as_str()?)));
        named.and_then(|file| config_file(&file)).or_else(|| config_file(&place))
    })
}

/// A configuration by its path, which may lack `.json` or name a folder.
fn config_file(place: &Path) -> Option<PathBuf> {
    let mut with_extension = place.as_os_str().to_owned();
    with_extension.push(".json");
    let candidates = [place.to_path_buf(), with_extension.into(), place.join("tsconfig.json")];
    candidates.into_iter().find(|file| file.is_file())
}

/// The configuration that pyright reads in its workspace: the first marker that is there.
fn pyright_config(workspace: &Path, markers: &[String]) -> Option<PyrightConfig> {
    markers.iter().find_map(|marker| {
        let (name, table) = marker.split_once('#').unwrap_or((marker, ""));
        let mut layers = Vec::new();
        add_layers(&workspace.join(name), table, &mut layers);
        (!layers.is_empty()).then(|| PyrightConfig { name: name.to_owned(), layers })
    })
}

/// The folder of the virtual environment that the configuration of pyright in a workspace names.
pub(super) fn pyright_environment(workspace: &Path, markers: &[String]) -> Option<PathBuf> {
    pyright_config(workspace, markers)?.environment()
}

/// The folder of the virtual environment that the configuration of ty names: it may name the interpreter in it.
/// `ty.toml` takes precedence over `pyproject.toml`. Source: <https://docs.astral.sh/ty/reference/configuration/>.
pub(super) fn ty_environment(workspace: &Path) -> Option<PathBuf> {
    let own = workspace.join("ty.toml");
    let keys = if own.is_file() {
        read_keys(&own, "environment")
    } else {
        read_keys(&workspace.join("pyproject.toml"), "tool.ty.environment")
    };
    let named = workspace.join(keys?["python"].as_str()?);
    if named.is_file() { named.parent()?.parent().map(Path::to_path_buf) } else { Some(named) }
}

/// Adds the bases of a configuration, then itself; nothing if it is not there.
fn add_layers(config: &Path, table: &str, layers: &mut Vec<PyrightLayer>) {
    for PyrightFile { path, keys } in pyright_chain(config, table).into_iter().rev() {
        let folder = path.parent().unwrap_or(Path::new("/")).to_string_lossy().into_owned();
        layers.extend(keys.map(|keys| PyrightLayer { folder, keys }));
    }
}

/// A configuration of pyright, or a base of one.
#[derive(Debug)]
struct PyrightFile {
    path: PathBuf,
    /// `None` if it cannot be read.
    keys: Option<Value>,
}

/// A configuration, then its bases.
fn pyright_chain(config: &Path, table: &str) -> Vec<PyrightFile> {
    let mut chain = Vec::new();
    let mut next = Some(config.to_path_buf());
    while let Some(path) = next.take().filter(|_| chain.len() < CONFIG_BASES_MAX) {
        let keys = read_keys(&path, table);
        let base = keys.as_ref().and_then(|keys| keys["extends"].as_str());
        next = base.map(|base| path.parent().unwrap_or(Path::new("/")).join(base));
        chain.push(PyrightFile { path, keys });
    }
    chain
}

/// The bases of the configuration that pyright reads in a workspace; the last one may be missing.
pub(super) fn pyright_bases(workspace: &Path, markers: &[String]) -> Vec<PathBuf> {
    markers
        .iter()
        .map(|marker| pyright_chain_of_marker(workspace, marker))
        .find(|chain| chain.first().is_some_and(|config| config.keys.is_some()))
        .into_iter()
        .flat_map(|chain| chain.into_iter().skip(1).map(|base| base.path))
        .collect()
}

/// The bases of ruff's configurations in these folders; some may be missing. ruff registers for files of its own names
/// only. Source: <https://docs.astral.sh/ruff/settings/#extend>.
pub(super) fn ruff_bases<'f>(
    folders: impl Iterator<Item = &'f Path>,
    home: Option<&Path>,
) -> Vec<PathBuf> {
    let mut bases = Vec::new();
    for folder in folders {
        for name in ["ruff.toml", ".ruff.toml", "pyproject.toml"] {
            let mut next = ruff_base(&folder.join(name), home);
            while let Some(base) = next.take()
                && bases.len() < CONFIG_BASES_MAX
                && !bases.contains(&base)
            {
                next = ruff_base(&base, home);
                bases.push(base);
            }
        }
    }
    bases
}

/// ruff expands `~` and variables in the path; one with a variable is not followed.
fn ruff_base(config: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let key = if config.ends_with("pyproject.toml") { "tool.ruff.extend" } else { "extend" };
    let base = read_keys(config, key)?;
    let base = base.as_str()?;
    let in_home = base.strip_prefix("~/").and_then(|name| Some(home?.join(name)));
    Some(in_home.unwrap_or_else(|| normalize(&config.with_file_name(base))))
}

fn pyright_chain_of_marker(folder: &Path, marker: &str) -> Vec<PyrightFile> {
    let (name, table) = marker.split_once('#').unwrap_or((marker, ""));
    pyright_chain(&folder.join(name), table)
}

/// True if a marker, `FILE` or `FILE#TABLE`, names the file.
fn is_named_by(marker: &str, path: &RelPath) -> bool {
    marker.split('#').next() == Some(path.file_name())
}

/// The configurations of pyright below a root that one of these files is a base of.
#[must_use]
pub fn configurations_based_on(
    root: &Path,
    catalogue: &Catalogue,
    bases: &BTreeSet<RelPath>,
) -> Vec<RelPath> {
    let specs = catalogue.servers().map(|(_, spec)| spec);
    let markers: BTreeSet<&str> = specs
        .filter(|spec| spec.checking == Some(CheckingRules::Pyright))
        .flat_map(|spec| spec.workspace_markers.iter().map(String::as_str))
        .collect();
    let mut configs =
        walk_names(root, &|path| markers.iter().any(|marker| is_named_by(marker, path)));
    configs.retain(|config| {
        let folder = config.under(root).parent().unwrap_or(root).to_path_buf();
        markers.iter().filter(|marker| is_named_by(marker, config)).any(|marker| {
            let chain = pyright_chain_of_marker(&folder, marker);
            let files = chain.into_iter().skip(1).map(|base| base.path);
            let mut files = files.map(|file| file.canonicalize().unwrap_or(file));
            files.any(|file| RelPath::below(root, &file).is_some_and(|it| bases.contains(&it)))
        })
    });
    configs
}

/// The keys of a JSON configuration, or of a table of a TOML file.
fn read_keys(file: &Path, table: &str) -> Option<Value> {
    let text = read_bounded_text(file)?;
    if file.extension().is_none_or(|extension| extension != "toml") {
        return parse_jsonc(&text).ok().flatten();
    }
    let value = parse_toml(&text).ok()?;
    let table = if table.is_empty() { "tool.pyright" } else { table };
    value.pointer(&format!("/{}", table.replace('.', "/"))).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gap of `a.js` or `a.py` in a project with these files.
    fn gap(files: &[(&str, &str)], path: &str, project: &str) -> String {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a real path");
        for (name, text) in files {
            let file = root.join(name);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
            std::fs::write(&file, text).expect("a file");
        }
        let rules =
            if path.ends_with("py") { CheckingRules::Pyright } else { CheckingRules::Typescript };
        let markers = ["pyrightconfig.json", "pyproject.toml#tool.pyright"].map(str::to_owned);
        let config = CheckingConfig { rules, workspace: root.clone(), markers: markers.into() };
        let path = RelPath::parse(path).expect("relative");
        let language_id = "javascript";
        let file = CheckedFile { path: &path, language_id, text: "" };
        let project = if project.is_empty() {
            String::new()
        } else {
            root.join(project).display().to_string()
        };
        let gap = config.gap(&root, file, Some(&project));
        gap.map(|gap| gap.detail).unwrap_or_default()
    }

    #[test]
    fn check_js_comes_from_the_chain_of_configurations() {
        let off = "checked for syntax only: checkJs is off";
        let on = r#"{"compilerOptions": {"checkJs": true}}"#;
        let extends = |base: &str| format!("{{\"extends\": {base}}}");
        let check = |config: &str, base: &str, expected: &str| {
            let files = [("tsconfig.json", config), (base, on)];
            assert_eq!(gap(&files, "a.js", "tsconfig.json"), expected, "{config} {base}");
        };
        check(on, "x.json", "");
        check("{}", "x.json", off);
        check(&extends("\"./conf/base\""), "conf/base.json", "");
        check(&extends("[\"./conf/base.json\", \"./none\"]"), "conf/base.json", "");
        check(&extends("\"@a/b\""), "node_modules/@a/b/tsconfig.json", "");
        check(&extends("\"@a/b/strict\""), "node_modules/@a/b/strict.json", "");
        check(&extends("\"./tsconfig.json\""), "x.json", off);
        let chain = [
            ("p/tsconfig.json", "{\"extends\": \"../b.json\"}"),
            ("b.json", "{\"extends\": \"./c.json\"}"),
            ("c.json", on),
        ];
        assert_eq!(gap(&chain, "p/a.js", "p/tsconfig.json"), "");
        let package = [
            ("tsconfig.json", "{\"extends\": \"base\"}"),
            ("node_modules/base/package.json", "{\"tsconfig\": \"conf/x.json\"}"),
            ("node_modules/base/conf/x.json", on),
        ];
        assert_eq!(gap(&package, "a.js", "tsconfig.json"), "");
        assert_eq!(gap(&[], "a.js", ""), off);
    }

    #[test]
    fn the_chain_of_a_configuration_has_all_its_bases() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a real path");
        let files = [
            ("tsconfig.json", r#"{"extends": ["./.conf/base", "p"]}"#),
            (".conf/base.json", "{}"),
            ("node_modules/p/tsconfig.json", "{}"),
        ];
        for (name, text) in files {
            let file = root.join(name);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
            std::fs::write(file, text).expect("a file");
        }
        let mut chain = tsconfig_chain(&root.join("tsconfig.json"));
        chain.sort();
        let mut expected = files.map(|(name, _)| root.join(name));
        expected.sort();
        assert_eq!(chain, expected);
    }

    #[test]
    fn pyright_reads_the_first_configuration_with_its_bases() {
        let ignored =
            |name: &str| format!("excluded by the project's configuration: \"ignore\" in {name}");
        let table = ("pyproject.toml", "[tool.pyright]\nignore = [\"**/gen\"]\n");
        assert_eq!(gap(&[table], "src/gen/a.py", ""), ignored("pyproject.toml"));
        assert_eq!(gap(&[table], "src/a.py", ""), "");
        let json = ("pyrightconfig.json", "{\"extends\": \"conf/base.json\", // why\n}");
        assert_eq!(gap(&[table, json], "src/gen/a.py", ""), "", "the other file is not read");
        let base = ("conf/base.json", "{\"ignore\": [\"../src\"]}");
        assert_eq!(gap(&[json, base], "src/a.py", ""), ignored("pyrightconfig.json"));
    }

    #[test]
    fn configurations_name_an_environment() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).expect("ours");
        let pyright = || pyright_environment(root, &["pyrightconfig.json".to_owned()]);
        std::fs::create_dir_all(root.join("envs/one/bin")).expect("ours");
        write("envs/one/bin/python", "");
        write("base.json", r#"{"venvPath": "envs", "venv": "two"}"#);
        write("pyrightconfig.json", r#"{"extends": "base.json", "venv": "one"}"#);
        assert_eq!(pyright(), Some(root.join("envs/one")));
        write("pyrightconfig.json", r#"{"venv": "one"}"#);
        assert_eq!(pyright(), None);
        write("pyproject.toml", "[tool.ty.environment]\npython = \"envs/one\"\n");
        assert_eq!(ty_environment(root), Some(root.join("envs/one")));
        write("pyproject.toml", "[tool.ty.environment]\npython = \"envs/one/bin/python\"\n");
        assert_eq!(ty_environment(root), Some(root.join("envs/one")));
        write("ty.toml", "[rules]\n");
        assert_eq!(ty_environment(root), None);
    }

    #[test]
    fn a_base_of_a_configuration_of_pyright_leads_to_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a real path");
        for (name, text) in [
            ("pyrightconfig.json", "{\"extends\": \"conf/base.json\"}"),
            ("conf/base.json", "{\"extends\": \"../deep.json\"}"),
            ("deep.json", "{\"extends\": \"./none.json\"}"),
            ("p/pyproject.toml", "[tool.pyright]\nextends = \"../deep.json\"\n"),
            ("q/pyproject.toml", "[tool.other]\n"),
        ] {
            let file = root.join(name);
            std::fs::create_dir_all(file.parent().expect("a parent")).expect("folders");
            std::fs::write(file, text).expect("a file");
        }
        let based_on = |base: &str| -> Vec<String> {
            let bases = BTreeSet::from([RelPath::parse(base).expect("relative")]);
            let configs = configurations_based_on(&root, Catalogue::built_in(), &bases);
            configs.iter().map(RelPath::to_string).collect()
        };
        assert_eq!(based_on("deep.json"), ["p/pyproject.toml", "pyrightconfig.json"]);
        assert_eq!(based_on("conf/base.json"), ["pyrightconfig.json"]);
        assert_eq!(based_on("pyrightconfig.json"), [""; 0]);
        let markers = ["pyrightconfig.json".to_owned()];
        let names: Vec<bool> =
            pyright_bases(&root, &markers).iter().map(|base| base.exists()).collect();
        assert_eq!(names, [true, true, false]);
        assert!(pyright_bases(&root.join("q"), &markers).is_empty());
    }

    #[test]
    fn changes_of_a_module_outside_the_project_are_overlooked() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path().canonicalize().expect("a real path");
        let markers = vec!["pyrightconfig.json".to_owned()];
        let rules = CheckingRules::Pyright;
        let config = CheckingConfig { rules, workspace: root.clone(), markers };
        let overlooks = |name: &str, change| {
            config.overlooks(&[(root.join(name), change)], |file| file.ends_with("open.py"))
        };
        assert!(!overlooks("a/lib.py", DiskChange::Created), "no configuration");
        std::fs::write(root.join("pyrightconfig.json"), "{\"include\": [\"src\"]}")
            .expect("a file");
        assert!(overlooks("a/lib.py", DiskChange::Created));
        assert!(overlooks("typings/lib.pyi", DiskChange::Deleted));
        assert!(overlooks("a/lib.py", DiskChange::Changed));
        assert!(!overlooks("a/open.py", DiskChange::Changed));
        assert!(!overlooks("src/lib.py", DiskChange::Created));
        assert!(!overlooks("src/lib.py", DiskChange::Changed));
        assert!(!overlooks("a/lib.txt", DiskChange::Created));
    }
}
