//! TypeScript and JavaScript: packages that package.json declares and that are not installed, a
//! tsconfig.json whose base is missing or that has errors, a file that no tsconfig.json covers. Codes of TypeScript
//! 5.9 and 7.0 (`diagnosticMessages.json`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::{FaultFacts, NeededFacts, ProjectFault, first_quoted, matching_indices};
use crate::switched_off::{reported_configuration_fault, reported_project};
use moai_base::finding::Finding;
use moai_base::jsonc::parse_jsonc;

pub(super) const TYPESCRIPT_FACTS: NeededFacts = NeededFacts {
    names: &[
        "tsconfig.json",
        "jsconfig.json",
        "pnpm-lock.yaml",
        "yarn.lock",
        "bun.lock",
        "bun.lockb",
    ],
    manifests: &["package.json"],
    ..NeededFacts::NONE
};

/// A module was not found, or has no type information; the message quotes it.
const MODULE_CODES: [&str; 4] = ["2307", "2792", "2875", "7016"];
/// A name of Node is unknown.
const NODE_CODES: [&str; 2] = ["2580", "2591"];
/// A name of a test runner is unknown.
const RUNNER_CODES: [&str; 2] = ["2582", "2593"];
const RUNNERS: [&str; 5] = ["@types/jest", "@types/mocha", "jest", "mocha", "vitest"];
/// "Implicitly has an 'any' type": a consequence of unknown modules in callbacks and JSX.
const IMPLICIT_CODES: [&str; 3] = ["7006", "7026", "7031"];
/// "Do you need to change your target library?", JSX and module options: settings that a missing
/// base would have provided.
const OPTION_CODES: [&str; 9] =
    ["1259", "1378", "2550", "2568", "2583", "2585", "2792", "2802", "17004"];
const NODE_MODULES: [&str; 17] = [
    "assert",
    "buffer",
    "child_process",
    "crypto",
    "events",
    "fs",
    "http",
    "https",
    "net",
    "os",
    "path",
    "process",
    "stream",
    "timers",
    "url",
    "util",
    "zlib",
];

pub(super) fn typescript_fault(facts: &FaultFacts, found: &[Finding]) -> Option<ProjectFault> {
    if facts.has_broken_config {
        let detail = "tsconfig.json cannot be read, so its options do not count";
        return Some(ProjectFault::new(detail, "fix its JSON", []));
    }
    if let Some(base) = &facts.missing_base {
        let explained = matching_indices(found, |one| {
            OPTION_CODES.contains(&one.code.as_str()) || is_missing_package(facts, one)
        });
        let detail = format!("tsconfig.json extends {base}, which cannot be found");
        let remedy =
            if base.starts_with('.') { "fix \"extends\"".to_owned() } else { install(facts) };
        return Some(ProjectFault::new(&detail, &remedy, explained));
    }
    let missing = matching_indices(found, |one| is_missing_package(facts, one));
    let implied = matching_indices(found, |one| IMPLICIT_CODES.contains(&one.code.as_str()));
    if !missing.is_empty() {
        let detail = "packages of package.json are not installed";
        return Some(ProjectFault::new(
            detail,
            &install(facts),
            missing.into_iter().chain(implied),
        ));
    }
    if let Some(fault) = reported_configuration_fault(found) {
        let is_missing = first_quoted(fault).is_some_and(|name| {
            let types = format!("@types/{name}");
            facts.missing_packages.contains(name) || facts.missing_packages.contains(&types)
        });
        let remedy =
            if is_missing { install(facts) } else { "correct the configuration".to_owned() };
        return Some(ProjectFault::new(fault, &remedy, []));
    }
    let is_inferred =
        reported_project(found) == Some("") || !facts.has_any(&["tsconfig.json", "jsconfig.json"]);
    let guessed = matching_indices(found, |one| {
        let code = one.code.as_str();
        NODE_CODES.contains(&code)
            || MODULE_CODES.contains(&code)
                && first_quoted(&one.message).is_none_or(|name| !name.starts_with(['.', '/']))
    });
    (is_inferred && !guessed.is_empty()).then(|| {
        let remedy = "add a tsconfig.json or jsconfig.json that covers the file";
        ProjectFault::new("imports cannot be resolved", remedy, guessed.into_iter().chain(implied))
    })
}

/// True if installing the missing packages would have prevented this finding.
fn is_missing_package(facts: &FaultFacts, finding: &Finding) -> bool {
    let missing = &facts.missing_packages;
    let code = finding.code.as_str();
    if MODULE_CODES.contains(&code) {
        return first_quoted(&finding.message).is_some_and(|module| {
            let package = package_of_module(module);
            let types = format!("@types/{}", package.trim_start_matches('@').replace('/', "__"));
            let is_of_node = module.starts_with("node:") || NODE_MODULES.contains(&package);
            missing.contains(package)
                || missing.contains(&types)
                || is_of_node && missing.contains("@types/node")
        });
    }
    NODE_CODES.contains(&code) && missing.contains("@types/node")
        || RUNNER_CODES.contains(&code) && RUNNERS.iter().any(|runner| missing.contains(*runner))
}

/// `@scope/name` of `@scope/name/part`, `name` of `name/part`.
#[must_use]
pub fn package_of_module(module: &str) -> &str {
    let segments = if module.starts_with('@') { 2 } else { 1 };
    let end = module.match_indices('/').nth(segments - 1).map_or(module.len(), |(at, _)| at);
    &module[..end]
}

fn install(facts: &FaultFacts) -> String {
    let by_lock = [
        ("pnpm-lock.yaml", "pnpm install"),
        ("yarn.lock", "yarn install"),
        ("bun.lock", "bun install"),
        ("bun.lockb", "bun install"),
    ];
    let known = by_lock.into_iter().find(|(lock, _)| facts.names.contains(*lock));
    known.map_or("npm install", |(_, command)| command).to_owned()
}

/// The packages that a package.json declares; empty for an unreadable one.
#[must_use]
pub fn declared(manifest: &str) -> BTreeSet<String> {
    let manifest: Value = serde_json::from_str(manifest).unwrap_or_default();
    let kinds = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"];
    let declarations = kinds.iter().filter_map(|kind| manifest[kind].as_object());
    declarations.flat_map(|map| map.keys().cloned()).collect()
}

/// The bases of a tsconfig.json: paths, or files of packages. Comments and trailing commas are
/// allowed.
#[must_use]
pub fn extended_configs(config: &str) -> Vec<String> {
    let config = parse_jsonc(config).ok().flatten().unwrap_or_default();
    match &config["extends"] {
        Value::String(base) => vec![base.clone()],
        Value::Array(bases) => bases.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// True if a tsconfig.json is JSON with comments and trailing commas. TypeScript uses the readable
/// part of a broken one, and does not report that in the files it covers.
#[must_use]
pub fn is_readable(config: &str) -> bool {
    parse_jsonc(config).is_ok()
}
