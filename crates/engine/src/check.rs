//! `check`: measures files and reports the evidence.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::code::change_journal;
use crate::engine::{Engine, measure_blocking, run_blocking};
use crate::evidence::attribution::BaseComparison;
use crate::evidence::changed_files::ChangedFiles;
use crate::evidence::dependents::{AffectedScope, SearchedChange};
use crate::evidence::disk_poll::sync_disk;
use crate::evidence::evidence_reply::{ReportInput, ReportOptions, evidence_reply, load_baselines};
use crate::evidence::gather::{CountedGaps, MeasureRequest, UntouchedDependents};
use crate::evidence::indirect_dependents::gather_with_indirect;
use crate::evidence::merge_conflicts::merge_conflicts;
use crate::evidence::unshown_files::{UnshownFiles, changed_ignored};
use crate::evidence::work_base::{WorkBase, base_of_changes};
use crate::ledger::AffectedFiles;
use crate::project::Project;
use crate::replies::{INVALID, REFUSED, UNMEASURED, load_project};
use moai_base::evidence::SkippedFile;
use moai_base::path::RelPath;
use moai_host::files;
use moai_protocol::control::{CallerContext, CheckRequest, CommandReply};
use moai_report::human;

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    check: CheckRequest,
) -> CommandReply {
    let started_at = Instant::now();
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let baselines = match load_baselines(
        caller,
        check.baseline.as_deref(),
        check.write_baseline.as_deref(),
        change_journal::journal_folder(engine, &project),
    ) {
        Ok(baselines) => baselines,
        Err(reply) => return reply,
    };
    let base = match base_of_changes(&project, check.base.clone()).await {
        Ok(base) => base,
        Err(error) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
    };
    if check.base.is_some() && base.is_none() {
        return CommandReply::failure(INVALID, "moai-ralph: --base needs a git work tree");
    }
    // Changes of generated code that git ignores are known from the last poll.
    sync_disk(engine, &project).await;
    let found = {
        let (engine, project) = (Arc::clone(engine), project.clone());
        let (caller, check) = (caller.clone(), check.clone());
        run_blocking(move || find_check_files(&engine, &project, &caller, &check, base.as_deref()))
            .await
    };
    let CheckFileSet {
        files,
        mut skipped,
        mut note,
        may_be_empty,
        dependents,
        comparison,
        indirect,
        ..
    } = match found {
        Some(Ok(found)) => found,
        Some(Err(error)) => {
            return CommandReply::failure(INVALID, &format!("moai-ralph: {error}"));
        }
        None => {
            return CommandReply::failure(REFUSED, "moai-ralph: the files could not be listed");
        }
    };
    let options = ReportOptions {
        format: check.format,
        style: human::ReportStyle { has_color: check.color, shows_hints: check.verbose },
        fail_on: check.fail_on.clone(),
        allow_unmeasured: check.allow_unmeasured,
        baselines,
        is_tool: caller.is_tool(),
    };
    let starts = check.paths.iter().map(|path| project.resolve_path(caller, path)).collect();
    let conflicts = merge_conflicts(&project, starts).await.unwrap_or_else(|unread| {
        skipped.push(unread);
        Vec::new()
    });
    let request = MeasureRequest {
        files,
        measured_before: Arc::default(),
        skipped,
        run_lsp: project.config.lsp_enabled && !check.no_lsp,
        run_scan: project.config.scan_enabled && !check.no_scan,
        threshold: options.threshold(),
        deadline: started_at + Duration::from_secs(check.timeout_secs),
        dependents,
        comparison,
        conflicts,
        counted_gaps: CountedGaps::All,
    };
    let evidence = gather_with_indirect(engine, &project, request, indirect, false).await;
    if evidence.older > 0 {
        let older = match evidence.older {
            1 => "1 older finding in these files is".to_owned(),
            many => format!("{many} older findings in these files are"),
        };
        note = format!("{note}moai-ralph: {older} not shown\n");
    }
    let (shared, shown) = (Arc::clone(&project.rules), options.clone());
    let rules = match measure_blocking(move || shown.shown_rules(&shared)).await {
        Ok(rules) => rules,
        Err(gap) => return CommandReply::failure(UNMEASURED, &format!("moai-ralph: {gap}")),
    };
    let measured = ReportInput { evidence, excerpts: None, note, rules, may_be_empty };
    evidence_reply(&project.root, &options, measured, started_at)
}

/// The files to check.
#[derive(Default)]
struct CheckFileSet {
    files: Vec<RelPath>,
    /// Files that the listing skipped.
    skipped: Vec<SkippedFile>,
    /// For the user, on stderr.
    note: String,
    /// True if an empty set is a valid answer, because nothing may have changed.
    may_be_empty: bool,
    /// Unchanged files that the changes may affect.
    dependents: UntouchedDependents,
    /// The baseline of their findings.
    comparison: Option<BaseComparison>,
    /// Source files that the changes may break although they mention no changed symbol.
    indirect: BTreeSet<RelPath>,
    /// Changed files that configure servers.
    configuration: Vec<RelPath>,
    /// Changed files whose state at HEAD no open document can show.
    unshown: UnshownFiles,
}

