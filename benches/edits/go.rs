//! Go: the packages `token`, `scanner` and `ast` of the toolchain's own `go/…`, copied into a module.
//! Their version is that of the toolchain.

use std::path::PathBuf;

use super::package::{Filler, Package, TextSwitch, has_ending, outside, outside_path};
use super::servers::Server;
use super::stage::Stage;
use super::truth::{Truth, output_of, place};

/// The copied packages; an import of one of them is an import of the copy.
const PACKAGES: [&str; 3] = ["token", "scanner", "ast"];

/// Type-checks every package of the module, broken imports or not: `go build` is silent about a
/// package that imports a broken one, and `go vet` ends at the first error.
const CHECKER: &str = include_str!("check.go.txt");

pub(crate) const PACKAGE: Package = Package {
    lay,
    folders: &PACKAGES,
    endings: &[".go"],
    edited: &[
        "token/position.go",
        "token/serialize.go",
        "scanner/errors.go",
        "scanner/scanner.go",
        "ast/filter.go",
        "ast/import.go",
        "ast/print.go",
        "ast/resolve.go",
        "ast/scope.go",
    ],
    breaks: &[
        TextSwitch {
            file: "token/token.go",
            from: "func Lookup(ident string) Token {",
            to: "func Lookup(ident string, strict bool) Token {",
        },
        TextSwitch {
            file: "token/position.go",
            from: "AddLine(offset int) {",
            to: "AddLine(offset int, strict bool) {",
        },
        TextSwitch {
            file: "token/position.go",
            from: "func (s *FileSet) Position(p Pos) (pos Position) {",
            to: "func (s *FileSet) Place(p Pos) (pos Position) {",
        },
        TextSwitch {
            file: "token/token.go",
            from: "func IsExported(name string) bool {",
            to: "func IsPublic(name string) bool {",
        },
    ],
    // The checker of the play takes no options.
    configurations: &[],
    moves: &[
        ("scanner/errors.go", "scanner/errorlist.go"),
        ("token/serialize.go", "token/transfer.go"),
    ],
    filler: Filler { file: "filler/filler#.go", text: "package filler\n\nconst Filler# = #\n" },
    outsider: None,
    is_head: |line| line.starts_with("func ") && line.ends_with('{'),
    errors: &["\tvar bench_#_ int = \"#\"; _ = bench_#_", "\tbench_#_ := nowhere_#; _ = bench_#_"],
};

fn lay(stage: &Stage<'_>) {
    let (root, _) = output_of(stage.command("go").args(["env", "GOROOT"]));
    for package in PACKAGES {
        let folder = PathBuf::from(root.trim()).join("src/go").join(package);
        for entry in std::fs::read_dir(folder).expect("Go comes with its sources").flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if !has_ending(&name, "go") || name.ends_with("_test.go") {
                continue;
            }
            let mut text = std::fs::read_to_string(entry.path()).expect("sources are text");
            for other in PACKAGES {
                text = text.replace(&format!("\"go/{other}\""), &format!("\"play/{other}\""));
            }
            stage.write(&format!("{package}/{name}"), &text);
        }
    }
    stage.write("go.mod", "module play\n\ngo 1.18\n");
    outside(stage, "check.go", CHECKER);
}

/// The toolchain's own type checker.
pub(crate) fn truth(stage: &Stage<'_>, _: &Server) -> Truth {
    let checker = outside_path(stage, "check.go");
    let mut command = stage.command("go");
    let (stdout, stderr) = output_of(command.args(["run"]).arg(checker).args(PACKAGES));
    assert!(stderr.is_empty(), "the checker works: {stderr}");
    let mut truth = Truth::default();
    for (path, line, _) in stdout.lines().filter_map(place) {
        truth.add(path, line, "");
    }
    truth
}
