//! The command line: its options, the library that they select, and one file for each command.
//!
//! Without a command, the program serves MCP on stdio. Commands use the same library and the same
//! expansion, without the protocol.

mod agent;
mod append;
mod call;
mod check;
mod clipboard;
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
mod list;
mod man;
mod mv;
mod new;
mod output;
mod pack;
mod pager;
mod path;
mod pick;
mod restore;
mod review;
mod rm;
mod serve;
mod short_help;
mod show;
mod source;
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

use crate::prompt::COLONS;
use crate::prompt::similar::closest;
use crate::wording::named;
use anyhow::bail;
use clap::builder::Styles;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use output::Reporter;
use serve::ServeCommand;
use serve::options::Serve;
use source::{PromptSource, hidden_options};
use std::borrow::Cow;
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
#[command(name = "prompt-expander", about = ABOUT, after_help = EXAMPLES, max_term_width = 100)]
#[command(long_about = format!("{ABOUT}.\n\nWithout a command, it serves MCP on standard input and output: this is how an \
                               agent starts it. On a terminal, it is `pick`."))]
struct Cli {
    #[command(flatten)]
    _options: Options,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Args)]
struct Options {
    #[command(
        flatten,
        next_help_heading = "Options for all commands that read prompts"
    )]
    _common: PromptSource,
    #[command(
        flatten,
        next_help_heading = "Options of the server, which runs without a command"
    )]
    _serve: Serve,
    /// Print the version, the commit that it was built from, and how it was installed
    #[arg(long, short = 'V', id = "version")]
    _version: bool,
    /// Print the version as one JSON object: `version`, `commit`, `date` and `installed`
    #[arg(long = "json", id = "version_json", requires = "version")]
    _version_json: bool,
}

/// The end of the help of a command that has the options for all commands.
fn with_common(examples: &str) -> String {
    format!(
        "{examples}\n\n`prompt-expander --help` lists the options for all commands, such as --prompts and --project."
    )
}

