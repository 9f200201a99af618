//! `prompt-expander token`: tokens for clients of `serve --http`.

use super::output;
use crate::library::{Prefix, Role};
use crate::transport::http::tokens::{Date, Entry, parse_expiry, parse_name, parse_role};
use clap::{Args, Subcommand};
use serde_json::json;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander token add ana
  prompt-expander token add team-a --prefix team-a/ --expires 90d";

#[derive(Debug, Args)]
pub(super) struct Token {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print a new random token, and the line that lets its owner in
    ///
    /// The token is for the client. It is printed once, and nothing is written to any file. The line is for the file that the
    /// server is started with, `serve --token-file FILE`. It holds only the SHA-256 of the token, so others may read it. A server
    /// that is running accepts the token within a second after the line is added, and refuses it within a second after the
    /// line is removed.
    #[command(after_help = ADD_EXAMPLES)]
    Add(Add),
}

const ADD_EXAMPLES: &str = "\
Examples:
  prompt-expander token add ana
  prompt-expander token add team-a --prefix team-a/ --expires 90d
  prompt-expander token add ana | tee /dev/stderr | tail -n 1 >> tokens";

#[derive(Debug, Args)]
struct Add {
    /// Whose token it is, for logs: letters, digits and `-._@`
    #[arg(value_parser = parse_name)]
    name: String,
    /// What the token may do: `read` (use prompts), `write` (change them, too) or `admin` (operate the server, too)
    #[arg(long, default_value = "read", value_parser = parse_role)]
    role: Role,
    /// The only folder of prompts that exists for the token, such as `team-a/`; by default all
    #[arg(long, value_name = "FOLDER/", value_parser = Prefix::new)]
    prefix: Option<Prefix>,
    /// The last day of the token in UTC, such as `2027-01-31`, or a number of days such as `90d`; by default it never expires
    #[arg(long, value_name = "DATE|DAYS", value_parser = parse_expiry)]
    expires: Option<Date>,
    /// Print one JSON object: `name`, `token` and `line`
    #[arg(long)]
    json: bool,
}

impl Token {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let Action::Add(Add { name, role, prefix, expires, json }) = self.action;
        let (token, entry) = Entry::generate(&name, role, prefix, expires).map_err(anyhow::Error::msg)?;
        let line = entry.to_string();
        if json {
            output::print_json(&json!({ "name": name, "token": token, "line": line }))?;
        } else {
            output::print_verbatim(format!("{token}\n{line}\n").as_bytes())?;
            output::note(
                "the first line is the token, for the client, and is not shown again: put it into an environment variable there, \
                 such as TEAM_TOKEN, and run `prompt-expander install AGENT --http URL --token-env TEAM_TOKEN`",
            );
            output::note("the second line is for the file of `serve --token-file FILE`, and contains no secret");
        }
        Ok(ExitCode::SUCCESS)
    }
}
