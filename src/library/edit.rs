//! New prompt files: which names they may have, and where they lie; and what became of files that an editor had. The only
//! file that writes any.

use super::dir::Dir;
use super::project::FOLDER;
use super::{Library, Problem};
use crate::wording::named;
use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Why a prompt file cannot be made.
#[derive(Debug)]
pub(crate) enum CreateError {
    /// There is such a file, and it stays as it is.
    Exists(PathBuf),
    /// A file or a broken link stands where a folder is needed.
    NoFolder(PathBuf),
    /// A link on the way leads back to a folder that it lies in.
    Loop(PathBuf),
    /// A link on the way leads out of a project's prompts, where nothing is read.
    LeadsOut(PathBuf),
    /// The system refuses to write there.
    Io(PathBuf, io::Error),
}

impl fmt::Display for CreateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = |path: &Path| named(&path.display().to_string());
        match self {
            CreateError::Exists(file) => write!(f, "{} is already there, and stays as it is", path(file)),
            CreateError::NoFolder(place) => {
                write!(
                    f,
                    "{} is no folder, and the new file needs one there; choose another name or place",
                    path(place)
                )
            }
            CreateError::Loop(folder) => {
                write!(f, "a link on the way to {} leads back; choose another name or place", path(folder))
            }
            CreateError::LeadsOut(file) => {
                let file = path(file);
                write!(f, "a link on the way to {file} leads out of the project; choose another name or place")
            }
            CreateError::Io(place, error) => {
                write!(f, "{} cannot be written: {error}; correct that, or choose another place", path(place))
            }
        }
    }
}

impl std::error::Error for CreateError {}

impl Library {
    /// The directory that new prompts go into: the first. `None`, if there is none, such as where no home directory is
    /// known.
    pub(crate) fn first_directory(&self) -> Option<&Path> {
        self.dirs.first().map(|dir| dir.path.as_path())
    }

    /// Whether an editor can do something about what lies at this path: there is a file, and it lies where one sees it.
    pub(crate) fn is_editable(&self, path: &Path) -> bool {
        // To open a FIFO is to wait for its writer. And what is saved behind a link that a project has to elsewhere, would
        // change a file that nobody has named.
        fs::metadata(path).is_ok_and(|file| file.is_file()) && !self.leads_out(path)
    }

    /// What [`Library::check`] tells of one file.
    pub(crate) fn problems_of(&self, file: &Path) -> Vec<Problem> {
        let mut problems = self.check().problems;
        problems.retain(|problem| is_same(&problem.path, file));
        problems
    }
}

/// Whether two paths name one file; where letter case makes no difference, what was typed may differ from what is listed.
fn is_same(a: &Path, b: &Path) -> bool {
    let lower = |path: &Path| path.to_string_lossy().to_lowercase();
    a == b || (cfg!(any(windows, target_os = "macos")) && lower(a) == lower(b))
}

/// What is at the path of a prompt file after others could change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// A file still, or a link, wherever that leads.
    There,
    /// A folder.
    Folder,
    /// Nothing.
    Gone,
}

impl Standing {
    /// What is there now.
    pub(crate) fn of(file: &Path) -> Standing {
        match fs::symlink_metadata(file) {
            Err(_) => Standing::Gone,
            Ok(now) if now.is_dir() => Standing::Folder,
            Ok(_) => Standing::There,
        }
    }
}

