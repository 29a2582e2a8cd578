//! The faults of plans, reports and answers, which the crate of pipelines names in English, in Korean.

use super::BilingualPhrase;
use moai_loops::framework::MessageLanguage;

/// A fault in the language of the text that names it. One without a translation stays as it is.
pub(crate) fn fault_words(language: MessageLanguage, fault: &str) -> String {
    words_of(FAULTS, language, fault)
}

/// The reason why a TODO does not pass, in the language of the text that names it. Only reasons of the engine
/// itself are translated: the output of a command stays as it is.
pub(crate) fn reason_words(language: MessageLanguage, reason: &str) -> String {
    words_of(TODO_REASONS, language, reason)
}

/// How a claim begins that a run did not confirm.
pub(crate) fn claim_head_words(language: MessageLanguage, head: &str) -> String {
    words_of(CLAIM_HEADS, language, head)
}

fn words_of(phrases: &[BilingualPhrase], language: MessageLanguage, text: &str) -> String {
    if language == MessageLanguage::English {
        return text.to_owned();
    }
    let found = phrases.iter().find_map(|phrase| Some((phrase, phrase.parts_of(text)?)));
    found.map_or_else(|| text.to_owned(), |(phrase, parts)| phrase.with(language, &parts))
}

impl BilingualPhrase {
    /// The parts that fill the placeholders of the English text, which are in the order of their numbers;
    /// `None` for another text.
    fn parts_of<'t>(&self, text: &'t str) -> Option<Vec<&'t str>> {
        // Every second piece is the number of a placeholder.
        let mut literals = self.english.split(['{', '}']).step_by(2);
        let mut rest = text.strip_prefix(literals.next()?)?;
        let mut parts = Vec::new();
        let mut literals = literals.peekable();
        while let Some(literal) = literals.next() {
            let (part, after) = match literals.peek() {
                Some(_) => rest.split_once(literal)?,
                None => (rest.strip_suffix(literal)?, ""),
            };
            parts.push(part);
            rest = after;
        }
        rest.is_empty().then_some(parts)
    }
}

macro_rules! phrases_read_back {
    ($name:ident: $($english:literal, $korean:literal;)+) => {
        /// The more specific one comes first.
        const $name: &[BilingualPhrase] = &[$(BilingualPhrase::new($english, $korean)),+];
    };
}

