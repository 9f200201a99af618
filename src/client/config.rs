//! A config of a client as it was read, and the servers that are registered in it.

use super::hook::is_our_program;
use super::syntax::{Fault, Position, Syntax};
use super::{Client, Scope, Surroundings};
use crate::wording::printable;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// The longest config that is read, in bytes. (Claude Code keeps its history in its own, which may grow to megabytes.)
const MAX_CONFIG: usize = 64 * 1024 * 1024;

/// What some editors put before a text.
pub(super) const BOM: char = '\u{feff}';

/// A file of a client that exists and could be read.
#[derive(Debug, Clone)]
pub struct Config {
    /// Whose it is.
    client: Client,
    /// For whom the client reads it.
    pub(super) scope: Scope,
    /// Where it lies.
    pub path: PathBuf,
    /// All that it says.
    pub value: Value,
    text: String,
    syntax: Syntax,
}

/// Why a config cannot be read, or what in it the client cannot understand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file.
    pub path: PathBuf,
    /// Where in it.
    pub position: Option<Position>,
    /// What is wrong, in lower case.
    pub message: String,
}

/// A server in a config.
#[derive(Debug, Clone, PartialEq)]
pub struct Registration {
    /// Its name.
    pub name: String,
    /// For whom it is registered.
    pub scope: Scope,
    /// The file that it stands in.
    pub path: PathBuf,
    /// Where in it.
    pub position: Option<Position>,
    /// The program that the client starts, as it is written; a name is looked up on `PATH`. `None`: it starts none, as for
    /// a server that has a `url`.
    pub command: Option<String>,
    /// What the program gets.
    pub args: Vec<String>,
    /// What is added to its environment.
    pub env: BTreeMap<String, String>,
    /// The directory that it is started in, if it is not that of the client.
    pub cwd: Option<String>,
    /// Whether the client starts it.
    pub enabled: bool,
    /// All that the config says of it, such as `trust` (Gemini CLI) or `default_tools_approval_mode` (Codex).
    pub entry: Map<String, Value>,
    /// What is written otherwise than the client wants it, in words: `` `args` is a string, and must be a list of strings``.
    pub faults: Vec<String>,
}

impl Config {
    /// Reads a file beside the configs, which says other things of a client. `None`: there is none.
    pub fn read_beside(client: Client, path: PathBuf) -> Result<Option<Config>, ConfigError> {
        Config::read_as(client.hook_syntax(), client, Scope::User, path)
    }

    /// Reads a file. `None`: there is none.
    pub(super) fn read_as(
        syntax: Syntax,
        client: Client,
        scope: Scope,
        path: PathBuf,
    ) -> Result<Option<Config>, ConfigError> {
        let Some(text) = read_text(&path)? else { return Ok(None) };
        let text = text.strip_prefix(BOM).map(str::to_owned).unwrap_or(text);
        let value = syntax.parse(&text).map_err(|fault| ConfigError::of(&path, fault))?;
        let config = Config { client, scope, path, value, text, syntax };
        if !config.value.is_object() {
            return Err(config.error(&[], &format!("it must be an object, and is {}", kind(&config.value))));
        }
        Ok(Some(config))
    }

    /// The servers that it registers for a scope, by name; none, if it says nothing of servers.
    pub fn registrations(&self, scope: Scope, surroundings: &Surroundings) -> Result<Vec<Registration>, ConfigError> {
        let mut keys = self.client.servers(scope, surroundings);
        let mut value = &self.value;
        for (depth, key) in keys.iter().enumerate() {
            let keys = &keys[..=depth];
            match value.get(key) {
                None => return Ok(Vec::new()),
                Some(object) if object.is_object() => value = object,
                Some(other) => {
                    let message = format!("`{}` must be {}, and is {}", keys.join("."), self.object(), kind(other));
                    return Err(self.error(keys, &message));
                }
            }
        }
        // As opencode 2 has it, which reads what is for opencode 1 as well.
        if self.client == Client::Opencode
            && let Some(servers) = value.get("servers").filter(|servers| is_of_servers(servers))
        {
            keys.push("servers".to_owned());
            value = servers;
        }
        let servers = value.as_object().into_iter().flatten();
        let positions = self.syntax.positions(&self.text, &keys);
        let registration =
            |(name, entry): (&String, &Value)| self.registration(scope, name, entry, positions.get(name).copied());
        Ok(servers.map(registration).collect())
    }

