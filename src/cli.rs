//! The command line: its options, the library that they select, and one file for each command.
//!
//! `parse.rs` parses a line, and `commands.rs` runs its command. Without a command, the program
//! serves MCP on stdio. Commands use the same library and the same expansion, without the protocol.

mod agent_names;
mod append;
mod call;
mod check;
mod clipboard;
mod commands;
mod completions;
mod compose;
mod config;
mod copy;
#[cfg(feature = "store")]
mod database;
mod diff;
mod doctor;
mod edit;
mod expand;
mod explain;
mod history;
mod hook;
mod import;
mod install;
mod install_method;
mod line;
mod list;
mod man;
mod mv;
mod new;
#[cfg(feature = "openapi")]
mod openapi;
mod output;
mod pack;
mod pager;
mod parse;
mod path;
mod pick;
mod restore;
mod review;
mod rm;
mod serve;
mod short_help;
mod show;
mod source_options;
mod stdin;
#[cfg(feature = "store")]
mod store;
mod stored;
#[cfg(feature = "openapi")]
mod team;
mod test;
mod text_editor;
#[cfg(feature = "http")]
mod token;
mod trust;
#[cfg(any(feature = "openapi", feature = "store"))]
mod unrepeated;
mod user_folders;
mod version;

use output::Reporter;
use parse::{ParsedLine, Task};
use serve::options::Serve;
use source_options::PromptSource;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

/// Returns the definition of the command line. The manual page is generated from it.
pub fn command() -> clap::Command {
    parse::program_with_options(|_| true)
}

/// Runs the program with these words, the first of which is its own name, and returns the exit
/// status.
///
/// 0: success. 1: failure, and standard error says why; for `check`, `edit` and `new`, a file has
/// an error, for `test`, a test failed, and for `doctor`, something is broken. 2: the arguments are
/// invalid.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    if let Some(status) = completions::answer(&words, command) {
        return status;
    }
    if words.get(1).is_some_and(|first| first == "-h") {
        let printed = output::print(&short_help::text(&command()));
        return finish(printed.map(|()| ExitCode::SUCCESS), Reporter::for_people());
    }
    match parse::parse(&words) {
        Ok(line) => run_line(line, &words),
        Err(error) => report_invalid_line(&error, &words),
    }
}

/// Runs the task of a valid line, reports its error, and returns the exit status. `words` are those
/// of the line, beginning with the name of the program.
///
/// At the end, reads the list of the team's prompts again if it is old, so that the next start need
/// not wait for it.
fn run_line(line: ParsedLine, words: &[OsString]) -> ExitCode {
    let mut source = line.source;
    let reporter = if line.is_json {
        Reporter::for_scripts()
    } else {
        Reporter::for_people()
    };
    let result = match line.task {
        Task::PrintVersion { is_json } => version::print(is_json).map(|()| ExitCode::SUCCESS),
        Task::Serve(serve) => serve_or_pick(serve, &mut source, words, &reporter),
        Task::Run(command) => command.run(&mut source, &words[0], &reporter),
    };
    let status = finish(result, reporter);
    #[cfg(feature = "openapi")]
    if let Some(team) = &source.settings.team {
        team.refresh_if_due();
    }
    status
}

/// Runs a line without a command: serves on standard input and output, as an agent expects. A
/// person who types only the name of the program at a terminal gets the picker instead.
fn serve_or_pick(
    serve: Serve,
    source: &mut PromptSource,
    words: &[OsString],
    reporter: &Reporter,
) -> anyhow::Result<ExitCode> {
    let has_only_name = words.len() == 1;
    let is_at_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if has_only_name && is_at_terminal {
        let source = commands::load_and_note(source, reporter)?;
        return pick::Pick::default().run(source, reporter);
    }
    serve.run(commands::load(source), reporter)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the help that a line asks for, or says why the line is invalid. Returns the exit status.
///
/// A hook that an agent has started says nothing, and succeeds.
fn report_invalid_line(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let is_help = output::is_help(error);
    if !is_help && !io::stdin().is_terminal() && parse::is_hook(words) {
        return ExitCode::SUCCESS; // any other status may make the agent reject what the user typed
    }
    let has_json_option = words.iter().any(|word| word == "--json");
    let reporter = if has_json_option {
        Reporter::for_scripts()
    } else {
        Reporter::for_people()
    };
    reporter.clap_error(error, words);
    reporter.finish();
    ExitCode::from(error.exit_code() as u8)
}

/// Returns the exit status for the result of a command. Reports an error, and prints the messages
/// that a script gets at the end.
fn finish(result: anyhow::Result<ExitCode>, reporter: Reporter) -> ExitCode {
    let status = match result {
        Ok(status) => status,
        // The reader has closed the pipe, as `head` does.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            reporter.error(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    };
    reporter.finish();
    status
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let io_error: Option<&io::Error> = error.downcast_ref();
    io_error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
