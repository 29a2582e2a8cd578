//! Commands in scripts, makefiles and workflows: the checks of each, and the checks that a later
//! version lost. Nothing is run.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CommandPurpose {
    /// Runs tests.
    Test,
    Lint,
    /// Checks types.
    Types,
    /// Checks formatting.
    Format,
    /// Checks dependencies for vulnerabilities.
    Audit,
    /// Calls another script, which may have any of these purposes.
    Script,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScriptCommand {
    /// Words without mere starters (`npx`, `uv run`, `FOO=1`).
    pub(super) words: Vec<String>,
    /// True if the script ignores its failure.
    pub(super) ignores_failure: bool,
}

/// Programs with subcommand, and their purpose.
const PROGRAMS: &[(&str, CommandPurpose)] = &[
    ("ava", CommandPurpose::Test),
    ("bandit", CommandPurpose::Lint),
    ("basedpyright", CommandPurpose::Types),
    ("biome check", CommandPurpose::Lint),
    ("biome ci", CommandPurpose::Lint),
    ("biome lint", CommandPurpose::Lint),
    ("black", CommandPurpose::Format),
    ("cargo audit", CommandPurpose::Audit),
    ("cargo check", CommandPurpose::Types),
    ("cargo clippy", CommandPurpose::Lint),
    ("cargo deny", CommandPurpose::Audit),
    ("cargo fmt", CommandPurpose::Format),
    ("cargo nextest", CommandPurpose::Test),
    ("cargo test", CommandPurpose::Test),
    ("ctest", CommandPurpose::Test),
    ("cypress run", CommandPurpose::Test),
    ("dotnet format", CommandPurpose::Format),
    ("dotnet test", CommandPurpose::Test),
    ("eslint", CommandPurpose::Lint),
    ("flake8", CommandPurpose::Lint),
    ("go test", CommandPurpose::Test),
    ("go vet", CommandPurpose::Lint),
    ("gofmt", CommandPurpose::Format),
    ("golangci-lint", CommandPurpose::Lint),
    ("gotestsum", CommandPurpose::Test),
    ("govulncheck", CommandPurpose::Audit),
    ("gradle check", CommandPurpose::Test),
    ("gradle test", CommandPurpose::Test),
    ("gradlew check", CommandPurpose::Test),
    ("gradlew test", CommandPurpose::Test),
    ("isort", CommandPurpose::Format),
    ("jest", CommandPurpose::Test),
    ("mocha", CommandPurpose::Test),
    ("mvn test", CommandPurpose::Test),
    ("mvn verify", CommandPurpose::Test),
    ("mvnw test", CommandPurpose::Test),
    ("mvnw verify", CommandPurpose::Test),
    ("mypy", CommandPurpose::Types),
    ("next lint", CommandPurpose::Lint),
    ("node --test", CommandPurpose::Test),
    ("nox", CommandPurpose::Test),
    ("npm audit", CommandPurpose::Audit),
    ("oxlint", CommandPurpose::Lint),
    ("pip-audit", CommandPurpose::Audit),
    ("playwright test", CommandPurpose::Test),
    ("pre-commit", CommandPurpose::Lint),
    ("prettier", CommandPurpose::Format),
    ("py.test", CommandPurpose::Test),
    ("pylint", CommandPurpose::Lint),
    ("pyright", CommandPurpose::Types),
    ("pytest", CommandPurpose::Test),
    ("ruff check", CommandPurpose::Lint),
    ("ruff format", CommandPurpose::Format),
    ("shellcheck", CommandPurpose::Lint),
    ("staticcheck", CommandPurpose::Lint),
    ("stylelint", CommandPurpose::Lint),
    ("tox", CommandPurpose::Test),
    ("tsc", CommandPurpose::Types),
    ("unittest", CommandPurpose::Test),
    ("vitest", CommandPurpose::Test),
    ("vue-tsc", CommandPurpose::Types),
];

/// Words that only start the program after them.
const STARTERS: &[&[&str]] = &[
    &["bundle", "exec"],
    &["bunx"],
    &["cross-env"],
    &["hatch", "run"],
    &["npx"],
    &["npm", "exec"],
    &["pdm", "run"],
    &["pipenv", "run"],
    &["pnpm", "exec"],
    &["pnpm", "dlx"],
    &["poetry", "run"],
    &["python", "-Im"],
    &["python", "-m"],
    &["python3", "-Im"],
    &["python3", "-m"],
    &["coverage", "run", "-m"],
    &["sudo"],
    &["time"],
    &["uv", "run"],
    &["uvx"],
    &["xvfb-run"],
    &["yarn", "exec"],
];

