//! The arguments that `expand`, `explain` and `copy` share: a prompt and its input.

use super::source::{absolute, without_parents};
use super::{completions, output, stdin};
use crate::library::{Library, View, is_prompt_file};
use crate::prompt::MAX_EXPANSION;
use crate::report::{self, Failure, Found};
use crate::wording::named;
use anyhow::bail;
use clap::Args;
use clap_complete::ArgValueCompleter;
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::{Component, Path, PathBuf};

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

    /// Finds the prompt, and reads standard input, unless it is a terminal.
    ///
    /// # Errors
    /// There is no prompt of this name, or its file is broken; [`Found::check`]; standard input is not text.
    pub(super) fn prepare(self, library: &Library) -> anyhow::Result<Prepared> {
        let view = library.view();
        let found = match self.file() {
            Some(file) => Found::in_file(&view, &file),
            None => Found::named(&view, self.name()).map_err(|failure| with_path(failure, self.name())),
        };
        let found = found.map_err(output::failure)?;
        let mut call = self.without_stdin()?;
        found.check(&call).map_err(output::failure)?;
        call.piped = piped()?;
        Ok(Prepared { view, found, call })
    }

    /// The same for a server, which finds the prompt.
    ///
    /// # Errors
    /// The call names a file; standard input is not text.
    #[cfg(feature = "http")]
    pub(super) fn for_server(self) -> anyhow::Result<report::Call> {
        if self.file().is_some() {
            bail!(
                "{} is a file on this machine, and a server uses its own; leave out --http, or name a prompt of the server",
                named(self.name())
            );
        }
        let call = self.without_stdin()?;
        Ok(report::Call { piped: piped()?, ..call })
    }

    /// The values and the words of the call.
    ///
    /// # Errors
    /// A value is given twice; `-` is given twice, or stands for a terminal.
    fn without_stdin(self) -> anyhow::Result<report::Call> {
        let mut arguments = BTreeMap::new();
        for (name, value) in self.arguments {
            if arguments.insert(name.clone(), value).is_some() {
                bail!("--arg {name}=… is given twice");
            }
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
        let mut literal = self.literal.into_iter();
        let command = self.name.or_else(|| literal.next()).unwrap_or_default();
        words.extend(literal);
        Ok(report::Call { command, input: words, arguments, piped: String::new(), at: dash })
    }
}

/// A call of a prompt of the library.
pub(super) struct Prepared {
    pub(super) view: View,
    pub(super) found: Found,
    pub(super) call: report::Call,
}

/// The text on standard input, unless it is a terminal.
fn piped() -> anyhow::Result<String> {
    match io::stdin().is_terminal() {
        true => Ok(String::new()),
        false => stdin::text(MAX_EXPANSION, "an expansion"),
    }
}

/// Whether this is a path rather than a name: absolute, or with `./`, `../` or `~/`.
fn is_path(path: &Path) -> bool {
    !matches!(path.components().next(), None | Some(Component::Normal(_))) || path.starts_with("~")
}

/// Says of the name of a file in the working directory how to name that.
fn with_path(failure: Failure, typed: &str) -> Failure {
    let path = Path::new(typed);
    if !failure.is_not_found || !is_prompt_file(&absolute(path)) || !path.is_file() {
        return failure;
    }
    Failure {
        hint: format!("; for the file in the working directory, write {}", named(&format!("./{typed}"))),
        ..failure
    }
}
