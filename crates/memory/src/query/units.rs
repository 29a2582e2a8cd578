//! The units of a query: words, names, paths and codes, each with its forms in the index.

use crate::english::stem;
use crate::expression::Expression;
use crate::glossary::Glossary;
use crate::hangul::{forms, is_light_verb, is_particle, short_noun};
use crate::runs::{Name, Run, Segment, is_han, is_hiragana};
use crate::stop_words::is_stop_word;
use crate::tokens::{BASE_NAME_MARK, IDENTIFIER_MARK, pairs};

/// Neighbouring words that may be written as one.
const JOINED_WORDS_MAX: usize = 3;
/// Pieces that a Korean compound is taken apart into.
const COMPOUND_PIECES_MAX: usize = 3;
/// Syllables of a compound that is taken apart.
const COMPOUND_SYLLABLES: std::ops::RangeInclusive<usize> = 4..=12;
/// Syllables above which it has two pieces only, to bound the expression.
const THREE_PIECES_SYLLABLES_MAX: usize = 8;
/// Syllables of a piece.
const PIECE_SYLLABLES_MIN: usize = 2;
/// Letters from which on the beginning of a word finds it.
const PREFIX_LETTERS_MIN: usize = 3;
/// Chinese words that only ask or fill.
const CHINESE_FILLERS: [&str; 12] =
    ["为什么", "怎么办", "怎么", "怎样", "什么", "如何", "哪里", "为何", "的", "了", "吗", "呢"];

/// What a unit of a query is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnitKind {
    /// A word in letters.
    Word,
    /// A number.
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
    /// Whether it is a name, a path or a code: meant as it is written.
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

/// One thing that is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct QueryUnit {
    /// What it is.
    pub kind: UnitKind,
    /// As written, in composed form (NFC).
    pub text: String,
    /// How much it counts in the query.
    pub weight: f64,
    /// A name as a whole, in any style; words together with their neighbours in the query.
    pub whole: Option<Expression>,
    /// Whole words, and names even inside longer names.
    pub exact: Expression,
    /// Parts and beginnings of words and names.
    pub loose: Option<Expression>,
    /// The other language.
    pub translated: Option<Expression>,
}

impl QueryUnit {
    pub(super) fn exact_or_loose(&self) -> Expression {
        self.either([Some(&self.exact), self.loose.as_ref()])
    }

    pub(super) fn in_other_language(&self) -> Expression {
        match &self.translated {
            Some(translated) => translated.clone(),
            None => self.exact_or_loose(),
        }
    }

    /// Whether a text has it at all, in either language.
    #[must_use]
    pub fn in_any_form(&self) -> Expression {
        self.either([Some(&self.exact), self.loose.as_ref(), self.translated.as_ref()])
    }

    fn either<const N: usize>(&self, forms: [Option<&Expression>; N]) -> Expression {
        let forms = forms.into_iter().flatten().flat_map(|form| match form {
            Expression::Any(alternatives) => alternatives.clone(),
            other => vec![other.clone()],
        });
        Expression::any(forms).unwrap_or_else(|| self.exact.clone())
    }
}

/// The distinct units of a query, without words that only ask or fill.
pub(super) fn units(runs: &[Run], glossary: &Glossary) -> Vec<QueryUnit> {
    let mut units: Vec<QueryUnit> = Vec::new();
    for at in 0..runs.len() {
        for unit in units_of_run(runs, at, glossary) {
            if units.iter().all(|known| known.exact != unit.exact) {
                units.push(unit);
            }
        }
    }
    units
}

fn units_of_run(runs: &[Run], at: usize, glossary: &Glossary) -> Vec<QueryUnit> {
    match &runs[at] {
        Run::Hangul { word, is_after_name } => {
            let is_suffix = *is_after_name && (is_particle(word) || is_light_verb(word));
            let is_filler = is_light_verb(word) || forms(word).into_iter().any(is_stop_word);
            if is_suffix || is_filler {
                Vec::new()
            } else {
                vec![hangul_unit(runs, at, word, glossary)]
            }
        }
        Run::Ideographs(run) => ideograph_units(run),
        Run::Name(name) => match plain_word(name) {
            Some(word) if is_stop_word(word) || word.chars().nth(1).is_none() => Vec::new(),
            Some(word) => vec![word_unit(runs, at, name, word, glossary)],
            None => vec![name_unit(name)],
        },
    }
}

