//! Shared parts of replies: exit codes, unusable options, failed queries.

use std::time::Instant;

use crate::engine::{Engine, HandlerOutcome};
use crate::project::Project;
use moai_protocol::control::{CallerContext, CommandReply};
use moai_protocol::documents::{json_text, json_value};
use moai_report::answers::{QueryContext, QueryError, error_document, query_error_text};
use moai_report::tools;

/// Exit code of a refusal or a failure.
pub(crate) const REFUSED: u8 = 1;
/// Exit code of unusable input or options.
pub(crate) const INVALID: u8 = 3;
/// Exit code when something could not be measured.
pub(crate) const UNMEASURED: u8 = 4;

/// The caller's project; the error is the reply with file, line and key.
pub(crate) fn load_project(
    engine: &Engine,
    caller: &CallerContext,
) -> Result<Project, CommandReply> {
    Project::load(engine, caller)
        .map_err(|error| CommandReply::failure(INVALID, &format!("moai-ralph: {error}")))
}

/// Adds a warning to the reply of a command that works with default options while an options file is broken,
/// because a loop holds its session then as well; the fault is reported on stderr.
pub(crate) fn with_options_warning(
    engine: &Engine,
    caller: &CallerContext,
    mut reply: CommandReply,
) -> HandlerOutcome {
    if let Err(error) = Project::load(engine, caller) {
        reply.stderr.insert_str(0, &format!("moai-ralph: {error}; default options are used\n"));
    }
    reply.into()
}

/// Context of a query before it is sent.
pub(crate) fn query_context(
    command: &'static str,
    project: &Project,
    caller: &CallerContext,
) -> QueryContext {
    let (root, is_tool) = (project.root.clone(), caller.is_tool());
    QueryContext { command, root, is_tool, server: None, position: None, elapsed_ms: 0 }
}

/// The reply of a failed query.
pub(crate) fn error_reply(
    schema: &'static str,
    context: &QueryContext,
    error: &QueryError,
    json: bool,
) -> CommandReply {
    let code = match error {
        QueryError::Invalid(_) => INVALID,
        QueryError::Refused { .. } => REFUSED,
        QueryError::Unmeasured { .. } => UNMEASURED,
    };
    if json {
        let stdout = json_text(&error_document(schema, context, error));
        return CommandReply { stdout, code, ..CommandReply::default() };
    }
    let document = context.is_tool.then(|| Box::new(json_value(&tools::failed_answer(error))));
    CommandReply { document, ..CommandReply::failure(code, &query_error_text(error)) }
}

/// Milliseconds since a request began.
pub(crate) fn millis_since(started_at: Instant) -> u64 {
    u64::try_from(started_at.elapsed().as_millis()).unwrap_or(u64::MAX)
}
