//! Dependents of a change: unchanged files that mention a name or module touched by the change, which
//! is found by comparing the base texts with the present ones.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::evidence::work_base::{BaseText, WorkBase};
use crate::ledger::AffectedFiles;
use crate::project::Project;
use moai_base::evidence::SkippedFile;
use moai_base::limits::{
    IMPACT_SEARCH_MS_MAX, RELATED_FILES_MAX, SESSION_DEPENDENTS_MAX, SESSION_FILES_MAX,
};
use moai_base::path::RelPath;
use moai_host::{files, git};
use moai_lsp::impact::importers::{FileImports, module_names_of, transitive_importers};
use moai_lsp::impact::{TouchedSymbols, is_declaration_file, is_typescript_module, rank_by_impact};
use moai_lsp::registry::Catalogue;

/// Name of unchanged files in a gap.
const OTHER_FILES: &str = "other source files";

/// A change, as the search for affected files needs it.
pub(crate) struct SearchedChange<'a> {
    /// The changed files that have a sensor, and those measured with them.
    pub(crate) files: &'a [RelPath],
    /// The deleted files that have a sensor.
    pub(crate) deleted: &'a [RelPath],
    /// All changed and deleted files.
    pub(crate) all: &'a [RelPath],
    /// Those that configure servers.
    pub(crate) configuration: &'a [RelPath],
}

/// Unchanged files that a change may break.
#[derive(Debug, Default)]
pub(crate) struct AffectedScope {
    /// Files that mention a touched symbol, the most likely affected first, and those recorded by hooks.
    pub(crate) dependents: Vec<RelPath>,
    /// Unchanged files whose servers read one of the changed files as configuration; some may be
    /// dependents, too.
    pub(crate) configured: BTreeSet<RelPath>,
    /// Files that mention no touched symbol and can see the change through others.
    pub(crate) indirect: BTreeSet<RelPath>,
    /// What the hooks recorded, with all touched symbols.
    pub(crate) affected: AffectedFiles,
    /// The entries for files that are left out.
    pub(crate) skipped: Vec<SkippedFile>,
    /// The entry for indirect dependents that are left out although the change touches symbols.
    pub(crate) skipped_indirect: Option<SkippedFile>,
}

impl AffectedScope {
    /// The files that `change` may break, compared with `base`, and those that hooks have `recorded`.
    /// Without a base, only the latter mention touched symbols. Blocking.
    pub(crate) fn find(
        project: &Project,
        base: Option<&WorkBase>,
        change: &SearchedChange<'_>,
        recorded: AffectedFiles,
    ) -> Self {
        let found =
            base.map(|base| DependentFiles::find(project, base, change.files, change.deleted));
        let found = found.unwrap_or_default();
        let mut affected = recorded;
        affected.touched.extend(found.touched);
        let measured: BTreeSet<&RelPath> = change.files.iter().collect();
        let mut dependents = found.files;
        let known: BTreeSet<&RelPath> = dependents.iter().chain(measured.iter().copied()).collect();
        let recorded: Vec<RelPath> = affected
            .files
            .keys()
            .filter(|path| !known.contains(path) && is_in_tree(project, path))
            .cloned()
            .collect();
        dependents.extend(recorded);
        let RelatedSources { mut configured, mut importers, is_unsearched, left_out } =
            RelatedSources::find(project, change.all, change.configuration);
        configured.retain(|path| !measured.contains(path));
        let known: BTreeSet<&RelPath> = dependents.iter().chain(measured).collect();
        importers.retain(|path| !known.contains(path));
        let mut skipped = Vec::from_iter(left_out);
        let mut skipped_indirect = None;
        if found.is_cut || affected.is_cut {
            skipped.push(left_out_files("too many of them mention the changed symbols".to_owned()));
        } else if affected.touched.is_empty() {
            // Nothing that other files can see has changed.
        } else if is_unsearched {
            let reason = "their imports could not be read in time".to_owned();
            skipped_indirect = Some(left_out_files(reason));
        } else if importers.len() > RELATED_FILES_MAX {
            let reason = format!("over {RELATED_FILES_MAX} files import the changed ones");
            skipped_indirect = Some(left_out_files(reason));
        }
        importers.truncate(RELATED_FILES_MAX);
        let indirect = importers.into_iter().collect();
        Self { dependents, configured, indirect, affected, skipped, skipped_indirect }
    }
}

/// Removes files that git ignores, that are behind a link, or that belong to a nested repository. If git's
/// data is unusable, ignored files stay.
pub(crate) fn retain_own_files(root: &Path, files: &mut Vec<RelPath>) {
    let ignored = git::ignored_paths(root, files).unwrap_or_default();
    files.retain(|path| {
        !ignored.contains(path)
            && files::is_real_path(root, path)
            && files::other_repository(root, path).is_none()
    });
}

/// True if something is at this path, also a broken link.
pub(crate) fn is_in_tree(project: &Project, path: &RelPath) -> bool {
    path.under(&project.root).symlink_metadata().is_ok()
}

fn left_out_files(reason: String) -> SkippedFile {
    SkippedFile { path: OTHER_FILES.to_owned(), reason }
}

