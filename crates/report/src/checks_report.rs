//! The project's checks as text and as documents: `loop checks` and `loop refreeze`.

use std::fmt::Write as _;

use super::json::rfc3339;
use super::{finding_line, push_quoted, sanitized_line, sanitized_name};
use moai_base::evidence::Evidence;
use moai_base::finding::Finding;
use moai_base::foreign_text::one_line;
use moai_base::limits::{ACCEPTED_LINES_MAX, LINE_CHARS_MAX};
use moai_base::verdict::Verdict;
use moai_loops::criteria::{CheckCommand, CheckPlan};
use moai_loops::exam::{ExamChange, ExamDifference, ExamRole};
use moai_protocol::documents::loops::{
    CheckCommandEntry, ChecksDocument, DifferenceEntry, RefreezeDocument, UnansweredEntry,
};
use moai_protocol::documents::reports::{FindingEntry, SensorEntry};

/// The result of `loop checks`.
#[derive(Clone, Debug)]
pub struct ChecksReport<'a> {
    /// The loop whose exam is shown; `None` for the project's present checks.
    pub loop_id: Option<&'a str>,
    /// When the exam was frozen, in milliseconds since the epoch.
    pub frozen_ms: Option<u64>,
    pub plan: &'a CheckPlan,
    /// True if `.claude/autochecks.sh` is run as well.
    pub has_autochecks: bool,
    /// Differences from the exam.
    pub differences: &'a [ExamDifference],
    /// Results of the runs; `None` if the checks were only listed.
    pub evidence: Option<&'a Evidence>,
}

/// The result of `loop refreeze`.
#[derive(Clone, Debug, Default)]
pub struct RefreezeReport {
    /// Accepted differences from the exam.
    pub differences: Vec<ExamDifference>,
    /// Findings of the guard about files that the loop's session did not write.
    pub waived: Vec<Finding>,
}

/// The result as one document.
#[must_use]
pub fn checks_document<'c>(checks: &ChecksReport<'c>) -> ChecksDocument<'c> {
    let (plan, evidence) = (checks.plan, checks.evidence);
    let unanswered = plan.unanswered.iter();
    ChecksDocument {
        loop_id: checks.loop_id,
        frozen_at: checks.frozen_ms.map(rfc3339),
        commands: plan.commands.iter().map(check_entry).collect(),
        unanswered: unanswered
            .map(|gap| UnansweredEntry { name: &gap.name, reason: gap.gap.to_string() })
            .collect(),
        autochecks: checks.has_autochecks,
        differences: difference_entries(checks.differences),
        verdict: evidence.map(|all| all.verdict().as_str()),
        sensors: evidence.map(|all| all.readings.iter().map(SensorEntry::from).collect()),
        findings: evidence.map(|all| all.findings.iter().map(FindingEntry::from).collect()),
    }
}

fn check_entry(command: &CheckCommand) -> CheckCommandEntry<'_> {
    CheckCommandEntry {
        name: &command.name,
        kind: command.criterion.as_str(),
        argv: &command.argv,
        folder: &command.folder,
        timeout_secs: command.timeout_secs,
        source: &command.source,
        why: &command.why,
    }
}

fn difference_entries(differences: &[ExamDifference]) -> Vec<DifferenceEntry<'_>> {
    differences
        .iter()
        .map(|one| DifferenceEntry {
            path: one.path.as_str(),
            role: one.role.as_str(),
            change: one.change.as_str(),
        })
        .collect()
}

/// The same as text.
#[must_use]
pub fn checks_text(checks: &ChecksReport<'_>) -> String {
    let mut text = match checks.loop_id.zip(checks.frozen_ms) {
        Some((id, at)) => format!("as frozen for {id} at {}\n", rfc3339(at)),
        None => String::new(),
    };
    match checks.evidence {
        Some(evidence) => push_runs(&mut text, evidence),
        None => push_plan(&mut text, checks),
    }
    push_differences(&mut text, checks.differences);
    text
}

