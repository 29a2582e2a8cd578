//! gopls: finds errors and sees their fixes, also in dependents, and reports a project that cannot be
//! loaded.

use crate::servers::{check, findings, project_in};
use crate::support::{SESSION, Sandbox};

const MAIN: &str = "package main\n\nimport \"example.com/app/lib\"\n\nfunc main() {\n\tvar it int = lib.Made()\n\t_ = it\n}\n";
const RIGHT: &str = "package lib\n\nfunc Made() int { return 1 }\n";
const WRONG: &str = "package lib\n\nfunc Made() string { return \"\" }\n";
const VENDORED: &str = "# example.com/tools v0.0.0 => ../tools\n## explicit; go 1.19\nexample.com/tools/lib\n# example.com/tools => ../tools\n";

fn go() -> Sandbox {
    let sandbox = project_in(&["go"]);
    sandbox.write("go.mod", "module example.com/app\n\ngo 1.19\n");
    sandbox.write("lib/lib.go", RIGHT);
    sandbox.write("main.go", MAIN);
    sandbox
}

#[test]
fn gopls_finds_and_forgets_at_once() {
    let sandbox = go();
    assert_eq!(check(&sandbox, "main.go").0, 0);
    assert_eq!(check(&sandbox, "main.go").0, 0, "asked again about the same bytes");
    sandbox.write("main.go", &MAIN.replace("int =", "string ="));
    let (code, report) = check(&sandbox, "main.go");
    let found = findings(&report, "gopls");
    assert_eq!(code, 1, "{report:#}");
    assert_eq!((found[0].0.as_str(), found[0].2), ("main.go", 5));
    sandbox.write("main.go", MAIN);
    assert_eq!(check(&sandbox, "main.go").0, 0);
}

#[test]
fn columns_behind_astral_characters_are_counted_as_lsp_does() {
    let sandbox = go();
    let line = "\tvar a, it int = len(\"🦀한\"), \"\"\n\t_ = a\n";
    sandbox.write("main.go", &MAIN.replace("\tvar it int = lib.Made()\n", line));
    let (_, report) = check(&sandbox, "main.go");
    let finding = report["findings"].as_array().expect("findings").iter().find(|finding| {
        finding["message"].as_str().is_some_and(|message| message.contains("untyped string"))
    });
    let finding = finding.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(finding["range"]["start"]["character"], 29, "{finding:#}");
}

#[test]
fn gopls_follows_the_disk() {
    let sandbox = go();
    let remove = || std::fs::remove_file(sandbox.path("lib/lib.go")).expect("the file is ours");
    let expect = |code: i32| {
        let (actual, report) = check(&sandbox, "main.go");
        assert_eq!(actual, code, "{report:#}");
    };
    expect(0);
    sandbox.write("lib/lib.go", WRONG);
    expect(1);
    // As git does it: unlinked and created, not written over.
    remove();
    sandbox.write("lib/lib.go", RIGHT);
    expect(0);
    remove();
    expect(1);
    sandbox.write("lib/lib.go", RIGHT);
    expect(0);
}

#[test]
fn an_embedded_file_may_disappear_and_come_back() {
    let sandbox = go();
    let text = "package main\n\nimport \"embed\"\n\n//go:embed data/a.txt\nvar text string\n\n\
         //go:embed static\nvar pages embed.FS\n\nfunc main() { _, _ = text, pages }\n";
    sandbox.write("main.go", text);
    sandbox.write("data/a.txt", "1");
    sandbox.write("static/page.html", "1");
    let expect = |code: i32, what: &str| {
        let (actual, report) = check(&sandbox, "main.go");
        assert_eq!(actual, code, "{what}: {report:#}");
    };
    let remove = |name: &str| std::fs::remove_file(sandbox.path(name)).expect("the file is ours");
    expect(0, "both are there");
    remove("data/a.txt");
    expect(1, "a file is gone");
    sandbox.write("data/a.txt", "2");
    expect(0, "it is back");
    remove("static/page.html");
    expect(1, "a folder is empty");
    sandbox.write("static/page.html", "2");
    expect(0, "it is back");
}

#[test]
fn a_header_that_cgo_reads_counts_at_once() {
    let sandbox = go();
    let header = |parameters: &str| format!("static int half({parameters}) {{ return n; }}\n");
    sandbox.write("half/half.h", &header("int n"));
    let text = "package half\n\n// #include \"half.h\"\nimport \"C\"\n\nvar Half = C.half(1)\n";
    sandbox.write("half/half.go", text);
    sandbox.commit();
    assert_eq!(check(&sandbox, "half/half.go").0, 0);
    for (parameters, code) in [("int n, int m", 1), ("int n", 0)] {
        sandbox.write("half/half.h", &header(parameters));
        let (found, report) = check(&sandbox, "half/half.go");
        assert_eq!(found, code, "{parameters}: {report:#}");
    }
}

