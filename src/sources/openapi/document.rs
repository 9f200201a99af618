//! From the text of an OpenAPI document (3.0, 3.1 or 3.2; YAML or JSON) to the operations that
//! render prompts.
//!
//! Pure. The document is an untyped value, of which a dozen keys are read. An operation renders a
//! prompt if it has one of three extensions ([`prompt_extension`]), or if the user names its
//! `operationId`.

use super::inputs::{OperationInputs, first_paragraph};
use super::operation::{Operation, Options, fill};
use super::schema::{MergedValue, plain_text};
use super::syntax::{CORRECT, parse_value};
use crate::prompt::{Diagnostic, Name, Prompt};
use crate::wording::quoted;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The methods of operations that can be prompts. Their keys in a path are the same in lowercase.
const METHODS: [&str; 5] = ["GET", "PUT", "POST", "DELETE", "PATCH"];

/// The prompts of a document.
#[derive(Debug, Default)]
pub(super) struct Document {
    pub(super) prompts: BTreeMap<Name, DocumentPrompt>,
    /// What is wrong with operations.
    pub(super) problems: Vec<Diagnostic>,
}

/// A prompt, and the operation that renders it.
#[derive(Debug)]
pub(super) struct DocumentPrompt {
    pub(super) operation: Operation,
    pub(super) prompt: Arc<Prompt>,
    /// Its method and address, and the operation in the document as JSON.
    pub(super) text: String,
}

/// An operation as the document describes it.
struct DescribedOperation<'d> {
    /// In uppercase.
    method: &'static str,
    path: &'d str,
    value: &'d Value,
    /// What it says of its prompt; null if only the user says that it renders one.
    extension: &'d Value,
}

/// Reads the text of a document.
///
/// # Errors
/// It is not an OpenAPI document that can be read.
pub(super) fn parse(text: &str, options: &Options) -> Result<Document, Diagnostic> {
    let root = parse_value(text)?;
    check_version(&root)?;
    let base = match &options.base {
        Some(base) => base.clone(),
        None => first_server(&root).unwrap_or_default(),
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

/// Checks that the version of OpenAPI is 3.
fn check_version(root: &Value) -> Result<(), Diagnostic> {
    let version = plain_text(&root["openapi"]).unwrap_or_default();
    if version.starts_with("3.") {
        return Ok(());
    }
    Err(Diagnostic::error(
        None,
        "it is not an OpenAPI document of version 3",
        "name a document that begins with `openapi: 3.…`; one of Swagger 2 must be converted first",
    ))
}

/// Returns the address of the first server of the document, with the defaults of its variables.
fn first_server(root: &Value) -> Option<String> {
    let server = &root["servers"][0];
    let template = server["url"].as_str()?;
    fill(template, |name| {
        plain_text(&server["variables"][name]["default"]).ok_or(())
    })
    .ok()
}

/// Collects the prompts of a document.
struct DocumentReader<'d> {
    root: &'d Value,
    /// The address of the service, as the user or the document writes it.
    base: String,
    /// The `operationId`s that the user named, without those that an operation has had.
    unmatched_ids: BTreeSet<&'d String>,
    document: Document,
}

impl DocumentReader<'_> {
    /// Adds the prompts of all paths.
    fn read_paths(&mut self) {
        let root = self.root;
        for (path, item) in root["paths"].as_object().into_iter().flatten() {
            match MergedValue::resolve(root, item) {
                Ok(path_item) => self.read_operations(path, &path_item),
                // Only a warning: the operations may not be prompts.
                Err(reason) => {
                    let path = quoted(path);
                    self.warn(format!("the operations of {path} are not read: {reason}"));
                }
            }
        }
    }

    /// Adds the prompts among the operations of a path.
    fn read_operations(&mut self, path: &str, path_item: &MergedValue<'_>) {
        for method in METHODS {
            let operation = path_item.get(&method.to_ascii_lowercase());
            let is_named_by_user = self.take_named(operation);
            let extension = match prompt_extension(operation) {
                Some(extension) => extension,
                None if is_named_by_user => &Value::Null,
                None => continue,
            };
            let described = DescribedOperation {
                method,
                path,
                value: operation,
                extension,
            };
            if let Err(reason) = self.add_prompt(&described, path_item) {
                let message = format!("{} is no prompt: {reason}", described.shown());
                let error = Diagnostic::error(None, message, CORRECT);
                self.document.problems.push(error);
            }
        }
    }

    /// Returns whether the user named the `operationId` of an operation, which counts as matched
    /// from now on.
    fn take_named(&mut self, operation: &Value) -> bool {
        match plain_text(&operation["operationId"]) {
            Some(id) => self.unmatched_ids.remove(&id),
            None => false,
        }
    }

    /// Adds the prompt of an operation.
    ///
    /// # Errors
    /// The reason why the operation is no prompt, as a clause.
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
            self.warn(format!("{}: {warning}", described.shown()));
        }
        let prompt = described.prompt(&name, inputs, &self.base);
        self.document.prompts.insert(name, prompt);
        Ok(())
    }

    fn warn(&mut self, message: String) {
        let warning = Diagnostic::warning(None, message, CORRECT);
        self.document.problems.push(warning);
    }

    /// Adds an error for each `operationId` that the user named and no operation has.
    fn report_unmatched_ids(&mut self) {
        for id in &self.unmatched_ids {
            let id = quoted(id);
            self.document.problems.push(Diagnostic::error(
                None,
                format!("no operation has the `operationId` {id}"),
                "correct `operations`, or `--openapi-operation`",
            ));
        }
    }
}

