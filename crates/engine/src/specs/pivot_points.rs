//! `spec pivot …`: the constraints of a project, and proposals that are checked against them.

use std::sync::Arc;

use super::spec_files::{SpecFileText, SpecFileWrite, own_path, read_text, write_texts};
use super::{SpecRefusal, document_reply};
use crate::engine::{Engine, panic_gap, run_blocking};
use crate::project::Project;
use crate::replies::REFUSED;
use moai_base::foreign_text::one_line;
use moai_base::limits::{OPTION_CHARS_MAX, PLAN_TEXT_CHARS_MAX};
use moai_pipeline::pivot::{
    Discovery, DiscoveryVerdict, PIVOT_FILE, PivotConflict, PivotDocument, PivotDraft,
    PivotEditError, PivotId, PivotStatus, check_discovery,
};
use moai_protocol::control::{CommandReply, PivotAddition};
use moai_protocol::documents::specs::{
    PivotCheckDocument, PivotConflictEntry, PivotPointEntry, PivotPointsDocument, SpecFaultEntry,
};
use moai_report::specs as words;

/// Lists the points. A file that cannot be used is a refusal.
pub(super) async fn list(project: &Project, json: bool) -> Result<CommandReply, SpecRefusal> {
    let document = points_document(read_points(project).await?.as_ref());
    let code = if document.faults.is_empty() { 0 } else { REFUSED };
    Ok(CommandReply { code, ..document_reply(&document, json, words::pivot_list) })
}

/// Adds a point and lists all.
pub(super) async fn add(
    engine: &Arc<Engine>,
    project: &Project,
    addition: &PivotAddition,
    json: bool,
) -> Result<CommandReply, SpecRefusal> {
    let added = add_point(engine, project, addition).await?;
    Ok(document_reply(&added.document, json, words::pivot_list))
}

/// A point that was added.
pub(crate) struct AddedPoint {
    pub(crate) id: String,
    /// All points with the new one.
    pub(crate) document: PivotPointsDocument,
}

/// Adds a point at the end of the file.
pub(crate) async fn add_point(
    engine: &Arc<Engine>,
    project: &Project,
    addition: &PivotAddition,
) -> Result<AddedPoint, SpecRefusal> {
    let draft = PivotDraft {
        title: addition.text.clone(),
        status: if addition.is_confirmed {
            PivotStatus::Confirmed
        } else {
            PivotStatus::Provisional
        },
        reason: addition.reason.clone(),
        protects: addition.protects.clone(),
        forbids: addition.forbids.clone(),
    };
    let file = read_points(project).await?;
    let text = file.as_ref().map(|file| file.text.as_str());
    let (text, id) = PivotDocument::append(text, &draft).map_err(|error| refusal(&error))?;
    let document = replace_points(engine, project, file, text).await?;
    Ok(AddedPoint { id: id.to_string(), document })
}

/// Confirms a point and lists all.
pub(super) async fn confirm(
    engine: &Arc<Engine>,
    project: &Project,
    id: &str,
    json: bool,
) -> Result<CommandReply, SpecRefusal> {
    let id = PivotId::parse(id).ok_or_else(|| {
        let id = one_line(id, OPTION_CHARS_MAX);
        SpecRefusal::Invalid(format!("invalid id {id:?}; expected one such as PP-1"))
    })?;
    let file = read_points(project).await?;
    let text = file.as_ref().map(|file| file.text.as_str()).unwrap_or_default();
    let edited = PivotDocument::confirm(text, &id).map_err(|error| refusal(&error))?;
    let document = if edited == text {
        points_document(file.as_ref())
    } else {
        replace_points(engine, project, file, edited).await?
    };
    Ok(document_reply(&document, json, words::pivot_list))
}

pub(super) async fn check(
    project: &Project,
    proposal: String,
    files: Vec<String>,
    json: bool,
) -> Result<CommandReply, SpecRefusal> {
    let file = read_points(project).await?;
    let document = PivotDocument::parse(file.as_ref().map_or("", |file| &file.text));
    if let Some(fault) = document.faults.first() {
        return Err(SpecRefusal::Refused(format!("{PIVOT_FILE}: {fault}")));
    }
    let summary = one_line(&proposal, PLAN_TEXT_CHARS_MAX);
    let discovery = Discovery { summary, files, conflicts_with: Vec::new() };
    let document = verdict_document(check_discovery(&document.points, &discovery));
    let code = if document.verdict == "accepted" { 0 } else { REFUSED };
    Ok(CommandReply { code, ..document_reply(&document, json, words::pivot_verdict) })
}

/// The points of a project as a document.
pub(crate) async fn current_points(project: &Project) -> Result<PivotPointsDocument, SpecRefusal> {
    Ok(points_document(read_points(project).await?.as_ref()))
}

async fn read_points(project: &Project) -> Result<Option<SpecFileText>, SpecRefusal> {
    let root = project.root.clone();
    let read = run_blocking(move || read_text(&root, PIVOT_FILE)).await;
    read.unwrap_or_else(|| Err(SpecRefusal::Refused(panic_gap().detail)))
}

/// Writes the file, unless it was changed since it was read.
async fn replace_points(
    engine: &Arc<Engine>,
    project: &Project,
    file: Option<SpecFileText>,
    text: String,
) -> Result<PivotPointsDocument, SpecRefusal> {
    let (path, before) = match file {
        Some(file) => (file.path, Some(file.hash)),
        None => (own_path(PIVOT_FILE)?, None),
    };
    let document = document_of(&text);
    write_texts(engine, project, vec![SpecFileWrite { path, before, text }]).await?;
    Ok(document)
}

fn refusal(error: &PivotEditError) -> SpecRefusal {
    match error {
        PivotEditError::Empty | PivotEditError::UnknownPoint(_) => {
            SpecRefusal::Invalid(error.to_string())
        }
        PivotEditError::Faulty(_) | PivotEditError::TooMany => {
            SpecRefusal::Refused(format!("{PIVOT_FILE}: {error}"))
        }
    }
}

fn points_document(file: Option<&SpecFileText>) -> PivotPointsDocument {
    document_of(file.map_or("", |file| &file.text))
}

fn document_of(text: &str) -> PivotPointsDocument {
    let document = PivotDocument::parse(text);
    let points = document.points.into_iter().map(|point| PivotPointEntry {
        id: point.id.to_string(),
        status: point.status.as_str(),
        title: point.title,
        reason: point.reason,
        protects: point.protects,
        forbids: point.forbids,
    });
    let faults = document.faults.into_iter().map(|fault| SpecFaultEntry {
        path: PIVOT_FILE.to_owned(),
        line: fault.line,
        reason: fault.reason,
    });
    PivotPointsDocument {
        path: PIVOT_FILE.to_owned(),
        points: points.collect(),
        faults: faults.collect(),
    }
}

fn verdict_document(verdict: DiscoveryVerdict) -> PivotCheckDocument {
    let entries = |conflicts: Vec<PivotConflict>| {
        let entry = |conflict: PivotConflict| PivotConflictEntry {
            id: conflict.id.to_string(),
            title: conflict.title,
            why: conflict.why,
        };
        conflicts.into_iter().map(entry).collect()
    };
    match verdict {
        DiscoveryVerdict::Accepted => {
            PivotCheckDocument { verdict: "accepted", conflicts: Vec::new() }
        }
        DiscoveryVerdict::AskUser(conflicts) => {
            PivotCheckDocument { verdict: "ask", conflicts: entries(conflicts) }
        }
        DiscoveryVerdict::Rejected(conflicts) => {
            PivotCheckDocument { verdict: "rejected", conflicts: entries(conflicts) }
        }
    }
}
