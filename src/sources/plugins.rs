//! The prompts of an agent's plugins.
//!
//! A folder of plugins contains a folder for each plugin, which has its prompts in subfolders such
//! as `commands` and `skills`. The name of the plugin is part of their names: `documents/pdf` is
//! the prompt `pdf` of the plugin `documents`.

use crate::library::{
    About, Cache, Folder, Found, Layer, Listing, MIN_STAMP_AGE, Root, Source, Trace, Watched,
    is_hidden, read_confined,
};
use crate::prompt::{Diagnostic, Format, Name};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file in which Claude Code lists the installed plugins and their folders:
/// `{"plugins": {"NAME@MARKETPLACE": [{"installPath": PATH}]}}`.
const INSTALLED_LIST: &str = "installed_plugins.json";

/// The maximum number of cached entries, one for each plugin that was looked up.
const MAX_CACHED_PLUGINS: usize = 64;

/// The cache key for the folders of all plugins. No plugin has an empty name.
const ALL_PLUGINS: &str = "";

/// The source of a folder of plugins.
#[derive(Debug)]
pub(crate) struct Plugins {
    about: About,
    root: Root,
    /// The folders of prompts, by the name of their plugin or [`ALL_PLUGINS`].
    folders: Cache<Arc<Vec<Folder>>>,
}

/// A plugin, whose folder may not exist.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Plugin {
    name: String,
    folder: PathBuf,
}

impl Plugins {
    /// Returns the source of a folder of plugins.
    pub(crate) fn new(root: Root, layer: Layer) -> Plugins {
        Plugins {
            about: About::new(layer, root.format, Some(root.path.clone())),
            root,
            folders: Cache::new(MAX_CACHED_PLUGINS, MIN_STAMP_AGE),
        }
    }

    /// Returns the folders of prompts of one plugin.
    fn folders_of(&self, plugin: &str) -> Arc<Vec<Folder>> {
        self.folders.get(plugin, |trace| {
            self.folders_in(&self.find_plugins(plugin, trace))
        })
    }

    /// Returns the folders of prompts of all plugins.
    fn all_folders(&self) -> Arc<Vec<Folder>> {
        self.folders.get(ALL_PLUGINS, |trace| {
            self.folders_in(&self.all_plugins(trace))
        })
    }

    /// Returns the subfolders of the given plugins that may contain prompts, such as `commands` and
    /// `skills`. The agent determines which ones there are.
    fn folders_in(&self, plugins: &[Plugin]) -> Arc<Vec<Folder>> {
        let mut folders = Vec::new();
        for plugin in plugins {
            let is_outside = self.root.reach.check(&plugin.folder).is_err();
            if is_outside {
                continue; // a symlink or the list of plugins may point to any folder
            }
            for (subfolder, format_name) in self.root.format.plugin {
                if let Some(format) = Format::by_name(format_name) {
                    folders.push(self.subfolder(plugin, subfolder, format));
                }
            }
        }
        Arc::new(folders)
    }

    /// Returns a folder of prompts in a plugin, e.g. its `commands`.
    fn subfolder(&self, plugin: &Plugin, subfolder: &str, format: &'static Format) -> Folder {
        let path = plugin.folder.join(subfolder);
        let mut root = Root::new(path, format, self.root.reach.clone());
        root.prefix = format!("{}/", plugin.name);
        Folder::new(root, self.about.layer)
    }

    /// Returns the plugins with this name. Without a list of installed plugins, this is the
    /// subfolder with the name, whether it exists or not.
    fn find_plugins(&self, name: &str, trace: &mut Trace) -> Vec<Plugin> {
        let Some(mut plugins) = self.installed_plugins(trace) else {
            return vec![Plugin {
                name: name.to_owned(),
                folder: self.root.path.join(name),
            }];
        };
        plugins.retain(|plugin| plugin.name == name);
        plugins.sort();
        plugins
    }

    /// Returns all plugins, sorted by name. Without a list of installed plugins, every subfolder is
    /// a plugin.
    fn all_plugins(&self, trace: &mut Trace) -> Vec<Plugin> {
        let mut plugins = match self.installed_plugins(trace) {
            Some(plugins) => plugins,
            None => plugins_in(&self.root.path),
        };
        plugins.sort();
        plugins
    }

    /// Reads the list of installed plugins, or returns `None` if there is no valid list.
    fn installed_plugins(&self, trace: &mut Trace) -> Option<Vec<Plugin>> {
        let list_path = self.root.path.join(INSTALLED_LIST);
        trace.record(&self.root.path);
        trace.record(&list_path);
        let json = read_confined(&list_path, &self.root.reach).ok()?;
        let list: Value = serde_json::from_slice(&json).ok()?;
        let mut plugins = Vec::new();
        for (key, entry) in list["plugins"].as_object()? {
            // If a plugin is installed for several projects, there is an entry for each of them.
            let entry = entry.get(0).unwrap_or(entry);
            let name = key.split('@').next().unwrap_or(key);
            if let Some(folder) = entry["installPath"].as_str() {
                plugins.push(Plugin {
                    name: name.to_owned(),
                    folder: folder.into(),
                });
            }
        }
        Some(plugins)
    }
}

/// Returns a plugin for each subfolder that isn't hidden.
fn plugins_in(folder: &Path) -> Vec<Plugin> {
    let mut plugins = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if !path.is_dir() || is_hidden(&path) {
            continue;
        }
        if let Ok(name) = entry.file_name().into_string() {
            plugins.push(Plugin { name, folder: path });
        }
    }
    plugins
}

impl Source for Plugins {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        let (plugin, _) = name.split_once('/')?;
        self.folders_of(plugin)
            .iter()
            .find_map(|folder| folder.find(name))
    }

    fn list(&self) -> Listing {
        let without_prompts = Listing {
            problems: self.problems(),
            ..Listing::default()
        };
        without_prompts.merge(self.all_folders().iter().map(Source::list))
    }

    fn find_by_path(&self, path: &Path) -> Option<Result<Found, Diagnostic>> {
        self.all_folders()
            .iter()
            .find_map(|folder| folder.find_by_path(path))
    }

    fn problems(&self) -> Vec<Diagnostic> {
        self.root.problem().into_iter().collect()
    }

    /// Watches the prompts of all plugins, and what is installed.
    fn watch(&self, watched: &mut Watched) {
        let folders = self.folders.get_traced(ALL_PLUGINS.as_ref(), |trace| {
            self.folders_in(&self.all_plugins(trace))
        });
        watched.add_root(&self.root, &folders.trace);
        watched.add_path(&self.root.path.join(INSTALLED_LIST));
        for folder in folders.value.iter() {
            folder.watch(watched);
        }
    }
}
