//! All prompts of a user: sources in their order, and the library as one caller sees it.

use super::caller::{Caller, Prefix};
use super::project_prompts::{ChangedTexts, ProjectPrompts};
use super::seen::seen_with;
use super::source::{About, Found, Layer, Listing, Source, Store, TestFile};
use crate::library::disk::open::{read, read_confined};
use crate::library::disk::prompt_file::Files;
use crate::library::disk::reach::{Reach, relative_path};
use crate::library::disk::stamp::is_on_network;
use crate::library::disk::watch::{Changes, Watch};
use crate::library::disk::watched::{Change, Watched};
use crate::lock::lock;
use crate::prompt::{Diagnostic, Kind, MAX_FILE, Name, Prompt};
use crate::wording::in_backticks;
use std::cmp::Reverse;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// The sources of prompts in their order: the first that has a name wins. All threads share it.
#[derive(Debug, Clone)]
pub struct Library {
    /// The sources, those of the first layer first.
    sources: Arc<Vec<Arc<dyn Source>>>,
    /// The prompts of the project, if they were asked for. They are one of the sources, too.
    project: Option<Arc<dyn ProjectPrompts>>,
    /// Who is told when something changes.
    pub(crate) changes: Arc<Changes>,
    /// When the database of the library last answered, if it has one.
    pub(crate) answered: Option<Arc<Mutex<Option<SystemTime>>>>,
    /// Whether messages may have stacks and mentions.
    takes_mentions: bool,
    /// How many versions of a prompt a write leaves in its history besides the current one.
    pub(crate) versions: NonZeroUsize,
}

impl Default for Library {
    fn default() -> Library {
        Library {
            sources: Arc::default(),
            project: None,
            changes: Arc::default(),
            answered: None,
            takes_mentions: true,
            versions: NonZeroUsize::MAX,
        }
    }
}

impl Library {
    /// Adds a source, behind those of the same layer.
    #[must_use]
    pub fn with(self, source: impl Source + 'static) -> Library {
        self.with_shared(Arc::new(source))
    }

    /// Adds a source, and keeps the sources sorted by their layers.
    fn with_shared(mut self, source: Arc<dyn Source>) -> Library {
        let sources = Arc::make_mut(&mut self.sources);
        sources.push(source);
        sources.sort_by_key(|source| source.about().layer); // stable
        self
    }

    /// Returns the prompts of the project, if they were asked for.
    pub(crate) fn project(&self) -> Option<&Arc<dyn ProjectPrompts>> {
        self.project.as_ref()
    }

    /// Keeps this many versions of each prompt besides the current one, when it is written. By
    /// default, all are kept.
    #[must_use]
    pub fn with_history(self, versions: NonZeroUsize) -> Library {
        Library { versions, ..self }
    }

    /// Sets whether messages may have stacks and mentions. Otherwise, only commands are expanded.
    #[must_use]
    pub fn with_mentions(self, takes_mentions: bool) -> Library {
        Library {
            takes_mentions,
            ..self
        }
    }

    /// Adds the prompts of the project that the user works on, behind other sources of its layer.
    #[must_use]
    pub(crate) fn with_project_prompts(
        mut self,
        project: Arc<impl Source + ProjectPrompts + 'static>,
    ) -> Library {
        self.project = Some(Arc::clone(&project) as Arc<dyn ProjectPrompts>);
        self.with_shared(project)
    }

    /// Returns the library as a user of this machine who does not edit prompts sees it.
    pub fn view(&self) -> View {
        self.view_for(&Caller::local())
    }

    /// Returns the library as a caller who does not edit prompts sees it. Prompts that the caller
    /// may not see are not in the view.
    pub fn view_for(&self, caller: &Caller) -> View {
        View {
            sources: Arc::clone(&self.sources),
            project: self.project.clone(),
            takes_mentions: self.takes_mentions,
            prefix: caller.prefix.clone(),
            sees_team: caller.sees_team,
            may_edit: false,
        }
    }

    /// Returns a line for a person who asked for the prompts of the project, if there are none:
    /// where they were searched.
    pub fn absent_project(&self) -> Option<String> {
        self.project.as_ref()?.absence()
    }

