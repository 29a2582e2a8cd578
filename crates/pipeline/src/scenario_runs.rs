//! Scenarios that an agent plays as a user: their frozen steps, the report of one run, and the
//! decision that enough runs passed. A run passes only if the engine's own runs of the commands
//! among its steps pass as well.

use serde::{Deserialize, Serialize};

use crate::document::first_code_span;
use crate::gate::GateStatus;
use crate::json_object::last_object_with;
use crate::plan::{AcceptanceKind, PlanDocument};
use crate::scenario::{AcceptanceDocument, ScenarioId};
use crate::worker_report::WorkerStatus;
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    FAULT_QUOTE_CHARS_MAX, PLAN_TEXT_CHARS_MAX, SCENARIO_PASS_PERCENT_MIN, SCENARIO_RUNS_MAX,
    SCENARIO_RUNS_MIN, SCENARIO_STEPS_MAX, WORKER_REPORT_BYTES_MAX,
};
use moai_loops::criteria::command_line::split_command_line;

/// A scenario of an `[S]` item of the approved plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenScenario {
    /// The scenario's id, or `TODO-1/AC-2` for an item without one.
    pub key: String,
    /// The TODO of the item.
    pub todo: String,
    /// Its title, on one line.
    pub title: String,
    /// Its steps; empty if `acceptance.md` does not have it.
    pub steps: Vec<FrozenStep>,
}

/// One step of a scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrozenStep {
    /// Keyword and text: `When the user runs …`.
    pub text: String,
    /// The command that the step runs; empty if it has none.
    pub argv: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioRun {
    /// The host's id of the agent that played it; each agent plays once.
    #[serde(default)]
    pub agent: String,
    /// Identifies the files of the work that it was made with; `None` without git.
    pub work: Option<String>,
    /// True if the agent reports that it passed and the engine's runs agree.
    pub has_passed: bool,
    /// Commands among its steps that the engine ran itself.
    pub commands_run: usize,
    /// The failure on one line; empty if it passed.
    pub failure: String,
}

/// The report of an agent that played a scenario once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioReport {
    /// Key of the scenario.
    pub scenario: String,
    /// The agent's claim.
    pub status: WorkerStatus,
    /// Its observations at each step.
    pub steps: Vec<ReportedStep>,
}

/// An agent's observation at one step.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct ReportedStep {
    /// Its result.
    pub status: WorkerStatus,
    /// The observation, on one line.
    #[serde(default)]
    pub observed: String,
}

/// Words that make a code span of a step a command.
const COMMAND_WORDS: [&str; 9] =
    ["run", "runs", "execute", "executes", "passes", "succeeds", "실행", "통과", "성공"];

/// The scenarios of a plan's `[S]` items, each once. `acceptance` is the text of `acceptance.md`.
#[must_use]
pub fn frozen_scenarios(plan: &PlanDocument, acceptance: Option<&str>) -> Vec<FrozenScenario> {
    let document = acceptance.map(AcceptanceDocument::parse).unwrap_or_default();
    let mut frozen: Vec<FrozenScenario> = Vec::new();
    for todo in &plan.todos {
        for item in todo.items_of(AcceptanceKind::Scenario) {
            let id = ScenarioId::leading(&item.text).map(|(id, _)| id);
            let scenario = id.as_ref().and_then(|id| document.scenario(id));
            let key = match &id {
                Some(id) => id.to_string(),
                None => format!("{}/{}", todo.id, item.id),
            };
            if frozen.iter().any(|known| known.key == key) {
                continue;
            }
            let steps = scenario.iter().flat_map(|scenario| &scenario.steps);
            let steps = steps.map(|step| FrozenStep {
                text: format!("{} {}", step.kind.as_str(), step.text),
                argv: command_of_step(&step.text),
            });
            frozen.push(FrozenScenario {
                key,
                todo: todo.id.to_string(),
                title: scenario.map_or_else(|| item.text.clone(), |found| found.title.clone()),
                steps: steps.collect(),
            });
        }
    }
    frozen
}

/// The command that a step runs; empty if its code span is not a command, or needs a shell.
fn command_of_step(text: &str) -> Vec<String> {
    let Some((command, after)) = first_code_span(text) else { return Vec::new() };
    let before = text.split('`').next().unwrap_or_default();
    let words = format!("{before} {after}").to_lowercase();
    let is_word = |word: &str| {
        COMMAND_WORDS
            .iter()
            .any(|known| word == *known || !known.is_ascii() && word.contains(known))
    };
    if words.split(|it: char| !it.is_alphanumeric()).any(is_word) {
        split_command_line(command).unwrap_or_default()
    } else {
        Vec::new()
    }
}

#[derive(Deserialize)]
struct RawScenarioReport {
    scenario: String,
    status: WorkerStatus,
    steps: Vec<ReportedStep>,
}

