//! From the text of an OpenAPI document (3.0, 3.1 or 3.2; YAML or JSON) to the operations that
//! render prompts.
//!
//! Pure. The document is an untyped value, of which a dozen keys are read. An operation renders a
//! prompt if it has one of three extensions ([`extension`]), or if the user names its
//! `operationId`. Its arguments are the parameters in the path, those in the query, and the
//! properties of the body, in this order.

use super::operation::{Kind, Operation, Options, Parameter, Place, fill};
use super::request::to_json;
use super::schema::{Part, text};
use crate::prompt::{Argument, Diagnostic, MAX_ARGUMENTS, Name, Position, Prompt, yaml};
use crate::wording::{in_bytes, named, quoted};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// The largest document, in bytes: 16 MiB. Also its largest weight: the length of its text without
/// punctuation and spaces, plus [`VALUE_WEIGHT`] for each value, with the aliases of YAML written
/// out.
pub(crate) const MAX_DOCUMENT: usize = 16 * 1024 * 1024;

/// What each value of a document counts in [`MAX_DOCUMENT`] besides its text, since it takes far
/// more memory than a few bytes.
const VALUE_WEIGHT: usize = 16;

/// The methods of operations that can be prompts. Their keys in a path are the same in lowercase.
const METHODS: [&str; 5] = ["GET", "PUT", "POST", "DELETE", "PATCH"];

/// How deep a document may be nested; serde_json refuses more than 127 levels.
const MAX_NESTING: usize = 64;

const CORRECT: &str = "correct the document";

/// The prompts of a document.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) found: BTreeMap<Name, Found>,
    /// What is wrong with operations.
    pub(crate) problems: Vec<Diagnostic>,
}

/// An operation that renders a prompt.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) operation: Operation,
    pub(crate) prompt: Arc<Prompt>,
    /// Its method and address, and the operation in the document as JSON.
    pub(crate) text: String,
}

/// Reads a document.
///
/// # Errors
/// It is not an OpenAPI document that can be read.
pub(crate) fn parse(bytes: &[u8], options: &Options) -> Result<Document, Diagnostic> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| crate::prompt::not_utf8(bytes, error.valid_up_to()))?;
    let root = &value_of(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    if !self::text(&root["openapi"]).is_some_and(|version| version.starts_with("3.")) {
        let message = "it is not an OpenAPI document of version 3";
        let fix = "name a document that begins with `openapi: 3.…`; one of Swagger 2 must be converted first";
        return Err(Diagnostic::error(None, message, fix));
    }
    let base = options
        .base
        .clone()
        .or_else(|| server(root))
        .unwrap_or_default();
    let mut document = Document::default();
    let mut selected: BTreeSet<&String> = options.operations.iter().collect();
    for (path, item) in root["paths"].as_object().into_iter().flatten() {
        let item = Part::of(root, item).unwrap_or_else(|why| {
            // Only a warning: the operations may not be prompts.
            let message = format!("the operations of {} are not read: {why}", quoted(path));
            document
                .problems
                .push(Diagnostic::warning(None, message, CORRECT));
            Part::default()
        });
        for method in METHODS {
            let operation = item.get(&method.to_ascii_lowercase());
            let is_selected =
                self::text(&operation["operationId"]).is_some_and(|id| selected.remove(&id));
            let Some(extension) = extension(operation).or(is_selected.then_some(&Value::Null))
            else {
                continue;
            };
            let shown = quoted(&format!("{method} {path}"));
            let draft = Draft::of(root, path, &item, operation);
            let added = draft
                .and_then(|draft| document.add(draft, method, &base, path, operation, extension));
            match added {
                Ok(warnings) => document.problems.extend(
                    warnings
                        .into_iter()
                        .map(|why| Diagnostic::warning(None, format!("{shown}: {why}"), CORRECT)),
                ),
                Err(why) => {
                    let message = format!("{shown} is no prompt: {why}");
                    document
                        .problems
                        .push(Diagnostic::error(None, message, CORRECT));
                }
            }
        }
    }
    document.problems.extend(selected.into_iter().map(|id| {
        let message = format!("no operation has the `operationId` {}", quoted(id));
        Diagnostic::error(
            None,
            message,
            "correct `operations`, or `--openapi-operation`",
        )
    }));
    Ok(document)
}

