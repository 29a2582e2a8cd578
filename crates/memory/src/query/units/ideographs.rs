//! Chinese characters and kana, whose words are not separated.

use super::{QueryUnit, UnitKind};
use crate::expression::{Expression, IndexColumn};
use crate::runs::{is_han, is_hiragana};
use crate::tokens::pairs;

/// Chinese stop words.
const CHINESE_FILLERS: [&str; 12] =
    ["为什么", "怎么办", "怎么", "怎样", "什么", "如何", "哪里", "为何", "的", "了", "吗", "呢"];

/// Chinese words and words in katakana; the hiragana after them are endings.
pub(super) fn units(run: &str) -> Vec<QueryUnit> {
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
        column: IndexColumn::Pairs,
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
