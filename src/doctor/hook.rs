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

/// A hook of a client that runs us, and what it takes to judge it.
struct HookCase<'a> {
    examination: &'a Examination,
    client: Client,
    /// How the client calls the event that a prompt was submitted.
    event: &'a str,
    hook: &'a Hook,
    /// The server that the client starts.
    server: Option<&'a Settled>,
}

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
        let case = |hook| HookCase { examination: self, client, event, hook, server: servers.first() };
        let Some(first) = hooks.first() else { return findings };
        if let [_, second, ..] = hooks.as_slice() {
            findings.push(case(second).there_twice(first));
        }
        findings.extend(case(first).switched_off(&configs));
        findings.extend(hooks.iter().flat_map(|hook| case(hook).examined(library)));
        findings
    }
}

impl HookCase<'_> {
    /// All that there is to say of the hook itself.
    fn examined(&self, library: &Library) -> Vec<Finding> {
        let mut findings = Vec::new();
        if let Err(finding) = self.tried(library, &mut findings) {
            findings.push(finding);
        }
        findings
    }

    /// Runs it as the client would, and adds what there is to say; what keeps it from being tried to the end, is the error.
    fn tried(&self, library: &Library, findings: &mut Vec<Finding>) -> Result<(), Finding> {
        self.check_told()?;
        let environment = self.environment();
        let program = self.program(&environment)?;
        findings.extend(self.short_timeout());
        findings.extend(self.other_folders());
        self.check_harmless(&program, &environment)?;
        let names = library.view().names();
        let listed = self.server.and_then(|server| server.prompt.as_deref());
        if let Some(prompt) = listed.or(names.own.first().or(names.builtin.first()).map(|name| &**name)) {
            findings.push(self.answer(&format!(":{prompt} x"), &environment)?);
        }
        Ok(())
    }

    fn there_twice(&self, first: &Hook) -> Finding {
        let message =
            format!("the hook is registered twice, also in {}: each message is expanded twice", first.path.display());
        self.warning(message).remedy("keep one of them")
    }

    /// An error if it is told to serve another client.
    fn check_told(&self) -> Result<(), Finding> {
        let told = self.hook.told().unwrap_or_default();
        if Client::named(told) == Some(self.client) {
            return Ok(());
        }
        let (told, title) = (quoted(told), self.client.title());
        let message = format!("the hook is told that the client is {told}, and says nothing to {title}");
        Err(self.broken(message).remedy(format!("write `hook {}`", self.client.name())))
    }

    /// Our program, as it is written.
    fn word(&self) -> &str {
        &self.hook.words[self.hook.program().unwrap_or_default()]
    }

    /// What it finds in its environment: all three clients pass everything on.
    fn environment(&self) -> Environment {
        let mut environment = self.examination.environment.clone();
        let project = self.examination.surroundings.project.as_os_str();
        match self.client {
            Client::ClaudeCode => start::set(&mut environment, "CLAUDE_PROJECT_DIR", project),
            Client::GeminiCli => start::set(&mut environment, "GEMINI_PROJECT_DIR", project),
            _ => {}
        }
        environment
    }

    /// The program that the shell would find.
    fn program(&self, environment: &Environment) -> Result<PathBuf, Finding> {
        start::find(self.word(), environment, &self.examination.surroundings.project).map_err(|why| {
            let is_blocking = self.client == Client::GeminiCli && !self.hook.line.contains("exit 0");
            let blocked = if is_blocking { "; Gemini CLI holds every message back" } else { "" };
            let message = format!("the program of the hook, {}, {why}{blocked}", named(self.word()));
            self.broken(message).remedy(self.anew())
        })
    }

    /// That its time is meant in seconds, and is none.
    fn short_timeout(&self) -> Option<Finding> {
        let is_short = self.timeout().is_some_and(|timeout| timeout < Duration::from_millis(100));
        (self.client == Client::GeminiCli && is_short).then(|| {
            let timeout = &self.hook.entry["timeout"];
            let message = format!("the hook has {timeout} ms, since Gemini CLI counts in milliseconds");
            self.warning(message).remedy("set `timeout` to 5000")
        })
    }

    /// That it looks for prompts elsewhere than the server.
    fn other_folders(&self) -> Option<Finding> {
        let project = &self.examination.surroundings.project;
        let written = Arguments::of(&self.hook.words).folders;
        let folders = written.iter().map(|folder| self.examination.folder(folder, project));
        let is_other = !folders.eq(self.server?.folders.iter().cloned());
        is_other.then(|| {
            let message = "the hook has other `--prompts` than the server, so it may not know the same prompts";
            self.warning(message).remedy("give both the same")
        })
    }

    /// An error for a hook that is not run here.
    fn check_harmless(&self, program: &Path, environment: &Environment) -> Result<(), Finding> {
        let project = &self.examination.surroundings.project;
        // What is found from this folder may be a stranger's, too.
        let is_elsewhere =
            self.hook.scope == Scope::User && !start::is_of_folder(self.word(), program, environment, project);
        if self.hook.is_alone() && (is_elsewhere || is_same_file(program, &self.examination.program)) {
            return Ok(());
        }
        let what = match self.hook.scope {
            Scope::Project => "comes with the project and is not exactly this program",
            _ if !self.hook.is_alone() => "is more than this program alone",
            _ => "runs what lies in this folder, and not this program",
        };
        let message = format!("the hook {what}, so it was not run: {}", named(&self.hook.line));
        Err(self.warning(message).remedy(format!("run it by hand, if you trust it, or {}", self.anew())))
    }

    /// What comes of running it, on a command and on a text that holds none.
    fn answer(&self, typed: &str, environment: &Environment) -> Result<Finding, Finding> {
        let failed = |why| self.broken(format!("the hook {why}")).remedy(self.anew());
        let (answered, silent) = (self.ask(typed, environment), self.ask(NO_COMMAND, environment));
        let (answer, took) = answered.map_err(failed)?;
        let (silence, _) = silent.map_err(failed)?;
        if answer.is_empty() {
            let message = format!("the hook says nothing to {}, which is a prompt", named(typed));
            return Err(self.broken(message).remedy("see that it has the `--prompts` of the server"));
        }
        if !is_answer(&answer, self.event) {
            let title = self.client.title();
            let message = format!("the hook answers what {title} does not take: {}", quoted(answer.trim()));
            return Err(self.broken(message).remedy(self.anew()));
        }
        if !silence.is_empty() {
            let message = format!("the hook answers to {}, where it should be silent", quoted(NO_COMMAND));
            return Err(self.broken(message).remedy(self.anew()));
        }
        if let Some(timeout) = self.timeout().filter(|timeout| *timeout < took) {
            let message = format!("the hook took {}, and has {}", milliseconds(took), milliseconds(timeout));
            return Err(self.broken(message).remedy("raise its `timeout`"));
        }
        let message = format!("the hook expands {} in {}", named(typed), milliseconds(took));
        Ok(Finding::new(Some(self.client), Severity::Fine, message))
    }

    /// Runs it on a prompt: what it answers, and how long it took.
    fn ask(&self, prompt: &str, environment: &Environment) -> Result<(String, Duration), String> {
        let (project, patience) = (&self.examination.surroundings.project, self.examination.patience);
        let event = json!({"session_id": "doctor", "cwd": project, "hook_event_name": self.event, "prompt": prompt});
        let mut command = shell(self.hook);
        command.current_dir(project).env_clear();
        command.envs(environment.iter().map(|(name, value)| (name, value)));
        match process::run(&mut command, &event.to_string(), patience) {
            Err(error) => Err(format!("cannot be started: {error}")),
            Ok(None) => Err(format!("did not end within {} s", patience.as_secs_f32())),
            Ok(Some(ran)) if !ran.status.success() => {
                let said = ran.said.map(|said| format!("; it said: {said}")).unwrap_or_default();
                Err(format!("ended {}, which may hold a message back{said}", how(ran.status)))
            }
            Ok(Some(ran)) => Ok((ran.stdout, ran.took)),
        }
    }

    /// How long the client lets it run, if its file says so.
    fn timeout(&self) -> Option<Duration> {
        let number = self.hook.entry["timeout"].as_f64().filter(|number| *number > 0.0 && *number < 1e9)?;
        Some(Duration::from_secs_f64(if self.client == Client::GeminiCli { number / 1000.0 } else { number }))
    }

    /// Why the client would not run it.
    fn switched_off(&self, configs: &[&Config]) -> Option<Finding> {
        match self.client {
            Client::ClaudeCode => self.all_switched_off(configs, "disableAllHooks", true),
            Client::GeminiCli => self
                .all_switched_off(configs, "hooksConfig.enabled", false)
                .or_else(|| self.disabled_in_gemini_cli(configs)),
            Client::Codex => {
                self.all_switched_off(configs, "features.hooks", false).or_else(|| self.distrusted_by_codex(configs))
            }
            _ => None,
        }
    }

    /// That the first config that says so has this value at this key, with dots in it.
    fn all_switched_off(&self, configs: &[&Config], key: &str, value: bool) -> Option<Finding> {
        let pointer = format!("/{}", key.replace('.', "/"));
        let config = configs.iter().find(|config| config.value.pointer(&pointer) == Some(&Value::Bool(value)))?;
        let message = format!("{} runs no hooks: `{key}` is {value}", self.client.title());
        let keys: Vec<&str> = key.split('.').collect();
        let finding = self.broken(message).remedy(format!("set `{key}` to {}", !value));
        Some(finding.at(&config.path, config.position(&keys)))
    }

    fn disabled_in_gemini_cli(&self, configs: &[&Config]) -> Option<Finding> {
        let name = self.hook.entry["name"].as_str().unwrap_or(&self.hook.line);
        let config = configs.iter().find(|config| {
            let disabled = config.value.pointer("/hooksConfig/disabled").and_then(Value::as_array);
            disabled.is_some_and(|disabled| disabled.iter().any(|item| item == name))
        })?;
        let message = "the hook is among those that `hooksConfig.disabled` switches off";
        let finding = self.broken(message).remedy("take it out of that list");
        Some(finding.at(&config.path, config.position(&["hooksConfig", "disabled"])))
    }

    fn distrusted_by_codex(&self, configs: &[&Config]) -> Option<Finding> {
        let review = "start `codex` once, and choose to trust it when it asks for a review";
        let (group, number) = self.hook.place;
        let key = format!("{}:user_prompt_submit:{group}:{number}", self.hook.path.display());
        match configs.iter().find_map(|config| config.value.pointer("/hooks/state")?.get(&key)) {
            Some(state) if state["enabled"] == false => {
                Some(self.broken("the hook is switched off in Codex").remedy("switch it on with `/hooks` in Codex"))
            }
            Some(state) if state["trusted_hash"].is_string() => {
                let is_changed = hash_of_codex(self.hook).is_some_and(|hash| state["trusted_hash"] != *hash);
                let message = "the hook has changed since Codex was told to trust it, so Codex may skip it";
                is_changed.then(|| self.warning(message).remedy(review))
            }
            _ => Some(self.broken("Codex does not trust the hook yet, and skips it without a word").remedy(review)),
        }
    }

    /// How to have `install` write it, as one tells it to somebody.
    fn anew(&self) -> String {
        let before = match self.hook.is_of_install(self.client, &self.examination.surroundings) {
            true => "",
            // It would be left alone.
            false => "take it out of the file, then ",
        };
        let plain = format!("prompt-expander install {} --hook", self.client.name());
        format!("{before}run `{}`", self.server.map_or(&plain, |server| &server.with_hook))
    }

    /// A finding at the place of the hook.
    fn broken(&self, message: impl Into<String>) -> Finding {
        Finding::new(Some(self.client), Severity::Broken, message).at(&self.hook.path, self.hook.position)
    }

    /// The same of what works, but perhaps not always.
    fn warning(&self, message: impl Into<String>) -> Finding {
        Finding { severity: Severity::Warning, ..self.broken(message) }
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
