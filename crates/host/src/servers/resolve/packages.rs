//! The project's Python interpreter, and modification times of what a server reads only once.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::program::is_program;
use crate::servers::ServerContext;
use crate::servers::compile_database::DatabaseSearch;
use moai_lsp::registry::ServerSpec;

/// Modification times of everything in `restart_on`. A running server does not notice a new
/// package, or briefly answers from an old configuration after a change.
pub(super) fn restart_times(
    spec: &ServerSpec,
    context: &ServerContext,
    workspace: &Path,
) -> Vec<Option<SystemTime>> {
    let mut times = Vec::new();
    for name in &spec.restart_on {
        match name.as_str() {
            "${python}" => {
                let times_of_packages = &context.facts.package_times;
                times.extend(times_of_packages.get_or_init(|| site_packages(context)));
            }
            "${compile_database}" => {
                let files = DatabaseSearch::new(context, spec, workspace).distant_files(workspace);
                times.extend(files.iter().map(|file| modified(file)));
            }
            name => {
                times.push(modified(&context.root.join(name)));
                if workspace != context.root {
                    times.push(modified(&workspace.join(name)));
                }
            }
        }
    }
    times
}

/// The interpreter of the caller's active virtual environment, else of the project's `.venv` or
/// `venv`, else the first on PATH.
pub(super) fn python_interpreter(context: &ServerContext) -> Option<&Path> {
    context.facts.python.get_or_init(|| find_python(context)).as_deref()
}

fn find_python(context: &ServerContext) -> Option<PathBuf> {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| context.env.get(*name));
    let active = active.map(PathBuf::from);
    let local = [".venv", "venv"].iter().map(|name| context.root.join(name));
    let found = active.chain(local).map(|folder| folder.join("bin/python")).find(|p| is_program(p));
    found
        .or_else(|| context.program_on_path("python3"))
        .or_else(|| context.program_on_path("python"))
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
    sites.into_iter().map(installation_time).collect()
}

/// The latest modification of a `site-packages` folder and of what installers write into it.
fn installation_time(site: PathBuf) -> Option<SystemTime> {
    let entries = std::fs::read_dir(&site).into_iter().flatten().flatten();
    let written = entries.map(|entry| entry.path()).filter(|path| {
        path.extension().is_some_and(|it| matches!(it.to_str(), Some("dist-info" | "pth")))
    });
    written.chain([site]).filter_map(|path| modified(&path)).max()
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|meta| meta.modified()).ok()
}
