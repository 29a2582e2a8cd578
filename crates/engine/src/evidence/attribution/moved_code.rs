//! Findings of code that moved to another file. Their lines are new there, but a finding is older than the work
//! if another changed file had it at the base, on the same line of code, and no longer has it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use super::AttributionRule;
use super::compared_work::{
    ComparedFile, ComparedWork, KnownFindings, cached_base_result, has_other_server,
};
use crate::engine::{Engine, run_blocking};
use crate::evidence::base_results::BaseFile;
use crate::evidence::earlier_texts::{
    EarlierCaller, EarlierResult, EarlierSubject, OtherTexts, measure_earlier,
};
use crate::evidence::snapshot_measurement::SensorResult;
use crate::evidence::work_base::BaseText;
use crate::project::Project;
use moai_base::evidence::SensorKind;
use moai_base::finding::{Finding, FindingState, Severity};
use moai_base::path::RelPath;
use moai_host::files::Snapshot;
use moai_scan::scan_text;

/// What identifies a finding wherever its line is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct MovableFinding {
    sensor: String,
    code: String,
    severity: Severity,
    anchor_hash: String,
    /// The text of its line, without indentation.
    line: String,
}

impl MovableFinding {
    /// `None` if the finding's line is empty, which says nothing about where it came from.
    fn new(finding: &Finding, text: &str) -> Option<Self> {
        let line = text.lines().nth(finding.range.start.line as usize)?.trim();
        (!line.is_empty()).then(|| Self {
            sensor: finding.sensor.clone(),
            code: finding.code.clone(),
            severity: finding.severity,
            anchor_hash: finding.anchor_hash(),
            line: line.to_owned(),
        })
    }
}

/// A file that lost lines on which another file has a new finding.
struct MoveSource<'a> {
    /// Its text at the base, with its path there.
    before: Snapshot,
    /// `None` if the file was deleted.
    present: Option<&'a ComparedFile<'a>>,
}

impl MoveSource<'_> {
    fn is_at(&self, path: &RelPath) -> bool {
        self.present.is_some_and(|file| file.snapshot.path == *path)
    }
}

/// A finding of a source at the base.
struct EarlierFinding {
    /// The text of its file there.
    text: Arc<str>,
    finding: Finding,
    /// True if the server may have read present texts of other files, which may have caused it.
    is_doubtful: bool,
}

/// How many findings left their files.
#[derive(Clone, Copy, Debug, Default)]
struct GoneFindings {
    older: usize,
    doubtful: usize,
}

impl GoneFindings {
    /// Takes one of them, certain ones first: the state of a finding that it became; `None` if none is left.
    fn take(&mut self) -> Option<FindingState> {
        let (count, state) = if self.older > 0 {
            (&mut self.older, FindingState::Existing)
        } else {
            (&mut self.doubtful, FindingState::Unknown)
        };
        *count = count.checked_sub(1)?;
        Some(state)
    }
}

/// The attributed results and what they are compared with.
pub(super) struct MovedCode<'a> {
    pub(super) engine: &'a Arc<Engine>,
    pub(super) project: &'a Project,
    pub(super) compared: &'a ComparedWork<'a>,
    pub(super) deleted: &'a BTreeMap<RelPath, BaseText>,
    /// For each result, how it was attributed.
    pub(super) rules: &'a [Option<AttributionRule<'a>>],
    /// The end of the time for measurements of the base state.
    pub(super) deadline: Instant,
}