impl ScenarioReport {
    /// Parses the last message of an agent; the error is a fragment for it.
    pub fn parse(message: &str) -> Result<Self, String> {
        if message.len() > WORKER_REPORT_BYTES_MAX {
            return Err(format!(
                "the report is larger than {} KiB",
                WORKER_REPORT_BYTES_MAX / 1024
            ));
        }
        let object = last_object_with(message, "scenario");
        let object = object.ok_or("the last message has no JSON object with a scenario")?;
        let raw: RawScenarioReport = serde_path_to_error::deserialize(object)
            .map_err(|error| one_line(&error.to_string(), PLAN_TEXT_CHARS_MAX))?;
        let mut steps = raw.steps;
        steps.truncate(SCENARIO_STEPS_MAX);
        for step in &mut steps {
            step.observed = one_line(&step.observed, PLAN_TEXT_CHARS_MAX);
        }
        let scenario = one_line(raw.scenario.trim(), FAULT_QUOTE_CHARS_MAX);
        Ok(Self { scenario, status: raw.status, steps })
    }

    /// Faults that prevent the report from counting as a run of a scenario, as fragments.
    #[must_use]
    pub fn faults(&self, scenario: &FrozenScenario) -> Vec<String> {
        let mut faults = Vec::new();
        let (given, asked) = (self.steps.len(), scenario.steps.len());
        if given != asked && asked > 0 {
            faults
                .push(format!("steps has {given} entries, but {} has {asked} steps", scenario.key));
        }
        if given == 0 {
            faults.push("steps is empty".to_owned());
        }
        if let Some(at) = self.steps.iter().position(|step| step.observed.trim().is_empty()) {
            faults.push(format!("steps[{at}].observed says nothing"));
        }
        let failed = self.steps.iter().position(|step| step.status != WorkerStatus::Pass);
        match (self.status, failed) {
            (WorkerStatus::Pass, Some(at)) => {
                faults.push(format!("status is PASS, but steps[{at}] is not"));
            }
            (WorkerStatus::Fail | WorkerStatus::Partial, None) => {
                faults.push("status is not PASS, but every step is".to_owned());
            }
            _ => {}
        }
        faults
    }

    /// The failure according to the agent, on one line; empty if it passed.
    #[must_use]
    pub fn failure(&self) -> String {
        let failed = self.steps.iter().find(|step| step.status != WorkerStatus::Pass);
        failed.map(|step| step.observed.clone()).unwrap_or_default()
    }
}

/// The result of the runs of one scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScenarioVerdict {
    /// More runs are needed; the number of runs so far.
    Open(usize),
    /// Enough of them passed, and the engine ran their commands itself.
    Passed,
    /// Enough of them passed, but only by the agent's claim: no step has a command.
    Claimed,
    /// Too few of them can pass.
    Failed,
}

/// The verdict of the runs that were made with these source files.
#[must_use]
pub fn scenario_verdict(runs: &[ScenarioRun], work: Option<&str>) -> ScenarioVerdict {
    let runs: Vec<&ScenarioRun> = runs.iter().filter(|run| run.work.as_deref() == work).collect();
    let passed = runs.iter().filter(|run| run.has_passed).count();
    let suffices = |passed: usize, runs: usize| passed * 100 >= runs * SCENARIO_PASS_PERCENT_MIN;
    let may_grow = SCENARIO_RUNS_MAX.saturating_sub(runs.len());
    if !suffices(passed + may_grow, runs.len() + may_grow) {
        return ScenarioVerdict::Failed;
    }
    if runs.len() < SCENARIO_RUNS_MIN || !suffices(passed, runs.len()) {
        return ScenarioVerdict::Open(runs.len());
    }
    let is_measured = runs.iter().filter(|run| run.has_passed).all(|run| run.commands_run > 0);
    if is_measured { ScenarioVerdict::Passed } else { ScenarioVerdict::Claimed }
}

