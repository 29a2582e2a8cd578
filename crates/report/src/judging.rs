//! The report of the judges as text, as JSON, and as the files that a loop keeps in the tree. Only
//! bounded fields of a model's answer are shown, never the whole answer.

use std::fmt::Write as _;
use std::path::Path;

use super::{count_noun, sanitized_line, sanitized_name};
use moai_base::evidence::SkippedFile;
use moai_base::limits::{JUDGE_FEEDBACK_BYTES_MAX, JUDGE_HISTORY_MAX, SKIPPED_NAMED_MAX};
use moai_base::redaction::redact;
use moai_base::text::{Position, TextRange};
use moai_loops::judge::decision::Judgement;
use moai_loops::judge::judge_report::{JudgeReport, JudgeResult};
use moai_loops::judge::rubric::RubricCriterion;
use moai_loops::judge::verdict::{CriterionRuling, RulingDoubt, SourceQuote, Suspicion};
use moai_protocol::documents::judgements::{
    JudgeCoverageEntry, JudgeDocument, JudgeEntry, QuoteEntry, RulingEntry, SuspicionEntry,
};

/// The place of a judgement in a loop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JudgementContext {
    /// `None` outside a loop.
    pub iteration: Option<u32>,
    /// Rejections in a row, including this one.
    pub rejections: u32,
    /// Milliseconds since the epoch.
    pub at_ms: u64,
}

#[must_use]
pub fn judge_text(judged: &JudgeReport) -> String {
    let mut text = format!("judge: {}\n", judged.review.as_str());
    if let Judgement::Unmeasured(gap) = &judged.judgement {
        let _ = writeln!(text, "not measured: {gap}");
    }
    for (criterion, judge, ruled) in judged.rulings() {
        push_ruling(&mut text, criterion, judge, ruled);
    }
    for suspicion in judged.suspicions() {
        let _ = writeln!(text, "suspicion: {} at {}", suspicion.kind.as_str(), place(suspicion));
    }
    push_skipped(&mut text, "not shown", &judged.coverage.omitted);
    push_skipped(&mut text, "not measured", &judged.coverage.unread);
    for judge in &judged.judges {
        let _ = writeln!(text, "{}", said_by(judge));
    }
    let coverage = &judged.coverage;
    let _ = writeln!(
        text,
        "{} of {} shown",
        coverage.shown,
        count_noun(coverage.files, "changed file")
    );
    text
}

fn said_by(judge: &JudgeResult) -> String {
    let model = judge.model.as_ref().map(|model| format!(" ({})", sanitized_name(model)));
    let how = match (&judge.judgement, judge.is_cached) {
        (Judgement::Unmeasured(gap), _) => format!(": {gap}"),
        (_, true) => ", cached for the same change".to_owned(),
        (_, false) => format!(", {}", count_noun(judge.calls, "call")),
    };
    let cost = judge.cost_usd.map(|cost| format!(", ${cost:.2}")).unwrap_or_default();
    let (name, word) = (sanitized_name(&judge.name), judge.judgement.as_str());
    format!("{name}{}: {word}{how}{cost}", model.unwrap_or_default())
}

fn push_ruling(
    text: &mut String,
    criterion: &RubricCriterion,
    judge: &JudgeResult,
    ruled: &CriterionRuling,
) {
    let (id, word) = (&criterion.id, ruled.ruling.as_str());
    let _ = writeln!(
        text,
        "{id} {word} ({}): {}",
        sanitized_name(&judge.name),
        sanitized_line(&criterion.text)
    );
    if let Some(doubt) = ruled.doubt {
        let _ = writeln!(text, "  {}", doubt_words(doubt));
    }
    if !ruled.reason.is_empty() {
        let _ = writeln!(text, "  reason: {}", sanitized_line(&ruled.reason));
    }
    for quote in &ruled.quotes {
        let _ = writeln!(text, "  at {}", lines(quote));
    }
    if let Some(hint) = &ruled.fix_hint {
        let _ = writeln!(text, "  hint: {}", sanitized_line(hint));
    }
}

fn doubt_words(doubt: RulingDoubt) -> &'static str {
    match doubt {
        RulingDoubt::NoQuote => "the judge ruled met without quoting code",
        RulingDoubt::WrongQuote => "the judge ruled met but quoted code that does not exist",
        RulingDoubt::Disagreement => "two independent calls disagreed",
    }
}

