//! A server in the config of an agent, and the arguments of this program in it.

use super::hook_line::is_prompt_expander;
use super::http_server::{is_endpoint, is_variable};
use super::{Agent, ConfigError, ConfigFile, Position, SERVER, Scope, System, Token};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A server in the config of an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Registration {
    /// Its name.
    pub name: String,
    /// For whom it is registered.
    pub scope: Scope,
    /// The config.
    pub path: PathBuf,
    /// The position in the config.
    pub position: Option<Position>,
    /// The program that the agent starts, as it is written; a name is looked up on `PATH`. `None`: it starts none, as for a
    /// server with a `url`.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// The URL of a server that the agent does not start, as it is written.
    pub url: Option<String>,
    /// The token that the agent sends there.
    pub token: Option<Token>,
    /// The variables that are added to its environment.
    pub env: BTreeMap<String, String>,
    /// The directory in which it is started, if not in the agent's.
    pub cwd: Option<String>,
    /// Whether it is disabled in the config.
    pub is_disabled: bool,
    /// The entry in full, such as `trust` (Gemini CLI) or `default_tools_approval_mode` (Codex).
    pub entry: Map<String, Value>,
    /// What the agent cannot use: `` `args` is a string, and must be a list of strings``.
    pub errors: Vec<String>,
}

impl Agent {
    /// The servers that one of its configs registers for a scope, by name.
    pub fn registrations(
        &self,
        file: &ConfigFile,
        scope: Scope,
        system: &System,
    ) -> Result<Vec<Registration>, ConfigError> {
        let mut keys = self.server_keys(scope, system);
        let mut value = &file.value;
        for (depth, key) in keys.iter().enumerate() {
            let keys = &keys[..=depth];
            match value.get(key) {
                None => return Ok(Vec::new()),
                Some(object) if object.is_object() => value = object,
                Some(other) => {
                    let (object, kind) = (file.syntax.object(), kind(other));
                    return Err(file.error(keys, &format!("`{}` must be {object}, but is {kind}", keys.join("."))));
                }
            }
        }
        if let Some((key, servers)) = self.nested_servers(value) {
            keys.push(key.to_owned());
            value = servers;
        }
        let positions = file.positions(&keys);
        let servers: BTreeMap<_, _> = value.as_object().into_iter().flatten().collect(); // sorted by name
        Ok(servers
            .into_iter()
            .map(|(name, entry)| Registration {
                name: name.clone(),
                scope,
                path: file.path.clone(),
                position: positions.get(name).copied(),
                ..self.registration(entry, file)
            })
            .collect())
    }

    /// The servers one level deeper, where the agent allows that; not a server that has the name of that level.
    pub(super) fn nested_servers<'v>(&self, servers: &'v Value) -> Option<(&'static str, &'v Value)> {
        let key = self.config.nested_servers?;
        let nested = servers.get(key)?;
        let are_servers = |nested: &Map<_, _>| !nested.contains_key("type") && nested.values().all(Value::is_object);
        nested.as_object().is_some_and(are_servers).then_some((key, nested))
    }

    /// The content of an entry, without name and position.
    fn registration(&self, value: &Value, file: &ConfigFile) -> Registration {
        let Some(entry) = value.as_object() else {
            let error = format!("it must be {}, but is {}", file.syntax.object(), kind(value));
            return Registration { errors: vec![error], ..Registration::default() };
        };
        let mut fields = Fields { entry, errors: Vec::new() };
        let (command, args) = if self.config.has_command_list {
            let mut words = fields.texts("command").into_iter();
            (words.next(), words.collect())
        } else {
            (fields.text("command"), fields.texts("args"))
        };
        let env = fields.pairs(self.config.env);
        let cwd = fields.text("cwd");
        let mut errors = fields.errors;
        let has_url = ["url", "httpUrl"].iter().any(|key| entry.contains_key(*key));
        if command.is_none() && errors.is_empty() && !has_url {
            errors.push("it has no `command`".to_owned());
        }
        let url = ["httpUrl", "url"].iter().find_map(|key| entry.get(*key)?.as_str()).map(str::to_owned);
        let url = url.filter(|_| command.is_none() && entry.get("type").is_none_or(|kind| kind != "sse"));
        let token = url.as_ref().and_then(|_| self.config.http.token(entry));
        let is_disabled =
            entry.get("enabled") == Some(&Value::Bool(false)) || entry.get("disabled") == Some(&Value::Bool(true));
        let entry = entry.clone();
        Registration { command, args, url, token, env, cwd, is_disabled, entry, errors, ..Registration::default() }
    }
}

