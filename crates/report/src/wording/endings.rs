//! The texts about the end of a pipeline: what the end is, why, and what its user can do next.

use super::BilingualPhrase;

phrases!(ENDINGS {
    COMPLETED:
        "[moai-ralph] pipeline {0} is completed: {1}.",
        "[moai-ralph] 파이프라인 {0}{0:을} 완료했습니다: {1}.";
    UNVERIFIED:
        "[moai-ralph] pipeline {0} is done, but not verified ({1}): {2}, but {3}.",
        "[moai-ralph] 파이프라인 {0}의 작업은 끝났지만 검증되지 않았습니다({1}): {2}. 이유: {3}.";
    UNFINISHED:
        "[moai-ralph] pipeline {0} ended unfinished ({1}): {2}.",
        "[moai-ralph] 파이프라인 {0}{0:이} 작업을 마치지 못하고 종료되었습니다({1}): {2}.";
    UNFIXED:
        "[moai-ralph] pipeline {0} ended ({1}) and the fault is not fixed: {2}.",
        "[moai-ralph] 파이프라인 {0}{0:이} 종료되었고({1}) 결함을 고치지 못했습니다: {2}.";
    CANCELLED:
        "[moai-ralph] pipeline {0} is cancelled, and its files stay as they are.",
        "[moai-ralph] 파이프라인 {0}{0:을} 취소했습니다. 파일은 그대로입니다.";
    CANCELLED_BY_USER:
        "[moai-ralph] the user has cancelled loop {0} at a terminal. Go on with its task only if the user asks for it.",
        "[moai-ralph] 사용자가 터미널에서 루프 {0}{0:을} 취소했습니다. 사용자가 요청할 때만 작업을 이어 가세요.";
    MOVED_AWAY:
        "[moai-ralph] loop {0} was moved to another session, which goes on with its task. Do not work on it here.",
        "[moai-ralph] 루프 {0}{0:이} 다른 세션으로 옮겨져 그 세션에서 작업을 이어 갑니다. 여기서는 작업하지 마세요.";
    TOLD_BY_DAEMON:
        "The agents learn of it at their next hook, unless the daemon is stopped before that.",
        "관련된 에이전트는 다음 훅에서 알게 되지만, 그 전에 데몬을 멈추면 알 수 없습니다.";
    TODOS_PASS: "{0} of {1} TODOs pass", "TODO {1}개 중 {0}개 통과";
    TODO_PASSES: "{0} of {1} TODOs passes", "TODO {1}개 중 {0}개 통과";
    ONE_TODO_PASSES: "its only TODO passes", "TODO 1개 통과";
    ONE_TODO_OPEN: "its only TODO does not pass", "TODO 1개 미통과";
    MEASURED_CLEAN: "everything that was measured is clean", "측정 결과가 모두 깨끗합니다";
    UNTOUCHED:
        "The commands of {0} passed before anything was changed, so they prove nothing about the work.",
        "{0}의 명령은 아무것도 바꾸기 전에 이미 통과했으므로 작업을 증명하지 못합니다.";
    TEST_WARNINGS:
        "The guard only warns about these changes of tests, so read them: {0}.",
        "가드가 경고만 하는 테스트 변경이니 직접 확인하세요: {0}.";

    AT_ITERATION_LIMIT: "the limit of {0} is reached", "{0} 한도에 도달했습니다";
    AT_TIME_LIMIT: "the time limit is reached", "시간 한도에 도달했습니다";
    AT_TOKEN_LIMIT: "the token limit is reached", "토큰 한도에 도달했습니다";
    AT_ATTEMPT_LIMIT: "{0} attempts were not enough", "{0}번의 시도로는 부족했습니다";
    NO_PROGRESS: "there was no progress in {0}", "{0} 동안 진전이 없었습니다";
    BACK_AND_FORTH:
        "the work went back and forth between the same states",
        "작업이 같은 상태 사이를 오갔습니다";
    WEAKENED:
        "tests or checks were weakened again after a warning",
        "경고 뒤에도 테스트나 검사가 다시 약화되었습니다";
    NOT_FINISHED: "its loop could not be finished", "루프를 마무리하지 못했습니다";
    LOOP_GONE: "the record of its loop is gone", "루프의 기록이 없어졌습니다";
    ATTEMPTS_USED_UP: "{1} attempts at {0} failed", "{0}에 대한 시도가 {1}번 실패했습니다";
    ROUNDS_USED_UP: "a gate still fails after {0} rounds of fixes", "{0}번 수정한 뒤에도 게이트를 통과하지 못합니다";
    REPLANS_USED_UP:
        "a gate still fails, although the plan was extended {0} times",
        "계획을 {0}번 확장했지만 게이트를 통과하지 못합니다";
    NOT_PASSING: "still to be done: {0}", "남은 TODO: {0}";
    NOT_INSTALLED: "a program is missing ({0})", "없는 프로그램이 있습니다({0})";
    NOT_APPROVED: "the plan was not approved", "계획이 승인되지 않았습니다";
    NOT_EXTENDED:
        "the plan had to be extended, and no extended plan was approved",
        "계획을 확장해야 했지만 확장한 계획이 승인되지 않았습니다";
    ADDITIONS_NOT_APPROVED:
        "nobody has approved what was added to the plan ({0})",
        "계획에 추가된 부분이 승인되지 않았습니다({0})";
    UNANSWERED: "nobody has agreed to {0}", "동의한 사람이 없습니다({0})";
    TESTS_NOT_PASSED: "the tests gate is not passed ({0})", "테스트 게이트를 통과하지 못했습니다({0})";
    REVIEW_NOT_REACHED: "the review was not reached", "리뷰까지 가지 못했습니다";
    REVIEW_FAILED: "the review failed", "리뷰를 통과하지 못했습니다";
    REVIEW_SKIPPED: "the review was skipped ({0})", "리뷰를 건너뛰었습니다({0})";
    REVIEW_DEGRADED: "the review gave no usable answer ({0})", "리뷰에서 쓸 수 있는 답을 얻지 못했습니다({0})";
    REVIEW_WITHOUT_JUDGE: "no judge can answer it", "답할 심사자가 없음";
    CRITERIA_NOT_ANSWERED: "the criteria of RUBRIC.md were not ruled on", "RUBRIC.md의 기준을 심사하지 못함";
    SCENARIOS_NOT_REACHED: "the scenarios were not reached", "시나리오까지 가지 못했습니다";
    SCENARIOS_FAILED: "too few runs of the scenarios passed", "시나리오의 통과 횟수가 모자랍니다";
    SCENARIOS_NOT_PLAYED: "the scenarios were not played often enough", "시나리오를 충분히 수행하지 않았습니다";
    SCENARIOS_ALONE:
        "the scenarios were not played, because --solo has no agent for that",
        "--solo에는 시나리오를 수행할 에이전트가 없어 수행하지 않았습니다";
    SCENARIOS_ONLY_CLAIMED:
        "no step of a scenario names a command, so the runs rest on the words of agents alone",
        "명령이 있는 시나리오 단계가 없어 에이전트의 말만 근거로 합니다";
    COMMIT_FAULT: "one fault of the commits is left", "커밋의 문제 1개가 남았습니다";
    COMMIT_FAULTS: "{0} faults of the commits are left", "커밋의 문제 {0}개가 남았습니다";
    COMMITS_NOT_CHECKED: "the commits were not checked again", "커밋을 다시 검사하지 않았습니다";
    COMMITS_NOT_VERIFIED: "the commits are not verified ({0})", "커밋이 검증되지 않았습니다({0})";
    LATE_SCRIPTS:
        "scripts were written after the approval, and nobody has read them ({0})",
        "승인 뒤에 쓰인 스크립트를 아무도 읽지 않았습니다({0})";
    NOTHING_CHANGED: "nothing but specifications was changed", "명세 말고는 바뀐 것이 없습니다";
    NOT_MEASURED: "not everything was measured ({0})", "측정하지 못한 것이 있습니다({0})";
    SOMETHING_NOT_MEASURED: "not everything was measured", "측정하지 못한 것이 있습니다";

    SEE_REPORT:
        "`moai-ralph pipeline report` shows the evidence.",
        "근거는 `moai-ralph pipeline report`로 볼 수 있습니다.";
    VERIFY:
        "Check that yourself, or remedy it and continue with `/moai-ralph:pipeline-resume`.",
        "직접 확인하거나, 해결한 뒤 `/moai-ralph:pipeline-resume`으로 이어 가세요.";
    VERIFY_SCRIPTS:
        "Read them; then, at a terminal and before the agent's next turn, `moai-ralph pipeline resume` continues it and `moai-ralph loop refreeze` freezes them.",
        "읽어 본 뒤 에이전트의 다음 턴 전에 터미널에서 `moai-ralph pipeline resume`으로 이어 가고 `moai-ralph loop refreeze`로 고정하세요.";
    CONTINUE:
        "`/moai-ralph:pipeline-resume`, or `moai-ralph pipeline resume` at a terminal, continues it.",
        "`/moai-ralph:pipeline-resume`이나 터미널의 `moai-ralph pipeline resume`으로 이어 갈 수 있습니다.";
    CONTINUE_AFTER_INSTALLING:
        "Install what is missing; then `/moai-ralph:pipeline-resume`, or `moai-ralph pipeline resume` at a terminal, continues it.",
        "없는 프로그램을 설치한 뒤 `/moai-ralph:pipeline-resume`이나 터미널의 `moai-ralph pipeline resume`으로 이어 가세요.";
    CONTINUE_TO_ANSWER:
        "`/moai-ralph:pipeline-resume` continues it, and you are asked again.",
        "`/moai-ralph:pipeline-resume`으로 이어 가면 다시 묻습니다.";
    CONTINUE_WITH_TOKENS:
        "`/moai-ralph:pipeline-resume` allows as many tokens again, `moai-ralph pipeline resume --max-tokens N` another number.",
        "`/moai-ralph:pipeline-resume`은 같은 수의 토큰을, `moai-ralph pipeline resume --max-tokens N`은 다른 수를 더 허용합니다.";
    CONTINUE_AFTER_WEAKENING:
        "Look at what changed; only you can continue it, with `/moai-ralph:pipeline-resume`, or `moai-ralph pipeline resume` at a terminal.",
        "바뀐 내용을 살펴보세요. `/moai-ralph:pipeline-resume`이나 터미널의 `moai-ralph pipeline resume`으로 사용자만 이어 갈 수 있습니다.";
    EXAM_SAID:
        "; guard: {0}; if you want this change, run at a terminal: moai-ralph {1} resume, then moai-ralph loop refreeze; after that the agent can continue",
        "; 가드: {0}; 원한 변경이라면 터미널에서 moai-ralph {1} resume, 그다음 moai-ralph loop refreeze를 실행하세요. 그 뒤 에이전트가 이어 갈 수 있습니다";
    EXAM_SAID_TOO:
        "; then accept what changed in the frozen checks: moai-ralph loop refreeze",
        "; 그다음 고정된 검사의 변경을 수락: moai-ralph loop refreeze";
    REFREEZE_AFTER_RESUME:
        "there is no such active loop: pipeline {0} has ended. Continue it first (`moai-ralph pipeline resume`), then give this command again",
        "그런 활성 루프가 없습니다. 파이프라인 {0}{0:이} 끝났습니다. 먼저 `moai-ralph pipeline resume`으로 이어 간 뒤 이 명령을 다시 실행하세요";
    PLAN_THE_FIX:
        "It may need a plan: `/moai-ralph:alfred GOAL`, or `moai-ralph pipeline start --kind full --goal …` at a terminal.",
        "계획이 필요할 수 있습니다. `/moai-ralph:alfred 목표`나 터미널의 `moai-ralph pipeline start --kind full --goal …`을 쓰세요.";
});
