//! Go, Rust, C and C++, Java and Kotlin, C#, Swift and Scala: one build tool per language. Wrappers
//! of the project precede programs on PATH.

use super::{CheckCriterion, CheckProposals};
use CheckCriterion::{BuildSuccess, LintClean, TestPass, TypeCheck};

pub(super) fn propose(found: &mut CheckProposals<'_>) {
    go(found);
    cargo(found);
    cmake(found);
    maven(found);
    gradle(found);
    one_tool(found);
}

fn go(found: &mut CheckProposals<'_>) {
    if !found.has("go.mod") {
        return;
    }
    found.add(TestPass, "go test ./...", "go.mod", "is there");
    found.add(BuildSuccess, "go build ./...", "go.mod", "is there");
    found.add(TypeCheck, "go vet ./...", "go.mod", "is there");
    match found.starting(".golangci.").map(str::to_owned) {
        Some(source) => {
            found.add(LintClean, "golangci-lint run", &source, "configures golangci-lint");
        }
        None => found.add(LintClean, "go vet ./...", "go.mod", "is there"),
    }
}

fn cargo(found: &mut CheckProposals<'_>) {
    if !found.has("Cargo.toml") {
        return;
    }
    let is_workspace = found.has_section("Cargo.toml", "[workspace]");
    let all = if is_workspace { " --workspace" } else { "" };
    let mut add = |criterion, line: &str| {
        found.add(criterion, &line.replace("{all}", all), "Cargo.toml", "is there");
    };
    add(BuildSuccess, "cargo build{all} --all-targets");
    add(TypeCheck, "cargo check{all} --all-targets");
    add(LintClean, "cargo clippy{all} --all-targets -- -D warnings");
    let test = if found.has(".config/nextest.toml") { "cargo nextest run" } else { "cargo test" };
    found.add(TestPass, &format!("{test}{all}"), "Cargo.toml", "is there");
}

/// Only if a build folder is configured already, because creating one would write into the project.
fn cmake(found: &mut CheckProposals<'_>) {
    if found.has("CMakeLists.txt") && found.has("build/CMakeCache.txt") {
        let source = "CMakeLists.txt";
        found.add(BuildSuccess, "cmake --build build", source, "and a build folder are there");
        let test = "ctest --test-dir build --output-on-failure --no-tests=error";
        found.add(TestPass, test, source, "and a build folder are there");
    }
}

fn maven(found: &mut CheckProposals<'_>) {
    if !found.has("pom.xml") {
        return;
    }
    let program = if found.has("mvnw") { "./mvnw" } else { "mvn" };
    let mut goals = vec![
        (TestPass, "test"),
        (BuildSuccess, "package -DskipTests"),
        (TypeCheck, "test-compile"),
    ];
    if found.text("pom.xml").contains("maven-checkstyle-plugin") {
        goals.push((LintClean, "checkstyle:check"));
    }
    for (criterion, goal) in goals {
        found.add(criterion, &format!("{program} -B -ntp {goal}"), "pom.xml", "is there");
    }
}

fn gradle(found: &mut CheckProposals<'_>) {
    let Some(source) = found.first(&["build.gradle.kts", "build.gradle"]) else { return };
    let program = if found.has("gradlew") { "./gradlew" } else { "gradle" };
    let tasks = [(TestPass, "test"), (BuildSuccess, "assemble"), (TypeCheck, "testClasses")];
    for (criterion, task) in tasks {
        let line = format!("{program} --console=plain {task}");
        found.add(criterion, &line, source, "is there");
    }
}

fn one_tool(found: &mut CheckProposals<'_>) {
    if let Some(source) = found.ending(&[".sln", ".slnx", ".csproj", ".fsproj"]).map(str::to_owned)
    {
        found.add(TestPass, "dotnet test", &source, "is there");
        found.add(BuildSuccess, "dotnet build", &source, "is there");
        found.add(TypeCheck, "dotnet build", &source, "is there");
        found.add(LintClean, "dotnet format --verify-no-changes", &source, "is there");
    }
    if found.has("Package.swift") {
        found.add(TestPass, "swift test", "Package.swift", "is there");
        found.add(BuildSuccess, "swift build", "Package.swift", "is there");
        found.add(TypeCheck, "swift build", "Package.swift", "is there");
    }
    if found.has("build.sbt") {
        found.add(TestPass, "sbt test", "build.sbt", "is there");
        found.add(BuildSuccess, "sbt package", "build.sbt", "is there");
        found.add(TypeCheck, "sbt Test/compile", "build.sbt", "is there");
    }
}
