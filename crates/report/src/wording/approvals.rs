//! The texts about the approval of a plan.

use super::BilingualPhrase;

phrases!(APPROVALS {
    PIPELINE_APPROVED:
        "[moai-ralph] pipeline {0}: the plan {1} is approved, and its acceptance commands are frozen ({2}): {3}. Work on the TODOs, then end your turn.",
        "[moai-ralph] 파이프라인 {0}: 계획 {1}{1:을} 승인했고 인수 명령 {2}개를 고정했습니다: {3}. TODO를 수행한 뒤 턴을 끝내세요.";
    PIPELINE_WAITS:
        "[moai-ralph] pipeline {0}: the plan {1} (version {2}) waits for your approval: `/moai-ralph:moai-run`, or `moai-ralph pipeline approve` at a terminal; or tell the agent what to change. Its acceptance commands: {3}",
        "[moai-ralph] 파이프라인 {0}: 계획 {1}(버전 {2}){1:이} 승인을 기다립니다. `/moai-ralph:moai-run`이나 터미널의 `moai-ralph pipeline approve`로 승인하거나 에이전트에게 고칠 점을 알려 주세요. 인수 명령: {3}";
    PLAN_NOT_SHOWN:
        "nothing is approved yet, because you were not shown this plan before: {0} (version {1}). Its acceptance commands: {2}. Give the command again to approve it",
        "이 계획을 아직 보여 드린 적이 없어 승인하지 않았습니다: {0}(버전 {1}). 인수 명령: {2}. 승인하려면 명령을 다시 입력하세요";
    PLAN_NOT_AS_SHOWN:
        "nothing is approved, because {0} has changed since you were shown it (now version {1}): {2}. Give the command again to approve it as it is now",
        "보여 드린 뒤 {0}{0:이} 바뀌어(현재 버전 {1}) 승인하지 않았습니다: {2}. 지금 내용대로 승인하려면 명령을 다시 입력하세요";
    ADDITIONS_WAIT:
        "Not approved yet: {0} in {1}. `/moai-ralph:moai-run`, or `moai-ralph pipeline approve` at a terminal, approves the plan as it is; or continue with `/moai-ralph:moai-resume` and tell the agent to change or remove that",
        "아직 승인되지 않음: {1}의 {0}. `/moai-ralph:moai-run`이나 터미널의 `moai-ralph pipeline approve`로 지금의 계획을 승인하거나, `/moai-ralph:moai-resume`으로 이어 가며 에이전트에게 그 부분을 고치거나 지우게 하세요";
    ADDITIONS_DECLINED:
        "[moai-ralph] pipeline {0}: the user does not approve the plan as it is, and these parts are still not approved: {1}. Change or remove them in {2} as the user wishes, and go on.",
        "[moai-ralph] 파이프라인 {0}: 사용자가 지금의 계획을 승인하지 않았습니다. 승인되지 않은 부분: {1}. {2}에서 사용자의 뜻대로 그 부분을 고치거나 지우고 계속 진행하세요.";
    DOCUMENTS_DECLINED:
        "[moai-ralph] pipeline {0}: the user does not approve these documents as they are now: {1}. Restore them, or change them as the user wishes and ask again.",
        "[moai-ralph] 파이프라인 {0}: 사용자가 다음 문서의 지금 내용을 승인하지 않았습니다: {1}. 되돌리거나 사용자의 뜻대로 고친 뒤 다시 물으세요.";
    APPROVAL_SUBJECT: "pipeline approve of {0} (version {1})", "계획 {0}(버전 {1})의 승인(pipeline approve)";
    ANSWER_SUBJECT: "pipeline answer {0} {1}", "{0}에 대한 답 {1}(pipeline answer)";
    REFREEZE_SUBJECT: "loop refreeze of {0}", "루프 {0}의 검사 재고정(loop refreeze)";
    SHELL_OF_AGENT:
        "{0} is for a person: an agent started this shell",
        "{0}: 사람만 할 수 있습니다. 에이전트가 연 셸입니다";
    WITHOUT_TERMINAL:
        "{0} is for a person: this process has no terminal",
        "{0}: 사람만 할 수 있습니다. 이 프로세스에는 터미널이 없습니다";
    STDIN_IS_NO_TERMINAL:
        "{0} is for a person: stdin is not a terminal",
        "{0}: 사람만 할 수 있습니다. 표준 입력이 터미널이 아닙니다";
    CODE_QUESTION: "Type {0} to accept: ", "수락하려면 코드를 입력하세요({0}): ";
    TOO_MANY_QUESTIONS:
        "too many questions are open at terminals; try again in a few minutes",
        "터미널에 열린 질문이 너무 많습니다. 몇 분 뒤에 다시 시도하세요";
    CODE_IS_WRONG:
        "this is not the code that was shown, or what it accepts has changed since; nothing is accepted",
        "보여 드린 코드가 아니거나 그 뒤에 수락할 내용이 바뀌어 아무것도 수락하지 않았습니다";
    PLAN_DECLINED:
        "[moai-ralph] pipeline {0}: the user does not approve the plan {1} as it is. Ask the user what to change, unless that was said, change the plan, and end your turn: the new version waits for approval.",
        "[moai-ralph] 파이프라인 {0}: 사용자가 계획 {1}{1:을} 지금 그대로는 승인하지 않습니다. 고칠 점을 듣지 못했다면 사용자에게 물어 계획을 고치고 턴을 끝내세요. 고친 계획은 다시 승인을 기다립니다.";
    PLAN_DECLINED_WITH:
        "[moai-ralph] pipeline {0}: the user does not approve the plan {1} as it is, and says: {2}. Change the plan accordingly, and end your turn: the new version waits for approval.",
        "[moai-ralph] 파이프라인 {0}: 사용자가 계획 {1}{1:을} 지금 그대로는 승인하지 않고 이렇게 답했습니다: {2}. 그에 맞게 계획을 고치고 턴을 끝내세요. 고친 계획은 다시 승인을 기다립니다.";
    SCRIPTS_TO_FREEZE:
        "these scripts are frozen as they are now, so read them first: {0}",
        "지금 그대로 고정할 스크립트이니 먼저 읽어 보세요: {0}";
    COMMANDS_NEW: "new acceptance commands: {0}", "새 인수 명령: {0}";
    COMMANDS_GONE: "no longer there: {0}", "없어진 명령: {0}";
    COMMANDS_SAME: "its acceptance commands are the same", "인수 명령은 그대로입니다";
    MORE_COMMANDS: " and {0} more", " 외 {0}개";
});
