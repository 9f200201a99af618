//! Edits of JSON, with `jsonc-parser`, whose syntax tree has comments and layout.

use super::entry::{Entry, syntax_error, wrong_kind};
use crate::prompt::{Diagnostic, Position};
use jsonc_parser::common::Ranged;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, ast};
use serde_json::{Map, Value};

/// What an agent allows beyond JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct JsonSyntax {
    /// Whether it allows `//` and `/* */`.
    pub(crate) comments: bool,
    /// Whether it allows a comma after the last entry.
    pub(crate) trailing_commas: bool,
}

/// See [`Syntax::parse`](super::Syntax::parse).
pub(super) fn parse(syntax: JsonSyntax, text: &str) -> Result<Value, Diagnostic> {
    Ok(tree(syntax, text)?.map_or_else(|| Value::Object(Map::new()), Value::from))
}

/// The values of a text; `None`: it is empty.
fn tree(syntax: JsonSyntax, text: &str) -> Result<Option<ast::Value<'_>>, Diagnostic> {
    let parsed = jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &options(syntax));
    parsed
        .map(|parsed| parsed.value)
        .map_err(|error| not_json(&error, text))
}

/// See [`Syntax::position`](super::Syntax::position).
pub(super) fn position(syntax: JsonSyntax, text: &str, keys: &[String]) -> Option<Position> {
    let tree = tree(syntax, text).ok()??;
    let (mut start, mut value) = (0, &tree);
    for key in keys {
        let mut properties = value.as_object()?.properties.iter().rev();
        let property = properties.find(|property| property.name.as_str() == key)?;
        (start, value) = (property.name.start(), &property.value);
    }
    Some(Position::in_text(text, start, 1))
}

/// See [`Syntax::set`](super::Syntax::set).
pub(super) fn set(
    syntax: JsonSyntax,
    text: &str,
    keys: &[String],
    entry: &Entry,
    replaced: bool,
) -> Result<String, Diagnostic> {
    let document = Document::parse(syntax, text)?;
    let Some((name, parents)) = keys.split_last() else {
        return Ok(text.to_owned());
    };
    let object = document.object_or_new(parents)?;
    let known = match last_property(&object, name) {
        Some(property) if !replaced => {
            let known = property
                .object_value()
                .ok_or_else(|| document.not_an_object(keys))?;
            for (key, value) in &entry.required {
                let property = last_property(&known, key);
                match (value, property) {
                    (None, None) => {}
                    (None, Some(property)) => property.remove(),
                    (Some(value), None) => _ = known.append(key, input(value)),
                    (Some(value), Some(property)) => set_value(&property, value),
                }
            }
            Some(known)
        }
        property => {
            let value = CstInputValue::Object(
                entry
                    .all()
                    .map(|(key, value)| (key.to_owned(), input(value)))
                    .collect(),
            );
            match property {
                None => object.append(name, value).object_value(),
                Some(property) => {
                    property.set_value(value);
                    property.object_value()
                }
            }
        }
    };
    // As the agents write them: each argument on a line of its own.
    let written = entry
        .all()
        .filter_map(|(key, _)| known.as_ref()?.array_value(key));
    written
        .filter(|list| !list.elements().is_empty())
        .for_each(|list| list.ensure_multiline());
    Ok(document.root.to_string())
}

/// See [`Syntax::remove`](super::Syntax::remove).
pub(super) fn remove(
    syntax: JsonSyntax,
    text: &str,
    keys: &[String],
) -> Result<String, Diagnostic> {
    let document = Document::parse(syntax, text)?;
    let Some(mut object) = document.root.object_value() else {
        return Ok(text.to_owned());
    };
    let mut path = Vec::new();
    for depth in 0..keys.len() {
        let Some(property) = last_property(&object, &keys[depth]) else {
            return Ok(text.to_owned());
        };
        path.push(property.clone());
        match property.object_value() {
            Some(below) => object = below,
            None if depth + 1 < keys.len() => return Ok(text.to_owned()),
            None => {}
        }
    }
    remove_with_empty_parents(path);
    Ok(document.root.to_string())
}

