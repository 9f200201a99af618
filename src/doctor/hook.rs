//! A client's prompt-submit hooks that run us: whether the client would run them, and what they answer.

use super::process::{self, how};
use super::server::{Settled, written_folders};
use super::start::{self, Environment};
use super::{Doctor, Finding, Severity, milliseconds, same_file, unreadable};
use crate::client::{Client, Config, ConfigError, Position, Scope};
use crate::library::Library;
use crate::wording::{named, quoted};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// What makes of a line for a shell more than one command, or something that is not known before it runs.
const OPERATORS: [char; 11] = [';', '&', '|', '<', '>', '$', '`', '(', ')', '#', '\n'];

/// What is written behind the command for Gemini CLI, so that a program that is gone blocks nothing.
const NEVER_BLOCKS: &str = "; exit 0";

/// A text that holds no command.
const NO_COMMAND: &str = "The meeting is at 10:30.";

/// A hook that runs us.
struct Registered {
    scope: Scope,
    path: PathBuf,
    position: Option<Position>,
    /// The line for the shell, and its words.
    line: String,
    words: Vec<String>,
    /// What Codex keeps its trust under.
    key: String,
    /// All that the file says of it.
    entry: Value,
    /// Whether it is for some prompts only.
    has_matcher: bool,
}

impl Registered {
    /// Where among the words our name is.
    fn program(words: &[String]) -> Option<usize> {
        let at = words.iter().position(|word| {
            let stem = Path::new(word).file_stem().and_then(|stem| stem.to_str());
            stem.is_some_and(|stem| stem.eq_ignore_ascii_case("prompt-expander"))
        })?;
        words[at..].iter().any(|word| word == "hook").then_some(at)
    }

    /// Whether the line is one command, `hook` of a program of our name, and nothing besides that could do something else.
    fn is_plain(&self) -> bool {
        let bare = self.line.trim();
        let bare = bare.strip_suffix(NEVER_BLOCKS).unwrap_or(bare);
        // As PowerShell runs what stands in quotes.
        let bare =
            if cfg!(windows) { bare.strip_prefix("& ").unwrap_or(bare).replace('\\', "/") } else { bare.to_owned() };
        let words = shlex::split(&bare).unwrap_or_default();
        !has_operators(&bare) && Registered::program(&words) == Some(0) && is_hook(&words[1..])
    }

    /// The client that it is told to serve.
    fn told(&self) -> Option<&str> {
        let at = self.words.iter().position(|word| word == "hook")?;
        self.words.get(at + 1).map(|word| word.trim_end_matches(';'))
    }
}

impl Doctor {
    /// Whether a client runs us as a hook, or would.
    pub(super) fn has_hook(&self, client: Client) -> bool {
        let configs = self.hook_files(client).into_iter().flatten();
        client.event().is_some_and(|event| configs.into_iter().any(|config| !registered(&config, event).is_empty()))
    }

    /// What there is to say of the hooks of a client that run us; nothing, if there are none.
    pub(super) fn hooks(&self, client: Client, servers: &[Settled], library: &Library) -> Vec<Finding> {
        let Some(event) = client.event() else { return Vec::new() };
        let mut findings = Vec::new();
        let mut configs = Vec::new();
        let mut hooks: Vec<Registered> = Vec::new();
        for read in self.hook_files(client) {
            match read {
                Ok(config) => {
                    hooks.extend(registered(&config, event));
                    configs.push(config);
                }
                Err(error) => findings.push(unreadable(client, error)),
            }
        }
        let Some(first) = hooks.first() else { return findings };
        if let [_, second, ..] = hooks.as_slice() {
            let message = format!(
                "the hook is registered twice, also in {}: each message is expanded twice",
                first.path.display()
            );
            let remedy = "keep one of them".to_owned();
            findings.push(finding(client, second, Severity::Warning, message, remedy));
        }
        findings.extend(switched_off(client, first, &configs));
        for hook in &hooks {
            findings.extend(self.hook(client, event, hook, servers, library));
        }
        findings
    }

