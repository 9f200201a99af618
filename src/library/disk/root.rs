//! A folder of prompt files and its rules: from a name to a path, from a path to a name, and which
//! symlinks are followed.
//!
//! A name becomes a path in one function ([`Root::resolve`]), segment by segment. Symlinks are
//! followed, except for cycles and for those that lead out of a confined folder. A folder with a
//! `SKILL.md`, for example, is itself a prompt, and nothing else in it is one; which files do that,
//! and which suffixes a prompt file has, the format says.

use super::cache::Trace;
use super::reach::{Reach, below};
use crate::prompt::{Diagnostic, FileName, Format, Kind, Name, is_partial};
use crate::wording::{alternatives, named_path};
use std::fmt::Debug;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many files and folders one scan looks at: 100,000 prompts, however they are divided among
/// folders.
pub const MAX_ENTRIES: usize = 200_000;

/// Decides which texts in the files of a folder are served.
pub(crate) trait TextGuard: Debug + Send + Sync {
    /// Refuses a file that has another text than one that may be served.
    fn check(&self, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic>;
}

/// A folder of prompt files.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    pub(crate) path: PathBuf,
    /// How its files are written.
    pub(crate) format: &'static Format,
    /// How far symlinks in it may lead.
    pub(crate) reach: Reach,
    /// What the names of its prompts begin with, besides their path: empty, or such as `plugin/`.
    pub(crate) prefix: String,
    /// What decides which texts are served, if not all of them are.
    pub(crate) guard: Option<Arc<dyn TextGuard>>,
}

/// Two roots are equal if they find the same names at the same paths.
impl PartialEq for Root {
    fn eq(&self, other: &Root) -> bool {
        self.path == other.path
            && self.format == other.format
            && self.reach == other.reach
            && self.prefix == other.prefix
    }
}

impl Eq for Root {}

/// A file that should be a prompt.
#[derive(Debug, Clone)]
pub(crate) struct PromptFile {
    pub(crate) path: Arc<Path>,
    pub(crate) kind: FileName,
    /// Whether it, or a folder between the prompts folder and it, is a symlink.
    pub(crate) is_linked: bool,
}

/// The folder of a name.
struct Parent {
    path: PathBuf,
    /// Whether the path has a symlink.
    is_linked: bool,
    way: Way,
}

/// The folders from a prompts folder down to one in it, each without symlinks in its path below the
/// prompts folder. So a symlink behind many others is resolved in one step.
pub(crate) struct Way(Vec<PathBuf>);

impl Way {
    pub(crate) fn from(root: &Path) -> Way {
        Way(vec![root.to_owned()])
    }

    /// Goes back to the folder that is `depth` folders below the first.
    pub(crate) fn back_to(&mut self, depth: usize) {
        self.0.truncate(depth + 1);
    }

    /// Goes on to a folder in the last one.
    pub(crate) fn enter(&mut self, folder: &Path, is_link: bool) {
        let mut entry = self.entry(folder);
        if is_link {
            entry = fs::canonicalize(&entry).unwrap_or(entry);
        }
        self.0.push(entry);
    }

    /// Returns the path of a file or folder in the last folder.
    pub(crate) fn entry(&self, path: &Path) -> PathBuf {
        let folder = self.0.last().map_or(Path::new(""), PathBuf::as_path);
        folder.join(path.file_name().unwrap_or_default())
    }

    /// Returns the folder that a symlink is in and points back to, if there is one.
    pub(crate) fn cycle<'p>(&self, link: &'p Path) -> Option<&'p Path> {
        let target = fs::canonicalize(self.entry(link)).ok()?;
        let root = fs::canonicalize(&self.0[0]).ok()?;
        let index = self.0.iter().position(|folder| {
            let below = folder.strip_prefix(&self.0[0]);
            below.map_or(*folder == target, |below| root.join(below) == target)
        })?;
        link.ancestors().nth(self.0.len() - index)
    }
}

impl Root {
    /// Returns a folder whose prompts have no prefix, and whose texts are all served.
    pub(crate) fn new(path: PathBuf, format: &'static Format, reach: Reach) -> Root {
        Root {
            path,
            format,
            reach,
            prefix: String::new(),
            guard: None,
        }
    }