/// The gate for these verdicts; an agent's claim alone does not pass.
#[must_use]
pub fn gate_of_verdicts(verdicts: &[ScenarioVerdict]) -> GateStatus {
    let has = |is: fn(&ScenarioVerdict) -> bool| verdicts.iter().any(is);
    if verdicts.is_empty() {
        GateStatus::Absent
    } else if has(|it| *it == ScenarioVerdict::Failed) {
        GateStatus::Failed
    } else if has(|it| matches!(it, ScenarioVerdict::Open(_))) {
        GateStatus::Open
    } else if has(|it| *it == ScenarioVerdict::Claimed) {
        GateStatus::Degraded
    } else {
        GateStatus::Passed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &str = "\
### [ ] TODO 1: login
- [A] `check login`
- [S] SC-1: a user logs in
- [S] the page looks right

### [ ] TODO 2: again
- [A] `check again`
- [S] SC-1
- [S] SC-7: nobody wrote it
";
    const ACCEPTANCE: &str = "\
### SC-1: a user logs in
- Given a file `users.txt`
- When the user runs `./login ann`
- Then `grep -q ann out.txt` passes
- And the user runs `a | b`
";

    fn run(has_passed: bool, commands_run: usize) -> ScenarioRun {
        let (agent, failure) = (String::new(), String::new());
        ScenarioRun { agent, work: None, has_passed, commands_run, failure }
    }

    #[test]
    fn the_commands_of_steps_are_frozen_with_the_scenarios_of_a_plan() {
        let frozen = frozen_scenarios(&PlanDocument::parse(PLAN), Some(ACCEPTANCE));
        let keys: Vec<&str> = frozen.iter().map(|one| one.key.as_str()).collect();
        assert_eq!(keys, ["SC-1", "TODO-1/AC-3", "SC-7"]);
        let commands: Vec<String> = frozen[0].steps.iter().map(|it| it.argv.join(" ")).collect();
        assert_eq!(commands, ["", "./login ann", "grep -q ann out.txt", ""]);
        assert_eq!(frozen[0].steps[1].text, "When the user runs `./login ann`");
        assert!(frozen[1].steps.is_empty() && frozen[2].steps.is_empty());
    }

    #[test]
    fn three_to_five_runs_decide_and_four_of_five_must_pass() {
        let verdict = |passes: &[bool]| {
            let runs: Vec<ScenarioRun> = passes.iter().map(|passed| run(*passed, 1)).collect();
            scenario_verdict(&runs, None)
        };
        let (yes, no) = (true, false);
        assert_eq!(verdict(&[]), ScenarioVerdict::Open(0));
        assert_eq!(verdict(&[yes, yes]), ScenarioVerdict::Open(2));
        assert_eq!(verdict(&[yes, yes, yes]), ScenarioVerdict::Passed);
        assert_eq!(verdict(&[yes, no, yes]), ScenarioVerdict::Open(3), "67 % of three");
        assert_eq!(verdict(&[yes, no, yes, yes]), ScenarioVerdict::Open(4), "75 %");
        assert_eq!(verdict(&[yes, no, yes, yes, yes]), ScenarioVerdict::Passed, "80 %");
        assert_eq!(verdict(&[no, no]), ScenarioVerdict::Failed, "60 % at best");
    }

    #[test]
    fn runs_with_other_source_files_and_words_alone_do_not_count_as_passed() {
        use ScenarioVerdict::{Claimed, Failed, Open, Passed};
        let of = |work: &str| ScenarioRun { work: Some(work.to_owned()), ..run(true, 1) };
        let runs = [of("a"), of("a"), of("a"), of("b")];
        assert_eq!(scenario_verdict(&runs, Some("a")), Passed);
        assert_eq!(scenario_verdict(&runs, Some("b")), Open(1));
        let claimed = [run(true, 0), run(true, 0), run(true, 0)];
        assert_eq!(scenario_verdict(&claimed, None), Claimed);
        assert_eq!(gate_of_verdicts(&[]), GateStatus::Absent);
        assert_eq!(gate_of_verdicts(&[Passed, Passed]), GateStatus::Passed);
        assert_eq!(gate_of_verdicts(&[Passed, Claimed]), GateStatus::Degraded);
        assert_eq!(gate_of_verdicts(&[Claimed, Open(1)]), GateStatus::Open);
        assert_eq!(gate_of_verdicts(&[Open(1), Failed]), GateStatus::Failed);
    }

    #[test]
    fn a_report_must_say_what_was_observed_at_each_step() {
        let scenario = &frozen_scenarios(&PlanDocument::parse(PLAN), Some(ACCEPTANCE))[0];
        let faults = |report: &str| match ScenarioReport::parse(report) {
            Ok(report) => report.faults(scenario).join("; "),
            Err(reason) => reason,
        };
        let step = r#"{"status": "PASS", "observed": "seen"}"#;
        let steps = [step; 4].join(",");
        let good = format!(r#"Done. {{"scenario": "SC-1", "status": "PASS", "steps": [{steps}]}}"#);
        assert_eq!(faults(&good), "");
        assert!(faults("It works.").contains("no JSON object"));
        assert!(faults(r#"{"scenario": "SC-1"}"#).contains("status"));
        assert_eq!(
            faults(&format!(r#"{{"scenario": "SC-1", "status": "PASS", "steps": [{step}]}}"#)),
            "steps has 1 entries, but SC-1 has 4 steps"
        );
        let lie = good.replacen(step, r#"{"status": "FAIL", "observed": "x"}"#, 1);
        assert_eq!(faults(&lie), "status is PASS, but steps[0] is not");
        let mute = good.replacen("seen", " ", 1);
        assert_eq!(faults(&mute), "steps[0].observed says nothing");
    }
}
