//! The texts of observations: an edit, a fix, a failed command, the end of a loop and a ruling, as stored in
//! the memory, in the language of the session.

use std::fmt::Write as _;

use super::loops::end_notice;
use super::wording::{self, ITERATIONS};
use super::{finding_line, sanitized_line};
use moai_base::finding::{Finding, FindingState};
use moai_base::foreign_text::one_line;
use moai_base::limits::{OBSERVED_FINDINGS_MAX, OBSERVED_NAMES_MAX, OBSERVED_TITLE_CHARS_MAX};
use moai_base::redaction::redacted;
use moai_loops::framework::MessageLanguage;
use moai_loops::judge::decision::Judgement;
use moai_loops::judge::judge_report::JudgeReport;
use moai_loops::state::LoopState;
use moai_memory::observation::Provenance;
use moai_memory::observe::ObservationDraft;
use moai_memory::observe::commands::FailedCommand;
use moai_memory::observe::digest::SessionDigest;
use moai_memory::observe::edits::{MeasuredFix, is_remembered, shape_of};
use moai_memory::ranking::ObservationKind;
use moai_pipeline::learnings::LearningsFile;
use moai_pipeline::state::PipelineState;

use super::agent::EditFeedback;

/// The result of an edit. `names` are the symbols that it touches.
#[must_use]
pub fn edit(
    feedback: &EditFeedback,
    names: &[String],
    language: MessageLanguage,
) -> ObservationDraft {
    let path = feedback.path.as_str();
    let introduced = introduced(feedback);
    let fixed: Vec<&Finding> =
        feedback.delta.disappeared.iter().filter(|finding| is_remembered(finding)).collect();
    let mut title = match names {
        [] => wording::EDITED_FILE.with(language, &[path]),
        names => {
            let names: Vec<&str> =
                names.iter().take(OBSERVED_NAMES_MAX).map(String::as_str).collect();
            wording::EDITED_NAMES.with(language, &[path, &names.join(", ")])
        }
    };
    if !introduced.is_empty() {
        let codes = labels(&introduced);
        title.push_str(&wording::CODES_INTRODUCED.with(language, &[&codes.join(", ")]));
    }
    if !fixed.is_empty() {
        title.push_str(&wording::CODES_FIXED.with(language, &[&labels(&fixed).join(", ")]));
    }
    let lines = introduced.iter().take(OBSERVED_FINDINGS_MAX).map(|finding| finding_line(finding));
    let body = lines.collect::<Vec<_>>().join("\n");
    let mut files = vec![path.to_owned()];
    files.extend(feedback.other_files.iter().map(|effect| effect.path.to_string()));
    let mut shapes: Vec<String> = introduced.iter().map(|finding| shape_of(finding).id()).collect();
    shapes.dedup();
    ObservationDraft {
        body,
        files,
        codes: codes(introduced.iter().copied()),
        shapes,
        importance: if fixed.is_empty() && introduced.is_empty() { 0.2 } else { 0.4 },
        ..ObservationDraft::new(ObservationKind::Edit, Provenance::Measured, title)
    }
}

/// An edit of a file without a sensor.
#[must_use]
pub fn unmeasured_edit(
    feedback: &EditFeedback,
    names: &[String],
    language: MessageLanguage,
) -> ObservationDraft {
    let mut draft = edit(feedback, names, language);
    draft.title.push_str(wording::EDIT_UNMEASURED.text_in(language));
    draft
}

/// The findings that an edit introduced, here and in other files.
fn introduced(feedback: &EditFeedback) -> Vec<&Finding> {
    let here = feedback.delta.in_state(FindingState::Introduced);
    let elsewhere = feedback.other_files.iter().flat_map(|effect| &effect.broken);
    here.chain(elsewhere).filter(|finding| is_remembered(finding)).collect()
}

/// A finding that an edit fixed, with the changed lines.
#[must_use]
pub fn fix(path: &str, fix: &MeasuredFix, language: MessageLanguage) -> ObservationDraft {
    let message = one_line(&fix.finding.message, OBSERVED_TITLE_CHARS_MAX);
    let title = wording::FIXED_FINDING.with(language, &[&label(&fix.finding), path, &message]);
    ObservationDraft {
        body: fix.hunk.to_text(),
        files: vec![path.to_owned()],
        codes: codes(std::iter::once(&fix.finding)),
        shapes: vec![fix.shape.id()],
        ..ObservationDraft::new(ObservationKind::Fix, Provenance::Measured, title)
    }
}

