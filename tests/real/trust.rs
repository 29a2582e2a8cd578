//! A project that is not trusted is measured without its own programs: real servers, hostile packages.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::servers::{findings, project, project_of, sensor};
use crate::support::Sandbox;

/// A TypeScript package whose compiler leaves a trace when a server loads it.
fn hostile_package(sandbox: &mut Sandbox) {
    sandbox.set("MOAI_RALPH_TRUST", "");
    let trace = sandbox.base().join("trace");
    let script = format!("require('fs').writeFileSync({:?}, 'ran')\n", trace.display().to_string());
    for module in ["tsserver.js", "typescript.js", "tsc.js", "tsserverlibrary.js", "_tsserver.js"] {
        sandbox.write(&format!("node_modules/typescript/lib/{module}"), &script);
    }
    let manifest = r#"{"name": "typescript", "version": "5.9.3", "main": "./lib/typescript.js"}"#;
    sandbox.write("node_modules/typescript/package.json", manifest);
    sandbox.write("tsconfig.json", r#"{"compilerOptions": {"plugins": [{"name": "evil"}]}}"#);
    sandbox.write("node_modules/evil/index.js", &script);
    sandbox.write("app.ts", "export const n: number = \"one\";\n");
}

fn measured_without_the_package(sandbox: &mut Sandbox, server: &str) {
    hostile_package(sandbox);
    let output = sandbox.run(&["check", "app.ts", "--json"]);
    let report = output.json();
    let codes: Vec<_> = findings(&report, server).into_iter().map(|(_, code, _)| code).collect();
    assert_eq!(codes, ["2322"], "{report:#}");
    assert!(!sandbox.base().join("trace").exists(), "a program of the project ran");
}

#[test]
fn typescript_language_server_uses_its_own_compiler() {
    measured_without_the_package(&mut project(), "typescript-language-server");
}

#[test]
fn vtsls_uses_its_own_compiler() {
    measured_without_the_package(&mut project_of("typescript", "vtsls"), "vtsls");
}

#[test]
fn pyright_goes_without_the_interpreter_of_the_project() {
    let mut sandbox = project();
    sandbox.set("MOAI_RALPH_TRUST", "");
    let trace = sandbox.base().join("trace");
    let script = format!("#!/bin/sh\necho ran >'{}'\nexec python3 \"$@\"\n", trace.display());
    for place in [".venv/bin/python", "venv/bin/python", "python", "python3"] {
        sandbox.write(place, &script);
        let mode = fs::Permissions::from_mode(0o755);
        fs::set_permissions(sandbox.path(place), mode).expect("the file is ours");
    }
    sandbox.write("pyrightconfig.json", r#"{"venvPath": ".", "venv": ".venv"}"#);
    // Python must not import these when a server starts it in the root.
    let import = format!("open({:?}, 'w').write('ran')\n", trace.display().to_string());
    for module in ["sitecustomize.py", "usercustomize.py", "json.py", "os.py"] {
        sandbox.write(module, &import);
    }
    sandbox.write("app.py", "n: int = 'one'\n");
    let report = sandbox.run(&["check", "app.py", "--json"]).json();
    let codes: Vec<_> = findings(&report, "pyright").into_iter().map(|(_, code, _)| code).collect();
    assert_eq!(codes, ["reportAssignmentType"], "{report:#}");
    assert!(sensor(&report, "pyright")["reason"].to_string().contains("project not trusted"));
    assert!(!trace.exists(), "a program of the project ran");
}
