//! `prompt-expander pack`: installs and updates packs, which are prompts from git repositories.
//!
//! No text of a pack is served until the user has reviewed it.

mod lock_file;
mod offer;
mod repository;

use super::output::{self, Reporter, full_path};
use super::source_options::PromptSource;
use crate::prompt::fold_name;
use crate::prompt::notable::with_invisible_escaped;
use crate::sources::pack::git::FetchedPack;
use crate::sources::pack::pack_lock::{self, Pack, is_commit, parse_pack_name};
use crate::sources::pack::{copy_errors, damaged_file_errors, stray_files};
use crate::wording::{count, in_backticks};
use anyhow::{Context, anyhow, bail, ensure};
use clap::{Args, Subcommand};
use lock_file::{LockAccess, LockFile};
use offer::Offer;
use repository::{full_address, parse_typed_folder};
use std::fs;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander pack add https://github.com/acme/prompts
  prompt-expander pack add git@host:acme/prompts.git --ref v2 --path prompts \\
                           --only 'git/*' --as acme
  prompt-expander pack update                see what has changed, and take it";

/// The options of `pack add` and `pack update` that accept a version without asking, for users who
/// have reviewed it elsewhere.
const YES_WITH_COMMIT: &str = "--ref COMMIT --yes";

/// The option of `pack sync` that accepts the texts without asking. The commit is in the lock file.
const YES_TO_LOCKED: &str = "--yes";

/// The reference to the main branch of a remote repository.
const MAIN_BRANCH: &str = "HEAD";

/// How many digits of a commit are enough for people.
const SHORT_COMMIT_LEN: usize = 12;

#[derive(Debug, Subcommand)]
pub(super) enum PackCommand {
    /// Show the texts of a repository, and ask to add them
    ///
    /// Your git fetches the repository, with your credentials. The name of the pack comes before
    /// the names of its prompts, as in `:acme/review`.
    Add(AddPack),
    /// Show what has changed in packs, and ask to apply it
    Update(UpdatePack),
    /// Fetch the versions in packs.lock, and show new texts
    ///
    /// Shows the texts that you have not accepted on this machine yet, and asks whether to accept
    /// them.
    Sync {
        /// Fetch and write nothing; only print each file that differs from packs.lock, and exit
        /// with 1 if there is one
        #[arg(long, conflicts_with = "yes")]
        locked: bool,
        /// Accept all texts without asking
        #[arg(long)]
        yes: bool,
    },
    /// Remove a pack
    Remove {
        /// The name of the pack
        name: String,
    },
    /// List the packs and their versions
    ///
    /// Prints the name, address, ref, commit, date, folder and number of texts of each pack.
    List,
}

#[derive(Debug, Args)]
pub(super) struct AddPack {
    /// The address of the repository: any https, ssh, git or file URL that git accepts, or a path
    #[arg(value_parser = pack_lock::parse_address)]
    address: String,
    /// The branch or tag that updates follow, or a commit; by default, the repository's main branch
    #[arg(long = "ref", value_name = "REF", value_parser = pack_lock::parse_reference)]
    reference: Option<String>,
    /// The folder in the repository that contains the prompts
    #[arg(long, value_name = "FOLDER", value_parser = parse_typed_folder)]
    path: Option<String>,
    /// Add only prompts whose names match this pattern with one `*`, such as 'git/*'; can be
    /// repeated
    #[arg(long, value_name = "PATTERN")]
    only: Vec<String>,
    /// The name of the pack; by default, the name of the repository or, if that is `prompts`, the
    /// name of its owner
    #[arg(long = "as", value_name = "NAME", value_parser = parse_pack_name)]
    name: Option<String>,
    /// Add the pack without asking; requires the 40 digits of a commit as --ref
    #[arg(long)]
    yes: bool,
}

