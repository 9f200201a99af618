//! Edits JSON with `jsonc-parser`, whose concrete syntax tree preserves comments and formatting.

use super::entry::{Entry, EntryEdit, SetMode, syntax_error, wrong_type};
use crate::prompt::{Diagnostic, Position};
use jsonc_parser::common::Ranged;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use jsonc_parser::errors::ParseError;
use jsonc_parser::{CollectOptions, ParseOptions, ast};
use serde_json::{Map, Value};

/// The extensions of JSON that an agent accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum JsonSyntax {
    /// None.
    Strict,
    /// Comments: `//` and `/* */`.
    WithComments,
    /// Comments and trailing commas.
    Lenient,
}

/// Parses a JSON text. An empty text is an empty object.
pub(super) fn parse(syntax: JsonSyntax, text: &str) -> Result<Value, Diagnostic> {
    match parse_tree(syntax, text)? {
        Some(value) => Ok(Value::from(value)),
        None => Ok(Value::Object(Map::new())),
    }
}

/// Parses a text into a tree with the positions of all values. Returns `None` if the text is empty.
fn parse_tree(syntax: JsonSyntax, text: &str) -> Result<Option<ast::Value<'_>>, Diagnostic> {
    match jsonc_parser::parse_to_ast(text, &CollectOptions::default(), &parse_options(syntax)) {
        Ok(parsed) => Ok(parsed.value),
        Err(error) => Err(invalid_json(&error, text)),
    }
}

/// Returns the position of the last key in a path of keys, or `None` if the path doesn't exist or
/// the text is invalid.
pub(super) fn position(
    syntax: JsonSyntax,
    text: &str,
    keys: &[impl AsRef<str>],
) -> Option<Position> {
    let tree = parse_tree(syntax, text).ok()??;
    let mut start = 0;
    let mut value = &tree;
    for key in keys {
        // If a key appears twice, the last occurrence counts.
        let mut properties = value.as_object()?.properties.iter().rev();
        let property = properties.find(|property| property.name.as_str() == key.as_ref())?;
        start = property.name.start();
        value = &property.value;
    }
    Some(Position::in_file_text(text, start))
}

/// Sets an entry in a JSON text, and creates missing parent objects. Returns the edited text.
///
/// # Errors
/// Fails if the text is invalid, or if a value in the path of keys isn't an object.
pub(super) fn set(syntax: JsonSyntax, text: &str, edit: &EntryEdit) -> Result<String, Diagnostic> {
    let document = JsonDocument::parse(syntax, text)?;
    let parent = document.get_or_create_object(edit.parent_keys())?;
    let object = match last_property(&parent, edit.name()) {
        Some(property) if edit.mode == SetMode::Update => {
            let Some(object) = property.object_value() else {
                return Err(document.not_an_object(edit.keys));
            };
            update_object(&object, edit.entry);
            Some(object)
        }
        Some(property) => {
            property.set_value(new_object(edit.entry));
            property.object_value()
        }
        None => parent
            .append(edit.name(), new_object(edit.entry))
            .object_value(),
    };
    if let Some(object) = object {
        format_lists(&object, edit.entry);
    }
    Ok(document.root.to_string())
}

/// Sets and removes the keys of an existing object as the entry requires.
fn update_object(object: &CstObject, entry: &Entry) {
    for (key, value) in &entry.required {
        match (last_property(object, key), value) {
            (Some(property), Some(value)) => set_value(&property, value),
            (Some(property), None) => property.remove(),
            (None, Some(value)) => _ = object.append(key, to_cst(value)),
            (None, None) => {}
        }
    }
}

fn new_object(entry: &Entry) -> CstInputValue {
    let mut pairs = Vec::new();
    for (key, value) in entry.all() {
        pairs.push((key.to_owned(), to_cst(value)));
    }
    CstInputValue::Object(pairs)
}

/// Puts each element of the entry's lists on a line of its own, as the agents do.
fn format_lists(object: &CstObject, entry: &Entry) {
    for (key, _) in entry.all() {
        if let Some(list) = object.array_value(key)
            && !list.elements().is_empty()
        {
            list.ensure_multiline();
        }
    }
}

/// Removes the value at a path of keys, and parent objects that become empty. A missing value is
/// not an error.
pub(super) fn remove(
    syntax: JsonSyntax,
    text: &str,
    keys: &[String],
) -> Result<String, Diagnostic> {
    let document = JsonDocument::parse(syntax, text)?;
    document.remove_with_empty_parents(keys);
    Ok(document.root.to_string())
}