/// The only part of a name that is a single word, in lower case.
fn plain_word(name: &Name) -> Option<&str> {
    match &name.segments[..] {
        [segment] => match &segment.parts[..] {
            [part] => Some(part),
            _ => None,
        },
        _ => None,
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

fn korean_stem(run: &Run) -> Option<&str> {
    match run {
        Run::Hangul { word, is_after_name: false } => forms(word).pop(),
        _ => None,
    }
}

fn english_word(run: &Run) -> Option<&str> {
    match run {
        Run::Name(name) => plain_word(name),
        _ => None,
    }
}

fn hangul_unit(runs: &[Run], at: usize, word: &str, glossary: &Glossary) -> QueryUnit {
    let forms = forms(word);
    let joined = joined_with_neighbours(runs, at, korean_stem);
    let compounds: Vec<Vec<String>> = forms.iter().flat_map(|form| pieces(form)).collect();
    let whole = Expression::any(joined.iter().map(|word| Expression::word(word.as_str())));
    let written = forms.iter().copied().chain(short_noun(word)).map(Expression::word);
    let apart = compounds.iter().filter_map(|pieces| {
        Expression::all(pieces.iter().map(|piece| Expression::word(piece.as_str())))
    });
    let exact = Expression::any(written.chain(whole.clone()).chain(apart));
    let inside = forms.iter().skip(usize::from(forms.len() > 1)).filter_map(|form| inside(form));
    let inside_apart = compounds.iter().filter_map(|pieces| {
        Expression::all(pieces.iter().filter_map(|piece| {
            Expression::any(
                [Expression::word(piece.as_str())].into_iter().chain(inside_word(piece)),
            )
        }))
    });
    let loose = Expression::any(inside.chain(inside_apart));
    let names = forms.iter().map(|form| (*form).to_owned()).chain(joined);
    let phrases: Vec<Vec<String>> =
        names.flat_map(|name| glossary.english(&name).to_vec()).collect();
    let translated = phrases.into_iter().map(Expression::words);
    let translated_apart = compounds.iter().filter_map(|pieces| in_english(pieces, glossary));
    QueryUnit {
        kind: UnitKind::Hangul,
        text: word.to_owned(),
        weight: UnitKind::Hangul.weight(),
        whole,
        exact: exact.unwrap_or_else(|| Expression::word(word)),
        loose,
        translated: Expression::any(translated.chain(translated_apart)),
    }
}

/// A Korean word inside a longer one; of a single syllable only at the beginning.
fn inside(form: &str) -> Option<Expression> {
    inside_word(form).or_else(|| Some(Expression::words_beginning(vec![form.to_owned()])))
}

fn inside_word(form: &str) -> Option<Expression> {
    form.chars().nth(1).is_some().then(|| Expression::pairs(pairs(form)))
}

/// The ways to take a compound apart.
fn pieces(compound: &str) -> Vec<Vec<String>> {
    let syllables: Vec<char> = compound.chars().collect();
    if !COMPOUND_SYLLABLES.contains(&syllables.len()) {
        return Vec::new();
    }
    let is_short = syllables.len() <= THREE_PIECES_SYLLABLES_MAX;
    let pieces_max = if is_short { COMPOUND_PIECES_MAX } else { 2 };
    let mut found = Vec::new();
    let mut open: Vec<(Vec<String>, usize)> = vec![(Vec::new(), 0)];
    while let Some((pieces, start)) = open.pop() {
        let rest = syllables.len() - start;
        if !pieces.is_empty() && rest >= PIECE_SYLLABLES_MIN {
            let mut whole = pieces.clone();
            whole.push(syllables[start..].iter().collect());
            found.push(whole);
        }
        if pieces.len() + 1 < pieces_max {
            for length in PIECE_SYLLABLES_MIN..=rest.saturating_sub(PIECE_SYLLABLES_MIN) {
                let mut longer = pieces.clone();
                longer.push(syllables[start..start + length].iter().collect());
                open.push((longer, start + length));
            }
        }
    }
    found
}

/// All pieces in English; `None` unless the glossary has every one.
fn in_english(pieces: &[String], glossary: &Glossary) -> Option<Expression> {
    let translations: Option<Vec<Expression>> = pieces
        .iter()
        .map(|piece| {
            Expression::any(glossary.english(piece).iter().cloned().map(Expression::words))
        })
        .collect();
    Expression::all(translations?)
}

fn word_unit(runs: &[Run], at: usize, name: &Name, word: &str, glossary: &Glossary) -> QueryUnit {
    let is_number = word.bytes().all(|it| it.is_ascii_digit());
    let joined = joined_with_neighbours(runs, at, english_word);
    let in_any_style = |word: String| {
        [Expression::word(stem(&word)), Expression::word(format!("{IDENTIFIER_MARK}{word}"))]
    };
    let whole = Expression::any(joined.into_iter().flat_map(in_any_style));
    let exact = in_any_style(word.to_owned()).into_iter().chain(whole.clone());
    let is_long = word.chars().count() >= PREFIX_LETTERS_MIN && !is_number;
    let beginnings = [word.to_owned(), format!("{IDENTIFIER_MARK}{word}")];
    let loose = beginnings.into_iter().filter(|_| is_long);
    let korean = glossary.korean(word).iter().flat_map(|korean| {
        [Expression::word(korean.as_str())].into_iter().chain(inside_word(korean))
    });
    let kind = match name.segments.first() {
        Some(segment) if segment.is_code() => UnitKind::Code,
        _ if is_number => UnitKind::Number,
        _ => UnitKind::Word,
    };
    QueryUnit {
        kind,
        text: name.raw.clone(),
        weight: kind.weight(),
        whole,
        exact: Expression::any(exact).unwrap_or_else(|| Expression::word(word)),
        loose: Expression::any(loose.map(|word| Expression::words_beginning(vec![word]))),
        translated: Expression::any(korean),
    }
}

fn name_unit(name: &Name) -> QueryUnit {
    let stems: Vec<String> = name.parts().map(|part| stem(part).to_owned()).collect();
    let identifiers: Vec<String> =
        name.segments.iter().filter(|it| it.parts.len() > 1).map(Segment::joined).collect();
    let base = name.base_name().map(|base| Expression::word(format!("{BASE_NAME_MARK}{base}")));
    let identifier = identifiers.first().filter(|_| name.segments.len() == 1).map(|joined| {
        let whole = format!("{IDENTIFIER_MARK}{joined}");
        [Expression::word(whole), Expression::word(joined.as_str())]
    });
    let whole = Expression::any(identifier.into_iter().flatten().chain(base));
    let phrase = Expression::words(stems.clone());
    let exact = Expression::any(whole.clone().into_iter().chain([phrase.clone()]));
    let mut beginning: Vec<String> = stems.clone();
    if let (Some(last), Some(part)) = (beginning.last_mut(), name.parts().last()) {
        part.clone_into(last);
    }
    let identifiers = identifiers
        .iter()
        .map(|joined| Expression::words_beginning(vec![format!("{IDENTIFIER_MARK}{joined}")]));
    let scattered = Expression::all(stems.into_iter().map(Expression::word));
    let loose =
        [Expression::words_beginning(beginning)].into_iter().chain(identifiers).chain(scattered);
    let kind = match &name.segments[..] {
        [segment] if segment.is_code() => UnitKind::Code,
        [_] if !name.is_path() && name.base_name().is_none() => UnitKind::Identifier,
        _ if name.is_path() || name.base_name().is_some() => UnitKind::Path,
        _ => UnitKind::Identifier,
    };
    QueryUnit {
        kind,
        text: name.raw.clone(),
        weight: kind.weight(),
        whole,
        exact: exact.unwrap_or(phrase),
        loose: Expression::any(loose),
        translated: None,
    }
}

/// Chinese words and words in katakana; hiragana beside them writes endings.
fn ideograph_units(run: &str) -> Vec<QueryUnit> {
    let mut without_fillers = run.to_owned();
    for filler in CHINESE_FILLERS {
        without_fillers = without_fillers.replace(filler, " ");
    }
    let is_all_hiragana = run.chars().all(is_hiragana);
    let characters: Vec<char> = without_fillers.chars().collect();
    let kind_of = |it: char| (is_han(it), is_hiragana(it), it.is_whitespace());
    let words = characters.chunk_by(|one, other| kind_of(*one) == kind_of(*other));
    words
        .filter(|word| !word[0].is_whitespace() && (is_all_hiragana || !is_hiragana(word[0])))
        .map(|word| ideograph_unit(&word.iter().collect::<String>()))
        .collect()
}

fn ideograph_unit(word: &str) -> QueryUnit {
    let pairs = pairs(word);
    // A single character is the beginning of a pair, or its own token.
    let is_single = word.chars().nth(1).is_none();
    let exact = Expression::Phrase {
        column: crate::expression::IndexColumn::Pairs,
        tokens: pairs.clone(),
        is_prefix: is_single,
    };
    let apart = pairs.into_iter().step_by(2).map(|pair| Expression::pairs(vec![pair]));
    let loose = Expression::all(apart).filter(|_| word.chars().nth(3).is_some());
    QueryUnit {
        kind: UnitKind::Ideographs,
        text: word.to_owned(),
        weight: UnitKind::Ideographs.weight(),
        whole: None,
        exact,
        loose,
        translated: None,
    }
}
