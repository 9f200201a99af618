//! All prompts of a user: layers of directories, perhaps a project's before them, and below them the built-in prompts.
//!
//! The first layer that has a name wins. What is on disk is what is served: an exact name costs one file, a listing reads
//! them all, and only a miss looks at every name; what is sure to be as it was the last time is looked at, and not read
//! again. [`Watch`] tells when there is something new to ask for.

mod builtin;
mod dir;
mod edit;
mod find;
mod index;
mod kept;
mod places;
mod project;
mod scan;
mod search;
mod snapshot;
mod stamp;
mod watch;

pub use dir::{MAX_DEPTH, MAX_NAME};
pub(crate) use edit::{CreateError, Standing, create, take_back};
pub use find::{Lookup, Unknown};
pub use index::{Entry, Index, Layer, Source};
pub use project::FOLDER as PROJECT_FOLDER;
pub use scan::{MAX_ENTRIES, MAX_LINKED_FOLDERS};
pub use search::Selection;
pub use snapshot::Changes;
pub use watch::{Hooks, POLL, Watch};

use crate::prompt::{Diagnostic, Position, Prompt, Summary};
use crate::wording::printable;
use builtin::Shipped;
use dir::Dir;
use places::Places;
use project::Project;
use scan::Found;
use std::fmt;
use std::hash::{DefaultHasher, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The layers: perhaps the project's directory, the user's in order, then perhaps the built-in prompts.
///
/// What it has read it keeps, for its own thread; a clone begins with nothing.
#[derive(Debug, Clone, Default)]
pub struct Library {
    project: Option<Box<Project>>,
    dirs: Vec<Dir>,
    builtin: bool,
}

/// A file, or a directory, that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Its path below the prompts directory, `/`-separated; for the directory itself, its own path.
    pub file: String,
    /// Its whole path.
    pub path: PathBuf,
    /// What is wrong with it, and the repair.
    pub diagnostic: Diagnostic,
}

impl Problem {
    /// `path:line:column`, or the path alone, as terminals and editors make a link of it. Control characters in the
    /// path are escaped.
    pub fn place(&self) -> String {
        let path = printable(&self.path.display().to_string());
        match self.diagnostic.position {
            Some(Position { line, column }) => format!("{path}:{line}:{column}"),
            None => path.to_string(),
        }
    }
}

impl fmt::Display for Problem {
    /// `path:line:column: what; repair`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), self.diagnostic)
    }
}

/// A prompt file as text, whether it is a prompt or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptFile {
    /// All of it, frontmatter included.
    pub text: String,
    /// When the file was last modified; `None` for a built-in prompt, and where the file system does not say.
    pub modified: Option<SystemTime>,
}

/// What lists show of a prompt file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The prompt's name.
    pub name: Arc<str>,
    /// What it says of itself.
    pub summary: Summary,
    /// How long the file is, in bytes.
    pub size: usize,
    /// When the file was last modified; `None` for a built-in prompt, and where the file system does not say.
    pub modified: Option<SystemTime>,
}

/// The names of every prompt, without a look into a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Names {
    /// Those of the project's and the user's directories, sorted.
    pub own: Vec<String>,
    /// The built-in ones that are not in `own`, sorted.
    pub builtin: Vec<String>,
    /// What kept names from being seen: directories that are missing, folders that cannot be read.
    pub unseen: Vec<Problem>,
}

/// What `check` says of all files of all directories.
#[derive(Debug, Default)]
pub struct Report {
    /// How many files were read, those that an earlier directory hides included.
    pub files: usize,
    /// Errors and warnings, sorted by layer, path and place.
    pub problems: Vec<Problem>,
}

impl Library {
    /// A library of directories that the user named, in this order: one that is not there is a problem. Nothing is
    /// read yet.
    pub fn named(directories: impl IntoIterator<Item = PathBuf>) -> Library {
        let dirs = directories.into_iter().map(|path| Dir::new(path, true));
        Library { dirs: dirs.collect(), ..Library::default() }
    }

    /// A library of the user's own directory, which need not be there. Nothing is read yet.
    pub fn own(directory: Option<PathBuf>) -> Library {
        let dirs = directory.into_iter().map(|path| Dir::new(path, false));
        Library { dirs: dirs.collect(), ..Library::default() }
    }

    /// The same with the built-in prompts as the last layer.
    pub fn with_builtin(self) -> Library {
        Library { builtin: true, ..self }
    }

    /// The same with the prompts of the project that a folder belongs to before all others: the nearest `.prompts`, from
    /// the folder up to the root of its repository, not above `home`, the user's. It need not be there; it is looked for at
    /// each request.
    pub fn with_project(self, from: &Path, home: Option<&Path>) -> Library {
        Library { project: Some(Box::new(Project::new(from, home))), ..self }
    }

    /// If there should be a project's prompts, and there are none: where they were looked for.
    pub fn absent_project(&self) -> Option<String> {
        self.project.as_ref()?.absence()
    }

