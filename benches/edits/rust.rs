//! Rust: the sources of `heck`, a crate that this program is built from.

use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::package::{Filler, Outsider, Package, TextSwitch, copy, outside_path};
use super::servers::Server;
use super::stage::Stage;
use super::truth::{Truth, line_in, output_of};
use crate::download::{cargo, crate_folder, host_platform, run};
use crate::past::problems::{CodeProblem, ProblemSet};
use crate::raw_client::{RawClient, Start};

const MANIFEST: &str = "[package]\nname = \"heck\"\nversion = \"0.5.0\"\nedition = \"2021\"\n";

pub(crate) const PACKAGE: Package = Package {
    lay,
    folders: &["src"],
    endings: &[".rs"],
    edited: &[
        "src/lib.rs",
        "src/kebab.rs",
        "src/lower_camel.rs",
        "src/shouty_kebab.rs",
        "src/shouty_snake.rs",
        "src/snake.rs",
        "src/title.rs",
        "src/upper_camel.rs",
    ],
    breaks: &[
        TextSwitch {
            file: "src/lib.rs",
            from: "fn lowercase(s: &str, f: &mut fmt::Formatter)",
            to: "fn lowercase(s: &str, _: bool, f: &mut fmt::Formatter)",
        },
        TextSwitch {
            file: "src/lib.rs",
            from: "fn uppercase(s: &str, f: &mut fmt::Formatter)",
            to: "fn uppercase(s: &str, _: bool, f: &mut fmt::Formatter)",
        },
        TextSwitch {
            file: "src/lib.rs",
            from: "fn capitalize(s: &str, f: &mut fmt::Formatter)",
            to: "fn capitalize(s: &str, _: bool, f: &mut fmt::Formatter)",
        },
    ],
    configurations: &[TextSwitch {
        file: "Cargo.toml",
        from: "edition = \"2021\"\n",
        to: "edition = \"2021\"\n\n[lints.rust]\nunused_qualifications = \"deny\"\n",
    }],
    moves: &[("src/train.rs", "src/railway.rs")],
    filler: Filler { file: "src/filler/filler#.rs", text: "pub const FILLER_#: usize = #;\n" },
    outsider: Some(Outsider {
        file: "src/outsider.rs",
        text: "pub const OUTSIDER: usize = \"no\";\n",
    }),
    is_head: |line| {
        let line = line.trim_start();
        let line = line.strip_prefix("pub ").unwrap_or(line);
        // An error in a macro is reported at each of its uses, and the compiler reports one of them.
        line.starts_with("fn ") && line.ends_with('{') && !line.contains('$')
    },
    errors: &["    let _bench_#_: [u8; #] = ();", "    let _bench_#_ = nowhere_#;"],
};

pub(crate) fn lay(stage: &Stage<'_>) {
    fetch_crates_of_std();
    copy(&crate_folder("heck").join("src"), stage, "src", "rs");
    stage.write("Cargo.toml", MANIFEST);
    stage.write(".gitignore", "target/\nCargo.lock\n");
}

/// Downloads the crates that the standard library is built from: rust-analyzer reads its manifest
/// and calls the project faulty when cargo lacks one of them.
fn fetch_crates_of_std() {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output();
    let output = output.expect("rustc starts");
    let sysroot = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let manifest = sysroot.join("lib/rustlib/src/rust/library/Cargo.toml");
    if manifest.is_file() {
        let mut fetch = cargo();
        // The manifest uses features that a released cargo refuses otherwise.
        fetch.env("RUSTC_BOOTSTRAP", "1").args(["fetch", "--quiet", "--locked"]);
        fetch.args(["--target", &host_platform(), "--manifest-path"]);
        run(fetch.arg(manifest));
    }
}

/// The compiler, with the tests' code as well, as the language server runs it.
pub(crate) fn truth(stage: &Stage<'_>, server: &Server) -> Truth {
    Truth::of_errors(problems(stage, server))
}

/// The same with its warnings.
pub(crate) fn problems(stage: &Stage<'_>, _: &Server) -> ProblemSet {
    let folder = outside_path(stage, "target");
    let mut command = stage.command("cargo");
    command.args(["check", "--offline", "--all-targets", "--message-format", "json"]);
    let (stdout, _) = output_of(command.arg("--target-dir").arg(folder));
    let mut problems = ProblemSet::new();
    for line in stdout.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let message = &message["message"];
        let level = message["level"].as_str().unwrap_or_default();
        if !matches!(level, "error" | "warning") {
            continue;
        }
        let code = message["code"]["code"].as_str().unwrap_or_default();
        for span in message["spans"].as_array().into_iter().flatten() {
            if let (true, Some(path)) = (span["is_primary"] == true, span["file_name"].as_str()) {
                let line = line_in(&span["line_start"]).saturating_sub(1);
                let (path, code) = (path.to_owned(), code.to_owned());
                problems.insert(CodeProblem { path, line, code, is_error: level == "error" });
            }
        }
    }
    problems
}

/// The language server's own result for one file, from a process that has seen no earlier text. The compiler
/// stops at the first kind of error, so an error that it does not list may still be true.
pub(crate) fn afresh(stage: &Stage<'_>, server: &Server, path: &str) -> Truth {
    let mut client = RawClient::start(Start {
        command: server.command(stage).expect("a server that is not there is not played"),
        root: &stage.root,
        settings: Value::Null,
        options: json!({"checkOnSave": false, "cachePriming": {"enable": false}}),
        is_pulling: true,
        wants_progress: true,
        language_id: server.language_id,
        file: &stage.path(path),
        text: &stage.read(path),
    });
    assert!(client.wait_until_loaded(), "a new server loads the project");
    let mut truth = Truth::default();
    for item in client.report().as_array().into_iter().flatten() {
        let code = item["code"].as_str().unwrap_or_default();
        truth.add(path, line_in(&item["range"]["start"]["line"]), code);
    }
    truth
}
