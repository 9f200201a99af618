//! A prompt file, or a text that is not saved as one: read, parsed, checked and expanded.

use super::attach::{attached_files, attachments};
use super::cache::{Cache, SETTLING, Trace};
use super::include::Includes;
use super::open::read_confined;
use super::root::{MAX_ENTRIES, PromptFile, Root};
use super::rows::{LIST, Row, Rows};
use crate::library::call::{BoundCall, Join};
use crate::library::caller::Prefix;
use crate::library::source::{About, Found, Handle, Info, Layer, Place};
use crate::prompt::{
    Attachment, Diagnostic, FileName, IncludeReader, Kind, Messages, Name, Prompt, owned_text,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// How many bytes of texts are kept as parsed prompts, in each folder.
const MAX_PROMPT_BYTES: usize = 8 * 1024 * 1024;

type Parsed = Result<Arc<Prompt>, Diagnostic>;

/// The files of a folder of prompts, and what is kept of them.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) root: Root,
    pub(crate) about: About,
    /// What holds the files instead of the disk. The path of the folder is the address of a
    /// database then.
    pub(crate) rows: Option<Arc<Rows>>,
    infos: Cache<Info>,
    prompts: Cache<Parsed>,
}

impl Files {
    pub(crate) fn new(root: Root, about: About) -> Files {
        Files {
            root,
            about,
            rows: None,
            infos: Cache::new(MAX_ENTRIES, SETTLING),
            prompts: Cache::weighed(MAX_PROMPT_BYTES, weight, SETTLING),
        }
    }

    /// The files of the folder in which a file is, or would be, a prompt, although the folder is in
    /// no library.
    pub(crate) fn around(file: &Path) -> Arc<Files> {
        let root = Root::around(file);
        let about = About::new(Layer::USER, root.format, Some(root.path.clone()));
        Arc::new(Files::new(root, about))
    }

    /// Returns whether its prompts were written for a project or a pack, and so are no templates.
    pub(crate) fn is_of_others(&self) -> bool {
        self.about.layer.is_project() || self.about.layer == Layer::PACK
    }

    pub(crate) fn found(self: &Arc<Self>, name: Name, file: PromptFile) -> Found {
        let handle = FileHandle {
            files: Arc::clone(self),
            name: name.clone(),
            file,
            draft: None,
        };
        Found::new(name, &self.about, handle)
    }

    /// A text that is not saved. With a prefix, it is that of a caller for whom no other prompts
    /// exist.
    pub(crate) fn draft(
        self: &Arc<Self>,
        name: Name,
        file: PromptFile,
        text: &str,
        prefix: Option<Prefix>,
    ) -> Found {
        let draft = Some(Box::new(Draft {
            text: text.into(),
            prefix,
        }));
        let handle = FileHandle {
            files: Arc::clone(self),
            name: name.clone(),
            file,
            draft,
        };
        Found::new(name, &self.about, handle)
    }

    /// The file with exactly this name.
    pub(crate) fn resolve(&self, name: &Name, trace: &mut Trace) -> Option<PromptFile> {
        let Some(rows) = &self.rows else {
            return self.root.resolve(name, trace);
        };
        trace.look_at(rows, LIST);
        let (below, kind) = self
            .paths_of(name)
            .find(|(below, _)| rows.number(below) != 0)?;
        Some(PromptFile {
            path: self.root.path.join(below).into(),
            kind,
            is_linked: false,
        })
    }

    /// The paths below the folder that the file of a name may have, in the order in which they win.
    pub(crate) fn paths_of<'n>(
        &self,
        name: &'n Name,
    ) -> impl Iterator<Item = (String, FileName)> + use<'n> {
        self.root
            .ends(name)
            .map(move |(end, kind)| (format!("{name}{end}"), kind))
    }

    /// Records the state of a file, and returns when it was modified.
    fn look(&self, path: &Path, trace: &mut Trace) -> Option<SystemTime> {
        match &self.rows {
            Some(rows) => trace.look_at(rows, &self.root.below(path)),
            None => trace.look(path)?.modified,
        }
    }

    /// Reads a file, unless it is outside of what may be read.
    pub(crate) fn read(&self, path: &Path, is_linked: bool) -> Result<Vec<u8>, Diagnostic> {
        if let Some(rows) = &self.rows {
            let missing =
                || Diagnostic::new(Kind::Missing, "there is no such file", "").in_file(path);
            return Ok(rows
                .get(&self.root.below(path))
                .ok_or_else(missing)?
                .text
                .as_bytes()
                .to_vec());
        }
        self.read_from_disk(path, is_linked)
            .map_err(|why| why.in_file(path))
    }

    fn read_from_disk(&self, path: &Path, is_linked: bool) -> Result<Vec<u8>, Diagnostic> {
        if is_linked {
            self.root.reach.check(path)?;
        }
        let bytes = read_confined(path, &self.root.reach)?;
        self.root.check_text(path, &bytes)?;
        Ok(bytes)
    }

    /// The text of a file.
    pub(crate) fn text(&self, path: &Path, is_linked: bool) -> Result<String, Diagnostic> {
        owned_text(self.read(path, is_linked)?).map_err(|error| error.in_file(path))
    }
}

/// How much memory a prompt takes, roughly.
fn weight(parsed: &Parsed) -> usize {
    let texts = parsed
        .iter()
        .flat_map(|prompt| &prompt.messages)
        .map(|message| message.body().len());
    1024 + texts.sum::<usize>()
}

/// What a file holds.
struct Contents {
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
    /// What it would be, instead of what the file holds.
    draft: Option<Box<Draft>>,
}

#[derive(Debug)]
struct Draft {
    text: Arc<str>,
    prefix: Option<Prefix>,
}

