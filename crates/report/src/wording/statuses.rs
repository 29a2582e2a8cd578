//! The texts of `pipeline status`, `pipeline report` and `pipeline pr`.

use super::BilingualPhrase;

phrases!(STATUSES {
    HEAD: "{0} ({1}): {2}", "파이프라인 {0}({1}): {2}";
    PHASE_PLAN: "plan", "계획";
    PHASE_SPRINT: "sprint", "작업";
    PHASE_GATE: "gate", "게이트";
    PHASE_FIX: "fix", "수정";
    PHASE_FINALIZE: "finalize", "마무리";
    PHASE_ENDED: "ended", "종료";
    GOAL: "  goal: {0}", "  목표: {0}";
    PLAN: "  plan: {0} ({1})", "  계획: {0}({1})";
    LOOP: "  loop: {0}", "  루프: {0}";
    NOT_APPROVED: "not approved", "승인되지 않음";
    APPROVED_BY_PERSON: "approved by a person", "사람이 승인함";
    APPROVED_BY_ANSWER:
        "approved by a person, who answered the host's question",
        "사람이 호스트의 질문에 답해 승인함";
    PASSED_UNTOUCHED:
        "its commands passed before anything was changed",
        "아무것도 바꾸기 전에 명령이 통과함";
    FAILS: "{0} fails: {1}", "{0} 실패: {1}";
    NO_RESULT: "{0} has no result: {1}", "{0} 결과 없음: {1}";
    NOT_RUN: "{0} was not run", "{0} 실행하지 않음";
    ASKS: "  asks you: {0}", "  질문: {0}";
    PASSING: "  passing at each Stop: {0} {1}/{2}", "  Stop마다 통과한 TODO: {0} {1}/{2}";
    PASSING_NOW: ", now {0}", ", 지금 {0}";
    GATES: "  gates: tests {0}, review {1}, scenarios {2}", "  게이트: 테스트 {0}, 리뷰 {1}, 시나리오 {2}";
    GATE_OPEN: "open", "대기";
    GATE_PASSED: "passed", "통과";
    GATE_FAILED: "failed", "실패";
    GATE_SKIPPED: "skipped", "건너뜀";
    GATE_DEGRADED: "degraded", "불완전";
    GATE_NONE: "none", "없음";
    GATE_PLACE: "    gate 1: {0}", "    게이트 1: {0}";
    GATE_REVIEW: "    gate 2: {0}, critical {1}, warnings {2} ({3})", "    게이트 2: {0}, 치명 {1}, 경고 {2}({3})";
    GATE_SCENARIO: "    gate 3: {0}: {1}", "    게이트 3: {0}: {1}";
    RUNS_PASSED: "{0} of {1} runs passed", "{1}번 중 {0}번 통과";
    NOT_PLAYED: "not played yet", "아직 수행하지 않음";
    OLD_RUNS: "; not counted: {0} from before the last change of a file", ". 마지막 파일 변경 전의 {0}번은 세지 않음";
    DOCUMENT_CHANGED: "    changed after it was written: {0}", "    쓰인 뒤 바뀜: {0}";
    ROUNDS: "  rounds of fixes: {0}", "  수정 횟수: {0}";
    WHY: "  why: {0}", "  이유: {0}";
    NEXT: "  next: {0}", "  다음: {0}";
    TOKENS: "  tokens: {0}", "  토큰: {0}";
    TOKENS_UNKNOWN: "  tokens: unknown", "  토큰: 알 수 없음";
    CLAIMS: "  claims that moai-ralph's own runs did not confirm:", "  엔진의 직접 실행으로 확인되지 않은 주장:";
    SHELL_WRITES: "  source files that shell commands changed against the rules:", "  셸 명령이 규칙을 어기고 바꾼 소스 파일:";
    SHELL_WRITE: "    {0}: by {1}", "    {0}: {1}의 명령";
    TAKEN_BACK: ", taken back; what it wrote is checkpoint {0} of the loop", ", 되돌림. 쓴 내용은 루프의 체크포인트 {0}";
    NOT_TAKEN_BACK: ", not taken back: {0}", ", 되돌리지 못함: {0}";
    ANSWERS: "  what the user said about items for a person:", "  사람이 확인할 항목에 대한 사용자의 답:";
    ANSWER: "    {0}: {1}", "    {0}의 답: {1}";
    MET: "met", "충족";
    NOT_MET: "not met", "미충족";
    DISCOVERIES: "  proposals of workers, checked against the pivot points:", "  기준점과 대조한 워커의 제안:";
    ACCEPTED: "accepted", "수락";
    AWAITS_USER: "waits for the user", "사용자의 결정을 기다림";
    REJECTED: "rejected", "거절";
    ALLOWED_BY_USER: "allowed by the user", "사용자가 허용함";
    REJECTED_BY_USER: "rejected by the user", "사용자가 거절함";
    NOT_ENDED: "  it has not ended yet", "  아직 끝나지 않음";
    BUGFIX_EVIDENCE: "  what was measured: `moai-ralph loop report {0}`", "  측정한 것: `moai-ralph loop report {0}`";
    DIFFERS_FROM_GATE: "  {0} was edited after its gate wrote it", "  {0}{0:이} 게이트가 쓴 내용과 다릅니다";
    WRITTEN_BY_NO_GATE: "  {0} was written by no gate", "  {0}{0:은} 게이트가 쓴 것이 아닙니다";
    GATE_FILE_GONE:
        "  {0} is not there: it could not be written, or was taken away",
        "  {0}{0:이} 없습니다. 쓰지 못했거나 없어졌습니다";
    REQUIREMENT: "  {0}: {1}", "  요구사항 {0}: {1}";
    REQUIREMENT_TITLED: "  {0} ({1}): {2}", "  요구사항 {0}({1}): {2}";
    WITHOUT_REQUIREMENT: "  without a requirement:", "  요구사항 없음:";
    TODOS_PASS: "its TODOs pass", "TODO 통과";
    TODOS_OPEN: "not met, because of {0}", "{0} 때문에 충족되지 않음";
    NO_TODO: "not met, because no TODO of the approved plan names it", "승인된 계획의 TODO가 없어 충족되지 않음";
    COMMITS_OF_TODO: "      commits: {0}", "      커밋: {0}";
    ITEM_PASSED: "passed in the engine's last run", "엔진의 마지막 실행에서 통과";
    FIRST_AT: ", first at {0}", ", 처음 통과: {0}";
    ITEM_NOT_RUN: "not run", "실행하지 않음";
    ITEM_FAILS: "does not pass", "통과하지 못함";
    ITEM_AFTER_FAILURE: "not decided, because an earlier command does not pass", "앞선 명령이 통과하지 못해 판정하지 않음";
    NOT_ANSWERED: "nobody has answered", "답한 사람 없음";
    ANSWERED_MET: "met, answered by a person at {0}", "충족(사람의 답, {0})";
    ANSWERED_NOT_MET: "not met, answered by a person at {0}", "미충족(사람의 답, {0})";
    COMMITS_SINCE: "  commits since the pipeline began:", "  파이프라인을 시작한 뒤의 커밋:";
    CHECK_OVERRIDES: "  the frozen checks, as changed by the user:", "  사용자가 바꾼 고정된 검사:";
    REFROZEN: "    frozen again: {0}", "    다시 고정함: {0}";
    FINDING_ALLOWED: "    allowed: {0}", "    허용함: {0}";
    ENDED_AS_GAMING:
        "    continued after an end because tests or checks were weakened",
        "    테스트나 검사가 약화되어 끝난 뒤 이어 감";
    TEST_WARNINGS:
        "  changed expectations and other changes of tests that the guard only warns about:",
        "  가드가 경고만 한 기댓값 변경 등 테스트 변경:";
    COMMIT_UNCHECKED: "not checked on its own", "따로 검사하지 않음";
    COMMIT_FAILS: "does not pass there: {0}", "그 커밋에서 통과하지 못함: {0}";
    COMMIT_LATER: "passes from a later commit on: {0}", "뒤의 커밋부터 통과: {0}";
    COMMIT_UNMEASURED: "not measured: {0}", "측정하지 않음: {0}";
    COMMIT_PASSES: "every command passes in a checkout of it", "체크아웃에서 모든 명령이 통과";
    PR_NOT_ENDED: "not ended yet", "아직 끝나지 않음";
    PR_TODOS: "moai-ralph's own runs: {0} ({1}).", "엔진의 직접 실행: {0}({1}).";
    PR_FIXED: "A bugfix without a plan ({0}): everything that was measured is clean.", "계획 없는 버그 수정({0}): 측정 결과가 모두 깨끗합니다.";
    PR_NOT_FIXED: "A bugfix without a plan ({0}): the fault is not fixed.", "계획 없는 버그 수정({0}): 결함을 고치지 못했습니다.";
    PR_NOT_VERIFIED: "Not verified: {0}", "검증되지 않음: {0}";
    PR_UNFINISHED: "Unfinished: {0}", "끝나지 않음: {0}";
    PR_SPECIFICATION: "Specification: `{0}`", "명세: `{0}`";
});
