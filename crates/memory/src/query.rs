//! A query in natural language: its units, and the search stages from strict to loose.

mod units;

use moai_base::limits::{HITS_ASKED_FOR_MIN, QUERY_CHARS_MAX};

pub use self::units::{QueryUnit, UnitKind};
use crate::glossary::Glossary;
use crate::runs::runs;

/// Units of a query of which one may be missing in [`StageKind::AllButOne`].
const ALL_BUT_ONE_UNITS: std::ops::RangeInclusive<usize> = 3..=6;

/// Share of its weight that the most frequent unit keeps.
const FREQUENT_WEIGHT_SHARE: f64 = 0.2;

/// The search stages, the strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StageKind {
    /// Every unit, as a word of its own or as a whole name.
    Exact,
    /// Every unit, perhaps inside a longer word, or as the beginning of a name.
    Loose,
    /// Every unit, in the other language where the glossary has it.
    Translated,
    /// Every name, path and code; words may be missing.
    Named,
    /// All units but one.
    AllButOne,
    /// One unit or more.
    Any,
}

impl StageKind {
    /// Its name in explanations: `exact`, `loose`, `translated`, `named`,
    /// `all-but-one`, `any`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Loose => "loose",
            Self::Translated => "translated",
            Self::Named => "named",
            Self::AllButOne => "all-but-one",
            Self::Any => "any",
        }
    }
}

/// A parsed query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// The units to search for; empty if the text has only stop words.
    pub units: Vec<QueryUnit>,
    /// The stages that differ, the strictest first; empty only if there are no units.
    pub stages: Vec<StageKind>,
}

impl Query {
    /// Parses the beginning of a text, up to [`QUERY_CHARS_MAX`] characters and
    /// [`moai_base::limits::QUERY_UNITS_MAX`] units.
    #[must_use]
    pub fn parse(text: &str, glossary: &Glossary) -> Self {
        let beginning: String = text.chars().take(QUERY_CHARS_MAX).collect();
        let units = units::units(&runs(&beginning), glossary);
        let stages = stages(&units);
        Self { units, stages }
    }

    /// Adjusts the weights by the number of texts in the index with each unit in any form: rare
    /// units count more, and units without a text do not count.
    pub fn weigh(&mut self, texts: u64, texts_with_unit: &[u64]) {
        let most = rarity(texts, 1);
        for (unit, with_unit) in self.units.iter_mut().zip(texts_with_unit) {
            let share = if most > 0.0 { rarity(texts, *with_unit) / most } else { 1.0 };
            let share = FREQUENT_WEIGHT_SHARE + (1.0 - FREQUENT_WEIGHT_SHARE) * share;
            unit.weight = if *with_unit > 0 { unit.kind.weight() * share } else { 0.0 };
        }
    }

    /// True if all units are words of one language, so that the other language is searched too.
    #[must_use]
    pub fn is_in_one_language(&self) -> bool {
        let is_all = |kind| self.units.iter().all(|unit| unit.kind == kind);
        !self.units.is_empty() && (is_all(UnitKind::Hangul) || is_all(UnitKind::Word))
    }
}

/// Inverse document frequency of a unit.
#[expect(clippy::cast_precision_loss, reason = "an index has far fewer than 2^53 texts")]
fn rarity(texts: u64, with_unit: u64) -> f64 {
    (1.0 + texts as f64 / with_unit.max(1) as f64).ln()
}

fn stages(units: &[QueryUnit]) -> Vec<StageKind> {
    if units.is_empty() {
        return Vec::new();
    }
    let named = units.iter().filter(|unit| unit.kind.is_literal()).count();
    let stages = [
        (StageKind::Exact, true),
        (StageKind::Loose, true),
        (StageKind::Translated, units.iter().any(|unit| unit.translated.is_some())),
        (StageKind::Named, named > 0 && named < units.len()),
        (StageKind::AllButOne, ALL_BUT_ONE_UNITS.contains(&units.len())),
        (StageKind::Any, true),
    ];
    stages.into_iter().filter(|(_, is_asked)| *is_asked).map(|(stage, _)| stage).collect()
}

/// Row of the index that a stage found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageHit {
    pub id: i64,
    /// The strictest stage that found it.
    pub stage: StageKind,
    /// Number of rows before it in that stage.
    pub order: usize,
}

/// Runs one stage after another until there are enough hits. The caller queries the index.
#[derive(Clone, Debug)]
pub struct StagedSearch {
    stages: std::vec::IntoIter<StageKind>,
    is_in_one_language: bool,
    enough: usize,
    hits: Vec<StageHit>,
}

impl StagedSearch {
    /// Looser stages run while there are fewer than `enough` hits:
    /// [`moai_base::limits::HITS_ENOUGH_MIN`] for a prompt, [`HITS_ASKED_FOR_MIN`], which is also
    /// the maximum, for a user's search. For words of one language the other language is always
    /// searched, because its texts never match a stricter stage.
    #[must_use]
    pub fn new(query: &Query, enough: usize) -> Self {
        Self {
            stages: query.stages.clone().into_iter(),
            is_in_one_language: query.is_in_one_language(),
            enough: enough.min(HITS_ASKED_FOR_MIN),
            hits: Vec::new(),
        }
    }

    /// The next stage, until there is none or enough was found.
    pub fn next_stage(&mut self) -> Option<StageKind> {
        let is_thin = self.hits.len() < self.enough;
        let is_in_one_language = self.is_in_one_language;
        self.stages.find(|stage| is_thin || *stage == StageKind::Translated && is_in_one_language)
    }

    /// Adds the rows that a stage found, in the order of the index; known ones keep their stage.
    pub fn add(&mut self, stage: StageKind, rows: impl IntoIterator<Item = i64>) {
        for (order, id) in rows.into_iter().enumerate() {
            if self.hits.iter().all(|hit| hit.id != id) {
                self.hits.push(StageHit { id, stage, order });
            }
        }
    }

    /// All rows found, those of stricter stages first.
    #[must_use]
    pub fn into_hits(self) -> Vec<StageHit> {
        self.hits
    }
}

#[cfg(test)]
mod tests;
