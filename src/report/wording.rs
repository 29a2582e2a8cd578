//! The sentences of loops and of edit feedback, English and Korean side by side: a sentence that is
//! missing in one language does not compile. It must not know when a sentence is said. The longer
//! instructions of an iteration are in `framework` and `align`.

use crate::base::finding::{Finding, Severity};
use crate::looping::framework::MessageLanguage;

/// A sentence in both languages. `{0}`, `{1}` and so on stand for its parts, because the order of
/// words differs.
pub(super) struct BilingualPhrase {
    english: &'static str,
    korean: &'static str,
}

impl BilingualPhrase {
    const fn new(english: &'static str, korean: &'static str) -> Self {
        Self { english, korean }
    }

    fn template(&self, language: MessageLanguage) -> &'static str {
        match language {
            MessageLanguage::English => self.english,
            MessageLanguage::Korean => self.korean,
        }
    }

    /// The sentence with its parts. A part is text and never read for placeholders of its own.
    pub(super) fn with(&self, language: MessageLanguage, parts: &[&str]) -> String {
        let mut text = String::new();
        let mut rest = self.template(language);
        while let Some((before, behind)) = rest.split_once('{') {
            text.push_str(before);
            let Some((number, behind)) = behind.split_once('}') else { break };
            let part = number.parse::<usize>().ok().and_then(|number| parts.get(number));
            text.push_str(part.copied().unwrap_or_default());
            rest = behind;
        }
        text.push_str(rest);
        text
    }

    /// A sentence without parts.
    pub(super) fn text_in(&self, language: MessageLanguage) -> &'static str {
        self.template(language)
    }
}

/// A noun that is counted: `2 errors`, `오류 2개`.
pub(super) struct CountedNoun {
    one: &'static str,
    korean: &'static str,
}

impl CountedNoun {
    const fn new(one: &'static str, korean: &'static str) -> Self {
        Self { one, korean }
    }

    /// The noun with its number.
    pub(super) fn count(&self, language: MessageLanguage, number: usize) -> String {
        match language {
            MessageLanguage::English => super::count_noun(number, self.one),
            MessageLanguage::Korean => self.korean.replace("{0}", &number.to_string()),
        }
    }
}

/// `2 errors, 1 warning`; infos and hints count as notes. Empty for nothing.
pub(super) fn severity_counts_in<'f>(
    language: MessageLanguage,
    findings: impl Iterator<Item = &'f Finding>,
) -> String {
    let (mut errors, mut warnings, mut notes) = (0, 0, 0);
    for finding in findings {
        match finding.severity {
            Severity::Error => errors += 1,
            Severity::Warning => warnings += 1,
            Severity::Info | Severity::Hint => notes += 1,
        }
    }
    let counted = [(errors, &ERRORS), (warnings, &WARNINGS), (notes, &NOTES)];
    let counted = counted.into_iter().filter(|(number, _)| *number > 0);
    let counted: Vec<String> = counted.map(|(number, noun)| noun.count(language, number)).collect();
    counted.join(", ")
}

macro_rules! nouns {
    ($($name:ident: $one:literal, $korean:literal;)+) => {
        $(pub(super) const $name: CountedNoun = CountedNoun::new($one, $korean);)+
        #[cfg(test)]
        const NOUNS: &[(&str, CountedNoun)] = &[$((stringify!($name), $name)),+];
    };
}

macro_rules! phrases {
    ($table:ident { $($name:ident: $english:literal, $korean:literal;)+ }) => {
        $(pub(super) const $name: BilingualPhrase = BilingualPhrase::new($english, $korean);)+
        #[cfg(test)]
        const $table: &[(&str, BilingualPhrase)] = &[$((stringify!($name), $name)),+];
    };
}

nouns! {
    ERRORS: "error", "오류 {0}개";
    WARNINGS: "warning", "경고 {0}개";
    NOTES: "note", "참고 {0}개";
    FILES: "file", "파일 {0}개";
    MORE_FILES: "more file", "다른 파일 {0}개";
    MORE_FINDINGS: "more finding", "{0}개";
    ITERATIONS: "iteration", "반복 {0}회";
    TESTS: "test", "테스트 {0}개";
    TIMES: "time", "{0}번";
}

