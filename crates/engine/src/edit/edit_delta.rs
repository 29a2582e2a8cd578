//! The delta of a result to the state before the edit.

use std::cell::LazyCell;
use std::path::Path;

use crate::edit::baseline_rule::{BaselineFacts, EditBaseline, baseline_for};
use crate::engine::Engine;
use crate::evidence::snapshot_measurement::SensorResult;
use crate::ledger::pending_reports::StateBefore;
use moai_base::delta::{Delta, carry_findings};
use moai_base::finding::Finding;
use moai_base::hash::ContentHash;
use moai_base::lines::LineHashes;
use moai_host::files::Snapshot;
use moai_lsp::impact::TouchedSymbols;

/// Keeps the line hashes that map these findings to the text after the next edit.
pub(crate) fn cache_lines(engine: &Engine, snapshot: &Snapshot, findings: &[Finding]) {
    if !findings.is_empty() {
        engine.ledger().lines.keep(snapshot.hash, &snapshot.text);
    }
}

/// The delta to an earlier set of findings: by line map if its lines are still cached, else by
/// fingerprint.
pub(crate) fn delta_from(
    engine: &Engine,
    before: Option<&[Finding]>,
    now: Vec<Finding>,
    text: &str,
) -> Delta {
    let lines = before
        .and_then(|set| set.first())
        .and_then(|finding| engine.ledger().lines.get(finding.content_hash));
    match (before, lines) {
        (Some(set), Some(lines)) => {
            Delta::by_line_map(&lines, set, &LineHashes::from_text(text), now)
        }
        (set, _) => Delta::by_fingerprint(set, now),
    }
}

/// The baseline of a result; `can_overlay` is true if the text before the edit may still be measured.
pub(crate) fn edit_baseline(
    engine: &Engine,
    root: &Path,
    before: &StateBefore,
    result: &SensorResult,
    can_overlay: bool,
) -> EditBaseline {
    let is_partial = result.is_partial();
    let text_before = before.text.as_ref().map(|text| ContentHash::of_bytes(text.as_bytes()));
    let mut ledger = engine.ledger();
    baseline_for(BaselineFacts {
        is_partial,
        has_earlier_findings: before.findings(is_partial).is_some(),
        text_before,
        last_measured: before.measured,
        have_others_changed: before
            .epoch
            .is_none_or(|epoch| ledger.root(root).disk.others_changed_since(&result.path, epoch)),
        has_measured_lines: before.measured.is_some_and(|hash| ledger.lines.has(hash)),
        can_overlay,
    })
}

/// The delta of a result to the state before the edit. With a fault of the project the server does
/// not see everything, so missing findings do not count as fixed.
pub(crate) fn delta_from_baseline(
    engine: &Engine,
    root: &Path,
    before: &StateBefore,
    result: SensorResult,
    text: &str,
) -> Delta {
    let is_partial = result.is_partial();
    let has_fault = is_partial && !result.is_switched_off();
    let baseline = edit_baseline(engine, root, before, &result, false);
    let SensorResult { path, findings, .. } = result;
    let earlier = before.findings(is_partial).map(Vec::as_slice);
    let text_before = before.text.as_deref().unwrap_or_default();
    let touched = LazyCell::new(|| TouchedSymbols::from_edit(&path, Some(text_before), Some(text)));
    let concerns_edit = |finding: &Finding| touched.concerns_finding(finding, text);
    let lines_before = LineHashes::from_text(text_before);
    let known = match baseline {
        EditBaseline::UnmeasuredText | EditBaseline::EditedLines => {
            let lines = LineHashes::from_text(text);
            return Delta::by_edited_lines(&lines_before, &lines, findings, concerns_edit);
        }
        EditBaseline::Unknown | EditBaseline::EarlierFindings => {
            let mut delta = delta_from(engine, earlier, findings, text);
            if has_fault && delta.findings.is_empty() {
                delta.fixed = 0;
                delta.fixed_errors = 0;
                delta.disappeared.clear();
            }
            return delta;
        }
        EditBaseline::OthersChanged => earlier.unwrap_or_default().to_vec(),
        EditBaseline::OlderText => {
            let measured_lines = before.measured.and_then(|hash| engine.ledger().lines.get(hash));
            measured_lines.map_or_else(Vec::new, |lines| {
                carry_findings(earlier.unwrap_or_default(), &lines, &lines_before)
            })
        }
        EditBaseline::ForgottenText => Vec::new(),
    };
    delta_from(engine, earlier, findings, text).attribute_to_edit(
        &lines_before,
        &known,
        &LineHashes::from_text(text),
        concerns_edit,
    )
}
