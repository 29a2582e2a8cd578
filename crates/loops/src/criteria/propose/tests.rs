//! Suggestions by projects of each kind.

use super::*;

/// `name` alone, or `name: text`.
fn folder(path: &str, files: &[(&str, &str)]) -> ProposalFolder {
    let names = files.iter().map(|(name, _)| (*name).to_owned()).collect();
    let texts = files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
    ProposalFolder { path: path.to_owned(), names, texts }
}

/// Lines of `criterion: command`.
fn check(files: &[(&str, &str)], expected: &[&str]) {
    check_all(&[folder("", files)], expected);
}

fn check_all(folders: &[ProposalFolder], expected: &[&str]) {
    let line = |one: CheckCommand| format!("{}: {}", one.criterion.as_str(), one.name);
    let mut found: Vec<String> = propose_checks(folders).into_iter().map(line).collect();
    found.sort();
    assert_eq!(found, expected, "{folders:?}");
}

#[test]
fn python_takes_the_tools_that_are_configured_from_where_they_are_kept() {
    let project = "[tool.ruff]\n[tool.mypy]\n[tool.pytest.ini_options]\n";
    check(
        &[("pyproject.toml", project)],
        &["lint_clean: ruff check .", "test_pass: python3 -m pytest", "type_check: mypy ."],
    );
    check(
        &[("pyproject.toml", project), ("uv.lock", "")],
        &[
            "lint_clean: uv run --no-sync ruff check .",
            "test_pass: uv run --no-sync pytest",
            "type_check: uv run --no-sync mypy .",
        ],
    );
    let kept = [
        ("pytest.ini", ""),
        (".venv/bin/python", ""),
        (".venv/bin/pytest", ""),
        ("pyrightconfig.json", ""),
        (".flake8", ""),
    ];
    check(&kept, &["lint_clean: flake8", "test_pass: .venv/bin/pytest", "type_check: pyright"]);
    let plain = [("setup.py", ""), ("tests", ""), ("venv/bin/python", "")];
    check(&plain, &["test_pass: venv/bin/python -m unittest discover"]);
    check(&[("requirements.txt", "pytest>=8\n")], &["test_pass: python3 -m pytest"]);
    check(&[("setup.py", "")], &[]);
}

