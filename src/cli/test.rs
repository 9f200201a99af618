//! `prompt-expander test`: whether prompts expand to what their test files say.

use super::output::{self, ADDED, ERROR, REMOVED, full_path, shown};
use super::source::{PromptSource, absolute};
use super::{completions, path};
use crate::agents::{AGENTS, Agent, Delivery, Limit};
use crate::library::{Library, Problem, TestFile, TestFileError, View, is_test_file, replace};
use crate::prompt::{Case, Diagnostic, Failure, MAX_EXPANSION, MAX_FILE, Name, Outcome, Severity, System, Tests};
use crate::report;
use crate::wording::{alternatives, count, named, printable, quoted, thousands};
use anstyle::Style;
use anyhow::bail;
use clap::Args;
use clap_complete::ArgValueCompleter;
use diffy::{DiffOptions, Line};
use serde::Serialize;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// How many equal lines a diff shows before and after different ones.
const CONTEXT: usize = 3;

/// Of texts that differ in more lines, or more bytes, only the first difference is shown: a diff would take minutes.
const MAX_DIFF_LINES: usize = 2_000;
const MAX_DIFF_BYTES: usize = 64 * 1024;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander test                                   run all tests
  prompt-expander test standup                           run those of one prompt
  prompt-expander test --update standup                  expect the texts that there are now
  prompt-expander --prompts .prompts --no-builtin test   run those of a folder, as in CI";

#[derive(Debug, Args)]
pub(super) struct Test {
    /// The prompts whose tests are run, or folders of prompts, or test files; by default all prompts
    #[arg(value_name = "NAME|DIR", add = ArgValueCompleter::new(completions::names))]
    targets: Vec<PathBuf>,
    /// Write the present expansions into the test files: where a text differs, and into cases that expect nothing yet
    #[arg(long)]
    update: bool,
    /// Print one JSON object: `cases` with prompt, title, file, line, status (`passed`, `failed` or `updated`) and failures;
    /// `problems`, the files that are broken; and the numbers `passed`, `failed` and `updated`
    #[arg(long)]
    json: bool,
}

/// What is to be tested.
enum Target {
    Name(Name),
    Folder(Library),
    /// A test file, and the library of its folder.
    File(Library, PathBuf),
}

/// What was found, in the order of the files.
#[derive(Default)]
struct Found {
    results: Vec<Result<Tested, Problem>>,
    /// The test files.
    files: BTreeSet<PathBuf>,
    /// The folders of prompts that have them.
    folders: BTreeSet<PathBuf>,
}

/// A case that was run.
struct Tested {
    prompt: Name,
    title: String,
    /// Below the folder of prompts.
    file: String,
    path: PathBuf,
    line: usize,
    is_updated: bool,
    /// Whether `--update` would write its file.
    is_writable: bool,
    failures: Vec<ShownFailure>,
}

/// A failure with a diff instead of the two texts, which may be long.
#[derive(Serialize)]
struct ShownFailure {
    check: &'static str,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    diff: Option<String>,
}

impl From<Failure> for ShownFailure {
    fn from(Failure { check, message, texts }: Failure) -> ShownFailure {
        let diff = texts.map(|[expected, actual]| difference(&expected, &actual));
        ShownFailure { check, message, diff }
    }
}

