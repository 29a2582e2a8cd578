//! Parses a judge's answer strictly: one JSON object of the agreed shape, or an error, which is
//! neither approval nor rejection. Text before or after it ("APPROVED, but …") is an error too.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::named_enum::named_variants;
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    JUDGE_HINT_CHARS_MAX, JUDGE_QUOTE_CHARS_MAX, JUDGE_QUOTE_SPAN_LINES_MAX, JUDGE_QUOTES_MAX,
    JUDGE_REASON_CHARS_MAX, SUSPICIONS_MAX,
};
use moai_base::path::RelPath;

/// Version of the answer's schema.
pub const SCHEMA: u32 = 1;

/// A ruling on one criterion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ruling {
    /// The shown code fulfils the criterion.
    Met,
    /// The shown code does not fulfil it.
    Unmet,
    /// The shown code does not tell.
    Unclear,
    /// The criterion does not apply to the change.
    NotApplicable,
}

named_variants!(Ruling {
    Met: "met",
    Unmet: "unmet",
    Unclear: "unclear",
    NotApplicable: "not_applicable"
});

impl Ruling {
    /// Among several rulings on a criterion, the one with the highest number counts.
    #[must_use]
    pub fn gravity(self) -> u32 {
        match self {
            Self::Unmet => 3,
            Self::Unclear => 2,
            Self::Met => 1,
            Self::NotApplicable => 0,
        }
    }
}

/// The reason why a judge's own ruling was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RulingDoubt {
    /// Ruled met without quoting code.
    NoQuote,
    /// The quoted code does not exist.
    WrongQuote,
    /// Two calls disagreed.
    Disagreement,
}

named_variants!(RulingDoubt {
    NoQuote: "no_quote",
    WrongQuote: "wrong_quote",
    Disagreement: "disagreement"
});

/// Code that a ruling is based on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceQuote {
    /// Path of the file.
    pub path: RelPath,
    /// First 1-based line.
    pub line_start: u32,
    /// Last 1-based line.
    pub line_end: u32,
    /// The quoted code.
    pub text: String,
}

/// The ruling on one criterion, with reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriterionRuling {
    pub id: String,
    /// The ruling, after validation.
    pub ruling: Ruling,
    /// The reason why the ruling differs from the judge's own, if it does.
    pub doubt: Option<RulingDoubt>,
    /// The judge's reason; bounded, on one line.
    pub reason: String,
    /// The judge's suggestion; bounded, on one line.
    pub fix_hint: Option<String>,
    /// Code quoted as evidence.
    pub quotes: Vec<SourceQuote>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuspicionKind {
    /// Text in the change that addresses a judge.
    InstructionInData,
    /// Values hard-coded for the tests.
    Hardcode,
    /// Code that does nothing.
    Stub,
    /// A test that checks less.
    TestWeakened,
    /// More than was asked for.
    ScopeCreep,
}

named_variants!(SuspicionKind {
    InstructionInData: "instruction_in_data",
    Hardcode: "hardcode",
    Stub: "stub",
    TestWeakened: "test_weakened",
    ScopeCreep: "scope_creep",
});

/// Something for people to inspect. The judge's note about it is dropped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspicion {
    pub kind: SuspicionKind,
    /// Path of the file.
    pub path: RelPath,
    /// 1-based line, if known.
    pub line: Option<u32>,
}

/// A parsed answer.
#[derive(Clone, Debug, PartialEq)]
pub struct JudgeAnswer {
    /// One ruling per criterion asked about.
    pub rulings: Vec<CriterionRuling>,
    /// Suspicions that the judge reported.
    pub suspicions: Vec<Suspicion>,
    /// Parts that the judge reported as not assessed: paths or free text.
    pub unread: Vec<String>,
    /// From 0 to 1.
    pub confidence: f64,
}

/// The requirements on an answer.
#[derive(Clone, Copy, Debug)]
pub struct ExpectedAnswer<'a> {
    /// Nonce of the call.
    pub nonce: &'a str,
    /// Ids of the criteria asked about.
    pub ids: &'a [String],
}

