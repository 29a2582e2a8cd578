//! Files that a change concerns although nobody touched them: those that mention a name or a module
//! which it touched, found in the texts of the base state and of now.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::project::Project;
use super::work_base::{BaseText, WorkBase};
use crate::base::limits::{AFFECTED_FILES_MAX, BLAST_SEARCH_MS_MAX};
use crate::base::path::RelPath;
use crate::lsp::blast::{Sought, ranked};
use crate::{files, git};

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct DependentFiles {
    /// The files, those most likely concerned first.
    pub(super) files: Vec<RelPath>,
    /// What they were found by.
    pub(super) sought: Sought,
    /// Whether there may be more.
    pub(super) is_cut: bool,
}

impl DependentFiles {
    /// Those of a change from `base` to the disk. It blocks.
    pub(super) fn find(
        project: &Project,
        base: &WorkBase,
        changed: &[RelPath],
        gone: &[RelPath],
    ) -> Self {
        let root = &project.root;
        let sought = touched(project, base, changed, gone);
        if sought.is_empty() {
            return Self::default();
        }
        let edited: Vec<RelPath> = changed.iter().chain(gone).cloned().collect();
        let own: BTreeSet<&RelPath> = edited.iter().collect();
        let language = |path: &RelPath| project.around.catalogue.language_of(path).map(|it| it.0);
        let languages: BTreeSet<&str> = edited.iter().filter_map(language).collect();
        let is_other = |path: &RelPath| {
            language(path).is_some_and(|it| languages.contains(it)) && !own.contains(path)
        };
        let walk = files::walk(root, std::slice::from_ref(root), &is_other);
        let deadline = Instant::now() + Duration::from_millis(BLAST_SEARCH_MS_MAX);
        let found = files::search(root, &walk.files, deadline, &|text| sought.mentioned_in(text));
        let mut files = ranked(&edited, found.files);
        let is_cut = found.is_cut || files.len() > AFFECTED_FILES_MAX;
        files.truncate(AFFECTED_FILES_MAX);
        // Where git's data cannot be used, more is measured.
        let ignored = git::ignored(root, &files).unwrap_or_default();
        files.retain(|path| {
            !ignored.contains(path)
                && files::is_own(root, path)
                && !is_of_another_repository(project, path)
        });
        Self { files, sought, is_cut }
    }
}

fn is_of_another_repository(project: &Project, path: &RelPath) -> bool {
    path.folders().any(|folder| project.root.join(folder).join(".git").exists())
}

fn touched(project: &Project, base: &WorkBase, changed: &[RelPath], gone: &[RelPath]) -> Sought {
    let paths: BTreeSet<RelPath> = changed.iter().chain(gone).cloned().collect();
    let mut sought = Sought::default();
    for (path, before) in base.texts(&paths) {
        let now = files::read(&project.root, &path.under(&project.root)).ok();
        let before = match &before {
            BaseText::Text(text) => Some(&**text),
            // As if all of it were new: more is looked for, never less.
            BaseText::Absent | BaseText::Unknown(_) => None,
        };
        let now = now.as_ref().map(|snapshot| &*snapshot.text);
        if before != now {
            sought.extend(Sought::elsewhere(&path, before, now));
        }
    }
    sought
}
