//! Memory of the daemon while it has nothing to do and no language server.

use crate::resident;
use crate::support::Sandbox;
use crate::table::{Figure, Table};

/// Resident memory of the idle daemon.
const RSS_BUDGET: Figure = Figure::Megabytes(40.0);
/// One file of each scanned language, so that all rules and grammars have been loaded.
const SOURCES: [(&str, &str); 4] = [
    ("a.py", "import os\n\n\ndef run(line):\n    return os.system(line)\n"),
    ("a.ts", "export function run(line: string): unknown {\n  return eval(line);\n}\n"),
    ("a.go", "package a\n\nfunc Run(line string) string { return line }\n"),
    ("a.rs", "pub fn run(line: &str) -> String {\n    line.to_owned()\n}\n"),
];

/// The daemon of the sandbox after hooks alone, then after a scan.
pub(crate) fn measure(sandbox: &Sandbox, table: &mut Table) {
    let rows = [("idle daemon after hooks", false), ("idle daemon after a scan", true)];
    for (name, is_after_scan) in rows {
        if is_after_scan {
            for (file, text) in SOURCES {
                sandbox.write(file, text);
            }
            let output = sandbox.run(&["check", "--all", "--no-lsp", "--json"]);
            assert_eq!(output.json()["files_checked"], SOURCES.len(), "{output:?}");
        }
        match resident_megabytes(sandbox) {
            Ok(rss) => table.budgeted(name, None, Figure::Megabytes(rss), RSS_BUDGET),
            Err(reason) => table.unmeasured(name, &reason),
        }
    }
}

fn resident_megabytes(sandbox: &Sandbox) -> Result<f64, String> {
    let status = sandbox.run(&["daemon", "status", "--json"]).json();
    assert_eq!(status["servers"].as_array().map(Vec::len), Some(0), "{status}");
    resident::megabytes(&status["pid"])
}