    /// Whether it is the project that has this prompt.
    pub fn is_of_project(&self, name: &str) -> bool {
        let project = self.project.as_ref().and_then(|project| project.dir());
        project.is_some_and(|dir| dir.is_ok_and(|dir| dir.has(name)))
    }

    /// The directories as they are at this moment; and why the project's is none of them, although it is there.
    fn dirs(&self) -> (impl Iterator<Item = &Dir> + Clone, Option<Problem>) {
        let (project, refused) = match self.project.as_ref().and_then(|project| project.dir()) {
            None => (None, None),
            Some(Ok(dir)) => (Some(dir), None),
            Some(Err(problem)) => (None, Some(problem)),
        };
        (project.into_iter().chain(&self.dirs), refused)
    }

    /// The directories that were named and cannot be read now: a look at each, not into it.
    pub fn missing(&self) -> Vec<Problem> {
        let (dirs, refused) = self.dirs();
        refused.into_iter().chain(dirs.filter_map(Dir::missing)).collect()
    }

    /// The prompt with exactly this name, and nothing but this one file is looked at. A file that has the name and is
    /// no prompt is a problem; it hides what later layers have.
    pub fn get(&self, name: &str) -> Option<Result<Arc<Prompt>, Problem>> {
        let own = self.dirs().0.find_map(|dir| dir.get(name));
        own.or_else(|| builtin::get(name).filter(|_| self.builtin).map(Shipped::read))
    }

    /// Whether there is a file, or a built-in prompt, with exactly this name. It is not opened.
    pub fn has(&self, name: &str) -> bool {
        self.dirs().0.any(|dir| dir.has(name)) || (self.builtin && builtin::get(name).is_some())
    }

    /// Whether the file at this path is a link of the project that leads out of its prompts, and so is not followed.
    fn leads_out(&self, path: &Path) -> bool {
        self.dirs().0.any(|dir| path.starts_with(&dir.path) && dir.way_out(path).is_some())
    }

    /// Whether a file at this path would be one of the prompts.
    pub fn would_hold(&self, path: &Path) -> bool {
        self.dirs().0.any(|dir| dir.would_hold(path))
    }

    /// The prompt file with exactly this name, as text, and nothing but this one file is looked at.
    pub fn file(&self, name: &str) -> Option<Result<PromptFile, Problem>> {
        let own = self.dirs().0.find_map(|dir| dir.get_file(name));
        own.or_else(|| builtin::get(name).filter(|_| self.builtin).map(|shipped| Ok(shipped.file())))
    }

    /// Which prompts there are: directories are read, files are not.
    pub fn index(&self) -> Index<'_> {
        let (dirs, refused) = self.dirs();
        Index::of(dirs, refused, self.builtin)
    }

    /// Every place that has a prompt with exactly this name, the one that wins first. None of them is opened.
    pub fn sources(&self, name: &str) -> Vec<(Layer, Source)> {
        let files = self.dirs().0.filter_map(|dir| Some((dir.layer, Source::File(dir.locate(name)?))));
        let builtin = builtin::get(name).filter(|_| self.builtin).map(|_| (Layer::Builtin, Source::Builtin));
        files.chain(builtin).collect()
    }

    /// Where news of this library comes from, at this moment.
    fn places(&self) -> Places {
        Places::of(self.dirs().0, self.project.iter().flat_map(|project| project.ways()))
    }

    /// Every name: directories are read, files are not.
    pub fn names(&self) -> Names {
        let index = self.index();
        let (builtin, own): (Vec<_>, Vec<_>) =
            index.entries.into_iter().partition(|entry| entry.layer() == Layer::Builtin);
        let names = |entries: Vec<Entry<'_>>| entries.into_iter().map(|entry| entry.name().to_owned()).collect();
        Names { own: names(own), builtin: names(builtin), unseen: index.unseen }
    }

    /// A number that changes with the files: their names and stamps, none of them opened. `None`, where a change may be too
    /// young to show in the stamps.
    fn fingerprint(&self) -> Option<u64> {
        let mut hasher = DefaultHasher::new();
        let mut settled = true;
        for dir in self.dirs().0 {
            settled &= dir.hash_stamps(&mut hasher);
        }
        settled.then(|| hasher.finish())
    }

    /// Reads every file of every directory, and tells everything that is or looks wrong.
    pub fn check(&self) -> Report {
        let (dirs, refused) = self.dirs();
        let mut report = Report { problems: refused.into_iter().collect(), ..Report::default() };
        for dir in dirs {
            let scan = dir.scan();
            let mut problems = [&*scan.unseen, &*scan.problems, &*scan.warnings].concat();
            for Found { name, path, .. } in scan.files.values().map(|found| &**found) {
                report.files += 1;
                match dir.read(name, path) {
                    Ok((prompt, _)) => {
                        let warnings = prompt.warnings().into_iter();
                        problems.extend(warnings.map(|diagnostic| dir.problem(path, diagnostic)));
                    }
                    Err(problem) => problems.push(problem),
                }
            }
            problems.sort_by(|a, b| (&a.path, a.diagnostic.position).cmp(&(&b.path, b.diagnostic.position)));
            report.problems.extend(problems);
        }
        report
    }
}
