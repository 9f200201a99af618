//! How the config of an agent registers servers, and a server in it.

use super::config_file::ConfigFile;
use super::config_text::{ConfigSyntax, Entry, JsonSyntax, value_at};
use super::environment::{Scope, System};
use super::hook_line::is_prompt_expander;
use crate::prompt::{Diagnostic, Kind, Position};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The name under which `install` registers the server.
pub const SERVER: &str = "prompts";

/// The files in which an agent registers servers.
pub(super) struct Config {
    pub(super) syntax: ConfigSyntax,
    /// The folder of the user's files, if it is not the one with the settings.
    pub(super) folder: Option<fn(&System) -> Option<PathBuf>>,
    /// The user's files in that folder, the one that takes precedence first. `install` creates the
    /// last if none exists.
    pub(super) user: &'static [&'static str],
    /// A project's files, relative to its folder. `install` creates the first if none exists.
    pub(super) project: &'static [&'static str],
    /// The key of the servers.
    pub(super) servers: &'static str,
    /// A key below `servers` that has the servers instead, if it exists.
    pub(super) nested_servers: Option<&'static str>,
    /// Returns the keys of the user's servers for one project, in the user's file.
    pub(super) local_servers: Option<fn(&System) -> Vec<String>>,
    /// What a new file contains.
    pub(super) template: &'static str,
    /// The key of a server's environment.
    pub(super) env: &'static str,
    /// The key of a server whose tools the agent calls without asking.
    pub(super) trust: Option<&'static str>,
    /// Whether `command` is a list that includes the arguments.
    pub(super) has_command_list: bool,
    /// Returns the entry that the agent's own `mcp add` writes.
    pub(super) entry: fn(program: &str, arguments: &[String]) -> Entry,
}

impl Config {
    /// The facts that most configs in JSON share.
    pub(super) const JSON: Config = Config {
        syntax: ConfigSyntax::Json(JsonSyntax::Lenient),
        folder: None,
        user: &[],
        project: &[],
        servers: "mcpServers",
        nested_servers: None,
        local_servers: None,
        template: "{}\n",
        env: "env",
        trust: None,
        has_command_list: false,
        entry: |program, arguments| Entry {
            required: vec![
                ("type", Some(json!("stdio"))),
                ("command", Some(json!(program))),
                ("args", Some(json!(arguments))),
            ],
            initial: Vec::new(),
        },
    };
}

/// A server in the config of an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Registration {
    /// Its name.
    pub name: String,
    /// For whom it is registered.
    pub scope: Scope,
    /// The config.
    pub path: PathBuf,
    /// The position in the config, if the server is prompt-expander or has its name.
    pub position: Option<Position>,
    /// The program that the agent starts, as it is written; a name is looked up on `PATH`. `None`:
    /// the server has a URL, or its entry is unusable.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// The variables that are added to its environment.
    pub env: BTreeMap<String, String>,
    /// The directory in which it is started, if not in the agent's.
    pub cwd: Option<String>,
    /// Whether it is disabled in the config.
    pub is_disabled: bool,
    /// The entry in full, such as `trust` (Gemini CLI).
    pub entry: Map<String, Value>,
    /// Why the agent cannot use the entry, such as `` `args` must be a list of strings``.
    pub error: Option<String>,
}

/// The servers of a scope in the value of a config.
struct ServerEntries<'v> {
    /// The keys that lead to the servers.
    keys: Vec<String>,
    /// The servers by name. `None`: nothing is at the end of the keys.
    entries: Option<&'v Map<String, Value>>,
}

impl Config {
    /// Returns the keys that lead to the servers in a config, such as `mcpServers`.
    fn server_keys(&self, scope: Scope, system: &System) -> Vec<String> {
        match self.local_servers {
            Some(keys) if scope == Scope::Local => keys(system),
            _ => vec![self.servers.to_owned()],
        }
    }

