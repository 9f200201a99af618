//! `prompt-expander check`: all errors and warnings in prompt files.

use super::agent::agent_parser;
use super::call::is_path;
use super::output::{self, FAINT, Reporter, Styled};
use super::source::{PromptSource, folder, without_parents};
use super::test;
use crate::agents::Agent;
use crate::library::{Found, Report, View};
use crate::prompt::{Diagnostic, Format, Kind, LONG, Severity};
use crate::wording::{all_of, count, thousands};
use anyhow::bail;
use clap::Args;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander check                            check your own files
  prompt-expander check research                   check this prompt
  prompt-expander check draft.md                   check this file
  prompt-expander check --strict prompts           check this folder, as in CI";

#[derive(Debug, Args)]
pub(super) struct Check {
    /// Names of prompts, and files and folders wherever they are; without any, your own prompt
    /// files are checked
    #[arg(value_name = "NAME|FILE", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Fail if there are warnings, too: for CI
    #[arg(long)]
    strict: bool,
    /// Warn of prompts that are too long for this agent to get in one part
    #[arg(long, value_name = "AGENT", value_parser = agent_parser())]
    client: Option<&'static Agent>,
    /// Print one JSON object: `files`, the number of files checked; `problems` with severity, file,
    /// line, column, message and repair
    #[arg(long)]
    json: bool,
}

impl Check {
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        if let Some(agent) = self.client.filter(|agent| agent.part.is_none()) {
            bail!(
                "no limit of {} is known, so it gets every prompt in one part",
                agent.title
            );
        }
        let mut checks = Checks {
            client: self.client,
            report: Report::default(),
            long: BTreeMap::new(),
        };
        let mut folders = Vec::new();
        if self.paths.is_empty() {
            let view = source.library_with_warnings(reporter).view();
            checks.add_folders(&view, None);
            folders.extend(view.paths());
            let working = std::env::current_dir().unwrap_or_default();
            if working.join(".git").exists() && !source.has_agents() {
                checks.name_others(&working);
            }
        }
        for path in &self.paths {
            let (format, folder) = folder(path);
            let folder = without_parents(folder);
            if format.is_none()
                && !folder.exists()
                && checks.add_prompt(&source.library().view(), path)
            {
                continue;
            }
            folders.push(folder.clone());
            // A subfolder is read as part of the folder of its program.
            let root = folder
                .ancestors()
                .find(|folder| !Format::of_folder(folder).is_own());
            if !folder.is_dir() && format.is_none() {
                checks.add_file(source, folder);
            } else if let (None, Some(root)) = (format, root) {
                let library = source.library_of(Some(Format::of_folder(root)), root.to_owned());
                checks.add_folders(&library.view(), Some(&folder));
            } else {
                checks.name_others(&folder);
                checks.add_folders(&source.library_of(format, folder).view(), None);
            }
        }
        let report = checks.finish();
        let has = |severity: Severity| severity.count_in(&report.problems) > 0;
        let has_failed = has(Severity::Error) || (self.strict && has(Severity::Warning));
        if self.json {
            let Report { files, problems } = report;
            output::print_json(&json!({ "files": files, "problems": problems }))?;
        } else {
            output::print_lines(&text(&report, &folders))?;
        }
        Ok(if has_failed {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }
}

/// What is found.
struct Checks {
    client: Option<&'static Agent>,
    report: Report,
    /// How many prompts of each folder are long.
    long: BTreeMap<PathBuf, usize>,
}

impl Checks {
    /// Checks the folders of a library or, of all of them, only what is below one folder.
    fn add_folders(&mut self, view: &View, below: Option<&Path>) {
        let Report { files, problems } =
            view.check_also(below, &mut |found, folder| self.too_long(found, folder));
        self.report.files += files;
        self.report.problems.extend(problems);
        let mut tests = view.list().tests;
        tests.retain(|tests| below.is_none_or(|below| tests.path.starts_with(below)));
        self.report.files += tests.len();
        self.report
            .problems
            .extend(tests.iter().filter_map(test::problem));
    }