    /// Returns where the prompts of a layer are written: the project's folder, the user's first
    /// folder in the format of this program, or the team's server. `None` if there is no such
    /// place, for example without a home directory.
    pub fn store(&self, layer: Layer) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        self.sources
            .iter()
            .filter(|source| source.about().layer.name == layer.name)
            .find_map(|source| source.store())
    }

    /// Returns how long ago the database of the library last answered, if it has one. `Some(None)`
    /// means that it has never answered, so that it has not been read yet.
    pub fn store_age(&self) -> Option<Option<Duration>> {
        let answered = lock(self.answered.as_ref()?);
        Some(answered.map(|time| time.elapsed().unwrap_or_default()))
    }

    /// Returns whether somebody waits for changes.
    pub fn is_watched(&self) -> bool {
        self.changes.are_watched()
    }

    /// Tells the watchers that something has changed. Whoever changes a source calls this.
    pub fn changed(&self, change: &Change) {
        self.changes.tell(change);
    }

    /// Watches the files of all sources until the returned watch is dropped.
    ///
    /// If files have to be polled, so that changes are noticed late, `warn` is called with the
    /// reason.
    pub fn watch(&self, warn: fn(&str)) -> Watch {
        let sources = Arc::clone(&self.sources);
        let add_paths = Box::new(move |watched: &mut Watched| {
            for source in sources.iter() {
                source.watch(watched);
            }
        });
        Watch::start(add_paths, &self.changes, warn)
    }

    /// Returns whether a folder of the library is on a network file system, where any access may
    /// take long.
    pub fn is_on_network(&self) -> bool {
        self.sources.iter().any(|source| {
            let path = source.about().path.as_deref();
            path.is_some_and(is_path_on_network)
        })
    }
}

/// Returns whether a path, or the nearest folder above it that exists, is on a network file system.
fn is_path_on_network(path: &Path) -> bool {
    let existing = path.ancestors().find(|path| path.exists());
    existing.is_some_and(is_on_network)
}

/// A library as one caller sees it.
#[derive(Debug, Clone)]
pub struct View {
    /// The sources of the library, including those that do not exist for the caller.
    sources: Arc<Vec<Arc<dyn Source>>>,
    /// The prompts of the project, if they were asked for.
    project: Option<Arc<dyn ProjectPrompts>>,
    /// Whether messages may have stacks and mentions.
    takes_mentions: bool,
    /// The prefix of the caller, for whom only prompts exist whose names begin with it.
    prefix: Option<Prefix>,
    /// Whether the prompts of the team exist.
    sees_team: bool,
    /// Whether the prompts that are only for those who may edit prompts exist.
    may_edit: bool,
}

/// What `check` finds in the files of all folders.
#[derive(Debug, Default)]
pub struct Report {
    /// How many files were read, including those that a file of the same name overrides.
    pub files: usize,
    /// Errors, warnings and hints, sorted by source, path and position.
    pub problems: Vec<Diagnostic>,
}

impl View {
    /// Returns this view for a caller who may, or may not, edit prompts.
    #[must_use]
    pub fn for_editing(self, may_edit: bool) -> View {
        View { may_edit, ..self }
    }

    /// Returns whether messages may have stacks and mentions.
    pub fn takes_mentions(&self) -> bool {
        self.takes_mentions
    }

    /// Returns the prefix of the caller, with which the names of all their prompts begin.
    pub fn prefix(&self) -> Option<&Prefix> {
        self.prefix.as_ref()
    }

    /// Returns a line for a person who misses prompts of the project that are not served. A caller
    /// with a prefix gets none.
    pub fn untrusted_hint(&self) -> Option<String> {
        if self.prefix.is_some() {
            return None;
        }
        self.project.as_ref()?.untrusted_hint()
    }

    /// Returns a line for the user of a hook, if a prompt of this name is not served because its
    /// text in a linked worktree was not shown.
    pub fn withheld_hint(&self, name: &str) -> Option<String> {
        let name = Name::new(name).ok()?;
        self.project.as_ref()?.withheld_hint(&name)
    }

    /// Returns the texts of the trusted repository that differ from those that were shown, if any
    /// do.
    pub(crate) fn changed_in_project(&self) -> Option<ChangedTexts> {
        let project = self.project.as_ref()?;
        project.changed_texts(&|| self.list_project())
    }

    /// Returns the prompts of the project that exist for the caller.
    fn list_project(&self) -> Vec<Found> {
        let mut prompts = self.list().found;
        prompts.retain(|found| found.layer.is_project());
        prompts
    }

    /// Returns a line that counts what has changed in the trusted repository since its texts were
    /// shown.
    pub fn changed_hint(&self) -> Option<String> {
        Some(self.changed_in_project()?.hint())
    }

    /// Returns the sources that exist for the caller.
    fn sources(&self) -> impl Iterator<Item = &Arc<dyn Source>> {
        let sources = self.sources.iter();
        sources.filter(|source| self.has_source(source.about()))
    }

