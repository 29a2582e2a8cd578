//! Monorepos whose packages import each other by name: through links in `node_modules`, and from outputs of
//! builds that git ignores.

use std::fs;
use std::os::unix::fs::symlink;

use crate::servers::project_of;
use crate::support::{SESSION, write_file};

const DECLARATION: &str = "packages/core/dist/index.d.ts";
const NUMBER: &str = "export declare const half: number;\n";
const STRING: &str = "export declare const half: string;\n";

fn follows_builds(server: &str) {
    let sandbox = project_of("typescript", server);
    sandbox.write(".gitignore", "dist\nnode_modules\n");
    sandbox.write("package.json", "{\"private\": true, \"workspaces\": [\"packages/*\"]}\n");
    let options =
        "{\"compilerOptions\": {\"strict\": true, \"module\": \"nodenext\", \"noEmit\": true}}\n";
    for package in ["core", "app"] {
        sandbox.write(&format!("packages/{package}/tsconfig.json"), options);
    }
    let core = |types: &str| {
        let text = format!(
            "{{\"name\": \"@acme/core\", \"version\": \"1.0.0\", \"type\": \"module\", \
             \"exports\": {{\".\": {{\"types\": \"./dist/{types}\", \"default\": \"./dist/index.js\"}}}}}}\n"
        );
        sandbox.write("packages/core/package.json", &text);
    };
    core("index.d.ts");
    sandbox.write("packages/core/src/index.ts", "export const half = 1;\n");
    let app = "{\"name\": \"app\", \"type\": \"module\", \"dependencies\": {\"@acme/core\": \"1.0.0\"}}\n";
    sandbox.write("packages/app/package.json", app);
    sandbox.write(
        "packages/app/src/app.ts",
        "import { half } from \"@acme/core\";\nexport const total: number = half;\n",
    );
    fs::create_dir_all(sandbox.path("node_modules/@acme")).expect("the folder is ours");
    symlink("../../packages/core", sandbox.path("node_modules/@acme/core")).expect("it is ours");
    sandbox.commit();
    let step = |what: &str, is_clean: bool| {
        let output = sandbox.run(&["check", "packages/app/src/app.ts", "--json"]);
        assert_eq!(output.code == 0, is_clean, "{what}: {output:#?}");
    };
    step("before the first build", false);
    sandbox.write(DECLARATION, NUMBER);
    step("built", true);
    sandbox.write(DECLARATION, STRING);
    step("built wrong", false);
    sandbox.write(DECLARATION, NUMBER);
    step("built again", true);
    fs::remove_dir_all(sandbox.path("packages/core/dist")).expect("it is ours");
    step("cleaned", false);
    sandbox.write("packages/core/dist/index.js", "export const half = 1;\n");
    step("only JavaScript", false);
    sandbox.write(DECLARATION, NUMBER);
    step("declarations", true);
    sandbox.write("packages/core/dist/other.d.ts", STRING);
    core("other.d.ts");
    step("other types", false);
    core("index.d.ts");
    step("the first types", true);
    core("later.d.ts");
    step("missing types, but those next to the JavaScript", true);
    sandbox.write("packages/core/dist/later.d.ts", STRING);
    step("types that appear and are wrong", false);
    sandbox.write("packages/core/dist/later.d.ts", NUMBER);
    step("right types", true);
    fs::remove_file(sandbox.path("node_modules/@acme/core")).expect("it is ours");
    step("unlinked", false);
    symlink("../../packages/core", sandbox.path("node_modules/@acme/core")).expect("it is ours");
    step("linked", true);
}

