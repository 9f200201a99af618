//! `prompt-expander explain`: where an expansion comes from, and which agents show all of it.
//!
//! [`Explanation`] has the facts; `explain/page.rs` prints them for people, `explain/json.rs` for scripts. The limits of agents
//! were measured; `docs/clients` and `docs/hook.md` say how.

mod json;
mod page;
mod tokens;

use super::call::{Call, Texts};
use super::output;
use crate::agents::{AGENTS, Agent, Delivery, Limit, PartLimit};
use crate::hook;
use crate::library::{Layer, Library, Location, Problem};
use crate::prompt::{Binding, Bound, Diagnostic, ExpandError, MessageTemplate, Prompt, System, Unexpanded};
use clap::Args;
use json::JsonExplanation;
use std::borrow::Cow;
use std::path::PathBuf;
use std::process::ExitCode;

pub(super) const EXAMPLES: &str = "\
Examples:
  prompt-expander explain research solar cells
  prompt-expander explain compare --arg options='Rust or Go'
  git diff | prompt-expander explain review focus on locks
  prompt-expander explain ./draft.md solar cells";

#[derive(Debug, Args)]
pub(super) struct Explain {
    #[command(flatten)]
    call: Call,
    /// Print one JSON object: `name`, `title`, `description`, `layer`, `format`, `source`, `includes`, `shadows`, `tags`, `icons`
    /// (their addresses), `usage`, `messages` (the roles of several), `attachments`, `arguments`, `input`, `placeholders`, `left`,
    /// `expansion` (or `error`) with all `limits`, `warnings` of this call, and `problems` of the file
    #[arg(long)]
    json: bool,
}

/// All facts about a prompt and what it is called with.
struct Explanation<'c> {
    prompt: &'c Prompt,
    /// `None` if the call names a file.
    layer: Option<Layer>,
    /// The program that its file is written for; `None` if the call names a file.
    system: Option<System>,
    source: Location,
    /// The prompts of the same name that it overrides.
    shadows: Vec<(Layer, Location)>,
    /// The value of each declared argument.
    given: Vec<Bound<'c>>,
    /// The value of `{{input}}`, or what follows the body; `None` if the prompt takes no input.
    input: Option<Cow<'c, str>>,
    placeholders: Vec<Filled<'c>>,
    unexpanded: Vec<Unexpanded>,
    expansion: Result<Lengths, ExpandError>,
    /// What works, but is probably not what the caller intends.
    warnings: Vec<String>,
    /// The warnings of `check`.
    problems: Vec<Problem>,
}

/// The placeholders of one name.
struct Filled<'c> {
    name: &'c str,
    /// The first of them.
    written: &'c str,
    count: usize,
    /// Whether the value is empty.
    is_empty: bool,
}

/// The length of an expansion.
struct Lengths {
    bytes: usize,
    characters: usize,
    /// An estimate; see `explain/tokens.rs`.
    tokens: usize,
    measures: Vec<Measure>,
}

/// The length of an expansion, compared with an agent's limit.
struct Measure {
    agent: &'static Agent,
    limit: Limit,
    /// In the unit of the limit.
    length: usize,
}

