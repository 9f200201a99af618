//! Reads what is in an agent's folder of menu entries. Follows no symlinks.

use super::left_alone::{Kept, Refused, WhyLeft};
use crate::agents::{Menu, MenuLayout, MenuLocation};
use crate::prompt::{Diagnostic, Kind, MenuMark, fold_name};
use crate::whole_file::{self, is_same_file, is_temporary};
use std::collections::{BTreeSet, HashMap};
use std::fs::{self, FileType, Metadata};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// The entries in an agent's menu folder.
#[derive(Debug)]
pub(super) struct ExistingEntries<'m> {
    location: &'m MenuLocation,
    /// Identifies the library whose entries are ours.
    library: &'m str,
    /// The names of all entries, also of those that are not ours.
    pub(super) names: BTreeSet<String>,
    /// The names that are the same when [folded](fold_name).
    spellings: HashMap<String, Vec<String>>,
}

/// What is in the place of an entry.
#[derive(Debug)]
pub(super) enum Existing {
    /// Nothing.
    Nothing,
    /// Only further files as this program writes them, and temporary ones: what an interrupted
    /// write or removal has left.
    Remains,
    /// An entry that this program wrote and nobody has changed since.
    Ours(OurEntry),
    /// Something that must not be changed.
    Obstacle(WhyLeft),
}

/// An entry that this program may replace or remove.
#[derive(Debug)]
pub(super) struct OurEntry {
    /// The text of its Markdown file.
    pub(super) text: String,
    pub(super) mark: MenuMark,
    /// Whether all further files are there.
    pub(super) is_complete: bool,
}

impl<'m> ExistingEntries<'m> {
    /// Reads the names of the entries in a menu's folder. There are none if the folder does not
    /// exist.
    ///
    /// # Errors
    /// Fails if the folder is a symlink or no folder, or can't be read.
    pub(super) fn read(
        location: &'m MenuLocation,
        library: &'m str,
    ) -> Result<ExistingEntries<'m>, Diagnostic> {
        let names = match entry_names(location.menu, &location.folder) {
            Ok(names) => names,
            Err(FolderError::Symlink) => {
                // Other agents may read the folder behind it.
                let message = "the menu's folder is a symlink, and entries are written only into real folders";
                let fix =
                    "replace it by a folder, or leave this agent out of `menus` in config.toml";
                return Err(folder_diagnostic(location, message, fix));
            }
            Err(FolderError::Unreadable(error)) => {
                let message = format!("the menu's folder cannot be read: {error}");
                let fix = "make it a folder that you can read";
                return Err(folder_diagnostic(location, &message, fix));
            }
        };
        let mut spellings: HashMap<String, Vec<String>> = HashMap::new();
        for name in &names {
            let spellings = spellings.entry(fold_name(name)).or_default();
            spellings.push(name.clone());
        }
        Ok(ExistingEntries {
            location,
            library,
            names,
            spellings,
        })
    }

    /// Returns what is in the place of the entry with exactly this name, even if the file system
    /// ignores letter case.
    pub(super) fn entry(&self, name: &str) -> Existing {
        if !self.names.contains(name) {
            return Existing::Nothing;
        }
        if self.location.menu.layout == MenuLayout::Skill
            && let Some(existing) = self.read_entry_folder(name)
        {
            return existing;
        }
        self.read_markdown(&self.location.entry_path(name))
    }

    /// Returns what is in the way if its name differs from `name` only in letter case or Unicode
    /// form, and it is not an entry that will be removed.
    pub(super) fn obstacle_with_other_spelling(&self, name: &str) -> Option<WhyLeft> {
        let spellings = self.spellings.get(&fold_name(name))?;
        for other in spellings.iter().filter(|other| *other != name) {
            if let Existing::Obstacle(why) = self.entry(other) {
                return Some(why);
            }
        }
        None
    }

    /// Returns what is in the folder of a skill, unless it has a Markdown file.
    fn read_entry_folder(&self, name: &str) -> Option<Existing> {
        let entry_folder = self.location.folder.join(name);
        let kind = link_kind(&entry_folder)?;
        if kind.is_symlink() {
            return Some(refused(Refused::Linked(entry_folder)));
        }
        if !kind.is_dir() {
            return Some(refused(Refused::UsersFile(entry_folder)));
        }
        if link_kind(&self.location.entry_path(name)).is_some() {
            return None;
        }
        Some(read_remains(self.location.menu, &entry_folder))
    }

    /// Returns what the Markdown file of an entry is.
    fn read_markdown(&self, path: &Path) -> Existing {
        let metadata = match link_metadata(path) {
            Ok(Some(metadata)) => metadata,
            Ok(None) => return Existing::Nothing,
            Err(error) => return unreadable(path, &error),
        };
        if metadata.is_symlink() {
            return refused(Refused::Linked(path.to_owned()));
        }
        if !metadata.is_file() || metadata.len() > MenuMark::MAX_FILE_BYTES {
            return refused(Refused::UsersFile(path.to_owned()));
        }
        let text = match whole_file::read_text(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Existing::Nothing,
            // It is not UTF-8.
            Err(error) if error.kind() == ErrorKind::InvalidData => {
                return refused(Refused::UsersFile(path.to_owned()));
            }
            Err(error) => return unreadable(path, &error),
        };
        let Some(mark) = MenuMark::parse(&text) else {
            return refused(Refused::UsersFile(path.to_owned()));
        };
        let further_files = further_files(self.location.menu, path);
        let kept = if mark.library != self.library {
            Kept::OtherLibrary(mark.library)
        } else if is_newer(&mark.version) {
            Kept::NewerVersion
        } else if !mark.matches(&text) || further_files == FurtherFiles::Changed {
            Kept::Changed
        } else if metadata.permissions().readonly() {
            Kept::ReadOnly
        } else {
            return Existing::Ours(OurEntry {
                text,
                mark,
                is_complete: further_files == FurtherFiles::Complete,
            });
        };
        Existing::Obstacle(WhyLeft::Kept(kept))
    }
}

