//! Follows a database: what others write is soon in memory, and listeners are notified of it.

use super::connect::{
    Address, Connection, STATEMENT_TIMEOUT, query, unavailable_error, with_timeout,
};
use crate::library::{Change, Changes, Folder, MemoryFile, MemoryFiles};
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
use tokio_postgres::{Client, GenericClient, IsolationLevel};

/// Selects the writes after the last one that is known.
pub(super) const FRESH: &str =
    "select seq, path, text, at from history where seq > $1 order by seq";

/// Selects all files, each as the write that made it.
const ALL: &str = "select seq, file.path, file.text, coalesce(history.at, 'epoch') \
    from file left join history using (seq)";

/// How long to wait before the second attempt to connect. Each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(100);

/// The longest wait between two attempts to connect.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// How often to ask without a notification.
const ASK: Duration = Duration::from_secs(1);

/// How many files are read at once.
const ROWS_AT_ONCE: i32 = 500;

/// What the thread that follows a database and its writers share.
#[derive(Debug)]
pub(super) struct FollowState {
    pub(super) address: Address,
    /// The files in memory, as a folder.
    pub(super) folder: Folder,
    pub(super) rows: Arc<MemoryFiles>,
    /// When the database has answered last.
    pub(super) answered: Arc<Mutex<Option<SystemTime>>>,
    /// Why the database cannot be followed now.
    pub(super) failure: Mutex<Option<Diagnostic>>,
    /// Who is notified of changes.
    pub(super) changes: Mutex<Arc<Changes>>,
    /// Whoever writes, or reads everything, holds it. `None` until the first write, and after a
    /// connection was lost.
    pub(super) writer: tokio::sync::Mutex<Option<Client>>,
    /// Whether the first attempt to read everything has ended.
    pub(super) tried: watch::Sender<bool>,
}

/// A write: the path, the number of the write, and the file; `None` if the write deleted it.
pub(super) type WrittenRow = (Arc<str>, i64, Option<MemoryFile>);

/// Returns the writes in the answer to [`FRESH`] or [`ALL`].
pub(super) fn writes(rows: &[tokio_postgres::Row]) -> Vec<WrittenRow> {
    let mut writes = Vec::new();
    for row in rows {
        let number: i64 = row.get(0);
        let path: &str = row.get(1);
        let text: Option<&str> = row.get(2);
        let file = text.map(|text| MemoryFile {
            text: text.into(),
            number,
            at: row.get(3),
        });
        writes.push((path.into(), number, file));
    }
    writes
}

/// Follows the database forever: connects again whenever the connection is lost.
pub(super) async fn follow(shared: Arc<FollowState>) {
    let mut wait = FIRST_WAIT;
    loop {
        let Err(error) = shared.follow_until_lost(&mut wait).await;
        tracing::warn!(store = %shared.address, why = %error, "the store cannot be followed");
        shared.record_failure(error);
        shared.tried.send_replace(true);
        sleep(wait.mul_f64(random_factor())).await;
        wait = (wait * 2).min(LONGEST_WAIT);
    }
}

/// Returns a number from 0.5 to 1, so that not all programs connect at the same moment after a
/// database was away.
fn random_factor() -> f64 {
    let random = getrandom::u32().unwrap_or_default();
    0.5 + f64::from(random) / f64::from(u32::MAX) / 2.0
}

/// Returns the format of the tables.
pub(super) async fn read_format(client: &impl GenericClient) -> Result<i32, Diagnostic> {
    let rows = query(client, "select format from store", &[]).await?;
    let Some(row) = rows.first() else {
        return Err(foreign_tables());
    };
    row.try_get(0).map_err(|_| foreign_tables())
}

/// Returns the error for a database whose tables belong to another program.
pub(super) fn foreign_tables() -> Diagnostic {
    Diagnostic::new(
        Kind::NameCollision,
        "the database has tables named store, file or history that are not those of this program",
        "use a database of its own, or a schema: add options=-csearch_path%3DSCHEMA to the address",
    )
}

