//! The context in which requests are handled: settings, shared state, and the caller.

use super::era::Era;
use super::notifier::Notifier;
use super::reply::LongestWait;
use crate::agents::{Agent, MenuTemplate, PartLimit, Unit};
use crate::library::{Authorship, Caller, Editor, Found, HOW_TO_ALLOW_EDITS, Library, Role, View};
use crate::prompt::Diagnostic;
use crate::usage::{UsageLog, Way};
use crate::wording::printable_json;
use serde::Serialize;
use std::num::NonZeroUsize;
use std::sync::{Arc, OnceLock};

/// The default number of entries per page of a list. Large, because many clients read only the
/// first page.
pub const PAGE_SIZE: NonZeroUsize = NonZeroUsize::new(500).unwrap();

/// The settings of a server.
#[derive(Debug)]
pub struct Settings {
    /// Whether local callers may edit prompts. Callers with a token need only the role
    /// [`Role::Write`].
    pub may_edit: bool,
    /// The number of prompts or resources per page of a list.
    pub page_size: NonZeroUsize,
    /// The maximum number of characters in one part of an `expand_prompt` result, for all clients.
    /// If `None`, known agents get parts as long as they show to their model.
    pub max_part_chars: Option<usize>,
    /// Whether clients get the prompts as skills, too (SEP-2640).
    pub skills: bool,
    /// Called once with the reason if change notifications are delayed. If `None`, clients aren't
    /// notified of changes.
    pub on_notifier_warning: Option<fn(&str)>,
    /// Counts the uses of prompts. If `None`, nothing is counted.
    pub usage_log: Option<UsageLog>,
    /// Requests that may block at least this long are returned as a [`Job`](super::Job).
    pub wait_threshold: LongestWait,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings {
            may_edit: false,
            page_size: PAGE_SIZE,
            max_part_chars: None,
            skills: false,
            on_notifier_warning: None,
            usage_log: None,
            wait_threshold: LongestWait::Write,
        }
    }
}

/// The state that all requests share.
pub(super) struct Shared {
    pub(super) library: Arc<Library>,
    pub(super) notifier: Option<Notifier>,
    pub(super) settings: Settings,
    /// Whether a folder of the library is on a network file system. Computed when first needed.
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

    /// Returns whether a caller may edit prompts. Besides the role [`Role::Write`], this requires a
    /// token or the setting [`Settings::may_edit`].
    pub(super) fn may_edit(&self, caller: &Caller) -> bool {
        caller.role >= Role::Write && (self.settings.may_edit || caller.token.is_some())
    }

    /// Returns the current contents of the library, limited to what a caller may see.
    pub(super) fn view(&self, caller: &Caller) -> View {
        let may_edit = self.may_edit(caller);
        self.library.view_for(caller).for_editing(may_edit)
    }

    /// Starts notifying listeners of changes, unless this has already been done.
    pub(super) fn watch(&self) {
        if let Some(notifier) = &self.notifier {
            notifier.start();
        }
    }

    /// Returns whether a request may block too long to be handled at once. On a network file
    /// system, that includes reading a single file.
    pub(super) fn must_defer(&self, longest_wait: LongestWait) -> bool {
        longest_wait >= self.settings.wait_threshold
            || (longest_wait >= LongestWait::Files && self.is_on_network())
    }

    fn is_on_network(&self) -> bool {
        *self
            .is_on_network
            .get_or_init(|| self.library.is_on_network())
    }
}

/// The context of a request. A deferred job keeps it.
#[derive(Clone)]
pub(super) struct Context {
    pub(super) shared: Arc<Shared>,
    pub(super) caller: Arc<Caller>,
    /// The client, if it is a known agent.
    pub(super) agent: Option<&'static Agent>,
    pub(super) era: Era,
    /// The protocol version of a legacy client, or `None` for a modern one, which has the newest.
    pub(super) version: Option<&'static str>,
    /// Whether the client may cache the result until it is notified of a change.
    pub(super) relies_on_notifications: bool,
}

impl Context {
    /// Returns the current contents of the library, limited to what the caller may see.
    pub(super) fn view(&self) -> View {
        self.shared.view(&self.caller)
    }

    /// Counts a use of a prompt.
    pub(super) fn count_use(&self, found: &Found, way: Way) {
        if let Some(log) = &self.shared.settings.usage_log {
            log.count(found, way);
        }
    }

    /// Returns whether the caller may edit prompts.
    pub(super) fn may_edit(&self) -> bool {
        self.shared.may_edit(&self.caller)
    }

    /// Tells a caller who may not edit prompts how to get permission.
    pub(super) fn how_to_edit(&self) -> String {
        match self.caller.token {
            None if self.caller.role < Role::Write => {
                "send the token that the server generated; its standard error says where it is"
                    .to_owned()
            }
            None => HOW_TO_ALLOW_EDITS.to_owned(),
            Some(_) => {
                let role = self.caller.role.as_str();
                format!("to edit prompts, a token needs the role `write`, and yours has `{role}`")
            }
        }
    }

    /// Returns the maximum length of one result of a tool. A longer result is divided into parts.
    ///
    /// The setting of the server counts for all clients. Without it, each agent has the limit above
    /// which it would cut a result. Returns `None` if the client is not a known agent, or if its
    /// agent has no such limit: its results are never divided.
    pub(super) fn part_limit(&self) -> Option<PartLimit> {
        if let Some(max) = self.shared.settings.max_part_chars {
            return Some(PartLimit::of_json(max, Unit::Characters));
        }
        match self.agent {
            Some(agent) => agent.part_limit,
            None => None,
        }
    }

    /// Returns how the client processes prompts from its menu as templates, or `None` if it
    /// doesn't.
    pub(super) fn menu_template(&self) -> Option<&'static MenuTemplate> {
        self.agent?.menu_template.as_ref()
    }

    /// Returns the editor of the caller's prompts.
    ///
    /// # Errors
    /// Fails if there is nowhere to write them.
    pub(super) fn editor(&self) -> Result<Editor<'_>, Diagnostic> {
        self.shared.library.editor(&self.caller)
    }

    /// Returns the author of a change, who is the caller's token or else the agent, together with
    /// the note.
    pub(super) fn authorship(&self, note: Option<String>) -> Result<Authorship, Diagnostic> {
        let name = match &self.caller.token {
            Some(token) => Some(Arc::clone(&token.name)),
            None => self.agent.map(|agent| agent.name.into()),
        };
        Authorship::new(name, note)
    }
}

/// Formats a value from a client for the log: as JSON on a single line, without control characters
/// that could affect a terminal.
pub(super) fn to_log_json(json: &impl Serialize) -> String {
    printable_json(&serde_json::to_string(json).unwrap_or_default())
}
