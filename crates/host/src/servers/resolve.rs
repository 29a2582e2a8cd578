//! Selects the servers for a file: finds their programs and fills in the project's settings. Reads the disk
//! and starts nothing; creates only a server's cache folder.

mod packages;
mod placeholders;
mod program;
mod project;
mod tools;

use std::path::{Path, PathBuf};

use serde_json::Value;

use self::placeholders::PlaceholderFiller;
use self::tools::IdentityBasis;
use super::installed_packages::InstalledPackages;
use super::{ServerContext, ServerSelection, go_workspace};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_lsp::registry::{DiagnosticsMethod, FileLanguage, LanguageSpec, ServerSpec};

pub(super) use self::packages::PythonInterpreter;
pub use self::program::program_on_path;
pub(super) use self::program::{is_component_there, program_in_folder};
pub use self::tools::ServerIdentity;
pub(super) use self::tools::ServerTools;

/// A server that can be started for a file.
#[derive(Clone, Debug)]
pub struct ResolvedServer {
    pub id: String,
    /// Its catalogue entry with all placeholders filled in.
    pub spec: ServerSpec,
    pub program: PathBuf,
    /// Absolute path of its workspace: the root, or a folder below with the server's marker.
    pub workspace: PathBuf,
    /// LSP language id of the file.
    pub language_id: String,
    /// Settings with the project's interpreter filled in.
    pub settings: Value,
    /// Everything besides the project's files that its results depend on.
    pub identity: ServerIdentity,
    /// The gap for the parts it must not use because the project is not trusted.
    pub withheld: Option<Gap>,
    /// The pinned version if `server install` installed the program, because some servers do not
    /// report their version.
    pub version: Option<String>,
}

/// The servers to ask about a file: those the user chose, else the language's main one and the
/// companions that are installed. `Err` carries the sensor's name. Empty for a file in no known
/// language, or in an auxiliary one without an installed server.
pub(super) fn select_servers(
    context: &ServerContext,
    data: &Path,
    packages: &InstalledPackages,
    path: &RelPath,
) -> Vec<ServerSelection> {
    let catalogue = &context.catalogue;
    let Some(FileLanguage { id: language_id, spec: language, lsp_id }) =
        catalogue.language_of(path)
    else {
        return Vec::new();
    };
    let resolver = ServerResolver { context, data, packages, path, language_id, lsp_id };
    if let Some(chosen) = &language.user_servers {
        let chosen = chosen.iter().filter(|id| resolver.applies(id));
        return chosen.map(|id| resolver.required_server(id, None)).collect();
    }
    let companions = language.companions.iter().filter_map(|id| resolver.installed_server(id));
    resolver.main_server(language).into_iter().chain(companions).collect()
}

/// True if a server of this language is installed.
pub(super) fn is_served(context: &ServerContext, data: &Path, language: &LanguageSpec) -> bool {
    let named = language.servers.iter().chain(&language.companions);
    let mut specs = named.filter_map(|id| Some((id, context.catalogue.server(id)?)));
    specs.any(|(id, spec)| program::find_program(id, spec, None, context, data).is_ok())
}

struct ServerResolver<'a> {
    context: &'a ServerContext,
    data: &'a Path,
    packages: &'a InstalledPackages,
    path: &'a RelPath,
    language_id: &'a str,
    lsp_id: &'a str,
}

