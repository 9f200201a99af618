//! Reads, parses and expands a prompt file, or an unsaved draft of one.

use super::attach::{attached_files, attachments};
use super::cache::{Cache, MIN_STAMP_AGE, Trace};
use super::include::{FolderIncludeReader, NeighborFile};
use super::memory_files::{MemoryFiles, PATH_LIST};
use super::open::read_confined;
use super::root::{MAX_ENTRIES, PromptFile, Root};
use crate::library::call::{BoundCall, Join};
use crate::library::caller::Prefix;
use crate::library::source::{About, Found, Handle, Info, Layer, Location};
use crate::prompt::{
    Attachment, Diagnostic, Format, IncludeReader, Kind, Messages, Name, Prompt, decode_utf8_owned,
};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

/// The maximum total size of the parsed prompts that are cached for one folder, in bytes.
const MAX_PROMPT_BYTES: usize = 8 * 1024 * 1024;

/// The approximate size of a parsed prompt in memory without its text, in bytes.
const PROMPT_OVERHEAD: usize = 1024;

type ParsedPrompt = Result<Arc<Prompt>, Diagnostic>;

/// The files of a prompts folder, with caches of their contents.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) root: Root,
    pub(crate) about: About,
    /// The files, if they are in memory instead of on disk. The path of `root` is then an address.
    pub(crate) memory_files: Option<Arc<MemoryFiles>>,
    infos: Cache<Info>,
    prompts: Cache<ParsedPrompt>,
}

impl Files {
    /// Returns the files of the folder `root`, which is on disk.
    pub(crate) fn new(root: Root, about: About) -> Files {
        Files {
            root,
            about,
            memory_files: None,
            infos: Cache::new(MAX_ENTRIES, MIN_STAMP_AGE),
            prompts: Cache::with_max_size(MAX_PROMPT_BYTES, approximate_size, MIN_STAMP_AGE),
        }
    }

    /// Creates the `Files` for a prompt file outside the library, guessing its folder.
    pub(crate) fn guess_for(file: &Path) -> Arc<Files> {
        let root = Root::guess_for(file);
        let about = About::new(Layer::USER, root.format, Some(root.path.clone()));
        Arc::new(Files::new(root, about))
    }

    /// Returns whether somebody else may have written the prompts, as in projects and packs. Such
    /// prompts can't be Jinja templates.
    pub(crate) fn is_untrusted(&self) -> bool {
        self.about.layer.is_project() || self.about.layer == Layer::PACK
    }

    /// Returns a handle to the prompt in `file`, without reading it.
    pub(crate) fn handle_for(self: &Arc<Self>, name: Name, file: PromptFile) -> Found {
        self.with_draft(name, file, None)
    }

    /// Returns a handle to the prompt in a file whose path the user typed.
    ///
    /// # Errors
    /// Fails if the file is missing or is not a prompt.
    pub(crate) fn handle_at(self: &Arc<Self>, path: &Path) -> Result<Found, Diagnostic> {
        let named = self.root.prompt_at(path)?;
        let file = PromptFile {
            path: path.into(),
            kind: named.kind,
            may_be_linked: true, // nobody has checked the path for symlinks
        };
        Ok(self.handle_for(named.name, file))
    }

    /// Returns a handle to an unsaved prompt: it has the contents `text` instead of those of
    /// `file`, which may not exist.
    ///
    /// If `prefix` is given, the draft can only include and attach files that a caller with this
    /// prefix may see.
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

    /// Returns a handle to the prompt in `file`, or to `draft` if there is one.
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

    /// Finds the file of the prompt with exactly this name, on disk or in memory. Records in
    /// `trace` what the result depends on.
    pub(crate) fn resolve(&self, name: &Name, trace: &mut Trace) -> Option<PromptFile> {
        let Some(memory_files) = &self.memory_files else {
            return self.root.resolve(name, trace);
        };
        trace.record_memory_file(memory_files, PATH_LIST);
        for suffix in self.root.possible_suffixes(name) {
            let relative_path = format!("{name}{}", suffix.text);
            if !memory_files.contains(&relative_path) {
                continue;
            }
            let file = PromptFile {
                path: self.root.path.join(relative_path).into(),
                kind: suffix.kind,
                may_be_linked: false,
            };
            if self.non_prompt_hint(&file, trace).is_none() {
                return Some(file);
            }
        }
        None
    }

    /// Returns a hint if a file has the suffix of a prompt, but belongs to another program, on disk
    /// or in memory.
    pub(crate) fn non_prompt_hint(
        &self,
        file: &PromptFile,
        trace: &mut Trace,
    ) -> Option<Diagnostic> {
        let Some(memory_files) = &self.memory_files else {
            return self.root.non_prompt_hint(file, trace);
        };
        self.record(&file.path, trace);
        let bytes = self.read_from_memory(memory_files, &file.path).ok()?;
        let hint = file.kind.non_prompt_hint(&bytes)?;
        Some(hint.in_file(Arc::clone(&file.path)))
    }

