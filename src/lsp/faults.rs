//! Faults of a project's surroundings: a hundred findings with one cause become one gap that says
//! what to do, and what the cause does not explain stays a finding. Pure: what the disk says comes
//! in as [`Facts`]. The codes are those of the servers named in each file, observed with the pinned
//! versions.

mod compiled;
mod php;
mod python;
mod typescript;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use self::typescript::INFERRED;
pub use self::typescript::{bases, declared as declared_packages, is_readable, package};
use crate::base::finding::Finding;
use crate::base::verdict::{Cause, Gap};

/// What the disk and the caller's environment say about the project around one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// Which of [`Wanted::names`] exist in the file's folder or above it, up to the root.
    pub names: BTreeSet<String>,
    /// Texts of the nearest files with a name of [`Wanted::manifests`].
    pub manifests: BTreeMap<String, String>,
    /// Which of [`Wanted::programs`] can be started.
    pub programs: BTreeSet<String>,
    /// Declared npm packages that no `node_modules` folder around the file has.
    pub missing_packages: BTreeSet<String>,
    /// Names, without extension, of what lies in the root, its `src` and the file's folder.
    pub neighbours: BTreeSet<String>,
    /// Whether a virtual environment of Python is active or lies in the project.
    pub has_environment: bool,
    /// What the nearest tsconfig.json extends and cannot be found.
    pub missing_base: Option<String>,
    /// Whether the nearest tsconfig.json is no JSON with comments.
    pub has_broken_config: bool,
    /// The file's path, relative to the root.
    pub path: String,
}

impl Facts {
    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.names.contains(*name))
    }

    fn manifest(&self, name: &str) -> &str {
        self.manifests.get(name).map_or("", String::as_str)
    }
}

/// Which facts matter for a language.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wanted {
    /// Files and folders looked for.
    pub names: &'static [&'static str],
    /// Files read.
    pub manifests: &'static [&'static str],
    /// Whether [`Facts::neighbours`] matter.
    pub neighbours: bool,
    /// Programs looked for.
    pub programs: &'static [&'static str],
    /// Codes without which there is nothing to explain; empty where a fault shows in silence.
    codes: &'static [&'static str],
}

/// Which facts to gather before [`explain`]; `None` when nothing can be at fault. The language is
/// an LSP language id.
#[must_use]
pub fn wanted(language_id: &str, found: &[Finding]) -> Option<Wanted> {
    let wanted = match language_id {
        "python" => python::WANTED,
        "typescript" | "typescriptreact" | "javascript" | "javascriptreact" => typescript::WANTED,
        "go" => compiled::WANTED_BY_GO,
        "rust" => compiled::WANTED_BY_RUST,
        "c" | "cpp" => compiled::WANTED_BY_CPP,
        "java" => compiled::WANTED_BY_JAVA,
        "php" => php::WANTED,
        _ => return None,
    };
    // Which packages are missing matters only when something is wrong.
    let wanted = if found.is_empty() { Wanted { manifests: &[], ..wanted } } else { wanted };
    let speaks_of = |one: &Finding| wanted.codes.contains(&one.code.as_str());
    (wanted.codes.is_empty() || found.iter().any(speaks_of)).then_some(wanted)
}

/// A fault, and which findings it explains.
struct Fault {
    gap: Gap,
    /// Indices into the findings.
    explained: BTreeSet<usize>,
}

impl Fault {
    fn new(detail: &str, remedy: &str, explained: impl IntoIterator<Item = usize>) -> Self {
        let gap = Gap::new(Cause::ProjectFault, detail).with_remedy(remedy);
        Self { gap, explained: explained.into_iter().collect() }
    }
}

/// The findings that remain, and the gap that stands for the others. With a gap the file is not
/// measured, whatever remains.
#[must_use]
pub fn explain(
    language_id: &str,
    text: &str,
    facts: &Facts,
    found: Vec<Finding>,
) -> (Vec<Finding>, Option<Gap>) {
    let fault = match language_id {
        "python" => python::fault(text, facts, &found),
        "typescript" | "typescriptreact" | "javascript" | "javascriptreact" => {
            typescript::fault(facts, &found)
        }
        "go" => compiled::go(facts, &found),
        "rust" => compiled::rust(facts),
        "c" | "cpp" => compiled::cpp(facts, &found),
        "java" => compiled::java(facts, &found),
        "php" => php::fault(facts, &found),
        _ => None,
    };
    let explained = fault.as_ref().map(|fault| fault.explained.clone()).unwrap_or_default();
    let remains = |at: &usize, one: &Finding| !explained.contains(at) && !typescript::is_mark(one);
    let left = found.into_iter().enumerate().filter(|(at, one)| remains(at, one));
    (left.map(|(_, one)| one).collect(), fault.map(|fault| fault.gap))
}

/// The first quoted part of a message, in double quotes, single quotes or backticks.
fn quoted(message: &str) -> Option<&str> {
    let open = message.find(['"', '\'', '`'])?;
    let mark = message[open..].chars().next()?;
    message[open + 1..].split(mark).next()
}

/// Indices of the findings that fit.
fn indices(found: &[Finding], fits: impl Fn(&Finding) -> bool) -> BTreeSet<usize> {
    found.iter().enumerate().filter(|(_, one)| fits(one)).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests;
