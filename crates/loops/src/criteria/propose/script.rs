//! JavaScript and TypeScript: the scripts of `package.json`, run by the package manager of the lock
//! file, else the tool that has a configuration. Nothing is downloaded: a tool that is not
//! installed stays unmeasured.

use serde_json::Value;

use super::{CheckCriterion, CheckProposals};

/// Names of scripts, the best first.
const SCRIPTS: [(CheckCriterion, &[&str]); 4] = [
    (CheckCriterion::TestPass, &["test"]),
    (CheckCriterion::BuildSuccess, &["build"]),
    (CheckCriterion::LintClean, &["lint", "lint:check"]),
    (CheckCriterion::TypeCheck, &["typecheck", "type-check", "check-types", "types"]),
];

pub(super) fn propose(found: &mut CheckProposals<'_>) {
    if !found.has("package.json") {
        return;
    }
    let manifest: Value = serde_json::from_str(found.text("package.json")).unwrap_or_default();
    for (criterion, names) in SCRIPTS {
        let script = |name: &&str| manifest.get("scripts")?.get(*name)?.as_str();
        let best = names.iter().find_map(|name| Some((*name, script(name)?)));
        if let Some((name, text)) = best.filter(|(_, text)| is_of_use(text)) {
            let line = run_line(found, name, text);
            found.add(criterion, &line, "package.json", &format!("has a script {name}"));
        }
    }
    if !found.has_criterion(CheckCriterion::TypeCheck) && is_checkable(found.text("tsconfig.json"))
    {
        let line = tool(found, "tsc --noEmit");
        found.add(CheckCriterion::TypeCheck, &line, "tsconfig.json", "is there");
    }
    if !found.has_criterion(CheckCriterion::LintClean) {
        lint(found);
    }
}

/// `npm init` writes a test script that only prints that there is none.
fn is_of_use(script: &str) -> bool {
    !script.trim().is_empty() && !script.contains("no test specified")
}

fn manager(found: &CheckProposals<'_>) -> &'static str {
    let locks = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
    ];
    locks.iter().find(|(lock, _)| found.has(lock)).map_or("npm", |(_, manager)| *manager)
}

fn run_line(found: &CheckProposals<'_>, name: &str, script: &str) -> String {
    let manager = manager(found);
    let line = match (manager, name) {
        ("npm" | "pnpm" | "yarn", "test") => format!("{manager} test"),
        _ => format!("{manager} run {name}"),
    };
    // It would wait for changes of files and never end.
    let is_watching = script.contains("react-scripts test") && !script.contains("--watchAll");
    match manager {
        _ if !is_watching => line,
        "npm" => format!("{line} -- --watchAll=false"),
        _ => format!("{line} --watchAll=false"),
    }
}

/// True if `tsc` would check anything with this file: one that only has references checks nothing
/// and passes.
fn is_checkable(text: &str) -> bool {
    if text.trim().is_empty() {
        return false;
    }
    let plain: String = text.chars().filter(|character| !character.is_whitespace()).collect();
    !(plain.contains("\"references\":[") && plain.contains("\"files\":[]"))
}

fn lint(found: &mut CheckProposals<'_>) {
    let eslint = found.starting("eslint.config.").or_else(|| found.starting(".eslintrc"));
    if let Some(source) = eslint.map(str::to_owned) {
        let line = tool(found, "eslint .");
        found.add(CheckCriterion::LintClean, &line, &source, "configures eslint");
    } else if let Some(source) = found.first(&["biome.json", "biome.jsonc"]) {
        let line = tool(found, "biome lint .");
        found.add(CheckCriterion::LintClean, &line, source, "configures Biome");
    }
}

/// An installed tool; Plug'n'Play has no folder of programs.
fn tool(found: &CheckProposals<'_>, line: &str) -> String {
    if found.has(".pnp.cjs") {
        format!("yarn run {line}")
    } else {
        format!("node_modules/.bin/{line}")
    }
}