fn refused(refused: Refused) -> Existing {
    Existing::Obstacle(WhyLeft::Refused(refused))
}

fn unreadable(path: &Path, error: &io::Error) -> Existing {
    refused(Refused::Unreadable(path.to_owned(), error.to_string()))
}

/// Why the folder of a menu can't be used.
enum FolderError {
    Symlink,
    Unreadable(io::Error),
}

impl From<io::Error> for FolderError {
    fn from(error: io::Error) -> FolderError {
        FolderError::Unreadable(error)
    }
}

/// Returns the names of all entries in a folder. There are none if the folder doesn't exist.
fn entry_names(menu: &Menu, folder: &Path) -> Result<BTreeSet<String>, FolderError> {
    let mut names = BTreeSet::new();
    let Some(metadata) = link_metadata(folder)? else {
        return Ok(names);
    };
    if metadata.is_symlink() {
        return Err(FolderError::Symlink);
    }
    for file in fs::read_dir(folder)? {
        let file_name = file?.file_name();
        let Some(name) = file_name.to_str() else {
            continue;
        };
        let name = match menu.layout {
            MenuLayout::Skill => Some(name),
            MenuLayout::File => name.strip_suffix(".md"),
        };
        names.extend(name.map(str::to_owned));
    }
    Ok(names)
}

fn folder_diagnostic(location: &MenuLocation, message: &str, fix: &str) -> Diagnostic {
    Diagnostic::new(Kind::NotWritable, message, fix).in_file(location.folder.as_path())
}

/// Returns the [folded](fold_name) names that the agent reads from other folders of the user's, and
/// the file or folder of each. A file's name has no `.md`. Symlinks to the entries in the menu's own
/// folder don't count.
pub(super) fn users_names(location: &MenuLocation) -> HashMap<String, PathBuf> {
    let mut names = HashMap::new();
    for folder in &location.other_folders {
        for file in whole_file::entries_of(folder) {
            let path = file.path();
            if is_same_file(&path, &location.folder.join(file.file_name())) {
                continue;
            }
            let file_name = file.file_name().to_string_lossy().into_owned();
            let name = match file_name.strip_suffix(".md") {
                Some(stem) if !path.is_dir() => stem,
                _ => &file_name,
            };
            names.insert(fold_name(name), path);
        }
    }
    names
}

