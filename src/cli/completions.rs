//! `prompt-expander completions`: what a shell offers when you press Tab.
//!
//! The printed script runs the program for each completion, with the words of the line, because
//! prompts are added and removed. clap's completion engine answers.

use super::parse::{command_first, command_position};
use super::source::PromptSource;
use super::{config, output};
use crate::library::Library;
use crate::prompt::{Argument, COLONS, spelled_as_typed};
use clap::{Arg, ArgMatches, Args, Command, ValueHint};
use clap_complete::aot::Shell;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

/// The script sets it to the name of the shell; the words of the line follow `--`.
const VARIABLE: &str = "PROMPT_EXPANDER_COMPLETE";

/// Characters that a shell interprets. A name that contains one is not offered, because unquoted it
/// would mean something else.
const SPECIAL: &str = "\\'\"`$&|;<>()[]{}*?!#~^%@,=";

pub(super) const EXAMPLES: &str = "\
Add the line for your shell to its startup file:
  ~/.bashrc                   eval \"$(prompt-expander completions bash)\"
  ~/.zshrc (after compinit)   eval \"$(prompt-expander completions zsh)\"
  ~/.config/fish/config.fish  prompt-expander completions fish | source
  ~/.config/elvish/rc.elv     eval (prompt-expander completions elvish | slurp)
  $PROFILE of PowerShell      prompt-expander completions powershell |
                                Out-String | Invoke-Expression

bash ends a word at a colon: complete names there without one.";

#[derive(Debug, Args)]
pub(super) struct Completions {
    /// Your shell
    shell: Shell,
}

impl Completions {
    /// Prints the script; `program` is the first word of the command line.
    pub(super) fn run(self, program: &OsStr) -> anyhow::Result<()> {
        let name = env!("CARGO_PKG_NAME");
        // A program that was found in PATH is looked up there again, so that an update takes
        // effect.
        let is_path = Path::new(program).components().count() > 1;
        let completer = if is_path {
            std::path::absolute(program)?
        } else {
            program.into()
        };
        let mut script = Vec::new();
        if let Some(shell) = Shells::builtins().completer(&self.shell.to_string()) {
            shell.write_registration(
                VARIABLE,
                name,
                name,
                &completer.to_string_lossy(),
                &mut script,
            )?;
        }
        if self.shell == Shell::Bash {
            // bash completes paths by itself, and quotes them.
            script.extend(b"complete -o bashdefault -o default -F _clap_complete_prompt_expander prompt-expander\n");
        }
        output::print_verbatim(&script)
    }
}

/// Answers a completion script; `None` if the program was not run by one. `program` describes the
/// command line.
pub(super) fn answer(arguments: &[OsString], program: fn() -> Command) -> Option<ExitCode> {
    if arguments.get(1).is_none_or(|first| first != "--") || std::env::var_os(VARIABLE).is_none() {
        return None;
    }
    let line = Arc::new(parse_unfinished(&arguments[2..], &program()));
    let hint = forced_hint();
    let folder = std::env::current_dir().ok();
    match CompleteEnv::with_factory(|| with_completers(program(), &line, hint))
        .var(VARIABLE)
        .try_complete(arguments, folder.as_deref())
    {
        Ok(is_asked) => is_asked.then_some(ExitCode::SUCCESS),
        Err(_) => Some(ExitCode::FAILURE), // a message would end up in the line that is being typed
    }
}

/// Returns what completes a word, given the line and what is written of the word.
type Completer = fn(&ArgMatches, &OsStr) -> Vec<CompletionCandidate>;

/// Returns what completes an argument of a command; `None` if clap knows all its values.
fn completer(command: &str, argument: &str) -> Option<Completer> {
    match (command, argument) {
        ("expand" | "explain" | "copy", "words") => Some(words),
        ("edit" | "path" | "show" | "history" | "diff" | "restore", "name")
        | ("rm", "names")
        | ("test", "targets")
        | ("mv", "old") => Some(names),
        ("list", "tag") => Some(tags),
        _ => None,
    }
}

/// Returns the hint that replaces those of all arguments, if one does. bash and PowerShell insert
/// what is offered as it is, and a folder may have any name: they complete paths themselves, and
/// quote them.
fn forced_hint() -> Option<ValueHint> {
    let shell = std::env::var(VARIABLE).ok()?;
    ["bash", "powershell"]
        .contains(&shell.as_str())
        .then_some(ValueHint::Other)
}

/// Adds what completes words of this line.
fn with_completers(program: Command, line: &Arc<ArgMatches>, hint: Option<ValueHint>) -> Command {
    // The first word may also be the name of a prompt with a colon, as in
    // `prompt-expander :research`.
    let prompt = Arg::new("prompt").num_args(1..);
    let mut program = program.arg(add_completer(prompt, words_after_colon, line));
    program.build();
    program
        .mut_args(|argument| with_hint(argument, hint))
        .mut_subcommands(|command| {
            let name = command.get_name().to_owned();
            command.mut_args(|argument| {
                let argument = with_hint(argument, hint);
                match completer(&name, argument.get_id().as_str()) {
                    Some(completer) => add_completer(argument, completer, line),
                    None => argument,
                }
            })
        })
}

