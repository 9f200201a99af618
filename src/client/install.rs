//! What `install` and `uninstall` would change, and how things stand. Nothing is written here; see [`Change::make`].
//!
//! Where a client has a command of its own for it (`codex mcp add`, `claude mcp add`, `gemini mcp add --trust`, `opencode mcp
//! add`), a new entry is the one that it writes.

use super::config::{BOM, is_of_servers, read_text};
use super::edit::{self, Entry, Node};
use super::file::{Change, backups};
use super::hook::{handlers, is_our_program, is_replaceable};
use super::syntax::{Fault, Syntax};
use super::{Client, ConfigError, Files, Hook, Position, Registration, SERVER, Scope, Surroundings, is_same_file};
use crate::wording::{named, printable};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

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
        let files = self.read_files(surroundings);
        let mut seen: Vec<&Path> = Vec::new();
        for scope in [Scope::User, Scope::Local, Scope::Project] {
            for config in files.configs(scope) {
                let read = config.map_err(Clone::clone);
                match read.and_then(|config| Ok((config.registrations(scope, surroundings)?, &config.path))) {
                    // Two names of one file.
                    Ok((_, path)) if scope == Scope::Project && seen.iter().any(|seen| is_same_file(seen, path)) => {}
                    Ok((registrations, path)) => {
                        seen.push(path);
                        let ours = registrations.into_iter().filter(|server| server.name == SERVER || server.is_ours());
                        state.registrations.extend(ours);
                    }
                    Err(error) => state.add_error(&error),
                }
            }
            let (hooks, errors) = files.own_hooks(scope);
            for Hook { path, .. } in hooks {
                if !state.hooks.contains(&path) {
                    state.hooks.push(path);
                }
            }
            errors.into_iter().for_each(|error| state.add_error(error));
        }
        state
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
    fn config_to_write(self, scope: Scope, surroundings: &Surroundings, files: &Files) -> Result<PathBuf, String> {
        let paths = self.configs(scope, surroundings);
        let there: Vec<&PathBuf> = paths.iter().filter(|path| fs::symlink_metadata(path).is_ok()).collect();
        let has_us = |path: &&&PathBuf| {
            let config = files.at(path).and_then(Result::ok);
            let registrations = config.and_then(|config| config.registrations(scope, surroundings).ok());
            let registrations = registrations.unwrap_or_default();
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

impl State {
    /// What is wrong with a file for two reasons, is said once.
    fn add_error(&mut self, error: &ConfigError) {
        if !self.errors.contains(error) {
            self.errors.push(error.clone());
        }
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
        let files = client.read_files(surroundings);
        let path = config_of(client, scope, surroundings, &files, &mut plan.notes)?;
        let registrations = registrations_at(&files, &path, scope, surroundings)?;
        let mut is_replaced = false;
        for server in registrations {
            if server.name == SERVER && !server.is_ours() {
                if !self.replace {
                    return Err(format!(
                        "{}: another server has the name `{SERVER}`; {}. Give it another name, or write --replace to put \
                         prompt-expander in its place",
                        place(&server.path, server.position),
                        what_it_runs(&server)
                    ));
                }
                is_replaced = true;
            } else if server.name == SERVER && !server.enabled {
                plan.notes.push(format!(
                    "{}: `{SERVER}` is switched off there; it stays so until you switch it on",
                    place(&server.path, server.position)
                ));
            } else if server.name != SERVER && server.is_ours() {
                plan.notes.push(format!(
                    "{}: `{}` is prompt-expander too; remove it, or the model sees each tool twice",
                    place(&server.path, server.position),
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
        let (of_install, others) = known_hooks(&files, scope, surroundings, &mut plan.notes);
        if let (Some(arguments), Some(event)) = (&self.hook, client.hook_event()) {
            let line = client.hook_line(&self.program, arguments)?;
            let what_next = match of_install {
                true => "each message is expanded twice until you take it out",
                false => "no other is written; take it out first, or see that it names the prompts of the server",
            };
            for hook in &others {
                plan.notes.push(format!("{}; {what_next}", in_its_own_way(hook)));
            }
            if others.is_empty() || of_install {
                let draft = hook_draft(client, scope, surroundings, &mut drafts)?;
                let timeout = client.hook_timeout();
                draft.edit(|text, syntax| edit::set_hook(syntax, text, event, &line, timeout, &is_replaceable))?;
            }
        }
        plan.changes = drafts.into_iter().filter_map(Draft::change).collect();
        Ok(plan)
    }
}

/// What would be done to remove what was installed: the server under our name, if it is ours, and the hook.
pub fn remove(client: Client, scope: Scope, surroundings: &Surroundings) -> Result<Plan, String> {
    let mut plan = Plan::default();
    let files = client.read_files(surroundings);
    let path = config_of(client, scope, surroundings, &files, &mut plan.notes)?;
    let registrations = registrations_at(&files, &path, scope, surroundings)?;
    let mut drafts = Vec::new();
    for server in registrations.into_iter().filter(|server| server.name == SERVER) {
        let Some(command) = server.command.as_ref().filter(|_| server.is_ours()) else {
            plan.notes.push(format!(
                "{}: `{SERVER}` is another server, which is left alone; {}",
                place(&server.path, server.position),
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
    if let Some(event) = client.hook_event()
        && own_hook_file(client, scope, surroundings).is_ok_and(|file| file.exists())
    {
        let draft = hook_draft(client, scope, surroundings, &mut drafts)?;
        if let Some(line) = draft.hook_lines(event, &draft.text).into_iter().find(|line| is_replaceable(line)) {
            draft.edit(|text, syntax| edit::remove_hook(syntax, text, event, &is_replaceable))?;
            draft.done.push(Done::Hook { event, line });
        }
    }
    let (_, others) = known_hooks(&files, scope, surroundings, &mut plan.notes);
    plan.notes.extend(others.iter().map(|hook| format!("{}; take it out yourself", in_its_own_way(hook))));
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
        let (restored, redundant): (Vec<_>, Vec<_>) =
            (backups.iter().filter(|(_, text)| is_all(text)).cloned()).partition(|(_, text)| self.is_free(text));
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
                    edit::set_hook(self.syntax, &text, event, line, client.hook_timeout(), &is_replaceable)
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
    fn is_free(&self, text: &str) -> bool {
        let value = self.syntax.parse(text.strip_prefix(BOM).unwrap_or(text)).unwrap_or_default();
        self.done.iter().all(|done| match done {
            Done::Server { keys, .. } => {
                let entry = keys.iter().fold(&value, |value, key| &value[key]);
                let command = entry["command"].as_str().or_else(|| entry["command"][0].as_str());
                !command.is_some_and(is_our_program)
            }
            Done::Hook { event, .. } => !self.hook_lines(event, text).iter().any(|line| is_replaceable(line)),
        })
    }

    /// The commands that a text of this file runs at an event.
    fn hook_lines(&self, event: &str, text: &str) -> Vec<String> {
        let value = self.syntax.parse(text.strip_prefix(BOM).unwrap_or(text)).unwrap_or_default();
        let line = |handler: &Value| handler["command"].as_str().map(str::to_owned);
        handlers(&value, event).filter_map(|(_, _, handler)| line(handler)).collect()
    }
}

/// The config that is written; notes who else reads it. An error where the scope makes no sense.
fn config_of(
    client: Client,
    scope: Scope,
    surroundings: &Surroundings,
    files: &Files,
    notes: &mut Vec<String>,
) -> Result<PathBuf, String> {
    let path = client.config_to_write(scope, surroundings, files)?;
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

/// The servers of the config that is written; none, if it is not there.
fn registrations_at(
    files: &Files,
    path: &Path,
    scope: Scope,
    surroundings: &Surroundings,
) -> Result<Vec<Registration>, String> {
    let Some(read) = files.at(path) else { return Ok(Vec::new()) };
    let registrations = read.map_err(Clone::clone).and_then(|config| config.registrations(scope, surroundings));
    registrations.map_err(left_alone)
}

/// Whether a hook is there that `install` may write anew, and those that run us and are not its own: they do more than that, or
/// stand in another file. Notes what could not be read.
fn known_hooks(files: &Files, scope: Scope, surroundings: &Surroundings, notes: &mut Vec<String>) -> (bool, Vec<Hook>) {
    let (hooks, errors) = files.own_hooks(scope);
    notes.extend(errors.iter().map(|error| format!("{error}; whether a hook is registered there is not known")));
    let (of_install, others): (Vec<Hook>, Vec<Hook>) =
        hooks.into_iter().partition(|hook| hook.is_of_install(files.client, surroundings));
    (!of_install.is_empty(), others)
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

/// What is said of a hook that runs us and is not as `install` writes it.
fn in_its_own_way(hook: &Hook) -> String {
    let place = place(&hook.path, hook.position);
    format!(
        "{place}: the hook {} runs prompt-expander, and is not one of `install`, so it is left alone",
        named(&hook.line)
    )
}

fn place(path: &Path, position: Option<Position>) -> String {
    let position = position.map(|position| format!(":{position}")).unwrap_or_default();
    format!("{}{position}", shown(path))
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
