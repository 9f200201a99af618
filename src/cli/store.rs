//! `prompt-expander store`: creates the tables of a database, and synchronizes it with a folder.

mod agreed;
mod committed;
mod plan;

use super::config;
use super::database::StoreOptions;
use super::diff::print_diff;
use super::output::{self, Progress, Reporter, display_path};
use super::source_options::{PromptSource, absolute};
use crate::library::{Reach, create_with_folders, replace_if_unchanged};
use crate::prompt::Diagnostic;
use crate::sources::{Address, FolderTexts, Postgres, StoredTexts, read_local_text};
use crate::whole_file::FileAccess;
use crate::wording::{count, path_in_backticks, printable, with_commas};
use agreed::AgreedTexts;
use anyhow::ensure;
use clap::{Args, Subcommand};
use plan::{Difference, Sides, SyncOutcome, SyncTarget};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander store init --store postgres://owner@db.example.com/prompts
  prompt-expander store push prompts --dry-run --store postgres://prompts@db.example.com/prompts
  prompt-expander store pull copy --store postgres://prompts@db.example.com/prompts";

#[derive(Debug, Args)]
pub(super) struct StoreCommand {
    #[command(subcommand)]
    action: StoreAction,
}

#[derive(Debug, Subcommand)]
enum StoreAction {
    /// Create the tables (connect as the database's owner)
    Init(StoreOptions),
    /// Write the prompts of a folder to the store
    ///
    /// Shows what will change, and asks. Writes all Markdown and test files in the folder and below
    /// it in one transaction, except for hidden files. If the store rejects a file, such as a file
    /// that `check` reports as broken, nothing is written unless you pass --skip. Unless the folder
    /// is your own, symlinks that point outside its repository are not followed.
    ///
    /// `push` replaces or deletes a file in the store only if nobody has changed it since you last
    /// pushed or pulled this folder, or if its contents are in a commit of the folder's git
    /// repository. Every other difference is a conflict: `push` shows it, and keeps the file in the
    /// store.
    Push(Push),
    /// Write the files of the store into a folder
    ///
    /// Shows what will change, and asks. Files that exist only in the folder are kept. If a file
    /// was changed in the folder, the difference is a conflict, as in `push`, unless the contents
    /// of the file have been committed.
    Pull(SyncOptions),
}

#[derive(Debug, Args)]
struct Push {
    #[command(flatten)]
    options: SyncOptions,
    /// Also delete files that exist only in the store; their earlier versions are kept
    #[arg(long)]
    prune: bool,
    /// Let --prune delete everything, if the folder is empty
    #[arg(long, requires = "prune")]
    force: bool,
}

// The options of both `push` and `pull`.
#[derive(Debug, Args)]
struct SyncOptions {
    /// The folder of prompts
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
    /// Write without asking
    #[arg(long)]
    yes: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Leave out files that the store rejects
    #[arg(long)]
    skip: bool,
    /// Replace or delete this prompt and its tests, even if there is a conflict; can be repeated
    #[arg(long, value_name = "NAME")]
    overwrite: Vec<String>,
    /// Replace or delete all files with a conflict
    #[arg(long, conflicts_with = "overwrite")]
    overwrite_all: bool,
    #[command(flatten)]
    store: StoreOptions,
}

impl StoreCommand {
    pub(super) fn run(self, source: &mut PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        match self.action {
            StoreAction::Init(store) => {
                let address = store.required_address()?;
                if Postgres::init(&address)? {
                    reporter.note(&format!("{address} is ready for prompts"));
                } else {
                    reporter.note(&format!("{address} was ready already"));
                }
            }
            StoreAction::Push(push) => {
                config::load(source);
                push.run(source, reporter)?;
            }
            StoreAction::Pull(pull) => pull.pull(reporter)?,
        }
        Ok(())
    }
}

impl Push {
    /// Pushes the files of the folder to the store: reads both sides, decides which paths to
    /// compare, and leaves the rest to [`SyncOptions::sync`].
    fn run(&self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let options = &self.options;
        let folder = &options.folder;
        ensure!(
            folder.is_dir(),
            "there is no folder {}",
            path_in_backticks(folder)
        );
        let reach = source.reach_of(&absolute(folder));
        let progress = Progress::start("reading files", "Nothing was written.");
        let FolderTexts { files, problems } = Postgres::read_storable_files(folder, &reach);
        drop(progress);
        options.check(&problems, reporter)?;
        let address = options.store.required_address()?;
        let store = open(&address)?;
        let stored = store.files();
        self.check_prune(&files, &stored)?;
        let sides = Sides {
            target: SyncTarget::Store,
            folder,
            store: &store,
            reporter,
            agreed: AgreedTexts::load(folder, &address),
            target_texts: &stored,
            new_texts: &files,
            paths: self.paths_to_compare(&files, &stored),
            overwritten: &options.overwrite,
            overwrites_all: options.overwrite_all,
        };
        options.sync(sides, &address, |changes| {
            let files = count(changes.len(), "file");
            let _progress = Progress::start(
                format!("writing {files} into the store"),
                "The store has all of them or none. Run the command again to go on.",
            );
            let edits = changes
                .iter()
                .map(|change| (Arc::clone(&change.path), change.new.clone()))
                .collect();
            Ok(store.push(&edits, &stored)?)
        })
    }