impl MovedCode<'_> {
    /// Marks the findings that came with moved code as existing, or as perhaps older.
    pub(super) async fn mark_existing(&self, results: &mut [SensorResult]) {
        let mut wanted: BTreeSet<String> = BTreeSet::new();
        for (rule, result) in self.changed_results(results) {
            let text = &rule.file.snapshot.text;
            let introduced = result.findings.iter().filter(|finding| finding.is_introduced());
            let movable = introduced.filter_map(|finding| MovableFinding::new(finding, text));
            wanted.extend(movable.map(|finding| finding.line));
        }
        let sources = self.sources(&wanted);
        if sources.is_empty() {
            return;
        }
        let mut gone: HashMap<MovableFinding, GoneFindings> = HashMap::new();
        for earlier in self.base_findings(&sources, results).await {
            if let Some(finding) = MovableFinding::new(&earlier.finding, &earlier.text) {
                let gone = gone.entry(finding).or_default();
                let count = if earlier.is_doubtful { &mut gone.doubtful } else { &mut gone.older };
                *count += 1;
            }
        }
        for (rule, result) in self.changed_results(results) {
            if !sources.iter().any(|source| source.is_at(&result.path)) {
                continue;
            }
            let text = &rule.file.snapshot.text;
            let left = result.findings.iter().filter(|finding| !finding.is_introduced());
            for finding in left.filter_map(|finding| MovableFinding::new(finding, text)) {
                if let Some(gone) = gone.get_mut(&finding) {
                    gone.take();
                }
            }
        }
        for (rule, result) in self.rules.iter().zip(results) {
            let Some(rule) = rule.as_ref().filter(|rule| rule.file.is_changed) else { continue };
            for finding in result.findings.iter_mut().filter(|finding| finding.is_introduced()) {
                let movable = MovableFinding::new(finding, &rule.file.snapshot.text);
                let gone = movable.and_then(|it| gone.get_mut(&it));
                if let Some(state) = gone.and_then(GoneFindings::take) {
                    finding.state = state;
                }
            }
        }
    }

    fn changed_results<'r>(
        &'r self,
        results: &'r [SensorResult],
    ) -> impl Iterator<Item = (&'r AttributionRule<'r>, &'r SensorResult)> {
        let attributed = self.rules.iter().zip(results);
        attributed.filter_map(|(rule, result)| {
            Some((rule.as_ref().filter(|rule| rule.file.is_changed)?, result))
        })
    }

    /// The changed and deleted files that lost one of these lines.
    fn sources(&self, lines: &BTreeSet<String>) -> Vec<MoveSource<'_>> {
        if lines.is_empty() {
            return Vec::new();
        }
        let mut sources = Vec::new();
        for file in self.compared.files.values().filter(|file| file.is_changed) {
            if let BaseText::Text(before) = file.base
                && has_lost(lines, before, &file.snapshot.text)
            {
                let before = Snapshot::of_text(file.base_path.clone(), Arc::clone(before));
                sources.push(MoveSource { before, present: Some(file) });
            }
        }
        for (path, before) in self.deleted {
            if let BaseText::Text(before) = before
                && has_lost(lines, before, "")
            {
                let before = Snapshot::of_text(path.clone(), Arc::clone(before));
                sources.push(MoveSource { before, present: None });
            }
        }
        sources
    }

    /// The findings of the sources at the base; those of an unmeasured one are left out, so that its moved code
    /// counts as new.
    async fn base_findings(
        &self,
        sources: &[MoveSource<'_>],
        results: &[SensorResult],
    ) -> Vec<EarlierFinding> {
        let mut found = Vec::new();
        let comparison = self.compared.comparison;
        let (mut subjects, mut unscanned) = (Vec::new(), Vec::new());
        for source in sources {
            let before = &source.before;
            let mut add = |findings: Vec<Finding>, is_doubtful: bool| {
                let text = &before.text;
                let earlier = findings.into_iter().map(|finding| {
                    let text = Arc::clone(text);
                    EarlierFinding { text, finding, is_doubtful }
                });
                found.extend(earlier);
            };
            unscanned.push(before.clone());
            if source.present.is_none() {
                let mut sensors = HashSet::new();
                for result in results {
                    let Some(server) = result.server else { continue };
                    if !sensors.insert(&result.sensor) {
                        continue;
                    }
                    let (path, sensor) = (before.path.clone(), result.sensor.clone());
                    let file = BaseFile { path, hash: before.hash, sensor };
                    let base = &comparison.base.id;
                    let known = self.engine.ledger().base_results.get(base, &file, server);
                    add(known.unwrap_or_default().findings, false);
                }
            }
            for (rule, result) in self.rules.iter().zip(results) {
                let is_own = source.is_at(&result.path) && result.kind == SensorKind::Lsp;
                let Some(rule) = rule.as_ref().filter(|_| is_own) else { continue };
                if let KnownFindings::Measured(base_result) = &rule.known {
                    add(base_result.findings.clone(), false);
                } else if let KnownFindings::PartlyMeasured(base_result, _) = &rule.known {
                    add(base_result.findings.clone(), true);
                } else if let Some(base_result) =
                    cached_base_result(self.engine, comparison, result, before)
                {
                    add(base_result.findings, false);
                } else if !rule.file.is_renamed()
                    && !has_other_server(self.engine, comparison, result, &before.path)
                    && let Some(choice) = self.compared.servers.find(&result.path, &result.sensor)
                {
                    let (snapshot, choice) = (before.clone(), choice.clone());
                    subjects.push(EarlierSubject { snapshot, choice });
                }
            }
        }
        let rules = Arc::clone(&self.project.rules);
        let scan = move |before: Snapshot| {
            let outcome = scan_text(&rules, &before.path, &before.text, before.hash);
            let text = before.text;
            outcome.findings.into_iter().map(move |finding| {
                let text = Arc::clone(&text);
                EarlierFinding { text, finding, is_doubtful: false }
            })
        };
        let scans = run_blocking(move || unscanned.into_iter().flat_map(scan).collect::<Vec<_>>());
        found.extend(scans.await.unwrap_or_default());
        let texts: Vec<Arc<str>> =
            subjects.iter().map(|subject| Arc::clone(&subject.snapshot.text)).collect();
        let Some(state) = self.compared.earlier_state(self.project).await else { return found };
        let (engine, project, caller) = (self.engine, self.project, EarlierCaller::Verdict);
        let measured =
            measure_earlier(engine, project, &state, subjects, caller, self.deadline).await;
        for (text, measured) in texts.into_iter().zip(measured) {
            let Some(EarlierResult { result, others }) = measured else { continue };
            let base_result = result.base_result().unwrap_or_default();
            found.extend(base_result.findings.into_iter().map(|finding| {
                let text = Arc::clone(&text);
                EarlierFinding { text, finding, is_doubtful: others != OtherTexts::Earlier }
            }));
        }
        found
    }
}

/// True if a text lost one of the lines, or one of its copies.
fn has_lost(lines: &BTreeSet<String>, before: &str, now: &str) -> bool {
    let mut lost: HashMap<&str, usize> = HashMap::new();
    for line in before.lines().map(str::trim).filter(|line| lines.contains(*line)) {
        *lost.entry(line).or_default() += 1;
    }
    for line in now.lines().map(str::trim) {
        if let Some(count) = lost.get_mut(line) {
            *count = count.saturating_sub(1);
        }
    }
    lost.values().any(|count| *count > 0)
}
