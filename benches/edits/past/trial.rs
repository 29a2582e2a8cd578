//! One trial of a project with a past: honest edits in loops that must end, then breaking edits,
//! each in a loop that must be held. The program is used from outside only.

use std::collections::{BTreeMap, HashMap};

use moai_base::hash::ContentHash;

use super::called::{CalledAge, CalledFinding, HookWords};
use super::drawing::{DrawnEdit, EditDrawing};
use super::problems::{Attribution, CodeProblem, LineShift, ProblemSet};
use super::projects::PastProject;
use super::tally::EditTally;
use crate::play::servers::Server;
use crate::play::stage::Stage;
use crate::play::{brief, sources};
use crate::support::{SESSION, Sandbox};

/// Honest edits of one loop.
const LOOP_EDITS: usize = 5;
/// Stops until a loop of honest edits has ended: a server that loads or restarts may need one more.
const STOPS_MAX: usize = 3;
/// Draws of a breaking edit until the batch tool finds an error that was not there.
const DRAWS_MAX: usize = 12;

/// Number of edits of each kind, and the seed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrialPlan {
    pub(crate) honest: usize,
    pub(crate) breaking: usize,
    pub(crate) seed: u64,
}

/// The batch tool in a copy of the project: it may be asked about any texts without a change that
/// the program could notice.
struct BatchMirror<'s> {
    copy: Stage<'s>,
    server: &'static Server,
    project: &'static PastProject,
    /// The texts of the copy.
    texts: BTreeMap<String, String>,
    known: HashMap<ContentHash, ProblemSet>,
}

impl<'s> BatchMirror<'s> {
    fn new(sandbox: &'s Sandbox, server: &'static Server, project: &'static PastProject) -> Self {
        let copy = Stage::new(sandbox, &format!("{}-batch", project.name));
        (project.lay)(&copy);
        let texts = sources(&copy, project.folders, project.endings);
        Self { copy, server, project, texts, known: HashMap::new() }
    }

    /// Findings of the batch tool in a project with these texts.
    fn problems(&mut self, texts: &BTreeMap<String, String>) -> ProblemSet {
        let key = ContentHash::of_bytes(format!("{texts:?}").as_bytes());
        if let Some(problems) = self.known.get(&key) {
            return problems.clone();
        }
        for (path, text) in texts.iter().filter(|(path, text)| self.texts.get(*path) != Some(text))
        {
            self.copy.write(path, text);
        }
        self.texts = texts.clone();
        let problems = (self.project.problems)(&self.copy, self.server);
        self.known.insert(key, problems.clone());
        problems
    }
}

/// A running trial.
struct PastTrial<'s> {
    stage: &'s Stage<'s>,
    server: &'static Server,
    texts: BTreeMap<String, String>,
    drawing: EditDrawing,
    batch: BatchMirror<'s>,
    tally: EditTally,
}

/// Runs a trial on an empty stage.
pub(crate) fn run_trial(
    stage: &Stage<'_>,
    server: &'static Server,
    project: &'static PastProject,
    plan: TrialPlan,
) -> EditTally {
    (project.lay)(stage);
    stage.commit();
    let mut trial = PastTrial {
        stage,
        server,
        texts: sources(stage, project.folders, project.endings),
        drawing: EditDrawing::new(project, plan.seed),
        batch: BatchMirror::new(stage.sandbox, server, project),
        tally: EditTally::new(project.name),
    };
    let past = trial.batch.problems(&trial.texts);
    trial.tally.past_errors = past.iter().filter(|problem| problem.is_error).count();
    trial.tally.past_warnings = past.len() - trial.tally.past_errors;
    assert!(past.len() >= project.past_min, "{}: {} findings", project.name, past.len());
    trial.honest(plan.honest);
    for _ in 0..plan.breaking {
        trial.breaking();
    }
    trial.tally
}

