//! `rename`: renames a symbol everywhere, in all files or in none.

pub(crate) mod comparison;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::code::change_journal;
use crate::code::edit_tree;
use crate::engine::{Engine, measure_blocking, run_blocking};
use crate::project::Project;
use crate::query::queries;
use crate::query::queries::{QuerySpec, QueryTarget};
use crate::query::rename::comparison::RenameBaseline;
use crate::replies::{REFUSED, UNMEASURED, error_reply, load_project, millis_since, query_context};
use moai_base::finding::Severity;
use moai_base::limits::RENAME_TRIES_MAX;
use moai_base::path::RelPath;
use moai_base::text::{LineIndex, PositionEncoding, TextRange};
use moai_base::verdict::{Cause, Gap};
use moai_host::files::transaction::WriteReach;
use moai_host::files::{self, FileStamp};
use moai_lsp::edits::{
    DiskTree, EditPlan, EditRefusal, WorkspaceEdit, invalid_name_reason,
    malformed_identifier_reason, plan_edit,
};
use moai_lsp::messages::responses::{LspLocation, PrepareRenameResult, parse_prepare_rename};
use moai_lsp::session::QueryReply;
use moai_protocol::control::{CallerContext, CommandReply, RenameRequest};
use moai_protocol::documents::queries::{QueryResult, RenameResult};
use moai_protocol::documents::{json_text, json_value};
use moai_report::answers::{QueryContext, QueryError};
use moai_report::rename::{self as report, ChangedFile, RenameReport};
use moai_report::tools;

const SCHEMA: &str = RenameResult::SCHEMA;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: RenameRequest,
) -> CommandReply {
    let started_at = Instant::now();
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let mut context = query_context("rename", &project, caller);
    let deadline = started_at + Duration::from_secs(request.timeout_secs);
    let renamed = rename(engine, caller, &project, &request, &mut context, deadline).await;
    context.elapsed_ms = millis_since(started_at);
    let renamed = match renamed {
        Ok(renamed) => renamed,
        Err(error) => return error_reply(SCHEMA, &context, &error, request.json),
    };
    let stdout = if request.json {
        json_text(&report::rename_document(&context, &renamed))
    } else {
        report::rename_text(&context, &renamed)
    };
    let code = match &renamed.outcome {
        Some(outcome)
            if outcome.introduced().any(|finding| finding.severity == Severity::Error) =>
        {
            REFUSED
        }
        Some(outcome) if !outcome.is_all_measured() || outcome.unknown().next().is_some() => {
            UNMEASURED
        }
        _ => 0,
    };
    let document =
        caller.is_tool().then(|| Box::new(json_value(&tools::rename_answer(&context, &renamed))));
    CommandReply { stdout, document, code, ..CommandReply::default() }
}

/// A plan and the files it was made from.
struct PlannedRename {
    plan: EditPlan,
    tree: DiskTree,
    old_name: Option<String>,
}

async fn rename(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    project: &Project,
    request: &RenameRequest,
    context: &mut QueryContext,
    deadline: Instant,
) -> Result<RenameReport, QueryError> {
    if let Some(reason) = invalid_name_reason(&request.new_name) {
        return Err(QueryError::Invalid(reason));
    }
    let mut tries = 0;
    let planned = loop {
        tries += 1;
        // Taken before anything is read, so that every later write is noticed.
        let stamps = stamps(project).await?;
        let target = queries::query_target(engine, project, caller, &request.at).await?;
        context.server = Some(target.choice.id.clone());
        context.position = Some((target.snapshot.path.to_string(), Some(target.position)));
        let planned = propose(engine, project, &target, request, deadline).await?;
        if is_plan_current(project, &planned, stamps).await {
            break planned;
        }
        if tries >= RENAME_TRIES_MAX {
            let gap = Gap::new(Cause::Superseded, "files changed during the request");
            return Err(QueryError::Unmeasured { server: target.choice.id, gap });
        }
    };
    let mut renamed = RenameReport {
        old_name: planned.old_name.clone(),
        new_name: request.new_name.clone(),
        edits: planned.plan.edits,
        files: changed_files(&planned),
        outcome: None,
    };
    if request.apply {
        let before = RenameBaseline::measure(engine, project, &planned.plan.set, deadline).await;
        let set = planned.plan.set.clone();
        let reach = WriteReach::OwnRepository;
        let reason = match change_journal::apply_changes(engine, project, set, reach).await {
            Some(Ok(())) => None,
            Some(Err(error)) => Some(error.to_string()),
            None => Some("internal error; the next use repairs it".to_owned()),
        };
        if let Some(reason) = reason {
            return Err(QueryError::Refused { kind: "not_written", reason });
        }
        renamed.outcome = Some(before.compare(engine, project, &renamed, deadline).await);
    }
    Ok(renamed)
}

