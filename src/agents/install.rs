//! The changes that `install` and `uninstall` plan, and the present registrations. Nothing is written here; see
//! [`ConfigFile::write`].
//!
//! Where an agent has a command of its own for it (`codex mcp add`, `claude mcp add`, `gemini mcp add --trust`, `opencode mcp
//! add`), a new entry is the one that it writes.

use super::edit::{self, Entry, Syntax, SyntaxError};
use super::hook_line::{handlers, is_plain, is_prompt_expander};
use super::http_server::is_endpoint;
use super::registration::{merged, not_given};
use super::{
    AGENTS, Agent, AgentFiles, Arguments, ConfigError, ConfigFile, Hook, HookLine, HttpServer, PROMPTS_VARIABLE,
    Position, Registration, SERVER, Scope, System, is_same_file,
};
use crate::wording::{named, printable};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long an agent may wait for a hook.
const HOOK_TIMEOUT: Duration = Duration::from_secs(5);

/// A server to be registered, and a hook.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The agent.
    pub agent: &'static Agent,
    /// For whom; not [`Scope::Local`].
    pub scope: Scope,
    /// The absolute path of the program.
    pub program: String,
    /// The options of the server. A hook gets those of them that name prompts.
    pub options: Vec<String>,
    /// The server over HTTP that is registered instead of the program, which then has no options. A hook asks it, too.
    pub http: Option<HttpServer>,
    /// Whether a hook is registered if there is none yet.
    pub hook: bool,
    /// Whether to remove what is registered and not among `options`.
    pub reset: bool,
    /// Whether another server of the same name is replaced.
    pub replace: bool,
    /// Whether a new entry tells the agent to call the tools without asking, if the agent has a setting for that.
    pub trust: bool,
}

/// What is to be removed: the server named `prompts` if it is prompt-expander, and the hook.
#[derive(Debug, Clone, Copy)]
pub struct Removal {
    /// The agent.
    pub agent: &'static Agent,
    /// For whom; not [`Scope::Local`].
    pub scope: Scope,
}

/// The planned changes.
#[derive(Debug, Default)]
pub struct Plan {
    /// The files that would change.
    pub files: Vec<ConfigFile>,
    /// What may not work as the user expects, in lower case.
    pub warnings: Vec<String>,
    /// What to know before confirming, in lower case.
    pub notes: Vec<String>,
    /// The arguments of the server after an installation.
    pub arguments: Vec<String>,
    /// The server over HTTP after an installation, if that is what is registered.
    pub http: Option<HttpServer>,
    /// Whether the user has a hook after an installation.
    pub has_hook: bool,
    /// Whether the agent does not run that hook until the user trusts it.
    pub is_hook_untrusted: bool,
}

