//! The catalogue of languages and language servers: the built-in `lsp.json` with the entries of a
//! project and a user on top. Package names are listed in the table and never derived.

mod host_file;
mod layers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, OnceLock};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use moai_base::path::{RelPath, is_in_node_modules};

pub use self::host_file::HostServers;
pub use self::layers::{CatalogueOverrides, ServerOverride};

/// Hidden files that tools inside servers read, alone or with a suffix: `.eslintrc.json`.
const HIDDEN_CONFIGURATION: [&str; 5] =
    [".clang-tidy", ".eslintrc", ".flake8", ".pylintrc", ".shellcheckrc"];

/// Languages and servers by id. Its copies share the entries, because every hook makes one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Catalogue {
    languages: BTreeMap<String, Arc<LanguageSpec>>,
    servers: BTreeMap<String, Arc<ServerSpec>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanguageSpec {
    pub name: String,
    /// LSP language id by file extension (lower case, no dot).
    pub extensions: BTreeMap<String, String>,
    /// LSP language id by file name, or by folder and file name, which takes precedence over extensions; one `*`
    /// matches any characters: `tsconfig*.json`, `.vscode/*.json`.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// Server ids in order of preference: the first usable one measures.
    pub servers: Vec<String>,
    /// Ids of servers that measure in addition, where they are installed.
    #[serde(default)]
    pub companions: Vec<String>,
    /// Not a programming language: measured only where a server for it is installed or the user
    /// chose one.
    #[serde(default)]
    pub auxiliary: bool,
    /// The user's choice of servers, which replaces all of these; each of them measures.
    #[serde(skip)]
    pub user_servers: Option<Vec<String>>,
}

impl LanguageSpec {
    fn lists_server(&self, server: &str) -> bool {
        self.servers.iter().chain(&self.companions).any(|listed| listed == server)
    }
}

