//! `prompt-expander import`: copies prompts of other programs into the user's folder, as Markdown files.

use super::new::{warn_of_the_same_name, warn_of_unserved};
use super::output::{self, FAINT, NAME, full_path};
use super::source::{PromptSource, absolute, folder};
use super::{check, edit};
use crate::library::{Library, Location, Problem, View, create, is_jsonl, plan};
use crate::prompt::{Conversion, Diagnostic, Format, Name, Position, Severity, System, import};
use crate::report;
use crate::wording::{alternatives, count, named};
use anyhow::{anyhow, bail};
use clap::Args;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander import ~/.claude/commands             copy your commands of
                                                        Claude Code
  prompt-expander import --dry-run ~/.gemini/commands   only say what would be
                                                        imported
  prompt-expander import fabric:team/patterns           a folder whose path does
                                                        not say its format
  prompt-expander import --project .github/prompts      copy into the project's
                                                        folder

The folders of the agents:
  Claude Code   ~/.claude/commands, ~/.claude/skills
  Codex         ~/.codex/prompts, ~/.codex/skills, ~/.agents/skills
  Gemini CLI    ~/.gemini/commands
  opencode      ~/.config/opencode/command
  VS Code       .github/prompts
  Cursor        ~/.cursor/commands";

#[derive(Debug, Args)]
pub(super) struct Import {
    /// The folder or file to import, with a format before it if its path does not say which: `fabric:DIR`
    #[arg(value_name = "[FORMAT:]SOURCE", value_hint = clap::ValueHint::AnyPath)]
    source: PathBuf,
    /// Import into this folder, instead of the first --prompts folder or, without one, your own folder; cannot be combined
    /// with --project
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    to: Option<PathBuf>,
    /// Write nothing, and say what would be imported
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON object: `imported` and `unchanged` (name, path and original), `problems` as for `check`, `unread_keys` (key,
    /// count, first file and line), and `written`, which is false with --dry-run
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Done {
    #[serde(serialize_with = "as_text")]
    name: Name,
    path: PathBuf,
    original: PathBuf,
    #[serde(skip)]
    description: String,
}

fn as_text<S: serde::Serializer>(name: &Name, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(name)
}

#[derive(Debug, Serialize)]
struct UnreadKey {
    key: String,
    count: usize,
    first: String,
    line: usize,
}

/// What happened to each prompt.
#[derive(Default)]
struct Report {
    imported: Vec<Done>,
    unchanged: Vec<Done>,
    /// Why prompts were not imported, and what is different in those that were.
    problems: Vec<Problem>,
    /// By key.
    unread_keys: BTreeMap<String, UnreadKey>,
}

#[derive(Serialize)]
struct Json {
    imported: Vec<Done>,
    unchanged: Vec<Done>,
    problems: Vec<report::Problem>,
    unread_keys: Vec<UnreadKey>,
    written: bool,
}

impl Import {
    pub(super) fn run(self, source: &PromptSource) -> anyhow::Result<ExitCode> {
        let library = source.library();
        let target = match &self.to {
            Some(_) if source.project => bail!("--to and --project each choose a folder; leave out one of them"),
            Some(dir) => absolute(dir),
            None => edit::directory(&library, source.project, "--to")?,
        };
        if let Some((folder, system)) = target.ancestors().map(|at| (at, System::of_folder(at))).find(is_foreign) {
            bail!(
                "{} has prompts for {}, and nothing is written to it; choose another folder with --to",
                full_path(folder),
                system.title()
            );
        }
        let from = Source::find(&self.source)?;
        from.check_target(&target)?;
        let mut report = Report::default();
        let view = from.library.view();
        let listing = view.list();
        let problems = listing.skipped.iter().chain(&listing.problems);
        let is_wanted = |problem: &&Problem| from.file.as_ref().is_none_or(|file| problem.path == *file);
        report.problems.extend(problems.filter(is_wanted).cloned());
        let targets = Library::named([target.clone()]).view();
        for entry in &listing.entries {
            let is_wanted = |file: &Path| entry.location() == Some(Location::File(file.to_owned()));
            if from.file.as_deref().is_none_or(is_wanted) {
                self.import_one(&view, entry.name(), source.project, &target, &targets, &mut report);
            }
        }
        if report.is_empty() {
            bail!("{}", from.nothing(&view));
        }
        let has_failed = report.errors() > 0;
        if self.json {
            let Report { imported, unchanged, problems, unread_keys } = report;
            output::print_json(&Json {
                imported,
                unchanged,
                problems: problems.into_iter().map(Into::into).collect(),
                unread_keys: unread_keys.into_values().collect(),
                written: !self.dry_run,
            })?;
        } else {
            output::print_paged(report.text(self.dry_run).as_bytes())?;
            self.say_what_is_next(&library, &target, &report);
        }
        Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }

    fn import_one(
        &self,
        view: &View,
        name: &Name,
        is_for_project: bool,
        target: &Path,
        targets: &View,
        report: &mut Report,
    ) {
        let original = match view.locate(name) {
            Some((_, Location::File(file) | Location::Document(file))) => file,
            _ => PathBuf::from(name.as_str()),
        };
        let file = view.raw(name).and_then(Result::ok).unwrap_or_default();
        let problem = |diagnostic| Problem { file: name.to_string(), path: original.clone(), diagnostic };
        let prompt = match view.get(name) {
            Some(Ok(prompt)) => prompt,
            Some(Err(broken)) => return report.problems.push(broken),
            None => {
                let diagnostic = Diagnostic::error(None, "the prompt was deleted just now", "run the command again");
                return report.problems.push(problem(diagnostic));
            }
        };
        if is_for_project && prompt.is_jinja() {
            let message = "`engine: jinja` is not used in the prompts of a project";
            let fix = "leave out --project, to import into a folder of your own";
            return report.problems.push(problem(Diagnostic::error(None, message, fix)));
        }
        // Such as `x.prompt.md`, which is the prompt `x` of VS Code.
        let written = format!("{name}.md");
        if System::PromptExpander.prompt_file(&written).map(|(name, file)| (name, file.format))
            != Some((name.as_str(), Format::Markdown))
        {
            let message = format!("a file {} would not be read as the prompt {}", named(&written), named(name));
            return report.problems.push(problem(Diagnostic::error(None, message, "rename the original")));
        }
        let Conversion { text, notes, unread_keys } = match import(&prompt, &file) {
            Ok(conversion) => conversion,
            Err(diagnostic) => return report.problems.push(problem(diagnostic)),
        };
        let created = match targets.locate(name) {
            Some((_, Location::File(path))) => {
                let is_same = matches!(targets.raw(name), Some(Ok(present)) if present == text);
                if !is_same {
                    let message = format!("{} already exists with another text, and is not changed", shown(&path));
                    let fix = "choose another folder with --to, or remove that file";
                    return report.problems.push(problem(Diagnostic::error(None, message, fix)));
                }
                report.unchanged.push(Done::new(name, path, original.clone(), &prompt.description));
                None
            }
            _ if self.dry_run => Some(plan(target, name)),
            _ => Some(create(target, name, &text)),
        };
        match created {
            Some(Ok(path)) => {
                report.imported.push(Done::new(name, path, original.clone(), &prompt.description));
            }
            Some(Err(error)) => {
                let error = error.to_string();
                let (message, fix) = error.rsplit_once("; ").unwrap_or((&error, "choose another folder with --to"));
                return report.problems.push(problem(Diagnostic::error(None, message, fix)));
            }
            None => {}
        }
        report.problems.extend(notes.into_iter().map(problem));
        for (key, Position { line, .. }) in unread_keys {
            let first = || UnreadKey { key: key.clone(), count: 0, first: original.display().to_string(), line };
            report.unread_keys.entry(key.clone()).or_insert_with(first).count += 1;
        }
    }

    fn say_what_is_next(&self, library: &Library, target: &Path, report: &Report) {
        let Some(first) = report.imported.first() else { return };
        if self.dry_run {
            output::note("nothing was written; leave out --dry-run to import");
            return;
        }
        let mut is_served = false;
        for Done { name, path, .. } in &report.imported {
            is_served |= warn_of_the_same_name(library, name, path);
        }
        if is_served {
            output::note(&format!(
                "type `:{0} …` in a chat; `prompt-expander explain {0}` shows what the agent gets",
                first.name
            ));
        } else {
            warn_of_unserved(target);
        }
    }
}

fn is_foreign((_, system): &(&Path, System)) -> bool {
    *system != System::PromptExpander
}

/// What is imported.
struct Source {
    library: Library,
    /// The folder, or the file with several prompts.
    path: PathBuf,
    system: System,
    /// The file, if only that is imported.
    file: Option<PathBuf>,
}

impl Source {
    /// Finds what was named on the command line. The folder of a file is the one that the file's program reads.
    fn find(option: &Path) -> anyhow::Result<Source> {
        let (system, path) = folder(option);
        let metadata = path.metadata().map_err(|error| {
            anyhow!(
                "{} cannot be read: {error}; name a folder or a file, as in `import ~/.claude/commands`",
                shown(&path)
            )
        })?;
        // A folder that is itself a prompt.
        let is_pattern = |path: &Path| {
            let parent = path.parent().map_or(System::PromptExpander, System::of_folder);
            system == Some(System::Fabric) || (system.is_none() && parent == System::Fabric)
        };
        let of_prompt = [(path.join("SKILL.md"), true), (path.join("system.md"), is_pattern(&path))];
        let of_prompt = of_prompt.into_iter().find(|(file, counts)| *counts && file.is_file());
        let (path, metadata) = match of_prompt {
            Some((file, _)) => (file.clone(), file.metadata()?),
            None => (path, metadata),
        };
        let (path, file) = if metadata.is_dir() || is_jsonl(&path) {
            (path, None)
        } else if metadata.is_file() {
            let is_prompt = path.file_name().is_some_and(|name| name == "SKILL.md" || name == "system.md");
            let near = path.ancestors().nth(if is_prompt { 2 } else { 1 }).unwrap_or(&path).to_owned();
            let of_system = path.ancestors().find(|folder| System::of_folder(folder) != System::PromptExpander);
            (of_system.filter(|_| system.is_none()).map_or(near, Path::to_owned), Some(path))
        } else {
            bail!("{} is neither a folder nor a file; name one", shown(&path));
        };
        let of_path = if is_jsonl(&path) { System::Hexai } else { System::of_folder(&path) };
        let library = Library::default().with_named(system, path.clone());
        Ok(Source { library, system: system.unwrap_or(of_path), path, file })
    }

    /// Refuses to import what is already there.
    fn check_target(&self, target: &Path) -> anyhow::Result<()> {
        let real = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let what = self.file.as_ref().unwrap_or(&self.path);
        if real(what).starts_with(real(target)) && self.system == System::PromptExpander {
            bail!("{} is already in the folder {}; choose another one with --to", shown(what), shown(target));
        }
        if self.file.is_none() && real(target).starts_with(real(&self.path)) && self.system == System::PromptExpander {
            bail!(
                "{} contains the folder {}, to which it would be imported; name a folder next to that",
                shown(what),
                shown(target)
            );
        }
        Ok(())
    }

    /// Why there is nothing to import.
    fn nothing(&self, view: &View) -> String {
        let ends: Vec<String> = match self.system {
            System::Hexai => vec!["default.jsonl".to_owned(), "user.jsonl".to_owned()],
            system => system.files().iter().map(|file| format!("NAME{}", file.end)).collect(),
        };
        let format = match self.system {
            System::PromptExpander => "put the format before it, as in `claude:DIR`, if they are for another program",
            _ => "name the folder that has them",
        };
        let hidden =
            view.unread().into_iter().filter(|unread| unread.kind.starts_with('.') && unread.kind.contains('/'));
        let hidden: Vec<String> = hidden.map(|unread| unread.first.display().to_string()).collect();
        let hidden = if hidden.is_empty() { String::new() } else { format!("; or name {}", alternatives(&hidden)) };
        match &self.file {
            Some(file) => format!(
                "{} is not a prompt of {}, whose files are {}; {format}",
                shown(file),
                self.system.title(),
                alternatives(&ends)
            ),
            None => format!(
                "there are no prompts in {}: no files {}; {format}{}",
                shown(&self.path),
                alternatives(&ends),
                hidden
            ),
        }
    }
}

impl Done {
    fn new(name: &Name, path: PathBuf, original: PathBuf, description: &Option<String>) -> Done {
        let description = output::one_line(description.as_deref().unwrap_or_default());
        Done { name: name.clone(), path, original, description }
    }
}

impl Report {
    fn is_empty(&self) -> bool {
        self.imported.is_empty() && self.unchanged.is_empty() && self.problems.is_empty()
    }

    fn errors(&self) -> usize {
        self.problems.iter().filter(|problem| problem.diagnostic.severity == Severity::Error).count()
    }

    /// What is printed: the problems, the prompts, and how many there are of each.
    fn text(&self, is_dry: bool) -> String {
        let mut text = String::new();
        let mut said: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let of_files = |problem: &&Problem| problem.diagnostic.position.is_none();
        for Diagnostic { message, fix, .. } in self.problems.iter().filter(of_files).map(|problem| &problem.diagnostic)
        {
            *said.entry((message, fix)).or_default() += 1;
        }
        for problem in &self.problems {
            let Diagnostic { position, message, fix, .. } = &problem.diagnostic;
            // What is the same for many files is said once.
            match position.map_or_else(|| said.remove(&(message.as_str(), fix.as_str())), |_| Some(1)) {
                Some(1) => text += &output::problem_in_two_lines(problem),
                Some(files) => {
                    let mut problem = problem.clone();
                    problem.diagnostic.message += &format!(" (the same in {} more files)", files - 1);
                    text += &output::problem_in_two_lines(&problem);
                }
                None => {}
            }
        }
        for UnreadKey { key, count, first, line } in self.unread_keys.values() {
            let more = if *count > 1 { format!(" and {} more", count - 1) } else { String::new() };
            text += &format!(
                "{FAINT}note:{FAINT:#} {} has no meaning here, and is not imported: {first}:{line}{more}\n",
                named(key)
            );
        }
        for (done, label) in [(&self.imported, ""), (&self.unchanged, " (unchanged)")] {
            for Done { name, description, .. } in done {
                let line = format!(":{name}{label}  {description}");
                let line = output::terminal_width().map_or(line.clone(), |columns| output::fit(&line, columns));
                let name = format!(":{name}");
                text += line.replacen(&name, &format!("{NAME}{name}{NAME:#}"), 1).trim_end();
                text.push('\n');
            }
        }
        let imported = if is_dry { "would be imported" } else { "imported" };
        text += &format!(
            "{} {imported}, {} unchanged, {}, {}\n",
            count(self.imported.len(), "prompt"),
            self.unchanged.len(),
            count(self.errors(), "error"),
            count(self.problems.len() - self.errors(), "warning")
        );
        check::wrapped(&output::abbreviated(&text))
    }
}

fn shown(path: &Path) -> String {
    named(&path.display().to_string())
}
