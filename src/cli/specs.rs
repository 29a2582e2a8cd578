//! `spec …`.

use super::args::CliArgs;
use super::args::specs::{PivotCommand, SpecCommand};
use super::client;
use moai_protocol::control::{
    CommandReply, DaemonRequest, PivotAddition, SpecOperation, SpecRequest,
};

pub(super) fn run(args: &CliArgs, command: &SpecCommand) -> CommandReply {
    let request = SpecRequest { action: action(command), json: args.json };
    // In this process, because no warm state is needed.
    client::send_request(args.root.as_deref(), DaemonRequest::Spec(request), true)
}

fn action(command: &SpecCommand) -> SpecOperation {
    match command {
        SpecCommand::New { title, id } => {
            SpecOperation::New { title: title.clone(), id: id.clone() }
        }
        SpecCommand::List => SpecOperation::List,
        SpecCommand::Check { ids } => SpecOperation::Check { ids: ids.clone() },
        SpecCommand::Pivot(PivotCommand::List) => SpecOperation::PivotList,
        SpecCommand::Pivot(PivotCommand::Add(add)) => SpecOperation::PivotAdd(PivotAddition {
            text: add.text.clone(),
            is_confirmed: add.confirmed,
            reason: add.reason.clone(),
            protects: add.protects.clone(),
            forbids: add.forbids.clone(),
        }),
        SpecCommand::Pivot(PivotCommand::Confirm { id }) => {
            SpecOperation::PivotConfirm { id: id.clone() }
        }
        SpecCommand::Pivot(PivotCommand::Check { proposal, files }) => {
            SpecOperation::PivotCheck { proposal: proposal.clone(), files: files.clone() }
        }
    }
}