/// How to start one language server and get diagnostics from it. Strings in `command`, `args`,
/// `env`, `initialization_options` and `settings` may contain the placeholders `${python}` (the
/// project's interpreter), `${root}` (workspace folder), `${server}` (folder of the installed
/// packages), `${storage}` (a private folder for its caches) and `${os}` (`linux` or `mac`).
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// Program name, or a path relative to the root.
    pub command: String,
    #[serde(default)]
    pub args: Vec<String>,
    /// Environment variables in addition to the caller's.
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// The protocol that proves that diagnostics belong to the current bytes.
    pub diagnostics: DiagnosticsMethod,
    /// How it publishes diagnostics.
    #[serde(default)]
    pub publishes: PublishTraits,
    /// Its signal that the project is loaded.
    #[serde(default)]
    pub ready: ReadySignal,
    /// For [`ReadySignal::Progress`]: parts of the titles of the progresses whose end means that the
    /// project is loaded; empty for any title.
    #[serde(default)]
    pub loading_titles: Vec<String>,
    /// Prefixes of the log messages that signal that it has listed the project's files. Until then
    /// its knowledge of files that are not open is incomplete.
    #[serde(default)]
    pub lists_files: Vec<String>,
    /// Send a change after opening a document, because the server rechecks other files after a
    /// change but not after an opening.
    #[serde(default)]
    pub change_after_open: bool,
    /// Request the symbols of each changed document: the server uses its new declarations in other
    /// files only after such a request.
    #[serde(default)]
    pub declares_on_request: bool,
    /// The changes outside the root that restart it, because a notification is not enough.
    #[serde(default)]
    pub outside_restart: OutsideRestart,
    /// The files for which it uses an open document's text instead of the disk.
    #[serde(default)]
    pub overlays: OverlaySupport,
    /// Beginnings of the error messages with which it reports that it cannot read a configuration; it then checks
    /// under its defaults.
    #[serde(default)]
    pub configuration_errors: Vec<String>,
    /// Lines of the log messages with which it reports that it cannot import the project, ahead of the line with
    /// the reason; it then never finishes loading.
    #[serde(default)]
    pub import_failures: Vec<String>,
    /// Beginnings of the messages of findings about the loading of packages: it may keep them, or attribute
    /// them to other files, while it is shown an earlier text. One whose next word is in that text is about it,
    /// provided that no file was created or deleted since.
    #[serde(default)]
    pub loading_errors: Vec<String>,
    /// Beginnings of the messages of warnings about code that the compiler rejects.
    #[serde(default)]
    pub raised_to_errors: Vec<String>,
    /// Beginnings of the messages of errors about what only another program can know; they become warnings.
    #[serde(default)]
    pub lowered_to_warnings: Vec<String>,
    /// It returns an empty list when it fails, and reports the failure only as a logged error.
    #[serde(default)]
    pub logs_failures: bool,
    /// The tool whose configuration can disable its checks for a file.
    #[serde(default)]
    pub checking: Option<CheckingRules>,
    /// `initializationOptions` of the handshake.
    #[serde(default)]
    pub initialization_options: Value,
    /// Answers to `workspace/configuration`, by dotted section.
    #[serde(default)]
    pub settings: Value,
    /// Files that mark a folder as a project of this server, the most specific first.
    #[serde(default)]
    pub root_markers: Vec<String>,
    /// The folder that becomes its workspace.
    #[serde(default)]
    pub workspace: WorkspaceRule,
    /// The nearest folder with one of these files is the workspace, regardless of `workspace`; the
    /// first marker that is found decides. `FILE#TABLE` is a TOML file with that table.
    #[serde(default)]
    pub workspace_markers: Vec<String>,
    /// Files and folders that it reads only once: it is restarted when one changes. Names are relative to the
    /// root and the workspace. `${above}/NAME` stands for the files of that name in the workspace and all folders above
    /// it, `${config_home}/NAME` for one among the user's configurations (`~/.config`), `**/*.EXTENSION` for all
    /// polled files with this extension.
    /// `${python}` stands for the packages of the project's interpreter, `${pyright_environment}` and
    /// `${ty_environment}` for those of the environment that the configuration names, `${compile_database}` for
    /// the database in another folder that clangd's arguments or configuration name, `${go_settings}`
    /// for the file of `go env -w`, `${config_bases}` for the bases of pyright's configuration,
    /// `${ruff_bases}` for those of ruff's,
    /// `${src_folder}` for whether the workspace has a folder `src`, `${npm_scopes}` for the folders of scopes
    /// in `node_modules`. Names in `node_modules` apply in every folder of the root.
    #[serde(default)]
    pub restart_on: Vec<String>,
    /// Extensions of the data files and libraries that programs import.
    #[serde(default)]
    pub data_extensions: Vec<String>,
    /// Patterns of files whose changes it must be notified of, although it does not register for them.
    #[serde(default)]
    pub watches: Vec<String>,
    /// Other programs that must be on PATH for its findings to count.
    #[serde(default)]
    pub needs: Vec<String>,
    /// Other programs that its findings depend on where they are on PATH. `${python}` stands for the
    /// project's interpreter.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Environment variables that its findings depend on, apart from those of every server.
    #[serde(default)]
    pub variables: Vec<String>,
    /// Codes of diagnostics about the server itself and not about the file, such as a schema that
    /// it cannot download.
    #[serde(default)]
    pub ignore_codes: Vec<String>,
    /// Restricts it to files with these extensions, with the LSP language ids it expects; empty
    /// means all files of its language.
    #[serde(default)]
    pub extensions: BTreeMap<String, String>,
    /// Restricts it to projects that meet this condition; there, no other server replaces it.
    #[serde(default)]
    pub when: Option<ProjectCondition>,
    #[serde(default)]
    pub install: Option<InstallSources>,
    /// This server was verified with this version of the program.
    #[serde(default = "yes")]
    pub verified: bool,
    #[serde(default)]
    pub untrusted: UntrustedUse,
}

/// How a server is used in a project that the user has not trusted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(untagged, expecting = "expected \"unusable\" or an object")]
pub enum UntrustedUse {
    /// Not at all, because it runs programs of the project, such as its build.
    Unusable(UnusableKeyword),
    /// With these changes.
    Restricted(UntrustedRestriction),
}

impl Default for UntrustedUse {
    fn default() -> Self {
        Self::Restricted(UntrustedRestriction::default())
    }
}

/// The word for [`UntrustedUse::Unusable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UnusableKeyword {
    /// Its only value.
    Unusable,
}

/// Options that keep a server from running the project's programs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct UntrustedRestriction {
    /// Only as installed by `server install`, because the placeholder `${server}` occurs below.
    pub installed_only: bool,
    /// Merged into the initialization options, object by object.
    pub initialization_options: Option<Value>,
    /// Merged into the settings, object by object.
    pub settings: Option<Value>,
}

fn yes() -> bool {
    true
}

