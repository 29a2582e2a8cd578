//! The user's prompts: the goal of a session, and sentences that record a decision.

use moai_base::foreign_text::{is_from_host, one_line};
use moai_base::limits::{OBSERVED_SENTENCES_MAX, OBSERVED_TITLE_CHARS_MAX};

use super::ObservationDraft;
use crate::clean::CleanText;
use crate::observation::Provenance;
use crate::ranking::ObservationKind;

/// Endings and words of a Korean sentence that records a decision.
const DECIDED_KOREAN: [&str; 37] = [
    "기로 했",
    "기로 하자",
    "기로 합시다",
    "기로 한다",
    "기로 하고",
    "기로 함",
    "기로 결정",
    "기로 정했",
    "기로 확정",
    "기로 합의",
    "결정했",
    "결정한다",
    "결정하자",
    "결정됐",
    "결정됨",
    "결정 사항",
    "결정사항",
    "결정:",
    "확정했",
    "으로 정했",
    "로 정하자",
    "으로 확정",
    "로 확정하",
    "으로 간다",
    "로 가자",
    "걸로 하자",
    "것으로 하자",
    "것으로 한다",
    "로 통일하",
    "로 통일한",
    "을 원칙으로",
    "를 원칙으로",
    "원칙:",
    "규칙:",
    "앞으로는 ",
    "앞으로 항상",
    "하지 않기로",
];

/// The same in English, in lower case.
const DECIDED_ENGLISH: [&str; 26] = [
    "we decided",
    "we've decided",
    "we have decided",
    "i decided",
    "i've decided",
    "i have decided",
    "decision:",
    "decided to ",
    "decided on ",
    "decided against",
    "let's go with",
    "lets go with",
    "we'll go with",
    "we will go with",
    "we are going with",
    "we're going with",
    "we chose",
    "we agreed",
    "we settled on",
    "settle on ",
    "from now on",
    "as a rule,",
    "our convention is",
    "the convention is",
    "we standardize on",
    "we will stick with",
];

/// Endings of a Korean question, even without a question mark.
const ASKED_KOREAN: [&str; 16] = [
    "까",
    "까요",
    "나요",
    "는지",
    "했지",
    "였지",
    "더라",
    "였더라",
    "했더라",
    "했나",
    "인가요",
    "을까",
    "건가",
    "는가",
    "알려줘",
    "알려 줘",
];

/// Beginnings of an English question or supposition, in lower case.
const ASKED_ENGLISH: [&str; 16] = [
    "what", "why", "when", "where", "which", "who", "how", "did ", "do ", "have we", "should ",
    "if ", "unless ", "can ", "could ", "tell me",
];

/// A prompt for the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedPrompt {
    /// The prompt without private passages and secrets.
    text: CleanText,
    /// The sentence that records a decision, if any.
    decision: Option<String>,
}

impl ObservedPrompt {
    /// Reads a prompt. `None` for a slash command, for text that the host writes on the user's
    /// behalf, and if nothing of it may be stored.
    #[must_use]
    pub fn read(prompt: &str) -> Option<Self> {
        if is_slash_command(prompt) || is_from_host(prompt) {
            return None;
        }
        let text = CleanText::of(prompt)?;
        let decision = sentences(text.as_str())
            .take(OBSERVED_SENTENCES_MAX)
            .find(|sentence| records_decision(sentence))
            .map(str::to_owned);
        Some(Self { text, decision })
    }

    /// The prompt without private passages and secrets.
    #[must_use]
    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    /// Its first sentence: the goal of the session whose first prompt it is.
    #[must_use]
    pub fn goal(&self) -> Option<CleanText> {
        let first = sentences(self.text.as_str()).next()?;
        CleanText::of(&one_line(first, OBSERVED_TITLE_CHARS_MAX))
    }

    /// The observation: a decision, titled with its sentence, or the prompt itself.
    #[must_use]
    pub fn draft(&self) -> ObservationDraft {
        let (kind, title) = match &self.decision {
            Some(sentence) => (ObservationKind::Decision, sentence.as_str()),
            None => (ObservationKind::Prompt, sentences(self.text()).next().unwrap_or_default()),
        };
        let is_whole =
            title.len() == self.text().len() && title.chars().count() <= OBSERVED_TITLE_CHARS_MAX;
        let body = if is_whole { String::new() } else { self.text().to_owned() };
        ObservationDraft { body, ..ObservationDraft::new(kind, Provenance::User, title.to_owned()) }
    }
}

/// True if a prompt is a command of the host or of a plugin, and not an absolute path.
#[must_use]
pub fn is_slash_command(prompt: &str) -> bool {
    let Some(rest) = prompt.trim_start().strip_prefix('/') else { return false };
    let name = rest.split(char::is_whitespace).next().unwrap_or_default();
    let is_of_name = |it: char| it.is_alphanumeric() || matches!(it, '-' | '_' | ':');
    name.starts_with(char::is_alphabetic) && name.chars().all(is_of_name)
}

/// The sentences and lines of a text, trimmed. Code blocks are skipped.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    let lines = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    lines.flat_map(sentences_of_line).filter(|sentence| !sentence.is_empty())
}

