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

mod connection;
mod follow;
pub(super) mod push;
mod without_tls;

use crate::library::{
    About, Authorship, Caller, Folder, Found, Library, Listing, Operation, PromptFile, Source,
    Store, Trace, Version, WriteAction, WriteRequest, conflict, exists,
};
use crate::lock::lock;
use crate::prompt::{Diagnostic, FileName, Kind, Name, Revision, Severity, TEST_SUFFIX};
use crate::wording::too_long;
pub use connection::Address;
use connection::{STATEMENT, ask, gone, within};
use follow::{FRESH, Shared, format, not_ours};
use jiff::Timestamp;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};
use unicode_normalization::UnicodeNormalization;

/// The format of the tables that this version writes. Those of a later format are only read.
const FORMAT: i32 = 1;

/// The longest file, in bytes: 256 KiB.
pub(super) const MAX_FILE: usize = 256 * 1024;

/// The lock of all writers, which others may read. Only who may write the table can take it. An
/// advisory lock could be held by anybody who may connect to the database.
const LOCK: &str = "lock table history in share row exclusive mode";

/// Tables of the [`FORMAT`].
const TABLES: &str = "create table store (format integer not null);
    create table file (path text collate \"C\" primary key, folded text collate \"C\" not null unique, text text not null, seq bigint not null);
    create table history (seq bigint primary key, path text collate \"C\" not null, text text, author text, note text, at timestamptz not null default now());
    create index history_path on history (path, seq); insert into store values (1)";

/// A write of one file: its path, its text unless it is deleted, and the path whose versions it
/// takes over.
type FileChange = (String, Option<String>, Option<String>);

/// A store of prompts in PostgreSQL.
#[derive(Debug)]
pub struct Postgres {
    shared: Arc<Shared>,
    runtime: Runtime,
}

impl Postgres {
    /// Starts to follow a database, on a thread of its own.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn open(address: Address) -> std::io::Result<Postgres> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .thread_name("store")
            .build()?;
        let (rows, answered) = (Arc::default(), Arc::default());
        let folder = Folder::in_memory(address.to_string().into(), Arc::clone(&rows));
        let (failure, changes, writer) = (
            Mutex::default(),
            Mutex::default(),
            tokio::sync::Mutex::default(),
        );
        let tried = watch::Sender::new(false);
        let shared = Arc::new(Shared {
            address,
            folder,
            rows,
            answered,
            failure,
            changes,
            writer,
            tried,
        });
        runtime.spawn(follow::follow(Arc::clone(&shared)));
        Ok(Postgres { shared, runtime })
    }

    /// Waits until everything was read once.
    ///
    /// # Errors
    /// It cannot be read. It is tried again and again.
    pub fn wait(&self) -> Result<(), Diagnostic> {
        _ = self
            .runtime
            .block_on(self.shared.tried.subscribe().wait_for(|tried| *tried));
        let failure = lock(&self.shared.failure).clone();
        failure
            .filter(|why| why.kind == Kind::Missing)
            .map_or(Ok(()), Err)
    }

    /// Creates the tables. Returns whether they were not there.
    ///
    /// # Errors
    /// There are other tables of these names, or they cannot be created.
    pub fn init(address: &Address) -> Result<bool, Diagnostic> {
        let runtime = Builder::new_current_thread().enable_all().build();
        runtime
            .map_err(|error| gone(&error.to_string()))?
            .block_on(async {
                let (client, _connected) = address.connect().await?;
                match within(STATEMENT, client.batch_execute(TABLES)).await {
                    Err(why) if why.kind == Kind::Clash => {
                        let format = format(&client).await.map_err(|_| not_ours())?;
                        check_format(format).map(|()| false)
                    }
                    done => done.map(|()| true),
                }
            })
    }

    /// The path below the folder of the prompt of this name, or of a new one.
    fn path_of(&self, name: &Name) -> String {
        let files = &self.shared.folder.files;
        let file = files
            .resolve(name, &mut Trace::default())
            .map(|file| files.root.below(&file.path));
        file.unwrap_or_else(|| format!("{name}.md"))
    }

    /// Returns the rows of a statement with these parameters.
    fn query(
        &self,
        query: &str,
        parameters: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Diagnostic> {
        self.runtime.block_on(async {
            let mut writer = self.shared.writer.lock().await;
            let client = self.shared.connected(&mut writer).await?;
            let rows = ask(client, query, parameters).await;
            rows.inspect_err(|_| *writer = None) // its state is unknown
        })
    }

    /// The writes of a prompt, the newest first.
    fn versions(&self, name: &Name) -> Result<Vec<(Version, Option<String>)>, Diagnostic> {
        let paths = self.shared.folder.files.paths_of(name);
        let query = "select text, author, note, at from history where path = any($1) order by seq";
        let rows = self.query(query, &[(&paths, Type::TEXT_ARRAY)])?;
        let mut versions: Vec<(Version, Option<String>)> = Vec::new();
        for row in rows {
            let text: Option<String> = row.get(0);
            let last = versions.last();
            let operation = match last {
                _ if text.is_none() => Operation::Delete,
                Some((_, last)) if *last == text => Operation::Update, // it was renamed
                _ if versions.iter().any(|(_, earlier)| *earlier == text) => Operation::Restore,
                Some((_, Some(_))) => Operation::Update,
                _ => Operation::Create,
            };
            let revision = text.as_ref().map(|text| Revision::of(text.as_bytes()));
            let revision = revision
                .or(last.map(|(last, _)| last.revision))
                .unwrap_or_default();
            let at = Timestamp::try_from(row.get::<_, SystemTime>(3)).unwrap_or_default();
            versions.push((
                Version {
                    revision,
                    at,
                    operation,
                    author: row.get(1),
                    note: row.get(2),
                    ..Version::default()
                },
                text,
            ));
        }
        if let Some((last, Some(_))) = versions.last_mut() {
            last.is_current = true;
        }
        versions.reverse();
        Ok(versions)
    }

    /// Carries out in one transaction what `decide` makes of the present texts of these files.
    fn transact(
        &self,
        paths: &[String],
        by: &Authorship,
        decide: impl FnOnce(&mut HashMap<String, String>) -> Result<Vec<FileChange>, Diagnostic>,
    ) -> Result<(), Diagnostic> {
        let shared = &self.shared;
        self.runtime.block_on(async {
            let mut writer = shared.writer.lock().await;
            let client = shared.connected(&mut writer).await?;
            let done = async {
                let transaction = within(STATEMENT, client.transaction()).await?;
                within(STATEMENT, transaction.batch_execute(LOCK)).await?;
                check_format(format(&transaction).await?)?;
                let present = "select path, text from file where path = any($1)";
                let present = ask(&transaction, present, &[(&paths, Type::TEXT_ARRAY)]).await?;
                let edits =
                    decide(&mut present.iter().map(|row| (row.get(0), row.get(1))).collect());
                // In parts, so that none takes too long.
                for part in edits.as_deref().unwrap_or_default().chunks(500) {
                    let (paths, texts, from): (Vec<_>, Vec<_>, Vec<_>) =
                        part.iter().cloned().collect();
                    let folded: Vec<String> = part.iter().map(|(path, ..)| folded(path)).collect();
                    let arrays: [&(dyn ToSql + Sync); 4] = [&paths, &folded, &texts, &from];
                    let words: [&(dyn ToSql + Sync); 2] = [&by.author.as_deref(), &by.note];
                    let arrays = arrays.map(|array| (array, Type::TEXT_ARRAY)).into_iter();
                    let of: Vec<_> = arrays.chain(words.map(|word| (word, Type::TEXT))).collect();
                    ask(&transaction, WRITE, &of).await?;
                }
                let fresh = ask(&transaction, FRESH, &[(&shared.rows.last(), Type::INT8)]).await?;
                within(
                    STATEMENT,
                    transaction.batch_execute("notify prompt_expander"),
                )
                .await?;
                within(STATEMENT, transaction.commit())
                    .await
                    .map_err(|why| {
                        let message = format!("{}; it may have been written", why.message);
                        Diagnostic {
                            message,
                            fix: "try again; repeating a write does no harm".to_owned(),
                            ..why
                        }
                    })?;
                Ok((edits.map(drop), follow::writes(&fresh)))
            };
            let (decided, fresh) = done.await.inspect_err(|_| *writer = None)?;
            shared.apply(fresh); // also if it is refused, so that what is read next is what it was refused for
            decided
        })
    }

    fn rename(&self, from: &Name, to: &Name, by: &Authorship) -> Result<(), Diagnostic> {
        if let Some(other) = self.shared.folder.find(to) {
            return Err(exists(&other.place().path()));
        }
        let old = [self.path_of(from), format!("{from}{TEST_SUFFIX}")];
        let files = old.map(|old| [old.replacen(&**from, to, 1), old]);
        self.transact(&files.concat(), by, |present| {
            let mut edits = Vec::new();
            for [new, old] in files {
                let Some(text) = present.remove(&old) else {
                    continue;
                };
                if present.contains_key(&new) {
                    return Err(exists(&self.shared.folder.files.root.path.join(new)));
                }
                edits.extend([(old.clone(), None, None), (new, Some(text), Some(old))]);
            }
            Ok(edits)
        })
    }
}

/// Writes files that have these paths, folded paths and texts, and the versions of these other
/// paths, for an author and with a note. Who gives no name is the user of the database.
const WRITE: &str =
    "with new as (select (select coalesce(max(seq), 0) from history) + row_number() over () as seq, new.*
        from unnest($1, $2, $3, $4) as new(path, folded, text, moved)),
    taken as (update history set path = new.path from new where history.path = moved),
    written as (insert into history (seq, path, text, author, note) select seq, path, text, coalesce($5, session_user), $6 from new),
    deleted as (delete from file where path in (select path from new where text is null))
    insert into file (path, folded, text, seq) select path, folded, text, seq from new where text is not null
    on conflict (path) do update set text = excluded.text, seq = excluded.seq";

fn check_format(format: i32) -> Result<(), Diagnostic> {
    if format <= FORMAT {
        return Ok(());
    }
    let message = format!(
        "the store has the format {format} of a newer version, and is only read: this one writes format {FORMAT}"
    );
    Err(Diagnostic::new(
        Kind::NotWritable,
        message,
        "update prompt-expander",
    ))
}

/// What two paths have in common that are one on some file systems.
fn folded(path: &str) -> String {
    path.nfc()
        .collect::<String>()
        .to_lowercase()
        .nfc()
        .collect()
}

/// Why the store does not take a text.
fn check_text(text: &str) -> Result<(), Diagnostic> {
    let (kind, message, fix) = match text.len() {
        ..=MAX_FILE if !text.contains('\0') => return Ok(()),
        ..=MAX_FILE => (
            Kind::Invalid,
            "the file has a NUL character, which a store does not take".to_owned(),
            "remove it",
        ),
        length => (
            Kind::TooLong,
            format!("the file is {} in a store", too_long(length, MAX_FILE)),
            "make it smaller",
        ),
    };
    Err(Diagnostic::new(kind, message, fix))
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

    fn list(&self) -> Listing {
        let mut listing = self.shared.folder.list();
        let is_error = |problem: &Diagnostic| problem.severity() == Severity::Error;
        listing
            .problems
            .extend(self.problems().into_iter().filter(is_error));
        listing
    }

    fn problems(&self) -> Vec<Diagnostic> {
        lock(&self.shared.failure).iter().cloned().collect()
    }

    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        Some(Ok(Arc::new(Arc::clone(self))))
    }
}

