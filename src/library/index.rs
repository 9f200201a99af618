//! Which prompts a library has at one moment, by name, and the way from each name to its file. Nothing is read until it
//! is asked for.

use super::builtin::{self, Shipped};
use super::dir::Dir;
use super::{Problem, PromptFile};
use crate::prompt::Prompt;
use std::collections::BTreeMap;
use std::path::PathBuf;

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
pub struct Entry<'l> {
    /// The prompt's name.
    pub name: String,
    place: Place<'l>,
}

#[derive(Debug)]
enum Place<'l> {
    File(&'l Dir, PathBuf),
    Builtin(&'static Shipped),
}

/// Where a prompt comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file of the user's.
    File(PathBuf),
    /// The program itself.
    Builtin,
}

impl<'l> Index<'l> {
    pub(super) fn of(dirs: &'l [Dir], with_builtin: bool) -> Index<'l> {
        let mut places = BTreeMap::new();
        let mut index = Index::default();
        for dir in dirs {
            let scan = dir.scan();
            index.unseen.extend(scan.unseen);
            index.problems.extend(scan.problems);
            for (name, path) in scan.files {
                // A name that is there already, even one of a broken file, hides this one.
                places.entry(name).or_insert(Place::File(dir, path));
            }
        }
        for shipped in builtin::all().iter().filter(|_| with_builtin) {
            places.entry(shipped.name.to_owned()).or_insert(Place::Builtin(shipped));
        }
        index.entries = places.into_iter().map(|(name, place)| Entry { name, place }).collect();
        index
    }
}

impl Entry<'_> {
    /// Whether it is a built-in prompt.
    pub fn is_builtin(&self) -> bool {
        matches!(self.place, Place::Builtin(_))
    }

    /// Where it is.
    pub fn source(&self) -> Source {
        match &self.place {
            Place::File(_, path) => Source::File(path.clone()),
            Place::Builtin(_) => Source::Builtin,
        }
    }

    /// Reads it.
    ///
    /// # Errors
    /// The file cannot be a prompt, or cannot be read.
    pub fn read(&self) -> Result<Prompt, Problem> {
        match &self.place {
            Place::File(dir, path) => dir.read(&self.name, path),
            Place::Builtin(shipped) => shipped.read(),
        }
    }

    /// Reads the text of the file, whether it is a prompt or not.
    ///
    /// # Errors
    /// The file cannot be read, or is no text.
    pub fn file(&self) -> Result<PromptFile, Problem> {
        match &self.place {
            Place::File(dir, path) => dir.file(path),
            Place::Builtin(shipped) => Ok(shipped.file()),
        }
    }
}
