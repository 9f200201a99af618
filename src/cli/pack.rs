//! `prompt-expander pack`: prompts from git repositories. What their texts are, and how they
//! change, is shown before anything is served.

use super::output::{self, Reporter, full_path};
use super::review::{self, Review, ReviewedText};
use super::source::{PromptSource, absolute, folder_of_packs};
use super::user_folders;
use crate::library::Source;
use crate::prompt::fold;
use crate::prompt::notable::with_invisible_escaped;
use crate::sources::pack::git::{self, Texts};
use crate::sources::pack::lock::{self, LOCK, Pack, PackLock, is_commit, parse_pack_name};
use crate::sources::pack::{Copies, NewCopies, differing_files, text_of};
use crate::whole_file::{self, FileAccess, PendingFile};
use crate::wording::{count, named};
use anyhow::{Context, bail, ensure};
use clap::{Args, Subcommand};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander pack add https://github.com/acme/prompts
  prompt-expander pack add git@host:acme/prompts.git --ref v2 --path prompts \\
                           --only 'git/*' --as acme
  prompt-expander pack update                see what has changed, and take it";

#[derive(Debug, Subcommand)]
pub(super) enum PackCommand {
    /// Show all texts of a repository, and add it if you agree
    ///
    /// Git fetches the repository, with your credentials. Its prompts get the name of the pack
    /// before their own, as in `:acme/review`.
    Add(Add),
    /// Show what has changed in packs, text by text, and take it if you agree
    Update(Update),
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
pub(super) struct Add {
    /// The address of the repository, as git takes it: https, ssh, git or file, or a path
    #[arg(value_parser = lock::parse_address)]
    address: String,
    /// The branch or tag that updates follow, or a commit; by default, the repository's main branch
    #[arg(long = "ref", value_name = "REF", value_parser = lock::parse_reference)]
    reference: Option<String>,
    /// The folder of the repository that has the prompts
    #[arg(long, value_name = "FOLDER", value_parser = lock::parse_folder)]
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
pub(super) struct Update {
    /// The pack; by default, all
    name: Option<String>,
    /// Follow this branch or tag from now on, or take this commit
    #[arg(long = "ref", value_name = "REF", requires = "name", value_parser = lock::parse_reference)]
    reference: Option<String>,
    /// Only say whether there is something new: then, the exit status is 1
    #[arg(long, conflicts_with = "yes")]
    check: bool,
    /// Take it without asking: only with the 40 digits of a commit as --ref
    #[arg(long)]
    yes: bool,
}

/// A lock, with its packs and their copies.
struct LockFile {
    path: PathBuf,
    text: Option<String>,
    packs: Vec<Pack>,
    copies: Copies,
    /// The file with the texts that this person was shown and has accepted: in each line a hash and
    /// a name.
    accepted: PathBuf,
    /// Keeps other processes from changing the same; none if nothing is written.
    _held: Option<File>,
}

/// What --yes does, for the error without a terminal.
const UNSEEN: &str =
    "take them unseen; `add` and `update` also need the 40 digits of a commit as --ref";

impl PackCommand {
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let is_written = !matches!(
            self,
            PackCommand::List | PackCommand::Sync { locked: true, .. }
        );
        let mut packs = LockFile::open(source, is_written)?;
        let fetches_what_others_wrote =
            is_written && matches!(self, PackCommand::Update(_) | PackCommand::Sync { .. });
        if let Some(hint) = source
            .untrusted_hint()
            .filter(|_| source.project && fetches_what_others_wrote)
        {
            bail!("{hint}");
        }
        let is_done = match self {
            PackCommand::Add(add) => add.run(&mut packs, source, reporter)?,
            PackCommand::Update(update) => update.run(&mut packs, reporter)?,
            PackCommand::Sync { locked, yes } => packs.sync(locked, yes, reporter)?,
            PackCommand::Remove { name } => packs.remove(&name, reporter)?,
            PackCommand::List => packs.list(reporter)?,
        };
        Ok(if is_done {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        })
    }
}

impl LockFile {
    fn open(source: &PromptSource, is_written: bool) -> anyhow::Result<LockFile> {
        let of_user = source.settings.packs.clone();
        let of_user =
            of_user.context("packs.lock is beside the settings file; leave out --no-config")?;
        let lock = if source.project {
            source.folder_of_new(&source.library())?.join(LOCK)
        } else {
            of_user
        };
        let folders = folder_of_packs().zip(user_folders::state());
        let (data, state) = folders.context("there is no folder for packs; set HOME")?;
        let hold = || {
            [&data, &state]
                .into_iter()
                .try_for_each(fs::create_dir_all)?;
            let file = File::create(data.join(".lock"))?;
            file.try_lock().map_err(|_| {
                io::Error::other("another `prompt-expander pack` is running; try again later")
            })?;
            Ok::<_, io::Error>(file)
        };
        let held = is_written.then(hold).transpose()?;
        let PackLock { packs, text } = PackLock::read(&lock)?;
        let copies = Copies::of(&data, &lock);
        if is_written {
            copies.remove_leftovers();
        }
        Ok(LockFile {
            path: lock,
            text,
            packs,
            copies,
            accepted: state.join("accepted-texts"),
            _held: held,
        })
    }

