//! Servers that are not installed by the program itself: fetched once, in pinned versions, into
//! the folder of downloads, and named to a project by its own `lsp.json`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use crate::support::{Sandbox, test_cache};

/// Runs an installer unless its result is there; one at a time, for all test processes.
fn install(folder: &Path, program: &Path, installers: &mut [Command]) {
    let lock = test_cache().join("tools.lock");
    fs::create_dir_all(test_cache()).expect("the cache folder is writable");
    let lock = File::create(lock).expect("the cache folder is writable");
    lock.lock().expect("a local file can be locked");
    if program.exists() {
        return;
    }
    fs::create_dir_all(folder).expect("the cache folder is writable");
    for installer in installers {
        let output = installer.output().expect("the installer starts");
        assert!(output.status.success(), "{installer:?}: {output:?}");
    }
    assert!(program.exists(), "{} was not installed", program.display());
}

/// A file below `node_modules` of an npm package in this version.
pub(crate) fn npm(package: &str, file: &str) -> PathBuf {
    let folder = test_cache().join("tools").join(package.replace('/', "_"));
    let program = folder.join("node_modules").join(file);
    let mut command = Command::new("npm");
    command.args(["install", "--no-audit", "--no-fund", "--prefix"]).arg(&folder).arg(package);
    install(&folder, &program, &mut [command]);
    program
}

/// A file of a virtual environment with a Python package in this version; `*` in the middle of the
/// path stands for the interpreter's version.
pub(crate) fn pip(package: &str, file: &str) -> PathBuf {
    let folder = test_cache().join("tools").join(package);
    let python = folder.join("bin/python");
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv"]).arg(&folder);
    let mut fetch = Command::new(&python);
    fetch.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]);
    let is_pattern = file.contains('*');
    let mark = folder.join(if is_pattern { "bin/python" } else { file });
    install(&folder, &mark, &mut [venv, fetch]);
    let Some((before, after)) = file.split_once('*') else { return folder.join(file) };
    let (parent, prefix) = before.rsplit_once('/').expect("a folder before the pattern");
    let entries = fs::read_dir(folder.join(parent)).expect("an environment has libraries");
    let mut names =
        entries.flatten().filter(|it| it.file_name().to_string_lossy().starts_with(prefix));
    let found = names.next().expect("an environment has one interpreter").path();
    found.join(after.trim_start_matches('/'))
}

/// A project in which files with this extension are measured by one server, with time enough for
/// every edit to be answered at once.
pub(crate) fn project_of(
    extension: &str,
    language: &str,
    id: &str,
    server: impl FnOnce(&Sandbox) -> Value,
) -> Sandbox {
    let sandbox = Sandbox::new();
    let own = json!({
        "servers": {id: server(&sandbox)},
        "languages": {language: {
            "name": language, "extensions": {extension: language}, "servers": [id],
        }},
    });
    sandbox.write(".moai/config/lsp.json", &own.to_string());
    let options = "ralph:\n  lsp: {inline_budget_ms: 10000}\n";
    sandbox.write(".moai/config/sections/ralph.yaml", options);
    sandbox
}
