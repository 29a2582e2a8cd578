//! `guard`, and the question to the person who lets one of its findings be.

use std::convert::Infallible;
use std::io::{IsTerminal as _, Write as _};

use super::args::Args;
use super::args::guard::{AllowArgs, GuardArgs, GuardCommand};
use super::{door, has_color, person};
use crate::daemon::engine::Engine;
use crate::wire::control::{Guard, GuardAllow, Reply, Request};

/// Exit code of a refusal.
const REFUSED: u8 = 1;

pub(super) fn run(args: &Args, guard: &GuardArgs) -> Reply {
    let request = match &guard.command {
        Some(GuardCommand::Allow(wish)) => match allow(wish) {
            Ok(request) => request,
            Err(error) => return Reply::failed(REFUSED, &format!("moai-ralph: {error}")),
        },
        None => Request::Guard(Guard {
            base: Some(guard.base.clone()),
            goal: guard.goal.clone(),
            format: args.format(guard.format.format()),
            color: has_color(args.color),
            verbose: args.verbose,
            fail_on: guard.fail_on.word().to_owned(),
            allow_unmeasured: guard.allow_unmeasured,
        }),
    };
    door::ask_here(args.root.as_deref(), request, async |_: &Engine| -> Infallible {
        std::future::pending().await
    })
}

/// The request, once somebody at a terminal has typed the id again.
fn allow(wish: &AllowArgs) -> Result<Request, String> {
    let mut stderr = std::io::stderr();
    if person::is_agent() || !std::io::stdin().is_terminal() || !stderr.is_terminal() {
        return Err("only a person at a terminal can allow a finding".to_owned());
    }
    // A terminal that is gone answers nothing, which is no.
    let _ = write!(stderr, "Type the id again to allow {}: ", wish.id);
    let mut typed = String::new();
    let _ = std::io::stdin().read_line(&mut typed);
    if typed.trim() != wish.id {
        return Err("not the same id; nothing is allowed".to_owned());
    }
    let (id, reason, base) = (wish.id.clone(), wish.reason.clone(), Some(wish.base.clone()));
    Ok(Request::GuardAllow(GuardAllow { id, reason, base }))
}
