//! Dependents of a change: unchanged files that mention a name or module touched by the change, which
//! is found by comparing the base texts with the present ones.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::evidence::work_base::{BaseText, WorkBase};
use crate::project::Project;
use moai_base::evidence::SkippedFile;
use moai_base::limits::{IMPACT_SEARCH_MS_MAX, RELATED_FILES_MAX, SESSION_DEPENDENTS_MAX};
use moai_base::path::RelPath;
use moai_host::{files, git};
use moai_lsp::impact::{TouchedSymbols, rank_by_impact};
use moai_lsp::registry::Catalogue;

/// Unchanged files that a change may affect; see the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct DependentFiles {
    /// The files, the most likely affected first.
    pub(crate) files: Vec<RelPath>,
    /// The symbols that the files mention.
    pub(crate) touched: TouchedSymbols,
    /// True if there may be more files.
    pub(crate) is_cut: bool,
}

impl DependentFiles {
    /// The dependents of a change from `base` to the present files. Blocking.
    pub(crate) fn find(
        project: &Project,
        base: &WorkBase,
        changed: &[RelPath],
        deleted: &[RelPath],
    ) -> Self {
        let root = &project.root;
        let touched = touched_symbols(project, base, changed, deleted);
        if touched.is_empty() {
            return Self::default();
        }
        let edited: Vec<RelPath> = changed.iter().chain(deleted).cloned().collect();
        let own: BTreeSet<&RelPath> = edited.iter().collect();
        let catalogue = &project.workspace.catalogue;
        let languages: BTreeSet<&str> =
            edited.iter().filter_map(|path| language_name(catalogue, path)).collect();
        let walk = files::walk_files(root, std::slice::from_ref(root), &|path| {
            language_name(catalogue, path).is_some_and(|language| languages.contains(language))
                && !own.contains(path)
        });
        let deadline = Instant::now() + Duration::from_millis(IMPACT_SEARCH_MS_MAX);
        let matches =
            files::search_files(root, &walk.files, deadline, &|text| touched.mentioned_in(text));
        let mut files = rank_by_impact(&edited, matches.files);
        let is_cut = matches.is_truncated || files.len() > SESSION_DEPENDENTS_MAX;
        files.truncate(SESSION_DEPENDENTS_MAX);
        // If git's data is unusable, ignored files are measured as well.
        let ignored = git::ignored_paths(root, &files).unwrap_or_default();
        files.retain(|path| {
            !ignored.contains(path)
                && files::is_real_path(root, path)
                && files::other_repository(root, path).is_none()
        });
        Self { files, touched, is_cut }
    }
}

/// Source files that a change may break without mentioning it: those that share a server with a
/// changed file, and those that a changed file configures. Bounded by [`RELATED_FILES_MAX`].
#[derive(Clone, Debug, Default)]
pub(crate) struct RelatedSources {
    /// Source files whose servers read one of the changed files as configuration.
    pub(crate) configured: BTreeSet<RelPath>,
    /// Other source files that can see the change.
    pub(crate) others: BTreeSet<RelPath>,
    /// True if configured files are left out because there are too many.
    pub(crate) is_cut: bool,
}

impl RelatedSources {
    /// The entry for configured files that are left out.
    pub(crate) fn cut() -> SkippedFile {
        let reason =
            format!("their configuration changed, and there are over {RELATED_FILES_MAX} of them");
        SkippedFile { path: "other source files".to_owned(), reason }
    }

    /// The files affected by changed or deleted ones; `configuration` are those of the files that
    /// configure servers. Blocking.
    pub(crate) fn find(project: &Project, changed: &[RelPath], configuration: &[RelPath]) -> Self {
        let catalogue = &project.workspace.catalogue;
        let edited: BTreeSet<&str> =
            changed.iter().filter_map(|path| language_name(catalogue, path)).collect();
        let extensions: BTreeSet<String> = changed.iter().filter_map(RelPath::extension).collect();
        let readers: BTreeSet<&str> =
            extensions.iter().flat_map(|extension| catalogue.data_readers(extension)).collect();
        let names: BTreeSet<&str> =
            configuration.iter().filter_map(|file| file.as_str().rsplit('/').next()).collect();
        let is_configured = |path: &RelPath| {
            let language = language_name(catalogue, path).unwrap_or_default();
            names.iter().any(|name| catalogue.is_configured_by(language, name))
        };
        let is_seen = |path: &RelPath| {
            let Some((other, language, _)) = catalogue.language_of(path) else { return false };
            edited.iter().any(|language| catalogue.share_server(language, other))
                || language.servers.iter().any(|server| readers.contains(server.as_str()))
        };
        let root = &project.root;
        let walk = files::walk_files(root, std::slice::from_ref(root), &|path| {
            project.is_program(path)
                && project.has_sensor(path)
                && (is_seen(path) || is_configured(path))
        });
        let mut related = Self::default();
        let is_small = walk.files.len() <= RELATED_FILES_MAX;
        for path in walk.files {
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

fn language_name<'c>(catalogue: &'c Catalogue, path: &RelPath) -> Option<&'c str> {
    catalogue.language_of(path).map(|(name, _, _)| name)
}

fn touched_symbols(
    project: &Project,
    base: &WorkBase,
    changed: &[RelPath],
    deleted: &[RelPath],
) -> TouchedSymbols {
    let paths: BTreeSet<RelPath> = changed.iter().chain(deleted).cloned().collect();
    let mut touched = TouchedSymbols::default();
    for (path, before) in base.texts(&paths) {
        let now = files::read_snapshot(&project.root, &path.under(&project.root)).ok();
        let before = match &before {
            BaseText::Text(text) => Some(&**text),
            // Treated as new: the search then covers more symbols, never fewer.
            BaseText::Absent | BaseText::Unknown(_) => None,
        };
        let now = now.as_ref().map(|snapshot| &*snapshot.text);
        if before != now {
            touched.extend(TouchedSymbols::visible_elsewhere(&path, before, now));
        }
    }
    touched
}
