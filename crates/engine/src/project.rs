//! The project of a request: root, options, languages, store key. Loaded again for every request, so
//! that a changed option or a new virtual environment takes effect at once.

pub(crate) mod mcp_tools;
pub(crate) mod option_files;
pub(crate) mod project_rules;
pub(crate) mod scan_cache;
pub(crate) mod trust;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::engine::{Engine, run_blocking};
use crate::project::option_files::read_option_file;
use crate::project::trust::ProjectTrust;

use moai_base::foreign_text::one_line;
use moai_base::limits::LINE_CHARS_MAX;
use moai_base::path::RelPath;
use moai_base::redaction::redacted;
use moai_config::{Config, OptionFile};
use moai_host::servers::{
    ProjectPrograms, ServerContext, WithheldPrograms, configurations_based_on,
};
use moai_host::store::ProjectKey;
use moai_host::{files, git};
use moai_lsp::registry::{Catalogue, CatalogueError, HostServers};
use moai_memory::observation::MemoryProject;
use moai_protocol::control::CallerContext;
use moai_scan::RuleSet;

/// The reason why a changed notebook is unmeasured.
pub(crate) const NOTEBOOK_UNMEASURED: &str = "the cells of a notebook are not measured";

/// Options of the project, below its root.
const CONFIG_FILE: &str = ".moai/config/sections/ralph.yaml";
/// Languages and servers of the project, below its root.
const CATALOGUE_FILE: &str = ".moai/config/lsp.json";
/// Servers of the project in the host's format, below its root.
const HOST_FILE: &str = ".lsp.json";

#[derive(Clone, Debug)]
pub(crate) struct Project {
    pub(crate) root: PathBuf,
    pub(crate) config: Config,
    pub(crate) workspace: ServerContext,
    /// The catalogue of all sessions: their PATHs may lead to different servers, and they share the polls.
    pub(crate) watched_catalogue: Arc<Catalogue>,
    pub(crate) trust: ProjectTrust,
    /// The servers that the project's files describe: the last file by server id.
    pub(crate) described_servers: BTreeMap<String, &'static str>,
    pub(crate) key: ProjectKey,
    /// The rules of the scan: the built-in ones and the project's own.
    pub(crate) rules: Arc<RuleSet>,
}

impl Project {
    /// Identifies it in the memory; for a team, by properties that all its clones share, if there are any.
    pub(crate) fn memory_key(&self) -> String {
        let is_for_team = self.config.memory_url.is_some();
        let shared = is_for_team.then(|| git::shared_identity(&self.root)).flatten();
        shared.unwrap_or_else(|| self.key.as_str().to_owned())
    }

    /// The project as the memory knows it. The name of a folder may hold a secret, too.
    pub(crate) fn in_memory(&self) -> MemoryProject {
        let folder = self.root.file_name().unwrap_or_default().to_string_lossy();
        MemoryProject { key: self.memory_key(), name: redacted(&folder).into_owned() }
    }

    /// The project of a caller. The error is one line with file, line and key.
    pub(crate) fn load(engine: &Engine, caller: &CallerContext) -> Result<Self, String> {
        Ok(Self::load_strict(engine, caller, &project_root(caller))?
            .without_unserved_languages(engine))
    }

    /// Checks that the options of a caller can be used. The error is one line with file, line and key.
    pub(crate) fn require_valid_options(
        engine: &Engine,
        caller: &CallerContext,
    ) -> Result<(), String> {
        Self::load_strict(engine, caller, &project_root(caller)).map(drop)
    }

    fn load_strict(engine: &Engine, caller: &CallerContext, root: &Path) -> Result<Self, String> {
        let trust = ProjectTrust::of_root(&engine.dirs.state, root, &caller.env);
        Self::load_with_trust(engine, caller, root, trust)
    }

