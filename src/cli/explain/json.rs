//! An explanation as JSON.

use super::{Explanation, Filled, Lengths, Measure};
use crate::cli::output::{self, JsonProblem};
use crate::library::{Layer, Location};
use crate::prompt::{Bound, Origin, Reason, Role, Unexpanded};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct JsonExplanation {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<String>,
    description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    layer: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    source: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    includes: Vec<String>,
    shadows: Vec<JsonSource>,
    tags: Vec<String>,
    /// Their addresses.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    icons: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<String>,
    /// The roles, if there are several messages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    messages: Vec<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    attachments: Vec<String>,
    arguments: Vec<JsonGiven>,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<String>,
    placeholders: Vec<JsonPlaceholder>,
    #[serde(rename = "left")]
    unexpanded: Vec<JsonUnexpanded>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expansion: Option<JsonExpansion>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    problems: Vec<JsonProblem>,
}

#[derive(Serialize)]
struct JsonSource {
    layer: &'static str,
    source: String,
}

#[derive(Serialize)]
struct JsonGiven {
    name: String,
    value: String,
    from: &'static str,
}

#[derive(Serialize)]
struct JsonPlaceholder {
    name: String,
    count: usize,
    is_empty: bool,
}

#[derive(Serialize)]
struct JsonUnexpanded {
    text: String,
    /// The included file that it is in.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    line: usize,
    column: usize,
    reason: &'static str,
}

#[derive(Serialize)]
struct JsonExpansion {
    bytes: usize,
    characters: usize,
    tokens: usize,
    limits: Vec<JsonLimit>,
}

#[derive(Serialize)]
struct JsonLimit {
    #[serde(rename = "client")]
    agent: &'static str,
    #[serde(rename = "way")]
    delivery: &'static str,
    length: usize,
    limit: usize,
    unit: String,
    is_whole: bool,
}

impl From<Explanation<'_>> for JsonExplanation {
    fn from(explanation: Explanation<'_>) -> JsonExplanation {
        let prompt = explanation.prompt;
        let roles = prompt.roles();
        let (expansion, error) = match explanation.expansion {
            Ok(lengths) => (Some(lengths.into()), None),
            Err(error) => (None, Some(error.to_string())),
        };
        JsonExplanation {
            name: prompt.name.to_string(),
            title: prompt.title.clone(),
            description: prompt.description.clone().unwrap_or_default(),
            layer: explanation.layer.map(output::layer),
            format: explanation.system.and_then(output::format),
            source: output::source(explanation.source),
            includes: prompt.included().iter().map(|file| file.path.display().to_string()).collect(),
            shadows: explanation.shadows.into_iter().map(Into::into).collect(),
            tags: prompt.tags.clone(),
            icons: prompt.metadata.icons.iter().map(|icon| icon.src.clone()).collect(),
            usage: prompt.usage(),
            messages: if roles.len() > 1 { roles.into_iter().map(Role::name).collect() } else { Vec::new() },
            attachments: prompt.attachments.iter().map(|attachment| attachment.path.clone()).collect(),
            arguments: explanation.given.into_iter().map(Into::into).collect(),
            input: explanation.input.map(Into::into),
            placeholders: explanation.placeholders.into_iter().map(Into::into).collect(),
            unexpanded: explanation.unexpanded.into_iter().map(Into::into).collect(),
            error,
            expansion,
            warnings: explanation.warnings,
            problems: explanation.problems.into_iter().map(Into::into).collect(),
        }
    }
}

impl From<(Layer, Location)> for JsonSource {
    fn from((layer, source): (Layer, Location)) -> JsonSource {
        JsonSource { layer: output::layer(layer), source: output::source(source) }
    }
}

impl From<Bound<'_>> for JsonGiven {
    fn from(given: Bound<'_>) -> JsonGiven {
        let from = match given.origin {
            Origin::Named => "named",
            Origin::Pair => "pair",
            Origin::Word => "position",
            Origin::Rest => "rest",
            Origin::Default => "default",
            Origin::Omitted => "nothing",
            Origin::Missing => "missing",
        };
        JsonGiven { name: given.name.to_owned(), value: given.value.into_owned(), from }
    }
}

impl From<Filled<'_>> for JsonPlaceholder {
    fn from(Filled { name, count, is_empty, .. }: Filled<'_>) -> JsonPlaceholder {
        JsonPlaceholder { name: name.to_owned(), count, is_empty }
    }
}

impl From<Unexpanded> for JsonUnexpanded {
    fn from(unexpanded: Unexpanded) -> JsonUnexpanded {
        let reason = match unexpanded.reason {
            Reason::Escaped => "escaped",
            Reason::Foreign => "foreign",
            Reason::Unknown => "unknown",
        };
        let Unexpanded { written: text, file, position, .. } = unexpanded;
        let file = file.map(|file| file.display().to_string());
        JsonUnexpanded { text, file, line: position.line, column: position.column, reason }
    }
}

impl From<Lengths> for JsonExpansion {
    fn from(Lengths { bytes, characters, tokens, measures }: Lengths) -> JsonExpansion {
        JsonExpansion { bytes, characters, tokens, limits: measures.into_iter().map(Into::into).collect() }
    }
}

impl From<Measure> for JsonLimit {
    fn from(measure: Measure) -> JsonLimit {
        JsonLimit {
            agent: measure.agent.name,
            delivery: measure.limit.delivery.name(),
            length: measure.length,
            limit: measure.limit.max,
            unit: measure.unit(),
            is_whole: measure.is_whole(),
        }
    }
}
