//! The library: all sources of prompts, and the view of them that one caller has.

use super::caller::{Caller, Prefix};
use super::project_prompts::{ChangedTexts, ProjectPrompts};
use super::restricted::restrict;
use super::source::{About, Found, Layer, Listing, Source, Store, TestFile};
use crate::library::disk::open::{read_confined, read_file};
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

/// All sources of prompts, in order: if several have a prompt with the same name, the first wins.
/// Cheap to clone, and shared by all threads.
#[derive(Debug, Clone)]
pub struct Library {
    /// Sorted by layer.
    sources: Arc<Vec<Arc<dyn Source>>>,
    /// The prompts of the current project, if enabled. Also one of the sources.
    project: Option<Arc<dyn ProjectPrompts>>,
    /// Forwards changes to everyone who watches the library.
    pub(crate) changes: Arc<Changes>,
    /// When the library's database last answered. The outer `None` means that there is no database,
    /// the inner one that it has never answered.
    pub(crate) answered: Option<Arc<Mutex<Option<SystemTime>>>>,
    /// Whether stacks and mentions in messages are expanded, not just commands.
    expands_mentions: bool,
    /// How many old versions of a prompt its history keeps.
    pub(crate) versions: NonZeroUsize,
}

impl Default for Library {
    fn default() -> Library {
        Library {
            sources: Arc::default(),
            project: None,
            changes: Arc::default(),
            answered: None,
            expands_mentions: true,
            versions: NonZeroUsize::MAX,
        }
    }
}

impl Library {
    /// Adds a source after those of the same layer.
    #[must_use]
    pub fn with(self, source: impl Source + 'static) -> Library {
        self.with_shared(Arc::new(source))
    }

    /// Inserts a source according to its layer.
    fn with_shared(mut self, source: Arc<dyn Source>) -> Library {
        let sources = Arc::make_mut(&mut self.sources);
        sources.push(source);
        sources.sort_by_key(|source| source.about().layer); // stable, so it comes after its equals
        self
    }

    /// Returns the prompts of the current project, if enabled.
    pub(crate) fn project(&self) -> Option<&Arc<dyn ProjectPrompts>> {
        self.project.as_ref()
    }

    /// Limits the history of each prompt to this many old versions. The default is no limit.
    #[must_use]
    pub fn with_history(self, versions: NonZeroUsize) -> Library {
        Library { versions, ..self }
    }

    /// Sets whether stacks and mentions in messages are expanded, not just commands. The default is
    /// true.
    #[must_use]
    pub fn with_mentions(self, expands_mentions: bool) -> Library {
        Library {
            expands_mentions,
            ..self
        }
    }

    /// Adds the prompts of the current project after the other sources of their layer.
    #[must_use]
    pub(crate) fn with_project_prompts(
        mut self,
        project: Arc<impl Source + ProjectPrompts + 'static>,
    ) -> Library {
        self.project = Some(Arc::clone(&project) as Arc<dyn ProjectPrompts>);
        self.with_shared(project)
    }

    /// Returns the view of the local user, without the right to edit prompts.
    pub fn view(&self) -> View {
        self.view_for(&Caller::local())
    }

    /// Returns the view of `caller`, without the right to edit prompts. It only contains prompts
    /// that the caller may see.
    pub fn view_for(&self, caller: &Caller) -> View {
        View {
            sources: Arc::clone(&self.sources),
            project: self.project.clone(),
            expands_mentions: self.expands_mentions,
            prefix: caller.prefix.clone(),
            sees_team: caller.sees_team,
            may_edit: false,
        }
    }

    /// Returns a line that explains where the project's prompts were searched, if they are enabled
    /// but there are none.
    pub fn missing_project_hint(&self) -> Option<String> {
        self.project.as_ref()?.missing_hint()
    }

