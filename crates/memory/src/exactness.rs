//! How exactly a text says what was asked for: from 1.2 for a name in the same style down to 0.

use std::collections::HashSet;

use moai_base::limits::RANKED_TEXT_BYTES_MAX;

use crate::english::stem;
use crate::expression::TokenPlaces;
use crate::hangul::forms;
use crate::query::{Query, QueryUnit, UnitKind};
use crate::runs::{Name, Run, runs};
use crate::tokens::{IndexTokens, beginning};

/// A name, path or code as it was written.
const SAME_STYLE: f64 = 1.2;
/// A longer path that ends in the one that was asked for.
const SAME_END: f64 = 1.1;
/// A word of its own, or a name in another style.
const STANDALONE: f64 = 1.0;
/// Words that were asked for side by side, written as one, or the other way round.
const RESPACED: f64 = 0.9;
/// A part of a longer name, for a name.
const PART_OF_NAME: f64 = 0.6;
/// The other language.
const TRANSLATED: f64 = 0.6;
/// Inside a longer word, or the beginning of a name.
const INSIDE: f64 = 0.5;
/// A word that is only a part of an identifier.
const PART_OF_IDENTIFIER: f64 = 0.3;

/// Mean over the units of the query, each with its weight.
pub(crate) fn exactness(query: &Query, text: &str) -> f64 {
    let text = beginning(text, RANKED_TEXT_BYTES_MAX);
    let tokens = IndexTokens::of_text(text);
    let facts = TextFacts::new(text, &tokens);
    let weights: f64 = query.units.iter().map(|unit| unit.kind.weight()).sum();
    let sum: f64 =
        query.units.iter().map(|unit| unit.kind.weight() * unit_exactness(unit, &facts)).sum();
    if weights > 0.0 { sum / weights } else { 0.0 }
}

/// What a text says, in the forms that units are compared with.
struct TextFacts<'t> {
    places: TokenPlaces<'t>,
    /// Words of their own: stems of letters, all forms of Korean words.
    standalone: HashSet<String>,
    /// Names and their segments as written.
    names: HashSet<String>,
}

impl<'t> TextFacts<'t> {
    fn new(text: &str, tokens: &'t IndexTokens) -> Self {
        let mut facts = Self {
            places: TokenPlaces::new(tokens),
            standalone: HashSet::new(),
            names: HashSet::new(),
        };
        for run in runs(text) {
            match run {
                Run::Hangul { word, .. } => {
                    facts.standalone.extend(forms(&word).into_iter().map(str::to_owned));
                }
                Run::Name(name) => facts.add_name(name),
                Run::Ideographs(_) => {}
            }
        }
        facts
    }

    fn add_name(&mut self, name: Name) {
        if let [segment] = &name.segments[..]
            && let [part] = &segment.parts[..]
        {
            self.standalone.insert(stem(part).to_owned());
        }
        self.names.extend(name.segments.into_iter().map(|segment| segment.raw));
        self.names.insert(name.raw);
    }
}

fn unit_exactness(unit: &QueryUnit, facts: &TextFacts<'_>) -> f64 {
    let is_exact = unit.exact.matches(&facts.places);
    if is_exact {
        return match unit.kind {
            UnitKind::Word | UnitKind::Number => {
                let word = unit.text.to_lowercase();
                if facts.standalone.contains(stem(&word)) {
                    STANDALONE
                } else if facts.places.has_word(stem(&word)) {
                    PART_OF_IDENTIFIER
                } else {
                    RESPACED
                }
            }
            UnitKind::Hangul => {
                let is_standalone =
                    forms(&unit.text).into_iter().any(|form| facts.standalone.contains(form));
                if is_standalone { STANDALONE } else { RESPACED }
            }
            UnitKind::Ideographs => STANDALONE,
            UnitKind::Identifier | UnitKind::Path | UnitKind::Code => name_exactness(unit, facts),
        };
    }
    let matches = |form: &Option<_>| {
        form.as_ref()
            .is_some_and(|form: &crate::expression::Expression| form.matches(&facts.places))
    };
    if matches(&unit.translated) {
        TRANSLATED
    } else if matches(&unit.loose) {
        INSIDE
    } else {
        0.0
    }
}

fn name_exactness(unit: &QueryUnit, facts: &TextFacts<'_>) -> f64 {
    if facts.names.contains(&unit.text) {
        return SAME_STYLE;
    }
    let ends_so = |name: &String| {
        name.strip_suffix(&unit.text).is_some_and(|before| before.ends_with(['/', '\\', '.', ':']))
    };
    if facts.names.iter().any(ends_so) {
        return SAME_END;
    }
    if unit.whole.as_ref().is_some_and(|whole| whole.matches(&facts.places)) {
        STANDALONE
    } else {
        PART_OF_NAME
    }
}
