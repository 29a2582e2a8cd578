//! The launcher: which program it starts, and that it is silent without one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{CHECKOUT, Output, Sandbox, finish, write_file};

/// A plugin folder that holds nothing but the launcher.
fn plugin(sandbox: &Sandbox, name: &str) -> PathBuf {
    let folder = sandbox.base().join(name);
    fs::create_dir_all(folder.join("bin")).expect("the sandbox is writable");
    let launcher = Path::new(CHECKOUT).join("bin/moai-ralph");
    fs::copy(launcher, folder.join("bin/moai-ralph")).expect("the launcher can be copied");
    folder
}

/// A program that prints its name and its arguments.
fn program(path: &Path, name: &str) {
    write_file(path, &format!("#!/bin/sh\necho \"{name} $*\"\n"));
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("the file is ours");
}

fn launch(sandbox: &Sandbox, plugin: &Path, path: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(plugin.join("bin/moai-ralph"));
    sandbox.prepare(&mut command);
    command.env_remove("MOAI_RALPH_BIN").env("PATH", path).args(arguments);
    finish(&mut command, "{}")
}

#[test]
fn without_a_program_hooks_are_silent_and_the_session_start_says_how_to_build() {
    let sandbox = Sandbox::new();
    let plugin = plugin(&sandbox, "plugin");
    for event in ["stop", "post-tool-use", "user-prompt-submit", "session-end"] {
        let output = launch(&sandbox, &plugin, "/usr/bin:/bin", &["hook", event]);
        assert_eq!(
            (output.code, output.stdout.as_str(), output.stderr.as_str()),
            (0, "", ""),
            "{event}"
        );
    }
    let start = launch(&sandbox, &plugin, "/usr/bin:/bin", &["hook", "session-start"]);
    assert_eq!(start.json()["hookSpecificOutput"]["hookEventName"], "SessionStart");
    let context = start.context();
    assert!(context.starts_with("[moai-ralph] not built yet"), "{context}");
    assert!(context.contains("cargo build --release"), "{context}");
    assert!(context.contains(&plugin.display().to_string()), "{context}");

    let other = launch(&sandbox, &plugin, "/usr/bin:/bin", &["check"]);
    assert_eq!((other.code, other.stdout.as_str()), (1, ""));
    assert!(other.stderr.contains("cargo build --release"), "{other:#?}");
}

#[test]
fn a_folder_name_with_quotes_does_not_break_the_hint() {
    let sandbox = Sandbox::new();
    let plugin = plugin(&sandbox, "odd \"folder\" \\ name");
    let start = launch(&sandbox, &plugin, "/usr/bin:/bin", &["hook", "session-start"]);
    assert!(start.context().contains("cargo build --release"), "{start:#?}");
}

#[test]
fn the_environment_comes_before_the_build_and_the_build_before_the_path() {
    let sandbox = Sandbox::new();
    let plugin = plugin(&sandbox, "plugin");
    let (named, built) = (sandbox.base().join("named"), plugin.join("target/release/moai-ralph"));
    program(&named, "named");
    program(&sandbox.base().join("elsewhere/moai-ralph"), "installed");
    let path = format!("{}:/usr/bin:/bin", sandbox.base().join("elsewhere").display());

    let from_path = launch(&sandbox, &plugin, &path, &["check", "--json"]);
    assert_eq!(from_path.stdout, "installed check --json\n");
    program(&built, "built");
    let from_build = launch(&sandbox, &plugin, &path, &["hook", "stop"]);
    assert_eq!(from_build.stdout, "built hook stop\n");

    let mut command = Command::new(plugin.join("bin/moai-ralph"));
    sandbox.prepare(&mut command);
    let output = finish(command.env("MOAI_RALPH_BIN", &named).args(["a", "b c"]), "");
    assert_eq!(output.stdout, "named a b c\n");
}

#[test]
fn a_named_program_that_is_missing_is_not_replaced_by_another_one() {
    let sandbox = Sandbox::new();
    let plugin = plugin(&sandbox, "plugin");
    program(&plugin.join("target/release/moai-ralph"), "built");
    let mut command = Command::new(plugin.join("bin/moai-ralph"));
    sandbox.prepare(&mut command);
    let missing = sandbox.base().join("missing");
    let output = finish(command.env("MOAI_RALPH_BIN", missing).arg("check"), "");
    assert_eq!((output.code, output.stdout.as_str()), (1, ""));
    assert!(output.stderr.contains("MOAI_RALPH_BIN names no program"), "{output:#?}");
}

#[test]
fn launchers_on_the_path_do_not_call_each_other() {
    let sandbox = Sandbox::new();
    let (one, two) = (plugin(&sandbox, "one"), plugin(&sandbox, "two"));
    let path = format!("{}/bin:{}/bin:/usr/bin:/bin", one.display(), two.display());
    let output = launch(&sandbox, &one, &path, &["hook", "stop"]);
    assert_eq!((output.code, output.stdout.as_str()), (0, ""));
    program(&sandbox.base().join("elsewhere/moai-ralph"), "installed");
    let path = format!("{path}:{}/elsewhere", sandbox.base().display());
    assert_eq!(launch(&sandbox, &one, &path, &["status"]).stdout, "installed status\n");
}
