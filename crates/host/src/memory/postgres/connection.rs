//! One connection to the server, used from one thread. Whatever is asked of it ends in time: it is
//! given up when an answer does not come.

use std::error::Error as _;
use std::future::Future;
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio_postgres::error::{DbError, SqlState};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

use super::schema::{NEWEST_SCHEMA, SchemaAge, migrate};
use super::settings::PostgresSettings;
use super::tls::ServerEncryption;
use crate::store::StoreError;
use moai_base::foreign_text::one_line;
use moai_base::limits::{
    POSTGRES_CONNECT_MS_MAX, POSTGRES_IDLE_TRANSACTION_MS_MAX, POSTGRES_LOCK_MS_MAX,
    POSTGRES_MESSAGE_CHARS_MAX, POSTGRES_REPLY_MARGIN_MS, POSTGRES_STATEMENT_MS_MAX,
};

/// A parameter of a statement with its type.
pub(super) type Parameter<'p> = (&'p (dyn ToSql + Sync), Type);

/// Error code that the schema's function `forget` raises for rows of other users.
const ROWS_OF_OTHERS: &str = "MR001";

/// A connection, made at its first use and again after it was lost.
pub(super) struct PostgresConnection {
    settings: PostgresSettings,
    runtime: Runtime,
    client: Option<Client>,
    age: SchemaAge,
    /// When the current work must be done.
    deadline: Instant,
}

