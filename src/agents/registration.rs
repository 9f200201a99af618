//! The servers that an agent's config registers.

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
pub const SERVER_NAME: &str = "prompts";

/// Where and how an agent registers MCP servers.
pub(super) struct Config {
    pub(super) syntax: ConfigSyntax,
    /// The folder of the user's config files; `None` if it is the agent's settings folder.
    pub(super) user_folder: Option<fn(&System) -> Option<PathBuf>>,
    /// The user's config files, in order of precedence. If none exists, `install` creates the last.
    pub(super) user_files: &'static [&'static str],
    /// A project's config files, relative to the project and in order of precedence. If none
    /// exists, `install` creates the first.
    pub(super) project_files: &'static [&'static str],
    /// The top-level key that contains the servers, such as `mcpServers`.
    pub(super) servers_key: &'static str,
    /// A key below `servers_key` that contains the servers in newer versions of the config.
    pub(super) nested_servers_key: Option<&'static str>,
    /// Returns the path of keys to the servers of [`Scope::Local`] in the user's config; `None` if
    /// the agent doesn't have that scope.
    pub(super) local_servers_keys: Option<fn(&System) -> Vec<String>>,
    /// The contents of a new file.
    pub(super) template: &'static str,
    /// The key of a server's environment variables.
    pub(super) env_key: &'static str,
    /// The key that lets the agent call a server's tools without asking, if there is one.
    pub(super) trust_key: Option<&'static str>,
    /// Whether `command` is a list that contains both the program and its arguments.
    pub(super) command_includes_args: bool,
    /// Builds the same entry as the agent's own `mcp add` command.
    pub(super) new_entry: fn(program: &str, arguments: &[String]) -> Entry,
}

impl Config {
    /// The defaults for agents with a JSON config.
    pub(super) const JSON: Config = Config {
        syntax: ConfigSyntax::Json(JsonSyntax::Lenient),
        user_folder: None,
        user_files: &[],
        project_files: &[],
        servers_key: "mcpServers",
        nested_servers_key: None,
        local_servers_keys: None,
        template: "{}\n",
        env_key: "env",
        trust_key: None,
        command_includes_args: false,
        new_entry: |program, arguments| Entry {
            required: vec![
                ("type", Some(json!("stdio"))),
                ("command", Some(json!(program))),
                ("args", Some(json!(arguments))),
            ],
            initial: Vec::new(),
        },
    };
}

/// A server that is registered in an agent's config.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Registration {
    /// The name of the server.
    pub name: String,
    /// Where the server is available.
    pub scope: Scope,
    /// The config file that registers it.
    pub path: PathBuf,
    /// The position of its entry in the file. Only set if the server is prompt-expander or is named
    /// [`SERVER_NAME`].
    pub position: Option<Position>,
    /// The program to start, exactly as written: a path, or a name to look up on `PATH`. `None` if
    /// the server has a URL instead, or if its entry is invalid.
    pub command: Option<String>,
    /// The arguments of `command`.
    pub args: Vec<String>,
    /// Extra environment variables for the server.
    pub env: BTreeMap<String, String>,
    /// The server's working directory; `None` if it inherits the agent's.
    pub cwd: Option<String>,
    /// Whether the config disables the server.
    pub is_disabled: bool,
    /// All keys of the entry, including agent-specific ones such as Gemini CLI's `trust`.
    pub entry: Map<String, Value>,
    /// Why the agent can't use the entry, e.g. `` `args` must be a list of strings``.
    pub error: Option<String>,
}

/// The command that starts a server.
struct ServerCommand {
    /// `None` if the entry names no program.
    program: Option<String>,
    args: Vec<String>,
}

/// How to start a server. The fields are those of [`Registration`].
struct ServerLaunch {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, String>,
    cwd: Option<String>,
}

/// The servers of one scope in a parsed config.
struct ServerEntries<'v> {
    /// The path of keys to the servers, e.g. `["mcp", "servers"]`.
    keys: Vec<String>,
    /// The entries by server name; `None` if the keys don't exist.
    entries: Option<&'v Map<String, Value>>,
}

