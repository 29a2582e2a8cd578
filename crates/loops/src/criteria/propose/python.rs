//! Python: pytest or unittest, ruff or flake8, mypy or pyright. There is no build to propose,
//! because the tests prove that the code runs.

use super::{CheckCriterion, CheckProposals};

pub(super) fn propose(found: &mut CheckProposals<'_>) {
    let manifests = ["pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "tox.ini"];
    let Some(manifest) = found.first(&manifests).or_else(|| found.first(&["pytest.ini"])) else {
        return;
    };
    tests(found, manifest);
    lint(found);
    types(found);
}

fn tests(found: &mut CheckProposals<'_>, manifest: &'static str) {
    let sections = [
        ("pyproject.toml", "[tool.pytest"),
        ("setup.cfg", "[tool:pytest]"),
        ("tox.ini", "[pytest]"),
    ];
    let configured = sections.iter().find(|(file, start)| found.has_section(file, start));
    let named = ["pyproject.toml", "requirements.txt", "requirements-dev.txt", "setup.cfg"]
        .into_iter()
        .find(|file| found.text(file).contains("pytest"));
    let source = found
        .first(&["pytest.ini", "conftest.py", "tests/conftest.py"])
        .or(configured.map(|(file, _)| *file))
        .or(named);
    if let Some(source) = source {
        let argv = tool(found, "pytest");
        found.add_argv(CheckCriterion::TestPass, argv, source, "speaks of pytest");
    } else if found.has("tests") || found.has("test") || found.starting("test_").is_some() {
        let argv = python(found, &["-m", "unittest", "discover"]);
        found.add_argv(
            CheckCriterion::TestPass,
            argv,
            manifest,
            "and tests without a runner are there",
        );
    }
}

fn lint(found: &mut CheckProposals<'_>) {
    let ruff = found
        .first(&["ruff.toml", ".ruff.toml"])
        .or_else(|| found.has_section("pyproject.toml", "[tool.ruff").then_some("pyproject.toml"));
    if let Some(source) = ruff {
        let mut argv = tool(found, "ruff");
        argv.extend(["check", "."].map(str::to_owned));
        return found.add_argv(CheckCriterion::LintClean, argv, source, "configures ruff");
    }
    let sections = ["setup.cfg", "tox.ini"];
    let flake = found
        .first(&[".flake8"])
        .or_else(|| sections.into_iter().find(|file| found.has_section(file, "[flake8]")));
    if let Some(source) = flake {
        let argv = tool(found, "flake8");
        found.add_argv(CheckCriterion::LintClean, argv, source, "configures flake8");
    }
}

fn types(found: &mut CheckProposals<'_>) {
    let mypy = found
        .first(&["mypy.ini", ".mypy.ini"])
        .or_else(|| found.has_section("pyproject.toml", "[tool.mypy]").then_some("pyproject.toml"))
        .or_else(|| found.has_section("setup.cfg", "[mypy]").then_some("setup.cfg"));
    if let Some(source) = mypy {
        let mut argv = tool(found, "mypy");
        argv.push(".".to_owned());
        found.add_argv(CheckCriterion::TypeCheck, argv, source, "configures mypy");
    }
    let pyright = found.first(&["pyrightconfig.json"]).or_else(|| {
        found.has_section("pyproject.toml", "[tool.pyright]").then_some("pyproject.toml")
    });
    if let Some(source) = pyright {
        let argv = tool(found, "pyright");
        found.add_argv(CheckCriterion::TypeCheck, argv, source, "configures pyright");
    }
}

/// A tool in the project's environment, through its package manager, or on PATH.
fn tool(found: &CheckProposals<'_>, name: &str) -> Vec<String> {
    let kept = [".venv/bin", "venv/bin"].iter().map(|folder| format!("{folder}/{name}"));
    if let Some(program) = kept.into_iter().find(|program| found.has(program)) {
        return vec![program];
    }
    let mut argv = runner(found);
    // Tests import the project from the current folder, which only `python -m` allows.
    if name == "pytest" && argv.is_empty() {
        return python(found, &["-m", "pytest"]);
    }
    argv.push(name.to_owned());
    argv
}

fn python(found: &CheckProposals<'_>, rest: &[&str]) -> Vec<String> {
    let mut argv = runner(found);
    let kept = found.first(&[".venv/bin/python", "venv/bin/python"]);
    match kept {
        Some(program) => argv = vec![program.to_owned()],
        None if argv.is_empty() => argv.push("python3".to_owned()),
        None => argv.push("python".to_owned()),
    }
    argv.extend(rest.iter().map(|word| (*word).to_owned()));
    argv
}

/// The prefix of a program whose environment a package manager keeps.
fn runner(found: &CheckProposals<'_>) -> Vec<String> {
    let managers: [(&str, &[&str]); 4] = [
        // Without it, uv would install and lock packages first.
        ("uv.lock", &["uv", "run", "--no-sync"]),
        ("poetry.lock", &["poetry", "run"]),
        ("pdm.lock", &["pdm", "run"]),
        ("Pipfile.lock", &["pipenv", "run"]),
    ];
    let manager = managers.iter().find(|(lock, _)| found.has(lock));
    manager.map_or(Vec::new(), |(_, argv)| argv.iter().map(|arg| (*arg).to_owned()).collect())
}
