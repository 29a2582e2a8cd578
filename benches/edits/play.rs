//! Random edits of real packages: compares the answers of the program's hooks, checks and Stops with
//! a batch tool's result for the same bytes.
//!
//! A play is a sequence of changes drawn from a seed. Each is followed by the hook that the host would
//! call. A Stop and a check follow every change of an export or of the configuration, every rename,
//! and every few steps.

pub(crate) mod answer;
mod c;
mod go;
mod java;
mod moves;
pub(crate) mod package;
mod php;
pub(crate) mod python;
pub(crate) mod rust;
pub(crate) mod score;
pub(crate) mod seeded_random;
pub(crate) mod servers;
pub(crate) mod stage;
mod truth;
pub(crate) mod typescript;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use moai_base::hash::ContentHash;
use serde_json::Value;

use answer::{Answer, ReportedError};
use moves::{Board, Change, Kind, Writer};
use package::{Outsider, planted};
use score::Score;
use servers::Server;
use stage::Stage;
use truth::Truth;

/// Steps between two checkpoints without another reason.
const CHECKPOINT: usize = 5;
/// A change during a check is written within this time after its start.
const DURING_CHECK: Duration = Duration::from_millis(600);

/// An inserted error that no answer has reported yet.
#[derive(Clone, Debug)]
struct UnreportedError {
    path: String,
    number: usize,
    is_command: bool,
}

/// A running play.
struct Play<'s> {
    stage: &'s Stage<'s>,
    server: &'static Server,
    board: Board,
    score: Score,
    unreported: Vec<UnreportedError>,
    /// Batch results by the bytes of all files.
    truths: HashMap<ContentHash, Truth>,
    /// Results of newly started servers, by the bytes of all files and by file.
    fresh_results: HashMap<(ContentHash, String), Truth>,
    start: Truth,
    /// Files that once had errors. Every check repeats them, because old errors must disappear.
    ever_wrong: BTreeSet<String>,
    step: usize,
}

/// Plays this number of steps with one server on a prepared stage.
pub(crate) fn play(stage: &Stage<'_>, server: &'static Server, steps: usize, seed: u64) -> Score {
    let texts = sources(stage, server.package.folders, server.package.endings);
    let configured: BTreeSet<_> = server.package.configurations.iter().map(|it| it.file).collect();
    let settings = configured.into_iter().map(|file| (file.to_owned(), stage.read(file)));
    let mut play = Play {
        stage,
        server,
        board: Board::new(server.package, texts, settings.collect(), seed),
        score: Score { steps, ..Score::default() },
        unreported: Vec::new(),
        truths: HashMap::new(),
        fresh_results: HashMap::new(),
        start: Truth::default(),
        ever_wrong: BTreeSet::new(),
        step: 0,
    };
    play.start = play.truth();
    play.warm_up();
    for step in 1..=steps {
        play.step = step;
        let mut change = play.board.draw();
        if stage.layout.has_checkout && step == steps.div_ceil(2) {
            change.writer = Writer::Checkout;
        }
        play.perform(&change);
        let affects_others = matches!(change.kind, Kind::Break | Kind::Rename | Kind::Configure);
        if affects_others || step % CHECKPOINT == 0 {
            play.checkpoint();
        }
    }
    play.checkpoint();
    play.go_back();
    play.checkpoint();
    if let Some(outsider) = &server.package.outsider {
        play.check_outsider(outsider);
    }
    play.score
}

/// The texts of all files below these folders with these endings, except for the filler.
pub(crate) fn sources(
    stage: &Stage<'_>,
    folders: &[&str],
    endings: &[&str],
) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    let mut folders: Vec<_> = folders.iter().map(|folder| stage.path(folder)).collect();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the project exists").flatten() {
            let path = entry.path();
            let name = path.to_string_lossy().into_owned();
            if path.is_dir() {
                folders.extend((!path.ends_with("filler")).then_some(path));
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                let relative = stage.relative(&name).expect("the file is in the project");
                texts.insert(relative.clone(), stage.read(&relative));
            }
        }
    }
    texts
}

