//! Errors that a change causes in files without any mention of it: before a loop ends as completed, all
//! source files of a small project are measured, and in a large one the importers of importers.

use crate::servers::project_in;
use crate::support::{SESSION, Sandbox};
use moai_base::limits::RELATED_FILES_MAX;

const TSCONFIG: &str = "{\"compilerOptions\": {\"target\": \"es2022\", \"module\": \"esnext\", \
     \"moduleResolution\": \"bundler\", \"strict\": true, \"noEmit\": true, \"types\": [], \
     \"resolveJsonModule\": true, \"paths\": {\"@/*\": [\"./src/*\"]}}, \"include\": [\"src\"]}\n";

fn looping(files: &[(&str, &str)]) -> Sandbox {
    looping_in(&["python", "typescript", "json"], files)
}

fn looping_in(languages: &[&str], files: &[(&str, &str)]) -> Sandbox {
    let sandbox = project_in(languages);
    for (path, text) in files {
        sandbox.write(path, text);
    }
    sandbox.commit();
    let start = ["loop", "start", "--session", SESSION, "--until", "diagnostics"];
    let output = sandbox.run(&[&start[..], &["--prompt", "change it"]].concat());
    assert_eq!(output.code, 0, "{output:#?}");
    sandbox
}

/// The reason of a held Stop.
fn held(sandbox: &Sandbox) -> String {
    let stopped = sandbox.hook("stop", &sandbox.payload("Stop")).json();
    assert_eq!(stopped["decision"], "block", "{stopped:#}");
    stopped["reason"].as_str().unwrap_or_default().to_owned()
}

