//! The units of a query: words, names, paths and codes, each with its forms in the index.

mod ideographs;
mod korean;
mod names;

use moai_base::limits::QUERY_UNITS_MAX;

use crate::expression::Expression;
use crate::glossary::Glossary;
use crate::runs::Run;

/// Neighbouring words that may be written as one.
const JOINED_WORDS_MAX: usize = 3;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnitKind {
    /// A word in letters.
    Word,
    Number,
    /// A Korean word.
    Hangul,
    /// Chinese characters or kana.
    Ideographs,
    /// An identifier of several parts.
    Identifier,
    /// A path, or the name of a file.
    Path,
    /// An error code.
    Code,
}

impl UnitKind {
    /// True for names, paths and codes, which are meant literally.
    #[must_use]
    pub fn is_literal(self) -> bool {
        matches!(self, Self::Identifier | Self::Path | Self::Code)
    }

    /// How much a unit counts in a query: names and codes are meant literally, numbers often not.
    #[must_use]
    pub fn weight(self) -> f64 {
        match self {
            Self::Identifier | Self::Path | Self::Code => 3.0,
            Self::Word | Self::Hangul | Self::Ideographs => 1.0,
            Self::Number => 0.5,
        }
    }
}

/// One search term.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryUnit {
    pub kind: UnitKind,
    /// As written, in composed form (NFC).
    pub text: String,
    /// Weight in the query.
    pub weight: f64,
    /// A name as a whole, in any style; words together with their neighbours in the query.
    pub whole: Option<Expression>,
    /// Whole words, and names even inside longer names.
    pub exact: Expression,
    /// Parts and beginnings of words and names.
    pub loose: Option<Expression>,
    /// Translations into the other language.
    pub translated: Option<Expression>,
}

/// The distinct units of a query, without stop words; at most [`QUERY_UNITS_MAX`].
pub(super) fn units(runs: &[Run], glossary: &Glossary) -> Vec<QueryUnit> {
    let mut units: Vec<QueryUnit> = Vec::new();
    for at in 0..runs.len() {
        if units.len() == QUERY_UNITS_MAX {
            break;
        }
        for unit in units_of_run(runs, at, glossary) {
            let is_new = units.iter().all(|known| known.exact != unit.exact);
            if is_new && units.len() < QUERY_UNITS_MAX {
                units.push(unit);
            }
        }
    }
    units
}

fn units_of_run(runs: &[Run], at: usize, glossary: &Glossary) -> Vec<QueryUnit> {
    match &runs[at] {
        Run::Hangul { word, is_after_name } if korean::is_filler(word, *is_after_name) => {
            Vec::new()
        }
        Run::Hangul { word, .. } => vec![korean::unit(runs, at, word, glossary)],
        Run::Ideographs(run) => ideographs::units(run),
        Run::Name(name) => match names::plain_word(name) {
            Some(word) if names::is_filler(word) => Vec::new(),
            Some(word) => vec![names::word_unit(runs, at, &name.raw, word, glossary)],
            None => vec![names::name_unit(name)],
        },
    }
}

/// Runs of neighbouring words with the one at `at` among them, written as one; at least two words.
fn joined_with_neighbours(
    runs: &[Run],
    at: usize,
    word_of: fn(&Run) -> Option<&str>,
) -> Vec<String> {
    let mut joined = Vec::new();
    for length in 2..=JOINED_WORDS_MAX {
        for start in (at + 1).saturating_sub(length)..=at {
            let Some(window) = runs.get(start..start + length) else { continue };
            let words: Option<Vec<&str>> = window.iter().map(word_of).collect();
            joined.extend(words.map(|words| words.concat()));
        }
    }
    joined
}
