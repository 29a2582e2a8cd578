//! How exactly a text matches a query: from 1.2 for a name in the same style down to 0.

use moai_base::limits::RANKED_TEXT_BYTES_MAX;

use crate::english::stem;
use crate::expression::{Expression, TokenPlaces};
use crate::hangul::{forms, short_noun};
use crate::query::{Query, QueryUnit, UnitKind};
use crate::runs::{Run, runs};
use crate::tokens::{IndexTokens, beginning};

/// A name, path or code as written in the query; neighbouring query words as one name.
const SAME_STYLE: f64 = 1.2;
/// A longer path that ends in the queried one.
const SAME_END: f64 = 1.1;
/// A word of its own, or a name in another style.
const STANDALONE: f64 = 1.0;
/// A single query word that the text writes as several.
const RESPACED: f64 = 0.9;
/// A queried name as a part of a longer name.
const PART_OF_NAME: f64 = 0.6;
/// A translation in the other language.
const TRANSLATED: f64 = 0.8;
/// A part of a longer Korean, Chinese or Japanese word, which is often a compound.
const PART_OF_COMPOUND: f64 = 0.8;
const BEGINNING: f64 = 0.5;
/// A word that is only a part of an identifier.
const PART_OF_IDENTIFIER: f64 = 0.3;

/// How exactly a text matches a query.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Exactness {
    /// Mean over the units of the query, each with its weight, times the square of the share of the
    /// units that the text has at all: half of the words exactly are worth less than all of them
    /// loosely.
    pub(crate) of_query: f64,
    /// Mean over the units that the text has.
    pub(crate) of_found: f64,
}

/// How exactly a text matches a query.
pub(crate) fn exactness(query: &Query, text: &str) -> Exactness {
    let runs = runs(beginning(text, RANKED_TEXT_BYTES_MAX));
    let mut tokens = IndexTokens::default();
    let mut inside_names = Vec::new();
    for run in &runs {
        tokens.push_run(run);
        inside_names.resize(tokens.words.len(), is_compound_name(run));
    }
    let places = TokenPlaces::with_names(&tokens, inside_names);
    let facts = TextFacts { places, names: written_names(&runs) };
    let (mut sum, mut found, mut weights) = (0.0, 0.0, 0.0);
    for unit in &query.units {
        let exactness = unit_exactness(unit, &facts);
        sum += unit.weight * exactness;
        found += if exactness > 0.0 { unit.weight } else { 0.0 };
        weights += unit.weight;
    }
    if found <= 0.0 {
        return Exactness::default();
    }
    let share = found / weights;
    Exactness { of_query: sum / weights * share * share, of_found: sum / found }
}

/// The contents of a text, in the forms that units are compared with.
struct TextFacts<'t> {
    places: TokenPlaces<'t>,
    /// Names and their segments as written.
    names: Vec<&'t str>,
}

fn is_compound_name(run: &Run) -> bool {
    matches!(run, Run::Name(name) if name.parts().nth(1).is_some())
}

fn written_names(runs: &[Run]) -> Vec<&str> {
    let mut names = Vec::new();
    for run in runs {
        if let Run::Name(name) = run {
            names.push(name.raw.as_str());
            names.extend(name.segments.iter().map(|segment| segment.raw.as_str()));
        }
    }
    names
}

fn unit_exactness(unit: &QueryUnit, facts: &TextFacts<'_>) -> f64 {
    let matches =
        |form: &Option<Expression>| form.as_ref().is_some_and(|it| it.matches(&facts.places));
    if unit.exact.matches(&facts.places) {
        let is_whole = matches(&unit.whole);
        return match unit.kind {
            UnitKind::Word | UnitKind::Number => word_exactness(&unit.text, is_whole, facts),
            UnitKind::Hangul if is_whole || has_korean_word(&unit.text, facts) => STANDALONE,
            UnitKind::Hangul => RESPACED,
            UnitKind::Ideographs => STANDALONE,
            UnitKind::Identifier | UnitKind::Path | UnitKind::Code => {
                name_exactness(&unit.text, is_whole, facts)
            }
        };
    }
    if unit.translated.as_ref().is_some_and(|it| it.matches_plain(&facts.places)) {
        TRANSLATED
    } else if matches(&unit.loose) {
        match unit.kind {
            UnitKind::Hangul | UnitKind::Ideographs => PART_OF_COMPOUND,
            _ => BEGINNING,
        }
    } else if matches(&unit.translated) {
        PART_OF_IDENTIFIER
    } else {
        0.0
    }
}

fn has_korean_word(word: &str, facts: &TextFacts<'_>) -> bool {
    forms(word).into_iter().chain(short_noun(word)).any(|form| facts.places.has_plain_word(form))
}

fn word_exactness(word: &str, is_whole: bool, facts: &TextFacts<'_>) -> f64 {
    let lower = word.to_lowercase();
    if is_whole || facts.names.contains(&word) && lower != word {
        SAME_STYLE
    } else if facts.places.has_plain_word(stem(&lower)) {
        STANDALONE
    } else {
        PART_OF_IDENTIFIER
    }
}

fn name_exactness(name: &str, is_whole: bool, facts: &TextFacts<'_>) -> f64 {
    let ends_so = |other: &&str| {
        other.strip_suffix(name).is_some_and(|before| before.ends_with(['/', '\\', '.', ':']))
    };
    if facts.names.contains(&name) {
        SAME_STYLE
    } else if facts.names.iter().any(ends_so) {
        SAME_END
    } else if is_whole {
        STANDALONE
    } else {
        PART_OF_NAME
    }
}
