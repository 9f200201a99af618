//! The list of the team's prompts, without their texts.

use super::api_client::parse;
use crate::library::{Change, Layer};
use crate::prompt::{Diagnostic, Name, Position, Revision, Summary};
use crate::wording::{format_size, with_commas};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// The maximum number of prompts in the list.
const MAX_LISTED: usize = 200_000;

/// The maximum size of one entry of the list, in bytes of JSON.
const MAX_ENTRY: usize = 256 * 1024;

/// The maximum number of arguments, choices and tags of all prompts in the list.
const MAX_LISTED_VALUES: usize = 500_000;

/// The list of the team's prompts, as it is cached.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct TeamList {
    /// The ETag of the server's list.
    pub(super) tag: String,
    /// The prompts, by name.
    pub(super) prompts: BTreeMap<String, Arc<TeamListEntry>>,
}

/// An entry of the list: a prompt without its text. Its file may be broken.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct TeamListEntry {
    pub(super) name: String,
    /// The name of its [`Layer`] on the server.
    layer: String,
    /// The name of its format, if it isn't this program's own.
    format: Option<String>,
    /// The path of its file on the server or, if it has no file, where it comes from.
    source: String,
    pub(super) revision: Option<Revision>,
    /// The size of its file, in bytes.
    pub(super) size: u64,
    #[serde(flatten)]
    pub(super) summary: Summary,
    /// Why its file is broken, if it is.
    #[serde(flatten)]
    pub(super) problem: Option<ListedProblem>,
}

/// Why a prompt's file is broken.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ListedProblem {
    pub(super) message: String,
    pub(super) repair: String,
    #[serde(flatten)]
    pub(super) position: Option<Position>,
}

impl TeamList {
    /// Parses the list in the body of a reply with the ETag `tag`.
    ///
    /// # Errors
    /// Fails if the reply is invalid, or exceeds one of the limits above.
    pub(super) fn parse(body: &[u8], tag: String) -> Result<TeamList, Diagnostic> {
        let list: ListReply = parse(body)?;
        let mut prompts = list.prompts.0;
        prompts.extend(list.problems.0);
        Ok(TeamList { tag, prompts })
    }

    /// Returns the prompts that were added, changed or removed between this list and a newer one.
    pub(super) fn change_to(&self, new: &TeamList) -> Change {
        let mut names = BTreeSet::new();
        for name in self.prompts.keys().chain(new.prompts.keys()) {
            if self.prompts.get(name) != new.prompts.get(name) {
                names.extend(Name::new(name));
            }
        }
        Change::of_prompts(names)
    }
}

impl TeamListEntry {
    /// Returns whether only the server can expand the prompt, because a service renders it, or
    /// because its file has the format of another program.
    pub(super) fn needs_server(&self) -> bool {
        if self.problem.is_some() {
            return false; // a broken prompt isn't expanded, but its file is shown
        }
        let is_from_service = self.layer == Layer::SERVICE.name;
        is_from_service || self.format.is_some() || !self.is_in_markdown_file()
    }

    /// Returns whether its file is named after it: `commit.md` for `git/commit`, and not
    /// `commit/SKILL.md`.
    fn is_in_markdown_file(&self) -> bool {
        let last_part = match self.name.rsplit_once('/') {
            Some((_, last_part)) => last_part,
            None => &self.name,
        };
        self.source.ends_with(&format!("{last_part}.md"))
    }

    /// Returns how many arguments, choices and tags the prompt has.
    fn count_values(&self) -> usize {
        let mut values = self.summary.tags.len();
        for argument in &self.summary.arguments {
            values += 1 + argument.choices.len();
        }
        values
    }
}

/// The list as the server sends it.
#[derive(Deserialize)]
struct ListReply {
    prompts: ListEntries,
    /// The prompts whose files are broken.
    #[serde(default)]
    problems: ListEntries,
}

/// Entries of the list by name, deserialized from a JSON array within the limits above.
#[derive(Default)]
struct ListEntries(BTreeMap<String, Arc<TeamListEntry>>);

impl<'de> Deserialize<'de> for ListEntries {
    fn deserialize<D: Deserializer<'de>>(list: D) -> Result<ListEntries, D::Error> {
        list.deserialize_seq(ListEntriesVisitor)
    }
}

struct ListEntriesVisitor;

impl<'de> Visitor<'de> for ListEntriesVisitor {
    type Value = ListEntries;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of prompts")
    }

    /// Parses the entries one by one, so that too long a list is rejected before all of it is in
    /// memory. Entries without a name are skipped.
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ListEntries, A::Error> {
        let mut prompts = BTreeMap::new();
        let mut count = 0;
        let mut value_count = 0;
        while let Some(json) = list.next_element::<&RawValue>()? {
            let entry = parse_entry(json.get()).map_err(Error::custom)?;
            count += 1;
            value_count += entry.count_values();
            if count > MAX_LISTED || value_count > MAX_LISTED_VALUES {
                return Err(Error::custom(too_many_message()));
            }
            if !entry.name.is_empty() {
                prompts.insert(entry.name.clone(), Arc::new(entry));
            }
        }
        Ok(ListEntries(prompts))
    }
}

/// Parses one entry of the list.
///
/// # Errors
/// Returns a message if the entry is too long or invalid.
fn parse_entry(json: &str) -> Result<TeamListEntry, String> {
    if json.len() > MAX_ENTRY {
        let limit = format_size(MAX_ENTRY);
        return Err(format!("an entry is longer than {limit}"));
    }
    serde_json::from_str(json).map_err(|error| error.to_string())
}

/// Returns the message for a list with too many prompts or values.
fn too_many_message() -> String {
    format!(
        "the list has more than {} prompts, or {} arguments, choices and tags",
        with_commas(MAX_LISTED),
        with_commas(MAX_LISTED_VALUES)
    )
}
