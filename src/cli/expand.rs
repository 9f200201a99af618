//! `prompt-expander expand`: the text that an agent gets, byte for byte.

use super::output;
use crate::library::{Library, Lookup, Unknown};
use crate::prompt::MAX_EXPANSION;
use anyhow::{Context, anyhow, bail};
use clap::Args;
use std::io::{self, IsTerminal, Read};
use std::process::ExitCode;

#[derive(Debug, Args)]
pub(super) struct Expand {
    /// The prompt, with or without a colon: `research`, `:git/commit`
    name: String,
    /// The text for the prompt: words are joined by one space; `-`, or no words while standard input is not a
    /// terminal, reads it from standard input. Put `--` before words that begin with `-`
    #[arg(value_name = "INPUT")]
    input: Vec<String>,
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
        let input = match self.input.as_slice() {
            [dash] if dash == "-" => from_stdin()?,
            [] if !io::stdin().is_terminal() => from_stdin()?,
            words => words.join(" "),
        };
        let mut text =
            prompt.expand(&input).map_err(|error| anyhow!("`{}` cannot be expanded: {error}", prompt.name))?;
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

fn from_stdin() -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    let mut stdin = io::stdin().lock().take(MAX_EXPANSION as u64 + 1);
    stdin.read_to_end(&mut bytes).context("standard input cannot be read")?;
    if bytes.len() > MAX_EXPANSION {
        bail!("standard input is longer than {MAX_EXPANSION} bytes, the limit for an expansion");
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        anyhow!("standard input is not UTF-8 at byte {at}; convert it first, for example with `iconv`")
    })
}
