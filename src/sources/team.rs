//! The prompts of the user's team, which a server has: a source that works without the server, and
//! its store.
//!
//! | | |
//! |---|---|
//! | what is in the cache, and when the server is asked | `team/cache.rs` |
//! | the list of the prompts | `team/list.rs` |
//! | a request and its reply | `team/server.rs` |

mod api_client;
mod prompt_cache;
mod prompt_list;

use crate::library::{
    About, BoundCall, Caller, Folder, Found, Handle, Info, Join, Layer, Library, Listing, Location,
    MemoryFiles, PromptFile, ServiceRequest, Source, Store, Version, WriteAction, WriteRequest,
    conflict_error,
};
use crate::prompt::{
    Call, Diagnostic, FileSuffix, Format, Kind, Message, Messages, Name, Piece, Prompt, Revision,
    Role, join_shell_input,
};
use api_client::ANSWER_WITHIN;
pub(crate) use prompt_cache::Team;
use prompt_list::KnownTeamPrompt;
use serde::de::DeserializeOwned;
use serde_json::json;
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
        self.with(TeamLayer {
            about: About::new(Layer::TEAM, Format::OWN, None),
            team,
        })
    }
}

impl TeamLayer {
    /// Returns the prompt of this name with its entry in the list.
    fn found(&self, name: Name, listed: &Arc<KnownTeamPrompt>) -> Found {
        let prompt = TeamPrompt {
            team: Arc::clone(&self.team),
            name: name.clone(),
            listed: Arc::clone(listed),
            file: OnceLock::new(),
        };
        Found::new(name, &self.about, prompt)
    }

    /// Renames a prompt whose text is still the expected one: creates a prompt with the new name,
    /// and then deletes the old one.
    fn rename(&self, write: &WriteRequest<'_>, new_name: &Name) -> Result<Revision, Diagnostic> {
        let text = self.team.text(write.name, ANSWER_WITHIN)?.text;
        let current = Revision::of_contents(text.as_bytes());
        if write.expected != Some(current) {
            _ = self.team.refresh(ANSWER_WITHIN); // so that the next try knows the new text
            return Err(conflict_error(write.name, Some(current)));
        }
        let created = self.write(&WriteRequest {
            name: new_name,
            expected: None,
            action: WriteAction::SetText(&text),
            ..*write
        })?;
        let deleted = self.write(&WriteRequest {
            action: WriteAction::Delete,
            ..*write
        });
        // Without an answer, the old prompt may have been deleted: then the new one must stay.
        let is_refused = deleted
            .as_ref()
            .is_err_and(|error| error.kind != Kind::Service);
        if is_refused {
            _ = self.write(&WriteRequest {
                name: new_name,
                expected: Some(created),
                action: WriteAction::Delete,
                ..*write
            });
        }
        deleted
    }

    /// Asks the server to write or delete a prompt, and returns the new revision.
    fn change(
        &self,
        method: &str,
        url: String,
        write: &WriteRequest<'_>,
    ) -> Result<Revision, Diagnostic> {
        let text = write.action.text();
        let body = json!({
            "command": write.name,
            "file": text,
            "revision": text.map(|text| Revision::of_contents(text.as_bytes())),
            "expected": write.expected,
            "note": write.by.note,
        });
        let request = api_client::request(method, url, &body);
        let revision = self.team.ask(&request, ANSWER_WITHIN)?.member("revision")?;
        _ = self.team.refresh(ANSWER_WITHIN); // if this fails, the next refresh brings the change
        Ok(revision)
    }

