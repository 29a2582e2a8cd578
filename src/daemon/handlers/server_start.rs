//! `server start`: starts the language servers of a language, or one by its id, for the project,
//! before anybody asks them.

use std::sync::Arc;

use super::replies::{INVALID, load};
use super::server_restart::reply;
use crate::base::path::RelPath;
use crate::daemon::engine::Engine;
use crate::daemon::project::Project;
use crate::servers::{Chosen, Done};
use crate::wire::control::{Caller, Reply, ServerSelect};

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, what: &str, json: bool) -> Reply {
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let chosen = chosen(engine, &project, what);
    if chosen.is_empty() {
        let message = format!("moai-ralph: {what} is no language and no language server");
        return Reply::failed(INVALID, &message);
    }
    let mut done = Vec::new();
    for one in chosen {
        let root = project.root.clone();
        done.push(match one {
            Ok(choice) => {
                let id = choice.id.clone();
                let outcome = engine.servers.warm(&project.around, choice).await;
                Done { id, root, outcome }
            }
            Err((id, gap)) => Done { id, root, outcome: Err(gap) },
        });
    }
    reply("started", &ServerSelect { ids: Vec::new(), json }, done)
}

/// The servers for a file of the language; for a server's id, that one, by the first language of
/// which it serves a file here.
fn chosen(engine: &Engine, project: &Project, what: &str) -> Vec<Chosen> {
    let catalogue = &project.around.catalogue;
    let of_extension = |extension: &String| {
        let file = project.root.join(format!("moai-ralph.{extension}"));
        let path = RelPath::below(&project.root, &file);
        path.map_or(Vec::new(), |path| engine.servers.choose(&project.around, &path))
    };
    if let Some(language) = catalogue.language(what) {
        return language.extensions.keys().next().map_or(Vec::new(), of_extension);
    }
    let languages = catalogue.language_ids().filter_map(|id| catalogue.language(id));
    let extensions = languages.flat_map(|language| language.extensions.keys());
    let is_meant = |chosen: &Chosen| match chosen {
        Ok(choice) => choice.id == what,
        Err((id, _)) => id == what,
    };
    extensions.flat_map(of_extension).find(is_meant).into_iter().collect()
}
