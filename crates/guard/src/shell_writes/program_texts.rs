//! Writes by programs that run a text, and by scripts with their arguments.

use moai_base::limits::{SHELL_TEXT_DEPTH_MAX, WRITTEN_PATHS_MAX};

use super::WriteSearch;
use super::readers::module_reads;
use super::shell_reader::SimpleCommand;

/// Programs that run a text in another language.
pub(super) const INTERPRETERS: [&str; 18] = [
    "bun",
    "deno",
    "elixir",
    "groovy",
    "guile",
    "julia",
    "lua",
    "node",
    "osascript",
    "perl",
    "php",
    "pwsh",
    "python",
    "Rscript",
    "ruby",
    "tclsh",
    "ts-node",
    "tsx",
];

/// Arguments before such a text, besides short ones.
const TEXT_OPTIONS: [&str; 4] = ["--eval", "--print", "-p", "eval"];
/// Words in an embedded program that writes files.
const WRITE_HINTS: [&str; 36] = [
    "chmod",
    ">",
    "write",
    "append",
    "'w",
    "\"w",
    "'a'",
    "\"a\"",
    "unlink",
    "remove",
    "rename",
    "truncate",
    "dump(",
    "copy",
    "move",
    "put_contents",
    "rmSync",
    "rmtree",
    "rm ",
    "sed -i",
    "symlink",
    "\"r+",
    "'r+",
    "O_TRUNC",
    "O_WRONLY",
    "basicConfig(",
    "bind(",
    "extract",
    "inplace",
    "mkfifo",
    "mkstemp",
    "os.link",
    "os.replace(",
    "shelve.open(",
    "unpack_archive",
    "urlretrieve",
];
/// Words in one that removes or moves whole folders.
const FOLDER_HINTS: [&str; 8] =
    ["cpSync", "copytree", "move(", "rename", "rm -r", "rmSync", "rmtree", "rmdir"];
/// Calls whose strings are not paths.
const TEXT_CALLS: [&str; 14] = [
    ".count(",
    ".endswith(",
    ".find(",
    ".includes(",
    ".index(",
    ".indexOf(",
    ".replace(",
    ".replaceAll(",
    ".split(",
    ".startswith(",
    ".sub(",
    "console.log(",
    "print(",
    "re.search(",
];
/// Calls that open a file for reading if no more than its encoding follows.
const OPENING_CALLS: [&str; 4] = ["load(", "open(", "readFileSync(", "require("];
/// Folders that a file in a text may be in.
const NAMES_MAX: usize = 8;
/// Statements of SQL that change a database, in lower case.
const SQL_WRITES: [&str; 7] = [
    "alter table",
    "create table",
    "delete from",
    "drop table",
    "insert",
    "replace into",
    "update ",
];
/// Words in one that runs commands.
const COMMAND_HINTS: [&str; 5] = ["exec", "popen", "spawn", "subprocess", "system"];

impl WriteSearch {
    /// A shell that runs a text, its input, or a script with arguments.
    pub(super) fn shell(&mut self, simple: &SimpleCommand, arguments: &[&str]) {
        let text = text_argument(arguments);
        self.in_subshell(&simple.input);
        if text.is_empty() {
            return self.script_operands(arguments);
        }
        let after = arguments.iter().skip_while(|word| **word != text).skip(1);
        let names: Vec<String> = after.map(|word| (*word).to_owned()).collect();
        self.text_with_arguments(text, &names);
    }

    /// A text that another shell runs with arguments, each of which may be any of these.
    pub(super) fn text_with_arguments(&mut self, text: &str, names: &[String]) {
        let positions = ["0", "1", "2", "@", "*"];
        for position in positions {
            self.variables.replace(position, names.iter().cloned());
        }
        self.in_subshell(text);
        for position in positions {
            self.variables.remove(position);
        }
    }