impl Explain {
    pub(super) fn run(self, library: &Library) -> anyhow::Result<ExitCode> {
        let prompt = self.call.find(library)?;
        let file = self.call.file();
        let texts = self.call.texts(&prompt)?;
        let explanation = Explanation::of(&prompt, &texts, library, file);
        if self.json {
            output::print_json(&JsonExplanation::from(explanation))?;
        } else {
            output::print_paged(&page::of(&explanation, output::terminal_width().unwrap_or(usize::MAX))?)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl<'c> Explanation<'c> {
    /// `file` is the file that the call names, if it names one.
    fn of(prompt: &'c Prompt, texts: &'c Texts, library: &Library, file: Option<PathBuf>) -> Explanation<'c> {
        let (layer, source, shadows) = match file {
            Some(file) => (None, Location::File(file), Vec::new()),
            None => {
                let mut sources = library.view().locations(&prompt.name).into_iter();
                let (layer, source) = sources.next().unwrap_or((Layer::User, Location::Builtin)); // deleted just now
                (Some(layer), source, sources.collect())
            }
        };
        let path = match &source {
            Location::File(path) => path.clone(),
            Location::Builtin => prompt.name.to_string().into(),
        };
        let problem = |diagnostic: Diagnostic| {
            let path = diagnostic.file.clone().unwrap_or_else(|| path.clone());
            Problem { file: prompt.name.to_string(), path, diagnostic }
        };
        let Binding { arguments: given, input, .. } = texts.bind(prompt);
        Explanation {
            prompt,
            layer,
            system: layer.and_then(|_| library.view().system(&prompt.name)),
            source,
            shadows,
            placeholders: filled(prompt, &given, input.as_deref().unwrap_or_default()),
            given,
            input,
            unexpanded: prompt.unexpanded(),
            expansion: texts.expand(library, prompt).map(|text| Lengths::of(prompt, texts, layer, &text)),
            warnings: texts.warnings(prompt),
            problems: prompt.warnings().into_iter().map(problem).collect(),
        }
    }
}

/// The placeholders that are replaced, perhaps by an empty value: each name once, in the order of the body. `input` is the value
/// of the one that is not an argument.
fn filled<'p>(prompt: &'p Prompt, given: &[Bound<'_>], input: &str) -> Vec<Filled<'p>> {
    let mut all: Vec<Filled<'p>> = Vec::new();
    let in_message = |message: &'p MessageTemplate| message.placeholders().map(move |it| (it, message.written(it)));
    for (placeholder, written) in prompt.messages.iter().flat_map(in_message) {
        let name = placeholder.name.as_str();
        match all.iter_mut().find(|known| known.name == name) {
            Some(known) => known.count += 1,
            None => {
                let value = given.iter().find(|given| given.name == name).map_or(input, |given| &given.value);
                if !(placeholder.stays && value.is_empty()) {
                    all.push(Filled { name, written, count: 1, is_empty: value.is_empty() });
                }
            }
        }
    }
    all
}

impl Lengths {
    fn of(prompt: &Prompt, texts: &Texts, layer: Option<Layer>, text: &str) -> Lengths {
        let is_of_project = layer == Some(Layer::Project);
        let of_tool = |agent: &'static Agent| {
            let part @ PartLimit { max, unit, .. } = agent.part?;
            let limit = Limit { delivery: Delivery::Tool, max, unit, when_exceeded: "the model gets it in parts" };
            Some(Measure { agent, limit, length: part.length(text) })
        };
        let of_hook = |agent: &'static Agent| {
            let limit = agent.limit(Delivery::Hook)?;
            let context = hook::context_of_one(agent, &prompt.name, &texts.input, text, is_of_project);
            Some(Measure { agent, limit, length: limit.unit.count(&context) })
        };
        let measures_of = |agent: &'static Agent| of_tool(agent).into_iter().chain(of_hook(agent));
        Lengths {
            bytes: text.len(),
            characters: text.chars().count(),
            tokens: tokens::tokens(text),
            measures: AGENTS.into_iter().flat_map(measures_of).collect(),
        }
    }
}

impl Measure {
    /// Whether the agent shows all of it.
    fn is_whole(&self) -> bool {
        self.length <= self.limit.max
    }

    /// Whether it is at least 80 % of the limit.
    fn is_near(&self) -> bool {
        self.length.saturating_mul(5) >= self.limit.max.saturating_mul(4)
    }

    /// The unit of the length, for people.
    fn unit(&self) -> String {
        let unit = self.limit.unit.name();
        if self.limit.delivery == Delivery::Tool { format!("{unit} of the result") } else { unit.to_owned() }
    }
}
