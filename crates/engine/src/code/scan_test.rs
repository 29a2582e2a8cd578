//! `scan test`: tests rules on their own snippets: those of the project and the built-in ones, or those of
//! the folders in the request.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::engine::{Engine, run_blocking};
use crate::progress::WorkProgress;
use crate::project::Project;
use crate::project::option_files::read_option_file;
use crate::project::project_rules;
use crate::project::project_rules::NamedRuleFolders;
use crate::replies::{INVALID, REFUSED, load_project};
use moai_base::path::RelPath;
use moai_host::files;
use moai_protocol::control::{CallerContext, CommandReply, ScanTestRequest};
use moai_protocol::documents::json_text;
use moai_protocol::documents::rule_tests::{RuleTestFailure, RuleTestsDocument, UntestedRule};
use moai_report::rule_tests;
use moai_scan::{
    RuleSet, RuleSources, RuleTestFile, RuleTrial, ScanFolders, TrialFailure, assign_tests,
    parse_test_file, parse_trials,
};

pub(crate) async fn handle(
    engine: &Arc<Engine>,
    caller: &CallerContext,
    request: ScanTestRequest,
) -> CommandReply {
    let project = match load_project(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let (json, verbose) = (request.json, request.verbose);
    let report = {
        let (engine, caller) = (Arc::clone(engine), caller.clone());
        run_blocking(move || run_rule_tests(&engine.progress, &project, &caller, &request)).await
    };
    let report = match report {
        Some(Ok(report)) => report,
        Some(Err(error)) => return CommandReply::failure(INVALID, &format!("moai-ralph: {error}")),
        None => {
            return CommandReply::failure(
                REFUSED,
                "moai-ralph: internal error while testing rules",
            );
        }
    };
    let stdout = if json { json_text(&report) } else { rule_tests::text(&report, verbose) };
    let code = if report.failures.is_empty() { 0 } else { REFUSED };
    CommandReply { stdout, code, ..CommandReply::default() }
}

fn run_rule_tests(
    progress: &WorkProgress,
    project: &Project,
    caller: &CallerContext,
    request: &ScanTestRequest,
) -> Result<RuleTestsDocument, String> {
    let folders = request.folders.iter().map(|folder| project.resolve_path(caller, folder));
    let folders: Vec<PathBuf> = folders.collect();
    let is_exclusive = !folders.is_empty();
    let test_folders = folders.clone();
    let named = NamedRuleFolders { folders, is_exclusive };
    let sources = project_rules::rule_sources(&project.root, &project.config, &named)?;
    if let Some((name, reason)) = sources.unreadable.first() {
        return Err(format!("{name}: {reason}"));
    }
    let (mut rules, mut failures) = (Vec::new(), Vec::new());
    let built_in = RuleSet::built_in_sources().filter(|_| !is_exclusive);
    let own = sources.rules.iter().filter(|(name, _)| !is_test(name)).cloned();
    for (name, text) in own.chain(built_in) {
        let (more, broken) = parse_trials(&name, &text);
        rules.extend(more);
        failures.extend(broken);
    }
    let test_folders = if is_exclusive { test_folders } else { test_dirs(&project.root, &sources) };
    let unknown = assign_tests(&mut rules, test_files(&test_folders)?);
    failures.extend(unknown.into_iter().map(unknown_rule_failure));
    if rules.is_empty() && failures.is_empty() {
        return Err("there is no rule to test".to_owned());
    }
    let without_tests = rules
        .iter()
        .filter(|trial| trial.snippet_count() == 0)
        .map(|trial| UntestedRule { rule: trial.rule.clone(), source: trial.source.clone() })
        .collect();
    let snippets = rules.iter().map(RuleTrial::snippet_count).sum();
    failures.extend(run(progress, &rules, &sources));
    let failures = failures.into_iter().map(failure_entry).collect();
    Ok(RuleTestsDocument { rules: rules.len(), snippets, failures, without_tests })
}

fn failure_entry(failure: TrialFailure) -> RuleTestFailure {
    let TrialFailure { rule, source, language, reason, snippet } = failure;
    RuleTestFailure { rule, source, language, reason, snippet }
}

/// True if a file is a test of the ast-grep program or a snapshot of one.
fn is_test(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    stem.ends_with("-test") || name.split('/').any(|part| part == "__snapshots__")
}

/// The test folders below the root that the project's `sgconfig.yml` lists.
fn test_dirs(root: &Path, sources: &RuleSources) -> Vec<PathBuf> {
    let named = sources.config.as_ref().map(|(_, text)| ScanFolders::parse(text));
    let dirs = named.into_iter().flat_map(|named| named.test_dirs);
    let folders = dirs.map(|dir| root.join(dir.tests));
    folders.filter(|folder| project_rules::is_below_root(root, folder)).collect()
}

/// The test files below some folders. Snapshots are not compared.
fn test_files(folders: &[PathBuf]) -> Result<Vec<RuleTestFile>, String> {
    let mut tests = Vec::new();
    let is_yaml = |path: &RelPath| matches!(path.extension().as_deref(), Some("yml" | "yaml"));
    for folder in folders {
        let walk = files::walk_files(folder, std::slice::from_ref(folder), &is_yaml);
        if let Some(skipped) = walk.skipped.first() {
            return Err(format!("{}: {}: {}", folder.display(), skipped.path, skipped.reason));
        }
        for file in walk.files {
            let path = file.under(folder);
            let is_snapshot = file.as_str().split('/').any(|part| part == "__snapshots__");
            if is_snapshot || !is_test(file.as_str()) {
                continue;
            }
            let text = read_option_file(&path)?.unwrap_or_default();
            let parsed = parse_test_file(&text);
            tests.extend(parsed.map_err(|error| format!("{}: {error}", path.display()))?);
        }
    }
    Ok(tests)
}

fn unknown_rule_failure(rule: String) -> TrialFailure {
    TrialFailure {
        rule,
        source: "a test file".to_owned(),
        language: String::new(),
        reason: "no rule has this id".to_owned(),
        snippet: String::new(),
    }
}

/// Tests all rules on all cores and returns the results in the order of the rules.
fn run(progress: &WorkProgress, rules: &[RuleTrial], sources: &RuleSources) -> Vec<TrialFailure> {
    progress.expect(rules.len());
    let cores = moai_host::processors::processor_count();
    let next = AtomicUsize::new(0);
    let share = || {
        let mut failures = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(rule) = rules.get(index) else { return failures };
            failures.push((index, rule.run(&sources.utils, sources.config.as_ref())));
            progress.step();
        }
    };
    let mut all: Vec<(usize, Vec<TrialFailure>)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores.min(rules.len())).map(|_| scope.spawn(share)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a rule only fails")).collect()
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().flat_map(|(_, failures)| failures).collect()
}
