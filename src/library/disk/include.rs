//! Reads the files that a prompt includes: built-in prompts, and files from the same prompts folder
//! (after resolving symlinks). `prompt/include.rs` parses the include lines.

use super::cache::Trace;
use super::memory_files::MemoryFiles;
use super::open::{open, read_opened, unreadable};
use super::reach::path_of_open_file;
use super::root::{Root, is_hidden};
use crate::library::builtin_texts::builtin_text;
use crate::library::caller::Prefix;
use crate::library::write::history::HISTORY_FOLDER;
use crate::prompt::{Diagnostic, FileToInclude, IncludeReader, IncludedFile, Kind, MAX_FILE};
use crate::wording::quoted;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The prefix for including a built-in prompt, as in `builtin:review`.
const BUILTIN: &str = "builtin:";

/// The fix for a path that doesn't lead to an includable file.
const CORRECT_PATH: &str =
    "write a path from the folder of this file, or from the prompts folder with `/` before it";

/// Reads the files that one prompt includes.
pub(crate) struct FolderIncludeReader<'f> {
    pub(crate) root: &'f Root,
    /// The files of the folder, if they are in memory instead of on disk.
    pub(crate) memory_files: Option<&'f Arc<MemoryFiles>>,
    /// The file of the including prompt.
    pub(crate) prompt_path: &'f Path,
    /// Whether built-in prompts may be included.
    pub(crate) allows_builtin: bool,
    /// Limits which files may be included. With `team/`, only those in the folder `team`.
    pub(crate) prefix: Option<&'f Prefix>,
    /// Records every included file.
    pub(crate) trace: &'f mut Trace,
}

/// A file from the prompts folder that a prompt includes or attaches.
#[derive(Debug)]
pub struct NeighborFile {
    /// Its path in the prompts folder, with symlinks below that folder resolved.
    pub path: PathBuf,
    /// Its contents.
    pub bytes: Vec<u8>,
}

impl IncludeReader for FolderIncludeReader<'_> {
    fn own(&self) -> IncludedFile {
        IncludedFile {
            name: self.root.relative_path(self.prompt_path),
            path: self.prompt_path.to_owned(),
        }
    }

    /// Reads the file that `from` includes by the path `path`. Marks the trace as uncacheable if
    /// the cache couldn't notice that the result has changed.
    fn read(&mut self, path: &str, from: &IncludedFile) -> Result<FileToInclude, Diagnostic> {
        if self.root.reach.is_confined() {
            self.trace.mark_uncacheable(); // no stamp reveals where symlinks in the path lead
        }
        self.read_source(path, from).map_err(|error| {
            self.trace.mark_uncacheable(); // no stamp reveals that the error is gone
            let message = format!("{} cannot be included: {}", quoted(path), error.message);
            Diagnostic { message, ..error }
        })
    }
}

impl FolderIncludeReader<'_> {
    /// Reads the built-in prompt that a path such as `builtin:review` names, or the file at any
    /// other path.
    fn read_source(
        &mut self,
        path: &str,
        from: &IncludedFile,
    ) -> Result<FileToInclude, Diagnostic> {
        if let Some(name) = path.strip_prefix(BUILTIN) {
            return self.read_builtin(path, name);
        }
        let path = self.resolve_path(path, from)?;
        match self.memory_files {
            Some(memory_files) => self.read_from_memory(memory_files, &path),
            None => self.read_from_disk(&path),
        }
    }

    /// Returns the text of a built-in prompt. `path` is the full path including `builtin:`, `name`
    /// is what follows it.
    fn read_builtin(&self, path: &str, name: &str) -> Result<FileToInclude, Diagnostic> {
        if !self.allows_builtin {
            let message = "a prompt in a pack can only include files from that pack";
            return Err(Diagnostic::new(Kind::OutsideFolder, message, CORRECT_PATH));
        }
        let Some(text) = builtin_text(name) else {
            let message = "there is no such built-in prompt";
            let fix = "choose one from `prompt-expander list`";
            return Err(Diagnostic::new(Kind::NotFound, message, fix));
        };
        let file = IncludedFile {
            name: path.to_owned(),
            path: path.into(),
        };
        Ok(FileToInclude {
            file,
            bytes: text.as_bytes().to_vec(),
        })
    }

    /// Resolves the path of an include line in the file `from`. `part` is relative to the folder of
    /// `from`, and `/part` to the prompts folder. `.md` is appended if it's missing.
    ///
    /// # Errors
    /// Fails if the path names an existing file without the suffix `.md`.
    fn resolve_path(&self, path: &str, from: &IncludedFile) -> Result<PathBuf, Diagnostic> {
        let folder = if path.starts_with('/') {
            &self.root.path
        } else {
            from.path.parent().unwrap_or(&self.root.path)
        };
        let relative_path = path.trim_start_matches('/');
        let as_written = folder.join(relative_path);
        if path.to_ascii_lowercase().ends_with(".md") {
            return Ok(as_written);
        }
        let with_suffix = folder.join(format!("{relative_path}.md"));
        // This error would reveal to a caller with a prefix which other files exist.
        if self.prefix.is_none() && !with_suffix.exists() && as_written.is_file() {
            let message = "only files that end in `.md` can be included";
            let fix = "copy its text to a file that ends in `.md`, and include that; or list the file in `attachments`";
            return Err(Diagnostic::new(Kind::Invalid, message, fix));
        }
        Ok(with_suffix)
    }

    /// Reads an included file from disk and records it.
    ///
    /// # Errors
    /// In addition to the errors of [`read_neighbor`], fails if a segment of the path is hidden.
    fn read_from_disk(&mut self, path: &Path) -> Result<FileToInclude, Diagnostic> {
        self.trace.record(path); // before the file is read
        let file = read_neighbor(self.root, path, MAX_FILE, self.prefix).map_err(|mut error| {
            if error.kind == Kind::NotFound {
                error.fix = CORRECT_PATH.to_owned();
            }
            error
        })?;
        let name = self.root.relative_path(&file.path);
        if name.split('/').any(|segment| is_hidden(Path::new(segment))) {
            let message = "it is hidden, because a name in its path begins with a dot";
            return Err(Diagnostic::new(Kind::Invalid, message, "rename it"));
        }
        let path = file.path;
        Ok(FileToInclude {
            file: IncludedFile { name, path },
            bytes: file.bytes,
        })
    }

    /// Reads an included file from memory and records it.
    ///
    /// # Errors
    /// Fails if the file doesn't exist or is outside the prefix.
    fn read_from_memory(
        &mut self,
        memory_files: &Arc<MemoryFiles>,
        path: &Path,
    ) -> Result<FileToInclude, Diagnostic> {
        let relative_path = path.strip_prefix(&self.root.path).unwrap_or(path);
        let name = normalize_dots(relative_path).ok_or_else(|| missing_error(self.prefix))?;
        self.trace.record_memory_file(memory_files, &name);
        let is_visible = self.prefix.is_none_or(|prefix| prefix.contains(&name));
        match memory_files.get(&name) {
            Some(row) if is_visible => {
                let path = self.root.path.join(&name);
                Ok(FileToInclude {
                    file: IncludedFile { name, path },
                    bytes: row.text.as_bytes().to_vec(),
                })
            }
            _ => Err(missing_error(self.prefix)),
        }
    }
}

