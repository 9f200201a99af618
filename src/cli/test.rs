//! `prompt-expander test`: checks that prompts expand to what their test files expect.

use super::check::finding::format_findings;
use super::diff::colored;
use super::output::{self, ADDED, ERROR, Reporter, Styled, styled};
use super::source_options::{PromptSource, absolute};
use crate::agents::Agent;
use crate::library::{
    Found, LoadedTests, TestFile, View, is_test_file, replace_if_unchanged, unified_diff,
};
use crate::prompt::{Case, CaseFailure, Diagnostic, MAX_FILE, Name, Prompt, TextMismatch};
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
  prompt-expander test --update standup                  accept the current expansions
  prompt-expander --prompts .prompts --no-builtin test   run those of a folder, as in CI";

#[derive(Debug, Args)]
pub(super) struct Test {
    /// The prompts to test: names, folders of prompts, or test files; by default, all prompts
    #[arg(value_name = "NAME|DIR")]
    targets: Vec<PathBuf>,
    /// Write the current expansions into the test files, for cases whose expansion differs or that
    /// expect nothing yet
    #[arg(long)]
    update: bool,
    /// Print one JSON object with `cases`, each with prompt, title, file, line, status (`passed`,
    /// `failed` or `updated`) and failures; with `problems`, the broken test files; and with the
    /// numbers `passed`, `failed` and `updated`
    #[arg(long)]
    json: bool,
}

/// The results of all test files, in order.
#[derive(Default)]
struct Results {
    cases: Vec<CaseResult>,
    /// The errors of invalid files.
    problems: Vec<Diagnostic>,
}

