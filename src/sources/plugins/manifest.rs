//! Which commands and skills a plugin of Claude Code has. Its `plugin.json` may list them, and so
//! may the entry of the plugin in its marketplace. The rules are those of the section "Path
//! behavior rules" in Claude Code's reference for plugins.

use super::installed::{Plugin, read_json, unusable_part};
use crate::library::{Root, Trace};
use crate::prompt::Diagnostic;
use crate::wording::in_backticks;
use serde_json::Value;
use std::path::{Component, Path, PathBuf};

/// The file in which Claude Code records where the marketplaces are:
/// `{"NAME": {"installLocation": PATH}}`.
const KNOWN_MARKETPLACES: &str = "known_marketplaces.json";

/// The list of the plugins of a marketplace: `{"plugins": [{"name": …, "source": "./"}]}`.
const MARKETPLACE: &str = ".claude-plugin/marketplace.json";

/// The file that makes its folder a skill.
pub(super) const SKILL_FILE: &str = "SKILL.md";

/// What a plugin of Claude Code says about its prompts. Empty for the plugins of other agents.
#[derive(Debug, Default)]
pub(super) struct Manifest {
    /// The `plugin.json` and the entry in the marketplace.
    declarations: Vec<Declaration>,
    /// Whether the source of the plugin is the whole folder of its marketplace. The folder may then
    /// have skills of several plugins.
    is_whole_marketplace: bool,
}

/// A JSON object that may list the prompts of a plugin.
#[derive(Debug, Default)]
struct Declaration {
    /// The file that contains it.
    file: PathBuf,
    /// Null if there is none.
    object: Value,
}

/// A file or folder that may contain prompts.
#[derive(Debug)]
pub(super) struct PromptPath {
    pub(super) path: PathBuf,
    /// The name of the command, if it isn't that of the file.
    pub(super) name: Option<String>,
}

impl From<PathBuf> for PromptPath {
    fn from(path: PathBuf) -> PromptPath {
        PromptPath { path, name: None }
    }
}

impl Manifest {
    /// Reads what is declared for a plugin. Adds to `problems` the files that can't be read.
    pub(super) fn read(
        root: &Root,
        plugin: &Plugin,
        trace: &mut Trace,
        problems: &mut Vec<Diagnostic>,
    ) -> Manifest {
        if root.format.name != "claude-plugins" {
            return Manifest::default();
        }
        let manifest_path = plugin.folder.join(".claude-plugin/plugin.json");
        let manifest = Declaration {
            object: read_json(&manifest_path, &root.reach, trace, problems),
            file: manifest_path,
        };
        let entry = marketplace_entry(root, plugin, trace, problems);
        let is_whole_marketplace = matches!(entry.object["source"].as_str(), Some("./" | "." | ""));
        // With `"strict": false`, the entry alone decides.
        let declarations = if entry.object["strict"] == false {
            vec![entry]
        } else {
            vec![manifest, entry]
        };
        Manifest {
            declarations,
            is_whole_marketplace,
        }
    }

    /// Returns the files and folders that may contain prompts. `subfolder` is `commands` or
    /// `skills`, which is both the usual folder and the key of a list of paths.
    ///
    /// Listed commands replace the usual folder. Listed skills are added to it, unless the plugin
    /// is a whole marketplace. Without a list and the usual folder, the plugin itself may be a
    /// skill.
    ///
    /// Adds to `problems` what a list contains that is no path in the plugin, or a missing one.
    pub(super) fn paths(
        &self,
        subfolder: &str,
        plugin_folder: &Path,
        problems: &mut Vec<Diagnostic>,
    ) -> Vec<PromptPath> {
        let usual_folder = plugin_folder.join(subfolder);
        let mut paths = self.listed_paths(subfolder, plugin_folder, problems);
        if paths.is_empty() {
            let lacks_skills = subfolder == "skills" && !usual_folder.is_dir();
            if lacks_skills && self.is_skill(plugin_folder) {
                return vec![plugin_folder.to_owned().into()];
            }
            return vec![usual_folder.into()];
        }
        let is_list_complete = subfolder == "commands" || self.is_whole_marketplace;
        if !is_list_complete {
            paths.push(usual_folder.into());
        }
        paths
    }

    /// Returns whether the folder of the plugin is itself a skill. Other agents have no such
    /// plugins.
    fn is_skill(&self, plugin_folder: &Path) -> bool {
        let is_of_claude_code = !self.declarations.is_empty();
        is_of_claude_code && plugin_folder.join(SKILL_FILE).is_file()
    }

