//! The texts about the course of a pipeline: the next steps, rounds of fixes, shell commands, the end.

use super::BilingualPhrase;

phrases!(COURSE {
    PLAN_UNREADABLE: "{0} cannot be read: {1}", "{0} 파일을 읽을 수 없습니다: {1}";
    PLAN_EMPTIED:
        "{0} has no TODO any more. The approved plan still applies, but no box can be set: `moai-ralph pipeline plan > {0}` writes it again",
        "{0}에 TODO가 더 이상 없습니다. 승인된 내용이 그대로 적용되지만 체크박스를 표시할 수 없습니다. `moai-ralph pipeline plan > {0}`{0:으로} 다시 쓰세요";
    ITEMS:
        "A TODO may also have items `- [H] text`: once its commands pass, the user is asked whether they are met.",
        "TODO에는 `- [H] 내용` 항목도 둘 수 있습니다. 명령이 통과하면 사용자에게 충족되었는지 묻습니다.";
    ITEMS_OF_FULL:
        "A TODO may also have items `- [H] text`: once its commands pass, the user is asked whether they are met; and `- [S] SC-1: title`: a scenario in `acceptance.md` next to the plan. Once every TODO passes, the gates follow: a review by judges, and agents that play each scenario 3 to 5 times as a user.",
        "TODO에는 `- [H] 내용`(명령이 통과하면 사용자에게 충족되었는지 묻는 항목)과 `- [S] SC-1: 제목`(계획 옆의 `acceptance.md`에 있는 시나리오)도 둘 수 있습니다. TODO가 모두 통과하면 게이트가 이어집니다. 심사자가 리뷰하고, 에이전트가 사용자처럼 시나리오마다 3~5번 수행합니다.";
    BY_WORKERS:
        "You write no source files yourself: give each TODO to a worker agent with a task such as `Do TODO-1`.",
        "소스 파일은 직접 쓰지 않습니다. TODO마다 `Do TODO-1` 같은 작업으로 워커 에이전트에게 맡기세요.";
    IN_WORKTREES:
        "Up to {0} independent TODOs are worked on at the same time, each in a worktree of its own in which the user opens a session. You write no source files here: after the approval, and whenever worktrees are at work, end your turn.",
        "서로 독립된 TODO를 최대 {0}개까지 각자의 작업 트리에서 동시에 작업하며, 사용자가 작업 트리마다 세션을 엽니다. 여기서는 소스 파일을 쓰지 않습니다. 승인 뒤에, 그리고 작업 트리에서 작업하는 동안에는 턴을 끝내세요.";
    PASSES_ALREADY:
        "The commands of {0} pass although nothing was changed yet, so they prove nothing. Tell the user, or add a command that fails now",
        "{0}의 명령은 아직 아무것도 바꾸지 않았는데 통과하므로 아무것도 증명하지 못합니다. 사용자에게 알리거나 지금 실패하는 명령을 추가하세요";
    PLAN_UNAPPROVED:
        "{0} has parts that the user has not approved: {1}. Run `moai-ralph pipeline approve` and ask the user the question that it gives. If the user does not approve them, change or remove them",
        "{0}에 사용자가 승인하지 않은 부분이 있습니다: {1}. `moai-ralph pipeline approve`를 실행하고 알려 주는 질문을 사용자에게 물으세요. 승인하지 않으면 그 부분을 고치거나 지우세요";
    PLAN_DECLINED:
        "The user has not approved {0} as it is, and these parts are still in it: {1}. Change or remove them as the user wishes; if you do not know how, ask. For what stays, run `moai-ralph pipeline approve` and ask the user the question that it gives",
        "사용자가 지금의 {0}{0:을} 승인하지 않았는데 승인되지 않은 부분이 그대로 있습니다: {1}. 사용자의 뜻대로 고치거나 지우세요. 뜻을 모르면 물으세요. 남기는 부분은 `moai-ralph pipeline approve`를 실행하고 알려 주는 질문을 사용자에게 물으세요";
    QUESTION_DECLINED:
        "The user has answered no: {0} ({1}) is not met. Change what the user finds missing; if you do not know what that is, ask. Then ask again with AskUserQuestion exactly this: {2}",
        "사용자가 아니라고 답했습니다. {0}({1}){0:은} 충족되지 않았습니다. 사용자가 부족하다고 한 것을 고치고, 무엇인지 모르면 물으세요. 그다음 AskUserQuestion으로 다음을 그대로 다시 물으세요: {2}";
    PLAN_WAS_DECLINED:
        "[moai-ralph] pipeline {0}: the plan {1} is still as it was when you did not approve it (version {2}). Tell the agent what to change, or approve it after all: `/moai-ralph:moai-run`, or `moai-ralph pipeline approve` at a terminal. Its acceptance commands: {3}",
        "[moai-ralph] 파이프라인 {0}: 계획 {1}{1:은} 승인하지 않으신 그대로입니다(버전 {2}). 에이전트에게 고칠 점을 알려 주거나 `/moai-ralph:moai-run` 또는 터미널의 `moai-ralph pipeline approve`로 승인하세요. 인수 명령: {3}";
    CHANGE_ON_LINE: "line {0}: {1}: {2}", "{0}번째 줄: {1}: {2}";
    PARTS_TO_APPROVE: "new parts: {0}", "새 부분: {0}";
    DOCUMENT_TO_APPROVE: "changed since the last approval: {0}", "지난 승인 뒤에 바뀜: {0}";
    HAS_ENDED:
        "pipeline {0} has ended: continue it first with `/moai-ralph:pipeline-resume` or `moai-ralph pipeline resume`",
        "파이프라인 {0}{0:은} 끝났습니다. 먼저 `/moai-ralph:pipeline-resume`이나 `moai-ralph pipeline resume`으로 이어 가세요";
    ANSWER_FORM:
        "an answer is the name of a question and yes or no: `/moai-ralph:pipeline-answer TODO-2/AC-2 yes`. Open questions: {0}",
        "답은 질문 이름과 yes 또는 no입니다: `/moai-ralph:pipeline-answer TODO-2/AC-2 yes`. 열린 질문: {0}";
    NO_QUESTIONS: "none", "없음";
    PART_ON_LINE: "{0} (line {1})", "{0}({1}번째 줄)";
    STATUS_UNAPPROVED:
        "  not approved yet: {0}. `/moai-ralph:moai-run`, or `moai-ralph pipeline approve` at a terminal, approves the plan as it is",
        "  아직 승인되지 않음: {0}. `/moai-ralph:moai-run`이나 터미널의 `moai-ralph pipeline approve`로 지금의 계획을 승인할 수 있습니다";
    NO_APPROVED_PLAN:
        "the plan of pipeline {0} was not approved yet",
        "파이프라인 {0}의 계획이 아직 승인되지 않았습니다";
    WITHOUT_PLAN: "pipeline {0} has no plan", "파이프라인 {0}에는 계획이 없습니다";
    STATUS_UNAPPROVED_YET: "  not approved yet: {0}", "  아직 승인되지 않음: {0}";
    STATUS_NO_PLAN:
        "  the agent has not written {0} yet",
        "  에이전트가 아직 {0}{0:을} 쓰지 않았습니다";
    STATUS_PLAN_FAULTS: "  the plan cannot be approved yet:", "  아직 계획을 승인할 수 없습니다:";
    STATUS_PLAN_DIFFERS: "  to fix in the plan:", "  계획에서 바로잡을 것:";
    PROGRAM_MISSING:
        "{0} cannot be accepted: {1}. Make its program available, or tell the user what is missing",
        "{0}{0:을} 인수할 수 없습니다: {1}. 프로그램을 쓸 수 있게 하거나 없는 것을 사용자에게 알리세요";
    MORE_FAULTS: "and {0} more", "그 밖에 {0}개";
    FAILED_TAKEN_BACK:
        "{0} was marked [FAILED], which the engine decides alone, so its box is open again and it is still to be done: {1}",
        "{0}에 [FAILED] 표시가 있었지만 실패는 엔진만 판단하므로 체크박스를 되돌렸습니다. 아직 해야 할 일입니다: {1}";
    FIX_AFRESH:
        "A gate failed with the same problems again (round {0} of {1}): take another approach, with a fresh worker that knows what was tried; those that worked on it may write nothing more",
        "같은 문제로 다시 게이트를 통과하지 못했습니다({1}회 중 {0}회): 지금까지의 시도를 아는 새 워커에게 다른 방법을 맡기세요. 지금까지의 워커는 더 이상 파일을 쓸 수 없습니다";
    FIX_AFRESH_ALONE:
        "A gate failed with the same problems again (round {0} of {1}): take another approach",
        "같은 문제로 다시 게이트를 통과하지 못했습니다({1}회 중 {0}회): 다른 방법을 쓰세요";
    FIX_BY_PLAN:
        "Most of the plan fails, or ever more of it (round {0} of {1}). The pipeline is back at its plan, and no source file is written until an extended plan is approved. Add TODOs with another approach, run `moai-ralph pipeline approve`, and ask the user the question that it gives",
        "계획의 대부분이 실패하거나 실패가 늘고 있습니다({1}회 중 {0}회). 파이프라인이 계획 단계로 돌아갔습니다. 확장한 계획이 승인될 때까지 소스 파일을 쓸 수 없습니다. 다른 방법의 TODO를 추가하고 `moai-ralph pipeline approve`를 실행해 알려 주는 질문을 사용자에게 물으세요";
    FIX_PLANNED_OUT:
        "Most of the plan fails, or ever more of it (round {0} of {1}), and it was extended often enough: the pipeline ends here",
        "계획의 대부분이 실패하거나 실패가 늘고 있으며({1}회 중 {0}회) 계획을 더 확장할 수 없어 파이프라인을 끝냅니다";
    PLAN_NOT_EXTENDED:
        "{0} has nothing new: add TODOs, or acceptance items, with another approach",
        "{0}에 새로운 내용이 없습니다. 다른 방법의 TODO나 인수 항목을 추가하세요";
    COMMIT_ALONE:
        "The work passes and is not committed ({1}). Commit it with git in the style of the history; nothing else is missing. Files: {0}",
        "작업은 모두 통과했지만 커밋되지 않았습니다({1}). 기록의 방식에 맞춰 git으로 커밋하세요. 그 밖에 빠진 것은 없습니다. 파일: {0}";
    TRIED: ". Tried so far: {0}", ". 지금까지의 시도: {0}";
    GIVEN_UP:
        "{0} is [FAILED]: {1} attempts did not pass. A worker with another approach may still make it pass; if nothing but failed TODOs is left, the pipeline ends",
        "{0}{0:은} [FAILED]입니다. {1}번의 시도가 통과하지 못했습니다. 다른 방법을 쓰는 워커가 통과시킬 수 있습니다. 실패한 TODO만 남으면 파이프라인이 끝납니다";
    READY_TOGETHER:
        "{0} can be given to workers now, at the same time",
        "지금 워커에게 함께 맡길 수 있는 TODO: {0}";
    READY_ONE:
        "{0} can be given to a worker now",
        "지금 워커에게 맡길 수 있는 TODO: {0}";
    READY_ALONE:
        "{0} can be done now",
        "지금 할 수 있는 TODO: {0}";
    BY_MAIN_AGENT: "the main agent", "주 에이전트";
    BY_WORKER: "a worker", "워커";
    SHELL_WROTE:
        "[moai-ralph] pipeline {0}: while a shell command of the main agent ran, {1} changed. Source files are written by workers, so the change must be undone, or given to one",
        "[moai-ralph] 파이프라인 {0}: 주 에이전트의 셸 명령이 실행되는 동안 {1}{1:이} 바뀌었습니다. 소스 파일은 워커가 씁니다. 되돌리거나 워커에게 맡겨야 합니다";
    WORKER_SHELL_WROTE:
        "[moai-ralph] pipeline {0}: while a shell command of a worker ran, {1} changed, which is outside the files of its TODO and must be undone",
        "[moai-ralph] 파이프라인 {0}: 워커의 셸 명령이 실행되는 동안 맡은 TODO의 파일이 아닌 {1}{1:이} 바뀌었습니다. 되돌려야 합니다";
    SHELL_TAKEN_BACK:
        "[moai-ralph] pipeline {0}: a shell command of {4} changed {1}, which it may not write: taken back. What it wrote is kept: `moai-ralph loop restore {2} --to {3}` shows it",
        "[moai-ralph] 파이프라인 {0}: {4}의 셸 명령이 쓸 수 없는 소스 파일 {1}{1:을} 바꾸어 되돌렸습니다. 명령이 쓴 내용은 보관되어 있습니다. `moai-ralph loop restore {2} --to {3}`{3:으로} 볼 수 있습니다";
    SHELL_LEFT:
        "[moai-ralph] pipeline {0}: while a shell command of {3} ran, {1} changed, which it may not write. It was not taken back ({2}) and must be undone",
        "[moai-ralph] 파이프라인 {0}: {3}의 셸 명령이 실행되는 동안 쓸 수 없는 소스 파일 {1}{1:이} 바뀌었습니다. 자동으로 되돌리지 못했으니({2}) 되돌려야 합니다";
    RESUMED_WHILE_PAUSED:
        "pipeline {0} is paused: `/moai-ralph:moai-resume`, or `moai-ralph loop resume {1}` at a terminal, continues it",
        "파이프라인 {0}{0:이} 일시 정지되어 있습니다. `/moai-ralph:moai-resume`이나 터미널의 `moai-ralph loop resume {1}`{1:으로} 이어 가세요";
    RESUMED_WHILE_ACTIVE:
        "pipeline {0} is active already, so there is nothing to resume: go on with its work",
        "파이프라인 {0}{0:은} 이미 실행 중입니다. 이어 갈 것이 없으니 작업을 계속하세요";
    RESUMED_ELSEWHERE:
        "pipeline {0} is active in session {2}. Work there, or take it over with `/moai-ralph:moai-adopt {1}` or `moai-ralph loop adopt {1}`",
        "파이프라인 {0}{0:은} 세션 {2}에서 실행 중입니다. 그 세션에서 작업하거나 `/moai-ralph:moai-adopt {1}` 또는 `moai-ralph loop adopt {1}`{1:으로} 넘겨받으세요";
    EXAM_NOT_MEASURED:
        "[moai-ralph] pipeline {0}: the end of a worker accepts no TODO while weakened tests and checks cannot be looked for ({1}). The next Stop measures again.",
        "[moai-ralph] 파이프라인 {0}: 약화된 테스트와 검사를 찾을 수 없는 동안({1}) 워커가 끝나도 TODO를 인정하지 않습니다. 다음 Stop에서 다시 측정합니다.";
    RECORDED_YES:
        "[moai-ralph] pipeline {0}: your agreement to {1} is recorded. The agent reads it with your next prompt.",
        "[moai-ralph] 파이프라인 {0}: {1}에 동의한 것을 기록했습니다. 에이전트는 다음 프롬프트에서 알게 됩니다.";
    RECORDED_NO:
        "[moai-ralph] pipeline {0}: you declined {1}. The agent reads it with your next prompt; say there what is missing.",
        "[moai-ralph] 파이프라인 {0}: {1}에 동의하지 않은 것을 기록했습니다. 에이전트는 다음 프롬프트에서 알게 되니 부족한 점을 적어 주세요.";
});
