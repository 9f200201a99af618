//! From the text of an OpenAPI document (3.0, 3.1 or 3.2; YAML or JSON) to the operations that render prompts.
//!
//! Pure. The document is an untyped value, of which a dozen keys are read. An operation renders a prompt if it has one of three
//! extensions ([`Mark`]), or if the user names its `operationId`. Its arguments are the parameters in the path, those in the query,
//! and the properties of the body, in this order.

use super::schema::{Schema, Schemas};
use super::{List, Operation, Parameter, Place, to_json};
use crate::prompt::{Argument, Diagnostic, MAX_ARGUMENTS, Name, Position, Positions, Prompt, Severity, yaml};
use crate::wording::{all_of, alternatives, named, quoted};
use serde_json::{Map, Number, Value};
use std::collections::HashMap;
use ureq::http::Method;

/// The largest document, in bytes: 16 MiB. Also its largest weight, which is its text without marks and spaces and [`VALUE_WEIGHT`] for
/// each value, with the aliases of YAML written out.
pub(crate) const MAX_DOCUMENT: usize = 16 * 1024 * 1024;

/// What each value of a document counts in [`MAX_DOCUMENT`] besides its text, since it takes far more memory than a few bytes.
const VALUE_WEIGHT: usize = 16;

/// The methods of OpenAPI.
const METHODS: [Method; 8] = [
    Method::GET,
    Method::PUT,
    Method::POST,
    Method::DELETE,
    Method::OPTIONS,
    Method::HEAD,
    Method::PATCH,
    Method::TRACE,
];

/// How deep a document may be nested; serde_json refuses more than 127 levels.
const MAX_NESTING: usize = 64;

/// How many parameters an operation may declare, also those that are left out.
const MAX_PARAMETERS: usize = 1_000;

/// How many variables the address of a server may have.
const MAX_VARIABLES: usize = 100;

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
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Source { root, positions } = Source::read(text)?;
    let Some(root) = root.as_object() else {
        return Err(Diagnostic::error(
            None,
            "it is not an OpenAPI document",
            "name a document that begins with `openapi: 3.…`",
        ));
    };
    check_version(root)?;
    let schemas = Schemas::new(root);
    let mut reader = Reader {
        positions,
        schemas,
        base: base.map(str::to_owned).or_else(|| server(root)),
        document: Document::default(),
    };
    let paths = root.get("paths").and_then(Value::as_object);
    for (path, item) in paths.into_iter().flatten().filter(|(path, _)| !path.starts_with("x-")) {
        reader.path(path, item, selected);
    }
    Ok(reader.document)
}

/// The diagnostic for a document of `length` bytes, more than [`MAX_DOCUMENT`].
pub(crate) fn too_large(length: u64) -> Diagnostic {
    let message = format!("the document is {length} bytes long, the limit is {MAX_DOCUMENT}");
    Diagnostic::error(None, message, "name a document with the operations that render prompts alone")
}

fn check_version(root: &Map<String, Value>) -> Result<(), Diagnostic> {
    let refused = |message: String, fix: &str| Err(Diagnostic::error(None, message, fix));
    match root.get("openapi").and_then(text) {
        Some(version) if version == "3" || version.starts_with("3.") => Ok(()),
        Some(version) => refused(
            format!("the version {} of OpenAPI is not supported", quoted(&version)),
            "name a document of version 3",
        ),
        None if root.contains_key("swagger") => {
            refused("it is a document of Swagger 2".to_owned(), "convert it to OpenAPI 3")
        }
        None => refused(
            "it is not an OpenAPI document: it has no `openapi`".to_owned(),
            "name a document that begins with `openapi: 3.…`",
        ),
    }
}

/// The first server of the document, with the defaults of its variables, if its address is absolute.
fn server(root: &Map<String, Value>) -> Option<String> {
    let server = root.get("servers")?.get(0)?;
    let mut url = server.get("url").and_then(text)?;
    let variables = server.get("variables").and_then(Value::as_object).into_iter().flatten();
    for (name, variable) in variables.take(MAX_VARIABLES) {
        if let Some(default) = variable.get("default").and_then(text) {
            url = url.replace(&format!("{{{name}}}"), &default);
        }
    }
    url.contains("://").then_some(url)
}

/// A document as a value, and where its operations are.
struct Source {
    root: Value,
    /// The positions of the methods, by path and method; in JSON those of the paths, with an empty method.
    positions: HashMap<(String, String), Position>,
}