/// A command that ended with an error. Its text is a tool's.
#[must_use]
pub fn command(failed: &FailedCommand, language: MessageLanguage) -> ObservationDraft {
    let mut title = match failed.exit {
        Some(exit) => wording::COMMAND_EXITED.with(language, &[&failed.command, &exit.to_string()]),
        None => wording::COMMAND_FAILED.with(language, &[&failed.command]),
    };
    if let Some(reason) = &failed.reason {
        title = format!("{title}: {reason}");
    }
    let kind = if failed.is_test_run { ObservationKind::Test } else { ObservationKind::Command };
    ObservationDraft {
        body: failed.errors.clone(),
        codes: failed.codes.clone(),
        ..ObservationDraft::new(kind, Provenance::Tool, title)
    }
}

/// The end of a loop: its status, its goal, and the message about its end.
#[must_use]
pub fn loop_end(state: &LoopState) -> ObservationDraft {
    let language = state.language();
    let after = ITERATIONS.count(language, state.iteration as usize);
    let goal = one_line(&redacted(&state.prompt), OBSERVED_TITLE_CHARS_MAX);
    let title = wording::LOOP_ENDED.with(language, &[state.status.as_str(), &after, &goal]);
    let notice = end_notice(state);
    let errors: Vec<String> = state.history.iter().map(|one| one.errors.to_string()).collect();
    let errors = errors.join(" ");
    let body = format!("{}\nerrors: {errors}", notice.trim_start_matches("[moai-ralph] "));
    ObservationDraft {
        body,
        ..ObservationDraft::new(ObservationKind::Verdict, Provenance::Measured, title)
    }
}

/// The hand-off of a completed loop's agent, verbatim.
#[must_use]
pub fn hand_off(state: &LoopState, progress: &str) -> ObservationDraft {
    let goal = one_line(&redacted(&state.prompt), OBSERVED_TITLE_CHARS_MAX);
    let title = wording::HANDED_OFF.with(state.language(), &[&state.id, &goal]);
    ObservationDraft {
        body: progress.trim().to_owned(),
        ..ObservationDraft::new(ObservationKind::Note, Provenance::Agent, title)
    }
}

/// A ruling of the judges; `None` if they could not judge. Its reasons are a model's.
#[must_use]
pub fn ruling(judged: &JudgeReport, language: MessageLanguage) -> Option<ObservationDraft> {
    if matches!(judged.judgement, Judgement::Unmeasured(_)) {
        return None;
    }
    let mut title = wording::JUDGE_RULED.with(language, &[judged.judgement.as_str()]);
    let mut body = Vec::new();
    for (criterion, _, ruled) in judged.open() {
        let word = ruled.ruling.as_str();
        let text = sanitized_line(&criterion.text);
        let _ = write!(title, "; {} {word} ({text})", criterion.id);
        body.push(format!("{} {word}: {}", criterion.id, sanitized_line(&ruled.reason)));
    }
    Some(ObservationDraft {
        body: body.join("\n"),
        ..ObservationDraft::new(ObservationKind::Verdict, Provenance::Agent, title)
    })
}

/// A decision that an agent wrote down.
#[must_use]
pub fn decision(entry: &str) -> ObservationDraft {
    ObservationDraft::new(ObservationKind::Decision, Provenance::Agent, entry.to_owned())
}

/// Learnings and decisions of a finished pipeline's workers, for later work.
#[must_use]
pub fn pipeline_learnings(state: &PipelineState) -> Vec<ObservationDraft> {
    let goal = one_line(&redacted(&state.goal), OBSERVED_TITLE_CHARS_MAX);
    let drafts = state.learnings.iter().filter_map(|kept| {
        let kind = match LearningsFile::from_name(&kept.file)? {
            LearningsFile::Decisions => ObservationKind::Decision,
            LearningsFile::Learnings | LearningsFile::Issues => ObservationKind::Note,
            LearningsFile::Metrics => return None,
        };
        let body = format!("{} {}: {goal}", state.id, kept.todo);
        Some(ObservationDraft {
            body,
            ..ObservationDraft::new(kind, Provenance::Agent, kept.text.clone())
        })
    });
    drafts.collect()
}

/// The digest of an ended session; `None` if nothing is known of it.
#[must_use]
pub fn session(digest: &SessionDigest, language: MessageLanguage) -> Option<ObservationDraft> {
    let lines = super::recall::digest_lines(digest, language);
    let provenance = digest.provenance?;
    let subject = if digest.goal.is_empty() { lines.first()?.trim() } else { &digest.goal };
    let title = wording::DIGEST_TITLE.with(language, &[subject]);
    Some(ObservationDraft {
        body: lines.join("\n"),
        files: digest.files.clone(),
        codes: digest.fixed.iter().chain(&digest.open).cloned().collect(),
        ..ObservationDraft::new(ObservationKind::Digest, provenance, title)
    })
}