    /// Finds the servers in the value of a config, such as `{"mcpServers": {"prompts": {…}}}`. They
    /// may be one level deeper, as in opencode 2, which has them in `mcp.servers`.
    ///
    /// # Errors
    /// They are no object.
    fn server_entries<'v>(
        &self,
        value: &'v Value,
        scope: Scope,
        system: &System,
    ) -> Result<ServerEntries<'v>, Diagnostic> {
        let mut keys = self.server_keys(scope, system);
        let Some(servers) = value_at(value, &keys) else {
            return Ok(ServerEntries {
                keys,
                entries: None,
            });
        };
        let Some(mut entries) = servers.as_object() else {
            let message = format!("`{}` must be {}, but is not", keys.join("."), self.object());
            return Err(Diagnostic::new(Kind::Invalid, message, "correct it"));
        };
        if let Some(key) = self.nested_servers
            && let Some(nested) = entries.get(key).and_then(nested_entries)
        {
            keys.push(key.to_owned());
            entries = nested;
        }
        Ok(ServerEntries {
            keys,
            entries: Some(entries),
        })
    }

    /// Returns what a map of keys is called in the syntax of the config.
    fn object(&self) -> &'static str {
        if self.syntax == ConfigSyntax::Toml {
            "a table"
        } else {
            "an object"
        }
    }

    /// Returns the keys that lead to the server of this program in a config with this value.
    pub(super) fn entry_keys(&self, value: &Value, scope: Scope, system: &System) -> Vec<String> {
        let mut keys = match self.server_entries(value, scope, system) {
            Ok(servers) => servers.keys,
            Err(_) => self.server_keys(scope, system),
        };
        keys.push(SERVER.to_owned());
        keys
    }

    /// Returns the servers that a config registers for a scope, by name.
    ///
    /// # Errors
    /// The servers are no object. A server that the agent cannot use is no error here: it has an
    /// error of its own.
    pub(super) fn registrations(
        &self,
        file: &ConfigFile,
        scope: Scope,
        system: &System,
    ) -> Result<Vec<Registration>, Diagnostic> {
        let servers = self.server_entries(&file.value, scope, system);
        let ServerEntries { mut keys, entries } = servers.map_err(|error| {
            let position = file.position(&self.server_keys(scope, system));
            error.with_position(position).in_file(&*file.path)
        })?;
        let mut registrations = Vec::new();
        for (name, entry) in entries.into_iter().flatten() {
            let mut server = self.registration(entry);
            server.name.clone_from(name);
            server.scope = scope;
            server.path.clone_from(&file.path);
            if server.name == SERVER || server.is_prompt_expander() {
                keys.push(name.clone());
                server.position = file.position(&keys);
                keys.pop();
            }
            registrations.push(server);
        }
        registrations.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(registrations)
    }

    /// Reads the entry of a server, without its name and its place.
    fn registration(&self, value: &Value) -> Registration {
        let Some(entry) = value.as_object() else {
            let message = format!("it must be {}", self.object());
            return Registration::unusable(message);
        };
        let mut server = match self.read_entry(entry) {
            Ok(server) => server,
            Err(message) => Registration::unusable(message),
        };
        server.is_disabled = entry.get("enabled") == Some(&Value::Bool(false))
            || entry.get("disabled") == Some(&Value::Bool(true));
        server.entry = entry.clone();
        server
    }

    /// Reads the command of a server, its arguments, its environment and its directory.
    ///
    /// # Errors
    /// Why the agent cannot use the entry, such as `` `args` must be a list of strings``.
    fn read_entry(&self, entry: &Map<String, Value>) -> Result<Registration, String> {
        let list_key = if self.has_command_list {
            "command"
        } else {
            "args"
        };
        let list: Option<Vec<String>> = member(entry, list_key, "a list of strings")?;
        let mut args = list.unwrap_or_default();
        let command = if !self.has_command_list {
            member(entry, "command", "a string")?
        } else if args.is_empty() {
            None
        } else {
            Some(args.remove(0))
        };
        let has_url = entry.contains_key("url") || entry.contains_key("httpUrl");
        if command.is_none() && !has_url {
            return Err("it has no `command`".to_owned());
        }
        Ok(Registration {
            command,
            args,
            env: member(entry, self.env, "an object of strings")?.unwrap_or_default(),
            cwd: member(entry, "cwd", "a string")?,
            ..Registration::default()
        })
    }
}

/// Returns the servers by name in an object such as `{"prompts": {…}}`. `None`: the object is a
/// server itself, because it has a `type`, or a value that is no object: `{"command": "npx"}`.
fn nested_entries(value: &Value) -> Option<&Map<String, Value>> {
    let entries = value.as_object()?;
    let is_server = entries.contains_key("type") || !entries.values().all(Value::is_object);
    if is_server { None } else { Some(entries) }
}

/// Returns the value of a key in the entry of a server. `None`: it is absent, or null.
///
/// # Errors
/// It is not of the type that `type_name` describes: `` `args` must be a list of strings``.
fn member<T: DeserializeOwned>(
    entry: &Map<String, Value>,
    key: &str,
    type_name: &str,
) -> Result<Option<T>, String> {
    let value = entry.get(key).cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|_| format!("`{key}` must be {type_name}"))
}

impl Registration {
    /// Returns a server whose entry the agent cannot use.
    fn unusable(error: String) -> Registration {
        Registration {
            error: Some(error),
            ..Registration::default()
        }
    }

    /// Returns whether the agent starts prompt-expander, by the name of its program.
    pub fn is_prompt_expander(&self) -> bool {
        self.command.as_deref().is_some_and(is_prompt_expander)
    }

    /// Returns the command that the agent starts, quoted for a shell, as in `npx 'my server'`, or
    /// the URL that it uses.
    pub fn line(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.command.as_deref().or_else(|| self.url()));
        words.extend(self.args.iter().map(String::as_str));
        // What cannot be quoted, because it has a NUL character, is not quoted.
        shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "))
    }

    /// Returns the URL of the server, as `url` or `httpUrl` (Gemini CLI).
    fn url(&self) -> Option<&str> {
        let url = self.entry.get("url").or(self.entry.get("httpUrl"))?;
        url.as_str()
    }

    /// Returns the arguments without `--config FILE` and `--config=FILE`, which `install` may
    /// write:
    /// `--config /c --project` → `--project`.
    pub fn options(&self) -> Vec<String> {
        let mut words = self.args.iter();
        let mut options = Vec::new();
        while let Some(word) = words.next() {
            if word == "--config" {
                words.next(); // the file
            } else if !word.starts_with("--config=") {
                options.push(word.clone());
            }
        }
        options
    }
}
