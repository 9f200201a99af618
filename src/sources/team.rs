//! The prompts of the user's team, which are stored on a server. They are cached, so that they can
//! be used while the server is unreachable.
//!
//! | file | contents |
//! |---|---|
//! | `team/prompt_cache.rs` | the team's server, its cached prompts, and when the server is asked |
//! | `team/background_refresh.rs` | the thread in which a server process keeps the cache up to date |
//! | `team/server_state.rs` | what is known about the server |
//! | `team/cache_folder.rs` | the cached files |
//! | `team/prompt_list.rs` | the list of the team's prompts |
//! | `team/api_client.rs` | requests to the server's API, and its replies |

mod api_client;
mod background_refresh;
mod cache_folder;
mod prompt_cache;
mod prompt_list;
mod server_state;

use crate::library::{
    About, BoundCall, Caller, Folder, Found, Handle, Info, Join, Layer, Library, Listing, Location,
    MemoryFiles, PromptFile, ServiceRequest, Source, Store, Version, WriteAction, WriteRequest,
    conflict_error,
};
use crate::prompt::{
    Call, Diagnostic, FileSuffix, Format, Kind, Message, Messages, Name, Piece, Prompt, Revision,
    Role, join_shell_input,
};
use api_client::{API_TIMEOUT, NO_ETAG};
pub(crate) use prompt_cache::{Team, TeamMember};
use prompt_list::TeamListEntry;
use serde::de::DeserializeOwned;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The source and the store of the team's prompts.
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
    /// Returns the prompt that `listed` describes.
    fn found(&self, name: Name, listed: &Arc<TeamListEntry>) -> Found {
        let prompt = TeamPrompt {
            team: Arc::clone(&self.team),
            name: name.clone(),
            listed: Arc::clone(listed),
            file: OnceLock::new(),
        };
        Found::new(name, &self.about, prompt)
    }

    /// Renames a prompt. The API has no request for that, so a prompt with the new name is created,
    /// and then the old one is deleted.
    ///
    /// # Errors
    /// Fails if the prompt's revision isn't the expected one, or if the server rejects either step.
    fn rename(&self, write: &WriteRequest<'_>, new_name: &Name) -> Result<Revision, Diagnostic> {
        let text = self.team.text(write.name, API_TIMEOUT)?.text;
        let current = Revision::of_contents(text.as_bytes());
        if write.expected != Some(current) {
            _ = self.team.refresh_list(API_TIMEOUT); // so that another attempt sees the new text
            return Err(conflict_error(write.name, Some(current)));
        }
        let new_revision = self.write(&WriteRequest {
            name: new_name,
            expected: None,
            action: WriteAction::SetText(&text),
            ..*write
        })?;
        let deletion = self.write(&WriteRequest {
            action: WriteAction::Delete,
            ..*write
        });
        // If the server rejected the deletion, undo the creation. But if it sent no answer, it may
        // have deleted the old prompt, so the new one must be kept.
        let is_rejected = deletion
            .as_ref()
            .is_err_and(|error| error.kind != Kind::Service);
        if is_rejected {
            _ = self.write(&WriteRequest {
                name: new_name,
                expected: Some(new_revision),
                action: WriteAction::Delete,
                ..*write
            });
        }
        deletion
    }

    /// Asks the server to write or delete a prompt. Returns the new revision or, for a deletion,
    /// the revision of the deleted text.
    fn send_write(
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
        let reply = self.team.send(&request, API_TIMEOUT)?;
        let revision = reply.member("revision")?;
        _ = self.team.refresh_list(API_TIMEOUT); // if this fails, a later refresh makes up for it
        Ok(revision)
    }

    /// Returns the URL of the history of a prompt.
    fn history_url(&self, name: &Name) -> String {
        self.team.server.prompt_url("/api/history/", name)
    }

    /// Requests the history of a prompt at `url`. Returns one member of the reply, or `None` if
    /// there is no such prompt or revision.
    fn get_history<T: DeserializeOwned>(
        &self,
        url: String,
        member: &str,
    ) -> Result<Option<T>, Diagnostic> {
        match self.team.get(url, NO_ETAG, API_TIMEOUT) {
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

    /// Finds a prompt in the cached list, without asking the server.
    fn find(&self, name: &Name) -> Option<Found> {
        let list = self.team.list();
        let listed = list.prompts.get(&**name)?;
        Some(self.found(name.clone(), listed))
    }

    fn refresh_for(&self, name: &str) -> bool {
        self.team.refresh_for_name(name)
    }

    /// Lists the prompts in the cached list. Skips names that are not valid here.
    fn list(&self) -> Listing {
        let mut listing = Listing::default();
        for listed in self.team.list().prompts.values() {
            if let Ok(name) = Name::new(&listed.name) {
                listing.found.push(self.found(name, listed));
            }
        }
        listing
    }

    /// Returns the server as a store. An unreachable server is reported only by the write itself.
    fn store(&self) -> Option<Result<Arc<dyn Store>, Diagnostic>> {
        Some(Ok(Arc::new(self.clone())))
    }
}

/// A prompt of the team.
#[derive(Debug)]
struct TeamPrompt {
    team: Arc<Team>,
    name: Name,
    /// Its entry in the list of prompts.
    listed: Arc<TeamListEntry>,
    /// Its file, fetched at the first use.
    file: OnceLock<Result<Found, Diagnostic>>,
}

impl TeamPrompt {
    /// Returns the file of the prompt, fetching it on the first call. Later calls return the same
    /// result, even if it is an error, so that a message waits for the server only once.
    fn file(&self) -> Result<&Found, Diagnostic> {
        let file = self.file.get_or_init(|| self.fetch_file());
        file.as_ref().map_err(Clone::clone)
    }

    /// Fetches the prompt's file and the files that it includes, and puts them into an in-memory
    /// folder, so that the prompt can be expanded like a local one.
    fn fetch_file(&self) -> Result<Found, Diagnostic> {
        let text = self.team.text(&self.name, self.team.remaining_wait())?;
        let own_path = format!("{}.md", self.name);
        let mut files = BTreeMap::new();
        for included in text.includes {
            files.insert(included.path.into(), included.text.into());
        }
        files.insert(own_path.as_str().into(), text.text.into());
        let folder_url = self.team.server.url("/prompts");
        let folder = Folder::in_memory(folder_url.into(), Arc::new(MemoryFiles::read_only(files)));
        let file = PromptFile {
            path: folder.files.root.path.join(own_path).into(),
            kind: FileSuffix::OWN,
            may_be_linked: false,
        };
        Ok(folder.files.handle_for(self.name.clone(), file))
    }

    /// Returns the API request for expanding the prompt on the server.
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
        let url = self.team.server.url("/api/expand");
        api_client::request("POST", url, &body)
    }
}