    fn named(&self, name: &str) -> anyhow::Result<Pack> {
        let found = self.packs.iter().find(|pack| pack.name == name).cloned();
        found.with_context(|| {
            format!(
                "there is no pack {} in {}",
                named(name),
                full_path(&self.path)
            )
        })
    }

    /// Does this with each pack. If it fails for one, says why, and goes on. Returns whether all
    /// was done.
    fn each(
        &mut self,
        chosen: Vec<Pack>,
        run: impl Fn(&mut LockFile, Pack) -> anyhow::Result<bool>,
        reporter: &Reporter,
    ) -> bool {
        let mut is_done = true;
        for pack in chosen {
            let version = pack.version();
            is_done &= run(self, pack).unwrap_or_else(|error| {
                reporter.error(&format!("{version}: {error:#}"));
                false
            });
        }
        is_done
    }

    /// Fixes a pack at a commit, or at what a branch or a tag is now, and reads its texts there.
    fn fetch(&self, pack: &mut Pack, given: &str) -> anyhow::Result<Texts> {
        Ok(git::fetch(self.copies.temporary()?.path(), pack, given)?)
    }

    /// Shows what is new in the texts of a pack, and asks. Then writes the files and the lock.
    /// Returns whether that was done. New is what `old` does not have; or, if `old` is this pack,
    /// what was not accepted.
    fn take(
        &mut self,
        pack: Pack,
        old: Option<&Pack>,
        texts: &Texts,
        yes: bool,
        reporter: &Reporter,
    ) -> anyhow::Result<bool> {
        texts
            .left_out
            .iter()
            .for_each(|what| reporter.warn(&format!("left out: {what}")));
        ensure!(
            !texts.files.is_empty(),
            "{} has no prompts; name their folder with `--path`",
            named(&pack.address)
        );
        let known = if Some(&pack) == old {
            whole_file::read_text(&self.accepted).unwrap_or_default()
        } else {
            String::new()
        };
        let NewCopies { temporary, prompts } = self.copies.write(&pack, &texts.files)?;
        let old = old.map(|old| (old, self.copies.folder_of(old)));
        let (mut review, mut unchanged) = (Review::default(), 0);
        for (file, text) in &texts.files {
            let before = old
                .as_ref()
                .and_then(|(old, folder)| text_of(old, folder, file));
            if before.as_ref() == Some(text) || known.contains(&accepted_line(&pack, file)) {
                unchanged += 1;
            } else {
                let found = prompts
                    .at(&temporary.path().join(file))
                    .and_then(Result::ok);
                let about = match &found {
                    Some(found) => review::about(found),
                    None => "to be included in others".to_owned(),
                };
                review.add(&ReviewedText {
                    name: &typed_name(&pack, file),
                    about: &about,
                    before: before.as_deref().unwrap_or_default(),
                    text,
                });
            }
        }
        let before = old.iter().flat_map(|(old, _)| old.files.keys());
        for file in before.filter(|file| !texts.files.contains_key(*file)) {
            review.add_removed(&typed_name(&pack, file));
        }
        let version = pack.version();
        let is_changed = !review.is_empty();
        if unchanged > 0 {
            review.add_line(&format!("{} unchanged", count(unchanged, "text")));
        }
        if is_changed && !review.is_accepted(&format!("Take {version}?"), yes, UNSEEN, reporter)? {
            reporter.note("nothing is changed");
            return Ok(false);
        }
        let first = prompts.list().found.into_iter().next();
        self.copies.put_in_place(&pack, temporary)?;
        let files = texts.files.keys();
        self.accept(files.map(|file| accepted_line(&pack, file)))?;
        let example =
            first.map_or_else(String::new, |found| format!(", such as `:{}`", found.name));
        reporter.note(&format!(
            "{version} has {}{example}",
            count(pack.files.len(), "text")
        ));
        if !self.packs.contains(&pack) {
            self.packs.retain(|other| other.name != pack.name);
            self.packs.push(pack);
            self.text = Some(lock::save(
                &self.path,
                self.text.as_deref(),
                &mut self.packs,
            )?);
        }
        self.copies.clean(&self.packs);
        Ok(true)
    }

