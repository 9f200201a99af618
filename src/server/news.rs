//! Changes of the library, on their way from the watch to those who want to hear of them.
//!
//! Nothing is watched before somebody needs it: a client that wants to hear of changes and has something to compare them
//! with, or has gone quiet after its handshake.
//!
//! A client compares what it is told with what it was given. So a list waits, a little, for the watch to be ready; and the
//! watch is told of what is given out before, so that it can say that something may have changed.

use super::subscriptions::{Contents, Lists, Subscriptions};
use super::tools::{self, ServerTool};
use crate::json::Object;
use crate::jsonrpc::{Error, Id, Notification};
use crate::library::{Hooks, Library, Watch};
use crate::mcp::{Empty, ListToolsResult};
use std::sync::Arc;
use std::time::Duration;

/// After this much quiet, a client that has finished its handshake has what it wanted first.
const QUIET: Duration = Duration::from_millis(25);

/// How long an answer waits at most for the watch to be ready.
const PATIENCE: Duration = Duration::from_millis(100);

/// The watch, and who hears what of it.
#[derive(Debug)]
pub(super) struct News {
    /// For the watch, until there is one.
    hooks: Option<Hooks>,
    /// Set when somebody first wants to hear of changes.
    watch: Option<Watch>,
    subscriptions: Subscriptions,
    /// What the descriptions of the tools said when somebody who hears of changes last asked, or was told.
    described: Option<Vec<String>>,
    /// Whether somebody is to be told of changes, so that a watch is due.
    is_due: bool,
    /// Whether something was given out before there was a watch, since the last `initialize`.
    has_served: bool,
}

impl News {
    pub(super) fn new(hooks: Option<Hooks>) -> News {
        News {
            hooks,
            watch: None,
            subscriptions: Subscriptions::default(),
            described: None,
            is_due: false,
            has_served: false,
        }
    }

    /// Whether there may be news: the hooks may have been called, or be called from now on.
    pub(super) fn is_watching(&self) -> bool {
        self.watch.is_some()
    }

    /// After how much quiet [`News::library_changed`] is to be called, although no hook was.
    pub(super) fn quiet(&self) -> Option<Duration> {
        (self.is_due && self.watch.is_none() && self.hooks.is_some()).then_some(QUIET)
    }

    /// A legacy conversation begins, perhaps again.
    pub(super) fn initialize(&mut self) {
        self.subscriptions.initialize();
        self.has_served = false;
    }

    /// `notifications/initialized`: from now on the client is told of all lists.
    pub(super) fn initialized(&mut self, library: &Arc<Library>) {
        self.subscriptions.initialized();
        self.is_due = true;
        if self.has_served {
            self.watch_if_due(library);
        }
    }

    /// `notifications/cancelled`.
    pub(super) fn cancelled(&mut self, params: &Object<'_>) {
        self.subscriptions.cancelled(params);
    }

    /// `resources/subscribe`.
    ///
    /// # Errors
    /// Those of [`Subscriptions::subscribe`].
    pub(super) fn subscribe(&mut self, library: &Arc<Library>, params: &Object<'_>) -> Result<Empty, Error> {
        self.subscriptions.subscribe(&library.view(), params)?;
        self.is_due = true;
        self.will_serve(library);
        Ok(Empty {})
    }

    /// `resources/unsubscribe`.
    ///
    /// # Errors
    /// Those of [`Subscriptions::unsubscribe`].
    pub(super) fn unsubscribe(&mut self, params: &Object<'_>) -> Result<Empty, Error> {
        self.subscriptions.unsubscribe(params).map(|()| Empty {})
    }

    /// `subscriptions/listen`: its acknowledgement, if that is due at once; else [`News::library_changed`] gives it when
    /// the watch is ready.
    ///
    /// # Errors
    /// Those of [`Subscriptions::listen`].
    pub(super) fn listen(
        &mut self,
        library: &Arc<Library>,
        id: &Id,
        params: &Object<'_>,
    ) -> Result<Option<Notification>, Error> {
        if self.subscriptions.listen(id, params)? {
            self.is_due = true;
            self.watch_if_due(library);
        }
        Ok(if self.is_ready() { self.subscriptions.acknowledge(Some(id)).pop() } else { None })
    }

    /// Prompts or resources are about to be listed or read, for a client that may keep them.
    pub(super) fn will_serve(&mut self, library: &Arc<Library>) {
        self.watch_if_due(library);
        match &self.watch {
            Some(watch) => {
                watch.wait_until_ready(PATIENCE);
                watch.will_serve();
            }
            None => self.has_served = true,
        }
    }

    /// The tools are about to be listed. They do not wait: what they say is compared here.
    pub(super) fn will_serve_tools(&mut self, library: &Arc<Library>) {
        self.watch_if_due(library);
    }

    /// The tools were listed.
    pub(super) fn tools_listed(&mut self, listed: &ListToolsResult) {
        if self.described.is_none() || self.watch.is_none() {
            self.described = Some(listed.tools.iter().map(|tool| tool.description.clone()).collect());
        }
    }

    /// What everybody is to be told: that changes will be told from now on, and what has changed.
    pub(super) fn library_changed(&mut self, tools: &[ServerTool], library: &Arc<Library>) -> Vec<Notification> {
        self.watch_if_due(library);
        let mut notifications = if self.is_ready() { self.subscriptions.acknowledge(None) } else { Vec::new() };
        let Some(changes) = self.watch.as_ref().map(Watch::take_changes) else { return notifications };
        let mut lists = Lists {
            tools: false,
            prompts: changes.listing || changes.unsure,
            resources: changes.listed_contents || changes.unsure,
        };
        if changes.names || (changes.begun && self.described.is_some()) {
            let now = Some(tools::descriptions(tools, &library.view()));
            lists.tools = self.described != now;
            self.described = now;
        }
        let contents = if changes.unsure { Contents::Any } else { Contents::Of(&changes.contents) };
        notifications.extend(self.subscriptions.tell(&library.view(), lists, contents));
        notifications
    }

    /// Sees to it that changes will be told.
    fn watch_if_due(&mut self, library: &Arc<Library>) {
        if self.is_due
            && let Some(hooks) = self.hooks.take()
        {
            // A legacy client may have listed before it ended its handshake. A modern one hears of what comes after its
            // acknowledgement.
            let has_served = self.has_served && self.subscriptions.is_initialized();
            self.watch = Some(Watch::start(Arc::clone(library), hooks, has_served));
        }
    }

    /// Whether every change from now on will be told; also, where nobody wants to hear of any, or nobody can.
    fn is_ready(&self) -> bool {
        self.watch.as_ref().is_none_or(Watch::is_ready)
    }
}