#[derive(Debug, Subcommand)]
#[command(defer = true)] // the options of the one command that runs, if any, are enough
enum Command {
    /// Register this program with agents, or list the agents found on this machine
    ///
    /// Adds this program to the config of each agent as the MCP server `prompts`, with its hook.
    /// It registers no options except --config, because config.toml says for all agents which
    /// prompts there are. The rest of each file stays as it is, comments included.
    ///
    /// The change is shown first; nothing is written until you confirm. One backup is kept next to
    /// each file: `FILE.before-prompt-expander`, its state before the first change.
    ///
    /// For Gemini CLI, a new entry contains `"trust": true`, so that Gemini CLI calls the tools of
    /// this server without asking you; --no-trust leaves it out.
    #[command(after_help = install::EXAMPLES)]
    Install(install::Install),
    /// Remove the server and the hook from agents, or list what is registered
    ///
    /// A config in which nothing else has changed is restored from its backup, or removed if
    /// `install` created it. Folders are never removed. The change is shown first; nothing is
    /// written until you confirm.
    #[command(after_help = install::UNINSTALL_EXAMPLES)]
    Uninstall(install::Uninstall),
    /// List all prompts, or those that match a query
    ///
    /// On a terminal, prints a table, and below it the files that should be prompts but are broken.
    /// Otherwise, prints one line for each prompt with tabs between name, description, layer
    /// (`project`, `user`, `team`, `pack`, `remote` or `built-in`; with its pack and commit or, if
    /// it is for another program, its format, such as `user (claude)`), tags and usage, and reports
    /// such files on standard error.
    #[command(after_help = with_common(list::EXAMPLES))]
    List(list::List),
    /// Print what an agent gets for `:NAME INPUT`
    #[command(after_help = with_common(expand::EXAMPLES))]
    Expand(expand::Expand),
    /// Explain an expansion: its file, the value of each argument, and what is replaced
    ///
    /// Shows the prompt's file and the prompts of the same name that it overrides; the arguments,
    /// their values and where those come from; which placeholders are filled, and which text in
    /// braces stays as it is; and the length of the expansion, with the agents that do not get all
    /// of it at once.
    #[command(after_help = with_common(explain::EXAMPLES))]
    Explain(explain::Explain),
    /// Copy what an agent gets for `:NAME INPUT` to the clipboard
    ///
    /// Uses the system's own command: `pbcopy` on macOS, PowerShell on Windows and WSL, `wl-copy`
    /// with Wayland, `xclip` or `xsel` with X11, and `termux-clipboard-set` on Android. Where none
    /// of them works, asks your terminal to copy the text, with the escape sequence OSC 52.
    #[command(after_help = with_common(copy::EXAMPLES))]
    Copy(copy::Copy),
    /// Find a prompt while you type, fill it in, and print what an agent gets
    ///
    /// Draws on the terminal itself, so the output may be a pipe: `prompt-expander pick | pbcopy`.
    /// Type to search in names, titles, tags and descriptions; Enter chooses, and then fills in the
    /// arguments and shows the expansion: Enter prints it, `c` copies it, `e` opens it in your
    /// editor, and Esc goes back. Text from a pipe is the input. With NO_COLOR, draws without
    /// colors. If nothing is chosen, the exit status is 1. Without arguments, the program does the
    /// same on a terminal.
    ///
    /// Needs a terminal that it can draw on: there is no picker on Windows, or with TERM=dumb.
    #[command(after_help = with_common(pick::EXAMPLES))]
    Pick(pick::Pick),
    /// Expand prompts in the draft of a message: the editor for your agent
    ///
    /// Codex, Claude Code, Gemini CLI and opencode open the draft of your message in the editor
    /// that VISUAL names, and take back what is saved; nothing is sent. A draft with commands comes
    /// back with each one expanded in its place. Otherwise, you pick a prompt, and the draft is its
    /// input. Esc leaves the draft as it was. If `pick` cannot draw, and for a file that is no agent's
    /// draft, --then is run at once.
    #[command(after_help = with_common(compose::EXAMPLES))]
    Compose(compose::Compose),
    /// Create a prompt file
    ///
    /// Prints the path of the new file. Text from a pipe becomes the prompt. Without such text, the
    /// file is a template for you to fill in; it is not created if another prompt has the same
    /// name, unless you pass --empty. An existing file is never changed, and a name that cannot be
    /// typed in a chat is refused. With --project, the file is created in the project's folder
    /// `.prompts`. If there is none, it is created at the root of the repository or, outside a
    /// repository, in the working directory.
    #[command(after_help = with_common(new::EXAMPLES))]
    New(new::New),
    /// Open a prompt in your editor, and check it afterwards
    ///
    /// The editor is the command in the environment variable VISUAL or EDITOR, which may include
    /// arguments. If neither is set, it is the first of `editor`, `nano` and `vi` that is
    /// installed, or `notepad` on Windows. A built-in prompt is first copied into your own folder;
    /// with --project, any prompt that is not in the project's folder `.prompts` is first copied
    /// there. The copy is deleted unless you change it.
    #[command(after_help = with_common(edit::EXAMPLES))]
    Edit(edit::Edit),
    /// Print the path of a prompt's file, or of the folder of your prompts
    ///
    /// Without a name, prints the folder in which `new` and `edit` create files: the first
    /// --prompts folder, your own folder or, with --project, the project's.
    #[command(after_help = with_common(path::EXAMPLES))]
    Path(path::PathOf),
    /// Print the file of a prompt as it is, even of a built-in or broken one
    #[command(after_help = with_common(show::EXAMPLES))]
    Show(show::Show),
    /// Remove your own prompts or, with --project, prompts of the project
    ///
    /// Shows the files and asks before removing them; without a terminal, --yes is needed. Prints
    /// the path of each file that was removed, and says which prompt its name refers to now, if
    /// any. If the file is a symlink, only the symlink is removed. The test file of a prompt is
    /// removed, too.
    ///
    /// The text of a removed prompt stays in the folder .history next to your prompts, and
    /// `restore` brings it back.
    #[command(after_help = with_common(rm::EXAMPLES))]
    Rm(rm::Rm),
    /// Rename one of your own prompts or, with --project, one of the project's
    ///
    /// The file stays in the same prompts folder, and its content does not change. Missing folders
    /// are created. No existing file is overwritten. The test file is renamed, too, and the earlier
    /// versions get the new name. Prints the new path.
    #[command(after_help = with_common(mv::EXAMPLES))]
    Mv(mv::Mv),
    /// List the versions of one of your prompts, with who wrote them and why
    ///
    /// Each change by an agent, the web page, `edit`, `rm` or `restore` keeps the old text in the
    /// folder `.history` next to your prompts, even one that you wrote by hand. Prints the newest
    /// first; without a terminal, one line for each version with tabs between revision, time, what
    /// was done, author and note.
    #[command(after_help = with_common(history::EXAMPLES))]
    History(history::History),
    /// Show what has changed in one of your prompts since its last version, or an earlier one
    #[command(after_help = with_common(diff::EXAMPLES))]
    Diff(diff::Diff),
    /// Restore an earlier version of one of your prompts, or a prompt that was deleted
    ///
    /// Prints the path of the file. The text that is replaced stays in the history, so that a
    /// restore can be undone. A prompt whose file you deleted yourself can be restored if `history`
    /// lists a version of it.
    #[command(after_help = with_common(restore::EXAMPLES))]
    Restore(restore::Restore),
    /// Import prompts of other programs: write them as Markdown files into your own folder
    ///
    /// Reads a folder of Claude Code, Codex, Gemini CLI, opencode, VS Code, Cursor, fabric, llm,
    /// Continue or hexai as those read it, and writes each prompt as a Markdown file that expands
    /// to the same. Says what is different, with file and line, and what to do about it. No file is
    /// ever overwritten: a prompt whose name you have already with another text is left out, and
    /// the exit status is 1. The original files stay as they are.
    #[command(after_help = with_common(import::EXAMPLES))]
    Import(import::Import),
    /// Trust the prompts of a repository, so that every agent gets them
    ///
    /// Shows every text in the folder `.prompts` of the repository, says which prompts they
    /// replace, and asks. From then on, the prompts are served without an option. Prompts that a
    /// later pull adds or changes are served, too; `list` counts them, and `trust` shows the
    /// differences. A linked worktree serves only the texts that you were shown. A folder
    /// `.prompts` below the root needs its own `trust`.
    #[command(after_help = with_common(trust::EXAMPLES))]
    Trust(trust::Trust),
    /// Add, update and list packs: prompts from git repositories, pinned to a commit
    ///
    /// A pack is served as `:NAME/PROMPT`, and overrides nothing. Every text is shown before it is
    /// added, and every change before it is taken. The commit and the SHA-256 of each file are in
    /// packs.lock beside config.toml or, with --project, in the project's folder `.prompts`. A file
    /// that differs is not served.
    #[command(subcommand, after_help = with_common(pack::EXAMPLES))]
    Pack(pack::PackCommand),
    /// Check prompt files, and say where each problem is and how to fix it
    ///
    /// An error means that a file cannot be used as a prompt. A warning means that a prompt may not
    /// do what its author intended. Test files are checked, but not run; `test` does that. The exit
    /// status is 1 if there are errors or, with --strict, warnings.
    #[command(after_help = with_common(check::EXAMPLES))]
    Check(check::Check),
    /// Test prompts: whether they expand to what their test files say
    ///
    /// The tests of `NAME.md` are in `NAME.test.txt` next to it: cases with an input, and the text
    /// that is expected, texts that it contains or lacks, or an error. Prints one line for each
    /// case, and a diff if the text is another one. Nothing but the expansion is tested: no model
    /// is asked. The exit status is 1 if a case failed, or a test file is broken or belongs to no
    /// prompt.
    #[command(after_help = with_common(test::EXAMPLES))]
    Test(test::Test),
    /// Find out why a `:command` does not work: check agents, their configs and your prompts
    ///
    /// Starts each registered server as its agent would, with the same command, arguments,
    /// environment and working directory; lists its prompts; and stops it. A registered hook is run
    /// only if it runs this program and nothing else. Writes nothing, not even to the files of
    /// --tap and --log-file. Prints one line for each agent that is found on this machine or has
    /// this program registered, and says what to do. The exit status is 1 if something is broken.
    #[command(after_help = with_common(doctor::EXAMPLES))]
    Doctor(doctor::Doctor),
    /// Answer an agent's prompt-submit hook: the model gets the expansion without calling a tool
    ///
    /// Reads the event from standard input. If a line of the message begins with the `:command` of
    /// a prompt, or its text mentions one, as in `check this against :style`, the expansion is
    /// added as context. If the message begins with a misspelled name, a question is added;
    /// otherwise, nothing is printed. The exit status is always 0, so that no message is blocked.
    #[command(after_help = with_common(hook::EXAMPLES))]
    Hook(hook::Hook),
    /// Run the server: over HTTP for many clients with --http, else on standard input and output
    ///
    /// Without --http, this is the same as no command. Over HTTP, Ctrl-C or SIGTERM stops it:
    /// requests that are running are answered first. It says on standard error where it listens.
    #[command(after_help = with_common(serve::EXAMPLES))]
    Serve(Box<ServeCommand>),
    /// Add, list and remove the tokens of clients of a server over HTTP
    #[cfg(feature = "http")]
    #[command(subcommand, after_help = token::EXAMPLES)]
    Token(token::Token),
    /// Prepare a PostgreSQL database for prompts, and copy a folder to it or from it
    #[cfg(feature = "store")]
    #[command(after_help = store::EXAMPLES)]
    Store(store::StoreCommand),
    /// Print a script that lets your shell complete commands, options and prompt names
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::Completions),
    /// Print the manual page
    #[command(after_help = man::EXAMPLES)]
    Man,
}