    /// An interpreter that runs a text, its input, or a script with arguments.
    pub(super) fn interpreter(&mut self, simple: &SimpleCommand, arguments: &[&str]) {
        let text = text_argument(arguments);
        self.program_text(text);
        self.program_text(&simple.input);
        if text.is_empty() && simple.input.is_empty() {
            return self.script_operands(arguments);
        }
        if writes_in_text(text) || writes_in_text(&simple.input) {
            for word in arguments.iter().filter(|word| **word != text && !word.starts_with('-')) {
                self.push(word, false);
            }
        }
    }

    /// The operands of a script or a module that is not known to only read them.
    fn script_operands(&mut self, arguments: &[&str]) {
        let module = arguments.iter().position(|word| *word == "-m");
        let module = module.and_then(|at| arguments.get(at + 1));
        if module.is_some_and(|module| module_reads(module)) {
            // The second one is the output.
            let files = arguments.iter().skip_while(|word| **word != "json.tool").skip(1);
            if let Some(output) = files.filter(|word| !word.starts_with('-')).nth(1) {
                self.push(output, false);
            }
            return;
        }
        if module == Some(&"venv") {
            for word in arguments {
                self.push(word, true);
            }
        }
        let after_script = arguments.iter().position(|word| !word.starts_with('-'));
        if let Some(at) = after_script {
            self.unknown_operands(&arguments[at + 1..]);
        }
    }

    /// A text in another language: path-like string literals count if it writes at all, and the
    /// commands that it runs are examined.
    pub(super) fn program_text(&mut self, text: &str) {
        let writes = writes_in_text(text);
        let runs_commands = COMMAND_HINTS.iter().any(|hint| text.contains(hint));
        if !writes && !runs_commands {
            return;
        }
        let pieces: Vec<&str> = text.split(['\'', '"', '`']).collect();
        if runs_commands {
            self.commands_of_text(&pieces);
        }
        let takes_folders = FOLDER_HINTS.iter().any(|hint| text.contains(hint));
        let hidden: Vec<&str> =
            pieces.iter().skip(1).step_by(2).copied().filter(|it| it.starts_with('.')).collect();
        for (at, piece) in pieces.iter().enumerate().filter(|_| writes) {
            if self.found.len() >= WRITTEN_PATHS_MAX {
                return;
            }
            if piece.contains(char::is_whitespace) || is_only_read(&pieces, at) {
                continue;
            }
            // As in `os.chdir(".claude"); open("settings.json", "w")`.
            for folder in
                hidden.iter().take(NAMES_MAX).filter(|_| at % 2 == 1 && piece.contains('.'))
            {
                self.push(&format!("{folder}/{piece}"), false);
            }
            for path in piece.split(|it: char| !is_of_path(it)) {
                if path.contains(['.', '/']) {
                    self.push(path, takes_folders);
                }
            }
            // As in `home / ".claude" / "settings.json"`.
            if let [between, next, ..] = &pieces[at + 1..]
                && matches!(between.trim_matches([' ', '(', ')']), "/" | ",")
            {
                self.push(&format!("{piece}/{next}"), false);
            }
        }
    }

    /// Follows the commands in the quoted texts of a program: each in one text, or its words in
    /// consecutive ones.
    fn commands_of_text(&mut self, pieces: &[&str]) {
        let mut words: Vec<String> = Vec::new();
        for (at, piece) in pieces.iter().enumerate().skip(1).step_by(2) {
            if self.found.len().max(self.programs.len()) >= WRITTEN_PATHS_MAX {
                return;
            }
            if piece.contains(char::is_whitespace) {
                self.in_subshell(piece);
            }
            words.push((*piece).to_owned());
            if pieces.get(at + 1).is_none_or(|between| between.trim() != ",") {
                let words = std::mem::take(&mut words);
                if self.depth < SHELL_TEXT_DEPTH_MAX && words.len() > 1 {
                    self.depth += 1;
                    self.simple_command(
                        &SimpleCommand { words, ..SimpleCommand::default() },
                        false,
                    );
                    self.depth -= 1;
                }
            }
        }
    }

