//! Which plugins are installed and enabled.

use crate::input::parse_json_bytes;
use crate::library::{Reach, Root, Trace, is_hidden, read_confined, repository_of};
use crate::prompt::{Diagnostic, Kind};
use crate::whole_file;
use crate::wording::{in_backticks, path_in_backticks};
use serde_json::{Map, Value};
use std::fs;
use std::path::{Path, PathBuf};

/// The file in which Claude Code lists the installed plugins and their folders:
/// `{"plugins": {"NAME@MARKETPLACE": [{"installPath": PATH}]}}`.
const INSTALLED_LIST: &str = "installed_plugins.json";

/// The file in which Gemini CLI records where its extensions are enabled:
/// `{"NAME": {"overrides": ["!/home/me/*", "/home/me/code/*"]}}`.
const EXTENSION_RULES: &str = "extension-enablement.json";

/// A plugin, whose folder may not exist.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Plugin {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    /// The name of its marketplace; empty if it has none.
    pub(super) marketplace: String,
}

/// A folder of plugins, and where they are used.
pub(super) struct Installation<'p> {
    pub(super) root: &'p Root,
    /// The folder in which the agent was started, if that is known.
    pub(super) working_folder: Option<&'p Path>,
}

impl Installation<'_> {
    /// Returns the plugins that are enabled in the working folder, sorted by name. With `only`,
    /// returns those with this name.
    ///
    /// Without a list of installed plugins, every subfolder is a plugin. The subfolder `only` is
    /// one even if it does not exist, so that nobody has to read the folder for it.
    ///
    /// Adds to `problems` the settings and rules that can't be read, and the missing folders.
    ///
    /// # Errors
    /// Fails if there is a list, but it can't be read.
    pub(super) fn plugins(
        &self,
        only: Option<&str>,
        trace: &mut Trace,
        problems: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Plugin>, Diagnostic> {
        trace.record(&self.root.path);
        let list_path = self.root.path.join(INSTALLED_LIST);
        let has_list = trace.record(&list_path).is_some();
        let mut plugins = if has_list {
            self.listed_plugins(&list_path, trace, problems)?
        } else if let Some(name) = only {
            self.plugins_in_subfolders(vec![name.to_owned()], trace, problems)
        } else {
            let names = subfolder_names(&self.root.path);
            self.plugins_in_subfolders(names, trace, problems)
        };
        if let Some(name) = only {
            plugins.retain(|plugin| plugin.name == name);
        }
        plugins.sort();
        Ok(plugins)
    }

    /// Returns the plugins in Claude Code's list that are enabled in the working folder.
    ///
    /// # Errors
    /// The list can't be read.
    fn listed_plugins(
        &self,
        list_path: &Path,
        trace: &mut Trace,
        problems: &mut Vec<Diagnostic>,
    ) -> Result<Vec<Plugin>, Diagnostic> {
        let list = self.read_list(list_path)?;
        let settings = self.settings(trace, problems);
        let mut plugins = Vec::new();
        for (id, installations) in &list {
            if !is_enabled(&settings, id) {
                continue;
            }
            let Some(folder) = self.installed_folder(installations) else {
                continue; // it is only installed for other projects
            };
            if !Path::new(folder).is_dir() {
                problems.push(missing_plugin(list_path, id, folder));
            }
            let (name, marketplace) = id.split_once('@').unwrap_or((id, ""));
            plugins.push(Plugin {
                name: name.to_owned(),
                folder: folder.into(),
                marketplace: marketplace.to_owned(),
            });
        }
        Ok(plugins)
    }

    /// Reads Claude Code's list, and returns the installations of each `NAME@MARKETPLACE`.
    fn read_list(&self, list_path: &Path) -> Result<Map<String, Value>, Diagnostic> {
        let json = read_confined(list_path, &self.root.reach)
            .map_err(|problem| problem.in_file(list_path))?;
        let mut list: Value = match parse_json_bytes(&json) {
            Ok(list) => list,
            Err(error) => return Err(invalid_list(list_path, &error.to_string())),
        };
        match list.get_mut("plugins").map(Value::take) {
            Some(Value::Object(plugins)) => Ok(plugins),
            _ => Err(invalid_list(list_path, "it has no object `plugins`")),
        }
    }

    /// Returns the folder of the first installation that is for the user, or for a project that
    /// contains the working folder. `None` if the plugin is only installed for other projects.
    ///
    /// `installations` is an array or, in the first version of the list, a single object.
    fn installed_folder<'v>(&self, installations: &'v Value) -> Option<&'v str> {
        let installations = match installations {
            Value::Array(several) => several.as_slice(),
            single => std::slice::from_ref(single),
        };
        for installation in installations {
            let is_here = match installation["projectPath"].as_str() {
                Some(project) => self.is_in_project(Path::new(project)),
                None => true,
            };
            if is_here {
                return installation["installPath"].as_str();
            }
        }
        None
    }

    /// Returns whether the working folder is in the folder `project`, after resolving symlinks. It
    /// is not if it is unknown.
    fn is_in_project(&self, project: &Path) -> bool {
        let Some(working_folder) = self.working_folder else {
            return false;
        };
        let project = fs::canonicalize(project).unwrap_or(project.to_owned());
        fs::canonicalize(working_folder).is_ok_and(|folder| folder.starts_with(project))
    }

    /// Returns the settings of Claude Code, those that take precedence first: those of the working
    /// folder and the folders above it in the project, and the user's, which are beside the folder
    /// of plugins.
    fn settings(&self, trace: &mut Trace, problems: &mut Vec<Diagnostic>) -> Vec<Value> {
        let reach = &self.root.reach;
        let mut settings = Vec::new();
        for folder in self.project_folders() {
            for file in [".claude/settings.local.json", ".claude/settings.json"] {
                settings.push(read_json(&folder.join(file), reach, trace, problems));
            }
        }
        let user_settings = self.root.path.with_file_name("settings.json");
        settings.push(read_json(&user_settings, reach, trace, problems));
        settings
    }

    /// Returns the working folder and the folders above it, up to the root of its repository:
    /// `/repo/src` and `/repo`. Outside of a repository, only the working folder. Empty if that is
    /// not known.
    fn project_folders(&self) -> Vec<PathBuf> {
        let Some(working_folder) = self.working_folder else {
            return Vec::new();
        };
        let home = std::env::home_dir();
        let Some(repository) = repository_of(working_folder, home.as_deref()) else {
            return vec![working_folder.to_owned()];
        };
        // The path of the repository has no symlinks.
        let working_folder = fs::canonicalize(working_folder).unwrap_or(working_folder.to_owned());
        working_folder
            .ancestors()
            .take_while(|folder| folder.starts_with(&repository))
            .map(Path::to_owned)
            .collect()
    }

    /// Returns a plugin for each of these subfolders, unless Gemini CLI's rules disable it in the
    /// working folder.
    fn plugins_in_subfolders(
        &self,
        names: Vec<String>,
        trace: &mut Trace,
        problems: &mut Vec<Diagnostic>,
    ) -> Vec<Plugin> {
        let rules_path = self.root.path.join(EXTENSION_RULES);
        let rules = read_json(&rules_path, &self.root.reach, trace, problems);
        let mut plugins = Vec::new();
        for name in names {
            if self.is_allowed_by(&rules[&name]["overrides"]) {
                plugins.push(Plugin {
                    folder: self.root.path.join(&name),
                    name,
                    marketplace: String::new(),
                });
            }
        }
        plugins
    }

    /// Returns whether the rules of an extension enable it in the working folder. The last rule
    /// that covers the folder decides: `["!/home/me/*", "/home/me/code/*"]` enables the extension
    /// in `/home/me/code`, and disables it elsewhere in `/home/me`. Without such a rule, it is
    /// enabled.
    fn is_allowed_by(&self, rules: &Value) -> bool {
        let Some(working_folder) = self.working_folder else {
            return true;
        };
        let mut is_allowed = true;
        for rule in rules.as_array().into_iter().flatten() {
            let rule = rule.as_str().unwrap_or_default();
            let disables = rule.starts_with('!');
            let pattern = rule.strip_prefix('!').unwrap_or(rule);
            if rule_covers(pattern, working_folder) {
                is_allowed = !disables;
            }
        }
        is_allowed
    }
}

