//! All prompts of a user: sources in their order, and the library as one caller sees it.

use super::caller::{Caller, Prefix};
use super::project_prompts::{ChangedTexts, ProjectPrompts};
use super::seen::seen_with;
use super::source::{About, Found, Layer, Listing, Source, Store, TestFile};
use crate::library::disk::open::{read, read_confined};
use crate::library::disk::prompt_file::Files;
use crate::library::disk::reach::{Reach, below};
use crate::library::disk::stamp::is_on_network;
use crate::library::disk::watch::{Changes, Watch};
use crate::library::disk::watched::{Change, Watched};
use crate::lock::lock;
use crate::prompt::{Diagnostic, Kind, MAX_FILE, Name, Prompt};
use crate::wording::named;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

/// The sources of prompts, of which the first that has a name wins. It is shared by all threads.
#[derive(Debug, Clone)]
pub struct Library {
    sources: Arc<Vec<Arc<dyn Source>>>,
    project: Option<Arc<dyn ProjectPrompts>>,
    pub(crate) changes: Arc<Changes>,
    /// When its database last answered, if it has one.
    pub(crate) answered: Option<Arc<Mutex<Option<SystemTime>>>>,
    takes_mentions: bool,
    /// How many versions of a prompt a write leaves in its history besides the current one.
    pub(crate) versions: NonZeroUsize,
}

impl Default for Library {
    fn default() -> Library {
        let (sources, changes) = (Arc::default(), Arc::default());
        Library {
            sources,
            project: None,
            changes,
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

    fn with_shared(mut self, source: Arc<dyn Source>) -> Library {
        let sources = Arc::make_mut(&mut self.sources);
        sources.push(source);
        sources.sort_by_key(|source| source.about().layer); // stable
        self
    }

    /// The prompts of the project, if they were asked for.
    pub(crate) fn project(&self) -> Option<&Arc<dyn ProjectPrompts>> {
        self.project.as_ref()
    }

    /// Keeps this many versions of each prompt, besides the current one, when it is written;
    /// without this, all.
    #[must_use]
    pub fn with_history(self, versions: NonZeroUsize) -> Library {
        Library { versions, ..self }
    }

    /// Takes stacks and mentions in messages, or only commands.
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
        self,
        project: Arc<impl Source + ProjectPrompts + 'static>,
    ) -> Library {
        Library {
            project: Some(Arc::clone(&project) as Arc<dyn ProjectPrompts>),
            ..self
        }
        .with_shared(project)
    }

    /// The library as a user of this machine who does not edit prompts sees it.
    pub fn view(&self) -> View {
        let (sources, project) = (Arc::clone(&self.sources), self.project.clone());
        let takes_mentions = self.takes_mentions;
        View {
            sources,
            project,
            takes_mentions,
            prefix: None,
            sees_team: true,
            may_edit: false,
        }
    }

    /// Where the project's prompts were looked for, if they were asked for and there are none.
    pub fn absent_project(&self) -> Option<String> {
        self.project.as_ref()?.absence()
    }

    /// The library as this caller sees it, who does not edit prompts: what they may not see is not
    /// in it.
    pub fn view_for(&self, caller: &Caller) -> View {
        View {
            prefix: caller.prefix.clone(),
            sees_team: caller.sees_team,
            ..self.view()
        }
    }

    /// Where the prompts of a layer are written: in the project's folder, in the user's first that
    /// is not another program's, or on the team's server. `None` if there is no such place, for
    /// example without a home directory.
    pub fn store(&self, layer: Layer) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        let mut sources = self
            .sources
            .iter()
            .filter(|source| source.about().layer.name == layer.name);
        sources.find_map(|source| source.store())
    }

    /// How long ago its database last answered, if it has one; `Some(None)`: never, so that it has
    /// not been read yet.
    pub fn store_age(&self) -> Option<Option<Duration>> {
        Some(lock(self.answered.as_ref()?).map(|at| at.elapsed().unwrap_or_default()))
    }

    /// Whether somebody waits for changes.
    pub fn is_watched(&self) -> bool {
        self.changes.are_watched()
    }

    /// Tells the watchers that something has changed; called by whoever changes a source.
    pub fn changed(&self, change: &Change) {
        self.changes.tell(change);
    }

    /// Watches from now on. `warn` receives why changes are noticed late.
    pub fn watch(&self, warn: fn(&str)) -> Watch {
        let sources = Arc::clone(&self.sources);
        let look =
            move |watched: &mut Watched| sources.iter().for_each(|source| source.watch(watched));
        Watch::start(Box::new(look), &self.changes, warn)
    }