/// Why there is no plan.
#[derive(Debug)]
pub enum PlanError {
    /// A file cannot be read or changed.
    Config(ConfigError),
    /// Another server has the name.
    Taken(Box<Registration>),
    /// The present entry has errors, so that its options are unknown.
    Invalid(Box<Registration>),
    /// The project's file of this agent is the user's.
    NotAProject(&'static Agent, PathBuf),
    /// The home directory is unknown, and so is the config of this agent.
    NoConfig(&'static Agent),
    /// The agent replaces no variables where it reads the token for a server over HTTP.
    NoTokenVariable(&'static Agent),
    /// The home directory is unknown, and so is the file of the hooks of this agent.
    NoHooks(&'static Agent),
    /// An argument of a hook has a NUL character.
    Nul,
}

impl From<ConfigError> for PlanError {
    fn from(error: ConfigError) -> PlanError {
        PlanError::Config(error)
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanError::Config(error) => {
                write!(f, "{error}; the file was not changed; correct it, then run the command again")
            }
            PlanError::Taken(server) => write!(
                f,
                "{}: another server has the name `{SERVER}`; {}. Rename it, or use --replace to replace it with \
                 prompt-expander",
                location(&server.path, server.position),
                what_it_runs(server)
            ),
            PlanError::Invalid(server) => write!(
                f,
                "{}: the entry `{SERVER}` cannot be kept: {}; correct it, or replace it with --reset",
                location(&server.path, server.position),
                server.errors.join("; ")
            ),
            PlanError::NotAProject(agent, file) => write!(
                f,
                "the working directory is not a project for {}: `{}` is its config for all projects; leave out \
                 --project, or change to the folder of a project",
                agent.title,
                shown(file)
            ),
            PlanError::NoConfig(agent) => write!(
                f,
                "the config of {} cannot be found; set HOME to your home directory, or use --project",
                agent.title
            ),
            PlanError::NoTokenVariable(agent) => write!(
                f,
                "{} replaces no variables in its config, so the token would have to be in the file; leave out \
                 --token-env, and then add `\"headers\": {{\"Authorization\": \"Bearer …\"}}` to the entry yourself",
                agent.title
            ),
            PlanError::NoHooks(agent) => write!(f, "the hooks of {} cannot be found; set HOME", agent.title),
            PlanError::Nul => f.write_str("a path with a NUL character cannot be part of a shell command"),
        }
    }
}

impl std::error::Error for PlanError {}

impl Installation {
    /// Plans the installation. Reads the agent's files.
    pub fn plan(&self, system: &System) -> Result<Plan, PlanError> {
        let mut planner = Planner::new(self.agent, self.scope, system)?;
        let mut kept = Vec::new();
        let (arguments, http) = self.add_server(&mut planner, &mut kept)?;
        let has_hook = self.add_hook(&mut planner, &arguments, http.as_ref(), &mut kept)?;
        let installed = planner.installed()?;
        if !kept.is_empty() {
            planner.notes.push(format!("keeps {}; to start without, add --reset", kept.join(", ")));
        }
        let is_hook_changed = planner.remove_stale_trust()?;
        let is_hook_untrusted = has_hook && (is_hook_changed || planner.has_untrusted_hook());
        Ok(Plan { arguments, http, has_hook, is_hook_untrusted, ..planner.finish(&installed) })
    }

    /// Returns the arguments of the server, and the server over HTTP. Adds to `kept` what is in the present entry, was not
    /// given, and stays.
    fn add_server(
        &self,
        planner: &mut Planner,
        kept: &mut Vec<String>,
    ) -> Result<(Vec<String>, Option<HttpServer>), PlanError> {
        if self.http.as_ref().is_some_and(|http| http.token_variable.is_some()) && !self.agent.reads_token_variable() {
            return Err(PlanError::NoTokenVariable(self.agent));
        }
        let (mut present, mut is_taken) = (None, false);
        for server in planner.registrations()? {
            match (server.name == SERVER, self.replaces(&server)) {
                (true, false) if !self.replace => return Err(PlanError::Taken(Box::new(server))),
                (true, false) => is_taken = true,
                (true, true) if self.reset => {}
                (true, true) if !server.errors.is_empty() => return Err(PlanError::Invalid(Box::new(server))),
                (true, true) => present = Some(server),
                (false, true) => planner.warnings.push(format!(
                    "{}: `{}` is prompt-expander too; remove it, or the model sees each tool twice",
                    location(&server.path, server.position),
                    server.name
                )),
                _ => {}
            }
        }
        let variables = self.agent.launch.variables.as_ref();
        let url = self.http.as_ref().map(|http| &http.url);
        let program = Some(&self.program).filter(|_| url.is_none());
        for word in url.into_iter().chain(program).chain(&self.options) {
            if let Some(mark) = variables.and_then(|variables| variables.mark_in(word)) {
                planner.warnings.push(format!(
                    "{} takes `{mark}` in {} for the beginning of a variable, and may not find the {}",
                    self.agent.title,
                    named(word),
                    if url.is_some() { "server; give it another URL" } else { "path; rename it" }
                ));
            }
        }
        // Those of a program are not for a server over HTTP.
        let known = present.as_ref().filter(|_| self.http.is_none()).map_or(&[][..], |server| &server.args);
        let arguments = merged(known, &self.options);
        let mut http = self.http.clone();
        let config = &self.agent.config;
        let mut entry = match &mut http {
            None => (config.entry)(&self.program, &arguments),
            Some(http) => {
                let entry = present.as_ref().map(|server| server.entry.clone()).unwrap_or_default();
                let entry = config.http.entry(config, http, &entry);
                let token = present.as_ref().and_then(Registration::http_server).and_then(|known| known.token_variable);
                http.token_variable = http.token_variable.take().or(token);
                entry
            }
        };
        if let (Some(http), Some(server)) = (&http, present.as_ref().filter(|server| server.command.is_some())) {
            planner.notes.push(format!(
                "replaces the registration that starts {}; the server at {} has its own prompts",
                named(&server.line()),
                http.url
            ));
        }
        if let Some(key) = self.agent.config.trust {
            // Nobody should lose a text because an agent did not ask.
            let edits = self.http.is_none() && arguments.iter().any(|argument| argument == "--edit");
            if !self.trust || edits {
                entry.initial.retain(|(initial, _)| *initial != key);
                entry.required.push((key, None));
                let was_there = |server: &Registration| server.entry.iter().any(|(known, _)| known == key);
                if self.trust && present.as_ref().is_none_or(was_there) {
                    planner.notes.push(format!(
                        "without `\"{key}\": true`, because of --edit: {} asks you before it calls a tool of this server",
                        self.agent.title
                    ));
                }
            } else if present.is_none() {
                planner.notes.push(format!(
                    "because of `\"{key}\": true`, {} calls the tools of this server without asking you; --no-trust leaves \
                     it out",
                    self.agent.title
                ));
            }
        }
        if let Some(server) = &present {
            if server.is_disabled {
                let at = location(&server.path, server.position);
                let warning = format!("{at}: `{SERVER}` is disabled, and stays disabled until you enable it");
                planner.warnings.push(warning);
            }
            kept.extend(not_given(known, &self.options).map(shown_option));
            kept.extend(server.entry.iter().filter(|(key, value)| !entry.sets(key, value)).map(|(key, _)| key.clone()));
        }
        let is_replaced = is_taken || self.reset;
        let part = Part::Server { keys: planner.server_keys(), entry, is_replaced };
        planner.config()?.edit(|text, syntax| part.add_to(text, syntax))?;
        Ok((arguments, http))
    }

    /// Whether the present registration is replaced without --replace. A URL does not say whose server it is, so another one
    /// is not.
    fn replaces(&self, present: &Registration) -> bool {
        let url = self.http.as_ref().map(|http| &http.url);
        present.starts_prompt_expander()
            || (url.is_some() && present.http_server().map(|known| known.url).as_ref() == url)
    }

    /// Returns whether the user has a hook afterwards. A new one gets the options of the server that name prompts. Adds to `kept`
    /// what was not given and stays in the present hook or comes from the server.
    fn add_hook(
        &self,
        planner: &mut Planner,
        of_server: &[String],
        http: Option<&HttpServer>,
        kept: &mut Vec<String>,
    ) -> Result<bool, PlanError> {
        let (plain, others) = planner.hooks();
        let is_registered = !plain.is_empty() || !others.is_empty();
        let Some(hook) = self.agent.hook.as_ref().filter(|_| self.hook || is_registered) else {
            return Ok([Scope::User, Scope::Project].into_iter().any(|scope| planner.files.has_hook(scope)));
        };
        let what_next = match plain.is_empty() {
            false => "each message is expanded twice until you remove it",
            true => {
                "no other hook is written; remove this one first, or make sure that it has the same prompts as the server"
            }
        };
        planner.warnings.extend(others.iter().map(|hook| format!("{}; {what_next}", not_by_install(hook))));
        planner.notes.extend(plain.iter().skip(1).map(|hook| {
            let at = location(&hook.path, hook.position);
            format!("{at}: removes the hook {}, because two hooks would expand each message twice", named(&hook.line))
        }));
        if others.is_empty() || !plain.is_empty() {
            let given = http.map_or_else(|| Arguments::of(&self.options).of_hook, HttpServer::hook_options);
            let known = match plain.first() {
                Some(_) if self.reset => Vec::new(),
                _ if http.is_some() => Vec::new(), // the server has its own prompts
                Some(hook) => hook.options(),
                None => self.options_for_hook(planner, of_server)?,
            };
            let line = self.agent.hook_line(hook, &self.program, &merged(&known, &given));
            let part = Part::hook(hook, line.map_err(|_| PlanError::Nul)?);
            planner.hook_file()?.edit(|text, syntax| part.add_to(text, syntax))?;
            let new = not_given(&known, &given).map(shown_option).filter(|option| !kept.contains(option));
            kept.extend(new.collect::<Vec<_>>());
        }
        Ok(true)
    }

    /// The options of the server that name prompts, with the folders that its environment names instead, which the agent passes
    /// only to the server.
    fn options_for_hook(&self, planner: &Planner, of_server: &[String]) -> Result<Vec<String>, ConfigError> {
        let Arguments { folders, mut of_hook, .. } = Arguments::of(of_server);
        let is_kept = |server: &Registration| server.name == SERVER && server.is_prompt_expander() && !self.reset;
        let server = planner.registrations()?.into_iter().find(is_kept);
        let listed = server.and_then(|server| server.env.get(PROMPTS_VARIABLE).cloned()).filter(|_| folders.is_empty());
        let variables = &self.agent.launch.variables;
        let listed = listed.map(|listed| match variables {
            Some(variables) => variables.replace(&listed, planner.files.system),
            None => listed,
        });
        let listed = listed.as_ref().into_iter().flat_map(std::env::split_paths);
        for folder in listed.filter(|folder| !folder.as_os_str().is_empty()) {
            of_hook.extend(["--prompts".to_owned(), folder.to_string_lossy().into_owned()]);
        }
        Ok(of_hook)
    }
}

impl Removal {
    /// Plans the removal. Reads the agent's files.
    pub fn plan(&self, system: &System) -> Result<Plan, PlanError> {
        let mut planner = Planner::new(self.agent, self.scope, system)?;
        for server in planner.registrations()? {
            if server.name == SERVER && !server.is_prompt_expander() {
                planner.warnings.push(format!(
                    "{}: `{SERVER}` is another server, which is left alone; {}",
                    location(&server.path, server.position),
                    what_it_runs(&server)
                ));
            } else if server.name == SERVER && server.is_http_server() {
                planner.notes.push(format!(
                    "`{SERVER}` is the server at {}; whether that is prompt-expander is not checked here",
                    printable(&server.line())
                ));
            }
        }
        let (_, others) = planner.hooks();
        planner.warnings.extend(others.iter().map(|hook| format!("{}; remove it yourself", not_by_install(hook))));
        let installed = planner.installed()?;
        for (_, part) in &installed {
            let file = match part {
                Part::Server { .. } => planner.config()?,
                Part::Hook { .. } => planner.hook_file()?,
            };
            file.edit(|text, syntax| part.remove_from(text, syntax))?;
        }
        planner.remove_stale_trust()?;
        let mut plan = planner.finish(&installed);
        plan.files.iter_mut().for_each(|file| restore(file, &parts_in(file, &installed)));
        Ok(plan)
    }
}

/// Something that `install` adds to a file.
enum Part {
    Server {
        keys: Vec<String>,
        entry: Entry,
        /// Whether an existing entry is replaced completely.
        is_replaced: bool,
    },
    Hook {
        event: &'static str,
        line: String,
        timeout: u32,
    },
}

impl Part {
    fn hook(hook: &Hook, line: String) -> Part {
        let timeout = HOOK_TIMEOUT.as_secs_f32() / hook.timeout_unit.as_secs_f32();
        Part::Hook { event: hook.event, line, timeout: timeout.round() as u32 }
    }

    fn add_to(&self, text: &str, syntax: Syntax) -> Result<String, SyntaxError> {
        match self {
            Part::Server { keys, entry, is_replaced } => syntax.set(text, keys, entry, *is_replaced),
            Part::Hook { event, line, timeout } => edit::set_hook(syntax, text, event, line, *timeout, &is_plain),
        }
    }

    fn remove_from(&self, text: &str, syntax: Syntax) -> Result<String, SyntaxError> {
        match self {
            Part::Server { keys, .. } => syntax.remove(text, keys),
            Part::Hook { event, .. } => edit::remove_hook(syntax, text, event, &is_plain),
        }
    }

    /// Whether the value of a file has it.
    fn is_in(&self, value: &Value) -> bool {
        match self {
            Part::Server { keys, .. } => {
                let entry = keys.iter().fold(value, |value, key| &value[key]);
                let command = entry["command"].as_str().or_else(|| entry["command"][0].as_str());
                let url = entry["httpUrl"].as_str().or_else(|| entry["url"].as_str());
                command.map_or_else(|| url.is_some_and(is_endpoint), is_prompt_expander)
            }
            Part::Hook { event, .. } => {
                handlers(value, event).filter_map(|(_, handler)| handler["command"].as_str()).any(is_plain)
            }
        }
    }
}

fn parts_in<'p>(file: &ConfigFile, installed: &'p [(PathBuf, Part)]) -> Vec<&'p Part> {
    installed.iter().filter(|(path, _)| *path == file.path).map(|(_, part)| part).collect()
}

/// The text of a file with these parts added; `None` if they cannot be added.
fn with_parts(file: &ConfigFile, text: &str, parts: &[&Part]) -> Option<String> {
    let add = |text: String, part: &&Part| file.edit_text(&text, |text, syntax| part.add_to(text, syntax));
    parts.iter().try_fold(text.to_owned(), add).ok()
}

/// Restores the backup of a file from which these parts are removed, to the last byte, if adding them is all that happened to
/// the file since; or removes it, if there was no file before.
fn restore(file: &mut ConfigFile, parts: &[&Part]) {
    if parts.is_empty() {
        return;
    }
    let is_before = |text: &str| with_parts(file, text, parts) == file.original;
    let has_parts = |text: &str| {
        let value = file.parse(text);
        parts.iter().any(|part| part.is_in(&value))
    };
    let [first, last] = file.backup_paths().map(|path| {
        let text = file.backup(&path).filter(|text| is_before(text));
        (text, path)
    });
    let original = |text: &Option<String>| text.clone().filter(|text| !has_parts(text));
    let (restored, obsolete) = match (original(&first.0), original(&last.0)) {
        (Some(text), _) => {
            // The last backup may be an earlier first state, which only the user may remove.
            let is_obsolete = file.backup(&last.1).is_none_or(|last| last == text || has_parts(&last));
            let last = Some(last.1).filter(|_| is_obsolete);
            (Some(text), [first.1].into_iter().chain(last).collect())
        }
        (None, None) if !file.is_made_by_install => return,
        // The first backup may be older than the file that is restored or removed.
        (None, restored) => {
            let backups = [first, last].into_iter();
            (restored, backups.filter_map(|(text, path)| text.map(|_| path)).collect())
        }
    };
    file.edited = restored;
    file.obsolete_backups = obsolete;
}

/// The files of an agent, and those of them that are edited.
struct Planner<'s> {
    scope: Scope,
    files: AgentFiles<'s>,
    /// The config that is edited.
    config: PathBuf,
    edited: Vec<ConfigFile>,
    warnings: Vec<String>,
    notes: Vec<String>,
}

