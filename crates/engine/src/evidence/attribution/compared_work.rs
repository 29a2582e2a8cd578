//! The measured files of an attribution, compared with their base state, and what sensors found there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use super::BaseComparison;
use crate::engine::{Engine, run_blocking};
use crate::evidence::base_results::{BaseFile, BaseResult};
use crate::evidence::earlier_texts::{
    EarlierCaller, EarlierResult, EarlierState, EarlierSubject, OtherTexts, ServedState,
    measure_earlier,
};
use crate::evidence::server_choices::ServerChoices;
use crate::evidence::snapshot_measurement::SensorResult;
use crate::evidence::work_base::BaseText;
use crate::project::Project;
use moai_base::evidence::SensorKind;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::Snapshot;
use moai_scan::{ScanOutcome, scan_text};

/// A measured file and its base.
pub(super) struct ComparedFile<'a> {
    pub(super) snapshot: &'a Snapshot,
    pub(super) base: &'a BaseText,
    /// The path in the base state; different from the present one if the file was renamed.
    pub(super) base_path: &'a RelPath,
    pub(super) is_changed: bool,
}

impl ComparedFile<'_> {
    pub(super) fn is_renamed(&self) -> bool {
        *self.base_path != self.snapshot.path
    }
}

/// The findings of one file and sensor in the base state.
pub(super) enum KnownFindings {
    /// The base state was measured.
    Measured(BaseResult),
    /// The earlier text was measured with texts of other files that are not all earlier ones: what it lacks is new,
    /// and what it has may be older or due to them.
    PartlyMeasured(BaseResult, OtherTexts),
    /// The base state is unmeasured, for this reason.
    Unmeasured(Gap),
}

/// The measured files, and the base that they are compared with.
pub(super) struct ComparedWork<'a> {
    pub(super) comparison: &'a BaseComparison,
    pub(super) files: &'a BTreeMap<RelPath, ComparedFile<'a>>,
    /// Of these files, and of those that differ from the base in any other way; none if no result needs its base.
    pub(super) servers: ServerChoices,
}

impl ComparedWork<'_> {
    /// For each result, the sensor's findings in the base state: stored ones, or measured now.
    pub(super) async fn base_findings(
        &self,
        engine: &Arc<Engine>,
        project: &Project,
        results: &[SensorResult],
        deadline: Instant,
    ) -> Vec<KnownFindings> {
        let Self { comparison, files, .. } = self;
        let mut known = Vec::with_capacity(results.len());
        let touched = self.touched_servers(project);
        let mut scans = base_scans(project, files, results).await;
        let (mut subjects, mut indices) = (Vec::new(), Vec::new());
        for result in results {
            let gap = Gap::new(Cause::NoBaseline, "not measured before the change");
            let mut base_findings = KnownFindings::Unmeasured(gap);
            if result.kind == SensorKind::Scan
                && let Some(known) = scans.remove(&result.path)
            {
                base_findings = known;
            } else if let Some(file) = files.get(&result.path)
                && result.kind == SensorKind::Lsp
                && needs_base(result)
                && let BaseText::Text(text) = file.base
                && let Some(choice) = self.servers.find(&result.path, &result.sensor).cloned()
            {
                let snapshot = Snapshot::of_text(file.base_path.clone(), Arc::clone(text));
                if !touched.contains(&result.sensor)
                    && !has_other_server(engine, comparison, result, file.base_path)
                    && let Some(base_result) = result.base_result()
                {
                    // No file that this server reads has changed, so its base result is the same.
                    base_findings = KnownFindings::Measured(base_result);
                } else if let Some(mut base_result) =
                    cached_base_result(engine, comparison, result, &snapshot)
                {
                    for finding in &mut base_result.findings {
                        finding.path = result.path.clone();
                    }
                    base_findings = KnownFindings::Measured(base_result);
                } else if has_other_server(engine, comparison, result, file.base_path) {
                    let reason = "the server's packages, programs or settings changed since";
                    base_findings = KnownFindings::Unmeasured(Gap::new(Cause::NoBaseline, reason));
                } else if file.is_renamed()
                    && !file.is_changed
                    && !project.is_program(&result.path)
                    && let Some(base_result) = result.base_result()
                {
                    // Its text alone decides, and that is the same.
                    base_findings = KnownFindings::Measured(base_result);
                } else if file.is_renamed() {
                    let gap = Gap::new(Cause::NoBaseline, "the file was renamed");
                    base_findings = KnownFindings::Unmeasured(gap);
                } else {
                    indices.push(known.len());
                    subjects.push(EarlierSubject { snapshot, choice });
                }
            }
            known.push(base_findings);
        }
        if subjects.is_empty() {
            return known;
        }
        let Some(state) = self.earlier_state(project).await else { return known };
        let results =
            measure_earlier(engine, project, &state, subjects, EarlierCaller::Verdict, deadline)
                .await;
        for (index, result) in indices.into_iter().zip(results) {
            let Some(EarlierResult { result, others }) = result else { continue };
            known[index] = match (result.base_result(), result.gap.clone()) {
                (Some(base_result), _) if others != OtherTexts::Earlier => {
                    KnownFindings::PartlyMeasured(base_result, others)
                }
                (Some(base_result), _) => {
                    cache_base_result(engine, comparison, &result, base_result.clone());
                    KnownFindings::Measured(base_result)
                }
                (None, Some(gap)) => KnownFindings::Unmeasured(gap),
                (None, None) => continue,
            };
        }
        known
    }

    /// The servers that handle a file that differs from the base state, or read their configuration from
    /// one.
    fn touched_servers(&self, project: &Project) -> BTreeSet<String> {
        let Self { comparison, files, servers } = self;
        let changed = files.iter().filter(|(_, file)| file.is_changed || file.is_renamed());
        let changed = changed.map(|(path, _)| path);
        let mut touched = BTreeSet::new();
        for path in changed.chain(&comparison.deleted).chain(&comparison.unshown.files) {
            let extension = path.extension().unwrap_or_default();
            touched.extend(project.workspace.catalogue.data_readers(&extension).map(str::to_owned));
            touched.extend(servers.of(path).iter().map(|choice| choice.id.clone()));
        }
        if !comparison.configuration.is_empty() || comparison.unshown.has_folder_link {
            touched.extend(project.workspace.catalogue.server_ids().map(str::to_owned));
        }
        touched
    }

    /// The base state of the files that differ from it; `None` after a panic.
    pub(super) async fn earlier_state(&self, project: &Project) -> Option<Arc<ServedState>> {
        let Self { comparison, files, servers } = self;
        let mut state = EarlierState {
            texts: Vec::new(),
            created_or_deleted: [&*comparison.deleted, &comparison.unshown.files].concat(),
            has_folder_link: comparison.unshown.has_folder_link,
            configuration: comparison.configuration.clone(),
        };
        for (path, file) in files.iter().filter(|(_, file)| file.is_changed || file.is_renamed()) {
            match file.base {
                BaseText::Text(_) if file.is_renamed() => {
                    state.created_or_deleted.push(path.clone());
                }
                BaseText::Text(text) => {
                    state.texts.push(Snapshot::of_text(path.clone(), Arc::clone(text)));
                }
                BaseText::Absent | BaseText::Unknown(_) => {
                    state.created_or_deleted.push(path.clone());
                }
            }
        }
        state.with_servers(project, servers.clone()).await
    }
}

