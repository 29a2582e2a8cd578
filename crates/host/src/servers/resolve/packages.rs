//! The project's Python interpreter, and files that a server reads only once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::program::{is_of_project, is_program};
use crate::servers::ServerContext;
use crate::servers::checking_config::{
    pyright_bases, pyright_environment, ruff_bases, ty_environment,
};
use crate::servers::compile_database::DatabaseSearch;
use crate::servers::fault_facts::settings_folder;
use crate::servers::go_workspace;
use crate::servers::installed_packages::InstalledPackages;
use moai_lsp::registry::ServerSpec;

/// The state of everything in `restart_on`, as a text that changes with it. A running server does not
/// notice a new package, or briefly answers from an old configuration after a change.
pub(super) fn read_once(
    spec: &ServerSpec,
    context: &ServerContext,
    workspace: &Path,
    packages: &InstalledPackages,
) -> String {
    let mut states: Vec<String> = Vec::new();
    for name in &spec.restart_on {
        match name.as_str() {
            "${python}" => {
                let digest =
                    context.facts.packages.get_or_init(|| packages.digest(&site_packages(context)));
                states.push(digest.to_string());
            }
            "${pyright_environment}" => {
                let environment = pyright_environment(workspace, &spec.workspace_markers);
                states.extend(environment_state(context, environment, packages));
            }
            "${ty_environment}" => {
                let environment = ty_environment(workspace);
                states.extend(environment_state(context, environment, packages));
            }
            "${compile_database}" => {
                let files = DatabaseSearch::new(context, spec, workspace).distant_files(workspace);
                states.extend(files.iter().map(|file| modified(file)));
            }
            "${config_bases}" => {
                let bases = pyright_bases(workspace, &spec.workspace_markers);
                states.extend(bases.iter().map(|base| modified(base)));
            }
            "${ruff_bases}" => {
                let home = context.env.get("HOME").map(Path::new);
                let user = config_home(context).map(|folder| folder.join("ruff"));
                let folders = workspace.ancestors().chain(user.as_deref());
                let bases = ruff_bases(folders, home);
                states.extend(bases.iter().map(|base| modified(base)));
            }
            "${src_folder}" => states.push(workspace.join("src").is_dir().to_string()),
            "${npm_scopes}" => {
                let folders = BTreeSet::from([context.root.as_path(), workspace]);
                let scopes =
                    folders.iter().flat_map(|at| packages.scopes(&at.join("node_modules")));
                states.extend(scopes.map(|scope| modified(&scope)));
            }
            "${go_settings}" => {
                let settings = go_workspace::settings_file(&context.env);
                states.extend(settings.map(|file| modified(&file)));
            }
            name => {
                if let Some(name) = name.strip_prefix("${above}/") {
                    let places = workspace.ancestors().map(|folder| folder.join(name));
                    states.extend(places.filter_map(|place| modified_if_there(&place)));
                } else if let Some(name) = name.strip_prefix("${config_home}/") {
                    let place = config_home(context).map(|folder| folder.join(name));
                    states.extend(place.and_then(|place| modified_if_there(&place)));
                } else if !name.starts_with("**/") {
                    states.push(modified(&context.root.join(name)));
                    if workspace != context.root {
                        states.push(modified(&workspace.join(name)));
                    }
                }
            }
        }
    }
    states.join(" ")
}

/// The interpreter of the caller's active virtual environment, else of the project's `.venv` or
/// `venv`, else the first on PATH.
pub(super) fn python_interpreter(context: &ServerContext) -> Option<&Path> {
    context.facts.python.get_or_init(|| find_python(context)).program.as_deref()
}

/// True if a server that uses the project's interpreter must run without it, because the project is not
/// trusted.
pub(super) fn lacks_interpreter(spec: &ServerSpec, context: &ServerContext) -> bool {
    spec.tools.iter().any(|tool| tool == "${python}")
        && context.facts.python.get_or_init(|| find_python(context)).is_withheld
}

/// The interpreter that a project's packages belong to.
#[derive(Debug)]
pub(in crate::servers) struct PythonInterpreter {
    program: Option<PathBuf>,
    /// True if the project's own interpreter is not used, because the project is not trusted.
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

/// The interpreter's folders of installed packages.
fn site_packages(context: &ServerContext) -> Vec<PathBuf> {
    let environment = python_interpreter(context).and_then(|python| python.parent()?.parent());
    environment.map(site_packages_in).unwrap_or_default()
}

/// A text that changes with the packages of an environment, unless that is the interpreter's. The digest of the first
/// environment of a request is kept for its other files.
fn environment_state(
    context: &ServerContext,
    environment: Option<PathBuf>,
    packages: &InstalledPackages,
) -> Option<String> {
    let environment = environment?;
    let of_interpreter = python_interpreter(context).and_then(|python| python.parent()?.parent());
    if of_interpreter == Some(environment.as_path()) {
        return None;
    }
    let digest_of = |environment: &Path| packages.digest(&site_packages_in(environment));
    let first = || (environment.clone(), digest_of(&environment));
    let (known, digest) = context.facts.configured_packages.get_or_init(first);
    let digest = if *known == environment { *digest } else { digest_of(&environment) };
    Some(digest.to_string())
}

/// An environment's folders of installed packages.
fn site_packages_in(environment: &Path) -> Vec<PathBuf> {
    let libraries = std::fs::read_dir(environment.join("lib"));
    let pythons = libraries.into_iter().flatten().flatten().map(|entry| entry.path());
    let mut sites: Vec<PathBuf> = pythons
        .filter(|path| {
            path.file_name().is_some_and(|it| it.to_string_lossy().starts_with("python"))
        })
        .map(|path| path.join("site-packages"))
        .collect();
    sites.sort();
    sites
}

/// The folder of the user's configurations, which ruff and ty use on macOS too.
fn config_home(context: &ServerContext) -> Option<PathBuf> {
    settings_folder(&context.env, ".config")
}

/// The path and modification time of a file, if it exists.
fn modified_if_there(path: &Path) -> Option<String> {
    let time = path.metadata().and_then(|meta| meta.modified()).ok()?;
    Some(format!("{} {time:?}", path.display()))
}

/// The modification time of a file; another text if it does not exist.
fn modified(path: &Path) -> String {
    format!("{:?}", path.metadata().and_then(|meta| meta.modified()).ok())
}
