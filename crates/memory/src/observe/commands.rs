//! Failed shell commands: the command, its exit code, and the first line with the reason. The text
//! comes from the host and the tool, so it is shown only on request.

use moai_base::foreign_text::one_line;
use moai_base::limits::{
    OBSERVED_COMMAND_CHARS_MAX, OBSERVED_ERROR_LINES_MAX, OBSERVED_LINE_CHARS_MAX,
};

use crate::clean::CleanText;
use crate::runs::{Run, is_code, runs};

/// Words that mark a line with the reason of a failure, in lower case.
const ERROR_WORDS: [&str; 18] = [
    "error",
    "fail",
    "fatal",
    "panic",
    "exception",
    "traceback",
    "cannot",
    "can't",
    "could not",
    "not found",
    "no such",
    "denied",
    "undefined",
    "unable to",
    "오류",
    "실패",
    "없습니다",
    "에러",
];

/// Beginnings of commands that run tests.
const TEST_COMMANDS: [&str; 22] = [
    "cargo test",
    "cargo nextest",
    "pytest",
    "python -m pytest",
    "python3 -m pytest",
    "uv run pytest",
    "poetry run pytest",
    "tox",
    "npm test",
    "npm run test",
    "yarn test",
    "pnpm test",
    "bun test",
    "npx jest",
    "npx vitest",
    "go test",
    "mvn test",
    "./gradlew test",
    "gradle test",
    "dotnet test",
    "bundle exec rspec",
    "make test",
];

/// A command that ended with an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCommand {
    /// The first line of the command.
    pub command: String,
    /// Exit code, if the host reports one.
    pub exit: Option<i32>,
    /// The first line of the output with the reason.
    pub reason: Option<String>,
    /// The first lines of the output with the reason.
    pub errors: String,
    /// Error codes in that line.
    pub codes: Vec<String>,
    pub is_test_run: bool,
}

impl FailedCommand {
    /// Reads the fields of one call: the command, its description, and the error reported by the
    /// host, which begins with `Exit code 1`. `None` if nothing of the command may be stored.
    #[must_use]
    pub fn read(command: &str, description: &str, error: &str) -> Option<Self> {
        let mut fields = CleanText::of_fields(&[command, description, error]).into_iter();
        let command = fields.next().flatten()?;
        let error = fields.next_back().flatten();
        let error = error.as_ref().map(CleanText::as_str).unwrap_or_default();
        let command = command.as_str().lines().find(|line| !line.trim().is_empty())?;
        let command = one_line(command, OBSERVED_COMMAND_CHARS_MAX);
        let (exit, output) = exit_and_output(error);
        let reasons = reasons(output);
        let reason = reasons.first().map(|line| one_line(line, OBSERVED_LINE_CHARS_MAX));
        let codes = reason.as_deref().map(codes_in).unwrap_or_default();
        let errors = reasons.iter().map(|line| one_line(line, OBSERVED_LINE_CHARS_MAX));
        Some(Self {
            exit,
            errors: errors.collect::<Vec<_>>().join("\n"),
            reason,
            codes,
            is_test_run: is_test_run(&command),
            command,
        })
    }
}

/// The exit code in the first line, and the rest.
fn exit_and_output(error: &str) -> (Option<i32>, &str) {
    let (first, rest) = error.split_once('\n').unwrap_or((error, ""));
    match first.trim().strip_prefix("Exit code ").and_then(|code| code.trim().parse().ok()) {
        Some(code) => (Some(code), rest),
        None => (None, error),
    }
}

/// The lines with the reason, else the first line that is not blank.
fn reasons(output: &str) -> Vec<&str> {
    let is_reason = |line: &&str| {
        let lower = line.to_lowercase();
        ERROR_WORDS.iter().any(|word| lower.contains(word))
    };
    let lines = || output.lines().map(str::trim).filter(|line| !line.is_empty());
    let said: Vec<&str> = lines().filter(is_reason).take(OBSERVED_ERROR_LINES_MAX).collect();
    if said.is_empty() { lines().take(1).collect() } else { said }
}

/// Codes of findings in a text, each once, in their order.
#[must_use]
pub fn codes_in(text: &str) -> Vec<String> {
    let mut codes = Vec::new();
    for run in runs(text) {
        let Run::Name(name) = run else { continue };
        let found = name.segments.into_iter().map(|segment| segment.raw).filter(|it| is_code(it));
        for code in found {
            if !codes.contains(&code) {
                codes.push(code);
            }
        }
    }
    codes
}

/// True if a part of a command line runs tests, including after `cd x &&` and variables.
fn is_test_run(command: &str) -> bool {
    let parts = command.split(['&', ';', '|', '(']);
    parts.map(without_variables).any(|part| {
        TEST_COMMANDS.iter().any(|test| {
            part.strip_prefix(test).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
        })
    })
}

fn without_variables(command: &str) -> &str {
    let mut rest = command.trim_start();
    while let Some((word, after)) = rest.split_once(' ') {
        let name = word.split_once('=').map(|(name, _)| name);
        if !name.is_some_and(|name| name.chars().all(|it| it.is_alphanumeric() || it == '_')) {
            break;
        }
        rest = after.trim_start();
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_says_why_is_found() {
        let output = "Exit code 101\n   Compiling shop v0.1.0\nerror[E0308]: mismatched types\n  \
                      --> src/a.rs:3:5\nerror: could not compile `shop`\n";
        let failed = FailedCommand::read("cd api && cargo test --all", "", output).expect("kept");
        assert_eq!(failed.exit, Some(101));
        assert_eq!(failed.reason.as_deref(), Some("error[E0308]: mismatched types"));
        assert_eq!(failed.codes, ["E0308"]);
        assert_eq!(failed.errors.lines().count(), 2);
        assert!(failed.is_test_run);
    }

    #[test]
    fn a_command_without_output_has_no_reason() {
        let failed = FailedCommand::read("false", "", "Exit code 1").expect("kept");
        assert_eq!((failed.exit, failed.reason, failed.errors.as_str()), (Some(1), None, ""));
        assert!(!failed.is_test_run);
        let odd = FailedCommand::read("make", "", "killed by the user").expect("kept");
        assert_eq!((odd.exit, odd.reason.as_deref()), (None, Some("killed by the user")));
        assert_eq!(FailedCommand::read(" \n", "", "Exit code 1"), None);
    }

    #[test]
    fn the_output_is_as_private_as_the_command() {
        let failed =
            FailedCommand::read("deploy", "deploys <private>to", "Exit code 1\nerror: prod");
        let failed = failed.expect("the command is kept");
        assert_eq!(failed.command, "deploy");
        assert_eq!((failed.exit, failed.reason), (None, None));
        assert_eq!(FailedCommand::read("<private>deploy</private>", "", "error"), None);
    }

    #[test]
    fn runs_of_tests_are_known_by_their_command() {
        for command in
            ["RUST_LOG=info cargo nextest run", "(pytest -x)", "npm test", "go test ./..."]
        {
            assert!(is_test_run(command), "{command}");
        }
        for command in ["cargo testify", "echo pytest", "cat tests/go test"] {
            assert!(!is_test_run(command), "{command}");
        }
    }

    #[test]
    fn korean_messages_are_reasons_too() {
        let failed =
            FailedCommand::read("gradle build", "", "준비 중\n파일을 찾을 수 없습니다: a.kt\n");
        assert_eq!(failed.expect("kept").reason.as_deref(), Some("파일을 찾을 수 없습니다: a.kt"));
    }
}