/// How a hooks file lists the handlers of an event.
#[derive(Debug, Clone, Copy)]
pub(super) struct HookLayout {
    /// Whether the handlers are in groups: `[{"hooks": [HANDLER]}]` instead of `[HANDLER]`.
    pub(super) is_grouped: bool,
    /// The key of a handler's command.
    pub(super) command_key: &'static str,
}

impl HookLayout {
    /// The layout of most agents.
    pub(super) const GROUPED: HookLayout = HookLayout {
        is_grouped: true,
        command_key: "command",
    };
}

/// Sets the handler for an event, i.e. adds `{"hooks": [handler]}` to the list `hooks.EVENT`, or
/// the handler itself if `layout` has no groups.
///
/// If the event already has a handler of this program, updates it, and removes further ones.
/// `is_prompt_expander` returns whether a handler's command runs this program.
///
/// # Errors
/// Fails if the text is invalid, if `hooks` isn't an object, or if `hooks.EVENT` isn't a list.
pub(super) fn set_hook(
    syntax: JsonSyntax,
    layout: HookLayout,
    text: &str,
    event: &str,
    handler: &Entry,
    is_prompt_expander: &dyn Fn(&str) -> bool,
) -> Result<String, Diagnostic> {
    let document = JsonDocument::parse(syntax, text)?;
    let groups = document.get_or_create_groups(event)?;
    let mut existing = find_handlers(layout, &groups, is_prompt_expander).into_iter();
    if let Some(first) = existing.next() {
        update_object(&first.entry, handler);
    } else if !layout.is_grouped {
        groups.append(new_object(handler));
    } else {
        let list = CstInputValue::Array(vec![new_object(handler)]);
        groups.append(CstInputValue::Object(vec![("hooks".to_owned(), list)]));
    }
    for duplicate in existing {
        duplicate.remove_from_document();
    }
    Ok(document.root.to_string())
}

/// Removes this program's handlers of an event, and then the groups, lists and objects that have
/// become empty.
///
/// `is_prompt_expander` returns whether a handler's command runs this program. Returns the text as
/// it is if the event has no such handler.
pub(super) fn remove_hook(
    syntax: JsonSyntax,
    layout: HookLayout,
    text: &str,
    event: &str,
    is_prompt_expander: &dyn Fn(&str) -> bool,
) -> Result<String, Diagnostic> {
    let document = JsonDocument::parse(syntax, text)?;
    let Some(groups) = document.groups(event) else {
        return Ok(text.to_owned());
    };
    let handlers = find_handlers(layout, &groups, is_prompt_expander);
    if handlers.is_empty() {
        return Ok(text.to_owned()); // keeps even an empty list, which the user may have written
    }
    for handler in handlers {
        handler.remove_from_document();
    }
    if is_empty(&groups.children()) {
        document.remove_with_empty_parents(&["hooks", event]);
    }
    Ok(document.root.to_string())
}

/// A command that is run for an event, e.g. `{"command": "log"}` in the group
/// `{"hooks": [{"command": "log"}]}`.
struct HandlerNode {
    /// The group, or the handler itself in a layout without groups.
    group: CstObject,
    /// The list that contains the handler, e.g. the `hooks` of the group.
    list: CstArray,
    entry: CstObject,
}

impl HandlerNode {
    /// Removes the handler, or its whole group if it contains no other handler. Edits the document
    /// that the nodes belong to.
    fn remove_from_document(self) {
        if self.list.elements().len() == 1 {
            self.group.remove();
        } else {
            self.entry.remove();
        }
    }
}

/// Finds this program's handlers of an event. `is_prompt_expander` returns whether a handler's
/// command runs this program.
fn find_handlers(
    layout: HookLayout,
    groups: &CstArray,
    is_prompt_expander: &dyn Fn(&str) -> bool,
) -> Vec<HandlerNode> {
    let mut handlers = Vec::new();
    for group in objects_in(groups) {
        if !layout.is_grouped {
            handlers.push(HandlerNode {
                group: group.clone(),
                list: groups.clone(),
                entry: group,
            });
        } else if let Some(list) = group.array_value("hooks") {
            for entry in objects_in(&list) {
                handlers.push(HandlerNode {
                    group: group.clone(),
                    list: list.clone(),
                    entry,
                });
            }
        }
    }
    handlers.retain(|handler| {
        let command = string_value(&handler.entry, layout.command_key);
        command.is_some_and(|command| is_prompt_expander(&command))
    });
    handlers
}

