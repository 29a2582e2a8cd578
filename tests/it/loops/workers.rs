//! Workers that finish at the same time are merged one after the other, without lost work.

use std::path::{Path, PathBuf};
use std::thread;

use serde_json::Value;

use super::{FIXED, autochecks, blocked, commit_in, git, git_in, project, start};
use crate::support::{Output, Sandbox, finish, write_file};

/// A worker, with the session that is opened in its worktree.
pub(super) struct Worker {
    pub(super) root: PathBuf,
    session: String,
}

impl Worker {
    fn name(&self) -> &str {
        self.root.file_name().and_then(|name| name.to_str()).expect("a name")
    }

    pub(super) fn status(&self, sandbox: &Sandbox) -> Value {
        let root = self.root.to_str().expect("a path");
        sandbox.run(&["--root", root, "loop", "status", "--json"]).json()
    }

    pub(super) fn hook(&self, sandbox: &Sandbox, event: &str, payload: &str) -> Output {
        let mut input = sandbox.payload(payload);
        input["session_id"] = self.session.as_str().into();
        input["cwd"] = self.root.to_str().into();
        let mut command = sandbox.program();
        command.current_dir(&self.root).env("CLAUDE_PROJECT_DIR", &self.root);
        finish(command.args(["hook", event]), &input.to_string())
    }
}

/// Workers of a project whose check records the files it saw in each worktree; each is claimed.
pub(super) fn workers(count: usize) -> (Sandbox, Vec<Worker>) {
    let sandbox = project();
    let seen = sandbox.base().join("seen");
    let note =
        format!("echo \"$(basename \"$PWD\"): $(ls | tr '\\n' ' ')\" >> '{}'", seen.display());
    autochecks(&sandbox, &note);
    sandbox.commit();
    let count = count.to_string();
    let begun = start(&sandbox, &["--mode", "autonomous", "--no-research", "--workers", &count]);
    assert_eq!(begun.code, 0, "{begun:#?}");
    let roots = begun.json()["workers"].as_array().cloned().expect("workers");
    let worker = |(number, worker): (usize, Value)| Worker {
        root: worker["root"].as_str().expect("a root").into(),
        session: format!("{number}1111111-0000-4000-8000-000000000000"),
    };
    let workers: Vec<Worker> = roots.into_iter().enumerate().map(worker).collect();
    for worker in &workers {
        let claimed = worker.hook(&sandbox, "user-prompt-submit", "UserPromptSubmit");
        assert!(claimed.context().contains("fix it"), "{claimed:#?}");
        assert_eq!(worker.status(&sandbox)["session_id"], worker.session.as_str());
    }
    (sandbox, workers)
}

/// The Stops of all of them at once; the reason where one is held.
fn stop_all(sandbox: &Sandbox, workers: &[Worker]) -> Vec<Option<String>> {
    thread::scope(|scope| {
        let stop = |worker| scope.spawn(move || Worker::hook(worker, sandbox, "stop", "Stop"));
        let stops: Vec<_> = workers.iter().map(stop).collect();
        let stops = stops.into_iter().map(|stop| stop.join().expect("the hook ends"));
        stops.map(|output| blocked(&output)).collect()
    })
}

/// The merges into `main`, the oldest first.
fn merged(sandbox: &Sandbox) -> Vec<String> {
    let log = ["log", "--merges", "--first-parent", "--reverse", "--format=%s", "main"];
    git(sandbox, &log).lines().map(str::to_owned).collect()
}

fn lines(folder: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(folder.join("seen")).expect("the checks ran");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn three_that_finish_at_once_are_merged_one_after_the_other() {
    let (sandbox, workers) = workers(3);
    for (number, worker) in workers.iter().enumerate() {
        write_file(&worker.root.join(format!("own{number}.py")), FIXED);
        commit_in(&sandbox, &worker.root, "work");
    }
    assert_eq!(stop_all(&sandbox, &workers), [None, None, None]);
    for worker in &workers {
        let ended = worker.status(&sandbox);
        assert_eq!(ended["status"], "completed", "{ended:#}");
        assert_eq!(git_in(&sandbox, &worker.root, &["status", "--porcelain", "-uno"]), "");
    }
    let files = git(&sandbox, &["ls-tree", "--name-only", "main"]);
    assert_eq!(files, ".claude\napp.py\nown0.py\nown1.py\nown2.py");
    for number in 0..3 {
        assert_eq!(sandbox.read(&format!("own{number}.py")), FIXED, "the user's tree goes along");
    }
    let merged = merged(&sandbox);
    assert_eq!(merged.len(), 3, "{merged:?}");
    // Each worker was checked together with everything that was merged before.
    let seen = lines(&sandbox.base());
    let mut before = Vec::new();
    for subject in merged {
        let is_it = |(_, worker): &(usize, &Worker)| subject.contains(worker.name());
        let (number, worker) = workers.iter().enumerate().find(is_it).expect("a worker");
        before.push(format!("own{number}.py"));
        let is_with_all = |line: &&String| {
            line.starts_with(worker.name()) && before.iter().all(|name| line.contains(name))
        };
        assert!(seen.iter().any(|line| is_with_all(&line)), "{before:?} not in {seen:#?}");
    }
    assert_eq!(git(&sandbox, &["worktree", "list"]).lines().count(), 4);
}

#[test]
fn of_two_that_change_the_same_line_one_is_merged_and_the_other_has_a_task() {
    let (sandbox, workers) = workers(2);
    let texts = ["word = 'first'\n", "word = 'second'\n"];
    let mut heads = Vec::new();
    for (worker, text) in workers.iter().zip(texts) {
        write_file(&worker.root.join("app.py"), text);
        heads.push(commit_in(&sandbox, &worker.root, "work"));
    }
    let stops = stop_all(&sandbox, &workers);
    let held = stops.iter().position(Option::is_some).expect("one is in conflict");
    let (other, reason) = (1 - held, stops[held].as_deref().expect("it is held"));
    assert_eq!(stops[other], None);
    assert_eq!(workers[other].status(&sandbox)["status"], "completed");
    assert!(reason.contains("\n  app.py\n") && reason.contains("git merge main"), "{reason}");
    let (worker, text) = (&workers[held], texts[held]);
    let in_it = |arguments: &[&str]| git_in(&sandbox, &worker.root, arguments);
    assert_eq!(worker.status(&sandbox)["status"], "running");
    let now = std::fs::read_to_string(worker.root.join("app.py")).expect("there");
    assert_eq!((now.as_str(), in_it(&["rev-parse", "HEAD"])), (text, heads[held].clone()));
    assert_eq!(in_it(&["status", "--porcelain"]), "");
    assert_eq!(git(&sandbox, &["show", "main:app.py"]), texts[other].trim());
    assert_eq!(merged(&sandbox).len(), 1);

    // The task, unchanged.
    let mut command = std::process::Command::new("git");
    sandbox.prepare(&mut command);
    let conflict = finish(command.args(["merge", "main"]).current_dir(&worker.root), "");
    assert_eq!(conflict.code, 1, "{conflict:#?}");
    let both = "word = 'first'\nother = 'second'\n";
    write_file(&worker.root.join("app.py"), both);
    commit_in(&sandbox, &worker.root, "both");
    assert_eq!(blocked(&worker.hook(&sandbox, "stop", "Stop")), None);
    assert_eq!(worker.status(&sandbox)["status"], "completed");
    assert_eq!(git(&sandbox, &["show", "main:app.py"]), both.trim());
    assert_eq!(merged(&sandbox).len(), 2);
}
