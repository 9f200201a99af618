//! `prompt-expander import`: copies prompts of other programs into the user's folder, as Markdown
//! files.

use super::new::{warn_of_the_same_name, warn_of_unserved};
use super::output::{self, NAME, Reporter, Styled, full_path, styled};
use super::source::{PromptSource, absolute};
use super::stdin;
use crate::library::{Library, Reach, create_prompt_file, path_of_new_prompt, read_confined};
use crate::prompt::{
    Diagnostic, FORMATS, Format, IMPORTED, Imported, Kind, MAX_FILE, Name, Prompt, Severity,
    hexai_prompts, import, owned_text, space_in_name,
};
use crate::whole_file;
use crate::wording::{count, named, named_path};
use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde::Serialize;
use serde_json::json;
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

#[derive(Debug, Serialize)]
struct Done {
    name: Name,
    path: PathBuf,
    original: PathBuf,
}

/// What happened to each prompt.
#[derive(Default)]
struct Report {
    imported: Vec<Done>,
    unchanged: Vec<Done>,
    /// Why prompts were not imported, and what is different in those that were.
    problems: Vec<Diagnostic>,
}

/// Prompts that were read, each with its file, and its text if that is Markdown of this program.
type Read = Vec<(Prompt, PathBuf, Option<String>)>;

impl Import {
    pub(super) fn run(
        self,
        source: &PromptSource,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        let library = source.library();
        let target = match &self.to {
            Some(_) if source.project => {
                bail!("--to and --project each choose a folder; leave out one of them")
            }
            Some(dir) => absolute(dir),
            None => source.folder_of_new(&library)?,
        };
        if let Some(folder) = target
            .ancestors()
            .find(|folder| !Format::of_folder(folder).is_own())
        {
            let (folder, title) = (full_path(folder), Format::of_folder(folder).title);
            bail!(
                "{folder} has prompts for {title}, and nothing is written to it; choose another folder with --to"
            );
        }
        let mut report = Report::default();
        let (format, path) = named_format(&self.source);
        let read = match path.as_os_str() == "-" {
            true => self.standard_input(format, &mut report, reporter)?,
            false => find(source, format, &absolute(path), &mut report)?,
        };
        for (prompt, original, own) in read {
            if let Err(problem) = self.import_one(&prompt, &original, own, &target, &mut report) {
                report.problems.push(problem.in_file(original));
            }
        }
        let has_failed = Severity::Error.count_in(&report.problems) > 0;
        let Report {
            imported,
            unchanged,
            problems,
        } = &report;
        if self.json {
            output::print_json(&json!({
                "imported": imported, "unchanged": unchanged, "problems": problems, "written": !self.dry_run
            }))?;
        } else {
            output::print_lines(&report.text(self.dry_run))?;
        }
        if self.dry_run {
            reporter.note("nothing was written; leave out --dry-run to import");
        } else if !imported.is_empty() {
            let is_served =
                |done: &&Done| warn_of_the_same_name(&library, &done.name, &done.path, reporter);
            match imported.iter().filter(is_served).count() {
                0 => warn_of_unserved(&target, reporter),
                _ => {
                    let example = imported
                        .iter()
                        .find(|done| space_in_name(&done.name).is_none());
                    let command = format!("prompt-expander explain{}", source.project_option());
                    reporter.note_if_any(example.map(|Done { name, .. }| {
                        format!("type `:{name} …` in a chat; `{command} {name}` shows what the agent gets")
                    }));
                }
            }
        }
        Ok(if has_failed {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        })
    }

    /// The prompts on standard input: a JSON object in each line, as hexai has them, or one prompt
    /// with the name that was given.
    fn standard_input(
        &self,
        format: Option<&'static Format>,
        report: &mut Report,
        reporter: &Reporter,
    ) -> anyhow::Result<Read> {
        let text = stdin::text(MAX_FILE, "a prompt", reporter)?;
        let is_hexai = format.map_or_else(
            || text.trim_start().starts_with('{'),
            |format| format.name == "hexai",
        );
        if is_hexai {
            return Ok(lines(&text, Path::new("-"), report));
        }
        let name = self
            .name
            .as_deref()
            .context("the prompt has no name; write it as in `import - --name review`")?;
        let name = Name::new(name)
            .map_err(|why| anyhow!("{} cannot be the name of a prompt: {why}", named(name)))?;
        let file = format
            .unwrap_or(Format::OWN)
            .file_names()
            .next()
            .context("this format has no files")?;
        let prompt = file.parse(&name, text.as_bytes(), None)?;
        Ok(vec![(
            prompt,
            PathBuf::from("-"),
            file.is_own().then_some(text),
        )])
    }

