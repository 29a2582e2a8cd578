//! Derives the text requirements of a regular expression: texts one of which occurs in every match.

use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Class, Hir, HirKind};
use regex_syntax::parse;

use super::TextNeed;

/// Maximum number of alternative texts of an expression; with more, no text is searched.
const TEXTS_MAX: usize = 100;

/// Maximum number of characters of a class that are enumerated.
const CLASS_MAX: usize = 6;

/// Requirement of a `regex` key; empty for an expression that does not parse.
pub(super) fn need_of_regex(regex: &str) -> TextNeed {
    parse(regex).map_or(TextNeed::Nothing, |hir| need_of_hir(&hir))
}

fn need_of_hir(hir: &Hir) -> TextNeed {
    if let Some(all) = texts_of(hir) {
        return need_of_texts(&all);
    }
    match hir.kind() {
        HirKind::Repetition(repetition) if repetition.min > 0 => need_of_hir(&repetition.sub),
        HirKind::Capture(capture) => need_of_hir(&capture.sub),
        HirKind::Alternation(branches) => TextNeed::any(branches.iter().map(need_of_hir)),
        HirKind::Concat(parts) => {
            let prefixes = Extractor::new().limit_total(TEXTS_MAX).extract(hir);
            let texts = prefixes.literals().unwrap_or_default().iter();
            let prefix_need = need_of_texts(
                &texts.map(|text| LiteralText::from_bytes(text.as_bytes())).collect::<Vec<_>>(),
            );
            TextNeed::all([need_of_parts(parts), prefix_need])
        }
        _ => TextNeed::Nothing,
    }
}

/// Requires one of these texts; nothing if the list is empty.
fn need_of_texts(texts: &[LiteralText]) -> TextNeed {
    if texts.is_empty() {
        return TextNeed::Nothing;
    }
    TextNeed::any(texts.iter().map(|text| TextNeed::text(&text.bytes, text.ignores_case)))
}

/// Requires all parts; adjacent parts with few texts are joined.
fn need_of_parts(parts: &[Hir]) -> TextNeed {
    let (mut needs, mut run) = (Vec::new(), vec![LiteralText::default()]);
    for part in parts {
        let texts = texts_of(part);
        let joined = texts.as_ref().and_then(|texts| concatenations(&run, texts));
        if let Some(joined) = joined {
            run = joined;
            continue;
        }
        needs.push(need_of_texts(&run));
        run = texts.unwrap_or_else(|| {
            needs.push(need_of_hir(part));
            vec![LiteralText::default()]
        });
    }
    needs.push(need_of_texts(&run));
    TextNeed::all(needs)
}

/// A text that an expression matches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct LiteralText {
    bytes: Vec<u8>,
    /// True if ASCII letters match in either case.
    ignores_case: bool,
}

impl LiteralText {
    fn from_bytes(bytes: &[u8]) -> Self {
        Self { bytes: bytes.to_vec(), ignores_case: false }
    }
}

/// All texts that an expression matches, if they are few.
fn texts_of(hir: &Hir) -> Option<Vec<LiteralText>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => Some(vec![LiteralText::default()]),
        HirKind::Literal(literal) => Some(vec![LiteralText::from_bytes(&literal.0)]),
        HirKind::Class(class) => texts_of_class(class),
        HirKind::Capture(capture) => texts_of(&capture.sub),
        HirKind::Repetition(repetition) if (repetition.min, repetition.max) == (0, Some(1)) => {
            let mut texts = texts_of(&repetition.sub)?;
            texts.push(LiteralText::default());
            Some(texts)
        }
        HirKind::Repetition(_) => None,
        HirKind::Alternation(branches) => {
            let mut texts = Vec::new();
            for branch in branches {
                texts.extend(texts_of(branch)?);
            }
            (texts.len() <= TEXTS_MAX).then_some(texts)
        }
        HirKind::Concat(parts) => {
            let begin = vec![LiteralText::default()];
            parts.iter().try_fold(begin, |texts, part| concatenations(&texts, &texts_of(part)?))
        }
    }
}

/// Each text followed by each of the others; `None` if that is too many.
fn concatenations(texts: &[LiteralText], others: &[LiteralText]) -> Option<Vec<LiteralText>> {
    if texts.len() * others.len() > TEXTS_MAX {
        return None;
    }
    let mut joined = Vec::new();
    for text in texts {
        joined.extend(others.iter().map(|other| LiteralText {
            bytes: [text.bytes.as_slice(), &other.bytes].concat(),
            ignores_case: text.ignores_case || other.ignores_case,
        }));
    }
    Some(joined)
}

/// The characters of a small class; an ASCII letter in both cases counts once.
fn texts_of_class(class: &Class) -> Option<Vec<LiteralText>> {
    let Class::Unicode(class) = class else { return None };
    let mut characters = Vec::new();
    for range in class.ranges() {
        if range.len() > CLASS_MAX {
            return None;
        }
        characters.extend(range.start()..=range.end());
    }
    let kept = characters.iter().filter(|it| {
        let is_upper_of_another =
            it.is_ascii_uppercase() && characters.contains(&it.to_ascii_lowercase());
        !is_upper_of_another
    });
    let texts: Vec<LiteralText> = kept
        .map(|it| LiteralText {
            bytes: it.to_string().into_bytes(),
            ignores_case: it.is_ascii_lowercase() && characters.contains(&it.to_ascii_uppercase()),
        })
        .collect();
    (texts.len() <= CLASS_MAX).then_some(texts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::prefilter::Prefilter;

    /// Asserts that the prefilter accepts the texts in `holding` and rejects those in `lacking`.
    #[track_caller]
    fn check(regex: &str, holding: &[&str], lacking: &[&str]) {
        let prefilter = Prefilter::new(vec![need_of_regex(regex)]);
        let may_match = |text: &str| prefilter.may_match(0, &prefilter.find_words(text));
        assert!(holding.iter().all(|text| may_match(text)), "{regex}: {holding:?}");
        assert!(!lacking.iter().any(|text| may_match(text)), "{regex}: {lacking:?}");
    }

    #[test]
    fn an_expression_requires_its_literal_words() {
        check("^(eval|exec)$", &["eval", "x.exec()"], &["value", "evil", "EVAL"]);
        check("(?i)password", &["PassWord", "paſſword"], &["pass", ""]);
        check("foo.*bar", &["foo and bar"], &["foo", "bar"]);
        check("foo.*bar|baz+", &["foo and bar", "bazzz"], &["bar", "ba"]);
        check(r"\bmd5\b", &["md5"], &["sha1"]);
        check("(foo)?x", &["y"], &[]);
        check("[a-z]+|eval", &["y"], &[]);
        check("(", &["y"], &[]);
    }

    #[test]
    fn an_expression_with_too_many_words_has_no_required_word() {
        let words: Vec<String> = (100..900).map(|number| format!("{number}word")).collect();
        check(&words.join("|"), &["y"], &[]);
        check(&format!("needle.*({})", words.join("|")), &["needle"], &["y"]);
    }
}
