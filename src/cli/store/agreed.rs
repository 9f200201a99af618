//! Remembers which texts a folder and a store agreed on after the last push or pull. If a side
//! differs from that, it has been changed since, possibly by somebody else.

use crate::cli::user_folders;
use crate::library::read_regular;
use crate::prompt::Revision;
use crate::sources::Address;
use crate::whole_file::{self, FileAccess};
use anyhow::Context;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The maximum size of a record, which is enough for 200,000 paths.
const MAX_RECORD_BYTES: usize = 256 * 1024 * 1024;

/// The record of what a folder and a store last agreed on: the hash of each path's text, or `None`
/// if neither side had a file at the path.
///
/// Each pair of a folder and a store has a record in the state folder. If it is missing, every
/// difference is a conflict, unless git knows the target's text.
#[derive(Debug, Default)]
pub(super) struct AgreedTexts(BTreeMap<String, Option<Revision>>);

impl AgreedTexts {
    /// Loads the record of a folder and a store. Returns an empty one if it can't be read.
    pub(super) fn load(folder: &Path, store: &Address) -> AgreedTexts {
        let Some(file) = record_path(folder, store) else {
            return AgreedTexts::default();
        };
        let Ok(bytes) = read_regular(&file, MAX_RECORD_BYTES) else {
            return AgreedTexts::default();
        };
        AgreedTexts(serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Returns whether the sides ever agreed on a path, even if its file was deleted since.
    pub(super) fn contains_path(&self, path: &str) -> bool {
        self.0.contains_key(path)
    }

    /// Returns whether the sides last agreed on this text at a path. `None` stands for no file.
    pub(super) fn contains(&self, path: &str, text: Option<&str>) -> bool {
        self.0.get(path) == Some(&revision(text))
    }

    /// Records that both sides have this text at a path. `None` stands for no file.
    pub(super) fn set(&mut self, path: &str, text: Option<&str>) {
        self.0.insert(path.to_owned(), revision(text));
    }

    /// Saves the record, readable by the user only.
    ///
    /// # Errors
    /// Fails if there is no state folder, or the file can't be written.
    pub(super) fn save(&self, folder: &Path, store: &Address) -> anyhow::Result<()> {
        if self.0.is_empty() {
            return Ok(()); // after a pull from an empty store, the folder may not exist
        }
        let file = record_path(folder, store).context("there is no state folder; set HOME")?;
        let texts = serde_json::to_vec(&self.0)?;
        whole_file::write(&file, &texts, FileAccess::Private)?;
        Ok(())
    }
}

fn revision(text: Option<&str>) -> Option<Revision> {
    text.map(|text| Revision::of_contents(text.as_bytes()))
}

/// Returns the path of the record. The file name is a hash, so that it doesn't reveal the address.
fn record_path(folder: &Path, store: &Address) -> Option<PathBuf> {
    let state = user_folders::state()?;
    let folder = folder.canonicalize().ok()?;
    let both = format!("{}\n{}", store.without_login(), folder.display());
    let name = format!("{}.json", Revision::of_contents(both.as_bytes()));
    Some(state.join("store").join(name))
}
