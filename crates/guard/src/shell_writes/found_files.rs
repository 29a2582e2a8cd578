//! What programs write that search for files and give them to others.

use super::program_texts::text_argument;
use super::readers::reads_files;
use super::shell_reader::SimpleCommand;
use super::{SHELLS, WriteSearch, base_name, writes_what_it_is_given};

/// Arguments of `find` that write what it finds, and before a command that it runs.
const FIND_WRITING: [&str; 4] = ["-delete", "-fprint", "-fprintf", "-fls"];
const FIND_RUNNING: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
/// Tests of `find` with a pattern for names, and with one for paths.
const FIND_NAMES: [&str; 2] = ["-iname", "-name"];
const FIND_PATHS: [&str; 4] = ["-ipath", "-path", "-wholename", "-iwholename"];
/// Hidden folders that `find` searches, and that hold more than what builds make.
const FOUND_FOLDERS: [&str; 7] = [
    ".claude",
    ".codex",
    ".copilot",
    ".github/hooks",
    ".moai/config",
    ".moai/config/sections",
    ".opencode/plugins",
];
/// Options of `fd` that run a program with what it finds.
const FD_RUNNING: [&str; 4] = ["--exec", "--exec-batch", "-X", "-x"];

impl WriteSearch {
    /// What `find` writes: matches by name in the start folders and in a few hidden ones. Deeper matches are
    /// left out, because they are hardly ever protected.
    pub(super) fn find(&mut self, arguments: &[&str], is_piped_to_writer: bool) {
        let mut writes = is_piped_to_writer || arguments.iter().any(|it| FIND_WRITING.contains(it));
        if let Some(at) = arguments.iter().position(|word| FIND_RUNNING.contains(word)) {
            let words = arguments[at + 1..].iter().take_while(|word| !matches!(**word, ";" | "+"));
            let words = words.map(|word| (*word).to_owned()).collect();
            let run = SimpleCommand { words, ..SimpleCommand::default() };
            writes |= !self.leaves_what_it_is_given(&run);
            self.simple_command(&run, false);
        }
        if !writes {
            return;
        }
        let folders = arguments.iter().take_while(|word| !word.starts_with(['-', '(', '!']));
        let mut folders: Vec<&str> = folders.copied().collect();
        if folders.is_empty() {
            folders.push(".");
        }
        let patterns = name_patterns(arguments);
        for pair in arguments.windows(2).filter(|pair| FIND_PATHS.contains(&pair[0])) {
            self.push(pair[1], false);
        }
        for folder in folders {
            let folder = folder.trim_end_matches('/');
            if patterns.is_empty() {
                // It may be a file.
                self.push(folder, false);
                self.push(&format!("{folder}/*"), false);
            }
            for pattern in &patterns {
                self.push(&format!("{folder}/{pattern}"), false);
                // Hidden folders hold no others of these.
                let is_hidden = base_name(folder).starts_with('.') && !matches!(folder, "." | "..");
                for hidden in FOUND_FOLDERS.into_iter().filter(|_| !is_hidden) {
                    self.push(&format!("{folder}/{hidden}/{}", of_existing(pattern)), false);
                }
            }
        }
    }

    /// What `fd` gives to a program: files whose names its pattern is in.
    pub(super) fn fd(&mut self, arguments: &[&str]) {
        let Some(at) = arguments.iter().position(|word| FD_RUNNING.contains(word)) else { return };
        let words = arguments[at + 1..].iter().map(|word| (*word).to_owned()).collect();
        let run = SimpleCommand { words, ..SimpleCommand::default() };
        if self.leaves_what_it_is_given(&run) {
            return;
        }
        for word in arguments[..at].iter().filter(|word| !word.starts_with('-')) {
            let name = word.trim_matches(['^', '$']).replace('\\', "");
            self.push(&format!("*{name}*"), false);
            for folder in FOUND_FOLDERS {
                self.push(&format!("{folder}/*{name}*"), false);
            }
        }
    }

    /// Whether the program of a command that gets names is known to read them.
    fn leaves_what_it_is_given(&self, simple: &SimpleCommand) -> bool {
        let Some(at) = simple.program() else { return true };
        let arguments: Vec<&str> = simple.words[at + 1..].iter().map(String::as_str).collect();
        let name = base_name(&simple.words[at]);
        if SHELLS.contains(&name) {
            let mut inner = Self { depth: self.depth, ..Self::default() };
            let marks = ["$0", "$1", "$@", "{}"].map(str::to_owned);
            inner.text_with_arguments(&text_argument(&arguments).replace("{}", "$1"), &marks);
            return inner.found.is_empty();
        }
        !writes_what_it_is_given(simple) && reads_files(name, &arguments)
    }
}

/// The name as a pattern, because a pattern stands for existing files only.
fn of_existing(name: &str) -> String {
    let first = name.find(|it: char| it.is_ascii_alphanumeric());
    match first.filter(|_| !name.contains(['*', '?', '[', '{'])) {
        Some(at) => format!("{}[{}]{}", &name[..at], &name[at..=at], &name[at + 1..]),
        None => name.to_owned(),
    }
}

/// The patterns for names among the arguments of `find`.
fn name_patterns(arguments: &[&str]) -> Vec<String> {
    let named = arguments.windows(2).filter(|pair| FIND_NAMES.contains(&pair[0]));
    named
        .map(|pair| if pair[0] == "-iname" { in_any_case(pair[1]) } else { pair[1].to_owned() })
        .collect()
}

/// A pattern that matches names in upper and lower case.
fn in_any_case(pattern: &str) -> String {
    let either = |it: char| format!("[{}{}]", it.to_ascii_lowercase(), it.to_ascii_uppercase());
    pattern
        .chars()
        .map(|it| if it.is_ascii_alphabetic() { either(it) } else { it.to_string() })
        .collect()
}