fn add_completer(argument: Arg, completer: Completer, line: &Arc<ArgMatches>) -> Arg {
    let line = Arc::clone(line);
    argument.add(ArgValueCompleter::new(move |written: &OsStr| {
        completer(&line, written)
    }))
}

fn with_hint(argument: Arg, hint: Option<ValueHint>) -> Arg {
    match hint {
        Some(hint) => argument.value_hint(hint),
        None => argument,
    }
}

fn words_after_colon(line: &ArgMatches, written: &OsStr) -> Vec<CompletionCandidate> {
    if line.subcommand_name() == Some("expand") {
        words(line, written)
    } else {
        Vec::new()
    }
}

/// Returns the name of a prompt, and after it the arguments of that prompt.
fn words(line: &ArgMatches, written: &OsStr) -> Vec<CompletionCandidate> {
    let words = line
        .subcommand()
        .and_then(|(_, command)| command.try_get_many::<String>("words").ok().flatten());
    let words: Vec<&String> = words.into_iter().flatten().collect();
    match words.as_slice() {
        [name, _, ..] => values(line, name, written),
        _ => names(line, written),
    }
}

/// The prompts whose names begin with this text, with or without a colon, and their descriptions.
/// In names with folders, a colon may be used for `/`.
fn names(line: &ArgMatches, written: &OsStr) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else {
        return Vec::new();
    };
    let library = library_of(line);
    let rest = written.strip_prefix(COLONS).unwrap_or(written);
    let colon = &written[..written.len() - rest.len()];
    let mut candidates = Vec::new();
    for found in library.view().list().found {
        let Some(name) = spelled_as_typed(&found.name, rest).filter(|name| is_plain(name)) else {
            continue;
        };
        let description = found
            .info()
            .summary
            .ok()
            .and_then(|prompt| prompt.description.clone());
        let description = description.map(|description| output::one_line(&description).into());
        candidates.push(CompletionCandidate::new(format!("{colon}{name}")).help(description));
    }
    candidates
}

/// The arguments of a prompt, and after `NAME=` the choices of that argument.
fn values(line: &ArgMatches, name: &str, written: &OsStr) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else {
        return Vec::new();
    };
    let Some(prompt) = library_of(line)
        .view()
        .find(name)
        .ok()
        .and_then(|found| found.prompt().ok())
    else {
        return Vec::new();
    };
    let mut candidates = Vec::new();
    for Argument {
        name,
        description,
        choices,
        ..
    } in &prompt.arguments
    {
        if written
            .strip_prefix(name.as_str())
            .is_some_and(|rest| rest.starts_with('='))
        {
            candidates.extend(
                choices
                    .iter()
                    .map(|choice| (format!("{name}={choice}"), None)),
            );
        } else {
            candidates.push((
                format!("{name}="),
                description
                    .as_deref()
                    .map(|text| output::one_line(text).into()),
            ));
        }
    }
    candidates
        .retain(|(text, _)| text.starts_with(written) && is_plain(&text.replacen('=', "", 1)));
    candidates
        .into_iter()
        .map(|(text, description)| CompletionCandidate::new(text).help(description))
        .collect()
}

/// The tags that begin with this text.
fn tags(line: &ArgMatches, written: &OsStr) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else {
        return Vec::new();
    };
    let library = library_of(line);
    let view = library.view();
    let prompts = view
        .list()
        .found
        .into_iter()
        .filter_map(|found| found.info().summary.ok());
    let tags: BTreeSet<String> = prompts.flat_map(|prompt| prompt.tags.clone()).collect();
    tags.into_iter()
        .filter(|tag| tag.starts_with(written) && is_plain(tag))
        .map(CompletionCandidate::new)
        .collect()
}

/// Returns whether a shell reads the text as one literal word.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(is_special)
}

fn is_special(character: char) -> bool {
    character.is_whitespace() || character.is_control() || SPECIAL.contains(character)
}

/// The library that the options of a line select.
fn library_of(line: &ArgMatches) -> Library {
    let mut source = PromptSource::of(line).unwrap_or_default();
    config::load(&mut source);
    source.library()
}

/// Returns what can be understood of the incomplete line that is completed.
fn parse_unfinished(written: &[OsString], program: &Command) -> ArgMatches {
    // Most shells pass words as they were typed, including quotes.
    let mut words = Vec::new();
    for word in written {
        match word.to_str().and_then(shlex::split).as_deref() {
            Some([unquoted]) => words.push(unquoted.into()),
            _ => words.push(word.clone()),
        }
    }
    if let Some(position) = command_position(&words) {
        words = command_first(&words, position, program);
    }
    let program = program.clone().ignore_errors(true);
    program.try_get_matches_from(words).unwrap_or_default()
}
