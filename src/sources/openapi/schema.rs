//! Resolves parts of an OpenAPI document, such as parameters and schemas, with their references.

use super::operation::ValueType;
use crate::wording::in_backticks;
use percent_encoding::percent_decode_str;
use serde_json::Value;
use std::collections::BTreeSet;

/// The maximum number of values that are merged. Also detects cycles of references.
const MAX_VALUES: usize = 100;

/// A property of an object schema.
pub(super) struct Property<'d> {
    pub(super) name: &'d str,
    pub(super) schema: &'d Value,
}

/// A value of the document, merged with the values that it refers to: by `$ref`, by `allOf`, and by
/// an `anyOf` or `oneOf` with a single alternative besides null.
///
/// If several of these values have a key, the first one wins.
#[derive(Debug, Default)]
pub(super) struct MergedValue<'d> {
    values: Vec<&'d Value>,
}

impl<'d> MergedValue<'d> {
    /// Collects a value of the document `root` and all values that it refers to. E.g., if `#/a` is
    /// `{"type": "integer"}`, then `{"$ref": "#/a", "minimum": 1}` has that type and that minimum.
    /// A missing key reads as null here, which refers to nothing.
    ///
    /// # Errors
    /// A `$ref` doesn't exist in the document, or there are more than [`MAX_VALUES`] values.
    pub(super) fn resolve(root: &'d Value, value: &'d Value) -> Result<MergedValue<'d>, String> {
        let mut values = Vec::new();
        let mut stack = vec![value];
        while let Some(value) = stack.pop() {
            if values.len() == MAX_VALUES {
                return Err(format!(
                    "a part of it has more than {MAX_VALUES} `$ref` and `allOf`, or contains itself"
                ));
            }
            values.push(value); // earlier values take precedence over later ones
            // The last value pushed is the next one popped, so this order is the reverse of the
            // precedence: `$ref`, then `allOf`, then `oneOf`, then `anyOf`.
            stack.extend(sole_non_null_alternative(&value["anyOf"]));
            stack.extend(sole_non_null_alternative(&value["oneOf"]));
            stack.extend(elements(&value["allOf"]).rev());
            if let Some(reference) = value["$ref"].as_str() {
                stack.push(referenced_value(root, reference)?);
            }
        }
        Ok(MergedValue { values })
    }

    /// Returns the first value for `key`, or null if there is none.
    pub(super) fn get(&self, key: &str) -> &'d Value {
        self.get_all(key).next().unwrap_or(&Value::Null)
    }

    /// Returns all values for `key`, except null.
    fn get_all(&self, key: &str) -> impl Iterator<Item = &'d Value> {
        self.values
            .iter()
            .map(move |value| &value[key])
            .filter(|value| !value.is_null())
    }

    /// Returns the properties of an object schema. If a property is defined twice, the first
    /// definition wins.
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

    /// Returns whether the schema describes an object. Many documents leave out the `type` if there
    /// are properties.
    pub(super) fn is_object(&self) -> bool {
        self.get("type") == "object" || !self.properties().is_empty()
    }

    /// Returns whether the schema of an object requires this property.
    pub(super) fn requires(&self, property: &str) -> bool {
        self.get_all("required")
            .flat_map(elements)
            .any(|name| name == property)
    }

    /// Returns the type of an argument with this schema.
    pub(super) fn value_type(&self) -> ValueType {
        match self.type_names().as_slice() {
            ["integer"] => ValueType::Integer,
            ["number"] => ValueType::Number,
            ["boolean"] => ValueType::Boolean,
            ["string"] => ValueType::Text,
            [] if !self.has_subschemas() => ValueType::Text,
            _ => ValueType::Json,
        }
    }

    /// Returns the types in `type`, which is a string or an array, except `null`.
    fn type_names(&self) -> Vec<&'d str> {
        let type_value = self.get("type");
        let mut names: Vec<&str> = elements(type_value).filter_map(Value::as_str).collect();
        names.extend(type_value.as_str());
        names.retain(|name| *name != "null");
        names
    }

    /// Returns whether the schema contains other schemas, which means that its values may be JSON.
    fn has_subschemas(&self) -> bool {
        ["oneOf", "anyOf", "properties", "items"]
            .iter()
            .any(|key| !self.get(key).is_null())
    }
}

/// Returns the elements of an array. Any other value has none.
pub(super) fn elements(list: &Value) -> impl DoubleEndedIterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// Returns the alternative of an `anyOf` or `oneOf` that isn't null, if there is exactly one.
fn sole_non_null_alternative(alternatives: &Value) -> Option<&Value> {
    let mut others = elements(alternatives).filter(|schema| schema["type"] != "null");
    let first = others.next()?;
    if others.next().is_some() {
        return None;
    }
    Some(first)
}

/// Looks up a `$ref`, which is `#` and a percent-encoded JSON Pointer (RFC 6901).
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

/// Converts a value to plain text: strings without quotes, and anything else as JSON. Returns
/// `None` for null and for blank strings.
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
