//! Folders outside the root that a link in the root leads to: servers read their files, and polls stamp them.

use std::fs;
use std::os::unix::fs::symlink;

use crate::servers::{project, project_of, report};
use crate::support::Sandbox;

/// The folder outside the root, which the link `shared` leads to.
fn link_folder(sandbox: &Sandbox) -> std::path::PathBuf {
    let folder = sandbox.base().join("elsewhere/shared");
    fs::create_dir_all(folder.join("inner")).expect("the folders are ours");
    symlink(&folder, sandbox.root().join("shared")).expect("the folders are ours");
    folder
}

/// Every change of the module is noticed by the next check of all files.
fn every_change_is_noticed(sandbox: &Sandbox, modules: [&str; 2], good: &str, bad: &str) {
    let folder = link_folder(sandbox);
    for module in modules {
        fs::write(folder.join(module), good).expect("the folders are ours");
    }
    sandbox.commit();
    let check = |code| report(&sandbox.run(&["check", "--all", "--json"]), code);
    check(0);
    for module in modules {
        let module = folder.join(module);
        for _ in 0..2 {
            fs::write(&module, bad).expect("the folders are ours");
            check(1);
            fs::write(&module, good).expect("the folders are ours");
            check(0);
        }
        fs::remove_file(&module).expect("the folders are ours");
        check(1);
        fs::write(&module, good).expect("the folders are ours");
        check(0);
    }
    let inner = folder.join("inner");
    let named = |name: &str| folder.with_file_name(name);
    for (name, text) in [("good", good), ("bad", bad)] {
        fs::create_dir(named(name)).expect("the folders are ours");
        let module = modules[1].replace("inner", name);
        fs::write(folder.with_file_name(module), text).expect("the folders are ours");
    }
    fs::remove_dir_all(&inner).expect("the folders are ours");
    for (name, code) in [("good", 0), ("bad", 1), ("good", 0)] {
        fs::remove_file(&inner).ok();
        symlink(named(name), &inner).expect("the folders are ours");
        check(code);
    }
    let link = sandbox.root().join("shared");
    for _ in 0..2 {
        fs::remove_file(&link).expect("the folders are ours");
        check(1);
        symlink(&folder, &link).expect("the folders are ours");
        check(0);
    }
}

const GOOD_PYTHON: &str = "def half(number: int) -> int:\n    return number\n";
const BAD_PYTHON: &str = "def half(number: int) -> str:\n    return str(number)\n";
const GOOD_TYPESCRIPT: &str = "export const half = (n: number): number => n;\n";
const BAD_TYPESCRIPT: &str = "export const half = (n: number): string => `${n}`;\n";

#[test]
fn pyright() {
    let sandbox = project();
    let import =
        |module: &str| format!("from shared.{module} import half\n\ntotal: int = half(1)\n");
    sandbox.write("a.py", &import("lib"));
    sandbox.write("b.py", &import("inner.lib"));
    every_change_is_noticed(&sandbox, ["lib.py", "inner/lib.py"], GOOD_PYTHON, BAD_PYTHON);
}

fn typescript(server: &str) {
    let sandbox = project_of("typescript", server);
    sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true, \"noEmit\": true}}\n");
    let import = |module: &str| {
        format!(
            "import {{ half }} from \"./shared/{module}\";\nexport const total: number = half(1);\n"
        )
    };
    sandbox.write("a.ts", &import("lib"));
    sandbox.write("b.ts", &import("inner/lib"));
    let modules = ["lib.ts", "inner/lib.ts"];
    every_change_is_noticed(&sandbox, modules, GOOD_TYPESCRIPT, BAD_TYPESCRIPT);
}

#[test]
fn typescript_language_server() {
    typescript("typescript-language-server");
}

#[test]
fn typescript_7() {
    typescript("typescript-native");
}
