//! The tokens of a text in the index. A token has letters, digits and `_` only, so that every index
//! accepts it unchanged.

use moai_base::limits::{INDEX_TEXT_BYTES_MAX, INDEX_TOKENS_MAX};

use crate::english::stem;
use crate::hangul::{compound, forms, short_noun};
use crate::runs::{Name, Run, bounded, runs};

/// Changes whenever the same text gets other tokens; an index of another version is rebuilt.
pub const TOKENIZER_VERSION: u32 = 1;

/// Begins the token of a whole identifier: `i_validatetoken`.
pub(crate) const IDENTIFIER_MARK: &str = "i_";
/// Begins the token of a file's name: `b_tokenstorers`.
pub(crate) const BASE_NAME_MARK: &str = "b_";

/// The tokens of one text, one list for each column of the index.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IndexTokens {
    /// Words, their stems, parts of names, whole names. Those of one name are adjacent.
    pub words: Vec<String>,
    /// Pairs of neighbouring characters: inside longer Korean words, and of Chinese characters and
    /// kana.
    pub pairs: Vec<String>,
}

impl IndexTokens {
    /// The tokens of a text, or of the beginning of a text longer than
    /// [`INDEX_TEXT_BYTES_MAX`].
    #[must_use]
    pub fn of_text(text: &str) -> Self {
        Self::of_runs(&runs(beginning(text, INDEX_TEXT_BYTES_MAX)))
    }

    pub(crate) fn of_runs(runs: &[Run]) -> Self {
        let mut tokens = Self::default();
        for run in runs {
            tokens.push_run(run);
            if tokens.words.len() + tokens.pairs.len() > INDEX_TOKENS_MAX {
                break;
            }
        }
        tokens.words.truncate(INDEX_TOKENS_MAX);
        tokens.pairs.truncate(INDEX_TOKENS_MAX - tokens.words.len());
        tokens
    }

    /// The words, separated by spaces: the value of the column `words`.
    #[must_use]
    pub fn words_column(&self) -> String {
        self.words.join(" ")
    }

    /// The pairs, separated by spaces: the value of the column `pairs`.
    #[must_use]
    pub fn pairs_column(&self) -> String {
        self.pairs.join(" ")
    }

    pub(crate) fn push_run(&mut self, run: &Run) {
        match run {
            Run::Hangul { word, .. } => self.push_hangul(word),
            Run::Ideographs(run) => self.pairs.extend(pairs(run)),
            Run::Name(name) => self.words.extend(name_tokens(name)),
        }
    }

    fn push_hangul(&mut self, word: &str) {
        let compound = compound(word);
        if compound.chars().nth(2).is_some() {
            self.pairs.extend(pairs(compound));
        }
        self.words.extend(forms(word).into_iter().map(bounded));
        self.words.extend(short_noun(word).map(str::to_owned));
    }
}

fn name_tokens(name: &Name) -> Vec<String> {
    let mut tokens: Vec<String> = name.parts().map(|part| stem(part).to_owned()).collect();
    let identifiers = name.segments.iter().filter(|segment| segment.parts.len() > 1);
    tokens.extend(identifiers.map(|it| format!("{IDENTIFIER_MARK}{}", it.joined())));
    tokens.extend(name.base_name().map(|base| format!("{BASE_NAME_MARK}{base}")));
    tokens
}

/// Overlapping pairs of characters; a single character is its own.
pub(crate) fn pairs(run: &str) -> Vec<String> {
    let characters: Vec<char> = run.chars().collect();
    if characters.len() < 2 {
        return vec![run.to_owned()];
    }
    characters.windows(2).map(|pair| pair.iter().collect()).collect()
}

/// The beginning of a text with at most so many bytes.
pub(crate) fn beginning(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> String {
        IndexTokens::of_text(text).words_column()
    }

    #[test]
    fn a_korean_word_is_found_with_and_without_its_particle() {
        assert_eq!(words("인증을"), "인증을 인증");
        assert_eq!(words("API를 호출했다"), "api 를 호출했다 호출");
        assert_eq!(IndexTokens::of_text("결제모듈에서").pairs_column(), "결제 제모 모듈");
        assert_eq!(IndexTokens::of_text("결제에서").pairs_column(), "");
    }

    #[test]
    fn names_are_indexed_by_parts_and_whole() {
        assert_eq!(words("validateToken()"), "validat token i_validatetoken");
        assert_eq!(words("validate_token"), words("ValidateToken"));
        assert_eq!(
            words("src/auth/token_store.rs:12"),
            "src auth token stor rs i_tokenstore b_tokenstorers"
        );
        assert_eq!(words("error TS2345: Argument"), "error ts 2345 i_ts2345 argument");
    }

    #[test]
    fn chinese_and_japanese_are_indexed_by_pairs() {
        assert_eq!(IndexTokens::of_text("认证令牌").pairs_column(), "认证 证令 令牌");
        assert_eq!(IndexTokens::of_text("字").pairs_column(), "字");
    }

    #[test]
    fn decomposed_syllables_are_composed() {
        let decomposed: String =
            unicode_normalization::UnicodeNormalization::nfd("결제흐름").collect();
        assert_ne!(decomposed, "결제흐름");
        assert_eq!(IndexTokens::of_text(&decomposed), IndexTokens::of_text("결제흐름"));
    }

    #[test]
    fn odd_characters_are_left_out_or_kept_as_words() {
        assert_eq!(words("\u{fffd}token\u{fffd} 🙂👩‍💻 ㅋㅋ"), "token");
        assert_eq!(words("to\u{200b}ken \u{202e}nekot"), "token nekot");
        assert_eq!(words("שלום עולם"), "שלום עולם");
        assert_eq!(words("токены Größe"), "токены größe");
        assert_eq!(IndexTokens::of_text("\0 \r\n --- ::: ///"), IndexTokens::default());
    }

    #[test]
    fn a_huge_text_has_a_bounded_number_of_tokens() {
        let text = "validateToken 인증토큰을 ".repeat(300_000);
        let tokens = IndexTokens::of_text(&text);
        assert!(tokens.words.len() + tokens.pairs.len() <= INDEX_TOKENS_MAX);
        let one_word = "a".repeat(10_000_000);
        assert_eq!(words(&one_word).len(), moai_base::limits::INDEX_TOKEN_CHARS_MAX);
    }
}
