//! Words in letters, identifiers, paths and codes.

use super::{QueryUnit, UnitKind, joined_with_neighbours, korean};
use crate::english::stem;
use crate::expression::Expression;
use crate::glossary::Glossary;
use crate::runs::{Name, Run, Segment, is_code};
use crate::stop_words::is_stop_word;
use crate::tokens::{BASE_NAME_MARK, IDENTIFIER_MARK};

/// Minimum length of a prefix that finds a word.
const PREFIX_LETTERS_MIN: usize = 3;

/// The only part of a name that is a single word, in lower case.
pub(super) fn plain_word(name: &Name) -> Option<&str> {
    match &name.segments[..] {
        [segment] => match &segment.parts[..] {
            [part] => Some(part),
            _ => None,
        },
        _ => None,
    }
}

/// True if a lower-case word is a stop word or a single letter.
pub(super) fn is_filler(word: &str) -> bool {
    is_stop_word(word) || word.chars().nth(1).is_none()
}

fn word_of_run(run: &Run) -> Option<&str> {
    match run {
        Run::Name(name) => plain_word(name),
        _ => None,
    }
}

/// The unit of a single word at its place in the query; `raw` is the word as written.
pub(super) fn word_unit(
    runs: &[Run],
    at: usize,
    raw: &str,
    word: &str,
    glossary: &Glossary,
) -> QueryUnit {
    let is_number = word.bytes().all(|it| it.is_ascii_digit());
    let joined = joined_with_neighbours(runs, at, word_of_run);
    let in_any_style = |word: String| {
        [Expression::word(stem(&word)), Expression::word(&format!("{IDENTIFIER_MARK}{word}"))]
    };
    let whole = Expression::any(joined.into_iter().flat_map(in_any_style));
    let exact = in_any_style(word.to_owned()).into_iter().chain(whole.clone());
    let is_long = word.chars().count() >= PREFIX_LETTERS_MIN && !is_number;
    let beginnings = [word.to_owned(), format!("{IDENTIFIER_MARK}{word}")];
    let loose = beginnings.into_iter().filter(|_| is_long);
    let korean = glossary.korean(word).iter().map(|korean| korean::anywhere(korean));
    let kind = if is_code(raw) {
        UnitKind::Code
    } else if is_number {
        UnitKind::Number
    } else {
        UnitKind::Word
    };
    QueryUnit {
        kind,
        text: raw.to_owned(),
        weight: kind.weight(),
        whole,
        exact: Expression::any(exact).unwrap_or_else(|| Expression::word(word)),
        loose: Expression::any(loose.map(|word| Expression::words_beginning(vec![word]))),
        translated: Expression::any(korean),
    }
}

/// The unit of a name of several parts.
pub(super) fn name_unit(name: &Name) -> QueryUnit {
    let stems: Vec<String> = name.parts().map(|part| stem(part).to_owned()).collect();
    let identifiers: Vec<String> =
        name.segments.iter().filter(|it| it.parts.len() > 1).map(Segment::joined).collect();
    let base = name.base_name().map(|base| Expression::word(&format!("{BASE_NAME_MARK}{base}")));
    let identifier = identifiers.first().filter(|_| name.segments.len() == 1).map(|joined| {
        let whole = format!("{IDENTIFIER_MARK}{joined}");
        [Expression::word(&whole), Expression::word(joined)]
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
    let scattered = Expression::all(stems.iter().map(Expression::word));
    let loose =
        [Expression::words_beginning(beginning)].into_iter().chain(identifiers).chain(scattered);
    let kind = if is_code(&name.raw) {
        UnitKind::Code
    } else if name.base_name().is_some() {
        UnitKind::Path
    } else {
        UnitKind::Identifier
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
