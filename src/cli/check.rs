//! `prompt-expander check`: reports all errors and warnings in prompt files.

pub(super) mod finding;

use super::agent_names::AgentParser;
use super::call::is_path;
use super::output::{self, FAINT, Progress, Reporter, Styled};
use super::source_options::{PromptSource, parse_folder, without_parents};
use super::test;
use crate::agents::{Agent, PartLimit, prompt_folders_in};
use crate::library::{Found, Report, TestFile, View};
use crate::prompt::{Diagnostic, Format, Kind, LONG_PROMPT_CHARS, Prompt, Severity};
use crate::wording::{and_list, count, with_commas};
use anyhow::bail;
use clap::Args;
use finding::format_findings;
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
    /// Names of prompts, or paths of any files and folders; by default, your own prompt files
    #[arg(value_name = "NAME|FILE", value_hint = clap::ValueHint::AnyPath)]
    paths: Vec<PathBuf>,
    /// Also fail if there are warnings (for CI)
    #[arg(long)]
    strict: bool,
    /// Warn about prompts that are so long that this agent gets them in parts
    #[arg(long, value_name = "AGENT", value_parser = AgentParser)]
    client: Option<&'static Agent>,
    /// Print one JSON object: `files` is the number of files checked, and `problems` is a list
    /// whose items have severity, file, line, column, message and repair
    #[arg(long)]
    json: bool,
}

impl Check {
    /// Checks the given paths and prompts, or the user's own folders, and prints a report.
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let mut checks = Checks {
            part_limit: self.part_limit()?,
            ..Checks::default()
        };
        if self.paths.is_empty() {
            checks.check_own_folders(source, reporter);
        }
        for path in &self.paths {
            checks.check_path(source, path);
        }
        checks.add_length_hints();
        let report = &checks.report;
        if self.json {
            let Report { files, problems } = report;
            output::print_json(&json!({ "files": files, "problems": problems }))?;
        } else {
            output::print_lines(&checks.format())?;
        }
        let errors = Severity::Error.count_in(&report.problems);
        let warnings = Severity::Warning.count_in(&report.problems);
        if errors > 0 || (self.strict && warnings > 0) {
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Returns the part limit of the agent that --client names.
    ///
    /// # Errors
    /// Fails if the agent has no known limit.
    fn part_limit(&self) -> anyhow::Result<Option<AgentLimit>> {
        let Some(agent) = self.client else {
            return Ok(None);
        };
        let Some(limit) = agent.part_limit else {
            bail!(
                "no limit of {} is known, so it gets every prompt in one part",
                agent.title
            );
        };
        Ok(Some(AgentLimit {
            agent_title: agent.title,
            limit,
        }))
    }
}

/// How much of a prompt an agent gets in one part.
struct AgentLimit {
    agent_title: &'static str,
    limit: PartLimit,
}

impl AgentLimit {
    /// Returns a warning if a prompt exceeds the limit, even without any values.
    fn check(&self, prompt: &Prompt, file: PathBuf) -> Option<Diagnostic> {
        let length = self.limit.length(&prompt.template_text());
        if length <= self.limit.max {
            return None;
        }
        let message = format!(
            "{} gets at most {} {} in one part, and the prompt takes {}",
            self.agent_title,
            with_commas(self.limit.max),
            self.limit.unit.name(),
            with_commas(length)
        );
        let fix =
            "keep the instructions here, and give the path of the material for the agent to read";
        Some(Diagnostic::warning(None, message, fix).in_file(file))
    }
}

/// The results of all checks so far.
#[derive(Default)]
struct Checks {
    /// If set, prompts that exceed it get a warning. Otherwise, long prompts are only counted.
    part_limit: Option<AgentLimit>,
    report: Report,
    /// The folders that were searched for prompts, and files from the command line.
    searched_folders: Vec<PathBuf>,
    /// The number of long prompts by folder.
    long_prompt_counts: BTreeMap<PathBuf, usize>,
}

impl Checks {
    /// Checks the user's own prompts. In a git repository, adds hints about folders of other
    /// programs.
    fn check_own_folders(&mut self, source: &PromptSource, reporter: &Reporter) {
        let view = source.library_with_warnings(reporter).view();
        self.check_view(&view, None);
        self.searched_folders.extend(view.paths());
        let working_folder = std::env::current_dir().unwrap_or_default();
        if working_folder.join(".git").exists() && !source.has_agents() {
            self.add_hints_about_programs(&working_folder);
        }
    }

