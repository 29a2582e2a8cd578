//! Changes of many texts as one set: planned in memory, refused as a whole or made as a whole, and
//! what they introduced. It must not know what decides about a text.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use super::changes;
use super::engine::{Engine, blocking};
use super::project::Project;
use super::sweep::Sweep;
use crate::base::change::{After, Change, ChangeSet};
use crate::base::delta::Delta;
use crate::base::evidence::Skipped;
use crate::base::finding::{Finding, Severity, State};
use crate::base::hash::ContentHash;
use crate::base::limits::{CHANGED_BYTES_MAX, CHANGED_FILES_MAX};
use crate::base::path::RelPath;
use crate::base::protected::{foreign_folder, is_generated};
use crate::base::verdict::{Cause, Gap};
use crate::files::Snapshot;
use crate::git;
use crate::report::answers::No;
use crate::report::rename::{ChangedFile, Outcome};
use crate::report::rewrite::Rewritten;
use crate::report::search::Looked;
use crate::scan::edits::Edited;
use crate::scan::search::NotRewritten;
use crate::scan::{RuleSet, scan};

/// What becomes of a text; `None`: it stays as it is.
pub(super) type Editor<'e> =
    dyn Fn(&RelPath, &str) -> Result<Option<Edited>, NotRewritten> + Sync + 'e;

/// Texts that change together.
#[derive(Default)]
pub(super) struct Plan {
    changed: Vec<(Snapshot, Edited)>,
    /// Files that were looked through.
    files: usize,
    pub(super) skipped: Vec<Skipped>,
    refusal: Option<No>,
}

/// Looks through the files and plans their changes. Refused as a whole when one text cannot be
/// changed as it should, or when it is too much. What is not the project's to edit is left out.
pub(super) fn plan(
    project: &Project,
    sweep: &Sweep,
    deadline: Instant,
    editor: &Editor<'_>,
) -> Result<Plan, No> {
    let look = |plan: &mut Plan, file: Result<Snapshot, Skipped>| plan.look(file, editor);
    let mut plan = Plan { skipped: sweep.skipped.clone(), ..Plan::default() };
    for share in sweep.fold(project, deadline, &look) {
        plan.changed.extend(share.changed);
        plan.files += share.files;
        plan.skipped.extend(share.skipped);
        plan.refusal = plan.refusal.or(share.refusal);
    }
    if let Some(no) = plan.refusal {
        return Err(no);
    }
    if Instant::now() >= deadline {
        return Err(refused("timed_out", "the time was up before all files were read".to_owned()));
    }
    plan.leave_ignored(project)?;
    plan.skipped.sort_by(|a, b| a.path.cmp(&b.path));
    plan.refuse_too_much()?;
    Ok(plan)
}

fn refused(kind: &'static str, reason: String) -> No {
    No::Refused { kind, reason }
}

impl Plan {
    fn look(&mut self, file: Result<Snapshot, Skipped>, editor: &Editor<'_>) {
        // What is beyond the bound is refused anyway and need not be kept.
        if self.refusal.is_some() || self.changed.len() > CHANGED_FILES_MAX {
            return;
        }
        let file = match file {
            Ok(file) => file,
            Err(skipped) => return self.skipped.push(skipped),
        };
        let edited = match editor(&file.path, &file.text) {
            Ok(None) => {
                self.files += 1;
                return;
            }
            edited => edited,
        };
        if let Some(reason) = protection(&file) {
            return self.skip(&file.path, reason);
        }
        match edited {
            Ok(None) => {}
            Ok(Some(edited)) => {
                self.files += 1;
                self.changed.push((file, edited));
            }
            Err(NotRewritten::Unsearched(gap)) => self.skip(&file.path, gap.to_string()),
            Err(error) => {
                let kind = match error {
                    NotRewritten::Broken { .. } => "syntax_error",
                    NotRewritten::NewError { .. } => "new_error",
                    NotRewritten::Endless(_) | NotRewritten::Unsearched(_) => "endless",
                };
                self.refusal = Some(refused(kind, format!("{}: {error}", file.path)));
            }
        }
    }

    fn skip(&mut self, path: &RelPath, reason: String) {
        self.skipped.push(Skipped { path: path.to_string(), reason });
    }

    /// Leaves out what git ignores: a file may have been asked for by its name.
    fn leave_ignored(&mut self, project: &Project) -> Result<(), No> {
        let paths: Vec<RelPath> = self.changed.iter().map(|(file, _)| file.path.clone()).collect();
        let ignored = git::ignored(&project.root, &paths)
            .map_err(|error| refused("unreadable", format!(".git: {error}")))?;
        for path in &ignored {
            self.skip(path, "ignored by git".to_owned());
        }
        self.changed.retain(|(file, _)| !ignored.contains(&file.path));
        self.files -= ignored.len();
        Ok(())
    }

    fn refuse_too_much(&self) -> Result<(), No> {
        if self.changed.len() > CHANGED_FILES_MAX {
            let reason = format!("more than {CHANGED_FILES_MAX} files would change; name fewer");
            return Err(refused("too_many_files", reason));
        }
        let bytes = |(file, edited): &(Snapshot, Edited)| file.text.len() + edited.text.len();
        if self.changed.iter().map(bytes).sum::<usize>() > CHANGED_BYTES_MAX {
            let mib = CHANGED_BYTES_MAX / (1024 * 1024);
            let reason = format!("more than {mib} MiB would be read and written; name fewer files");
            return Err(refused("too_many_bytes", reason));
        }
        Ok(())
    }

