//! The memory of earlier sessions: where observations are kept, and where they wait while that place
//! is not available.

#[cfg(test)]
mod conformance;
pub mod postgres;
pub mod retention;
mod spool;
mod team;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use moai_memory::database::{ForgetSelection, MemoryDatabase, StoredAs};
use moai_memory::observation::NewObservation;
use tokio::sync::watch;

use self::postgres::{PostgresMemory, PostgresSettings};
use self::spool::{LockedSpool, Spool};
use self::team::TeamMemory;
use crate::store::{ForgetChoice, SqliteMemory, StoreError, StoreRecovery};
use moai_base::limits::{STORE_BUSY_MS_MAX, STORE_COMMAND_BUSY_MS_MAX};

/// Where the observations of a hook were stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObservationPlace {
    /// They are stored, in this order.
    Store(Vec<StoredAs>),
    /// They wait in the spool for the next change of the store.
    Spool {
        /// Why the store was not available.
        reason: StoreError,
    },
}

/// Result of forgetting observations and their copies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForgetOutcome {
    /// Number of observations that the store had.
    pub observations: u64,
    /// True if a backup had some of them.
    pub is_in_backups: bool,
    /// Backups and damaged copies that cannot be read and were removed, because they may hold the text.
    pub removed_copies: Vec<PathBuf>,
    /// Such copies that stay, because neither the store nor a backup has a match.
    pub unread_copies: Vec<PathBuf>,
}

/// Handle to the memory of a state folder; cheap to clone.
#[derive(Clone, Debug)]
pub struct MemoryStore {
    database: SqliteMemory,
    spool: Spool,
    /// The memory of a team, if it is used instead of the local database.
    team: Option<TeamMemory>,
    /// Why the team's memory that the user configured cannot be used.
    refusal: Option<Arc<TeamRefusal>>,
    /// How long a change waits for another process that has locked the local database.
    busy_wait: Duration,
    /// Number of reads and changes: retention works while it does not grow.
    uses: watch::Sender<u64>,
}

/// Why the memory of a team cannot be used.
#[derive(Debug)]
struct TeamRefusal {
    reason: String,
    is_told: AtomicBool,
}

impl MemoryStore {
    /// The memory of a state folder. Opens nothing yet; files are created (0600) at the first use.
    #[must_use]
    pub fn start(home: PathBuf) -> Self {
        let database = SqliteMemory::start(home);
        let spool = Spool::in_folder(&database.folder());
        let busy_wait = Duration::from_millis(STORE_BUSY_MS_MAX);
        let uses = watch::Sender::new(0);
        Self { database, spool, team: None, refusal: None, busy_wait, uses }
    }

    /// The same with the memory of a team: observations are kept there; the local database is read while the
    /// team's server is not available. Connects at the first use.
    #[must_use]
    pub fn with_team(self, settings: PostgresSettings) -> Self {
        let postgres = PostgresMemory::start(settings);
        let team = Some(TeamMemory::new(postgres, &self.database.folder()));
        Self { team, ..self }
    }

    /// The same where the user configured a team's memory that cannot be used: the local database is used
    /// instead. `reason` mentions the option or variable.
    #[must_use]
    pub fn with_refused_team(self, reason: &str) -> Self {
        let reason = reason.to_owned();
        let refusal = TeamRefusal { reason, is_told: AtomicBool::new(false) };
        Self { refusal: Some(Arc::new(refusal)), ..self }
    }

    /// The same for a command that a person gave: it waits longer than a hook, for the team's server and
    /// for other processes.
    #[must_use]
    pub fn for_command(&self) -> Self {
        let team = self.team.as_ref().map(TeamMemory::for_command);
        let busy_wait = Duration::from_millis(STORE_COMMAND_BUSY_MS_MAX);
        Self { team, busy_wait, ..self.clone() }
    }

    /// Why the memory of the team is not used, once for each time that it becomes so.
    #[must_use]
    pub fn take_outage(&self) -> Option<String> {
        if let Some(refusal) = &self.refusal {
            let was_told = refusal.is_told.swap(true, Ordering::AcqRel);
            return (!was_told).then(|| refusal.reason.clone());
        }
        self.team.as_ref()?.postgres.take_outage()
    }

    /// Why the team's memory does not respond, so that a command reads the local one instead; `None` if it
    /// responds, or if no team's memory is used.
    pub async fn team_outage(&self) -> Option<String> {
        if let Some(refusal) = &self.refusal {
            return Some(refusal.reason.clone());
        }
        let team = self.team.as_ref()?.for_command();
        team.outage().await.map(|error| error.to_string())
    }

    /// Why the team's memory that the user configured cannot be used; `None` if none is configured, or if it
    /// can be used.
    #[must_use]
    pub fn team_refusal(&self) -> Option<&str> {
        self.refusal.as_ref().map(|refusal| refusal.reason.as_str())
    }

