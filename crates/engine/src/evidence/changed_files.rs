//! The files that differ from a commit.

use crate::evidence::run_as_code::files_run_as_code;
use crate::project::{NOTEBOOK_UNMEASURED, Project};
use moai_base::evidence::SkippedFile;
use moai_base::path::RelPath;
use moai_host::git::{self, GitError};

/// The files that differ from a commit.
#[derive(Debug, Default)]
pub(crate) struct ChangedFiles {
    /// Those that exist and have a sensor.
    pub(crate) files: Vec<RelPath>,
    /// Those that were deleted and had a sensor.
    pub(crate) deleted: Vec<RelPath>,
    /// All of them, deleted ones included.
    pub(crate) all: Vec<RelPath>,
    /// Those that configure servers.
    pub(crate) configuration: Vec<RelPath>,
    /// Those that cannot be listed, and code that no sensor can measure.
    pub(crate) skipped: Vec<SkippedFile>,
}

impl ChangedFiles {
    /// The files that differ from a commit, `None` for HEAD; `Ok(None)` without a work tree of git. Blocking.
    pub(crate) fn since(project: &Project, commit: Option<&str>) -> Result<Option<Self>, GitError> {
        let Some(changed) = git::files_changed_since(&project.root, commit)? else {
            return Ok(None);
        };
        let all: Vec<RelPath> = changed.files.iter().chain(&changed.deleted).cloned().collect();
        let configuration = project.configuration_among(&all);
        let mut skipped = Vec::new();
        for path in changed.files.iter().filter(|path| Project::is_notebook(path)) {
            if path.under(&project.root).is_file() {
                let reason = NOTEBOOK_UNMEASURED.to_owned();
                skipped.push(SkippedFile { path: path.to_string(), reason });
            }
        }
        skipped.extend(changed.skipped);
        skipped.extend(files_run_as_code(project, &changed.files));
        let has_sensor = |path: &RelPath| project.has_sensor(path);
        let files = changed.files.into_iter().filter(has_sensor).collect();
        let deleted = changed.deleted.into_iter().filter(has_sensor).collect();
        Ok(Some(Self { files, deleted, all, configuration, skipped }))
    }
}