/// Plans the server's proposal on the files on disk.
async fn propose(
    engine: &Arc<Engine>,
    project: &Project,
    target: &QueryTarget,
    request: &RenameRequest,
    deadline: Instant,
) -> Result<PlannedRename, QueryError> {
    if let Some(gap) = queries::partial_knowledge(project, target) {
        let reason = format!("{}: {gap}", target.choice.id);
        return Err(QueryError::Refused { kind: "partial_knowledge", reason });
    }
    let old_name = prepare(engine, project, target, deadline).await?;
    let (new_name, language_id) = (&request.new_name, &target.choice.language_id);
    if let Some(reason) = malformed_identifier_reason(new_name, old_name.as_deref(), language_id) {
        return Err(QueryError::Refused { kind: "invalid_name", reason });
    }
    let params = json!({"newName": request.new_name});
    let wanted = QuerySpec::at("textDocument/rename", "renameProvider", params);
    let (replied, gap) =
        queries::query_all_files(engine, project, target, wanted, edited_places, deadline).await?;
    if let Some(gap) = gap {
        return Err(QueryError::Unmeasured { server: target.choice.id.clone(), gap });
    }
    let server = &target.choice.id;
    let edit =
        WorkspaceEdit::parse(&replied.result).map_err(|refusal| edit_error(server, &refusal))?;
    if edit.is_alias_only(&request.new_name) {
        return Err(edit_error(server, &EditRefusal::AliasOnly(request.new_name.clone())));
    }
    let sent = (replied.version, target.snapshot.hash);
    let open = BTreeMap::from([(target.snapshot.path.clone(), sent)]);
    let (root, encoding) = (project.root.clone(), replied.encoding);
    let planned = run_blocking(move || {
        let tree = edit_tree::read_edit_tree(&root, &edit, open)?;
        Ok((plan_edit(&edit, &tree, encoding)?, tree))
    });
    let (plan, tree) = planned
        .await
        .unwrap_or_else(|| Err(EditRefusal::Malformed("internal error".to_owned())))
        .map_err(|refusal| edit_error(server, &refusal))?;
    Ok(PlannedRename { plan, tree, old_name })
}

/// The places that an answer edits. An unreadable edit has none; its error is reported later.
fn edited_places(replied: &QueryReply) -> Vec<LspLocation> {
    let edit = WorkspaceEdit::parse(&replied.result);
    edit.map(|edit| edit.replaced_locations()).unwrap_or_default()
}

fn edit_error(server: &str, refusal: &EditRefusal) -> QueryError {
    let reason = match refusal {
        EditRefusal::Empty => format!("{server}: {refusal}"),
        _ => refusal.to_string(),
    };
    QueryError::Refused { kind: refusal.kind(), reason }
}

/// Asks the server, if it supports that, whether the symbol can be renamed. Returns the old name if
/// it is known.
async fn prepare(
    engine: &Arc<Engine>,
    project: &Project,
    target: &QueryTarget,
    deadline: Instant,
) -> Result<Option<String>, QueryError> {
    let capability = "renameProvider.prepareProvider";
    let wanted = QuerySpec::at("textDocument/prepareRename", capability, json!({}));
    let replied = match queries::query_server(engine, project, target, wanted, deadline).await {
        Ok(replied) => replied,
        Err(QueryError::Refused { kind: "unsupported", .. }) => {
            return Ok(queries::identifier(target));
        }
        Err(error) => return Err(error),
    };
    let text = &target.snapshot.text;
    match parse_prepare_rename(&replied.result) {
        Some(PrepareRenameResult::Name(name)) => Ok(Some(name)),
        Some(PrepareRenameResult::Range(range)) => Ok(text_in(text, range, replied.encoding)),
        Some(PrepareRenameResult::Default) => Ok(queries::identifier(target)),
        None => {
            let reason = format!("{}: nothing here can be renamed", target.choice.id);
            Err(QueryError::Refused { kind: "not_renameable", reason })
        }
    }
}

/// The text in a range; `None` if the range is outside the text.
fn text_in(text: &str, range: TextRange, encoding: PositionEncoding) -> Option<String> {
    let index = LineIndex::new(text);
    let start = index.offset(range.start, encoding)?;
    let end = index.offset(range.end, encoding)?;
    text.get(start..end).map(str::to_owned)
}

/// Stamps of all files that a server may read.
async fn stamps(project: &Project) -> Result<BTreeMap<RelPath, FileStamp>, QueryError> {
    let project = project.clone();
    let stamps = measure_blocking(move || {
        let is_watched = |path: &RelPath| project.is_watched(path);
        files::stamp_files(&project.root, &files::walk_watched(&project.root, &is_watched))
    });
    stamps.await.map_err(|gap| queries::unmeasured("rename", gap))
}

/// True if the files of the plan are unchanged since the request, because positions in other bytes would be
/// wrong.
async fn is_plan_current(
    project: &Project,
    planned: &PlannedRename,
    seen: BTreeMap<RelPath, FileStamp>,
) -> bool {
    let root = project.root.clone();
    let changes = planned.plan.set.changes.iter();
    let watched: Vec<RelPath> =
        changes.map(|change| change.path.clone()).filter(|path| project.is_watched(path)).collect();
    let compared = run_blocking(move || {
        let now = files::stamp_files(&root, &watched);
        watched.iter().all(|path| now.get(path) == seen.get(path))
    });
    compared.await.unwrap_or(false)
}

fn changed_files(planned: &PlannedRename) -> Vec<ChangedFile> {
    let changes = &planned.plan.set.changes;
    let moved: Vec<&RelPath> = changes
        .iter()
        .filter_map(|change| change.after.as_ref()?.permissions_from.as_ref())
        .collect();
    let mut files = Vec::new();
    for change in changes {
        // A moved file is listed once, under its new path.
        if change.after.is_none() && moved.contains(&&change.path) {
            continue;
        }
        let moved_from = change.after.as_ref().and_then(|after| after.permissions_from.clone());
        let old_path = moved_from.as_ref().unwrap_or(&change.path);
        files.push(ChangedFile {
            path: change.path.to_string(),
            before: planned.tree.files.get(old_path).map(|bytes| lossy_text(bytes)),
            after: change.after.as_ref().map(|after| lossy_text(&after.bytes)),
            moved_from: moved_from.map(|path| path.to_string()),
        });
    }
    files
}

fn lossy_text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
