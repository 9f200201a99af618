//! Where an expansion comes from, and which agents show all of it.
//!
//! The limits of agents were measured; `docs/clients` and `docs/hook.md` say how.

use super::call::{Call, Found, Texts};
use super::tokens::tokens;
use super::{Failure, Problem, format, layer, source};
use crate::agents::{AGENTS, Agent, Delivery, Limit, PartLimit};
use crate::hook;
use crate::library::{self, Layer, Location, ServiceRequest, View};
use crate::prompt::{Binding, Bound, Diagnostic, Origin, Prompt, Reason, Role, Unexpanded};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All facts about a prompt and what it is called with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Explanation {
    /// The prompt's name.
    pub name: String,
    /// Its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Its description, or an empty text.
    pub description: String,
    /// `project`, `user`, `remote` or `built-in`; `None` if the call names a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
    /// For a prompt of another program, as in `--prompts FORMAT:DIR`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub format: Option<String>,
    /// A path, or [`BUILT_IN`](super::BUILT_IN).
    pub source: String,
    /// The files that it includes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub includes: Vec<String>,
    /// The prompts of the same name that it overrides.
    pub shadows: Vec<Shadowed>,
    /// Words by which a list can be filtered.
    pub tags: Vec<String>,
    /// The addresses of its icons.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<String>,
    /// How to call it, if it has arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<String>,
    /// The roles, if there are several messages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub messages: Vec<String>,
    /// The paths of the attachments, as they are written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<String>,
    /// The value of each declared argument.
    pub arguments: Vec<Given>,
    /// The value of `{{input}}`, or what follows the body; `None` if the prompt takes no input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// The placeholders that are replaced, perhaps by an empty value: each name once, in the order of the body.
    pub placeholders: Vec<Placeholder>,
    /// What looks like a placeholder and is not one.
    #[serde(rename = "left")]
    pub unexpanded: Vec<UnexpandedText>,
    /// What a service would be asked, if one renders the prompt; it is not called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<Request>,
    /// Why there is no expansion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How long the expansion is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expansion: Option<Lengths>,
    /// What works, but is probably not what the caller intends.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// The warnings of `check`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Problem>,
    /// Where the input comes from, in words. Not for scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_from: Option<String>,
    /// Where the input goes if there are no placeholders, in words. Not for scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_place: Option<String>,
    /// The files and folders that cannot be read. Not for scripts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<String>,
}

/// A request to a service.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// `GET`, `POST` and others.
    pub method: String,
    /// The whole address.
    pub url: String,
    /// Values by name; for a secret, where its value comes from.
    pub headers: BTreeMap<String, String>,
    /// JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
}

/// A prompt that is overridden by another one of the same name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Shadowed {
    /// `project`, `user`, `remote` or `built-in`.
    pub layer: String,
    /// A path, or [`BUILT_IN`](super::BUILT_IN).
    pub source: String,
}

/// The value of an argument.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Given {
    /// The argument's name.
    pub name: String,
    /// Its value, perhaps empty.
    pub value: String,
    /// `named`, `pair`, `position`, `rest`, `default`, `nothing` (it is optional) or `missing` (it is required).
    pub from: String,
}

/// The placeholders of one name.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Placeholder {
    /// The name.
    pub name: String,
    /// How many there are.
    pub count: usize,
    /// Whether the value is empty.
    pub is_empty: bool,
    /// The first of them, as it is written. Not for scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
}

/// A text in braces that is not a placeholder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct UnexpandedText {
    /// As it is in the expansion.
    pub text: String,
    /// The included file that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// From 1.
    pub line: usize,
    /// In characters, from 1.
    pub column: usize,
    /// `escaped`, `foreign` (another program's) or `unknown` (probably a mistake).
    pub reason: String,
}

/// The length of an expansion.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Lengths {
    /// In UTF-8.
    pub bytes: usize,
    /// Unicode scalar values.
    pub characters: usize,
    /// An estimate; see `report/tokens.rs`.
    pub tokens: usize,
    /// The limits of all agents.
    pub limits: Vec<MeasuredLimit>,
}

