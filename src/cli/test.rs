//! `prompt-expander test`: whether prompts expand to what their test files say.

use super::check::finding::findings;
use super::diff::colored;
use super::output::{self, ADDED, ERROR, Reporter, Styled, styled};
use super::source_options::{PromptSource, absolute};
use crate::agents::Agent;
use crate::library::{
    LoadedTests, TestFile, View, is_test_file, replace_if_unchanged, unified_diff,
};
use crate::prompt::{Case, CaseFailure, Diagnostic, MAX_FILE, Name, TextMismatch};
use crate::wording::{count, in_backticks, printable, quoted, with_commas};
use anyhow::bail;
use clap::Args;
use serde::Serialize;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander test                                   run all tests
  prompt-expander test standup                           run those of one prompt
  prompt-expander test --update standup                  expect the texts that there are now
  prompt-expander --prompts .prompts --no-builtin test   run those of a folder, as in CI";

#[derive(Debug, Args)]
pub(super) struct Test {
    /// The prompts whose tests are run, or folders of prompts, or test files; by default all
    /// prompts
    #[arg(value_name = "NAME|DIR")]
    targets: Vec<PathBuf>,
    /// Write the current expansions into the test files: where a text differs, and into cases that
    /// expect nothing yet
    #[arg(long)]
    update: bool,
    /// Print one JSON object: `cases` with prompt, title, file, line, status (`passed`, `failed` or
    /// `updated`) and failures; `problems`, the files that are broken; and the numbers `passed`,
    /// `failed` and `updated`
    #[arg(long)]
    json: bool,
}

/// The results of all test files, in their order.
#[derive(Default)]
struct Results {
    cases: Vec<CaseResult>,
    /// The files that are broken.
    problems: Vec<Diagnostic>,
}

