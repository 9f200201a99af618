//! The source of a folder of prompt files.

use super::cache::{Cache, SETTLING};
use super::file_store::FileStore;
use super::handle::Files;
use super::pack::lock::Pack;
use super::reach::Reach;
use super::root::Root;
use super::rows::Rows;
use super::shown::Worktree;
use super::source::{About, Found, Layer, Listing, Source, Store};
use super::walk::scan;
use super::watched::Watched;
use crate::prompt::{Diagnostic, Format, Name};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many names are kept that were asked for.
const MAX_NAMES: usize = 10_000;

/// A folder of prompt files.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(super) files: Arc<Files>,
    /// Whether the user named it, so that it is a problem if it is missing.
    is_required: bool,
    names: Cache<Option<Found>>,
    scans: Cache<Arc<Listing>>,
}

impl Folder {
    /// A folder of prompt files. `is_required`: the user named it, so that it is a problem if it is
    /// missing.
    pub(crate) fn new(
        path: PathBuf,
        format: &'static Format,
        layer: Layer,
        is_required: bool,
        reach: Reach,
    ) -> Folder {
        let root = Root::new(path, format, reach);
        Folder {
            is_required,
            ..Folder::of(root, layer, None)
        }
    }

    /// A folder of a project, which may be missing.
    pub(super) fn of_project(
        path: PathBuf,
        format: &'static Format,
        layer: Layer,
        reach: Reach,
        worktree: Option<Worktree>,
    ) -> Folder {
        let root = Root {
            worktree,
            ..Root::new(path, format, reach)
        };
        Folder::of(root, layer, None)
    }

    /// A folder of a plugin, whose name is `prefix` with a `/`.
    pub(super) fn of_plugin(
        path: PathBuf,
        format: &'static Format,
        layer: Layer,
        prefix: String,
        reach: Reach,
    ) -> Folder {
        let root = Root {
            prefix,
            ..Root::new(path, format, reach)
        };
        Folder::of(root, layer, None)
    }

    /// A folder of the copies of a pack.
    pub(super) fn of_pack(path: PathBuf, pack: Arc<Pack>) -> Folder {
        // It is in the data folder, and each file must have its hash.
        let mut root = Root::new(path, pack.format(), Reach::Own);
        root.prefix = format!("{}/", pack.name);
        root.pack = Some(pack);
        Folder::of(root, Layer::PACK, None)
    }

    /// A folder whose files are in memory. `path`: the address of the database or the server that
    /// has them.
    #[cfg_attr(not(any(feature = "store", feature = "openapi")), allow(dead_code))]
    pub(super) fn in_memory(path: PathBuf, rows: Arc<Rows>) -> Folder {
        let root = Root::new(path, Format::OWN, Reach::Own);
        Folder::of(root, Layer::USER, Some(rows))
    }

    /// `rows`: what holds the files instead of the disk.
    fn of(root: Root, layer: Layer, rows: Option<Arc<Rows>>) -> Folder {
        let about = About {
            pack: root.pack.clone(),
            ..About::new(layer, root.format, Some(root.path.clone()))
        };
        let mut files = Files::new(root, about);
        files.rows = rows;
        Folder {
            files: Arc::new(files),
            is_required: false,
            names: Cache::new(MAX_NAMES, SETTLING),
            scans: Cache::new(1, SETTLING),
        }
    }
}

impl Source for Folder {
    fn about(&self) -> &About {
        &self.files.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        self.names.get(name.as_str(), |trace| {
            let file = self.files.resolve(name, trace);
            if file.is_none() {
                trace.distrust();
            }
            Some(self.files.found(name.clone(), file?))
        })
    }

    fn list(&self) -> Listing {
        self.scans
            .get("", |trace| {
                Arc::new(scan(&self.files, self.is_required, trace))
            })
            .as_ref()
            .clone()
    }

    fn at(&self, path: &Path) -> Option<Result<Found, Diagnostic>> {
        let root = &self.files.root;
        let around = Root::around(path);
        let is_in_between = around.is_read_only() && !root.path.starts_with(&around.path);
        // A file in a hidden folder, for example, has no name in the folder of a user, and may be
        // named all the same.
        let has_name = self.files.is_of_others() || !matches!(root.name_of(path), Some(Err(_)));
        let is_own = path.starts_with(&root.path) && !is_in_between && has_name;
        is_own.then(|| {
            root.file_at(path)
                .map(|(name, file)| self.files.found(name, file))
        })
    }

    fn health(&self, _: bool) -> Vec<Diagnostic> {
        self.files
            .root
            .missing(self.is_required)
            .into_iter()
            .collect()
    }

    fn watch(&self, watched: &mut Watched) {
        let scan = self.scans.with_trace("".as_ref(), |trace| {
            Arc::new(scan(&self.files, self.is_required, trace))
        });
        watched.add(&self.files.root, &scan.0);
    }

    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        (!self.files.root.is_read_only() && self.files.root.pack.is_none())
            .then(|| Ok(Arc::new(FileStore::new(Arc::clone(&self.files))) as Arc<dyn Store>))
    }
}