/// The length of an expansion, compared with an agent's limit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct MeasuredLimit {
    /// The agent's name.
    #[serde(rename = "client")]
    pub agent: String,
    /// How the text gets to the model: `tool` or `hook`.
    #[serde(rename = "way")]
    pub delivery: String,
    /// In the unit of the limit.
    pub length: usize,
    /// The length of the longest text that is shown in full.
    pub limit: usize,
    /// What is counted, in words.
    pub unit: String,
    /// Whether the agent shows all of it.
    pub is_whole: bool,
    /// What happens to a longer text, in words. Not for scripts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when_exceeded: Option<String>,
}

/// Explains a call of a prompt. That the prompt cannot be expanded like this is part of the explanation.
///
/// # Errors
/// The call contains what no expansion would; see [`Found::check`].
pub fn explain(view: &View, found: &Found, call: &Call) -> Result<Explanation, Failure> {
    let prompt = &*found.prompt;
    found.check(call)?;
    let texts = Texts::of(call);
    let (of_layer, location, shadows) = match &found.file {
        Some(file) => (None, Location::File(file.clone()), Vec::new()),
        None => {
            let mut locations = view.locations(&prompt.name).into_iter();
            let (layer, location) = locations.next().unwrap_or((Layer::User, Location::Builtin)); // deleted just now
            (Some(layer), location, locations.collect())
        }
    };
    let path = match &location {
        Location::File(path) | Location::Document(path) => path.clone(),
        Location::Builtin => prompt.name.to_string().into(),
    };
    let problem = |diagnostic: Diagnostic| {
        let path = diagnostic.file.clone().unwrap_or_else(|| path.clone());
        library::Problem { file: prompt.name.to_string(), path, diagnostic }.into()
    };
    let Binding { arguments: given, input, .. } = texts.bind(prompt);
    let placeholders = placeholders(prompt, &given, input.as_deref().unwrap_or_default());
    let (expansion, request, error) = match texts.request(view, found) {
        Some(Ok(request)) => (None, Some(request.into()), None),
        Some(Err(error)) => (None, None, Some(error.to_string())),
        None => match texts.expand(view, found) {
            Ok(text) => (Some(Lengths::of(prompt, &texts.input, of_layer, &text)), None, None),
            Err(error) => (None, None, Some(error.to_string())),
        },
    };
    let system = of_layer.and_then(|_| view.system(&prompt.name));
    let roles = prompt.roles();
    let is_rest = !given.is_empty() && prompt.placeholders().next().is_some() && !prompt.takes_words();
    let input_from = input.as_ref().map(|_| if is_rest { "the rest of the input" } else { "as given" }.to_owned());
    Ok(Explanation {
        name: prompt.name.to_string(),
        title: prompt.title.clone(),
        description: prompt.description.clone().unwrap_or_default(),
        layer: of_layer.map(layer),
        format: system.and_then(format).map(str::to_owned),
        source: source(location),
        includes: prompt.included().iter().map(|file| file.path.display().to_string()).collect(),
        shadows: shadows.into_iter().map(|(of, from)| Shadowed { layer: layer(of), source: source(from) }).collect(),
        tags: prompt.tags.clone(),
        icons: prompt.metadata.icons.iter().map(|icon| icon.src.clone()).collect(),
        usage: prompt.usage(),
        messages: match roles.len() {
            0 | 1 => Vec::new(),
            _ => roles.iter().map(|role| role.name().to_owned()).collect(),
        },
        attachments: prompt.attachments.iter().map(|attachment| attachment.path.clone()).collect(),
        arguments: given.into_iter().map(Into::into).collect(),
        input: input.map(Into::into),
        input_from,
        input_place: input_place(prompt, &roles).filter(|_| placeholders.is_empty()).map(str::to_owned),
        placeholders,
        unexpanded: prompt.unexpanded().into_iter().map(Into::into).collect(),
        request,
        error,
        expansion,
        warnings: texts.warnings(prompt),
        problems: prompt.warnings().into_iter().map(problem).collect(),
        skipped: found.warnings(),
    })
}

/// Where the input goes in a prompt that it is appended to.
fn input_place(prompt: &Prompt, roles: &[Role]) -> Option<&'static str> {
    prompt.appends_input().then(|| match roles.last() {
        Some(Role::Assistant) => "is a message of its own",
        _ if prompt.separator() == "\n" => "follows the body, in the next line",
        _ => "follows the body, after an empty line",
    })
}