/// Programs that run a project's named scripts.
const RUNNERS: &[&str] = &[
    "bun",
    "just",
    "make",
    "npm",
    "npm-run-all",
    "npm-run-posix-or-windows",
    "pnpm",
    "run-p",
    "run-s",
    "task",
    "yarn",
];

/// Words that name folders in any position.
const FOLDERS: &[&str] = &[".", "...", "spec", "specs", "src", "test", "tests"];

/// Options that exclude tests from a run.
const FILTERS: &[&str] = &[
    "-Dtest",
    "-E",
    "-g",
    "-k",
    "-m",
    "-run",
    "-short",
    "-skip",
    "-t",
    "--bin",
    "--bins",
    "--changed",
    "--deselect",
    "--doc",
    "--exclude",
    "--exclude-task",
    "--filter",
    "--fgrep",
    "--grep",
    "--ignore",
    "--ignore-glob",
    "--invert",
    "--last-failed",
    "--lf",
    "--lib",
    "--onlyChanged",
    "--project",
    "--skip",
    "--test",
    "--testNamePattern",
    "--testPathIgnorePatterns",
    "--testPathPattern",
    "--testPathPatterns",
    "--tests",
    "--shard",
    "-DskipTests",
    "-Dmaven.test.skip",
];

/// Options that make a failed check pass.
const LAX: &[&str] = &[
    "--allow-no-tests",
    "--exit-zero",
    "--no-error-on-unmatched-pattern",
    "--no-fail-on-error",
    "--pass-with-no-tests",
    "--passWithNoTests",
    "-Dmaven.test.failure.ignore",
    "--no-tests=pass",
    "--no-cov",
    "--allowOnly",
    "--continue-on-collection-errors",
    "--suppress-no-test-exit-code",
    "--snapshot-update",
    "--update-snapshot",
    "--update-snapshots",
    "--updateSnapshot",
];

/// Runners whose `-u` overwrites the expected snapshots.
const SNAPSHOT_WRITERS: &[&str] = &["ava", "jest", "playwright test", "vitest"];

/// Options with a threshold; true if a lower value is weaker.
const NUMBERS: &[(&str, bool, f64)] = &[
    ("--cov-fail-under", true, 0.0),
    ("--fail-under", true, 0.0),
    ("--max-warnings", false, f64::INFINITY),
    ("--reruns", false, 0.0),
    ("--retries", false, 0.0),
    ("--retry", false, 0.0),
    ("--flaky", false, 0.0),
    ("--testTimeout", false, 5_000.0),
];

/// Words whose removal weakens a check.
const STRICT: &[&str] = &[
    "--all-targets",
    "--check",
    "--strict",
    "--strict-config",
    "--strict-markers",
    "--workspace",
    "-race",
];

impl ScriptCommand {
    /// Program with subcommand, which identifies a command across versions.
    pub(super) fn name(&self) -> String {
        let program = self.words.first().map_or("", |it| it.rsplit('/').next().unwrap_or(it));
        let rest = || self.words.iter().skip(1).filter(|it| !it.starts_with('+'));
        if RUNNERS.contains(&program) {
            let script = rest().find(|it| *it != "run" && !it.starts_with('-'));
            return format!("{program} {}", script.map_or("", String::as_str));
        }
        let named = PROGRAMS.iter().find(|(name, _)| {
            let mut parts = name.split(' ');
            parts.next() == Some(program)
                && parts.next().is_none_or(|part| rest().any(|word| word == part))
        });
        named.map_or_else(|| program.to_owned(), |(name, _)| (*name).to_owned())
    }

    /// Purpose, if known.
    pub(super) fn kind(&self) -> Option<CommandPurpose> {
        let name = self.name();
        if let Some((_, kind)) = PROGRAMS.iter().find(|(program, _)| *program == name) {
            return Some(*kind);
        }
        let program = self.words.first()?;
        let script = match name.split_once(' ') {
            Some((runner, script)) if RUNNERS.contains(&runner) => script,
            _ if program.starts_with("./") || program.contains("scripts/") => program,
            _ => return None,
        };
        let says = |words: &[&str]| words.iter().any(|word| script.contains(word));
        Some(match script {
            _ if says(&["test", "spec", "e2e"]) => CommandPurpose::Test,
            _ if says(&["lint", "vet"]) => CommandPurpose::Lint,
            _ if says(&["type", "tsc"]) => CommandPurpose::Types,
            _ => CommandPurpose::Script,
        })
    }

