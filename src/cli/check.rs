//! `prompt-expander check`: all errors and warnings in prompt files, and which files are not read.

use super::output::{self, FAINT};
use super::source::{PromptSource, absolute, folder, without_parents};
use super::test;
use crate::library::{Library, Location, Report, Unread, View, is_jsonl, is_test_file};
use crate::prompt::{Name, Severity};
use crate::report;
use crate::wording::{all_of, count, named, printable};
use clap::Args;
use serde::Serialize;
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
    /// repair; and `unread` (what is not read) with kind, count, first file or folder, and message
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Json {
    files: usize,
    problems: Vec<report::Problem>,
    unread: Vec<JsonUnread>,
}

#[derive(Serialize)]
struct JsonUnread {
    kind: String,
    count: usize,
    first: String,
    message: String,
}

impl From<Unread> for JsonUnread {
    fn from(Unread { kind, count, first, message }: Unread) -> Self {
        JsonUnread { kind, count, first: first.display().to_string(), message }
    }
}

/// All that is checked.
#[derive(Default)]
struct Checked {
    report: Report,
    unread: Vec<Unread>,
    /// The folders that were looked in.
    folders: Vec<PathBuf>,
}

impl Checked {
    /// Checks the folders of a library or, of all of them, only what is below one folder.
    fn add_folders(&mut self, view: &View, below: Option<&Path>) {
        let Report { files, problems } = view.check_below(below);
        self.report.files += files;
        self.report.problems.extend(problems);
        let test_files = view.test_files().into_iter();
        for tests in test_files.filter(|tests| below.is_none_or(|below| tests.path.starts_with(below))) {
            self.report.files += 1;
            self.report.problems.extend(test::problem(&tests));
        }
        self.unread.extend(view.unread());
        self.folders.extend(below.map_or_else(|| view.folders(), |below| vec![below]).into_iter().map(Path::to_owned));
    }

    fn add_file(&mut self, view: &View, written: &Path) {
        let path = without_parents(absolute(written));
        self.report.files += 1;
        if let (true, true, Some(folder)) = (is_test_file(&path), path.is_file(), path.parent()) {
            let view = Library::named([folder.to_owned()]).view();
            self.report.problems.extend(view.test_file_at(&path).and_then(|tests| test::problem(&tests)));
            return;
        }
        let mut problems = view.check_file(&path);
        if let (Some(problem), false) = (problems.first_mut(), path.is_file())
            && let Some((name, file)) = prompt_named(view, written)
        {
            problem.diagnostic.fix = format!("to check the prompt {}, pass its file, {file}", named(&name));
        }
        self.report.problems.extend(problems);
    }

    fn count(&self, severity: Severity) -> usize {
        self.report.problems.iter().filter(|problem| problem.diagnostic.severity == severity).count()
    }
}

/// The prompt that was named instead of a file, and its file.
fn prompt_named(view: &View, written: &Path) -> Option<(Name, String)> {
    let name = Name::new(written.to_str()?).ok()?;
    match view.locate(&name)? {
        (_, Location::File(file)) => Some((name, printable(&file.display().to_string()))),
        _ => None,
    }
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
                let other = if system.is_none() && folder.is_dir() { view.other_program_of(&folder) } else { None };
                if let Some((system, root)) = other {
                    checked.add_folders(&Library::default().with_named(Some(system), root).view(), Some(&folder));
                } else if folder.is_dir() || system.is_some() || is_jsonl(&folder) {
                    checked.add_folders(&Library::default().with_named(system, folder).view(), None);
                } else {
                    checked.add_file(&view, path);
                }
            }
        }
        let (errors, warnings) = (checked.count(Severity::Error), checked.count(Severity::Warning));
        if self.json {
            let Checked { report: Report { files, problems }, unread, .. } = checked;
            let problems = problems.into_iter().map(Into::into).collect();
            output::print_json(&Json { files, problems, unread: unread.into_iter().map(Into::into).collect() })?;
        } else {
            let option_of_new = match checked.folders.first() {
                Some(first) if !(self.paths.is_empty() && source.folders.prompts.is_empty()) => {
                    format!(" --dir {}", quoted(first))
                }
                _ if source.project => " --project".to_owned(),
                _ => String::new(),
            };
            output::print_paged(text(&checked, &option_of_new).as_bytes())?;
        }
        let has_failed = errors > 0 || (self.strict && warnings > 0);
        Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// What is printed. With `option_of_new`, `new` writes to the first folder that was checked.
fn text(checked: &Checked, option_of_new: &str) -> String {
    let Checked { report: Report { files, problems }, unread, folders } = checked;
    let mut text: String = problems.iter().map(output::problem_in_two_lines).collect();
    let mut note = |message: &str| text += &format!("{FAINT}note:{FAINT:#} {message}\n");
    unread.iter().for_each(|unread| note(&unread.message));
    let mut place = String::new();
    if *files == 0 && folders.is_empty() {
        note(
            "the folder of your own prompts is unknown, because your home directory is; choose a folder with --prompts DIR",
        );
    } else if *files == 0 {
        note(&format!("to create a prompt file, run `prompt-expander new NAME{option_of_new}`"));
        let folders: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        place = format!(" in {}", all_of(&folders));
    }
    let counts = [(checked.count(Severity::Error), "error"), (checked.count(Severity::Warning), "warning")];
    let counts = counts.map(|(number, what)| count(number, what)).join(", ");
    text += &format!("{} checked{place}: {counts}\n", count(*files, "file"));
    wrapped(&output::abbreviated(&text))
}

/// A path as an argument of a command.
fn quoted(path: &Path) -> String {
    let path = printable(&path.display().to_string());
    shlex::try_quote(&path).map_or_else(|_| path.clone(), Into::into)
}

/// The same text with its lines broken at spaces, if it is for a terminal.
pub(super) fn wrapped(text: &str) -> String {
    let Some(columns) = output::terminal_width() else { return text.to_owned() };
    let lines = text.lines().map(|line| {
        let (indent, rest) = line.split_at(line.len() - line.trim_start().len());
        format!("{indent}{}\n", output::wrapped(rest, indent.len(), columns))
    });
    lines.collect()
}
