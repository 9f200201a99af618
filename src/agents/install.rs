//! Plans the changes of `install` and `uninstall`, and lists what is already registered. Nothing is
//! written here; see [`ConfigFile::write`].
//!
//! New entries are identical to those of the agents' own commands: `codex mcp add`, `claude mcp
//! add`, `gemini mcp add --trust` and `opencode mcp add`.

use super::agent::{Agent, Hook, Installed, RegisteredServers, TrustRecord};
use super::config_file::{Backup, ConfigFile};
use super::config_text::{ConfigSyntax, Entry, SetMode};
use super::environment::{Scope, System, is_same_file};
use super::files::AgentFiles;
use super::hook_line::{
    HookPlace, RegisteredHook, entries_of_event, format_command_line, is_plain,
};
use super::registration::{Registration, SERVER_NAME};
use crate::prompt::{Diagnostic, Kind, Position};
use crate::wording::{full_path, in_backticks, path_in_backticks, printable};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What `install` should register.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The agent.
    pub agent: &'static Agent,
    /// Where to register it: [`Scope::User`] or [`Scope::Project`].
    pub scope: Scope,
    /// The absolute path of the program to register.
    pub program: String,
    /// The arguments to register: `--config FILE`, or none for the default settings file.
    pub arguments: Vec<String>,
    /// Whether to register the hook as well as the server.
    pub hook: bool,
    /// Whether to replace another server that is named [`SERVER_NAME`], instead of failing.
    pub replace: bool,
    /// Whether a new entry allows the agent to call the tools without asking, if the agent has a
    /// setting for that.
    pub trust: bool,
}

/// The planned changes of one agent's files.
#[derive(Debug, Default)]
pub struct Plan {
    /// The files to change, already edited in memory.
    pub files: Vec<ConfigFile>,
    /// Warnings about things that may not work as the user expects.
    pub warnings: Vec<String>,
    /// What the user should know before confirming the changes.
    pub notes: Vec<String>,
    /// What is registered once an installation has been written.
    pub installed: Installed,
}

/// What is registered as [`SERVER_NAME`] before an installation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExistingServer {
    None,
    PromptExpander,
    /// Another program, or an entry that the agent can't use.
    Other,
}

impl Installation {
    /// Reads the agent's files, and plans the installation: adds the server and the hook, and
    /// removes the records of trust in hooks that change.
    ///
    /// # Errors
    /// Fails if a file can't be read or edited, or if another server is registered as
    /// [`SERVER_NAME`] and [`replace`](Self::replace) is false.
    pub fn plan(&self, system: &System) -> Result<Plan, Diagnostic> {
        let mut planner = Planner::new(self.agent, self.scope, system)?;
        self.add_server(&mut planner)?;
        let is_hook_registered = self.hook && self.add_hook(&mut planner)?;
        // Compares the planned hooks file with the original, so `add_hook` must come first.
        let changed_hooks = planner.changed_hooks_with_trust();
        planner.remove_trust_records(&changed_hooks)?;
        // `planner.files` are the files before the installation; only `planner.plan` has edits.
        let previous_hooks = self.agent.hooks(&planner.files);
        planner.plan.installed = Installed {
            has_hook: is_hook_registered || !previous_hooks.is_empty(),
            is_hook_untrusted: !changed_hooks.is_empty() || planner.has_untrusted(&previous_hooks),
        };
        Ok(planner.finish())
    }

    /// Plans to add the server to the config, or to update it there.
    fn add_server(&self, planner: &mut Planner) -> Result<(), Diagnostic> {
        let existing = self.existing_server(planner)?;
        if existing != ExistingServer::PromptExpander {
            self.note_trust(planner);
        }
        let entry = self.entry();
        let mode = if existing == ExistingServer::Other {
            SetMode::Replace
        } else {
            SetMode::Update
        };
        let keys = planner.entry_keys();
        let config = planner.plan_config()?;
        config.edit(|text, syntax| syntax.set(text, &keys, &entry, mode))
    }

    /// Finds out what is registered as [`SERVER_NAME`]. Warns if prompt-expander is registered
    /// under another name, too.
    ///
    /// # Errors
    /// Fails if another server has that name and [`replace`](Self::replace) is false.
    fn existing_server(&self, planner: &mut Planner) -> Result<ExistingServer, Diagnostic> {
        let mut existing = ExistingServer::None;
        for server in planner.registrations()? {
            let is_prompt_expander = server.is_prompt_expander() && server.error.is_none();
            if server.name == SERVER_NAME {
                if is_prompt_expander {
                    existing = ExistingServer::PromptExpander;
                } else if self.replace {
                    existing = ExistingServer::Other;
                } else {
                    return Err(name_clash(&server));
                }
            } else if is_prompt_expander {
                planner.plan.warnings.push(format!(
                    "{}: `{}` is prompt-expander too; remove it, or the model sees each tool twice",
                    location(&server.path, server.position),
                    printable(&server.name)
                ));
            }
        }
        Ok(existing)
    }

    /// Returns the server's entry. Without [`trust`](Self::trust), it removes the agent's trust
    /// setting even from an existing entry.
    fn entry(&self) -> Entry {
        let mut entry = (self.agent.config.new_entry)(&self.program, &self.arguments);
        if let Some(trust_key) = self.agent.config.trust_key
            && !self.trust
        {
            entry.initial.retain(|(key, _)| *key != trust_key);
            entry.required.push((trust_key, None)); // `None` removes the key
        }
        entry
    }