impl Test {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let view = source.library_with_warnings().view();
        // All of them before the first is run, so that nothing is written if one is wrong.
        let targets = self.targets.iter().map(|target| Target::of(target, &view));
        let targets = targets.collect::<anyhow::Result<Vec<Target>>>()?;
        let mut found = Found::default();
        if targets.is_empty() {
            found.add_folders(&view, self.update);
        }
        for target in &targets {
            match target {
                Target::Name(name) => view.test_file(name).iter().for_each(|tests| found.add(tests, self.update)),
                Target::Folder(folder) => found.add_folders(&folder.view(), self.update),
                Target::File(folder, file) => {
                    folder.view().test_file_at(file).iter().for_each(|tests| found.add(tests, self.update));
                }
            }
        }
        if self.json {
            output::print_json(&Json::from(&found))?;
        } else {
            output::print_paged(found.text().as_bytes())?;
            if found.files.is_empty() {
                output::note("there are no test files; `prompt-expander new --test NAME` creates one");
            } else if found.tested().any(Tested::could_be_updated) {
                output::note(
                    "if the expansions are right, `prompt-expander test --update` writes them into the test files",
                );
            }
        }
        let has_failed = found.results.iter().any(|result| result.as_ref().is_ok_and(Tested::has_failed))
            || found.problems().next().is_some();
        Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

impl Target {
    fn of(written: &Path, view: &View) -> anyhow::Result<Target> {
        let path = absolute(written);
        let name = written.to_str().and_then(|name| Name::new(name).ok());
        if name.is_none_or(|name| view.locate(&name).is_none()) {
            if path.is_dir() {
                return Ok(Target::Folder(Library::named([path])));
            }
            if let (true, Some(folder)) = (is_test_file(&path) && path.is_file(), path.parent()) {
                return Ok(Target::File(Library::named([folder.to_owned()]), path));
            }
        }
        let name = path::find(view, &written.to_string_lossy(), "test")?.name;
        match view.test_file(&name) {
            Some(tests) if tests.exists() => Ok(Target::Name(name)),
            _ if let Some(why) = not_written(view, &name) => bail!("{} has no test file: {why}", named(&name)),
            Some(_) => bail!("{} has no test file; `prompt-expander new --test {name}` creates one", named(&name)),
            None => bail!(
                "the built-in prompt {} has no test file here; `prompt-expander edit {name}` makes a copy of your own",
                named(&name)
            ),
        }
    }
}

/// Why no test file is written for a prompt, if it is another program's, and what to do.
pub(super) fn not_written(view: &View, name: &Name) -> Option<String> {
    if view.system(name) == Some(System::OpenApi) {
        return Some("a service renders it, and `test` calls no service".to_owned());
    }
    let program = view.system(name).filter(|system| *system != System::PromptExpander)?.title();
    let next = match view.test_file(name) {
        Some(tests) if tests.exists() => format!("`prompt-expander test {name}` runs its tests"),
        Some(tests) => format!("to test it, write {} yourself", full_path(&tests.path)),
        None => "to test it, copy it into your own folder with `prompt-expander import`".to_owned(),
    };
    Some(format!("it is a prompt for {program}, and nothing is written to that program's folder; {next}"))
}

impl Found {
    fn add_folders(&mut self, view: &View, update: bool) {
        self.results.extend(view.list().skipped.into_iter().map(Err));
        view.test_files().iter().for_each(|tests| self.add(tests, update));
    }

    /// Runs the tests in a file. With `update`, writes the expansions into it.
    fn add(&mut self, tests: &TestFile<'_>, update: bool) {
        if !self.files.insert(tests.path.clone()) {
            return;
        }
        self.folders.insert(tests.folder().to_owned());
        match run(tests, update) {
            Ok(cases) => self.results.extend(cases.into_iter().map(Ok)),
            Err(problem) => self.results.push(Err(problem)),
        }
    }

    fn tested(&self) -> impl Iterator<Item = &Tested> {
        self.results.iter().filter_map(|result| result.as_ref().ok())
    }

    fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.results.iter().filter_map(|result| result.as_ref().err())
    }

    fn count(&self, status: &str) -> usize {
        self.tested().filter(|case| case.status() == status).count()
    }

    /// What is printed.
    fn text(&self) -> String {
        let mut text = String::new();
        for result in &self.results {
            match result {
                Ok(case) => text += &case.text(self.folders.len() > 1),
                Err(problem) => text += &output::abbreviated(&output::problem_in_two_lines(problem)),
            }
        }
        let mut counts = vec![format!("{} passed", self.count(PASSED)), format!("{} failed", self.count(FAILED))];
        counts.extend(
            Some(self.count(UPDATED)).filter(|&updated| updated > 0).map(|updated| format!("{updated} updated")),
        );
        counts.extend(
            Some(self.problems().count()).filter(|&problems| problems > 0).map(|problems| count(problems, "problem")),
        );
        text + &counts.join(", ") + "\n"
    }
}

/// How many bytes the expansions of one test file may have in all; otherwise its cases could take hours.
const MAX_EXPANDED: usize = 4 * MAX_EXPANSION;

/// What to do about texts that are too long for a test file.
const SHORTER: &str = "use `--- contains` instead of long texts";

