//! `definition`: where a symbol is defined.

use std::sync::Arc;

use serde_json::json;

use crate::engine::Engine;
use crate::query::queries::QuerySpec;
use crate::query::references::locate;
use moai_protocol::control::{CallerContext, CommandReply, LookupRequest};

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    lookup: LookupRequest,
) -> CommandReply {
    let wanted = QuerySpec::at("textDocument/definition", "definitionProvider", json!({}));
    locate(engine, caller, lookup, "definition", wanted).await
}
