//! Prompts in PostgreSQL: what `--store` serves. The library is in memory, as files of a folder,
//! and follows the database.
//!
//! | table | |
//! |---|---|
//! | `file(path primary key, folded unique, text, seq)` | each file; `folded` is the path in lower case and NFC, so that the files can be pulled to any file system |
//! | `history(seq primary key, path, text, author, note, at)` | each write, in order; without a text, a deletion |
//! | `store(format)` | the [format](FORMAT) of these tables |
//!
//! **A write** is one transaction under a lock, so that `seq` has no gaps and becomes visible in
//! order. If the text is already what is to be written, nothing changes, so that a write may be
//! repeated whose answer was lost.
//!
//! **Following** ([`follow`]): one connection waits for notifications, and asks each second anyway.
//! After it was lost, everything is read again. A write is in the memory of its own process before
//! it is answered.

mod connect;
mod follow;
pub(super) mod push;
mod store;
mod transaction;
mod without_tls;

use crate::library::{About, Found, Library, Listing, Source, Store};
use crate::lock::lock;
use crate::prompt::{Diagnostic, Kind, Name, Severity};
use crate::wording::too_long;
pub use connect::Address;
use connect::{
    Connection, STATEMENT_TIMEOUT, SqlParameter, query, unavailable_error, with_timeout,
};
use follow::{FollowState, foreign_tables, read_format};
use std::io;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::Row;
use unicode_normalization::UnicodeNormalization;

/// The format of the tables that this version writes. Those of a later format are only read.
const FORMAT: i32 = 1;

/// The longest file, in bytes: 256 KiB.
pub(super) const MAX_FILE: usize = 256 * 1024;

/// Tables of the [`FORMAT`].
const TABLES: &str = "create table store (format integer not null);
    create table file (path text collate \"C\" primary key, folded text collate \"C\" not null unique, text text not null, seq bigint not null);
    create table history (seq bigint primary key, path text collate \"C\" not null, text text, author text, note text, at timestamptz not null default now());
    create index history_path on history (path, seq); insert into store values (1)";

/// A store of prompts in PostgreSQL.
#[derive(Debug)]
pub struct Postgres {
    /// What the thread that follows the database knows, too.
    shared: Arc<FollowState>,
    /// Runs that thread, and each statement.
    runtime: Runtime,
}

impl Postgres {
    /// Starts a thread that keeps the files of a database in memory up to date.
    ///
    /// # Errors
    /// The thread cannot be started.
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

    /// Waits until the first attempt to read the store has ended.
    ///
    /// # Errors
    /// The store does not exist. Other failures are no errors here, because reading is tried again
    /// in the background.
    pub fn wait(&self) -> Result<(), Diagnostic> {
        let mut tried = self.shared.tried.subscribe();
        _ = self.runtime.block_on(tried.wait_for(|tried| *tried));
        match lock(&self.shared.failure).clone() {
            Some(error) if error.kind == Kind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Creates the tables if they are missing. Returns whether it has created them.
    ///
    /// # Errors
    /// Other tables have these names, or the tables cannot be created.
    pub fn init(address: &Address) -> Result<bool, Diagnostic> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| unavailable_error(&error.to_string()))?;
        runtime.block_on(create_tables(address))
    }

    /// Returns the rows of a statement with these parameters.
    fn query(
        &self,
        statement: &str,
        parameters: &[SqlParameter<'_>],
    ) -> Result<Vec<Row>, Diagnostic> {
        self.runtime.block_on(async {
            let mut writer = self.shared.writer.lock().await;
            let client = self.shared.connected(&mut writer).await?;
            let rows = query(client, statement, parameters).await;
            if rows.is_err() {
                *writer = None; // the state of the connection is unknown
            }
            rows
        })
    }
}

/// Creates the tables. Returns `false` if they exist already, and have a format that is known.
async fn create_tables(address: &Address) -> Result<bool, Diagnostic> {
    let Connection { client, .. } = address.connect().await?;
    match with_timeout(STATEMENT_TIMEOUT, client.batch_execute(TABLES)).await {
        Ok(()) => Ok(true),
        Err(error) if error.kind == Kind::NameCollision => {
            let format = read_format(&client).await.map_err(|_| foreign_tables())?;
            check_format(format)?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

/// Checks that this version may write tables of a format.
fn check_format(format: i32) -> Result<(), Diagnostic> {
    if format <= FORMAT {
        return Ok(());
    }
    let message = format!(
        "the store has the format {format} of a newer version, and is only read: this one writes \
         format {FORMAT}"
    );
    Err(Diagnostic::new(
        Kind::NotWritable,
        message,
        "update prompt-expander",
    ))
}

/// Returns a text that is the same for all paths that are one path on some file systems, because
/// they differ only in letter case or in how accents are composed.
fn folded(path: &str) -> String {
    let composed: String = path.nfc().collect();
    composed.to_lowercase().nfc().collect()
}

/// Checks that the store takes a text.
fn check_text(text: &str) -> Result<(), Diagnostic> {
    if text.len() > MAX_FILE {
        let message = format!("the file is {} in a store", too_long(text.len(), MAX_FILE));
        return Err(Diagnostic::new(Kind::TooLong, message, "make it smaller"));
    }
    if text.contains('\0') {
        let message = "the file has a NUL character, which a store does not take";
        return Err(Diagnostic::new(Kind::Invalid, message, "remove it"));
    }
    Ok(())
}

impl Library {
    /// Adds the prompts of a database, which tells the watchers of this library what changes.
    #[must_use]
    pub fn with_store(mut self, store: Arc<Postgres>) -> Library {
        *lock(&store.shared.changes) = Arc::clone(&self.changes);
        self.answered = Some(Arc::clone(&store.shared.answered));
        self.with(store)
    }
}

impl Source for Arc<Postgres> {
    fn about(&self) -> &About {
        self.shared.folder.about()
    }

    fn find(&self, name: &Name) -> Option<Found> {
        self.shared.folder.find(name)
    }

    /// Returns the prompts in memory, and an error if the database was never read.
    fn list(&self) -> Listing {
        let mut listing = self.shared.folder.list();
        for problem in self.problems() {
            // The hint that an old state is served does not belong into a list.
            if problem.severity() == Severity::Error {
                listing.problems.push(problem);
            }
        }
        listing
    }

    fn problems(&self) -> Vec<Diagnostic> {
        lock(&self.shared.failure).iter().cloned().collect()
    }

    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        Some(Ok(Arc::new(Arc::clone(self))))
    }
}
