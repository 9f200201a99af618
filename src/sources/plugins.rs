//! The prompts of an agent's plugins.
//!
//! A folder of plugins contains a folder for each plugin, which has its prompts in subfolders such
//! as `commands` and `skills`. The name of the plugin is part of their names: `documents/pdf` is
//! the prompt `pdf` of the plugin `documents`.

mod installed;
mod manifest;

use crate::library::{
    About, Cache, Files, Folder, Found, Layer, Listing, MIN_STAMP_AGE, PromptFile, Root, Source,
    Trace, Watched, read_confined,
};
use crate::prompt::{Diagnostic, FileSuffix, Format, Name};
use crate::whole_file;
use installed::{Installation, Plugin};
use manifest::{Manifest, PromptPath, SKILL_FILE};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The maximum number of cached entries, one for each plugin that was looked up.
const MAX_CACHED_PLUGINS: usize = 64;

/// The cache key for the prompts of all plugins. No plugin has an empty name.
const ALL_PLUGINS: &str = "";

/// The source of a folder of plugins.
#[derive(Debug)]
pub(crate) struct Plugins {
    about: About,
    root: Root,
    /// The folder in which the agent was started. Some plugins are only for one project.
    working_folder: Option<PathBuf>,
    /// The prompts, by the name of their plugin or [`ALL_PLUGINS`].
    prompts: Cache<Arc<PluginPrompts>>,
}

/// The prompts of one plugin, or of several.
#[derive(Debug, Default)]
struct PluginPrompts {
    /// Folders of commands.
    folders: Vec<Folder>,
    /// The skills, and the commands that a manifest lists.
    files: Vec<Found>,
    problems: Vec<Diagnostic>,
}

impl Plugins {
    /// Returns the source of a folder of plugins. Without a working folder, plugins for one project
    /// are left out.
    pub(crate) fn new(root: Root, layer: Layer, working_folder: Option<PathBuf>) -> Plugins {
        Plugins {
            about: About::new(layer, root.format, Some(root.path.clone())),
            root,
            working_folder,
            prompts: Cache::new(MAX_CACHED_PLUGINS, MIN_STAMP_AGE),
        }
    }

    /// Returns the prompts of one plugin, which are cached. Returns none if it is not installed, or
    /// if the list of plugins can't be read.
    fn prompts_of(&self, plugin: &str) -> Arc<PluginPrompts> {
        self.prompts.get(plugin, |trace| {
            let mut prompts = PluginPrompts::default();
            let installation = self.installation();
            let plugins = installation.plugins(Some(plugin), trace, &mut prompts.problems);
            let plugins = plugins.unwrap_or_default(); // `list` reports the error
            self.read_prompts(&plugins, trace, &mut prompts);
            Arc::new(prompts)
        })
    }

    /// Returns the prompts of all plugins, which are cached.
    fn all_prompts(&self) -> Arc<PluginPrompts> {
        self.prompts
            .get(ALL_PLUGINS, |trace| self.read_all_plugins(trace))
    }

    /// Reads the list of plugins, and finds the prompts of all of them. If the list can't be read,
    /// there are no prompts, and its error is one of the problems.
    fn read_all_plugins(&self, trace: &mut Trace) -> Arc<PluginPrompts> {
        let mut prompts = PluginPrompts::default();
        let installation = self.installation();
        match installation.plugins(None, trace, &mut prompts.problems) {
            Ok(plugins) => self.read_prompts(&plugins, trace, &mut prompts),
            Err(problem) => {
                trace.mark_uncacheable(); // no stamp reveals that the error is gone
                prompts.problems.push(problem);
            }
        }
        Arc::new(prompts)
    }

    /// Returns what decides which plugins are enabled.
    fn installation(&self) -> Installation<'_> {
        Installation {
            root: &self.root,
            working_folder: self.working_folder.as_deref(),
        }
    }

    /// Adds the prompts of the given plugins. Skips a plugin outside of the readable folders.
    fn read_prompts(&self, plugins: &[Plugin], trace: &mut Trace, prompts: &mut PluginPrompts) {
        for plugin in plugins {
            // A symlink or the list of plugins may point to any folder.
            if self.root.reach.check(&plugin.folder).is_err() {
                continue;
            }
            let mut reader = PluginReader {
                plugins: self,
                plugin,
                trace,
                prompts,
            };
            reader.add_prompts();
        }
    }
}

