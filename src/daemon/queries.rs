//! Asking a language server about a place: which file, which position, which server; and what its
//! answer means in the files as they are on disk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tokio::time::timeout_at;

use super::disk_poll::sync_disk;
use super::engine::{Engine, run_blocking};
use super::gather::select_servers;
use super::project::Project;
use crate::base::limits::{
    LOCATIONS_MAX, MEASURE_RETRIES_MAX, MEASURE_RETRY_MS, NEW_FILE_SECS_MAX, NEW_FILES_OPENED_MAX,
};
use crate::base::path::RelPath;
use crate::base::text::{
    LineIndex, Position, PositionEncoding, TextRange, contains_identifier, identifier_columns,
};
use crate::base::verdict::{Cause, Gap};
use crate::files::{self, Snapshot};
use crate::lsp::registry::DiagnosticsMethod;
use crate::lsp::session::{DocumentRequest, QueryReply, ServerQuery};
use crate::report::answers::{QueryError, SourceLocation};
use crate::servers::resolve::ResolvedServer;
use crate::wire::control::{CallerContext, RequestedPosition};
use crate::wire::lsp::responses::LspLocation;

/// A file as it is on disk, a place in it, and the server that is asked.
#[derive(Clone, Debug)]
pub(super) struct QueryTarget {
    pub(super) snapshot: Snapshot,
    pub(super) position: Position,
    pub(super) choice: ResolvedServer,
}

/// A request about a target.
#[derive(Clone, Debug)]
pub(super) struct QuerySpec {
    pub(super) method: &'static str,
    pub(super) capability: &'static str,
    /// Whether it is about the position, or about the whole document.
    pub(super) has_position: bool,
    /// Whether it is about the document at all, or about the workspace.
    pub(super) names_document: bool,
    /// Whether the answer speaks of files that are not open.
    pub(super) needs_all_files: bool,
    pub(super) params: Value,
}

impl QuerySpec {
    /// A request about a position.
    pub(super) fn at(method: &'static str, capability: &'static str, params: Value) -> Self {
        Self {
            method,
            capability,
            has_position: true,
            names_document: true,
            needs_all_files: false,
            params,
        }
    }

    /// The same about all files.
    pub(super) fn in_all_files(self) -> Self {
        Self { needs_all_files: true, ..self }
    }
}

/// The target that a caller named, with the servers told what changed on disk.
pub(super) async fn query_target(
    engine: &Arc<Engine>,
    project: &Project,
    caller: &CallerContext,
    at: &RequestedPosition,
) -> Result<QueryTarget, QueryError> {
    let snapshot = read_named_file(project, project.resolve_path(caller, &at.file)).await?;
    let position = position(&snapshot, at)?;
    let choice = main_server(engine, project, &snapshot.path)?;
    sync_disk(engine, project, std::slice::from_ref(&snapshot)).await;
    Ok(QueryTarget { snapshot, position, choice })
}