/// The definition of the command line: the manual page is generated from it.
pub fn command() -> clap::Command {
    with_common_options(|_| true)
}

/// The same for these arguments. To describe the common options of each command would take longer
/// than everything else at a start.
fn command_for(arguments: &[OsString]) -> clap::Command {
    let begins_with = |mark: &[char]| {
        arguments
            .iter()
            .any(|word| word.to_string_lossy().starts_with(mark))
    };
    let (has_option, has_colon) = (begins_with(&['-']), begins_with(&COLONS));
    with_common_options(|name| {
        has_option && (arguments.iter().any(|word| word == name) || (has_colon && name == "expand"))
    })
}

fn with_common_options(is_needed: impl Fn(&str) -> bool) -> clap::Command {
    Cli::command().mut_subcommands(|command| match command.get_name() {
        "install" | "uninstall" | "token" | "store" | "completions" | "man" => command,
        "pack" if is_needed("pack") => command.args(
            hidden_options()
                .into_iter()
                .map(|option| option.global(true)),
        ),
        name if is_needed(name) => command.args(hidden_options()),
        _ => command,
    })
}

/// Runs the program with these arguments, the first of which is its own name; returns the exit
/// status.
///
/// 0: success. 1: failure, and standard error says why; for `check`, `edit` and `new`, a file has
/// an error, for `test`, a test failed, and for `doctor`, something is broken. 2: the arguments are
/// invalid.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    if let Some(answered) = completions::answer(&arguments, command) {
        return answered;
    }
    if arguments.get(1).is_some_and(|first| first == "-h") {
        let printed = output::print(&short_help::text(&command()));
        return finish(printed.map(done), Reporter::for_people());
    }
    // Without styles, because an error repeats words of others, and has escape sequences only if
    // those have some.
    let mut parsed = match parse(&arguments, Styles::plain()) {
        Ok(parsed) => parsed,
        Err(error) => return explain_usage(error, &arguments),
    };
    let reporter = reporter_for(&parsed.matches);
    let status = finish(run_command(&mut parsed, &arguments, &reporter), reporter);
    #[cfg(feature = "openapi")]
    if let Some(team) = &parsed.source.settings.team {
        team.refresh_if_due();
    }
    status
}

