//! Attributes findings by comparison with the base state of the work: introduced, older, or perhaps
//! older. If the base state cannot be measured in time, lines and names decide; findings that they
//! leave open may be older.

mod moved_code;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use self::moved_code::MovedCode;
use crate::engine::{Engine, run_blocking};
use crate::evidence::base_results::{BaseFile, BaseResult};
use crate::evidence::dependents::package_names;
use crate::evidence::earlier_texts::{
    EarlierCaller, EarlierState, EarlierSubject, measure_earlier, reads_present_texts,
};
use crate::evidence::gather::{CountedGaps, UntouchedDependents};
use crate::evidence::renamed_files::renamed;
use crate::evidence::snapshot_measurement;
use crate::evidence::snapshot_measurement::SensorResult;
use crate::evidence::unshown_files::UnshownFiles;
use crate::evidence::work_base::{BaseText, WorkBase};
use crate::project::Project;
use moai_base::delta::Delta;
use moai_base::evidence::SensorKind;
use moai_base::finding::{Finding, FindingState, Severity, has_errors};
use moai_base::foreign_text::one_line;
use moai_base::limits::DOUBTED_MESSAGE_CHARS_MAX;
use moai_base::lines::LineHashes;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::Snapshot;
use moai_host::servers::resolve::ResolvedServer;
use moai_lsp::faults::is_kept_out_by_itself;
use moai_lsp::impact::TouchedSymbols;
use moai_lsp::impact::packages::PackageNames;
use moai_scan::{ScanOutcome, scan_text};

/// The base that findings are compared with.
#[derive(Clone, Debug)]
pub(crate) struct BaseComparison {
    pub(crate) base: Arc<WorkBase>,
    /// Deleted files of the base state.
    pub(crate) deleted: Vec<RelPath>,
    /// Files that configure servers and differ from the base state.
    pub(crate) configuration: Vec<RelPath>,
    pub(crate) unshown: UnshownFiles,
    /// True if older findings are excluded in changed files as well; otherwise only in unchanged ones.
    pub(crate) includes_changed: bool,
}

/// Input of an attribution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttributionRequest<'a> {
    pub(crate) comparison: &'a BaseComparison,
    /// The measured files.
    pub(crate) snapshots: &'a [Snapshot],
    pub(crate) dependents: &'a UntouchedDependents,
    /// The lowest severity that is counted.
    pub(crate) threshold: Severity,
    /// The end of the time for measurements of the base state.
    pub(crate) deadline: Instant,
    pub(crate) counted_gaps: CountedGaps,
}

/// A measured file and its base.
struct ComparedFile<'a> {
    snapshot: &'a Snapshot,
    base: &'a BaseText,
    /// The path in the base state; different from the present one if the file was renamed.
    base_path: &'a RelPath,
    is_changed: bool,
}

impl ComparedFile<'_> {
    fn is_renamed(&self) -> bool {
        *self.base_path != self.snapshot.path
    }
}