/// The text with this handler for an event. An existing handler whose command `is_prompt_expander`
/// gets the new command; further ones are removed.
pub(crate) fn set_hook(
    syntax: JsonSyntax,
    text: &str,
    event: &str,
    handler: &Value,
    is_prompt_expander: &dyn Fn(&str) -> bool,
) -> Result<String, Diagnostic> {
    let document = Document::parse(syntax, text)?;
    let keys = ["hooks".to_owned(), event.to_owned()];
    let hooks = document.object_or_new(&keys[..1])?;
    let groups = match last_property(&hooks, event) {
        None => hooks
            .append(event, CstInputValue::Array(Vec::new()))
            .array_value_or_set(),
        Some(property) => property
            .array_value()
            .ok_or_else(|| wrong_kind(&keys, "a list", position(syntax, text, &keys)))?,
    };
    let mut handlers = handlers(&groups, is_prompt_expander).into_iter();
    match handlers.next() {
        Some(known) => {
            if let Some(property) = known.handler.get("command") {
                set_value(&property, &handler["command"]);
            }
        }
        None => {
            _ = groups.append(CstInputValue::Object(vec![(
                "hooks".to_owned(),
                CstInputValue::Array(vec![input(handler)]),
            )]))
        }
    }
    handlers.for_each(Handler::remove);
    Ok(document.root.to_string())
}

/// The text without the handlers of an event whose command `is_prompt_expander`, and without lists
/// and objects that this leaves empty.
pub(crate) fn remove_hook(
    syntax: JsonSyntax,
    text: &str,
    event: &str,
    is_prompt_expander: &dyn Fn(&str) -> bool,
) -> Result<String, Diagnostic> {
    let document = Document::parse(syntax, text)?;
    let hooks = document
        .root
        .object_value()
        .and_then(|root| last_property(&root, "hooks"));
    let event = hooks
        .as_ref()
        .and_then(|hooks| last_property(&hooks.object_value()?, event));
    let (Some(hooks), Some(event)) = (hooks, event) else {
        return Ok(text.to_owned());
    };
    let Some(groups) = event.array_value() else {
        return Ok(text.to_owned());
    };
    let handlers = handlers(&groups, is_prompt_expander);
    if handlers.is_empty() {
        return Ok(text.to_owned());
    }
    handlers.into_iter().for_each(Handler::remove);
    if is_empty(&groups.children()) {
        remove_with_empty_parents(vec![hooks, event]);
    }
    Ok(document.root.to_string())
}

/// A command that is run at an event.
struct Handler {
    group: CstObject,
    list: CstArray,
    handler: CstObject,
}

impl Handler {
    /// Removes it, with its group if there is no other handler in it.
    fn remove(self) {
        if self.list.elements().len() == 1 {
            self.group.remove()
        } else {
            self.handler.remove()
        }
    }
}

/// The handlers of an event whose command `is_prompt_expander`.
fn handlers(groups: &CstArray, is_prompt_expander: &dyn Fn(&str) -> bool) -> Vec<Handler> {
    let groups = groups
        .elements()
        .into_iter()
        .filter_map(|group| group.as_object());
    let lists = groups.filter_map(|group| Some((group.array_value("hooks")?, group)));
    let handlers = lists.flat_map(|(list, group)| {
        let handlers = list
            .elements()
            .into_iter()
            .filter_map(|handler| handler.as_object());
        handlers
            .map(|handler| Handler {
                group: group.clone(),
                list: list.clone(),
                handler,
            })
            .collect::<Vec<_>>()
    });
    let command = |handler: &Handler| {
        handler
            .handler
            .get("command")?
            .value()?
            .as_string_lit()?
            .decoded_value()
            .ok()
    };
    handlers
        .filter(|handler| command(handler).is_some_and(|command| is_prompt_expander(&command)))
        .collect()
}

/// A text that is edited.
struct Document<'t> {
    syntax: JsonSyntax,
    text: &'t str,
    root: CstRootNode,
}

