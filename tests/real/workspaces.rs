//! Monorepos whose packages import each other by name: through links in `node_modules`, and from outputs of
//! builds that git ignores.

use std::fs;
use std::os::unix::fs::symlink;

use crate::servers::project_of;

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
