//! Keeps the files in memory up to date with the database, and notifies listeners of changes.

use super::connect::{
    Address, Connection, STATEMENT_TIMEOUT, query, unavailable_error, with_timeout,
};
use crate::library::{Change, Changes, FileWrite, Folder, MemoryFile, MemoryFiles};
use crate::lock::lock;
use crate::prompt::{Diagnostic, Kind};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_postgres::types::Type;
use tokio_postgres::{Client, GenericClient, IsolationLevel, Row};

/// Selects the writes after the write number `$1`, in the order that [`MemoryFiles::apply`] needs.
/// [`parse_write`] reads the columns by their names.
pub(super) const NEW_WRITES: &str =
    "select seq, path, text, at from history where seq > $1 order by seq";

/// Selects all files, each as the write that produced it, with the same columns as [`NEW_WRITES`].
const ALL_FILES: &str = "select seq, file.path, file.text, coalesce(history.at, 'epoch') as at \
    from file left join history using (seq)";

/// The delay before the second attempt to connect. It doubles after each further attempt.
const MIN_RECONNECT_DELAY: Duration = Duration::from_millis(100);

/// The maximum delay between two attempts to connect.
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(5);

/// How often to look for new writes if no notification arrives.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The number of rows to fetch at once when all files are loaded.
const ROWS_PER_FETCH: i32 = 500;

/// The state that writers share with the task that follows the database.
#[derive(Debug)]
pub(super) struct FollowState {
    pub(super) address: Address,
    /// Serves the prompts in `files`.
    pub(super) folder: Folder,
    /// The files in memory. `folder` shares them, so it serves every update at once.
    pub(super) files: Arc<MemoryFiles>,
    /// When the database last answered. `None` if it never has.
    pub(super) last_answer: Arc<Mutex<Option<SystemTime>>>,
    /// Why the database cannot be followed at the moment.
    pub(super) failure: Mutex<Option<Diagnostic>>,
    /// Notifies listeners of changes.
    pub(super) changes: Mutex<Arc<Changes>>,
    /// The connection for writing. `None` before the first write, and after an error.
    ///
    /// Locked during each write, and also while all files are loaded.
    pub(super) writer: tokio::sync::Mutex<Option<Client>>,
    /// Whether the first attempt to load all files has finished, successfully or not.
    pub(super) first_load_finished: watch::Sender<bool>,
}

/// Converts rows of [`NEW_WRITES`] or [`ALL_FILES`].
pub(super) fn parse_writes(rows: &[Row]) -> Vec<FileWrite> {
    rows.iter().map(parse_write).collect()
}

/// Converts a row of [`NEW_WRITES`] or [`ALL_FILES`]. Its text is null if the write deleted the
/// file.
fn parse_write(row: &Row) -> FileWrite {
    let path: &str = row.get("path");
    let text: Option<&str> = row.get("text");
    let write_number = row.get("seq");
    let file = text.map(|text| MemoryFile {
        text: text.into(),
        write_number,
        written_at: row.get("at"),
    });
    FileWrite {
        path: path.into(),
        write_number,
        file,
    }
}

/// Follows the database forever, and reconnects when the connection is lost.
pub(super) async fn follow(shared: Arc<FollowState>) {
    let mut delay = MIN_RECONNECT_DELAY; // reset by `follow_until_lost`
    loop {
        let Err(error) = shared.follow_until_lost(&mut delay).await;
        tracing::warn!(store = %shared.address, why = %error, "the store cannot be followed");
        // Record the failure first: who waits for the first load looks for it afterwards.
        shared.record_failure(error);
        shared.first_load_finished.send_replace(true);
        sleep(delay.mul_f64(jitter())).await;
        delay = (delay * 2).min(MAX_RECONNECT_DELAY);
    }
}

/// Returns a random factor from 0.5 to 1 for a delay, so that not all processes reconnect at the
/// same moment after an outage.
fn jitter() -> f64 {
    let random = getrandom::u32().unwrap_or_default();
    0.5 + f64::from(random) / f64::from(u32::MAX) / 2.0
}

/// Reads the format of the tables.
///
/// # Errors
/// There are no such tables, or they belong to another program.
pub(super) async fn read_format(client: &impl GenericClient) -> Result<i32, Diagnostic> {
    let rows = query(client, "select format from store", &[]).await?;
    let Some(row) = rows.first() else {
        return Err(foreign_tables_error());
    };
    row.try_get("format").map_err(|_| foreign_tables_error())
}

/// Returns the error for a database in which another program uses the names of our tables.
pub(super) fn foreign_tables_error() -> Diagnostic {
    Diagnostic::new(
        Kind::NameCollision,
        "the database has tables named store, file or history that are not those of this program",
        "use a database of its own, or a schema: add options=-csearch_path%3DSCHEMA to the address",
    )
}

impl FollowState {
    /// Creates the state for a database, without connecting to it.
    pub(super) fn new(address: Address) -> FollowState {
        let files = Arc::default();
        FollowState {
            folder: Folder::in_memory(address.to_string().into(), Arc::clone(&files)),
            address,
            files,
            last_answer: Arc::default(),
            failure: Mutex::default(),
            changes: Mutex::default(),
            writer: tokio::sync::Mutex::default(),
            first_load_finished: watch::Sender::new(false),
        }
    }

