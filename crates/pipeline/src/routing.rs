//! The word `uam` in a prompt asks for a pipeline. Code, quotes, paths, negations and questions
//! about the word do not. Neither do capitals: UAM is urban air mobility.

use crate::prose::{beginning_of, prose_of};
use moai_base::foreign_text::is_from_host;
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

/// Particles and words after the keyword that mark it as a means; others mark it as the topic.
const MEANS: [&str; 7] = ["으로", "로", "을", "를", "모드로", "방식으로", "파이프라인으로"];
/// Words directly before the keyword that mark it as a means; an article may come between.
const USES: [&str; 9] = ["use", "using", "with", "via", "through", "do", "run", "start", "trigger"];
const ARTICLES: [&str; 3] = ["a", "an", "the"];
/// Ends of Korean requests and statements, after which a sentence may begin without a full stop.
const KOREAN_ENDS: [&str; 5] = ["줘", "요", "다", "라", "해"];
/// Words before the keyword that reject it, or make it the topic of the sentence.
const REFUSALS: [&str; 26] = [
    "don't", "dont", "don’t", "not", "never", "without", "no", "avoid", "skip", "stop", "disable",
    "cancel", "instead", "rather", "what", "what's", "what’s", "explain", "how", "about", "why",
    "which", "when", "should", "called", "named",
];
/// Words directly after the keyword that make it the subject of a statement, or reject it.
const REFUSING_NEXT_WORDS: [&str; 44] = [
    "is",
    "was",
    "are",
    "has",
    "had",
    "does",
    "did",
    "isn't",
    "isn’t",
    "wasn't",
    "wasn’t",
    "doesn't",
    "doesn’t",
    "didn't",
    "didn’t",
    "can",
    "can't",
    "can’t",
    "could",
    "should",
    "will",
    "would",
    "might",
    "seems",
    "looks",
    "fails",
    "failed",
    "works",
    "worked",
    "hangs",
    "crashed",
    "and",
    "or",
    "vs",
    "은",
    "는",
    "안",
    "없이",
    "말고",
    "빼고",
    "대신",
    "그만",
    "스킵",
    "명령이",
];
/// Parts of words soon after the keyword that reject it, or ask about it.
const LATER_REFUSALS: [&str; 18] = [
    "later",
    "하지마",
    "하지 마",
    "멈춰",
    "쓰지",
    "사용하지",
    "이용하지",
    "돌리지",
    "켜지",
    "시작하지",
    "안 쓰",
    "제외",
    "금지",
    "취소",
    "뭐",
    "설명",
    "대해",
    "알려",
];
/// Words before or after the keyword that are searched for these.
const WINDOW_WORDS: usize = 5;