    /// Loads the project with this trust. The error is one line with file, line and key.
    pub(crate) fn load_with_trust(
        engine: &Engine,
        caller: &CallerContext,
        root: &Path,
        trust: ProjectTrust,
    ) -> Result<Self, String> {
        // A key in an options file may hold line breaks.
        let to_line = |error: String| one_line(&error, LINE_CHARS_MAX);
        let catalogue = ProjectCatalogue::read(root).map_err(to_line)?;
        let own = Some(ProjectOptions { root, is_trusted: trust.is_trusted() });
        let config = load_options(&engine.dirs.user_config, own, &caller.env, &catalogue.entries)
            .map_err(to_line)?;
        Ok(Self::with(engine, caller, root.to_path_buf(), trust, config, catalogue))
    }

    /// Like [`Self::load`], with default options in place of broken ones, because a hook must continue to
    /// measure. The start of a session reports the error.
    pub(crate) fn load_or_default(engine: &Engine, caller: &CallerContext) -> Self {
        Self::load_unserved(engine, caller).without_unserved_languages(engine)
    }

    /// Like [`Self::load_or_default`], for hooks that rarely measure. They call
    /// [`Project::without_unserved_languages`] before they do.
    pub(crate) fn load_unserved(engine: &Engine, caller: &CallerContext) -> Self {
        let root = project_root(caller);
        Self::load_strict(engine, caller, &root).unwrap_or_else(|error| {
            tracing::warn!(%error, "invalid options; using defaults");
            let catalogue = ProjectCatalogue::built_in();
            let trust = ProjectTrust::of_root(&engine.dirs.state, &root, &caller.env);
            Self::with(engine, caller, root, trust, Config::default(), catalogue)
        })
    }

    fn with(
        engine: &Engine,
        caller: &CallerContext,
        root: PathBuf,
        trust: ProjectTrust,
        config: Config,
        catalogue: ProjectCatalogue,
    ) -> Self {
        engine.ledger().touch_root(&root);
        let key = engine.ledger().root(&root).key.clone();
        let key = key.unwrap_or_else(|| {
            let key = key_of(&root, &engine.dirs.state);
            engine.ledger().root(&root).key = Some(key.clone());
            key
        });
        let env = Arc::new(caller.env.clone());
        let described_servers = catalogue.described_servers;
        let programs = match trust.gap() {
            None => ProjectPrograms::Allowed,
            Some(gap) => {
                let described = described_servers.keys().chain(&config.withheld.servers);
                let servers = described.cloned().collect();
                let folder = work_tree_above(&root);
                ProjectPrograms::Withheld(Arc::new(WithheldPrograms { folder, servers, gap }))
            }
        };
        let catalogue = catalogue.entries.with_user_options(&config.overrides());
        let catalogue = Arc::new(catalogue);
        let watched_catalogue = Arc::clone(&catalogue);
        let workspace = ServerContext::new(root.clone(), env, catalogue, programs);
        let rules = project_rules::load_rules(engine, &root, &config);
        Self { root, config, workspace, watched_catalogue, trust, described_servers, key, rules }
    }

    /// Removes the optional languages without an installed server, because a missing YAML server must
    /// not make a project unmeasured. Probes about a hundred paths.
    pub(crate) fn without_unserved_languages(mut self, engine: &Engine) -> Self {
        let unserved = engine.servers.unserved_languages(&self.workspace);
        let catalogue = Arc::unwrap_or_clone(self.workspace.catalogue).without_languages(&unserved);
        self.workspace.catalogue = Arc::new(catalogue);
        self
    }

    /// True if the root is not a project, but a folder without bounds: the whole disk, the user's home, a
    /// folder above it, or any other one of that size. Its size is checked once.
    pub(crate) async fn is_unbounded(&self, engine: &Engine) -> bool {
        if files::is_marked_project(&self.root) {
            return false;
        }
        let home = self.workspace.env.get("HOME").map(Path::new);
        let is_above_home = home
            .and_then(|home| home.canonicalize().ok())
            .is_some_and(|home| home.starts_with(&self.root));
        if is_above_home || self.root.parent().is_none() {
            return true;
        }
        let known = engine.ledger().root(&self.root).is_unbounded;
        if let Some(known) = known {
            return known;
        }
        let root = self.root.clone();
        // After a panic nothing is known, and the next call checks again.
        let Some(found) = run_blocking(move || files::is_unbounded(&root)).await else {
            return false;
        };
        engine.ledger().root(&self.root).is_unbounded = Some(found);
        found
    }