    /// Remembers the lines of texts that were accepted.
    fn accept(&self, lines: impl Iterator<Item = String>) -> anyhow::Result<()> {
        let mut accepted = whole_file::read_text(&self.accepted).unwrap_or_default();
        accepted.extend(lines);
        PendingFile::write(&self.accepted, accepted.as_bytes(), FileAccess::Private)?.replace()?;
        Ok(())
    }

    fn sync(&mut self, is_locked: bool, yes: bool, reporter: &Reporter) -> anyhow::Result<bool> {
        Ok(self.each(
            self.packs.clone(),
            |packs, pack| {
                let differing = differing_files(&pack, &packs.copies.folder_of(&pack));
                if is_locked || differing.is_empty() {
                    let lines: String = differing
                        .iter()
                        .map(|problem| format!("{problem}\n"))
                        .collect();
                    output::print_lines(&lines.into())?;
                    return Ok(differing.is_empty());
                }
                let (mut fetched, lock) = (pack.clone(), full_path(&packs.path));
                let mut texts = packs.fetch(&mut fetched, &pack.commit)?;
                texts.files.retain(|file, _| pack.files.contains_key(file));
                fetched
                    .files
                    .retain(|file, _| pack.files.contains_key(file));
                ensure!(
                    fetched.files == pack.files,
                    "{} has other texts than {lock} says",
                    named(&pack.version())
                );
                packs.take(pack.clone(), Some(&pack), &texts, yes, reporter)
            },
            reporter,
        ))
    }

    fn remove(&mut self, name: &str, reporter: &Reporter) -> anyhow::Result<bool> {
        let pack = self.named(name)?;
        self.packs.retain(|other| other.name != name);
        lock::save(&self.path, self.text.as_deref(), &mut self.packs)?;
        self.copies.clean(&self.packs);
        reporter.note(&format!(
            "removed {}; `prompt-expander pack add {}` adds it again",
            pack.version(),
            pack.address
        ));
        Ok(true)
    }

