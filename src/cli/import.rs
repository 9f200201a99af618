//! `prompt-expander import`: copies prompts of other programs into the user's folder, as Markdown files.

use super::new::{warn_of_the_same_name, warn_of_unserved};
use super::output::{self, FAINT, NAME, full_path};
use super::source::{PromptSource, absolute};
use super::stdin;
use crate::api;
use crate::library::{Library, create, plan, read_whole};
use crate::prompt::{
    Diagnostic, FORMATS, Format, IMPORTED, Imported, Kind, MAX_FILE, Name, Prompt, Severity, hexai_prompts, import,
};
use crate::wording::{count, named};
use anyhow::{Context, anyhow, bail};
use clap::Args;
use serde::Serialize;
use serde_json::json;
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

Formats: claude, skills, codex, gemini, opencode, vscode, cursor, fabric, llm,
continue, hexai.";

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The folder or file to import, with a format before it if its path does not say which: `fabric:DIR`; `-` reads standard input
    #[arg(value_name = "[FORMAT:]SOURCE", value_hint = clap::ValueHint::AnyPath)]
    source: PathBuf,
    /// The name of the prompt on standard input
    #[arg(long)]
    name: Option<String>,
    /// Import into this folder, instead of the first --prompts folder or, without one, your own folder; cannot be combined
    /// with --project
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    to: Option<PathBuf>,
    /// Write nothing, and say what would be imported
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object: `imported` and `unchanged` (name, path and original), `problems` as for `check`, and `written`, which is
    /// false with --dry-run
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Done {
    name: String,
    path: PathBuf,
    original: PathBuf,
    #[serde(skip)]
    description: String,
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
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let library = source.library();
        let target = match &self.to {
            Some(_) if source.project => bail!("--to and --project each choose a folder; leave out one of them"),
            Some(dir) => absolute(dir),
            None => source.folder_of_new(&library)?,
        };
        let of_folder = |folder| (folder, Format::of_folder(folder));
        if let Some((folder, format)) = target.ancestors().map(of_folder).find(|(_, format)| !format.is_own()) {
            let (folder, title) = (full_path(folder), format.title);
            bail!("{folder} has prompts for {title}, and nothing is written to it; choose another folder with --to");
        }
        let mut report = Report::default();
        let (format, path) = named_format(&self.source);
        let read = match path.as_os_str() == "-" {
            true => self.standard_input(format, &mut report)?,
            false => find(format, &absolute(path), &mut report)?,
        };
        for (prompt, original, own) in read {
            self.import_one(&prompt, original, own, &target, &mut report);
        }
        let has_failed = report.count(Severity::Error) > 0;
        if self.json {
            let Report { imported, unchanged, problems } = report;
            let problems: Vec<api::Problem> = problems.into_iter().map(Into::into).collect();
            let written = !self.dry_run;
            output::print_json(
                &json!({ "imported": imported, "unchanged": unchanged, "problems": problems, "written": written }),
            )?;
        } else {
            output::print_lines(&report.text(self.dry_run))?;
            self.say_what_is_next(&library, &target, &report);
        }
        Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    /// The prompts on standard input: a JSON object in each line, as hexai has them, or one prompt with the name that was given.
    fn standard_input(&self, format: Option<&'static Format>, report: &mut Report) -> anyhow::Result<Read> {
        let text = stdin::text(MAX_FILE, "a prompt")?;
        let is_hexai = format.map_or_else(|| text.trim_start().starts_with('{'), |format| format.name == "hexai");
        if is_hexai {
            return Ok(lines(&text, Path::new("-"), report));
        }
        let name = self.name.as_deref().context("the prompt has no name; write it as in `import - --name review`")?;
        let name = Name::new(name).map_err(|why| anyhow!("{} cannot be the name of a prompt: {why}", named(name)))?;
        let file = format.unwrap_or(Format::OWN).file_names().next().context("this format has no files")?;
        let prompt = file.parse(&name, text.as_bytes(), None).map_err(|error| anyhow!("{error}"))?;
        Ok(vec![(prompt, PathBuf::from("-"), file.is_own().then_some(text))])
    }

    fn import_one(&self, prompt: &Prompt, original: PathBuf, own: Option<String>, target: &Path, report: &mut Report) {
        let name = &prompt.name;
        // Not `x.prompt`, for example: `x.prompt.md` is the prompt `x` of VS Code.
        let written = format!("{name}.md");
        if Format::OWN.prompt_file(&written).is_none_or(|(read, file)| read != name.as_str() || !file.is_own()) {
            let message = format!("a file {} would not be read as the prompt {}", named(&written), named(name));
            let diagnostic = Diagnostic::error(None, message, "rename the original");
            return report.problems.push(diagnostic.in_file(&*original));
        }
        let copied = own.filter(|_| prompt.included().is_empty());
        let imported = match import(prompt) {
            _ if copied.is_some() && prompt.attachments.is_empty() => {
                Imported { text: copied.unwrap_or_default(), notes: Vec::new() }
            }
            Ok(imported) => Imported { text: copied.unwrap_or(imported.text), notes: imported.notes },
            Err(diagnostic) => return report.problems.push(diagnostic.in_file(&*original)),
        };
        let planned = match plan(target, name) {
            Ok(path) if self.dry_run => Ok(path),
            Ok(_) => create(target, name, &imported.text),
            Err(error) => Err(error),
        };
        let description = output::one_line(prompt.description.as_deref().unwrap_or_default());
        let done = |path| Done { name: name.to_string(), path, original: original.clone(), description };
        let present = || Library::named([target.to_owned()]).view().get(name)?.place().file;
        match planned {
            Ok(path) => report.imported.push(done(path)),
            Err(error) => match present().filter(|_| error.kind == Kind::Exists).as_deref() {
                Some(path) if read_whole(path).is_ok_and(|text| text == imported.text.as_bytes()) => {
                    report.unchanged.push(done(path.to_owned()));
                }
                Some(path) => {
                    let message = format!("{} already exists with another text, and is not changed", full_path(path));
                    let fix = "choose another folder with --to, or remove that file";
                    return report.problems.push(Diagnostic::error(None, message, fix).in_file(&*original));
                }
                None => return report.problems.push(Diagnostic { file: None, ..error }.in_file(&*original)),
            },
        }
        report.problems.extend(imported.notes.into_iter().map(|note| note.in_file(&*original)));
    }

    fn say_what_is_next(&self, library: &Library, target: &Path, report: &Report) {
        let Some(first) = report.imported.first() else { return };
        if self.dry_run {
            return output::note("nothing was written; leave out --dry-run to import");
        }
        let mut is_served = false;
        for Done { name, path, .. } in &report.imported {
            is_served |= Name::new(name).is_ok_and(|name| warn_of_the_same_name(library, &name, path));
        }
        if is_served {
            let name = &first.name;
            output::note(&format!(
                "type `:{name} …` in a chat; `prompt-expander explain {name}` shows what the agent gets"
            ));
        } else {
            warn_of_unserved(target);
        }
    }
}

