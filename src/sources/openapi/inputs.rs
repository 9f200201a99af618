//! Reads the parameters and the body of an operation, which become the arguments of its prompt.

use super::operation::{Parameter, ParameterLocation, ValueType, placeholder_names};
use super::request::to_json;
use super::schema::{MergedValue, elements, plain_text};
use crate::prompt::{Argument, MAX_ARGUMENTS};
use crate::wording::{in_backticks, quoted};
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// The arguments of an operation's prompt, and the parts of the request that they are for.
///
/// The parameters in the path come first, then those in the query, then the properties of the body.
#[derive(Default)]
pub(super) struct OperationInputs {
    pub(super) arguments: Vec<Argument>,
    /// Has the parameter of each argument, in the same order.
    pub(super) parameters: Vec<Parameter>,
    /// See [`Operation::has_object_body`](super::operation::Operation::has_object_body).
    pub(super) has_object_body: bool,
    pub(super) warnings: Vec<String>,
}

/// A parameter, or a property of the body, as the document describes it.
struct DescribedInput<'d, 's> {
    location: ParameterLocation,
    name: &'s str,
    /// Null if there is none outside the schema.
    description: &'d Value,
    is_required: bool,
    schema: &'s MergedValue<'d>,
}

/// The parameters of an operation and of its path item. Headers and cookies are ignored.
#[derive(Default)]
struct DeclaredParameters<'d> {
    in_path: HashMap<String, MergedValue<'d>>,
    in_query: Vec<QueryParameter<'d>>,
}

struct QueryParameter<'d> {
    name: String,
    /// The parameter object.
    value: MergedValue<'d>,
}

impl<'d> DeclaredParameters<'d> {
    /// Reads the parameters of an operation and of its path item. If both have a parameter with the
    /// same name and location, the operation wins.
    fn read(
        root: &'d Value,
        path_item: &MergedValue<'d>,
        operation: &'d Value,
    ) -> Result<DeclaredParameters<'d>, String> {
        let mut declared = DeclaredParameters::default();
        let mut seen = HashSet::new();
        let own_parameters = elements(&operation["parameters"]);
        let shared_parameters = elements(path_item.get("parameters"));
        for parameter in own_parameters.chain(shared_parameters) {
            let value = MergedValue::resolve(root, parameter)?;
            let location = value.get("in").as_str().unwrap_or_default();
            let name =
                plain_text(value.get("name")).ok_or("one of its parameters has no `name`")?;
            let is_new = seen.insert((location, name.clone()));
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
    /// Reads the parameters and the body of an operation.
    ///
    /// `root` is the whole document, and `path_item` contains the operation.
    ///
    /// # Errors
    /// Returns the reason why the operation cannot be a prompt, as a clause.
    pub(super) fn read<'d>(
        root: &'d Value,
        path: &str,
        path_item: &MergedValue<'d>,
        operation: &'d Value,
    ) -> Result<OperationInputs, String> {
        let mut inputs = OperationInputs::default();
        let has_own_servers =
            !operation["servers"].is_null() || !path_item.get("servers").is_null();
        if has_own_servers {
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

    /// Adds the parameters in the path, in the order of their placeholders.
    fn add_path_parameters(
        &mut self,
        root: &Value,
        path: &str,
        mut declared: HashMap<String, MergedValue<'_>>,
    ) -> Result<(), String> {
        for name in placeholder_names(path) {
            let Some(value) = declared.remove(name) else {
                let placeholder = quoted(&format!("{{{name}}}"));
                return Err(format!(
                    "its path has {placeholder}, which no parameter declares"
                ));
            };
            self.add_parameter(root, ParameterLocation::Path, name, &value)?;
        }
        Ok(())
    }

    /// Adds a parameter in the path or the query. `value` is the parameter object.
    fn add_parameter<'d>(
        &mut self,
        root: &'d Value,
        location: ParameterLocation,
        name: &str,
        value: &MergedValue<'d>,
    ) -> Result<(), String> {
        let is_in_path = location == ParameterLocation::Path;
        let default_style = if is_in_path { "simple" } else { "form" };
        let has_default_style = match plain_text(value.get("style")) {
            Some(style) => style == default_style,
            None => true,
        };
        if !has_default_style || !value.get("content").is_null() {
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

    /// Adds the arguments for the body: one for each property of an object, or a single one for
    /// any other JSON value. Adds none if the operation has no body.
    ///
    /// # Errors
    /// The body has no JSON format, a `$ref` in it is invalid, or there are too many arguments.
    fn add_body(&mut self, root: &Value, body: &Value) -> Result<(), String> {
        let body = MergedValue::resolve(root, body)?;
        let Some(media_type) = json_media_type(body.get("content"))? else {
            return Ok(());
        };
        let schema = MergedValue::resolve(root, &media_type["schema"])?;
        self.has_object_body = schema.is_object();
        if self.has_object_body {
            return self.add_properties(root, &schema);
        }
        self.add(&DescribedInput {
            location: ParameterLocation::WholeBody,
            name: "body",
            description: &Value::Null,
            is_required: body.get("required") == true,
            schema: &schema,
        })
    }

    /// Adds an argument for each property of the body that can be written. `schema` is that of the
    /// body.
    fn add_properties(&mut self, root: &Value, schema: &MergedValue<'_>) -> Result<(), String> {
        for property in schema.properties() {
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

    /// Adds an argument and its parameter. Skips it with a warning if its name can't be used.
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
        let mut argument = input.to_argument();
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

    /// Returns whether `name` is valid for an argument and not taken yet.
    fn can_add_argument(&self, name: &str) -> bool {
        let is_valid = !name.trim().is_empty() && !name.chars().any(char::is_control);
        is_valid && self.arguments.iter().all(|argument| argument.name != name)
    }
}

/// Returns the `application/json` entry in the `content` of a body, or `None` if `content` is
/// empty.
///
/// # Errors
/// `content` has only other formats.
fn json_media_type(content: &Value) -> Result<Option<&Value>, String> {
    let Some(media_types) = content.as_object() else {
        return Ok(None);
    };
    if media_types.is_empty() {
        return Ok(None);
    }
    for (name, media_type) in media_types {
        // Ignore parameters such as `; charset=utf-8`.
        if name.split(';').next() == Some("application/json") {
            return Ok(Some(media_type));
        }
    }
    Err("its body is not `application/json`, which alone can be sent".to_owned())
}

impl DescribedInput<'_, '_> {
    fn value_type(&self) -> ValueType {
        if self.location == ParameterLocation::WholeBody {
            return ValueType::Json;
        }
        self.schema.value_type()
    }

    /// Converts a choice or a default from the document into the text that a user would enter for
    /// it: JSON if the argument is JSON, and plain text otherwise. Returns `None` for null.
    fn to_argument_text(&self, value: &Value) -> Option<String> {
        if self.value_type() == ValueType::Json && !value.is_null() {
            return Some(value.to_string());
        }
        plain_text(value)
    }

    /// Creates the argument, without its default.
    fn to_argument(&self) -> Argument {
        let choices: Vec<String> = elements(self.schema.get("enum"))
            .filter_map(|choice| self.to_argument_text(choice))
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

    /// Sets the default of the argument, if the schema has one.
    ///
    /// # Errors
    /// Returns a warning if the default is not a valid value. The argument is then unchanged.
    fn set_default(&self, argument: &mut Argument) -> Result<(), String> {
        let Some(default) = self.to_argument_text(self.schema.get("default")) else {
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

/// Returns the text up to the first blank line, with its lines joined into one.
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
