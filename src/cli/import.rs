//! `prompt-expander import`: copies prompts of other programs into the user's folder, as Markdown
//! files.

mod originals;

use super::new::{warn_of_the_same_name, warn_of_unserved};
use super::output::{self, NAME, Reporter, Styled, display_path, styled};
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
    /// The folder or file to import, with a format before it if its path does not say which:
    /// `fabric:DIR`; `-` reads standard input
    #[arg(value_name = "[FORMAT:]SOURCE", value_hint = clap::ValueHint::AnyPath)]
    source: PathBuf,
    /// The name of the prompt on standard input
    #[arg(long)]
    name: Option<String>,
    /// Import into this folder, instead of the first --prompts folder or, without one, your own
    /// folder; cannot be combined with --project
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    to: Option<PathBuf>,
    /// Write nothing, and say what would be imported
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object: `imported` and `unchanged` (name, path and original), `problems` as
    /// for `check`, and `written`, which is false with --dry-run
    #[arg(long)]
    json: bool,
}

/// What happened to each prompt.
#[derive(Default, Serialize)]
struct ImportReport {
    imported: Vec<ImportedPrompt>,
    /// The prompts whose files had the imported text already.
    unchanged: Vec<ImportedPrompt>,
    /// Why prompts were not imported, and what is different in those that were.
    problems: Vec<Diagnostic>,
    /// False for a dry run.
    written: bool,
}

#[derive(Debug, Serialize)]
struct ImportedPrompt {
    name: Name,
    path: PathBuf,
    original: PathBuf,
}

impl Import {
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let library = source.library();
        let target = self.target(source, &library)?;
        let originals = self.originals(source, reporter)?;
        let mut report = ImportReport {
            problems: originals.problems,
            written: !self.dry_run,
            ..ImportReport::default()
        };
        for original in originals.prompts {
            if let Err(problem) = self.import_one(&original, &target, &mut report) {
                report.problems.push(problem.in_file(original.file));
            }
        }
        if self.json {
            output::print_json(&report)?;
        } else {
            output::print_lines(&report.text())?;
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

    /// Returns the folder to import into.
    ///
    /// # Errors
    /// It is in a folder with prompts of another program, where nothing is written.
    fn target(&self, source: &PromptSource, library: &Library) -> anyhow::Result<PathBuf> {
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
    fn originals(&self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<Originals> {
        let (format, path) = format_and_path(&self.source);
        if path.as_os_str() == "-" {
            return self.standard_input(format, reporter);
        }
        ensure!(
            path.exists(),
            "there is no file or folder {}",
            path_in_backticks(path)
        );
        originals::read(source, format, &absolute(path))
    }

    /// Reads the prompts on standard input: lines of hexai, each of which is a JSON object, or one
    /// prompt with the name of `--name`.
    fn standard_input(
        &self,
        format: Option<&'static Format>,
        reporter: &Reporter,
    ) -> anyhow::Result<Originals> {
        let text = stdin::text(MAX_FILE, "a prompt", reporter)?;
        let mut originals = Originals::default();
        let is_hexai = match format {
            Some(format) => format.name == "hexai",
            None => text.trim_start().starts_with('{'),
        };
        if is_hexai {
            originals.add_hexai_lines(&text, Path::new("-"));
            return Ok(originals);
        }
        let name = self.name.as_deref().context(
            "the prompt on standard input has no name; add one, as in `import - --name review`",
        )?;
        let name = Name::new(name).map_err(|error| {
            anyhow!(
                "{} cannot be the name of a prompt: {error}",
                in_backticks(name)
            )
        })?;
        let mut file_names = format.unwrap_or(Format::OWN).file_suffixes();
        let file_name = file_names.next().context("this format has no files")?;
        originals.prompts.push(Original {
            prompt: file_name.parse(&name, text.as_bytes(), None)?,
            file: PathBuf::from("-"),
            markdown: file_name.is_own().then_some(text),
        });
        Ok(originals)
    }

    /// Writes the file of a prompt, and adds it to the report with the notes on what is different
    /// in it.
    ///
    /// # Errors
    /// Why the prompt is not imported.
    fn import_one(
        &self,
        original: &Original,
        target: &Path,
        report: &mut ImportReport,
    ) -> Result<(), Diagnostic> {
        let name = &original.prompt.name;
        check_file_name(name)?;
        let Imported { text, notes } = imported(original)?;
        let planned = if self.dry_run {
            path_of_new_prompt(target, name)
        } else {
            create_prompt_file(target, name, &text)
        };
        match planned {
            Ok(path) => report.imported.push(original.imported_to(path)),
            Err(error) if error.kind == Kind::AlreadyExists => {
                let Some(path) = path_with_text(target, name, &text) else {
                    let message = format!("{}: it has another text", error.message);
                    let fix = "choose another folder with --to, or remove that file";
                    return Err(Diagnostic::error(None, message, fix));
                };
                report.unchanged.push(original.imported_to(path));
            }
            Err(mut error) => {
                error.file = None; // the report shows the original
                return Err(error);
            }
        }
        for note in notes.into_iter().chain(space_in_name(name)) {
            report.problems.push(note.in_file(original.file.as_path()));
        }
        Ok(())
    }
}

/// Returns the format and the path of the option: those of `fabric:team/patterns` are `fabric` and
/// `team/patterns`. What is before the colon belongs to the path if no format has this name, as in
/// `C:\\prompts`.
fn format_and_path(option: &Path) -> (Option<&'static Format>, &Path) {
    if let Some(text) = option.to_str()
        && let Some((name, path)) = text.split_once(':')
        && let Some(format) = originals::format_named(name)
    {
        return (Some(format), Path::new(path));
    }
    (None, option)
}

impl Original {
    fn imported_to(&self, path: PathBuf) -> ImportedPrompt {
        ImportedPrompt {
            name: self.prompt.name.clone(),
            path,
            original: self.file.clone(),
        }
    }
}

/// Refuses a name whose file would be read as another prompt: `x.prompt.md` is not the prompt
/// `x.prompt`, but `x` in the format of VS Code.
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
    Err(Diagnostic::error(None, message, "rename the original"))
}

/// Returns the text of the imported file, and what is different in it. Markdown of this program
/// stays as it is, unless files are included in it: their text becomes part of the import.
fn imported(original: &Original) -> Result<Imported, Diagnostic> {
    let prompt = &original.prompt;
    let Some(markdown) = &original.markdown else {
        return import(prompt);
    };
    if !prompt.included().is_empty() {
        return import(prompt);
    }
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

/// Returns the file of a prompt in a folder, if it has this text.
fn path_with_text(folder: &Path, name: &Name, text: &str) -> Option<PathBuf> {
    let found = Library::named([folder.to_owned()]).view().get(name)?;
    let path = found.location().file?;
    let bytes = whole_file::read(&path).ok()?;
    (bytes == text.as_bytes()).then_some(path)
}

impl ImportReport {
    /// Returns the report for people: the problems, the prompts, and a line that counts them.
    fn text(&self) -> Styled {
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

    /// Says how to use the imported prompts, and warns of those that override others, are
    /// overridden, or are not served.
    fn note_next_step(
        &self,
        source: &PromptSource,
        library: &Library,
        target: &Path,
        reporter: &Reporter,
    ) {
        let mut is_served = false;
        for prompt in &self.imported {
            is_served |= warn_of_the_same_name(library, &prompt.name, &prompt.path, reporter);
        }
        if !is_served {
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
