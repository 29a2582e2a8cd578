//! A project on disk and the program under test: writes files, calls hooks, runs batch tools.

use std::cell::Cell;
use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::servers::on_path;
use crate::support::{Output, SESSION, Sandbox, finish, write_file};

/// The folder of a nested project in its repository.
const NESTED: &str = "packages/play";

/// Surroundings of the project.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StageLayout {
    /// The host and the shells name the project by a symbolic link.
    pub(crate) is_linked: bool,
    /// The project is a folder of a larger repository.
    pub(crate) is_nested: bool,
    /// Git ignores the files whose exports break, as it ignores generated code.
    pub(crate) ignores_exports: bool,
    /// Every second call comes from a shell whose PATH finds the same programs in different folders.
    pub(crate) has_two_shells: bool,
    /// A command of the play changes as many files as the checkout of a distant commit.
    pub(crate) has_checkout: bool,
}

impl StageLayout {
    /// The layouts in turn: three seeds in succession play all of them.
    pub(crate) fn from_seed(seed: u64) -> Self {
        let plain = Self::default();
        match seed % 3 {
            0 => Self { is_linked: true, has_checkout: true, ..plain },
            1 => Self { ignores_exports: true, has_two_shells: true, ..plain },
            _ => Self { is_nested: true, ..plain },
        }
    }
}

/// One project of a sandbox; several share its daemon.
pub(crate) struct Stage<'s> {
    pub(crate) sandbox: &'s Sandbox,
    pub(crate) layout: StageLayout,
    /// The folder of the project itself.
    pub(crate) root: PathBuf,
    /// The repository, by the path that the host and the shells use.
    shown: PathBuf,
    calls: Cell<usize>,
}

impl<'s> Stage<'s> {
    /// An empty project of this name with its own repository.
    pub(crate) fn new(sandbox: &'s Sandbox, name: &str) -> Self {
        Self::with_layout(sandbox, name, StageLayout::default())
    }

