//! The changes that `install` and `uninstall` plan, and the existing registrations. Nothing is
//! written here; see [`ConfigFile::write`].
//!
//! Where an agent has a command of its own for it (`codex mcp add`, `claude mcp add`,
//! `gemini mcp add --trust`, `opencode mcp add`), a new entry is the one that it writes.

use super::agent::{Agent, Installed};
use super::config_file::{Backup, ConfigFile};
use super::edit::Syntax;
use super::environment::{Scope, System, is_same_file};
use super::files::AgentFiles;
use super::hook_line::{HookLine, handlers, hook_line, is_plain};
use super::registration::{Registration, SERVER, without_config};
use crate::prompt::{Diagnostic, Kind, Position};
use crate::wording::{full_path, named, named_path, printable};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A server to be registered, and a hook.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The agent.
    pub agent: &'static Agent,
    /// For whom; not [`Scope::Local`].
    pub scope: Scope,
    /// The absolute path of the program.
    pub program: String,
    /// The only arguments that are registered: `--config` with the settings file, if it is not the
    /// usual one.
    pub arguments: Vec<String>,
    /// Whether the hook is registered, too.
    pub hook: bool,
    /// Whether another server of the same name is replaced.
    pub replace: bool,
    /// Whether a new entry tells the agent to call the tools without asking, if the agent has a
    /// setting for that.
    pub trust: bool,
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
    /// The options that the existing registrations lose: those of the hooks, then those of the
    /// server.
    pub options: Vec<Vec<String>>,
    /// What is registered after an installation.
    pub installed: Installed,
}

impl Installation {
    /// Plans the installation. Reads the agent's files.
    ///
    /// # Errors
    /// A file cannot be read or changed, or something else has the name of the server.
    pub fn plan(&self, system: &System) -> Result<Plan, Diagnostic> {
        let mut planner = Planner::new(self.agent, self.scope, system)?;
        self.add_server(&mut planner)?;
        let has_hook = self.hook && self.add_hook(&mut planner)?;
        let is_changed = planner.remove_stale_trust()?;
        let hooks = self.agent.hooks(&planner.files);
        let keeps_records = self
            .agent
            .hook
            .as_ref()
            .is_some_and(|hook| hook.trust_record.is_some());
        let is_untrusted = |hook: &HookLine| {
            self.agent
                .trust_record(&planner.files, &hook.path, hook.place)
                .is_none()
        };
        planner.plan.installed = Installed {
            has_hook: has_hook || !hooks.is_empty(),
            is_hook_untrusted: is_changed || (keeps_records && hooks.iter().any(is_untrusted)),
        };
        planner.finish()
    }

    fn add_server(&self, planner: &mut Planner) -> Result<(), Diagnostic> {
        let (mut present, mut is_replaced) = (None, false);
        for server in planner.registrations()? {
            match (
                server.name == SERVER,
                server.is_prompt_expander() && server.error.is_none(),
            ) {
                (true, true) => present = Some(server),
                (true, false) if self.replace => is_replaced = true,
                (true, false) => {
                    let message = format!(
                        "another server has the name `{SERVER}`; {}",
                        what_it_runs(&server)
                    );
                    let fix = "rename it, or use --replace to replace it with prompt-expander";
                    return Err(Diagnostic::new(Kind::Clash, message, fix)
                        .at(server.position)
                        .in_file(&*server.path));
                }
                (false, true) => planner.plan.warnings.push(format!(
                    "{}: `{}` is prompt-expander too; remove it, or the model sees each tool twice",
                    location(&server.path, server.position),
                    printable(&server.name)
                )),
                _ => {}
            }
        }
        let agent = self.agent;
        let mut entry = (agent.config.entry)(&self.program, &self.arguments);
        if let Some(key) = agent.config.trust {
            // With `--edit`, the tools can replace a text, so the agent has to ask.
            let edits = present
                .as_ref()
                .is_some_and(|server| server.args.iter().any(|word| word == "--edit"));
            if !self.trust || edits {
                entry.initial.retain(|(initial, _)| *initial != key);
                entry.required.push((key, None));
            } else if present.is_none() {
                planner.plan.notes.push(format!(
                    "because of `\"{key}\": true`, {} calls the tools of this server without asking you; --no-trust leaves \
                     it out",
                    agent.title
                ));
            }
        }
        planner
            .plan
            .options
            .extend(present.map(|server| server.options()));
        let keys = planner.entry_keys();
        planner
            .config()?
            .edit(|text, syntax| syntax.set(text, &keys, &entry, is_replaced))
    }

