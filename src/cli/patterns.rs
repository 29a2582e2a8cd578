//! The commands `search` and `rewrite`.

use super::args::{CliArgs, CliCommand};
use super::{INVALID, client};
use moai_protocol::control::{CommandReply, DaemonRequest, RewriteRequest, SearchRequest};

pub(super) fn run(args: &CliArgs) -> CommandReply {
    let json = args.json;
    let request = match &args.command {
        CliCommand::Search(search) => DaemonRequest::Search(SearchRequest {
            pattern: search.pattern.clone(),
            languages: search.scope.lang.clone(),
            paths: search.scope.paths.clone(),
            results_max: usize::try_from(search.max_results).unwrap_or(usize::MAX),
            json,
            timeout_secs: search.scope.timeout,
        }),
        CliCommand::Rewrite(rewrite) => DaemonRequest::Rewrite(RewriteRequest {
            pattern: rewrite.pattern.clone(),
            replacement: rewrite.replacement.clone(),
            languages: rewrite.scope.lang.clone(),
            paths: rewrite.scope.paths.clone(),
            apply: rewrite.apply,
            json,
            timeout_secs: rewrite.scope.timeout,
        }),
        other => {
            return CommandReply::failure(INVALID, &format!("moai-ralph: no pattern: {other:?}"));
        }
    };
    // In this process, because no warm state is needed.
    client::send_request(args.root.as_deref(), request, true)
}
