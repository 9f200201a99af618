//! What a request is handled with: the settings of the server, what all requests share, and who
//! asks.

use super::era::Era;
use super::notifier::Notifier;
use super::reply::LongestWait;
use crate::agents::{Agent, MenuTemplate, PartLimit, Unit};
use crate::library::{Authorship, Caller, Editor, HOW_TO_ALLOW_EDITS, Library, Role, View};
use crate::prompt::Diagnostic;
use crate::wording::printable_json;
use serde::Serialize;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

/// How many entries a page of a list has. Large, because many clients read only the first page.
pub const PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(500).unwrap();

/// How a server behaves.
#[derive(Debug)]
pub struct Settings {
    /// Whether the user of this machine may edit prompts. A caller with a token may in any case, if
    /// its role is [`Role::Write`] or more.
    pub may_edit: bool,
    /// How many prompts, or resources, one page of a list has.
    pub page_size: NonZeroUsize,
    /// How many characters one part of a result of `expand_prompt` has at most, for all clients;
    /// `None`: what the agent shows its model, if it is a known one.
    pub max_part_chars: Option<usize>,
    /// Receives, once, the reason why notifications of changes are delayed; `None`: there are no
    /// notifications.
    pub on_notifier_warning: Option<fn(&str)>,
    /// A request that may wait for this, or for longer, is replied to by a
    /// [`Job`](super::Job).
    pub wait_threshold: LongestWait,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            may_edit: false,
            page_size: PAGE_SIZE,
            max_part_chars: None,
            on_notifier_warning: None,
            wait_threshold: LongestWait::Write,
        }
    }
}

/// What all requests share.
pub(super) struct Shared {
    pub(super) library: Arc<Library>,
    pub(super) notifier: Option<Notifier>,
    pub(super) settings: Settings,
    /// Whether a folder of the library is on a network file system, once that was needed.
    is_on_network: OnceLock<bool>,
}

impl Shared {
    pub(super) fn new(library: Arc<Library>, settings: Settings) -> Shared {
        let notifier = settings
            .on_notifier_warning
            .map(|warn| Notifier::new(Arc::clone(&library), warn));
        Shared {
            library,
            notifier,
            settings,
            is_on_network: OnceLock::new(),
        }
    }

    /// Returns whether a caller may edit prompts. A caller with a token needs the role
    /// [`Role::Write`], any other also a server that lets its user edit.
    pub(super) fn may_edit(&self, caller: &Caller) -> bool {
        caller.role >= Role::Write && (self.settings.may_edit || caller.token.is_some())
    }

    /// Returns the library at this moment, as a caller sees it.
    pub(super) fn view(&self, caller: &Caller) -> View {
        let may_edit = self.may_edit(caller);
        self.library.view_for(caller).for_editing(may_edit)
    }

    /// Notifies listeners of every change from now on.
    pub(super) fn watch(&self) {
        if let Some(notifier) = &self.notifier {
            notifier.start();
        }
    }

    /// Returns whether the reply to a request must be a job, because the request may wait too long.
    /// On a network file system, every file may take long.
    pub(super) fn needs_job(&self, longest_wait: LongestWait) -> bool {
        longest_wait >= self.settings.wait_threshold
            || (longest_wait >= LongestWait::Files && self.is_on_network())
    }

    fn is_on_network(&self) -> bool {
        *self
            .is_on_network
            .get_or_init(|| self.library.is_on_network())
    }
}

/// What a request is handled with; a job keeps it.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) shared: Arc<Shared>,
    pub(super) caller: Arc<Caller>,
    /// The agent that asks, if it is a known one.
    pub(super) agent: Option<&'static Agent>,
    pub(super) era: Era,
    /// The protocol version; `None` if it is the newest.
    pub(super) version: Option<&'static str>,
    /// Whether the client may cache what it gets until it is notified of a change.
    pub(super) relies_on_notifications: bool,
}

impl Context {
    /// Returns the library at this moment, as the caller sees it.
    pub(super) fn view(&self) -> View {
        self.shared.view(&self.caller)
    }

    pub(super) fn may_edit(&self) -> bool {
        self.shared.may_edit(&self.caller)
    }

    /// Returns what a caller who may not edit prompts can do to get the right to.
    pub(super) fn how_to_edit(&self) -> String {
        match self.caller.token {
            None if self.caller.role < Role::Write => {
                "send the token that the server made; its standard error says where it is"
                    .to_owned()
            }
            None => HOW_TO_ALLOW_EDITS.to_owned(),
            Some(_) => {
                let role = self.caller.role.as_str();
                format!("to edit prompts, a token needs the role `write`, and yours has `{role}`")
            }
        }
    }

    /// Returns the longest result that the client gets in one part; `None` if every result is in
    /// one part.
    pub(super) fn part_limit(&self) -> Option<PartLimit> {
        match self.shared.settings.max_part_chars {
            Some(max) => Some(PartLimit {
                max,
                unit: Unit::Characters,
                is_printed: false,
            }),
            None => self.agent?.part_limit,
        }
    }

    /// How the agent treats prompts from its menu as templates, if it does.
    pub(super) fn menu_template(&self) -> Option<&'static MenuTemplate> {
        self.agent?.menu_template.as_ref()
    }

    pub(super) fn editor(&self) -> Result<Editor<'_>, Diagnostic> {
        self.shared.library.editor(&self.caller)
    }

    /// Returns who writes, and why: the name of the caller's token, else that of the agent.
    pub(super) fn authorship(&self, note: Option<String>) -> Result<Authorship, Diagnostic> {
        let name = match &self.caller.token {
            Some(token) => Some(Arc::clone(&token.name)),
            None => self.agent.map(|agent| agent.name.into()),
        };
        Authorship::new(name, note)
    }
}

/// Returns JSON from a client for the log: one line, without control characters that a terminal may
/// act on.
pub(super) fn to_log_json(json: &impl Serialize) -> String {
    printable_json(&serde_json::to_string(json).unwrap_or_default())
}
