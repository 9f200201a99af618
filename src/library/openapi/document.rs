//! From the text of an OpenAPI document (3.0, 3.1 or 3.2; YAML or JSON) to the operations that render prompts.
//!
//! Pure. The document is an untyped value, of which a dozen keys are read. An operation renders a prompt if it has one of three
//! extensions ([`Extension`]), or if the user names its `operationId`. Its arguments are the parameters in the path, those in the
//! query, and the properties of the body, in this order.

use super::operation::{Kind, List, Operation, Parameter, Place};
use super::request::to_json;
use super::schema::{Schema, Schemas, text};
use crate::prompt::{Argument, Diagnostic, MAX_ARGUMENTS, Name, Position, Prompt, yaml};
use crate::wording::{all_of, alternatives, named, quoted};
use serde_json::{Map, Number, Value};
use std::collections::HashMap;
use ureq::http::Method;

/// The largest document, in bytes: 16 MiB. Also its largest weight, which is its text without marks and spaces and [`VALUE_WEIGHT`] for
/// each value, with the aliases of YAML written out.
pub(crate) const MAX_DOCUMENT: usize = 16 * 1024 * 1024;

/// What each value of a document counts in [`MAX_DOCUMENT`] besides its text, since it takes far more memory than a few bytes.
const VALUE_WEIGHT: usize = 16;

/// The keys of a path's operations.
const METHODS: [&str; 8] = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];

/// How deep a document may be nested; serde_json refuses more than 127 levels.
const MAX_NESTING: usize = 64;

/// How many parameters an operation may declare, also those that are left out.
const MAX_PARAMETERS: usize = 1_000;

const REDUCE: &str = "name a document with the operations that render prompts alone";

/// The prompts of a document.
#[derive(Debug, Default)]
pub(crate) struct Document {
    pub(crate) operations: Vec<Found>,
    /// What is wrong with operations, in the order of the document.
    pub(crate) problems: Vec<Diagnostic>,
    /// Every `operationId` of the document.
    pub(crate) ids: Vec<String>,
}

/// An operation that renders a prompt.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) operation: Operation,
    pub(crate) prompt: Prompt,
    /// Its method and address, and the operation in the document as JSON.
    pub(crate) text: String,
    /// Where it begins, if that is known.
    pub(crate) position: Option<Position>,
}

/// Reads a document. `selected` are the `operationId`s of operations that render prompts without saying so, and `base` is the
/// address that replaces that of the document.
///
/// # Errors
/// It is not an OpenAPI document that can be read.
pub(crate) fn parse(bytes: &[u8], selected: &[String], base: Option<&str>) -> Result<Document, Diagnostic> {
    if bytes.len() > MAX_DOCUMENT {
        return Err(too_large(bytes.len() as u64));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| crate::prompt::not_utf8(bytes, error.valid_up_to()))?;
    let source = Source::read(text.strip_prefix('\u{feff}').unwrap_or(text))?;
    let root = &source.root;
    let version = root.get("openapi").and_then(self::text).unwrap_or_default();
    if version != "3" && !version.starts_with("3.") {
        let message = "it is not an OpenAPI document of version 3";
        let fix = "name a document that begins with `openapi: 3.…`; one of Swagger 2 must be converted first";
        return Err(Diagnostic::error(None, message, fix));
    }
    let base = base.map(str::to_owned).or_else(|| server(root));
    let mut reader = Reader { source: &source, schemas: Schemas::new(root), base, document: Document::default() };
    let paths = root.get("paths").and_then(Value::as_object);
    for (path, item) in paths.into_iter().flatten().filter(|(path, _)| !path.starts_with("x-")) {
        reader.path(path, item, selected);
    }
    Ok(reader.document)
}

/// The diagnostic for a document of `length` bytes, more than [`MAX_DOCUMENT`].
pub(crate) fn too_large(length: u64) -> Diagnostic {
    Diagnostic::error(None, format!("the document is {length} bytes long, the limit is {MAX_DOCUMENT}"), REDUCE)
}

/// The first server of the document, with the defaults of its variables, if its address is absolute.
fn server(root: &Value) -> Option<String> {
    let server = root.get("servers")?.get(0)?;
    let mut rest = server.get("url")?.as_str()?;
    let mut url = String::new();
    while let Some((before, after)) = rest.split_once('{')
        && let Some((name, after)) = after.split_once('}')
    {
        url += before;
        url += &text(server.get("variables")?.get(name)?.get("default")?)?;
        rest = after;
    }
    url += rest;
    url.contains("://").then_some(url)
}

