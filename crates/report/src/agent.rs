//! The feedback that an agent reads after an edit: one line per finding, within the host's bound.

use super::wording::{
    self, ERRORS, FILES, MORE_FILES, MORE_FINDINGS, OTHER_FILES, severity_counts_in,
};
use super::{finding_line, sanitized_name};
use moai_base::delta::Delta;
use moai_base::finding::{Finding, FindingState, Severity};
use moai_base::limits::{CONTEXT_CHARS_MAX, FEEDBACK_FINDINGS_MAX};
use moai_base::path::RelPath;
use moai_base::verdict::Gap;
use moai_loops::framework::MessageLanguage;

/// The result of one edit.
#[derive(Clone, Debug)]
pub struct EditFeedback {
    pub path: RelPath,
    pub delta: Delta,
    /// Sensors without a verdict.
    pub gaps: Vec<(String, Gap)>,
    /// True if the gaps alone are reported; with other results they always are.
    pub has_new_gaps: bool,
    /// True if the counts of older findings are new to the session ([`Self::counts_key`]).
    pub has_new_counts: bool,
    /// The sensor of a deferred report; `None` for an immediate one.
    pub deferred_sensor: Option<String>,
    /// Effects of the edit on other files.
    pub other_files: Vec<CrossFileEffect>,
    /// One line for each earlier fix of an introduced finding.
    pub earlier_fixes: Vec<String>,
}

/// The effect of a change on a file that it did not touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CrossFileEffect {
    pub path: RelPath,
    /// The findings that the change introduced there.
    pub broken: Vec<Finding>,
    /// The number of findings that the change fixed there.
    pub fixed: usize,
}

/// A text for the agent, and a line for the user where errors came or went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditText {
    pub text: String,
    pub notice: Option<String>,
}

impl EditText {
    /// A text for the agent alone.
    #[must_use]
    pub fn agent_only(text: String) -> Self {
        Self { text, notice: None }
    }
}

impl EditFeedback {
    /// Feedback without findings and gaps.
    #[must_use]
    pub fn new(path: RelPath) -> Self {
        Self {
            path,
            delta: Delta::default(),
            gaps: Vec::new(),
            has_new_gaps: false,
            has_new_counts: false,
            deferred_sensor: None,
            other_files: Vec::new(),
            earlier_fixes: Vec::new(),
        }
    }

    /// The findings in one state, without hints: an agent that acts on those churns.
    fn reportable(&self, state: FindingState) -> impl Iterator<Item = &Finding> {
        self.delta.in_state(state).filter(|finding| finding.severity > Severity::Hint)
    }

    /// Findings that may be older on lines that the edit wrote. They are always listed: the edit may have
    /// brought them back.
    fn written_back(&self) -> impl Iterator<Item = &Finding> {
        let written_back = &self.delta.written_back;
        self.reportable(FindingState::Unknown).filter(|it| written_back.contains(&it.id))
    }

    fn broken(&self) -> impl Iterator<Item = &Finding> {
        self.other_files.iter().flat_map(|effect| &effect.broken)
    }

    fn has_effect(&self) -> bool {
        let has_broken =
            self.reportable(FindingState::Introduced).chain(self.broken()).next().is_some();
        let has_fixed_there = self.other_files.iter().any(|effect| effect.fixed > 0);
        has_broken || self.delta.fixed > 0 || has_fixed_there
    }

    /// Identifies the counts of older findings, which a session reads once and again when they
    /// change. `None` where they would not be shown anyway.
    #[must_use]
    pub fn counts_key(&self) -> Option<String> {
        let older = self.reportable(FindingState::Existing).count();
        let unknown = self.reportable(FindingState::Unknown).count();
        let is_said = unknown > 0 || older > 0 && self.has_effect();
        let sensor = self.deferred_sensor.as_deref().unwrap_or_default();
        is_said.then(|| format!("{} {sensor}: {older} older, {unknown} unknown", self.path))
    }

