//! The test files next to prompts: `NAME.test.txt`.

use super::folder::{Folder, escapes, is_hidden};
use super::{Layer, Location, Problem, SourceView, View, read};
use crate::prompt::suggestion::closest;
use crate::prompt::{
    Call, Diagnostic, ExpandError, MAX_FILE, Messages, Name, Piece, Prompt, TEST_SUFFIX, Tests, tests_too_large,
};
use crate::wording::{named, quoted};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A test file in a folder of prompts. It belongs to the prompt of its name in that folder, whether or not an earlier folder
/// overrides the prompt.
#[derive(Debug)]
pub(crate) struct TestFile<'v> {
    /// The name of its prompt, if it can be one.
    pub(crate) name: Result<Name, String>,
    /// Its path below the prompts folder, `/`-separated.
    pub(crate) file: String,
    /// Its whole path.
    pub(crate) path: PathBuf,
    source: &'v dyn SourceView,
    folder: &'v Folder,
}

/// Why the tests in a file cannot be run.
#[derive(Debug)]
pub(crate) enum TestFileError {
    /// No prompt of its folder has its name.
    NoPrompt(Problem),
    /// The file of the prompt is broken.
    BrokenPrompt(Problem),
    /// The file cannot be read or parsed.
    Broken(Problem),
}

impl TestFileError {
    pub(crate) fn into_problem(self) -> Problem {
        match self {
            TestFileError::NoPrompt(problem)
            | TestFileError::BrokenPrompt(problem)
            | TestFileError::Broken(problem) => problem,
        }
    }
}

impl View {
    /// The test files of all folders, those of each folder sorted by path.
    pub(crate) fn test_files(&self) -> Vec<TestFile<'_>> {
        self.sources().flat_map(test_files_of).collect()
    }

    /// The test file of the prompt with exactly this name, which may be missing; `None` if the prompt has no file either.
    pub(crate) fn test_file(&self, name: &Name) -> Option<TestFile<'_>> {
        let source = self.sources().find(|source| source.locate(name).is_some())?;
        let Some(Location::File(_)) = source.locate(name) else { return None };
        let folder = source.folder()?;
        Some(TestFile::new(source, folder, folder.test_path(name)?))
    }

    /// The test file at this path, in one of the folders.
    pub(crate) fn test_file_at(&self, path: &Path) -> Option<TestFile<'_>> {
        self.sources().find_map(|source| {
            let folder = source.folder().filter(|folder| path.starts_with(&folder.path))?;
            Some(TestFile::new(source, folder, path.to_owned()))
        })
    }
}

fn test_files_of(source: &dyn SourceView) -> Vec<TestFile<'_>> {
    let Some(folder) = source.folder() else { return Vec::new() };
    let mut paths = Vec::new();
    for scanned in source.scanned_folders() {
        let entries = fs::read_dir(scanned).into_iter().flatten().flatten(); // the scan reported what cannot be read
        paths.extend(entries.map(|entry| entry.path()).filter(|path| is_test_file(path) && !path.is_dir()));
    }
    paths.sort();
    paths.into_iter().map(|path| TestFile::new(source, folder, path)).collect()
}

/// Whether a file has the name of a test file.
pub(crate) fn is_test_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.ends_with(TEST_SUFFIX.as_bytes()) && !is_hidden(path)
}

impl Folder {
    /// Where the test file of a prompt with this name belongs; `None` where the prompt would not be read.
    pub(super) fn test_path(&self, name: &Name) -> Option<PathBuf> {
        Some(self.path_for_new(name)?.with_extension(TEST_SUFFIX.trim_start_matches('.')))
    }
}

impl<'v> TestFile<'v> {
    fn new(source: &'v dyn SourceView, folder: &'v Folder, path: PathBuf) -> TestFile<'v> {
        let below = path.strip_prefix(&folder.path).unwrap_or(&path);
        let file = below.iter().map(|part| part.to_string_lossy()).collect::<Vec<_>>().join("/");
        let name = file.strip_suffix(TEST_SUFFIX).unwrap_or(&file);
        let name = Name::new(name).map_err(|_| name.to_owned());
        TestFile { name, file, path, source, folder }
    }

    /// The folder of prompts.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder.path
    }

    /// The program, other than this one, whose prompts the folder has.
    pub(crate) fn other_program(&self) -> Option<&'static str> {
        self.folder.is_read_only().then(|| self.folder.system.title())
    }

    /// Whether there is such a file, or a broken link.
    pub(crate) fn exists(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    /// Its prompt, if there is one; `Err` if the file of the prompt is broken.
    pub(crate) fn prompt(&self) -> Option<Result<Arc<Prompt>, Problem>> {
        self.source.get(self.name.as_ref().ok()?)
    }

    /// The prompt, the tests, and the bytes of the file.
    ///
    /// # Errors
    /// See [`TestFileError`].
    pub(crate) fn read(&self) -> Result<(Arc<Prompt>, Tests, Vec<u8>), TestFileError> {
        let prompt = self.prompt().ok_or_else(|| TestFileError::NoPrompt(self.no_prompt()))?;
        let prompt = prompt.map_err(TestFileError::BrokenPrompt)?;
        let broken = |diagnostic| TestFileError::Broken(self.problem(diagnostic));
        let bytes = self.bytes().map_err(broken)?;
        let tests = Tests::parse(&bytes).map_err(broken)?;
        Ok((prompt, tests, bytes))
    }

    /// The expansion of its prompt, with the attachments, which are read now.
    ///
    /// # Errors
    /// See [`View::expand`].
    pub(crate) fn expand(&self, prompt: &Prompt, call: Call<'_>) -> Result<Messages, ExpandError> {
        self.source.expand(prompt, call, &|pieces| pieces.map(Piece::as_str).collect())
    }

    /// A problem with this file.
    pub(crate) fn problem(&self, diagnostic: Diagnostic) -> Problem {
        Problem { file: self.file.clone(), path: self.path.clone(), diagnostic }
    }

    fn no_prompt(&self) -> Problem {
        let name = match &self.name {
            Ok(name) => named(name),
            Err(name) => quoted(name),
        };
        let message = format!("these tests belong to no prompt: there is no {name} in this folder of prompts");
        let listing = self.source.list();
        let names = listing.entries.iter().map(|entry| entry.name().as_str());
        let similar = self.name.as_ref().ok().and_then(|name| closest(name, names));
        let fix = match similar {
            Some(similar) => format!("rename it to {}, or delete it", named(&format!("{similar}{TEST_SUFFIX}"))),
            None => format!("name it after a prompt, as in {}, or delete it", named(&format!("research{TEST_SUFFIX}"))),
        };
        self.problem(Diagnostic::error(None, message, fix))
    }

    fn bytes(&self) -> Result<Vec<u8>, Diagnostic> {
        if let Ok(file) = fs::metadata(&self.path) {
            if !file.is_file() {
                let fix = "put a text file in its place, or rename it";
                return Err(Diagnostic::error(None, "it is not a regular file", fix));
            }
            if file.len() > MAX_FILE as u64 {
                return Err(tests_too_large(file.len()));
            }
        }
        if let Some(target) = self.folder.escape(&self.path) {
            return Err(escapes(&target));
        }
        let content = read::read(&self.path, |open| match self.folder.layer {
            Layer::Project => self.folder.escape_of_open_file(open).map_or(Ok(()), |target| Err(escapes(&target))),
            _ => Ok(()),
        });
        Ok(content?.bytes)
    }
}