fn push_plan(text: &mut String, checks: &ChecksReport<'_>) {
    if checks.has_autochecks {
        text.push_str("custom: .claude/autochecks.sh\n");
    }
    for one in &checks.plan.commands {
        let _ = writeln!(
            text,
            "{}: {} ({})",
            one.criterion.as_str(),
            sanitized_name(&one.name),
            sanitized_line(&one.why)
        );
    }
    for one in &checks.plan.unanswered {
        let _ = writeln!(text, "not measured: {} ({})", sanitized_name(&one.name), one.gap);
    }
    if text.is_empty() {
        text.push_str("no checks run at a Stop\n");
    }
}

fn push_runs(text: &mut String, evidence: &Evidence) {
    for reading in &evidence.readings {
        let (name, ms) = (sanitized_name(&reading.sensor), reading.elapsed_ms);
        let output = reading.output.as_deref().unwrap_or_default();
        let says = if output.is_empty() { "" } else { "; its output:" };
        let _ = match reading.verdict() {
            Verdict::Clean => writeln!(text, "clean: {name} {ms} ms{says}"),
            Verdict::Dirty => writeln!(text, "failed: {name} {ms} ms{says}"),
            Verdict::Unmeasured(gap) => writeln!(text, "not measured: {name} ({gap}){says}"),
        };
        push_quoted(text, output);
    }
    if evidence.readings.is_empty() {
        text.push_str("not measured: no checks run at a Stop\n");
    }
    for finding in &evidence.findings {
        let _ = writeln!(text, "{}", finding_line(finding));
    }
}

/// Tests are only counted, because a loop is expected to change them; other files are listed.
fn push_differences(text: &mut String, differences: &[ExamDifference]) {
    let (tests, others): (Vec<_>, Vec<_>) =
        differences.iter().partition(|one| one.role == ExamRole::Test);
    for one in others {
        let (path, role) = (sanitized_name(one.path.as_str()), one.role.words());
        let _ = writeln!(text, "{} since it was frozen: {path} ({role})", one.change.as_str());
    }
    for change in [ExamChange::Edited, ExamChange::Removed] {
        let changed = tests.iter().filter(|one| one.change == change).count();
        if changed > 0 {
            let files = super::count_noun(changed, "test file");
            let _ = writeln!(text, "{} since it was frozen: {files}", change.as_str());
        }
    }
}

/// The result as one document.
#[must_use]
pub fn refreeze_document<'r>(loop_id: &'r str, taken: &'r RefreezeReport) -> RefreezeDocument<'r> {
    RefreezeDocument {
        loop_id,
        taken_over: difference_entries(&taken.differences),
        allowed: taken.waived.iter().map(FindingEntry::from).collect(),
    }
}

/// For the user before a refreeze: each file that differs from the exam, new scripts of acceptance commands, and
/// the findings of the guard that it allows.
#[must_use]
pub fn refreeze_preview(
    differences: &[ExamDifference],
    scripts: &[String],
    findings: &[Finding],
) -> Vec<String> {
    let changed = differences.iter().map(|one| sanitized_name(&one.line()));
    let is_listed =
        |path: &&String| differences.iter().all(|one| one.path.as_str() != path.as_str());
    let scripts = scripts.iter().filter(is_listed);
    let scripts = scripts.map(|path| format!("{} (a script) is new", sanitized_name(path)));
    let findings = findings.iter().map(|finding| format!("allows {}", finding_line(finding)));
    let mut lines: Vec<String> = changed.chain(scripts).chain(findings).collect();
    let more = lines.len().saturating_sub(ACCEPTED_LINES_MAX);
    lines.truncate(ACCEPTED_LINES_MAX);
    if more > 0 {
        lines.push(format!("and {more} more (`moai-ralph loop checks` lists the files)"));
    }
    if lines.is_empty() {
        lines.push("nothing differs from the frozen checks and tests".to_owned());
    }
    lines.iter().map(|line| one_line(line, LINE_CHARS_MAX)).collect()
}

