//! `prompt-expander completions`: what a shell offers when you press Tab.
//!
//! The printed script runs the program for each completion, with the words of the line, because
//! prompts are added and removed. clap's completion engine answers.

use super::line::{command_first, command_position};
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
use std::path::{self, Path};
use std::process::ExitCode;
use std::sync::Arc;
use std::{env, io};

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
    /// Prints the script. `program` is the name under which the program was started.
    pub(super) fn run(self, program: &OsStr) -> anyhow::Result<()> {
        let name = env!("CARGO_PKG_NAME");
        let completer = absolute_program(program)?;
        let completer = completer.to_string_lossy();
        let mut script = Vec::new();
        if let Some(shell) = Shells::builtins().completer(&self.shell.to_string()) {
            shell.write_registration(VARIABLE, name, name, &completer, &mut script)?;
        }
        if self.shell == Shell::Bash {
            // bash completes paths by itself, and quotes them.
            script.extend(b"complete -o bashdefault -o default -F _clap_complete_prompt_expander prompt-expander\n");
        }
        output::print_verbatim(&script)
    }
}

/// Returns what a script runs: the path of the program, or its name if it was found in PATH. The
/// name is looked up there again, so that an update takes effect.
fn absolute_program(program: &OsStr) -> io::Result<OsString> {
    if Path::new(program).components().count() > 1 {
        Ok(path::absolute(program)?.into_os_string())
    } else {
        Ok(program.to_owned())
    }
}

/// Answers a completion script, and returns the exit status; `None` if the program was not started
/// by a script. `program` describes the command line.
pub(super) fn answer(words: &[OsString], program: fn() -> Command) -> Option<ExitCode> {
    if words.get(1).is_none_or(|first| first != "--") || env::var_os(VARIABLE).is_none() {
        return None;
    }
    let line = Arc::new(parse_unfinished(&words[2..], &program()));
    let hint = forced_hint();
    let folder = env::current_dir().ok();
    let completion = CompleteEnv::with_factory(|| with_completers(program(), &line, hint))
        .var(VARIABLE)
        .try_complete(words, folder.as_deref());
    match completion {
        Ok(true) => Some(ExitCode::SUCCESS),
        Ok(false) => None,
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

/// Returns the hint that replaces the hints of all arguments in some shells. bash and PowerShell
/// insert what is offered as it is, and a folder may have any name: they complete paths themselves,
/// and quote them.
fn forced_hint() -> Option<ValueHint> {
    match env::var(VARIABLE).ok()?.as_str() {
        "bash" | "powershell" => Some(ValueHint::Other),
        _ => None,
    }
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

/// Completes the name of a prompt, and after it the arguments of that prompt.
fn words(line: &ArgMatches, written: &OsStr) -> Vec<CompletionCandidate> {
    match words_of(line).as_slice() {
        [name, _, ..] => values(line, name, written),
        _ => names(line, written),
    }
}

/// Returns the words that a line gives to a command such as `expand`.
fn words_of(line: &ArgMatches) -> Vec<&String> {
    let Some((_, command)) = line.subcommand() else {
        return Vec::new();
    };
    match command.try_get_many("words") {
        Ok(Some(words)) => words.collect(),
        _ => Vec::new(),
    }
}

/// Completes the name of a prompt, with or without a colon before it. In a name with folders, a
/// colon may be written for `/`.
fn names(line: &ArgMatches, written: &OsStr) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else {
        return Vec::new();
    };
    let beginning = written.strip_prefix(COLONS).unwrap_or(written);
    let colon = &written[..written.len() - beginning.len()];
    let mut candidates = Vec::new();
    for found in library_of(line).view().list().found {
        let Some(name) = spelled_as_typed(&found.name, beginning) else {
            continue;
        };
        if is_plain(&name) {
            let description = match found.info().summary {
                Ok(prompt) => prompt.description.clone(),
                Err(_) => None,
            };
            candidates.push(candidate(format!("{colon}{name}"), description.as_deref()));
        }
    }
    candidates
}

/// Completes the name of an argument of a prompt, as `NAME=`, and after it the choices of the
/// argument.
fn values(line: &ArgMatches, name: &str, written: &OsStr) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else {
        return Vec::new();
    };
    let library = library_of(line);
    let Ok(found) = library.view().find(name) else {
        return Vec::new();
    };
    let Ok(prompt) = found.prompt() else {
        return Vec::new();
    };
    let mut candidates = Vec::new();
    for argument in &prompt.arguments {
        if is_plain(&argument.name) {
            add_candidates(&mut candidates, argument, written);
        }
    }
    candidates
}

/// Adds the words with which an argument is set, and which begin with what is written: `NAME=`,
/// and after it each choice.
fn add_candidates(candidates: &mut Vec<CompletionCandidate>, argument: &Argument, written: &str) {
    let assignment = format!("{}=", argument.name);
    if !written.starts_with(&assignment) {
        if assignment.starts_with(written) {
            candidates.push(candidate(assignment, argument.description.as_deref()));
        }
        return;
    }
    for choice in &argument.choices {
        let word = format!("{assignment}{choice}");
        if word.starts_with(written) && is_plain(choice) {
            candidates.push(candidate(word, None));
        }
    }
}

fn candidate(word: String, description: Option<&str>) -> CompletionCandidate {
    let help = description.map(|text| output::one_line(text).into());
    CompletionCandidate::new(word).help(help)
}

/// Completes a tag.
fn tags(line: &ArgMatches, written: &OsStr) -> Vec<CompletionCandidate> {
    let Some(written) = written.to_str() else {
        return Vec::new();
    };
    let mut tags = BTreeSet::new();
    for found in library_of(line).view().list().found {
        if let Ok(prompt) = found.info().summary {
            tags.extend(prompt.tags.clone());
        }
    }
    tags.retain(|tag| tag.starts_with(written) && is_plain(tag));
    tags.into_iter().map(CompletionCandidate::new).collect()
}

/// Returns whether a shell reads the text as one literal word.
fn is_plain(text: &str) -> bool {
    !text.is_empty() && !text.contains(is_special)
}

fn is_special(character: char) -> bool {
    character.is_whitespace() || character.is_control() || SPECIAL.contains(character)
}

/// Returns the library that the options of a line select.
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
