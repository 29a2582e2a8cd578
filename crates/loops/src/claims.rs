//! Compares the agent's claims about tests and errors with the measurements (G20). A claim is
//! contradicted only if both cannot be true: hedged, quoted and partial claims are ignored, as are
//! claims about something unmeasured.

use super::fences::FenceTracker;
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::finding::Severity;
use moai_base::foreign_text::one_line;
use moai_base::limits::{CLAIM_CHARS_MAX, CLAIM_SENTENCES_MAX};
use moai_base::redaction::redacted;

/// A sentence of the agent, and the measurement that it contradicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The agent's words.
    pub claim: String,
    /// The measurement as a lower-case fragment: `npm test failed (2 failed, 40 passed)`.
    pub measured: String,
}

/// Every sentence of a message that a measurement contradicts, in order.
#[must_use]
pub fn contradictions(message: &str, evidence: &Evidence) -> Vec<Contradiction> {
    let runs: Vec<FailedCheck> = evidence.readings.iter().filter_map(FailedCheck::failed).collect();
    let errors = evidence.count(Severity::Error);
    if runs.is_empty() && errors == 0 {
        return Vec::new();
    }
    let sentences = sentences(message);
    sentences
        .iter()
        .take(CLAIM_SENTENCES_MAX)
        .filter_map(|sentence| {
            let measured = contradicting_measurement(sentence, &runs, errors)?;
            Some(Contradiction { claim: one_line(&redacted(sentence), CLAIM_CHARS_MAX), measured })
        })
        .collect()
}

fn contradicting_measurement(
    sentence: &str,
    runs: &[FailedCheck],
    errors: usize,
) -> Option<String> {
    let lower = sentence.to_lowercase();
    let words = words(&lower);
    if is_hedged(&lower, &words) {
        return None;
    }
    let of_tests = || runs.iter().find(|run| run.is_tests);
    // One sentence may make several claims; an unmeasured one does not hide the others.
    let is_about_tests =
        claims_all(&lower, &words, &["tests", "specs"], TESTS_KO) || claims_no_failure(&words);
    if let Some(run) = of_tests().filter(|_| is_about_tests) {
        return Some(run.text.clone());
    }
    let is_about_checks = claims_all(&lower, &words, &["checks"], CHECKS_KO);
    if let Some(run) = runs.first().filter(|_| is_about_checks) {
        return Some(run.text.clone());
    }
    if claims_no_errors(&lower, &words) && errors > 0 {
        return Some(if errors == 1 { "1 error".to_owned() } else { format!("{errors} errors") });
    }
    let claimed = passed_count(&lower, &words).filter(|_| !is_about_tests && !is_about_checks)?;
    // A claim of fewer tests may be about a part of them; a claim of more is false.
    let run = runs.iter().find(|run| run.passed.is_some_and(|passed| claimed > passed))?;
    Some(run.text.clone())
}

struct FailedCheck {
    /// Its name, and the test counts if its output has them.
    text: String,
    /// True if it ran tests, and some of them failed.
    is_tests: bool,
    /// Passed tests, if exactly one line counts them.
    passed: Option<u64>,
}

impl FailedCheck {
    fn failed(reading: &SensorReading) -> Option<Self> {
        if reading.kind != SensorKind::Check || !reading.dirty {
            return None;
        }
        let counts = count_tests(reading.output.as_deref().unwrap_or_default());
        let has_failed = counts.iter().any(|(_, failed)| *failed > 0);
        let name = one_line(&reading.sensor, CLAIM_CHARS_MAX);
        let (text, passed) = match counts.as_slice() {
            [(passed, failed)] => {
                (format!("{name} failed ({failed} failed, {passed} passed)"), Some(*passed))
            }
            _ => (format!("{name} failed"), None),
        };
        let is_named = name.split(|character: char| !character.is_alphanumeric());
        let is_named = is_named.into_iter().any(|word| {
            ["test", "tests", "pytest", "jest", "vitest", "nextest", "spec"].contains(&word)
        });
        Some(Self { text, is_tests: has_failed || is_named, passed })
    }
}