/// The same as text.
#[must_use]
pub fn refreeze_text(loop_id: &str, taken: &RefreezeReport) -> String {
    let mut text = String::new();
    push_differences(&mut text, &taken.differences);
    for finding in &taken.waived {
        let _ = writeln!(text, "allowed: {}", finding_line(finding));
    }
    let _ = writeln!(text, "loop {loop_id} now uses the current checks and tests");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::evidence::{SensorKind, SensorReading};
    use moai_base::path::RelPath;
    use moai_base::verdict::{Cause, Gap};
    use moai_loops::criteria::CheckCriterion;
    use moai_loops::criteria::CriterionGap;
    use moai_loops::samples::command;

    fn difference(path: &str, role: ExamRole, change: ExamChange) -> ExamDifference {
        let path = RelPath::parse(path).expect("a relative path");
        ExamDifference { path, role, change, now: None }
    }

    #[test]
    fn a_refreeze_shows_what_it_accepts_up_to_a_bound() {
        let one = difference("tests/test_a.py", ExamRole::Test, ExamChange::Edited);
        let lines = refreeze_preview(&[one], &["t/new.sh".to_owned()], &[]);
        assert_eq!(lines, ["tests/test_a.py (a test) was edited", "t/new.sh (a script) is new"]);
        let named = |count| (0..count).map(|at| format!("{at}.sh")).collect::<Vec<_>>();
        assert_eq!(
            refreeze_preview(&[], &named(ACCEPTED_LINES_MAX), &[]).len(),
            ACCEPTED_LINES_MAX
        );
        let lines = refreeze_preview(&[], &named(ACCEPTED_LINES_MAX + 1), &[]);
        assert_eq!(lines.len(), ACCEPTED_LINES_MAX + 1);
        assert!(lines[ACCEPTED_LINES_MAX].starts_with("and 1 more"), "{lines:?}");
        assert_eq!(
            refreeze_preview(&[], &[], &[]),
            ["nothing differs from the frozen checks and tests"]
        );
    }

    #[test]
    fn the_list_names_commands_reasons_and_what_nothing_answers() {
        let gap = Gap::new(Cause::NoTool, "no command is known for lint_clean");
        let plan = CheckPlan {
            commands: vec![command("npm test", CheckCriterion::TestPass)],
            unanswered: vec![CriterionGap { name: "lint_clean".into(), gap }],
        };
        let found = ChecksReport {
            loop_id: None,
            frozen_ms: None,
            plan: &plan,
            has_autochecks: true,
            differences: &[],
            evidence: None,
        };
        assert_eq!(
            checks_text(&found),
            "custom: .claude/autochecks.sh\ntest_pass: npm test (test)\nnot measured: lint_clean \
             (no command is known for lint_clean)\n"
        );
        let nothing = ChecksReport { plan: &CheckPlan::default(), has_autochecks: false, ..found };
        assert_eq!(checks_text(&nothing), "no checks run at a Stop\n");
    }

    #[test]
    fn runs_show_their_output_and_differences_count_tests() {
        let failed = SensorReading {
            dirty: true,
            output: Some("boom\n(exit status 1)".into()),
            elapsed_ms: 5,
            ..SensorReading::clean("npm test", SensorKind::Check, 0)
        };
        let evidence = Evidence { readings: vec![failed], ..Evidence::default() };
        let differences = [
            difference("RUBRIC.md", ExamRole::Rubric, ExamChange::Edited),
            difference("tests/a.py", ExamRole::Test, ExamChange::Removed),
            difference("tests/b.py", ExamRole::Test, ExamChange::Removed),
        ];
        let found = ChecksReport {
            loop_id: Some("loop-1"),
            frozen_ms: Some(0),
            plan: &CheckPlan::default(),
            has_autochecks: false,
            differences: &differences,
            evidence: Some(&evidence),
        };
        assert_eq!(
            checks_text(&found),
            "as frozen for loop-1 at 1970-01-01T00:00:00.000Z\nfailed: npm test 5 ms; its output:\n  | boom\n  | \
             (exit status 1)\nedited since it was frozen: RUBRIC.md (the rubric)\nremoved since it \
             was frozen: 2 test files\n"
        );
    }
}