/// Prints help, or why a command line is invalid. Returns the exit status.
fn explain_usage(error: clap::Error, arguments: &[OsString]) -> ExitCode {
    if error.exit_code() != 0 && !io::stdin().is_terminal() && is_hook(arguments) {
        return ExitCode::SUCCESS; // any other status may make the agent reject what the user typed
    }
    if output::is_help(&error) {
        let with_styles = parse(arguments, Styles::styled()).err().unwrap_or(error);
        Reporter::for_people().usage(&with_styles, arguments);
        return ExitCode::from(with_styles.exit_code() as u8);
    }
    let reporter = reporter_for(&parse_leniently(arguments.to_vec()));
    reporter.usage(&error, arguments);
    reporter.finish();
    ExitCode::from(error.exit_code() as u8)
}

/// Returns how the command of a line reports: with `--json` for scripts.
fn reporter_for(line: &ArgMatches) -> Reporter {
    if is_given(line, "json") {
        Reporter::for_scripts()
    } else {
        Reporter::for_people()
    }
}

/// Whether a flag is given, before the command or after it.
fn is_given(line: &ArgMatches, flag: &str) -> bool {
    let is_set = |line: &ArgMatches| matches!(line.try_get_one::<bool>(flag), Ok(Some(true)));
    is_set(line)
        || line
            .subcommand()
            .is_some_and(|(_, command)| is_set(command))
}

