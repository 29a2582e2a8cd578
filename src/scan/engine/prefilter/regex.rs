//! What a regular expression needs: the texts one of which is in whatever it matches.

use regex_syntax::hir::literal::Extractor;
use regex_syntax::hir::{Class, Hir, HirKind};
use regex_syntax::parse;

use super::Need;

/// Words that a match may begin with, at most; of more than that none is sought.
const PREFIXES_MAX: usize = 100;

/// What a `regex` key needs; nothing for an expression that does not parse.
pub(super) fn need_of(regex: &str) -> Need {
    parse(regex).map_or(Need::Nothing, |hir| need_of_hir(&hir))
}

fn need_of_hir(hir: &Hir) -> Need {
    let needs = match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => return Need::Nothing,
        HirKind::Literal(literal) => return Need::text(&literal.0, false),
        HirKind::Repetition(repetition) if repetition.min == 0 => return Need::Nothing,
        HirKind::Repetition(repetition) => return need_of_hir(&repetition.sub),
        HirKind::Capture(capture) => return need_of_hir(&capture.sub),
        HirKind::Alternation(branches) => Need::any(branches.iter().map(need_of_hir)),
        HirKind::Concat(parts) => need_of_parts(parts),
    };
    if matches!(needs, Need::Word(_)) {
        return needs;
    }
    // What a match begins with: the whole of it where the expression is a list of words, which the
    // parser has taken apart at their common letters.
    let prefixes = Extractor::new().limit_total(PREFIXES_MAX).extract(hir);
    let Some(words) = prefixes.literals() else { return needs };
    let begins = Need::any(words.iter().map(|word| Need::text(word.as_bytes(), false)));
    let is_better = prefixes.is_exact() && begins != Need::Nothing;
    if is_better || needs == Need::Nothing { begins } else { needs }
}

/// All parts, where single characters next to each other make a word.
fn need_of_parts(parts: &[Hir]) -> Need {
    let (mut needs, mut run) = (Vec::new(), Run::default());
    for part in parts {
        match part.kind() {
            HirKind::Literal(literal) => run.bytes.extend_from_slice(&literal.0),
            HirKind::Look(_) | HirKind::Empty => {}
            HirKind::Class(class) => match letter_of_any_case(class) {
                Some(letter) => run.push_any_case(letter),
                None => needs.push(run.end()),
            },
            _ => needs.extend([run.end(), need_of_hir(part)]),
        }
    }
    needs.push(run.end());
    Need::all(needs)
}

/// Characters that follow each other in every match.
#[derive(Default)]
struct Run {
    bytes: Vec<u8>,
    any_case: bool,
}

impl Run {
    fn push_any_case(&mut self, letter: u8) {
        self.bytes.push(letter);
        self.any_case = true;
    }

    fn end(&mut self) -> Need {
        let run = std::mem::take(self);
        Need::text(&run.bytes, run.any_case)
    }
}

/// The lower-case letter of a class that is one ASCII letter in both cases and nothing else.
fn letter_of_any_case(class: &Class) -> Option<u8> {
    let characters: Vec<char> = match class {
        Class::Unicode(class) => {
            let ranges = class.ranges();
            let singles = ranges.iter().filter(|range| range.start() == range.end());
            (singles.clone().count() == ranges.len())
                .then(|| singles.map(regex_syntax::hir::ClassUnicodeRange::start).collect())?
        }
        Class::Bytes(_) => return None,
    };
    match characters.as_slice() {
        [upper, lower] if upper.is_ascii_uppercase() && upper.to_ascii_lowercase() == *lower => {
            u8::try_from(*lower).ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::engine::prefilter::Prefilter;

    /// What is sought is in the one texts and not in the others.
    #[track_caller]
    fn check(regex: &str, holding: &[&str], lacking: &[&str]) {
        let prefilter = Prefilter::new(vec![need_of(regex)]);
        let may_match = |text: &str| prefilter.may_match(0, &prefilter.read(text));
        assert!(holding.iter().all(|text| may_match(text)), "{regex}: {holding:?}");
        assert!(!lacking.iter().any(|text| may_match(text)), "{regex}: {lacking:?}");
    }

    #[test]
    fn the_words_of_an_expression_are_sought() {
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
    fn very_many_words_are_not_sought() {
        let words: Vec<String> = (100..900).map(|number| format!("{number}word")).collect();
        check(&words.join("|"), &["y"], &[]);
        check(&format!("needle.*({})", words.join("|")), &["needle"], &["y"]);
    }
}