/// A document as a value, and where its operations are.
struct Source {
    root: Value,
    /// By path and method. Of a document in JSON, which most often is one line, they are not known.
    positions: HashMap<(String, String), Position>,
}

impl Source {
    fn read(text: &str) -> Result<Source, Diagnostic> {
        if !text.trim_start().starts_with('{') {
            return Source::read_yaml(text);
        }
        if count_json(text) > MAX_DOCUMENT / VALUE_WEIGHT {
            return Err(too_many_values(None));
        }
        match serde_json::from_str(text) {
            Ok(root) => Ok(Source { root, positions: HashMap::new() }),
            // YAML may begin with a brace, too. What is meant as JSON begins with a quoted key.
            Err(error) if text.trim_start()[1..].trim_start().starts_with('"') => {
                let position = Position { line: error.line().max(1), column: error.column().max(1) };
                Err(Diagnostic::error(Some(position), format!("it is not JSON: {error}"), "correct the document"))
            }
            Err(_) => Source::read_yaml(text),
        }
    }

    fn read_yaml(text: &str) -> Result<Source, Diagnostic> {
        let parsed = yaml::parse_nested(text, 1, MAX_NESTING, VALUE_WEIGHT, &mut MAX_DOCUMENT.clone());
        let node = parsed.map_err(|refusal| match refusal {
            // The parser may find the end of the document in a line after the last.
            yaml::Refusal::Syntax(found) => {
                let end = Position::in_text(text, text.len(), 1);
                Diagnostic::error(found.position.map(|position| position.min(end)), found.message, found.fix)
            }
            yaml::Refusal::TooLarge(found) => too_many_values(found.position),
        })?;
        let mut positions = HashMap::new();
        for path in fields(&node).iter().filter(|field| field.key == "paths").flat_map(|paths| fields(&paths.node)) {
            for method in fields(&path.node) {
                positions.insert((path.key.clone(), method.key.clone()), method.position);
            }
        }
        Ok(Source { root: json(node), positions })
    }
}

fn too_many_values(position: Option<Position>) -> Diagnostic {
    let message = format!(
        "the document is too large: with {VALUE_WEIGHT} bytes for each value, and the YAML aliases (`*name`) written out, the limit \
         is {MAX_DOCUMENT}"
    );
    Diagnostic::error(position, message, REDUCE)
}

/// How many values and keys a text has at most if it is JSON.
fn count_json(text: &str) -> usize {
    let (mut count, mut is_in_text, mut is_escaped) = (1, false, false);
    for byte in text.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_in_text,
            b'"' => is_in_text = !is_in_text,
            b'[' | b'{' | b',' | b':' if !is_in_text => count += 1,
            _ => {}
        }
    }
    count
}

fn fields(node: &yaml::Node) -> &[yaml::Field] {
    match &node.value {
        yaml::Value::Map(fields) => fields,
        _ => &[],
    }
}

/// YAML as JSON. A number that JSON would write in another way, such as `1.10`, stays a text.
fn json(node: yaml::Node) -> Value {
    match node.value {
        yaml::Value::Null(_) => Value::Null,
        yaml::Value::Text { text, is_quoted: true } => Value::String(text),
        yaml::Value::Text { text, .. } => match text.as_str() {
            "true" | "True" | "TRUE" => Value::Bool(true),
            "false" | "False" | "FALSE" => Value::Bool(false),
            _ => match serde_json::from_str::<Number>(&text) {
                Ok(number) if number.to_string() == text => Value::Number(number),
                _ => Value::String(text),
            },
        },
        yaml::Value::List(nodes) => Value::Array(nodes.into_iter().map(json).collect()),
        yaml::Value::Map(fields) => fields.into_iter().map(|field| (field.key, json(field.node))).collect(),
    }
}

/// What the extensions of an operation say of its prompt.
#[derive(Default)]
struct Extension {
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
}

impl Extension {
    /// `x-mcp-prompt`, which is this program's own; Zuplo's `x-zuplo-route.mcp` if its type is `prompt`; and the older
    /// `x-zuplo-mcp-prompt` of Zuplo. `None`: no extension says that the operation renders a prompt.
    fn of(operation: &Map<String, Value>) -> Option<Extension> {
        let is_prompt = |mcp: &&Value| mcp.get("type").is_some_and(|of| of == "prompt");
        let of_route = operation.get("x-zuplo-route").and_then(|route| route.get("mcp")).filter(is_prompt);
        let all = [operation.get("x-mcp-prompt"), of_route, operation.get("x-zuplo-mcp-prompt")];
        let is_on = |value: &&Value| **value != false && value.get("enabled").is_none_or(|enabled| *enabled != false);
        let value = all.into_iter().flatten().find(is_on)?;
        let of_key = |key: &str| value.get(key).and_then(text).filter(|text| !text.trim().is_empty());
        Some(Extension { name: of_key("name"), title: of_key("title"), description: of_key("description") })
    }
}

