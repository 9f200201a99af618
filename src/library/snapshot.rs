//! What a library shows at one moment, in a form that can be compared with another moment. A rewrite with equal content
//! is not a difference.

use super::cache::Fingerprint;
use super::{Layer, View};
use crate::prompt::Name;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The fingerprint of each prompt, by name.
#[derive(Debug, Default)]
pub struct Snapshot(BTreeMap<Name, (Layer, Fingerprint)>);

/// What differs between two snapshots.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// A name was added or removed, or a file began or ceased to override a built-in prompt.
    pub names: bool,
    /// The list of prompts shows a different name, title, description or argument.
    pub listing: bool,
    /// The content of a listed prompt differs, or the list itself.
    pub listed_contents: bool,
    /// The names of all files whose content differs, those that were added or removed included.
    pub contents: BTreeSet<Name>,
}

impl Difference {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Difference::default()
    }
}

impl Snapshot {
    /// Takes a snapshot. Files that are cached are not read again.
    pub fn of(view: &View) -> Snapshot {
        let entries = view.list().entries.into_iter();
        Snapshot(entries.map(|entry| (entry.name().clone(), (entry.layer(), entry.fingerprint()))).collect())
    }

    /// Whether it has a prompt, or a broken file, of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// A hash of what a list of prompts shows.
    pub fn listing_hash(&self) -> u64 {
        self.hash(|fingerprint| fingerprint.summary)
    }

    /// The same, including the content of the prompts that are listed.
    pub fn contents_hash(&self) -> u64 {
        self.hash(|fingerprint| fingerprint.summary.map(|_| fingerprint.content))
    }

    fn hash(&self, shown: impl Fn(&Fingerprint) -> Option<u64>) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (name, (layer, fingerprint)) in &self.0 {
            if let Some(shown) = shown(fingerprint) {
                (name, *layer == Layer::Project, shown).hash(&mut hasher);
            }
        }
        hasher.finish()
    }

    /// What differs in a later snapshot.
    pub fn difference(&self, later: &Snapshot) -> Difference {
        let mut difference = Difference::default();
        let names: BTreeSet<&Name> = self.0.keys().chain(later.0.keys()).collect();
        for name in names {
            let (before, after) = (self.0.get(name), later.0.get(name));
            if before == after {
                continue;
            }
            let is_in = |layer, prompt: Option<&(Layer, Fingerprint)>| prompt.map(|(other, _)| *other == layer);
            let listed = |prompt: Option<&(Layer, Fingerprint)>| prompt.and_then(|(_, print)| print.summary);
            let content = |prompt: Option<&(Layer, Fingerprint)>| prompt.map(|(_, print)| print.content);
            let is_listed = listed(before).is_some() || listed(after).is_some();
            let has_other_content = content(before) != content(after);
            // Both lists mark the prompts of a project.
            let has_other_mark = is_in(Layer::Project, before) != is_in(Layer::Project, after);
            difference.names |= is_in(Layer::Builtin, before) != is_in(Layer::Builtin, after);
            difference.listing |= listed(before) != listed(after) || (has_other_mark && is_listed);
            difference.listed_contents |= (has_other_content || has_other_mark) && is_listed;
            if has_other_content {
                difference.contents.insert(name.clone());
            }
        }
        difference
    }
}
