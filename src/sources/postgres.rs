//! Prompts in PostgreSQL, which `--store` serves. The files are in memory, and are kept up to date
//! with the database.
//!
//! | table | |
//! |---|---|
//! | `file(path primary key, folded unique, text, seq)` | each file; `folded` is the path in lower case and NFC, so that the files can be pulled to any file system |
//! | `history(seq primary key, path, text, author, note, at)` | each write, in order; the text is null for a deletion |
//! | `store(format)` | the [format](FORMAT) of these tables |
//!
//! **Writing:** each write is one transaction under a lock, so that the values of `seq` have no
//! gaps and become visible in order. Writing the current text again changes nothing, so a client
//! may retry a write whose response was lost.
//!
//! **Following** ([`follow`]): one connection waits for notifications, and polls every second as
//! well. After the connection was lost, all files are loaded again. A process applies its own
//! writes to its memory before it responds to the client.

mod connect;
mod follow;
pub(super) mod push;
mod store;
mod transaction;
mod without_tls;

use crate::library::{About, Found, Library, Listing, Source, Store};
use crate::lock::lock;
use crate::prompt::{Diagnostic, Kind, Name, Severity};
use crate::wording::size_and_limit;
pub use connect::Address;
use connect::{Connection, STATEMENT_TIMEOUT, SqlParameter, unavailable_error, with_timeout};
use follow::{FollowState, foreign_tables_error, read_format};
use std::io;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Row;
use unicode_normalization::UnicodeNormalization;

/// The version of the table format. Tables with a newer format are read-only.
const FORMAT: i32 = 1;

/// The maximum size of a stored file, in bytes.
pub(super) const MAX_FILE: usize = 256 * 1024;

/// Creates the tables in the current [`FORMAT`].
const CREATE_TABLES: &str = "create table store (format integer not null);
    create table file (path text collate \"C\" primary key, folded text collate \"C\" not null unique, text text not null, seq bigint not null);
    create table history (seq bigint primary key, path text collate \"C\" not null, text text, author text, note text, at timestamptz not null default now());
    create index history_path on history (path, seq); insert into store values (1)";

/// A store of prompts in PostgreSQL.
#[derive(Debug)]
pub struct Postgres {
    /// Shared with the task that follows the database.
    shared: Arc<FollowState>,
    /// Runs that task, and the statements of writers.
    runtime: Runtime,
}

impl Postgres {
    /// Starts to follow a database in the background.
    ///
    /// # Errors
    /// The background thread cannot be started.
    pub fn open(address: Address) -> io::Result<Postgres> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .thread_name("store")
            .build()?;
        let shared = Arc::new(FollowState::new(address));
        runtime.spawn(follow::follow(Arc::clone(&shared)));
        Ok(Postgres { shared, runtime })
    }

    /// Waits until the first attempt to load the files has finished.
    ///
    /// # Errors
    /// The files could not be loaded. The background task keeps trying.
    pub fn wait_for_first_load(&self) -> Result<(), Diagnostic> {
        let mut finished = self.shared.first_load_finished.subscribe();
        let waiting = finished.wait_for(|is_finished| *is_finished);
        _ = self.runtime.block_on(waiting);
        match lock(&self.shared.failure).clone() {
            // `record_failure` uses this kind only if the files were never loaded.
            Some(error) if error.kind == Kind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Creates the tables. Returns `false` if they exist already.
    ///
    /// # Errors
    /// The tables cannot be created, or another program uses their names.
    pub fn init(address: &Address) -> Result<bool, Diagnostic> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| unavailable_error(&error.to_string()))?;
        runtime.block_on(create_tables(address))
    }

    /// Runs a statement on the writer's connection, and returns its rows.
    fn query(
        &self,
        statement: &str,
        parameters: &[SqlParameter<'_>],
    ) -> Result<Vec<Row>, Diagnostic> {
        self.runtime.block_on(async {
            let mut writer = self.shared.writer.lock().await;
            let client = self.shared.connected(&mut writer).await?;
            let rows = connect::query(client, statement, parameters).await;
            if rows.is_err() {
                *writer = None; // reconnect, because the connection may be in a bad state
            }
            rows
        })
    }
}

/// Creates the tables of the store. Returns `false` if they exist already.
///
/// # Errors
/// The tables cannot be created, or another program uses their names.
async fn create_tables(address: &Address) -> Result<bool, Diagnostic> {
    let Connection { client, .. } = address.connect().await?;
    match with_timeout(STATEMENT_TIMEOUT, client.batch_execute(CREATE_TABLES)).await {
        Ok(()) => Ok(true),
        // A table with one of the names exists. Fail unless it is ours.
        Err(error) if error.kind == Kind::NameCollision => {
            let format = read_format(&client)
                .await
                .map_err(|_| foreign_tables_error())?;
            check_format(format)?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Fails if the tables have a newer format than this version can write.
fn check_format(format: i32) -> Result<(), Diagnostic> {
    if format <= FORMAT {
        return Ok(());
    }
    let message = format!(
        "the store has the format {format} of a newer version, and is read-only: this version \
         writes format {FORMAT}"
    );
    Err(Diagnostic::new(
        Kind::NotWritable,
        message,
        "update prompt-expander",
    ))
}

/// Returns the lower-case NFC form of a path. Paths with the same form are the same file on a file
/// system that ignores letter case or normalizes accents.
fn fold_path(path: &str) -> String {
    let composed: String = path.nfc().collect();
    composed.to_lowercase().nfc().collect()
}

/// Fails if the text is too long for the store, or contains a NUL, which PostgreSQL cannot store.
fn check_text(text: &str) -> Result<(), Diagnostic> {
    if text.len() > MAX_FILE {
        let message = format!(
            "the file is {} in a store",
            size_and_limit(text.len(), MAX_FILE)
        );
        return Err(Diagnostic::new(Kind::TooLong, message, "make it smaller"));
    }
    if text.contains('\0') {
        let message = "the file has a NUL character, which cannot be stored";
        return Err(Diagnostic::new(Kind::Invalid, message, "remove it"));
    }
    Ok(())
}

impl Library {
    /// Adds the prompts of a database. Listeners of this library are notified of its changes.
    #[must_use]
    pub fn with_store(mut self, store: Arc<Postgres>) -> Library {
        *lock(&store.shared.changes) = Arc::clone(&self.changes);
        self.answered = Some(Arc::clone(&store.shared.last_answer));
        self.with(store)
    }
}

impl Source for Arc<Postgres> {
    fn about(&self) -> &About {
        self.shared.folder.about()
    }

    /// Finds a prompt among the files in memory, which a background task keeps up to date.
    fn find(&self, name: &Name) -> Option<Found> {
        self.shared.folder.find(name)
    }

    /// Lists the prompts in memory. Also reports the error if they were never loaded.
    fn list(&self) -> Listing {
        let mut listing = self.shared.folder.list();
        for problem in self.problems() {
            // Leave out the hint that outdated prompts are served.
            if problem.severity() == Severity::Error {
                listing.problems.push(problem);
            }
        }
        listing
    }

    /// Returns why the last attempt to load the files failed, if it did.
    fn problems(&self) -> Vec<Diagnostic> {
        lock(&self.shared.failure).iter().cloned().collect()
    }

    /// Returns the database as a store. A lost connection is reported only by the write itself.
    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        Some(Ok(Arc::new(Arc::clone(self))))
    }
}
