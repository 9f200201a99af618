//! The list of the team's prompts, without their texts.

use super::api_client::{TeamReply, parse};
use crate::library::{Change, Layer};
use crate::prompt::{Diagnostic, Name, Position, Revision, Summary};
use crate::wording::{format_size, thousands};
use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

/// The most prompts that the server may list.
const MAX_LISTED: usize = 200_000;

/// The most bytes of JSON for one prompt in the list.
const MAX_LISTED_PROMPT: usize = 256 * 1024;

/// The most arguments, choices and tags of all prompts in the list.
const MAX_LISTED_VALUES: usize = 500_000;

/// The list in the cache.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct TeamList {
    /// The ETag of the server's list.
    pub(super) tag: String,
    /// The prompts by their names.
    pub(super) prompts: BTreeMap<String, Arc<KnownTeamPrompt>>,
}

/// A prompt in the list, which may be broken.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct KnownTeamPrompt {
    pub(super) name: String,
    layer: String,
    format: Option<String>,
    /// The path of its file at the server, or where else it comes from.
    source: String,
    pub(super) revision: Option<Revision>,
    /// The size of its file, in bytes.
    pub(super) size: u64,
    #[serde(flatten)]
    pub(super) summary: Summary,
    #[serde(flatten)]
    pub(super) problem: Option<ListedProblem>,
}

/// Why a prompt in the list is broken.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct ListedProblem {
    pub(super) message: String,
    pub(super) repair: String,
    #[serde(flatten)]
    pub(super) position: Option<Position>,
}

impl TeamList {
    /// Parses the list that the server has sent.
    ///
    /// # Errors
    /// It cannot be read, or has too many prompts.
    pub(super) fn parse(reply: TeamReply) -> Result<TeamList, Diagnostic> {
        let sent: SentList = parse(&reply.body)?;
        let mut prompts = sent.prompts.0;
        prompts.extend(sent.problems.0);
        Ok(TeamList {
            tag: reply.tag,
            prompts,
        })
    }

    /// Returns which prompts differ between this list and a newer one.
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

impl KnownTeamPrompt {
    /// Returns whether only the server can expand the prompt, because a service renders it, or its
    /// file is in the format of another program.
    pub(super) fn needs_server(&self) -> bool {
        if self.problem.is_some() {
            return false;
        }
        let (_, last_part) = self.name.rsplit_once('/').unwrap_or(("", &self.name));
        let has_own_file = self.source.ends_with(&format!("{last_part}.md"));
        self.layer == Layer::SERVICE.name || self.format.is_some() || !has_own_file
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
struct SentList {
    prompts: SentPrompts,
    /// The prompts that are broken.
    #[serde(default)]
    problems: SentPrompts,
}

/// Prompts by their names. They are read one after the other, so that no list takes much more
/// memory than what is kept of it.
#[derive(Default)]
struct SentPrompts(BTreeMap<String, Arc<KnownTeamPrompt>>);

impl<'de> Deserialize<'de> for SentPrompts {
    fn deserialize<D: Deserializer<'de>>(list: D) -> Result<SentPrompts, D::Error> {
        list.deserialize_seq(SentPromptsVisitor)
    }
}

struct SentPromptsVisitor;

impl<'de> Visitor<'de> for SentPromptsVisitor {
    type Value = SentPrompts;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list of prompts")
    }

    /// Reads the prompts one after the other, so that a huge list is refused before all of it is in
    /// memory. Prompts without a name are left out.
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<SentPrompts, A::Error> {
        let mut prompts = BTreeMap::new();
        let mut count = 0;
        let mut values = 0;
        while let Some(json) = list.next_element::<&RawValue>()? {
            let prompt = parse_listed_prompt(json.get()).map_err(Error::custom)?;
            count += 1;
            values += prompt.count_values();
            if count > MAX_LISTED || values > MAX_LISTED_VALUES {
                return Err(Error::custom(too_many_listed()));
            }
            if !prompt.name.is_empty() {
                prompts.insert(prompt.name.clone(), Arc::new(prompt));
            }
        }
        Ok(SentPrompts(prompts))
    }
}

/// Parses one prompt of the list.
///
/// # Errors
/// It is too long, or not as expected. The error says why, for people.
fn parse_listed_prompt(json: &str) -> Result<KnownTeamPrompt, String> {
    if json.len() > MAX_LISTED_PROMPT {
        let limit = format_size(MAX_LISTED_PROMPT);
        return Err(format!("an entry is longer than {limit}"));
    }
    serde_json::from_str(json).map_err(|error| error.to_string())
}

/// Returns the message for a list that exceeds a limit.
fn too_many_listed() -> String {
    format!(
        "the list has more than {} prompts, or {} arguments, choices and tags",
        thousands(MAX_LISTED),
        thousands(MAX_LISTED_VALUES)
    )
}
