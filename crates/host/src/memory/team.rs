//! The memory that a team shares, as a hook and a command use it: they wait a little, and then do
//! without.

use std::path::Path;
use std::time::Duration;

use moai_memory::database::{ForgetSelection, MemoryDatabase};

use super::postgres::PostgresMemory;
use super::spool::{LockedSpool, Spool};
use crate::store::StoreError;
use moai_base::limits::{POSTGRES_BATCH_MAX, POSTGRES_COMMAND_MS_MAX, POSTGRES_HOOK_MS_MAX};

const HOOK_WAIT: Duration = Duration::from_millis(POSTGRES_HOOK_MS_MAX);
const COMMAND_WAIT: Duration = Duration::from_millis(POSTGRES_COMMAND_MS_MAX);

/// The memory of a team, and how long its caller waits for it.
#[derive(Clone, Debug)]
pub(super) struct TeamMemory {
    pub(super) postgres: PostgresMemory,
    /// The observations spooled for this server, database and role alone.
    pub(super) spool: Spool,
    wait: Duration,
}

impl TeamMemory {
    /// For a hook. `folder` is the one of the local memory.
    pub(super) fn new(postgres: PostgresMemory, folder: &Path) -> Self {
        let spool = Spool::of_store(folder, postgres.id());
        Self { postgres, spool, wait: HOOK_WAIT }
    }

    pub(super) fn for_command(&self) -> Self {
        Self { wait: COMMAND_WAIT, ..self.clone() }
    }

    /// True if a request is worth trying.
    pub(super) async fn is_available(&self) -> bool {
        self.outage().await.is_none()
    }

    /// Why it is not worth asking.
    pub(super) async fn outage(&self) -> Option<StoreError> {
        self.postgres.require_answer(self.wait).await.err()
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn MemoryDatabase<Error = StoreError>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        self.postgres.read(self.wait, work).await
    }

    pub(super) async fn read_idly<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn MemoryDatabase<Error = StoreError>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        self.postgres.read(COMMAND_WAIT, work).await
    }

    /// The same for a change.
    pub(super) async fn write_idly<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn MemoryDatabase<Error = StoreError>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        self.postgres.write(COMMAND_WAIT, work).await
    }

    /// Afterwards the spooled observations are stored too, without delaying the caller.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn MemoryDatabase<Error = StoreError>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        let value = self.postgres.write(self.wait, work).await?;
        if self.spool.has_lines() {
            let team = self.clone();
            tokio::spawn(async move {
                if let Err(error) = team.store_spool().await {
                    tracing::warn!(%error, "the spool of the team's memory waits on");
                }
            });
        }
        Ok(value)
    }

    /// Forgets rows of the caller, those that wait in the spool included.
    pub(super) async fn forget(
        &self,
        choose: impl Fn(
            &mut dyn MemoryDatabase<Error = StoreError>,
        ) -> Result<ForgetSelection, StoreError>
        + Send
        + 'static,
    ) -> Result<u64, StoreError> {
        self.store_spool().await?;
        let forget = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
            let selection = choose(database)?;
            database.forget(&selection)
        };
        self.postgres.write(self.wait, forget).await
    }

    /// Stores the spooled observations, part by part. The spool is removed only afterwards; if the
    /// server or the process ends in between, the same observations are stored again, as repetitions.
    async fn store_spool(&self) -> Result<(), StoreError> {
        let spool = self.spool.clone();
        let take = move || -> Result<_, StoreError> {
            let Some(taken) = spool.take()? else { return Ok(None) };
            let observations = taken.observations()?;
            Ok(Some((taken, observations)))
        };
        let taken = tokio::task::spawn_blocking(take).await;
        let taken = taken.map_err(|error| StoreError::Unavailable(error.to_string()))??;
        let Some((taken, observations)) = taken else { return Ok(()) };
        for part in observations.chunks(POSTGRES_BATCH_MAX) {
            let part = part.to_vec();
            self.postgres.write(COMMAND_WAIT, move |database| database.add(&part)).await?;
        }
        LockedSpool::remove(taken)
    }
}