    /// A database that a statement among the arguments changes.
    pub(super) fn database(&mut self, arguments: &[&str]) {
        for text in arguments {
            let (command, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text, ""));
            match command {
                ".shell" | ".system" => self.in_subshell(rest),
                ".backup" | ".clone" | ".once" | ".output" | ".save" => self.push(rest, false),
                _ => {}
            }
        }
        let is_changed = arguments.iter().any(|text| changes_database(text));
        let named = arguments.iter().find(|word| !word.starts_with('-'));
        if let Some(file) = named.filter(|_| is_changed) {
            self.push(file, false);
        }
    }
}

/// True if the code around a string literal (an odd piece) shows that it is only read, or not a
/// path.
fn is_only_read(pieces: &[&str], at: usize) -> bool {
    if at.is_multiple_of(2) {
        return false;
    }
    let behind = pieces.get(at + 1).copied().unwrap_or_default().trim_start();
    let is_text = |before: &str, behind: &str| {
        let before = before.trim_end();
        // With one argument it moves a file.
        let is_move = before.ends_with("os.replace(")
            || before.ends_with(".replace(") && !behind.trim_start().starts_with(',');
        TEXT_CALLS.iter().any(|call| before.ends_with(call)) && !is_move
    };
    let before = pieces[at - 1];
    // The second argument of such a call.
    let is_second = before.trim() == "," && at >= 3 && is_text(pieces[at - 3], before);
    let is_read_path = before.trim_end().ends_with("Path(")
        && [").read_text(", ").read_bytes("].iter().any(|call| behind.starts_with(call));
    let opens = OPENING_CALLS.iter().any(|call| before.trim_end().ends_with(call));
    let rest = behind.strip_prefix(')').unwrap_or_default();
    // Neither written through the result, nor opened for more.
    let is_reading =
        behind.starts_with(')') && !rest.starts_with(".write") && !rest.contains(".write_");
    let names_encoding = behind.starts_with(',')
        && (behind.trim_start_matches([',', ' ']).starts_with("encoding")
            || matches!(pieces.get(at + 2), Some(&("r" | "rb" | "utf8" | "utf-8"))));
    is_text(before, behind)
        || is_second
        || is_read_path
        || is_copied_away(pieces, at)
        || opens && (is_reading || names_encoding)
}

/// True if a file is copied to a variable target, in a text without a hidden folder.
fn is_copied_away(pieces: &[&str], at: usize) -> bool {
    let is_copy =
        ["copy(", "copy2(", "copyfile("].iter().any(|call| pieces[at - 1].ends_with(call));
    let behind = pieces.get(at + 1).copied().unwrap_or_default().trim();
    let names_hidden = pieces.iter().skip(1).step_by(2).any(|piece| piece.starts_with('.'));
    is_copy && behind.starts_with(',') && behind != "," && !names_hidden
}

/// True if a text in another language writes files.
fn writes_in_text(text: &str) -> bool {
    WRITE_HINTS.iter().any(|hint| text.contains(hint)) || changes_database(text)
}

fn is_of_path(character: char) -> bool {
    character.is_alphanumeric() || "._-/~$".contains(character)
}

/// The text among the arguments of a program that runs one.
pub(super) fn text_argument<'a>(arguments: &[&'a str]) -> &'a str {
    let inside = arguments.iter().find_map(|word| word.strip_prefix("--eval="));
    if let Some(text) = inside {
        return text;
    }
    // As in `-c"open(…)"`, which is one word.
    let joined = arguments.iter().find_map(|word| {
        let (letters, text) = word.strip_prefix('-')?.split_once(['c', 'e'])?;
        let is_joined = letters.chars().all(char::is_alphabetic) && letters.len() < 3;
        Some(text).filter(|text| is_joined && text.contains(['(', ' ']))
    });
    if let Some(text) = joined {
        return text;
    }
    let flag = arguments.iter().position(|word| {
        let is_short = word.starts_with('-') && word.ends_with(['c', 'e', 'r']) && word.len() <= 4;
        is_short || TEXT_OPTIONS.contains(word)
    });
    let mut behind = flag.map_or(&[][..], |at| &arguments[at + 1..]).iter();
    behind.find(|word| **word != "--").copied().unwrap_or_default()
}

fn changes_database(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    SQL_WRITES.iter().any(|statement| text.contains(statement))
}