impl Registration {
    /// Whether it is prompt-expander: by the name of its program or, over HTTP, by its own name and the end of its URL.
    pub fn is_prompt_expander(&self) -> bool {
        self.starts_prompt_expander() || (self.name == SERVER && self.is_http_server())
    }

    /// Whether the agent starts prompt-expander, by the name of its program.
    pub fn starts_prompt_expander(&self) -> bool {
        self.command.as_deref().is_some_and(is_prompt_expander)
    }

    /// The command that the agent starts, quoted for a shell, or the URL that it uses.
    pub fn line(&self) -> String {
        let url = ["url", "httpUrl"].iter().find_map(|key| self.entry.get(*key)?.as_str());
        let words = self.command.as_deref().or(url).into_iter().chain(self.args.iter().map(String::as_str));
        shlex::try_join(words.clone()).unwrap_or_else(|_| words.collect::<Vec<_>>().join(" "))
    }
}

/// The values of an entry, and what is wrong with them.
struct Fields<'e> {
    entry: &'e Map<String, Value>,
    errors: Vec<String>,
}

impl Fields<'_> {
    fn text(&mut self, key: &str) -> Option<String> {
        let value = self.entry.get(key)?;
        if !value.is_string() {
            self.error(key, "a string", value);
        }
        value.as_str().map(str::to_owned)
    }

    fn texts(&mut self, key: &str) -> Vec<String> {
        let Some(value) = self.entry.get(key) else { return Vec::new() };
        let texts = value.as_array().and_then(|list| list.iter().map(Value::as_str).collect::<Option<Vec<_>>>());
        if texts.is_none() {
            self.error(key, "a list of strings", value);
        }
        texts.unwrap_or_default().into_iter().map(str::to_owned).collect()
    }

    fn pairs(&mut self, key: &str) -> BTreeMap<String, String> {
        let Some(value) = self.entry.get(key).filter(|value| !value.is_null()) else { return BTreeMap::new() };
        let pair = |(name, value): (&String, &Value)| Some((name.clone(), value.as_str()?.to_owned()));
        let pairs = value.as_object().and_then(|object| object.iter().map(pair).collect());
        if pairs.is_none() {
            self.error(key, "an object of strings", value);
        }
        pairs.unwrap_or_default()
    }

    fn error(&mut self, key: &str, wanted: &str, value: &Value) {
        let problem = match kind(value) {
            kind if wanted.starts_with(kind) => "has other values".to_owned(),
            kind => format!("is {kind}"),
        };
        self.errors.push(format!("`{key}` must be {wanted}, but {problem}"));
    }
}

/// The kind of a value, with its article.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The arguments of prompt-expander in a config: those that name prompts, and the others.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The folders of `--prompts`, as they are written.
    pub folders: Vec<String>,
    /// `--prompts` with its folders, `--no-builtin`, `--from-agents`, and those of OpenAPI documents.
    pub of_library: Vec<String>,
    /// Those that a hook has as well: without those that say how a service is called, but with `--project`.
    pub of_hook: Vec<String>,
    /// All others, such as a command, or `--prompts` without a folder.
    pub others: Vec<String>,
    /// Whether prompts of an OpenAPI document are among them, for which the server calls another one.
    has_remote: bool,
}

