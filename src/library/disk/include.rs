//! Reads the files that a prompt includes: those of the same prompts folder, after all symlinks are
//! resolved, and the built-in prompts. `prompt/include.rs` says which lines include a file.

use super::cache::Trace;
use super::memory_files::MemoryFiles;
use super::open::{open, read_opened, unreadable};
use super::reach::path_of_open_file;
use super::root::{Root, is_hidden};
use crate::library::builtin_texts::builtin_text;
use crate::library::caller::Prefix;
use crate::library::write::history::HISTORY_FOLDER;
use crate::prompt::{Diagnostic, IncludeReader, IncludedFile, Kind, MAX_FILE};
use crate::wording::quoted;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The beginning of the path of a built-in prompt, as in `builtin:review`.
const BUILTIN: &str = "builtin:";

/// The fix for a path that leads to no file that may be included.
const CORRECT_PATH: &str =
    "write a path from the folder of this file, or from the prompts folder with `/` before it";

/// Reads the files that one prompt includes.
pub(crate) struct Includes<'f> {
    pub(crate) root: &'f Root,
    /// The files, if they are in memory, not on the disk.
    pub(crate) rows: Option<&'f Arc<MemoryFiles>>,
    /// The prompt's own file.
    pub(crate) own: &'f Path,
    /// Whether built-in prompts may be included.
    pub(crate) takes_builtin: bool,
    /// With the prefix `team/`, for example, only files in the folder `team` may be included.
    pub(crate) prefix: Option<&'f Prefix>,
    /// The files that the prompt was made from, to which each included file is added.
    pub(crate) trace: &'f mut Trace,
}

/// A file of a prompts folder that a prompt includes or attaches.
pub(super) struct NeighborFile {
    /// Its path in the folder, without the symlinks below the folder.
    pub(super) path: PathBuf,
    pub(super) bytes: Vec<u8>,
}

impl IncludeReader for Includes<'_> {
    fn own(&self) -> IncludedFile {
        IncludedFile {
            name: self.root.relative_path(self.own),
            path: self.own.to_owned(),
        }
    }

    fn read(
        &mut self,
        path: &str,
        from: &IncludedFile,
    ) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        if self.root.reach.is_confined() {
            self.trace.mark_uncacheable(); // no stamp shows where symlinks in the path lead
        }
        self.read_any(path, from).map_err(|error| {
            self.trace.mark_uncacheable(); // no stamp shows when the file can be read again
            let message = format!("{} cannot be included: {}", quoted(path), error.message);
            Diagnostic { message, ..error }
        })
    }
}

impl Includes<'_> {
    /// Reads a built-in prompt if the path is `builtin:review`, for example; else a file in memory
    /// or on the disk.
    fn read_any(
        &mut self,
        path: &str,
        from: &IncludedFile,
    ) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        if let Some(name) = path.strip_prefix(BUILTIN) {
            return self.read_builtin(path, name);
        }
        let path = self.whole_path(path, from)?;
        match self.rows {
            Some(rows) => self.read_from_memory(rows, &path),
            None => self.read_from_disk(&path),
        }
    }

    /// Returns the text of the built-in prompt with this name. `path` is the name as the prompt
    /// includes it: `builtin:review` for `review`.
    fn read_builtin(&self, path: &str, name: &str) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        if !self.takes_builtin {
            let message = "a prompt of a pack includes only files of the pack";
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
        Ok((file, text.as_bytes().to_vec()))
    }

    /// Returns the whole path of the file that the file `from` includes as `path`.
    ///
    /// A `path` such as `part` is relative to the folder of `from`, and `/part` to the prompts
    /// folder. The suffix `.md` may be left out.
    ///
    /// # Errors
    /// There is such a file, but it does not end in `.md`.
    fn whole_path(&self, path: &str, from: &IncludedFile) -> Result<PathBuf, Diagnostic> {
        let folder = if path.starts_with('/') {
            &self.root.path
        } else {
            from.path.parent().unwrap_or(&self.root.path)
        };
        let below = path.trim_start_matches('/');
        let as_written = folder.join(below);
        if path.to_ascii_lowercase().ends_with(".md") {
            return Ok(as_written);
        }
        let with_suffix = folder.join(format!("{below}.md"));
        // A caller with a prefix does not learn which other files exist.
        if self.prefix.is_none() && !with_suffix.exists() && as_written.is_file() {
            let message = "only files that end in `.md` can be included";
            let fix = "copy its text to a file that ends in `.md`, and include that; or list the file in `attachments`";
            return Err(Diagnostic::new(Kind::Invalid, message, fix));
        }
        Ok(with_suffix)
    }

    /// Reads an included file from the disk, and adds it to the trace.
    ///
    /// # Errors
    /// Those of [`read_neighbor`]; or the file, or a folder in its path, is hidden.
    fn read_from_disk(&mut self, path: &Path) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        self.trace.record(path);
        let file = read_neighbor(self.root, path, MAX_FILE, self.prefix).map_err(|mut error| {
            if error.kind == Kind::NotFound {
                error.fix = CORRECT_PATH.to_owned();
            }
            error
        })?;
        let name = self.root.relative_path(&file.path);
        if name.split('/').any(|step| is_hidden(Path::new(step))) {
            let message = "it is hidden, because a name in its path begins with a dot";
            return Err(Diagnostic::new(Kind::Invalid, message, "rename it"));
        }
        let path = file.path;
        Ok((IncludedFile { name, path }, file.bytes))
    }

    /// Returns an included file that is in memory, and adds it to the trace.
    ///
    /// # Errors
    /// There is no such file, or it is not in the folder of the prefix.
    fn read_from_memory(
        &mut self,
        rows: &Arc<MemoryFiles>,
        path: &Path,
    ) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        let below = path.strip_prefix(&self.root.path).unwrap_or(path);
        let name = normalized(below).ok_or_else(|| missing(self.prefix))?;
        self.trace.record_memory_file(rows, &name);
        let is_visible = self.prefix.is_none_or(|prefix| prefix.contains(&name));
        match rows.get(&name) {
            Some(row) if is_visible => {
                let path = self.root.path.join(&name);
                Ok((IncludedFile { name, path }, row.text.as_bytes().to_vec()))
            }
            _ => Err(missing(self.prefix)),
        }
    }
}