/// `input` is the value of the placeholder that is not an argument.
fn placeholders(prompt: &Prompt, given: &[Bound<'_>], input: &str) -> Vec<Placeholder> {
    let mut all: Vec<Placeholder> = Vec::new();
    for message in &prompt.messages {
        for placeholder in message.placeholders() {
            let name = &placeholder.name;
            if let Some(known) = all.iter_mut().find(|known| known.name == *name) {
                known.count += 1;
                continue;
            }
            let value = given.iter().find(|given| given.name == name).map_or(input, |given| &given.value);
            let is_empty = value.is_empty();
            if !(placeholder.stays && is_empty) {
                let written = Some(message.written(placeholder).to_owned());
                all.push(Placeholder { name: name.clone(), count: 1, is_empty, written });
            }
        }
    }
    all
}

impl Explanation {
    /// The same as `--json` prints it: without what is only for people.
    #[must_use]
    pub fn for_scripts(mut self) -> Explanation {
        (self.input_from, self.input_place, self.skipped) = (None, None, Vec::new());
        self.placeholders.iter_mut().for_each(|placeholder| placeholder.written = None);
        let limits = self.expansion.iter_mut().flat_map(|lengths| &mut lengths.limits);
        limits.for_each(|limit| limit.when_exceeded = None);
        self
    }
}

impl From<ServiceRequest> for Request {
    fn from(ServiceRequest { method, url, headers, body }: ServiceRequest) -> Request {
        Request { method, url, headers: headers.into_iter().collect(), body }
    }
}

impl From<Bound<'_>> for Given {
    fn from(given: Bound<'_>) -> Given {
        let from = match given.origin {
            Origin::Named => "named",
            Origin::Pair => "pair",
            Origin::Word => "position",
            Origin::Rest => "rest",
            Origin::Default => "default",
            Origin::Omitted => "nothing",
            Origin::Missing => "missing",
        };
        Given { name: given.name.to_owned(), value: given.value.into_owned(), from: from.to_owned() }
    }
}

impl From<Unexpanded> for UnexpandedText {
    fn from(Unexpanded { written: text, file, position, reason }: Unexpanded) -> UnexpandedText {
        let reason = match reason {
            Reason::Escaped => "escaped",
            Reason::Foreign => "foreign",
            Reason::Unknown => "unknown",
        };
        let file = file.map(|file| file.display().to_string());
        UnexpandedText { text, file, line: position.line, column: position.column, reason: reason.to_owned() }
    }
}

impl Lengths {
    fn of(prompt: &Prompt, input: &str, layer: Option<Layer>, text: &str) -> Lengths {
        let is_of_project = layer == Some(Layer::Project);
        let of_tool = |agent: &'static Agent| {
            let part @ PartLimit { max, unit, .. } = agent.part?;
            let limit = Limit { delivery: Delivery::Tool, max, unit, when_exceeded: "the model gets it in parts" };
            Some(MeasuredLimit::new(agent, limit, part.length(text)))
        };
        let of_hook = |agent: &'static Agent| {
            let limit = agent.limit(Delivery::Hook)?;
            let context = hook::context_of_one(agent, &prompt.name, input, text, is_of_project);
            Some(MeasuredLimit::new(agent, limit, limit.unit.count(&context)))
        };
        let limits_of = |agent: &'static Agent| of_tool(agent).into_iter().chain(of_hook(agent));
        Lengths {
            bytes: text.len(),
            characters: text.chars().count(),
            tokens: tokens(text),
            limits: AGENTS.into_iter().flat_map(limits_of).collect(),
        }
    }
}

impl MeasuredLimit {
    fn new(agent: &Agent, limit: Limit, length: usize) -> MeasuredLimit {
        let unit = limit.unit.name();
        let of = if limit.delivery == Delivery::Tool { " of the result" } else { "" };
        MeasuredLimit {
            agent: agent.name.to_owned(),
            delivery: limit.delivery.name().to_owned(),
            length,
            limit: limit.max,
            unit: format!("{unit}{of}"),
            is_whole: length <= limit.max,
            when_exceeded: Some(limit.when_exceeded.to_owned()),
        }
    }

    /// Whether the length is at least 80 % of the limit.
    pub fn is_near(&self) -> bool {
        self.length.saturating_mul(5) >= self.limit.saturating_mul(4)
    }
}
