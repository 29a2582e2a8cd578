//! The texts about the worktrees of pipelines.

use super::BilingualPhrase;

phrases!(WORKTREES {
    WORKTREE_CLOSED:
        "[moai-ralph] pipeline {0} has ended ({1}), so nothing more is merged from this worktree. Commits for {2} stay on branch {3}: `moai-ralph pipeline resume` continues with them; to keep them without it, run `git merge {3}` in the project",
        "[moai-ralph] 파이프라인 {0}{0:이} 끝나서({1}) 이 작업 트리의 작업은 더 이상 병합되지 않습니다. {2}의 커밋은 브랜치 {3}에 남아 있습니다. `moai-ralph pipeline resume`으로 이어서 하거나 프로젝트에서 `git merge {3}`{3:으로} 가져오세요";
    PLAN_FILE_GONE:
        "{0} is missing. The approved plan still applies, but no box can be set: `moai-ralph pipeline plan > {0}` writes it again",
        "{0}{0:이} 없습니다. 승인된 내용이 그대로 적용되지만 체크박스를 표시할 수 없습니다. `moai-ralph pipeline plan > {0}`{0:으로} 다시 쓰세요";
    RESUMED_BY_PERSON:
        "pipeline {0} ended because its tests or checks were weakened: only the user continues it, with `/moai-ralph:pipeline-resume` or at a terminal",
        "파이프라인 {0}{0:은} 테스트나 검사가 약화되어 끝났습니다. 사용자만 `/moai-ralph:pipeline-resume`이나 터미널에서 이어 갈 수 있습니다";
    EXAM_IS_GONE:
        "the frozen checks of pipeline {0} no longer exist; start a new pipeline",
        "파이프라인 {0}에서 고정한 검사가 남아 있지 않습니다. 파이프라인을 새로 시작하세요";
    IN_WORKTREE_OF:
        "this is a worktree of pipeline {0}, which is active: start the pipeline in another folder, or cancel {0} first",
        "여기는 실행 중인 파이프라인 {0}의 작업 트리입니다. 다른 폴더에서 시작하거나 {0}{0:을} 먼저 취소하세요";
    WORKTREE_TAKEN:
        "[moai-ralph] another session works on {0} of pipeline {1} in this worktree: only that session may write source files. Take it over with `moai-ralph loop adopt {2}`, or work in another folder",
        "[moai-ralph] 다른 세션이 이 작업 트리에서 파이프라인 {1}의 {0}{0:을} 작업하고 있으며 소스 파일은 그 세션만 씁니다. `moai-ralph loop adopt {2}`{2:으로} 넘겨받거나 다른 폴더에서 작업하세요";
    AWAITS_WORKTREES:
        "[moai-ralph] pipeline {0}: TODOs are worked on in worktrees. Open a session in each, and continue here when they are merged:",
        "[moai-ralph] 파이프라인 {0}: TODO를 작업 트리에서 작업합니다. 각 작업 트리에서 세션을 여세요. 병합된 뒤 여기서 계속하세요:";
    NO_WORKTREES:
        "[moai-ralph] pipeline {0}: no worktree for {1} ({2}); workers may do it here",
        "[moai-ralph] 파이프라인 {0}: {1}의 작업 트리를 만들지 못했습니다({2}). 여기서 워커에게 맡길 수 있습니다";
    TODO_FAILED:
        "[moai-ralph] pipeline {3}: {0} is [FAILED] now, after {1} attempts ({2}), and gets no further worktree",
        "[moai-ralph] 파이프라인 {3}: {0}{0:이} {1}번의 시도 뒤 [FAILED]가 되었고({2}) 작업 트리를 더 만들지 않습니다";
    ON_OTHER_BRANCH:
        "[moai-ralph] pipeline {0}: the worktrees were merged into {1}, but {2} is checked out here. Nothing is measured until `git switch {1}`",
        "[moai-ralph] 파이프라인 {0}: 작업 트리는 {1}에 병합되는데, 여기에는 그 작업이 없는 {2}{2:이} 체크아웃되어 있습니다. `git switch {1}`{1:을} 하거나 {2}{2:이} {1}{1:을} 포함할 때까지 측정하지 않습니다";
    DETACHED_HEAD: "no branch", "브랜치 없음";
    WORKTREE_LEFT: "  {0} stays in {1} ({2}): {3}", "  {0}: {1}에 남아 있습니다({2}): {3}";
    WORKTREE_GONE: "  {0}: {1} no longer exists ({2}): {3}", "  {0}: {1}{1:이} 없어졌습니다({2}): {3}";
    WORKTREE_MOVED: "  {0}: {1} was moved to {2} ({3}): {4}", "  {0}: {1}{1:이} {2}{2:으로} 옮겨졌습니다({3}): {4}";
    ON_BRANCH: "branch {0}", "브랜치 {0}";
    BRANCH_AND_HEAD: "branch {0}, HEAD {1}", "브랜치 {0}, HEAD {1}";
    HEAD_ONLY: "HEAD {0}; branch {1} no longer exists", "HEAD {0}. 브랜치 {1}{1:은} 없어졌습니다";
    BRANCH_GONE: "branch {0} no longer exists", "브랜치 {0}{0:은} 없어졌습니다";
    WORKTREE_OFF_BRANCH: "    in its folder: {0}", "    그 폴더에서: {0}";
    COMMITS_UNMERGED: "{0} not merged ({1})", "병합되지 않음: {0}({1})";
    CHANGES_UNCOMMITTED: "changes that are not committed ({0})", "커밋되지 않은 변경({0})";
    MERGE_TAKEN_BACK: "the branch it was merged into no longer contains the merge", "병합된 브랜치에 그 병합이 더 이상 없음";
    SINCE_ITS_MERGE: "made after its merge", "병합한 뒤에 생김";
    PIPELINE_ENDED_FIRST: "the pipeline ended first", "파이프라인이 먼저 끝남";
    WORKTREE_IN_USE: "all of it is merged; a program still runs there", "모두 병합되었지만 아직 프로그램이 실행 중입니다";
    WORKTREE_IGNORED: "all of it is merged; files that git ignores are left there ({0})", "모두 병합되었고 git이 무시하는 파일이 남아 있습니다({0})";
    WORKTREE_MERGED: "all of it is merged", "모두 병합되었습니다";
    WORKTREE_UNFINISHED: "{0} is in progress there", "그곳에서 {0}{0:이} 진행 중입니다";
    WORKTREE_UNSEEN: "{0} differs there, but git is set to ignore it (`git update-index --assume-unchanged` or `--skip-worktree`)", "{0}{0:이} 바뀌었지만 git이 보지 않도록 표시되어 있습니다(`git update-index --assume-unchanged` 또는 `--skip-worktree`)";
    SUBMODULE_COMMITS: "its submodule {0} has commits that no branch of its remote has: push them from there", "서브모듈 {0}에 원격의 어느 브랜치에도 없는 커밋이 있습니다. 그곳에서 푸시하세요";
    WORKTREE_SUBMODULES: "all of it is merged; its submodules are checked out there", "모두 병합되었고 서브모듈이 그곳에 체크아웃되어 있습니다";
    WORKTREE_LOCKED: "all of it is merged; it is locked (`git worktree unlock FOLDER`)", "모두 병합되었지만 잠겨 있습니다(`git worktree unlock 폴더`)";
    WORKTREE_REPLACED: "not a worktree of this repository; left untouched", "이 저장소의 작업 트리가 아니어서 건드리지 않았습니다";
    LEFT_REMEDY:
        "  To keep the work: `git merge BRANCH` (or the commit of HEAD) here. To discard it: `git worktree remove --force FOLDER`, `git branch -D BRANCH`",
        "  작업을 가져오려면 여기서 `git merge 브랜치`(또는 HEAD의 커밋), 버리려면 `git worktree remove --force 폴더`, `git branch -D 브랜치`를 실행하세요";
    PIPELINE_PAUSED: "  its loop is paused ({0}):", "  루프가 멈춰 있습니다({0}):";
    PIPELINE_AWAITS_ANSWER: "  its loop is paused until you have answered", "  답할 때까지 루프가 멈춰 있습니다";
    LOOP_PAUSED: "    {0}. To continue: `moai-ralph loop resume {1}`", "    {0}. 계속하려면: `moai-ralph loop resume {1}`";
    PLAN_REPAIRED:
        "  its loop is paused, and the plan can be used again. To continue: `moai-ralph loop resume {0}`",
        "  루프가 멈춰 있지만 계획을 다시 쓸 수 있습니다. 계속하려면: `moai-ralph loop resume {0}`";
    WORKTREE_LINE: "  {0} in {1}: {2}", "  {0}의 작업 트리 {1}: {2}";
    TREE_MERGED: "merged", "병합됨";
    TREE_UNMERGED: "not merged: {0}", "병합되지 않음: {0}";
    LOOP_MERGED:
        "merged; the next Stop of the project's session runs its commands",
        "병합됨. 프로젝트 세션의 다음 Stop에서 명령을 실행합니다";
    MORE_SINCE_MERGE: "; {0} made since are not merged", ". 그 뒤의 {0}는 병합되지 않음";
    FOLDER_GONE: "the folder is gone", "폴더가 없어짐";
    FOLDER_REPLACED: "the folder is no worktree of this repository any more", "폴더가 더 이상 이 저장소의 작업 트리가 아님";
    FOLDER_MOVED: "the folder was moved to {0}", "폴더가 {0}{0:으로} 옮겨짐";
    LOOP_IS_GONE: "its loop is gone", "루프의 기록이 없어짐";
    WAITS_FOR_SESSION: "waits for a session", "세션을 기다림";
    LOOP_AT_WORK: "{0}, iteration {1} of {2}", "{0}, 반복 {1}/{2}";
    WORKTREE_TASK:
        "Do {0} of the plan of pipeline {1}, and nothing else. You are in a worktree of its own: commit your work here, and it is merged when its commands pass. Its part of the plan:",
        "파이프라인 {1}의 계획에서 {0}만 하세요. 전용 작업 트리에 있습니다. 여기에 커밋하면 명령이 통과할 때 병합됩니다. 계획에서 맡은 부분:";
});
