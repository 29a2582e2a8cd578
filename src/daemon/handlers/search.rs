//! `search`: where code of one shape stands.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::replies::{UNMEASURED, asked, ended, load, no_reply};
use crate::base::evidence::Skipped;
use crate::base::path::RelPath;
use crate::daemon::engine::{Engine, blocking};
use crate::daemon::project::Project;
use crate::daemon::sweep::Sweep;
use crate::files::Snapshot;
use crate::report::answers::{Asked, No};
use crate::report::search::{self as report, Looked, Searched};
use crate::report::tools;
use crate::scan::search::{Hit, Query};
use crate::wire::control::{Caller, Reply, Search};

const SCHEMA: &str = "moai-ralph/search@1";

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, wish: Search) -> Reply {
    let begun = Instant::now();
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let asked = asked("search", &project, caller);
    let query = match Query::new(&wish.pattern, &wish.languages) {
        Ok(query) => query,
        Err(error) => return no_reply(SCHEMA, &asked, &No::Invalid(error.to_string()), wish.json),
    };
    let json = wish.json;
    let job = engine.job();
    let caller = caller.clone();
    let reply = blocking(move || {
        let _job = job;
        let deadline = begun + Duration::from_secs(wish.timeout_secs);
        let sweep = Sweep::find(&project, &caller, &wish.paths, &|path| query.speaks_about(path));
        let searched = search(&project, &sweep, &query, deadline, wish.results_max);
        let is_measured = !sweep.has_named(&searched.looked.skipped);
        written(&Asked { elapsed_ms: ended(begun), ..asked }, &searched, is_measured, json)
    });
    reply
        .await
        .unwrap_or_else(|| Reply::failed(super::replies::REFUSED, "moai-ralph: internal error"))
}

fn written(asked: &Asked, searched: &Searched, is_measured: bool, json: bool) -> Reply {
    let stdout = if json {
        format!("{:#}\n", report::json(asked, searched))
    } else {
        report::text(asked, searched)
    };
    let document = asked.is_tool.then(|| tools::search(searched).into());
    let code = if is_measured { 0 } else { UNMEASURED };
    Reply { stdout, document, code, ..Reply::default() }
}

/// What one processor found in its share of the files.
#[derive(Default)]
struct Share {
    hits: Vec<(RelPath, Hit)>,
    omitted: usize,
    files: usize,
    files_with_hits: usize,
    skipped: Vec<Skipped>,
}

impl Share {
    fn look(&mut self, query: &Query, file: Result<Snapshot, Skipped>, results_max: usize) {
        let file = match file {
            Ok(file) => file,
            Err(skipped) => return self.skipped.push(skipped),
        };
        let room = results_max.saturating_sub(self.hits.len());
        match query.find(&file.path, &file.text, room) {
            Ok((hits, total)) => {
                self.files += 1;
                self.files_with_hits += usize::from(total > 0);
                self.omitted += total - hits.len();
                self.hits.extend(hits.into_iter().map(|hit| (file.path.clone(), hit)));
            }
            Err(gap) => {
                let (path, reason) = (file.path.to_string(), gap.to_string());
                self.skipped.push(Skipped { path, reason });
            }
        }
    }
}

fn search(
    project: &Project,
    sweep: &Sweep,
    query: &Query,
    deadline: Instant,
    results_max: usize,
) -> Searched {
    let look = |share: &mut Share, file: Result<Snapshot, Skipped>| {
        share.look(query, file, results_max);
    };
    let looked = Looked { files: 0, skipped: sweep.skipped.clone(), kinds: query.kinds() };
    let mut searched = Searched { looked, ..Searched::default() };
    for share in sweep.fold(project, deadline, &look) {
        searched.looked.files += share.files;
        searched.looked.skipped.extend(share.skipped);
        searched.hits.extend(share.hits);
        searched.omitted += share.omitted;
        searched.files_with_hits += share.files_with_hits;
    }
    searched.omitted += searched.hits.len().saturating_sub(results_max);
    searched.hits.truncate(results_max);
    searched.looked.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    searched
}