    fn list(&self, reporter: &Reporter) -> anyhow::Result<bool> {
        for pack in &self.packs {
            let Pack {
                name,
                address,
                reference,
                commit,
                date,
                path,
                files,
                ..
            } = pack;
            let number = files.len().to_string();
            let fields = [name, address, reference, commit, date, path, &number]
                .map(|text| with_invisible_escaped(text));
            output::print(&format!("{}\n", fields.join("\t")).into())?;
            reporter.warn_all(differing_files(pack, &self.copies.folder_of(pack)));
        }
        Ok(true)
    }
}

/// The line for a text of a pack that was accepted.
fn accepted_line(pack: &Pack, file: &str) -> String {
    format!("{} {}/{file}\n", pack.files[file], pack.name)
}

/// What somebody types for the prompt in a file, or the path of a file that is no prompt.
fn typed_name(pack: &Pack, file: &str) -> String {
    let prompt_file = pack.format().prompt_file(file);
    let stem = prompt_file.map_or(file, |(stem, _)| stem);
    format!("{}/{stem}", pack.name)
}

const YES: &str =
    "--yes takes only texts that are known: add --ref with the 40 digits of the commit";

impl Add {
    fn run(
        self,
        packs: &mut LockFile,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<bool> {
        ensure!(
            !self.yes || self.reference.as_deref().is_some_and(is_commit),
            YES
        );
        let folder = absolute(Path::new(&self.address));
        let is_folder = !self.address.contains("://") && folder.is_dir();
        if is_folder && !folder.join(".git").exists() && !folder.join("HEAD").exists() {
            bail!(
                "{} is a folder without git; serve it with --prompts, or name it in config.toml",
                full_path(&folder)
            );
        }
        let address = if is_folder {
            folder.to_string_lossy().into_owned()
        } else {
            self.address
        };
        let name = self
            .name
            .map_or_else(|| parse_pack_name(default_name(&address)), Ok);
        let name = name.map_err(|why| anyhow::anyhow!("{why}; choose a name with `--as`"))?;
        let known = packs.packs.iter().map(|pack| format!("{}/", pack.name));
        let listing = source.library().view().list();
        let mut known = known.chain(listing.found.iter().map(|found| found.name.to_string()));
        if let Some(known) =
            known.find(|known| fold(known).starts_with(&format!("{}/", fold(&name))))
        {
            bail!(
                "there is {} already; give the pack another name with `--as`",
                named(&known)
            );
        }
        let (path, only) = (self.path.unwrap_or_default(), self.only);
        // If --ref names a commit, updates follow the main branch.
        let mut pack = Pack {
            name,
            address,
            reference: "HEAD".to_owned(),
            path,
            only,
            ..Pack::default()
        };
        let texts = packs.fetch(&mut pack, self.reference.as_deref().unwrap_or("HEAD"))?;
        packs.take(pack, None, &texts, self.yes, reporter)
    }
}

/// The last part of an address or, if that is `prompts`, the one before it.
fn default_name(address: &str) -> &str {
    let address = address.trim_end_matches('/');
    let address = address.strip_suffix(".git").unwrap_or(address);
    let mut parts = address
        .rsplit(['/', ':', '\\'])
        .filter(|part| !part.is_empty());
    parts
        .find(|part| !part.trim_start_matches('.').eq_ignore_ascii_case("prompts"))
        .unwrap_or(address)
}

impl Update {
    fn run(self, packs: &mut LockFile, reporter: &Reporter) -> anyhow::Result<bool> {
        ensure!(
            !self.yes || self.reference.as_deref().is_some_and(is_commit),
            YES
        );
        let chosen = match &self.name {
            Some(name) => vec![packs.named(name)?],
            None => packs.packs.clone(),
        };
        Ok(packs.each(
            chosen,
            |packs, old| {
                let mut pack = old.clone();
                let texts = packs.fetch(
                    &mut pack,
                    self.reference.as_deref().unwrap_or(&old.reference),
                )?;
                if pack == old || (self.check && pack.files == old.files) {
                    output::print_lines(&format!("{} is up to date", old.version()).into())?;
                    return Ok(true);
                }
                output::print_lines(
                    &format!(
                        "{} ({}) → {} ({})",
                        old.version(),
                        old.date,
                        pack.version(),
                        pack.date
                    )
                    .into(),
                )?;
                Ok(!self.check && packs.take(pack, Some(&old), &texts, self.yes, reporter)?)
            },
            reporter,
        ))
    }
}
