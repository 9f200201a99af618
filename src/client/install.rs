//! What `install` and `uninstall` would change, and how things stand. Nothing is written here; see [`Change::make`].
//!
//! Where a client has a command of its own for it (`codex mcp add`, `claude mcp add`, `gemini mcp add --trust`, `opencode mcp
//! add`), a new entry is the one that it writes.

use super::config::{BOM, is_of_servers, read_text};
use super::edit::{self, Entry, Node};
use super::file::{Change, backups};
use super::syntax::{Fault, Syntax};
use super::{Client, Config, ConfigError, Registration, SERVER, Scope, Surroundings};
use crate::wording::{named, printable};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// Our program's name, without the ending that Windows gives it.
const PROGRAM: &str = env!("CARGO_PKG_NAME");

/// A server to be registered.
#[derive(Debug, Clone)]
pub struct Installation {
    /// The client.
    pub client: Client,
    /// For whom; not [`Scope::Local`].
    pub scope: Scope,
    /// The program, from the root.
    pub program: String,
    /// What the server gets.
    pub arguments: Vec<String>,
    /// What the hook gets behind `hook CLIENT`; `None`: no hook is registered.
    pub hook: Option<Vec<String>>,
    /// Whether a server of another program under our name is replaced.
    pub replace: bool,
}

/// What would be done.
#[derive(Debug, Default)]
pub struct Plan {
    /// The files that would change, none if all is as it should be.
    pub changes: Vec<Change>,
    /// What the user should know, in lower case.
    pub notes: Vec<String>,
}

/// How a client stands to us.
#[derive(Debug)]
pub struct State {
    /// The client.
    pub client: Client,
    /// Whether it was found on this machine.
    pub is_found: bool,
    /// Every server that is us, or is registered under our name, in the user's configs and the project's.
    pub registrations: Vec<Registration>,
    /// The files in which our hook is registered.
    pub hooks: Vec<PathBuf>,
    /// Why a config could not be read.
    pub errors: Vec<ConfigError>,
}

impl Client {
    /// How it stands to us. Reads its configs.
    pub fn state(self, surroundings: &Surroundings) -> State {
        let mut state = State {
            client: self,
            is_found: self.is_found(surroundings),
            registrations: Vec::new(),
            hooks: Vec::new(),
            errors: Vec::new(),
        };
        let mut seen: Vec<(PathBuf, Scope)> = Vec::new();
        for scope in [Scope::User, Scope::Local, Scope::Project] {
            for config in self.read_configs(scope, surroundings) {
                match config.and_then(|config| Ok((config.registrations()?, config.path))) {
                    Ok((registrations, path)) => {
                        let is_known =
                            |known: &(PathBuf, Scope)| is_same_file(&known.0, &path) && scope == Scope::Project;
                        if seen.iter().any(is_known) {
                            continue; // the project is the home directory
                        }
                        seen.push((path, scope));
                        let ours = registrations.into_iter().filter(|server| server.name == SERVER || server.is_ours());
                        state.registrations.extend(ours);
                    }
                    Err(error) if !state.errors.contains(&error) => state.errors.push(error),
                    Err(_) => {}
                }
            }
            let file = self.hook_file(scope, surroundings).filter(|_| self.has_hook(scope, surroundings));
            if let Some(file) = file.filter(|file| !state.hooks.iter().any(|known| is_same_file(known, file))) {
                state.hooks.push(file);
            }
        }
        state
    }

    /// Whether our hook is registered in the file of this scope. Reads it.
    pub fn has_hook(self, scope: Scope, surroundings: &Surroundings) -> bool {
        let text = self.hook_file(scope, surroundings).and_then(|file| read_text(&file).ok().flatten());
        text.is_some_and(|text| self.hook_commands(&text).iter().any(|line| self.is_our_hook(line)))
    }

    /// Where its hooks are registered, if it has any.
    pub fn hook_file(self, scope: Scope, surroundings: &Surroundings) -> Option<PathBuf> {
        let folder = match scope {
            Scope::User => self.home(surroundings)?,
            Scope::Project => surroundings.project.join(match self {
                Client::Codex => ".codex",
                Client::ClaudeCode => ".claude",
                _ => ".gemini",
            }),
            Scope::Local => return None,
        };
        match self {
            Client::Codex => Some(folder.join("hooks.json")),
            Client::ClaudeCode | Client::GeminiCli => Some(folder.join("settings.json")),
            Client::VsCode | Client::Cursor | Client::Opencode | Client::Zed => None,
        }
    }