/// The options for OpenAPI documents that have a value, and whether a hook has them.
const OPENAPI: [(&str, bool); 4] =
    [("--openapi", true), ("--openapi-operation", true), ("--openapi-base", false), ("--openapi-header", false)];

impl Arguments {
    /// Divides arguments by kind; each kind keeps its order.
    pub fn of(words: &[String]) -> Arguments {
        let mut arguments = Arguments::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let mut option = vec![word.clone()];
            let name = word.split('=').next().unwrap_or_default();
            let openapi = OPENAPI.into_iter().find(|(known, _)| *known == name);
            let mut is_of_hook = true;
            if word == "--prompts"
                && let Some(folder) = words.next()
            {
                arguments.folders.push(folder.clone());
                option.push(folder.clone());
            } else if let Some(folder) = word.strip_prefix("--prompts=") {
                arguments.folders.push(folder.to_owned());
            } else if let Some((known, of_hook)) = openapi {
                option.extend(if word == known { words.next().cloned() } else { None });
                arguments.has_remote = true;
                is_of_hook = of_hook;
            } else if word == "--openapi-allow-private" {
                arguments.has_remote = true;
                is_of_hook = false;
            } else if !["--no-builtin", "--from-agents"].contains(&word.as_str()) {
                arguments.of_hook.extend(option.iter().filter(|word| *word == "--project").cloned());
                arguments.others.extend(option);
                continue;
            }
            if is_of_hook {
                arguments.of_hook.extend_from_slice(&option);
            }
            arguments.of_library.extend(option);
        }
        arguments
    }

    /// Whether nothing is among them but options that name prompts, and none of those calls a service.
    pub fn only_name_prompts(&self) -> bool {
        !self.has_remote && self.others.iter().all(|word| word == "--project")
    }

    /// Whether they are the command `hook`, with an agent or without, and nothing else but options that name prompts or a server.
    pub fn is_hook(&self) -> bool {
        let mut words = self.others.iter().map(String::as_str).filter(|word| *word != "--project");
        let mut others = Vec::new();
        while let Some(word) = words.next() {
            match word {
                "--http" if words.next().is_some_and(is_plain_endpoint) => {}
                "--token-env" if words.next().is_some_and(is_variable) => {}
                _ => others.push(word),
            }
        }
        // The name of an agent has none of the characters that mean something to a shell.
        let is_name = |word: &str| word.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
        match others.as_slice() {
            ["hook"] => true,
            ["hook", agent] => !agent.starts_with('-') && is_name(agent),
            _ => false,
        }
    }
}

/// Whether a text is the URL of a server, and none of its characters means something to a shell outside of a path.
fn is_plain_endpoint(text: &str) -> bool {
    is_endpoint(text) && !text.contains(['$', '&', '\'', '(', ')', '*', ';', '!'])
}

/// Present arguments with given options: an option that is given replaces all of the same name, and takes the place of the
/// first of them; others stay.
pub(super) fn merged(present: &[String], given: &[String]) -> Vec<String> {
    let mut new: Vec<&[String]> = options(given).collect();
    let mut merged = Vec::new();
    for option in options(present) {
        if !has_option(given, option) {
            merged.push(option);
        }
        merged.extend(new.extract_if(.., |new| name(new) == name(option)));
    }
    [merged, new].concat().concat()
}

/// The options of the present arguments that stay, because no other of the same name is given.
pub(super) fn not_given<'p>(present: &'p [String], given: &[String]) -> impl Iterator<Item = &'p [String]> {
    options(present).filter(|option| !has_option(given, option))
}

fn has_option(arguments: &[String], option: &[String]) -> bool {
    options(arguments).any(|known| name(known) == name(option))
}

/// Each option with its value. A value begins with a hyphen only after `=`.
fn options(arguments: &[String]) -> impl Iterator<Item = &[String]> {
    arguments.chunk_by(|_, next| !next.starts_with('-') || next == "-")
}

