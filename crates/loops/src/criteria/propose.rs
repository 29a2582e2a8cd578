//! Proposes commands for the criteria from the names and texts of a project's files. `propose/` has
//! one file per family of languages; a Makefile covers the remaining criteria.
//!
//! A command that would pass only because it has nothing to check is not proposed; the criterion
//! stays unmeasured instead.

mod compiled;
mod make;
mod other;
mod python;
mod script;

use std::collections::{BTreeMap, BTreeSet};

use super::{CheckCommand, CheckCriterion};

/// The facts about one folder.
#[derive(Clone, Debug, Default)]
pub struct ProposalFolder {
    /// Relative to the root; empty for the root itself.
    pub path: String,
    /// Names in it, and the existing ones of [`PROBED`].
    pub names: BTreeSet<String>,
    /// Texts of the existing ones of [`READ`].
    pub texts: BTreeMap<String, String>,
}

/// Files whose texts are read.
pub const READ: [&str; 13] = [
    "package.json",
    "tsconfig.json",
    "pyproject.toml",
    "setup.cfg",
    "tox.ini",
    "requirements.txt",
    "requirements-dev.txt",
    "Cargo.toml",
    "pom.xml",
    "composer.json",
    "mix.exs",
    "pubspec.yaml",
    "Makefile",
];

/// Paths below a folder that are checked for existence.
pub const PROBED: [&str; 16] = [
    ".config/nextest.toml",
    ".venv/bin/python",
    ".venv/bin/pytest",
    ".venv/bin/ruff",
    ".venv/bin/flake8",
    ".venv/bin/mypy",
    ".venv/bin/pyright",
    "venv/bin/python",
    "venv/bin/pytest",
    "venv/bin/ruff",
    "venv/bin/flake8",
    "venv/bin/mypy",
    "venv/bin/pyright",
    "build/CMakeCache.txt",
    "sorbet/config",
    "tests/conftest.py",
];

/// The proposals for these folders: the first is the root; the others count only if the root has
/// none.
#[must_use]
pub fn propose_checks(folders: &[ProposalFolder]) -> Vec<CheckCommand> {
    let mut found = Vec::new();
    for folder in folders {
        if folder.path.is_empty() || !found.iter().any(|one: &CheckCommand| one.folder.is_empty()) {
            found.extend(propose_for_folder(folder));
        }
    }
    found
}

fn propose_for_folder(folder: &ProposalFolder) -> Vec<CheckCommand> {
    let mut found = CheckProposals { folder, commands: Vec::new() };
    for family in [python::propose, script::propose, compiled::propose, other::propose] {
        family(&mut found);
    }
    make::propose(&mut found);
    found.commands
}

/// Proposals of one folder so far.
struct CheckProposals<'a> {
    folder: &'a ProposalFolder,
    commands: Vec<CheckCommand>,
}

impl CheckProposals<'_> {
    fn has(&self, name: &str) -> bool {
        self.folder.names.contains(name)
    }

    /// The first of these names that exists.
    fn first(&self, names: &[&'static str]) -> Option<&'static str> {
        names.iter().find(|name| self.has(name)).copied()
    }

    /// A name in the folder with this ending.
    fn ending(&self, ends: &[&str]) -> Option<&str> {
        self.folder
            .names
            .iter()
            .find(|name| ends.iter().any(|end| name.ends_with(end)))
            .map(String::as_str)
    }

    /// A name in the folder with this beginning.
    fn starting(&self, start: &str) -> Option<&str> {
        self.folder.names.iter().find(|name| name.starts_with(start)).map(String::as_str)
    }

    /// The text of a file; empty if it does not exist.
    fn text(&self, name: &str) -> &str {
        self.folder.texts.get(name).map_or("", String::as_str)
    }

    /// True if a file has a table or section with this beginning: `[tool.ruff`, `[mypy`.
    fn has_section(&self, name: &str, start: &str) -> bool {
        self.text(name).lines().any(|line| line.trim_start().starts_with(start))
    }

    fn has_criterion(&self, criterion: CheckCriterion) -> bool {
        self.commands.iter().any(|command| command.criterion == criterion)
    }

    /// Adds a command; `source` is the file that suggests it.
    fn add(&mut self, criterion: CheckCriterion, line: &str, source: &str, why: &str) {
        let argv = line.split(' ').map(str::to_owned).collect();
        self.add_argv(criterion, argv, source, why);
    }

    fn add_argv(&mut self, criterion: CheckCriterion, argv: Vec<String>, source: &str, why: &str) {
        let folder = &self.folder.path;
        let below = |name: &str| {
            if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
        };
        let line = argv.join(" ");
        let name = if folder.is_empty() { line } else { format!("{line} (in {folder})") };
        self.commands.push(CheckCommand {
            name,
            criterion,
            argv,
            folder: folder.clone(),
            timeout_secs: None,
            source: below(source),
            why: format!("{} {why}", below(source)),
        });
    }
}

#[cfg(test)]
mod tests;