/// `pyright(reportMissingImports)`.
fn label(finding: &Finding) -> String {
    if finding.code.is_empty() {
        return finding.sensor.clone();
    }
    format!("{}({})", finding.sensor, finding.code)
}

/// Labels, each once.
fn labels(findings: &[&Finding]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    for finding in findings {
        let label = label(finding);
        if !labels.contains(&label) && labels.len() < OBSERVED_NAMES_MAX {
            labels.push(label);
        }
    }
    labels
}

fn codes<'f>(findings: impl Iterator<Item = &'f Finding>) -> Vec<String> {
    let mut codes: Vec<String> = Vec::new();
    for code in findings.map(|finding| &finding.code).filter(|code| !code.is_empty()) {
        if !codes.contains(code) && codes.len() < OBSERVED_FINDINGS_MAX {
            codes.push(code.clone());
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::delta::Delta;
    use moai_base::finding::assign_fingerprints;
    use moai_base::samples::finding;
    use moai_loops::samples;
    use moai_memory::observe::edits::FixHunk;

    fn edited(before: &[Finding], now: &[Finding]) -> EditFeedback {
        let (mut before, mut now) = (before.to_vec(), now.to_vec());
        assign_fingerprints(&mut before);
        assign_fingerprints(&mut now);
        let delta = Delta::by_fingerprint(Some(&before), now);
        EditFeedback { delta, ..EditFeedback::new(finding("src/a.py", 0, "x").path) }
    }

    #[test]
    fn an_edit_is_named_by_file_symbols_and_codes() {
        let feedback = edited(&[finding("src/a.py", 1, "gone")], &[finding("src/a.py", 9, "new")]);
        let names = ["validate_token".to_owned(), "refresh".to_owned()];
        let english = edit(&feedback, &names, MessageLanguage::English);
        assert_eq!(
            english.title,
            "src/a.py: edited validate_token, refresh; introduced pyright(new); fixed pyright(gone)"
        );
        assert_eq!(english.body, "error src/a.py:10:1 pyright(new): new is wrong");
        assert_eq!(
            (english.codes.as_slice(), english.shapes.len()),
            (["new".into()].as_slice(), 1)
        );
        let korean = edit(&edited(&[], &[]), &names[..1], MessageLanguage::Korean);
        assert_eq!(
            (korean.title.as_str(), korean.body.as_str()),
            ("src/a.py: validate_token 편집", "")
        );
    }

    #[test]
    fn a_fix_has_its_lines() {
        let found = finding("src/a.py", 3, "ret");
        let hunk = FixHunk { old: vec!["return id".into()], new: vec!["return int(id)".into()] };
        let measured = MeasuredFix { shape: shape_of(&found), finding: found, hunk };
        let draft = fix("src/a.py", &measured, MessageLanguage::Korean);
        assert_eq!(draft.title, "src/a.py에서 pyright(ret) 해결: ret is wrong");
        assert_eq!(draft.body, "- return id\n+ return int(id)");
        assert_eq!(draft.shapes, [measured.shape.id()]);
    }

    #[test]
    fn a_failed_command_is_a_tools_text() {
        let failed =
            FailedCommand::read("cargo test", "", "Exit code 101\nerror[E0308]: no").expect("kept");
        let draft = command(&failed, MessageLanguage::Korean);
        assert_eq!(draft.title, "cargo test 실패(종료 코드 101): error[E0308]: no");
        assert_eq!((draft.kind, draft.provenance), (ObservationKind::Test, Provenance::Tool));
        let draft = command(&failed, MessageLanguage::English);
        assert_eq!(draft.title, "cargo test failed with exit code 101: error[E0308]: no");
    }

    #[test]
    fn the_end_of_a_loop_names_status_and_goal() {
        let draft = loop_end(&samples::state());
        assert!(draft.title.starts_with("loop running after "), "{}", draft.title);
        assert_eq!(draft.kind, ObservationKind::Verdict);
    }

    #[test]
    fn a_session_is_named_by_its_goal() {
        let digest = SessionDigest {
            goal: "로그인을 고쳐줘".to_owned(),
            files: vec!["src/a.py".to_owned()],
            provenance: Some(Provenance::Measured),
            ..SessionDigest::default()
        };
        let draft = session(&digest, MessageLanguage::Korean).expect("something to keep");
        assert_eq!(draft.title, "세션: 로그인을 고쳐줘");
        assert_eq!(draft.body, "  편집: src/a.py");
        assert_eq!(session(&SessionDigest::default(), MessageLanguage::Korean), None);
    }
}