/// Resolves `.` and `..` in a relative path, without touching the disk: `a/c` for `a/b/../c`.
/// Returns `None` if the path leaves its folder, as `a/../../c` does.
fn normalize_dots(relative_path: &Path) -> Option<String> {
    let mut segments = Vec::new();
    for component in relative_path.components() {
        match component {
            Component::Normal(segment) => segments.push(segment.to_string_lossy()),
            Component::ParentDir => {
                segments.pop()?;
            }
            _ => {}
        }
    }
    Some(segments.join("/"))
}

/// Reads a file that a prompt includes or attaches. Symlinks are resolved first, and the target
/// must be in the prompts folder.
///
/// With the prefix `team/`, only files in the folder `team` can be read, and errors don't reveal
/// whether any other file exists.
///
/// # Errors
/// Fails if the file is missing, can't be read, or is longer than `limit` bytes; if it is outside
/// the prompts folder or inside its history; or if it may not be served.
pub(super) fn read_neighbor(
    root: &Root,
    path: &Path,
    limit: usize,
    prefix: Option<&Prefix>,
) -> Result<NeighborFile, Diagnostic> {
    let target = real_path(root, path, prefix)?;
    let real_root = fs::canonicalize(&root.path).map_err(|error| unreadable(&root.path, &error))?;
    let Ok(relative_path) = target.strip_prefix(&real_root) else {
        return Err(outside_root_error(root));
    };
    let path = root.path.join(relative_path);
    if path.starts_with(root.path.join(HISTORY_FOLDER)) {
        let message = format!("it is in {HISTORY_FOLDER}, whose files cannot be part of a prompt");
        let fix = "copy it to another folder";
        return Err(Diagnostic::new(Kind::Invalid, message, fix));
    }
    let file = open(&target)?;
    root.reach.check_open_file(&file)?;
    // A folder in the path may have been replaced with a symlink since it was resolved.
    if let Some(opened_path) = path_of_open_file(&file)
        && !opened_path.starts_with(&real_root)
    {
        return Err(outside_root_error(root));
    }
    let bytes = read_opened(file, &target, limit)?;
    root.check_text(&path, &bytes)?;
    Ok(NeighborFile { path, bytes })
}

/// Resolves all symlinks in a path.
///
/// # Errors
/// Fails if the file doesn't exist or, to a caller with a prefix, is outside the prefix.
fn real_path(root: &Root, path: &Path, prefix: Option<&Prefix>) -> Result<PathBuf, Diagnostic> {
    let Some(prefix) = prefix else {
        return fs::canonicalize(path).map_err(|error| unreadable(path, &error));
    };
    match fs::canonicalize(path) {
        Ok(target) if prefix.has_file(&root.path, &target) => Ok(target),
        _ => Err(missing_error(Some(prefix))),
    }
}

fn outside_root_error(root: &Root) -> Diagnostic {
    let folder = quoted(&root.path.display().to_string());
    let fix = format!("copy the file into {folder}");
    Diagnostic::new(Kind::OutsideFolder, "it is outside the prompts folder", fix)
}

/// Returns the error for a file that doesn't exist. With a prefix, files outside it get the same
/// error, so that it doesn't reveal whether they exist.
fn missing_error(prefix: Option<&Prefix>) -> Diagnostic {
    let message = match prefix {
        Some(prefix) => format!("there is no such file in {}", quoted(&prefix.to_string())),
        None => "there is no such file".to_owned(),
    };
    Diagnostic::new(Kind::NotFound, message, CORRECT_PATH)
}
