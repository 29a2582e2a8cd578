//! C: the sources of zlib, which a crate that this program is built from carries along.

use serde_json::json;

use super::package::{Filler, Outsider, Package, TextSwitch, has_ending};
use super::servers::Server;
use super::stage::Stage;
use super::truth::{Truth, output_of};
use crate::download::crate_folder;

const UNITS: [&str; 12] = [
    "adler32.c",
    "compress.c",
    "deflate.c",
    "gzclose.c",
    "gzlib.c",
    "gzread.c",
    "gzwrite.c",
    "inffast.c",
    "inflate.c",
    "inftrees.c",
    "trees.c",
    "uncompr.c",
];

pub(crate) const PACKAGE: Package = Package {
    lay,
    folders: &["zlib"],
    endings: &[".c", ".h"],
    // Without functions that a preprocessor condition leaves out.
    edited: &["zlib/adler32.c", "zlib/gzread.c", "zlib/gzwrite.c", "zlib/inflate.c"],
    breaks: &[
        TextSwitch {
            file: "zlib/inffast.h",
            from: "inflate_fast(z_streamp strm, unsigned start);",
            to: "inflate_fast(z_streamp strm, unsigned start, int strict);",
        },
        TextSwitch {
            file: "zlib/deflate.h",
            from: "_tr_init(deflate_state *s);",
            to: "_tr_init(deflate_state *s, int strict);",
        },
        TextSwitch {
            file: "zlib/deflate.h",
            from: "_tr_align(deflate_state *s);",
            to: "_tr_align(deflate_state *s, int strict);",
        },
    ],
    configurations: &[TextSwitch {
        file: "compile_commands.json",
        from: "-DHAVE_UNISTD_H",
        to: "-DNO_GZIP",
    }],
    moves: &[("zlib/inffast.h", "zlib/inffast_.h")],
    filler: Filler { file: "zlib/filler/filler#.c", text: "int filler_# = #;\n" },
    outsider: Some(Outsider { file: "scratch/outsider.c", text: "int *outsider = 1.5;\n" }),
    is_head: |line| {
        let is_function = line.starts_with(|first: char| first.is_ascii_alphabetic());
        is_function && line.ends_with(") {")
    },
    errors: &["    int (*bench_#_)[#] = 1.5;", "    int bench_#_ = nowhere_#;"],
};

fn lay(stage: &Stage<'_>) {
    let sources = crate_folder("libz-sys").join("src/zlib");
    for entry in std::fs::read_dir(&sources).expect("the crate carries zlib").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if UNITS.contains(&name.as_str()) || has_ending(&name, "h") {
            let text = std::fs::read_to_string(entry.path()).expect("sources are text");
            stage.write(&format!("zlib/{name}"), &text);
        }
    }
    let unit = |name: &&str| {
        json!({
            "directory": stage.root, "file": format!("zlib/{name}"),
            "arguments": ["cc", "-DHAVE_UNISTD_H", "-c", format!("zlib/{name}")],
        })
    };
    let units: Vec<_> = UNITS.iter().map(unit).collect();
    stage.write("compile_commands.json", &json!(units).to_string());
    stage.write(".gitignore", ".cache/\n");
}

/// clangd's own batch mode, one process per file, headers included, because clang may be missing.
pub(crate) fn truth(stage: &Stage<'_>, server: &Server) -> Truth {
    let program = server.program().expect("a server that is not there is not played");
    let mut truth = Truth::default();
    for path in stage.files_in("zlib") {
        let mut command = stage.command(&program);
        let (_, log) = output_of(command.arg(format!("--check={path}")).arg("--check-locations=0"));
        for line in log.lines().filter(|line| line.starts_with('E')) {
            if let Some((code, at)) = error(line) {
                truth.add(&path, at, code);
            }
        }
    }
    truth
}

/// `E[time] [code] Line 12: message`.
fn error(line: &str) -> Option<(&str, u32)> {
    let (_, rest) = line.split_once("] [")?;
    let (code, rest) = rest.split_once("] Line ")?;
    let (line, _) = rest.split_once(':')?;
    Some((code, line.parse::<u32>().ok()?.checked_sub(1)?))
}
