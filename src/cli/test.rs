//! `prompt-expander test`: whether prompts expand to what their test files say.

use super::diff;
use super::output::{self, ADDED, ERROR, Reporter, Styled, styled};
use super::source::{PromptSource, absolute};
use crate::agents::Agent;
use crate::library::{LoadedTests, TestFile, View, difference, is_test_file, replace};
use crate::prompt::{Diagnostic, Failure, MAX_FILE, Name, Outcome};
use crate::wording::{count, named, printable, quoted, thousands};
use anyhow::bail;
use clap::Args;
use serde::Serialize;
use serde_json::json;
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

/// What was found, in the order of the files.
#[derive(Default)]
struct Results {
    cases: Vec<Tested>,
    problems: Vec<Diagnostic>,
}

/// A case that was run.
#[derive(Serialize)]
pub(super) struct Tested {
    prompt: String,
    title: String,
    file: String,
    line: usize,
    status: Status,
    failures: Vec<ShownFailure>,
}

#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
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
        let mut all = Results::default();
        // All of them before the first is run, so that nothing is written if one is wrong.
        let targets = self
            .targets
            .iter()
            .map(|target| test_files(source, target, &view, reporter));
        let mut files: Vec<TestFile> = targets
            .collect::<anyhow::Result<Vec<_>>>()?
            .into_iter()
            .flatten()
            .collect();
        if self.targets.is_empty() {
            let listing = view.list();
            all.problems.extend(listing.unreadable().cloned());
            files = listing.tests;
        }
        for file in &files {
            match run(file, self.update) {
                Ok(cases) => all.cases.extend(cases),
                Err(problem) => all.problems.push(problem),
            }
        }
        let [passed, failed, updated] =
            [Status::Passed, Status::Failed, Status::Updated].map(|it| all.count(it));
        let has_failed = failed > 0 || !all.problems.is_empty();
        if self.json {
            output::print_json(&json!({
                "cases": all.cases, "problems": all.problems, "passed": passed, "failed": failed, "updated": updated
            }))?;
        } else {
            output::print(&all.text())?;
            if files.is_empty() {
                reporter
                    .note("there are no test files; `prompt-expander new --test NAME` creates one");
            } else if all
                .cases
                .iter()
                .flat_map(|case| &case.failures)
                .any(|failure| failure.diff.is_some())
            {
                reporter.note(
                    "if the expansions are right, `prompt-expander test --update` writes them into the test files",
                );
            }
        }
        Ok(if has_failed {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }
}

/// The test files that were named.
fn test_files(
    source: &PromptSource,
    written: &Path,
    view: &View,
    reporter: &Reporter,
) -> anyhow::Result<Vec<TestFile>> {
    let path = absolute(written);
    let name = written.to_str().and_then(|name| Name::new(name).ok());
    if name.is_none_or(|name| view.get(&name).is_none()) {
        if path.is_dir() {
            return Ok(source.library_of(None, path).view().list().tests);
        }
        if let Some(tests) = file(source, &path) {
            return Ok(tests);
        }
    }
    let found = view
        .find(&written.to_string_lossy())
        .map_err(reporter.failure(view, "test"))?;
    match view.test_file(&found) {
        Some(tests) => Ok(vec![tests]),
        None => {
            bail!(
                "{0} has no test file; `prompt-expander new --test {1}` creates one",
                named(&found.name),
                found.name
            )
        }
    }
}

/// The tests in this file, if it has the name of a test file.
pub(super) fn file(source: &PromptSource, path: &Path) -> Option<Vec<TestFile>> {
    let folder = path
        .parent()
        .filter(|_| is_test_file(path) && path.is_file())?;
    let library = source.library_of(None, folder.to_owned());
    let mut tests = library.view().list().tests;
    tests.retain(|tests| tests.path == path);
    Some(tests)
}

impl Results {
    fn count(&self, status: Status) -> usize {
        self.cases
            .iter()
            .filter(|case| case.status == status)
            .count()
    }

    fn text(&self) -> Styled {
        let cases = self.cases.iter().map(Tested::text);
        let mut text: Styled = cases
            .chain(self.problems.iter().map(output::problem_in_two_lines))
            .collect();
        text.push(format!(
            "{} passed, {} failed",
            self.count(Status::Passed),
            self.count(Status::Failed)
        ));
        if self.count(Status::Updated) > 0 {
            text.push(format!(", {} updated", self.count(Status::Updated)));
        }
        if !self.problems.is_empty() {
            text.push(format!(", {}", count(self.problems.len(), "problem")));
        }
        text.plain("\n")
    }
}