    /// The folder that a file is, or would be, a prompt of: one that its path names, such as
    /// `.claude/commands`; else the one that it is in, or for a file such as `NAME/SKILL.md` the
    /// one above.
    pub(crate) fn around(file: &Path) -> Root {
        let own = Format::OWN;
        let mut named = file
            .ancestors()
            .skip(1)
            .map(|folder| (folder, Format::of_folder(folder)));
        let (folder, format) = named.find(|(_, format)| *format != own).unwrap_or_else(|| {
            let parent = file.parent().unwrap_or(file);
            let is_in_folder = |below: &Path| {
                own.prompt_file(&below.to_string_lossy().replace('\\', "/"))
                    .is_some_and(|(_, kind)| kind.is_in_folder())
            };
            let above = parent
                .parent()
                .filter(|above| file.strip_prefix(above).is_ok_and(is_in_folder));
            (above.unwrap_or(parent), own)
        });
        // In a plugin, the folder of its commands, for example.
        let part = file
            .ancestors()
            .skip(1)
            .take_while(|inner| *inner != folder)
            .find_map(|inner| {
                let (_, of) = format
                    .plugin
                    .iter()
                    .find(|(part, _)| inner.ends_with(part))?;
                Some((inner, Format::named(of)?))
            });
        let (folder, format) = part.unwrap_or((folder, format));
        Root::new(folder.to_owned(), format, Reach::of_named(file))
    }

    /// Whether nothing is ever written to it: its files are another program's.
    pub(crate) fn is_read_only(&self) -> bool {
        self.format != Format::OWN
    }

    /// Why it cannot be read at all at this moment. A folder that the user did not name may be
    /// missing.
    pub(crate) fn missing(&self, is_required: bool) -> Option<Diagnostic> {
        if let Err(refusal) = self.reach.check(&self.path) {
            return Some(refusal.in_file(&*self.path));
        }
        let error = fs::read_dir(&self.path).err()?;
        let (message, fix) = match error.kind() {
            ErrorKind::NotFound if !is_required => return None,
            ErrorKind::NotFound => (
                "the prompts folder does not exist".to_owned(),
                "create it; it is served as soon as it exists",
            ),
            _ => (
                format!("the prompts folder cannot be read: {error}"),
                "correct the path, or its permissions",
            ),
        };
        Some(Diagnostic::new(Kind::Missing, message, fix).in_file(&*self.path))
    }

    /// The file with exactly this name: the only function that turns a name into a path.
    pub(crate) fn resolve(&self, name: &Name, trace: &mut Trace) -> Option<PromptFile> {
        if self.is_read_only() {
            trace.look(&self.path)?; // most folders of other programs are missing
        }
        let name = &Name::new(name.strip_prefix(&*self.prefix)?).ok()?;
        let (parent, stem) = self.folder_of(name, trace)?;
        let own = parent.path.join(stem);
        let mut own_link = None;
        for (end, kind) in self.ends(name) {
            let mut is_linked = parent.is_linked;
            if kind.is_in_folder() {
                match *own_link.get_or_insert_with(|| {
                    trace.look(&own);
                    self.followed_link(&own, &parent.way, trace)
                }) {
                    Some(is_link) => is_linked |= is_link,
                    None => continue,
                }
            }
            let path = parent.path.join(format!("{stem}{end}"));
            if let Some(is_link) = self.link_of_file(&path, trace) {
                return Some(PromptFile {
                    path: path.into(),
                    kind,
                    is_linked: is_linked || is_link,
                });
            }
        }
        None
    }

