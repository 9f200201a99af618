//! The prompts of the user's team, which a server has: a source that works without the server, and
//! its store.
//!
//! | | |
//! |---|---|
//! | what is in the cache, and when the server is asked | `team/cache.rs` |
//! | a request and its answer | `team/server.rs` |

mod cache;
mod server;

use crate::library::{
    About, BoundCall, Caller, Folder, Found, Handle, Info, Join, Layer, Library, Listing, Place,
    PromptFile, Row, Rows, ServiceRequest, Source, Store, Version, WriteAction, WriteRequest,
    conflict,
};
use crate::prompt::{
    AttachmentPath, Call, Diagnostic, FileName, Format, Kind, Message, Messages, Name, Piece,
    Prompt, Revision, Role, Summary, join_piped,
};
pub(crate) use cache::Team;
use cache::{Entry, Problem, Text};
use serde::de::DeserializeOwned;
use serde_json::json;
use server::ANSWER_WITHIN;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

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
    fn found(&self, name: Name, entry: &Arc<Entry>) -> Found {
        let (team, entry, file) = (Arc::clone(&self.team), Arc::clone(entry), OnceLock::new());
        Found::new(
            name.clone(),
            &self.about,
            TeamPrompt {
                team,
                name,
                entry,
                file,
            },
        )
    }

    /// Renames a prompt that still is as expected. For the server, this is a new prompt, and the
    /// deletion of the old one.
    fn rename(&self, write: &WriteRequest<'_>, to: &Name) -> Result<Revision, Diagnostic> {
        let text = self.team.text(write.name, ANSWER_WITHIN)?.text;
        let current = Revision::of(text.as_bytes());
        if write.expected != Some(current) {
            _ = self.team.refresh(ANSWER_WITHIN); // so that the next try knows the new text
            return Err(conflict(write.name, Some(current)));
        }
        let created = self.write(&WriteRequest {
            name: to,
            expected: None,
            action: WriteAction::SetText(&text),
            ..*write
        })?;
        let deleted = self.write(&WriteRequest {
            action: WriteAction::Delete,
            ..*write
        });
        // Without an answer, it may have been deleted: then the new one is all that is left.
        let is_refused = matches!(&deleted, Err(why) if why.kind != Kind::Service);
        if is_refused {
            _ = self.write(&WriteRequest {
                name: to,
                expected: Some(created),
                action: WriteAction::Delete,
                ..*write
            });
        }
        deleted
    }

    /// A member of what the server answers of the versions of a prompt; `None` if there are none.
    fn history<T: DeserializeOwned>(
        &self,
        name: &Name,
        query: &str,
        member: &str,
    ) -> Result<Option<T>, Diagnostic> {
        let url = self.team.server.address("/api/history/", name) + query;
        match self.team.get(url, "", ANSWER_WITHIN) {
            Err(why) if matches!(why.kind, Kind::NoSuchPrompt { .. }) => Ok(None),
            asked => asked?.member(member).map(Some),
        }
    }
}

impl Source for TeamLayer {
    fn about(&self) -> &About {
        &self.about
    }

    fn find(&self, name: &Name) -> Option<Found> {
        self.team
            .list()
            .prompts
            .get(&**name)
            .map(|entry| self.found(name.clone(), entry))
    }

    fn list(&self) -> Listing {
        let list = self.team.list();
        let found = |entry: &Arc<Entry>| Some(self.found(Name::new(&entry.name).ok()?, entry));
        Listing {
            found: list.prompts.values().filter_map(found).collect(),
            ..Listing::default()
        }
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
    entry: Arc<Entry>,
    file: OnceLock<Result<Found, Diagnostic>>,
}

impl TeamPrompt {
    /// Its file, in a folder in memory that has nothing but the files that it includes. The server
    /// is asked once.
    fn file(&self) -> Result<&Found, Diagnostic> {
        let read = || {
            let Text { text, includes, .. } = self.team.text(&self.name, self.team.patience())?;
            let folder = self.team.server.address("/prompts", "").into();
            let row = |text: String| Row {
                text: text.into(),
                number: 1,
                at: SystemTime::UNIX_EPOCH,
                summary: None,
            };
            let (own, rows) = (format!("{}.md", self.name), Arc::new(Rows::default()));
            let included = includes
                .into_iter()
                .map(|include| (include.path.into(), row(include.text)));
            rows.replace(
                included.chain([(own.as_str().into(), row(text))]).collect(),
                1,
            );
            let Folder { files, .. } = Folder::in_memory(folder, rows);
            let path = files.root.path.join(own).into();
            Ok(files.found(
                self.name.clone(),
                PromptFile {
                    path,
                    kind: FileName::OWN,
                    is_linked: false,
                },
            ))
        };
        self.file.get_or_init(read).as_ref().map_err(Clone::clone)
    }