    /// Returns whether a source exists for the caller.
    fn has_source(&self, about: &About) -> bool {
        let is_hidden_editor_source = about.for_editors && !self.may_edit;
        let is_hidden_team = about.layer == Layer::TEAM && !self.sees_team;
        !is_hidden_editor_source && !is_hidden_team
    }

    /// Returns whether a prompt of this name may exist for the caller.
    fn contains(&self, name: &str) -> bool {
        match &self.prefix {
            Some(prefix) => prefix.contains(name),
            None => true,
        }
    }

    /// Returns the prompt with exactly this name. A broken file overrides the prompts of later
    /// sources, too.
    pub fn get(&self, name: &Name) -> Option<Found> {
        if !self.contains(name) {
            return None;
        }
        let found = self.sources().find_map(|source| source.find(name))?;
        Some(self.seen(found))
    }

    /// Returns a prompt as the caller sees it: with a prefix, an error in a file outside of the
    /// prefix does not say what is wrong there.
    fn seen(&self, found: Found) -> Found {
        match &self.prefix {
            Some(prefix) => seen_with(prefix, found),
            None => found,
        }
    }

    /// Returns every prompt with exactly this name, the one that wins first.
    pub fn all(&self, name: &Name) -> Vec<Found> {
        if !self.contains(name) {
            return Vec::new();
        }
        let prompts = self.sources().filter_map(|source| source.find(name));
        prompts.map(|found| self.seen(found)).collect()
    }

    /// Returns the prompt of this name that exists only for callers who may edit prompts; `None` if
    /// this caller may edit them.
    pub(crate) fn only_for_editors(&self, name: &Name) -> Option<Found> {
        if self.may_edit || !self.contains(name) {
            return None;
        }
        let mut hidden = self
            .sources
            .iter()
            .filter(|source| source.about().for_editors);
        hidden.find_map(|source| source.find(name))
    }

    /// Returns a prompt that has this name and text, but is not saved. It is checked and expanded
    /// like a prompt in the user's folder; `None` if that folder does not exist or cannot be
    /// written.
    pub fn draft(&self, name: &Name, text: &str) -> Option<Found> {
        let store = self
            .sources()
            .filter(|source| source.about().layer == Layer::USER)
            .find_map(|source| source.store())?
            .ok()?;
        let caller = Caller {
            prefix: self.prefix.clone(),
            ..Caller::local()
        };
        Some(store.draft(name, text, &caller))
    }

    /// Returns the test file of a prompt, if it has one.
    pub fn test_file(&self, found: &Found) -> Option<TestFile> {
        let place = found.location();
        let mut tests = self.list().tests.into_iter();
        tests.find(|file| matches!(&file.found, Ok(tested) if tested.location() == place))
    }

    /// Returns all prompts, and what is wrong with the folders. Folders are read, files are not.
    pub fn list(&self) -> Listing {
        let mut all = Listing::default().with(self.sources().map(|source| source.list()));
        if self.prefix.is_none() {
            return all;
        }
        all.found.retain(|found| self.contains(&found.name));
        for found in &mut all.found {
            *found = self.seen(found.clone());
        }
        all.problems.retain(|problem| self.is_visible(problem));
        all
    }

    /// Returns whether the caller may see a problem. A caller with the prefix `team-a/` sees only
    /// the problems of the folder `team-a` and of the files in it.
    pub(crate) fn is_visible(&self, problem: &Diagnostic) -> bool {
        let Some(prefix) = &self.prefix else {
            return true;
        };
        let Some(file) = &problem.file else {
            return false;
        };
        let below = self.relative_path(file);
        prefix.contains(&below) || prefix.folder() == below
    }

    /// Returns the path of a file below its folder of prompts, with `/` between its parts, such as
    /// `git/commit.md`. For a file in no folder of prompts, returns the whole path.
    pub fn relative_path(&self, path: &Path) -> String {
        for root in self.paths() {
            if path != root && path.starts_with(&root) {
                return relative_path(&root, path);
            }
        }
        path.display().to_string()
    }

    /// Returns an error for each file and folder that cannot be read. One of them may have a prompt
    /// that was not found.
    pub fn unreadable(&self) -> Vec<Diagnostic> {
        self.list().unreadable().cloned().collect()
    }