struct Reader<'d> {
    source: &'d Source,
    schemas: Schemas<'d>,
    base: Option<String>,
    document: Document,
}

/// An operation while it is read.
struct Draft {
    /// Its method and path.
    shown: String,
    position: Option<Position>,
    arguments: Vec<Argument>,
    parameters: Vec<Parameter>,
}

impl<'d> Reader<'d> {
    /// Reads the operations of a path.
    fn path(&mut self, path: &'d str, item: &'d Value, selected: &[String]) {
        let item = match self.schemas.resolve(item) {
            Ok(item) => item,
            // It may have no prompts.
            Err(why) => {
                let message = format!("the operations of {} are not read: {why}", quoted(path));
                let fix = "put them into this document if one of them is a prompt";
                let warning = Diagnostic::warning(self.position(path, "$ref"), message, fix);
                return self.document.problems.push(warning);
            }
        };
        let others = item.get("additionalOperations").and_then(Value::as_object);
        for (key, value) in item.as_object().into_iter().chain(others).flatten() {
            let Some(operation) = value.as_object().filter(|_| !key.starts_with("x-")) else { continue };
            let id = operation.get("operationId").and_then(text);
            self.document.ids.extend(id.clone());
            let is_selected = id.as_ref().is_some_and(|id| selected.contains(id));
            let Some(extension) = Extension::of(operation).or_else(|| is_selected.then(Extension::default)) else {
                continue;
            };
            let position = self.position(path, key);
            let shown = format!("{} {path}", key.to_uppercase());
            let draft = Draft { shown: shown.clone(), position, arguments: Vec::new(), parameters: Vec::new() };
            match self.operation(draft, path, key, extension, item, operation) {
                Ok(found) => self.document.operations.push(found),
                Err(why) => {
                    let message = format!("{} is no prompt: {why}", quoted(&shown));
                    self.document.problems.push(Diagnostic::error(position, message, "correct the document"));
                }
            }
        }
    }

    /// # Errors
    /// Why the operation is no prompt.
    fn operation(
        &mut self,
        mut draft: Draft,
        path: &str,
        key: &str,
        extension: Extension,
        item: &'d Value,
        operation: &'d Map<String, Value>,
    ) -> Result<Found, String> {
        let method = Method::from_bytes(key.to_uppercase().as_bytes()).ok().filter(|_| METHODS.contains(&key));
        let method = method.ok_or("its method is not supported")?;
        if !path.starts_with('/') || path.contains(['?', '#']) {
            return Err("its path does not begin with `/`, or has a query or a fragment".to_owned());
        }
        let of_id = |letter: char| if letter == '/' || letter.is_whitespace() { '-' } else { letter };
        let id = || Some(operation.get("operationId").and_then(text)?.trim().chars().map(of_id).collect());
        let typed = extension.name.or_else(id);
        let typed = typed.ok_or("it has neither an `operationId` nor a name in its extension")?;
        let name =
            Name::new(&typed).map_err(|why| format!("{} cannot be the name of a prompt: {why}", quoted(&typed)))?;
        if operation.contains_key("servers") || item.get("servers").is_some() {
            let message = "its own `servers` are not used: requests go to the first server of the document";
            self.warning(&draft, message, "use `--openapi-base` for another address");
        }
        self.add_parameters(&mut draft, path, item, operation)?;
        let has_body = match operation.get("requestBody") {
            Some(body) => self.add_body(&mut draft, body)?,
            None => false,
        };
        if draft.arguments.len() > MAX_ARGUMENTS {
            return Err(format!("it has more than {MAX_ARGUMENTS} arguments, the limit"));
        }
        let of_key = |key: &str| operation.get(key).and_then(text).filter(|text| !text.trim().is_empty());
        let description = extension.description.or_else(|| of_key("summary")).or_else(|| of_key("description"));
        // A base with a password is refused when it is called.
        let shown = self.base.as_deref().filter(|base| !base.contains('@')).unwrap_or_default();
        let part = serde_json::to_string_pretty(operation).map_err(|error| error.to_string())?;
        Ok(Found {
            text: format!("{method} {}{path}\n\n{part}\n", shown.trim_end_matches('/')),
            prompt: Prompt::of_service(
                name,
                extension.title,
                description.map(|text| first_paragraph(&text)),
                draft.arguments,
            ),
            operation: Operation {
                method,
                base: self.base.clone(),
                path: path.to_owned(),
                parameters: draft.parameters,
                has_body,
            },
            position: draft.position,
        })
    }