phrases!(EDITS {
    LATE: " ({0}, late)", " ({0}, 늦게 도착한 결과)";
    INTRODUCED: "introduced {0}", "새로 생긴 {0}";
    FIXED: "fixed {0}", "{0}개 해결";
    FIXED_IN: "fixed {0} in {1}", "{1}에서 {0}개 해결";
    OLDER_REMAIN: "{0} from before this edit remain", "이 편집 전부터 있던 {0}개 남음";
    MORE_MAY_BE_OLDER: "{0} more may be older", "그 밖에 전부터 있었을 수 있는 {0}개";
    MAY_BE_OLDER: "{0} may be older", "전부터 있었을 수 있는 {0}개";
    CLEAN: "clean", "문제 없음";
    NOTHING_NEW: "nothing new", "새로 생긴 문제 없음";
    NOTHING_SO_FAR: "nothing wrong found so far", "아직 발견된 문제 없음";
    BROKEN_HERE: " [broken by this edit]", " [이 편집 때문에 깨짐]";
    NOT_MEASURED_LINE: "  not measured: {0} ({1})", "  측정 안 됨: {0} ({1})";
    MORE_BY_CHECK: "  … and {0}: moai-ralph check {1}", "  … 외 {0}: moai-ralph check {1}";
    CHANGED_ON_DISK:
        "{0} changed on disk; measured when asked or at the Stop",
        "디스크에서 {0}가 바뀌었습니다. 요청할 때나 Stop에서 측정합니다";
    HEAD_MOVED:
        "HEAD moved to {0}: {1} changed on disk; measured when asked or at the Stop",
        "HEAD가 {0}로 이동: 디스크에서 {1}가 바뀌었습니다. 요청할 때나 Stop에서 측정합니다";
    SHOWS_ALL: "moai-ralph check shows all", "전체는 moai-ralph check";
    CUT: "… cut: {0}", "… 생략: {0}";
    CHECKS_SHOW_ALL:
        "moai-ralph check and moai-ralph loop checks show all",
        "전체는 moai-ralph check, moai-ralph loop checks";
    NOTICE_INTRODUCED: "{0} introduced", "{0} 생김";
    NOTICE_FIXED: "{0} fixed", "{0} 해결";
});

phrases!(STARTS {
    ACTIVE:
        "[moai-ralph] loop {0} is active: iteration {1} of {2}.",
        "[moai-ralph] 루프 {0} 실행 중: 반복 {1}/{2}.";
    TASK: "Task:", "작업:";
    WHOLE_TASK:
        "moai-ralph loop status --json has the whole task",
        "전체 작업은 moai-ralph loop status --json";
    HOW_IT_WORKS:
        "Work on the task. When you stop, the changed files are measured afresh (language \
         servers, structural scan{0}). If anything is wrong you are told what, and go on. Do not \
         weaken tests, checks or configuration to get there.",
        "작업을 진행하세요. 멈추려고 하면 바뀐 파일을 새로 측정합니다(언어 서버, 구조 스캔{0}). 문제가 있으면 무엇인지 알려 주고 계속합니다. 통과하려고 \
         테스트, 검사, 설정을 약하게 만들지 마세요.";
    AND_CHECKS: ", and the checks {0}", ", 검사 {0}";
    CLAIM_WITH:
        "Only when all of it is really done, end your last message with this line alone:",
        "모두 정말로 끝났을 때만 마지막 메시지를 이 줄 하나로 끝내세요:";
    GOES_TO_THE_END:
        "The loop goes on to its last iteration, {0}, also when everything measured is clean.",
        "측정한 것이 모두 깨끗해도 마지막 반복({0}회)까지 계속합니다.";
    ENDS_BY_ITSELF:
        "The loop ends by itself when everything measured is clean.",
        "측정한 것이 모두 깨끗하면 루프는 저절로 끝납니다.";
    NOT_HELD_UNTIL_THEN:
        "{0}. Until then your Stop is not held.",
        "{0}. 그때까지는 멈춰도 막지 않습니다.";
    STANDS:
        "Where it stands: the last Stop left {0}, {1}",
        "현재 상태: 마지막 Stop에서 {0}, {1} 남음";
    STANDS_CHECKS: "; failed checks: {0}", "; 실패한 검사: {0}";
    STANDS_WAY: ". Errors by iteration: {0}.", ". 반복별 오류 수: {0}.";
    NOTHING_TO_MEND:
        "Nothing wrong was found in what could be measured so far.",
        "지금까지 측정한 것에서는 문제가 없습니다.";
    THEN_THE_WORK:
        "From the next iteration on:",
        "다음 반복부터:";
    NOTICE_STARTED:
        "[moai-ralph] loop {0} started: ends {1}, after {2} at most; checks: {3}",
        "[moai-ralph] 루프 {0} 시작: {1} 끝남, 최대 {2}; 검사: {3}";
    NO_CHECKS: "none", "없음";
    UNTIL_MEASURED:
        "when everything measured is clean",
        "측정한 것이 모두 깨끗하면";
    UNTIL_CHECKS:
        "when diagnostics are clean and the checks pass",
        "진단이 깨끗하고 검사가 통과하면";
    UNTIL_PROMISE:
        "when everything measured is clean and the agent writes <promise>{0}</promise>",
        "측정한 것이 모두 깨끗하고 에이전트가 <promise>{0}</promise>를 쓰면";
});