    fn hook(
        &self,
        client: Client,
        event: &str,
        hook: &Registered,
        servers: &[Settled],
        library: &Library,
    ) -> Vec<Finding> {
        let title = client.title();
        let mut findings = Vec::new();
        let plain = format!("prompt-expander install {} --hook", client.name());
        let install = format!("run `{}`", servers.first().map_or(&plain, |server| &server.with_hook));
        let told = hook.told().unwrap_or_default();
        if Client::named(told) != Some(client) {
            let message = format!("the hook is told that the client is {}, and says nothing to {title}", quoted(told));
            let remedy = format!("write `hook {}`", client.name());
            return vec![finding(client, hook, Severity::Broken, message, remedy)];
        }
        let project = &self.surroundings.project;
        let environment = self.environment_of_hook(client);
        let word = &hook.words[Registered::program(&hook.words).unwrap_or_default()];
        let program = match start::find(word, &environment, project) {
            Ok(found) => found,
            Err(why) => {
                let blocked = if client == Client::GeminiCli && !hook.line.contains("exit 0") {
                    "; Gemini CLI holds every message back"
                } else {
                    ""
                };
                let message = format!("the program of the hook, {}, {why}{blocked}", named(word));
                return vec![finding(client, hook, Severity::Broken, message, install)];
            }
        };
        let timeout = timeout(client, &hook.entry);
        if client == Client::GeminiCli && timeout.is_some_and(|timeout| timeout < Duration::from_millis(100)) {
            let message = format!("the hook has {} ms, since Gemini CLI counts in milliseconds", hook.entry["timeout"]);
            findings.push(finding(client, hook, Severity::Warning, message, "set `timeout` to 5000".to_owned()));
        }
        let folders: Vec<PathBuf> = written_folders(&hook.words)
            .iter()
            .map(|folder| match (Path::new(folder).strip_prefix("~"), &self.surroundings.home) {
                (Ok(below), Some(home)) => home.join(below),
                _ => project.join(folder.trim_end_matches(';')),
            })
            .collect();
        if servers.first().is_some_and(|server| server.folders != folders) {
            let message = "the hook has other `--prompts` than the server, so it may not know the same prompts";
            let remedy = "give both the same";
            findings.push(finding(client, hook, Severity::Warning, message.to_owned(), remedy.to_owned()));
        }
        // What is found from this folder may be a stranger's, too.
        let is_elsewhere = hook.scope == Scope::User && !start::is_of_folder(word, &program, &environment, project);
        if !hook.is_plain() || !(is_elsewhere || same_file(&program, &self.program)) {
            let what = match hook.scope {
                Scope::Project => "comes with the project and is not exactly this program",
                _ if !hook.is_plain() => "is more than this program alone",
                _ => "runs what lies in this folder, and not this program",
            };
            let message = format!("the hook {what}, so it was not run: {}", named(&hook.line));
            let remedy = format!("run it by hand, if you trust it, or {install}");
            findings.push(finding(client, hook, Severity::Warning, message, remedy));
            return findings;
        }
        let names = library.names();
        let prompt = servers.first().and_then(|server| server.prompt.as_ref());
        let Some(prompt) = prompt.or(names.own.first()).or(names.builtin.first()) else { return findings };
        let answered = self.ask(event, hook, &environment, &format!(":{prompt} x"));
        let silent = self.ask(event, hook, &environment, NO_COMMAND);
        match answered.and_then(|(answer, took)| Ok((answer, took, silent?.0))) {
            Err(why) => findings.push(finding(client, hook, Severity::Broken, format!("the hook {why}"), install)),
            Ok((answer, _, _)) if answer.is_empty() => {
                let message = format!("the hook says nothing to {}, which is a prompt", named(&format!(":{prompt} x")));
                let remedy = "see that it has the `--prompts` of the server".to_owned();
                findings.push(finding(client, hook, Severity::Broken, message, remedy));
            }
            Ok((answer, _, _)) if !is_answer(&answer, event) => {
                let message = format!("the hook answers what {title} does not take: {}", quoted(answer.trim()));
                findings.push(finding(client, hook, Severity::Broken, message, install));
            }
            Ok((_, _, silence)) if !silence.is_empty() => {
                let message = format!("the hook answers to {}, where it should be silent", quoted(NO_COMMAND));
                findings.push(finding(client, hook, Severity::Broken, message, install));
            }
            Ok((_, took, _)) => {
                if let Some(timeout) = timeout.filter(|timeout| *timeout < took) {
                    let message = format!("the hook took {}, and has {}", milliseconds(took), milliseconds(timeout));
                    findings.push(finding(client, hook, Severity::Broken, message, "raise its `timeout`".to_owned()));
                } else {
                    let message =
                        format!("the hook expands {} in {}", named(&format!(":{prompt} x")), milliseconds(took));
                    findings.push(Finding::new(Some(client), Severity::Fine, message));
                }
            }
        }
        findings
    }

