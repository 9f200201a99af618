//! A prompt file, or a text that is not saved as one: read, parsed, checked and expanded.

use super::attach::{attached_files, attachments};
use super::cache::{Cache, MIN_STAMP_AGE, Trace};
use super::include::Includes;
use super::memory_files::{MemoryFiles, PATH_LIST};
use super::open::read_confined;
use super::root::{MAX_ENTRIES, PromptFile, Root};
use crate::library::call::{BoundCall, Join};
use crate::library::caller::Prefix;
use crate::library::source::{About, Found, Handle, Info, Layer, Location};
use crate::prompt::{
    Attachment, Diagnostic, IncludeReader, Kind, Messages, Name, Prompt, decode_utf8_owned,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// How many bytes of parsed prompts are kept in memory, for each folder.
const MAX_PROMPT_BYTES: usize = 8 * 1024 * 1024;

/// What a parsed prompt takes in memory besides its text, roughly, in bytes.
const PROMPT_OVERHEAD: usize = 1024;

type ParsedPrompt = Result<Arc<Prompt>, Diagnostic>;

/// The files of a folder of prompts, and a cache of what was read from them.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) root: Root,
    pub(crate) about: About,
    /// The files, if they are in memory, not on the disk. The path of the folder is the address of
    /// a database then.
    pub(crate) rows: Option<Arc<MemoryFiles>>,
    infos: Cache<Info>,
    prompts: Cache<ParsedPrompt>,
}

impl Files {
    pub(crate) fn new(root: Root, about: About) -> Files {
        Files {
            root,
            about,
            rows: None,
            infos: Cache::new(MAX_ENTRIES, MIN_STAMP_AGE),
            prompts: Cache::weighed(MAX_PROMPT_BYTES, weight, MIN_STAMP_AGE),
        }
    }

    /// Returns the files of the folder that a prompt file seems to belong to, although that folder
    /// is in no library.
    pub(crate) fn around(file: &Path) -> Arc<Files> {
        let root = Root::around(file);
        let about = About::new(Layer::USER, root.format, Some(root.path.clone()));
        Arc::new(Files::new(root, about))
    }

    /// Returns whether the prompts come from a project or a pack, so somebody else may have written
    /// them. They cannot be Jinja templates.
    pub(crate) fn is_untrusted(&self) -> bool {
        self.about.layer.is_project() || self.about.layer == Layer::PACK
    }

    /// Returns the prompt with this name, in a file of the folder. The file is not read yet.
    pub(crate) fn found(self: &Arc<Self>, name: Name, file: PromptFile) -> Found {
        self.with_draft(name, file, None)
    }

    /// Returns the prompt in a file whose path a person has typed.
    ///
    /// # Errors
    /// There is no such file, or it is not a prompt.
    pub(crate) fn found_at(self: &Arc<Self>, path: &Path) -> Result<Found, Diagnostic> {
        let named = self.root.prompt_at(path)?;
        let file = PromptFile {
            path: path.into(),
            kind: named.kind,
            is_linked: true, // the path may have a symlink, so its target is checked
        };
        Ok(self.found(named.name, file))
    }

    /// Returns a prompt with this name whose text is not saved: `text` counts instead of what the
    /// file holds. The file need not exist.
    ///
    /// With a prefix, the text can include and attach only the files that a caller with that prefix
    /// may see.
    pub(crate) fn draft(
        self: &Arc<Self>,
        name: Name,
        file: PromptFile,
        text: &str,
        prefix: Option<Prefix>,
    ) -> Found {
        let text = text.into();
        self.with_draft(name, file, Some(Box::new(UnsavedText { text, prefix })))
    }

    /// Returns a prompt in a file. If there is a draft, its text is read instead of the file.
    fn with_draft(
        self: &Arc<Self>,
        name: Name,
        file: PromptFile,
        draft: Option<Box<UnsavedText>>,
    ) -> Found {
        let handle = FileHandle {
            files: Arc::clone(self),
            name: name.clone(),
            file,
            draft,
        };
        Found::new(name, &self.about, handle)
    }

    /// Finds the file of the prompt with exactly this name: for `git/commit`, the file
    /// `git/commit.md` or else `git/commit/SKILL.md`. The file may be in memory or on the disk.
    pub(crate) fn resolve(&self, name: &Name, trace: &mut Trace) -> Option<PromptFile> {
        let Some(rows) = &self.rows else {
            return self.root.resolve(name, trace);
        };
        trace.record_memory_file(rows, PATH_LIST);
        for end in self.root.ends(name) {
            let below = format!("{name}{}", end.text);
            if rows.contains(&below) {
                return Some(PromptFile {
                    path: self.root.path.join(below).into(),
                    kind: end.kind,
                    is_linked: false,
                });
            }
        }
        None
    }