/// Runs the command of a line, which has these words.
fn run_command(
    parsed: &mut ParsedLine,
    words: &[OsString],
    reporter: &Reporter,
) -> anyhow::Result<ExitCode> {
    let ParsedLine {
        command,
        matches,
        source,
    } = parsed;
    match command.take() {
        None => run_without_command(matches, source, words, reporter),
        Some(Command::Install(install)) => install.run(source, reporter),
        Some(Command::Uninstall(uninstall)) => uninstall.run(reporter),
        Some(Command::List(list)) => list
            .run(usable_without_notes(source, reporter)?, reporter)
            .map(done),
        Some(Command::Expand(expand)) => expand.run(usable(source, reporter)?, reporter).map(done),
        Some(Command::Explain(explain)) => {
            explain.run(usable(source, reporter)?, reporter).map(done)
        }
        Some(Command::Copy(copy)) => copy.run(usable(source, reporter)?, reporter).map(done),
        Some(Command::Pick(pick)) => pick.run(usable(source, reporter)?, reporter),
        Some(Command::Compose(compose)) => compose.run(usable(source, reporter), reporter),
        Some(Command::New(new)) => new.run(with_warnings(source, reporter)?, reporter),
        Some(Command::Edit(edit)) => edit.run(with_warnings(source, reporter)?, reporter),
        Some(Command::Path(path)) => path
            .run(with_warnings(source, reporter)?, reporter)
            .map(done),
        Some(Command::Show(show)) => show
            .run(with_warnings(source, reporter)?, reporter)
            .map(done),
        Some(Command::Rm(rm)) => rm.run(with_warnings(source, reporter)?, reporter),
        Some(Command::Mv(mv)) => mv.run(with_warnings(source, reporter)?, reporter),
        Some(Command::History(history)) => history
            .run(with_warnings(source, reporter)?, reporter)
            .map(done),
        Some(Command::Diff(diff)) => diff
            .run(with_warnings(source, reporter)?, reporter)
            .map(done),
        Some(Command::Restore(restore)) => restore
            .run(with_warnings(source, reporter)?, reporter)
            .map(done),
        Some(Command::Import(import)) => import.run(with_warnings(source, reporter)?, reporter),
        Some(Command::Pack(pack)) => pack.run(with_warnings(source, reporter)?, reporter),
        Some(Command::Check(check)) => check.run(usable(source, reporter)?, reporter),
        Some(Command::Test(test)) => test.run(usable(source, reporter)?, reporter),
        Some(Command::Trust(trust)) => {
            usable_without_notes(source, reporter)?;
            trust.run(source, reporter).map(done)
        }
        Some(Command::Doctor(doctor)) => doctor.run(loaded(source)),
        Some(Command::Hook(hook)) => hook.run(loaded(source)).map(done),
        Some(Command::Serve(command)) => {
            let source = loaded(source);
            #[cfg(feature = "store")]
            source
                .store
                .address(!source.folders.prompts.is_empty())
                .transpose()
                .map_err(anyhow::Error::msg)?;
            command
                .run(source, Serve::from_arg_matches(matches)?, reporter)
                .map(done)
        }
        #[cfg(feature = "http")]
        Some(Command::Token(token)) => token.run(reporter).map(done),
        #[cfg(feature = "store")]
        Some(Command::Store(store)) => store.run(source, reporter).map(done),
        Some(Command::Completions(completions)) => completions.run(&words[0]),
        Some(Command::Man) => man::run().map(done),
    }
}