/// The completion protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiagnosticsMethod {
    /// `textDocument/diagnostic`.
    Pull,
    /// tsserver's synchronous commands through `workspace/executeCommand`.
    Tsserver,
    /// `textDocument/publishDiagnostics`.
    Push,
    /// gopls: a versioned publish, which an empty change provokes.
    Gopls,
    /// rust-analyzer: its own diagnostics by pull, those of `cargo check` after a save.
    RustAnalyzer,
    /// clangd: a versioned publish requested by the change itself.
    Clangd,
    /// Eclipse's Java server: publishes without version, a build as proof.
    Jdtls,
}

/// How a server publishes diagnostics, as observed by probes; nothing else is assumed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PublishTraits {
    /// Its publishes carry the document's version; one without a version proves nothing.
    pub version: bool,
    /// It publishes after every change, even when the list stays empty, so an empty publish counts
    /// even without a version.
    pub clean: bool,
    /// Quiet time after the last publish, in milliseconds; must exceed the server's own delay.
    pub quiet_ms: Option<u64>,
    /// Pull diagnostics are not offered to it, because it may answer them with a list that is empty by mistake.
    pub instead_of_pull: bool,
}

/// The tool whose configuration can disable the checking of files, and whose rules are applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckingRules {
    /// `tsconfig.json` and `jsconfig.json`; a server with pull diagnostics reports the one that
    /// covers a file by `custom/projectInfo`.
    Typescript,
    /// The workspace markers of pyright and basedpyright.
    Pyright,
}

/// How a server signals that the project is loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadySignal {
    /// By answering `initialize`; a progress with a title means that it is loading again.
    #[default]
    Handshake,
    /// By the end of a progress with a title, or with one of its loading titles.
    Progress,
    /// By `experimental/serverStatus` with `quiescent: true` (rust-analyzer).
    ServerStatus,
    /// By `language/status` of type `ServiceReady` (Eclipse's Java server).
    LanguageStatus,
}

/// The rule that selects a server's workspace folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WorkspaceRule {
    #[default]
    Root,
    /// The folder nearest to the file that has a marker.
    Nearest,
    /// The folder nearest to the root that has a marker.
    Topmost,
}

/// The changes outside the root for which a server is restarted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutsideRestart {
    /// It follows all of them.
    #[default]
    None,
    /// It follows changed texts, but not created or deleted files.
    Names,
    /// It reads changed files only seconds after the notice.
    Changes,
}

/// The files for which a server uses an open document's text instead of the disk; they limit the
/// use of overlays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverlaySupport {
    /// Diagnostics come from the disk, at least in part, or their source is not verified.
    #[default]
    None,
    /// For the document itself; other files are measured against the disk.
    File,
    /// For the document and for every file that reads it by the document's path; what is read through links or
    /// other names comes from the disk.
    Path,
    /// For the document and for every file that depends on it.
    Project,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProjectCondition {
    /// An npm package that the project uses.
    pub npm_package: String,
    /// Lowest major version of it.
    pub major_min: u64,
}

/// Packages by source; pinned where the source keeps old versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InstallSources {
    /// npm packages as `name@version`.
    pub npm: Vec<String>,
    /// Packages of the Python index as `name==version`.
    pub pip: Vec<String>,
    /// Components of the project's Rust toolchain.
    pub rustup: Vec<String>,
    /// Debian packages; the distribution determines their version.
    pub apt: Vec<String>,
    /// Links made inside the installed folder: name and target, both relative to it. In the
    /// target, `*` stands for any characters of one name and must fit exactly one entry.
    pub links: BTreeMap<String, String>,
    /// The server's version, where it differs from that of its first package.
    pub version: Option<String>,
    /// Name of the install folder, where several servers share packages; defaults to the server's
    /// id.
    pub folder: Option<String>,
    /// A hint for the user where no source above applies.
    pub hint: Option<String>,
}

impl InstallSources {
    /// True if this program can install it.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        [&self.npm, &self.pip, &self.rustup, &self.apt].iter().any(|packages| !packages.is_empty())
    }
}

/// An invalid catalogue file.
#[derive(Debug, thiserror::Error)]
#[error("line {line}, key {key}: {reason}")]
pub struct CatalogueError {
    /// 1-based line.
    pub line: usize,
    /// Dotted path of the key.
    pub key: String,
    pub reason: String,
}

impl ServerSpec {
    /// True unless it publishes instead; a user's own entry may choose pull for the same server.
    pub(crate) fn is_offered_pull(&self) -> bool {
        !self.publishes.instead_of_pull || self.diagnostics != DiagnosticsMethod::Push
    }

