//! The server: MCP on standard input and output, if there is no command or `serve`; over HTTP with
//! `serve --http`.

#[cfg(feature = "http")]
mod http;

use super::append;
use super::output::{self, Form};
use crate::library::{Library, VERSIONS};
use crate::server::{LEAST_LIMIT, PAGE_SIZE, Server, Settings, Work};
use crate::transport::{Tap, stdio};
use crate::wording::without_password;
use anyhow::Context;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use std::io::{self, IsTerminal};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::writer::BoxMakeWriter;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander serve                        what an agent starts: MCP on standard
                                               input and output
  prompt-expander serve --http 127.0.0.1:3333  for many clients; add
                                               http://127.0.0.1:3333/mcp to them
  prompt-expander serve --http 0.0.0.0:3333 --token-file tokens
  prompt-expander serve --http 0.0.0.0:443 --token-file tokens \\
      --tls-cert cert.pem --tls-key key.pem";

// The command `serve`: the options of the server, and those of the server over HTTP.
#[derive(Debug, Args)]
pub(super) struct ServeCommand {
    #[cfg(feature = "http")]
    #[command(flatten)]
    http: http::Http,
    #[command(flatten)]
    _serve: Serve,
}

// The options that only the server has.
#[derive(Debug, Default, Args)]
pub(super) struct Serve {
    /// The maximum number of prompts or resources in one page of a list; some clients read only the
    /// first page [default: 500]
    #[arg(long, value_name = "COUNT")]
    page_size: Option<NonZeroUsize>,
    /// The maximum number of characters in a result of expand_prompt; the model gets a longer one
    /// in parts
    ///
    /// The least is 600. Without this option, results are divided for Codex, Claude Code, Gemini
    /// CLI and opencode, just below what each of them shows its model, and for no other client.
    #[arg(long, value_name = "CHARACTERS", value_parser = result_limit)]
    result_limit: Option<usize>,
    /// Let agents create, change and delete prompts in your folder, or in the first --prompts
    /// folder
    ///
    /// They get tools for it. Earlier versions are kept, and `prompt-expander restore` brings them
    /// back. Over HTTP with --token-file, the role of a token decides instead: `write` and `admin`
    /// may edit prompts.
    #[arg(long)]
    edit: bool,
    /// How many earlier versions of a prompt are kept, in the folder `.history`, when an agent
    /// changes it [default: 50]
    #[arg(long, value_name = "COUNT")]
    history: Option<NonZeroUsize>,
    /// What to log on standard error; the default is nothing, or `info` with --log-file or --log-format
    ///
    /// Nothing is ever logged on standard output, which carries the protocol.
    #[arg(long, value_name = "LEVEL", value_parser = level())]
    log_level: Option<LevelFilter>,
    /// Append the log to this file instead of writing it to standard error
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// How to write the log: as text, or as one JSON object for each line
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<Format>,
    /// Append all messages from and to clients to this file, with time, process and direction
    ///
    /// The file contains what you typed and your prompts. If it is new, only you can read it.
    #[arg(long, value_name = "FILE")]
    tap: Option<PathBuf>,
}

fn result_limit(text: &str) -> Result<usize, String> {
    let limit: usize = text.parse().map_err(|_| "not a whole number".to_owned())?;
    if limit < LEAST_LIMIT {
        Err(format!("less than {LEAST_LIMIT}"))
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

fn level() -> impl TypedValueParser<Value = LevelFilter> {
    let values = LEVELS.map(|(name, help)| PossibleValue::new(name).help(help));
    PossibleValuesParser::new(values).try_map(|name| name.parse())
}

/// How an event of the log is written.
#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    /// The time, the level, the message and its fields
    Text,
    /// The same as a JSON object, for programs that collect logs
    Json,
}

impl ServeCommand {
    /// Serves over HTTP until the process is told to stop, or else on standard input and output
    /// until the end of input.
    pub(super) fn run(self, library: Library, serve: Serve) -> anyhow::Result<()> {
        #[cfg(feature = "http")]
        if let Some(address) = self.http.http.clone() {
            http::hold_warnings();
            let (library, server, tap) = serve.server(library, http::warn, Work::Folders);
            let started = || {
                serve.log();
                output::warnings(library.view().problems()); // of folders that are missing
            };
            return self.http.serve(&address, server, serve.edit, tap, started);
        }
        serve.run(library)
    }
}

impl Serve {
    /// Serves until the end of input.
    pub(super) fn run(self, library: Library) -> anyhow::Result<()> {
        self.log();
        output::warnings(library.view().problems()); // of folders that are missing
        if io::stdin().is_terminal() {
            output::note(
                "this is an MCP server, waiting for a client on standard input; stop it with Ctrl-D. Run `prompt-expander install` to \
                 add it to an agent. To use it yourself, try `prompt-expander list`, or see `prompt-expander --help`",
            );
        }
        let (_, server, tap) = self.server(library, output::warning, Work::Write);
        let output = output::protocol_stream().context("standard output failed")?;
        stdio::serve(&server, io::stdin(), output, tap)
            .context("standard input or output failed")?;
        tracing::info!("the end of input");
        Ok(())
    }

    /// The server, with its library and what records its messages.
    fn server(
        &self,
        library: Library,
        warn: fn(&str),
        jobs_from: Work,
    ) -> (Arc<Library>, Server, Option<Tap>) {
        let library = Arc::new(library.with_history(self.history.unwrap_or(VERSIONS)));
        let settings = Settings {
            may_edit: self.edit,
            page_size: self.page_size.unwrap_or(PAGE_SIZE),
            result_limit: self.result_limit,
            notifier_warns: Some(warn),
            jobs_from,
        };
        #[cfg(feature = "openapi")]
        super::source::TEAM
            .get()
            .into_iter()
            .for_each(|team| team.follow(&library));
        let file = self
            .tap
            .as_deref()
            .and_then(|path| append::open(path, warn));
        (
            Arc::clone(&library),
            Server::new(library, settings),
            file.map(|file| Tap::new(file, warn)),
        )
    }

    /// Starts logging if the options ask for it.
    fn log(&self) {
        let level = match self.log_level {
            Some(level) => level,
            None if self.log_file.is_some() || self.log_format.is_some() => LevelFilter::INFO,
            None => return,
        };
        let form = match self.log_format {
            Some(Format::Json) => Form::Json,
            Some(Format::Text) | None => Form::Text,
        };
        let writer = match self
            .log_file
            .as_deref()
            .map(|path| append::open(path, output::warning))
        {
            None => BoxMakeWriter::new(move || output::log_stream(form)),
            Some(Some(file)) => BoxMakeWriter::new(Arc::new(file)),
            Some(None) => return, // `open` has warned, or `doctor` only tests the file
        };
        let log = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_target(false);
        // If standard error is closed, complaining there about it would panic.
        let log = log
            .with_ansi(false)
            .with_writer(writer)
            .log_internal_errors(false);
        match self.log_format.unwrap_or(Format::Text) {
            Format::Text => log.init(),
            Format::Json => log.json().flatten_event(true).with_span_list(false).init(),
        }
        let arguments: Vec<String> = std::env::args_os()
            .skip(1)
            .map(|argument| without_password(&argument.to_string_lossy()))
            .collect();
        let folder = std::env::current_dir().unwrap_or_default();
        tracing::info!(
            version = env!("CARGO_PKG_VERSION"),
            process = std::process::id(),
            ?arguments,
            ?folder,
            "serving"
        );
    }
}
