//! TypeScript: the sources of `RxJS`, which its package ships.

use super::package::{Filler, Outsider, Package, TextSwitch, copy};
use super::servers::Server;
use super::stage::Stage;
use super::truth::{Truth, output_of, place};
use crate::download::RXJS;
use crate::past::problems::{CodeProblem, ProblemSet};

const CONFIGURATION: &str = "{\"compilerOptions\": {\"strict\": true, \"noEmit\": true, \
     \"target\": \"es2020\", \"lib\": [\"es2020\", \"dom\"],\n \"module\": \"esnext\", \
     \"moduleResolution\": \"bundler\", \"skipLibCheck\": true, \"types\": []},\n \
     \"include\": [\"src\"]}\n";

pub(crate) const PACKAGE: Package = Package {
    lay,
    folders: &["src"],
    endings: &[".ts"],
    edited: &[
        "src/internal/Subscriber.ts",
        "src/internal/observable/from.ts",
        "src/internal/observable/innerFrom.ts",
        "src/internal/operators/mergeInternals.ts",
        "src/internal/util/arrRemove.ts",
        "src/internal/util/createObject.ts",
        "src/internal/util/isDate.ts",
        "src/internal/util/mapOneOrManyArgs.ts",
    ],
    breaks: &[
        TextSwitch {
            file: "src/internal/util/isDate.ts",
            from: "isValidDate(value: any)",
            to: "isValidDate(value: any, strict: boolean)",
        },
        TextSwitch {
            file: "src/internal/util/createObject.ts",
            from: "(keys: string[], values: any[])",
            to: "(keys: string[], values: any[], strict: boolean)",
        },
        TextSwitch {
            file: "src/internal/util/arrRemove.ts",
            from: "undefined | null, item: T)",
            to: "undefined | null, item: T, strict: boolean)",
        },
        TextSwitch {
            file: "src/internal/util/mapOneOrManyArgs.ts",
            from: "export function mapOneOrManyArgs",
            to: "export function mapOneOrMoreArgs",
        },
    ],
    configurations: &[TextSwitch {
        file: "tsconfig.json",
        from: "\"skipLibCheck\": true",
        to: "\"skipLibCheck\": true, \"noImplicitReturns\": true",
    }],
    moves: &[
        ("src/internal/util/isDate.ts", "src/internal/util/isValidDate.ts"),
        ("src/internal/util/createObject.ts", "src/internal/util/makeObject.ts"),
    ],
    filler: Filler { file: "src/filler/filler#.ts", text: "export const filler# = #;\n" },
    outsider: Some(Outsider {
        file: "scratch/outsider.ts",
        text: "export const outsider: number = \"no\";\n",
    }),
    is_head: |line| {
        let line = line.strip_prefix("export ").unwrap_or(line);
        let line = line.strip_prefix("async ").unwrap_or(line);
        line.starts_with("function ") && line.contains(')') && line.ends_with('{')
    },
    errors: &[
        "  const bench_#_: # = \"no\";",
        "  const bench_#_ = nowhere_#;",
        "  const bench_#_: number = \"no\";",
        "  const bench_#_ = nowhere;",
    ],
};

fn lay(stage: &Stage<'_>) {
    let sources = RXJS.unpacked(&stage.sandbox.base()).join("package/src");
    copy(&sources, stage, "src", "ts");
    stage.write("tsconfig.json", CONFIGURATION);
}

/// The compiler of the language server's package.
pub(crate) fn truth(stage: &Stage<'_>, server: &Server) -> Truth {
    Truth::of_errors(problems(stage, server))
}

/// Its findings; it has no warnings.
pub(crate) fn problems(stage: &Stage<'_>, server: &Server) -> ProblemSet {
    let mut command = stage.command(server.beside("tsc"));
    let (stdout, _) = output_of(command.args(["--noEmit", "--pretty", "false", "-p", "."]));
    let mut problems = ProblemSet::new();
    for line in stdout.lines().filter(|line| !line.starts_with(' ')) {
        if let Some((path, at, rest)) = place(line) {
            let code = rest.split_once("error TS").map(|(_, code)| code);
            let code = code.and_then(|code| code.split(':').next()).unwrap_or_default().to_owned();
            problems.insert(CodeProblem { path: path.to_owned(), line: at, code, is_error: true });
        }
    }
    problems
}
