//! Configurations that a server cannot read: it checks under its defaults, where the batch tool fails. And
//! configurations that it reads only once: in folders above the project, the user's, and bases.

use serde_json::Value;

use crate::servers::{check, findings, project_of};
use crate::support::{Sandbox, write_file};

/// Each of these configurations makes a Python file unmeasured; without them it is clean.
fn is_a_gap(server: &str, wrong: &[(&str, &str)]) {
    let sandbox = project_of("python", server);
    sandbox.write("a.py", "x: int = 1\n");
    for (configuration, text) in wrong {
        sandbox.write(configuration, text);
        let (code, report) = check(&sandbox, "a.py");
        assert_eq!(code, 4, "{server}, {configuration}, {text}: {report:#}");
        assert!(reason(&report, server).starts_with("it cannot read its configuration: "));
        std::fs::remove_file(sandbox.path(configuration)).expect("it was written");
    }
    let (code, report) = check(&sandbox, "a.py");
    assert_eq!((code, &*reason(&report, server)), (0, ""), "{report:#}");
}

fn reason(report: &Value, server: &str) -> String {
    let sensors = report["sensors"].as_array().expect("a report lists its sensors");
    let sensor = sensors.iter().find(|sensor| sensor["name"] == server).expect("the server");
    sensor["reason"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn one_that_pyright_cannot_read_is_a_gap() {
    let wrong = [
        ("pyrightconfig.json", "{\"strict\": ["),
        ("pyrightconfig.json", "{\"extends\": \"missing.json\"}"),
        ("pyproject.toml", "[tool.pyright"),
    ];
    is_a_gap("pyright", &wrong);
    is_a_gap("basedpyright", &wrong[..1]);
}

#[test]
fn one_that_ty_cannot_read_is_a_gap() {
    let wrong = [("ty.toml", "bogus = 1\n"), ("pyproject.toml", "[tool.ty")];
    is_a_gap("ty", &wrong);
}

#[test]
fn one_that_ruff_cannot_read_is_a_gap() {
    let wrong = [
        ("ruff.toml", "bogus = 1\n"),
        ("ruff.toml", "extend = \"missing.toml\"\n"),
        ("sub/ruff.toml", "bogus = 1\n"),
    ];
    is_a_gap("ruff", &wrong);
}

#[test]
fn ruff_follows_bases_and_configurations_outside_the_project() {
    let sandbox = project_of("python", "ruff");
    sandbox.write("a.py", "import os\n");
    let bugbear = "lint.select = [\"B\"]\n";
    let pyflakes = "lint.select = [\"F\"]\n";
    let has_finding = |sandbox: &Sandbox| {
        let (_, report) = check(sandbox, "a.py");
        assert_eq!(reason(&report, "ruff"), "", "{report:#}");
        !findings(&report, "ruff").is_empty()
    };
    let places = [
        (sandbox.path("base.toml"), "ruff.toml"),
        (sandbox.base().join("base.toml"), "ruff.toml"),
        (sandbox.root().parent().expect("a parent").join("ruff.toml"), ""),
        (sandbox.base().join("home").join(".config/ruff/ruff.toml"), ""),
    ];
    for (place, extending) in &places {
        write_file(place, bugbear);
        if !extending.is_empty() {
            sandbox.write(extending, &format!("extend = \"{}\"\n", place.display()));
        }
        assert!(!has_finding(&sandbox), "{}", place.display());
        write_file(place, pyflakes);
        assert!(has_finding(&sandbox), "{}", place.display());
        write_file(place, bugbear);
        assert!(!has_finding(&sandbox), "{}", place.display());
        std::fs::remove_file(place).expect("it was written");
        if !extending.is_empty() {
            std::fs::remove_file(sandbox.path(extending)).expect("it was written");
        }
    }
}

/// `tsc` reports these at the configuration or at no file.
#[test]
fn an_error_of_a_typescript_configuration_is_a_gap() {
    let options = |more: &str| format!("{{\"compilerOptions\": {{\"strict\": true{more}}}}}");
    let wrong = [options(", \"bogus\": 1"), options(", \"types\": [\"missing\"]")];
    for server in ["typescript-native", "typescript-language-server", "vtsls"] {
        let sandbox = project_of("typescript", server);
        sandbox.write("a.ts", "export const a: number = 1;\n");
        let tsconfig = sandbox.path("tsconfig.json");
        write_file(&tsconfig, &options(""));
        assert_eq!(check(&sandbox, "a.ts").0, 0);
        for text in &wrong {
            write_file(&tsconfig, text);
            let (code, report) = check(&sandbox, "a.ts");
            assert_eq!(code, 4, "{server}, {text}: {report:#}");
            let reason = reason(&report, server);
            assert!(reason.starts_with("tsconfig.json has an error: "), "{reason}");
            write_file(&tsconfig, &options(""));
            assert_eq!(check(&sandbox, "a.ts").0, 0);
        }
        write_file(&sandbox.path("tsconfig.base.json"), &wrong[0]);
        write_file(&tsconfig, "{\"extends\": \"./tsconfig.base.json\"}");
        let (code, report) = check(&sandbox, "a.ts");
        assert_eq!(code, 4, "{server}: {report:#}");
        // The compiler would overwrite a.js, but nothing is written here.
        sandbox.write("a.js", "export const b = 1;\n");
        write_file(&tsconfig, &options(", \"allowJs\": true"));
        let (code, report) = check(&sandbox, "a.ts");
        assert_eq!(code, 0, "{server}: {report:#}");
    }
}