/// Runs the tests in a file. With `update`, writes the expansions into it.
fn run(file: &TestFile<'_>, update: bool) -> Result<Vec<Tested>, Problem> {
    let (prompt, tests, bytes) = file.read().map_err(TestFileError::into_problem)?;
    if let Some(problem) = unknown_client(file, &tests) {
        return Err(problem);
    }
    let error = |message: String, fix: &str| {
        Err(file.problem(Diagnostic {
            severity: Severity::Error,
            file: None,
            position: None,
            message,
            fix: fix.to_owned(),
        }))
    };
    let mut texts = BTreeMap::new();
    let mut length = 0; // of all texts to be written
    let mut expanded = 0;
    let mut cases = Vec::new();
    for (index, case) in tests.cases.iter().enumerate() {
        let Outcome { expansion, mut failures } = case.run_with(&prompt, |call| file.expand(&prompt, call));
        expanded += expansion.as_ref().map_or(0, String::len);
        if expanded > MAX_EXPANDED {
            let message = format!("the expansions of its cases are longer than {MAX_EXPANDED} bytes in all, the limit");
            return error(message, "test shorter expansions");
        }
        let mut is_updated = false;
        if let Some(expansion) = expansion {
            let clients: BTreeSet<&str> = case.clients.iter().map(|(client, _)| client.as_str()).collect();
            failures.extend(clients.into_iter().filter_map(|client| limit_failure(client, &expansion)));
            if update && case.takes_text() && !case.has_text(&expansion) {
                failures.retain(|failure| failure.texts.is_none());
                length += expansion.len();
                if length > MAX_FILE {
                    return error(
                        format!("the new texts are longer than {MAX_FILE} bytes, the limit for tests"),
                        SHORTER,
                    );
                }
                texts.insert(index, expansion);
                is_updated = true;
            }
        }
        let Case { title, line, .. } = case;
        cases.push(Tested {
            prompt: prompt.name.clone(),
            title: title.clone(),
            file: file.file.clone(),
            path: file.path.clone(),
            line: *line,
            is_updated,
            is_writable: file.other_program().is_none(),
            failures: failures.into_iter().map(ShownFailure::from).collect(),
        });
    }
    if let (Some(program), false) = (file.other_program(), texts.is_empty()) {
        let message = format!("it is in a folder of {program}, and nothing is written there");
        return error(message, "write the new texts into it yourself, which `prompt-expander test` shows");
    }
    if !texts.is_empty() {
        let text = tests.with_texts(&texts);
        if text.len() > MAX_FILE {
            let length = text.len();
            return error(format!("it would become {length} bytes long, the limit for tests is {MAX_FILE}"), SHORTER);
        }
        match replace(&file.path, &bytes, &text) {
            Ok(true) => {}
            Ok(false) => {
                return error("it has just been changed, and is not written".to_owned(), "run the command again");
            }
            Err(why) => {
                return error(
                    format!("it cannot be written: {why}"),
                    "correct the permissions of the file and its folder",
                );
            }
        }
    }
    Ok(cases)
}

/// What is wrong with a test file, as far as that shows without running it.
pub(super) fn problem(file: &TestFile<'_>) -> Option<Problem> {
    match file.read() {
        Ok((_, tests, _)) => unknown_client(file, &tests),
        Err(TestFileError::BrokenPrompt(_)) => None, // it is checked itself
        Err(TestFileError::NoPrompt(mut problem)) => {
            problem.diagnostic.severity = Severity::Warning; // no prompt is the worse for it
            Some(problem)
        }
        Err(TestFileError::Broken(problem)) => Some(problem),
    }
}

/// The first agent in a test file of which no limit is known.
fn unknown_client(file: &TestFile<'_>, tests: &Tests) -> Option<Problem> {
    let mut clients = tests.cases.iter().flat_map(|case| &case.clients);
    let (client, position) = clients.find(|(client, _)| tool_limits(client).next().is_none())?;
    let known: Vec<&str> =
        AGENTS.iter().map(|agent| agent.name).filter(|name| tool_limits(name).next().is_some()).collect();
    let message = format!("no limit of an agent {} is known", quoted(client));
    let fix = format!("write {}, or delete the line", alternatives(&known));
    Some(file.problem(Diagnostic { severity: Severity::Error, file: None, position: Some(*position), message, fix }))
}

/// The limits of an agent for what the tool returns. The hook asks for a call of the tool where the text is too long for it.
fn tool_limits(client: &str) -> impl Iterator<Item = &'static Limit> {
    let agent = Agent::named(client);
    agent.into_iter().flat_map(|agent| agent.limits).filter(|limit| limit.delivery != Delivery::Hook)
}

/// Why an agent would not show its model all of an expansion.
fn limit_failure(client: &str, expansion: &str) -> Option<Failure> {
    let result = json!({ "prompt": expansion }).to_string();
    let mut failures = tool_limits(client).filter_map(|limit| {
        let text = if limit.delivery == Delivery::Tool { &result } else { expansion };
        let length = limit.unit.count(text);
        (length > limit.max).then(|| {
            let [length, max] = [length, limit.max].map(thousands);
            let unit = limit.unit.name();
            let message = format!("{client} gets {length} {unit}, and shows its model {max}; {}", limit.when_exceeded);
            Failure { check: "client", message, texts: None }
        })
    });
    failures.next()
}

const PASSED: &str = "passed";
const FAILED: &str = "failed";
const UPDATED: &str = "updated";

impl Tested {
    fn has_failed(&self) -> bool {
        !self.failures.is_empty()
    }

    fn could_be_updated(&self) -> bool {
        self.is_writable && self.failures.iter().any(|failure| failure.diff.is_some())
    }

