//! `references`: every place that mentions a symbol.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::engine::Engine;
use crate::project::Project;
use crate::query::queries;
use crate::query::queries::QuerySpec;
use crate::replies::{UNMEASURED, error_reply, load_project, millis_since, query_context};
use moai_base::verdict::Gap;
use moai_lsp::messages::responses::{LspLocation, parse_locations};
use moai_lsp::session::QueryReply;
use moai_protocol::control::{CallerContext, CommandReply, LookupRequest};
use moai_protocol::documents::queries::{LocationsResult, QueryResult};
use moai_protocol::documents::{json_text, json_value};
use moai_report::answers::{self, QueryContext, QueryError, SourceLocation};
use moai_report::tools;

const REFERENCES: &str = "textDocument/references";
const SCHEMA: &str = LocationsResult::SCHEMA;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    lookup: LookupRequest,
) -> CommandReply {
    let params = json!({"context": {"includeDeclaration": true}});
    let wanted = QuerySpec::at(REFERENCES, "referencesProvider", params);
    locate(engine, caller, lookup, "references", wanted).await
}

/// Runs a query whose answer is a list of locations.
pub(crate) async fn locate(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    lookup: LookupRequest,
    command: &'static str,
    wanted: QuerySpec,
) -> CommandReply {
    let started_at = Instant::now();
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let mut context = query_context(command, &project, caller);
    let deadline = started_at + Duration::from_secs(lookup.timeout_secs);
    let found =
        find_locations(engine, caller, &project, &lookup, wanted, &mut context, deadline).await;
    context.elapsed_ms = millis_since(started_at);
    let (places, partial) = match found {
        Ok(found) => found,
        Err(error) => return error_reply(SCHEMA, &context, &error, lookup.json),
    };
    let stdout = if lookup.json {
        json_text(&answers::locations_document(&context, &places, partial.as_ref()))
    } else {
        answers::locations_text(&context, &places, partial.as_ref())
    };
    let code = if partial.is_some() { UNMEASURED } else { 0 };
    let document = caller.is_tool().then(|| {
        Box::new(json_value(&tools::locations_answer(&context, &places, partial.as_ref())))
    });
    CommandReply { stdout, document, code, ..CommandReply::default() }
}

async fn find_locations(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    project: &Project,
    lookup: &LookupRequest,
    wanted: QuerySpec,
    context: &mut QueryContext,
    deadline: Instant,
) -> Result<(Vec<SourceLocation>, Option<Gap>), QueryError> {
    let target = queries::query_target(engine, project, caller, &lookup.at).await?;
    context.server = Some(target.choice.id.clone());
    context.position = Some((target.snapshot.path.to_string(), Some(target.position)));
    let (replied, partial) = if wanted.method == REFERENCES {
        let (replied, gap) =
            queries::query_all_files(engine, project, &target, wanted, listed, deadline).await?;
        (replied, queries::partial_knowledge(project, &target).or(gap))
    } else {
        (queries::query_places(engine, project, &target, wanted, listed, deadline).await?, None)
    };
    let found =
        parse_locations(&replied.result).ok_or_else(|| queries::unreadable_answer(&target))?;
    // An empty list means an unknown symbol: even an unused one has its declaration.
    if found.is_empty() {
        let reason = format!("{}: no symbol is known here", target.choice.id);
        return Err(QueryError::Refused { kind: "no_symbol", reason });
    }
    let (places, cut) = queries::locate_sorted(project, found, replied.encoding).await;
    Ok((places, cut.or(partial)))
}

/// The locations of an answer; its error is reported later.
fn listed(replied: &QueryReply) -> Vec<LspLocation> {
    parse_locations(&replied.result).unwrap_or_default()
}
