//! Queries to a language server about a place: finds the file, the position and the server, and
//! turns the locations of the reply into places in the files on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::time::timeout_at;

use crate::engine::{Engine, measure_blocking, run_blocking};
use crate::evidence::disk_poll::sync_disk;
use crate::evidence::snapshot_measurement::select_servers;
use crate::project::Project;
use moai_base::limits::{
    LOCATIONS_MAX, MEASURE_RETRIES_MAX, MEASURE_RETRY_MS, NEW_FILE_SECS_MAX, NEW_FILES_OPENED_MAX,
};
use moai_base::path::RelPath;
use moai_base::text::{
    LineIndex, Position, PositionEncoding, contains_identifier, identifier_columns,
    without_byte_order_mark,
};
use moai_base::verdict::{Cause, Gap};
use moai_host::files::{self, Snapshot};
use moai_host::servers::compile_database::DatabaseSearch;
use moai_host::servers::resolve::ResolvedServer;
use moai_lsp::faults::CompileFlags;
use moai_lsp::messages::responses::LspLocation;
use moai_lsp::registry::DiagnosticsMethod;
use moai_lsp::session::{DocumentRequest, MeasureLane, QueryReply, ServerQuery};
use moai_protocol::control::{CallerContext, RequestedPosition};
use moai_report::answers::{QueryError, SourceLocation};

/// A file in its present state on disk, a position in it, and the server to query.
#[derive(Clone, Debug)]
pub(crate) struct QueryTarget {
    pub(crate) snapshot: Snapshot,
    pub(crate) position: Position,
    pub(crate) choice: ResolvedServer,
}

/// A request to send about a target.
#[derive(Clone, Debug)]
pub(crate) struct QuerySpec {
    pub(crate) method: &'static str,
    pub(crate) capability: &'static str,
    /// True if the request has a position; otherwise it is about the whole document.
    pub(crate) has_position: bool,
    /// True if the request is about a document; otherwise it is about the workspace.
    pub(crate) names_document: bool,
    /// True if the reply covers files that are not open.
    pub(crate) needs_all_files: bool,
    pub(crate) params: Value,
}

impl QuerySpec {
    /// A request about a position.
    pub(crate) fn at(method: &'static str, capability: &'static str, params: Value) -> Self {
        Self {
            method,
            capability,
            has_position: true,
            names_document: true,
            needs_all_files: false,
            params,
        }
    }

    /// The same request about all files.
    pub(crate) fn in_all_files(self) -> Self {
        Self { needs_all_files: true, ..self }
    }
}

/// Resolves a caller's target, after announcing changes on disk to the servers.
pub(crate) async fn query_target(
    engine: &Arc<Engine>,
    project: &Project,
    caller: &CallerContext,
    at: &RequestedPosition,
) -> Result<QueryTarget, QueryError> {
    let snapshot = read_named_file(project, project.resolve_path(caller, &at.file)).await?;
    let position = parse_position(&snapshot, at)?;
    let choice = main_server(engine, project, &snapshot.path)?;
    sync_disk(engine, project).await;
    Ok(QueryTarget { snapshot, position, choice })
}

/// The error of a query that an internal error stopped before it reached a server.
pub(crate) fn unmeasured(query: &str, gap: Gap) -> QueryError {
    QueryError::Unmeasured { server: query.to_owned(), gap }
}

/// Reads a file of a request; an unreadable one is invalid input.
pub(crate) async fn read_named_file(
    project: &Project,
    file: PathBuf,
) -> Result<Snapshot, QueryError> {
    let root = project.root.clone();
    match run_blocking(move || files::read_snapshot(&root, &file)).await {
        Some(Ok(snapshot)) => Ok(snapshot),
        Some(Err(skipped)) => {
            Err(QueryError::Invalid(format!("{}: {}", skipped.path, skipped.reason)))
        }
        None => Err(QueryError::Invalid("the file could not be read".to_owned())),
    }
}