/// The address of the first server of the document, with the defaults of its variables.
fn server(root: &Value) -> Option<String> {
    let server = &root["servers"][0];
    let default = |name: &str| text(&server["variables"][name]["default"]).ok_or(());
    fill(server["url"].as_str()?, default).ok()
}

/// The document as a value.
fn value_of(text: &str) -> Result<Value, Diagnostic> {
    let too_large = || {
        let message = format!(
            "the document is too large: with {VALUE_WEIGHT} bytes for each value, and the YAML aliases (`*name`) written out, the \
             limit is {}",
            in_bytes(MAX_DOCUMENT)
        );
        Diagnostic::error(
            None,
            message,
            "name a document with the operations that render prompts alone",
        )
    };
    if text.trim_start().starts_with('{') {
        // One of these marks is before each value but the first.
        let marks = text.bytes().filter(|byte| b"[{,:".contains(byte)).count();
        if marks > MAX_DOCUMENT / VALUE_WEIGHT {
            return Err(too_large());
        }
        return serde_json::from_str(text).map_err(|error| {
            let position = Position {
                line: error.line().max(1),
                column: error.column().max(1),
            };
            Diagnostic::error(Some(position), format!("it is not JSON: {error}"), CORRECT)
        });
    }
    let limits = yaml::NodeLimits {
        max_nesting: MAX_NESTING,
        node_weight: VALUE_WEIGHT,
    };
    let node = yaml::parse_within(text, 1, limits, &mut MAX_DOCUMENT.clone());
    node.map(json).map_err(|refusal| match refusal {
        yaml::Refusal::Syntax(found) => Diagnostic::error(found.position, found.message, found.fix),
        yaml::Refusal::TooLarge(_) => too_large(),
    })
}

/// YAML as JSON. A number that JSON would write in another way, such as `1.10`, stays a text.
fn json(node: yaml::Node) -> Value {
    match node.value {
        yaml::Value::Null(_) => Value::Null,
        yaml::Value::Text { text, is_quoted } => match serde_json::from_str(&text) {
            Ok(value @ (Value::Bool(_) | Value::Number(_)))
                if !is_quoted && format!("{value}") == text =>
            {
                value
            }
            _ => Value::String(text),
        },
        yaml::Value::List(nodes) => Value::Array(nodes.into_iter().map(json).collect()),
        yaml::Value::Map(fields) => fields
            .into_iter()
            .map(|field| (field.key, json(field.node)))
            .collect(),
    }
}

/// What an operation says of its prompt: `x-mcp-prompt`, which is this program's own; Zuplo's
/// `x-zuplo-route.mcp` if its type is `prompt`; or the older `x-zuplo-mcp-prompt` of Zuplo. `None`:
/// nothing says that it renders a prompt.
fn extension(operation: &Value) -> Option<&Value> {
    let of_route = Some(&operation["x-zuplo-route"]["mcp"]).filter(|mcp| mcp["type"] == "prompt");
    let all = [
        operation.get("x-mcp-prompt"),
        of_route,
        operation.get("x-zuplo-mcp-prompt"),
    ];
    all.into_iter()
        .flatten()
        .find(|extension| **extension != false && extension["enabled"] != false)
}

