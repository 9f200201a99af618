//! A client's prompt-submit hooks that run us: whether the client would run them, and what they answer.

use super::process::{self, how};
use super::server::Settled;
use super::start::{self, Environment};
use super::{Examination, Finding, Severity, milliseconds, unreadable};
use crate::client::{Arguments, Client, Config, Files, Hook, Scope, is_same_file};
use crate::library::Library;
use crate::wording::{named, quoted};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A text that holds no command.
const NO_COMMAND: &str = "The meeting is at 10:30.";

impl Examination {
    /// What there is to say of the hooks of a client that run us; nothing, if there are none.
    pub(super) fn hooks(&self, files: &Files, servers: &[Settled], library: &Library) -> Vec<Finding> {
        let client = files.client;
        let Some(event) = client.hook_event() else { return Vec::new() };
        let mut findings = Vec::new();
        let mut configs = Vec::new();
        let mut hooks: Vec<Hook> = Vec::new();
        // In Claude Code, what a project says goes before what its user does.
        let scopes = match client {
            Client::ClaudeCode => [Scope::Project, Scope::User],
            _ => [Scope::User, Scope::Project],
        };
        for scope in scopes {
            let of_servers = client.configs(scope, &self.surroundings);
            for read in files.settings(scope) {
                match read {
                    Ok(config) => {
                        hooks.extend(config.hooks(event).into_iter().filter(Hook::is_ours));
                        configs.push(config);
                    }
                    // What is wrong with it is said already.
                    Err(error) if of_servers.contains(&error.path) => {}
                    Err(error) => findings.push(unreadable(client, error)),
                }
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

    fn hook(&self, client: Client, event: &str, hook: &Hook, servers: &[Settled], library: &Library) -> Vec<Finding> {
        let title = client.title();
        let mut findings = Vec::new();
        let plain = format!("prompt-expander install {} --hook", client.name());
        let before = match hook.is_of_install(client, &self.surroundings) {
            true => "",
            // It would be left alone.
            false => "take it out of the file, then ",
        };
        let install = format!("{before}run `{}`", servers.first().map_or(&plain, |server| &server.with_hook));
        let told = hook.told().unwrap_or_default();
        if Client::named(told) != Some(client) {
            let message = format!("the hook is told that the client is {}, and says nothing to {title}", quoted(told));
            let remedy = format!("write `hook {}`", client.name());
            return vec![finding(client, hook, Severity::Broken, message, remedy)];
        }
        let project = &self.surroundings.project;
        let environment = self.environment_of_hook(client);
        let word = &hook.words[hook.program().unwrap_or_default()];
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
        let folders: Vec<PathBuf> = Arguments::of(&hook.words)
            .folders
            .iter()
            .map(|folder| match (Path::new(folder).strip_prefix("~"), &self.surroundings.home) {
                (Ok(below), Some(home)) => home.join(below),
                _ => project.join(folder),
            })
            .collect();
        if servers.first().is_some_and(|server| server.folders != folders) {
            let message = "the hook has other `--prompts` than the server, so it may not know the same prompts";
            let remedy = "give both the same";
            findings.push(finding(client, hook, Severity::Warning, message.to_owned(), remedy.to_owned()));
        }
        // What is found from this folder may be a stranger's, too.
        let is_elsewhere = hook.scope == Scope::User && !start::is_of_folder(word, &program, &environment, project);
        if !hook.is_alone() || !(is_elsewhere || is_same_file(&program, &self.program)) {
            let what = match hook.scope {
                Scope::Project => "comes with the project and is not exactly this program",
                _ if !hook.is_alone() => "is more than this program alone",
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
        hook: &Hook,
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
}

/// Why a client would not run its hooks.
fn switched_off(client: Client, hook: &Hook, configs: &[&Config]) -> Option<Finding> {
    let found = |pointer: &str, off: bool| {
        configs.iter().copied().find(|config| config.value.pointer(pointer) == Some(&Value::Bool(off)))
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
            let (group, number) = hook.place;
            let key = format!("{}:user_prompt_submit:{group}:{number}", hook.path.display());
            let state = configs.iter().find_map(|config| config.value.pointer("/hooks/state")?.get(&key));
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
fn hash_of_codex(hook: &Hook) -> Option<String> {
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
fn shell(hook: &Hook) -> Command {
    if cfg!(windows) {
        // Which shell it is depends on the client; what we are told does not.
        let program = hook.program().unwrap_or_default();
        let mut command = Command::new(&hook.words[program]);
        command.args(hook.words[program + 1..].iter().take_while(|word| *word != "exit"));
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

fn finding(client: Client, hook: &Hook, severity: Severity, message: String, remedy: String) -> Finding {
    Finding::new(Some(client), severity, message).remedy(remedy).at(&hook.path, hook.position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_is_that_of_codex() {
        let line = "/usr/bin/prompt-expander hook codex";
        let mut hook = Hook {
            scope: Scope::User,
            path: PathBuf::new(),
            position: None,
            line: line.to_owned(),
            words: Vec::new(),
            place: (0, 0),
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
