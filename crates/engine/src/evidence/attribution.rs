//! Whose findings are they? Compares what was measured with the base state of the work: what was
//! there before is older, what was not is introduced. Where the base state cannot be measured in
//! time, lines and names decide, and what they leave open may be older.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use crate::engine::{Engine, run_blocking};
use crate::evidence::base_results::{BaseFile, BaseResult};
use crate::evidence::earlier_texts::{EarlierState, EarlierSubject, measure_earlier};
use crate::evidence::gather;
use crate::evidence::gather::{SensorResult, UntouchedDependents};
use crate::evidence::renamed_files::renamed;
use crate::evidence::work_base::{BaseText, WorkBase};
use crate::project::Project;
use moai_base::delta::Delta;
use moai_base::evidence::SensorKind;
use moai_base::finding::{Finding, FindingState, Severity};
use moai_base::hash::ContentHash;
use moai_base::lines::LineHashes;
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};
use moai_host::files::Snapshot;
use moai_host::servers::resolve::ResolvedServer;
use moai_lsp::impact::TouchedSymbols;
use moai_scan::scan_text;

/// What findings are compared with.
#[derive(Clone, Debug)]
pub(crate) struct BaseComparison {
    /// The base state.
    pub(crate) base: Arc<WorkBase>,
    /// Files of the base state that do not exist any more.
    pub(crate) deleted: Vec<RelPath>,
    /// Files that configure servers and differ from the base state.
    pub(crate) configuration: Vec<RelPath>,
    /// Whether what is older in changed files is left out as well; else only what is older in files
    /// that did not change.
    pub(crate) includes_changed: bool,
}

/// What is to be judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AttributionRequest<'a> {
    pub(crate) comparison: &'a BaseComparison,
    /// The measured files as they were read.
    pub(crate) snapshots: &'a [Snapshot],
    pub(crate) dependents: &'a UntouchedDependents,
    /// The lowest severity that counts as older.
    pub(crate) threshold: Severity,
    /// When measurements of the base state must have ended.
    pub(crate) deadline: Instant,
}

/// What was left out of the measured findings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ExcludedCounts {
    /// Findings at or above the threshold that are older.
    pub(crate) older: usize,
}

/// One measured file next to its base.
struct ComparedFile<'a> {
    snapshot: &'a Snapshot,
    base: &'a BaseText,
    /// Its name in the base state; another one where it was renamed.
    base_path: &'a RelPath,
    is_changed: bool,
}

impl ComparedFile<'_> {
    fn is_renamed(&self) -> bool {
        *self.base_path != self.snapshot.path
    }
}

/// Sets the state of every finding, and takes out those that are older or may be; the latter leave
/// a gap in their place.
pub(crate) async fn attribute_findings(
    engine: &Arc<Engine>,
    project: &Project,
    request: AttributionRequest<'_>,
    words: &mut [SensorResult],
) -> ExcludedCounts {
    let AttributionRequest { comparison, snapshots, dependents, threshold, deadline } = request;
    let paths: BTreeSet<RelPath> = snapshots.iter().map(|it| it.path.clone()).collect();
    let base = Arc::clone(&comparison.base);
    let gone = comparison.deleted.clone();
    let read = run_blocking(move || {
        let gone: BTreeSet<RelPath> = gone.into_iter().collect();
        (base.texts(&paths), base.texts(&gone))
    });
    let Some((texts, gone_texts)) = read.await else { return ExcludedCounts::default() };
    let is_created = |snapshot: &&Snapshot| texts.get(&snapshot.path) == Some(&BaseText::Absent);
    let created: Vec<&Snapshot> = snapshots.iter().filter(is_created).collect();
    let renames = renamed(&created, &gone_texts);
    let mut files = BTreeMap::new();
    for snapshot in snapshots {
        let base_path = renames.get(&snapshot.path).unwrap_or(&snapshot.path);
        let base = texts.get(base_path).or_else(|| gone_texts.get(base_path));
        let Some(base) = base else { continue };
        let is_changed = base.hash() != Some(snapshot.hash);
        let file = ComparedFile { snapshot, base, base_path, is_changed };
        files.insert(snapshot.path.clone(), file);
    }
    let sought = touched_symbols(&files, &gone_texts);
    let known = base_findings(engine, project, comparison, &files, words, deadline).await;
    let mut left_out = ExcludedCounts::default();
    for (word, known) in words.iter_mut().zip(known) {
        let Some(file) = files.get(&word.path) else { continue };
        if file.is_changed && !comparison.includes_changed {
            continue;
        }
        let includes_changed = comparison.includes_changed;
        let rule = AttributionRule {
            project,
            file,
            known,
            dependents,
            touched: &sought,
            includes_changed,
        };
        word.findings = rule.attribute_result(word);
        if rule.has_older_fault()
            && let Some(gap) = &mut word.gap
            && gap.cause == Cause::ProjectFault
        {
            // The work did not make it, so the agent need not fix it before it stops.
            gap.cause = Cause::ExistingFault;
        }
        exclude_older(word, &rule.doubt(), threshold, &mut left_out);
    }
    left_out
}

