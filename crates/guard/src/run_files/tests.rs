//! Which files count as run or loaded, and which are the work.

use super::*;

fn path(text: &str) -> RelPath {
    RelPath::parse(text).expect("a relative path")
}

fn names(found: &RunFiles) -> Vec<&str> {
    found.files.iter().map(|one| one.path.as_str()).collect()
}

fn check(text: &str, expected: &[&str]) {
    let found = files_of_shell_text(text, None, "", "/srv/p");
    assert_eq!(names(&found), expected, "{text}");
}

#[test]
fn a_program_that_a_command_runs_counts_and_its_input_does_not() {
    for (command, expected) in [
        ("./check.sh", "check.sh"),
        ("sh -e ci.sh fast", "ci.sh"),
        ("bash -o pipefail ci.sh", "ci.sh"),
        ("python3.12 tools/verify.py src/a.py", "tools/verify.py"),
        ("node scripts/grade.mjs", "scripts/grade.mjs"),
        ("npx tsx scripts/grade.ts", "scripts/grade.ts"),
        ("./gradlew test", "gradlew"),
        ("/srv/p/t/check.sh", "t/check.sh"),
        ("bash -c ./x.sh", "x.sh"),
        ("sh -c \"sh t/c.sh\"", "t/c.sh"),
        ("bash -lc 'cd t && ./c.sh'", "t/c.sh"),
        ("env X=1 sh t/c.sh", "t/c.sh"),
        ("nice -n 1 timeout 60s sh t/c.sh", "t/c.sh"),
        ("xargs -a t/list -n1 sh", "t/list"),
        ("go run ./tools/verify", "tools/verify/*.go"),
        ("run-parts checks.d", "checks.d/*"),
        ("perl t/c.pl", "t/c.pl"),
        ("awk -f t/a.awk src/a.txt", "t/a.awk"),
        ("sed -nf t/s.sed src/a.txt", "t/s.sed"),
        ("grep -q -f t/pat src/a.txt", "t/pat"),
        ("diff src/a.txt t/exp", "t/exp"),
        ("cmp src/a.txt t/exp", "t/exp"),
        ("sha256sum -c t/sums", "t/sums"),
    ] {
        check(command, &[expected]);
    }
    for command in [
        "pytest tests/a.py",
        "mypy tools/a.py",
        "python3 -m pytest x.py",
        "python main.py",
        "python3 src/app.py",
        "diff src/a.txt src/b.txt",
        "node dist/check.js",
        "./target/debug/app",
        "/usr/bin/env",
        "../check.sh",
        "npx eslint scripts/a.js",
        "ruff check tools/a.py",
    ] {
        check(command, &[]);
    }
}

#[test]
fn a_module_that_python_runs_is_one_of_its_files() {
    let found = files_of_shell_text("cd web && python3 -m t.chk", None, "", "/p");
    let expected =
        ["web/t/__init__.py", "web/t/chk.py", "web/t/chk/__init__.py", "web/t/chk/__main__.py"];
    assert_eq!(names(&found), expected);
}