/// The pipeline requested by the first keyword used as an instruction: at the beginning of a
/// sentence, as the means of one, or on its own at the end.
#[must_use]
pub fn routed_pipeline(prompt: &str) -> Option<RoutedPipeline> {
    if !prompt.contains(KEYWORD) || is_from_host(prompt) {
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

/// The kind requested by the keyword at a position; `None` if it is part of another word.
fn kind_at(text: &str, at: usize) -> Option<RoutedPipeline> {
    let (before, after) = (&text[..at], &text[at + KEYWORD.len()..]);
    let is_joined = |it: char| it.is_alphanumeric() || "_-./\\@#:$~=<%&+|".contains(it);
    if before.ends_with(is_joined) {
        return None;
    }
    let (after, is_means) = after_keyword(after)?;
    let (kind, rest) = kind_and_rest(after);
    let has_goal = [before, rest].iter().any(|part| part.contains(char::is_alphanumeric));
    let is_instruction = begins_sentence(before) || is_means || is_used(before);
    if !has_goal || !is_instruction || is_turned_down(before, rest) {
        return None;
    }
    Some(kind)
}

/// The kind after the keyword, and the text after it.
fn kind_and_rest(after: &str) -> (RoutedPipeline, &str) {
    let (first, rest) = first_word(after.trim_start_matches([',', ' ', '\t']));
    match first.as_str() {
        "small" | "quick" | "light" => (RoutedPipeline::Small, rest),
        "bugfix" | "bug-fix" => (RoutedPipeline::Bugfix, rest),
        "bug" if first_word(rest.trim_start()).0 == "fix" => (RoutedPipeline::Bugfix, rest),
        _ => (RoutedPipeline::Full, after),
    }
}

/// The Latin letters and hyphens at the beginning of a text, in lower case, and the rest.
fn first_word(text: &str) -> (String, &str) {
    let end = text.find(|it: char| !it.is_ascii_alphabetic() && it != '-').unwrap_or(text.len());
    (text[..end].to_ascii_lowercase(), &text[end..])
}

/// The text after the keyword and its particle, and true if the particle makes the keyword a means;
/// `None` if the word continues.
fn after_keyword(after: &str) -> Option<(&str, bool)> {
    let is_word_end = |rest: &str| !rest.starts_with(|it: char| it.is_alphanumeric() || it == '_');
    let spaced = after.strip_prefix(' ').unwrap_or(after);
    let mut ends = MEANS.iter().filter_map(|word| spaced.strip_prefix(word));
    if let Some(rest) = ends.find(|rest| is_word_end(rest)) {
        return Some((rest, true));
    }
    let mut characters = after.chars();
    match (characters.next(), characters.next()) {
        (Some(next), _) if next.is_alphanumeric() || "_-/\\(=@#$'’<".contains(next) => None,
        // `uam.js` and `uam:run` are identifiers, `uam: do it` is not.
        (Some('.' | ':'), Some(next)) if !next.is_whitespace() => None,
        _ => Some((after, false)),
    }
}

/// True if the text before the keyword ends a sentence or a clause.
fn begins_sentence(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    // Markdown's indented code.
    if line.starts_with("    ") || line.starts_with('\t') {
        return false;
    }
    let line = line.trim_end();
    let is_end = |it: char| ".!?;,。…".contains(it);
    line.is_empty()
        || line.ends_with(is_end)
        || line.ends_with("please")
        || line.ends_with("Please")
        || KOREAN_ENDS.iter().any(|end| line.ends_with(end))
}

/// True if the words before the keyword mark it as a means: `use uam`, `with a uam`.
fn is_used(before: &str) -> bool {
    let mut words = before.split_whitespace().rev().map(str::to_lowercase);
    let last = words.next().unwrap_or_default();
    let word = if ARTICLES.contains(&last.as_str()) { words.next() } else { Some(last) };
    word.is_some_and(|word| USES.contains(&word.as_str()))
}

/// True if the sentence rejects the keyword, is about it, or asks about it.
fn is_turned_down(before: &str, after: &str) -> bool {
    let is_end = |it: char| ".!?;\n。".contains(it);
    let sentence = before.rsplit(is_end).next().unwrap_or_default().to_lowercase();
    let sentence = sentence.replace("don't forget", "").replace("do not forget", "");
    let is_outside = |it: char| !it.is_alphanumeric() && it != '\'' && it != '’';
    let words = sentence.split(is_outside).filter(|word| !word.is_empty());
    if words.rev().take(WINDOW_WORDS).any(|word| REFUSALS.contains(&word)) {
        return true;
    }
    let clause = after.split(is_end).next().unwrap_or_default();
    let later: Vec<&str> = clause.split_whitespace().take(WINDOW_WORDS).collect();
    // The goal begins after a comma or a colon.
    let next = later.first().filter(|_| after.starts_with(char::is_whitespace));
    let next = next.map(|word| word.trim_matches(is_outside).to_lowercase());
    let later = later.join(" ");
    next.is_some_and(|next| REFUSING_NEXT_WORDS.contains(&next.as_str()))
        || LATER_REFUSALS.iter().any(|part| later.contains(part))
        // As in `why uam?`.
        || after.trim_start().starts_with('?')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Prompts of an independent tester without a request for a pipeline.
    const MENTIONS: &[&str] = &[
        "uam을 쓰지 마",
        "uam 없이 로그인 폼을 추가해줘",
        "uam 말고 그냥 해줘",
        "uam 쓰지 말고 버튼 추가",
        "uam은 사용하지 마세요",
        "uam 하지마",
        "uam이 뭐야?",
        "uam은 무엇인가요",
        "uam이 뭔지 설명해줘",
        "uam 명령이 왜 안 되지",
        "uam 금지",
        "uam 안 써도 돼, 버튼 추가해줘",
        "uam 은 필요 없어",
        "uam 제외하고 진행",
        "uam 대신 그냥 고쳐줘",
        "uam 파이프라인을 취소해줘",
        "uam 멈춰",
        "uam 그만",
        "uam 스킵",
        "don't use uam, just add a button",
        "do not start uam",
        "no uam please",
        "without uam: add a button",
        "never uam",
        "skip uam and add a button",
        "stop uam",
        "cancel uam",
        "cancel the uam pipeline",
        "what is uam?",
        "how does uam work",
        "explain uam",
        "Explain what uam small does",
        "tell me about uam",
        "is uam useful",
        "why did uam fail",
        "I dislike uam",
        "uam is broken",
        "uam failed yesterday, look at the log",
        "the uam command hangs",
        "fix the uam parser in src/uam.rs",
        "rename the function uam to start",
        "rename uam to start",
        "add a test for uam routing",
        "the variable uam is unused",
        "remove uam from the code",
        "delete the word uam",
        "grep for uam in the repo",
        "the docs mention uam",
        "instead of uam use a loop",
        "rather than uam just edit it",
        "avoid uam here",
        "you should not uam this",
        "isn't uam overkill here",
        "uam?",
        "should we uam this?",
        "the word \"uam\" appears in the log",
        "the word 'uam' appears",
        "`uam` is a word",
        "run `uam add x`",
        "“uam” 이라는 단어",
        "「uam」 입니다",
        "‘uam’ appears",
        "«uam» appears",
        "```\nuam add x\n```\nwhat is this code",
        "~~~\nuam add x\n~~~",
        "    uam add x\n\nexplain the code",
        "> uam add login\n\nmy colleague wrote this",
        "see src/uam/mod.rs",
        "see uam/mod.rs",
        "open uam.py",
        "uam.md has the text",
        "https://example.com/uam is down",
        "https://example.com/?q=uam is down",
        "https://example.com/#uam is down",
        "www.example.com/uam down",
        "mail uam@example.com",
        "@uam look at this",
        "#uam",
        "$uam is unset",
        "--uam flag fails",
        "-uam",
        "uam=1 make",
        "key: uam_value",
        "uam-small is nice",
        "the /uam command",
        "/uam-status",
        "UAM add a login",
        "Uam add login",
        "guam is an island",
        "quam",
        "uams",
        "the University of Amsterdam (uam) site",
        "<!-- uam --> add a login",
        "<system-reminder>uam add x</system-reminder> hello",
        "[moai-ralph] uam add x",
        "<task-notification>uam add x</task-notification>",
        "This session is being continued from a previous conversation. uam add login was the request.",
        "<command-name>/uam</command-name>",
        "<local-command-stdout>uam add x</local-command-stdout>",
        "u\u{200b}am add login",
        "Here is the log:\nERROR uam started\nERROR uam failed\nplease fix",
        "commit message was: uam: fix login",
        "git log shows 'feat: uam' as subject",
        "git commit -m uam",
        "$ uam add x\ncommand not found",
        "- uam\n- loop\nwhich of these is better?",
        "| uam | loop |\n|---|---|\ncompare",
        "{\"mode\": \"uam\"}",
        "mode=uam in config",
        "in the plan we said that uam would start when approved",
        "When I type uam, what happens",
        "I typed uam by accident",
        "uam was a mistake, forget it",
        "forget uam",
        "ignore uam",
        "disable uam",
        "translate 'uam' to Korean",
        "translate to Korean: uam is a good mode",
        "I will start uam later, first add a button",
        "uam",
        "uam:",
        "uam small",
    ];

    fn check(expected: Option<RoutedPipeline>, prompts: &[&str]) {
        let wrong: Vec<&&str> =
            prompts.iter().filter(|prompt| routed_pipeline(prompt) != expected).collect();
        assert!(wrong.is_empty(), "not {expected:?}: {wrong:#?}");
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

    /// Prompts of an independent tester.
    #[test]
    fn an_instruction_of_any_form_asks_for_a_pipeline() {
        check(
            Some(RoutedPipeline::Full),
            &[
                "uam add a login form",
                "please do uam: add a login form",
                "로그인 폼을 추가해줘 uam",
                "uam으로 로그인 폼을 추가해줘",
                "uam 로그인 폼을 만들어줘",
                "uam로 해줘: 로그인",
                "이 작업은 uam으로 진행해주세요",
                "uam모드로 로그인 구현",
                "uam을 써서 구현해줘",
                "please uam the login form",
                "uam, add login",
                "Add login. uam",
                "uam large add login",
                "uam small-talk feature",
                "uam smaller buttons",
                "uam bugfixes page",
                "uam fix the bug",
                "uam 작게 버튼",
                "don't forget to use uam for the login",
                "do not stop before it works; uam add login",
                "I don't like the button. uam make it blue",
                "uam add a login that does not crash",
                "uam: what is the best login? build it",
                "no. uam add login",
                "uam don't touch tests, add login",
                "uam 테스트는 건드리지 말고 로그인 추가",
                "버그가 없어야 해. uam 로그인 추가",
            ],
        );
        check(
            Some(RoutedPipeline::Small),
            &["uam small add a button", "uam small 버튼을 추가해줘", "uam  small   add x"],
        );
        check(
            Some(RoutedPipeline::Bugfix),
            &["uam bugfix the login crashes", "uam bugfix 로그인이 죽어요"],
        );
    }

    #[test]
    fn a_mention_does_not() {
        check(None, MENTIONS);
    }

    #[test]
    fn a_long_prompt_is_read_at_its_beginning() {
        let long = "가".repeat(ROUTED_PROMPT_BYTES_MAX);
        assert_eq!(routed_pipeline(&format!("{long} uam")), None);
        assert_eq!(routed_pipeline(&format!("uam {long}")), Some(RoutedPipeline::Full));
        assert_eq!(routed_pipeline(&"`".repeat(20_000)), None);
    }
}