/// The options of a package of the monorepo, and a package outside of it, as `npm install ../lib` links it.
fn follows_links(server: &str) {
    let sandbox = project_of("typescript", server);
    sandbox.write(".gitignore", "node_modules\n");
    sandbox.write("package.json", "{\"private\": true, \"workspaces\": [\"packages/*\"]}\n");
    let options = |is_strict: bool| {
        let text = format!(
            "{{\"compilerOptions\": {{\"strict\": {is_strict}, \"module\": \"nodenext\", \"noEmit\": true}}}}\n"
        );
        sandbox.write("packages/options/base.json", &text);
    };
    options(false);
    sandbox.write("packages/options/package.json", "{\"name\": \"@acme/options\"}\n");
    sandbox.write("packages/app/package.json", "{\"name\": \"app\", \"type\": \"module\"}\n");
    sandbox.write("packages/app/tsconfig.json", "{\"extends\": \"@acme/options/base.json\"}\n");
    sandbox.write("packages/app/src/app.ts", "export const total: number = null;\n");
    sandbox.write(
        "packages/app/src/user.ts",
        "import { half } from \"lib\";\nexport const total: number = half;\n",
    );
    let lib = sandbox.base().join("lib");
    let declare = |file: &str, text: &str| write_file(&lib.join("dist").join(file), text);
    let manifest = "{\"name\": \"lib\", \"type\": \"module\", \"exports\": {\".\": \
                    {\"types\": \"./dist/later.d.ts\", \"default\": \"./dist/index.js\"}}}\n";
    write_file(&lib.join("package.json"), manifest);
    declare("index.js", "export const half = 1;\n");
    declare("index.d.ts", NUMBER);
    fs::create_dir_all(sandbox.path("node_modules/@acme")).expect("the folder is ours");
    symlink("../../packages/options", sandbox.path("node_modules/@acme/options")).expect("ours");
    symlink(&lib, sandbox.path("node_modules/lib")).expect("the folder is ours");
    sandbox.commit();
    let step = |what: &str, file: &str, is_clean: bool| {
        let output = sandbox.run(&["check", &format!("packages/app/src/{file}"), "--json"]);
        assert_eq!(output.code == 0, is_clean, "{what}: {output:#?}");
    };
    for _ in 0..2 {
        options(false);
        step("loose options", "app.ts", true);
        options(true);
        step("strict options", "app.ts", false);
        fs::remove_file(sandbox.path("packages/options/base.json")).expect("it is ours");
        step("no options", "app.ts", false);
    }
    options(true);
    step("strict options after none", "app.ts", false);
    options(false);
    step("loose options after none", "app.ts", true);
    step("types of the neighbor", "user.ts", true);
    declare("later.d.ts", STRING);
    step("types that appear outside and are wrong", "user.ts", false);
    declare("later.d.ts", NUMBER);
    step("right types outside", "user.ts", true);
    fs::remove_dir_all(lib.join("dist")).expect("it is ours");
    step("cleaned outside", "user.ts", false);
    declare("later.d.ts", NUMBER);
    step("built outside", "user.ts", true);
}

#[test]
fn typescript_language_server_follows_links() {
    follows_links("typescript-language-server");
}

#[test]
fn vtsls_follows_links() {
    follows_links("vtsls");
}

#[test]
fn typescript_7_follows_links() {
    follows_links("typescript-native");
}

#[test]
fn typescript_language_server_follows_builds_of_packages() {
    follows_builds("typescript-language-server");
}

#[test]
fn vtsls_follows_builds_of_packages() {
    follows_builds("vtsls");
}

#[test]
fn typescript_7_follows_builds_of_packages() {
    follows_builds("typescript-native");
}

/// A project whose packages are not installed in the root.
fn follows_installations(server: &str) {
    let sandbox = project_of("typescript", server);
    sandbox.write(".gitignore", "node_modules\n");
    let options =
        "{\"compilerOptions\": {\"strict\": true, \"module\": \"nodenext\", \"noEmit\": true}}\n";
    sandbox.write("web/tsconfig.json", options);
    let manifest =
        "{\"name\": \"web\", \"type\": \"module\", \"dependencies\": {\"half\": \"1.0.0\"}}\n";
    sandbox.write("web/package.json", manifest);
    let source = "import { half } from \"half\";\nexport const total: number = half;\n";
    sandbox.write("web/src/app.ts", source);
    sandbox.commit();
    let package = |folder: &str, types: &str| {
        let manifest =
            "{\"name\": \"half\", \"version\": \"1.0.0\", \"types\": \"./index.d.ts\"}\n";
        sandbox.write(&format!("{folder}/half/package.json"), manifest);
        sandbox.write(&format!("{folder}/half/index.d.ts"), types);
    };
    let step = |what: &str, code: i32| {
        let output = sandbox.run(&["check", "web/src/app.ts", "--json"]);
        assert_eq!(output.code, code, "{what}: {output:#?}");
    };
    package("web/node_modules", NUMBER);
    sandbox.write("web/node_modules/.package-lock.json", "{\"lockfileVersion\": 3}\n");
    step("installed", 0);
    fs::rename(sandbox.path("web/node_modules"), sandbox.path("kept")).expect("it is ours");
    step("removed", 4);
    fs::rename(sandbox.path("kept"), sandbox.path("web/node_modules")).expect("it is ours");
    step("installed again", 0);
    package("web/src/node_modules", STRING);
    step("a nearer package of the same name", 1);
    fs::remove_dir_all(sandbox.path("web/src/node_modules")).expect("it is ours");
    step("removed", 0);
    sandbox.write("web/node_modules/half/package.json", "{\"exports\": \"./types.d.ts\"}\n");
    step("without declarations", 1);
    sandbox.write("web/node_modules/half/types.d.ts", NUMBER);
    step("with declarations", 0);
}

