//! The arguments of `expand`, `explain` and `copy`: a prompt and its input.

use super::output::Reporter;
use super::source_options::{PromptSource, absolute, without_parents};
use super::stdin;
use crate::api::CallRequest;
use crate::library::{Found, Library, View, is_prompt_file};
use crate::prompt::{Diagnostic, Kind, MAX_EXPANSION};
use crate::wording::{in_backticks, quoted};
use anyhow::bail;
use clap::{Args, Command};
use std::io::{self, IsTerminal};
use std::path::{Component, Path, PathBuf};

#[derive(Debug, Args)]
pub(super) struct CallArgs {
    /// Set an argument of the prompt; can be repeated, and must come before the name
    #[arg(long = "arg", value_name = "NAME=VALUE", value_parser = name_and_value)]
    arguments: Vec<(String, String)>,
    /// The name of a prompt, with or without a colon, or the path of a prompt file; then the input
    ///
    /// A path begins with `./`, `../`, `/` or `~/`. Everything after the name or path is part of
    /// the input, even if it looks like an option.
    ///
    /// If the input is one shell argument, such as text in quotes, it is read like text that you
    /// type in a chat. If there are several shell arguments, each counts as one word or one
    /// `NAME=VALUE`, even if it contains spaces. With --arg, `NAME=VALUE` in the input is ordinary
    /// text.
    ///
    /// Text that you pipe in is added to the end of the input, after an empty line. To insert it
    /// elsewhere, write `-` in its place. A file on standard input is treated like a pipe. In a
    /// `while read` loop, add `< /dev/null`. Otherwise, this command reads the rest of the loop's
    /// input, and the loop ends early.
    #[arg(value_names = ["NAME", "INPUT"], num_args = 1.., required = true, trailing_var_arg = true)]
    words: Vec<String>,
}

/// Parses a value of `--arg`.
fn name_and_value(text: &str) -> Result<(String, String), String> {
    let (name, value) = text
        .split_once('=')
        .ok_or("it must be NAME=VALUE, such as `criteria=speed`")?;
    Ok((name.to_owned(), value.to_owned()))
}

impl CallArgs {
    /// Returns the first word, which is the name of the prompt or the path of its file.
    pub(super) fn name(&self) -> &str {
        self.words.first().map_or("", String::as_str)
    }

    /// Returns the absolute path of the prompt's file if the user typed a path instead of a name:
    /// `/home/me/draft.md` for `./draft.md`.
    ///
    /// Returns `None` for a name, and for a path that is neither an existing file nor ends like a
    /// prompt file. Such a path is then looked up as a name, so that the error says so. A missing
    /// `./draft.md` is returned, because its error names the file.
    pub(super) fn file(&self) -> Option<PathBuf> {
        let typed = Path::new(self.name());
        if !is_path(typed) {
            return None;
        }
        let file = without_parents(absolute(typed));
        let may_be_prompt = file.is_file() || is_prompt_file(&file);
        may_be_prompt.then_some(file)
    }

    /// Finds the prompt, and reads standard input unless that is a terminal.
    ///
    /// # Errors
    /// Fails if the prompt doesn't exist or is broken, it lacks an argument in `--arg`, or standard
    /// input can't be read or isn't UTF-8.
    pub(super) fn prepare(
        self,
        library: &Library,
        reporter: &Reporter,
    ) -> anyhow::Result<Prepared> {
        self.warn_of_options(reporter);
        let view = library.view();
        let file = self.file();
        let found = match &file {
            Some(file) => view.find_by_path(file),
            None => self.find_by_name(&view),
        };
        if found.is_err() {
            reporter.note_if_any(view.untrusted_hint());
        }
        let found = found.map_err(reporter.prompt_error(&view, "expand"))?;
        let prompt = found
            .prompt()
            .map_err(reporter.prompt_error(&view, "expand"))?;
        if file.is_none() {
            reporter.warn_all(view.problems());
        }
        let mut call = self.without_stdin()?;
        // Check this first, because reading standard input may take long.
        call.check_names(&prompt)?;
        call.piped = piped(reporter)?;
        Ok(Prepared { view, found, call })
    }

    /// Warns about words in the input that would be options if they came before the name.
    fn warn_of_options(&self, reporter: &Reporter) {
        let options = PromptSource::augment_args(CallArgs::augment_args(Command::new("")));
        for word in self.words.iter().skip(1) {
            let Some(option) = word.strip_prefix("--") else {
                continue;
            };
            let name = option.split('=').next().unwrap_or(option);
            if name == "json" || has_option(&options, name) {
                reporter.warn(&format!(
                    "{} is part of the input; an option comes before the name of the prompt",
                    quoted(word)
                ));
            }
        }
    }

    /// Finds the prompt by its name. If there is none, but the name matches a file in the working
    /// directory, the error suggests to write it as a path.
    fn find_by_name(&self, view: &View) -> Result<Found, Diagnostic> {
        let name = self.name();
        view.find(name).map_err(|mut error| {
            let path = Path::new(name);
            if is_prompt_file(&absolute(path)) && path.is_file() {
                error.kind = Kind::NotFound; // for `NoSuchPrompt`, a hint about `list` would be added
                error.fix = format!(
                    "for the file in the working directory, write {}",
                    in_backticks(&format!("./{name}"))
                );
            }
            error
        })
    }

    /// Returns the call, to which the text from standard input has to be added. If standard input
    /// is not a terminal, the first `-` after the name marks the position of that text, and is no
    /// input itself.
    ///
    /// # Errors
    /// Fails if `--arg` sets the same argument twice.
    fn without_stdin(self) -> anyhow::Result<CallRequest> {
        let mut request = CallRequest::default();
        for (name, value) in self.arguments {
            if request.arguments.insert(name.clone(), value).is_some() {
                bail!("--arg {name}=… is given twice");
            }
        }
        let mut words = self.words.into_iter();
        request.command = words.next().unwrap_or_default();
        request.input = words.collect();
        if !io::stdin().is_terminal() {
            request.pipe_index = request.input.iter().position(|word| word == "-");
        }
        if let Some(index) = request.pipe_index {
            request.input.remove(index);
        }
        Ok(request)
    }
}

/// Returns whether a command has the option `--name`.
fn has_option(command: &Command, name: &str) -> bool {
    let mut options = command.get_arguments();
    options.any(|option| option.get_long() == Some(name))
}

/// A prompt that was found, and how to call it.
pub(super) struct Prepared {
    pub(super) view: View,
    pub(super) found: Found,
    pub(super) call: CallRequest,
}

/// Reads the text on standard input. Returns an empty text if that is a terminal.
pub(super) fn piped(reporter: &Reporter) -> anyhow::Result<String> {
    if io::stdin().is_terminal() {
        return Ok(String::new());
    }
    stdin::text(MAX_EXPANSION, "an expansion", reporter)
}

/// Returns whether the user typed a path rather than a name: it is absolute, or begins with `./`,
/// `../` or `~/`.
pub(super) fn is_path(typed: &Path) -> bool {
    match typed.components().next() {
        None => false,
        Some(Component::Normal(folder)) => folder == "~",
        Some(_) => true,
    }
}
