//! The word `uam` in a prompt asks for a pipeline. Code, quotes, paths, negations and questions about
//! the word do not. Capitals do not either: UAM is urban air mobility.

use crate::prose::{beginning_of, prose_of};
use moai_base::limits::ROUTED_PROMPT_BYTES_MAX;
use moai_loops::named_variants;

/// The pipeline that a prompt asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RoutedPipeline {
    /// `uam`
    Full,
    /// `uam small`, `uam quick`, `uam light`
    Small,
    /// `uam bugfix`
    Bugfix,
}

named_variants!(RoutedPipeline { Full: "full", Small: "small", Bugfix: "bugfix" });

const KEYWORD: &str = "uam";

/// Particles after the keyword with which it is a means or an object; with others it is the topic.
const PARTICLES: [&str; 7] = ["으로", "로", "을", "를", "모드로", "방식으로", "파이프라인으로"];
/// Words before the keyword that turn it down.
const REFUSALS: [&str; 14] = [
    "don't", "dont", "don’t", "not", "never", "without", "no", "avoid", "skip", "stop", "disable",
    "cancel", "instead", "rather",
];
/// Words before the keyword with which the prompt is about it.
const MENTIONS: [&str; 11] = [
    "what", "what's", "what’s", "explain", "how", "about", "why", "which", "word", "called",
    "named",
];
/// The same, directly before the keyword.
const QUESTIONS: [&str; 2] = ["is", "does"];
/// Parts of words after the keyword that turn it down, or ask about it.
const LATER_REFUSALS: [&str; 19] = [
    "없이",
    "말고",
    "쓰지",
    "사용하지",
    "이용하지",
    "돌리지",
    "켜지",
    "시작하지",
    "안 쓰",
    "빼고",
    "대신",
    "제외",
    "금지",
    "취소",
    "뭐",
    "무엇",
    "설명",
    "대해",
    "알려",
];
/// Words before or after the keyword that are searched for these.
const WINDOW_WORDS: usize = 5;

/// The pipeline that the first fitting keyword of a prompt asks for.
#[must_use]
pub fn routed_pipeline(prompt: &str) -> Option<RoutedPipeline> {
    if !prompt.contains(KEYWORD) {
        return None;
    }
    let text = prose_of(beginning_of(prompt, ROUTED_PROMPT_BYTES_MAX));
    let mut from = 0;
    while let Some(at) = text[from..].find(KEYWORD).map(|at| from + at) {
        if let Some(kind) = kind_at(&text, at) {
            return Some(kind);
        }
        from = at + KEYWORD.len();
    }
    None
}

/// What the keyword at a position asks for; `None` if it is part of something else.
fn kind_at(text: &str, at: usize) -> Option<RoutedPipeline> {
    let (before, after) = (&text[..at], &text[at + KEYWORD.len()..]);
    let is_joined = |it: char| it.is_alphanumeric() || "_-./\\@#:$~=<%&+".contains(it);
    if before.ends_with(is_joined) {
        return None;
    }
    let after = after_keyword(after)?;
    if is_turned_down(before, after) {
        return None;
    }
    let letters = |word: &str| {
        let end = word.find(|it: char| !it.is_ascii_alphabetic() && it != '-');
        word[..end.unwrap_or(word.len())].to_ascii_lowercase()
    };
    let mut words = after.trim_start_matches([',', ' ', '\t']).split_whitespace();
    let first = letters(words.next().unwrap_or_default());
    Some(match first.as_str() {
        "small" | "quick" | "light" => RoutedPipeline::Small,
        "bugfix" | "bug-fix" => RoutedPipeline::Bugfix,
        "bug" if letters(words.next().unwrap_or_default()) == "fix" => RoutedPipeline::Bugfix,
        _ => RoutedPipeline::Full,
    })
}

/// The text after the keyword and its particle; `None` if the keyword goes on.
fn after_keyword(after: &str) -> Option<&str> {
    let is_word_end = |rest: &str| !rest.starts_with(|it: char| it.is_alphanumeric() || it == '_');
    let mut ends = PARTICLES.iter().filter_map(|particle| after.strip_prefix(particle));
    if let Some(rest) = ends.find(|rest| is_word_end(rest)) {
        return Some(rest);
    }
    let mut characters = after.chars();
    match (characters.next(), characters.next()) {
        (Some(next), _) if next.is_alphanumeric() || "_-/\\(=@#$'’<".contains(next) => None,
        // `uam.js` and `uam:run` are names, `uam: do it` is not.
        (Some('.' | ':'), Some(next)) if !next.is_whitespace() => None,
        _ => Some(after),
    }
}

