//! The source of a folder of prompt files.

use super::cache::{Cache, MIN_STAMP_AGE, Trace};
use super::memory_files::MemoryFiles;
use super::prompt_file::Files;
use super::reach::Reach;
use super::root::Root;
use super::scan::scan;
use super::watched::Watched;
use crate::library::source::{About, Found, Layer, Listing, Source, Store};
use crate::library::write::file_store::FileStore;
use crate::prompt::{Diagnostic, Format, Name};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// For how many names a folder keeps which file they belong to.
const MAX_NAMES: usize = 10_000;

/// A folder of prompt files.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) files: Arc<Files>,
    /// The prompts that were found by their names.
    names: Cache<Option<Found>>,
    /// The list of all prompts.
    scans: Cache<Arc<Listing>>,
}

impl Folder {
    /// Returns the source of a folder on the disk.
    pub(crate) fn new(root: Root, layer: Layer) -> Folder {
        let about = About::new(layer, root.format, Some(root.path.clone()));
        Folder::of(Files::new(root, about))
    }

    /// Returns the source of a pack's prompts. `version` is the one that they were copied from,
    /// such as `acme@0123456789ab`.
    pub(crate) fn of_pack(root: Root, version: &str) -> Folder {
        let about = About {
            pack_version: Some(version.into()),
            ..About::new(Layer::PACK, root.format, Some(root.path.clone()))
        };
        Folder::of(Files::new(root, about))
    }

    /// Returns the source of files that are in memory, in `rows`. `path` is the address of the
    /// database or the server that they were read from.
    #[cfg_attr(not(any(feature = "store", feature = "openapi")), allow(dead_code))]
    pub(crate) fn in_memory(path: PathBuf, rows: Arc<MemoryFiles>) -> Folder {
        let root = Root::new(path, Format::OWN, Reach::Unrestricted);
        let about = About::new(Layer::USER, root.format, Some(root.path.clone()));
        let mut files = Files::new(root, about);
        files.rows = Some(rows);
        Folder::of(files)
    }

    fn of(files: Files) -> Folder {
        Folder {
            files: Arc::new(files),
            names: Cache::new(MAX_NAMES, MIN_STAMP_AGE),
            scans: Cache::new(1, MIN_STAMP_AGE),
        }
    }

    fn scan(&self, trace: &mut Trace) -> Arc<Listing> {
        Arc::new(scan(&self.files, trace))
    }
}

impl Source for Folder {
    fn about(&self) -> &About {
        &self.files.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        self.names.get(name.as_str(), |trace| {
            let Some(file) = self.files.resolve(name, trace) else {
                trace.mark_uncacheable(); // anybody can ask for any number of names that do not exist
                return None;
            };
            Some(self.files.found(name.clone(), file))
        })
    }

    fn list(&self) -> Listing {
        let listing = self.scans.get("", |trace| self.scan(trace));
        listing.as_ref().clone()
    }

    fn find_by_path(&self, path: &Path) -> Option<Result<Found, Diagnostic>> {
        let root = &self.files.root;
        if !path.starts_with(&root.path) {
            return None;
        }
        // The folder of another program, such as `.claude/commands`, may be below this one.
        let nearest = Root::around(path);
        if nearest.is_read_only() && !root.path.starts_with(&nearest.path) {
            return None;
        }
        // Except in a project or a pack, a file whose path gives no valid name, such as one in a
        // hidden folder, is read without this source.
        let has_invalid_name = matches!(root.name_of(path), Some(Err(_)));
        if has_invalid_name && !self.files.is_untrusted() {
            return None;
        }
        Some(self.files.found_at(path))
    }

    fn problems(&self) -> Vec<Diagnostic> {
        self.files.root.problem().into_iter().collect()
    }

    fn watch(&self, watched: &mut Watched) {
        let key = OsStr::new("");
        let listing = self.scans.get_traced(key, |trace| self.scan(trace));
        watched.add(&self.files.root, &listing.trace);
    }

    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        if self.files.root.is_read_only() || self.files.about.layer == Layer::PACK {
            return None;
        }
        Some(Ok(Arc::new(FileStore::new(Arc::clone(&self.files)))))
    }
}
