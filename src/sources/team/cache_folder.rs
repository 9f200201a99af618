//! The folder with the cached files of one team. Only the user can read it.

use crate::library::{file_error, read_file};
use crate::prompt::{Diagnostic, Revision};
use crate::whole_file::{self, FileAccess};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The cached list of prompts.
pub(super) const LIST_FILE: &str = "list.json";

/// What is known about the server.
pub(super) const STATE_FILE: &str = "state.json";

/// The folder of the cached texts.
const TEXTS_FOLDER: &str = "texts";

/// The maximum size of a cached file that is read, in bytes. A list is longer in the cache than in
/// the server's reply, because it has more keys.
const MAX_CACHED_FILE: usize = 128 * 1024 * 1024;

/// The folder with the cached files of one team. The paths of its files are relative to it.
#[derive(Debug)]
pub(super) struct CacheFolder {
    path: PathBuf,
}

impl CacheFolder {
    /// Returns the folder for the team whose server has this URL. `caches` is the user's folder for
    /// caches, e.g. `~/.cache`.
    pub(super) fn new(caches: &Path, url: &str) -> CacheFolder {
        let hash = Revision::of_contents(url.as_bytes()).to_string();
        let path = caches.join("prompt-expander").join("team").join(hash);
        CacheFolder { path }
    }

    /// Returns the full path of a cached file.
    pub(super) fn path_of(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }

    /// Returns the size of a cached file in bytes, or 0 if it is missing.
    pub(super) fn size_of(&self, file: &str) -> u64 {
        match fs::metadata(self.path_of(file)) {
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        }
    }

    /// Reads a cached file, or returns `None` if it is missing or invalid.
    pub(super) fn read<T: DeserializeOwned>(&self, file: &str) -> Option<T> {
        let json = read_file(&self.path_of(file), MAX_CACHED_FILE).ok()?;
        serde_json::from_slice(&json).ok()
    }

    /// Writes a cached file that only the user can read.
    pub(super) fn write(&self, file: &str, value: &impl Serialize) -> Result<(), Diagnostic> {
        let path = self.path_of(file);
        self.write_json(&path, value)
            .map_err(|error| file_error(&path, &error))
    }

    fn write_json(&self, path: &Path, value: &impl Serialize) -> io::Result<()> {
        fs::create_dir_all(path.parent().unwrap_or(&self.path))?;
        #[cfg(unix)]
        fs::set_permissions(
            &self.path,
            std::os::unix::fs::PermissionsExt::from_mode(0o700),
        )?;
        whole_file::write(path, &serde_json::to_vec(value)?, FileAccess::Private)
    }

    /// Deletes the cached texts of all prompts but these.
    pub(super) fn retain_texts<'n>(&self, names: impl Iterator<Item = &'n String>) {
        let mut retained = BTreeSet::new();
        for name in names {
            retained.insert(self.path_of(&text_file(name)));
        }
        for entry in whole_file::entries_of(&self.path_of(TEXTS_FOLDER)) {
            let file = entry.path();
            if !retained.contains(&file) {
                _ = fs::remove_file(file);
            }
        }
    }

    /// Deletes the folder.
    pub(super) fn delete(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

/// Returns the cached file that contains the text of a prompt.
pub(super) fn text_file(name: &str) -> String {
    let hash = Revision::of_contents(name.as_bytes());
    format!("{TEXTS_FOLDER}/{hash}.json")
}