    /// For the reader, without what was found afterwards.
    pub(super) fn described(&self, kinds: Vec<String>) -> Rewritten {
        let file = |(file, edited): &(Snapshot, Edited)| ChangedFile {
            path: file.path.to_string(),
            moved_from: None,
            before: Some(file.text.to_string()),
            after: Some(edited.text.clone()),
        };
        Rewritten {
            looked: Looked { files: self.files, skipped: self.skipped.clone(), kinds },
            edits: self.changed.iter().map(|(_, edited)| edited.edits).sum(),
            held: 0,
            lost: self.changed.iter().map(|(_, edited)| edited.lost).sum(),
            files: self.changed.iter().map(file).collect(),
            outcome: None,
        }
    }

    fn set(&self) -> ChangeSet {
        let change = |(file, edited): &(Snapshot, Edited)| Change {
            path: file.path.clone(),
            before: Some(file.hash),
            after: Some(After { bytes: edited.text.as_bytes().into(), like: None }),
        };
        ChangeSet { changes: self.changed.iter().map(change).collect(), emptied: Vec::new() }
    }

    /// Makes all changes, or none, and says what the scan finds that it did not find before.
    pub(super) async fn make(
        self,
        engine: &Arc<Engine>,
        project: &Project,
        rules: Arc<RuleSet>,
    ) -> Result<Outcome, No> {
        match changes::apply(engine, project, self.set()).await {
            Some(Ok(())) => {}
            Some(Err(error)) => return Err(refused("not_written", error.to_string())),
            None => {
                let reason = "internal error; the next use mends it".to_owned();
                return Err(refused("not_written", reason));
            }
        }
        let is_on = project.config.scan_enabled;
        let lost = || only_gap(Cause::Crashed, "internal error; the daemon's log says more");
        if !is_on {
            return Ok(only_gap(Cause::SwitchedOff, "switched off"));
        }
        Ok(blocking(move || self.outcome(&rules)).await.unwrap_or_else(lost))
    }

    fn outcome(&self, rules: &RuleSet) -> Outcome {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut gaps: Vec<(String, Gap)> = Vec::new();
        let spoken_of = self.changed.iter().filter(|(file, _)| rules.handles(&file.path));
        for (file, edited) in spoken_of {
            let hash = ContentHash::of(edited.text.as_bytes());
            let now = scan(rules, &file.path, &edited.text, hash);
            let then: Vec<Finding> = scan(rules, &file.path, &file.text, file.hash).findings;
            before.extend(then);
            after.extend(now.findings);
            gaps.extend(now.gap.map(|gap| ("scan".to_owned(), gap)));
        }
        gaps.dedup();
        Outcome { delta: compared(&before, after), gaps, skipped: Vec::new() }
    }
}

/// What is new. A rewrite inside of what a finding speaks of changes the text that it is known by:
/// where a rule lost a finding in a file, one more of the same rule there is that finding.
fn compared(before: &[Finding], after: Vec<Finding>) -> Delta {
    let mut delta = Delta::between(Some(before), after);
    let found: BTreeSet<&str> = delta.now.iter().map(|finding| finding.id.as_str()).collect();
    let mut lost: BTreeMap<(RelPath, String), usize> = BTreeMap::new();
    for finding in before.iter().filter(|finding| !found.contains(finding.id.as_str())) {
        *lost.entry((finding.path.clone(), finding.code.clone())).or_default() += 1;
    }
    for finding in delta.now.iter_mut().filter(|finding| finding.state == State::Introduced) {
        let key = (finding.path.clone(), finding.code.clone());
        let Some(count) = lost.get_mut(&key).filter(|count| **count > 0) else { continue };
        *count -= 1;
        finding.state = State::Existing;
        if finding.severity > Severity::Hint {
            delta.fixed = delta.fixed.saturating_sub(1);
        }
    }
    delta
}

fn only_gap(cause: Cause, detail: &str) -> Outcome {
    let gaps = vec![("scan".to_owned(), Gap::new(cause, detail))];
    Outcome { delta: Delta::default(), gaps, skipped: Vec::new() }
}

/// Why a file is not the project's to edit.
fn protection(file: &Snapshot) -> Option<String> {
    let folder = foreign_folder(&file.path).map(|folder| format!("in {folder}/"));
    folder.or_else(|| is_generated(file.text.as_bytes()).then(|| "marked as generated".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::finding::fingerprint;
    use crate::base::finding::tests::finding;

    #[test]
    fn a_finding_that_is_rewritten_inside_stays_and_one_more_of_its_rule_is_new() {
        let found = |anchors: &[(&str, &str)]| {
            let mut found: Vec<Finding> = (0..)
                .zip(anchors)
                .map(|(line, (code, anchor))| Finding {
                    anchor: (*anchor).to_owned(),
                    ..finding("a.py", line, code)
                })
                .collect();
            fingerprint(&mut found);
            found
        };
        let check = |before: &[(&str, &str)], after: &[(&str, &str)], new: usize, fixed: usize| {
            let delta = compared(&found(before), found(after));
            let introduced = delta.in_state(State::Introduced).count();
            assert_eq!((introduced, delta.fixed), (new, fixed), "{before:?} {after:?}");
        };
        check(&[("x", "f(a)")], &[("x", "f(b)")], 0, 0);
        check(&[("x", "f(a)")], &[("x", "f(a)"), ("x", "f(b)")], 1, 0);
        check(&[("x", "f(a)"), ("y", "g")], &[("x", "f(b)")], 0, 1);
        check(&[("x", "f(a)")], &[("y", "f(a)")], 1, 1);
    }
}
