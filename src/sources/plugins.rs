//! The prompts of plugins: a folder that has a folder for each plugin, with `commands` and `skills`
//! in it. Such a prompt has the name of its plugin before its own, as in `documents/pdf`.

use crate::library::{
    About, Cache, Folder, Found, Layer, Listing, MIN_STAMP_AGE, Root, Source, Trace, Watched,
    is_hidden, read_confined,
};
use crate::prompt::{Diagnostic, Format, Name};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Where Claude Code says which plugins are installed, and where:
/// `{"plugins": {"NAME@MARKETPLACE": [{"installPath": PATH}]}}`.
const INSTALLED: &str = "installed_plugins.json";

/// For how many plugins the folders are kept.
const MAX_KEPT: usize = 64;

/// A folder of plugins.
#[derive(Debug)]
pub(crate) struct Plugins {
    about: About,
    root: Root,
    /// The folders of prompts by the name of their plugin. Those of all plugins have the empty key.
    folders: Cache<Arc<Vec<Folder>>>,
}

/// A plugin, which may be missing.
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
            folders: Cache::new(MAX_KEPT, MIN_STAMP_AGE),
        }
    }

    /// Returns the folders of prompts of one plugin, or of all.
    fn folders(&self, plugin: Option<&str>) -> Arc<Vec<Folder>> {
        self.folders
            .get(plugin.unwrap_or_default(), |trace| self.read(plugin, trace))
    }

    /// Returns the folders with prompts of the plugin with this name, or of all plugins if `name`
    /// is `None`: for each plugin its `commands`, its `skills`, and what else the format of the
    /// agent has.
    fn read(&self, name: Option<&str>, trace: &mut Trace) -> Arc<Vec<Folder>> {
        let mut folders = Vec::new();
        for plugin in self.plugins(name, trace) {
            let is_outside = self.root.reach.check(&plugin.folder).is_err();
            if is_outside {
                continue; // a symlink or an agent's list may name any folder
            }
            for (subfolder, format_name) in self.root.format.plugin {
                if let Some(format) = Format::by_name(format_name) {
                    folders.push(self.part_of(&plugin, subfolder, format));
                }
            }
        }
        Arc::new(folders)
    }

    /// Returns the folder of a part of a plugin, such as its `commands`.
    fn part_of(&self, plugin: &Plugin, part: &str, format: &'static Format) -> Folder {
        let mut root = Root::new(plugin.folder.join(part), format, self.root.reach.clone());
        root.prefix = format!("{}/", plugin.name);
        Folder::new(root, self.about.layer)
    }

    /// Returns the plugin with this name, or all plugins if `name` is `None`, sorted by name.
    ///
    /// Plugins are those that the agent lists as installed. Without such a list, every folder is a
    /// plugin; then the folder of the plugin with this name is not looked for, and may be missing.
    fn plugins(&self, name: Option<&str>, trace: &mut Trace) -> Vec<Plugin> {
        let folder = &self.root.path;
        let list = folder.join(INSTALLED);
        trace.record(folder);
        trace.record(&list);
        let mut plugins = if let Some(installed) = self.installed(&list) {
            installed
        } else if let Some(name) = name {
            vec![Plugin {
                name: name.to_owned(),
                folder: folder.join(name),
            }]
        } else {
            plugins_in(folder)
        };
        if let Some(name) = name {
            plugins.retain(|plugin| plugin.name == name);
        }
        plugins.sort();
        plugins
    }

    /// Reads the list of installed plugins; `None` if there is no list, or it cannot be read.
    fn installed(&self, list: &Path) -> Option<Vec<Plugin>> {
        let json = read_confined(list, &self.root.reach).ok()?;
        let list: Value = serde_json::from_slice(&json).ok()?;
        let mut plugins = Vec::new();
        for (key, entry) in list["plugins"].as_object()? {
            // If there are several of one plugin, they are for different projects.
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

/// Returns a plugin for each folder in a folder, unless it is hidden.
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
        self.folders(Some(plugin))
            .iter()
            .find_map(|folder| folder.find(name))
    }

    fn list(&self) -> Listing {
        let own = Listing {
            problems: self.problems(),
            ..Listing::default()
        };
        own.with(self.folders(None).iter().map(Source::list))
    }

    fn find_by_path(&self, path: &Path) -> Option<Result<Found, Diagnostic>> {
        self.folders(None)
            .iter()
            .find_map(|folder| folder.find_by_path(path))
    }

    fn problems(&self) -> Vec<Diagnostic> {
        self.root.problem().into_iter().collect()
    }

    /// Adds the folders of all plugins, the list of those that are installed, and the folder in
    /// which plugins come and go.
    fn watch(&self, watched: &mut Watched) {
        let read = self
            .folders
            .get_traced("".as_ref(), |trace| self.read(None, trace));
        watched.add_root(&self.root, &read.trace);
        watched.add_path(&self.root.path.join(INSTALLED));
        for folder in read.value.iter() {
            folder.watch(watched);
        }
    }
}
