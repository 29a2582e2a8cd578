//! Rules out rules that cannot match in a text, by the words the text contains.
//!
//! A rule that requires a name, a string or a literal part of a regular expression cannot match
//! where that text does not occur. One pass over the text finds all such words of all rules of a
//! language. A rule whose words are missing is skipped for the text, and it is only tried at nodes
//! that contain its words. A text in which no rule can match is not even parsed.

mod derive;
mod keywords;
mod pattern;
mod regex;

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind};

pub(super) use self::derive::need_of_rule;

/// Text content required for a match: a necessary condition, not a sufficient one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextNeed<W = NeededWord> {
    /// No requirement: it may match anywhere.
    Nothing,
    Word(W),
    All(Vec<Self>),
    /// At least one of these.
    Any(Vec<Self>),
}

/// A text that must occur.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NeededWord {
    bytes: Vec<u8>,
    /// True if ASCII letters match in either case.
    ignores_case: bool,
    /// True if it must lie inside the matched node; otherwise anywhere in the text.
    is_inside: bool,
}

/// A word as an index into the search's words.
#[derive(Clone, Copy, Debug)]
struct WordRef {
    number: usize,
    is_inside: bool,
}

/// Searches texts for the words of a list of rules.
pub(super) struct Prefilter {
    search: Option<AhoCorasick>,
    /// The words by index.
    words: Vec<WordKey>,
    /// Requirements of each rule, in rule order.
    needs: Vec<TextNeed<WordRef>>,
}

/// Occurrences in one text: for every word its start offsets in bytes, ascending.
pub(super) struct WordHits {
    starts: Vec<Vec<usize>>,
}

impl Prefilter {
    /// Builds the search for these rules. If that fails, no rule is ever skipped.
    pub(super) fn new(needs: Vec<TextNeed>) -> Self {
        let (mut numbers, mut words) = (HashMap::new(), Vec::new());
        let needs =
            needs.into_iter().map(|need| number_words(need, &mut numbers, &mut words)).collect();
        let bytes: usize = words.iter().map(|(bytes, _)| bytes.len()).sum();
        let search = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .kind((bytes <= TABLE_BYTES_MAX).then_some(AhoCorasickKind::DFA))
            .build(words.iter().map(|(bytes, _)| bytes));
        // Without the automaton, nothing is filtered.
        match search {
            Ok(search) if !words.is_empty() => Self { search: Some(search), words, needs },
            _ => Self { search: None, words, needs },
        }
    }

    pub(super) fn find_words(&self, text: &str) -> WordHits {
        let mut starts = vec![Vec::new(); self.words.len()];
        if let Some(search) = &self.search {
            for hit in search.find_overlapping_iter(text) {
                let (bytes, ignores_case) = &self.words[hit.pattern()];
                if *ignores_case || text.as_bytes()[hit.range()] == **bytes {
                    starts[hit.pattern()].push(hit.start());
                }
            }
        }
        WordHits { starts }
    }

    /// True if a rule may match somewhere in the text.
    pub(super) fn may_match(&self, rule: usize, hits: &WordHits) -> bool {
        let is_present = |word: WordRef| !hits.starts[word.number].is_empty();
        self.search.is_none() || self.needs[rule].holds(&is_present)
    }

    /// Ranges one of which lies in every match of the rule; `None` when matches may be anywhere.
    pub(super) fn anchors(&self, rule: usize, hits: &WordHits) -> Option<MatchAnchors> {
        self.search.as_ref()?;
        let mut places = self.anchor_ranges(self.needs.get(rule)?, hits)?;
        places.sort_unstable_by_key(|place| place.start);
        Some(MatchAnchors(places))
    }

