//! G12 for the library and the programs of a package of Rust whose tests Cargo is told to leave out. A target
//! without tests loses none.

use std::collections::BTreeSet;

use serde_json::Value;

use super::builds::BuildRelaxations;
use crate::SourceChange;
use crate::settings::{self, SettingsFormat, as_word};
use moai_base::path::RelPath;

/// The library or a program of a package.
struct CargoTarget<'v> {
    /// As messages name it.
    name: String,
    /// The file that its modules start from, below the package.
    root: String,
    table: &'v Value,
}

/// The keys of a target that leave out tests, with what they leave out.
const SWITCHES: &[(&str, TestKind)] = &[
    ("test", TestKind::Functions),
    ("harness", TestKind::Functions),
    ("doctest", TestKind::Documentation),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum TestKind {
    Functions,
    Documentation,
}

/// The tests that a package's manifest switched off.
pub(super) fn switched_off(
    folder: &str,
    before: &Value,
    after: &Value,
    changes: &[SourceChange],
) -> BuildRelaxations {
    let mut found = BuildRelaxations::new();
    let old = targets(before);
    for target in targets(after) {
        let was_off =
            |key: &str| old.iter().any(|it| it.name == target.name && is_off(it.table, key));
        for (key, kind) in SWITCHES {
            if !is_off(target.table, key) || was_off(key) {
                continue;
            }
            let root = format!("{folder}{}", target.root);
            if modules(&root, changes).iter().any(|it| it.may_hold(*kind)) {
                let what = format!("cargo: `{key}` of {} was unset and is `false`", target.name);
                found.push(((*key).to_owned(), what));
            }
        }
    }
    found
}

/// Source files that an inspection needs to know whether a changed manifest switches off tests.
pub(crate) fn needed_sources(change: &SourceChange, changes: &[SourceChange]) -> Vec<RelPath> {
    let Some(folder) = change.path.as_str().strip_suffix("Cargo.toml") else { return Vec::new() };
    let text = change.after.as_deref().unwrap_or_default();
    let manifest = settings::parse_settings(SettingsFormat::Toml, text).unwrap_or_default();
    let off = targets(&manifest).into_iter();
    let off = off.filter(|target| SWITCHES.iter().any(|(key, _)| is_off(target.table, key)));
    let files = off.flat_map(|target| modules(&format!("{folder}{}", target.root), changes));
    files.flat_map(|it| it.paths).filter_map(|path| RelPath::parse(&path)).collect()
}

fn is_off(target: &Value, key: &str) -> bool {
    target.get(key).and_then(Value::as_bool) == Some(false)
}

fn targets(manifest: &Value) -> Vec<CargoTarget<'_>> {
    let path = |table: &Value| table.get("path").map(as_word);
    let library = manifest.get("lib").map(|table| CargoTarget {
        name: "the library".to_owned(),
        root: path(table).unwrap_or_else(|| "src/lib.rs".to_owned()),
        table,
    });
    let package = settings::value_at(manifest, &["package", "name"]).map(as_word);
    let programs = manifest.get("bin").and_then(Value::as_array).into_iter().flatten();
    let programs = programs.filter_map(|table| {
        let name = table.get("name").map(as_word)?;
        let usual = if Some(&name) == package.as_ref() {
            "src/main.rs".to_owned()
        } else {
            format!("src/bin/{name}.rs")
        };
        let root = path(table).unwrap_or(usual);
        Some(CargoTarget { name: format!("program `{name}`"), root, table })
    });
    library.into_iter().chain(programs).collect()
}

/// A module of a target.
struct TargetModule<'c> {
    /// Where its file may be.
    paths: Vec<String>,
    /// Its text at the base; `None` if its file is not among the changes.
    before: Option<&'c str>,
    is_root: bool,
}

impl TargetModule<'_> {
    /// True if the module held tests at the base. Those of a module whose file is not known count.
    fn may_hold(&self, kind: TestKind) -> bool {
        match (self.before, kind) {
            (None, _) => !self.is_root,
            (Some(text), TestKind::Functions) => holds_tests(text),
            (Some(text), TestKind::Documentation) => holds_examples(text),
        }
    }
}

/// The modules of a target at the base, with those whose files are not among the changes.
fn modules<'c>(root: &str, changes: &'c [SourceChange]) -> Vec<TargetModule<'c>> {
    let mut found: Vec<TargetModule<'c>> = Vec::new();
    let mut seen: BTreeSet<String> = BTreeSet::new();
    let mut next = vec![vec![root.to_owned()]];
    while let Some(paths) = next.pop() {
        let is_among = |it: &&SourceChange| {
            it.before.is_some() && paths.iter().any(|path| path == it.path_before().as_str())
        };
        let file = changes.iter().find(is_among);
        let before = file.and_then(|it| it.before.as_deref());
        if let Some(file) = file
            && seen.insert(file.path_before().as_str().to_owned())
        {
            let path = file.path_before().as_str();
            let names = before.into_iter().flat_map(declared_modules);
            next.extend(names.map(|name| module_paths(path, name, path == root)));
        }
        found.push(TargetModule { paths, before, is_root: found.is_empty() });
    }
    found
}

/// The names in `mod name;`.
fn declared_modules(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter_map(|line| {
        let line = line.trim();
        let line = line.strip_prefix("pub").map_or(line, |rest| {
            let rest = rest.trim_start();
            rest.strip_prefix('(')
                .and_then(|rest| rest.split_once(')'))
                .map_or(rest, |(_, rest)| rest)
        });
        let name = line.trim_start().strip_prefix("mod ")?.split_once(';')?.0.trim();
        name.chars().all(|it| it.is_alphanumeric() || it == '_').then_some(name)
    })
}

/// Where the file of a module is that another file declares.
fn module_paths(parent: &str, name: &str, is_root: bool) -> Vec<String> {
    let (folder, file) = parent.rsplit_once('/').unwrap_or(("", parent));
    let stem = file.trim_end_matches(".rs");
    let below =
        if is_root || stem == "mod" { folder.to_owned() } else { format!("{folder}/{stem}") };
    let plain = |path: String| path.trim_start_matches('/').to_owned();
    vec![plain(format!("{below}/{name}.rs")), plain(format!("{below}/{name}/mod.rs"))]
}

/// True if a text of Rust has functions that are tests.
pub(super) fn holds_tests(text: &str) -> bool {
    ["#[test]", "::test]", "::test(", "#[rstest", "#[test_case", "proptest!", "quickcheck"]
        .iter()
        .any(|it| text.contains(it))
}

/// True if the documentation in a text of Rust has examples that are run, or may have: a block that names no
/// other language, or a text from elsewhere.
fn holds_examples(text: &str) -> bool {
    let mut is_inside = false;
    let lines = text.lines().map(str::trim_start);
    let mut comments = lines.filter_map(|line| {
        ["///", "//!", "* ", "/**", "/*!"].iter().find_map(|start| line.strip_prefix(start))
    });
    let begins = |line: &str| {
        let Some(info) = line.trim().strip_prefix("```") else { return false };
        is_inside = !is_inside;
        is_inside && is_run(info.trim_start_matches('`'))
    };
    comments.any(begins) || text.contains("doc = include_str!") || text.contains("doc=include_str!")
}

/// True if a block of documentation with these words after its fence is run as a test.
fn is_run(info: &str) -> bool {
    let known = ["rust", "no_run", "should_panic", "compile_fail", "standalone_crate"];
    info.split([',', ' ']).filter(|word| !word.is_empty()).all(|word| {
        known.contains(&word) || word.starts_with("edition") || word.starts_with(['{', '.'])
    })
}
