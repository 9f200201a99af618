//! `prompt-expander serve`: runs the MCP server, on standard input and output or, with `--http`,
//! over HTTP. It is also what the program does without a command.

#[cfg(feature = "http")]
mod http;
mod menu_keeper;
pub(super) mod options;

use super::append;
use super::output::{self, Escaping, Reporter};
use super::source_options::PromptSource;
use crate::library::{DEFAULT_MAX_VERSIONS, Library};
use crate::server::{LongestWait, PAGE_SIZE, Server, Settings};
use crate::transport::{Tap, stdio};
use crate::wording::without_password;
use anyhow::Context;
use clap::Args;
use menu_keeper::{MenuKeeper, OutputWithKeeper};
use options::{LogFormat, Serve};
use std::env;
use std::io::{self, IsTerminal};
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

const NOTE_FOR_PERSON: &str = "\
this is an MCP server, waiting for a client on standard input; stop it with Ctrl-D. \
Run `prompt-expander install` to add it to an agent. \
To use it yourself, try `prompt-expander list`, or see `prompt-expander --help`";

#[derive(Debug, Args)]
pub(super) struct ServeCommand {
    #[cfg(feature = "http")]
    #[command(flatten)]
    http: http::Http,
    #[command(flatten)]
    serve: Serve,
}

impl ServeCommand {
    /// Serves on standard input and output until the end of the input. With `--http`, serves over
    /// HTTP until the process is stopped.
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        #[cfg(feature = "http")]
        if let Some(address) = self.http.http.clone() {
            let serve = self.serve.or(source.settings.serve.clone());
            return self.http.serve(&address, source, &serve, reporter);
        }
        self.serve.run(source, reporter)
    }
}

impl Serve {
    /// Serves on standard input and output until the end of the input. Options that weren't passed
    /// default to the settings file.
    ///
    /// If the tap or the log can't be opened, only warns, so that the agent still gets its prompts.
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let serve = self.or(source.settings.serve.clone());
        append::ignore_hangups();
        serve.start_log(reporter);
        let library = serve.library(source);
        reporter.warn_all(library.view().problems()); // e.g. a missing folder
        if io::stdin().is_terminal() {
            reporter.note(NOTE_FOR_PERSON);
        }
        let tap = match serve.open_tap() {
            Ok(tap) => tap,
            Err(problem) => {
                reporter.warn(&problem);
                None
            }
        };
        let keeper = MenuKeeper::new(source, &library);
        let settings = Settings {
            usage_log: source.usage_log(),
            ..serve.server_settings(LongestWait::Write)
        };
        let server = Server::new(library, settings);
        let output = output::protocol_stream().context("standard output failed")?;
        let output = OutputWithKeeper::new(output, keeper, &server);
        stdio::serve(&server, io::stdin(), output, tap)
            .context("standard input or output failed")?;
        tracing::info!("the end of input");
        Ok(())
    }

    /// Opens the library to serve, and starts refreshing the team's prompts in the background.
    fn library(&self, source: &PromptSource) -> Arc<Library> {
        let max_versions = self.history.unwrap_or(DEFAULT_MAX_VERSIONS);
        let library = Arc::new(source.library().with_history(max_versions));
        #[cfg(feature = "openapi")]
        if let Some(team) = &source.settings.team {
            team.start_refreshing(&library);
        }
        library
    }

    /// Returns the settings of a server that counts nothing. Requests that may wait for
    /// `wait_threshold` or something slower run in a job, so that they don't delay other requests.
    fn server_settings(&self, wait_threshold: LongestWait) -> Settings {
        Settings {
            may_edit: self.edit,
            page_size: self.page_size.unwrap_or(PAGE_SIZE),
            max_part_chars: self.result_limit,
            skills: self.skills,
            on_notifier_warning: Some(output::print_warning),
            usage_log: None,
            wait_threshold,
        }
    }

    /// Opens the file that records all messages. Returns `None` without `--tap`, or if `doctor` has
    /// started this server only to examine it.
    ///
    /// # Errors
    /// Fails with a message if the file can't be opened.
    fn open_tap(&self) -> Result<Option<Tap>, String> {
        let Some(path) = &self.tap else {
            return Ok(None);
        };
        let file = append::open(path)?;
        Ok(file.map(|file| Tap::new(file, output::print_warning)))
    }

    /// Starts logging, if the options enable it: to `--log-file`, or to standard error by default.
    /// If the file can't be opened, warns and doesn't log.
    fn start_log(&self, reporter: &Reporter) {
        let Some(max_level) = self.max_log_level() else {
            return;
        };
        let format = self.log_format.unwrap_or(LogFormat::Text);
        let writer = match self.log_file.as_deref().map(append::open) {
            None => BoxMakeWriter::new(move || output::log_stream(escaping_of(format))),
            Some(Ok(Some(file))) => BoxMakeWriter::new(move || file.clone()),
            Some(Ok(None)) => return, // started by `doctor`, which only tests the file
            Some(Err(problem)) => return reporter.warn(&problem),
        };
        let log = tracing_subscriber::fmt()
            .with_max_level(max_level)
            .with_target(false)
            .with_ansi(false)
            .with_writer(writer)
            // Otherwise, a failed write would be reported on standard error, and panic if that is
            // closed.
            .log_internal_errors(false);
        match format {
            LogFormat::Text => log.init(),
            LogFormat::Json => log.json().flatten_event(true).with_span_list(false).init(),
        }
        log_start();
    }

    /// Returns the maximum level to log, or `None` to log nothing. The level defaults to `info` if
    /// another option of the log is set.
    fn max_log_level(&self) -> Option<LevelFilter> {
        let has_other_log_option = self.log_file.is_some() || self.log_format.is_some();
        if self.log_level.is_none() && has_other_log_option {
            return Some(LevelFilter::INFO);
        }
        self.log_level
    }
}

fn escaping_of(format: LogFormat) -> Escaping {
    match format {
        LogFormat::Json => Escaping::Json,
        LogFormat::Text => Escaping::Text,
    }
}

/// Logs the version, the process id, the arguments (with passwords masked) and the working
/// directory.
fn log_start() {
    let mut arguments = Vec::new();
    for argument in env::args_os().skip(1) {
        arguments.push(without_password(&argument.to_string_lossy()));
    }
    let folder = env::current_dir().unwrap_or_default();
    tracing::info!(
        version = env!("CARGO_PKG_VERSION"),
        process = std::process::id(),
        ?arguments,
        ?folder,
        "serving"
    );
}
