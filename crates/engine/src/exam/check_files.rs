//! Finds the files that the checks run and load, in the commands and in the files themselves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use moai_base::hash::ContentHash;
use moai_base::limits::{EXAM_CANDIDATES_MAX, EXAM_FILE_BYTES_MAX, EXAM_FILES_MAX};
use moai_base::path::RelPath;
use moai_guard::run_files::{
    FileUse, RunFile, RunFiles, files_of_command, files_of_program, files_of_shell_text,
    is_shell_script, package_script,
};
use moai_host::{files, git};
use moai_loops::criteria::{AUTOCHECKS, CheckPlan};
use moai_loops::exam::makefiles::{included_patterns, is_dependency_list, recipes};
use moai_loops::exam::{ExamRole, role};

/// Files that the checks use besides those that every exam has.
#[derive(Default)]
pub(super) struct CheckFiles {
    /// Scripts and programs that run.
    pub(super) scripts: BTreeSet<RelPath>,
    /// Files that results are compared with, and scripts of tests, which loops may extend.
    pub(super) compared: BTreeSet<RelPath>,
    /// Commands in the makefiles and package files, by a name for people.
    pub(super) recipes: BTreeMap<RelPath, ContentHash>,
    /// Programs that are looked up on PATH.
    pub(super) programs: BTreeSet<String>,
    /// True if a shell begins with the user's own start files.
    pub(super) has_login_shell: bool,
}

/// The project's text files that its checks run or load, and those that these do, without other roles
/// in the exam. Files that git ignores are left out, because a build makes them, and so are the results
/// of the checks.
pub(super) fn check_files(root: &Path, plan: &CheckPlan) -> CheckFiles {
    let mut search = FileSearch::begin(root);
    for command in &plan.commands {
        let root = root.to_string_lossy();
        search.add(files_of_command(&command.argv, &command.folder, &root));
    }
    let script = RelPath::parse(AUTOCHECKS).into_iter();
    search.open.extend(script.map(|path| {
        let folder = String::new();
        RunFile { path, by: FileUse::Program, folder }
    }));
    while let Some(next) = search.open.pop() {
        search.follow(next);
    }
    search.end()
}

/// The scripts and programs that commands name as files; they need not exist.
pub(super) fn named_scripts(root: &Path, plan: &CheckPlan) -> BTreeSet<RelPath> {
    let mut named = BTreeSet::new();
    for command in &plan.commands {
        let folder = root.join(&command.folder);
        let words: BTreeSet<RelPath> = command
            .argv
            .iter()
            .filter_map(|word| RelPath::below(root, &folder.join(word)))
            .collect();
        let found = files_of_command(&command.argv, &command.folder, &root.to_string_lossy());
        let scripts = found
            .files
            .into_iter()
            .filter(|file| matches!(file.by, FileUse::Shell | FileUse::Program))
            .map(|file| file.path);
        named.extend(scripts.filter(|path| words.contains(path)));
    }
    named
}

/// A search through the files that run each other; at most [`EXAM_CANDIDATES_MAX`] are looked for.
struct FileSearch<'r> {
    root: &'r Path,
    open: Vec<RunFile>,
    read: BTreeSet<RunFile>,
    scripts: BTreeSet<RelPath>,
    compared: BTreeSet<RelPath>,
    shell_tests: BTreeSet<RelPath>,
    written: BTreeSet<RelPath>,
    found: CheckFiles,
}

impl<'r> FileSearch<'r> {
    fn begin(root: &'r Path) -> Self {
        Self {
            root,
            open: Vec::new(),
            read: BTreeSet::new(),
            scripts: BTreeSet::new(),
            compared: BTreeSet::new(),
            shell_tests: BTreeSet::new(),
            written: BTreeSet::new(),
            found: CheckFiles::default(),
        }
    }

    fn add(&mut self, files: RunFiles) {
        self.open.extend(files.files);
        self.written.extend(files.written);
        self.found.programs.extend(files.programs);
        self.found.has_login_shell |= files.has_login_shell;
    }

