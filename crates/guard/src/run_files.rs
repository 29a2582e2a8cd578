//! The files of the project that a command line, or a file of an exam, runs or loads: files that
//! decide the result of a check without being named by it.
//!
//! A script that a shell runs always decides. A program of an interpreter, what it imports and what
//! is compared with its output may be the work itself (`python3 src/app.py`, `diff out.txt
//! t/expected`), so these count only in places that examine others: [`is_examiner`].

mod sources;

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::shell_writes::{CalledProgram, ShellWrite, quoted_words, shell_calls};
use moai_base::path::RelPath;
use moai_base::protected::foreign_folder;

/// Programs that run a file given as an argument; `python3.12` counts as `python`.
const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];
const INTERPRETERS: [&str; 10] =
    ["bun", "deno", "lua", "node", "perl", "php", "python", "ruby", "ts-node", "tsx"];
/// Options that are followed by code or a module, not by a file.
const CODE_OPTIONS: [&str; 4] = ["--eval", "-c", "-e", "-r"];
/// Programs whose option `-f` takes a file with their program or patterns.
const READERS_OF_PROGRAMS: [&str; 9] =
    ["awk", "egrep", "fgrep", "gawk", "grep", "jq", "mawk", "rg", "sed"];
const PROGRAM_OPTIONS: [&str; 3] = ["--file", "--from-file", "-f"];
/// Programs that compare files.
const COMPARERS: [&str; 4] = ["cmp", "comm", "diff", "sdiff"];
/// Programs that compare files with the sums in a list.
const SUMMERS: [&str; 7] =
    ["b2sum", "cksum", "md5sum", "sha1sum", "sha256sum", "sha512sum", "shasum"];
/// Programs that run a script of a package file.
const PACKAGE_RUNNERS: [&str; 4] = ["bun", "npm", "pnpm", "yarn"];
/// The package file itself.
const PACKAGE_FILE: &str = "package.json";
/// The names under which make looks for a makefile, in its order.
pub const MAKEFILES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// Options of make that are followed by a value.
const MAKE_VALUES: [&str; 7] = ["-C", "-I", "-W", "-f", "-j", "-l", "-o"];

/// Folders with tests and their expected results.
const TEST_FOLDERS: [&str; 11] = [
    "__tests__",
    "acceptance",
    "e2e",
    "expected",
    "fixtures",
    "golden",
    "spec",
    "t",
    "test",
    "testdata",
    "tests",
];
/// Folders of programs that check others, in addition to hidden folders.
const CHECKER_FOLDERS: [&str; 8] =
    ["bin", "checks", "ci", "dev", "hack", "script", "scripts", "tools"];
/// Folders with the work, in which only folders with tests examine it.
const WORK_FOLDERS: [&str; 7] = ["app", "cmd", "crates", "internal", "lib", "pkg", "src"];
/// Words in the names of files and folders that check others, or that they compare with.
const CHECKER_NAMES: [&str; 14] = [
    "check", "checks", "ci", "eval", "exam", "expected", "golden", "grade", "grader", "lint",
    "test", "tests", "validate", "verify",
];

/// Longest command in a substitution that prints a folder.
const FOLDER_TEXT_BYTES_MAX: usize = 512;

/// Stands for the project's root in paths.
const ROOT: &str = "/.project";

/// How a file is used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileUse {
    /// A shell runs it.
    Shell,
    /// It runs in the language of its name or first line, or is loaded by such a program.
    Program,
    /// Make runs these targets of it; without one the first.
    Makefile(Vec<String>),
    /// A package manager runs this script of it.
    PackageScript(String),
    /// A result is compared with it.
    Compared,
}

/// A file, or a pattern of files, that is run or loaded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RunFile {
    /// Relative to the root.
    pub path: RelPath,
    /// How it is used.
    pub by: FileUse,
    /// The folder in which it begins, relative to the root; empty for the root.
    pub folder: String,
}

/// The files that a text runs or loads, as far as the text shows them. They need not exist.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunFiles {
    pub files: BTreeSet<RunFile>,
    /// The files that it writes, which are its results.
    pub written: BTreeSet<RelPath>,
    /// Programs that are looked up on PATH.
    pub programs: BTreeSet<String>,
    /// True if a shell begins with the user's own start files.
    pub has_login_shell: bool,
}

