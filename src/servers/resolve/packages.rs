//! The project's Python interpreter, and when the things that a server reads only once were last
//! changed.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::program::{is_program, program_on_path};
use crate::lsp::registry::ServerSpec;
use crate::servers::ServerContext;

/// Times of everything in `restart_on`. A running server does not notice a package that was added,
/// or answers from an old configuration for a moment after a change.
pub(super) fn restart_times(spec: &ServerSpec, around: &ServerContext) -> Vec<Option<SystemTime>> {
    let times = |name: &String| match name.as_str() {
        "${python}" => around.package_times.get_or_init(|| site_packages(around)).clone(),
        name => vec![modified(&around.root.join(name))],
    };
    spec.restart_on.iter().flat_map(times).collect()
}

/// The caller's active virtual environment, the project's `.venv` or `venv`, the first on PATH.
pub(super) fn python_interpreter(around: &ServerContext) -> Option<PathBuf> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| around.env.get(*name));
    let active = active.map(PathBuf::from);
    let local = [".venv", "venv"].iter().map(|name| around.root.join(name));
    let found = active.chain(local).map(|folder| folder.join("bin/python")).find(|p| is_program(p));
    found
        .or_else(|| program_on_path("python3", &around.env))
        .or_else(|| program_on_path("python", &around.env))
}

/// Nothing in the project changes when a package is installed: the times of the folder and of what
/// installers write into it tell.
fn site_packages(around: &ServerContext) -> Vec<Option<SystemTime>> {
    let libraries = python_interpreter(around)
        .and_then(|python| Some(python.parent()?.parent()?.join("lib")))
        .and_then(|library| std::fs::read_dir(library).ok());
    let pythons = libraries.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut sites: Vec<PathBuf> = pythons
        .filter(|path| {
            path.file_name().is_some_and(|it| it.to_string_lossy().starts_with("python"))
        })
        .map(|path| path.join("site-packages"))
        .collect();
    sites.sort();
    let is_installers = |path: &Path| {
        path.extension().is_some_and(|it| matches!(it.to_str(), Some("dist-info" | "pth")))
    };
    let entries = |site: &PathBuf| std::fs::read_dir(site).into_iter().flatten().flatten();
    sites
        .iter()
        .map(|site| {
            let inside = entries(site).map(|entry| entry.path()).filter(|path| is_installers(path));
            inside.chain([site.clone()]).filter_map(|path| modified(&path)).max()
        })
        .collect()
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|meta| meta.modified()).ok()
}