impl Config {
    /// Returns the path of keys to the servers of a scope, e.g. `["mcpServers"]`. Ignores
    /// [`nested_servers_key`](Self::nested_servers_key).
    fn server_keys(&self, scope: Scope, system: &System) -> Vec<String> {
        match self.local_servers_keys {
            Some(local_servers_keys) if scope == Scope::Local => local_servers_keys(system),
            _ => vec![self.servers_key.to_owned()],
        }
    }

    /// Finds the servers in a parsed config, e.g. in `{"mcpServers": {"prompts": {…}}}`. They may
    /// be nested one level deeper, as in opencode 2: `{"mcp": {"servers": {"prompts": {…}}}}`.
    ///
    /// # Errors
    /// Fails if the value that should contain the servers isn't an object.
    fn server_entries<'v>(
        &self,
        config: &'v Value,
        scope: Scope,
        system: &System,
    ) -> Result<ServerEntries<'v>, Diagnostic> {
        let mut keys = self.server_keys(scope, system);
        let Some(servers) = value_at(config, &keys) else {
            return Ok(ServerEntries {
                keys,
                entries: None,
            });
        };
        let Some(mut entries) = servers.as_object() else {
            let wanted = self.syntax.object_name();
            let message = format!("`{}` must be {wanted}, but is not", keys.join("."));
            return Err(Diagnostic::new(Kind::Invalid, message, "correct it"));
        };
        if let Some(nested_key) = self.nested_servers_key
            && let Some(nested) = entries.get(nested_key).and_then(as_server_map)
        {
            keys.push(nested_key.to_owned());
            entries = nested;
        }
        Ok(ServerEntries {
            keys,
            entries: Some(entries),
        })
    }

    /// Returns the path of keys to the entry named [`SERVER_NAME`], whether or not it exists.
    pub(super) fn entry_keys(&self, config: &Value, scope: Scope, system: &System) -> Vec<String> {
        let mut keys = match self.server_entries(config, scope, system) {
            Ok(servers) => servers.keys,
            // Editing the config will report the same problem.
            Err(_) => self.server_keys(scope, system),
        };
        keys.push(SERVER_NAME.to_owned());
        keys
    }

    /// Returns the servers that a config file registers for a scope, sorted by name.
    ///
    /// # Errors
    /// Fails if the value that should contain the servers isn't an object. An invalid entry doesn't
    /// fail the whole file: its [`Registration::error`] is set instead.
    pub(super) fn registrations(
        &self,
        file: &ConfigFile,
        scope: Scope,
        system: &System,
    ) -> Result<Vec<Registration>, Diagnostic> {
        let servers = self.server_entries(&file.value, scope, system);
        let ServerEntries { keys, entries } = servers.map_err(|error| {
            let position = file.position(&self.server_keys(scope, system));
            error.with_position(position).in_file(&*file.path)
        })?;
        let Some(entries) = entries else {
            return Ok(Vec::new());
        };
        let mut registrations = Vec::new();
        for (name, entry) in entries {
            let mut registration = Registration {
                name: name.clone(),
                scope,
                path: file.path.clone(),
                ..Registration::default()
            };
            self.parse_entry(entry, &mut registration);
            // Finding a position parses the file again, so skip servers that nobody asks about.
            if name == SERVER_NAME || registration.is_prompt_expander() {
                let entry_keys = [keys.as_slice(), std::slice::from_ref(name)].concat();
                registration.position = file.position(&entry_keys);
            }
            registrations.push(registration);
        }
        registrations.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(registrations)
    }

    /// Parses the entry of a server into its registration. Sets [`Registration::error`] if the
    /// entry is invalid.
    fn parse_entry(&self, value: &Value, registration: &mut Registration) {
        let Some(entry) = value.as_object() else {
            registration.error = Some(format!("it must be {}", self.syntax.object_name()));
            return;
        };
        match self.parse_launch(entry) {
            Ok(ServerLaunch {
                command,
                args,
                env,
                cwd,
            }) => {
                registration.command = command;
                registration.args = args;
                registration.env = env;
                registration.cwd = cwd;
            }
            Err(message) => registration.error = Some(message),
        }
        // Some agents have `enabled`, others `disabled`.
        registration.is_disabled = entry.get("enabled") == Some(&Value::Bool(false))
            || entry.get("disabled") == Some(&Value::Bool(true));
        registration.entry = entry.clone();
    }

    /// Parses how to start a server: its command, arguments, environment and working directory.
    ///
    /// # Errors
    /// Fails with the reason why the agent can't use the entry, e.g. `` `args` must be a list of
    /// strings``.
    fn parse_launch(&self, entry: &Map<String, Value>) -> Result<ServerLaunch, String> {
        let ServerCommand { program, args } = self.parse_command(entry)?;
        let has_url = entry.contains_key("url") || entry.contains_key("httpUrl");
        if program.is_none() && !has_url {
            return Err("it has no `command`".to_owned());
        }
        Ok(ServerLaunch {
            command: program,
            args,
            env: parse_key(entry, self.env_key, "an object of strings")?.unwrap_or_default(),
            cwd: parse_key(entry, "cwd", "a string")?,
        })
    }

    /// Parses the program and its arguments: `"command": "npx", "args": ["-y"]` or, for some
    /// agents, `"command": ["npx", "-y"]`.
    fn parse_command(&self, entry: &Map<String, Value>) -> Result<ServerCommand, String> {
        let list_of_strings = "a list of strings";
        if self.command_includes_args {
            let words: Option<Vec<String>> = parse_key(entry, "command", list_of_strings)?;
            let mut words = words.unwrap_or_default().into_iter();
            return Ok(ServerCommand {
                program: words.next(),
                args: words.collect(),
            });
        }
        let args: Option<Vec<String>> = parse_key(entry, "args", list_of_strings)?;
        Ok(ServerCommand {
            program: parse_key(entry, "command", "a string")?,
            args: args.unwrap_or_default(),
        })
    }
}

