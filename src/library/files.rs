//! Creates, renames and removes prompt files for the command line.

use super::cache::{SETTLING, Trace};
use super::file_store::{FileStore, not_created, rename_to_new};
use super::handle::Files;
use super::project::FOLDER;
use super::root::Root;
use super::source::{About, Found, Layer};
use super::view::Library;
use crate::prompt::{COLONS, Diagnostic, Format, Kind, Name, TEST_SUFFIX, strip};
use crate::wording::named;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A file that may be renamed and removed.
#[derive(Debug)]
pub(crate) struct OwnFile {
    pub(crate) name: Name,
    pub(crate) path: PathBuf,
    /// Whether it, or a folder between the prompts folder and it, is a symlink.
    pub(crate) is_linked: bool,
    /// Whether the prompt is a folder, which may have other files, too.
    pub(crate) is_in_folder: bool,
    /// Whether it is in the folder whose prompts have a history.
    has_history: bool,
    root: Root,
    store: FileStore,
}

impl Library {
    /// The user's file, or the project's, whose name was typed exactly. A colon before the name and `:` for `/` make no difference;
    /// letter case does, even where the system ignores it. The file may be broken.
    pub(crate) fn own_file(&self, of_project: bool, typed: &str) -> Option<OwnFile> {
        let with_slashes = strip(typed).replace(COLONS, "/");
        let view = self.view();
        [typed, strip(typed), &with_slashes].into_iter().find_map(|text| {
            let name = view.stored_spelling(Name::new(text).ok()?);
            if of_project {
                return OwnFile::new(self.store(true)?.ok()?.folder(), true, name, true);
            }
            let is_own = |found: &Found| found.layer == Layer::USER && found.format == Format::OWN;
            let file = view.all(&name).into_iter().find(is_own)?.place().file?;
            let root = view.paths().into_iter().find(|root| file.starts_with(root))?;
            let has_history = self.store(false)?.is_ok_and(|store| store.folder() == root);
            OwnFile::new(root, false, name, has_history)
        })
    }
}

impl OwnFile {
    fn new(folder: &Path, of_project: bool, name: Name, has_history: bool) -> Option<OwnFile> {
        let root = Root { path: folder.to_owned(), format: Format::OWN, is_confined: of_project };
        let file = root.resolve(&name, &mut Trace::default())?;
        // Where the system ignores letter case, another spelling finds the file, too.
        let is_listed = file.path.parent().is_some_and(|folder| has_entry(folder, &file.path));
        let about = About::new(Layer::USER, root.format, Some(root.path.clone()));
        let store = FileStore::new(Arc::new(Files::new(root.clone(), about, SETTLING)));
        let (is_linked, is_in_folder) = (file.is_linked, file.kind.is_in_folder());
        let file = OwnFile { name, path: file.path.to_path_buf(), is_linked, is_in_folder, has_history, root, store };
        (is_listed || is_in_folder).then_some(file)
    }

    /// Adds what the file holds to the history of the prompt, before it is removed or changed. Returns whether there is anything to add:
    /// what a symlink points to stays.
    ///
    /// # Errors
    /// It cannot be read, or the history cannot be written.
    pub(crate) fn keep(&self) -> Result<bool, Diagnostic> {
        let is_kept = self.has_history && fs::symlink_metadata(&self.path).is_ok_and(|file| file.is_file());
        if is_kept {
            self.store.keep(&self.name)?;
        }
        Ok(is_kept)
    }

    /// Gives the versions that the prompt had to the name that the file has now. Returns `false` if they stay where they are, because a
    /// prompt had that name before, and has versions.
    ///
    /// # Errors
    /// They stay, or some of them do.
    pub(crate) fn rename_history(&self, name: &Name) -> Result<bool, Diagnostic> {
        if self.has_history { self.store.rename_history(&self.name, name) } else { Ok(true) }
    }