    /// Runs a hook on a prompt: what it answers, and how long it took.
    fn ask(
        &self,
        event: &str,
        hook: &Registered,
        environment: &Environment,
        prompt: &str,
    ) -> Result<(String, Duration), String> {
        let project = &self.surroundings.project;
        let event = json!({"session_id": "doctor", "cwd": project, "hook_event_name": event, "prompt": prompt});
        let mut command = shell(hook);
        command.current_dir(project).env_clear();
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        match process::run(&mut command, &event.to_string(), self.patience) {
            Err(error) => Err(format!("cannot be started: {error}")),
            Ok(None) => Err(format!("did not end within {} s", self.patience.as_secs_f32())),
            Ok(Some(ran)) if !ran.status.success() => {
                let said = ran.said.map(|said| format!("; it said: {said}")).unwrap_or_default();
                Err(format!("ended {}, which may hold a message back{said}", how(ran.status)))
            }
            Ok(Some(ran)) => Ok((ran.stdout, ran.took)),
        }
    }

    /// What a hook finds in its environment: all three clients pass everything on.
    fn environment_of_hook(&self, client: Client) -> Environment {
        let mut environment = self.environment.clone();
        let project = self.surroundings.project.as_os_str();
        match client {
            Client::ClaudeCode => start::set(&mut environment, "CLAUDE_PROJECT_DIR", project),
            Client::GeminiCli => start::set(&mut environment, "GEMINI_PROJECT_DIR", project),
            _ => {}
        }
        environment
    }

    /// The files that a client reads hooks from, as far as they are there.
    fn hook_files(&self, client: Client) -> Vec<Result<Config, ConfigError>> {
        let of_servers = |scope| self.configs(client, scope);
        match client {
            Client::ClaudeCode => self.settings_of_claude(),
            Client::Codex => {
                let home = client.home(&self.surroundings);
                let project = self.surroundings.project.join(".codex");
                let project = (home.as_ref() != Some(&project)).then_some((Scope::Project, project));
                let files = home
                    .map(|home| (Scope::User, home))
                    .into_iter()
                    .chain(project)
                    .map(|(scope, folder)| (scope, folder.join("hooks.json")));
                let read = |(scope, path)| Config::read_settings(client, scope, path).transpose();
                // What is wrong with config.toml is said already.
                let configs = [Scope::User, Scope::Project].into_iter().flat_map(of_servers).filter(Result::is_ok);
                files.filter_map(read).chain(configs).collect()
            }
            _ => [Scope::User, Scope::Project].into_iter().flat_map(of_servers).filter(Result::is_ok).collect(),
        }
    }
}

/// Whether a line for a shell is more than one command, or holds what is not known before it runs.
fn has_operators(line: &str) -> bool {
    let mut quote = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if open == letter => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => _ = letters.next(),
            (Some(_), '$' | '`') => return true,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, _) if OPERATORS.contains(&letter) => return true,
            (None, _) => {}
        }
    }
    false
}