    /// True if a team shares the memory.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.team.is_some()
    }

    /// Place of the observations, for people: the database file, or the team's database and host.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.team {
            Some(team) => team.postgres.place().to_owned(),
            None => self.path().to_string_lossy().into_owned(),
        }
    }

    #[must_use]
    pub fn path(&self) -> PathBuf {
        self.database.path()
    }

    /// True if the memory exists: reading one that does not exist would create it.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.team.is_some()
            || self.path().exists()
            || self.spool.has_lines()
            || self.database.has_backup()
    }

    /// Runs `work` in one transaction; changes inside are refused. Dropping the future does not stop
    /// queued work. While the team's server is not available, the local database is read.
    pub async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn MemoryDatabase<Error = StoreError>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        self.note_use();
        match &self.team {
            Some(team) if team.is_available().await => team.read(work).await,
            _ => self.database.read(work).await,
        }
    }

    /// Runs `work` in one transaction that may change something: committed when this returns `Ok`,
    /// rolled back after an error or a panic. Spooled observations are stored first.
    pub async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut dyn MemoryDatabase<Error = StoreError>) -> Result<T, StoreError>
        + Send
        + 'static,
    ) -> Result<T, StoreError> {
        self.note_use();
        if let Some(team) = &self.team {
            return team.write(work).await;
        }
        self.store_spool().await?;
        self.database.write(self.busy_wait, work).await
    }

    /// Stores observations, or keeps them in the spool if the store is not available.
    ///
    /// # Errors
    ///
    /// Neither was possible.
    pub async fn add_or_spool(
        &self,
        observations: Vec<NewObservation>,
    ) -> Result<ObservationPlace, StoreError> {
        let observations = Arc::new(observations);
        let added = Arc::clone(&observations);
        match self.write(move |database| database.add(&added)).await {
            Ok(stored) => Ok(ObservationPlace::Store(stored)),
            Err(reason) => {
                let spool = self.team.as_ref().map_or(&self.spool, |team| &team.spool).clone();
                let appended = tokio::task::spawn_blocking(move || spool.append(&observations));
                match appended.await {
                    Ok(Ok(())) => Ok(ObservationPlace::Spool { reason }),
                    Ok(Err(error)) => Err(StoreError::Unavailable(format!(
                        "{reason}; the spool cannot be written either: {error}"
                    ))),
                    Err(_) => Err(reason),
                }
            }
        }
    }

    /// Forgets the observations that `choose` selects, in the database, its backups and the spool; it is
    /// called again for every copy. In a team's memory only the caller's rows are forgotten; the local
    /// database is left unchanged, because its rows are different ones.
    pub async fn forget(
        &self,
        choose: impl Fn(
            &mut dyn MemoryDatabase<Error = StoreError>,
        ) -> Result<ForgetSelection, StoreError>
        + Send
        + Sync
        + 'static,
    ) -> Result<ForgetOutcome, StoreError> {
        self.note_use();
        if let Some(team) = &self.team {
            let observations = team.forget(choose).await?;
            return Ok(ForgetOutcome { observations, ..ForgetOutcome::default() });
        }
        // Spooled observations are stored first, and then forgotten with the rest.
        self.store_spool().await?;
        let choice: ForgetChoice = Arc::new(choose);
        self.database.forget(choice).await
    }

    /// Copies the database to a new file, or replaces the backup of this day. Answers with the file.
    pub async fn back_up(&self, file: Option<PathBuf>) -> Result<PathBuf, StoreError> {
        self.require_local()?;
        self.database.back_up(file).await
    }

    /// The backup that would be restored, by default the newest, and how many observations it has.
    pub async fn inspect_backup(
        &self,
        file: Option<PathBuf>,
    ) -> Result<(PathBuf, u64), StoreError> {
        self.require_local()?;
        self.database.inspect_backup(file).await
    }

    /// Replaces the database by a backup, by default the newest. Answers with the backup and how many
    /// observations it has.
    pub async fn restore(&self, file: Option<PathBuf>) -> Result<(PathBuf, u64), StoreError> {
        self.require_local()?;
        self.database.restore(file).await
    }

    /// Observations that wait for their store, here and for every server of a team.
    #[must_use]
    pub fn waiting_observations(&self) -> u64 {
        spool::waiting_lines(&self.database.folder())
    }

    /// Place of the team's memory, for people; `None` if none is used.
    #[must_use]
    pub fn team_place(&self) -> Option<&str> {
        self.team.as_ref().map(|team| team.postgres.place())
    }

    fn note_use(&self) {
        self.uses.send_modify(|uses| *uses += 1);
    }

    fn require_local(&self) -> Result<(), StoreError> {
        match &self.team {
            None => Ok(()),
            Some(team) => Err(StoreError::Conflict(format!(
                "{} is backed up by its administrator",
                team.postgres.place()
            ))),
        }
    }

    /// Recovery of a damaged or missing database that was opened since the last call.
    #[must_use]
    pub fn take_recovery(&self) -> Option<StoreRecovery> {
        self.database.take_recovery()
    }

    /// Keeps a recovery for the next notice, because the reply that reported it was not delivered.
    pub fn put_back_recovery(&self, recovery: StoreRecovery) {
        self.database.put_back_recovery(recovery);
    }

    /// Stores the spooled observations. The spool is removed only after the commit; if the process ends
    /// in between, the same observations are stored again, as repetitions.
    async fn store_spool(&self) -> Result<(), StoreError> {
        if !self.spool.has_lines() {
            return Ok(());
        }
        let spool = self.spool.clone();
        let store = move |database: &mut dyn MemoryDatabase<Error = StoreError>| {
            let Some(locked) = spool.lock()? else { return Ok(None) };
            database.add(&locked.observations()?)?;
            Ok(Some(locked))
        };
        if let Some(stored) = self.database.write(self.busy_wait, store).await? {
            LockedSpool::remove(stored)?;
        }
        Ok(())
    }
}
