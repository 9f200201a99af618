//! How the config of an agent registers servers, and a server in it.

use super::config_file::ConfigFile;
use super::edit::{Entry, JsonSyntax, Syntax};
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
    pub(super) syntax: Syntax,
    /// The folder of the user's files, if it is not the one with the settings.
    pub(super) folder: Option<fn(&System) -> Option<PathBuf>>,
    /// The user's files in that folder, the one that takes precedence first. `install` creates the
    /// last if none exists.
    pub(super) user: &'static [&'static str],
    /// A project's files, relative to its folder. `install` creates the first if none exists.
    pub(super) project: &'static [&'static str],
    /// The key of the servers.
    pub(super) servers: &'static str,
    /// A key below it that has the servers instead, if it exists.
    pub(super) nested_servers: Option<&'static str>,
    /// The keys of the user's servers for one project, in the user's file.
    pub(super) local_servers: Option<fn(&System) -> Vec<String>>,
    /// What a new file contains.
    pub(super) template: &'static str,
    /// The key of a server's environment.
    pub(super) env: &'static str,
    /// The key of a server whose tools the agent calls without asking.
    pub(super) trust: Option<&'static str>,
    /// Whether `command` is a list that includes the arguments.
    pub(super) has_command_list: bool,
    /// What the agent's own `mcp add` writes for this program with these arguments.
    pub(super) entry: fn(program: &str, arguments: &[String]) -> Entry,
}

impl Config {
    /// What most configs in JSON have in common.
    pub(super) const JSON: Config = Config {
        syntax: Syntax::Json(JsonSyntax {
            comments: true,
            trailing_commas: true,
        }),
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
    /// it starts none, as for a server with a `url`.
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
    /// What the agent cannot use: `` `args` must be a list of strings``.
    pub error: Option<String>,
}

impl Config {
    /// The keys that lead to the servers in a config.
    fn server_keys(&self, scope: Scope, system: &System) -> Vec<String> {
        match (scope, self.local_servers) {
            (Scope::Local, Some(keys)) => keys(system),
            _ => vec![self.servers.to_owned()],
        }
    }

    /// The keys that lead to the servers in a config with this value, and the servers; an error if
    /// they are no object.
    fn servers<'v>(
        &self,
        value: &'v Value,
        scope: Scope,
        system: &System,
    ) -> Result<(Vec<String>, Option<&'v Value>), Diagnostic> {
        let mut keys = self.server_keys(scope, system);
        let Some(servers) = keys.iter().try_fold(value, |value, key| value.get(key)) else {
            return Ok((keys, None));
        };
        if !servers.is_object() {
            let message = format!("`{}` must be {}, but is not", keys.join("."), self.object());
            return Err(Diagnostic::new(Kind::Invalid, message, "correct it"));
        }
        // The servers may be one level deeper; not those of a server that has the name of that
        // level.
        let are_servers = |nested: &&Value| {
            nested.get("type").is_none()
                && nested
                    .as_object()
                    .is_some_and(|nested| nested.values().all(Value::is_object))
        };
        let nested = self
            .nested_servers
            .and_then(|key| Some((key, servers.get(key).filter(are_servers)?)));
        keys.extend(nested.map(|(key, _)| key.to_owned()));
        Ok((keys, Some(nested.map_or(servers, |(_, nested)| nested))))
    }

