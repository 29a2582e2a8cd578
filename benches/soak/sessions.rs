//! Sessions of agents, several at a time: each sends the hooks of a few turns in one of many projects.

use std::fmt;
use std::fs;
use std::ops::AddAssign;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::seeded_random::SeededRandom;
use crate::support::{PROGRAM, SESSION, Sandbox, finish, write_file};

const PROJECTS: usize = 30;
/// Sessions that are open at the same time.
const CLIENTS: usize = 4;
const TURNS_MAX: usize = 4;
const EDITS_MAX: usize = 5;
/// One of so many calls is killed, one is garbage, one session starts a loop.
const KILLED_EVERY: usize = 40;
const GARBAGE_EVERY: usize = 40;
const LOOP_EVERY: usize = 6;
/// A call is killed within this time.
const KILL_MS_MAX: usize = 60;

/// Recorded inputs by the name of the event.
const EVENTS: [(&str, &str); 8] = [
    ("session-start", "SessionStart-startup"),
    ("user-prompt-submit", "UserPromptSubmit"),
    ("user-prompt-expansion", "UserPromptExpansion"),
    ("post-tool-use", "PostToolUse-Edit"),
    ("post-tool-use", "PostToolUse-Bash"),
    ("post-tool-batch", "PostToolBatch"),
    ("stop", "Stop"),
    ("session-end", "SessionEnd"),
];

const TEXTS: [&str; 4] = [
    "import os\n\n\ndef run(line):\n    return os.system(line)\n",
    "def half(n):\n    return n / 2\n",
    "def half(n):\n    try:\n        return eval(n)\n    except Exception:\n        pass\n",
    "word = 'BAD'\n",
];

/// Results of the calls.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    answered: usize,
    with_document: usize,
    killed: usize,
    garbage: usize,
    elapsed: Duration,
    slowest: Duration,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.answered += other.answered;
        self.with_document += other.with_document;
        self.killed += other.killed;
        self.garbage += other.garbage;
        self.elapsed += other.elapsed;
        self.slowest = self.slowest.max(other.slowest);
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} hooks answered, {} of them with a document; {} were garbage; {} more were killed. \
             {:.0?} in all, the slowest {:.1?}",
            self.answered,
            self.with_document,
            self.garbage,
            self.killed,
            self.elapsed,
            self.slowest
        )
    }
}

/// The projects and the recorded inputs.
pub(crate) struct Soak<'s> {
    sandbox: &'s Sandbox,
    projects: Vec<PathBuf>,
    /// In the order of [`EVENTS`].
    inputs: Vec<Value>,
    seed: u64,
}

impl<'s> Soak<'s> {
    pub(crate) fn new(sandbox: &'s Sandbox, seed: u64) -> Self {
        let projects = (0..PROJECTS).map(|number| new_project(sandbox, number)).collect();
        let inputs = EVENTS.iter().map(|(_, name)| sandbox.payload(name)).collect();
        Self { sandbox, projects, inputs, seed }
    }

    /// A recorded input, of this project and session.
    fn input(&self, event: usize, root: &Path, session: &str, fields: &Value) -> String {
        let recorded = self.inputs[event].to_string();
        let recorded =
            recorded.replace(&*self.sandbox.root().to_string_lossy(), &root.to_string_lossy());
        let recorded = recorded.replace(SESSION, session);
        let mut input: Value = serde_json::from_str(&recorded).expect("paths without quotes");
        for (name, value) in fields.as_object().into_iter().flatten() {
            input[name] = value.clone();
        }
        input.to_string()
    }

    /// Sends so many hooks from several sessions at a time.
    pub(crate) fn send(&self, hooks: usize, part: u64) -> Tally {
        let left = AtomicUsize::new(hooks);
        let started = Instant::now();
        let mut total = Tally::default();
        thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|number| {
                    let seed = self.seed * 1_000 + part * 100 + number as u64;
                    let client = Client {
                        soak: self,
                        left: &left,
                        random: SeededRandom::new(seed),
                        tally: Tally::default(),
                        name: format!("{part}-{number}"),
                    };
                    scope.spawn(|| client.play())
                })
                .collect();
            for client in clients {
                total += client.join().expect("every answer is valid");
            }
        });
        Tally { elapsed: started.elapsed(), ..total }
    }
}