    /// Returns the relative paths that the file of this prompt may have. If several exist, the
    /// first wins.
    #[cfg(feature = "store")]
    pub(crate) fn possible_paths(&self, name: &Name) -> Vec<String> {
        let suffixes = self.root.possible_suffixes(name);
        suffixes
            .map(|suffix| format!("{name}{}", suffix.text))
            .collect()
    }

    /// Records the state of a file in `trace`, and returns when the file was modified.
    fn record(&self, path: &Path, trace: &mut Trace) -> Option<SystemTime> {
        match &self.memory_files {
            Some(memory_files) => {
                trace.record_memory_file(memory_files, &self.root.relative_path(path))
            }
            None => trace.record(path)?.modified,
        }
    }

    /// Reads a file.
    ///
    /// # Errors
    /// Fails if the file can't be read, lies outside the readable folders, or may not be served.
    pub(crate) fn read(&self, file: &PromptFile) -> Result<Vec<u8>, Diagnostic> {
        let bytes = match &self.memory_files {
            Some(memory_files) => self.read_from_memory(memory_files, &file.path),
            None => self.read_from_disk(file),
        };
        bytes.map_err(|diagnostic| diagnostic.in_file(Arc::clone(&file.path)))
    }

    fn read_from_memory(
        &self,
        memory_files: &MemoryFiles,
        path: &Path,
    ) -> Result<Vec<u8>, Diagnostic> {
        match memory_files.get(&self.root.relative_path(path)) {
            Some(row) => Ok(row.text.as_bytes().to_vec()),
            None => Err(Diagnostic::new(Kind::NotFound, "there is no such file", "")),
        }
    }

    fn read_from_disk(&self, file: &PromptFile) -> Result<Vec<u8>, Diagnostic> {
        if file.may_be_linked {
            self.root.reach.check_prompt_file(&file.path)?;
        }
        let bytes = read_confined(&file.path, &self.root.reach)?;
        self.root.check_text(&file.path, &bytes)?;
        Ok(bytes)
    }
}

/// Returns the approximate size of a cached prompt in memory, in bytes.
fn approximate_size(parsed: &ParsedPrompt) -> usize {
    let mut bytes = PROMPT_OVERHEAD;
    if let Ok(prompt) = parsed {
        for message in &prompt.messages {
            bytes += message.body().len();
        }
    }
    bytes
}

/// The contents of a prompt file, and the result of parsing them.
struct FileContents {
    bytes: Vec<u8>,
    prompt: Result<Prompt, Diagnostic>,
    modified: Option<SystemTime>,
}

/// A prompt in a file, or an unsaved draft of it.
#[derive(Debug)]
struct FileHandle {
    files: Arc<Files>,
    name: Name,
    file: PromptFile,
    /// Replaces the contents of the file.
    draft: Option<Box<UnsavedText>>,
}

/// The contents of an unsaved prompt.
#[derive(Debug)]
struct UnsavedText {
    text: Arc<str>,
    /// What the author of the draft may see. `None` means every prompt.
    prefix: Option<Prefix>,
}

impl FileHandle {
    /// Reads and parses the draft or, without one, the file.
    ///
    /// # Errors
    /// Fails if the file can't be read. A parse error is stored in [`FileContents::prompt`]
    /// instead.
    fn read(&self, trace: &mut Trace) -> Result<FileContents, Diagnostic> {
        if let Some(draft) = &self.draft {
            let bytes = draft.text.as_bytes().to_vec();
            let not_saved = None;
            return Ok(self.parse_contents(bytes, not_saved, trace));
        }
        // Before the file is read. Otherwise, a change in between would be recorded as the state of
        // the old contents, which would then be cached for good.
        let modified = self.files.record(&self.file.path, trace);
        let bytes = self.read_saved(trace)?;
        Ok(self.parse_contents(bytes, modified, trace))
    }

    /// Parses the contents of the draft or the file. `modified` is when the file was modified.
    fn parse_contents(
        &self,
        bytes: Vec<u8>,
        modified: Option<SystemTime>,
        trace: &mut Trace,
    ) -> FileContents {
        let prompt = self.parse(&bytes, trace);
        FileContents {
            bytes,
            prompt: prompt.map_err(|diagnostic| self.with_path(diagnostic)),
            modified,
        }
    }

    /// Reads the file, even if there is a draft. Marks the trace as uncacheable if the cache
    /// couldn't notice that the result has changed.
    fn read_saved(&self, trace: &mut Trace) -> Result<Vec<u8>, Diagnostic> {
        if self.file.may_be_linked && self.files.root.reach.is_confined() {
            trace.mark_uncacheable(); // no stamp reveals whether the target is still readable
        }
        let bytes = self.files.read(&self.file);
        if bytes.is_err() {
            trace.mark_uncacheable(); // no stamp reveals that the error is gone
        }
        bytes
    }

