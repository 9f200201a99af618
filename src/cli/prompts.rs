//! Where a command finds prompts: in the library on this machine or, with `--http`, on a server.

use super::call::{Call, Prepared};
use super::output;
use super::source::PromptSource;
use crate::library::Library;
#[cfg(feature = "http")]
use crate::remote::{NoReport, Remote, TOKEN_VARIABLE};
use crate::report::{self, Expansion, Explanation, Filter, List};
#[cfg(feature = "http")]
use anyhow::{anyhow, bail};
use clap::Args;

// The options of commands that can ask a server.
#[derive(Debug, Args)]
pub(super) struct OnServer {
    /// Use the prompts of the server at this URL, such as `https://prompts.example.com`, instead of those on this machine
    #[cfg(feature = "http")]
    #[arg(long, value_name = "URL")]
    http: Option<String>,
    /// The environment variable with the token for the server; the default is PROMPT_EXPANDER_TOKEN
    #[cfg(feature = "http")]
    #[arg(long, value_name = "NAME", requires = "http")]
    token_env: Option<String>,
}

/// The prompts that a command uses.
pub(super) enum Prompts {
    Local(Library),
    #[cfg(feature = "http")]
    Remote(Remote),
}

impl OnServer {
    /// The prompts that the options select. Prints a warning if --project was given and there is no project.
    ///
    /// # Errors
    /// The environment variable that is to have the token is not set, or has none.
    pub(super) fn prompts(&self, source: &PromptSource) -> anyhow::Result<Prompts> {
        #[cfg(feature = "http")]
        if let Some(remote) = self.remote()? {
            return Ok(Prompts::Remote(remote));
        }
        Ok(Prompts::Local(source.library_with_warnings()))
    }

    /// The server, if one is named.
    ///
    /// # Errors
    /// Those of [`prompts`](OnServer::prompts).
    #[cfg(feature = "http")]
    pub(super) fn remote(&self) -> anyhow::Result<Option<Remote>> {
        let Some(url) = &self.http else { return Ok(None) };
        let variable = self.token_env.as_deref().unwrap_or(TOKEN_VARIABLE);
        let token = match std::env::var(variable) {
            Ok(token) => Some(token),
            Err(_) if self.token_env.is_none() => None,
            Err(_) => bail!("the environment variable {variable} is not set; set it to the token for the server"),
        };
        let remote =
            Remote::new(url, token.as_deref()).map_err(|why| anyhow!("{why}; set {variable} to the token alone"))?;
        Ok(Some(remote))
    }
}

impl Prompts {
    pub(super) fn list(&self, filter: &Filter) -> anyhow::Result<List> {
        match self {
            Prompts::Local(library) => Ok(List::of(&library.view(), filter)),
            #[cfg(feature = "http")]
            Prompts::Remote(remote) => remote.list(filter).map_err(no_report),
        }
    }

    pub(super) fn expand(&self, call: Call) -> anyhow::Result<Expansion> {
        match self {
            Prompts::Local(library) => {
                let Prepared { view, found, call } = call.prepare(library)?;
                report::expand(&view, &found, &call).map_err(output::failure)
            }
            #[cfg(feature = "http")]
            Prompts::Remote(remote) => remote.expand(&call.for_server()?).map_err(no_report),
        }
    }

    pub(super) fn explain(&self, call: Call) -> anyhow::Result<Explanation> {
        match self {
            Prompts::Local(library) => {
                let Prepared { view, found, call } = call.prepare(library)?;
                report::explain(&view, &found, &call).map_err(output::failure)
            }
            #[cfg(feature = "http")]
            Prompts::Remote(remote) => remote.explain(&call.for_server()?).map_err(no_report),
        }
    }
}

/// The error for a report that a server did not make. Prints its warnings.
#[cfg(feature = "http")]
pub(super) fn no_report(error: NoReport) -> anyhow::Error {
    match error {
        NoReport::Failure(failure) => output::failure(failure),
        NoReport::Error(error) => anyhow!("{error}"),
    }
}
