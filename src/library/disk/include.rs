//! Reads the files that a prompt includes: those of the same prompts folder, after all symlinks are
//! resolved, and the built-in prompts. `prompt/include.rs` says which lines include a file.

use super::cache::Trace;
use super::open;
use super::reach::path_of_open_file;
use super::root::{Root, is_hidden};
use super::rows::Rows;
use crate::library::builtin_texts::builtin_text;
use crate::library::caller::Prefix;
use crate::library::write::history::FOLDER as HISTORY;
use crate::prompt::{Diagnostic, IncludeReader, IncludedFile, Kind, MAX_FILE};
use crate::wording::quoted;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// What the name of a built-in prompt follows.
const BUILTIN: &str = "builtin:";

const FIX: &str =
    "write a path from the folder of this file, or from the prompts folder with `/` before it";

/// The files that one prompt includes.
pub(crate) struct Includes<'f> {
    pub(crate) root: &'f Root,
    /// What holds the files instead of the disk.
    pub(crate) rows: Option<&'f Arc<Rows>>,
    /// The prompt's own file.
    pub(crate) own: &'f Path,
    /// Whether built-in prompts may be included.
    pub(crate) takes_builtin: bool,
    /// No other file of the folder may be included.
    pub(crate) prefix: Option<&'f Prefix>,
    /// Gets the stamps of the files that are included.
    pub(crate) trace: &'f mut Trace,
}

impl Includes<'_> {
    /// The bytes of a file of the prompts folder.
    fn read_file(&mut self, path: &Path) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        if let Some(rows) = self.rows {
            return self.read_row(rows, path);
        }
        self.trace.look(path);
        let (path, bytes) =
            read_named(self.root, path, MAX_FILE, self.prefix).map_err(|why| match why.kind {
                Kind::Missing => Diagnostic {
                    fix: FIX.to_owned(),
                    ..why
                },
                _ => why,
            })?;
        let name = self.root.below(&path);
        if Path::new(&name)
            .iter()
            .any(|segment| is_hidden(Path::new(segment)))
        {
            let message = "it is hidden, because a name in its path begins with a dot";
            return Err(Diagnostic::new(Kind::Invalid, message, "rename it"));
        }
        Ok((IncludedFile { name, path }, bytes))
    }

    /// The same of a file in memory.
    fn read_row(
        &mut self,
        rows: &Arc<Rows>,
        path: &Path,
    ) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        let mut steps = Vec::new();
        for step in path
            .strip_prefix(&self.root.path)
            .unwrap_or(path)
            .components()
        {
            match step {
                Component::ParentDir if steps.pop().is_none() => return Err(missing(self.prefix)),
                Component::Normal(step) => steps.push(step.to_string_lossy()),
                _ => {}
            }
        }
        let name = steps.join("/");
        self.trace.look_at(rows, &name);
        let row = rows
            .get(&name)
            .filter(|_| self.prefix.is_none_or(|prefix| prefix.contains(&name)));
        let row = row.ok_or_else(|| missing(self.prefix))?;
        let path = self.root.path.join(&name);
        Ok((IncludedFile { name, path }, row.text.as_bytes().to_vec()))
    }

    fn read_any(
        &mut self,
        path: &str,
        from: &IncludedFile,
    ) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        if let Some(name) = path.strip_prefix(BUILTIN) {
            if !self.takes_builtin {
                let message = "a prompt of a pack includes only files of the pack";
                return Err(Diagnostic::new(Kind::Escapes, message, FIX));
            }
            let fix = "choose one from `prompt-expander list`";
            let text = builtin_text(name).ok_or_else(|| {
                Diagnostic::new(Kind::Missing, "there is no such built-in prompt", fix)
            })?;
            return Ok((
                IncludedFile {
                    name: path.to_owned(),
                    path: path.into(),
                },
                text.as_bytes().to_vec(),
            ));
        }
        let end = if path.to_ascii_lowercase().ends_with(".md") {
            ""
        } else {
            ".md"
        };
        let folder = match path.starts_with('/') {
            true => &*self.root.path,
            false => from.path.parent().unwrap_or(&self.root.path),
        };
        let below = path.trim_start_matches('/');
        let whole = folder.join(format!("{below}{end}"));
        let is_other = self.prefix.is_none()
            && !end.is_empty()
            && !whole.exists()
            && folder.join(below).is_file();
        if is_other {
            let fix = "copy its text to a file that ends in `.md`, and include that; or list the file in `attachments`";
            return Err(Diagnostic::new(
                Kind::Invalid,
                "only files that end in `.md` can be included",
                fix,
            ));
        }
        self.read_file(&whole)
    }
}

/// Reads a file that a prompt includes or attaches: its path in the folder, after all links are
/// resolved, and its bytes. With a prefix, no other file of the folder may be read.
///
/// # Errors
/// It is outside of the folder, or in the history; in a pack, it is another file than when the pack
/// was added; it cannot be read, or is longer than `max` bytes.
pub(crate) fn read_named(
    root: &Root,
    path: &Path,
    max: usize,
    prefix: Option<&Prefix>,
) -> Result<(PathBuf, Vec<u8>), Diagnostic> {
    let target = fs::canonicalize(path);
    if let Some(prefix) = prefix
        && !target
            .as_ref()
            .is_ok_and(|target| prefix.has_file(&root.path, target))
    {
        return Err(missing(Some(prefix)));
    }
    let target = target.map_err(|error| open::unreadable(path, &error))?;
    let real_root =
        fs::canonicalize(&root.path).map_err(|error| open::unreadable(&root.path, &error))?;
    let outside = || {
        let fix = format!(
            "copy the file into {}",
            quoted(&root.path.display().to_string())
        );
        Diagnostic::new(Kind::Escapes, "it is outside the prompts folder", fix)
    };
    let path = root
        .path
        .join(target.strip_prefix(&real_root).map_err(|_| outside())?);
    if path.starts_with(root.path.join(HISTORY)) {
        let message = format!("it is in {HISTORY}, whose files are no part of a prompt");
        return Err(Diagnostic::new(
            Kind::Invalid,
            message,
            "copy it to another folder",
        ));
    }
    let file = open::open(&target)?;
    root.reach.check_open_file(&file)?;
    // A folder of the path may have been replaced with a link since.
    if path_of_open_file(&file).is_some_and(|now| !now.starts_with(&real_root)) {
        return Err(outside());
    }
    let bytes = open::read_opened(file, &target, max)?;
    root.check_text(&path, &bytes)?;
    Ok((path, bytes))
}

/// The error does not say whether there is such a file elsewhere.
fn missing(prefix: Option<&Prefix>) -> Diagnostic {
    let place = prefix
        .map(|prefix| format!(" in {}", quoted(&prefix.to_string())))
        .unwrap_or_default();
    Diagnostic::new(Kind::Missing, format!("there is no such file{place}"), FIX)
}

impl IncludeReader for Includes<'_> {
    fn own(&self) -> IncludedFile {
        IncludedFile {
            name: self.root.below(self.own),
            path: self.own.to_owned(),
        }
    }

    fn read(
        &mut self,
        path: &str,
        from: &IncludedFile,
    ) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        if self.root.reach.is_confined() {
            self.trace.distrust(); // symlinks on the way are checked each time
        }
        self.read_any(path, from).map_err(|error| {
            self.trace.distrust();
            let message = format!("{} cannot be included: {}", quoted(path), error.message);
            Diagnostic { message, ..error }
        })
    }
}
