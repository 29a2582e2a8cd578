//! `config`: converts arguments to a request.

use super::args::{CliArgs, ConfigCommand};
use super::client;
use moai_protocol::control::{CommandReply, ConfigAction, ConfigRequest, DaemonRequest};

pub(super) fn run(args: &CliArgs, command: &ConfigCommand) -> CommandReply {
    let action = match command {
        ConfigCommand::Show { key } => ConfigAction::Show { key: key.clone().unwrap_or_default() },
        ConfigCommand::Set { key, value } => {
            ConfigAction::Set { key: key.clone(), value: value.clone() }
        }
    };
    let request = DaemonRequest::Config(ConfigRequest { action, json: args.json });
    client::send_request(args.root.as_deref(), request, false)
}
