//! The paths that a shell command may write, judged by its text alone. Programs are known by name, and
//! scripts, functions and archives are not followed, so a caller that must be sure compares the files
//! afterwards. In doubt a path does not count, because reading a protected file is allowed.

use std::collections::{HashMap, HashSet};

mod shell_reader;

use moai_base::limits::{SHELL_TEXT_DEPTH_MAX, WRITTEN_PATHS_MAX};
use shell_reader::{SimpleCommand, is_wrapper, pipelines};

/// Programs that write the files that they are given.
const WRITERS: [&str; 24] = [
    "chattr", "chmod", "chown", "dd", "dos2unix", "ed", "emacs", "ex", "ln", "mkfifo", "mv",
    "nano", "patch", "rename", "rm", "rmdir", "setfacl", "shred", "sponge", "tee", "touch",
    "truncate", "unix2dos", "unlink",
];
/// Programs that replace the files that they are given, unless an option says otherwise.
const COMPRESSORS: [&str; 6] = ["bunzip", "bzip", "gunzip", "gzip", "unxz", "xz"];
/// Options with which these leave the files.
const COMPRESSORS_LEAVE: [&str; 7] = ["-c", "-k", "-l", "-t", "--keep", "--list", "--stdout"];

/// Programs that write their last argument, or into it.
const COPIERS: [&str; 4] = ["cp", "install", "rsync", "scp"];

