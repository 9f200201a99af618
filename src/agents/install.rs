//! Plans the changes of `install` and `uninstall`, and lists what is already registered. Nothing is
//! written here; see [`ConfigFile::write`].
//!
//! New entries are identical to those of the agents' own commands: `codex mcp add`, `claude mcp
//! add`, `gemini mcp add --trust` and `opencode mcp add`.

mod planner;

pub use planner::Plan;

use super::agent::{Agent, Hook, Installed, RegisteredServers};
use super::config_file::ConfigFile;
use super::config_text::{ConfigSyntax, Entry, SetMode};
use super::environment::{Scope, System};
use super::hook_line::{format_command_line, is_plain};
use super::registration::{Registration, SERVER_NAME};
use crate::prompt::{Diagnostic, Kind, Position};
use crate::wording::{and_list, path_in_backticks};
use planner::{Planner, describe};
use serde_json::json;
use std::path::{Path, PathBuf};

/// What `install` should register.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The agent.
    pub agent: &'static Agent,
    /// Where to register it: [`Scope::User`] or [`Scope::Project`].
    pub scope: Scope,
    /// The program to register: an absolute path, or a name that is looked up on `PATH`.
    pub program: String,
    /// Another program of the same name that comes first on `PATH`, if there is one.
    pub other_on_path: Option<PathBuf>,
    /// The arguments to register: `--config FILE`, or none for the default settings file.
    pub arguments: Vec<String>,
    /// Whether to register the hook as well as the server. If not, an existing hook is removed.
    pub hook: bool,
    /// Whether to replace another server that is named [`SERVER_NAME`], instead of failing.
    pub replace: bool,
    /// Whether a new entry allows the agent to call the tools without asking, if the agent has a
    /// setting for that.
    pub trust: bool,
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
    /// Reads the agent's files, and plans the installation: adds the server, and adds or removes
    /// the hook.
    ///
    /// # Errors
    /// Fails if a file can't be read or edited, or if another server is registered as
    /// [`SERVER_NAME`] and [`replace`](Self::replace) is false.
    pub fn plan(&self, system: &System) -> Result<Plan, Diagnostic> {
        let mut planner = Planner::new(self.agent, self.scope, system)?;
        self.add_server(&mut planner)?;
        planner.plan.installed = if self.hook {
            self.add_hook(&mut planner)?
        } else {
            planner.remove_hook()?
        };
        let mut plan = planner.finish();
        let note = self.note_for_colleagues(&plan.files, system);
        plan.notes.extend(note);
        Ok(plan)
    }

    /// Plans to register the server in the agent's config. Updates an entry of prompt-expander, in
    /// which keys that the user has added stay. Replaces an entry of another server as a whole.
    ///
    /// # Errors
    /// Fails if the config can't be edited, or if it has another server of that name and
    /// [`replace`](Self::replace) is false.
    fn add_server(&self, planner: &mut Planner) -> Result<(), Diagnostic> {
        let servers = planner.registrations()?;
        let existing = self.existing_server(&servers)?;
        planner.warn_of_other_names(&servers);
        if existing != ExistingServer::PromptExpander {
            planner.plan.notes.extend(self.trust_note());
        }
        let mode = if existing == ExistingServer::Other {
            SetMode::Replace
        } else {
            SetMode::Update
        };
        let entry = self.server_entry();
        let keys = planner.entry_keys();
        let config = planner.plan_config()?;
        config.edit(|text, syntax| syntax.set(text, &keys, &entry, mode))
    }

    /// Returns what is registered as [`SERVER_NAME`] among the `servers` of the config.
    ///
    /// # Errors
    /// Fails if another server has that name and [`replace`](Self::replace) is false.
    fn existing_server(&self, servers: &[Registration]) -> Result<ExistingServer, Diagnostic> {
        let Some(server) = servers.iter().find(|server| server.name == SERVER_NAME) else {
            return Ok(ExistingServer::None);
        };
        if server.is_prompt_expander() && server.error.is_none() {
            return Ok(ExistingServer::PromptExpander);
        }
        if self.replace {
            return Ok(ExistingServer::Other);
        }
        Err(name_clash(server))
    }

    /// Returns the server's entry for the agent's config: the program and its arguments. If the
    /// agent must not trust the server, the entry removes the key that says so, e.g. `"trust":
    /// true`.
    fn server_entry(&self) -> Entry {
        let mut entry = (self.agent.config.new_entry)(&self.program, &self.arguments);
        if let Some(trust_key) = self.agent.config.trust_key
            && !self.trust
        {
            entry.initial.retain(|(key, _)| *key != trust_key);
            entry.required.push((trust_key, None)); // `None` removes the key
        }
        entry
    }

    /// Returns a note for the user if the new entry lets the agent call the tools without asking.
    fn trust_note(&self) -> Option<String> {
        if self.agent.config.trust_key.is_none() || !self.trust {
            return None;
        }
        Some(format!(
            "{} will call the tools of this server without asking you. With --no-trust, it asks",
            self.agent.title
        ))
    }

    /// Plans to add or update the hook, and to remove the agent's records of trust in hooks that
    /// change. Returns what is registered once the plan has been written.
    fn add_hook(&self, planner: &mut Planner) -> Result<Installed, Diagnostic> {
        let is_hook_registered = self.set_hook(planner)?;
        let has_changed_hook = planner.remove_outdated_trust_records()?;
        // `planner.files` are the files before the installation. Only `planner.plan` has edits.
        let previous_hooks = self.agent.hooks(&planner.files);
        if has_changed_hook && planner.has_trusted(&previous_hooks) {
            planner.plan.notes.push(format!(
                "the hook changes, so {} asks again whether you trust it; until then, it skips the hook",
                self.agent.title
            ));
        }
        Ok(Installed {
            has_hook: is_hook_registered || !previous_hooks.is_empty(),
            is_hook_untrusted: has_changed_hook || planner.has_untrusted(&previous_hooks),
        })
    }

    /// Plans to write the hook into the agent's hooks file, unless a plugin or the user has already
    /// added a hook that runs prompt-expander: a second one would add each prompt twice.
    ///
    /// Returns whether the agent then has a hook of either kind. False only for an agent without
    /// hooks.
    fn set_hook(&self, planner: &mut Planner) -> Result<bool, Diagnostic> {
        let Some(hook) = &self.agent.hook else {
            return Ok(false);
        };
        if let Some(plugin) = self.agent.plugin(&planner.files, planner.system) {
            planner.plan.warnings.push(format!(
                "the plugin `{plugin}` has a server and a hook, so the hook is left out here. \
                 To remove one of the two servers, run `claude plugin disable {plugin}` or `prompt-expander uninstall {}`",
                self.agent.name
            ));
            return Ok(true);
        }
        let existing = planner.hooks_of_scope();
        planner.warn_of_unreadable_files();
        planner.warn_of_other_hooks(&existing);
        planner.warn_of_hooks_in_both_files();
        if existing.rewritable.is_empty() && !existing.others.is_empty() {
            return Ok(true);
        }
        if existing.rewritable.is_empty() {
            planner.plan.notes.extend(hook.note.map(str::to_owned));
        }
        let handler = self.hook_handler(hook);
        let file = planner.plan_hooks_file()?;
        file.edit(|text, syntax| syntax.set_hook(text, hook.event, &handler, &is_plain))?;
        Ok(true)
    }

    /// Returns the hook's entry for the agent's hooks file, e.g.
    /// `{"type": "command", "command": "prompt-expander hook codex; exit 0", "timeout": 5}`. For an
    /// agent whose hook is a plugin, returns `{"words": […]}` with the command.
    fn hook_handler(&self, hook: &Hook) -> Entry {
        let mut words = vec![self.program.as_str(), "hook", self.agent.name];
        words.extend(self.arguments.iter().map(String::as_str));
        if matches!(hook.syntax, ConfigSyntax::Plugin(_)) {
            return Entry {
                required: vec![("words", Some(json!(words)))],
                initial: Vec::new(),
            };
        }
        let line = format_command_line(&words, hook.windows_prefix, hook.windows_suffix);
        let mut required = vec![
            ("type", Some(json!("command"))),
            ("command", Some(json!(line))),
        ];
        for (key, value) in hook.further_keys {
            required.push((key, Some(json!(value))));
        }
        Entry {
            required,
            // The user may have changed the timeout of an existing hook.
            initial: vec![("timeout", json!(hook.timeout))],
        }
    }

    /// Returns a note about what the changed files of a project, e.g. `.mcp.json`, mean for others
    /// who work on it: they contain a path of this machine, or just the program's name. The note is
    /// read before and after the files are written. Returns `None` if no file of a project changes.
    fn note_for_colleagues(&self, files: &[ConfigFile], system: &System) -> Option<String> {
        let written_files = written_paths(files, &system.project);
        if self.scope != Scope::Project || written_files.is_empty() {
            return None;
        }
        let names = and_list(&written_files);
        if Path::new(&self.program).is_absolute() {
            return Some(format!(
                "this change puts a path of this machine into {names}, so do not commit it. {}",
                self.advice_for_plain_name()
            ));
        }
        if self.arguments.iter().map(Path::new).any(Path::is_absolute) {
            return Some(format!(
                "this change puts a path of this machine into {names}, so do not commit it. \
                 The path is that of the settings file that --config or XDG_CONFIG_HOME names"
            ));
        }
        Some(format!(
            "this change puts only the name of the program into {names}. \
             Everyone who works on this project runs the `{}` that is on their own PATH",
            self.program
        ))
    }

    /// Returns what the user can do so that `install` writes the plain name of the program instead
    /// of its path.
    fn advice_for_plain_name(&self) -> String {
        let name = env!("CARGO_PKG_NAME");
        match &self.other_on_path {
            Some(other) => format!(
                "For files that you can commit, put this `{name}` on your PATH before {}, \
                 which is another program, and run this command again",
                path_in_backticks(other)
            ),
            None => format!(
                "For files that you can commit, put `{name}` on your PATH, and run this command again"
            ),
        }
    }
}

