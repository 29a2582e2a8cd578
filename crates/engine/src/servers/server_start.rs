//! `server start`: starts the project's servers of a language, or one by its id, before the first
//! request.

use std::sync::Arc;

use crate::engine::Engine;
use crate::project::Project;
use crate::replies::{INVALID, load_project};
use crate::servers::server_restart::server_action_reply;
use moai_base::path::RelPath;
use moai_host::servers::{ServerActionResult, ServerSelection};
use moai_protocol::control::{CallerContext, CommandReply, ServersRequest};

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    what: &str,
    json: bool,
) -> CommandReply {
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let chosen = servers_to_start(engine, &project, what);
    if chosen.is_empty() {
        let message = format!("moai-ralph: {what} is neither a language nor a language server");
        return CommandReply::failure(INVALID, &message);
    }
    let mut done = Vec::new();
    for one in chosen {
        let root = project.root.clone();
        done.push(match one {
            Ok(choice) => {
                let id = choice.id.clone();
                let outcome = engine.servers.start_server(&project.workspace, choice).await;
                ServerActionResult { id, root, outcome }
            }
            Err((id, gap)) => ServerActionResult { id, root, outcome: Err(gap) },
        });
    }
    server_action_reply("started", &ServersRequest { ids: Vec::new(), json }, done)
}

/// The servers for a file of the language; or one server by its id, for the first language with a
/// file that it serves here.
fn servers_to_start(engine: &Engine, project: &Project, what: &str) -> Vec<ServerSelection> {
    let catalogue = &project.workspace.catalogue;
    let of_extension = |extension: &String| {
        let file = project.root.join(format!("moai-ralph.{extension}"));
        let path = RelPath::below(&project.root, &file);
        path.map_or(Vec::new(), |path| engine.servers.select(&project.workspace, &path))
    };
    if let Some(language) = catalogue.language(what) {
        return language.extensions.keys().next().map_or(Vec::new(), of_extension);
    }
    let languages = catalogue.language_ids().filter_map(|id| catalogue.language(id));
    let extensions = languages.flat_map(|language| language.extensions.keys());
    extensions
        .flat_map(of_extension)
        .find(|chosen| match chosen {
            Ok(choice) => choice.id == what,
            Err((id, _)) => id == what,
        })
        .into_iter()
        .collect()
}
