//! `prompt-expander export`: writes prompts as files of Claude Code, Gemini CLI or hexai.

use super::output::{self, full_path};
use super::source::{PromptSource, absolute};
use super::{check, completions, path};
use crate::library::{Library, Location, Problem, WriteError, create_with_folders, read_whole};
use crate::prompt::{Conversion, Diagnostic, ExportFormat, Name, Severity, export};
use crate::report;
use crate::wording::{count, named};
use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};
use clap_complete::ArgValueCompleter;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander export standup --as claude --to ~/.claude/commands
  prompt-expander export a git/b --as gemini --to ~/.gemini/commands
  prompt-expander export standup --as jsonl >> user.jsonl";

#[derive(Debug, Args)]
pub(super) struct Export {
    /// The names of the prompts
    #[arg(required = true, value_name = "NAME", add = ArgValueCompleter::new(completions::names))]
    names: Vec<String>,
    /// The format of the files
    #[arg(long = "as", value_name = "FORMAT")]
    format: Format,
    /// The folder to write to, which is created if it is missing; for jsonl, also a file. Without it, jsonl is printed
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::AnyPath)]
    to: Option<PathBuf>,
    /// Print one JSON object: `exported` and `unchanged` (name and path), `problems` as for `check`, and `text` without --to
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Markdown commands of Claude Code: NAME.md
    Claude,
    /// TOML commands of Gemini CLI: NAME.toml
    Gemini,
    /// One file of hexai with a line for each prompt: user.jsonl
    Jsonl,
}

#[derive(Debug, Serialize)]
struct Done {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<PathBuf>,
}

/// What happened to each prompt.
#[derive(Default, Serialize)]
struct Report {
    exported: Vec<Done>,
    unchanged: Vec<Done>,
    #[serde(skip)]
    problems: Vec<Problem>,
    /// The lines of JSONL.
    #[serde(skip)]
    text: String,
}

#[derive(Serialize)]
struct Json<'r> {
    #[serde(flatten)]
    report: &'r Report,
    problems: Vec<report::Problem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'r str>,
}

impl Format {
    fn target(self) -> ExportFormat {
        match self {
            Format::Claude => ExportFormat::Claude,
            Format::Gemini => ExportFormat::Gemini,
            Format::Jsonl => ExportFormat::Jsonl,
        }
    }

    /// The file of a prompt below the folder.
    fn file(self, name: &Name) -> String {
        match self {
            Format::Claude => format!("{name}.md"),
            Format::Gemini => format!("{name}.toml"),
            Format::Jsonl => "user.jsonl".to_owned(),
        }
    }
}

