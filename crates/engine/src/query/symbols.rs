//! `symbols`: the definitions in a file, or the places in the project that define a name.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::engine::{Engine, measure_blocking};
use crate::evidence::disk_poll::sync_disk;
use crate::project::Project;
use crate::query::queries;
use crate::query::queries::{QuerySpec, QueryTarget};
use crate::replies::{UNMEASURED, error_reply, load_project, millis_since, query_context};
use moai_base::limits::{LOCATIONS_MAX, SYMBOL_SERVERS_MAX};
use moai_base::path::RelPath;
use moai_base::text::{Position, PositionEncoding};
use moai_base::verdict::{Cause, Gap};
use moai_host::files;
use moai_lsp::messages::responses::{LspLocation, LspSymbol, parse_symbols};
use moai_protocol::control::{CallerContext, CommandReply, SymbolsRequest};
use moai_protocol::documents::json_text;
use moai_protocol::documents::queries::{QueryResult, SymbolsResult};
use moai_report::answers::{self, QueryContext, QueryError, SourceLocation, SymbolLocation};

const SCHEMA: &str = SymbolsResult::SCHEMA;

/// Symbols, and the gap when the list may be incomplete.
type SymbolList = (Vec<SymbolLocation>, Option<Gap>);

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: SymbolsRequest,
) -> CommandReply {
    let started_at = Instant::now();
    let deadline = started_at + Duration::from_secs(request.timeout_secs);
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let mut context = query_context("symbols", &project, caller);
    let file = project.resolve_path(caller, Path::new(&request.subject));
    let found = if file.exists() || names_a_file(&project, &request.subject) {
        symbols_of_file(engine, &project, file, &mut context, deadline).await
    } else {
        symbols_of_project(engine, &project, &request.subject, &mut context, deadline).await
    };
    context.elapsed_ms = millis_since(started_at);
    let (symbols, partial) = match found {
        Ok(found) => found,
        Err(error) => return error_reply(SCHEMA, &context, &error, request.json),
    };
    let stdout = if request.json {
        json_text(&answers::symbols_document(&context, &symbols, partial.as_ref()))
    } else {
        answers::symbols_text(&context, &symbols, partial.as_ref())
    };
    let code = if partial.is_some() { UNMEASURED } else { 0 };
    CommandReply { stdout, code, ..CommandReply::default() }
}

/// True if the subject looks like a path: a missing file is then a mistake, not a symbol name.
fn names_a_file(project: &Project, subject: &str) -> bool {
    let path = RelPath::parse(subject);
    subject.contains('/')
        || path.is_some_and(|path| project.workspace.catalogue.language_of(&path).is_some())
}

async fn symbols_of_file(
    engine: &Arc<Engine>,
    project: &Project,
    file: PathBuf,
    context: &mut QueryContext,
    deadline: Instant,
) -> Result<SymbolList, QueryError> {
    let snapshot = queries::read_named_file(project, file).await?;
    let choice = queries::main_server(engine, project, &snapshot.path)?;
    sync_disk(engine, project).await;
    context.server = Some(choice.id.clone());
    context.position = Some((snapshot.path.to_string(), None));
    let target = QueryTarget { snapshot, position: Position::default(), choice };
    let wanted = QuerySpec {
        has_position: false,
        ..QuerySpec::at("textDocument/documentSymbol", "documentSymbolProvider", json!({}))
    };
    let replied = queries::query_server(engine, project, &target, wanted, deadline).await?;
    let found =
        parse_symbols(&replied.result).ok_or_else(|| queries::unreadable_answer(&target))?;
    let file = target.snapshot.path.under(&project.root);
    Ok(locate_symbols(project, found, Some(&file), replied.encoding).await)
}

