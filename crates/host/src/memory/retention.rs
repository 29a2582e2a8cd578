//! Retention in the time in which the memory is not used: one small step at a time, each a short job of
//! the store's thread, so that a hook waits for one step at most.

use std::time::Duration;

use moai_memory::database::MemoryDatabase;
use moai_memory::retention::RetentionPass;

use super::MemoryStore;
use crate::store::StoreError;
use moai_base::limits::{RETENTION_PASS_MS, RETENTION_QUIET_MS, RETENTION_STEP_MS};

/// Pace of retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetentionPace {
    /// Time without a use of the memory before the next step.
    pub quiet: Duration,
    /// Time between two steps.
    pub step: Duration,
}

impl Default for RetentionPace {
    fn default() -> Self {
        Self {
            quiet: Duration::from_millis(RETENTION_QUIET_MS),
            step: Duration::from_millis(RETENTION_STEP_MS),
        }
    }
}

impl MemoryStore {
    /// Goes over the memory once, if that was not done within a day: folds, drops rows beyond the limit of
    /// title and body bytes per project, and gives the space back. In a team's memory only the caller's
    /// private rows are touched. Returns the number of rows removed; `None` if it was not time.
    pub async fn retain(
        &self,
        text_bytes_max: u64,
        now_ms: i64,
        pace: RetentionPace,
    ) -> Result<Option<u64>, StoreError> {
        if !self.exists() {
            return Ok(None);
        }
        tokio::time::sleep(pace.quiet).await;
        self.wait_until_unused(pace).await;
        let last = self.read_idly(|database| database.last_retention_ms()).await?;
        // A time in the future was noted by a clock that was wrong.
        if last.is_some_and(|last| (0..RETENTION_PASS_MS).contains(&now_ms.saturating_sub(last))) {
            return Ok(None);
        }
        let mut pass = RetentionPass::new(text_bytes_max, now_ms);
        let mut removed = 0;
        while !pass.is_done() {
            self.wait_until_unused(pace).await;
            let read = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
                let changes = pass.next_changes(database)?;
                Ok((pass, changes))
            };
            let (next, changes) = self.read_idly(read).await?;
            pass = next;
            for change in changes {
                self.wait_until_unused(pace).await;
                removed += self.write_idly(move |database| change.apply(database)).await?;
            }
        }
        self.write_idly(move |database| database.record_retention(now_ms)).await?;
        if self.team.is_none() {
            while self.database.shrink().await? {
                self.wait_until_unused(pace).await;
            }
        }
        Ok(Some(removed))
    }

    /// Waits until the memory is used for the first time.
    pub async fn wait_for_use(&self) {
        // The sender is this handle's own.
        let _ = self.uses.subscribe().wait_for(|uses| *uses > 0).await;
    }

    /// Waits a step, and longer while the memory is used.
    async fn wait_until_unused(&self, pace: RetentionPace) {
        let mut uses = *self.uses.borrow();
        tokio::time::sleep(pace.step).await;
        while uses != *self.uses.borrow() {
            uses = *self.uses.borrow();
            tokio::time::sleep(pace.quiet).await;
        }
    }

    async fn read_idly<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn MemoryDatabase<Error = StoreError>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        match &self.team {
            Some(team) => team.read_idly(work).await,
            None => self.database.read(work).await,
        }
    }

    async fn write_idly<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn MemoryDatabase<Error = StoreError>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        match &self.team {
            Some(team) => team.write_idly(work).await,
            None => self.database.write(self.busy_wait, work).await,
        }
    }
}
