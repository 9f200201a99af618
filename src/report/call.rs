//! A call of a prompt, as a command line or a client of the server gives it, and its expansion.

use super::{Expansion, Failure, LIST_HINT};
use crate::library::{Lookup, Problem, ServiceRequest, Unknown, View};
use crate::prompt::{self, Binding, Bound, ExpandError, INPUT, Messages, Origin, Prompt, join_piped};
use crate::wording::{named, quoted};
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A prompt's name, and what is passed to it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Call {
    /// The name, with or without a colon.
    pub command: String,
    /// The input: words that a shell has divided. A single one is read like text typed in a chat, and may be a JSON string
    /// instead of a list.
    #[serde(deserialize_with = "text_or_words", skip_serializing_if = "Vec::is_empty")]
    pub input: Vec<String>,
    /// Values by name. With them, the input is what replaces `{{input}}`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub arguments: BTreeMap<String, String>,
    /// A text from a pipe.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub piped: String,
    /// The index of the word before which that text belongs; `None`: after all words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<usize>,
}

fn text_or_words<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "invalid type, expected a string or a list of strings")]
    enum Input {
        Text(String),
        Words(Vec<String>),
    }
    Ok(match Input::deserialize(deserializer)? {
        Input::Text(text) => vec![text],
        Input::Words(words) => words,
    })
}

/// A prompt that a call names.
#[derive(Debug)]
pub struct Found {
    /// The prompt.
    pub prompt: Arc<Prompt>,
    /// Its file, if the call names that instead.
    pub(super) file: Option<PathBuf>,
    /// The files and folders that cannot be read.
    pub(super) skipped: Vec<Problem>,
}

impl Found {
    /// The prompt of a name.
    ///
    /// # Errors
    /// There is no prompt of this name, or its file is broken.
    pub fn named(view: &View, command: &str) -> Result<Found, Failure> {
        match view.find(command) {
            Lookup::Found(prompt) => Ok(Found { prompt, file: None, skipped: view.missing() }),
            Lookup::Broken(problem) => {
                let warnings = view.missing().iter().map(Problem::to_string).collect();
                Err(Failure { warnings, ..Failure::new(problem.to_string()) })
            }
            Lookup::Unknown { why, skipped } => {
                let hint = match &why {
                    Unknown::NoSuchPrompt { .. } | Unknown::Empty | Unknown::NotACommand { .. } => LIST_HINT.to_owned(),
                    Unknown::Ambiguous { .. } | Unknown::ForEditing { .. } => String::new(),
                    Unknown::WithText { name, .. } => format!(": `prompt-expander expand {name} INPUT…`"),
                };
                Err(Failure::unknown(&why, hint, &skipped))
            }
        }
    }

    /// The prompt in a file, whose path is absolute.
    ///
    /// # Errors
    /// The file is broken, or can be no prompt.
    pub fn in_file(view: &View, file: &Path) -> Result<Found, Failure> {
        let prompt = view.prompt_at(file).map_err(|problem| Failure::new(problem.to_string()))?;
        Ok(Found { prompt: Arc::new(prompt), file: Some(file.to_owned()), skipped: Vec::new() })
    }

    /// # Errors
    /// The prompt has no argument of a given name, or takes no input in addition to values by name; or the text from a pipe would
    /// not be in the expansion.
    pub fn check(&self, call: &Call) -> Result<(), Failure> {
        call.check(&self.prompt).map_err(|failure| Failure { warnings: self.warnings(), ..failure })
    }

    /// The skipped files and folders, each in a line.
    pub(super) fn warnings(&self) -> Vec<String> {
        self.skipped.iter().map(Problem::to_string).collect()
    }
}

/// What an agent gets for a call.
///
/// # Errors
/// The prompt cannot be called like this.
pub fn expand(view: &View, found: &Found, call: &Call) -> Result<Expansion, Failure> {
    found.check(call)?;
    let texts = Texts::of(call);
    let prompt = texts
        .expand(view, found)
        .map_err(|error| Failure { warnings: found.warnings(), ..cannot(&found.prompt, &error) })?;
    Ok(Expansion { prompt, warnings: [found.warnings(), texts.warnings(&found.prompt)].concat() })
}

