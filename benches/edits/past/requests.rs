//! The sources of `requests`: Python written before type checkers. It must not know what is done
//! with them.

use std::path::Path;
use std::process::Command;

use crate::download::{Download, run};

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

/// Puts the sources into a project; `base` is where downloads are unpacked.
pub(crate) fn lay_requests(base: &Path, project: &Path) {
    let folder = REQUESTS.unpacked(base).join("requests-2.32.3");
    run(Command::new("cp").arg("-r").arg(folder.join(".")).arg(project));
}
