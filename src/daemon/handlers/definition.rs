//! `definition`: where a symbol is defined.

use std::sync::Arc;

use serde_json::json;

use super::references::locate;
use crate::daemon::engine::Engine;
use crate::daemon::queries::QuerySpec;
use crate::wire::control::{CallerContext, CommandReply, LookupRequest};

pub(super) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    lookup: LookupRequest,
) -> CommandReply {
    let wanted = QuerySpec::at("textDocument/definition", "definitionProvider", json!({}));
    locate(engine, caller, lookup, "definition", wanted).await
}
