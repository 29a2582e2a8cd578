//! Random edits of real packages, and the program's answers beside the truth. The program is used
//! from outside only: its hooks, its check, its Stop.
//!
//! A play is a seeded sequence of changes. Every change is followed by the hook that the host would
//! call. After a change of an export, after a rename and at every few steps there is a Stop and a
//! check, and both are held against what a batch tool says about the same bytes from scratch.

pub(crate) mod answer;
mod c;
pub(crate) mod dice;
mod go;
mod java;
mod moves;
pub(crate) mod package;
mod php;
pub(crate) mod python;
pub(crate) mod rust;
pub(crate) mod score;
pub(crate) mod servers;
pub(crate) mod stage;
mod truth;
pub(crate) mod typescript;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use moai_base::hash::ContentHash;

use answer::{Answer, Told};
use moves::{Board, Change, Kind, Writer};
use package::planted;
use score::Score;
use servers::Server;
use stage::Stage;
use truth::Truth;

/// Steps between two checkpoints, when nothing else asks for one.
const CHECKPOINT: usize = 5;

/// An error of our own that no hook has told yet.
#[derive(Clone, Debug)]
struct Untold {
    path: String,
    number: usize,
    is_command: bool,
}

/// A play that goes on.
struct Play<'s> {
    stage: &'s Stage<'s>,
    server: &'static Server,
    board: Board,
    score: Score,
    untold: Vec<Untold>,
    known: HashMap<ContentHash, Truth>,
    /// The words of servers that were just started, by the tree's bytes and the file.
    afresh: HashMap<(ContentHash, String), Truth>,
    start: Truth,
    /// Files that were wrong at some time: they must not stay wrong in the program's mind.
    ever_wrong: BTreeSet<String>,
    step: usize,
}

/// Plays so many steps of this seed with one server on a stage that is laid.
pub(crate) fn play(stage: &Stage<'_>, server: &'static Server, steps: usize, seed: u64) -> Score {
    let texts = sources(stage, server.package.folders, server.package.endings);
    let mut play = Play {
        stage,
        server,
        board: Board::new(server.package, texts, seed),
        score: Score { steps, ..Score::default() },
        untold: Vec::new(),
        known: HashMap::new(),
        afresh: HashMap::new(),
        start: Truth::default(),
        ever_wrong: BTreeSet::new(),
        step: 0,
    };
    play.start = play.truth();
    play.warm_up();
    for step in 1..=steps {
        play.step = step;
        let change = play.board.draw();
        play.perform(&change);
        if matches!(change.kind, Kind::Break | Kind::Rename) || step % CHECKPOINT == 0 {
            play.checkpoint();
        }
    }
    play.checkpoint();
    play.go_back();
    play.checkpoint();
    play.score
}

/// The files below these folders that end like this.
pub(crate) fn sources(
    stage: &Stage<'_>,
    folders: &[&str],
    endings: &[&str],
) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    let mut folders: Vec<_> = folders.iter().map(|folder| stage.path(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the stage is laid").flatten() {
            let path = entry.path();
            let name = path.to_string_lossy().into_owned();
            if path.is_dir() {
                folders.push(path);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let relative = stage.relative(&name).expect("it lies below the stage");
                texts.insert(relative.clone(), stage.read(&relative));
            }
        }
    }
    texts
}