/// Asks each server of the project once, about one of its files, because some servers load a
/// project only for an open file.
async fn symbols_of_project(
    engine: &Arc<Engine>,
    project: &Project,
    query: &str,
    context: &mut QueryContext,
    deadline: Instant,
) -> Result<SymbolList, QueryError> {
    let (targets, mut partial) = representatives(engine, project).await?;
    sync_disk(engine, project).await;
    let mut all = Vec::new();
    let mut servers = Vec::new();
    let mut last_error = None;
    for target in targets {
        let wanted = QuerySpec {
            has_position: false,
            names_document: false,
            needs_all_files: true,
            ..QuerySpec::at("workspace/symbol", "workspaceSymbolProvider", json!({"query": query}))
        };
        let answer = queries::query_server(engine, project, &target, wanted, deadline).await;
        let answer = answer.and_then(|replied| {
            let found = parse_symbols(&replied.result)
                .ok_or_else(|| queries::unreadable_answer(&target))?;
            Ok((found, replied.encoding))
        });
        match answer {
            Ok((found, encoding)) => {
                let (mut found, cut) = locate_symbols(project, found, None, encoding).await;
                all.append(&mut found);
                partial = partial.or(cut);
                servers.push(target.choice.id.clone());
            }
            Err(error) => {
                if let QueryError::Unmeasured { server, gap } = &error {
                    let detail = format!("{server} did not answer: {}", gap.detail);
                    partial = partial.or(Some(Gap::new(gap.cause, detail)));
                }
                last_error = Some(error);
            }
        }
    }
    context.server = (!servers.is_empty()).then(|| servers.join(", "));
    match last_error {
        Some(error) if servers.is_empty() => Err(error),
        _ => Ok((all, partial)),
    }
}

/// One file per server of the project, and the gap for servers that are not asked.
async fn representatives(
    engine: &Arc<Engine>,
    project: &Project,
) -> Result<(Vec<QueryTarget>, Option<Gap>), QueryError> {
    let files = {
        let project = project.clone();
        measure_blocking(move || {
            let has_language =
                |path: &RelPath| project.workspace.catalogue.language_of(path).is_some();
            files::walk_files(&project.root, std::slice::from_ref(&project.root), &has_language)
                .files
        })
    };
    let mut first_of: BTreeMap<String, RelPath> = BTreeMap::new();
    let files = files.await.map_err(|gap| queries::unmeasured("symbols", gap))?;
    for file in files {
        if let Some(language) = project.workspace.catalogue.language_of(&file) {
            first_of.entry(language.id.to_owned()).or_insert(file);
        }
    }
    let mut targets: BTreeMap<String, QueryTarget> = BTreeMap::new();
    let (mut partial, mut last_error) = (None, None);
    for file in first_of.into_values() {
        let choice = match queries::main_server(engine, project, &file) {
            Ok(choice) => choice,
            Err(error) => {
                if let QueryError::Unmeasured { server, gap } = &error {
                    let detail = format!("{server}: {}", gap.detail);
                    partial = partial.or(Some(Gap { detail, ..gap.clone() }));
                }
                last_error = Some(error);
                continue;
            }
        };
        if targets.contains_key(&choice.id) {
            continue;
        }
        if targets.len() >= SYMBOL_SERVERS_MAX {
            let detail = format!("only {SYMBOL_SERVERS_MAX} language servers are queried");
            partial = partial.or(Some(Gap::new(Cause::Skipped, detail)));
            break;
        }
        let snapshot = queries::read_named_file(project, file.under(&project.root)).await?;
        let position = Position::default();
        targets.insert(choice.id.clone(), QueryTarget { snapshot, position, choice });
    }
    match last_error {
        Some(error) if targets.is_empty() => Err(error),
        None if targets.is_empty() => {
            Err(QueryError::Invalid("there is no source file in a known language".to_owned()))
        }
        _ => Ok((targets.into_values().collect(), partial)),
    }
}

/// Symbols with their locations, in the order of the answer.
async fn locate_symbols(
    project: &Project,
    symbols: Vec<LspSymbol>,
    document: Option<&Path>,
    encoding: PositionEncoding,
) -> SymbolList {
    let count = symbols.len();
    let located = symbols.into_iter().take(LOCATIONS_MAX).filter_map(|symbol| {
        let file = symbol.file.as_deref().or(document)?.to_path_buf();
        Some((LspLocation { file, range: symbol.range }, symbol))
    });
    let placed = match queries::locate_each(project, located.collect(), encoding).await {
        Ok(placed) => placed,
        Err(gap) => return (Vec::new(), Some(gap)),
    };
    let gap = (count > LOCATIONS_MAX).then(|| {
        Gap::new(Cause::Skipped, format!("only {LOCATIONS_MAX} of {count} symbols are listed"))
    });
    let symbols = placed.into_iter().map(|(place, symbol)| named_location(place, symbol));
    (symbols.collect(), gap)
}

fn named_location(place: SourceLocation, symbol: LspSymbol) -> SymbolLocation {
    let LspSymbol { name, kind, container, .. } = symbol;
    SymbolLocation { name, kind, container, place }
}
