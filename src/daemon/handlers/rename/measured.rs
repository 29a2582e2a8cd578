//! What a rename introduced: the changed files are measured before and after. A finding that only
//! speaks of the new name instead of the old one is not new.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use crate::base::change::ChangeSet;
use crate::base::delta::Delta;
use crate::base::evidence::Evidence;
use crate::base::finding::{Severity, State, fingerprint};
use crate::base::path::RelPath;
use crate::base::text::replace_name;
use crate::base::verdict::Gap;
use crate::daemon::engine::Engine;
use crate::daemon::gather::{Asked, Merely, gather};
use crate::daemon::look::sync;
use crate::daemon::project::Project;
use crate::report::rename::{Outcome, Renamed};

/// The files before the change.
pub(super) struct Before {
    evidence: Evidence,
    after: Vec<RelPath>,
}

impl Before {
    pub(super) async fn measure(
        engine: &Arc<Engine>,
        project: &Project,
        set: &ChangeSet,
        deadline: Instant,
    ) -> Self {
        let is_wanted = |path: &&RelPath| project.is_wanted(path);
        let before = set.changes.iter().filter(|change| change.before.is_some());
        let after = set.changes.iter().filter(|change| change.after.is_some());
        let before: Vec<RelPath> = before.map(|it| &it.path).filter(is_wanted).cloned().collect();
        let after = after.map(|it| &it.path).filter(is_wanted).cloned().collect();
        let evidence = gather(engine, project, asked(project, before, deadline)).await;
        Self { evidence, after }
    }

    /// Tells the servers what was written and measures again.
    pub(super) async fn compare(
        self,
        engine: &Arc<Engine>,
        project: &Project,
        renamed: &Renamed,
        deadline: Instant,
    ) -> Outcome {
        sync(engine, project, &[]).await;
        let after = gather(engine, project, asked(project, self.after, deadline)).await;
        let moved: BTreeMap<&str, &str> = renamed
            .files
            .iter()
            .filter_map(|file| Some((file.moved_from.as_deref()?, file.path.as_str())))
            .collect();
        let old_name = renamed.old_name.as_deref().unwrap_or_default();
        let mut before = self.evidence.findings;
        for finding in &mut before {
            let moved = moved.get(finding.path.as_str()).and_then(|path| RelPath::parse(path));
            finding.path = moved.unwrap_or_else(|| finding.path.clone());
            for text in [&mut finding.anchor, &mut finding.message] {
                *text = replace_name(text, old_name, &renamed.new_name);
            }
        }
        fingerprint(&mut before);
        let mut delta = Delta::between(Some(&before), after.findings);
        // Of a sensor that could not say all before, it is not known what is new.
        let readings = self.evidence.readings.iter().filter(|reading| reading.gap.is_some());
        let unknown: BTreeSet<&str> = readings.map(|reading| reading.sensor.as_str()).collect();
        for finding in &mut delta.now {
            if finding.state == State::Introduced && unknown.contains(finding.sensor.as_str()) {
                finding.state = State::Unknown;
            }
        }
        let gaps: Vec<(String, Gap)> = after
            .readings
            .into_iter()
            .filter_map(|reading| Some((reading.sensor, reading.gap?)))
            .collect();
        Outcome { delta, gaps }
    }
}

fn asked(project: &Project, files: Vec<RelPath>, deadline: Instant) -> Asked {
    Asked {
        files,
        skipped: Vec::new(),
        lsp: project.config.lsp_enabled,
        scan: project.config.scan_enabled,
        threshold: Severity::Error,
        deadline,
        merely: Merely::default(),
    }
}
