//! Changes files in the database, in one transaction that locks out other writers.

use super::connect::{STATEMENT_TIMEOUT, SqlParameter, query, with_timeout};
use super::follow::{NEW_WRITES, parse_writes, read_format};
use super::{Postgres, check_format, fold_path};
use crate::library::{Authorship, FileWrite};
use crate::prompt::Diagnostic;
use std::collections::HashMap;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Transaction};

/// Waits for other writers, and locks them out until the end of the transaction. Reading remains
/// possible.
///
/// Only roles that may write to the table can lock it, whereas anybody who can connect to the
/// database could hold an advisory lock forever.
const LOCK_WRITERS: &str = "lock table history in share row exclusive mode";

/// Writes or deletes files, and adds the writes to the history.
///
/// `$1` to `$4` are arrays with an element for each file: its path, its folded path, its text (null
/// deletes it), and the path whose versions it takes over (null for none). `$5` is the author, who
/// defaults to the user of the database, and `$6` is a note.
const WRITE_FILES: &str =
    "with new as (select (select coalesce(max(seq), 0) from history) + row_number() over () as seq, new.*
        from unnest($1, $2, $3, $4) as new(path, folded, text, moved)),
    taken as (update history set path = new.path from new where history.path = moved),
    written as (insert into history (seq, path, text, author, note) select seq, path, text, coalesce($5, session_user), $6 from new),
    deleted as (delete from file where path in (select path from new where text is null))
    insert into file (path, folded, text, seq) select path, folded, text, seq from new where text is not null
    on conflict (path) do update set text = excluded.text, seq = excluded.seq";

/// The maximum number of files in one statement, which must end within [`STATEMENT_TIMEOUT`].
const FILES_PER_STATEMENT: usize = 500;

/// A change of one file.
pub(super) struct FileChange {
    pub(super) path: String,
    /// `None` deletes the file.
    pub(super) text: Option<String>,
    /// After a rename, the old path. Its versions are moved to `path`.
    pub(super) old_path: Option<String>,
}

impl FileChange {
    /// Returns a change that creates a file or replaces its text.
    pub(super) fn write(path: impl Into<String>, text: impl Into<String>) -> FileChange {
        FileChange {
            path: path.into(),
            text: Some(text.into()),
            old_path: None,
        }
    }

    /// Returns a change that writes the file of a renamed prompt at its new path, and moves the
    /// versions of `old_path` there. It doesn't delete the file at `old_path`.
    pub(super) fn move_here(
        new_path: impl Into<String>,
        text: impl Into<String>,
        old_path: String,
    ) -> FileChange {
        FileChange {
            old_path: Some(old_path),
            ..FileChange::write(new_path, text)
        }
    }

    /// Returns a change that deletes a file.
    pub(super) fn delete(path: impl Into<String>) -> FileChange {
        FileChange {
            path: path.into(),
            text: None,
            old_path: None,
        }
    }
}

/// The texts of the files that exist at the beginning of a transaction, by path.
pub(super) type CurrentTexts = HashMap<String, String>;

/// The result of a committed transaction.
struct Committed {
    /// The error of `decide` in [`Postgres::transact`], if it failed.
    decision: Result<(), Diagnostic>,
    /// The writes that are not in memory yet, including those of other processes.
    new_writes: Vec<FileWrite>,
}

impl Postgres {
    /// Passes the current texts of the files at `paths` to `decide`, and writes the changes that it
    /// returns. No other writer can change a file in between.
    ///
    /// Afterwards, the files in memory are up to date, even if `decide` fails.
    ///
    /// # Errors
    /// `decide` or the database fails. Nothing is written then, unless the database has committed
    /// and only its response was lost.
    pub(super) fn transact(
        &self,
        paths: &[String],
        by: &Authorship,
        decide: impl FnOnce(&CurrentTexts) -> Result<Vec<FileChange>, Diagnostic>,
    ) -> Result<(), Diagnostic> {
        self.runtime.block_on(async {
            let mut writer = self.shared.writer.lock().await;
            let client = self.shared.connected(&mut writer).await?;
            let committed = match self.run_transaction(client, paths, by, decide).await {
                Ok(committed) => committed,
                Err(error) => {
                    *writer = None; // reconnect, because the transaction may still be open
                    return Err(error);
                }
            };
            // Also if `decide` failed, so that the caller finds what it failed on in memory.
            self.shared.apply(committed.new_writes);
            committed.decision
        })
    }

