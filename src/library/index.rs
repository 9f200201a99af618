//! Which prompts a library has at one moment, by name, and the way from each name to its file. Nothing is read until it
//! is asked for.

use super::builtin::{self, Shipped};
use super::dir::Dir;
use super::scan::Found;
use super::{Listed, Problem};
use std::path::PathBuf;
use std::sync::Arc;

/// Every name of a library, and what should have one but has not.
#[derive(Debug, Default)]
pub struct Index<'l> {
    /// Sorted by name, in byte order. Of several layers that have a name, the first.
    pub entries: Vec<Entry<'l>>,
    /// What kept names from being seen: directories that are missing, folders that cannot be read.
    pub unseen: Vec<Problem>,
    /// Files that should be prompts and cannot have a name.
    pub problems: Vec<Problem>,
}

/// A name, and where its prompt is.
#[derive(Debug)]
pub struct Entry<'l>(Place<'l>);

#[derive(Debug)]
enum Place<'l> {
    File(&'l Dir, Arc<Found>),
    Builtin(&'static Shipped),
}

/// Who has put a prompt there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layer {
    /// Whoever has written the project that the user works on.
    Project,
    /// The user, in a directory of his own, or one that he named.
    User,
    /// The program itself.
    Builtin,
}

/// Where a prompt comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// The program itself.
    Builtin,
}

impl<'l> Index<'l> {
    pub(super) fn of(dirs: impl Iterator<Item = &'l Dir>, refused: Option<Problem>, with_builtin: bool) -> Index<'l> {
        let mut index = Index { unseen: refused.into_iter().collect(), ..Index::default() };
        let mut layers = 0;
        for dir in dirs {
            let scan = dir.scan();
            index.unseen.extend_from_slice(&scan.unseen);
            index.problems.extend_from_slice(&scan.problems);
            index.entries.extend(scan.files.values().map(|found| Entry(Place::File(dir, Arc::clone(found)))));
            layers += 1;
        }
        if with_builtin {
            index.entries.extend(builtin::all().iter().map(|shipped| Entry(Place::Builtin(shipped))));
            layers += 1;
        }
        // One layer is sorted. Of each name the first, even one of a broken file, hides the others; the order of the layers
        // is kept.
        if layers > 1 {
            index.entries.sort_by(|a, b| a.name().cmp(b.name()));
            index.entries.dedup_by(|later, first| later.name() == first.name());
        }
        index
    }
}

impl Entry<'_> {
    /// The prompt's name.
    pub fn name(&self) -> &str {
        match &self.0 {
            Place::File(_, found) => &found.name,
            Place::Builtin(shipped) => shipped.name,
        }
    }

    /// Who has put it there.
    pub fn layer(&self) -> Layer {
        match &self.0 {
            Place::File(dir, _) => dir.layer,
            Place::Builtin(_) => Layer::Builtin,
        }
    }

    /// Where it is.
    pub fn source(&self) -> Source {
        match &self.0 {
            Place::File(_, found) => Source::File(found.path.to_path_buf()),
            Place::Builtin(_) => Source::Builtin,
        }
    }

    /// What lists show of it. The file is read, unless it is sure to be as it was the last time.
    ///
    /// # Errors
    /// The file cannot be a prompt, or cannot be read.
    pub fn listed(&self) -> Result<Arc<Listed>, Problem> {
        match &self.0 {
            Place::File(dir, found) => dir.listed(found),
            Place::Builtin(shipped) => shipped.listed(),
        }
    }

    /// What `make` makes of the text.
    pub(super) fn text<T>(&self, make: impl FnOnce(&str) -> T) -> Result<T, Problem> {
        match &self.0 {
            Place::File(dir, found) => Ok(make(&dir.text(&found.path)?.0.text)),
            Place::Builtin(shipped) => Ok(make(shipped.text)),
        }
    }
}
