//! `pipeline …`: converts arguments to requests.

use super::args::CliArgs;
use super::args::pipeline::PipelineCommand;
use super::{client, trust};
use moai_protocol::control::{CommandReply, DaemonRequest, PipelineOperation, PipelineRequest};

pub(super) fn run(args: &CliArgs, command: &PipelineCommand) -> CommandReply {
    let action = match command {
        PipelineCommand::Start(start) => {
            trust::ask_at_terminal(args, false);
            PipelineOperation::Start {
                kind: start.kind.as_str().to_owned(),
                goal: start.goal.clone(),
                session: start.session.clone(),
                solo: start.solo,
            }
        }
        PipelineCommand::Approve(select) => PipelineOperation::Approve { id: select.id.clone() },
        PipelineCommand::Status(select) => PipelineOperation::Status { id: select.id.clone() },
        PipelineCommand::Cancel(select) => PipelineOperation::Cancel { id: select.id.clone() },
        PipelineCommand::Resume { select, session } => {
            PipelineOperation::Resume { id: select.id.clone(), session: session.clone() }
        }
        PipelineCommand::Report(select) => PipelineOperation::Report { id: select.id.clone() },
        PipelineCommand::PullRequest { select, create } => {
            PipelineOperation::PullRequest { id: select.id.clone(), create: *create }
        }
    };
    let request = DaemonRequest::Pipeline(PipelineRequest { action, json: args.json });
    client::send_request(args.root.as_deref(), request, false)
}