impl Call {
    /// See [`Found::check`].
    fn check(&self, prompt: &Prompt) -> Result<(), Failure> {
        let Call { input: words, arguments: values, piped, .. } = self;
        let known = prompt::Call::Named { values, input: "", is_strict: true };
        if let Some(error @ ExpandError::Unknown { .. }) = prompt.bind(known).error {
            return Err(cannot(prompt, &error));
        }
        // With values by name, only a prompt with a placeholder for the input takes more text.
        let takes_input = values.is_empty() || (prompt.takes_input() && !values.contains_key(INPUT));
        if !takes_input && !words.is_empty() {
            let words = quoted(&words.join(" "));
            return Err(Failure::new(format!(
                "{words} cannot be combined with --arg for this prompt; pass it as another --arg NAME=VALUE, or leave out --arg"
            )));
        }
        if !takes_input && !piped.is_empty() {
            return Err(Failure::new(
                "the text on standard input cannot be combined with --arg for this prompt; leave out --arg, or, if the text \
                 is not meant for the prompt, add `< /dev/null`",
            ));
        }
        // For values that the prompt does not use there is a warning, but text from a pipe is never dropped.
        let end = piped.trim_end_matches('\n');
        let has_piped =
            |bound: &&Bound<'_>| bound.origin != Origin::Named && !end.is_empty() && bound.value.contains(end);
        match Texts::of(self).unused(prompt).iter().find(has_piped) {
            Some(bound) => Err(Failure::new(unused_message(prompt, bound))),
            None => Ok(()),
        }
    }

    /// The index of the word before which the text from a pipe belongs.
    fn at(&self) -> usize {
        self.at.map_or(self.input.len(), |at| at.min(self.input.len()))
    }
}

/// The values and the input of a call.
pub(super) struct Texts<'c> {
    call: &'c Call,
    /// The words and the text from a pipe as one text.
    pub(super) input: String,
}

impl<'c> Texts<'c> {
    pub(super) fn of(call: &'c Call) -> Texts<'c> {
        Texts { call, input: join_piped(&call.input, &call.piped, call.at()) }
    }

    fn call(&self) -> prompt::Call<'_> {
        let Call { input: words, arguments: values, piped: text, .. } = self.call;
        match values.is_empty() {
            true => prompt::Call::Piped { words, text, at: self.call.at() },
            false => prompt::Call::Named { values, input: &self.input, is_strict: false },
        }
    }

    /// The expansion, in its text form.
    pub(super) fn expand(&self, view: &View, found: &Found) -> Result<String, ExpandError> {
        let messages = match &found.file {
            Some(file) => view.attach_to_file(file, &found.prompt, found.prompt.expand(self.call())?),
            None => view.expand(&found.prompt, self.call()),
        };
        messages.map(Messages::into_text)
    }

    /// What a service would be asked; `None` if none renders the prompt.
    pub(super) fn request(&self, view: &View, found: &Found) -> Option<Result<ServiceRequest, ExpandError>> {
        view.request(&found.prompt, self.call())
    }

    /// The value of each declared argument.
    pub(super) fn bind<'t>(&'t self, prompt: &'t Prompt) -> Binding<'t> {
        prompt.bind(self.call())
    }

    /// What works, but is probably not what the caller intends.
    pub(super) fn warnings(&self, prompt: &Prompt) -> Vec<String> {
        let unused = self.unused(prompt).into_iter().map(|bound| unused_message(prompt, &bound));
        self.bind(prompt).warnings.into_iter().chain(unused).collect()
    }

    /// The values that are not in the expansion because there is no placeholder for them.
    fn unused<'t>(&'t self, prompt: &'t Prompt) -> Vec<Bound<'t>> {
        if prompt.is_remote() {
            return Vec::new(); // each is sent to the service
        }
        let has_placeholders = prompt.placeholders().next().is_some();
        let is_unused = |bound: &Bound<'_>| match bound.origin {
            _ if bound.value.is_empty() => false,
            Origin::Named => prompt.placeholders().all(|placeholder| placeholder.name != bound.name),
            // Without any placeholder, the whole text follows the body.
            Origin::Pair | Origin::Word | Origin::Rest => {
                has_placeholders && prompt.placeholders().all(|placeholder| placeholder.name != bound.name)
            }
            Origin::Default | Origin::Omitted | Origin::Missing => false,
        };
        self.bind(prompt).arguments.into_iter().filter(is_unused).collect()
    }
}

fn unused_message(prompt: &Prompt, bound: &Bound<'_>) -> String {
    let (name, argument) = (named(&prompt.name), named(bound.name));
    let placeholder = named(&prompt.placeholder(bound.name));
    format!(
        "the value of {argument} is not in the expansion, because {name} has no placeholder {placeholder}; add it to the file, or \
         leave out the value"
    )
}

fn cannot(prompt: &Prompt, error: &ExpandError) -> Failure {
    Failure::new(format!("{} cannot be expanded: {error}", named(&prompt.name)))
}
