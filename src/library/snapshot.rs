//! What a library shows at one moment, in a form that can be compared with another moment. A rewrite with equal content
//! is no difference.

use super::{Entry, Layer, Library};
use crate::prompt::Prompt;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};

/// The fingerprint of each prompt, by name.
#[derive(Debug, Default)]
pub struct Snapshot(BTreeMap<String, (Layer, Fingerprint)>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fingerprint {
    /// Of title, description and arguments; `None` for a broken file.
    listed: Option<u64>,
    /// Of the whole file, or of the reason why it cannot be read.
    content: u64,
}

/// What differs between two snapshots.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// A name was added or removed, or a file overrides a built-in prompt now, or no longer does.
    pub names: bool,
    /// The list of prompts shows something else: a name, a title, a description, an argument.
    pub listing: bool,
    /// A prompt that is listed has another content, or the list is another one.
    pub listed_contents: bool,
    /// The names of all files whose content differs, those that were added or removed included.
    pub contents: BTreeSet<String>,
}

impl Difference {
    /// Whether nothing differs.
    pub fn is_empty(&self) -> bool {
        *self == Difference::default()
    }
}

impl Snapshot {
    /// Takes a snapshot. Files that are cached are not read again.
    pub fn of(library: &Library) -> Snapshot {
        let index = library.index();
        let entries = index.entries.iter();
        Snapshot(entries.map(|entry| (entry.name().to_owned(), (entry.layer(), fingerprint(entry)))).collect())
    }

    /// Whether it has a prompt, or a broken file, of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// What differs in a later snapshot.
    pub fn difference(&self, later: &Snapshot) -> Difference {
        let mut difference = Difference::default();
        let names: BTreeSet<&String> = self.0.keys().chain(later.0.keys()).collect();
        for name in names {
            let (before, after) = (self.0.get(name), later.0.get(name));
            if before == after {
                continue;
            }
            let is_in = |layer, prompt: Option<&(Layer, Fingerprint)>| prompt.map(|(other, _)| *other == layer);
            let listed = |prompt: Option<&(Layer, Fingerprint)>| prompt.and_then(|(_, print)| print.listed);
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

fn fingerprint(entry: &Entry<'_>) -> Fingerprint {
    let (listed, content) = entry
        .text(|text| {
            let prompt = Prompt::parse(entry.name(), text.as_bytes()).ok();
            (prompt.map(|prompt| hash(&listed(&prompt))), hash(&text))
        })
        .unwrap_or_else(|problem| (None, hash(&problem.to_string())));
    Fingerprint { listed, content }
}

/// What a list of prompts shows.
fn listed(prompt: &Prompt) -> impl Hash {
    let arguments = prompt
        .arguments
        .iter()
        .map(|argument| (argument.name.clone(), argument.description.clone(), argument.is_needed()));
    (prompt.title(), prompt.description(), arguments.collect::<Vec<_>>(), prompt.takes_input())
}

fn hash(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