fn new_project(sandbox: &Sandbox, number: usize) -> PathBuf {
    let root = sandbox.base().join("projects").join(format!("p{number}"));
    for (at, text) in TEXTS.iter().enumerate() {
        write_file(&root.join(format!("m{at}.py")), text);
    }
    write_file(&root.join("a.txt"), "one\ntwo\n");
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "start"]] {
        let mut command = Command::new("git");
        sandbox.prepare(&mut command);
        let output = finish(command.args(arguments).current_dir(&root), "");
        assert_eq!(output.code, 0, "git {arguments:?}: {output:?}");
    }
    root
}

struct Client<'a> {
    soak: &'a Soak<'a>,
    /// Hooks that no client has taken.
    left: &'a AtomicUsize,
    random: SeededRandom,
    tally: Tally,
    name: String,
}

impl Client<'_> {
    fn play(mut self) -> Tally {
        let mut number = 0;
        while self.left.load(Ordering::Relaxed) > 0 {
            number += 1;
            let session = format!("session-{}-{number}", self.name);
            let project = self.random.below(self.soak.projects.len());
            let root = self.soak.projects[project].clone();
            self.play_session(&root, &session);
        }
        self.tally
    }

    fn play_session(&mut self, root: &Path, session: &str) {
        self.call(0, root, session, &json!({}));
        if self.random.below(LOOP_EVERY) == 0 {
            let typed = json!({"command_name": "moai-ralph:moai-loop", "command_args": "--max-iterations 2 tidy up"});
            self.call(2, root, session, &typed);
        }
        for _ in 0..=self.random.below(TURNS_MAX) {
            self.call(1, root, session, &json!({"prompt": "go on"}));
            for _ in 0..=self.random.below(EDITS_MAX) {
                self.edit(root, session);
            }
            self.call(5, root, session, &json!({}));
            self.call(6, root, session, &json!({"last_assistant_message": "all tests pass"}));
        }
        self.call(7, root, session, &json!({}));
    }

    fn edit(&mut self, root: &Path, session: &str) {
        let file = root.join(format!("m{}.py", self.random.below(TEXTS.len())));
        let before = fs::read_to_string(&file).unwrap_or_default();
        let text = TEXTS[self.random.below(TEXTS.len())];
        write_file(&file, text);
        if self.random.below(3) == 0 {
            self.call(4, root, session, &json!({"tool_input": {"command": "cp x y"}}));
            return;
        }
        let fields = json!({
            "tool_name": "Write",
            "tool_input": {"file_path": file, "content": text},
            "tool_response": {"type": "update", "filePath": file, "originalFile": before},
        });
        self.call(3, root, session, &fields);
    }

    /// One hook, unless all have been sent.
    fn call(&mut self, event: usize, root: &Path, session: &str, fields: &Value) {
        let taken = self
            .left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        if taken.is_err() {
            return;
        }
        let mut text = self.soak.input(event, root, session, fields);
        let mut command = Command::new(PROGRAM);
        self.soak.sandbox.prepare(&mut command);
        command.args(["hook", EVENTS[event].0]).current_dir(root);
        if self.random.below(KILLED_EVERY) == 0 {
            self.kill(&mut command, &text);
            return;
        }
        if self.random.below(GARBAGE_EVERY) == 0 {
            self.tally.garbage += 1;
            text.truncate(text.floor_char_boundary(self.random.below(text.len())));
            text.push_str(["\u{0}", "]", "\"}", "{{{{"][self.random.below(4)]);
        }
        let started = Instant::now();
        let output = finish(&mut command, &text);
        self.tally.slowest = self.tally.slowest.max(started.elapsed());
        self.tally.answered += 1;
        assert_eq!(output.code, 0, "{} {text}: {output:?}", EVENTS[event].0);
        if !output.stdout.trim().is_empty() {
            assert!(output.json().is_object(), "{output:?}");
            self.tally.with_document += 1;
        }
    }

    /// The random moment is the point: the client dies before, while or after the daemon answers.
    fn kill(&mut self, command: &mut Command, text: &str) {
        let input = self.soak.sandbox.base().join(format!("killed-{}", self.name));
        fs::write(&input, text).expect("the sandbox is writable");
        let stdin = fs::File::open(&input).expect("it was just written");
        command.stdin(stdin).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().expect("the program starts");
        thread::sleep(Duration::from_millis(self.random.below(KILL_MS_MAX) as u64));
        child.kill().expect("the child is ours");
        child.wait().expect("the child is ours");
        self.tally.killed += 1;
    }
}