    /// Checks one command-line argument: a prompt, a file or a folder. If the argument names a
    /// format, as in `claude:DIR`, it is always a folder.
    fn check_path(&mut self, source: &PromptSource, argument: &Path) {
        let (format, path) = parse_folder(argument);
        let path = without_parents(path);
        if format.is_some() {
            return self.check_folder(source, format, path);
        }
        if !path.exists() {
            return self.check_missing_path(source, argument, path);
        }
        let skill_file = path.join("SKILL.md");
        if skill_file.is_file() {
            return self.check_file(source, &skill_file);
        }
        if !path.is_dir() {
            self.check_file(source, &path);
            self.searched_folders.push(path); // a test file may have no prompt, and isn't counted then
            return;
        }
        match enclosing_program_folder(&path) {
            Some(root) => self.check_subfolder(source, root, &path),
            None => self.check_folder(source, None, path),
        }
    }

    /// Checks the prompt whose name is `argument`, because there is nothing at the path. If there
    /// is no such prompt either, reports that.
    fn check_missing_path(&mut self, source: &PromptSource, argument: &Path, path: PathBuf) {
        let view = source.library().view();
        match view.find(&argument.to_string_lossy()) {
            Ok(found) => self.check_prompt(&view, &found),
            Err(error) if may_be_name(argument) => self.add_unknown_name(argument, error),
            Err(_) => self.check_file(source, &path), // reports that the file doesn't exist
        }
    }

    /// Checks the prompts in a folder. Without a format, the path determines it.
    fn check_folder(
        &mut self,
        source: &PromptSource,
        format: Option<&'static Format>,
        folder: PathBuf,
    ) {
        self.searched_folders.push(folder.clone());
        self.add_hints_about_programs(&folder);
        self.check_view(&source.library_of(format, folder).view(), None);
    }

    /// Checks the prompts in a subfolder of a program's folder. The names of prompts depend on that
    /// folder, so all of it is read.
    fn check_subfolder(&mut self, source: &PromptSource, root: &Path, subfolder: &Path) {
        self.searched_folders.push(subfolder.to_owned());
        let format = Format::for_folder(root);
        let library = source.library_of(Some(format), root.to_owned());
        self.check_view(&library.view(), Some(subfolder));
    }

    /// Checks the prompts and test files of a view, or only those in `subfolder`.
    fn check_view(&mut self, view: &View, subfolder: Option<&Path>) {
        let listing = view.list();
        let progress = Progress::start("checking prompts", "Nothing was changed.");
        progress.set_total(listing.found.len());
        let Report { files, problems } = view.check_with_extra(subfolder, &mut |found, folder| {
            progress.advance();
            self.check_length(found, folder)
        });
        drop(progress);
        self.report.files += files;
        self.report.problems.extend(problems);
        for tests in listing.tests {
            if subfolder.is_none_or(|subfolder| tests.path.starts_with(subfolder)) {
                self.check_tests(&tests);
            }
        }
    }

    /// Checks a prompt and its test file.
    fn check_prompt(&mut self, view: &View, found: &Found) {
        self.report.files += 1;
        self.report.problems.extend(found.check());
        let length_warning = self.check_length(found, None);
        self.report.problems.extend(length_warning);
        if let Some(tests) = view.test_file(found) {
            self.check_tests(&tests);
        }
    }

    /// Checks that a test file is valid, without running its tests.
    fn check_tests(&mut self, tests: &TestFile) {
        self.report.files += 1;
        self.report.problems.extend(test::check(tests));
    }

