//! The servers that handle some files. A selection reads the disk, so it runs on the blocking threads, once per
//! file.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::engine::{Engine, run_blocking};
use crate::evidence::snapshot_measurement::select_servers;
use crate::project::Project;
use moai_base::path::RelPath;
use moai_host::servers::resolve::ResolvedServer;

/// The available servers by file.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerChoices {
    by_file: Arc<HashMap<RelPath, Vec<ResolvedServer>>>,
}

impl ServerChoices {
    /// Selects the servers of files, which need not exist; `None` after a panic.
    pub(crate) async fn select(
        engine: &Arc<Engine>,
        project: &Project,
        files: BTreeSet<RelPath>,
    ) -> Option<Self> {
        let (engine, project) = (Arc::clone(engine), project.clone());
        let selected = run_blocking(move || {
            let mut by_file = HashMap::with_capacity(files.len());
            for path in files {
                let choices = select_servers(&engine, &project, &path);
                by_file.insert(path, choices.into_iter().flatten().collect());
            }
            Self { by_file: Arc::new(by_file) }
        });
        selected.await
    }

    /// The servers of a file; none if it was not among the selected ones.
    pub(crate) fn of(&self, path: &RelPath) -> &[ResolvedServer] {
        self.by_file.get(path).map_or(&[], Vec::as_slice)
    }

    /// A file's server with this name.
    pub(crate) fn find(&self, path: &RelPath, server: &str) -> Option<&ResolvedServer> {
        self.of(path).iter().find(|choice| choice.id == server)
    }
}
