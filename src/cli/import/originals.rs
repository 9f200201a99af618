//! Finds and reads the prompts to import.

use crate::agents::prompt_folders_in;
use crate::cli::agent_names;
use crate::cli::output::Progress;
use crate::cli::source_options::PromptSource;
use crate::library::{Found, Library, Reach, read_confined, relative_path};
use crate::prompt::{
    Diagnostic, FORMATS, Format, IMPORTED, Name, Position, Prompt, Severity, decode_utf8_owned,
    hexai_prompts,
};
use crate::wording::{count, full_path, path_in_backticks};
use anyhow::ensure;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The main files of prompts that are folders, e.g. `review/SKILL.md` of the skill `review`.
const MAIN_FILES: [&str; 2] = ["SKILL.md", "system.md"];

/// The files in which hexai keeps prompts.
const HEXAI_FILES: [&str; 2] = ["default.jsonl", "user.jsonl"];

/// The prompts to import, and the errors of files that can't be read.
#[derive(Default)]
pub(super) struct Originals {
    pub(super) prompts: Vec<Original>,
    pub(super) problems: Vec<Diagnostic>,
    /// The folders that must be imported on their own.
    pub(super) left_out: Vec<LeftOut>,
    /// The file of each prompt by its name, with symlinks resolved. A prompt that is found again
    /// with the same name and file is skipped.
    real_files: BTreeMap<Name, PathBuf>,
}

/// A folder whose prompts are not imported, because the user did not name it.
pub(super) struct LeftOut {
    format: &'static Format,
    folder: PathBuf,
    prompts: usize,
}

/// A prompt to import.
pub(super) struct Original {
    pub(super) prompt: Prompt,
    /// The file that contains the prompt; `-` for standard input.
    pub(super) file: PathBuf,
    /// The position of the prompt in the file if the file has a prompt on each line.
    pub(super) position: Option<Position>,
    /// The contents of the file if it is in prompt-expander's own format.
    pub(super) own_markdown: Option<String>,
}

/// A folder of prompts in one format.
struct ImportFolder {
    format: &'static Format,
    folder: PathBuf,
}

/// Returns all formats that can be imported.
fn importable_formats() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().chain(&IMPORTED)
}

/// Returns the format with this name, e.g. for the prefix of `fabric:team/patterns`.
pub(super) fn find_format(name: &str) -> Option<&'static Format> {
    importable_formats().find(|format| format.name == name)
}

/// Reads the prompts at a path, which is a file, a folder of prompts, or a folder that contains
/// folders of prompts in any formats.
///
/// # Errors
/// Fails if there are no prompts. The error of a single file is in [`Originals::problems`] instead.
pub(super) fn read(
    source: &PromptSource,
    format: Option<&'static Format>,
    path: &Path,
) -> anyhow::Result<Originals> {
    let mut originals = Originals::default();
    let folders = folders_to_read(format, path);
    for root in &folders {
        let reach = reach_of_folder(source, &root.folder, path);
        if root.format.name == "hexai" {
            originals.read_hexai_files(&root.folder, path, &reach);
        } else {
            originals.read_folder(root, reach, path);
        }
    }
    if format.is_none() {
        originals.left_out = left_out_folders(source, path, &folders);
    }
    ensure!(
        !originals.prompts.is_empty() || !originals.problems.is_empty(),
        "there are no prompts in {}. If they are written for another program, name it, as in `import claude:DIR`",
        path_in_backticks(path)
    );
    Ok(originals)
}

/// Returns the folders of prompts to read for a path, with their formats.
///
/// If the user didn't name a format, looks for a folder that typically contains a certain format,
/// e.g. `.claude/commands`: first the path itself and its ancestors, then folders inside it.
/// Otherwise, the file's extension determines the format, which defaults to prompt-expander's own.
fn folders_to_read(format: Option<&'static Format>, path: &Path) -> Vec<ImportFolder> {
    let folder = containing_folder(path);
    if let Some(format) = format {
        return vec![ImportFolder { format, folder }];
    }
    if let Some(ancestor) = find_ancestor_with_format(path) {
        return vec![ancestor];
    }
    if !is_single_prompt(path) {
        let inside = find_folders_inside(path);
        if !inside.is_empty() {
            return inside;
        }
    }
    let format = format_from_extension(path).unwrap_or(Format::OWN);
    vec![ImportFolder { format, folder }]
}

/// Returns whether a path is a single prompt: a file, or a folder with a main file, such as a
/// skill.
fn is_single_prompt(path: &Path) -> bool {
    path.is_file() || MAIN_FILES.iter().any(|name| path.join(name).is_file())
}

