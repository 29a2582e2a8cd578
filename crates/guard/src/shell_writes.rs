//! The paths that a shell command may write, judged by its text alone. Programs are known by name, and
//! scripts, functions and archives are not followed, so a caller that must be sure compares the files
//! afterwards. In doubt a path does not count, because reading a protected file is allowed.

use std::collections::{HashMap, HashSet};
use std::iter::Peekable;
use std::str::Chars;

use moai_base::limits::{SHELL_TEXT_DEPTH_MAX, WRITTEN_PATHS_MAX};

/// Programs that write the files that they are given.
const WRITERS: [&str; 17] = [
    "chmod", "chown", "dd", "ed", "ex", "ln", "patch", "rm", "rmdir", "shred", "sponge", "tee",
    "touch", "truncate", "unlink", "mkfifo", "mv",
];

/// Programs that write their last argument, or into it.
const COPIERS: [&str; 4] = ["cp", "install", "rsync", "scp"];

/// Arguments by which programs that usually read write after all.
const WRITING_ARGUMENTS: [(&str, &[&str]); 6] = [
    ("awk", &["inplace"]),
    ("gawk", &["inplace"]),
    ("sed", &["--in-place"]),
    ("vim", &["-c", "-es"]),
    ("xxd", &["-r"]),
    ("yq", &["--inplace"]),
];
/// Programs that write the files that they are given with the option `-i`, which may have other
/// letters before it.
const IN_PLACE: [&str; 4] = ["perl", "ruby", "sed", "yq"];
/// Letters before that `i`, none of which takes a value.
const LETTERS_BEFORE_I: &str = "0123456789Elnprsuwyz";
/// Options that name a file to write.
const OUTPUT_OPTIONS: [(&str, &[&str]); 5] = [
    ("curl", &["-o", "--output"]),
    ("less", &["-o", "-O"]),
    ("sort", &["-o", "--output"]),
    ("tree", &["-o"]),
    ("wget", &["-O", "--output-document"]),
];

/// Arguments of `find` that write what it finds, and before a command that it runs.
const FIND_WRITING: [&str; 4] = ["-delete", "-fprint", "-fprintf", "-fls"];
const FIND_RUNNING: [&str; 3] = ["-exec", "-execdir", "-ok"];
/// Tests of `find` with a pattern for names.
const FIND_NAMES: [&str; 2] = ["-iname", "-name"];

/// Commands of git that write files of the work tree that they are given.
const GIT_WRITERS: [&str; 5] = ["checkout", "checkout-index", "mv", "restore", "rm"];
/// Options with which these change only the index.
const GIT_INDEX_ONLY: [&str; 3] = ["--cached", "--staged", "-S"];
/// Options of git before its command that take a value.
const GIT_VALUE_OPTIONS: [&str; 4] = ["-C", "-c", "--git-dir", "--work-tree"];

/// Programs that run a text in the language of the shell: of an argument such as `-c`, or of their
/// input.
const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];
/// Programs that run a text in another language.
const INTERPRETERS: [&str; 6] = ["deno", "node", "perl", "php", "python", "ruby"];
/// What a text of such a program contains when it writes files.
const WRITE_HINTS: [&str; 16] = [
    ">", "write", "'w", "\"w", "'a'", "\"a\"", "unlink", "remove", "rename", "truncate", "dump(",
    "copy", "move", "rmtree", "rm ", "sed -i",
];
/// What it contains when it runs commands.
const COMMAND_HINTS: [&str; 5] = ["exec", "popen", "spawn", "subprocess", "system"];

/// Programs that run the rest of their arguments as a command, and their options that take a value.
const WRAPPERS: [(&str, &[&str]); 12] = [
    ("builtin", &[]),
    ("command", &[]),
    ("env", &["-C", "-u"]),
    ("exec", &["-a"]),
    ("nice", &["-n"]),
    ("nohup", &[]),
    ("parallel", &["-j"]),
    ("setsid", &[]),
    ("sudo", &["-g", "-u"]),
    ("time", &["-f", "-o"]),
    ("timeout", &["-k", "-s"]),
    ("xargs", &["-E", "-I", "-L", "-P", "-d", "-n", "-s"]),
];

/// Words before a command that are no command themselves.
const KEYWORDS: [&str; 10] = ["!", "do", "elif", "else", "if", "then", "until", "while", "{", "}"];

/// Programs that remove or replace whole folders.
const FOLDER_WRITERS: [&str; 4] = ["mv", "rm", "rmdir", "shred"];