impl PostgresConnection {
    pub(super) fn new(settings: PostgresSettings) -> Result<Self, StoreError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Unavailable(error.to_string()))?;
        let deadline = Instant::now();
        Ok(Self { settings, runtime, client: None, age: SchemaAge::Known, deadline })
    }

    /// Waits for something else, while the connection is attended to.
    pub(super) fn wait_for<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    pub(super) fn is_open(&self) -> bool {
        self.client.as_ref().is_some_and(|client| !client.is_closed())
    }

    pub(super) fn close(&mut self) {
        self.client = None;
    }

    pub(super) fn set_deadline(&mut self, deadline: Instant) {
        self.deadline = deadline;
    }

    /// An error if a newer program made the schema.
    pub(super) fn require_known_schema(&self) -> Result<(), StoreError> {
        match self.age {
            SchemaAge::Known => Ok(()),
            SchemaAge::Newer(found) => Err(StoreError::Newer {
                path: self.settings.place.clone().into(),
                found,
                known: NEWEST_SCHEMA,
            }),
        }
    }

    /// Connects, and migrates the schema if necessary. Takes its own time, whatever the deadline.
    pub(super) fn open(&mut self) -> Result<(), StoreError> {
        if self.is_open() {
            return Ok(());
        }
        self.client = None;
        self.client = Some(self.connect()?);
        self.deadline = Instant::now() + Duration::from_millis(POSTGRES_STATEMENT_MS_MAX);
        let prepared = self.prepare();
        if prepared.is_err() {
            self.client = None;
        }
        prepared
    }

    fn connect(&self) -> Result<Client, StoreError> {
        let place = &self.settings.place;
        let encryption = ServerEncryption::new(self.settings.root_certificates.as_deref())
            .map_err(StoreError::Unavailable)?;
        let config = &self.settings.config;
        let connected = self.runtime.block_on(async {
            let time_max = Duration::from_millis(POSTGRES_CONNECT_MS_MAX);
            tokio::time::timeout(time_max, config.connect(encryption)).await
        });
        let Ok(connected) = connected else {
            return Err(StoreError::Unavailable(format!("{place} does not answer")));
        };
        let (client, connection) = connected.map_err(|error| self.store_error(&error))?;
        self.runtime.spawn(async move {
            // A request that waits for an answer hears of the end too.
            if let Err(error) = connection.await {
                tracing::debug!(%error, "the connection to PostgreSQL has ended");
            }
        });
        Ok(client)
    }

    fn prepare(&mut self) -> Result<(), StoreError> {
        // jit: compiling takes longer than these statements run.
        self.run_batch(&format!(
            "SET statement_timeout = {POSTGRES_STATEMENT_MS_MAX};
             SET lock_timeout = {POSTGRES_LOCK_MS_MAX};
             SET idle_in_transaction_session_timeout = {POSTGRES_IDLE_TRANSACTION_MS_MAX};
             SET jit = off; SET client_min_messages = warning;
             SET search_path = pg_catalog, pg_temp"
        ))?;
        let encoding = self.query("SELECT current_setting('server_encoding')", &[])?;
        if encoding.iter().any(|row| row.get::<_, String>(0) != "UTF8") {
            let place = &self.settings.place;
            return Err(StoreError::Unavailable(format!("{place} does not use UTF-8")));
        }
        self.age = migrate(self)?;
        Ok(())
    }

    /// The rows of one statement; its parameters are data.
    pub(super) fn query(
        &mut self,
        sql: &str,
        parameters: &[Parameter<'_>],
    ) -> Result<Vec<Row>, StoreError> {
        self.bounded(async |client| client.query_typed(sql, parameters).await)
    }

    /// Runs statements without parameters.
    pub(super) fn run_batch(&mut self, sql: &str) -> Result<(), StoreError> {
        self.bounded(async |client| client.batch_execute(sql).await)
    }

    /// Ends a transaction, even after the time limit for its work.
    pub(super) fn end_transaction(&mut self, is_wanted: bool) -> Result<(), StoreError> {
        self.deadline = Instant::now() + Duration::from_millis(POSTGRES_REPLY_MARGIN_MS);
        self.run_batch(if is_wanted { "COMMIT" } else { "ROLLBACK" })
    }

    fn bounded<T>(
        &mut self,
        ask: impl AsyncFnOnce(&Client) -> Result<T, Error>,
    ) -> Result<T, StoreError> {
        let Some(client) = &self.client else {
            return Err(StoreError::Unavailable(format!(
                "no connection to {}",
                self.settings.place
            )));
        };
        let reply_max = Duration::from_millis(POSTGRES_STATEMENT_MS_MAX + POSTGRES_REPLY_MARGIN_MS);
        let left = self.deadline.saturating_duration_since(Instant::now()).min(reply_max);
        if left.is_zero() {
            return Err(StoreError::Unavailable("the time for it is over".to_owned()));
        }
        let answered =
            self.runtime.block_on(async { tokio::time::timeout(left, ask(client)).await });
        match answered {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                let error = self.store_error(&error);
                if self.client.as_ref().is_some_and(Client::is_closed) {
                    self.client = None;
                }
                Err(error)
            }
            Err(_) => {
                // A late answer would be read as that of a later query.
                self.client = None;
                let place = &self.settings.place;
                Err(StoreError::Unavailable(format!("{place} did not answer in time")))
            }
        }
    }

    /// The error without anything that was sent: messages of the server may quote a statement.
    fn store_error(&self, error: &Error) -> StoreError {
        let place = &self.settings.place;
        if let Some(error) = error.as_db_error() {
            return database_error(place, error);
        }
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        let text = one_line(&text, POSTGRES_MESSAGE_CHARS_MAX);
        let hint = if text.contains("certificate") {
            "; name the certificate of its authority with sslrootcert"
        } else {
            ""
        };
        StoreError::Unavailable(format!("{place}: {text}{hint}"))
    }
}

fn database_error(place: &str, error: &DbError) -> StoreError {
    let code = error.code();
    let message = one_line(error.message(), POSTGRES_MESSAGE_CHARS_MAX);
    if code.code() == ROWS_OF_OTHERS {
        return StoreError::Conflict(format!("only its author forgets a row: {message}"));
    }
    match &code.code()[..2] {
        "23" => StoreError::Conflict(format!("{place}: error {}", code.code())),
        // Of connections, rights, resources and the operation of the server.
        "08" | "25" | "28" | "3D" | "53" | "54" | "55" | "57" | "58" => {
            StoreError::Unavailable(format!("{place}: {message}"))
        }
        _ if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            StoreError::Unavailable(format!("{place}: {message}"))
        }
        _ => StoreError::Unavailable(format!("{place}: error {}", code.code())),
    }
}