    fn has(&self, option: &str) -> bool {
        self.words.iter().any(|word| word == option || is_set(word, option))
    }

    /// Numeric value of an option.
    fn number(&self, option: &str) -> Option<f64> {
        let at = self.words.iter().position(|word| word == option || is_set(word, option))?;
        let value = match self.words[at].split_once('=') {
            Some((_, value)) => value,
            None => self.words.get(at + 1)?,
        };
        value.parse().ok()
    }

    fn is_about_files(&self) -> Vec<&str> {
        let words = self.words.iter().skip(1).map(String::as_str);
        words
            .filter(|word| {
                !word.starts_with('-')
                    && (word.contains('/')
                        || word.contains("::")
                        || is_source(word)
                        || FOLDERS.contains(word))
            })
            .collect()
    }
}

fn is_set(word: &str, option: &str) -> bool {
    word.strip_prefix(option).is_some_and(|rest| rest.starts_with('='))
}

fn is_source(word: &str) -> bool {
    [".py", ".ts", ".tsx", ".js", ".jsx", ".mjs", ".go", ".rs", ".java", ".cs"]
        .iter()
        .any(|end| word.ends_with(end))
}

/// The commands of a script, in order.
pub(super) fn parse_commands(script: &str) -> Vec<ScriptCommand> {
    let mut commands: Vec<ScriptCommand> = Vec::new();
    let joined = script.replace("\\\n", " ");
    for line in joined.lines() {
        let mut is_behind_or = false;
        for (words, glue) in split(line) {
            let is_excuse = matches!(
                words.iter().map(String::as_str).collect::<Vec<_>>().as_slice(),
                ["true" | ":" | "echo", ..] | ["exit", "0"]
            );
            let forgives = is_excuse && (is_behind_or || words[0] != "echo");
            if let Some(last) = commands.last_mut().filter(|_| forgives && !words.is_empty()) {
                last.ignores_failure = true;
            }
            is_behind_or = glue == "||";
            let words = program_words(&words);
            if !words.is_empty() && !is_excuse {
                commands.push(ScriptCommand { words, ignores_failure: false });
            }
        }
    }
    commands
}

/// Splits a line into commands, each with the rest of the line after it.
fn split(line: &str) -> Vec<(Vec<String>, &str)> {
    let mut parts = Vec::new();
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    let mut at = 0;
    while let Some(character) = line[at..].chars().next() {
        let rest = &line[at..];
        at += character.len_utf8();
        let glue = ["&&", "||", ";", "|", "&"].into_iter().find(|it| rest.starts_with(it));
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '"' | '\'') => quote = Some(character),
            (None, '#') if word.is_empty() => break,
            (None, _) if character.is_whitespace() => words.push(std::mem::take(&mut word)),
            (None, _) if glue.is_some_and(|it| it != "&" || !word.ends_with('>')) => {
                let glue = glue.unwrap_or_default();
                at += glue.len() - 1;
                words.push(std::mem::take(&mut word));
                words.retain(|it| !it.is_empty());
                parts.push((std::mem::take(&mut words), glue));
            }
            _ => word.push(character),
        }
    }
    words.push(word);
    words.retain(|it| !it.is_empty());
    parts.push((words, ""));
    parts
}

fn program_words(words: &[String]) -> Vec<String> {
    let mut words = words;
    loop {
        let is_setting = |word: &String| {
            let name = word.split_once('=').map(|(name, _)| name);
            name.is_some_and(|name| {
                name.chars().all(|it| it.is_ascii_uppercase() || it == '_' || it.is_ascii_digit())
            })
        };
        if words.first().is_some_and(is_setting) {
            words = &words[1..];
            continue;
        }
        let starter = STARTERS.iter().find(|starter| {
            words.len() > starter.len() && words.iter().zip(**starter).all(|(word, it)| word == it)
        });
        match starter {
            Some(starter) => words = &words[starter.len()..],
            None => return words.to_vec(),
        }
    }
}

