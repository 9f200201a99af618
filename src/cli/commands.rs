//! Defines the commands and their help, and runs them.

use super::line::{ProgramOptions, USAGE};
use super::output::Reporter;
use super::serve::ServeCommand;
use super::source_options::PromptSource;
#[cfg(feature = "store")]
use super::store;
#[cfg(feature = "http")]
use super::token;
use super::{
    check, completions, compose, config, copy, diff, doctor, edit, expand, explain, history, hook,
    import, install, list, man, mv, new, pack, path, pick, restore, rm, serve, show, test, trust,
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
Without a command, the program serves MCP on standard input and output, as an agent starts it. \
On a terminal, it runs `pick`.";

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
    /// Adds this program to the config of each agent, as the MCP server `prompts` and with its
    /// hook. Without an agent, lists the agents on this machine and what is registered with them.
    ///
    /// The changes are shown first, and nothing is written until you confirm. The rest of each file
    /// stays as it is, comments included. The state of a file before its first change is kept next
    /// to it, in
    /// `FILE.before-prompt-expander`.
    ///
    /// The only option that is registered is --config, because config.toml says for all agents
    /// which prompts there are. For Gemini CLI, a new entry contains `"trust": true`, so that
    /// Gemini CLI calls the tools of this server without asking you; --no-trust leaves it out.
    #[command(after_help = install::EXAMPLES)]
    Install(install::Install),
    /// Remove this program from your agents
    ///
    /// Without an agent, lists what is registered. The changes are shown first, and nothing is
    /// written until you confirm. If nothing else has changed in a config, it is restored from its
    /// backup, or removed if `install` created it. Folders are never removed.
    #[command(after_help = install::UNINSTALL_EXAMPLES)]
    Uninstall(install::Uninstall),
    /// List your prompts, or those that match a query
    ///
    /// On a terminal, prints a table. Broken prompt files come below it.
    ///
    /// In a pipe, prints one line for each prompt, with tabs between name, description, layer, tags
    /// and usage. The layer is `project`, `user`, `team`, `pack`, `remote` or `built-in`, followed
    /// by the format if the prompt is written for another program, as in `user (claude)`, or by the
    /// pack and its commit. Broken prompt files are reported on standard error.
    #[command(after_help = with_common(list::EXAMPLES))]
    List(list::List),
    /// Print what an agent gets for `:NAME TEXT`
    #[command(after_help = with_common(expand::EXAMPLES))]
    Expand(expand::Expand),
    /// Explain an expansion: its file, its values, its length
    ///
    /// Shows the file of the prompt and the prompts of the same name that it overrides; the value
    /// of each argument and where the value comes from; which placeholders are replaced, and which
    /// text in braces stays as it is; and the length, with the agents that do not get all of it at
    /// once.
    #[command(after_help = with_common(explain::EXAMPLES))]
    Explain(explain::Explain),
    /// Copy what an agent gets to the clipboard
    ///
    /// Uses the command of your system: `pbcopy` on macOS, PowerShell on Windows and WSL, `wl-copy`
    /// with Wayland, `xclip` or `xsel` with X11, and `termux-clipboard-set` on Android. If none of
    /// them works, asks your terminal to copy the text, with the escape sequence OSC 52.
    #[command(after_help = with_common(copy::EXAMPLES))]
    Copy(copy::Copy),
    /// Find a prompt while you type, and fill it in
    ///
    /// This is also what the program does on a terminal without a command. Type to search in names,
    /// titles, tags and descriptions. Enter selects a prompt, asks for its arguments, and shows the
    /// expansion. There, Enter prints it, `c` copies it, `e` opens it in your editor, and Esc goes
    /// back.
    ///
    /// The output may be a pipe, as in `prompt-expander pick | pbcopy`. Text from a pipe is the
    /// input of the prompt. If you select nothing, the exit status is 1.
    ///
    /// There is no picker on Windows, or with TERM=dumb. NO_COLOR turns colors off.
    #[command(after_help = with_common(pick::EXAMPLES))]
    Pick(pick::Pick),
    /// Open the picker on your agent's draft (as VISUAL)
    ///
    /// Codex, Claude Code, Gemini CLI and opencode can open the draft of your message in the editor
    /// that the environment variable VISUAL names. They take back what is saved, and send nothing.
    ///
    /// If the draft contains commands, each one is replaced by its expansion. Otherwise, you pick a
    /// prompt, and the draft is its input. Esc leaves the draft as it was. Any other file is opened
    /// in the editor of --then, and so is a draft if `pick` cannot draw.
    #[command(after_help = with_common(compose::EXAMPLES))]
    Compose(compose::Compose),
    /// Create a prompt
    ///
    /// Prints the path of the new file. Text from a pipe becomes the prompt. Without it, the file
    /// is a template for you to fill in. Such a template does not take the name of another prompt
    /// unless you pass --empty. An existing file is never changed, and a name that cannot be typed
    /// in a chat is refused.
    ///
    /// With --project, the file is created in the project's folder `.prompts`. If there is none,
    /// the folder is created at the root of the repository or, outside a repository, in the working
    /// directory.
    #[command(after_help = with_common(new::EXAMPLES))]
    New(new::New),
    /// Open a prompt in your editor, and check it afterwards
    ///
    /// The editor is the command in the environment variable VISUAL or EDITOR, which may have
    /// arguments. If neither is set, it is the first of `editor`, `nano` and `vi` that is
    /// installed, or `notepad` on Windows.
    ///
    /// A built-in prompt is first copied into your own folder. With --project, a prompt that is not
    /// yet in the project's folder `.prompts` is first copied there. If you change nothing, the
    /// copy is deleted again.
    #[command(after_help = with_common(edit::EXAMPLES))]
    Edit(edit::Edit),
    /// Print the path of a prompt's file, or of your folder
    ///
    /// Without a name, prints the folder in which `new` and `edit` create files: the first
    /// --prompts folder, else your own folder or, with --project, that of the project.
    #[command(after_help = with_common(path::EXAMPLES))]
    Path(path::PathOf),
    /// Print the file of a prompt as it is, even if broken
    ///
    /// Also prints the files of built-in prompts.
    #[command(after_help = with_common(show::EXAMPLES))]
    Show(show::Show),
    /// Remove your own prompts, or those of the project
    ///
    /// Shows the files and asks before it removes them. Without a terminal, it needs --yes. With
    /// --project, removes prompts of the project. The test file of a prompt is removed, too. If a
    /// file is a symlink, only the symlink is removed.
    ///
    /// Prints the path of each file that was removed, and says which other prompt has the name now,
    /// if any. The text stays in the folder `.history` next to your prompts, and `restore` brings
    /// it back.
    #[command(after_help = with_common(rm::EXAMPLES))]
    Rm(rm::Rm),
    /// Rename one of your own prompts, or of the project's
    ///
    /// The file stays in the same prompts folder, and its content does not change. Missing folders
    /// are created, and no existing file is overwritten. The test file is renamed, too, and the
    /// earlier versions get the new name. Prints the new path. With --project, renames a prompt of
    /// the project.
    #[command(after_help = with_common(mv::EXAMPLES))]
    Mv(mv::Mv),
    /// List the versions of one of your prompts
    ///
    /// Each change by an agent, the web page, `edit`, `rm` or `restore` keeps the old text in the
    /// folder `.history` next to your prompts, even a text that you wrote by hand. The newest
    /// version comes first. In a pipe, each line has tabs between revision, time, what was done,
    /// author and note.
    #[command(after_help = with_common(history::EXAMPLES))]
    History(history::HistoryCommand),
    /// Show what has changed in one of your prompts
    ///
    /// Compares the current text with the version before it, or with the version that you name.
    #[command(after_help = with_common(diff::EXAMPLES))]
    Diff(diff::Diff),
    /// Restore an earlier or deleted version of a prompt
    ///
    /// Prints the path of the file. The text that is replaced stays in the history, so that you can
    /// undo this, too. A prompt whose file you deleted yourself can be restored if `history` lists
    /// a version of it.
    #[command(after_help = with_common(restore::EXAMPLES))]
    Restore(restore::Restore),
    /// Import prompts of other programs as Markdown files
    ///
    /// Reads a folder of Claude Code, Codex, Gemini CLI, opencode, VS Code, Cursor, fabric, llm,
    /// Continue or hexai as that program does. Writes each prompt into your own folder, as a
    /// Markdown file that expands to the same text. Reports each difference, with its file and line
    /// and what to do about it.
    ///
    /// The original files stay as they are, and no file is ever overwritten. If you already have
    /// another prompt of the same name, the prompt is left out, and the exit status is 1.
    #[command(after_help = with_common(import::EXAMPLES))]
    Import(import::Import),
    /// Let agents use the prompts of a repository
    ///
    /// Shows every text in the folder `.prompts` of the repository, says which of your prompts they
    /// replace, and asks. From then on, all agents in this repository get these prompts.
    ///
    /// They also get what a later pull adds or changes: `list` counts such texts, and `trust` shows
    /// them. A linked worktree serves only the texts that you were shown. A folder `.prompts` below
    /// the root needs its own `trust`.
    #[command(after_help = with_common(trust::EXAMPLES))]
    Trust(trust::TrustCommand),
    /// Add, update and list prompts from git repositories
    ///
    /// The prompts of a pack are called `:NAME/PROMPT`, and override no other prompt. Every text is
    /// shown before it is added, and every change before it is taken. The commit of the pack and
    /// the SHA-256 of each file are written to packs.lock, beside config.toml or, with --project,
    /// in the project's folder `.prompts`. A file that differs from them is not used.
    #[command(subcommand, after_help = with_common(pack::EXAMPLES))]
    Pack(pack::PackCommand),
    /// Check prompt files, and say how to fix what is wrong
    ///
    /// An error means that a file cannot be used as a prompt. A warning means that a prompt may not
    /// do what its author meant. Test files are checked, but not run: `test` does that. If there
    /// are errors or, with --strict, warnings, the exit status is 1.
    #[command(after_help = with_common(check::EXAMPLES))]
    Check(check::Check),
    /// Test whether prompts expand to what you expect
    ///
    /// The tests of `NAME.md` are in `NAME.test.txt` next to it. Each case has an input, and what
    /// you expect: the whole text, texts that it contains or lacks, or an error. Prints one line
    /// for each case, and a diff if the text differs. No model is asked.
    ///
    /// The exit status is 1 if a case failed, or if a test file is broken or belongs to no prompt.
    #[command(after_help = with_common(test::EXAMPLES))]
    Test(test::Test),
    /// Find out why a `:command` does not work
    ///
    /// Checks your prompts, and each agent that is on this machine or has this program registered.
    /// Prints one line for each, with what to do. If something is broken, the exit status is 1.
    ///
    /// Each registered server is started as its agent would start it, with the same command,
    /// environment and working directory; its prompts are listed; and it is stopped. A registered
    /// hook is run only if it runs this program and nothing else. Nothing is written, not even to
    /// the files of --tap and --log-file.
    #[command(after_help = with_common(doctor::EXAMPLES))]
    Doctor(doctor::Doctor),
    /// Expand prompts in messages, as the hook of an agent
    ///
    /// An agent runs this command whenever you submit a message, and the model gets the expansion
    /// without calling a tool. The event comes from standard input.
    ///
    /// If a line of the message begins with the `:command` of a prompt, or if a sentence mentions
    /// one, as in `check this against :style`, the expansion is added to the message. If the
    /// message begins with a misspelled name, a question is added. Otherwise, nothing is printed.
    /// The exit status is always 0, so that no message is blocked.
    #[command(after_help = with_common(hook::EXAMPLES))]
    Hook(hook::HookCommand),
    /// Run the server on standard input and output, or HTTP
    ///
    /// Without --http, this is what the program does without a command. With --http, it serves many
    /// clients, and says on standard error where it listens. Ctrl-C or SIGTERM stops it after it
    /// has answered the requests that are running.
    #[command(after_help = with_common(serve::EXAMPLES))]
    Serve(Box<ServeCommand>),
    /// Add, list and remove tokens for a server over HTTP
    #[cfg(feature = "http")]
    #[command(subcommand, after_help = token::EXAMPLES)]
    Token(token::TokenCommand),
    /// Copy prompts to and from a PostgreSQL database
    ///
    /// Prepares the database, and copies a folder to it or from it.
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

/// Loads the settings: merges the settings file into the options or, with `--store`, opens the
/// database instead.
///
/// Doesn't fail. Problems become part of the settings, and the server and the hook report them in
/// their responses.
pub(super) fn load(source: &mut PromptSource) -> &PromptSource {
    #[cfg(feature = "store")]
    if source.open_store() {
        return source; // with a store, no settings file is read
    }
    config::load(source);
    source
}

/// [Loads](load) the settings. Doesn't report problems that leave the settings usable.
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

/// [Loads](load_or_fail) the settings. At a terminal, also prints a note if texts in the trusted
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

/// [Loads](load_and_note) the settings, and warns about their problems.
fn load_and_warn<'s>(
    source: &'s mut PromptSource,
    reporter: &Reporter,
) -> anyhow::Result<&'s PromptSource> {
    let source = load_and_note(source, reporter)?;
    reporter.warn_all(&source.settings.problems);
    Ok(source)
}