impl Source {
    fn read(text: &str) -> Result<Source, Diagnostic> {
        let is_json = text.trim_start().starts_with('{');
        if is_json && count_json(text) > MAX_DOCUMENT / VALUE_WEIGHT {
            return Err(too_many_values(None));
        }
        match serde_json::from_str(text) {
            Ok(root) if is_json => Ok(Source { positions: positions_in_json(text, &root), root }),
            // YAML may begin with a brace, too. What is meant as JSON begins with a quoted key.
            Err(error) if is_json && text.trim_start()[1..].trim_start().starts_with('"') => {
                let message = error.to_string();
                let message = message.rsplit_once(" at line ").map_or(&*message, |(message, _)| message);
                let line = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
                let before = line.as_bytes().get(..error.column().saturating_sub(1)).unwrap_or_default();
                let column = String::from_utf8_lossy(before).chars().count() + 1;
                let position = Some(Position { line: error.line().max(1), column });
                Err(Diagnostic::error(position, format!("it is not JSON: {message}"), "correct the document"))
            }
            _ => Source::read_yaml(text),
        }
    }

    fn read_yaml(text: &str) -> Result<Source, Diagnostic> {
        // The parser may find the end of the document in a line after the last.
        let end = Position::in_text(text, text.len(), 1);
        let parsed = yaml::parse_nested(text, 1, MAX_NESTING, VALUE_WEIGHT, &mut MAX_DOCUMENT.clone());
        let node = parsed.map_err(|refusal| {
            let found = match refusal {
                yaml::Refusal::Syntax(found) => found,
                yaml::Refusal::TooLarge(found) => too_many_values(found.position),
            };
            let position = found.position.map(|position| position.min(end));
            Diagnostic { severity: Severity::Error, position, ..found }
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
    Diagnostic::error(position, message, "name a document with the operations that render prompts alone")
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

/// The positions of the paths: each is the next key with its name in the text, since their order is that of the text. From the first
/// that is written in another way on, such as with `\/`, they are not known.
fn positions_in_json(text: &str, root: &Value) -> HashMap<(String, String), Position> {
    let mut positions = Positions::new(text, 1);
    let mut end = 0;
    let paths = root.get("paths").and_then(Value::as_object).into_iter().flatten();
    let position = |(path, _): (&String, &Value)| {
        let key = serde_json::to_string(path).ok()?;
        let is_key = |at: &usize| text[at + key.len()..].trim_start().starts_with(':');
        let at = text[end..].match_indices(&key).map(|(at, _)| end + at).find(is_key)?;
        end = at + key.len();
        Some(((path.clone(), String::new()), positions.at(at)))
    };
    paths.map_while(position).collect()
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

/// A value as a text for a person, or for a service that gets it as a parameter: a string as it is; `None` for null.
pub(super) fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// What the extensions of an operation say of its prompt.
#[derive(Default)]
struct Mark {
    name: Option<String>,
    title: Option<String>,
    description: Option<String>,
}

impl Mark {
    /// `x-mcp-prompt`, which is this program's own; Zuplo's `x-zuplo-route.mcp` if its type is `prompt`; and the older
    /// `x-zuplo-mcp-prompt` of Zuplo. `None`: no extension says that the operation renders a prompt.
    fn of(operation: &Map<String, Value>) -> Option<Mark> {
        let is_prompt = |mcp: &&Value| mcp.get("type").and_then(Value::as_str) == Some("prompt");
        let of_route = operation.get("x-zuplo-route").and_then(|route| route.get("mcp")).filter(is_prompt);
        let marks = [operation.get("x-mcp-prompt"), of_route, operation.get("x-zuplo-mcp-prompt")];
        let is_off = |mark: &Value| {
            *mark == Value::Bool(false) || mark.get("enabled").is_some_and(|enabled| *enabled == Value::Bool(false))
        };
        let mark = marks.into_iter().flatten().find(|mark| !is_off(mark))?;
        let said = |key: &str| mark.get(key).and_then(text).filter(|text| !text.trim().is_empty());
        Some(Mark { name: said("name"), title: said("title"), description: said("description") })
    }
}

struct Reader<'d> {
    positions: HashMap<(String, String), Position>,
    schemas: Schemas<'d>,
    base: Option<String>,
    document: Document,
}

/// An operation while it is read.
struct Draft<'d> {
    path: &'d str,
    method: Method,
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
                let position = self.position(path, "$ref");
                let fix = "put them into this document if one of them is a prompt";
                return self.document.problems.push(Diagnostic::warning(position, message, fix));
            }
        };
        let others = item.get("additionalOperations").and_then(Value::as_object);
        for (key, value) in item.as_object().into_iter().chain(others).flatten() {
            let Some(operation) = value.as_object() else { continue };
            let id = operation.get("operationId").and_then(text);
            let is_method = METHODS.into_iter().find(|method| method.as_str().eq_ignore_ascii_case(key));
            if key == "parameters" || key.starts_with("x-") {
                continue;
            }
            self.document.ids.extend(id.clone());
            let is_selected = id.as_ref().is_some_and(|id| selected.contains(id));
            let Some(mark) = Mark::of(operation).or_else(|| is_selected.then(Mark::default)) else { continue };
            let position = self.position(path, key);
            let Some(method) = is_method else {
                let message = format!("the method {} is not supported", quoted(&key.to_uppercase()));
                self.problem(path, None, position, message);
                continue;
            };
            let draft = Draft { path, method: method.clone(), position, arguments: Vec::new(), parameters: Vec::new() };
            match self.operation(draft, mark, id.as_deref(), item, operation) {
                Ok(found) => self.document.operations.push(found),
                Err(message) => self.problem(path, Some(method), position, message),
            }
        }
    }