    /// The commands that a text of its hook file runs when a prompt is submitted.
    pub fn hook_commands(self, text: &str) -> Vec<String> {
        let value = self.hook_syntax().parse(text.strip_prefix(BOM).unwrap_or(text)).unwrap_or_default();
        let groups = self.event().map(|event| &value["hooks"][event]);
        let groups = groups.and_then(Value::as_array).into_iter().flatten();
        let handlers = groups.flat_map(|group| group["hooks"].as_array().into_iter().flatten());
        handlers.filter_map(|handler| handler["command"].as_str().map(str::to_owned)).collect()
    }

    /// Whether a command of a hook is ours.
    pub fn is_our_hook(self, line: &str) -> bool {
        // As PowerShell runs what stands in quotes.
        let line = line.strip_prefix("& ").unwrap_or(line);
        // Backslashes are no escapes in a path of Windows.
        let posix = shlex::split(line);
        let windows = shlex::split(&line.replace('\\', "/"));
        [posix, windows].into_iter().flatten().any(|words| {
            let words: Vec<&str> = words.iter().map(|word| word.trim_end_matches(';')).collect();
            let is_hook = |pair: &[&str]| pair[0] == "hook" && Client::named(pair[1]) == Some(self);
            words.first().is_some_and(|program| is_our_program(program)) && words.windows(2).any(is_hook)
        })
    }

    /// The line that its shell runs: `hook CLIENT`, and these arguments.
    fn hook_line(self, program: &str, arguments: &[String]) -> Result<String, String> {
        let words = || ["hook", self.name()].into_iter().chain(arguments.iter().map(String::as_str));
        let unquotable = |_| "a path with a NUL character cannot stand in a line for a shell".to_owned();
        let line = if !cfg!(windows) {
            shlex::try_join([program].into_iter().chain(words())).map_err(unquotable)?
        } else if self == Client::ClaudeCode {
            // A bash, to which a backslash is an escape.
            let slashes = |word: &str| if word.contains(':') { word.replace('\\', "/") } else { word.to_owned() };
            let words: Vec<String> = [program].into_iter().chain(words()).map(slashes).collect();
            shlex::try_join(words.iter().map(String::as_str)).map_err(unquotable)?
        } else if self == Client::Codex {
            // cmd.exe
            let quoted =
                |word: &str| if word.contains([' ', '&', '(', ')']) { format!("\"{word}\"") } else { word.to_owned() };
            [program].into_iter().chain(words()).map(quoted).collect::<Vec<_>>().join(" ")
        } else {
            // PowerShell
            let quoted = |word: &str| format!("'{}'", word.replace('\'', "''"));
            let words: Vec<String> = words().map(quoted).collect();
            format!("& {} {}", quoted(program), words.join(" "))
        };
        // Gemini CLI blocks every prompt when the program is no longer there, whose status is 127.
        Ok(if self == Client::GeminiCli { format!("{line}; exit 0") } else { line })
    }

