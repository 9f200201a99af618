//! Defines the commands and their help, and runs them.

use super::line::{ProgramOptions, USAGE};
use super::output::Reporter;
use super::serve::ServeCommand;
use super::source_options::PromptSource;
#[cfg(feature = "store")]
use super::store;
#[cfg(feature = "openapi")]
use super::team;
#[cfg(feature = "http")]
use super::token;
use super::{
    check, completions, compose, config, copy, diff, doctor, edit, expand, explain, history, hook,
    import, install, list, man, mv, new, pack, path, pick, restore, rm, serve, show, sync, test,
    trust,
};
use anyhow::bail;
use clap::{Parser, Subcommand};
use std::ffi::OsStr;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

const ABOUT: &str = "Expands `:research solar cells`, typed in a chat, into the prompt from a file";

const LONG_ABOUT: &str = "\
Expands `:research solid-state batteries`, typed in a chat with a coding agent, into the full \
prompt from a Markdown file.\n\n\
Without a command, the program runs `pick` on a terminal. If an agent starts it, it serves MCP on \
standard input and output.";

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
#[command(name = "prompt-expander", about = ABOUT, long_about = LONG_ABOUT, after_help = EXAMPLES)]
#[command(override_usage = USAGE, max_term_width = 100)]
pub(super) struct Cli {
    #[command(flatten)]
    pub(super) options: ProgramOptions,
    #[command(subcommand)]
    pub(super) command: Option<Command>,
}

/// Returns the text after the help of a command that accepts the shared options: its examples, and
/// a reference to these options.
fn with_common(examples: &str) -> String {
    format!(
        "{examples}\n\n`prompt-expander --help` lists the options for all commands, such as --prompts and --project."
    )
}

