//! `prompt-expander store`: prepares a database for prompts, fills it from a folder, and writes it
//! into one.

mod agreed;
mod committed;
mod plan;

use super::config;
use super::database::StoreOptions;
use super::diff::print_diff;
use super::output::{self, Reporter, display_path};
use super::source_options::{PromptSource, absolute};
use crate::library::{Reach, create_with_folders, replace_if_unchanged};
use crate::prompt::Diagnostic;
use crate::sources::{Address, FolderTexts, Postgres, StoredTexts, read_local_text};
use crate::whole_file::FileAccess;
use crate::wording::{count, path_in_backticks, printable, thousands};
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
    /// Create the tables; connect as the owner of the database
    Init(StoreOptions),
    /// Write the Markdown and test files below a folder to the store, in one transaction
    ///
    /// Shows what will change, and asks. Hidden files are left out. If the store does not take a
    /// file, such as one that `check` calls broken, nothing is written. In a folder that is not
    /// your own, no symlink is followed out of its repository.
    ///
    /// A file of the store is replaced or deleted only if it is as this folder last pushed or
    /// pulled it, or as an earlier commit of the folder's git repository has it. All others are
    /// conflicts: they are shown, and stay as they are.
    Push(Push),
    /// Write the files of the store into a folder
    ///
    /// Shows what will change, and asks. Files that the store does not have stay as they are. A
    /// file that has changed in the folder is a conflict, as for `push`, unless a commit has it.
    Pull(SyncOptions),
}

#[derive(Debug, Args)]
struct Push {
    #[command(flatten)]
    options: SyncOptions,
    /// Delete what is in the store and not in the folder; its versions stay
    #[arg(long)]
    prune: bool,
    /// Delete everything if the folder is empty
    #[arg(long, requires = "prune")]
    force: bool,
}

// What `push` and `pull` have in common: a folder, a store, and which files are written.
#[derive(Debug, Args)]
struct SyncOptions {
    /// The folder
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
    /// Write without asking
    #[arg(long)]
    yes: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Leave out the files that a store does not take
    #[arg(long)]
    skip: bool,
    /// Replace or delete this prompt and its tests, even if they are in conflict; can be repeated
    #[arg(long, value_name = "NAME")]
    overwrite: Vec<String>,
    /// Replace or delete everything that is in conflict
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
    /// Makes the files of the store those of the folder.
    fn run(&self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let options = &self.options;
        let folder = &options.folder;
        ensure!(
            folder.is_dir(),
            "there is no folder {}",
            path_in_backticks(folder)
        );
        let reach = source.reach_of(&absolute(folder));
        let FolderTexts { files, problems } = Postgres::read_storable_files(folder, &reach);
        options.check(&problems, reporter)?;
        let address = options.store.required_address()?;
        let store = open(&address)?;
        let stored = store.files();
        let deletes_all = self.prune && files.is_empty();
        ensure!(
            !deletes_all || self.force,
            "{} has no prompts: --prune would delete everything in the store ({}). If you want that, add --force",
            path_in_backticks(folder),
            count(stored.len(), "file")
        );
        let mut paths: BTreeSet<Arc<str>> = files.keys().cloned().collect();
        if self.prune {
            for path in stored.keys() {
                // A file that the store does not take is in the folder, too.
                if !folder.join(&**path).exists() {
                    paths.insert(Arc::clone(path));
                }
            }
        }
        let sides = Sides {
            target: SyncTarget::Store,
            folder,
            store: &store,
            reporter,
            agreed: AgreedTexts::load(folder, &address),
            target_texts: &stored,
            new_texts: &files,
            paths,
            overwritten: &options.overwrite,
            overwrites_all: options.overwrite_all,
        };
        options.carry_out(sides, &address, |changes| {
            let edits = changes
                .iter()
                .map(|change| (Arc::clone(&change.path), change.new.clone()))
                .collect();
            Ok(store.push(&edits, &stored)?)
        })
    }
}

/// The files of a store that a pull may write into a folder.
#[derive(Default)]
struct PullTexts {
    /// The texts in the store.
    stored: StoredTexts,
    /// The texts of the same paths in the folder.
    files: StoredTexts,
    /// The paths that cannot be written.
    problems: Vec<Diagnostic>,
}

