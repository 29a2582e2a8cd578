//! What an importer is told after the module it imports appeared, changed, vanished and came back,
//! written by nobody who would tell: the answer follows the disk at once, in both directions.

use crate::servers::{project, report};
use crate::support::Sandbox;

/// One importer and the texts of the module it imports.
struct Play {
    importer: (&'static str, &'static str),
    module: &'static str,
    right: &'static str,
    wrong: &'static str,
}

fn check(play: &Play, prepare: impl FnOnce(&Sandbox)) {
    let sandbox = project();
    prepare(&sandbox);
    let (importer, text) = play.importer;
    sandbox.write(importer, text);
    let codes = |code| report(&sandbox.run(&["check", importer, "--json"]), code);
    let remove = || {
        std::fs::remove_file(sandbox.path(play.module)).expect("the module is ours");
    };
    codes(1);
    sandbox.write(play.module, play.right);
    codes(0);
    sandbox.write(play.module, play.wrong);
    codes(1);
    // As git does it: unlinked and created, not written over.
    remove();
    sandbox.write(play.module, play.right);
    codes(0);
    remove();
    codes(1);
    sandbox.write(play.module, play.right);
    codes(0);
    remove();
    sandbox.write(play.module, play.wrong);
    codes(1);
}

#[test]
fn pyright_follows_the_disk() {
    let play = Play {
        importer: ("app.py", "from made import made\n\nnumber: int = made()\n"),
        module: "made.py",
        right: "def made() -> int:\n    return 1\n",
        wrong: "def made() -> str:\n    return ''\n",
    };
    check(&play, |_| {});
}

#[test]
fn pyright_follows_what_git_ignores() {
    let play = Play {
        importer: ("app.py", "from gen.made import made\n\nnumber: int = made()\n"),
        module: "gen/made.py",
        right: "def made() -> int:\n    return 1\n",
        wrong: "def made() -> str:\n    return ''\n",
    };
    check(&play, |sandbox| sandbox.write(".gitignore", "gen/\n"));
}

const TYPESCRIPT: Play = Play {
    importer: ("app.ts", "import { made } from \"./made\";\n\nexport const it: number = made;\n"),
    module: "made.ts",
    right: "export const made: number = 1;\n",
    wrong: "export const made: string = \"\";\n",
};

#[test]
fn typescript_follows_the_disk() {
    check(&TYPESCRIPT, |sandbox| {
        sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n");
    });
}

#[test]
fn typescript_7_follows_the_disk() {
    check(&TYPESCRIPT, |sandbox| {
        sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n");
        sandbox.write("package.json", "{\"devDependencies\": {\"typescript\": \"^7.0.0\"}}\n");
    });
}

/// The module is written by the host's tool; the session that wrote it asks about it first.
fn check_after_tool(play: &Play, prepare: impl FnOnce(&Sandbox)) {
    let sandbox = project();
    prepare(&sandbox);
    let (importer, text) = play.importer;
    sandbox.write(importer, text);
    sandbox.write(play.module, play.right);
    sandbox.commit();
    let codes = |code| report(&sandbox.run(&["check", importer, "--json"]), code);
    codes(0);
    for _ in 0..2 {
        sandbox.tool_write(play.module, play.wrong);
        codes(1);
        sandbox.tool_write(play.module, play.right);
        codes(0);
    }
}

#[test]
fn pyright_follows_the_hosts_tools() {
    let play = Play {
        importer: ("app.py", "from made import made\n\nnumber: int = made()\n"),
        module: "made.py",
        right: "def made() -> int:\n    return 1\n",
        wrong: "def made() -> str:\n    return ''\n",
    };
    check_after_tool(&play, |_| {});
}

#[test]
fn typescript_follows_the_hosts_tools() {
    check_after_tool(&TYPESCRIPT, |sandbox| {
        sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n");
    });
}

#[test]
fn typescript_7_follows_the_hosts_tools() {
    check_after_tool(&TYPESCRIPT, |sandbox| {
        sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n");
        sandbox.write("package.json", "{\"devDependencies\": {\"typescript\": \"^7.0.0\"}}\n");
    });
}

/// Replaced, as `sed -i` does it, after both files were open in the server; in projects of their
/// own, where no folder that is watched has both.
#[test]
fn typescript_rereads_a_module_that_was_open() {
    let sandbox = project();
    let config = "{\"compilerOptions\": {\"strict\": true, \"moduleResolution\": \"node\"}, \"include\": [\"src\"]}\n";
    for folder in ["a", "b"] {
        sandbox.write(&format!("{folder}/tsconfig.json"), config);
    }
    sandbox.write("b/src/made.ts", TYPESCRIPT.right);
    let importer =
        "import { made } from \"../../b/src/made\";\n\nexport const it: number = made;\n";
    sandbox.write("a/src/app.ts", importer);
    let codes = |arguments: &[&str], code| {
        report(&sandbox.run(&[&["check", "--json"], arguments].concat()), code);
    };
    for _ in 0..3 {
        codes(&["--all"], 0);
        sandbox.write("new.ts", TYPESCRIPT.wrong);
        std::fs::rename(sandbox.path("new.ts"), sandbox.path("b/src/made.ts")).expect("moved");
        codes(&["a/src/app.ts"], 1);
        sandbox.write("b/src/made.ts", TYPESCRIPT.right);
    }
}
