//! The sources of `requests`: Python written before type checkers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use moai_base::hash::ContentHash;

use crate::download::{Download, lock_packages, package_cache, run};

/// The source distribution of a Python package with tests, written before type checkers.
const REQUESTS: Download = Download {
    file: "requests-2.32.3.tar.gz",
    hash: "348c62779e63bc631641881df5d4d0b0c562049b8a325cc4b0586da3f9ab6dac",
    fetch: &[
        "python3",
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        ":all:",
        "requests==2.32.3",
    ],
    unpack: &["tar", "-xzf"],
};

/// Imports of the package, and the first imports of its tests.
const DEPENDENCIES: [&str; 8] = [
    "certifi==2025.1.31",
    "charset-normalizer==3.4.1",
    "idna==3.10",
    "urllib3==2.3.0",
    "pytest==8.3.4",
    "chardet==5.2.0",
    "pysocks==1.7.1",
    "trustme==1.2.1",
];

/// Puts the sources into a project, with a virtual environment; `base` is where downloads are
/// unpacked.
pub(crate) fn lay_requests(base: &Path, project: &Path) {
    let folder = REQUESTS.unpacked(base).join("requests-2.32.3");
    run(Command::new("cp").arg("-r").arg(folder.join(".")).arg(project));
    fs::write(project.join(".gitignore"), "__pycache__/\n.venv/\n").expect("it is a folder");
    let environment = project.join(".venv");
    run(Command::new("python3").args(["-m", "venv", "--without-pip"]).arg(&environment));
    let packages = python_packages(&DEPENDENCIES);
    let libraries = fs::read_dir(environment.join("lib")).expect("venv has made it");
    for library in libraries.flatten() {
        let target = library.path().join("site-packages");
        run(Command::new("cp").arg("-r").arg(packages.join(".")).arg(target));
    }
}

/// A folder of the cache with these Python packages (`name==version`) and their dependencies.
fn python_packages(packages: &[&str]) -> PathBuf {
    let cache = package_cache();
    let _lock = lock_packages(&cache);
    let name =
        format!("python-{}", ContentHash::of_bytes(packages.join(" ").as_bytes()).short_hex());
    let folder = cache.join(&name);
    if !folder.is_dir() {
        let unfinished = cache.join(format!("{name}.part"));
        let mut pip = Command::new("python3");
        pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        pip.args(["--upgrade", "--target"]).arg(&unfinished).args(packages);
        run(&mut pip);
        fs::rename(&unfinished, &folder).expect("both lie in the cache folder");
    }
    folder
}