/// Sets the state of every finding, and removes those that are or may be older; the latter leave a
/// gap. Returns the number of older ones at or above the threshold.
pub(crate) async fn attribute_findings(
    engine: &Arc<Engine>,
    project: &Project,
    request: AttributionRequest<'_>,
    results: &mut [SensorResult],
) -> usize {
    let AttributionRequest { comparison, snapshots, dependents, threshold, deadline, counted_gaps } =
        request;
    let paths: BTreeSet<RelPath> = snapshots.iter().map(|snapshot| snapshot.path.clone()).collect();
    let base = Arc::clone(&comparison.base);
    let deleted: BTreeSet<RelPath> = comparison.deleted.iter().cloned().collect();
    let root = project.root.clone();
    let read = run_blocking(move || {
        let packages = package_names(&root, paths.iter().chain(&deleted));
        (base.texts(&paths), base.texts(&deleted), packages)
    });
    // Without the base texts every finding counts.
    let Some((texts, deleted_texts, packages)) = read.await else { return 0 };
    let created: Vec<&Snapshot> = snapshots
        .iter()
        .filter(|snapshot| texts.get(&snapshot.path) == Some(&BaseText::Absent))
        .collect();
    let renames = renamed(&created, &deleted_texts);
    let mut files = BTreeMap::new();
    for snapshot in snapshots {
        let base_path = renames.get(&snapshot.path).unwrap_or(&snapshot.path);
        let base = texts.get(base_path).or_else(|| deleted_texts.get(base_path));
        let Some(base) = base else { continue };
        let is_changed = base.hash() != Some(snapshot.hash);
        let file = ComparedFile { snapshot, base, base_path, is_changed };
        files.insert(snapshot.path.clone(), file);
    }
    let ChangedSymbols { earlier, all: touched } =
        ChangedSymbols::find(project, &files, &deleted_texts, &packages);
    let known = base_findings(engine, project, comparison, &files, results, deadline).await;
    let mut rules = Vec::with_capacity(results.len());
    for (result, known) in results.iter_mut().zip(known) {
        let file = files.get(&result.path);
        let file = file.filter(|file| !file.is_changed || comparison.includes_changed);
        let Some(file) = file else {
            rules.push(None);
            continue;
        };
        let rule = AttributionRule { project, file, known, dependents, touched: &touched };
        result.findings = rule.attribute_result(result);
        if rule.has_older_fault()
            && let Some(gap) = &mut result.gap
            && gap.cause == Cause::ProjectFault
        {
            // The work did not cause the fault, so the agent need not fix it before it stops.
            gap.cause = Cause::ExistingFault;
        }
        if !file.is_changed
            && comparison.configuration.is_empty()
            && !earlier.may_change_meaning_of(&file.snapshot.text)
            && let Some(gap) = result.gap.as_mut().filter(|gap| is_kept_out_by_itself(gap))
        {
            // Its own name or text excludes it, before the change as after it.
            gap.cause = Cause::SwitchedOff;
        }
        rules.push(Some(rule));
    }
    let deleted = &deleted_texts;
    let moved =
        MovedCode { engine, project, comparison, files: &files, deleted, rules: &rules, deadline };
    moved.mark_existing(results).await;
    let mut older = 0;
    for (result, rule) in results.iter_mut().zip(&rules) {
        if let Some(rule) = rule {
            older += exclude_older(result, &rule.doubt(), threshold, counted_gaps);
        }
    }
    older
}

/// The symbols touched by the changes that other files may mention.
struct ChangedSymbols {
    /// Those of files with an earlier text: other files may have mentioned them before the change.
    earlier: TouchedSymbols,
    all: TouchedSymbols,
}

impl ChangedSymbols {
    fn find(
        project: &Project,
        files: &BTreeMap<RelPath, ComparedFile<'_>>,
        deleted: &BTreeMap<RelPath, BaseText>,
        packages: &PackageNames,
    ) -> Self {
        let (mut earlier, mut created) = (TouchedSymbols::default(), TouchedSymbols::default());
        let renamed: BTreeSet<&RelPath> =
            files.values().filter(|file| file.is_renamed()).map(|file| file.base_path).collect();
        for file in files.values().filter(|file| file.is_renamed()) {
            earlier.extend(TouchedSymbols::from_move(file.base_path, &file.snapshot.path));
        }
        // Keys of a configuration, such as `type`, are not symbol names.
        let is_code = |path: &RelPath| !project.is_configuration(path);
        for (path, file) in files.iter().filter(|(path, file)| file.is_changed && is_code(path)) {
            let (before, symbols) = match file.base {
                BaseText::Text(before) => (Some(&**before), &mut earlier),
                BaseText::Absent => (None, &mut created),
                BaseText::Unknown(_) => continue,
            };
            let now = Some(&*file.snapshot.text);
            let changed = TouchedSymbols::visible_elsewhere(path, before, now);
            symbols.extend(changed.in_package(packages, path));
        }
        for (path, text) in
            deleted.iter().filter(|(path, _)| !renamed.contains(path) && is_code(path))
        {
            if let BaseText::Text(before) = text {
                let changed = TouchedSymbols::visible_elsewhere(path, Some(before), None);
                earlier.extend(changed.in_package(packages, path));
            }
        }
        let mut all = earlier.clone();
        all.extend(created);
        Self { earlier, all }
    }
}

