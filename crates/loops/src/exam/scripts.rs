//! The project's scripts that its checks run, because editing them changes the exam. Found in the
//! commands of a plan and in the texts of the scripts.

use std::collections::BTreeSet;
use std::path::Path;

use crate::criteria::CheckPlan;
use moai_base::path::RelPath;
use moai_base::protected::foreign_folder;

/// Programs that run a file given as an argument; `python3.12` counts as `python`.
const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];
const INTERPRETERS: [&str; 5] = ["node", "perl", "php", "python", "ruby"];

/// Options that are followed by code or a module, not by a file.
const CODE_OPTIONS: [&str; 5] = ["--eval", "-c", "-e", "-m", "-r"];

/// Words that only start the command that follows, and keywords of the shell.
const STARTERS: [&str; 15] = [
    "!", "command", "do", "elif", "else", "env", "exec", "if", "nice", "poetry", "run", "then",
    "time", "timeout", "uv",
];

/// Folders of programs that check others, in addition to hidden folders.
const CHECKER_FOLDERS: [&str; 8] =
    ["bin", "checks", "ci", "dev", "hack", "script", "scripts", "tools"];

/// Words in the names of such programs.
const CHECKER_NAMES: [&str; 12] = [
    "check", "checks", "ci", "eval", "exam", "grade", "grader", "lint", "test", "tests",
    "validate", "verify",
];

/// Files, relative to the root, that these checks run if they exist.
#[must_use]
pub fn scripts_of_plan(plan: &CheckPlan) -> BTreeSet<RelPath> {
    let mut found = BTreeSet::new();
    for command in &plan.commands {
        let words: Vec<&str> = command.argv.iter().map(String::as_str).collect();
        found.extend(script(&words, &command.folder));
    }
    found.retain(|path| foreign_folder(path).is_none());
    found
}

/// Whether a file is a shell script, by its name or its first line.
#[must_use]
pub fn is_shell_script(path: &RelPath, text: &str) -> bool {
    let first = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    let mut programs = first.split(['/', ' ']);
    path.extension().is_some_and(|end| SHELLS.contains(&&*end))
        || programs.any(|program| SHELLS.contains(&program))
}

/// Files, relative to the root, that a shell script runs if they exist, when it begins in this folder.
#[must_use]
pub fn scripts_of_script(path: &RelPath, text: &str, folder: &str) -> BTreeSet<RelPath> {
    let own = path.folders().last().unwrap_or(".");
    // From wherever the script begins.
    let own =
        format!("{}{own}", "../".repeat(folder.split('/').filter(|it| !it.is_empty()).count()));
    let text = without_arrays(text)
        .replace("\\\n", " ")
        .replace("$(dirname \"$0\")", &own)
        .replace("$(dirname $0)", &own)
        .replace("${CLAUDE_PROJECT_DIR}", ".")
        .replace("$CLAUDE_PROJECT_DIR", ".")
        .replace(['"', '\''], "");
    let mut found = BTreeSet::new();
    let mut folder = folder.to_owned();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        for part in line.split([';', '&', '|', '(', ')', '{', '}', '`']) {
            let words: Vec<&str> = part.split_whitespace().collect();
            match words.as_slice() {
                ["cd", into, ..] => folder = path_from_root(&folder, into).unwrap_or_default(),
                ["." | "source", file, ..] => {
                    found.extend(path_from_root(&folder, file).and_then(|it| RelPath::parse(&it)));
                }
                words => found.extend(script(words, &folder)),
            }
        }
    }
    found.retain(|path| foreign_folder(path).is_none());
    found
}

/// The text without the values of arrays, which are no commands.
fn without_arrays(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("=(") {
        kept.push_str(before);
        // Without an end it is no array, and what follows may run.
        rest = after.split_once(')').map_or(after, |(_, rest)| rest);
    }
    kept + rest
}

/// The file that a command runs. Arguments of other programs do not count: `mypy a.py` checks the
/// work.
fn script(words: &[&str], folder: &str) -> Option<RelPath> {
    let start = words.iter().position(|word| {
        let is_number = word.starts_with(|first: char| first.is_ascii_digit());
        !STARTERS.contains(word) && !word.contains('=') && !is_number
    })?;
    let (program, arguments) = words[start..].split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let plain = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let is_shell = SHELLS.contains(&plain);
    if !is_shell && !INTERPRETERS.contains(&plain) {
        let path = path_from_root(folder, program).filter(|_| program.contains('/'))?;
        return RelPath::parse(&path);
    }
    // A shell's `-e` is followed by no code.
    let code_options: &[&str] = if is_shell { &["-c"] } else { &CODE_OPTIONS };
    let mut options = arguments.iter().take_while(|word| word.starts_with('-'));
    if options.any(|option| code_options.contains(option)) {
        return None;
    }
    let file = arguments.iter().find(|it| !it.starts_with('-'))?;
    let path = RelPath::parse(&path_from_root(folder, file)?)?;
    (is_shell || is_checker(&path)).then_some(path)
}