/// Returns the names of the subfolders that aren't hidden.
fn subfolder_names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in whole_file::entries_of(folder) {
        let path = entry.path();
        if !path.is_dir() || is_hidden(&path) {
            continue;
        }
        names.extend(entry.file_name().into_string());
    }
    names
}

/// Returns whether a rule of Gemini CLI covers a folder: `/home/me/` covers only that folder, and
/// `/home/me/*` also those in it.
fn rule_covers(pattern: &str, folder: &Path) -> bool {
    let mut folder = folder.to_string_lossy().replace('\\', "/");
    if !folder.starts_with('/') {
        folder.insert(0, '/'); // `C:/x`
    }
    if !folder.ends_with('/') {
        folder.push('/');
    }
    match pattern.strip_suffix('*') {
        Some(parent) => folder.starts_with(parent),
        None => folder == pattern,
    }
}

/// Returns whether Claude Code's settings enable the plugin `NAME@MARKETPLACE`. The first settings
/// that mention the plugin decide. If none do, the plugin is enabled.
fn is_enabled(settings: &[Value], id: &str) -> bool {
    for settings in settings {
        if let Some(is_enabled) = settings["enabledPlugins"][id].as_bool() {
            return is_enabled;
        }
    }
    true
}

/// Returns the error for a list of plugins that can't be used.
fn invalid_list(path: &Path, reason: &str) -> Diagnostic {
    let message = format!("the list of plugins is not valid, so no plugin is served: {reason}");
    let fix = "update a plugin with `/plugin` in Claude Code, which writes the list again";
    Diagnostic::new(Kind::Unreadable, message, fix).in_file(path)
}