    /// Checks the prompt of this name and its tests. Returns whether it is a name rather than a
    /// path.
    fn add_prompt(&mut self, view: &View, typed: &Path) -> bool {
        let found = match view.find(&typed.to_string_lossy()) {
            Ok(found) => found,
            Err(_) if typed.extension().is_some() || is_path(typed) => return false,
            Err(why) => {
                let message = format!("there is no such file, and {}", why.message);
                let fix = if why.fix.is_empty() {
                    "correct the name or the path".to_owned()
                } else {
                    why.fix
                };
                self.report.problems.push(
                    Diagnostic {
                        message,
                        fix,
                        ..why
                    }
                    .in_file(typed),
                );
                return true;
            }
        };
        let tests = view.test_file(&found);
        self.report.files += 1 + usize::from(tests.is_some());
        self.report.problems.extend(found.check());
        let too_long = self.too_long(&found, None);
        self.report.problems.extend(too_long);
        self.report
            .problems
            .extend(tests.as_ref().and_then(test::problem));
        true
    }

    fn add_file(&mut self, source: &PromptSource, path: PathBuf) {
        self.report.files += 1;
        if let Some(tests) = test::file(source, &path) {
            return self
                .report
                .problems
                .extend(tests.iter().filter_map(test::problem));
        }
        let view = source.library().view();
        self.report.problems.extend(view.check_file(&path));
        let too_long = view
            .at(&path)
            .ok()
            .and_then(|found| self.too_long(&found, path.parent()));
        self.report.problems.extend(too_long);
    }

    /// Counts a long prompt, or warns of one that the agent does not get in one part.
    fn too_long(&mut self, found: &Found, folder: Option<&Path>) -> Option<Diagnostic> {
        let (prompt, file) = (found.prompt().ok()?, found.place().file?);
        let Some((agent, part)) = self.client.and_then(|agent| Some((agent, agent.part?))) else {
            if prompt.is_long() {
                let folder = folder.or(file.parent()).unwrap_or(&file).to_owned();
                *self.long.entry(folder).or_default() += 1;
            }
            return None;
        };
        let length = part.length(&prompt.template_text());
        let (length, max, unit) = (thousands(length), thousands(part.max), part.unit.name());
        let message = format!(
            "{} gets at most {max} {unit} in one part, and the prompt takes {length}",
            agent.title
        );
        let fix =
            "keep the instructions here, and give the path of the material for the agent to read";
        (part.length(&prompt.template_text()) > part.max)
            .then(|| Diagnostic::warning(None, message, fix).in_file(file))
    }

    /// Names the folders of other programs below a folder, which is not one itself.
    fn name_others(&mut self, folder: &Path) {
        for (format, end) in Format::of_agents().filter(|(_, end)| folder.join(end).is_dir()) {
            let path = folder.join(end);
            let message = format!(
                "the folder has files of {}, which are not checked with this one",
                format.title
            );
            let fix = format!(
                "check them with `prompt-expander check {}`",
                output::shown(&path)
            );
            self.report
                .problems
                .push(Diagnostic::new(Kind::Hint, message, fix).in_file(path));
        }
    }

    fn finish(mut self) -> Report {
        self.report
            .problems
            .extend(self.long.into_iter().map(|(folder, number)| {
                let (prompts, limit) = (count(number, "prompt"), thousands(LONG));
                let message = format!(
                    "{prompts} of {limit} characters or more, which some agents get in parts"
                );
                Diagnostic::new(
                    Kind::Hint,
                    message,
                    "find those that are too long for an agent with `--client AGENT`",
                )
                .in_file(folder)
            }));
        self.report
    }
}

/// What is printed; if no file was checked, with the folders that were looked in.
fn text(report: &Report, folders: &[PathBuf]) -> Styled {
    let mut text: Styled = report
        .problems
        .iter()
        .map(output::problem_in_two_lines)
        .collect();
    if report.files == 0 && !folders.is_empty() {
        let folders: Vec<String> = folders.iter().map(|folder| output::shown(folder)).collect();
        let folders = all_of(&folders);
        text = text.with(FAINT, "note:").plain(format!(
            " there are no prompt files in {folders}; `prompt-expander new NAME` creates one\n"
        ));
    }
    let counts = [(Severity::Error, "error"), (Severity::Warning, "warning")];
    let counts = counts
        .map(|(severity, what)| count(severity.count_in(&report.problems), what))
        .join(", ");
    text.plain(format!(
        "{} checked: {counts}\n",
        count(report.files, "file")
    ))
}
