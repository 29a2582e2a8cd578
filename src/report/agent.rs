//! What an agent reads after an edit. Short, neutral, one line per finding, never above the
//! host's bound.

use super::{count, counts, line, shown};
use crate::base::delta::Delta;
use crate::base::finding::{Finding, Severity, State};
use crate::base::limits::{CONTEXT_CHARS_MAX, FEEDBACK_FINDINGS_MAX};
use crate::base::path::RelPath;
use crate::base::verdict::Gap;

/// What is to be said about one edited file.
#[derive(Clone, Debug)]
pub struct EditFeedback {
    /// The file.
    pub path: RelPath,
    /// Introduced, fixed, remaining.
    pub delta: Delta,
    /// Sensors with no verdict yet or none at all.
    pub gaps: Vec<(String, Gap)>,
    /// Whether the gaps alone are worth a word; beside other words they are always named.
    pub gaps_are_news: bool,
    /// The sensor whose late verdict this is.
    pub late: Option<String>,
    /// What the edit did to other files.
    pub elsewhere: Vec<Elsewhere>,
}

/// What a change did to a file that it did not touch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elsewhere {
    /// The file.
    pub path: RelPath,
    /// What is wrong with it since.
    pub broken: Vec<Finding>,
    /// How much is mended.
    pub fixed: usize,
}

fn fixed_elsewhere(elsewhere: &[Elsewhere]) -> impl Iterator<Item = String> {
    let fixed = elsewhere.iter().filter(|of_file| of_file.fixed > 0);
    fixed.map(|of_file| format!("fixed {} in {}", of_file.fixed, shown(of_file.path.as_str())))
}

/// What a change did to other files alone: `changed` names it. `None` when it did nothing.
#[must_use]
pub fn elsewhere(changed: &str, elsewhere: &[Elsewhere], late: Option<&str>) -> Option<String> {
    let broken: Vec<&Finding> = elsewhere.iter().flat_map(|of_file| &of_file.broken).collect();
    let introduced = counts(broken.iter().copied());
    let introduced = (!introduced.is_empty()).then(|| format!("introduced {introduced}"));
    let parts: Vec<String> = introduced.into_iter().chain(fixed_elsewhere(elsewhere)).collect();
    if parts.is_empty() {
        return None;
    }
    let late = late.map(|sensor| format!(" ({sensor}, late)")).unwrap_or_default();
    let mut text = format!("[moai-ralph] {}{late}: {}", shown(changed), parts.join("; "));
    let mut lines: Vec<(&Finding, bool)> = broken.into_iter().map(|it| (it, true)).collect();
    lines.sort_by_key(|(finding, _)| std::cmp::Reverse(finding.severity));
    push_findings(&mut text, &lines, "");
    Some(text)
}

/// Changes by others that are too many to be measured while a hook waits.
#[must_use]
pub fn many_changed(file_count: usize, is_rest: bool) -> String {
    let files = count(file_count, if is_rest { "more file" } else { "file" });
    format!("[moai-ralph] {files} changed on disk; measured when asked or at the Stop")
}

/// A move of HEAD that changed many files.
#[must_use]
pub fn head_moved(commit: &str, file_count: usize) -> String {
    let (commit, files) = (commit.get(..12).unwrap_or(commit), count(file_count, "file"));
    format!(
        "[moai-ralph] HEAD moved to {commit}: {files} changed on disk; measured when asked or at the Stop"
    )
}

