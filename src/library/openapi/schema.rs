//! The schemas of an OpenAPI document, as far as they say what an argument takes.

use super::operation::Kind;
use crate::wording::named;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// How many `$ref`s may follow each other, and how deep `allOf` may be nested.
const MAX_DEPTH: usize = 32;

/// How many schemas of a document are read in all, each as often as it is used.
const MAX_SCHEMAS: usize = 1_000_000;

/// How many schemas one may consist of, by `allOf` and `$ref`.
const MAX_PARTS: usize = 256;

/// A schema with all that it consists of, by `$ref` and `allOf`. Where several parts have a key, the first counts.
#[derive(Debug, Default)]
pub(super) struct Schema<'d> {
    parts: Vec<&'d Map<String, Value>>,
    pub(super) kind: Kind,
}

impl<'d> Schema<'d> {
    pub(super) fn get(&self, key: &str) -> Option<&'d Value> {
        self.parts.iter().find_map(|part| part.get(key))
    }

    /// The types that it names, without null.
    pub(super) fn types(&self) -> Vec<&'d str> {
        self.get("type").map(types).unwrap_or_default()
    }

    /// The properties of an object, each once, in their order.
    pub(super) fn properties(&self) -> Vec<(&'d str, &'d Value)> {
        let mut known = BTreeSet::new();
        let all = self.parts.iter().filter_map(|part| part.get("properties")?.as_object()).flatten();
        all.map(|(name, schema)| (name.as_str(), schema)).filter(|(name, _)| known.insert(*name)).collect()
    }

    /// The names of the properties that an object must have.
    pub(super) fn required(&self) -> BTreeSet<&'d str> {
        let lists = self.parts.iter().filter_map(|part| part.get("required")?.as_array());
        lists.flatten().filter_map(Value::as_str).collect()
    }

    /// The values of its enumeration, as texts.
    pub(super) fn choices(&self) -> Vec<String> {
        let values = match (self.get("enum"), self.get("const")) {
            (Some(Value::Array(values)), _) => values.as_slice(),
            (_, constant) => constant.map(std::slice::from_ref).unwrap_or_default(),
        };
        values.iter().filter_map(|value| self.text_of(value)).collect()
    }

    /// A value of the document as the text that a call gives for it; `None` for null.
    pub(super) fn text_of(&self, value: &Value) -> Option<String> {
        match self.kind {
            Kind::Json => (!value.is_null()).then(|| value.to_string()),
            _ => text(value),
        }
    }
}

/// Reads the schemas of a document.
pub(super) struct Schemas<'d> {
    root: &'d Value,
    /// How many more may be read.
    left: usize,
}

impl<'d> Schemas<'d> {
    pub(super) fn new(root: &'d Value) -> Schemas<'d> {
        Schemas { root, left: MAX_SCHEMAS }
    }

    /// What a value refers to with `$ref`, if it does; else the value.
    ///
    /// # Errors
    /// Why that is not known.
    pub(super) fn resolve(&self, mut value: &'d Value) -> Result<&'d Value, String> {
        for _ in 0..MAX_DEPTH {
            match value.get("$ref").and_then(Value::as_str) {
                Some(reference) => value = self.target(reference)?,
                None => return Ok(value),
            }
        }
        Err(too_deep())
    }

    /// What a schema says.
    ///
    /// # Errors
    /// A part of it is not in the document, or it exceeds a limit.
    pub(super) fn schema(&mut self, schema: &'d Value) -> Result<Schema<'d>, String> {
        self.schema_at(schema, 0)
    }

    fn schema_at(&mut self, schema: &'d Value, depth: usize) -> Result<Schema<'d>, String> {
        let mut of = Schema::default();
        self.add_parts(schema, &mut of.parts, depth)?;
        of.kind = self.kind(&of, depth)?;
        Ok(of)
    }

    fn add_parts(
        &mut self,
        schema: &'d Value,
        parts: &mut Vec<&'d Map<String, Value>>,
        depth: usize,
    ) -> Result<(), String> {
        if depth > MAX_DEPTH || parts.len() >= MAX_PARTS {
            return Err(too_deep());
        }
        self.left = self
            .left
            .checked_sub(1)
            .ok_or_else(|| format!("the operations of the document use more than {MAX_SCHEMAS} schemas, the limit"))?;
        let Some(map) = schema.as_object() else { return Ok(()) };
        parts.push(map);
        if let Some(reference) = map.get("$ref").and_then(Value::as_str) {
            self.add_parts(self.target(reference)?, parts, depth + 1)?;
        }
        for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.add_parts(part, parts, depth + 1)?;
        }
        Ok(())
    }

    /// What the text of a value is converted to.
    fn kind(&mut self, schema: &Schema<'d>, depth: usize) -> Result<Kind, String> {
        if schema.get("type").is_some() {
            return Ok(match schema.types().as_slice() {
                ["string"] => Kind::Text,
                ["integer"] => Kind::Integer,
                ["number"] | ["integer", "number"] | ["number", "integer"] => Kind::Number,
                ["boolean"] => Kind::Boolean,
                _ => Kind::Json,
            });
        }
        if let Some(Value::Array(alternatives)) = schema.get("oneOf").or_else(|| schema.get("anyOf")) {
            // One that may be null as well is what it is otherwise.
            let is_null = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("null");
            let mut kinds = Vec::new();
            for alternative in alternatives.iter().filter(|schema| !is_null(schema)) {
                kinds.push(self.schema_at(alternative, depth + 1)?.kind);
            }
            kinds.dedup();
            return Ok(if let [kind] = *kinds { kind } else { Kind::Json });
        }
        let values = schema.get("enum").and_then(Value::as_array);
        let is_text = values.is_none_or(|values| values.iter().all(|value| value.is_string() || value.is_null()));
        let is_nested = schema.get("properties").or_else(|| schema.get("items")).is_some();
        Ok(if is_text && !is_nested { Kind::Text } else { Kind::Json })
    }

    /// What a `$ref` refers to: a JSON Pointer (RFC 6901) into this document.
    fn target(&self, reference: &str) -> Result<&'d Value, String> {
        let shown = named(&format!("$ref: {reference}"));
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(format!("{shown} is in another document, which is not read"));
        };
        let pointer = percent_decode_str(pointer).decode_utf8_lossy();
        self.root.pointer(&pointer).ok_or_else(|| format!("{shown} is not in the document"))
    }
}

/// A value as a text for a person, or for a service that gets it as a parameter: a string as it is; `None` for null.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

fn types(of: &Value) -> Vec<&str> {
    let list = of.as_array().map_or(std::slice::from_ref(of), Vec::as_slice);
    list.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
}

fn too_deep() -> String {
    format!("its schemas are nested deeper than {MAX_DEPTH} levels, or contain themselves")
}
