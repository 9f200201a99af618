//! Reads what is in an agent's folder of menu entries. Follows no symlinks.

use super::left_alone::WhyLeft;
use crate::agents::{Menu, MenuLayout};
use crate::prompt::{Diagnostic, Kind, MenuMark, fold_name};
use crate::whole_file;
use std::collections::{HashMap, HashSet};
use std::fs::{self, FileType, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What is in the place of an entry.
#[derive(Debug)]
pub(super) enum Existing {
    /// Nothing, or what an interrupted write has left.
    Nothing,
    /// An entry that this program wrote and nobody has changed since.
    Ours(OurEntry),
    /// Something that must not be changed.
    Kept(WhyLeft),
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

/// The names in a folder, grouped by what is equal if letter case and accents are
/// [folded](fold_name).
#[derive(Debug, Default)]
pub(super) struct FoldedNames(HashMap<String, Vec<String>>);

impl FoldedNames {
    fn new(names: &[String]) -> FoldedNames {
        let mut groups: HashMap<String, Vec<String>> = HashMap::new();
        for name in names {
            groups
                .entry(fold_name(name))
                .or_default()
                .push(name.clone());
        }
        FoldedNames(groups)
    }

    /// Returns the names that differ from `name`, but not if they are folded.
    pub(super) fn other_spellings(&self, name: &str) -> impl Iterator<Item = &String> {
        let group = self.0.get(&fold_name(name));
        group
            .into_iter()
            .flatten()
            .filter(move |other| *other != name)
    }
}

/// The names of the entries in a menu's folder.
#[derive(Debug, Default)]
pub(super) struct EntryNames {
    /// All of them, sorted.
    pub(super) all: Vec<String>,
    pub(super) folded: FoldedNames,
}

/// Returns the names of all entries in a menu's folder. There are none if the folder does not
/// exist.
///
/// # Errors
/// Fails if the folder is a symlink or no folder, or can't be read.
pub(super) fn entry_names(menu: &Menu, folder: &Path) -> Result<EntryNames, Diagnostic> {
    let Some(metadata) = metadata(folder) else {
        return Ok(EntryNames::default());
    };
    if metadata.is_symlink() {
        // Other agents may read the folder behind it.
        let fix = "replace it by a folder, or leave this agent out of `menus` in config.toml";
        return Err(folder_error(
            folder,
            "it is a symlink, and entries are written only into real folders",
            fix,
        ));
    }
    let files = fs::read_dir(folder).map_err(|error| {
        let message = format!("it cannot be read: {error}");
        folder_error(folder, &message, "make it a folder that you can read")
    })?;
    let mut names = Vec::new();
    for file in files.flatten() {
        let file_name = file.file_name();
        let Some(name) = file_name.to_str() else {
            continue;
        };
        let name = match menu.layout {
            MenuLayout::Skill => Some(name),
            MenuLayout::File => name.strip_suffix(".md"),
        };
        names.extend(name.map(str::to_owned));
    }
    names.sort();
    Ok(EntryNames {
        folded: FoldedNames::new(&names),
        all: names,
    })
}

fn folder_error(folder: &Path, message: &str, fix: &str) -> Diagnostic {
    Diagnostic::new(Kind::NotWritable, message, fix).in_file(folder)
}

/// Returns the files in folders of the user's from which the agent reads names, and these names
/// without a suffix, [folded](fold_name).
pub(super) fn names_in(folders: &[PathBuf]) -> HashMap<String, PathBuf> {
    let mut names = HashMap::new();
    for folder in folders {
        for file in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = file.path();
            if let Some(stem) = path.file_stem() {
                let name = fold_name(&stem.to_string_lossy());
                names.insert(name, path);
            }
        }
    }
    names
}

/// Returns what is in the place of the entry with this name.
pub(super) fn read_entry(menu: &Menu, folder: &Path, name: &str, library: &str) -> Existing {
    let path = menu.entry_path(folder, name);
    if menu.layout == MenuLayout::Skill {
        let entry_folder = folder.join(name);
        let Some(metadata) = metadata(&entry_folder) else {
            return Existing::Nothing;
        };
        if metadata.is_symlink() {
            return Existing::Kept(WhyLeft::Linked);
        }
        if !metadata.is_dir() {
            return Existing::Kept(WhyLeft::UsersFile(entry_folder));
        }
        if self::metadata(&path).is_none() && has_users_files(menu, &entry_folder) {
            return Existing::Kept(WhyLeft::UsersFile(entry_folder));
        }
    }
    match metadata(&path) {
        None => Existing::Nothing,
        Some(metadata) => read_markdown(menu, &path, &metadata, library),
    }
}

/// Returns what the Markdown file of an entry is.
fn read_markdown(menu: &Menu, path: &Path, metadata: &Metadata, library: &str) -> Existing {
    if metadata.is_symlink() {
        return Existing::Kept(WhyLeft::Linked);
    }
    if !metadata.is_file() || metadata.len() > MenuMark::MAX_FILE {
        return Existing::Kept(WhyLeft::UsersFile(path.to_owned()));
    }
    let text = match whole_file::read_text(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Existing::Nothing,
        Err(error) => return Existing::Kept(WhyLeft::Unreadable(error.to_string())),
    };
    let Some(mark) = MenuMark::parse(&text) else {
        return Existing::Kept(WhyLeft::UsersFile(path.to_owned()));
    };
    let further_files = further_files(menu, path);
    if mark.library != library {
        Existing::Kept(WhyLeft::OtherLibrary)
    } else if is_newer(&mark.version) {
        Existing::Kept(WhyLeft::NewerVersion)
    } else if !mark.is_of_unchanged(&text) || further_files == FurtherFiles::Changed {
        Existing::Kept(WhyLeft::Changed)
    } else if metadata.permissions().readonly() {
        Existing::Kept(WhyLeft::ReadOnly)
    } else {
        Existing::Ours(OurEntry {
            text,
            mark,
            is_complete: further_files == FurtherFiles::Complete,
        })
    }
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
        match kind_of(parent) {
            None => state = FurtherFiles::Incomplete,
            Some(kind) if !kind.is_dir() => return FurtherFiles::Changed,
            Some(_) => match kind_of(&path) {
                None => state = FurtherFiles::Incomplete,
                Some(kind) if kind.is_file() && has_text(&path, text) => {}
                Some(_) => return FurtherFiles::Changed,
            },
        }
    }
    state
}

/// Returns whether a folder without a Markdown file has more in it than an interrupted write
/// leaves: the further files, and hidden temporary ones.
fn has_users_files(menu: &Menu, entry_folder: &Path) -> bool {
    let own_names: HashSet<&str> = menu
        .further_files
        .iter()
        .map(|(path, _)| path.split('/').next().unwrap_or(path))
        .collect();
    let Ok(files) = fs::read_dir(entry_folder) else {
        return true;
    };
    for file in files.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') && !own_names.contains(&*name) {
            return true;
        }
    }
    further_files(menu, &entry_folder.join("SKILL.md")) == FurtherFiles::Changed
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

fn metadata(path: &Path) -> Option<Metadata> {
    fs::symlink_metadata(path).ok()
}

fn kind_of(path: &Path) -> Option<FileType> {
    metadata(path).map(|metadata| metadata.file_type())
}
