//! `prompt-expander pack`: prompts from git repositories. What their texts are, and how they
//! change, is shown before anything is served.

mod lock_file;
mod offer;

use super::output::{self, Reporter};
use super::source_options::{PromptSource, absolute};
use crate::prompt::fold_name;
use crate::prompt::notable::with_invisible_escaped;
use crate::sources::pack::changed_file_errors;
use crate::sources::pack::git::FetchedFiles;
use crate::sources::pack::pack_lock::{self, Pack, is_commit, parse_pack_name};
use crate::wording::in_backticks;
use anyhow::{anyhow, bail, ensure};
use clap::{Args, Subcommand};
use lock_file::{LockAccess, LockFile};
use offer::Offer;
use std::path::Path;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander pack add https://github.com/acme/prompts
  prompt-expander pack add git@host:acme/prompts.git --ref v2 --path prompts \\
                           --only 'git/*' --as acme
  prompt-expander pack update                see what has changed, and take it";

/// The options that take texts which the user has read elsewhere.
const YES_WITH_COMMIT: &str = "--ref COMMIT --yes";

#[derive(Debug, Subcommand)]
pub(super) enum PackCommand {
    /// Show all texts of a repository, and add it if you agree
    ///
    /// Git fetches the repository, with your credentials. Its prompts get the name of the pack
    /// before their own, as in `:acme/review`.
    Add(AddPack),
    /// Show what has changed in packs, text by text, and take it if you agree
    Update(UpdatePack),
    /// Fetch what packs.lock says; shows the texts that you have not accepted yet, and asks
    Sync {
        /// Fetch and write nothing; if a file is not what packs.lock says, name it, and end with
        /// the exit status 1
        #[arg(long, conflicts_with = "yes")]
        locked: bool,
        /// Accept all texts without asking
        #[arg(long)]
        yes: bool,
    },
    /// Remove a pack
    Remove {
        /// The pack
        name: String,
    },
    /// List the packs, with address, ref, commit, date, folder and number of texts
    List,
}

#[derive(Debug, Args)]
pub(super) struct AddPack {
    /// The address of the repository, as git takes it: https, ssh, git or file, or a path
    #[arg(value_parser = pack_lock::parse_address)]
    address: String,
    /// The branch or tag that updates follow, or a commit; by default, the repository's main branch
    #[arg(long = "ref", value_name = "REF", value_parser = pack_lock::parse_reference)]
    reference: Option<String>,
    /// The folder of the repository that has the prompts
    #[arg(long, value_name = "FOLDER", value_parser = pack_lock::parse_folder)]
    path: Option<String>,
    /// Take only the prompts whose names fit this pattern with one `*`, such as 'git/*'; can be
    /// repeated
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// The name of the pack; by default, that of the repository or, if that is `prompts`, of its
    /// owner
    #[arg(long = "as", value_name = "NAME", value_parser = parse_pack_name)]
    name: Option<String>,
    /// Add it without asking: only with the 40 digits of a commit as --ref
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(super) struct UpdatePack {
    /// The pack; by default, all
    name: Option<String>,
    /// Follow this branch or tag from now on, or take this commit
    #[arg(long = "ref", value_name = "REF", requires = "name", value_parser = pack_lock::parse_reference)]
    reference: Option<String>,
    /// Only say whether there is something new: then, the exit status is 1
    #[arg(long, conflicts_with = "yes")]
    check: bool,
    /// Take it without asking: only with the 40 digits of a commit as --ref
    #[arg(long)]
    yes: bool,
}

impl PackCommand {
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let mut packs = LockFile::open(source, reporter, self.access())?;
        if source.project
            && self.takes_from_lock()
            && let Some(hint) = source.untrusted_hint()
        {
            bail!("{hint}");
        }
        let is_done = match self {
            PackCommand::Add(add) => add.run(&mut packs, source)?,
            PackCommand::Update(update) => update.run(&mut packs)?,
            PackCommand::Sync { locked: true, .. } => check_copies(&packs)?,
            PackCommand::Sync { locked: false, yes } => sync(&mut packs, yes),
            PackCommand::Remove { name } => remove(&mut packs, &name)?,
            PackCommand::List => list(&packs)?,
        };
        if is_done {
            Ok(ExitCode::SUCCESS)
        } else {
            Ok(ExitCode::FAILURE)
        }
    }

    fn access(&self) -> LockAccess {
        match self {
            PackCommand::List | PackCommand::Sync { locked: true, .. } => LockAccess::Read,
            _ => LockAccess::Write,
        }
    }

