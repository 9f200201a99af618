//! Creates, replaces and deletes single files for commands, bypassing the store and its history.

use super::file_store::already_exists_error;
use super::history::file_error;
use crate::library::disk::cache::Trace;
use crate::library::disk::reach::Reach;
use crate::library::disk::root::Root;
use crate::library::project_prompts::PROJECT_FOLDER;
use crate::prompt::{Diagnostic, Format, Kind, Name};
use crate::whole_file::{self, FileAccess, PendingFile};
use crate::wording::path_in_backticks;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Creates the file of a new prompt in a folder, and returns its path, e.g. `DIR/git/commit.md` for
/// the prompt `git/commit`.
///
/// # Errors
/// Fails like [`path_of_new_prompt`], or if the file cannot be written. Missing folders in its path
/// may have been created by then.
pub(crate) fn create_prompt_file(
    folder: &Path,
    name: &Name,
    text: &str,
) -> Result<PathBuf, Diagnostic> {
    let path = path_of_new_prompt(folder, name)?;
    create_with_folders(&path, text, FileAccess::Shared)?;
    Ok(path)
}

/// Returns the path for a new prompt in a folder, e.g. `DIR/git/commit.md` for the prompt
/// `git/commit`. Nothing is written.
///
/// # Errors
/// Fails if the folder already has a prompt with this name, even with another suffix such as `.MD`;
/// if the folder belongs to another program, so that this one doesn't write to it; or if a file at
/// the path would be ignored.
pub(crate) fn path_of_new_prompt(folder: &Path, name: &Name) -> Result<PathBuf, Diagnostic> {
    let root = root_for_named_folder(folder);
    if root.is_read_only() {
        let message = format!(
            "{} contains prompts for {}, and is read-only for prompt-expander",
            path_in_backticks(folder),
            root.format.title
        );
        let fix = "choose another folder";
        return Err(Diagnostic::new(Kind::NotWritable, message, fix));
    }
    match root.resolve(name, &mut Trace::default()) {
        Some(file) => Err(already_exists_error(&file.path)),
        None => root.path_for_new(name),
    }
}

/// Returns the root for a folder that the user named, e.g. with `new --dir DIR`.
///
/// Symlinks in a project's folder of prompts may not point outside of the project. This folder
/// needn't be a source of the library, so only its name shows whether it is such a folder.
fn root_for_named_folder(folder: &Path) -> Root {
    let is_project = folder
        .file_name()
        .is_some_and(|name| name == PROJECT_FOLDER);
    let reach = if is_project {
        Reach::for_typed_path(folder)
    } else {
        Reach::Unrestricted
    };
    Root::new(folder.to_owned(), Format::for_folder(folder), reach)
}

/// Creates a file and the missing folders in its path.
///
/// # Errors
/// Fails if the file already exists, or cannot be written. The missing folders may have been
/// created by then.
pub(crate) fn create_with_folders(
    path: &Path,
    text: &str,
    access: FileAccess<'_>,
) -> Result<(), Diagnostic> {
    let folder = path.parent().unwrap_or(path);
    whole_file::create_folders(folder).map_err(|error| file_error(folder, &error))?;
    let pending = PendingFile::write(path, text.as_bytes(), access)
        .map_err(|error| file_error(path, &error))?;
    pending.create().map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => already_exists_error(path),
        _ => file_error(path, &error),
    })
}

/// Atomically replaces the contents of a file, keeping its owner and permissions, and returns
/// `true`. Returns `false`, and writes nothing, if its contents are no longer `original`.
///
/// If the path is a symlink, its target is replaced.
///
/// # Errors
/// Fails if the file cannot be written. It is unchanged then.
pub(crate) fn replace_if_unchanged(path: &Path, original: &[u8], text: &str) -> io::Result<bool> {
    let target = whole_file::follow_symlinks(path)?;
    let metadata = fs::metadata(&target)?;
    let access = FileAccess::SameAs(&metadata);
    let pending = PendingFile::write(&target, text.as_bytes(), access)?;
    // Compared as late as possible, because writing the temporary file takes a while.
    if whole_file::read(&target)? != original {
        return Ok(false);
    }
    pending.replace()?;
    Ok(true)
}

/// Deletes a regular file, and returns `true`. Returns `false`, and keeps the file, if its contents
/// aren't `text`, or if it cannot be read.
///
/// # Errors
/// Fails if the file cannot be deleted.
pub(crate) fn delete_if_unchanged(file: &Path, text: &str) -> io::Result<bool> {
    let is_regular = fs::symlink_metadata(file).is_ok_and(|metadata| metadata.is_file());
    if !is_regular {
        return Ok(false); // reading a FIFO would block
    }
    if fs::read(file).ok().as_deref() != Some(text.as_bytes()) {
        return Ok(false);
    }
    fs::remove_file(file)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use crate::library::view::Library;

    #[test]
    fn a_created_file_is_deleted_only_if_it_is_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let name = Name::new("git/a").unwrap();
        let file = create_prompt_file(folder.path(), &name, "Text.\n").unwrap();
        fs::write(&file, "Text.").unwrap();
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
        assert!(!replace_if_unchanged(&file, b"another", "new").unwrap());
        assert_eq!(fs::read(&file).unwrap(), b"read");
        assert!(replace_if_unchanged(&file, b"read", "new").unwrap());
        assert_eq!(fs::read(&file).unwrap(), b"new");
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "no temporary file is left"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_person_may_edit_files_and_nothing_outside_of_a_project() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let prompts = folder.path().join(PROJECT_FOLDER);
        fs::create_dir_all(&prompts).unwrap();
        for file in [folder.path().join("out.md"), prompts.join("in.md")] {
            fs::write(file, "Text.").unwrap();
        }
        for (to, link) in [("../out.md", "out.md"), ("in.md", "link.md")] {
            symlink(to, prompts.join(link)).unwrap();
        }
        let project = Library::default().with_project(folder.path(), None, None);
        let named = Library::named([prompts]);
        for (name, is_editable_in_project) in [("in", true), ("link", true), ("out", false)] {
            assert_eq!(
                is_editable(&project, name),
                is_editable_in_project,
                "{name}"
            );
            assert!(is_editable(&named, name), "{name}");
        }
    }

    #[cfg(unix)]
    fn is_editable(library: &Library, name: &str) -> bool {
        let found = library.view().find_exactly(name).unwrap();
        found.location().is_editable
    }
}
