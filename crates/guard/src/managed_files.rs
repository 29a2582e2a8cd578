//! G18: files that programs write (copies, lock files, generated code) and git hooks.

use super::commands::{CommandLoss, parse_commands, weakened_commands};
use super::facts::ParsedFiles;
use super::{Detection, GuardInput, SourceChange};
use moai_base::finding::Severity;
use moai_base::protected::is_generated;

const CODE: &str = "G18";

/// Lock files and their manifests; `*` matches any text.
const LOCKS: &[(&str, &[&str])] = &[
    ("Cargo.lock", &["Cargo.toml"]),
    ("Gemfile.lock", &["Gemfile", "*.gemspec"]),
    ("Pipfile.lock", &["Pipfile"]),
    ("bun.lock", &["package.json"]),
    ("composer.lock", &["composer.json"]),
    ("go.sum", &["go.mod", "go.work"]),
    ("gradle.lockfile", &["build.gradle", "build.gradle.kts", "libs.versions.toml"]),
    ("package-lock.json", &["package.json"]),
    ("packages.lock.json", &["*.csproj", "Directory.Packages.props"]),
    ("pdm.lock", &["pyproject.toml"]),
    ("pnpm-lock.yaml", &["package.json", "pnpm-workspace.yaml"]),
    ("poetry.lock", &["pyproject.toml"]),
    ("uv.lock", &["pyproject.toml"]),
    ("yarn.lock", &["package.json", ".yarnrc.yml"]),
];

/// Folders of vendored copies.
const COPIES: &[&str] =
    &["bower_components", "node_modules", "site-packages", "third_party", "vendor"];

/// Suffixes of the sources that generators read.
const SOURCES: &[&str] = &[
    ".avsc",
    ".capnp",
    ".fbs",
    ".g4",
    ".gql",
    ".graphql",
    ".idl",
    ".j2",
    ".prisma",
    ".proto",
    ".smithy",
    ".sql",
    ".tera",
    ".thrift",
    ".tmpl",
    ".tpl",
    ".wsdl",
    ".xsd",
    "openapi.json",
    "openapi.yaml",
    "openapi.yml",
    "swagger.json",
    "swagger.yaml",
    "buf.gen.yaml",
    "codegen.ts",
    "codegen.yml",
    "sqlc.yaml",
    "gqlgen.yml",
];

/// Markers by which a generator identifies itself.
const HEAD_LINES: usize = 10;

/// Words of a goal that is about dependencies.
const DEPENDENCIES: &[&str] = &[
    "bump",
    "dependabot",
    "dependenc",
    "lock",
    "package",
    "renovate",
    "update",
    "upgrade",
    "vendor",
    "version",
    "업데이트",
    "업그레이드",
    "의존성",
    "버전",
    "패키지",
];

pub(super) fn foreign_hits(input: &GuardInput<'_>, _: &ParsedFiles<'_>) -> Vec<Detection> {
    let found =
        input.changes.iter().filter_map(|change| Some((change, foreign_edit(change, input)?)));
    let to_hit = |(change, what): (&SourceChange, String)| Detection {
        code: CODE,
        severity: Severity::Warning,
        path: change.path.clone(),
        bytes: 0..0,
        message: what.clone(),
        anchor: what,
    };
    found.map(to_hit).collect()
}

fn foreign_edit(change: &SourceChange, input: &GuardInput<'_>) -> Option<String> {
    hook(change)
        .or_else(|| lock(change, input))
        .or_else(|| copy(change, input))
        .or_else(|| generated(change, input))
}

fn name(change: &SourceChange) -> &str {
    change.path.file_name()
}

fn fits(name: &str, pattern: &str) -> bool {
    pattern.strip_prefix('*').map_or(name == pattern, |end| name.ends_with(end))
}

fn is_about_dependencies(goal: &str) -> bool {
    let goal = goal.to_lowercase();
    DEPENDENCIES.iter().any(|word| goal.contains(word))
}

