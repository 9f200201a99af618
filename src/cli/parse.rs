//! Parses the command line, and adds tips to its errors.

use super::commands::{Cli, Command, load};
use super::config;
use super::line::{
    Beginning, FIRST_WORD, ProgramOptions, begins_with_colon, begins_with_command, command_first,
    find_command, is_option, program_without_commands,
};
use super::serve::options::Serve;
use super::source_options::{PromptSource, hidden_options, innermost};
use crate::prompt::similar::closest;
use crate::wording::in_backticks;
use clap::builder::Styles;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::io::{self, IsTerminal};

/// The commands that don't read prompts, and therefore don't accept the shared options.
const COMMANDS_WITHOUT_PROMPTS: [&str; 8] = [
    "install",
    "sync",
    "uninstall",
    "team",
    "token",
    "store",
    "completions",
    "man",
];

/// A valid command line.
pub(super) struct ParsedLine {
    pub(super) task: Task,
    /// The shared options of the commands that read prompts.
    pub(super) source: PromptSource,
    /// Whether `--json` was passed to the command.
    pub(super) is_json: bool,
}

/// What the program has to do.
pub(super) enum Task {
    PrintVersion { is_json: bool },
    Serve(Serve),
    Run(Box<Command>),
}

impl ParsedLine {
    /// Returns the result for a line without a command, which either prints the version or serves.
    fn without_command(options: ProgramOptions) -> ParsedLine {
        let task = if options.version {
            Task::PrintVersion {
                is_json: options.version_json,
            }
        } else {
            Task::Serve(options.serve)
        };
        ParsedLine {
            task,
            source: options.source,
            is_json: false,
        }
    }
}

/// Parses a command line. `words` begins with the name of the program.
///
/// Agents start the server without a command. Such a line is parsed without defining the commands,
/// because that would take a fifth of the startup time.
pub(super) fn parse(words: &[OsString]) -> Result<ParsedLine, clap::Error> {
    if begins_with_command(words) {
        return parse_command(words, FIRST_WORD);
    }
    let program = program_without_commands();
    match find_command(words, &program) {
        Beginning::Options => {
            let matches = program.try_get_matches_from(words)?;
            let options = ProgramOptions::from_arg_matches(&matches)?;
            Ok(ParsedLine::without_command(options))
        }
        Beginning::Command(position) | Beginning::UnknownOption(position) => {
            parse_command(words, position)
        }
    }
}

/// Parses a line that has a command or an unknown option at `position`.
///
/// # Errors
/// Fails if the line is invalid, or asks for help. Some errors include a tip.
fn parse_command(words: &[OsString], position: usize) -> Result<ParsedLine, clap::Error> {
    let mut program = program_for(words, position);
    let ordered = command_first(words, position, &program);
    let matches = match program.try_get_matches_from_mut(ordered) {
        Ok(matches) => matches,
        Err(error) => return Err(with_tip(error, words, position, &program)),
    };
    let cli = Cli::from_arg_matches(&matches)?;
    let Some(command) = cli.command else {
        return Ok(ParsedLine::without_command(cli.options));
    };
    // `try_get_one` fails if the command doesn't have the option.
    let is_json = matches!(innermost(&matches).try_get_one("json"), Ok(Some(true)));
    Ok(ParsedLine {
        task: Task::Run(Box::new(command)),
        source: PromptSource::from_line(&matches)?,
        is_json,
    })
}

/// Returns whether an invalid command line contains the command `hook`, e.g.
/// `prompt-expander --project hook codex`.
///
/// Assumes that an unknown option before `hook` takes no value. Such an option may come from a
/// newer version of this program that wrote the agent's configuration.
pub(super) fn is_hook(words: &[OsString]) -> bool {
    let position = if begins_with_command(words) {
        FIRST_WORD
    } else {
        match find_command(words, &program_without_commands()) {
            Beginning::Options => return false,
            Beginning::Command(position) => position,
            Beginning::UnknownOption(position) => position + 1,
        }
    };
    words.get(position).is_some_and(|word| word == "hook")
}

/// Returns the definition of the command line to parse a line with a command at `position`.
///
/// To save time, defines the shared options only for that command, and only if the line contains
/// any options.
fn program_for(words: &[OsString], position: usize) -> clap::Command {
    let has_options = words.iter().any(|word| is_option(word));
    let is_call = begins_with_colon(&words[position]); // `:research` is parsed as `expand :research`
    let mut program = program_with_options(|command| {
        has_options && (words[position] == command || (is_call && command == "expand"))
    });
    if !asks_for_help(words) {
        // Errors quote the words, which may contain escape sequences. Without clap's own styles,
        // every escape sequence can be escaped when the error is printed.
        program = program.styles(Styles::plain());
    }
    if !io::stdout().is_terminal() {
        program = program.term_width(0); // don't wrap lines
    }
    program
}

/// Returns the definition of the command line. The shared options, such as `--prompts`, are only
/// defined for the commands that read prompts and for which `gets_options` returns true.
///
/// Defining them for every command would dominate the startup time.
pub(super) fn program_with_options(gets_options: impl Fn(&str) -> bool) -> clap::Command {
    Cli::command().mut_subcommands(|command| {
        let name = command.get_name();
        if COMMANDS_WITHOUT_PROMPTS.contains(&name) || !gets_options(name) {
            return command;
        }
        let is_global = name == "pack"; // also for its subcommands
        let options = hidden_options().into_iter();
        command.args(options.map(|option| option.global(is_global)))
    })
}