    /// Where the value is that these keys lead to, if it is there.
    pub fn position(&self, keys: &[&str]) -> Option<Position> {
        let keys: Vec<String> = keys.iter().map(|&key| key.to_owned()).collect();
        self.syntax.position(&self.text, &keys)
    }

    /// An error at the end of these keys.
    pub(super) fn error(&self, keys: &[String], message: &str) -> ConfigError {
        let position = self.syntax.position(&self.text, keys);
        ConfigError { path: self.path.clone(), position, message: message.to_owned() }
    }

    fn object(&self) -> &'static str {
        if self.syntax == Syntax::Toml { "a table" } else { "an object" }
    }

    fn registration(&self, scope: Scope, name: &str, value: &Value, position: Option<Position>) -> Registration {
        let mut registration = Registration {
            name: name.to_owned(),
            scope,
            path: self.path.clone(),
            position,
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            enabled: true,
            entry: value.as_object().cloned().unwrap_or_default(),
            faults: Vec::new(),
        };
        let Some(entry) = value.as_object() else {
            registration.faults.push(format!("it must be {}, and is {}", self.object(), kind(value)));
            return registration;
        };
        let mut fields = Fields { entry, faults: Vec::new() };
        if self.client == Client::Opencode {
            let mut command = fields.texts("command").into_iter();
            registration.command = command.next();
            registration.args = command.collect();
            registration.env = fields.pairs("environment");
        } else {
            registration.command = fields.text("command");
            registration.args = fields.texts("args");
            registration.env = fields.pairs("env");
        }
        registration.cwd = fields.text("cwd");
        let is_off = |key: &str, off: bool| entry.get(key) == Some(&Value::Bool(off));
        registration.enabled = !is_off("enabled", false) && !is_off("disabled", true);
        if registration.command.is_none()
            && fields.faults.is_empty()
            && !["url", "httpUrl"].iter().any(|key| entry.contains_key(*key))
        {
            fields.faults.push("it has no `command`".to_owned());
        }
        registration.faults = fields.faults;
        registration
    }
}

impl Registration {
    /// Whether it is our program.
    pub fn is_ours(&self) -> bool {
        self.command.as_deref().is_some_and(is_our_program)
    }

    /// What the client starts, as one would type it, or the address that it asks.
    pub fn line(&self) -> String {
        let url = ["url", "httpUrl"].iter().find_map(|key| self.entry.get(*key)?.as_str());
        let words = self.command.as_deref().or(url).into_iter().chain(self.args.iter().map(String::as_str));
        shlex::try_join(words.clone()).unwrap_or_else(|_| words.collect::<Vec<_>>().join(" "))
    }
}

/// The values of an entry, and what is wrong with them.
struct Fields<'e> {
    entry: &'e Map<String, Value>,
    faults: Vec<String>,
}

impl Fields<'_> {
    fn text(&mut self, key: &str) -> Option<String> {
        let value = self.entry.get(key)?;
        if !value.is_string() {
            self.fault(key, "a string", value);
        }
        value.as_str().map(str::to_owned)
    }

    fn texts(&mut self, key: &str) -> Vec<String> {
        let Some(value) = self.entry.get(key) else { return Vec::new() };
        let texts = value.as_array().and_then(|list| list.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        if texts.is_none() {
            self.fault(key, "a list of strings", value);
        }
        texts.unwrap_or_default().into_iter().map(str::to_owned).collect()
    }

    fn pairs(&mut self, key: &str) -> BTreeMap<String, String> {
        let Some(value) = self.entry.get(key).filter(|value| !value.is_null()) else { return BTreeMap::new() };
        let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        let pairs = value.as_object().and_then(|object| object.iter().map(pair).collect());
        if pairs.is_none() {
            self.fault(key, "an object of strings", value);
        }
        pairs.unwrap_or_default()
    }

    fn fault(&mut self, key: &str, wanted: &str, value: &Value) {
        let is = kind(value);
        let is = if wanted.starts_with(is) { format!("{is} of other things") } else { is.to_owned() };
        self.faults.push(format!("`{key}` must be {wanted}, and is {is}"));
    }
}

