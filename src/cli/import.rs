//! `prompt-expander import`: converts prompts of other programs to Markdown files in the user's
//! folder.

mod originals;

use super::new::{is_served, warn_of_same_name, warn_of_unserved};
use super::output::{self, NAME, Progress, Reporter, Styled, display_path, styled};
use super::source_options::{PromptSource, absolute};
use super::stdin;
use crate::library::{Library, create_prompt_file, path_of_new_prompt};
use crate::prompt::{
    Diagnostic, Format, Imported, Kind, MAX_FILE, Name, Severity, import, space_in_name,
};
use crate::whole_file;
use crate::wording::{count, in_backticks, path_in_backticks};
use anyhow::{Context, anyhow, bail, ensure};
use clap::Args;
use originals::{Original, Originals};
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander import ~/.claude                      copy your commands and
                                                        skills of Claude Code
  prompt-expander import --dry-run ~/.gemini/commands   only say what would be
                                                        imported
  prompt-expander import fabric:team/patterns           a folder whose path does
                                                        not say its format
  prompt-expander import - < user.jsonl                 prompts of hexai

Formats: llm, continue, hexai, and those in docs/other-formats.md.";

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The folder or file to import, or `-` for standard input; if the path does not show the
    /// format, put it before the path: `fabric:DIR`
    #[arg(value_name = "[FORMAT:]SOURCE", value_hint = clap::ValueHint::AnyPath)]
    source: PathBuf,
    /// The name for the prompt on standard input
    #[arg(long)]
    name: Option<String>,
    /// Import into this folder; cannot be combined with --project
    ///
    /// By default, prompts are imported into the first --prompts folder or, without --prompts, into
    /// your own folder.
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    to: Option<PathBuf>,
    /// Write nothing, and only say what would be imported
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object with `imported` and `unchanged` (each with name, path and original),
    /// `problems` as in `check --json`, and `written`, which is false with --dry-run
    #[arg(long)]
    json: bool,
}

/// The result of an import, which is also its JSON output.
#[derive(Default, Serialize)]
struct ImportReport {
    imported: Vec<ImportedPrompt>,
    /// Prompts that were already imported, and are identical.
    unchanged: Vec<ImportedPrompt>,
    /// Errors of prompts that were not imported, and notes on what differs in those that were.
    problems: Vec<Diagnostic>,
    /// False with --dry-run.
    written: bool,
    /// The text of each prompt in `imported` and `unchanged`.
    #[serde(skip)]
    texts: BTreeMap<Name, String>,
}

#[derive(Debug, Serialize)]
struct ImportedPrompt {
    name: Name,
    path: PathBuf,
    original: PathBuf,
}

