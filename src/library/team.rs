//! The prompts of the user's team, which a server has: a source that works without the server, and its store.
//!
//! | | |
//! |---|---|
//! | what is in the cache, and when the server is asked | `team/cache.rs` |
//! | a request and its answer | `team/server.rs` |

mod cache;
mod server;

pub(crate) use cache::Team;

use super::caller::Caller;
use super::history::Version;
use super::source::{About, Found, Handle, Info, Join, Layer, Listing, Place, ServiceRequest, Source, Store, Write};
use super::view::Library;
use crate::prompt::{
    Attachment, Call, Content, Diagnostic, FileName, Format, IncludeReader, IncludedFile, Kind, Message, Messages,
    Name, Piece, Prompt, Revision, Role, Summary, join_piped,
};
use crate::wording::quoted;
use cache::{Entry, Include, Text};
use serde::Deserialize;
use serde_json::{Value, json};
use server::{ANSWER_WITHIN, Trouble, member};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The source of the team's prompts, and their store.
#[derive(Debug, Clone)]
struct TeamLayer {
    about: About,
    team: Arc<Team>,
}

impl Library {
    /// Adds the prompts of the user's team.
    #[must_use]
    pub(crate) fn with_team(self, team: Arc<Team>) -> Library {
        self.with(TeamLayer { about: About::new(Layer::TEAM, Format::OWN, None), team })
    }
}

impl TeamLayer {
    fn found(&self, name: Name, entry: &Arc<Entry>, draft: Option<&str>) -> Found {
        let drafted = draft.map(|draft| Ok(Text { text: draft.to_owned(), ..Text::default() }));
        let (text, is_draft) = (drafted.map_or_else(OnceLock::new, OnceLock::from), draft.is_some());
        let (team, entry) = (Arc::clone(&self.team), Arc::clone(entry));
        Found::new(name.clone(), &self.about, Arc::new(TeamPrompt { team, name, entry, is_draft, text }))
    }

    /// A member of what the server answers of the versions of a prompt; `None` if there are none.
    fn history<T: for<'d> Deserialize<'d>>(&self, name: &Name, query: &str, of: &str) -> Result<Option<T>, Diagnostic> {
        let url = self.team.address("/api/history/", name) + query;
        match self.team.ask("GET", &url, None, None, ANSWER_WITHIN) {
            Err(Trouble::Error(404, ..)) => Ok(None),
            asked => member(asked?, of).map(Some),
        }
    }
}

impl Source for TeamLayer {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        self.team.list().prompts.get(&**name).map(|entry| self.found(name.clone(), entry, None))
    }

    fn list(&self) -> Listing {
        let list = self.team.list();
        let found = |entry: &Arc<Entry>| Some(self.found(Name::new(&entry.name).ok()?, entry, None));
        Listing { found: list.prompts.values().filter_map(found).collect(), ..Listing::default() }
    }

    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        Some(Ok(Arc::new(self.clone())))
    }
}

/// A prompt of the team, or a draft of one. The server is asked for its text once.
#[derive(Debug)]
struct TeamPrompt {
    team: Arc<Team>,
    name: Name,
    entry: Arc<Entry>,
    is_draft: bool,
    text: OnceLock<Result<Text, Diagnostic>>,
}

impl TeamPrompt {
    fn read(&self) -> Result<&Text, Diagnostic> {
        self.text.get_or_init(|| self.team.text(&self.name, self.team.patience())).as_ref().map_err(Clone::clone)
    }

    /// The body of the request with which the server expands it.
    fn call(&self, call: Call<'_>) -> Value {
        let command = &self.name;
        match call {
            Call::Text(text) => json!({ "command": command, "input": text }),
            Call::Piped { words, text: "", .. } => json!({ "command": command, "input": words }),
            Call::Piped { words, text, at } => json!({ "command": command, "input": join_piped(words, text, at) }),
            Call::Named { values, input: "", .. } => json!({ "command": command, "arguments": values }),
            Call::Named { values, input, .. } => json!({ "command": command, "arguments": values, "input": input }),
        }
    }
}

impl Handle for TeamPrompt {
    fn place(&self) -> Place {
        Place { shown: self.team.address("/prompts/", &self.name), file: None, is_editable: false }
    }

    fn info(&self) -> Info {
        let Entry { revision, size, ref summary, .. } = *self.entry;
        let description = summary.description.clone().filter(|text| !text.is_empty());
        Info { summary: Ok(Arc::new(Summary { description, ..summary.clone() })), revision, size, modified: None }
    }

    fn text(&self) -> Result<String, Diagnostic> {
        self.read().map(|text| text.text.clone())
    }

    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic> {
        if self.entry.is_remote() && !self.is_draft {
            let Summary { title, description, arguments, .. } = self.entry.summary.clone();
            return Ok(Arc::new(Prompt::of_service(self.name.clone(), title, description, arguments)));
        }
        let Text { text, includes, .. } = self.read()?;
        let mut reader = Includes { own: &self.name, texts: (!self.is_draft).then_some(includes) };
        let prompt = FileName::OWN.parse(&self.name, text.as_bytes(), Some(&mut reader));
        prompt.map(Arc::new).map_err(|why| why.in_file(self.place().path()))
    }