    /// Returns an error for each source, or part of a source, that cannot be read at this moment.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for source in self.sources() {
            problems.extend(source.problems());
        }
        problems.retain(|problem| self.is_visible(problem));
        problems
    }

    /// Calls each service that renders prompts, and returns a hint or an error about its answer.
    pub fn probe(&self) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        for source in self.sources() {
            findings.extend(source.probe());
        }
        findings.retain(|finding| self.is_visible(finding));
        findings
    }

    /// Returns whether services render some of the prompts, so that an expansion may take long.
    pub fn calls_services(&self) -> bool {
        self.sources().any(|source| source.about().calls_services)
    }

    /// Returns whether some of the prompts may wait for a service or the team's server.
    pub fn waits_for_servers(&self) -> bool {
        let mut sources = self.sources();
        sources.any(|source| source.about().layer.waits_for_server())
    }

    /// Returns the folders and documents that the prompts are in. Some may be missing.
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        if let Some(project) = &self.project {
            paths.extend(project.folder());
        }
        for source in self.sources() {
            paths.extend(source.about().path.clone());
        }
        paths
    }

    /// Returns the prompt in a file. `path` is absolute.
    ///
    /// The file need not be in a folder of the library. Elsewhere, its path tells the format, as in
    /// `.claude/commands/x.md`.
    ///
    /// # Errors
    /// The suffix or the name is not that of a prompt file.
    pub fn find_by_path(&self, path: &Path) -> Result<Found, Diagnostic> {
        let mut sources: Vec<_> = self.sources().collect();
        // Of folders within each other, the innermost one decides, and it has the longest path.
        sources.sort_by_key(|source| Reverse(path_length(source.about())));
        if let Some(result) = sources.iter().find_map(|source| source.find_by_path(path)) {
            return result;
        }
        Files::guess_for(path).handle_at(path)
    }

    /// Returns all errors, warnings and hints about one file. The file may also be a partial, which
    /// is only there to be included.
    pub fn check_file(&self, path: &Path) -> Vec<Diagnostic> {
        match self.find_by_path(path) {
            Ok(found) => found.check(),
            Err(error) if error.kind == Kind::NotACommand => {
                self.check_partial(path).into_iter().collect()
            }
            Err(error) => vec![error],
        }
    }

    /// Returns the error because of which a partial cannot be read or parsed, if there is one.
    ///
    /// The placeholders are not checked, because only the prompts that include the partial declare
    /// the arguments.
    fn check_partial(&self, path: &Path) -> Option<Diagnostic> {
        // A partial has no name, and the parser needs one.
        let name = Name::new("partial").ok()?;
        let result = read_confined(path, &self.reach_of_partial(path))
            .and_then(|bytes| Prompt::parse(name, &bytes));
        match result {
            Ok(_) => None,
            Err(error) => Some(error.in_file(path)),
        }
    }

    /// Returns which files a partial may include: any file, if the partial is in a folder of the
    /// library. A partial elsewhere may be somebody else's, so it may include only files of its own
    /// project.
    fn reach_of_partial(&self, path: &Path) -> Reach {
        let mut folders = self
            .sources()
            .filter_map(|source| source.about().path.as_ref());
        if folders.any(|folder| path.starts_with(folder)) {
            Reach::Unrestricted
        } else {
            Reach::for_typed_path(path)
        }
    }

    /// Reads all files of all folders, and reports their errors, warnings and hints. With a
    /// `scope`, which is a folder or a file, only the files in it are read.
    pub fn check(&self, scope: Option<&Path>) -> Report {
        self.check_also(scope, &mut |_, _| None)
    }

    /// Checks files as [`check`](View::check) does, and adds the diagnostic that `check_further`
    /// returns for a prompt and the path of its source.
    pub fn check_also(
        &self,
        scope: Option<&Path>,
        check_further: &mut dyn FnMut(&Found, Option<&Path>) -> Option<Diagnostic>,
    ) -> Report {
        let mut report = Report::default();
        for source in self.sources() {
            let listing = source.list();
            let mut problems = listing.problems;
            problems.retain(|problem| match &problem.file {
                Some(file) => overlaps(file, scope),
                None => true,
            });
            for found in &listing.found {
                let Some(file) = found.location().file else {
                    continue;
                };
                if overlaps(&file, scope) {
                    report.files += 1;
                    problems.extend(found.check());
                    problems.extend(check_further(found, source.about().path.as_deref()));
                }
            }
            for file in &listing.bare {
                if overlaps(file, scope) {
                    problems.extend(missing_suffix_warning(file));
                }
            }
            problems.sort_by(|a, b| (&a.file, a.position).cmp(&(&b.file, b.position)));
            report.problems.extend(problems);
        }
        report
    }
}