impl Export {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let library = source.library_with_warnings();
        let to = match &self.to {
            Some(to) => Some(absolute(to)),
            None if self.format == Format::Jsonl => None,
            None => bail!("a folder is missing; write it as in `--to ~/.claude/commands`, or use `--as jsonl`"),
        };
        if let Some(to) = to.as_deref().filter(|to| is_own_folder(&library, to)) {
            bail!("{} is a folder of your own prompts; choose another one with --to", full_path(to));
        }
        let report = self.export(&library, to.as_deref())?;
        let errors = report.problems.iter().filter(|problem| problem.diagnostic.severity == Severity::Error).count();
        if self.json {
            let problems = report.problems.iter().cloned().map(Into::into).collect();
            let text = to.is_none().then_some(report.text.as_str());
            output::print_json(&Json { report: &report, problems, text })?;
        } else if to.is_some() {
            output::print_paged(text(&report, errors).as_bytes())?;
        } else {
            output::print_verbatim(report.text.as_bytes())?;
            output::report(&report.problems);
        }
        Ok(if errors > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn export(&self, library: &Library, to: Option<&Path>) -> anyhow::Result<Report> {
        let view = library.view();
        let mut report = Report::default();
        let mut names: Vec<Name> = Vec::new();
        for typed in &self.names {
            let found = path::find(&view, typed, "export")?;
            if !names.contains(&found.name) {
                names.push(found.name);
            }
        }
        let mut lines = Vec::new();
        for name in names {
            let original = match view.locate(&name) {
                Some((_, Location::File(file) | Location::Document(file))) => file,
                _ => PathBuf::from(name.as_str()),
            };
            let prompt = match view.get(&name) {
                Some(Ok(prompt)) => prompt,
                Some(Err(problem)) => {
                    report.problems.push(problem);
                    continue;
                }
                None => bail!("{} was deleted just now; run the command again", named(&name)),
            };
            let problem =
                |path: &Path, diagnostic| Problem { file: name.to_string(), path: path.to_owned(), diagnostic };
            let Conversion { text, notes, .. } = match export(&prompt, self.format.target()) {
                Ok(conversion) => conversion,
                Err(diagnostic) => {
                    report.problems.push(problem(&original, diagnostic));
                    continue;
                }
            };
            let path = match to.filter(|_| self.format != Format::Jsonl) {
                Some(to) => {
                    let path = to.join(self.format.file(&name));
                    if !write(&mut report, &name, &path, &text)? {
                        continue;
                    }
                    path
                }
                None => {
                    report.text += &text;
                    lines.push(name.clone());
                    original
                }
            };
            report.problems.extend(notes.into_iter().map(|note| problem(&path, note)));
        }
        match to {
            Some(to) if self.format == Format::Jsonl && !lines.is_empty() => {
                let is_file = to.extension().is_some_and(|suffix| suffix == "jsonl");
                let path = if is_file { to.to_owned() } else { to.join(self.format.file(&lines[0])) };
                let text = std::mem::take(&mut report.text);
                let mut of_file = Report::default();
                write(&mut of_file, &lines[0], &path, &text)?;
                let all = |done: &[Done]| {
                    if done.is_empty() { Vec::new() } else { lines.iter().map(|name| Done::new(name, &path)).collect() }
                };
                report.exported = all(&of_file.exported);
                report.unchanged = all(&of_file.unchanged);
                report.problems.extend(of_file.problems);
            }
            None => report.exported = lines.iter().map(|name| Done { name: name.to_string(), path: None }).collect(),
            Some(_) => {}
        }
        Ok(report)
    }
}

/// Creates the file, unless it is there with the same text. Returns whether it is there now.
fn write(report: &mut Report, name: &Name, path: &Path, text: &str) -> anyhow::Result<bool> {
    match create_with_folders(path, text) {
        Ok(()) => report.exported.push(Done::new(name, path)),
        Err(WriteError::Exists(_)) => {
            let is_same = read_whole(path).is_ok_and(|present| present == text.as_bytes());
            if !is_same {
                let message = "the file already exists with another text, and is not changed";
                let fix = "remove it, or choose another folder with --to";
                let diagnostic = Diagnostic::error(None, message, fix);
                report.problems.push(Problem { file: name.to_string(), path: path.to_owned(), diagnostic });
                return Ok(false);
            }
            report.unchanged.push(Done::new(name, path));
        }
        Err(error) => return Err(anyhow!(error)),
    }
    Ok(true)
}

impl Done {
    fn new(name: &Name, path: &Path) -> Done {
        Done { name: name.to_string(), path: Some(path.to_owned()) }
    }
}

/// Whether files in it would become prompts next to those that are exported.
fn is_own_folder(library: &Library, folder: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let own = library.folder_for_new_prompts();
    own.and_then(Result::ok).is_some_and(|own| real(folder).starts_with(real(&own)))
}

fn text(report: &Report, errors: usize) -> String {
    let mut text: String = report.problems.iter().map(output::problem_in_two_lines).collect();
    for (done, label) in [(&report.exported, ""), (&report.unchanged, " (unchanged)")] {
        let mut paths: Vec<&PathBuf> = done.iter().filter_map(|done| done.path.as_ref()).collect();
        paths.dedup(); // JSONL has all prompts in one file
        text.extend(paths.into_iter().map(|path| format!("{}{label}\n", full_path(path))));
    }
    text += &format!(
        "{} exported, {} unchanged, {}, {}\n",
        count(report.exported.len(), "prompt"),
        report.unchanged.len(),
        count(errors, "error"),
        count(report.problems.len() - errors, "warning")
    );
    check::wrapped(&output::abbreviated(&text))
}