/// Returns what an operation says of its prompt; `None` if nothing says that it renders one.
///
/// That is `x-mcp-prompt`, which is this program's own; Zuplo's `x-zuplo-route.mcp` if its type is
/// `prompt`; or the older `x-zuplo-mcp-prompt` of Zuplo. One that is `false`, or has `enabled:
/// false`, does not count.
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
    /// Returns the operation for a message: `GET /triage/{service}` in backticks.
    fn shown(&self) -> String {
        quoted(&format!("{} {}", self.method, self.path))
    }

    /// Checks that the path can be a part of an address as it is.
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

    /// Returns the name in the extension, or the `operationId` with `-` for slashes and spaces.
    fn prompt_name(&self) -> Result<Name, String> {
        let text = match plain_text(&self.extension["name"]) {
            Some(name) => name,
            None => plain_text(&self.value["operationId"])
                .ok_or("it has neither an `operationId` nor a name in its extension")?
                .trim()
                .replace(is_replaced_in_id, "-"),
        };
        Name::new(&text).map_err(|reason| {
            let text = quoted(&text);
            format!("{text} cannot be the name of a prompt: {reason}")
        })
    }

    /// Returns the prompt, whose service is at the address `base`.
    fn prompt(&self, name: &Name, inputs: OperationInputs, base: &str) -> DocumentPrompt {
        let description = [
            &self.extension["description"],
            &self.value["summary"],
            &self.value["description"],
        ]
        .into_iter()
        .find_map(first_paragraph);
        let title = plain_text(&self.extension["title"]);
        let prompt = Prompt::of_service(name.clone(), title, description, inputs.arguments);
        // One with a password is refused when it is called.
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
                has_object: inputs.has_object,
            },
        }
    }
}

/// Returns whether a path of a document may have a character: one of RFC 3986, or of a placeholder
/// such as `{service}`.
fn is_path_character(character: char) -> bool {
    character.is_ascii_graphic() && !"?#\"<>\\^`|".contains(character)
}

/// Returns whether the name of a prompt has `-` instead of a character of its `operationId`.
fn is_replaced_in_id(character: char) -> bool {
    character == '/' || character.is_whitespace()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the address of the service of a document with this first server.
    fn base_of(url: &str, variables: &str) -> String {
        let document = format!(
            "openapi: 3.1.0
servers: [{{url: '{url}', variables: {{{variables}}}}}]
paths: {{/p: {{get: {{operationId: p, x-mcp-prompt: {{}}}}}}}}
"
        );
        let mut prompts = parse(&document, &Options::default()).unwrap().prompts;
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
}