/// The format and the path in `FORMAT:SOURCE`.
fn named_format(option: &Path) -> (Option<&'static Format>, &Path) {
    let split = option.to_str().and_then(|option| option.split_once(':'));
    let format = split.and_then(|(name, _)| FORMATS.iter().chain(&IMPORTED).find(|format| format.name == name));
    (format, split.filter(|_| format.is_some()).map_or(option, |(_, path)| Path::new(path)))
}

/// Reads what a path names: a file, a folder of prompts, or one with such folders below it, each by its own rules.
fn find(format: Option<&'static Format>, path: &Path, report: &mut Report) -> anyhow::Result<Read> {
    let shown = named(&path.display().to_string());
    let metadata = path.metadata().map_err(|error| {
        anyhow!("{shown} cannot be read: {error}; name a folder or a file, as in `import ~/.claude`")
    })?;
    let mut roots: Vec<(&Format, PathBuf, Option<PathBuf>)> = Vec::new();
    let of_folder = |path: &Path| {
        let is_it = |format: &&'static Format| format.folders.iter().any(|end| path.ends_with(end));
        FORMATS.iter().chain(&IMPORTED).find(is_it)
    };
    // A folder that is itself a prompt.
    let is_pattern = format.or_else(|| path.parent().and_then(of_folder)).is_some_and(|format| format.name == "fabric");
    let text_of = [("SKILL.md", true), ("system.md", is_pattern)];
    let text_of = text_of.into_iter().find(|(file, counts)| *counts && path.join(file).is_file());
    let file = text_of.map(|(file, _)| path.join(file)).or_else(|| (!metadata.is_dir()).then(|| path.to_owned()));
    if let Some(file) = file {
        let is_in_folder = file.ends_with("SKILL.md") || file.ends_with("system.md");
        let near = file.ancestors().nth(if is_in_folder { 2 } else { 1 }).unwrap_or(path);
        let known = file.ancestors().skip(1).find_map(|folder| Some((of_folder(folder)?, folder)));
        let name = file.to_string_lossy();
        let by_suffix =
            |format: &&'static Format| format.files.iter().any(|(end, _)| *end != ".md" && name.ends_with(end));
        let (format, root) = match (format, known) {
            (Some(format), _) => (format, near),
            (None, Some(known)) => known,
            (None, None) => (IMPORTED.iter().find(by_suffix).unwrap_or(Format::OWN), near),
        };
        roots.push((format, root.to_owned(), Some(file)));
    } else if let Some(format) = format.or_else(|| of_folder(path)) {
        roots.push((format, path.to_owned(), None));
    } else {
        for format in FORMATS.iter().chain(&IMPORTED) {
            roots.extend(format.folders.iter().flat_map(|end| below(path, end)).map(|root| (format, root, None)));
        }
        if roots.is_empty() {
            roots.push((Format::OWN, path.to_owned(), None));
        }
    }
    let mut read = Vec::new();
    let before = report.problems.len();
    for (format, root, file) in &roots {
        if format.name == "hexai" {
            let files = ["default.jsonl", "user.jsonl"].map(|name| root.join(name));
            for file in file.as_ref().map_or(&files[..], std::slice::from_ref).iter().filter(|file| file.is_file()) {
                let text = std::fs::read_to_string(file).with_context(|| full_path(file))?;
                read.extend(lines(&text, file, report));
            }
        } else {
            read.extend(of_root(format, root, file.as_deref(), report));
        }
    }
    if read.is_empty() && report.problems.len() == before {
        let ends: Vec<String> = roots[0].0.files.iter().map(|(end, _)| format!("`NAME{end}`")).collect();
        let ends = ends.join(", ");
        bail!("there are no prompts in {shown}: no files {ends}; put the format before it, as in `claude:DIR`");
    }
    Ok(read)
}

