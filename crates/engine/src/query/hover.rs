//! `hover`: the language server's description of a symbol.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::engine::Engine;
use crate::project::Project;
use crate::query::queries;
use crate::query::queries::QuerySpec;
use crate::replies::{error_reply, load_project, millis_since, query_context};
use moai_lsp::messages::responses::parse_hover;
use moai_protocol::control::{CallerContext, CommandReply, LookupRequest};
use moai_protocol::documents::queries::{HoverResult, QueryResult};
use moai_protocol::documents::{json_text, json_value};
use moai_report::answers::{self, QueryContext, QueryError};
use moai_report::tools;

const SCHEMA: &str = HoverResult::SCHEMA;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    lookup: LookupRequest,
) -> CommandReply {
    let started_at = Instant::now();
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let mut context = query_context("hover", &project, caller);
    let found = query_hover(engine, caller, &project, &lookup, &mut context, started_at).await;
    context.elapsed_ms = millis_since(started_at);
    match found {
        Ok(text) if lookup.json => {
            CommandReply::success(json_text(&answers::hover_document(&context, &text)))
        }
        Ok(text) => {
            let document = caller
                .is_tool()
                .then(|| Box::new(json_value(&tools::hover_answer(&context, &text))));
            CommandReply { document, ..CommandReply::success(answers::hover_text(&context, &text)) }
        }
        Err(error) => error_reply(SCHEMA, &context, &error, lookup.json),
    }
}

async fn query_hover(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    project: &Project,
    lookup: &LookupRequest,
    context: &mut QueryContext,
    started_at: Instant,
) -> Result<String, QueryError> {
    let target = queries::query_target(engine, project, caller, &lookup.at).await?;
    context.server = Some(target.choice.id.clone());
    context.position = Some((target.snapshot.path.to_string(), Some(target.position)));
    let wanted = QuerySpec::at("textDocument/hover", "hoverProvider", json!({}));
    let deadline = started_at + Duration::from_secs(lookup.timeout_secs);
    let replied = queries::query_server(engine, project, &target, wanted, deadline).await?;
    parse_hover(&replied.result).ok_or_else(|| {
        let reason = format!("{}: nothing is known here", target.choice.id);
        QueryError::Refused { kind: "no_symbol", reason }
    })
}