    /// Adds the parameters in the path and those in the query.
    fn add_parameters(
        &mut self,
        draft: &mut Draft,
        path: &str,
        item: &'d Value,
        operation: &'d Map<String, Value>,
    ) -> Result<(), String> {
        // By place and name: those of an operation override those of its path.
        let mut declared: Vec<(&'d str, String, &'d Value)> = Vec::new();
        let lists = [item.get("parameters"), operation.get("parameters")];
        for parameter in lists.into_iter().flatten().filter_map(Value::as_array).flatten() {
            let parameter = self.schemas.resolve(parameter)?;
            let place = parameter.get("in").and_then(Value::as_str);
            let (Some(place), Some(name)) = (place, parameter.get("name").and_then(text)) else {
                return Err("one of its parameters has no `name`, or no `in`".to_owned());
            };
            if declared.len() > MAX_PARAMETERS {
                return Err(format!("it has more than {MAX_PARAMETERS} parameters, the limit"));
            }
            match declared.iter_mut().find(|(known, of, _)| *known == place && *of == name) {
                Some(earlier) => earlier.2 = parameter,
                None => declared.push((place, name, parameter)),
            }
        }
        let in_path = variables(path)?;
        for name in &in_path {
            let known = declared.iter().find(|(place, of, _)| *place == "path" && of == name);
            let undeclared = || format!("its path has {}, which no parameter declares", quoted(&format!("{{{name}}}")));
            let (place, name, parameter) = known.ok_or_else(undeclared)?;
            self.add_parameter(draft, place, name, parameter)?;
        }
        for (place, name, parameter) in &declared {
            match *place {
                "query" => self.add_parameter(draft, place, name, parameter)?,
                "path" if in_path.contains(name) => {}
                "header" | "cookie" if !is_true(parameter.get("required")) => {}
                place => {
                    let message = format!("the parameter {} in {} is not sent", named(name), quoted(place));
                    self.warning(draft, message, "use one in the path or the query; `--openapi-header` sends a header");
                }
            }
        }
        Ok(())
    }

    /// Adds a parameter in `path` or `query`.
    fn add_parameter(
        &mut self,
        draft: &mut Draft,
        place: &str,
        name: &str,
        parameter: &'d Value,
    ) -> Result<(), String> {
        if parameter.get("content").is_some() {
            return Err(format!("its {place} parameter {} has `content`, which is not supported", named(name)));
        }
        let schema = self.schema_of(parameter)?;
        let place = place_of(place, name, parameter)?;
        let is_required = place == Place::Path || is_true(parameter.get("required"));
        self.add(draft, place, name, parameter.get("description"), is_required, &schema);
        Ok(())
    }

    /// Adds the properties of the body; or the body itself, if it is not an object with properties. Returns whether there is a body.
    fn add_body(&mut self, draft: &mut Draft, body: &'d Value) -> Result<bool, String> {
        let body = self.schemas.resolve(body)?;
        let Some(content) = body.get("content").and_then(Value::as_object).filter(|content| !content.is_empty()) else {
            return Ok(false);
        };
        let essence = |format: &str| format.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_json = |format: &str| ["application/json", "application/*", "*/*"].contains(&&*essence(format));
        let Some((_, media)) = content.iter().find(|(format, _)| is_json(format)) else {
            let formats = all_of(&content.keys().collect::<Vec<_>>());
            return Err(format!("its body is {formats}, and only `application/json` can be sent"));
        };
        let mut schema = self.schema_of(media)?;
        let properties = schema.properties();
        if properties.is_empty() && schema.types() != ["object"] {
            schema.kind = Kind::Json;
            self.add(draft, Place::WholeBody, "body", None, is_true(body.get("required")), &schema);
            return Ok(true);
        }
        let required = schema.required();
        for (name, property) in properties {
            let property = self.schemas.schema(property)?;
            if !is_true(property.get("readOnly")) {
                self.add(draft, Place::Body, name, None, required.contains(name), &property);
            }
        }
        Ok(true)
    }