phrases!(REASONS {
    GOES_ON:
        "[moai-ralph] loop {0}: not done yet. Iteration {1} of {2} begins.",
        "[moai-ralph] 루프 {0}: 아직 끝나지 않았습니다. 반복 {1}/{2} 시작.";
    GOES_ON_FORCED:
        "[moai-ralph] loop {0}: done and measured. As was asked for, it goes on to iteration {1} \
         of {2}: look for what could still be better, and keep everything clean.",
        "[moai-ralph] 루프 {0}: 끝났고 측정도 되었습니다. 요청대로 반복 {1}/{2}로 계속합니다. 더 나아질 것을 찾고, 깨끗한 상태를 지키세요.";
    CHECK_FAILED: "Check failed: {0}", "실패한 검사: {0}";
    CHECK_FAILED_TESTS: "Check failed: {0} ({1} of {2} failed)", "실패한 검사: {0} (테스트 {2}개 중 {1}개 실패)";
    NEW_WRONG: "New since the last Stop: {0}", "지난 Stop 이후 새로 생긴 {0}";
    STILL_WRONG: "Still wrong: {0}", "남은 문제: {0}";
    STILL_WRONG_ALL: "Still wrong: {0} (moai-ralph check lists them)", "남은 문제: {0} (목록: moai-ralph check)";
    NOT_BLOCKING: "Not blocking: {0}", "막지 않음: {0}";
    NOT_MEASURED: "Not measured: {0} ({1})", "측정 안 됨: {0} ({1})";
    NOT_MEASURED_ALONE: "Not measured: {0}", "측정 안 됨: {0}";
    NOT_COUNTED: "Not counted: {0}", "세지 않음: {0}";
    STILL_NOT_MEASURED: "Still not measured, as told before: {0}", "여전히 측정 안 됨(이미 알린 것): {0}개";
    OLDER_ERRORS: "{0}, from before the loop", "루프 시작 전부터 있던 {0}";
    LACKS_PROMISE_GAPS:
        "Nothing measured is wrong, but completion was not claimed.",
        "측정한 것에 문제는 없지만, 완료를 선언하지 않았습니다.";
    LACKS_PROMISE:
        "Everything measured is clean, but completion was not claimed.",
        "측정한 것은 모두 깨끗하지만, 완료를 선언하지 않았습니다.";
    NOTHING_DONE:
        "No file changed since the loop began: do the task, or say why there is nothing to do.",
        "루프를 시작한 뒤 바뀐 파일이 없습니다. 작업을 하거나, 할 일이 없는 이유를 말하세요.";
    LOST:
        "Measured earlier in this loop, so it must be measured again: {0}. Its output so far:",
        "이 루프에서 측정했던 것이므로 다시 측정되어야 합니다: {0}. 지금까지의 출력:";
    STOP_AGAIN:
        "Stop again in a moment; what is missing is measured then.",
        "잠시 뒤에 다시 멈추세요. 빠진 것은 그때 측정합니다.";
    REJECTED: "The judge did not approve:", "심사자가 승인하지 않았습니다:";
    CONTRADICTED: "Said, but not what was measured:", "말한 것과 측정한 것이 다릅니다:";
    RESEARCH_FIRST:
        "Before the work comes the research phase; this Stop is not counted.",
        "구현 전에 조사 단계가 먼저입니다. 이 Stop은 세지 않습니다.";
    OSCILLATES:
        "This is where iteration {0} was: what iteration {1} changed was undone. Both ways fail; \
         find a third one. Going back and forth once more ends the loop.",
        "반복 {0}의 상태로 돌아왔습니다. 반복 {1}의 변경이 되돌려졌습니다. 두 방법 모두 실패했으니 다른 방법을 찾으세요. 한 번 더 오가면 루프가 끝납니다.";
    STALLS:
        "Nothing got better for two iterations. Take another approach: question what you assume \
         about the cause. One more like this ends the loop.",
        "두 번 연속 나아진 것이 없습니다. 원인에 대한 가정을 의심하고 다른 방법을 쓰세요. 한 번 더 이러면 루프가 끝납니다.";
    DIVERGES:
        "As many errors come as go. Take smaller steps, and look at one error at a time.",
        "없앤 만큼 오류가 새로 생깁니다. 더 작은 단계로, 오류를 하나씩 보세요.";
    WORSE: "This is worse than iteration {0} was.", "반복 {0} 때보다 나빠졌습니다.";
    WORSE_KEPT:
        "This is worse than iteration {0} was (moai-ralph loop restore {1} --to {0} shows it).",
        "반복 {0} 때보다 나빠졌습니다(그때 상태: moai-ralph loop restore {1} --to {0}).";
    NO_OP:
        "No file was changed for two iterations, so nothing can be different.",
        "두 번 연속 바뀐 파일이 없으니 결과도 같습니다.";
    FLIPS: "Comes back again and again: {0}", "자꾸 되살아남: {0}";
    YIELDS:
        "[moai-ralph] loop {0} is not done after {1} ({2}), and stays running. The host ends a \
         turn that was held too often without a tool call; send any prompt to go on, or raise \
         its cap: CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=200 in the environment or in env of \
         .claude/settings.json",
        "[moai-ralph] 루프 {0}: {1} 뒤에도 끝나지 않았고({2}) 계속 실행 중입니다. 호스트는 도구 호출 없이 너무 자주 붙잡힌 턴을 끝냅니다. \
         아무 프롬프트나 보내면 계속하고, 한도는 환경 변수나 .claude/settings.json의 env에서 \
         CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=200으로 올릴 수 있습니다";
    YIELDS_WRONG: "still wrong: {0}", "남은 문제: {0}";
    YIELDS_UNFINISHED: "completion is not reached", "완료 조건을 채우지 못함";
});