/// The findings of one file and sensor in the base state.
enum KnownFindings {
    /// The base state was measured.
    Measured(BaseResult),
    /// The earlier text was measured, perhaps with present texts of other files: what it lacks is new, and what
    /// it has may be older or due to them.
    PartlyMeasured(BaseResult),
    /// The base state is unmeasured, for this reason.
    Unmeasured(Gap),
}

/// For each result, the sensor's findings in the base state: stored ones, or measured now.
async fn base_findings(
    engine: &Arc<Engine>,
    project: &Project,
    comparison: &BaseComparison,
    files: &BTreeMap<RelPath, ComparedFile<'_>>,
    results: &[SensorResult],
    deadline: Instant,
) -> Vec<KnownFindings> {
    let mut known = Vec::with_capacity(results.len());
    let touched = touched_servers(engine, project, comparison, files);
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
            && let Some(choice) = find_server(engine, project, result)
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
                && is_judged_alone(project, &result.path)
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
    let state = earlier_state(comparison, files);
    let is_partial =
        |subject: &EarlierSubject| is_partly_measured(engine, project, &state, subject);
    let partial: Vec<bool> = subjects.iter().map(is_partial).collect();
    let results =
        measure_earlier(engine, project, &state, subjects, EarlierCaller::Verdict, deadline).await;
    for ((index, is_partial), result) in indices.into_iter().zip(partial).zip(results) {
        let Some(result) = result else { continue };
        known[index] = match (result.base_result(), result.gap.clone()) {
            (Some(base_result), _) if is_partial => KnownFindings::PartlyMeasured(base_result),
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

/// True if an earlier text would be measured together with present texts of other files that matter for it.
fn is_partly_measured(
    engine: &Engine,
    project: &Project,
    state: &EarlierState,
    subject: &EarlierSubject,
) -> bool {
    let (path, server) = (&subject.snapshot.path, &subject.choice.id);
    is_checker(project, path, server)
        && !is_judged_alone(project, path)
        && reads_present_texts(engine, project, state, subject)
}

/// True if an edit of one file can cause the server's findings in another.
fn is_checker(project: &Project, path: &RelPath, server: &str) -> bool {
    let catalogue = &project.workspace.catalogue;
    let language = catalogue.language_of(path).map_or("", |language| language.id);
    !catalogue.is_companion(server, language)
}

/// True if no other source decides about the findings in a file, as in YAML.
fn is_judged_alone(project: &Project, path: &RelPath) -> bool {
    let language = project.workspace.catalogue.language_of(path);
    language.is_some_and(|language| language.spec.auxiliary)
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

/// The servers that handle a file that differs from the base state, or read their configuration from
/// one.
fn touched_servers(
    engine: &Engine,
    project: &Project,
    comparison: &BaseComparison,
    files: &BTreeMap<RelPath, ComparedFile<'_>>,
) -> BTreeSet<String> {
    let changed = files.iter().filter(|(_, file)| file.is_changed || file.is_renamed());
    let changed = changed.map(|(path, _)| path);
    let mut touched = BTreeSet::new();
    for path in changed.chain(&comparison.deleted).chain(&comparison.unshown.files) {
        let extension = path.extension().unwrap_or_default();
        touched.extend(project.workspace.catalogue.data_readers(&extension).map(str::to_owned));
        let choices = snapshot_measurement::select_servers(engine, project, path);
        touched.extend(choices.into_iter().flatten().map(|choice| choice.id));
    }
    if !comparison.configuration.is_empty() || comparison.unshown.has_folder_link {
        touched.extend(project.workspace.catalogue.server_ids().map(str::to_owned));
    }
    touched
}

fn find_server(
    engine: &Engine,
    project: &Project,
    result: &SensorResult,
) -> Option<ResolvedServer> {
    let choices = snapshot_measurement::select_servers(engine, project, &result.path);
    choices.into_iter().flatten().find(|choice| choice.id == result.sensor)
}

fn cached_base_result(
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
fn has_other_server(
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
fn needs_base(result: &SensorResult) -> bool {
    let has_fault = result.gap.as_ref().is_some_and(|gap| gap.cause == Cause::ProjectFault);
    has_fault || !result.findings.is_empty()
}

fn earlier_state(
    comparison: &BaseComparison,
    files: &BTreeMap<RelPath, ComparedFile<'_>>,
) -> EarlierState {
    let mut state = EarlierState {
        texts: Vec::new(),
        created_or_deleted: [&*comparison.deleted, &comparison.unshown.files].concat(),
        has_folder_link: comparison.unshown.has_folder_link,
        configuration: comparison.configuration.clone(),
    };
    for (path, file) in files.iter().filter(|(_, file)| file.is_changed || file.is_renamed()) {
        match file.base {
            BaseText::Text(_) if file.is_renamed() => state.created_or_deleted.push(path.clone()),
            BaseText::Text(text) => {
                state.texts.push(Snapshot::of_text(path.clone(), Arc::clone(text)));
            }
            BaseText::Absent | BaseText::Unknown(_) => state.created_or_deleted.push(path.clone()),
        }
    }
    state
}

/// Input for the attribution of one result.
struct AttributionRule<'a> {
    project: &'a Project,
    file: &'a ComparedFile<'a>,
    known: KnownFindings,
    dependents: &'a UntouchedDependents,
    touched: &'a TouchedSymbols,
}

impl AttributionRule<'_> {
    fn attribute_result(&self, result: &SensorResult) -> Vec<Finding> {
        let now = result.findings.clone();
        let AttributionRule { file, .. } = self;
        match file.base {
            // Without the earlier text, no finding can be shown to be older.
            BaseText::Absent | BaseText::Unknown(_) => with_state(now, FindingState::Introduced),
            BaseText::Text(_)
                if !file.is_changed
                    && (result.kind != SensorKind::Lsp
                        || !is_checker(self.project, &result.path, &result.sensor)) =>
            {
                with_state(now, FindingState::Existing)
            }
            BaseText::Text(before) => {
                let old = LineHashes::from_text(before);
                let new = LineHashes::from_text(&file.snapshot.text);
                let findings = match &self.known {
                    KnownFindings::Measured(base_result) => {
                        self.attribute_by_base(&old, base_result, &new, now)
                    }
                    KnownFindings::PartlyMeasured(base_result) => {
                        let findings = self.attribute_by_base(&old, base_result, &new, now);
                        let (mut introduced, shared): (Vec<Finding>, Vec<Finding>) =
                            findings.into_iter().partition(Finding::is_introduced);
                        introduced.extend(self.attribute_by_lines(&old, &new, shared, before));
                        introduced
                    }
                    KnownFindings::Unmeasured(_) => {
                        self.attribute_by_lines(&old, &new, now, before)
                    }
                };
                if file.is_changed { findings } else { non_errors_as_existing(findings) }
            }
        }
    }

    fn attribute_by_base(
        &self,
        old: &LineHashes,
        base_result: &BaseResult,
        new: &LineHashes,
        now: Vec<Finding>,
    ) -> Vec<Finding> {
        let catalogue = &self.project.workspace.catalogue;
        let hides_warnings =
            now.first().is_some_and(|finding| catalogue.errors_hide_warnings(&finding.sensor));
        let delta = Delta::by_line_map(old, &base_result.findings, new, now);
        if !hides_warnings {
            return delta.findings;
        }
        let had_errors = base_result.has_fault || has_errors(&base_result.findings);
        delta.with_hidden_warnings(old, had_errors, new).findings
    }

    /// True if the base state already had a project fault.
    fn has_older_fault(&self) -> bool {
        matches!(&self.known, KnownFindings::Measured(base_result) if base_result.has_fault)
    }

    /// The reason why findings of this file may be older.
    fn doubt(&self) -> String {
        match &self.known {
            KnownFindings::Unmeasured(gap) => gap.detail.clone(),
            KnownFindings::PartlyMeasured(_) => {
                "its earlier text may have been measured with present texts of other files"
                    .to_owned()
            }
            KnownFindings::Measured(_) => String::new(),
        }
    }

    fn attribute_by_lines(
        &self,
        old: &LineHashes,
        new: &LineHashes,
        now: Vec<Finding>,
        before: &str,
    ) -> Vec<Finding> {
        let text = &*self.file.snapshot.text;
        let edited = if self.file.is_changed {
            TouchedSymbols::from_edit(&self.file.snapshot.path, Some(before), Some(text))
        } else {
            TouchedSymbols::default()
        };
        let mut findings = Delta::by_edited_lines(old, new, now, |finding| {
            edited.concerns_finding(finding, text) || self.touched.concerns_finding(finding, text)
        })
        .findings;
        // What the session saw begins with its first hook, which may follow the change; so it decides only
        // about findings that neither lines nor names attribute to the change.
        let affected = &self.dependents.affected;
        for finding in findings.iter_mut().filter(|it| it.state == FindingState::Unknown) {
            if affected.was_absent_before(finding) {
                finding.state = FindingState::Introduced;
            }
        }
        findings
    }
}

fn with_state(mut findings: Vec<Finding>, state: FindingState) -> Vec<Finding> {
    for finding in &mut findings {
        finding.state = state;
    }
    findings
}

/// In an unchanged file, only errors are attributed to the work.
fn non_errors_as_existing(mut findings: Vec<Finding>) -> Vec<Finding> {
    for finding in findings.iter_mut().filter(|finding| finding.severity < Severity::Error) {
        finding.state = FindingState::Existing;
    }
    findings
}

/// Keeps only the introduced findings. A finding that may be older becomes a gap. Returns the number of older
/// ones at or above the threshold.
fn exclude_older(
    result: &mut SensorResult,
    doubt: &str,
    threshold: Severity,
    counted: CountedGaps,
) -> usize {
    let mut older = 0;
    let mut doubted: Vec<Finding> = Vec::new();
    for finding in std::mem::take(&mut result.findings) {
        let counts = finding.severity >= threshold;
        match finding.state {
            FindingState::Introduced => result.findings.push(finding),
            FindingState::Existing => older += usize::from(counts),
            FindingState::Unknown if counts => doubted.push(finding),
            FindingState::Unknown => {}
        }
    }
    let worst = doubted.iter().rev().max_by_key(|finding| finding.severity);
    let has_counted_gap = result
        .gap
        .as_ref()
        .is_some_and(|gap| gap.cause != Cause::SwitchedOff && counted.includes(gap.cause));
    if let Some(worst) = worst
        && !has_counted_gap
    {
        let (count, path, line) = (doubted.len(), &result.path, worst.range.start.line + 1);
        let plural = if count == 1 { "" } else { "s" };
        let message = one_line(&worst.message, DOUBTED_MESSAGE_CHARS_MAX);
        let detail = format!(
            "{count} finding{plural} in {path} may be older (line {line}: {message}): {doubt}"
        );
        result.gap = Some(Gap::new(Cause::NoBaseline, detail));
    }
    older
}
