//! Which rules can match in a text at all, told from the words the text holds. It must not know
//! syntax trees.
//!
//! A rule that asks for a name, a string or a part of a regular expression cannot match where that
//! text does not occur. One pass over the text finds all such words of all rules of a language; a
//! rule whose words are missing is left out for this text, and one whose words are elsewhere is not
//! tried on a node. A text in which no rule can match is not even parsed: whatever its syntax, it
//! holds no match.

mod derive;
mod keywords;
mod pattern;
mod regex;

use std::collections::HashMap;
use std::ops::Range;

use aho_corasick::AhoCorasick;

pub(super) use self::derive::need_of_rule;

/// What a text must hold for something to match. Made so that it holds wherever a match is; it may
/// hold where none is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TextNeed<W = NeededWord> {
    /// Nothing: it may match anywhere.
    Nothing,
    /// This word.
    Word(W),
    /// All of them.
    All(Vec<Self>),
    /// At least one of them.
    Any(Vec<Self>),
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NeededWord {
    bytes: Vec<u8>,
    /// Whether its ASCII letters may be of the other case.
    ignores_case: bool,
    /// Whether it must be inside of the node that matches; else it may be anywhere in the text.
    is_inside: bool,
}

/// A word by its number in the search.
#[derive(Clone, Copy, Debug)]
struct WordRef {
    number: usize,
    is_inside: bool,
}

/// The search for the words of a list of rules.
pub(super) struct Prefilter {
    search: Option<AhoCorasick>,
    /// The words by their number.
    words: Vec<WordKey>,
    /// What each rule needs, in the order of the rules.
    needs: Vec<TextNeed<WordRef>>,
}

/// Where the words are in one text: for every word the byte offsets at which it starts, ascending.
pub(super) struct WordHits {
    starts: Vec<Vec<usize>>,
}

impl Prefilter {
    /// The search for what these rules need. Without it no rule is ever left out.
    pub(super) fn new(needs: Vec<TextNeed>) -> Self {
        let (mut numbers, mut words) = (HashMap::new(), Vec::new());
        let needs =
            needs.into_iter().map(|need| number_words(need, &mut numbers, &mut words)).collect();
        let search = AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(words.iter().map(|(bytes, _)| bytes));
        // Words that no search can be built of are as good as none.
        match search {
            Ok(search) if !words.is_empty() => Self { search: Some(search), words, needs },
            _ => Self { search: None, words, needs },
        }
    }

    /// Finds the words in a text.
    pub(super) fn find_words(&self, text: &str) -> WordHits {
        let mut starts = vec![Vec::new(); self.words.len()];
        if let Some(search) = &self.search {
            for hit in search.find_overlapping_iter(text) {
                let (bytes, any_case) = &self.words[hit.pattern()];
                if *any_case || text.as_bytes()[hit.range()] == **bytes {
                    starts[hit.pattern()].push(hit.start());
                }
            }
        }
        WordHits { starts }
    }

    /// Whether a rule may match somewhere in the text.
    pub(super) fn may_match(&self, rule: usize, hits: &WordHits) -> bool {
        let is_there = |word: WordRef| !hits.starts[word.number].is_empty();
        self.search.is_none() || self.needs[rule].holds(&is_there)
    }

    /// Where in the text the rule's matches are; `None` when they may be anywhere.
    pub(super) fn anchors(&self, rule: usize, hits: &WordHits) -> Option<MatchAnchors> {
        self.search.as_ref()?;
        let mut places = self.anchor_ranges(self.needs.get(rule)?, hits)?;
        places.sort_unstable_by_key(|place| place.start);
        Some(MatchAnchors(places))
    }

    /// Places one of which lies in every match; the fewest that can be told.
    fn anchor_ranges(
        &self,
        need: &TextNeed<WordRef>,
        hits: &WordHits,
    ) -> Option<Vec<Range<usize>>> {
        let is_there = |word: WordRef| !hits.starts[word.number].is_empty();
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
                // What cannot be in this text is in no match either.
                let possible = any.iter().filter(|need| need.holds(&is_there));
                let each: Option<Vec<_>> =
                    possible.map(|need| self.anchor_ranges(need, hits)).collect();
                Some(each?.concat())
            }
        }
    }
}

/// Places in one text, by their start.
pub(super) struct MatchAnchors(Vec<Range<usize>>);

/// Where the places of several rules begin, for one pass over the text.
pub(super) struct AnchorStarts {
    starts: Vec<usize>,
    next: usize,
}

