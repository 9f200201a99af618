//! A prompt and what it is given, as the arguments of a command: the same for `expand` and `explain`.

use super::{completions, output, stdin};
use crate::library::{Library, Lookup, Unknown};
use crate::prompt::{self, Binding, ExpandError, INPUT, MAX_EXPANSION, Messages, Prompt};
use crate::wording::{named, quoted};
use anyhow::{anyhow, bail};
use clap::Args;
use clap_complete::ArgValueCompleter;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct Call {
    /// The prompt, with or without a colon: `research`, `:git/commit`
    #[arg(add = ArgValueCompleter::new(completions::names))]
    name: String,
    /// The text for the prompt. A single word (in quotes, perhaps) is read like text typed in a chat; several are joined by
    /// one space, and each stays one word for several arguments. `-`, or no words while standard input is not a terminal,
    /// reads it from standard input. Put `--` before words that begin with `-`
    #[arg(value_name = "INPUT")]
    input: Vec<String>,
    /// The value of an argument that the prompt declares; may be repeated for others. Without it, INPUT is divided
    /// among the arguments: `NAME=VALUE` pairs first, then the required arguments in their order
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = name_and_value)]
    arguments: Vec<(String, String)>,
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it must be NAME=VALUE, such as `criteria=speed`")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Call {
    /// The prompt. What keeps prompts from being seen is said on standard error.
    ///
    /// # Errors
    /// Its file is no prompt, or there is none of the name.
    pub(super) fn find(&self, library: &Library) -> anyhow::Result<Arc<Prompt>> {
        let view = library.view();
        let found = view.find(&self.name);
        let skipped = match &found {
            Lookup::Found(_) | Lookup::Broken(_) => view.missing(),
            Lookup::Unknown { skipped, .. } => skipped.clone(),
        };
        for problem in skipped {
            output::warning(&problem.to_string());
        }
        match found {
            Lookup::Found(prompt) => Ok(prompt),
            Lookup::Broken(problem) => bail!("{problem}"),
            Lookup::Unknown { why, .. } => Err(refusal(&why)),
        }
    }

    /// What the prompt is given; perhaps it is read from standard input.
    ///
    /// # Errors
    /// It has no argument of a name, or no place for words; standard input is no text.
    pub(super) fn texts(self, prompt: &Prompt) -> anyhow::Result<Texts> {
        let mut values = BTreeMap::new();
        for (name, value) in self.arguments {
            if values.insert(name.clone(), value).is_some() {
                bail!("--arg {name}=… is given twice");
            }
        }
        let known = prompt::Call::Named { values: &values, input: "", is_strict: true };
        if let Some(error @ ExpandError::Unknown { .. }) = prompt.bind(known).error {
            return Err(cannot(prompt, &error));
        }
        // With values by name, there is a place for more text only where the body has one.
        let has_place = values.is_empty() || (prompt.takes_input() && !values.contains_key(INPUT));
        let (input, words) = match self.input.as_slice() {
            words @ [_, ..] if !has_place => {
                let words = quoted(&words.join(" "));
                bail!("{words} has no place beside --arg; give it as one more --arg NAME=VALUE, or give no --arg");
            }
            [dash] if dash == "-" => (stdin::text(MAX_EXPANSION, "an expansion")?, None),
            [] if has_place && !io::stdin().is_terminal() => (stdin::text(MAX_EXPANSION, "an expansion")?, None),
            words => (words.join(" "), Some(self.input).filter(|_| values.is_empty())),
        };
        Ok(Texts { values, input, words })
    }
}

/// What a prompt is given in a call.
pub(super) struct Texts {
    /// Values by name.
    values: BTreeMap<String, String>,
    pub(super) input: String,
    /// The input as a shell has split it, if it has, and there are no values by name.
    words: Option<Vec<String>>,
}

impl Texts {
    fn call(&self) -> prompt::Call<'_> {
        match &self.words {
            Some(words) => prompt::Call::Words(words),
            None => prompt::Call::Named { values: &self.values, input: &self.input, is_strict: false },
        }
    }

    /// The expansion.
    pub(super) fn expand(&self, prompt: &Prompt) -> Result<String, ExpandError> {
        prompt.expand(self.call()).map(Messages::into_text)
    }

    /// What each declared argument gets.
    pub(super) fn bind<'t>(&'t self, prompt: &'t Prompt) -> Binding<'t> {
        prompt.bind(self.call())
    }
}

/// The error that a prompt cannot be expanded.
pub(super) fn cannot(prompt: &Prompt, error: &ExpandError) -> anyhow::Error {
    anyhow!("{} cannot be expanded: {error}", named(&prompt.name))
}

fn refusal(unknown: &Unknown) -> anyhow::Error {
    match unknown {
        Unknown::NoSuchPrompt { .. } | Unknown::Empty | Unknown::NotACommand { .. } => {
            anyhow!("{unknown} (`prompt-expander list` shows all prompts)")
        }
        Unknown::Ambiguous { .. } => anyhow!("{unknown}"),
        Unknown::WithText { name, .. } => anyhow!("{unknown}: `prompt-expander expand {name} INPUT…`"),
    }
}