impl ConfigError {
    pub(super) fn of(path: &Path, Fault { position, message }: Fault) -> ConfigError {
        ConfigError { path: path.to_owned(), position: Some(position), message }
    }

    pub(super) fn without_position(path: &Path, message: impl Into<String>) -> ConfigError {
        ConfigError { path: path.to_owned(), position: None, message: message.into() }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", printable(&self.path.display().to_string()))?;
        if let Some(position) = self.position {
            write!(f, "{position}:")?;
        }
        write!(f, " {}", self.message)
    }
}

impl std::error::Error for ConfigError {}

/// The text of a config. `None`: there is no such file.
pub(super) fn read_text(path: &Path) -> Result<Option<String>, ConfigError> {
    let error = |message: String| ConfigError::without_position(path, message);
    let metadata = match fs::metadata(path) {
        Err(fault) if fault.kind() == ErrorKind::NotFound => return Ok(None),
        Err(fault) if fault.kind() == ErrorKind::NotADirectory => return Ok(None),
        Err(fault) => return Err(error(format!("it cannot be read: {fault}"))),
        Ok(metadata) => metadata,
    };
    if metadata.is_dir() {
        return Err(error("it is a directory, and must be a file".to_owned()));
    }
    if !metadata.is_file() {
        return Err(error("it is no ordinary file".to_owned()));
    }
    let mut bytes = Vec::new();
    let file = fs::File::open(path);
    file.and_then(|file| file.take(MAX_CONFIG as u64 + 1).read_to_end(&mut bytes))
        .map_err(|fault| error(format!("it cannot be read: {fault}")))?;
    if bytes.len() > MAX_CONFIG {
        return Err(error(format!("it is longer than {} MiB, which no config is", MAX_CONFIG / 1024 / 1024)));
    }
    String::from_utf8(bytes).map(Some).map_err(|fault| {
        let valid = &fault.as_bytes()[..fault.utf8_error().valid_up_to()];
        let position = Position::of(valid.len(), &String::from_utf8_lossy(valid));
        let message = "it is not UTF-8; save it as UTF-8 in your editor".to_owned();
        ConfigError { path: path.to_owned(), position: Some(position), message }
    })
}

/// Whether what stands below `mcp.servers` are servers, not the keys of one server of that name.
pub(super) fn is_of_servers(value: &Value) -> bool {
    value.as_object().is_some_and(|servers| !servers.contains_key("type") && servers.values().all(Value::is_object))
}

