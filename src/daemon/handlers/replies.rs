//! What the replies of many commands share: exit codes, unusable options, queries without an answer.

use std::time::Instant;

use crate::daemon::engine::{Engine, HandlerOutcome};
use crate::daemon::project::Project;
use crate::report::answers::{QueryContext, QueryError, query_error_json, query_error_text};
use crate::report::tools;
use crate::wire::control::{CallerContext, CommandReply};

/// Exit code of a refusal or a failure.
pub(super) const REFUSED: u8 = 1;
/// Exit code of unusable input or options.
pub(super) const INVALID: u8 = 3;
/// Exit code when something asked for could not be measured.
pub(super) const UNMEASURED: u8 = 4;

/// The caller's project; the error is the reply that names file, line and key.
pub(super) fn load(engine: &Engine, caller: &CallerContext) -> Result<Project, CommandReply> {
    Project::load(engine, caller)
        .map_err(|error| CommandReply::failure(INVALID, &format!("moai-ralph: {error}")))
}

/// The reply of a command that works with default options while a file of options is broken: a loop
/// holds its session then as well. What is broken is named all the same.
pub(super) fn anyway(
    engine: &Engine,
    caller: &CallerContext,
    mut reply: CommandReply,
) -> HandlerOutcome {
    if let Err(error) = Project::load(engine, caller) {
        reply.stderr.insert_str(0, &format!("moai-ralph: {error}; default options are used\n"));
    }
    reply.into()
}

/// What a question begins with.
pub(super) fn asked(
    command: &'static str,
    project: &Project,
    caller: &CallerContext,
) -> QueryContext {
    let (root, is_tool) = (project.root.clone(), caller.is_tool);
    QueryContext { command, root, is_tool, server: None, position: None, elapsed_ms: 0 }
}

/// The reply of a question that has no answer.
pub(super) fn no_reply(
    schema: &str,
    asked: &QueryContext,
    no: &QueryError,
    json: bool,
) -> CommandReply {
    let code = match no {
        QueryError::Invalid(_) => INVALID,
        QueryError::Refused { .. } => REFUSED,
        QueryError::Unmeasured { .. } => UNMEASURED,
    };
    if json {
        let stdout = format!("{:#}\n", query_error_json(schema, asked, no));
        return CommandReply { stdout, code, ..CommandReply::default() };
    }
    let document = asked.is_tool.then(|| tools::tool_query_error(no).into());
    CommandReply { document, ..CommandReply::failure(code, &query_error_text(no)) }
}

/// Milliseconds since a request began.
pub(super) fn ended(begun: Instant) -> u64 {
    u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX)
}
