//! `pipeline …`: converts arguments to requests.

use std::io::IsTerminal as _;

use super::args::CliArgs;
use super::args::pipeline::{PersonAnswerArg, PipelineCommand};
use super::{client, trust};
use moai_protocol::control::{
    CommandReply, DaemonRequest, PipelineOperation, PipelineRequest, TerminalProof,
};

pub(super) fn run(args: &CliArgs, command: &PipelineCommand) -> CommandReply {
    let action = match command {
        PipelineCommand::Start(start) => {
            trust::ask_at_terminal(args, false);
            PipelineOperation::Start {
                kind: start.kind.as_str().to_owned(),
                goal: start.goal.clone(),
                session: start.session.clone(),
                solo: start.solo,
                workers: start.workers,
                max_tokens: start.max_tokens,
            }
        }
        PipelineCommand::Approve(select) => {
            return send_with_code(args, |proof| PipelineOperation::Approve {
                id: select.id.clone(),
                proof,
            });
        }
        PipelineCommand::Answer { question, answer, id } => {
            return send_with_code(args, |proof| PipelineOperation::Answer {
                id: id.clone(),
                name: question.clone(),
                is_yes: *answer == PersonAnswerArg::Yes,
                proof,
            });
        }
        PipelineCommand::Status(select) => PipelineOperation::Status { id: select.id.clone() },
        PipelineCommand::Plan(select) => PipelineOperation::Plan { id: select.id.clone() },
        PipelineCommand::Cancel(select) => PipelineOperation::Cancel { id: select.id.clone() },
        PipelineCommand::Resume { select, session, max_tokens } => PipelineOperation::Resume {
            id: select.id.clone(),
            session: session.clone(),
            max_tokens: *max_tokens,
        },
        PipelineCommand::Report(select) => PipelineOperation::Report { id: select.id.clone() },
        PipelineCommand::PullRequest { select, create } => {
            PipelineOperation::PullRequest { id: select.id.clone(), create: *create }
        }
    };
    send(args, action)
}

fn send(args: &CliArgs, action: PipelineOperation) -> CommandReply {
    let request = DaemonRequest::Pipeline(PipelineRequest { action, json: args.json });
    client::send_request(args.root.as_deref(), request, false)
}

/// Asks twice: the daemon shows a code at the terminal, and the second call repeats it.
fn send_with_code(
    args: &CliArgs,
    operation: impl Fn(TerminalProof) -> PipelineOperation,
) -> CommandReply {
    let is_at_terminal = std::io::stdin().is_terminal();
    let asked = send(args, operation(TerminalProof { is_at_terminal, code: None }));
    if !asked.needs_code {
        return asked;
    }
    let mut typed = String::new();
    // If the terminal is closed, the input is empty, which is not a valid code.
    let _ = std::io::stdin().read_line(&mut typed);
    let code = Some(typed.trim().to_owned());
    send(args, operation(TerminalProof { is_at_terminal, code }))
}
