//! The projects that the user trusts: the host's record, and our own with the hashes of the files that
//! configure programs.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::files::{private_dir, read_private, write_private};
use crate::files::{read_regular, read_regular_text};
use moai_base::hash::ContentHash;
use moai_base::limits::{
    HOST_RECORD_BYTES_MAX, PROGRAM_FILE_BYTES_MAX, REGISTRATION_BYTES_MAX, TRUST_RECORD_BYTES_MAX,
};
use moai_base::toml_value::parse_toml;

/// Files of a project that name programs which this program starts, relative to the root.
pub const PROGRAM_FILES: [&str; 5] = [
    ".moai/config/lsp.json",
    ".lsp.json",
    ".moai/config/sections/ralph.yaml",
    ".claude/autochecks.sh",
    "RUBRIC.md",
];

/// Hashes of the present files of [`PROGRAM_FILES`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ProgramFiles(BTreeMap<String, String>);

impl ProgramFiles {
    /// Reads the files. One that cannot be read or is too large has a hash that equals no other.
    #[must_use]
    pub fn read(root: &Path) -> Self {
        let mut hashes = BTreeMap::new();
        for name in PROGRAM_FILES {
            let path = root.join(name);
            let hash = match read_regular(&path, PROGRAM_FILE_BYTES_MAX) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) if error.kind() == io::ErrorKind::NotADirectory => continue,
                Ok(bytes) => Some(ContentHash::of_bytes(&bytes).to_string()),
                Err(_) => None,
            };
            hashes.insert(name.to_owned(), hash.unwrap_or_default());
        }
        Self(hashes)
    }

    /// The names of the files, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The first file that is new, changed, unreadable or missing since `earlier`.
    #[must_use]
    pub fn first_difference(&self, earlier: &Self) -> Option<&'static str> {
        PROGRAM_FILES.into_iter().find(|name| {
            let now = self.0.get(*name);
            now != earlier.0.get(*name) || now.is_some_and(String::is_empty)
        })
    }
}

/// The user's decision about one root, with the state of the files at that time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrustRecord {
    pub root: PathBuf,
    /// The files that name programs.
    pub files: ProgramFiles,
    /// True if the user trusts it; otherwise the user was asked and declined.
    pub is_trusted: bool,
}

/// The folder of our records.
#[derive(Clone, Debug)]
pub struct TrustRecords {
    folder: PathBuf,
}

impl TrustRecords {
    /// The records below the state folder.
    #[must_use]
    pub fn new(state: &Path) -> Self {
        Self { folder: state.join("trust") }
    }

    /// The decision about a root; `None` without one, or if the record is damaged.
    #[must_use]
    pub fn find(&self, root: &Path) -> Option<TrustRecord> {
        let bytes = read_private(&self.file(root), TRUST_RECORD_BYTES_MAX)?;
        let record: TrustRecord = serde_json::from_slice(&bytes).ok()?;
        (record.root == root).then_some(record)
    }

    pub fn add(&self, record: &TrustRecord) -> io::Result<()> {
        private_dir(&self.folder)?;
        write_private(&self.file(&record.root), &serde_json::to_vec(record)?)
    }