    /// Returns the store for new prompts in a layer: the project's folder, the user's first
    /// writable folder, or the team's server. Returns `None` if there isn't one, e.g. without a
    /// home directory.
    ///
    /// # Errors
    /// Fails if the prompts can't be written at the moment.
    pub fn store(&self, layer: Layer) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        self.sources
            .iter()
            .filter(|source| source.about().layer.name == layer.name)
            .find_map(|source| source.store())
    }

    /// Returns how long ago the library's database last answered. Returns `None` if there is no
    /// database, or if it has never answered.
    pub fn store_age(&self) -> Option<Duration> {
        let answered = (*lock(self.answered.as_ref()?))?;
        Some(answered.elapsed().unwrap_or_default())
    }

    /// Returns whether the library has a database that has never answered, so that its prompts are
    /// not available yet.
    pub fn has_unread_store(&self) -> bool {
        let answered = self.answered.as_ref();
        answered.is_some_and(|answered| lock(answered).is_none())
    }

    /// Returns whether anyone watches the library for changes.
    pub fn is_watched(&self) -> bool {
        self.changes.are_watched()
    }

    /// Tells everyone who watches the library that it changed. Must be called after a change to a
    /// source.
    pub fn notify_changed(&self, change: &Change) {
        self.changes.tell(change);
    }

    /// Watches the files of all sources until the returned [`Watch`] is dropped.
    ///
    /// If they have to be polled, `warn` is called with the reason, because changes are noticed
    /// late then.
    pub fn watch(&self, warn: fn(&str)) -> Watch {
        let sources = Arc::clone(&self.sources);
        let add_paths = Box::new(move |watched: &mut Watched| {
            for source in sources.iter() {
                source.watch(watched);
            }
        });
        Watch::start(add_paths, &self.changes, warn)
    }

    /// Returns whether a folder of the library is on a network file system, where any access may be
    /// slow.
    pub fn is_on_network(&self) -> bool {
        self.sources.iter().any(|source| {
            let path = source.about().path.as_deref();
            path.is_some_and(is_path_on_network)
        })
    }
}

/// Returns whether a path is on a network file system. For a path that doesn't exist, checks its
/// nearest existing parent.
fn is_path_on_network(path: &Path) -> bool {
    let existing = path.ancestors().find(|path| path.exists());
    existing.is_some_and(is_on_network)
}

/// The part of a library that one caller may see.
#[derive(Debug, Clone)]
pub struct View {
    /// All sources of the library. [`View::sources`] filters those that the caller may see.
    sources: Arc<Vec<Arc<dyn Source>>>,
    /// The prompts of the current project, if enabled.
    project: Option<Arc<dyn ProjectPrompts>>,
    /// See [`Library::with_mentions`].
    expands_mentions: bool,
    /// Limits the view to prompts whose names start with it.
    prefix: Option<Prefix>,
    /// Whether the caller may see the prompts of the team.
    sees_team: bool,
    /// Whether the caller may see the prompts that are meant for editors.
    may_edit: bool,
}

/// The findings of `check`.
#[derive(Debug, Default)]
pub struct Report {
    /// How many files were read, including overridden ones.
    pub files: usize,
    /// Errors, warnings and hints, sorted by source, path and position.
    pub problems: Vec<Diagnostic>,
}

impl View {
    /// Sets whether the caller may edit prompts.
    #[must_use]
    pub fn for_editing(self, may_edit: bool) -> View {
        View { may_edit, ..self }
    }

    /// Returns the view without the prompts of the current project. Others that they override are
    /// in it.
    #[must_use]
    pub fn without_project(self) -> View {
        let mut sources = self.sources.as_ref().clone();
        sources.retain(|source| !source.about().layer.is_project());
        View {
            sources: Arc::new(sources),
            project: None,
            ..self
        }
    }

    /// Returns whether stacks and mentions in messages are expanded, not just commands.
    pub fn expands_mentions(&self) -> bool {
        self.expands_mentions
    }

    /// Returns the prefix that the view is limited to.
    pub fn prefix(&self) -> Option<&Prefix> {
        self.prefix.as_ref()
    }

