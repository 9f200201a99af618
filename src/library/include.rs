//! Reads the files that a prompt includes: those of the same prompts folder, after all symlinks are resolved, and the built-in
//! prompts. `prompt/include.rs` says which lines include a file.

use super::builtin;
use super::cache::Trace;
use super::caller::Prefix;
use super::read;
use super::root::{Root, is_hidden};
use super::rows::Rows;
use crate::prompt::{Diagnostic, IncludeReader, IncludedFile, Kind, MAX_FILE};
use crate::wording::quoted;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// What the name of a built-in prompt follows.
const BUILTIN: &str = "builtin:";

const FIX: &str = "write a path from the folder of this file, or from the prompts folder with `/` before it";

/// The files that one prompt includes.
pub(super) struct Includes<'f> {
    pub(super) root: &'f Root,
    /// What holds the files instead of the disk.
    pub(super) rows: Option<&'f Arc<Rows>>,
    /// The prompt's own file.
    pub(super) own: &'f Path,
    /// No other file of the folder may be included.
    pub(super) prefix: Option<&'f Prefix>,
    /// Gets the stamps of the files that are included.
    pub(super) trace: &'f mut Trace,
}

impl Includes<'_> {
    /// The real path of the prompts folder.
    fn real_root(&self) -> PathBuf {
        fs::canonicalize(&self.root.path).unwrap_or_else(|_| self.root.path.clone())
    }

    /// The bytes of a file of the prompts folder.
    fn read_file(&mut self, path: &Path) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        if let Some(rows) = self.rows {
            return self.read_row(rows, path);
        }
        self.trace.look(path);
        let target = fs::canonicalize(path);
        if let Some(prefix) = self.prefix
            && !target.as_ref().is_ok_and(|target| prefix.has_file(&self.root.path, target))
        {
            return Err(missing(Some(prefix)));
        }
        let target = target.map_err(|error| Diagnostic { fix: FIX.to_owned(), ..read::unreadable(path, &error) })?;
        let below = target.strip_prefix(self.real_root()).map_err(|_| {
            let fix = format!("copy the file into {}", quoted(&self.root.path.display().to_string()));
            Diagnostic::new(Kind::Escapes, "it is outside the prompts folder", fix)
        })?;
        if below.iter().any(|segment| is_hidden(Path::new(segment))) {
            let message = "it is hidden, because a name in its path begins with a dot";
            return Err(Diagnostic::new(Kind::Invalid, message, "rename it"));
        }
        let bytes = read::read(&target, MAX_FILE, |open| self.root.escape_of_open_file(open).map_or(Ok(()), Err))?;
        self.root.check_hash(&self.root.path.join(below), &bytes)?;
        Ok((
            IncludedFile { name: self.root.below(&self.root.path.join(below)), path: self.root.path.join(below) },
            bytes,
        ))
    }

    /// The same of a file in memory.
    fn read_row(&mut self, rows: &Arc<Rows>, path: &Path) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        let mut steps = Vec::new();
        for step in path.strip_prefix(&self.root.path).unwrap_or(path).components() {
            match step {
                Component::ParentDir if steps.pop().is_none() => return Err(missing(self.prefix)),
                Component::Normal(step) => steps.push(step.to_string_lossy()),
                _ => {}
            }
        }
        let name = steps.join("/");
        self.trace.look_at(rows, &name);
        let row = rows.get(&name).filter(|_| self.prefix.is_none_or(|prefix| prefix.contains(&name)));
        let row = row.ok_or_else(|| missing(self.prefix))?;
        let path = self.root.path.join(&name);
        Ok((IncludedFile { name, path }, row.text.as_bytes().to_vec()))
    }

    fn read_any(&mut self, path: &str, from: &IncludedFile) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        if let Some(name) = path.strip_prefix(BUILTIN) {
            if self.root.pack.is_some() {
                let message = "a prompt of a pack includes only files of the pack";
                return Err(Diagnostic::new(Kind::Escapes, message, FIX));
            }
            let fix = "choose one from `prompt-expander list`";
            let text = builtin::text(name)
                .ok_or_else(|| Diagnostic::new(Kind::Missing, "there is no such built-in prompt", fix))?;
            return Ok((IncludedFile { name: path.to_owned(), path: path.into() }, text.as_bytes().to_vec()));
        }
        let end = if path.to_ascii_lowercase().ends_with(".md") { "" } else { ".md" };
        let folder = match path.starts_with('/') {
            true => &*self.root.path,
            false => from.path.parent().unwrap_or(&self.root.path),
        };
        let below = path.trim_start_matches('/');
        let whole = folder.join(format!("{below}{end}"));
        let is_other = self.prefix.is_none() && !end.is_empty() && !whole.exists() && folder.join(below).is_file();
        if is_other {
            let fix = "copy its text to a file that ends in `.md`, and include that; or list the file in `attachments`";
            return Err(Diagnostic::new(Kind::Invalid, "only files that end in `.md` can be included", fix));
        }
        self.read_file(&whole)
    }
}

/// The error does not say whether there is such a file elsewhere.
fn missing(prefix: Option<&Prefix>) -> Diagnostic {
    let place = prefix.map(|prefix| format!(" in {}", quoted(&prefix.to_string()))).unwrap_or_default();
    Diagnostic::new(Kind::Missing, format!("there is no such file{place}"), FIX)
}

impl IncludeReader for Includes<'_> {
    fn own(&self) -> IncludedFile {
        let root = self.real_root();
        let real = fs::canonicalize(self.own).ok();
        let below = real.as_deref().and_then(|real| real.strip_prefix(&root).ok());
        let name = self.root.below(&below.map_or_else(|| self.own.to_owned(), |below| self.root.path.join(below)));
        IncludedFile { name, path: self.own.to_owned() }
    }

    fn read(&mut self, path: &str, from: &IncludedFile) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        if self.root.is_confined {
            self.trace.distrust(); // symlinks on the way are checked each time
        }
        self.read_any(path, from).map_err(|error| {
            self.trace.distrust();
            let message = format!("{} cannot be included: {}", quoted(path), error.message);
            Diagnostic { message, ..error }
        })
    }
}
