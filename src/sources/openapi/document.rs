//! Finds the operations in an OpenAPI document (3.0, 3.1 or 3.2; YAML or JSON) that render prompts.
//!
//! An operation renders a prompt if it has one of three extensions ([`prompt_extension`]), or if
//! the user lists its `operationId`. The document is parsed into an untyped value, because only a
//! dozen keys are read.

use super::inputs::{OperationInputs, first_paragraph};
use super::operation::{OpenApiOptions, Operation, fill_template};
use super::schema::{MergedValue, plain_text};
use super::syntax::{CORRECT_DOCUMENT, parse_value};
use crate::prompt::{Diagnostic, Name, Prompt};
use crate::wording::quoted;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The HTTP methods that can render prompts. A path item has them as lowercase keys.
const METHODS: [&str; 5] = ["GET", "PUT", "POST", "DELETE", "PATCH"];

/// The prompts of a document.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) prompts: BTreeMap<Name, DocumentPrompt>,
    /// The errors and warnings about its operations.
    pub(super) problems: Vec<Diagnostic>,
}

/// A prompt, and the operation that renders it.
#[derive(Debug)]
pub(super) struct DocumentPrompt {
    pub(super) operation: Operation,
    pub(super) prompt: Arc<Prompt>,
    /// The text to show as the prompt's source: the method, the address, and the operation as JSON.
    pub(super) text: String,
}

/// An operation as the document describes it.
struct DescribedOperation<'d> {
    /// In uppercase.
    method: &'static str,
    path: &'d str,
    /// The operation object.
    value: &'d Value,
    /// The value of its [`prompt_extension`]. Null if it has none, but the user lists the
    /// operation.
    extension: &'d Value,
}

/// Parses a document. An invalid operation is not an error, but one of [`Document::problems`].
///
/// # Errors
/// The text is not an OpenAPI document of version 3.
pub(super) fn parse(text: &str, options: &OpenApiOptions) -> Result<Document, Diagnostic> {
    let root = parse_value(text)?;
    check_version(&root)?;
    let base = match &options.base {
        Some(base) => base.clone(),
        None => first_server_url(&root).unwrap_or_default(),
    };
    let mut reader = DocumentReader {
        root: &root,
        base,
        unmatched_ids: options.operations.iter().collect(),
        document: Document::default(),
    };
    reader.read_paths();
    reader.report_unmatched_ids();
    Ok(reader.document)
}

/// Fails if the version of OpenAPI is not 3.x.
fn check_version(root: &Value) -> Result<(), Diagnostic> {
    let version = plain_text(&root["openapi"]).unwrap_or_default();
    if version.starts_with("3.") {
        return Ok(());
    }
    Err(Diagnostic::invalid(
        "it is not an OpenAPI document of version 3",
        "name a document that begins with `openapi: 3.…`; one of Swagger 2 must be converted first",
    ))
}

/// Returns the URL of the first server, with the defaults of its variables filled in. Returns
/// `None` if a default is missing.
fn first_server_url(root: &Value) -> Option<String> {
    let server = &root["servers"][0];
    let template = server["url"].as_str()?;
    fill_template(template, |name| {
        plain_text(&server["variables"][name]["default"]).ok_or(())
    })
    .ok()
}

/// Collects the prompts of a document.
struct DocumentReader<'d> {
    /// The whole document, in which every `$ref` is looked up.
    root: &'d Value,
    /// The base address of the service, not validated yet.
    base: String,
    /// The `operationId`s listed by the user that no operation has had so far.
    unmatched_ids: BTreeSet<&'d String>,
    document: Document,
}