    /// Adds a note if a new entry allows the agent to call the tools without asking.
    fn note_trust(&self, planner: &mut Planner) {
        if self.agent.config.trust_key.is_some() && self.trust {
            planner.plan.notes.push(format!(
                "{} will call the tools of this server without asking you; with --no-trust, it asks",
                self.agent.title
            ));
        }
    }

    /// Plans to add or update the hook. Leaves it out if prompt-expander's plugin is
    /// enabled, or if a hook runs prompt-expander in a way that `install` must not overwrite.
    ///
    /// Returns whether the agent has a hook afterwards.
    fn add_hook(&self, planner: &mut Planner) -> Result<bool, Diagnostic> {
        let Some(hook) = &self.agent.hook else {
            return Ok(false);
        };
        if let Some(plugin) = self.agent.plugin(&planner.files, planner.system) {
            planner.plan.warnings.push(format!(
                "the plugin `{plugin}` has a server and a hook, so the hook is left out here; to remove one of the two servers, \
                 run `claude plugin disable {plugin}` or `prompt-expander uninstall {}`",
                self.agent.name
            ));
            return Ok(true); // the plugin's own hook
        }
        let existing = planner.hooks_of_scope();
        planner.warn_of_unreadable_files();
        planner.warn_of_other_hooks(&existing);
        if existing.rewritable.is_empty() && !existing.others.is_empty() {
            return Ok(true); // the user's own hook; a second one would add each prompt twice
        }
        if existing.rewritable.is_empty() {
            planner.plan.notes.extend(hook.note.map(str::to_owned));
        }
        let handler = self.hook_handler(hook);
        let file = planner.plan_hooks_file()?;
        file.edit(|text, syntax| syntax.set_hook(text, hook.event, &handler, &is_plain))?;
        Ok(true)
    }

    /// Returns the hook's entry in the agent's file: for a plugin, the words of the command.
    fn hook_handler(&self, hook: &Hook) -> Value {
        let mut words = vec![self.program.as_str(), "hook", self.agent.name];
        words.extend(self.arguments.iter().map(String::as_str));
        if hook.syntax == ConfigSyntax::Plugin {
            return json!({"words": words});
        }
        let line = format_command_line(&words, hook.windows_prefix, hook.windows_suffix);
        json!({"type": "command", "command": line, "timeout": hook.timeout})
    }
}

/// Returns the error that another server is registered as [`SERVER_NAME`].
fn name_clash(server: &Registration) -> Diagnostic {
    let message = format!(
        "another server has the name `{SERVER_NAME}`; {}",
        describe(server)
    );
    let fix = "rename it, or use --replace to replace it with prompt-expander";
    Diagnostic::new(Kind::NameCollision, message, fix)
        .with_position(server.position)
        .in_file(&*server.path)
}

/// Reads the agent's files, and plans to remove what `install` registered: the server and the hook.
/// Other servers named [`SERVER_NAME`] and custom hooks are kept. `scope` is [`Scope::User`] or
/// [`Scope::Project`].
///
/// # Errors
/// Fails if a file can't be read or edited.
pub fn plan_removal(
    agent: &'static Agent,
    scope: Scope,
    system: &System,
) -> Result<Plan, Diagnostic> {
    let mut planner = Planner::new(agent, scope, system)?;
    planner.warn_of_other_server()?;
    let hooks = planner.hooks_of_scope();
    planner.warn_of_unreadable_files();
    planner.warn_of_other_hooks(&hooks);
    // Plan the files first, because `remove_registrations` edits only those in the plan.
    planner.plan_config()?;
    if planner.has_hooks_file() {
        planner.plan_hooks_file()?;
    }
    planner.remove_registrations()?;
    // Compares the planned hooks file with the original, so the hook must have been removed.
    let changed_hooks = planner.changed_hooks_with_trust();
    planner.remove_trust_records(&changed_hooks)?;
    let mut plan = planner.finish();
    // `finish` has decided about the backups. Restoring a file overrides that.
    for file in &mut plan.files {
        restore_if_possible(file);
    }
    Ok(plan)
}

/// Restores a file to its state before the installation, byte for byte, if only whitespace differs
/// from that state: plans to replace it with its backup, or to delete it if `install` created it.
fn restore_if_possible(file: &mut ConfigFile) {
    let Some(edited) = &file.edited else {
        return;
    };
    match file.backup_text() {
        Some(backup) if is_equal_except_whitespace(edited, &backup) => {
            file.edited = Some(backup);
            file.backup = Backup::Remove;
        }
        None if is_equal_except_whitespace(edited, file.template) => {
            file.edited = None;
            file.backup = Backup::None;
        }
        _ => {}
    }
}

/// Returns whether two configs are equal except for whitespace. An empty text equals `{}`.
fn is_equal_except_whitespace(a: &str, b: &str) -> bool {
    without_whitespace(a) == without_whitespace(b)
}

/// Removes whitespace and byte order marks: `{ "a": 1 }` becomes `{"a":1}`. An empty object becomes
/// an empty string.
fn without_whitespace(text: &str) -> String {
    let text = text.replace(
        |letter: char| letter.is_whitespace() || letter == '\u{feff}',
        "",
    );
    if text == "{}" { String::new() } else { text }
}

/// Plans the changes of an agent's files in one scope.
struct Planner<'s> {
    agent: &'static Agent,
    scope: Scope,
    system: &'s System,
    /// The agent's files before any change.
    files: AgentFiles,
    /// The config file to edit. It may not exist.
    config_path: PathBuf,
    /// The hooks file to edit, if the agent has hooks. It may not exist.
    hooks_path: Option<PathBuf>,
    plan: Plan,
}