impl<'s> Planner<'s> {
    /// Reads the agent's files. An error if the scope makes no sense.
    fn new(agent: &'static Agent, scope: Scope, system: &'s System) -> Result<Planner<'s>, PlanError> {
        let files = agent.read_files(system);
        let config = config_to_edit(&files, scope).ok_or(PlanError::NoConfig(agent))?;
        let of_user = agent.config_paths(Scope::User, system);
        if scope == Scope::Project && of_user.iter().any(|of_user| is_same_file(of_user, &config)) {
            return Err(PlanError::NotAProject(agent, config));
        }
        let mut planner = Planner { scope, files, config, edited: Vec::new(), warnings: Vec::new(), notes: Vec::new() };
        planner.warnings = planner.warnings_of_shared_config();
        Ok(planner)
    }

    /// A warning for each other agent that reads the same config.
    fn warnings_of_shared_config(&self) -> Vec<String> {
        let (agent, system) = (self.files.agent, self.files.system);
        let is_read_by = |other: &&Agent| {
            let scopes = [Scope::User, Scope::Project].into_iter();
            let mut paths = scopes.flat_map(|scope| other.config_paths(scope, system));
            **other != *agent && paths.any(|path| is_same_file(&path, &self.config))
        };
        let warning = |other: &Agent| {
            let is_same_entry = other.server_keys(self.scope, system) == agent.server_keys(self.scope, system);
            let what = if is_same_entry { ", and both use the same entry" } else { "" };
            format!("{}: this file is the config of {} too{what}", shown(&self.config), other.title)
        };
        AGENTS.into_iter().filter(is_read_by).map(warning).collect()
    }

    fn registrations(&self) -> Result<Vec<Registration>, ConfigError> {
        let Some(file) = self.files.at(&self.config) else { return Ok(Vec::new()) };
        self.files.agent.registrations(file.map_err(Clone::clone)?, self.scope, self.files.system)
    }

    /// The keys of the entry in the config.
    fn server_keys(&self) -> Vec<String> {
        let agent = self.files.agent;
        let mut keys = agent.server_keys(self.scope, self.files.system);
        let value = self.files.at(&self.config).and_then(Result::ok).map_or(&Value::Null, |file| &file.value);
        let servers = keys.iter().fold(value, |value, key| &value[key]);
        keys.extend(agent.nested_servers(servers).map(|(key, _)| key.to_owned()));
        keys.push(SERVER.to_owned());
        keys
    }

    /// The hooks that `install` may rewrite, and the others that run prompt-expander: they do more than that, or are in
    /// another file. Warns of what could not be read.
    fn hooks(&mut self) -> (Vec<HookLine>, Vec<HookLine>) {
        let (hooks, errors) = self.files.hooks(self.scope);
        let warnings = errors.iter().map(|error| format!("{error}; whether a hook is registered there is unknown"));
        self.warnings.extend(warnings);
        hooks.into_iter().partition(|hook| self.files.agent.is_by_install(hook, self.files.system))
    }

    /// What `install` has added, and to which files: the server named `prompts` if it is prompt-expander, and the hook.
    fn installed(&self) -> Result<Vec<(PathBuf, Part)>, ConfigError> {
        let agent = self.files.agent;
        let mut installed = Vec::new();
        let server =
            self.registrations()?.into_iter().find(|server| server.name == SERVER && server.is_prompt_expander());
        if let Some(server) = &server {
            let config = &agent.config;
            let mut entry = match (&server.command, server.http_server()) {
                (None, Some(http)) => config.http.entry(config, &http, &Map::new()),
                (command, _) => (config.entry)(command.as_deref().unwrap_or_default(), &server.args),
            };
            entry.initial.retain(|(key, _)| server.entry.contains_key(*key)); // `install --no-trust` leaves one out
            installed.push((self.config.clone(), Part::Server { keys: self.server_keys(), entry, is_replaced: true }));
        }
        let mut hooks = self.files.hooks(self.scope).0.into_iter();
        let hook = hooks.find(|hook| agent.is_by_install(hook, self.files.system));
        installed.extend(agent.hook.as_ref().zip(hook).map(|(hook, line)| (line.path, Part::hook(hook, line.line))));
        Ok(installed)
    }

    fn config(&mut self) -> Result<&mut ConfigFile, ConfigError> {
        let (path, config) = (self.config.clone(), &self.files.agent.config);
        let is_private = config.is_private && self.scope == Scope::User;
        self.file(ConfigFile {
            template: config.template,
            is_private,
            ..ConfigFile::absent(path, config.syntax, self.scope)
        })
    }

    fn hook_file(&mut self) -> Result<&mut ConfigFile, PlanError> {
        let agent = self.files.agent;
        let path = |scope| agent.hook_path(scope, self.files.system);
        let (Some(hook), Some(file)) = (&agent.hook, path(self.scope)) else { return Err(PlanError::NoHooks(agent)) };
        if self.scope == Scope::Project && path(Scope::User).is_some_and(|of_user| is_same_file(&of_user, &file)) {
            return Err(PlanError::NotAProject(agent, file));
        }
        Ok(self.file(ConfigFile::absent(file, hook.syntax, self.scope))?)
    }

    /// Removes each record that the user trusts a hook where the edit has put another one, or none: the agent asks again. Returns
    /// whether a hook is changed of which the agent keeps such a record.
    fn remove_stale_trust(&mut self) -> Result<bool, ConfigError> {
        let agent = self.files.agent;
        let Some(hook) = agent.hook.as_ref().filter(|hook| hook.trust_record.is_some()) else { return Ok(false) };
        let path = agent.hook_path(self.scope, self.files.system);
        let Some(file) = self.edited.iter().find(|file| Some(&file.path) == path.as_ref()) else { return Ok(false) };
        let edited = file.parse(file.edited.as_deref().unwrap_or_default());
        let hooks = |value| handlers(value, hook.event).collect::<BTreeMap<_, _>>();
        let (before, after) = (hooks(&file.value), hooks(&edited));
        let places = before.keys().chain(after.keys()).filter(|place| before.get(place) != after.get(place));
        let changed: BTreeSet<_> = places.copied().collect();
        let records = changed.iter().filter_map(|place| self.files.trust_record(&file.path, *place));
        let records: Vec<_> = records.map(|(config, keys, _)| (config.clone(), keys)).collect();
        for (config, keys) in records {
            self.file(config)?.edit(|text, syntax| syntax.remove(text, &keys))?;
        }
        Ok(!changed.is_empty())
    }

    /// Whether a registered hook has no record that the user trusts it, although the agent keeps one.
    fn has_untrusted_hook(&self) -> bool {
        let keeps_records = self.files.agent.hook.as_ref().is_some_and(|hook| hook.trust_record.is_some());
        let mut hooks = [Scope::User, Scope::Project].into_iter().flat_map(|scope| self.files.hooks(scope).0);
        keeps_records && hooks.any(|hook| self.files.trust_record(&hook.path, hook.place).is_none())
    }

    /// The file that is edited, as it was read; or a new one.
    fn file(&mut self, new: ConfigFile) -> Result<&mut ConfigFile, ConfigError> {
        let at = match self.edited.iter().position(|file| file.path == new.path) {
            Some(at) => at,
            None => {
                let file = match self.files.at(&new.path) {
                    Some(file) => ConfigFile { template: new.template, ..file.map_err(Clone::clone)?.clone() },
                    None => new,
                };
                self.edited.push(file);
                self.edited.len() - 1
            }
        };
        Ok(&mut self.edited[at])
    }

    /// The finished plan; `installed` is what was installed before.
    fn finish(self, installed: &[(PathBuf, Part)]) -> Plan {
        let mut files: Vec<_> = self.edited.into_iter().filter(ConfigFile::is_edited).collect();
        for file in &mut files {
            let parts = parts_in(file, installed);
            file.is_installed = !parts.is_empty();
            file.is_made_by_install = file.is_installed
                && with_parts(file, file.template, &parts).is_some_and(|made| file.original == Some(made));
        }
        Plan { files, warnings: self.warnings, notes: self.notes, ..Plan::default() }
    }
}

