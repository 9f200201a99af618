//! The test files next to prompts: `NAME.test.txt`.

use super::open::read_confined;
use super::reach::Reach;
use super::root::{Root, is_hidden};
use super::rows::Rows;
use crate::library::source::{Found, Layer, TestFile};
use crate::prompt::similar::closest;
use crate::prompt::{Diagnostic, Format, Kind, Name, Prompt, TEST_SUFFIX, Tests};
use crate::wording::{named, quoted};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The test file at this path, in a folder with these prompts, which are sorted by name. `rows`
/// holds it instead of the disk.
pub(crate) fn test_file(
    root: &Root,
    rows: Option<Arc<Rows>>,
    path: PathBuf,
    prompts: &[Found],
) -> TestFile {
    let below = root.below(&path);
    let name = below.strip_suffix(TEST_SUFFIX).unwrap_or(&below);
    let found = prompts
        .binary_search_by(|found| (*found.name).cmp(name))
        .map(|index| prompts[index].clone());
    let found = found.map_err(|_| {
        let message = format!(
            "these tests belong to no prompt: there is no {} in this folder of prompts",
            quoted(name)
        );
        let fix = match closest(name, prompts.iter().map(|found| found.name.as_str())) {
            Some(similar) => format!(
                "rename it to {}, or delete it",
                named(&format!("{similar}{TEST_SUFFIX}"))
            ),
            None => format!(
                "name it after a prompt, as in {}, or delete it",
                named(&format!("research{TEST_SUFFIX}"))
            ),
        };
        Diagnostic::new(Kind::Warning, message, fix).in_file(&*path) // no prompt is the worse for it
    });
    TestFile {
        path,
        below,
        found,
        is_read_only: root.is_read_only() || rows.is_some(),
        reach: root.reach.clone(),
        rows,
    }
}

impl TestFile {
    /// The folder of prompts that it is in.
    pub fn folder(&self) -> &Path {
        self.path
            .ancestors()
            .nth(self.below.split('/').count())
            .unwrap_or(&self.path)
    }

    /// The prompt, the tests, and the bytes of the file.
    ///
    /// # Errors
    /// There is no such prompt, its file is broken, or the tests cannot be read or parsed.
    pub fn read(&self) -> Result<(Arc<Prompt>, Tests, Vec<u8>), Diagnostic> {
        let prompt = self.found.as_ref().map_err(Clone::clone)?.prompt()?;
        let bytes = match self.rows.as_ref().and_then(|rows| rows.get(&self.below)) {
            Some(row) => Ok(row.text.as_bytes().to_vec()),
            None => match self.reach.check(&self.path) {
                Ok(()) => read_confined(&self.path, &self.reach),
                Err(refusal) => Err(refusal),
            },
        };
        let tests = bytes.and_then(|bytes| Ok((Tests::parse(&bytes)?, bytes)));
        let (tests, bytes) = tests.map_err(|why| why.in_file(&*self.path))?;
        Ok((prompt, tests, bytes))
    }
}

/// Whether a file has the name of a test file.
pub fn is_test_file(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    name.ends_with(TEST_SUFFIX.as_bytes()) && !is_hidden(path)
}

/// The path of the tests of the prompt with this name, next to its file or its folder.
pub(crate) fn tests_next_to(prompt: &Path, name: &Name) -> PathBuf {
    prompt.with_file_name(format!("{}{TEST_SUFFIX}", last_part(name)))
}

fn last_part(name: &Name) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

impl Found {
    /// Its test file, which may be missing; `None` if the prompt has no file of its own either.
    pub fn test_file(&self) -> Option<TestFile> {
        let file = self.place().file.filter(|_| self.layer != Layer::SERVICE)?;
        let stem = last_part(&self.name);
        let is_in_folder = !file
            .file_name()?
            .to_string_lossy()
            .starts_with(&format!("{stem}."));
        // The tests of a prompt that is a folder are next to the folder.
        let next_to = if is_in_folder { file.parent()? } else { &file };
        let path = tests_next_to(next_to, &self.name);
        let is_read_only = self.format != Format::OWN;
        let below = format!("{}{TEST_SUFFIX}", self.name);
        Some(TestFile {
            path,
            below,
            found: Ok(self.clone()),
            is_read_only,
            reach: Reach::Own,
            rows: None,
        })
    }
}
