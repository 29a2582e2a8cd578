//! How exactly a text says what was asked for: from 1.2 for a name in the same style down to 0.

use std::collections::HashSet;

use moai_base::limits::RANKED_TEXT_BYTES_MAX;

use crate::english::stem;
use crate::expression::{Expression, TokenPlaces};
use crate::hangul::{forms, short_noun};
use crate::query::{Query, QueryUnit, UnitKind};
use crate::runs::{Name, Run, runs};
use crate::tokens::{IndexTokens, beginning};

/// A name, path or code as it was written; words that were asked for side by side as one name.
const SAME_STYLE: f64 = 1.2;
/// A longer path that ends in the one that was asked for.
const SAME_END: f64 = 1.1;
/// A word of its own, or a name in another style.
const STANDALONE: f64 = 1.0;
/// A word that was asked for as one and is written as several.
const RESPACED: f64 = 0.9;
/// A part of a longer name, for a name.
const PART_OF_NAME: f64 = 0.6;
/// The other language.
const TRANSLATED: f64 = 0.7;
/// Inside a longer word, or the beginning of a name.
const INSIDE: f64 = 0.5;
/// A word that is only a part of an identifier.
const PART_OF_IDENTIFIER: f64 = 0.3;

/// Mean over the units of the query, each with its weight, times the share of the units that the
/// text has at all: half of the words exactly are worth less than all of them loosely.
pub(crate) fn exactness(query: &Query, text: &str) -> f64 {
    let runs = runs(beginning(text, RANKED_TEXT_BYTES_MAX));
    let tokens = IndexTokens::of_runs(&runs);
    let facts = TextFacts::new(&runs, &tokens);
    let (mut sum, mut covered, mut weights) = (0.0, 0.0, 0.0);
    for unit in &query.units {
        let exactness = unit_exactness(unit, &facts);
        sum += unit.weight * exactness;
        covered += if exactness > 0.0 { unit.weight } else { 0.0 };
        weights += unit.weight;
    }
    if weights > 0.0 { sum / weights * (covered / weights) } else { 0.0 }
}

/// What a text says, in the forms that units are compared with.
struct TextFacts<'t> {
    places: TokenPlaces<'t>,
    /// Words of their own: stems of letters, all forms of Korean words.
    standalone: HashSet<&'t str>,
    /// Names and their segments as written.
    names: HashSet<&'t str>,
}

impl<'t> TextFacts<'t> {
    fn new(runs: &'t [Run], tokens: &'t IndexTokens) -> Self {
        let mut facts = Self {
            places: TokenPlaces::new(tokens),
            standalone: HashSet::new(),
            names: HashSet::new(),
        };
        for run in runs {
            match run {
                Run::Hangul { word, .. } => {
                    facts.standalone.extend(forms(word).into_iter().chain(short_noun(word)));
                }
                Run::Name(name) => facts.add_name(name),
                Run::Ideographs(_) => {}
            }
        }
        facts
    }

    fn add_name(&mut self, name: &'t Name) {
        if let [segment] = &name.segments[..]
            && let [part] = &segment.parts[..]
        {
            self.standalone.insert(stem(part));
        }
        self.names.insert(&name.raw);
        self.names.extend(name.segments.iter().map(|segment| segment.raw.as_str()));
    }
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
    if matches(&unit.translated) {
        TRANSLATED
    } else if matches(&unit.loose) {
        INSIDE
    } else {
        0.0
    }
}

fn has_korean_word(word: &str, facts: &TextFacts<'_>) -> bool {
    forms(word).into_iter().chain(short_noun(word)).any(|form| facts.standalone.contains(form))
}

fn word_exactness(word: &str, is_whole: bool, facts: &TextFacts<'_>) -> f64 {
    let lower = word.to_lowercase();
    if is_whole || facts.names.contains(word) && lower != word {
        SAME_STYLE
    } else if facts.standalone.contains(stem(&lower)) {
        STANDALONE
    } else {
        PART_OF_IDENTIFIER
    }
}

fn name_exactness(name: &str, is_whole: bool, facts: &TextFacts<'_>) -> f64 {
    let ends_so = |other: &&str| {
        other.strip_suffix(name).is_some_and(|before| before.ends_with(['/', '\\', '.', ':']))
    };
    if facts.names.contains(name) {
        SAME_STYLE
    } else if facts.names.iter().any(ends_so) {
        SAME_END
    } else if is_whole {
        STANDALONE
    } else {
        PART_OF_NAME
    }
}