impl RunFiles {
    fn add(&mut self, path: &str, by: FileUse, folder: &str) {
        let path = root_path(path).and_then(|path| RelPath::parse(&path));
        let path = path.filter(|path| foreign_folder(path).is_none());
        let is_run =
            matches!(by, FileUse::Shell | FileUse::Makefile(_) | FileUse::PackageScript(_));
        let counts = |path: &RelPath| is_run || is_examiner(path);
        if let Some(path) = path.filter(counts) {
            let folder = root_path(folder).unwrap_or_default();
            self.files.insert(RunFile { path, by, folder });
        }
    }
}

/// The files that a command without a shell runs or loads, in a folder relative to the root. `root`
/// is the root's own path.
#[must_use]
pub fn files_of_command(argv: &[String], folder: &str, root: &str) -> RunFiles {
    let words: Vec<&str> = argv.iter().map(String::as_str).collect();
    files_of_shell_text(&quoted_words(&words), None, folder, root)
}

/// The files that a shell text runs or loads when it begins in this folder; `script` is its own
/// file.
#[must_use]
pub fn files_of_shell_text(
    text: &str,
    script: Option<&RelPath>,
    folder: &str,
    root: &str,
) -> RunFiles {
    let own = format!("{ROOT}/{}", script.map_or("", RelPath::as_str));
    let begin = format!("{ROOT}/{folder}");
    let begin = begin.trim_end_matches('/');
    let text = with_plain_folders(text, &own, root);
    let variables = [
        ("0", own.as_str()),
        ("BASH_SOURCE", own.as_str()),
        ("CLAUDE_PROJECT_DIR", ROOT),
        ("PWD", begin),
    ];
    let found = shell_calls(&text, begin, &variables);
    let mut files = RunFiles::default();
    for call in &found.calls {
        add_call(call, begin, &mut files);
    }
    let is_written = |write: &&ShellWrite| write.is_known && !write.is_pattern;
    let written = found.writes.iter().filter(is_written);
    files.written = written.filter_map(|one| RelPath::parse(&root_path(&one.path)?)).collect();
    files
}

/// The files that a program in another language imports, runs and reads, as far as its text shows
/// them. `folder` is its working directory.
#[must_use]
pub fn files_of_program(path: &RelPath, text: &str, folder: &str) -> RunFiles {
    let mut files = RunFiles::default();
    for (named, by) in sources::named_files(path, text, folder) {
        files.add(&format!("{ROOT}/{named}"), by, &format!("{ROOT}/{folder}"));
    }
    files.files.retain(|one| one.path != *path);
    files
}

/// The commands of a script in a package file, with those that package managers run before and after.
#[must_use]
pub fn package_script(package: &str, script: &str) -> Option<String> {
    let package: Value = serde_json::from_str(package).ok()?;
    let scripts = package.get("scripts")?;
    let names = [format!("pre{script}"), script.to_owned(), format!("post{script}")];
    let texts = names.iter().filter_map(|name| scripts.get(name)?.as_str());
    let lines: Vec<String> = texts.map(|text| format!("({text})\n")).collect();
    Some(lines.concat()).filter(|text| !text.is_empty())
}

/// True if a file is a shell script, by its name or its first line.
#[must_use]
pub fn is_shell_script(path: &RelPath, text: &str) -> bool {
    let first = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    let mut programs = first.split(['/', ' ']);
    path.extension().is_some_and(|end| SHELLS.contains(&&*end))
        || programs.any(|program| SHELLS.contains(&program))
}

/// True if a file examines the work, by its folders or name; `main.py` is the work itself.
#[must_use]
pub fn is_examiner(path: &RelPath) -> bool {
    let mut is_in_work = false;
    for folder in path.folders() {
        let name = folder.rsplit('/').next().unwrap_or(folder);
        if name.starts_with('.') || TEST_FOLDERS.contains(&name) {
            return true;
        }
        if !is_in_work && (CHECKER_FOLDERS.contains(&name) || has_checker_word(name)) {
            return true;
        }
        is_in_work |= WORK_FOLDERS.contains(&name);
    }
    let name = path.file_name();
    !is_in_work && has_checker_word(name)
}

fn has_checker_word(name: &str) -> bool {
    name.split(|it: char| !it.is_ascii_alphanumeric()).any(|word| CHECKER_NAMES.contains(&word))
}