fn status(sandbox: &Sandbox) -> String {
    let status = sandbox.run(&["loop", "status", "--json"]).json();
    status["status"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_new_required_field_breaks_the_callers_of_a_function_with_that_parameter() {
    let make = "export interface Options {\n  alpha: number;\n}\n\n\
                export function make(options: Options): number {\n  return options.alpha;\n}\n";
    let used = "import { make } from './make';\n\nexport const made = make({ alpha: 1 });\n";
    let sandbox =
        looping(&[("tsconfig.json", TSCONFIG), ("src/make.ts", make), ("src/used.ts", used)]);
    sandbox.tool_write(
        "src/make.ts",
        &make.replace("number;\n}\n\n", "number;\n  beta: string;\n}\n\n"),
    );
    assert!(held(&sandbox).contains("src/used.ts:3:"));
}

const CHAIN: [(&str, &str); 3] = [
    ("first.py", "def first():\n    return 1\n"),
    ("second.py", "from first import first\n\n\ndef second():\n    return first()\n"),
    ("third.py", "from second import second\n\nnumber: int = second()\n"),
];

/// Files that bring a project above the number that is measured whole.
fn unrelated(extension: &str) -> Vec<(String, String)> {
    let file = |at| (format!("src/unrelated/m{at}.{extension}"), String::from("\n"));
    (0..=RELATED_FILES_MAX).map(file).collect()
}

#[test]
fn a_type_that_a_file_in_between_infers_breaks_the_third() {
    let sandbox = looping(&CHAIN);
    sandbox.tool_write("first.py", "def first():\n    return 'x'\n");
    assert!(held(&sandbox).contains("third.py:3:"));
    let checked = sandbox.run(&["check"]);
    assert_eq!(checked.code, 1, "{checked:#?}");
    assert!(checked.stdout.contains("third.py:3:"), "{checked:#?}");
    // A Stop is held by the first error that is found; a check lists them all.
    sandbox.tool_write("first.py", "def first():\n    return 'x'\n\n\nfirst() + 1\n");
    let checked = sandbox.run(&["check"]);
    for place in ["first.py:5:", "third.py:3:"] {
        assert!(checked.stdout.contains(place), "{checked:#?}");
    }
}

#[test]
fn importers_of_importers_are_measured_in_a_large_project() {
    let unrelated = unrelated("py");
    let unrelated = unrelated.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let files: Vec<(&str, &str)> = CHAIN.into_iter().chain(unrelated).collect();
    let sandbox = looping(&files);
    sandbox.tool_write("first.py", "def first():\n    return 'x'\n");
    assert!(held(&sandbox).contains("third.py:3:"));
    let checked = sandbox.run(&["check"]);
    assert!(checked.stdout.contains("third.py:3:"), "{checked:#?}");
}

#[test]
fn a_name_of_two_letters_is_followed_through_a_barrel_in_a_large_project() {
    let make = "export function mk(size: number): number {\n  return size;\n}\n";
    let unrelated = unrelated("ts");
    let unrelated = unrelated.iter().map(|(path, text)| (path.as_str(), text.as_str()));
    let own = [
        ("tsconfig.json", TSCONFIG),
        ("src/shop/make.ts", make),
        ("src/shop/index.ts", "export * from './make';\n"),
        ("src/page.ts", "import { mk } from '@/shop';\n\nexport const page = mk(1);\n"),
    ];
    let files: Vec<(&str, &str)> = own.into_iter().chain(unrelated).collect();
    let sandbox = looping(&files);
    let changed = make.replace("size: number", "size: string").replace("size;", "size.length;");
    sandbox.tool_write("src/shop/make.ts", &changed);
    assert!(held(&sandbox).contains("src/page.ts:3:"));
}

#[test]
fn a_name_of_two_letters_is_not_too_short_to_break_its_callers() {
    let sandbox = looping(&[
        ("steps.py", "def up(by: int) -> int:\n    return by\n"),
        ("walk.py", "from steps import up\n\nheight = up(1)\n"),
    ]);
    sandbox.tool_write("steps.py", "def up(by: int, to: int) -> int:\n    return by + to\n");
    assert!(held(&sandbox).contains("walk.py:3:"));
}

/// Held when the programs were measured before the change, else open: never completed.
fn breaks_by_configuration(sandbox: &Sandbox, broken: &str) {
    let stopped = sandbox.hook("stop", &sandbox.payload("Stop")).json();
    if stopped["decision"] == "block" {
        let reason = stopped["reason"].as_str().unwrap_or_default();
        assert!(reason.contains(broken), "{reason}");
    } else {
        assert_eq!(status(sandbox), "completed_unverified", "{stopped:#}");
        let message = stopped["systemMessage"].as_str().unwrap_or_default();
        assert!(message.contains(broken), "{message}");
    }
}

#[test]
fn a_changed_tsconfig_concerns_every_program_it_configures() {
    let sandbox = looping(&[
        ("tsconfig.json", TSCONFIG),
        ("src/sum.ts", "export const sum = 1;\n"),
        ("src/used.ts", "import { sum } from '@/sum';\n\nexport const twice = sum * 2;\n"),
    ]);
    sandbox.tool_write("tsconfig.json", &TSCONFIG.replace("\"@/*\"", "\"~/*\""));
    breaks_by_configuration(&sandbox, "src/used.ts");
}

#[test]
fn a_changed_pyrightconfig_concerns_every_program_it_configures() {
    let sandbox = looping(&[
        ("pyrightconfig.json", "{\"extraPaths\": [\"lib\"]}\n"),
        ("lib/helper.py", "def help_me(number: int) -> int:\n    return number\n"),
        ("app.py", "from helper import help_me\n\nnumber = help_me(1)\n"),
    ]);
    sandbox.tool_write("pyrightconfig.json", "{}\n");
    breaks_by_configuration(&sandbox, "app.py");
}

#[test]
fn data_that_is_a_module_breaks_what_imports_it() {
    let used = "import data from './data.json';\n\nexport const first: number = data.alpha;\n";
    // Another key, and another type of the value.
    for changed in ["{\"omega\": 1}\n", "{\"alpha\": \"1\"}\n"] {
        let sandbox = looping(&[
            ("tsconfig.json", TSCONFIG),
            ("src/data.json", "{\"alpha\": 1}\n"),
            ("src/used.ts", used),
        ]);
        sandbox.tool_write("src/data.json", changed);
        assert!(held(&sandbox).contains("src/used.ts:3:"), "{changed}");
    }
}

#[test]
fn a_renamed_go_package_breaks_its_importers_in_the_first_seconds_of_a_loop() {
    let main = "package main\n\nimport \"example.com/app/gen\"\n\nfunc main() { gen.Make() }\n";
    let made = "package gen\n\nfunc Make() {}\n";
    let sandbox = looping_in(
        &["go"],
        &[
            ("go.mod", "module example.com/app\n\ngo 1.19\n"),
            ("main.go", main),
            ("gen/gen.go", made),
        ],
    );
    sandbox.tool_write("gen/gen.go", &made.replace("package gen", "package gens"));
    assert!(held(&sandbox).contains("main.go:5:"));
}

#[test]
fn declarations_of_a_header_break_those_who_include_it() {
    let header = "#pragma once\nconstexpr int kSize = 4;\nclass Box {\npublic:\n  int of();\n};\n";
    let user = "#include \"box.hpp\"\nint sizes[kSize] = {1, 2, 3, 4};\nint made(Box &box) { return box.of(); }\n";
    for (old, new, line) in [("= 4", "= 3", "user.cpp:2:"), ("public:", "private:", "user.cpp:3:")]
    {
        let flags = ("compile_flags.txt", "-std=c++17\n-xc++\n");
        let files = [flags, ("box.hpp", header), ("user.cpp", user)];
        let sandbox = looping_in(&["cpp"], &files);
        // Known as the loop's base at once.
        let checked = sandbox.run(&["check", "--all"]);
        assert_eq!(checked.code, 0, "{checked:#?}");
        sandbox.tool_write("box.hpp", &header.replace(old, new));
        assert!(held(&sandbox).contains(line), "{new}");
    }
}
