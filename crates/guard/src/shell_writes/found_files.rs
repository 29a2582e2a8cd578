//! Writes by programs that search for files and pass them to others.

use super::program_texts::text_argument;
use super::readers::reads_files;
use super::shell_reader::SimpleCommand;
use super::{SHELLS, WriteSearch, WrittenBelow, base_name, writes_what_it_is_given};

/// Arguments of `find` that write the found files.
const FIND_WRITING: [&str; 1] = ["-delete"];
/// Arguments of `find` before a file that it writes.
const FIND_OUTPUTS: [&str; 4] = ["-fls", "-fprint", "-fprint0", "-fprintf"];
const FIND_RUNNING: [&str; 4] = ["-exec", "-execdir", "-ok", "-okdir"];
/// Tests of `find` with a pattern for names, and with one for paths.
const FIND_NAMES: [&str; 2] = ["-iname", "-name"];
const FIND_PATHS: [&str; 4] = ["-ipath", "-path", "-wholename", "-iwholename"];
/// Hidden folders that `find` searches, and that hold more than build output.
const FOUND_FOLDERS: [&str; 7] = [
    ".claude",
    ".codex",
    ".copilot",
    ".github/hooks",
    ".moai/config",
    ".moai/config/sections",
    ".opencode/plugins",
];
/// Options of `fd` that run a program with the found files.
const FD_RUNNING: [&str; 4] = ["--exec", "--exec-batch", "-X", "-x"];

impl WriteSearch {
    /// Writes of `find`: matches by name in the start folders and in a few hidden ones. Deeper
    /// matches are ignored, because they are hardly ever protected.
    pub(super) fn find(&mut self, arguments: &[&str], is_piped_to_writer: bool) {
        let mut writes = is_piped_to_writer || arguments.iter().any(|it| FIND_WRITING.contains(it));
        if let Some(at) = arguments.iter().position(|word| FIND_RUNNING.contains(word)) {
            let words = arguments[at + 1..].iter().take_while(|word| !matches!(**word, ";" | "+"));
            let words = words.map(|word| (*word).to_owned()).collect();
            let run = SimpleCommand { words, ..SimpleCommand::default() };
            writes |= !self.leaves_what_it_is_given(&run);
            self.simple_command(&run, false);
        }
        for pair in arguments.windows(2).filter(|pair| FIND_OUTPUTS.contains(&pair[0])) {
            self.push(pair[1], false);
        }
        let has = |test: &str| arguments.contains(&test);
        let kinds = arguments.windows(2).filter(|pair| pair[0] == "-type").map(|pair| pair[1]);
        // Folders are deleted only if they are empty, and links hold nothing.
        let holds_nothing = has("-empty") || kinds.clone().any(|kind| matches!(kind, "d" | "l"));
        if !writes || has("-delete") && holds_nothing {
            return;
        }
        let folders = arguments.iter().take_while(|word| !word.starts_with(['-', '(', '!']));
        let mut folders: Vec<&str> = folders.copied().collect();
        if folders.is_empty() {
            folders.push(".");
        }
        let FoundNames { names, paths, not_paths } = FoundNames::of(arguments);
        for path in &paths {
            self.push(path, false);
        }
        // A path pattern without a folder matches names at any depth.
        let loose: Vec<String> = paths.iter().filter(|it| !it.contains('/')).cloned().collect();
        for folder in folders.iter().filter(|_| !loose.is_empty()) {
            let (names, except) = (loose.clone(), not_paths.clone());
            self.push_below(folder, WrittenBelow::Named { names, except });
        }
        if names.is_empty() && !paths.is_empty() {
            return;
        }
        for folder in folders {
            let folder = folder.trim_end_matches('/');
            if names.is_empty() {
                // It may be a file.
                self.push(folder, !has("-maxdepth"));
                self.push(&format!("{folder}/*"), false);
            }
            if !names.is_empty() && paths.is_empty() {
                let (names, except) = (names.clone(), not_paths.clone());
                self.push_below(folder, WrittenBelow::Named { names, except });
            }
            let of_paths = paths.is_empty();
            for pattern in names.iter().filter(|_| of_paths) {
                self.push(&format!("{folder}/{pattern}"), false);
            }
            // Hidden folders contain no further ones of these.
            let is_hidden = base_name(folder).starts_with('.') && !matches!(folder, "." | "..");
            let all = ["*".to_owned()];
            for hidden in FOUND_FOLDERS.into_iter().filter(|_| !is_hidden && of_paths) {
                let top = hidden.split('/').next().unwrap_or(hidden);
                if not_paths.iter().any(|path| path.contains(top)) {
                    continue;
                }
                for pattern in if names.is_empty() { &all[..] } else { &names } {
                    self.push(&format!("{folder}/{hidden}/{}", of_existing(pattern)), false);
                }
            }
        }
    }

