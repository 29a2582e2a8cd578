//! Files of package registries, kept between runs.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use moai_base::hash::ContentHash;

use crate::support::{CHECKOUT, test_cache};

/// A file of a package registry, downloaded once by the registry's own client.
#[derive(Debug)]
pub(crate) struct Download {
    pub(crate) file: &'static str,
    /// BLAKE3 of the file.
    pub(crate) hash: &'static str,
    /// Client and arguments; run in the folder that the file shall be in.
    pub(crate) fetch: &'static [&'static str],
    /// Unpacker and arguments before the name of the file.
    pub(crate) unpack: &'static [&'static str],
}

impl Download {
    /// Unpacks it into a separate folder below this one.
    pub(crate) fn unpacked(&self, base: &Path) -> PathBuf {
        let cache = package_cache();
        let _lock = lock_packages(&cache);
        let file = cache.join(self.file);
        if !file.is_file() {
            run(Command::new(self.fetch[0]).args(&self.fetch[1..]).current_dir(&cache));
        }
        let bytes = fs::read(&file).expect("the client has put it there");
        assert_eq!(ContentHash::of_bytes(&bytes).to_string(), self.hash, "{}", self.file);
        let folder = base.join("unpacked").join(self.file);
        fs::create_dir_all(&folder).expect("the sandbox is writable");
        let mut command = Command::new(self.unpack[0]);
        command.args(&self.unpack[1..]).arg(&file).current_dir(&folder);
        if self.unpack[0] == "python3" {
            command.arg(".");
        }
        run(&mut command);
        folder
    }
}

/// The folder of downloads from registries.
pub(crate) fn package_cache() -> PathBuf {
    let cache = test_cache().join("packages");
    fs::create_dir_all(&cache).expect("the cache folder is writable");
    cache
}

/// Every test runs in its own process, and two of them may need the same file.
pub(crate) fn lock_packages(cache: &Path) -> fs::File {
    let lock = fs::File::create(cache.join("lock")).expect("the cache folder is writable");
    lock.lock().expect("a local file can be locked");
    lock
}

/// Runs a command that must succeed.
pub(crate) fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// Cargo in this checkout: the one that runs the tests, else the one on PATH.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(CHECKOUT);
    command
}

/// The platform that cargo builds for by default.
pub(crate) fn host_platform() -> String {
    let output = cargo().arg("-vV").output().expect("cargo starts");
    let text = String::from_utf8_lossy(&output.stdout);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("cargo names the platform it runs on").to_owned()
}

/// The unpacked sources of a crate that this program is built from, in the version of `Cargo.lock`.
pub(crate) fn crate_folder(name: &str) -> PathBuf {
    crate_folder_by(cargo(), name)
}

/// The same, found by a cargo with its own settings.
pub(crate) fn crate_folder_by(mut cargo: Command, name: &str) -> PathBuf {
    // Without a platform cargo asks for the crates of all of them, which no build downloads.
    cargo.args(["metadata", "--locked", "--format-version", "1", "--filter-platform"]);
    let output = cargo.arg(host_platform()).output().expect("cargo starts");
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
            panic!("cargo does not describe this package: {error}: {output:?}")
        });
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| package["name"] == name);
    let manifest = package.and_then(|it| it["manifest_path"].as_str());
    let manifest = manifest.unwrap_or_else(|| panic!("{name} is a dependency"));
    Path::new(manifest).parent().expect("a manifest lies in a folder").to_path_buf()
}

/// The wheel of a small Python package.
pub(crate) const PACKAGING: Download = Download {
    file: "packaging-25.0-py3-none-any.whl",
    hash: "ea34d75f9b713cf96f0a28d66cb0f2f6261773e5249e2858b34fdd5ff605d225",
    fetch: &[
        "python3",
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--only-binary",
        ":all:",
        "packaging==25.0",
    ],
    unpack: &["python3", "-m", "zipfile", "-e"],
};

/// A package of TypeScript that ships its sources.
pub(crate) const RXJS: Download = Download {
    file: "rxjs-7.8.2.tgz",
    hash: "70274ec0674c8b33bcf6ecbcdbf72c052ce4fc9ca3eeabbc0535932ea377dd7b",
    fetch: &["npm", "pack", "--silent", "rxjs@7.8.2"],
    unpack: &["tar", "-xzf"],
};