/// What the changes touched that other files may mention.
fn touched_symbols(
    files: &BTreeMap<RelPath, ComparedFile<'_>>,
    gone: &BTreeMap<RelPath, BaseText>,
) -> TouchedSymbols {
    let mut sought = TouchedSymbols::default();
    let renamed: BTreeSet<&RelPath> =
        files.values().filter(|file| file.is_renamed()).map(|file| file.base_path).collect();
    for file in files.values().filter(|file| file.is_renamed()) {
        sought.extend(TouchedSymbols::from_move(file.base_path, &file.snapshot.path));
    }
    for (path, file) in files.iter().filter(|(_, file)| file.is_changed) {
        if let BaseText::Text(before) = file.base {
            sought.extend(TouchedSymbols::visible_elsewhere(
                path,
                Some(before),
                Some(&file.snapshot.text),
            ));
        } else if *file.base == BaseText::Absent {
            sought.extend(TouchedSymbols::visible_elsewhere(path, None, Some(&file.snapshot.text)));
        }
    }
    for (path, text) in gone.iter().filter(|(path, _)| !renamed.contains(path)) {
        if let BaseText::Text(before) = text {
            sought.extend(TouchedSymbols::visible_elsewhere(path, Some(before), None));
        }
    }
    sought
}

/// What is known of a file in the base state.
enum KnownFindings {
    /// These were there.
    Measured(BaseResult),
    /// Nothing is known, because of this.
    Unmeasured(Gap),
}

/// For each result what its sensor found in the base state: known from before, or measured now.
async fn base_findings(
    engine: &Arc<Engine>,
    project: &Project,
    comparison: &BaseComparison,
    files: &BTreeMap<RelPath, ComparedFile<'_>>,
    words: &[SensorResult],
    deadline: Instant,
) -> Vec<KnownFindings> {
    let mut known = Vec::with_capacity(words.len());
    let touched = touched_servers(engine, project, comparison, files);
    let (mut subjects, mut places) = (Vec::new(), Vec::new());
    for word in words {
        let nothing = Gap::new(Cause::NoBaseline, "not measured before the change");
        let mut found = KnownFindings::Unmeasured(nothing);
        if let Some(file) = files.get(&word.path)
            && word.kind == SensorKind::Lsp
            && needs_base(word)
            && let BaseText::Text(text) = file.base
            && let Some(choice) = choice_of(engine, project, word)
        {
            let snapshot = snapshot_of(file.base_path, text);
            if !touched.contains(&word.sensor)
                && let Some(set) = word.base_result()
            {
                // Nothing that this server reads has changed: this is what it found then.
                found = KnownFindings::Measured(set);
            } else if let Some(mut set) = cached_base_result(engine, comparison, word, &snapshot) {
                for finding in &mut set.findings {
                    finding.path = word.path.clone();
                }
                found = KnownFindings::Measured(set);
            } else if file.is_renamed() {
                let gap = Gap::new(Cause::NoBaseline, "the file had another name then");
                found = KnownFindings::Unmeasured(gap);
            } else {
                places.push(known.len());
                subjects.push(EarlierSubject { snapshot, choice });
            }
        }
        known.push(found);
    }
    if subjects.is_empty() {
        return known;
    }
    let state = earlier_state(comparison, files);
    let results = measure_earlier(engine, project, &state, subjects, deadline).await;
    for (place, result) in places.into_iter().zip(results) {
        let Some(result) = result else { continue };
        known[place] = match (result.base_result(), result.gap.clone()) {
            (Some(set), _) => {
                cache_base_result(engine, comparison, &result, set.clone());
                KnownFindings::Measured(set)
            }
            (None, Some(gap)) => KnownFindings::Unmeasured(gap),
            (None, None) => continue,
        };
    }
    known
}