#[derive(Debug, Subcommand)]
#[command(defer = true)] // the options of the one command that runs, if any, are enough
pub(super) enum Command {
    /// Register this program with your agents
    ///
    /// Adds this program to the config of each agent, as the MCP server `prompts` and, if the agent
    /// has hooks, as a hook. Without an agent, lists the agents on this machine and what is
    /// registered with them.
    ///
    /// Shows the changes first, and writes nothing until you confirm. The rest of each file stays
    /// as it is, including comments. Before the first change to a file, `install` saves a copy of
    /// it as `FILE.before-prompt-expander` in the same folder.
    ///
    /// The agents start this program without options, except for --config if you pass it. To choose
    /// your prompts, use config.toml, which applies to all agents. For Gemini CLI and Qwen Code, a
    /// new entry contains `"trust": true`, so that they call the tools of this server without
    /// asking you. To leave this out, pass --no-trust.
    #[command(after_help = install::EXAMPLES)]
    Install(install::Install),
    /// Remove this program from your agents
    ///
    /// Without an agent, lists what is registered. Otherwise, shows the changes first, and writes
    /// nothing until you confirm. If nothing else in a config has changed, `uninstall` restores its
    /// backup or, if `install` created the config, deletes it. Folders of agents are never deleted.
    ///
    /// --all lists what this program keeps for itself, and --purge deletes it. Your prompts, their
    /// earlier versions and what you wrote into `config.toml` always stay. So do files that you
    /// named, e.g. with --log-file or --token-file, and what `install --project` wrote in other
    /// projects.
    #[command(after_help = install::UNINSTALL_EXAMPLES)]
    Uninstall(install::Uninstall),
    /// Put your prompts into the menus of your agents
    ///
    /// Writes a small file for each of your prompts and the built-in ones into the agent's own
    /// folder of skills or commands, so that you can choose `$research` in the menu of Codex, and
    /// `/research` in that of Claude Code. The hook adds the text of the prompt, as for
    /// `:research`.
    ///
    /// Shows the changes first, and writes nothing until you confirm. The agents and your selection
    /// are kept in `config.toml`: `sync` without arguments brings all their menus up to date, and
    /// the server that these agents start adds what is missing. Only files that `sync` has written
    /// and nobody has changed are replaced or removed.
    ///
    /// It writes nothing for Gemini CLI, whose menu shows the MCP prompts of the server.
    #[command(after_help = sync::EXAMPLES)]
    Sync(sync::Sync),
    /// List your prompts, or search them
    ///
    /// On a terminal, prints a table, and lists broken prompt files below it.
    ///
    /// In a pipe, prints one line for each prompt: name, description, layer, tags and usage,
    /// separated by tabs. The layer says where the prompt is from: `project`, `user`, `team`,
    /// `pack`, `remote` (a service) or `built-in`. If a prompt is in the format of another program,
    /// the format follows in parentheses: `user (claude)`. Broken prompt files are reported on
    /// standard error.
    #[command(after_help = with_common(list::EXAMPLES))]
    List(list::List),
    /// Print what an agent gets for `:NAME TEXT`
    #[command(after_help = with_common(expand::EXAMPLES))]
    Expand(expand::Expand),
    /// Explain an expansion: its file, its values, its length
    ///
    /// Shows which file the prompt comes from, and which prompts of the same name it overrides.
    /// Shows the value of each argument and where the value comes from, which placeholders are
    /// replaced, and which text in braces stays as it is. Also shows how long the expansion is, and
    /// which agents get it in parts.
    #[command(after_help = with_common(explain::EXAMPLES))]
    Explain(explain::Explain),
    /// Copy what an agent gets to the clipboard
    ///
    /// Uses the clipboard command of your system: `pbcopy` on macOS, PowerShell on Windows and WSL,
    /// `wl-copy` with Wayland, `xclip` or `xsel` with X11, and `termux-clipboard-set` on Android.
    /// If none of these commands works, asks your terminal to copy the text, with the escape
    /// sequence OSC 52.
    #[command(after_help = with_common(copy::EXAMPLES))]
    Copy(copy::Copy),
    /// Search for a prompt as you type, and fill it in
    ///
    /// Type to search in names, titles, tags and descriptions. Enter selects a prompt, asks for its
    /// arguments, and shows the expansion. When you see the expansion, Enter prints it, `c` copies
    /// it, `e` opens it in your editor, and Esc goes back. If you run `prompt-expander` on a
    /// terminal without a command, it also opens this picker.
    ///
    /// You can pipe the output, as in `prompt-expander pick | pbcopy`. If you pipe text into
    /// `pick`, the text becomes the input of the prompt. If you select nothing, the exit status is
    /// 1.
    ///
    /// There is no picker on Windows, or with TERM=dumb. NO_COLOR turns colors off.
    #[command(after_help = with_common(pick::EXAMPLES))]
    Pick(pick::Pick),
    /// Expand the prompts in a draft, as your VISUAL editor
    ///
    /// Agents in a terminal can open the draft of your message in an editor: the command in the
    /// environment variable VISUAL. When the editor exits, the agent reads the draft again, but
    /// does not send it.
    ///
    /// If the draft contains commands, `compose` replaces each command by its expansion. Otherwise,
    /// you pick a prompt, and the draft becomes its input. Esc leaves the draft unchanged. If the
    /// file is not a draft, or if the picker cannot draw on the terminal, the editor of --then
    /// opens instead.
    #[command(after_help = with_common(compose::EXAMPLES))]
    Compose(compose::Compose),
    /// Create a prompt
    ///
    /// Prints the path of the new file. If you pipe text into `new`, the text becomes the prompt.
    /// Otherwise, the new file contains sample text for you to replace.
    ///
    /// An existing file is never changed. If a prompt elsewhere has the same name, such as a
    /// built-in one, `new` does not create sample text. To change that prompt, use `edit`. To start
    /// from the sample text anyway, pass --empty.
    ///
    /// With --project, creates the file in the project's folder `.prompts`. If there is no such
    /// folder, creates one at the root of the repository or, outside a repository, in the working
    /// directory.
    #[command(after_help = with_common(new::EXAMPLES))]
    New(new::New),
    /// Open a prompt in your editor, and check it afterwards
    ///
    /// The editor is the command in the environment variable VISUAL or EDITOR, which can include
    /// arguments. If neither variable is set, it is the first of `editor`, `nano` and `vi` that is
    /// installed, or `notepad` on Windows.
    ///
    /// A built-in prompt is first copied into your own folder. With --project, a prompt that is not
    /// in the project yet is first copied into the project's folder `.prompts`. If you change
    /// nothing, the copy is deleted again.
    #[command(after_help = with_common(edit::EXAMPLES))]
    Edit(edit::Edit),
    /// Print the path of a prompt's file, or of your folder
    ///
    /// Without a name, prints the folder in which `new` and `edit` create files: with --project,
    /// the project's folder `.prompts`; otherwise, the first --prompts folder or, without
    /// --prompts, your own folder.
    #[command(after_help = with_common(path::EXAMPLES))]
    Path(path::PathOf),
    /// Print the file of a prompt as it is, even if broken
    ///
    /// Also prints built-in prompts.
    #[command(after_help = with_common(show::EXAMPLES))]
    Show(show::Show),
    /// Remove prompts of your own, or of the project
    ///
    /// Lists the files, and asks before it removes them. Without a terminal, you must pass --yes.
    /// With --project, removes prompts of the project. Also removes the test file of each prompt.
    /// If a file is a symlink, removes only the symlink.
    ///
    /// Prints the path of each removed file. If agents now get another prompt under the same name,
    /// says which. The removed text is kept in the folder `.history` next to your prompts, and
    /// `restore` brings the prompt back.
    #[command(after_help = with_common(rm::EXAMPLES))]
    Rm(rm::Rm),
    /// Rename a prompt of your own, or of the project
    ///
    /// The file stays in the same prompts folder, and its content does not change. Missing folders
    /// are created, and existing files are never overwritten. The test file and the earlier
    /// versions of the prompt are renamed, too. Prints the new path. With --project, renames a
    /// prompt of the project.
    #[command(after_help = with_common(mv::EXAMPLES))]
    Mv(mv::Mv),
    /// List the versions of one of your prompts
    ///
    /// When an agent, the web page, `edit`, `rm` or `restore` changes a prompt, the old text is
    /// kept in the folder `.history` next to your prompts, even if you wrote it by hand. The newest
    /// version comes first. In a pipe, prints one line for each version: revision, time, operation,
    /// author and note, separated by tabs.
    #[command(after_help = with_common(history::EXAMPLES))]
    History(history::HistoryCommand),
    /// Show what has changed in one of your prompts
    ///
    /// Compares the current text with the previous version, or with the version that you name.
    #[command(after_help = with_common(diff::EXAMPLES))]
    Diff(diff::Diff),
    /// Restore an earlier or deleted version of a prompt
    ///
    /// Prints the path of the file. The replaced text is kept in the history, so you can undo this,
    /// too. If you deleted the file of a prompt yourself, you can restore any version that
    /// `history` lists.
    #[command(after_help = with_common(restore::EXAMPLES))]
    Restore(restore::Restore),
    /// Import prompts of other programs as Markdown files
    ///
    /// Reads folders of Claude Code, Codex, Gemini CLI, opencode, VS Code, Cursor, fabric, llm,
    /// Continue and hexai, and of many other programs. Writes each prompt into your own folder, as
    /// a Markdown file that expands to the same text. Reports every difference from the original,
    /// with file, line and what you can do about it.
    ///
    /// The original files stay as they are, and no file is ever overwritten. A prompt is not
    /// imported if you already have a different one with its name. The exit status is then 1.
    #[command(after_help = with_common(import::EXAMPLES))]
    Import(import::Import),
    /// Let agents use the prompts of a repository
    ///
    /// Shows every text in the repository's folder `.prompts`, says which of your prompts these
    /// texts replace, and asks. From then on, all agents in this repository get these prompts.
    ///
    /// Agents also get the texts that a later pull adds or changes: `list` says how many there are,
    /// and `trust` shows them. In a linked worktree, agents get only the texts that you were shown.
    /// If a folder below the root of the repository has its own `.prompts`, run `trust` there, too.
    #[command(after_help = with_common(trust::EXAMPLES))]
    Trust(trust::TrustCommand),
    /// Add, update and list prompts from git repositories
    ///
    /// You type the prompts of a pack with its name, as `:NAME/PROMPT`, so they never override
    /// other prompts. You see every text before it is added, and every change before it is applied.
    /// The commit of the pack and the SHA-256 of each file are written to packs.lock, next to
    /// config.toml or, with --project, in the project's folder `.prompts`. A file that does not
    /// match its SHA-256 is not used.
    #[command(subcommand, after_help = with_common(pack::EXAMPLES))]
    Pack(pack::PackCommand),
    /// Check prompt files, and suggest how to fix problems
    ///
    /// An error means that a file cannot be used as a prompt. A warning means that a prompt may not
    /// do what its author intended. Test files are checked, but not run; to run them, use `test`.
    /// The exit status is 1 if there are errors or, with --strict, warnings.
    #[command(after_help = with_common(check::EXAMPLES))]
    Check(check::Check),
    /// Test whether prompts expand to what you expect
    ///
    /// The tests of `NAME.md` are in `NAME.test.txt` next to it. Each case has an input, and what
    /// you expect: the whole expansion, texts that it must or must not contain, or an error. Prints
    /// one line for each case, and a diff if the expansion differs. No model is called.
    ///
    /// The exit status is 1 if a case fails, if a test file is broken, or if a test file belongs to
    /// no prompt.
    #[command(after_help = with_common(test::EXAMPLES))]
    Test(test::Test),
    /// Find out why a `:command` does not work
    ///
    /// Checks your prompts, and each agent that is on this machine or has this program registered.
    /// Prints one line for each finding, and says what you can do. If something is broken, the exit
    /// status is 1.
    ///
    /// `doctor` starts each registered server as the agent would, with the same command,
    /// environment and working directory. It lists the server's prompts, and stops the server
    /// again. It runs a registered hook only if the hook runs this program and nothing else. It
    /// writes nothing, not even to the files of --tap and --log-file.
    #[command(after_help = with_common(doctor::EXAMPLES))]
    Doctor(doctor::Doctor),
    /// Expand prompts in messages, as the hook of an agent
    ///
    /// An agent runs this command whenever you submit a message, and passes an event with the
    /// message on standard input. The model gets the expansion without calling a tool.
    ///
    /// If a line of the message begins with the `:command` of a prompt, or if a sentence mentions
    /// one, as in `check this against :style`, the hook adds the expansion to the message. If the
    /// message begins with a misspelled name, the hook asks which prompt you meant. Otherwise, it
    /// prints nothing. The exit status is always 0, so that no message is blocked.
    #[command(after_help = with_common(hook::EXAMPLES))]
    Hook(hook::HookCommand),
    /// Join your team's server, show your status, or leave it
    ///
    /// A team's server has prompts that all members use and change. Your own prompts override them.
    /// `join` and `leave` change only your own files: `config.toml`, the file `team-token` next to
    /// it, and the cache.
    #[cfg(feature = "openapi")]
    #[command(subcommand, after_help = team::EXAMPLES)]
    Team(team::TeamCommand),
    /// Run the server over standard input/output, or HTTP
    ///
    /// Without --http, serves one agent over standard input and output. Agents get the same if they
    /// start `prompt-expander` without a command. With --http, serves many clients, and prints the
    /// address on standard error. Ctrl-C or SIGTERM stops the server after it has answered all
    /// pending requests.
    #[command(after_help = with_common(serve::EXAMPLES))]
    Serve(Box<ServeCommand>),
    /// Add, list and remove tokens for a server over HTTP
    #[cfg(feature = "http")]
    #[command(subcommand, after_help = token::EXAMPLES)]
    Token(token::TokenCommand),
    /// Copy prompts to and from a PostgreSQL database
    ///
    /// `init` prepares the database as a store of prompts. `push` copies a folder of prompts into
    /// the store, and `pull` copies the store into a folder.
    #[cfg(feature = "store")]
    #[command(after_help = store::EXAMPLES)]
    Store(store::StoreCommand),
    /// Print a script for completion in your shell
    #[command(after_help = completions::EXAMPLES)]
    Completions(completions::Completions),
    /// Print the manual page
    #[command(after_help = man::EXAMPLES)]
    Man,
}