impl PluginPrompts {
    /// Returns the prompt with exactly this name, such as `documents/pdf`.
    fn find(&self, name: &Name) -> Option<Found> {
        for folder in &self.folders {
            if let Some(found) = folder.find(name) {
                return Some(found);
            }
        }
        let mut files = self.files.iter();
        files.find(|found| found.name == *name).cloned()
    }
}

/// Finds the prompts of one plugin.
struct PluginReader<'r> {
    plugins: &'r Plugins,
    plugin: &'r Plugin,
    trace: &'r mut Trace,
    prompts: &'r mut PluginPrompts,
}

impl PluginReader<'_> {
    /// Adds the commands and skills of the plugin.
    fn add_prompts(&mut self) {
        self.trace.record(&self.plugin.folder);
        let root = &self.plugins.root;
        let problems = &mut self.prompts.problems;
        let manifest = Manifest::read(root, self.plugin, self.trace, problems);
        for (subfolder, format_name) in root.format.plugin {
            let Some(format) = Format::by_name(format_name) else {
                continue;
            };
            let problems = &mut self.prompts.problems;
            for PromptPath { path, name } in
                manifest.paths(subfolder, &self.plugin.folder, problems)
            {
                self.trace.record(&path);
                if let Err(problem) = root.reach.check(&path) {
                    self.prompts.problems.push(problem.in_file(path));
                } else if format.file_suffixes().all(FileSuffix::is_in_folder) {
                    self.add_skills(&path, format);
                } else if let Some(name) = name {
                    self.add_named_file(&path, &name, format);
                } else {
                    self.add_commands(path, format);
                }
            }
        }
    }

    /// Adds a folder of commands, or a single command.
    fn add_commands(&mut self, path: PathBuf, format: &'static Format) {
        if !path.is_file() {
            let folder = Folder::new(self.root_at(&path, format), self.plugins.about.layer);
            self.prompts.folders.push(folder);
            return;
        }
        if let Some(folder) = path.parent() {
            self.add_file(&path, folder, format);
        }
    }

    /// Adds the skill in a folder or, if the folder is not a skill, the skills directly in it.
    /// Agents do not look for the skills of plugins in deeper folders.
    fn add_skills(&mut self, folder: &Path, format: &'static Format) {
        if let Some(file) = self.skill_file(folder) {
            self.add_skill(&file, folder, format);
            return;
        }
        let mut subfolders = Vec::new();
        for entry in whole_file::entries_of(folder) {
            subfolders.push(entry.path());
        }
        subfolders.sort();
        for subfolder in subfolders {
            if let Some(file) = self.skill_file(&subfolder) {
                self.add_skill(&file, &subfolder, format);
            }
        }
    }

    /// Returns the file that makes a folder a skill, or `None` if there is none.
    fn skill_file(&mut self, folder: &Path) -> Option<PathBuf> {
        let file = folder.join(SKILL_FILE);
        self.trace.record(folder);
        self.trace.record(&file)?;
        Some(file)
    }

    /// Adds the skill in `folder`, which is named after the folder, unless that is the folder of
    /// the plugin. `file` is its `SKILL.md`.
    fn add_skill(&mut self, file: &Path, folder: &Path, format: &'static Format) {
        if folder == self.plugin.folder {
            self.add_plugin_as_skill(file, format);
        } else {
            self.add_file(file, folder.parent().unwrap_or(folder), format);
        }
    }

    /// Adds the plugin itself, whose folder contains a `SKILL.md`, as a skill.
    ///
    /// The folder may be named after a version. So the skill is named after the `name` in its file
    /// or, without one, after the plugin: `documents/pdf` or `documents/documents`. It is skipped
    /// if that is not a name that can be typed.
    fn add_plugin_as_skill(&mut self, file: &Path, format: &'static Format) {
        let Some(&kind) = format.files.first() else {
            return;
        };
        let skill_name = match self.name_in_skill(file, kind) {
            Some(name) => name,
            None => self.plugin.name.clone(),
        };
        self.add_named_file(file, &skill_name, format);
    }

    /// Adds a prompt file as the prompt `name` of the plugin. Skips a file that is missing, which
    /// is reported elsewhere, and a name that can't be typed.
    fn add_named_file(&mut self, file: &Path, name: &str, format: &'static Format) {
        let Ok(name) = Name::new(&format!("{}/{name}", self.plugin.name)) else {
            return;
        };
        let Some(&kind) = format.files.first() else {
            return;
        };
        if !file.is_file() {
            return;
        }
        let prompt_file = PromptFile {
            path: file.into(),
            kind,
            may_be_linked: true, // nobody has checked the path for symlinks
        };
        let files = self.files_at(file.parent().unwrap_or(file), format);
        self.prompts.files.push(files.handle_for(name, prompt_file));
    }

    /// Returns the `name` in the frontmatter of a skill.
    fn name_in_skill(&self, file: &Path, kind: FileSuffix) -> Option<String> {
        let bytes = read_confined(file, &self.plugins.root.reach).ok()?;
        let plugin_name = Name::new(&self.plugin.name).ok()?;
        let prompt = kind.parse(&plugin_name, &bytes, None).ok()?;
        prompt.name_in_file().map(str::to_owned)
    }

    /// Adds a prompt file, which is named after its path relative to `folder`.
    fn add_file(&mut self, file: &Path, folder: &Path, format: &'static Format) {
        match self.files_at(folder, format).handle_at(file) {
            Ok(found) => self.prompts.files.push(found),
            Err(problem) => self.prompts.problems.push(problem),
        }
    }

    /// Returns a reader of the prompt files in a folder of the plugin.
    fn files_at(&self, folder: &Path, format: &'static Format) -> Arc<Files> {
        let root = self.root_at(folder, format);
        let about = About::new(self.plugins.about.layer, format, Some(root.path.clone()));
        Arc::new(Files::new(root, about))
    }

    /// Returns a folder of the plugin as a root whose prompts have names such as `documents/pdf`.
    fn root_at(&self, folder: &Path, format: &'static Format) -> Root {
        let reach = self.plugins.root.reach.clone();
        Root {
            prefix: format!("{}/", self.plugin.name),
            ..Root::new(folder.to_owned(), format, reach)
        }
    }
}