    /// Checks that the push doesn't delete all files in the store, unless --force was passed.
    ///
    /// # Errors
    /// Fails if it would, because of --prune and a folder without prompts.
    fn check_prune(&self, files: &StoredTexts, stored: &StoredTexts) -> anyhow::Result<()> {
        let deletes_all = self.prune && files.is_empty();
        let may_delete_all = self.force;
        ensure!(
            !deletes_all || may_delete_all,
            "{} has no prompts: --prune would delete everything in the store ({}). If you want that, add --force",
            path_in_backticks(&self.options.folder),
            count(stored.len(), "file")
        );
        Ok(())
    }

    /// Returns the paths of all files in the folder and, with --prune, of the stored files that the
    /// folder lacks, which are to be deleted.
    fn paths_to_compare(&self, files: &StoredTexts, stored: &StoredTexts) -> BTreeSet<Arc<str>> {
        let mut paths: BTreeSet<Arc<str>> = files.keys().cloned().collect();
        if self.prune {
            for path in stored.keys() {
                // Not `files.contains_key`: that lacks the files that the store rejects.
                if !self.options.folder.join(&**path).exists() {
                    paths.insert(Arc::clone(path));
                }
            }
        }
        paths
    }
}

/// The files to compare for a pull.
#[derive(Default)]
struct PullTexts {
    /// The contents of the files in the store.
    stored: StoredTexts,
    /// The contents of the local files at the same paths. Paths without a local file are missing.
    local: StoredTexts,
    /// The errors of paths that can't be written to the folder. They are in neither map.
    problems: Vec<Diagnostic>,
}

impl PullTexts {
    /// Reads the files in the store, and the local files at the same paths.
    fn read(store: &Postgres, folder: &Path) -> PullTexts {
        let mut texts = PullTexts::default();
        for (path, text) in store.files() {
            match read_local_text(folder, &path) {
                Ok(local_text) => {
                    if let Some(local_text) = local_text {
                        texts.local.insert(Arc::clone(&path), local_text);
                    }
                    texts.stored.insert(path, text);
                }
                Err(problem) => texts.problems.push(problem),
            }
        }
        texts
    }
}

impl SyncOptions {
    /// Pulls the files of the store into the folder: reads both sides, lists the files that are
    /// kept, and leaves the rest to [`sync`](SyncOptions::sync).
    fn pull(&self, reporter: &Reporter) -> anyhow::Result<()> {
        let address = self.store.required_address()?;
        let store = open(&address)?;
        let PullTexts {
            stored,
            local,
            problems,
        } = PullTexts::read(&store, &self.folder);
        self.check(&problems, reporter)?;
        self.print_kept_files(&stored)?;
        let agreed = if local.is_empty() {
            // The folder is new. Files that an earlier folder at this path lacked weren't deleted
            // by the user, so they aren't conflicts.
            AgreedTexts::default()
        } else {
            AgreedTexts::load(&self.folder, &address)
        };
        let sides = Sides {
            target: SyncTarget::Folder,
            folder: &self.folder,
            store: &store,
            reporter,
            agreed,
            target_texts: &local,
            new_texts: &stored,
            paths: stored.keys().cloned().collect(),
            overwritten: &self.overwrite,
            overwrites_all: self.overwrite_all,
        };
        self.sync(sides, &address, |changes| {
            let progress = Progress::start("writing files", "Run the command again to go on.");
            progress.set_total(changes.len());
            for change in changes {
                write_file(&self.folder, change)?;
                progress.advance();
            }
            Ok(())
        })
    }

    /// Prints the files that exist only in the folder, which a pull keeps.
    fn print_kept_files(&self, stored: &StoredTexts) -> anyhow::Result<()> {
        let FolderTexts { files, .. } =
            Postgres::read_storable_files(&self.folder, &Reach::Unrestricted);
        for path in files.keys() {
            if !stored.contains_key(path) {
                output::print_lines(&format!("keep {}\n", printable(path)).into())?;
            }
        }
        Ok(())
    }

    /// Warns about each file that the target rejects.
    ///
    /// # Errors
    /// Fails if there are any, unless `--skip` was passed.
    fn check(&self, problems: &[Diagnostic], reporter: &Reporter) -> anyhow::Result<()> {
        reporter.warn_all(problems);
        ensure!(
            self.skip || problems.is_empty(),
            "{} cannot be taken, so nothing was written. To leave such files out, add --skip",
            count(problems.len(), "file")
        );
        Ok(())
    }

