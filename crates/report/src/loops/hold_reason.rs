//! Why a Stop is held. Hosts show the reason twice, so in addition to the task and those of a pipeline
//! it has at most `REASON_BYTES_MAX`: what the plan lacks, news since the last Stop, then counts.

use std::fmt::Write as _;

use super::{claim_words, completion_text, framework_of, is_research, older_errors, task};
use crate::wording::pipelines::MORE_FAULTS;
use crate::wording::{self, MORE_FILES, MORE_FINDINGS, WARNINGS, severity_counts_in};
use crate::{finding_line, framework, push_quoted, sanitized_name};
use moai_base::evidence::{Evidence, SensorKind, SensorReading};
use moai_base::failure_lines::{FailureLines, failure_lines};
use moai_base::finding::{Finding, Severity};
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    FAILED_LINES_MAX, FAILED_LINES_MIN, FAILED_LINES_SHARED, FLIP_ERRORS_MAX, FLIPS_NAMED_MAX,
    INSTRUCTION_CHARS_MAX, LINE_CHARS_MAX, PLAN_TASKS_MAX, REASON_BYTES_MAX, REASON_FINDINGS_MAX,
    REASON_LINE_CHARS_MAX, SKIPPED_NAMED_MAX, STALL_ITERATIONS_MAX,
};
use moai_loops::exam;
use moai_loops::framework::MessageLanguage;
use moai_loops::state::LoopState;
use moai_loops::step::HoldReasons;

/// Notes of the loop in the tree for the next iteration.
#[derive(Clone, Copy, Debug, Default)]
pub struct IterationNotes<'a> {
    /// Remaining work by the agent's own account.
    pub remaining: &'a [String],
    /// Number of lines of a `progress.txt` that is too long.
    pub too_many_lines: Option<usize>,
}

/// Why a Stop is held. `before` is the loop before this Stop, `next` the loop after it.
#[must_use]
pub fn hold_reason(
    before: &LoopState,
    next: &LoopState,
    evidence: &Evidence,
    reasons: &HoldReasons,
    notes: IterationNotes<'_>,
) -> String {
    let held = HeldStop { before, next, evidence, reasons, language: next.language() };
    let language = held.language;
    let (opening, counted) = (held.opening(), held.counted());
    let instructions = held.reminder();
    let task_head = wording::TASK.text_in(language);
    let said_always = opening.len()
        + counted.len()
        + task_head.len()
        + instructions.len()
        + claim_words(next).len();
    // Line breaks between the parts.
    let room = REASON_BYTES_MAX.saturating_sub(said_always + 8);
    let mut lists = String::new();
    push_list(
        &mut lists,
        wording::PLAN_OPEN.text_in(language),
        &reasons.plan_open,
        INSTRUCTION_CHARS_MAX,
    );
    push_failed_checks(&mut lists, evidence, language);
    held.push_lost(&mut lists);
    held.push_signals(&mut lists);
    held.push_findings(&mut lists);
    held.push_reasons(&mut lists);
    held.push_gaps(&mut lists);
    push_notes(&mut lists, notes, language);
    let lists = held.within(&lists, room);
    let mut text = format!("{opening}\n");
    // What is to be done, also questions that are to be asked as they are: before the details, and whole.
    for line in reasons.plan_tasks.iter().take(PLAN_TASKS_MAX) {
        push(&mut text, &one_line(line, LINE_CHARS_MAX));
    }
    text.push_str(&lists);
    text.push_str(&counted);
    // An obstacle to the merge is the task of the next iteration.
    if let Some(conflict) = &reasons.conflict {
        let _ = writeln!(text, "{conflict}");
    }
    let _ = write!(text, "{task_head}\n{}\n{instructions}{}", task(next), completion_text(next));
    text
}

/// True if a finding keeps a Stop from ending the loop.
pub(super) fn is_holding(finding: &Finding) -> bool {
    finding.severity == Severity::Error
}

/// The gaps, one per line.
pub(super) fn gap_lines(evidence: &Evidence, language: MessageLanguage) -> Vec<String> {
    let mut lines = Vec::new();
    for reading in &evidence.readings {
        if let Some(gap) = &reading.gap {
            let said = wording::NOT_MEASURED.with(language, &[&reading.sensor, &gap.to_string()]);
            lines.push(said);
        }
    }
    for skipped in evidence.skipped.iter().take(SKIPPED_NAMED_MAX) {
        let path = sanitized_name(&skipped.path);
        lines.push(wording::NOT_MEASURED.with(language, &[&path, &skipped.reason]));
    }
    if let Some(more) = evidence.skipped.len().checked_sub(SKIPPED_NAMED_MAX + 1) {
        let more = MORE_FILES.count(language, more + 1);
        lines.push(wording::NOT_MEASURED_ALONE.with(language, &[&more]));
    }
    lines
}