    /// Returns the paths below the folder that the file of a name may have, in the order in which
    /// they win.
    #[cfg(feature = "store")]
    pub(crate) fn paths_of(&self, name: &Name) -> Vec<String> {
        let ends = self.root.ends(name);
        ends.map(|end| format!("{name}{}", end.text)).collect()
    }

    /// Adds the state of a file to the trace, and returns when the file was modified.
    fn record(&self, path: &Path, trace: &mut Trace) -> Option<SystemTime> {
        match &self.rows {
            Some(rows) => trace.record_memory_file(rows, &self.root.relative_path(path)),
            None => trace.record(path)?.modified,
        }
    }

    /// Returns the bytes of a file. `is_linked` says whether its path has a symlink, whose target
    /// is checked then.
    ///
    /// # Errors
    /// The file cannot be read, is outside of the folders that may be read, or has a text that may
    /// not be served.
    pub(crate) fn read(&self, path: &Path, is_linked: bool) -> Result<Vec<u8>, Diagnostic> {
        let bytes = match &self.rows {
            Some(rows) => self.read_from_memory(rows, path),
            None => self.read_from_disk(path, is_linked),
        };
        bytes.map_err(|diagnostic| diagnostic.in_file(path))
    }

    /// Returns the bytes of a file in memory.
    fn read_from_memory(&self, rows: &MemoryFiles, path: &Path) -> Result<Vec<u8>, Diagnostic> {
        match rows.get(&self.root.relative_path(path)) {
            Some(row) => Ok(row.text.as_bytes().to_vec()),
            None => Err(Diagnostic::new(Kind::NotFound, "there is no such file", "")),
        }
    }

    /// Returns the bytes of a file on the disk, after the checks of [`Files::read`].
    fn read_from_disk(&self, path: &Path, is_linked: bool) -> Result<Vec<u8>, Diagnostic> {
        if is_linked {
            self.root.reach.check(path)?;
        }
        let bytes = read_confined(path, &self.root.reach)?;
        self.root.check_text(path, &bytes)?;
        Ok(bytes)
    }
}

/// Returns how many bytes of memory a parsed prompt, or the error about it, takes, roughly.
fn weight(parsed: &ParsedPrompt) -> usize {
    let mut bytes = PROMPT_OVERHEAD;
    if let Ok(prompt) = parsed {
        for message in &prompt.messages {
            bytes += message.body().len();
        }
    }
    bytes
}

/// What a file holds.
struct FileContents {
    bytes: Vec<u8>,
    prompt: Result<Prompt, Diagnostic>,
    modified: Option<SystemTime>,
}

/// A prompt in a file of a folder.
#[derive(Debug)]
struct FileHandle {
    files: Arc<Files>,
    name: Name,
    file: PromptFile,
    /// The text that counts instead of what the file holds.
    draft: Option<Box<UnsavedText>>,
}

/// The text of a prompt that is not saved.
#[derive(Debug)]
struct UnsavedText {
    text: Arc<str>,
    /// How the names of the prompts begin that the author of the text may see; `None` for all.
    prefix: Option<Prefix>,
}

impl FileHandle {
    /// Reads and parses the file of the prompt, or its draft.
    ///
    /// # Errors
    /// The file cannot be read. An error in its text is in [`FileContents::prompt`].
    fn read(&self, trace: &mut Trace) -> Result<FileContents, Diagnostic> {
        let mut modified = None;
        let bytes = match &self.draft {
            Some(draft) => draft.text.as_bytes().to_vec(),
            None => {
                modified = self.files.record(&self.file.path, trace);
                self.read_saved(trace)?
            }
        };
        let prompt = self.parse(&bytes, trace);
        Ok(FileContents {
            bytes,
            prompt: prompt.map_err(|diagnostic| self.with_path(diagnostic)),
            modified,
        })
    }

    /// Returns the bytes of the file.
    fn read_saved(&self, trace: &mut Trace) -> Result<Vec<u8>, Diagnostic> {
        if self.file.is_linked && self.files.root.reach.is_confined() {
            trace.mark_uncacheable(); // no stamp shows whether the target may still be read
        }
        let bytes = self.files.read(&self.file.path, self.file.is_linked);
        if bytes.is_err() {
            trace.mark_uncacheable(); // no stamp shows when the file can be read again
        }
        bytes
    }

