//! Creates prompt files. The only file that writes any.

use super::folder::Folder;
use super::project::FOLDER;
use super::{Problem, View};
use crate::prompt::Name;
use crate::wording::named;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Debug)]
pub(crate) enum CreateError {
    /// There is such a file, and it stays as it is.
    Exists(PathBuf),
    /// There is a file, or a broken link, where a folder is needed.
    NotAFolder(PathBuf),
    /// A symlink in the path points back to a folder that it is in.
    Cycle(PathBuf),
    /// A symlink in the path points outside a project's prompts, where nothing is read.
    Escapes(PathBuf),
    /// The system refuses to write there.
    Io(PathBuf, io::Error),
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Path| named(&path.display().to_string());
        match self {
            CreateError::Exists(file) => write!(f, "{} already exists, and is not changed", path(file)),
            CreateError::NotAFolder(obstacle) => {
                let obstacle = path(obstacle);
                write!(f, "{obstacle} is not a folder, and the new file needs one there; choose another name or folder")
            }
            CreateError::Cycle(folder) => {
                write!(
                    f,
                    "a symlink in {} points back to a folder above it; choose another name or folder",
                    path(folder)
                )
            }
            CreateError::Escapes(file) => {
                let file = path(file);
                write!(f, "a symlink in {file} points outside the project; choose another name or folder")
            }
            CreateError::Io(path_of_error, error) => {
                write!(f, "{} cannot be written: {error}; fix that, or choose another folder", path(path_of_error))
            }
        }
    }
}

impl std::error::Error for CreateError {}

impl View {
    /// Whether an editor may open what is at this path: it is a file, and not reached through a symlink that points
    /// outside a project.
    pub(crate) fn is_editable(&self, path: &Path) -> bool {
        // Opening a FIFO would block. And saving through such a symlink would change a file outside the project.
        fs::metadata(path).is_ok_and(|file| file.is_file()) && !self.sources().any(|source| source.is_escape(path))
    }

    /// What [`View::check`] says of one file.
    pub(crate) fn problems_of(&self, file: &Path) -> Vec<Problem> {
        let mut problems = self.check().problems;
        problems.retain(|problem| is_same_path(&problem.path, file));
        problems
    }
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
pub(crate) fn create(folder: &Path, name: &Name, text: &str) -> Result<PathBuf, CreateError> {
    let any = Folder::new(folder.to_owned(), true, &Arc::default());
    let is_project = folder.file_name().is_some_and(|name| name == FOLDER);
    let target = if is_project { &Folder::of_project(folder.to_owned(), &Arc::default()) } else { &any };
    if let Some(file) = target.resolve(name) {
        return Err(CreateError::Exists(file.path.to_path_buf()));
    }
    let path = target.path_for_new(name).ok_or_else(|| match any.path_for_new(name) {
        Some(path) => CreateError::Escapes(path),
        None => CreateError::Cycle(folder.join(name.as_str())),
    })?;
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| cannot_create_folder(parent, error))?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => CreateError::Exists(path.clone()),
        _ => CreateError::Io(path.clone(), error),
    })?;
    // In one write, so that a reader sees all of it or nothing.
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| {
        let _ = fs::remove_file(&path); // part of a prompt is worse than none
        CreateError::Io(path.clone(), error)
    })?;
    Ok(path)
}

/// Deletes a file that [`create`] made, if it is still a file and holds nothing but the text that it was created with.
/// Returns whether it did.
///
/// # Errors
/// It cannot be deleted.
pub(crate) fn delete_if_unchanged(file: &Path, text: &str) -> io::Result<bool> {
    let is_file = fs::symlink_metadata(file).is_ok_and(|now| now.is_file()); // reading a FIFO would block
    let is_unchanged = is_file && fs::read(file).is_ok_and(|now| now == text.as_bytes());
    if is_unchanged {
        fs::remove_file(file)?;
    }
    Ok(is_unchanged)
}

/// Why a folder could not be created: the first part of its path that is not a folder, else the error of the system.
fn cannot_create_folder(folder: &Path, error: io::Error) -> CreateError {
    let mut parts: Vec<&Path> = folder.ancestors().collect();
    parts.reverse();
    let obstacle = parts.into_iter().find(|part| fs::symlink_metadata(part).is_ok() && !part.is_dir());
    match obstacle {
        Some(part) if error.kind() != ErrorKind::PermissionDenied => CreateError::NotAFolder(part.to_owned()),
        _ => CreateError::Io(folder.to_owned(), error),
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
