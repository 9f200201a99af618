//! The schemas of an OpenAPI document, as far as they say what an argument takes.

use super::Kind;
use super::document::text;
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

/// What a schema says, with everything that it refers to.
#[derive(Debug, Default)]
pub(super) struct Schema<'d> {
    pub(super) kind: Kind,
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) default: Option<&'d Value>,
    /// The values of an enumeration.
    pub(super) choices: Vec<&'d Value>,
    /// Of an object, in their order.
    pub(super) properties: Vec<(&'d str, &'d Value)>,
    pub(super) required: BTreeSet<&'d str>,
    /// Whether only answers have the property.
    pub(super) is_read_only: bool,
    /// Those that it names, without null.
    pub(super) types: Vec<&'d str>,
}

impl Schema<'_> {
    /// The same for a value that is given and sent as JSON.
    pub(super) fn of_json(self) -> Self {
        Schema { kind: Kind::WholeJson, ..self }
    }

    /// Whether it says that it is an object, and nothing of its properties.
    pub(super) fn is_empty_object(&self) -> bool {
        self.types == ["object"] && self.properties.is_empty()
    }

    /// A value of the document as the text that a call gives for it; `None` for null.
    pub(super) fn text_of(&self, value: &Value) -> Option<String> {
        match self.kind {
            Kind::Json | Kind::WholeJson => (!value.is_null()).then(|| value.to_string()),
            _ => text(value),
        }
    }

    /// Whether a value of the document is of one of the types that it names. A number may be written as a text, and the other way around,
    /// if the argument takes texts that are no JSON.
    pub(super) fn has_type_of(&self, value: &Value) -> bool {
        let is_json = matches!(self.kind, Kind::Json | Kind::WholeJson);
        let is_of = |name: &&str| match *name {
            "string" | "integer" | "number" | "boolean" if !is_json => !value.is_array() && !value.is_object(),
            "string" => value.is_string(),
            "integer" | "number" => value.is_number(),
            "boolean" => value.is_boolean(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            _ => true,
        };
        self.types.is_empty() || self.types.iter().any(is_of)
    }

    /// Whether it does not say that it is something else than a list.
    pub(super) fn may_be_list(&self) -> bool {
        self.kind == Kind::Json && (self.types.is_empty() || self.types.contains(&"array"))
    }
}

/// Reads the schemas of a document.
pub(super) struct Schemas<'d> {
    root: &'d Map<String, Value>,
    /// How many more may be read.
    budget: usize,
}

