//! `prompt-expander check`: all errors and warnings in prompt files.

use super::output::{self, FAINT};
use super::source::{PromptSource, folder, without_parents};
use super::test;
use crate::library::{Library, Report, View};
use crate::prompt::{Format, Severity};
use crate::wording::count;
use clap::Args;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander check                            check your own files
  prompt-expander check draft.md                   check this file
  prompt-expander check --strict prompts           check this folder, as in CI";

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Files and folders to check, wherever they are; without any, your own prompt files are checked
    #[arg(value_name = "FILE", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Fail if there are warnings, too: for CI
    #[arg(long)]
    strict: bool,
    /// Print one JSON object: `files`, the number of files checked; `problems` with severity, file, line, column, message and
    /// repair
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let mut report = Report::default();
        if self.paths.is_empty() {
            add_folders(&mut report, &source.library_with_warnings().view(), None);
        }
        for path in &self.paths {
            let (format, folder) = folder(path);
            let folder = without_parents(folder);
            // A subfolder is read as part of the folder of its program.
            let root = folder.ancestors().find(|folder| !Format::of_folder(folder).is_own());
            if !folder.is_dir() && format.is_none() {
                add_file(&mut report, &source.library().view(), folder);
            } else if let (None, Some(root)) = (format, root) {
                let library = Library::default().with_named(Some(Format::of_folder(root)), root.to_owned());
                add_folders(&mut report, &library.view(), Some(&folder));
            } else {
                add_folders(&mut report, &Library::default().with_named(format, folder).view(), None);
            }
        }
        let has_failed = report.count(Severity::Error) > 0 || (self.strict && report.count(Severity::Warning) > 0);
        if self.json {
            let Report { files, problems } = report;
            output::print_json(&json!({ "files": files, "problems": problems }))?;
        } else {
            output::print_lines(&text(&report))?;
        }
        Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Checks the folders of a library or, of all of them, only what is below one folder.
fn add_folders(report: &mut Report, view: &View, below: Option<&Path>) {
    let Report { files, problems } = view.check(below);
    report.files += files;
    report.problems.extend(problems);
    let mut tests = view.list().tests;
    tests.retain(|tests| below.is_none_or(|below| tests.path.starts_with(below)));
    report.files += tests.len();
    report.problems.extend(tests.iter().filter_map(test::problem));
}

fn add_file(report: &mut Report, view: &View, path: PathBuf) {
    report.files += 1;
    match test::file(&path) {
        Some(tests) => report.problems.extend(tests.iter().filter_map(test::problem)),
        None => report.problems.extend(view.check_file(&path)),
    }
}

/// What is printed.
fn text(report: &Report) -> String {
    let mut text: String = report.problems.iter().map(output::problem_in_two_lines).collect();
    if report.files == 0 {
        text += &format!("{FAINT}note:{FAINT:#} to create a prompt file, run `prompt-expander new NAME`\n");
    }
    let counts = [(Severity::Error, "error"), (Severity::Warning, "warning")];
    let counts = counts.map(|(severity, what)| count(report.count(severity), what)).join(", ");
    text + &format!("{} checked: {counts}\n", count(report.files, "file"))
}
