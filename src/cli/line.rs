//! Finds the command among the words of a command line, and moves it before the options.

use super::serve::options::Serve;
use super::source_options::PromptSource;
use crate::prompt::COLONS;
use clap::builder::Styles;
use clap::{Arg, Args};
use std::ffi::{OsStr, OsString};

/// The usage of the program. The second line is indented to align with the first one after
/// `Usage: `.
pub(super) const USAGE: &str = "\
prompt-expander COMMAND [OPTIONS]
       prompt-expander :NAME TEXT";

// The options of a line without a command.
#[derive(Debug, Args)]
pub(super) struct ProgramOptions {
    #[command(
        flatten,
        next_help_heading = "Options for all commands that read prompts"
    )]
    pub(super) source: PromptSource,
    #[command(
        flatten,
        next_help_heading = "Options of the server, for `serve` and if there is no command"
    )]
    pub(super) serve: Serve,
    /// Print the version, the commit that it was built from, and how the program was installed
    #[arg(long, short = 'V')]
    pub(super) version: bool,
    /// Print the version as one JSON object: `version`, `commit`, `date` and `installed`
    #[arg(long = "json", requires = "version")]
    pub(super) version_json: bool,
}

/// The index of the first word after the name of the program.
pub(super) const FIRST_WORD: usize = 1;

/// Returns the definition of the command line without any commands.
pub(super) fn program_without_commands() -> clap::Command {
    let program = clap::Command::new(env!("CARGO_PKG_NAME"))
        .override_usage(USAGE)
        .styles(Styles::plain());
    ProgramOptions::augment_args(program)
}

/// What a line contains first, apart from known options. Positions are indices of words.
pub(super) enum Beginning {
    /// Nothing: the line consists of known options only.
    Options,
    /// The command at this position.
    Command(usize),
    /// The unknown option at this position. It may take a value, so whatever follows it is unclear.
    UnknownOption(usize),
}

/// Finds the command of a line: the first word that is neither a known option nor the value of one.
/// For `--prompts a list`, that is `list`.
///
/// `words` begins with the name of the program, which is skipped.
pub(super) fn find_command(words: &[OsString], program: &clap::Command) -> Beginning {
    let mut position = FIRST_WORD;
    while let Some(word) = words.get(position) {
        if !is_option(word) {
            return Beginning::Command(position);
        }
        let separates_command = word == "--";
        if separates_command {
            position += 1;
            continue;
        }
        let Some(option) = find_option(program, word) else {
            return Beginning::UnknownOption(position);
        };
        let has_value_in_word = word.to_string_lossy().contains('=');
        let takes_next_word = option.get_action().takes_values() && !has_value_in_word;
        position += if takes_next_word { 2 } else { 1 };
    }
    Beginning::Options
}

/// Returns the position of the command of a line. Returns `None` if there is no command, or an
/// unknown option comes before it.
pub(super) fn command_position(words: &[OsString]) -> Option<usize> {
    if begins_with_command(words) {
        return Some(FIRST_WORD);
    }
    match find_command(words, &program_without_commands()) {
        Beginning::Command(position) => Some(position),
        Beginning::Options | Beginning::UnknownOption(_) => None,
    }
}

/// Looks up an option by a word of the line, e.g. `--prompts`, `--prompts=DIR` or `-V`. Returns
/// `None` for an unknown option, and for combined short options such as `-Vx`.
fn find_option<'p>(program: &'p clap::Command, word: &OsStr) -> Option<&'p Arg> {
    let word = word.to_str()?;
    let mut options = program.get_arguments();
    if let Some(long) = word.strip_prefix("--") {
        let name = long.split('=').next();
        return options.find(|option| option.get_long() == name);
    }
    let letters = word.strip_prefix('-')?;
    options.find(|option| option.get_short().map(String::from).as_deref() == Some(letters))
}

/// Returns whether the first word after the name of the program is a command, not an option.
pub(super) fn begins_with_command(words: &[OsString]) -> bool {
    words.get(FIRST_WORD).is_some_and(|word| !is_option(word))
}

/// Returns whether a word begins with `-`, which `-` and `--` also do.
pub(super) fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

pub(super) fn begins_with_colon(word: &OsStr) -> bool {
    word.to_str().is_some_and(|word| word.starts_with(COLONS))
}

/// Moves the command, which is at `position`, before all options, so that the parser combines the
/// options on both sides of it: `--prompts a list --prompts b` becomes
/// `list --prompts a --prompts b`.
///
/// If the command is the name of a prompt with a colon, inserts `expand`: `--project :review x`
/// becomes `expand --project :review x`. If the command is unknown, returns the words unchanged, so
/// that the parser reports it. Otherwise, drops a `--` before the command.
///
/// `words` begins with the name of the program, and has a word at `position`.
pub(super) fn command_first(
    words: &[OsString],
    position: usize,
    program: &clap::Command,
) -> Vec<OsString> {
    let program_name = words[0].clone();
    let words_before = words[FIRST_WORD..position].iter();
    let options = words_before.filter(|word| *word != "--").cloned();
    let mut ordered = vec![program_name];
    let mut end = position; // of the words of the command, which are moved
    if begins_with_colon(&words[position]) {
        ordered.push("expand".into());
    } else if program.find_subcommand(&words[position]).is_some() {
        end += command_word_count(&words[position..]);
        ordered.extend_from_slice(&words[position..end]);
    } else {
        return words.to_vec();
    }
    ordered.extend(options);
    ordered.extend_from_slice(&words[end..]);
    ordered
}

/// The commands that have subcommands, e.g. `pack add`.
const COMMANDS_WITH_SUBCOMMANDS: [&str; 4] = ["pack", "store", "team", "token"];

/// Returns the number of words in the command at the start of `words`: 2 if it includes a
/// subcommand, as in `pack add`, and otherwise 1.
fn command_word_count(words: &[OsString]) -> usize {
    let may_have_subcommand = COMMANDS_WITH_SUBCOMMANDS
        .iter()
        .any(|name| words[0] == *name);
    let has_subcommand = may_have_subcommand && words.get(1).is_some_and(|word| !is_option(word));
    if has_subcommand { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the words of a line after the name of the program, with the command first.
    fn ordered(line: &str) -> String {
        let line = format!("prompt-expander {line}");
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let position = command_position(&words).unwrap();
        let ordered = command_first(&words, position, &crate::cli::command());
        let ordered: Vec<_> = ordered[1..]
            .iter()
            .map(|word| word.to_str().unwrap())
            .collect();
        ordered.join(" ")
    }

    #[test]
    fn the_options_before_a_command_are_parsed_after_it() {
        for (line, want) in [
            ("list a", "list a"),
            ("--prompts list list b", "list --prompts list b"),
            ("--prompts=x -V list", "list --prompts=x -V"),
            ("--project pack add x", "pack add --project x"),
            ("--project pack --json", "pack --project --json"),
            ("--project :a --b", "expand --project :a --b"),
            ("--project -- :a -- b", "expand --project :a -- b"),
            ("-- list --json", "list --json"),
            ("--project nope x", "--project nope x"),
        ] {
            assert_eq!(ordered(line), want, "{line}");
        }
    }
}
