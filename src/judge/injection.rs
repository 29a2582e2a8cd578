//! Added lines that speak to a judge. What is found is a suspicion and no verdict: honest code can
//! hold such words. The file is then judged without its comments, and people are told.

mod folded;
mod phrases;

use std::collections::BTreeSet;

use self::folded::folded;
use self::phrases::{ENGLISH, KOREAN, KOREAN_WISHES, Phrase, Slot};
use super::change::{Change, FileChange};
use super::hunks::{Mark, hunks};
use super::verdict::{Suspicion, SuspicionKind};
use crate::base::limits::{INJECTION_WORDS_APART_MAX, SUSPICIONS_MAX};
use crate::base::path::RelPath;

/// The suspicions of a change, the first of each file, in the order of its files.
#[must_use]
pub fn suspicions(change: &Change) -> Vec<Suspicion> {
    change.files.iter().filter_map(of_file).take(SUSPICIONS_MAX).collect()
}

/// The files that hold one.
#[must_use]
pub fn suspected(suspicions: &[Suspicion]) -> BTreeSet<RelPath> {
    suspicions.iter().map(|one| one.path.clone()).collect()
}

fn of_file(file: &FileChange) -> Option<Suspicion> {
    let text = |side: &Option<super::change::Text>| {
        side.as_ref().map(|text| text.full.clone()).unwrap_or_default()
    };
    let (before, after) = (text(&file.before), text(&file.after));
    let hunks = hunks(&before, &after);
    let found = hunks.iter().find_map(|hunk| {
        let added = hunk.lines.iter().filter(|line| line.mark == Mark::Added);
        let added: Vec<(usize, String)> =
            added.map(|line| (line.number, folded(line.text))).collect();
        spoken(&added)
    });
    // The name of a new file is as much the author's words.
    let named = || file.before.is_none().then(|| spoken(&[(0, folded(file.path.as_str()))]));
    let line = found.or_else(|| named().flatten())?;
    Some(Suspicion {
        kind: SuspicionKind::InstructionInData,
        path: file.path.clone(),
        line: u32::try_from(line).ok().filter(|line| *line > 0),
    })
}

/// The line on which one of the phrases begins.
fn spoken(lines: &[(usize, String)]) -> Option<usize> {
    let wish = lines.iter().find(|(_, text)| wishes(text)).map(|(line, _)| *line);
    wish.or_else(|| {
        let words = words(lines);
        let begins = |at: &usize| {
            let rest = &words[*at..];
            ENGLISH.iter().chain(KOREAN).any(|phrase| is_spoken(phrase, rest))
        };
        (0..words.len()).find(begins).map(|at| words[at].line)
    })
}

fn wishes(text: &str) -> bool {
    // Blanks are put as people like.
    let text: String = text.chars().filter(|it| it.is_alphanumeric()).collect();
    // "Withdraws the approval" begins like "approve it".
    let text = text.replace("승인해제", "");
    KOREAN_WISHES.iter().any(|wish| text.contains(wish))
}

/// A word with what stands between it and the next.
struct Word<'t> {
    line: usize,
    text: &'t str,
    gap: String,
}

/// The words of all lines, because a sentence may go over several.
fn words(lines: &[(usize, String)]) -> Vec<Word<'_>> {
    let mut words: Vec<Word<'_>> = Vec::new();
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
            words.push(Word { line: *line, text: &rest[..end], gap: String::new() });
            rest = &rest[end..];
        }
        if let Some(last) = words.last_mut() {
            last.gap.push('\n');
        }
    }
    words
}

/// Whether what stands between two words is what stands between words of a sentence, rather than
/// an operator, a bracket or a member of something.
fn is_prose(gap: &str) -> bool {
    let mut characters = gap.chars().peekable();
    while let Some(character) = characters.next() {
        let ends = |next: Option<&char>| {
            next.is_none_or(|next| next.is_whitespace() || matches!(next, '"' | '\'' | '`'))
        };
        let is_fine = match character {
            ':' | '.' => ends(characters.peek()),
            ',' | ';' | '!' | '?' | '"' | '\'' | '`' | '-' | '–' | '—' | '*' | '#' | '/' => {
                true
            }
            other => other.is_whitespace(),
        };
        if !is_fine {
            return false;
        }
    }
    true
}

fn is_spoken(phrase: &Phrase, words: &[Word<'_>]) -> bool {
    let mut rest = words;
    for (number, slot) in phrase.slots.iter().enumerate() {
        let reach = if number == 0 { 1 } else { INJECTION_WORDS_APART_MAX + 1 };
        let near = &rest[..rest.len().min(reach)];
        let Some(at) = near.iter().position(|word| fits(slot, word)) else { return false };
        let is_last = number + 1 == phrase.slots.len();
        let between = &near[..if is_last { at } else { at + 1 }];
        if phrase.is_prose && !between.iter().all(|word| is_prose(&word.gap)) {
            return false;
        }
        rest = &rest[at + 1..];
    }
    true
}

fn fits(slot: &Slot, word: &Word<'_>) -> bool {
    match slot {
        Slot::Word(choices) => choices.contains(&word.text),
        Slot::Addressed(choices) => choices.contains(&word.text) && word.gap.starts_with(':'),
        Slot::Stem(stems) => stems.iter().any(|stem| word.text.starts_with(stem)),
        Slot::AddressedStem(stems) => {
            stems.iter().any(|stem| word.text.starts_with(stem)) && word.gap.starts_with([':', ','])
        }
        Slot::Request(stems, endings) => stems.iter().any(|stem| {
            let ending = word.text.strip_prefix(stem);
            ending.is_some_and(|ending| endings.iter().any(|one| ending.starts_with(one)))
        }),
    }
}

#[cfg(test)]
mod tests;
