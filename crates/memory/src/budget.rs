//! Token estimates for texts, and the memory's token budgets.

use moai_base::limits::{
    COMPACTED_TOKENS_MAX, INJECTION_PERCENT_MAX, INJECTIONS_PERCENT_MAX, ITERATION_TOKENS_MAX,
    PROMPT_LINES_MAX, PROMPT_TOKENS_MAX, START_LINES_MAX, START_TOKENS_MAX,
};

use crate::hangul::is_syllable;
use crate::query::{Query, StageKind};
use crate::ranking::RankedHit;
use crate::runs::is_ideograph;

// Thousandths of a token for each character.
const PROSE_MILLI: u64 = 250;
const CODE_MILLI: u64 = 313;
const SYLLABLE_MILLI: u64 = 1_100;
const IDEOGRAPH_MILLI: u64 = 1_000;
/// Other alphabets, whose words are split into short pieces.
const LETTER_MILLI: u64 = 500;
/// Emoji and other symbols.
const SYMBOL_MILLI: u64 = 2_000;
/// Safety margin of an estimate in percent, because counts differ between models.
const MARGIN_PERCENT: u64 = 115;
/// Characters that are rare in prose: a word with one of them is code.
const CODE_CHARACTERS: [char; 17] =
    ['_', '{', '}', '(', ')', '[', ']', ';', '=', '<', '>', '/', '\\', '|', '$', '#', '`'];
/// Exactness below which a hit is not worth a prompt's tokens.
const PROMPT_EXACTNESS_MIN: f64 = 0.7;

/// An upper estimate of the tokens of a text, by the scripts it is written in.
#[must_use]
pub fn estimated_tokens(text: &str) -> usize {
    let milli: u64 = text.split_inclusive(char::is_whitespace).map(word_milli).sum();
    usize::try_from((milli * MARGIN_PERCENT).div_ceil(100_000)).unwrap_or(usize::MAX)
}

fn word_milli(word: &str) -> u64 {
    let is_code = word.contains(CODE_CHARACTERS);
    word.chars().map(|character| character_milli(character, is_code)).sum()
}

fn character_milli(character: char, is_code: bool) -> u64 {
    match character {
        _ if character.is_ascii() && is_code => CODE_MILLI,
        _ if character.is_ascii() => PROSE_MILLI,
        _ if is_syllable(character) => SYLLABLE_MILLI,
        _ if is_ideograph(character) => IDEOGRAPH_MILLI,
        _ if character.is_alphanumeric() => LETTER_MILLI,
        _ => SYMBOL_MILLI,
    }
}

/// The longest beginning of a text that is estimated at no more than `tokens_max`.
#[must_use]
pub fn within_tokens(text: &str, tokens_max: usize) -> &str {
    let budget = tokens_max as u64 * 100_000;
    let (mut milli, mut end) = (0, 0);
    for word in text.split_inclusive(char::is_whitespace) {
        let is_code = word.contains(CODE_CHARACTERS);
        for character in word.chars() {
            milli += character_milli(character, is_code);
            if milli * MARGIN_PERCENT > budget {
                return &text[..end];
            }
            end += character.len_utf8();
        }
    }
    text
}

/// The events at which the memory injects observations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InjectionEvent {
    Start,
    /// The host has shortened the session.
    Compacted,
    /// A person has written a prompt.
    Prompt,
    /// A loop holds a Stop.
    Iteration,
}

impl InjectionEvent {
    /// Its name in the store.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Compacted => "compacted",
            Self::Prompt => "prompt",
            Self::Iteration => "iteration",
        }
    }

    /// Tokens for this event, given the context window of the model and the amount injected in the
    /// session before, all in tokens.
    #[must_use]
    pub fn tokens_max(self, window: usize, injected: usize) -> usize {
        let own = match self {
            Self::Start => START_TOKENS_MAX,
            Self::Compacted => COMPACTED_TOKENS_MAX,
            Self::Prompt => PROMPT_TOKENS_MAX,
            Self::Iteration => ITERATION_TOKENS_MAX,
        };
        let at_once = window / 100 * INJECTION_PERCENT_MAX;
        let in_all = (window / 100 * INJECTIONS_PERCENT_MAX).saturating_sub(injected);
        own.min(at_once).min(in_all)
    }

    /// Lines about observations for this event.
    #[must_use]
    pub fn lines_max(self) -> usize {
        match self {
            Self::Prompt => PROMPT_LINES_MAX,
            Self::Start | Self::Compacted | Self::Iteration => START_LINES_MAX,
        }
    }
}