    /// Returns whether the command takes texts from where the lock says, which in a project may be
    /// the work of somebody else.
    fn takes_from_lock(&self) -> bool {
        matches!(
            self,
            PackCommand::Update(_) | PackCommand::Sync { locked: false, .. }
        )
    }
}

impl AddPack {
    /// Adds a pack, if the user agrees. Returns whether it was added.
    fn run(self, packs: &mut LockFile<'_>, source: &PromptSource) -> anyhow::Result<bool> {
        check_yes(self.yes, self.reference.as_deref())?;
        let address = self.full_address()?;
        let name = match &self.name {
            Some(name) => name.clone(),
            None => parse_pack_name(default_name(&address))
                .map_err(|error| anyhow!("{error}; choose a name with `--as`"))?,
        };
        check_new_name(&name, packs, source)?;
        let version = self.reference.as_deref().unwrap_or("HEAD");
        let mut pack = Pack {
            name,
            address,
            // If --ref names a commit, updates follow the main branch.
            reference: "HEAD".to_owned(),
            path: self.path.unwrap_or_default(),
            only: self.only,
            ..Pack::default()
        };
        let texts = packs.fetch(&mut pack, version)?;
        let offer = Offer {
            pack,
            texts,
            old: None,
            accepted: String::new(),
        };
        offer.take(packs, self.yes, YES_WITH_COMMIT)
    }

    /// Returns the address of the repository: the full path of a folder, or the address as it is.
    ///
    /// # Errors
    /// The folder has no repository.
    fn full_address(&self) -> anyhow::Result<String> {
        let folder = absolute(Path::new(&self.address));
        if self.address.contains("://") || !folder.is_dir() {
            return Ok(self.address.clone());
        }
        let is_repository = folder.join(".git").exists() || folder.join("HEAD").exists();
        ensure!(
            is_repository,
            "{} is not a git repository; to use its prompts as they are, add the folder to `prompts` in config.toml",
            output::shown(&folder)
        );
        Ok(folder.to_string_lossy().into_owned())
    }
}

/// Refuses --yes without the commit whose texts the user has read.
fn check_yes(yes: bool, reference: Option<&str>) -> anyhow::Result<()> {
    ensure!(
        !yes || reference.is_some_and(is_commit),
        "--yes needs the exact commit: --ref and its 40 digits"
    );
    Ok(())
}

/// Refuses the name of a pack if another pack has it, or a prompt's name begins with it and a `/`.
/// Letter case and accents make no difference.
fn check_new_name(name: &str, packs: &LockFile<'_>, source: &PromptSource) -> anyhow::Result<()> {
    let prefix = format!("{}/", fold_name(name));
    let mut known: Vec<String> = Vec::new();
    for pack in &packs.packs {
        known.push(format!("{}/", pack.name));
    }
    for found in source.library().view().list().found {
        known.push(found.name.to_string());
    }
    match known
        .iter()
        .find(|known| fold_name(known).starts_with(&prefix))
    {
        Some(known) => bail!(
            "{} exists already; give the pack another name with `--as`",
            in_backticks(known)
        ),
        None => Ok(()),
    }
}

/// Returns the name for a pack from its address: the last part that is not `prompts`.
/// `https://github.com/acme/prompts.git` → `acme`, `git@host:acme/rules` → `rules`.
fn default_name(address: &str) -> &str {
    let address = address.trim_end_matches('/');
    let address = address.strip_suffix(".git").unwrap_or(address);
    for part in address.rsplit(['/', ':', '\\']) {
        let word = part.trim_start_matches('.');
        if !part.is_empty() && !word.eq_ignore_ascii_case("prompts") {
            return part;
        }
    }
    address
}

impl UpdatePack {
    /// Updates the chosen packs. Returns whether all are up to date or were updated.
    fn run(self, packs: &mut LockFile<'_>) -> anyhow::Result<bool> {
        check_yes(self.yes, self.reference.as_deref())?;
        let chosen = match &self.name {
            Some(name) => vec![packs.named(name)?],
            None => packs.packs.clone(),
        };
        Ok(for_each_pack(packs, chosen, |packs, pack| {
            self.update(packs, pack)
        }))
    }

    /// Updates a pack, if the user agrees. Returns whether it is up to date then.
    fn update(&self, packs: &mut LockFile<'_>, old: Pack) -> anyhow::Result<bool> {
        let mut pack = old.clone();
        let version = self.reference.as_deref().unwrap_or(&old.reference);
        let texts = packs.fetch(&mut pack, version)?;
        if pack == old || (self.check && pack.files == old.files) {
            print_line(&format!("{} is up to date", old.version()))?;
            return Ok(true);
        }
        print_line(&format!(
            "{} ({}) → {} ({})",
            old.version(),
            old.date,
            pack.version(),
            pack.date
        ))?;
        if self.check {
            return Ok(false);
        }
        let offer = Offer {
            pack,
            texts,
            old: Some(old),
            accepted: String::new(),
        };
        offer.take(packs, self.yes, YES_WITH_COMMIT)
    }
}