    /// True for a folder of installed packages, the record of an installation, or a file with an extension, that
    /// `restart_on` names, in whichever folder it is.
    pub(crate) fn is_restarted_by(&self, path: &Path) -> bool {
        let is_scope = || {
            let is_in_packages =
                path.parent().is_some_and(|folder| folder.ends_with("node_modules"));
            is_in_packages && path.file_name().is_some_and(|it| it.as_encoded_bytes()[0] == b'@')
        };
        self.restart_on.iter().any(|name| match name.as_str() {
            "${npm_scopes}" => is_scope(),
            name => match name.strip_prefix("**/*.") {
                Some(extension) => path.extension().is_some_and(|it| it == extension),
                None => is_in_node_modules(Path::new(name)) && path.ends_with(name),
            },
        })
    }
}

/// The language of a file in a catalogue.
#[derive(Clone, Copy, Debug)]
pub struct FileLanguage<'c> {
    /// Its id in the catalogue.
    pub id: &'c str,
    pub spec: &'c LanguageSpec,
    /// The language id that servers get with the file.
    pub lsp_id: &'c str,
}

impl Catalogue {
    /// The catalogue built into the program.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: OnceLock<Catalogue> = OnceLock::new();
        BUILT_IN.get_or_init(|| {
            Self::parse(include_str!("../lsp.json")).expect("the built-in lsp.json is tested")
        })
    }

    /// Reads a catalogue file.
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        parse_json(text)
    }

    /// The first server id in a language's lists that has no entry.
    #[must_use]
    pub fn dangling_server(&self) -> Option<&str> {
        let named = self.languages.values().flat_map(|it| it.servers.iter().chain(&it.companions));
        named.map(String::as_str).find(|id| !self.servers.contains_key(*id))
    }

    /// The language of a file, by its name or its extension.
    #[must_use]
    pub fn language_of(&self, path: &RelPath) -> Option<FileLanguage<'_>> {
        let extension = path.extension();
        let by_name = self.languages.iter().find_map(|(id, language)| {
            let (_, lsp_id) =
                language.files.iter().find(|(pattern, _)| matches_path(pattern, path))?;
            Some(FileLanguage { id, spec: language, lsp_id })
        });
        by_name.or_else(|| {
            let extension = extension?;
            self.languages.iter().find_map(|(id, language)| {
                let lsp_id = language.extensions.get(&extension)?;
                Some(FileLanguage { id, spec: language, lsp_id })
            })
        })
    }

    /// True if a file of this name is a project marker, or a server of the catalogue reads it only
    /// once.
    #[must_use]
    pub fn is_marker(&self, name: &str) -> bool {
        let mut markers =
            self.servers.values().flat_map(|spec| spec.root_markers.iter().chain(&spec.restart_on));
        markers.any(|marker| marker == name)
    }

    /// True if a server restarts when this folder of installed packages, or record of an installation, changes.
    #[must_use]
    pub fn is_restarted_by(&self, path: &Path) -> bool {
        self.servers.values().any(|spec| spec.is_restarted_by(path))
    }

    /// True if a hidden file of this name affects the findings of servers.
    #[must_use]
    pub fn is_hidden_configuration(&self, name: &str) -> bool {
        let mut suffixes = HIDDEN_CONFIGURATION.iter().filter_map(|tool| name.strip_prefix(tool));
        self.is_marker(name) || suffixes.any(|suffix| suffix.is_empty() || suffix.starts_with('.'))
    }

    #[must_use]
    pub fn language(&self, id: &str) -> Option<&LanguageSpec> {
        self.languages.get(id).map(Arc::as_ref)
    }

    /// True if one server handles both languages, so that a file in one can break a file in the
    /// other.
    #[must_use]
    pub fn share_server(&self, one: &str, other: &str) -> bool {
        match (self.languages.get(one), self.languages.get(other)) {
            (Some(one), Some(other)) => {
                one.servers.iter().any(|server| other.servers.contains(server))
            }
            _ => one == other,
        }
    }

    /// The languages whose files a change of these files may break: those that share a server with one of
    /// them, and those whose servers read one of them as data.
    pub fn languages_that_see<'p>(
        &self,
        changed: impl Iterator<Item = &'p RelPath> + Clone,
    ) -> BTreeSet<&str> {
        let own: BTreeSet<&str> = changed
            .clone()
            .filter_map(|path| self.language_of(path))
            .map(|language| language.id)
            .collect();
        let extensions: BTreeSet<String> = changed.filter_map(RelPath::extension).collect();
        let readers: BTreeSet<&str> =
            extensions.iter().flat_map(|extension| self.data_readers(extension)).collect();
        let seeing = self.languages.iter().filter(|(name, language)| {
            own.iter().any(|own| self.share_server(own, name))
                || language.servers.iter().any(|server| readers.contains(server.as_str()))
        });
        seeing.map(|(name, _)| name.as_str()).collect()
    }

    /// True if a server reads files of this extension as data.
    #[must_use]
    pub fn is_data(&self, extension: &str) -> bool {
        self.data_readers(extension).next().is_some()
    }

    /// The servers that read files of this extension as data.
    pub fn data_readers(&self, extension: &str) -> impl Iterator<Item = &str> {
        let readers = self
            .servers
            .iter()
            .filter(move |(_, spec)| spec.data_extensions.iter().any(|it| it == extension));
        readers.map(|(id, _)| id.as_str())
    }

    /// True if a server for this language reads its configuration from a file of this name.
    #[must_use]
    pub fn is_configured_by(&self, language: &str, name: &str) -> bool {
        let servers = self.languages.get(language).into_iter().flat_map(|it| &it.servers);
        let mut specs = servers.filter_map(|server| self.servers.get(server));
        specs.any(|spec| spec.root_markers.iter().chain(&spec.restart_on).any(|it| it == name))
    }

    pub fn languages(&self) -> impl Iterator<Item = (&str, &LanguageSpec)> {
        self.languages.iter().map(|(id, language)| (id.as_str(), language.as_ref()))
    }

    pub fn language_ids(&self) -> impl Iterator<Item = &str> {
        self.languages.keys().map(String::as_str)
    }

    #[must_use]
    pub fn server(&self, id: &str) -> Option<&ServerSpec> {
        self.servers.get(id).map(Arc::as_ref)
    }

    pub fn servers(&self) -> impl Iterator<Item = (&str, &ServerSpec)> {
        self.servers.iter().map(|(id, spec)| (id.as_str(), spec.as_ref()))
    }

    /// True if a server is listed for this language, or for no language.
    #[must_use]
    pub fn serves_language(&self, server: &str, language: &str) -> bool {
        let is_listed = self.languages.get(language).is_some_and(|it| it.lists_server(server));
        is_listed || !self.languages.values().any(|it| it.lists_server(server))
    }

    /// True if a server's errors hide its warnings: `cargo check` lints only crates without errors.
    #[must_use]
    pub fn errors_hide_warnings(&self, server: &str) -> bool {
        let method = self.servers.get(server).map(|spec| spec.diagnostics);
        method == Some(DiagnosticsMethod::RustAnalyzer)
    }

    /// True if a server is a companion of a language: a linter that runs next to the type checker.
    /// An edit never causes its findings in another file.
    #[must_use]
    pub fn is_companion(&self, server: &str, language: &str) -> bool {
        let companions = self.languages.get(language).map(|it| it.companions.as_slice());
        companions.unwrap_or_default().iter().any(|companion| companion == server)
    }

    pub fn server_ids(&self) -> impl Iterator<Item = &str> {
        self.servers.keys().map(String::as_str)
    }

    /// The catalogue without these languages.
    #[must_use]
    pub fn without_languages(mut self, languages: &BTreeSet<String>) -> Self {
        self.languages.retain(|id, _| !languages.contains(id));
        self
    }
}

/// True if a name matches a pattern with at most one `*`.
/// True if a path fits a pattern for its name, or for its folder and name: `tsconfig*.json`, `.vscode/*.json`.
fn matches_path(pattern: &str, path: &RelPath) -> bool {
    let name = path.file_name();
    match pattern.rsplit_once('/') {
        None => matches_name(pattern, name),
        Some((folder, pattern)) => {
            let own = path.as_str().rsplit('/').nth(1);
            own == Some(folder) && matches_name(pattern, name)
        }
    }
}

fn matches_name(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((head, tail)) => {
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        }
    }
}

/// Parses JSON into a type of the catalogue; an error has its line and key.
fn parse_json<T: DeserializeOwned>(text: &str) -> Result<T, CatalogueError> {
    let mut input = serde_json::Deserializer::from_str(text);
    serde_path_to_error::deserialize(&mut input).map_err(|error| {
        let key = error.path().to_string();
        let inner = error.into_inner();
        let reason = inner.to_string();
        // serde_json repeats the position at the end of its message.
        let reason = reason.split(" at line ").next().unwrap_or(&reason).to_owned();
        CatalogueError { line: inner.line(), key, reason }
    })
}

#[cfg(test)]
mod tests;
