//! Searches added lines for text that addresses a judge. A match is a suspicion, not a verdict,
//! because honest code can contain such words: the file is judged without its comments, and the
//! user is notified.

mod folding;
mod phrases;

use std::collections::BTreeSet;

use self::folding::fold_text;
use self::phrases::{ENGLISH, InjectionPhrase, KOREAN, KOREAN_REQUESTS, PhraseSlot};
use super::change::{ReviewChange, ReviewFile};
use super::hunks::{LineMark, hunks};
use super::verdict::{Suspicion, SuspicionKind};
use moai_base::limits::{INJECTION_WORDS_APART_MAX, SUSPICIONS_MAX};
use moai_base::path::RelPath;

/// Suspicions of a change, the first of each file, in file order.
#[must_use]
pub fn suspicions(change: &ReviewChange) -> Vec<Suspicion> {
    change.files.iter().filter_map(file_suspicion).take(SUSPICIONS_MAX).collect()
}

/// Files with a suspicion.
#[must_use]
pub fn suspected_paths(suspicions: &[Suspicion]) -> BTreeSet<RelPath> {
    suspicions.iter().map(|suspicion| suspicion.path.clone()).collect()
}

fn file_suspicion(file: &ReviewFile) -> Option<Suspicion> {
    let [before, after] =
        [&file.before, &file.after].map(|side| side.as_ref().map_or("", |text| &text.full));
    let hunks = hunks(before, after);
    let in_text = hunks.iter().find_map(|hunk| {
        let added = hunk.lines.iter().filter(|line| line.mark == LineMark::Added);
        let added: Vec<(usize, String)> =
            added.map(|line| (line.number, fold_text(line.text))).collect();
        phrase_line(&added)
    });
    let line = match in_text {
        Some(line) => line,
        // The author chooses the name of a new file too.
        None if file.before.is_none() => phrase_line(&[(0, fold_text(file.path.as_str()))])?,
        None => return None,
    };
    Some(Suspicion {
        kind: SuspicionKind::InstructionInData,
        path: file.path.clone(),
        line: u32::try_from(line).ok().filter(|line| *line > 0),
    })
}

/// The line on which a phrase starts.
fn phrase_line(lines: &[(usize, String)]) -> Option<usize> {
    let request = lines.iter().find(|(_, text)| has_korean_request(text)).map(|(line, _)| *line);
    request.or_else(|| {
        let words = words(lines);
        (0..words.len())
            .find(|at| {
                let rest = &words[*at..];
                ENGLISH.iter().chain(KOREAN).any(|phrase| phrase_matches(phrase, rest))
            })
            .map(|at| words[at].line)
    })
}

fn has_korean_request(text: &str) -> bool {
    // Korean spacing varies.
    let text: String = text.chars().filter(|it| it.is_alphanumeric()).collect();
    // "승인해제" (withdraw approval) starts like "승인해" (approve).
    let text = text.replace("승인해제", "");
    KOREAN_REQUESTS.iter().any(|request| text.contains(request))
}

/// A word and the text between it and the next one.
struct InjectionWord<'t> {
    line: usize,
    text: &'t str,
    gap: String,
}

/// The words of all lines, because a sentence may span several.
fn words(lines: &[(usize, String)]) -> Vec<InjectionWord<'_>> {
    let mut words: Vec<InjectionWord<'_>> = Vec::new();
    for (line, text) in lines {
        let mut rest = text.as_str();
        loop {
            let start = rest.find(char::is_alphanumeric).unwrap_or(rest.len());
            if let Some(last) = words.last_mut() {
                last.gap.push_str(&rest[..start]);
            }
            rest = &rest[start..];
            if rest.is_empty() {
                break;
            }
            let end = rest.find(|it: char| !it.is_alphanumeric()).unwrap_or(rest.len());
            words.push(InjectionWord { line: *line, text: &rest[..end], gap: String::new() });
            rest = &rest[end..];
        }
        if let Some(last) = words.last_mut() {
            last.gap.push('\n');
        }
    }
    words
}

/// True if the text between two words is that of a sentence, rather than an operator, a bracket or
/// a member access.
fn is_prose(gap: &str) -> bool {
    let mut characters = gap.chars().peekable();
    while let Some(character) = characters.next() {
        let is_prose_mark = match character {
            ':' | '.' => characters
                .peek()
                .is_none_or(|next| next.is_whitespace() || matches!(next, '"' | '\'' | '`')),
            ',' | ';' | '!' | '?' | '"' | '\'' | '`' | '-' | '–' | '—' | '*' | '#' | '/' => {
                true
            }
            other => other.is_whitespace(),
        };
        if !is_prose_mark {
            return false;
        }
    }
    true
}

fn phrase_matches(phrase: &InjectionPhrase, words: &[InjectionWord<'_>]) -> bool {
    let mut rest = words;
    for (number, slot) in phrase.slots.iter().enumerate() {
        let reach = if number == 0 { 1 } else { INJECTION_WORDS_APART_MAX + 1 };
        let near = &rest[..rest.len().min(reach)];
        let Some(at) = near.iter().position(|word| slot_matches(slot, word)) else { return false };
        let is_last = number + 1 == phrase.slots.len();
        let between = &near[..if is_last { at } else { at + 1 }];
        if phrase.is_prose && !between.iter().all(|word| is_prose(&word.gap)) {
            return false;
        }
        rest = &rest[at + 1..];
    }
    true
}

fn slot_matches(slot: &PhraseSlot, word: &InjectionWord<'_>) -> bool {
    match slot {
        PhraseSlot::Word(choices) => choices.contains(&word.text),
        PhraseSlot::Addressed(choices) => choices.contains(&word.text) && word.gap.starts_with(':'),
        PhraseSlot::Stem(stems) => stems.iter().any(|stem| word.text.starts_with(stem)),
        PhraseSlot::AddressedStem(stems) => {
            stems.iter().any(|stem| word.text.starts_with(stem)) && word.gap.starts_with([':', ','])
        }
        PhraseSlot::Request(stems, endings) => stems.iter().any(|stem| {
            let ending = word.text.strip_prefix(stem);
            ending.is_some_and(|ending| endings.iter().any(|one| ending.starts_with(one)))
        }),
    }
}

#[cfg(test)]
mod tests;