/// The config of a scope that is edited: the one that has the server, else the first that exists, else the one that the agent
/// would make.
fn config_to_edit(files: &AgentFiles, scope: Scope) -> Option<PathBuf> {
    let paths = files.agent.config_paths(scope, files.system);
    let existing: Vec<&PathBuf> = paths.iter().filter(|path| fs::symlink_metadata(path).is_ok()).collect();
    let has_server = |path: &&&PathBuf| {
        let file = files.at(path).and_then(Result::ok);
        let servers = file.and_then(|file| files.agent.registrations(file, scope, files.system).ok());
        servers.is_some_and(|servers| servers.iter().any(|server| server.name == SERVER))
    };
    let found = existing.iter().find(has_server).or(existing.first()).map(|path| (*path).clone());
    found.or_else(|| files.agent.new_config_path(scope, files.system))
}

/// What is registered with an agent.
#[derive(Debug)]
pub struct Status {
    /// The agent.
    pub agent: &'static Agent,
    /// Whether it is on this machine.
    pub is_found: bool,
    /// Every server that is prompt-expander, or has its name, of the user and the project.
    pub registrations: Vec<Registration>,
    /// The files that register the hook, and where.
    pub hooks: Vec<(PathBuf, Option<Position>)>,
    /// Why a file could not be read.
    pub errors: Vec<ConfigError>,
}