/// The hooks of a scope that run prompt-expander.
struct HooksOfScope {
    /// Hooks that `install` may overwrite.
    rewritable: Vec<RegisteredHook>,
    /// Hooks that do more than run prompt-expander, or that are in another file.
    others: Vec<RegisteredHook>,
}

impl<'s> Planner<'s> {
    /// Reads the agent's files.
    ///
    /// # Errors
    /// Fails if the home directory is needed but unknown, or if the scope is the project but the
    /// project's files are also the user's.
    fn new(
        agent: &'static Agent,
        scope: Scope,
        system: &'s System,
    ) -> Result<Planner<'s>, Diagnostic> {
        let files = agent.read_files(system);
        let config_path =
            choose_config(agent, &files, scope, system).ok_or_else(|| no_home_directory(agent))?;
        let hooks_path = agent.hook_path(scope, system);
        if scope == Scope::Project {
            for path in [&config_path].into_iter().chain(&hooks_path) {
                check_not_users_file(agent, path, system)?;
            }
        }
        Ok(Planner {
            agent,
            scope,
            system,
            files,
            config_path,
            hooks_path,
            plan: Plan::default(),
        })
    }

    /// Returns the servers in the config to edit. A config that doesn't exist has none.
    fn registrations(&self) -> Result<Vec<Registration>, Diagnostic> {
        match self.files.get(&self.config_path) {
            Some(Ok(file)) => {
                let config = &self.agent.config;
                config.registrations(file, self.scope, self.system)
            }
            Some(Err(error)) => Err(error.clone()),
            None => Ok(Vec::new()),
        }
    }

    /// Returns the path of keys to the server's entry in the config to edit.
    fn entry_keys(&self) -> Vec<String> {
        let value = match self.files.get(&self.config_path) {
            Some(Ok(file)) => &file.value,
            // Editing the config will report the error, if any.
            Some(Err(_)) | None => &Value::Null,
        };
        self.agent.config.entry_keys(value, self.scope, self.system)
    }

    /// Warns if another program is registered as [`SERVER_NAME`].
    fn warn_of_other_server(&mut self) -> Result<(), Diagnostic> {
        for server in self.registrations()? {
            if server.name == SERVER_NAME && !server.is_prompt_expander() {
                self.plan.warnings.push(format!(
                    "{}: `{SERVER_NAME}` is another server, which is kept; {}",
                    location(&server.path, server.position),
                    describe(&server)
                ));
            }
        }
        Ok(())
    }

    /// Returns the hooks in this scope that run prompt-expander.
    fn hooks_of_scope(&self) -> HooksOfScope {
        let mut hooks = HooksOfScope {
            rewritable: Vec::new(),
            others: Vec::new(),
        };
        for hook in self.agent.hooks(&self.files) {
            if hook.scope != self.scope {
                continue;
            }
            if self.agent.is_managed_by_install(&hook, self.system) {
                hooks.rewritable.push(hook);
            } else {
                hooks.others.push(hook);
            }
        }
        hooks
    }

    /// Warns that hooks in unreadable files can't be detected.
    fn warn_of_unreadable_files(&mut self) {
        for error in self.files.errors() {
            // An unreadable config is an error, not a warning: it fails when it is edited.
            if error.file.as_deref() != Some(&*self.config_path) {
                self.plan.warnings.push(format!(
                    "{error}; whether a hook is registered there is unknown"
                ));
            }
        }
    }

    /// Warns of the hooks that are kept because `install` must not overwrite them.
    fn warn_of_other_hooks(&mut self, hooks: &HooksOfScope) {
        for hook in &hooks.others {
            self.plan.warnings.push(format!(
                "{}: the hook {} differs from what `install` writes, so it is kept; if you do not want it, remove it yourself",
                location(&hook.path, hook.position),
                in_backticks(&hook.line)
            ));
        }
    }

    /// Returns whether the user has yet to trust one of the hooks. Always false for an agent that
    /// doesn't ask for trust.
    fn has_untrusted(&self, hooks: &[RegisteredHook]) -> bool {
        self.keeps_trust_records()
            && hooks.iter().any(|hook| {
                let record = self.agent.trust_record(&self.files, &hook.path, hook.place);
                record.is_none()
            })
    }

    /// Returns whether the agent records which hooks the user trusts.
    fn keeps_trust_records(&self) -> bool {
        match &self.agent.hook {
            Some(hook) => hook.trust_record_keys.is_some(),
            None => false,
        }
    }

    /// Removes the server and the hook from the planned files.
    fn remove_registrations(&mut self) -> Result<(), Diagnostic> {
        for index in 0..self.plan.files.len() {
            let file = &self.plan.files[index];
            if let Some(original) = &file.original {
                let edited = self.without_registrations(file, original);
                let edited = edited.map_err(|error| error.in_file(&*file.path))?;
                self.plan.files[index].edited = Some(edited);
            }
        }
        Ok(())
    }

    /// Returns `text`, which is the original or the edited text of a file, without the server and
    /// the hook that `install` adds.
    fn without_registrations(&self, file: &ConfigFile, text: &str) -> Result<String, Diagnostic> {
        file.edit_text(text, |content, syntax| {
            let mut cleaned = content.to_owned();
            if file.path == self.config_path && self.has_server(file, text) {
                let value = file.parse(text);
                let config = &self.agent.config;
                let keys = config.entry_keys(&value, self.scope, self.system);
                cleaned = syntax.remove(&cleaned, &keys)?;
            }
            if let Some(hook) = &self.agent.hook
                && Some(&file.path) == self.hooks_path.as_ref()
            {
                cleaned = syntax.remove_hook(&cleaned, hook.event, &is_plain)?;
            }
            Ok(cleaned)
        })
    }

    /// Returns whether `text`, which need not be the original text of the config, registers
    /// prompt-expander as [`SERVER_NAME`].
    fn has_server(&self, config: &ConfigFile, text: &str) -> bool {
        let with_text = ConfigFile {
            value: config.parse(text),
            ..config.clone()
        };
        let servers = self
            .agent
            .config
            .registrations(&with_text, self.scope, self.system);
        servers
            .unwrap_or_default()
            .iter()
            .any(|server| server.name == SERVER_NAME && server.is_prompt_expander())
    }

    /// Adds the config to the plan if necessary, and returns it for editing.
    fn plan_config(&mut self) -> Result<&mut ConfigFile, Diagnostic> {
        let config = &self.agent.config;
        let absent = ConfigFile::absent(self.config_path.clone(), config.syntax, self.scope);
        self.plan_file(ConfigFile {
            template: config.template,
            ..absent
        })
    }

    /// Returns whether the hooks file exists and can be read.
    fn has_hooks_file(&self) -> bool {
        match &self.hooks_path {
            Some(path) => matches!(self.files.get(path), Some(Ok(_))),
            None => false,
        }
    }

    /// Adds the hooks file to the plan if necessary, and returns it for editing.
    fn plan_hooks_file(&mut self) -> Result<&mut ConfigFile, Diagnostic> {
        let (Some(hook), Some(path)) = (&self.agent.hook, self.hooks_path.clone()) else {
            return Err(no_home_directory(self.agent));
        };
        let mut absent = ConfigFile::absent(path, hook.syntax, self.scope);
        if hook.syntax == ConfigSyntax::Plugin {
            absent.template = "";
        }
        self.plan_file(absent)
    }

    /// Returns the places of the hooks that the plan adds, changes or removes, if the agent will
    /// ask the user to trust them (again). Always empty for an agent that doesn't ask for trust.
    fn changed_hooks_with_trust(&self) -> BTreeSet<HookPlace> {
        let Some(hook) = &self.agent.hook else {
            return BTreeSet::new();
        };
        if !self.keeps_trust_records() {
            return BTreeSet::new();
        }
        let mut files = self.plan.files.iter();
        match files.find(|file| Some(&file.path) == self.hooks_path.as_ref()) {
            Some(hooks_file) => changed_places(hooks_file, hook.event),
            None => BTreeSet::new(),
        }
    }

    /// Removes the records that the user trusts the hooks at these places, so that the agent asks
    /// again.
    fn remove_trust_records(&mut self, places: &BTreeSet<HookPlace>) -> Result<(), Diagnostic> {
        let Some(hooks_path) = self.hooks_path.clone() else {
            return Ok(());
        };
        for place in places {
            let record = self.agent.trust_record(&self.files, &hooks_path, *place);
            let Some(TrustRecord { config, keys, .. }) = record else {
                continue;
            };
            let config = config.clone();
            self.plan_file(config)?
                .edit(|text, syntax| syntax.remove(text, &keys))?;
        }
        Ok(())
    }

    /// Adds a file to the plan, unless it is already planned, and returns it for editing.
    ///
    /// `if_absent` has the path of the file and its template. It is planned itself if there is no
    /// such file.
    fn plan_file(&mut self, if_absent: ConfigFile) -> Result<&mut ConfigFile, Diagnostic> {
        let planned = &mut self.plan.files;
        if let Some(index) = planned.iter().position(|file| file.path == if_absent.path) {
            return Ok(&mut planned[index]);
        }
        let file = match self.files.get(&if_absent.path) {
            Some(Ok(existing)) => ConfigFile {
                template: if_absent.template,
                ..existing.clone()
            },
            Some(Err(error)) => return Err(error.clone()),
            None => if_absent,
        };
        planned.push(file);
        let last = planned.len() - 1;
        Ok(&mut planned[last])
    }

    /// Returns the plan without the files that don't change. Decides about the [`Backup`] of each
    /// file that does.
    fn finish(mut self) -> Plan {
        let mut files = std::mem::take(&mut self.plan.files);
        files.retain(ConfigFile::is_edited);
        for file in &mut files {
            file.backup = self.backup_for(file);
        }
        Plan { files, ..self.plan }
    }

    /// Decides what happens to a file's backup when the file is written.
    fn backup_for(&self, file: &ConfigFile) -> Backup {
        let original = file.original.as_deref().unwrap_or_default();
        let cleaned = self
            .without_registrations(file, original)
            .unwrap_or_default();
        if cleaned == original {
            // Nothing is registered, so any backup is of an earlier installation.
            Backup::Replace
        } else if file.backup_text().is_none()
            && is_equal_except_whitespace(&cleaned, file.template)
        {
            // `install` created the file, so `uninstall` will just delete it.
            Backup::None
        } else {
            Backup::Keep
        }
    }
}