impl FileHandle {
    fn read(&self, trace: &mut Trace) -> Result<Contents, Diagnostic> {
        let path = &self.file.path;
        let (bytes, modified) = match &self.draft {
            Some(draft) => (draft.text.as_bytes().to_vec(), None),
            None => {
                let modified = self.files.look(path, trace);
                if self.file.is_linked && self.files.root.reach.is_confined() {
                    trace.distrust();
                }
                let read = self.files.read(path, self.file.is_linked);
                (read.inspect_err(|_| trace.distrust())?, modified)
            }
        };
        let prompt = self
            .parse(&bytes, trace)
            .map_err(|why| why.in_file(Arc::clone(path)));
        Ok(Contents {
            bytes,
            prompt,
            modified,
        })
    }

    fn parse(&self, bytes: &[u8], trace: &mut Trace) -> Result<Prompt, Diagnostic> {
        let root = &self.files.root;
        let rows = self.files.rows.as_ref();
        let mut includes = Includes {
            root,
            rows,
            own: &self.file.path,
            takes_builtin: self.files.about.layer != Layer::PACK,
            prefix: self.prefix(),
            trace,
        };
        // Other programs' files include nothing.
        let includes: Option<&mut dyn IncludeReader> = if root.is_read_only() {
            None
        } else {
            Some(&mut includes)
        };
        let prompt = self.file.kind.parse(&self.name, bytes, includes)?;
        if prompt.is_jinja() && self.files.is_of_others() {
            let message = "`engine: jinja` is not used in the prompts of a project or a pack";
            let fix = "copy the prompt into a folder of your own if you trust it";
            return Err(Diagnostic::new(Kind::Invalid, message, fix));
        }
        let folder = self
            .file
            .path
            .parent()
            .unwrap_or(&root.path)
            .to_string_lossy();
        Ok(prompt.with_base_directory(&folder))
    }

    fn prefix(&self) -> Option<&Prefix> {
        self.draft.as_ref()?.prefix.as_ref()
    }

    fn attachments<'p>(
        &'p self,
        prompt: &'p Prompt,
    ) -> impl Iterator<Item = Result<Attachment, Diagnostic>> {
        let root = Some(&self.files.root).filter(|_| self.files.rows.is_none());
        attachments(root, prompt, &self.file.path, self.prefix())
    }

    fn make_info(&self, trace: &mut Trace) -> Info {
        match self.read(trace) {
            Ok(Contents {
                bytes,
                prompt,
                modified,
            }) => Info::of(&bytes, modified, prompt.as_ref().map_err(Clone::clone)),
            Err(diagnostic) => Info::unreadable(diagnostic),
        }
    }

    /// The same. What is made from one row is kept in it, and not in the cache.
    fn info_to_keep(&self, row: Option<Row>, trace: &mut Trace) -> Info {
        let info = self.make_info(trace);
        if let (Some(row), [(rows, path, _)], Ok(summary)) = (row, &trace.rows[..], &info.summary) {
            rows.keep(path, &row.text, summary);
            trace.distrust();
        }
        info
    }

    fn make_prompt(&self, trace: &mut Trace) -> Parsed {
        self.read(trace)
            .and_then(|contents| contents.prompt)
            .map(Arc::new)
    }
}

impl Handle for FileHandle {
    fn place(&self) -> Place {
        let is_copy = self.files.about.layer == Layer::PACK;
        let is_editable = !is_copy
            && (!self.file.is_linked || self.files.root.reach.check(&self.file.path).is_ok());
        Place {
            shown: self.file.path.display().to_string(),
            file: Some(self.file.path.to_path_buf()),
            is_editable,
        }
    }

    fn info(&self) -> Info {
        match self.draft {
            Some(_) => self.make_info(&mut Trace::default()),
            None => {
                let row = self
                    .files
                    .rows
                    .as_ref()
                    .and_then(|rows| rows.get(&self.files.root.below(&self.file.path)));
                let kept = row.as_ref().and_then(Info::kept);
                kept.unwrap_or_else(|| {
                    self.files
                        .infos
                        .get(&*self.file.path, |trace| self.info_to_keep(row, trace))
                })
            }
        }
    }

    fn text(&self) -> Result<String, Diagnostic> {
        match &self.draft {
            Some(draft) => Ok(draft.text.to_string()),
            None => self.files.text(&self.file.path, self.file.is_linked),
        }
    }

    fn prompt(&self) -> Parsed {
        match self.draft {
            Some(_) => self.make_prompt(&mut Trace::default()),
            None => self
                .files
                .prompts
                .get(&*self.file.path, |trace| self.make_prompt(trace)),
        }
    }

    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        let messages = bound.prompt.fill_in(&bound.binding, join)?;
        if bound.prompt.attachments.is_empty() {
            return Ok(messages);
        }
        let attachments: Result<_, Diagnostic> = self.attachments(bound.prompt).collect();
        Ok(Messages {
            attachments: attachments.map_err(|why| why.in_file(Arc::clone(&self.file.path)))?,
            ..messages
        })
    }

    fn attached_files(&self, prompt: &Prompt) -> Vec<(PathBuf, Vec<u8>)> {
        attached_files(&self.files.root, prompt, &self.file.path)
    }

    fn check(&self) -> Vec<Diagnostic> {
        let prompt = match self.prompt() {
            Ok(prompt) => prompt,
            Err(broken) => return broken.apart(),
        };
        let attachments = self.attachments(&prompt).filter_map(Result::err);
        let warnings = prompt.warnings().into_iter().chain(attachments);
        warnings
            .map(|diagnostic| diagnostic.in_file(Arc::clone(&self.file.path)))
            .collect()
    }
}
