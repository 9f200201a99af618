//! The `packs.lock` of the user or of a project, while a command uses it.

use crate::cli::output::{Reporter, shown};
use crate::cli::source_options::{PromptSource, folder_of_packs};
use crate::cli::user_folders;
use crate::sources::pack::Copies;
use crate::sources::pack::git::{self, FetchedFiles};
use crate::sources::pack::pack_lock::{self, LOCK, Pack, PackLock};
use crate::whole_file::{self, FileAccess, PendingFile};
use crate::wording::in_backticks;
use anyhow::Context;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// What a command does with the lock and the copies.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LockAccess {
    Read,
    /// No other process may write at the same time.
    Write,
}

/// A lock, with its packs and their copies.
pub(super) struct LockFile<'r> {
    pub(super) reporter: &'r Reporter,
    pub(super) path: PathBuf,
    pub(super) packs: Vec<Pack>,
    pub(super) copies: Copies,
    /// The text of the file as it was last read or written; `None` if there is no file.
    text: Option<String>,
    /// The file of the texts that this user has accepted. A line has a hash and the name of a pack
    /// with the path of the file.
    accepted_file: PathBuf,
    /// Keeps other processes from writing until it is dropped.
    _process_lock: Option<File>,
}

impl<'r> LockFile<'r> {
    /// Reads the lock of the user or, with --project, that of the project.
    ///
    /// # Errors
    /// The lock is broken, there is no folder for the copies, or another process writes to it.
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
            source.folder_of_new(&source.library())?.join(LOCK)
        } else {
            user_lock
        };
        let no_home = "there is no folder for packs; set HOME";
        let data = folder_of_packs().context(no_home)?;
        let state = user_folders::state().context(no_home)?;
        let process_lock = match access {
            LockAccess::Read => None,
            LockAccess::Write => Some(exclude_other_processes(&data, &state)?),
        };
        let PackLock { packs, text } = PackLock::read(&path)?;
        let copies = Copies::of_lock(&data, &path);
        if access == LockAccess::Write {
            copies.remove_leftovers();
        }
        Ok(LockFile {
            reporter,
            path,
            packs,
            copies,
            text,
            accepted_file: state.join("accepted-texts"),
            _process_lock: process_lock,
        })
    }

    /// Returns the pack with this name.
    ///
    /// # Errors
    /// The lock has no such pack.
    pub(super) fn named(&self, name: &str) -> anyhow::Result<Pack> {
        let pack = self.packs.iter().find(|pack| pack.name == name);
        pack.cloned().with_context(|| {
            format!(
                "there is no pack {} in {}",
                in_backticks(name),
                shown(&self.path)
            )
        })
    }

    /// Fetches the texts of a pack at a commit, a branch or a tag, and sets the pack's commit and
    /// hashes to what is there.
    pub(super) fn fetch(&self, pack: &mut Pack, version: &str) -> anyhow::Result<FetchedFiles> {
        let folder = self.copies.create_temporary_folder()?;
        Ok(git::fetch_pack(folder.path(), pack, version)?)
    }

    /// Returns the file of the accepted texts, or an empty text if there is none.
    pub(super) fn accepted_texts(&self) -> String {
        whole_file::read_text(&self.accepted_file).unwrap_or_default()
    }

    /// Serves a pack with its new copies from now on, in the place of a pack of the same name, and
    /// remembers that the user has accepted its texts.
    pub(super) fn put(&mut self, pack: &Pack, new_copies: TempDir) -> anyhow::Result<()> {
        self.copies.install(pack, new_copies)?;
        let mut accepted = self.accepted_texts();
        for file in pack.files.keys() {
            accepted += &accepted_line(pack, file);
        }
        PendingFile::write(
            &self.accepted_file,
            accepted.as_bytes(),
            FileAccess::Private,
        )?
        .replace()?;
        if self.packs.contains(pack) {
            self.copies.remove_unused(&self.packs);
            return Ok(());
        }
        self.packs.retain(|other| other.name != pack.name);
        self.packs.push(pack.clone());
        self.save()
    }

    /// Writes the lock, and deletes the copies that no pack needs any more.
    pub(super) fn save(&mut self) -> anyhow::Result<()> {
        let text = pack_lock::save(&self.path, self.text.as_deref(), &mut self.packs)?;
        self.text = Some(text);
        self.copies.remove_unused(&self.packs);
        Ok(())
    }
}

/// Returns the line that says that the user has accepted the text of a file.
pub(super) fn accepted_line(pack: &Pack, file: &str) -> String {
    format!("{} {}/{file}\n", pack.files[file], pack.name)
}

/// Creates the folders that a command writes to, and keeps other processes from writing there until
/// the returned file is closed.
///
/// # Errors
/// Another process writes at this moment, or the folders cannot be created.
fn exclude_other_processes(data: &Path, state: &Path) -> io::Result<File> {
    fs::create_dir_all(data)?;
    fs::create_dir_all(state)?;
    let file = File::create(data.join(".lock"))?;
    if file.try_lock().is_err() {
        return Err(io::Error::other(
            "another `prompt-expander pack` is running; try again later",
        ));
    }
    Ok(file)
}
