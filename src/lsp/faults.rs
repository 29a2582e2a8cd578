//! Faults of a project's surroundings: a hundred findings with one cause become one gap that says
//! what to do, and what the cause does not explain stays a finding. Pure: what the disk says comes
//! in as [`FaultFacts`]. The codes are those of the servers named in each file, observed with the pinned
//! versions.

mod compiled;
mod php;
mod python;
mod typescript;

use std::collections::{BTreeMap, BTreeSet};

pub(super) use self::typescript::INFERRED_PROJECT;
pub use self::typescript::{
    declared as declared_packages, extended_configs, is_readable, package_of_module,
};
use crate::base::finding::Finding;
use crate::base::verdict::{Cause, Gap};

/// What the disk and the caller's environment say about the project around one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultFacts {
    /// Which of [`NeededFacts::names`] exist in the file's folder or above it, up to the root.
    pub names: BTreeSet<String>,
    /// Texts of the nearest files with a name of [`NeededFacts::manifests`].
    pub manifests: BTreeMap<String, String>,
    /// Which of [`NeededFacts::programs`] can be started.
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

impl FaultFacts {
    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.names.contains(*name))
    }

    fn manifest(&self, name: &str) -> &str {
        self.manifests.get(name).map_or("", String::as_str)
    }
}

/// Which facts matter for a language.
#[derive(Clone, Copy, Debug, Default)]
pub struct NeededFacts {
    /// Files and folders looked for.
    pub names: &'static [&'static str],
    /// Files read.
    pub manifests: &'static [&'static str],
    /// Whether [`FaultFacts::neighbours`] matter.
    pub neighbours: bool,
    /// Programs looked for.
    pub programs: &'static [&'static str],
    /// Codes without which there is nothing to explain; empty where a fault shows in silence.
    codes: &'static [&'static str],
}

/// Which facts to gather before [`explain_findings`]; `None` when nothing can be at fault. The language is
/// an LSP language id.
#[must_use]
pub fn needed_facts(language_id: &str, found: &[Finding]) -> Option<NeededFacts> {
    let wanted = match language_id {
        "python" => python::PYTHON_FACTS,
        "typescript" | "typescriptreact" | "javascript" | "javascriptreact" => {
            typescript::TYPESCRIPT_FACTS
        }
        "go" => compiled::GO_FACTS,
        "rust" => compiled::RUST_FACTS,
        "c" | "cpp" => compiled::CPP_FACTS,
        "java" => compiled::JAVA_FACTS,
        "php" => php::PHP_FACTS,
        _ => return None,
    };
    // Which packages are missing matters only when something is wrong.
    let wanted = if found.is_empty() { NeededFacts { manifests: &[], ..wanted } } else { wanted };
    let speaks_of = |one: &Finding| wanted.codes.contains(&one.code.as_str());
    (wanted.codes.is_empty() || found.iter().any(speaks_of)).then_some(wanted)
}

/// A fault, and which findings it explains.
struct ProjectFault {
    gap: Gap,
    /// Indices into the findings.
    explained: BTreeSet<usize>,
}

impl ProjectFault {
    fn new(detail: &str, remedy: &str, explained: impl IntoIterator<Item = usize>) -> Self {
        let gap = Gap::new(Cause::ProjectFault, detail).with_remedy(remedy);
        Self { gap, explained: explained.into_iter().collect() }
    }
}

/// The findings that remain, and the gap that stands for the others. With a gap the file is not
/// measured, whatever remains.
#[must_use]
pub fn explain_findings(
    language_id: &str,
    text: &str,
    facts: &FaultFacts,
    found: Vec<Finding>,
) -> (Vec<Finding>, Option<Gap>) {
    let fault = match language_id {
        "python" => python::python_fault(text, facts, &found),
        "typescript" | "typescriptreact" | "javascript" | "javascriptreact" => {
            typescript::typescript_fault(facts, &found)
        }
        "go" => compiled::go_fault(facts, &found),
        "rust" => compiled::rust_fault(facts),
        "c" | "cpp" => compiled::cpp_fault(facts, &found),
        "java" => compiled::java_fault(facts, &found),
        "php" => php::php_fault(facts, &found),
        _ => None,
    };
    let explained = fault.as_ref().map(|fault| fault.explained.clone()).unwrap_or_default();
    let remains = |at: &usize, one: &Finding| {
        !explained.contains(at) && !typescript::is_inferred_project_marker(one)
    };
    let left = found.into_iter().enumerate().filter(|(at, one)| remains(at, one));
    (left.map(|(_, one)| one).collect(), fault.map(|fault| fault.gap))
}

/// The first quoted part of a message, in double quotes, single quotes or backticks.
fn first_quoted(message: &str) -> Option<&str> {
    let open = message.find(['"', '\'', '`'])?;
    let mark = message[open..].chars().next()?;
    message[open + 1..].split(mark).next()
}

/// Indices of the findings that fit.
fn matching_indices(found: &[Finding], fits: impl Fn(&Finding) -> bool) -> BTreeSet<usize> {
    found.iter().enumerate().filter(|(_, one)| fits(one)).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests;