impl Import {
    /// Imports each prompt that has no error, and prints the report. Exits with 1 if there was any
    /// error.
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let library = source.library();
        let target = self.target_folder(source, &library)?;
        let originals = self.read_originals(source, reporter)?;
        let mut report = ImportReport {
            problems: originals.problems,
            written: !self.dry_run,
            ..ImportReport::default()
        };
        self.import_all(&originals.prompts, &target, &mut report);
        if self.json {
            output::print_json(&report)?;
        } else {
            output::print_lines(&report.format())?;
        }
        for left_out in &originals.left_out {
            reporter.warn(&left_out.message());
        }
        if self.dry_run {
            reporter.note("nothing was written; leave out --dry-run to import");
        } else if !report.imported.is_empty() {
            report.note_next_step(source, &library, &target, reporter);
        }
        if Severity::Error.count_in(&report.problems) > 0 {
            return Ok(ExitCode::FAILURE);
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Imports each prompt, and adds the result to the report. The error of a prompt becomes a
    /// problem in the report, and doesn't stop the others. Shows the progress meanwhile.
    fn import_all(&self, prompts: &[Original], target: &Path, report: &mut ImportReport) {
        let advice = if self.dry_run {
            "Nothing was written."
        } else {
            "Run the command again to import the rest."
        };
        let progress = Progress::start("importing prompts", advice);
        progress.set_total(prompts.len());
        for original in prompts {
            if let Err(error) = self.import_prompt(original, target, report) {
                report.problems.push(original.locate(error));
            }
            progress.advance();
        }
    }

    /// Returns the folder to import into.
    ///
    /// # Errors
    /// Fails if the folder belongs to another program, because nothing is ever written there.
    fn target_folder(&self, source: &PromptSource, library: &Library) -> anyhow::Result<PathBuf> {
        let target = match &self.to {
            Some(_) if source.project => {
                bail!("--to and --project each choose a folder; leave out one of them")
            }
            Some(folder) => absolute(folder),
            None => source.new_prompts_folder(library)?,
        };
        for folder in target.ancestors() {
            let format = Format::for_folder(folder);
            if !format.is_own() {
                bail!(
                    "{} is for the prompts of {}; choose another folder with --to",
                    display_path(folder),
                    format.title
                );
            }
        }
        Ok(target)
    }

    /// Reads the prompts to import.
    fn read_originals(
        &self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<Originals> {
        let (format, path) = split_format_prefix(&self.source);
        if path.as_os_str() == "-" {
            return self.read_standard_input(format, reporter);
        }
        ensure!(
            path.exists(),
            "there is no file or folder {}",
            path_in_backticks(path)
        );
        originals::read(source, format, &absolute(path))
    }

    /// Reads prompts from standard input: either any number of hexai prompts, which are JSON
    /// objects on a line each, or a single prompt that is named with --name.
    fn read_standard_input(
        &self,
        format: Option<&'static Format>,
        reporter: &Reporter,
    ) -> anyhow::Result<Originals> {
        let text = stdin::text(MAX_FILE, "a prompt", reporter)?;
        let is_hexai = match format {
            Some(format) => format.name == "hexai",
            None => text.trim_start().starts_with('{'),
        };
        let mut originals = Originals::default();
        if is_hexai {
            originals.add_hexai_lines(&text, Path::new("-"));
        } else {
            let format = format.unwrap_or(Format::OWN);
            originals.prompts.push(self.parse_single(format, text)?);
        }
        Ok(originals)
    }

    /// Parses the text on standard input as one prompt, which is named with --name.
    ///
    /// # Errors
    /// Fails if there is no valid --name, or the text can't be parsed.
    fn parse_single(&self, format: &Format, text: String) -> anyhow::Result<Original> {
        let name = self.name.as_deref().context(
            "the prompt on standard input has no name; add one, as in `import - --name review`",
        )?;
        let name = Name::new(name).map_err(|error| {
            anyhow!(
                "{} cannot be the name of a prompt: {error}",
                in_backticks(name)
            )
        })?;
        let mut suffixes = format.file_suffixes();
        let main_suffix = suffixes.next().context("this format has no files")?;
        Ok(Original {
            prompt: main_suffix.parse(&name, text.as_bytes(), None)?,
            file: PathBuf::from("-"),
            position: None,
            own_markdown: main_suffix.is_own().then_some(text),
        })
    }

    /// Converts a prompt, writes it (unless this is a dry run), and adds it to the report, with
    /// notes on what differs from the original.
    ///
    /// # Errors
    /// Fails if the prompt can't be converted or written, or if there is another prompt of that
    /// name.
    fn import_prompt(
        &self,
        original: &Original,
        target: &Path,
        report: &mut ImportReport,
    ) -> Result<(), Diagnostic> {
        let name = &original.prompt.name;
        check_file_name(name)?;
        let Imported { text, notes } = convert(original)?;
        let earlier_text = report.texts.get(name);
        if earlier_text.is_some_and(|earlier_text| *earlier_text != text) {
            return Err(same_name_error(name));
        }
        let is_repetition = earlier_text.is_some();
        let written_file = self
            .write_prompt(target, name, &text)
            .map_err(|mut error| {
                // The error is about the file in the target folder. Report it for the original,
                // which the user named.
                error.file = None;
                error
            })?;
        match written_file {
            WrittenFile::New(path) if !is_repetition => {
                report.imported.push(original.imported_to(path));
            }
            // In a dry run, a repetition is also new, as the earlier prompt was not written.
            WrittenFile::New(path) | WrittenFile::Identical(path) => {
                report.unchanged.push(original.imported_to(path));
            }
        }
        report.texts.insert(name.clone(), text);
        let name_warning = space_in_name(name);
        for note in notes.into_iter().chain(name_warning) {
            report.problems.push(original.locate(note));
        }
        Ok(())
    }

    /// Creates the file of an imported prompt. With --dry-run, only finds out whether that would
    /// succeed.
    ///
    /// # Errors
    /// Fails if the file can't be created, or if there is another prompt of that name whose
    /// contents differ.
    fn write_prompt(
        &self,
        target: &Path,
        name: &Name,
        text: &str,
    ) -> Result<WrittenFile, Diagnostic> {
        // Both return the path of the new file, and fail with `AlreadyExists` if there is a prompt
        // of that name.
        let created = if self.dry_run {
            path_of_new_prompt(target, name)
        } else {
            create_prompt_file(target, name, text)
        };
        let error = match created {
            Ok(path) => return Ok(WrittenFile::New(path)),
            Err(error) => error,
        };
        if error.kind != Kind::AlreadyExists {
            return Err(error);
        }
        if let Some(path) = find_identical_file(target, name, text) {
            return Ok(WrittenFile::Identical(path));
        }
        let message = format!("{}: its contents differ", error.message);
        let fix = "choose another folder with --to, or remove that file";
        Err(Diagnostic::invalid(message, fix))
    }
}

/// The file of an imported prompt, by its path.
enum WrittenFile {
    /// The file was created or, with --dry-run, would be.
    New(PathBuf),
    /// The file already existed, with the same contents.
    Identical(PathBuf),
}

/// Splits `fabric:team/patterns` into the format `fabric` and the path `team/patterns`. If the
/// prefix isn't the name of a format, as in `C:\\prompts`, the whole argument is the path.
fn split_format_prefix(argument: &Path) -> (Option<&'static Format>, &Path) {
    if let Some(argument) = argument.to_str()
        && let Some((prefix, path)) = argument.split_once(':')
        && let Some(format) = originals::find_format(prefix)
    {
        return (Some(format), Path::new(path));
    }
    (None, argument)
}

impl Original {
    /// Returns the entry of this prompt in the report. `path` is its new file.
    fn imported_to(&self, path: PathBuf) -> ImportedPrompt {
        ImportedPrompt {
            name: self.prompt.name.clone(),
            path,
            original: self.file.clone(),
        }
    }
}

/// Rejects a name whose file would be read as another prompt. For example, `x.prompt.md` wouldn't
/// be the prompt `x.prompt`, but the prompt `x` in VS Code's format.
fn check_file_name(name: &Name) -> Result<(), Diagnostic> {
    let file_name = format!("{name}.md");
    if let Some((stem, _)) = Format::OWN.split_path(&file_name)
        && stem == name.as_str()
    {
        return Ok(());
    }
    let message = format!(
        "a file {} would not be read as the prompt {}",
        in_backticks(&file_name),
        in_backticks(name)
    );
    Err(Diagnostic::invalid(message, "rename the original"))
}

/// Returns the error for a prompt with the same name as an earlier one of the import, but another
/// text.
fn same_name_error(name: &Name) -> Diagnostic {
    let name = in_backticks(name);
    let message = format!("an earlier prompt of this import is also named {name}");
    Diagnostic::invalid(message, "rename one of them, and import it again")
}

/// Converts a prompt to the text of a Markdown file, with notes on what differs. Keeps a file that
/// is already in prompt-expander's own format, unless it includes other files, whose text must be
/// inserted.
fn convert(original: &Original) -> Result<Imported, Diagnostic> {
    let prompt = &original.prompt;
    let Some(markdown) = &original.own_markdown else {
        return import(prompt);
    };
    if !prompt.included().is_empty() {
        return import(prompt);
    }
    // Attachments are not copied, so the notes about them apply here, too.
    let notes = if prompt.attachments.is_empty() {
        Vec::new()
    } else {
        import(prompt)?.notes
    };
    Ok(Imported {
        text: markdown.clone(),
        notes,
    })
}

/// Returns the path of a prompt's file in a folder if its contents are equal to `text`.
fn find_identical_file(folder: &Path, name: &Name, text: &str) -> Option<PathBuf> {
    let found = Library::named([folder.to_owned()]).view().get(name)?;
    let path = found.location().file?;
    let bytes = whole_file::read(&path).ok()?;
    if bytes == text.as_bytes() {
        Some(path)
    } else {
        None
    }
}

impl ImportReport {
    /// Formats the report for people: the problems, the prompts, and a summary.
    fn format(&self) -> Styled {
        let mut text = Styled::default();
        for problem in &self.problems {
            text.append(output::problem_in_two_lines(problem));
        }
        for prompt in &self.imported {
            text.append(styled(NAME, format!(":{}", prompt.name)).plain("\n"));
        }
        for prompt in &self.unchanged {
            text.append(styled(NAME, format!(":{}", prompt.name)).plain(" (unchanged)\n"));
        }
        let verb = if self.written {
            "imported"
        } else {
            "would be imported"
        };
        text.plain(format!(
            "{} {verb}, {} unchanged, {}, {}\n",
            count(self.imported.len(), "prompt"),
            self.unchanged.len(),
            count(Severity::Error.count_in(&self.problems), "error"),
            count(Severity::Warning.count_in(&self.problems), "warning")
        ))
    }

    /// Tells how to use the imported prompts. Warns of those that override others, are overridden,
    /// or aren't served.
    fn note_next_step(
        &self,
        source: &PromptSource,
        library: &Library,
        target: &Path,
        reporter: &Reporter,
    ) {
        for ImportedPrompt { name, path, .. } in &self.imported {
            warn_of_same_name(library, name, path, reporter);
        }
        let mut imported = self.imported.iter();
        let is_any_served = imported.any(|prompt| is_served(library, &prompt.name, &prompt.path));
        if !is_any_served {
            warn_of_unserved(target, reporter);
            return;
        }
        let mut names = self.imported.iter().map(|prompt| &prompt.name);
        if let Some(name) = names.find(|name| space_in_name(name).is_none()) {
            reporter.note(&format!(
                "type `:{name} …` in a chat; `prompt-expander explain{} {name}` shows what the agent gets",
                source.project_option()
            ));
        }
    }
}