impl Agent {
    /// What is registered with it. Reads its files.
    pub fn status(&'static self, system: &System) -> Status {
        let files = self.read_files(system);
        let (mut registrations, mut errors) = files.registrations([Scope::User, Scope::Local, Scope::Project]);
        registrations.retain(|server| server.name == SERVER || server.is_prompt_expander());
        let mut hooks = Vec::new();
        for scope in [Scope::User, Scope::Project] {
            let (found, unreadable) = files.hooks(scope);
            hooks.extend(found.into_iter().map(|hook| (hook.path, hook.position)));
            let new: Vec<_> = unreadable.into_iter().filter(|error| !errors.contains(error)).cloned().collect();
            errors.extend(new);
        }
        hooks.dedup();
        Status { agent: self, is_found: self.is_found(system), registrations, hooks, errors }
    }

    /// Whether `install` would rewrite a hook: it is plain, and in the file where `install` would put it.
    pub fn is_by_install(&self, hook: &HookLine, system: &System) -> bool {
        hook.is_plain() && self.hook_path(hook.scope, system).as_ref() == Some(&hook.path)
    }
}

fn location(path: &Path, position: Option<Position>) -> String {
    let position = position.map(|position| format!(":{position}")).unwrap_or_default();
    format!("{}{position}", shown(path))
}

/// A path as it is printed, whatever is in it.
fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// An option with its value, as one would type it.
fn shown_option(option: &[String]) -> String {
    let words = || option.iter().map(String::as_str);
    printable(&shlex::try_join(words()).unwrap_or_else(|_| words().collect::<Vec<_>>().join(" ")))
}

fn what_it_runs(server: &Registration) -> String {
    let verb = if server.command.is_some() { "runs" } else { "is at" };
    server.errors.first().cloned().unwrap_or_else(|| format!("it {verb} {}", named(&server.line())))
}

fn not_by_install(hook: &HookLine) -> String {
    format!(
        "{}: the hook {} runs prompt-expander, but not as `install` writes it, so it is left alone",
        location(&hook.path, hook.position),
        named(&hook.line)
    )
}
