//! What `install` and `uninstall` would change. Nothing is written here; see [`Change::make`].
//!
//! Where a client has a command of its own for it (`codex mcp add`, `claude mcp add`, `gemini mcp add --trust`, `opencode mcp
//! add`), a new entry is the one that it writes.

use super::draft::{Draft, Part};
use super::edit::{Entry, Node};
use super::file::Change;
use super::hook::is_replaceable;
use super::place::Place;
use super::plan::{Plan, PlanError, location, location_of, what_it_runs};
use super::{Client, Hook, SERVER, Scope, Surroundings};
use crate::wording::named;
use std::path::Path;

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

/// What was registered, to be taken out: the server under our name, if it is ours, and the hook.
#[derive(Debug, Clone, Copy)]
pub struct Removal {
    /// The client.
    pub client: Client,
    /// For whom; not [`Scope::Local`].
    pub scope: Scope,
}

impl Installation {
    /// What would be done to put it there. Reads the client's files.
    pub fn plan(&self, surroundings: &Surroundings) -> Result<Plan, PlanError> {
        let place = Place::of(self.client, self.scope, surroundings)?;
        let mut notes = place.notes_of_others();
        let mut drafts = vec![self.server(&place, &mut notes)?];
        self.hook(&place, &mut drafts, &mut notes)?;
        Ok(Plan { changes: drafts.into_iter().filter_map(Draft::change).collect(), notes })
    }

    /// The config with the server in it.
    fn server(&self, place: &Place, notes: &mut Vec<String>) -> Result<Draft, PlanError> {
        let mut is_replaced = false;
        for server in place.registrations()? {
            let at = location_of(&server);
            match (server.name == SERVER, server.is_ours()) {
                (true, false) if !self.replace => return Err(PlanError::Taken(Box::new(server))),
                (true, false) => is_replaced = true,
                (true, true) if !server.enabled => {
                    notes.push(format!("{at}: `{SERVER}` is switched off there; it stays so until you switch it on"))
                }
                (false, true) => notes.push(format!(
                    "{at}: `{}` is prompt-expander too; remove it, or the model sees each tool twice",
                    server.name
                )),
                _ => {}
            }
        }
        let mut draft = place.server_draft()?;
        for word in [&self.program].into_iter().chain(&self.arguments) {
            if let Some(mark) = self.client.variable_in(word) {
                notes.push(format!(
                    "{} takes `{mark}` in {} for the beginning of a variable's name, and may not find it; give it a name without \
                     that",
                    self.client.title(),
                    named(word)
                ));
            }
        }
        let entry = self.client.entry(&self.program, &self.arguments);
        draft.put(&Part::Server { keys: place.server_keys(&draft), entry, is_replaced })?;
        Ok(draft)
    }

    /// Puts the hook into its file, if it is wanted.
    fn hook(&self, place: &Place, drafts: &mut Vec<Draft>, notes: &mut Vec<String>) -> Result<(), PlanError> {
        let (of_install, others) = place.hooks(notes);
        let (Some(arguments), Some(event)) = (&self.hook, self.client.hook_event()) else { return Ok(()) };
        let line = self.client.hook_line(&self.program, arguments).map_err(|_| PlanError::Nul)?;
        let what_next = match of_install.is_empty() {
            false => "each message is expanded twice until you take it out",
            true => "no other is written; take it out first, or see that it names the prompts of the server",
        };
        notes.extend(others.iter().map(|hook| format!("{}; {what_next}", in_its_own_way(hook))));
        if others.is_empty() || !of_install.is_empty() {
            let timeout = self.client.hook_timeout();
            place.hook_draft(drafts)?.put(&Part::Hook { event, line, timeout })?;
        }
        Ok(())
    }
}

impl Removal {
    /// What would be done to take it out. Reads the client's files.
    pub fn plan(&self, surroundings: &Surroundings) -> Result<Plan, PlanError> {
        let place = Place::of(self.client, self.scope, surroundings)?;
        let mut notes = place.notes_of_others();
        let mut drafts: Vec<Draft> = self.server(&place, &mut notes)?.into_iter().collect();
        self.hook(&place, &mut drafts, &mut notes)?;
        let mut changes: Vec<Change> = drafts.into_iter().filter_map(Draft::undone).collect();
        let is_of_client =
            |folder: &&Path| **folder != surroundings.project && surroundings.home.as_deref() != Some(*folder);
        for change in changes.iter_mut().filter(|change| change.after.is_none()) {
            change.folder = change.path.parent().filter(is_of_client).map(Path::to_owned);
        }
        Ok(Plan { changes, notes })
    }

    /// The config without the server; `None`: it has none of ours.
    fn server(&self, place: &Place, notes: &mut Vec<String>) -> Result<Option<Draft>, PlanError> {
        let Some(server) = place.registrations()?.into_iter().find(|server| server.name == SERVER) else {
            return Ok(None);
        };
        let Some(command) = server.command.as_ref().filter(|_| server.is_ours()) else {
            notes.push(format!(
                "{}: `{SERVER}` is another server, which is left alone; {}",
                location_of(&server),
                what_it_runs(&server)
            ));
            return Ok(None);
        };
        let mut draft = place.server_draft()?;
        let (keys, entry) = (place.server_keys(&draft), self.client.entry(command, &server.args));
        draft.take_out(Part::Server { keys, entry, is_replaced: true })?;
        Ok(Some(draft))
    }

    /// Takes the hook out of its file, if it is there.
    fn hook(&self, place: &Place, drafts: &mut Vec<Draft>, notes: &mut Vec<String>) -> Result<(), PlanError> {
        if let Some(event) = self.client.hook_event()
            && place.hook_file().is_ok_and(|file| file.exists())
        {
            let draft = place.hook_draft(drafts)?;
            if let Some(line) = draft.hook_lines(event).into_iter().find(|line| is_replaceable(line)) {
                draft.take_out(Part::Hook { event, line, timeout: self.client.hook_timeout() })?;
            }
        }
        let (_, others) = place.hooks(notes);
        notes.extend(others.iter().map(|hook| format!("{}; take it out yourself", in_its_own_way(hook))));
        Ok(())
    }
}

impl Client {
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
    pub(super) fn new_config(self) -> &'static str {
        match self {
            Client::Codex => "",
            Client::Opencode => "{\n  \"$schema\": \"https://opencode.ai/config.json\"\n}",
            // Those that have a command for it end their files without a line end.
            Client::ClaudeCode | Client::GeminiCli => "{}",
            Client::VsCode | Client::Cursor | Client::Zed => "{}\n",
        }
    }
}

/// What is said of a hook that runs us and is not as `install` writes it.
fn in_its_own_way(hook: &Hook) -> String {
    format!(
        "{}: the hook {} runs prompt-expander, and is not one of `install`, so it is left alone",
        location(&hook.path, hook.position),
        named(&hook.line)
    )
}