fn lines(quote: &SourceQuote) -> String {
    let path = sanitized_name(quote.path.as_str());
    match quote.line_end {
        end if end == quote.line_start => format!("{path}:{end}"),
        end => format!("{path}:{}-{end}", quote.line_start),
    }
}

fn place(suspicion: &Suspicion) -> String {
    let line = suspicion.line.map(|line| format!(":{line}")).unwrap_or_default();
    format!("{}{line}", sanitized_name(suspicion.path.as_str()))
}

/// Suspicions of the search and the judges, one line each.
#[must_use]
pub fn suspicion_lines(judged: &JudgeReport) -> Vec<String> {
    let suspicions = judged.suspicions().into_iter().take(SKIPPED_NAMED_MAX);
    suspicions.map(|one| format!("{} at {}", one.kind.as_str(), place(one))).collect()
}

fn push_skipped(text: &mut String, word: &str, skipped: &[SkippedFile]) {
    for one in skipped.iter().take(SKIPPED_NAMED_MAX) {
        let _ = writeln!(
            text,
            "{word}: {} ({})",
            sanitized_name(&one.path),
            sanitized_line(&one.reason)
        );
    }
    if let Some(more) = skipped.len().checked_sub(SKIPPED_NAMED_MAX).filter(|more| *more > 0) {
        let _ = writeln!(text, "{word}: {}", count_noun(more, "more file"));
    }
}

/// One line per open criterion, for the agent.
#[must_use]
pub fn rejection_reasons(judged: &JudgeReport) -> Vec<String> {
    let open = judged.open().into_iter();
    open.map(|(criterion, judge, ruled)| {
        let mut text = String::new();
        push_ruling(&mut text, criterion, judge, ruled);
        text.lines().map(str::trim).collect::<Vec<_>>().join("; ")
    })
    .collect()
}

/// A judgement as one document.
#[must_use]
pub fn judge_document<'j>(
    root: &Path,
    judged: &'j JudgeReport,
    elapsed_ms: u64,
) -> JudgeDocument<'j> {
    let rulings = judged.rulings().into_iter().map(|(criterion, judge, ruled)| RulingEntry {
        id: &criterion.id,
        text: &criterion.text,
        verdict: ruled.ruling.as_str(),
        judge: &judge.name,
        doubt: ruled.doubt.map(RulingDoubt::as_str),
        reason: &ruled.reason,
        fix_hint: ruled.fix_hint.as_deref(),
        evidence: ruled.quotes.iter().map(quote_entry).collect(),
    });
    let suspicions = judged.suspicions().into_iter().map(|suspicion| SuspicionEntry {
        kind: suspicion.kind.as_str(),
        path: suspicion.path.as_str(),
        line: suspicion.line.map(|line| line.saturating_sub(1)),
    });
    let coverage = &judged.coverage;
    JudgeDocument {
        root: root.to_string_lossy().into_owned(),
        verdict: judged.judgement.as_str(),
        review: judged.review.as_str(),
        reason: judgement_gap(&judged.judgement),
        elapsed_ms,
        criteria: rulings.collect(),
        suspicions: suspicions.collect(),
        judges: judged.judges.iter().map(judge_entry).collect(),
        coverage: JudgeCoverageEntry {
            files: coverage.files,
            shown: coverage.shown,
            parts: coverage.parts,
            listed: &coverage.omitted,
            unread: &coverage.unread,
        },
    }
}

fn judge_entry(judge: &JudgeResult) -> JudgeEntry<'_> {
    JudgeEntry {
        name: &judge.name,
        backend: judge.backend,
        model: judge.model.as_deref(),
        verdict: judge.judgement.as_str(),
        reason: judgement_gap(&judge.judgement),
        calls: judge.calls,
        cost_usd: judge.cost_usd,
        cached: judge.is_cached,
        confidence: judge.opinion.as_ref().map(|opinion| opinion.confidence),
    }
}

fn judgement_gap(judgement: &Judgement) -> Option<String> {
    match judgement {
        Judgement::Unmeasured(gap) => Some(gap.to_string()),
        _ => None,
    }
}