    /// What begins the name of a variable in a text of its config, whose value it puts in its place, if that is in this text.
    fn variable_in(self, text: &str) -> Option<&'static str> {
        let is_named =
            |after: &str| after.starts_with(|letter: char| letter.is_ascii_alphanumeric() || "_{".contains(letter));
        match self {
            Client::Codex | Client::Zed => None,
            Client::GeminiCli => text.split('$').skip(1).any(is_named).then_some("$"),
            Client::Opencode => ["{env:", "{file:"].into_iter().find(|mark| text.contains(mark)),
            Client::ClaudeCode | Client::VsCode | Client::Cursor => text.contains("${").then_some("${"),
        }
    }

    /// How long it waits for the hook, in its own unit: five seconds.
    fn hook_timeout(self) -> u32 {
        if self == Client::GeminiCli { 5000 } else { 5 }
    }

    pub(super) fn hook_syntax(self) -> Syntax {
        let is_lenient = self != Client::Codex;
        Syntax::Json { comments: is_lenient, trailing_commas: is_lenient }
    }

    /// What it writes of a server.
    fn entry(self, program: &str, arguments: &[String]) -> Entry {
        let text = |text: &str| Node::Text(text.to_owned());
        let list = |texts: &[String]| Node::List(texts.iter().map(|word| text(word)).collect());
        let command = ("command", Some(text(program)));
        let args = ("args", Some(list(arguments)));
        let stdio = ("type", Some(text("stdio")));
        let env = ("env", Node::Object(Vec::new()));
        match self {
            Client::Codex if arguments.is_empty() => Entry { own: vec![command, ("args", None)], of_new: Vec::new() },
            Client::Codex => Entry { own: vec![command, args], of_new: Vec::new() },
            Client::ClaudeCode => Entry { own: vec![stdio, command, args], of_new: vec![env] },
            Client::GeminiCli => Entry { own: vec![command, args], of_new: vec![("trust", Node::Flag(true))] },
            Client::VsCode | Client::Cursor => Entry { own: vec![stdio, command, args], of_new: Vec::new() },
            Client::Opencode => {
                let words = [&[program.to_owned()], arguments].concat();
                let own = vec![("type", Some(text("local"))), ("command", Some(list(&words)))];
                Entry { own, of_new: Vec::new() }
            }
            Client::Zed => Entry { own: vec![command, args], of_new: vec![env] },
        }
    }

    /// The text that a new config begins with.
    fn new_config(self) -> &'static str {
        match self {
            Client::Codex => "",
            Client::Opencode => "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}",
            // Those that have a command for it end their files without a line end.
            Client::ClaudeCode | Client::GeminiCli => "{}",
            Client::VsCode | Client::Cursor | Client::Zed => "{}\n",
        }
    }

    /// The config of a scope that is written: the one that has us, else the first that is there, else the one that the client
    /// would make.
    fn config_to_write(self, scope: Scope, surroundings: &Surroundings) -> Result<PathBuf, String> {
        let paths = self.configs(scope, surroundings);
        let there: Vec<&PathBuf> = paths.iter().filter(|path| fs::symlink_metadata(path).is_ok()).collect();
        let has_us = |path: &&&PathBuf| {
            let config = Config::read(self, scope, (**path).clone(), surroundings).ok().flatten();
            let registrations = config.and_then(|config| config.registrations().ok()).unwrap_or_default();
            registrations.iter().any(|server| server.name == SERVER)
        };
        let new = if self == Client::Opencode && scope == Scope::User { paths.last() } else { paths.first() };
        let chosen = there.iter().find(has_us).or(there.first()).copied().or(new);
        chosen.cloned().ok_or_else(|| {
            format!(
                "nothing says where the config of {} is; set HOME to your home directory, or use --project",
                self.title()
            )
        })
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

impl Installation {
    /// What would be done; or why not, in lower case.
    pub fn plan(&self, surroundings: &Surroundings) -> Result<Plan, String> {
        let Installation { client, scope, .. } = *self;
        let mut plan = Plan::default();
        let path = config_of(client, scope, surroundings, &mut plan.notes)?;
        let config = Config::read(client, scope, path.clone(), surroundings).map_err(left_alone)?;
        let registrations = config.as_ref().map(Config::registrations).transpose().map_err(left_alone)?;
        let mut is_replaced = false;
        for server in registrations.unwrap_or_default() {
            if server.name == SERVER && !server.is_ours() {
                if !self.replace {
                    return Err(format!(
                        "{}: another server has the name `{SERVER}`; {}. Give it another name, or write --replace to put \
                         prompt-expander in its place",
                        place(&server),
                        what_it_runs(&server)
                    ));
                }
                is_replaced = true;
            } else if server.name == SERVER && !server.enabled {
                plan.notes.push(format!(
                    "{}: `{SERVER}` is switched off there; it stays so until you switch it on",
                    place(&server)
                ));
            } else if server.name != SERVER && server.is_ours() {
                plan.notes.push(format!(
                    "{}: `{}` is prompt-expander too; remove it, or the model sees each tool twice",
                    place(&server),
                    server.name
                ));
            }
        }
        let mut draft = Draft::of(path, client.syntax(), client.new_config())?;
        // As they make them.
        draft.is_private = scope == Scope::User && matches!(client, Client::Codex | Client::ClaudeCode);
        let keys = draft.server_keys(client, scope, surroundings);
        for word in [&self.program].into_iter().chain(&self.arguments) {
            if let Some(mark) = client.variable_in(word) {
                plan.notes.push(format!(
                    "{} takes `{mark}` in {} for the beginning of a variable's name, and may not find it; give it a name without \
                     that",
                    client.title(),
                    named(word)
                ));
            }
        }
        let entry = client.entry(&self.program, &self.arguments);
        draft.edit(|text, syntax| edit::set(syntax, text, &keys, &entry, is_replaced))?;
        let mut drafts = vec![draft];
        if let (Some(arguments), Some(event)) = (&self.hook, client.event()) {
            let line = client.hook_line(&self.program, arguments)?;
            let draft = hook_draft(client, scope, surroundings, &mut drafts)?;
            let is_ours = |line: &str| client.is_our_hook(line);
            draft.edit(|text, syntax| edit::set_hook(syntax, text, event, &line, client.hook_timeout(), &is_ours))?;
        }
        plan.changes = drafts.into_iter().filter_map(Draft::change).collect();
        Ok(plan)
    }
}

/// What would be done to remove what was installed: the server under our name, if it is ours, and the hook.
pub fn remove(client: Client, scope: Scope, surroundings: &Surroundings) -> Result<Plan, String> {
    let mut plan = Plan::default();
    let path = config_of(client, scope, surroundings, &mut plan.notes)?;
    let config = Config::read(client, scope, path.clone(), surroundings).map_err(left_alone)?;
    let registrations = config.as_ref().map(Config::registrations).transpose().map_err(left_alone)?;
    let mut drafts = Vec::new();
    for server in registrations.unwrap_or_default().into_iter().filter(|server| server.name == SERVER) {
        let Some(command) = server.command.as_ref().filter(|_| server.is_ours()) else {
            plan.notes.push(format!(
                "{}: `{SERVER}` is another server, which is left alone; {}",
                place(&server),
                what_it_runs(&server)
            ));
            continue;
        };
        let mut draft = Draft::of(path.clone(), client.syntax(), client.new_config())?;
        let keys = draft.server_keys(client, scope, surroundings);
        draft.edit(|text, syntax| edit::remove(syntax, text, &keys))?;
        draft.done.push(Done::Server { keys, entry: client.entry(command, &server.args) });
        drafts.push(draft);
    }
    if let Some(event) = client.event()
        && own_hook_file(client, scope, surroundings).is_ok_and(|file| file.exists())
    {
        let is_ours = |line: &str| client.is_our_hook(line);
        let draft = hook_draft(client, scope, surroundings, &mut drafts)?;
        if let Some(line) = client.hook_commands(&draft.text).into_iter().find(|line| is_ours(line)) {
            draft.edit(|text, syntax| edit::remove_hook(syntax, text, event, &is_ours))?;
            draft.done.push(Done::Hook { event, line });
        }
    }
    plan.changes = drafts.into_iter().filter_map(|draft| draft.undone(client)).collect();
    let is_of_client =
        |folder: &&Path| **folder != surroundings.project && surroundings.home.as_deref() != Some(*folder);
    for change in plan.changes.iter_mut().filter(|change| change.after.is_none()) {
        change.folder = change.path.parent().filter(is_of_client).map(Path::to_owned);
    }
    Ok(plan)
}

/// A file as it is to be.
struct Draft {
    path: PathBuf,
    syntax: Syntax,
    /// What a new file of its kind begins with.
    new: &'static str,
    before: Option<String>,
    /// Without a byte order mark.
    text: String,
    is_private: bool,
    /// What was installed in it, and is taken out.
    done: Vec<Done>,
}

/// A thing that was installed.
enum Done {
    Server { keys: Vec<String>, entry: Entry },
    Hook { event: &'static str, line: String },
}

impl Draft {
    fn of(path: PathBuf, syntax: Syntax, new: &'static str) -> Result<Draft, String> {
        let before = read_text(&path).map_err(left_alone)?;
        let text = before.as_ref().map_or(new, |text| text.strip_prefix(BOM).unwrap_or(text)).to_owned();
        Ok(Draft { path, syntax, new, before, text, is_private: false, done: Vec::new() })
    }

    /// The keys of our entry.
    fn server_keys(&self, client: Client, scope: Scope, surroundings: &Surroundings) -> Vec<String> {
        let mut keys = client.servers(scope, surroundings);
        let value = self.syntax.parse(&self.text).unwrap_or_default();
        if client == Client::Opencode && is_of_servers(&value["mcp"]["servers"]) {
            keys.push("servers".to_owned());
        }
        keys.push(SERVER.to_owned());
        keys
    }

    fn edit(&mut self, change: impl Fn(&str, Syntax) -> Result<String, Fault>) -> Result<(), String> {
        self.text = change(&self.text, self.syntax).map_err(|fault| {
            // Its place is to be that in the file, not in what we have made of it.
            let known = self.before.as_ref().map(|text| text.strip_prefix(BOM).unwrap_or(text));
            let fault = known.and_then(|known| change(known, self.syntax).err()).unwrap_or(fault);
            left_alone(ConfigError::of(&self.path, fault))
        })?;
        Ok(())
    }

    /// The change, if it is one.
    fn change(self) -> Option<Change> {
        let mut after = self.text;
        if self.before.as_ref().is_some_and(|before| before.starts_with(BOM)) {
            after.insert(0, BOM);
        }
        let is_changed = self.before.as_ref() != Some(&after);
        let Draft { path, before, is_private, .. } = self;
        is_changed.then_some(Change {
            path,
            before,
            after: Some(after),
            is_private,
            folder: None,
            redundant: Vec::new(),
        })
    }

    /// The change that takes out what was installed. If that is all that happened to the file since a backup of it, it becomes
    /// what it was, to the last blank; and if it was not there before, it goes.
    fn undone(self, client: Client) -> Option<Change> {
        let before = self.before.clone()?;
        let backups = backups(&self.path);
        let is_all = |text: &str| self.with_done(client, text).as_ref() == Some(&before);
        let (restored, redundant): (Vec<_>, Vec<_>) = (backups.iter().filter(|(_, text)| is_all(text)).cloned())
            .partition(|(_, text)| self.is_free(client, text));
        let is_new = is_all(self.new);
        let mut change = self.change()?;
        if let Some((_, text)) = restored.first() {
            change.after = Some(text.clone());
        } else if is_new {
            change.after = None;
        } else {
            return Some(change);
        }
        change.redundant = restored.into_iter().chain(redundant).map(|(backup, _)| backup).collect();
        Some(change)
    }

    /// A text with what was installed put in again.
    fn with_done(&self, client: Client, text: &str) -> Option<String> {
        let bom = text.starts_with(BOM);
        let mut text = text.strip_prefix(BOM).unwrap_or(text).to_owned();
        for done in &self.done {
            let changed = match done {
                Done::Server { keys, entry } => edit::set(self.syntax, &text, keys, entry, true),
                Done::Hook { event, line } => {
                    let is_ours = |line: &str| client.is_our_hook(line);
                    edit::set_hook(self.syntax, &text, event, line, client.hook_timeout(), &is_ours)
                }
            };
            text = changed.ok()?;
        }
        if bom {
            text.insert(0, BOM);
        }
        Some(text)
    }

    /// Whether nothing of ours is in a text of this file.
    fn is_free(&self, client: Client, text: &str) -> bool {
        let value = self.syntax.parse(text.strip_prefix(BOM).unwrap_or(text)).unwrap_or_default();
        self.done.iter().all(|done| match done {
            Done::Server { keys, .. } => {
                let entry = keys.iter().fold(&value, |value, key| &value[key]);
                let command = entry["command"].as_str().or_else(|| entry["command"][0].as_str());
                !command.is_some_and(is_our_program)
            }
            Done::Hook { .. } => !client.hook_commands(text).iter().any(|line| client.is_our_hook(line)),
        })
    }
}

/// The config that is written; notes who else reads it. An error where the scope makes no sense.
fn config_of(
    client: Client,
    scope: Scope,
    surroundings: &Surroundings,
    notes: &mut Vec<String>,
) -> Result<PathBuf, String> {
    let path = client.config_to_write(scope, surroundings)?;
    let of = |client: Client, scope: Scope| client.configs(scope, surroundings);
    if scope == Scope::Project && of(client, Scope::User).iter().any(|of_user| is_same_file(of_user, &path)) {
        return Err(no_project(client, &path));
    }
    for other in Client::ALL.into_iter().filter(|other| *other != client) {
        let mut files = [Scope::User, Scope::Project].into_iter().flat_map(|scope| of(other, scope));
        if files.any(|file| is_same_file(&file, &path)) {
            let is_shared = other.servers(scope, surroundings) == client.servers(scope, surroundings);
            let what = if is_shared { ", and the entry is one for both" } else { "" };
            notes.push(format!("{}: this file is the config of {} too{what}", shown(&path), other.title()));
        }
    }
    Ok(path)
}

/// The file of the hooks of a scope. An error where the scope makes no sense.
fn own_hook_file(client: Client, scope: Scope, surroundings: &Surroundings) -> Result<PathBuf, String> {
    let file = client.hook_file(scope, surroundings);
    let file = file.ok_or_else(|| format!("nothing says where the hooks of {} are; set HOME", client.title()))?;
    let of_user = client.hook_file(Scope::User, surroundings);
    if scope == Scope::Project && of_user.is_some_and(|of_user| is_same_file(&of_user, &file)) {
        return Err(no_project(client, &file));
    }
    Ok(file)
}

fn no_project(client: Client, file: &Path) -> String {
    format!(
        "the working directory is no project for {}: `{}` is its config for all projects here; leave --project out, or go to a \
         project",
        client.title(),
        shown(file)
    )
}

/// The draft of the file of the hook, which may be there for the server already.
fn hook_draft<'d>(
    client: Client,
    scope: Scope,
    surroundings: &Surroundings,
    drafts: &'d mut Vec<Draft>,
) -> Result<&'d mut Draft, String> {
    let file = own_hook_file(client, scope, surroundings)?;
    let known = drafts.iter().position(|draft| draft.path == file);
    let at = match known {
        Some(at) => at,
        None => {
            let draft = Draft::of(file, client.hook_syntax(), "{}")?;
            let value =
                draft.syntax.parse(&draft.text).map_err(|fault| left_alone(ConfigError::of(&draft.path, fault)))?;
            if !value.is_object() {
                return Err(left_alone(ConfigError::without_position(&draft.path, "it must be an object, and is not")));
            }
            drafts.push(draft);
            drafts.len() - 1
        }
    };
    Ok(&mut drafts[at])
}

