//! The TypeScript server of a plain project: a type error across two files.

use std::fs;
use std::os::unix::fs::symlink;

use crate::servers::{findings, project, project_of, report};
use crate::support::{Sandbox, write_file};

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

/// Files that no poll of the project's own sources covers: a generated client below `node_modules`,
/// types in a hidden folder that git ignores, and a module outside the root. Each changes without a
/// report, and the importer's verdict follows it in both directions.
fn check_follows_unpolled_files(server: &str) {
    let sandbox = project_of("typescript", server);
    let options = "{\"strict\": true, \"noEmit\": true, \"module\": \"esnext\", \"moduleResolution\": \"bundler\"}";
    let config =
        format!("{{\"compilerOptions\": {options}, \"include\": [\"src\", \".nuxt/*.d.ts\"]}}\n");
    sandbox.write("tsconfig.json", &config);
    sandbox.write(".gitignore", ".nuxt\nnode_modules\n");
    let set_types = |file: &str| {
        let client = format!("{{\"name\": \"@prisma/client\", \"types\": \"{file}\"}}\n");
        sandbox.write("node_modules/@prisma/client/package.json", &client);
    };
    set_types("index.d.ts");
    let other = "export declare const model: string;\n";
    sandbox.write("node_modules/@prisma/client/other.d.ts", other);
    sandbox.write("node_modules/@prisma/client/index.d.ts", "export * from \".prisma/client\";\n");
    let files = [
        ("project/node_modules/.prisma/client/index.d.ts", "export declare const model: "),
        ("project/.nuxt/types.d.ts", "declare const injected: "),
        ("lib/far.ts", "export declare const far: "),
    ];
    let write = |(file, declaration): (&str, &str), kind: &str| {
        write_file(&sandbox.base().join(file), &format!("{declaration}{kind};\n"));
    };
    for file in files {
        write(file, "number");
    }
    let importer = "import { model } from \"@prisma/client\";\nimport { far } from \"../../lib/far\";\n\n\
                    export const product: number = model * far * injected;\n";
    sandbox.write("src/app.ts", importer);
    sandbox.commit();
    let check = |code| report(&sandbox.run(&["check", "src/app.ts", "--json"]), code);
    check(0);
    for file in files {
        for (kind, code) in [("string", 1), ("number", 0), ("string", 1), ("number", 0)] {
            write(file, kind);
            check(code);
        }
        fs::remove_file(sandbox.base().join(file.0)).expect("it exists");
        check(1);
        write(file, "number");
        check(0);
    }
    for (types, code) in [("other.d.ts", 1), ("index.d.ts", 0)] {
        set_types(types);
        check(code);
    }
    // Another version, as pnpm installs it.
    let client = sandbox.path("node_modules/@prisma/client");
    let version = sandbox.path("node_modules/.pnpm/client@2");
    fs::create_dir_all(version.with_file_name("")).expect("the folder is ours");
    fs::rename(&client, &version).expect("the folder is ours");
    write_file(&version.join("index.d.ts"), other);
    symlink("../.pnpm/client@2", &client).expect("the folder is ours");
    check(1);
}

#[test]
fn typescript_follows_files_that_no_poll_of_the_sources_covers() {
    check_follows_unpolled_files("typescript-language-server");
}

#[test]
fn vtsls_follows_files_that_no_poll_of_the_sources_covers() {
    check_follows_unpolled_files("vtsls");
}

#[test]
fn typescript_7_follows_files_that_no_poll_of_the_sources_covers() {
    check_follows_unpolled_files("typescript-native");
}

/// Findings, hover texts and edits on the first line of a file with a byte order mark.
fn check_byte_order_mark(sandbox: &Sandbox) {
    sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n");
    sandbox.write("mark.ts", "\u{feff}export const total: number = \"한\";\n");
    let dirty = report(&sandbox.run(&["check", "mark.ts", "--json"]), 1);
    let start = &dirty["findings"][0]["range"]["start"];
    assert_eq!((&start["line"], &start["character"]), (&0.into(), &13.into()), "{dirty:#}");
    let hover = sandbox.run(&["hover", "mark.ts:1:14"]);
    assert!(hover.stdout.contains("total: number"), "{hover:#?}");
    sandbox.write("mark.ts", "\u{feff}export const total: number = 1;\n");
    let renamed = sandbox.run(&["rename", "mark.ts:1:14", "sum", "--apply"]);
    assert_eq!(renamed.code, 0, "{renamed:#?}");
    assert_eq!(sandbox.read("mark.ts"), "\u{feff}export const sum: number = 1;\n");
}

#[test]
fn positions_do_not_count_a_byte_order_mark() {
    check_byte_order_mark(&project());
    let sandbox = project();
    sandbox.write("package.json", "{\"devDependencies\": {\"typescript\": \"^7.0.0\"}}\n");
    check_byte_order_mark(&sandbox);
}

#[test]
fn typescript_7_reports_errors_of_style_as_its_compiler_does() {
    let sandbox = project();
    sandbox.write("package.json", "{\"devDependencies\": {\"typescript\": \"^7.0.0\"}}\n");
    let options =
        "\"strict\": true, \"noUnusedLocals\": true, \"allowJs\": true, \"checkJs\": true";
    sandbox.write("tsconfig.json", &format!("{{\"compilerOptions\": {{{options}}}}}\n"));
    for file in ["a.ts", "b.js"] {
        sandbox.write(file, "export {};\nconst unused = 1;\n");
    }
    let dirty = report(&sandbox.run(&["check", "--all", "--json"]), 1);
    let unused = |file: &str| (file.to_owned(), "6133".to_owned(), 1);
    assert_eq!(findings(&dirty, "typescript-native"), [unused("a.ts"), unused("b.js")]);
    assert_eq!(dirty["summary"]["error"], 2, "{dirty:#}");
}

/// An agent that writes a test first: the module it imports is written after it, each with a hook.
fn check_module_after_importer(server: &str) {
    let sandbox = project_of("typescript", server);
    sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true, \"noEmit\": true}}\n");
    sandbox.write("src/start.ts", "export const start = 1;\n");
    sandbox.commit();
    report(&sandbox.run(&["check", "--all", "--json"]), 0);
    let importer = "import { foo } from \"./foo\";\n\nexport const made: number = foo();\n";
    let told = sandbox.tool_write("src/importer.ts", importer);
    assert!(told.stdout.contains("Cannot find module './foo'"), "{server}: {told:#?}");
    let told =
        sandbox.tool_write("src/foo.ts", "export function foo(): number {\n  return 1;\n}\n");
    assert!(!told.stdout.contains("introduced"), "{server}: {told:#?}");
    let clean = report(&sandbox.run(&["check", "--json"]), 0);
    assert_eq!(clean["verdict"], "clean", "{server}: {clean:#}");
    sandbox.tool_write("src/foo.ts", "export function foo(): string {\n  return \"\";\n}\n");
    let dirty = report(&sandbox.run(&["check", "--json"]), 1);
    assert_eq!(findings(&dirty, &sensor_of(&dirty)).len(), 1, "{server}: {dirty:#}");
}

#[test]
fn a_module_that_is_written_after_its_importer_is_found() {
    for server in ["typescript-language-server", "typescript-native", "vtsls"] {
        check_module_after_importer(server);
    }
}