    /// The ends of the paths that a file with this name may have, in the order in which they win.
    pub(crate) fn ends<'n>(
        &self,
        name: &'n Name,
    ) -> impl Iterator<Item = (String, FileName)> + use<'n> {
        let format = self.format;
        let all = format
            .file_names()
            .flat_map(|kind| kind.spellings().map(move |end| (end, kind)));
        // Not that of `x.prompt`, for example: `x.prompt.md` is `x`.
        all.filter(move |(end, _)| {
            let path = format!("{name}{end}");
            format
                .prompt_file(&path)
                .is_some_and(|(read, _)| read == name.as_str())
        })
    }

    /// The files that make a folder itself a prompt, such as its `SKILL.md`, in the order in which
    /// they win; whether each is a symlink.
    pub(crate) fn files_of_prompt(&self, folder: &Path, trace: &mut Trace) -> Vec<(PathBuf, bool)> {
        let names = self
            .format
            .file_names()
            .filter(|kind| kind.is_in_folder())
            .map(|kind| &kind.end[1..]);
        let paths = names.map(|name| folder.join(name));
        paths
            .filter_map(|path| {
                self.link_of_file(&path, trace)
                    .map(|is_link| (path, is_link))
            })
            .collect()
    }

    /// Where the file of a new prompt with this name belongs.
    ///
    /// # Errors
    /// It would not be read there.
    pub(crate) fn path_for_new(&self, name: &Name) -> Result<PathBuf, Diagnostic> {
        let mut trace = Trace::default();
        if let Some((parent, stem)) = self.folder_of(name, &mut trace) {
            return Ok(parent.path.join(format!("{stem}.md")));
        }
        let path = self.path.join(name.as_str());
        let mut above = path
            .ancestors()
            .skip(1)
            .take_while(|above| **above != *self.path);
        let is_in_prompt = above.any(|above| !self.files_of_prompt(above, &mut trace).is_empty());
        let why = match is_in_prompt {
            true => "would be in a folder that is itself a prompt, and not be read",
            false => {
                "has a symlink in its path that points outside the project, or back to a folder that it is in"
            }
        };
        let message = format!("{} {why}", named_path(&path));
        Err(Diagnostic::new(
            Kind::NotWritable,
            message,
            "choose another name or folder",
        ))
    }

    /// The folder of a name, and the last segment of the name. `None` if nothing in that folder is
    /// read. A change in one of the folders that are looked at can make the name that of another
    /// file.
    fn folder_of<'n>(&self, name: &'n Name, trace: &mut Trace) -> Option<(Parent, &'n str)> {
        let (folders, stem) = name
            .rsplit_once('/')
            .map_or((None, name.as_str()), |(folders, stem)| {
                (Some(folders), stem)
            });
        if folders.is_some() && !self.format.is_recursive {
            return None;
        }
        let mut parent = Parent {
            path: self.path.clone(),
            is_linked: false,
            way: Way::from(&self.path),
        };
        for step in folders.into_iter().flat_map(|folders| folders.split('/')) {
            parent.path.push(step);
            trace.look(&parent.path);
            let is_link = self.followed_link(&parent.path, &parent.way, trace)?;
            if !self.files_of_prompt(&parent.path, trace).is_empty() {
                return None;
            }
            parent.is_linked |= is_link;
            parent.way.enter(&parent.path, is_link);
        }
        if folders.is_none() {
            trace.look(&parent.path);
        }
        Some((parent, stem))
    }

    /// Returns whether a folder is a symlink; `None` if it is one that is not followed. `way`: to
    /// the folder that it is in.
    fn followed_link(&self, folder: &Path, way: &Way, trace: &mut Trace) -> Option<bool> {
        let is_link = fs::symlink_metadata(folder).is_ok_and(|metadata| metadata.is_symlink());
        if is_link && self.reach.is_confined() {
            trace.distrust();
        }
        let entry = way.entry(folder);
        let is_refused =
            is_link && (way.cycle(folder).is_some() || self.reach.check(&entry).is_err());
        (!is_refused).then_some(is_link)
    }

    /// Whether a file is a symlink; `None` if there is none at the path, but nothing or a folder:
    /// one named `x.md` may hold prompts, but is not a prompt itself.
    fn link_of_file(&self, path: &Path, trace: &mut Trace) -> Option<bool> {
        let metadata = fs::symlink_metadata(path).ok()?;
        if metadata.is_symlink() {
            self.see_through(path, trace);
        }
        let is_folder = metadata.is_dir() || (metadata.is_symlink() && path.is_dir());
        (!is_folder).then_some(metadata.is_symlink())
    }

    /// Records what a symlink points to. Whether that is outside of a project may change without a
    /// trace in any stamp.
    pub(crate) fn see_through(&self, link: &Path, trace: &mut Trace) {
        trace.look(link);
        if self.reach.is_confined() {
            trace.distrust();
        }
    }

    /// Refuses a file that was read, if its text may not be served.
    pub(crate) fn check_text(&self, path: &Path, bytes: &[u8]) -> Result<(), Diagnostic> {
        match &self.guard {
            Some(guard) => guard.check(path, bytes),
            None => Ok(()),
        }
    }

    /// A path below the folder, `/`-separated.
    pub(crate) fn below(&self, path: &Path) -> String {
        below(&self.path, path)
    }

    /// Returns the folder of the names for which a file or folder matters, with a slash after it:
    /// its own path. A partial matters where its first `_` is: the prompts there and below include
    /// it. Empty: all names.
    pub(crate) fn names_around(&self, path: &Path) -> String {
        let mut folder = self.prefix.clone();
        for step in self.below(path).split('/') {
            if step.is_empty() || (!self.is_read_only() && is_partial(step)) {
                break;
            }
            folder.push_str(step);
            folder.push('/');
        }
        folder
    }

    /// Whether prompts of the folder may include a file, as far as its name says.
    pub(crate) fn is_includable(&self, path: &Path) -> bool {
        !self.is_read_only()
            && path
                .extension()
                .is_some_and(|suffix| suffix.eq_ignore_ascii_case("md"))
    }

    /// Whether a file below the folder is only there to be included.
    pub(crate) fn is_partial(&self, path: &Path) -> bool {
        self.is_includable(path) && is_partial(&self.below(path))
    }

    /// The name of the prompt in a file below the folder, and how the file is read; `None` if it is
    /// not a prompt file.
    ///
    /// # Errors
    /// The name could not be typed as a command.
    pub(crate) fn name_of(&self, path: &Path) -> Option<Result<(Name, FileName), Diagnostic>> {
        let below = self.below(path);
        let is_utf8 = path
            .strip_prefix(&self.path)
            .unwrap_or(path)
            .to_str()
            .is_some();
        let (name, kind) = self.format.prompt_file(&below)?;
        let name = if is_utf8 {
            format!("{}{name}", self.prefix)
        } else {
            String::new()
        };
        Some(Name::new(&name).map(|name| (name, kind)).map_err(|why| {
            let why = if is_utf8 {
                why
            } else {
                "it is not UTF-8".to_owned()
            };
            Diagnostic::new(
                Kind::BadName,
                format!("the prompt has no name that can be typed: {why}"),
                "rename the file",
            )
            .in_file(path)
        }))
    }

    /// The prompt file that was named, which need not be found from its name.
    ///
    /// # Errors
    /// There is none, or it is not a prompt.
    pub(crate) fn file_at(&self, path: &Path) -> Result<(Name, PromptFile), Diagnostic> {
        let refused =
            |kind, message: String, fix| Err(Diagnostic::new(kind, message, fix).in_file(path));
        if fs::symlink_metadata(path).is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            return refused(
                Kind::Missing,
                "there is no such file".to_owned(),
                "correct the path",
            );
        }
        if self.is_partial(path) {
            let message = "a file whose name, or that of its folder, begins with `_` is not a prompt, but can be included in one";
            return refused(
                Kind::NotACommand,
                message.to_owned(),
                "rename it, or expand a prompt that includes it",
            );
        }
        if let Some(named) = self.name_of(path) {
            let (name, kind) = named?;
            return Ok((
                name,
                PromptFile {
                    path: path.into(),
                    kind,
                    is_linked: true,
                },
            ));
        }
        if let Some((end, purpose)) = Format::other_purpose(&path.to_string_lossy()) {
            let message = format!("a file that ends in `{end}` is not a prompt, but {purpose}");
            return refused(
                Kind::Invalid,
                message,
                "to use it as a prompt, copy it to a file that ends in `.md` alone",
            );
        }
        let ends: Vec<&str> = self.format.file_names().map(|kind| kind.end).collect();
        let message = format!(
            "only files that end in {} are read as prompts",
            alternatives(&ends)
        );
        match self.is_read_only() {
            true => {
                let message = format!("{message} in a folder of {}", self.format.title);
                refused(
                    Kind::Invalid,
                    message,
                    "to use it as a prompt, copy it to a `.md` file in your own folder",
                )
            }
            false => refused(Kind::Invalid, message, "rename it so that it ends in `.md`"),
        }
    }
}

pub(crate) fn is_hidden(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}

/// Returns whether the path of a file alone makes it a prompt.
pub fn is_prompt_file(path: &Path) -> bool {
    Root::around(path).name_of(path).is_some()
}
