//! Rust: the sources of `heck`, a crate that this program is built from.

use serde_json::Value;

use super::package::{Break, Package, copy, outside_path};
use super::servers::Server;
use super::stage::Stage;
use super::truth::{Truth, line_in, output_of};
use crate::download::crate_folder;

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
        Break {
            file: "src/lib.rs",
            from: "fn lowercase(s: &str, f: &mut fmt::Formatter)",
            to: "fn lowercase(s: &str, _: bool, f: &mut fmt::Formatter)",
        },
        Break {
            file: "src/lib.rs",
            from: "fn uppercase(s: &str, f: &mut fmt::Formatter)",
            to: "fn uppercase(s: &str, _: bool, f: &mut fmt::Formatter)",
        },
        Break {
            file: "src/lib.rs",
            from: "fn capitalize(s: &str, f: &mut fmt::Formatter)",
            to: "fn capitalize(s: &str, _: bool, f: &mut fmt::Formatter)",
        },
    ],
    moves: &[("src/train.rs", "src/railway.rs")],
    is_head: |line| {
        let line = line.trim_start();
        let line = line.strip_prefix("pub ").unwrap_or(line);
        // What is wrong in a macro is wrong at each of its uses, and the compiler names one.
        line.starts_with("fn ") && line.ends_with('{') && !line.contains('$')
    },
    errors: &["    let _bench_#_: [u8; #] = ();", "    let _bench_#_ = nowhere_#;"],
};

fn lay(stage: &Stage<'_>) {
    copy(&crate_folder("heck").join("src"), stage, "src", "rs");
    stage.write("Cargo.toml", MANIFEST);
    stage.write(".gitignore", "target/\nCargo.lock\n");
}

/// The compiler, with the tests' code as well, as the language server runs it.
pub(crate) fn truth(stage: &Stage<'_>, _: &Server) -> Truth {
    let folder = outside_path(stage, "target");
    let mut command = stage.command("cargo");
    command.args(["check", "--offline", "--all-targets", "--message-format", "json"]);
    let (stdout, _) = output_of(command.arg("--target-dir").arg(folder));
    let mut truth = Truth::default();
    for line in stdout.lines() {
        let Ok(message) = serde_json::from_str::<Value>(line) else { continue };
        let message = &message["message"];
        if message["level"] != "error" {
            continue;
        }
        let code = message["code"]["code"].as_str().unwrap_or_default();
        for span in message["spans"].as_array().into_iter().flatten() {
            if let (true, Some(path)) = (span["is_primary"] == true, span["file_name"].as_str()) {
                truth.add(path, line_in(&span["line_start"]).saturating_sub(1), code);
            }
        }
    }
    truth
}