/// A path that a command may write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShellWrite {
    /// As typed, without quotes; relative to the folder in which the command starts.
    pub path: String,
    /// Whether everything below a folder of this name is written too.
    pub is_whole_folder: bool,
    /// Whether the path is a pattern for the names of existing files.
    pub is_pattern: bool,
}

/// The paths that a command may write, in order, without duplicates; at most [`WRITTEN_PATHS_MAX`].
#[must_use]
pub fn shell_writes(command: &str) -> Vec<ShellWrite> {
    let mut search = WriteSearch::default();
    search.shell_text(command);
    search.found
}

/// What a program of this name is called with in a command: its arguments without options, for each
/// call.
#[must_use]
pub fn calls_of(program: &str, command: &str) -> Vec<Vec<String>> {
    let mut calls = Vec::new();
    for simple in pipelines(command).into_iter().flatten() {
        let Some(at) = simple.program() else { continue };
        // Options of a wrapper may have values, which look like a program.
        let is_wrapped = simple.words[..at].iter().any(|word| is_wrapper(word));
        let named = simple.words.iter().position(|word| base_name(word) == program);
        if let Some(named) = named.filter(|named| *named == at || is_wrapped) {
            let arguments = simple.words[named + 1..].iter();
            calls.push(arguments.filter(|word| !word.starts_with('-')).cloned().collect());
        }
    }
    calls
}

/// What was found so far, and what later commands depend on.
#[derive(Default)]
struct WriteSearch {
    found: Vec<ShellWrite>,
    seen: HashSet<ShellWrite>,
    /// Where earlier `cd` commands lead; empty for the folder in which the command starts.
    folder: String,
    /// Values of variables and of `for` loops, by name.
    variables: HashMap<String, Vec<String>>,
    /// Texts around the present one.
    depth: usize,
}

impl WriteSearch {
    fn shell_text(&mut self, text: &str) {
        if self.depth >= SHELL_TEXT_DEPTH_MAX {
            return;
        }
        self.depth += 1;
        for pipeline in pipelines(text) {
            let is_piped_to_writer = pipeline.iter().any(pipes_to_writer);
            for simple in &pipeline {
                let folder = self.folder.clone();
                self.simple_command(simple, is_piped_to_writer);
                if simple.words.first().is_some_and(|word| word == "env") {
                    self.folder = folder;
                }
            }
        }
        self.depth -= 1;
    }

    fn simple_command(&mut self, simple: &SimpleCommand, is_piped_to_writer: bool) {
        for target in &simple.targets {
            self.push(target, false);
        }
        let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
        for word in &words {
            if let Some((name, value)) = word.split_once('=').filter(|(name, _)| is_name(name)) {
                self.variables.entry(name.to_owned()).or_default().push(value.to_owned());
            }
        }
        if let ["for", name, "in", values @ ..] = words.as_slice() {
            let values = values.iter().map(|value| (*value).to_owned());
            self.variables.entry((*name).to_owned()).or_default().extend(values);
            return;
        }
        let Some(at) = simple.program() else { return };
        let (program, arguments) = (base_name(words[at]), &words[at + 1..]);
        if let ["env", .., "-C", folder] = &words[..at] {
            self.folder = joined(&self.folder, folder);
        }
        if matches!(program, "cd" | "pushd") {
            self.folder = joined(&self.folder, arguments.first().copied().unwrap_or_default());
            return;
        }
        // `python3.12` is `python`.
        let unversioned = program.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
        let is_in_place = is_in_place(unversioned, arguments);
        match unversioned {
            "eval" => return self.shell_text(&arguments.join(" ")),
            "awk" | "gawk" | "mawk" => self.awk_outputs(arguments),
            "find" => return self.find(arguments, is_piped_to_writer),
            shell if SHELLS.contains(&shell) => {
                self.in_subshell(text_argument(arguments));
                return self.in_subshell(&simple.input);
            }
            program if INTERPRETERS.contains(&program) && !is_in_place => {
                self.program_text(text_argument(arguments));
                return self.program_text(&simple.input);
            }
            _ => {}
        }
        let is_whole_folder = match program {
            "chmod" | "chown" => arguments.iter().any(|it| it.starts_with('-') && it.contains('R')),
            _ => FOLDER_WRITERS.contains(&program) || program == "git",
        };
        self.output_options(program, arguments);
        if COPIERS.contains(&program) || program == "mv" {
            self.copy(program, arguments);
        } else if writes_files(unversioned, &simple.words) || is_piped_to_writer {
            for word in arguments.iter().filter(|word| !word.starts_with('-')) {
                self.push(word, is_whole_folder);
            }
            for named in arguments.iter().filter_map(|word| word.strip_prefix("of=")) {
                self.push(named, false);
            }
        }
        if let Some(output) = arguments.iter().find_map(|word| word.strip_prefix("--output=")) {
            self.push(output, false);
        }
    }

