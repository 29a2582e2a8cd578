//! Installed packages that change during a loop: a change that no installer made leaves the loop unverified,
//! and so does an installation that no manifest requires.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use super::{FIXED, notice, project, shell, start, status, stop};
use crate::support::{Sandbox, await_later_file_time, write_file};

const SITE: &str = ".venv/lib/python3.12/site-packages";
const NODE_RECORD: &str = "node_modules/.package-lock.json";

/// A description, and the change.
type PackageChange<'c> = (&'c str, &'c dyn Fn(&Sandbox));

/// A loop of a project with packages and a check of this command, which passes.
fn with_packages(command: &str) -> Sandbox {
    let sandbox = project();
    let words: Vec<&str> = command.split(' ').collect();
    let program = sandbox.base().join("bin").join(words[0]);
    write_file(&program, "#!/bin/sh\nexit 0\n");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("ours");
    let check = format!("{{name: unit, command: [{}]}}", words.join(", "));
    let options = format!("ralph: {{loop: {{checks: [{check}]}}}}\n");
    sandbox.write(".moai/config/sections/ralph.yaml", &options);
    sandbox.write(".gitignore", "node_modules\n.venv\n");
    sandbox.write("package.json", "{}\n");
    sandbox.write("requirements.txt", "pytest\n");
    for (name, text) in [
        ("node_modules/jest/index.js", "run()\n"),
        ("node_modules/jest/lib/run.js", "run()\n"),
        ("node_modules/@a/b/index.js", "run()\n"),
        ("node_modules/.pnpm/c/node_modules/c/index.js", "run()\n"),
        (NODE_RECORD, "{}\n"),
        (&format!("{SITE}/pytest/__init__.py"), "run()\n"),
        (&format!("{SITE}/pytest-8.dist-info/RECORD"), "pytest\n"),
        (".venv/bin/pytest", "#!/bin/sh\n"),
    ] {
        sandbox.write(name, text);
    }
    fs::create_dir_all(sandbox.path("node_modules/.bin")).expect("ours");
    symlink("../jest/index.js", sandbox.path("node_modules/.bin/jest")).expect("ours");
    sandbox.commit();
    let begun = start(&sandbox, &["--until", "checks", "--max-iterations", "9"]);
    assert_eq!(begun.code, 0, "{begun:#?}");
    sandbox.write("app.py", FIXED);
    sandbox
}

/// The end of the loop, and its report.
fn ended(sandbox: &Sandbox) -> (String, String) {
    assert_eq!(stop(sandbox, "finished"), None);
    let end = status(sandbox)["status"].as_str().unwrap_or_default().to_owned();
    (end, sandbox.run(&["loop", "report"]).stdout)
}

#[test]
fn packages_that_no_installer_changed_leave_a_loop_unverified() {
    let replace_link = |sandbox: &Sandbox| {
        fs::remove_file(sandbox.path("node_modules/.bin/jest")).expect("there");
        symlink("/bin/true", sandbox.path("node_modules/.bin/jest")).expect("ours");
    };
    let changes: [PackageChange<'_>; 8] = [
        ("node_modules/jest/lib/run.js", &|it| it.write("node_modules/jest/lib/run.js", "")),
        ("node_modules/jest/index.js", &|it| it.write("node_modules/jest/index.js", "run(0)\n")),
        ("node_modules/@a/b/new.js", &|it| it.write("node_modules/@a/b/new.js", "")),
        ("node_modules/.pnpm/c/node_modules/c/index.js", &|it| {
            it.write("node_modules/.pnpm/c/node_modules/c/index.js", "");
        }),
        ("site-packages/pytest/__init__.py", &|it| {
            it.write(&format!("{SITE}/pytest/__init__.py"), "");
            let past = std::time::SystemTime::UNIX_EPOCH;
            let file = it.path(&format!("{SITE}/pytest/__init__.py"));
            let file = fs::File::options().write(true).open(file).expect("there");
            file.set_modified(past).expect("ours");
        }),
        (".venv/bin/pytest", &|it| it.write(".venv/bin/pytest", "#!/bin/true\n")),
        ("node_modules/jest/lib", &|it| {
            fs::remove_file(it.path("node_modules/jest/lib/run.js")).expect("there");
        }),
        ("node_modules/.bin/jest", &replace_link),
    ];
    for (named, change) in changes {
        let sandbox = with_packages("npm test");
        shell(&sandbox, || change(&sandbox));
        let (end, report) = ended(&sandbox);
        assert_eq!(end, "completed_unverified", "{named}");
        assert!(
            report.contains(named) && report.contains("not by an installer"),
            "{named}: {report}"
        );
    }
}

#[test]
fn caches_and_old_packages_complete_a_loop() {
    let sandbox = with_packages("npm test");
    shell(&sandbox, || {
        for name in [
            "node_modules/.cache/a/b.json",
            "node_modules/.vite/deps/a.js",
            &format!("{SITE}/pytest/__pycache__/__init__.cpython-312.pyc"),
            "build/node_modules.txt",
        ] {
            sandbox.write(name, "x");
        }
    });
    assert_eq!(ended(&sandbox).0, "completed");
}

#[test]
fn an_installation_counts_if_a_manifest_asks_for_it() {
    let install = |sandbox: &Sandbox| {
        sandbox.write("node_modules/zod/index.js", "z\n");
        sandbox.write(&format!("{SITE}/attr/__init__.py"), "a\n");
        await_later_file_time(sandbox);
        sandbox.write(NODE_RECORD, "{\"zod\": 1}\n");
        sandbox.write(&format!("{SITE}/attr-1.dist-info/RECORD"), "attr\n");
    };
    let asked = with_packages("npm test");
    shell(&asked, || {
        asked.write("package.json", "{\"dependencies\": {\"zod\": \"1\"}}\n");
        install(&asked);
    });
    let stopped = asked.hook("stop", &asked.payload("Stop"));
    assert!(notice(&stopped).contains("node_modules, .venv"), "{stopped:#?}");
    assert_eq!(status(&asked)["status"], "completed");

    let unasked = with_packages("npm test");
    shell(&unasked, || install(&unasked));
    let (end, report) = ended(&unasked);
    assert_eq!(end, "completed_unverified");
    assert!(report.contains("no manifest or lock file changed"), "{report}");

    let installing = with_packages("npm ci");
    shell(&installing, || install(&installing));
    assert_eq!(ended(&installing).0, "completed");

    let edited = with_packages("npm ci");
    shell(&edited, || {
        install(&edited);
        await_later_file_time(&edited);
        edited.write("node_modules/zod/index.js", "");
    });
    let (end, report) = ended(&edited);
    assert_eq!(end, "completed_unverified");
    assert!(report.contains("node_modules/zod/index.js"), "{report}");
}
