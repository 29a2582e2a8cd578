//! `spec new`, `spec list` and `spec check`.

use std::path::Path;
use std::sync::Arc;

use super::spec_files::{
    SpecFileWrite, SpecFolders, own_path, read_text, spec_folders, spec_path, write_texts,
};
use super::{SpecRefusal, document_reply};
use crate::engine::{Engine, panic_gap, run_blocking};
use crate::project::Project;
use crate::replies::{REFUSED, UNMEASURED};
use moai_base::foreign_text::one_line;
use moai_base::limits::{OPTION_CHARS_MAX, PLAN_TITLE_CHARS_MAX};
use moai_base::path::RelPath;
use moai_pipeline::document::DocumentFault;
use moai_pipeline::pivot::{PIVOT_FILE, PivotDocument, protected_files};
use moai_pipeline::plan::{AcceptanceKind, PlanDocument, TodoStatus};
use moai_pipeline::scenario::AcceptanceDocument;
use moai_pipeline::spec::{
    SPECS_FOLDER, SpecDocument, SpecFile, SpecId, SpecSources, check_links, spec_templates,
};
use moai_protocol::control::CommandReply;
use moai_protocol::documents::specs::{
    NewSpecDocument, SpecCheckDocument, SpecCheckEntry, SpecFaultEntry, SpecListDocument,
    SpecListEntry, TodoCounts,
};
use moai_report::specs as words;

/// Creates the documents of a specification; existing files are never replaced.
pub(super) async fn create(
    engine: &Arc<Engine>,
    project: &Project,
    title: &str,
    id: Option<&str>,
    json: bool,
) -> Result<CommandReply, SpecRefusal> {
    let title = one_line(title, PLAN_TITLE_CHARS_MAX);
    if title.trim().is_empty() {
        return Err(SpecRefusal::Invalid("the title is empty".to_owned()));
    }
    let root = project.root.clone();
    let taken = run_blocking(move || spec_folders(&root).ids).await.unwrap_or_default();
    let id = match id {
        Some(id) => parse_id(id)?,
        None => SpecId::for_title(&title, &taken),
    };
    if taken.contains(&id) {
        return Err(SpecRefusal::Refused(format!("{id} exists already; nothing was written")));
    }
    let templates = spec_templates(&id, &title);
    let texts = [
        (SpecFile::Spec, templates.spec),
        (SpecFile::Plan, templates.plan),
        (SpecFile::Acceptance, templates.acceptance),
    ];
    let mut writes = Vec::new();
    let mut files = Vec::new();
    for (file, text) in texts {
        let path = spec_path(&id, file.as_str());
        writes.push(SpecFileWrite { path: own_path(&path)?, before: None, text });
        files.push(path);
    }
    write_texts(engine, project, writes).await?;
    let document = NewSpecDocument { id: id.to_string(), title, files };
    Ok(document_reply(&document, json, words::created))
}

/// Lists the specifications with their progress.
pub(super) async fn list(project: &Project, json: bool) -> Result<CommandReply, SpecRefusal> {
    let root = project.root.clone();
    let listed = run_blocking(move || {
        let SpecFolders { ids, skipped } = spec_folders(&root);
        let specs = ids.iter().map(|id| list_entry(&root, id)).collect();
        SpecListDocument { specs, skipped }
    });
    let document = listed.await.ok_or_else(|| SpecRefusal::Refused(panic_gap().detail))?;
    Ok(document_reply(&document, json, words::spec_list))
}

/// Checks the specifications with these ids, or all of them.
pub(super) async fn check(
    project: &Project,
    ids: Vec<String>,
    json: bool,
) -> Result<CommandReply, SpecRefusal> {
    let root = project.root.clone();
    let checked = run_blocking(move || check_specs(&root, &ids));
    let document =
        checked.await.unwrap_or_else(|| Err(SpecRefusal::Refused(panic_gap().detail)))?;
    let code = match document.verdict {
        "clean" => 0,
        "dirty" => REFUSED,
        _ => UNMEASURED,
    };
    Ok(CommandReply { code, ..document_reply(&document, json, words::check_text) })
}

fn check_specs(root: &Path, ids: &[String]) -> Result<SpecCheckDocument, SpecRefusal> {
    let mut folders = spec_folders(root);
    if !ids.is_empty() {
        let asked: Vec<SpecId> = ids.iter().map(|id| parse_id(id)).collect::<Result<_, _>>()?;
        if let Some(missing) = asked.iter().find(|id| !folders.ids.contains(id)) {
            return Err(SpecRefusal::Invalid(format!("there is no {missing}")));
        }
        folders = SpecFolders { ids: asked, skipped: Vec::new() };
    }
    let mut specs = Vec::with_capacity(folders.ids.len());
    for id in &folders.ids {
        let faults = match SpecTexts::read(root, id) {
            Ok(texts) => texts.faults(root, id),
            Err(refusal) => vec![unreadable(id, refusal.reason())],
        };
        specs.push(SpecCheckEntry { id: id.to_string(), faults });
    }
    let verdict = if specs.iter().any(|spec| !spec.faults.is_empty()) {
        "dirty"
    } else if folders.skipped.is_empty() {
        "clean"
    } else {
        "unmeasured"
    };
    Ok(SpecCheckDocument { verdict, specs, skipped: folders.skipped })
}

