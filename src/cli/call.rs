//! The arguments that `expand`, `explain` and `copy` share: a prompt and its input.

use super::source::{absolute, without_parents};
use super::{completions, output, stdin};
use crate::library::{Library, Lookup, Unknown, is_prompt_file};
use crate::prompt::{self, Binding, Bound, ExpandError, INPUT, MAX_EXPANSION, Messages, Origin, Prompt, join_piped};
use crate::wording::{named, quoted};
use anyhow::{anyhow, bail};
use clap::Args;
use clap_complete::ArgValueCompleter;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

#[derive(Debug, Args)]
pub(super) struct Call {
    /// The prompt's name, with or without a colon: `research`, `:git/commit`. Or the path of any prompt file, which begins with
    /// `./`, `../`, `/` or `~/`: `./draft.md`
    #[arg(add = ArgValueCompleter::new(completions::names), required_unless_present = "literal")]
    name: Option<String>,
    /// The input for the prompt. Several words fill one argument each if the prompt has arguments; otherwise, they are joined
    /// by spaces. A single word is read like text typed in a chat. Text from standard input (a pipe or a file) follows the
    /// words, after an empty line, in the last argument that takes text; to insert it elsewhere, write `-` there
    #[arg(value_name = "INPUT")]
    input: Vec<String>,
    /// More words of the input, taken literally: they may begin with `-`, and `-` alone is an ordinary word
    #[arg(last = true, value_name = "WORD")]
    literal: Vec<String>,
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
    /// The name, which may also follow `--`.
    fn name(&self) -> &str {
        self.name.as_ref().or(self.literal.first()).map_or("", String::as_str)
    }

    /// The file, if the name is a path.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let path = Path::new(self.name());
        let file = without_parents(absolute(path));
        (is_path(path) && (file.is_file() || is_prompt_file(&file))).then_some(file)
    }

    /// The prompt. Warns of folders that cannot be read.
    ///
    /// # Errors
    /// There is no prompt of this name, or its file is broken.
    pub(super) fn find(&self, library: &Library) -> anyhow::Result<Arc<Prompt>> {
        let view = library.view();
        if let Some(file) = self.file() {
            return view.prompt_at(&file).map(Arc::new).map_err(|problem| anyhow!("{problem}"));
        }
        let found = view.find(self.name());
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
            Lookup::Unknown { why, .. } => Err(refusal(&why, self.name())),
        }
    }

    /// The values and the input of the call. Standard input is read, unless it is a terminal.
    ///
    /// # Errors
    /// The prompt has no argument of a given name, or takes no input in addition to --arg; standard input is not text, or
    /// its text would not be in the expansion.
    pub(super) fn texts(self, prompt: &Prompt) -> anyhow::Result<Texts> {
        let file = self.file();
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
        let mut words = self.input;
        let dash = words.iter().position(|word| word == "-");
        if let Some(dash) = dash {
            words.remove(dash);
            if words.iter().any(|word| word == "-") {
                bail!(
                    "`-` can be given only once, because it stands for the text on standard input; for a `-` that is text, put \
                     `--` before it"
                );
            }
            if io::stdin().is_terminal() {
                bail!(
                    "`-` stands for text from a pipe, but standard input is a terminal; use a pipe, or, for a `-` that is text, \
                     put `--` before it"
                );
            }
        }
        words.extend(self.literal.into_iter().skip(usize::from(self.name.is_none())));
        let at = dash.unwrap_or(words.len());
        // With values by name, only a prompt with a placeholder for the input takes more text.
        let takes_input = values.is_empty() || (prompt.takes_input() && !values.contains_key(INPUT));
        if !takes_input && !words.is_empty() {
            let words = quoted(&words.join(" "));
            bail!(
                "{words} cannot be combined with --arg for this prompt; pass it as another --arg NAME=VALUE, or leave out --arg"
            );
        }
        let piped = match io::stdin().is_terminal() {
            true => String::new(),
            false => stdin::text(MAX_EXPANSION, "an expansion")?,
        };
        if !takes_input && !piped.is_empty() {
            bail!(
                "the text on standard input cannot be combined with --arg for this prompt; leave out --arg, or, if the text \
                 is not meant for the prompt, add `< /dev/null`"
            );
        }
        let texts = Texts { file, input: join_piped(&words, &piped, at), values, words, piped, at };
        // For values that the prompt does not use there is a warning, but text from a pipe is never dropped.
        let end = texts.piped.trim_end_matches('\n');
        let has_piped =
            |bound: &&Bound<'_>| bound.origin != Origin::Named && !end.is_empty() && bound.value.contains(end);
        match texts.unused(prompt).iter().find(has_piped) {
            Some(bound) => bail!("{}", unused_message(prompt, bound)),
            None => Ok(texts),
        }
    }
}

/// The values and the input of a call.
pub(super) struct Texts {
    /// The file of the prompt, if the call names one.
    file: Option<PathBuf>,
    /// Values by name.
    values: BTreeMap<String, String>,
    /// The input as the shell has split it.
    words: Vec<String>,
    /// The text from standard input.
    piped: String,
    /// The index of the word before which that text belongs.
    at: usize,
    /// The words and the text as one text.
    pub(super) input: String,
}

impl Texts {
    fn call(&self) -> prompt::Call<'_> {
        let Texts { values, words, piped, at, input, .. } = self;
        match values.is_empty() {
            true => prompt::Call::Piped { words, text: piped, at: *at },
            false => prompt::Call::Named { values, input, is_strict: false },
        }
    }

    /// The expansion, in its text form.
    pub(super) fn expand(&self, library: &Library, prompt: &Prompt) -> Result<String, ExpandError> {
        let (view, messages) = (library.view(), prompt.expand(self.call())?);
        let messages = match &self.file {
            Some(file) => view.attach_to_file(file, prompt, messages),
            None => view.attach(prompt, messages),
        };
        messages.map(Messages::into_text)
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

pub(super) fn cannot(prompt: &Prompt, error: &ExpandError) -> anyhow::Error {
    anyhow!("{} cannot be expanded: {error}", named(&prompt.name))
}

/// Whether this is a path rather than a name: absolute, or with `./`, `../` or `~/`.
fn is_path(path: &Path) -> bool {
    !matches!(path.components().next(), None | Some(Component::Normal(_))) || path.starts_with("~")
}

fn refusal(unknown: &Unknown, typed: &str) -> anyhow::Error {
    let path = Path::new(typed);
    if is_prompt_file(&absolute(path)) && path.is_file() {
        return anyhow!("{unknown}; for the file in the working directory, write {}", named(&format!("./{typed}")));
    }
    match unknown {
        Unknown::NoSuchPrompt { .. } | Unknown::Empty | Unknown::NotACommand { .. } => {
            anyhow!("{unknown} (`prompt-expander list` shows all prompts)")
        }
        Unknown::Ambiguous { .. } => anyhow!("{unknown}"),
        Unknown::WithText { name, .. } => anyhow!("{unknown}: `prompt-expander expand {name} INPUT…`"),
    }
}