fn objects_in(list: &CstArray) -> impl Iterator<Item = CstObject> {
    list.elements()
        .into_iter()
        .filter_map(|element| element.as_object())
}

fn string_value(entry: &CstObject, key: &str) -> Option<String> {
    let value = entry.get(key)?.value()?;
    value.as_string_lit()?.decoded_value().ok()
}

/// A JSON text that is being edited.
struct JsonDocument<'t> {
    syntax: JsonSyntax,
    /// The text before any edit, for the positions of errors.
    text: &'t str,
    /// The syntax tree. Editing a node edits the tree.
    root: CstRootNode,
}

impl<'t> JsonDocument<'t> {
    fn parse(syntax: JsonSyntax, text: &'t str) -> Result<JsonDocument<'t>, Diagnostic> {
        match CstRootNode::parse(text, &parse_options(syntax)) {
            Ok(root) => Ok(JsonDocument { syntax, text, root }),
            Err(error) => Err(invalid_json(&error, text)),
        }
    }

    fn not_an_object(&self, keys: &[String]) -> Diagnostic {
        let position = position(self.syntax, self.text, keys);
        wrong_type(keys, "an object", position)
    }

    /// Returns the object at a path of keys. Creates missing objects.
    fn get_or_create_object(&self, keys: &[String]) -> Result<CstObject, Diagnostic> {
        let mut object = self.root.object_value_or_set();
        for (depth, key) in keys.iter().enumerate() {
            let Some(property) = last_property(&object, key) else {
                let new_property = object.append(key, CstInputValue::Object(Vec::new()));
                object = new_property.object_value_or_set();
                continue;
            };
            object = match property.object_value() {
                Some(value) => value,
                None => return Err(self.not_an_object(&keys[..=depth])),
            };
        }
        Ok(object)
    }

    /// Returns the list of an event's groups, `hooks.EVENT`. Creates it if it is missing.
    fn get_or_create_groups(&self, event: &str) -> Result<CstArray, Diagnostic> {
        let keys = ["hooks".to_owned(), event.to_owned()];
        let hooks = self.get_or_create_object(&keys[..1])?;
        let Some(property) = last_property(&hooks, event) else {
            let new_property = hooks.append(event, CstInputValue::Array(Vec::new()));
            return Ok(new_property.array_value_or_set());
        };
        property.array_value().ok_or_else(|| {
            let position = position(self.syntax, self.text, &keys);
            wrong_type(&keys, "a list", position)
        })
    }

    /// Returns the list of an event's groups, `hooks.EVENT`, if it exists and is a list.
    fn groups(&self, event: &str) -> Option<CstArray> {
        let hooks = last_property(&self.root.object_value()?, "hooks")?.object_value()?;
        last_property(&hooks, event)?.array_value()
    }

    /// Removes the value at a path of keys, and then each parent whose object has become empty:
    /// `{"a": {"b": {"c": 1}}, "d": 2}` without `a.b.c` is `{"d": 2}`. Does nothing if the path
    /// doesn't exist. An object that contains a comment isn't empty.
    fn remove_with_empty_parents(&self, keys: &[impl AsRef<str>]) {
        let Some(properties) = self.properties_at(keys) else {
            return;
        };
        // Removing a node edits `root`, which it belongs to.
        for property in properties.into_iter().rev() {
            let parent = property.parent();
            property.remove();
            let is_parent_empty = parent.is_some_and(|parent| is_empty(&parent.children()));
            if !is_parent_empty {
                return;
            }
        }
    }

    /// Returns the properties along a path of keys, outermost first, or `None` if the path doesn't
    /// exist.
    fn properties_at(&self, keys: &[impl AsRef<str>]) -> Option<Vec<CstObjectProp>> {
        let mut object = self.root.object_value();
        let mut properties = Vec::new();
        for key in keys {
            let property = last_property(&object?, key.as_ref())?;
            object = property.object_value();
            properties.push(property);
        }
        Some(properties)
    }
}

/// Returns the property with this key. Like in the agents, the last of duplicate keys wins.
fn last_property(object: &CstObject, key: &str) -> Option<CstObjectProp> {
    object
        .properties()
        .into_iter()
        .rfind(|property| property.decoded_name().as_deref() == Some(key))
}

/// Returns whether an object or a list with these child nodes contains only whitespace. The first
/// and the last node are its brackets.
fn is_empty(children: &[CstNode]) -> bool {
    let [_opening, contents @ .., _closing] = children else {
        return true;
    };
    contents
        .iter()
        .all(|node| node.is_whitespace() || node.is_newline())
}

/// Sets the value of a property. Doesn't reformat a value that is already equal.
fn set_value(property: &CstObjectProp, value: &Value) {
    if let Some(current) = property.value()
        && current.to_serde_value().as_ref() == Some(value)
    {
        return;
    }
    property.set_value(to_cst(value));
}

/// Converts a value to what `jsonc-parser` can insert.
fn to_cst(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(boolean) => CstInputValue::Bool(*boolean),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(string) => CstInputValue::String(string.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(to_cst).collect()),
        Value::Object(object) => {
            let mut pairs = Vec::new();
            for (key, value) in object {
                pairs.push((key.clone(), to_cst(value)));
            }
            CstInputValue::Object(pairs)
        }
    }
}

