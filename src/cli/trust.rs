//! `trust`: converts arguments to a request.

use super::args::{CliArgs, TrustArgs};
use super::client;
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