    /// Returns the paths that are listed under a key: `"commands": "./a"`,
    /// `"commands": ["./a", "./b.md"]` or `"commands": {"name": {"source": "./a.md"}}`.
    fn listed_paths(
        &self,
        key: &str,
        plugin_folder: &Path,
        problems: &mut Vec<Diagnostic>,
    ) -> Vec<PromptPath> {
        let mut paths = Vec::new();
        for declaration in &self.declarations {
            for entry in listed_entries(&declaration.object[key]) {
                let Some(path) = path_inside(plugin_folder, entry.path) else {
                    problems.push(unusable_part(&declaration.file, entry.no_path_message(key)));
                    continue;
                };
                if !path.exists() {
                    let message = format!("`{key}` lists {}, which does not exist", entry.value);
                    problems.push(unusable_part(&declaration.file, message));
                }
                let name = entry.name.map(str::to_owned);
                paths.push(PromptPath { path, name });
            }
        }
        paths
    }
}

/// An entry of a list of paths in a manifest.
struct ListedEntry<'v> {
    /// The name of the command, if the manifest gives it one.
    name: Option<&'v str>,
    /// The whole entry, for messages.
    value: &'v Value,
    /// The path as it is written, or `None` if the entry has none.
    path: Option<&'v str>,
}

impl ListedEntry<'_> {
    /// Returns the entry for an element of an array, or for a single value, which should be a path.
    fn without_name(value: &Value) -> ListedEntry<'_> {
        ListedEntry {
            name: None,
            value,
            path: value.as_str(),
        }
    }

    /// Returns the message for an entry under `key` that has no path in the plugin.
    fn no_path_message(&self, key: &str) -> String {
        match self.name {
            Some(name) if self.path.is_none() => {
                let name = in_backticks(name);
                format!("`{key}` has no `source` for {name}, so the command is ignored")
            }
            _ => format!(
                "`{key}` lists {}, which is not a path in the plugin",
                self.value
            ),
        }
    }
}

/// Returns the entries under a key: the elements of an array, the members of an object from names
/// to `{"source": PATH}`, or else the value itself. Null has none.
fn listed_entries(listed: &Value) -> Vec<ListedEntry<'_>> {
    match listed {
        Value::Null => Vec::new(),
        Value::Array(values) => values.iter().map(ListedEntry::without_name).collect(),
        Value::Object(commands) => {
            let mut entries = Vec::new();
            for (name, value) in commands {
                entries.push(ListedEntry {
                    name: Some(name),
                    value,
                    path: value["source"].as_str(),
                });
            }
            entries
        }
        single => vec![ListedEntry::without_name(single)],
    }
}

/// Returns the path of `./x/a` in a folder, or `None` if there is no path, or if it is absolute or
/// contains `..`.
fn path_inside(folder: &Path, path: Option<&str>) -> Option<PathBuf> {
    let mut inside = folder.to_owned();
    for component in Path::new(path?).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(part) => inside.push(part),
            _ => return None,
        }
    }
    Some(inside)
}

/// Returns the entry of a plugin in its marketplace, or null. The list of the marketplace is in its
/// folder. If that is gone, a plugin that is a whole marketplace has a copy of the list.
fn marketplace_entry(
    root: &Root,
    plugin: &Plugin,
    trace: &mut Trace,
    problems: &mut Vec<Diagnostic>,
) -> Declaration {
    let known_path = root.path.join(KNOWN_MARKETPLACES);
    let known = read_json(&known_path, &root.reach, trace, problems);
    let usual_folder = root.path.join("marketplaces").join(&plugin.marketplace);
    let folder = match known[&plugin.marketplace]["installLocation"].as_str() {
        Some(location) => PathBuf::from(location),
        None => usual_folder,
    };
    for folder in [&folder, &plugin.folder] {
        let file = folder.join(MARKETPLACE);
        let mut marketplace = read_json(&file, &root.reach, trace, problems);
        let Some(entries) = marketplace["plugins"].as_array_mut() else {
            continue;
        };
        if let Some(entry) = entries
            .iter_mut()
            .find(|entry| entry["name"] == plugin.name)
        {
            let object = entry.take();
            return Declaration { file, object };
        }
    }
    Declaration::default()
}
