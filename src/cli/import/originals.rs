//! Finds and reads the prompts that `import` copies.

use crate::cli::source_options::PromptSource;
use crate::library::{Library, Reach, read_confined, relative_path};
use crate::prompt::{
    Diagnostic, FORMATS, Format, IMPORTED, Prompt, Severity, decode_utf8_owned, hexai_prompts,
};
use crate::wording::path_in_backticks;
use anyhow::ensure;
use std::path::{Path, PathBuf};

/// The files whose folder is a prompt, so that the folder of prompts is the one above.
const TEXTS_OF_FOLDERS: [&str; 2] = ["SKILL.md", "system.md"];

/// The files of hexai that have the user's prompts.
const HEXAI_FILES: [&str; 2] = ["default.jsonl", "user.jsonl"];

/// The prompts to import, and the errors of the files that cannot be read.
#[derive(Default)]
pub(super) struct Originals {
    pub(super) prompts: Vec<Original>,
    pub(super) problems: Vec<Diagnostic>,
}

/// A prompt to import.
pub(super) struct Original {
    pub(super) prompt: Prompt,
    /// The file of the prompt; `-` for standard input.
    pub(super) file: PathBuf,
    /// The text of the file if it is Markdown of this program.
    pub(super) markdown: Option<String>,
}

/// A folder of prompts in one format.
struct ImportFolder {
    format: &'static Format,
    folder: PathBuf,
}

/// Returns all formats that can be imported.
fn formats() -> impl Iterator<Item = &'static Format> {
    FORMATS.iter().chain(&IMPORTED)
}

/// Returns the format with this name, which stands before the path in `fabric:team/patterns`.
pub(super) fn format_named(name: &str) -> Option<&'static Format> {
    formats().find(|format| format.name == name)
}

/// Reads the prompts at a path: a file, a folder of prompts, or a folder above such folders, of
/// which each is read in its own format.
///
/// # Errors
/// No prompts are there.
pub(super) fn read(
    source: &PromptSource,
    format: Option<&'static Format>,
    path: &Path,
) -> anyhow::Result<Originals> {
    let mut originals = Originals::default();
    for root in format_folders(format, path) {
        let reach = reach_in(source, &root.folder, path);
        if root.format.name == "hexai" {
            originals.read_hexai_files(&root.folder, path, &reach);
        } else {
            originals.read_folder(&root, reach, path);
        }
    }
    ensure!(
        !originals.prompts.is_empty() || !originals.problems.is_empty(),
        "there are no prompts in {}. If they are written for another program, name it, as in `import claude:DIR`",
        path_in_backticks(path)
    );
    Ok(originals)
}

/// Returns the folders of prompts to read for a path.
///
/// Without a format, the suffixes of paths say it: first that of the path or of a folder above it,
/// then, if the path is a folder, those of the folders below it. Otherwise, there is one folder,
/// which has prompts of this program unless the suffix of the file says another format.
fn format_folders(format: Option<&'static Format>, path: &Path) -> Vec<ImportFolder> {
    let folder = folder_of_prompts(path);
    if let Some(format) = format {
        return vec![ImportFolder { format, folder }];
    }
    if let Some(known) = known_folder_above(path) {
        return vec![known];
    }
    if !is_prompt(path) {
        let known = known_folders_below(path);
        if !known.is_empty() {
            return known;
        }
    }
    let format = format_of_suffix(path).unwrap_or(Format::OWN);
    vec![ImportFolder { format, folder }]
}

/// Returns whether a path is one prompt: a file, or a folder such as that of a skill.
fn is_prompt(path: &Path) -> bool {
    path.is_file()
        || TEXTS_OF_FOLDERS
            .iter()
            .any(|text| path.join(text).is_file())
}

/// Returns the folder of prompts that a path is in, or the path if it is such a folder:
/// `team/fix.md`, `team/fix/SKILL.md`, `team/fix` (a skill) and `team` → `team`.
fn folder_of_prompts(path: &Path) -> PathBuf {
    let is_text_of_folder = TEXTS_OF_FOLDERS.iter().any(|text| path.ends_with(text));
    let levels = if is_text_of_folder {
        2
    } else if is_prompt(path) {
        1
    } else {
        0
    };
    path.ancestors().nth(levels).unwrap_or(path).to_owned()
}