/// Reads a file that was named; one that cannot be read is invalid input.
pub(super) async fn read_named_file(
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

/// The 0-based position of what was named by people's counting.
fn position(snapshot: &Snapshot, at: &RequestedPosition) -> Result<Position, QueryError> {
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
    let refused = |kind, reason| Err(QueryError::Refused { kind, reason });
    match (&at.symbol, at.column) {
        (Some(symbol), _) => match identifier_columns(text, symbol).as_slice() {
            [] => refused("no_symbol", format!("{path}:{}: {symbol} is not there", at.line)),
            [column] => Ok(Position { line, character: *column }),
            many => {
                let columns: Vec<String> = many.iter().map(|it| (it + 1).to_string()).collect();
                let columns = columns.join(", ");
                let place = format!("{path}:{}", at.line);
                refused("ambiguous", format!("{place}: {symbol} stands at columns {columns}"))
            }
        },
        (None, column) => {
            let character = column.and_then(|column| column.checked_sub(1));
            let position = character.map(|character| Position { line, character });
            let is_there = |at: &Position| index.offset(*at, PositionEncoding::Utf16).is_some();
            position.filter(is_there).ok_or_else(|| {
                let column = column.unwrap_or_default();
                QueryError::Invalid(format!("{path}:{}: there is no column {column}", at.line))
            })
        }
    }
}

/// The main server of a file.
pub(super) fn main_server(
    engine: &Engine,
    project: &Project,
    path: &RelPath,
) -> Result<ResolvedServer, QueryError> {
    let unmeasured =
        |server: &str, gap| Err(QueryError::Unmeasured { server: server.to_owned(), gap });
    if !project.config.lsp_enabled {
        let gap = Gap::new(Cause::SwitchedOff, "switched off by lsp.enabled");
        return unmeasured("language servers", gap);
    }
    match (select_servers(engine, project, path).into_iter().next(), &engine.lsp_gap) {
        (None, _) => {
            let gap =
                Gap::new(Cause::NoTool, format!("{path} is in no language that is asked for"));
            unmeasured("language servers", gap)
        }
        (Some(Err((server, gap))), _) => unmeasured(&server, gap),
        (Some(Ok(choice)), Some(gap)) => unmeasured(&choice.id, gap.clone()),
        (Some(Ok(choice)), None) => Ok(choice),
    }
}

/// Asks, and asks again when the server could not answer for a reason that passes by itself.
pub(super) async fn query_server(
    engine: &Engine,
    project: &Project,
    target: &QueryTarget,
    wanted: QuerySpec,
    deadline: Instant,
) -> Result<QueryReply, QueryError> {
    let QueryTarget { snapshot, position, choice } = target;
    let begun = Instant::now();
    let document = DocumentRequest {
        ticket: 0,
        path: snapshot.path.clone(),
        language_id: choice.language_id.clone(),
        text: Arc::clone(&snapshot.text),
        hash: snapshot.hash,
    };
    let query = ServerQuery {
        document,
        method: wanted.method.to_owned(),
        capability: wanted.capability.to_owned(),
        position: wanted.has_position.then_some(*position),
        names_document: wanted.names_document,
        needs_all_files: wanted.needs_all_files,
        params: wanted.params,
    };
    let gate = engine.ledger().overlay_gate(&project.root, &choice.id);
    let _pass = gate.live().await;
    let mut retries = 0;
    let gap = loop {
        let asked = engine.servers.query(&project.workspace, choice.clone(), query.clone());
        match timeout_at(deadline.into(), asked).await {
            Ok(Ok(replied)) => return Ok(replied),
            Ok(Err(gap)) if is_transient(&gap) && retries < MEASURE_RETRIES_MAX => retries += 1,
            Ok(Err(gap)) => break gap,
            Err(_) => {
                let elapsed_ms = begun.elapsed().as_millis();
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

/// Asks about a symbol in all files. A server lists new files some time after it was told of
/// them; so those that were just written, speak of the symbol's name and are not in the answer
/// are opened, and it is asked again. The gap says why some may still be missing.
pub(super) async fn query_all_files(
    engine: &Engine,
    project: &Project,
    target: &QueryTarget,
    wanted: QuerySpec,
    (answered, deadline): (impl Fn(&QueryReply) -> BTreeSet<PathBuf>, Instant),
) -> Result<(QueryReply, Option<Gap>), QueryError> {
    let wanted = wanted.in_all_files();
    let replied = query_server(engine, project, target, wanted.clone(), deadline).await?;
    let candidates = {
        let (project, target, answered) = (project.clone(), target.clone(), answered(&replied));
        run_blocking(move || just_written(&project, &target, &answered)).await.unwrap_or_default()
    };
    if candidates.is_empty() {
        return Ok((replied, None));
    }
    let gap = (candidates.len() > NEW_FILES_OPENED_MAX).then(|| {
        let detail = format!("{} files with that name were just written", candidates.len());
        Gap::new(Cause::Loading, detail).with_remedy("ask again in a minute")
    });
    for snapshot in candidates.into_iter().take(NEW_FILES_OPENED_MAX) {
        let opened = QueryTarget { snapshot, ..target.clone() };
        let open = QuerySpec {
            has_position: false,
            // Every server that can be asked at all takes documents.
            ..QuerySpec::at("textDocument/documentSymbol", "textDocumentSync", json!({}))
        };
        match query_server(engine, project, &opened, open, deadline).await {
            Ok(_) | Err(QueryError::Refused { .. }) => {}
            Err(no) => return Err(no),
        }
    }
    Ok((query_server(engine, project, target, wanted, deadline).await?, gap))
}

/// Files in the target's language that were written a moment ago and speak of its name, beside
/// those that are in the answer already.
fn just_written(
    project: &Project,
    target: &QueryTarget,
    answered: &BTreeSet<PathBuf>,
) -> Vec<Snapshot> {
    let Some(name) = identifier(target) else { return Vec::new() };
    let catalogue = &project.workspace.catalogue;
    let language =
        |path: &RelPath| catalogue.language_of(path).map(|(language, _, _)| language.to_owned());
    let wanted = language(&target.snapshot.path);
    let is_wanted = |path: &RelPath| {
        language(path) == wanted
            && *path != target.snapshot.path
            && !answered.contains(&path.under(&project.root))
    };
    let since = SystemTime::now()
        .checked_sub(Duration::from_secs(NEW_FILE_SECS_MAX))
        .and_then(|time| i128::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok());
    let files = files::walk_watched(&project.root, &is_wanted);
    let recent = files::stamp_files(&project.root, &files)
        .into_iter()
        .filter(|(_, stamp)| since.is_none_or(|since| stamp.is_modified_since(since)));
    let read = recent.filter_map(|(path, _)| {
        files::read_snapshot(&project.root, &path.under(&project.root)).ok()
    });
    read.filter(|snapshot| contains_identifier(&snapshot.text, &name)).collect()
}

/// The identifier at the target.
pub(super) fn identifier(target: &QueryTarget) -> Option<String> {
    let text = &target.snapshot.text;
    let at = LineIndex::new(text).offset(target.position, PositionEncoding::Utf16)?;
    let is_part = |character: &char| character.is_alphanumeric() || "_$".contains(*character);
    let (before, behind) = text.split_at(at);
    let start: usize = before.chars().rev().take_while(is_part).map(char::len_utf8).sum();
    let end: usize = behind.chars().take_while(is_part).map(char::len_utf8).sum();
    text.get(at - start..at + end).filter(|name| !name.is_empty()).map(str::to_owned)
}

fn is_transient(gap: &Gap) -> bool {
    matches!(gap.cause, Cause::Crashed | Cause::Loading)
}

/// The answer had no form that the protocol knows.
pub(super) fn unreadable_answer(target: &QueryTarget) -> QueryError {
    let gap = Gap::new(Cause::Crashed, "its answer cannot be read");
    QueryError::Unmeasured { server: target.choice.id.clone(), gap }
}

/// Why a server cannot know all files that speak of a symbol. Without a list of what is compiled
/// how, clangd sees open files only, and says nothing about it.
pub(super) fn partial_knowledge(project: &Project, target: &QueryTarget) -> Option<Gap> {
    if target.choice.spec.diagnostics != DiagnosticsMethod::Clangd {
        return None;
    }
    let file = target.snapshot.path.under(&project.root);
    let has_list = |folder: &Path| {
        let names_list = |text: String| text.contains("CompilationDatabase");
        folder.join("compile_commands.json").is_file()
            || folder.join("build/compile_commands.json").is_file()
            || std::fs::read_to_string(folder.join(".clangd")).is_ok_and(names_list)
    };
    let is_known = file.ancestors().skip(1).any(has_list);
    let detail = "there is no compile_commands.json, so it sees open files only";
    (!is_known).then(|| {
        Gap::new(Cause::ProjectFault, detail).with_remedy("cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=1")
    })
}

/// Locations as places in the files on disk, sorted, each once; and why some were left out.
pub(super) async fn locate_sorted(
    project: &Project,
    mut locations: Vec<LspLocation>,
    encoding: PositionEncoding,
) -> (Vec<SourceLocation>, Option<Gap>) {
    locations.sort_by(|a, b| (&a.file, a.range).cmp(&(&b.file, b.range)));
    locations.dedup();
    let count = locations.len();
    let kept = locations.into_iter().take(LOCATIONS_MAX).map(|location| (location, ()));
    let placed = locate_each(project, kept.collect(), encoding).await;
    let gap = (count > LOCATIONS_MAX).then(|| {
        Gap::new(Cause::Skipped, format!("only {LOCATIONS_MAX} of {count} locations are kept"))
    });
    (placed.into_iter().map(|(place, ())| place).collect(), gap)
}

/// Locations as places, each with what belongs to it, in their order. Every file is read once.
pub(super) async fn locate_each<T: Send + 'static>(
    project: &Project,
    locations: Vec<(LspLocation, T)>,
    encoding: PositionEncoding,
) -> Vec<(SourceLocation, T)> {
    let root = project.root.clone();
    let placed = run_blocking(move || {
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
        let place = |(location, item): (LspLocation, T)| {
            let LspLocation { file, range } = location;
            let index = indexes.get(file.as_path());
            let recount = |at| match index {
                Some(index) => index.convert_encoding(at, encoding, PositionEncoding::Utf16),
                None => at,
            };
            let line = index.and_then(|index| index.line(range.start.line)).map(str::to_owned);
            let path = files.get(&file).map(|(path, _)| path.clone()).unwrap_or_default();
            let range = TextRange { start: recount(range.start), end: recount(range.end) };
            (SourceLocation { path, range, line }, item)
        };
        locations.into_iter().map(place).collect()
    });
    placed.await.unwrap_or_default()
}

/// How a file is called, and its text where it can be read. Servers and users may name the root
/// through different links.
fn text_of(root: &Path, file: &Path) -> (String, Option<Arc<str>>) {
    let canonical = file.canonicalize();
    let file = canonical.as_deref().unwrap_or(file);
    let path = RelPath::below(root, file)
        .map_or_else(|| file.to_string_lossy().into_owned(), |path| path.to_string());
    // Libraries lie outside of the root; there the file's own folder is the bound.
    let text = file.parent().and_then(|folder| files::read_snapshot(folder, file).ok());
    (path, text.map(|snapshot| snapshot.text))
}
