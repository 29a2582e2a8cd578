//! `rewrite`: code of one shape gets another one, in all files or in none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::replies::{REFUSED, UNMEASURED, asked, ended, load, no_reply};
use crate::base::finding::Severity;
use crate::daemon::engine::{Engine, run_blocking};
use crate::daemon::file_sweep::FileSweep;
use crate::daemon::project::Project;
use crate::daemon::rewrite_plan::plan_rewrite;
use crate::report::answers::{QueryContext, QueryError};
use crate::report::rewrite::{self as report, RewriteReport};
use crate::report::tools;
use crate::scan::search as patterns;
use crate::wire::control::{CallerContext, CommandReply, RewriteRequest};

pub(super) const SCHEMA: &str = "moai-ralph/rewrite@1";

pub(super) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    wish: RewriteRequest,
) -> CommandReply {
    let begun = Instant::now();
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let mut asked = asked("rewrite", &project, caller);
    let json = wish.json;
    let deadline = begun + Duration::from_secs(wish.timeout_secs);
    let rewritten = plan_and_rewrite(engine, caller, &project, wish, deadline).await;
    asked.elapsed_ms = ended(begun);
    match rewritten {
        Ok((rewritten, is_measured)) => rewrite_reply(&asked, &rewritten, is_measured, json),
        Err(no) => no_reply(SCHEMA, &asked, &no, json),
    }
}

/// What was rewritten, and whether every file was looked through that was asked for by its name.
async fn plan_and_rewrite(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    project: &Project,
    wish: RewriteRequest,
    deadline: Instant,
) -> Result<(RewriteReport, bool), QueryError> {
    let RewriteRequest { pattern, replacement, languages, paths, apply, .. } = wish;
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
            let is_measured = !sweep.has_named(&plan.skipped);
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

/// The reply about a plan, made or not; for `scan --fix`, too.
pub(super) fn rewrite_reply(
    asked: &QueryContext,
    rewritten: &RewriteReport,
    is_measured: bool,
    json: bool,
) -> CommandReply {
    let stdout = if json {
        format!("{:#}\n", report::rewrite_json(asked, rewritten))
    } else {
        report::rewrite_text(asked, rewritten)
    };
    let code = match &rewritten.outcome {
        Some(it) if it.introduced().any(|one| one.severity == Severity::Error) => REFUSED,
        Some(it) if !it.is_all_measured() => UNMEASURED,
        _ if !is_measured => UNMEASURED,
        _ => 0,
    };
    let document = asked.is_tool.then(|| tools::rewrite(rewritten).into());
    CommandReply { stdout, document, code, ..CommandReply::default() }
}
