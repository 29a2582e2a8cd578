//! The files that programs in other languages than that of the shell name in their texts.

use std::path::Path;

use super::{FileUse, is_examiner};
use moai_base::path::{RelPath, normalize};

/// Extensions that Node tries for a name without one.
const SCRIPT_ENDS: [&str; 8] =
    ["", ".js", ".cjs", ".mjs", ".ts", ".json", "/index.js", "/index.ts"];
/// Ends of modules that other interpreters load by their path.
const MODULE_ENDS: [&str; 4] = ["", ".rb", ".pl", ".php"];
/// Extensions of data that programs read.
const DATA_ENDS: [&str; 12] =
    ["cfg", "conf", "csv", "env", "ini", "json", "toml", "tsv", "txt", "xml", "yaml", "yml"];
/// Longest statement that is read, and names of a module's packages.
const STATEMENT_BYTES_MAX: usize = 1024;
const MODULE_PARTS_MAX: usize = 8;
/// Texts in a program that opens files for writing, so that the files in them may be its results.
const WRITES: [&str; 14] = [
    ",\"a\"", ",\"w", ", \"a\"", ", \"w", ",'a'", ",'w", ", 'a'", ", 'w", "=\"w", "='w", "dump(",
    "write", "copy", "touch(",
];

/// The files that a program may import, run or read, relative to the root, each with its use.
pub(super) fn named_files(path: &RelPath, text: &str, folder: &str) -> Vec<(String, FileUse)> {
    let first = text.lines().next().filter(|line| line.starts_with("#!")).unwrap_or_default();
    let own = path.folders().last().unwrap_or_default();
    let extension = path.extension();
    if matches!(extension.as_deref(), Some("awk" | "sed" | "go")) {
        return Vec::new();
    }
    let is_python = match extension {
        Some(extension) => extension == "py",
        None => first.contains("python"),
    };
    let language = if is_python { "python" } else { "" };
    let mut found = literals(text, own, folder);
    found.extend(imports(language, text, &[own, folder]));
    found
}

/// The same for a text on the command line.
pub(super) fn named_in_code(language: &str, code: &str, folder: &str) -> Vec<(String, FileUse)> {
    imports(language, code, &[folder])
}

/// The files of a module of Python.
pub(super) fn python_module(name: &str) -> Vec<String> {
    if name.is_empty() {
        return vec!["__init__.py".to_owned()];
    }
    let mut files = Vec::new();
    let parts: Vec<&str> = name.split('.').take(MODULE_PARTS_MAX).collect();
    for count in 1..=parts.len() {
        let place = parts[..count].join("/");
        files.push(format!("{place}/__init__.py"));
        if count == parts.len() {
            files.push(format!("{place}/__main__.py"));
            files.push(format!("{place}.py"));
        }
    }
    files
}

fn imports(language: &str, text: &str, places: &[&str]) -> Vec<(String, FileUse)> {
    if language == "python" {
        return python_imports(text, places);
    }
    let own = places.first().copied().unwrap_or_default();
    let relative = quoted(text).filter(|it| it.starts_with("./") || it.starts_with("../"));
    let ends = SCRIPT_ENDS.iter().chain(&MODULE_ENDS);
    relative
        .flat_map(|name| ends.clone().filter_map(move |end| below(own, &format!("{name}{end}"))))
        .map(|file| (file, FileUse::Program))
        .collect()
}

fn python_imports(text: &str, places: &[&str]) -> Vec<(String, FileUse)> {
    let mut found = Vec::new();
    let statements = text.split(['\n', ';']).map(str::trim);
    for statement in statements.filter(|it| it.len() <= STATEMENT_BYTES_MAX) {
        let modules: Vec<String> = if let Some(names) = statement.strip_prefix("import ") {
            names.split(',').map(|it| first_word(it).to_owned()).collect()
        } else if let Some((from, names)) =
            statement.strip_prefix("from ").and_then(|rest| rest.split_once(" import "))
        {
            let names = names.split(['(', ')', ',']).map(first_word).filter(|it| !it.is_empty());
            let from = from.trim();
            let dot = if from.ends_with('.') { "" } else { "." };
            std::iter::once(from.to_owned())
                .chain(names.map(|name| format!("{from}{dot}{name}")))
                .collect()
        } else {
            continue;
        };
        for module in modules {
            // Each point after the first leads one folder up.
            let points = module.len() - module.trim_start_matches('.').len();
            let up = "../".repeat(points.saturating_sub(1));
            let searched = if points > 0 { &places[..1.min(places.len())] } else { places };
            for (place, file) in searched.iter().flat_map(|place| {
                python_module(&module[points..]).into_iter().map(move |it| (place, it))
            }) {
                let file = below(place, &format!("{up}{file}"));
                found.extend(file.map(|file| (file, FileUse::Program)));
            }
        }
    }
    found
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or_default()
}

/// Data and shell scripts in a program's literals, relative to its working directory or to its own
/// folder.
fn literals(text: &str, own: &str, folder: &str) -> Vec<(String, FileUse)> {
    let may_write = WRITES.iter().any(|hint| text.contains(hint));
    let mut found = Vec::new();
    for name in quoted(text).filter(|it| !it.contains(char::is_whitespace)) {
        let Some((_, end)) = name.rsplit_once('.') else { continue };
        let is_script = end == "sh";
        let is_data = DATA_ENDS.contains(&end) && !may_write;
        for file in [folder, own].into_iter().filter_map(|place| below(place, name)) {
            let is_of_exam = RelPath::parse(&file).is_some_and(|file| is_examiner(&file));
            if is_script && is_of_exam {
                found.push((file, FileUse::Shell));
            } else if is_data {
                found.push((file, FileUse::Compared));
            }
        }
    }
    found
}

/// The quoted texts of a program, as far as each is on one line.
fn quoted(text: &str) -> impl Iterator<Item = &str> + Clone {
    text.lines()
        .flat_map(|line| line.split(['"', '\'', '`']).skip(1))
        .filter(|it| (2..=STATEMENT_BYTES_MAX).contains(&it.len()))
}

fn below(folder: &str, path: &str) -> Option<String> {
    let root = Path::new("/root");
    let joined = normalize(&root.join(folder).join(path));
    joined.strip_prefix(root).ok()?.to_str().filter(|it| !it.is_empty()).map(str::to_owned)
}