#[test]
fn a_burst_ends_with_the_truth_about_the_last_text() {
    let sandbox = go();
    check(&sandbox, "main.go");
    let broken = MAIN.replace("int =", "string =");
    for (last, code) in [(&broken, 1), (&MAIN.to_owned(), 0)] {
        std::thread::scope(|scope| {
            for round in 0..10 {
                let text = if round % 2 == 0 { MAIN } else { &broken };
                let sandbox = &sandbox;
                scope.spawn(move || sandbox.tool_write("main.go", text));
            }
        });
        sandbox.write("main.go", last);
        let (actual, report) = check(&sandbox, "main.go");
        assert_eq!(actual, code, "{report:#}");
    }
}

#[test]
fn without_a_module_imports_are_one_gap() {
    let sandbox = go();
    std::fs::remove_file(sandbox.path("go.mod")).expect("the file is ours");
    let (code, report) = check(&sandbox, "main.go");
    assert_eq!(code, 4, "{report:#}");
    let reason = report["sensors"][0]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("gopls cannot load the project"), "{report:#}");
}

#[test]
fn a_corrected_module_counts_again() {
    let sandbox = go();
    assert_eq!(check(&sandbox, "main.go").0, 0);
    let manifest = sandbox.read("go.mod");
    sandbox.write("go.mod", &manifest.replace("go 1.19", "goo 1.19"));
    let (code, report) = check(&sandbox, "main.go");
    assert_eq!(code, 4, "{report:#}");
    sandbox.write("go.mod", &manifest);
    let (code, report) = check(&sandbox, "main.go");
    assert_eq!(code, 0, "{report:#}");
}

#[test]
fn a_module_that_go_work_does_not_list_is_one_gap() {
    let sandbox = project_in(&["go"]);
    sandbox.write("go.work", "go 1.19\n\nuse ./app\n");
    sandbox.write("app/go.mod", "module example.com/app\n\ngo 1.19\n");
    sandbox.write("app/main.go", "package main\n\nfunc main() {}\n");
    sandbox.write("tools/go.mod", "module example.com/tools\n\ngo 1.19\n");
    sandbox.write("tools/lib/lib.go", RIGHT);
    let main = MAIN.replace("example.com/app/lib", "example.com/tools/lib");
    sandbox.write("tools/main.go", &main);
    assert_eq!(check(&sandbox, "app/main.go").0, 0);
    let (code, report) = check(&sandbox, "tools/main.go");
    assert_eq!(code, 4, "{report:#}");
    assert!(findings(&report, "gopls").is_empty(), "{report:#}");
    assert!(report.to_string().contains("go work use ./tools"), "{report:#}");
    sandbox.write("go.work", "go 1.19\n\nuse (\n\t./app\n\t./tools\n)\n");
    let (code, report) = check(&sandbox, "tools/main.go");
    assert_eq!(code, 0, "{report:#}");
}

#[test]
fn the_workspace_is_that_of_go_env() {
    let mut sandbox = project_in(&["go"]);
    sandbox.write("go.work", "go 1.19\n\nuse ./app\n");
    sandbox.write("app/go.mod", "module example.com/app\n\ngo 1.19\n");
    sandbox.write("tools/go.mod", "module example.com/tools\n\ngo 1.19\n");
    sandbox.write("tools/main.go", "package main\n\nfunc main() {}\n");
    assert_eq!(check(&sandbox, "tools/main.go").0, 4);
    let folder = sandbox.path("../home/.config/go");
    std::fs::create_dir_all(&folder).expect("the home is ours");
    std::fs::write(folder.join("env"), "GOWORK=off\n").expect("the home is ours");
    let (code, report) = check(&sandbox, "tools/main.go");
    assert_eq!(code, 0, "{report:#}");
    sandbox.write("tools/main.go", "package main\n\nfunc main() { missing() }\n");
    assert_eq!(check(&sandbox, "tools/main.go").0, 1);
    sandbox.write("other/go.work", "go 1.19\n\nuse ../app\n");
    let other = sandbox.path("other/go.work").display().to_string();
    sandbox.set("GOWORK", &other);
    let (code, report) = check(&sandbox, "tools/main.go");
    assert_eq!(code, 4, "{report:#}");
}

#[test]
fn another_target_system_is_another_project() {
    let mut sandbox = go();
    let text = "package main\n\nimport \"syscall\"\n\nfunc main() { _ = syscall.Kill }\n";
    sandbox.write("main.go", text);
    sandbox.set("GOOS", "linux");
    assert_eq!(check(&sandbox, "main.go").0, 0);
    sandbox.set("GOOS", "windows");
    let (code, report) = check(&sandbox, "main.go");
    assert_eq!(code, 1, "{report:#}");
    sandbox.set("GOOS", "linux");
    assert_eq!(check(&sandbox, "main.go").0, 0);
}

