//! Serving MCP on standard input and output: what the program does without a command.

use super::output;
use super::record::{self, Log};
use crate::library::{Hooks, Library};
use crate::server::{PAGE_SIZE, Server};
use crate::transport::stdio::{self, Events, Tap};
use anyhow::Context;
use clap::{Args, ValueEnum};
#[cfg(unix)]
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use tracing::level_filters::LevelFilter;

/// The options of the server alone.
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// How many prompts or resources a client gets at once when it lists them; some clients never ask for more
    #[arg(long, value_name = "COUNT", default_value_t = PAGE_SIZE)]
    page_size: NonZeroUsize,
    /// What is logged, on standard error; by default nothing, or `info` with --log-file
    ///
    /// Standard output carries the protocol and nothing else, whatever is logged.
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<Level>,
    /// A file that the log is added to, instead of standard error
    #[arg(long, value_name = "FILE")]
    log_file: Option<PathBuf>,
    /// A file to which each line is added that the client sends or is sent, behind time, process and direction
    ///
    /// It holds what you typed and the prompts, and only you may read it.
    #[arg(long, value_name = "FILE")]
    tap: Option<PathBuf>,
}

/// How much is logged; each level with those before it.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Level {
    /// Nothing
    Off,
    /// What went wrong
    Error,
    /// What was not understood
    Warn,
    /// Who asked, and what changed in the library
    Info,
    /// Each request: its method, how long it took, and how it ended
    Debug,
    /// The same with its parameters
    Trace,
}

impl From<Level> for LevelFilter {
    fn from(level: Level) -> LevelFilter {
        match level {
            Level::Off => LevelFilter::OFF,
            Level::Error => LevelFilter::ERROR,
            Level::Warn => LevelFilter::WARN,
            Level::Info => LevelFilter::INFO,
            Level::Debug => LevelFilter::DEBUG,
            Level::Trace => LevelFilter::TRACE,
        }
    }
}

impl Default for Serve {
    fn default() -> Serve {
        Serve { page_size: PAGE_SIZE, log_level: None, log_file: None, tap: None }
    }
}

impl Serve {
    /// An option that was given, if there is one.
    pub(super) fn given(&self) -> Option<&'static str> {
        let given = [
            (self.page_size != PAGE_SIZE, "--page-size"),
            (self.log_level.is_some(), "--log-level"),
            (self.log_file.is_some(), "--log-file"),
            (self.tap.is_some(), "--tap"),
        ];
        given.into_iter().find_map(|(is_given, option)| is_given.then_some(option))
    }

    /// Serves until the end of input.
    pub(super) fn run(self, library: Library) -> anyhow::Result<ExitCode> {
        self.log(&library);
        let missing = library.view().missing();
        for problem in &missing {
            output::warning(&problem.to_string());
        }
        if io::stdin().is_terminal() {
            // That nobody hears it is no reason not to serve.
            let _ = writeln!(
                io::stderr(),
                "prompt-expander is an MCP server and waits for a client on standard input; end it with Ctrl-D.\n\
                 To add it to a client: `prompt-expander install`. For people: `prompt-expander list`, `prompt-expander --help`."
            );
        }
        let tap = self.tap.as_deref().and_then(|path| record::open(path, &library));
        let tap = tap.map(|file| Tap::new(file, output::warning));
        let (mut events, waker) = Events::new().context("standard input cannot be waited for")?;
        let hooks = Hooks { wake: Box::new(move || waker.wake()), warn: output::warning };
        let mut server = Server::new(library, Some(hooks)).with_page_size(self.page_size);
        let mut output = unbuffered_stdout().context("standard output cannot be written to")?;
        stdio::serve(&mut server, &mut events, &mut output, tap).context("standard input or output failed")?;
        tracing::info!("the end of input");
        Ok(ExitCode::SUCCESS)
    }

    /// Begins to log, if that is wanted.
    fn log(&self, library: &Library) {
        let level = match (self.log_level, &self.log_file) {
            (None, None) => return,
            (Some(level), _) => level,
            (None, Some(_)) => Level::Info,
        };
        let log =
            tracing_subscriber::fmt().with_max_level(LevelFilter::from(level)).with_target(false).with_ansi(false);
        match self.log_file.as_deref().map(|path| record::open(path, library)) {
            None => log.with_writer(io::stderr).init(),
            Some(Some(file)) => log.with_writer(Arc::new(Log::new(file))).init(),
            Some(None) => return, // that is said
        }
        let arguments: Vec<_> = std::env::args_os().skip(1).collect();
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

/// Standard output without std's buffer by lines, which would look through each long answer for its last line end.
#[cfg(unix)]
fn unbuffered_stdout() -> io::Result<impl Write> {
    use std::os::fd::AsFd;
    io::stdout().as_fd().try_clone_to_owned().map(File::from)
}

#[cfg(not(unix))]
fn unbuffered_stdout() -> io::Result<impl Write> {
    Ok(io::stdout().lock())
}
