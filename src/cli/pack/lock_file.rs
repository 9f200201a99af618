//! The open `packs.lock` file of the user or of a project.

use crate::cli::output::{Progress, Reporter, display_path};
use crate::cli::source_options::{PromptSource, folder_of_packs};
use crate::cli::user_folders;
use crate::sources::pack::PackCopies;
use crate::sources::pack::git::{self, FetchedPack};
use crate::sources::pack::git_limits::FetchProgress;
use crate::sources::pack::pack_lock::{self, LOCK, Pack, PackLock};
use crate::whole_file::{self, FileAccess};
use crate::wording::{format_size, in_backticks};
use anyhow::Context;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What a command does with the lock file and the local copies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LockAccess {
    Read,
    /// Excludes other writing processes.
    Write,
}

/// An open `packs.lock`: its packs, and their local copies.
pub(super) struct LockFile<'r> {
    pub(super) reporter: &'r Reporter,
    pub(super) path: PathBuf,
    pub(super) packs: Vec<Pack>,
    pub(super) copies: PackCopies,
    /// The contents of the file when it was last read or written; `None` if it doesn't exist.
    contents: Option<String>,
    /// The file that records which texts the user has accepted, one [`accepted_line`] each.
    accepted_file: PathBuf,
    /// Locked with [`LockAccess::Write`]. Other processes can't write until it is dropped.
    _process_lock: Option<File>,
}

impl<'r> LockFile<'r> {
    /// Opens the user's lock file or, with `--project`, the project's.
    ///
    /// # Errors
    /// Fails if the lock file is invalid, there is no folder for the copies, or another process is
    /// writing.
    pub(super) fn open(
        source: &PromptSource,
        reporter: &'r Reporter,
        access: LockAccess,
    ) -> anyhow::Result<LockFile<'r>> {
        let user_lock = source
            .settings
            .packs
            .clone()
            .context("packs.lock is beside the settings file; leave out --no-config")?;
        let path = if source.project {
            source.new_prompts_folder(&source.library())?.join(LOCK)
        } else {
            user_lock
        };
        let no_home = "there is no folder for packs; set HOME";
        let packs_folder = folder_of_packs().context(no_home)?;
        let state_folder = user_folders::state().context(no_home)?;
        let process_lock = match access {
            LockAccess::Read => None,
            LockAccess::Write => Some(exclude_other_processes(&packs_folder, &state_folder)?),
        };
        // Read the file only after other processes are excluded: they could still change it.
        let PackLock {
            packs,
            text: contents,
        } = PackLock::read(&path)?;
        let copies = PackCopies::for_lock_file(&packs_folder, &path);
        if access == LockAccess::Write {
            copies.remove_leftovers();
        }
        Ok(LockFile {
            reporter,
            path,
            packs,
            copies,
            contents,
            accepted_file: state_folder.join("accepted-texts"),
            _process_lock: process_lock,
        })
    }

    /// Returns the pack with this name.
    ///
    /// # Errors
    /// Fails if there is no such pack.
    pub(super) fn named(&self, name: &str) -> anyhow::Result<Pack> {
        let pack = self.packs.iter().find(|pack| pack.name == name);
        pack.cloned().with_context(|| {
            format!(
                "there is no pack {} in {}",
                in_backticks(name),
                display_path(&self.path)
            )
        })
    }

    /// Fetches a pack at `version`: a commit, a branch or a tag. Nothing is installed.
    ///
    /// # Errors
    /// The same as for [`git::fetch_pack`].
    pub(super) fn fetch(&self, pack: &Pack, version: &str) -> anyhow::Result<FetchedPack> {
        let folder = self.copies.create_temporary_folder()?;
        let advice = "Nothing of this pack was changed. Run the command again to go on.";
        let progress = Progress::start(format!("fetching {}", pack.address), advice);
        let fetched = git::fetch_pack(folder.path(), pack, version, &|fetch| match fetch {
            FetchProgress::Connecting => progress.pause(),
            FetchProgress::Receiving(bytes) => progress.set_size(format_size(bytes)),
        })?;
        Ok(fetched)
    }

    /// Returns the record of accepted texts, one [`accepted_line`] each; empty if it doesn't exist.
    pub(super) fn accepted_lines(&self) -> String {
        whole_file::read_text(&self.accepted_file).unwrap_or_default()
    }

    /// Installs a pack whose texts the user has accepted. Replaces the pack of the same name, if
    /// there is one.
    pub(super) fn install(&mut self, pack: &Pack, new_copies: TempDir) -> anyhow::Result<()> {
        // The copies come first, so that the lock file never lists files that don't exist. If a
        // later step fails, unused copies are left, which the next `save` deletes.
        self.copies.install(pack, new_copies)?;
        self.record_accepted(pack)?;
        // Equal in every field, including the hashes of its files: only the copies were missing.
        let is_already_listed = self.packs.contains(pack);
        if is_already_listed {
            self.copies.remove_unused(&self.packs);
            return Ok(());
        }
        self.packs.retain(|other| other.name != pack.name);
        self.packs.push(pack.clone());
        self.save()
    }

    /// Records that the user has accepted the texts of a pack, so that a later `pack sync` doesn't
    /// ask about them again.
    fn record_accepted(&self, pack: &Pack) -> anyhow::Result<()> {
        let mut lines = self.accepted_lines();
        for file in pack.files.keys() {
            lines += &accepted_line(pack, file);
        }
        whole_file::write(&self.accepted_file, lines.as_bytes(), FileAccess::Private)?;
        Ok(())
    }

    /// Writes the lock file, and deletes the local copies that no pack uses anymore.
    pub(super) fn save(&mut self) -> anyhow::Result<()> {
        let contents = pack_lock::save(&self.path, self.contents.as_deref(), &mut self.packs)?;
        self.contents = Some(contents);
        self.copies.remove_unused(&self.packs);
        Ok(())
    }
}

/// Returns the line that records that the user has accepted a file of a pack, in its current
/// version: `2cf24d… acme/review.md`.
pub(super) fn accepted_line(pack: &Pack, file: &str) -> String {
    format!("{} {}/{file}\n", pack.files[file], pack.name)
}

/// Creates the two folders, and locks out other `pack` commands that write until the returned file
/// is dropped.
///
/// # Errors
/// Fails if another process holds the lock, or a folder can't be created.
fn exclude_other_processes(packs_folder: &Path, state_folder: &Path) -> io::Result<File> {
    fs::create_dir_all(packs_folder)?;
    fs::create_dir_all(state_folder)?;
    let file = File::create(packs_folder.join(".lock"))?;
    if file.try_lock().is_err() {
        return Err(io::Error::other(
            "another `prompt-expander pack` is running; try again later",
        ));
    }
    Ok(file)
}