    fn expand(&self, prompt: &Prompt, call: Call<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        let is_here = prompt.attachments.iter().all(|attachment| matches!(attachment.is_address(), Ok(true)));
        if is_here && !prompt.is_remote() {
            let attachment = |path: &String| Attachment { name: path.clone(), content: Content::Address };
            let attachments = prompt.attachments.iter().map(|address| attachment(&address.path)).collect();
            return Ok(Messages { attachments, ..prompt.expand_with(call, join)? });
        }
        let within = if prompt.is_remote() { ANSWER_WITHIN } else { self.team.patience() };
        let url = self.team.address("/api/expand", "");
        let text: String = member(self.team.ask("POST", &url, None, Some(&self.call(call)), within)?, "prompt")?;
        // The text counts as a value, as that of a service does.
        let text = join(&mut [Piece::Value(&text)].into_iter());
        Ok(Messages { messages: vec![Message { role: Role::User, text }], attachments: Vec::new() })
    }

    fn request(&self, prompt: &Prompt, call: Call<'_>) -> Option<Result<ServiceRequest, Diagnostic>> {
        let (url, body) = (self.team.address("/api/expand", ""), Some(self.call(call).to_string()));
        let request = ServiceRequest { method: "POST".to_owned(), url, headers: BTreeMap::new(), body };
        prompt.is_remote().then_some(Ok(request))
    }
}

/// What a prompt of the team includes, as the server has sent it: never a file of this machine.
struct Includes<'t> {
    own: &'t Name,
    /// `None`: the server has not read the text yet, and will say which of them do not exist.
    texts: Option<&'t Vec<Include>>,
}

impl IncludeReader for Includes<'_> {
    fn own(&self) -> IncludedFile {
        let name = format!("{}.md", self.own);
        IncludedFile { path: (&name).into(), name }
    }

    fn read(&mut self, path: &str, from: &IncludedFile) -> Result<(IncludedFile, Vec<u8>), Diagnostic> {
        let name = if path.starts_with("builtin:") { path.to_owned() } else { below(&from.name, path) };
        let found = self.texts.map(|texts| texts.iter().find(|include| include.path == name));
        let text = found.map_or(Some(""), |found| found.map(|include| &*include.text)).ok_or_else(|| {
            let message = format!("{} cannot be included: the team's server did not send it", quoted(path));
            Diagnostic::new(Kind::Missing, message, "ask the team to correct the prompt")
        })?;
        Ok((IncludedFile { path: (&name).into(), name }, text.as_bytes().to_vec()))
    }
}

/// The path below the folder of prompts that `path` has in the file `from`.
fn below(from: &str, path: &str) -> String {
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    let whole = if path.starts_with('/') { path.to_owned() } else { format!("{folder}/{path}") };
    let mut steps = Vec::new();
    for step in whole.split('/') {
        match step {
            "" | "." => {}
            ".." => _ = steps.pop(),
            step => steps.push(step),
        }
    }
    steps.join("/") + if path.to_ascii_lowercase().ends_with(".md") { "" } else { ".md" }
}

impl Store for TeamLayer {
    fn draft(&self, name: &Name, text: &str, _: &Caller) -> Found {
        self.found(name.clone(), &Arc::default(), Some(text))
    }

    fn write(&self, write: &Write<'_>) -> Result<Revision, Diagnostic> {
        let Write { name, expected, text, by, is_restored, .. } = *write;
        let url = self.team.address("/api/prompts/", name);
        let (method, url) = match (text, expected) {
            (Some(_), _) if is_restored => ("POST", self.team.address("/api/restore", "")),
            (Some(_), None) => ("POST", url),
            (Some(_), Some(_)) => ("PUT", url),
            (None, _) => ("DELETE", url),
        };
        let revision = text.map(|text| Revision::of(text.as_bytes()));
        let body =
            json!({ "command": name, "file": text, "revision": revision, "expected": expected, "note": by.note });
        let answer =
            self.team.ask(method, &url, None, Some(&body), ANSWER_WITHIN).map_err(|trouble| match trouble {
                Trouble::Error(409, mut error, why) if error.get("current").is_some() => {
                    let current = serde_json::from_value(error["current"].take()).unwrap_or_default();
                    Diagnostic { kind: Kind::Conflict { current, diff: String::new() }, ..why }
                }
                Trouble::Error(409, _, why) => Diagnostic { kind: Kind::Exists, ..why },
                other => other.into(),
            })?;
        let revision = member(answer, "revision")?;
        _ = self.team.refresh(ANSWER_WITHIN); // if this fails, the next refresh brings the change
        Ok(revision)
    }

    fn history(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        Ok(self.history(name, "", "versions")?.unwrap_or_default())
    }

    fn version(&self, name: &Name, revision: Revision) -> Result<Option<String>, Diagnostic> {
        self.history(name, &format!("?revision={revision}"), "file")
    }

    fn folder(&self) -> &Path {
        Path::new("")
    }
}