fn asks_for_help(words: &[OsString]) -> bool {
    words.get(FIRST_WORD).is_some_and(|word| word == "help")
        || words.iter().any(|word| word == "--help" || word == "-h")
}

/// Adds a tip to an error, if there is one: for an unknown command, a similar command or prompt,
/// and for an unknown option of `install`, the corresponding key of the settings file.
fn with_tip(
    error: clap::Error,
    words: &[OsString],
    position: usize,
    program: &clap::Command,
) -> clap::Error {
    let word = &words[position];
    match error.kind() {
        ErrorKind::InvalidSubcommand if program.find_subcommand(word).is_none() => {
            let tip = tip_for_unknown_command(words, position, program);
            with_suggestion(error, ContextKind::SuggestedSubcommand, tip)
        }
        ErrorKind::UnknownArgument if word == "install" => with_tip_for_settings(error),
        _ => error,
    }
}

/// Replaces clap's own suggestion, which has the kind `clap_suggestion`, with a tip.
fn with_suggestion(
    mut error: clap::Error,
    clap_suggestion: ContextKind,
    tip: String,
) -> clap::Error {
    error.remove(clap_suggestion);
    let tips = ContextValue::StyledStrs(vec![tip.into()]);
    error.insert(ContextKind::Suggested, tips);
    error
}

/// Adds a tip such as ``write `edit` into config.toml instead`` to the error for an unknown option
/// of `install`, if the settings file has a corresponding key.
fn with_tip_for_settings(error: clap::Error) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let Some(key) = option.strip_prefix("--").and_then(config::key_of_option) else {
        return error;
    };
    let tip = format!("write `{key}` into config.toml instead");
    with_suggestion(error, ContextKind::SuggestedArg, tip)
}

/// Returns a tip about the unknown command at `position`. The user may have meant a prompt, e.g.
/// `research` without its colon, or a command or prompt with a similar name.
///
/// Respects the options before the command when it searches for prompts.
fn tip_for_unknown_command(words: &[OsString], position: usize, program: &clap::Command) -> String {
    let unknown = words[position].to_string_lossy();
    let input = &words[position + 1..];
    let mut prompt_source = prompt_source_in(&words[..position]);
    let library = load(&mut prompt_source).library();
    let view = library.view();
    if let Ok(found) = view.find_known(&unknown) {
        return tip_to_expand(&found.name, input);
    }
    let commands: Vec<&str> = program
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    let prompts = view.list().names();
    let prompt_names = prompts.iter().map(|name| &**name);
    match closest(&unknown, commands.iter().copied().chain(prompt_names)) {
        None => "`prompt-expander list` shows all prompts".to_owned(),
        Some(name) if commands.contains(&name) => format!("a similar command exists: `{name}`"),
        Some(name) => tip_to_expand(name, input),
    }
}

/// Parses the shared options before a command, e.g. `prompt-expander --prompts DIR`. Returns the
/// defaults if the words are invalid.
fn prompt_source_in(words_before_command: &[OsString]) -> PromptSource {
    let program = program_without_commands();
    let Ok(matches) = program.try_get_matches_from(words_before_command) else {
        return PromptSource::default();
    };
    PromptSource::from_arg_matches(&matches).unwrap_or_default()
}

/// Returns a tip that contains the command to expand a prompt, quoted for a shell: `to expand the
/// prompt …, write …`.
fn tip_to_expand(name: &str, input: &[OsString]) -> String {
    let prompt = format!(":{name}");
    let input: Vec<_> = input.iter().map(|word| word.to_string_lossy()).collect();
    let mut words = vec!["prompt-expander", prompt.as_str()];
    words.extend(input.iter().map(|word| &**word));
    // Quoting fails only if a word contains NUL.
    let command = shlex::try_join(words).unwrap_or(format!("prompt-expander {prompt}"));
    format!(
        "to expand the prompt {}, write `{command}`",
        in_backticks(name)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split(' ').map(OsString::from).collect()
    }

    #[test]
    fn options_that_exclude_each_other_do_so_on_both_sides_of_a_command() {
        for line in [
            "--config a list --no-config",
            "--no-config list --config a",
            #[cfg(feature = "store")]
            "--store postgres://a@b/c list --store-file d",
            #[cfg(feature = "store")]
            "--store-file d --project pack sync --store postgres://a@b/c",
        ] {
            let error = parse(&words(&format!("prompt-expander {line}")))
                .err()
                .unwrap();
            assert_eq!(error.kind(), ErrorKind::ArgumentConflict, "{line}");
            assert!(
                error.to_string().contains("cannot be used with"),
                "{line}: {error}"
            );
        }
    }

    #[test]
    fn a_summary_of_a_command_has_at_most_55_characters() {
        for command in Cli::command().get_subcommands() {
            let summary = command.get_about().unwrap().to_string();
            assert!(summary.chars().count() <= 55, "{summary}");
        }
    }
}