    /// Returns whether a hook is registered.
    fn add_hook(&self, planner: &mut Planner) -> Result<bool, Diagnostic> {
        let Some(hook) = self.agent.hook.as_ref() else {
            return Ok(false);
        };
        if let Some(plugin) = self.agent.plugin(&planner.files, planner.system) {
            planner.plan.warnings.push(format!(
                "the plugin `{plugin}` has the hook, too, so it is left out here; both have the server: `claude plugin disable {plugin}` \
                 or `uninstall` removes one"
            ));
            return Ok(true);
        }
        let Some(plain) = planner.hooks() else {
            return Ok(true);
        };
        let options = plain.iter().map(|hook| without_config(&hook.options()));
        planner
            .plan
            .options
            .splice(0..0, options.collect::<Vec<_>>());
        let arguments = self.arguments.iter().map(String::as_str);
        let words: Vec<&str> = [&self.program, "hook", self.agent.name]
            .into_iter()
            .chain(arguments)
            .collect();
        let line = hook_line(&words, hook.around_on_windows);
        if plain.is_empty() && !hook.note.is_empty() {
            planner.plan.notes.push(hook.note.to_owned());
        }
        let handler = match hook.syntax {
            Syntax::Plugin => json!({"words": words}),
            _ => json!({"type": "command", "command": line, "timeout": hook.timeout}),
        };
        planner
            .hook_file()?
            .edit(|text, syntax| syntax.set_hook(text, hook.event, &handler, &is_plain))?;
        Ok(true)
    }
}

/// Plans the removal of the server named `prompts`, if it is prompt-expander, and of the hook.
/// Reads the agent's files. `scope` is not [`Scope::Local`].
///
/// # Errors
/// A file cannot be read or changed.
pub fn removal(agent: &'static Agent, scope: Scope, system: &System) -> Result<Plan, Diagnostic> {
    let mut planner = Planner::new(agent, scope, system)?;
    for server in planner.registrations()? {
        if server.name == SERVER && !server.is_prompt_expander() {
            planner.plan.warnings.push(format!(
                "{}: `{SERVER}` is another server, which is left alone; {}",
                location(&server.path, server.position),
                what_it_runs(&server)
            ));
        }
    }
    planner.hooks();
    planner.config()?;
    let hooks = planner
        .hooks
        .as_ref()
        .and_then(|hooks| planner.files.at(hooks));
    if hooks.is_some_and(|file| file.is_ok()) {
        planner.hook_file()?;
    }
    for at in 0..planner.plan.files.len() {
        let file = &planner.plan.files[at];
        let cleaned = file
            .original
            .as_ref()
            .map(|text| planner.cleaned(file, text))
            .transpose();
        planner.plan.files[at].edited = cleaned.map_err(|error| error.in_file(&*file.path))?;
    }
    planner.remove_stale_trust()?;
    let mut plan = planner.finish()?;
    plan.files.iter_mut().for_each(restore);
    Ok(plan)
}

/// Restores the backup of a file, byte for byte, if the file without the registration differs from
/// it at most in layout; or removes the file, if there was none before.
fn restore(file: &mut ConfigFile) {
    let is_edited = |text: &str| {
        file.edited
            .as_deref()
            .is_some_and(|edited| is_similar(edited, text))
    };
    match file.backup_text() {
        Some(text) if is_edited(&text) => (file.edited, file.backup) = (Some(text), Backup::Remove),
        None if is_edited(file.template) => (file.edited, file.backup) = (None, Backup::None),
        _ => {}
    }
}

/// Whether two texts differ at most in their layout, or are both empty.
fn is_similar(a: &str, b: &str) -> bool {
    let written = |text: &str| {
        text.replace(
            |letter: char| letter.is_whitespace() || letter == '\u{feff}',
            "",
        )
    };
    let [a, b] = [a, b]
        .map(written)
        .map(|text| if text == "{}" { String::new() } else { text });
    a == b
}

