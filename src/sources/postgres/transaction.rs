//! Changes of files in the database, in one transaction under the lock of all writers.

use super::connect::{STATEMENT_TIMEOUT, SqlParameter, query, with_timeout};
use super::follow::{FRESH, WrittenRow, read_format, writes};
use super::{Postgres, check_format, folded};
use crate::library::Authorship;
use crate::prompt::Diagnostic;
use std::collections::HashMap;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Transaction};

/// Takes the lock of all writers, which others may read. Only who may write the table can take it.
/// An advisory lock could be held by anybody who may connect to the database.
const LOCK: &str = "lock table history in share row exclusive mode";

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

/// How many files one statement writes, so that none takes too long.
const FILES_PER_STATEMENT: usize = 500;

/// A change of one file.
pub(super) struct FileChange {
    pub(super) path: String,
    /// `None` deletes the file.
    pub(super) text: Option<String>,
    /// The path before a rename, whose versions become those of the file.
    pub(super) old_path: Option<String>,
}

impl FileChange {
    /// Returns the change that gives a file a text, or creates the file.
    pub(super) fn write(path: impl Into<String>, text: impl Into<String>) -> FileChange {
        FileChange {
            path: path.into(),
            text: Some(text.into()),
            old_path: None,
        }
    }

    /// Returns the change that deletes a file.
    pub(super) fn delete(path: impl Into<String>) -> FileChange {
        FileChange {
            path: path.into(),
            text: None,
            old_path: None,
        }
    }
}

/// The texts of files at the beginning of a transaction, by their paths.
pub(super) type PresentTexts = HashMap<String, String>;

/// What a transaction has done.
struct Committed {
    /// Whether its changes were decided on, or refused.
    decision: Result<(), Diagnostic>,
    /// All writes of anybody that were not in memory yet.
    fresh: Vec<WrittenRow>,
}

impl Postgres {
    /// Reads the current texts of these files, and writes the changes that `decide` makes of them,
    /// in one transaction.
    ///
    /// # Errors
    /// `decide` refuses, or the database refuses the changes.
    pub(super) fn transact(
        &self,
        paths: &[String],
        by: &Authorship,
        decide: impl FnOnce(&PresentTexts) -> Result<Vec<FileChange>, Diagnostic>,
    ) -> Result<(), Diagnostic> {
        self.runtime.block_on(async {
            let mut writer = self.shared.writer.lock().await;
            let client = self.shared.connected(&mut writer).await?;
            let committed = match self.commit(client, paths, by, decide).await {
                Ok(committed) => committed,
                Err(error) => {
                    *writer = None; // the state of the connection is unknown
                    return Err(error);
                }
            };
            // After a refusal, the caller must see in memory why it was refused.
            self.shared.apply(committed.fresh);
            committed.decision
        })
    }

    /// Locks the tables, passes the current texts of these files to `decide`, writes the changes
    /// that it returns, and commits. If `decide` refuses, nothing is written, but what others have
    /// written is read.
    ///
    /// # Errors
    /// The database refuses, or does not answer.
    async fn commit(
        &self,
        client: &mut Client,
        paths: &[String],
        by: &Authorship,
        decide: impl FnOnce(&PresentTexts) -> Result<Vec<FileChange>, Diagnostic>,
    ) -> Result<Committed, Diagnostic> {
        let transaction = with_timeout(STATEMENT_TIMEOUT, client.transaction()).await?;
        with_timeout(STATEMENT_TIMEOUT, transaction.batch_execute(LOCK)).await?;
        check_format(read_format(&transaction).await?)?;
        let changes = decide(&read_texts(&transaction, paths).await?);
        if let Ok(changes) = &changes {
            for part in changes.chunks(FILES_PER_STATEMENT) {
                write_files(&transaction, part, by).await?;
            }
        }
        let last_in_memory = self.shared.rows.last_write_number();
        let fresh = query(&transaction, FRESH, &[(&last_in_memory, Type::INT8)]).await?;
        let notify = transaction.batch_execute("notify prompt_expander");
        with_timeout(STATEMENT_TIMEOUT, notify).await?;
        with_timeout(STATEMENT_TIMEOUT, transaction.commit())
            .await
            .map_err(commit_error)?;
        Ok(Committed {
            decision: changes.map(drop),
            fresh: writes(&fresh),
        })
    }
}

/// Returns the texts of these files. Files that do not exist are left out.
async fn read_texts(
    transaction: &Transaction<'_>,
    paths: &[String],
) -> Result<PresentTexts, Diagnostic> {
    let statement = "select path, text from file where path = any($1)";
    let rows = query(transaction, statement, &[(&paths, Type::TEXT_ARRAY)]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Writes changes in their order, with one statement: each list of its parameters has an element
/// for each change.
async fn write_files(
    transaction: &Transaction<'_>,
    changes: &[FileChange],
    by: &Authorship,
) -> Result<(), Diagnostic> {
    let mut paths = Vec::new();
    let mut folded_paths = Vec::new();
    let mut texts = Vec::new();
    let mut old_paths = Vec::new();
    for change in changes {
        paths.push(change.path.as_str());
        folded_paths.push(folded(&change.path));
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
    query(transaction, WRITE, &parameters).await?;
    Ok(())
}

/// Returns the error for a transaction whose end was not confirmed.
fn commit_error(error: Diagnostic) -> Diagnostic {
    Diagnostic {
        message: format!("{}; it may have been written", error.message),
        fix: "try again; repeating a write does no harm".to_owned(),
        ..error
    }
}