/// Returns the places of the hooks that the edit of a file adds, changes or removes. Removing a
/// hook also changes those after it in the same group, because they move up.
fn changed_places(file: &ConfigFile, event: &str) -> BTreeSet<HookPlace> {
    let edited = file.parse(file.edited.as_deref().unwrap_or_default());
    let before = entries_of_event(&file.value, event);
    let after = entries_of_event(&edited, event);
    let mut places: BTreeSet<HookPlace> = before.keys().chain(after.keys()).copied().collect();
    places.retain(|place| before.get(place) != after.get(place));
    places
}

/// Chooses the config file to edit: the first with a server named [`SERVER_NAME`], otherwise the
/// first that exists, otherwise the one that the agent itself would create. Returns `None` if it
/// would be in the home directory, and that is unknown.
fn choose_config(
    agent: &Agent,
    files: &AgentFiles,
    scope: Scope,
    system: &System,
) -> Option<PathBuf> {
    let paths = agent.config_paths(scope, system);
    let mut first_existing = None;
    for path in &paths {
        if let Some(Ok(file)) = files.get(path)
            && let Ok(servers) = agent.config.registrations(file, scope, system)
            && servers.iter().any(|server| server.name == SERVER_NAME)
        {
            return Some(path.clone());
        }
        // A broken symlink counts as existing: it must not be replaced by another file.
        if first_existing.is_none() && fs::symlink_metadata(path).is_ok() {
            first_existing = Some(path);
        }
    }
    // See `Config::user_files` and `Config::project_files`.
    let new_config = if scope == Scope::User {
        paths.last()
    } else {
        paths.first()
    };
    first_existing.or(new_config).cloned()
}