    /// Returns a line that explains why prompts of the project are not served. Never shown to a
    /// caller with a prefix.
    pub fn untrusted_hint(&self) -> Option<String> {
        if self.prefix.is_some() {
            return None;
        }
        self.project.as_ref()?.untrusted_hint()
    }

    /// Returns a line that explains why the project's prompt with this name is not served: its text
    /// in a linked worktree was not shown to the user yet.
    pub fn withheld_hint(&self, name: &str) -> Option<String> {
        let name = Name::new(name).ok()?;
        self.project.as_ref()?.withheld_hint(&name)
    }

    /// Returns the texts of the trusted project that have changed since they were shown to the
    /// user, if any.
    pub(crate) fn changed_in_project(&self) -> Option<ChangedTexts> {
        let project = self.project.as_ref()?;
        project.changed_texts(&|| self.list_project())
    }

    /// Returns the project's prompts that the caller may see.
    fn list_project(&self) -> Vec<Found> {
        let mut prompts = self.list().found;
        prompts.retain(|found| found.layer.is_project());
        prompts
    }

    /// Returns a line with the number of texts in the trusted project that have changed since they
    /// were shown to the user.
    pub fn changed_hint(&self) -> Option<String> {
        Some(self.changed_in_project()?.hint())
    }

    /// Returns the sources that the caller may see.
    pub(super) fn sources(&self) -> impl Iterator<Item = &Arc<dyn Source>> {
        let sources = self.sources.iter();
        sources.filter(|source| self.has_source(source.about()))
    }

    /// Returns whether the caller may see the prompts of a source.
    fn has_source(&self, about: &About) -> bool {
        let is_hidden_editor_source = about.for_editors && !self.may_edit;
        let is_hidden_team = about.layer == Layer::TEAM && !self.sees_team;
        !is_hidden_editor_source && !is_hidden_team
    }

    /// Returns whether the prefix allows a prompt with this name.
    fn contains(&self, name: &str) -> bool {
        match &self.prefix {
            Some(prefix) => prefix.contains(name),
            None => true,
        }
    }

    /// Returns the prompt with exactly this name. Its file may be broken: that doesn't make a later
    /// source win.
    pub fn get(&self, name: &Name) -> Option<Found> {
        if !self.contains(name) {
            return None;
        }
        let found = self.sources().find_map(|source| source.find(name))?;
        Some(self.restrict_to_prefix(found))
    }

    /// Hides errors in files outside the prefix, if there is one.
    fn restrict_to_prefix(&self, found: Found) -> Found {
        match &self.prefix {
            Some(prefix) => restrict(prefix, found),
            None => found,
        }
    }

    /// Returns every prompt with exactly this name, from the winner to the last one that it
    /// overrides.
    pub fn get_all(&self, name: &Name) -> Vec<Found> {
        if !self.contains(name) {
            return Vec::new();
        }
        let prompts = self.sources().filter_map(|source| source.find(name));
        prompts
            .map(|found| self.restrict_to_prefix(found))
            .collect()
    }

    /// Returns the prompt with this name if it is hidden because the caller may not edit prompts.
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

    /// Returns an unsaved prompt with this name and text, which is checked and expanded as if it
    /// were in the user's folder. Returns `None` if that folder doesn't exist or isn't writable.
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

    /// Returns all prompts, and the problems with their folders. Reads folders, but
    /// opens no files, except those whose suffix other programs use, too.
    pub fn list(&self) -> Listing {
        let mut all = Listing::default().merge(self.sources().map(|source| source.list()));
        let Listing {
            found, problems, ..
        } = &mut all;
        problems.retain(|problem| !is_link_to_found_skill(problem, found));
        if self.prefix.is_none() {
            return all;
        }
        all.found.retain(|found| self.contains(&found.name));
        for found in &mut all.found {
            *found = self.restrict_to_prefix(found.clone());
        }
        all.problems.retain(|problem| self.is_visible(problem));
        all
    }

    /// Returns whether the caller may see a problem. With the prefix `team-a/`, only problems of
    /// the folder `team-a` and its contents are visible.
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