phrases!(ENDS {
    COMPLETED: "[moai-ralph] loop {0} completed after {1}: {2}", "[moai-ralph] 루프 {0} 완료({1}): {2}";
    UNVERIFIED:
        "[moai-ralph] loop {0} ended after {1}; nothing wrong was found, but this was not \
         measured: {2}",
        "[moai-ralph] 루프 {0} 종료({1}): 발견된 문제는 없지만 측정되지 않은 것이 있습니다: {2}";
    UNCHANGED:
        "[moai-ralph] loop {0} ended after {1}; nothing wrong was found, but nothing was changed",
        "[moai-ralph] 루프 {0} 종료({1}): 발견된 문제는 없지만 바뀐 것이 없습니다";
    ALSO_NOT_MEASURED: "; not measured: {0}", "; 측정되지 않은 것: {0}";
    RESUME_GOES_ON: "; moai-ralph loop resume goes on", "; moai-ralph loop resume으로 계속합니다";
    RESTS_ON: "; measured: {0}", "; 측정한 것: {0}";
    TESTS_PASSED: "{0} passed ({1})", "{0} 통과({1})";
    CHECK_PASSED: "{0} passed", "{0} 통과";
    SERVER_ON: "{0} on {1}", "{0}({1} 대상)";
    JUDGE_APPROVED: "judge", "심사자";
    SCAN: "scan", "스캔";
    GUARD: "guard", "가드";
    NOT_ASKED: "; not asked: {0}", "; 요청하지 않은 것: {0}";
    ASKED_TESTS: "tests", "테스트";
    ASKED_BUILD: "build", "빌드";
    ASKED_LINT: "lint", "린트";
    ASKED_TYPES: "types", "타입 검사";
    NO_SENSOR: "nothing was measured", "측정한 것 없음";
    REMAIN: "; {0} remain", "; {0}는 그대로";
    MERGED: "; merged into {0}", "; {0}에 병합됨";
    NOTICED: "; to be looked at: {0}", "; 살펴볼 것: {0}";
    REFROZEN: "the checks were refrozen by hand at {0}", "{0}에 검사를 터미널에서 다시 고정함";
    ALLOWED: "{0} was allowed by hand at {1}", "{1}에 {0}을(를) 터미널에서 허용함";
    NOTICE_BY_HAND: "[moai-ralph] loop {0}: {1}", "[moai-ralph] 루프 {0}: {1}";
    OVERRIDDEN:
        "{0}, while the agent was at work. If that was you, `moai-ralph loop resume`; if not, \
         `moai-ralph loop cancel`",
        "에이전트가 일하는 중에 {0}. 직접 한 것이면 `moai-ralph loop resume`, 아니면 `moai-ralph loop cancel`";
    PAUSED:
        "[moai-ralph] loop {0} is paused after {1}: {2} (moai-ralph loop resume, or \
         /moai-resume, goes on; moai-ralph loop cancel ends it)",
        "[moai-ralph] 루프 {0} 일시 정지({1}): {2} (계속: moai-ralph loop resume 또는 /moai-resume, 끝내기: \
         moai-ralph loop cancel)";
    CANCELLED: "[moai-ralph] loop {0} was cancelled after {1}", "[moai-ralph] 루프 {0} 취소됨({1})";
    RUNNING: "[moai-ralph] loop {0} is running", "[moai-ralph] 루프 {0} 실행 중";
    AT_MILESTONE: "the milestone is reached; {0}", "정해 둔 반복에 도달했습니다. {0}";
    REJECTED_IN_ROW:
        "the judge rejected {0} in a row, so a person should look: {1}",
        "심사자가 {0} 연속 거절했으니 사람이 봐야 합니다: {1}";
    NO_REASON: "no reason given", "이유 없음";
    MISSING_MEASUREMENT: "a required measurement is missing: {0}", "필수 측정이 빠졌습니다: {0}";
    UNKNOWN: "unknown", "알 수 없음";
    COMPACT_FIRST: "{0}; make room with /compact first", "{0}. 먼저 /compact로 공간을 만드세요";
    CONTEXT_FULL: "the context is too full", "컨텍스트가 너무 찼습니다";
    EXAM_CHANGED:
        "{0}, and not by this session. Accept it with `moai-ralph loop refreeze` or put it back, \
         then `moai-ralph loop resume`",
        "{0} (이 세션이 바꾼 것이 아님). `moai-ralph loop refreeze`로 받아들이거나 되돌린 다음 \
         `moai-ralph loop resume`";
    EXAM_DIFFERS: "what examines the loop was changed", "루프를 검사하는 것이 바뀌었습니다";
    BASE_IN_USE: "the work is done and merged, but {0}", "작업과 병합은 끝났지만, {0}";
    BY_THE_USER: "by the user", "사용자가 멈춤";
    WAITS_FOR_TASKS:
        "[moai-ralph] loop {0}: background tasks are running ({1}), so this stop is not counted; \
         after {2} such stops it is measured all the same",
        "[moai-ralph] 루프 {0}: 백그라운드 작업 {1}개가 돌고 있어 이번 Stop은 세지 않습니다. 이런 Stop이 \
         {2}번 이어지면 그다음에는 그대로 측정합니다";
    FAILED:
        "[moai-ralph] loop {0} ended {1} after {2}, not completed: ",
        "[moai-ralph] 루프 {0}, {1} {2} 만에 미완료로 종료: ";
    AT_ITERATION_LIMIT:
        "[moai-ralph] loop {0} ended at its limit of {1}, not completed: ",
        "[moai-ralph] 루프 {0}, 한도({1})에서 미완료로 종료: ";
    AT_TIME_LIMIT: "at its limit of time", "시간 한도에 걸려";
    AT_TOKEN_LIMIT: "at its limit of tokens", "토큰 한도에 걸려";
    STALLED: "because nothing got better for too long", "너무 오래 나아지지 않아";
    OSCILLATED: "because it went back and forth between the same states", "같은 상태를 오가기만 해서";
    GAMED:
        "because tests or checks were weakened again after it was told",
        "알린 뒤에도 테스트나 검사를 다시 약하게 만들어";
    NOT_FINISHED: "because its end could not be made", "마무리를 할 수 없어";
    AT_LIMIT: "at its limit", "한도에 걸려";
    LEFT: "{0}, {1} left", "{0}, {1} 남음";
    LEFT_FAILED: "; failed: {0}", "; 실패: {0}";
    GUARD_SAID: "; guard: {0}", "; 가드: {0}";
    BUT_NOT_MEASURED: "; not measured: {0}", "; 측정 안 됨: {0}";
    NO_PROMISE: "the promise was not given", "완료 선언이 없었음";
    NO_APPROVAL: "the judge did not approve", "심사자가 승인하지 않음";
    NOT_MERGED: "{0} is not merged", "{0}는 병합되지 않음";
    BEST: "best was iteration {0}: {1}", "가장 좋았던 것은 반복 {0}: {1}";
    BEST_KEPT:
        "best was iteration {0}: {1} (moai-ralph loop restore {2} --to best)",
        "가장 좋았던 것은 반복 {0}: {1} (moai-ralph loop restore {2} --to best)";
    FOUND: "{0}, {1}, checks {2}", "{0}, {1}, 검사 {2}";
});

