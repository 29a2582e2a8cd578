//! The guard findings that the user allowed, on disk outside the working tree: one line of JSON each.

use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use moai_base::finding::Finding;
use moai_base::foreign_text::one_line;
use moai_base::limits::{WAIVER_REASON_CHARS_MAX, WAIVERS_BYTES_MAX};
use moai_base::redaction::redacted;
use moai_host::files;
use moai_host::store::ProjectKey;

/// The file in the project's folder.
const NAME: &str = "waivers.jsonl";

/// The waivers of one project.
#[derive(Debug)]
pub(crate) struct WaiverStore {
    file: PathBuf,
    lines: Vec<Value>,
}

impl WaiverStore {
    /// Loads the waivers from the state folder; an unreadable line allows nothing.
    pub(crate) fn load(state: &Path, project: &ProjectKey) -> Self {
        let file = project.folder(state).join(NAME);
        let bytes = files::read_private(&file, WAIVERS_BYTES_MAX).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let lines = text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Self { file, lines }
    }

    /// The reason why a finding is allowed; `None` if it is not.
    pub(crate) fn reason(&self, finding: &Finding) -> Option<&str> {
        let waiver = self
            .lines
            .iter()
            .find(|line| line["id"] == *finding.id && line["code"] == *finding.code)?;
        waiver["reason"].as_str()
    }

    /// Allows a finding and saves the waiver.
    pub(crate) fn allow(mut self, finding: &Finding, reason: &str) -> io::Result<()> {
        let reason = one_line(&redacted(reason), WAIVER_REASON_CHARS_MAX);
        self.lines.push(json!({
            "id": finding.id,
            "code": finding.code,
            "path": finding.path.as_str(),
            "message": finding.message,
            "reason": reason,
        }));
        let lines: Vec<String> = self.lines.iter().map(Value::to_string).collect();
        files::write_private(&self.file, (lines.join("\n") + "\n").as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::samples::finding;

    #[test]
    fn an_allowed_finding_stays_allowed_and_no_other_is() {
        let state = tempfile::tempdir().expect("a folder");
        let project = ProjectKey::from_folder(Path::new("/project"));
        let load = || WaiverStore::load(state.path(), &project);
        let with_id = |id: &str| Finding { id: id.to_owned(), ..finding("a.py", 1, "G01") };
        load().allow(&with_id("1"), "asked\nfor").expect("written");
        load().allow(&with_id("2"), "old").expect("written");
        assert_eq!(load().reason(&with_id("1")), Some("asked for"));
        assert_eq!(load().reason(&with_id("2")), Some("old"));
        assert_eq!(load().reason(&with_id("3")), None);
        assert_eq!(load().reason(&Finding { code: "G02".to_owned(), ..with_id("1") }), None);
    }
}
