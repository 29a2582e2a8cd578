//! The TypeScript server of a plain project: a type error across two files.

use crate::servers::{findings, project, report};
use crate::support::Sandbox;

fn typescript() -> Sandbox {
    let sandbox = project();
    sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true, \"noEmit\": true}}\n");
    sandbox.write(
        "src/price.ts",
        "export function price(cents: number): string {\n  return `${cents / 100}`;\n}\n",
    );
    sandbox
}

fn sensor_of(report: &serde_json::Value) -> String {
    let sensors = report["sensors"].as_array().expect("a report lists its sensors");
    let server = sensors.iter().find(|sensor| sensor["kind"] == "lsp");
    let server = server.unwrap_or_else(|| panic!("no language server: {report:#}"));
    server["name"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn check_finds_a_wrong_argument_in_the_file_that_passes_it() {
    let sandbox = typescript();
    let wrong = "import { price } from \"./price\";\n\nexport const label = price(\"free\");\n";
    sandbox.write("src/label.ts", wrong);
    let dirty = report(&sandbox.run(&["check", "--all", "--json"]), 1);
    let expected = ("src/label.ts".to_owned(), "2345".to_owned(), 2);
    assert_eq!(findings(&dirty, &sensor_of(&dirty)), [expected]);

    let right = "import { price } from \"./price\";\n\nexport const label = price(0);\n";
    sandbox.write("src/label.ts", right);
    let clean = report(&sandbox.run(&["check", "--all", "--json"]), 0);
    assert_eq!(clean["verdict"], "clean");
}
