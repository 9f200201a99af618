//! `prompt-expander team`: joins and leaves the team's server.

use super::output::{self, Reporter, display_path};
use super::pick::ask_for_secret;
use super::source_options::PromptSource;
use super::team_connection::{TOKEN_FILE, connection, parse_url};
use super::{config, settings_edits, stdin, user_folders};
use crate::sources::{HeaderValue, Team, TeamMember};
use crate::whole_file::{self, FileAccess, PendingFile};
use crate::wording::{count, in_backticks};
use anyhow::{Context, anyhow, bail};
use clap::{Args, Subcommand, ValueHint};
use serde_json::json;
use std::fs;
use std::io::{self, ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander team join https://prompts.example.com
  prompt-expander team status
  prompt-expander team leave";

/// The maximum length of a typed or piped token, in bytes. A generated token has 47.
const MAX_TOKEN_BYTES: usize = 4096;

#[derive(Debug, Subcommand)]
pub(super) enum TeamCommand {
    /// Use the prompts of a team's server
    ///
    /// Asks for your token, which is not shown as you type, and tests it. If the server accepts it,
    /// writes `team` into `config.toml`, and the token into the file `team-token` next to it, which
    /// only you can read. Otherwise, changes no settings.
    ///
    /// Without a terminal, reads the token from standard input. If the server needs no token, press
    /// Enter. If you are in the team already, replaces your token.
    Join(JoinTeam),
    /// Show your team's server, and what you may do there
    ///
    /// If the server does not answer, or does not accept your token, the exit status is 1.
    Status {
        /// Print one JSON object: `url`, your `name` and `role`, and the number of `prompts`
        #[arg(long)]
        json: bool,
    },
    /// Stop using the prompts of your team's server
    ///
    /// Removes the keys that begin with `team` from `config.toml`, and deletes the file
    /// `team-token` and the cache of the team's prompts. Changes nothing on the server.
    Leave,
}

#[derive(Debug, Args)]
pub(super) struct JoinTeam {
    /// The address of the server, such as `https://prompts.example.com`
    #[arg(value_hint = ValueHint::Url)]
    url: String,
    /// Copy the token from this file, instead of asking for it
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    token_file: Option<PathBuf>,
}

impl TeamCommand {
    pub(super) fn run(self, source: &mut PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        config::load(source);
        match self {
            TeamCommand::Join(join) => join.run(source, reporter),
            TeamCommand::Status { json } => status(json, source, reporter),
            TeamCommand::Leave => leave(source, reporter),
        }
    }
}

impl JoinTeam {
    /// Tests the token, and then writes it and the address of the server.
    fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let url = parse_url(&self.url)
            .map_err(|problem| anyhow!("the address cannot be used: {problem}"))?;
        check_has_no_other_team(source, &url)?;
        let settings = settings_edits::with_team(settings_file()?, Some(&url))?;
        if settings.is_edited() {
            settings.target()?; // fails before the user types the token in vain
        }
        let token = self.read_token(&url, reporter)?;
        let joined_team = connect(url, &token)?;
        save_token(&settings.path.with_file_name(TOKEN_FILE), &token)?;
        if settings.is_edited() {
            settings.write()?;
        }
        reporter.note(&format!(
            "joined {joined_team}; restart your agents to use its prompts there"
        ));
        Ok(())
    }

    /// Reads the token from the file, the terminal or standard input. Returns an empty text if the
    /// user has none.
    fn read_token(&self, url: &str, reporter: &Reporter) -> anyhow::Result<String> {
        let text = if let Some(file) = &self.token_file {
            whole_file::read_text(file)
                .with_context(|| format!("{} cannot be read", display_path(file)))?
        } else if io::stdin().is_terminal() {
            ask_for_secret(&format!("Token for {url}: ")).context(
                "the token cannot be read from the terminal; pass it with --token-file FILE",
            )?
        } else {
            stdin::text(MAX_TOKEN_BYTES, "a token", reporter)?
        };
        let token = text.trim();
        if !token.chars().all(|character| character.is_ascii_graphic()) {
            bail!("a token is one word of ASCII characters; copy it again");
        }
        Ok(token.to_owned())
    }
}

