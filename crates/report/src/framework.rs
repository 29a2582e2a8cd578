//! Instructions for an iteration of a loop, in English and Korean. Names of files and fields are the same in
//! both languages because the program parses them later.

use std::fmt::Write as _;

use moai_loops::framework::{IterationFramework, IterationPhase, MessageLanguage};
use moai_loops::state::Mode;

/// The form of `progress.txt` at the end of a working iteration.
const PROGRESS: &str = "\
ORIGINAL_GOAL: [the task in one line; never changes]
ITERATION: [N]
COMPLETED:
- [what, why (confidence: 0-100)]
DECISIONS:
- chose: [X], rejected: [Y], reason: [why], revisit_if: [condition]
UNCERTAINTIES:
- [what is not verified]
REMAINING_GAP:
- [next steps]
CONFIDENCE: [0-100]
";

/// The form at the end of the research.
const RESEARCH: &str = "\
ORIGINAL_GOAL: [the task in one line; never changes]
ITERATION: 1 (research phase)
STRENGTHS:
- [what works and must stay]
RISKS:
- [ranked]
GAPS:
- [what is left open]
APPROACHES_CONSIDERED:
- [approach A]: [why rejected]
APPROACH:
[one paragraph: what, in what order, and why over alternatives]
CONFIDENCE: [30–100]
";

/// The sentences of one language.
struct FrameworkTexts {
    orient: &'static str,
    feedback: &'static str,
    memory_read: &'static str,
    work: &'static str,
    alone: &'static str,
    progress: &'static str,
    memory_write: &'static str,
    always: &'static str,
    research: &'static str,
    memory_research: &'static str,
    research_end: &'static str,
    remind_work: &'static str,
    remind_feedback: &'static str,
    remind_alone: &'static str,
    remind_always: &'static str,
    remind_research: &'static str,
}

const ENGLISH: FrameworkTexts = FrameworkTexts {
    orient: "0. Orient yourself briefly (at most a fifth of your effort): git log --oneline -10, \
             progress.txt, .claude/gulf-align.md where it exists",
    feedback: ", JUDGE_FEEDBACK.md (why you were rejected; answer each point)",
    memory_read: ", .claude/memory/INDEX.md and only those links that matter now",
    work: "1. Take one step from REMAINING_GAP and finish it: one feature, one fix or one test.\n\
           2. Search before you write: what seems missing may exist under another name.\n\
           3. Write it completely, without placeholders.\n\
           4. Run tests, linter and type checker. When they pass, commit (if the project \
           uses git) and give the reason in the message.",
    alone: " Also record what you ruled out: nobody is watching or answers questions, and the log \
            is the only account of your decisions.",
    progress: "5. Update progress.txt with these fields:\n",
    memory_write: "6. Note in .claude/memory/: loops/current.md (what you did), map.md, \
                   constraints.md (append only), decisions/<topic>.md, linked in INDEX.md.\n",
    always: "Always: a failing test means that the code is wrong, so never delete, skip or weaken \
             one. Never hard-code values for the inputs of a test. Fix findings; do not silence them.",
    research: "This iteration is research: change no source file yet. Look at the task as its \
               defender (what works and must stay), critic (which assumption is wrong), scout \
               (where the obvious way breaks) and gap finder (what is left open). Weigh the four \
               views and write progress.txt with these fields:\n",
    memory_research: "Write goals and what counts as done into .claude/memory/spec.md, and start \
                      loops/current.md there.\n",
    research_end: "Then end your turn. APPROACH needs at least 50 characters, \
                   APPROACHES_CONSIDERED at least one entry, CONFIDENCE at least 30; the work \
                   starts in the next iteration.",
    remind_work: "Take one step from REMAINING_GAP, finish and test it; then commit and update \
                  progress.txt.",
    remind_feedback: " Answer each point of JUDGE_FEEDBACK.md.",
    remind_alone: " Record what you ruled out: nobody is watching.",
    remind_always: " Never weaken a test.",
    remind_research: "Continue the research: change no source file, complete progress.txt, then end \
                      your turn.",
};

