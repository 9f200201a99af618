//! The server: MCP on standard input and output, if there is no command or `serve`; over HTTP with
//! `serve --http`.

#[cfg(feature = "http")]
mod http;
pub(super) mod options;

use super::append;
use super::output::{self, Form, Reporter};
use super::source::PromptSource;
use crate::library::{Library, VERSIONS};
use crate::server::{MayWait, PAGE_SIZE, Server, Settings};
use crate::transport::{Tap, stdio};
use crate::wording::without_password;
use anyhow::Context;
use clap::Args;
use options::{LogFormat, Serve};
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

// The command `serve`: the options of the server, and those of the server over HTTP.
#[derive(Debug, Args)]
pub(super) struct ServeCommand {
    #[cfg(feature = "http")]
    #[command(flatten)]
    http: http::Http,
    #[command(flatten)]
    serve: Serve,
}

impl ServeCommand {
    /// Serves over HTTP until the process is told to stop, or else on standard input and output
    /// until the end of input. `before` are the options before the command.
    pub(super) fn run(
        self,
        source: &PromptSource,
        before: Serve,
        reporter: &Reporter,
    ) -> anyhow::Result<()> {
        let serve = self.serve.or(before);
        #[cfg(feature = "http")]
        if let Some(address) = self.http.http.clone() {
            let serve = serve.or(source.settings.serve.clone());
            return self.http.serve(&address, source, &serve, reporter);
        }
        serve.run(source, reporter)
    }
}

impl Serve {
    /// Serves on standard input and output until the end of input.
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let serve = self.or(source.settings.serve.clone());
        serve.log(reporter);
        let library = serve.library(source);
        reporter.warn_all(library.view().problems()); // of folders that are missing
        if io::stdin().is_terminal() {
            reporter.note(
                "this is an MCP server, waiting for a client on standard input; stop it with Ctrl-D. Run `prompt-expander install` to \
                 add it to an agent. To use it yourself, try `prompt-expander list`, or see `prompt-expander --help`",
            );
        }
        let tap = serve.tap().unwrap_or_else(|problem| {
            reporter.warn(&problem);
            None
        });
        let server = serve.server(library, MayWait::Write);
        let output = output::protocol_stream().context("standard output failed")?;
        stdio::serve(&server, io::stdin(), output, tap)
            .context("standard input or output failed")?;
        tracing::info!("the end of input");
        Ok(())
    }

    /// Returns the library that is served. The prompts of the team are kept up to date from now on.
    fn library(&self, source: &PromptSource) -> Arc<Library> {
        let versions = self.history.unwrap_or(VERSIONS);
        let library = Arc::new(source.library().with_history(versions));
        #[cfg(feature = "openapi")]
        if let Some(team) = &source.settings.team {
            team.follow(&library);
        }
        library
    }

    fn server(&self, library: Arc<Library>, wait_threshold: MayWait) -> Server {
        let settings = Settings {
            may_edit: self.edit,
            page_size: self.page_size.unwrap_or(PAGE_SIZE),
            result_limit: self.result_limit,
            notifier_warns: Some(output::print_warning),
            wait_threshold,
        };
        Server::new(library, settings)
    }

    /// Returns the record of the conversation, if one is kept.
    ///
    /// # Errors
    /// Why its file cannot be written to.
    fn tap(&self) -> Result<Option<Tap>, String> {
        let Some(path) = &self.tap else {
            return Ok(None);
        };
        let file = append::open(path)?;
        Ok(file.map(|file| Tap::new(file, output::print_warning)))
    }

    /// Starts logging if the options ask for it.
    fn log(&self, reporter: &Reporter) {
        let level = match self.log_level {
            Some(level) => level,
            None if self.log_file.is_some() || self.log_format.is_some() => LevelFilter::INFO,
            None => return,
        };
        let format = self.log_format.unwrap_or(LogFormat::Text);
        let form = match format {
            LogFormat::Json => Form::Json,
            LogFormat::Text => Form::Text,
        };
        let writer = match self.log_file.as_deref().map(append::open) {
            None => BoxMakeWriter::new(move || output::log_stream(form)),
            Some(Ok(Some(file))) => BoxMakeWriter::new(Arc::new(file)),
            Some(Ok(None)) => return, // `doctor` only tests the file
            Some(Err(problem)) => return reporter.warn(&problem),
        };
        let log = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_target(false);
        // If standard error is closed, complaining there about it would panic.
        let log = log
            .with_ansi(false)
            .with_writer(writer)
            .log_internal_errors(false);
        match format {
            LogFormat::Text => log.init(),
            LogFormat::Json => log.json().flatten_event(true).with_span_list(false).init(),
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