/// What a value is, with its article.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(client: Client, scope: Scope, text: &str) -> Result<Vec<Registration>, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        fs::write(&path, text).unwrap();
        let surroundings = Surroundings { project: "/p".into(), ..Surroundings::default() };
        let mut config = Config::read_as(client.syntax(), client, scope, path)?.unwrap();
        config.path = "config".into();
        config.registrations(scope, &surroundings)
    }

    /// Each server in a line.
    fn shown(registrations: Vec<Registration>) -> Vec<String> {
        let line = |server: Registration| {
            let place = server.position.unwrap();
            let command = server.command.unwrap_or_default();
            let off = if server.enabled { "" } else { " off" };
            let faults = server.faults.iter().map(|fault| format!(" ({fault})")).collect::<String>();
            format!("{place} {}: {command} {:?} {:?}{off}{faults}", server.name, server.args, server.env)
        };
        registrations.into_iter().map(line).collect()
    }

    #[test]
    fn the_servers_of_each_client_are_read() {
        let json = |key: &str| {
            format!(
                "{{\"{key}\": {{\"prompts\": {{\"command\": \"/p\", \"args\": [\"a\"], \"env\": {{\"E\": \"e\"}}}}}}}}"
            )
        };
        let codex = "[mcp_servers.prompts]\ncommand = '/p'\nargs = ['a']\n[mcp_servers.prompts.env]\nE = 'e'\n";
        let opencode = r#"{"mcp": {"prompts": {"type": "local", "command": ["/p", "a"], "environment": {"E": "e"}}}}"#;
        let opencode_2 = r#"{"mcp": {"servers": {"prompts": {"type": "local", "command": ["/p", "a"], "environment": {"E": "e"}}}}}"#;
        for (client, text, place) in [
            (Client::Codex, codex, "1:14"),
            (Client::ClaudeCode, &json("mcpServers"), "1:17"),
            (Client::GeminiCli, &json("mcpServers"), "1:17"),
            (Client::VsCode, &json("servers"), "1:14"),
            (Client::Cursor, &json("mcpServers"), "1:17"),
            (Client::Opencode, opencode, "1:10"),
            (Client::Opencode, opencode_2, "1:22"),
            (Client::Zed, &json("context_servers"), "1:22"),
        ] {
            let read = shown(read(client, Scope::User, text).unwrap());
            assert_eq!(read, [format!("{place} prompts: /p [\"a\"] {{\"E\": \"e\"}}")], "{client:?}");
        }
    }

    #[test]
    fn what_claude_code_keeps_of_a_project_is_that_of_the_user_there() {
        let text =
            "\u{feff}".to_owned() + r#"{"projects": {"/p": {"mcpServers": {"prompts": {"command": "x"}}}, "/q": {}}}"#;
        let local = read(Client::ClaudeCode, Scope::Local, &text).unwrap();
        assert_eq!((local.len(), local[0].scope), (1, Scope::Local));
        assert_eq!(read(Client::ClaudeCode, Scope::User, &text).unwrap(), []);
    }

    #[test]
    fn a_server_says_what_is_wrong_with_it() {
        let text = r#"{"mcpServers": {
            "a": {"command": ["x"], "args": "y", "env": {"E": 1}},
            "b": "x",
            "c": {"args": []},
            "d": {"url": "http://x", "enabled": false},
            "e": {"command": "x", "args": ["y", 1], "disabled": true}
        }}"#;
        assert_eq!(
            shown(read(Client::Cursor, Scope::User, text).unwrap()),
            [
                "2:13 a:  [] {} (`command` must be a string, and is a list) (`args` must be a list of strings, and is a \
                 string) (`env` must be an object of strings, and is an object of other things)",
                "3:13 b:  [] {} (it must be an object, and is a string)",
                "4:13 c:  [] {} (it has no `command`)",
                "5:13 d:  [] {} off",
                "6:13 e: x [] {} off (`args` must be a list of strings, and is a list of other things)",
            ]
        );
    }

    #[test]
    fn a_config_of_another_kind_is_an_error_with_its_place() {
        for (client, text, want) in [
            (
                Client::ClaudeCode,
                "{\n \"mcpServers\": []}",
                "config:2:2: `mcpServers` must be an object, and is a list",
            ),
            (Client::Codex, "mcp_servers = 'x'", "config:1:1: `mcp_servers` must be a table, and is a string"),
        ] {
            assert_eq!(read(client, Scope::User, text).unwrap_err().to_string(), want);
        }
        for (client, text, want) in [
            (Client::ClaudeCode, "[]", "config:1:1: it must be an object, and is a list"),
            (Client::GeminiCli, "{\"a\": 1,}", "config:1:8: trailing commas are not allowed"),
        ] {
            let error = read(client, Scope::User, text).unwrap_err();
            assert!(error.to_string().ends_with(want), "{error}");
        }
    }

    #[test]
    fn what_is_not_there_is_no_config() {
        let read = |path: &str| Config::read_as(Syntax::Toml, Client::Codex, Scope::User, path.into());
        assert!(read("/nowhere/config.toml").unwrap().is_none());
        assert!(read(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml/config.toml")).unwrap().is_none());
        assert!(read(env!("CARGO_MANIFEST_DIR")).unwrap_err().message.contains("a directory"));
    }
}