/// Fails if a project's file is also one of the user's, which happens in the home directory.
fn check_not_users_file(agent: &Agent, file: &Path, system: &System) -> Result<(), Diagnostic> {
    let mut users_files = agent.config_paths(Scope::User, system);
    users_files.extend(agent.hook_path(Scope::User, system));
    if !users_files.iter().any(|path| is_same_file(path, file)) {
        return Ok(());
    }
    let message = format!(
        "the working directory is not a project for {}: {} is its config for all projects",
        agent.title,
        path_in_backticks(file)
    );
    let fix = "leave out --project, or change to the folder of a project";
    Err(Diagnostic::new(Kind::Invalid, message, fix))
}

/// What is registered with an agent.
#[derive(Debug)]
pub struct RegistrationStatus {
    /// The agent.
    pub agent: &'static Agent,
    /// Whether the agent seems to be installed.
    pub is_found: bool,
    /// The servers that are prompt-expander or are named [`SERVER_NAME`], in all scopes.
    pub registrations: Vec<Registration>,
    /// The files that register prompt-expander as a hook, and the position in each.
    pub hooks: Vec<(PathBuf, Option<Position>)>,
    /// One error for each file that can't be used.
    pub errors: Vec<Diagnostic>,
}

impl RegistrationStatus {
    /// Reads an agent's files, and returns what they register.
    pub fn read(agent: &'static Agent, system: &System) -> RegistrationStatus {
        let files = agent.read_files(system);
        let RegisteredServers {
            mut registrations,
            mut errors,
        } = agent.registered_servers(&files, system);
        registrations.retain(|server| server.name == SERVER_NAME || server.is_prompt_expander());
        registrations.sort_by_key(|server| server.scope);
        for error in files.errors() {
            if !errors.contains(error) {
                errors.push(error.clone());
            }
        }
        let mut hooks = Vec::new();
        for hook in agent.hooks(&files) {
            hooks.push((hook.path, hook.position));
        }
        hooks.dedup(); // several hooks in one file share the position of the event
        RegistrationStatus {
            agent,
            is_found: agent.is_found(system),
            registrations,
            hooks,
            errors,
        }
    }
}

/// Returns the error that an agent's config can't be located without a home directory.
fn no_home_directory(agent: &Agent) -> Diagnostic {
    let message = format!("the config of {} cannot be found", agent.title);
    let fix = "set HOME to your home directory, or use --project";
    Diagnostic::new(Kind::NotFound, message, fix)
}

/// Formats a position as `FILE:LINE:COLUMN`, or as `FILE` if there is none.
fn location(path: &Path, position: Option<Position>) -> String {
    let path = full_path(path);
    match position {
        Some(position) => format!("{path}:{position}"),
        None => path.to_string(),
    }
}

/// Describes a server in a clause, e.g. "it runs `npx server`", or says why its entry is invalid.
fn describe(server: &Registration) -> String {
    if let Some(error) = &server.error {
        return error.clone();
    }
    let verb = if server.command.is_some() {
        "runs"
    } else {
        "is at"
    };
    format!("it {verb} {}", in_backticks(&server.command_line_or_url()))
}

#[cfg(test)]
mod tests {
    use super::super::config_text::JsonSyntax;
    use super::super::{AGENTS, Agent as Named};
    use super::*;

    /// A user with these files, in a project.
    struct User {
        folder: tempfile::TempDir,
        system: System,
    }