    /// Resolves a path of a request: relative to the working directory for users, and to the root for an
    /// agent's tool, because a tool cannot know where its server was started.
    pub(crate) fn resolve_path(&self, caller: &CallerContext, path: &Path) -> PathBuf {
        let folder = if caller.is_tool() { &self.root } else { &caller.cwd };
        folder.join(path)
    }

    pub(crate) fn has_sensor(&self, path: &RelPath) -> bool {
        self.workspace.catalogue.language_of(path).is_some() || self.rules.handles(path)
    }

    /// True if a file is a notebook, whose cells no sensor parses.
    pub(crate) fn is_notebook(path: &RelPath) -> bool {
        path.extension().as_deref() == Some("ipynb")
    }

    /// True if servers of the catalogue read their configuration from a file of this name.
    pub(crate) fn is_configuration(&self, path: &RelPath) -> bool {
        let name = path.file_name();
        self.workspace.catalogue.is_hidden_configuration(name)
    }

    /// The files among these that configure servers. A base of a configuration stands for the configuration.
    /// Blocking.
    pub(crate) fn configuration_among<'p>(
        &self,
        changed: impl IntoIterator<Item = &'p RelPath>,
    ) -> Vec<RelPath> {
        let (mut configuration, mut bases) = (Vec::new(), BTreeSet::new());
        for path in changed {
            if self.is_configuration(path) {
                configuration.push(path.clone());
            } else if path.extension().is_some_and(|it| it == "json" || it == "toml") {
                bases.insert(path.clone());
            }
        }
        if !bases.is_empty() {
            let catalogue = &self.workspace.catalogue;
            configuration.extend(configurations_based_on(&self.root, catalogue, &bases));
        }
        configuration
    }

    /// True if a file is in a programming language. Nothing else in a project depends on a file in an
    /// auxiliary one.
    pub(crate) fn is_program(&self, path: &RelPath) -> bool {
        let language = self.workspace.catalogue.language_of(path);
        language.is_some_and(|language| !language.spec.auxiliary)
    }

    /// True if an edit of another file can cause the server's findings in this one.
    pub(crate) fn is_checker(&self, path: &RelPath, server: &str) -> bool {
        let catalogue = &self.workspace.catalogue;
        let language = catalogue.language_of(path).map_or("", |language| language.id);
        !catalogue.is_companion(server, language)
    }

    /// True if a change of this file on disk can change the results of a language server or of the scan of any
    /// session: a server that this one lacks may be on the PATH of another.
    pub(crate) fn is_watched(&self, path: &RelPath) -> bool {
        let name = path.file_name();
        let catalogue = &self.watched_catalogue;
        if name.starts_with('.') {
            return catalogue.is_hidden_configuration(name);
        }
        catalogue.language_of(path).is_some()
            || self.rules.handles(path)
            || catalogue.is_marker(name)
            // JSON files are also bases of configurations.
            || path.extension().is_some_and(|extension| catalogue.is_data(&extension))
    }
}

/// The nearest folder from a root upwards with a `.git`; the root itself without one.
fn work_tree_above(root: &Path) -> PathBuf {
    let mut folders = root.ancestors();
    let found = folders.find(|folder| folder.join(".git").symlink_metadata().is_ok());
    found.unwrap_or(root).to_path_buf()
}

/// The store key of a root. An existing database stays in use when a repository is created, also for its
/// worktrees, and when the repository is deleted.
fn key_of(root: &Path, state: &Path) -> ProjectKey {
    let own_git = root.join(".git");
    let shared = git::common_dir(root);
    let main =
        shared.as_deref().and_then(Path::parent).filter(|folder| folder.join(".git").exists());
    let names = [shared.as_deref(), Some(root), main, Some(&own_git)].into_iter().flatten();
    let mut keys = names.map(ProjectKey::from_folder);
    let known = keys.clone().find(|key| key.database(state).exists());
    // The first name is the right one for a new database.
    known.or_else(|| keys.next()).unwrap_or_else(|| ProjectKey::from_folder(root))
}