    /// The last argument of a copy is the file, or the folder that gets files of the same names.
    fn copy(&mut self, program: &str, arguments: &[&str]) {
        let named: Vec<&str> =
            arguments.iter().copied().filter(|word| !word.starts_with('-')).collect();
        let Some((target, sources)) = named.split_last() else { return };
        self.push(target, false);
        for source in sources {
            self.push(&format!("{}/{}", target.trim_end_matches('/'), base_name(source)), false);
            if program == "mv" {
                self.push(source, true);
            }
        }
    }

    /// A text that another shell runs, which leaves the folder as it is.
    fn in_subshell(&mut self, text: &str) {
        let folder = self.folder.clone();
        self.shell_text(text);
        self.folder = folder;
    }

    /// A text in another language: what looks like a path in its quoted texts counts if it writes at
    /// all, and the commands that it runs are followed.
    fn program_text(&mut self, text: &str) {
        if !WRITE_HINTS.iter().any(|hint| text.contains(hint)) {
            return;
        }
        let runs_commands = COMMAND_HINTS.iter().any(|hint| text.contains(hint));
        let pieces: Vec<&str> = text.split(['\'', '"', '`']).collect();
        for (at, piece) in pieces.iter().enumerate() {
            if self.found.len() >= WRITTEN_PATHS_MAX {
                return;
            }
            if piece.contains(char::is_whitespace) {
                if runs_commands {
                    self.in_subshell(piece);
                }
                continue;
            }
            for path in piece.split(|it: char| !is_of_path(it)) {
                if path.contains(['.', '/']) {
                    self.push(path, false);
                }
            }
            // As in `home / ".claude" / "settings.json"`.
            if let [between, next, ..] = &pieces[at + 1..]
                && matches!(between.trim(), "/" | ",")
            {
                self.push(&format!("{piece}/{next}"), false);
            }
        }
    }

    /// The files to which the text of `awk` redirects its output.
    fn awk_outputs(&mut self, arguments: &[&str]) {
        for text in arguments {
            let mut pieces = text.split('"');
            while let (Some(before), Some(quoted)) = (pieces.next(), pieces.next()) {
                if before.trim_end().ends_with('>') {
                    self.push(quoted, false);
                }
            }
        }
    }

    /// The files to which the options of a program name its output.
    fn output_options(&mut self, program: &str, arguments: &[&str]) {
        let known = OUTPUT_OPTIONS.iter().find(|(name, _)| *name == program);
        let Some((_, options)) = known else { return };
        for pair in arguments.windows(2) {
            let is_option = options.iter().any(|option| {
                let letter = option.trim_start_matches('-');
                // As in `-uo`.
                let is_cluster = letter.len() == 1
                    && pair[0].starts_with('-')
                    && !pair[0].starts_with("--")
                    && pair[0].ends_with(letter);
                pair[0] == *option || is_cluster
            });
            if is_option {
                self.push(pair[1], false);
            }
        }
    }

    /// What `find` writes: what it finds by name in its folders, and not what it finds below them,
    /// because most of what it removes is in folders that nobody protects.
    fn find(&mut self, arguments: &[&str], is_piped_to_writer: bool) {
        let mut writes = is_piped_to_writer || arguments.iter().any(|it| FIND_WRITING.contains(it));
        if let Some(at) = arguments.iter().position(|word| FIND_RUNNING.contains(word)) {
            let words = arguments[at + 1..].iter().take_while(|word| !matches!(**word, ";" | "+"));
            let words = words.map(|word| (*word).to_owned()).collect();
            let run = SimpleCommand { words, ..SimpleCommand::default() };
            writes |= run.writes();
            self.simple_command(&run, false);
        }
        if !writes {
            return;
        }
        let folders = arguments.iter().take_while(|word| !word.starts_with(['-', '(', '!']));
        let folders: Vec<&str> = folders.copied().collect();
        let named = arguments.windows(2).filter(|pair| FIND_NAMES.contains(&pair[0]));
        let mut patterns: Vec<&str> = named.map(|pair| pair[1]).collect();
        if patterns.is_empty() {
            patterns.push("*");
        }
        for folder in folders {
            for pattern in &patterns {
                self.push(&format!("{}/{pattern}", folder.trim_end_matches('/')), false);
            }
        }
    }