    /// Whether a folder of it is on a network file system, so that any access may take long.
    pub fn is_on_network(&self) -> bool {
        let mut paths = self
            .sources
            .iter()
            .filter_map(|source| source.about().path.as_deref());
        paths.any(|path| {
            path.ancestors()
                .find(|path| path.exists())
                .is_some_and(is_on_network)
        })
    }
}

/// A library as one caller sees it.
#[derive(Debug, Clone)]
pub struct View {
    sources: Arc<Vec<Arc<dyn Source>>>,
    project: Option<Arc<dyn ProjectPrompts>>,
    takes_mentions: bool,
    /// For the caller, only prompts whose names have this prefix exist.
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
    /// The same for somebody who may, or may not, edit prompts.
    #[must_use]
    pub fn for_editing(self, may_edit: bool) -> View {
        View { may_edit, ..self }
    }

    /// Whether messages may have stacks and mentions.
    pub fn takes_mentions(&self) -> bool {
        self.takes_mentions
    }

    /// The prefix of the names of all prompts that exist for the caller.
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
        project.changed_texts(&|| {
            let mut prompts = self.list().found;
            prompts.retain(|found| found.layer.is_project());
            prompts
        })
    }

    /// A line that counts what has changed in the trusted repository since its texts were shown.
    pub fn changed_hint(&self) -> Option<String> {
        Some(self.changed_in_project()?.hint())
    }

    fn sources(&self) -> impl Iterator<Item = &Arc<dyn Source>> {
        let is_there = |about: &About| {
            (self.may_edit || !about.for_editors) && (self.sees_team || about.layer != Layer::TEAM)
        };
        self.sources
            .iter()
            .filter(move |source| is_there(source.about()))
    }

    fn contains(&self, name: &str) -> bool {
        self.prefix
            .as_ref()
            .is_none_or(|prefix| prefix.contains(name))
    }

    /// The prompt with exactly this name. A broken file overrides the prompts of later sources,
    /// too.
    pub fn get(&self, name: &Name) -> Option<Found> {
        self.sources()
            .filter(|_| self.contains(name))
            .find_map(|source| source.find(name))
            .map(|found| self.seen(found))
    }

    /// Returns a prompt as the caller sees it.
    fn seen(&self, found: Found) -> Found {
        match &self.prefix {
            Some(prefix) => seen_with(prefix, found),
            None => found,
        }
    }

    /// Every prompt with exactly this name, the one that wins first.
    pub fn all(&self, name: &Name) -> Vec<Found> {
        self.sources()
            .filter(|_| self.contains(name))
            .filter_map(|source| source.find(name))
            .map(|found| self.seen(found))
            .collect()
    }

    /// The prompt of this name that would exist for a caller who may edit prompts.
    pub(crate) fn only_for_editors(&self, name: &Name) -> Option<Found> {
        let hidden = self
            .sources
            .iter()
            .filter(|source| source.about().for_editors && !self.may_edit);
        hidden
            .filter(|_| self.contains(name))
            .find_map(|source| source.find(name))
    }

    /// A text that is not saved, as the prompt of this name in the user's folder. `None` if there
    /// is no such folder.
    pub fn draft(&self, name: &Name, text: &str) -> Option<Found> {
        let mut of_user = self
            .sources()
            .filter(|source| source.about().layer == Layer::USER);
        let store = of_user.find_map(|source| source.store())?.ok()?;
        let caller = Caller {
            prefix: self.prefix.clone(),
            ..Caller::local()
        };
        Some(store.draft(name, text, &caller))
    }

    /// The test file of a prompt, if it has one.
    pub fn test_file(&self, found: &Found) -> Option<TestFile> {
        let is_its_own = |tests: &TestFile| {
            tests
                .found
                .as_ref()
                .is_ok_and(|of| of.place() == found.place())
        };
        self.list().tests.into_iter().find(is_its_own)
    }

    /// Which prompts there are: folders are read, files are not.
    pub fn list(&self) -> Listing {
        let mut all = Listing::default().with(self.sources().map(|source| source.list()));
        if self.prefix.is_some() {
            all.found.retain(|found| self.contains(&found.name));
            let found = std::mem::take(&mut all.found).into_iter();
            all.found = found.map(|found| self.seen(found)).collect();
            all.problems.retain(|problem| self.is_visible(problem));
        }
        all
    }

    /// Whether the caller may see a problem: one of the whole prompts folder is not for those who
    /// see only a part of it.
    pub(crate) fn is_visible(&self, problem: &Diagnostic) -> bool {
        let Some(prefix) = &self.prefix else {
            return true;
        };
        let below = problem.file.as_ref().map(|file| self.below(file));
        below.is_some_and(|below| prefix.contains(&below) || prefix.folder() == below)
    }

    /// A path below the folder of prompts that it is in, `/`-separated; elsewhere, the whole path.
    pub fn below(&self, path: &Path) -> String {
        let roots = self.paths();
        let root = roots
            .iter()
            .find(|root| path != *root && path.starts_with(root));
        match root {
            Some(root) => below(root, path),
            None => path.display().to_string(),
        }
    }

    /// The files and folders that cannot be read, one of which may have a prompt that was not
    /// found.
    pub fn unreadable(&self) -> Vec<Diagnostic> {
        self.list().unreadable().cloned().collect()
    }

    /// Returns why sources, or parts of them, cannot be read at this moment.
    pub fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = Vec::new();
        for source in self.sources() {
            problems.extend(source.problems());
        }
        problems.retain(|problem| self.is_visible(problem));
        problems
    }

    /// Calls each service that renders prompts, and returns what each answered.
    pub fn probe(&self) -> Vec<Diagnostic> {
        let mut findings = Vec::new();
        for source in self.sources() {
            findings.extend(source.probe());
        }
        findings.retain(|finding| self.is_visible(finding));
        findings
    }

    /// Whether services render some of the prompts, so that an expansion may take long.
    pub fn calls_services(&self) -> bool {
        self.sources().any(|source| source.about().calls_services)
    }

    /// Returns whether some of the prompts may wait for a service or the team's server.
    pub fn waits_for_servers(&self) -> bool {
        let mut sources = self.sources();
        sources.any(|source| source.about().layer.waits_for_server())
    }

    /// The folders and documents that the prompts are in; some may be missing.
    pub fn paths(&self) -> Vec<PathBuf> {
        let of_project = self.project.as_ref().and_then(|project| project.folder());
        of_project
            .into_iter()
            .chain(
                self.sources()
                    .filter_map(|source| source.about().path.clone()),
            )
            .collect()
    }

    /// The prompt in a file, in one of the folders or not. Elsewhere, the end of a folder's path
    /// says how the file is read, as in `.claude/commands/x.md`. `path` is absolute.
    ///
    /// # Errors
    /// The suffix or the name is not that of a prompt file.
    pub fn at(&self, path: &Path) -> Result<Found, Diagnostic> {
        let mut innermost = None;
        for source in self.sources() {
            let length = source
                .about()
                .path
                .as_ref()
                .map_or(usize::MAX, |path| path.as_os_str().len());
            if innermost
                .as_ref()
                .is_none_or(|(longest, _)| length > *longest)
                && let Some(found) = source.at(path)
            {
                innermost = Some((length, found));
            }
        }
        let around = || {
            let files = Files::around(path);
            files
                .root
                .file_at(path)
                .map(|(name, file)| files.found(name, file))
        };
        innermost.map_or_else(around, |(_, found)| found)
    }

    /// How far a file may lead that is only there to be included: a folder that has it is not known
    /// to be the user's own, unless it is one of these.
    fn reach_of(&self, path: &Path) -> Reach {
        let mut own = self
            .sources()
            .filter_map(|source| source.about().path.as_ref());
        if own.any(|folder| path.starts_with(folder)) {
            Reach::Own
        } else {
            Reach::of_named(path)
        }
    }

    /// Everything that is, or looks, wrong in one file, which may also be one that is only there to
    /// be included.
    pub fn check_file(&self, path: &Path) -> Vec<Diagnostic> {
        let why = match self.at(path) {
            Ok(found) => return found.check(),
            Err(why) => why,
        };
        if why.kind == Kind::NotACommand
            && let Ok(name) = Name::new("partial")
        {
            let reach = self.reach_of(path);
            // Only the prompts that include it know what its placeholders stand for.
            let parsed = read_confined(path, &reach).and_then(|bytes| Prompt::parse(name, &bytes));
            return parsed
                .err()
                .map(|why| why.in_file(path))
                .into_iter()
                .collect();
        }
        vec![why]
    }

    /// Reads every file of every folder, or those below one, and reports everything that is, or
    /// looks, wrong.
    pub fn check(&self, below: Option<&Path>) -> Report {
        self.check_also(below, &mut |_, _| None)
    }

    /// The same, with what `also` finds in each prompt of a folder.
    pub fn check_also(
        &self,
        below: Option<&Path>,
        also: &mut dyn FnMut(&Found, Option<&Path>) -> Option<Diagnostic>,
    ) -> Report {
        let mut report = Report::default();
        for source in self.sources() {
            let Listing {
                found,
                mut problems,
                bare,
                ..
            } = source.list();
            let is_below = |file: &Path| {
                below.is_none_or(|below| file.starts_with(below) || below.starts_with(file))
            };
            problems.retain(|problem| problem.file.as_deref().is_none_or(is_below));
            for found in found
                .iter()
                .filter(|found| found.place().file.is_some_and(|file| is_below(&file)))
            {
                report.files += 1;
                problems.extend(found.check());
                problems.extend(also(found, source.about().path.as_deref()));
            }
            problems.extend(
                bare.iter()
                    .filter(|file| is_below(file))
                    .filter_map(|file| without_suffix(file)),
            );
            problems.sort_by(|a, b| (&a.file, a.position).cmp(&(&b.file, b.position)));
            report.problems.extend(problems);
        }
        report
    }
}

