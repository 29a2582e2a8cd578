//! Python: imports that cannot be resolved because the packages are not installed where the server
//! searches. Codes of pyright 1.1, basedpyright 1.40, ty 0.0.105 and pyrefly.

use std::collections::BTreeSet;

use super::{FaultFacts, NeededFacts, ProjectFault, first_quoted, matching_indices};
use moai_base::finding::Finding;
use moai_base::limits::FAULT_IMPORTS_MIN;

const IMPORT_CODES: &[&str] = &[
    "reportMissingImports",
    "reportMissingModuleSource",
    "import-not-found",
    "unresolved-import",
    "missing-import",
];

const MANIFESTS: &[&str] = &[
    "requirements.txt",
    "requirements-dev.txt",
    "pyproject.toml",
    "Pipfile",
    "setup.cfg",
    "setup.py",
    "environment.yml",
];

pub(super) const PYTHON_FACTS: NeededFacts = NeededFacts {
    manifests: MANIFESTS,
    neighbours: true,
    programs: &["python3", "python"],
    codes: IMPORT_CODES,
    ..NeededFacts::NONE
};

/// Modules whose package has another name in the package index.
const PACKAGES: &[(&str, &str)] = &[
    ("bs4", "beautifulsoup4"),
    ("crypto", "pycryptodome"),
    ("cv2", "opencv"),
    ("dateutil", "python-dateutil"),
    ("docx", "python-docx"),
    ("dotenv", "python-dotenv"),
    ("git", "gitpython"),
    ("jose", "python-jose"),
    ("jwt", "pyjwt"),
    ("magic", "python-magic"),
    ("multipart", "python-multipart"),
    ("mysqldb", "mysqlclient"),
    ("openssl", "pyopenssl"),
    ("pil", "pillow"),
    ("rest_framework", "djangorestframework"),
    ("serial", "pyserial"),
    ("skimage", "scikit-image"),
    ("sklearn", "scikit-learn"),
    ("slugify", "python-slugify"),
    ("yaml", "pyyaml"),
];

pub(super) fn python_fault(
    text: &str,
    facts: &FaultFacts,
    found: &[Finding],
) -> Option<ProjectFault> {
    // A missing module of the project itself is a mistake, with any installed packages.
    let foreign = matching_indices(found, |one| {
        IMPORT_CODES.contains(&one.code.as_str())
            && imported_module(one).is_some_and(|name| !facts.neighbours.contains(name))
    });
    if foreign.is_empty() {
        return None;
    }
    if !facts.has_environment && facts.programs.is_empty() {
        let remedy = "install Python 3, run python3 -m venv .venv and install the requirements";
        return Some(ProjectFault::new(
            "imports cannot be resolved without Python",
            remedy,
            foreign,
        ));
    }
    let modules: BTreeSet<&str> =
        foreign.iter().filter_map(|at| imported_module(&found[*at])).collect();
    let lines: BTreeSet<u32> = foreign.iter().map(|at| found[*at].range.start.line).collect();
    let is_most = lines.len() * 2 > import_count(text) && modules.len() >= FAULT_IMPORTS_MIN;
    let mut explained = foreign;
    if !is_most || facts.has_environment {
        explained.retain(|at| {
            imported_module(&found[*at]).is_some_and(|name| {
                facts.manifests.values().any(|manifest| names_package(manifest, name))
            })
        });
    }
    if explained.is_empty() {
        return None;
    }
    Some(ProjectFault::new("imports cannot be resolved", &remedy(facts), explained))
}

fn remedy(facts: &FaultFacts) -> String {
    let install = match facts.manifests.keys().next().map(String::as_str) {
        Some("requirements.txt") => ".venv/bin/pip install -r requirements.txt",
        Some("pyproject.toml") => ".venv/bin/pip install -e .",
        _ => ".venv/bin/pip install what is imported",
    };
    if facts.has_environment {
        return "install the requirements into the virtual environment".to_owned();
    }
    format!(
        "create a virtual environment and install the requirements (python3 -m venv .venv && {install})"
    )
}

/// The top-level module of an unresolved import; relative imports are the project's own.
fn imported_module(finding: &Finding) -> Option<&str> {
    let name = first_quoted(&finding.message)?;
    name.split('.').next().filter(|top| !top.is_empty())
}

fn import_count(text: &str) -> usize {
    let lines = text.lines().map(str::trim_start);
    lines
        .filter(|line| {
            line.starts_with("import ") || line.starts_with("from ") && line.contains(" import")
        })
        .count()
}

/// True if a manifest lists the package of a module. Names are compared as the package index does:
/// case-insensitively, with `_` equal to `-`.
fn names_package(manifest: &str, module: &str) -> bool {
    let (manifest, module) = (normalized_package(manifest), module.to_ascii_lowercase());
    let package = PACKAGES.iter().find(|(name, _)| *name == module);
    let package = normalized_package(package.map_or(module.as_str(), |(_, package)| package));
    manifest.match_indices(&package).any(|(at, _)| {
        let before = manifest[..at].chars().next_back();
        let after = manifest[at + package.len()..].chars().next();
        !before.is_some_and(|before| before.is_ascii_alphanumeric() || before == '-')
            && !after.is_some_and(|after| after.is_ascii_alphanumeric())
    })
}

fn normalized_package(text: &str) -> String {
    text.to_ascii_lowercase().replace('_', "-")
}