    /// Ranges one of which lies in every match; the smallest such set that can be derived.
    fn anchor_ranges(
        &self,
        need: &TextNeed<WordRef>,
        hits: &WordHits,
    ) -> Option<Vec<Range<usize>>> {
        let is_present = |word: WordRef| !hits.starts[word.number].is_empty();
        match need {
            TextNeed::Word(WordRef { number, is_inside: true }) => {
                let length = self.words[*number].0.len();
                let starts = hits.starts[*number].iter();
                Some(starts.map(|start| *start..start + length).collect())
            }
            TextNeed::Word(_) | TextNeed::Nothing => None,
            TextNeed::All(all) => {
                let each = all.iter().filter_map(|need| self.anchor_ranges(need, hits));
                each.min_by_key(Vec::len)
            }
            TextNeed::Any(any) => {
                // Alternatives whose words are missing cannot match in this text.
                let possible = any.iter().filter(|need| need.holds(&is_present));
                let each: Option<Vec<_>> =
                    possible.map(|need| self.anchor_ranges(need, hits)).collect();
                Some(each?.concat())
            }
        }
    }
}

/// Ranges in one text, sorted by start.
pub(super) struct MatchAnchors(Vec<Range<usize>>);

/// Start offsets of the anchors of several rules, for one pass over the text.
pub(super) struct AnchorStarts {
    starts: Vec<usize>,
    next: usize,
}

impl AnchorStarts {
    /// The places of these words in a text.
    pub(super) fn of_words(text: &str, words: &[&str]) -> Self {
        let places = words.iter().flat_map(|word| text.match_indices(word));
        let mut starts: Vec<usize> = places.map(|(at, _)| at).collect();
        starts.sort_unstable();
        Self { starts, next: 0 }
    }

    /// True if an anchor starts within these bytes. Calls must not go back: each range starts at or
    /// after the previous one.
    pub(super) fn is_next_in(&mut self, bytes: &Range<usize>) -> bool {
        let ahead = &self.starts[self.next..];
        self.next += ahead.iter().take_while(|start| **start < bytes.start).count();
        self.starts.get(self.next).is_some_and(|start| *start < bytes.end)
    }
}

impl MatchAnchors {
    /// Anchor starts of all these rules; `None` when one of them may match anywhere.
    pub(super) fn starts<'a>(each: impl Iterator<Item = Option<&'a Self>>) -> Option<AnchorStarts> {
        let mut starts = Vec::new();
        for anchors in each {
            starts.extend(anchors?.0.iter().map(|place| place.start));
        }
        starts.sort_unstable();
        starts.dedup();
        Some(AnchorStarts { starts, next: 0 })
    }

    /// True if an anchor lies within these bytes.
    pub(super) fn is_any_in(&self, bytes: &Range<usize>) -> bool {
        let first = self.0.partition_point(|place| place.start < bytes.start);
        let mut near = self.0[first..].iter().take_while(|place| place.start < bytes.end);
        near.any(|place| place.end <= bytes.end)
    }
}

impl TextNeed<WordRef> {
    fn holds(&self, is_present: &impl Fn(WordRef) -> bool) -> bool {
        match self {
            Self::Nothing => true,
            Self::Word(word) => is_present(*word),
            Self::All(all) => all.iter().all(|need| need.holds(is_present)),
            Self::Any(any) => any.iter().any(|need| need.holds(is_present)),
        }
    }
}

/// A word's bytes, and whether it ignores case.
type WordKey = (Vec<u8>, bool);

/// Replaces the words of a need by indexes; new words are appended.
fn number_words(
    need: TextNeed,
    numbers: &mut HashMap<WordKey, usize>,
    words: &mut Vec<WordKey>,
) -> TextNeed<WordRef> {
    let mut number_each = |needs: Vec<TextNeed>| {
        needs.into_iter().map(|need| number_words(need, numbers, words)).collect()
    };
    match need {
        TextNeed::Nothing => TextNeed::Nothing,
        TextNeed::All(all) => TextNeed::All(number_each(all)),
        TextNeed::Any(any) => TextNeed::Any(number_each(any)),
        TextNeed::Word(NeededWord { bytes, ignores_case, is_inside }) => {
            let word = (bytes, ignores_case);
            let number = *numbers.entry(word.clone()).or_insert(words.len());
            if number == words.len() {
                words.push(word);
            }
            TextNeed::Word(WordRef { number, is_inside })
        }
    }
}

