//! Commands answered by language servers: `references`, `definition`, `hover`, `symbols`, `rename`.

use super::args::{CliArgs, CliCommand, LocationArgs};
use super::{INVALID, client};
use moai_protocol::control::{
    CommandReply, DaemonRequest, LookupRequest, RenameRequest, RequestedPosition, SymbolsRequest,
};

pub(super) fn run(args: &CliArgs) -> CommandReply {
    match query_request(args) {
        Ok(request) => client::send_request(args.root.as_deref(), request, false),
        Err(error) => CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    }
}

fn query_request(args: &CliArgs) -> Result<DaemonRequest, String> {
    let json = args.json;
    let lookup = |place: &LocationArgs| {
        Ok::<_, String>(LookupRequest {
            at: parse_position(place)?,
            json,
            timeout_secs: place.timeout,
        })
    };
    Ok(match &args.command {
        CliCommand::References(place) => DaemonRequest::References(lookup(place)?),
        CliCommand::Definition(place) => DaemonRequest::Definition(lookup(place)?),
        CliCommand::Hover(place) => DaemonRequest::Hover(lookup(place)?),
        CliCommand::Symbols(symbols) => DaemonRequest::Symbols(SymbolsRequest {
            subject: symbols.subject.clone(),
            json,
            timeout_secs: symbols.timeout,
        }),
        CliCommand::Rename(rename) => DaemonRequest::Rename(RenameRequest {
            at: parse_position(&rename.location)?,
            new_name: rename.new_name.clone(),
            apply: rename.apply,
            json,
            timeout_secs: rename.location.timeout,
        }),
        other => return Err(format!("not a question to a language server: {other:?}")),
    })
}

/// A position by either column or symbol, not both.
fn parse_position(place: &LocationArgs) -> Result<RequestedPosition, String> {
    let spot = &place.at;
    let at = RequestedPosition {
        file: spot.file.clone(),
        line: spot.line,
        column: spot.column,
        symbol: place.symbol.clone(),
    };
    match (at.column, &at.symbol) {
        (None, None) => Err("name a column (FILE:LINE:COL) or --symbol NAME".to_owned()),
        (Some(_), Some(_)) => Err("--symbol takes the place of a column (FILE:LINE)".to_owned()),
        _ => Ok(at),
    }
}