    /// Removes a record; true if it existed.
    pub fn remove(&self, root: &Path) -> io::Result<bool> {
        match fs::remove_file(self.file(root)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn file(&self, root: &Path) -> PathBuf {
        let hash = ContentHash::of_bytes(root.as_os_str().as_encoded_bytes());
        self.folder.join(format!("{}.json", hash.short_hex()))
    }
}

/// The part of Claude Code's record that is used (observed with version 2.1.330).
#[derive(Deserialize)]
struct ClaudeRecord {
    #[serde(default)]
    projects: BTreeMap<PathBuf, ClaudeProject>,
}

#[derive(Deserialize)]
struct ClaudeProject {
    #[serde(default, rename = "hasTrustDialogAccepted")]
    is_trusted: bool,
}

/// True if the user accepted Claude Code's trust dialog for a root or a folder above it, which Claude Code
/// extends to everything below. `env` is the caller's environment.
#[must_use]
pub fn is_trusted_by_claude(root: &Path, env: &BTreeMap<String, String>) -> bool {
    let folder = env.get("CLAUDE_CONFIG_DIR").or_else(|| env.get("HOME"));
    let Some(file) = folder.map(|folder| Path::new(folder).join(".claude.json")) else {
        return false;
    };
    let Ok(bytes) = read_regular(&file, HOST_RECORD_BYTES_MAX) else { return false };
    let Ok(record) = serde_json::from_slice::<ClaudeRecord>(&bytes) else { return false };
    let is_accepted = |folder: &Path| record.projects.get(folder).is_some_and(|it| it.is_trusted);
    root.ancestors().any(is_accepted)
}

/// True if the user trusts exactly this root in Codex CLI or GitHub Copilot CLI (observed with versions
/// 0.169.0 and 1.0.102). `env` is the caller's environment.
#[must_use]
pub fn is_trusted_by_other_hosts(root: &Path, env: &BTreeMap<String, String>) -> bool {
    let Some(home) = env.get("HOME").map(Path::new) else { return false };
    let codex = env.get("CODEX_HOME").map_or_else(|| home.join(".codex"), PathBuf::from);
    let name = root.to_string_lossy();
    let is_in_codex = || {
        let config = small_text(&codex.join("config.toml"))?;
        let config = parse_toml(&config).ok()?;
        Some(config["projects"][name.as_ref()]["trust_level"] == "trusted")
    };
    let is_in_copilot = || {
        let config = small_text(&home.join(".copilot/config.json"))?;
        // It begins with lines of comments.
        let lines: Vec<&str> =
            config.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let config: Value = serde_json::from_str(&lines.join("\n")).ok()?;
        let folders = config["trustedFolders"].as_array()?;
        Some(folders.iter().any(|folder| folder == name.as_ref()))
    };
    is_in_codex().unwrap_or_default() || is_in_copilot().unwrap_or_default()
}

/// The text of a regular file of bounded size.
fn small_text(path: &Path) -> Option<String> {
    read_regular_text(path, REGISTRATION_BYTES_MAX as u64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_holds_for_one_root_and_for_unchanged_files() {
        let temp = tempfile::tempdir().expect("a folder");
        let root = temp.path().join("project");
        fs::create_dir_all(root.join(".claude")).expect("ours");
        let records = TrustRecords::new(&temp.path().join("state"));
        assert_eq!(records.find(&root), None);
        fs::write(root.join(".lsp.json"), "{}").expect("ours");
        let files = ProgramFiles::read(&root);
        let record = TrustRecord { root: root.clone(), files, is_trusted: true };
        records.add(&record).expect("written");
        assert_eq!(records.find(&root), Some(record.clone()));
        let trusted = record.files;
        assert_eq!(records.find(temp.path()), None);
        assert_eq!(ProgramFiles::read(&root).first_difference(&trusted), None);
        fs::write(root.join(".claude/autochecks.sh"), "true").expect("ours");
        let now = ProgramFiles::read(&root);
        assert_eq!(now.first_difference(&trusted), Some(".claude/autochecks.sh"));
        fs::remove_file(root.join(".lsp.json")).expect("ours");
        assert_eq!(ProgramFiles::read(&root).first_difference(&trusted), Some(".lsp.json"));
        // A folder in the place of a file never equals the trusted state.
        fs::create_dir(root.join(".lsp.json")).expect("ours");
        let odd = ProgramFiles::read(&root);
        assert_eq!(odd.first_difference(&odd), Some(".lsp.json"));
        assert_eq!(
            (records.remove(&root).ok(), records.remove(&root).ok()),
            (Some(true), Some(false))
        );
        assert_eq!(records.find(&root), None);
    }

    #[test]
    fn other_hosts_trust_exactly_one_root() {
        let temp = tempfile::tempdir().expect("a folder");
        let env = BTreeMap::from([("HOME".to_owned(), temp.path().display().to_string())]);
        let is_trusted = |root: &str| is_trusted_by_other_hosts(Path::new(root), &env);
        assert!(!is_trusted("/p/a"));
        for folder in [".codex", ".copilot"] {
            fs::create_dir(temp.path().join(folder)).expect("ours");
        }
        let codex = "[projects.\"/p/a\"]\ntrust_level = \"trusted\"\n\
                     [projects.\"/p/b\"]\ntrust_level = \"untrusted\"\n";
        fs::write(temp.path().join(".codex/config.toml"), codex).expect("ours");
        let copilot = "// written by the client\n{\"trustedFolders\": [\"/p/c\"]}";
        fs::write(temp.path().join(".copilot/config.json"), copilot).expect("ours");
        let trusted = ["/p/a", "/p/b", "/p/c", "/p/a/deep", "/p"].map(is_trusted);
        assert_eq!(trusted, [true, false, true, false, false]);
        fs::write(temp.path().join(".codex/config.toml"), "[projects").expect("ours");
        assert!(!is_trusted("/p/a"));
    }

    #[test]
    fn the_hosts_record_counts_for_the_folder_and_those_below() {
        let temp = tempfile::tempdir().expect("a folder");
        let env = BTreeMap::from([("HOME".to_owned(), temp.path().display().to_string())]);
        let is_trusted = |root: &str| is_trusted_by_claude(Path::new(root), &env);
        assert!(!is_trusted("/p/a"));
        let record = r#"{"numStartups": 3, "projects": {
            "/p/a": {"allowedTools": [], "hasTrustDialogAccepted": true, "lastCost": 1.5},
            "/p/b": {"hasTrustDialogAccepted": false}, "/p/c": {}}}"#;
        fs::write(temp.path().join(".claude.json"), record).expect("ours");
        let trusted = ["/p/a", "/p/a/deep/er", "/p/ab", "/p/b", "/p/c", "/p"].map(is_trusted);
        assert_eq!(trusted, [true, true, false, false, false, false]);
        fs::write(temp.path().join(".claude.json"), "{\"projects\": 7").expect("ours");
        assert!(!is_trusted("/p/a"));
    }
}
