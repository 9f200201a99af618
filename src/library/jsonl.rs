//! The prompts of hexai, read where they are: a JSON object in each line of `default.jsonl` and `user.jsonl`, or of one file
//! that was named. Nothing is ever written to them.
//!
//! A line that is broken is a problem of that line; the others are served. Of two lines with one name the first is used, as in
//! hexai. A file is parsed again when its stamp has changed, or cannot be relied on.

use super::cache::{Stamp, lock};
use super::read::{self, Content};
use super::watch_paths::WatchPaths;
use super::{Entry, FileInfo, Layer, Listing, Location, Problem, Report, Source, SourceView};
use crate::prompt::{Diagnostic, Name, Position, Prompt, System, hexai_prompts};
use std::collections::BTreeMap;
use std::collections::btree_map;
use std::fs;
use std::hash::{DefaultHasher, Hash};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

/// The files of a folder of hexai, the one that takes precedence first.
const FILES: [&str; 2] = ["default.jsonl", "user.jsonl"];

/// A file of hexai, or a folder with its files.
#[derive(Debug)]
pub(super) struct Jsonl {
    path: PathBuf,
    /// Whether the user named it, so that it is a problem if it is missing.
    is_required: bool,
    /// What was read last from each file that has a reliable stamp.
    files: Mutex<BTreeMap<PathBuf, (Stamp, Arc<Lines>)>>,
}

/// The lines of a file.
#[derive(Debug, Default)]
struct Lines {
    prompts: Vec<Arc<Line>>,
    problems: Vec<Problem>,
}

/// A line with a prompt.
#[derive(Debug)]
struct Line {
    file: PathBuf,
    number: usize,
    /// With a line ending.
    text: String,
    prompt: Arc<Prompt>,
    info: FileInfo,
}

/// What the files held when they were looked at.
#[derive(Debug, Default)]
struct JsonlView {
    root: PathBuf,
    paths: Vec<PathBuf>,
    prompts: BTreeMap<Name, Arc<Line>>,
    problems: Vec<Problem>,
    missing: Option<Problem>,
    files: usize,
}

impl Source for Jsonl {
    fn view(self: Arc<Self>) -> Arc<dyn SourceView> {
        let mut view =
            JsonlView { root: self.path.clone(), paths: self.paths(), missing: self.missing(), ..JsonlView::default() };
        for path in &view.paths {
            // One of the two files of a folder may be missing.
            let Some(lines) = self.lines(path) else { continue };
            view.files += 1;
            view.problems.extend(lines.problems.iter().cloned());
            for line in &lines.prompts {
                match view.prompts.entry(line.prompt.name.clone()) {
                    btree_map::Entry::Vacant(vacant) => _ = vacant.insert(Arc::clone(line)),
                    btree_map::Entry::Occupied(first) => {
                        let Line { file, number, .. } = &**first.get();
                        let message = format!("{}:{number} has the same name, and comes first", file.display());
                        let position = Some(Position { line: line.number, column: 1 });
                        let diagnostic = Diagnostic::error(position, message, "rename one of the two");
                        view.problems.push(problem(path, diagnostic));
                    }
                }
            }
        }
        Arc::new(view)
    }
}

impl Jsonl {
    pub(super) fn new(path: PathBuf, is_required: bool) -> Jsonl {
        Jsonl { path, is_required, files: Mutex::default() }
    }

    /// The files that may have prompts.
    fn paths(&self) -> Vec<PathBuf> {
        if is_jsonl(&self.path) { vec![self.path.clone()] } else { FILES.map(|name| self.path.join(name)).into() }
    }

    fn missing(&self) -> Option<Problem> {
        let Some(error) = fs::metadata(&self.path).err() else {
            let is_empty = self.is_required && self.paths().iter().all(|path| fs::symlink_metadata(path).is_err());
            let message = format!("it has neither {} nor {}", FILES[0], FILES[1]);
            return is_empty
                .then(|| problem(&self.path, Diagnostic::error(None, message, "name the folder that has them")));
        };
        if error.kind() == ErrorKind::NotFound && !self.is_required {
            return None;
        }
        let (message, fix) = match error.kind() {
            ErrorKind::NotFound => ("it does not exist".to_owned(), "correct the path, or create it"),
            _ => (format!("it cannot be read: {error}"), "correct the path, or its permissions"),
        };
        Some(problem(&self.path, Diagnostic::error(None, message, fix)))
    }