/// Passed and failed tests of every line that counts either; lines about files and suites count
/// something else.
fn count_tests(output: &str) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for line in output.lines().map(str::to_lowercase) {
        if line.contains("suites") || line.contains("test files") {
            continue;
        }
        let words = words(&line);
        let number = |names: [&str; 2]| {
            let mut named = words.windows(2).filter(|pair| names.contains(&pair[1]));
            named.find_map(|pair| pair[0].parse::<u64>().ok())
        };
        match (number(["passed", "passing"]), number(["failed", "failing"])) {
            (None, None) => {}
            (passed, failed) => found.push((passed.unwrap_or(0), failed.unwrap_or(0))),
        }
    }
    found
}

/// The sentences outside of code, quotations and headings.
fn sentences(message: &str) -> Vec<&str> {
    let mut fences = FenceTracker::default();
    let mut found = Vec::new();
    for line in message.lines() {
        let text = line.trim();
        if !fences.is_code(line) && !text.starts_with(['>', '#', '|', '"', '“', '`']) {
            let ends =
                text.match_indices(['.', '!', '?', ';', '。']).map(|(at, end)| at + end.len());
            let mut start = 0;
            for end in ends.filter(|at| text[*at..].starts_with(' ')).chain([text.len()]) {
                found.push(text[start..end].trim());
                start = end;
            }
        }
    }
    found.retain(|sentence| !sentence.is_empty());
    found
}

fn words(lower: &str) -> Vec<&str> {
    let is_part = |character: char| character.is_alphanumeric() || "'’_-/".contains(character);
    lower.split(|character| !is_part(character)).filter(|word| !word.is_empty()).collect()
}

/// Words of an intention, a condition, a negation or a report about the past: such a sentence makes
/// no claim.
const HEDGES: &str = "\
    not cannot never without if when once until unless should would could will \
    must may might need needs ensure verify check expect want goal before \
    previously initially originally earlier locally hopefully except besides but \
    assuming so that claim claims said where whether to";
const HEDGES_KO: &str = "\
    않 못 아직 만약 제외 빼고 때까지 도록 려고 려면 해야 되면 하면 없으면 예정 겠 는지 라고 이전";

fn is_hedged(lower: &str, words: &[&str]) -> bool {
    let is_hedge = |word: &str| {
        let mut hedges = HEDGES.split_whitespace();
        word.ends_with("n't") || word.ends_with("n’t") || hedges.any(|hedge| hedge == word)
    };
    let is_quoted = lower.contains(['?', '"', '“', '`']);
    is_quoted
        || words.iter().any(|word| is_hedge(word))
        || HEDGES_KO.split_whitespace().any(|part| lower.contains(part))
}

const TESTS_KO: &[&str] = &[
    "모든 테스트",
    "전체 테스트",
    "테스트가 모두",
    "테스트 모두",
    "테스트가 전부",
    "테스트 전부",
    "테스트가 다 ",
];
const CHECKS_KO: &[&str] = &["모든 검사", "모든 체크", "검사가 모두", "체크가 모두"];
/// Continuations of a Korean sentence that states that something passes.
const PASSES_KO: &[&str] = &[
    "",
    ".",
    "!",
    "합니다",
    "했",
    "함",
    "됨",
    "됐",
    "되었",
    "됩니다",
    "한다",
    "하고 있",
    "한 상태",
    "하였",
];
/// Words that may separate the parts of a claim without limiting it.
const FILLERS: &[&str] = &[
    "the",
    "of",
    "our",
    "existing",
    "project",
    "project's",
    "are",
    "is",
    "now",
    "have",
    "has",
    "still",
    "also",
    "currently",
    "again",
    "successfully",
    "been",
];
/// Words after a claim that limit it to a part.
const NARROWING: &[&str] =
    &["in", "for", "of", "on", "under", "within", "with", "from", "related", "about", "after"];