    /// Asks the server for the versions of a prompt, and returns one member of the reply; `None` if
    /// there is no such prompt.
    fn history_member<T: DeserializeOwned>(
        &self,
        name: &Name,
        query: &str,
        member: &str,
    ) -> Result<Option<T>, Diagnostic> {
        let url = self.team.server.address("/api/history/", name) + query;
        match self.team.get(url, "", ANSWER_WITHIN) {
            Ok(reply) => reply.member(member).map(Some),
            Err(error) if matches!(error.kind, Kind::NoSuchPrompt { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Source for TeamLayer {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        let list = self.team.list();
        let listed = list.prompts.get(&**name)?;
        Some(self.found(name.clone(), listed))
    }

    fn list(&self) -> Listing {
        let mut listing = Listing::default();
        for listed in self.team.list().prompts.values() {
            if let Ok(name) = Name::new(&listed.name) {
                listing.found.push(self.found(name, listed));
            }
        }
        listing
    }

    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        Some(Ok(Arc::new(self.clone())))
    }
}

/// A prompt of the team.
#[derive(Debug)]
struct TeamPrompt {
    team: Arc<Team>,
    name: Name,
    listed: Arc<KnownTeamPrompt>,
    /// Its file, once it was asked for.
    file: OnceLock<Result<Found, Diagnostic>>,
}

impl TeamPrompt {
    /// Returns the file of the prompt. The server is asked once.
    fn file(&self) -> Result<&Found, Diagnostic> {
        let file = self.file.get_or_init(|| self.read_file());
        file.as_ref().map_err(Clone::clone)
    }

    /// Returns the prompt as a file in a folder in memory that has only that file and the files
    /// that it includes, so that it is expanded like a local one.
    fn read_file(&self) -> Result<Found, Diagnostic> {
        let text = self.team.text(&self.name, self.team.remaining_wait())?;
        let own_path = format!("{}.md", self.name);
        let mut files = BTreeMap::new();
        for included in text.includes {
            files.insert(included.path.into(), included.text.into());
        }
        files.insert(own_path.as_str().into(), text.text.into());
        let address = self.team.server.address("/prompts", "");
        let folder = Folder::in_memory(address.into(), Arc::new(MemoryFiles::read_only(files)));
        let file = PromptFile {
            path: folder.files.root.path.join(own_path).into(),
            kind: FileSuffix::OWN,
            is_linked: false,
        };
        Ok(folder.files.handle_for(self.name.clone(), file))
    }

    /// Returns the request that asks the server to expand the prompt.
    fn expand_request(&self, call: Call<'_>) -> ServiceRequest {
        let command = &self.name;
        let body = match call {
            Call::Text(text) => json!({ "command": command, "input": text }),
            Call::Shell {
                words, piped: "", ..
            } => json!({ "command": command, "input": words }),
            Call::Shell {
                words,
                piped,
                pipe_index,
            } => {
                json!({ "command": command, "input": join_shell_input(words, piped, pipe_index) })
            }
            Call::Named {
                values, input: "", ..
            } => json!({ "command": command, "arguments": values }),
            Call::Named { values, input, .. } => {
                json!({ "command": command, "arguments": values, "input": input })
            }
        };
        let url = self.team.server.address("/api/expand", "");
        api_client::request("POST", url, &body)
    }
}

/// Returns whether a prompt attaches files, which only the server has. Addresses are for the model
/// to open.
fn attaches_files(prompt: &Prompt) -> bool {
    let mut attachments = prompt.attachments.iter();
    attachments.any(|path| !matches!(path.is_url(), Ok(true)))
}

impl Handle for TeamPrompt {
    fn location(&self) -> Location {
        Location {
            display: self.team.server.address("/prompts/", &self.name),
            file: None,
            is_editable: false,
        }
    }

    /// Returns what lists show of the prompt, from its entry in the list of the server.
    fn info(&self) -> Info {
        let summary = match &self.listed.problem {
            Some(problem) => {
                let error = Diagnostic::error(problem.position, &problem.message, &problem.repair);
                Err(Box::new(error.in_file(self.location().path())))
            }
            None => Ok(Arc::new(self.listed.summary.clone())),
        };
        Info {
            summary,
            revision: self.listed.revision,
            size: self.listed.size,
            modified: None,
        }
    }

    fn text(&self) -> Result<String, Diagnostic> {
        self.file()?.text()
    }

    /// Returns the prompt. If only the server can expand it, it is made from the entry in the list,
    /// else from its file.
    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic> {
        if !self.listed.needs_server() {
            return self.file()?.prompt();
        }
        let summary = self.listed.summary.clone();
        let prompt = Prompt::for_service(
            self.name.clone(),
            summary.title,
            summary.description,
            summary.arguments,
        );
        Ok(Arc::new(prompt))
    }

    /// Expands the prompt from its file. If a service renders the prompt, or if it attaches files,
    /// which only the server has, the server expands it; then its text is the only message.
    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        let within = if bound.prompt.is_rendered_by_service() {
            ANSWER_WITHIN
        } else if attaches_files(bound.prompt) {
            self.team.remaining_wait()
        } else {
            return self.file()?.messages(bound, join);
        };
        let request = self.expand_request(bound.call);
        let text: String = self.team.ask(&request, within)?.member("prompt")?;
        // The text counts as a value, as that of a service does.
        let text = join(&mut [Piece::Value(&text)].into_iter());
        let message = Message {
            role: Role::User,
            text,
        };
        Ok(Messages {
            messages: vec![message],
            attachments: Vec::new(),
        })
    }

    fn request(&self, bound: &BoundCall<'_>) -> Option<Result<ServiceRequest, Diagnostic>> {
        if bound.prompt.is_rendered_by_service() {
            Some(Ok(self.expand_request(bound.call)))
        } else {
            None
        }
    }
}

impl Store for TeamLayer {
    /// Returns the prompt with this name. The text is not used, as only the server checks it.
    fn draft(&self, name: &Name, _: &str, _: &Caller) -> Found {
        self.found(name.clone(), &Arc::default())
    }

    /// Asks the server to carry out a write, and returns the revision that the prompt has then.
    fn write(&self, write: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        let server = &self.team.server;
        let url = server.address("/api/prompts/", write.name);
        match write.action {
            WriteAction::SetText(_) if write.expected.is_some() => self.change("PUT", url, write),
            WriteAction::SetText(_) => self.change("POST", url, write),
            WriteAction::Restore(_) => {
                self.change("POST", server.address("/api/restore", ""), write)
            }
            WriteAction::Delete => self.change("DELETE", url, write),
            WriteAction::Rename(new_name) => self.rename(write, new_name),
            // The team has no test files.
            WriteAction::DeleteTests(_) => Ok(write.expected.unwrap_or_default()),
        }
    }

    fn history(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        Ok(self
            .history_member(name, "", "versions")?
            .unwrap_or_default())
    }

    fn version(&self, name: &Name, revision: Revision) -> Result<Option<String>, Diagnostic> {
        self.history_member(name, &format!("?revision={revision}"), "file")
    }

    fn folder(&self) -> &Path {
        Path::new("")
    }
}
