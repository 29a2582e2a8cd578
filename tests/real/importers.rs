//! Checks of an importer after its module appeared, changed, vanished and came back without a hook:
//! the answer follows the disk at once, in both directions.

use std::collections::BTreeSet;

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

#[test]
fn pyright_follows_a_folder_outside_the_root() {
    let play = Play {
        importer: ("app.py", "from made import made\n\nnumber: int = made()\n"),
        module: "../lib/made.py",
        right: "def made() -> int:\n    return 1\n",
        wrong: "def made() -> str:\n    return ''\n",
    };
    check(&play, |sandbox| {
        sandbox.write("pyrightconfig.json", "{\"extraPaths\": [\"../lib\"]}\n");
        sandbox.write("../lib/other.py", "");
    });
}

#[test]
fn typescript_follows_a_folder_outside_the_root() {
    let importer = "import { made } from \"../lib/made\";\n\nexport const it: number = made;\n";
    let play = Play { importer: ("app.ts", importer), module: "../lib/made.ts", ..TYPESCRIPT };
    check(&play, |sandbox| {
        sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n");
        sandbox.write("../lib/other.ts", "");
    });
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

/// Number of importers in [`check_together`]: more than a server is asked about at once.
const IMPORTERS: usize = 8;

/// Importers and their module are measured by one command, the importers first. `N` in the importer is its
/// number.
fn check_together(play: &Play, prepare: impl FnOnce(&Sandbox)) {
    let sandbox = project();
    prepare(&sandbox);
    let (name, text) = play.importer;
    for number in 1..=IMPORTERS {
        let number = number.to_string();
        sandbox.write(&name.replace('N', &number), &text.replace('N', &number));
    }
    for (module, code, broken) in [
        (play.right, 0, 0),
        (play.wrong, 1, IMPORTERS),
        (play.right, 0, 0),
        (play.wrong, 1, IMPORTERS),
    ] {
        sandbox.write(play.module, module);
        let report = report(&sandbox.run(&["check", "--all", "--no-scan", "--json"]), code);
        let findings = report["findings"].as_array().expect("a report lists its findings");
        let files: BTreeSet<&str> =
            findings.iter().filter_map(|finding| finding["path"].as_str()).collect();
        assert_eq!(files.len(), broken, "{findings:#?}");
    }
}

#[test]
fn pyright_checks_all_importers_against_the_present_module() {
    let play = Play {
        importer: ("appN.py", "from made import made\n\nnumber: int = made()\n"),
        module: "made.py",
        right: "def made() -> int:\n    return 1\n",
        wrong: "def made() -> str:\n    return ''\n",
    };
    check_together(&play, |_| {});
}

const TYPESCRIPT_IMPORTERS: Play =
    Play { importer: ("appN.ts", TYPESCRIPT.importer.1), ..TYPESCRIPT };

#[test]
fn typescript_checks_all_importers_against_the_present_module() {
    check_together(&TYPESCRIPT_IMPORTERS, |sandbox| {
        sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n");
    });
}

#[test]
fn typescript_7_checks_all_importers_against_the_present_module() {
    check_together(&TYPESCRIPT_IMPORTERS, |sandbox| {
        sandbox.write("tsconfig.json", "{\"compilerOptions\": {\"strict\": true}}\n");
        sandbox.write("package.json", "{\"devDependencies\": {\"typescript\": \"^7.0.0\"}}\n");
    });
}

#[test]
fn gopls_checks_all_users_against_the_present_function() {
    let play = Play {
        importer: ("appN.go", "package app\n\nfunc useN() int {\n\treturn made()\n}\n"),
        module: "made.go",
        right: "package app\n\nfunc made() int {\n\treturn 1\n}\n",
        wrong: "package app\n\nfunc made() string {\n\treturn \"\"\n}\n",
    };
    check_together(&play, |sandbox| sandbox.write("go.mod", "module example.com/app\n\ngo 1.21\n"));
}

#[test]
fn gopls_follows_a_replaced_module_outside_the_root() {
    let play = Play {
        importer: (
            "app.go",
            "package app\n\nimport \"example.com/lib\"\n\nfunc use() int {\n\treturn lib.Made()\n}\n",
        ),
        module: "../lib/made.go",
        right: "package lib\n\nfunc Made() int {\n\treturn 1\n}\n",
        wrong: "package lib\n\nfunc Made() string {\n\treturn \"\"\n}\n",
    };
    check(&play, |sandbox| {
        let manifest = "module example.com/app\n\ngo 1.21\n\nrequire example.com/lib v0.0.0\n\n\
             replace example.com/lib => ../lib\n";
        sandbox.write("go.mod", manifest);
        sandbox.write("../lib/go.mod", "module example.com/lib\n\ngo 1.21\n");
        sandbox.write("../lib/other.go", "package lib\n");
    });
}

#[test]
fn clangd_checks_all_users_against_the_present_header() {
    let play = Play {
        importer: ("appN.c", "#include \"made.h\"\n\nint useN(void) { return made(1); }\n"),
        module: "made.h",
        right: "int made(int number);\n",
        wrong: "int made(int number, int more);\n",
    };
    check_together(&play, |sandbox| sandbox.write("compile_flags.txt", "-std=c17\n"));
}

/// Replaced, as `sed -i` does it, after both files were open in the server; in separate projects, where no
/// watched folder has both.
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