    /// Reports that `argument` is neither a file nor the name of a prompt. `lookup_error` is why no
    /// prompt was found; its message reads on after "and", e.g. "no prompt named `x`".
    fn add_unknown_name(&mut self, argument: &Path, lookup_error: Diagnostic) {
        let message = format!("there is no such file, and {}", lookup_error.message);
        let fix = if lookup_error.fix.is_empty() {
            "correct the name or the path".to_owned()
        } else {
            lookup_error.fix.clone()
        };
        let diagnostic = Diagnostic {
            message,
            fix,
            ..lookup_error
        };
        self.report.problems.push(diagnostic.in_file(argument));
    }

    /// Checks a test file or a prompt file.
    fn check_file(&mut self, source: &PromptSource, path: &Path) {
        if let Some(tests) = test::tests_in_file(source, path) {
            for tests in &tests {
                self.check_tests(tests);
            }
            return;
        }
        self.report.files += 1;
        let view = source.library().view();
        self.report.problems.extend(view.check_file(path));
        if let Ok(found) = view.find_by_path(path) {
            let length_warning = self.check_length(&found, path.parent());
            self.report.problems.extend(length_warning);
        }
    }

    /// Returns a warning if a prompt exceeds the agent's limit. Without a limit, counts the prompt
    /// in [`long_prompt_counts`](Self::long_prompt_counts) if it is long.
    fn check_length(&mut self, found: &Found, folder: Option<&Path>) -> Option<Diagnostic> {
        let prompt = found.prompt().ok()?;
        let file = found.location().file?;
        if let Some(limit) = &self.part_limit {
            return limit.check(&prompt, file);
        }
        if prompt.is_long() {
            let folder = folder.or(file.parent()).unwrap_or(&file);
            *self
                .long_prompt_counts
                .entry(folder.to_owned())
                .or_default() += 1;
        }
        None
    }

    /// Adds a hint for each folder of another program inside this folder: it must be checked on its
    /// own.
    fn add_hints_about_programs(&mut self, folder: &Path) {
        for (format, path) in prompt_folders_in(folder) {
            let path = folder.join(path);
            if !path.is_dir() {
                continue;
            }
            let title = format.title;
            let shown_path = output::display_path(&path);
            self.add_hint(
                format!("the folder has files of {title}, which are not checked with this one"),
                format!("check them with `prompt-expander check {shown_path}`"),
                path,
            );
        }
    }

    /// Adds a hint for each folder that contains long prompts.
    fn add_length_hints(&mut self) {
        for (folder, prompt_count) in std::mem::take(&mut self.long_prompt_counts) {
            let prompts = count(prompt_count, "prompt");
            let length = with_commas(LONG_PROMPT_CHARS);
            self.add_hint(
                format!("{prompts} of {length} characters or more, which some agents get in parts"),
                "find those that are too long for an agent with `--client AGENT`".to_owned(),
                folder,
            );
        }
    }

    fn add_hint(&mut self, message: String, fix: String, file: PathBuf) {
        let hint = Diagnostic::new(Kind::Hint, message, fix).in_file(file);
        self.report.problems.push(hint);
    }

    /// Formats the output for people: the findings, a note if no file was found, and a summary.
    fn format(&self) -> Styled {
        let problems = &self.report.problems;
        let mut text = format_findings(problems);
        if self.report.files == 0 && !self.searched_folders.is_empty() {
            let mut folders = Vec::new();
            for folder in &self.searched_folders {
                folders.push(output::display_path(folder));
            }
            let folders = and_list(&folders);
            text = text.with(FAINT, "note:").plain(format!(
                " there are no prompt files in {folders}; `prompt-expander new NAME` creates one\n"
            ));
        }
        text.plain(format!(
            "{} checked: {}, {}\n",
            count(self.report.files, "file"),
            count(Severity::Error.count_in(problems), "error"),
            count(Severity::Warning.count_in(problems), "warning")
        ))
    }
}

/// Returns whether an argument that is no existing file probably means the name of a prompt.
fn may_be_name(path: &Path) -> bool {
    path.extension().is_none() && !is_path(path)
}

/// Returns the folder of another program's prompts that contains this folder, e.g.
/// `.claude/commands` for `.claude/commands/git`.
fn enclosing_program_folder(folder: &Path) -> Option<&Path> {
    folder
        .ancestors()
        .find(|folder| !Format::for_folder(folder).is_own())
}