/// Prints the version if it is asked for. Lets a person pick a prompt on a terminal, else serves.
fn run_without_command(
    matches: &ArgMatches,
    source: &mut PromptSource,
    words: &[OsString],
    reporter: &Reporter,
) -> anyhow::Result<ExitCode> {
    if is_given(matches, "version") {
        return version::print(is_given(matches, "version_json")).map(done);
    }
    if words.len() == 1 && io::stdin().is_terminal() && io::stdout().is_terminal() {
        return pick::Pick::default().run(usable(source, reporter)?, reporter);
    }
    let serve = Serve::from_arg_matches(matches)?;
    serve.run(loaded(source), reporter).map(done)
}

/// The exit status of a command that has only one if it succeeds.
fn done((): ()) -> ExitCode {
    ExitCode::SUCCESS
}

/// Adds what the settings file says to the options.
fn loaded(source: &mut PromptSource) -> &PromptSource {
    #[cfg(feature = "store")]
    if source.open_store() {
        return source;
    }
    config::load(source);
    source
}

/// Does the same for a command, which refuses to guess which prompts are meant if that file is
/// unusable.
fn with_warnings<'s>(
    source: &'s mut PromptSource,
    reporter: &Reporter,
) -> anyhow::Result<&'s PromptSource> {
    let source = usable(source, reporter)?;
    reporter.warn_all(&source.settings.problems);
    Ok(source)
}

/// Does the same for a command that shows what else is wrong with the file by itself.
fn usable<'s>(
    source: &'s mut PromptSource,
    reporter: &Reporter,
) -> anyhow::Result<&'s PromptSource> {
    let source = usable_without_notes(source, reporter)?;
    if io::stderr().is_terminal() {
        reporter.note_if_any(source.changes_to_note());
    }
    Ok(source)
}

/// Does the same for a command that itself says what has changed in the project.
fn usable_without_notes<'s>(
    source: &'s mut PromptSource,
    reporter: &Reporter,
) -> anyhow::Result<&'s PromptSource> {
    let source = loaded(source);
    get_list_of_team(source, reporter);
    if source.settings.is_unusable
        && let Some(problem) = source.settings.problems.first()
    {
        bail!("{problem}");
    }
    #[cfg(feature = "store")]
    if let Some(store) = &source.opened {
        store
            .wait()
            .map_err(|problem| anyhow::anyhow!("{problem}"))?;
    }
    Ok(source)
}

