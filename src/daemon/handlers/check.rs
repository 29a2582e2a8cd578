//! `check`: fresh evidence about files, as a report.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::reported::{Measured, Wish, baselines, reply};
use super::{REFUSED, load};
use crate::base::evidence::Skipped;
use crate::base::limits::{AFFECTED_FILES_MAX, BLAST_SEARCH_MS_MAX};
use crate::base::path::RelPath;
use crate::daemon::engine::{Engine, blocking};
use crate::daemon::gather::{Asked, Merely, gather};
use crate::daemon::ledger::Affected;
use crate::daemon::project::Project;
use crate::lsp::blast::{Sought, ranked};
use crate::report::human;
use crate::wire::control::{Caller, Check, Reply};
use crate::{files, git};

pub(super) async fn handle(engine: &Arc<Engine>, caller: &Caller, check: Check) -> Reply {
    let begun = Instant::now();
    let project = match load(engine, caller) {
        Ok(project) => project,
        Err(reply) => return reply,
    };
    let baselines =
        match baselines(caller, check.baseline.as_deref(), check.write_baseline.as_deref()) {
            Ok(baselines) => baselines,
            Err(reply) => return reply,
        };
    let found = {
        let (project, caller, check) = (project.clone(), caller.clone(), check.clone());
        blocking(move || find(&project, &caller, &check)).await
    };
    let Found { files, skipped, mut note, may_be_empty, merely } = match found {
        Some(Ok(found)) => found,
        Some(Err(error)) => return Reply::failed(REFUSED, &format!("moai-ralph: {error}")),
        None => return Reply::failed(REFUSED, "moai-ralph: the files could not be listed"),
    };
    let wish = Wish {
        format: check.format,
        style: human::Style { has_color: check.color, shows_hints: check.verbose },
        fail_on: check.fail_on.clone(),
        allow_unmeasured: check.allow_unmeasured,
        baselines,
        is_tool: caller.is_tool,
    };
    let asked = Asked {
        files,
        skipped,
        lsp: project.config.lsp_enabled && !check.no_lsp,
        scan: project.config.scan_enabled && !check.no_scan,
        threshold: wish.threshold(),
        deadline: begun + Duration::from_secs(check.timeout_secs),
        merely,
    };
    let evidence = gather(engine, &project, asked).await;
    if evidence.older > 0 {
        note = format!(
            "{note}moai-ralph: in these files {} older findings, not about it, are left out\n",
            evidence.older
        );
    }
    let (shared, shown) = (Arc::clone(&project.rules), wish.clone());
    let rules = blocking(move || shown.facts(&shared)).await.unwrap_or_default();
    let measured = Measured { evidence, excerpts: None, note, rules, may_be_empty };
    reply(&project.root, &wish, measured, begun)
}

/// The files asked for.
#[derive(Default)]
struct Found {
    files: Vec<RelPath>,
    /// What was skipped on the way.
    skipped: Vec<Skipped>,
    /// For the user, on stderr.
    note: String,
    /// Whether no file at all is a fair answer: what changed may be nothing.
    may_be_empty: bool,
    /// The files that are asked about only because they mention what was deleted.
    merely: Merely,
}

fn find(project: &Project, caller: &Caller, check: &Check) -> Result<Found, String> {
    let is_wanted = |path: &RelPath| project.is_wanted(path);
    let everything = || {
        let walk = files::walk(&project.root, std::slice::from_ref(&project.root), &is_wanted);
        Found { files: walk.files, skipped: walk.skipped, ..Found::default() }
    };
    if !check.paths.is_empty() {
        let starts: Vec<PathBuf> =
            check.paths.iter().map(|path| project.named(caller, path)).collect();
        let walk = files::walk(&project.root, &starts, &is_wanted);
        let (files, other): (Vec<_>, Vec<_>) = walk.files.into_iter().partition(is_wanted);
        let no_sensor = |path: RelPath| Skipped {
            path: path.to_string(),
            reason: "no sensor for this kind of file".to_owned(),
        };
        let skipped = walk.skipped.into_iter().chain(other.into_iter().map(no_sensor)).collect();
        return Ok(Found { files, skipped, ..Found::default() });
    }
    if check.all {
        return Ok(everything());
    }
    match git::changed(&project.root) {
        Ok(Some(changed)) => {
            let files: Vec<_> = changed.files.into_iter().filter(is_wanted).collect();
            let deleted: Vec<_> = changed.deleted.into_iter().filter(is_wanted).collect();
            let is_empty = files.is_empty() && changed.skipped.is_empty() && deleted.is_empty();
            let note = if is_empty {
                "moai-ralph: no source file differs from HEAD; name paths or use --all\n"
            } else {
                ""
            };
            let (skipped, note) = (changed.skipped, note.to_owned());
            let mut found = Found { files, skipped, note, may_be_empty: true, ..Found::default() };
            if !deleted.is_empty() {
                found.add_concerned(project, &deleted);
            }
            Ok(found)
        }
        Ok(None) => {
            let note = "moai-ralph: not a git work tree, so the whole project is checked\n";
            Ok(Found { note: note.to_owned(), ..everything() })
        }
        Err(error) => {
            let remedy = error.remedy.as_ref().map(|it| format!(": {it}")).unwrap_or_default();
            Err(format!("changed files cannot be listed: {error}{remedy}; or use --all"))
        }
    }
}

impl Found {
    /// Adds the files that mention what was deleted: they did not change, and may be broken. What
    /// is wrong in them and has nothing to do with it does not count.
    fn add_concerned(&mut self, project: &Project, deleted: &[RelPath]) {
        let root = &project.root;
        let mut sought = Sought::default();
        for path in deleted.iter().take(AFFECTED_FILES_MAX) {
            let before = git::head_text(root, path).unwrap_or_default();
            sought.extend(Sought::elsewhere(path, Some(&before), None));
        }
        let language = |path: &RelPath| project.around.catalogue.language_of(path).map(|it| it.0);
        let languages: BTreeSet<&str> = deleted.iter().filter_map(language).collect();
        let own: BTreeSet<&RelPath> = self.files.iter().collect();
        let is_other = |path: &RelPath| {
            language(path).is_some_and(|it| languages.contains(it)) && !own.contains(path)
        };
        let walk = files::walk(root, std::slice::from_ref(root), &is_other);
        let deadline = Instant::now() + Duration::from_millis(BLAST_SEARCH_MS_MAX);
        let found = files::search(root, &walk.files, deadline, &|text| sought.mentioned_in(text));
        let mut concerned = ranked(deleted, found.files);
        let is_cut = found.is_cut
            || !walk.skipped.is_empty()
            || deleted.len().max(concerned.len()) > AFFECTED_FILES_MAX;
        concerned.truncate(AFFECTED_FILES_MAX);
        if is_cut {
            let reason = "more files may mention what was deleted than were looked at".to_owned();
            self.skipped.push(Skipped { path: ".".to_owned(), reason });
        }
        let (what, count) = (named(deleted), concerned.len());
        self.note = format!(
            "moai-ralph: {what} deleted; files that mention it and are measured as well: {count}\n"
        );
        let affected = Affected { sought, ..Affected::default() };
        self.merely = Merely { files: concerned.iter().cloned().collect(), affected };
        self.files.extend(concerned);
    }
}

/// One file by its name, several by their number.
fn named(files: &[RelPath]) -> String {
    match files {
        [file] => format!("{file} was"),
        many => format!("{} source files were", many.len()),
    }
}