/// Returns the paths of the files that are written rather than deleted, relative to the project:
/// `.mcp.json`.
fn written_paths(files: &[ConfigFile], project: &Path) -> Vec<String> {
    let mut paths = Vec::new();
    for file in files {
        if file.edited.is_some() {
            let path = file.path.strip_prefix(project).unwrap_or(&file.path);
            paths.push(path.display().to_string());
        }
    }
    paths
}

/// Returns the error that another server is registered as [`SERVER_NAME`].
fn name_clash(server: &Registration) -> Diagnostic {
    let message = format!(
        "another server has the name `{SERVER_NAME}`: {}",
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
    planner.remove_outdated_trust_records()?;
    Ok(planner.finish())
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

#[cfg(test)]
mod tests {
    use super::super::config_text::JsonSyntax;
    use super::super::hook_line::has_hooks;
    use super::super::{AGENTS, Agent as Named};
    use super::*;
    use std::fs;

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
                other_on_path: None,
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
    /// Claude Code 2.1.330, Gemini CLI 0.61.0, opencode 1.18.33; Qwen Code 0.24.4 with `--trust`,
    /// and pi 1.6.0 with `--exposure direct`).
    #[test]
    fn a_new_entry_is_the_one_that_the_agents_own_command_writes() {
        for (agent, file, golden) in [
            ("codex", CODEX, "codex.toml"),
            ("claude-code", ".claude.json", "claude-code.json"),
            ("gemini", GEMINI, "gemini.json"),
            ("qwen", ".qwen/settings.json", "gemini.json"),
            ("pi", ".pi/agent/mcp.json", "pi.json"),
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
            // No config has these.
            ConfigSyntax::CopilotHooks | ConfigSyntax::Plugin(_) => String::new(),
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
        let hooks = r#"{"hooks": {"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "prompt-expander hook codex --project", "timeout": 9, "additionalContextLimit": 5000}]}]}}"#;
        let text = "[mcp_servers.prompts]\ncommand = \"/old/prompt-expander\"\nargs = [\"--config\", \"/c\", \"--tap\", \"t\"]\nenv = { A = \"a\" }\n";
        let user = User::with(&[(CODEX, text), (".codex/hooks.json", hooks)]);
        user.install(|_| {}, "codex").unwrap();
        let want = "[mcp_servers.prompts]\ncommand = \"/opt/my tools/prompt-expander\"\nenv = { A = \"a\" }\n";
        assert_eq!(user.read(CODEX), want);
        let line = "'/opt/my tools/prompt-expander' hook codex; exit 0";
        assert_eq!(
            user.read(".codex/hooks.json"),
            hooks
                .replace("prompt-expander hook codex --project", line)
                .replace("5000", "0")
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
    fn without_the_hook_only_the_hook_of_an_earlier_installation_is_removed() {
        const HOOKS: &str = ".codex/hooks.json";
        let command = |line: &str| format!(r#"{{"hooks": [{{"command": "{line}"}}]}}"#);
        let event = |groups: &str| format!(r#"{{"hooks": {{"UserPromptSubmit": [{groups}]}}}}"#);
        let mine = event(&command("log"));
        let others = event(&command("prompt-expander hook codex | tee log"));
        for agent in AGENTS.map(|agent| agent.name) {
            let user = User::with(&[]);
            let without_hook = |installation: &mut Installation| installation.hook = false;
            user.install(without_hook, agent).unwrap();
            let before = user.files();
            user.install(|_| {}, agent).unwrap();
            let plan = user.install(without_hook, agent).unwrap();
            assert_eq!(user.files(), before, "{agent}");
            assert!(!plan.installed.has_hook && !plan.installed.is_hook_untrusted);
            let again = user.install(without_hook, agent).unwrap();
            assert!(again.files.is_empty(), "{agent}: {again:?}");
            user.uninstall(agent);
            assert_eq!(user.files(), [""; 0], "{agent}");
        }
        for (hooks, has_hook) in [(&mine, false), (&others, true)] {
            let user = User::with(&[(HOOKS, hooks)]);
            user.install(|_| {}, "codex").unwrap();
            let plan = user.install(|it| it.hook = false, "codex").unwrap();
            assert_eq!(user.read(HOOKS), *hooks);
            assert_eq!(user.files(), [CODEX, HOOKS]);
            assert_eq!(plan.installed.has_hook, has_hook);
            assert_eq!(plan.warnings.len(), usize::from(has_hook));
        }
    }

    #[test]
    fn the_hook_of_codex_goes_into_the_config_if_only_that_has_hooks() {
        let stop = "[[hooks.Stop]]\n[[hooks.Stop.hooks]]\ntype = \"command\"\ncommand = \"log\"\n";
        let json = r#"{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "log"}]}]}}"#;
        let nothing = r#"{"hooks": {"Stop": []}}"#;
        let state = "[hooks.state.\"x\"]\ntrusted_hash = \"y\"\n";
        for (config, hooks, is_in_config) in [
            (stop, None, true),
            (stop, Some(nothing), true),
            (stop, Some(json), false),
            (state, None, false),
            (
                &*format!("a = 1\r\n{stop}# c = 2\r\n")
                    .replace("\n", "\r\n")
                    .replace("\r\r", "\r"),
                None,
                true,
            ),
            (&*format!("{stop}{state}# end"), None, true),
            (
                "[hooks]\nStop = [{hooks = [{command = \"log\"}]}]\n",
                None,
                true,
            ),
        ] {
            let mut files = vec![(CODEX, config)];
            files.extend(hooks.map(|hooks| (".codex/hooks.json", hooks)));
            let user = User::with(&files);
            user.install(|_| {}, "codex").unwrap();
            let text = user.read(CODEX);
            let line = "command = \"'/opt/my tools/prompt-expander' hook codex; exit 0\"";
            assert_eq!(text.contains(line), is_in_config, "{text}");
            let value = ConfigSyntax::Toml.parse(&text).unwrap();
            assert_eq!(has_hooks(&value), config != state, "{text}");
            if is_in_config {
                let handler = &value["hooks"]["UserPromptSubmit"][0]["hooks"][0];
                assert_eq!(handler["additionalContextLimit"], 0, "{text}");
                assert_eq!(handler["timeout"], 5, "{text}");
                let file = user.path(CODEX);
                let place = format!("{}:user_prompt_submit:0:0", file.display());
                let trusted = format!("{text}[hooks.state.'{place}']\ntrusted_hash = 'x'\n");
                fs::write(user.path(CODEX), trusted).unwrap();
                let plan =
                    user.install(|it| it.program = "/new/prompt-expander".to_owned(), "codex");
                assert_eq!(plan.unwrap().notes.len(), 1, "Codex asks again");
                assert!(!user.read(CODEX).contains(&place));
            }
            let warnings = user.install(|_| {}, "codex").unwrap().warnings;
            let has_hooks_in_both = hooks == Some(json);
            assert_eq!(warnings.len(), usize::from(has_hooks_in_both));
            for warning in warnings {
                let start = "Codex warns at each start that there are hooks in `";
                assert!(warning.starts_with(start), "{warning}");
            }
            user.uninstall("codex");
            assert_eq!(user.read(CODEX), config);
            assert_eq!(user.files().len(), files.len());
        }
        let inline_table = "a = 1\nhooks = {Stop = [{hooks = [{command = \"log\"}]}]} # mine\n";
        let user = User::with(&[(CODEX, inline_table)]);
        let error = user.install(|_| {}, "codex").unwrap_err();
        let expected = "`hooks` must be tables such as `[[hooks.UserPromptSubmit]]`, but is not";
        assert_eq!(error.message, expected);
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
        let older = text.replace("command.execute.before", "something.else");
        fs::write(user.path(PLUGIN), older).unwrap();
        user.install(|_| {}, "opencode").unwrap();
        assert_eq!(
            user.read(PLUGIN),
            text,
            "the plugin of an older version is replaced"
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

    #[cfg(unix)] // the file has a key for each shell
    #[test]
    fn a_hook_of_copilot_cli_is_added_to_others_updated_and_removed() {
        const HOOKS: &str = ".copilot/hooks/prompt-expander.json";
        let others = r#"{"version": 1, "hooks": {"userPromptTransformed": [{"type": "command", "bash": "log"}]}}"#;
        let user = User::with(&[(HOOKS, others)]);
        user.install(|_| {}, "copilot").unwrap();
        let text = user
            .read(HOOKS)
            .replace("timeoutSec\": 5", "timeoutSec\": 9");
        fs::write(user.path(HOOKS), text).unwrap();
        user.install(
            |it| it.program = "/new/prompt-expander".to_owned(),
            "copilot",
        )
        .unwrap();
        let value: serde_json::Value = serde_json::from_str(&user.read(HOOKS)).unwrap();
        let line = "/new/prompt-expander hook copilot; exit 0";
        let want = json!([
            {"type": "command", "bash": "log"},
            {"type": "command", "bash": line, "timeoutSec": 9},
        ]);
        assert_eq!(value["hooks"]["userPromptTransformed"], want);
        user.uninstall("copilot");
        let value: serde_json::Value = serde_json::from_str(&user.read(HOOKS)).unwrap();
        assert_eq!(
            value,
            serde_json::from_str::<serde_json::Value>(others).unwrap()
        );
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
        assert!(plan.notes.is_empty());
        let plan = user
            .install(
                |installation| installation.program = "/new/prompt-expander".to_owned(),
                "codex",
            )
            .unwrap();
        assert!(plan.installed.is_hook_untrusted && !user.read(CODEX).contains("trusted_hash"));
        let note = "the hook changes, so Codex asks again whether you trust it; until then, it skips the hook";
        assert_eq!(plan.notes, [note]);
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