/// The files of an agent, and the plan with those of them that are edited.
struct Planner<'s> {
    agent: &'static Agent,
    scope: Scope,
    system: &'s System,
    files: AgentFiles,
    /// The config that is edited.
    config: PathBuf,
    /// The file of hooks that is edited.
    hooks: Option<PathBuf>,
    plan: Plan,
}

impl<'s> Planner<'s> {
    /// Reads the agent's files. An error if the scope makes no sense.
    fn new(
        agent: &'static Agent,
        scope: Scope,
        system: &'s System,
    ) -> Result<Planner<'s>, Diagnostic> {
        let files = agent.read_files(system);
        let config = config_to_edit(agent, &files, scope, system).ok_or_else(|| no_home(agent))?;
        let hooks = agent.hook_path(scope, system);
        let of_user: Vec<PathBuf> = agent
            .config_paths(Scope::User, system)
            .into_iter()
            .chain(agent.hook_path(Scope::User, system))
            .collect();
        let is_users = |file: &&PathBuf| of_user.iter().any(|of_user| is_same_file(of_user, file));
        if let Some(file) = [&config]
            .into_iter()
            .chain(&hooks)
            .find(is_users)
            .filter(|_| scope == Scope::Project)
        {
            let message = format!(
                "the working directory is not a project for {}: {} is its config for all projects",
                agent.title,
                named_path(file)
            );
            let fix = "leave out --project, or change to the folder of a project";
            return Err(Diagnostic::new(Kind::Invalid, message, fix));
        }
        Ok(Planner {
            agent,
            scope,
            system,
            files,
            config,
            hooks,
            plan: Plan::default(),
        })
    }

    fn registrations(&self) -> Result<Vec<Registration>, Diagnostic> {
        let Some(file) = self.files.at(&self.config) else {
            return Ok(Vec::new());
        };
        self.agent
            .config
            .registrations(file.map_err(Clone::clone)?, self.scope, self.system)
    }

    /// The keys of the entry in the config.
    fn entry_keys(&self) -> Vec<String> {
        let value = self
            .files
            .at(&self.config)
            .and_then(Result::ok)
            .map_or(&Value::Null, |file| &file.value);
        self.agent.config.entry_keys(value, self.scope, self.system)
    }

    /// The hooks that `install` may rewrite. Warns of the others that run prompt-expander, since
    /// they do more than that, or are in another file, and of what could not be read. `None`: there
    /// are only others.
    fn hooks(&mut self) -> Option<Vec<HookLine>> {
        let errors = self
            .files
            .errors()
            .filter(|error| error.file.as_deref() != Some(&*self.config));
        self.plan.warnings.extend(
            errors.map(|error| format!("{error}; whether a hook is registered there is unknown")),
        );
        let hooks = self
            .agent
            .hooks(&self.files)
            .into_iter()
            .filter(|hook| hook.scope == self.scope);
        let (plain, others): (Vec<_>, Vec<_>) =
            hooks.partition(|hook| self.agent.is_by_install(hook, self.system));
        self.plan.warnings.extend(others.iter().map(|hook| {
            let (location, line) = (location(&hook.path, hook.position), named(&hook.line));
            format!(
                "{location}: the hook {line} is not as `install` writes it, so it is left alone: remove it yourself"
            )
        }));
        (!plain.is_empty() || others.is_empty()).then_some(plain)
    }

    /// A text of a file without the server and the hook that `install` adds.
    fn cleaned(&self, file: &ConfigFile, text: &str) -> Result<String, Diagnostic> {
        let (config, value) = (&self.agent.config, file.parse(text));
        let present = ConfigFile {
            value: value.clone(),
            ..file.clone()
        };
        let servers = config
            .registrations(&present, self.scope, self.system)
            .unwrap_or_default();
        let is_ours = |server: &Registration| server.name == SERVER && server.is_prompt_expander();
        let has_server = file.path == self.config && servers.iter().any(is_ours);
        let hook = self
            .agent
            .hook
            .as_ref()
            .filter(|_| Some(&file.path) == self.hooks.as_ref());
        file.edit_text(text, |text, syntax| {
            let text = match has_server {
                true => syntax.remove(text, &config.entry_keys(&value, self.scope, self.system))?,
                false => text.to_owned(),
            };
            hook.map_or(Ok(text.clone()), |hook| {
                hook.syntax.remove_hook(&text, hook.event, &is_plain)
            })
        })
    }

    fn config(&mut self) -> Result<&mut ConfigFile, Diagnostic> {
        let config = &self.agent.config;
        let absent = ConfigFile::absent(self.config.clone(), config.syntax, self.scope);
        self.file(ConfigFile {
            template: config.template,
            ..absent
        })
    }

    fn hook_file(&mut self) -> Result<&mut ConfigFile, Diagnostic> {
        let (Some(hook), Some(file)) = (&self.agent.hook, self.hooks.clone()) else {
            return Err(no_home(self.agent));
        };
        let template = if hook.syntax == Syntax::Plugin {
            ""
        } else {
            "{}"
        };
        self.file(ConfigFile {
            template,
            ..ConfigFile::absent(file, hook.syntax, self.scope)
        })
    }

    /// Removes each record that the user trusts a hook where the edit has put another one, or none:
    /// the agent asks again. Returns whether a hook is changed of which the agent keeps such a
    /// record.
    fn remove_stale_trust(&mut self) -> Result<bool, Diagnostic> {
        let agent = self.agent;
        let Some(hook) = agent
            .hook
            .as_ref()
            .filter(|hook| hook.trust_record.is_some())
        else {
            return Ok(false);
        };
        let mut edited = self.plan.files.iter();
        let Some(file) = edited.find(|file| Some(&file.path) == self.hooks.as_ref()) else {
            return Ok(false);
        };
        let edited = file.parse(file.edited.as_deref().unwrap_or_default());
        let hooks = |value| handlers(value, hook.event).collect::<BTreeMap<_, _>>();
        let (before, after) = (hooks(&file.value), hooks(&edited));
        let places = before
            .keys()
            .chain(after.keys())
            .filter(|place| before.get(place) != after.get(place));
        let changed: BTreeSet<_> = places.copied().collect();
        let records = changed
            .iter()
            .filter_map(|place| agent.trust_record(&self.files, &file.path, *place));
        let records: Vec<_> = records
            .map(|(config, keys, _)| (config.clone(), keys))
            .collect();
        for (config, keys) in records {
            self.file(config)?
                .edit(|text, syntax| syntax.remove(text, &keys))?;
        }
        Ok(!changed.is_empty())
    }

    /// The file that is edited, as it was read; or a new one.
    fn file(&mut self, new: ConfigFile) -> Result<&mut ConfigFile, Diagnostic> {
        let at = match self
            .plan
            .files
            .iter()
            .position(|file| file.path == new.path)
        {
            Some(at) => at,
            None => {
                let file = match self.files.at(&new.path) {
                    Some(file) => ConfigFile {
                        template: new.template,
                        ..file.map_err(Clone::clone)?.clone()
                    },
                    None => new,
                };
                self.plan.files.push(file);
                self.plan.files.len() - 1
            }
        };
        Ok(&mut self.plan.files[at])
    }

    /// The finished plan, with what becomes of each backup.
    fn finish(mut self) -> Result<Plan, Diagnostic> {
        let mut files = std::mem::take(&mut self.plan.files);
        files.retain(ConfigFile::is_edited);
        for file in &mut files {
            let original = file.original.as_deref().unwrap_or_default();
            let cleaned = self.cleaned(file, original).unwrap_or_default();
            file.backup = if cleaned == original {
                Backup::Replace
            } else if file.backup_text().is_none() && is_similar(&cleaned, file.template) {
                Backup::None
            } else {
                Backup::Keep
            };
        }
        Ok(Plan { files, ..self.plan })
    }
}

