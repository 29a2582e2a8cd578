//! Parses and scans in worker processes. Some texts make a grammar take minutes and gigabytes where
//! it cannot be cancelled, and a rule's attempt at one node cannot be cancelled either; only
//! killing the process stops them.
//!
//! A scan runs in a worker completely. Other uses of trees and patterns are computed in this
//! process after a worker has done the same within its bounds: some grammars abort the process at a
//! text of a few hundred bytes.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use super::engine::{CpuBound, parse_gap};
use super::language::ScanLanguage;
use super::serialized::{gap_from_bytes, gap_to_bytes, outcome_from_bytes, outcome_to_bytes};
use super::{RuleSet, RuleSources, ScanOutcome, gap_outcome, scan_here};
use moai_base::hash::ContentHash;
use moai_base::limits::{CRASHING_RULE_FILES_MAX, WORKER_RULE_SETS_MAX};
use moai_base::path::RelPath;
use moai_base::verdict::{Cause, Gap};

/// Reply to a scan with rules that the worker does not have.
const UNKNOWN_RULES: &[u8] = b"unknown rules";
/// Reply to a job that panicked, or that is not understood.
const FAILED: &[u8] = b"failed";

static WORKERS: OnceLock<Box<dyn ScanWorkers>> = OnceLock::new();

/// Worker processes, in each of which a [`JobAnswerer`] answers.
pub trait ScanWorkers: Send + Sync {
    /// Sends a request to any worker and waits for its reply. An empty reply and a failure may be
    /// remembered, because they depend on nothing but the request.
    ///
    /// # Errors
    ///
    /// Fails if the worker ended without a reply.
    fn exchange(&self, request: &[u8]) -> Result<Vec<u8>, WorkerFailure>;
}

/// The reason for a missing reply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerFailure {
    /// The job took more processor time than any job may.
    TooSlow,
    /// The worker crashed, as it does when it needs more memory than a job may.
    Crashed,
    /// No worker could do the job now, with the reason.
    Unavailable(String),
}

impl WorkerFailure {
    fn into_gap(self) -> Gap {
        match self {
            Self::TooSlow => Gap::new(Cause::Skipped, "scanning took too long"),
            Self::Crashed => {
                Gap::new(Cause::Skipped, "the parser crashed or needed too much memory")
            }
            Self::Unavailable(reason) => {
                Gap::new(Cause::Crashed, format!("the scan has no worker process: {reason}"))
            }
        }
    }
}

/// Sends all later jobs of this process to workers. Only the first call has an effect.
pub fn use_workers(workers: Box<dyn ScanWorkers>) {
    // Later workers are ignored: the first ones are equivalent.
    let _ = WORKERS.set(workers);
}

/// A request to a worker.
#[derive(Debug, Serialize, Deserialize)]
enum ScanJob<'a> {
    /// The reply is an outcome.
    Scan {
        /// Identity of the rules.
        rules: String,
        /// Left out at first, because the worker may have them.
        sources: Option<Cow<'a, RuleSources>>,
        path: Cow<'a, str>,
        #[serde(borrow)]
        text: Cow<'a, str>,
    },
    /// The reply is a gap, or empty if the text can be parsed here.
    Parse {
        language: Cow<'a, str>,
        #[serde(borrow)]
        text: Cow<'a, str>,
    },
    /// The reply is a gap, or empty if these rules can be compiled here.
    Compile { sources: Cow<'a, RuleSources> },
}

impl ScanJob<'_> {
    fn send_to(&self, workers: &dyn ScanWorkers) -> Result<Vec<u8>, WorkerFailure> {
        let request = serde_json::to_vec(self)
            .map_err(|error| WorkerFailure::Unavailable(error.to_string()))?;
        let reply = workers.exchange(&request)?;
        if reply == FAILED {
            return Err(WorkerFailure::Unavailable("it failed; see the daemon's log".to_owned()));
        }
        Ok(reply)
    }

    /// Sends a job whose reply is a gap or nothing.
    fn try_in_worker(&self, workers: &dyn ScanWorkers) -> Result<(), WorkerRefusal> {
        let failure = match self.send_to(workers) {
            Ok(reply) if reply.is_empty() => return Ok(()),
            Ok(reply) => match gap_from_bytes(&reply) {
                Some(gap) => return Err(WorkerRefusal::Gap(gap)),
                None => WorkerFailure::Unavailable("its reply is damaged".to_owned()),
            },
            Err(failure) => failure,
        };
        Err(WorkerRefusal::Failed(failure))
    }
}

