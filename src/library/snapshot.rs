//! What a library shows at one moment, in a form that can be compared with another moment: a rewrite with equal content
//! changes nothing.

use super::cache::Fingerprint;
use super::{Entry, Layer, View};
use std::collections::{BTreeMap, BTreeSet};

/// Every name, and the fingerprint of what stands behind it.
#[derive(Debug, Default)]
pub(super) struct Snapshot(BTreeMap<String, State>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct State {
    /// Of title, description and arguments; `None` for a file that is no prompt.
    listed: Option<u64>,
    /// Of the whole file, or of the reason why it cannot be read.
    content: u64,
    layer: Layer,
}

/// What has changed between two moments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Changes {
    /// It has been looked at for the first time.
    pub begun: bool,
    /// Something was served before that, and anything of it may be another thing now.
    pub unsure: bool,
    /// A name has come or gone, or a file of the user's hides a built-in prompt, or no longer does.
    pub names: bool,
    /// The list of prompts shows something else: a name, a title, a description, an argument.
    pub listing: bool,
    /// The content of a prompt that is listed is another, or the list is.
    pub listed_contents: bool,
    /// The names of all files whose content has changed, those that have come or gone included.
    pub contents: BTreeSet<String>,
}

impl Changes {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        *self == Changes::default()
    }

    /// These changes and later ones.
    pub(super) fn add(&mut self, later: Changes) {
        self.begun |= later.begun;
        self.unsure |= later.unsure;
        self.names |= later.names;
        self.listing |= later.listing;
        self.listed_contents |= later.listed_contents;
        self.contents.extend(later.contents);
    }
}

impl Snapshot {
    /// Looks at all of the library.
    pub(super) fn of(view: &View) -> Snapshot {
        let state = |entry: &Entry<'_>| {
            let Fingerprint { summary, content } = entry.fingerprint();
            State { listed: summary, content, layer: entry.layer() }
        };
        Snapshot(view.list().entries.iter().map(|entry| (entry.name().to_string(), state(entry))).collect())
    }

    /// What has changed since.
    pub(super) fn changes(&self, now: &Snapshot) -> Changes {
        let mut changes = Changes::default();
        let names: BTreeSet<&String> = self.0.keys().chain(now.0.keys()).collect();
        for name in names {
            let (before, after) = (self.0.get(name), now.0.get(name));
            if before == after {
                continue;
            }
            let listed = |print: Option<&State>| print.and_then(|print| print.listed);
            let is_of = |layer, print: Option<&State>| print.map(|print| print.layer == layer);
            changes.names |= is_of(Layer::Builtin, before) != is_of(Layer::Builtin, after);
            let is_other_content = before.map(|print| print.content) != after.map(|print| print.content);
            let is_listed = listed(before).is_some() || listed(after).is_some();
            // Both lists say of a project's prompt that it is one.
            let is_other_layer = is_of(Layer::Project, before) != is_of(Layer::Project, after);
            changes.listing |= listed(before) != listed(after) || (is_other_layer && is_listed);
            changes.listed_contents |= (is_other_content || is_other_layer) && is_listed;
            if is_other_content {
                changes.contents.insert(name.clone());
            }
        }
        changes
    }
}
