//! `rewrite`: code of one shape gets another one, in all files or in none.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::replies::{REFUSED, UNMEASURED, asked, ended, load, no_reply};
use crate::base::finding::Severity;
use crate::daemon::engine::{Engine, blocking};
use crate::daemon::project::Project;
use crate::daemon::rewriting::plan;
use crate::daemon::sweep::Sweep;
use crate::report::answers::{Asked, No};
use crate::report::rewrite::{self as report, Rewritten};
use crate::report::tools;
use crate::scan::search as patterns;
use crate::wire::control::{Caller, Reply, Rewrite};

pub(super) const SCHEMA: &str = "moai-ralph/rewrite@1";

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, wish: Rewrite) -> Reply {
    let begun = Instant::now();
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let mut asked = asked("rewrite", &project, caller);
    let json = wish.json;
    let deadline = begun + Duration::from_secs(wish.timeout_secs);
    let rewritten = rewrite(engine, caller, &project, wish, deadline).await;
    asked.elapsed_ms = ended(begun);
    match rewritten {
        Ok((rewritten, is_measured)) => written(&asked, &rewritten, is_measured, json),
        Err(no) => no_reply(SCHEMA, &asked, &no, json),
    }
}

/// What was rewritten, and whether every file was looked through that was asked for by its name.
async fn rewrite(
    engine: &Arc<Engine>,
    caller: &Caller,
    project: &Project,
    wish: Rewrite,
    deadline: Instant,
) -> Result<(Rewritten, bool), No> {
    let Rewrite { pattern, replacement, languages, paths, apply, .. } = wish;
    let rewrite = patterns::Rewrite::new(&pattern, &replacement, &languages)
        .map_err(|error| No::Invalid(error.to_string()))?;
    let job = engine.job();
    let planned = {
        let (project, caller) = (project.clone(), caller.clone());
        blocking(move || {
            let _job = job;
            let query = rewrite.query();
            let sweep = Sweep::find(&project, &caller, &paths, &|path| query.speaks_about(path));
            let editor = |path: &_, text: &str| rewrite.rewrite(path, text);
            let plan = plan(&project, &sweep, deadline, &editor)?;
            let is_measured = !sweep.has_named(&plan.skipped);
            Ok((plan.described(query.kinds()), plan, is_measured))
        })
    };
    let internal = || No::Refused { kind: "internal", reason: "internal error".to_owned() };
    let (mut rewritten, plan, is_measured) = planned.await.unwrap_or_else(|| Err(internal()))?;
    if apply && !rewritten.files.is_empty() {
        rewritten.outcome = Some(plan.make(engine, project, Arc::clone(&project.rules)).await?);
    }
    Ok((rewritten, is_measured))
}

/// The reply about a plan, made or not; for `scan --fix`, too.
pub(super) fn written(
    asked: &Asked,
    rewritten: &Rewritten,
    is_measured: bool,
    json: bool,
) -> Reply {
    let stdout = if json {
        format!("{:#}\n", report::json(asked, rewritten))
    } else {
        report::text(asked, rewritten)
    };
    let code = match &rewritten.outcome {
        Some(it) if it.introduced().any(|one| one.severity == Severity::Error) => REFUSED,
        Some(it) if !it.is_all_measured() => UNMEASURED,
        _ if !is_measured => UNMEASURED,
        _ => 0,
    };
    let document = asked.is_tool.then(|| tools::rewrite(rewritten).into());
    Reply { stdout, document, code, ..Reply::default() }
}
