//! Rewrites of many files as one set: planned in memory, refused or applied as a whole, and compared
//! by their findings.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use crate::code::change_journal;
use crate::code::file_sweep::FileSweep;
use crate::engine::{Engine, measure_blocking};
use crate::project::Project;
use moai_base::change::{ChangeSet, NewContent, PathChange};
use moai_base::delta::Delta;
use moai_base::evidence::SkippedFile;
use moai_base::finding::{Finding, FindingState, Severity};
use moai_base::hash::ContentHash;
use moai_base::limits::{CHANGED_BYTES_MAX, CHANGED_FILES_MAX};
use moai_base::path::RelPath;
use moai_base::protected::{foreign_folder, is_generated};
use moai_base::verdict::{Cause, Gap};
use moai_host::files::transaction::WriteReach;
use moai_host::files::{Snapshot, other_repository};
use moai_host::git;
use moai_report::answers::QueryError;
use moai_report::rename::{ChangedFile, WriteOutcome};
use moai_report::rewrite::RewriteReport;
use moai_report::search::SearchCoverage;
use moai_scan::edits::EditedText;
use moai_scan::search::RewriteError;
use moai_scan::{RuleSet, scan_text};

/// Edits a text; `None` leaves it unchanged.
pub(crate) type RewriteFn<'e> =
    dyn Fn(&RelPath, &str) -> Result<Option<EditedText>, RewriteError> + Sync + 'e;

/// Texts that change together.
#[derive(Default)]
pub(crate) struct RewritePlan {
    changed: Vec<(Snapshot, EditedText)>,
    /// The number of searched files.
    searched_files: usize,
    pub(crate) skipped: Vec<SkippedFile>,
    /// Files that would change if they did not belong to other repositories.
    pub(crate) foreign: Vec<SkippedFile>,
    refusal: Option<QueryError>,
}

/// Searches the files and plans their changes. Refused as a whole if one text cannot be edited
/// correctly or too much would change. Files that the project must not edit are left out.
pub(crate) fn plan_rewrite(
    project: &Project,
    sweep: &FileSweep,
    deadline: Instant,
    editor: &RewriteFn<'_>,
) -> Result<RewritePlan, QueryError> {
    let mut plan = RewritePlan { skipped: sweep.skipped.clone(), ..RewritePlan::default() };
    let shares = sweep.fold(project, deadline, &|plan: &mut RewritePlan, file| {
        plan.add_file(&project.root, file, editor);
    });
    for share in shares {
        plan.changed.extend(share.changed);
        plan.searched_files += share.searched_files;
        plan.skipped.extend(share.skipped);
        plan.foreign.extend(share.foreign);
        plan.refusal = plan.refusal.or(share.refusal);
    }
    if let Some(refusal) = plan.refusal {
        return Err(refusal);
    }
    if Instant::now() >= deadline {
        return Err(refused("timed_out", "time ran out before all files were read".to_owned()));
    }
    plan.leave_ignored(project)?;
    plan.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    plan.foreign.sort_by(|a, b| a.path.cmp(&b.path));
    plan.refuse_too_much()?;
    Ok(plan)
}

fn refused(kind: &'static str, reason: String) -> QueryError {
    QueryError::Refused { kind, reason }
}

impl RewritePlan {
    fn add_file(
        &mut self,
        root: &Path,
        file: Result<Snapshot, SkippedFile>,
        editor: &RewriteFn<'_>,
    ) {
        // Beyond the bound the plan is refused anyway.
        if self.refusal.is_some() || self.changed.len() > CHANGED_FILES_MAX {
            return;
        }
        let file = match file {
            Ok(file) => file,
            Err(skipped) => return self.skipped.push(skipped),
        };
        let edited = match editor(&file.path, &file.text) {
            Ok(None) => {
                self.searched_files += 1;
                return;
            }
            edited => edited,
        };
        if let Some(repository) = other_repository(root, &file.path) {
            let reason = format!("{repository} is another repository");
            return self.foreign.push(SkippedFile { path: file.path.to_string(), reason });
        }
        if let Some(reason) = protection(&file) {
            return self.skip(&file.path, reason);
        }
        match edited {
            Ok(None) => {}
            Ok(Some(edited)) => {
                self.searched_files += 1;
                self.changed.push((file, edited));
            }
            Err(RewriteError::NotSearchable(gap)) => self.skip(&file.path, gap.to_string()),
            Err(error) => {
                let kind = match error {
                    RewriteError::SyntaxError { .. } => "syntax_error",
                    RewriteError::NewError { .. } => "new_error",
                    RewriteError::NoFixpoint(_) | RewriteError::NotSearchable(_) => "endless",
                };
                self.refusal = Some(refused(kind, format!("{}: {error}", file.path)));
            }
        }
    }

