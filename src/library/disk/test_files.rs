//! The test files next to prompts, named `NAME.test.txt`.

use super::open::read_confined;
use super::prompt_file::Files;
use super::reach::Reach;
use super::root::{is_hidden, last_part};
use crate::library::source::{Found, Layer, TestFile};
use crate::prompt::similar::closest;
use crate::prompt::{Diagnostic, Format, Kind, Name, Prompt, TEST_SUFFIX, Tests};
use crate::wording::{in_backticks, quoted};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A parsed test file and the prompt that it tests.
#[derive(Debug)]
pub struct LoadedTests {
    /// The prompt under test.
    pub prompt: Arc<Prompt>,
    /// The parsed tests.
    pub tests: Tests,
    /// The raw contents of the test file.
    pub bytes: Vec<u8>,
}

/// Returns the test file at `path`, together with the prompt that it tests: `git/x.test.txt` tests
/// `git/x`.
///
/// `prompts` are all prompts of the folder, sorted by name. If the prompt doesn't exist,
/// [`TestFile::found`] contains a warning instead.
pub(crate) fn test_file(files: &Files, path: PathBuf, prompts: &[Found]) -> TestFile {
    let root = &files.root;
    let relative_path = root.relative_path(&path);
    let name = relative_path
        .strip_suffix(TEST_SUFFIX)
        .unwrap_or(&relative_path);
    let found = match prompts.binary_search_by(|found| (*found.name).cmp(name)) {
        Ok(index) => Ok(prompts[index].clone()),
        Err(_) => Err(no_prompt_for_tests(name, prompts).in_file(&*path)),
    };
    TestFile {
        path,
        relative_path,
        found,
        is_read_only: root.is_read_only() || files.memory_files.is_some(),
        reach: root.reach.clone(),
        memory_files: files.memory_files.clone(),
    }
}

/// Returns the warning for a test file without a prompt. `name` is the missing prompt. Suggests a
/// similar one if possible.
fn no_prompt_for_tests(name: &str, prompts: &[Found]) -> Diagnostic {
    let message = format!(
        "these tests have no prompt: there is no {} in this folder of prompts",
        quoted(name)
    );
    let names = prompts.iter().map(|found| found.name.as_str());
    let fix = match closest(name, names) {
        Some(similar) => {
            let file_name = in_backticks(&format!("{similar}{TEST_SUFFIX}"));
            format!("rename it to {file_name}, or delete it")
        }
        None => {
            let file_name = in_backticks(&format!("research{TEST_SUFFIX}"));
            format!("name it after a prompt, as in {file_name}, or delete it")
        }
    };
    Diagnostic::new(Kind::Warning, message, fix)
}

impl TestFile {
    /// Returns the prompts folder that contains the test file.
    pub fn folder(&self) -> &Path {
        let depth = self.relative_path.split('/').count();
        self.path.ancestors().nth(depth).unwrap_or(&self.path)
    }

    /// Reads and parses the tests and their prompt.
    ///
    /// # Errors
    /// Fails if the prompt doesn't exist, or if either file can't be read or parsed.
    pub fn read(&self) -> Result<LoadedTests, Diagnostic> {
        let prompt = match &self.found {
            Ok(found) => found.prompt()?,
            Err(diagnostic) => return Err(diagnostic.clone()),
        };
        let bytes = self
            .read_bytes()
            .map_err(|error| error.in_file(&*self.path))?;
        let tests = Tests::parse(&bytes).map_err(|error| error.in_file(&*self.path))?;
        Ok(LoadedTests {
            prompt,
            tests,
            bytes,
        })
    }

    /// Reads the file from memory or from disk.
    ///
    /// # Errors
    /// Fails if the file can't be read, or is a symlink that leads out of the readable folders.
    fn read_bytes(&self) -> Result<Vec<u8>, Diagnostic> {
        if let Some(memory_files) = &self.memory_files
            && let Some(row) = memory_files.get(&self.relative_path)
        {
            return Ok(row.text.as_bytes().to_vec());
        }
        self.reach.check(&self.path)?;
        read_confined(&self.path, &self.reach)
    }
}

/// Returns whether a file is a test file, judging by its name.
pub fn is_test_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.ends_with(TEST_SUFFIX.as_bytes()) && !is_hidden(path)
}

/// Returns the path of a prompt's tests: `git/x.test.txt` for the file `git/x.md`. If the prompt is
/// a folder, pass the path of that folder.
pub(crate) fn tests_next_to(prompt: &Path, name: &Name) -> PathBuf {
    prompt.with_file_name(format!("{}{TEST_SUFFIX}", last_part(name)))
}

impl Found {
    /// Returns the test file of the prompt, which may not exist. Returns `None` if the prompt has
    /// no file of its own.
    pub fn test_file(&self) -> Option<TestFile> {
        if self.layer == Layer::SERVICE {
            return None;
        }
        let mut prompt = self.location().file?;
        let file_name = prompt.file_name()?.to_string_lossy();
        let is_named_after_prompt = file_name.starts_with(&format!("{}.", last_part(&self.name)));
        if !is_named_after_prompt {
            // The file is, e.g., a `SKILL.md`, so the folder is the prompt.
            prompt = prompt.parent()?.to_owned();
        }
        Some(TestFile {
            path: tests_next_to(&prompt, &self.name),
            relative_path: format!("{}{TEST_SUFFIX}", self.name),
            found: Ok(self.clone()),
            is_read_only: self.format != Format::OWN,
            reach: Reach::Unrestricted,
            memory_files: None,
        })
    }
}