    /// Loads all files, and then each new write, until the connection is lost. Resets
    /// `reconnect_delay` once all files are loaded.
    async fn follow_until_lost(
        &self,
        reconnect_delay: &mut Duration,
    ) -> Result<Infallible, Diagnostic> {
        let mut connection = self.address.connect().await?;
        self.listen_and_load(&mut connection.client).await?;
        *reconnect_delay = MIN_RECONNECT_DELAY;
        self.first_load_finished.send_replace(true);
        self.apply_new_writes(connection).await
    }

    /// Asks the database to notify this connection of writes, and loads all files.
    async fn listen_and_load(&self, client: &mut Client) -> Result<(), Diagnostic> {
        // Listen before loading, so that no write is missed in between.
        let listen = client.batch_execute("listen prompt_expander");
        with_timeout(STATEMENT_TIMEOUT, listen).await?;
        // `load` replaces all files, so no write may be applied meanwhile.
        let _writer_lock = self.writer.lock().await;
        self.load(client).await
    }

    /// Applies each new write to the files in memory, until the connection is lost.
    async fn apply_new_writes(&self, connection: Connection) -> Result<Infallible, Diagnostic> {
        let Connection {
            client,
            mut notifications,
        } = connection;
        loop {
            let rows = query(
                &client,
                NEW_WRITES,
                &[(&self.files.last_write_number(), Type::INT8)],
            )
            .await?;
            self.apply(parse_writes(&rows));
            self.record_answer();
            // Continue at the next notification or, at the latest, after `POLL_INTERVAL`.
            if let Ok(None) = timeout(POLL_INTERVAL, notifications.recv()).await {
                return Err(unavailable_error("the connection was closed"));
            }
            // One query covers all notifications that have arrived so far.
            while notifications.try_recv().is_ok() {}
        }
    }

    /// Returns the connection in `writer`, which is [`FollowState::writer`]. Connects if necessary.
    pub(super) async fn connected<'w>(
        &self,
        writer: &'w mut Option<Client>,
    ) -> Result<&'w mut Client, Diagnostic> {
        if writer.as_ref().is_none_or(Client::is_closed) {
            *writer = Some(self.address.connect().await?.client);
        }
        writer
            .as_mut()
            .ok_or_else(|| unavailable_error("not connected"))
    }

    /// Records that the database has just answered.
    fn record_answer(&self) {
        *lock(&self.last_answer) = Some(SystemTime::now());
        *lock(&self.failure) = None;
    }

    /// Records why the database cannot be followed. The kind is [`Kind::NotFound`] if the files
    /// were never loaded. Otherwise, it is only a hint, because they are still served.
    fn record_failure(&self, error: Diagnostic) {
        let last_answer = *lock(&self.last_answer);
        let failure = if let Some(time) = last_answer {
            let at = Timestamp::try_from(time).unwrap_or_default();
            let message = format!(
                "the store has not answered since {at:.0}; prompts of that time are served"
            );
            Diagnostic::new(
                Kind::Hint,
                message,
                "find the reason in the log of this program",
            )
        } else {
            Diagnostic {
                kind: Kind::NotFound,
                ..error
            }
        };
        let address = self.address.to_string();
        *lock(&self.failure) = Some(failure.in_file(Path::new(&address)));
    }

    /// Replaces the files in memory with a consistent snapshot of the database.
    async fn load(&self, client: &mut Client) -> Result<(), Diagnostic> {
        let transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .read_only(true);
        let transaction = with_timeout(STATEMENT_TIMEOUT, transaction.start()).await?;
        let query_last = "select coalesce(max(seq), 0) from history";
        let last_row =
            with_timeout(STATEMENT_TIMEOUT, transaction.query_one(query_last, &[])).await?;
        let last_write: i64 = last_row.get(0);
        let cursor = with_timeout(STATEMENT_TIMEOUT, transaction.bind(ALL_FILES, &[])).await?;
        let mut files = BTreeMap::new();
        loop {
            let rows = with_timeout(
                STATEMENT_TIMEOUT,
                transaction.query_portal(&cursor, ROWS_PER_FETCH),
            )
            .await?;
            for write in parse_writes(&rows) {
                if let Some(file) = write.file {
                    files.insert(write.path, file);
                }
            }
            let is_last_fetch = rows.len() < ROWS_PER_FETCH as usize;
            if is_last_fetch {
                break;
            }
        }
        with_timeout(STATEMENT_TIMEOUT, transaction.commit()).await?;
        self.files.replace(files, last_write);
        self.record_answer();
        lock(&self.changes).tell(&Change::anything());
        Ok(())
    }

    /// Applies writes to the files in memory, and notifies listeners of the files that changed.
    /// Writes that were applied before are ignored.
    pub(super) fn apply(&self, writes: Vec<FileWrite>) {
        let changed_paths = self.files.apply(writes);
        if changed_paths.is_empty() {
            return;
        }
        let root = &self.folder.files.root;
        let mut change = Change::default();
        for path in &changed_paths {
            change.add(Change::of_path(root, &root.path.join(&**path)));
        }
        lock(&self.changes).tell(&change);
    }
}
