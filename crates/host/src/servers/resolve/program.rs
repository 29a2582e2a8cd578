//! Finds a server's program, or reports what is missing.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::project::read_regular_file;
use crate::servers::{ServerContext, WithheldPrograms, install};
use moai_base::verdict::{Cause, Gap};
use moai_lsp::registry::ServerSpec;

/// Part whose absence prevents a server from being started.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MissingProgram {
    Server,
    /// A program that the server requires.
    Requirement(String),
}

impl MissingProgram {
    /// The gap with its remedy; `install_argument` is the argument for `server install`.
    pub(super) fn gap(&self, spec: &ServerSpec, install_argument: &str) -> Gap {
        let gap = match self {
            Self::Server => Gap::new(Cause::NotInstalled, "not installed"),
            Self::Requirement(program) => Gap::new(
                Cause::NotInstalled,
                format!("{program}, which it requires, is not on PATH"),
            ),
        };
        gap.with_remedy(match &spec.install {
            Some(install) if install.is_possible() => {
                format!("moai-ralph server install {install_argument}")
            }
            Some(install) if install.hint.is_some() => install.hint.clone().unwrap_or_default(),
            _ => format!("put {} on PATH", spec.command),
        })
    }
}

/// The project's own program where `when` demands it, then the one installed by `server install`,
/// then the first on the caller's PATH.
pub(super) fn find_program(
    id: &str,
    spec: &ServerSpec,
    project_bin: Option<&Path>,
    context: &ServerContext,
    data: &Path,
) -> Result<PathBuf, MissingProgram> {
    let needed = spec.needs.iter().find(|program| context.program_on_path(program).is_none());
    let program =
        server_program(id, spec, project_bin, context, data).ok_or(MissingProgram::Server)?;
    match needed {
        None => Ok(program),
        Some(program) => Err(MissingProgram::Requirement(program.clone())),
    }
}

fn server_program(
    id: &str,
    spec: &ServerSpec,
    project_bin: Option<&Path>,
    context: &ServerContext,
    data: &Path,
) -> Option<PathBuf> {
    let folder = install::install_folder(data, id, spec);
    if spec.command.contains('/') {
        let command = match spec.command.strip_prefix("${server}/") {
            Some(inside) => folder?.join(inside),
            None => context.root.join(spec.command.replace("${root}", ".")),
        };
        return is_program(&command).then_some(command);
    }
    let own = project_bin.map(|bin| bin.join(&spec.command)).filter(|program| is_program(program));
    let mut program = own.or_else(|| program_in_folder(&folder?, &spec.command));
    // Where the project's own version is required, the one on PATH could be any version.
    if program.is_none() && spec.when.is_none() {
        program = context.program_on_path(&spec.command);
    }
    let program = program?;
    let components = spec.install.as_ref().map_or(&[][..], |install| &install.rustup);
    let is_there = components.is_empty()
        || is_component_there(&program, &spec.command, &context.root, &context.env);
    is_there.then_some(program)
}

/// The path of a program that `server install` has put into a folder.
pub(in crate::servers) fn program_in_folder(folder: &Path, command: &str) -> Option<PathBuf> {
    if let Some(inside) = command.strip_prefix("${server}/") {
        return Some(folder.join(inside)).filter(|program| is_program(program));
    }
    let places = ["bin", "node_modules/.bin", "venv/bin"];
    let mut programs = places.iter().map(|place| folder.join(place).join(command));
    programs.find(|program| is_program(program))
}

/// The path of a program on the PATH of this environment.
#[must_use]
pub fn program_on_path(name: &str, env: &BTreeMap<String, String>) -> Option<PathBuf> {
    let folders = std::env::split_paths(env.get("PATH")?);
    folders.map(|folder| folder.join(name)).find(|program| is_program(program))
}

impl ServerContext {
    /// The path of a program on the caller's PATH, in a folder without links.
    pub(in crate::servers) fn program_on_path(&self, name: &str) -> Option<PathBuf> {
        let mut programs = self.path_folders().iter().map(|folder| folder.join(name));
        programs.find(|program| {
            let is_withheld =
                |withheld: &WithheldPrograms| is_of_project(program, &withheld.folder);
            is_program(program) && !self.withheld().is_some_and(is_withheld)
        })
    }

