//! Creates, renames and removes prompt files. No other file of the code does.

use super::folder::{Folder, PromptFile};
use super::project::FOLDER;
use super::walk::Scan;
use super::{EditError, Entry, Layer, Problem, View};
use crate::prompt::{COLONS, Name, System, strip};
use crate::wording::named;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use unicode_normalization::UnicodeNormalization;

/// Why a file was neither created nor renamed.
#[derive(Debug)]
pub enum WriteError {
    /// There is such a file, and it stays as it is.
    Exists(PathBuf),
    /// The folder is another program's, which is only read.
    ReadOnly(PathBuf, System),
    /// A folder in the path is itself a prompt, and nothing else in it is one.
    InPrompt(PathBuf),
    /// There is a file, or a broken link, where a folder is needed.
    NotAFolder(PathBuf),
    /// A symlink in the path points back to a folder that it is in.
    Cycle(PathBuf),
    /// A symlink in the path points outside a project's prompts, where nothing is read.
    Escapes(PathBuf),
    /// The file to be renamed no longer exists.
    Deleted(PathBuf),
    /// The file to be renamed is a relative symlink, which would have another target in the new folder.
    RelativeLink(PathBuf, PathBuf),
    /// The system refuses to rename the first path to the second.
    Rename(PathBuf, PathBuf, io::Error),
    /// The prompt was renamed, and its test file cannot be.
    TestsNotRenamed(PathBuf, io::Error),
    /// The system refuses to write there.
    Io(PathBuf, io::Error),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Path| named(&path.display().to_string());
        match self {
            WriteError::Exists(file) => write!(f, "{} already exists, and is not changed", path(file)),
            WriteError::ReadOnly(folder, system) => write!(
                f,
                "{} has prompts for {}, and nothing is written to it; choose another folder",
                path(folder),
                system.title()
            ),
            WriteError::InPrompt(file) => {
                let file = path(file);
                write!(f, "{file} would be in a folder that is itself a prompt, and not be read; choose another name")
            }
            WriteError::NotAFolder(obstacle) => {
                let obstacle = path(obstacle);
                write!(f, "{obstacle} is not a folder, and the new file needs one there; choose another name or folder")
            }
            WriteError::Cycle(folder) => {
                write!(
                    f,
                    "a symlink in {} points back to a folder above it; choose another name or folder",
                    path(folder)
                )
            }
            WriteError::Escapes(file) => {
                let file = path(file);
                write!(f, "a symlink in {file} points outside the project; choose another name or folder")
            }
            WriteError::Deleted(file) => write!(f, "{} was deleted just now; run the command again", path(file)),
            WriteError::RelativeLink(link, target) => {
                let (link, target) = (path(link), path(target));
                write!(
                    f,
                    "{link} is a symlink to {target}, which would be broken in another folder; create a new symlink there, \
                     and remove this one"
                )
            }
            WriteError::Rename(from, to, error) => {
                write!(f, "{} cannot be renamed to {}: {error}; fix that, or choose another name", path(from), path(to))
            }
            WriteError::TestsNotRenamed(tests, error) => {
                write!(f, "the prompt is renamed, but its test file {} cannot be: {error}; rename it, too", path(tests))
            }
            WriteError::Io(path_of_error, error) => {
                write!(f, "{} cannot be written: {error}; fix that, or choose another folder", path(path_of_error))
            }
        }
    }
}

impl std::error::Error for WriteError {}

impl View {
    /// Whether an editor may open what is at this path: it is a file, and not reached through a symlink that points
    /// outside a project.
    pub(crate) fn is_editable(&self, path: &Path) -> bool {
        // Opening a FIFO would block. And saving through such a symlink would change a file outside the project.
        fs::metadata(path).is_ok_and(|file| file.is_file()) && !self.sources().any(|source| source.is_escape(path))
    }