#[test]
fn makefiles_and_package_files_are_used_with_what_runs_of_them() {
    let by = |text: &str| {
        let found = files_of_shell_text(text, None, "", "/p");
        let lines = found.files.into_iter().map(|one| format!("{} {:?}", one.path, one.by));
        lines.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(by("make -C web -f ci.mk test X=1"), "web/ci.mk Makefile([\"test\"])");
    assert_eq!(by("make").matches("Makefile([])").count(), 3);
    assert_eq!(by("npm run --silent lint"), "package.json PackageScript(\"lint\")");
    assert_eq!(by("npm --prefix web test"), "web/package.json PackageScript(\"test\")");
    let package = r#"{"scripts": {"pretest": "a", "test": "sh b.sh", "other": "c"}}"#;
    assert_eq!(package_script(package, "test").as_deref(), Some("(a)\n(sh b.sh)\n"));
    assert_eq!(package_script(package, "build"), None);
}

#[test]
fn a_script_finds_others_by_variables_patterns_and_its_own_place() {
    let script = path("t/check.sh");
    for (folder, text, expected) in [
        ("", ". t/lib/h.sh\n", "t/lib/h.sh"),
        ("", "bash \"$(dirname \"$0\")\"/lib/h.sh\n", "t/lib/h.sh"),
        ("web", ". ./h.sh\n", "web/h.sh"),
        ("web/app", ". $(dirname $0)/h.sh\n", "t/h.sh"),
        ("", "F=t/l.sh\nsh $F\n", "t/l.sh"),
        ("", "for f in t/cases/*.sh; do sh \"$f\" || exit 1; done\n", "t/cases/*.sh"),
        ("", "cd \"$(dirname \"$0\")/..\" && . scripts/env.sh\n", "scripts/env.sh"),
        (
            "",
            "ROOT=\"$(cd \"$(dirname \"${BASH_SOURCE[0]}\")/..\" && pwd)\"\nsh \"$ROOT/x.sh\"",
            "x.sh",
        ),
        ("", "cd \"$CLAUDE_PROJECT_DIR\"\nif ! ./bin/check; then exit 1; fi\n", "bin/check"),
        ("", "HERE=${0%/*}\n\"$HERE\"/run\n", "t/run"),
        ("web", "(cd app && true)\nsh x.sh\n", "web/x.sh"),
        (
            "",
            "set -e\n# ./old.sh\nPYTHONPATH=. timeout 60s ./check.sh --all || exit 1\n",
            "check.sh",
        ),
    ] {
        let found = files_of_shell_text(text, Some(&script), folder, "/p");
        assert_eq!(names(&found), [expected], "{folder}: {text}");
    }
    let text = "FILES=(src/a.py\n src/b.py)\ngrep x src/c.py && wc \"${FILES[@]}\"\n";
    assert_eq!(names(&files_of_shell_text(text, Some(&script), "", "/p")), [""; 0]);
    check("(cd a && sh x.sh)\n(cd b && sh y.sh)\nsh z.sh", &["a/x.sh", "b/y.sh", "z.sh"]);
    let found = files_of_shell_text("npm ci > t/log.txt; bash -lc x | tee t/out", None, "", "/p");
    assert_eq!(found.written, BTreeSet::from([path("t/log.txt"), path("t/out")]));
    assert!(found.has_login_shell && found.programs.contains("npm"));
}

#[test]
fn what_a_program_imports_and_reads_counts_where_it_examines() {
    let found = |name: &str, text: &str, folder: &str| {
        let found = files_of_program(&path(name), text, folder);
        found.files.into_iter().map(|one| one.path.to_string()).collect::<Vec<_>>()
    };
    let python = "import os, lib\nfrom src.app import add\nfrom . import data\n\
        w = json.load(open(\"t/want.json\"))[\"w\"]\nsubprocess.run([\"sh\", \"t/c.sh\"])\n";
    let all = found("t/c.py", python, "");
    for name in ["t/lib.py", "t/data.py", "t/want.json", "t/c.sh"] {
        assert!(all.iter().any(|one| one == name), "{name}: {all:?}");
    }
    assert!(!all.iter().any(|one| one.starts_with("src") || one == "lib.py"), "{all:?}");
    let node = found("scripts/run.js", "require('./lib').run(require(\"../src/add\"))\n", "");
    assert!(node.iter().any(|one| one == "scripts/lib.js"), "{node:?}");
    assert!(!node.iter().any(|one| one.contains("src")), "{node:?}");
    // A file that it may write is a result.
    assert_eq!(found("t/c.py", "open('t/out.json', 'w')\n", ""), [""; 0]);
    let module = found("t/chk.py", "from lib.x import y\n", "web");
    assert!(module.iter().any(|one| one == "t/lib/x.py"), "{module:?}");
}

#[test]
fn an_examiner_is_known_by_its_place_or_its_name() {
    for name in [
        ".claude/run.py",
        "t/want.json",
        "tools/lib.py",
        "tests/lib/h.rb",
        "src/tests/h.py",
        "checks.d/10-a",
        "verify_all.py",
        "packages/a/scripts/x.js",
    ] {
        assert!(is_examiner(&path(name)), "{name}");
    }
    for name in ["main.py", "src/check.py", "lib/tools/x.py", "web/app.js", "latest.txt", "out.txt"]
    {
        assert!(!is_examiner(&path(name)), "{name}");
    }
    let is_shell = |name: &str, text: &str| is_shell_script(&path(name), text);
    assert!(is_shell("a.sh", "") && is_shell("check", "#!/usr/bin/env bash\n"));
    assert!(!is_shell("a.py", "") && !is_shell("check", "#!/usr/bin/python3\n"));
}