fn name(option: &[String]) -> &str {
    option[0].split('=').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(agent: &str, scope: Scope, text: &str) -> Result<Vec<Registration>, ConfigError> {
        let agent = Agent::named(agent).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        std::fs::write(&path, text).unwrap();
        let mut file = ConfigFile::read(path, agent.config.syntax, scope)?.unwrap();
        file.path = "config".into();
        agent.registrations(&file, scope, &System { project: "/p".into(), ..System::default() })
    }

    /// Each server in a line.
    fn shown(registrations: Vec<Registration>) -> Vec<String> {
        let line = |server: Registration| {
            let position = server.position.unwrap();
            let command = server.command.unwrap_or_default();
            let off = if server.is_disabled { " off" } else { "" };
            let errors = server.errors.iter().map(|error| format!(" ({error})")).collect::<String>();
            format!("{position} {}: {command} {:?} {:?}{off}{errors}", server.name, server.args, server.env)
        };
        registrations.into_iter().map(line).collect()
    }

    #[test]
    fn the_servers_of_each_agent_are_read() {
        let json = |key: &str| {
            format!(
                "{{\"{key}\": {{\"prompts\": {{\"command\": \"/p\", \"args\": [\"a\"], \"env\": {{\"E\": \"e\"}}}}}}}}"
            )
        };
        let codex = "[mcp_servers.prompts]\ncommand = '/p'\nargs = ['a']\n[mcp_servers.prompts.env]\nE = 'e'\n";
        let opencode = r#"{"mcp": {"prompts": {"type": "local", "command": ["/p", "a"], "environment": {"E": "e"}}}}"#;
        let opencode_2 = r#"{"mcp": {"servers": {"prompts": {"type": "local", "command": ["/p", "a"], "environment": {"E": "e"}}}}}"#;
        for (agent, text, position) in [
            ("codex", codex, "1:14"),
            ("claude-code", &json("mcpServers"), "1:17"),
            ("gemini", &json("mcpServers"), "1:17"),
            ("vscode", &json("servers"), "1:14"),
            ("cursor", &json("mcpServers"), "1:17"),
            ("opencode", opencode, "1:10"),
            ("opencode", opencode_2, "1:22"),
            ("zed", &json("context_servers"), "1:22"),
        ] {
            let read = shown(read(agent, Scope::User, text).unwrap());
            assert_eq!(read, [format!("{position} prompts: /p [\"a\"] {{\"E\": \"e\"}}")], "{agent}");
        }
    }

    #[test]
    fn a_user_s_server_for_one_project_is_read_for_that_project_only() {
        let text =
            "\u{feff}".to_owned() + r#"{"projects": {"/p": {"mcpServers": {"prompts": {"command": "x"}}}, "/q": {}}}"#;
        let local = read("claude-code", Scope::Local, &text).unwrap();
        assert_eq!((local.len(), local[0].scope), (1, Scope::Local));
        assert_eq!(read("claude-code", Scope::User, &text).unwrap(), []);
    }

    #[test]
    fn errors_in_a_registration_say_what_is_wrong() {
        let text = r#"{"mcpServers": {
            "a": {"command": ["x"], "args": "y", "env": {"E": 1}},
            "b": "x",
            "c": {"args": []},
            "d": {"url": "http://x", "enabled": false},
            "e": {"command": "x", "args": ["y", 1], "disabled": true}
        }}"#;
        assert_eq!(
            shown(read("cursor", Scope::User, text).unwrap()),
            [
                "2:13 a:  [] {} (`command` must be a string, but is a list) (`args` must be a list of strings, but is a \
                 string) (`env` must be an object of strings, but has other values)",
                "3:13 b:  [] {} (it must be an object, but is a string)",
                "4:13 c:  [] {} (it has no `command`)",
                "5:13 d:  [] {} off",
                "6:13 e: x [] {} off (`args` must be a list of strings, but has other values)",
            ]
        );
    }

    #[test]
    fn a_config_of_another_kind_is_an_error_with_its_position() {
        for (agent, text, want) in [
            ("claude-code", "{\n \"mcpServers\": []}", "config:2:2: `mcpServers` must be an object, but is a list"),
            ("codex", "mcp_servers = 'x'", "config:1:1: `mcp_servers` must be a table, but is a string"),
        ] {
            assert_eq!(read(agent, Scope::User, text).unwrap_err().to_string(), want);
        }
        for (agent, text, want) in [
            ("claude-code", "[]", "config:1:1: it must be an object, but is a list"),
            ("gemini", "{\"a\": 1,}", "config:1:8: trailing commas are not allowed"),
        ] {
            let error = read(agent, Scope::User, text).unwrap_err();
            assert!(error.to_string().ends_with(want), "{error}");
        }
    }

    #[test]
    fn an_option_that_is_given_replaces_those_of_its_name_and_others_stay() {
        for (present, given, result, keeps) in [
            ("", "", "", ""),
            ("", "--prompts /a", "--prompts /a", ""),
            ("--prompts /a --tap t", "", "--prompts /a --tap t", "--prompts /a|--tap t"),
            (
                "--prompts /a --tap t --prompts /b",
                "--prompts /c --prompts /d",
                "--prompts /c --prompts /d --tap t",
                "--tap t",
            ),
            ("--prompts=/a --project", "--prompts /c", "--prompts /c --project", "--project"),
            ("--tap -", "--tap=t", "--tap=t", ""),
            ("--no-builtin", "--no-builtin", "--no-builtin", ""),
            (
                "--page-size=9 --no-builtin",
                "--tap t",
                "--page-size=9 --no-builtin --tap t",
                "--page-size=9|--no-builtin",
            ),
            ("serve --project", "--project", "serve --project", "serve"),
        ] {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let (present, given) = (words(present), words(given));
            assert_eq!(merged(&present, &given), words(result));
            let keeps_these: Vec<String> = not_given(&present, &given).map(|option| option.join(" ")).collect();
            assert_eq!(keeps_these.join("|"), keeps);
        }
    }

    #[test]
    fn a_hook_has_the_options_that_name_prompts_in_their_order() {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let line = "--no-builtin hook codex --project --prompts /a --tap t --prompts=/b";
        assert_eq!(Arguments::of(&words(line)).of_hook, words("--no-builtin --project --prompts /a --prompts=/b"));
    }

    #[test]
    fn arguments_that_name_prompts_are_separated_from_the_others() {
        for (line, folders, of_library, others, only_name_prompts, is_hook) in [
            ("", "", "", "", true, false),
            ("--prompts /a --no-builtin", "/a", "--prompts /a --no-builtin", "", true, false),
            ("--project --prompts=/a --prompts ~/b", "/a ~/b", "--prompts=/a --prompts ~/b", "--project", true, false),
            ("--prompts", "", "", "--prompts", false, false),
            ("--prompts-dir /a", "", "", "--prompts-dir /a", false, false),
            ("--tap /t --no-builtin", "", "--no-builtin", "--tap /t", false, false),
            ("--prompts hook codex", "hook", "--prompts hook", "codex", false, false),
            ("--no-builtin hook codex --prompts /a", "/a", "--no-builtin --prompts /a", "hook codex", false, true),
            ("hook codex --project", "", "", "hook codex --project", false, true),
            ("hook codex --prompts", "", "", "hook codex --prompts", false, false),
            ("hook codex --log-file l", "", "", "hook codex --log-file l", false, false),
            ("--from-agents hook", "", "--from-agents", "hook", false, true),
            ("hook --help", "", "", "hook --help", false, false),
            ("hook", "", "", "hook", false, true),
        ] {
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            let arguments = Arguments::of(&words(line));
            let Arguments { folders: found, of_library: of_found_library, others: found_others, .. } = &arguments;
            let want = (&words(folders), &words(of_library), &words(others));
            assert_eq!((found, of_found_library, found_others), want, "{line}");
            assert_eq!((arguments.only_name_prompts(), arguments.is_hook()), (only_name_prompts, is_hook), "{line}");
        }
    }
}
