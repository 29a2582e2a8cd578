//! `acceptance.md`: scenarios in Gherkin, in English or Korean, inside code blocks or as Markdown.

mod steps;

use self::steps::{GherkinLine, gherkin_line};
use crate::document::{
    DocumentFault, DocumentLine, FaultList, document_lines, is_placeholder, named_value,
    quoted_words,
};
use crate::spec::{RequirementId, requirement_ids};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    PLAN_TEXT_CHARS_MAX, PLAN_TITLE_CHARS_MAX, SCENARIO_STEPS_MAX, SPEC_SCENARIOS_MAX,
};
use moai_loops::named_variants;

/// A parsed `acceptance.md`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AcceptanceDocument {
    /// The scenarios in the order of the file.
    pub scenarios: Vec<Scenario>,
    /// The reasons why the document cannot be used, in the order of the lines.
    pub faults: Vec<DocumentFault>,
}

/// The actions of a user and their visible results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// Its id: `SC-1`.
    pub id: ScenarioId,
    /// 1-based line.
    pub line: usize,
    /// Its title, on one line.
    pub title: String,
    /// The requirements that it demonstrates.
    pub requirements: Vec<RequirementId>,
    /// Test files that play it, relative to the root.
    pub tests: Vec<String>,
    /// Its steps, with those of the background first.
    pub steps: Vec<ScenarioStep>,
    /// Rows of its table of examples as written.
    pub examples: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioStep {
    /// `And` and `But` repeat the kind of the step before.
    pub kind: StepKind,
    /// The text without the keyword, on one line.
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// The initial state.
    Given,
    /// The user's action.
    When,
    /// The visible result.
    Then,
}

named_variants!(StepKind { Given: "Given", When: "When", Then: "Then" });

/// The id of a scenario: `SC-1`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ScenarioId(String);

impl ScenarioId {
    /// The id as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The id at the start of a text, and the rest.
    pub(crate) fn leading(text: &str) -> Option<(Self, &str)> {
        let text = text.trim_start_matches(['*', '_', '`', '[', ' ']);
        let digits = text.strip_prefix("SC-").or_else(|| text.strip_prefix("sc-"))?;
        let rest = digits.trim_start_matches(|it: char| it.is_ascii_digit());
        let number = digits[..digits.len() - rest.len()].trim_start_matches('0');
        if number.is_empty() || rest.starts_with(|it: char| it.is_alphanumeric()) {
            return None;
        }
        let rest = rest.trim_start_matches(['*', '_', '`', ']', ':', '：', ' ', '-', '—', '.']);
        Some((Self(format!("SC-{number}")), rest))
    }
}

impl std::fmt::Display for ScenarioId {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl AcceptanceDocument {
    /// Parses an `acceptance.md`. Parsing never fails; unreadable parts become faults.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut faults = FaultList::default();
        let lines = document_lines(text, &mut faults);
        let mut reader = ScenarioReader { faults, ..ScenarioReader::default() };
        for line in &lines {
            reader.read_line(line);
        }
        reader.finish()
    }

    #[must_use]
    pub fn scenario(&self, id: &ScenarioId) -> Option<&Scenario> {
        self.scenarios.iter().find(|scenario| scenario.id == *id)
    }
}

/// The part that the next lines belong to.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ScenarioPart {
    #[default]
    Nothing,
    Background,
    Steps,
    Examples,
}

#[derive(Default)]
struct ScenarioReader {
    faults: FaultList,
    background: Vec<ScenarioStep>,
    scenarios: Vec<Scenario>,
    /// Tags of the next scenario.
    tags: Vec<RequirementId>,
    part: ScenarioPart,
    /// True if the last scenario was begun by a heading, so that a keyword may still follow.
    is_heading_open: bool,
    /// Kind of the last step.
    kind: Option<StepKind>,
}

impl ScenarioReader {
    fn read_line(&mut self, line: &DocumentLine<'_>) {
        if let Some((_, text)) = line.heading() {
            return self.read_heading(line, text);
        }
        let bare = line.text.trim();
        if bare.starts_with('@') {
            self.tags.extend(requirement_ids(bare));
            return;
        }
        if bare.starts_with('|') && self.part == ScenarioPart::Examples {
            if let Some(scenario) = self.scenarios.last_mut() {
                scenario.examples.push(one_line(bare, PLAN_TEXT_CHARS_MAX));
            }
            return;
        }
        let text = line.list_item().unwrap_or(bare);
        match gherkin_line(text) {
            Some(GherkinLine::Scenario(title)) => self.begin_scenario(line, title, false),
            Some(GherkinLine::Background) => self.begin_part(ScenarioPart::Background),
            Some(GherkinLine::Examples) => self.begin_part(ScenarioPart::Examples),
            Some(GherkinLine::Other) => self.part = ScenarioPart::Nothing,
            Some(GherkinLine::Step(kind, text)) => self.add_step(line, kind, text),
            None => self.read_field(text),
        }
    }