/// Waits for the names of the team's prompts, if they were never read. Warns if they cannot be
/// read.
#[cfg_attr(not(feature = "openapi"), allow(unused_variables))]
fn get_list_of_team(source: &PromptSource, reporter: &Reporter) {
    #[cfg(feature = "openapi")]
    if let Some(team) = &source.settings.team
        && let Err(problem) = team.get_first_list()
    {
        reporter.warn(&problem.to_string());
    }
}

/// A valid command line.
struct ParsedLine {
    /// `None`: the server runs.
    command: Option<Command>,
    matches: ArgMatches,
    source: PromptSource,
}

fn parse(arguments: &[OsString], styles: Styles) -> Result<ParsedLine, clap::Error> {
    if let Some(parsed) = parse_without_command(arguments) {
        return parsed;
    }
    let mut program = command_for(arguments).styles(styles);
    let matches = match program.try_get_matches_from_mut(arguments) {
        Err(error) => match matches_of_expand(&mut program, arguments, &error) {
            Some(matches) => matches?,
            None => return Err(with_tip(with_key(error, arguments), &program, arguments)),
        },
        matches => matches?,
    };
    refuse_misplaced_option(&mut program, &matches)?;
    Ok(ParsedLine {
        command: Cli::from_arg_matches(&matches)?.command,
        source: PromptSource::of(&matches)?,
        matches,
    })
}

/// Parses a line without a command, as an agent starts the server: to describe all commands to the
/// parser would take a fifth of that start. `None`: the line may have a command, or is invalid.
fn parse_without_command(arguments: &[OsString]) -> Option<Result<ParsedLine, clap::Error>> {
    let first = arguments.get(1).map(|first| first.to_string_lossy());
    if first.is_some_and(|first| !first.starts_with('-')) {
        return None;
    }
    let program = Options::augment_args(clap::Command::new(""));
    let matches = program.try_get_matches_from(arguments).ok()?;
    let source = PromptSource::from_arg_matches(&matches);
    Some(source.map(|source| ParsedLine {
        command: None,
        matches,
        source,
    }))
}

/// Reads `prompt-expander :research …` as a call of `expand`; `None` if the error is another one.
fn matches_of_expand(
    program: &mut clap::Command,
    arguments: &[OsString],
    error: &clap::Error,
) -> Option<Result<ArgMatches, clap::Error>> {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidSubcommand) else {
        return None;
    };
    if !unknown.starts_with(COLONS) {
        return None;
    }
    let at = arguments
        .iter()
        .position(|word| word.to_str() == Some(unknown))?;
    let mut arguments = arguments.to_vec();
    arguments.insert(at, "expand".into());
    Some(program.try_get_matches_from_mut(arguments))
}