/// The config of a scope that is edited: the one that has the server, else the first that exists,
/// else the one that the agent would make.
fn config_to_edit(
    agent: &Agent,
    files: &AgentFiles,
    scope: Scope,
    system: &System,
) -> Option<PathBuf> {
    let paths = agent.config_paths(scope, system);
    let existing: Vec<&PathBuf> = paths
        .iter()
        .filter(|path| fs::symlink_metadata(path).is_ok())
        .collect();
    let has_server = |path: &&&PathBuf| {
        let file = files.at(path).and_then(Result::ok);
        let servers = file.and_then(|file| agent.config.registrations(file, scope, system).ok());
        servers.is_some_and(|servers| servers.iter().any(|server| server.name == SERVER))
    };
    let new = if scope == Scope::User {
        paths.last()
    } else {
        paths.first()
    };
    existing
        .iter()
        .find(has_server)
        .or(existing.first())
        .copied()
        .or(new)
        .cloned()
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
    pub errors: Vec<Diagnostic>,
}

impl Status {
    /// What is registered with an agent. Reads its files.
    pub fn of(agent: &'static Agent, system: &System) -> Status {
        let files = agent.read_files(system);
        let (mut registrations, mut errors) = agent.registrations(&files, system);
        registrations.retain(|server| server.name == SERVER || server.is_prompt_expander());
        registrations.sort_by_key(|server| server.scope);
        let new: Vec<Diagnostic> = files
            .errors()
            .filter(|error| !errors.contains(error))
            .cloned()
            .collect();
        errors.extend(new);
        let mut hooks: Vec<_> = agent
            .hooks(&files)
            .into_iter()
            .map(|hook| (hook.path, hook.position))
            .collect();
        hooks.dedup();
        Status {
            agent,
            is_found: agent.is_found(system),
            registrations,
            hooks,
            errors,
        }
    }
}