    /// The request by which the server expands it.
    fn request(&self, call: Call<'_>) -> ServiceRequest {
        let command = &self.name;
        let body = match call {
            Call::Text(text) => json!({ "command": command, "input": text }),
            Call::Piped {
                words, text: "", ..
            } => json!({ "command": command, "input": words }),
            Call::Piped { words, text, at } => {
                json!({ "command": command, "input": join_piped(words, text, at) })
            }
            Call::Named {
                values, input: "", ..
            } => json!({ "command": command, "arguments": values }),
            Call::Named { values, input, .. } => {
                json!({ "command": command, "arguments": values, "input": input })
            }
        };
        server::request("POST", self.team.server.address("/api/expand", ""), &body)
    }
}

impl Handle for TeamPrompt {
    fn place(&self) -> Place {
        Place {
            shown: self.team.server.address("/prompts/", &self.name),
            file: None,
            is_editable: false,
        }
    }

    fn info(&self) -> Info {
        let Entry {
            revision,
            size,
            ref summary,
            ref problem,
            ..
        } = *self.entry;
        let summary = match problem {
            Some(Problem {
                message,
                repair,
                position,
            }) => Err(Box::new(
                Diagnostic::error(*position, message, repair).in_file(self.place().path()),
            )),
            None => Ok(Arc::new(summary.clone())),
        };
        Info {
            summary,
            revision,
            size,
            modified: None,
        }
    }

    fn text(&self) -> Result<String, Diagnostic> {
        self.file()?.text()
    }

    fn prompt(&self) -> Result<Arc<Prompt>, Diagnostic> {
        if !self.entry.is_remote() {
            return self.file()?.prompt();
        }
        let Summary {
            title,
            description,
            arguments,
            ..
        } = self.entry.summary.clone();
        Ok(Arc::new(Prompt::of_service(
            self.name.clone(),
            title,
            description,
            arguments,
        )))
    }

    fn messages(&self, bound: &BoundCall<'_>, join: Join<'_>) -> Result<Messages, Diagnostic> {
        let prompt = bound.prompt;
        let is_here = |path: &AttachmentPath| matches!(path.is_address(), Ok(true));
        if !prompt.is_rendered_by_service() && prompt.attachments.iter().all(is_here) {
            return self.file()?.messages(bound, join);
        }
        let within = if prompt.is_rendered_by_service() {
            ANSWER_WITHIN
        } else {
            self.team.patience()
        };
        let text: String = self
            .team
            .ask(&self.request(bound.call), within)?
            .member("prompt")?;
        // The text counts as a value, as that of a service does.
        let text = join(&mut [Piece::Value(&text)].into_iter());
        Ok(Messages {
            messages: vec![Message {
                role: Role::User,
                text,
            }],
            attachments: Vec::new(),
        })
    }

    fn request(&self, bound: &BoundCall<'_>) -> Option<Result<ServiceRequest, Diagnostic>> {
        bound
            .prompt
            .is_rendered_by_service()
            .then(|| Ok(self.request(bound.call)))
    }
}

impl Store for TeamLayer {
    /// The server checks it.
    fn draft(&self, name: &Name, _: &str, _: &Caller) -> Found {
        self.found(name.clone(), &Arc::default())
    }

    fn write(&self, write: &WriteRequest<'_>) -> Result<Revision, Diagnostic> {
        let WriteRequest {
            name,
            expected,
            action,
            by,
            ..
        } = *write;
        match action {
            WriteAction::SetText(_) | WriteAction::Restore(_) | WriteAction::Delete => {}
            WriteAction::Rename(to) => return self.rename(write, to),
            WriteAction::DeleteTests(_) => return Ok(expected.unwrap_or_default()), // there are none
        }
        let text = action.text();
        let (path, of) = if action.is_restore() {
            ("/api/restore", "")
        } else {
            ("/api/prompts/", &**name)
        };
        let method = match (text, expected) {
            (None, _) => "DELETE",
            (Some(_), Some(_)) if !action.is_restore() => "PUT",
            _ => "POST",
        };
        let revision = text.map(|text| Revision::of(text.as_bytes()));
        let body = json!({ "command": name, "file": text, "revision": revision, "expected": expected, "note": by.note });
        let request = server::request(method, self.team.server.address(path, of), &body);
        let revision = self.team.ask(&request, ANSWER_WITHIN)?.member("revision")?;
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
