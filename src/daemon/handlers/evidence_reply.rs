//! The reply of `check` and `scan`: how evidence is written and which exit code it has.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

use super::replies::{INVALID, REFUSED, UNMEASURED, ended};
use crate::base::evidence::Evidence;
use crate::base::finding::Severity;
use crate::base::verdict::Verdict;
use crate::daemon::baselines::BaselineFiles;
use crate::report::excerpt::{self, SourceExcerpts};
use crate::report::{github, human, json, jsonl, sarif, tools};
use crate::scan::{RuleFacts, RuleSet};
use crate::wire::control::{CallerContext, CommandReply, ReportFormat};

/// How a report is wanted.
#[derive(Clone, Debug)]
pub(super) struct ReportOptions {
    pub(super) format: ReportFormat,
    pub(super) style: human::ReportStyle,
    /// Lowest severity that fails: `error`, `warning` or `never`.
    pub(super) fail_on: String,
    /// A gap does not fail.
    pub(super) allow_unmeasured: bool,
    /// What findings are compared with, and where they are kept.
    pub(super) baselines: BaselineFiles,
    /// The answer is for a tool of an agent.
    pub(super) is_tool: bool,
}

impl ReportOptions {
    /// The lowest severity that counts as dirty.
    pub(super) fn threshold(&self) -> Severity {
        if self.fail_on == "warning" { Severity::Warning } else { Severity::Error }
    }

    /// What the format shows of a set of rules.
    pub(super) fn shown_rules(&self, rules: &RuleSet) -> Vec<RuleFacts> {
        if self.format == ReportFormat::Sarif { rules.rules() } else { Vec::new() }
    }
}

/// What was measured.
pub(super) struct ReportInput {
    pub(super) evidence: Evidence,
    /// Lines of source; `None` writes findings without any.
    pub(super) excerpts: Option<SourceExcerpts>,
    /// For the user, on stderr.
    pub(super) note: String,
    /// What the rules of the scan say of themselves, where the format shows it.
    pub(super) rules: Vec<RuleFacts>,
    /// Whether no file at all is a fair answer: what changed may be nothing.
    pub(super) may_be_empty: bool,
}

/// The baselines that a caller names, read before anything is measured; the error is the reply that
/// says which file cannot be used.
pub(super) fn load_baselines(
    caller: &CallerContext,
    known: Option<&Path>,
    write: Option<&Path>,
) -> Result<BaselineFiles, CommandReply> {
    BaselineFiles::read(&caller.cwd, known, write)
        .map_err(|error| CommandReply::failure(INVALID, &format!("moai-ralph: {error}")))
}

/// The reply about what was measured since `begun`.
pub(super) fn evidence_reply(
    root: &Path,
    wish: &ReportOptions,
    measured: ReportInput,
    begun: Instant,
) -> CommandReply {
    let ReportInput { mut evidence, excerpts, mut note, rules, may_be_empty } = measured;
    let is_written = match wish.baselines.apply(root, &mut evidence, wish.threshold()) {
        Ok(told) => {
            note.push_str(&told);
            true
        }
        Err(error) => {
            let _ = writeln!(note, "moai-ralph: {error}");
            false
        }
    };
    let elapsed_ms = ended(begun);
    let stdout = match (wish.format, &excerpts) {
        (ReportFormat::Text, Some(excerpts)) => {
            excerpt::scan_text(&evidence, excerpts, elapsed_ms, wish.style)
        }
        (ReportFormat::Text, None) => human::check_text(&evidence, elapsed_ms, wish.style),
        (ReportFormat::Jsonl, _) => jsonl::findings(&evidence.findings),
        (ReportFormat::Json, _) => {
            format!("{:#}\n", json::report_json(root, &evidence, elapsed_ms))
        }
        (ReportFormat::Sarif, _) => format!("{:#}\n", sarif::sarif_log(root, &evidence, &rules)),
        (ReportFormat::Github, _) => github::commands(&evidence, elapsed_ms),
    };
    let code = match evidence.verdict() {
        _ if !is_written => REFUSED,
        Verdict::Clean => 0,
        // The verdict stays dirty; what fails is the user's to say.
        Verdict::Dirty if wish.fail_on == "never" => 0,
        Verdict::Dirty => REFUSED,
        Verdict::Unmeasured(_) if wish.allow_unmeasured => 0,
        // Nothing changed, so nothing that was asked for is left unmeasured.
        Verdict::Unmeasured(_) if may_be_empty && evidence.files_total() == 0 => 0,
        Verdict::Unmeasured(_) => UNMEASURED,
    };
    let document = wish.is_tool.then(|| tools::diagnostics_json(&evidence, &note).into());
    CommandReply { stdout, document, stderr: note, code }
}