/// The feedback of an edit; `None` when there is nothing worth a word. A clean edit says nothing
/// unless it fixed something.
#[must_use]
pub fn edit(feedback: &EditFeedback) -> Option<String> {
    // Hints are taste; an agent that acts on them churns.
    let told = |state: State| {
        feedback.delta.in_state(state).filter(|finding| finding.severity > Severity::Hint)
    };
    let fixed = feedback.delta.fixed;
    let broken = || feedback.elsewhere.iter().flat_map(|of_file| &of_file.broken);
    let introduced = counts(told(State::Introduced).chain(broken()));
    let unknown = counts(told(State::Unknown));
    let older = told(State::Existing).count();
    let fixed_there: Vec<String> = fixed_elsewhere(&feedback.elsewhere).collect();
    let is_fixing = fixed > 0 || !fixed_there.is_empty();
    let has_news = !introduced.is_empty() || !unknown.is_empty() || is_fixing;
    if !has_news && (feedback.gaps.is_empty() || !feedback.gaps_are_news) {
        return None;
    }
    let mut parts = Vec::new();
    if !introduced.is_empty() {
        parts.push(format!("introduced {introduced}"));
    }
    if !unknown.is_empty() {
        parts.push(format!("{unknown} (whether new is not known)"));
    }
    let is_clean = parts.is_empty() && older == 0 && feedback.gaps.is_empty();
    if is_clean {
        parts.push("clean".to_owned());
    }
    if fixed > 0 {
        parts.push(format!("fixed {fixed}"));
    }
    if older > 0 {
        parts.push(format!("{older} older remain"));
    }
    parts.extend(fixed_there);
    let late =
        feedback.late.as_ref().map(|sensor| format!(" ({sensor}, late)")).unwrap_or_default();
    let mut text = format!("[moai-ralph] {}{late}", shown(&feedback.path.to_string()));
    if parts.is_empty() {
        text.push_str(": nothing wrong found so far");
    } else {
        text.push_str(": ");
        text.push_str(&parts.join("; "));
    }
    let own = told(State::Introduced).chain(told(State::Unknown)).map(|finding| (finding, false));
    let mut lines: Vec<_> = own.chain(broken().map(|finding| (finding, true))).collect();
    lines.sort_by_key(|(finding, _)| std::cmp::Reverse(finding.severity));
    push_findings(&mut text, &lines, feedback.path.as_str());
    for (sensor, gap) in &feedback.gaps {
        push_line(&mut text, &format!("  not measured: {sensor} ({gap})"));
    }
    Some(text)
}

/// The late verdict of an edit that introduced nothing.
#[must_use]
pub fn nothing_new(feedback: &EditFeedback) -> String {
    let older = feedback.delta.in_state(State::Existing);
    let older = older.filter(|finding| finding.severity > Severity::Hint).count();
    let sensor = feedback.late.as_deref().unwrap_or_default();
    let path = shown(&feedback.path.to_string());
    match older {
        0 => format!("[moai-ralph] {path} ({sensor}, late): clean"),
        _ => format!("[moai-ralph] {path} ({sensor}, late): nothing new; {older} older remain"),
    }
}

