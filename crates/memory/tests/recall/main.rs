//! Measures recall: a corpus of synthetic observations in a real index, and questions of many kinds
//! with known answers.

#![expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    reason = "some thousand observations"
)]
#![expect(clippy::unnecessary_wraps, reason = "all kinds of questions have one signature")]

mod corpus;
mod index;
mod questions;
mod tally;
mod vocabulary;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Write as _;

use corpus::Corpus;
use index::MemoryIndex;
use questions::questions;
use tally::Tally;

const SEED: u64 = 20_261_124;
const OBSERVATIONS: usize = 3_000;
const QUESTIONS_PER_KIND: usize = 20;

#[test]
fn what_was_stored_is_found_again() {
    let corpus = Corpus::generate(SEED, OBSERVATIONS, 1);
    let index = MemoryIndex::of(&corpus);
    let mut by_kind: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut misses = String::new();
    for question in questions(&corpus, SEED, QUESTIONS_PER_KIND) {
        assert_eq!(question.project, 0, "there is one project");
        let found = index.search(&question.text);
        by_kind.entry(question.kind).or_default().add(&question, &found);
        if !question.answers.iter().all(|id| found.iter().take(10).any(|it| it == id)) {
            let lost = question.answers.iter().find(|id| !found.contains(id));
            let lost = lost.map(|id| corpus.observations[*id as usize].text.as_str());
            writeln!(misses, "{}: {} <- {lost:?}", question.kind, question.text).expect("text");
        }
    }
    let mut all = Tally::default();
    let mut table = format!("{:45} {:>4} {:5} {:5} {:5}\n", "kind", "n", "rec10", "MRR", "first");
    for (kind, of_kind) in &by_kind {
        table += &of_kind.row(kind);
        all.merge(of_kind);
    }
    table += &all.row("all");
    std::io::stdout().write_all(format!("{table}\n{misses}").as_bytes()).expect("stdout");
    assert!(by_kind.len() >= 20, "{} kinds", by_kind.len());
    assert!(all.recall() >= 0.95, "recall:\n{table}");
    assert!(all.mean_reciprocal_rank() >= 0.88, "mean reciprocal rank:\n{table}");
    for (kind, least) in [
        (questions::KOREAN_WITH_PARTICLES, 0.98),
        (questions::KOREAN_WITH_OTHER_PARTICLES, 0.98),
        (questions::OTHER_STYLE, 0.98),
    ] {
        assert!(by_kind[kind].recall() >= least, "{kind}:\n{table}");
    }
}

/// Expressions grow with units, forms and pieces; the index has limits of its own.
#[test]
fn the_longest_questions_are_answered() {
    let corpus = Corpus::generate(SEED, 50, 1);
    let index = MemoryIndex::of(&corpus);
    let compounds: Vec<String> = vocabulary::NOUNS
        .windows(3)
        .map(|nouns| nouns.iter().map(|noun| noun.korean).collect::<String>() + "에서까지는")
        .collect();
    for count in [3, 6, 7, 50] {
        let text = compounds[..count.min(compounds.len())].join(" ");
        assert!(!index.search(&text).is_empty(), "{count}");
    }
    let names = "src/auth/tokenStore/validate_token_expiry_guard.rs TS2345 ".repeat(100);
    index.search(&names);
    index.search(&"认证令牌过期支付会话缓存".repeat(80));
    index.search(&"\u{1f642}\u{202e}\u{fffd}\"*()^:-{}".repeat(100));
}
