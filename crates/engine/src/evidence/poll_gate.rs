//! Serializes the polls of a root, and lets one poll serve all callers that asked before it began.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::{Mutex, OwnedMutexGuard};

use moai_base::limits::{OUTSIDE_FILES_MAX, UNMARKED_ENTRIES_MAX, WALK_FILES_MAX};
use moai_base::verdict::{Cause, Gap};
use moai_host::files::FolderListings;
use moai_lsp::registry::Catalogue;
use moai_scan::RuleSet;

/// Outcome of a poll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskEpoch {
    /// The root's epoch after the poll; `None` if the poll failed, so the changes are unknown.
    pub(crate) epoch: Option<u64>,
    /// Why changes of some files are unknown.
    pub(crate) limit: Option<PollLimit>,
}

/// A limit that a poll has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PollLimit {
    /// The files of the root.
    RootFiles,
    /// The files outside its walk that servers depend on.
    OutsideFiles,
}

impl PollLimit {
    /// The gap of a result that may depend on the files beyond the limit.
    pub(crate) fn gap(self) -> Gap {
        let detail = match self {
            Self::RootFiles => {
                format!(
                    "the project has more than {WALK_FILES_MAX} files, or is a folder without .git and .moai \
                     with more than {UNMARKED_ENTRIES_MAX} entries; changes of the others are not noticed"
                )
            }
            Self::OutsideFiles => format!(
                "language servers may depend on more than {OUTSIDE_FILES_MAX} files outside the project's own, \
                 counting all those in folders that links lead to; changes of the others are not noticed"
            ),
        };
        Gap::new(Cause::Skipped, detail)
    }
}

/// Serializes the polls of a root, because overlapping ones could announce an older state last. A
/// poll that began after several callers asked serves all of them.
#[derive(Debug, Default)]
pub(crate) struct PollGate {
    last: Arc<Mutex<FinishedPoll>>,
    numbers: Arc<PollNumbers>,
}

#[derive(Debug, Default)]
struct PollNumbers {
    /// The number of polls that began.
    begun: AtomicU64,
    /// The highest number that a caller needs.
    needed: AtomicU64,
}

/// The last finished poll of a root.
#[derive(Debug, Default)]
struct FinishedPoll {
    number: u64,
    disk: DiskEpoch,
    listings: FolderListings,
    /// Selects the names in the listings.
    filter: Option<WatchFilter>,
    data_folders: BTreeSet<PathBuf>,
}

/// The parts of a project that decide which files are watched.
#[derive(Clone, Debug)]
pub(crate) struct WatchFilter {
    pub(crate) catalogue: Arc<Catalogue>,
    pub(crate) rules: Arc<RuleSet>,
}

impl PartialEq for WatchFilter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.rules, &other.rules) && self.catalogue == other.catalogue
    }
}

/// Permission to poll a root.
#[derive(Debug)]
pub(crate) struct PollTurn {
    number: u64,
    last: OwnedMutexGuard<FinishedPoll>,
    numbers: Arc<PollNumbers>,
}

/// Callers that asked after a turn began.
#[derive(Debug)]
pub(crate) struct WaitingCallers {
    number: u64,
    numbers: Arc<PollNumbers>,
}

impl WaitingCallers {
    pub(crate) fn are_waiting(&self) -> bool {
        self.numbers.needed.load(Ordering::SeqCst) > self.number
    }
}

impl PollGate {
    /// Waits for a turn to poll. The error is the result of a poll that began after this call and
    /// has finished in the meantime.
    pub(crate) async fn enter(&self) -> Result<PollTurn, DiskEpoch> {
        let needed = self.numbers.begun.load(Ordering::SeqCst) + 1;
        self.numbers.needed.fetch_max(needed, Ordering::SeqCst);
        let last = Arc::clone(&self.last).lock_owned().await;
        if last.number >= needed {
            return Err(last.disk);
        }
        let number = self.numbers.begin();
        Ok(PollTurn { number, last, numbers: Arc::clone(&self.numbers) })
    }
}

