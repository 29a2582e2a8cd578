//! Patterns of code: `search`, `rewrite`.

use super::args::{Args, Command};
use super::{INVALID, door};
use crate::wire::control::{Reply, Request, Rewrite, Search};

pub(super) fn run(args: &Args) -> Reply {
    let json = args.json;
    let request = match &args.command {
        Command::Search(search) => Request::Search(Search {
            pattern: search.pattern.clone(),
            languages: search.sweep.lang.clone(),
            paths: search.sweep.paths.clone(),
            results_max: usize::try_from(search.max_results).unwrap_or(usize::MAX),
            json,
            timeout_secs: search.sweep.timeout,
        }),
        Command::Rewrite(rewrite) => Request::Rewrite(Rewrite {
            pattern: rewrite.pattern.clone(),
            replacement: rewrite.replacement.clone(),
            languages: rewrite.sweep.lang.clone(),
            paths: rewrite.sweep.paths.clone(),
            apply: rewrite.apply,
            json,
            timeout_secs: rewrite.sweep.timeout,
        }),
        other => return Reply::failed(INVALID, &format!("moai-ralph: no pattern: {other:?}")),
    };
    // Nothing that would be kept warm is needed.
    door::ask(args.root.as_deref(), request, true)
}