    /// An empty project of this name.
    pub(crate) fn with_layout(sandbox: &'s Sandbox, name: &str, layout: StageLayout) -> Self {
        let repository = sandbox.base().join("stages").join(name);
        let root = if layout.is_nested { repository.join(NESTED) } else { repository.clone() };
        fs::create_dir_all(&root).expect("the sandbox is writable");
        let mut shown = repository.clone();
        if layout.is_linked {
            shown = sandbox.base().join(format!("linked-{name}"));
            symlink(&repository, &shown).expect("the sandbox is writable");
        }
        let stage = Self { sandbox, layout, root, shown, calls: Cell::new(0) };
        finish(stage.command("git").args(["init", "-q", "-b", "main"]).arg(&repository), "");
        stage
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// The path by which the host reports a file.
    fn shown_path(&self, relative: &str) -> PathBuf {
        self.shown_root().join(relative)
    }

    fn shown_root(&self) -> PathBuf {
        if self.layout.is_nested { self.shown.join(NESTED) } else { self.shown.clone() }
    }

    /// A file of the project, from the path in the program's answers.
    pub(crate) fn project_path<'p>(&self, answered: &'p str) -> &'p str {
        let nested = answered.strip_prefix(NESTED).and_then(|path| path.strip_prefix('/'));
        nested.filter(|_| self.layout.is_nested).unwrap_or(answered)
    }

    /// Writes the repository's settings of the program.
    pub(crate) fn write_settings(&self, name: &str, text: &str) {
        write_file(&self.shown.join(".moai/config").join(name), text);
    }

    pub(crate) fn write(&self, relative: &str, text: &str) {
        write_file(&self.path(relative), text);
    }

    pub(crate) fn read(&self, relative: &str) -> String {
        let path = self.path(relative);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// A file of the project, as findings name it.
    pub(crate) fn relative(&self, path: &str) -> Option<String> {
        let below = Path::new(path).strip_prefix(&self.root).ok()?;
        Some(below.to_string_lossy().into_owned())
    }

    /// The files of one folder, sorted by name.
    pub(crate) fn files_in(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).expect("the project exists").flatten();
        let entries = entries.filter(|entry| entry.path().is_file());
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut files: Vec<String> =
            entries.map(|entry| format!("{folder}/{}", name(entry))).collect();
        files.sort();
        files
    }

    /// Appends files to the project's `.gitignore`.
    pub(crate) fn ignore(&self, files: &[&str]) {
        let mut ignored = fs::read_to_string(self.path(".gitignore")).unwrap_or_default();
        for file in files {
            ignored.extend(["/", file, "\n"]);
        }
        self.write(".gitignore", &ignored);
    }

    pub(crate) fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "start"]);
    }

    pub(crate) fn git(&self, arguments: &[&str]) {
        let output = finish(self.command("git").args(arguments), "");
        assert_eq!(output.code, 0, "git {arguments:?}: {output:#?}");
    }

    /// A process in the project with the sandbox's environment.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        self.sandbox.prepare(&mut command);
        command.current_dir(&self.root);
        command
    }

    /// The program under test in the project.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let mut command = self.program();
        finish(command.current_dir(self.shown_root()).args(arguments), "")
    }

    /// The same with an action while it runs.
    pub(crate) fn run_during(&self, arguments: &[&str], action: impl FnOnce()) -> Output {
        let mut command = self.program();
        command.current_dir(self.shown_root()).args(arguments);
        thread::scope(|scope| {
            let running = scope.spawn(move || finish(&mut command, ""));
            action();
            running.join().expect("the program ends")
        })
    }

    /// The program under test with the environment of the shell whose turn it is.
    fn program(&self) -> Command {
        let mut command = self.sandbox.program();
        self.calls.set(self.calls.get() + 1);
        if self.layout.has_two_shells && self.calls.get().is_multiple_of(2) {
            command.env("PATH", self.second_path());
        }
        command
    }

    /// The PATH of a shell in which a version manager has put a link to Node's folder first.
    fn second_path(&self) -> OsString {
        let link = self.sandbox.base().join("multishell");
        if let Some(folder) = on_path("node").as_deref().and_then(Path::parent)
            && !link.exists()
        {
            symlink(folder, &link).expect("the sandbox is writable");
        }
        let mut path = link.into_os_string();
        path.push(":");
        path.push(self.sandbox.base().join("bin"));
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        path
    }

    /// A hook call as the host makes it, and how long it took.
    pub(crate) fn hook(&self, event: &str, input: &Value) -> (Output, Duration) {
        let mut command = self.program();
        command.current_dir(&self.shown).args(["hook", event]);
        let input = input.to_string();
        let started = Instant::now();
        let output = finish(&mut command, &input);
        assert_eq!(output.code, 0, "a hook always exits 0: {output:#?}");
        (output, started.elapsed())
    }

    /// The hook input of the host's Edit from one text to another, or of its Write of the same text.
    pub(crate) fn edited(&self, relative: &str, before: &str, after: &str) -> Value {
        let path = json!(self.shown_path(relative));
        let Some((old, new)) = difference(before, after) else {
            let mut input = self.payload("PostToolUse-Write");
            input["tool_input"] = json!({"file_path": path, "content": after});
            input["tool_response"]["type"] = "update".into();
            input["tool_response"]["filePath"] = path;
            input["tool_response"]["content"] = after.into();
            input["tool_response"]["originalFile"] = before.into();
            return input;
        };
        let mut input = self.payload("PostToolUse-Edit");
        input["tool_input"] = json!({
            "file_path": path, "old_string": old, "new_string": new, "replace_all": false,
        });
        let answer = &mut input["tool_response"];
        answer["filePath"] = path;
        (answer["oldString"], answer["newString"]) = (old.into(), new.into());
        answer["originalFile"] = before.into();
        input
    }

    /// The hook input of the host's Bash.
    pub(crate) fn commanded(&self, command: &str) -> Value {
        let mut input = self.payload("PostToolUse-Bash");
        input["tool_input"]["command"] = command.into();
        input
    }

    /// The hook input of a Stop.
    pub(crate) fn stopped(&self) -> Value {
        self.payload("Stop")
    }

    /// A loop for one Stop: an older one would end as stalled or oscillating.
    pub(crate) fn start_loop(&self) {
        self.run(&["loop", "cancel", "--session", SESSION]);
        // The play compares all present errors with the batch tool, whenever they were introduced.
        let arguments = [
            "loop",
            "start",
            "--session",
            SESSION,
            "--prompt",
            "fix it",
            "--until",
            "diagnostics",
            "--baseline",
            "none",
        ];
        let output = self.run(&[&arguments[..], &["--max-iterations", "1000"]].concat());
        assert_eq!(output.code, 0, "{output:#?}");
    }

    fn payload(&self, name: &str) -> Value {
        let text = self.sandbox.payload(name).to_string();
        let other = self.sandbox.root();
        let text = text.replace(&*other.to_string_lossy(), &self.shown.to_string_lossy());
        serde_json::from_str(&text).expect("paths of a sandbox need no escapes")
    }
}

/// The old and new text of the lines that differ, as an editing tool replaces them.
fn difference(before: &str, after: &str) -> Option<(String, String)> {
    if before == after {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) =
        (before.split_inclusive('\n').collect(), after.split_inclusive('\n').collect());
    let same = |pair: &(&&str, &&str)| pair.0 == pair.1;
    let mut head = old.iter().zip(&new).take_while(same).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take(rest).take_while(same).count();
    // An editing tool cannot replace an empty text: the line above marks the place.
    head = head.saturating_sub(1);
    Some((old[head..old.len() - tail].concat(), new[head..new.len() - tail].concat()))
}