impl Play<'_> {
    /// The first answer of a cold server is not what is played for.
    fn warm_up(&mut self) {
        let first = self.server.package.edited[0];
        let output = self.stage.run(&["check", "--json", first]);
        let report = output.json();
        let mut sensors = report["sensors"].as_array().into_iter().flatten();
        let sensor = sensors.find(|it| it["name"] == self.server.name);
        let sensor = sensor.unwrap_or_else(|| panic!("no {}: {report:#}", self.server.name));
        self.score.version = sensor["version"].as_str().unwrap_or_default().to_owned();
        let answer = Answer::of_check(&output, self.server.name);
        self.score.count_gaps(&answer.gaps);
    }

    fn perform(&mut self, change: &Change) {
        let stage = self.stage;
        let input = if let Some(from) = &change.from {
            fs::rename(stage.path(from), stage.path(&change.path)).expect("the stage is ours");
            stage.commanded(&format!("git mv {from} {}", change.path))
        } else {
            // A Write of the same text is a write, too.
            stage.write(&change.path, &change.after);
            if change.writer == Writer::OlderCopy {
                set_back(&stage.path(&change.path));
            }
            let command = format!("sed -i -e '{}s/x/y/' {}", self.step, change.path);
            if change.writer == Writer::Tool {
                stage.edited(&change.path, &change.before, &change.after)
            } else {
                stage.commanded(&command)
            }
        };
        if change.writer == Writer::Unreported {
            self.record(change, &Answer::default());
            self.expect_later(change);
            return;
        }
        let (output, elapsed) = stage.hook("post-tool-use", &input);
        let answer = Answer::of_hook(&output, self.server.name);
        self.record(change, &answer);
        let is_whole = answer.gaps.is_empty();
        let is_timed = is_whole && change.writer == Writer::Tool && change.before != change.after;
        self.score.times.extend(is_timed.then_some(elapsed));
        self.note(&answer);
        self.judge_hook(change, &answer);
    }

    fn record(&mut self, change: &Change, answer: &Answer) {
        let Change { kind, writer, path, .. } = change;
        let (step, marks) = (self.step, planted(&change.after));
        let line =
            format!("{step}: {kind:?} by {writer:?}: {path} {marks:?}: {}", brief(&answer.text));
        self.score.journal.push(line);
    }

    fn note(&mut self, answer: &Answer) {
        self.score.answers += usize::from(!answer.text.is_empty());
        self.score.count_gaps(&answer.gaps);
    }

    /// What the truth is about the files as they are now.
    fn truth(&mut self) -> Truth {
        let key = self.bytes();
        if let Some(truth) = self.known.get(&key) {
            return truth.clone();
        }
        let truth = (self.server.truth)(self.stage, self.server);
        self.known.insert(key, truth.clone());
        truth
    }

    /// Stands for the bytes of all files.
    fn bytes(&self) -> ContentHash {
        let all: Vec<_> = self.board.texts.iter().collect();
        ContentHash::of_bytes(format!("{all:?}").as_bytes())
    }

    /// Whether a server that never saw another text says the same. The batch tool may stop before
    /// an error is reached that is true all the same.
    fn is_said_afresh(&mut self, told: &Told) -> bool {
        let Some(afresh) = self.server.afresh else { return false };
        if !self.board.texts.contains_key(&told.path) {
            return false;
        }
        let (stage, server) = (self.stage, self.server);
        let word = self.afresh.entry((self.bytes(), told.path.clone()));
        let word = word.or_insert_with(|| afresh(stage, server, &told.path));
        word.has(&told.path, told.line, &told.code)
    }

    /// Line of an error of our own, while it is there.
    fn line_of(&self, path: &str, number: usize) -> Option<u32> {
        let text = self.board.texts.get(path)?;
        planted(text).into_iter().find(|(it, _)| *it == number).map(|(_, line)| line)
    }

    fn judge_hook(&mut self, change: &Change, answer: &Answer) {
        let is_hidden = change.writer.is_hidden();
        self.judge_late(answer, false);
        for number in introduced(change) {
            let line = self.line_of(&change.path, number);
            let is_told = line.is_some_and(|line| answer.names(&change.path, line));
            let found = self.found(is_hidden);
            found.expected += 1;
            found.at_once += usize::from(is_told);
            if is_told {
                continue;
            }
            let is_silent = answer.gaps.is_empty() && !is_hidden;
            if is_silent {
                let text =
                    format!("{} after an error was put into it: {}", change.path, answer.text);
                self.complain_clean(&text);
            }
            let path = change.path.clone();
            self.untold.push(Untold { path, number, is_command: is_hidden });
        }
        self.judge_errors(answer);
        self.judge_clean(answer);
    }

    /// Errors for which no hook is called: a later hook, the Stop or the check finds them.
    fn expect_later(&mut self, change: &Change) {
        for number in introduced(change) {
            self.score.by_command.expected += 1;
            self.untold.push(Untold { path: change.path.clone(), number, is_command: true });
        }
    }

    fn found(&mut self, is_command: bool) -> &mut score::Found {
        if is_command { &mut self.score.by_command } else { &mut self.score.by_tool }
    }

    /// Errors of earlier steps that this hook tells; those that are gone need not be told.
    fn judge_late(&mut self, answer: &Answer, is_stop: bool) {
        for untold in std::mem::take(&mut self.untold) {
            let line = self.line_of(&untold.path, untold.number);
            let found = self.found(untold.is_command);
            match line {
                None => found.expected -= 1,
                Some(line) if answer.names(&untold.path, line) && is_stop => found.at_last += 1,
                Some(line) if answer.names(&untold.path, line) => found.later += 1,
                Some(_) => self.untold.push(untold),
            }
        }
    }

    /// Every error that was told must be true.
    fn judge_errors(&mut self, answer: &Answer) {
        for told in &answer.errors {
            let text = self.board.texts.get(&told.path).map(String::as_str);
            let is_ours = text.is_some_and(|it| planted(it).iter().any(|it| it.1 == told.line));
            let is_listed = is_ours || self.truth().has(&told.path, told.line, &told.code);
            if is_listed || self.is_said_afresh(told) {
                continue;
            }
            let line = format!("step {}: {told:?} in {}", self.step, brief(&answer.text));
            self.score.stale.push(line);
        }
    }

    /// A file that is called clean must be.
    fn judge_clean(&mut self, answer: &Answer) {
        for path in &answer.clean {
            if self.truth().of(path).next().is_some() {
                self.complain_clean(&format!("{path}: {}", answer.text));
            }
        }
    }

    fn complain_clean(&mut self, text: &str) {
        let line = format!("step {}: {}", self.step, brief(text));
        self.score.false_clean.push(line);
    }

    /// A Stop and a check, beside the truth.
    fn checkpoint(&mut self) {
        if self.board.is_restarted() {
            let output = self.stage.run(&["daemon", "stop"]);
            assert_eq!(output.code, 0, "{output:#?}");
            self.score.journal.push(format!("{}: restart", self.step));
        }
        let truth = self.truth();
        self.assert_sound(&truth);
        let changed = self.board.changed();
        self.ever_wrong.extend(truth.files().map(str::to_owned));
        let broken = truth.worse_than(&self.start);
        let dependents: Vec<String> = broken
            .into_iter()
            .filter(|path| self.board.texts.get(path).is_some_and(|it| planted(it).is_empty()))
            .filter(|path| !changed.contains(path))
            .collect();
        self.stop(&truth, &changed, &dependents);
        self.check(&truth, changed);
    }

    /// Where nothing hides it, a batch tool finds every error of ours; else the play is wrong.
    fn assert_sound(&self, truth: &Truth) {
        let is_home = |(from, _): &(&str, &str)| self.board.texts.contains_key(*from);
        if !self.server.package.moves.iter().all(is_home) {
            return;
        }
        for (path, text) in &self.board.texts {
            for (number, line) in planted(text) {
                assert!(truth.has(path, line, ""), "{path}: error {number} is none: {truth:?}");
            }
        }
    }

    fn stop(&mut self, truth: &Truth, changed: &[String], dependents: &[String]) {
        self.stage.start_loop();
        let (output, _) = self.stage.hook("stop", &self.stage.stopped());
        let answer = Answer::of_hook(&output, self.server.name);
        let line = format!("{}: Stop: {}", self.step, brief(&answer.text));
        self.score.journal.push(line);
        self.note(&answer);
        self.judge_late(&answer, true);
        self.judge_errors(&answer);
        for path in dependents {
            self.score.dependents.expected += 1;
            let is_told = answer.errors.iter().any(|told| told.path == *path);
            if is_told {
                self.score.dependents.at_last += 1;
            } else if answer.is_cut {
                self.score.dependents.expected -= 1;
            } else {
                let line = format!("step {}: {path}", self.step);
                self.score.dependents.missed.push(line);
            }
        }
        let all: Vec<&String> = changed.iter().chain(dependents).collect();
        let is_wrong = |path: &&&String| truth.of(path).next().is_some();
        if answer.is_complete
            && let Some(path) = all.iter().find(is_wrong)
        {
            self.complain_clean(&format!("{path} at the Stop: {}", answer.text));
        }
    }

    fn check(&mut self, truth: &Truth, changed: Vec<String>) {
        let mut paths: BTreeSet<String> = changed.into_iter().collect();
        paths.extend(self.ever_wrong.iter().cloned());
        paths.retain(|path| self.board.texts.contains_key(path));
        if paths.is_empty() {
            return;
        }
        let arguments: Vec<&str> =
            ["check", "--json"].into_iter().chain(paths.iter().map(String::as_str)).collect();
        let answer = Answer::of_check(&self.stage.run(&arguments), self.server.name);
        self.note(&answer);
        self.judge_errors(&answer);
        let is_measured = answer.gaps.is_empty();
        for path in paths.iter().filter(|_| is_measured) {
            for (line, code) in truth.of(path) {
                if !answer.names(path, line) {
                    self.complain_clean(&format!("check lacks {path}:{} {code}", line + 1));
                }
            }
        }
        self.settle(truth, &answer);
    }

    /// The check is the last occasion for an error to be found.
    fn settle(&mut self, truth: &Truth, answer: &Answer) {
        for untold in std::mem::take(&mut self.untold) {
            let line = self.line_of(&untold.path, untold.number);
            let is_true = line.is_some_and(|line| truth.has(&untold.path, line, ""));
            let is_told = line.is_some_and(|line| answer.names(&untold.path, line));
            let step = self.step;
            let found = self.found(untold.is_command);
            if is_told {
                found.at_last += 1;
            } else if is_true {
                found.missed.push(format!("step {step}: {untold:?}: {:?}", answer.gaps));
            } else {
                // Something else hides it, so nobody can find it.
                found.expected -= 1;
            }
        }
    }

    /// Everything as it was, by one command.
    fn go_back(&mut self) {
        let (gone, texts) = self.board.back();
        for path in gone {
            fs::remove_file(self.stage.path(&path)).expect("the stage is ours");
        }
        for (path, text) in texts {
            self.stage.write(&path, &text);
        }
        self.step += 1;
        let input = self.stage.commanded("git checkout .");
        let (output, _) = self.stage.hook("post-tool-use", &input);
        let answer = Answer::of_hook(&output, self.server.name);
        self.note(&answer);
        self.judge_late(&answer, false);
        self.judge_errors(&answer);
        self.judge_clean(&answer);
    }
}