fn find_check_files(
    engine: &Engine,
    project: &Project,
    caller: &CallerContext,
    check: &CheckRequest,
    base: Option<&str>,
) -> Result<CheckFileSet, String> {
    let is_wanted = |path: &RelPath| project.has_sensor(path);
    let everything = || {
        let walk =
            files::walk_files(&project.root, std::slice::from_ref(&project.root), &is_wanted);
        CheckFileSet { files: walk.files, skipped: walk.skipped, ..CheckFileSet::default() }
    };
    if !check.paths.is_empty() {
        let starts: Vec<PathBuf> =
            check.paths.iter().map(|path| project.resolve_path(caller, path)).collect();
        let walk = files::walk_files(&project.root, &starts, &is_wanted);
        let (files, other): (Vec<_>, Vec<_>) = walk.files.into_iter().partition(is_wanted);
        let without_sensor = other.into_iter().map(|path| SkippedFile {
            path: path.to_string(),
            reason: "no sensor for this kind of file".to_owned(),
        });
        let skipped = walk.skipped.into_iter().chain(without_sensor).collect();
        return Ok(CheckFileSet { files, skipped, ..CheckFileSet::default() });
    }
    if check.all {
        return Ok(everything());
    }
    match ChangedFiles::since(project, base) {
        Ok(Some(changed)) => {
            let ChangedFiles { files, deleted, all, configuration, skipped } = changed;
            let is_empty = files.is_empty()
                && skipped.is_empty()
                && deleted.is_empty()
                && configuration.is_empty();
            let note = match &check.base {
                _ if !is_empty => String::new(),
                Some(_) => "moai-ralph: no source file was changed since the base\n".to_owned(),
                None => {
                    "moai-ralph: no source file differs from HEAD; name paths or use --base or \
                         --all\n"
                        .to_owned()
                }
            };
            let mut found = CheckFileSet {
                files,
                skipped,
                note,
                may_be_empty: true,
                configuration,
                unshown: UnshownFiles::among(project, &all),
                ..CheckFileSet::default()
            };
            if !is_empty {
                let has_servers = project.config.lsp_enabled && !check.no_lsp;
                found.add_dependents(engine, project, has_servers, base, &all, &deleted);
            }
            Ok(found)
        }
        Ok(None) => {
            let note = "moai-ralph: not a git work tree, so the whole project is checked\n";
            Ok(CheckFileSet { note: note.to_owned(), ..everything() })
        }
        Err(error) => {
            let remedy = error.remedy.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
            Err(format!("changed files cannot be listed: {error}{remedy}; or use --all"))
        }
    }
}

impl CheckFileSet {
    /// Adds the unchanged files that the changes since HEAD or a `commit` may break. Their older findings do
    /// not count, and with a `commit`, nor do those of changed files. `changed` are all changed and deleted
    /// files.
    fn add_dependents(
        &mut self,
        engine: &Engine,
        project: &Project,
        has_servers: bool,
        commit: Option<&str>,
        changed: &[RelPath],
        deleted: &[RelPath],
    ) {
        let base = match commit {
            Some(commit) => WorkBase::at_commit(project, commit),
            None => WorkBase::head(project),
        };
        let generated = changed_ignored(engine, project, &base);
        let change = SearchedChange {
            generated: &generated,
            files: &self.files,
            deleted,
            all: changed,
            configuration: &self.configuration,
            outputs: &BTreeSet::new(),
            has_servers,
        };
        let found = AffectedScope::find(project, Some(&base), &change, AffectedFiles::default());
        self.unshown.files.extend(generated);
        self.skipped.extend(found.skipped);
        self.skipped.extend(found.skipped_indirect);
        self.indirect = found.indirect;
        let mut unchanged = found.dependents;
        let configured = found.configured.into_iter().filter(|path| !unchanged.contains(path));
        unchanged.extend(configured.collect::<Vec<_>>());
        if !unchanged.is_empty() {
            let affected = counted(unchanged.len());
            self.note = match deleted {
                [] => format!("moai-ralph: {affected} affected by the changes\n"),
                [file] => {
                    format!("moai-ralph: {file} was deleted; {affected} affected\n")
                }
                many => format!(
                    "moai-ralph: {} files were deleted; {affected} affected by the changes\n",
                    many.len()
                ),
            };
        }
        let files = unchanged.iter().cloned().collect();
        self.dependents = UntouchedDependents { files, affected: found.affected };
        self.files.extend(unchanged);
        self.comparison = Some(BaseComparison {
            base: Arc::new(base),
            deleted: deleted.to_vec(),
            configuration: self.configuration.clone(),
            unshown: self.unshown.clone(),
            includes_changed: commit.is_some(),
        });
    }
}

fn counted(files: usize) -> String {
    if files == 1 {
        "1 unchanged file is".to_owned()
    } else {
        format!("{files} unchanged files are")
    }
}