/// A warning about a file without a suffix, if it looks like a prompt.
fn without_suffix(file: &Path) -> Option<Diagnostic> {
    let text = String::from_utf8(read(file, MAX_FILE).ok()?).ok()?;
    let looks_like_one = text.starts_with("---\n")
        || ["{{input}}", "$ARGUMENTS"]
            .iter()
            .any(|it| text.contains(it));
    let message =
        "the file looks like a prompt, and is not read as one, because its name has no suffix";
    let name = file.file_name()?.to_string_lossy();
    let warning = || {
        Diagnostic::warning(
            None,
            message,
            format!("rename it to {}", named(&format!("{name}.md"))),
        )
    };
    looks_like_one.then(|| warning().in_file(file))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::thread;

    #[test]
    fn a_reader_never_sees_half_of_a_file_that_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        for number in 0..20 {
            fs::write(folder.path().join(format!("{number:02}.md")), "0 0").unwrap();
        }
        let library = Library::named([folder.path().to_owned()]);
        let name = Name::new("07").unwrap();
        let look = || {
            for _ in 0..50 {
                let view = library.view();
                let found = view.list().found;
                assert_eq!(found.len(), 20);
                for found in found {
                    let description = found.info().summary.unwrap().description.clone().unwrap();
                    let (first, second) = description.split_once(' ').unwrap();
                    assert_eq!(first, second);
                }
                view.get(&name).unwrap().prompt().unwrap();
            }
        };
        thread::scope(|scope| {
            scope.spawn(look);
            scope.spawn(look);
            for round in 0..50 {
                fs::write(folder.path().join("new"), format!("{round} {round}")).unwrap();
                fs::rename(folder.path().join("new"), folder.path().join("07.md")).unwrap();
            }
        });
    }

    #[test]
    fn the_first_source_that_has_a_name_wins_and_a_prefix_shows_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let put = |file: &str, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("one/team/a.md", "One");
        put("two/team/a.md", "Two");
        put("two/team/b.md", "---\nnever closed");
        put("two/review.md", "Mine");
        put("repo/.prompts/team/a.md", "Project");
        let library = Library::named(["one", "two"].map(|name| folder.path().join(name)))
            .with_builtin()
            .with_project(&folder.path().join("repo"), None, None);
        let texts = |view: &View, name: &str| -> Vec<String> {
            view.all(&Name::new(name).unwrap())
                .iter()
                .map(|found| found.text().unwrap())
                .collect()
        };
        let all = library.view();
        assert_eq!(texts(&all, "team/a"), ["Project", "One", "Two"]);
        assert_eq!(texts(&all, "review")[0], "Mine");
        let listed = all.list().found;
        assert!(listed.is_sorted_by(|a, b| a.name < b.name));
        assert_eq!(
            listed
                .iter()
                .find(|found| found.name.as_str() == "team/a")
                .unwrap()
                .layer,
            Layer::PROJECT
        );
        let team = Caller {
            prefix: Some(Prefix::new("team/").unwrap()),
            ..Caller::local()
        };
        let team = library.view_for(&team);
        let names: Vec<Name> = team
            .list()
            .found
            .into_iter()
            .map(|found| found.name.clone())
            .collect();
        assert_eq!(
            names.iter().map(Name::as_str).collect::<Vec<_>>(),
            ["team/a", "team/b"]
        );
        assert!(team.find("review").is_err() && team.get(&Name::new("review").unwrap()).is_none());
    }
}