/// Returns the folder of prompts that contains a prompt, or the path itself if it is not a prompt.
/// This is `team` for `team/fix.md`, `team/fix/SKILL.md`, `team/fix` (if it is a skill) and `team`.
fn containing_folder(path: &Path) -> PathBuf {
    let is_main_file = MAIN_FILES.iter().any(|name| path.ends_with(name));
    let levels_up = if is_main_file {
        2
    } else if is_single_prompt(path) {
        1
    } else {
        0
    };
    path.ancestors().nth(levels_up).unwrap_or(path).to_owned()
}

/// Returns the nearest ancestor, or the path itself, that typically contains a certain format:
/// `x/.claude/commands` for `x/.claude/commands/git`.
fn find_ancestor_with_format(path: &Path) -> Option<ImportFolder> {
    for folder in path.ancestors() {
        for format in importable_formats() {
            if format.has_folder(folder) {
                let folder = folder.to_owned();
                return Some(ImportFolder { format, folder });
            }
        }
    }
    None
}

/// Returns the existing folders inside a path that typically contain a certain format, e.g.
/// `~/.claude/commands` and `~/.claude/skills`, both for `~` and for `~/.claude`.
fn find_folders_inside(path: &Path) -> Vec<ImportFolder> {
    let mut found = Vec::new();
    for format in importable_formats() {
        if !format.plugin.is_empty() {
            continue; // plugins contain other people's prompts
        }
        for suffix in format.folders {
            for base in bases_of(path) {
                let folder = base.join(suffix);
                if folder.starts_with(path) && folder.is_dir() {
                    found.push(ImportFolder { format, folder });
                }
            }
        }
    }
    for folder in agent_folders_inside(path) {
        let is_known = found.iter().any(|known| known.folder == folder.folder);
        if !is_known && folder.format.plugin.is_empty() {
            found.push(folder);
        }
    }
    found
}

/// Returns the folders to which the relative folder of a format, such as `.claude/commands`, is
/// added: the path itself and its parent, because the path may end with `.claude`.
fn bases_of(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().take(2)
}

/// Returns the existing folders inside a path from which agents read prompts. If the path is the
/// folder of an agent, e.g. `~/.claude`, these are its subfolders.
fn agent_folders_inside(path: &Path) -> Vec<ImportFolder> {
    let mut inside = Vec::new();
    for base in bases_of(path) {
        for (format, subfolder) in prompt_folders_in(base) {
            let folder = base.join(subfolder);
            if folder.starts_with(path) && folder.is_dir() {
                inside.push(ImportFolder { format, folder });
            }
        }
    }
    inside
}

/// Returns the folders of agents inside a path that are not among the `read_folders` and have
/// prompts: those of plugins, and folders of the user whose paths don't say their format.
fn left_out_folders(
    source: &PromptSource,
    path: &Path,
    read_folders: &[ImportFolder],
) -> Vec<LeftOut> {
    let mut left_out = Vec::new();
    for ImportFolder { format, folder } in all_agent_folders_inside(path) {
        if read_folders.iter().any(|read| read.folder == folder) {
            continue;
        }
        let reach = reach_of_folder(source, &folder, path);
        let library = Library::of_folder(Some(format), folder.clone(), reach);
        let prompts = library.view().list().found.len();
        if prompts > 0 {
            left_out.push(LeftOut {
                format,
                folder,
                prompts,
            });
        }
    }
    left_out
}

/// Returns the folders inside a path from which agents read prompts, without duplicates. In
/// addition to those that are named like a folder of an agent, these are the folders of the user's
/// agents, which settings of the agents may have named. The latter may not exist.
fn all_agent_folders_inside(path: &Path) -> Vec<ImportFolder> {
    let mut folders = agent_folders_inside(path);
    for (format, folder) in agent_names::prompt_folders() {
        let is_known = folders.iter().any(|known| known.folder == folder);
        if folder.starts_with(path) && !is_known {
            folders.push(ImportFolder { format, folder });
        }
    }
    folders
}

/// Returns the format of a prompt's file if its extension is unique to one format, e.g. `.jsonl`.
fn format_from_extension(path: &Path) -> Option<&'static Format> {
    if !is_single_prompt(path) {
        return None;
    }
    let name = path.to_string_lossy();
    IMPORTED.iter().find(|format| {
        let mut suffixes = format.files.iter().map(|file| file.suffix);
        suffixes.any(|suffix| suffix != ".md" && name.ends_with(suffix))
    })
}

