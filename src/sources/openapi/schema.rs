//! Parts of an OpenAPI document: parameters, bodies and schemas, with what they refer to.

use super::operation::ValueType;
use crate::wording::in_backticks;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::collections::BTreeSet;

/// How many values may be merged into one.
const MAX_VALUES: usize = 100;

/// A property of an object schema.
pub(super) struct Property<'d> {
    pub(super) name: &'d str,
    pub(super) schema: &'d Value,
}

/// A value of the document, and those that belong to it: by `$ref`, by `allOf`, and by an `anyOf`
/// or `oneOf` that has one alternative besides null. Where several of them have a key, the first
/// counts.
#[derive(Debug, Default)]
pub(super) struct MergedValue<'d> {
    values: Vec<&'d Value>,
}

impl<'d> MergedValue<'d> {
    /// Merges a value of the document `root` with those that belong to it. For example, if `#/a` is
    /// `{"type": "integer"}`, then `{"$ref": "#/a", "minimum": 1}` has that type and that minimum.
    ///
    /// # Errors
    /// A `$ref` leads to nothing in the document, or there are too many values.
    pub(super) fn resolve(root: &'d Value, value: &'d Value) -> Result<MergedValue<'d>, String> {
        let mut values = Vec::new();
        let mut stack = vec![value];
        while let Some(value) = stack.pop() {
            if values.len() == MAX_VALUES {
                return Err(format!(
                    "a part of it has more than {MAX_VALUES} `$ref` and `allOf`, or contains itself"
                ));
            }
            values.push(value);
            // What is pushed last comes next: first `$ref`, then `allOf` in its order.
            stack.extend(only_alternative(&value["anyOf"]));
            stack.extend(only_alternative(&value["oneOf"]));
            stack.extend(elements(&value["allOf"]).rev());
            if let Some(reference) = value["$ref"].as_str() {
                stack.push(referenced_value(root, reference)?);
            }
        }
        Ok(MergedValue { values })
    }

    /// Returns the first value of a key, or null if there is none.
    pub(super) fn get(&self, key: &str) -> &'d Value {
        self.get_all(key).next().unwrap_or(&Value::Null)
    }

    /// Returns the values that the merged schemas have for a key, except for null.
    fn get_all(&self, key: &str) -> impl Iterator<Item = &'d Value> {
        self.values
            .iter()
            .map(move |value| &value[key])
            .filter(|value| !value.is_null())
    }

    /// Returns the properties of an object, each once, in their order.
    pub(super) fn properties(&self) -> Vec<Property<'d>> {
        let mut names = BTreeSet::new();
        let mut properties = Vec::new();
        for object in self.get_all("properties").filter_map(Value::as_object) {
            for (name, schema) in object {
                if names.insert(name) {
                    properties.push(Property { name, schema });
                }
            }
        }
        properties
    }

    /// Returns whether an object must have a property.
    pub(super) fn requires(&self, property: &str) -> bool {
        self.get_all("required")
            .flat_map(elements)
            .any(|name| name == property)
    }

    /// Returns what the text of a value with this schema is converted to.
    pub(super) fn value_type(&self) -> ValueType {
        match self.type_names().as_slice() {
            ["integer"] => ValueType::Integer,
            ["number"] => ValueType::Number,
            ["boolean"] => ValueType::Boolean,
            ["string"] => ValueType::Text,
            [] if !self.has_inner_schemas() => ValueType::Text,
            _ => ValueType::Json,
        }
    }

    /// Returns the names in `type` but null: one text, or a list of texts.
    fn type_names(&self) -> Vec<&'d str> {
        let type_value = self.get("type");
        let mut names: Vec<&str> = elements(type_value).filter_map(Value::as_str).collect();
        names.extend(type_value.as_str());
        names.retain(|name| *name != "null");
        names
    }

    /// Returns whether other schemas say what a value consists of, or which types it may have.
    fn has_inner_schemas(&self) -> bool {
        ["oneOf", "anyOf", "properties", "items"]
            .iter()
            .any(|key| !self.get(key).is_null())
    }
}

/// Returns the elements of a list; none of any other value.
pub(super) fn elements(list: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Returns the only schema in an `anyOf` or `oneOf` list that is not null, if there is exactly one.
fn only_alternative(alternatives: &Value) -> Option<&Value> {
    let mut others = elements(alternatives).filter(|schema| schema["type"] != "null");
    let first = others.next()?;
    if others.next().is_some() {
        return None;
    }
    Some(first)
}

/// Returns what a `$ref` refers to: a JSON Pointer (RFC 6901) into this document.
fn referenced_value<'d>(root: &'d Value, reference: &str) -> Result<&'d Value, String> {
    if let Some(encoded_pointer) = reference.strip_prefix('#') {
        let pointer = percent_decode_str(encoded_pointer).decode_utf8_lossy();
        if let Some(value) = root.pointer(&pointer) {
            return Ok(value);
        }
    }
    let shown = in_backticks(&format!("$ref: {reference}"));
    Err(format!(
        "{shown} is not in the document, and no other is read"
    ))
}

/// Returns a value as plain text: a string without quotes, anything else as JSON; `None` for null
/// and blank strings.
pub(super) fn plain_text(value: &Value) -> Option<String> {
    let text = match value {
        Value::Null => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.trim().is_empty() {
        return None;
    }
    Some(text)
}
