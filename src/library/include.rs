//! Reads the files that a prompt includes: those of the same prompts folder, after all symlinks are resolved, and the built-in
//! prompts. `prompt/include.rs` says which lines include a file.

use super::builtin;
use super::cache::Stamp;
use super::caller::Prefix;
use super::folder::{Folder, is_hidden};
use super::read;
use crate::prompt::{Diagnostic, IncludeReader, IncludedFile};
use crate::wording::quoted;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// What the name of a built-in prompt follows.
const BUILTIN: &str = "builtin:";

/// The files that one prompt includes.
pub(super) struct Includes<'f> {
    folder: &'f Folder,
    /// The prompt's own file.
    own: &'f Path,
    /// No other file of the folder may be included.
    prefix: Option<&'f Prefix>,
    /// Each file that was read, as it was looked up, with the stamp that it had before.
    stamps: Vec<(PathBuf, Stamp)>,
    /// Whether the next change of each is sure to show another stamp.
    is_reliable: bool,
    /// Of all that was read; `None` if nothing was.
    hasher: Option<DefaultHasher>,
}

impl<'f> Includes<'f> {
    pub(super) fn of(folder: &'f Folder, own: &'f Path) -> Includes<'f> {
        Includes { folder, own, prefix: None, stamps: Vec::new(), is_reliable: true, hasher: None }
    }

    /// The same for a text of somebody for whom there is nothing else in the folder.
    pub(super) fn only_within(self, prefix: Option<&'f Prefix>) -> Includes<'f> {
        Includes { prefix, ..self }
    }

    /// Whether a file was included, or should have been.
    pub(super) fn is_empty(&self) -> bool {
        self.hasher.is_none()
    }

    /// What the prompt depends on besides its own file; `None` if that cannot be relied on.
    pub(super) fn into_stamps(self) -> Option<Box<[(PathBuf, Stamp)]>> {
        self.is_reliable.then(|| self.stamps.into())
    }

    /// A number that changes with what was read; `None` if nothing was.
    pub(super) fn hash(&self) -> Option<u64> {
        self.hasher.as_ref().map(Hasher::finish)
    }

    /// The real path of the prompts folder.
    fn root(&self) -> PathBuf {
        fs::canonicalize(&self.folder.path).unwrap_or_else(|_| self.folder.path.clone())
    }

    /// The bytes of a file of the prompts folder.
    fn read_file(&mut self, path: &Path) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        let target = fs::canonicalize(path);
        if let Some(prefix) = self.prefix
            && !target.as_ref().is_ok_and(|target| prefix.has_file(&self.folder.path, target))
        {
            // Whether there is such a file elsewhere is not said.
            return Err(Diagnostic::error(
                None,
                format!("there is no such file in {}", quoted(&prefix.to_string())),
                FIX,
            ));
        }
        let target = target.map_err(|error| {
            let reason = match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => "there is no such file".to_owned(),
                _ => error.to_string(),
            };
            Diagnostic::error(None, reason, FIX)
        })?;
        let below = target.strip_prefix(self.root()).map_err(|_| {
            let fix = format!("copy the file into {}", quoted(&self.folder.path.display().to_string()));
            Diagnostic::error(None, "it is outside the prompts folder", fix)
        })?;
        if below.iter().any(|segment| is_hidden(Path::new(segment))) {
            return Err(Diagnostic::error(
                None,
                "it is hidden, because a name in its path begins with a dot",
                "rename it",
            ));
        }
        let escape = |open: &fs::File| self.folder.escape_of_open_file(open);
        let content = read::read(&target, |open| match escape(open) {
            None => Ok(()),
            Some(_) => Err(Diagnostic::error(None, "it was replaced just now", "try again")),
        })?;
        let name = below.iter().map(|segment| segment.to_string_lossy()).collect::<Vec<_>>().join("/");
        let file = IncludedFile { name, path: self.folder.path.join(below) };
        self.is_reliable &= content.is_stamp_reliable;
        self.stamps.push((path.to_owned(), content.stamp));
        Ok((file, content.bytes))
    }
}

/// Why a file with another suffix is not included.
fn not_markdown() -> Diagnostic {
    let fix = "copy its text to a file that ends in `.md`, and include that; or list the file in `attachments`";
    Diagnostic::error(None, "only files that end in `.md` can be included", fix)
}

const FIX: &str = "write a path from the folder of this file, or from the prompts folder with `/` before it";

impl IncludeReader for Includes<'_> {
    fn own(&self) -> IncludedFile {
        let real = fs::canonicalize(self.own).ok();
        let below = real.as_deref().and_then(|real| real.strip_prefix(self.root()).ok().map(Path::to_owned));
        let below = below.or_else(|| self.own.strip_prefix(&self.folder.path).ok().map(Path::to_owned));
        let below = below.unwrap_or_else(|| self.own.to_owned());
        let name = below.iter().map(|segment| segment.to_string_lossy()).collect::<Vec<_>>().join("/");
        IncludedFile { name, path: self.own.to_owned() }
    }

    fn read(&mut self, path: &str, from: &IncludedFile) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        self.hasher.get_or_insert_default();
        let refused = |error: Diagnostic| {
            let message = format!("{} cannot be included: {}", quoted(path), error.message);
            Diagnostic::error(None, message, error.fix)
        };
        let (file, bytes) = if let Some(name) = path.strip_prefix(BUILTIN) {
            let text = builtin::text(name).ok_or_else(|| {
                let error = Diagnostic::error(
                    None,
                    "there is no such built-in prompt",
                    "choose one from `prompt-expander list`",
                );
                refused(error)
            })?;
            (IncludedFile { name: path.to_owned(), path: path.into() }, text.as_bytes().to_vec())
        } else {
            let end = if path.to_ascii_lowercase().ends_with(".md") { "" } else { ".md" };
            let folder = match path.starts_with('/') {
                true => &*self.folder.path,
                false => from.path.parent().unwrap_or(&self.folder.path),
            };
            let below = path.trim_start_matches('/');
            let whole = folder.join(format!("{below}{end}"));
            let is_other = self.prefix.is_none() && !end.is_empty() && !whole.exists() && folder.join(below).is_file();
            self.read_file(&whole).map_err(|error| refused(if is_other { not_markdown() } else { error }))?
        };
        (&file.name, &bytes).hash(self.hasher.get_or_insert_default());
        Ok((file, bytes))
    }
}