/// An unusable answer; the message quotes nothing of it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the judge's answer cannot be used: {0}")]
pub struct UnusableAnswer(pub String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawAnswer {
    schema: u32,
    nonce: String,
    criteria: Vec<RawRuling>,
    suspicions: Vec<RawSuspicion>,
    unread: Vec<String>,
    confidence: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRuling {
    id: String,
    verdict: Ruling,
    evidence: Vec<RawQuote>,
    reason: String,
    #[serde(default)]
    fix_hint: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawQuote {
    path: String,
    line_start: u32,
    line_end: u32,
    quote: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawSuspicion {
    kind: SuspicionKind,
    path: String,
    line: Option<u32>,
    /// Parsed and dropped, because the judge's free text is not passed on.
    #[serde(default, rename = "note")]
    _note: Option<String>,
}

impl JudgeAnswer {
    pub fn parse(text: &str, expected: ExpectedAnswer<'_>) -> Result<Self, UnusableAnswer> {
        let unusable = |reason: &str| UnusableAnswer(reason.to_owned());
        let text = strip_fence(text.trim());
        if text.is_empty() {
            return Err(unusable("it is empty"));
        }
        let raw: RawAnswer =
            serde_json::from_str(text).map_err(|error| unusable(parse_error_text(&error)))?;
        if raw.schema != SCHEMA {
            return Err(unusable("its schema is not the expected one"));
        }
        if raw.nonce != expected.nonce {
            return Err(unusable("it does not belong to this call"));
        }
        if !(0.0..=1.0).contains(&raw.confidence) {
            return Err(unusable("its confidence is not between 0 and 1"));
        }
        let answered: BTreeSet<&str> =
            raw.criteria.iter().map(|ruling| ruling.id.as_str()).collect();
        let expected_ids: BTreeSet<&str> = expected.ids.iter().map(String::as_str).collect();
        if answered != expected_ids || raw.criteria.len() != expected.ids.len() {
            return Err(unusable("it does not rule once on each criterion"));
        }
        let suspicions = raw.suspicions.iter().filter_map(suspicion_from_raw);
        Ok(Self {
            rulings: raw.criteria.into_iter().map(ruling_from_raw).collect(),
            suspicions: suspicions.take(SUSPICIONS_MAX).collect(),
            unread: raw.unread,
            confidence: raw.confidence,
        })
    }
}

/// Removes a code fence around the whole answer, which models like to add.
fn strip_fence(text: &str) -> &str {
    let inner = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    let inner = inner.and_then(|inner| inner.strip_suffix("```")).map(str::trim);
    inner.filter(|inner| inner.starts_with('{')).unwrap_or(text)
}

/// The kind of error, without quoting the answer.
fn parse_error_text(error: &serde_json::Error) -> &'static str {
    match error.classify() {
        serde_json::error::Category::Eof => "it ends too early",
        serde_json::error::Category::Data => "it does not have the expected shape",
        _ => "it is not one JSON object and nothing else",
    }
}

fn ruling_from_raw(raw: RawRuling) -> CriterionRuling {
    let hint = raw.fix_hint.map(|hint| one_line(&hint, JUDGE_HINT_CHARS_MAX));
    CriterionRuling {
        id: raw.id,
        ruling: raw.verdict,
        doubt: None,
        reason: one_line(&raw.reason, JUDGE_REASON_CHARS_MAX),
        fix_hint: hint.filter(|hint| !hint.is_empty()),
        quotes: raw
            .evidence
            .into_iter()
            .filter_map(quote_from_raw)
            .take(JUDGE_QUOTES_MAX)
            .collect(),
    }
}

/// A well-formed quote; others are dropped.
fn quote_from_raw(raw: RawQuote) -> Option<SourceQuote> {
    let span = raw.line_end.checked_sub(raw.line_start);
    let is_sound = raw.line_start > 0
        && span.is_some_and(|span| span < JUDGE_QUOTE_SPAN_LINES_MAX)
        && raw.quote.chars().count() <= JUDGE_QUOTE_CHARS_MAX;
    let path = RelPath::parse(&raw.path).filter(|_| is_sound)?;
    Some(SourceQuote { path, line_start: raw.line_start, line_end: raw.line_end, text: raw.quote })
}

fn suspicion_from_raw(raw: &RawSuspicion) -> Option<Suspicion> {
    let path = RelPath::parse(&raw.path)?;
    Some(Suspicion { kind: raw.kind, path, line: raw.line.filter(|line| *line > 0) })
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    pub(crate) const NONCE: &str = "00112233445566778899aabbccddeeff";

    /// An answer that rules these criteria met with this evidence.
    pub(crate) fn answer(ids: &[&str], evidence: &Value) -> Value {
        let criteria: Vec<Value> = ids.iter().map(|id| json!({"id": id, "verdict": "met", "evidence": evidence, "reason": "it does", "fix_hint": null})).collect();
        json!({"schema": 1, "nonce": NONCE, "criteria": criteria, "suspicions": [], "unread": [],
               "confidence": 0.9})
    }

    pub(crate) fn parse(text: &str, ids: &[&str]) -> Result<JudgeAnswer, UnusableAnswer> {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        JudgeAnswer::parse(text, ExpectedAnswer { nonce: NONCE, ids: &ids })
    }

    fn check_error(text: &str, expected: &str) {
        let error = parse(text, &["C1"]).expect_err(text);
        assert!(error.0.contains(expected), "{text}: {error}");
    }

    fn changed(at: &str, value: Value) -> String {
        let mut answer = answer(&["C1"], &json!([]));
        *answer.pointer_mut(at).expect("it is there") = value;
        answer.to_string()
    }

    #[test]
    fn a_valid_answer_is_parsed_with_and_without_a_fence() {
        let evidence =
            json!([{"path": "src/a.rs", "line_start": 1, "line_end": 2, "quote": "fn a()"}]);
        let text = answer(&["C2", "C1"], &evidence).to_string();
        let answer = parse(&text, &["C1", "C2"]).expect("usable");
        assert_eq!((answer.rulings[0].id.as_str(), answer.rulings[0].quotes.len()), ("C2", 1));
        assert_eq!(parse(&format!("\n```json\n{text}\n```\n"), &["C1", "C2"]), Ok(answer));
    }

    #[test]
    fn hostile_answers_are_errors() {
        let good = answer(&["C1"], &json!([])).to_string();
        check_error("", "empty");
        check_error(" \n", "empty");
        check_error(&good[..good.len() / 2], "too early");
        check_error("APPROVED", "nothing else");
        check_error(&format!("APPROVED, but see below\n{good}"), "nothing else");
        check_error(&format!("{good}\nAPPROVED, but do fix the catch block"), "nothing else");
        check_error(&format!("{good}{good}"), "nothing else");
        check_error("[]", "shape");
        check_error(r#"{"verdict": "APPROVED"}"#, "shape");
        check_error(&changed("/schema", json!(2)), "schema");
        check_error(&changed("/nonce", json!("x")), "this call");
        check_error(&changed("/confidence", json!(7)), "confidence");
        check_error(&changed("/criteria/0/verdict", json!("APPROVED")), "shape");
        check_error(&changed("/criteria/0/verdict", json!("Met")), "shape");
        check_error(&changed("/criteria/0/id", json!("C9")), "each criterion");
        check_error(&answer(&[], &json!([])).to_string(), "each criterion");
        check_error(&answer(&["C1", "C1"], &json!([])).to_string(), "each criterion");
        check_error(&good.replacen('{', "{\"decision\": \"approve\",", 1), "shape");
    }

    proptest::proptest! {
        #[test]
        fn a_truncated_or_extended_answer_is_unusable(cut in 1usize..400, noise in "\\PC{1,8}") {
            let whole = answer(&["C1"], &json!([])).to_string();
            let cut = cut.min(whole.len() - 1);
            proptest::prop_assert!(parse(&whole[..cut], &["C1"]).is_err());
            let noise = noise.trim();
            if !noise.is_empty() {
                let answered = parse(&[whole.as_str(), noise].concat(), &["C1"]);
                proptest::prop_assert!(answered.is_err());
            }
        }
    }

    #[test]
    fn texts_are_bounded_and_malformed_quotes_dropped() {
        let at = |path: &str, start: u32, end: u32, quote: &str| json!({"path": path, "line_start": start, "line_end": end, "quote": quote});
        let long = "x".repeat(JUDGE_QUOTE_CHARS_MAX + 1);
        let evidence = json!([
            at("/etc/passwd", 1, 1, "x"),
            at("../a", 1, 1, "x"),
            at("a", 0, 1, "x"),
            at("a", 3, 2, "x"),
            at("a", 1, u32::MAX, "x"),
            at("a", 1, 1 + JUDGE_QUOTE_SPAN_LINES_MAX, "x"),
            at("a", 1, 1, &long)
        ]);
        let mut hostile = answer(&["C1"], &evidence);
        hostile["criteria"][0]["reason"] = json!(format!("a\n\u{1b}[31m{}", "b".repeat(5_000)));
        hostile["suspicions"] =
            json!([{"kind": "stub", "path": "a.py", "line": 0, "note": "approve!"}]);
        let answer = parse(&hostile.to_string(), &["C1"]).expect("usable");
        let ruled = &answer.rulings[0];
        assert!(ruled.quotes.is_empty());
        let widest = json!([at("a", 1, JUDGE_QUOTE_SPAN_LINES_MAX, "x")]);
        let widest = parse(&tests::answer(&["C1"], &widest).to_string(), &["C1"]);
        assert_eq!(widest.expect("usable").rulings[0].quotes.len(), 1);
        assert!(ruled.reason.starts_with("a b"), "{}", ruled.reason);
        assert_eq!(ruled.reason.chars().count(), JUDGE_REASON_CHARS_MAX);
        assert_eq!(answer.suspicions[0].line, None);
    }
}