    fn status(&self) -> &'static str {
        match (self.has_failed(), self.is_updated) {
            (true, _) => FAILED,
            (false, true) => UPDATED,
            (false, false) => PASSED,
        }
    }

    /// A line, and what differs. With several folders of prompts, `has_path` shows the whole path of a file.
    fn text(&self, has_path: bool) -> String {
        let name = format!("{}: {}", self.prompt, printable(&self.title));
        let file = if has_path { shown(&self.path) } else { printable(&self.file) };
        let place = format!("({file}:{})", self.line);
        let mut text = match self.status() {
            PASSED => format!("{ADDED}ok{ADDED:#}    {name}\n"),
            UPDATED => format!("{ADDED}updated{ADDED:#} {name} {place}\n"),
            _ => format!("{ERROR}FAIL{ERROR:#}  {name} {place}\n"),
        };
        if self.has_failed() && self.is_updated {
            text += "  text: updated\n";
        }
        for ShownFailure { check, message, diff } in &self.failures {
            text += &format!("  {check}: {}\n", printable(message));
            for line in diff.iter().flat_map(|diff| diff.lines()) {
                let style = match line.as_bytes().first() {
                    Some(b'-') => REMOVED,
                    Some(b'+') => ADDED,
                    _ => Style::new(),
                };
                text += &format!("  {style}{line}{style:#}\n");
            }
        }
        text
    }
}

/// How two texts differ: a unified diff, from the expected text to the actual one; of long texts only the first difference.
fn difference(expected: &str, actual: &str) -> String {
    let equal = expected.bytes().zip(actual.bytes()).take_while(|(a, b)| a == b).count();
    let start = expected.as_bytes()[..equal].iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1);
    let (expected_rest, actual_rest) = (&expected[start..], &actual[start..]);
    let at_end = expected_rest.bytes().rev().zip(actual_rest.bytes().rev()).take_while(|(a, b)| a == b).count();
    let is_long = |text: &str| {
        let different = &text.as_bytes()[..text.len() - at_end];
        different.len() > MAX_DIFF_BYTES || different.iter().filter(|&&byte| byte == b'\n').count() > MAX_DIFF_LINES
    };
    if is_long(expected_rest) || is_long(actual_rest) {
        let number = expected[..start].matches('\n').count() + 1;
        return first_difference(number, expected_rest, actual_rest);
    }
    let [expected, actual] =
        [expected, actual].map(|text| if text.is_empty() { String::new() } else { format!("{text}\n") });
    let patch = DiffOptions::new().set_context_len(CONTEXT).create_patch(&expected, &actual);
    let mut text = "--- expected\n+++ expansion\n".to_owned();
    for hunk in patch.hunks() {
        text += &format!("@@ -{} +{} @@\n", hunk.old_range(), hunk.new_range());
        for line in hunk.lines() {
            let (mark, line) = match line {
                Line::Context(line) => (' ', line),
                Line::Delete(line) => ('-', line),
                Line::Insert(line) => ('+', line),
            };
            text += &format!("{mark}{}\n", printable(line.trim_end_matches('\n')));
        }
    }
    text
}

/// The first difference of two long texts, which begin with that line.
fn first_difference(number: usize, expected: &str, actual: &str) -> String {
    let [expected, actual] = [expected, actual].map(|text| text.split('\n').next().unwrap_or_default());
    let column = expected.chars().zip(actual.chars()).take_while(|(a, b)| a == b).count();
    let [expected, actual] = [expected, actual].map(|line| quoted(&line.chars().skip(column).collect::<String>()));
    let column = column + 1;
    format!(
        "the first difference is in line {number}, column {column}: {expected} is expected, and there is {actual}\n"
    )
}

#[derive(Serialize)]
struct Json<'f> {
    cases: Vec<JsonCase<'f>>,
    problems: Vec<report::Problem>,
    passed: usize,
    failed: usize,
    updated: usize,
}

#[derive(Serialize)]
struct JsonCase<'f> {
    prompt: &'f str,
    title: &'f str,
    file: String,
    line: usize,
    status: &'static str,
    failures: &'f [ShownFailure],
}

impl<'f> From<&'f Found> for Json<'f> {
    fn from(found: &'f Found) -> Json<'f> {
        let case = |case: &'f Tested| JsonCase {
            prompt: case.prompt.as_str(),
            title: &case.title,
            file: case.path.display().to_string(),
            line: case.line,
            status: case.status(),
            failures: &case.failures,
        };
        Json {
            cases: found.tested().map(case).collect(),
            problems: found.problems().cloned().map(Into::into).collect(),
            passed: found.count(PASSED),
            failed: found.count(FAILED),
            updated: found.count(UPDATED),
        }
    }
}