    /// The file of one layer whose name was typed exactly. A colon before the name, `:` for `/`, and accents that are stored as
    /// separate characters make no difference; letter case does, even where the system ignores it. The file may be broken. If
    /// several files have the name, it is the first.
    pub(crate) fn find_to_change(&self, layer: Layer, typed: &str) -> Option<OwnFile<'_>> {
        let folders = self.sources().filter(|source| source.layer() == layer).filter_map(|source| source.folder());
        let folders = folders.filter(|folder| !folder.is_read_only());
        let scans: Vec<(&Folder, Arc<Scan>)> = folders.map(|folder| (folder, folder.scan())).collect();
        let find = |name: &Name| {
            let mut scans = scans.iter().enumerate();
            let (index, folder, file) =
                scans.find_map(|(index, (folder, scan))| Some((index, *folder, scan.file(name)?)))?;
            let PromptFile { name, path, is_symlinked, is_in_folder, .. } = file.clone();
            let has_history = layer == Layer::User && index == 0;
            Some(OwnFile { name, path: path.to_path_buf(), is_symlinked, is_in_folder, has_history, folder })
        };
        let with_slashes = strip(typed).replace(COLONS, "/");
        let exact = [typed, strip(typed), &with_slashes].into_iter().find_map(|text| find(&Name::new(text).ok()?));
        exact.or_else(|| {
            let names = scans.iter().flat_map(|(_, scan)| &scan.files).map(|file| &file.name);
            find(only_spelling(&with_slashes, names)?)
        })
    }

    /// The spelling of this name in the library, if the two differ only in how accents are stored: a second file could not be told
    /// apart from the first.
    pub(crate) fn stored_spelling(&self, name: Name) -> Name {
        if self.locate(&name).is_some() {
            return name;
        }
        let entries = self.list().entries;
        only_spelling(&name, entries.iter().map(Entry::name)).cloned().unwrap_or(name)
    }

    /// What [`View::check`] says of one file.
    pub(crate) fn problems_of(&self, file: &Path) -> Vec<Problem> {
        let mut problems = self.check().problems;
        problems.retain(|problem| is_same_path(&problem.path, file));
        problems
    }
}

/// The one name that is equal to a text if accents are composed; `None` if there are several.
fn only_spelling<'n>(text: &str, names: impl Iterator<Item = &'n Name>) -> Option<&'n Name> {
    let is_equal = |name: &&Name| name.nfc().eq(text.nfc());
    let mut equal: Vec<&Name> = names.filter(is_equal).collect();
    equal.dedup();
    if let [name] = equal[..] { Some(name) } else { None }
}

/// A file that may be renamed and removed.
#[derive(Debug)]
pub(crate) struct OwnFile<'v> {
    pub(crate) name: Name,
    pub(crate) path: PathBuf,
    /// Whether it, or a folder between the prompts folder and it, is a symlink.
    pub(crate) is_symlinked: bool,
    /// Whether the prompt is a folder, which may have other files, too.
    pub(crate) is_in_folder: bool,
    /// Whether it is in the folder whose prompts have a history.
    has_history: bool,
    folder: &'v Folder,
}

