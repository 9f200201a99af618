//! The options of the server, which can also be set in `config.toml`.

use crate::server::MIN_PART_LIMIT;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use tracing::level_filters::LevelFilter;

#[derive(Debug, Default, Clone, Args)]
pub(in crate::cli) struct Serve {
    /// The maximum number of prompts or resources in one page of a list; some clients read only the
    /// first page [default: 500]
    #[arg(long, value_name = "COUNT")]
    pub(in crate::cli) page_size: Option<NonZeroUsize>,
    /// The maximum number of characters in a result of expand_prompt; longer results are returned
    /// in parts
    ///
    /// The minimum is 600. By default, only results for agents that would truncate them are
    /// divided, just below the length at which the agent would do so.
    #[arg(long, value_name = "CHARACTERS", value_parser = result_limit)]
    pub(in crate::cli) result_limit: Option<usize>,
    /// Also offer the prompts as skills over MCP, for clients that show skills but no prompts
    ///
    /// A client that shows both would show each prompt twice.
    #[arg(long)]
    pub(in crate::cli) skills: bool,
    /// Let agents create, change and delete prompts in your folder, or in the first --prompts
    /// folder
    ///
    /// Agents get additional tools for this. Earlier versions are kept, and `prompt-expander
    /// restore` brings them back. Over HTTP with --token-file, the role of each token decides
    /// instead: `write` and `admin` may edit prompts.
    #[arg(long)]
    pub(in crate::cli) edit: bool,
    /// How many earlier versions of a prompt to keep in the folder `.history` [default: 50]
    #[arg(long, value_name = "COUNT")]
    pub(in crate::cli) history: Option<NonZeroUsize>,
    /// How much to log; the default is `off`, or `info` with --log-file or --log-format
    ///
    /// The log never goes to standard output, which is used for the protocol.
    #[arg(long, value_name = "LEVEL", value_parser = level())]
    pub(in crate::cli) log_level: Option<LevelFilter>,
    /// Append the log to this file instead of writing it to standard error
    ///
    /// Except on Windows, the signal HUP opens this file and that of --tap again.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) log_file: Option<PathBuf>,
    /// The format of the log: text, or one JSON object per line
    #[arg(long, value_name = "FORMAT")]
    pub(in crate::cli) log_format: Option<LogFormat>,
    /// Record all messages that the server receives and sends, by appending them to this file
    ///
    /// The file contains your prompts and what you type. If the program creates the file, only you
    /// can read it.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) tap: Option<PathBuf>,
}

/// Parses a value of `--result-limit`.
///
/// # Errors
/// Fails if it isn't an integer, or is less than [`MIN_PART_LIMIT`].
pub(in crate::cli) fn result_limit(text: &str) -> Result<usize, String> {
    let limit: usize = text.parse().map_err(|_| "not a whole number".to_owned())?;
    if limit < MIN_PART_LIMIT {
        Err(format!("less than {MIN_PART_LIMIT}"))
    } else {
        Ok(limit)
    }
}

/// The log levels and their help. Each level includes the ones before it.
const LEVELS: [(&str, &str); 6] = [
    ("off", "Nothing"),
    ("error", "Internal errors"),
    ("warn", "Invalid messages"),
    (
        "info",
        "The client's name, notifications and refused tool calls",
    ),
    ("debug", "Each request: method, duration and outcome"),
    ("trace", "The parameters of each request"),
];

/// Returns the parser of `--log-level`, whose help describes each level.
pub(in crate::cli) fn level() -> impl TypedValueParser<Value = LevelFilter> {
    let values = LEVELS.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub(in crate::cli) enum LogFormat {
    /// The time, the level, the message and its fields
    Text,
    /// The same fields as a JSON object, for programs that collect logs
    Json,
}

impl Serve {
    /// Merges the settings file into these options, which take precedence. A flag is set if either
    /// sets it.
    pub(in crate::cli) fn or(self, settings: Serve) -> Serve {
        Serve {
            page_size: self.page_size.or(settings.page_size),
            result_limit: self.result_limit.or(settings.result_limit),
            skills: self.skills || settings.skills,
            edit: self.edit || settings.edit,
            history: self.history.or(settings.history),
            log_level: self.log_level.or(settings.log_level),
            log_file: self.log_file.or(settings.log_file),
            log_format: self.log_format.or(settings.log_format),
            tap: self.tap.or(settings.tap),
        }
    }
}
