//! The plan of the changes to one agent's files, on which `install` and `uninstall` work together:
//! what the files contain now, the edits, and the backups.

use crate::agents::agent::{Agent, Installed, TrustRecord};
use crate::agents::config_file::{Backup, ConfigFile};
use crate::agents::environment::{Scope, System};
use crate::agents::files::AgentFiles;
use crate::agents::hook_line::{HookPlace, RegisteredHook, entries_of_event, has_hooks, is_plain};
use crate::agents::registration::{Registration, SERVER_NAME};
use crate::prompt::{Diagnostic, Kind, Position};
use crate::whole_file::is_same_file;
use crate::wording::{full_path, in_backticks, path_in_backticks, printable};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

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

/// Plans the changes of an agent's files in one scope.
pub(super) struct Planner<'s> {
    agent: &'static Agent,
    scope: Scope,
    pub(super) system: &'s System,
    /// The agent's files before any change.
    pub(super) files: AgentFiles,
    /// The config file to edit. It may not exist.
    config_path: PathBuf,
    /// The hooks file to edit, if the agent has hooks. It may not exist.
    hooks_path: Option<PathBuf>,
    pub(super) plan: Plan,
}

/// The hooks of a scope that run prompt-expander.
pub(super) struct HooksOfScope {
    /// Hooks that `install` may overwrite.
    pub(super) rewritable: Vec<RegisteredHook>,
    /// Hooks that do more than run prompt-expander, or that are in another file.
    pub(super) others: Vec<RegisteredHook>,
}

