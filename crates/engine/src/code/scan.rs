//! `scan`: the structural scan alone, over files, the changed files, or a text on stdin. It runs in
//! the calling process and keeps no text, so a project of any size fits.

pub(crate) mod fix;

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use crate::code::change_journal;
use crate::engine::{Engine, run_blocking};
use crate::evidence::evidence_reply::{ReportInput, ReportOptions, evidence_reply, load_baselines};
use crate::evidence::gather::{combine_results, split_unchecked};
use crate::evidence::parallel_scan::{ScanResults, ScanTask, scan_files};
use crate::evidence::slow_files::SlowFileTime;
use crate::project::Project;
use crate::project::project_rules;
use crate::project::project_rules::NamedRuleFolders;
use crate::project::scan_cache::ScanCacheFile;
use crate::replies::{INVALID, REFUSED, load_project};
use moai_base::evidence::SkippedFile;
use moai_base::finding::Severity;
use moai_base::limits::SCAN_CACHE_FILES_MIN;
use moai_base::path::RelPath;
use moai_base::sensitive::is_sensitive;
use moai_base::verdict::Cause;
use moai_host::{files, git};
use moai_protocol::control::{CallerContext, CommandReply, ReportFormat, ScanRequest, StdinText};
use moai_report::human::ReportStyle;
use moai_scan::RuleSet;

/// Reason for skipping a file that usually holds secrets.
const SENSITIVE: &str = "usually holds secrets; --include-sensitive scans it";
/// Reason for skipping a requested file.
const NO_RULE: &str = "no rule covers this kind of file";

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: ScanRequest,
) -> CommandReply {
    let started_at = Instant::now();
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    if request.fix {
        return fix::handle(engine, caller, &project, request, started_at).await;
    }
    let baselines = match load_baselines(
        caller,
        request.baseline.as_deref(),
        request.write_baseline.as_deref(),
        change_journal::journal_folder(engine, &project),
    ) {
        Ok(baselines) => baselines,
        Err(reply) => return reply,
    };
    let options = ReportOptions {
        format: request.format,
        style: ReportStyle { has_color: request.color, shows_hints: request.verbose },
        fail_on: request.fail_on.clone(),
        allow_unmeasured: request.allow_unmeasured,
        baselines,
        is_tool: caller.is_tool(),
    };
    let measured = {
        let (engine, project, caller) = (Arc::clone(engine), project.clone(), caller.clone());
        let options = options.clone();
        run_blocking(move || measure_scan(&engine, &project, &caller, &request, &options)).await
    };
    match measured {
        Some(Ok(measured)) => evidence_reply(&project.root, &options, measured, started_at),
        Some(Err(ScanCommandError(code, error))) => {
            CommandReply::failure(code, &format!("moai-ralph: {error}"))
        }
        None => CommandReply::failure(REFUSED, "moai-ralph: internal error while scanning"),
    }
}

/// A failed scan: exit code and one line for the user.
struct ScanCommandError(u8, String);

fn measure_scan(
    engine: &Engine,
    project: &Project,
    caller: &CallerContext,
    request: &ScanRequest,
    options: &ReportOptions,
) -> Result<ReportInput, ScanCommandError> {
    let named =
        named_rules(project, caller, request).map_err(|error| ScanCommandError(INVALID, error))?;
    let rules = named.as_ref().unwrap_or(&*project.rules);
    let lowest = if request.verbose { Severity::Hint } else { Severity::Info };
    let excerpts = (request.format == ReportFormat::Text).then_some(lowest);
    let root = &project.root;
    let work = ScanTask { root, rules, cache: None, excerpts, progress: &engine.progress };
    let mut found = ScanFileSet::default();
    let scanned = if let Some(text) = &request.stdin {
        scan_given_text(work, text).map_err(|error| ScanCommandError(INVALID, error))?
    } else {
        found = find_scan_files(project, caller, rules, request)
            .map_err(|error| ScanCommandError(INVALID, error))?;
        scan_with_cache(engine, project, work, &found.files)
    };
    let ScanResults { results, skipped, excerpts, .. } = scanned;
    found.skipped.extend(skipped);
    let is_short = results
        .iter()
        .any(|result| result.gap.as_ref().is_some_and(|gap| gap.cause == Cause::BrokenRule));
    let paths = results.iter().map(|result| result.path.clone());
    let (files, unseen) = split_unchecked(paths, &results);
    found.skipped.extend(unseen);
    let mut evidence = combine_results(files, found.skipped, results, options.threshold());
    evidence.excluded = found.excluded;
    let note = if is_short { found.note + &broken(rules) } else { found.note };
    let may_be_empty = found.may_be_empty;
    let rules = options.shown_rules(rules);
    Ok(ReportInput { evidence, excerpts: Some(excerpts), note, rules, may_be_empty })
}

/// Scans files; reuses results of an earlier scan if there are many files.
fn scan_with_cache(
    engine: &Engine,
    project: &Project,
    work: ScanTask<'_>,
    files: &[RelPath],
) -> ScanResults {
    if files.len() < SCAN_CACHE_FILES_MIN {
        return scan_files(work, files);
    }
    let kept = ScanCacheFile::load(&engine.dirs.state, &project.key, work.rules);
    let scanned = scan_files(ScanTask { cache: Some(&kept), ..work }, files);
    kept.save(work.rules, scanned.new_outcomes());
    scanned
}