/// Returns a path below a folder without `.` and `..`, `/`-separated: `a/c` for `a/b/../c`. Returns
/// `None` if the path leads out of the folder, as `a/../../c` does.
fn normalized(below: &Path) -> Option<String> {
    let mut steps = Vec::new();
    for component in below.components() {
        match component {
            Component::Normal(step) => steps.push(step.to_string_lossy()),
            Component::ParentDir => {
                steps.pop()?;
            }
            _ => {}
        }
    }
    Some(steps.join("/"))
}

/// Reads a file of the prompts folder that a prompt includes or attaches. All symlinks in its path
/// are resolved first.
///
/// With the prefix `team/`, for example, only a file in the folder `team` can be read, and the
/// error does not tell whether any other file exists.
///
/// # Errors
/// The file is missing, cannot be read, or is longer than `limit` bytes; it is outside of the
/// folder, or in the history; or it has a text that may not be served.
pub(super) fn read_neighbor(
    root: &Root,
    path: &Path,
    limit: usize,
    prefix: Option<&Prefix>,
) -> Result<NeighborFile, Diagnostic> {
    let target = real_path(root, path, prefix)?;
    let real_root = fs::canonicalize(&root.path).map_err(|error| unreadable(&root.path, &error))?;
    let Ok(below) = target.strip_prefix(&real_root) else {
        return Err(outside(root));
    };
    let path = root.path.join(below);
    if path.starts_with(root.path.join(HISTORY_FOLDER)) {
        let message = format!("it is in {HISTORY_FOLDER}, whose files are no part of a prompt");
        let fix = "copy it to another folder";
        return Err(Diagnostic::new(Kind::Invalid, message, fix));
    }
    let file = open(&target)?;
    root.reach.check_open_file(&file)?;
    // A folder of the path may have been replaced with a symlink since.
    if let Some(opened_path) = path_of_open_file(&file)
        && !opened_path.starts_with(&real_root)
    {
        return Err(outside(root));
    }
    let bytes = read_opened(file, &target, limit)?;
    root.check_text(&path, &bytes)?;
    Ok(NeighborFile { path, bytes })
}

/// Returns the path of a file without symlinks.
///
/// # Errors
/// There is no such file. For a caller with a prefix, a file outside of its folder does not exist.
fn real_path(root: &Root, path: &Path, prefix: Option<&Prefix>) -> Result<PathBuf, Diagnostic> {
    let Some(prefix) = prefix else {
        return fs::canonicalize(path).map_err(|error| unreadable(path, &error));
    };
    match fs::canonicalize(path) {
        Ok(target) if prefix.has_file(&root.path, &target) => Ok(target),
        _ => Err(missing(Some(prefix))),
    }
}

/// Returns the error for a file that is outside of the prompts folder.
fn outside(root: &Root) -> Diagnostic {
    let folder = quoted(&root.path.display().to_string());
    let fix = format!("copy the file into {folder}");
    Diagnostic::new(Kind::OutsideFolder, "it is outside the prompts folder", fix)
}

/// Returns the error for a file that does not exist. A caller with a prefix gets the same error for
/// a file outside of the folder of the prefix, and so does not learn whether it exists.
fn missing(prefix: Option<&Prefix>) -> Diagnostic {
    let message = match prefix {
        Some(prefix) => format!("there is no such file in {}", quoted(&prefix.to_string())),
        None => "there is no such file".to_owned(),
    };
    Diagnostic::new(Kind::NotFound, message, CORRECT_PATH)
}