const KOREAN: FrameworkTexts = FrameworkTexts {
    orient: "0. 먼저 짧게 파악하세요(전체 노력의 1/5 이내): git log --oneline -10, progress.txt, \
             있으면 .claude/gulf-align.md",
    feedback: ", JUDGE_FEEDBACK.md(거절된 이유. 하나씩 모두 답할 것)",
    memory_read: ", .claude/memory/INDEX.md와 지금 필요한 링크만",
    work: "1. REMAINING_GAP에서 한 가지만 골라 끝내세요: 기능 하나, 수정 하나 또는 테스트 하나.\n\
           2. 쓰기 전에 검색하세요. 없어 보이는 것이 다른 이름으로 있을 수 있습니다.\n\
           3. 빈 자리표시 없이 완전하게 구현하세요.\n\
           4. 테스트, 린터, 타입 검사를 실행하세요. 모두 통과하면 git이 있는 곳에서는 커밋하고, \
           왜 이렇게 했는지 메시지에 쓰세요.",
    alone: " 배제한 방법도 쓰세요. 지켜보거나 질문에 답할 사람이 없고, 기록은 커밋 로그뿐입니다.",
    progress: "5. progress.txt를 다음 필드로 갱신하세요(필드 이름은 그대로):\n",
    memory_write: "6. .claude/memory/에 남기세요: loops/current.md(한 일), map.md, \
                   constraints.md(추가만), decisions/<주제>.md. INDEX.md에 링크하세요.\n",
    always: "항상: 실패하는 테스트는 코드가 틀렸다는 뜻입니다. 테스트를 지우거나 건너뛰거나 \
             약하게 만들지 마세요. 테스트 입력에만 맞춘 값을 넣지 마세요. 지적 사항은 숨기지 말고 \
             고치세요.",
    research: "이번 반복은 조사입니다. 아직 소스 파일을 고치지 마세요. 작업을 네 관점에서 보세요: \
               옹호자(잘 되고 있어 지켜야 할 것), 비판자(틀린 가정), 정찰자(뻔한 방법이 깨지는 곳), \
               빈틈 찾기(정해지지 않은 것). 서로 견주어 본 다음 progress.txt를 다음 필드로 \
               쓰세요(필드 이름은 그대로):\n",
    memory_research: "목표와 완료 기준을 .claude/memory/spec.md에 쓰고, 그곳의 loops/current.md를 \
                      시작하세요.\n",
    research_end: "그런 다음 턴을 끝내세요. APPROACH는 50자 이상, APPROACHES_CONSIDERED는 한 항목 \
                   이상, CONFIDENCE는 30 이상이어야 합니다. 구현은 다음 반복에서 시작합니다.",
    remind_work: "REMAINING_GAP에서 하나만 끝내고 테스트한 뒤, 커밋하고 progress.txt를 갱신하세요.",
    remind_feedback: " JUDGE_FEEDBACK.md에 하나씩 답하세요.",
    remind_alone: " 지켜보는 사람이 없으니 배제한 방법도 남기세요.",
    remind_always: " 테스트를 약하게 만들지 마세요.",
    remind_research: "조사를 계속하세요. 소스 파일은 고치지 말고 progress.txt를 완성한 다음 턴을 끝내세요.",
};

fn framework_texts(language: MessageLanguage) -> &'static FrameworkTexts {
    match language {
        MessageLanguage::English => &ENGLISH,
        MessageLanguage::Korean => &KOREAN,
    }
}

