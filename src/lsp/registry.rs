//! The catalogue of languages and language servers: `lsp.json` built in, and a project's own
//! `lsp.json` laid over it. Package names stand in the table and are never derived.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde::Deserialize;
use serde_json::Value;

use crate::base::path::RelPath;

/// Languages and servers by id.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Catalogue {
    languages: BTreeMap<String, Language>,
    servers: BTreeMap<String, ServerSpec>,
}

/// One programming language.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Language {
    /// Its name for people.
    pub name: String,
    /// LSP language id by file extension (lower case, no dot).
    pub extensions: BTreeMap<String, String>,
    /// Server ids, most preferred first; the first whose `when` holds is asked.
    pub servers: Vec<String>,
}

/// How one language server is started and asked.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// Program name or path.
    pub command: String,
    /// Its arguments.
    #[serde(default)]
    pub args: Vec<String>,
    /// How it proves that diagnostics belong to the current bytes.
    pub diagnostics: Method,
    /// How it says that it has loaded the project.
    #[serde(default)]
    pub ready: Ready,
    /// `initializationOptions` of the handshake.
    #[serde(default)]
    pub initialization_options: Value,
    /// Answers to `workspace/configuration`, by dotted section.
    #[serde(default)]
    pub settings: Value,
    /// Only for projects where this holds.
    #[serde(default)]
    pub when: Option<When>,
    /// Where the pinned version comes from.
    #[serde(default)]
    pub install: Option<Install>,
}

/// The completion protocols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// `textDocument/diagnostic`.
    Pull,
    /// tsserver's synchronous commands through `workspace/executeCommand`.
    Tsserver,
    /// `textDocument/publishDiagnostics`.
    Push,
    /// gopls: a versioned publish, which a change without a difference provokes.
    Gopls,
    /// rust-analyzer: its own diagnostics by pull, those of `cargo check` after a save.
    RustAnalyzer,
    /// clangd: a versioned publish that the change itself asks for.
    Clangd,
    /// Eclipse's Java server: publishes without version, a build as proof.
    Jdtls,
}

/// How a server says that it has loaded the project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ready {
    /// By answering `initialize`; a progress with a title means that it is loading again.
    #[default]
    Handshake,
    /// By the end of its first progress with a title.
    Progress,
    /// By `experimental/serverStatus` with `quiescent: true` (rust-analyzer).
    ServerStatus,
    /// By `language/status` of type `ServiceReady` (Eclipse's Java server).
    LanguageStatus,
}

/// A condition on the project.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// An npm package that the project uses.
    pub npm_package: String,
    /// Lowest major version of it.
    pub major_min: u64,
}

/// Pinned packages.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Install {
    /// npm packages as `name@version`.
    pub npm: Vec<String>,
}

/// A catalogue file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("line {line}, key {key}: {reason}")]
pub struct CatalogueError {
    /// 1-based line.
    pub line: usize,
    /// Dotted path of the key.
    pub key: String,
    /// What is wrong.
    pub reason: String,
}

impl Catalogue {
    /// The catalogue built into the program.
    pub fn built_in() -> &'static Self {
        static BUILT_IN: OnceLock<Catalogue> = OnceLock::new();
        BUILT_IN.get_or_init(|| {
            Self::parse(include_str!("../../lsp.json")).expect("the built-in lsp.json is tested")
        })
    }

    /// Reads a catalogue file.
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        let mut input = serde_json::Deserializer::from_str(text);
        serde_path_to_error::deserialize(&mut input).map_err(|error| {
            let key = error.path().to_string();
            let inner = error.into_inner();
            let reason = inner.to_string();
            // serde_json repeats the place at the end of its words.
            let reason = reason.split(" at line ").next().unwrap_or(&reason).to_owned();
            CatalogueError { line: inner.line(), key, reason }
        })
    }

    /// This catalogue with a project's own entries in place of those with the same id.
    #[must_use]
    pub fn overlaid(&self, own: Self) -> Self {
        let mut merged = self.clone();
        merged.languages.extend(own.languages);
        merged.servers.extend(own.servers);
        merged
    }

    /// The first server id that a language names and no entry describes.
    #[must_use]
    pub fn dangling_server(&self) -> Option<&str> {
        let named = self.languages.values().flat_map(|language| &language.servers);
        named.map(String::as_str).find(|id| !self.servers.contains_key(*id))
    }

    /// Language id, language, and LSP language id of a file, by its extension.
    #[must_use]
    pub fn language_of(&self, path: &RelPath) -> Option<(&str, &Language, &str)> {
        let extension = path.extension()?;
        self.languages.iter().find_map(|(id, language)| {
            let lsp_id = language.extensions.get(&extension)?;
            Some((id.as_str(), language, lsp_id.as_str()))
        })
    }

    /// A language by its id.
    #[must_use]
    pub fn language(&self, id: &str) -> Option<&Language> {
        self.languages.get(id)
    }

    /// All language ids.
    pub fn language_ids(&self) -> impl Iterator<Item = &str> {
        self.languages.keys().map(String::as_str)
    }

    /// A server by its id.
    #[must_use]
    pub fn server(&self, id: &str) -> Option<&ServerSpec> {
        self.servers.get(id)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn language(path: &str) -> Option<(&'static str, &'static str)> {
        let path = RelPath::below(Path::new("/r"), &Path::new("/r").join(path)).expect("relative");
        Catalogue::built_in().language_of(&path).map(|(id, _, lsp_id)| (id, lsp_id))
    }

    #[test]
    fn the_sixteen_languages_are_known_and_every_server_is_described() {
        let catalogue = Catalogue::built_in();
        // TypeScript and JavaScript share an entry, as do C and C++.
        assert_eq!(catalogue.language_ids().count(), 15);
        assert_eq!(catalogue.dangling_server(), None);
        assert_eq!(language("src/a.PY"), Some(("python", "python")));
        assert_eq!(language("a.tsx"), Some(("typescript", "typescriptreact")));
        assert_eq!(language("README.md"), None);
    }

    #[test]
    fn pinned_packages_carry_a_version() {
        for server in Catalogue::built_in().servers.values() {
            let install = server.install.as_ref().expect("built-in servers can be installed");
            for package in &install.npm {
                assert!(package.rfind('@').is_some_and(|at| at > 0), "{package}");
            }
        }
    }

    #[test]
    fn a_broken_entry_names_line_and_key() {
        let text = "{\n \"servers\": {\n  \"x\": {\"command\": 3, \"diagnostics\": \"pull\"}}}";
        let error = Catalogue::parse(text).expect_err("a number is no command");
        assert_eq!((error.line, error.key.as_str()), (3, "servers.x.command"));
        let error = Catalogue::parse("{\"serverz\": {}}").expect_err("unknown key");
        assert!(error.to_string().contains("serverz"), "{error}");
    }

    #[test]
    fn a_projects_entry_replaces_the_built_in_one() {
        let own = r#"{"servers": {"pyright": {"command": "mine", "diagnostics": "push"}}}"#;
        let merged = Catalogue::built_in().overlaid(Catalogue::parse(own).expect("valid"));
        assert_eq!(merged.server("pyright").map(|s| s.command.as_str()), Some("mine"));
        assert!(merged.server("typescript-language-server").is_some());
    }
}
