//! `prompt-expander check`: all errors and warnings in prompt files.

use super::output::{self, FAINT};
use super::source::{PromptSource, absolute, folder, without_parents};
use super::test;
use crate::api;
use crate::library::{Library, Report, View, is_test_file};
use crate::prompt::{Format, Name, Severity};
use crate::wording::{all_of, count, named, printable};
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

/// All that is checked.
#[derive(Default)]
struct Checked {
    report: Report,
    /// The folders that were looked in.
    folders: Vec<PathBuf>,
}

impl Checked {
    /// Checks the folders of a library or, of all of them, only what is below one folder.
    fn add_folders(&mut self, view: &View, below: Option<&Path>) {
        let Report { files, problems } = view.check(below);
        self.report.files += files;
        self.report.problems.extend(problems);
        let test_files = view.list().tests.into_iter();
        for tests in test_files.filter(|tests| below.is_none_or(|below| tests.path.starts_with(below))) {
            self.report.files += 1;
            self.report.problems.extend(test::problem(&tests));
        }
        self.folders.extend(below.map_or_else(|| view.paths(), |below| vec![below]).into_iter().map(Path::to_owned));
    }

    fn add_file(&mut self, view: &View, written: &Path) {
        let path = without_parents(absolute(written));
        self.report.files += 1;
        if let (true, true, Some(folder)) = (is_test_file(&path), path.is_file(), path.parent()) {
            let view = Library::named([folder.to_owned()]).view();
            let tests = view.list().tests.into_iter().filter(|tests| tests.path == path);
            self.report.problems.extend(tests.filter_map(|tests| test::problem(&tests)));
            return;
        }
        let mut problems = view.check_file(&path);
        if let (Some(problem), false) = (problems.first_mut(), path.is_file())
            && let Some((name, file)) = prompt_named(view, written)
        {
            problem.fix = format!("to check the prompt {}, pass its file, {file}", named(&name));
        }
        self.report.problems.extend(problems);
    }
}

/// The prompt that was named instead of a file, and its file.
fn prompt_named(view: &View, written: &Path) -> Option<(Name, String)> {
    let name = Name::new(written.to_str()?).ok()?;
    let file = view.get(&name)?.place().file?;
    Some((name, printable(&file.display().to_string())))
}

impl Check {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let mut checked = Checked::default();
        if self.paths.is_empty() {
            checked.add_folders(&source.library_with_warnings().view(), None);
        } else {
            let view = source.library().view();
            for path in &self.paths {
                let (system, folder) = folder(path);
                let folder = without_parents(folder);
                // A subfolder is read as part of the folder of its program.
                let other = if system.is_none() && folder.is_dir() { other_program_of(&folder) } else { None };
                if let Some((system, root)) = other {
                    checked.add_folders(&Library::default().with_named(Some(system), root).view(), Some(&folder));
                } else if folder.is_dir() || system.is_some() {
                    checked.add_folders(&Library::default().with_named(system, folder).view(), None);
                } else {
                    checked.add_file(&view, path);
                }
            }
        }
        let (errors, warnings) = (checked.report.count(Severity::Error), checked.report.count(Severity::Warning));
        if self.json {
            let Checked { report: Report { files, problems }, .. } = checked;
            let problems: Vec<api::Problem> = problems.into_iter().map(Into::into).collect();
            output::print_json(&json!({ "files": files, "problems": problems }))?;
        } else {
            output::print_lines(&text(&checked))?;
        }
        let has_failed = errors > 0 || (self.strict && warnings > 0);
        Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// The folder of another program that a folder is, or is in, and its format.
fn other_program_of(folder: &Path) -> Option<(&'static Format, PathBuf)> {
    let mut formats = folder.ancestors().map(|folder| (Format::of_folder(folder), folder.to_owned()));
    formats.find(|(format, _)| *format != Format::OWN)
}

/// What is printed.
fn text(checked: &Checked) -> String {
    let Checked { report, folders } = checked;
    let mut text = String::new();
    for problem in &report.problems {
        text += &match problem.severity() {
            Severity::Hint => format!("{FAINT}note:{FAINT:#} {problem}\n"),
            _ => output::problem_in_two_lines(problem),
        };
    }
    let mut place = String::new();
    if report.files == 0 {
        text += &format!("{FAINT}note:{FAINT:#} to create a prompt file, run `prompt-expander new NAME`\n");
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        place = if folders.is_empty() { place } else { format!(" in {}", all_of(&folders)) };
    }
    let counts = [(Severity::Error, "error"), (Severity::Warning, "warning")];
    let counts = counts.map(|(severity, what)| count(report.count(severity), what)).join(", ");
    text += &format!("{} checked{place}: {counts}\n", count(report.files, "file"));
    text
}
