//! `search`: structural search (ast-grep patterns).

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::code::file_sweep::FileSweep;
use crate::engine::{Engine, run_blocking};
use crate::project::Project;
use crate::replies::{UNMEASURED, error_reply, load_project, millis_since, query_context};
use moai_base::evidence::SkippedFile;
use moai_base::path::RelPath;
use moai_host::files::Snapshot;
use moai_protocol::control::{CallerContext, CommandReply, SearchRequest};
use moai_protocol::documents::queries::{QueryResult, SearchResult};
use moai_protocol::documents::{json_text, json_value};
use moai_report::answers::{QueryContext, QueryError};
use moai_report::search::{self as report, SearchCoverage, SearchReport};
use moai_report::tools;
use moai_scan::search::{PatternQuery, SearchMatch};

const SCHEMA: &str = SearchResult::SCHEMA;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: SearchRequest,
) -> CommandReply {
    let started_at = Instant::now();
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let context = query_context("search", &project, caller);
    let query = match PatternQuery::new(&request.pattern, &request.languages) {
        Ok(query) => query,
        Err(error) => {
            return error_reply(
                SCHEMA,
                &context,
                &QueryError::Invalid(error.to_string()),
                request.json,
            );
        }
    };
    let json = request.json;
    let job = engine.job();
    let caller = caller.clone();
    let reply = run_blocking(move || {
        let _job = job;
        let deadline = started_at + Duration::from_secs(request.timeout_secs);
        let sweep =
            FileSweep::find(&project, &caller, &request.paths, &|path| query.covers_path(path));
        let searched = search(&project, &sweep, &query, deadline, request.results_max);
        let is_measured = !sweep.has_named(&searched.coverage.skipped);
        search_reply(
            &QueryContext { elapsed_ms: millis_since(started_at), ..context },
            &searched,
            is_measured,
            json,
        )
    });
    reply.await.unwrap_or_else(|| {
        CommandReply::failure(crate::replies::REFUSED, "moai-ralph: internal error")
    })
}

fn search_reply(
    context: &QueryContext,
    searched: &SearchReport,
    is_measured: bool,
    json: bool,
) -> CommandReply {
    let stdout = if json {
        json_text(&report::search_document(context, searched))
    } else {
        report::search_text(context, searched)
    };
    let document = context.is_tool.then(|| Box::new(json_value(&tools::search_answer(searched))));
    let code = if is_measured { 0 } else { UNMEASURED };
    CommandReply { stdout, document, code, ..CommandReply::default() }
}

/// Matches of one thread in its share of the files.
#[derive(Default)]
struct SearchShare {
    hits: Vec<(RelPath, SearchMatch)>,
    omitted: usize,
    files: usize,
    files_with_hits: usize,
    skipped: Vec<SkippedFile>,
}

impl SearchShare {
    fn add_file(
        &mut self,
        query: &PatternQuery,
        file: Result<Snapshot, SkippedFile>,
        results_max: usize,
    ) {
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
                self.skipped.push(SkippedFile { path, reason });
            }
        }
    }
}

fn search(
    project: &Project,
    sweep: &FileSweep,
    query: &PatternQuery,
    deadline: Instant,
    results_max: usize,
) -> SearchReport {
    let look = |share: &mut SearchShare, file: Result<Snapshot, SkippedFile>| {
        share.add_file(query, file, results_max);
    };
    let looked = SearchCoverage { files: 0, skipped: sweep.skipped.clone(), kinds: query.kinds() };
    let mut searched = SearchReport { coverage: looked, ..SearchReport::default() };
    for share in sweep.fold(project, deadline, &look) {
        searched.coverage.files += share.files;
        searched.coverage.skipped.extend(share.skipped);
        searched.hits.extend(share.hits);
        searched.omitted += share.omitted;
        searched.files_with_hits += share.files_with_hits;
    }
    searched.omitted += searched.hits.len().saturating_sub(results_max);
    searched.hits.truncate(results_max);
    searched.coverage.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    searched
}
