//! The project's Python interpreter, and modification times of what a server reads only once.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::program::{is_program, program_on_path};
use crate::lsp::registry::ServerSpec;
use crate::servers::ServerContext;

/// Modification times of everything in `restart_on`. A running server does not notice a new
/// package, or briefly answers from an old configuration after a change.
pub(super) fn restart_times(spec: &ServerSpec, context: &ServerContext) -> Vec<Option<SystemTime>> {
    let times = |name: &String| match name.as_str() {
        "${python}" => context.package_times.get_or_init(|| site_packages(context)).clone(),
        name => vec![modified(&context.root.join(name))],
    };
    spec.restart_on.iter().flat_map(times).collect()
}

/// The interpreter of the caller's active virtual environment, else of the project's `.venv` or
/// `venv`, else the first on PATH.
pub(super) fn python_interpreter(context: &ServerContext) -> Option<PathBuf> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| context.env.get(*name));
    let active = active.map(PathBuf::from);
    let local = [".venv", "venv"].iter().map(|name| context.root.join(name));
    let found = active.chain(local).map(|folder| folder.join("bin/python")).find(|p| is_program(p));
    found
        .or_else(|| program_on_path("python3", &context.env))
        .or_else(|| program_on_path("python", &context.env))
}

/// Modification times of the site-packages folders and of what installers write into them, because
/// installing a package changes no file of the project.
fn site_packages(context: &ServerContext) -> Vec<Option<SystemTime>> {
    let libraries = python_interpreter(context)
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