    /// The caller's environment as servers get it: links in PATH are followed, because a shell's own
    /// links (fnm makes some) end with the shell, and the server may outlive it.
    #[must_use]
    pub fn server_env(&self) -> BTreeMap<String, String> {
        let mut env = (*self.env).clone();
        let path = std::env::join_paths(self.path_folders()).ok();
        if let (Some(present), Some(Ok(path))) =
            (env.get_mut("PATH"), path.map(OsString::into_string))
        {
            *present = path;
        }
        env
    }

    /// The folders of the caller's PATH. Links are followed, and a folder that is not there keeps its
    /// name, as does a relative one, which is another folder for each program. Relative folders and
    /// those of the project are left out of a project that is not trusted.
    fn path_folders(&self) -> &[PathBuf] {
        self.facts.path_folders.get_or_init(|| {
            let mut folders = Vec::new();
            let path = self.env.get("PATH").map_or("", String::as_str);
            for folder in std::env::split_paths(path) {
                let real = folder.is_absolute().then(|| folder.canonicalize().ok()).flatten();
                let folder = real.unwrap_or(folder);
                let is_withheld = self.withheld().is_some_and(|withheld| {
                    folder.is_relative() || folder.starts_with(&withheld.folder)
                });
                if !is_withheld && !folders.contains(&folder) {
                    folders.push(folder);
                }
            }
            folders
        })
    }
}

/// True if a program is below a folder, by its path or after all symbolic links are resolved.
pub(super) fn is_of_project(program: &Path, folder: &Path) -> bool {
    let real = program.canonicalize();
    program.starts_with(folder) || real.is_ok_and(|program| program.starts_with(folder))
}

pub(super) fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// True if a rustup proxy leads to an installed component: rustup puts a link under every component's name,
/// installed or not. Also true if files cannot decide it; the server then reports it.
pub(in crate::servers) fn is_component_there(
    program: &Path,
    name: &str,
    root: &Path,
    env: &BTreeMap<String, String>,
) -> bool {
    let real = program.canonicalize().unwrap_or_else(|_| program.to_path_buf());
    if real.file_name().is_none_or(|name| name != "rustup") {
        return true;
    }
    let Some(home) = env.get("RUSTUP_HOME").map(PathBuf::from).or_else(|| {
        let home = env.get("HOME")?;
        Some(Path::new(home).join(".rustup"))
    }) else {
        return true;
    };
    let Some(channel) = toolchain(root, env, &home) else { return true };
    let chains = std::fs::read_dir(home.join("toolchains")).into_iter().flatten().flatten();
    let mut fitting = chains.filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name == channel || name.starts_with(&format!("{channel}-"))
    });
    fitting.next().is_none_or(|chain| is_program(&chain.path().join("bin").join(name)))
}

/// The toolchain that rustup would use in `root`: the variable, the project's file, the default.
/// `None` when a directory override may apply.
fn toolchain(root: &Path, env: &BTreeMap<String, String>, home: &Path) -> Option<String> {
    if let Some(channel) = env.get("RUSTUP_TOOLCHAIN") {
        return Some(channel.clone());
    }
    let settings = String::from_utf8(read_regular_file(&home.join("settings.toml"))?).ok()?;
    let (head, overrides) = settings.split_once("[overrides]").unwrap_or((&settings, ""));
    if overrides.contains('=') {
        return None;
    }
    for folder in root.ancestors() {
        for name in ["rust-toolchain", "rust-toolchain.toml"] {
            let Some(bytes) = read_regular_file(&folder.join(name)) else { continue };
            let text = String::from_utf8(bytes).ok()?;
            // The legacy format is one line with the channel.
            return toml_value(&text, "channel")
                .or_else(|| (!text.contains('=')).then(|| text.trim().to_owned()));
        }
    }
    toml_value(head, "default_toolchain")
}

fn toml_value(text: &str, key: &str) -> Option<String> {
    let value = text.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == key).then_some(value)
    })?;
    Some(value.split('#').next()?.trim().trim_matches(['"', '\'']).to_owned())
}