impl PastTrial<'_> {
    fn start_loop(&mut self, task: &str) {
        self.stage.run(&["loop", "cancel", "--session", SESSION]);
        let start = ["loop", "start", "--session", SESSION, "--until", "diagnostics"];
        let arguments = [&start[..], &["--max-iterations", "9", "--prompt", task]].concat();
        let output = self.stage.run(&arguments);
        assert_eq!(output.code, 0, "{output:#?}");
    }

    fn honest(&mut self, edits: usize) {
        let past = self.batch.problems(&self.texts);
        for number in 0..edits {
            if number % LOOP_EDITS == 0 {
                self.start_loop("Document the helpers");
            }
            let edit = self.drawing.honest(&self.texts);
            let what = format!("{} in {}", edit.kind, edit.path);
            let words = self.write(&edit.path, &edit.before, &edit.after);
            self.tally.honest += 1;
            self.hear_of_past(&words, &what);
            if (number + 1) % LOOP_EDITS == 0 || number + 1 == edits {
                let now = self.batch.problems(&self.texts);
                assert_eq!(counts(&past), counts(&now), "the edits were honest");
                self.end_loop();
                self.stage.commit();
            }
        }
    }

    /// The Stop after honest edits, repeated as an agent would.
    fn end_loop(&mut self) {
        self.tally.loops += 1;
        for _ in 0..STOPS_MAX {
            let words = self.stop();
            self.hear_of_past(&words, "the Stop");
            if !words.is_held {
                let status = self.status();
                let line = format!("{status}: {}", brief(&words.message));
                self.tally.count_end(&status, line);
                return;
            }
            self.tally.held.push(brief(&words.told));
        }
        self.tally.other_ends.push(format!("held {STOPS_MAX} times"));
    }

    /// Everything that a text lists after honest edits belongs to the past.
    fn hear_of_past(&mut self, words: &HookWords, when: &str) {
        let mut truth = Attribution::default();
        // The batch tool takes its time, and most edits are answered with silence.
        if !words.findings(self.server.name).is_empty() {
            truth.older = self.batch.problems(&self.texts);
        }
        self.hear(words, &truth, when);
    }

    fn breaking(&mut self) {
        let before = self.batch.problems(&self.texts);
        for _ in 0..DRAWS_MAX {
            let edit = self.drawing.breaking(&self.texts);
            let mut texts = self.texts.clone();
            texts.insert(edit.path.clone(), edit.after.clone());
            let after = self.batch.problems(&texts);
            let shift = LineShift::between(&edit.path, &edit.before, &edit.after);
            let attribution = Attribution::compare(&before, &after, &shift);
            if attribution.introduced_errors() > 0 {
                self.break_and_stop(&edit, &attribution);
                return;
            }
        }
        panic!("{}: no edit of {DRAWS_MAX} breaks anything", self.tally.project);
    }

    fn break_and_stop(&mut self, edit: &DrawnEdit, attribution: &Attribution) {
        self.start_loop("Make the helpers better");
        let what = format!("{} in {}", edit.kind, edit.path);
        let words = self.write(&edit.path, &edit.before, &edit.after);
        self.tally.breaking += 1;
        let mut named = self.hear(&words, attribution, &what);
        let words = self.stop();
        named.append(&mut self.hear(&words, attribution, &what));
        if words.is_held {
            self.tally.breaking_held += 1;
        } else {
            let line = format!("{what}: {}: {}", self.status(), brief(&words.message));
            self.tally.let_go.push(line);
        }
        let own = attribution.introduced.iter().filter(|problem| problem.path == edit.path);
        let (own_named, missed): (Vec<_>, Vec<_>) = own.partition(|it| named.contains(it));
        self.tally.introduced += own_named.len() + missed.len();
        self.tally.missed.extend(missed.iter().map(|problem| format!("{what}: {problem:?}")));
        // A change of an export may break more files than a text has room for.
        if named.is_empty() {
            self.tally.unnamed.push(format!("{what}: {}", brief(&words.told)));
        } else {
            self.tally.breaking_named += 1;
        }
        self.stage.run(&["loop", "cancel", "--session", SESSION]);
        // Everything that the edit back lists was there before the breaking edit.
        let words = self.write(&edit.path, &edit.after, &edit.before);
        self.hear_of_past(&words, &format!("{what}, undone"));
    }

    /// Writes a file as the host's tool does, and tells the program.
    fn write(&mut self, path: &str, before: &str, after: &str) -> HookWords {
        self.stage.write(path, after);
        self.texts.insert(path.to_owned(), after.to_owned());
        let (output, elapsed) =
            self.stage.hook("post-tool-use", &self.stage.edited(path, before, after));
        self.tally.times.push(elapsed);
        HookWords::from_output(&output)
    }

    /// Compares a hook's answer with the batch tool; returns the introduced problems that it lists.
    fn hear(&mut self, words: &HookWords, truth: &Attribution, when: &str) -> ProblemSet {
        self.tally.bytes_told += words.told.len();
        self.tally.gaps += usize::from(words.has_gap());
        let mut named = ProblemSet::new();
        for found in words.findings(self.server.name) {
            if let Some(problem) = truth.introduced.iter().find(|problem| found.is(problem)) {
                named.insert(problem.clone());
                continue;
            }
            let is_older = truth.older.iter().any(|problem| found.is(problem));
            let line = format!("{when}: {}:{} {}", found.path, found.line + 1, found.code);
            match found.age {
                _ if !is_older && self.is_said_afresh(&found) => {}
                _ if !is_older => self.tally.unfounded.push(line),
                CalledAge::Introduced if words.is_held => self.tally.older_holding.push(line),
                CalledAge::Introduced => self.tally.older_called_new.push(line),
                CalledAge::Older => self.tally.older_named += 1,
            }
        }
        named
    }

    /// True if a newly started server finds it as well: it has its own codes and places.
    fn is_said_afresh(&self, found: &CalledFinding) -> bool {
        let Some(afresh) = self.server.afresh else { return false };
        let truth = afresh(self.stage, self.server, &found.path);
        truth.has(&found.path, found.line, &found.code)
    }

    fn stop(&self) -> HookWords {
        let (output, _) = self.stage.hook("stop", &self.stage.stopped());
        HookWords::from_output(&output)
    }

    fn status(&self) -> String {
        let output = self.stage.run(&["loop", "status", "--json"]);
        output.json()["status"].as_str().unwrap_or("no loop").to_owned()
    }
}

/// Number of findings of each kind in each file; lines move.
fn counts(problems: &ProblemSet) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for CodeProblem { path, code, .. } in problems {
        *counts.entry(format!("{path} {code}")).or_default() += 1;
    }
    counts
}