fn add_call(call: &CalledProgram, begin: &str, files: &mut RunFiles) {
    let name = call.program.rsplit('/').next().unwrap_or(&call.program);
    let plain = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let arguments: Vec<&str> = call.arguments.iter().map(String::as_str).collect();
    // A folder in a variable is unknown.
    let folder = if root_path(&call.folder).is_some() { call.folder.as_str() } else { begin };
    let at = |path: &str| absolute(folder, path);
    for pair in call.wrappers.windows(2).filter(|pair| pair[0] == "-a") {
        files.add(&at(&pair[1]), FileUse::Compared, folder);
    }
    if matches!(name, "." | "source") {
        if let Some(file) = arguments.iter().find(|it| **it != "--") {
            files.add(&at(file), FileUse::Shell, folder);
        }
        return;
    }
    if call.program.contains('/') {
        files.add_program(&at(&call.program), folder);
    } else {
        files.programs.insert(call.program.clone());
    }
    match plain {
        shell if SHELLS.contains(&shell) => {
            files.has_login_shell |= arguments.iter().any(|it| is_login(it));
            let is_text = arguments.iter().any(|it| is_cluster_with(it, 'c'));
            let is_option = |at: usize| arguments[at].starts_with(['-', '+']);
            // As in `bash -o pipefail`.
            let is_value =
                |at: usize| at > 0 && is_option(at - 1) && arguments[at - 1].ends_with(['o', 'O']);
            let mut operands =
                arguments.iter().enumerate().filter(|(at, _)| !is_option(*at) && !is_value(*at));
            if let Some((_, file)) = operands.next().filter(|_| !is_text) {
                files.add(&at(file), FileUse::Shell, folder);
            }
        }
        "make" | "gmake" => add_make(&arguments, folder, files),
        "run-parts" => {
            let parts = arguments.iter().filter(|it| !it.starts_with('-'));
            parts.for_each(|part| files.add_program(&at(&format!("{part}/*")), folder));
        }
        "go" if arguments.first() == Some(&"run") => {
            let mut packages = arguments.iter().skip(1).filter(|it| !it.starts_with('-'));
            if let Some(package) = packages.next() {
                let is_file = Path::new(package).extension().is_some_and(|end| end == "go");
                let sources = if is_file { "" } else { "/*.go" };
                files.add(&at(&format!("{package}{sources}")), FileUse::Program, folder);
            }
        }
        comparer if COMPARERS.contains(&comparer) => {
            let operands = arguments.iter().filter(|it| !it.starts_with('-'));
            operands.for_each(|file| files.add(&at(file), FileUse::Compared, folder));
        }
        summer if SUMMERS.contains(&name) || SUMMERS.contains(&summer) => {
            let checks = |it: &&str| is_cluster_with(it, 'c') || **it == *"--check";
            if arguments.iter().any(checks) {
                let lists = arguments.iter().filter(|it| !it.starts_with('-'));
                lists.for_each(|list| files.add(&at(list), FileUse::Compared, folder));
            }
        }
        reader if READERS_OF_PROGRAMS.contains(&reader) => {
            let is_program =
                |pair: &&[&str]| PROGRAM_OPTIONS.contains(&pair[0]) || is_cluster_end(pair[0], 'f');
            let behind = arguments.windows(2).filter(is_program).map(|pair| pair[1]);
            let inside = arguments.iter().filter_map(|it| it.strip_prefix("--file="));
            for file in behind.chain(inside) {
                files.add(&at(file), FileUse::Compared, folder);
            }
        }
        _ => {}
    }
    // Bun runs tests itself.
    if PACKAGE_RUNNERS.contains(&name) && (name != "bun" || arguments.first() == Some(&"run")) {
        add_package_script(&arguments, folder, files);
    }
    if INTERPRETERS.contains(&plain) {
        add_interpreter(plain, &arguments, folder, files);
    }
}

impl RunFiles {
    /// Adds a file that runs by itself, whatever its language is.
    fn add_program(&mut self, path: &str, folder: &str) {
        let path = root_path(path).and_then(|path| RelPath::parse(&path));
        if let Some(path) = path.filter(|path| foreign_folder(path).is_none()) {
            let folder = root_path(folder).unwrap_or_default();
            self.files.insert(RunFile { path, by: FileUse::Program, folder });
        }
    }
}

fn add_interpreter(plain: &str, arguments: &[&str], folder: &str, files: &mut RunFiles) {
    let module = arguments.iter().position(|it| *it == "-m").filter(|_| plain == "python");
    if let Some(name) = module.and_then(|at| arguments.get(at + 1)) {
        for file in sources::python_module(name) {
            files.add(&absolute(folder, &file), FileUse::Program, folder);
        }
        return;
    }
    let code = arguments.iter().position(|it| CODE_OPTIONS.contains(it));
    if let Some(code) = code.and_then(|at| arguments.get(at + 1)) {
        let place = root_path(folder).unwrap_or_default();
        for (named, by) in sources::named_in_code(plain, code, &place) {
            files.add(&format!("{ROOT}/{named}"), by, folder);
        }
        return;
    }
    let mut operands = arguments.iter().filter(|it| !it.starts_with('-') && **it != "run");
    if let Some(file) = operands.next() {
        files.add(&absolute(folder, file), FileUse::Program, folder);
    }
}

