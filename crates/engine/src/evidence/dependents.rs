//! Files that a change concerns although nobody touched them: those that mention a name or a module
//! which it touched, found in the texts of the base state and of now.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::evidence::work_base::{BaseText, WorkBase};
use crate::project::Project;
use moai_base::limits::{IMPACT_SEARCH_MS_MAX, RELATED_FILES_MAX, SESSION_DEPENDENTS_MAX};
use moai_base::path::RelPath;
use moai_host::{files, git};
use moai_lsp::impact::{TouchedSymbols, rank_by_impact};

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct DependentFiles {
    /// The files, those most likely concerned first.
    pub(crate) files: Vec<RelPath>,
    /// What they were found by.
    pub(crate) touched: TouchedSymbols,
    /// Whether there may be more.
    pub(crate) is_cut: bool,
}

impl DependentFiles {
    /// Those of a change from `base` to the disk. It blocks.
    pub(crate) fn find(
        project: &Project,
        base: &WorkBase,
        changed: &[RelPath],
        gone: &[RelPath],
    ) -> Self {
        let root = &project.root;
        let sought = touched_symbols(project, base, changed, gone);
        if sought.is_empty() {
            return Self::default();
        }
        let edited: Vec<RelPath> = changed.iter().chain(gone).cloned().collect();
        let own: BTreeSet<&RelPath> = edited.iter().collect();
        let language =
            |path: &RelPath| project.workspace.catalogue.language_of(path).map(|it| it.0);
        let languages: BTreeSet<&str> = edited.iter().filter_map(language).collect();
        let is_other = |path: &RelPath| {
            language(path).is_some_and(|it| languages.contains(it)) && !own.contains(path)
        };
        let walk = files::walk_files(root, std::slice::from_ref(root), &is_other);
        let deadline = Instant::now() + Duration::from_millis(IMPACT_SEARCH_MS_MAX);
        let found =
            files::search_files(root, &walk.files, deadline, &|text| sought.mentioned_in(text));
        let mut files = rank_by_impact(&edited, found.files);
        let is_cut = found.is_truncated || files.len() > SESSION_DEPENDENTS_MAX;
        files.truncate(SESSION_DEPENDENTS_MAX);
        // Where git's data cannot be used, more is measured.
        let ignored = git::ignored_paths(root, &files).unwrap_or_default();
        files.retain(|path| {
            !ignored.contains(path)
                && files::is_real_path(root, path)
                && !is_of_another_repository(project, path)
        });
        Self { files, touched: sought, is_cut }
    }
}

/// Programs that a change may break by their language alone: those that share a server with a
/// changed file, and those that a changed file configures. Bounded by [`RELATED_FILES_MAX`].
#[derive(Clone, Debug, Default)]
pub(crate) struct RelatedPrograms {
    /// Programs whose servers read one of the changed files as their configuration.
    pub(crate) configured: BTreeSet<RelPath>,
    /// Other programs that can see the change.
    pub(crate) others: BTreeSet<RelPath>,
    /// Whether configured programs are left out because there are too many.
    pub(crate) is_cut: bool,
}

impl RelatedPrograms {
    /// The programs that files which changed or were deleted concern; `configuration` are the ones
    /// among these that configure servers. It blocks.
    pub(crate) fn find(project: &Project, changed: &[RelPath], configuration: &[RelPath]) -> Self {
        let catalogue = &project.workspace.catalogue;
        let language = |path: &RelPath| catalogue.language_of(path).map(|it| it.0);
        let edited: BTreeSet<&str> = changed.iter().filter_map(language).collect();
        let extensions: BTreeSet<String> = changed.iter().filter_map(RelPath::extension).collect();
        let readers: BTreeSet<&str> =
            extensions.iter().flat_map(|extension| catalogue.data_readers(extension)).collect();
        let names: BTreeSet<&str> =
            configuration.iter().filter_map(|file| file.as_str().rsplit('/').next()).collect();
        let is_configured = |path: &RelPath| {
            let language = language(path).unwrap_or_default();
            names.iter().any(|name| catalogue.is_configured_by(language, name))
        };
        let is_seen = |path: &RelPath| {
            let Some((other, language, _)) = catalogue.language_of(path) else { return false };
            edited.iter().any(|one| catalogue.share_server(one, other))
                || language.servers.iter().any(|server| readers.contains(server.as_str()))
        };
        let is_meant = |path: &RelPath| {
            project.is_program(path)
                && project.has_sensor(path)
                && (is_seen(path) || is_configured(path))
        };
        let root = &project.root;
        let found = files::walk_files(root, std::slice::from_ref(root), &is_meant).files;
        let mut related = Self::default();
        let is_small = found.len() <= RELATED_FILES_MAX;
        for path in found {
            if is_configured(&path) {
                related.is_cut |= !is_small;
                related.configured.insert(path);
            } else if is_small {
                related.others.insert(path);
            }
        }
        if related.is_cut {
            related.configured.clear();
        }
        related
    }
}

fn is_of_another_repository(project: &Project, path: &RelPath) -> bool {
    path.folders().any(|folder| project.root.join(folder).join(".git").exists())
}

fn touched_symbols(
    project: &Project,
    base: &WorkBase,
    changed: &[RelPath],
    gone: &[RelPath],
) -> TouchedSymbols {
    let paths: BTreeSet<RelPath> = changed.iter().chain(gone).cloned().collect();
    let mut sought = TouchedSymbols::default();
    for (path, before) in base.texts(&paths) {
        let now = files::read_snapshot(&project.root, &path.under(&project.root)).ok();
        let before = match &before {
            BaseText::Text(text) => Some(&**text),
            // As if all of it were new: more is looked for, never less.
            BaseText::Absent | BaseText::Unknown(_) => None,
        };
        let now = now.as_ref().map(|snapshot| &*snapshot.text);
        if before != now {
            sought.extend(TouchedSymbols::visible_elsewhere(&path, before, now));
        }
    }
    sought
}
