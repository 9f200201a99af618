//! What a library shows at one moment, as hashes that can be compared with those of another moment. A file that is
//! rewritten with the same content changes none of them.

use super::builtin;
use super::cache::Fingerprint;
use super::{Layer, Names, Prefix, View};
use crate::prompt::Name;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

/// The fingerprint of each prompt, by name.
#[derive(Debug)]
pub struct Snapshot(BTreeMap<Name, (Layer, Fingerprint)>);

impl Snapshot {
    /// Takes a snapshot. Files that are cached are not read again.
    pub fn of(view: &View) -> Snapshot {
        let entries = view.list().entries.into_iter();
        Snapshot(entries.map(|entry| (entry.name().clone(), (entry.layer(), entry.fingerprint()))).collect())
    }

    /// What somebody sees of it who has this prefix, or sees everything, and who may edit prompts, or not.
    pub fn restricted_to(&self, prefix: Option<&Prefix>, may_edit: bool) -> Snapshot {
        let visible = self.0.iter().filter(|(name, (layer, _))| {
            prefix.is_none_or(|prefix| prefix.contains(name))
                && (may_edit || *layer != Layer::Builtin || !builtin::is_for_editing(name))
        });
        Snapshot(visible.map(|(name, state)| (name.clone(), *state)).collect())
    }

    /// Every name, as [`View::names`] has them, but without what was skipped.
    pub fn names(&self) -> Names {
        let mut names = Names::default();
        for (name, (layer, _)) in &self.0 {
            let list = if *layer == Layer::Builtin { &mut names.builtin } else { &mut names.own };
            list.push(name.clone());
        }
        names
    }

    /// A hash of the content of the file with this name, which may be broken; `None` if there is none.
    pub fn content(&self, name: &str) -> Option<u64> {
        self.0.get(name).map(|(_, fingerprint)| fingerprint.content)
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
                (name, layer.mark(), shown).hash(&mut hasher);
            }
        }
        hasher.finish()
    }
}