#[test]
fn gopls_follows_the_settings_of_the_go_command() {
    let sandbox = go();
    let text = "package main\n\nimport \"syscall\"\n\nfunc main() { _ = syscall.Kill }\n";
    sandbox.write("main.go", text);
    let folder = sandbox.path("../home/.config/go");
    std::fs::create_dir_all(&folder).expect("the home is ours");
    for (system, code) in [("linux", 0), ("windows", 1), ("linux", 0)] {
        std::fs::write(folder.join("env"), format!("GOOS={system}\n")).expect("the home is ours");
        let (found, report) = check(&sandbox, "main.go");
        assert_eq!(found, code, "{system}: {report:#}");
    }
}

/// `go` reads it in place of the one that `go.mod` requires, and gopls registers for none of its files.
#[test]
fn a_replaced_module_outside_the_project_may_disappear_and_come_back() {
    let sandbox = project_in(&["go"]);
    let replaced = "require example.com/tools v0.0.0\n\nreplace example.com/tools => ../tools\n";
    sandbox.write("go.mod", &format!("module example.com/app\n\ngo 1.19\n\n{replaced}"));
    sandbox.write("main.go", &MAIN.replace("example.com/app/lib", "example.com/tools/lib"));
    sandbox.write("../tools/go.mod", "module example.com/tools\n\ngo 1.19\n");
    sandbox.write("../tools/lib/lib.go", RIGHT);
    let (tools, moved) = (sandbox.base().join("tools"), sandbox.base().join("moved"));
    assert_eq!(check(&sandbox, "main.go").0, 0);
    std::fs::rename(&tools, &moved).expect("the sandbox is writable");
    let (code, report) = check(&sandbox, "main.go");
    assert_ne!(code, 0, "{report:#}");
    std::fs::rename(&moved, &tools).expect("the sandbox is writable");
    assert_eq!(check(&sandbox, "main.go").0, 0);
    sandbox.write("../tools/lib/lib.go", WRONG);
    assert_eq!(check(&sandbox, "main.go").0, 1);
    sandbox.write("../tools/lib/lib.go", RIGHT);
    // Vendored, it is read from the folder `vendor`.
    sandbox.write("vendor/modules.txt", VENDORED);
    sandbox.write("vendor/example.com/tools/lib/lib.go", RIGHT);
    assert_eq!(check(&sandbox, "main.go").0, 0);
    sandbox.write("vendor/example.com/tools/lib/lib.go", WRONG);
    assert_eq!(check(&sandbox, "main.go").0, 1);
    std::fs::remove_dir_all(sandbox.path("vendor")).expect("it was written");
    assert_eq!(check(&sandbox, "main.go").0, 0);
}

const IDS: &str = "package ids\n\nfunc Next(n int) int { return n + 1 }\n";

/// Two modules in a `go.work`, of which the first one has a package `ids`, used by `seq`, and files for
/// another system.
fn workspace() -> Sandbox {
    let sandbox = project_in(&["go"]);
    sandbox.write("go.work", "go 1.19\n\nuse (\n\t./core\n\t./app\n)\n");
    sandbox.write("core/go.mod", "module ex.com/core\n\ngo 1.19\n");
    sandbox.write("core/internal/ids/ids.go", IDS);
    let seq = "package seq\n\nimport \"ex.com/core/internal/ids\"\n\nfunc After(n int) int { return ids.Next(n) + sep() }\n";
    sandbox.write("core/seq/seq.go", seq);
    sandbox.write("core/seq/sep.go", "package seq\n\nfunc sep() int { return 1 }\n");
    let other = "package seq\n\nfunc Plat() int { return sep() }\n";
    sandbox.write("core/seq/plat_linux.go", other);
    sandbox.write("core/seq/plat_windows.go", other);
    sandbox.write("app/go.mod", "module ex.com/app\n\ngo 1.19\n\nrequire ex.com/core v0.0.0\n\nreplace ex.com/core => ../core\n");
    let main =
        "package main\n\nimport \"ex.com/core/seq\"\n\nfunc main() { println(seq.After(2)) }\n";
    sandbox.write("app/main.go", main);
    sandbox.commit();
    sandbox
}