/// Maximum number of words of one need: an `Any` of very many words filters hardly anything, and of
/// an `All` some words are enough.
const WORDS_MAX: usize = 300;

/// Bytes of all words up to which the search is a full table of its states. Twice as fast, but the table
/// of many words takes longer to build than scanning a file.
const TABLE_BYTES_MAX: usize = 4_096;

/// Shortest word worth a search, and longest searched part of a word, in bytes.
const WORD_BYTES: Range<usize> = 2..64;

/// Single characters worth a search, because they locate kinds of expressions.
const SIGNS: &[u8] = b"(<=>[{";

impl TextNeed {
    /// Requires a text inside the match; nothing if it is so short that it occurs nearly
    /// everywhere.
    fn text(bytes: &[u8], ignores_case: bool) -> Self {
        let bytes = &bytes[..bytes.len().min(WORD_BYTES.end)];
        if bytes.len() < WORD_BYTES.start && !matches!(bytes, [one] if SIGNS.contains(one)) {
            return Self::Nothing;
        }
        Self::Word(NeededWord { bytes: bytes.to_vec(), ignores_case, is_inside: true })
    }

    /// Requires a text anywhere.
    pub(super) fn anywhere_text(text: &str) -> Self {
        Self::text(text.as_bytes(), false).anywhere()
    }

    /// Requires all of these.
    pub(super) fn all(needs: impl IntoIterator<Item = Self>) -> Self {
        let (mut all, mut words): (Vec<Self>, usize) = (Vec::new(), 0);
        for need in needs {
            words += need.words();
            match need {
                Self::Nothing => {}
                _ if words > WORDS_MAX => words -= need.words(),
                Self::All(inner) => all.extend(inner),
                other => all.push(other),
            }
        }
        match all.len() {
            0 => Self::Nothing,
            1 => all.remove(0),
            _ => Self::All(all),
        }
    }

    /// Requires one of these; if there are too many words, fewer words of each.
    pub(super) fn any(needs: impl IntoIterator<Item = Self>) -> Self {
        let mut needs: Vec<Self> = needs.into_iter().collect();
        let count = |needs: &[Self]| needs.iter().map(Self::words).sum::<usize>();
        if count(&needs) > WORDS_MAX {
            needs = needs.into_iter().map(Self::leanest).collect();
        }
        if count(&needs) > WORDS_MAX {
            return Self::Nothing;
        }
        let mut any: Vec<Self> = Vec::new();
        for need in needs {
            match need {
                Self::Nothing => return Self::Nothing,
                Self::Any(inner) => any.extend(inner),
                other => any.push(other),
            }
        }
        if any.len() == 1 { any.remove(0) } else { Self::Any(any) }
    }

    /// Reduces an `All` to the part with the fewest words.
    fn leanest(self) -> Self {
        match self {
            Self::All(all) => all.into_iter().min_by_key(Self::words).unwrap_or(Self::Nothing),
            other => other,
        }
    }

    fn words(&self) -> usize {
        match self {
            Self::Nothing => 0,
            Self::Word(_) => 1,
            Self::All(each) | Self::Any(each) => each.iter().map(Self::words).sum(),
        }
    }

    /// The same requirement, satisfied anywhere in the text.
    fn anywhere(self) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::Word(word) => Self::Word(NeededWord { is_inside: false, ..word }),
            Self::All(all) => Self::All(all.into_iter().map(Self::anywhere).collect()),
            Self::Any(any) => Self::Any(any.into_iter().map(Self::anywhere).collect()),
        }
    }
}
