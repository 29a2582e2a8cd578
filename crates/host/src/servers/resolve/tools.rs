//! The identity of a server: the programs that it is and uses, as the caller's PATH leads to them,
//! the environment variables that matter to it, its settings and packages. The pool keeps one process
//! per identity, and a result is proof for callers with the same identity only.

use std::fmt::Write as _;
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::packages::python_interpreter;
use crate::files::open_regular;
use crate::servers::ServerContext;
use moai_base::hash::ContentHash;
use moai_base::limits::SCRIPT_LINE_BYTES_MAX;
use moai_lsp::registry::ServerSpec;

/// Environment variables that affect the results of any language server.
const KEY_VARIABLES: [&str; 5] =
    ["VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "NODE_PATH", "NODE_OPTIONS"];

/// Everything besides the files of the project that the results of a server depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ServerIdentity {
    /// Paths of its programs, and the environment variables: these differ between callers.
    environment: ContentHash,
    /// Everything else: the contents of these paths, settings, packages. This changes with time.
    state: ContentHash,
}

impl ServerIdentity {
    /// An identity from its two parts.
    #[must_use]
    pub fn new(environment: ContentHash, state: ContentHash) -> Self {
        Self { environment, state }
    }

    /// True if callers with these identities have the same environment, so that the later identity replaces
    /// the earlier one.
    #[must_use]
    pub fn shares_environment(self, other: Self) -> bool {
        self.environment == other.environment
    }
}

/// The inputs of a selected server's identity.
pub(super) struct IdentityBasis<'a> {
    pub(super) id: &'a str,
    /// Its catalogue entry with all placeholders filled in.
    pub(super) spec: &'a ServerSpec,
    pub(super) program: &'a Path,
    /// True if `server install` installed the program, so that its path changes with its version.
    pub(super) is_pinned: bool,
    pub(super) workspace: &'a Path,
    /// The state of the files that the server reads only once.
    pub(super) read_once: &'a str,
}

impl IdentityBasis<'_> {
    pub(super) fn identity(&self, context: &ServerContext) -> ServerIdentity {
        let found;
        let cached = context.facts.tools.get(self.id);
        let cached = cached.map(|tools| tools.get_or_init(|| self.find_tools(context)));
        let tools = match cached {
            Some(tools) if tools.program == self.program => tools,
            // Packages of one project may have a server each.
            _ => {
                found = self.find_tools(context);
                &found
            }
        };
        let variables =
            KEY_VARIABLES.into_iter().chain(self.spec.variables.iter().map(String::as_str));
        let variables: Vec<Option<&String>> = variables.map(|name| context.env.get(name)).collect();
        let Self { id, spec, program, workspace, read_once, .. } = self;
        let environment = format!("{}{variables:?}", tools.places);
        let (program, workspace) = (program.display(), workspace.display());
        let state =
            format!("{id}\n{program}\n{workspace}\n{spec:?}\n{read_once}\n{}", tools.targets);
        ServerIdentity::new(
            ContentHash::of_bytes(environment.as_bytes()),
            ContentHash::of_bytes(state.as_bytes()),
        )
    }

    fn find_tools(&self, context: &ServerContext) -> ServerTools {
        let mut tools = ServerTools {
            program: self.program.to_path_buf(),
            places: String::new(),
            targets: String::new(),
        };
        let own_name = if self.is_pinned { "pinned" } else { "program" };
        tools.add(own_name, Some(self.program.to_path_buf()));
        let interpreter = script_line(self.program).and_then(|line| interpreter(&line));
        match interpreter {
            Some(ScriptInterpreter::Named(name)) => {
                tools.add(&name, context.program_on_path(&name));
            }
            Some(ScriptInterpreter::Fixed(path)) => tools.add("interpreter", Some(path)),
            None => {}
        }
        for name in self.spec.needs.iter().chain(&self.spec.tools) {
            match name.as_str() {
                // A link may name the project's virtual environment.
                "${python}" => tools.add("python", python_interpreter(context).map(without_links)),
                name => tools.add(name, context.program_on_path(name)),
            }
        }
        tools
    }
}

/// The programs that a server is and uses.
#[derive(Debug)]
pub(in crate::servers) struct ServerTools {
    /// The server's own program.
    program: PathBuf,
    /// Each program by name, with the place where it was found: programs like Python find their
    /// packages by it, and the proxies of version managers the program to start by the name.
    places: String,
    /// The files that the places lead to.
    targets: String,
}

impl ServerTools {
    /// Adds a program; `None` for a missing one.
    fn add(&mut self, name: &str, place: Option<PathBuf>) {
        if name != "pinned" {
            let _ = writeln!(self.places, "{name} {place:?}");
        }
        let Some(place) = place else { return };
        let real = place.is_symlink().then(|| place.canonicalize().ok()).flatten();
        let target = real.unwrap_or(place);
        let Ok(meta) = target.metadata() else { return };
        // npm gives all files the same time, but a new file has another inode.
        let (inode, bytes, modified) = (meta.ino(), meta.len(), meta.modified().ok());
        let target = target.display();
        let _ = writeln!(self.targets, "{name} {target} {inode} {bytes} {modified:?}");
    }
}

/// The same file, with the links in its folder followed.
fn without_links(path: &Path) -> PathBuf {
    let folder = path.parent().and_then(|folder| folder.canonicalize().ok());
    match (folder, path.file_name()) {
        (Some(folder), Some(name)) => folder.join(name),
        _ => path.to_path_buf(),
    }
}

/// The program that runs a script.
#[derive(Debug, PartialEq, Eq)]
enum ScriptInterpreter {
    /// The first of this name on PATH.
    Named(String),
    /// The one at this path.
    Fixed(PathBuf),
}

/// The interpreter in the first line of a script: `#!/usr/bin/env node`, `#!/venv/bin/python`.
fn interpreter(line: &str) -> Option<ScriptInterpreter> {
    let mut words = line.strip_prefix("#!")?.split_whitespace();
    let path = Path::new(words.next()?);
    if path.file_name()? != "env" {
        return Some(ScriptInterpreter::Fixed(path.to_path_buf()));
    }
    let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    Some(ScriptInterpreter::Named(name.to_owned()))
}

/// The beginning of a program's first line, if it is text.
fn script_line(program: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    open_regular(program).ok()?.take(SCRIPT_LINE_BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let line = bytes.split(|byte| *byte == b'\n').next()?;
    Some(std::str::from_utf8(line).ok()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_names_its_interpreter_or_looks_for_it_on_path() {
        let named = |name: &str| Some(ScriptInterpreter::Named(name.to_owned()));
        let fixed = |path: &str| Some(ScriptInterpreter::Fixed(path.into()));
        assert_eq!(interpreter("#!/usr/bin/env node"), named("node"));
        assert_eq!(interpreter("#!/usr/bin/env -S A=1 node --no-warnings"), named("node"));
        assert_eq!(interpreter("#! /v/bin/python3 -E"), fixed("/v/bin/python3"));
        for line in ["#!/usr/bin/env", "#!", "", "\u{7f}ELF", "node"] {
            assert_eq!(interpreter(line), None, "{line}");
        }
    }
}