    /// Renames the file within its folder, and its test file with it; returns their new paths. The suffix keeps its spelling. Of a
    /// symlink, the symlink itself is renamed. No other file is overwritten, not even one that another process creates meanwhile.
    ///
    /// # Errors
    /// There is such a file, in any spelling of its suffix, or a file cannot be renamed. Folders may have been created then.
    pub(crate) fn rename(&self, name: &Name) -> Result<(PathBuf, Option<PathBuf>), Diagnostic> {
        let stem = |name: &Name| name.rsplit('/').next().unwrap_or(name).to_owned();
        let file = self.path.file_name().unwrap_or_default().to_string_lossy();
        let end = file.strip_prefix(&stem(&self.name)).unwrap_or(".md");
        let path = self.root.path_for_new(name)?.with_file_name(format!("{}{end}", stem(name)));
        let existing = self.root.resolve(name, &mut Trace::default()).map(|file| file.path.to_path_buf());
        let tests = self.tests().zip(self.test_path(name).ok());
        let test_target = tests.as_ref().map(|(_, to)| to.clone()).filter(|to| fs::symlink_metadata(to).is_ok());
        let is_other = |to: &PathBuf, from: &Path| !is_same_file(to, from) || has_entry(to.parent().unwrap_or(to), to);
        if let Some(existing) = existing
            .filter(|existing| is_other(existing, &self.path))
            .or_else(|| test_target.filter(|to| tests.as_ref().is_none_or(|(from, _)| is_other(to, from))))
        {
            return Err(exists(&existing));
        }
        check_relative_link(&self.path, &path)?;
        create_parent(&path)?;
        move_file(&self.path, &path)?;
        let Some((from, to)) = tests.filter(|_| self.is_name_unused()) else { return Ok((path, None)) };
        move_file(&from, &to).map_err(|why| Diagnostic {
            message: format!("the prompt is renamed, but its test file is not: {}", why.message),
            ..why
        })?;
        Ok((path, Some(to)))
    }

    fn test_path(&self, name: &Name) -> Result<PathBuf, Diagnostic> {
        Ok(self.root.path_for_new(name)?.with_extension(TEST_SUFFIX.trim_start_matches('.')))
    }

    /// Its test file, if it has one.
    pub(crate) fn tests(&self) -> Option<PathBuf> {
        self.test_path(&self.name).ok().filter(|path| fs::symlink_metadata(path).is_ok_and(|file| !file.is_dir()))
    }

    /// Whether, after it was removed or renamed, no other file has its name: the tests would now belong to that one.
    pub(crate) fn is_name_unused(&self) -> bool {
        let file = self.root.resolve(&self.name, &mut Trace::default());
        file.is_none_or(|file| is_same_file(&file.path, &self.path))
    }

    /// Removes the file and its test file; of a symlink, the symlink itself. Returns the paths of those that it removed, and why it could
    /// not remove one.
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

fn move_file(from: &Path, to: &Path) -> Result<(), Diagnostic> {
    // Where letter case makes no difference, the new path may be that of the old file.
    let renamed = if is_same_file(from, to) { fs::rename(from, to) } else { rename_to_new(from, to) };
    renamed.map_err(|error| {
        let [shown, new] = [from, to].map(|path| named(&path.display().to_string()));
        match error.kind() {
            ErrorKind::AlreadyExists => exists(to),
            ErrorKind::NotFound => {
                Diagnostic::new(Kind::Missing, format!("{shown} was deleted just now"), "run the command again")
            }
            _ => {
                let message = format!("{shown} cannot be renamed to {new}: {error}");
                Diagnostic::new(Kind::NotWritable, message, "fix that, or choose another name")
            }
        }
    })
}

/// Refuses to rename a relative symlink into another folder, where its target would be another.
fn check_relative_link(from: &Path, to: &Path) -> Result<(), Diagnostic> {
    match fs::read_link(from) {
        Ok(target) if target.is_relative() && to.parent() != from.parent() => {
            let [link, target] = [from, &target].map(|path| named(&path.display().to_string()));
            let message = format!("{link} is a symlink to {target}, which would be broken in another folder");
            Err(Diagnostic::new(Kind::NotWritable, message, "create a new symlink there, and remove this one"))
        }
        _ => Ok(()),
    }
}

/// Whether a folder has an entry with exactly the name of this path.
fn has_entry(folder: &Path, path: &Path) -> bool {
    let mut entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| Some(entry.file_name().as_os_str()) == path.file_name())
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
    {
        let lower = |path: &Path| path.to_string_lossy().to_lowercase();
        lower(a) == lower(b)
    }
}

/// Creates the file of a new prompt. `folder` need not be a source of the library (`new --dir` takes any), so whether the rules for a
/// project's folder hold is decided by its name.
///
/// # Errors
/// There is such a file, in any spelling of its suffix, or it cannot be written. Folders may have been created then.
pub(crate) fn create(folder: &Path, name: &Name, text: &str) -> Result<PathBuf, Diagnostic> {
    let path = plan(folder, name)?;
    create_with_folders(&path, text)?;
    Ok(path)
}