/// The instructions of an iteration, at most `FRAMEWORK_CHARS_MAX` characters.
#[must_use]
pub(crate) fn instructions(framework: IterationFramework) -> String {
    let words = framework_texts(framework.language);
    let with = |is_wanted: bool, text: &'static str| if is_wanted { text } else { "" };
    let memory = framework.has_memory;
    let is_judged = framework.mode == Mode::Judge || framework.mode == Mode::Autonomous;
    let mut text = format!(
        "{}{}{}\n",
        words.orient,
        with(is_judged && framework.phase == IterationPhase::Work, words.feedback),
        with(memory, words.memory_read)
    );
    match framework.phase {
        IterationPhase::Research => {
            let note = with(memory, words.memory_research);
            let _ = write!(text, "{}{RESEARCH}{note}{}", words.research, words.research_end);
        }
        IterationPhase::Work => {
            let alone = with(framework.mode == Mode::Autonomous, words.alone);
            let note = with(memory, words.memory_write);
            let _ = write!(
                text,
                "{}{alone}\n{}{PROGRESS}{note}{}",
                words.work, words.progress, words.always
            );
        }
    }
    text
}

/// The instructions in a sentence or two, repeated at each Stop.
#[must_use]
pub(crate) fn reminder(framework: IterationFramework) -> String {
    let words = framework_texts(framework.language);
    if framework.phase == IterationPhase::Research {
        return words.remind_research.to_owned();
    }
    let is_judged = framework.mode != Mode::Basic;
    let feedback = if is_judged { words.remind_feedback } else { "" };
    let alone = if framework.mode == Mode::Autonomous { words.remind_alone } else { "" };
    format!("{}{alone}{feedback}{}", words.remind_work, words.remind_always)
}

/// The open items of the agent's own notes; empty without any.
#[must_use]
pub(crate) fn remaining(language: MessageLanguage, gap: &[String]) -> String {
    let head = match language {
        MessageLanguage::English => {
            "Open from your last iteration (REMAINING_GAP in progress.txt):"
        }
        MessageLanguage::Korean => "남겨 둔 일(progress.txt의 REMAINING_GAP):",
    };
    list(head, gap)
}

/// Asks for a shorter hand-off.
#[must_use]
pub(crate) fn too_long(language: MessageLanguage, line_count: usize) -> String {
    match language {
        MessageLanguage::English => format!(
            "progress.txt has {line_count} lines: cut it down to what the next iteration needs; \
             decisions.md keeps the decisions."
        ),
        MessageLanguage::Korean => format!(
            "progress.txt가 {line_count}줄입니다. 다음 반복에 필요한 것만 남기고 줄이세요. 결정은 \
             decisions.md에 보관됩니다."
        ),
    }
}

/// The missing parts of the research; empty when complete.
#[must_use]
pub(crate) fn research_lacks(language: MessageLanguage, missing: &[String]) -> String {
    let head = match language {
        MessageLanguage::English => "The research is not finished yet. In progress.txt:",
        MessageLanguage::Korean => "조사가 아직 끝나지 않았습니다. progress.txt에서:",
    };
    list(head, missing)
}

/// Replaces the pause for review in autonomous mode: a new approach.
#[must_use]
pub(crate) fn strategy_reset(language: MessageLanguage, rejections: u32) -> String {
    match language {
        MessageLanguage::English => format!(
            "Rejected {rejections} times in a row: do not refine this approach again. Read all of \
             JUDGE_FEEDBACK.md, name the common cause of the rejections in progress.txt, and take \
             an approach without it; record the old one as rejected."
        ),
        MessageLanguage::Korean => format!(
            "{rejections}번 연속 거절되었습니다. 같은 방법을 다시 다듬지 마세요. JUDGE_FEEDBACK.md를 \
             모두 읽고 거절의 공통 원인 하나를 progress.txt에 쓴 다음, 그 원인이 없는 다른 방법을 \
             택하세요. 이전 방법은 거절한 것으로 기록하세요."
        ),
    }
}

