//! `prompt-expander token`: tokens for clients of `serve --http`, and the file that the server
//! reads them from.

use super::output::{self, NAME, Reporter, Styled, styled};
use crate::library::{Caller, Prefix, Role};
use crate::transport::http::tokens::{self, Date, Entry, parse_expiry, parse_name, parse_role};
use anyhow::Error;
use clap::{Args, Subcommand, ValueHint};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::PathBuf;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander token add ana --token-file tokens
  prompt-expander token list --token-file tokens
  prompt-expander token remove ana --token-file tokens";

#[derive(Debug, Subcommand)]
pub(super) enum Token {
    /// Print a new random token, and add the line that lets its owner in to a file
    ///
    /// The token is for the client. It is printed once, and stored nowhere. The line is for the
    /// file that the server is started with, `serve --token-file FILE`; without --token-file, it is
    /// printed after the token. It holds only the SHA-256 of the token, so others may read it. A
    /// server that is running accepts the token within a second after the line is added.
    #[command(after_help = ADD_EXAMPLES)]
    Add(Add),
    /// List the tokens of a file, by their names, with what they may do
    ///
    /// On a terminal, prints columns; otherwise, one line for each token with tabs between name,
    /// role, folder and last day.
    List {
        /// The file, as `serve` has it
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        token_file: PathBuf,
        /// Print one JSON object: `tokens` with `name`, `role`, `prefix` and `expires`
        #[arg(long)]
        json: bool,
    },
    /// Remove a token from a file
    ///
    /// A server that is running refuses the token within a second.
    Remove {
        /// Whose token it is, as `list` shows it
        name: String,
        /// The file, as `serve` has it
        #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
        token_file: PathBuf,
    },
}

const ADD_EXAMPLES: &str = "\
Examples:
  prompt-expander token add ana --token-file tokens
  prompt-expander token add team-a --prefix team-a/ --expires 90d --token-file tokens";

#[derive(Debug, Args)]
pub(super) struct Add {
    /// Whose token it is, for logs: letters, digits and `-._@`
    #[arg(value_parser = parse_name)]
    name: String,
    /// What the token may do: `read` (use prompts), `write` (change them, too) or `admin` (operate
    /// the server, too)
    #[arg(long, default_value = "read", value_parser = parse_role)]
    role: Role,
    /// The only folder of prompts that exists for the token, such as `team-a/`; by default all
    #[arg(long, value_name = "FOLDER/", value_parser = Prefix::new)]
    prefix: Option<Prefix>,
    /// The last day of the token in UTC, such as `2027-01-31`, or a number of days such as `90d`;
    /// by default it never expires
    #[arg(long, value_name = "DATE|DAYS", value_parser = parse_expiry)]
    expires: Option<Date>,
    /// The file to add the line to, which is made if there is none; without it, the line is printed
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    token_file: Option<PathBuf>,
    /// Print one JSON object: `name`, `token` and `line`
    #[arg(long)]
    json: bool,
}

impl Token {
    pub(super) fn run(self, reporter: &Reporter) -> anyhow::Result<()> {
        match self {
            Token::Add(add) => add.run(reporter)?,
            Token::List { token_file, json } => {
                let entries = tokens::list(&token_file).map_err(Error::msg)?;
                let has = |(_, value): &(&str, String)| !value.is_empty();
                let listed = entries
                    .iter()
                    .map(|entry| fields(entry).into_iter().filter(has).collect());
                match json {
                    true => output::print_json(
                        &json!({ "tokens": listed.collect::<Vec<BTreeMap<_, _>>>() }),
                    )?,
                    false => output::print_lines(&entries.iter().map(line).collect())?,
                }
            }
            Token::Remove { name, token_file } => {
                tokens::remove(&token_file, &name).map_err(Error::msg)?;
                reporter.note(&format!(
                    "removed `{name}` from {}",
                    output::full_path(&token_file)
                ));
            }
        }
        Ok(())
    }
}

/// What a list shows of a token; what it does not have is empty.
fn fields(entry: &Entry) -> [(&'static str, String); 4] {
    let Caller { role, prefix, .. } = &*entry.caller;
    let prefix = prefix.as_ref().map(ToString::to_string).unwrap_or_default();
    let expires = entry.expires.map(|day| day.to_string()).unwrap_or_default();
    [
        ("name", entry.name().to_owned()),
        ("role", role.as_str().to_owned()),
        ("prefix", prefix),
        ("expires", expires),
    ]
}

fn line(entry: &Entry) -> Styled {
    let [name, role, prefix, expires] = fields(entry).map(|(_, value)| value);
    if output::terminal_width().is_none() {
        return format!("{name}\t{role}\t{prefix}\t{expires}\n").into();
    }
    let note = if entry.is_expired() { " (expired)" } else { "" };
    let rest = format!("  {role:5}  {prefix:16}  {expires}{note}");
    styled(NAME, format!("{name:16}")).plain(format!("{}\n", rest.trim_end()))
}

impl Add {
    fn run(self, reporter: &Reporter) -> anyhow::Result<()> {
        let Add {
            name,
            role,
            prefix,
            expires,
            token_file,
            json,
        } = self;
        let (token, entry) = Entry::generate(&name, role, prefix, expires).map_err(Error::msg)?;
        token_file
            .iter()
            .try_for_each(|file| tokens::add(file, &entry))
            .map_err(Error::msg)?;
        let line = entry.to_string();
        if json {
            return output::print_json(&json!({ "name": name, "token": token, "line": line }));
        }
        let (line, which, place) = match token_file {
            Some(file) => (
                String::new(),
                "this",
                format!("is in {}", output::full_path(&file)),
            ),
            None => (
                line + "\n",
                "the first line",
                "is for the file of `serve --token-file FILE`".to_owned(),
            ),
        };
        output::print_verbatim(format!("{token}\n{line}").as_bytes())?;
        reporter.note(&format!(
            "{which} is the token, for the client, and is not shown again: put it into the file `team-token` beside the settings \
             file there, or into an environment variable that the agent's config names; the token's line {place}, and contains no secret"
        ));
        Ok(())
    }
}