/// Converts a requested position, which counts from 1, to a 0-based one.
fn parse_position(snapshot: &Snapshot, at: &RequestedPosition) -> Result<Position, QueryError> {
    let path = &snapshot.path;
    let index = LineIndex::new(&snapshot.text);
    let line = at.line.checked_sub(1);
    let Some((line, text)) = line.and_then(|line| Some((line, index.line(line)?))) else {
        let last = index.end().line + 1;
        return Err(QueryError::Invalid(format!(
            "{path}: there is no line {} (last: {last})",
            at.line
        )));
    };
    match (&at.symbol, at.column) {
        (Some(symbol), _) => match identifier_columns(text, symbol).as_slice() {
            [] => {
                let reason = format!("{path}:{}: {symbol} is not there", at.line);
                Err(QueryError::Refused { kind: "no_symbol", reason })
            }
            [column] => Ok(Position { line, character: *column }),
            many => {
                let columns: Vec<String> =
                    many.iter().map(|column| (column + 1).to_string()).collect();
                let columns = columns.join(", ");
                let reason = format!("{path}:{}: {symbol} occurs at columns {columns}", at.line);
                Err(QueryError::Refused { kind: "ambiguous", reason })
            }
        },
        (None, column) => {
            let character = column.and_then(|column| column.checked_sub(1));
            let position = character.map(|character| Position { line, character });
            position
                .filter(|position| index.offset(*position, PositionEncoding::Utf16).is_some())
                .ok_or_else(|| {
                    let column = column.unwrap_or_default();
                    QueryError::Invalid(format!("{path}:{}: there is no column {column}", at.line))
                })
        }
    }
}

/// Selects the main server of a file.
pub(crate) fn main_server(
    engine: &Engine,
    project: &Project,
    path: &RelPath,
) -> Result<ResolvedServer, QueryError> {
    if !project.config.lsp_enabled {
        let gap = Gap::new(Cause::SwitchedOff, "switched off by lsp.enabled");
        return Err(QueryError::Unmeasured { server: "language servers".to_owned(), gap });
    }
    match (select_servers(engine, project, path).into_iter().next(), &engine.lsp_gap) {
        (None, _) => {
            let gap = Gap::new(Cause::NoTool, format!("{path} has no language server"));
            Err(QueryError::Unmeasured { server: "language servers".to_owned(), gap })
        }
        (Some(Err((server, gap))), _) => Err(QueryError::Unmeasured { server, gap }),
        (Some(Ok(choice)), Some(gap)) => {
            Err(QueryError::Unmeasured { server: choice.id, gap: gap.clone() })
        }
        (Some(Ok(choice)), None) => Ok(choice),
    }
}

/// Sends a query, and retries it while the server fails for a reason that passes by itself.
pub(crate) async fn query_server(
    engine: &Engine,
    project: &Project,
    target: &QueryTarget,
    spec: QuerySpec,
    deadline: Instant,
) -> Result<QueryReply, QueryError> {
    let QueryTarget { snapshot, position, choice } = target;
    let started = Instant::now();
    let document = DocumentRequest {
        ticket: 0,
        path: snapshot.path.clone(),
        language_id: choice.language_id.clone(),
        text: Arc::clone(&snapshot.text),
        hash: snapshot.hash,
        lane: MeasureLane::Interactive,
    };
    let query = ServerQuery {
        document,
        method: spec.method.to_owned(),
        capability: spec.capability.to_owned(),
        position: spec.has_position.then_some(*position),
        names_document: spec.names_document,
        needs_all_files: spec.needs_all_files,
        params: spec.params,
    };
    let gate = engine.ledger().root(&project.root).overlay_gate(&choice.id);
    let _pass = gate.live().await;
    let mut retries = 0;
    let gap = loop {
        let reply = engine.servers.query(&project.workspace, choice.clone(), query.clone());
        match timeout_at(deadline.into(), reply).await {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(gap)) if is_transient(&gap) && retries < MEASURE_RETRIES_MAX => retries += 1,
            Ok(Err(gap)) => break gap,
            Err(_) => {
                let elapsed_ms = started.elapsed().as_millis();
                break Gap::new(Cause::TimedOut, format!("no answer within {elapsed_ms} ms"));
            }
        }
        tokio::time::sleep(Duration::from_millis(MEASURE_RETRY_MS)).await;
    };
    let reason = format!("{}: {gap}", choice.id);
    Err(match gap.cause {
        Cause::Refused => QueryError::Refused { kind: "server_refused", reason },
        Cause::NoTool => QueryError::Refused { kind: "unsupported", reason },
        _ => QueryError::Unmeasured { server: choice.id.clone(), gap },
    })
}

