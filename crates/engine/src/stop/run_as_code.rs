//! Changed files that no sensor knows and that a program runs as code: `exec(open('rules').read())`.

use std::time::{Duration, Instant};

use crate::project::Project;
use moai_base::evidence::SkippedFile;
use moai_base::limits::{RUN_AS_CODE_FILES_MAX, RUN_AS_CODE_SEARCH_MS_MAX};
use moai_base::path::RelPath;
use moai_host::files;

/// Markers of a source that runs a text as code.
const RUNS_TEXT: [&str; 8] = [
    "Function(",
    "class_eval",
    "eval(",
    "exec(",
    "instance_eval",
    "run_path(",
    "runInContext(",
    "runInThisContext(",
];

/// The changed files without an extension whose names are in a source that runs texts as code.
pub(super) fn files_run_as_code(project: &Project, changed: &[RelPath]) -> Vec<SkippedFile> {
    let is_nameless = |path: &&RelPath| {
        path.extension().is_none()
            && !project.has_sensor(path)
            && path.under(&project.root).is_file()
    };
    let changed: Vec<&RelPath> = changed.iter().filter(is_nameless).collect();
    if changed.is_empty() {
        return Vec::new();
    }
    let sources = files::walk_names(&project.root, &|path| project.has_sensor(path));
    let deadline = Instant::now() + Duration::from_millis(RUN_AS_CODE_SEARCH_MS_MAX);
    let found = files::search_files(&project.root, &sources, deadline, &|text| {
        RUNS_TEXT.iter().any(|call| text.contains(call)).then(|| text.to_owned())
    });
    let mut skipped = Vec::new();
    for path in changed.into_iter().take(RUN_AS_CODE_FILES_MAX) {
        let name = path.file_name();
        let is_named = |text: &str| {
            text.match_indices(name).any(|(at, _)| {
                text[..at].ends_with(['"', '\'', '`', '/'])
                    && text[at + name.len()..].starts_with(['"', '\'', '`'])
            })
        };
        if let Some((source, _)) = found.files.iter().find(|(_, text)| is_named(text)) {
            let reason = format!("{source} may run it as code, and its language is unknown");
            skipped.push(SkippedFile { path: path.to_string(), reason });
        }
    }
    skipped
}