impl FollowState {
    /// Creates the shared state of a database that was not contacted yet.
    pub(super) fn new(address: Address) -> FollowState {
        let rows = Arc::default();
        FollowState {
            folder: Folder::in_memory(address.to_string().into(), Arc::clone(&rows)),
            address,
            rows,
            answered: Arc::default(),
            failure: Mutex::default(),
            changes: Mutex::default(),
            writer: tokio::sync::Mutex::default(),
            tried: watch::Sender::new(false),
        }
    }

    /// Reads everything, and then each new write, until the connection is lost. `wait`, the delay
    /// before the next attempt to connect, is reset once everything is read.
    async fn follow_until_lost(&self, wait: &mut Duration) -> Result<Infallible, Diagnostic> {
        let Connection {
            mut client,
            mut notifications,
        } = self.address.connect().await?;
        with_timeout(
            STATEMENT_TIMEOUT,
            client.batch_execute("listen prompt_expander"),
        )
        .await?;
        {
            let _nobody_writes = self.writer.lock().await;
            self.load(&mut client).await?;
        }
        *wait = FIRST_WAIT;
        self.tried.send_replace(true);
        loop {
            let rows = query(
                &client,
                FRESH,
                &[(&self.rows.last_write_number(), Type::INT8)],
            )
            .await?;
            self.apply(writes(&rows));
            self.record_answer();
            if let Ok(None) = timeout(ASK, notifications.recv()).await {
                return Err(unavailable_error("the connection was closed"));
            }
            while notifications.try_recv().is_ok() {}
        }
    }

    /// Returns the connection for writes, and opens one if there is none.
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

    /// Records that the database answers at this moment.
    fn record_answer(&self) {
        *lock(&self.answered) = Some(SystemTime::now());
        *lock(&self.failure) = None;
    }

    /// Records why the database cannot be followed: as a hint if it has answered before, because
    /// the files in memory are still served, else as an error.
    fn record_failure(&self, error: Diagnostic) {
        let answered = *lock(&self.answered);
        let failure = if let Some(time) = answered {
            let at = Timestamp::try_from(time).unwrap_or_default();
            let message =
                format!("the store has not answered since {at:.0}, and what it had then is served");
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

    /// Replaces the files in memory with those of the database at one moment.
    async fn load(&self, client: &mut Client) -> Result<(), Diagnostic> {
        let transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .read_only(true);
        let transaction = with_timeout(STATEMENT_TIMEOUT, transaction.start()).await?;
        let last = "select coalesce(max(seq), 0) from history";
        let last: i64 = with_timeout(STATEMENT_TIMEOUT, transaction.query_one(last, &[]))
            .await?
            .get(0);
        let all = with_timeout(STATEMENT_TIMEOUT, transaction.bind(ALL, &[])).await?;
        let mut files = BTreeMap::new();
        loop {
            let rows = with_timeout(
                STATEMENT_TIMEOUT,
                transaction.query_portal(&all, ROWS_AT_ONCE),
            )
            .await?;
            for (path, _, file) in writes(&rows) {
                if let Some(file) = file {
                    files.insert(path, file);
                }
            }
            if rows.len() < ROWS_AT_ONCE as usize {
                break;
            }
        }
        with_timeout(STATEMENT_TIMEOUT, transaction.commit()).await?;
        self.rows.replace(files, last);
        self.record_answer();
        lock(&self.changes).tell(&Change::anything());
        Ok(())
    }

    /// Applies writes to the files in memory, and notifies the listeners of those that changed
    /// something.
    pub(super) fn apply(&self, writes: Vec<WrittenRow>) {
        let changed = self.rows.apply(writes);
        if changed.is_empty() {
            return;
        }
        let root = &self.folder.files.root;
        let mut change = Change::default();
        for path in &changed {
            change.add(Change::of_path(root, &root.path.join(&**path)));
        }
        lock(&self.changes).tell(&change);
    }
}
