//! The projects with a past, one row each.

use super::problems::ProblemSet;
use super::requests::lay_requests;
use crate::download::RXJS;
use crate::play::package::copy;
use crate::play::servers::Server;
use crate::play::stage::Stage;
use crate::play::{python, rust, typescript};

/// A name inside one function, and its replacement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LocalName {
    pub(crate) file: &'static str,
    /// A part of the line that begins the function.
    pub(crate) function: &'static str,
    pub(crate) name: &'static str,
    pub(crate) other: &'static str,
}

/// Syntax of a language for inserted code; `%` is replaced by a number.
#[derive(Debug)]
pub(crate) struct WrittenStyle {
    /// True if a function begins at this line.
    pub(crate) is_head: fn(&str) -> bool,
    /// Text before the name of a function that other files can use.
    pub(crate) exports: &'static [&'static str],
    /// Text after the name of a function where it is used; empty for any text.
    pub(crate) use_mark: &'static str,
    pub(crate) documentation: &'static str,
    /// True if documentation is below the head.
    pub(crate) is_documented_inside: bool,
    pub(crate) comment: &'static str,
    /// A correct function for the end of a file.
    pub(crate) function: &'static str,
    /// Functions that are wrong.
    pub(crate) wrong: &'static [&'static str],
    /// A first parameter that no caller passes.
    pub(crate) parameter: &'static str,
}

#[derive(Debug)]
pub(crate) struct PastProject {
    pub(crate) name: &'static str,
    /// The row of its server.
    pub(crate) server: &'static str,
    pub(crate) lay: fn(&Stage<'_>),
    /// Folders with sources that are edited, and how their files end.
    pub(crate) folders: &'static [&'static str],
    pub(crate) endings: &'static [&'static str],
    pub(crate) style: &'static WrittenStyle,
    pub(crate) locals: &'static [LocalName],
    /// Findings of a batch tool in the whole project.
    pub(crate) problems: fn(&Stage<'_>, &Server) -> ProblemSet,
    /// Findings that the project must have, so that there is a past.
    pub(crate) past_min: usize,
}

const PYTHON: WrittenStyle = WrittenStyle {
    is_head: |line| line.trim_start().starts_with("def ") && line.ends_with("):"),
    exports: &["def "],
    use_mark: "(",
    documentation: "\"\"\"Note %.\"\"\"",
    is_documented_inside: true,
    comment: "# Note %.",
    function: "\n\ndef note_%(value: int) -> int:\n    \"\"\"Note %.\"\"\"\n    return value + %\n",
    wrong: &[
        "\n\ndef note_%() -> int:\n    return \"%\"\n",
        "\n\ndef note_%() -> int:\n    return len(%)\n",
        "\n\ndef note_%() -> int:\n    return nowhere_%\n",
    ],
    parameter: "extra_%, ",
};

const TYPESCRIPT: WrittenStyle = WrittenStyle {
    is_head: |line| line.starts_with("export function ") && line.ends_with('{'),
    exports: &["export function "],
    use_mark: "(",
    documentation: "/** Note %. */",
    is_documented_inside: false,
    comment: "// Note %.",
    function: "\n/** Note %. */\nexport function note%(value: number): number {\n  return value + %;\n}\n",
    wrong: &[
        "\nexport function note%(): number {\n  return \"%\";\n}\n",
        "\nexport function note%(): number {\n  return Math.abs(\"%\");\n}\n",
        "\nexport function note%(): number {\n  return nowhere%;\n}\n",
    ],
    parameter: "extra%: Date, ",
};

const RUST: WrittenStyle = WrittenStyle {
    is_head: |line| {
        let words = line.trim_start();
        let words = words.strip_prefix("pub ").unwrap_or(words);
        words.starts_with("fn ") && line.ends_with('{') && !line.contains('$')
    },
    exports: &["fn ", "pub fn "],
    use_mark: "",
    documentation: "/// Note %.",
    is_documented_inside: false,
    comment: "// Note %.",
    function: "\n/// Note %.\nfn note_%(value: u32) -> u32 {\n    value + %\n}\n\nconst _: fn(u32) -> u32 = note_%;\n",
    wrong: &[
        "\nfn note_%() -> usize {\n    \"%\"\n}\n",
        "\nfn note_%() -> usize {\n    str::len(%)\n}\n",
        "\nfn note_%() -> usize {\n    nowhere_%\n}\n",
    ],
    parameter: "_: [u8; %], ",
};

