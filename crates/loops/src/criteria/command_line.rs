//! Splits a command line into program and arguments without a shell. Shell features are refused by
//! name, because without a shell the command would do something else.

/// The reason why a line is not a single command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CommandLineError {
    /// There is no program.
    #[error("the command is empty")]
    Empty,
    /// A quote is not closed.
    #[error("the command has an unclosed quote")]
    OpenQuote,
    /// It needs a shell.
    #[error(
        "the command uses {0}, which only a shell understands: write it as a list [sh, -c, …], or \
         put it into .claude/autochecks.sh"
    )]
    Shell(char),
}

/// Unquoted characters with a meaning to a shell: pipes, lists, redirections, expansions, patterns
/// of file names.
const SHELL: &str = "|&;<>()$`*?\n";

/// The words of a line: separated by blanks; quotes and backslashes as in POSIX (Shell Command
/// Language, 2.2). In double quotes `$` and the backquote are refused as well.
pub fn split_command_line(line: &str) -> Result<Vec<String>, CommandLineError> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut rest = line.trim().chars();
    while let Some(character) = rest.next() {
        match character {
            ' ' | '\t' => words.extend(word.take()),
            '#' if word.is_none() => break,
            '\'' => word.get_or_insert_default().push_str(&single(&mut rest)?),
            '"' => word.get_or_insert_default().push_str(&double(&mut rest)?),
            '\\' => word.get_or_insert_default().extend(rest.next()),
            '~' if word.is_none() => return Err(CommandLineError::Shell('~')),
            _ if SHELL.contains(character) => return Err(CommandLineError::Shell(character)),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    match words.first() {
        None => Err(CommandLineError::Empty),
        Some(first) if first.is_empty() => Err(CommandLineError::Empty),
        // `NAME=value command` sets a variable, and a program of that name does not exist.
        Some(first) if is_assignment(first) => Err(CommandLineError::Shell('=')),
        Some(_) => Ok(words),
    }
}

fn is_assignment(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|character| character.is_ascii_alphanumeric() || character == '_')
    })
}

fn single(rest: &mut std::str::Chars<'_>) -> Result<String, CommandLineError> {
    let mut text = String::new();
    for character in rest {
        if character == '\'' {
            return Ok(text);
        }
        text.push(character);
    }
    Err(CommandLineError::OpenQuote)
}

fn double(rest: &mut std::str::Chars<'_>) -> Result<String, CommandLineError> {
    let mut text = String::new();
    while let Some(character) = rest.next() {
        match character {
            '"' => return Ok(text),
            '\\' => match rest.next() {
                Some(next) if "\\\"$`".contains(next) => text.push(next),
                Some(next) => text.extend(['\\', next]),
                None => break,
            },
            '$' | '`' => return Err(CommandLineError::Shell(character)),
            _ => text.push(character),
        }
    }
    Err(CommandLineError::OpenQuote)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str, expected: &[&str]) {
        let expected = expected.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(split_command_line(line), Ok(expected), "{line}");
    }

    #[test]
    fn a_command_line_is_split_by_posix_quoting_rules() {
        check("npm test", &["npm", "test"]);
        check("  npm \t run   lint  # all of it", &["npm", "run", "lint"]);
        check(
            r#"node -e "f({a: 'b'}) === false ? 0 : 1""#,
            &["node", "-e", "f({a: 'b'}) === false ? 0 : 1"],
        );
        check(r#"a 'b c'd "\"e\" \x" f\ g ''"#, &["a", "b cd", r#""e" \x"#, "f g", ""]);
        check(
            "pytest tests/test_a.py::test_b[1] -k 'a and not b'",
            &["pytest", "tests/test_a.py::test_b[1]", "-k", "a and not b"],
        );
        check("make CC=gcc a#b", &["make", "CC=gcc", "a#b"]);
        check("검사 한글", &["검사", "한글"]);
    }

    #[test]
    fn shell_syntax_is_refused_by_name() {
        let refused = |line: &str, expected: char| {
            assert_eq!(split_command_line(line), Err(CommandLineError::Shell(expected)), "{line}");
        };
        refused("npm test && npm run lint", '&');
        refused("npm test | tail", '|');
        refused("npm test; true", ';');
        refused("echo $(id)", '$');
        refused("echo `id`", '`');
        refused("echo \"`id`\"", '`');
        refused("echo \"$HOME\"", '$');
        refused("pytest tests/*.py", '*');
        refused("npm test > log", '>');
        refused("CI=1 npm test", '=');
        refused("~/bin/check", '~');
        refused("a\nb", '\n');
        assert_eq!(split_command_line("  # nothing"), Err(CommandLineError::Empty));
        assert_eq!(split_command_line("'' x"), Err(CommandLineError::Empty));
        assert_eq!(split_command_line("echo 'a"), Err(CommandLineError::OpenQuote));
        assert_eq!(split_command_line("echo \"a\\"), Err(CommandLineError::OpenQuote));
    }
}