/// Returns the path, or the nearest folder above it, whose suffix says its format:
/// `x/.claude/commands/git` → `x/.claude/commands`.
fn known_folder_above(path: &Path) -> Option<ImportFolder> {
    for folder in path.ancestors() {
        for format in formats() {
            if format.folders.iter().any(|suffix| folder.ends_with(suffix)) {
                let folder = folder.to_owned();
                return Some(ImportFolder { format, folder });
            }
        }
    }
    None
}

/// Returns the folders below a folder whose suffix says their format. Below `~` and below
/// `~/.claude`, these are `~/.claude/commands` and `~/.claude/skills`.
fn known_folders_below(path: &Path) -> Vec<ImportFolder> {
    let mut known = Vec::new();
    for format in formats() {
        if !format.plugin.is_empty() {
            continue; // plugins have the prompts of others
        }
        for suffix in format.folders {
            for above in path.ancestors().take(2) {
                let folder = above.join(suffix);
                if folder.starts_with(path) && folder.is_dir() {
                    known.push(ImportFolder { format, folder });
                }
            }
        }
    }
    known
}

/// Returns the format of a file with a suffix that only one imported format has, such as `.jsonl`.
fn format_of_suffix(path: &Path) -> Option<&'static Format> {
    if !is_prompt(path) {
        return None;
    }
    let name = path.to_string_lossy();
    IMPORTED.iter().find(|format| {
        let mut suffixes = format.files.iter().map(|(suffix, _)| *suffix);
        suffixes.any(|suffix| suffix != ".md" && name.ends_with(suffix))
    })
}

/// Returns how far links in a folder of prompts may lead.
fn reach_in(source: &PromptSource, folder: &Path, path: &Path) -> Reach {
    let reach = source.reach_of(folder);
    if reach.is_confined() && folder.starts_with(path) {
        // The folder may itself be a link. Only the path is what the user has named.
        return source.reach_of(path);
    }
    reach
}

impl Originals {
    /// Adds the prompts of a folder whose files are at or below a path.
    fn read_folder(&mut self, root: &ImportFolder, reach: Reach, path: &Path) {
        let library = Library::of_folder(Some(root.format), root.folder.clone(), reach);
        let listing = library.view().list();
        for problem in listing.problems {
            let is_wanted = problem
                .file
                .as_deref()
                .is_some_and(|file| file.starts_with(path));
            if is_wanted && problem.severity() == Severity::Error {
                self.problems.push(problem);
            }
        }
        for found in &listing.found {
            let Some(file) = found.location().file else {
                continue;
            };
            if !file.starts_with(path) {
                continue;
            }
            match found.prompt() {
                Ok(prompt) => self.prompts.push(Original {
                    prompt: (*prompt).clone(),
                    markdown: found.text().ok().filter(|_| root.has_own_markdown(&file)),
                    file,
                }),
                Err(error) => self.problems.push(error),
            }
        }
    }

    /// Adds the prompts of a file of hexai, or those in the files that hexai has in a folder.
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
                Err(problem) => self.problems.push(problem.in_file(file)),
            }
        }
    }

    /// Adds the prompts in the lines of a file of hexai.
    pub(super) fn add_hexai_lines(&mut self, text: &str, file: &Path) {
        for line in hexai_prompts(text) {
            match line {
                Ok(prompt) => self.prompts.push(Original {
                    prompt,
                    file: file.to_owned(),
                    markdown: None,
                }),
                Err(problem) => self.problems.push(problem.in_file(file)),
            }
        }
    }
}

impl ImportFolder {
    /// Returns whether a file of this folder is Markdown of this program.
    fn has_own_markdown(&self, file: &Path) -> bool {
        self.format
            .split_path(&relative_path(&self.folder, file))
            .is_some_and(|(_, file_name)| file_name.is_own())
    }
}