    /// Writes a prompt, and reports it with what is different; or says why it is not imported.
    fn import_one(
        &self,
        prompt: &Prompt,
        original: &Path,
        own: Option<String>,
        target: &Path,
        report: &mut Report,
    ) -> Result<(), Diagnostic> {
        let name = &prompt.name;
        // Not `x.prompt`, for example: `x.prompt.md` is the prompt `x` of VS Code.
        let written = format!("{name}.md");
        if Format::OWN
            .prompt_file(&written)
            .is_none_or(|(read, _)| read != name.as_str())
        {
            let message = format!(
                "a file {} would not be read as the prompt {}",
                named(&written),
                named(name)
            );
            return Err(Diagnostic::error(None, message, "rename the original"));
        }
        let own = own.filter(|_| prompt.included().is_empty());
        let Imported { text, notes } = match own {
            Some(text) if prompt.attachments.is_empty() => Imported {
                text,
                notes: Vec::new(),
            },
            own => {
                let imported = import(prompt)?;
                Imported {
                    text: own.unwrap_or(imported.text),
                    ..imported
                }
            }
        };
        let planned = if self.dry_run {
            path_of_new_prompt(target, name)
        } else {
            create_prompt_file(target, name, &text)
        };
        let done = |path| Done {
            name: name.clone(),
            path,
            original: original.to_owned(),
        };
        match planned {
            Ok(path) => report.imported.push(done(path)),
            Err(error) if error.kind != Kind::Exists => {
                return Err(Diagnostic {
                    file: None,
                    ..error
                });
            }
            Err(error) => {
                let present = Library::named([target.to_owned()])
                    .view()
                    .get(name)
                    .and_then(|found| found.place().file);
                match present.filter(|path| {
                    whole_file::read(path).is_ok_and(|present| present == text.as_bytes())
                }) {
                    Some(path) => report.unchanged.push(done(path)),
                    None => {
                        let message = format!("{}: it has another text", error.message);
                        let fix = "choose another folder with --to, or remove that file";
                        return Err(Diagnostic::error(None, message, fix));
                    }
                }
            }
        }
        report.problems.extend(
            notes
                .into_iter()
                .chain(space_in_name(name))
                .map(|note| note.in_file(original)),
        );
        Ok(())
    }
}

/// The format and the path in `FORMAT:SOURCE`.
fn named_format(option: &Path) -> (Option<&'static Format>, &Path) {
    let split = option.to_str().and_then(|option| option.split_once(':'));
    let named =
        split.and_then(|(name, path)| Some((formats().find(|format| format.name == name)?, path)));
    named.map_or((None, option), |(format, path)| {
        (Some(format), Path::new(path))
    })
}

fn formats() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().chain(&IMPORTED)
}