fn no_home(agent: &Agent) -> Diagnostic {
    let message = format!("the config of {} cannot be found", agent.title);
    Diagnostic::new(
        Kind::Missing,
        message,
        "set HOME to your home directory, or use --project",
    )
}

fn location(path: &Path, position: Option<Position>) -> String {
    let position = position
        .map(|position| format!(":{position}"))
        .unwrap_or_default();
    format!("{}{position}", full_path(path))
}

fn what_it_runs(server: &Registration) -> String {
    let verb = if server.command.is_some() {
        "runs"
    } else {
        "is at"
    };
    server
        .error
        .clone()
        .unwrap_or_else(|| format!("it {verb} {}", named(&server.line())))
}

#[cfg(test)]
mod tests {
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
                agent: Named::named(agent).unwrap(),
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
            let plan = removal(Named::named(agent).unwrap(), Scope::User, &self.system).unwrap();
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
                    match path.is_dir() {
                        true => folders.push(path),
                        false => files.push(
                            path.strip_prefix(self.path(""))
                                .unwrap()
                                .display()
                                .to_string(),
                        ),
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
            Syntax::Plugin => String::new(), // no config is one
            Syntax::Toml => {
                "# mine\nmodel = \"gpt\"   # the good one\n\n[mcp_servers.other]\ncommand = 'x' # c\n\n[tui]\na = 1\n"
                    .to_owned()
            }
            Syntax::Json(syntax) => {
                let comment = if syntax.comments { " // mine" } else { "" };
                let servers = agent.config.servers;
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
    fn options_leave_the_registration_and_other_keys_of_it_stay() {
        let hooks = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"command": "prompt-expander hook codex --project"}]}]}}"#;
        let text = "[mcp_servers.prompts]\ncommand = \"/old/prompt-expander\"\nargs = [\"--config\", \"/c\", \"--tap\", \"t\"]\nenv = { A = \"a\" }\n";
        let user = User::with(&[(CODEX, text), (".codex/hooks.json", hooks)]);
        let plan = user.install(|_| {}, "codex").unwrap();
        assert_eq!(plan.options, [vec!["--project"], vec!["--tap", "t"]]);
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
            assert_eq!(error.kind, Kind::Clash);
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
                Kind::Clash
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
            Kind::Missing
        );
    }

    #[test]
    fn gemini_trusts_the_server_unless_it_may_edit_or_that_is_not_wanted() {
        let edits = r#"{"mcpServers": {"prompts": {"command": "prompt-expander", "args": ["--edit"], "trust": true}}}"#;
        for (before, trust, is_trusted) in [
            (None, true, true),
            (None, false, false),
            (Some(edits), true, false),
        ] {
            let user = User::with(
                &before
                    .iter()
                    .map(|text| (GEMINI, *text))
                    .collect::<Vec<_>>(),
            );
            let plan = user
                .install(|installation| installation.trust = trust, "gemini")
                .unwrap();
            assert_eq!(user.read(GEMINI).contains("\"trust\": true"), is_trusted);
            assert_eq!(
                plan.notes.iter().any(|note| note.contains("--no-trust")),
                is_trusted,
                "{:?}",
                plan.notes
            );
        }
    }
}