/// A git hook that was removed or does less.
fn hook(change: &SourceChange) -> Option<String> {
    let path = change.path.as_str();
    let is_hook = [".githooks/", ".husky/", ".git/hooks/", ".git-hooks/"]
        .iter()
        .any(|folder| path.contains(folder))
        || matches!(name(change), "lefthook.yml" | "lefthook.yaml");
    let before = change.before.as_deref().filter(|_| is_hook)?;
    let Some(after) = &change.after else {
        return Some("a git hook was removed: restore it, or let the user decide".to_owned());
    };
    let losses = weakened_commands(&parse_commands(before), &parse_commands(after));
    let what = losses.first().map(CommandLoss::to_string);
    let leaves =
        |text: &str| text.lines().any(|line| line.trim() == "exit 0" || line.trim() == "exit");
    let what = what.or_else(|| {
        (leaves(after) && !leaves(before)).then(|| "it now exits with success".to_owned())
    })?;
    Some(format!("a git hook checks less: {what}"))
}

/// A lock file without its manifest.
fn lock(change: &SourceChange, input: &GuardInput<'_>) -> Option<String> {
    let (_, manifests) = LOCKS.iter().find(|(lock, _)| *lock == name(change))?;
    change.before.as_ref()?;
    let is_made = input
        .changes
        .iter()
        .filter(|other| other.before != other.after)
        .any(|other| manifests.iter().any(|manifest| fits(name(other), manifest)));
    let is_meant = is_made || is_about_dependencies(input.goal) || is_merged(change);
    (!is_meant).then(|| {
        format!(
            "`{}` changed, but its manifest did not: let the package manager write it",
            name(change)
        )
    })
}

/// True if a merge conflict was resolved in the file.
fn is_merged(change: &SourceChange) -> bool {
    change.before.as_deref().is_some_and(|it| it.contains("<<<<<<< "))
}

/// A vendored copy that was edited in place.
fn copy(change: &SourceChange, input: &GuardInput<'_>) -> Option<String> {
    let (folders, _) = change.path.as_str().rsplit_once('/')?;
    let folder = folders.split('/').find(|part| COPIES.contains(part))?;
    let is_edited = change.before.is_some() && change.before != change.after;
    let is_updated = is_about_dependencies(input.goal)
        || input.changes.iter().any(|other| {
            LOCKS.iter().any(|(lock, manifests)| {
                fits(name(other), lock) || manifests.iter().any(|it| fits(name(other), it))
            }) || matches!(name(other), "modules.txt" | "METADATA" | "VERSION" | "README.chromium")
        });
    (is_edited && !is_updated)
        .then(|| format!("a copy in `{folder}` was edited: the next update will undo the edit"))
}

/// Generated code whose source did not change.
fn generated(change: &SourceChange, input: &GuardInput<'_>) -> Option<String> {
    let (before, after) = (change.before.as_deref()?, change.after.as_deref()?);
    let is_lock = LOCKS.iter().any(|(lock, _)| *lock == name(change));
    if is_lock || before == after || !is_generated(before.as_bytes()) || !has_generated_mark(before)
    {
        return None;
    }
    let own_source = |other: &SourceChange| {
        let is_source = SOURCES.iter().any(|end| name(other).ends_with(end));
        let says = |text: &Option<String>| {
            text.as_deref().is_some_and(|it| {
                it.contains("go:generate")
                    || before.contains(&format!("source: {}", other.path.as_str()))
            })
        };
        is_source
            || says(&other.after)
            || before.contains(&format!(" {}", other.path.as_str()))
            || name(other).contains("gen")
                && other.path != change.path
                && !is_generated(other.after.as_deref().unwrap_or_default().as_bytes())
    };
    let is_made = input.changes.iter().any(own_source)
        || head(before) != head(after) && is_generated(after.as_bytes());
    (!is_made).then(|| "generated code was edited by hand: change its source".to_owned())
}

/// True if the marker of generated code is in a comment, and not in code that searches for it.
fn has_generated_mark(text: &str) -> bool {
    head(text).iter().any(|line| is_generated(line.as_bytes()) && !line.contains(['`', '"']))
}

/// The lines that name the generator and its version.
fn head(text: &str) -> Vec<&str> {
    text.lines()
        .take(HEAD_LINES)
        .filter(|line| line.starts_with(['/', '#', ' ', '*', '-', '<']))
        .collect()
}
