//! Creates, renames and replaces files for the command line.

use super::file_store::exists;
use super::history::failed;
use crate::library::disk::cache::Trace;
use crate::library::disk::reach::Reach;
use crate::library::disk::root::Root;
use crate::library::project_prompts::PROJECT_FOLDER;
use crate::prompt::{Diagnostic, Format, Kind, Name};
use crate::whole_file::{self, FileAccess, PendingFile};
use crate::wording::named_path;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Creates the file of a new prompt. `folder` need not be a source of the library (`new --dir`
/// takes any), so whether the rules for a project's folder hold is decided by its name.
///
/// # Errors
/// There is such a file, in any spelling of its suffix, or it cannot be written. Folders may have
/// been created then.
pub(crate) fn create(folder: &Path, name: &Name, text: &str) -> Result<PathBuf, Diagnostic> {
    let path = plan(folder, name)?;
    create_with_folders(&path, text, FileAccess::Shared)?;
    Ok(path)
}

/// Where [`create`] would write a prompt. Nothing is written.
///
/// # Errors
/// Those of [`create`] that are known beforehand.
pub(crate) fn plan(folder: &Path, name: &Name) -> Result<PathBuf, Diagnostic> {
    let root = root(folder);
    if root.is_read_only() {
        let message = format!(
            "{} has prompts for {}, and nothing is written to it",
            named_path(folder),
            root.format.title
        );
        return Err(Diagnostic::new(
            Kind::NotWritable,
            message,
            "choose another folder",
        ));
    }
    match root.resolve(name, &mut Trace::default()) {
        Some(file) => Err(exists(&file.path)),
        None => root.path_for_new(name),
    }
}

/// A folder and its rules, if all that is known of it is its path.
fn root(folder: &Path) -> Root {
    let is_project = folder
        .file_name()
        .is_some_and(|name| name == PROJECT_FOLDER);
    let reach = if is_project {
        Reach::of_named(folder)
    } else {
        Reach::Own
    };
    Root::new(folder.to_owned(), Format::of_folder(folder), reach)
}

/// Creates a file, and the folders in its path that are missing.
///
/// # Errors
/// There is such a file, or it cannot be written. Folders may have been created then.
pub(crate) fn create_with_folders(
    path: &Path,
    text: &str,
    access: FileAccess<'_>,
) -> Result<(), Diagnostic> {
    let folder = path.parent().unwrap_or(path);
    whole_file::create_folders(folder).map_err(|error| failed(folder, &error))?;
    let pending =
        PendingFile::write(path, text.as_bytes(), access).map_err(|error| failed(path, &error))?;
    pending.create().map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => exists(path),
        _ => failed(path, &error),
    })
}

/// Replaces the text of a file in one step, so that a reader sees the old text or the new one. Of a
/// symlink, the target is replaced. The owner and permissions stay. Returns `false`, and writes
/// nothing, if the file is no longer as it was read.
///
/// # Errors
/// It cannot be written, and is unchanged.
pub(crate) fn replace(path: &Path, original: &[u8], text: &str) -> io::Result<bool> {
    let target = whole_file::target(path)?;
    let access = fs::metadata(&target)?;
    let new = PendingFile::write(&target, text.as_bytes(), FileAccess::SameAs(&access))?;
    let is_unchanged = whole_file::read(&target)? == original;
    if is_unchanged {
        new.replace()?;
    }
    Ok(is_unchanged)
}

/// Deletes a file that [`create`] made, if it is still a file and its content is as expected.
/// Returns whether it did.
///
/// # Errors
/// It cannot be deleted.
pub(crate) fn delete_if(
    file: &Path,
    is_as_expected: impl FnOnce(&[u8]) -> bool,
) -> io::Result<bool> {
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
    use crate::library::view::{Library, View};

    #[test]
    fn a_created_file_is_deleted_only_if_it_is_unchanged() {
        let folder = tempfile::tempdir().unwrap();
        let file = create(folder.path(), &Name::new("git/a").unwrap(), "Text.\n").unwrap();
        fs::write(&file, "Text.").unwrap();
        let delete_if_unchanged =
            |file: &Path, text: &str| delete_if(file, |now| now == text.as_bytes());
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
        let project = Library::default()
            .with_project(folder.path(), None, None)
            .view();
        let named = Library::named([prompts]).view();
        for (name, of_project, of_named) in [
            ("in", true, true),
            ("link", true, true),
            ("out", false, true),
        ] {
            let is_editable = |view: &View| view.find_exactly(name).unwrap().place().is_editable;
            assert_eq!(
                (is_editable(&project), is_editable(&named)),
                (of_project, of_named),
                "{name}"
            );
        }
    }
}
