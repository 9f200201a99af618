//! The command line: options, the library that they name, and one file for each command.
//!
//! Without a command it serves MCP on stdio. The commands use the same library and the same expansion, and no protocol.

mod call;
mod check;
mod client;
mod completions;
mod doctor;
mod edit;
mod editor;
mod expand;
mod explain;
mod hook;
mod install;
mod list;
mod man;
mod new;
mod output;
mod record;
mod serve;
mod source;
mod stdin;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use serve::Serve;
use source::{Folders, PromptSource};
use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

const ABOUT: &str = "Turns `:research solid-state batteries`, typed in a chat with a coding agent, into the full prompt \
                     kept in a Markdown file";

const EXAMPLES: &str = "\
Examples:
  prompt-expander install codex                 add it to Codex, and type
                                                `:research solar cells` there
  prompt-expander list                          which prompts there are
  prompt-expander expand research solar cells   what `:research solar cells` gives
  git diff | prompt-expander expand review      the same with standard input
  prompt-expander new standup --edit            make a prompt of your own
  prompt-expander doctor                        find out why something does not work

Your prompts:
  Markdown files in the folder `prompt-expander/prompts` of your configuration
  directory (on Linux ~/.config), or in the folders that --prompts names.
  `research.md` is typed `:research`, `git/commit.md` is typed `:git/commit`.
  A file of yours goes before a built-in prompt of the same name.";

#[derive(Debug, Parser)]
#[command(name = "prompt-expander", version, about = ABOUT, after_help = EXAMPLES, max_term_width = 100)]
#[command(long_about = format!("{ABOUT}.\n\nWithout a command it serves MCP on standard input and output, which is how \
                               an agent starts it."))]
struct Cli {
    #[command(flatten)]
    source: PromptSource,
    #[command(flatten)]
    serve: Serve,
    #[command(subcommand)]
    command: Option<Command>,
}

// Not doc comments: clap would take them for the help of each command.

// A command with the options that select prompts, which may also be given before its name.
#[derive(Debug, Args)]
struct WithSource<C: Args> {
    #[command(flatten)]
    command: C,
    #[command(flatten)]
    source: PromptSource,
}

// The same without `--project`, which `install` has with another meaning.
#[derive(Debug, Args)]
struct WithFolders<C: Args> {
    #[command(flatten)]
    command: C,
    #[command(flatten)]
    folders: Folders,
}

#[derive(Debug, Subcommand)]
#[command(defer = true)] // the options of the one command that runs, if any, are enough
enum Command {
    /// Register with a client, or list the clients that are found here
    ///
    /// Adds this program to the client's config as the server `prompts`, with the --prompts and --no-builtin given. All else
    /// in the file stays as it is, comments included; what it was before is kept beside it. What would change is shown
    /// first, and nothing is written before you agree.
    #[command(after_help = install::EXAMPLES)]
    Install(WithFolders<install::Install>),
    /// Remove what `install` wrote: the server `prompts`, and the hook
    #[command(after_help = install::UNINSTALL_EXAMPLE)]
    Uninstall(install::Uninstall),
    /// List all prompts with their descriptions, or those that match
    ///
    /// In columns on a terminal, with what is wrong with files that should be prompts but cannot be read. Otherwise one line
    /// per prompt, with tabs between name, description, layer (`project`, `user` or `built-in`), tags and usage; such files
    /// are named on standard error.
    #[command(after_help = list::EXAMPLES)]
    List(WithSource<list::List>),
    /// Print what an agent gets for `:NAME INPUT`
    #[command(after_help = expand::EXAMPLES)]
    Expand(WithSource<expand::Expand>),
    /// Tell where `:NAME INPUT` comes from, what each argument gets, and which clients show all of it
    ///
    /// Which file it is, and what it hides; the arguments with their values, and from where those are; what stands in braces and
    /// is filled or left; how long the expansion is, against the limits of the clients.
    #[command(after_help = explain::EXAMPLES)]
    Explain(WithSource<explain::Explain>),
    /// Make a file to begin a prompt with
    ///
    /// Prints its path. What is piped in becomes the text of the prompt. A file that is there stays as it is, and a name
    /// that one could not type in a chat is refused.
    #[command(after_help = new::EXAMPLES)]
    New(WithSource<new::New>),
    /// Open a prompt in your editor, and check it after that
    ///
    /// The editor is the one that the environment variable VISUAL or EDITOR names, with arguments if it needs some; otherwise
    /// `editor`, `nano` or `vi`, and on Windows `notepad`. A built-in prompt is copied into your own folder first, and the copy
    /// is kept if you change it.
    #[command(after_help = edit::EXAMPLES)]
    Edit(WithSource<edit::Edit>),
    /// Tell what is wrong with prompt files: place, reason, repair
    ///
    /// An error is a file that is no prompt; a warning is a prompt that may not do what its author thinks. The exit
    /// status is 1 if there are errors.
    #[command(after_help = check::EXAMPLES)]
    Check(WithSource<check::Check>),
    /// Find out why a `:command` does not work: in the clients of this machine, their configurations and your prompts
    ///
    /// Each registration of this program is started as its client would: the same command, arguments, environment and
    /// folder; it is asked for its prompts and their text, and ended. A registered hook is run if it is this program and
    /// nothing else. Nothing is changed. One line tells each finding, and what to do. The exit status is 1 if something is
    /// broken.
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(WithSource<doctor::Doctor>),
    /// Answer a client's prompt-submit hook: the model gets the expansion without calling a tool
    ///
    /// Reads the event from standard input. Where the prompt begins with, or has on a line of its own, a `:command` that
    /// exists, what it stands for is added as context; in every other case, nothing is said. The exit status is always 0,
    /// so that no prompt is held back.
    #[command(after_help = hook::EXAMPLES)]
    Hook(WithSource<hook::Hook>),
    /// Print a script that lets your shell complete commands, options and names of prompts
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::Completions),
    /// Print the manual page
    #[command(after_help = man::EXAMPLES)]
    Man(man::Man),
}