impl PollNumbers {
    /// The number of a poll that begins now.
    fn begin(&self) -> u64 {
        self.begun.fetch_add(1, Ordering::SeqCst) + 1
    }
}

impl PollTurn {
    /// The callers that this turn does not serve.
    pub(crate) fn callers(&self) -> WaitingCallers {
        WaitingCallers { number: self.number, numbers: Arc::clone(&self.numbers) }
    }

    /// Begins again if callers have asked since the turn began, so that it serves them too. True if
    /// everything polled so far must be polled again.
    pub(crate) fn restart_if_awaited(&mut self) -> bool {
        let is_awaited = self.callers().are_waiting();
        if is_awaited {
            self.number = self.numbers.begin();
        }
        is_awaited
    }

    /// The folders of the root as the last poll with this filter read them.
    pub(crate) fn listings(&mut self, filter: WatchFilter) -> &mut FolderListings {
        if self.last.filter.as_ref() != Some(&filter) {
            self.last.listings = FolderListings::default();
            self.last.filter = Some(filter);
        }
        &mut self.last.listings
    }

    /// Folders outside the root that a link leads to and polls leave out.
    pub(crate) fn data_folders(&mut self) -> &mut BTreeSet<PathBuf> {
        &mut self.last.data_folders
    }

    /// Ends the turn; callers that waited since before it began get the same result.
    pub(crate) fn finish(mut self, disk: DiskEpoch) -> DiskEpoch {
        self.last.number = self.number;
        self.last.disk = disk;
        disk
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(number: u64) -> DiskEpoch {
        DiskEpoch { epoch: Some(number), limit: None }
    }

    #[tokio::test]
    async fn a_poll_serves_the_callers_that_asked_before_it_began() {
        let gate = Arc::new(PollGate::default());
        let first = gate.enter().await.expect("no poll is running");
        let mut waiting = Vec::new();
        for _ in 0..8 {
            let gate = Arc::clone(&gate);
            waiting.push(tokio::spawn(async move {
                gate.enter().await.map(|turn| turn.finish(epoch(2)))
            }));
        }
        // All callers wait for the poll that began before they asked.
        tokio::task::yield_now().await;
        assert_eq!(first.finish(epoch(1)), epoch(1));
        let (mut polled, mut served) = (0, 0);
        for caller in waiting {
            match caller.await.expect("no panic") {
                Ok(_) => polled += 1,
                Err(disk) => {
                    assert_eq!(disk, epoch(2), "not the poll that was running");
                    served += 1;
                }
            }
        }
        assert_eq!((polled, served), (1, 7));
        assert!(gate.enter().await.is_ok(), "a later caller needs a poll of its own");
    }

    #[tokio::test]
    async fn a_poll_that_begins_again_serves_the_callers_that_asked_meanwhile() {
        let gate = Arc::new(PollGate::default());
        let mut turn = gate.enter().await.expect("no poll is running");
        let callers = turn.callers();
        assert!(!callers.are_waiting(), "only its own caller has asked");
        assert!(!turn.restart_if_awaited());
        let ask = || {
            let gate = Arc::clone(&gate);
            tokio::spawn(async move { gate.enter().await })
        };
        let waiting = [ask(), ask()];
        tokio::task::yield_now().await;
        assert!(callers.are_waiting());
        assert!(turn.restart_if_awaited());
        assert!(!turn.restart_if_awaited(), "it already serves them");
        let late = ask();
        tokio::task::yield_now().await;
        turn.finish(epoch(1));
        for caller in waiting {
            assert_eq!(caller.await.expect("no panic").err(), Some(epoch(1)));
        }
        assert!(late.await.expect("no panic").is_ok(), "it asked after the second beginning");
    }

    #[tokio::test]
    async fn a_poll_that_was_dropped_serves_nobody() {
        let gate = PollGate::default();
        drop(gate.enter().await);
        assert!(gate.enter().await.is_ok());
    }
}