impl OwnFile<'_> {
    /// Adds what the file holds to the history of the prompt, before it is removed. Returns whether there is a history, and anything
    /// to add: what a symlink points to stays.
    ///
    /// # Errors
    /// It cannot be read, or the history cannot be written.
    pub(crate) fn keep(&self) -> Result<bool, EditError> {
        let is_kept = self.has_history && fs::symlink_metadata(&self.path).is_ok_and(|file| file.is_file());
        if is_kept {
            self.folder.keep(&self.name)?;
        }
        Ok(is_kept)
    }

    /// Gives the versions that the prompt had to the name that the file has now. Returns `false` if they stay where they are, because
    /// a prompt had that name before, and has versions.
    ///
    /// # Errors
    /// They stay, or some of them do.
    pub(crate) fn rename_history(&self, name: &Name) -> Result<bool, EditError> {
        if self.has_history { self.folder.rename_history(&self.name, name) } else { Ok(true) }
    }

    /// Renames the file within its folder, and its test file with it; returns their new paths. The suffix keeps its spelling.
    /// Of a symlink, the symlink itself is renamed. No other file is overwritten, not even one that another process creates meanwhile.
    ///
    /// # Errors
    /// There is such a file, in any spelling of its suffix, or a file cannot be renamed. Folders may have been created then.
    pub(crate) fn rename(&self, name: &Name) -> Result<(PathBuf, Option<PathBuf>), WriteError> {
        let tests = self.tests().zip(self.folder.test_path(name));
        if let Some((from, to)) = &tests {
            if FileState::of(to) != FileState::Deleted && !is_other_spelling(to, from) {
                return Err(WriteError::Exists(to.clone()));
            }
            check_relative_link(from, to)?;
        }
        let path = self.rename_prompt(name)?;
        let Some((from, to)) = tests.filter(|_| self.is_name_unused()) else { return Ok((path, None)) };
        let is_respelled = is_other_spelling(&to, &from);
        let renamed = if is_respelled { fs::rename(&from, &to) } else { rename_to_new(&from, &to) };
        renamed.map_err(|error| WriteError::TestsNotRenamed(from, error))?;
        Ok((path, Some(to)))
    }

    fn rename_prompt(&self, name: &Name) -> Result<PathBuf, WriteError> {
        let path = path_for_new(self.folder, name)?;
        let end = self.end();
        let stem = name.rsplit('/').next().unwrap_or(name);
        let path = path.with_file_name(format!("{stem}{end}"));
        let existing = self.folder.resolve(name).map(|file| file.path.to_path_buf());
        let is_respelled = existing.as_ref().is_some_and(|existing| is_other_spelling(existing, &self.path));
        if let Some(existing) = existing.filter(|_| !is_respelled) {
            return Err(WriteError::Exists(existing));
        }
        check_relative_link(&self.path, &path)?;
        create_parent(&path)?;
        let renamed = if is_respelled { fs::rename(&self.path, &path) } else { rename_to_new(&self.path, &path) };
        match renamed {
            Ok(()) => Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(WriteError::Exists(path)),
            Err(_) if FileState::of(&self.path) == FileState::Deleted => Err(WriteError::Deleted(self.path.clone())),
            Err(error) => Err(WriteError::Rename(self.path.clone(), path, error)),
        }
    }

    /// What follows the prompt's name in the path, such as `.md`.
    fn end(&self) -> String {
        let stem = self.name.rsplit('/').next().unwrap_or(&self.name);
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        file.strip_prefix(stem).unwrap_or(".md").to_owned()
    }

    /// Its test file, if it has one.
    pub(crate) fn tests(&self) -> Option<PathBuf> {
        self.folder.test_path(&self.name).filter(|path| FileState::of(path) == FileState::Exists)
    }

    /// Whether, after it was removed or renamed, no other file has its name: the tests would now belong to that one.
    pub(crate) fn is_name_unused(&self) -> bool {
        self.folder.resolve(&self.name).is_none_or(|file| is_same_file(&file.path, &self.path))
    }

    /// Removes the file and its test file; of a symlink, the symlink itself. Returns the paths of those that it removed, and why it
    /// could not remove one.
    pub(crate) fn remove(&self) -> (Vec<PathBuf>, Option<(PathBuf, io::Error)>) {
        let tests = self.tests();
        let mut removed = Vec::new();
        for path in [Some(self.path.clone()), tests].into_iter().flatten() {
            if !removed.is_empty() && !self.is_name_unused() {
                break;
            }
            match fs::remove_file(&path) {
                Ok(()) => removed.push(path),
                Err(error) => return (removed, Some((path, error))),
            }
        }
        (removed, None)
    }
}

/// Refuses to rename a relative symlink into another folder, where its target would be another.
fn check_relative_link(from: &Path, to: &Path) -> Result<(), WriteError> {
    match fs::read_link(from) {
        Ok(target) if target.is_relative() && to.parent() != from.parent() => {
            Err(WriteError::RelativeLink(from.to_owned(), target))
        }
        _ => Ok(()),
    }
}

