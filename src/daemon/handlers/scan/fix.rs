//! `scan --fix`: what the rules would put in place of what they find, in all files or in none.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::{Found, find, named_rules};
use crate::base::limits::FIX_SECS_MAX;
use crate::base::path::RelPath;
use crate::daemon::engine::{Engine, blocking};
use crate::daemon::handlers::replies::{INVALID, asked, ended, no_reply};
use crate::daemon::handlers::rewrite::{SCHEMA, written};
use crate::daemon::project::Project;
use crate::daemon::rewriting::{Plan, plan};
use crate::daemon::sweep::Sweep;
use crate::report::answers::No;
use crate::report::rewrite::Rewritten;
use crate::scan::RuleSet;
use crate::scan::fixes::{Trust, fix};
use crate::wire::control::{Caller, Format, Reply, Scan};

pub(super) async fn handle(
    engine: &Arc<Engine>,
    caller: &Caller,
    project: &Project,
    wished: Scan,
    begun: Instant,
) -> Reply {
    let mut asked = asked("scan", project, caller);
    let json = wished.format == Format::Json;
    if !json && wished.format != Format::Text {
        return Reply::failed(INVALID, "moai-ralph: --fix is written as text or json");
    }
    let fixed = fixed(engine, caller, project, wished, begun).await;
    asked.elapsed_ms = ended(begun);
    match fixed {
        Ok((fixed, is_measured)) => written(&asked, &fixed, is_measured, json),
        Err(no) => no_reply(SCHEMA, &asked, &no, json),
    }
}

/// What was planned.
struct Planned {
    plan: Plan,
    held: usize,
    /// Whether every file was looked through that was asked for by its name.
    is_measured: bool,
    rules: Arc<RuleSet>,
}

/// What was fixed, and whether every file was looked through that was asked for by its name.
async fn fixed(
    engine: &Arc<Engine>,
    caller: &Caller,
    project: &Project,
    wished: Scan,
    begun: Instant,
) -> Result<(Rewritten, bool), No> {
    let (apply, job) = (wished.apply, engine.job());
    let planned = {
        let (project, caller) = (project.clone(), caller.clone());
        blocking(move || {
            let _job = job;
            planned(&project, &caller, &wished, begun)
        })
    };
    let internal = || No::Refused { kind: "internal", reason: "internal error".to_owned() };
    let Planned { plan, held, is_measured, rules } =
        planned.await.unwrap_or_else(|| Err(internal()))?;
    let mut fixed = Rewritten { held, ..plan.described(Vec::new()) };
    if apply && !fixed.files.is_empty() {
        fixed.outcome = Some(plan.make(engine, project, rules).await?);
    }
    Ok((fixed, is_measured))
}

fn planned(
    project: &Project,
    caller: &Caller,
    wished: &Scan,
    begun: Instant,
) -> Result<Planned, No> {
    let named = named_rules(project, caller, wished).map_err(No::Invalid)?;
    let rules = named.map_or_else(|| Arc::clone(&project.rules), Arc::new);
    let unlisted = |reason| No::Refused { kind: "unreadable", reason };
    let Found { files, mut skipped, excluded, .. } =
        find(project, caller, &rules, wished).map_err(unlisted)?;
    skipped.extend(excluded);
    let sweep = Sweep::of(project, caller, &wished.paths, (files, skipped));
    let trust = if wished.unsafe_fixes { Trust::Any } else { Trust::Safe };
    let held = AtomicUsize::new(0);
    let editor = |path: &RelPath, text: &str| {
        let fixed = fix(&rules, path, text, trust)?;
        held.fetch_add(fixed.held, Ordering::Relaxed);
        Ok(fixed.edited)
    };
    let plan = plan(project, &sweep, begun + Duration::from_secs(FIX_SECS_MAX), &editor)?;
    let is_measured = !sweep.has_named(&plan.skipped);
    Ok(Planned { plan, held: held.into_inner(), is_measured, rules })
}