impl DocumentReader<'_> {
    /// Adds the prompts of all path items.
    fn read_paths(&mut self) {
        let root = self.root;
        for (path, item) in root["paths"].as_object().into_iter().flatten() {
            match MergedValue::resolve(root, item) {
                Ok(path_item) => self.read_operations(path, &path_item),
                // Only a warning, because the path item may have no prompts at all.
                Err(reason) => {
                    let path = quoted(path);
                    self.warn(format!("the operations of {path} are not read: {reason}"));
                }
            }
        }
    }

    /// Adds a prompt for each operation of a path item that has an extension or is listed by the
    /// user.
    fn read_operations(&mut self, path: &str, path_item: &MergedValue<'_>) {
        for method in METHODS {
            let operation = path_item.get(&method.to_ascii_lowercase());
            let is_listed_by_user = self.match_listed_id(operation);
            let extension = prompt_extension(operation);
            if extension.is_none() && !is_listed_by_user {
                continue;
            }
            let described = DescribedOperation {
                method,
                path,
                value: operation,
                extension: extension.unwrap_or(&Value::Null),
            };
            if let Err(reason) = self.add_prompt(&described, path_item) {
                let message = format!("{} is not a prompt: {reason}", described.label());
                let error = Diagnostic::invalid(message, CORRECT_DOCUMENT);
                self.document.problems.push(error);
            }
        }
    }

    /// Returns whether the user lists the `operationId` of this operation, and removes it from the
    /// unmatched ids.
    fn match_listed_id(&mut self, operation: &Value) -> bool {
        match plain_text(&operation["operationId"]) {
            Some(id) => self.unmatched_ids.remove(&id),
            None => false,
        }
    }

    /// Adds the prompt of an operation.
    ///
    /// # Errors
    /// Returns the reason why the operation cannot be a prompt, as a clause.
    fn add_prompt(
        &mut self,
        described: &DescribedOperation<'_>,
        path_item: &MergedValue<'_>,
    ) -> Result<(), String> {
        let inputs = OperationInputs::read(self.root, described.path, path_item, described.value)?;
        described.check_path()?;
        let name = described.prompt_name()?;
        if let Some(first) = self.document.prompts.get(&name) {
            let Operation { method, path, .. } = &first.operation;
            let first = quoted(&format!("{method} {path}"));
            return Err(format!("{first} has the same name, and comes first"));
        }
        for warning in &inputs.warnings {
            self.warn(format!("{}: {warning}", described.label()));
        }
        let prompt = described.to_prompt(&name, inputs, &self.base);
        self.document.prompts.insert(name, prompt);
        Ok(())
    }

    fn warn(&mut self, message: String) {
        let warning = Diagnostic::warning(None, message, CORRECT_DOCUMENT);
        self.document.problems.push(warning);
    }

    /// Adds an error for each `operationId` that the user lists but no operation has.
    fn report_unmatched_ids(&mut self) {
        for id in &self.unmatched_ids {
            let id = quoted(id);
            self.document.problems.push(Diagnostic::invalid(
                format!("no operation has the `operationId` {id}"),
                "name one that the document has",
            ));
        }
    }
}

/// Returns the first extension that marks an operation as a prompt, if there is one:
///
/// 1. `x-mcp-prompt`, which this program defines
/// 2. Zuplo's `x-zuplo-route.mcp` with `type: prompt`
/// 3. Zuplo's older `x-zuplo-mcp-prompt`
///
/// An extension that is `false` or has `enabled: false` is ignored.
fn prompt_extension(operation: &Value) -> Option<&Value> {
    let mut extensions = Vec::new();
    extensions.extend(operation.get("x-mcp-prompt"));
    let route = &operation["x-zuplo-route"]["mcp"];
    if route["type"] == "prompt" {
        extensions.push(route);
    }
    extensions.extend(operation.get("x-zuplo-mcp-prompt"));
    extensions
        .into_iter()
        .find(|extension| **extension != false && extension["enabled"] != false)
}