/// Whether these arguments are the command `hook`, a client, and options that name prompts.
fn is_hook(arguments: &[String]) -> bool {
    let mut names = Vec::new();
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--prompts" => _ = arguments.next(),
            "--no-builtin" | "--project" => {}
            other if other.starts_with("--prompts=") => {}
            other => names.push(other),
        }
    }
    matches!(names.as_slice(), ["hook", _])
}

/// The hooks of an event in a file that run us.
fn registered(config: &Config, event: &str) -> Vec<Registered> {
    let mut hooks = Vec::new();
    let groups = config.value["hooks"][event].as_array();
    let position = groups.and_then(|_| config.position(&["hooks", event]));
    for (group_number, group) in groups.into_iter().flatten().enumerate() {
        for (number, entry) in group["hooks"].as_array().into_iter().flatten().enumerate() {
            let Some(line) = entry["command"].as_str() else { continue };
            // A backslash is a separator there.
            let written = if cfg!(windows) { line.replace('\\', "/") } else { line.to_owned() };
            let words = shlex::split(&written).unwrap_or_default();
            if Registered::program(&words).is_none() {
                continue;
            }
            hooks.push(Registered {
                scope: config.scope,
                path: config.path.clone(),
                position,
                line: line.to_owned(),
                words,
                key: format!("{}:user_prompt_submit:{group_number}:{number}", config.path.display()),
                entry: entry.clone(),
                has_matcher: group.get("matcher").is_some(),
            });
        }
    }
    hooks
}

/// Why a client would not run its hooks.
fn switched_off(client: Client, hook: &Registered, configs: &[Config]) -> Option<Finding> {
    let found = |pointer: &str, off: bool| {
        configs.iter().find(|config| config.value.pointer(pointer) == Some(&Value::Bool(off)))
    };
    let off = |config: &Config, key: &str, value: bool| {
        let message = format!("{} runs no hooks: `{key}` is {value}", client.title());
        let keys: Vec<&str> = key.split('.').collect();
        let finding =
            Finding::new(Some(client), Severity::Broken, message).remedy(format!("set `{key}` to {}", !value));
        finding.at(&config.path, config.position(&keys))
    };
    match client {
        Client::ClaudeCode => found("/disableAllHooks", true).map(|config| off(config, "disableAllHooks", true)),
        Client::GeminiCli => {
            if let Some(config) = found("/hooksConfig/enabled", false) {
                return Some(off(config, "hooksConfig.enabled", false));
            }
            let name = hook.entry["name"].as_str().unwrap_or(&hook.line);
            let listed = configs.iter().find(|config| {
                let disabled = config.value.pointer("/hooksConfig/disabled").and_then(Value::as_array);
                disabled.is_some_and(|disabled| disabled.iter().any(|item| item == name))
            });
            listed.map(|config| {
                let message = "the hook is among those that `hooksConfig.disabled` switches off";
                let finding = Finding::new(Some(client), Severity::Broken, message).remedy("take it out of that list");
                finding.at(&config.path, config.position(&["hooksConfig", "disabled"]))
            })
        }
        Client::Codex => {
            if let Some(config) = found("/features/hooks", false) {
                return Some(off(config, "features.hooks", false));
            }
            let state = configs.iter().find_map(|config| config.value.pointer("/hooks/state")?.get(&hook.key));
            let (message, remedy) = match state {
                Some(state) if state["enabled"] == false => {
                    ("the hook is switched off in Codex", "switch it on with `/hooks` in Codex")
                }
                Some(state) if state["trusted_hash"].is_string() => {
                    let changed = hash_of_codex(hook).filter(|hash| state["trusted_hash"] != **hash);
                    return changed.map(|_| {
                        let message = "the hook has changed since Codex was told to trust it, so Codex may skip it";
                        let remedy = "start `codex` once, and choose to trust it when it asks for a review";
                        finding(client, hook, Severity::Warning, message.to_owned(), remedy.to_owned())
                    });
                }
                _ => (
                    "Codex does not trust the hook yet, and skips it without a word",
                    "start `codex` once, and choose to trust it when it asks for a review",
                ),
            };
            Some(finding(client, hook, Severity::Broken, message.to_owned(), remedy.to_owned()))
        }
        _ => None,
    }
}