phrases_read_back! { FAULTS:
    "the plan has no TODO: write `### [ ] TODO 1: title`",
        "계획에 TODO가 없습니다. `### [ ] TODO 1: 제목`처럼 쓰세요";
    "the plan has more than {0} TODOs", "계획의 TODO가 {0}개를 넘습니다";
    "the document is larger than {0} KiB", "문서가 {0}KiB보다 큽니다";
    "the block of code that begins here is not closed and hides what follows",
        "여기서 시작하는 코드 블록이 닫히지 않아 그 뒤가 가려집니다";
    "the comment that begins here is not closed and hides what follows",
        "여기서 시작하는 주석이 닫히지 않아 그 뒤가 가려집니다";
    "{0} has no checkbox: write `### [ ] TODO 1: title`, with [ ], [x] or [FAILED]",
        "{0}에 체크박스가 없습니다. `### [ ] TODO 1: 제목`처럼 쓰세요. 상태는 [ ], [x], [FAILED]입니다";
    "the checkbox of {0} is not closed: write `### [ ] TODO 1: title`, with [ ], [x] or [FAILED]",
        "{0}의 체크박스가 닫히지 않았습니다. `### [ ] TODO 1: 제목`처럼 쓰세요. 상태는 [ ], [x], [FAILED]입니다";
    "the TODO has no number: write `### [ ] TODO 1: title`, with [ ], [x] or [FAILED]",
        "TODO에 번호가 없습니다. `### [ ] TODO 1: 제목`처럼 쓰세요. 상태는 [ ], [x], [FAILED]입니다";
    "{0} is not a state of a TODO: write `### [ ] TODO 1: title`, with [ ], [x] or [FAILED]",
        "{0}{0:은} TODO의 상태가 아닙니다. `### [ ] TODO 1: 제목`처럼 쓰세요. 상태는 [ ], [x], [FAILED]입니다";
    "{0} has no title", "{0}에 제목이 없습니다";
    "the title of {0} is not filled in", "{0}의 제목을 채우지 않았습니다";
    "{0} is also on line {1}", "{0}{0:이} {1}번째 줄에도 있습니다";
    "{0} has no acceptance item: write `- [A] `command``",
        "{0}에 인수 항목이 없습니다. `- [A] `명령``을 쓰세요";
    "{0} depends on {1}, which does not exist", "{0}{0:이} 의존하는 {1}{1:이} 없습니다";
    "the dependencies form a cycle: {0}", "의존 관계가 순환합니다: {0}";
    "{0} names no TODO, such as TODO-1", "{0}{0:은} TODO-1 같은 TODO의 이름이 아닙니다";
    "{0} is not a path below the root", "{0}{0:은} 프로젝트 루트 아래의 경로가 아닙니다";
    "{0} is not a risk: write LOW, MED or HIGH", "{0}{0:은} 위험도가 아닙니다. LOW, MED, HIGH 중 하나를 쓰세요";
    "{0} is not a complexity: write S, M or L", "{0}{0:은} 복잡도가 아닙니다. S, M, L 중 하나를 쓰세요";
    "{0} is no field: did you mean {1}?", "{0}{0:은} 필드가 아닙니다. {1}{1:을} 쓰려 했나요?";
    "{0} has no [A], [S] or [H]", "{0}에 [A], [S], [H] 중 하나가 없습니다";
    "{0} has more than {1} acceptance items", "{0}의 인수 항목이 {1}개를 넘습니다";
    "{0} has {1} twice", "{0}에 {1}{1:이} 두 번 있습니다";
    "steps[{0}].observed says nothing", "steps[{0}].observed에 내용이 없습니다";
    "{0} says nothing", "{0}에 내용이 없습니다";
    "{0} is an [A] item without a command in backticks", "[A] 항목 {0}에 백틱으로 감싼 명령이 없습니다";
    "{0} is not filled in", "{0}{0:을} 채우지 않았습니다";
    "{0} cannot run: it is a list: put it into a script of the project",
        "{0}{0:은} 목록이라 실행할 수 없습니다. 프로젝트의 스크립트에 넣으세요";
    "{0} cannot run: the command uses {1}, which only a shell understands: put it into a script of the project",
        "{0}의 명령은 셸에서만 통하는 {1}{1:을} 써서 실행할 수 없습니다. 프로젝트의 스크립트에 넣으세요";
    "{0} cannot run: the command is empty", "{0}{0:을} 실행할 수 없습니다. 명령이 비어 있습니다";
    "{0} cannot run: the command has an unclosed quote",
        "{0}{0:을} 실행할 수 없습니다. 명령의 따옴표가 닫히지 않았습니다";
    "{0} is met by no TODO: name it under Requirements in plan.md",
        "{0}{0:을} 맡은 TODO가 없습니다. plan.md의 Requirements에 쓰세요";
    "{0} names {1}, which spec.md does not have", "{0}{0:이} 가리키는 {1}{1:이} spec.md에 없습니다";
    "{0} names {1}, which acceptance.md does not have", "{0}{0:이} 가리키는 {1}{1:이} acceptance.md에 없습니다";
    "{0} is played by no [S] item of plan.md", "{0}{0:을} 수행하는 plan.md의 [S] 항목이 없습니다";
    "it was removed", "지워졌습니다";
    "its title was changed", "제목이 바뀌었습니다";
    "its dependencies were changed", "의존 관계가 바뀌었습니다";
    "its requirements were changed", "요구사항이 바뀌었습니다";
    "its files were changed", "파일이 바뀌었습니다";
    "{0} was removed", "{0}{0:이} 지워졌습니다";
    "{0} was changed", "{0}{0:이} 바뀌었습니다";

    "the last message has no JSON object: end with the report alone, not with prose",
        "마지막 메시지에 JSON 객체가 없습니다. 설명 없이 보고만으로 끝내세요";
    "the report is larger than {0} KiB", "보고가 {0}KiB보다 큽니다";
    "todo_id is {0}, but the task is {1}", "todo_id는 {0}인데 맡은 작업은 {1}입니다";
    "todo_id: {0} is no TODO", "todo_id: {0}{0:은} TODO가 아닙니다";
    "{0}: missing field `{1}`", "{0}: 필드 `{1}`{1:이} 없습니다";
    "{0} is not one of PASS, FAIL, PARTIAL", "{0}{0:은} PASS, FAIL, PARTIAL 중 하나가 아닙니다";
    "acceptance_criteria does not have {0}", "acceptance_criteria에 {0}{0:이} 없습니다";
    "status is PASS, but {0} is {1}", "status는 PASS인데 {0}{0:은} {1}입니다";
    "status is PASS, but {0} is not", "status는 PASS인데 {0}{0:은} 아닙니다";
    "status is not PASS, but every step is", "status는 PASS가 아닌데 모든 단계가 PASS입니다";
    "{0} has no item {1}", "{0}에 항목 {1}{1:이} 없습니다";
    "the approved plan has no scenario {0}", "승인된 계획에 시나리오 {0}{0:이} 없습니다";
    "steps has {0} entries, but {1} has {2} steps", "steps는 {0}개인데 {1}의 단계는 {2}개입니다";
    "steps is empty", "steps가 비어 있습니다";
    "{0} was not run to its end: {1}; play it again",
        "{0}{0:을} 끝까지 실행하지 못했습니다: {1}. 다시 수행하세요";
    "you have played {0} already: another agent plays the next run",
        "{0}{0:은} 이미 수행했습니다. 다음 실행은 다른 에이전트가 합니다";
    "{0} was played {1} times with these files", "지금의 파일로 {0}{0:을} 이미 {1}번 수행했습니다";
    "the last message has no JSON object with a scenario",
        "마지막 메시지에 scenario가 있는 JSON 객체가 없습니다";

    "the answer has no JSON object with commits", "답에 commits가 있는 JSON 객체가 없습니다";
    "the answer is larger than {0} KiB", "답이 {0}KiB보다 큽니다";
    "there is no commit", "커밋이 없습니다";
    "there are more than {0} commits", "커밋이 {0}개를 넘습니다";
    "commit {0} has no file", "커밋 {0}에 파일이 없습니다";
    "commit {0} names {1}, which was not changed", "커밋 {0}의 {1}{1:은} 바뀌지 않은 파일입니다";
    "{0} is in commit {1} and in commit {2}", "{0}{0:이} 커밋 {1}에도 커밋 {2}에도 있습니다";
    "{0} is in no commit", "{0}{0:이} 어느 커밋에도 없습니다";
    "commit {0} has no subject", "커밋 {0}에 제목이 없습니다";
    "the subject of commit {0} is longer than {1} characters", "커밋 {0}의 제목이 {1}자를 넘습니다";
    "the subject of commit {0} ends with a full stop", "커밋 {0}의 제목이 마침표로 끝납니다";
    "commit {0} has no blank line below its subject", "커밋 {0}의 제목 아래에 빈 줄이 없습니다";
    "the message of commit {0} has control characters", "커밋 {0}의 메시지에 제어 문자가 있습니다";

}

