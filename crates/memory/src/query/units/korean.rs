//! Variants of a Korean word: with other particles, joined with its neighbours, split, or in
//! English.

use std::ops::RangeInclusive;

use super::{QueryUnit, UnitKind, joined_with_neighbours};
use crate::expression::Expression;
use crate::glossary::Glossary;
use crate::hangul::{forms, is_light_verb, is_mere_verb, is_particle, short_noun};
use crate::runs::Run;
use crate::stop_words::is_stop_word;
use crate::tokens::pairs;

/// Syllables of a compound that is split.
const COMPOUND_SYLLABLES: RangeInclusive<usize> = 3..=12;
/// Syllables of a piece; of a compound of three syllables, one piece has one.
const PIECE_SYLLABLES_MIN: usize = 2;
/// Syllables up to which a compound may have three pieces; a longer one has two, to bound the
/// expression.
const THREE_PIECES_SYLLABLES_MAX: usize = 8;

/// True if a word is only a particle, only a verb such as 했다, or a stop word.
pub(super) fn is_filler(word: &str, is_after_name: bool) -> bool {
    is_after_name && (is_particle(word) || is_light_verb(word))
        || is_mere_verb(word)
        || forms(word).into_iter().any(is_stop_word)
}

/// The unit of a word at its place in the query.
pub(super) fn unit(runs: &[Run], at: usize, word: &str, glossary: &Glossary) -> QueryUnit {
    let forms = forms(word);
    let mut joined = joined_with_neighbours(runs, at, stem_of_run);
    joined.extend(joined_with_neighbours(runs, at, short_stem_of_run));
    let whole = Expression::any(joined.iter().map(Expression::word));
    let mut exact: Vec<Expression> = forms.iter().map(Expression::word).collect();
    exact.extend(short_noun(word).map(Expression::word));
    exact.extend(whole.clone());
    let mut loose: Vec<Expression> = stems(&forms).iter().map(|form| inside(form)).collect();
    let names = forms.iter().copied().chain(short_noun(word));
    let names = names.chain(joined.iter().map(String::as_str));
    let mut translated: Vec<Expression> = names.filter_map(|it| in_english(it, glossary)).collect();
    for pieces in forms.iter().flat_map(|form| pieces(form)) {
        exact.extend(Expression::all(pieces.iter().map(Expression::word)));
        loose.extend(Expression::all(pieces.iter().map(|piece| anywhere(piece))));
        let english = pieces.iter().map(|piece| in_english(piece, glossary));
        translated.extend(english.collect::<Option<Vec<_>>>().and_then(Expression::all));
    }
    QueryUnit {
        kind: UnitKind::Hangul,
        text: word.to_owned(),
        weight: UnitKind::Hangul.weight(),
        whole,
        exact: Expression::any(exact).unwrap_or_else(|| Expression::word(word)),
        loose: Expression::any(loose),
        translated: Expression::any(translated),
    }
}

fn stem_of_run(run: &Run) -> Option<&str> {
    match run {
        Run::Hangul { word, is_after_name: false } => forms(word).pop(),
        _ => None,
    }
}

/// The one-syllable noun, if the word may be one with its particle.
fn short_stem_of_run(run: &Run) -> Option<&str> {
    match run {
        Run::Hangul { word, is_after_name: false } => short_noun(word).or_else(|| stem_of_run(run)),
        _ => None,
    }
}

/// The forms without the one with all particles, if there are others.
fn stems<'f, 'w>(forms: &'f [&'w str]) -> &'f [&'w str] {
    if forms.len() > 1 { &forms[1..] } else { forms }
}

/// A word inside a longer one; a word of one syllable at the beginning of a longer one.
fn inside(word: &str) -> Expression {
    if word.chars().nth(1).is_some() {
        Expression::pairs(pairs(word))
    } else {
        Expression::words_beginning(vec![word.to_owned()])
    }
}

/// A word by itself or inside a longer one.
pub(super) fn anywhere(word: &str) -> Expression {
    Expression::Any(vec![Expression::word(word), inside(word)])
}

fn in_english(word: &str, glossary: &Glossary) -> Option<Expression> {
    Expression::any(glossary.english(word).iter().cloned().map(Expression::words))
}

/// The ways to split a compound into two or three pieces.
fn pieces(compound: &str) -> Vec<Vec<&str>> {
    let syllables = compound.chars().count();
    if !COMPOUND_SYLLABLES.contains(&syllables) {
        return Vec::new();
    }
    let least = PIECE_SYLLABLES_MIN.min(syllables / 2);
    let mut found = Vec::new();
    for (first, rest) in in_two(compound, least) {
        found.push(vec![first, rest]);
        if syllables <= THREE_PIECES_SYLLABLES_MAX {
            let rest = in_two(rest, PIECE_SYLLABLES_MIN).into_iter();
            found.extend(rest.map(|(second, third)| vec![first, second, third]));
        }
    }
    found
}

/// The ways to split a word into two parts of at least `least` syllables.
fn in_two(word: &str, least: usize) -> Vec<(&str, &str)> {
    let places: Vec<usize> = word.char_indices().map(|(at, _)| at).collect();
    let cuts = places.iter().take((places.len() + 1).saturating_sub(least)).skip(least);
    cuts.map(|at| word.split_at(*at)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compounds_are_taken_apart() {
        assert_eq!(pieces("락세션"), [["락", "세션"], ["락세", "션"]]);
        assert_eq!(pieces("인증토큰"), [["인증", "토큰"]]);
        let found = pieces("사용자인증토큰");
        assert!(found.contains(&vec!["사용자", "인증", "토큰"]), "{found:?}");
        assert!(found.iter().flatten().all(|piece| piece.chars().count() >= 2), "{found:?}");
        assert!(pieces("토큰").is_empty() && pieces(&"가".repeat(13)).is_empty());
    }
}