/// Arguments by which programs that usually read write after all.
const WRITING_ARGUMENTS: [(&str, &[&str]); 10] = [
    ("awk", &["inplace"]),
    ("gawk", &["inplace"]),
    ("nvim", &["-c", "-es"]),
    ("prettier", &["--write", "-w"]),
    ("sed", &["--in-place"]),
    ("shfmt", &["-w"]),
    ("vi", &["-c", "-es"]),
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
const OUTPUT_OPTIONS: [(&str, &[&str]); 10] = [
    ("cc", &["-o"]),
    ("curl", &["-o", "--output"]),
    ("gcc", &["-o"]),
    ("iconv", &["-o"]),
    ("less", &["-o", "-O"]),
    ("openssl", &["-out"]),
    ("shuf", &["-o"]),
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
/// Options with which they change the work tree after all.
const GIT_WORK_TREE: [&str; 2] = ["--worktree", "-W"];
/// Options of git before its command that take a value.
const GIT_VALUE_OPTIONS: [&str; 4] = ["-C", "-c", "--git-dir", "--work-tree"];

/// Programs that run a text in the language of the shell: of an argument such as `-c`, or of their
/// input.
const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];
/// Programs that run shell commands among their arguments, each in one argument.
const COMMAND_RUNNERS: [&str; 7] = ["flock", "screen", "script", "su", "tmux", "trap", "watch"];
/// Programs that run a text in another language.
const INTERPRETERS: [&str; 8] = ["bun", "deno", "lua", "node", "perl", "php", "python", "ruby"];
/// Arguments before such a text, besides short ones.
const TEXT_OPTIONS: [&str; 4] = ["--eval", "--print", "-p", "eval"];
/// What a text of such a program contains when it writes files.
const WRITE_HINTS: [&str; 19] = [
    ">",
    "write",
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
];
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
/// What it contains when it runs commands.
const COMMAND_HINTS: [&str; 5] = ["exec", "popen", "spawn", "subprocess", "system"];

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

/// What a program of this name is called with in a command: the arguments of each call.
#[must_use]
pub fn calls_of(program: &str, command: &str) -> Vec<Vec<String>> {
    let mut search = WriteSearch::default();
    search.shell_text(command);
    let called = search.programs.into_iter().filter_map(|call| {
        let at = call.words.iter().position(|word| base_name(word) == program)?;
        (at == 0 || call.runs_argument).then(|| call.words[at + 1..].to_vec())
    });
    called.collect()
}

/// A program with its arguments.
struct ShellCall {
    words: Vec<String>,
    /// Whether one of the arguments may be the program: a shell runs a script, and options of a
    /// wrapper may have values that look like a program.
    runs_argument: bool,
}

/// What was found so far, and what later commands depend on.
#[derive(Default)]
struct WriteSearch {
    found: Vec<ShellWrite>,
    seen: HashSet<ShellWrite>,
    /// At most [`WRITTEN_PATHS_MAX`].
    programs: Vec<ShellCall>,
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
            self.piped_texts(&pipeline);
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

    /// Follows the texts that a pipeline prints into a shell.
    fn piped_texts(&mut self, pipeline: &[SimpleCommand]) {
        let reads_commands = |simple: &SimpleCommand| {
            let Some(at) = simple.program() else { return false };
            let has_script = simple.words[at + 1..].iter().any(|word| !word.starts_with('-'));
            SHELLS.contains(&base_name(&simple.words[at])) && !has_script
        };
        let Some(shell) = pipeline.iter().skip(1).position(reads_commands) else { return };
        for simple in &pipeline[..=shell] {
            self.in_subshell(&simple.input);
            if let [program, texts @ ..] = simple.words.as_slice()
                && matches!(program.as_str(), "echo" | "printf")
            {
                for text in texts {
                    self.in_subshell(&text.replace("\\n", "\n"));
                }
            }
        }
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
        let named = self.value_of(words[at]);
        if named.contains(char::is_whitespace) {
            // A whole command, as in `env -S 'a b'`.
            return self.in_subshell(&named);
        }
        let (program, arguments) = (base_name(&named), &words[at + 1..]);
        self.record_program(&named, &words, at);
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
            "sed" => self.sed_outputs(arguments),
            "sqlite" => return self.database(arguments),
            "find" => return self.find(arguments, is_piped_to_writer),
            "." | "at" | "batch" | "source" => return self.in_subshell(&simple.input),
            runner if COMMAND_RUNNERS.contains(&runner) => {
                let texts = arguments.iter().filter(|text| text.contains(char::is_whitespace));
                return texts.for_each(|text| self.in_subshell(text));
            }
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
        self.downloads(program, arguments);
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

    /// The value of a word that is a variable, if it is known.
    fn value_of(&self, word: &str) -> String {
        let plain = plain_variables(word);
        let values = plain.strip_prefix('$').and_then(|name| self.variables.get(name));
        values.and_then(|values| values.last()).cloned().unwrap_or(plain)
    }

    fn record_program(&mut self, named: &str, words: &[&str], at: usize) {
        if self.programs.len() >= WRITTEN_PATHS_MAX {
            return;
        }
        let is_wrapped = words[..at].iter().any(|word| is_wrapper(word));
        let runs_argument = is_wrapped || SHELLS.contains(&base_name(named));
        let arguments = words[at + 1..].iter().copied();
        let words = [named].into_iter().chain(arguments).map(str::to_owned).collect();
        self.programs.push(ShellCall { words, runs_argument });
    }

    /// The last argument of a copy, or the value of an option, is the file, or the folder that gets
    /// files of the same names.
    fn copy(&mut self, program: &str, arguments: &[&str]) {
        let mut named: Vec<&str> =
            arguments.iter().copied().filter(|word| !word.starts_with('-')).collect();
        let long = arguments.iter().find_map(|word| word.strip_prefix("--target-directory="));
        let short = arguments.iter().position(|word| *word == "-t").map(|at| at + 1);
        let folder = long.or_else(|| arguments.get(short?).copied());
        named.retain(|word| Some(*word) != folder);
        let Some(target) = folder.or_else(|| named.pop()) else { return };
        self.push(target, false);
        for source in named {
            // As in `host:file`.
            let name = base_name(source).rsplit(':').next().unwrap_or_default();
            // The content of a folder has unknown names.
            let name = if matches!(name, "" | ".") { "*" } else { name };
            self.push(&format!("{}/{name}", target.trim_end_matches('/')), false);
            if program == "mv" {
                self.push(source, true);
            }
        }
    }

    /// The files that `sed` writes with its command `w`.
    fn sed_outputs(&mut self, arguments: &[&str]) {
        for text in arguments {
            for (at, _) in text.match_indices("w ") {
                let before = text[..at].chars().next_back();
                if before.is_none_or(|it| !it.is_alphabetic()) {
                    self.push(text[at + 2..].lines().next().unwrap_or_default().trim(), false);
                }
            }
        }
    }

    /// A database that a statement among the arguments changes.
    fn database(&mut self, arguments: &[&str]) {
        let is_changed = arguments.iter().any(|text| changes_database(text));
        let named = arguments.iter().find(|word| !word.starts_with('-'));
        if let Some(file) = named.filter(|_| is_changed) {
            self.push(file, false);
        }
    }

    /// Files that get the names of what is downloaded.
    fn downloads(&mut self, program: &str, arguments: &[&str]) {
        let keeps_name = match program {
            "wget" => true,
            "curl" => arguments.iter().any(|word| matches!(*word, "-O" | "--remote-name")),
            _ => false,
        };
        let urls = arguments.iter().filter(|word| keeps_name && word.contains("://"));
        for url in urls {
            self.push(base_name(url), false);
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
        let writes = WRITE_HINTS.iter().any(|hint| text.contains(hint)) || changes_database(text);
        let runs_commands = COMMAND_HINTS.iter().any(|hint| text.contains(hint));
        if !writes && !runs_commands {
            return;
        }
        let pieces: Vec<&str> = text.split(['\'', '"', '`']).collect();
        if runs_commands {
            self.commands_of_text(&pieces);
        }
        for (at, piece) in pieces.iter().enumerate().filter(|_| writes) {
            if self.found.len() >= WRITTEN_PATHS_MAX {
                return;
            }
            if piece.contains(char::is_whitespace) {
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
            writes |= writes_what_it_is_given(&run);
            self.simple_command(&run, false);
        }
        if !writes {
            return;
        }
        let folders = arguments.iter().take_while(|word| !word.starts_with(['-', '(', '!']));
        let folders: Vec<&str> = folders.copied().collect();
        let named = arguments.windows(2).filter(|pair| FIND_NAMES.contains(&pair[0]));
        let mut patterns: Vec<String> = named
            .map(|pair| if pair[0] == "-iname" { in_any_case(pair[1]) } else { pair[1].to_owned() })
            .collect();
        if patterns.is_empty() {
            patterns.push("*".to_owned());
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
    let leaves_files = || words.iter().any(|word| COMPRESSORS_LEAVE.contains(&word.as_str()));
    let unversioned = program.trim_end_matches('2');
    let is_compressor = COMPRESSORS.contains(&unversioned) && !leaves_files();
    let is_writer = WRITERS.contains(&program) || COPIERS.contains(&program) || is_compressor;
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
    let has = |options: &[&str]| words.iter().any(|word| options.contains(&word.as_str()));
    let is_index_only = has(&GIT_INDEX_ONLY) && !has(&GIT_WORK_TREE);
    command.is_some_and(|command| GIT_WRITERS.contains(&command)) && !is_index_only
}

fn is_of_path(character: char) -> bool {
    character.is_alphanumeric() || "._-/~$".contains(character)
}

/// The text among the arguments of a program that runs one.
fn text_argument<'a>(arguments: &[&'a str]) -> &'a str {
    let flag = arguments.iter().position(|word| {
        let is_short = word.starts_with('-') && word.ends_with(['c', 'e', 'r']) && word.len() <= 4;
        is_short || TEXT_OPTIONS.contains(word)
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
    is_passed && writes_what_it_is_given(simple)
}

/// Whether the program of a command writes the files that it is given.
fn writes_what_it_is_given(simple: &SimpleCommand) -> bool {
    simple.program().is_some_and(|at| writes_files(base_name(&simple.words[at]), &simple.words))
}

fn changes_database(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    SQL_WRITES.iter().any(|statement| text.contains(statement))
}

/// A pattern that matches names in upper and lower case.
fn in_any_case(pattern: &str) -> String {
    let either = |it: char| format!("[{}{}]", it.to_ascii_lowercase(), it.to_ascii_uppercase());
    pattern
        .chars()
        .map(|it| if it.is_ascii_alphabetic() { either(it) } else { it.to_string() })
        .collect()
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

#[cfg(test)]
mod tests;