    /// Reads a file, or those that match a pattern, and adds the files it runs.
    fn follow(&mut self, next: RunFile) {
        if self.read.len() >= EXAM_CANDIDATES_MAX || !self.read.insert(next.clone()) {
            return;
        }
        let RunFile { path, by, folder } = next;
        for file in files::expand_pattern(self.root, path.as_str(), EXAM_FILES_MAX) {
            let Some(path) = RelPath::below(self.root, &file) else { continue };
            if let Some(text) = self.text(&path) {
                self.follow_file(path, &text, &by, &folder);
            }
        }
    }

    fn text(&self, path: &RelPath) -> Option<String> {
        let read = files::read_regular(&path.under(self.root), EXAM_FILE_BYTES_MAX);
        let bytes = read.ok().filter(|bytes| !bytes.contains(&0))?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn follow_file(&mut self, path: RelPath, text: &str, by: &FileUse, folder: &str) {
        let root = self.root.to_string_lossy();
        match by {
            FileUse::Makefile(targets) => {
                let text = self.with_included(text, folder);
                let recipes = recipes(&text, targets);
                self.add_recipes(&path, &targets.join(" "), &recipes);
                self.add(files_of_shell_text(&recipes, None, folder, &root));
            }
            FileUse::PackageScript(script) => {
                if let Some(commands) = package_script(text, script) {
                    self.add_recipes(&path, script, &commands);
                    self.add(files_of_shell_text(&commands, None, folder, &root));
                }
                return;
            }
            FileUse::Compared => {
                self.compared.insert(path);
                return;
            }
            // Tests, which the guard judges, and files they load.
            FileUse::Program
                if role(&path) == Some(ExamRole::Test) && !is_shell_script(&path, text) =>
            {
                return;
            }
            FileUse::Program if !is_shell_script(&path, text) => {
                self.add(files_of_program(&path, text, folder));
            }
            FileUse::Program | FileUse::Shell => {
                self.add(files_of_shell_text(text, Some(&path), folder, &root));
                // The guard does not judge these tests.
                if role(&path) == Some(ExamRole::Test) {
                    self.shell_tests.insert(path);
                    return;
                }
            }
        }
        self.scripts.insert(path);
    }

    /// A makefile with those that it includes.
    fn with_included(&self, text: &str, folder: &str) -> String {
        let folder = self.root.join(folder);
        let mut all = text.to_owned();
        let mut open = included_patterns(text);
        let mut read = BTreeSet::new();
        while let Some(pattern) = open.pop() {
            for file in files::expand_pattern(&folder, &pattern, EXAM_FILES_MAX) {
                let Some(path) = RelPath::below(self.root, &file) else { continue };
                if read.len() >= EXAM_FILES_MAX || !read.insert(path.clone()) {
                    continue;
                }
                let text = self.text(&path).filter(|text| !is_dependency_list(text.as_bytes()));
                let Some(text) = text else { continue };
                open.extend(included_patterns(&text));
                all.push('\n');
                all.push_str(&text);
            }
        }
        all
    }

    fn add_recipes(&mut self, path: &RelPath, name: &str, commands: &str) {
        let name = if name.is_empty() { "first target" } else { name };
        let name = RelPath::parse(&format!("{path} ({})", name.replace('/', " ")));
        let hash = ContentHash::of_bytes(commands.as_bytes());
        self.found.recipes.extend(name.map(|name| (name, hash)));
    }

    fn end(self) -> CheckFiles {
        let Self { root, mut scripts, mut compared, shell_tests, written, mut found, .. } = self;
        let is_of_exam = |path: &RelPath| role(path).is_none() && !written.contains(path);
        scripts.retain(is_of_exam);
        compared.retain(|path| is_of_exam(path) && !scripts.contains(path));
        compared.extend(shell_tests);
        let all: Vec<RelPath> = scripts.iter().chain(&compared).cloned().collect();
        if let Ok(ignored) = git::ignored_paths(root, &all) {
            let is_kept =
                |path: &RelPath| path.as_str().starts_with('.') || !ignored.contains(path);
            scripts.retain(is_kept);
            compared.retain(is_kept);
        }
        found.scripts = scripts;
        found.compared = compared;
        found
    }
}
