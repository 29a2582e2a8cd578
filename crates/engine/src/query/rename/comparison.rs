//! Findings that a rename introduced: the changed files are measured before and after it. A finding
//! that differs only by the new name is not introduced.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use crate::engine::Engine;
use crate::evidence::disk_poll::sync_disk;
use crate::evidence::gather::{CountedGaps, MeasureRequest, UntouchedDependents, gather_evidence};
use crate::project::Project;
use moai_base::change::ChangeSet;
use moai_base::delta::Delta;
use moai_base::evidence::{Evidence, SkippedFile};
use moai_base::finding::{FindingState, Severity, assign_fingerprints};
use moai_base::path::RelPath;
use moai_base::text::replace_identifier;
use moai_base::verdict::Gap;
use moai_report::rename::{RenameReport, WriteOutcome};

/// The findings before the rename.
pub(crate) struct RenameBaseline {
    evidence: Evidence,
    /// The changed files with a sensor that exist after the rename.
    after: Vec<RelPath>,
    /// Changed files without a sensor.
    unmeasured: Vec<SkippedFile>,
}

impl RenameBaseline {
    pub(crate) async fn measure(
        engine: &Arc<Engine>,
        project: &Project,
        set: &ChangeSet,
        deadline: Instant,
    ) -> Self {
        let (mut before, mut after, mut foreign) = (Vec::new(), Vec::new(), Vec::new());
        for change in &set.changes {
            let has_sensor = project.has_sensor(&change.path);
            if change.before.is_some() && has_sensor {
                before.push(change.path.clone());
            }
            if change.after.is_some() && has_sensor {
                after.push(change.path.clone());
            } else if change.after.is_some() {
                foreign.push(unmeasured(&change.path, "not in a known language"));
            }
        }
        let request = measure_request(project, before, deadline);
        let evidence = gather_evidence(engine, project, request).await.evidence;
        Self { evidence, after, unmeasured: foreign }
    }

    /// Announces the written files to the servers and measures again.
    pub(crate) async fn compare(
        self,
        engine: &Arc<Engine>,
        project: &Project,
        renamed: &RenameReport,
        deadline: Instant,
    ) -> WriteOutcome {
        sync_disk(engine, project).await;
        let request = measure_request(project, self.after, deadline);
        let after = gather_evidence(engine, project, request).await.evidence;
        let mut skipped = self.unmeasured;
        skipped.extend(after.skipped);
        if after.readings.is_empty() {
            let files = after.files.iter();
            skipped.extend(files.map(|path| unmeasured(path, "no sensor is enabled")));
        }
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
                *text = replace_identifier(text, old_name, &renamed.new_name);
            }
        }
        assign_fingerprints(&mut before);
        let mut delta = Delta::by_fingerprint(Some(&before), after.findings);
        let unread: BTreeSet<&str> = self
            .evidence
            .skipped
            .iter()
            .map(|file| moved.get(file.path.as_str()).copied().unwrap_or(&file.path))
            .collect();
        // If a sensor or file had a gap before the rename, introduced findings cannot be distinguished from
        // older ones.
        let readings = self.evidence.readings.iter().filter(|reading| reading.gap.is_some());
        let unknown: BTreeSet<&str> = readings.map(|reading| reading.sensor.as_str()).collect();
        for finding in &mut delta.findings {
            let was_unknown =
                unknown.contains(finding.sensor.as_str()) || unread.contains(finding.path.as_str());
            if finding.state == FindingState::Introduced && was_unknown {
                finding.state = FindingState::Unknown;
            }
        }
        let gaps: Vec<(String, Gap)> = after
            .readings
            .into_iter()
            .filter_map(|reading| Some((reading.sensor, reading.gap?)))
            .collect();
        WriteOutcome { delta, gaps, skipped }
    }
}

fn unmeasured(path: &RelPath, reason: &str) -> SkippedFile {
    SkippedFile { path: path.to_string(), reason: reason.to_owned() }
}

fn measure_request(project: &Project, files: Vec<RelPath>, deadline: Instant) -> MeasureRequest {
    MeasureRequest {
        files,
        measured_before: Arc::default(),
        skipped: Vec::new(),
        run_lsp: project.config.lsp_enabled,
        run_scan: project.config.scan_enabled,
        threshold: Severity::Error,
        deadline,
        dependents: UntouchedDependents::default(),
        comparison: None,
        conflicts: Vec::new(),
        counted_gaps: CountedGaps::All,
    }
}