impl Document {
    /// Adds an operation, and returns warnings.
    ///
    /// # Errors
    /// Why the operation is no prompt.
    fn add(
        &mut self,
        draft: Draft,
        method: &'static str,
        base: &str,
        path: &str,
        operation: &Value,
        extension: &Value,
    ) -> Result<Vec<String>, String> {
        let is_of_path =
            |letter: char| letter.is_ascii_graphic() && !"?#\"<>\\^`|".contains(letter);
        if !path.starts_with('/') || !path.chars().all(is_of_path) {
            return Err("its path does not begin with `/`, or has a query or a character that must be percent-encoded"
                .to_owned());
        }
        let of_id = |id: String| {
            id.trim()
                .replace(|letter: char| letter == '/' || letter.is_whitespace(), "-")
        };
        let typed = text(&extension["name"]).or_else(|| text(&operation["operationId"]).map(of_id));
        let typed = typed.ok_or("it has neither an `operationId` nor a name in its extension")?;
        let name = Name::new(&typed)
            .map_err(|why| format!("{} cannot be the name of a prompt: {why}", quoted(&typed)))?;
        if let Some(Found {
            operation: first, ..
        }) = self.found.get(&name)
        {
            let first = quoted(&format!("{} {}", first.method, first.path));
            return Err(format!("{first} has the same name, and comes first"));
        }
        let keys = [
            &extension["description"],
            &operation["summary"],
            &operation["description"],
        ];
        let description = keys.into_iter().find_map(first_paragraph);
        let Draft {
            arguments,
            parameters,
            has_object,
            warnings,
        } = draft;
        // A base with a password is refused when it is called.
        let shown = if base.contains('@') {
            ""
        } else {
            base.trim_end_matches('/')
        };
        let part = serde_json::to_string_pretty(operation).map_err(|error| error.to_string())?;
        let found = Found {
            text: format!("{method} {shown}{path}\n\n{part}\n"),
            prompt: Arc::new(Prompt::of_service(
                name.clone(),
                text(&extension["title"]),
                description,
                arguments,
            )),
            operation: Operation {
                method,
                base: base.to_owned(),
                path: path.to_owned(),
                parameters,
                has_object,
            },
        };
        self.found.insert(name, found);
        Ok(warnings)
    }
}

/// The arguments of an operation, and where their values go.
#[derive(Default)]
struct Draft {
    arguments: Vec<Argument>,
    parameters: Vec<Parameter>,
    has_object: bool,
    warnings: Vec<String>,
}

impl Draft {
    /// # Errors
    /// Why the operation is no prompt.
    fn of(root: &Value, path: &str, item: &Part<'_>, operation: &Value) -> Result<Draft, String> {
        let mut draft = Draft::default();
        if !operation["servers"].is_null() || !item.get("servers").is_null() {
            draft.warnings.push(
                "its own `servers` are not used, only `--openapi-base` or the document's first server".to_owned(),
            );
        }
        let (mut known, mut in_path, mut in_query) = (HashSet::new(), HashMap::new(), Vec::new());
        // Those of an operation override those of its path.
        let lists = [&operation["parameters"], item.get("parameters")];
        for parameter in lists.into_iter().filter_map(Value::as_array).flatten() {
            let parameter = Part::of(root, parameter)?;
            let place = parameter.get("in").as_str().unwrap_or_default();
            let name = text(parameter.get("name")).ok_or("one of its parameters has no `name`")?;
            match place {
                _ if !known.insert((place, name.clone())) => {}
                "path" => _ = in_path.insert(name, parameter),
                "query" => in_query.push((name, parameter)),
                _ => {}
            }
        }
        fill(path, |name| {
            let undeclared = || {
                format!(
                    "its path has {}, which no parameter declares",
                    quoted(&format!("{{{name}}}"))
                )
            };
            let parameter = in_path.remove(name).ok_or_else(undeclared)?;
            draft
                .add_parameter(root, Place::Path, name, &parameter)
                .map(|()| String::new())
        })?;
        for (name, parameter) in in_query {
            let is_joined = *parameter.get("explode") == false;
            draft.add_parameter(root, Place::Query { is_joined }, &name, &parameter)?;
        }
        draft.add_body(root, &operation["requestBody"])?;
        Ok(draft)
    }

    fn add_parameter(
        &mut self,
        root: &Value,
        place: Place,
        name: &str,
        parameter: &Part<'_>,
    ) -> Result<(), String> {
        let usual = if place == Place::Path {
            "simple"
        } else {
            "form"
        };
        let has_usual_style = text(parameter.get("style")).is_none_or(|style| style == usual);
        if !has_usual_style || !parameter.get("content").is_null() {
            return Err(format!(
                "its parameter {} has `content` or a `style` that is not supported",
                named(name)
            ));
        }
        let schema = Part::of(root, parameter.get("schema"))?;
        let is_required = place == Place::Path || *parameter.get("required") == true;
        self.add(
            place,
            name,
            parameter.get("description"),
            is_required,
            &schema,
        )
    }