    /// Parses the prompt and reads the files that it includes.
    ///
    /// # Errors
    /// Fails if the contents are not a valid prompt, if a file can't be included, or if an
    /// untrusted prompt is a Jinja template.
    fn parse(&self, bytes: &[u8], trace: &mut Trace) -> Result<Prompt, Diagnostic> {
        let root = &self.files.root;
        let mut include_reader = FolderIncludeReader {
            root,
            memory_files: self.files.memory_files.as_ref(),
            prompt_path: &self.file.path,
            allows_builtin: self.files.about.layer != Layer::PACK,
            prefix: self.prefix(),
            trace,
        };
        // The formats of other programs have no includes.
        let supports_includes = root.format == Format::OWN;
        let includes: Option<&mut dyn IncludeReader> = if supports_includes {
            Some(&mut include_reader)
        } else {
            None
        };
        let prompt = self.file.kind.parse(&self.name, bytes, includes)?;
        if prompt.is_jinja() && self.files.is_untrusted() {
            let message = "`engine: jinja` is not allowed in the prompts of a project or a pack";
            let fix = "copy the prompt into a folder of your own if you trust it";
            return Err(Diagnostic::new(Kind::Invalid, message, fix));
        }
        let folder = self.file.path.parent().unwrap_or(&root.path);
        Ok(prompt.with_base_directory(&folder.to_string_lossy()))
    }

    /// Sets the file of a diagnostic to this one.
    fn with_path(&self, diagnostic: Diagnostic) -> Diagnostic {
        diagnostic.in_file(Arc::clone(&self.file.path))
    }

    /// Returns the prefix that the author of a draft is limited to. With `team/`, the draft can
    /// only include and attach files in the folder `team`.
    fn prefix(&self) -> Option<&Prefix> {
        self.draft.as_ref()?.prefix.as_ref()
    }

    /// Reads the attachments of the prompt lazily, in order.
    fn attachments<'p>(
        &'p self,
        prompt: &'p Prompt,
    ) -> impl Iterator<Item = Result<Attachment, Diagnostic>> {
        let is_on_disk = self.files.memory_files.is_none();
        let root = is_on_disk.then_some(&self.files.root);
        attachments(root, prompt, &self.file.path, self.prefix())
    }

    /// Reads and parses the prompt, bypassing the cache.
    fn read_prompt(&self, trace: &mut Trace) -> ParsedPrompt {
        self.read(trace)?.prompt.map(Arc::new)
    }

    /// Reads the [`Info`] of the prompt, bypassing the cache.
    fn read_info(&self, trace: &mut Trace) -> Info {
        match self.read(trace) {
            Ok(contents) => {
                let prompt = contents.prompt.as_ref().map_err(Clone::clone);
                Info::new(&contents.bytes, contents.modified, prompt)
            }
            Err(diagnostic) => Info::unreadable(diagnostic),
        }
    }

    /// Returns whether the user may edit the file: unless it is in a pack, which is only a copy, or
    /// is reached through a symlink that leads out of the readable folders.
    fn is_editable(&self) -> bool {
        if self.files.about.layer == Layer::PACK {
            return false;
        }
        let reach = &self.files.root.reach;
        !self.file.may_be_linked || reach.check_prompt_file(&self.file.path).is_ok()
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

    /// Returns what lists show about the prompt, from the cache if the file hasn't changed. A draft
    /// is not cached.
    fn info(&self) -> Info {
        if self.draft.is_some() {
            return self.read_info(&mut Trace::default());
        }
        let infos = &self.files.infos;
        infos.get(&*self.file.path, |trace| self.read_info(trace))
    }

    fn text(&self) -> Result<String, Diagnostic> {
        if let Some(draft) = &self.draft {
            return Ok(draft.text.to_string());
        }
        let bytes = self.files.read(&self.file)?;
        decode_utf8_owned(bytes).map_err(|diagnostic| self.with_path(diagnostic))
    }

    /// Returns the parsed prompt, from the cache if neither the file nor any file that it includes
    /// has changed. A draft is not cached.
    fn prompt(&self) -> ParsedPrompt {
        if self.draft.is_some() {
            return self.read_prompt(&mut Trace::default());
        }
        let prompts = &self.files.prompts;
        prompts.get(&*self.file.path, |trace| self.read_prompt(trace))
    }

    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        let mut messages = bound.prompt.expand_bound(&bound.binding, join)?;
        for attachment in self.attachments(bound.prompt) {
            let attachment = attachment.map_err(|diagnostic| self.with_path(diagnostic))?;
            messages.attachments.push(attachment);
        }
        Ok(messages)
    }

    fn attached_files(&self, prompt: &Prompt) -> Vec<NeighborFile> {
        attached_files(&self.files.root, prompt, &self.file.path)
    }

    /// Returns the warnings of the prompt, and the errors of its attachments. If the prompt can't
    /// be read or parsed, returns that error alone.
    fn check(&self) -> Vec<Diagnostic> {
        let prompt = match self.prompt() {
            Ok(prompt) => prompt,
            Err(diagnostic) => return diagnostic.flatten(),
        };
        let mut problems = prompt.warnings();
        problems.extend(self.attachments(&prompt).filter_map(Result::err));
        problems
            .into_iter()
            .map(|problem| self.with_path(problem))
            .collect()
    }
}