    /// Carries out a push or a pull: shows the changes, asks the user, passes the changes to
    /// `write`, and records which texts both sides then agree on.
    ///
    /// # Errors
    /// Fails if a file can't be written. Also fails if there are conflicts, after all other files
    /// were written.
    fn sync(
        &self,
        sides: Sides<'_>,
        address: &Address,
        write: impl FnOnce(&[&Difference]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let differences = sides.compare()?;
        let (conflicts, changes): (Vec<_>, Vec<_>) = differences
            .iter()
            .partition(|difference| difference.outcome == SyncOutcome::Conflict);
        print_differences(&changes, &conflicts, sides.target)?;
        let target_name = sides.target.name();
        let reporter = sides.reporter;
        if differences.is_empty() {
            reporter.note(&format!("the {target_name} is already up to date"));
        }
        if !self.dry_run {
            let changes_written = !changes.is_empty()
                && self.prompt_user_to_write(changes.len(), target_name, reporter)?;
            if changes_written {
                write(&changes)?;
                reporter.note(&success_message(&changes, sides.target));
            }
            // Only after writing, which may fail. Also without changes: files that are the same on
            // both sides may not be in the record yet.
            self.record_agreement(sides, &differences, changes_written, address);
        }
        let verb = if conflicts.len() == 1 { "is" } else { "are" };
        ensure!(
            conflicts.is_empty(),
            "{} in the {target_name} {verb} in conflict (see above). To replace a prompt, add --overwrite NAME",
            count(conflicts.len(), "file")
        );
        Ok(())
    }

    /// Asks the user whether to write `file_count` files. With `--yes`, doesn't ask. Returns
    /// whether the user agreed.
    fn prompt_user_to_write(
        &self,
        file_count: usize,
        target_name: &str,
        reporter: &Reporter,
    ) -> anyhow::Result<bool> {
        let files = count(file_count, "file");
        let question = format!("Write {files} into the {target_name}?");
        let action = format!("write {files} into the {target_name}");
        Ok(self.yes || reporter.confirm(&question, &action)?)
    }

    /// Records which texts both sides agree on now. If that fails, only warns, because the sync
    /// itself has succeeded.
    fn record_agreement(
        &self,
        sides: Sides<'_>,
        differences: &[Difference],
        changes_written: bool,
        address: &Address,
    ) {
        let mut agreed = sides.agreed;
        // The compared paths, except for those that still differ.
        let mut same_paths = sides.paths;
        for difference in differences {
            if !changes_written || difference.outcome == SyncOutcome::Conflict {
                same_paths.remove(&difference.path);
            }
        }
        for path in same_paths {
            // Both sides have this text now, so either may be recorded.
            agreed.set(&path, sides.new_texts.get(&path).map(|text| &**text));
        }
        if let Err(error) = agreed.save(&self.folder, address) {
            sides.reporter.warn(&format!(
                "this push or pull cannot be recorded, so that later changes may count as conflicts: {error:#}"
            ));
        }
    }
}

/// Opens a store, and waits until its prompts have been read.
fn open(address: &Address) -> anyhow::Result<Postgres> {
    let store = Postgres::open(address.clone())?;
    store.wait_for_first_load()?;
    Ok(store)
}

/// Prints a line per change, and then the conflicts with their diffs.
fn print_differences(
    changes: &[&Difference],
    conflicts: &[&Difference],
    target: SyncTarget,
) -> anyhow::Result<()> {
    for change in changes {
        output::print_lines(&change.line(target).into())?;
    }
    for conflict in conflicts {
        output::print_lines(&conflict.line(target).into())?;
        print_diff(&conflict.diff(target))?;
    }
    Ok(())
}

/// Returns a message such as `pushed 5 files (2 new, 1 deleted)`.
fn success_message(changes: &[&Difference], target: SyncTarget) -> String {
    let verb = match target {
        SyncTarget::Store => "pushed",
        SyncTarget::Folder => "pulled",
    };
    let mut line = format!("{verb} {}", count(changes.len(), "file"));
    let mut details = Vec::new();
    for (outcome, adjective) in [
        (SyncOutcome::Create, "new"),
        (SyncOutcome::Delete, "deleted"),
    ] {
        let matching = changes.iter().filter(|change| change.outcome == outcome);
        let file_count = matching.count();
        if file_count > 0 {
            details.push(format!("{} {adjective}", with_commas(file_count)));
        }
    }
    if !details.is_empty() {
        line += &format!(" ({})", details.join(", "));
    }
    line
}

/// Writes a pulled file to the folder.
///
/// # Errors
/// Fails if the local file has changed since it was read, or can't be written.
fn write_file(folder: &Path, change: &Difference) -> anyhow::Result<()> {
    let Some(text) = &change.new else {
        return Ok(()); // a pull deletes nothing
    };
    let file = folder.join(&*change.path);
    let changed_message = format!("{} has just been changed", display_path(&file));
    let current_text = read_local_text(folder, &change.path)?;
    ensure!(current_text == change.old, "{changed_message}");
    let Some(old) = &change.old else {
        return Ok(create_with_folders(&file, text, FileAccess::Shared)?);
    };
    let is_written = replace_if_unchanged(&file, old.as_bytes(), text)?;
    ensure!(is_written, "{changed_message}"); // changed after the check above
    Ok(())
}
