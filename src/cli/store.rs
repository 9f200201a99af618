//! `prompt-expander store`: prepares a database for prompts, fills it from a folder, and writes it
//! into one.

use super::database::StoreOptions;
use super::output::{self, shown};
use crate::library::{Postgres, create_with_folders, replace};
use crate::whole_file::FileAccess;
use crate::wording::{count, named, printable};
use anyhow::ensure;
use clap::{Args, Subcommand};
use std::fs;
use std::path::{Component, Path, PathBuf};

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander store init --store postgres://owner@db.example.com/prompts
  prompt-expander store push prompts --dry-run --store postgres://prompts@db.example.com/prompts
  prompt-expander store pull copy --store postgres://prompts@db.example.com/prompts";

#[derive(Debug, Args)]
pub(super) struct StoreCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Create the tables; connect as the owner of the database
    Init(StoreOptions),
    /// Write the Markdown and test files below a folder to the store, in one transaction
    ///
    /// Shows what will change, and asks. Hidden files are left out. If the store does not take a
    /// file, such as one that `check` calls broken, nothing is written.
    Push(Push),
    /// Write the files of the store into a folder
    ///
    /// Shows which files will be replaced, and asks. Other files stay as they are.
    Pull(Between),
}

#[derive(Debug, Args)]
struct Push {
    #[command(flatten)]
    between: Between,
    /// Delete what is in the store and not in the folder; its versions stay
    #[arg(long)]
    prune: bool,
    /// Only show what would change
    #[arg(long)]
    dry_run: bool,
    /// Leave out the files that the store does not take
    #[arg(long)]
    skip: bool,
    /// Delete everything if the folder is empty
    #[arg(long, requires = "prune")]
    force: bool,
}

// A folder and a store.
#[derive(Debug, Args)]
struct Between {
    /// The folder
    #[arg(value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    folder: PathBuf,
    /// Write without asking
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    store: StoreOptions,
}

impl Push {
    fn run(&self) -> anyhow::Result<()> {
        let (folder, store) = (&self.between.folder, self.between.store()?);
        let (files, problems) = Postgres::files_below(folder);
        problems
            .iter()
            .for_each(|problem| output::warning(&problem.to_string()));
        let left_out = count(problems.len(), "file");
        ensure!(
            self.skip || problems.is_empty(),
            "{left_out} cannot be taken; without --skip, nothing is written"
        );
        let is_emptied = self.prune && files.is_empty() && !self.force;
        ensure!(
            !is_emptied,
            "{} has no file for the store; --force deletes everything",
            shown(folder)
        );
        let seen = store.files();
        let changed = files
            .iter()
            .filter(|(path, text)| seen.get(*path) != Some(text));
        let gone = seen
            .keys()
            .filter(|path| self.prune && !folder.join(&***path).exists())
            .map(|path| (path, None));
        let edits: Vec<_> = changed
            .map(|(path, text)| (path, Some(text)))
            .chain(gone)
            .collect();
        let verb = |path| {
            if seen.contains_key(path) {
                "change"
            } else {
                "create"
            }
        };
        let verb = |path, text: &Option<_>| if text.is_some() { verb(path) } else { "delete" };
        let lines = edits
            .iter()
            .map(|(path, text)| format!("{} {}\n", verb(*path, text), printable(path)));
        output::print_lines(&lines.collect::<String>())?;
        let what = format!("write {}", count(edits.len(), "file"));
        if edits.is_empty() {
            output::note("the store has all of this already");
        } else if !self.dry_run
            && (self.between.yes || output::confirm(&format!("{what}?"), &what)?)
        {
            store.push(&edits, &seen)?;
            output::note("written");
        }
        Ok(())
    }
}

impl Between {
    fn store(&self) -> anyhow::Result<Postgres> {
        let store = Postgres::open(self.store.required()?)?;
        store.wait()?;
        Ok(store)
    }

    fn pull(&self) -> anyhow::Result<()> {
        let (folder, files) = (&self.folder, self.store()?.files());
        let others = Postgres::files_below(folder)
            .0
            .into_keys()
            .filter(|path| !files.contains_key(path));
        let mut lines: String = others
            .map(|path| format!("keep {}\n", printable(&path)))
            .collect();
        let mut changed = Vec::new();
        for (path, text) in &files {
            let is_below = Path::new(&**path)
                .components()
                .all(|step| matches!(step, Component::Normal(_)));
            ensure!(
                is_below,
                "{} is no path below a folder; nothing is written",
                named(path)
            );
            let file = folder.join(&**path);
            let old = fs::read(&file).ok();
            if old.as_deref() == Some(text.as_bytes()) {
                continue;
            }
            lines.extend(old.iter().map(|_| format!("change {}\n", printable(path))));
            changed.push((file, old, text));
        }
        let what = format!(
            "write {} into {}",
            count(changed.len(), "file"),
            shown(folder)
        );
        if changed.is_empty()
            || lines.is_empty()
            || self.yes
            || output::confirm(&format!("{lines}{what}?"), &what)?
        {
            for (file, old, text) in changed {
                match old {
                    None => create_with_folders(&file, text, FileAccess::Shared)?,
                    Some(old) => ensure!(
                        replace(&file, &old, text)?,
                        "{} has just been changed",
                        shown(&file)
                    ),
                }
            }
            output::note(&format!(
                "{} in {}",
                count(files.len(), "file"),
                shown(folder)
            ));
        }
        Ok(())
    }
}

impl StoreCommand {
    pub(super) fn run(self) -> anyhow::Result<()> {
        match self.action {
            Action::Init(store) => {
                let address = store.required()?;
                let is_new = Postgres::init(&address)?;
                let done = if is_new {
                    "is ready for prompts"
                } else {
                    "was ready before; nothing is changed"
                };
                output::note(&format!("{address} {done}"));
            }
            Action::Push(push) => push.run()?,
            Action::Pull(pull) => pull.pull()?,
        }
        Ok(())
    }
}
