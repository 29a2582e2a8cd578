//! Keywords of Gherkin, in English and Korean.

use super::StepKind;

/// A line that begins with a keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GherkinLine<'t> {
    /// A scenario or an outline, with its title.
    Scenario(&'t str),
    /// The steps that all scenarios begin with.
    Background,
    /// The table of an outline.
    Examples,
    /// A feature or a rule.
    Other,
    /// A step; `None` repeats the kind of the step before.
    Step(Option<StepKind>, &'t str),
}

const STEPS: [(Option<StepKind>, &[&str]); 4] = [
    (Some(StepKind::Given), &["Given", "조건", "먼저", "전제"]),
    (Some(StepKind::When), &["When", "만일", "만약"]),
    (Some(StepKind::Then), &["Then", "그러면"]),
    (None, &["And", "But", "그리고", "하지만"]),
];
const SCENARIO: [&str; 7] = [
    "Scenario Outline",
    "Scenario Template",
    "Scenario",
    "Example",
    "시나리오 개요",
    "시나리오",
    "예시",
];
const EXAMPLES: [&str; 4] = ["Examples", "Scenarios", "예", "예제"];
const BACKGROUND: [&str; 2] = ["Background", "배경"];
const OTHER: [&str; 4] = ["Feature", "Rule", "기능", "규칙"];

/// Reads a line without its list mark.
pub(super) fn gherkin_line(text: &str) -> Option<GherkinLine<'_>> {
    for (kind, words) in STEPS {
        if let Some(rest) = words.iter().find_map(|word| after_keyword(text, word)) {
            return Some(GherkinLine::Step(kind, rest));
        }
    }
    if let Some(title) = titled(text, &SCENARIO) {
        return Some(GherkinLine::Scenario(title));
    }
    if titled(text, &BACKGROUND).is_some() {
        return Some(GherkinLine::Background);
    }
    if titled(text, &EXAMPLES).is_some() {
        return Some(GherkinLine::Examples);
    }
    titled(text, &OTHER).map(|_| GherkinLine::Other)
}

/// The text after a step's keyword: `Given x`, `**Given** x`, `Given: x`.
fn after_keyword<'t>(text: &'t str, word: &str) -> Option<&'t str> {
    let bare = text.trim_start_matches(['*', '_']);
    let head = bare.get(..word.len())?;
    if !head.eq_ignore_ascii_case(word) {
        return None;
    }
    let rest = &bare[word.len()..];
    let is_word = rest.starts_with([' ', '\t', '*', '_', ':', '：', ',']);
    let rest = rest.trim_start_matches(['*', '_', ':', '：', ',', ' ', '\t']);
    (is_word && !rest.is_empty()).then(|| rest.trim_end_matches(['*', '_']).trim_end())
}

/// The title after a keyword, a number if any, and a colon: `Scenario 2: x`.
fn titled<'t>(text: &'t str, words: &[&str]) -> Option<&'t str> {
    let bare = text.trim_start_matches(['*', '_']);
    let rest = words.iter().find_map(|word| {
        let head = bare.get(..word.len())?;
        head.eq_ignore_ascii_case(word).then(|| &bare[word.len()..])
    })?;
    let (number, title) = rest.split_once([':', '：'])?;
    let is_number = number.trim().trim_matches(['*', '_']).chars().all(|it| it.is_ascii_digit());
    is_number.then(|| title.trim_matches(['*', '_', ' ', '\t']))
}