    /// # Errors
    /// Why the operation is no prompt.
    fn operation(
        &mut self,
        mut draft: Draft<'d>,
        mark: Mark,
        id: Option<&str>,
        item: &'d Value,
        operation: &'d Map<String, Value>,
    ) -> Result<Found, String> {
        let (path, method, position) = (draft.path, draft.method.clone(), draft.position);
        if !path.starts_with('/') {
            return Err("its path does not begin with `/`".to_owned());
        }
        if let Some(found) = path.chars().find(|letter| matches!(letter, '?' | '#')) {
            return Err(format!("its path has a `{found}`, and a path must not have a query or a fragment"));
        }
        let typed = mark.name.or_else(|| {
            let of_id = |letter: char| if letter == '/' || letter.is_whitespace() { '-' } else { letter };
            Some(id?.trim().chars().map(of_id).collect())
        });
        let typed =
            typed.ok_or("it has neither an `operationId` nor a name in its extension, so the prompt has no name")?;
        let name =
            Name::new(&typed).map_err(|why| format!("{} cannot be the name of a prompt: {why}", quoted(&typed)))?;
        if operation.contains_key("servers") || item.get("servers").is_some() {
            let message = "its own `servers` are not used: requests go to the first server of the document";
            self.warning(&draft, message, "use `--openapi-base` for another address");
        }
        self.add_parameters(&mut draft, item, operation)?;
        let has_body = match operation.get("requestBody") {
            Some(body) => self.add_body(&mut draft, body)?,
            None => false,
        };
        if draft.arguments.len() > MAX_ARGUMENTS {
            return Err(format!("it has {} arguments, the limit is {MAX_ARGUMENTS}", draft.arguments.len()));
        }
        let said = |key: &str| operation.get(key).and_then(text).filter(|text| !text.trim().is_empty());
        let description = mark.description.or_else(|| said("summary")).or_else(|| said("description"));
        let description = description.map(|text| first_paragraph(&text));
        let Draft { arguments, parameters, .. } = draft;
        let base = self.base.clone();
        // One with a password is refused when it is called.
        let shown = base.as_deref().filter(|base| !base.contains('@')).unwrap_or_default();
        let address = format!("{}{path}", shown.trim_end_matches('/'));
        let part = serde_json::to_string_pretty(operation).map_err(|error| error.to_string())?;
        Ok(Found {
            text: format!("{method} {address}\n\n{part}\n"),
            prompt: Prompt::of_service(name.clone(), mark.title, description, arguments),
            operation: Operation { method, base, path: path.to_owned(), parameters, has_body },
            position,
        })
    }