/// Returns the problem of a plugin in the list whose folder does not exist.
fn missing_plugin(list_path: &Path, id: &str, folder: &str) -> Diagnostic {
    let id = in_backticks(id);
    let folder = path_in_backticks(Path::new(folder));
    let message = format!("`installPath` of {id} is {folder}, which does not exist");
    let fix = "install the plugin again with `/plugin` in Claude Code, or remove it there";
    Diagnostic::new(Kind::Unreadable, message, fix).in_file(list_path)
}

/// Parses a JSON file, and records it in `trace`. Returns null if it is missing. Returns null and
/// adds to `problems` if it is invalid, can't be read, or is outside of the readable folders.
pub(super) fn read_json(
    path: &Path,
    reach: &Reach,
    trace: &mut Trace,
    problems: &mut Vec<Diagnostic>,
) -> Value {
    if trace.record(path).is_none() {
        return Value::Null;
    }
    let problem = match read_confined(path, reach) {
        Ok(json) => match parse_json_bytes(&json) {
            Ok(value) => return value,
            Err(error) => unusable_part(
                path,
                format!("it is not valid JSON, so it is ignored: {error}"),
            ),
        },
        Err(problem) => {
            trace.mark_uncacheable(); // no stamp reveals that the error is gone
            problem.in_file(path)
        }
    };
    // Several plugins share the list of a marketplace.
    if !problems.contains(&problem) {
        problems.push(problem);
    }
    Value::Null
}

/// Returns the problem of a JSON file of plugins that is ignored, or of a part of it.
pub(super) fn unusable_part(file: &Path, message: String) -> Diagnostic {
    Diagnostic::new(Kind::Unreadable, message, "correct the file").in_file(file)
}
