//! The tasks of an agent before its branch can be merged.

use super::BilingualPhrase;

phrases!(MERGES {
    NOT_MERGED:
        "Everything is clean, but {0} is not merged into {1} yet.",
        "측정 결과는 모두 깨끗하지만 {0}{0:이} 아직 {1}에 병합되지 않았습니다.";
    UNFINISHED: "{0} is in progress here: finish or abort it.", "여기서 {0}{0:이} 진행 중입니다. 마치거나 중단하세요.";
    COMMIT_FIRST:
        "Commit the files of this work and give the reason in the message:",
        "이 작업의 파일을 커밋하고 이유를 메시지에 쓰세요:";
    BOTH_CHANGED: "Both sides changed the same places in:", "양쪽이 같은 곳을 바꾼 파일:";
    CONFLICT_MERGE:
        "1. git merge {0}, and understand the intent of each side (git log, git show).",
        "1. git merge {0}{0:을} 실행하고 양쪽의 의도를 파악하세요(git log, git show).";
    CONFLICT_RESOLVE:
        "2. Resolve it so that both intents hold; do not drop either.",
        "2. 두 의도가 모두 살도록 해결하세요. 어느 쪽도 버리지 마세요.";
    CONFLICT_TEST:
        "3. Write tests for both, run all tests, and commit.",
        "3. 둘 다 테스트를 쓰고 모든 테스트를 실행한 뒤 커밋하세요.";
    TRIED_AGAIN: "The merge is tried again at your next Stop.", "다음 Stop에서 다시 병합합니다.";
    IN_THE_WAY:
        "{0} now has files at the paths of these untracked files; move yours aside without losing their content:",
        "{0}에 다음 추적되지 않는 파일과 경로가 같은 파일이 생겼습니다. 내용을 잃지 않게 옮기세요:";
    CHECKS_FAIL:
        "The branch now includes the current {0}, and the checks fail there:",
        "브랜치에 현재 {0}{0:을} 반영했더니 검사가 실패합니다:";
    REFUSED:
        "Git or a git hook of the project refused the merge; their output:",
        "git이나 프로젝트의 git 훅이 병합을 거부했습니다. 출력:";
});
