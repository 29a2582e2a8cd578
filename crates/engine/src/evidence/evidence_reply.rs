//! The reply of `check`, `scan` and `guard`: format and exit code of a report.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::evidence::baselines::BaselineFiles;
use crate::replies::{INVALID, REFUSED, UNMEASURED, millis_since};
use moai_base::evidence::Evidence;
use moai_base::finding::Severity;
use moai_base::verdict::{Cause, Verdict};
use moai_protocol::control::{CallerContext, CommandReply, ReportFormat};
use moai_protocol::documents::{json_text, json_value};
use moai_report::excerpt::{self, SourceExcerpts};
use moai_report::{github, human, json, jsonl, sarif, tools};
use moai_scan::{RuleFacts, RuleSet};

/// Options of a report.
#[derive(Clone, Debug)]
pub(crate) struct ReportOptions {
    pub(crate) format: ReportFormat,
    pub(crate) style: human::ReportStyle,
    /// Lowest severity that fails: `error`, `warning` or `never`.
    pub(crate) fail_on: String,
    /// True if a gap does not fail the report.
    pub(crate) allow_unmeasured: bool,
    /// Baseline files to compare with and to write.
    pub(crate) baselines: BaselineFiles,
    /// True if the reply is for an agent's tool.
    pub(crate) is_tool: bool,
}

impl ReportOptions {
    /// The lowest severity that counts as dirty.
    pub(crate) fn threshold(&self) -> Severity {
        if self.fail_on == "warning" { Severity::Warning } else { Severity::Error }
    }

    /// The rules that the format lists.
    pub(crate) fn shown_rules(&self, rules: &RuleSet) -> Vec<RuleFacts> {
        if self.format == ReportFormat::Sarif { rules.rules() } else { Vec::new() }
    }
}

pub(crate) struct ReportInput {
    pub(crate) evidence: Evidence,
    /// Lines of source; `None` writes findings without any.
    pub(crate) excerpts: Option<SourceExcerpts>,
    /// For the user, on stderr.
    pub(crate) note: String,
    /// Descriptions of the scan's rules, if the format lists them.
    pub(crate) rules: Vec<RuleFacts>,
    /// True if a report without files is valid, because nothing may have changed.
    pub(crate) may_be_empty: bool,
}

/// The baselines that a caller requests, read before anything is measured; the error is the reply about the
/// unusable file.
pub(crate) fn load_baselines(
    caller: &CallerContext,
    known: Option<&Path>,
    write: Option<&Path>,
    journal: PathBuf,
) -> Result<BaselineFiles, CommandReply> {
    BaselineFiles::read(&caller.cwd, known, write, journal)
        .map_err(|error| CommandReply::failure(INVALID, &format!("moai-ralph: {error}")))
}

/// The reply about a measurement that started at `started_at`.
pub(crate) fn evidence_reply(
    root: &Path,
    options: &ReportOptions,
    measured: ReportInput,
    started_at: Instant,
) -> CommandReply {
    let ReportInput { mut evidence, excerpts, mut note, rules, may_be_empty } = measured;
    let is_written = match options.baselines.apply(root, &mut evidence, options.threshold()) {
        Ok(told) => {
            note.push_str(&told);
            true
        }
        Err(error) => {
            let _ = writeln!(note, "moai-ralph: {error}");
            false
        }
    };
    let elapsed_ms = millis_since(started_at);
    let stdout = match (options.format, &excerpts) {
        (ReportFormat::Text, Some(excerpts)) => {
            excerpt::scan_text(&evidence, excerpts, elapsed_ms, options.style)
        }
        (ReportFormat::Text, None) => human::check_text(&evidence, elapsed_ms, options.style),
        (ReportFormat::Jsonl, _) => jsonl::findings(&evidence.findings),
        (ReportFormat::Json, _) => json_text(&json::report_document(root, &evidence, elapsed_ms)),
        (ReportFormat::Sarif, _) => format!("{:#}\n", sarif::sarif_log(root, &evidence, &rules)),
        (ReportFormat::Github, _) => github::commands(&evidence, elapsed_ms),
    };
    let verdict = if options.fail_on == "never" {
        verdict_without_findings(&evidence)
    } else {
        evidence.verdict()
    };
    let code = match verdict {
        _ if !is_written => REFUSED,
        Verdict::Clean => 0,
        Verdict::Dirty => REFUSED,
        Verdict::Unmeasured(_) if options.allow_unmeasured => 0,
        // The project does not want these files checked, and another sensor measured them.
        Verdict::Unmeasured(gap) if gap.cause == Cause::SwitchedOff && has_measured(&evidence) => 0,
        // Nothing changed, so nothing is left unmeasured.
        Verdict::Unmeasured(_) if may_be_empty && evidence.files_total() == 0 => 0,
        Verdict::Unmeasured(_) => UNMEASURED,
    };
    let document =
        options.is_tool.then(|| Box::new(json_value(&tools::diagnostics_answer(&evidence, &note))));
    CommandReply { stdout, document, stderr: note, code, ..CommandReply::default() }
}

/// The verdict that decides the exit code where findings do not fail: what is unmeasured still counts.
fn verdict_without_findings(evidence: &Evidence) -> Verdict {
    let mut evidence = evidence.clone();
    for reading in &mut evidence.readings {
        reading.dirty = false;
    }
    evidence.verdict()
}

/// True if any sensor measured a file.
fn has_measured(evidence: &Evidence) -> bool {
    evidence.readings.iter().any(|reading| reading.gap.is_none() && reading.files > 0)
}
