//! The command line: its options, the library that they select, and one file for each command.
//!
//! Without a command, the program serves MCP on stdio. Commands use the same library and the same expansion, without the
//! protocol.

mod agent;
mod call;
mod check;
mod completions;
mod copy;
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

const ABOUT: &str = "Expands `:research solid-state batteries`, typed in a chat with a coding agent, into the full prompt \
                     from a Markdown file";

const EXAMPLES: &str = "\
Examples:
  prompt-expander install codex                 add it to Codex, then type
                                                `:research solar cells` there
  prompt-expander list                          list your prompts
  prompt-expander expand research solar cells   print what the agent would get
  git diff | prompt-expander expand review      the same, with input from a pipe
  prompt-expander new standup --edit            create a prompt of your own
  prompt-expander doctor                        find out why something does not work

Your prompts:
  Markdown files in the folder `prompt-expander/prompts` of your configuration
  directory (~/.config on Linux), or in the folders given with --prompts.
  Type `:research` for `research.md`, and `:git/commit` for `git/commit.md`.
  Your prompts override built-in prompts of the same name.";

#[derive(Debug, Parser)]
#[command(name = "prompt-expander", version, about = ABOUT, after_help = EXAMPLES, max_term_width = 100)]
#[command(long_about = format!("{ABOUT}.\n\nWithout a command, it serves MCP on standard input and output: this is how an \
                               agent starts it."))]
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
    /// Register with an agent, or list the agents found on this machine
    ///
    /// Adds this program to the agent's config as the MCP server `prompts`, with the given --prompts and --no-builtin. The
    /// rest of the file stays as it is, comments included, and a backup of the file is saved next to it. The change is shown
    /// first; nothing is written until you confirm.
    #[command(after_help = install::EXAMPLES)]
    Install(WithFolders<install::Install>),
    /// Remove what `install` added: the server `prompts` and the hook
    #[command(after_help = install::UNINSTALL_EXAMPLE)]
    Uninstall(install::Uninstall),
    /// List prompts with their descriptions, all of them or those that match a query
    ///
    /// On a terminal, prints a table, and below it the files that should be prompts but cannot be read. Otherwise, prints one
    /// line for each prompt with tabs between name, description, layer (`project`, `user` or `built-in`), tags and usage, and
    /// reports such files on standard error.
    #[command(after_help = list::EXAMPLES)]
    List(WithSource<list::List>),
    /// Print what an agent gets for `:NAME INPUT`
    #[command(after_help = expand::EXAMPLES)]
    Expand(WithSource<expand::Expand>),
    /// Explain an expansion: its file, the value of each argument, and which agents show all of it
    ///
    /// Shows the prompt's file and the prompts of the same name that it overrides; the arguments, their values and where those
    /// come from; which placeholders are filled, and which text in braces stays as it is; and the length of the expansion,
    /// compared with the limits of the agents, of which those that are near are shown. Tokens are estimated from the letters,
    /// digits and punctuation; for English, code, Japanese and Chinese, the estimate is within about a quarter of what models count.
    #[command(after_help = explain::EXAMPLES)]
    Explain(WithSource<explain::Explain>),
    /// Copy to the clipboard what an agent gets for `:NAME INPUT`
    ///
    /// Uses the system's own command: `pbcopy` on macOS, PowerShell on Windows and WSL, `wl-copy` with Wayland, `xclip` or `xsel`
    /// with X11, and `termux-clipboard-set` on Android. Over ssh without any of them, it asks the terminal, with the escape
    /// sequence OSC 52.
    #[command(after_help = copy::EXAMPLES)]
    Copy(WithSource<copy::Copy>),
    /// Create a prompt file
    ///
    /// Prints the path of the new file. Text from a pipe becomes the prompt. An existing file is never changed, and a name that
    /// cannot be typed in a chat is refused.
    #[command(after_help = new::EXAMPLES)]
    New(WithSource<new::New>),
    /// Open a prompt in your editor, and check it afterwards
    ///
    /// The editor is the command in the environment variable VISUAL or EDITOR, which may include arguments. If neither is set,
    /// it is the first of `editor`, `nano` and `vi` that is installed, or `notepad` on Windows. A built-in prompt is first copied
    /// into your own folder; the copy is deleted unless you change it.
    #[command(after_help = edit::EXAMPLES)]
    Edit(WithSource<edit::Edit>),
    /// Check prompt files: where each problem is, and how to fix it
    ///
    /// An error means that a file cannot be used as a prompt. A warning means that a prompt may not do what its author intended.
    /// The exit status is 1 if there are errors.
    #[command(after_help = check::EXAMPLES)]
    Check(WithSource<check::Check>),
    /// Find out why a `:command` does not work: check agents, their configs and your prompts
    ///
    /// Starts each registration of this program as its agent would, with the same command, arguments, environment and working
    /// directory; lists and expands its prompts; and stops it. A registered hook is run only if it runs this program and nothing
    /// else. Changes nothing. Prints one line for each finding, with what to do. The exit status is 1 if something is broken.
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(WithSource<doctor::Doctor>),
    /// Answer an agent's prompt-submit hook: the model gets the expansion without calling a tool
    ///
    /// Reads the event from standard input. If what the user typed begins with the `:command` of a prompt, or has one on a line
    /// of its own, the expansion is added as context; otherwise, nothing is printed. The exit status is always 0, so that
    /// nothing the user types is blocked.
    #[command(after_help = hook::EXAMPLES)]
    Hook(WithSource<hook::Hook>),
    /// Print a script that lets your shell complete commands, options and prompt names
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::Completions),
    /// Print the manual page
    #[command(after_help = man::EXAMPLES)]
    Man(man::Man),
}

/// The definition of the command line: the manual page is generated from it.
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
            return ExitCode::SUCCESS; // any other status may make the agent reject what the user typed
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
        Some(Command::List(list)) => list.command.run(&before.and(list.source).library_with_warnings()),
        Some(Command::Expand(expand)) => expand.command.run(&before.and(expand.source).library_with_warnings()),
        Some(Command::Explain(explain)) => explain.command.run(&before.and(explain.source).library_with_warnings()),
        Some(Command::Copy(copy)) => copy.command.run(&before.and(copy.source).library_with_warnings()),
        Some(Command::New(new)) => new.command.run(before.and(new.source).library()),
        Some(Command::Edit(edit)) => edit.command.run(&before.and(edit.source).library()),
        Some(Command::Check(check)) => check.command.run(&before.and(check.source).library_with_warnings()),
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

/// Refuses an option before a command that does not have it: without this check, clap would accept it, and it would have no effect.
fn refuse_misplaced_option(program: &mut clap::Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some(command) = matches.subcommand_name().and_then(|name| program.find_subcommand(name)) else { return Ok(()) };
    let is_given = |option: &&Arg| matches.value_source(option.get_id().as_str()) == Some(ValueSource::CommandLine);
    // `install` has a --project that means something else: they differ in their help.
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

/// The exit status; an error is printed.
fn finish(result: anyhow::Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        // The reader has closed the pipe, as `head` does.
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