/// Whether the sentence turns the keyword down or asks about it.
fn is_turned_down(before: &str, after: &str) -> bool {
    let is_end = |it: char| ".!?;\n。".contains(it);
    let sentence = before.rsplit(is_end).next().unwrap_or_default().to_lowercase();
    let is_outside = |it: char| !it.is_alphanumeric() && it != '\'' && it != '’';
    let words = sentence.split(is_outside).filter(|word| !word.is_empty());
    let earlier: Vec<&str> = words.rev().take(WINDOW_WORDS).collect();
    let is_asked = earlier.first().is_some_and(|word| QUESTIONS.contains(word));
    if is_asked || earlier.iter().any(|it| REFUSALS.contains(it) || MENTIONS.contains(it)) {
        return true;
    }
    let clause = after.split(is_end).next().unwrap_or_default();
    let later: Vec<&str> = clause.split_whitespace().take(WINDOW_WORDS).collect();
    let later = later.join(" ");
    LATER_REFUSALS.iter().any(|part| later.contains(part)) || is_asked_about(after)
}

/// Whether the keyword is the last word of a question: `why uam?`.
fn is_asked_about(after: &str) -> bool {
    after.trim_start().starts_with('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(expected: Option<RoutedPipeline>, prompts: &[&str]) {
        for prompt in prompts {
            assert_eq!(routed_pipeline(prompt), expected, "{prompt}");
        }
    }

    #[test]
    fn the_keyword_asks_for_a_pipeline() {
        check(
            Some(RoutedPipeline::Full),
            &[
                "uam add a login",
                "uam으로 이 기능을 만들어 줘",
                "이 기능을 uam으로 만들어 줘",
                "Please use uam, and add \"login\"",
                "uam: add it",
                "Don't worry. uam add a login",
                "uam을 써서 리팩토링해 줘",
                "the user's page is slow, uam rewrite the user's cache",
            ],
        );
        check(
            Some(RoutedPipeline::Small),
            &["uam small add a field", "uam quick: x", "uam light로 해 줘", "uam으로 small 작업"],
        );
        check(
            Some(RoutedPipeline::Bugfix),
            &["uam bugfix the crash", "uam bug fix it", "uam bug-fix: x", "uam bugfix로 고쳐 줘"],
        );
    }

    #[test]
    fn quotes_code_paths_and_names_do_not() {
        check(
            None,
            &[
                "add a login",
                "the team of Guam writes",
                "the word \"uam\" is new",
                "rename 'uam small' in the docs",
                "‘uam bugfix’ 라는 문구를 지워 줘",
                "「uam」을 찾아 줘",
                "run `uam bugfix` in the docs",
                "```\nuam add\n```\nfix this",
                "> uam add\nsee above",
                "open src/uam/state.rs and uam.js",
                "see https://example.com/uam?x and /uam:uam",
                "uam-status and uam_run and uam:run and uam() are names",
                "@uam and #uam and --uam",
                "UAM 시장을 조사해 줘",
            ],
        );
    }

    #[test]
    fn negations_and_questions_do_not() {
        check(
            None,
            &[
                "don't use uam for this",
                "do not start uam, just fix it",
                "without uam please",
                "Skip uam this time",
                "uam 없이 고쳐 줘",
                "uam은 쓰지 말고 고쳐 줘",
                "uam을 사용하지 마",
                "uam 말고 그냥 고쳐 줘",
                "uam bugfix 대신 직접 고쳐 줘",
                "what is uam?",
                "explain how uam works",
                "uam이 뭐야",
                "uam에 대해 알려 줘",
                "uam?",
            ],
        );
        check(Some(RoutedPipeline::Small), &["not with uam bugfix. Use uam small"]);
    }

    #[test]
    fn a_long_prompt_is_read_at_its_beginning() {
        let long = "가".repeat(ROUTED_PROMPT_BYTES_MAX);
        assert_eq!(routed_pipeline(&format!("{long} uam")), None);
        assert_eq!(routed_pipeline(&format!("uam {long}")), Some(RoutedPipeline::Full));
        assert_eq!(routed_pipeline(&"`".repeat(20_000)), None);
    }
}
