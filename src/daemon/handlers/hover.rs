//! `hover`: what a symbol is, in its language server's words.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::replies::{asked, ended, load, no_reply};
use crate::daemon::engine::Engine;
use crate::daemon::project::Project;
use crate::daemon::queries::{self, QuerySpec};
use crate::report::answers::{self, QueryContext, QueryError};
use crate::report::tools;
use crate::wire::control::{CallerContext, CommandReply, LookupRequest};
use crate::wire::lsp::responses::parse_hover;

const SCHEMA: &str = "moai-ralph/hover@1";

pub(super) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    lookup: LookupRequest,
) -> CommandReply {
    let begun = Instant::now();
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let mut asked = asked("hover", &project, caller);
    let found = query_hover(engine, caller, &project, &lookup, (&mut asked, begun)).await;
    asked.elapsed_ms = ended(begun);
    match found {
        Ok(text) if lookup.json => {
            CommandReply::success(format!("{:#}\n", answers::hover_json(&asked, &text)))
        }
        Ok(text) => {
            let document = caller.is_tool.then(|| tools::hover(&asked, &text).into());
            CommandReply { document, ..CommandReply::success(answers::hover_text(&asked, &text)) }
        }
        Err(no) => no_reply(SCHEMA, &asked, &no, lookup.json),
    }
}

async fn query_hover(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    project: &Project,
    lookup: &LookupRequest,
    (asked, begun): (&mut QueryContext, Instant),
) -> Result<String, QueryError> {
    let target = queries::query_target(engine, project, caller, &lookup.at).await?;
    asked.server = Some(target.choice.id.clone());
    asked.position = Some((target.snapshot.path.to_string(), Some(target.position)));
    let wanted = QuerySpec::at("textDocument/hover", "hoverProvider", json!({}));
    let deadline = begun + Duration::from_secs(lookup.timeout_secs);
    let replied = queries::query_server(engine, project, &target, wanted, deadline).await?;
    parse_hover(&replied.result).ok_or_else(|| {
        let reason = format!("{}: nothing is known here", target.choice.id);
        QueryError::Refused { kind: "no_symbol", reason }
    })
}