/// Faults of a specification other than those of its plan alone. Without a `spec.md`, only the files that the
/// plan refers to are checked.
pub(crate) async fn faults_beside_plan(project: &Project, id: &str) -> Vec<SpecFaultEntry> {
    let Some(id) = SpecId::parse(id) else { return Vec::new() };
    let (root, checked_id) = (project.root.clone(), id.clone());
    let checked = run_blocking(move || {
        let id = checked_id;
        let mut texts = match SpecTexts::read(&root, &id) {
            Ok(texts) => texts,
            Err(refusal) => return vec![unreadable(&id, refusal.reason())],
        };
        // A plan that is missing has its own objection.
        let Some(plan) = &texts.plan else { return Vec::new() };
        let own = PlanDocument::parse(plan).faults;
        let path = spec_path(&id, SpecFile::Plan.as_str());
        let has_spec = texts.spec.is_some();
        texts.spec.get_or_insert_default();
        let mut faults = texts.faults(&root, &id);
        let missing = spec_path(&id, SpecFile::Spec.as_str());
        faults.retain(|fault| {
            let is_own = |one: &DocumentFault| one.line == fault.line && one.reason == fault.reason;
            (has_spec || fault.path != missing) && (fault.path != path || !own.iter().any(is_own))
        });
        faults
    });
    checked.await.unwrap_or_else(|| vec![unreadable(&id, &panic_gap().detail)])
}

fn unreadable(id: &SpecId, reason: &str) -> SpecFaultEntry {
    SpecFaultEntry { path: format!("{SPECS_FOLDER}/{id}"), line: 1, reason: reason.to_owned() }
}

fn parse_id(text: &str) -> Result<SpecId, SpecRefusal> {
    SpecId::parse(text).ok_or_else(|| {
        let text = one_line(text, OPTION_CHARS_MAX);
        SpecRefusal::Invalid(format!("invalid id {text:?}; expected one such as SPEC-AUTH-001"))
    })
}

/// An unreadable specification has a fault, which a check names.
fn list_entry(root: &Path, id: &SpecId) -> SpecListEntry {
    let Ok(texts) = SpecTexts::read(root, id) else {
        let todos = TodoCounts { total: 0, done: 0, failed: 0 };
        return SpecListEntry {
            id: id.to_string(),
            title: None,
            requirements: 0,
            todos,
            faults: 1,
        };
    };
    let spec = SpecDocument::parse(texts.spec.as_deref().unwrap_or_default());
    let plan = PlanDocument::parse(texts.plan.as_deref().unwrap_or_default());
    SpecListEntry {
        id: id.to_string(),
        title: spec.title,
        requirements: spec.requirements.len(),
        todos: TodoCounts {
            total: plan.todos.len(),
            done: plan.count(TodoStatus::Done),
            failed: plan.count(TodoStatus::Failed),
        },
        faults: texts.faults(root, id).len(),
    }
}

/// The texts of a specification; `None` for a file that does not exist.
struct SpecTexts {
    spec: Option<String>,
    plan: Option<String>,
    acceptance: Option<String>,
}

impl SpecTexts {
    fn read(root: &Path, id: &SpecId) -> Result<Self, SpecRefusal> {
        let text = |file: SpecFile| {
            let read = read_text(root, &spec_path(id, file.as_str()))?;
            Ok(read.map(|file| file.text))
        };
        Ok(Self {
            spec: text(SpecFile::Spec)?,
            plan: text(SpecFile::Plan)?,
            acceptance: text(SpecFile::Acceptance)?,
        })
    }

    fn faults(&self, root: &Path, id: &SpecId) -> Vec<SpecFaultEntry> {
        let mut entries = Vec::new();
        for (file, text) in [(SpecFile::Spec, &self.spec), (SpecFile::Plan, &self.plan)] {
            if text.is_none() {
                let path = spec_path(id, file.as_str());
                let reason = "the file does not exist".to_owned();
                entries.push(SpecFaultEntry { path, line: 1, reason });
            }
        }
        let (Some(spec), Some(plan)) = (&self.spec, &self.plan) else { return entries };
        let (spec, plan) = (SpecDocument::parse(spec), PlanDocument::parse(plan));
        let has_scenarios =
            plan.todos.iter().any(|todo| todo.items_of(AcceptanceKind::Scenario).next().is_some());
        let acceptance = match &self.acceptance {
            Some(text) => Some(AcceptanceDocument::parse(text)),
            // Items that name scenarios of no file are faults.
            None if has_scenarios => Some(AcceptanceDocument::default()),
            None => None,
        };
        let faults = check_links(&SpecSources {
            id,
            spec: &spec,
            plan: &plan,
            acceptance: acceptance.as_ref(),
            exists: &|path| {
                RelPath::below(root, &root.join(path))
                    .is_some_and(|path| root.join(path.as_str()).exists())
            },
        });
        entries.extend(faults.into_iter().map(|fault| SpecFaultEntry {
            path: spec_path(id, fault.file.as_str()),
            line: fault.fault.line,
            reason: fault.fault.reason,
        }));
        let points = read_text(root, PIVOT_FILE).ok().flatten().map(|file| file.text);
        let points = PivotDocument::parse(&points.unwrap_or_default());
        let path = spec_path(id, SpecFile::Plan.as_str());
        entries.extend(protected_files(&plan, &points).into_iter().map(|fault| SpecFaultEntry {
            path: path.clone(),
            line: fault.line,
            reason: fault.reason,
        }));
        entries
    }
}