/// The failed checks with the lines of their output that name failures.
pub(super) fn push_failed_checks(
    text: &mut String,
    evidence: &Evidence,
    language: MessageLanguage,
) {
    // Several checks share what one alone could say.
    let checks = failed_checks(evidence).count().max(1);
    let lines_max = (FAILED_LINES_SHARED / checks).clamp(FAILED_LINES_MIN, FAILED_LINES_MAX);
    for check in failed_checks(evidence) {
        let failed = check.tests.as_ref().filter(|tests| tests.failed > 0);
        let head = match failed {
            Some(tests) => {
                let (failed, all) = (tests.failed.to_string(), tests.total().to_string());
                let parts = [check.sensor.as_str(), &failed, &all];
                wording::CHECK_FAILED_TESTS.with(language, &parts)
            }
            None => wording::CHECK_FAILED.with(language, &[&check.sensor]),
        };
        let shown = failure_lines(check.output.as_deref().unwrap_or_default(), lines_max);
        if shown.lines.is_empty() {
            push(text, &head);
        } else {
            push(text, &wording::ITS_OUTPUT.with(language, &[&head]));
            push_failure_lines(text, &shown, language);
        }
    }
}

fn push_failure_lines(text: &mut String, shown: &FailureLines, language: MessageLanguage) {
    push_quoted(text, &shown.lines.join("\n"));
    if shown.more > 0 {
        let more = MORE_FAULTS.with(language, &[&shown.more.to_string()]);
        push(text, &format!("  … {more}"));
    }
}

fn failed_checks(evidence: &Evidence) -> impl Iterator<Item = &SensorReading> {
    let readings = evidence.readings.iter();
    readings.filter(|reading| reading.kind == SensorKind::Check && reading.dirty)
}

/// A Stop that is held.
struct HeldStop<'a> {
    before: &'a LoopState,
    next: &'a LoopState,
    evidence: &'a Evidence,
    reasons: &'a HoldReasons,
    language: MessageLanguage,
}

