//! The thread in which a server process keeps the cache of the team's prompts up to date.

use super::api_client::API_TIMEOUT;
use super::cache_folder::text_file;
use super::prompt_cache::{CachedText, FRESH_SECONDS, REFRESH_SECONDS, Team};
use super::prompt_list::{TeamList, TeamListEntry};
use crate::library::{Change, Library};
use crate::prompt::Revision;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

impl Team {
    /// Turns this process into a server: starts a thread that keeps refreshing the list and the
    /// texts, and that notifies the library of changes.
    pub(crate) fn start_refreshing(self: &Arc<Self>, library: &Arc<Library>) {
        self.mark_as_server();
        let team = Arc::clone(self);
        let library = Arc::downgrade(library);
        let list = self.list();
        let thread = thread::Builder::new().name("team".to_owned());
        // If the thread cannot be started, the list is only as current as commands keep it.
        _ = thread.spawn(move || team.keep_refreshing(list, &library));
    }

    /// Keeps refreshing the list until the library is dropped, notifies the library of changes, and
    /// fills the cache. `known_list` is the list that the library has now.
    fn keep_refreshing(&self, mut known_list: Arc<TeamList>, library: &Weak<Library>) {
        let mut is_filled = false;
        while let Some(library) = library.upgrade() {
            let list = self.refresh_and_notify(&library, &known_list);
            // Before anything slow. Otherwise, this thread would keep the library alive.
            drop(library);
            let is_replaced = !Arc::ptr_eq(&list, &known_list);
            if is_replaced || !is_filled {
                is_filled = self.fill(&list, &known_list);
            }
            known_list = list;
            // Not longer, because the library may be watched from now on.
            thread::sleep(Duration::from_secs(FRESH_SECONDS));
        }
    }

    /// Refreshes the list if it is due. If it differs from `known_list`, notifies the library.
    /// Returns the current list.
    fn refresh_and_notify(&self, library: &Library, known_list: &TeamList) -> Arc<TeamList> {
        let max_age_seconds = if library.is_watched() {
            FRESH_SECONDS
        } else {
            REFRESH_SECONDS
        };
        if self.is_refresh_due(max_age_seconds) {
            _ = self.refresh_list(API_TIMEOUT); // `outage_message` reports a failure
        }
        // Even without a refresh here, another process may have refreshed the cached list.
        let list = self.list();
        let change = known_list.change_to(&list);
        if change != Change::default() {
            library.notify_changed(&change);
        }
        list
    }

    /// Puts the texts of the listed prompts into the cache, up to [`Team::max_filled`] bytes. So
    /// they can be used offline, and calls don't have to wait for a distant server. Returns false
    /// if the server has failed, to try again later.
    fn fill(&self, list: &TeamList, old_list: &TeamList) -> bool {
        let mut filled = 0;
        for listed in fill_order(list, old_list) {
            if filled >= self.max_filled {
                break;
            }
            if !self.has_current_text(listed) {
                _ = self.text(&listed.name, API_TIMEOUT); // this caches the text
                if self.state().has_failed() {
                    return false;
                }
            }
            filled += self.folder.size_of(&text_file(&listed.name));
        }
        true
    }

    /// Returns whether the cached text of a prompt has the revision in the list.
    fn has_current_text(&self, listed: &TeamListEntry) -> bool {
        let cached: Option<CachedText> = self.folder.read(&text_file(&listed.name));
        match cached {
            Some(cached) => listed.revision == Some(Revision::of_contents(cached.text.as_bytes())),
            None => false,
        }
    }
}

/// Returns the prompts whose texts can be used from the cache. Those that are new or changed since
/// `old_list` come first.
fn fill_order<'l>(list: &'l TeamList, old_list: &TeamList) -> Vec<&'l TeamListEntry> {
    let mut changed = Vec::new();
    let mut unchanged = Vec::new();
    for listed in list.prompts.values() {
        if listed.needs_server() {
            continue; // its text is never used
        }
        if old_list.prompts.get(&listed.name) == Some(listed) {
            unchanged.push(&**listed);
        } else {
            changed.push(&**listed);
        }
    }
    changed.extend(unchanged);
    changed
}