impl Command {
    /// Runs the command, and returns the exit status. `program` is the first word of the command
    /// line.
    pub(super) fn run(
        self,
        source: &mut PromptSource,
        program: &OsStr,
        reporter: &Reporter,
    ) -> anyhow::Result<ExitCode> {
        match self {
            Command::Install(install) => return install.run(reporter),
            Command::Uninstall(uninstall) => return uninstall.run(reporter),
            Command::Sync(sync) => {
                source.config = sync.config.clone();
                return sync.run(load_or_fail(source, reporter)?, reporter);
            }
            Command::List(list) => list.run(load_or_fail(source, reporter)?, reporter)?,
            Command::Expand(expand) => expand.run(load_and_note(source, reporter)?, reporter)?,
            Command::Explain(explain) => explain.run(load_and_note(source, reporter)?, reporter)?,
            Command::Copy(copy) => copy.run(load_and_note(source, reporter)?, reporter)?,
            Command::Pick(pick) => return pick.run(load_and_note(source, reporter)?, reporter),
            Command::Compose(compose) => {
                // Not `?`: an agent would hide the error, so `compose` shows it on the screen.
                return compose.run(load_and_note(source, reporter), reporter);
            }
            Command::New(new) => return new.run(load_and_warn(source, reporter)?, reporter),
            Command::Edit(edit) => return edit.run(load_and_warn(source, reporter)?, reporter),
            Command::Path(path) => path.run(load_and_warn(source, reporter)?, reporter)?,
            Command::Show(show) => show.run(load_and_warn(source, reporter)?, reporter)?,
            Command::Rm(rm) => return rm.run(load_and_warn(source, reporter)?, reporter),
            Command::Mv(mv) => return mv.run(load_and_warn(source, reporter)?, reporter),
            Command::History(history) => history.run(load_and_warn(source, reporter)?, reporter)?,
            Command::Diff(diff) => diff.run(load_and_warn(source, reporter)?, reporter)?,
            Command::Restore(restore) => restore.run(load_and_warn(source, reporter)?, reporter)?,
            Command::Import(import) => {
                return import.run(load_and_warn(source, reporter)?, reporter);
            }
            Command::Pack(pack) => return pack.run(load_and_warn(source, reporter)?, reporter),
            Command::Check(check) => return check.run(load_and_note(source, reporter)?, reporter),
            Command::Test(test) => return test.run(load_and_note(source, reporter)?, reporter),
            Command::Trust(trust) => {
                load_or_fail(source, reporter)?;
                trust.run(source, reporter)?;
            }
            Command::Doctor(doctor) => return doctor.run(load(source)),
            Command::Hook(hook) => hook.run(load(source))?,
            Command::Serve(serve) => {
                let source = load(source);
                source.check_store_options()?;
                serve.run(source, reporter)?;
            }
            #[cfg(feature = "openapi")]
            Command::Team(team) => team.run(source, reporter)?,
            #[cfg(feature = "http")]
            Command::Token(token) => token.run(reporter)?,
            #[cfg(feature = "store")]
            Command::Store(store) => store.run(source, reporter)?,
            Command::Completions(completions) => completions.run(program)?,
            Command::Man => man::run()?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Completes `source`, which has only the options of the command line at first: reads the settings
/// file into it or, with `--store`, opens the database instead. Returns the same source, from which
/// prompts can be read now.
///
/// Doesn't fail. Errors are added to the problems in `source.settings`, and the server and the hook
/// report them in their responses.
pub(super) fn load(source: &mut PromptSource) -> &PromptSource {
    #[cfg(feature = "store")]
    {
        let uses_store = source.open_store();
        if uses_store {
            return source; // a store takes the place of the settings file
        }
    }
    config::load(source);
    source
}

/// [Loads](load) the settings file or the database into `source`, and waits for the first list of
/// the team's prompts. Doesn't report problems that leave the settings usable.
///
/// # Errors
/// Fails if the settings file or the database can't be used. Otherwise, the command might work with
/// the wrong prompts.
fn load_or_fail<'s>(
    source: &'s mut PromptSource,
    reporter: &Reporter,
) -> anyhow::Result<&'s PromptSource> {
    let source = load(source);
    wait_for_team_list(source, reporter);
    if source.settings.is_unusable
        && let Some(problem) = source.settings.problems.first()
    {
        bail!("{problem}");
    }
    #[cfg(feature = "store")]
    if let Some(store) = &source.opened_store {
        // `open_store` has already waited, but ignored the error.
        store
            .wait_for_first_load()
            .map_err(|problem| anyhow::anyhow!("{problem}"))?;
    }
    Ok(source)
}

/// Waits for the list of the team's prompts, if it was never fetched. Warns if that fails.
#[cfg_attr(not(feature = "openapi"), allow(unused_variables))]
fn wait_for_team_list(source: &PromptSource, reporter: &Reporter) {
    #[cfg(feature = "openapi")]
    if let Some(team) = &source.settings.team
        && let Err(problem) = team.fetch_first_list()
    {
        reporter.warn(&problem.to_string());
    }
}

/// [Loads](load_or_fail) the settings file or the database into `source`, and fails if it can't be
/// used. At a terminal, also prints a note if texts in the trusted
/// repository have changed.
pub(super) fn load_and_note<'s>(
    source: &'s mut PromptSource,
    reporter: &Reporter,
) -> anyhow::Result<&'s PromptSource> {
    let source = load_or_fail(source, reporter)?;
    if io::stderr().is_terminal() {
        reporter.note_if_any(source.note_about_changes());
    }
    Ok(source)
}

/// [Loads](load_and_note) the settings file or the database into `source`, and fails if it can't be
/// used. Warns about problems that leave the settings usable.
fn load_and_warn<'s>(
    source: &'s mut PromptSource,
    reporter: &Reporter,
) -> anyhow::Result<&'s PromptSource> {
    let source = load_and_note(source, reporter)?;
    reporter.warn_all(&source.settings.problems);
    Ok(source)
}