/// Adds to the error for an option that `install` does not have the settings key with its meaning.
fn with_key(mut error: clap::Error, arguments: &[OsString]) -> clap::Error {
    let Some(ContextValue::String(option)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let Some(key) = option.strip_prefix("--").and_then(config::key_of) else {
        return error;
    };
    let line = parse_leniently(arguments.to_vec());
    if error.kind() != ErrorKind::UnknownArgument || line.subcommand_name() != Some("install") {
        return error;
    }
    let tip = format!("write `{key}` into config.toml instead");
    error.remove(ContextKind::SuggestedArg);
    error.insert(
        ContextKind::Suggested,
        ContextValue::StyledStrs(vec![tip.into()]),
    );
    error
}

/// Says of an unknown command which prompt, or else which command or prompt of a similar name, may
/// be meant.
fn with_tip(
    mut error: clap::Error,
    program: &clap::Command,
    arguments: &[OsString],
) -> clap::Error {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidSubcommand).cloned()
    else {
        return error;
    };
    let mut source = PromptSource::of(&parse_leniently(arguments.to_vec())).unwrap_or_default();
    let view = loaded(&mut source).library().view();
    let prompts = view.list().names();
    let commands: Vec<&str> = program
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect();
    let known = commands
        .iter()
        .copied()
        .chain(prompts.iter().map(|name| &**name));
    let found = view.find(&unknown).ok().map(|found| found.name.to_string());
    let is_command = |name: &str| found.is_none() && commands.contains(&name);
    let tip = match found.as_deref().or_else(|| closest(&unknown, known)) {
        None => "`prompt-expander list` shows all prompts".to_owned(),
        Some(command) if is_command(command) => format!("a similar command exists: `{command}`"),
        Some(name) => {
            let mut words: Vec<Cow<'_, str>> = arguments
                .iter()
                .map(|word| word.to_string_lossy())
                .collect();
            words.drain(
                ..words
                    .iter()
                    .position(|word| *word == unknown)
                    .map_or(0, |at| at + 1),
            );
            let prompt = format!(":{name}");
            let words = ["prompt-expander", &prompt]
                .into_iter()
                .chain(words.iter().map(|word| &**word));
            let command =
                shlex::try_join(words).unwrap_or_else(|_| format!("prompt-expander {prompt}"));
            format!("to expand the prompt {}, write `{command}`", named(name))
        }
    };
    error.remove(ContextKind::SuggestedSubcommand);
    error.insert(
        ContextKind::Suggested,
        ContextValue::StyledStrs(vec![tip.into()]),
    );
    error
}

/// Refuses an option before a command that does not have it: without this check, clap would accept
/// it, and it would have no effect.
fn refuse_misplaced_option(
    program: &mut clap::Command,
    matches: &ArgMatches,
) -> Result<(), clap::Error> {
    let Some(command) = matches
        .subcommand_name()
        .and_then(|name| program.find_subcommand(name))
    else {
        return Ok(());
    };
    let is_given = |option: &&Arg| {
        matches.value_source(option.get_id().as_str()) == Some(ValueSource::CommandLine)
    };
    let name = command.get_name();
    let is_misplaced = |option: &&Arg| {
        command
            .get_arguments()
            .all(|own| own.get_id() != option.get_id())
    };
    let misplaced = program
        .get_arguments()
        .filter(is_given)
        .filter(is_misplaced)
        .find_map(Arg::get_long);
    let Some(option) = misplaced.map(str::to_owned) else {
        return Ok(());
    };
    let has_namesake = command
        .get_arguments()
        .any(|own| own.get_long() == Some(option.as_str()));
    let key = config::key_of(&option).filter(|_| name == "install");
    let message = if has_namesake {
        format!("put --{option} after `{name}`")
    } else if let Some(key) = key {
        format!("`{name}` has no option --{option}; write `{key}` into config.toml instead")
    } else {
        format!("`{name}` has no option --{option}; leave out the option or the command")
    };
    Err(program.error(ErrorKind::ArgumentConflict, message))
}

/// What can be understood of an incomplete or invalid command line.
fn parse_leniently(arguments: Vec<OsString>) -> ArgMatches {
    command_for(&arguments)
        .ignore_errors(true)
        .try_get_matches_from(arguments)
        .unwrap_or_default()
}

/// Returns whether the command in these invalid arguments is `hook`: the first word that is neither
/// an option nor the value of one.
fn is_hook(arguments: &[OsString]) -> bool {
    let program = Cli::command();
    let mut words = arguments.iter().skip(1);
    while let Some(word) = words.next() {
        let Some(option) = word.to_str().and_then(|word| word.strip_prefix("--")) else {
            return word == "hook";
        };
        if takes_value(&program, option) {
            words.next();
        }
    }
    false
}

/// Returns whether the program has a long option of this name that takes a value.
fn takes_value(program: &clap::Command, name: &str) -> bool {
    let mut options = program.get_arguments();
    let option = options.find(|option| option.get_long() == Some(name));
    option.is_some_and(|option| option.get_action().takes_values())
}

/// Returns the exit status of a command. Reports its error, and prints the messages for a script.
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
