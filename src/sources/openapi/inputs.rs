//! The arguments of an operation's prompt, and where their values go in a request.

use super::operation::{Parameter, ParameterLocation, ValueType, fill};
use super::request::to_json;
use super::schema::{MergedValue, elements, plain_text};
use crate::prompt::{Argument, MAX_ARGUMENTS};
use crate::wording::{in_backticks, quoted};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The arguments of an operation, and where their values go: first the parameters in the path, then
/// those in the query, then the properties of the body.
#[derive(Default)]
pub(super) struct OperationInputs {
    pub(super) arguments: Vec<Argument>,
    /// One for each argument, in the same order.
    pub(super) parameters: Vec<Parameter>,
    /// Whether the body is an object in JSON.
    pub(super) has_object: bool,
    pub(super) warnings: Vec<String>,
}

/// A parameter or a property, as the document describes it.
struct DescribedInput<'d, 's> {
    location: ParameterLocation,
    name: &'s str,
    /// Null if only the schema may have one.
    description: &'d Value,
    is_required: bool,
    /// The schema of its values.
    schema: &'s MergedValue<'d>,
}

/// The parameters of an operation and of its path, except headers and cookies, which no prompt
/// needs.
#[derive(Default)]
struct DeclaredParameters<'d> {
    in_path: HashMap<String, MergedValue<'d>>,
    in_query: Vec<QueryParameter<'d>>,
}

/// A parameter in the query, as the document describes it.
struct QueryParameter<'d> {
    name: String,
    value: MergedValue<'d>,
}

impl<'d> DeclaredParameters<'d> {
    /// Reads the parameters of an operation and of its path. Those of the operation take
    /// precedence.
    fn read(
        root: &'d Value,
        path_item: &MergedValue<'d>,
        operation: &'d Value,
    ) -> Result<DeclaredParameters<'d>, String> {
        let mut declared = DeclaredParameters::default();
        let mut known = HashSet::new();
        let own_parameters = elements(&operation["parameters"]);
        let path_parameters = elements(path_item.get("parameters"));
        for parameter in own_parameters.chain(path_parameters) {
            let value = MergedValue::resolve(root, parameter)?;
            let location = value.get("in").as_str().unwrap_or_default();
            let name =
                plain_text(value.get("name")).ok_or("one of its parameters has no `name`")?;
            let is_new = known.insert((location, name.clone()));
            if !is_new {
                continue;
            }
            match location {
                "path" => _ = declared.in_path.insert(name, value),
                "query" => declared.in_query.push(QueryParameter { name, value }),
                _ => {}
            }
        }
        Ok(declared)
    }
}

impl OperationInputs {
    /// Reads the parameters and the body of an operation in the document `root`. `path_item` is
    /// what the document declares for all methods of the path.
    ///
    /// # Errors
    /// Why the operation cannot be a prompt, as a clause.
    pub(super) fn read<'d>(
        root: &'d Value,
        path: &str,
        path_item: &MergedValue<'d>,
        operation: &'d Value,
    ) -> Result<OperationInputs, String> {
        let mut inputs = OperationInputs::default();
        let servers = &operation["servers"];
        if !servers.is_null() || !path_item.get("servers").is_null() {
            inputs.warnings.push(
                "its own `servers` are not used, only the `base` in config.toml or the document's first \
                 server"
                    .to_owned(),
            );
        }
        let DeclaredParameters { in_path, in_query } =
            DeclaredParameters::read(root, path_item, operation)?;
        inputs.add_path_parameters(root, path, in_path)?;
        for QueryParameter { name, value } in in_query {
            let location = if value.get("explode") == false {
                ParameterLocation::JoinedQuery
            } else {
                ParameterLocation::Query
            };
            inputs.add_parameter(root, location, &name, &value)?;
        }
        inputs.add_body(root, &operation["requestBody"])?;
        Ok(inputs)
    }

    /// Adds the parameters for the placeholders of a path, in their order.
    fn add_path_parameters(
        &mut self,
        root: &Value,
        path: &str,
        mut declared: HashMap<String, MergedValue<'_>>,
    ) -> Result<(), String> {
        fill(path, |name| {
            let Some(value) = declared.remove(name) else {
                let placeholder = quoted(&format!("{{{name}}}"));
                return Err(format!(
                    "its path has {placeholder}, which no parameter declares"
                ));
            };
            self.add_parameter(root, ParameterLocation::Path, name, &value)?;
            Ok(String::new())
        })?;
        Ok(())
    }

    /// Adds a parameter in the path or in the query.
    fn add_parameter<'d>(
        &mut self,
        root: &'d Value,
        location: ParameterLocation,
        name: &str,
        value: &MergedValue<'d>,
    ) -> Result<(), String> {
        let is_in_path = location == ParameterLocation::Path;
        let usual_style = if is_in_path { "simple" } else { "form" };
        let has_usual_style = match plain_text(value.get("style")) {
            Some(style) => style == usual_style,
            None => true,
        };
        if !has_usual_style || !value.get("content").is_null() {
            let name = in_backticks(name);
            return Err(format!(
                "its parameter {name} has `content` or a `style` that is not supported"
            ));
        }
        self.add(&DescribedInput {
            location,
            name,
            description: value.get("description"),
            is_required: is_in_path || value.get("required") == true,
            schema: &MergedValue::resolve(root, value.get("schema"))?,
        })
    }

    /// Adds the properties of the body; or the body itself, if it is not an object with properties.
    fn add_body(&mut self, root: &Value, body: &Value) -> Result<(), String> {
        let body = MergedValue::resolve(root, body)?;
        let Some(media_type) = json_media_type(body.get("content"))? else {
            return Ok(());
        };
        let schema = MergedValue::resolve(root, &media_type["schema"])?;
        let properties = schema.properties();
        if properties.is_empty() && schema.get("type") != "object" {
            return self.add(&DescribedInput {
                location: ParameterLocation::WholeBody,
                name: "body",
                description: &Value::Null,
                is_required: body.get("required") == true,
                schema: &schema,
            });
        }
        self.has_object = true;
        for property in properties {
            let property_schema = MergedValue::resolve(root, property.schema)?;
            if property_schema.get("readOnly") == true {
                continue;
            }
            self.add(&DescribedInput {
                location: ParameterLocation::Body,
                name: property.name,
                description: &Value::Null,
                is_required: schema.requires(property.name),
                schema: &property_schema,
            })?;
        }
        Ok(())
    }

    /// Adds an argument of the prompt, and the parameter that its value is for.
    ///
    /// # Errors
    /// There are too many arguments.
    fn add(&mut self, input: &DescribedInput<'_, '_>) -> Result<(), String> {
        if self.arguments.len() == MAX_ARGUMENTS {
            return Err(format!(
                "it has more than {MAX_ARGUMENTS} arguments, the limit"
            ));
        }
        if !self.can_add_argument(input.name) {
            let name = quoted(input.name);
            self.warnings.push(format!(
                "the parameter {name} is left out: another one has its name, or no argument can \
                 have it"
            ));
            return Ok(());
        }
        let mut argument = input.argument();
        if let Err(warning) = input.set_default(&mut argument) {
            self.warnings.push(warning);
        }
        self.arguments.push(argument);
        self.parameters.push(Parameter {
            name: input.name.to_owned(),
            location: input.location,
            value_type: input.value_type(),
        });
        Ok(())
    }

    /// Returns whether an argument can have a name, and none has it.
    fn can_add_argument(&self, name: &str) -> bool {
        let is_valid = !name.trim().is_empty() && !name.chars().any(char::is_control);
        is_valid && self.arguments.iter().all(|argument| argument.name != name)
    }
}