/// Whether a path leads to a file only because the system ignores letter case, or how accents are stored.
fn is_other_spelling(path: &Path, file: &Path) -> bool {
    let is_listed = |folder: &Path| {
        let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.any(|entry| Some(entry.file_name().as_os_str()) == path.file_name())
    };
    path.parent() == file.parent() && !path.parent().is_some_and(is_listed) && is_same_file(path, file)
}

/// Whether two paths, one of which is that of an existing file, lead to one file or symlink.
fn is_same_file(a: &Path, b: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let number = |path: &Path| fs::symlink_metadata(path).map(|file| (file.dev(), file.ino())).ok();
        number(a).is_some_and(|file| number(b) == Some(file))
    }
    #[cfg(not(unix))]
    is_same_path(a, b)
}

/// Renames a file, and fails if there is one at the new path.
pub(super) fn rename_to_new(from: &Path, to: &Path) -> io::Result<()> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        use rustix::io::Errno;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {} // some network file systems
            renamed => return renamed.map_err(io::Error::from),
        }
    }
    rename_over_empty(from, to)
}

/// The same in two steps, where the system has no such operation: an empty file that this process has created is replaced.
fn rename_over_empty(from: &Path, to: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create_new(true).open(to)?;
    fs::rename(from, to).inspect_err(|_| _ = delete_if(to, <[u8]>::is_empty))
}

/// Whether two paths name the same file. Where letter case makes no difference, a path that was typed may differ from the
/// listed one.
fn is_same_path(a: &Path, b: &Path) -> bool {
    let lower = |path: &Path| path.to_string_lossy().to_lowercase();
    a == b || (cfg!(any(windows, target_os = "macos")) && lower(a) == lower(b))
}

/// What is at the path of a prompt file after other programs may have changed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileState {
    /// A file, or a symlink of any kind.
    Exists,
    Folder,
    Deleted,
}

impl FileState {
    pub(crate) fn of(file: &Path) -> FileState {
        match fs::symlink_metadata(file) {
            Err(_) => FileState::Deleted,
            Ok(now) if now.is_dir() => FileState::Folder,
            Ok(_) => FileState::Exists,
        }
    }
}

/// Creates the file of a new prompt. `folder` need not be a source of the library (`new --dir` takes any), so whether the
/// rules for a project's folder hold is decided by its name.
///
/// # Errors
/// There is such a file, in any spelling of its suffix, or it cannot be written. Folders may have been created then.
pub(crate) fn create(folder: &Path, name: &Name, text: &str) -> Result<PathBuf, WriteError> {
    let path = plan(folder, name)?;
    create_with_folders(&path, text)?;
    Ok(path)
}

/// Where [`create`] would write a prompt. Nothing is written.
///
/// # Errors
/// Those of [`create`] that are known beforehand.
pub(crate) fn plan(folder: &Path, name: &Name) -> Result<PathBuf, WriteError> {
    let is_project = folder.file_name().is_some_and(|name| name == FOLDER);
    let system = System::of_folder(folder);
    if system != System::PromptExpander {
        return Err(WriteError::ReadOnly(folder.to_owned(), system));
    }
    let folder = match is_project {
        true => Folder::of_project(folder.to_owned(), system, &Arc::default()),
        false => Folder::new(folder.to_owned(), system, true, &Arc::default()),
    };
    if let Some(file) = folder.resolve(name) {
        return Err(WriteError::Exists(file.path.to_path_buf()));
    }
    path_for_new(&folder, name)
}

/// Creates a file, and the folders in its path that are missing.
///
/// # Errors
/// There is such a file, or it cannot be written. Folders may have been created then.
pub(crate) fn create_with_folders(path: &Path, text: &str) -> Result<(), WriteError> {
    create_parent(path)?;
    create_file(path, text)
}