#[derive(Debug, Args)]
pub(super) struct UpdatePack {
    /// The name of the pack; by default, all packs
    name: Option<String>,
    /// Follow this branch or tag from now on, or use this commit
    #[arg(long = "ref", value_name = "REF", requires = "name", value_parser = pack_lock::parse_reference)]
    reference: Option<String>,
    /// Only check for updates, and exit with 1 if there are any
    #[arg(long, conflicts_with = "yes")]
    check: bool,
    /// Apply the changes without asking; requires the 40 digits of a commit as --ref
    #[arg(long)]
    yes: bool,
}

impl PackCommand {
    /// Runs the subcommand. Exits with 1 if the user rejects a pack, an update or difference was
    /// found, or a pack couldn't be fetched.
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let mut packs = LockFile::open(source, reporter, self.access())?;
        let needs_trust = source.project && self.fetches_locked_packs();
        if needs_trust && let Some(hint) = source.untrusted_hint() {
            bail!("{hint}");
        }
        let has_succeeded = match self {
            PackCommand::Add(add) => add.run(&mut packs, source)?,
            PackCommand::Update(update) => update.run(&mut packs)?,
            PackCommand::Sync { locked: true, .. } => check_copies(&packs)?,
            PackCommand::Sync { locked: false, yes } => sync(&mut packs, yes),
            PackCommand::Remove { name } => {
                remove(&mut packs, &name)?;
                true
            }
            PackCommand::List => {
                list(&packs)?;
                true
            }
        };
        if has_succeeded {
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

    /// Returns whether the command fetches from addresses in the lock file. In a project, somebody
    /// else may have written that file, so the user has to trust the project first.
    fn fetches_locked_packs(&self) -> bool {
        matches!(
            self,
            PackCommand::Update(_) | PackCommand::Sync { locked: false, .. }
        )
    }
}

impl AddPack {
    /// Fetches the pack, and installs it if the user accepts. Returns whether it was installed.
    fn run(self, packs: &mut LockFile<'_>, source: &PromptSource) -> anyhow::Result<bool> {
        check_yes(self.yes, self.reference.as_deref())?;
        let address = full_address(&self.address)?;
        let name = match &self.name {
            Some(name) => name.clone(),
            None => parse_pack_name(default_name(&address))
                .map_err(|error| anyhow!("{error}; choose a name with `--as`"))?,
        };
        check_new_name(&name, packs, source)?;
        let version = self.reference.as_deref().unwrap_or(MAIN_BRANCH);
        let pack = Pack {
            name,
            address,
            // `fetch` replaces this if `version` is a branch or tag. If it's a commit, updates
            // follow the main branch.
            reference: MAIN_BRANCH.to_owned(),
            path: self.path.unwrap_or_default(),
            only: self.only,
            ..Pack::default()
        };
        let offer = Offer {
            fetched: packs.fetch(&pack, version)?,
            locked: None,
            accepted_lines: String::new(), // shows all texts
        };
        offer.install_if_accepted(packs, self.yes, YES_WITH_COMMIT)
    }
}

/// Rejects `--yes` without the exact commit: a branch may have moved since the user reviewed it.
fn check_yes(yes: bool, reference: Option<&str>) -> anyhow::Result<()> {
    ensure!(
        !yes || reference.is_some_and(is_commit),
        "--yes needs the exact commit: --ref and its 40 digits"
    );
    Ok(())
}

/// Checks that the name of a new pack is free: no other pack has it, and no prompt is named
/// `name/…`. Ignores case and accents.
fn check_new_name(name: &str, packs: &LockFile<'_>, source: &PromptSource) -> anyhow::Result<()> {
    let prefix = format!("{}/", fold_name(name));
    let mut existing_names: Vec<String> = Vec::new();
    for pack in &packs.packs {
        existing_names.push(format!("{}/", pack.name)); // with the slash, `a` differs from `ab`
    }
    for found in source.library().view().list().found {
        existing_names.push(found.name.to_string());
    }
    for existing in existing_names {
        ensure!(
            !fold_name(&existing).starts_with(&prefix),
            "{} exists already; give the pack another name with `--as`",
            in_backticks(&existing)
        );
    }
    Ok(())
}

/// Derives the name of a pack from its address: the last component that isn't `prompts`.
///
/// `https://github.com/acme/prompts.git` becomes `acme`, and `git@host:acme/rules` becomes `rules`.
fn default_name(address: &str) -> &str {
    let address = address.trim_end_matches('/');
    let address = address.strip_suffix(".git").unwrap_or(address);
    for component in address.rsplit(['/', ':', '\\']) {
        let name = component.trim_start_matches('.'); // `.prompts` is no better than `prompts`
        if !component.is_empty() && !name.eq_ignore_ascii_case("prompts") {
            return component;
        }
    }
    address
}

impl UpdatePack {
    /// Updates the selected packs. Returns whether all of them are up to date now.
    fn run(self, packs: &mut LockFile<'_>) -> anyhow::Result<bool> {
        check_yes(self.yes, self.reference.as_deref())?;
        let selected = match &self.name {
            Some(name) => vec![packs.named(name)?],
            None => packs.packs.clone(),
        };
        Ok(run_for_each(packs, selected, |packs, pack| {
            self.update(packs, pack)
        }))
    }