/// A case that was run.
#[derive(Serialize)]
pub(super) struct CaseResult {
    prompt: String,
    title: String,
    file: String,
    line: usize,
    status: CaseStatus,
    failures: Vec<ShownFailure>,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CaseStatus {
    Passed,
    Failed,
    Updated,
}

/// A failure with a diff instead of the two texts.
#[derive(Serialize)]
struct ShownFailure {
    check: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl Test {
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let view = source.library_with_warnings(reporter).view();
        let mut results = Results::default();
        let mut files = Vec::new();
        if self.targets.is_empty() {
            let listing = view.list();
            results.problems.extend(listing.unreadable().cloned());
            files = listing.tests;
        }
        // All targets are found before the first case is run, so that nothing is written if one of
        // them is wrong.
        for target in &self.targets {
            files.extend(test_files(source, target, &view, reporter)?);
        }
        let mode = if self.update {
            Mode::Update
        } else {
            Mode::Compare
        };
        for file in &files {
            match run(file, mode) {
                Ok(cases) => results.cases.extend(cases),
                Err(problem) => results.problems.push(problem),
            }
        }
        if self.json {
            output::print_json(&results.to_json())?;
        } else {
            // Lines of a diff are not broken.
            output::print(&results.cases.iter().map(CaseResult::text).collect())?;
            output::print_lines(&results.summary())?;
            results.note_next_step(!files.is_empty(), reporter);
        }
        if results.has_failures() {
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Returns the test files of a target: the name of a prompt, a folder of prompts, or a test file.
///
/// # Errors
/// There is no such prompt, or it has no tests.
fn test_files(
    source: &PromptSource,
    target: &Path,
    view: &View,
    reporter: &Reporter,
) -> anyhow::Result<Vec<TestFile>> {
    if !is_name_of_prompt(target, view) {
        let path = absolute(target);
        if path.is_dir() {
            return Ok(source.library_of(None, path).view().list().tests);
        }
        if let Some(tests) = tests_in_file(source, &path) {
            return Ok(tests);
        }
    }
    let found = view
        .find(&target.to_string_lossy())
        .map_err(reporter.prompt_error(view, "test"))?;
    let Some(tests) = view.test_file(&found) else {
        let name = &found.name;
        bail!(
            "{} has no test file; `prompt-expander new --test {name}` creates one",
            in_backticks(name)
        );
    };
    Ok(vec![tests])
}

fn is_name_of_prompt(target: &Path, view: &View) -> bool {
    let Some(Ok(name)) = target.to_str().map(Name::new) else {
        return false;
    };
    view.get(&name).is_some()
}

/// Returns the tests in a file; `None` if it is not a test file.
pub(super) fn tests_in_file(source: &PromptSource, path: &Path) -> Option<Vec<TestFile>> {
    if !is_test_file(path) || !path.is_file() {
        return None;
    }
    let folder = path.parent()?.to_owned();
    let mut tests = source.library_of(None, folder).view().list().tests;
    tests.retain(|tests| tests.path == path);
    Some(tests)
}

impl Results {
    fn count(&self, status: CaseStatus) -> usize {
        let cases = self.cases.iter();
        cases.filter(|case| case.status == status).count()
    }

    fn has_failures(&self) -> bool {
        self.count(CaseStatus::Failed) > 0 || !self.problems.is_empty()
    }

    fn to_json(&self) -> Value {
        json!({
            "cases": self.cases,
            "problems": self.problems,
            "passed": self.count(CaseStatus::Passed),
            "failed": self.count(CaseStatus::Failed),
            "updated": self.count(CaseStatus::Updated),
        })
    }

    /// Returns the broken files and the counts.
    fn summary(&self) -> Styled {
        let mut summary = findings(&self.problems);
        summary.push(format!(
            "{} passed, {} failed",
            self.count(CaseStatus::Passed),
            self.count(CaseStatus::Failed)
        ));
        let updated = self.count(CaseStatus::Updated);
        if updated > 0 {
            summary.push(format!(", {updated} updated"));
        }
        if !self.problems.is_empty() {
            summary.push(format!(", {}", count(self.problems.len(), "problem")));
        }
        summary.plain("\n")
    }

    /// Says how to create tests, or how to accept the texts that differ.
    fn note_next_step(&self, has_files: bool, reporter: &Reporter) {
        if !has_files {
            reporter.note("there are no test files; `prompt-expander new --test NAME` creates one");
            return;
        }
        let mut failures = self.cases.iter().flat_map(|case| &case.failures);
        if failures.any(|failure| failure.diff.is_some()) {
            reporter.note(
                "if the expansions are right, `prompt-expander test --update` writes them into the test files",
            );
        }
    }
}

/// What is done with a text that differs from what a case expects.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Mode {
    /// The case fails.
    Compare,
    /// The case gets the text, and so does one that expects nothing yet.
    Update,
}

/// Runs the tests in a file.
///
/// # Errors
/// The prompt or the test file is broken, or the new texts cannot be written into the file.
pub(super) fn run(file: &TestFile, mode: Mode) -> Result<Vec<CaseResult>, Diagnostic> {
    let loaded = file.read()?;
    let found = file.found.as_ref().map_err(Clone::clone)?;
    let mut results = Vec::new();
    let mut new_texts = BTreeMap::new();
    for (index, case) in loaded.tests.cases.iter().enumerate() {
        let prompt = &loaded.prompt;
        let outcome = case.run(prompt, |call| Ok(found.expand(prompt, call)?.messages));
        let mut failures = outcome.failures;
        let mut passed = CaseStatus::Passed;
        if let Some(expansion) = outcome.expansion {
            failures.extend(limit_failures(case, &expansion));
            let is_new = case.can_update_text() && !case.text_matches(&expansion);
            if is_new && mode == Mode::Update {
                failures.retain(|failure| failure.mismatch.is_none());
                new_texts.insert(index, expansion);
                passed = CaseStatus::Updated;
            }
        }
        results.push(CaseResult {
            prompt: prompt.name.to_string(),
            title: case.title.clone(),
            file: file.path.display().to_string(),
            line: case.line,
            status: if failures.is_empty() {
                passed
            } else {
                CaseStatus::Failed
            },
            failures: failures.into_iter().map(ShownFailure::from).collect(),
        });
    }
    if !new_texts.is_empty() {
        write_texts(file, &loaded, &new_texts)?;
    }
    Ok(results)
}

/// Writes the texts that cases expect into their file. The keys are the indices of the cases.
fn write_texts(
    file: &TestFile,
    loaded: &LoadedTests,
    texts: &BTreeMap<usize, String>,
) -> Result<(), Diagnostic> {
    if file.is_read_only {
        return Err(write_error(
            file,
            "it is in another program's folder, and nothing is written there",
            "edit it yourself",
        ));
    }
    let text = loaded.tests.with_updated_texts(texts);
    if text.len() > MAX_FILE {
        return Err(write_error(
            file,
            "it would become too long",
            "use `--- contains` instead of long texts",
        ));
    }
    match replace_if_unchanged(&file.path, &loaded.bytes, &text) {
        Ok(true) => Ok(()),
        Ok(false) => Err(write_error(
            file,
            "it has just been changed, and is not written",
            "run the command again",
        )),
        Err(error) => Err(write_error(
            file,
            &format!("it cannot be written: {error}"),
            "correct the permissions of the file and its folder",
        )),
    }
}

fn write_error(file: &TestFile, message: &str, fix: &str) -> Diagnostic {
    Diagnostic::error(None, message, fix).in_file(&*file.path)
}

/// Returns what is wrong with a test file, as far as that shows without running it. A broken prompt
/// is reported by its own check.
pub(super) fn problem(file: &TestFile) -> Option<Diagnostic> {
    let diagnostic = file.read().err()?;
    let is_of_file = diagnostic.file.as_deref() == Some(&file.path);
    is_of_file.then_some(diagnostic)
}

/// Returns a failure for each agent of a case that would get the expansion in several parts.
fn limit_failures(case: &Case, expansion: &str) -> Vec<CaseFailure> {
    let mut failures = Vec::new();
    for agent in &case.clients {
        if let Some(message) = limit_message(agent, expansion) {
            failures.push(CaseFailure {
                check: "client",
                message,
                mismatch: None,
            });
        }
    }
    failures
}

/// Returns why an agent would not get all of an expansion in one result of the tool.
fn limit_message(agent: &str, expansion: &str) -> Option<String> {
    let Some(part) = Agent::named(agent).and_then(|agent| agent.part_limit) else {
        return Some(format!("no limit of an agent {} is known", quoted(agent)));
    };
    let length = part.length(expansion);
    if length <= part.max {
        return None;
    }
    Some(format!(
        "{agent} gets it in parts: it has {} {}, a part has at most {}",
        with_commas(length),
        part.unit.name(),
        with_commas(part.max)
    ))
}

impl From<CaseFailure> for ShownFailure {
    fn from(failure: CaseFailure) -> ShownFailure {
        let diff = failure.mismatch.map(|TextMismatch { expected, actual }| {
            let expected = with_line_end(expected);
            let actual = with_line_end(actual);
            unified_diff(("expected", &expected), ("expansion", &actual))
        });
        ShownFailure {
            check: failure.check,
            message: failure.message,
            diff,
        }
    }
}

/// Ends a text with a line break, unless it is empty.
fn with_line_end(mut text: String) -> String {
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

impl CaseResult {
    /// Returns a line with the status, and what differs.
    fn text(&self) -> Styled {
        let name = format!("{}: {}", self.prompt, printable(&self.title));
        let file = output::display_path(Path::new(&self.file));
        let place = format!("({file}:{})", self.line);
        let mut text = match self.status {
            CaseStatus::Passed => styled(ADDED, "ok").plain(format!("    {name}\n")),
            CaseStatus::Updated => styled(ADDED, "updated").plain(format!(" {name} {place}\n")),
            CaseStatus::Failed => styled(ERROR, "FAIL").plain(format!("  {name} {place}\n")),
        };
        for failure in &self.failures {
            let message = printable(&failure.message);
            text.push(format!("  {}: {message}\n", failure.check));
            if let Some(diff) = &failure.diff {
                for line in diff.lines() {
                    text.push("  ");
                    text.append(colored(line));
                }
            }
        }
        text
    }
}