impl Play<'_> {
    /// Waits for the server's first answer, which the play does not judge.
    fn warm_up(&mut self) {
        let first = self.server.package.edited[0];
        let output = self.stage.run(&["check", "--json", first]);
        let report = output.json();
        let mut sensors = report["sensors"].as_array().into_iter().flatten();
        let sensor = sensors.find(|it| it["name"] == self.server.name);
        let sensor = sensor.unwrap_or_else(|| panic!("no {}: {report:#}", self.server.name));
        self.score.version = sensor["version"].as_str().unwrap_or_default().to_owned();
        self.read_check(&output);
    }

    fn hook(&mut self, event: &str, input: &Value) -> (Answer, Duration) {
        let (output, elapsed) = self.stage.hook(event, input);
        let answer = Answer::of_hook(&output, self.server.name).in_project(self.stage);
        self.count(&answer);
        (answer, elapsed)
    }

    fn read_check(&mut self, output: &crate::support::Output) -> Answer {
        let answer = Answer::of_check(output, self.server.name).in_project(self.stage);
        self.count(&answer);
        answer
    }

    fn count(&mut self, answer: &Answer) {
        self.score.answers += usize::from(!answer.text.is_empty());
        self.score.count_gaps(&answer.gaps);
    }

    fn perform(&mut self, change: &Change) {
        let input = match change.writer {
            Writer::DuringCheck => return self.perform_during_check(change),
            Writer::Checkout => return self.perform_checkout(change),
            _ => self.write(change),
        };
        if change.writer == Writer::Unreported {
            self.record(change, &Answer::default());
            self.expect_later(change);
            return;
        }
        let (answer, elapsed) = self.hook("post-tool-use", &input);
        self.record(change, &answer);
        let is_whole = answer.gaps.is_empty();
        let is_timed = is_whole && change.writer == Writer::Tool && change.before != change.after;
        self.score.times.extend(is_timed.then_some(elapsed));
        self.judge_hook(change, &answer);
    }

    /// Writes the change; returns the hook input of its writer.
    fn write(&self, change: &Change) -> Value {
        let stage = self.stage;
        if let Some(from) = &change.from {
            fs::rename(stage.path(from), stage.path(&change.path)).expect("the stage is ours");
            return stage.commanded(&format!("git mv {from} {}", change.path));
        }
        stage.write(&change.path, &change.after);
        if change.writer == Writer::OlderCopy {
            set_back(&stage.path(&change.path));
        }
        if change.writer == Writer::Tool {
            return stage.edited(&change.path, &change.before, &change.after);
        }
        stage.commanded(&format!("sed -i -e '{}s/x/y/' {}", self.step, change.path))
    }

    /// Writes the change while a check runs. The check's answer may hold for the bytes before or after.
    fn perform_during_check(&mut self, change: &Change) {
        let before = (self.server.truth)(self.stage, self.server);
        let bytes_before = self.bytes();
        let mut paths: BTreeSet<String> = self.ever_wrong.clone();
        paths.extend(self.server.package.edited.iter().map(|path| (*path).to_owned()));
        paths.retain(|path| self.stage.path(path).exists() && Some(path) != change.from.as_ref());
        let delay = self.board.delay(DURING_CHECK);
        let output = self.stage.run_during(&check_arguments(&paths), || {
            std::thread::sleep(delay);
            self.write(change);
        });
        let answer = self.read_check(&output);
        self.record(change, &answer);
        let after = self.truth();
        for error in &answer.errors {
            let is_true = [&before, &after].iter().any(|truth| error.is_in(truth));
            let may_be_older = self.may_be_afresh_before(bytes_before, error);
            if !is_true && !may_be_older && !self.is_reported_afresh(error) {
                self.complain_stale(error, "during a change");
            }
        }
        for path in paths.iter().filter(|_| answer.gaps.is_empty()) {
            let has_all =
                |truth: &Truth| truth.errors_in(path).all(|(line, _)| answer.names(path, line));
            if !has_all(&before) && !has_all(&after) {
                self.complain_clean(&format!("{path} during a change: {}", answer.text));
            }
        }
        self.expect_later(change);
    }

    /// Writes the change and many other files, checks, and resets the other files.
    fn perform_checkout(&mut self, change: &Change) {
        self.server.package.write_filler(self.stage, self.step);
        let input = self.write(change);
        let (answer, _) = self.hook("post-tool-use", &input);
        self.record(change, &answer);
        self.judge_hook(change, &answer);
        let truth = self.truth();
        self.check(&truth, self.board.changed());
        self.server.package.write_filler(self.stage, 0);
    }

    fn record(&mut self, change: &Change, answer: &Answer) {
        let Change { kind, writer, path, .. } = change;
        let (step, marks) = (self.step, planted(&change.after));
        let line =
            format!("{step}: {kind:?} by {writer:?}: {path} {marks:?}: {}", brief(&answer.text));
        self.score.journal.push(line);
    }

    /// The batch tool's result for the present files.
    fn truth(&mut self) -> Truth {
        let key = self.bytes();
        if let Some(truth) = self.truths.get(&key) {
            return truth.clone();
        }
        let truth = (self.server.truth)(self.stage, self.server);
        self.truths.insert(key, truth.clone());
        truth
    }

    /// Identifies the bytes of all files.
    fn bytes(&self) -> ContentHash {
        let all = (&self.board.texts, &self.board.settings);
        ContentHash::of_bytes(format!("{all:?}").as_bytes())
    }

    /// True if a server that never saw an earlier text reports the error. A batch tool may stop before it
    /// reaches a true error.
    fn is_reported_afresh(&mut self, error: &ReportedError) -> bool {
        let Some(fresh_result) = self.server.afresh else { return false };
        if !self.board.texts.contains_key(&error.path) {
            return false;
        }
        let (stage, server) = (self.stage, self.server);
        let result = self.fresh_results.entry((self.bytes(), error.path.clone()));
        let result = result.or_insert_with(|| fresh_result(stage, server, &error.path));
        error.is_in(result)
    }

    /// True if a server that never saw an earlier text may have reported the error for these earlier bytes;
    /// unknown unless it was asked at that time.
    fn may_be_afresh_before(&self, bytes: ContentHash, error: &ReportedError) -> bool {
        let known = self.fresh_results.get(&(bytes, error.path.clone()));
        self.server.afresh.is_some() && known.is_none_or(|result| error.is_in(result))
    }

    /// The line of an inserted error, while it is there.
    fn line_of(&self, path: &str, number: usize) -> Option<u32> {
        let text = self.board.texts.get(path)?;
        planted(text).into_iter().find(|(it, _)| *it == number).map(|(_, line)| line)
    }

    /// True if git ignores the file, so that neither a Stop nor a hook without file names considers it.
    fn is_ignored(&self, path: &str) -> bool {
        self.stage.layout.ignores_exports && self.server.package.export_files().contains(&path)
    }

    fn judge_hook(&mut self, change: &Change, answer: &Answer) {
        self.judge_late(answer, false);
        let is_hidden = change.writer.is_hidden();
        for number in introduced(change) {
            if is_hidden && self.is_ignored(&change.path) {
                continue;
            }
            let line = self.line_of(&change.path, number);
            let is_reported = line.is_some_and(|line| answer.names(&change.path, line));
            let found = self.found(is_hidden);
            found.expected += 1;
            found.at_once += usize::from(is_reported);
            if is_reported {
                continue;
            }
            if answer.gaps.is_empty() && !is_hidden {
                let text = format!("{} with a new error: {}", change.path, answer.text);
                self.complain_clean(&text);
            }
            let path = change.path.clone();
            self.unreported.push(UnreportedError { path, number, is_command: is_hidden });
        }
        self.judge_errors(answer);
        self.judge_clean(answer);
    }

    /// Errors of a change without a hook: a later hook, the Stop or the check must find them.
    fn expect_later(&mut self, change: &Change) {
        if self.is_ignored(&change.path) {
            return;
        }
        for number in introduced(change) {
            self.score.by_command.expected += 1;
            let path = change.path.clone();
            self.unreported.push(UnreportedError { path, number, is_command: true });
        }
    }

    fn found(&mut self, is_command: bool) -> &mut score::Found {
        if is_command { &mut self.score.by_command } else { &mut self.score.by_tool }
    }

    /// Counts the errors of earlier steps that this answer reports. Fixed ones need no report.
    fn judge_late(&mut self, answer: &Answer, is_stop: bool) {
        for unreported in std::mem::take(&mut self.unreported) {
            let line = self.line_of(&unreported.path, unreported.number);
            let found = self.found(unreported.is_command);
            match line {
                None => found.expected -= 1,
                Some(line) if answer.names(&unreported.path, line) && is_stop => {
                    found.at_last += 1;
                }
                Some(line) if answer.names(&unreported.path, line) => found.later += 1,
                Some(_) => self.unreported.push(unreported),
            }
        }
    }

    /// Every reported error must be true.
    fn judge_errors(&mut self, answer: &Answer) {
        for error in &answer.errors {
            let text = self.board.texts.get(&error.path);
            let is_inserted =
                text.is_some_and(|it| planted(it).iter().any(|it| it.1 == error.line));
            let is_true = is_inserted || error.is_in(&self.truth());
            if !is_true && !self.is_reported_afresh(error) {
                self.complain_stale(error, &brief(&answer.text));
            }
        }
    }

    /// Every file that is called clean must be clean.
    fn judge_clean(&mut self, answer: &Answer) {
        for path in &answer.clean {
            if self.truth().errors_in(path).next().is_some() {
                self.complain_clean(&format!("{path}: {}", answer.text));
            }
        }
    }

    fn complain_stale(&mut self, error: &ReportedError, place: &str) {
        let line = format!("step {}: {error:?} in {place}", self.step);
        self.score.stale.push(line);
    }

    fn complain_clean(&mut self, text: &str) {
        let line = format!("step {}: {}", self.step, brief(text));
        self.score.false_clean.push(line);
    }

    /// Compares a Stop and a check with the batch tool.
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
        let mut dependents: Vec<String> = truth.worse_than(&self.start).into_iter().collect();
        dependents.retain(|path| {
            let text = self.board.texts.get(path);
            text.is_some_and(|text| planted(text).is_empty()) && !changed.contains(path)
        });
        if self.stage.layout.ignores_exports && self.board.has_broken_exports() {
            // A Stop searches for the dependents of the work, which does not include ignored files.
            dependents.clear();
        }
        self.stop(&truth, &changed, &dependents);
        self.check(&truth, changed);
    }

    /// The batch tool must find every inserted error, unless a renamed module hides it; otherwise the
    /// play itself is wrong.
    fn assert_sound(&self, truth: &Truth) {
        let has_old_name = |(from, _): &(&str, &str)| self.board.texts.contains_key(*from);
        if !self.server.package.moves.iter().all(has_old_name) {
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
        let (answer, _) = self.hook("stop", &self.stage.stopped());
        let line = format!("{}: Stop: {}", self.step, brief(&answer.text));
        self.score.journal.push(line);
        self.judge_late(&answer, true);
        self.judge_errors(&answer);
        for path in dependents {
            self.score.dependents.expected += 1;
            if answer.errors.iter().any(|error| error.path == *path) {
                self.score.dependents.at_last += 1;
            } else if answer.is_cut || answer.leaves_out_other_sources() {
                self.score.dependents.expected -= 1;
            } else {
                let line = format!("step {}: {path}", self.step);
                self.score.dependents.missed.push(line);
            }
        }
        let mut work = changed.iter().chain(dependents).filter(|path| !self.is_ignored(path));
        let wrong = work.find(|path| truth.errors_in(path).next().is_some());
        if let Some(path) = wrong.filter(|_| answer.is_complete) {
            self.complain_clean(&format!("{path} at the Stop: {}", answer.text));
        }
    }

    fn check(&mut self, truth: &Truth, changed: Vec<String>) {
        let mut paths: BTreeSet<String> = changed.into_iter().collect();
        paths.extend(self.ever_wrong.iter().cloned());
        paths.extend(truth.files().map(str::to_owned));
        paths.retain(|path| self.board.texts.contains_key(path));
        if paths.is_empty() {
            return;
        }
        let answer = self.read_check(&self.stage.run(&check_arguments(&paths)));
        self.judge_errors(&answer);
        for path in paths.iter().filter(|_| answer.gaps.is_empty()) {
            for (line, code) in truth.errors_in(path) {
                if !answer.names(path, line) {
                    self.complain_clean(&format!("check lacks {path}:{} {code}", line + 1));
                }
            }
        }
        self.settle(truth, &answer);
    }

    /// The check is the last occasion for an error to be found.
    fn settle(&mut self, truth: &Truth, answer: &Answer) {
        for unreported in std::mem::take(&mut self.unreported) {
            let line = self.line_of(&unreported.path, unreported.number);
            let is_true = line.is_some_and(|line| truth.has(&unreported.path, line, ""));
            let is_reported = line.is_some_and(|line| answer.names(&unreported.path, line));
            let step = self.step;
            let found = self.found(unreported.is_command);
            if is_reported {
                found.at_last += 1;
            } else if is_true {
                found.missed.push(format!("step {step}: {unreported:?}: {:?}", answer.gaps));
            } else {
                // Another error hides it from the batch tool as well.
                found.expected -= 1;
            }
        }
    }

    /// Resets all files by one command.
    fn go_back(&mut self) {
        let (removed, texts) = self.board.back();
        for path in removed {
            fs::remove_file(self.stage.path(&path)).expect("the stage is ours");
        }
        for (path, text) in texts {
            self.stage.write(&path, &text);
        }
        self.step += 1;
        let input = self.stage.commanded("git checkout .");
        let (answer, _) = self.hook("post-tool-use", &input);
        self.judge_late(&answer, false);
        self.judge_errors(&answer);
        self.judge_clean(&answer);
    }

    /// A file outside every project, with an error, is reported or not measured.
    fn check_outsider(&mut self, outsider: &Outsider) {
        self.stage.write(outsider.file, outsider.text);
        let output = self.stage.run(&["check", "--json", outsider.file]);
        let answer = self.read_check(&output);
        let is_switched_off = output.json()["files_switched_off"].is_array();
        if answer.errors.is_empty() && answer.gaps.is_empty() && !is_switched_off {
            self.complain_clean(&format!(
                "{} outside every project: {}",
                outsider.file, answer.text
            ));
        }
    }
}

/// The command line of a check of these files.
fn check_arguments(paths: &BTreeSet<String>) -> Vec<&str> {
    ["check", "--json"].into_iter().chain(paths.iter().map(String::as_str)).collect()
}

/// Numbers of the errors that a change inserts into its file.
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

/// 0-based lines of the errors that were inserted into a text.
pub(crate) fn planted_lines(text: &str) -> Vec<u64> {
    planted(text).into_iter().map(|(_, line)| u64::from(line)).collect()
}

/// The text with an error of this number at the first possible place.
pub(crate) fn sample(server: &Server, text: &str, number: usize) -> String {
    let places = server.package.places(text);
    let at = places.first().expect("an edited file has a place for an error");
    server.package.plant(text, *at, number, number)
}

/// The beginning of a text, on one line.
pub(crate) fn brief(text: &str) -> String {
    const CHARS: usize = 700;
    text.chars().take(CHARS).map(|it| if it == '\n' { '|' } else { it }).collect()
}