impl<'d> Schemas<'d> {
    pub(super) fn new(root: &'d Map<String, Value>) -> Schemas<'d> {
        Schemas { root, budget: MAX_SCHEMAS }
    }

    /// What a value refers to with `$ref`, if it does; else the value.
    ///
    /// # Errors
    /// Why that is not known.
    pub(super) fn resolve(&self, mut value: &'d Value) -> Result<&'d Value, String> {
        for _ in 0..MAX_DEPTH {
            match reference(value) {
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
        let mut parts = Vec::new();
        self.add_parts(schema, &mut parts, 0)?;
        let first = |key: &str| parts.iter().find_map(|part| part.get(key));
        let properties = parts.iter().filter_map(|part| part.get("properties")?.as_object()).flatten();
        let mut known = BTreeSet::new();
        let properties =
            properties.map(|(name, schema)| (name.as_str(), schema)).filter(|(name, _)| known.insert(*name));
        let properties: Vec<(&str, &Value)> = properties.collect();
        let required =
            parts.iter().filter_map(|part| part.get("required")?.as_array()).flatten().filter_map(Value::as_str);
        let choices = match (first("enum").and_then(Value::as_array), first("const")) {
            (Some(values), _) => values.iter().collect(),
            (None, constant) => constant.into_iter().collect(),
        };
        let required = required.collect();
        let is_read_only = first("readOnly") == Some(&Value::Bool(true));
        let (title, description, default) =
            (first("title").and_then(text), first("description").and_then(text), first("default"));
        let kind = self.kind(&parts, 0)?;
        let types = first("type").map(types).unwrap_or_default();
        Ok(Schema { kind, title, description, default, choices, properties, required, is_read_only, types })
    }

    /// Adds a schema and those that it consists of: what it refers to, and those of `allOf`.
    fn add_parts(
        &mut self,
        schema: &'d Value,
        parts: &mut Vec<&'d Map<String, Value>>,
        depth: usize,
    ) -> Result<(), String> {
        if depth > MAX_DEPTH || parts.len() >= MAX_PARTS {
            return Err(too_deep());
        }
        self.budget = self
            .budget
            .checked_sub(1)
            .ok_or_else(|| format!("the operations of the document use more than {MAX_SCHEMAS} schemas, the limit"))?;
        let Some(map) = schema.as_object() else { return Ok(()) };
        parts.push(map);
        if let Some(reference) = reference(schema) {
            let target = self.target(reference)?;
            self.add_parts(target, parts, depth + 1)?;
        }
        for part in map.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.add_parts(part, parts, depth + 1)?;
        }
        Ok(())
    }

    /// What the text of a value is converted to.
    fn kind(&mut self, parts: &[&'d Map<String, Value>], depth: usize) -> Result<Kind, String> {
        if let Some(of) = parts.iter().find_map(|part| part.get("type")) {
            return Ok(match types(of).as_slice() {
                ["string"] => Kind::Text,
                ["integer"] => Kind::Integer,
                ["number"] | ["integer", "number"] | ["number", "integer"] => Kind::Number,
                ["boolean"] => Kind::Boolean,
                _ => Kind::Json,
            });
        }
        let alternatives = parts.iter().find_map(|part| part.get("oneOf").or_else(|| part.get("anyOf"))?.as_array());
        if let Some(alternatives) = alternatives {
            // One that may be null as well is what it is otherwise.
            let is_null = |schema: &Value| schema.get("type").and_then(Value::as_str) == Some("null");
            let mut kinds = Vec::new();
            for alternative in alternatives.iter().filter(|schema| !is_null(schema)) {
                let mut parts = Vec::new();
                self.add_parts(alternative, &mut parts, depth + 1)?;
                kinds.push(self.kind(&parts, depth + 1)?);
            }
            kinds.dedup();
            return Ok(if let [kind] = *kinds { kind } else { Kind::Json });
        }
        let values = parts.iter().find_map(|part| part.get("enum")?.as_array());
        let is_text = values.is_none_or(|values| values.iter().all(|value| value.is_string() || value.is_null()));
        let is_nested = parts.iter().any(|part| part.contains_key("properties") || part.contains_key("items"));
        Ok(if is_text && !is_nested { Kind::Text } else { Kind::Json })
    }

    /// # Errors
    /// It is not in the document.
    fn target(&self, reference: &str) -> Result<&'d Value, String> {
        let Some(pointer) = reference.strip_prefix('#') else {
            return Err(format!("{} is in another document, which is not read", named(&format!("$ref: {reference}"))));
        };
        let missing = || format!("{} is not in the document", named(&format!("$ref: {reference}")));
        let pointer = percent_decode_str(pointer).decode_utf8().map_err(|_| missing())?;
        let mut keys = pointer.strip_prefix('/').ok_or_else(missing)?.split('/').map(unescaped);
        let mut value = keys.next().and_then(|key| self.root.get(&key)).ok_or_else(missing)?;
        for key in keys {
            let inner = match value {
                Value::Array(values) => key.parse::<usize>().ok().and_then(|index| values.get(index)),
                other => other.get(&key),
            };
            value = inner.ok_or_else(missing)?;
        }
        Ok(value)
    }
}

/// A part of a JSON Pointer (RFC 6901).
fn unescaped(part: &str) -> String {
    part.replace("~1", "/").replace("~0", "~")
}

fn reference(value: &Value) -> Option<&str> {
    value.get("$ref")?.as_str()
}

/// The types that a schema names, without null.
fn types(of: &Value) -> Vec<&str> {
    let list = of.as_array().map_or(std::slice::from_ref(of), Vec::as_slice);
    list.iter().filter_map(Value::as_str).filter(|name| *name != "null").collect()
}

fn too_deep() -> String {
    format!("its schemas are nested deeper than {MAX_DEPTH} levels, or contain themselves")
}