impl<'s> Planner<'s> {
    /// Starts a plan that changes nothing yet. Reads the files that the agent has now, and chooses
    /// which of them to edit: one for the server (the config) and one for the hook.
    ///
    /// # Errors
    /// Fails if the config belongs into the home directory, and that is unknown. For a project,
    /// also fails if a chosen file is one of the user's own: the working directory is then the home
    /// directory, not a project.
    pub(super) fn new(
        agent: &'static Agent,
        scope: Scope,
        system: &'s System,
    ) -> Result<Planner<'s>, Diagnostic> {
        let files = agent.read_files(system);
        let config_path =
            choose_config(agent, &files, scope, system).ok_or_else(|| no_home_directory(agent))?;
        let hooks_path = choose_hooks_file(agent, &files, scope, system);
        if scope == Scope::Project {
            check_not_users_file(agent, &config_path, system)?;
            if let Some(hooks_path) = &hooks_path {
                check_not_users_file(agent, hooks_path, system)?;
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

    /// Returns whether a file is the hooks file to edit.
    fn is_hooks_file(&self, path: &Path) -> bool {
        self.hooks_path.as_deref() == Some(path)
    }

    /// Returns the servers in the config to edit. A config that doesn't exist has none.
    pub(super) fn registrations(&self) -> Result<Vec<Registration>, Diagnostic> {
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
    pub(super) fn entry_keys(&self) -> Vec<String> {
        let value = match self.files.get(&self.config_path) {
            Some(Ok(file)) => &file.value,
            // Editing the config will report the error, if any.
            Some(Err(_)) | None => &Value::Null,
        };
        self.agent.config.entry_keys(value, self.scope, self.system)
    }

    /// Warns if prompt-expander is also registered under another name than [`SERVER_NAME`].
    pub(super) fn warn_of_other_names(&mut self, servers: &[Registration]) {
        for server in servers {
            let is_usable = server.is_prompt_expander() && server.error.is_none();
            if is_usable && server.name != SERVER_NAME {
                self.plan.warnings.push(format!(
                    "{}: `{}` is prompt-expander, too, so the model sees each tool twice. Remove it",
                    location(&server.path, server.position),
                    printable(&server.name)
                ));
            }
        }
    }

    /// Warns if another program is registered as [`SERVER_NAME`].
    pub(super) fn warn_of_other_server(&mut self) -> Result<(), Diagnostic> {
        for server in self.registrations()? {
            if server.name == SERVER_NAME && !server.is_prompt_expander() {
                self.plan.warnings.push(format!(
                    "{}: `{SERVER_NAME}` is another server, which is kept: {}",
                    location(&server.path, server.position),
                    describe(&server)
                ));
            }
        }
        Ok(())
    }

    /// Returns the hooks in this scope that run prompt-expander, by whether `install` may overwrite
    /// them. Reads the files as they were before the plan.
    pub(super) fn hooks_of_scope(&self) -> HooksOfScope {
        let mut hooks = HooksOfScope {
            rewritable: Vec::new(),
            others: Vec::new(),
        };
        for hook in self.agent.hooks(&self.files) {
            if hook.scope != self.scope {
                continue;
            }
            if hook.is_plain() && self.is_hooks_file(&hook.path) {
                hooks.rewritable.push(hook);
            } else {
                hooks.others.push(hook);
            }
        }
        hooks
    }

    /// Plans to remove the hook that `install` writes, if it is there. Warns of other hooks in this
    /// scope, which are kept. Returns what is registered once the plan has been written.
    pub(super) fn remove_hook(&mut self) -> Result<Installed, Diagnostic> {
        let hooks = self.hooks_of_scope();
        self.warn_of_other_hooks(&hooks);
        if let Some(hook) = &self.agent.hook
            && !hooks.rewritable.is_empty()
        {
            let file = self.plan_hooks_file()?;
            file.edit(|text, syntax| syntax.remove_hook(text, hook.event, &is_plain))?;
            self.remove_outdated_trust_records()?;
        }
        let mut kept_hooks = self.agent.hooks(&self.files);
        kept_hooks.retain(|kept| hooks.rewritable.iter().all(|removed| removed != kept));
        Ok(Installed {
            has_hook: !kept_hooks.is_empty(),
            is_hook_untrusted: self.has_untrusted(&kept_hooks),
        })
    }

    /// Warns that hooks in unreadable files can't be detected.
    pub(super) fn warn_of_unreadable_files(&mut self) {
        for error in self.files.errors() {
            // An unreadable config is an error, not a warning: it fails when it is edited.
            if error.file.as_deref() != Some(&*self.config_path) {
                self.plan.warnings.push(format!(
                    "{error}. Whether a hook is registered there is unknown"
                ));
            }
        }
    }

    /// Warns if hooks of any program are in both of the files in which the agent reads hooks. Only
    /// Codex reads them in two files.
    pub(super) fn warn_of_hooks_in_both_files(&mut self) {
        let mut paths = self.agent.hook_paths_of_install(self.scope, self.system);
        paths.retain(|path| match self.files.get(path) {
            Some(Ok(file)) => has_hooks(&file.value),
            Some(Err(_)) | None => false,
        });
        if let [first, second] = paths.as_slice() {
            self.plan.warnings.push(format!(
                "{} warns at each start that there are hooks in {} and also in {}. \
                 Move them into one of the files",
                self.agent.title,
                path_in_backticks(first),
                path_in_backticks(second)
            ));
        }
    }

    /// Warns of the hooks that are kept because `install` must not overwrite them.
    pub(super) fn warn_of_other_hooks(&mut self, hooks: &HooksOfScope) {
        for hook in &hooks.others {
            self.plan.warnings.push(format!(
                "{}: the hook {} is kept, because it differs from what `install` writes. \
                 If you do not want it, remove it yourself",
                location(&hook.path, hook.position),
                in_backticks(&hook.line)
            ));
        }
    }

    /// Returns whether the user has yet to trust one of the hooks. Always false for an agent that
    /// doesn't ask for trust.
    pub(super) fn has_untrusted(&self, hooks: &[RegisteredHook]) -> bool {
        self.keeps_trust_records() && hooks.iter().any(|hook| !self.is_trusted(hook))
    }

    /// Returns whether the user trusts one of the hooks. Always false for an agent that doesn't ask
    /// for trust.
    pub(super) fn has_trusted(&self, hooks: &[RegisteredHook]) -> bool {
        hooks.iter().any(|hook| self.is_trusted(hook))
    }

    fn is_trusted(&self, hook: &RegisteredHook) -> bool {
        let record = self.agent.trust_record(&self.files, &hook.path, hook.place);
        record.is_some()
    }

    /// Returns whether the agent records which hooks the user trusts.
    fn keeps_trust_records(&self) -> bool {
        match &self.agent.hook {
            Some(hook) => hook.trust_record_keys.is_some(),
            None => false,
        }
    }

    /// Removes the server and the hook from the planned files.
    pub(super) fn remove_registrations(&mut self) -> Result<(), Diagnostic> {
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

    /// Returns the text without the server and the hook that `install` adds. The text is the
    /// original or the edited one of `file`.
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
                && self.is_hooks_file(&file.path)
            {
                cleaned = syntax.remove_hook(&cleaned, hook.event, &is_plain)?;
            }
            Ok(cleaned)
        })
    }

    /// Returns whether a text of the config registers prompt-expander as [`SERVER_NAME`]. The text
    /// may be the original or the edited one.
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

    /// Returns the agent's config for editing, and adds it to the plan. A config that doesn't exist
    /// starts as its template.
    pub(super) fn plan_config(&mut self) -> Result<&mut ConfigFile, Diagnostic> {
        let config = &self.agent.config;
        let absent = ConfigFile::absent(self.config_path.clone(), config.syntax, self.scope);
        self.plan_file(ConfigFile {
            template: config.template,
            ..absent
        })
    }

    /// Returns whether the hooks file exists and can be read.
    pub(super) fn has_hooks_file(&self) -> bool {
        match &self.hooks_path {
            Some(path) => matches!(self.files.get(path), Some(Ok(_))),
            None => false,
        }
    }

    /// Returns the agent's hooks file for editing, and adds it to the plan. A file that doesn't
    /// exist starts as its syntax requires.
    ///
    /// # Errors
    /// Fails if the agent has no hooks, or if the home directory is needed but unknown.
    pub(super) fn plan_hooks_file(&mut self) -> Result<&mut ConfigFile, Diagnostic> {
        let (Some(hook), Some(path)) = (&self.agent.hook, self.hooks_path.clone()) else {
            return Err(no_home_directory(self.agent));
        };
        let absent = ConfigFile::absent(path, hook.syntax, self.scope);
        self.plan_file(ConfigFile {
            template: hook.syntax.new_hooks_file(),
            ..absent
        })
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
        match files.find(|file| self.is_hooks_file(&file.path)) {
            Some(hooks_file) => changed_places(hooks_file, hook.event),
            None => BTreeSet::new(),
        }
    }

    /// Removes the records that the user trusts the hooks that the plan adds, changes or removes,
    /// so that the agent asks again. Compares the planned hooks file with the original, so the hook
    /// must be planned by now.
    ///
    /// Returns whether there are such hooks. Always false for an agent that doesn't ask for trust.
    pub(super) fn remove_outdated_trust_records(&mut self) -> Result<bool, Diagnostic> {
        let places = self.changed_hooks_with_trust();
        let Some(hooks_path) = self.hooks_path.clone() else {
            return Ok(false);
        };
        for place in &places {
            let record = self.agent.trust_record(&self.files, &hooks_path, *place);
            let Some(TrustRecord { config, keys, .. }) = record else {
                continue;
            };
            let config = config.clone();
            self.plan_file(config)?
                .edit(|text, syntax| syntax.remove(text, &keys))?;
        }
        Ok(!places.is_empty())
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

    /// Returns the plan with only the files that change, and decides what happens to their backups.
    /// A file that gets back to its state before the first `install` is restored byte for byte.
    pub(super) fn finish(mut self) -> Plan {
        let mut files = std::mem::take(&mut self.plan.files);
        files.retain(ConfigFile::is_edited);
        for file in &mut files {
            file.backup = self.backup_for(file);
            restore_if_possible(file);
        }
        Plan { files, ..self.plan }
    }

    /// Returns what to do with a file's backup when the file is written: replace it if nothing is
    /// registered in the file yet, otherwise keep it, so that it has the state before the first
    /// installation. A file that `install` itself has created needs no backup.
    fn backup_for(&self, file: &ConfigFile) -> Backup {
        let original = file.original.as_deref().unwrap_or_default();
        let cleaned = self
            .without_registrations(file, original)
            .unwrap_or_default();
        if cleaned == original {
            return Backup::Replace; // any backup is of an earlier installation
        }
        let was_created_by_install =
            file.backup_text().is_none() && is_equal_except_whitespace(&cleaned, file.template);
        if was_created_by_install {
            Backup::None // `uninstall` will just delete the file
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

/// Chooses the hooks file to edit: the first with the hook that `install` writes, otherwise the
/// first with other hooks, otherwise the one that `install` prefers. Returns `None` if the agent
/// has no hooks, or if the file would be in the home directory, and that is unknown.
fn choose_hooks_file(
    agent: &Agent,
    files: &AgentFiles,
    scope: Scope,
    system: &System,
) -> Option<PathBuf> {
    let event = agent.hook.as_ref()?.event;
    let paths = agent.hook_paths_of_install(scope, system);
    let mut first_with_hooks = None;
    for path in &paths {
        let Some(Ok(file)) = files.get(path) else {
            continue;
        };
        let own_hooks = RegisteredHook::all_in(file, event);
        if own_hooks.iter().any(RegisteredHook::is_plain) {
            return Some(path.clone());
        }
        if first_with_hooks.is_none() && has_hooks(&file.value) {
            first_with_hooks = Some(path);
        }
    }
    first_with_hooks.or(paths.first()).cloned()
}

/// Fails if a project's file is also one of the user's, which happens in the home directory.
fn check_not_users_file(agent: &Agent, file: &Path, system: &System) -> Result<(), Diagnostic> {
    let mut users_files = agent.config_paths(Scope::User, system);
    users_files.extend(agent.hook_paths_of_install(Scope::User, system));
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

/// Restores a file to its state before the installation, byte for byte, if only whitespace differs
/// from that state: plans to replace it with its backup, or to delete it if `install` created it.
///
/// A file behind a symlink is not deleted, because the symlink would then be broken.
fn restore_if_possible(file: &mut ConfigFile) {
    let Some(edited) = &file.edited else {
        return;
    };
    match file.backup_text() {
        Some(backup) if is_equal_except_whitespace(edited, &backup) => {
            file.edited = Some(backup);
            file.backup = Backup::Remove;
        }
        None if is_equal_except_whitespace(edited, file.template) && !file.path.is_symlink() => {
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
pub(super) fn describe(server: &Registration) -> String {
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