    fn skip(&mut self, path: &RelPath, reason: String) {
        self.skipped.push(SkippedFile { path: path.to_string(), reason });
    }

    /// Leaves out files that git ignores; the request may have listed one explicitly.
    fn leave_ignored(&mut self, project: &Project) -> Result<(), QueryError> {
        let paths: Vec<RelPath> = self.changed.iter().map(|(file, _)| file.path.clone()).collect();
        let ignored = git::ignored_paths(&project.root, &paths)
            .map_err(|error| refused("unreadable", format!(".git: {error}")))?;
        for path in &ignored {
            self.skip(path, "ignored by git".to_owned());
        }
        self.changed.retain(|(file, _)| !ignored.contains(&file.path));
        self.searched_files -= ignored.len();
        Ok(())
    }

    fn refuse_too_much(&self) -> Result<(), QueryError> {
        if self.changed.len() > CHANGED_FILES_MAX {
            let reason = format!("more than {CHANGED_FILES_MAX} files would change; name fewer");
            return Err(refused("too_many_files", reason));
        }
        let sizes = self.changed.iter().map(|(file, edited)| file.text.len() + edited.text.len());
        if sizes.sum::<usize>() > CHANGED_BYTES_MAX {
            let mib = CHANGED_BYTES_MAX / (1024 * 1024);
            let reason = format!("more than {mib} MiB would be read and written; name fewer files");
            return Err(refused("too_many_bytes", reason));
        }
        Ok(())
    }

    /// True if every requested file was searched and, if it matched, may be changed.
    pub(crate) fn covers_named(&self, sweep: &FileSweep) -> bool {
        !sweep.has_named(&self.skipped) && !sweep.has_named(&self.foreign)
    }

    /// The report for the user, without the findings after the rewrite.
    pub(crate) fn to_rewritten(&self, kinds: Vec<String>) -> RewriteReport {
        let files = self.changed.iter().map(|(file, edited)| ChangedFile {
            path: file.path.to_string(),
            moved_from: None,
            before: Some(file.text.to_string()),
            after: Some(edited.text.clone()),
        });
        RewriteReport {
            coverage: SearchCoverage {
                files: self.searched_files,
                skipped: self.skipped.clone(),
                kinds,
            },
            foreign: self.foreign.clone(),
            edits: self.changed.iter().map(|(_, edited)| edited.edits).sum(),
            withheld_fixes: 0,
            overlapping: self.changed.iter().map(|(_, edited)| edited.lost).sum(),
            files: files.collect(),
            outcome: None,
        }
    }

    fn set(&self) -> ChangeSet {
        let changes = self.changed.iter().map(|(file, edited)| PathChange {
            path: file.path.clone(),
            before: Some(file.hash),
            after: Some(NewContent {
                bytes: edited.text.as_bytes().into(),
                permissions_from: None,
            }),
        });
        ChangeSet { changes: changes.collect(), emptied_folders: Vec::new() }
    }

    /// Applies all changes or none, and reports the findings that they introduced.
    pub(crate) async fn apply(
        self,
        engine: &Arc<Engine>,
        project: &Project,
        rules: Arc<RuleSet>,
    ) -> Result<WriteOutcome, QueryError> {
        let reach = WriteReach::OwnRepository;
        match change_journal::apply_changes(engine, project, self.set(), reach).await {
            Some(Ok(())) => {}
            Some(Err(error)) => return Err(refused("not_written", error.to_string())),
            None => {
                let reason = "internal error; the next use repairs it".to_owned();
                return Err(refused("not_written", reason));
            }
        }
        if !project.config.scan_enabled {
            return Ok(only_gap(Gap::new(Cause::SwitchedOff, "switched off")));
        }
        Ok(measure_blocking(move || self.outcome(&rules)).await.unwrap_or_else(only_gap))
    }

