//! Changes of the library, on their way from the watch to those who want to hear of them.
//!
//! A client compares what it is told with what it was given, so a list is given out once the watch is ready; or, if that
//! takes too long, at once, and the client is told that it may have changed as soon as that can be said.

use super::subscriptions::{Contents, Lists, Subscriptions};
use super::tools::{self, ServerTool};
use crate::jsonrpc::{Error, Id, Notification};
use crate::library::{Hooks, Library, Watch};
use crate::mcp::{Empty, ListToolsResult};
use serde_json::{Map, Value};
use std::time::Duration;

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
    /// Whether something was given out before the watch was ready.
    is_unsure: bool,
}

impl News {
    pub(super) fn new(hooks: Option<Hooks>) -> News {
        News { hooks, watch: None, subscriptions: Subscriptions::default(), described: None, is_unsure: false }
    }

    /// Whether there may be news: the hooks may have been called, or be called from now on.
    pub(super) fn is_watching(&self) -> bool {
        self.watch.is_some()
    }

    /// A legacy conversation begins, perhaps again.
    pub(super) fn initialize(&mut self) {
        self.subscriptions.initialize();
    }

    /// `notifications/initialized`: from now on the client is told of all lists.
    pub(super) fn initialized(&mut self, library: &Library) {
        self.subscriptions.initialized();
        self.watch(library);
    }

    /// `notifications/cancelled`.
    pub(super) fn cancelled(&mut self, params: &Map<String, Value>) {
        self.subscriptions.cancelled(params);
    }

    /// `resources/subscribe`.
    ///
    /// # Errors
    /// Those of [`Subscriptions::subscribe`].
    pub(super) fn subscribe(&mut self, library: &Library, params: &Map<String, Value>) -> Result<Empty, Error> {
        self.subscriptions.subscribe(library, params)?;
        self.watch(library);
        self.wait_for_the_watch();
        Ok(Empty {})
    }

    /// `resources/unsubscribe`.
    ///
    /// # Errors
    /// Those of [`Subscriptions::unsubscribe`].
    pub(super) fn unsubscribe(&mut self, params: &Map<String, Value>) -> Result<Empty, Error> {
        self.subscriptions.unsubscribe(params).map(|()| Empty {})
    }

    /// `subscriptions/listen`: its acknowledgement, if that is due at once; else [`News::library_changed`] gives it when
    /// the watch is ready.
    ///
    /// # Errors
    /// Those of [`Subscriptions::listen`].
    pub(super) fn listen(
        &mut self,
        library: &Library,
        id: &Id,
        params: &Map<String, Value>,
    ) -> Result<Option<Notification>, Error> {
        if self.subscriptions.listen(id, params)? {
            self.watch(library);
        }
        Ok(if self.is_ready() { self.subscriptions.acknowledge(Some(id)).pop() } else { None })
    }

    /// A list of prompts or resources is about to be made.
    pub(super) fn before_a_list(&mut self) {
        self.wait_for_the_watch();
    }

    /// The tools were listed.
    pub(super) fn tools_listed(&mut self, listed: &ListToolsResult) {
        if self.described.is_none() && self.subscriptions.are_any() {
            self.described = Some(listed.tools.iter().map(|tool| tool.description.clone()).collect());
        }
    }

    /// What everybody is to be told: that changes will be told from now on, and what has changed.
    pub(super) fn library_changed(&mut self, tools: &[ServerTool], library: &Library) -> Vec<Notification> {
        let mut notifications = if self.is_ready() { self.subscriptions.acknowledge(None) } else { Vec::new() };
        let Some(changes) = self.watch.as_ref().map(Watch::take_changes) else { return notifications };
        let is_unsure = changes.begun && std::mem::take(&mut self.is_unsure);
        let mut lists = Lists {
            tools: false,
            prompts: changes.listing || is_unsure,
            resources: changes.listed_contents || is_unsure,
        };
        if changes.names || (changes.begun && self.described.is_some()) {
            let now = Some(tools::descriptions(tools, library));
            lists.tools = self.described != now;
            self.described = now;
        }
        let contents = if is_unsure { Contents::Any } else { Contents::Of(&changes.contents) };
        notifications.extend(self.subscriptions.tell(library, lists, contents));
        notifications
    }

    /// Sees to it that changes will be told.
    fn watch(&mut self, library: &Library) {
        if let Some(hooks) = self.hooks.take() {
            self.watch = Some(Watch::start(library.clone(), hooks));
        }
    }

    /// Whether every change from now on will be told; also, where nobody wants to hear of any, or nobody can.
    fn is_ready(&self) -> bool {
        self.watch.as_ref().is_none_or(Watch::is_ready)
    }

    fn wait_for_the_watch(&mut self) {
        if let Some(watch) = &self.watch {
            self.is_unsure |= !watch.wait_until_ready(PATIENCE);
        }
    }
}