impl DescribedOperation<'_> {
    /// Returns the method and path for messages, e.g. `` `GET /triage/{service}` ``.
    fn label(&self) -> String {
        quoted(&format!("{} {}", self.method, self.path))
    }

    /// Fails if the path cannot be appended to the base address without encoding.
    fn check_path(&self) -> Result<(), String> {
        let is_valid = self.path.starts_with('/') && self.path.chars().all(is_path_character);
        if is_valid {
            return Ok(());
        }
        Err(
            "its path does not begin with `/`, or has a query or a character that must be \
             percent-encoded"
                .to_owned(),
        )
    }

    /// Returns the `name` in the extension, or else the `operationId` with slashes and spaces
    /// replaced by `-`.
    fn prompt_name(&self) -> Result<Name, String> {
        let text = if let Some(name) = plain_text(&self.extension["name"]) {
            name
        } else if let Some(id) = plain_text(&self.value["operationId"]) {
            id.trim().replace(is_replaced_in_id, "-")
        } else {
            return Err("it has neither an `operationId` nor a name in its extension".to_owned());
        };
        Name::new(&text).map_err(|reason| {
            let text = quoted(&text);
            format!("{text} cannot be the name of a prompt: {reason}")
        })
    }

    /// Converts the operation into a prompt. `base` is the base address of the service.
    fn to_prompt(&self, name: &Name, inputs: OperationInputs, base: &str) -> DocumentPrompt {
        let description = [
            &self.extension["description"],
            &self.value["summary"],
            &self.value["description"],
        ]
        .into_iter()
        .find_map(first_paragraph);
        let title = plain_text(&self.extension["title"]);
        let prompt = Prompt::for_service(name.clone(), title, description, inputs.arguments);
        // Don't show a password. (A call with such an address fails.)
        let shown_base = if base.contains('@') { "" } else { base };
        DocumentPrompt {
            text: format!(
                "{} {}{}\n\n{:#}\n",
                self.method,
                shown_base.trim_end_matches('/'),
                self.path,
                self.value
            ),
            prompt: Arc::new(prompt),
            operation: Operation {
                method: self.method,
                base: base.to_owned(),
                path: self.path.to_owned(),
                parameters: inputs.parameters,
                has_object_body: inputs.has_object_body,
            },
        }
    }
}

/// Returns whether a character is allowed in a path (RFC 3986), or in a placeholder such as
/// `{service}`.
fn is_path_character(character: char) -> bool {
    character.is_ascii_graphic() && !"?#\"<>\\^`|".contains(character)
}