/// Returns what the `content` of a body has for `application/json`; `None` if there is no body.
///
/// # Errors
/// The body has another format, which cannot be sent.
fn json_media_type(content: &Value) -> Result<Option<&Value>, String> {
    let Some(media_types) = content.as_object() else {
        return Ok(None);
    };
    if media_types.is_empty() {
        return Ok(None);
    }
    for (name, media_type) in media_types {
        if name.split(';').next() == Some("application/json") {
            return Ok(Some(media_type));
        }
    }
    Err("its body is not `application/json`, which alone can be sent".to_owned())
}

impl DescribedInput<'_, '_> {
    /// Returns what the text of a value is converted to.
    fn value_type(&self) -> ValueType {
        if self.location == ParameterLocation::WholeBody {
            return ValueType::Json;
        }
        self.schema.value_type()
    }

    /// Returns a value that the document names, a choice or a default, as a person would write it
    /// in a call: a JSON value as JSON, and everything else as plain text.
    fn call_text(&self, value: &Value) -> Option<String> {
        if self.value_type() == ValueType::Json && !value.is_null() {
            return Some(value.to_string());
        }
        plain_text(value)
    }

    /// Returns the argument, without its default.
    fn argument(&self) -> Argument {
        let choices: Vec<String> = elements(self.schema.get("enum"))
            .filter_map(|choice| self.call_text(choice))
            .collect();
        let description = first_paragraph(self.description)
            .or_else(|| first_paragraph(self.schema.get("description")));
        Argument {
            name: self.name.to_owned(),
            title: plain_text(self.schema.get("title")),
            description,
            required: self.is_required,
            default: None,
            strict: !choices.is_empty(),
            choices,
        }
    }

    /// Gives the argument the default of the schema, if there is one.
    ///
    /// # Errors
    /// A warning: a call could not have the default as a value, so it is not used.
    fn set_default(&self, argument: &mut Argument) -> Result<(), String> {
        let Some(default) = self.call_text(self.schema.get("default")) else {
            return Ok(());
        };
        if to_json(self.value_type(), &default).is_err() || !argument.allows(&default) {
            let default = quoted(&default);
            let name = in_backticks(self.name);
            return Err(format!(
                "the default {default} of {name} is not used: it does not fit the `type` or the \
                 `enum`"
            ));
        }
        argument.required = false;
        argument.default = Some(default);
        Ok(())
    }
}

/// Returns the text up to the first empty line, in one line.
pub(super) fn first_paragraph(value: &Value) -> Option<String> {
    let text = plain_text(value)?;
    let lines: Vec<&str> = text
        .trim()
        .lines()
        .map(str::trim)
        .take_while(|line| !line.is_empty())
        .collect();
    Some(lines.join(" "))
}