impl HeldStop<'_> {
    fn opening(&self) -> String {
        let phrase =
            if self.reasons.is_acknowledged { wording::GOES_ON_FORCED } else { wording::GOES_ON };
        let (now, max) = (self.next.current_iteration(), self.next.max_iterations);
        phrase.with(self.language, &[&self.next.id, &now.to_string(), &max.to_string()])
    }

    /// Short instructions, for an agent that read the full ones at the start.
    fn reminder(&self) -> String {
        let chosen = framework_of(self.next, is_research(self.next));
        chosen.map(|one| format!("{}\n", framework::reminder(one))).unwrap_or_default()
    }

    fn is_first(&self) -> bool {
        self.before.history.is_empty()
    }

    /// True if the last Stop had an error already. Only the first [`FLIP_ERRORS_MAX`] ids are kept, in order:
    /// an error that sorts after the last of them may have been present.
    fn is_known(&self, finding: &Finding) -> bool {
        let Some(last) = self.before.history.last() else { return false };
        let seen = &last.errors_seen;
        let is_cut = seen.len() >= FLIP_ERRORS_MAX;
        seen.contains(&finding.id) || (is_cut && seen.last().is_some_and(|end| finding.id > *end))
    }

    fn holding(&self, is_known: bool) -> Vec<&Finding> {
        let holding = self.evidence.findings.iter().filter(|finding| is_holding(finding));
        holding.filter(|finding| self.is_known(finding) == is_known).collect()
    }

    /// The counts, which are never cut.
    fn counted(&self) -> String {
        let mut text = String::new();
        let (new, known) = (self.holding(false), self.holding(true));
        if !new.is_empty() && !known.is_empty() {
            let known = severity_counts_in(self.language, known.into_iter());
            push(&mut text, &wording::STILL_WRONG_ALL.with(self.language, &[&known]));
        }
        let warnings = self.evidence.count(Severity::Warning);
        if warnings > 0 {
            let warnings = WARNINGS.count(self.language, warnings);
            push(&mut text, &wording::NOT_BLOCKING.with(self.language, &[&warnings]));
        }
        let is_told = !self.is_first() && self.before.remaining.older == self.evidence.older;
        if let Some(older) = older_errors(self.evidence.older, self.language).filter(|_| !is_told) {
            push(&mut text, &wording::NOT_BLOCKING.with(self.language, &[&older]));
        }
        text
    }

    /// Sensors that measured earlier in this loop but not now.
    fn push_lost(&self, text: &mut String) {
        for lost in &self.reasons.lost_sensors {
            push(text, &wording::LOST.with(self.language, &[&lost.sensor]));
            let output = lost.output.as_deref().unwrap_or_default();
            let shown = failure_lines(output, FAILED_LINES_MAX);
            push_failure_lines(text, &shown, self.language);
        }
    }

    /// News since the last Stop; without any, the remaining findings.
    fn push_findings(&self, text: &mut String) {
        let (new, known) = (self.holding(false), self.holding(true));
        let (phrase, told) = match (new.is_empty(), known.is_empty()) {
            (true, true) => return,
            (true, false) => (wording::STILL_WRONG, known),
            (false, _) if self.is_first() => (wording::STILL_WRONG, new),
            (false, _) => (wording::NEW_WRONG, new),
        };
        let all = severity_counts_in(self.language, told.iter().copied());
        push(text, &phrase.with(self.language, &[&all]));
        for finding in told.iter().take(REASON_FINDINGS_MAX) {
            let is_instruction = finding.sensor == exam::SENSOR;
            let chars_max =
                if is_instruction { INSTRUCTION_CHARS_MAX } else { REASON_LINE_CHARS_MAX };
            let _ = writeln!(text, "  {}", one_line(&finding_line(finding), chars_max));
        }
        let refreezable = ["G17", "G19"];
        let of_guard = told
            .iter()
            .take(REASON_FINDINGS_MAX)
            .filter(|it| it.sensor == exam::SENSOR && !refreezable.contains(&it.code.as_str()));
        let commands = of_guard.map(|it| format!("moai-ralph guard allow {} --reason TEXT", it.id));
        let commands: Vec<String> = commands.collect();
        if !commands.is_empty() {
            push(text, &wording::MAY_BE_ALLOWED.with(self.language, &[&commands.join("; ")]));
        }
        if let Some(more) = told.len().checked_sub(REASON_FINDINGS_MAX).filter(|more| *more > 0) {
            let more = MORE_FINDINGS.count(self.language, more);
            let more = wording::MORE_BY_CHECK.with(self.language, &[&more, ""]);
            push(text, more.trim_end());
        }
    }

    fn push_reasons(&self, text: &mut String) {
        let (language, reasons) = (self.language, self.reasons);
        if reasons.lacks_promise {
            let has_gap = self.evidence.verdict().gap().is_some();
            let phrase = if has_gap { wording::LACKS_PROMISE_GAPS } else { wording::LACKS_PROMISE };
            push(text, phrase.text_in(language));
        }
        if reasons.is_idle {
            push(text, wording::NOTHING_DONE.text_in(language));
        }
        if let Some(gap) = &reasons.waiting_gap {
            let readings = &self.evidence.readings;
            if !readings.iter().any(|reading| reading.gap.as_ref() == Some(gap)) {
                let gap = gap.to_string();
                push(text, &wording::NOT_MEASURED_ALONE.with(language, &[&gap]));
            }
            if gap.cause.is_transient() {
                push(text, wording::STOP_AGAIN.text_in(language));
            }
        }
        if reasons.needs_new_strategy {
            let rejections = self.next.options.hitl_threshold;
            push(text, &framework::strategy_reset(language, rejections));
        }
        let head = wording::REJECTED.text_in(language);
        push_list(text, head, &reasons.rejected, REASON_LINE_CHARS_MAX);
        let (head, lines) = (wording::CONTRADICTED.text_in(language), &reasons.contradictions);
        push_list(text, head, lines, REASON_LINE_CHARS_MAX);
        if !reasons.research_missing.is_empty() {
            push(text, wording::RESEARCH_FIRST.text_in(language));
            text.push_str(&framework::research_lacks(language, &reasons.research_missing));
        }
    }

    /// New gaps since the last Stop and those that hold this one, and the number of the others.
    fn push_gaps(&self, text: &mut String) {
        let known = &self.before.basis.gaps;
        let mut known_count = 0;
        for reading in &self.evidence.readings {
            let Some(gap) = &reading.gap else { continue };
            let may_close = gap.cause.is_transient() || gap.cause.is_fixable_by_agent();
            let holds = self.reasons.waiting_gap.is_some() && may_close;
            if !holds && known.contains(&format!("{} ({gap})", reading.sensor)) {
                known_count += 1;
                continue;
            }
            let gap = gap.to_string();
            let said = wording::NOT_MEASURED.with(self.language, &[&reading.sensor, &gap]);
            push(text, &one_line(&said, REASON_LINE_CHARS_MAX));
        }
        let is_known = |path: &str, reason: &str| known.contains(&format!("{path} ({reason})"));
        let (told, new): (Vec<_>, Vec<_>) = self.evidence.skipped.iter().partition(|skipped| {
            is_known(&one_line(&skipped.path, REASON_LINE_CHARS_MAX), &skipped.reason)
        });
        for skipped in new.iter().take(SKIPPED_NAMED_MAX) {
            let path = sanitized_name(&skipped.path);
            let said = wording::NOT_MEASURED.with(self.language, &[&path, &skipped.reason]);
            push(text, &one_line(&said, REASON_LINE_CHARS_MAX));
        }
        if let Some(more) = new.len().checked_sub(SKIPPED_NAMED_MAX).filter(|more| *more > 0) {
            let more = MORE_FILES.count(self.language, more);
            push(text, &wording::NOT_MEASURED_ALONE.with(self.language, &[&more]));
        }
        if known_count + told.len() > 0 {
            let known = (known_count + told.len()).to_string();
            push(text, &wording::STILL_NOT_MEASURED.with(self.language, &[&known]));
        }
    }

    /// The comparison with earlier iterations, as far as the agent can act on it.
    fn push_signals(&self, text: &mut String) {
        let (language, signals) = (self.language, &self.reasons.signals);
        if let Some((like, between)) = signals.oscillates {
            let parts = [like.to_string(), between.to_string()];
            push(text, &wording::OSCILLATES.with(language, &[&parts[0], &parts[1]]));
        } else if signals.stalled_for + 1 == STALL_ITERATIONS_MAX {
            push(text, wording::STALLS.text_in(language));
        } else if signals.is_diverging {
            push(text, wording::DIVERGES.text_in(language));
        }
        if let Some(best) = signals.worse_than {
            let kept = self.next.history.iter().find(|one| one.number == best);
            let is_kept = kept.is_some_and(|one| one.checkpoint.is_some());
            let phrase = if is_kept { wording::WORSE_KEPT } else { wording::WORSE };
            push(text, &phrase.with(language, &[&best.to_string(), &self.next.id]));
        }
        if signals.is_no_op {
            push(text, wording::NO_OP.text_in(language));
        }
        let findings = self.evidence.findings.iter();
        let flips = findings.filter(|finding| signals.flips.contains(&finding.id));
        for finding in flips.take(FLIPS_NAMED_MAX) {
            let said = wording::FLIPS.with(language, &[&finding_line(finding)]);
            push(text, &one_line(&said, REASON_LINE_CHARS_MAX));
        }
    }

    /// The lists, cut at a line to their limit; the last line is the command that shows all.
    fn within(&self, lists: &str, bytes_max: usize) -> String {
        if lists.len() <= bytes_max {
            return lists.to_owned();
        }
        let has_failed = failed_checks(self.evidence).next().is_some();
        let commands = if has_failed { wording::SEE_CHECKS } else { wording::SEE_CHECK };
        let cut = wording::CUT.with(self.language, &[commands.text_in(self.language)]);
        let room = bytes_max.saturating_sub(cut.len() + 1);
        let end = (0..=room).rev().find(|at| lists.is_char_boundary(*at)).unwrap_or_default();
        let end = lists[..end].rfind('\n').map_or(0, |at| at + 1);
        format!("{}{cut}\n", &lists[..end])
    }
}

fn push(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// The agent's own notes.
fn push_notes(text: &mut String, notes: IterationNotes<'_>, language: MessageLanguage) {
    text.push_str(&framework::remaining(language, notes.remaining));
    if let Some(lines) = notes.too_many_lines {
        let _ = writeln!(text, "{}", framework::too_long(language, lines));
    }
}

fn push_list(text: &mut String, head: &str, lines: &[String], chars_max: usize) {
    if lines.is_empty() {
        return;
    }
    let _ = writeln!(text, "{head}");
    for one in lines {
        let _ = writeln!(text, "  - {}", one_line(one, chars_max));
    }
}
