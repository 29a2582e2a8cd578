//! `rewrite`: structural search and replace (ast-grep patterns), in all files or in none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::code::file_sweep::FileSweep;
use crate::code::rewrite_plan::plan_rewrite;
use crate::engine::{Engine, run_blocking};
use crate::project::Project;
use crate::replies::{REFUSED, UNMEASURED, error_reply, load_project, millis_since, query_context};
use moai_base::finding::Severity;
use moai_protocol::control::{CallerContext, CommandReply, RewriteRequest};
use moai_protocol::documents::queries::{QueryResult, RewriteResult};
use moai_protocol::documents::{json_text, json_value};
use moai_report::answers::{QueryContext, QueryError};
use moai_report::rewrite::{self as report, RewriteReport};
use moai_report::tools;
use moai_scan::search as patterns;

pub(crate) const SCHEMA: &str = RewriteResult::SCHEMA;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: RewriteRequest,
) -> CommandReply {
    let started_at = Instant::now();
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let mut context = query_context("rewrite", &project, caller);
    let json = request.json;
    let deadline = started_at + Duration::from_secs(request.timeout_secs);
    let rewritten = plan_and_rewrite(engine, caller, &project, request, deadline).await;
    context.elapsed_ms = millis_since(started_at);
    match rewritten {
        Ok((rewritten, is_measured)) => rewrite_reply(&context, &rewritten, is_measured, json),
        Err(error) => error_reply(SCHEMA, &context, &error, json),
    }
}

/// The rewrite; true if every requested file was searched.
async fn plan_and_rewrite(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    project: &Project,
    request: RewriteRequest,
    deadline: Instant,
) -> Result<(RewriteReport, bool), QueryError> {
    let RewriteRequest { pattern, replacement, languages, paths, apply, .. } = request;
    let rewrite = patterns::PatternRewrite::new(&pattern, &replacement, &languages)
        .map_err(|error| QueryError::Invalid(error.to_string()))?;
    let job = engine.job();
    let planned = {
        let (project, caller) = (project.clone(), caller.clone());
        run_blocking(move || {
            let _job = job;
            let query = rewrite.query();
            let sweep = FileSweep::find(&project, &caller, &paths, &|path| query.covers_path(path));
            let editor = |path: &_, text: &str| rewrite.rewrite(path, text);
            let plan = plan_rewrite(&project, &sweep, deadline, &editor)?;
            let is_measured = plan.covers_named(&sweep);
            Ok((plan.to_rewritten(query.kinds()), plan, is_measured))
        })
    };
    let internal = || QueryError::Refused { kind: "internal", reason: "internal error".to_owned() };
    let (mut rewritten, plan, is_measured) = planned.await.unwrap_or_else(|| Err(internal()))?;
    if apply && !rewritten.files.is_empty() {
        rewritten.outcome = Some(plan.apply(engine, project, Arc::clone(&project.rules)).await?);
    }
    Ok((rewritten, is_measured))
}

/// The reply about a rewrite, applied or only planned; also for `scan --fix`.
pub(crate) fn rewrite_reply(
    context: &QueryContext,
    rewritten: &RewriteReport,
    is_measured: bool,
    json: bool,
) -> CommandReply {
    let stdout = if json {
        json_text(&report::rewrite_document(context, rewritten))
    } else {
        report::rewrite_text(context, rewritten)
    };
    let code = match &rewritten.outcome {
        Some(it) if it.introduced().any(|one| one.severity == Severity::Error) => REFUSED,
        Some(it) if !it.is_all_measured() => UNMEASURED,
        _ if !is_measured => UNMEASURED,
        _ => 0,
    };
    let document = context.is_tool.then(|| Box::new(json_value(&tools::rewrite_answer(rewritten))));
    CommandReply { stdout, document, code, ..CommandReply::default() }
}
