//! Installs the pinned servers once for all tests, and reads reports.

use std::fs::{self, File};
use std::path::PathBuf;

use serde_json::Value;

use crate::support::{Output, Sandbox, test_cache};

/// Data folder with these servers, installed on first use.
fn installed(names: &[&str]) -> PathBuf {
    let data = test_cache().join("data");
    fs::create_dir_all(&data).expect("the cache folder is writable");
    let lock = File::create(test_cache().join("data.lock")).expect("the cache folder is writable");
    // Every test runs in its own process and any may be the first; installing twice does no work.
    lock.lock().expect("a local file can be locked");
    let sandbox = Sandbox::with_data(&data);
    let output = sandbox.run(&[&["server", "install"], names].concat());
    assert_eq!(output.code, 0, "{output:#?}");
    data
}

/// A project that uses the installed servers of Python and TypeScript.
pub(crate) fn project() -> Sandbox {
    project_in(&["python", "typescript"])
}

/// A project whose files of one language are measured by this server of the catalogue, with a time limit that
/// every edit meets.
pub(crate) fn project_of(language: &str, server: &str) -> Sandbox {
    let sandbox = Sandbox::with_data(&installed(&[server]));
    let options = format!(
        "ralph:\n  lsp:\n    inline_budget_ms: 10000\n    choose: {{{language}: [{server}]}}\n"
    );
    sandbox.write(".moai/config/sections/ralph.yaml", &options);
    sandbox
}

/// A project that uses the installed servers of these languages.
pub(crate) fn project_in(languages: &[&str]) -> Sandbox {
    Sandbox::with_data(&installed(languages))
}

/// Exit code of a check of one file, which no passing gap may hide.
pub(crate) fn check(sandbox: &Sandbox, file: &str) -> (i32, Value) {
    let output = sandbox.run(&["check", file, "--json"]);
    (output.code, output.json())
}

/// The sensor of this name in a report.
pub(crate) fn sensor(report: &Value, name: &str) -> Value {
    let sensors = report["sensors"].as_array().expect("a report lists its sensors");
    let found = sensors.iter().find(|sensor| sensor["name"] == name);
    found.unwrap_or_else(|| panic!("no sensor {name}: {report:#}")).clone()
}

/// `(path, code, 0-based line)` of every finding of one sensor, in the order of the report.
pub(crate) fn findings(report: &Value, name: &str) -> Vec<(String, String, u64)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let findings = report["findings"].as_array().expect("a report lists its findings");
    findings
        .iter()
        .filter(|finding| finding["sensor"] == name)
        .map(|finding| {
            let line = finding["range"]["start"]["line"].as_u64().unwrap_or(u64::MAX);
            (text(&finding["path"]), text(&finding["code"]), line)
        })
        .collect()
}

/// A report with this exit code.
pub(crate) fn report(output: &Output, code: i32) -> Value {
    assert_eq!(output.code, code, "{output:#?}");
    let report = output.json();
    assert_eq!(report["schema"], "moai-ralph/report@1");
    report
}
