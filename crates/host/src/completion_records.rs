//! Sessions whose loop was completed in a turn that may still be running: changes in the rest of the turn are
//! not measured. Kept on disk, because an agent can stop the daemon.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::files::{read_private, write_private_unsynced};
use moai_base::hash::ContentHash;
use moai_base::limits::{COMPLETION_BYTES_MAX, COMPLETIONS_MAX};

/// Their folder in a project's private folder.
const FOLDER: &str = "completions";

/// The records of one project.
#[derive(Clone, Debug)]
pub struct CompletionRecords {
    folder: PathBuf,
}

impl CompletionRecords {
    /// The records in a project's private folder.
    #[must_use]
    pub fn new(project: &Path) -> Self {
        Self { folder: project.join(FOLDER) }
    }

    /// Records that a session has completed a loop; beyond [`COMPLETIONS_MAX`] the oldest records go.
    pub fn add(&self, session: &str, loop_id: &str) -> io::Result<()> {
        write_private_unsynced(&self.file(session), loop_id.as_bytes())?;
        let mut records: Vec<(SystemTime, PathBuf)> = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            records.push((entry.metadata()?.modified()?, entry.path()));
        }
        records.sort_unstable();
        let surplus = records.len().saturating_sub(COMPLETIONS_MAX);
        for (_, oldest) in &records[..surplus] {
            fs::remove_file(oldest)?;
        }
        Ok(())
    }

    /// The loop that a session has completed in its present turn.
    #[must_use]
    pub fn find(&self, session: &str) -> Option<String> {
        String::from_utf8(read_private(&self.file(session), COMPLETION_BYTES_MAX)?).ok()
    }

    /// Removes the record of a session, if there is one.
    pub fn remove(&self, session: &str) -> io::Result<()> {
        match fs::remove_file(self.file(session)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// A session id may contain anything.
    fn file(&self, session: &str) -> PathBuf {
        self.folder.join(ContentHash::of_bytes(session.as_bytes()).short_hex())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_kept_until_it_is_removed_and_the_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let records = CompletionRecords::new(folder.path());
        assert_eq!(records.find("../s"), None);
        records.remove("../s").unwrap();
        records.add("../s", "loop-1").unwrap();
        assert_eq!(records.find("../s").as_deref(), Some("loop-1"));
        records.add("../s", "loop-2").unwrap();
        assert_eq!(records.find("../s").as_deref(), Some("loop-2"));
        records.remove("../s").unwrap();
        assert_eq!(records.find("../s"), None);
        for number in 0..=COMPLETIONS_MAX {
            records.add(&number.to_string(), "loop-3").unwrap();
        }
        assert_eq!(fs::read_dir(&records.folder).unwrap().count(), COMPLETIONS_MAX);
        assert_eq!(records.find(&COMPLETIONS_MAX.to_string()).as_deref(), Some("loop-3"));
    }
}