phrases_read_back! { CLAIM_HEADS:
    "was marked [{0}]", "[{0}]{0:으로} 표시됨";
    "its worker reported PASS", "워커가 PASS로 보고함";
    "a run of {0} was reported as PASS", "{0}의 실행이 PASS로 보고됨";
}

phrases_read_back! { TODO_REASONS:
    "not run with what was approved: {0}; restore it",
        "승인된 내용으로 실행하지 않음: {0}. 되돌리세요";
    "it passed, but weakened tests and checks were not looked for ({0})",
        "통과했지만 약화된 테스트와 검사를 찾지 못함({0})";
    "its worktree was not merged: {0}", "작업 트리가 병합되지 않음: {0}";
    "it has no command", "명령이 없음";
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_pipeline::plan::PlanDocument;
    use moai_pipeline::worker_report::WorkerReport;

    fn korean(fault: &str) -> String {
        fault_words(MessageLanguage::Korean, fault)
    }

    #[test]
    fn the_faults_of_a_plan_are_in_korean() {
        let plans = [
            "",
            "```\n### [ ] TODO 1: a",
            "### TODO 1: a\n- [A] `x`",
            "### [TODO 1: a\n- [A] `x`",
            "### [ ] TODO: a\n- [A] `x`",
            "### [?] TODO 1: a\n- [A] `x`",
            "### [ ] TODO 1:\n- [A] `x`\n### [ ] TODO 1: {title}\n",
            "### [ ] TODO 1: a\n- Dependencies: TODO-9, it\n- Files: /etc\n- Risk: x\n- Size: x\n- [A] x\n",
            "### [ ] TODO 1: a\n- Dependencies: TODO-1\n- [A] `a | b`\n- [A] `[a]`\n- [A] `'a`\n- [H]\n",
            "### [ ] TODO 1: a\n- Acceptance Criteria:\n  - it works\n- [A] AC-1: `x`\n- [A] AC-1: `y`\n",
        ];
        for plan in plans {
            let faults = PlanDocument::parse(plan).faults;
            assert!(!faults.is_empty(), "{plan}");
            for fault in faults {
                assert_ne!(korean(&fault.reason), fault.reason, "{plan}");
            }
        }
        let own =
            PlanDocument::parse("### [ ] TODO 1: a\n- [A] `x`\n### [ ] TODO 2: b\n- [A] `y`\n");
        let edited = PlanDocument::parse("### [ ] TODO 1: c\n- Files: x\n- [A] `z`\n");
        let changes = edited.unapproved_changes(&own);
        assert_eq!(changes.len(), 4, "{changes:?}");
        for change in changes {
            assert_ne!(korean(&change.what), change.what);
        }
    }

    #[test]
    fn the_faults_of_a_report_are_in_korean() {
        for message in ["done", "{\"todo_id\": \"TODO-1\"}"] {
            let error = WorkerReport::parse(message).expect_err("no report").to_string();
            assert_ne!(korean(&error), error);
        }
    }

    #[test]
    fn a_fault_keeps_its_names_and_an_unknown_one_stays() {
        assert_eq!(
            korean("TODO-1 depends on TODO-9, which does not exist"),
            "TODO-1이 의존하는 TODO-9가 없습니다"
        );
        assert_eq!(korean("AC-1 is not filled in"), "AC-1을 채우지 않았습니다");
        assert_eq!(korean("something else"), "something else");
        let played = "SC-1 was played 5 times with these files";
        assert_eq!(korean(played), "지금의 파일로 SC-1을 이미 5번 수행했습니다");
        let again = "you have played SC-1 already: another agent plays the next run";
        assert_eq!(korean(again), "SC-1은 이미 수행했습니다. 다음 실행은 다른 에이전트가 합니다");
        let none = "the last message has no JSON object with a scenario";
        assert_eq!(korean(none), "마지막 메시지에 scenario가 있는 JSON 객체가 없습니다");
        let english = "AC-1 is not filled in";
        assert_eq!(fault_words(MessageLanguage::English, english), english);
    }

    #[test]
    fn each_fault_has_the_same_parts_in_both_languages() {
        for phrase in [FAULTS, CLAIM_HEADS, TODO_REASONS].into_iter().flatten() {
            let count = phrase.english.matches('{').count();
            for number in 0..count {
                let part = format!("{{{number}}}");
                assert!(phrase.english.contains(&part), "{}", phrase.english);
                assert!(phrase.korean.contains(&part), "{}", phrase.korean);
            }
        }
    }
}