impl Store for Arc<Postgres> {
    fn draft(&self, name: &Name, text: &str, caller: &Caller) -> Found {
        let files = &self.shared.folder.files;
        let path = files.root.path.join(self.path_of(name)).into();
        let file = PromptFile {
            path,
            kind: FileName::OWN,
            is_linked: false,
        };
        files.draft(name.clone(), file, text, caller.prefix.clone())
    }

    fn write(&self, write: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        let WriteRequest {
            name,
            expected,
            action,
            ..
        } = *write;
        match action {
            WriteAction::SetText(_) | WriteAction::Restore(_) | WriteAction::Delete => {}
            WriteAction::Rename(to) => {
                return self
                    .rename(name, to, write.by)
                    .map(|()| expected.unwrap_or_default());
            }
            WriteAction::DeleteTests(tests) => {
                self.transact(&[], write.by, |_| {
                    Ok(vec![(tests.below.clone(), None, None)])
                })?;
                return Ok(expected.unwrap_or_default());
            }
        }
        let (text, path) = (action.text(), self.path_of(name));
        if let Some(text) = text {
            check_text(text).map_err(|why| why.in_file(self.folder().join(&path)))?;
            let problems = self.draft(name, text, write.caller).check();
            let error = problems
                .into_iter()
                .find(|problem| problem.severity() == Severity::Error);
            error.filter(|_| !action.is_restore()).map_or(Ok(()), Err)?;
        }
        let after = text.map(|text| Revision::of(text.as_bytes()));
        let mut is_there = false;
        self.transact(std::slice::from_ref(&path), write.by, |present| {
            let now = present.get(&path).map(|text| Revision::of(text.as_bytes()));
            is_there = now.is_some();
            match after == now {
                true => Ok(Vec::new()),
                false if now != expected => Err(conflict(name, now)),
                false => Ok(vec![(path.clone(), text.map(str::to_owned), None)]),
            }
        })?;
        // What is deleted already was deleted by this caller, if its last text is the one that was
        // to be deleted.
        let is_known = is_there
            || after.is_some()
            || self.history(name)?.first().map(|last| last.revision) == expected;
        after
            .or(expected)
            .filter(|_| is_known)
            .ok_or_else(|| conflict(name, None))
    }

    fn history(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        Ok(self
            .versions(name)?
            .into_iter()
            .map(|(version, _)| version)
            .collect())
    }

    fn version(&self, name: &Name, revision: Revision) -> Result<Option<String>, Diagnostic> {
        let versions = self.versions(name)?.into_iter();
        Ok(versions
            .filter_map(|(_, text)| text)
            .find(|text| Revision::of(text.as_bytes()) == revision))
    }

    fn folder(&self) -> &Path {
        &self.shared.folder.files.root.path
    }
}