/// A way in which later commands check less than earlier ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CommandLoss {
    /// The failure of this program no longer counts.
    FailureIgnored(String),
    /// This program has weaker options; the change in a few words.
    WeakerOptions { program: String, change: String },
    /// This program is no longer run.
    NotRun(String),
}

impl fmt::Display for CommandLoss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FailureIgnored(program) => {
                write!(f, "a failure of `{program}` no longer fails the script")
            }
            Self::WeakerOptions { program, change } => write!(f, "`{program}` {change}"),
            Self::NotRun(program) => write!(f, "`{program}` is no longer run"),
        }
    }
}

/// The ways in which the later commands check less than the earlier ones.
pub(super) fn weakened_commands(
    before: &[ScriptCommand],
    after: &[ScriptCommand],
) -> Vec<CommandLoss> {
    let mut found = Vec::new();
    for command in after.iter().filter(|it| it.kind().is_some()) {
        let name = command.name();
        let olds: Vec<&ScriptCommand> = before.iter().filter(|it| it.name() == name).collect();
        let news = after.iter().filter(|it| it.name() == name).count();
        if command.ignores_failure
            && !olds.iter().any(|old| old.ignores_failure)
            && !before.is_empty()
        {
            found.push(CommandLoss::FailureIgnored(name.clone()));
        }
        let Some(old) = olds.first().filter(|_| olds.len() == 1 && news == 1) else { continue };
        for change in weaker_options(old, command) {
            found.push(CommandLoss::WeakerOptions { program: name.clone(), change });
        }
    }
    let lost = before
        .iter()
        .filter(|old| old.kind().is_some_and(|kind| is_lost(old, kind, before, after)));
    found.extend(lost.map(|old| CommandLoss::NotRun(old.name())));
    found.dedup();
    found
}

/// True if no later command replaces an earlier one. A new program for the same purpose replaces
/// it, and so does any script.
fn is_lost(
    old: &ScriptCommand,
    kind: CommandPurpose,
    before: &[ScriptCommand],
    after: &[ScriptCommand],
) -> bool {
    let is_new = |new: &ScriptCommand| !before.iter().any(|it| it.name() == new.name());
    kind != CommandPurpose::Script
        && !after.iter().any(|new| {
            new.name() == old.name()
                || is_new(new)
                    && new.kind().is_some_and(|it| it == kind || it == CommandPurpose::Script)
                || is_new(new) && matches!(new.name().as_str(), "pre-commit" | "tox" | "nox")
        })
}

fn weaker_options(old: &ScriptCommand, new: &ScriptCommand) -> Vec<String> {
    let mut found = Vec::new();
    let added = |option: &&&str| new.has(option) && !old.has(option);
    if new.kind() == Some(CommandPurpose::Test) {
        let filters =
            FILTERS.iter().filter(added).filter(|option| !is_harmless_filter(new, option));
        found.extend(filters.map(|option| format!("leaves tests out by `{option}`")));
        found.extend(narrower_paths(old, new));
    }
    let is_lax = LAX.iter().filter(added);
    found.extend(is_lax.map(|option| format!("got `{option}`")));
    if SNAPSHOT_WRITERS.contains(&new.name().as_str()) && added(&&"-u") {
        found.push("got `-u`".to_owned());
    }
    let dropped = STRICT.iter().filter(|option| old.has(option) && !new.has(option));
    found.extend(dropped.map(|option| format!("lost `{option}`")));
    for (option, is_floor, default) in NUMBERS {
        let (was, is) =
            (old.number(option).unwrap_or(*default), new.number(option).unwrap_or(*default));
        let is_weaker = if *is_floor { is < was } else { is > was };
        if is_weaker {
            found.push(format!("has a weaker `{option}`"));
        }
    }
    let denies = |command: &ScriptCommand| {
        command.words.windows(2).any(|it| it[0] == "-D" && it[1] == "warnings")
            || command.has("-Dwarnings")
            || command.words.iter().any(|it| it == "-Werror")
    };
    if denies(old) && !denies(new) {
        found.push("no longer denies warnings".to_owned());
    }
    let allowed =
        |command: &ScriptCommand| command.words.iter().filter(|it| it.starts_with("-A")).count();
    if new.name() == "cargo clippy" && allowed(new) > allowed(old) {
        found.push("allows more lints".to_owned());
    }
    found
}