/// The reason why this process must not do a job that a worker tried.
#[derive(Clone, Debug)]
enum WorkerRefusal {
    Failed(WorkerFailure),
    /// The worker's own answer.
    Gap(Gap),
}

impl WorkerRefusal {
    fn into_gap(self) -> Gap {
        match self {
            Self::Failed(failure) => failure.into_gap(),
            Self::Gap(gap) => gap,
        }
    }
}

/// Scans in a worker; `None` if this process has none.
pub(super) fn scan_in_worker(
    rules: &RuleSet,
    path: &RelPath,
    text: &str,
    hash: ContentHash,
) -> Option<ScanOutcome> {
    let workers = WORKERS.get()?;
    let mut reply = Ok(UNKNOWN_RULES.to_vec());
    for sources in [None, Some(Cow::Borrowed(rules.sources()))] {
        if !reply.as_ref().is_ok_and(|reply| reply == UNKNOWN_RULES) {
            break;
        }
        let job = ScanJob::Scan {
            rules: rules.identity().to_string(),
            sources,
            path: Cow::Borrowed(path.as_str()),
            text: Cow::Borrowed(text),
        };
        reply = job.send_to(workers.as_ref());
    }
    let outcome = reply.and_then(|reply| {
        outcome_from_bytes(&reply, path, hash)
            .ok_or_else(|| WorkerFailure::Unavailable("its reply is damaged".to_owned()))
    });
    Some(outcome.unwrap_or_else(|failure| {
        let gap = failure.into_gap();
        gap_outcome(gap.cause, &gap.detail)
    }))
}

/// Has a worker parse a text, if this process has workers; the gap if the text cannot be parsed
/// within a worker's bounds.
pub(super) fn parse_in_worker(language: ScanLanguage, text: &str) -> Result<(), Gap> {
    let Some(workers) = WORKERS.get() else { return Ok(()) };
    let job =
        ScanJob::Parse { language: Cow::Borrowed(language.as_str()), text: Cow::Borrowed(text) };
    job.try_in_worker(workers.as_ref()).map_err(WorkerRefusal::into_gap)
}

/// The sources that this process can compile, as far as its workers can test them. Files that a
/// worker cannot compile are listed as unreadable.
pub(super) fn compilable_sources(sources: RuleSources) -> RuleSources {
    let Some(workers) = WORKERS.get().filter(|_| sources.has_files()) else { return sources };
    let Err(refusal) = compile_in_worker(workers.as_ref(), &sources) else { return sources };
    let mut kept = sources.without_files();
    // Slow files are not looked for, because that would take as long for each of them.
    let has_crashed = matches!(refusal, WorkerRefusal::Failed(WorkerFailure::Crashed));
    let mut crashes_left = if has_crashed { CRASHING_RULE_FILES_MAX } else { 0 };
    for file in sources.single_files() {
        let outcome = match crashes_left {
            0 => Err(refusal.clone()),
            _ => compile_in_worker(workers.as_ref(), &file),
        };
        match outcome {
            Ok(()) => kept.add_files(file),
            Err(refusal) => {
                crashes_left = crashes_left.saturating_sub(1);
                leave_out(&mut kept, &file, refusal);
            }
        }
    }
    // Files that compile alone may still fail together.
    if let Err(refusal) = compile_in_worker(workers.as_ref(), &kept) {
        let files = kept.clone();
        kept = kept.without_files();
        leave_out(&mut kept, &files, refusal);
    }
    kept
}

/// Lists texts as unreadable.
fn leave_out(kept: &mut RuleSources, files: &RuleSources, refusal: WorkerRefusal) {
    kept.is_provisional |= matches!(refusal, WorkerRefusal::Failed(WorkerFailure::Unavailable(_)));
    kept.add_unreadable(files, &refusal.into_gap().detail);
}

fn compile_in_worker(
    workers: &dyn ScanWorkers,
    sources: &RuleSources,
) -> Result<(), WorkerRefusal> {
    if !sources.has_files() {
        return Ok(());
    }
    let own = RuleSources { built_in: false, ..sources.clone() };
    ScanJob::Compile { sources: Cow::Owned(own) }.try_in_worker(workers)
}

/// The work of a worker process: answers jobs, one after another.
#[derive(Debug, Default)]
pub struct JobAnswerer {
    /// The rules of the last scans, the most recently used last.
    rule_sets: VecDeque<RuleSet>,
}