/// Whether a program checks the work, by its folder or name; `python main.py` is the work itself.
fn is_checker(path: &RelPath) -> bool {
    let mut parts: Vec<&str> = path.as_str().split('/').collect();
    let name = parts.pop().unwrap_or_default();
    let is_apart = parts.iter().any(|part| part.starts_with('.') || CHECKER_FOLDERS.contains(part));
    let mut words = name.split(|it: char| !it.is_ascii_alphanumeric());
    is_apart || words.any(|word| CHECKER_NAMES.contains(&word))
}

/// A path relative to the root; `None` for one outside.
fn path_from_root(folder: &str, path: &str) -> Option<String> {
    let root = Path::new("/root");
    let from = root.join(folder);
    if from.join(path) == from {
        return Some(folder.to_owned());
    }
    RelPath::below(root, &from.join(path)).map(|it| it.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::criteria::{AUTOCHECKS, CheckCriterion};
    use crate::samples::command;

    fn check(commands: &[&str], autochecks: &str, expected: &[&str]) {
        let commands = commands.iter().map(|line| command(line, CheckCriterion::Custom)).collect();
        let plan = CheckPlan { commands, ..CheckPlan::default() };
        let mut found = scripts_of_plan(&plan);
        let path = RelPath::parse(AUTOCHECKS).expect("relative");
        found.extend(scripts_of_script(&path, autochecks, ""));
        let found: Vec<&str> = found.iter().map(RelPath::as_str).collect();
        assert_eq!(found, expected, "{autochecks}");
    }

    #[test]
    fn a_program_that_a_command_runs_is_a_script_and_its_input_is_not() {
        check(
            &[
                "./check.sh",
                "sh -e ci.sh fast",
                "python3.12 tools/verify.py src/a.py",
                "node scripts/grade.mjs",
                "./gradlew test",
            ],
            "",
            &["check.sh", "ci.sh", "gradlew", "scripts/grade.mjs", "tools/verify.py"],
        );
        check(
            &[
                "pytest tests/a.py",
                "mypy a.py",
                "python3 -m pytest x.py",
                "python main.py",
                "node dist/check.js",
                "./target/debug/app",
                "bash -c ./x.sh",
                "/usr/bin/env",
                "../check.sh",
            ],
            "",
            &[],
        );
    }

    #[test]
    fn what_a_script_works_on_is_no_script() {
        let path = RelPath::parse("check.sh").expect("relative");
        let text = "FILES=(src/a.py\n src/b.py)\ngrep x src/c.py && wc \"${FILES[@]}\"\n";
        assert_eq!(scripts_of_script(&path, text, ""), BTreeSet::new());
        let unclosed = scripts_of_script(&path, "# a =(\n. t/h.sh\n", "");
        assert_eq!(unclosed, BTreeSet::from([RelPath::parse("t/h.sh").expect("relative")]));
        let is_shell = |path: &str, text: &str| {
            is_shell_script(&RelPath::parse(path).expect("relative"), text)
        };
        assert!(is_shell("a.sh", "") && is_shell("check", "#!/usr/bin/env bash\n"));
        assert!(!is_shell("a.py", "") && !is_shell("check", "#!/usr/bin/python3\n"));
    }

    #[test]
    fn a_script_runs_others_from_the_folder_where_it_begins_and_from_its_own() {
        let path = RelPath::parse("t/check.sh").expect("relative");
        for (folder, text, expected) in [
            ("", ". t/lib/h.sh\n", "t/lib/h.sh"),
            ("", "bash \"$(dirname \"$0\")\"/lib/h.sh\n", "t/lib/h.sh"),
            ("web", ". ./h.sh\n", "web/h.sh"),
            ("web/app", ". $(dirname $0)/h.sh\n", "t/h.sh"),
        ] {
            let found = scripts_of_script(&path, text, folder);
            let found: Vec<&str> = found.iter().map(RelPath::as_str).collect();
            assert_eq!(found, [expected], "{folder}: {text}");
        }
    }

    #[test]
    fn scripts_that_the_autochecks_run_are_found_relative_to_their_folder() {
        check(&[], "#!/bin/sh\nset -e\n# ./old.sh\npython3 .claude/run.py\n", &[".claude/run.py"]);
        check(&[], "PYTHONPATH=. timeout 60s ./check.sh --all || exit 1\n", &["check.sh"]);
        check(
            &[],
            "cd \"$(dirname \"$0\")/..\" && . scripts/env.sh\n(cd web && bash run.sh)\n",
            &["scripts/env.sh", "web/run.sh"],
        );
        check(&[], "\"$CLAUDE_PROJECT_DIR\"/bin/check && mypy src/check.py", &["bin/check"]);
        check(&[], "npm test; cargo test -- --nocapture", &[]);
    }
}
