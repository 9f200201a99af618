//! `prompt-expander show`: the file of a prompt, byte for byte.

use super::output::{self, Reporter};
use super::source_options::PromptSource;
use crate::api;
use crate::library::Found;
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
    /// Print one JSON object with `name`, `layer`, `path` (not for a built-in prompt), `revision`
    /// and `text`
    #[arg(long)]
    json: bool,
}

impl Show {
    pub(super) fn run(self, source: &PromptSource, reporter: &Reporter) -> anyhow::Result<()> {
        let view = source.library_with_warnings(reporter).view();
        if self.json {
            let object =
                api::show(&view, &self.name).map_err(reporter.prompt_error(&view, "show"))?;
            return output::print_json(&object);
        }
        let found = view
            .find(&self.name)
            .map_err(reporter.prompt_error(&view, "show"))?;
        output::print_verbatim(&bytes(&found)?)
    }
}

/// Returns the contents of an editable prompt's file, even if it isn't UTF-8. For any other prompt,
/// returns its text.
fn bytes(found: &Found) -> anyhow::Result<Vec<u8>> {
    let location = found.location();
    match location.file {
        Some(file) if location.is_editable && file.is_file() => whole_file::read(&file)
            .with_context(|| format!("{} cannot be read", output::display_path(&file))),
        _ => Ok(found.text()?.into_bytes()),
    }
}
