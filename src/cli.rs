//! The command line: options, the library that they name, and one file for each command.
//!
//! Without a command it serves MCP on stdio. The commands use the same library and the same expansion, and no protocol.

mod check;
mod doctor;
mod expand;
mod hook;
mod install;
mod list;
mod output;
mod serve;

use crate::library::Library;
use clap::{Args, CommandFactory, Parser, Subcommand};
use serve::Serve;
use std::ffi::OsString;
use std::io::{self, ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// A list of directories, separated as in `PATH`; `--prompts` goes before it.
const PROMPTS_VARIABLE: &str = "PROMPT_EXPANDER_PROMPTS";

const ABOUT: &str = "Turns `:research solid-state batteries`, typed in a chat with a coding agent, into the full prompt \
                     kept in a Markdown file";

const EXAMPLES: &str = "\
Examples:
  prompt-expander list                          which prompts there are
  prompt-expander expand research solar cells   what `:research solar cells` gives
  git diff | prompt-expander expand review      the same with standard input
  prompt-expander check                         what is wrong with your files

  codex mcp add prompts -- prompt-expander      add it to Codex, and type
                                                `:research solar cells` there

Your prompts:
  Markdown files in the folder `prompt-expander/prompts` of your configuration
  directory (on Linux ~/.config), or in the folders that --prompts names.
  `research.md` is typed `:research`, `git/commit.md` is typed `:git/commit`.
  A file of yours goes before a built-in prompt of the same name.";

const HOOK_EXAMPLE: &str = "\
Example:
  echo '{\"hook_event_name\": \"UserPromptSubmit\", \"prompt\": \":plan a trip\"}' |
    prompt-expander hook codex";

const DOCTOR_EXAMPLE: &str = "\
Examples:
  prompt-expander doctor          look at each client that is on this machine
  prompt-expander doctor codex    look at Codex only";

const INSTALL_EXAMPLES: &str = "\
Examples:
  prompt-expander install                          which clients are here, and their state
  prompt-expander install codex                    show what would change, and ask
  prompt-expander install codex --hook --yes       with the hook, for a script
  prompt-expander install gemini --prompts ~/team/prompts
  prompt-expander install vscode --project --dry-run
  prompt-expander install codex -- --log-file ~/prompts.log";

const UNINSTALL_EXAMPLE: &str = "\
Example:
  prompt-expander uninstall codex --yes";

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

// What an agent starts us with: no command, and no option but those that name prompts.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
struct OnlyServe {
    #[command(flatten)]
    source: PromptSource,
}

// What a client's hook starts us with, from the name of the command on.
#[derive(Debug, Parser)]
#[command(disable_help_flag = true)]
struct OnlyHook {
    #[command(flatten)]
    hook: WithSource<hook::Hook>,
}

#[derive(Debug, Args)]
struct PromptSource {
    /// A folder of prompt files; may be repeated, the first that has a name wins
    ///
    /// Without it, the folders in the environment variable PROMPT_EXPANDER_PROMPTS (separated as in PATH), and without
    /// that the folder `prompt-expander/prompts` of your configuration directory.
    #[arg(long, value_name = "DIR")]
    prompts: Vec<PathBuf>,
    /// Leave out the built-in prompts
    #[arg(long, overrides_with = "no_builtin")]
    no_builtin: bool,
}

/// A command, with the options that may as well stand before its name.
#[derive(Debug, Args)]
struct WithSource<C: Args> {
    #[command(flatten)]
    command: C,
    #[command(flatten)]
    source: PromptSource,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List all prompts with their descriptions
    ///
    /// In columns on a terminal; otherwise one line per prompt, name and description separated by a tab. Files that
    /// should be prompts but cannot be read are named on standard error.
    List(WithSource<list::List>),
    /// Print what an agent gets for `:NAME INPUT`
    Expand(WithSource<expand::Expand>),
    /// Tell what is wrong with prompt files: place, reason, repair
    ///
    /// An error is a file that is no prompt; a warning is a prompt that may not do what its author thinks. The exit
    /// status is 1 if there are errors.
    Check(WithSource<check::Check>),
    /// Find out why a `:command` does not work: in the clients of this machine, their configurations and your prompts
    ///
    /// Each registration of this program is started as its client would: the same command, arguments, environment and
    /// folder; it is asked for its prompts and their text, and ended. Registered hooks are run. Nothing is changed. One line
    /// tells each finding, and what to do. The exit status is 1 if something is broken.
    #[command(after_help = DOCTOR_EXAMPLE)]
    Doctor(WithSource<doctor::Doctor>),
    /// Answer a client's prompt-submit hook: the model gets the expansion without calling a tool
    ///
    /// Reads the event from standard input. Where the prompt begins with, or has on a line of its own, a `:command` that
    /// exists, what it stands for is added as context; in every other case, nothing is said. The exit status is always 0,
    /// so that no prompt is held back.
    #[command(after_help = HOOK_EXAMPLE)]
    Hook(WithSource<hook::Hook>),
    /// Register with a client, or list the clients that are found here
    ///
    /// Adds this program to the client's config as the server `prompts`, with the --prompts and --no-builtin given. All else
    /// in the file stays as it is, comments included; what it was before is kept beside it. What would change is shown
    /// first, and nothing is written before you agree.
    #[command(after_help = INSTALL_EXAMPLES)]
    Install(WithSource<install::Install>),
    /// Remove what `install` wrote: the server `prompts`, and the hook
    #[command(after_help = UNINSTALL_EXAMPLE)]
    Uninstall(install::Uninstall),
}

/// Runs the program with these arguments, the first of them its own name; gives the exit status.
///
/// 0: it went well. 1: it did not, and standard error says why; for `check`, there are errors. 2: the arguments are
/// not understood.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(Ok(OnlyHook { hook })) = hook_start(&arguments).map(OnlyHook::try_parse_from) {
        return finish(hook.command.run(&hook.source));
    }
    // The commands are left out at first: to describe them all is a seventh of what a start costs. Whatever is no plain
    // start, mistakes included, is read again with all that there is.
    if let Ok(OnlyServe { source }) = OnlyServe::try_parse_from(&arguments) {
        return finish(Serve::default().run(source.library()));
    }
    let cli = match Cli::try_parse_from(&arguments).and_then(Cli::without_idle_options) {
        Ok(cli) => cli,
        Err(error) if error.exit_code() != 0 && is_of_hook(&arguments) && !io::stdin().is_terminal() => {
            return ExitCode::SUCCESS; // a client would hold the prompt back
        }
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let leading = cli.source;
    finish(match cli.command {
        None => cli.serve.run(leading.library()),
        Some(Command::List(list)) => list.command.run(&leading.merged_with(list.source).library()),
        Some(Command::Expand(expand)) => expand.command.run(&leading.merged_with(expand.source).library()),
        Some(Command::Check(check)) => check.command.run(&leading.merged_with(check.source).library()),
        Some(Command::Doctor(doctor)) => doctor.command.run(&leading.merged_with(doctor.source)),
        Some(Command::Hook(hook)) => hook.command.run(&leading.merged_with(hook.source)),
        Some(Command::Install(install)) => install.command.run(&leading.merged_with(install.source)),
        Some(Command::Uninstall(uninstall)) => uninstall.run(),
    })
}