/// The scan's findings in the base texts of changed files that have findings now.
async fn base_scans(
    project: &Project,
    files: &BTreeMap<RelPath, ComparedFile<'_>>,
    results: &[SensorResult],
) -> BTreeMap<RelPath, KnownFindings> {
    let mut texts = Vec::new();
    for result in results.iter().filter(|it| it.kind == SensorKind::Scan && needs_base(it)) {
        if let Some(ComparedFile { base: BaseText::Text(text), is_changed: true, .. }) =
            files.get(&result.path)
        {
            texts.push(Snapshot::of_text(result.path.clone(), Arc::clone(text)));
        }
    }
    let rules = Arc::clone(&project.rules);
    let scan = move |base: Snapshot| {
        let ScanOutcome { findings, gap } = scan_text(&rules, &base.path, &base.text, base.hash);
        let known = match gap {
            Some(gap) => KnownFindings::Unmeasured(gap),
            None => KnownFindings::Measured(BaseResult { findings, has_fault: false }),
        };
        (base.path, known)
    };
    run_blocking(move || texts.into_iter().map(scan).collect()).await.unwrap_or_default()
}

pub(super) fn cached_base_result(
    engine: &Engine,
    comparison: &BaseComparison,
    result: &SensorResult,
    base: &Snapshot,
) -> Option<BaseResult> {
    let sensor = result.sensor.clone();
    let file = BaseFile { path: base.path.clone(), hash: base.hash, sensor };
    engine.ledger().base_results.get(&comparison.base.id, &file, result.server?)
}

/// True if the server's packages, programs or settings changed since the loop began: a measurement of the earlier
/// text would not show the base.
pub(super) fn has_other_server(
    engine: &Engine,
    comparison: &BaseComparison,
    result: &SensorResult,
    base_path: &RelPath,
) -> bool {
    let (base, sensor) = (&comparison.base.id, &result.sensor);
    result.server.is_some_and(|server| {
        engine.ledger().base_results.has_other_server(base, base_path, sensor, server)
    })
}

fn cache_base_result(
    engine: &Engine,
    comparison: &BaseComparison,
    result: &SensorResult,
    base_result: BaseResult,
) {
    if let Some(server) = result.server {
        let (path, sensor) = (result.path.clone(), result.sensor.clone());
        let file = BaseFile { path, hash: result.hash, sensor };
        engine.ledger().base_results.keep(&comparison.base.id, file, server, base_result);
    }
}

/// True if a result must be compared: it has findings, or a fault that may be older.
pub(super) fn needs_base(result: &SensorResult) -> bool {
    let has_fault = result.gap.as_ref().is_some_and(|gap| gap.cause == Cause::ProjectFault);
    has_fault || !result.findings.is_empty()
}