/// Creates a file in a folder that exists.
///
/// # Errors
/// There is such a file, or it cannot be written.
pub(crate) fn create_file(path: &Path, text: &str) -> Result<(), WriteError> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => WriteError::Exists(path.to_owned()),
        _ => WriteError::Io(path.to_owned(), error),
    })?;
    // In one write, so that a reader sees all of it or nothing.
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| {
        let _ = fs::remove_file(path); // part of a file is worse than none
        WriteError::Io(path.to_owned(), error)
    })
}

/// Replaces the text of a file in one step, so that a reader sees the old text or the new one. Of a symlink, the target is
/// replaced. The permissions stay. Returns `false`, and writes nothing, if the file is no longer as it was read.
///
/// # Errors
/// It cannot be written, and is unchanged.
pub(crate) fn replace(path: &Path, original: &[u8], text: &str) -> io::Result<bool> {
    let target = fs::canonicalize(path)?;
    let mut file =
        tempfile::Builder::new().prefix(".prompt-expander-").tempfile_in(target.parent().unwrap_or(Path::new("")))?;
    file.write_all(text.as_bytes())?;
    file.as_file().set_permissions(fs::metadata(&target)?.permissions())?;
    file.as_file().sync_all()?;
    let is_unchanged = fs::read(&target)? == original;
    if is_unchanged {
        file.persist(&target).map_err(|error| error.error)?;
    }
    Ok(is_unchanged)
}

/// Deletes a file that [`create`] made, if it is still a file and its content is as expected. Returns whether it did.
///
/// # Errors
/// It cannot be deleted.
pub(crate) fn delete_if(file: &Path, is_as_expected: impl FnOnce(&[u8]) -> bool) -> io::Result<bool> {
    let is_file = fs::symlink_metadata(file).is_ok_and(|now| now.is_file()); // reading a FIFO would block
    let is_as_expected = is_file && fs::read(file).is_ok_and(|now| is_as_expected(&now));
    if is_as_expected {
        fs::remove_file(file)?;
    }
    Ok(is_as_expected)
}

/// Where the file of a new prompt belongs.
pub(super) fn path_for_new(folder: &Folder, name: &Name) -> Result<PathBuf, WriteError> {
    folder.path_for_new(name).ok_or_else(|| {
        let without_rules = Folder::new(folder.path.clone(), folder.system, true, &Arc::default());
        let path = folder.path.join(name.as_str());
        let mut above = path.ancestors().skip(1).take_while(|above| **above != *folder.path);
        match without_rules.path_for_new(name) {
            Some(path) => WriteError::Escapes(path),
            None if above.any(|above| !folder.files_of_prompt(above).is_empty()) => WriteError::InPrompt(path),
            None => WriteError::Cycle(path),
        }
    })
}

/// Waits until the names in a folder are stored, so that they are there after a crash. Only Unix can.
pub(super) fn sync_folder(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    fs::File::open(folder)?.sync_all()?;
    _ = folder;
    Ok(())
}

fn create_parent(path: &Path) -> Result<(), WriteError> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(|error| cannot_create_folder(parent, error))
}

