//! `prompt-expander explain`: where an expansion comes from, and whether a client shows all of it.
//!
//! [`Explanation`] is what there is to tell; `explain/page.rs` tells it to people, `explain/json.rs` to scripts. The limits of
//! the clients are those that were measured; `docs/clients` and `docs/hook.md` say how.

mod json;
mod page;

use super::call::{Call, Texts};
use super::output;
use crate::agents::{AGENTS, Agent, Limit, Way};
use crate::hook;
use crate::library::{Layer, Library, Problem, Source};
use crate::prompt::{ExpandError, Given, Left, Prompt};
use clap::Args;
use json::JsonExplanation;
use serde_json::json;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander explain research solar cells
  prompt-expander explain compare --arg options='Rust or Go'
  git diff | prompt-expander explain review";

#[derive(Debug, Args)]
pub(super) struct Explain {
    #[command(flatten)]
    call: Call,
    /// One JSON object: `name`, `title`, `description`, `layer`, `source`, `shadows`, `tags`, `usage`, `arguments`, `input`,
    /// `placeholders`, `left`, `expansion` (or `error`) with `limits`, and `problems`
    #[arg(long)]
    json: bool,
}

/// How many bytes a token has, as Codex estimates.
const BYTES_OF_TOKEN: usize = 4;

/// What there is to tell of a prompt that is given some texts.
struct Explanation<'c> {
    prompt: &'c Prompt,
    layer: Layer,
    source: Source,
    /// Those of the same name that it hides.
    shadows: Vec<(Layer, Source)>,
    /// What each declared argument gets.
    given: Vec<Given<'c>>,
    /// What stands for `{{input}}`, or follows the body; only where that has a place.
    input: Option<&'c str>,
    placeholders: Vec<Filled<'c>>,
    left: Vec<Left>,
    expansion: Result<Lengths, ExpandError>,
    /// What `check` would warn of.
    problems: Vec<Problem>,
}

/// The placeholders of one name.
struct Filled<'c> {
    name: &'c str,
    count: usize,
    /// Whether an empty text stands there.
    is_empty: bool,
}

/// How long an expansion is.
struct Lengths {
    bytes: usize,
    characters: usize,
    /// An estimate.
    tokens: usize,
    measures: Vec<Measure>,
}

/// How much of a client's limit an expansion takes.
struct Measure {
    client: &'static Agent,
    limit: Limit,
    /// In the unit of the limit.
    length: usize,
}

impl Explain {
    pub(super) fn run(self, library: &Library) -> anyhow::Result<ExitCode> {
        let prompt = self.call.find(library)?;
        let texts = self.call.texts(&prompt)?;
        let explanation = Explanation::of(&prompt, &texts, library.sources(&prompt.name));
        if self.json {
            output::print_json(&JsonExplanation::from(explanation))?;
        } else {
            output::print(&page::of(&explanation, output::terminal_width().unwrap_or(usize::MAX))?)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl<'c> Explanation<'c> {
    /// `sources` are all places that have the prompt's name, its own first.
    fn of(prompt: &'c Prompt, texts: &'c Texts, sources: Vec<(Layer, Source)>) -> Explanation<'c> {
        let mut sources = sources.into_iter();
        let (layer, source) = sources.next().unwrap_or((Layer::User, Source::Builtin)); // gone since a moment ago
        let path = match &source {
            Source::File(path) => path.clone(),
            Source::Builtin => prompt.name.clone().into(),
        };
        let problem = |diagnostic| Problem { file: prompt.name.clone(), path: path.clone(), diagnostic };
        let given = texts.given(prompt);
        Explanation {
            prompt,
            layer,
            source,
            shadows: sources.collect(),
            input: prompt.takes_input().then(|| texts.whole_input()),
            placeholders: filled(prompt, &given, texts.whole_input()),
            given,
            left: prompt.left(),
            expansion: texts.expand(prompt).map(|text| Lengths::of(prompt, texts, layer, &text)),
            problems: prompt.warnings().into_iter().map(problem).collect(),
        }
    }
}

/// The placeholders that are filled, perhaps with an empty text: each name once, in the order of the body. `input` is for
/// that which is no argument.
fn filled<'p>(prompt: &'p Prompt, given: &[Given<'_>], input: &str) -> Vec<Filled<'p>> {
    let mut all: Vec<Filled<'p>> = Vec::new();
    for placeholder in prompt.template.placeholders() {
        let name = placeholder.name.as_str();
        match all.iter_mut().find(|known| known.name == name) {
            Some(known) => known.count += 1,
            None => {
                let value = given.iter().find(|given| given.name == name).map_or(input, |given| &given.value);
                all.push(Filled { name, count: 1, is_empty: value.is_empty() });
            }
        }
    }
    all
}

impl Lengths {
    fn of(prompt: &Prompt, texts: &Texts, layer: Layer, text: &str) -> Lengths {
        let result = json!({ "prompt": text }).to_string();
        let is_of_project = layer == Layer::Project;
        let measure = |client: &'static Agent, limit: Limit| {
            let length = match limit.way {
                Way::Tool => limit.unit.count(&result),
                Way::CodeMode => limit.unit.count(text),
                Way::Hook => {
                    limit.unit.count(&hook::context_of_one(client, &prompt.name, &texts.input, text, is_of_project))
                }
            };
            Measure { client, limit, length }
        };
        let measures_of = |client: &'static Agent| client.limits.iter().map(move |limit| measure(client, *limit));
        Lengths {
            bytes: text.len(),
            characters: text.chars().count(),
            tokens: text.len().div_ceil(BYTES_OF_TOKEN),
            measures: AGENTS.into_iter().flat_map(measures_of).collect(),
        }
    }
}

impl Measure {
    /// Whether the client shows all of it.
    fn is_whole(&self) -> bool {
        self.length <= self.limit.most
    }

    /// What is counted, and of what.
    fn unit(&self) -> String {
        let unit = self.limit.unit.name();
        if self.limit.way == Way::Tool { format!("{unit} of the result") } else { unit.to_owned() }
    }
}
