//! `prompt-expander token`: manages the tokens for clients of `serve --http`.

use super::output::{self, Reporter, display_path};
use crate::library::{Prefix, Role};
use crate::transport::http::tokens::{
    self, Date, GeneratedToken, TokenLine, parse_expiry, parse_name, parse_role,
};
use anyhow::Error;
use clap::{Args, Subcommand, ValueHint};
use serde::Serialize;
use serde_json::json;
use std::path::{Path, PathBuf};

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander token add ana --token-file tokens
  prompt-expander token list --token-file tokens
  prompt-expander token remove ana --token-file tokens";

#[derive(Debug, Subcommand)]
pub(super) enum TokenCommand {
    /// Create a token for a client of `serve --http`
    ///
    /// Prints a new random token, which you give to the client. The token is stored nowhere. Also
    /// adds a line to the file of --token-file, which you pass to the server as `serve --token-file
    /// FILE`. Without --token-file, prints the line after the token. The line contains only the
    /// SHA-256 of the token, so others may read it. A running server accepts the token within a
    /// second after the line is added.
    #[command(after_help = ADD_EXAMPLES)]
    Add(AddToken),
    /// List the tokens in a file, and what they may do
    ///
    /// On a terminal, prints columns. Otherwise, prints one line for each token: name, role, folder
    /// and last day, separated by tabs.
    List {
        /// The file that you pass to `serve --token-file`
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        token_file: PathBuf,
        /// Print one JSON object with `tokens`, each with `name`, `role`, `prefix` and `expires`
        #[arg(long)]
        json: bool,
    },
    /// Remove a token from a file
    ///
    /// A running server refuses the token within a second.
    Remove {
        /// The name of the token, as `token list` shows it
        name: String,
        /// The file that you pass to `serve --token-file`
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        token_file: PathBuf,
    },
}

const ADD_EXAMPLES: &str = "\
Examples:
  prompt-expander token add ana --token-file tokens
  prompt-expander token add team-a --prefix team-a/ --expires 90d --token-file tokens";

#[derive(Debug, Args)]
pub(super) struct AddToken {
    /// The name of the token's owner, for logs: letters, digits and `-._@`
    #[arg(value_parser = parse_name)]
    name: String,
    /// What the token may do: `read` (use prompts), `write` (also change prompts) or `admin` (also
    /// operate the server)
    #[arg(long, default_value = "read", value_parser = parse_role)]
    role: Role,
    /// The only folder of prompts that the token can see, such as `team-a/`; by default, all
    /// folders
    #[arg(long, value_name = "FOLDER/", value_parser = Prefix::new)]
    prefix: Option<Prefix>,
    /// The last day on which the token is valid (in UTC), such as `2027-01-31`, or a number of
    /// days, such as `90d`; by default, the token never expires
    #[arg(long, value_name = "DATE|DAYS", value_parser = parse_expiry)]
    expires: Option<Date>,
    /// The file to add the line to, which is created if it does not exist; by default, the line is
    /// printed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    token_file: Option<PathBuf>,
    /// Print one JSON object: `name`, `token` and `line`
    #[arg(long)]
    json: bool,
}

impl TokenCommand {
    pub(super) fn run(self, reporter: &Reporter) -> anyhow::Result<()> {
        match self {
            TokenCommand::Add(add) => add.run(),
            TokenCommand::List { token_file, json } => list(&token_file, json),
            TokenCommand::Remove { name, token_file } => {
                tokens::remove(&token_file, &name).map_err(Error::msg)?;
                reporter.note(&format!(
                    "removed `{name}` from {}",
                    display_path(&token_file)
                ));
                Ok(())
            }
        }
    }
}

impl AddToken {
    /// Generates a token and its line. Adds the line to the file, if there is one, then prints the
    /// token and, without a file, the line.
    fn run(self) -> anyhow::Result<()> {
        let generated = TokenLine::generate(&self.name, self.role, self.prefix, self.expires);
        let GeneratedToken { token, line } = generated.map_err(Error::msg)?;
        if let Some(file) = &self.token_file {
            tokens::add(file, &line).map_err(Error::msg)?;
        }
        if self.json {
            return output::print_json(&json!({
                "name": self.name, "token": token, "line": line.to_string()
            }));
        }
        let hash_place = match &self.token_file {
            Some(file) => {
                output::print_verbatim(format!("{token}\n").as_bytes())?;
                format!("in {}", display_path(file))
            }
            None => {
                output::print_verbatim(format!("{token}\n{line}\n").as_bytes())?;
                "in the second line; put that line into the file of `serve --token-file`".to_owned()
            }
        };
        output::print_unlabelled(&format!(
            "{} types: prompt-expander team join URL, and pastes this token, which is shown only once\n\
             its hash is {hash_place}",
            self.name
        ));
        Ok(())
    }
}

/// A token in the output of `token list`.
#[derive(Serialize)]
struct TokenRow {
    name: String,
    role: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefix: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
    #[serde(skip)]
    is_expired: bool,
}

impl TokenRow {
    fn of(entry: &TokenLine) -> TokenRow {
        TokenRow {
            name: entry.name().to_owned(),
            role: entry.caller.role.as_str(),
            prefix: entry.caller.prefix.as_ref().map(ToString::to_string),
            expires: entry.expires.map(|day| day.to_string()),
            is_expired: entry.is_expired(),
        }
    }
}

/// Prints the tokens of a file.
fn list(token_file: &Path, json: bool) -> anyhow::Result<()> {
    let entries = tokens::list(token_file).map_err(Error::msg)?;
    let tokens: Vec<TokenRow> = entries.iter().map(TokenRow::of).collect();
    if json {
        return output::print_json(&json!({ "tokens": tokens }));
    }
    let is_terminal = output::terminal_width().is_some();
    let mut rows = Vec::new();
    for token in tokens {
        let mut expires = token.expires.unwrap_or_default();
        if is_terminal && token.is_expired {
            expires += " (expired)";
        }
        let prefix = token.prefix.unwrap_or_default();
        rows.push([token.name, token.role.to_owned(), prefix, expires]);
    }
    output::print_table(["NAME", "ROLE", "FOLDER", "EXPIRES"], &rows)
}