/// The whole command line, as clap describes it: what the manual page is made from.
pub fn command() -> clap::Command {
    Cli::command()
}

/// Runs the program with these arguments, the first of which is its own name; returns the exit status.
///
/// 0: success. 1: failure, and standard error says why; for `check`, `edit` and `new`, a file has an error, and for
/// `doctor`, something is broken. 2: the arguments are invalid.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(answered) = completions::answer(&arguments) {
        return answered;
    }
    let cli = match parse(&arguments) {
        Ok(cli) => cli,
        Err(error) if error.exit_code() != 0 && !io::stdin().is_terminal() && is_hook(&arguments) => {
            return ExitCode::SUCCESS; // any other status may make the agent reject what its user typed
        }
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let before = cli.source;
    let result = match cli.command {
        None => cli.serve.run(before.library()),
        Some(Command::Install(install)) => install.command.run(&before.folders.and(install.folders)),
        Some(Command::Uninstall(uninstall)) => uninstall.run(),
        Some(Command::List(list)) => list.command.run(&before.and(list.source).library_for_people()),
        Some(Command::Expand(expand)) => expand.command.run(&before.and(expand.source).library_for_people()),
        Some(Command::Explain(explain)) => explain.command.run(&before.and(explain.source).library_for_people()),
        Some(Command::New(new)) => new.command.run(before.and(new.source).library()),
        Some(Command::Edit(edit)) => edit.command.run(&before.and(edit.source).library()),
        Some(Command::Check(check)) => check.command.run(&before.and(check.source).library_for_people()),
        Some(Command::Doctor(doctor)) => doctor.command.run(&before.and(doctor.source)),
        Some(Command::Hook(hook)) => hook.command.run(&before.and(hook.source)),
        Some(Command::Completions(completions)) => completions.run(&arguments[0]),
        Some(Command::Man(man)) => man.run(),
    };
    finish(result)
}

fn parse(arguments: &[OsString]) -> Result<Cli, clap::Error> {
    let mut program = command();
    let matches = program.try_get_matches_from_mut(arguments)?;
    refuse_misplaced_option(&mut program, &matches)?;
    Cli::from_arg_matches(&matches)
}

/// Refuses an option before a command that does not have it: without this, clap would read it and nobody would use it.
fn refuse_misplaced_option(program: &mut clap::Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some(command) = matches.subcommand_name().and_then(|name| program.find_subcommand(name)) else { return Ok(()) };
    let is_given = |option: &&Arg| matches.value_source(option.get_id().as_str()) == Some(ValueSource::CommandLine);
    // `install` has a --project that means something else: the help tells them apart.
    let is_own = |option: &Arg| {
        command.get_arguments().any(|own| (own.get_id(), own.get_help()) == (option.get_id(), option.get_help()))
    };
    let misplaced = program.get_arguments().filter(is_given).find(|option| !is_own(option));
    let Some(option) = misplaced.and_then(Arg::get_long) else { return Ok(()) };
    let name = command.get_name();
    let message = if matches!(name, "install" | "uninstall") && option == "project" {
        format!(
            "put --project after `{name}` to register for the project, or after `--`, as in `install codex -- --project`, \
             for a server with the project's prompts"
        )
    } else {
        format!("`{name}` has no option --{option}; leave out the option or the command")
    };
    Err(program.error(ErrorKind::ArgumentConflict, message))
}

/// What can be understood of an incomplete or invalid command line.
fn parse_leniently(arguments: impl IntoIterator<Item = OsString>) -> ArgMatches {
    command().ignore_errors(true).try_get_matches_from(arguments).unwrap_or_default()
}

/// Whether the command in these invalid arguments is `hook`.
fn is_hook(arguments: &[OsString]) -> bool {
    match parse_leniently(arguments.iter().cloned()).subcommand_name() {
        Some(name) => name == "hook",
        // The error is before the command.
        None => arguments.iter().any(|word| word == "hook"),
    }
}

/// The exit status; an error is said.
fn finish(result: anyhow::Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        // The reader closed the pipe, as `head` does.
        Err(error)
            if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            output::error(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
