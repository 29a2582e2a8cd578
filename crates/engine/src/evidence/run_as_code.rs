//! Changed files that no sensor knows and that a program runs as code: `exec(open('rules').read())`.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::project::Project;
use moai_base::evidence::SkippedFile;
use moai_base::limits::{RUN_AS_CODE_FILES_MAX, RUN_AS_CODE_SEARCH_MS_MAX};
use moai_base::path::RelPath;
use moai_host::files;

/// Calls that run a text as code.
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

/// The changed files without an extension whose names are in a source that runs texts as code. Blocking.
pub(crate) fn files_run_as_code(project: &Project, changed: &[RelPath]) -> Vec<SkippedFile> {
    let is_nameless = |path: &&RelPath| {
        path.extension().is_none()
            && !project.has_sensor(path)
            && path.under(&project.root).is_file()
    };
    let mut changed: Vec<&RelPath> = changed.iter().filter(is_nameless).collect();
    let unsought = changed.split_off(changed.len().min(RUN_AS_CODE_FILES_MAX));
    if changed.is_empty() {
        return Vec::new();
    }
    let sources = files::walk_names(&project.root, &|path| project.has_sensor(path));
    let deadline = Instant::now() + Duration::from_millis(RUN_AS_CODE_SEARCH_MS_MAX);
    let found = files::search_files(&project.root, &sources, deadline, &|text| {
        let named = |path: &&&RelPath| names_file(text, path.file_name());
        runs_text(text).then(|| changed.iter().filter(named).copied().collect::<Vec<_>>())
    });
    let mut readers: BTreeMap<&RelPath, &RelPath> = BTreeMap::new();
    for (source, named) in found.files.iter().rev() {
        readers.extend(named.iter().map(|path| (*path, source)));
    }
    let skip = |path: &RelPath, reason: String| SkippedFile { path: path.to_string(), reason };
    let mut skipped = Vec::new();
    for path in changed {
        if let Some(source) = readers.get(path) {
            let reason = format!("{source} may run it as code, and its language is unknown");
            skipped.push(skip(path, reason));
        } else if found.is_truncated {
            skipped
                .push(skip(path, "the search for programs that run it took too long".to_owned()));
        }
    }
    // Without a source that runs texts, no name matters.
    if let Some(first) = unsought.first().filter(|_| !found.files.is_empty()) {
        let reason = match unsought.len() {
            1 => "it may be run as code".to_owned(),
            many => format!("one of {many} more files that may be run as code"),
        };
        skipped.push(skip(first, reason));
    }
    skipped
}

/// True if a source runs some text as code.
fn runs_text(source: &str) -> bool {
    RUNS_TEXT.iter().any(|call| {
        source.match_indices(call).any(|(at, _)| match source[..at].chars().next_back() {
            // The method of a regular expression in JavaScript has the name of Python's function.
            Some('.') => *call != "exec(",
            Some(before) => !(before.is_alphanumeric() || matches!(before, '_' | '$')),
            None => true,
        })
    })
}

/// True if a string of the source names the file, alone or at the end of a path.
fn names_file(source: &str, name: &str) -> bool {
    source.match_indices(name).any(|(at, _)| {
        source[..at].ends_with(['"', '\'', '`', '/'])
            && source[at + name.len()..].starts_with(['"', '\'', '`'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_that_run_a_text_are_told_from_names_that_end_alike() {
        for source in [
            "exec(open('rules').read())",
            "x = eval(text)",
            "new Function(text)",
            "window.eval(text)",
            "vm.runInContext(text, context)",
            "Rules.class_eval text",
        ] {
            assert!(runs_text(source), "{source}");
        }
        for source in ["/x/.exec(s)", "if (isFunction(f)) {}", "retrieval(x)", "db.exec(sql)"] {
            assert!(!runs_text(source), "{source}");
        }
        assert!(names_file("open('conf/rules')", "rules"));
        assert!(!names_file("open('rules.txt')", "rules"));
    }
}