/// `requests`, as its source distribution has it: never type-checked, with a few hundred errors.
pub(crate) const REQUESTS_PAST: PastProject = PastProject {
    name: "requests",
    server: "pyright",
    lay: |stage| lay_requests(&stage.sandbox.base(), &stage.root),
    folders: &["src/requests", "tests"],
    endings: &[".py"],
    style: &PYTHON,
    locals: &[
        local("src/requests/utils.py", "def super_len(", "total_length", "whole_length"),
        local("src/requests/utils.py", "def parse_dict_header(", "result", "pairs"),
        local("src/requests/utils.py", "def unquote_unreserved(", "parts", "pieces"),
        local("src/requests/models.py", "def prepare_body(", "content_type", "body_type"),
        local("src/requests/sessions.py", "def merge_setting(", "merged_setting", "merged"),
    ],
    problems: python::problems,
    past_min: 100,
};

/// `RxJS` under two stricter options than it was written for.
pub(crate) const RXJS_PAST: PastProject = PastProject {
    name: "rxjs",
    server: "typescript-language-server",
    lay: |stage| {
        let sources = RXJS.unpacked(&stage.sandbox.base()).join("package/src");
        copy(&sources, stage, "src", "ts");
        stage.write("tsconfig.json", RXJS_CONFIGURATION);
    },
    folders: &["src"],
    endings: &[".ts"],
    style: &TYPESCRIPT,
    locals: &[
        local(
            "src/internal/util/argsArgArrayOrObject.ts",
            "function argsArgArrayOrObject",
            "first",
            "leading",
        ),
        local(
            "src/internal/operators/bufferCount.ts",
            "export function bufferCount",
            "toEmit",
            "ready",
        ),
        local("src/internal/operators/takeLast.ts", "export function takeLast", "buffer", "recent"),
        local(
            "src/internal/operators/distinct.ts",
            "export function distinct",
            "distinctKeys",
            "known",
        ),
    ],
    problems: typescript::problems,
    past_min: 20,
};

const RXJS_CONFIGURATION: &str = "{\"compilerOptions\": {\"strict\": true, \"noEmit\": true, \
     \"noUncheckedIndexedAccess\": true, \"exactOptionalPropertyTypes\": true,\n \
     \"target\": \"es2020\", \"lib\": [\"es2020\", \"dom\"], \"module\": \"esnext\", \
     \"moduleResolution\": \"bundler\",\n \"skipLibCheck\": true, \"types\": []}, \
     \"include\": [\"src\"]}\n";

/// `heck` under lints that it was not written for: warnings, and no error.
pub(crate) const HECK_PAST: PastProject = PastProject {
    name: "heck",
    server: "rust-analyzer",
    lay: |stage| {
        rust::lay(stage);
        let manifest = stage.read("Cargo.toml");
        stage.write("Cargo.toml", &format!("{manifest}{HECK_LINTS}"));
    },
    folders: &["src"],
    endings: &[".rs"],
    style: &RUST,
    locals: &[
        local("src/lib.rs", "fn capitalize(", "i", "indices"),
        local("src/lib.rs", "fn lowercase(", "c", "letter"),
        local("src/lib.rs", "fn uppercase(", "c", "letter"),
    ],
    problems: rust::problems,
    past_min: 15,
};

const HECK_LINTS: &str = "\n[lints.rust]\nmissing_docs = \"warn\"\nunreachable_pub = \"warn\"\n\
     elided_lifetimes_in_paths = \"warn\"\nmissing_debug_implementations = \"warn\"\n\
     unused_qualifications = \"warn\"\n";

const fn local(
    file: &'static str,
    function: &'static str,
    name: &'static str,
    other: &'static str,
) -> LocalName {
    LocalName { file, function, name, other }
}
