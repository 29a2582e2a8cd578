//! Puts pinned language servers into the user's data folder: whole or not at all, never silently.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::lsp::registry::{Catalogue, ServerSpec};

/// Where a server's pinned version lives; the version is part of the name, so that a newer
/// program never runs an older pin. `None` for a server that cannot be installed.
#[must_use]
pub fn folder(data: &Path, id: &str, spec: &ServerSpec) -> Option<PathBuf> {
    Some(data.join("servers").join(format!("{id}@{}", version(spec)?)))
}

/// The pinned version of a server: that of its first package.
pub(super) fn version(spec: &ServerSpec) -> Option<String> {
    let first = spec.install.as_ref()?.npm.first()?;
    first.rsplit('@').next().map(str::to_owned)
}

/// What happened to one server.
#[derive(Debug, PartialEq, Eq)]
pub enum Installed {
    /// It was there.
    Already(String),
    /// It was put there.
    Now(String),
}

/// Why nothing was installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// No such language.
    #[error("unknown language {0}; known: {1}")]
    UnknownLanguage(String, String),
    /// The language has no server that this program can install.
    #[error("no language server for {0} can be installed by this version")]
    NothingToInstall(String),
    /// npm is missing.
    #[error(
        "npm is needed to install {0} and is not on PATH: install Node.js (https://nodejs.org)"
    )]
    NoNpm(String),
    /// npm failed.
    #[error("npm install {packages} failed: {output}")]
    NpmFailed {
        /// What was asked for.
        packages: String,
        /// npm's own words, last lines.
        output: String,
    },
    /// The folder cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Folder {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// The servers of a language that can be installed, by the language's id.
pub fn servers_of<'c>(
    catalogue: &'c Catalogue,
    language: &str,
) -> Result<Vec<(&'c str, &'c ServerSpec)>, InstallError> {
    let Some(found) = catalogue.language(language) else {
        let known: Vec<&str> = catalogue.language_ids().collect();
        return Err(InstallError::UnknownLanguage(language.to_owned(), known.join(", ")));
    };
    let servers: Vec<_> = found
        .servers
        .iter()
        .filter_map(|id| Some((id.as_str(), catalogue.server(id)?)))
        .filter(|(_, spec)| spec.install.is_some())
        .collect();
    if servers.is_empty() {
        return Err(InstallError::NothingToInstall(found.name.clone()));
    }
    Ok(servers)
}

/// Installs one server into `data`, unless it is there. Packages' own install scripts do not run.
pub fn install(
    data: &Path,
    id: &str,
    spec: &ServerSpec,
    env: &BTreeMap<String, String>,
) -> Result<Installed, InstallError> {
    let (Some(target), Some(source)) = (folder(data, id, spec), &spec.install) else {
        return Err(InstallError::NothingToInstall(id.to_owned()));
    };
    let label = source.npm.join(" ");
    if target.join("node_modules/.bin").join(&spec.command).exists() {
        return Ok(Installed::Already(label));
    }
    let Some(npm) = super::resolve::on_path("npm", env) else {
        return Err(InstallError::NoNpm(label));
    };
    let parent = data.join("servers");
    let at = |path: &Path| {
        let path = path.to_owned();
        move |error| InstallError::Folder { path, error }
    };
    std::fs::create_dir_all(&parent).map_err(at(&parent))?;
    let staging =
        tempfile::Builder::new().prefix(".new-").tempdir_in(&parent).map_err(at(&parent))?;
    std::fs::write(staging.path().join("package.json"), "{\"private\":true}\n")
        .map_err(at(staging.path()))?;
    let output = Command::new(npm)
        .args(["install", "--no-audit", "--no-fund", "--ignore-scripts", "--save-exact"])
        .args(&source.npm)
        .current_dir(staging.path())
        .env_clear()
        .envs(env)
        .stdin(Stdio::null())
        .output()
        .map_err(at(staging.path()))?;
    if !output.status.success() {
        let words = String::from_utf8_lossy(&output.stderr);
        let tail: Vec<&str> = words.lines().rev().take(5).collect();
        let output = tail.into_iter().rev().collect::<Vec<_>>().join(" | ");
        return Err(InstallError::NpmFailed { packages: label, output });
    }
    // Another installer may have been quicker; what stands there is the same pinned version.
    match std::fs::rename(staging.path(), &target) {
        Ok(()) => {}
        Err(_) if target.join("node_modules/.bin").join(&spec.command).exists() => {}
        Err(_) => {
            // A half-made folder of an earlier time is in the way.
            std::fs::remove_dir_all(&target).map_err(at(&target))?;
            std::fs::rename(staging.path(), &target).map_err(at(&target))?;
        }
    }
    Ok(Installed::Now(label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_languages_and_languages_without_a_server_are_refused_by_name() {
        let catalogue = Catalogue::built_in();
        let error = servers_of(catalogue, "pythn").expect_err("unknown").to_string();
        assert!(error.contains("pythn") && error.contains("python"), "{error}");
        let error = servers_of(catalogue, "go").expect_err("none yet").to_string();
        assert!(error.contains("Go"), "{error}");
        let ids = servers_of(catalogue, "typescript").expect("two").into_iter().map(|row| row.0);
        assert_eq!(ids.collect::<Vec<_>>(), ["typescript-native", "typescript-language-server"]);
    }

    #[test]
    fn without_npm_nothing_is_written() {
        let data = tempfile::tempdir().expect("a folder");
        let spec = Catalogue::built_in().server("pyright").expect("described");
        let error = install(data.path(), "pyright", spec, &BTreeMap::new()).expect_err("no npm");
        assert!(matches!(error, InstallError::NoNpm(_)));
        assert!(!data.path().join("servers").exists());
    }
}