    /// Adds the properties of the body; or the body itself, if it is not an object with properties.
    fn add_body(&mut self, root: &Value, body: &Value) -> Result<(), String> {
        let body = Part::of(root, body)?;
        let Some(content) = body
            .get("content")
            .as_object()
            .filter(|content| !content.is_empty())
        else {
            return Ok(());
        };
        let is_json = |format: &str| format.split(';').next() == Some("application/json");
        let media = content.iter().find(|(format, _)| is_json(format));
        let (_, media) =
            media.ok_or("its body is not `application/json`, which alone can be sent")?;
        let schema = Part::of(root, &media["schema"])?;
        let properties = schema.properties();
        if properties.is_empty() && *schema.get("type") != "object" {
            return self.add(
                Place::WholeBody,
                "body",
                &Value::Null,
                *body.get("required") == true,
                &schema,
            );
        }
        self.has_object = true;
        for (name, property) in properties {
            let property = Part::of(root, property)?;
            if *property.get("readOnly") != true {
                self.add(
                    Place::Body,
                    name,
                    &Value::Null,
                    schema.requires(name),
                    &property,
                )?;
            }
        }
        Ok(())
    }

    fn add(
        &mut self,
        place: Place,
        name: &str,
        description: &Value,
        required: bool,
        schema: &Part<'_>,
    ) -> Result<(), String> {
        if self.arguments.len() == MAX_ARGUMENTS {
            return Err(format!(
                "it has more than {MAX_ARGUMENTS} arguments, the limit"
            ));
        }
        let is_taken = self.arguments.iter().any(|argument| argument.name == name);
        if is_taken || name.trim().is_empty() || name.chars().any(char::is_control) {
            let name = quoted(name);
            self.warnings.push(format!(
                "the parameter {name} is left out: another one has its name, or no argument can have it"
            ));
            return Ok(());
        }
        let kind = if place == Place::WholeBody {
            Kind::Json
        } else {
            schema.kind()
        };
        // The text that a call would give for a value.
        let text_of = |value: &Value| match kind {
            Kind::Json if !value.is_null() => Some(value.to_string()),
            _ => text(value),
        };
        let choices: Vec<String> = schema
            .get("enum")
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(text_of)
            .collect();
        let mut argument = Argument {
            name: name.to_owned(),
            title: text(schema.get("title")),
            description: first_paragraph(description)
                .or_else(|| first_paragraph(schema.get("description"))),
            required,
            default: None,
            strict: !choices.is_empty(),
            choices,
        };
        if let Some(default) = text_of(schema.get("default")) {
            if to_json(kind, &default).is_ok() && argument.allows(&default) {
                (argument.required, argument.default) = (false, Some(default));
            } else {
                let (default, name) = (quoted(&default), named(name));
                self.warnings.push(format!(
                    "the default {default} of {name} is not used: it does not fit the `type` or the `enum`"
                ));
            }
        }
        self.arguments.push(argument);
        self.parameters.push(Parameter {
            name: name.to_owned(),
            place,
            kind,
        });
        Ok(())
    }
}

/// The text up to the first empty line, in one line.
fn first_paragraph(value: &Value) -> Option<String> {
    let text = text(value)?;
    let lines = text
        .trim()
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty());
    Some(lines.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_a_server_are_filled_in_once() {
        let base = |url: &str, variables: &str| {
            let document = format!(
                "openapi: 3.1.0\nservers: [{{url: '{url}', variables: {{{variables}}}}}]\npaths: {{/p: {{get: {{operationId: p, x-mcp-prompt: {{}}}}}}}}\n"
            );
            let found = parse(document.as_bytes(), &Options::default())
                .unwrap()
                .found;
            found.into_values().next().unwrap().operation.base
        };
        let region = "region: {default: eu}, version: {default: 2}";
        assert_eq!(
            base("https://{region}.example.com/v{version}", region),
            "https://eu.example.com/v2"
        );
        assert_eq!(base("https://{other}.example.com", region), "");
        // Each default would double the address, a hundred times.
        let doubling: Vec<String> = (0..100)
            .map(|n| format!("v{n}: {{default: '{{v{}}}{{v{}}}'}}", n + 1, n + 1))
            .collect();
        assert_eq!(
            base("https://{v0}", &doubling.join(", ")),
            "https://{v1}{v1}"
        );
    }
}