    /// Runs the transaction of [`Postgres::transact`]. It is committed even if `decide` fails, in
    /// order to read the writes of others.
    ///
    /// # Errors
    /// The database fails. An error of `decide` is in [`Committed::decision`].
    async fn run_transaction(
        &self,
        client: &mut Client,
        paths: &[String],
        by: &Authorship,
        decide: impl FnOnce(&CurrentTexts) -> Result<Vec<FileChange>, Diagnostic>,
    ) -> Result<Committed, Diagnostic> {
        let transaction = with_timeout(STATEMENT_TIMEOUT, client.transaction()).await?;
        with_timeout(STATEMENT_TIMEOUT, transaction.batch_execute(LOCK_WRITERS)).await?;
        check_format(read_format(&transaction).await?)?;
        // Read the texts only after other writers are locked out: they could still change them.
        let changes = decide(&read_texts(&transaction, paths).await?);
        if let Ok(changes) = &changes {
            for chunk in changes.chunks(FILES_PER_STATEMENT) {
                write_files(&transaction, chunk, by).await?;
            }
        }
        // Read the new writes last, so that those of this transaction are among them.
        let last_in_memory = self.shared.files.last_write_number();
        let new_writes = query(&transaction, NEW_WRITES, &[(&last_in_memory, Type::INT8)]).await?;
        let notify = transaction.batch_execute("notify prompt_expander");
        with_timeout(STATEMENT_TIMEOUT, notify).await?;
        with_timeout(STATEMENT_TIMEOUT, transaction.commit())
            .await
            .map_err(commit_error)?;
        Ok(Committed {
            decision: changes.map(drop),
            new_writes: parse_writes(&new_writes),
        })
    }
}

/// Reads the current texts of the files at `paths`.
async fn read_texts(
    transaction: &Transaction<'_>,
    paths: &[String],
) -> Result<CurrentTexts, Diagnostic> {
    let statement = "select path, text from file where path = any($1)";
    let rows = query(transaction, statement, &[(&paths, Type::TEXT_ARRAY)]).await?;
    let mut texts = CurrentTexts::new();
    for row in rows {
        texts.insert(row.get("path"), row.get("text"));
    }
    Ok(texts)
}

/// Writes the changes with a single statement. They get ascending write numbers, in this order.
async fn write_files(
    transaction: &Transaction<'_>,
    changes: &[FileChange],
    by: &Authorship,
) -> Result<(), Diagnostic> {
    // Parallel arrays for `WRITE_FILES`: each has an element for each change.
    let mut paths = Vec::new();
    let mut folded_paths = Vec::new();
    let mut texts = Vec::new();
    let mut old_paths = Vec::new();
    for change in changes {
        paths.push(change.path.as_str());
        folded_paths.push(fold_path(&change.path));
        texts.push(change.text.as_deref());
        old_paths.push(change.old_path.as_deref());
    }
    let parameters: [SqlParameter<'_>; 6] = [
        (&paths, Type::TEXT_ARRAY),
        (&folded_paths, Type::TEXT_ARRAY),
        (&texts, Type::TEXT_ARRAY),
        (&old_paths, Type::TEXT_ARRAY),
        (&by.author.as_deref(), Type::TEXT),
        (&by.note, Type::TEXT),
    ];
    query(transaction, WRITE_FILES, &parameters).await?;
    Ok(())
}

/// Converts the error of a commit, which may have succeeded although its response was lost.
fn commit_error(error: Diagnostic) -> Diagnostic {
    Diagnostic {
        message: format!("{}; it may have been written", error.message),
        fix: "try again; it is safe to repeat a write".to_owned(),
        ..error
    }
}
