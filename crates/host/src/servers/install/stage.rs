//! Installs one server's packages into a separate folder. They are installed in their final place, because a
//! virtual environment cannot be moved; a link under the server's name, created last, publishes the folder.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::run::InstallTool;
use super::{InstallError, ServerInstaller};
use crate::servers::resolve::program_in_folder;
use moai_base::limits::{INSTALL_MS_MAX, INSTALL_POLL_MS};
use moai_lsp::registry::{InstallSources, ServerSpec};

/// The folder that holds the link targets.
const STORE: &str = ".store";

impl ServerInstaller<'_> {
    /// Installs the packages and makes `target` a link to their folder.
    pub(super) fn install_packages(
        &self,
        target: &Path,
        spec: &ServerSpec,
        source: &InstallSources,
    ) -> Result<(), InstallError> {
        let npm = if source.npm.is_empty() {
            None
        } else {
            Some(self.tool("npm", &source.npm, source)?)
        };
        let python = if source.pip.is_empty() {
            None
        } else {
            Some(self.tool("python3", &source.pip, source)?)
        };
        let name = target.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let store = target.with_file_name(STORE);
        fs::create_dir_all(&store).map_err(folder_error(&store))?;
        let _turn = lock_install(&store.join(format!(".lock-{name}")))?;
        if program_in_folder(target, &spec.command).is_some() {
            return Ok(());
        }
        let prefix = format!("{name}-");
        remove_leftovers(&store, &prefix)?;
        let staging = tempfile::Builder::new().prefix(&prefix).tempdir_in(&store);
        let staging = staging.map_err(folder_error(&store))?;
        if let Some(npm) = npm {
            fetch_npm(&npm, &source.npm, staging.path())?;
        }
        if let Some(python) = python {
            fetch_pip(&python, &source.pip, staging.path())?;
        }
        for (link, goal) in &source.links {
            let goal = expand_unique(staging.path(), goal)
                .ok_or_else(|| incomplete(source, format!("{goal} does not exist exactly once")))?;
            let link = staging.path().join(link);
            let parent = link.parent().unwrap_or(staging.path());
            fs::create_dir_all(parent).map_err(folder_error(parent))?;
            symlink(goal, &link).map_err(folder_error(&link))?;
        }
        if program_in_folder(staging.path(), &spec.command).is_none() {
            return Err(incomplete(source, format!("there is no program {}", spec.command)));
        }
        publish(&staging.keep(), target)
    }
}

fn incomplete(source: &InstallSources, what: String) -> InstallError {
    let packages = [source.npm.as_slice(), &source.pip].concat().join(" ");
    InstallError::Incomplete { packages, what }
}

/// Waits until no other process installs the same server. The lock is released when dropped, or by
/// the kernel with the process.
fn lock_install(path: &Path) -> Result<File, InstallError> {
    let options = File::options().create(true).truncate(false).write(true).open(path);
    let lock = options.map_err(folder_error(path))?;
    let deadline = Instant::now() + Duration::from_millis(INSTALL_MS_MAX);
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(lock),
            Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(INSTALL_POLL_MS));
            }
            Err(error) => return Err(folder_error(path)(error.into())),
        }
    }
}

/// Removes the remains of interrupted installations.
fn remove_leftovers(store: &Path, prefix: &str) -> Result<(), InstallError> {
    for entry in fs::read_dir(store).map_err(folder_error(store))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            fs::remove_dir_all(entry.path()).map_err(folder_error(&entry.path()))?;
        }
    }
    Ok(())
}

fn fetch_npm(
    npm: &InstallTool<'_>,
    packages: &[String],
    folder: &Path,
) -> Result<(), InstallError> {
    let manifest = folder.join("package.json");
    fs::write(&manifest, "{\"private\":true}\n").map_err(folder_error(&manifest))?;
    let fixed = ["install", "--no-audit", "--no-fund", "--ignore-scripts", "--save-exact"];
    let arguments = fixed.map(str::to_owned).into_iter().chain(packages.iter().cloned());
    npm.run(&arguments.collect::<Vec<_>>(), folder)
}

/// Only built packages are accepted, because building one would run its code.
fn fetch_pip(
    python: &InstallTool<'_>,
    packages: &[String],
    folder: &Path,
) -> Result<(), InstallError> {
    python.run(&["-m", "venv", "venv"].map(str::to_owned), folder)?;
    let own = InstallTool { name: "pip", program: folder.join("venv/bin/python"), env: python.env };
    let fixed = [
        "-m",
        "pip",
        "install",
        "--no-input",
        "--disable-pip-version-check",
        "--only-binary",
        ":all:",
    ];
    let arguments = fixed.map(str::to_owned).into_iter().chain(packages.iter().cloned());
    own.run(&arguments.collect::<Vec<_>>(), folder)
}

/// Expands a path with `*` in its names; `None` unless exactly one entry matches.
fn expand_unique(folder: &Path, pattern: &str) -> Option<PathBuf> {
    let mut found = folder.to_path_buf();
    for part in pattern.split('/') {
        let Some((head, tail)) = part.split_once('*') else {
            found.push(part);
            continue;
        };
        let entries = fs::read_dir(&found).ok()?.flatten().map(|entry| entry.path());
        let mut fitting = entries.filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.len() >= head.len() + tail.len() && name.starts_with(head) && name.ends_with(tail)
        });
        found = fitting.next().filter(|_| fitting.next().is_none())?;
    }
    found.exists().then_some(found)
}

/// Publishes the folder by an atomic rename of a link.
fn publish(folder: &Path, target: &Path) -> Result<(), InstallError> {
    let name = folder.file_name().unwrap_or_default();
    let link = target.with_file_name(format!(".{}", name.to_string_lossy()));
    symlink(Path::new(STORE).join(name), &link).map_err(folder_error(&link))?;
    // An incomplete folder without a link may be in the way; a link is simply replaced.
    if target.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
        fs::remove_dir_all(target).map_err(folder_error(target))?;
    }
    fs::rename(&link, target).map_err(folder_error(target))
}

fn folder_error(path: &Path) -> impl FnOnce(std::io::Error) -> InstallError {
    let path = path.to_owned();
    move |error| InstallError::Folder { path, error }
}