/// Why a folder could not be created: the first part of its path that is not a folder, else the error of the system.
pub(super) fn cannot_create_folder(folder: &Path, error: io::Error) -> WriteError {
    let mut parts: Vec<&Path> = folder.ancestors().collect();
    parts.reverse();
    let obstacle = parts.into_iter().find(|part| fs::symlink_metadata(part).is_ok() && !part.is_dir());
    match obstacle {
        Some(part) if error.kind() != ErrorKind::PermissionDenied => WriteError::NotAFolder(part.to_owned()),
        _ => WriteError::Io(folder.to_owned(), error),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Library;
    use super::*;

    #[test]
    fn a_created_file_is_deleted_only_if_it_is_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let file = create(folder.path(), &Name::new("git/a").unwrap(), "Text.\n").unwrap();
        assert_eq!(FileState::of(&file), FileState::Exists);
        fs::write(&file, "Text.").unwrap();
        let delete_if_unchanged = |file: &Path, text: &str| delete_if(file, |now| now == text.as_bytes());
        assert!(!delete_if_unchanged(&file, "Text.\n").unwrap());
        assert_eq!(fs::read(&file).unwrap(), b"Text.");
        assert!(delete_if_unchanged(&file, "Text.").unwrap());
        assert_eq!(FileState::of(&file), FileState::Deleted);
        assert!(!delete_if_unchanged(&file, "Text.").unwrap());
        fs::create_dir(&file).unwrap();
        assert!(!delete_if_unchanged(&file, "Text.").unwrap());
        assert_eq!(FileState::of(&file), FileState::Folder);
        #[cfg(unix)]
        {
            let (target, link) = (folder.path().join("target"), folder.path().join("link.md"));
            fs::write(&target, "Text.").unwrap();
            std::os::unix::fs::symlink(&target, &link).unwrap();
            assert!(!delete_if_unchanged(&link, "Text.").unwrap());
            assert_eq!((FileState::of(&link), FileState::of(&target)), (FileState::Exists, FileState::Exists));
        }
    }

    #[test]
    fn a_file_is_replaced_only_as_it_was_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.test.txt");
        fs::write(&file, "read").unwrap();
        assert!(!replace(&file, b"another", "new").unwrap());
        assert_eq!(fs::read(&file).unwrap(), b"read");
        assert!(replace(&file, b"read", "new").unwrap());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
    }

    #[test]
    fn a_renamed_file_never_replaces_another() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|file| folder.path().join(file));
        for rename in [rename_to_new, rename_over_empty] {
            fs::write(&a, "A").unwrap();
            fs::write(&b, "B").unwrap();
            assert_eq!(rename(&a, &b).unwrap_err().kind(), ErrorKind::AlreadyExists);
            assert_eq!((fs::read(&a).unwrap(), fs::read(&b).unwrap()), (b"A".to_vec(), b"B".to_vec()));
            rename(&a, &c).unwrap();
            assert_eq!(fs::read(&c).unwrap(), b"A");
            fs::remove_file(&c).unwrap();
            assert_eq!(rename(&a, &c).unwrap_err().kind(), ErrorKind::NotFound);
            assert!(!c.exists());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_path_is_another_spelling_only_if_its_own_is_not_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a.md", "A.md"].map(|file| folder.path().join(file));
        fs::write(&a, "A").unwrap();
        assert!(!is_other_spelling(&a, &a));
        // Two names of one file: renaming one to the other would do nothing.
        let is_first = fs::hard_link(&a, &b).is_ok();
        assert_eq!(is_other_spelling(&b, &a), !is_first);
    }

    #[test]
    fn the_problems_of_a_file_are_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| create(folder.path(), &Name::new(name).unwrap(), "---\n").unwrap());
        fs::write(&c, "Text.").unwrap();
        let view = Library::named([folder.path().to_owned()]).view();
        for (file, want) in [(&a, vec!["a.md"]), (&b, vec!["b.md"]), (&c, vec![])] {
            let problems = view.problems_of(file);
            assert_eq!(problems.iter().map(|problem| problem.file.as_str()).collect::<Vec<_>>(), want);
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_editor_may_open_files_and_nothing_outside_of_a_project() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let prompts = folder.path().join(FOLDER);
        fs::create_dir_all(prompts.join("folder.md")).unwrap();
        for file in [folder.path().join("out.md"), prompts.join("in.md")] {
            fs::write(file, "Text.").unwrap();
        }
        for (to, link) in [("../out.md", "out.md"), ("in.md", "link.md"), ("nowhere", "broken.md")] {
            symlink(to, prompts.join(link)).unwrap();
        }
        let project = Library::default().with_project(folder.path(), None).view();
        let named = Library::named([prompts.clone()]).view();
        for (file, of_project, of_named) in [
            ("in.md", true, true),
            ("link.md", true, true),
            ("out.md", false, true),
            ("broken.md", false, false),
            ("folder.md", false, false),
            ("none.md", false, false),
        ] {
            let path = prompts.join(file);
            assert_eq!((project.is_editable(&path), named.is_editable(&path)), (of_project, of_named), "{file}");
        }
    }
}
