//! The arguments that `expand`, `explain` and `copy` share: a prompt and its input.

use super::output::Reporter;
use super::source::{PromptSource, absolute, without_parents};
use super::stdin;
use crate::api;
use crate::library::{Found, Library, View, is_prompt_file};
use crate::prompt::{Diagnostic, Kind, MAX_EXPANSION};
use crate::wording::{named, quoted};
use anyhow::bail;
use clap::{Args, Command};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::{Component, Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct Call {
    /// The value of one of the prompt's arguments; can be repeated. It comes before the name
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = name_and_value)]
    arguments: Vec<(String, String)>,
    /// The prompt's name, with or without a colon, or the path of any prompt file, which begins
    /// with `./`, `../`, `/` or `~/`; and the input for it
    ///
    /// All that follows the name is text, even what looks like an option. Several words fill one
    /// argument each if the prompt has arguments; otherwise, they are joined by spaces. A single
    /// word is read like text typed in a chat. Without --arg, `NAME=VALUE` words set arguments by
    /// name. Text from standard input (a pipe or a file) follows the words, after an empty line, in
    /// the last argument that takes text; to insert it elsewhere, write `-` there.
    #[arg(value_names = ["NAME", "INPUT"], num_args = 1.., required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("it must be NAME=VALUE, such as `criteria=speed`")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl Call {
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Warns of words after the name that would be options before it.
    fn warn_of_options(&self, reporter: &Reporter) {
        let options = PromptSource::augment_args(Call::augment_args(Command::new("")));
        let is_option = |name: &str| {
            name == "json"
                || options
                    .get_arguments()
                    .any(|option| option.get_long() == Some(name))
        };
        for word in self.words.iter().skip(1) {
            let name = word
                .strip_prefix("--")
                .map(|name| name.split('=').next().unwrap_or_default());
            if name.is_some_and(is_option) {
                reporter.warn(&format!(
                    "{} is part of the input; an option comes before the name of the prompt",
                    quoted(word)
                ));
            }
        }
    }

    /// The file, if the name is a path.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let path = Path::new(self.name());
        let file = without_parents(absolute(path));
        (is_path(path) && (file.is_file() || is_prompt_file(&file))).then_some(file)
    }

    /// Finds the prompt, and reads standard input, unless it is a terminal.
    ///
    /// # Errors
    /// There is no prompt of this name, or its file is broken; [`api::CallRequest::check_names`];
    /// standard input is not text.
    pub(super) fn prepare(
        self,
        library: &Library,
        reporter: &Reporter,
    ) -> anyhow::Result<Prepared> {
        self.warn_of_options(reporter);
        let view = library.view();
        let found = match self.file() {
            Some(file) => view.at(&file),
            None => view
                .find(self.name())
                .map_err(|why| with_path(why, self.name())),
        };
        if found.is_err() {
            reporter.note_if_any(view.untrusted_hint());
        }
        let found = found.map_err(reporter.failure(&view, "expand"))?;
        let prompt = found.prompt().map_err(reporter.failure(&view, "expand"))?;
        if self.file().is_none() {
            reporter.warn_all(view.problems());
        }
        let mut call = self.without_stdin()?;
        call.check_names(&prompt)?;
        call.piped = piped(reporter)?;
        Ok(Prepared { view, found, call })
    }

    /// The values and the words of the call.
    ///
    /// # Errors
    /// A value is given twice.
    fn without_stdin(self) -> anyhow::Result<api::CallRequest> {
        let mut arguments = BTreeMap::new();
        for (name, value) in self.arguments {
            if arguments.insert(name.clone(), value).is_some() {
                bail!("--arg {name}=… is given twice");
            }
        }
        let mut words = self.words.into_iter();
        let command = words.next().unwrap_or_default();
        let mut input: Vec<String> = words.collect();
        let at = input
            .iter()
            .position(|word| word == "-")
            .filter(|_| !io::stdin().is_terminal());
        if let Some(at) = at {
            input.remove(at);
        }
        Ok(api::CallRequest {
            command,
            input,
            arguments,
            piped: String::new(),
            at,
        })
    }
}

/// A call of a prompt of the library.
pub(super) struct Prepared {
    pub(super) view: View,
    pub(super) found: Found,
    pub(super) call: api::CallRequest,
}

/// The text on standard input, unless it is a terminal.
pub(super) fn piped(reporter: &Reporter) -> anyhow::Result<String> {
    match io::stdin().is_terminal() {
        true => Ok(String::new()),
        false => stdin::text(MAX_EXPANSION, "an expansion", reporter),
    }
}

/// Whether this is a path rather than a name: absolute, or with `./`, `../` or `~/`.
pub(super) fn is_path(path: &Path) -> bool {
    !matches!(path.components().next(), None | Some(Component::Normal(_))) || path.starts_with("~")
}

/// Says of the name of a file in the working directory how to name that.
fn with_path(why: Diagnostic, typed: &str) -> Diagnostic {
    let path = Path::new(typed);
    if !is_prompt_file(&absolute(path)) || !path.is_file() {
        return why;
    }
    let fix = format!(
        "for the file in the working directory, write {}",
        named(&format!("./{typed}"))
    );
    Diagnostic {
        kind: Kind::Missing,
        fix,
        ..why
    }
}