impl<'t> Document<'t> {
    fn parse(syntax: JsonSyntax, text: &'t str) -> Result<Document<'t>, Diagnostic> {
        let root =
            CstRootNode::parse(text, &options(syntax)).map_err(|error| not_json(&error, text))?;
        Ok(Document { syntax, text, root })
    }

    fn not_an_object(&self, keys: &[String]) -> Diagnostic {
        wrong_kind(keys, "an object", position(self.syntax, self.text, keys))
    }

    /// The object at the end of these keys, created if it is missing.
    fn object_or_new(&self, keys: &[String]) -> Result<CstObject, Diagnostic> {
        let mut object = self.root.object_value_or_set();
        for depth in 0..keys.len() {
            let keys = &keys[..=depth];
            object = match last_property(&object, &keys[depth]) {
                None => object
                    .append(&keys[depth], CstInputValue::Object(Vec::new()))
                    .object_value_or_set(),
                Some(property) => property
                    .object_value()
                    .ok_or_else(|| self.not_an_object(keys))?,
            };
        }
        Ok(object)
    }
}

/// The property with this key; of several, the one that counts for the agents.
fn last_property(object: &CstObject, key: &str) -> Option<CstObjectProp> {
    object
        .properties()
        .into_iter()
        .rfind(|property| property.decoded_name().as_deref() == Some(key))
}

/// Removes the last property of a path, and each before it whose object has nothing else, not even
/// a comment.
fn remove_with_empty_parents(path: Vec<CstObjectProp>) {
    for property in path.into_iter().rev() {
        let parent = property.parent();
        property.remove();
        if !parent.is_some_and(|parent| is_empty(&parent.children())) {
            break;
        }
    }
}

/// Whether nothing is between the brackets of an object or a list.
fn is_empty(children: &[CstNode]) -> bool {
    children
        .iter()
        .skip(1)
        .take(children.len().saturating_sub(2))
        .all(|node| node.is_whitespace() || node.is_newline())
}

/// Sets a value; one that is equal stays as it is written.
fn set_value(property: &CstObjectProp, value: &Value) {
    if property
        .value()
        .and_then(|known| known.to_serde_value())
        .as_ref()
        != Some(value)
    {
        property.set_value(input(value));
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(boolean) => CstInputValue::Bool(*boolean),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(pairs) => CstInputValue::Object(
            pairs
                .iter()
                .map(|(key, value)| (key.clone(), input(value)))
                .collect(),
        ),
    }
}

fn options(syntax: JsonSyntax) -> ParseOptions {
    ParseOptions {
        allow_comments: syntax.comments,
        allow_trailing_commas: syntax.trailing_commas,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn not_json(error: &ParseError, text: &str) -> Diagnostic {
    syntax_error(text, error.range().start, &error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LENIENT, entry, keys, there_and_back};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn syntax() -> JsonSyntax {
        JsonSyntax {
            comments: true,
            trailing_commas: true,
        }
    }

    #[test]
    fn an_entry_is_added_to_json_and_removed_and_all_else_stays() {
        let new = "\"prompts\": {\n      \"command\": \"/p\",\n      \"args\": [\n        \"a b\"\n      ],\n      \"env\": {}\n    }";
        there_and_back(
            LENIENT,
            "",
            &format!("{{\n  \"s\": {{\n    {new}\n  }}\n}}\n"),
            "{}\n",
        );
        // With a comma after the last entry, as those around it.
        let in_style = new.replace("\"env\": {}", "\"env\": {},");
        there_and_back(
            LENIENT,
            "// c\n{\n  \"a\": 1, // d\n  \"s\": {\n    // e\n    \"x\": {\"command\": \"y\"}, // f\n  },\n  \"b\": [1,2],\n}\n",
            &format!(
                "// c\n{{\n  \"a\": 1, // d\n  \"s\": {{\n    // e\n    \"x\": {{\"command\": \"y\"}}, // f\n    {in_style},\n  }},\n  \
                 \"b\": [1,2],\n}}\n"
            ),
            "// c\n{\n  \"a\": 1, // d\n  \"s\": {\n    // e\n    \"x\": {\"command\": \"y\"}, // f\n  },\n  \"b\": [1,2],\n}\n",
        );
        there_and_back(
            LENIENT,
            "{\r\n  \"a\": 1\r\n}\r\n",
            &format!("{{\n  \"a\": 1,\n  \"s\": {{\n    {new}\n  }}\n}}\n").replace('\n', "\r\n"),
            "{\r\n  \"a\": 1\r\n}\r\n",
        );
        there_and_back(
            LENIENT,
            "{\n\t\"a\": 1\n}\n",
            &format!("{{\n  \"a\": 1,\n  \"s\": {{\n    {new}\n  }}\n}}\n").replace("  ", "\t"),
            "{\n\t\"a\": 1\n}\n",
        );
    }

    #[test]
    fn a_value_of_another_kind_is_an_error() {
        for (text, position, message) in [
            ("{\"s\": []}", "1:2", "`s` must be an object, but is not"),
            (
                "{\"s\": {\"prompts\": \"x\"}}",
                "1:8",
                "`s.prompts` must be an object, but is not",
            ),
        ] {
            let error = LENIENT
                .set(text, &keys("s.prompts"), &entry(&[]), false)
                .unwrap_err();
            assert_eq!(
                (
                    error.position.unwrap().to_string().as_str(),
                    error.message.as_str()
                ),
                (position, message)
            );
        }
    }

    #[test]
    fn a_hook_is_added_to_others_once_and_removed() {
        let is_prompt_expander = |line: &str| line.starts_with("/p hook");
        let set = |text: &str, command: &str| {
            let handler = json!({"type": "command", "command": command, "timeout": 5});
            set_hook(syntax(), text, "Submit", &handler, &is_prompt_expander).unwrap()
        };
        let remove =
            |text: &str| remove_hook(syntax(), text, "Submit", &is_prompt_expander).unwrap();
        let before = "{\n  \"hooks\": {\n    \"Submit\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"log\" }] }\n    ]\n  }\n}\n";
        let with = set(before, "/p hook x");
        assert!(with.starts_with(&before[..before.len() - 15]), "{with}");
        assert!(
            with.contains("\"command\": \"/p hook x\",\n            \"timeout\": 5\n"),
            "{with}"
        );
        assert_eq!(set(&with, "/p hook x"), with);
        assert_eq!(set(&with, "/p hook y"), with.replace("hook x", "hook y"));
        assert_eq!(remove(&with), before);
        assert_eq!(remove(before), before);
        assert_eq!(
            remove(&set("{\n  \"a\": 1\n}", "/p hook x")),
            "{\n  \"a\": 1\n}"
        );
        let twice = "{\"hooks\": {\"Submit\": [{\"hooks\": [{\"command\": \"/p hook a\"}, {\"command\": \"/p hook b\"}]}]}}";
        let once = "{\"hooks\": {\"Submit\": [{\"hooks\": [{\"command\": \"/p hook x\"}]}]}}";
        assert_eq!(set(twice, "/p hook x"), once);
        let with_matcher = "{\"hooks\": {\"Submit\": [\n  {\"matcher\": \"\", \"hooks\": [{\"command\": \"/p hook a\"}]},\n  {\"hooks\": []} // c\n]}}";
        assert_eq!(
            remove(with_matcher),
            "{\"hooks\": {\"Submit\": [\n  {\"hooks\": []} // c\n]}}"
        );
        let error = set_hook(
            syntax(),
            "{\"hooks\": {\n\"Submit\": {}}}",
            "Submit",
            &json!({}),
            &is_prompt_expander,
        )
        .unwrap_err();
        assert_eq!(
            (
                error.position.unwrap().to_string().as_str(),
                error.message.as_str()
            ),
            ("2:1", "`hooks.Submit` must be a list, but is not")
        );
    }

    /// A value of JSON with comments, in any layout.
    fn value() -> impl Strategy<Value = String> {
        let leaf = prop::sample::select(vec![
            "1",
            "-2.5e3",
            "true",
            "null",
            "\"x // y\"",
            "\"\\u00e9\\\"\"",
            "[]",
            "{}",
        ]);
        let leaf = leaf.prop_map(str::to_owned);
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                object(prop::collection::vec(
                    (
                        prop::sample::select(vec!["a", "b c", "é", "s", "prompts"]),
                        inner.clone()
                    ),
                    0..4
                )),
                (
                    prop::collection::vec((space(), inner), 0..4),
                    space(),
                    any::<bool>()
                )
                    .prop_map(|(items, end, comma)| {
                        let list = items
                            .iter()
                            .map(|(space, item)| format!("{space}{item}"))
                            .collect::<Vec<_>>()
                            .join(",");
                        format!(
                            "[{list}{}{end}]",
                            if comma && !items.is_empty() { "," } else { "" }
                        )
                    }),
            ]
        })
    }

