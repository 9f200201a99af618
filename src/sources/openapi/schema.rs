//! Parts of an OpenAPI document: parameters, bodies and schemas, with what they refer to.

use super::operation::Kind;
use crate::wording::named;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::collections::BTreeSet;

/// How many values a part may consist of.
const MAX_VALUES: usize = 100;

/// A value of the document with all that it consists of: by `$ref`, by `allOf`, and by an `anyOf`
/// or `oneOf` that has one alternative besides null. Where several of them have a key, the first
/// counts.
#[derive(Debug, Default)]
pub(super) struct Part<'d> {
    values: Vec<&'d Value>,
}

impl<'d> Part<'d> {
    /// # Errors
    /// A part of it is not in the document, or it consists of too many.
    pub(super) fn of(root: &'d Value, value: &'d Value) -> Result<Part<'d>, String> {
        let mut values = Vec::new();
        let mut waiting = vec![value]; // a stack: the last one is next
        while let Some(value) = waiting.pop() {
            if values.len() == MAX_VALUES {
                return Err(format!(
                    "a part of it has more than {MAX_VALUES} `$ref` and `allOf`, or contains itself"
                ));
            }
            values.push(value);
            for key in ["anyOf", "oneOf"] {
                let alternatives = value[key].as_array().into_iter().flatten();
                let others: Vec<&Value> = alternatives
                    .filter(|schema| schema["type"] != "null")
                    .collect();
                waiting.extend(others.first().filter(|_| others.len() == 1));
            }
            waiting.extend(value["allOf"].as_array().into_iter().flatten().rev());
            if let Some(reference) = value["$ref"].as_str() {
                waiting.push(target(root, reference)?);
            }
        }
        Ok(Part { values })
    }

    /// The first value of a key; null if there is none.
    pub(super) fn get(&self, key: &str) -> &'d Value {
        self.all(key).next().unwrap_or(&Value::Null)
    }

    fn all<'k>(&'k self, key: &'k str) -> impl Iterator<Item = &'d Value> + 'k {
        self.values
            .iter()
            .filter_map(move |value| value.get(key))
            .filter(|value| !value.is_null())
    }

    /// The properties of an object, each once, in their order.
    pub(super) fn properties(&self) -> Vec<(&'d String, &'d Value)> {
        let mut known = BTreeSet::new();
        let all = self
            .all("properties")
            .filter_map(Value::as_object)
            .flatten();
        all.filter(|(name, _)| known.insert(*name)).collect()
    }

    /// Whether an object must have a property.
    pub(super) fn requires(&self, property: &str) -> bool {
        self.all("required")
            .filter_map(Value::as_array)
            .flatten()
            .any(|name| name == property)
    }

    /// What the text of a value is converted to.
    pub(super) fn kind(&self) -> Kind {
        let of = self.get("type");
        let types = of
            .as_array()
            .map_or(std::slice::from_ref(of), Vec::as_slice);
        let types: Vec<&str> = types
            .iter()
            .filter_map(Value::as_str)
            .filter(|name| *name != "null")
            .collect();
        let is_nested = ["oneOf", "anyOf", "properties", "items"]
            .iter()
            .any(|key| !self.get(key).is_null());
        match types.as_slice() {
            ["integer"] => Kind::Integer,
            ["number"] => Kind::Number,
            ["boolean"] => Kind::Boolean,
            ["string"] => Kind::Text,
            [] if !is_nested => Kind::Text,
            _ => Kind::Json,
        }
    }
}

/// What a `$ref` refers to: a JSON Pointer (RFC 6901) into this document.
fn target<'d>(root: &'d Value, reference: &str) -> Result<&'d Value, String> {
    let shown = named(&format!("$ref: {reference}"));
    let pointer = reference
        .strip_prefix('#')
        .map(|pointer| percent_decode_str(pointer).decode_utf8_lossy());
    let target = pointer.and_then(|pointer| root.pointer(&pointer));
    target.ok_or_else(|| format!("{shown} is not in the document, and no other is read"))
}

/// A value as a text for a person, or for a service that gets it as a parameter: a string as it is;
/// `None` for null and blank ones.
pub(super) fn text(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    (!text.trim().is_empty()).then_some(text)
}