/// Queries a symbol in all files. A server indexes new files only some time after it heard of them.
/// Therefore files that were just written, contain the symbol's name and are missing from the reply
/// are opened, and the query is repeated. `listed` extracts the locations of a reply; the gap tells
/// why some may still be missing.
pub(crate) async fn query_all_files(
    engine: &Engine,
    project: &Project,
    target: &QueryTarget,
    spec: QuerySpec,
    listed: fn(&QueryReply) -> Vec<LspLocation>,
    deadline: Instant,
) -> Result<(QueryReply, Option<Gap>), QueryError> {
    let spec = spec.in_all_files();
    let reply = query_places(engine, project, target, spec.clone(), listed, deadline).await?;
    let candidates = {
        let files = listed(&reply).into_iter().map(|location| location.file).collect();
        let (project, target) = (project.clone(), target.clone());
        measure_blocking(move || recent_mentions(&project, &target, &files)).await
    };
    let candidates = match candidates {
        Ok(candidates) if candidates.is_empty() => return Ok((reply, None)),
        Ok(candidates) => candidates,
        Err(gap) => return Ok((reply, Some(gap))),
    };
    let gap = (candidates.len() > NEW_FILES_OPENED_MAX).then(|| {
        let detail = format!("{} files with that name were just written", candidates.len());
        Gap::new(Cause::Loading, detail).with_remedy("try again in a minute")
    });
    open_files(engine, project, target, candidates, deadline).await?;
    Ok((query_places(engine, project, target, spec, listed, deadline).await?, gap))
}

/// Queries for locations. Most servers count a byte order mark as a column of a file that they read
/// from the disk, but not of a document, which is sent without it. Therefore files with a mark and
/// a listed place on their first line are opened, and the query is repeated.
pub(crate) async fn query_places(
    engine: &Engine,
    project: &Project,
    target: &QueryTarget,
    spec: QuerySpec,
    listed: fn(&QueryReply) -> Vec<LspLocation>,
    deadline: Instant,
) -> Result<QueryReply, QueryError> {
    let reply = query_server(engine, project, target, spec.clone(), deadline).await?;
    let locations = listed(&reply);
    let (root, own) = (project.root.clone(), target.snapshot.path.clone());
    let marked = measure_blocking(move || marked_files(&root, &own, locations)).await;
    let marked = match marked {
        Ok(marked) if marked.is_empty() => return Ok(reply),
        Ok(marked) if marked.len() <= NEW_FILES_OPENED_MAX => marked,
        Ok(marked) => {
            let detail = format!("{} files begin with a byte order mark", marked.len());
            let gap = Gap::new(Cause::Skipped, detail).with_remedy("remove the marks");
            return Err(QueryError::Unmeasured { server: target.choice.id.clone(), gap });
        }
        Err(gap) => {
            return Err(QueryError::Unmeasured { server: target.choice.id.clone(), gap });
        }
    };
    open_files(engine, project, target, marked, deadline).await?;
    query_server(engine, project, target, spec, deadline).await
}