/// The servers that speak about a file which differs from the base state, or read their
/// configuration from one.
fn touched_servers(
    engine: &Engine,
    project: &Project,
    comparison: &BaseComparison,
    files: &BTreeMap<RelPath, ComparedFile<'_>>,
) -> BTreeSet<String> {
    let changed = files.iter().filter(|(_, file)| file.is_changed || file.is_renamed());
    let changed = changed.map(|(path, _)| path);
    let mut touched = BTreeSet::new();
    for path in changed.chain(&comparison.deleted) {
        let extension = path.extension().unwrap_or_default();
        touched.extend(project.workspace.catalogue.data_readers(&extension).map(str::to_owned));
        let choices = gather::select_servers(engine, project, path);
        touched.extend(choices.into_iter().flatten().map(|choice| choice.id));
    }
    if !comparison.configuration.is_empty() {
        touched.extend(project.workspace.catalogue.server_ids().map(str::to_owned));
    }
    touched
}

fn choice_of(engine: &Engine, project: &Project, word: &SensorResult) -> Option<ResolvedServer> {
    let choices = gather::select_servers(engine, project, &word.path);
    choices.into_iter().flatten().find(|choice| choice.id == word.sensor)
}

fn snapshot_of(path: &RelPath, text: &Arc<str>) -> Snapshot {
    let hash = ContentHash::of_bytes(text.as_bytes());
    Snapshot { path: path.clone(), text: Arc::clone(text), hash }
}

fn cached_base_result(
    engine: &Engine,
    comparison: &BaseComparison,
    word: &SensorResult,
    base: &Snapshot,
) -> Option<BaseResult> {
    let file = BaseFile { path: base.path.clone(), hash: base.hash, server: word.server? };
    engine.ledger().base_results.get(&comparison.base.id, &file)
}

fn cache_base_result(
    engine: &Engine,
    comparison: &BaseComparison,
    word: &SensorResult,
    result: BaseResult,
) {
    if let Some(server) = word.server {
        let file = BaseFile { path: word.path.clone(), hash: word.hash, server };
        engine.ledger().base_results.keep(&comparison.base.id, file, result);
    }
}

/// Whether there is something to compare: findings, or a fault that may be older.
fn needs_base(word: &SensorResult) -> bool {
    let has_fault = word.gap.as_ref().is_some_and(|gap| gap.cause == Cause::ProjectFault);
    has_fault || !word.findings.is_empty()
}

fn earlier_state(
    comparison: &BaseComparison,
    files: &BTreeMap<RelPath, ComparedFile<'_>>,
) -> EarlierState {
    let mut state = EarlierState {
        texts: Vec::new(),
        created_or_deleted: comparison.deleted.clone(),
        configuration: comparison.configuration.clone(),
    };
    for (path, file) in files.iter().filter(|(_, file)| file.is_changed || file.is_renamed()) {
        match file.base {
            BaseText::Text(_) if file.is_renamed() => state.created_or_deleted.push(path.clone()),
            BaseText::Text(text) => state.texts.push(snapshot_of(path, text)),
            BaseText::Absent | BaseText::Unknown(_) => state.created_or_deleted.push(path.clone()),
        }
    }
    state
}

/// How the findings of one file are judged.
struct AttributionRule<'a> {
    project: &'a Project,
    file: &'a ComparedFile<'a>,
    known: KnownFindings,
    dependents: &'a UntouchedDependents,
    touched: &'a TouchedSymbols,
    includes_changed: bool,
}