/// What Codex 0.169 keeps of a hook that it trusts: the hash of the hook as JSON, its keys sorted. `None`: the hook has more
/// to it than `install` writes.
fn hash_of_codex(hook: &Registered) -> Option<String> {
    let entry = hook.entry.as_object()?;
    let is_plain = entry.keys().all(|key| ["type", "command", "timeout"].contains(&key.as_str())) && !hook.has_matcher;
    let timeout = entry.get("timeout").filter(|_| is_plain)?;
    let handler = json!({"async": false, "command": hook.line, "timeout": timeout, "type": "command"});
    let identity = json!({"event_name": "user_prompt_submit", "hooks": [handler]}).to_string();
    let hash = hmac_sha256::Hash::hash(identity.as_bytes());
    Some(format!("sha256:{}", hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>()))
}

/// How long the client lets a hook run, if its file says so.
fn timeout(client: Client, entry: &Value) -> Option<Duration> {
    let number = entry["timeout"].as_f64().filter(|number| *number > 0.0 && *number < 1e9)?;
    Some(Duration::from_secs_f64(if client == Client::GeminiCli { number / 1000.0 } else { number }))
}

/// What runs the line of a hook.
fn shell(hook: &Registered) -> Command {
    if cfg!(windows) {
        // Which shell it is depends on the client; what we are told does not.
        let program = Registered::program(&hook.words).unwrap_or_default();
        let mut command = Command::new(&hook.words[program]);
        command.args(
            hook.words[program + 1..].iter().map(|word| word.trim_end_matches(';')).take_while(|word| *word != "exit"),
        );
        return command;
    }
    let mut command = Command::new("sh");
    command.args(["-c", &hook.line]);
    command
}

/// Whether a client would add this to the prompt.
fn is_answer(answer: &str, event: &str) -> bool {
    let answer: Value = serde_json::from_str(answer).unwrap_or_default();
    let output = &answer["hookSpecificOutput"];
    output["hookEventName"] == event && output["additionalContext"].as_str().is_some_and(|text| !text.is_empty())
}

fn finding(client: Client, hook: &Registered, severity: Severity, message: String, remedy: String) -> Finding {
    Finding::new(Some(client), severity, message).remedy(remedy).at(&hook.path, hook.position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_in_quotes_is_no_operator() {
        for line in ["'/a $b `c` (d)/p' hook x", "\"/a & b; it's\" hook x", "/a\\ \\$b hook x", "'a'\\'';b' hook x"] {
            assert!(!has_operators(line), "{line}");
        }
        for line in ["p hook x; y", "'p' hook x & y", "\"$(y)\" hook x", "\"`y`\"", "p\ny", "p \\\\; y", "p $x"] {
            assert!(has_operators(line), "{line}");
        }
    }

    #[test]
    fn the_hash_is_that_of_codex() {
        let line = "/usr/bin/prompt-expander hook codex";
        let mut hook = Registered {
            scope: Scope::User,
            path: PathBuf::new(),
            position: None,
            line: line.to_owned(),
            words: Vec::new(),
            key: String::new(),
            entry: json!({"type": "command", "command": line, "timeout": 5}),
            has_matcher: false,
        };
        // As Codex 0.169.0 wrote it into its config.
        let want = "sha256:fdb95389964ddb624b98f6558928a0f672f75cf3fcb8710b669697294b46849b";
        assert_eq!(hash_of_codex(&hook).as_deref(), Some(want));
        hook.entry["statusMessage"] = json!("x");
        assert_eq!(hash_of_codex(&hook), None);
    }
}