    /// The parts of the header that concern the edited file.
    fn header(&self, language: MessageLanguage) -> Vec<String> {
        let introduced = severity_counts_in(language, self.reportable(FindingState::Introduced));
        let older = self.reportable(FindingState::Existing).count();
        let unknown = self.reportable(FindingState::Unknown).count();
        let mut parts = Vec::new();
        if !introduced.is_empty() {
            parts.push(wording::INTRODUCED.with(language, &[&introduced]));
        }
        if self.delta.fixed > 0 {
            parts.push(wording::FIXED.with(language, &[&self.delta.fixed.to_string()]));
            if introduced.is_empty() && older == 0 && unknown == 0 && self.gaps.is_empty() {
                parts.push(wording::NOW_CLEAN.text_in(language).to_owned());
            }
        }
        if unknown > 0 && (self.has_new_counts || self.written_back().next().is_some()) {
            let phrase = if introduced.is_empty() {
                wording::MAY_BE_OLDER
            } else {
                wording::MORE_MAY_BE_OLDER
            };
            parts.push(phrase.with(language, &[&unknown.to_string()]));
        }
        if older > 0 && self.has_new_counts {
            parts.push(wording::OLDER_REMAIN.with(language, &[&older.to_string()]));
        }
        parts
    }
}

/// `introduced 1 error in cart.py`, with the number of files where they are several.
fn introduced_elsewhere(
    effects: &[CrossFileEffect],
    phrase: &wording::BilingualPhrase,
    count: &str,
    language: MessageLanguage,
) -> Option<String> {
    let broken: Vec<&CrossFileEffect> =
        effects.iter().filter(|effect| !effect.broken.is_empty()).collect();
    let place = match broken.as_slice() {
        [only] => sanitized_name(only.path.as_str()),
        several => OTHER_FILES.count(language, several.len()),
    };
    (!count.is_empty()).then(|| phrase.with(language, &[count, &place]))
}

fn fixed_elsewhere(
    elsewhere: &[CrossFileEffect],
    language: MessageLanguage,
) -> impl Iterator<Item = String> {
    let fixed = elsewhere.iter().filter(|effect| effect.fixed > 0);
    fixed.map(move |effect| {
        let path = sanitized_name(effect.path.as_str());
        wording::FIXED_IN.with(language, &[&effect.fixed.to_string(), &path])
    })
}

fn late_mark(late: Option<&str>, language: MessageLanguage) -> String {
    late.map(|sensor| wording::LATE.with(language, &[sensor])).unwrap_or_default()
}

/// The effect of the change `changed` on other files alone; `None` without one.
#[must_use]
pub fn cross_file_text(
    changed: &str,
    elsewhere: &[CrossFileEffect],
    late: Option<&str>,
    language: MessageLanguage,
) -> Option<EditText> {
    let broken: Vec<&Finding> = elsewhere.iter().flat_map(|effect| &effect.broken).collect();
    let counts = severity_counts_in(language, broken.iter().copied());
    let introduced = introduced_elsewhere(elsewhere, &wording::INTRODUCED_IN, &counts, language);
    let parts: Vec<String> =
        introduced.into_iter().chain(fixed_elsewhere(elsewhere, language)).collect();
    if parts.is_empty() {
        return None;
    }
    let late = late_mark(late, language);
    let mut text = format!("[moai-ralph] {}{late}: {}", sanitized_name(changed), parts.join("; "));
    let notice = error_notice(changed, &Delta::default(), elsewhere, language);
    let listed = |finding| ListedFinding::new(finding, Some(&wording::BROKEN_HERE));
    push_findings(&mut text, broken.into_iter().map(listed).collect(), "", language);
    Some(EditText { text, notice })
}

/// Introduces the changes found at the first poll of a session, whose author is unknown.
#[must_use]
pub fn first_look(language: MessageLanguage) -> String {
    format!("[moai-ralph] {}", wording::FIRST_LOOK.text_in(language))
}

/// Too many changes on disk to measure while a hook waits.
#[must_use]
pub fn many_changed(file_count: usize, is_rest: bool, language: MessageLanguage) -> String {
    let files = if is_rest { MORE_FILES } else { FILES }.count(language, file_count);
    format!("[moai-ralph] {}", wording::CHANGED_ON_DISK.with(language, &[&files]))
}

/// A move of HEAD that changed many files.
#[must_use]
pub fn head_moved(commit: &str, file_count: usize, language: MessageLanguage) -> String {
    let (commit, files) = (commit.get(..12).unwrap_or(commit), FILES.count(language, file_count));
    format!("[moai-ralph] {}", wording::HEAD_MOVED.with(language, &[commit, &files]))
}

