//! The texts that a folder and a store last had in common. A text that differs from them was
//! written later, maybe by somebody else.

use crate::cli::user_folders;
use crate::library::read_regular;
use crate::prompt::Revision;
use crate::sources::Address;
use crate::whole_file::{FileAccess, PendingFile};
use anyhow::Context;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The longest file that is read: more than those of 200,000 paths take.
const MAX_LENGTH: usize = 256 * 1024 * 1024;

/// The texts that were last the same in a folder and in a store, by path. `None`: both had no file.
///
/// A file in the state folder keeps them for each folder and store. Without it, every difference is
/// a conflict, unless git knows the target's text.
#[derive(Debug, Default)]
pub(super) struct AgreedTexts(BTreeMap<String, Option<Revision>>);

impl AgreedTexts {
    /// Reads the texts of a folder and a store. There are none if their file cannot be read.
    pub(super) fn load(folder: &Path, store: &Address) -> AgreedTexts {
        let Some(file) = file_of(folder, store) else {
            return AgreedTexts::default();
        };
        let Ok(bytes) = read_regular(&file, MAX_LENGTH) else {
            return AgreedTexts::default();
        };
        AgreedTexts(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Returns whether a path was ever the same on both sides, even if its file is missing now.
    pub(super) fn knows(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Returns whether both sides last had this text at a path, or no file if it is `None`.
    pub(super) fn has(&self, path: &str, text: Option<&str>) -> bool {
        self.0.get(path) == Some(&revision(text))
    }

    /// Records what both sides have at a path: a text, or no file.
    pub(super) fn set(&mut self, path: &str, text: Option<&str>) {
        self.0.insert(path.to_owned(), revision(text));
    }

    /// Writes the file, which only the user can read.
    ///
    /// # Errors
    /// It cannot be written, or there is no folder for it.
    pub(super) fn save(&self, folder: &Path, store: &Address) -> anyhow::Result<()> {
        if self.0.is_empty() {
            return Ok(()); // the folder need not exist
        }
        let file = file_of(folder, store).context("there is no state folder; set HOME")?;
        let texts = serde_json::to_vec(&self.0)?;
        PendingFile::write(&file, &texts, FileAccess::Private)?.replace()?;
        Ok(())
    }
}

fn revision(text: Option<&str>) -> Option<Revision> {
    text.map(|text| Revision::of_contents(text.as_bytes()))
}

/// Returns the file for a folder and a store. Its name is a hash, so that it hides the address.
fn file_of(folder: &Path, store: &Address) -> Option<PathBuf> {
    let state = user_folders::state()?;
    let folder = folder.canonicalize().ok()?;
    let both = format!("{}\n{}", store.without_login(), folder.display());
    let name = format!("{}.json", Revision::of_contents(both.as_bytes()));
    Some(state.join("store").join(name))
}