    /// Returns the path of a file relative to its prompts folder, `/`-separated: `git/commit.md`. A
    /// path outside all prompts folders is returned whole.
    pub fn relative_path(&self, path: &Path) -> String {
        for root in self.paths() {
            if path != root && path.starts_with(&root) {
                return relative_path(&root, path);
            }
        }
        path.display().to_string()
    }

    /// Returns an error for each file and folder that can't be read. A prompt may be missing
    /// because of it.
    pub fn unreadable(&self) -> Vec<Diagnostic> {
        self.list().unreadable().cloned().collect()
    }

    /// Returns an error for each source that can't be read, fully or partly, at the moment.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for source in self.sources() {
            problems.extend(source.problems());
        }
        problems.retain(|problem| self.is_visible(problem));
        problems
    }

    /// Calls each service that renders prompts, and returns a hint or an error about its response.
    pub fn probe(&self) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        for source in self.sources() {
            findings.extend(source.probe());
        }
        findings.retain(|finding| self.is_visible(finding));
        findings
    }

    /// Returns whether expanding some of the prompts calls a service, which may be slow.
    pub fn calls_services(&self) -> bool {
        self.sources().any(|source| source.about().calls_services)
    }

    /// Returns whether some of the prompts come from services or the team's server, which may be
    /// slow.
    pub fn has_prompts_from_servers(&self) -> bool {
        let mut sources = self.sources();
        sources.any(|source| source.about().layer.is_from_server())
    }

    /// Returns whether some of the prompts are the team's. Then looking up an unknown name waits
    /// for the team's server.
    pub fn has_team(&self) -> bool {
        let mut sources = self.sources();
        sources.any(|source| source.about().layer == Layer::TEAM)
    }

    /// Returns the folders and documents that contain the prompts. They may not exist.
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

    /// Returns whether a folder of the user's own prompts does not exist.
    pub fn lacks_own_folder(&self) -> bool {
        let mut own = self
            .sources()
            .filter(|source| source.about().layer == Layer::USER);
        own.any(|source| {
            let path = source.about().path.as_deref();
            // The address of a database is not absolute.
            path.is_some_and(|path| path.is_absolute() && !path.exists())
        })
    }

    /// Returns the prompt in a file. `path` is absolute, and may be outside the library. In that
    /// case, the format is guessed from the path, e.g. for `.claude/commands/x.md`.
    ///
    /// # Errors
    /// Fails if the path is not that of a prompt file.
    pub fn find_by_path(&self, path: &Path) -> Result<Found, Diagnostic> {
        let mut sources: Vec<_> = self.sources().collect();
        // Try inner folders before outer ones: they have longer paths.
        sources.sort_by_key(|source| Reverse(path_length(source.about())));
        if let Some(result) = sources.iter().find_map(|source| source.find_by_path(path)) {
            return result;
        }
        Files::guess_for(path).handle_at(path)
    }

    /// Returns all errors, warnings and hints about a file. It may be a prompt, or a partial that
    /// prompts include.
    pub fn check_file(&self, path: &Path) -> Vec<Diagnostic> {
        match self.find_by_path(path) {
            Ok(found) => found.check(),
            Err(error) if error.kind == Kind::NotACommand => {
                self.check_partial(path).into_iter().collect()
            }
            Err(error) => vec![error],
        }
    }

    /// Returns the error from reading or parsing a partial, if any.
    ///
    /// Its placeholders can't be checked, because their arguments are declared by the including
    /// prompts.
    fn check_partial(&self, path: &Path) -> Option<Diagnostic> {
        let name = Name::new("partial").ok()?; // the parser needs one, though partials have none
        let result = read_confined(path, &self.reach_of_partial(path))
            .and_then(|bytes| Prompt::parse(name, &bytes));
        match result {
            Ok(_) => None,
            Err(error) => Some(error.in_file(path)),
        }
    }

    /// Returns the reach for a partial: unrestricted in a folder of the library. Elsewhere,
    /// somebody else may have written it, so it is confined to its project.
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

    /// Checks all files, or only those in `scope`, which is a folder or a file. Reports their
    /// errors, warnings and hints.
    pub fn check(&self, scope: Option<&Path>) -> Report {
        self.check_with_extra(scope, &mut |_, _| None) // no extra check
    }

    /// Checks all files, or only those in `scope`, as [`check`](View::check) does. Also calls
    /// `extra_check` with each of these prompts and the folder that it was found in, if any, and
    /// adds the problem that it returns to the report.
    pub fn check_with_extra(
        &self,
        scope: Option<&Path>,
        extra_check: &mut dyn FnMut(&Found, Option<&Path>) -> Option<Diagnostic>,
    ) -> Report {
        let mut report = Report::default();
        let mut all_found = Vec::new();
        for source in self.sources() {
            let folder = source.about().path.as_deref();
            let listing = source.list();
            let mut problems = problems_of_paths(&listing, scope);
            for found in &listing.found {
                let Some(file) = found.location().file else {
                    continue; // e.g. a built-in prompt
                };
                if overlaps(&file, scope) {
                    report.files += 1;
                    problems.extend(found.check());
                    problems.extend(extra_check(found, folder));
                }
            }
            problems.sort_by(|a, b| (&a.file, a.position).cmp(&(&b.file, b.position)));
            report.problems.extend(problems);
            all_found.extend(listing.found);
        }
        report
            .problems
            .retain(|problem| !is_link_to_found_skill(problem, &all_found));
        report
    }
}