impl AnchorStarts {
    /// Whether one of them lies within these bytes, which begin nowhere before the last ones did.
    pub(super) fn is_next_in(&mut self, bytes: &Range<usize>) -> bool {
        let ahead = &self.starts[self.next..];
        self.next += ahead.iter().take_while(|start| **start < bytes.start).count();
        self.starts.get(self.next).is_some_and(|start| *start < bytes.end)
    }
}

impl MatchAnchors {
    /// The places of all these rules; `None` when one of them may match anywhere.
    pub(super) fn starts<'a>(each: impl Iterator<Item = Option<&'a Self>>) -> Option<AnchorStarts> {
        let mut starts = Vec::new();
        for anchors in each {
            starts.extend(anchors?.0.iter().map(|place| place.start));
        }
        starts.sort_unstable();
        starts.dedup();
        Some(AnchorStarts { starts, next: 0 })
    }

    /// Whether one of them lies within these bytes.
    pub(super) fn is_any_in(&self, bytes: &Range<usize>) -> bool {
        let first = self.0.partition_point(|place| place.start < bytes.start);
        let mut near = self.0[first..].iter().take_while(|place| place.start < bytes.end);
        near.any(|place| place.end <= bytes.end)
    }
}

impl TextNeed<WordRef> {
    fn holds(&self, is_there: &impl Fn(WordRef) -> bool) -> bool {
        match self {
            Self::Nothing => true,
            Self::Word(word) => is_there(*word),
            Self::All(all) => all.iter().all(|need| need.holds(is_there)),
            Self::Any(any) => any.iter().any(|need| need.holds(is_there)),
        }
    }
}

/// A word's bytes, and whether the case is free.
type WordKey = (Vec<u8>, bool);

/// The need by the numbers of its words; new words are put behind the others.
fn number_words(
    need: TextNeed,
    numbers: &mut HashMap<WordKey, usize>,
    words: &mut Vec<WordKey>,
) -> TextNeed<WordRef> {
    let mut each = |needs: Vec<TextNeed>| {
        needs.into_iter().map(|one| number_words(one, numbers, words)).collect()
    };
    match need {
        TextNeed::Nothing => TextNeed::Nothing,
        TextNeed::All(all) => TextNeed::All(each(all)),
        TextNeed::Any(any) => TextNeed::Any(each(any)),
        TextNeed::Word(NeededWord { bytes, ignores_case: any_case, is_inside: inside }) => {
            let word = (bytes, any_case);
            let number = *numbers.entry(word.clone()).or_insert(words.len());
            if number == words.len() {
                words.push(word);
            }
            TextNeed::Word(WordRef { number, is_inside: inside })
        }
    }
}

/// Words of one need, at most: what asks for one of very many is as good as everywhere, and of very
/// many that must all be there some are enough.
const WORDS_MAX: usize = 300;

/// Shortest word that is worth a search, and the longest part of one that is sought, in bytes.
const WORD_BYTES: Range<usize> = 2..64;

/// Single characters that are worth a search: they tell apart where expressions of a kind are.
const SIGNS: &[u8] = b"(<=>[{";

impl TextNeed {
    /// That a text is there: nothing when it is so short that it is nearly everywhere.
    fn text(bytes: &[u8], any_case: bool) -> Self {
        let bytes = &bytes[..bytes.len().min(WORD_BYTES.end)];
        if bytes.len() < WORD_BYTES.start && !matches!(bytes, [one] if SIGNS.contains(one)) {
            return Self::Nothing;
        }
        Self::Word(NeededWord { bytes: bytes.to_vec(), ignores_case: any_case, is_inside: true })
    }

    /// That a text is somewhere.
    pub(super) fn anywhere_text(text: &str) -> Self {
        Self::text(text.as_bytes(), false).anywhere()
    }

    /// That all of them hold.
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

    /// That one of them holds; of very many words, fewer of each.
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

    /// Of needs that must all hold, the one with the fewest words.
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

    /// The same need of something that is elsewhere in the text.
    fn anywhere(self) -> Self {
        match self {
            Self::Nothing => Self::Nothing,
            Self::Word(word) => Self::Word(NeededWord { is_inside: false, ..word }),
            Self::All(all) => Self::All(all.into_iter().map(Self::anywhere).collect()),
            Self::Any(any) => Self::Any(any.into_iter().map(Self::anywhere).collect()),
        }
    }
}