phrases!(LOSSES {
    STANDING: "{0}, iteration {1} of {2}", "{0}, 반복 {1}/{2}";
    ROW_GONE:
        "[moai-ralph] loop {0} ({1}) is lost: {2} does not have it any more, so nothing holds the agent's Stops. \
         Start it again with `moai-ralph loop start` or /moai-loop; `moai-ralph loop forget {0}` ends \
         this message.",
        "[moai-ralph] 루프 {0}({1})이 사라졌습니다. {2}에 기록이 없어 에이전트가 멈춰도 막지 않습니다. \
         `moai-ralph loop start`나 /moai-loop로 다시 시작하세요. `moai-ralph loop forget {0}`을 실행하면 이 알림이 \
         더 나오지 않습니다.";
    ROW_CHANGED:
        "[moai-ralph] loop {0} was changed in the store, and not by this program: it was {1} and is \
         now {2}.",
        "[moai-ralph] 루프 {0}의 저장된 기록을 이 프로그램이 아닌 무언가가 바꿨습니다. 이전: {1}, 지금: {2}.";
    CHANGED_GOES_ON:
        "It goes on as it is now; `moai-ralph loop cancel {0}` ends it.",
        "지금 값으로 계속합니다. 끝내려면 `moai-ralph loop cancel {0}`.";
    CHANGED_ENDS:
        "It does not hold the agent's Stops any more. Start it again with `moai-ralph loop start` or \
         /moai-loop; `moai-ralph loop forget {0}` ends this message.",
        "이 루프는 이제 에이전트를 막지 않습니다. `moai-ralph loop start`나 /moai-loop로 다시 시작하세요. \
         `moai-ralph loop forget {0}`을 실행하면 이 알림이 더 나오지 않습니다.";
    UNREADABLE: "not readable", "읽을 수 없음";
    OTHER_STORE:
        "[moai-ralph] loop {0} is kept in {1}, but {2} is in use now, so the loop does not hold the \
         agent's Stops. Set MOAI_RALPH_HOME or XDG_STATE_HOME to what it was; `moai-ralph loop forget {0}` \
         ends this message.",
        "[moai-ralph] 루프 {0}의 기록은 {1}에 있지만 지금은 {2}를 쓰고 있어, 이 루프가 에이전트를 막지 않습니다. \
         MOAI_RALPH_HOME이나 XDG_STATE_HOME을 원래 값으로 되돌리세요. `moai-ralph loop forget {0}`을 실행하면 이 \
         알림이 더 나오지 않습니다.";
    MARK_GONE:
        "[moai-ralph] loop {0} is active, but its mark in {1} was removed; it was written again.",
        "[moai-ralph] 루프 {0}은 실행 중이지만 {1}에 있던 표시 파일이 지워져 다시 썼습니다.";
    OFFERED:
        "[moai-ralph] loop {0} ({1}; iteration {2} of {3}) is active and belongs to an earlier session. \
         To go on with it in this one: /moai-adopt {0}, or `moai-ralph loop adopt {0}`.",
        "[moai-ralph] 루프 {0}({1}, 반복 {2}/{3})은 실행 중이며 이전 세션의 것입니다. 이 세션에서 계속하려면 \
         /moai-adopt {0} 또는 `moai-ralph loop adopt {0}`.";
    OFFERED_TO_AGENT:
        "[moai-ralph] loop {0} ({1}; iteration {2} of {3}) is active and belongs to an earlier session. \
         It does not concern you unless the user wants to go on with it here; then run `moai-ralph loop adopt {0} \
         --session {4}`.",
        "[moai-ralph] 루프 {0}({1}, 반복 {2}/{3})은 실행 중이며 이전 세션의 것입니다. 사용자가 여기서 계속하기를 \
         원할 때만 `moai-ralph loop adopt {0} --session {4}`를 실행하세요.";
});

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts that a template asks for, sorted.
    fn parts(template: &str) -> Vec<String> {
        let numbers = template.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
        let mut numbers: Vec<String> = numbers.map(|(number, _)| number.to_owned()).collect();
        numbers.sort();
        numbers.dedup();
        numbers
    }

    fn has_hangul(text: &str) -> bool {
        text.chars().any(|it| matches!(it, '가'..='힣'))
    }

    #[test]
    fn every_phrase_exists_in_both_languages_with_the_same_parts() {
        for (name, phrase) in [EDITS, STARTS, REASONS, ENDS, LOSSES].into_iter().flatten() {
            let (english, korean) = (phrase.english, phrase.korean);
            assert!(!english.trim().is_empty() && !has_hangul(english), "{name}: {english}");
            // What has no word of its own, such as a number, may be the same.
            assert!(has_hangul(korean), "{name}: {korean}");
            assert_eq!(parts(english), parts(korean), "{name}");
            let numbers: Vec<String> = (0..parts(english).len()).map(|it| it.to_string()).collect();
            assert_eq!(parts(english), numbers, "{name}: parts are counted from 0");
        }
        for (name, noun) in NOUNS {
            assert!(!has_hangul(noun.one) && noun.korean.contains("{0}"), "{name}");
        }
    }

    #[test]
    fn a_part_is_never_read_for_placeholders() {
        let text = NOT_MEASURED.with(MessageLanguage::English, &["{1}", "a {0} b"]);
        assert_eq!(text, "Not measured: {1} (a {0} b)");
    }

    #[test]
    fn numbers_stand_where_the_language_has_them() {
        assert_eq!(ERRORS.count(MessageLanguage::English, 1), "1 error");
        assert_eq!(ERRORS.count(MessageLanguage::English, 2), "2 errors");
        assert_eq!(ERRORS.count(MessageLanguage::Korean, 2), "오류 2개");
    }
}