    /// The lines of a file; `None` if there is no such file.
    fn lines(&self, path: &Path) -> Option<Arc<Lines>> {
        let stamp = Stamp::at(path)?;
        let cached = lock(&self.files).get(path).filter(|(then, _)| *then == stamp).map(|(_, lines)| Arc::clone(lines));
        if cached.is_some() {
            return cached;
        }
        Some(match read::read(path, |_| Ok(())) {
            Ok(Content { bytes, stamp, is_stamp_reliable }) => {
                let lines = Arc::new(Lines::of(path, &bytes, stamp.modified));
                if is_stamp_reliable {
                    lock(&self.files).insert(path.to_owned(), (stamp, Arc::clone(&lines)));
                }
                lines
            }
            Err(diagnostic) => Arc::new(Lines { problems: vec![problem(path, diagnostic)], ..Lines::default() }),
        })
    }
}

/// Whether a path is that of a file of hexai, by its suffix.
pub fn is_jsonl(path: &Path) -> bool {
    path.extension().is_some_and(|suffix| suffix.eq_ignore_ascii_case("jsonl"))
}

impl Lines {
    fn of(file: &Path, bytes: &[u8], modified: Option<SystemTime>) -> Lines {
        let mut lines = Lines::default();
        // `hexai_prompts` has a result for each line that is not empty.
        let without_mark = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let texts = without_mark.split(|byte| *byte == b'\n').enumerate();
        let texts = texts.filter(|(_, text)| !text.trim_ascii().is_empty());
        for ((at, text), prompt) in texts.zip(hexai_prompts(bytes)) {
            match prompt {
                Ok(prompt) => {
                    let text = format!("{}\n", String::from_utf8_lossy(text).trim_end());
                    let info = FileInfo::of(text.as_bytes(), modified, Ok(&prompt));
                    let prompt = Arc::new(prompt);
                    lines.prompts.push(Arc::new(Line { file: file.to_owned(), number: at + 1, text, prompt, info }));
                }
                Err(diagnostic) => lines.problems.push(problem(file, diagnostic)),
            }
        }
        lines
    }
}

fn problem(path: &Path, diagnostic: Diagnostic) -> Problem {
    let file = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    Problem { file, path: path.to_owned(), diagnostic }
}

impl SourceView for JsonlView {
    fn layer(&self) -> Layer {
        Layer::User
    }

    fn system(&self) -> System {
        System::Hexai
    }

    fn get(&self, name: &Name) -> Option<Result<Arc<Prompt>, Problem>> {
        self.prompts.get(name).map(|line| Ok(Arc::clone(&line.prompt)))
    }

    fn raw(&self, name: &Name) -> Option<Result<String, Problem>> {
        self.prompts.get(name).map(|line| Ok(line.text.clone()))
    }

    fn locate(&self, name: &Name) -> Option<Location> {
        self.prompts.get(name).map(|line| Location::File(line.file.clone()))
    }

    fn list(&self) -> Listing<'_> {
        Listing {
            entries: self.prompts.keys().map(|name| Entry { name, view: self }).collect(),
            skipped: self.missing.iter().cloned().collect(),
            problems: self.problems.clone(),
        }
    }

    fn info(&self, name: &Name) -> Option<FileInfo> {
        self.prompts.get(name).map(|line| line.info.clone())
    }

    fn missing(&self) -> Vec<Problem> {
        self.missing.iter().cloned().collect()
    }

    fn path(&self) -> Option<&Path> {
        Some(&self.root)
    }

    fn check(&self, _: Option<&Path>) -> Report {
        let mut problems: Vec<Problem> = self.missing.iter().chain(&self.problems).cloned().collect();
        for line in self.prompts.values() {
            let warnings = line.prompt.warnings().into_iter();
            problems.extend(warnings.map(|warning| problem(&line.file, warning)));
        }
        problems.sort_by(|a, b| (&a.path, a.diagnostic.position).cmp(&(&b.path, b.diagnostic.position)));
        Report { files: self.files, problems }
    }

    fn check_file(&self, path: &Path) -> Option<Vec<Problem>> {
        let is_here = self.paths.iter().any(|own| own == path);
        is_here.then(|| self.check(None).problems.into_iter().filter(|problem| problem.path == path).collect())
    }

    fn is_prompt_path(&self, path: &Path) -> bool {
        let real = |path: &Path| fs::canonicalize(path).ok();
        self.paths.iter().any(|own| own == path || (real(own).is_some() && real(own) == real(path)))
    }

    fn hash_stamps(&self, hasher: &mut DefaultHasher) -> bool {
        let stamps: Vec<Option<Stamp>> = self.paths.iter().map(|path| Stamp::at(path)).collect();
        stamps.hash(hasher);
        stamps.iter().flatten().all(Stamp::is_settled)
    }

    fn add_watch_paths(&self, paths: &mut WatchPaths) {
        self.paths.iter().for_each(|path| paths.add_path(path));
    }
}
