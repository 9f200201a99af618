//! The options of the server, which `config.toml` has, too.

use crate::server::MIN_PART_LIMIT;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use tracing::level_filters::LevelFilter;

// The options that only the server has.
#[derive(Debug, Default, Clone, Args)]
pub(in crate::cli) struct Serve {
    /// The maximum number of prompts or resources in one page of a list; some clients read only the
    /// first page [default: 500]
    #[arg(long, value_name = "COUNT")]
    pub(in crate::cli) page_size: Option<NonZeroUsize>,
    /// The maximum number of characters in a result of expand_prompt; the model gets a longer one
    /// in parts
    ///
    /// The least is 600. Without this option, results are divided for Codex, Claude Code, Gemini
    /// CLI and opencode, just below what each of them shows its model, and for no other client.
    #[arg(long, value_name = "CHARACTERS", value_parser = result_limit)]
    pub(in crate::cli) result_limit: Option<usize>,
    /// Let agents create, change and delete prompts in your folder, or in the first --prompts
    /// folder
    ///
    /// They get tools for it. Earlier versions are kept, and `prompt-expander restore` brings them
    /// back. Over HTTP with --token-file, the role of a token decides instead: `write` and `admin`
    /// may edit prompts.
    #[arg(long)]
    pub(in crate::cli) edit: bool,
    /// How many earlier versions of a prompt are kept, in the folder `.history`, when an agent
    /// changes it [default: 50]
    #[arg(long, value_name = "COUNT")]
    pub(in crate::cli) history: Option<NonZeroUsize>,
    /// What to log on standard error; the default is nothing, or `info` with --log-file or
    /// --log-format
    ///
    /// Nothing is ever logged on standard output, which carries the protocol.
    #[arg(long, value_name = "LEVEL", value_parser = level())]
    pub(in crate::cli) log_level: Option<LevelFilter>,
    /// Append the log to this file instead of writing it to standard error
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) log_file: Option<PathBuf>,
    /// How to write the log: as text, or as one JSON object for each line
    #[arg(long, value_name = "FORMAT")]
    pub(in crate::cli) log_format: Option<LogFormat>,
    /// Append all messages from and to clients to this file, with time, process and direction
    ///
    /// The file contains what you typed and your prompts. If it is new, only you can read it.
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) tap: Option<PathBuf>,
}

/// Parses the value of `--result-limit`.
///
/// # Errors
/// It is not a whole number, or less than [`MIN_PART_LIMIT`].
pub(in crate::cli) fn result_limit(text: &str) -> Result<usize, String> {
    let limit: usize = text.parse().map_err(|_| "not a whole number".to_owned())?;
    if limit < MIN_PART_LIMIT {
        Err(format!("less than {MIN_PART_LIMIT}"))
    } else {
        Ok(limit)
    }
}

/// How much is logged. Each level includes those before it.
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

/// How an event of the log is written.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
pub(in crate::cli) enum LogFormat {
    /// The time, the level, the message and its fields
    Text,
    /// The same as a JSON object, for programs that collect logs
    Json,
}

impl Serve {
    /// Returns these options, completed with the values of the settings file for the options that
    /// are not given. A flag is on if either has it.
    pub(in crate::cli) fn or(self, settings: Serve) -> Serve {
        Serve {
            page_size: self.page_size.or(settings.page_size),
            result_limit: self.result_limit.or(settings.result_limit),
            edit: self.edit || settings.edit,
            history: self.history.or(settings.history),
            log_level: self.log_level.or(settings.log_level),
            log_file: self.log_file.or(settings.log_file),
            log_format: self.log_format.or(settings.log_format),
            tap: self.tap.or(settings.tap),
        }
    }
}
