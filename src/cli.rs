//! The command-line interface: one file per command, and the parts that they share.
//!
//! `parse.rs` parses the command line, and `commands.rs` runs the command. Without a command, the
//! program serves MCP on standard input and output. Commands use the same library and expansion as
//! the server, without the protocol.

mod agent_names;
mod append;
mod call;
mod check;
mod clipboard;
mod commands;
mod completions;
mod compose;
mod config;
mod config_diff;
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
#[cfg(unix)]
mod interrupts;
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
#[cfg(any(feature = "openapi", feature = "store"))]
mod redacting_parser;
mod restore;
mod review;
mod rm;
mod serve;
mod settings_edits;
mod short_help;
mod show;
mod source_options;
mod stdin;
#[cfg(feature = "store")]
mod store;
mod stored;
mod sync;
#[cfg(feature = "openapi")]
mod team;
#[cfg(feature = "openapi")]
mod team_connection;
mod test;
mod text_editor;
#[cfg(feature = "http")]
mod token;
mod trust;
mod user_folders;
mod version;

use line::FIRST_WORD;
use output::Reporter;
use parse::{ParsedLine, Task};
use serve::options::Serve;
use source_options::PromptSource;
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

/// Returns the complete definition of the command line, e.g. to generate the manual page.
pub fn command() -> clap::Command {
    parse::program_with_options(|_| true)
}

/// Runs the program, and returns its exit status. `words` is the command line, beginning with the
/// name of the program.
///
/// The exit status is 0 on success, 1 on failure, and 2 if the arguments are invalid. For `check`,
/// `edit` and `new`, failure means that a file has an error; for `test`, that a test failed; and
/// for `doctor`, that something is broken.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    // First, because an unfinished line needn't be valid.
    if let Some(status) = completions::complete_if_requested(&words, command) {
        return status;
    }
    if words.get(FIRST_WORD).is_some_and(|first| first == "-h") {
        let result = output::print(&short_help::text(&command())).map(|()| ExitCode::SUCCESS);
        return finish(result, Reporter::for_people());
    }
    match parse::parse(&words) {
        Ok(line) => run_line(line, &words),
        Err(error) => report_invalid_line(&error, &words),
    }
}

/// Runs the task of a valid command line, reports its error if it fails, and returns the exit
/// status.
///
/// Afterwards, refreshes the list of the team's prompts if it is outdated, so that the next start
/// doesn't have to wait for it.
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

/// Runs a line without a command: serves on standard input and output, as agents expect. If a
/// person types only the name of the program at a terminal, runs the picker instead.
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

/// Reports why a line is invalid, or prints the help that it asks for. Returns the exit status.
///
/// If an agent has run its hook with an invalid line, prints nothing and succeeds.
fn report_invalid_line(error: &clap::Error, words: &[OsString]) -> ExitCode {
    let is_help = output::is_help(error);
    if !is_help && !io::stdin().is_terminal() && parse::is_hook(words) {
        return ExitCode::SUCCESS; // any other status could make the agent block the message
    }
    let has_json_option = words
        .iter()
        .any(|word| word == "--json" || word.as_encoded_bytes().starts_with(b"--json="));
    let reporter = if has_json_option {
        Reporter::for_scripts()
    } else {
        Reporter::for_people()
    };
    reporter.clap_error(error, words);
    reporter.finish();
    ExitCode::from(error.exit_code() as u8)
}

/// Reports the error of a command, if it failed, and prints the collected messages for a script.
/// Returns the exit status.
fn finish(result: anyhow::Result<ExitCode>, reporter: Reporter) -> ExitCode {
    let status = match result {
        Ok(status) => status,
        // Not a failure: the reader has closed the pipe, as `head` does.
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