fn list(head: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    lines.iter().fold(format!("{head}\n"), |mut text, line| {
        let _ = writeln!(text, "  - {line}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::limits::{
        APPROACH_CHARS_MIN, CONFIDENCE_MIN, FRAMEWORK_CHARS_MAX, REMINDER_BYTES_MAX,
    };
    use moai_loops::handoff;
    use moai_loops::research::{ResearchGate, research_gate};

    const MODES: [Mode; 3] = [Mode::Basic, Mode::Judge, Mode::Autonomous];

    fn text(prompt: &str, mode: Mode, is_research: bool, has_memory: bool) -> String {
        instructions(IterationFramework::choose(prompt, mode, is_research, has_memory))
    }

    #[test]
    fn every_choice_is_short_and_in_the_language_of_the_task() {
        for prompt in ["fix it", "고쳐줘"] {
            for mode in MODES {
                for (is_research, has_memory) in [(true, true), (false, true), (false, false)] {
                    let text = text(prompt, mode, is_research, has_memory);
                    let count = text.chars().count();
                    assert!((300..=FRAMEWORK_CHARS_MAX).contains(&count), "{count}: {text}");
                    assert_eq!(text.contains("하세요"), prompt == "고쳐줘", "{text}");
                    assert_eq!(text.contains(".claude/memory/"), has_memory, "{text}");
                }
            }
        }
    }

    #[test]
    fn what_is_repeated_at_each_stop_is_a_sentence_or_two() {
        for prompt in ["fix it", "고쳐줘"] {
            for mode in MODES {
                for is_research in [true, false] {
                    let text =
                        reminder(IterationFramework::choose(prompt, mode, is_research, true));
                    assert!(text.len() <= REMINDER_BYTES_MAX, "{}: {text}", text.len());
                    assert!(text.contains("progress.txt"), "{text}");
                    let is_korean = text.contains("하세요") || text.contains("마세요");
                    assert_eq!(is_korean, prompt == "고쳐줘", "{text}");
                }
            }
        }
    }

    #[test]
    fn modes_and_phases_differ_where_they_should() {
        let [basic, judge, alone] = MODES.map(|mode| text("fix it", mode, false, false));
        assert!(!basic.contains("JUDGE_FEEDBACK.md") && judge.contains("JUDGE_FEEDBACK.md"));
        assert!(!judge.contains("nobody") && alone.contains("nobody is watching"));
        let research = text("fix it", Mode::Judge, true, false);
        assert!(research.contains("change no source file") && !research.contains("commit"));
        assert!(basic.contains("commit"));
        for bound in [APPROACH_CHARS_MIN.to_string(), CONFIDENCE_MIN.to_string()] {
            assert!(research.contains(&bound), "{bound}");
        }
    }

    #[test]
    fn the_forms_are_understood_and_do_not_pass_as_they_are() {
        match research_gate(Some(RESEARCH)) {
            ResearchGate::Missing(lines) => assert_eq!(lines.len(), 3, "{lines:?}"),
            ResearchGate::Passed => panic!("a blank form passed"),
        }
        assert_eq!(handoff::with_decisions("", PROGRESS, 1), None);
        assert_eq!(handoff::remaining_gap(PROGRESS), [""; 0]);
        assert_eq!(handoff::original_goal(PROGRESS), None);
        let filled = RESEARCH
            .replace(
                "[one paragraph: what, in what order, and why over alternatives]",
                &"way ".repeat(20),
            )
            .replace("[approach A]: [why rejected]", "rewrite: too large")
            .replace("[30–100]", "60");
        assert_eq!(research_gate(Some(&filled)), ResearchGate::Passed);
    }

    #[test]
    fn nothing_left_to_say_is_no_heading() {
        assert_eq!(remaining(MessageLanguage::English, &[]), "");
        let text = remaining(MessageLanguage::Korean, &["해싱".to_owned()]);
        assert_eq!(text, "남겨 둔 일(progress.txt의 REMAINING_GAP):\n  - 해싱\n");
        let lacks =
            research_lacks(MessageLanguage::English, &["APPROACH has 3 characters".to_owned()]);
        assert!(lacks.ends_with("  - APPROACH has 3 characters\n"), "{lacks}");
        assert!(too_long(MessageLanguage::English, 81).starts_with("progress.txt has 81 lines"));
        assert!(strategy_reset(MessageLanguage::English, 5).starts_with("Rejected 5 times"));
    }
}
