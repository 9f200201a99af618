//! The prompts of plugins: a folder that has a folder for each plugin, with `commands` and `skills`
//! in it. Such a prompt has the name of its plugin before its own, as in `documents/pdf`.

use super::cache::{Cache, SETTLING, Trace};
use super::folder::Folder;
use super::reach::Reach;
use super::read::read_confined;
use super::root::{Root, is_hidden};
use super::source::{About, Found, Layer, Listing, Source};
use super::watched::Watched;
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
    /// Whether the user named it, so that it is a problem if it is missing.
    is_required: bool,
    /// Of one plugin, or of all, whose key is empty.
    folders: Cache<Arc<Vec<Folder>>>,
}

impl Plugins {
    pub(crate) fn new(
        path: PathBuf,
        format: &'static Format,
        layer: Layer,
        is_required: bool,
        reach: Reach,
    ) -> Plugins {
        let about = About::new(layer, format, Some(path.clone()));
        Plugins {
            about,
            root: Root::new(path, format, reach),
            is_required,
            folders: Cache::new(MAX_KEPT, SETTLING),
        }
    }

    /// The folders of prompts of one plugin, or of all.
    fn folders(&self, plugin: Option<&str>) -> Arc<Vec<Folder>> {
        self.folders
            .get(plugin.unwrap_or_default(), |trace| self.read(plugin, trace))
    }

    fn read(&self, plugin: Option<&str>, trace: &mut Trace) -> Arc<Vec<Folder>> {
        let parts = self
            .root
            .format
            .plugin
            .iter()
            .filter_map(|(part, of)| Some((part, Format::named(of)?)));
        let folders = self
            .plugins(plugin, trace)
            .into_iter()
            .flat_map(|(name, path)| {
                let folder = move |(part, format)| (path.join(part), format, format!("{name}/"));
                parts.clone().map(folder)
            });
        let (layer, reach) = (self.about.layer, &self.root.reach);
        let folder =
            |(path, format, prefix)| Folder::of_plugin(path, format, layer, prefix, reach.clone());
        Arc::new(folders.map(folder).collect())
    }

    /// The name and the folder of each plugin, or of one that may be there, sorted by name.
    fn plugins(&self, only: Option<&str>, trace: &mut Trace) -> Vec<(String, PathBuf)> {
        let (folder, list) = (&self.root.path, self.root.path.join(INSTALLED));
        trace.look(folder);
        trace.look(&list);
        let installed = read_confined(&list, &self.root.reach)
            .ok()
            .and_then(|json| serde_json::from_slice::<Value>(&json).ok());
        let mut plugins = match installed.as_ref().map(|installed| &installed["plugins"]) {
            Some(Value::Object(plugins)) => {
                let plugin = |(name, entry): (&String, &Value)| {
                    let entry = entry.get(0).unwrap_or(entry); // several of one plugin are for different projects
                    Some((
                        name.split('@').next()?.to_owned(),
                        entry["installPath"].as_str()?.into(),
                    ))
                };
                plugins.iter().filter_map(plugin).collect::<Vec<_>>()
            }
            _ if let Some(name) = only => vec![(name.to_owned(), folder.join(name))],
            _ => {
                let paths = fs::read_dir(folder)
                    .into_iter()
                    .flatten()
                    .flatten()
                    .map(|entry| entry.path());
                let name = |path: PathBuf| Some((path.file_name()?.to_str()?.to_owned(), path));
                paths
                    .filter(|path| path.is_dir() && !is_hidden(path))
                    .filter_map(name)
                    .collect()
            }
        };
        plugins.retain(|(name, path)| {
            only.is_none_or(|only| name == only) && self.root.reach.check(path).is_ok()
        });
        plugins.sort();
        plugins
    }
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
            problems: self.health(false),
            ..Listing::default()
        };
        own.with(self.folders(None).iter().map(Source::list))
    }

    fn at(&self, path: &Path) -> Option<Result<Found, Diagnostic>> {
        self.folders(None).iter().find_map(|folder| folder.at(path))
    }

    fn health(&self, _: bool) -> Vec<Diagnostic> {
        self.root.missing(self.is_required).into_iter().collect()
    }

    fn watch(&self, watched: &mut Watched) {
        let read = self
            .folders
            .with_trace("".as_ref(), |trace| self.read(None, trace));
        watched.add(&self.root, &read.0);
        watched.add_path(&self.root.path.join(INSTALLED));
        read.1.iter().for_each(|folder| folder.watch(watched));
    }
}
