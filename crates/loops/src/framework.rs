//! Chooses the instructions at the start of an iteration: language, mode, research or work. The
//! texts are in `report`.

use super::fences::FenceTracker;
use super::state::Mode;

/// The language of the texts for an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessageLanguage {
    #[default]
    English,
    Korean,
}

/// The purpose of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IterationPhase {
    /// Thinking before writing; ends at the research gate.
    Research,
    /// One small finished step.
    Work,
}

/// The instructions of an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IterationFramework {
    /// The task's language.
    pub language: MessageLanguage,
    /// The loop's mode.
    pub mode: Mode,
    /// The iteration's purpose.
    pub phase: IterationPhase,
    /// True if the loop keeps notes in `.claude/memory/`.
    pub has_memory: bool,
}

impl IterationFramework {
    /// The instructions for a task. `is_research`: the research gate has not been passed yet.
    #[must_use]
    pub fn choose(prompt: &str, mode: Mode, is_research: bool, has_memory: bool) -> Self {
        let phase = if is_research { IterationPhase::Research } else { IterationPhase::Work };
        Self { language: language_of(prompt), mode, phase, has_memory }
    }
}

/// The language of a task. Code is ignored; one syllable of Hangul weighs as much as three Latin
/// letters, because identifiers stay Latin in Korean sentences.
#[must_use]
pub fn language_of(prompt: &str) -> MessageLanguage {
    let (mut hangul, mut other) = (0_usize, 0_usize);
    for character in prose(prompt).chars() {
        if matches!(character, '가'..='힣' | 'ㄱ'..='ㆎ' | '\u{1100}'..='\u{11ff}') {
            hangul += 1;
        } else if character.is_alphabetic() {
            other += 1;
        }
    }
    if hangul > 0 && hangul * 3 >= other {
        MessageLanguage::Korean
    } else {
        MessageLanguage::English
    }
}

/// The text without code blocks and code spans.
fn prose(text: &str) -> String {
    let mut fences = FenceTracker::default();
    let mut kept = String::new();
    for line in text.lines() {
        if !fences.is_code(line) {
            let is_whole = line.matches('`').count() % 2 == 0;
            for (number, part) in line.split('`').enumerate() {
                if number % 2 == 0 || !is_whole {
                    kept.push_str(part);
                }
            }
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(prompt: &str, expected: MessageLanguage) {
        assert_eq!(language_of(prompt), expected, "{prompt}");
    }

    #[test]
    fn the_language_is_that_of_the_sentences() {
        check("fix the login", MessageLanguage::English);
        check("", MessageLanguage::English);
        check("로그인을 고쳐줘", MessageLanguage::Korean);
        check("auth.py의 login 함수에서 TypeError를 고쳐줘", MessageLanguage::Korean);
        check("translate '안녕하세요' into English in greeting.py", MessageLanguage::English);
        check(
            "이 오류를 고쳐줘\n```\nTypeError: unsupported operand type for +\n```",
            MessageLanguage::Korean,
        );
        check("fix the output `안녕하세요 여러분 반갑습니다` please", MessageLanguage::English);
        check("it's a ` here: 고쳐줘 고쳐줘", MessageLanguage::Korean);
        check("修正してください", MessageLanguage::English);
    }
}