#[test]
fn typescript_language_server_follows_installations() {
    follows_installations("typescript-language-server");
}

#[test]
fn vtsls_follows_installations() {
    follows_installations("vtsls");
}

#[test]
fn typescript_7_follows_installations() {
    follows_installations("typescript-native");
}

#[test]
fn importers_of_a_package_that_was_not_built_again_are_unmeasured() {
    let sandbox = project_of("typescript", "typescript-language-server");
    sandbox.write(".gitignore", "dist\nnode_modules\n");
    let options =
        "{\"compilerOptions\": {\"strict\": true, \"module\": \"nodenext\", \"noEmit\": true}}\n";
    for package in ["core", "app"] {
        sandbox.write(&format!("packages/{package}/tsconfig.json"), options);
    }
    let core =
        "{\"name\": \"@acme/kernel\", \"type\": \"module\", \"types\": \"dist/index.d.ts\"}\n";
    sandbox.write("packages/core/package.json", core);
    let source = "export function half(value: number): number {\n  return value / 2;\n}\n";
    sandbox.write("packages/core/src/index.ts", source);
    sandbox.write("packages/app/package.json", "{\"name\": \"app\", \"type\": \"module\"}\n");
    let app = "import { half } from \"@acme/kernel\";\nexport const total: number = half(1);\n";
    sandbox.write("packages/app/src/app.ts", app);
    fs::create_dir_all(sandbox.path("node_modules/@acme")).expect("the folder is ours");
    symlink("../../packages/core", sandbox.path("node_modules/@acme/kernel")).expect("it is ours");
    sandbox.commit();
    let declaration = "export declare function half(value: number): number;\n";
    sandbox.write("packages/core/dist/index.d.ts", declaration);
    let ended = |text: &str, is_built: bool| {
        let start = ["loop", "start", "--session", SESSION, "--until", "diagnostics"];
        let output = sandbox.run(&[&start[..], &["--prompt", "change it"]].concat());
        assert_eq!(output.code, 0, "{output:#?}");
        sandbox.tool_write("packages/core/src/index.ts", text);
        if is_built {
            sandbox.write("packages/core/dist/index.d.ts", declaration);
        }
        sandbox.hook("stop", &sandbox.payload("Stop"));
        sandbox.run(&["loop", "status", "--json"]).json()
    };
    let unused = format!(
        "{source}export function twice(value: number): number {{\n  return 2 * value;\n}}\n"
    );
    let unnoticed = ended(&unused, false);
    assert_eq!(unnoticed["status"], "completed", "nothing uses it: {unnoticed:#}");
    let changed = source.replace("value: number)", "value: string)").replace("value /", "+value /");
    let unmeasured = ended(&changed, false);
    assert_eq!(unmeasured["status"], "completed_unverified", "{unmeasured:#}");
    let reason = "packages/core/dist/index.d.ts (built before packages/core/src/index.ts changed";
    assert!(unmeasured.to_string().contains(reason), "{unmeasured:#}");
    let body = source.replace("value / 2", "value * 0.5");
    assert_eq!(ended(&body, true)["status"], "completed");
}
