//! `prompt-expander show`: the file of a prompt, byte for byte.

use super::output::{self, Reporter};
use super::source::PromptSource;
use crate::api;
use crate::whole_file;
use anyhow::Context;
use clap::Args;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander show research
  prompt-expander show research | prompt-expander new my-research";

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The prompt's name, with or without a colon: `research`, `:git/commit`
    name: String,
    /// Print one JSON object: `name`, `layer`, `path` (unless the prompt is built in), `revision`
    /// and `text`
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let view = source.library_with_warnings(reporter).view();
        if self.json {
            return output::print_json(
                &api::show(&view, &self.name).map_err(reporter.failure(&view, "show"))?,
            );
        }
        let found = view
            .find(&self.name)
            .map_err(reporter.failure(&view, "show"))?;
        let place = found.place();
        // A file that cannot be a prompt is shown, too.
        let bytes = match place
            .file
            .filter(|file| place.is_editable && file.is_file())
        {
            Some(file) => whole_file::read(&file)
                .with_context(|| format!("{} cannot be read", output::shown(&file)))?,
            None => found.text()?.into_bytes(),
        };
        output::print_verbatim(&bytes)
    }
}
