//! `scan`: the structural scan alone, over files, what changed, or a text on stdin. It works in the
//! calling process and keeps no text, so a project of any size fits.

mod fix;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::replies::{INVALID, REFUSED, load};
use super::reported::{Measured, Wish, baselines, reply};
use crate::base::evidence::Skipped;
use crate::base::finding::Severity;
use crate::base::limits::KEPT_SCANS_FILES_MIN;
use crate::base::path::RelPath;
use crate::base::sensitive::is_sensitive;
use crate::base::verdict::{Cause, Gap};
use crate::daemon::engine::{Engine, blocking};
use crate::daemon::gather::{evidence, split_unseen};
use crate::daemon::kept_scans::KeptScans;
use crate::daemon::project::Project;
use crate::daemon::project_rules::{self, Named};
use crate::daemon::scanning::{Scanned, Work, scan_files};
use crate::report::human::Style;
use crate::scan::RuleSet;
use crate::wire::control::{Caller, Format, GivenText, Reply, Scan};
use crate::{files, git, scan};

/// Why a file that usually holds secrets is not looked into.
const SENSITIVE: &str = "usually holds secrets; --include-sensitive scans it";
/// Why a file that was named is not looked into.
const NO_RULE: &str = "no rule speaks about this kind of file";

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, wished: Scan) -> Reply {
    let begun = Instant::now();
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    if wished.fix {
        return fix::handle(engine, caller, &project, wished, begun).await;
    }
    let baselines =
        match baselines(caller, wished.baseline.as_deref(), wished.write_baseline.as_deref()) {
            Ok(baselines) => baselines,
            Err(reply) => return reply,
        };
    let wish = Wish {
        format: wished.format,
        style: Style { has_color: wished.color, shows_hints: wished.verbose },
        fail_on: wished.fail_on.clone(),
        allow_unmeasured: wished.allow_unmeasured,
        baselines,
        is_tool: caller.is_tool,
    };
    let measured = {
        let (engine, project, caller) = (Arc::clone(engine), project.clone(), caller.clone());
        let wish = wish.clone();
        blocking(move || measure(&engine, &project, &caller, &wished, &wish)).await
    };
    match measured {
        Some(Ok(measured)) => reply(&project.root, &wish, measured, begun),
        Some(Err(No(code, error))) => Reply::failed(code, &format!("moai-ralph: {error}")),
        None => Reply::failed(REFUSED, "moai-ralph: internal error while scanning"),
    }
}

/// Why there is no report: exit code and one line.
struct No(u8, String);

fn measure(
    engine: &Engine,
    project: &Project,
    caller: &Caller,
    wished: &Scan,
    wish: &Wish,
) -> Result<Measured, No> {
    let named = named_rules(project, caller, wished).map_err(|error| No(INVALID, error))?;
    let rules = named.as_ref().unwrap_or(&*project.rules);
    let lowest = if wished.verbose { Severity::Hint } else { Severity::Info };
    let excerpts = (wished.format == Format::Text).then_some(lowest);
    let root = &project.root;
    let work = Work { root, rules, kept: None, excerpts, progress: &engine.progress };
    let mut found = Found::default();
    let scanned = if let Some(text) = &wished.stdin {
        given(work, text).map_err(|error| No(INVALID, error))?
    } else {
        found = find(project, caller, rules, wished).map_err(|error| No(REFUSED, error))?;
        scan_remembering(engine, project, work, &found.files)
    };
    let Scanned { words, skipped, excerpts, .. } = scanned;
    found.skipped.extend(skipped);
    let is_broken = |gap: &Gap| gap.cause == Cause::BrokenRule;
    let is_short = words.iter().any(|word| word.gap.as_ref().is_some_and(is_broken));
    let paths = words.iter().map(|word| word.path.clone());
    let (files, unseen) = split_unseen(paths, &words);
    found.skipped.extend(unseen);
    let mut evidence = evidence(files, found.skipped, words, wish.threshold());
    evidence.excluded = found.excluded;
    let note = if is_short { found.note + &broken(rules) } else { found.note };
    let may_be_empty = found.may_be_empty;
    let rules = wish.facts(rules);
    Ok(Measured { evidence, excerpts: Some(excerpts), note, rules, may_be_empty })
}

/// Scans many files with what is known of them from an earlier scan.
fn scan_remembering(
    engine: &Engine,
    project: &Project,
    work: Work<'_>,
    files: &[RelPath],
) -> Scanned {
    if files.len() < KEPT_SCANS_FILES_MIN {
        return scan_files(work, files);
    }
    let kept = KeptScans::load(&engine.places.state, &project.key, work.rules);
    let scanned = scan_files(Work { kept: Some(&kept), ..work }, files);
    kept.save(work.rules, scanned.news());
    scanned
}

/// The rules with those of the folders that were named; `None` when none was.
fn named_rules(
    project: &Project,
    caller: &Caller,
    wished: &Scan,
) -> Result<Option<RuleSet>, String> {
    let folders = wished.only_rules.iter().chain(&wished.rules);
    let folders: Vec<PathBuf> = folders.map(|folder| project.named(caller, folder)).collect();
    if folders.is_empty() {
        return Ok(None);
    }
    let named = Named { folders, is_alone: !wished.only_rules.is_empty() };
    project_rules::with_named(&project.root, &project.config, &named).map(Some)
}