/// Reads what a path names: a file, a folder of prompts, or one with such folders below it, each by
/// its own rules.
fn find(
    source: &PromptSource,
    format: Option<&'static Format>,
    path: &Path,
    report: &mut Report,
) -> anyhow::Result<Read> {
    let shown = named_path(path);
    let metadata = path.metadata().map_err(|error| {
        anyhow!(
            "{shown} cannot be read: {error}; name a folder or a file, as in `import ~/.claude`"
        )
    })?;
    let texts = ["SKILL.md", "system.md"]; // of folders that are themselves prompts
    let is_prompt = metadata.is_file() || texts.iter().any(|text| path.join(text).is_file());
    let folder = path
        .ancestors()
        .nth(if texts.iter().any(|text| path.ends_with(text)) {
            2
        } else {
            1
        });
    let folder = folder.filter(|_| is_prompt).unwrap_or(path).to_owned();
    let is_known = |format: &'static Format, folder: &Path| {
        format.folders.iter().any(|end| folder.ends_with(end))
    };
    let known = path.ancestors().find_map(|at| {
        Some((
            formats().find(|format| is_known(format, at))?,
            at.to_owned(),
        ))
    });
    let mut roots: Vec<(&Format, PathBuf)> = match format {
        Some(format) => vec![(format, folder.clone())],
        None => known.into_iter().collect(),
    };
    if roots.is_empty() && !is_prompt {
        let ends = formats()
            .filter(|format| format.plugin.is_empty())
            .flat_map(|format| format.folders.iter().map(move |end| (format, end)));
        // Below `~` as well as below `~/.claude`, this finds `~/.claude/commands`.
        let places = |(format, end)| {
            path.ancestors()
                .take(2)
                .map(move |at| (format, at.join(end)))
        };
        roots.extend(
            ends.flat_map(places)
                .filter(|(_, folder)| folder.starts_with(path) && folder.is_dir()),
        );
    }
    if roots.is_empty() {
        let name = path.to_string_lossy();
        let is_it = |format: &&Format| {
            is_prompt
                && format
                    .files
                    .iter()
                    .any(|(end, _)| *end != ".md" && name.ends_with(end))
        };
        roots.push((IMPORTED.iter().find(is_it).unwrap_or(Format::OWN), folder));
    }
    let mut read = Vec::new();
    let before = report.problems.len();
    for (format, root) in roots {
        let mut reach = source.reach_of(&root);
        if reach != Reach::Own && root.starts_with(path) {
            reach = source.reach_of(path); // the folder that was named, not what a link in it says
        }
        if format.name != "hexai" {
            read.extend(of_root(format, (root, reach), path, report));
            continue;
        }
        let files = if is_prompt {
            vec![path.to_owned()]
        } else {
            ["default.jsonl", "user.jsonl"]
                .map(|name| root.join(name))
                .into()
        };
        for file in files.iter().filter(|file| file.is_file()) {
            match read_confined(file, &reach).and_then(owned_text) {
                Ok(text) => read.extend(lines(&text, file, report)),
                Err(problem) => report.problems.push(problem.in_file(file.as_path())),
            }
        }
    }
    if read.is_empty() && report.problems.len() == before {
        bail!("there are no prompts in {shown}; put the format before it, as in `claude:DIR`");
    }
    Ok(read)
}

/// The prompts of a folder whose files are at or below a path.
fn of_root(
    format: &'static Format,
    (root, reach): (PathBuf, Reach),
    path: &Path,
    report: &mut Report,
) -> Read {
    let library = Library::of_folder(Some(format), root.clone(), reach);
    let listing = library.view().list();
    let is_wanted = |file: &Path| file.starts_with(path);
    let is_error = |problem: &&Diagnostic| problem.severity() == Severity::Error;
    let problems = listing.problems.iter().filter(is_error);
    report.problems.extend(
        problems
            .filter(|problem| problem.file.as_deref().is_some_and(is_wanted))
            .cloned(),
    );
    let mut read = Vec::new();
    for found in &listing.found {
        let Some(file) = found.place().file.filter(|file| is_wanted(file)) else {
            continue;
        };
        let below = file
            .strip_prefix(&root)
            .unwrap_or(&file)
            .to_string_lossy()
            .replace('\\', "/");
        let is_own = format
            .prompt_file(&below)
            .is_some_and(|(_, file)| file.is_own());
        match found.prompt() {
            Ok(prompt) => read.push((
                (*prompt).clone(),
                file,
                found.text().ok().filter(|_| is_own),
            )),
            Err(broken) => report.problems.push(broken),
        }
    }
    read
}

/// The prompts in the lines of a file of hexai.
fn lines(text: &str, file: &Path, report: &mut Report) -> Read {
    let mut read = Vec::new();
    for prompt in hexai_prompts(text) {
        match prompt {
            Ok(prompt) => read.push((prompt, file.to_owned(), None)),
            Err(diagnostic) => report.problems.push(diagnostic.in_file(file)),
        }
    }
    read
}

impl Report {
    /// What is printed: the problems, the prompts, and how many there are of each.
    fn text(&self, is_dry: bool) -> Styled {
        let mut text: Styled = self
            .problems
            .iter()
            .map(output::problem_in_two_lines)
            .collect();
        for (done, label) in [(&self.imported, ""), (&self.unchanged, " (unchanged)")] {
            text.extend(
                done.iter().map(|done| {
                    styled(NAME, format!(":{}", done.name)).plain(format!("{label}\n"))
                }),
            );
        }
        let imported = if is_dry {
            "would be imported"
        } else {
            "imported"
        };
        text.plain(format!(
            "{} {imported}, {} unchanged, {}, {}\n",
            count(self.imported.len(), "prompt"),
            self.unchanged.len(),
            count(Severity::Error.count_in(&self.problems), "error"),
            count(Severity::Warning.count_in(&self.problems), "warning")
        ))
    }
}
