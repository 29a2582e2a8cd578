//! Projects without their packages: one gap with the remedy, and the real error.

use crate::servers::{findings, project, report, sensor};
use crate::support::Sandbox;

/// Checks one file: the gap of the sensor begins like this, and besides hints only these findings
/// remain.
fn check(sandbox: &Sandbox, file: &str, name: &str, gap: &str, expected: &[(&str, u64)]) {
    let code = if expected.is_empty() { 4 } else { 1 };
    let report = report(&sandbox.run(&["check", file, "--json"]), code);
    let reason = sensor(&report, name)["reason"].as_str().unwrap_or_default().to_owned();
    assert!(reason.starts_with(gap) && gap.is_empty() == reason.is_empty(), "{reason}");
    let mut found = findings(&report, name);
    // "Declared and never read": 61xx in TypeScript, without a code in pyright.
    found.retain(|(_, code, _)| !code.starts_with("61") && !code.is_empty());
    let expected: Vec<_> =
        expected.iter().map(|(code, line)| (file.to_owned(), (*code).to_owned(), *line)).collect();
    assert_eq!(found, expected, "{report:#}");
}

#[test]
fn python_without_its_requirements() {
    let sandbox = project();
    sandbox.write("requirements.txt", "not-there-at-all>=1\nnor_this==2\n");
    let imports = "import not_there_at_all\nfrom nor_this.part import thing\n";
    sandbox.write("app.py", &format!("{imports}number: int = 'one'\nprint(thing)\n"));
    let gap = "imports cannot be resolved: create a virtual environment";
    check(&sandbox, "app.py", "pyright", gap, &[("reportAssignmentType", 2)]);
    sandbox.write("app.py", &format!("{imports}print(thing)\n"));
    check(&sandbox, "app.py", "pyright", gap, &[]);
    // An import that no installation can fix.
    sandbox.write("app.py", "import misspelt_own_module\n");
    check(&sandbox, "app.py", "pyright", "", &[("reportMissingImports", 0)]);
}

const APP: &str = "import express from \"express\";\nimport { z } from \"./nope\";\n\
    const app = express();\napp.get(\"/\", (req, res) => res.send(z));\n\
    export const n: number = \"s\";\nconsole.log(process.env);\n";

fn typescript(typescript: &str) -> Sandbox {
    let sandbox = project();
    let packages = format!(
        "{{\"dependencies\": {{\"express\": \"^4\"}}, \
         \"devDependencies\": {{\"@types/node\": \"^20\"{typescript}}}}}"
    );
    sandbox.write("package.json", &packages);
    sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n");
    sandbox.write("app.ts", APP);
    sandbox
}

const NOT_INSTALLED: &str = "packages of package.json are not installed: npm install";
const LEFT: [(&str, u64); 2] = [("2307", 1), ("2322", 4)];

#[test]
fn typescript_without_its_packages() {
    check(&typescript(""), "app.ts", "typescript-language-server", NOT_INSTALLED, &LEFT);
}

#[test]
fn typescript_7_without_its_packages() {
    let sandbox = typescript(", \"typescript\": \"^7.0.0\"");
    check(&sandbox, "app.ts", "typescript-native", NOT_INSTALLED, &LEFT);
}

#[test]
fn typescript_whose_tsconfig_has_lost_its_base() {
    let sandbox = typescript("");
    sandbox.write("tsconfig.json", "{\"extends\": \"./base.json\"}\n");
    let gap = "tsconfig.json extends ./base.json, which cannot be found";
    check(&sandbox, "app.ts", "typescript-language-server", gap, &LEFT);
}

#[test]
fn typescript_outside_every_tsconfig() {
    let sandbox = project();
    sandbox.write("app.ts", APP);
    let gap = "imports cannot be resolved: add a tsconfig.json";
    check(&sandbox, "app.ts", "typescript-language-server", gap, &LEFT);
}
