//! Installs pinned language servers into the user's data folder: completely or not at all, never
//! silently, and only packages of the built-in table.

mod run;
mod stage;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

use self::run::InstallTool;
use super::resolve::{is_component_there, program_in_folder, program_on_path};
use moai_lsp::registry::{Catalogue, InstallSources, LanguageSpec, ServerSpec};

/// The folder of a server's pinned version. The version is part of the name so that a newer release
/// of this program never runs an older pin. `None` for a server without an install folder.
#[must_use]
pub fn install_folder(data: &Path, id: &str, spec: &ServerSpec) -> Option<PathBuf> {
    let shared = spec.install.as_ref().and_then(|install| install.folder.as_deref());
    let name = shared.unwrap_or(id).replace('/', "_");
    Some(data.join("servers").join(format!("{name}@{}", pinned_version(spec)?)))
}

/// The version of the server itself.
pub(super) fn server_version(spec: &ServerSpec) -> Option<String> {
    let own = spec.install.as_ref().and_then(|install| install.version.clone());
    own.or_else(|| pinned_version(spec))
}

/// The pinned version of a server: that of its first package.
fn pinned_version(spec: &ServerSpec) -> Option<String> {
    let install = spec.install.as_ref()?;
    let npm = install.npm.first().and_then(|package| package.rsplit('@').next());
    let pip = install.pip.first().and_then(|package| package.rsplit("==").next());
    npm.or(pip).map(str::to_owned)
}

/// The program of a server that is installed in `data`.
#[must_use]
pub fn installed_program(data: &Path, id: &str, spec: &ServerSpec) -> Option<PathBuf> {
    program_in_folder(&install_folder(data, id, spec)?, &spec.command)
}

/// The result of installing one server.
#[derive(Debug, PartialEq, Eq)]
pub enum InstallOutcome {
    /// It was already installed.
    AlreadyInstalled(InstalledServer),
    /// It was installed now.
    NewlyInstalled(InstalledServer),
}

#[derive(Debug, PartialEq, Eq)]
pub struct InstalledServer {
    /// The packages, separated by spaces.
    pub packages: String,
    pub program: Option<PathBuf>,
}

/// Why nothing was installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// The name is neither a language nor a server.
    #[error("unknown language or language server {name}; known: {known}")]
    Unknown {
        name: String,
        /// The names that can be installed.
        known: String,
    },
    /// The server must be installed by other means.
    #[error("moai-ralph cannot install {name}: {hint}")]
    ByHand {
        /// Language or server.
        name: String,
        hint: String,
    },
    /// The installing program is missing.
    #[error("{tool} is needed to install {packages} and is not on PATH: {remedy}")]
    NoTool { tool: &'static str, packages: String, remedy: String },
    /// Only the superuser can install it.
    #[error("install {packages} yourself: {command}")]
    NeedsRoot { packages: String, command: String },
    /// The installing program failed.
    #[error("{command} failed: {output}")]
    Failed {
        command: String,
        /// The last lines of its output.
        output: String,
    },
    /// The installed packages do not match the table.
    #[error("{packages} was downloaded, but {what}")]
    Incomplete { packages: String, what: String },
    /// A file or a folder cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Folder { path: PathBuf, error: std::io::Error },
}

/// The servers that an argument of `server install` selects: those of a language, or one server.
pub fn servers_to_install<'c>(
    catalogue: &'c Catalogue,
    name: &str,
) -> Result<Vec<(&'c str, &'c ServerSpec)>, InstallError> {
    if let Some(language) = catalogue.language(name) {
        let servers = default_servers(catalogue, language);
        if servers.is_empty() {
            let first = language.servers.first().and_then(|server| catalogue.server(server));
            return Err(install_by_hand(&language.name, first));
        }
        return Ok(servers);
    }
    match catalogue.servers().find(|(id, _)| *id == name) {
        Some((id, spec)) if is_possible(spec) => Ok(vec![(id, spec)]),
        Some((id, spec)) => Err(install_by_hand(id, Some(spec))),
        None => {
            let known: Vec<&str> = catalogue.language_ids().collect();
            let servers = catalogue.servers().filter(|(_, spec)| is_possible(spec));
            let servers: Vec<&str> = servers.map(|(id, _)| id).collect();
            let known = format!("{}; {}", known.join(", "), servers.join(", "));
            Err(InstallError::Unknown { name: name.to_owned(), known })
        }
    }
}

/// The servers that `server install LANGUAGE` installs: the language's first server and the conditional ones
/// that some projects need instead. Alternatives and companions are installed by their own names.
pub(super) fn default_servers<'c>(
    catalogue: &'c Catalogue,
    language: &LanguageSpec,
) -> Vec<(&'c str, &'c ServerSpec)> {
    let named =
        catalogue.servers().filter(|(id, _)| language.servers.iter().any(|server| server == id));
    let (conditional, plain): (Vec<_>, Vec<_>) =
        named.filter(|(_, spec)| is_possible(spec)).partition(|(_, spec)| spec.when.is_some());
    let first = plain
        .into_iter()
        .min_by_key(|(id, _)| language.servers.iter().position(|server| server == id));
    conditional.into_iter().chain(first).collect()
}

