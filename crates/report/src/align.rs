//! The texts of the alignment before a loop: the instructions of the agent, and refusals while a
//! blocking question is open.

use std::fmt::Write as _;

use super::agent::truncate_text;
use super::count_noun;
use moai_base::foreign_text::one_line;
use moai_base::limits::{GAP_CHARS_MAX, QUESTIONS_NAMED_MAX, TASK_CHARS_MAX};
use moai_loops::align;
use moai_loops::framework::{MessageLanguage, language_of};

/// The context of `/moai-align`. `is_there`: the file exists already.
#[must_use]
pub fn instructions(task: &str, is_there: bool) -> String {
    let language = language_of(task);
    let (head, task_head) = match (language, is_there) {
        (MessageLanguage::English, false) => (
            "[moai-ralph] Alignment before a loop. Change no source file. Read what you need of \
             the project, then write .claude/gulf-align.md in the form below: fill in every entry \
             from the task and the code, and invent nothing.",
            "Task",
        ),
        (MessageLanguage::English, true) => (
            "[moai-ralph] Alignment before a loop. Change no source file. .claude/gulf-align.md \
             exists: update its four parts (the form is below), keep what still holds, and leave \
             every \"Loop completed\" part as it is.",
            "Task",
        ),
        (MessageLanguage::Korean, false) => (
            "[moai-ralph] 루프 전 정렬입니다. 소스 파일을 고치지 마세요. 프로젝트에서 필요한 것을 읽고 \
             아래 형식으로 .claude/gulf-align.md를 쓰세요. 작업과 코드에서 알 수 있는 것으로 모든 항목을 \
             채우고, 지어내지 마세요. 제목과 항목 이름은 그대로 두세요.",
            "작업",
        ),
        (MessageLanguage::Korean, true) => (
            "[moai-ralph] 루프 전 정렬입니다. 소스 파일을 고치지 마세요. .claude/gulf-align.md가 이미 \
             있습니다. 네 부분을 최신으로 고치고(형식은 아래), 아직 맞는 내용과 \"Loop completed\" \
             부분은 그대로 두세요.",
            "작업",
        ),
    };
    let questions = match language {
        MessageLanguage::English => {
            "Put under \"Blocking questions\" only what you can neither find out nor safely \
             assume, one line `- [ ] question` each, or `none`. Then ask the user these questions. \
             Tick each answered one and write the answer after it: `- [x] question → answer`. A \
             loop does not start while one is open."
        }
        MessageLanguage::Korean => {
            "\"Blocking questions\"에는 알아낼 수도 안전하게 가정할 수도 없는 것만 한 줄에 하나씩 \
             `- [ ] 질문`으로 쓰고, 없으면 `none`이라고 쓰세요. 그런 다음 사용자에게 물어보세요. \
             답을 들으면 `- [x] 질문 → 답`으로 고치세요. 열린 질문이 있으면 루프가 시작되지 않습니다."
        }
    };
    let task = truncate_text(task.trim(), TASK_CHARS_MAX, "see the command as typed");
    let shown = if task.is_empty() { String::new() } else { format!("{task_head}:\n{task}\n\n") };
    let form = align::render(&align::blank_alignment(""));
    format!("{head}\n\n{shown}{questions}\n\n{form}")
}

/// Why no loop is started while the alignment cannot be read.
#[must_use]
pub fn unread(reason: &str) -> String {
    format!(
        "no loop started: .claude/gulf-align.md cannot be read ({}), and a question in it may \
         be open\nMake it readable or remove it, then start again.",
        one_line(reason, GAP_CHARS_MAX)
    )
}

/// Why no loop is started.
#[must_use]
pub fn unanswered_refusal(questions: &[String]) -> String {
    let mut text = format!(
        "no loop started: {} in .claude/gulf-align.md {} no answer yet",
        count_noun(questions.len(), "blocking question"),
        if questions.len() == 1 { "has" } else { "have" }
    );
    for question in questions.iter().take(QUESTIONS_NAMED_MAX) {
        let _ = write!(text, "\n  - {}", one_line(question, GAP_CHARS_MAX));
    }
    if let Some(more) = questions.len().checked_sub(QUESTIONS_NAMED_MAX).filter(|more| *more > 0) {
        let _ = write!(text, "\n  … and {more} more");
    }
    text.push_str(
        "\nWrite each answer after its question (`- [x] question → answer`), then start again.",
    );
    text
}

/// A file of the loop that could not be read or written; the loop continues without it.
#[must_use]
pub fn file_not_saved(path: &str, reason: &str) -> String {
    format!("[moai-ralph] {path} was not changed: {}", one_line(reason, GAP_CHARS_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_agent_gets_the_form_and_the_task_unchanged() {
        let text = instructions("log in \"all\" $(users)", false);
        assert!(text.starts_with("[moai-ralph] "), "{text}");
        assert!(text.contains("Task:\nlog in \"all\" $(users)\n"), "{text}");
        assert!(text.contains("## Gulf of Envisioning — Gap Check\n"), "{text}");
        assert!(!instructions("", false).contains("Task:"));
        assert!(instructions("로그인을 만들어줘", true).contains("이미"));
    }

    #[test]
    fn a_refusal_names_the_questions_and_the_way_on() {
        let one = unanswered_refusal(&["Which database?".to_owned()]);
        assert!(
            one.contains("1 blocking question in .claude/gulf-align.md has no answer"),
            "{one}"
        );
        assert!(one.contains("\n  - Which database?\n"), "{one}");
        let many: Vec<String> = (0..12).map(|number| format!("q{number}?")).collect();
        let many = unanswered_refusal(&many);
        assert!(many.contains("q9?\n  … and 2 more\n") && !many.contains("q10?"), "{many}");
    }
}