    /// Adds the parameters in the path and those in the query.
    fn add_parameters(
        &mut self,
        draft: &mut Draft<'d>,
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
        let in_template = variables(draft.path)?;
        for name in &in_template {
            let known = declared.iter().find(|(place, of, _)| *place == "path" && of == name);
            match known {
                Some((place, name, parameter)) => self.add_parameter(draft, place, name, parameter)?,
                None => {
                    return Err(format!(
                        "its path has {}, which no parameter declares",
                        quoted(&format!("{{{name}}}"))
                    ));
                }
            }
        }
        for (place, name, parameter) in &declared {
            let is_required = parameter.get("required").is_some_and(is_true);
            match *place {
                "query" => self.add_parameter(draft, place, name, parameter)?,
                "path" if in_template.contains(name) => {}
                "path" => {
                    let message = format!("the parameter {} is not in the path, and is left out", named(name));
                    self.warning(draft, message, "correct the path, or delete the parameter");
                }
                "header" | "cookie" if !is_required => {}
                "header" | "cookie" => {
                    let message = format!("the required {place} parameter {} is not sent", named(name));
                    self.warning(draft, message, "send a header with `--openapi-header` if the service needs it");
                }
                place => {
                    let message = format!("the parameter {} is in {}, and is left out", named(name), quoted(place));
                    self.warning(draft, message, "write `path` or `query` there");
                }
            }
        }
        Ok(())
    }

    /// Adds a parameter in `path` or `query`.
    fn add_parameter(
        &mut self,
        draft: &mut Draft<'d>,
        place: &str,
        name: &str,
        parameter: &'d Value,
    ) -> Result<(), String> {
        let content = parameter.get("content").and_then(Value::as_object).filter(|content| !content.is_empty());
        let schema = match (parameter.get("schema"), content) {
            (Some(schema), _) => self.schemas.schema(schema)?,
            (None, Some(content)) => {
                let media = json_media(content, &format!("its {place} parameter {}", named(name)))?;
                let schema = media.get("schema").map(|schema| self.schemas.schema(schema)).transpose()?;
                schema.unwrap_or_default().of_json()
            }
            (None, None) => Schema::default(),
        };
        let place = place_of(place, name, parameter, &schema)?;
        let is_required = place == Place::Path || parameter.get("required").is_some_and(is_true);
        let description = parameter.get("description").and_then(text);
        self.add(draft, place, name, description, is_required, &schema);
        Ok(())
    }

    /// Adds the properties of the body; or the body itself, if it is not an object with properties.
    ///
    /// Returns whether there is a body.
    fn add_body(&mut self, draft: &mut Draft<'d>, body: &'d Value) -> Result<bool, String> {
        let body = self.schemas.resolve(body)?;
        let Some(content) = body.get("content").and_then(Value::as_object).filter(|content| !content.is_empty()) else {
            return Ok(false);
        };
        let media = json_media(content, "its body")?;
        let Some(schema) = media.get("schema") else {
            let is_required = body.get("required").is_some_and(is_true);
            self.add(draft, Place::WholeBody, "body", None, is_required, &Schema::default().of_json());
            return Ok(true);
        };
        let schema = self.schemas.schema(schema)?;
        if schema.properties.is_empty() && !schema.is_empty_object() {
            let is_required = body.get("required").is_some_and(is_true);
            self.add(draft, Place::WholeBody, "body", None, is_required, &schema.of_json());
            return Ok(true);
        }
        for (name, property) in &schema.properties {
            let of_property = self.schemas.schema(property)?;
            if of_property.is_read_only {
                continue;
            }
            let is_required = schema.required.contains(*name);
            self.add(draft, Place::Body, name, None, is_required, &of_property);
        }
        Ok(true)
    }

    fn add(
        &mut self,
        draft: &mut Draft<'d>,
        place: Place,
        name: &str,
        description: Option<String>,
        required: bool,
        schema: &Schema<'d>,
    ) {
        if name.trim().is_empty() || name.chars().any(char::is_control) {
            let message =
                format!("the name {} of a parameter cannot be that of an argument; it is left out", quoted(name));
            return self.warning(draft, message, "name it with letters and digits");
        }
        if draft.arguments.len() > MAX_ARGUMENTS {
            return; // refused in the end
        }
        if draft.arguments.iter().any(|argument| argument.name == name) {
            let message =
                format!("it has the parameter {} twice, in different places; the second is left out", named(name));
            return self.warning(draft, message, "rename one of the two");
        }
        let description = description.or_else(|| schema.description.clone()).map(|text| first_paragraph(&text));
        let choices: Vec<String> = schema.choices.iter().filter_map(|value| schema.text_of(value)).collect();
        let mut argument = Argument {
            name: name.to_owned(),
            title: schema.title.clone(),
            description: description.filter(|text| !text.is_empty()),
            required,
            default: None,
            strict: !choices.is_empty(),
            choices,
        };
        argument.default = self.default_of(draft, &argument, schema);
        draft.arguments.push(argument);
        draft.parameters.push(Parameter { name: name.to_owned(), place, kind: schema.kind });
    }

