//! Follows a database: what others write is soon in memory, and listeners are notified of it.

use super::connection::{Address, STATEMENT, ask, gone, within};
use crate::library::{Change, Changes, Folder, Row, Rows};
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

/// The writes after the last one that is known.
pub(super) const FRESH: &str =
    "select seq, path, text, at from history where seq > $1 order by seq";

/// How long to wait between two attempts to connect: at first, and at most.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

/// How often to ask without a notification.
const ASK: Duration = Duration::from_secs(1);

/// How many files are read at once.
const PORTION: i32 = 500;

const ALL: &str = "select seq, file.path, file.text, coalesce(history.at, 'epoch') from file left join history using (seq)";

/// What its threads share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) address: Address,
    pub(super) folder: Folder,
    pub(super) rows: Arc<Rows>,
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

/// A write: the path, its number, and the file unless it was deleted.
pub(super) type Written = (Arc<str>, i64, Option<Row>);

/// The writes in the answer to [`FRESH`] or [`ALL`].
pub(super) fn writes(rows: &[tokio_postgres::Row]) -> Vec<Written> {
    let write = |row: &tokio_postgres::Row| {
        let (number, path, text): (i64, &str, Option<&str>) = (row.get(0), row.get(1), row.get(2));
        (
            path.into(),
            number,
            text.map(|text| Row {
                text: text.into(),
                number,
                at: row.get(3),
                summary: None,
            }),
        )
    };
    rows.iter().map(write).collect()
}

/// Follows the database forever.
pub(super) async fn follow(shared: Arc<Shared>) {
    let mut wait = WAITS.0;
    loop {
        let Err(why) = follow_until_lost(&shared, &mut wait).await;
        tracing::warn!(store = %shared.address, %why, "the store cannot be followed");
        let why = match lock(&shared.answered).and_then(|at| Timestamp::try_from(at).ok()) {
            Some(at) => {
                let message = format!(
                    "the store has not answered since {at:.0}, and what it had then is served"
                );
                Diagnostic::new(
                    Kind::Hint,
                    message,
                    "find the reason in the log of this program",
                )
            }
            None => Diagnostic {
                kind: Kind::Missing,
                ..why
            },
        };
        *lock(&shared.failure) = Some(why.in_file(Path::new(&shared.address.to_string())));
        shared.tried.send_replace(true);
        let jitter = f64::from(getrandom::u32().unwrap_or_default()) / f64::from(u32::MAX);
        sleep(wait.mul_f64(0.5 + jitter / 2.0)).await;
        wait = (wait * 2).min(WAITS.1);
    }
}

async fn follow_until_lost(shared: &Shared, wait: &mut Duration) -> Result<Infallible, Diagnostic> {
    let (mut client, mut notifications) = shared.address.connect().await?;
    within(STATEMENT, client.batch_execute("listen prompt_expander")).await?;
    {
        let _nobody_writes = shared.writer.lock().await;
        shared.load(&mut client).await?;
    }
    *wait = WAITS.0;
    shared.tried.send_replace(true);
    loop {
        let rows = ask(&client, FRESH, &[(&shared.rows.last(), Type::INT8)]).await?;
        shared.apply(writes(&rows));
        shared.has_answered();
        if let Ok(None) = timeout(ASK, notifications.recv()).await {
            return Err(gone("the connection was closed"));
        }
        while notifications.try_recv().is_ok() {}
    }
}

/// The format of the tables.
pub(super) async fn format(client: &impl GenericClient) -> Result<i32, Diagnostic> {
    let rows = ask(client, "select format from store", &[]).await?;
    rows.first()
        .and_then(|row| row.try_get(0).ok())
        .ok_or_else(not_ours)
}

pub(super) fn not_ours() -> Diagnostic {
    let message =
        "the database has tables named store, file or history that are not those of this program";
    let fix =
        "use a database of its own, or a schema: add options=-csearch_path%3DSCHEMA to the address";
    Diagnostic::new(Kind::Clash, message, fix)
}

impl Shared {
    /// The connection that writes.
    pub(super) async fn connected<'w>(
        &self,
        writer: &'w mut Option<Client>,
    ) -> Result<&'w mut Client, Diagnostic> {
        if writer.as_ref().is_none_or(Client::is_closed) {
            *writer = Some(self.address.connect().await?.0);
        }
        writer.as_mut().ok_or_else(|| gone("not connected"))
    }

    fn has_answered(&self) {
        *lock(&self.answered) = Some(SystemTime::now());
        *lock(&self.failure) = None;
    }

    /// Reads everything, as it is at one moment.
    pub(super) async fn load(&self, client: &mut Client) -> Result<(), Diagnostic> {
        let transaction = client
            .build_transaction()
            .isolation_level(IsolationLevel::RepeatableRead)
            .read_only(true);
        let transaction = within(STATEMENT, transaction.start()).await?;
        let last = "select coalesce(max(seq), 0) from history";
        let last: i64 = within(STATEMENT, transaction.query_one(last, &[]))
            .await?
            .get(0);
        let all = within(STATEMENT, transaction.bind(ALL, &[])).await?;
        let mut files = BTreeMap::new();
        loop {
            let rows = within(STATEMENT, transaction.query_portal(&all, PORTION)).await?;
            files.extend(
                writes(&rows)
                    .into_iter()
                    .filter_map(|(path, _, row)| Some((path, row?))),
            );
            if rows.len() < PORTION as usize {
                break;
            }
        }
        within(STATEMENT, transaction.commit()).await?;
        self.rows.replace(files, last);
        self.has_answered();
        lock(&self.changes).tell(&Change::anything());
        Ok(())
    }

    /// Carries out writes in memory, and notifies the listeners.
    pub(super) fn apply(&self, writes: Vec<Written>) {
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