    /// Parses the text of the prompt, and reads the files that it includes.
    ///
    /// # Errors
    /// The text is not a prompt, a file cannot be included, or the prompt is a Jinja template and
    /// comes from a project or a pack.
    fn parse(&self, bytes: &[u8], trace: &mut Trace) -> Result<Prompt, Diagnostic> {
        let root = &self.files.root;
        let mut includes = Includes {
            root,
            rows: self.files.rows.as_ref(),
            own: &self.file.path,
            takes_builtin: self.files.about.layer != Layer::PACK,
            prefix: self.prefix(),
            trace,
        };
        // Files in the formats of other programs include nothing.
        let includes: Option<&mut dyn IncludeReader> = if root.is_read_only() {
            None
        } else {
            Some(&mut includes)
        };
        let prompt = self.file.kind.parse(&self.name, bytes, includes)?;
        if prompt.is_jinja() && self.files.is_untrusted() {
            let message = "`engine: jinja` is not used in the prompts of a project or a pack";
            let fix = "copy the prompt into a folder of your own if you trust it";
            return Err(Diagnostic::new(Kind::Invalid, message, fix));
        }
        let folder = self.file.path.parent().unwrap_or(&root.path);
        Ok(prompt.with_base_directory(&folder.to_string_lossy()))
    }

    /// Adds the path of the file to a diagnostic about it.
    fn with_path(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.in_file(Arc::clone(&self.file.path))
    }

    /// Returns the prefix of the author of a draft. The draft can include and attach only files
    /// that have this prefix: only those in the folder `team`, for `team/`.
    fn prefix(&self) -> Option<&Prefix> {
        self.draft.as_ref()?.prefix.as_ref()
    }

    /// Reads the attachments of the prompt, one after the other. Returns an error in the place of
    /// an attachment that cannot be read.
    fn attachments<'p>(
        &'p self,
        prompt: &'p Prompt,
    ) -> impl Iterator<Item = Result<Attachment, Diagnostic>> {
        let is_on_disk = self.files.rows.is_none();
        let root = is_on_disk.then_some(&self.files.root);
        attachments(root, prompt, &self.file.path, self.prefix())
    }

    /// Reads and parses the prompt, without the cache.
    fn make_prompt(&self, trace: &mut Trace) -> ParsedPrompt {
        self.read(trace)?.prompt.map(Arc::new)
    }

    /// Reads what lists show of the prompt, without the cache.
    fn make_info(&self, trace: &mut Trace) -> Info {
        match self.read(trace) {
            Ok(contents) => {
                let prompt = contents.prompt.as_ref().map_err(Clone::clone);
                Info::new(&contents.bytes, contents.modified, prompt)
            }
            Err(diagnostic) => Info::unreadable(diagnostic),
        }
    }

    /// Returns whether a person may change the file. The file of a pack is only a copy, and a
    /// symlink may lead out of the folders that may be read.
    fn is_editable(&self) -> bool {
        if self.files.about.layer == Layer::PACK {
            return false;
        }
        !self.file.is_linked || self.files.root.reach.check(&self.file.path).is_ok()
    }
}

impl Handle for FileHandle {
    fn location(&self) -> Location {
        Location {
            display: self.file.path.display().to_string(),
            file: Some(self.file.path.to_path_buf()),
            is_editable: self.is_editable(),
        }
    }

    fn info(&self) -> Info {
        if self.draft.is_some() {
            return self.make_info(&mut Trace::default());
        }
        let infos = &self.files.infos;
        infos.get(&*self.file.path, |trace| self.make_info(trace))
    }

    fn text(&self) -> Result<String, Diagnostic> {
        if let Some(draft) = &self.draft {
            return Ok(draft.text.to_string());
        }
        let bytes = self.files.read(&self.file.path, self.file.is_linked)?;
        decode_utf8_owned(bytes).map_err(|diagnostic| self.with_path(diagnostic))
    }

    fn prompt(&self) -> ParsedPrompt {
        if self.draft.is_some() {
            return self.make_prompt(&mut Trace::default());
        }
        let prompts = &self.files.prompts;
        prompts.get(&*self.file.path, |trace| self.make_prompt(trace))
    }

    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        let mut messages = bound.prompt.expand_bound(&bound.binding, join)?;
        for attachment in self.attachments(bound.prompt) {
            let attachment = attachment.map_err(|diagnostic| self.with_path(diagnostic))?;
            messages.attachments.push(attachment);
        }
        Ok(messages)
    }

    fn attached_files(&self, prompt: &Prompt) -> Vec<(PathBuf, Vec<u8>)> {
        attached_files(&self.files.root, prompt, &self.file.path)
    }

    fn check(&self) -> Vec<Diagnostic> {
        let prompt = match self.prompt() {
            Ok(prompt) => prompt,
            Err(diagnostic) => return diagnostic.flatten(),
        };
        let mut problems = prompt.warnings();
        problems.extend(self.attachments(&prompt).filter_map(Result::err));
        let problems = problems.into_iter();
        problems.map(|problem| self.with_path(problem)).collect()
    }
}