    /// Adds a word with the values of its variable.
    fn push(&mut self, word: &str, is_whole_folder: bool) {
        let word = &plain_variables(word);
        let name = word.split_once('$').map(|(_, rest)| rest.trim_start_matches('{'));
        let name = name.map(|rest| rest.split(|it: char| !is_name_character(it)).next());
        let values =
            name.flatten().and_then(|name| Some((name, self.variables.get(name)?.clone())));
        if let Some((name, values)) = values {
            for value in values {
                self.add(&word.replace(&format!("${name}"), &value), is_whole_folder);
            }
            return;
        }
        self.add(word, is_whole_folder);
    }

    fn add(&mut self, word: &str, is_whole_folder: bool) {
        // A substitution before a path usually prints the present folder.
        let word = word.trim_start_matches("$()/");
        let is_pattern = word.contains(['*', '?', '{', '[']);
        let new = ShellWrite { path: joined(&self.folder, word), is_whole_folder, is_pattern };
        let has_room = self.found.len() < WRITTEN_PATHS_MAX;
        // `xargs` and `find` put names in the place of `{}`.
        if has_room && !word.is_empty() && !word.contains("{}") && self.seen.insert(new.clone()) {
            self.found.push(new);
        }
    }
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_name_character)
}

/// Whether a program writes the files that it is given with these words.
fn writes_files(program: &str, words: &[String]) -> bool {
    if program == "git" {
        return writes_by_git(words);
    }
    let texts: Vec<&str> = words.iter().map(String::as_str).collect();
    let flags = WRITING_ARGUMENTS.iter().find(|(name, _)| *name == program).map(|(_, flags)| flags);
    let has_flag = flags.is_some_and(|flags| {
        words.iter().any(|word| flags.iter().any(|flag| word.starts_with(flag)))
    });
    let is_writer = WRITERS.contains(&program) || COPIERS.contains(&program);
    is_writer || has_flag || is_in_place(program, &texts)
}

fn writes_by_git(words: &[String]) -> bool {
    let mut rest = words.iter().skip_while(|word| base_name(word) != "git").skip(1);
    let mut command = None;
    while let Some(word) = rest.next() {
        if GIT_VALUE_OPTIONS.contains(&word.as_str()) {
            rest.next();
        } else if !word.starts_with('-') {
            command = Some(word.as_str());
            break;
        }
    }
    let is_index_only = words.iter().any(|word| GIT_INDEX_ONLY.contains(&word.as_str()));
    command.is_some_and(|command| GIT_WRITERS.contains(&command)) && !is_index_only
}

fn is_of_path(character: char) -> bool {
    character.is_alphanumeric() || "._-/~$".contains(character)
}

/// The text among the arguments of a program that runs one.
fn text_argument<'a>(arguments: &[&'a str]) -> &'a str {
    let flag = arguments.iter().position(|word| {
        word.starts_with('-') && word.ends_with(['c', 'e', 'r']) && word.len() <= 4
    });
    flag.and_then(|at| arguments.get(at + 1)).copied().unwrap_or_default()
}

/// Whether an option makes a program write the files that it is given.
fn is_in_place(program: &str, arguments: &[&str]) -> bool {
    let is_cluster = |word: &&str| {
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        letters.is_some_and(|letters| {
            letters.trim_start_matches(|it| LETTERS_BEFORE_I.contains(it)).starts_with('i')
        })
    };
    IN_PLACE.contains(&program) && arguments.iter().any(is_cluster)
}

/// Whether a command of a pipeline passes names to a program that writes them.
fn pipes_to_writer(simple: &SimpleCommand) -> bool {
    let is_passed = simple.words.iter().any(|it| matches!(base_name(it), "parallel" | "xargs"));
    is_passed && simple.writes()
}

/// The word with `$NAME` for `${NAME}`, and with the default of `${NAME:-default}`.
fn plain_variables(word: &str) -> String {
    let Some((before, after)) = word.split_once("${") else { return word.to_owned() };
    let has_default = after.find(":-").is_some_and(|at| is_name(&after[..at]));
    // A default may contain further variables.
    let ended = if has_default { after.rsplit_once('}') } else { after.split_once('}') };
    let Some((inside, behind)) = ended else { return word.to_owned() };
    let plain = match inside.split_once(":-").filter(|_| has_default) {
        Some((_, default)) => plain_variables(default),
        None => format!("${inside}"),
    };
    format!("{before}{plain}{}", plain_variables(behind))
}

fn joined(folder: &str, next: &str) -> String {
    match next {
        "" | "-" => String::new(),
        next if folder.is_empty() || next.starts_with(['/', '~', '$']) => next.to_owned(),
        next => format!("{folder}/{next}"),
    }
}

fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// One program with its arguments.
#[derive(Debug, Default)]
struct SimpleCommand {
    words: Vec<String>,
    /// Files that its output is redirected to.
    targets: Vec<String>,
    /// The texts of its here-documents.
    input: String,
}