/// Restores the copies of all packs that are missing or have changed. Returns whether the copies
/// of all packs are as the lock says then.
fn sync(packs: &mut LockFile<'_>, yes: bool) -> bool {
    for_each_pack(packs, packs.packs.clone(), |packs, pack| {
        sync_pack(packs, pack, yes)
    })
}

fn sync_pack(packs: &mut LockFile<'_>, pack: Pack, yes: bool) -> anyhow::Result<bool> {
    if changed_file_errors(&pack, &packs.copies.folder_of(&pack)).is_empty() {
        return Ok(true);
    }
    let texts = fetch_locked(packs, &pack)?;
    let offer = Offer {
        pack: pack.clone(),
        texts,
        old: Some(pack),
        accepted: packs.accepted_texts(),
    };
    offer.take(packs, yes, "--yes")
}

/// Fetches the texts of a pack that the lock names.
///
/// # Errors
/// The repository has other texts at this commit than the lock says, or cannot be fetched.
fn fetch_locked(packs: &LockFile<'_>, pack: &Pack) -> anyhow::Result<FetchedFiles> {
    let mut fetched = pack.clone();
    let mut texts = packs.fetch(&mut fetched, &pack.commit)?;
    texts.files.retain(|file, _| pack.files.contains_key(file));
    fetched
        .files
        .retain(|file, _| pack.files.contains_key(file));
    ensure!(
        fetched.files == pack.files,
        "{} has other texts than {} says",
        in_backticks(&pack.version()),
        output::shown(&packs.path)
    );
    Ok(texts)
}

/// Prints the copies that are missing or have changed. Returns whether there are none.
fn check_copies(packs: &LockFile<'_>) -> anyhow::Result<bool> {
    let mut is_as_locked = true;
    for pack in &packs.packs {
        for problem in changed_file_errors(pack, &packs.copies.folder_of(pack)) {
            print_line(&problem.to_string())?;
            is_as_locked = false;
        }
    }
    Ok(is_as_locked)
}

fn remove(packs: &mut LockFile<'_>, name: &str) -> anyhow::Result<bool> {
    let pack = packs.named(name)?;
    packs.packs.retain(|other| other.name != name);
    packs.save()?;
    packs.reporter.note(&format!(
        "removed {}; `prompt-expander pack add {}` adds it again",
        pack.version(),
        pack.address
    ));
    Ok(true)
}

/// Prints a table of the packs, and warns of copies that are missing or have changed.
fn list(packs: &LockFile<'_>) -> anyhow::Result<bool> {
    let is_terminal = output::terminal_width().is_some();
    let mut rows = Vec::new();
    for pack in &packs.packs {
        let commit = if is_terminal {
            &pack.commit[..12]
        } else {
            &pack.commit
        };
        let number = pack.files.len().to_string();
        let fields = [
            &pack.name,
            &pack.address,
            &pack.reference,
            commit,
            &pack.date,
            &pack.path,
            &number,
        ];
        rows.push(fields.map(|field| with_invisible_escaped(field).into_owned()));
    }
    let header = [
        "NAME", "ADDRESS", "REF", "COMMIT", "DATE", "FOLDER", "TEXTS",
    ];
    output::print_table(header, &rows)?;
    for pack in &packs.packs {
        packs
            .reporter
            .warn_all(changed_file_errors(pack, &packs.copies.folder_of(pack)));
    }
    Ok(true)
}

/// Does `run` with each of the chosen packs. If it fails for one, reports the error, and goes on.
/// Returns whether `run` has returned true for all.
fn for_each_pack(
    packs: &mut LockFile<'_>,
    chosen: Vec<Pack>,
    run: impl Fn(&mut LockFile<'_>, Pack) -> anyhow::Result<bool>,
) -> bool {
    let mut is_done = true;
    for pack in chosen {
        let version = pack.version();
        match run(packs, pack) {
            Ok(is_pack_done) => is_done &= is_pack_done,
            Err(error) => {
                packs.reporter.error(&format!("{version}: {error:#}"));
                is_done = false;
            }
        }
    }
    is_done
}

fn print_line(line: &str) -> anyhow::Result<()> {
    output::print_lines(&line.to_owned().into())
}