fn is_replaced_in_id(character: char) -> bool {
    character == '/' || character.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a document with these paths.
    fn with_paths(paths: &str) -> String {
        format!("openapi: 3.0.3\npaths:\n{paths}")
    }

    fn parse_all(document: &str) -> Document {
        parse(document, &OpenApiOptions::default()).unwrap()
    }

    fn names(document: &Document) -> Vec<&str> {
        document.prompts.keys().map(|name| &**name).collect()
    }

    /// Returns the problems as lines such as `Error no operation has …`.
    fn problems(document: &Document) -> Vec<String> {
        let mut lines = Vec::new();
        for problem in &document.problems {
            assert_ne!(problem.fix, "", "{problem}");
            lines.push(format!("{:?} {}", problem.severity(), problem.message));
        }
        lines
    }

    /// Returns the address of the service of a document with this first server.
    fn base_of(url: &str, variables: &str) -> String {
        let document = format!(
            "openapi: 3.1.0
servers: [{{url: '{url}', variables: {{{variables}}}}}]
paths: {{/p: {{get: {{operationId: p, x-mcp-prompt: {{}}}}}}}}
"
        );
        let mut prompts = parse_all(&document).prompts;
        prompts.pop_first().unwrap().1.operation.base
    }

    #[test]
    fn the_variables_of_a_server_are_filled_in_once() {
        let variables = "region: {default: eu}, version: {default: 2}";
        let base = base_of("https://{region}.example.com/v{version}", variables);
        assert_eq!(base, "https://eu.example.com/v2");
        assert_eq!(base_of("https://{other}.example.com", variables), "");
        // Each default would double the address, a hundred times.
        let doubling: Vec<String> = (0..100)
            .map(|n| format!("v{n}: {{default: '{{v{}}}{{v{}}}'}}", n + 1, n + 1))
            .collect();
        let base = base_of("https://{v0}", &doubling.join(", "));
        assert_eq!(base, "https://{v1}{v1}");
    }

    #[test]
    fn only_version_3_is_read() {
        for document in ["swagger: '2.0'\n", "openapi: 4.0.0\n", "a: b\n"] {
            let error = parse(document, &OpenApiOptions::default()).unwrap_err();
            assert_eq!(error.message, "it is not an OpenAPI document of version 3");
        }
    }

    #[test]
    fn an_invalid_operation_is_reported_and_does_not_affect_the_others() {
        let document = parse_all(&with_paths(
            "  /one: {get: {operationId: same, x-mcp-prompt: {}}}
  /two: {get: {operationId: same, x-mcp-prompt: {}}}
  /three: {post: {x-mcp-prompt: {}}}
  /four/{x}: {get: {operationId: four, x-mcp-prompt: {}}}
  /five: {get: {operationId: five, parameters: [{$ref: 'other.yaml#/x'}], x-mcp-prompt: {}}}
  /six: {get: {operationId: six, parameters: [{name: a, in: query, schema: {$ref: '#/components/schemas/a'}}], x-mcp-prompt: {}}}
  /seven:
    get: {operationId: seven, parameters: [{name: a, in: query}, {name: t, in: header, required: true}],
          requestBody: {content: {application/json: {schema: {properties: {a: {}}}}}}, x-mcp-prompt: {}}
  /eight: {post: {operationId: eight, requestBody: {content: {text/csv: {}}}, x-mcp-prompt: {}}}
  /ten: {get: {operationId: ../ten, x-mcp-prompt: {name: ../ten}}}
  /eleven: {$ref: paths.yaml}
  /thirteen?a=1: {get: {operationId: thirteen, x-mcp-prompt: {}}}
  /fourteen: {get: {operationId: fourteen, parameters: [{name: p, in: query, style: deepObject}], x-mcp-prompt: {}}}
  /fifteen: {get: {operationId: fifteen, parameters: [{name: p, in: query, content: {application/json: {}}}], x-mcp-prompt: {}}}
components:
  schemas:
    a: {allOf: [{$ref: '#/components/schemas/b'}]}
    b: {allOf: [{$ref: '#/components/schemas/a'}]}
",
        ));
        assert_eq!(names(&document), ["same", "seven"]);
        let unsupported =
            "is not a prompt: its parameter `p` has `content` or a `style` that is not supported";
        let starts = [
            "Error `GET /two` is not a prompt: `GET /one` has the same name, and comes first",
            "Error `POST /three` is not a prompt: it has neither an `operationId` nor a name in its extension",
            "Error `GET /four/{x}` is not a prompt: its path has `{x}`, which no parameter declares",
            "Error `GET /five` is not a prompt: `$ref: other.yaml#/x` is not in the document, and no other is read",
            "Error `GET /six` is not a prompt: a part of it has more than 100 `$ref` and `allOf`, or contains itself",
            "Warning `GET /seven`: the parameter `a` is left out: another one has its name, or no argument can have it",
            "Error `POST /eight` is not a prompt: its body is not `application/json`, which alone can be sent",
            "Error `GET /ten` is not a prompt: `../ten` cannot be the name of a prompt: ",
            "Warning the operations of `/eleven` are not read: `$ref: paths.yaml` is not in the document, and no other is read",
            "Error `GET /thirteen?a=1` is not a prompt: its path does not begin with `/`, or has a query or a character that must be percent-encoded",
            &format!("Error `GET /fourteen` {unsupported}"),
            &format!("Error `GET /fifteen` {unsupported}"),
        ];
        let problems = problems(&document);
        assert_eq!(problems.len(), starts.len(), "{problems:#?}");
        for (problem, start) in problems.iter().zip(starts) {
            assert!(problem.starts_with(start), "{problem}");
        }
    }

    #[test]
    fn an_invalid_default_is_ignored_with_a_warning() {
        let document = parse_all(&with_paths(
            "  /d:
    get:
      operationId: d
      x-mcp-prompt: {}
      parameters:
        - {name: integer, in: query, schema: {type: integer, default: abc}}
        - {name: boolean, in: query, schema: {type: boolean, default: 'yes'}}
        - {name: choice, in: query, schema: {type: string, enum: [a, b], default: z}}
        - {name: digits, in: query, schema: {type: integer, default: '3'}}
        - {name: text, in: query, schema: {type: string, default: 4}}
        - {name: either, in: query, schema: {type: [string, integer], enum: [x, 5], default: x}}
        - {name: none, in: query, schema: {type: [integer, 'null'], default: null}}
",
        ));
        let warnings = ["`abc` of `integer`", "`yes` of `boolean`", "`z` of `choice`"].map(|default| {
            format!("Warning `GET /d`: the default {default} is not used: it does not fit the `type` or the `enum`")
        });
        assert_eq!(problems(&document), warnings);
        let arguments = &document
            .prompts
            .first_key_value()
            .unwrap()
            .1
            .prompt
            .arguments;
        let defaults = arguments.iter().map(|argument| argument.default.as_deref());
        let used = [None, None, None, Some("3"), Some("4"), Some("\"x\""), None];
        assert_eq!(defaults.collect::<Vec<_>>(), used);
        assert_eq!(arguments[5].choices, ["\"x\"", "5"]);
    }

    #[test]
    fn types_and_merged_schemas_decide_how_a_value_is_read() {
        let document = parse_all(&with_paths(
            r#"  /t:
    parameters: [{name: late, in: query, schema: {type: string}}, {name: n, in: query, schema: {type: string}}]
    post:
      operationId: types
      x-mcp-prompt: {title: All types}
      parameters:
        - {name: n, in: query, required: true, schema: {oneOf: [{type: 'null'}, {type: integer}]}}
        - {name: list, in: query, explode: false, schema: {type: array, items: {type: string}, default: [a, b]}}
      requestBody:
        content:
          application/json:
            schema:
              allOf:
                - {$ref: '#/components/schemas/Base'}
                - {required: [flag], properties: {flag: {type: [boolean, 'null']}, any: {oneOf: [{type: string}, {type: integer}]}}}
  /w: {post: {operationId: whole, x-mcp-prompt: {}, requestBody: {required: true, content: {application/json: {schema: {type: array}}}}}}
components:
  schemas:
    Base: {type: object, properties: {id: {type: string, readOnly: true}, ratio: {type: number, default: 0.5}, version: {type: string, default: 1.10}}}
"#,
        ));
        assert_eq!(problems(&document), [""; 0]);
        let mut inputs = Vec::new();
        for found in document.prompts.values() {
            for (argument, parameter) in found
                .prompt
                .arguments
                .iter()
                .zip(&found.operation.parameters)
            {
                let default = argument.default.as_deref().unwrap_or("-");
                inputs.push(format!(
                    "{} {:?} {:?} {} {default}",
                    argument.name, parameter.location, parameter.value_type, argument.required
                ));
            }
        }
        assert_eq!(
            inputs,
            [
                "n Query Integer true -",
                "list JoinedQuery Json false [\"a\",\"b\"]",
                "late Query Text false -",
                "ratio Body Number false 0.5",
                "version Body Text false 1.10",
                "flag Body Boolean true -",
                "any Body Json false -",
                "body WholeBody Json true -",
            ]
        );
        let types = document.prompts.first_key_value().unwrap().1;
        assert_eq!(types.prompt.title.as_deref(), Some("All types"));
        assert!(types.operation.has_object_body);
    }

    #[test]
    fn a_listed_operation_needs_no_extension() {
        let paths =
            "  /health: {get: {operationId: health}}\n  /other: {get: {operationId: other}}\n";
        let options = OpenApiOptions {
            operations: vec!["health".to_owned(), "nope".to_owned()],
            ..OpenApiOptions::default()
        };
        let document = parse(&with_paths(paths), &options).unwrap();
        assert_eq!(names(&document), ["health"]);
        let missing = "Error no operation has the `operationId` `nope`";
        assert_eq!(problems(&document), [missing]);
    }

    #[test]
    fn ten_thousand_operations_are_ten_thousand_prompts() {
        let operations: Vec<String> = (0..10_000)
            .map(|n| {
                format!(
                    r##""/p{n}/{{id}}": {{"post": {{"operationId": "op{n}", "parameters": [{{"name": "id", "in": "path"}}],
                    "requestBody": {{"content": {{"application/json": {{"schema": {{"$ref": "#/brief"}}}}}}}}, "x-mcp-prompt": {{}}}}}}"##
                )
            })
            .collect();
        let brief = r#"{"type": "object", "properties": {"topic": {"type": "string"}}}"#;
        let document = parse_all(&format!(
            r#"{{"openapi": "3.1.0", "paths": {{{}}}, "brief": {brief}}}"#,
            operations.join(",\n")
        ));
        assert_eq!(problems(&document), [""; 0]);
        assert_eq!(document.prompts.len(), 10_000);
        let first = document.prompts.first_key_value().unwrap().1;
        assert_eq!(first.prompt.value_names(), ["id", "topic"]);
    }
}