    /// The default of an argument. One that a call could not give is left out.
    fn default_of(&mut self, draft: &Draft<'d>, argument: &Argument, schema: &Schema<'d>) -> Option<String> {
        let value = schema.default?;
        let default = schema.text_of(value)?;
        let (is_not, fix) = match to_json(schema.kind, &default) {
            Err(takes) => (takes.to_owned(), "correct the default"),
            Ok(_) if !schema.has_type_of(value) => {
                (format!("of the type {}", alternatives(&schema.types)), "correct the default")
            }
            Ok(_) if !argument.allows(&default) => {
                let choices = alternatives(&argument.choices);
                (format!("among the choices, {choices}"), "add it to `enum`, or write one of them as `default`")
            }
            Ok(_) => return Some(default),
        };
        let of = named(&argument.name);
        let message = format!("the default {} of {of} is not {is_not}, and is not used", quoted(&default));
        self.warning(draft, message, fix);
        None
    }

    /// Where a method of a path is, or the path, if that is known.
    fn position(&self, path: &str, key: &str) -> Option<Position> {
        let known = |key: &str| self.positions.get(&(path.to_owned(), key.to_owned())).copied();
        known(key).or_else(|| known(""))
    }

    fn problem(&mut self, path: &str, method: Option<Method>, position: Option<Position>, why: String) {
        let operation = method.map_or_else(|| path.to_owned(), |method| format!("{method} {path}"));
        let message = format!("{} is no prompt: {why}", quoted(&operation));
        self.document.problems.push(Diagnostic::error(position, message, "correct the document"));
    }

    fn warning(&mut self, draft: &Draft<'_>, why: impl Into<String>, fix: &str) {
        let message = format!("{}: {}", quoted(&format!("{} {}", draft.method, draft.path)), why.into());
        self.document.problems.push(Diagnostic::warning(draft.position, message, fix));
    }
}

/// The media type of JSON among those of a content.
///
/// # Errors
/// There is none. `whose` content it is begins the message.
fn json_media<'d>(content: &'d Map<String, Value>, whose: &str) -> Result<&'d Value, String> {
    let essence = |format: &str| format.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = |format: &str| ["application/json", "application/*", "*/*"].contains(&&*essence(format));
    let json = content.iter().find(|(format, _)| is_json(format));
    let formats = || all_of(&content.keys().collect::<Vec<_>>());
    let (_, media) =
        json.ok_or_else(|| format!("{whose} is {}, and only `application/json` can be sent", formats()))?;
    Ok(media)
}

/// Where the value of a parameter in `path` or `query` goes.
///
/// # Errors
/// It cannot be written in the style of the parameter.
fn place_of(place: &str, name: &str, parameter: &Value, schema: &Schema<'_>) -> Result<Place, String> {
    let style = parameter.get("style").and_then(text);
    let explode = parameter.get("explode").and_then(Value::as_bool);
    let of_list = match (place, style.as_deref()) {
        ("path", None | Some("simple")) => return Ok(Place::Path),
        ("query", None | Some("form")) if explode != Some(false) => List::Repeated,
        ("query", None | Some("form")) => List::Joined(','),
        ("query", Some("spaceDelimited")) if schema.may_be_list() => List::Joined(' '),
        ("query", Some("pipeDelimited")) if schema.may_be_list() => List::Joined('|'),
        (_, style) => {
            let supported = match place {
                "path" => "`simple` is supported",
                _ => "`form` is supported, and for lists `spaceDelimited` and `pipeDelimited`",
            };
            let style = quoted(style.unwrap_or_default());
            return Err(format!("its {place} parameter {} has the style {style}, and only {supported}", named(name)));
        }
    };
    Ok(Place::Query(if explode == Some(true) { List::Repeated } else { of_list }))
}

fn is_true(value: &Value) -> bool {
    *value == Value::Bool(true)
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