impl PullTexts {
    /// Reads the texts of the store, and of the same paths in the folder.
    fn read(store: &Postgres, folder: &Path) -> PullTexts {
        let mut texts = PullTexts::default();
        for (path, text) in store.files() {
            match read_local_text(folder, &path) {
                Ok(file_text) => {
                    if let Some(file_text) = file_text {
                        texts.files.insert(Arc::clone(&path), file_text);
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
    /// Writes the files of the store into the folder.
    fn pull(&self, reporter: &Reporter) -> anyhow::Result<()> {
        let address = self.store.required_address()?;
        let store = open(&address)?;
        let PullTexts {
            stored,
            files,
            problems,
        } = PullTexts::read(&store, &self.folder);
        self.check(&problems, reporter)?;
        self.print_kept_files(&stored)?;
        let agreed = if files.is_empty() {
            AgreedTexts::default() // the folder is new, and nothing was deleted in it
        } else {
            AgreedTexts::load(&self.folder, &address)
        };
        let sides = Sides {
            target: SyncTarget::Folder,
            folder: &self.folder,
            store: &store,
            reporter,
            agreed,
            target_texts: &files,
            new_texts: &stored,
            paths: stored.keys().cloned().collect(),
            overwritten: &self.overwrite,
            overwrites_all: self.overwrite_all,
        };
        self.carry_out(sides, &address, |changes| {
            changes
                .iter()
                .try_for_each(|change| write_file(&self.folder, change))
        })
    }

    /// Prints the files of the folder that the store does not have.
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

    /// Warns of the files that a store does not take.
    ///
    /// # Errors
    /// There are such files, and --skip is not given.
    fn check(&self, problems: &[Diagnostic], reporter: &Reporter) -> anyhow::Result<()> {
        reporter.warn_all(problems);
        ensure!(
            self.skip || problems.is_empty(),
            "{} cannot be taken, so nothing was written. To leave such files out, add --skip",
            count(problems.len(), "file")
        );
        Ok(())
    }

    /// Makes the target of a push or a pull like the other side: shows what will change, asks,
    /// writes the files with `write`, and records what both sides then have in common.
    ///
    /// # Errors
    /// There are conflicts, whose files stay as they are; or a file cannot be written.
    fn carry_out(
        &self,
        sides: Sides<'_>,
        address: &Address,
        write: impl FnOnce(&[&Difference]) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let differences = sides.compare()?;
        let (conflicts, changes): (Vec<_>, Vec<_>) = differences
            .iter()
            .partition(|difference| difference.outcome == SyncOutcome::Conflict);
        show(&changes, &conflicts, sides.target)?;
        let [place, _] = sides.target.sides();
        let reporter = sides.reporter;
        if differences.is_empty() {
            reporter.note(&format!("the {place} is already up to date"));
        }
        if !self.dry_run {
            let is_written =
                !changes.is_empty() && self.is_confirmed(changes.len(), place, reporter)?;
            if is_written {
                write(&changes)?;
                reporter.note(&success(&changes, sides.target));
            }
            self.keep_agreement(sides, &differences, is_written, address);
        }
        let verb = if conflicts.len() == 1 { "is" } else { "are" };
        ensure!(
            conflicts.is_empty(),
            "{} in the {place} {verb} in conflict (see above). To replace a prompt, add --overwrite NAME",
            count(conflicts.len(), "file")
        );
        Ok(())
    }

    /// Asks whether to write `number` files, unless --yes is given.
    fn is_confirmed(
        &self,
        number: usize,
        place: &str,
        reporter: &Reporter,
    ) -> anyhow::Result<bool> {
        let files = count(number, "file");
        let question = format!("Write {files} into the {place}?");
        Ok(self.yes || reporter.confirm(&question, &format!("write {files} into the {place}"))?)
    }

    /// Records what both sides now have in common, or warns that this fails.
    fn keep_agreement(
        &self,
        sides: Sides<'_>,
        differences: &[Difference],
        is_written: bool,
        address: &Address,
    ) {
        let mut agreed = sides.agreed;
        let mut same = sides.paths;
        for difference in differences {
            if !is_written || difference.outcome == SyncOutcome::Conflict {
                same.remove(&difference.path);
            }
        }
        for path in same {
            agreed.set(&path, sides.new_texts.get(&path).map(|text| &**text));
        }
        if let Err(error) = agreed.save(&self.folder, address) {
            sides.reporter.warn(&format!(
                "this push or pull cannot be recorded, so that later changes may count as conflicts: {error:#}"
            ));
        }
    }
}

/// Opens a store, and waits until it has been read.
fn open(address: &Address) -> anyhow::Result<Postgres> {
    let store = Postgres::open(address.clone())?;
    store.wait_for_first_load()?;
    Ok(store)
}

/// Prints what changes, and then the conflicts with their differences.
fn show(
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

/// Returns a line that counts the files that were written: `pushed 5 files (2 new, 1 deleted)`.
fn success(changes: &[&Difference], target: SyncTarget) -> String {
    let verb = match target {
        SyncTarget::Store => "pushed",
        SyncTarget::Folder => "pulled",
    };
    let mut line = format!("{verb} {}", count(changes.len(), "file"));
    let mut details = Vec::new();
    for (outcome, word) in [
        (SyncOutcome::Create, "new"),
        (SyncOutcome::Delete, "deleted"),
    ] {
        let outcomes = changes.iter().map(|change| change.outcome);
        let number = outcomes.filter(|each| *each == outcome).count();
        if number > 0 {
            details.push(format!("{} {word}", thousands(number)));
        }
    }
    if !details.is_empty() {
        line += &format!(" ({})", details.join(", "));
    }
    line
}

/// Writes a file of a folder, unless it has changed since it was read.
fn write_file(folder: &Path, change: &Difference) -> anyhow::Result<()> {
    let Some(text) = &change.new else {
        return Ok(()); // what the store does not have stays
    };
    let file = folder.join(&*change.path);
    let changed = format!("{} has just been changed", display_path(&file));
    ensure!(
        read_local_text(folder, &change.path)? == change.old,
        "{changed}"
    );
    let Some(old) = &change.old else {
        return Ok(create_with_folders(&file, text, FileAccess::Shared)?);
    };
    let is_written = replace_if_unchanged(&file, old.as_bytes(), text)?;
    ensure!(is_written, "{changed}");
    Ok(())
}
