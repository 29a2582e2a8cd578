//! `scan --fix`: applies the fixes of the rules, in all files or in none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::code::file_sweep::FileSweep;
use crate::code::rewrite::{SCHEMA, rewrite_reply};
use crate::code::rewrite_plan::{RewritePlan, plan_rewrite};
use crate::code::scan::{ScanFileSet, find_scan_files, named_rules};
use crate::engine::{Engine, run_blocking};
use crate::project::Project;
use crate::replies::{INVALID, error_reply, millis_since, query_context};
use moai_base::limits::FIX_SECS_MAX;
use moai_base::path::RelPath;
use moai_protocol::control::{CallerContext, CommandReply, ReportFormat, ScanRequest};
use moai_report::answers::QueryError;
use moai_report::rewrite::RewriteReport;
use moai_scan::RuleSet;
use moai_scan::fixes::{FixTrust, apply_fixes};

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    project: &Project,
    request: ScanRequest,
    started_at: Instant,
) -> CommandReply {
    let mut context = query_context("scan", project, caller);
    let json = request.format == ReportFormat::Json;
    if !json && request.format != ReportFormat::Text {
        return CommandReply::failure(INVALID, "moai-ralph: --fix is written as text or json");
    }
    let fixed = plan_and_fix(engine, caller, project, request, started_at).await;
    context.elapsed_ms = millis_since(started_at);
    match fixed {
        Ok((fixed, is_measured)) => rewrite_reply(&context, &fixed, is_measured, json),
        Err(error) => error_reply(SCHEMA, &context, &error, json),
    }
}

struct PlannedFixes {
    plan: RewritePlan,
    withheld_fixes: usize,
    /// True if every requested file was scanned.
    is_measured: bool,
    rules: Arc<RuleSet>,
}

/// The fixes; true if every requested file was scanned.
async fn plan_and_fix(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    project: &Project,
    request: ScanRequest,
    started_at: Instant,
) -> Result<(RewriteReport, bool), QueryError> {
    let (apply, job) = (request.apply, engine.job());
    let planned = {
        let (project, caller) = (project.clone(), caller.clone());
        run_blocking(move || {
            let _job = job;
            plan_fixes(&project, &caller, &request, started_at)
        })
    };
    let internal = || QueryError::Refused { kind: "internal", reason: "internal error".to_owned() };
    let PlannedFixes { plan, withheld_fixes: held, is_measured, rules } =
        planned.await.unwrap_or_else(|| Err(internal()))?;
    let mut fixed = RewriteReport { withheld_fixes: held, ..plan.to_rewritten(Vec::new()) };
    if apply && !fixed.files.is_empty() {
        fixed.outcome = Some(plan.apply(engine, project, rules).await?);
    }
    Ok((fixed, is_measured))
}

fn plan_fixes(
    project: &Project,
    caller: &CallerContext,
    request: &ScanRequest,
    started_at: Instant,
) -> Result<PlannedFixes, QueryError> {
    let named = named_rules(project, caller, request).map_err(QueryError::Invalid)?;
    let rules = named.map_or_else(|| Arc::clone(&project.rules), Arc::new);
    let ScanFileSet { files, mut skipped, excluded, .. } =
        find_scan_files(project, caller, &rules, request)
            .map_err(|reason| QueryError::Refused { kind: "unreadable", reason })?;
    skipped.extend(excluded);
    let sweep = FileSweep::new(project, caller, &request.paths, files, skipped);
    let trust = if request.unsafe_fixes { FixTrust::Any } else { FixTrust::Safe };
    let held = AtomicUsize::new(0);
    let editor = |path: &RelPath, text: &str| {
        let fixed = apply_fixes(&rules, path, text, trust)?;
        held.fetch_add(fixed.skipped_unsafe, Ordering::Relaxed);
        Ok(fixed.edited)
    };
    let plan =
        plan_rewrite(project, &sweep, started_at + Duration::from_secs(FIX_SECS_MAX), &editor)?;
    let is_measured = plan.covers_named(&sweep);
    Ok(PlannedFixes { plan, withheld_fixes: held.into_inner(), is_measured, rules })
}
