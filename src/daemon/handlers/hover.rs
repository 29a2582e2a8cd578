//! `hover`: what a symbol is, in its language server's words.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use super::replies::{asked, ended, load, no_reply};
use crate::daemon::engine::Engine;
use crate::daemon::project::Project;
use crate::daemon::queries::{self, Wanted};
use crate::report::answers::{self, Asked, No};
use crate::report::tools;
use crate::wire::control::{Caller, Lookup, Reply};
use crate::wire::lsp::answers::hover;

const SCHEMA: &str = "moai-ralph/hover@1";

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, lookup: Lookup) -> Reply {
    let begun = Instant::now();
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let mut asked = asked("hover", &project, caller);
    let found = find(engine, caller, &project, &lookup, (&mut asked, begun)).await;
    asked.elapsed_ms = ended(begun);
    match found {
        Ok(text) if lookup.json => {
            Reply::done(format!("{:#}\n", answers::hover_json(&asked, &text)))
        }
        Ok(text) => {
            let document = caller.is_tool.then(|| tools::hover(&asked, &text).into());
            Reply { document, ..Reply::done(answers::hover_text(&asked, &text)) }
        }
        Err(no) => no_reply(SCHEMA, &asked, &no, lookup.json),
    }
}

async fn find(
    engine: &Arc<Engine>,
    caller: &Caller,
    project: &Project,
    lookup: &Lookup,
    (asked, begun): (&mut Asked, Instant),
) -> Result<String, No> {
    let target = queries::target(engine, project, caller, &lookup.at).await?;
    asked.server = Some(target.choice.id.clone());
    asked.at = Some((target.snapshot.path.to_string(), Some(target.position)));
    let wanted = Wanted::at("textDocument/hover", "hoverProvider", json!({}));
    let deadline = begun + Duration::from_secs(lookup.timeout_secs);
    let replied = queries::ask(engine, project, &target, wanted, deadline).await?;
    hover(&replied.result).ok_or_else(|| {
        let reason = format!("{}: nothing is known here", target.choice.id);
        No::Refused { kind: "no_symbol", reason }
    })
}