/// Runs the tests in a file. With `update`, writes the expansions into it.
pub(super) fn run(file: &TestFile, update: bool) -> Result<Vec<Tested>, Diagnostic> {
    let LoadedTests {
        prompt,
        tests,
        bytes,
    } = file.read()?;
    let found = file.found.as_ref().map_err(Clone::clone)?;
    let error =
        |message: &str, fix: &str| Err(Diagnostic::error(None, message, fix).in_file(&*file.path));
    let mut texts = BTreeMap::new();
    let mut cases = Vec::new();
    for (index, case) in tests.cases.iter().enumerate() {
        let Outcome {
            expansion,
            mut failures,
        } = case.run(&prompt, |call| Ok(found.expand(&prompt, call)?.messages));
        let mut is_updated = false;
        if let Some(expansion) = expansion {
            failures.extend(
                case.clients
                    .iter()
                    .filter_map(|agent| limit_failure(agent, &expansion)),
            );
            if update && case.takes_text() && !case.has_text(&expansion) {
                failures.retain(|failure| failure.texts.is_none());
                texts.insert(index, expansion);
                is_updated = true;
            }
        }
        let status = match (failures.is_empty(), is_updated) {
            (false, _) => Status::Failed,
            (true, true) => Status::Updated,
            (true, false) => Status::Passed,
        };
        cases.push(Tested {
            prompt: prompt.name.to_string(),
            title: case.title.clone(),
            file: file.path.display().to_string(),
            line: case.line,
            status,
            failures: failures.into_iter().map(ShownFailure::from).collect(),
        });
    }
    if texts.is_empty() {
        return Ok(cases);
    }
    let text = tests.with_texts(&texts);
    if file.is_read_only {
        return error(
            "it is in another program's folder, and nothing is written there",
            "edit it yourself",
        );
    }
    if text.len() > MAX_FILE {
        return error(
            "it would become too long",
            "use `--- contains` instead of long texts",
        );
    }
    match replace(&file.path, &bytes, &text) {
        Ok(true) => Ok(cases),
        Ok(false) => error(
            "it has just been changed, and is not written",
            "run the command again",
        ),
        Err(why) => error(
            &format!("it cannot be written: {why}"),
            "correct the permissions of the file and its folder",
        ),
    }
}

/// What is wrong with a test file, as far as that shows without running it. A broken prompt is
/// reported by its own check.
pub(super) fn problem(file: &TestFile) -> Option<Diagnostic> {
    file.read()
        .err()
        .filter(|why| why.file.as_deref() == Some(&file.path))
}

/// Why an agent would not get all of an expansion in one result of the tool.
fn limit_failure(agent: &str, expansion: &str) -> Option<Failure> {
    let message = match Agent::named(agent).and_then(|agent| agent.part) {
        None => format!("no limit of an agent {} is known", quoted(agent)),
        Some(part) if part.length(expansion) <= part.max => return None,
        Some(part) => {
            let [length, max] = [part.length(expansion), part.max].map(thousands);
            format!(
                "{agent} gets it in parts: it has {length} {}, a part has at most {max}",
                part.unit.name()
            )
        }
    };
    Some(Failure {
        check: "client",
        message,
        texts: None,
    })
}

impl From<Failure> for ShownFailure {
    fn from(
        Failure {
            check,
            message,
            texts,
        }: Failure,
    ) -> ShownFailure {
        let with_end = |text: String| if text.is_empty() { text } else { text + "\n" };
        let diff = texts.map(|texts| texts.map(with_end));
        let diff = diff
            .map(|[expected, actual]| difference(("expected", &expected), ("expansion", &actual)));
        ShownFailure {
            check,
            message,
            diff,
        }
    }
}

impl Tested {
    /// A line, and what differs.
    fn text(&self) -> Styled {
        let name = format!("{}: {}", self.prompt, printable(&self.title));
        let place = format!("({}:{})", output::shown(Path::new(&self.file)), self.line);
        let mut text = match self.status {
            Status::Passed => styled(ADDED, "ok").plain(format!("    {name}\n")),
            Status::Updated => styled(ADDED, "updated").plain(format!(" {name} {place}\n")),
            Status::Failed => styled(ERROR, "FAIL").plain(format!("  {name} {place}\n")),
        };
        for ShownFailure {
            check,
            message,
            diff,
        } in &self.failures
        {
            text.push(format!("  {check}: {}\n", printable(message)));
            for line in diff.iter().flat_map(|diff| diff.lines()) {
                text.push("  ");
                text.append(diff::colored(line));
            }
        }
        text
    }
}