/// Where [`create`] would write a prompt. Nothing is written.
///
/// # Errors
/// Those of [`create`] that are known beforehand.
pub(crate) fn plan(folder: &Path, name: &Name) -> Result<PathBuf, Diagnostic> {
    let is_confined = folder.file_name().is_some_and(|name| name == FOLDER);
    let root = Root { path: folder.to_owned(), format: Format::of_folder(folder), is_confined };
    if root.is_read_only() {
        let message = format!(
            "{} has prompts for {}, and nothing is written to it",
            named(&folder.display().to_string()),
            root.format.title
        );
        return Err(Diagnostic::new(Kind::NotWritable, message, "choose another folder"));
    }
    match root.resolve(name, &mut Trace::default()) {
        Some(file) => Err(exists(&file.path)),
        None => root.path_for_new(name),
    }
}

/// Creates a file, and the folders in its path that are missing.
///
/// # Errors
/// There is such a file, or it cannot be written. Folders may have been created then.
pub(crate) fn create_with_folders(path: &Path, text: &str) -> Result<(), Diagnostic> {
    create_parent(path)?;
    let failed = |error: io::Error| match error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => {
            let message = format!("{} cannot be written: {error}", named(&path.display().to_string()));
            Diagnostic::new(Kind::NotWritable, message, "fix that, or choose another folder")
        }
    };
    let mut file = OpenOptions::new().write(true).create_new(true).open(path).map_err(failed)?;
    // In one write, so that a reader sees all of it or nothing.
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| {
        _ = fs::remove_file(path); // part of a file is worse than none
        failed(error)
    })
}

fn create_parent(path: &Path) -> Result<(), Diagnostic> {
    let Some(parent) = path.parent() else { return Ok(()) };
    fs::create_dir_all(parent).map_err(|error| not_created(parent, &error))
}

fn exists(path: &Path) -> Diagnostic {
    let message = format!("{} already exists, and is not changed", named(&path.display().to_string()));
    Diagnostic::new(Kind::Exists, message, "choose another name")
}

/// Replaces the text of a file in one step, so that a reader sees the old text or the new one. Of a symlink, the target is replaced. The
/// permissions stay. Returns `false`, and writes nothing, if the file is no longer as it was read.
///
/// # Errors
/// It cannot be written, and is unchanged.
pub(crate) fn replace(path: &Path, original: &[u8], text: &str) -> io::Result<bool> {
    let target = fs::canonicalize(path)?;
    let folder = target.parent().unwrap_or(Path::new(""));
    let mut file = tempfile::Builder::new().prefix(".prompt-expander-").tempfile_in(folder)?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_created_file_is_deleted_only_if_it_is_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let file = create(folder.path(), &Name::new("git/a").unwrap(), "Text.\n").unwrap();
        fs::write(&file, "Text.").unwrap();
        let delete_if_unchanged = |file: &Path, text: &str| delete_if(file, |now| now == text.as_bytes());
        assert!(!delete_if_unchanged(&file, "Text.\n").unwrap());
        assert_eq!(fs::read(&file).unwrap(), b"Text.");
        assert!(delete_if_unchanged(&file, "Text.").unwrap());
        assert!(!file.exists());
        fs::create_dir(&file).unwrap();
        assert!(!delete_if_unchanged(&file, "Text.").unwrap());
        assert!(file.is_dir());
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

    #[cfg(unix)]
    #[test]
    fn a_person_may_edit_files_and_nothing_outside_of_a_project() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let prompts = folder.path().join(FOLDER);
        fs::create_dir_all(&prompts).unwrap();
        for file in [folder.path().join("out.md"), prompts.join("in.md")] {
            fs::write(file, "Text.").unwrap();
        }
        for (to, link) in [("../out.md", "out.md"), ("in.md", "link.md")] {
            symlink(to, prompts.join(link)).unwrap();
        }
        let project = Library::default().with_project(folder.path(), None, None).view();
        let named = Library::named([prompts]).view();
        for (name, of_project, of_named) in [("in", true, true), ("link", true, true), ("out", false, true)] {
            let is_editable = |view: &super::super::view::View| view.find_exactly(name).unwrap().place().is_editable;
            assert_eq!((is_editable(&project), is_editable(&named)), (of_project, of_named), "{name}");
        }
    }
}