fn add_make(arguments: &[&str], folder: &str, files: &mut RunFiles) {
    let value = |option: &str| {
        let behind = arguments.windows(2).find(|pair| pair[0] == option).map(|pair| pair[1]);
        behind.or_else(|| arguments.iter().find_map(|it| it.strip_prefix(option)))
    };
    let folder = value("-C").map_or_else(|| folder.to_owned(), |inner| absolute(folder, inner));
    let mut targets = Vec::new();
    let mut is_value = false;
    for word in arguments {
        if !std::mem::take(&mut is_value) && !word.starts_with('-') && !word.contains('=') {
            targets.push((*word).to_owned());
        }
        is_value = MAKE_VALUES.contains(word);
    }
    let named = value("-f").map(|file| vec![file]);
    for name in named.unwrap_or_else(|| MAKEFILES.to_vec()) {
        let by = FileUse::Makefile(targets.clone());
        files.add(&absolute(&folder, name), by, &folder);
    }
}

fn add_package_script(arguments: &[&str], folder: &str, files: &mut RunFiles) {
    let inner = arguments.windows(2).find(|pair| matches!(pair[0], "--prefix" | "-C" | "--cwd"));
    let folder = inner.map_or_else(|| folder.to_owned(), |pair| absolute(folder, pair[1]));
    let inner = inner.map(|pair| pair[1]);
    let mut words = arguments.iter().filter(|it| !it.starts_with('-') && Some(**it) != inner);
    let script = match words.next() {
        Some(&("run" | "run-script")) => words.next(),
        Some(&("t" | "tst")) => Some(&"test"),
        first => first,
    };
    if let Some(script) = script {
        let by = FileUse::PackageScript((*script).to_owned());
        files.add(&absolute(&folder, PACKAGE_FILE), by, &folder);
    }
}

/// True if these options of a shell make it read the user's start files.
fn is_login(word: &str) -> bool {
    word == "--login" || is_cluster_with(word, 'l') || is_cluster_with(word, 'i')
}

fn is_cluster_with(word: &str, letter: char) -> bool {
    word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains(letter))
}

/// As in `-nf`, whose value follows.
fn is_cluster_end(word: &str, letter: char) -> bool {
    is_cluster_with(word, letter) && word.ends_with(letter)
}

fn absolute(folder: &str, path: &str) -> String {
    if path.starts_with(['/', '~', '$']) { path.to_owned() } else { format!("{folder}/{path}") }
}

/// A path relative to the root, which may be empty; `None` for one outside, or that is not known.
fn root_path(path: &str) -> Option<String> {
    let is_known = !path.contains('$') && path.starts_with(ROOT);
    let normal = moai_base::path::normalize(Path::new(path).components().as_path());
    let below = normal.strip_prefix(ROOT).ok().filter(|_| is_known)?;
    below.to_str().map(str::to_owned)
}

/// The text with the names of folders that a script finds out about itself.
fn with_plain_folders(text: &str, own: &str, root: &str) -> String {
    let folder = own.rsplit_once('/').map_or(ROOT, |(folder, _)| folder);
    let mut text = text.to_owned();
    if root.len() > 1 {
        text = text.replace(&format!("{root}/"), &format!("{ROOT}/"));
    }
    for name in ["\"$0\"", "$0", "\"${BASH_SOURCE[0]}\"", "${BASH_SOURCE[0]}", "\"$BASH_SOURCE\""] {
        for before in ["$(dirname ", "$(dirname -- "] {
            text = text.replace(&format!("{before}{name})"), folder);
        }
    }
    // As in `$(cd "$(dirname "$0")/.." && pwd)`.
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("$(cd ") {
        kept.push_str(before);
        let end = after.bytes().take(FOLDER_TEXT_BYTES_MAX).position(|byte| byte == b')');
        let Some(end) = end.filter(|end| after[..*end].contains("pwd")) else {
            kept.push_str("$(cd ");
            rest = after;
            continue;
        };
        let (inside, behind) = (&after[..end], &after[end + 1..]);
        let words = inside.split([' ', '&', ';']).map(|word| word.trim_matches(['"', '\'']));
        kept.push_str(words.into_iter().find(|it| !it.is_empty() && *it != "--").unwrap_or("."));
        rest = behind;
    }
    kept + rest
}

#[cfg(test)]
mod tests;
