//! `guard`: whether what changed makes the measurements easier instead of the code better.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use super::replies::{INVALID, load};
use super::reported::{Measured, Wish, baselines, reply};
use crate::daemon::engine::Engine;
use crate::daemon::guarding::{Wanted, guard};
use crate::report::human::Style;
use crate::wire::control::{Caller, Guard, Reply};

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, wished: Guard) -> Reply {
    let begun = Instant::now();
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let baselines = match baselines(caller, None, None) {
        Ok(baselines) => baselines,
        Err(reply) => return reply,
    };
    let wish = Wish {
        format: wished.format,
        style: Style { has_color: wished.color, shows_hints: wished.verbose },
        fail_on: wished.fail_on,
        allow_unmeasured: wished.allow_unmeasured,
        baselines,
        is_tool: caller.is_tool,
    };
    let (base, goal, threshold) = (wished.base, wished.goal, wish.threshold());
    let wanted = Wanted { base, goal, threshold, known: Vec::new(), loop_id: None };
    let guarded = match guard(engine, &project, wanted).await {
        Ok(guarded) => guarded,
        Err(error) => return Reply::failed(INVALID, &format!("moai-ralph: {error}")),
    };
    let mut note = String::new();
    for (finding, reason) in &guarded.allowed {
        let (path, code) = (&finding.path, &finding.code);
        let _ = writeln!(note, "moai-ralph: {path}: guard({code}) is allowed: {reason}");
    }
    let evidence = guarded.evidence;
    // Nothing that differs is a fair answer; no base to compare with is none.
    let may_be_empty = evidence.readings.iter().all(|reading| reading.gap.is_none());
    let measured = Measured { evidence, excerpts: None, note, rules: Vec::new(), may_be_empty };
    reply(&project.root, &wish, measured, begun)
}
