//! The paths that a shell command may write, judged by its text alone: the files that it gives to
//! programs which are not known to only read them. Scripts, functions and archives are not followed, so
//! a caller that must be sure compares the files afterwards.

use std::collections::HashSet;

mod archives;
mod calls;
mod expansions;
mod found_files;
mod git_calls;
mod outputs;
mod program_texts;
mod readers;
mod shell_reader;
mod variables;

use calls::ShellCall;
pub use calls::{CalledProgram, ShellCalls, calls_of, shell_calls};
pub use git_calls::{GitSweep, git_sweeps};
use git_calls::{excepted, git_call, is_whole_tree, without_magic, writes_by_git};
use moai_base::limits::{SHELL_TEXT_DEPTH_MAX, WRITTEN_PATHS_MAX};
use program_texts::{INTERPRETERS, text_argument};
use readers::{is_reader, reads_files};
use shell_reader::{Parenthesis, SimpleCommand, folder_of_env, pipelines};
use variables::{Assignment, ShellVariables};

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
/// Programs whose second file is their output.
const SECOND_IS_OUTPUT: [&str; 3] = ["cpp", "uniq", "xxd"];

/// Programs that run a text in the language of the shell: of an argument such as `-c`, or of their
/// input.
const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];
/// Programs that run shell commands among their arguments, each in one argument.
const COMMAND_RUNNERS: [&str; 7] = ["flock", "screen", "script", "su", "tmux", "trap", "watch"];

/// Variables with commands that programs run.
const RUN_VARIABLES: [&str; 17] = [
    "BASH_ENV",
    "EDITOR",
    "ENV",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "MANPAGER",
    "PAGER",
    "PERL5DB",
    "PROMPT_COMMAND",
    "SSH_ASKPASS",
    "VISUAL",
];
/// Programs that print names of files that they find.
const LISTERS: [&str; 4] = ["fd", "fdfind", "find", "git"];

/// Programs that remove or replace whole folders.
const FOLDER_WRITERS: [&str; 4] = ["mv", "rm", "rmdir", "shred"];

/// A path that a command may write.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShellWrite {
    /// As typed, without quotes; relative to the folder in which the command starts.
    pub path: String,
    /// True if everything below a folder of this name is written too.
    pub is_whole_folder: bool,
    /// True if the path is a pattern for the names of existing files.
    pub is_pattern: bool,
    /// True if the program is known to write it, and is not merely unknown.
    pub is_known: bool,
    /// If only some of the files below the path are written, which ones.
    pub below: Option<WrittenBelow>,
}

/// Some files below a folder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WrittenBelow {
    /// At any depth, some by their names.
    Named {
        /// Patterns of the names.
        names: Vec<String>,
        /// Patterns of paths that are left out.
        except: Vec<String>,
    },
    /// Those that another folder holds, as typed like the path.
    HeldBy {
        folder: String,
        /// True if those that it does not hold are removed.
        is_mirrored: bool,
    },
}

/// The paths that a command may write, in order, without duplicates; at most [`WRITTEN_PATHS_MAX`].
#[must_use]
pub fn shell_writes(command: &str) -> Vec<ShellWrite> {
    let mut search = WriteSearch::default();
    search.shell_text(command);
    search.found
}

/// The paths that a text in a programming language may write.
#[must_use]
pub fn program_writes(text: &str) -> Vec<ShellWrite> {
    let mut search = WriteSearch::default();
    search.program_text(text);
    search.found
}

/// A patch in a file that a command applies, as typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedPatch {
    /// The possible file.
    pub file: String,
    /// The folder in which it is applied.
    pub folder: String,
}

/// The files with patches that a command may apply; not each of them exists.
#[must_use]
pub fn applied_patches(command: &str) -> Vec<AppliedPatch> {
    let mut search = WriteSearch::default();
    search.shell_text(command);
    search.patches
}

#[must_use]
pub fn patched_paths(patch: &str) -> Vec<String> {
    let mut search = WriteSearch::default();
    search.patched(patch);
    search.found.into_iter().map(|found| found.path).collect()
}

/// True if a text begins with a program that is known here, so that it may be a command.
#[must_use]
pub fn begins_with_program(text: &str) -> bool {
    let Some(first) = pipelines(text).into_iter().flatten().find(|it| !it.words.is_empty()) else {
        return false;
    };
    first.program().is_some_and(|at| is_known_program(base_name(&first.words[at])))
}