/// Returns where symlinks in a folder of prompts may lead. `path` is what the user asked to import.
fn reach_of_folder(source: &PromptSource, folder: &Path, path: &Path) -> Reach {
    let reach = source.reach_of(folder);
    let was_found_inside = folder.starts_with(path);
    if reach.is_confined() && was_found_inside {
        // The folder may be a symlink itself, so it must not lead outside of the user's path.
        return source.reach_of(path);
    }
    reach
}

impl Originals {
    /// Adds the prompts in a folder whose files are at `path` or inside it.
    fn read_folder(&mut self, root: &ImportFolder, reach: Reach, path: &Path) {
        let library = Library::of_folder(Some(root.format), root.folder.clone(), reach);
        let listing = library.view().list();
        for problem in listing.problems {
            let is_in_path = problem
                .file
                .as_deref()
                .is_some_and(|file| file.starts_with(path));
            if is_in_path && problem.severity() != Severity::Warning {
                self.problems.push(problem);
            }
        }
        let progress = Progress::start(
            "reading prompts",
            "Nothing was imported. Run the command again.",
        );
        progress.set_total(listing.found.len());
        for found in &listing.found {
            progress.advance();
            if let Some(file) = found.location().file
                && file.starts_with(path)
            {
                self.add_found(root, found, file);
            }
        }
    }

    /// Adds a prompt that was found in a folder, or its error. Skips it if it was added before:
    /// agents share files by symlinks between their folders.
    fn add_found(&mut self, root: &ImportFolder, found: &Found, file: PathBuf) {
        let real_file = fs::canonicalize(&file).unwrap_or_else(|_| file.clone());
        let earlier_file = self
            .real_files
            .insert(found.name.clone(), real_file.clone());
        if earlier_file == Some(real_file) {
            return;
        }
        let prompt = match found.prompt() {
            Ok(prompt) => (*prompt).clone(),
            Err(error) => return self.problems.push(error),
        };
        let mut own_markdown = None;
        if root.is_own_markdown(&file) {
            own_markdown = found.text().ok();
        }
        self.prompts.push(Original {
            prompt,
            file,
            position: None,
            own_markdown,
        });
    }

    /// Adds the prompts in a hexai file or, if `path` is a folder, in hexai's files in `folder`.
    fn read_hexai_files(&mut self, folder: &Path, path: &Path, reach: &Reach) {
        let files = if path.is_file() {
            vec![path.to_owned()]
        } else {
            HEXAI_FILES.map(|name| folder.join(name)).to_vec()
        };
        for file in files {
            if !file.is_file() {
                continue;
            }
            match read_confined(&file, reach).and_then(decode_utf8_owned) {
                Ok(text) => self.add_hexai_lines(&text, &file),
                Err(error) => self.problems.push(error.in_file(file)),
            }
        }
    }

    /// Adds the prompts in the text of a hexai file.
    pub(super) fn add_hexai_lines(&mut self, text: &str, file: &Path) {
        for line in hexai_prompts(text) {
            match line.prompt {
                Ok(prompt) => self.prompts.push(Original {
                    prompt,
                    file: file.to_owned(),
                    position: Some(Position::at_line(line.number)),
                    own_markdown: None,
                }),
                Err(error) => self.problems.push(error.in_file(file)),
            }
        }
    }
}

impl Original {
    /// Returns an error or a warning as one about this prompt: in its file and, if it names no
    /// line, at its line.
    pub(super) fn locate(&self, mut problem: Diagnostic) -> Diagnostic {
        problem.position = problem.position.or(self.position);
        problem.in_file(self.file.as_path())
    }
}

impl LeftOut {
    /// Returns a message with the command that imports the folder.
    pub(super) fn message(&self) -> String {
        let folder = full_path(&self.folder);
        let is_recognized = *Format::for_folder(&self.folder) == *self.format;
        let argument = if is_recognized {
            folder
        } else {
            format!("{}:{folder}", self.format.name)
        };
        format!(
            "this leaves out {} of {}. To import them, run `prompt-expander import {argument}`",
            count(self.prompts, "prompt"),
            self.format.title
        )
    }
}

impl ImportFolder {
    /// Returns whether a file in this folder is in prompt-expander's own format.
    fn is_own_markdown(&self, file: &Path) -> bool {
        self.format
            .split_path(&relative_path(&self.folder, file))
            .is_some_and(|(_, suffix)| suffix.is_own())
    }
}