/// Returns whether a prompt attaches files, and not only URLs, which the model opens itself.
fn attaches_files(prompt: &Prompt) -> bool {
    let mut attachments = prompt.attachments.iter();
    attachments.any(|attachment| !matches!(attachment.is_url(), Ok(true)))
}

impl Handle for TeamPrompt {
    fn location(&self) -> Location {
        Location {
            display: self.team.server.prompt_url("/prompts/", &self.name),
            file: None,
            is_editable: false,
        }
    }

    /// Returns what the server's list says about the prompt, without fetching its file.
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

    /// Parses the prompt's file. If only the server can expand the prompt, there is no file, so the
    /// prompt is made from its entry in the list.
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

    /// Expands the prompt locally, unless a service renders it, or it attaches files, which only
    /// the server has. Then the server expands it into a single message.
    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        let timeout = if bound.prompt.is_rendered_by_service() {
            API_TIMEOUT
        } else if attaches_files(bound.prompt) {
            self.team.remaining_wait()
        } else {
            return self.file()?.messages(bound, join);
        };
        let request = self.expand_request(bound.call);
        let expansion: String = self.team.send(&request, timeout)?.member("prompt")?;
        // The whole expansion counts as a value, like that of a service.
        let text = join(&mut [Piece::Value(&expansion)].into_iter());
        let message = Message {
            role: Role::User,
            text,
        };
        Ok(Messages {
            messages: vec![message],
            attachments: Vec::new(),
        })
    }

    /// Returns the request that would ask the server to expand the prompt, or `None` if the server
    /// isn't needed for that.
    fn request(&self, bound: &BoundCall<'_>) -> Option<Result<ServiceRequest, Diagnostic>> {
        if bound.prompt.is_rendered_by_service() {
            Some(Ok(self.expand_request(bound.call)))
        } else {
            None
        }
    }
}

impl Store for TeamLayer {
    /// Returns an empty prompt, which has no errors. The server checks the text when it is written.
    fn draft(&self, name: &Name, _text: &str, _caller: &Caller) -> Found {
        self.found(name.clone(), &Arc::default())
    }

    /// Sends the change to the server, and returns the revision that the server replies with.
    fn write(&self, write: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        let server = &self.team.server;
        let prompt_url = server.prompt_url("/api/prompts/", write.name);
        match write.action {
            WriteAction::SetText(_) if write.expected.is_some() => {
                self.send_write("PUT", prompt_url, write)
            }
            WriteAction::SetText(_) => self.send_write("POST", prompt_url, write),
            WriteAction::Restore(_) => self.send_write("POST", server.url("/api/restore"), write),
            WriteAction::Delete => self.send_write("DELETE", prompt_url, write),
            WriteAction::Rename(new_name) => self.rename(write, new_name),
            // The server stores no test files, so there is nothing to delete.
            WriteAction::DeleteTests(_) => Ok(write.expected.unwrap_or_default()),
        }
    }

    fn history(&self, name: &Name) -> Result<Vec<Version>, Diagnostic> {
        let versions = self.get_history(self.history_url(name), "versions")?;
        Ok(versions.unwrap_or_default())
    }

    fn version(&self, name: &Name, revision: Revision) -> Result<Option<String>, Diagnostic> {
        let url = format!("{}?revision={revision}", self.history_url(name));
        self.get_history(url, "file")
    }

    /// Returns an empty path, because the prompts are on the server and not in a local folder.
    fn folder(&self) -> &Path {
        Path::new("")
    }
}