/// `-m` before a module and `-p no:` of a cache exclude no test.
fn is_harmless_filter(command: &ScriptCommand, option: &str) -> bool {
    match option {
        "-m" | "-k" => !["pytest", "py.test"].contains(&command.name().as_str()),
        "-E" => command.name() != "cargo nextest",
        "-t" => !["jest", "vitest"].contains(&command.name().as_str()),
        "-g" => !["mocha", "playwright test"].contains(&command.name().as_str()),
        "--project" => command.name() != "playwright test",
        "--tests" | "--test" => {
            !["cargo test", "gradle test", "gradlew test"].contains(&command.name().as_str())
        }
        _ => false,
    }
}

/// The paths that a run is narrowed to, if any.
fn narrower_paths(old: &ScriptCommand, new: &ScriptCommand) -> Option<String> {
    let (was, is) = (old.is_about_files(), new.is_about_files());
    let plain = |path: &str| {
        path.trim_start_matches("./").trim_end_matches("/...").trim_end_matches('/').to_owned()
    };
    let covers = |wide: &str, path: &str| {
        let (wide, path) = (plain(wide), plain(path));
        wide.is_empty()
            || wide == "..."
            || path == wide
            || path.starts_with(&format!("{wide}/"))
            || path.starts_with(&format!("{wide}::"))
    };
    if was.is_empty() {
        let file = is.iter().find(|path| is_source(path) || path.contains("::"))?;
        return Some(format!("runs `{file}` only"));
    }
    if is.is_empty() {
        return None;
    }
    let dropped = was.iter().find(|path| !is.iter().any(|it| covers(it, path)))?;
    let is_part = is.iter().all(|path| was.iter().any(|it| covers(it, path)));
    is_part.then(|| format!("no longer runs `{dropped}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(before: &str, after: &str, expected: &[&str]) {
        let found = weakened_commands(&parse_commands(before), &parse_commands(after));
        let found: Vec<String> = found.iter().map(CommandLoss::to_string).collect();
        assert_eq!(found, expected, "{before} -> {after}");
    }

    #[test]
    fn a_failure_that_is_forgiven_is_seen() {
        let forgiven = ["a failure of `pytest` no longer fails the script"];
        check("pytest", "pytest || true", &forgiven);
        check("pytest -q", "pytest -q || echo 'known'", &forgiven);
        check("pytest\nls", "pytest ; exit 0\nls", &forgiven);
        check("pytest && echo done", "pytest -v && echo done", &[]);
        check("pytest || true", "pytest || true", &[]);
        check("rm x || true", "rm y || true", &[]);
    }

    #[test]
    fn a_check_that_goes_is_seen_unless_another_takes_its_place() {
        check("flake8 src\npytest", "pytest", &["`flake8` is no longer run"]);
        check("flake8 src && black --check .", "ruff check . && ruff format --check", &[]);
        check("cargo test\ncargo clippy", "make ci", &[]);
        check("npm test", "npm run test:unit", &[]);
        check("npm test", "echo ok", &["`npm test` is no longer run"]);
    }

    #[test]
    fn a_narrowed_run_is_seen() {
        check("pytest", "pytest -k 'not slow'", &["`pytest` leaves tests out by `-k`"]);
        check("pytest", "pytest tests/test_a.py", &["`pytest` runs `tests/test_a.py` only"]);
        check("pytest tests", "pytest tests/unit", &["`pytest` no longer runs `tests`"]);
        check("go test ./...", "go test ./api/...", &["`go test` no longer runs `./...`"]);
        check("go test ./...", "go test -race ./...", &[]);
        check("pytest tests", "pytest test", &[]);
        check("pytest", "pytest tests/unit\npytest tests/it", &[]);
        check("uv run pytest -q", "python -m pytest -q -n auto", &[]);
    }

    #[test]
    fn weaker_options_are_seen() {
        check(
            "cargo clippy -- -D warnings",
            "cargo clippy",
            &["`cargo clippy` no longer denies warnings"],
        );
        check(
            "eslint . --max-warnings 0",
            "eslint . --max-warnings=20",
            &["`eslint` has a weaker `--max-warnings`"],
        );
        check("jest", "jest --passWithNoTests", &["`jest` got `--passWithNoTests`"]);
        check("pytest --cov-fail-under=80", "pytest --cov-fail-under 90", &[]);
    }
}