    impl User {
        fn with(files: &[(&str, &str)]) -> User {
            let folder = tempfile::tempdir().unwrap();
            let (home, project) = (folder.path().join("home"), folder.path().join("project"));
            fs::create_dir_all(&project).unwrap();
            let config = Some(home.join(".config"));
            let system = System {
                home: Some(home),
                config,
                project,
                ..System::default()
            };
            let user = User { folder, system };
            for (file, text) in files {
                let path = user.path(file);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            user
        }

        fn path(&self, file: &str) -> PathBuf {
            self.folder.path().join("home").join(file)
        }

        fn read(&self, file: &str) -> String {
            fs::read_to_string(self.path(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
        }

        fn install(
            &self,
            change: impl FnOnce(&mut Installation),
            agent: &str,
        ) -> Result<Plan, Diagnostic> {
            let mut installation = Installation {
                agent: Named::by_name(agent).unwrap(),
                scope: Scope::User,
                program: "/opt/my tools/prompt-expander".to_owned(),
                arguments: Vec::new(),
                hook: true,
                replace: false,
                trust: true,
            };
            change(&mut installation);
            let plan = installation.plan(&self.system)?;
            plan.files.iter().for_each(|file| file.write().unwrap());
            Ok(plan)
        }

        fn uninstall(&self, agent: &str) -> Plan {
            let plan =
                plan_removal(Named::by_name(agent).unwrap(), Scope::User, &self.system).unwrap();
            plan.files.iter().for_each(|file| file.write().unwrap());
            plan
        }

        /// All files below the home directory.
        fn files(&self) -> Vec<String> {
            let (mut files, mut folders) = (Vec::new(), vec![self.folder.path().join("home")]);
            while let Some(folder) = folders.pop() {
                for path in fs::read_dir(folder)
                    .into_iter()
                    .flatten()
                    .map(|entry| entry.unwrap().path())
                {
                    if path.is_dir() {
                        folders.push(path);
                    } else {
                        let file = path.strip_prefix(self.path("")).unwrap();
                        files.push(file.display().to_string());
                    }
                }
            }
            files.sort();
            files
        }
    }

    const CODEX: &str = ".codex/config.toml";
    const GEMINI: &str = ".gemini/settings.json";

    /// `tests/install` has what the agents' own commands wrote, byte for byte (Codex 0.169.0,
    /// Claude Code 2.1.330, Gemini CLI 0.61.0, opencode 1.18.33).
    #[test]
    fn a_new_entry_is_the_one_that_the_agents_own_command_writes() {
        for (agent, file, golden) in [
            ("codex", CODEX, "codex.toml"),
            ("claude-code", ".claude.json", "claude-code.json"),
            ("gemini", GEMINI, "gemini.json"),
            (
                "opencode",
                ".config/opencode/opencode.jsonc",
                "opencode.jsonc",
            ),
        ] {
            let user = User::with(&[]);
            let change = |installation: &mut Installation| {
                installation.arguments = vec!["--prompts".to_owned(), "/a b/c\"d".to_owned()];
                installation.hook = false;
            };
            user.install(change, agent).unwrap();
            let golden = Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("tests/install")
                .join(golden);
            assert_eq!(
                user.read(file),
                fs::read_to_string(golden).unwrap(),
                "{agent}"
            );
        }
    }

    /// A config with another server, comments where the agent allows them, and an odd layout.
    fn odd(agent: &Named) -> (PathBuf, String) {
        let user = User::with(&[]);
        let path = agent.config_paths(Scope::User, &user.system).pop().unwrap();
        let text = match agent.config.syntax {
            ConfigSyntax::Plugin => String::new(), // no config is one
            ConfigSyntax::Toml => {
                "# mine\nmodel = \"gpt\"   # the good one\n\n[mcp_servers.other]\ncommand = 'x' # c\n\n[tui]\na = 1\n"
                    .to_owned()
            }
            ConfigSyntax::Json(syntax) => {
                let comment = if syntax == JsonSyntax::Strict { "" } else { " // mine" };
                let servers = agent.config.servers_key;
                format!(
                    "{{{comment}\n    \"z\": 1,\n\n    \"{servers}\": {{\n        \"other\": {{\"command\": [\"x\"]}}\n    }},\n    \"a\": [1,2]\n}}\n"
                )
            }
        };
        (path.strip_prefix(user.path("")).unwrap().to_owned(), text)
    }

    #[test]
    fn the_rest_of_a_config_stays_and_uninstall_restores_it_byte_for_byte() {
        for agent in AGENTS {
            let (path, text) = odd(agent);
            let path = path.to_str().unwrap();
            for bom in ["", "\u{feff}"] {
                let text = format!("{bom}{text}");
                let user = User::with(&[(path, &text)]);
                user.install(|_| {}, agent.name).unwrap();
                let installed = user.read(path);
                let is_kept = |line: &str| installed.contains(line.trim_end_matches(','));
                assert!(
                    installed.starts_with(bom) && text.lines().all(is_kept),
                    "{installed}"
                );
                assert!(
                    user.install(|_| {}, agent.name).unwrap().files.is_empty(),
                    "{}: twice",
                    agent.name
                );
                user.uninstall(agent.name);
                assert_eq!(user.read(path), text, "{}", agent.name);
                assert_eq!(user.files(), [path], "{}", agent.name);
            }
        }
    }

    /// Defect: it left both backups.
    #[test]
    fn uninstall_after_two_installations_of_different_kinds_leaves_nothing_behind() {
        for before in [None, Some("{\n  \"ui\": {} // mine\n}\n")] {
            let files: Vec<_> = before.iter().map(|text| (GEMINI, *text)).collect();
            let user = User::with(&files);
            user.install(|installation| installation.hook = false, "gemini")
                .unwrap();
            user.install(
                |installation| installation.program = "/new/prompt-expander".to_owned(),
                "gemini",
            )
            .unwrap();
            user.uninstall("gemini");
            assert_eq!(
                user.files(),
                before.iter().map(|_| GEMINI).collect::<Vec<_>>()
            );
            before
                .iter()
                .for_each(|before| assert_eq!(user.read(GEMINI), *before));
        }
    }

    #[test]
    fn uninstall_removes_only_its_own_from_a_config_that_was_changed_since_and_keeps_the_backup() {
        let user = User::with(&[(CODEX, "a = 1\n")]);
        user.install(|_| {}, "codex").unwrap();
        fs::write(user.path(CODEX), user.read(CODEX).replace("a = 1", "a = 2")).unwrap();
        user.uninstall("codex");
        assert_eq!(user.read(CODEX), "a = 2\n");
        assert_eq!(
            user.files(),
            [CODEX, &format!("{CODEX}.before-prompt-expander")]
        );
    }

    #[test]
    fn arguments_are_replaced_and_other_keys_of_a_registration_stay() {
        let hooks = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"command": "prompt-expander hook codex --project"}]}]}}"#;
        let text = "[mcp_servers.prompts]\ncommand = \"/old/prompt-expander\"\nargs = [\"--config\", \"/c\", \"--tap\", \"t\"]\nenv = { A = \"a\" }\n";
        let user = User::with(&[(CODEX, text), (".codex/hooks.json", hooks)]);
        user.install(|_| {}, "codex").unwrap();
        let want = "[mcp_servers.prompts]\ncommand = \"/opt/my tools/prompt-expander\"\nenv = { A = \"a\" }\n";
        assert_eq!(user.read(CODEX), want);
        let line = "'/opt/my tools/prompt-expander' hook codex; exit 0";
        assert_eq!(
            user.read(".codex/hooks.json"),
            hooks.replace("prompt-expander hook codex --project", line)
        );
    }

    #[test]
    fn another_server_of_the_name_is_replaced_only_on_request() {
        for (agent, file, text, why) in [
            (
                "codex",
                CODEX,
                "[mcp_servers.prompts]\ncommand = \"npx\"\n",
                "it runs `npx`",
            ),
            (
                "codex",
                CODEX,
                "[mcp_servers]\nprompts = 1\n",
                "it must be a table",
            ),
            (
                "gemini",
                GEMINI,
                r#"{"mcpServers": {"prompts": {"url": "http://h/mcp"}}}"#,
                "it is at `http://h/mcp`",
            ),
            (
                "gemini",
                GEMINI,
                r#"{"mcpServers": {"prompts": {"command": "prompt-expander", "args": 1}}}"#,
                "`args` must be a list of strings",
            ),
        ] {
            let user = User::with(&[(file, text)]);
            let error = user.install(|_| {}, agent).unwrap_err();
            assert_eq!(error.kind, Kind::NameCollision);
            assert!(
                error.message.ends_with(why) && error.position.is_some(),
                "{error}"
            );
            assert_eq!(user.read(file), text);
            let plan = user
                .install(|installation| installation.replace = true, agent)
                .unwrap();
            assert!(
                !plan.files.is_empty() && !user.read(file).contains("npx"),
                "{}",
                user.read(file)
            );
        }
        let user = User::with(&[(CODEX, "[mcp_servers.prompts]\ncommand = \"npx\"\n")]);
        assert_eq!(user.uninstall("codex").warnings.len(), 1);
    }

    #[test]
    fn a_hook_is_added_to_others_and_one_that_does_more_gets_no_second() {
        let group =
            |line: &str| format!(r#"{{"hooks": [{{"type": "command", "command": "{line}"}}]}}"#);
        let hooks = |groups: &[&str]| {
            let groups: Vec<String> = groups.iter().map(|line| group(line)).collect();
            format!(
                r#"{{"hooks": {{"UserPromptSubmit": [{}]}}}}"#,
                groups.join(", ")
            )
        };
        let ours = "'/opt/my tools/prompt-expander' hook codex; exit 0";
        for (before, count, warns) in [
            (hooks(&["log"]), 1, false),
            (
                hooks(&[
                    "prompt-expander hook codex",
                    "log",
                    "/b/prompt-expander hook gemini",
                ]),
                1,
                false,
            ),
            (hooks(&["A=1 prompt-expander hook codex"]), 0, true),
            (
                hooks(&[
                    "prompt-expander hook codex",
                    "prompt-expander hook codex | tee log",
                ]),
                1,
                true,
            ),
        ] {
            let user = User::with(&[(".codex/hooks.json", &before)]);
            let plan = user.install(|_| {}, "codex").unwrap();
            assert!(
                plan.installed.has_hook && plan.warnings.is_empty() != warns,
                "{:?}",
                plan.warnings
            );
            let text = user.read(".codex/hooks.json");
            assert_eq!(text.matches(ours).count(), count, "{text}");
            assert_eq!(text.contains("log"), before.contains("log"), "{text}");
        }
        let user = User::with(&[]);
        assert!(
            !user
                .install(|installation| installation.hook = false, "codex")
                .unwrap()
                .installed
                .has_hook
        );
        assert_eq!(user.files(), [CODEX]);
    }

    #[test]
    fn the_plugin_of_opencode_is_written_replaced_and_removed_and_that_of_somebody_else_stays() {
        const PLUGIN: &str = ".config/opencode/plugins/prompt-expander.js";
        let user = User::with(&[]);
        let plan = user.install(|_| {}, "opencode").unwrap();
        assert!(
            plan.installed.has_hook && plan.notes.iter().any(|note| note.contains("waits 75 s")),
            "{:?}",
            plan.notes
        );
        let text = user.read(PLUGIN);
        assert!(
            text.contains(
                "\nconst command = [\"/opt/my tools/prompt-expander\",\"hook\",\"opencode\"]\n"
            ),
            "{text}"
        );
        assert!(user.install(|_| {}, "opencode").unwrap().files.is_empty());
        let plan = user
            .install(
                |it| it.program = "/new/prompt-expander".to_owned(),
                "opencode",
            )
            .unwrap();
        assert!(
            plan.notes.is_empty() && user.read(PLUGIN) == text.replace("/opt/my tools/", "/new/"),
            "{:?}",
            plan.notes
        );
        user.uninstall("opencode");
        assert!(!user.path(PLUGIN).exists());
        let user = User::with(&[]);
        user.install(|it| it.hook = false, "opencode").unwrap();
        assert!(!user.path(PLUGIN).exists());

        for other in [
            "export const Mine = 1\n",
            &text.replacen("// Written by", "// From", 1),
        ] {
            let user = User::with(&[(PLUGIN, other)]);
            assert_eq!(
                user.install(|_| {}, "opencode").unwrap_err().kind,
                Kind::NameCollision
            );
            user.uninstall("opencode");
            assert_eq!(user.read(PLUGIN), other);
        }
    }

    /// As `claude plugin install` writes the two files.
    #[test]
    fn the_hook_is_left_out_if_a_plugin_of_this_program_is_enabled_and_installed() {
        let installed = r#"{"version": 2, "plugins": {"prompt-expander@ours": [{"scope": "user", "installPath": "/p"}]}}"#;
        let enabled = r#"{"enabledPlugins": {"other@ours": true, "prompt-expander@ours": true}}"#;
        for (settings, installed, is_left_out) in [
            (enabled, installed, true),
            (
                &*enabled.replace(
                    "rompt-expander@ours\": true",
                    "rompt-expander@ours\": false",
                ),
                installed,
                false,
            ),
            (enabled, "{}", false),
            ("{}", installed, false),
        ] {
            let user = User::with(&[
                (".claude/settings.json", settings),
                (".claude/plugins/installed_plugins.json", installed),
            ]);
            let plan = user.install(|_| {}, "claude-code").unwrap();
            assert_eq!(
                user.read(".claude/settings.json") == settings,
                is_left_out,
                "{settings} {installed}"
            );
            assert!(
                plan.installed.has_hook && plan.warnings.len() == usize::from(is_left_out),
                "{:?}",
                plan.warnings
            );
            assert!(user.read(".claude.json").contains("prompt-expander"));
        }
    }

    #[test]
    fn the_record_that_codex_trusts_a_hook_is_removed_with_each_change_of_the_hook() {
        let user = User::with(&[]);
        assert!(
            user.install(|_| {}, "codex")
                .unwrap()
                .installed
                .is_hook_untrusted
        );
        let place = format!(
            "{}:user_prompt_submit:0:0",
            user.path(".codex/hooks.json").display()
        );
        let trusted =
            user.read(CODEX) + &format!("\n[hooks.state.\"{place}\"]\ntrusted_hash = \"x\"\n");
        fs::write(user.path(CODEX), &trusted).unwrap();
        let plan = user.install(|_| {}, "codex").unwrap();
        assert!(plan.files.is_empty() && !plan.installed.is_hook_untrusted);
        let plan = user
            .install(
                |installation| installation.program = "/new/prompt-expander".to_owned(),
                "codex",
            )
            .unwrap();
        assert!(plan.installed.is_hook_untrusted && !user.read(CODEX).contains("trusted_hash"));
        fs::write(user.path(CODEX), &trusted).unwrap();
        user.uninstall("codex");
        assert!(
            !user.path(".codex/hooks.json").exists() && !user.read(CODEX).contains("trusted_hash")
        );
    }

    #[test]
    fn a_broken_file_is_named_with_its_position_and_nothing_is_planned() {
        for (agent, file, text, want) in [
            (
                "codex",
                CODEX,
                "a = [\n",
                "1:6: unclosed array, expected `]`",
            ),
            (
                "codex",
                CODEX,
                "mcp_servers = 1\n",
                "1:1: `mcp_servers` must be a table, but is not",
            ),
            (
                "codex",
                ".codex/hooks.json",
                "[]",
                "1:1: it must be an object, but is not",
            ),
            (
                "codex",
                ".codex/hooks.json",
                "{\"hooks\": {\"UserPromptSubmit\": 1}}",
                "1:12: `hooks.UserPromptSubmit` must be a list",
            ),
            (
                "claude-code",
                ".claude.json",
                "{ // c\n}",
                "1:3: comments are not allowed",
            ),
        ] {
            let user = User::with(&[(file, text)]);
            let error = user.install(|_| {}, agent).unwrap_err().to_string();
            let place = format!("{}:{want}", user.path(file).display());
            assert!(error.starts_with(&place), "{error}");
            assert_eq!(user.files(), [file], "{agent}");
        }
    }

    #[test]
    fn a_scope_that_makes_no_sense_is_refused() {
        let mut user = User::with(&[]);
        let project = |installation: &mut Installation| installation.scope = Scope::Project;
        user.system.project = user.path("");
        fs::create_dir_all(user.path(".gemini")).unwrap();
        assert!(
            user.install(project, "gemini")
                .unwrap_err()
                .message
                .contains("is its config for all projects")
        );
        user.system.home = None;
        assert_eq!(
            user.install(|_| {}, "codex").unwrap_err().kind,
            Kind::NotFound
        );
    }

    #[test]
    fn gemini_trusts_the_server_unless_that_is_not_wanted() {
        for trust in [true, false] {
            let user = User::with(&[]);
            let plan = user
                .install(|installation| installation.trust = trust, "gemini")
                .unwrap();
            assert_eq!(user.read(GEMINI).contains("\"trust\": true"), trust);
            let is_noted = plan.notes.iter().any(|note| note.contains("--no-trust"));
            assert_eq!(is_noted, trust, "{:?}", plan.notes);
        }
    }
}
