//! Code bases in fixed versions, laid below a folder.

use std::path::Path;
use std::process::Command;

use crate::download::{Download, PACKAGING, RXJS, crate_folder, run};

pub(crate) struct CodeBase {
    pub(crate) name: &'static str,
    /// Puts the sources below a folder.
    lay: fn(&Path),
}

/// 500,000 lines of Python.
pub(crate) const DJANGO: CodeBase = CodeBase { name: "Django 5.2.8", lay: lay_django };

/// All of them, the larger ones behind.
pub(crate) const ALL: &[CodeBase] = &[
    CodeBase { name: "packaging 25.0", lay: lay_packaging },
    CodeBase { name: "RxJS 7.8.2", lay: lay_rxjs },
    CodeBase { name: "crates", lay: lay_crates },
    DJANGO,
    CodeBase { name: "Go's library", lay: lay_go },
];

impl CodeBase {
    /// Lays it below a project's folder.
    pub(crate) fn lay(&self, project: &Path) {
        (self.lay)(&project.join("code"));
    }
}

const DJANGO_SOURCES: Download = Download {
    file: "django-5.2.8.tar.gz",
    hash: "3d0e7f7c178f495e2d8966a78bda34a987ce9e8fa127cfef65efba7cb94524de",
    fetch: &[
        "python3",
        "-m",
        "pip",
        "download",
        "--quiet",
        "--no-deps",
        "--no-binary",
        ":all:",
        "Django==5.2.8",
    ],
    unpack: &["tar", "-xzf"],
};

fn lay_django(folder: &Path) {
    DJANGO_SOURCES.unpacked(folder);
}

fn lay_packaging(folder: &Path) {
    PACKAGING.unpacked(folder);
}

fn lay_rxjs(folder: &Path) {
    RXJS.unpacked(folder);
}

/// Crates that this program is built from.
fn lay_crates(folder: &Path) {
    for name in ["ast-grep-core", "clap_builder", "serde_json", "tokio"] {
        copy(&crate_folder(name), &folder.join(name));
    }
}

/// The library that comes with the first `go` on the path.
fn lay_go(folder: &Path) {
    let output = Command::new("go").args(["env", "GOROOT"]).output().expect("go starts");
    let root = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    copy(&Path::new(&root).join("src"), &folder.join("go"));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the folder is writable");
    run(Command::new("cp").arg("-rL").arg(from.join(".")).arg(to));
}
