//! Python: the sources of `packaging`.

use std::process::Command;

use serde_json::Value;

use super::package::{Filler, Outsider, Package, TextSwitch, copy};
use super::servers::Server;
use super::stage::Stage;
use super::truth::{Truth, line_in, output_of};
use crate::download::PACKAGING;
use crate::past::problems::{CodeProblem, ProblemSet};

/// Two modules have older errors, more than a Stop lists, so the configuration leaves them out.
const CONFIGURATION: &str = "{\"include\": [\"packaging\"], \"typeCheckingMode\": \"standard\",\n \
     \"ignore\": [\"packaging/markers.py\", \"packaging/_parser.py\"]}\n";

pub(crate) const PACKAGE: Package = Package {
    lay,
    folders: &["packaging"],
    endings: &[".py"],
    edited: &[
        "packaging/_elffile.py",
        "packaging/_musllinux.py",
        "packaging/_structures.py",
        "packaging/requirements.py",
        "packaging/specifiers.py",
        "packaging/tags.py",
        "packaging/utils.py",
        "packaging/version.py",
    ],
    breaks: &[
        TextSwitch {
            file: "packaging/version.py",
            from: "    def __init__(self, version: str) -> None:",
            to: "    def __init__(self, version: str, strict: bool) -> None:",
        },
        TextSwitch {
            file: "packaging/version.py",
            from: "class _TrimmedRelease(Version):",
            to: "class _ShortRelease(Version):",
        },
        TextSwitch {
            file: "packaging/version.py",
            from: "    def base_version(self) -> str:",
            to: "    def base_version(self, strict: bool) -> str:",
        },
        TextSwitch {
            file: "packaging/tags.py",
            from: "def parse_tag(tag: str) -> frozenset[Tag]:",
            to: "def parse_tag(tag: str, strict: bool) -> frozenset[Tag]:",
        },
        TextSwitch {
            file: "packaging/_elffile.py",
            from: "class ELFFile:",
            to: "class ELFReader:",
        },
        TextSwitch {
            file: "packaging/_structures.py",
            from: "\nInfinity = InfinityType()",
            to: "\nInfinite = InfinityType()",
        },
    ],
    configurations: &[TextSwitch {
        file: "pyrightconfig.json",
        from: "\"standard\"",
        to: "\"standard\", \"reportUnnecessaryIsInstance\": \"error\"",
    }],
    moves: &[
        ("packaging/_elffile.py", "packaging/_elf.py"),
        ("packaging/_structures.py", "packaging/_ends.py"),
    ],
    filler: Filler { file: "packaging/filler/filler#.py", text: "FILLER_# = #\n" },
    outsider: Some(Outsider { file: "scratch/outsider.py", text: "outsider: int = \"no\"\n" }),
    is_head: |line| {
        let is_function = line.trim_start().starts_with("def ");
        is_function && line.ends_with(':')
    },
    errors: &[
        "    bench_#_: int = \"#\"",
        "    bench_#_ = nowhere_#",
        "    bench_#_: int = \"\"",
        "    bench_#_ = nowhere",
    ],
};

fn lay(stage: &Stage<'_>) {
    let sources = PACKAGING.unpacked(&stage.sandbox.base()).join("packaging");
    copy(&sources, stage, "packaging", "py");
    stage.write("pyrightconfig.json", CONFIGURATION);
}

/// The command line program of the language server's package.
pub(crate) fn truth(stage: &Stage<'_>, server: &Server) -> Truth {
    Truth::of_errors(problems(stage, server))
}

/// The same with its warnings.
pub(crate) fn problems(stage: &Stage<'_>, server: &Server) -> ProblemSet {
    let name = server.command.trim_end_matches("-langserver");
    let mut command: Command = stage.command(server.beside(name));
    let (stdout, _) = output_of(command.args(["--outputjson", "-p", "."]));
    let report: Value = serde_json::from_str(&stdout)
        .unwrap_or_else(|error| panic!("{name} --outputjson: {error}: {stdout}"));
    let mut problems = ProblemSet::new();
    for found in report["generalDiagnostics"].as_array().into_iter().flatten() {
        let path = found["file"].as_str().and_then(|path| stage.relative(path));
        let severity = found["severity"].as_str().unwrap_or_default();
        if let (Some(path), "error" | "warning") = (path, severity) {
            let line = line_in(&found["range"]["start"]["line"]);
            let code = found["rule"].as_str().unwrap_or_default().to_owned();
            problems.insert(CodeProblem { path, line, code, is_error: severity == "error" });
        }
    }
    problems
}