fn quote_entry(quote: &SourceQuote) -> QuoteEntry<'_> {
    let line_start = |line: u32| Position { line: line.saturating_sub(1), character: 0 };
    QuoteEntry {
        path: quote.path.as_str(),
        quote: &quote.text,
        range: TextRange { start: line_start(quote.line_start), end: line_start(quote.line_end) },
    }
}

/// A file of the loop that could not be updated with the judgement.
#[must_use]
pub fn feedback_not_written(name: &str, reason: &str) -> String {
    format!("moai-ralph: {name} was not updated with the judgement: {reason}")
}

/// `JUDGE_FEEDBACK.md` after a rejection: one entry more; the oldest are dropped when they grow too
/// large, and text before the first entry stays. `None` without a rejection.
#[must_use]
pub fn feedback_file(
    before: &str,
    judged: &JudgeReport,
    moment: JudgementContext,
) -> Option<String> {
    if judged.judgement != Judgement::Rejected {
        return None;
    }
    let head = match moment.iteration {
        Some(iteration) => {
            format!("Iteration {iteration} — REJECTED ({} consecutive)", moment.rejections)
        }
        None => "By hand — REJECTED".to_owned(),
    };
    let mut entry = format!("---\n## {head} — {}\n\n", time(moment.at_ms));
    for (criterion, judge, ruled) in judged.open() {
        push_ruling(&mut entry, criterion, judge, ruled);
    }
    for suspicion in judged.suspicions() {
        let _ = writeln!(entry, "suspicion: {} at {}", suspicion.kind.as_str(), place(suspicion));
    }
    let entry = redact(entry);
    let (own, mut entries) = entries(before);
    let gap = if before.is_empty() || before.ends_with('\n') { "" } else { "\n" };
    let mut bytes = entries.iter().map(|one| one.len()).sum::<usize>() + entry.len();
    while bytes > JUDGE_FEEDBACK_BYTES_MAX && !entries.is_empty() {
        bytes -= entries.remove(0).len();
    }
    Some(format!("{own}{}{gap}{entry}\n", entries.concat()))
}

/// The text of other authors before the first entry, and the entries.
fn entries(text: &str) -> (&str, Vec<&str>) {
    const HEAD: &str = "---\n## ";
    let starts: Vec<usize> = text
        .match_indices(HEAD)
        .map(|it| it.0)
        .filter(|at| *at == 0 || text[..*at].ends_with('\n'))
        .collect();
    let own = &text[..starts.first().copied().unwrap_or(text.len())];
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    (own, starts.iter().zip(ends).map(|(start, end)| &text[*start..end]).collect())
}

/// `JUDGE_EVOLUTION.md` after a decision: lines of other authors, then the last entries, one line
/// each. `None` without a decision.
#[must_use]
pub fn evolution_file(
    before: &str,
    judged: &JudgeReport,
    moment: JudgementContext,
) -> Option<String> {
    let ids = |word: &str| {
        let rulings = judged.rulings();
        let ids = rulings.iter().filter(|(_, _, ruled)| ruled.ruling.as_str() == word);
        ids.map(|(one, _, _)| one.id.as_str()).collect::<Vec<_>>().join(" ")
    };
    let said = ["unmet", "unclear", "met"].map(|word| (word, ids(word)));
    let said = said.iter().filter(|(_, ids)| !ids.is_empty());
    let said: Vec<String> = said.map(|(word, ids)| format!("{ids} {word}")).collect();
    let word = match judged.judgement {
        Judgement::Approved => "APPROVED",
        Judgement::Rejected => "REJECTED",
        Judgement::Unmeasured(_) => return None,
    };
    let when = moment.iteration.map_or("by hand".to_owned(), |number| format!("iter {number}"));
    let entry = format!("[{when}] {word} — {}", said.join(", "));
    let (mut entries, own): (Vec<&str>, Vec<&str>) = before
        .lines()
        .partition(|line| line.starts_with("[iter ") || line.starts_with("[by hand]"));
    entries.push(&entry);
    let from = entries.len().saturating_sub(JUDGE_HISTORY_MAX);
    Some([&own, &entries[from..]].concat().join("\n") + "\n")
}

fn time(at_ms: u64) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    at.map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()).unwrap_or_default()
}

#[cfg(test)]
mod tests;