impl ServerResolver<'_> {
    /// The language's main server: the one whose condition holds, installed or not, because another version's
    /// findings would not apply to this project; else the first installed one; else the gap of the first.
    fn main_server(&self, language: &LanguageSpec) -> Option<ServerSelection> {
        let applicable = language.servers.iter().filter(|id| self.applies(id));
        let mut unconditional = Vec::new();
        for id in applicable {
            let when = self.context.catalogue.server(id).and_then(|spec| spec.when.as_ref());
            match when.map(|when| project::project_bin_if_used(when, &self.context.root, self.path))
            {
                None => unconditional.push(id),
                Some(Some(bin)) => return Some(self.required_server(id, Some(&bin))),
                Some(None) => {}
            }
        }
        let installed = unconditional.iter().find_map(|id| self.installed_server(id));
        match (installed, unconditional.first()) {
            (Some(selection), _) => Some(selection),
            (None, _) if language.auxiliary => None,
            (None, Some(id)) => Some(self.required_server(id, None)),
            (None, None) => {
                let detail = format!("no language server for {} in this version", language.name);
                Some(Err((self.language_id.to_owned(), Gap::new(Cause::NoTool, detail))))
            }
        }
    }

    fn applies(&self, id: &str) -> bool {
        self.context.catalogue.server(id).is_some_and(|spec| {
            let extension = self.path.extension().unwrap_or_default();
            spec.extensions.is_empty() || spec.extensions.contains_key(&extension)
        })
    }

    /// `None` for a server that is not installed.
    fn installed_server(&self, id: &str) -> Option<ServerSelection> {
        let spec = self.context.catalogue.server(id)?;
        let program = program::find_program(id, spec, None, self.context, self.data).ok()?;
        Some(self.permitted(id, spec, program))
    }

    /// The server, restricted in a project that is not trusted; a gap if it would run a program of such a
    /// project.
    fn permitted(&self, id: &str, spec: &ServerSpec, program: PathBuf) -> ServerSelection {
        let Some(withheld) = self.context.withheld() else {
            return Ok(self.choice(id, spec, program));
        };
        let restricted = spec.restricted().filter(|_| {
            !withheld.servers.contains(id)
                && !program::is_of_project(&program, &withheld.folder)
                && (program.starts_with(self.data) || !spec.is_installed_only_untrusted())
        });
        match restricted {
            Some(spec) => Ok(self.choice(id, &spec, program)),
            None => Err((id.to_owned(), withheld.gap.clone())),
        }
    }

    fn required_server(&self, id: &str, project_bin: Option<&Path>) -> ServerSelection {
        let Some(spec) = self.context.catalogue.server(id) else {
            let gap = Gap::new(Cause::NoTool, format!("no language server {id} in this version"));
            return Err((id.to_owned(), gap));
        };
        match program::find_program(id, spec, project_bin, self.context, self.data) {
            Ok(program) => self.permitted(id, spec, program),
            Err(missing) => {
                let install_argument =
                    if self.is_first_of_its_language(id) { self.language_id } else { id };
                Err((id.to_owned(), missing.gap(spec, install_argument)))
            }
        }
    }

    /// True if `server install LANGUAGE` would install this server.
    fn is_first_of_its_language(&self, id: &str) -> bool {
        let language = self.context.catalogue.language(self.language_id);
        language.is_some_and(|language| {
            super::install::default_servers(&self.context.catalogue, language)
                .iter()
                .any(|(installed, _)| *installed == id)
        })
    }

    fn choice(&self, id: &str, spec: &ServerSpec, program: PathBuf) -> ResolvedServer {
        let extension = self.path.extension().unwrap_or_default();
        let language_id = spec.extensions.get(&extension).map_or(self.lsp_id, String::as_str);
        let is_gopls = spec.diagnostics == DiagnosticsMethod::Gopls;
        let ignored = is_gopls.then(|| go_workspace::ignored_file(&self.context.env)).flatten();
        let workspace = project::server_workspace(spec, &self.context.root, self.path, ignored);
        let filled =
            PlaceholderFiller::new(id, spec, &workspace, self.context, self.data).spec(spec);
        let is_pinned = program.starts_with(self.data);
        let withheld =
            self.context.withheld().filter(|_| packages::lacks_interpreter(spec, self.context));
        let read_once = packages::read_once(spec, self.context, &workspace, self.packages);
        let basis = IdentityBasis {
            id,
            spec: &filled,
            program: &program,
            is_pinned,
            workspace: &workspace,
            read_once: &read_once,
        };
        ResolvedServer {
            id: id.to_owned(),
            language_id: language_id.to_owned(),
            settings: filled.settings.clone(),
            withheld: withheld.map(|withheld| withheld.gap.clone()),
            identity: basis.identity(self.context),
            version: is_pinned.then(|| super::install::server_version(spec)).flatten(),
            spec: filled,
            workspace,
            program,
        }
    }
}

#[cfg(test)]
mod tests;