impl JobAnswerer {
    /// The reply to a request.
    pub fn answer(&mut self, request: &[u8]) -> Vec<u8> {
        // The parsers are foreign code, so a panic must not end the worker.
        let reply = catch_unwind(AssertUnwindSafe(|| self.reply_to(request)));
        reply.ok().flatten().unwrap_or_else(|| FAILED.to_vec())
    }

    fn reply_to(&mut self, request: &[u8]) -> Option<Vec<u8>> {
        match serde_json::from_slice(request).ok()? {
            ScanJob::Scan { rules, sources, path, text } => {
                let Some(rules) = self.rule_set(&rules, sources) else {
                    return Some(UNKNOWN_RULES.to_vec());
                };
                let path = RelPath::parse(&path)?;
                let hash = ContentHash::of_bytes(text.as_bytes());
                outcome_to_bytes(&scan_here(rules, &path, &text, hash, &mut |_| {}))
            }
            ScanJob::Parse { language, text } => {
                match parse_gap(ScanLanguage::from_name(&language)?, &text) {
                    None => Some(Vec::new()),
                    Some(gap) => gap_to_bytes(&gap),
                }
            }
            ScanJob::Compile { sources } => {
                let bound = CpuBound::for_rules();
                RuleSet::new(sources.into_owned()).compile();
                if bound.is_exceeded() {
                    let detail = "compiling the project's rules took too long";
                    return gap_to_bytes(&Gap::new(Cause::Skipped, detail));
                }
                Some(Vec::new())
            }
        }
    }

    /// The rules with this identity, if they are known or given.
    fn rule_set(
        &mut self,
        identity: &str,
        sources: Option<Cow<'_, RuleSources>>,
    ) -> Option<&RuleSet> {
        let place = self.rule_sets.iter().position(|set| set.identity().to_string() == identity);
        let known = place.and_then(|place| self.rule_sets.remove(place));
        let set = match known {
            Some(set) => set,
            None => RuleSet::new(sources?.into_owned()),
        };
        if self.rule_sets.len() >= WORKER_RULE_SETS_MAX {
            self.rule_sets.pop_front();
        }
        self.rule_sets.push_back(set);
        self.rule_sets.back()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    thread_local! {
        static ANSWERER: RefCell<JobAnswerer> = RefCell::default();
    }

    /// A worker that runs in this thread.
    struct OwnWorker;

    impl ScanWorkers for OwnWorker {
        fn exchange(&self, request: &[u8]) -> Result<Vec<u8>, WorkerFailure> {
            // Unlike a worker process, this thread also asks while it answers.
            Ok(ANSWERER.with(|answerer| match answerer.try_borrow_mut() {
                Ok(mut answerer) => answerer.answer(request),
                Err(_) => Vec::new(),
            }))
        }
    }

    fn rules(message: &str) -> RuleSet {
        let rule = format!(
            "id: call\nlanguages: [python]\nmessage: {message}\nrule: {{ pattern: eval($X) }}\n"
        );
        RuleSet::load([("r.yml".to_owned(), rule)])
    }

    #[test]
    fn a_worker_finds_what_this_process_finds() {
        let text = format!("# {}\neval(x)\n", "한글 ".repeat(1_000));
        let (path, hash) =
            (RelPath::parse("a.py").expect("a path"), ContentHash::of_bytes(text.as_bytes()));
        let here = |rules: &RuleSet| scan_here(rules, &path, &text, hash, &mut |_| {});
        use_workers(Box::new(OwnWorker));
        for number in [0, 1, 0, 2, 3, 4, 5, 0] {
            let rules = rules(&format!("m{number}"));
            let outcome = scan_in_worker(&rules, &path, &text, hash);
            assert_eq!(outcome, Some(here(&rules)), "{number}");
        }
        let broken = RuleSet::load([("r.yml".to_owned(), "id: a\nlanguage: python\n".to_owned())]);
        assert_eq!(scan_in_worker(&broken, &path, &text, hash), Some(here(&broken)));
        assert_eq!(parse_in_worker(ScanLanguage::Python, &text), Ok(()));
        let slow = "\\\n".repeat(40_000);
        let gap = parse_in_worker(ScanLanguage::Python, &slow).expect_err("it takes minutes");
        assert_eq!(gap.detail, "parsing took too long");
    }

    #[test]
    fn a_request_that_is_not_understood_gets_a_reply() {
        for request in [&b""[..], b"{", b"{\"Parse\":{\"language\":\"x\",\"text\":\"\"}}"] {
            assert_eq!(JobAnswerer::default().answer(request), FAILED);
        }
    }
}