/// The state of the files that an entry has besides its Markdown file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FurtherFiles {
    Complete,
    /// Some are missing, because a write was interrupted. The others are as they were written.
    Incomplete,
    /// One was changed, or is a symlink.
    Changed,
}

/// Returns the state of the further files of the entry whose Markdown file is at `path`.
fn further_files(menu: &Menu, path: &Path) -> FurtherFiles {
    let entry_folder = path.parent().unwrap_or(path);
    let mut state = FurtherFiles::Complete;
    for (relative_path, text) in menu.further_files {
        let path = entry_folder.join(relative_path);
        let parent = path.parent().unwrap_or(entry_folder);
        match link_kind(parent) {
            None => state = FurtherFiles::Incomplete,
            Some(kind) if !kind.is_dir() => return FurtherFiles::Changed,
            Some(_) => match link_kind(&path) {
                None => state = FurtherFiles::Incomplete,
                Some(kind) if kind.is_file() && has_text(&path, text) => {}
                Some(_) => return FurtherFiles::Changed,
            },
        }
    }
    state
}

/// Returns what is in the folder of an entry that has no Markdown file.
fn read_remains(menu: &Menu, entry_folder: &Path) -> Existing {
    let mut existing = Existing::Nothing;
    for file in WalkDir::new(entry_folder).min_depth(1) {
        match file {
            Ok(file) if is_own_folder(menu, entry_folder, &file) => {}
            Ok(file) if is_own_file(menu, entry_folder, &file) => existing = Existing::Remains,
            Ok(_) | Err(_) => return refused(Refused::UsersFile(entry_folder.to_owned())),
        }
    }
    existing
}

/// Returns whether a further file of an entry belongs into this folder.
fn is_own_folder(menu: &Menu, entry_folder: &Path, folder: &DirEntry) -> bool {
    let mut further_files = menu.further_files.iter();
    folder.file_type().is_dir()
        && further_files.any(|(path, _)| entry_folder.join(path).starts_with(folder.path()))
}

/// Returns whether this is a temporary file, or a further file exactly as this program writes it.
fn is_own_file(menu: &Menu, entry_folder: &Path, file: &DirEntry) -> bool {
    if !file.file_type().is_file() {
        return false;
    }
    let mut further_files = menu.further_files.iter();
    is_temporary(file.file_name())
        || further_files.any(|(path, text)| {
            file.path() == entry_folder.join(path) && has_text(file.path(), text)
        })
}

/// Returns whether a file has exactly this text.
pub(super) fn has_text(path: &Path, text: &str) -> bool {
    whole_file::read_text(path).is_ok_and(|current| current == text)
}

/// Returns whether a version of this program is newer than this one. One that can't be compared
/// counts as newer.
fn is_newer(version: &str) -> bool {
    match (
        version_numbers(version),
        version_numbers(env!("CARGO_PKG_VERSION")),
    ) {
        (Some(other), Some(own)) => other > own,
        _ => true,
    }
}

/// Returns the numbers of a version such as `0.2.0` or `0.3.0-rc.1`.
fn version_numbers(version: &str) -> Option<Vec<u64>> {
    let release = version.split(['-', '+']).next()?;
    release
        .split('.')
        .map(|number| number.parse().ok())
        .collect()
}

/// Returns the metadata of a file, or of the symlink to it. Returns `None` if nothing is there.
fn link_metadata(path: &Path) -> io::Result<Option<Metadata>> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns what kind of file is there, or `None` if nothing is, or if that can't be found out.
pub(super) fn link_kind(path: &Path) -> Option<FileType> {
    let metadata = fs::symlink_metadata(path).ok()?;
    Some(metadata.file_type())
}
