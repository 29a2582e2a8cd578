//! `guard`, and the confirmation by a person for `guard allow`.

use std::convert::Infallible;
use std::io::{IsTerminal as _, Write as _};

use super::args::CliArgs;
use super::args::guard::{AllowArgs, GuardArgs, GuardCommand};
use super::{client, has_color};
use moai_engine::engine::Engine;
use moai_host::callers::{is_agent, own_process};
use moai_host::ipc::process_environment;
use moai_protocol::control::{CommandReply, DaemonRequest, GuardAllowRequest, GuardRequest};

/// Exit code of a refusal.
const REFUSED: u8 = 1;

pub(super) fn run(args: &CliArgs, guard: &GuardArgs) -> CommandReply {
    let request = match &guard.command {
        Some(GuardCommand::Allow(allow)) => match confirm_waiver(allow) {
            Ok(request) => request,
            Err(error) => return CommandReply::failure(REFUSED, &format!("moai-ralph: {error}")),
        },
        None => DaemonRequest::Guard(GuardRequest {
            base: Some(guard.base.clone()),
            goal: guard.goal.clone(),
            format: args.format(guard.format.format()),
            color: has_color(args.color),
            verbose: args.verbose,
            fail_on: guard.fail_on.as_str().to_owned(),
            allow_unmeasured: guard.allow_unmeasured,
        }),
    };
    client::run_in_process_observed(
        args.root.as_deref(),
        request,
        async |_: &Engine| -> Infallible { std::future::pending().await },
    )
}

/// The request, after a person at a terminal has typed the id again.
fn confirm_waiver(allow: &AllowArgs) -> Result<DaemonRequest, String> {
    let mut stderr = std::io::stderr();
    if is_agent(own_process(), &process_environment())
        || !std::io::stdin().is_terminal()
        || !stderr.is_terminal()
    {
        return Err("only a person at a terminal can allow a finding".to_owned());
    }
    // If the terminal is closed, the input is empty, which counts as no.
    let _ = write!(stderr, "Type the id again to allow {}: ", allow.id);
    let mut typed = String::new();
    let _ = std::io::stdin().read_line(&mut typed);
    if typed.trim() != allow.id {
        return Err("not the same id; nothing is allowed".to_owned());
    }
    let (id, reason, base) = (allow.id.clone(), allow.reason.clone(), allow.base.clone());
    Ok(DaemonRequest::GuardAllow(GuardAllowRequest { id, reason, base }))
}