/// Whether a path, or a word of a command, names our program.
fn is_our_program(program: &str) -> bool {
    let name = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let name = name.strip_suffix(".exe").or_else(|| name.strip_suffix(".EXE")).unwrap_or(name);
    name == PROGRAM
}

/// Whether two paths are one file, through links too.
fn is_same_file(a: &Path, b: &Path) -> bool {
    a == b || fs::canonicalize(a).is_ok_and(|a| fs::canonicalize(b).is_ok_and(|b| a == b))
}

fn place(server: &Registration) -> String {
    let position = server.position.map(|position| format!(":{position}")).unwrap_or_default();
    format!("{}{position}", shown(&server.path))
}

/// A path as it is printed, whatever is in it.
fn shown(path: &Path) -> String {
    printable(&path.display().to_string())
}

/// What a server of somebody else is.
fn what_it_runs(server: &Registration) -> String {
    match (server.faults.first(), server.line()) {
        (Some(fault), _) => fault.clone(),
        (None, line) => format!("it runs {}", named(&line)),
    }
}

fn left_alone(error: ConfigError) -> String {
    format!("{error}; the file is left alone: repair it, then run this again")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_hook_is_known_by_its_program_and_its_client() {
        for (line, is_ours) in [
            ("prompt-expander hook codex", true),
            ("/usr/bin/prompt-expander hook codex --prompts /p", true),
            ("'/a b/prompt-expander' --no-builtin hook codex; exit 0", true),
            ("prompt-expander hook codex; exit 0", true),
            ("C:\\Users\\me\\prompt-expander.exe hook codex", true),
            ("& 'C:\\a b\\prompt-expander.exe' 'hook' 'codex'; exit 0", true),
            ("\"C:\\a b\\prompt-expander.exe\" hook codex", true),
            ("prompt-expander hook gemini", false),
            ("prompt-expander list", false),
            ("log prompt-expander hook codex", false),
            ("/opt/not-prompt-expander hook codex", false),
            ("prompt-expander 'hook codex", false),
            ("", false),
        ] {
            assert_eq!(Client::Codex.is_our_hook(line), is_ours, "{line}");
        }
    }
}