/// Makes the file of a new prompt in a directory, and the folders that it needs; gives its path.
///
/// `name` is as [`Name::for_new_file`](crate::prompt::Name::for_new_file) gives it, or that of a built-in prompt. What is there stays as it is, a file that appears in the
/// same moment included.
///
/// # Errors
/// There is such a file, in any spelling of its ending, or it cannot be written. Then there is nothing new but perhaps
/// folders.
pub(crate) fn create(directory: &Path, name: &str, text: &str) -> Result<PathBuf, CreateError> {
    let any = Dir::new(directory.to_owned(), true);
    let is_of_project = directory.file_name().is_some_and(|folder| folder == FOLDER);
    let dir = if is_of_project { Dir::of_project(directory.to_owned()) } else { any.clone() };
    if let Some(file) = dir.locate(name) {
        return Err(CreateError::Exists(file));
    }
    let path = dir.path_for(name).ok_or_else(|| match any.path_for(name) {
        Some(path) => CreateError::LeadsOut(path),
        None => CreateError::Loop(directory.join(name)),
    })?;
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| no_folder(folder, error))?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => CreateError::Exists(path.clone()),
        _ => CreateError::Io(path.clone(), error),
    })?;
    // In one piece: who looks meanwhile sees all of it, or nothing.
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(|error| {
        let _ = fs::remove_file(&path); // a part of a prompt is worse than none
        CreateError::Io(path.clone(), error)
    })?;
    Ok(path)
}

/// Deletes a file that [`create`] made if it is a file still, and holds nothing but this text, which it was made with. Whether
/// it did.
///
/// # Errors
/// It cannot be deleted.
pub(crate) fn take_back(file: &Path, text: &str) -> io::Result<bool> {
    let is_file = fs::symlink_metadata(file).is_ok_and(|now| now.is_file()); // to read a FIFO is to wait for its writer
    let is_as_made = is_file && fs::read(file).is_ok_and(|now| now == text.as_bytes());
    if is_as_made {
        fs::remove_file(file)?;
    }
    Ok(is_as_made)
}

/// Why a folder could not be made: the first step on the way to it that is none, or what the system says.
fn no_folder(folder: &Path, error: io::Error) -> CreateError {
    let mut steps: Vec<&Path> = folder.ancestors().collect();
    steps.reverse();
    let obstacle = steps.into_iter().find(|step| fs::symlink_metadata(step).is_ok() && !step.is_dir());
    match obstacle {
        Some(step) if error.kind() != ErrorKind::PermissionDenied => CreateError::NoFolder(step.to_owned()),
        _ => CreateError::Io(folder.to_owned(), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_made_is_taken_back_only_as_it_was_made() {
        let folder = tempfile::tempdir().unwrap();
        let file = create(folder.path(), "git/a", "Text.\n").unwrap();
        assert_eq!(Standing::of(&file), Standing::There);
        fs::write(&file, "Text.").unwrap();
        assert!(!take_back(&file, "Text.\n").unwrap());
        assert_eq!(fs::read(&file).unwrap(), b"Text.");
        assert!(take_back(&file, "Text.").unwrap());
        assert_eq!(Standing::of(&file), Standing::Gone);
        assert!(!take_back(&file, "Text.").unwrap());
        fs::create_dir(&file).unwrap();
        assert!(!take_back(&file, "Text.").unwrap());
        assert_eq!(Standing::of(&file), Standing::Folder);
        #[cfg(unix)]
        {
            let (target, link) = (folder.path().join("target"), folder.path().join("link.md"));
            fs::write(&target, "Text.").unwrap();
            std::os::unix::fs::symlink(&target, &link).unwrap();
            assert!(!take_back(&link, "Text.").unwrap());
            assert_eq!((Standing::of(&link), Standing::of(&target)), (Standing::There, Standing::There));
        }
    }

    #[test]
    fn the_problems_of_a_file_are_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b, c] = ["a", "b", "c"].map(|name| create(folder.path(), name, "---\n").unwrap());
        fs::write(&c, "Text.").unwrap();
        let library = Library::named([folder.path().to_owned()]);
        for (file, want) in [(&a, vec!["a.md"]), (&b, vec!["b.md"]), (&c, vec![])] {
            let problems = library.problems_of(file);
            assert_eq!(problems.iter().map(|problem| problem.file.as_str()).collect::<Vec<_>>(), want);
        }
    }

    #[cfg(unix)]
    #[test]
    fn an_editor_gets_files_and_nothing_outside_of_a_project() {
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
        let project = Library::default().with_project(folder.path(), None);
        let named = Library::named([prompts.clone()]);
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
