//! Questions to language servers: `references`, `definition`, `hover`, `symbols`, `rename`.

use super::args::{Args, Command, PlaceArgs};
use super::{INVALID, door};
use crate::wire::control::{At, Lookup, Rename, Reply, Request, Symbols};

pub(super) fn run(args: &Args) -> Reply {
    match request(args) {
        Ok(request) => door::ask(args.root.as_deref(), request, false),
        Err(error) => Reply::failed(INVALID, &format!("moai-ralph: {error}")),
    }
}

fn request(args: &Args) -> Result<Request, String> {
    let json = args.json;
    let lookup = |place: &PlaceArgs| {
        Ok::<_, String>(Lookup { at: at(place)?, json, timeout_secs: place.timeout })
    };
    Ok(match &args.command {
        Command::References(place) => Request::References(lookup(place)?),
        Command::Definition(place) => Request::Definition(lookup(place)?),
        Command::Hover(place) => Request::Hover(lookup(place)?),
        Command::Symbols(symbols) => Request::Symbols(Symbols {
            subject: symbols.subject.clone(),
            json,
            timeout_secs: symbols.timeout,
        }),
        Command::Rename(rename) => Request::Rename(Rename {
            at: at(&rename.place)?,
            new_name: rename.new_name.clone(),
            apply: rename.apply,
            json,
            timeout_secs: rename.place.timeout,
        }),
        other => return Err(format!("not a question to a language server: {other:?}")),
    })
}

/// A column or a symbol, and not both.
fn at(place: &PlaceArgs) -> Result<At, String> {
    let spot = &place.at;
    let at = At {
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