    /// The schema that a parameter or a media type has.
    fn schema_of(&mut self, owner: &'d Value) -> Result<Schema<'d>, String> {
        owner.get("schema").map_or_else(|| Ok(Schema::default()), |schema| self.schemas.schema(schema))
    }

    fn add(
        &mut self,
        draft: &mut Draft,
        place: Place,
        name: &str,
        description: Option<&Value>,
        required: bool,
        schema: &Schema<'d>,
    ) {
        if draft.arguments.len() > MAX_ARGUMENTS {
            return; // refused in the end
        }
        let is_taken = draft.arguments.iter().any(|argument| argument.name == name);
        if is_taken || name.trim().is_empty() || name.chars().any(char::is_control) {
            let message =
                format!("the parameter {} is left out: its name is taken, or not that of an argument", quoted(name));
            return self.warning(draft, message, "give it another name");
        }
        let description = description.or_else(|| schema.get("description")).and_then(text);
        let choices = schema.choices();
        let mut argument = Argument {
            name: name.to_owned(),
            title: schema.get("title").and_then(text),
            description: description.map(|text| first_paragraph(&text)).filter(|text| !text.is_empty()),
            required,
            default: None,
            strict: !choices.is_empty(),
            choices,
        };
        if let Some(value) = schema.get("default").filter(|value| !value.is_null()) {
            let default = schema.text_of(value).unwrap_or_default();
            if to_json(schema.kind, &default).is_ok() && argument.allows(&default) {
                argument.default = Some(default);
            } else {
                let types = [schema.types(), argument.choices.iter().map(String::as_str).collect()].concat();
                let message = format!(
                    "the default {} of {} is not used: it is not {}",
                    quoted(&default),
                    named(name),
                    alternatives(&types)
                );
                self.warning(draft, message, "correct the default");
            }
        }
        draft.arguments.push(argument);
        draft.parameters.push(Parameter { name: name.to_owned(), place, kind: schema.kind });
    }

    fn position(&self, path: &str, key: &str) -> Option<Position> {
        self.source.positions.get(&(path.to_owned(), key.to_owned())).copied()
    }

    fn warning(&mut self, draft: &Draft, why: impl AsRef<str>, fix: &str) {
        let message = format!("{}: {}", quoted(&draft.shown), why.as_ref());
        self.document.problems.push(Diagnostic::warning(draft.position, message, fix));
    }
}

/// Where the value of a parameter in `path` or `query` goes.
///
/// # Errors
/// It cannot be written in the style of the parameter.
fn place_of(place: &str, name: &str, parameter: &Value) -> Result<Place, String> {
    let style = parameter.get("style").and_then(text);
    match (place, style.as_deref()) {
        ("path", None | Some("simple")) => Ok(Place::Path),
        ("query", None | Some("form")) if parameter.get("explode") == Some(&Value::Bool(false)) => {
            Ok(Place::Query(List::Joined))
        }
        ("query", None | Some("form")) => Ok(Place::Query(List::Repeated)),
        (_, style) => {
            let style = quoted(style.unwrap_or_default());
            Err(format!("its {place} parameter {} has the style {style}, which is not supported", named(name)))
        }
    }
}

fn is_true(value: Option<&Value>) -> bool {
    value == Some(&Value::Bool(true))
}

/// The names in braces of the template of a path, each once, in their order.
fn variables(path: &str) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::new();
    let mut rest = path;
    while let Some((_, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').ok_or("its path has a `{` that is never closed")?;
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
        if names.len() > MAX_ARGUMENTS {
            return Err(format!("its path has more than {MAX_ARGUMENTS} parameters, the limit"));
        }
        rest = after;
    }
    Ok(names)
}

/// The text up to the first empty line, in one line.
fn first_paragraph(text: &str) -> String {
    let lines = text.trim().lines().map(str::trim).take_while(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_of_a_server_are_filled_in_once() {
        let base = |url: &str, variables: &str| {
            let document = format!(
                "openapi: 3.1.0\nservers: [{{url: '{url}', variables: {{{variables}}}}}]\npaths: {{/p: {{get: {{operationId: p}}}}}}\n"
            );
            parse(document.as_bytes(), &["p".to_owned()], None).unwrap().operations.remove(0).operation.base
        };
        let region = "region: {default: eu}, version: {default: 2}";
        assert_eq!(
            base("https://{region}.example.com/v{version}", region).as_deref(),
            Some("https://eu.example.com/v2")
        );
        assert_eq!(base("https://{other}.example.com", region), None);
        assert_eq!(base("/v1", ""), None);
        // Each default would double the address, a hundred times.
        let doubling: Vec<String> =
            (0..100).map(|n| format!("v{n}: {{default: '{{v{}}}{{v{}}}'}}", n + 1, n + 1)).collect();
        assert_eq!(base("https://{v0}", &doubling.join(", ")).as_deref(), Some("https://{v1}{v1}"));
    }
}
