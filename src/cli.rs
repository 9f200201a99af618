//! The command line: options, the library that they name, and one file for each command.
//!
//! Without a command it serves MCP on stdio. The commands use the same library and the same expansion, and no protocol.

mod agent;
mod call;
mod check;
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
mod start;
mod stdin;

use clap::{Args, CommandFactory, Parser, Subcommand};
use serve::Serve;
use source::{Folders, PROJECT, PromptSource};
use start::Start;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal};
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

/// A command, with the options that may as well stand before its name.
#[derive(Debug, Args)]
struct WithSource<C: Args> {
    #[command(flatten)]
    command: C,
    #[command(flatten)]
    source: PromptSource,
}

/// The same for a command that gives `--project` another meaning.
#[derive(Debug, Args)]
struct WithFolders<C: Args> {
    #[command(flatten)]
    command: C,
    #[command(flatten)]
    folders: Folders,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Register with an agent, or list the agents on this machine
    ///
    /// Adds this program to the agent's config as the server `prompts`, with the given --prompts and --no-builtin. All else
    /// in the file stays as it is, comments included, and a backup is kept next to it. What would change is shown first, and
    /// nothing is written before you agree.
    #[command(after_help = install::EXAMPLES)]
    Install(WithFolders<install::Install>),
    /// Remove what `install` wrote: the server `prompts` and the hook
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
    /// Find out why a `:command` does not work: check the agents on this machine, their configurations and your prompts
    ///
    /// Starts each registration of this program as its agent would, with the same command, arguments, environment and folder,
    /// asks for its prompts and their text, and ends it. A registered hook is run if it does nothing but run this program.
    /// Nothing is changed. Prints one line for each finding, with what to do. The exit status is 1 if something is broken.
    #[command(after_help = doctor::EXAMPLES)]
    Doctor(WithSource<doctor::Doctor>),
    /// Answer an agent's prompt-submit hook: the model gets the expansion without calling a tool
    ///
    /// Reads the event from standard input. If the message begins with a `:command` that exists, or has one at the beginning
    /// of a line, prints its expansion as context for the model; otherwise prints nothing. The exit status is always 0, so
    /// that no message is blocked.
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

/// Runs the program with these arguments, the first of them its own name; gives the exit status.
///
/// 0: it went well. 1: it did not, and standard error says why; for `check`, `edit` and `new`, a file is no prompt, and for
/// `doctor`, something is broken. 2: the arguments are not understood.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    match Start::parse(&arguments) {
        Some(Start::Serve(source)) => return finish(Serve::default().run(source.library())),
        Some(Start::Hook(hook, source)) => return finish(hook.run(&source)),
        None => {}
    }
    if let Some(answered) = completions::answer(&arguments) {
        return answered;
    }
    let cli = match Cli::try_parse_from(&arguments).and_then(Cli::without_idle_options) {
        Ok(cli) => cli,
        Err(error) if error.exit_code() != 0 && is_of_hook(&arguments) && !io::stdin().is_terminal() => {
            return ExitCode::SUCCESS; // another status would block the user's message
        }
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let leading = cli.source;
    finish(match cli.command {
        None => cli.serve.run(leading.library()),
        Some(Command::Install(install)) => install.command.run(&leading.folders.merged_with(install.folders)),
        Some(Command::Uninstall(uninstall)) => uninstall.run(),
        Some(Command::List(list)) => list.command.run(&leading.merged_with(list.source).library_for_people()),
        Some(Command::Expand(expand)) => expand.command.run(&leading.merged_with(expand.source).library_for_people()),
        Some(Command::Explain(explain)) => {
            explain.command.run(&leading.merged_with(explain.source).library_for_people())
        }
        Some(Command::New(new)) => new.command.run(leading.merged_with(new.source).library()),
        Some(Command::Edit(edit)) => edit.command.run(&leading.merged_with(edit.source).library()),
        Some(Command::Check(check)) => check.command.run(&leading.merged_with(check.source).library_for_people()),
        Some(Command::Doctor(doctor)) => doctor.command.run(&leading.merged_with(doctor.source)),
        Some(Command::Hook(hook)) => hook.command.run(&leading.merged_with(hook.source)),
        Some(Command::Completions(completions)) => completions.run(&arguments[0]),
        Some(Command::Man(man)) => man.run(),
    })
}

impl Cli {
    /// Refuses an option before a command to which it would mean nothing.
    fn without_idle_options(self) -> Result<Cli, clap::Error> {
        let has_folders = self.source.folders.is_given();
        let message = match (&self.command, self.serve.given()) {
            (Some(_), Some(option)) => format!("{option} is an option of the server; leave it out, or the command"),
            (Some(Command::Uninstall(_)), _) if has_folders => {
                "--prompts and --no-builtin mean nothing to uninstall; leave them out".to_owned()
            }
            (Some(Command::Install(_) | Command::Uninstall(_)), _) if self.source.project => {
                format!(
                    "{PROJECT} goes behind the command, to register for the project; and behind `--`, as in \
                         `install codex -- {PROJECT}`, for a server that has the prompts of the project"
                )
            }
            _ => return Ok(self),
        };
        Err(Cli::command().error(clap::error::ErrorKind::ArgumentConflict, message))
    }
}

/// Whether the command among these arguments, which are not understood, is `hook`.
fn is_of_hook(arguments: &[OsString]) -> bool {
    let program = Cli::command();
    let takes_value = |option: &str| {
        let mut known = program.get_arguments().filter(|known| known.get_action().takes_values());
        known.any(|known| known.get_long().is_some_and(|long| option.strip_prefix("--") == Some(long)))
    };
    let mut words = arguments.iter().skip(1).map(|word| word.to_string_lossy());
    while let Some(word) = words.next() {
        if takes_value(&word) {
            words.next();
        } else if !word.starts_with('-') {
            return word == "hook";
        }
    }
    false
}

/// The exit status; an error is said.
fn finish(result: anyhow::Result<ExitCode>) -> ExitCode {
    match result {
        Ok(code) => code,
        // The reader closed the pipe, as `head` does.
        Err(error) if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == ErrorKind::BrokenPipe) => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            output::error(&format!("{error:#}"));
            ExitCode::FAILURE
        }
    }
}
