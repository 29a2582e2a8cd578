//! What is played with: real sources in a fixed version, and how errors are put into them. One table
//! per language in its own file. It must not know any language server.

use std::fs;
use std::path::{Path, PathBuf};

use super::stage::Stage;
use crate::support::write_file;

/// A change of an export that breaks files which use it.
#[derive(Debug)]
pub(crate) struct Break {
    pub(crate) file: &'static str,
    pub(crate) from: &'static str,
    pub(crate) to: &'static str,
}

/// A package.
#[derive(Debug)]
pub(crate) struct Package {
    /// Puts the sources and the project's configuration on the stage.
    pub(crate) lay: fn(&Stage<'_>),
    /// Folders with sources, and the endings of those the play watches over.
    pub(crate) folders: &'static [&'static str],
    pub(crate) endings: &'static [&'static str],
    /// Files that get errors of their own.
    pub(crate) edited: &'static [&'static str],
    pub(crate) breaks: &'static [Break],
    /// Files that are renamed, and to what.
    pub(crate) moves: &'static [(&'static str, &'static str)],
    /// Whether a statement may stand below this line.
    pub(crate) is_head: fn(&str) -> bool,
    /// Statements that are errors, each with another message; `#` stands for a number.
    pub(crate) errors: &'static [&'static str],
}

/// Which of a package's errors a line is, when its number is this.
pub(crate) fn kind_of(package: &Package, line: &str, number: usize) -> Option<usize> {
    let number = number.to_string();
    package.errors.iter().position(|error| line.trim() == error.replace('#', &number).trim())
}

/// The mark of a statement that was put in.
const MARK: &str = "bench_";

impl Package {
    /// Numbers (0-based) of the lines below which a statement may stand.
    pub(crate) fn places(&self, text: &str) -> Vec<usize> {
        let heads = text.lines().enumerate().filter(|(_, line)| (self.is_head)(line));
        heads.map(|(at, _)| at + 1).collect()
    }

    /// The text with an error of this number put in at a line.
    pub(crate) fn plant(&self, text: &str, at: usize, number: usize, kind: usize) -> String {
        let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
        let above = lines[..at].iter().rev().find(|line| !line.contains(MARK));
        let head = above.expect("a statement stands below something");
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

/// Whether a file name ends like this, the dot left out.
pub(crate) fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|it| it == ending)
}

/// Copies the files of a folder and of its subfolders that end like this, the dot left out.
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

/// A path beside the stages, for what is no part of a project.
pub(crate) fn outside_path(stage: &Stage<'_>, name: &str) -> PathBuf {
    stage.sandbox.base().join("outside").join(name)
}

/// Writes such a file.
pub(crate) fn outside(stage: &Stage<'_>, name: &str, text: &str) {
    write_file(&outside_path(stage, name), text);
}
