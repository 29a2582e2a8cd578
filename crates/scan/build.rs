//! Embeds the rule files below `crates/scan/rules/`: writes the table that `src/builtin.rs`
//! includes, with each file's languages, so that a file is parsed only when one of them is scanned.
//! Rule content is not validated here; the tests find broken rules. Also hashes everything that
//! determines the findings of a text; the hash versions the results cached on disk.

use std::error::Error;
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const FOLDER: &str = "rules";
/// Sources, apart from the rules, that determine the findings of a text.
const ENGINE: &[&str] = &["build.rs", "../../Cargo.lock", "../base/src", "src"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("no manifest folder")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("no output folder")?);
    // Cargo watches a folder recursively, so changed, new and removed files all trigger a rebuild.
    for watched in ENGINE.iter().chain(&[FOLDER]) {
        println!("cargo::rerun-if-changed={watched}");
    }
    let mut table = String::from("&[\n");
    for name in file_paths(&root.join(FOLDER))? {
        if Path::new(&name).extension().is_none_or(|extension| extension != "yml") {
            continue;
        }
        let text = fs::read_to_string(root.join(FOLDER).join(&name))?;
        let (languages, has_globs) = (languages(&text), has_globs(&text));
        writeln!(
            table,
            "    BuiltInFile {{ name: {name:?}, languages: &{languages:?}, has_globs: {has_globs}, \
             text: include_str!(concat!(env!(\"CARGO_MANIFEST_DIR\"), \"/{FOLDER}/{name}\")) }},"
        )?;
    }
    table.push_str("]\n");
    fs::write(out.join("built_in_rules.rs"), table)?;
    fs::write(out.join("engine_identity"), identity(&root)?)?;
    Ok(())
}

/// The `languages` of a rule written as a one-line list; empty for any other layout.
fn languages(text: &str) -> Vec<&str> {
    let list = text.lines().find_map(|line| line.strip_prefix("languages:"));
    let inner = list.and_then(|list| list.trim().strip_prefix('[')?.strip_suffix(']'));
    inner.into_iter().flat_map(|inner| inner.split(',')).map(str::trim).collect()
}

/// True if the rule is limited to some files of its languages.
fn has_globs(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("files:") || line.starts_with("ignores:"))
}

/// A hash of everything that determines the findings of a text.
fn identity(root: &Path) -> io::Result<String> {
    let mut hasher = DefaultHasher::new();
    for part in ENGINE {
        let path = root.join(part);
        let files = if path.is_dir() { file_paths(&path)? } else { vec![String::new()] };
        for file in files {
            let path = if file.is_empty() { path.clone() } else { path.join(&file) };
            // A package may lack the lock file; its identity is then different.
            let bytes = fs::read(&path).unwrap_or_default();
            hasher.write(part.as_bytes());
            hasher.write(file.as_bytes());
            hasher.write_usize(bytes.len());
            hasher.write(&bytes);
        }
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// Paths of all files below a folder, relative to it, with `/` and sorted.
fn file_paths(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    collect(folder, "", &mut names)?;
    names.sort();
    Ok(names)
}

fn collect(folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            collect(&entry.path(), &format!("{name}/"), names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}