impl Source for Plugins {
    fn about(&self) -> &About {
        &self.about
    }

    /// Finds `documents/pdf` in the plugin `documents`, without looking at other plugins.
    fn find(&self, name: &Name) -> Option<Found> {
        let (plugin, _) = name.split_once('/')?;
        self.prompts_of(plugin).find(name)
    }

    /// Lists the prompts of all enabled plugins.
    fn list(&self) -> Listing {
        let prompts = self.all_prompts();
        let mut listings = Vec::new();
        for folder in &prompts.folders {
            listings.push(folder.list());
        }
        listings.push(Listing {
            found: prompts.files.clone(),
            problems: self.problems(),
            ..Listing::default()
        });
        Listing::default().merge(listings.into_iter())
    }

    /// Returns the prompt in a file of an enabled plugin.
    fn find_by_path(&self, path: &Path) -> Option<Result<Found, Diagnostic>> {
        let prompts = self.all_prompts();
        if let Some(found) = prompts.files.iter().find(|found| found.is_in(path)) {
            return Some(Ok(found.clone()));
        }
        let mut folders = prompts.folders.iter();
        folders.find_map(|folder| folder.find_by_path(path))
    }

    /// Returns why the folder of plugins, the list of plugins or a part of a plugin can't be read.
    fn problems(&self) -> Vec<Diagnostic> {
        let mut problems: Vec<Diagnostic> = self.root.problem().into_iter().collect();
        problems.extend(self.all_prompts().problems.iter().cloned());
        problems
    }

    /// Watches the prompts of all plugins, and what determines which plugins there are.
    fn watch(&self, watched: &mut Watched) {
        let prompts = self
            .prompts
            .get_traced(ALL_PLUGINS.as_ref(), |trace| self.read_all_plugins(trace));
        watched.add_root(&self.root, &prompts.trace);
        for path in prompts.trace.paths() {
            watched.add_path(path);
        }
        for folder in &prompts.value.folders {
            folder.watch(watched);
        }
    }
}

#[cfg(test)]
mod tests;