/// The first lines that fit, each with its line break. A line that does not fit is skipped, and
/// shorter ones after it may still be added.
#[must_use]
pub fn fitting_lines<'t>(lines: &[&'t str], lines_max: usize, tokens_max: usize) -> Vec<&'t str> {
    let mut left = tokens_max;
    let mut taken = Vec::new();
    for line in lines {
        let cost = estimated_tokens(line) + 1;
        if taken.len() < lines_max && cost <= left {
            left -= cost;
            taken.push(*line);
        }
    }
    taken
}

/// The hits worth adding to a prompt: no hit is better than noise. A hit contains every unit of the
/// prompt, or at least every name, path and code. A prompt with nothing to search for, such as
/// `ok`, has no hits; the caller excludes slash commands.
#[must_use]
pub fn worth_injecting<'h>(query: &Query, ranked: &'h [RankedHit]) -> Vec<&'h RankedHit> {
    if query.units.is_empty() {
        return Vec::new();
    }
    let is_worth = |hit: &&RankedHit| match hit.stage {
        StageKind::Exact | StageKind::Loose | StageKind::Translated => {
            hit.parts.exactness >= PROMPT_EXACTNESS_MIN
        }
        StageKind::Named => hit.parts.found_exactness >= PROMPT_EXACTNESS_MIN,
        StageKind::AllButOne | StageKind::Any => false,
    };
    ranked.iter().filter(is_worth).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glossary::Glossary;
    use crate::ranking::ScoreParts;

    #[test]
    fn scripts_cost_differently() {
        assert_eq!(estimated_tokens(""), 0);
        assert_eq!(estimated_tokens(&"word ".repeat(80)), 115);
        assert_eq!(estimated_tokens(&"가".repeat(100)), 127);
        assert_eq!(estimated_tokens(&"認".repeat(100)), 115);
        assert!(estimated_tokens("a_b(c); d_e(f);") > estimated_tokens("abcdefg hijklmn"));
        assert!(estimated_tokens("한국어로 쓴 문장") > 2 * "한국어로 쓴 문장".chars().count() / 4);
    }

    #[test]
    fn a_text_is_cut_at_its_budget() {
        let text = "인증 토큰을 갱신했다 and refreshed the token_store";
        for tokens_max in 0..40 {
            let cut = within_tokens(text, tokens_max);
            assert!(text.starts_with(cut) && estimated_tokens(cut) <= tokens_max, "{cut}");
        }
        assert_eq!(within_tokens(text, 1_000), text);
    }

    #[test]
    fn an_event_has_its_tokens_and_a_share_of_the_window() {
        assert_eq!(InjectionEvent::Prompt.tokens_max(200_000, 0), PROMPT_TOKENS_MAX);
        assert_eq!(InjectionEvent::Compacted.tokens_max(20_000, 0), 400);
        assert_eq!(InjectionEvent::Start.tokens_max(200_000, 29_900), 100);
        assert_eq!(InjectionEvent::Start.tokens_max(200_000, 40_000), 0);
        assert_eq!(InjectionEvent::Iteration.tokens_max(0, 0), 0);
    }

    #[test]
    fn lines_fit_into_the_budget() {
        let long = "가".repeat(100);
        let lines = ["short line", long.as_str(), "another one", "third"];
        assert_eq!(fitting_lines(&lines, 2, 40), ["short line", "another one"]);
        assert_eq!(fitting_lines(&lines, 8, 0), Vec::<&str>::new());
    }

    #[test]
    fn only_good_hits_are_worth_a_prompt() {
        let hit = |stage, exactness| {
            let parts = ScoreParts {
                exactness,
                found_exactness: 1.0,
                recency: 1.0,
                proximity: 0.0,
                importance: 1.0,
            };
            RankedHit { id: 1, stage, session: 1, simhash: None, score: 1.0, parts }
        };
        let hits = [
            hit(StageKind::Exact, 1.0),
            hit(StageKind::Exact, 0.3),
            hit(StageKind::Any, 1.0),
            hit(StageKind::Named, 0.1),
            hit(StageKind::Translated, 0.8),
        ];
        let asked = Query::parse("캐시 무효화", Glossary::built_in());
        let worth: Vec<StageKind> =
            worth_injecting(&asked, &hits).into_iter().map(|hit| hit.stage).collect();
        assert_eq!(worth, [StageKind::Exact, StageKind::Named, StageKind::Translated]);
        let filler = Query::parse("응 그렇게 해줘", Glossary::built_in());
        assert!(worth_injecting(&filler, &hits).is_empty(), "{filler:?}");
    }
}
