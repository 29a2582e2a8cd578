//! Downloads of the tests themselves, on a machine that never built this project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::download::{cargo, crate_folder_by, host_platform, run};

/// Cargo with a separate folder for downloads.
fn cargo_in(home: &Path) -> Command {
    let mut command = cargo();
    command.env("CARGO_HOME", home);
    command
}

/// An empty folder for cargo's downloads. The user's configuration stays, because a machine may need it to
/// reach its registry.
fn empty_cargo_home() -> TempDir {
    let folder = TempDir::with_prefix("cargo-home-").expect("a temporary folder can be made");
    let user = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let user = user.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let configuration = user.map(|home| home.join("config.toml"));
    if let Some(file) = configuration.filter(|file| file.is_file()) {
        fs::copy(file, folder.path().join("config.toml")).expect("the folder is writable");
    }
    folder
}

#[test]
fn sources_of_a_crate_need_no_more_than_a_build_on_this_platform_downloads() {
    let home = empty_cargo_home();
    let host = host_platform();
    run(cargo_in(home.path()).args(["fetch", "--quiet", "--locked", "--target", &host]));
    let mut offline = cargo_in(home.path());
    offline.env("CARGO_NET_OFFLINE", "true");
    let sources = crate_folder_by(offline, "heck");
    assert!(sources.starts_with(home.path()), "{}", sources.display());
    assert!(sources.join("src/lib.rs").is_file(), "{}", sources.display());
}
