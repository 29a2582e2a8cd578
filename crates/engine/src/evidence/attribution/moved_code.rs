//! Findings of code that moved to another file. Their lines are new there, but a finding is older than the work
//! if another changed file had it at the base, on the same line of code, and no longer has it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use super::{
    AttributionRule, BaseComparison, ComparedFile, KnownFindings, cached_base_result,
    earlier_state, find_server, has_other_server, is_partly_measured,
};
use crate::engine::{Engine, run_blocking};
use crate::evidence::base_results::BaseFile;
use crate::evidence::earlier_texts::{EarlierCaller, EarlierSubject, measure_earlier};
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

/// The attributed results and what they are compared with.
pub(super) struct MovedCode<'a> {
    pub(super) engine: &'a Arc<Engine>,
    pub(super) project: &'a Project,
    pub(super) comparison: &'a BaseComparison,
    pub(super) files: &'a BTreeMap<RelPath, ComparedFile<'a>>,
    pub(super) deleted: &'a BTreeMap<RelPath, BaseText>,
    /// For each result, how it was attributed.
    pub(super) rules: &'a [Option<AttributionRule<'a>>],
    /// The end of the time for measurements of the base state.
    pub(super) deadline: Instant,
}

impl MovedCode<'_> {
    /// Marks the findings that came with moved code as existing.
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
        let mut gone: HashMap<MovableFinding, usize> = HashMap::new();
        for (before, finding) in self.base_findings(&sources, results).await {
            if let Some(finding) = MovableFinding::new(&finding, &before) {
                *gone.entry(finding).or_default() += 1;
            }
        }
        for (rule, result) in self.changed_results(results) {
            if !sources.iter().any(|source| source.is_at(&result.path)) {
                continue;
            }
            let text = &rule.file.snapshot.text;
            let left = result.findings.iter().filter(|finding| !finding.is_introduced());
            for finding in left.filter_map(|finding| MovableFinding::new(finding, text)) {
                if let Some(count) = gone.get_mut(&finding) {
                    *count = count.saturating_sub(1);
                }
            }
        }
        for (rule, result) in self.rules.iter().zip(results) {
            let Some(rule) = rule.as_ref().filter(|rule| rule.file.is_changed) else { continue };
            for finding in result.findings.iter_mut().filter(|finding| finding.is_introduced()) {
                let movable = MovableFinding::new(finding, &rule.file.snapshot.text);
                if let Some(count @ 1..) = movable.and_then(|it| gone.get_mut(&it)) {
                    *count -= 1;
                    finding.state = FindingState::Existing;
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
        for file in self.files.values().filter(|file| file.is_changed) {
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

    /// The findings of the sources at the base, each with the text of its file there; those of an unmeasured one
    /// are left out, so that its moved code counts as new.
    async fn base_findings(
        &self,
        sources: &[MoveSource<'_>],
        results: &[SensorResult],
    ) -> Vec<(Arc<str>, Finding)> {
        let mut found = Vec::new();
        let state = earlier_state(self.comparison, self.files);
        let (mut subjects, mut unscanned) = (Vec::new(), Vec::new());
        for source in sources {
            let before = &source.before;
            let mut add = |findings: Vec<Finding>| {
                found.extend(findings.into_iter().map(|it| (Arc::clone(&before.text), it)));
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
                    let base = &self.comparison.base.id;
                    let known = self.engine.ledger().base_results.get(base, &file, server);
                    add(known.unwrap_or_default().findings);
                }
            }
            for (rule, result) in self.rules.iter().zip(results) {
                let is_own = source.is_at(&result.path) && result.kind == SensorKind::Lsp;
                let Some(rule) = rule.as_ref().filter(|_| is_own) else { continue };
                if let KnownFindings::Measured(base_result) = &rule.known {
                    add(base_result.findings.clone());
                } else if let Some(base_result) =
                    cached_base_result(self.engine, self.comparison, result, before)
                {
                    add(base_result.findings);
                } else if !rule.file.is_renamed()
                    && !has_other_server(self.engine, self.comparison, result, &before.path)
                    && let Some(choice) = find_server(self.engine, self.project, result)
                {
                    let subject = EarlierSubject { snapshot: before.clone(), choice };
                    if !is_partly_measured(self.engine, self.project, &state, &subject) {
                        subjects.push(subject);
                    }
                }
            }
        }
        let rules = Arc::clone(&self.project.rules);
        let scan = move |before: Snapshot| {
            let outcome = scan_text(&rules, &before.path, &before.text, before.hash);
            let text = before.text;
            outcome.findings.into_iter().map(move |finding| (Arc::clone(&text), finding))
        };
        let scans = run_blocking(move || unscanned.into_iter().flat_map(scan).collect::<Vec<_>>());
        found.extend(scans.await.unwrap_or_default());
        let texts: Vec<Arc<str>> =
            subjects.iter().map(|subject| Arc::clone(&subject.snapshot.text)).collect();
        let measured = measure_earlier(
            self.engine,
            self.project,
            &state,
            subjects,
            EarlierCaller::Verdict,
            self.deadline,
        )
        .await;
        for (text, result) in texts.into_iter().zip(measured) {
            let base_result = result.and_then(|result| result.base_result()).unwrap_or_default();
            found.extend(base_result.findings.into_iter().map(|it| (Arc::clone(&text), it)));
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