/// One line each; those of other files are marked. `path` is what a check would show all of.
fn push_findings(text: &mut String, findings: &[(&Finding, bool)], path: &str) {
    for (finding, is_elsewhere) in findings.iter().take(FEEDBACK_FINDINGS_MAX) {
        let mark = if *is_elsewhere { " [broken by this edit]" } else { "" };
        push_line(text, &format!("  {}{mark}", line(finding)));
    }
    if let Some(more) = findings.len().checked_sub(FEEDBACK_FINDINGS_MAX).filter(|more| *more > 0) {
        let more = count(more, "more finding");
        push_line(text, format!("  … and {more}: moai-ralph check {}", shown(path)).trim_end());
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push('\n');
    text.push_str(line);
}

/// Several texts as one context within the host's bound. What does not fit is cut at a line and
/// the cut is said.
#[must_use]
pub fn join(texts: &[String]) -> String {
    bounded(&texts.join("\n"), CONTEXT_CHARS_MAX, "moai-ralph check shows all")
}

/// A text of at most `chars_max` characters, cut at a line where possible; `where_all` says where
/// all of it is.
pub(super) fn bounded(text: &str, chars_max: usize, where_all: &str) -> String {
    if text.chars().count() <= chars_max {
        return text.to_owned();
    }
    let notice = format!("\n… cut: {where_all}");
    let room = chars_max.saturating_sub(notice.chars().count());
    let end = text.char_indices().nth(room).map_or(text.len(), |(at, _)| at);
    let cut = text[..end].rfind('\n').unwrap_or(end);
    format!("{}{notice}", &text[..cut])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::finding::fingerprint;
    use crate::base::finding::tests::finding;
    use crate::base::verdict::Cause;

    fn say(
        before: Option<&[(u32, &str)]>,
        now: &[(u32, &str)],
        gap: Option<Gap>,
    ) -> Option<String> {
        let set = |of: &[(u32, &str)]| {
            let mut set = of.iter().map(|(line, code)| finding("src/a.py", *line, code)).collect();
            fingerprint(&mut set);
            set
        };
        let before = before.map(set);
        let delta = Delta::between(before.as_deref(), set(now));
        let path = finding("src/a.py", 0, "x").path;
        let gaps = gap.into_iter().map(|gap| ("ruff".to_owned(), gap)).collect();
        edit(&EditFeedback {
            path,
            delta,
            gaps,
            gaps_are_news: true,
            late: None,
            elsewhere: Vec::new(),
        })
    }

    #[test]
    fn what_an_edit_did_in_one_header_and_one_line_each() {
        let text = say(Some(&[(1, "old"), (2, "gone")]), &[(1, "old"), (9, "new")], None);
        insta::assert_snapshot!(text.expect("something to say"), @r"
        [moai-ralph] src/a.py: introduced 1 error; fixed 1; 1 older remain
          error src/a.py:10:1 pyright(new): new is wrong
        ");
    }

    #[test]
    fn a_clean_edit_is_silent_unless_it_fixed_something() {
        assert_eq!(say(Some(&[]), &[], None), None);
        assert_eq!(say(Some(&[(1, "x")]), &[(4, "x")], None), None);
        let fixed = say(Some(&[(1, "x"), (2, "y")]), &[], None);
        assert_eq!(fixed.as_deref(), Some("[moai-ralph] src/a.py: clean; fixed 2"));
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
        let feedback = EditFeedback {
            path,
            delta: Delta::default(),
            gaps,
            gaps_are_news: false,
            late: None,
            elsewhere: Vec::new(),
        };
        assert_eq!(edit(&feedback), None);
        let delta = Delta { fixed: 1, ..Delta::default() };
        let text = edit(&EditFeedback { delta, ..feedback }).expect("something to say");
        assert!(text.contains("not measured: ruff") && !text.contains("clean"), "{text}");
    }

    #[test]
    fn what_an_edit_did_to_other_files_is_counted_and_marked() {
        let of = |path: &str, broken: &[u32], fixed| Elsewhere {
            path: finding(path, 0, "x").path,
            broken: broken.iter().map(|line| finding(path, *line, "arg")).collect(),
            fixed,
        };
        let elsewhere = vec![of("src/cart.py", &[43], 0), of("src/b.py", &[], 2)];
        let path = finding("src/a.py", 0, "x").path;
        let delta = Delta::between(Some(&[]), vec![finding("src/a.py", 9, "new")]);
        let gaps = Vec::new();
        let feedback =
            EditFeedback { path, delta, gaps, gaps_are_news: false, late: None, elsewhere };
        insta::assert_snapshot!(edit(&feedback).expect("something to say"), @r"
        [moai-ralph] src/a.py: introduced 2 errors; fixed 2 in src/b.py
          error src/a.py:10:1 pyright(new): new is wrong
          error src/cart.py:44:1 pyright(arg): arg is wrong [broken by this edit]
        ");
        let alone = super::elsewhere("src/a.py", &feedback.elsewhere, Some("pyright"));
        insta::assert_snapshot!(alone.expect("something to say"), @r"
        [moai-ralph] src/a.py (pyright, late): introduced 1 error; fixed 2 in src/b.py
          error src/cart.py:44:1 pyright(arg): arg is wrong [broken by this edit]
        ");
        assert_eq!(super::elsewhere("src/a.py", &[of("src/b.py", &[], 0)], None), None);
    }

    #[test]
    fn many_changes_by_others_are_one_line() {
        let words = head_moved("0123456789abcdef", 312);
        assert!(words.contains("HEAD moved to 0123456789ab: 312 files changed"), "{words}");
        assert!(many_changed(1, true).contains("1 more file changed on disk"));
    }

    #[test]
    fn a_first_look_does_not_blame_the_edit() {
        let text = say(None, &[(1, "x")], None).expect("something to say");
        assert!(
            text.contains("1 error (whether new is not known)") && !text.contains("introduced"),
            "{text}"
        );
    }

    #[test]
    fn the_hosts_bound_holds_whatever_is_wrong() {
        let many: Vec<(u32, &str)> = (0..500).map(|line| (line, "x")).collect();
        let text = say(Some(&[]), &many, None).expect("something to say");
        assert_eq!(text.lines().count(), FEEDBACK_FINDINGS_MAX + 2);
        assert!(text.ends_with("… and 480 more findings: moai-ralph check src/a.py"), "{text}");
        let long = join(&vec!["줄 하나\n".repeat(90); 90]);
        assert!(long.chars().count() <= CONTEXT_CHARS_MAX);
        assert!(long.ends_with("moai-ralph check shows all"));
    }
}
