//! Which commands and skills a plugin of Claude Code has. Its `plugin.json` may list them, and so may
//! the entry of the plugin in its marketplace. The rules are those of the section "Path behavior
//! rules" in Claude Code's reference for plugins.

use super::installed::{Plugin, read_json};
use crate::library::{Root, Trace};
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
    /// The `plugin.json` and the entry in the marketplace. Each may be null.
    declarations: Vec<Value>,
    /// Whether the source of the plugin is the whole folder of its marketplace. The folder may then
    /// have skills of several plugins.
    is_whole_marketplace: bool,
}

impl Manifest {
    /// Reads what is declared for a plugin.
    pub(super) fn read(root: &Root, plugin: &Plugin, trace: &mut Trace) -> Manifest {
        if root.format.name != "claude-plugins" {
            return Manifest::default();
        }
        let manifest_path = plugin.folder.join(".claude-plugin/plugin.json");
        let manifest = read_json(&manifest_path, &root.reach, trace);
        let entry = marketplace_entry(root, plugin, trace);
        let is_whole_marketplace = matches!(entry["source"].as_str(), Some("./" | "." | ""));
        // With `"strict": false`, the entry alone decides.
        let declarations = if entry["strict"] == false {
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
    /// Listed commands replace the usual folder. Listed skills are added to it, unless the plugin is
    /// a whole marketplace. Without a list and the usual folder, the plugin itself may be a skill.
    pub(super) fn paths(&self, subfolder: &str, plugin_folder: &Path) -> Vec<PathBuf> {
        let usual_folder = plugin_folder.join(subfolder);
        let mut paths = self.listed_paths(subfolder, plugin_folder);
        if paths.is_empty() {
            let lacks_skills = subfolder == "skills" && !usual_folder.is_dir();
            if lacks_skills && self.is_skill(plugin_folder) {
                return vec![plugin_folder.to_owned()];
            }
            return vec![usual_folder];
        }
        let is_list_complete = subfolder == "commands" || self.is_whole_marketplace;
        if !is_list_complete {
            paths.push(usual_folder);
        }
        paths
    }

    /// Returns whether the folder of the plugin is itself a skill. Other agents have no such
    /// plugins.
    fn is_skill(&self, plugin_folder: &Path) -> bool {
        let is_of_claude_code = !self.declarations.is_empty();
        is_of_claude_code && plugin_folder.join(SKILL_FILE).is_file()
    }

    /// Returns the paths that are listed under a key: `"commands": "./a"` or
    /// `"commands": ["./a", "./b.md"]`.
    fn listed_paths(&self, key: &str, plugin_folder: &Path) -> Vec<PathBuf> {
        let mut paths = Vec::new();
        for declaration in &self.declarations {
            let listed = match &declaration[key] {
                Value::Array(listed) => listed.as_slice(),
                single => std::slice::from_ref(single),
            };
            for path in listed.iter().filter_map(Value::as_str) {
                paths.extend(path_inside(plugin_folder, path));
            }
        }
        paths
    }
}

/// Returns the path of `./x/a` in a folder, or `None` if the path is absolute or contains `..`.
fn path_inside(folder: &Path, path: &str) -> Option<PathBuf> {
    let mut inside = folder.to_owned();
    for component in Path::new(path).components() {
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
fn marketplace_entry(root: &Root, plugin: &Plugin, trace: &mut Trace) -> Value {
    let known = read_json(&root.path.join(KNOWN_MARKETPLACES), &root.reach, trace);
    let usual_folder = root.path.join("marketplaces").join(&plugin.marketplace);
    let folder = match known[&plugin.marketplace]["installLocation"].as_str() {
        Some(location) => PathBuf::from(location),
        None => usual_folder,
    };
    for folder in [&folder, &plugin.folder] {
        let mut marketplace = read_json(&folder.join(MARKETPLACE), &root.reach, trace);
        let Some(entries) = marketplace["plugins"].as_array_mut() else {
            continue;
        };
        if let Some(entry) = entries
            .iter_mut()
            .find(|entry| entry["name"] == plugin.name)
        {
            return entry.take();
        }
    }
    Value::Null
}
