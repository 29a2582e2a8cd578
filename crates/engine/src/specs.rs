//! `spec …`: creates, lists and checks the specifications of a project, and its pivot points.

pub(crate) mod check;
pub(crate) mod pivot_points;
mod spec_files;

use std::sync::Arc;

use crate::engine::Engine;
use crate::replies::{INVALID, REFUSED, load_project};
use moai_protocol::control::{CallerContext, CommandReply, SpecOperation, SpecRequest};
use moai_protocol::documents::json_text;
use serde::Serialize;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: SpecRequest,
) -> CommandReply {
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let json = request.json;
    let answered = match request.action {
        SpecOperation::New { title, id } => {
            check::create(engine, &project, &title, id.as_deref(), json).await
        }
        SpecOperation::List => check::list(&project, json).await,
        SpecOperation::Check { ids } => check::check(&project, ids, json).await,
        SpecOperation::PivotList => pivot_points::list(&project, json).await,
        SpecOperation::PivotAdd(addition) => {
            pivot_points::add(engine, &project, &addition, json).await
        }
        SpecOperation::PivotConfirm { id } => {
            pivot_points::confirm(engine, &project, &id, json).await
        }
        SpecOperation::PivotCheck { proposal, files } => {
            pivot_points::check(&project, proposal, files, json).await
        }
    };
    answered.unwrap_or_else(|refusal| match refusal {
        SpecRefusal::Invalid(reason) => {
            CommandReply::failure(INVALID, &format!("moai-ralph: {reason}"))
        }
        SpecRefusal::Refused(reason) => {
            CommandReply::failure(REFUSED, &format!("moai-ralph: {reason}"))
        }
    })
}

/// Why a command of `spec` did nothing.
pub(crate) enum SpecRefusal {
    /// Its input cannot be used.
    Invalid(String),
    /// Files cannot be read or written.
    Refused(String),
}

impl SpecRefusal {
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Invalid(reason) | Self::Refused(reason) => reason,
        }
    }
}

/// The reply of a document, as JSON or with its text.
fn document_reply<D: Serialize>(
    document: &D,
    json: bool,
    text: impl FnOnce(&D) -> String,
) -> CommandReply {
    CommandReply::success(if json { json_text(document) } else { text(document) })
}