/// The feedback of an edit; `None` without news. A clean edit is news only if it fixed something.
#[must_use]
pub fn edit_text(feedback: &EditFeedback, language: MessageLanguage) -> Option<EditText> {
    let has_unknown = feedback.reportable(FindingState::Unknown).next().is_some();
    let has_written_back = feedback.written_back().next().is_some();
    let has_news =
        feedback.has_effect() || has_written_back || has_unknown && feedback.has_new_counts;
    if !has_news && (feedback.gaps.is_empty() || !feedback.has_new_gaps) {
        return None;
    }
    let mut parts = feedback.header(language);
    let counts = severity_counts_in(language, feedback.broken());
    parts.extend(introduced_elsewhere(
        &feedback.other_files,
        &wording::INTRODUCED_IN,
        &counts,
        language,
    ));
    parts.extend(fixed_elsewhere(&feedback.other_files, language));
    if parts.is_empty() {
        parts.push(wording::NOT_FULLY_MEASURED.text_in(language).to_owned());
    }
    let path = sanitized_name(feedback.path.as_str());
    let late = late_mark(feedback.deferred_sensor.as_deref(), language);
    let mut text = format!("[moai-ralph] {path}{late}: {}", parts.join("; "));
    let own = feedback.reportable(FindingState::Introduced).map(|it| ListedFinding::new(it, None));
    let mark = |it, phrase| ListedFinding::new(it, Some(phrase));
    let broken = feedback.broken().map(|it| mark(it, &wording::BROKEN_HERE));
    let written_back = feedback.written_back().map(|it| mark(it, &wording::MAY_BE_OLDER_HERE));
    let lines: Vec<ListedFinding<'_>> = own.chain(broken).chain(written_back).collect();
    push_findings(&mut text, lines, feedback.path.as_str(), language);
    for line in &feedback.earlier_fixes {
        push_line(&mut text, line);
    }
    for (sensor, gap) in &feedback.gaps {
        let gap = gap.to_string();
        push_line(&mut text, &wording::NOT_MEASURED_LINE.with(language, &[sensor, &gap]));
    }
    let notice =
        error_notice(feedback.path.as_str(), &feedback.delta, &feedback.other_files, language);
    Some(EditText { text, notice })
}

/// One line for the user about errors that came and went; `None` without any.
fn error_notice(
    changed: &str,
    delta: &Delta,
    elsewhere: &[CrossFileEffect],
    language: MessageLanguage,
) -> Option<String> {
    let introduced = error_count(delta.in_state(FindingState::Introduced));
    let broken = error_count(elsewhere.iter().flat_map(|effect| &effect.broken));
    let mut parts = Vec::new();
    if introduced > 0 {
        let errors = ERRORS.count(language, introduced);
        parts.push(wording::NOTICE_INTRODUCED.with(language, &[&errors]));
    }
    if broken > 0 {
        let errors = ERRORS.count(language, broken);
        let phrase = &wording::NOTICE_INTRODUCED_IN;
        parts.extend(introduced_elsewhere(elsewhere, phrase, &errors, language));
    }
    if delta.fixed_errors > 0 {
        let errors = ERRORS.count(language, delta.fixed_errors);
        parts.push(wording::NOTICE_FIXED.with(language, &[&errors]));
    }
    (!parts.is_empty())
        .then(|| format!("[moai-ralph] {}: {}", sanitized_name(changed), parts.join(", ")))
}

fn error_count<'f>(findings: impl Iterator<Item = &'f Finding>) -> usize {
    findings.filter(|finding| finding.severity == Severity::Error).count()
}

/// The deferred report of an edit that introduced nothing.
#[must_use]
pub fn no_new_findings(feedback: &EditFeedback, language: MessageLanguage) -> String {
    let older = feedback.reportable(FindingState::Existing).count();
    let is_clean = older == 0 && feedback.reportable(FindingState::Unknown).next().is_none();
    let phrase = if is_clean { wording::CLEAN } else { wording::NOTHING_NEW };
    let late = late_mark(feedback.deferred_sensor.as_deref(), language);
    format!(
        "[moai-ralph] {}{late}: {}",
        sanitized_name(feedback.path.as_str()),
        phrase.text_in(language)
    )
}

