//! What a request is handled with: what all requests share, who asks, and what a handler gives.

use super::era::Era;
use super::failure::Failure;
use super::notifier::Notifier;
use crate::agents::{Agent, PartLimit};
use crate::library::{About, Caller, Editor, Library, Role, View};
use crate::prompt::Diagnostic;
use serde_json::value::RawValue;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

/// What all requests share.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) library: Arc<Library>,
    pub(super) notifier: Option<Notifier>,
    pub(super) page_size: NonZeroUsize,
    /// For all clients; `None`: that of the agent, if it is known.
    pub(super) result_limit: Option<PartLimit>,
    /// Whether the user of this machine may edit prompts.
    pub(super) may_edit: bool,
    pub(super) is_on_network: OnceLock<bool>,
}

impl Shared {
    /// Whether a caller may edit prompts. One with a token may, if its role is [`Role::Write`] or more.
    pub(super) fn may_edit(&self, caller: &Caller) -> bool {
        caller.role >= Role::Write && (self.may_edit || caller.token.is_some())
    }

    /// Listeners are told of every change from now on.
    pub(super) fn watch(&self) {
        if let Some(notifier) = &self.notifier {
            notifier.start();
        }
    }
}

/// What a request is handled with; a job keeps it.
#[derive(Debug, Clone)]
pub(super) struct Context {
    pub(super) shared: Arc<Shared>,
    pub(super) caller: Arc<Caller>,
    /// The agent that asks, if it is a known one.
    pub(super) agent: Option<&'static Agent>,
    pub(super) era: Era,
    /// The protocol version; `None` if it is the newest.
    pub(super) version: Option<&'static str>,
    /// Whether the client may cache what it gets until it is notified of a change.
    pub(super) is_notified: bool,
}

impl Context {
    /// The library at this moment, as the caller sees it.
    pub(super) fn view(&self) -> View {
        self.shared.library.view_for(&self.caller).for_editing(self.may_edit())
    }

    pub(super) fn may_edit(&self) -> bool {
        self.shared.may_edit(&self.caller)
    }

    /// What is needed for a caller to edit prompts, who may not.
    pub(super) fn how_to_edit(&self) -> String {
        match self.caller.token {
            None if self.caller.role < Role::Write => {
                "send the token that the server made; its standard error says where it is".to_owned()
            }
            None => "start the server with --edit".to_owned(),
            Some(_) => {
                let role = self.caller.role.as_str();
                format!("to edit prompts, a token needs the role `write`, and yours has `{role}`")
            }
        }
    }

    /// The longest result that the client gets in one part; `None` if it gets all of it.
    pub(super) fn part_limit(&self) -> Option<PartLimit> {
        self.shared.result_limit.or_else(|| self.agent?.part)
    }

    pub(super) fn editor(&self) -> Result<Editor<'_>, Diagnostic> {
        self.shared.library.editor(&self.caller)
    }

    /// Who writes, and why.
    pub(super) fn about(&self, note: Option<String>) -> Result<About, Diagnostic> {
        let of_token = self.caller.token.as_ref().map(|token| Arc::clone(&token.name));
        About::new(of_token.or_else(|| Some(self.agent?.name.into())), note)
    }
}

/// How long a request may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// It reads nothing.
    Memory,
    /// It opens a few files at most.
    Files,
    /// It scans folders.
    Folders,
    /// It may wait several seconds for another process that writes to the folder of prompts.
    Write,
    /// It may wait several seconds for the service that renders a prompt.
    Service,
}

/// What a handler gives.
pub(super) enum Answer {
    Now(Box<RawValue>),
    /// What waits for a service.
    Later(Waiting),
}

/// The call of a service.
pub(super) type Waiting = Box<dyn FnOnce() -> Result<Box<RawValue>, Failure> + Send>;