impl SimpleCommand {
    /// The position of the program; `None` for assignments alone.
    fn program(&self) -> Option<usize> {
        let mut wrapper: Option<&str> = None;
        let mut is_value = false;
        self.words.iter().position(|word| {
            if std::mem::take(&mut is_value) {
                return false;
            }
            if let Some((_, options)) = WRAPPERS.iter().find(|(name, _)| Some(*name) == wrapper)
                && options.contains(&word.as_str())
            {
                is_value = true;
                return false;
            }
            let is_assignment = word.split_once('=').is_some_and(|(name, _)| is_name(name));
            let is_of_wrapper = wrapper.is_some() && (word.starts_with('-') || is_duration(word));
            if is_assignment || KEYWORDS.contains(&word.as_str()) || is_of_wrapper {
                return false;
            }
            if is_wrapper(word) {
                wrapper = Some(base_name(word));
                return false;
            }
            true
        })
    }

    /// Whether its program writes the files that it is given.
    fn writes(&self) -> bool {
        self.program().is_some_and(|at| writes_files(base_name(&self.words[at]), &self.words))
    }
}

fn is_wrapper(word: &str) -> bool {
    WRAPPERS.iter().any(|(name, _)| *name == base_name(word))
}

/// Whether this is a number, with a unit or not.
fn is_duration(word: &str) -> bool {
    word.trim_end_matches(['s', 'm', 'h', 'd']).parse::<f64>().is_ok()
}

/// The commands of a text, those connected by pipes together.
fn pipelines(text: &str) -> Vec<Vec<SimpleCommand>> {
    let mut reader =
        ShellReader { pipelines: vec![vec![SimpleCommand::default()]], ..ShellReader::default() };
    let mut rest = text.chars().peekable();
    while let Some(next) = rest.next() {
        match (reader.quote, next) {
            (Some('\''), '\'') | (Some('"'), '"') => reader.quote = None,
            (Some('\''), other) => reader.push(other),
            (Some('"') | None, '\\') => match rest.next() {
                Some('\n') | None => {}
                Some(escaped) => reader.push(escaped),
            },
            // A substitution runs a command of its own; the word around it goes on after it.
            (_, '$') if rest.peek() == Some(&'(') => {
                rest.next();
                reader.begin_substitution();
            }
            (None, ')') if !reader.outer.is_empty() => reader.end_substitution(),
            (None, quote @ ('\'' | '"')) => {
                reader.quote = Some(quote);
                reader.is_in_word = true;
            }
            (None, '#') if !reader.is_in_word => while rest.next_if(|it| *it != '\n').is_some() {},
            (None, '>') => {
                // The number or `&` before it names a stream.
                if reader.word.chars().all(|it| it.is_ascii_digit() || it == '&') {
                    reader.word.clear();
                }
                reader.end_word();
                while rest.next_if(|it| matches!(it, '>' | '|')).is_some() {}
                // `>&2` duplicates a stream.
                reader.is_target = rest.next_if_eq(&'&').is_none()
                    || !rest.peek().is_some_and(|it| it.is_ascii_digit() || *it == '-');
            }
            (None, '<') => {
                reader.end_word();
                let is_document = rest.next_if_eq(&'<').is_some() && rest.peek() != Some(&'<');
                if is_document {
                    rest.next_if_eq(&'-');
                    reader.is_delimiter = true;
                } else {
                    while rest.next_if_eq(&'<').is_some() {}
                    reader.is_input = true;
                }
            }
            (None, '|') if rest.peek() != Some(&'|') => {
                rest.next_if_eq(&'&');
                reader.end_command();
            }
            (None, '&') if rest.peek() == Some(&'>') => reader.end_word(),
            (None, '\n') => {
                reader.end_word();
                for delimiter in std::mem::take(&mut reader.delimiters) {
                    let text = here_document(&mut rest, &delimiter);
                    reader.add_input(&text);
                }
                reader.end_pipeline();
            }
            (None, ';' | '|' | '&' | '(' | ')') | (_, '`') => reader.end_pipeline(),
            (None, space) if space.is_whitespace() => reader.end_word(),
            (_, other) => reader.push(other),
        }
    }
    reader.end_word();
    while !reader.outer.is_empty() {
        reader.end_substitution();
        reader.end_word();
    }
    reader.pipelines
}