impl Cli {
    /// Refuses an option before a command to which it would mean nothing.
    fn without_idle_options(self) -> Result<Cli, clap::Error> {
        let has_source = self.source.no_builtin || !self.source.prompts.is_empty();
        let message = match (&self.command, self.serve.given()) {
            (Some(_), Some(option)) => format!("{option} is an option of the server; leave it out, or the command"),
            (Some(Command::Uninstall(_)), _) if has_source => {
                "--prompts and --no-builtin mean nothing to uninstall; leave them out".to_owned()
            }
            _ => return Ok(self),
        };
        Err(Cli::command().error(clap::error::ErrorKind::ArgumentConflict, message))
    }
}

/// The arguments from the name of the command on, if it is `hook` and comes first, as clients have it.
fn hook_start(arguments: &[OsString]) -> Option<&[OsString]> {
    arguments.get(1..).filter(|rest| rest.first().is_some_and(|command| command == "hook"))
}

/// Whether the command among these arguments, which are not understood, is `hook`.
fn is_of_hook(arguments: &[OsString]) -> bool {
    let program = Cli::command();
    let mut commands = arguments.iter().skip(1).filter_map(|argument| program.find_subcommand(argument));
    commands.next().is_some_and(|command| command.get_name() == "hook")
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

impl PromptSource {
    /// Both: the directories of `self` go before those of `later`.
    fn merged_with(self, later: PromptSource) -> PromptSource {
        PromptSource {
            prompts: [self.prompts, later.prompts].concat(),
            no_builtin: self.no_builtin || later.no_builtin,
        }
    }

    /// The library that the options, or else the environment, name.
    fn library(&self) -> Library {
        let listed = std::env::var_os(PROMPTS_VARIABLE).unwrap_or_default();
        let listed = std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty());
        let named: Vec<PathBuf> = if self.prompts.is_empty() { listed.collect() } else { self.prompts.clone() };
        let library = if named.is_empty() {
            Library::own(config_dir().map(|config| config.join("prompt-expander").join("prompts")))
        } else {
            Library::named(named.iter().map(|path| absolute(path)))
        };
        if self.no_builtin { library } else { library.with_builtin() }
    }
}

/// The path from the root. `~/` is the home directory also where no shell has said so, as in a client's settings.
fn absolute(path: &Path) -> PathBuf {
    let path = match path.strip_prefix("~").map(|below| (below, home_dir())) {
        Ok((below, Some(home))) => home.join(below),
        _ => path.to_owned(),
    };
    std::path::absolute(&path).unwrap_or(path)
}

/// The user's home directory, if the environment names it.
///
/// Elsewhere than on Linux the system is asked as well. There, to ask is to load the libraries that know of users (NSS),
/// which ends a program that is linked statically with a segmentation fault.
fn home_dir() -> Option<PathBuf> {
    (!cfg!(target_os = "linux") || is_absolute("HOME")).then(dirs::home_dir).flatten()
}

/// The user's configuration directory, found in the same way.
fn config_dir() -> Option<PathBuf> {
    let is_named = is_absolute("XDG_CONFIG_HOME") || is_absolute("HOME");
    (!cfg!(target_os = "linux") || is_named).then(dirs::config_dir).flatten()
}

fn is_absolute(variable: &str) -> bool {
    std::env::var_os(variable).is_some_and(|path| Path::new(&path).is_absolute())
}