/// The project's files with a place on the first line that begin with a byte order mark.
fn marked_files(root: &Path, own: &RelPath, listed: Vec<LspLocation>) -> Vec<Snapshot> {
    let on_first_line = listed.into_iter().filter(|location| location.range.start.line == 0);
    let files: BTreeSet<PathBuf> = on_first_line.map(|location| location.file).collect();
    files
        .iter()
        .filter_map(|file| files::read_snapshot(root, file).ok())
        .filter(|snapshot| {
            snapshot.path != *own
                && without_byte_order_mark(&snapshot.text).len() < snapshot.text.len()
        })
        .collect()
}

/// Opens files, as many as a server may have open in addition to others.
async fn open_files(
    engine: &Engine,
    project: &Project,
    target: &QueryTarget,
    files: Vec<Snapshot>,
    deadline: Instant,
) -> Result<(), QueryError> {
    for snapshot in files.into_iter().take(NEW_FILES_OPENED_MAX) {
        let opened = QueryTarget { snapshot, ..target.clone() };
        let open = QuerySpec {
            has_position: false,
            // Every usable server takes documents.
            ..QuerySpec::at("textDocument/documentSymbol", "textDocumentSync", json!({}))
        };
        match query_server(engine, project, &opened, open, deadline).await {
            Ok(_) | Err(QueryError::Refused { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Files in the target's language that were written a moment ago and contain its name, without
/// those that the reply lists already.
fn recent_mentions(
    project: &Project,
    target: &QueryTarget,
    listed: &BTreeSet<PathBuf>,
) -> Vec<Snapshot> {
    let Some(name) = identifier(target) else { return Vec::new() };
    let catalogue = &project.workspace.catalogue;
    let language = catalogue.language_of(&target.snapshot.path).map(|language| language.id);
    let files = files::walk_watched(&project.root, &|path: &RelPath| {
        catalogue.language_of(path).map(|language| language.id) == language
            && *path != target.snapshot.path
            && !listed.contains(&path.under(&project.root))
    });
    let since = SystemTime::now()
        .checked_sub(Duration::from_secs(NEW_FILE_SECS_MAX))
        .and_then(|time| i128::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok());
    files::stamp_files(&project.root, &files)
        .into_iter()
        .filter(|(_, stamp)| since.is_none_or(|since| stamp.is_modified_since(since)))
        .filter_map(|(path, _)| {
            files::read_snapshot(&project.root, &path.under(&project.root)).ok()
        })
        .filter(|snapshot| contains_identifier(&snapshot.text, &name))
        .collect()
}

/// The identifier at the target.
pub(crate) fn identifier(target: &QueryTarget) -> Option<String> {
    let text = &target.snapshot.text;
    let at = LineIndex::new(text).offset(target.position, PositionEncoding::Utf16)?;
    let (before, after) = text.split_at(at);
    let start: usize =
        before.chars().rev().take_while(|it| is_name_char(*it)).map(char::len_utf8).sum();
    let end: usize = after.chars().take_while(|it| is_name_char(*it)).map(char::len_utf8).sum();
    text.get(at - start..at + end).filter(|name| !name.is_empty()).map(str::to_owned)
}

fn is_name_char(character: char) -> bool {
    character.is_alphanumeric() || "_$".contains(character)
}

fn is_transient(gap: &Gap) -> bool {
    matches!(gap.cause, Cause::Crashed | Cause::Loading)
}

/// The error for a reply that does not follow the protocol.
pub(crate) fn unreadable_answer(target: &QueryTarget) -> QueryError {
    let gap = Gap::new(Cause::Crashed, "its answer could not be read");
    QueryError::Unmeasured { server: target.choice.id.clone(), gap }
}

/// Why a server cannot know all uses of a symbol. Without a compilation database, clangd sees open
/// files only, and does not report that.
pub(crate) fn partial_knowledge(project: &Project, target: &QueryTarget) -> Option<Gap> {
    if target.choice.spec.diagnostics != DiagnosticsMethod::Clangd {
        return None;
    }
    let search = DatabaseSearch::of_server(&project.workspace, &target.choice);
    let file = target.snapshot.path.under(&project.root);
    let detail = match search.compile_flags(&project.workspace, &file) {
        CompileFlags::Database => return None,
        CompileFlags::WithMissingFile(name) => {
            let detail = format!("the file's flags include {name}, which does not exist");
            return Some(Gap::new(Cause::ProjectFault, detail));
        }
        CompileFlags::OfAnotherFile => "compile_commands.json does not list the file",
        CompileFlags::Conditional => "clangd's configuration chooses the database by conditions",
        CompileFlags::Fixed | CompileFlags::Unknown => {
            "no compile_commands.json, so clangd sees only open files"
        }
    };
    let remedy = "cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=1";
    Some(Gap::new(Cause::ProjectFault, detail).with_remedy(remedy))
}

/// Locations as places in the files on disk, sorted and without duplicates; the gap tells why some
/// are missing.
pub(crate) async fn locate_sorted(
    project: &Project,
    mut locations: Vec<LspLocation>,
    encoding: PositionEncoding,
) -> (Vec<SourceLocation>, Option<Gap>) {
    locations.sort_by(|a, b| (&a.file, a.range).cmp(&(&b.file, b.range)));
    locations.dedup();
    let count = locations.len();
    let kept = locations.into_iter().take(LOCATIONS_MAX).map(|location| (location, ()));
    let places = match locate_each(project, kept.collect(), encoding).await {
        Ok(places) => places,
        Err(gap) => return (Vec::new(), Some(gap)),
    };
    let gap = (count > LOCATIONS_MAX).then(|| {
        Gap::new(Cause::Skipped, format!("only {LOCATIONS_MAX} of {count} locations are listed"))
    });
    (places.into_iter().map(|(place, ())| place).collect(), gap)
}

/// Locations as places, each with its item, in their order. Every file is read once.
pub(crate) async fn locate_each<T: Send + 'static>(
    project: &Project,
    locations: Vec<(LspLocation, T)>,
    encoding: PositionEncoding,
) -> Result<Vec<(SourceLocation, T)>, Gap> {
    let root = project.root.clone();
    measure_blocking(move || {
        let names: BTreeSet<&Path> =
            locations.iter().map(|(location, _)| location.file.as_path()).collect();
        let files: BTreeMap<PathBuf, (String, Option<Arc<str>>)> =
            names.into_iter().map(|file| (file.to_path_buf(), text_of(&root, file))).collect();
        let indexes: BTreeMap<&Path, LineIndex<'_>> = files
            .iter()
            .filter_map(|(file, (_, text))| {
                Some((file.as_path(), LineIndex::new(text.as_deref()?)))
            })
            .collect();
        let mut places = Vec::with_capacity(locations.len());
        for (LspLocation { file, mut range }, item) in locations {
            let mut line = None;
            if let Some(index) = indexes.get(file.as_path()) {
                line = index.line(range.start.line).map(str::to_owned);
                for position in [&mut range.start, &mut range.end] {
                    *position =
                        index.convert_encoding(*position, encoding, PositionEncoding::Utf16);
                }
            }
            let path = files.get(&file).map(|(path, _)| path.clone()).unwrap_or_default();
            places.push((SourceLocation { path, range, line }, item));
        }
        places
    })
    .await
}

/// Display name of a file, and its text if it can be read. Servers and users may refer to the root through
/// different links.
fn text_of(root: &Path, file: &Path) -> (String, Option<Arc<str>>) {
    let canonical = file.canonicalize();
    let file = canonical.as_deref().unwrap_or(file);
    let path = RelPath::below(root, file)
        .map_or_else(|| file.to_string_lossy().into_owned(), |path| path.to_string());
    // Libraries lie outside of the root; there the file's own folder is the bound.
    let text = file.parent().and_then(|folder| files::read_snapshot(folder, file).ok());
    (path, text.map(|snapshot| snapshot.text))
}