/// The status of a loop after one Stop.
fn stopped(sandbox: &Sandbox, work: impl FnOnce()) -> String {
    let start = ["loop", "start", "--session", SESSION, "--until", "diagnostics"];
    let output = sandbox.run(&[&start[..], &["--prompt", "change it"]].concat());
    assert_eq!(output.code, 0, "{output:#?}");
    work();
    sandbox.hook("stop", &sandbox.payload("Stop"));
    let status = sandbox.run(&["loop", "status", "--json"]).json();
    status["status"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_cycle_that_gopls_attributes_to_unchanged_files_is_not_older() {
    let sandbox = workspace();
    sandbox.run(&["check", "--all"]);
    sandbox.write("app/web/web.go", "package web\n\nimport _ \"ex.com/core/seq\"\n");
    assert_eq!(check(&sandbox, "app/web").0, 0);
    std::fs::remove_dir_all(sandbox.path("app/web")).expect("the folder is ours");
    // gopls loads the removed package and the edited one together.
    let cyclic = IDS.replace("ids\n", "ids\n\nimport _ \"ex.com/core/seq\"\n");
    let status = stopped(&sandbox, || {
        sandbox.tool_write("core/internal/ids/ids.go", &cyclic);
    });
    assert_ne!(status, "completed");
}

#[test]
fn a_wrong_embed_directive_holds_the_stop() {
    let embedding = "package lib\n\nimport _ \"embed\"\n\n//go:embed data.txt\nvar Data string\n";
    let without_import = embedding.replace("import _ \"embed\"\n\n", "");
    for wrong in [embedding.replace("data.txt", "nothere.txt"), without_import] {
        let sandbox = go();
        sandbox.write("lib/data.txt", "data\n");
        sandbox.write("lib/data.go", embedding);
        sandbox.commit();
        let status = stopped(&sandbox, || {
            sandbox.tool_write("lib/data.go", &wrong);
        });
        assert_eq!(status, "running", "{wrong}");
    }
}

#[test]
fn an_import_that_no_download_mends_is_an_error() {
    let sandbox = workspace();
    for package in ["internal/ids", "nothere"] {
        let main =
            format!("package main\n\nimport _ \"ex.com/core/{package}\"\n\nfunc main() {{}}\n");
        sandbox.write("app/main.go", &main);
        let (code, report) = check(&sandbox, "app/main.go");
        assert_eq!((code, findings(&report, "gopls")[0].2), (1, 2), "{package}: {report:#}");
    }
}

#[test]
fn files_for_another_system_leave_new_files_of_their_package_measured() {
    let sandbox = workspace();
    let status = stopped(&sandbox, || {
        let test = "package seq_test\n\nimport (\n\t\"testing\"\n\n\t\"ex.com/core/seq\"\n)\n\nfunc TestMax(t *testing.T) {\n\tif seq.Max(1, 2) != 2 {\n\t\tt.Fatal()\n\t}\n}\n";
        sandbox.tool_write("core/seq/seq_test.go", test);
        let max = "package seq\n\nfunc Max(a, b int) int {\n\tif a > b {\n\t\treturn a\n\t}\n\treturn b + 0*sep()\n}\n";
        sandbox.tool_write("core/seq/max.go", max);
    });
    assert_eq!(status, "completed");
}

#[test]
fn files_for_another_system_are_unmeasured_when_they_use_what_changed() {
    let sandbox = workspace();
    let status = stopped(&sandbox, || {
        sandbox.tool_write("core/seq/sep.go", "package seq\n\nfunc gap() int { return 1 }\n");
        let seq = "package seq\n\nimport \"ex.com/core/internal/ids\"\n\nfunc After(n int) int { return ids.Next(n) + gap() }\n";
        sandbox.tool_write("core/seq/seq.go", seq);
        let plat = "package seq\n\nfunc Plat() int { return gap() }\n";
        sandbox.tool_write("core/seq/plat_linux.go", plat);
    });
    assert_eq!(status, "completed_unverified");
}

#[test]
fn c_that_cgo_reads_holds_the_stop_wherever_it_is() {
    let sandbox = go();
    let preamble = "package lib\n\n/*\n#include \"area.h\"\nstatic int twice(int x) { return 2 * x; }\n*/\nimport \"C\"\n\nfunc Made() int { return int(C.twice(C.int(C.area(2)))) }\n";
    sandbox.write("lib/lib.go", preamble);
    sandbox.write("lib/area.h", "int area(int side);\n");
    sandbox
        .write("lib/area.c", "#include \"area.h\"\nint area(int side) { return side * side; }\n");
    sandbox.commit();
    let renamed = preamble.replace("int twice", "int thrice");
    let called = renamed.replace("C.twice", "C.thrice");
    for (name, text, expected) in [
        ("lib/lib.go", renamed.as_str(), "running"),
        ("lib/lib.go", called.as_str(), "completed"),
        ("lib/area.h", "int surface(int side);\n", "running"),
    ] {
        assert_eq!(stopped(&sandbox, || drop(sandbox.tool_write(name, text))), expected, "{name}");
        sandbox.run(&["loop", "cancel"]);
    }
}
