//! Faults of a project's environment: a hundred findings with one cause become one gap with a
//! remedy; findings that the cause does not explain remain. Facts from the disk come in as
//! [`FaultFacts`]. The codes are those of the servers named in each file, observed with their
//! pinned versions.

mod compiled;
mod java_types;
mod other_syntax;
mod php;
mod python;
mod schema;
mod typescript;

use std::collections::{BTreeMap, BTreeSet};

pub use self::compiled::{
    GoReplacement, cgo_preamble, go_module_name, go_replacements, go_work_modules, imports_c,
    is_kept_out_by_itself,
};
pub use self::java_types::java_types;
pub use self::typescript::{
    declared as declared_packages, extended_configs, is_readable, package_of_module,
};
use crate::switched_off::is_project_marker;
use moai_base::finding::Finding;
use moai_base::verdict::{Cause, Gap};

/// Facts about the project around one file, from the disk and the caller's environment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FaultFacts {
    /// Those of [`NeededFacts::names`] that exist in the file's folder or above it, up to the root.
    pub names: BTreeSet<String>,
    /// Texts of the nearest files listed in [`NeededFacts::manifests`].
    pub manifests: BTreeMap<String, String>,
    /// Those of [`NeededFacts::programs`] that can be started.
    pub programs: BTreeSet<String>,
    /// Declared npm packages missing from every `node_modules` folder around the file.
    pub missing_packages: BTreeSet<String>,
    /// Names without extension of the entries of the root, its `src` and the file's folder.
    pub neighbours: BTreeSet<String>,
    /// Folders with Java sources: the file's, those above it up to the root, and the folders in these. Paths
    /// relative to the root.
    pub java_packages: BTreeSet<String>,
    /// Java types that both the file and another one of its folder declare, by name, with the other file.
    pub java_twins: BTreeMap<String, String>,
    /// True if a Python virtual environment is active or inside the project.
    pub has_environment: bool,
    /// The base that the nearest tsconfig.json extends, if it is missing.
    pub missing_base: Option<String>,
    /// True if the nearest tsconfig.json is not JSON with comments.
    pub has_broken_config: bool,
    /// Where clangd gets the file's flags from.
    pub compile_flags: CompileFlags,
    /// The folder of the file's Go module, written as for `go work use`, if `go.work` does not list
    /// it.
    pub module_outside_go_work: Option<String>,
    /// Names of Go modules that are not downloaded: those of `go.work`, and those that folders replace.
    pub local_modules: BTreeSet<String>,
    /// The file's path, relative to the root.
    pub path: String,
}

/// Where clangd gets the compiler flags of a C or C++ file from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CompileFlags {
    /// No source: macros and search paths of the build are unknown.
    #[default]
    Unknown,
    /// From the entry of another file, because the database does not list this one.
    OfAnotherFile,
    /// It depends on conditions of clangd's configuration.
    Conditional,
    /// From `compile_flags.txt` or `.clangd`, which do not list files.
    Fixed,
    /// From the compilation database.
    Database,
    /// From the database or `compile_flags.txt`; they include this file before the source, and it does not
    /// exist. A compiler fails; clangd reports nothing.
    WithMissingFile(String),
}

impl FaultFacts {
    fn has_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.names.contains(*name))
    }

    fn manifest(&self, name: &str) -> &str {
        self.manifests.get(name).map_or("", String::as_str)
    }
}

/// The facts needed for a language.
#[derive(Clone, Copy, Debug, Default)]
pub struct NeededFacts {
    /// Names of files and folders to check for.
    pub names: &'static [&'static str],
    /// Names of files to read.
    pub manifests: &'static [&'static str],
    /// True if [`FaultFacts::neighbours`] are needed.
    pub neighbours: bool,
    /// True if [`FaultFacts::java_packages`] and [`FaultFacts::java_twins`] are needed.
    pub java_sources: bool,
    /// Programs to check for.
    pub programs: &'static [&'static str],
    /// True if [`FaultFacts::compile_flags`] is needed.
    pub compile_flags: bool,
    /// Codes of findings that a fault could explain; empty where a fault causes no finding.
    codes: &'static [&'static str],
}

impl NeededFacts {
    const NONE: Self = Self {
        names: &[],
        manifests: &[],
        neighbours: false,
        java_sources: false,
        programs: &[],
        compile_flags: false,
        codes: &[],
    };
}

/// The facts to gather before [`explain_findings`]; `None` when no fault is possible. `language_id`
/// is the LSP id.
#[must_use]
pub fn needed_facts(language_id: &str, findings: &[Finding]) -> Option<NeededFacts> {
    let facts = match language_id {
        "python" => python::PYTHON_FACTS,
        "typescript" | "typescriptreact" | "javascript" | "javascriptreact" => {
            typescript::TYPESCRIPT_FACTS
        }
        "go" => compiled::GO_FACTS,
        "rust" => compiled::RUST_FACTS,
        "c" | "cpp" => compiled::CPP_FACTS,
        "java" => compiled::JAVA_FACTS,
        "php" => php::PHP_FACTS,
        "json" | "jsonc" | "toml" => schema::SCHEMA_FACTS,
        "yaml" | "shellscript" => other_syntax::OTHER_SYNTAX_FACTS,
        _ => return None,
    };
    // Missing packages matter only when there are findings.
    let facts = if findings.is_empty() { NeededFacts { manifests: &[], ..facts } } else { facts };
    let is_possible = facts.codes.is_empty()
        || findings.iter().any(|finding| facts.codes.contains(&finding.code.as_str()));
    is_possible.then_some(facts)
}

/// A fault and the findings it explains.
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

/// The remaining findings, and the gap that replaces the others. With a gap the file is unmeasured,
/// even if findings remain.
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
        "json" | "jsonc" | "toml" => schema::schema_fault(&found),
        "yaml" => other_syntax::yaml_fault(text, facts, &found),
        "shellscript" => other_syntax::shell_fault(text, &found),
        _ => None,
    };
    let explained = fault.as_ref().map(|fault| fault.explained.clone()).unwrap_or_default();
    let remaining = found
        .into_iter()
        .enumerate()
        .filter(|(at, finding)| !explained.contains(at) && !is_project_marker(finding));
    (remaining.map(|(_, finding)| finding).collect(), fault.map(|fault| fault.gap))
}

/// The first quoted part of a message, in double quotes, single quotes or backticks.
fn first_quoted(message: &str) -> Option<&str> {
    let open = message.find(['"', '\'', '`'])?;
    let mark = message[open..].chars().next()?;
    message[open + 1..].split(mark).next()
}

fn matching_indices(findings: &[Finding], fits: impl Fn(&Finding) -> bool) -> BTreeSet<usize> {
    findings.iter().enumerate().filter(|(_, finding)| fits(finding)).map(|(at, _)| at).collect()
}

#[cfg(test)]
mod tests;