/// A sentence ends at `.`, `!`, `?` or `。` before a space, so that `v1.2` and `a.rs` are not split.
fn sentences_of_line(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut characters = line.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let is_before_blank = characters.peek().is_none_or(|(_, next)| next.is_whitespace());
        if character == '。' || matches!(character, '.' | '!' | '?') && is_before_blank {
            let end = at + character.len_utf8();
            sentences.push(line[start..end].trim());
            start = end;
        }
    }
    sentences.push(line[start..].trim());
    sentences
}

/// True if a sentence records a decision: it has one of the phrases and is not a question.
fn records_decision(sentence: &str) -> bool {
    let lower = sentence.to_lowercase();
    let bare = lower.trim_end_matches(|it: char| !it.is_alphanumeric());
    let is_asked = lower.trim_end().ends_with(['?', '？'])
        || ASKED_KOREAN.iter().any(|ending| bare.ends_with(ending))
        || ASKED_ENGLISH.iter().any(|beginning| lower.starts_with(beginning));
    // "앞으로" also means "forward"; with a topic particle the sentence states a rule.
    let is_rule = lower.starts_with("앞으로 ") && (lower.contains("은 ") || lower.contains("는 "));
    let has_phrase = is_rule
        || DECIDED_KOREAN.iter().any(|phrase| lower.contains(phrase))
        || DECIDED_ENGLISH.iter().any(|phrase| lower.contains(phrase));
    has_phrase && !is_asked
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind_of(prompt: &str) -> ObservationKind {
        ObservedPrompt::read(prompt).expect("something to keep").draft().kind
    }

    #[test]
    fn a_sentence_that_records_a_decision_is_one() {
        for prompt in [
            "인증은 JWT 대신 세션 쿠키를 쓰기로 했다.",
            "결제 재시도는 3번까지만 하기로 결정",
            "테스트는 앞으로는 vitest로 작성해줘",
            "로그 형식은 JSON으로 통일하자",
            "결정: 캐시는 Redis",
            "배포는 금요일에 하지 않기로 합의했어. 이제 스크립트를 고쳐줘",
            "DB는 PostgreSQL로 확정했습니다",
            "We decided to use argon2id for passwords.",
            "Let's go with the queue in Redis",
            "앞으로 커밋 메시지는 한국어로 써",
            "DB는 Postgres로 가자",
            "테스트는 vitest를 쓰는 걸로 하자",
            "decision: errors are values, never exceptions",
            "From now on, all dates are UTC.",
            "The old API stays. We agreed on v2 for new clients",
        ] {
            assert_eq!(kind_of(prompt), ObservationKind::Decision, "{prompt}");
        }
    }

    #[test]
    fn a_question_a_request_and_code_are_none() {
        for prompt in [
            "인증은 어떻게 하기로 했지?",
            "캐시 정책은 뭘로 결정했더라",
            "왜 Redis를 쓰기로 했는지 알려줘",
            "결제 모듈의 오류를 고쳐줘",
            "이 함수의 이름을 바꾸기로 하면 어떨까",
            "what did we decide about the cache?",
            "Why did we chose Redis",
            "If we decided to drop it, what breaks",
            "fix the login",
            "explain this:\n```\n// decision: keep it\n```",
            "로그인을 고쳐줘",
            "커서를 앞으로 이동해줘",
            "앞으로 이동 버튼을 추가해줘",
        ] {
            assert_eq!(kind_of(prompt), ObservationKind::Prompt, "{prompt}");
        }
    }

    #[test]
    fn the_title_is_the_sentence_that_matters() {
        let prompt = "auth.ts를 봐줘. 갱신 토큰은 회전하기로 했어! 그리고 v1.2를 배포해줘.";
        let read = ObservedPrompt::read(prompt).expect("kept");
        let draft = read.draft();
        assert_eq!(draft.title, "갱신 토큰은 회전하기로 했어!");
        assert_eq!(draft.body, prompt);
        assert_eq!(read.goal().as_ref().map(CleanText::as_str), Some("auth.ts를 봐줘."));
        let plain = ObservedPrompt::read("  fix src/a.rs now  ").expect("kept").draft();
        assert_eq!((plain.title.as_str(), plain.body.as_str()), ("fix src/a.rs now", ""));
    }

    #[test]
    fn commands_and_texts_of_the_host_are_not_kept() {
        for prompt in [
            "/moai-ralph:moai-loop fix it --max-iterations 3",
            "  /compact",
            "/모아이 시작",
            "<task-notification>done</task-notification>",
            "<private>only for this session</private>",
            "",
            " \n",
        ] {
            assert_eq!(ObservedPrompt::read(prompt), None, "{prompt:?}");
        }
        assert!(!is_slash_command("/src/auth/token.rs를 고쳐줘"));
        assert!(!is_slash_command("1/2 of the tests fail"));
    }

    #[test]
    fn private_passages_and_secrets_are_in_no_part() {
        let key = ["AKIA", "IOSFODNN7", "EXAMPLQ"].concat();
        let prompt =
            format!("결정: 키는 {key}로 하기로 했다. <private>비밀 계획</private> 캐시를 고쳐줘");
        let read = ObservedPrompt::read(&prompt).expect("kept");
        let draft = read.draft();
        let goal = read.goal().expect("a goal");
        for text in [&draft.title, &draft.body, goal.as_str()] {
            assert!(!text.contains(&key) && !text.contains("비밀 계획"), "{text}");
        }
        assert_eq!(draft.kind, ObservationKind::Decision);
    }
}