/// A finding with a remark about its origin.
struct ListedFinding<'f> {
    finding: &'f Finding,
    mark: Option<&'static wording::BilingualPhrase>,
}

impl<'f> ListedFinding<'f> {
    fn new(finding: &'f Finding, mark: Option<&'static wording::BilingualPhrase>) -> Self {
        Self { finding, mark }
    }
}

/// One line per finding, the most severe first. `path` goes into the command that lists all of them.
fn push_findings(
    text: &mut String,
    mut findings: Vec<ListedFinding<'_>>,
    path: &str,
    language: MessageLanguage,
) {
    findings.sort_by_key(|listed| std::cmp::Reverse(listed.finding.severity));
    for ListedFinding { finding, mark } in findings.iter().take(FEEDBACK_FINDINGS_MAX) {
        let mark = mark.map_or("", |phrase| phrase.text_in(language));
        push_line(text, &format!("  {}{mark}", finding_line(finding)));
    }
    if let Some(more) = findings.len().checked_sub(FEEDBACK_FINDINGS_MAX).filter(|more| *more > 0) {
        let more = MORE_FINDINGS.count(language, more);
        let line = wording::MORE_BY_CHECK.with(language, &[&more, &sanitized_name(path)]);
        push_line(text, line.trim_end());
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push('\n');
    text.push_str(line);
}

/// Several texts as one context, truncated to the host's bound.
#[must_use]
pub fn join_contexts(texts: &[String]) -> String {
    truncate_text(&texts.join("\n"), CONTEXT_CHARS_MAX, "see moai-ralph check")
}

/// A text of at most `chars_max` characters, truncated at a line where possible; `where_all` names
/// the source of the whole text.
pub(super) fn truncate_text(text: &str, chars_max: usize, where_all: &str) -> String {
    truncate_text_in(MessageLanguage::English, text, chars_max, where_all)
}

/// [`truncate_text`] in a given language.
pub(super) fn truncate_text_in(
    language: MessageLanguage,
    text: &str,
    chars_max: usize,
    where_all: &str,
) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let notice = format!("\n{}", wording::CUT.with(language, &[where_all]));
    let room = chars_max.saturating_sub(notice.chars().count());
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let cut = text[..end].rfind('\n').unwrap_or(end);
    format!("{}{notice}", &text[..cut])
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::finding::assign_fingerprints;
    use moai_base::samples::finding;
    use moai_base::verdict::Cause;

    fn say(
        before: Option<&[(u32, &str)]>,
        now: &[(u32, &str)],
        gap: Option<Gap>,
    ) -> Option<String> {
        let set = |of: &[(u32, &str)]| {
            let mut set = of.iter().map(|(line, code)| finding("src/a.py", *line, code)).collect();
            assign_fingerprints(&mut set);
            set
        };
        let before = before.map(set);
        let delta = Delta::by_fingerprint(before.as_deref(), set(now));
        let path = finding("src/a.py", 0, "x").path;
        let gaps = gap.into_iter().map(|gap| ("ruff".to_owned(), gap)).collect();
        english(&EditFeedback { gaps, has_new_gaps: true, delta, ..feedback(path) })
    }

    fn feedback(path: RelPath) -> EditFeedback {
        EditFeedback {
            path,
            delta: Delta::default(),
            gaps: Vec::new(),
            has_new_gaps: false,
            has_new_counts: true,
            deferred_sensor: None,
            other_files: Vec::new(),
            earlier_fixes: Vec::new(),
        }
    }

    fn english(feedback: &EditFeedback) -> Option<String> {
        edit_text(feedback, MessageLanguage::English).map(|words| words.text)
    }

    #[test]
    fn what_an_edit_did_in_one_header_and_one_line_each() {
        let text = say(Some(&[(1, "old"), (2, "gone")]), &[(1, "old"), (9, "new")], None);
        insta::assert_snapshot!(text.expect("something to say"), @r"
        [moai-ralph] src/a.py: introduced 1 error; fixed 1; 1 older remaining
          error src/a.py:10:1 pyright(new): new is wrong
        ");
    }

    #[test]
    fn a_clean_edit_is_silent_unless_it_fixed_something() {
        assert_eq!(say(Some(&[]), &[], None), None);
        assert_eq!(say(Some(&[(1, "x")]), &[(4, "x")], None), None);
        let fixed = say(Some(&[(1, "x"), (2, "y")]), &[], None);
        assert_eq!(fixed.as_deref(), Some("[moai-ralph] src/a.py: fixed 2; now clean"));
    }

    #[test]
    fn an_earlier_fix_is_told_below_the_findings() {
        let path = finding("src/a.py", 0, "x").path;
        let delta = Delta::by_fingerprint(Some(&[]), vec![finding("src/a.py", 9, "new")]);
        let earlier_fixes = vec!["  fixed before (shop, yesterday, held): `a` → `b`".to_owned()];
        let feedback = EditFeedback { delta, earlier_fixes, ..feedback(path) };
        insta::assert_snapshot!(english(&feedback).expect("something to say"), @r"
        [moai-ralph] src/a.py: introduced 1 error
          error src/a.py:10:1 pyright(new): new is wrong
          fixed before (shop, yesterday, held): `a` → `b`
        ");
    }

    #[test]
    fn a_gap_is_said_and_never_sounds_clean() {
        let gap = Gap::new(Cause::NotInstalled, "not installed").with_remedy("pip install ruff");
        let text = say(Some(&[(1, "x")]), &[], Some(gap)).expect("something to say");
        insta::assert_snapshot!(text, @r"
        [moai-ralph] src/a.py: fixed 1
          not measured: ruff (not installed: pip install ruff)
        ");
    }

    #[test]
    fn a_known_gap_is_silent_alone_and_named_beside_other_words() {
        let path = finding("a.py", 0, "x").path;
        let gaps = vec![("ruff".to_owned(), Gap::new(Cause::NotInstalled, "not installed"))];
        let feedback = EditFeedback { gaps, ..feedback(path) };
        assert_eq!(english(&feedback), None);
        let delta = Delta { fixed: 1, ..Delta::default() };
        let text = english(&EditFeedback { delta, ..feedback }).expect("something to say");
        assert!(text.contains("not measured: ruff") && !text.contains("clean"), "{text}");
    }

    #[test]
    fn what_an_edit_did_to_other_files_is_counted_and_marked() {
        let of = |path: &str, broken: &[u32], fixed| CrossFileEffect {
            path: finding(path, 0, "x").path,
            broken: broken.iter().map(|line| finding(path, *line, "arg")).collect(),
            fixed,
        };
        let elsewhere = vec![of("src/cart.py", &[43], 0), of("src/b.py", &[], 2)];
        let path = finding("src/a.py", 0, "x").path;
        let delta = Delta::by_fingerprint(Some(&[]), vec![finding("src/a.py", 9, "new")]);
        let feedback = EditFeedback { delta, other_files: elsewhere, ..feedback(path) };
        insta::assert_snapshot!(english(&feedback).expect("something to say"), @r"
        [moai-ralph] src/a.py: introduced 1 error; introduced 1 error in src/cart.py; fixed 2 in src/b.py
          error src/a.py:10:1 pyright(new): new is wrong
          error src/cart.py:44:1 pyright(arg): arg is wrong [broken by this edit]
        ");
        let of = |path: &str, fixed| of(path, &[], fixed);
        let alone = |files: &[CrossFileEffect]| {
            cross_file_text("src/a.py", files, Some("pyright"), MessageLanguage::English)
        };
        let told = alone(&feedback.other_files).expect("something to say");
        assert_eq!(
            told.notice.as_deref(),
            Some("[moai-ralph] src/a.py: 1 error introduced in src/cart.py")
        );
        insta::assert_snapshot!(told.text, @r"
        [moai-ralph] src/a.py (pyright, late): introduced 1 error in src/cart.py; fixed 2 in src/b.py
          error src/cart.py:44:1 pyright(arg): arg is wrong [broken by this edit]
        ");
        assert_eq!(alone(&[of("src/b.py", 0)]), None);
    }

    #[test]
    fn many_changes_by_others_are_one_line() {
        let words = head_moved("0123456789abcdef", 312, MessageLanguage::English);
        assert!(words.contains("HEAD moved to 0123456789ab: 312 files changed"), "{words}");
        let words = many_changed(1, true, MessageLanguage::English);
        assert!(words.contains("1 more file changed on disk"));
    }

    #[test]
    fn a_first_look_does_not_blame_the_edit_and_lists_nothing() {
        let text = say(None, &[(1, "x"), (2, "y")], None).expect("something to say");
        assert_eq!(text, "[moai-ralph] src/a.py: 2 may be older");
    }

    #[test]
    fn a_finding_on_a_line_that_an_edit_wrote_back_is_always_listed() {
        let mut now = vec![finding("src/a.py", 1, "old"), finding("src/a.py", 9, "back")];
        assign_fingerprints(&mut now);
        let written_back = [now[1].id.clone()].into();
        let delta = Delta { written_back, ..Delta::by_fingerprint(None, now) };
        let path = finding("src/a.py", 0, "x").path;
        let feedback = EditFeedback { delta, has_new_counts: false, ..feedback(path) };
        insta::assert_snapshot!(english(&feedback).expect("something to say"), @r"
        [moai-ralph] src/a.py: 2 may be older
          error src/a.py:10:1 pyright(back): back is wrong [may be older]
        ");
        let told = edit_text(&feedback, MessageLanguage::English).expect("something to say");
        assert_eq!(told.notice, None);
    }

    #[test]
    fn counts_of_older_findings_are_left_out_once_the_session_knows_them() {
        let mut now = vec![finding("src/a.py", 1, "old"), finding("src/a.py", 9, "new")];
        assign_fingerprints(&mut now);
        let before = now[..1].to_vec();
        let delta = Delta::by_fingerprint(Some(&before), now);
        let told = EditFeedback { delta, ..feedback(finding("src/a.py", 0, "x").path) };
        let said = |feedback: &EditFeedback| english(feedback).expect("something to say");
        assert!(told.counts_key().is_some() && said(&told).contains("; 1 older remaining\n"));
        let again = EditFeedback { has_new_counts: false, ..told };
        assert!(said(&again).starts_with("[moai-ralph] src/a.py: introduced 1 error\n"));
        let quiet = Delta::by_fingerprint(Some(&before), before.clone());
        assert_eq!(EditFeedback { delta: quiet, ..again }.counts_key(), None);
    }

    #[test]
    fn the_frame_is_in_the_language_of_the_loop_and_the_user_hears_of_errors() {
        let mut now = vec![finding("src/a.py", 9, "new")];
        assign_fingerprints(&mut now);
        let delta = Delta { fixed: 3, fixed_errors: 2, ..Delta::by_fingerprint(Some(&[]), now) };
        let gap = Gap::new(Cause::NotInstalled, "not installed");
        let gaps = vec![("ruff".to_owned(), gap)];
        let feedback = EditFeedback { delta, gaps, ..feedback(finding("src/a.py", 0, "x").path) };
        let told = edit_text(&feedback, MessageLanguage::Korean).expect("something to say");
        insta::assert_snapshot!(told.text, @r"
        [moai-ralph] src/a.py: 오류 1개 발생; 3개 해결
          error src/a.py:10:1 pyright(new): new is wrong
          측정 안 됨: ruff (not installed)
        ");
        assert_eq!(
            told.notice.as_deref(),
            Some("[moai-ralph] src/a.py: 오류 1개 발생, 오류 2개 해결")
        );
        let told = edit_text(&feedback, MessageLanguage::English).expect("something to say");
        let expected = "[moai-ralph] src/a.py: 1 error introduced, 2 errors fixed";
        assert_eq!(told.notice.as_deref(), Some(expected));
    }

    #[test]
    fn the_hosts_bound_holds_whatever_is_wrong() {
        let many: Vec<(u32, &str)> = (0..500).map(|line| (line, "x")).collect();
        let text = say(Some(&[]), &many, None).expect("something to say");
        assert_eq!(text.lines().count(), FEEDBACK_FINDINGS_MAX + 2);
        assert!(text.ends_with("… and 480 more findings: moai-ralph check src/a.py"), "{text}");
        let long = join_contexts(&vec!["줄 하나\n".repeat(90); 90]);
        assert!(long.chars().count() <= CONTEXT_CHARS_MAX);
        assert!(long.ends_with("truncated: see moai-ralph check"));
    }
}