    fn space() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec![
            "",
            " ",
            "\n",
            "\n\n    ",
            "\t",
            " /* c */ ",
            " // c\n",
            "\n  // c\n  ",
        ])
    }

    /// An object with these entries, each key once.
    fn object(
        entries: impl Strategy<Value = Vec<(&'static str, String)>>,
    ) -> impl Strategy<Value = String> {
        (entries, prop::collection::vec(space(), 16), any::<bool>()).prop_map(
            |(mut entries, spaces, comma)| {
                let mut seen = Vec::new();
                entries.retain(|(key, _)| {
                    !seen.contains(key) && {
                        seen.push(*key);
                        true
                    }
                });
                let entry = |(at, (key, value)): (usize, &(&str, String))| {
                    format!(
                        "{}\"{key}\"{}:{}{value}",
                        spaces[3 * at],
                        spaces[3 * at + 1],
                        spaces[3 * at + 2]
                    )
                };
                let text = entries
                    .iter()
                    .enumerate()
                    .map(entry)
                    .collect::<Vec<_>>()
                    .join(",");
                format!(
                    "{{{text}{}{}}}",
                    if comma && !entries.is_empty() {
                        ","
                    } else {
                        ""
                    },
                    spaces[15]
                )
            },
        )
    }

    /// Whether a comment is between an entry and the bracket on its line. A new entry goes before
    /// it, so it goes with that.
    fn ends_with_comment(text: &str) -> bool {
        text.contains("/* c */ }")
    }

    proptest! {
        #[test]
        fn in_any_json_only_the_entry_changes(
            text in object(prop::collection::vec((prop::sample::select(vec!["a", "s", "t"]), value()), 0..4)),
            before in space(),
            after in space(),
        ) {
            let text = format!("{before}{text}{after}");
            let old = LENIENT.parse(&text).unwrap();
            let keys = keys("s.prompts");
            let changed = LENIENT.set(&text, &keys, &entry(&["x"]), true);
            if old.get("s").is_some_and(|servers| !servers.is_object()) {
                prop_assert!(changed.is_err());
                return Ok(());
            }
            let changed = changed.unwrap();
            let mut new = LENIENT.parse(&changed).unwrap();
            prop_assert_eq!(new["s"]["prompts"]["args"].clone(), serde_json::json!(["x"]), "{}", changed);
            prop_assert_eq!(LENIENT.set(&changed, &keys, &entry(&["x"]), false).unwrap(), changed.as_str());
            let removed = LENIENT.remove(&changed, &keys).unwrap();
            let comments = |text: &str| text.matches("// c").count() + text.matches("/* c */").count();
            if old.get("s").is_none_or(|servers| servers.get("prompts").is_none()) {
                prop_assert_eq!(comments(&changed), comments(&text), "{}", changed);
                let is_kept = old.get("s").is_none() || LENIENT.parse(&removed).unwrap().get("s").is_some();
                if is_kept && !ends_with_comment(&text) {
                    prop_assert_eq!(comments(&removed), comments(&text), "{}", removed);
                }
            }
            let mut left = LENIENT.parse(&removed).unwrap();
            // The rest is unchanged, except that an empty object may stay or go.
            for value in [&mut new, &mut left] {
                if let Some(servers) = value["s"].as_object_mut() {
                    servers.remove("prompts");
                }
            }
            let mut old = old;
            if let Some(servers) = old.get_mut("s").and_then(Value::as_object_mut) {
                servers.remove("prompts");
            }
            for value in [&mut old, &mut new, &mut left] {
                if value["s"].is_null() || value["s"] == serde_json::json!({}) {
                    value.as_object_mut().unwrap().remove("s");
                }
            }
            prop_assert_eq!(&new, &old, "{}", changed);
            prop_assert_eq!(&left, &old, "{}", removed);
        }

        #[test]
        fn in_any_json_only_the_hook_changes(
            text in object(prop::collection::vec((prop::sample::select(vec!["a", "s", "t"]), value()), 0..4)),
            before in space(),
            after in space(),
        ) {
            let text = format!("{before}{text}{after}");
            let is_prompt_expander = |line: &str| line == "/p hook";
            let handler = json!({"type": "command", "command": "/p hook"});
            let changed = set_hook(syntax(), &text, "Submit", &handler, &is_prompt_expander).unwrap();
            prop_assert_eq!(changed.matches("/p hook").count(), 1);
            prop_assert_eq!(set_hook(syntax(), &changed, "Submit", &handler, &is_prompt_expander).unwrap(), changed.as_str());
            let removed = remove_hook(syntax(), &changed, "Submit", &is_prompt_expander).unwrap();
            prop_assert_eq!(LENIENT.parse(&removed).unwrap(), LENIENT.parse(&text).unwrap(), "{}", removed);
            if !ends_with_comment(&text) {
                prop_assert_eq!(removed.matches(" c").count(), text.matches(" c").count(), "{}", removed);
            }
        }
    }
}