/// Returns the length of a source's path. A source without a path counts as having the longest one.
fn path_length(about: &About) -> usize {
    match &about.path {
        Some(path) => path.as_os_str().len(),
        None => usize::MAX,
    }
}

/// Returns whether a problem is only that a symlink to a skill is not followed, and the skill is
/// found in its own place anyway. Such a symlink of a project may lead to a skill of the user.
fn is_link_to_found_skill(problem: &Diagnostic, found: &[Found]) -> bool {
    if problem.kind != Kind::OutsideFolder {
        return false;
    }
    let Some(Ok(target)) = problem.file.as_deref().map(Path::canonicalize) else {
        return false;
    };
    let skill = Some(target.join("SKILL.md"));
    found.iter().any(|found| found.location().file == skill)
}

/// Returns the problems of a listing that are in `scope`: those of paths, and warnings about files
/// that seem to lack the suffix of a prompt.
fn problems_of_paths(listing: &Listing, scope: Option<&Path>) -> Vec<Diagnostic> {
    let mut problems = Vec::new();
    for problem in &listing.problems {
        let is_in_scope = match &problem.file {
            Some(file) => overlaps(file, scope),
            None => true,
        };
        if is_in_scope {
            problems.push(problem.clone());
        }
    }
    for file in &listing.without_suffix {
        if overlaps(file, scope) {
            problems.extend(missing_suffix_warning(file));
        }
    }
    problems
}

/// Returns whether a path is inside `scope`, or contains it: a problem with the folder `team`
/// matters to a check of `team/git`. Without a scope, every path counts.
fn overlaps(path: &Path, scope: Option<&Path>) -> bool {
    match scope {
        Some(scope) => path.starts_with(scope) || scope.starts_with(path),
        None => true,
    }
}

/// Returns a warning about a file without a suffix that seems to be a prompt: it contains a
/// placeholder for the input, or starts with frontmatter.
fn missing_suffix_warning(file: &Path) -> Option<Diagnostic> {
    let bytes = read_file(file, MAX_FILE).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    let has_placeholder = text.contains("{{input}}") || text.contains("$ARGUMENTS");
    if !has_placeholder && !text.starts_with("---\n") {
        return None;
    }
    let message =
        "the file looks like a prompt, but is not read as one because its name has no suffix";
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

    /// Reads the 20 prompts `times` times. Each must contain the same word twice.
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

    /// Creates two folders and a project that contain prompts with the same names.
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
        let found = view.get_all(&Name::new(name).unwrap()).into_iter();
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