/// The result of one test case.
#[derive(Serialize)]
pub(super) struct CaseResult {
    prompt: String,
    title: String,
    file: String,
    line: usize,
    status: CaseStatus,
    failures: Vec<FailureWithDiff>,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CaseStatus {
    Passed,
    Failed,
    Updated,
}

/// A failed check of a test case, as it is printed: with a diff in place of the two texts.
#[derive(Serialize)]
struct FailureWithDiff {
    check: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl Test {
    /// Finds the test files for the targets, runs them, and prints the results.
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let mut results = Results::default();
        // All targets, before any test runs, so that nothing is written if one is invalid.
        let files = self.find_all_test_files(source, &mut results, reporter)?;
        let mode = if self.update {
            TestMode::Update
        } else {
            TestMode::Compare
        };
        for file in &files {
            match run_tests(file, mode) {
                Ok(cases) => results.cases.extend(cases),
                Err(problem) => results.problems.push(problem),
            }
        }
        if self.json {
            output::print_json(&results.to_json())?;
        } else {
            results.print()?;
            if files.is_empty() {
                reporter
                    .note("there are no test files; `prompt-expander new --test NAME` creates one");
            } else {
                results.note_how_to_update(reporter);
            }
        }
        if results.has_failures() {
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Finds the test files for all targets. Without targets, finds those of all prompts, and adds
    /// the errors of files that can't be read to the results.
    ///
    /// # Errors
    /// Fails if a target has no tests.
    fn find_all_test_files(
        &self,
        source: &PromptSource,
        results: &mut Results,
        reporter: &Reporter,
    ) -> anyhow::Result<Vec<TestFile>> {
        let view = source.library_with_warnings(reporter).view();
        if self.targets.is_empty() {
            let listing = view.list();
            results.problems.extend(listing.unreadable().cloned());
            return Ok(listing.tests);
        }
        let mut files = Vec::new();
        for target in &self.targets {
            files.extend(find_test_files(source, target, &view, reporter)?);
        }
        Ok(files)
    }
}

/// Finds the test files for a target: the name of a prompt, a folder of prompts, or a test file. If
/// a prompt and a folder have the same name, chooses the prompt.
///
/// # Errors
/// Fails if there is no such prompt, or if it has no tests.
fn find_test_files(
    source: &PromptSource,
    target: &Path,
    view: &View,
    reporter: &Reporter,
) -> anyhow::Result<Vec<TestFile>> {
    if !is_exact_name(target, view) {
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

/// Returns whether a target is the full name of a prompt.
fn is_exact_name(target: &Path, view: &View) -> bool {
    let Some(Ok(name)) = target.to_str().map(Name::new) else {
        return false;
    };
    view.get(&name).is_some()
}

/// Returns the tests in a file, or `None` if it isn't a test file.
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

    /// Prints the results of all cases, and a summary.
    fn print(&self) -> anyhow::Result<()> {
        // `output::print` doesn't wrap lines, which would break the diffs.
        output::print(&self.cases.iter().map(CaseResult::format).collect())?;
        output::print_lines(&self.format_summary())
    }

    /// Formats the errors of invalid files, and a line that counts the results.
    fn format_summary(&self) -> Styled {
        let mut summary = format_findings(&self.problems);
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

    /// If an expansion differs from the expected text, tells how to update the test file.
    fn note_how_to_update(&self, reporter: &Reporter) {
        let mut failures = self.cases.iter().flat_map(|case| &case.failures);
        if failures.any(|failure| failure.diff.is_some()) {
            reporter.note(
                "if the expansions are right, `prompt-expander test --update` writes them into the test files",
            );
        }
    }
}

/// What to do if an expansion differs from the expected text.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum TestMode {
    /// Let the test case fail.
    Compare,
    /// Write the expansion into the test case, even if it doesn't expect anything yet.
    Update,
}

/// Runs the tests in a file and, depending on the mode, updates the file.
///
/// # Errors
/// Fails if the prompt or the test file is invalid, or if the file can't be updated. A failed test
/// is not an error.
pub(super) fn run_tests(file: &TestFile, mode: TestMode) -> Result<Vec<CaseResult>, Diagnostic> {
    let loaded = file.read()?;
    let found = file.found.as_ref().map_err(Clone::clone)?;
    let prompt = &loaded.prompt;
    let mut results = Vec::new();
    let mut new_texts = BTreeMap::new(); // by the index of the case
    for (index, case) in loaded.tests.cases.iter().enumerate() {
        let CaseRun { failures, new_text } = run_case(case, found, prompt, mode);
        let status = if !failures.is_empty() {
            CaseStatus::Failed
        } else if new_text.is_some() {
            CaseStatus::Updated
        } else {
            CaseStatus::Passed
        };
        // Even a failed case is updated: the failures have other reasons than the text.
        if let Some(new_text) = new_text {
            new_texts.insert(index, new_text);
        }
        results.push(CaseResult {
            prompt: prompt.name.to_string(),
            title: case.title.clone(),
            file: file.path.display().to_string(),
            line: case.line,
            status,
            failures: failures.into_iter().map(FailureWithDiff::from).collect(),
        });
    }
    if !new_texts.is_empty() {
        write_expected_texts(file, &loaded, &new_texts)?;
    }
    Ok(results)
}

/// The outcome of running a test case in a [`TestMode`].
struct CaseRun {
    failures: Vec<CaseFailure>,
    /// The text to write into the case; only with [`TestMode::Update`], and if it differs.
    new_text: Option<String>,
}

/// Runs a test case: expands the prompt, and checks the result.
fn run_case(case: &Case, found: &Found, prompt: &Prompt, mode: TestMode) -> CaseRun {
    let outcome = case.run(prompt, |call| Ok(found.expand(prompt, call)?.messages));
    let mut failures = outcome.failures;
    let Some(expansion) = outcome.expansion else {
        return CaseRun {
            failures,
            new_text: None,
        };
    };
    failures.extend(limit_failures(case, &expansion));
    let is_outdated = case.can_update_text() && !case.text_matches(&expansion);
    if mode == TestMode::Compare || !is_outdated {
        return CaseRun {
            failures,
            new_text: None,
        };
    }
    // Once the text is updated, it no longer fails. Keep the failures of other checks.
    failures.retain(|failure| failure.mismatch.is_none());
    CaseRun {
        failures,
        new_text: Some(expansion),
    }
}

/// Replaces the expected texts of test cases in their file. The keys are the indices of the cases.
fn write_expected_texts(
    file: &TestFile,
    loaded: &LoadedTests,
    new_texts: &BTreeMap<usize, String>,
) -> Result<(), Diagnostic> {
    if file.is_read_only {
        return Err(write_error(
            file,
            "it is in another program's folder, and nothing is written there",
            "edit it yourself",
        ));
    }
    let text = loaded.tests.with_updated_texts(new_texts);
    if text.len() > MAX_FILE {
        return Err(write_error(
            file,
            "it would become too long",
            "use `--- contains` instead of long texts",
        ));
    }
    match replace_if_unchanged(&file.path, &loaded.bytes, &text) {
        Ok(true) => Ok(()),
        // Another program has written the file since it was loaded.
        Ok(false) => Err(write_error(
            file,
            "it was changed in the meantime, so it was not written",
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
    Diagnostic::invalid(message, fix).in_file(&*file.path)
}

/// Returns the error of an invalid test file, without running its tests. Ignores an error of the
/// prompt, which is checked on its own.
pub(super) fn check(file: &TestFile) -> Option<Diagnostic> {
    let error = file.read().err()?;
    let is_about_test_file = error.file.as_deref() == Some(&file.path);
    if is_about_test_file {
        Some(error)
    } else {
        None
    }
}

/// Returns a failure for each agent in the case's `client` check that would get the expansion in
/// several parts.
fn limit_failures(case: &Case, expansion: &str) -> Vec<CaseFailure> {
    let mut failures = Vec::new();
    for agent in &case.clients {
        if let Some(message) = exceeds_limit(agent, expansion) {
            failures.push(CaseFailure {
                check: "client",
                message,
                mismatch: None,
            });
        }
    }
    failures
}

/// Returns a message if an agent wouldn't get the whole expansion in one result of `expand_prompt`,
/// or if its limit is unknown.
fn exceeds_limit(agent: &str, expansion: &str) -> Option<String> {
    let Some(limit) = Agent::by_name(agent).and_then(|agent| agent.part_limit) else {
        return Some(format!("no limit of an agent {} is known", quoted(agent)));
    };
    let length = limit.length(expansion);
    if length <= limit.max {
        return None;
    }
    Some(format!(
        "{agent} gets it in parts: it has {} {}, a part has at most {}",
        with_commas(length),
        limit.unit.name(),
        with_commas(limit.max)
    ))
}

impl From<CaseFailure> for FailureWithDiff {
    fn from(failure: CaseFailure) -> FailureWithDiff {
        let diff = failure.mismatch.map(|TextMismatch { expected, actual }| {
            let expected = with_final_newline(expected);
            let actual = with_final_newline(actual);
            unified_diff(("expected", &expected), ("expansion", &actual))
        });
        FailureWithDiff {
            check: failure.check,
            message: failure.message,
            diff,
        }
    }
}

/// Appends a newline to a text, unless it is empty.
fn with_final_newline(mut text: String) -> String {
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

impl CaseResult {
    /// Formats the result: a line with the status, and the failures with their diffs.
    fn format(&self) -> Styled {
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