/// The rules that cannot be used, a line each.
fn broken(rules: &RuleSet) -> String {
    let line = |rule: &scan::BrokenRule| format!("moai-ralph: {}: {}\n", rule.source, rule.reason);
    rules.broken().iter().map(line).collect()
}

/// The files asked for.
#[derive(Default)]
struct Found {
    files: Vec<RelPath>,
    skipped: Vec<Skipped>,
    excluded: Vec<Skipped>,
    note: String,
    may_be_empty: bool,
}

fn find(
    project: &Project,
    caller: &Caller,
    rules: &RuleSet,
    wished: &Scan,
) -> Result<Found, String> {
    let is_handled = |path: &RelPath| rules.handles(path);
    let mut found = if wished.changed {
        changed(project, &is_handled)?
    } else {
        let named = wished.paths.iter().map(|path| project.named(caller, path));
        let starts: Vec<PathBuf> = match wished.paths.as_slice() {
            [] => vec![project.root.clone()],
            _ => named.collect(),
        };
        below(&project.root, &starts, &is_handled)
    };
    if !wished.include_sensitive {
        found.leave_out_sensitive();
    }
    Ok(found)
}

/// What is below some starts; a file that was named and is in no language with a rule is skipped.
fn below(root: &Path, starts: &[PathBuf], is_handled: &(dyn Fn(&RelPath) -> bool + Sync)) -> Found {
    let walk = files::walk(root, starts, is_handled);
    let (files, other): (Vec<_>, Vec<_>) =
        walk.files.into_iter().partition(|path| is_handled(path) || is_sensitive(path));
    let no_rule = |path: RelPath| skip(&path, NO_RULE);
    let skipped = walk.skipped.into_iter().chain(other.into_iter().map(no_rule)).collect();
    Found { files, skipped, ..Found::default() }
}

fn changed(
    project: &Project,
    is_handled: &(dyn Fn(&RelPath) -> bool + Sync),
) -> Result<Found, String> {
    let root = &project.root;
    match git::changed(root) {
        Ok(Some(changed)) => {
            let files: Vec<RelPath> = changed.files.into_iter().filter(is_handled).collect();
            let note = if files.is_empty() && changed.skipped.is_empty() {
                "moai-ralph: no file that a rule speaks about differs from HEAD\n"
            } else {
                ""
            };
            let (skipped, note) = (changed.skipped, note.to_owned());
            Ok(Found { files, skipped, note, may_be_empty: true, ..Found::default() })
        }
        Ok(None) => {
            let note = "moai-ralph: not a git work tree, so the whole project is scanned\n";
            let all = below(root, std::slice::from_ref(root), is_handled);
            Ok(Found { note: note.to_owned(), ..all })
        }
        Err(error) => {
            let remedy = error.remedy.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
            Err(format!("changed files cannot be listed: {error}{remedy}; or leave --changed out"))
        }
    }
}

impl Found {
    fn leave_out_sensitive(&mut self) {
        let (sensitive, files) = self.files.drain(..).partition(is_sensitive);
        self.files = files;
        let sensitive: Vec<RelPath> = sensitive;
        self.excluded.extend(sensitive.iter().map(|path| skip(path, SENSITIVE)));
    }
}

fn skip(path: &RelPath, reason: &str) -> Skipped {
    Skipped { path: path.to_string(), reason: reason.to_owned() }
}

/// Scans a text that is no file.
fn given(task: Work<'_>, text: &GivenText) -> Result<Scanned, String> {
    let path = given_path(task, text)?;
    let mut scanned = Scanned::default();
    match files::given(path, text.bytes.clone()) {
        Ok(snapshot) => scanned.add(task, &snapshot),
        Err(skipped) => scanned.skipped.push(skipped),
    }
    Ok(scanned)
}

/// The path a given text stands for; it decides about language and globs.
fn given_path(task: Work<'_>, text: &GivenText) -> Result<RelPath, String> {
    let path = text.path.as_ref().map(|path| {
        let below = RelPath::below(task.root, &task.root.join(path));
        below.ok_or_else(|| format!("--stdin-path {}: outside the root", path.display()))
    });
    let Some(word) = &text.language else {
        return path.unwrap_or_else(|| Err("--stdin needs --lang or --stdin-path".to_owned()));
    };
    let Some(name) = scan::file_name("stdin", word) else {
        let known = scan::languages().collect::<Vec<_>>().join(", ");
        return Err(format!("--lang {word}: not a language of the scan; known are {known}"));
    };
    let Some(path) = path.transpose()? else {
        return RelPath::parse(&name).ok_or_else(|| format!("--lang {word}: no file name"));
    };
    if scan::is_in(task.rules, &path, word) {
        Ok(path)
    } else {
        Err(format!("--stdin-path {path}: not the name of a {word} file"))
    }
}
