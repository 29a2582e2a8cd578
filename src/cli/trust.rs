//! `trust`: converts arguments to a request, and asks a person at a terminal before a check.

use std::io::{IsTerminal as _, Write as _};

use serde_json::Value;

use super::args::{CliArgs, TrustArgs};
use super::client;
use moai_host::callers;
use moai_host::ipc::process_environment;
use moai_protocol::control::{CommandReply, DaemonRequest, TrustAction, TrustRequest};

pub(super) fn run(args: &CliArgs, arguments: &TrustArgs) -> CommandReply {
    let action = match (arguments.show, arguments.revoke) {
        (true, _) => TrustAction::Show,
        (false, true) => TrustAction::Revoke,
        (false, false) => TrustAction::Grant,
    };
    let request = DaemonRequest::Trust(TrustRequest { action, json: args.json });
    client::send_request(args.root.as_deref(), request, false)
}

/// Asks a person at a terminal whether the project is trusted, if it configures or contains programs and the
/// user has not decided about them. `in_process` is for commands that start no daemon.
pub(super) fn ask_at_terminal(args: &CliArgs, in_process: bool) {
    let mut stderr = std::io::stderr();
    let is_asked = std::io::stdin().is_terminal() && stderr.is_terminal() && !args.quiet;
    if !is_asked || callers::is_agent(callers::own_process(), &process_environment()) {
        return;
    }
    let send = |action, json| {
        let request = DaemonRequest::Trust(TrustRequest { action, json });
        client::send_request(args.root.as_deref(), request, in_process)
    };
    let shown: Value =
        serde_json::from_str(&send(TrustAction::Show, true).stdout).unwrap_or_default();
    let is_open = shown["trusted"] == false && shown["declined"] == false;
    if !is_open || shown["programs"].as_array().is_none_or(Vec::is_empty) {
        return;
    }
    // If the terminal is closed, the input is empty, which decides nothing.
    let _ = write!(stderr, "{}Let them run? [y/n] ", send(TrustAction::Show, false).stdout);
    let mut typed = String::new();
    let _ = std::io::stdin().read_line(&mut typed);
    match typed.trim() {
        "y" | "Y" | "yes" => drop(send(TrustAction::Grant, false)),
        "n" | "N" | "no" => drop(send(TrustAction::Decline, false)),
        _ => {}
    }
}