#[test]
fn scripts_are_run_by_the_manager_whose_lock_file_is_there() {
    let manifest = r#"{"scripts": {"test": "jest", "build": "vite build", "lint": "eslint ."}}"#;
    let files = [("package.json", manifest), ("tsconfig.json", "{}")];
    check(
        &files,
        &[
            "build_success: npm run build",
            "lint_clean: npm run lint",
            "test_pass: npm test",
            "type_check: node_modules/.bin/tsc --noEmit",
        ],
    );
    let mut pnpm = files.to_vec();
    pnpm.push(("pnpm-lock.yaml", ""));
    check(
        &pnpm,
        &[
            "build_success: pnpm run build",
            "lint_clean: pnpm run lint",
            "test_pass: pnpm test",
            "type_check: node_modules/.bin/tsc --noEmit",
        ],
    );
    let bun = [
        ("package.json", r#"{"scripts": {"test": "bun test", "typecheck": "tsc"}}"#),
        ("bun.lock", ""),
    ];
    check(&bun, &["test_pass: bun run test", "type_check: bun run typecheck"]);
    let react = r#"{"scripts": {"test": "react-scripts test"}}"#;
    check(&[("package.json", react)], &["test_pass: npm test -- --watchAll=false"]);
}

#[test]
fn scripts_and_configurations_without_checks_are_not_proposed() {
    let none = r#"{"scripts": {"test": "echo \"Error: no test specified\" && exit 1"}}"#;
    check(&[("package.json", none)], &[]);
    check(&[("package.json", "{broken")], &[]);
    let solution = "{ \"files\": [],\n \"references\": [ {\"path\": \"a\"} ] }";
    check(&[("package.json", "{}"), ("tsconfig.json", solution)], &[]);
    let lint = [("package.json", "{}"), ("eslint.config.mjs", "")];
    check(&lint, &["lint_clean: node_modules/.bin/eslint ."]);
    let pnp = [("package.json", "{}"), ("biome.json", ""), (".pnp.cjs", "")];
    check(&pnp, &["lint_clean: yarn run biome lint ."]);
}

#[test]
fn build_tools_answer_for_compiled_languages_and_wrappers_come_first() {
    check(
        &[("go.mod", "")],
        &[
            "build_success: go build ./...",
            "lint_clean: go vet ./...",
            "test_pass: go test ./...",
            "type_check: go vet ./...",
        ],
    );
    check(
        &[("Cargo.toml", "[workspace]\n"), (".config/nextest.toml", "")],
        &[
            "build_success: cargo build --workspace --all-targets",
            "lint_clean: cargo clippy --workspace --all-targets -- -D warnings",
            "test_pass: cargo nextest run --workspace",
            "type_check: cargo check --workspace --all-targets",
        ],
    );
    check(
        &[("pom.xml", "<artifactId>maven-checkstyle-plugin"), ("mvnw", "")],
        &[
            "build_success: ./mvnw -B -ntp package -DskipTests",
            "lint_clean: ./mvnw -B -ntp checkstyle:check",
            "test_pass: ./mvnw -B -ntp test",
            "type_check: ./mvnw -B -ntp test-compile",
        ],
    );
    check(
        &[("build.gradle.kts", ""), ("gradlew", "")],
        &[
            "build_success: ./gradlew --console=plain assemble",
            "test_pass: ./gradlew --console=plain test",
            "type_check: ./gradlew --console=plain testClasses",
        ],
    );
    check(&[("CMakeLists.txt", "")], &[]);
    check(
        &[("CMakeLists.txt", ""), ("build/CMakeCache.txt", "")],
        &[
            "build_success: cmake --build build",
            "test_pass: ctest --test-dir build --output-on-failure --no-tests=error",
        ],
    );
    check(
        &[("App.sln", "")],
        &[
            "build_success: dotnet build",
            "lint_clean: dotnet format --verify-no-changes",
            "test_pass: dotnet test",
            "type_check: dotnet build",
        ],
    );
    check(
        &[("Package.swift", "")],
        &["build_success: swift build", "test_pass: swift test", "type_check: swift build"],
    );
    check(
        &[("build.sbt", "")],
        &["build_success: sbt package", "test_pass: sbt test", "type_check: sbt Test/compile"],
    );
}

#[test]
fn the_other_languages() {
    check(
        &[("composer.json", "{}"), ("phpunit.xml", ""), ("phpstan.neon", "")],
        &["test_pass: vendor/bin/phpunit", "type_check: vendor/bin/phpstan analyse --no-progress"],
    );
    check(
        &[("Gemfile", ""), ("spec", ""), (".rubocop.yml", "")],
        &["lint_clean: bundle exec rubocop", "test_pass: bundle exec rspec"],
    );
    check(
        &[("mix.exs", "{:dialyxir, \"1\"}")],
        &[
            "build_success: mix compile --warnings-as-errors",
            "test_pass: mix test",
            "type_check: mix dialyzer",
        ],
    );
    check(
        &[("pubspec.yaml", "sdk: flutter"), ("test", "")],
        &["lint_clean: flutter analyze", "test_pass: flutter test", "type_check: flutter analyze"],
    );
}

#[test]
fn a_makefile_answers_the_remaining_criteria() {
    let text = "all := x\nlint test: deps\n\ttrue\nbuild::\n\tcc\n\ttypes: no\n";
    check(
        &[("Makefile", text)],
        &["build_success: make build", "lint_clean: make lint", "test_pass: make test"],
    );
    check(&[("Makefile", "test:\n"), ("pytest.ini", "")], &["test_pass: python3 -m pytest"]);
}

#[test]
fn folders_below_count_when_the_root_suggests_nothing() {
    let web = folder("web", &[("package.json", r#"{"scripts": {"test": "jest"}}"#)]);
    let api = folder("api", &[("go.mod", "")]);
    let empty = folder("", &[("README.md", "")]);
    check_all(
        &[empty, api.clone(), web],
        &[
            "build_success: go build ./... (in api)",
            "lint_clean: go vet ./... (in api)",
            "test_pass: go test ./... (in api)",
            "test_pass: npm test (in web)",
            "type_check: go vet ./... (in api)",
        ],
    );
    check_all(&[folder("", &[("pytest.ini", "")]), api], &["test_pass: python3 -m pytest"]);
    let command = propose_checks(&[folder("web", &[("pytest.ini", "")])]).remove(0);
    assert_eq!((command.folder.as_str(), command.source.as_str()), ("web", "web/pytest.ini"));
    assert_eq!(command.why, "web/pytest.ini speaks of pytest");
}
