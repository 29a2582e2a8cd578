//! What is played with: real sources in a fixed version, and how errors are put into them. One table
//! per language in its own file. It must not know any language server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use moai_ralph::base::hash::ContentHash;

use super::stage::Stage;
use crate::support::{CHECKOUT, test_cache, write_file};

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

/// A file of a package registry, downloaded once by the registry's own client.
#[derive(Debug)]
pub(crate) struct Download {
    pub(crate) file: &'static str,
    /// BLAKE3 of the file.
    pub(crate) hash: &'static str,
    /// Client and arguments; run in the folder that the file shall be in.
    pub(crate) fetch: &'static [&'static str],
    /// Unpacker and arguments before the name of the file.
    pub(crate) unpack: &'static [&'static str],
}

impl Download {
    /// Unpacks it into a folder of the stage's sandbox.
    pub(crate) fn unpacked(&self, stage: &Stage<'_>) -> PathBuf {
        let cache = test_cache().join("packages");
        fs::create_dir_all(&cache).expect("the cache folder is writable");
        // Every test is a process of its own, and two of them may want the same file.
        let lock = fs::File::create(cache.join("lock")).expect("the cache folder is writable");
        lock.lock().expect("a local file can be locked");
        let file = cache.join(self.file);
        if !file.is_file() {
            run(Command::new(self.fetch[0]).args(&self.fetch[1..]).current_dir(&cache));
        }
        let bytes = fs::read(&file).expect("the client has put it there");
        assert_eq!(ContentHash::of(&bytes).to_string(), self.hash, "{}", self.file);
        let folder = stage.sandbox.base().join("unpacked").join(self.file);
        fs::create_dir_all(&folder).expect("the sandbox is writable");
        let mut command = Command::new(self.unpack[0]);
        command.args(&self.unpack[1..]).arg(&file).current_dir(&folder);
        if self.unpack[0] == "python3" {
            command.arg(".");
        }
        run(&mut command);
        folder
    }
}

fn run(command: &mut Command) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    assert!(output.status.success(), "{command:?}: {output:?}");
}

/// The unpacked sources of a crate that this program is built from, in the version of `Cargo.lock`.
pub(crate) fn crate_folder(name: &str) -> PathBuf {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let arguments = ["metadata", "--offline", "--locked", "--format-version", "1"];
    let output = command.args(arguments).current_dir(CHECKOUT).output().expect("cargo starts");
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo describes this package");
    let mut packages = metadata["packages"].as_array().into_iter().flatten();
    let package = packages.find(|package| package["name"] == name);
    let manifest = package.and_then(|it| it["manifest_path"].as_str());
    let manifest = manifest.unwrap_or_else(|| panic!("{name} is a dependency"));
    Path::new(manifest).parent().expect("a manifest lies in a folder").to_path_buf()
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