pub(crate) fn project_root(caller: &CallerContext) -> PathBuf {
    match &caller.root {
        Some(root) => root.canonicalize().unwrap_or_else(|_| root.clone()),
        None => files::find_root(&caller.cwd, caller.env.get("HOME").map(Path::new)),
    }
}

/// The catalogue with a project's own entries.
struct ProjectCatalogue {
    entries: Catalogue,
    /// The last file that describes a server, by its id.
    described_servers: BTreeMap<String, &'static str>,
}

impl ProjectCatalogue {
    fn built_in() -> Self {
        Self { entries: Catalogue::built_in().clone(), described_servers: BTreeMap::new() }
    }

    fn read(root: &Path) -> Result<Self, String> {
        let Self { mut entries, mut described_servers } = Self::built_in();
        let path = root.join(HOST_FILE);
        if let Some(text) = read_option_file(&path)? {
            let file = HostServers::parse(&text).map_err(|error| catalogue_error(&path, &error))?;
            described_servers.extend(file.server_ids().map(|id| (id.to_owned(), HOST_FILE)));
            entries = entries.with_host_servers(file);
        }
        let path = root.join(CATALOGUE_FILE);
        if let Some(text) = read_option_file(&path)? {
            let own = Catalogue::parse(&text).map_err(|error| catalogue_error(&path, &error))?;
            described_servers.extend(own.server_ids().map(|id| (id.to_owned(), CATALOGUE_FILE)));
            entries = entries.with_project_entries(own);
        }
        match entries.dangling_server() {
            None => Ok(Self { entries, described_servers }),
            Some(id) => {
                Err(format!("{}: key languages: server {id} is not described", path.display()))
            }
        }
    }
}

fn catalogue_error(path: &Path, error: &CatalogueError) -> String {
    format!("{}: {error}", path.display())
}

/// Location of a project's options; decides whether they may set programs and services.
#[derive(Clone, Copy)]
pub(crate) struct ProjectOptions<'p> {
    pub(crate) root: &'p Path,
    pub(crate) is_trusted: bool,
}

/// The effective options; without a project, those of the user alone.
pub(crate) fn load_options(
    user_file: &Path,
    project: Option<ProjectOptions<'_>>,
    env: &BTreeMap<String, String>,
    catalogue: &Catalogue,
) -> Result<Config, String> {
    let layers = match project {
        Some(ProjectOptions { root, is_trusted }) => option_files_of(user_file, root, is_trusted)?,
        None => user_layer(user_file)?.into_iter().collect(),
    };
    Config::load(&layers, env, catalogue).map_err(|error| error.to_string())
}

/// The option files of the user and of a project, the lowest first; missing ones are left out.
pub(crate) fn option_files_of(
    user_file: &Path,
    root: &Path,
    is_trusted: bool,
) -> Result<Vec<OptionFile>, String> {
    let user = user_layer(user_file)?;
    let own = option_layer(&option_file(root), is_trusted)?;
    Ok(user.into_iter().chain(own).collect())
}

/// The option file of a project.
pub(crate) fn option_file(root: &Path) -> PathBuf {
    root.join(CONFIG_FILE)
}

fn user_layer(path: &Path) -> Result<Option<OptionFile>, String> {
    let layer = option_layer(path, true)?;
    Ok(layer.map(|file| OptionFile { is_of_user: true, ..file }))
}

fn option_layer(path: &Path, is_trusted: bool) -> Result<Option<OptionFile>, String> {
    let text = read_option_file(path)?;
    let name = path.display().to_string();
    Ok(text.map(|text| OptionFile { name, text, is_trusted, is_of_user: false }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_project::TestProject;

    #[tokio::test]
    async fn a_file_of_a_language_whose_server_is_missing_is_watched() {
        let project = TestProject::new();
        let loaded = Project::load(&project.engine, &project.caller(&project.root())).unwrap();
        for name in ["a.yaml", "b.css"] {
            let path = RelPath::parse(name).unwrap();
            assert!(loaded.is_watched(&path) && !loaded.has_sensor(&path), "{name}");
        }
    }
}