    /// The files that `fd` passes to a program: those whose names contain its pattern.
    pub(super) fn fd(&mut self, arguments: &[&str], is_piped_to_writer: bool) {
        let running = arguments.iter().position(|word| FD_RUNNING.contains(word));
        let at = running.unwrap_or(arguments.len());
        let words = arguments[at..].iter().skip(1).map(|word| (*word).to_owned()).collect();
        let run = SimpleCommand { words, ..SimpleCommand::default() };
        if !is_piped_to_writer && (running.is_none() || self.leaves_what_it_is_given(&run)) {
            return;
        }
        let mut words = arguments[..at].iter().filter(|word| !word.starts_with('-'));
        let Some(word) = words.next() else { return };
        let name = word.trim_matches(['^', '$']).replace('\\', "");
        let folders: Vec<&str> = words.copied().collect();
        for folder in if folders.is_empty() { vec!["."] } else { folders } {
            let (names, except) = (vec![format!("*{name}*")], Vec::new());
            self.push_below(folder, WrittenBelow::Named { names, except });
            self.push(&format!("{folder}/*{name}*"), false);
            for hidden in FOUND_FOLDERS {
                self.push(&format!("{folder}/{hidden}/*{name}*"), false);
            }
        }
    }

    /// True if the program of a command that gets names is known to read them.
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

/// The name as a pattern, because a pattern matches only existing files.
fn of_existing(name: &str) -> String {
    let first = name.find(|it: char| it.is_ascii_alphanumeric());
    match first.filter(|_| !name.contains(['*', '?', '[', '{'])) {
        Some(at) => format!("{}[{}]{}", &name[..at], &name[at..=at], &name[at + 1..]),
        None => name.to_owned(),
    }
}

/// The name and path tests in the arguments of `find`. Of negated tests, only paths count.
#[derive(Default)]
struct FoundNames {
    names: Vec<String>,
    paths: Vec<String>,
    not_paths: Vec<String>,
}

impl FoundNames {
    fn of(arguments: &[&str]) -> Self {
        let mut found = Self::default();
        for (at, pair) in arguments.windows(2).enumerate() {
            let [test, pattern] = [pair[0], pair[1]];
            let is_negated = at > 0 && matches!(arguments[at - 1], "!" | "-not");
            let any_case = || in_any_case(pattern);
            let plain = || pattern.to_owned();
            let pattern = if test.starts_with("-i") { any_case() } else { plain() };
            match (FIND_NAMES.contains(&test), FIND_PATHS.contains(&test), is_negated) {
                (true, _, false) => found.names.push(pattern),
                (_, true, false) => found.paths.push(pattern),
                (_, true, true) => found.not_paths.push(pattern),
                _ => {}
            }
        }
        found
    }
}

/// A pattern that matches names in upper and lower case.
fn in_any_case(pattern: &str) -> String {
    let either = |it: char| format!("[{}{}]", it.to_ascii_lowercase(), it.to_ascii_uppercase());
    pattern
        .chars()
        .map(|it| if it.is_ascii_alphabetic() { either(it) } else { it.to_string() })
        .collect()
}