/// Returns the length of the path of a source. A source without a path has the longest one.
fn path_length(about: &About) -> usize {
    match &about.path {
        Some(path) => path.as_os_str().len(),
        None => usize::MAX,
    }
}

/// Returns whether a file or folder is in a scope, which is a folder or a file, or contains the
/// scope. Without a scope, every path counts.
///
/// A problem of the folder `team` concerns a check of `team/git`, too.
fn overlaps(path: &Path, scope: Option<&Path>) -> bool {
    match scope {
        Some(scope) => path.starts_with(scope) || scope.starts_with(path),
        None => true,
    }
}

/// Returns a warning about a file without a suffix that looks like a prompt, because it has a
/// placeholder for the input or begins with frontmatter.
fn missing_suffix_warning(file: &Path) -> Option<Diagnostic> {
    let bytes = read(file, MAX_FILE).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let has_placeholder = text.contains("{{input}}") || text.contains("$ARGUMENTS");
    if !has_placeholder && !text.starts_with("---\n") {
        return None;
    }
    let message =
        "the file looks like a prompt, and is not read as one, because its name has no suffix";
    let name = file.file_name()?.to_string_lossy();
    let fix = format!("rename it to {}", in_backticks(&format!("{name}.md")));
    Some(Diagnostic::warning(None, message, fix).in_file(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::thread;
    use tempfile::TempDir;

    #[test]
    fn a_reader_never_sees_half_of_a_file_that_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..20 {
            fs::write(folder.path().join(format!("{number:02}.md")), "0 0").unwrap();
        }
        let library = Library::named([folder.path().to_owned()]);
        thread::scope(|scope| {
            scope.spawn(|| read_all_prompts(&library, 50));
            scope.spawn(|| read_all_prompts(&library, 50));
            for round in 0..50 {
                fs::write(folder.path().join("new"), format!("{round} {round}")).unwrap();
                fs::rename(folder.path().join("new"), folder.path().join("07.md")).unwrap();
            }
        });
    }

    /// Reads the 20 prompts, whose texts are twice the same word, this many times.
    fn read_all_prompts(library: &Library, times: usize) {
        for _ in 0..times {
            let view = library.view();
            let found = view.list().found;
            assert_eq!(found.len(), 20);
            for found in found {
                let summary = found.info().summary.unwrap();
                let description = summary.description.as_ref().unwrap();
                let (first, second) = description.split_once(' ').unwrap();
                assert_eq!(first, second);
            }
            let name = Name::new("07").unwrap();
            view.get(&name).unwrap().prompt().unwrap();
        }
    }

    /// Returns a folder with prompts of the same names in two folders and a project, and their
    /// library.
    fn folders_with_equal_names() -> (TempDir, Library) {
        let folder = tempfile::tempdir().unwrap();
        for (file, text) in [
            ("one/team/a.md", "One"),
            ("two/team/a.md", "Two"),
            ("two/team/b.md", "---\nnever closed"),
            ("two/review.md", "Mine"),
            ("repo/.prompts/team/a.md", "Project"),
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let library = Library::named(["one", "two"].map(|name| folder.path().join(name)))
            .with_builtin()
            .with_project(&folder.path().join("repo"), None, None);
        (folder, library)
    }

    fn texts(view: &View, name: &str) -> Vec<String> {
        let found = view.all(&Name::new(name).unwrap()).into_iter();
        found.map(|found| found.text().unwrap()).collect()
    }

    #[test]
    fn the_first_source_that_has_a_name_wins() {
        let (_folder, library) = folders_with_equal_names();
        let view = library.view();
        assert_eq!(texts(&view, "team/a"), ["Project", "One", "Two"]);
        assert_eq!(texts(&view, "review")[0], "Mine");
        let listed = view.list().found;
        assert!(listed.is_sorted_by(|a, b| a.name < b.name));
        let mut listed = listed.iter();
        let winner = listed.find(|found| found.name.as_str() == "team/a");
        assert_eq!(winner.unwrap().layer, Layer::PROJECT);
    }

    #[test]
    fn for_a_caller_with_a_prefix_no_other_prompt_exists() {
        let (_folder, library) = folders_with_equal_names();
        let view = library.view_for(&Caller {
            prefix: Some(Prefix::new("team/").unwrap()),
            ..Caller::local()
        });
        let mut names = Vec::new();
        for found in view.list().found {
            names.push(found.name.to_string());
        }
        assert_eq!(names, ["team/a", "team/b"]);
        assert!(view.find("review").is_err());
        assert!(view.get(&Name::new("review").unwrap()).is_none());
    }
}
