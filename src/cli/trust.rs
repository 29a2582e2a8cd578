//! `trust`: converts arguments to a request.

use super::args::{CliArgs, TrustArgs};
use super::{REFUSED, agent_detection, client};
use moai_protocol::control::{CommandReply, DaemonRequest, TrustAction, TrustRequest};

pub(super) fn run(args: &CliArgs, arguments: &TrustArgs) -> CommandReply {
    let action = match (arguments.show, arguments.revoke) {
        (true, _) => TrustAction::Show,
        (false, true) => TrustAction::Revoke,
        (false, false) => TrustAction::Grant,
    };
    // What a repository says to an agent must not decide which of its programs run.
    if action == TrustAction::Grant && agent_detection::is_agent() {
        let text = "moai-ralph: trust is for a person: an agent started this shell";
        return CommandReply::failure(REFUSED, text);
    }
    let request = DaemonRequest::Trust(TrustRequest { action, json: args.json });
    client::send_request(args.root.as_deref(), request, false)
}
