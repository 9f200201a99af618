//! A folder of prompt files as a source of prompts.

use super::cache::{Cache, MIN_STAMP_AGE, ONLY_KEY, Trace};
use super::memory_files::MemoryFiles;
use super::prompt_file::Files;
use super::reach::Reach;
use super::root::{FileName, Root};
use super::scan::scan;
use super::watched::Watched;
use crate::library::source::{About, Found, Layer, Listing, Source, Store};
use crate::library::write::file_store::FileStore;
use crate::prompt::{Diagnostic, Format, Name};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum number of names per folder whose files are cached.
const MAX_NAMES: usize = 10_000;

/// A source that serves the prompt files of a folder, on disk or in memory.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) files: Arc<Files>,
    /// Caches lookups by name.
    names: Cache<Option<Found>>,
    /// Caches the list of all prompts. Its only key is [`ONLY_KEY`].
    scans: Cache<Arc<Listing>>,
}

impl Folder {
    /// Creates the source for a folder on disk.
    pub(crate) fn new(root: Root, layer: Layer) -> Folder {
        let about = About::new(layer, root.format, Some(root.path.clone()));
        Folder::from_files(Files::new(root, about))
    }

    /// Creates the source for the prompts of a pack. `version` is where they were copied from, e.g.
    /// `acme@0123456789ab`.
    pub(crate) fn of_pack(root: Root, version: &str) -> Folder {
        let about = About {
            pack_version: Some(version.into()),
            ..About::new(Layer::PACK, root.format, Some(root.path.clone()))
        };
        Folder::from_files(Files::new(root, about))
    }

    /// Creates the source for files in memory. `path` is the address that they were loaded from.
    #[cfg_attr(not(any(feature = "store", feature = "openapi")), allow(dead_code))]
    pub(crate) fn in_memory(path: PathBuf, memory_files: Arc<MemoryFiles>) -> Folder {
        let root = Root::new(path, Format::OWN, Reach::Unrestricted);
        let about = About::new(Layer::USER, root.format, Some(root.path.clone()));
        let mut files = Files::new(root, about);
        files.memory_files = Some(memory_files);
        Folder::from_files(files)
    }

    fn from_files(files: Files) -> Folder {
        Folder {
            files: Arc::new(files),
            names: Cache::new(MAX_NAMES, MIN_STAMP_AGE),
            scans: Cache::new(1, MIN_STAMP_AGE),
        }
    }

    /// Lists the folder, bypassing the cache.
    fn scan(&self, trace: &mut Trace) -> Arc<Listing> {
        Arc::new(scan(&self.files, trace))
    }
}

impl Source for Folder {
    fn about(&self) -> &About {
        &self.files.about
    }

    /// Returns the prompt with exactly this name, e.g. the one in `git/commit.md` for `git/commit`.
    /// Its file exists, but was not opened.
    fn find(&self, name: &Name) -> Option<Found> {
        self.names.get(name.as_str(), |trace| {
            let Some(file) = self.files.resolve(name, trace) else {
                // Callers could fill the cache with names that don't exist.
                trace.mark_uncacheable();
                return None;
            };
            Some(self.files.handle_for(name.clone(), file))
        })
    }

    /// Lists the prompts in the folder. It is only scanned again after a change.
    fn list(&self) -> Listing {
        let listing = self.scans.get(ONLY_KEY, |trace| self.scan(trace));
        listing.as_ref().clone()
    }

    /// Returns the prompt in a file of this folder. Returns `None` for a file that another source
    /// must handle.
    fn find_by_path(&self, path: &Path) -> Option<Result<Found, Diagnostic>> {
        let root = &self.files.root;
        if !path.starts_with(&root.path) {
            return None;
        }
        // An agent's folder, such as `.claude/commands`, may be inside this one. Leave its files
        // alone.
        let nearest = Root::guess_for(path);
        if nearest.is_read_only() && !root.path.starts_with(&nearest.path) {
            return None;
        }
        // A file with an invalid name, e.g. in a hidden folder, is left to `View::find_by_path`,
        // unless it comes from a project or a pack and must stay untrusted.
        let has_invalid_name = matches!(root.name_of(path), FileName::Untypable(_));
        if has_invalid_name && !self.files.is_untrusted() {
            return None;
        }
        Some(self.files.handle_at(path))
    }

    /// Returns an error if the folder can't be read. Its files are not checked.
    fn problems(&self) -> Vec<Diagnostic> {
        self.files.root.problem().into_iter().collect()
    }

    /// Watches everything that was read to list the folder.
    fn watch(&self, watched: &mut Watched) {
        let key = OsStr::new(ONLY_KEY);
        let listing = self.scans.get_traced(key, |trace| self.scan(trace));
        watched.add_root(&self.files.root, &listing.trace);
    }

    /// Returns the folder as a store. `None` if its files belong to another program or to a pack.
    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        // The files of a pack are copies, which the next update replaces.
        let is_pack = self.files.about.layer == Layer::PACK;
        if self.files.root.is_read_only() || is_pack {
            return None; // the prompts can't be written
        }
        // Never an error: a folder that can't be written to fails at the first write.
        Some(Ok(Arc::new(FileStore::new(Arc::clone(&self.files)))))
    }
}
