//! `definition`: where a symbol is defined.

use std::sync::Arc;

use serde_json::json;

use super::references::locate;
use crate::daemon::engine::Engine;
use crate::daemon::queries::Wanted;
use crate::wire::control::{Caller, Lookup, Reply};

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, lookup: Lookup) -> Reply {
    let wanted = Wanted::at("textDocument/definition", "definitionProvider", json!({}));
    locate(engine, caller, lookup, ("definition", wanted)).await
}