/// Takes the lines of a here-document up to its delimiter.
fn here_document(rest: &mut Peekable<Chars<'_>>, delimiter: &str) -> String {
    let mut text = String::new();
    while rest.peek().is_some() {
        let line: String = rest.by_ref().take_while(|it| *it != '\n').collect();
        if line.trim() == delimiter {
            break;
        }
        text.push_str(&line);
        text.push('\n');
    }
    text
}

#[derive(Debug, Default)]
struct ShellReader {
    pipelines: Vec<Vec<SimpleCommand>>,
    word: String,
    is_in_word: bool,
    /// The next word is the target of a redirection.
    is_target: bool,
    /// The next word is a file that is read.
    is_input: bool,
    /// The next word ends a here-document.
    is_delimiter: bool,
    /// Delimiters of the here-documents that begin on the next line.
    delimiters: Vec<String>,
    quote: Option<char>,
    /// What surrounds the present substitutions: quote and command.
    outer: Vec<OuterCommand>,
}

/// A command that a substitution interrupts.
#[derive(Debug)]
struct OuterCommand {
    quote: Option<char>,
    word: String,
    is_target: bool,
    pipeline: Vec<SimpleCommand>,
}

impl ShellReader {
    fn push(&mut self, character: char) {
        self.word.push(character);
        self.is_in_word = true;
    }

    fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if !std::mem::take(&mut self.is_in_word) || word.is_empty() {
            return;
        }
        if std::mem::take(&mut self.is_delimiter) {
            self.delimiters.push(word);
            return;
        }
        let is_input = std::mem::take(&mut self.is_input);
        let is_target = std::mem::take(&mut self.is_target);
        let command = self.pipelines.last_mut().and_then(|pipeline| pipeline.last_mut());
        if let Some(command) = command.filter(|_| !is_input) {
            let list = if is_target { &mut command.targets } else { &mut command.words };
            list.push(word);
        }
    }

    /// Gives the text of a here-document to the last command that has words.
    fn add_input(&mut self, text: &str) {
        let commands =
            self.pipelines.iter_mut().rev().flat_map(|pipeline| pipeline.iter_mut().rev());
        if let Some(command) = commands.into_iter().find(|command| !command.words.is_empty()) {
            command.input.push_str(text);
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        if let Some(pipeline) = self.pipelines.last_mut() {
            pipeline.push(SimpleCommand::default());
        }
    }

    fn end_pipeline(&mut self) {
        self.end_word();
        // As in `<(command)`.
        (self.is_input, self.is_target, self.is_delimiter) = (false, false, false);
        self.pipelines.push(vec![SimpleCommand::default()]);
    }

    fn begin_substitution(&mut self) {
        let pipeline = self.pipelines.pop().unwrap_or_default();
        self.outer.push(OuterCommand {
            quote: self.quote.take(),
            word: std::mem::take(&mut self.word),
            is_target: std::mem::take(&mut self.is_target),
            pipeline,
        });
        self.is_in_word = false;
        self.pipelines.push(vec![SimpleCommand::default()]);
    }

    fn end_substitution(&mut self) {
        self.end_word();
        let Some(outer) = self.outer.pop() else { return };
        self.pipelines.push(outer.pipeline);
        // What the command printed is unknown.
        self.word = outer.word + "$()";
        (self.quote, self.is_target, self.is_in_word) = (outer.quote, outer.is_target, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writes(command: &str, name: &str) -> bool {
        shell_writes(command).iter().any(|found| {
            let below = format!("{}/", found.path);
            found.path == name || found.is_whole_folder && name.starts_with(&below)
        })
    }

    #[test]
    fn reading_and_running_a_file_writes_nothing() {
        for command in [
            "cat RUBRIC.md",
            "cat RUBRIC.md && npm test",
            "grep -n x RUBRIC.md | head -3; make",
            "bash RUBRIC.md --fast",
            "./RUBRIC.md",
            "git diff RUBRIC.md",
            "git add RUBRIC.md && git commit -m 'RUBRIC.md: more'",
            "sed -n 1,5p RUBRIC.md",
            "npm test > out.txt 2>&1 # RUBRIC.md",
            "cat < RUBRIC.md",
            "if grep -q x RUBRIC.md; then npm test; fi",
            "diff RUBRIC.md other.md >/tmp/d",
            "git commit -m \"$(cat <<'EOF'\nMove rules out of RUBRIC.md\n\nrm RUBRIC.md by hand\nEOF\n)\"",
            "gh pr create --body \"$(cat <<'EOF'\n- Update RUBRIC.md > more\nEOF\n)\"",
            "cat > docs/setup.md <<'EOF'\nrm -rf RUBRIC.md\nEOF",
            "cp RUBRIC.md /tmp/x && strings RUBRIC.md",
            "python3 -m json.tool RUBRIC.md",
            "python3 -c \"import json; print(json.load(open('RUBRIC.md')))\"",
            "for f in RUBRIC.md README.md; do wc -l $f; done",
            "f=RUBRIC.md; [ -f \"$f\" ] && head \"$f\"; rm -f /tmp/x",
            "git restore --staged RUBRIC.md; git rm --cached RUBRIC.md; git reset HEAD RUBRIC.md",
            "git log -S checkout -- RUBRIC.md; git stash show -p -- RUBRIC.md",
            "npx prettier --check RUBRIC.md; shellcheck RUBRIC.md; bash -n RUBRIC.md",
            "while read f; do echo $f; done < RUBRIC.md",
            "echo RUBRIC.md | xargs cat",
            "tar czf /tmp/x.tgz RUBRIC.md; curl https://host/RUBRIC.md -o /tmp/y",
            "mv dist/out.zip ..",
            "sort -o /tmp/s RUBRIC.md",
            "python - <<'EOF'\np = Path('a.md')\np.write_text(p.read_text() + 'see RUBRIC.md')\nEOF",
            "node -e \"exec('cat RUBRIC.md > /tmp/x')\"",
            "bash -c 'cat RUBRIC.md > /tmp/x'",
            "eval \"$(cat RUBRIC.md)\"",
            "curl -o /tmp/x https://host/RUBRIC.md",
            "sudo -u rm cat RUBRIC.md",
            "find . -name RUBRIC.md -exec cat {} + > /tmp/x",
            "perl -ne 'print if /x/' RUBRIC.md",
            "awk '{print $1}' RUBRIC.md > /tmp/x",
            "awk '$2 == \"RUBRIC.md\" { print }' x",
        ] {
            assert!(!writes(command, "RUBRIC.md"), "{command}");
        }
    }

    #[test]
    fn every_usual_way_to_write_is_found() {
        for command in [
            "echo x > RUBRIC.md",
            "echo x >>RUBRIC.md",
            "echo x &> RUBRIC.md",
            "echo x >| 'RUBRIC.md'",
            "echo x 1>\"RUBRIC.md\"",
            "sed -i s/a/b/ RUBRIC.md",
            "sed -i.bak s/a/b/ RUBRIC.md",
            "rm -f RUBRIC.md",
            "cp other.md RUBRIC.md",
            "true && sudo -n mv other.md RUBRIC.md",
            "cat other | tee RUBRIC.md >/dev/null",
            "python3 -c \"open('RUBRIC.md', 'w').write('')\"",
            "bash -c 'echo x > RUBRIC.md'",
            "echo RUBRIC.md | xargs rm",
            "find . -name RUBRIC.md -delete",
            "git checkout HEAD~3 -- RUBRIC.md",
            "git -C . restore RUBRIC.md",
            "f=RUBRIC.md; rm $f",
            "x=$(rm RUBRIC.md)",
            "echo \"$(rm RUBRIC.md)\"",
            "(cd . ; truncate -s 0 RUBRIC.md)",
            "if true; then rm RUBRIC.md; fi",
            "env A=1 timeout 5 rm RUBRIC.md",
            "R\\UBRIC=1 rm RUBR''IC.md",
            "dd if=/dev/null of=RUBRIC.md",
            "python3 - <<'EOF'\nfrom pathlib import Path\nPath('RUBRIC.md').write_text('')\nEOF",
            "node <<'EOF'\nfs.writeFileSync('RUBRIC.md', '')\nEOF",
            "F=RUBRIC.md\necho x > \"$F\"",
            "export D=.; echo x > $D/RUBRIC.md",
            "cp other/RUBRIC.md .",
            "cp -r other/RUBRIC.md ./",
            "for f in RUBRIC.md other; do sed -ri s/a/b/ $f; done",
            "sed -zi s/a/b/ RUBRIC.md",
            "echo \"$(date)\" > RUBRIC.md",
            "echo > $(pwd)/RUBRIC.md",
            "pushd . ; rm RUBRIC.md",
            "diff <(cat a) <(rm RUBRIC.md)",
            "python3.12 -c \"open('RUBRIC.md', 'w')\"",
            "eval 'echo x > RUBRIC.md'",
            "bash -c 'cd .; rm RUBRIC.md'",
            "sh -c \"bash -c 'rm RUBRIC.md'\"",
            "python3 -c \"import os; os.system('rm RUBRIC.md')\"",
            "sed -zEi s/a/b/ RUBRIC.md",
            "perl -pi -e s/a/b/ RUBRIC.md",
            "perl -i.bak -pe s/a/b/ RUBRIC.md",
            "gawk -i inplace '{print}' RUBRIC.md",
            "vim -es -c '%s/a/b/' -c wq RUBRIC.md",
            "curl -sSLo RUBRIC.md https://host/x",
            "wget -O RUBRIC.md https://host/x",
            "sort -uo RUBRIC.md a",
            "find . -name x.md -exec cp {} RUBRIC.md \\;",
            "awk '{ print > \"RUBRIC.md\" }' x",
            "find . -name RUBRIC.md | xargs -n 1 rm",
            "sudo -u me tee RUBRIC.md < x",
            "timeout 5s tee RUBRIC.md < x",
            "echo x > ${D:-.}/RUBRIC.md",
        ] {
            let is_found = ["RUBRIC.md", "./RUBRIC.md"].iter().any(|name| writes(command, name));
            assert!(is_found, "{command}: {:?}", shell_writes(command));
        }
    }

    /// A command in this many texts.
    fn nested(depth: usize) -> String {
        (0..depth).fold("rm x".to_owned(), |text, _| format!("eval {text}"))
    }

    #[test]
    fn folders_count_where_the_program_takes_all_of_them_and_after_cd() {
        assert!(writes("rm -rf .moai", ".moai/config/lsp.json"));
        assert!(!writes("prettier --write .moai", ".moai/config/lsp.json"));
        assert!(writes("chmod -R a-w .moai", ".moai/config/lsp.json"));
        assert!(!writes("chmod 700 .moai", ".moai/config/lsp.json"));
        assert!(writes("cd .claude && rm autochecks.sh", ".claude/autochecks.sh"));
        assert!(writes("cd a; cd b; touch c", "a/b/c"));
        assert!(writes("git checkout HEAD~1 -- .claude", ".claude/settings.json"));
        assert!(writes("env -C .claude sh -c 'echo > autochecks.sh'", ".claude/autochecks.sh"));
        assert!(writes("env -C x true; rm autochecks.sh", "autochecks.sh"));
        assert!(!writes(&nested(SHELL_TEXT_DEPTH_MAX), "x"), "deeper than what is followed");
        assert!(writes(&nested(SHELL_TEXT_DEPTH_MAX - 1), "x"));
        assert!(writes("sh -c 'cd .claude; echo > autochecks.sh'", ".claude/autochecks.sh"));
        assert!(!writes("bash -c 'cd .claude'; rm autochecks.sh", ".claude/autochecks.sh"));
        assert!(writes(
            "python3 -c \"(Path.home() / '.claude' / 'settings.json').write_text('{}')\"",
            ".claude/settings.json"
        ));
        assert!(writes("echo > ${HOME}/.claude/a", "$HOME/.claude/a"));
        let state = "${XDG_STATE_HOME:-${HOME}/.local/state}/moai-ralph";
        assert!(writes(&format!("rm -rf {state}"), "$HOME/.local/state/moai-ralph"));
    }

    #[test]
    fn patterns_stay_patterns() {
        let patterns = |command| -> Vec<String> {
            let found = shell_writes(command).into_iter().filter(|found| found.is_pattern);
            found.map(|found| found.path).collect()
        };
        assert_eq!(patterns("rm -rf ~/test-* .claude/*"), ["~/test-*", ".claude/*"]);
        assert_eq!(patterns("find .claude -name '*.json' -delete"), [".claude/*.json"]);
        assert_eq!(patterns("find .claude/ -type f | xargs rm"), [".claude/*"]);
        assert_eq!(patterns("find .claude -name '*.json'"), [""; 0]);
        assert!(shell_writes("ls | xargs -I{} mv {} ..").iter().all(|found| !found.is_pattern));
    }

    #[test]
    fn a_long_text_is_read_once() {
        let calls: Vec<String> = (0..100_000).map(|at| format!("x(\"y{at}.b\"); ")).collect();
        let found = shell_writes(&format!("node -e 'write {}'; rm last", calls.concat()));
        assert_eq!(found.len(), WRITTEN_PATHS_MAX);
    }

    #[test]
    fn calls_are_found_behind_wrappers() {
        let calls = |command| calls_of("moai-ralph", command).concat().join(" ");
        assert_eq!(calls("env -u A setsid -f ./bin/moai-ralph -q trust"), "trust");
        assert_eq!(calls("x=$(moai-ralph loop refreeze)"), "loop refreeze");
        assert_eq!(calls("echo moai-ralph trust"), "");
    }

    #[test]
    fn odd_texts_end() {
        for command in ["", "'", "\"$(", "`", "\\", "a | | b", ">", "$((", "<<EOF\nrm x\nEOF", "\0"]
        {
            let _ = shell_writes(command);
        }
    }
}