fn is_known_program(name: &str) -> bool {
    let unversioned = without_version(name);
    let is_in = |known: &[&str]| known.contains(&name) || known.contains(&unversioned);
    is_in(&WRITERS)
        || is_in(&COPIERS)
        || is_in(&COMPRESSORS)
        || is_in(&SHELLS)
        || is_in(&COMMAND_RUNNERS)
        || is_in(&INTERPRETERS)
        || is_in(&archives::PROGRAMS)
        || matches!(name, "cd" | "eval" | "find" | "git")
        || is_reader(name)
}

/// The text of a command with these words.
#[must_use]
pub fn quoted_words(words: &[&str]) -> String {
    let quoted = words.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// The results so far, and the state that later commands depend on.
#[derive(Default)]
struct WriteSearch {
    found: Vec<ShellWrite>,
    seen: HashSet<ShellWrite>,
    /// At most [`WRITTEN_PATHS_MAX`].
    programs: Vec<ShellCall>,
    /// The same with more about each, if this was asked for.
    calls: Option<Vec<CalledProgram>>,
    /// At most [`WRITTEN_PATHS_MAX`].
    patches: Vec<AppliedPatch>,
    /// Links that the command has made, with their targets; at most [`VARIABLE_VALUES_MAX`].
    links: Vec<(String, String)>,
    /// Where earlier `cd` commands lead; empty for the folder in which the command starts.
    folder: String,
    /// The folders outside of the present subshells.
    outer_folders: Vec<String>,
    variables: ShellVariables,
    /// True if the present program is not known to write.
    is_unknown: bool,
    /// Texts around the present one.
    depth: usize,
}

impl WriteSearch {
    fn shell_text(&mut self, text: &str) {
        if self.depth >= SHELL_TEXT_DEPTH_MAX {
            return;
        }
        self.depth += 1;
        let all = pipelines(text);
        self.read_names(&all);
        for pipeline in all {
            match pipeline.first().and_then(|simple| simple.parenthesis) {
                Some(Parenthesis::Open) => self.outer_folders.push(self.folder.clone()),
                Some(Parenthesis::Close) => {
                    self.folder =
                        self.outer_folders.pop().unwrap_or(std::mem::take(&mut self.folder));
                }
                None => {}
            }
            let is_piped_to_writer = pipeline.iter().any(pipes_to_writer);
            self.piped_texts(&pipeline);
            self.piped_names(&pipeline);
            self.applied_patches(&pipeline);
            for simple in &pipeline {
                let folder = self.folder.clone();
                self.substituted_names(simple);
                self.simple_command(simple, is_piped_to_writer);
                if simple.words.first().is_some_and(|word| word == "env") {
                    self.folder = folder;
                }
            }
        }
        self.depth -= 1;
    }

    /// The names that a program such as `find` prints among the words of a command.
    fn substituted_names(&mut self, simple: &SimpleCommand) {
        let writes = || writes_what_it_is_given(simple);
        let variable = match simple.words.as_slice() {
            [word, name, ..] if word == "for" => Some(name.clone()),
            [word, ..] => Assignment::parse(word).map(|it| it.name.to_owned()),
            [] => None,
        };
        if simple.substituted.is_empty() || self.depth >= SHELL_TEXT_DEPTH_MAX {
            return;
        }
        let mut inner = Self { folder: self.folder.clone(), depth: self.depth, ..Self::default() };
        for command in simple.substituted.iter().flatten() {
            let Some(at) = command.program() else { continue };
            if LISTERS.contains(&base_name(&command.words[at])) {
                inner.simple_command(command, true);
            }
        }
        if let Some(variable) = variable {
            let values = inner.found.iter().map(|found| found.path.clone());
            self.variables.add(&variable, values);
        } else if writes() {
            let new = inner.found.into_iter().filter(|found| self.seen.insert(found.clone()));
            self.found.extend(new);
        }
    }

    /// Follows the texts that a pipeline prints into a shell.
    fn piped_texts(&mut self, pipeline: &[SimpleCommand]) {
        let reads_commands = |simple: &SimpleCommand| {
            let Some(at) = simple.program() else { return false };
            let has_script = simple.words[at + 1..].iter().any(|word| !word.starts_with('-'));
            SHELLS.contains(&base_name(&simple.words[at])) && !has_script
        };
        let reads_program = |simple: &SimpleCommand| {
            let [program] = simple.words.as_slice() else { return false };
            INTERPRETERS.contains(&without_version(base_name(program)))
        };
        if pipeline.iter().skip(1).any(reads_program) {
            let printed =
                pipeline.iter().filter(|it| it.words.first().is_some_and(|it| it == "echo"));
            for text in printed.flat_map(|simple| simple.words.iter().skip(1)) {
                self.program_text(text);
            }
        }
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

    /// Remembers the names that a pipeline passes to `read`, and to the text of a shell behind `xargs`.
    fn piped_names(&mut self, pipeline: &[SimpleCommand]) {
        let Some((last, before)) = pipeline.split_last() else { return };
        let names: Vec<String> = before
            .iter()
            .flat_map(|simple| simple.words.iter().skip(1).map(String::as_str))
            .chain(last.input.split_whitespace())
            .filter(|word| !word.starts_with('-'))
            .map(str::to_owned)
            .collect();
        let Some(at) = last.program().filter(|_| !names.is_empty()) else { return };
        let (program, arguments) = (base_name(&last.words[at]), &last.words[at + 1..]);
        if program == "read" {
            for variable in arguments.iter().filter(|word| is_name(word)) {
                self.variables.replace(variable, names.iter().cloned());
            }
        }
        let is_passed =
            last.words[..at].iter().any(|it| matches!(base_name(it), "parallel" | "xargs"));
        if is_passed && SHELLS.contains(&program) {
            let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
            let mark = last.words[..at].iter().skip_while(|word| *word != "-I").nth(1);
            let joined = last.words[..at].iter().find_map(|word| word.strip_prefix("-I"));
            let mark = mark.map(String::as_str).or(joined).filter(|mark| !mark.is_empty());
            let text = text_argument(&words).replace(mark.unwrap_or("{}"), "$1");
            self.text_with_arguments(&text, &names);
        }
        if is_passed && writes_what_it_is_given(last) {
            for name in last.input.split_whitespace() {
                self.push(name, false);
            }
        }
    }

    fn simple_command(&mut self, simple: &SimpleCommand, is_piped_to_writer: bool) {
        for target in &simple.targets {
            self.push(target, false);
        }
        let words: Vec<&str> = simple.words.iter().map(String::as_str).collect();
        self.assignments(&words);
        self.run_variables(&words);
        if let ["for" | "select", name, "in", values @ ..] = words.as_slice() {
            self.variables.add(name, values.iter().map(|value| (*value).to_owned()));
            return;
        }
        if let Some(text) = words.iter().find_map(|word| word.strip_prefix("--split-string=")) {
            self.in_subshell(text);
        }
        let Some(at) = simple.program() else { return };
        let named = self.value_of(words[at]);
        if named.contains(char::is_whitespace) {
            // A whole command, as in `env -S 'a b'`, or the beginning of one.
            return self.in_subshell(&format!("{named} {}", quoted_words(&words[at + 1..])));
        }
        let (program, arguments) = (base_name(&named), &words[at + 1..]);
        if let Some(folder) = folder_of_env(&words[..at]) {
            self.folder = joined(&self.folder, folder);
        }
        self.record_program(&named, &words, at);
        if matches!(program, "cd" | "pushd") {
            let mut folders =
                arguments.iter().filter(|word| !word.starts_with('-') || **word == "-");
            let folder = folders.next().map_or("~".to_owned(), |word| self.value_of(word));
            self.folder =
                joined(&self.folder, folder.trim_start_matches("./").trim_end_matches('/'));
            return;
        }
        self.wrapper_outputs(&words[..at]);
        if self.special_program(simple, program, arguments, is_piped_to_writer) {
            return;
        }
        let git = git_call(arguments).filter(|_| program == "git");
        if git.is_some() {
            self.git_commands(arguments);
        }
        let inner = git.and_then(|call| call.folder).map(|inner| joined(&self.folder, &inner));
        let folder = inner.map(|inner| std::mem::replace(&mut self.folder, inner));
        self.operands(simple, program, arguments, is_piped_to_writer);
        if let Some(folder) = folder {
            self.folder = folder;
        }
    }

    /// Programs whose arguments are not only files; returns true if nothing remains to examine.
    fn special_program(
        &mut self,
        simple: &SimpleCommand,
        program: &str,
        arguments: &[&str],
        is_piped_to_writer: bool,
    ) -> bool {
        let unversioned = without_version(program);
        match unversioned {
            "eval" => self.shell_text(&arguments.join(" ")),
            "alias" => {
                let texts = arguments.iter().filter_map(|word| word.split_once('='));
                texts.for_each(|(_, text)| self.in_subshell(text));
            }
            "sqlite" => self.database(arguments),
            "find" => self.find(arguments, is_piped_to_writer),
            "fd" | "fdfind" => self.fd(arguments, is_piped_to_writer),
            "." | "at" | "batch" | "source" => self.in_subshell(&simple.input),
            shell if SHELLS.contains(&shell) => self.shell(simple, arguments),
            archiver if archives::PROGRAMS.contains(&archiver) => {
                self.archive(program, arguments);
            }
            runner if COMMAND_RUNNERS.contains(&runner) => {
                for word in arguments.iter().filter(|word| !word.starts_with('-')) {
                    if word.contains(char::is_whitespace) {
                        self.in_subshell(word);
                    } else if runner == "script" {
                        self.push(word, false);
                    }
                }
            }
            program if INTERPRETERS.contains(&program) && !is_in_place(program, arguments) => {
                self.interpreter(simple, arguments);
            }
            _ => return false,
        }
        true
    }

    fn operands(
        &mut self,
        simple: &SimpleCommand,
        program: &str,
        arguments: &[&str],
        is_piped_to_writer: bool,
    ) {
        let unversioned = without_version(program);
        match program {
            "awk" | "gawk" | "mawk" => self.awk_outputs(arguments),
            "sed" => self.sed_outputs(arguments),
            "ed" | "ex" | "nvim" | "vi" | "vim" => self.editor_outputs(simple),
            "patch" | "git" => self.patched(&simple.input),
            "set" => self.set_positions(arguments),
            _ => {}
        }
        self.output_options(program, arguments);
        self.downloads(program, arguments);
        if COPIERS.contains(&program) || program == "mv" {
            self.copy(program, arguments);
        } else if program == "ln" && arguments.iter().any(|word| is_symbolic_link(word)) {
            self.symbolic_link(arguments);
        } else if writes_files(unversioned, &simple.words) || is_piped_to_writer {
            self.written_operands(program, arguments);
        } else if program == "git" {
            self.git(arguments);
        } else if !reads_files(program, arguments) && !reads_files(unversioned, arguments) {
            self.unknown_operands(arguments);
        } else if SECOND_IS_OUTPUT.contains(&program) {
            let mut files = arguments.iter().filter(|word| !word.starts_with('-'));
            files.nth(1).into_iter().for_each(|output| self.push(output, false));
        }
        let behind = arguments.windows(2).find(|pair| pair[0] == "--output").map(|pair| pair[1]);
        let inside = arguments.iter().find_map(|word| word.strip_prefix("--output="));
        for output in [behind, inside].into_iter().flatten() {
            self.push(output, false);
        }
    }

    /// The operands of a program that is known to write.
    fn written_operands(&mut self, program: &str, arguments: &[&str]) {
        let is_whole_folder = match program {
            "chmod" | "chown" => arguments.iter().any(|it| it.starts_with('-') && it.contains('R')),
            _ => FOLDER_WRITERS.contains(&program) || program == "git",
        };
        let is_list = matches!(program, "ls" | "eza" | "exa");
        let is_git = program == "git";
        let excepted = if is_git { excepted(arguments) } else { Vec::new() };
        for word in arguments.iter().filter(|word| !word.starts_with('-')) {
            // The effect of git on all files depends on these words.
            let is_other = is_git && (is_whole_tree(word) || excepted.iter().any(|it| it == word));
            if is_other {
                continue;
            }
            if is_git && word.starts_with(":/") {
                self.push(&format!("../{}", without_magic(word)), is_whole_folder);
            }
            let word = if is_git { without_magic(word) } else { word };
            self.push(word, is_whole_folder);
            if is_list {
                self.push(&format!("{}/*", word.trim_end_matches('/')), false);
            }
        }
        for named in arguments.iter().filter_map(|word| word.strip_prefix("of=")) {
            self.push(named, false);
        }
    }

    /// The arguments of the shell itself, as after `set -- a b`.
    fn set_positions(&mut self, arguments: &[&str]) {
        let words = arguments.iter().filter(|word| !word.starts_with('-'));
        let words: Vec<String> = words.map(|word| (*word).to_owned()).collect();
        for position in ["1", "2", "@", "*"] {
            self.variables.replace(position, words.iter().cloned());
        }
    }

    /// The operands of a program that is not known to only read.
    fn unknown_operands(&mut self, arguments: &[&str]) {
        self.is_unknown = true;
        for word in arguments {
            if word.contains(char::is_whitespace) {
                self.program_text(word);
                continue;
            }
            let value = word.split_once('=').map(|(_, value)| value);
            // As in `-oRUBRIC.md`.
            let attached = word.strip_prefix('-').and_then(|rest| rest.get(1..));
            let named = if word.starts_with('-') { attached } else { Some(*word) };
            for path in [value, named].into_iter().flatten().filter(|path| !path.is_empty()) {
                self.push(path, false);
            }
        }
        self.is_unknown = false;
    }

    /// The value of a word that is a variable, if it is known.
    fn value_of(&self, word: &str) -> String {
        self.expanded(word).pop().unwrap_or_default()
    }

    /// Variables whose values programs run as commands.
    fn run_variables(&mut self, words: &[&str]) {
        for (name, value) in words.iter().filter_map(|word| word.split_once('=')) {
            if RUN_VARIABLES.contains(&name) {
                self.in_subshell(value);
                self.program_text(value);
            }
        }
    }

    /// A text that another shell runs, which does not change the folder.
    fn in_subshell(&mut self, text: &str) {
        let folder = self.folder.clone();
        self.shell_text(text);
        self.folder = folder;
    }

    /// Adds the expansions of a word.
    fn push(&mut self, word: &str, is_whole_folder: bool) {
        for value in self.expanded(word) {
            self.add(&value, is_whole_folder);
        }
    }

    /// Adds some of the files below a folder.
    fn push_below(&mut self, folder: &str, below: WrittenBelow) {
        let path = joined(&self.folder, folder);
        let (is_known, is_whole_folder) = (!self.is_unknown, false);
        let below = Some(below);
        let new = ShellWrite { path, is_whole_folder, is_pattern: false, is_known, below };
        if self.found.len() < WRITTEN_PATHS_MAX && self.seen.insert(new.clone()) {
            self.found.push(new);
        }
    }

    fn add(&mut self, word: &str, is_whole_folder: bool) {
        // A substitution before a path usually prints the present folder.
        let word = word.trim_start_matches("$()/").trim_start_matches("~+/");
        let path = joined(&self.folder, word);
        let is_pattern = path.contains(['*', '?', '{', '[']);
        let is_known = !self.is_unknown;
        let linked = self.links.iter().find_map(|(link, target)| {
            let rest = path
                .strip_prefix(link.as_str())
                .filter(|it| it.is_empty() || it.starts_with('/'))?;
            Some(format!("{target}{rest}")).filter(|target| *target != path)
        });
        if let Some(target) = linked.filter(|_| self.depth < SHELL_TEXT_DEPTH_MAX) {
            self.depth += 1;
            let folder = std::mem::take(&mut self.folder);
            self.add(&target, is_whole_folder);
            self.folder = folder;
            self.depth -= 1;
        }
        let new = ShellWrite { path, is_whole_folder, is_pattern, is_known, below: None };
        let has_room = self.found.len() < WRITTEN_PATHS_MAX;
        // `xargs` and `find` put names in the place of `{}`.
        if has_room && !word.is_empty() && !word.contains("{}") && self.seen.insert(new.clone()) {
            self.found.push(new);
        }
    }
}

/// True if an option makes a symbolic link.
fn is_symbolic_link(word: &str) -> bool {
    let is_cluster = word.starts_with('-') && !word.starts_with("--");
    // With `-t` the links get names of their targets.
    word == "--symbolic" || is_cluster && word.contains('s') && !word.contains('t')
}

/// `python3.12` is `python`.
fn without_version(program: &str) -> &str {
    let plain = program.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    // `.` is a program, too.
    if plain.is_empty() { program } else { plain }
}

fn is_name_character(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_name_character)
}

/// True if a program writes the files that it is given with these words.
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

/// True if an option makes a program write the files that it is given.
fn is_in_place(program: &str, arguments: &[&str]) -> bool {
    let is_cluster = |word: &&str| {
        let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'));
        letters.is_some_and(|letters| {
            letters.trim_start_matches(|it| LETTERS_BEFORE_I.contains(it)).starts_with('i')
        })
    };
    IN_PLACE.contains(&program) && arguments.iter().any(is_cluster)
}

/// True if a command of a pipeline passes names to a program that writes them.
fn pipes_to_writer(simple: &SimpleCommand) -> bool {
    let is_passed = simple.words.iter().any(|it| matches!(base_name(it), "parallel" | "xargs"));
    is_passed && writes_what_it_is_given(simple)
}

/// True if the program of a command writes the files that it is given.
fn writes_what_it_is_given(simple: &SimpleCommand) -> bool {
    simple.program().is_some_and(|at| writes_files(base_name(&simple.words[at]), &simple.words))
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