impl AttributionRule<'_> {
    fn attribute_result(&self, word: &SensorResult) -> Vec<Finding> {
        let now = word.findings.clone();
        let AttributionRule { file, .. } = self;
        match file.base {
            // Without its earlier text nothing shows that a finding is older.
            BaseText::Absent | BaseText::Unknown(_) => with_state(now, FindingState::Introduced),
            BaseText::Text(_) if !file.is_changed && !self.is_checker(word) => {
                with_state(now, FindingState::Existing)
            }
            BaseText::Text(before) if word.kind == SensorKind::Scan => {
                let hash = ContentHash::of_bytes(before.as_bytes());
                let earlier = scan_text(&self.project.rules, &word.path, before, hash);
                let lines =
                    (LineHashes::from_text(before), LineHashes::from_text(&file.snapshot.text));
                Delta::by_line_map(&lines.0, &earlier.findings, &lines.1, now).findings
            }
            BaseText::Text(before) => {
                let (old, new) =
                    (LineHashes::from_text(before), LineHashes::from_text(&file.snapshot.text));
                let judged = match &self.known {
                    KnownFindings::Measured(set) => {
                        Delta::by_line_map(&old, &set.findings, &new, now).findings
                    }
                    KnownFindings::Unmeasured(_) => {
                        self.attribute_by_lines(&old, &new, now, before)
                    }
                };
                match (file.is_changed, self.includes_changed) {
                    (true, _) => judged,
                    (false, true) => non_errors_as_existing(judged),
                    // Asked about the change alone: what it does not name is not about it.
                    (false, false) => unknown_as_existing(non_errors_as_existing(judged)),
                }
            }
        }
    }

    /// Whether the project lacked something in the base state already.
    fn has_older_fault(&self) -> bool {
        matches!(&self.known, KnownFindings::Measured(set) if set.has_fault)
    }

    /// Why findings of this file may be older.
    fn doubt(&self) -> String {
        match &self.known {
            KnownFindings::Unmeasured(gap) => gap.detail.clone(),
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
        let sought = if self.file.is_changed {
            TouchedSymbols::from_edit(&self.file.snapshot.path, Some(before), Some(text))
        } else {
            TouchedSymbols::default()
        };
        let is_meant = |finding: &Finding| {
            sought.concerns_finding(finding, text) || self.touched.concerns_finding(finding, text)
        };
        let mut judged = Delta::by_edited_lines(old, new, now, is_meant).findings;
        for finding in &mut judged {
            match self.dependents.affected.was_present_before(finding) {
                Some(true) => finding.state = FindingState::Existing,
                Some(false) => finding.state = FindingState::Introduced,
                None => {}
            }
        }
        judged
    }

    /// Whether the sensor's findings in a file can come from an edit of another one.
    fn is_checker(&self, word: &SensorResult) -> bool {
        let catalogue = &self.project.workspace.catalogue;
        let language = catalogue.language_of(&word.path).map_or("", |it| it.0);
        word.kind == SensorKind::Lsp && !catalogue.is_companion(&word.sensor, language)
    }
}

fn with_state(mut findings: Vec<Finding>, state: FindingState) -> Vec<Finding> {
    for finding in &mut findings {
        finding.state = state;
    }
    findings
}

/// Of a file that did not change only new errors are the work's.
fn non_errors_as_existing(mut findings: Vec<Finding>) -> Vec<Finding> {
    for finding in findings.iter_mut().filter(|it| it.severity < Severity::Error) {
        finding.state = FindingState::Existing;
    }
    findings
}

fn unknown_as_existing(mut findings: Vec<Finding>) -> Vec<Finding> {
    for finding in findings.iter_mut().filter(|it| it.state == FindingState::Unknown) {
        finding.state = FindingState::Existing;
    }
    findings
}

/// Leaves the introduced findings. What may be older is no verdict: a gap says so.
fn exclude_older(
    word: &mut SensorResult,
    doubt: &str,
    threshold: Severity,
    left_out: &mut ExcludedCounts,
) {
    let mut may_be_older = 0;
    word.findings.retain(|finding| {
        let counts = usize::from(finding.severity >= threshold);
        match finding.state {
            FindingState::Introduced => return true,
            FindingState::Existing => left_out.older += counts,
            FindingState::Unknown => may_be_older += counts,
        }
        false
    });
    if may_be_older > 0 && word.gap.is_none() {
        let plural = if may_be_older == 1 { "" } else { "s" };
        let path = &word.path;
        let detail = format!("{may_be_older} finding{plural} in {path} may be older: {doubt}");
        word.gap = Some(Gap::new(Cause::NoBaseline, detail));
    }
}
