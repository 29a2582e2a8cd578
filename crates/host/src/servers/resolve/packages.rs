//! The project's Python interpreter, and modification times of what a server reads only once.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::program::{is_of_project, is_program};
use crate::servers::ServerContext;
use crate::servers::compile_database::DatabaseSearch;
use crate::servers::go_workspace;
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
            "${go_settings}" => {
                times.push(go_workspace::settings_file(&context.env).and_then(|it| modified(&it)));
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
    context.facts.python.get_or_init(|| find_python(context)).program.as_deref()
}

/// Whether a server that uses the project's interpreter goes without it, because the project is not
/// trusted.
pub(super) fn lacks_interpreter(spec: &ServerSpec, context: &ServerContext) -> bool {
    spec.tools.iter().any(|tool| tool == "${python}")
        && context.facts.python.get_or_init(|| find_python(context)).is_withheld
}

/// The interpreter that a project's packages belong to.
#[derive(Debug)]
pub(in crate::servers) struct PythonInterpreter {
    program: Option<PathBuf>,
    /// Whether the project's own one is not used, because the project is not trusted.
    is_withheld: bool,
}

fn find_python(context: &ServerContext) -> PythonInterpreter {
    let active = ["VIRTUAL_ENV", "CONDA_PREFIX"].iter().filter_map(|name| context.env.get(*name));
    let active = active.map(PathBuf::from);
    let local = [".venv", "venv"].iter().map(|name| context.root.join(name));
    let environments = active.chain(local).map(|folder| folder.join("bin/python"));
    let mut is_withheld = false;
    let mut usable = environments.filter(|program| is_program(program)).filter(|program| {
        let withheld = context.withheld();
        let is_own = withheld.is_some_and(|withheld| is_of_project(program, &withheld.folder));
        is_withheld |= is_own;
        !is_own
    });
    let program = usable
        .next()
        .or_else(|| context.program_on_path("python3"))
        .or_else(|| context.program_on_path("python"));
    PythonInterpreter { program, is_withheld }
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