    /// What a map of keys is called in the syntax of the config.
    fn object(&self) -> &'static str {
        if self.syntax == Syntax::Toml {
            "a table"
        } else {
            "an object"
        }
    }

    /// The keys that lead to the server of this program in a config with this value.
    pub(super) fn entry_keys(&self, value: &Value, scope: Scope, system: &System) -> Vec<String> {
        let servers = self.servers(value, scope, system);
        let mut keys = servers.map_or_else(|_| self.server_keys(scope, system), |(keys, _)| keys);
        keys.push(SERVER.to_owned());
        keys
    }

    /// The servers that a config registers for a scope, by name.
    pub(super) fn registrations(
        &self,
        file: &ConfigFile,
        scope: Scope,
        system: &System,
    ) -> Result<Vec<Registration>, Diagnostic> {
        let (mut keys, servers) = self.servers(&file.value, scope, system).map_err(|error| {
            error
                .at(file.position(&self.server_keys(scope, system)))
                .in_file(&*file.path)
        })?;
        let servers: BTreeMap<_, _> = servers
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .collect(); // sorted by name
        let read = servers.into_iter().map(|(name, entry)| {
            let mut server = Registration {
                name: name.clone(),
                scope,
                path: file.path.clone(),
                ..self.registration(entry)
            };
            if server.name == SERVER || server.is_prompt_expander() {
                keys.push(name.clone());
                server.position = file.position(&keys);
                keys.pop();
            }
            server
        });
        Ok(read.collect())
    }

    /// The content of an entry, without name and position.
    fn registration(&self, value: &Value) -> Registration {
        let Some(entry) = value.as_object() else {
            let error = Some(format!("it must be {}", self.object()));
            return Registration {
                error,
                ..Registration::default()
            };
        };
        let is_disabled = entry.get("enabled") == Some(&Value::Bool(false))
            || entry.get("disabled") == Some(&Value::Bool(true));
        let read = self.what_is_started(entry);
        let read = read.unwrap_or_else(|error| Registration {
            error: Some(error),
            ..Registration::default()
        });
        Registration {
            is_disabled,
            entry: entry.clone(),
            ..read
        }
    }

    /// What an entry starts, or why the agent cannot use it.
    fn what_is_started(&self, entry: &Map<String, Value>) -> Result<Registration, String> {
        let texts = |key| {
            typed::<Vec<String>>(entry, key, "a list of strings").map(Option::unwrap_or_default)
        };
        let (command, args) = if self.has_command_list {
            let mut words = texts("command")?.into_iter();
            (words.next(), words.collect())
        } else {
            (typed(entry, "command", "a string")?, texts("args")?)
        };
        let env = typed(entry, self.env, "an object of strings")?.unwrap_or_default();
        let cwd = typed(entry, "cwd", "a string")?;
        let has_url = ["url", "httpUrl"]
            .iter()
            .any(|key| entry.contains_key(*key));
        let is_useless = command.is_none() && !has_url;
        let error = is_useless.then(|| "it has no `command`".to_owned());
        Ok(Registration {
            command,
            args,
            env,
            cwd,
            error,
            ..Registration::default()
        })
    }
}

/// The value of a key, which must be what is `wanted`.
fn typed<T: DeserializeOwned>(
    entry: &Map<String, Value>,
    key: &str,
    wanted: &str,
) -> Result<Option<T>, String> {
    let value = entry.get(key).cloned().unwrap_or_default();
    serde_json::from_value(value).map_err(|_| format!("`{key}` must be {wanted}"))
}

impl Registration {
    /// Whether the agent starts prompt-expander, by the name of its program.
    pub fn is_prompt_expander(&self) -> bool {
        self.command.as_deref().is_some_and(is_prompt_expander)
    }

    /// The command that the agent starts, quoted for a shell, or the URL that it uses.
    pub fn line(&self) -> String {
        let url = ["url", "httpUrl"]
            .iter()
            .find_map(|key| self.entry.get(*key)?.as_str());
        let words = self
            .command
            .as_deref()
            .or(url)
            .into_iter()
            .chain(self.args.iter().map(String::as_str));
        shlex::try_join(words.clone()).unwrap_or_else(|_| words.collect::<Vec<_>>().join(" "))
    }

    /// Its arguments but the settings file that `install` names.
    pub fn options(&self) -> Vec<String> {
        without_config(&self.args)
    }
}

/// Arguments without `--config FILE`.
pub(super) fn without_config(arguments: &[String]) -> Vec<String> {
    let mut words = arguments.iter();
    let mut others = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--config" => _ = words.next(),
            word if word.starts_with("--config=") => {}
            _ => others.push(word.clone()),
        }
    }
    others
}