    fn read_heading(&mut self, line: &DocumentLine<'_>, text: &str) {
        if ScenarioId::leading(text).is_some() {
            return self.begin_scenario(line, text, true);
        }
        match gherkin_line(text) {
            Some(GherkinLine::Scenario(title)) => self.begin_scenario(line, title, true),
            Some(GherkinLine::Background) => self.begin_part(ScenarioPart::Background),
            Some(GherkinLine::Examples) => self.begin_part(ScenarioPart::Examples),
            // Steps may be headings below a scenario; others end it.
            Some(GherkinLine::Step(kind, text)) => self.add_step(line, kind, text),
            Some(GherkinLine::Other) | None => self.part = ScenarioPart::Nothing,
        }
    }

    fn begin_part(&mut self, part: ScenarioPart) {
        self.part = part;
        self.kind = None;
    }

    fn begin_scenario(&mut self, line: &DocumentLine<'_>, text: &str, is_heading: bool) {
        let (explicit, title) = match ScenarioId::leading(text) {
            Some((id, title)) => (Some(id), title),
            None => (None, text),
        };
        let requirements = std::mem::take(&mut self.tags);
        self.begin_part(ScenarioPart::Steps);
        // The keyword below a heading without steps belongs to the same scenario.
        if !is_heading
            && self.is_heading_open
            && let Some(scenario) = self.scenarios.last_mut()
            && explicit.as_ref().is_none_or(|id| *id == scenario.id)
        {
            self.is_heading_open = false;
            scenario.requirements.extend(requirements);
            return;
        }
        self.is_heading_open = is_heading;
        if self.scenarios.len() == SPEC_SCENARIOS_MAX {
            let reason = format!("the document has more than {SPEC_SCENARIOS_MAX} scenarios");
            self.faults.add(line.number, reason);
            self.part = ScenarioPart::Nothing;
            return;
        }
        let number = self.scenarios.len() + 1;
        let id = explicit.unwrap_or_else(|| ScenarioId(format!("SC-{number}")));
        let title = one_line(title, PLAN_TITLE_CHARS_MAX);
        if is_placeholder(&title) {
            self.faults.add(line.number, format!("the title of {id} is not filled in"));
        }
        if let Some(other) = self.scenarios.iter().find(|other| other.id == id) {
            self.faults.add(line.number, format!("{id} is also on line {}", other.line));
        }
        self.scenarios.push(Scenario {
            id,
            line: line.number,
            title,
            requirements,
            tests: Vec::new(),
            steps: self.background.clone(),
            examples: Vec::new(),
        });
    }

    fn add_step(&mut self, line: &DocumentLine<'_>, kind: Option<StepKind>, text: &str) {
        // `And` without a step before it describes the state before.
        let kind = kind.or(self.kind).unwrap_or(StepKind::Given);
        let text = one_line(text, PLAN_TEXT_CHARS_MAX);
        let steps = match (self.part, self.scenarios.last_mut()) {
            (ScenarioPart::Background, _) => &mut self.background,
            (ScenarioPart::Steps, Some(scenario)) => &mut scenario.steps,
            _ => return,
        };
        if is_placeholder(&text) {
            self.faults.add(line.number, "the step is not filled in");
        }
        if steps.len() == SCENARIO_STEPS_MAX {
            let reason = format!("the scenario has more than {SCENARIO_STEPS_MAX} steps");
            self.faults.add(line.number, reason);
        } else if steps.len() < SCENARIO_STEPS_MAX {
            steps.push(ScenarioStep { kind, text });
        }
        self.kind = Some(kind);
        self.is_heading_open = false;
    }

    fn read_field(&mut self, text: &str) {
        let Some((name, value)) = named_value(text) else { return };
        let Some(scenario) = self.scenarios.last_mut() else { return };
        match name.as_str() {
            "requirement" | "requirements" | "요구사항" | "요구 사항" => {
                scenario.requirements.extend(requirement_ids(value));
            }
            "test" | "tests" | "테스트" => {
                let paths = value.split([',', ' ']).map(|it| it.trim_matches(['`', '"', '\'']));
                scenario.tests.extend(paths.filter(|it| !it.is_empty()).map(str::to_owned));
            }
            _ => {}
        }
    }

    fn finish(mut self) -> AcceptanceDocument {
        for scenario in &self.scenarios {
            for kind in [StepKind::When, StepKind::Then] {
                if !scenario.steps.iter().any(|step| step.kind == kind) {
                    let name = quoted_words(&scenario.title);
                    let reason = format!("{} {name} has no step {}", scenario.id, kind.as_str());
                    self.faults.add(scenario.line, reason);
                }
            }
        }
        AcceptanceDocument { scenarios: self.scenarios, faults: self.faults.into_sorted() }
    }
}

#[cfg(test)]
mod tests;
