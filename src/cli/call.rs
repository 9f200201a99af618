//! The arguments that `expand` and `explain` share: a prompt and its input.

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
    /// The prompt's name, with or without a colon: `research`, `:git/commit`
    #[arg(add = ArgValueCompleter::new(completions::names))]
    name: String,
    /// The input for the prompt. A single word is read like text typed in a chat. Several words fill one argument each if the
    /// prompt has arguments; otherwise, they are joined by spaces. `-` reads the input from standard input, and so does
    /// leaving it out, unless standard input is a terminal. Put `--` before words that begin with `-`
    #[arg(value_name = "INPUT")]
    input: Vec<String>,
    /// The value of one of the prompt's arguments; can be repeated. Without --arg, `NAME=VALUE` pairs in INPUT set
    /// arguments by name, and the remaining text fills the required arguments in order
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = name_and_value,
          add = ArgValueCompleter::new(completions::values))]
    arguments: Vec<(String, String)>,
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it must be NAME=VALUE, such as `criteria=speed`")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Call {
    /// The prompt. Warns of folders that cannot be read.
    ///
    /// # Errors
    /// There is no prompt of this name, or its file is broken.
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

    /// The values and the input of the call; reads standard input if necessary.
    ///
    /// # Errors
    /// The prompt has no argument of a given name, or takes no input in addition to --arg; standard input is not text.
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
        // With values by name, only a prompt with a placeholder for the input takes more text.
        let takes_input = values.is_empty() || (prompt.takes_input() && !values.contains_key(INPUT));
        let (input, words) = match self.input.as_slice() {
            words @ [_, ..] if !takes_input => {
                let words = quoted(&words.join(" "));
                bail!(
                    "{words} cannot be combined with --arg for this prompt; pass it as another --arg NAME=VALUE, or use no --arg"
                );
            }
            [dash] if dash == "-" => (stdin::text(MAX_EXPANSION, "an expansion")?, None),
            [] if takes_input && !io::stdin().is_terminal() => (stdin::text(MAX_EXPANSION, "an expansion")?, None),
            words => (words.join(" "), Some(self.input).filter(|_| values.is_empty())),
        };
        Ok(Texts { values, input, words })
    }
}

/// The values and the input of a call.
pub(super) struct Texts {
    /// Values by name.
    values: BTreeMap<String, String>,
    pub(super) input: String,
    /// The input as the shell has split it; `None` if it is from standard input or there are values by name.
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

    /// The value of each declared argument.
    pub(super) fn bind<'t>(&'t self, prompt: &'t Prompt) -> Binding<'t> {
        prompt.bind(self.call())
    }
}

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