/// Unchanged files that mention what a change touches; see the module.
#[derive(Debug, Default)]
struct DependentFiles {
    /// The files, the most likely affected first.
    files: Vec<RelPath>,
    /// The symbols that the files mention.
    touched: TouchedSymbols,
    /// True if there may be more files.
    is_cut: bool,
}

impl DependentFiles {
    /// The dependents of a change from `base` to the present files. Blocking.
    fn find(project: &Project, base: &WorkBase, changed: &[RelPath], deleted: &[RelPath]) -> Self {
        let root = &project.root;
        let touched = touched_symbols(project, base, changed, deleted);
        if touched.is_empty() {
            return Self::default();
        }
        let edited: Vec<RelPath> = changed.iter().chain(deleted).cloned().collect();
        let own: BTreeSet<&RelPath> = edited.iter().collect();
        let catalogue = &project.workspace.catalogue;
        let languages = catalogue.languages_that_see(edited.iter());
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
        retain_own_files(root, &mut files);
        Self { files, touched, is_cut }
    }
}

/// Source files that a change may break without mentioning it: those that share a server with a
/// changed file or, in a project of more than [`RELATED_FILES_MAX`] of them, that import a changed file
/// directly or through others; and those that a changed file configures.
#[derive(Debug, Default)]
struct RelatedSources {
    /// Source files whose servers read one of the changed files as configuration.
    configured: BTreeSet<RelPath>,
    /// Other source files that can see the change, the nearest importers first.
    importers: Vec<RelPath>,
    /// True if the imports could not be read in time.
    is_unsearched: bool,
    /// The entry for configured files, or for users of global declarations, that are left out because
    /// there are too many.
    left_out: Option<SkippedFile>,
}

impl RelatedSources {
    /// The files affected by changed or deleted ones; `configuration` are those of the files that
    /// configure servers. Blocking.
    fn find(project: &Project, changed: &[RelPath], configuration: &[RelPath]) -> Self {
        let catalogue = &project.workspace.catalogue;
        let languages = catalogue.languages_that_see(changed.iter());
        let names: BTreeSet<&str> = configuration.iter().map(RelPath::file_name).collect();
        let is_configured = |path: &RelPath| {
            let language = language_name(catalogue, path).unwrap_or_default();
            names.iter().any(|name| catalogue.is_configured_by(language, name))
        };
        let is_seen = |path: &RelPath| {
            language_name(catalogue, path).is_some_and(|language| languages.contains(language))
        };
        let root = &project.root;
        let walk = files::walk_files(root, std::slice::from_ref(root), &|path| {
            project.is_program(path)
                && project.has_sensor(path)
                && (is_seen(path) || is_configured(path))
        });
        let is_small = walk.files.len() <= RELATED_FILES_MAX;
        let is_own = |path: &RelPath| files::other_repository(root, path).is_none();
        let (configured, mut sources): (Vec<RelPath>, Vec<RelPath>) =
            walk.files.into_iter().partition(is_configured);
        if is_small {
            let configured = configured.into_iter().filter(is_own).collect();
            sources.retain(is_own);
            return Self { configured, importers: sources, ..Self::default() };
        }
        let cause = match changed.iter().find(|path| declares_globals(root, path)) {
            _ if !configured.is_empty() => Some("their configuration changed".to_owned()),
            Some(file) => Some(format!("{file} declares global names")),
            None => None,
        };
        let left_out = cause.map(|cause| {
            left_out_files(format!("{cause}, and there are over {RELATED_FILES_MAX} of them"))
        });
        let found = importers_of(root, changed, &sources);
        let is_unsearched = found.is_none();
        let mut importers = found.unwrap_or_default();
        importers.retain(is_own);
        Self { configured: BTreeSet::new(), importers, is_unsearched, left_out }
    }
}

/// True for a changed declaration file of TypeScript that others use without an import; a deleted one
/// may have been that.
fn declares_globals(root: &Path, path: &RelPath) -> bool {
    if !is_declaration_file(path) {
        return false;
    }
    let Ok(snapshot) = files::read_snapshot(root, &path.under(root)) else { return true };
    let mut lines = snapshot.text.lines().map(str::trim_start);
    !is_typescript_module(&snapshot.text)
        || lines.any(|line| {
            ["declare module ", "declare global "].iter().any(|it| line.starts_with(it))
        })
}

/// The files that import a changed one directly or through others, the nearest first; `None` if the imports
/// cannot be read in time. Bounded, because files that are measured anyway are taken out later.
fn importers_of(root: &Path, changed: &[RelPath], sources: &[RelPath]) -> Option<Vec<RelPath>> {
    let names = module_names_of(sources.iter().chain(changed));
    let deadline = Instant::now() + Duration::from_millis(IMPACT_SEARCH_MS_MAX);
    let imports = files::search_files(root, sources, deadline, &|text| {
        Some(FileImports::from_text(text, &|name| names.contains(name)))
    });
    let max = RELATED_FILES_MAX + SESSION_DEPENDENTS_MAX + SESSION_FILES_MAX + 1;
    (!imports.is_truncated).then(|| transitive_importers(changed, &imports.files, max))
}

fn language_name<'c>(catalogue: &'c Catalogue, path: &RelPath) -> Option<&'c str> {
    catalogue.language_of(path).map(|language| language.id)
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