/// The rules, including those of the requested folders; `None` if no folder was requested.
fn named_rules(
    project: &Project,
    caller: &CallerContext,
    request: &ScanRequest,
) -> Result<Option<RuleSet>, String> {
    let folders = request.only_rules.iter().chain(&request.rules);
    let folders: Vec<PathBuf> =
        folders.map(|folder| project.resolve_path(caller, folder)).collect();
    if folders.is_empty() {
        return Ok(None);
    }
    let named = NamedRuleFolders { folders, is_exclusive: !request.only_rules.is_empty() };
    project_rules::rules_with_folders(&project.root, &project.config, &named).map(Some)
}

/// Broken rules, one line each.
fn broken(rules: &RuleSet) -> String {
    let mut lines = String::new();
    for rule in rules.broken() {
        let _ = writeln!(lines, "moai-ralph: {}: {}", rule.source, rule.reason);
    }
    lines
}

/// The files to scan.
#[derive(Default)]
struct ScanFileSet {
    files: Vec<RelPath>,
    skipped: Vec<SkippedFile>,
    excluded: Vec<SkippedFile>,
    note: String,
    may_be_empty: bool,
}

fn find_scan_files(
    project: &Project,
    caller: &CallerContext,
    rules: &RuleSet,
    request: &ScanRequest,
) -> Result<ScanFileSet, String> {
    let is_handled = |path: &RelPath| rules.handles(path);
    let mut found = if request.changed {
        changed_files(project, &is_handled)?
    } else {
        let named = request.paths.iter().map(|path| project.resolve_path(caller, path));
        let starts: Vec<PathBuf> = match request.paths.as_slice() {
            [] => vec![project.root.clone()],
            _ => named.collect(),
        };
        files_below(&project.root, &starts, &is_handled)
    };
    if !request.include_sensitive {
        found.leave_out_sensitive();
    }
    Ok(found)
}

/// The files below `starts`; a start in a language without rules is skipped.
fn files_below(
    root: &Path,
    starts: &[PathBuf],
    is_handled: &(dyn Fn(&RelPath) -> bool + Sync),
) -> ScanFileSet {
    let walk = files::walk_files(root, starts, is_handled);
    let (files, other): (Vec<_>, Vec<_>) =
        walk.files.into_iter().partition(|path| is_handled(path) || is_sensitive(path));
    let without_rule = other.iter().map(|path| skip(path, NO_RULE));
    let skipped = walk.skipped.into_iter().chain(without_rule).collect();
    ScanFileSet { files, skipped, ..ScanFileSet::default() }
}

fn changed_files(
    project: &Project,
    is_handled: &(dyn Fn(&RelPath) -> bool + Sync),
) -> Result<ScanFileSet, String> {
    let root = &project.root;
    match git::files_changed_since_head(root) {
        Ok(Some(changed)) => {
            let files: Vec<RelPath> = changed.files.into_iter().filter(is_handled).collect();
            let note = if files.is_empty() && changed.skipped.is_empty() {
                "moai-ralph: no file covered by a rule differs from HEAD\n"
            } else {
                ""
            };
            let (skipped, note) = (changed.skipped, note.to_owned());
            Ok(ScanFileSet { files, skipped, note, may_be_empty: true, ..ScanFileSet::default() })
        }
        Ok(None) => {
            let note = "moai-ralph: not a git work tree, so the whole project is scanned\n";
            let all = files_below(root, std::slice::from_ref(root), is_handled);
            Ok(ScanFileSet { note: note.to_owned(), ..all })
        }
        Err(error) => {
            let remedy = error.remedy.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
            Err(format!("changed files cannot be listed: {error}{remedy}; or leave --changed out"))
        }
    }
}

impl ScanFileSet {
    fn leave_out_sensitive(&mut self) {
        let (sensitive, files) = self.files.drain(..).partition(is_sensitive);
        self.files = files;
        let sensitive: Vec<RelPath> = sensitive;
        self.excluded.extend(sensitive.iter().map(|path| skip(path, SENSITIVE)));
    }
}

fn skip(path: &RelPath, reason: &str) -> SkippedFile {
    SkippedFile { path: path.to_string(), reason: reason.to_owned() }
}

/// Scans a text from stdin.
fn scan_given_text(task: ScanTask<'_>, text: &StdinText) -> Result<ScanResults, String> {
    let path = given_path(task, text)?;
    let mut scanned = ScanResults::default();
    match files::snapshot_of_bytes(path, text.bytes.clone()) {
        Ok(snapshot) => scanned.add(task, &snapshot, &SlowFileTime::default()),
        Err(skipped) => scanned.skipped.push(skipped),
    }
    Ok(scanned)
}

/// The path that a text from stdin is scanned as; it selects language and globs.
fn given_path(task: ScanTask<'_>, text: &StdinText) -> Result<RelPath, String> {
    let path = text.path.as_ref().map(|path| {
        let below = RelPath::below(task.root, &task.root.join(path));
        below.ok_or_else(|| format!("--stdin-path {}: outside the root", path.display()))
    });
    let Some(language) = &text.language else {
        return path.unwrap_or_else(|| Err("--stdin needs --lang or --stdin-path".to_owned()));
    };
    let Some(name) = moai_scan::file_name_in_language("stdin", language) else {
        let known = moai_scan::language_names().collect::<Vec<_>>().join(", ");
        return Err(format!("--lang {language}: not a language of the scan; known are {known}"));
    };
    let Some(path) = path.transpose()? else {
        return RelPath::parse(&name).ok_or_else(|| format!("--lang {language}: no file name"));
    };
    if moai_scan::is_in_language(task.rules, &path, language) {
        Ok(path)
    } else {
        Err(format!("--stdin-path {path}: not the name of a {language} file"))
    }
}