fn parse_options(syntax: JsonSyntax) -> ParseOptions {
    ParseOptions {
        allow_comments: syntax != JsonSyntax::Strict,
        allow_trailing_commas: syntax == JsonSyntax::Lenient,
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

fn invalid_json(error: &ParseError, text: &str) -> Diagnostic {
    syntax_error(text, error.range().start, &error.kind().to_string())
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LENIENT, entry, keys, there_and_back};
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

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
                .set(text, &keys("s.prompts"), &entry(&[]), SetMode::Update)
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
            let handler = Entry {
                required: vec![("command", Some(json!(command)))],
                initial: vec![("timeout", json!(5))],
            };
            set_hook(
                JsonSyntax::Lenient,
                HookLayout::GROUPED,
                text,
                "Submit",
                &handler,
                &is_prompt_expander,
            )
            .unwrap()
        };
        let remove = |text: &str| {
            remove_hook(
                JsonSyntax::Lenient,
                HookLayout::GROUPED,
                text,
                "Submit",
                &is_prompt_expander,
            )
            .unwrap()
        };
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
            JsonSyntax::Lenient,
            HookLayout::GROUPED,
            "{\"hooks\": {\n\"Submit\": {}}}",
            "Submit",
            &entry(&[]),
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

    const LAYOUT: HookLayout = HookLayout::GROUPED;

    fn is_hook_command(line: &str) -> bool {
        line == "/p hook"
    }

    fn set_submit_hook(text: &str, handler: &Entry) -> String {
        let syntax = JsonSyntax::Lenient;
        set_hook(syntax, LAYOUT, text, "Submit", handler, &is_hook_command).unwrap()
    }

    fn remove_submit_hook(text: &str) -> String {
        remove_hook(
            JsonSyntax::Lenient,
            LAYOUT,
            text,
            "Submit",
            &is_hook_command,
        )
        .unwrap()
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
            let changed = LENIENT.set(&text, &keys, &entry(&["x"]), SetMode::Replace);
            if old.get("s").is_some_and(|servers| !servers.is_object()) {
                prop_assert!(changed.is_err());
                return Ok(());
            }
            let changed = changed.unwrap();
            let mut new = LENIENT.parse(&changed).unwrap();
            prop_assert_eq!(new["s"]["prompts"]["args"].clone(), serde_json::json!(["x"]), "{}", changed);
            prop_assert_eq!(LENIENT.set(&changed, &keys, &entry(&["x"]), SetMode::Update).unwrap(), changed.as_str());
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
            let handler = Entry {
                required: vec![("command", Some(json!("/p hook")))],
                initial: Vec::new(),
            };
            let changed = set_submit_hook(&text, &handler);
            prop_assert_eq!(changed.matches("/p hook").count(), 1);
            prop_assert_eq!(set_submit_hook(&changed, &handler), changed.as_str());
            let removed = remove_submit_hook(&changed);
            prop_assert_eq!(LENIENT.parse(&removed).unwrap(), LENIENT.parse(&text).unwrap(), "{}", removed);
            if !ends_with_comment(&text) {
                prop_assert_eq!(removed.matches(" c").count(), text.matches(" c").count(), "{}", removed);
            }
        }
    }
}