/// The folders whose path has this end, at or below `path`: of `~/.claude`, or of `~`, the folder `~/.claude/commands`.
fn below(path: &Path, end: &str) -> Option<PathBuf> {
    let mut rest = Path::new(end).components();
    let mut first = PathBuf::new();
    loop {
        let folder = path.join(rest.as_path());
        let fits = first.as_os_str().is_empty() || path.ends_with(&first);
        if fits && rest.as_path().components().next().is_some() && folder.is_dir() {
            return Some(folder);
        }
        first.push(rest.next()?);
    }
}

/// The prompts of a folder, or that in one file of it.
fn of_root(format: &'static Format, root: &Path, file: Option<&Path>, report: &mut Report) -> Read {
    let listing = Library::default().with_named(Some(format), root.to_owned()).view().list();
    let is_wanted = |problem: &&Diagnostic| file.is_none_or(|file| problem.file.as_deref() == Some(file));
    let is_error = |problem: &&Diagnostic| problem.severity() == Severity::Error;
    report.problems.extend(listing.problems.iter().filter(is_error).filter(is_wanted).cloned());
    let mut read = Vec::new();
    for found in listing.found.iter().filter(|found| file.is_none_or(|file| found.is_in(file))) {
        let path = found.place().file.unwrap_or_else(|| root.to_owned());
        let below = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
        let is_own = format.prompt_file(&below).is_some_and(|(_, file)| file.is_own());
        match found.prompt() {
            Ok(prompt) => read.push(((*prompt).clone(), path, found.text().ok().filter(|_| is_own))),
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
    fn count(&self, severity: Severity) -> usize {
        self.problems.iter().filter(|problem| problem.severity() == severity).count()
    }

    /// What is printed: the problems, the prompts, and how many there are of each.
    fn text(&self, is_dry: bool) -> String {
        let mut text = String::new();
        // What is the same for many files is said once.
        let mut same: BTreeMap<(&str, &str), (usize, &Diagnostic)> = BTreeMap::new();
        for problem in &self.problems {
            match problem.position {
                Some(_) => text += &output::problem_in_two_lines(problem),
                None => {
                    let key = (problem.message.as_str(), problem.fix.as_str());
                    same.entry(key).or_insert((0, problem)).0 += 1;
                }
            }
        }
        for (files, problem) in same.into_values() {
            text += &output::problem_in_two_lines(problem);
            if files > 1 {
                text += &format!("    {FAINT}the same in {} more files{FAINT:#}\n", files - 1);
            }
        }
        for (done, label) in [(&self.imported, ""), (&self.unchanged, " (unchanged)")] {
            for Done { name, description, .. } in done {
                text += format!("{NAME}:{name}{NAME:#}{label}  {description}").trim_end();
                text.push('\n');
            }
        }
        let imported = if is_dry { "would be imported" } else { "imported" };
        text += &format!(
            "{} {imported}, {} unchanged, {}, {}\n",
            count(self.imported.len(), "prompt"),
            self.unchanged.len(),
            count(self.count(Severity::Error), "error"),
            count(self.count(Severity::Warning), "warning")
        );
        text
    }
}
