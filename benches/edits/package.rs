//! The packages of the plays: real sources in a fixed version, and how errors are put into them. Each
//! language has a table in its own file.

use std::fs;
use std::path::{Path, PathBuf};

use super::stage::Stage;
use crate::support::write_file;

/// Files that a checkout changes: more than are announced to a server one by one.
pub(crate) const FILLER_FILES: usize = 1_500;

/// One text that a play replaces by another and back.
#[derive(Debug)]
pub(crate) struct TextSwitch {
    pub(crate) file: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
}

/// Correct files that nothing uses; `#` is replaced by a number.
#[derive(Debug)]
pub(crate) struct Filler {
    pub(crate) file: &'static str,
    pub(crate) text: &'static str,
}

/// A file of the language outside every project, with an error.
#[derive(Debug)]
pub(crate) struct Outsider {
    pub(crate) file: &'static str,
    pub(crate) text: &'static str,
}

#[derive(Debug)]
pub(crate) struct Package {
    /// Writes the sources and the project's configuration.
    pub(crate) lay: fn(&Stage<'_>),
    /// Folders with sources, and the extensions of the files whose texts the play follows.
    pub(crate) folders: &'static [&'static str],
    pub(crate) endings: &'static [&'static str],
    /// Files into which errors are written.
    pub(crate) edited: &'static [&'static str],
    /// Changes of exports that break files which use them.
    pub(crate) breaks: &'static [TextSwitch],
    /// Changes of the project's configuration that add or remove findings.
    pub(crate) configurations: &'static [TextSwitch],
    /// Files that are renamed, and their new names.
    pub(crate) moves: &'static [(&'static str, &'static str)],
    pub(crate) filler: Filler,
    pub(crate) outsider: Option<Outsider>,
    /// True if a statement may follow this line.
    pub(crate) is_head: fn(&str) -> bool,
    /// Statements that are errors, each with a different message; `#` is replaced by a number.
    pub(crate) errors: &'static [&'static str],
}

/// The index of the error that a line is, if it has this number.
pub(crate) fn kind_of(package: &Package, line: &str, number: usize) -> Option<usize> {
    let number = number.to_string();
    package.errors.iter().position(|error| line.trim() == error.replace('#', &number).trim())
}

/// The mark of an inserted statement.
const MARK: &str = "bench_";

impl Package {
    /// Files whose exports break, under all their names.
    pub(crate) fn export_files(&self) -> Vec<&'static str> {
        let mut files: Vec<_> = self.breaks.iter().map(|broken| broken.file).collect();
        let renamed = self.moves.iter().filter(|(from, _)| files.contains(from));
        let renamed: Vec<_> = renamed.map(|(_, to)| *to).collect();
        files.extend(renamed);
        files
    }

    /// Writes all filler files, each with another text than in other versions.
    pub(crate) fn write_filler(&self, stage: &Stage<'_>, version: usize) {
        for number in 0..FILLER_FILES {
            let file = self.filler.file.replace('#', &number.to_string());
            let text = self.filler.text.replace('#', &(number + version).to_string());
            stage.write(&file, &text);
        }
    }

    /// 0-based numbers of the lines before which a statement may be inserted.
    pub(crate) fn places(&self, text: &str) -> Vec<usize> {
        let heads = text.lines().enumerate().filter(|(_, line)| (self.is_head)(line));
        heads.map(|(at, _)| at + 1).collect()
    }

    /// The text with an error of this number inserted at a line.
    pub(crate) fn plant(&self, text: &str, at: usize, number: usize, kind: usize) -> String {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let above = lines[..at].iter().rev().find(|line| !line.contains(MARK));
        let head = above.expect("a statement follows another line");
        let indent: String =
            head.chars().take_while(|it| it.is_whitespace() && *it != '\n').collect();
        let statement = self.errors[kind % self.errors.len()].replace('#', &number.to_string());
        let line = format!("{indent}{statement}\n");
        lines.insert(at, &line);
        lines.concat()
    }
}

/// Numbers of the errors in a text, with their 0-based lines.
pub(crate) fn planted(text: &str) -> Vec<(usize, u32)> {
    let number = |line: &str| {
        let rest = &line[line.find(MARK)? + MARK.len()..];
        rest[..rest.find('_')?].parse::<usize>().ok()
    };
    let lines = text.lines().zip(0..);
    lines.filter_map(|(line, at)| Some((number(line)?, at))).collect()
}

/// The text without the error of this number.
pub(crate) fn mended(text: &str, number: usize) -> String {
    let mark = format!("{MARK}{number}_");
    text.split_inclusive('\n').filter(|line| !line.contains(&mark)).collect()
}

/// True if a file name has this extension, without the dot.
pub(crate) fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it == ending)
}

/// Copies the files of a folder and its subfolders that have this ending, without the dot.
pub(crate) fn copy(from: &Path, stage: &Stage<'_>, to: &str, ending: &str) {
    for entry in fs::read_dir(from).expect("the sources can be read").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let target = format!("{to}/{name}");
        if entry.path().is_dir() {
            copy(&entry.path(), stage, &target, ending);
        } else if has_ending(&name, ending) {
            let text = fs::read_to_string(entry.path()).expect("sources are text");
            stage.write(&target, &text);
        }
    }
}

/// A path outside the projects.
pub(crate) fn outside_path(stage: &Stage<'_>, name: &str) -> PathBuf {
    stage.sandbox.base().join("outside").join(name)
}

/// Writes a file outside the projects.
pub(crate) fn outside(stage: &Stage<'_>, name: &str, text: &str) {
    write_file(&outside_path(stage, name), text);
}