/// Returns the value as a map of servers by name, e.g. `{"prompts": {…}}`. Returns `None` if it
/// looks like a single server that happens to be named like the nested key: it has a `type`, or a
/// value that isn't an object, e.g. `{"command": "npx"}`.
fn as_server_map(value: &Value) -> Option<&Map<String, Value>> {
    let entries = value.as_object()?;
    let is_single_server = entries.contains_key("type") || !entries.values().all(Value::is_object);
    if is_single_server {
        None
    } else {
        Some(entries)
    }
}

/// Parses the value of a key in a server's entry. Returns `None` if the key is missing or null.
///
/// # Errors
/// Fails if the value has another type than `T`, which `type_name` describes in the message: ``
/// `args` must be a list of strings``.
fn parse_key<T: DeserializeOwned>(
    entry: &Map<String, Value>,
    key: &str,
    type_name: &str,
) -> Result<Option<T>, String> {
    let Some(value) = entry.get(key) else {
        return Ok(None);
    };
    serde_json::from_value(value.clone()).map_err(|_| format!("`{key}` must be {type_name}"))
}

impl Registration {
    /// Returns whether the server is prompt-expander, judging by the file name of its program.
    pub fn is_prompt_expander(&self) -> bool {
        self.command.as_deref().is_some_and(is_prompt_expander)
    }

    /// Returns the command line that starts the server, quoted for a shell, e.g. `npx 'my server'`.
    /// For a remote server, returns its URL.
    pub fn command_line_or_url(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.command.as_deref().or_else(|| self.url()));
        words.extend(self.args.iter().map(String::as_str));
        // Quoting fails only if a word contains a NUL character.
        shlex::try_join(words.iter().copied()).unwrap_or_else(|_| words.join(" "))
    }

    /// Returns the URL of a remote server. Gemini CLI calls it `url` or `httpUrl`.
    fn url(&self) -> Option<&str> {
        let url = self.entry.get("url").or(self.entry.get("httpUrl"))?;
        url.as_str()
    }

    /// Returns the arguments without `--config FILE` or `--config=FILE`, which `install` itself may
    /// have added: `--config /c --project` becomes `--project`.
    pub fn args_without_config(&self) -> Vec<String> {
        let mut other_args = Vec::new();
        let mut args = self.args.iter();
        while let Some(arg) = args.next() {
            if arg == "--config" {
                args.next(); // skip FILE
            } else if !arg.starts_with("--config=") {
                other_args.push(arg.clone());
            }
        }
        other_args
    }
}
