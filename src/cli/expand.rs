//! `prompt-expander expand`: the text that an agent gets, byte for byte.

use super::{completions, output, stdin};
use crate::library::{Library, Lookup, Unknown};
use crate::prompt::{ExpandError, INPUT, MAX_EXPANSION};
use crate::wording::{named, quoted};
use anyhow::{anyhow, bail};
use clap::Args;
use clap_complete::ArgValueCompleter;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct Expand {
    /// The prompt, with or without a colon: `research`, `:git/commit`
    #[arg(add = ArgValueCompleter::new(completions::names))]
    name: String,
    /// The text for the prompt: words are joined by one space, and each is one word for several arguments; `-`, or no words while standard input is not a
    /// terminal, reads it from standard input. Put `--` before words that begin with `-`
    #[arg(value_name = "INPUT")]
    input: Vec<String>,
    /// The value of an argument that the prompt declares; may be repeated for others. Without it, INPUT is divided
    /// among the arguments: `NAME=VALUE` pairs, then words by position
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = name_and_value)]
    arguments: Vec<(String, String)>,
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("it must be NAME=VALUE, such as `criteria=speed`")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Expand {
    pub(super) fn run(self, library: &Library) -> anyhow::Result<ExitCode> {
        let found = library.find(&self.name);
        let unseen = match &found {
            Lookup::Found(_) | Lookup::Broken(_) => library.missing(),
            Lookup::Unknown { unseen, .. } => unseen.clone(),
        };
        for problem in unseen {
            output::warning(&problem.to_string());
        }
        let prompt = match found {
            Lookup::Found(prompt) => prompt,
            Lookup::Broken(problem) => bail!("{problem}"),
            Lookup::Unknown { why, .. } => return Err(refusal(&why)),
        };
        let cannot = |error: ExpandError| anyhow!("{} cannot be expanded: {error}", named(&prompt.name));
        let mut values = BTreeMap::new();
        for (name, value) in self.arguments {
            if values.insert(name.clone(), value).is_some() {
                bail!("--arg {name}=… is given twice");
            }
        }
        prompt.refuse_unknown(&values).map_err(cannot)?;
        // With values by name, there is a place for more text only where the body has one.
        let has_place = values.is_empty() || (prompt.takes_input() && !values.contains_key(INPUT));
        let expanded = match self.input.as_slice() {
            words @ [_, ..] if !has_place => {
                let words = quoted(&words.join(" "));
                bail!("{words} has no place beside --arg; give it as one more --arg NAME=VALUE, or give no --arg");
            }
            [dash] if dash == "-" => prompt.expand_values(&values, &stdin::text(MAX_EXPANSION, "an expansion")?),
            [] if has_place && !io::stdin().is_terminal() => {
                prompt.expand_values(&values, &stdin::text(MAX_EXPANSION, "an expansion")?)
            }
            words if values.is_empty() => prompt.expand_words(words),
            words => prompt.expand_values(&values, &words.join(" ")),
        };
        let mut text = expanded.map_err(cannot)?;
        if !text.ends_with('\n') {
            text.push('\n'); // for the terminal, or the next command; no other byte is ours
        }
        output::print_verbatim(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
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