    /// Fetches the newest version of a pack, and installs it if the user accepts. With `--check`,
    /// only reports that there is one. Returns whether the pack is up to date now.
    fn update(&self, packs: &mut LockFile<'_>, locked: Pack) -> anyhow::Result<bool> {
        let version = self.reference.as_deref().unwrap_or(&locked.reference);
        let fetched = packs.fetch(&locked, version)?;
        let newest = &fetched.pack;
        let is_up_to_date = if self.check {
            newest.files == locked.files // a newer commit with the same files isn't worth reporting
        } else {
            *newest == locked // otherwise, the lock file is updated to the newer commit
        };
        if is_up_to_date {
            print_line(&format!("{} is up to date", locked.version()))?;
            return Ok(true);
        }
        print_line(&format!(
            "{} ({}) → {} ({})",
            locked.version(),
            locked.date,
            newest.version(),
            newest.date
        ))?;
        if self.check {
            return Ok(false);
        }
        let offer = Offer {
            fetched,
            locked: Some(locked),
            accepted_lines: String::new(), // shows all texts that have changed
        };
        offer.install_if_accepted(packs, self.yes, YES_WITH_COMMIT)
    }
}

/// Makes the local copies of all packs match the lock file, as [`sync_pack`] does for one. Returns
/// whether all of them match now.
fn sync(packs: &mut LockFile<'_>, assume_yes: bool) -> bool {
    run_for_each(packs, packs.packs.clone(), |packs, pack| {
        sync_pack(packs, pack, assume_yes)
    })
}

/// Makes the local copies of a pack match the lock file: removes files that it doesn't list, and
/// then restores those that are missing or were modified. Asks the user before each of these steps,
/// unless `assume_yes` is set.
///
/// Returns whether the copies match now. They don't if the user has answered no.
fn sync_pack(packs: &mut LockFile<'_>, pack: Pack, assume_yes: bool) -> anyhow::Result<bool> {
    // Ask about other files first, because restoring replaces the whole folder.
    let all_removed = remove_stray_files(packs, &pack, assume_yes)?;
    if !all_removed {
        return Ok(false);
    }
    let folder = packs.copies.folder_of(&pack);
    let is_undamaged = damaged_file_errors(&pack, &folder).is_empty();
    if is_undamaged {
        return Ok(true);
    }
    let offer = Offer {
        fetched: fetch_locked(packs, &pack)?,
        locked: Some(pack),
        accepted_lines: packs.accepted_lines(),
    };
    offer.install_if_accepted(packs, assume_yes, YES_TO_LOCKED)
}

/// Deletes the files among the local copies of a pack that the lock file does not list, if the user
/// agrees. With `assume_yes`, doesn't ask. Returns whether none of them are left, which is also the
/// case if there were none.
///
/// # Errors
/// Fails if the user cannot be asked, or a file cannot be deleted.
fn remove_stray_files(packs: &LockFile<'_>, pack: &Pack, assume_yes: bool) -> anyhow::Result<bool> {
    let files = stray_files(pack, &packs.copies.folder_of(pack));
    if files.is_empty() {
        return Ok(true);
    }
    let version = in_backticks(&pack.version());
    for file in &files {
        let path = output::display_path(file);
        print_line(&format!("{path}: the pack {version} has no such file"))?;
    }
    let question = format!("Remove {}?", count(files.len(), "file"));
    if !assume_yes && !packs.reporter.confirm(&question, "remove them")? {
        packs.reporter.note("nothing was changed");
        return Ok(false);
    }
    for file in &files {
        fs::remove_file(file).with_context(|| format!("cannot remove {}", full_path(file)))?;
        let path = output::display_path(file);
        packs.reporter.note(&format!("removed {path}"));
    }
    Ok(true)
}

/// Fetches the files that the lock file lists for a pack, at the commit in the lock file.
///
/// # Errors
/// Fails if the pack can't be fetched, or a file's hash differs from the one in the lock file.
fn fetch_locked(packs: &LockFile<'_>, pack: &Pack) -> anyhow::Result<FetchedPack> {
    let mut fetched = packs.fetch(pack, &pack.commit)?;
    // The commit may contain more prompts than the lock file lists; those aren't installed.
    fetched
        .files
        .retain(|file, _| pack.files.contains_key(file));
    let mut hashes = fetched.pack.files;
    hashes.retain(|file, _| pack.files.contains_key(file));
    ensure!(
        hashes == pack.files,
        "{} has other texts than {} says",
        in_backticks(&pack.version()),
        output::display_path(&packs.path)
    );
    // The same version, but with the reference and the files that the lock file lists.
    fetched.pack = pack.clone();
    Ok(fetched)
}

/// Prints the local copies that are missing, were modified, or were added. Returns whether all
/// copies match the lock file.
fn check_copies(packs: &LockFile<'_>) -> anyhow::Result<bool> {
    let mut all_match = true;
    for pack in &packs.packs {
        for problem in copy_errors(pack, &packs.copies.folder_of(pack)) {
            print_line(&problem.to_string())?;
            all_match = false;
        }
    }
    Ok(all_match)
}

/// Removes a pack from the lock file, and says how to add it again.
///
/// # Errors
/// Fails if there is no pack of that name, or the lock file can't be written.
fn remove(packs: &mut LockFile<'_>, name: &str) -> anyhow::Result<()> {
    let pack = packs.named(name)?;
    packs.packs.retain(|other| other.name != name);
    packs.save()?;
    packs.reporter.note(&format!(
        "removed {}; `prompt-expander pack add {}` adds it again",
        pack.version(),
        pack.address
    ));
    Ok(())
}

/// Prints a table of the packs, and a warning for each local copy that differs from the lock file.
fn list(packs: &LockFile<'_>) -> anyhow::Result<()> {
    let is_terminal = output::terminal_width().is_some();
    let mut rows = Vec::new();
    for pack in &packs.packs {
        let commit = if is_terminal {
            &pack.commit[..SHORT_COMMIT_LEN]
        } else {
            &pack.commit
        };
        let text_count = pack.files.len().to_string();
        let fields = [
            &pack.name,
            &pack.address,
            &pack.reference,
            commit,
            &pack.date,
            &pack.path,
            &text_count,
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
            .warn_all(copy_errors(pack, &packs.copies.folder_of(pack)));
    }
    Ok(())
}

/// Calls `run` for each selected pack. An error is reported, and doesn't stop the other packs.
/// Returns whether `run` returned `Ok(true)` for all of them.
fn run_for_each(
    packs: &mut LockFile<'_>,
    selected: Vec<Pack>,
    run: impl Fn(&mut LockFile<'_>, Pack) -> anyhow::Result<bool>,
) -> bool {
    let mut all_succeeded = true;
    for pack in selected {
        let version = pack.version();
        match run(packs, pack) {
            Ok(succeeded) => all_succeeded &= succeeded,
            Err(error) => {
                packs.reporter.error(&format!("{version}: {error:#}"));
                all_succeeded = false;
            }
        }
    }
    all_succeeded
}

fn print_line(line: &str) -> anyhow::Result<()> {
    output::print_lines(&line.to_owned().into())
}