/// `all (the) tests (now) pass`, or the same in Korean.
fn claims_all(lower: &str, words: &[&str], nouns: &[&str], korean: &[&str]) -> bool {
    let passes = |word: &str| {
        ["pass", "passes", "passed", "passing", "green", "succeed", "succeeded"].contains(&word)
    };
    let english = words.iter().enumerate().filter(|(_, word)| **word == "all").any(|(at, _)| {
        let mut rest = words[at + 1..].iter().skip_while(|word| {
            FILLERS.contains(word) || word.chars().all(|character| character.is_ascii_digit())
        });
        rest.next().is_some_and(|word| nouns.contains(word)) && {
            let mut rest = rest.skip_while(|word| FILLERS.contains(word));
            rest.next().is_some_and(|word| passes(word))
                && rest.next().is_none_or(|word| !NARROWING.contains(word))
        }
    });
    english
        || korean.iter().any(|start| {
            let after = lower.split_once(start).and_then(|(_, rest)| rest.split_once("통과"));
            after.is_some_and(|(between, end)| between.chars().count() <= 8 && states_success(end))
        })
}

fn states_success(end: &str) -> bool {
    PASSES_KO
        .iter()
        .any(|form| if form.is_empty() { end.is_empty() } else { end.starts_with(form) })
}

/// `0 failed`, `no failures`, `no failing tests`.
fn claims_no_failure(words: &[&str]) -> bool {
    let is_none = |word: &str| ["0", "no", "zero"].contains(&word);
    words.windows(2).enumerate().any(|(at, pair)| {
        let next = words.get(at + 2);
        let is_failure = match pair[1] {
            "failures" | "failed" => next.is_none_or(|word| !NARROWING.contains(word)),
            "failing" => next.is_none_or(|word| *word == "tests"),
            _ => false,
        };
        is_none(pair[0]) && is_failure
    })
}

/// `no (more) errors`, `0 errors`, or the same in Korean.
fn claims_no_errors(lower: &str, words: &[&str]) -> bool {
    let fillers = ["more", "remaining", "further", "known", "outstanding"];
    let english = words.iter().enumerate().any(|(at, word)| {
        let mut rest = words[at + 1..].iter().skip_while(|word| fillers.contains(word));
        ["0", "no", "zero"].contains(word)
            && rest.next() == Some(&"errors")
            && rest.next().is_none_or(|word| ["remain", "left", "now"].contains(word))
    });
    let korean = ["오류가 없", "오류는 없", "에러가 없", "에러는 없", "오류 없", "에러 없"];
    let before = ["", "이제", "더 이상", "이제 더 이상", "현재", "남은"];
    english
        || korean.iter().any(|phrase| {
            lower.split_once(phrase).is_some_and(|(start, end)| {
                before.contains(&start.trim())
                    && ["습니다", "음", "다.", "어요"].iter().any(|form| end.starts_with(form))
            })
        })
}

/// The number in `42 tests pass`, `42 passed`, `테스트 42개 통과`.
fn passed_count(lower: &str, words: &[&str]) -> Option<u64> {
    let english = words.iter().enumerate().find_map(|(at, word)| {
        let number = word.parse::<u64>().ok()?;
        let mut rest =
            words[at + 1..].iter().skip_while(|word| FILLERS.contains(word) || **word == "tests");
        let is_passed = ["pass", "passed", "passing"].contains(rest.next()?);
        is_passed.then_some(number)
    });
    english.or_else(|| {
        let (before, end) = lower.split_once("통과")?;
        let before = before.trim_end().trim_end_matches("모두").trim_end().trim_end_matches("가");
        let before = before.trim_end_matches("테스트").trim_end().strip_suffix('개')?;
        let digits = &before[before.trim_end_matches(|it: char| it.is_ascii_digit()).len()..];
        digits.parse().ok().filter(|_| lower.contains("테스트") && states_success(end))
    })
}

#[cfg(test)]
mod tests;