fn install_by_hand(name: &str, spec: Option<&ServerSpec>) -> InstallError {
    let hint = spec.and_then(|spec| spec.install.as_ref()?.hint.clone());
    InstallError::ByHand {
        name: name.to_owned(),
        hint: hint.unwrap_or_else(|| "no language server is known for it".to_owned()),
    }
}

fn is_possible(spec: &ServerSpec) -> bool {
    spec.install.as_ref().is_some_and(InstallSources::is_possible)
}

/// Installs servers for one caller.
#[derive(Debug)]
pub struct ServerInstaller<'a> {
    /// The user's data folder.
    pub data: &'a Path,
    pub env: &'a BTreeMap<String, String>,
    /// The folder whose Rust toolchain gets the components.
    pub root: &'a Path,
}

impl ServerInstaller<'_> {
    /// Installs one server unless it is installed. Packages' own install scripts do not run. `say`
    /// is called before any command runs as the superuser.
    pub fn install(
        &self,
        id: &str,
        spec: &ServerSpec,
        say: &dyn Fn(&str),
    ) -> Result<InstallOutcome, InstallError> {
        let Some(source) = spec.install.as_ref().filter(|source| source.is_possible()) else {
            let hint = spec.install.as_ref().and_then(|install| install.hint.clone());
            let hint = hint.unwrap_or_else(|| "nothing is known about its packages".to_owned());
            return Err(InstallError::ByHand { name: id.to_owned(), hint });
        };
        let mut is_new = false;
        if let Some(target) = install_folder(self.data, id, spec)
            && program_in_folder(&target, &spec.command).is_none()
        {
            self.install_packages(&target, spec, source)?;
            is_new = true;
        }
        is_new |= self.rustup(spec, source)?;
        is_new |= self.apt(spec, source, say)?;
        let lists = [&source.npm, &source.pip, &source.rustup, &source.apt];
        let packages: Vec<&str> = lists.into_iter().flatten().map(String::as_str).collect();
        let program = installed_program(self.data, id, spec);
        let program = program.or_else(|| program_on_path(&spec.command, self.env));
        let place = InstalledServer { packages: packages.join(" "), program };
        Ok(if is_new {
            InstallOutcome::NewlyInstalled(place)
        } else {
            InstallOutcome::AlreadyInstalled(place)
        })
    }

    /// Adds components to the toolchain of `root`.
    fn rustup(&self, spec: &ServerSpec, source: &InstallSources) -> Result<bool, InstallError> {
        if source.rustup.is_empty() {
            return Ok(false);
        }
        if let Some(program) = program_on_path(&spec.command, self.env)
            && is_component_there(&program, &spec.command, self.root, self.env)
        {
            return Ok(false);
        }
        let rustup = self.tool("rustup", &source.rustup, source)?;
        let mut arguments = vec!["component".to_owned(), "add".to_owned()];
        arguments.extend(source.rustup.iter().cloned());
        rustup.run(&arguments, self.root)?;
        Ok(true)
    }

    /// Installs packages of the distribution, only when the superuser calls.
    fn apt(
        &self,
        spec: &ServerSpec,
        source: &InstallSources,
        say: &dyn Fn(&str),
    ) -> Result<bool, InstallError> {
        let is_apt_alone = source.npm.is_empty() && source.pip.is_empty();
        let command = is_apt_alone.then_some(&spec.command);
        let mut programs = command.into_iter().chain(&spec.needs);
        let is_missing = programs.any(|program| program_on_path(program, self.env).is_none());
        if source.apt.is_empty() || !is_missing {
            return Ok(false);
        }
        let apt = self.tool("apt-get", &source.apt, source)?;
        let mut arguments: Vec<String> =
            ["install", "-y", "--no-install-recommends"].map(str::to_owned).to_vec();
        arguments.extend(source.apt.iter().cloned());
        let command = format!("apt-get {}", arguments.join(" "));
        if !geteuid().is_root() {
            let packages = source.apt.join(" ");
            let command = format!("sudo {command}");
            return Err(InstallError::NeedsRoot { packages, command });
        }
        say(&format!("as the superuser: {command}"));
        apt.run(&["update".to_owned(), "-qq".to_owned()], self.root)?;
        apt.run(&arguments, self.root)?;
        Ok(true)
    }

    /// The installing program, or an error with its remedy.
    fn tool(
        &self,
        name: &'static str,
        packages: &[String],
        source: &InstallSources,
    ) -> Result<InstallTool<'_>, InstallError> {
        if let Some(program) = program_on_path(name, self.env) {
            return Ok(InstallTool { name, program, env: self.env });
        }
        Err(InstallError::NoTool {
            tool: name,
            packages: packages.join(" "),
            remedy: match name {
                "npm" => "install Node.js (https://nodejs.org)".to_owned(),
                "python3" => "install Python 3 with its venv module".to_owned(),
                _ => source.hint.clone().unwrap_or_else(|| format!("install {name}")),
            },
        })
    }
}

#[cfg(test)]
mod tests;
