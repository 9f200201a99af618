//! The files that this program keeps for itself in the user's folders: keys, tokens, records and
//! caches. `uninstall --all` lists them, and `uninstall --all --purge` deletes them.
//!
//! Prompts are never among them, nor files that the user has named, e.g. with `--log-file`.

use crate::agents::{AGENTS, ConfigFile, System};
use crate::cli::output::full_path;
use crate::cli::settings_edits;
use crate::cli::user_folders;
use anyhow::Context;
use serde_json::Value;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file or folder with a fixed name in one of this program's folders.
struct FixedName {
    /// Returns the folder that contains it, or `None` without a home directory.
    folder: fn() -> Option<PathBuf>,
    name: &'static str,
    /// What it contains, in a few words.
    contents: &'static str,
}

/// Everything that this program writes into its own folders, apart from prompts and `config.toml`,
/// and the token that `token add` says to save there.
const FIXED_NAMES: [FixedName; 11] = [
    FixedName {
        folder: user_folders::config,
        name: "team-token",
        contents: "your token for the team's server",
    },
    FixedName {
        folder: user_folders::config,
        name: "packs.lock",
        contents: "the list of your packs",
    },
    FixedName {
        folder: user_folders::data,
        name: "packs",
        contents: "copies of packs",
    },
    FixedName {
        folder: user_folders::data,
        name: "trusted",
        contents: "copies of the texts that you trusted",
    },
    FixedName {
        folder: user_folders::state,
        name: "accepted-texts",
        contents: "the hashes of the packs' texts that you accepted",
    },
    FixedName {
        folder: user_folders::state,
        name: "store",
        contents: "the hashes of the texts that you pushed to a store or pulled",
    },
    FixedName {
        folder: user_folders::state,
        name: "session-key",
        contents: "the key of the HTTP server",
    },
    FixedName {
        folder: user_folders::state,
        name: "edit-token",
        contents: "the token for writing over HTTP",
    },
    FixedName {
        folder: user_folders::state,
        name: "copied-program",
        contents: "the record of the copy of the program",
    },
    FixedName {
        folder: user_folders::state,
        name: "usage",
        contents: "how often you used each prompt",
    },
    FixedName {
        folder: user_folders::cache,
        name: "team",
        contents: "the cache of the team's prompts",
    },
];

/// A file or folder that this program has written for itself. It may not exist.
struct OwnFile {
    path: PathBuf,
    /// What it contains, in a few words.
    contents: &'static str,
}

/// The files that this program keeps for itself.
pub(super) struct OwnFiles {
    pub(super) fate: Fate,
    /// All possible files and folders. They may not exist.
    candidates: Vec<OwnFile>,
    /// `config.toml`, edited so that it lists no trusted repositories, if it does now.
    settings: Option<ConfigFile>,
    /// The paths of the files that [`delete`](Self::delete) has deleted or, for `config.toml`,
    /// edited.
    deleted: Vec<PathBuf>,
}

/// What `uninstall` does with the files that this program keeps for itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Fate {
    Keep,
    Delete,
}

impl OwnFiles {
    /// Lists what may be in the user's folders, and the backups of agents' configs. `fate` says
    /// what will happen to them.
    ///
    /// # Errors
    /// Fails if `config.toml` can't be read, or isn't valid TOML.
    pub(super) fn find(system: &System, fate: Fate) -> anyhow::Result<OwnFiles> {
        let mut candidates = Vec::new();
        for fixed in FIXED_NAMES {
            if let Some(folder) = (fixed.folder)() {
                candidates.push(OwnFile {
                    path: folder.join(fixed.name),
                    contents: fixed.contents,
                });
            }
        }
        for agent in AGENTS {
            for path in agent.backup_paths(system) {
                candidates.push(OwnFile {
                    path,
                    contents: "a config as it was before `install`",
                });
            }
        }
        Ok(OwnFiles {
            fate,
            candidates,
            settings: settings_edits::plan_removal_of_trusted()?,
            deleted: Vec::new(),
        })
    }

    /// Returns whether there are files, and their fate is to be deleted.
    pub(super) fn has_deletion(&self) -> bool {
        self.fate == Fate::Delete && !self.is_empty()
    }

    /// Returns whether none of the files exist, and `config.toml` lists no trusted repositories.
    pub(super) fn is_empty(&self) -> bool {
        self.settings.is_none() && self.existing().next().is_none()
    }

    /// Returns the candidates that exist now, including symlinks whose targets are missing.
    fn existing(&self) -> impl Iterator<Item = &OwnFile> {
        self.candidates
            .iter()
            .filter(|file| file.path.symlink_metadata().is_ok())
    }

    /// Returns a line for each file, e.g. `/home/ann/.config/prompt-expander/packs.lock (the list
    /// of your packs)`.
    pub(super) fn describe(&self) -> String {
        let mut lines = Vec::new();
        for file in self.existing() {
            lines.push(format!("{} ({})", full_path(&file.path), file.contents));
        }
        if let Some(settings) = &self.settings {
            let path = full_path(&settings.path);
            lines.push(format!("{path} (its list of trusted repositories)"));
        }
        lines.join("\n")
    }

    /// Returns the paths of the files that exist now, and of `config.toml` if it lists trusted
    /// repositories.
    fn existing_paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self.existing().map(|file| file.path.clone()).collect();
        if let Some(settings) = &self.settings {
            paths.push(settings.path.clone());
        }
        paths
    }

    /// Returns the paths of the files as a JSON list: of those that are deleted by now, and of
    /// those that still exist.
    pub(super) fn to_json(&self) -> Value {
        let mut paths = self.deleted.clone();
        paths.extend(self.existing_paths());
        let paths: Vec<String> = paths
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        paths.into()
    }

    /// Deletes all files, removes the list of trusted repositories from `config.toml`, and deletes
    /// this program's folders that are then empty.
    ///
    /// # Errors
    /// Fails if a file can't be deleted, or if `config.toml` can't be written.
    pub(super) fn delete(&mut self) -> anyhow::Result<()> {
        let paths = self.existing_paths();
        for file in self.existing() {
            delete_all(&file.path)
                .with_context(|| format!("{} cannot be deleted", full_path(&file.path)))?;
        }
        // Plan this again: what was removed from the menus has changed the file.
        if self.settings.take().is_some()
            && let Some(settings) = settings_edits::plan_removal_of_trusted()?
        {
            settings.write()?;
        }
        let folders = [
            user_folders::config(),
            user_folders::data(),
            user_folders::state(),
            user_folders::cache(),
        ];
        for folder in folders.into_iter().flatten() {
            // If the user has other files there, e.g. prompts, this fails, and the folder stays.
            _ = fs::remove_dir(folder);
        }
        self.deleted = paths;
        Ok(())
    }
}

/// Deletes a file, or a folder with everything in it. Of a symlink, deletes only the link.
fn delete_all(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}
