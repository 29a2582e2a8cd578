//! `guard`: detects changes that weaken tests, checks or types.

pub(crate) mod guard_allow;
pub(crate) mod guard_run;
pub(crate) mod waivers;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use crate::engine::Engine;
use crate::evidence::baselines::BaselineFiles;
use crate::evidence::evidence_reply::{ReportInput, ReportOptions, evidence_reply};
use crate::evidence::work_base::base_of_changes;
use crate::guard::guard_run::{GuardRunOptions, run_guard};
use crate::replies::{INVALID, load_project};
use crate::stop::check_outputs::CheckOutputs;
use moai_protocol::control::{CallerContext, CommandReply, GuardRequest};
use moai_report::human::ReportStyle;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: GuardRequest,
) -> CommandReply {
    let started_at = Instant::now();
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let options = ReportOptions {
        format: request.format,
        style: ReportStyle { has_color: request.color, shows_hints: request.verbose },
        fail_on: request.fail_on,
        allow_unmeasured: request.allow_unmeasured,
        baselines: BaselineFiles::default(),
        is_tool: caller.is_tool(),
    };
    let base = match base_of_changes(&project, request.base).await {
        Ok(base) => base,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    let wanted = GuardRunOptions {
        base,
        goal: request.goal,
        threshold: options.threshold(),
        known: Vec::new(),
        loop_id: None,
        outputs: CheckOutputs::default(),
    };
    let guarded = match run_guard(engine, &project, wanted).await {
        Ok(guarded) => guarded,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    let mut note = String::new();
    for (finding, reason) in &guarded.allowed {
        let (path, code) = (&finding.path, &finding.code);
        let _ = writeln!(note, "moai-ralph: {path}: guard({code}) is allowed: {reason}");
    }
    let evidence = guarded.evidence;
    // An empty change is a valid answer; a missing base is not.
    let may_be_empty = evidence.readings.iter().all(|reading| reading.gap.is_none());
    let measured = ReportInput { evidence, excerpts: None, note, rules: Vec::new(), may_be_empty };
    evidence_reply(&project.root, &options, measured, started_at)
}
