//! A project on disk with the program around it: files are written here, hooks are called, and
//! batch tools run. It must not know what is right.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::{Output, SESSION, Sandbox, finish, write_file};

/// One project of a sandbox; several share its daemon.
pub(crate) struct Stage<'s> {
    pub(crate) sandbox: &'s Sandbox,
    pub(crate) root: PathBuf,
}

impl<'s> Stage<'s> {
    /// An empty project of this name beside the sandbox's own.
    pub(crate) fn new(sandbox: &'s Sandbox, name: &str) -> Self {
        let root = sandbox.base().join("stages").join(name);
        fs::create_dir_all(&root).expect("the sandbox is writable");
        let stage = Self { sandbox, root };
        stage.git(&["init", "-q", "-b", "main"]);
        stage
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
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

    /// The files of one folder, by name.
    pub(crate) fn files_in(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).expect("the stage is laid").flatten();
        let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
        let mut files: Vec<String> =
            entries.map(|entry| format!("{folder}/{}", name(entry))).collect();
        files.sort();
        files
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
        let mut command = self.sandbox.program();
        finish(command.current_dir(&self.root).args(arguments), "")
    }

    /// A hook call as the host makes it, and what it took from its start to its end.
    pub(crate) fn hook(&self, event: &str, input: &Value) -> (Output, Duration) {
        let mut command = self.sandbox.program();
        command.current_dir(&self.root).args(["hook", event]);
        let input = input.to_string();
        let begun = Instant::now();
        let output = finish(&mut command, &input);
        assert_eq!(output.code, 0, "a hook always exits 0: {output:#?}");
        (output, begun.elapsed())
    }

    /// The host's Edit of a file from one text to another, or its Write when nothing changes.
    pub(crate) fn edited(&self, relative: &str, before: &str, after: &str) -> Value {
        let path = json!(self.path(relative));
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

    /// The host's Bash.
    pub(crate) fn commanded(&self, command: &str) -> Value {
        let mut input = self.payload("PostToolUse-Bash");
        input["tool_input"]["command"] = command.into();
        input
    }

    /// A Stop of the session.
    pub(crate) fn stopped(&self) -> Value {
        self.payload("Stop")
    }

    /// A loop of one Stop: random edits get better and worse, which would end an older one.
    pub(crate) fn start_loop(&self) {
        self.run(&["loop", "cancel", "--session", SESSION]);
        // The play holds every error of now against the batch tool, whenever it was made.
        let arguments = [
            "loop",
            "start",
            "--session",
            SESSION,
            "--prompt",
            "mend it",
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
        let text = text.replace(&*other.to_string_lossy(), &self.root.to_string_lossy());
        serde_json::from_str(&text).expect("paths of a sandbox need no escapes")
    }
}

/// The lines that differ, as an editor would be told to replace them.
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
    // A tool cannot replace nothing: the line above names the place.
    head = head.saturating_sub(1);
    Some((old[head..old.len() - tail].concat(), new[head..new.len() - tail].concat()))
}
