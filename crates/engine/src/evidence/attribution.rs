//! Attributes findings by comparison with the base state of the work: introduced, older, or perhaps
//! older. If the base state cannot be measured in time, lines and names decide; findings that they
//! leave open may be older.

mod compared_work;
mod moved_code;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use self::compared_work::{ComparedFile, ComparedWork, KnownFindings, needs_base};
use self::moved_code::MovedCode;
use crate::engine::{Engine, run_blocking};
use crate::evidence::base_results::BaseResult;
use crate::evidence::dependents::package_names;
use crate::evidence::earlier_texts::OtherTexts;
use crate::evidence::gather::{CountedGaps, UntouchedDependents};
use crate::evidence::renamed_files::renamed;
use crate::evidence::server_choices::ServerChoices;
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
use moai_lsp::faults::is_kept_out_by_itself;
use moai_lsp::impact::TouchedSymbols;
use moai_lsp::impact::packages::PackageNames;

/// The base that findings are compared with.
#[derive(Clone, Debug)]
pub(crate) struct BaseComparison {
    pub(crate) base: Arc<WorkBase>,
    /// Deleted files of the base state.
    pub(crate) deleted: Vec<RelPath>,
    /// Files that configure servers and differ from the base state.
    pub(crate) configuration: Vec<RelPath>,
    pub(crate) unshown: UnshownFiles,
    /// True if older findings are excluded in all files; otherwise only in dependents.
    pub(crate) includes_changed: bool,
}

/// Input of an attribution.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttributionRequest<'a> {
    pub(crate) comparison: &'a BaseComparison,
    /// The measured files, and those of the work.
    pub(crate) snapshots: &'a [Snapshot],
    pub(crate) dependents: &'a UntouchedDependents,
    /// The lowest severity that is counted.
    pub(crate) threshold: Severity,
    /// The end of the time for measurements of the base state.
    pub(crate) deadline: Instant,
    pub(crate) counted_gaps: CountedGaps,
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
    let mut selected = BTreeSet::new();
    if results.iter().any(needs_base) {
        let paths = files.keys().chain(&comparison.deleted).chain(&comparison.unshown.files);
        selected = paths.cloned().collect();
    }
    let Some(servers) = ServerChoices::select(engine, project, selected).await else { return 0 };
    let compared = ComparedWork { comparison, files: &files, servers };
    let known = compared.base_findings(engine, project, results, deadline).await;
    let mut rules = Vec::with_capacity(results.len());
    for (result, known) in results.iter_mut().zip(known) {
        let file = files.get(&result.path);
        let is_dependent = dependents.files.contains(&result.path);
        let file = file.filter(|_| comparison.includes_changed || is_dependent);
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
        MovedCode { engine, project, compared: &compared, deleted, rules: &rules, deadline };
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
                        || !self.project.is_checker(&result.path, &result.sensor)) =>
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
                    KnownFindings::PartlyMeasured(base_result, others) => {
                        let findings = self.attribute_by_base(&old, base_result, &new, now);
                        let (mut introduced, shared): (Vec<Finding>, Vec<Finding>) =
                            findings.into_iter().partition(Finding::is_introduced);
                        introduced.extend(self.attribute_shared(shared, *others));
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

    /// True if the base state already had a project fault. Present texts of other files do not cause one:
    /// configurations do, and after a change of those nothing is measured.
    fn has_older_fault(&self) -> bool {
        match &self.known {
            KnownFindings::Measured(base_result)
            | KnownFindings::PartlyMeasured(base_result, _) => base_result.has_fault,
            KnownFindings::Unmeasured(_) => false,
        }
    }

    /// The reason why findings of this file may be older.
    fn doubt(&self) -> String {
        match &self.known {
            KnownFindings::Unmeasured(gap) => gap.detail.clone(),
            KnownFindings::PartlyMeasured(..) => {
                "its earlier text may have been measured with present texts of other files"
                    .to_owned()
            }
            KnownFindings::Measured(_) => {
                "its code may have moved here from a file whose earlier text was measured with present texts of others"
                    .to_owned()
            }
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
        let findings = Delta::by_edited_lines(old, new, now, |finding| {
            edited.concerns_finding(finding, text) || self.touched.concerns_finding(finding, text)
        })
        .findings;
        self.with_absent_as_introduced(findings)
    }

    /// Attributes findings that the earlier text has as well, if other files were not all in their earlier states:
    /// only those can have caused them. Where their present texts were read, their names decide.
    fn attribute_shared(&self, mut shared: Vec<Finding>, others: OtherTexts) -> Vec<Finding> {
        let text = &*self.file.snapshot.text;
        for finding in &mut shared {
            let is_touched =
                others == OtherTexts::Present && self.touched.concerns_finding(finding, text);
            finding.state =
                if is_touched { FindingState::Introduced } else { FindingState::Unknown };
        }
        self.with_absent_as_introduced(shared)
    }

    /// What the session saw begins with its first hook, which may follow the change; so it decides only about
    /// findings that neither lines nor names attribute to the change.
    fn with_absent_as_introduced(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
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