/// Fails if the user is in the team of another server.
fn check_has_no_other_team(source: &PromptSource, url: &str) -> anyhow::Result<()> {
    if let Some(team) = &source.settings.team
        && team.url() != url
    {
        bail!(
            "you are in the team of {}; run `prompt-expander team leave` first",
            team.url()
        );
    }
    Ok(())
}

/// Connects to a team's server with a token, which is empty if the user has none. Returns a
/// description of the team and of the user's role in it.
fn connect(url: String, token: &str) -> anyhow::Result<String> {
    let mut header = None;
    if !token.is_empty() {
        header = Some(HeaderValue::Typed(token.to_owned()));
    }
    let team = connection(url, header).map_err(anyhow::Error::msg)?;
    let member = team
        .connect()
        .map_err(|error| anyhow!("{error}; your settings are unchanged"))?;
    Ok(description(&team, &member))
}

/// Writes the token to its file, or deletes the file if the token is empty.
fn save_token(file: &Path, token: &str) -> anyhow::Result<()> {
    if token.is_empty() {
        return remove_if_exists(file);
    }
    write_token(file, token).with_context(|| format!("{} cannot be written", display_path(file)))
}

/// Prints the server and what the user is there.
///
/// # Errors
/// Fails if the user is in no team, or the server doesn't answer.
fn status(is_json: bool, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
    reporter.warn_all(&source.settings.problems);
    let Some(team) = &source.settings.team else {
        bail!("you are in no team; join one with `prompt-expander team join URL`");
    };
    let member = team.connect().map_err(|error| {
        let prompts = count(team.prompt_count(), "prompt");
        anyhow!("{error}\nthe cache of {} has {prompts}", team.url())
    })?;
    if is_json {
        return output::print_json(&json!({
            "url": team.url(), "name": member.name, "role": member.role, "prompts": team.prompt_count()
        }));
    }
    output::print_verbatim(format!("{}\n", description(team, &member)).as_bytes())
}

/// Removes what [`JoinTeam`] has written, and the cache.
fn leave(source: &mut PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
    let settings = settings_edits::with_team(settings_file()?, None)?;
    if !settings.is_edited() {
        bail!("you are in no team");
    }
    let token_file = settings.path.with_file_name(TOKEN_FILE);
    settings.write()?;
    remove_if_exists(&token_file)?;
    // Otherwise, the list would be refreshed, and cached, after the command.
    let team = source.settings.team.take();
    delete_caches().context("the cache of the team's prompts cannot be deleted")?;
    let team_name = match team {
        Some(team) => format!("the team of {}", team.url()),
        None => "the team".to_owned(), // its address or its token cannot be used
    };
    reporter.note(&format!(
        "left {team_name}: its prompts and the file `{TOKEN_FILE}` are no longer on this machine; restart your agents. The \
         server still accepts the token, until `prompt-expander token remove` removes it there"
    ));
    Ok(())
}

/// Deletes the cached prompts of the team, and of earlier ones.
fn delete_caches() -> io::Result<()> {
    let Some(folder) = user_folders::cache() else {
        return Ok(());
    };
    match fs::remove_dir_all(folder.join("team")) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Describes a team and the user's place in it: `https://prompts.example.com: 12 prompts; you are
/// known as `ada`, with the role `write``.
fn description(team: &Team, member: &TeamMember) -> String {
    let prompts = count(team.prompt_count(), "prompt");
    let name = match &member.name {
        Some(name) => format!("you are known as {}", in_backticks(name)),
        None => "you are not known by name".to_owned(),
    };
    let role = in_backticks(&member.role);
    format!("{}: {prompts}; {name}, with the role {role}", team.url())
}

/// Returns the path of the default settings file.
fn settings_file() -> anyhow::Result<PathBuf> {
    let folder = user_folders::config().context("the home directory is unknown")?;
    Ok(folder.join("config.toml"))
}

/// Writes a file that only the user can read.
fn write_token(file: &Path, token: &str) -> io::Result<()> {
    let target = whole_file::follow_symlinks(file)?;
    PendingFile::write(
        &target,
        format!("{token}\n").as_bytes(),
        FileAccess::Private,
    )?
    .replace()
}

fn remove_if_exists(file: &Path) -> anyhow::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("{} cannot be deleted", display_path(file)))
        }
        _ => Ok(()),
    }
}