    fn outcome(&self, rules: &RuleSet) -> WriteOutcome {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut gaps: Vec<(String, Gap)> = Vec::new();
        let handled = self.changed.iter().filter(|(file, _)| rules.handles(&file.path));
        for (file, edited) in handled {
            let hash = ContentHash::of_bytes(edited.text.as_bytes());
            let now = scan_text(rules, &file.path, &edited.text, hash);
            let then: Vec<Finding> = scan_text(rules, &file.path, &file.text, file.hash).findings;
            before.extend(then);
            after.extend(now.findings);
            gaps.extend(now.gap.map(|gap| ("scan".to_owned(), gap)));
        }
        gaps.dedup();
        WriteOutcome { delta: delta_after_rewrite(&before, after), gaps, skipped: Vec::new() }
    }
}

/// The introduced findings. A rewrite inside a finding's code changes its fingerprint. Therefore,
/// when a rule lost a finding in a file, a new one of the same rule there counts as the same.
fn delta_after_rewrite(before: &[Finding], after: Vec<Finding>) -> Delta {
    let mut delta = Delta::by_fingerprint(Some(before), after);
    let present: BTreeSet<&str> =
        delta.findings.iter().map(|finding| finding.id.as_str()).collect();
    let mut lost: BTreeMap<(RelPath, String), usize> = BTreeMap::new();
    for finding in before.iter().filter(|finding| !present.contains(finding.id.as_str())) {
        *lost.entry((finding.path.clone(), finding.code.clone())).or_default() += 1;
    }
    for finding in
        delta.findings.iter_mut().filter(|finding| finding.state == FindingState::Introduced)
    {
        let key = (finding.path.clone(), finding.code.clone());
        let Some(count) = lost.get_mut(&key).filter(|count| **count > 0) else { continue };
        *count -= 1;
        finding.state = FindingState::Existing;
        if finding.severity > Severity::Hint {
            delta.fixed = delta.fixed.saturating_sub(1);
        }
    }
    delta
}

fn only_gap(gap: Gap) -> WriteOutcome {
    let gaps = vec![("scan".to_owned(), gap)];
    WriteOutcome { delta: Delta::default(), gaps, skipped: Vec::new() }
}

/// Why a file must not be edited.
fn protection(file: &Snapshot) -> Option<String> {
    let folder = foreign_folder(&file.path).map(|folder| format!("in {folder}/"));
    folder.or_else(|| is_generated(file.text.as_bytes()).then(|| "marked as generated".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use moai_base::finding::assign_fingerprints;
    use moai_base::samples::finding;

    #[test]
    fn a_finding_rewritten_inside_is_kept_and_another_of_its_rule_is_new() {
        let found = |anchors: &[(&str, &str)]| {
            let mut found: Vec<Finding> = (0..)
                .zip(anchors)
                .map(|(line, (code, anchor))| Finding {
                    anchor: (*anchor).to_owned(),
                    ..finding("a.py", line, code)
                })
                .collect();
            assign_fingerprints(&mut found);
            found
        };
        let check = |before: &[(&str, &str)], after: &[(&str, &str)], new: usize, fixed: usize| {
            let delta = delta_after_rewrite(&found(before), found(after));
            let introduced = delta.in_state(FindingState::Introduced).count();
            assert_eq!((introduced, delta.fixed), (new, fixed), "{before:?} {after:?}");
        };
        check(&[("x", "f(a)")], &[("x", "f(b)")], 0, 0);
        check(&[("x", "f(a)")], &[("x", "f(a)"), ("x", "f(b)")], 1, 0);
        check(&[("x", "f(a)"), ("y", "g")], &[("x", "f(b)")], 0, 1);
        check(&[("x", "f(a)")], &[("y", "f(a)")], 1, 1);
    }
}