/// Numbers of the errors that a change puts into its file.
fn introduced(change: &Change) -> Vec<usize> {
    let old: Vec<usize> = planted(&change.before).into_iter().map(|(number, _)| number).collect();
    let new = planted(&change.after).into_iter().map(|(number, _)| number);
    new.filter(|number| !old.contains(number)).collect()
}

/// Sets the modification time of a file back by an hour.
fn set_back(file: &Path) {
    let opened = fs::File::options().write(true).open(file).expect("the stage is ours");
    let hour = Duration::from_hours(1);
    opened.set_modified(SystemTime::now() - hour).expect("the stage is ours");
}

/// 0-based lines of the errors that were put into a text.
pub(crate) fn planted_lines(text: &str) -> Vec<u64> {
    planted(text).into_iter().map(|(_, line)| u64::from(line)).collect()
}

/// The text with an error of this number at the first place there is.
pub(crate) fn sample(server: &Server, text: &str, number: usize) -> String {
    let places = server.package.places(text);
    let at = places.first().expect("an edited file has a place for an error");
    server.package.plant(text, *at, number, number)
}

/// Enough of a text to know it by.
pub(crate) fn brief(text: &str) -> String {
    const CHARS: usize = 700;
    text.chars().take(CHARS).map(|it| if it == '\n' { '|' } else { it }).collect()
}
