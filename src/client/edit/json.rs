//! Changes of a text of JSON, with comments or without: of an entry, and of a hook.

use super::{Entry, Node, fault, of_another_kind};
use crate::client::hook::handlers;
use crate::client::syntax::{Fault, Position, Syntax};
use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;
use std::cell::Cell;
use std::ops::Range;

/// See [`super::set`].
pub(super) fn set(syntax: Syntax, text: &str, keys: &[String], entry: &Entry, replaced: bool) -> Result<String, Fault> {
    let Some((name, parents)) = keys.split_last() else { return Ok(text.to_owned()) };
    let document = Document::of(syntax, text)?;
    let object = document.object(parents)?;
    document.only_once(keys)?;
    match object.get(name) {
        Some(property) if !replaced => {
            let known = property.object_value().ok_or_else(|| of_another_kind(syntax, text, keys))?;
            document.set_own(&known, keys, entry)?;
        }
        there => {
            let value = CstInputValue::from(&Node::Object(entry.pairs_of_new()));
            let property = match there {
                None => object.append(name, value),
                Some(property) => {
                    property.set_value(value);
                    property
                }
            };
            let properties = property.object_value().map(|entry| entry.properties()).unwrap_or_default();
            properties.iter().filter_map(|property| property.array_value()).for_each(|list| in_lines(&list));
        }
    }
    Ok(document.root.to_string())
}

/// See [`super::remove`].
pub(super) fn remove(syntax: Syntax, text: &str, keys: &[String]) -> Result<String, Fault> {
    let Some(root) = syntax.json(text)? else { return Ok(text.to_owned()) };
    let mut way: Vec<Step<'_>> = Vec::new();
    let mut value = &root;
    for (depth, key) in keys.iter().enumerate() {
        only_once(syntax, text, &root, &keys[..=depth])?;
        let Some(object) = value.as_object() else { return Ok(text.to_owned()) };
        let Some(at) = position_of(object, key) else { return Ok(text.to_owned()) };
        way.push(Step::Property(object, at));
        value = &object.properties[at].value;
    }
    Ok(without(text, &way))
}

/// The text with a handler of an event's hook; a handler whose command is ours takes the new command, and is the only one.
pub(in crate::client) fn set_hook(
    syntax: Syntax,
    text: &str,
    event: &str,
    command: &str,
    timeout: u32,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<String, Fault> {
    let document = Document::of(syntax, text)?;
    let keys = ["hooks".to_owned(), event.to_owned()];
    let hooks = document.object(&keys[..1])?;
    document.only_once(&keys)?;
    let groups = match hooks.get(event) {
        None => hooks.append(event, CstInputValue::Array(Vec::new())).array_value_or_set(),
        Some(property) => property
            .array_value()
            .ok_or_else(|| fault(syntax, text, &keys, format!("`hooks.{event}` must be a list, and is not")))?,
    };
    match handler(&groups, is_ours) {
        None => {
            let handler = Node::Object(vec![
                ("type", Node::Text("command".to_owned())),
                ("command", Node::Text(command.to_owned())),
                ("timeout", Node::Number(timeout)),
            ]);
            groups.append((&Node::Object(vec![("hooks", Node::List(vec![handler]))])).into());
        }
        Some(handler) => {
            if let Some(property) = handler.get("command")
                && !property.value().is_some_and(|value| Node::Text(command.to_owned()).is(&value))
            {
                property.set_value(command.into());
            }
        }
    }
    without_second_handlers(syntax, document.root.to_string(), event, is_ours)
}

/// The text without all handlers of ours but the first.
fn without_second_handlers(
    syntax: Syntax,
    mut text: String,
    event: &str,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<String, Fault> {
    while handlers_in(syntax, &text, event, is_ours)? > 1 {
        // The first is passed over as often as it is asked about.
        let seen = Cell::new(0);
        let is_second = |line: &str| {
            seen.set(seen.get() + usize::from(is_ours(line)));
            is_ours(line) && seen.get() > 1
        };
        text = without_handler(syntax, &text, event, &is_second)?.unwrap_or(text);
    }
    Ok(text)
}

/// The text without the handlers of an event's hook whose command is ours, and without what is empty then.
pub(in crate::client) fn remove_hook(
    syntax: Syntax,
    text: &str,
    event: &str,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<String, Fault> {
    let mut text = text.to_owned();
    while let Some(removed) = without_handler(syntax, &text, event, is_ours)? {
        text = removed;
    }
    Ok(text)
}

/// The text without the first handler that is ours; `None`: there is none.
fn without_handler(
    syntax: Syntax,
    text: &str,
    event: &str,
    is_ours: &dyn Fn(&str) -> bool,
) -> Result<Option<String>, Fault> {
    let root = syntax.json(text)?;
    let property = |object: &'_ ast::Object<'_>, key: &str| position_of(object, key);
    let Some(object) = root.as_ref().and_then(ast::Value::as_object) else { return Ok(None) };
    let Some(at_hooks) = property(object, "hooks") else { return Ok(None) };
    let Some(hooks) = object.properties[at_hooks].value.as_object() else { return Ok(None) };
    let Some(at_event) = property(hooks, event) else { return Ok(None) };
    let Some(groups) = hooks.properties[at_event].value.as_array() else { return Ok(None) };
    for (at_group, group) in groups.elements.iter().enumerate() {
        let Some(group) = group.as_object() else { continue };
        let Some(at_handlers) = property(group, "hooks") else { continue };
        let Some(handlers) = group.properties[at_handlers].value.as_array() else { continue };
        for (at_handler, handler) in handlers.elements.iter().enumerate() {
            let command = handler.as_object().and_then(|handler| handler.get_string("command"));
            if command.is_some_and(|command| is_ours(&command.value)) {
                let way = [
                    Step::Property(object, at_hooks),
                    Step::Property(hooks, at_event),
                    Step::Element(groups, at_group),
                    Step::Property(group, at_handlers),
                    Step::Element(handlers, at_handler),
                ];
                // A group that would have no handler goes as a whole, with what it says of when to run them.
                let steps = if handlers.elements.len() == 1 { 3 } else { 5 };
                return Ok(Some(without(text, &way[..steps])));
            }
        }
    }
    Ok(None)
}

/// The first handler whose command is ours.
fn handler(groups: &CstArray, is_ours: &dyn Fn(&str) -> bool) -> Option<CstObject> {
    let groups = groups.elements().into_iter().filter_map(|group| group.as_object());
    let handlers = groups.filter_map(|group| group.array_value("hooks")).flat_map(|handlers| handlers.elements());
    let command = |handler: &CstObject| handler.get("command")?.value()?.as_string_lit()?.decoded_value().ok();
    let mut handlers = handlers.filter_map(|handler| handler.as_object());
    handlers.find(|handler| command(handler).is_some_and(|line| is_ours(&line)))
}

/// How many handlers are ours.
fn handlers_in(syntax: Syntax, text: &str, event: &str, is_ours: &dyn Fn(&str) -> bool) -> Result<usize, Fault> {
    let value = syntax.parse(text)?;
    let is_ours = |handler: &Value| handler["command"].as_str().is_some_and(is_ours);
    Ok(handlers(&value, event).filter(|(_, _, handler)| is_ours(handler)).count())
}

/// A text that is to be changed.
struct Document<'t> {
    syntax: Syntax,
    text: &'t str,
    /// What it says, with all that it says twice; `None`: there is nothing in it.
    tree: Option<ast::Value<'t>>,
    /// The same, to be changed.
    root: CstRootNode,
}

impl<'t> Document<'t> {
    fn of(syntax: Syntax, text: &'t str) -> Result<Document<'t>, Fault> {
        let tree = syntax.json(text)?; // says what is wrong better than the other
        let root = CstRootNode::parse(text, &syntax.json_options())
            .map_err(|error| Fault { position: Position { line: 1, column: 1 }, message: error.to_string() })?;
        Ok(Document { syntax, text, tree, root })
    }

    /// The object at the end of these keys, made where there is none.
    fn object(&self, keys: &[String]) -> Result<CstObject, Fault> {
        let mut object = self.root.object_value_or_set();
        for (depth, key) in keys.iter().enumerate() {
            let so_far = &keys[..=depth];
            self.only_once(so_far)?;
            object = match object.get(key) {
                None => object.append(key, CstInputValue::Object(Vec::new())).object_value_or_set(),
                Some(property) => {
                    property.object_value().ok_or_else(|| of_another_kind(self.syntax, self.text, so_far))?
                }
            };
        }
        Ok(object)
    }

    /// Gives an entry that is there, at the end of these keys, what must be so.
    fn set_own(&self, known: &CstObject, keys: &[String], entry: &Entry) -> Result<(), Fault> {
        for (key, node) in &entry.own {
            self.only_once(&[keys, &[(*key).to_owned()]].concat())?;
            match (node, known.get(key)) {
                (None, None) => {}
                (None, Some(property)) => property.remove(),
                (Some(node), None) => _ = known.append(key, node.into()),
                (Some(node), Some(property)) if property.value().is_some_and(|value| node.is(&value)) => {}
                (Some(node), Some(property)) => property.set_value(node.into()),
            }
        }
        for (key, node) in &entry.own {
            if matches!(node, Some(Node::List(_)))
                && let Some(list) = known.array_value(key)
            {
                in_lines(&list);
            }
        }
        Ok(())
    }

    /// Refuses a text whose object before the last of these keys has it twice.
    fn only_once(&self, keys: &[String]) -> Result<(), Fault> {
        self.tree.as_ref().map_or(Ok(()), |root| only_once(self.syntax, self.text, root, keys))
    }
}

/// Refuses a text whose object before the last of these keys has it twice.
fn only_once(syntax: Syntax, text: &str, root: &ast::Value<'_>, keys: &[String]) -> Result<(), Fault> {
    let Some((key, parents)) = keys.split_last() else { return Ok(()) };
    let mut value = root;
    for parent in parents {
        let property = value.as_object().and_then(|object| Some((object, position_of(object, parent)?)));
        let Some((object, at)) = property else { return Ok(()) };
        value = &object.properties[at].value;
    }
    let properties = value.as_object().map(|object| object.properties.as_slice()).unwrap_or_default();
    match properties.iter().filter(|property| property.name.as_str() == key).count() {
        0 | 1 => Ok(()),
        _ => {
            let message = format!("`{}` is there twice; join the two, or remove one", keys.join("."));
            Err(fault(syntax, text, keys, message))
        }
    }
}

/// A list as the clients write it: each value in a line of its own.
fn in_lines(list: &CstArray) {
    if !list.elements().is_empty() {
        list.ensure_multiline();
    }
}

/// A step on the way to a value of JSON.
#[derive(Clone, Copy)]
enum Step<'t> {
    /// Into this property of an object.
    Property(&'t ast::Object<'t>, usize),
    /// Into this element of a list.
    Element(&'t ast::Array<'t>, usize),
}

impl Step<'_> {
    /// Where the object or list lies.
    fn whole(self) -> Range<usize> {
        match self {
            Step::Property(object, _) => object.start()..object.end(),
            Step::Element(list, _) => list.start()..list.end(),
        }
    }

    /// Where its entries lie.
    fn entries(self) -> Vec<Range<usize>> {
        match self {
            Step::Property(object, _) => object.properties.iter().map(|entry| entry.start()..entry.end()).collect(),
            Step::Element(list, _) => list.elements.iter().map(|entry| entry.start()..entry.end()).collect(),
        }
    }

    fn at(self) -> usize {
        match self {
            Step::Property(_, at) | Step::Element(_, at) => at,
        }
    }
}

/// The text without what the way leads to. An object or list that has nothing else, not even a comment, goes with it, but for
/// the outermost.
fn without(text: &str, way: &[Step<'_>]) -> String {
    let is_alone = |step: &Step<'_>| {
        let (whole, entries) = (step.whole(), step.entries());
        let rest = [&text[whole.start + 1..entries[0].start], &text[entries[0].end..whole.end - 1]].concat();
        entries.len() == 1 && rest.chars().all(|letter| letter.is_whitespace() || letter == ',')
    };
    let depth = way.iter().skip(1).rev().take_while(|step| is_alone(step)).count();
    let step = way[way.len() - 1 - depth];
    let (whole, entries, at) = (step.whole(), step.entries(), step.at());
    if is_alone(&step) {
        return format!("{}{}", &text[..=whole.start], &text[whole.end - 1..]);
    }
    let comma = |range: Range<usize>| Some(range.start + comma_in(&text[range])?);
    let mut cut = entries[at].clone();
    let next = entries.get(at + 1).map_or(whole.end - 1, |next| next.start);
    let mut before = text[..cut.start].to_owned();
    match comma(cut.end..next) {
        // What is between is blank, or a comment that stays.
        Some(comma) if text[cut.end..comma].trim().is_empty() => cut.end = comma + 1,
        Some(comma) => {
            let rest = format!("{}{}", &text[cut.end..comma], &text[comma + 1..]);
            return format!("{before}{}", rest.trim_start_matches([' ', '\t']));
        }
        None if at > 0 => {
            if let Some(comma) = comma(entries[at - 1].end..cut.start) {
                before.remove(comma);
            }
        }
        None => {}
    }
    let after = &text[cut.end..];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line_end = after.find('\n').map_or(after.len(), |newline| newline + 1);
    match (before[line_start..].trim().is_empty(), after[..line_end].trim().is_empty()) {
        (true, true) if line_start > 0 => format!("{}{}", &before[..line_start], &after[line_end..]),
        (_, true) => format!("{}{after}", before.trim_end_matches([' ', '\t'])),
        _ if next == whole.end - 1 => {
            format!("{}{}", before.trim_end_matches([' ', '\t']), after)
        }
        _ => format!("{before}{}", after.trim_start_matches([' ', '\t'])),
    }
}

/// Where a comma is among blanks and comments.
fn comma_in(text: &str) -> Option<usize> {
    let mut at = 0;
    while let Some(letter) = text[at..].chars().next() {
        let rest = &text[at..];
        at += match letter {
            ',' => return Some(at),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '/' => rest[2..].find("*/").map_or(rest.len(), |end| end + 4),
            other => other.len_utf8(),
        };
    }
    None
}

/// Which property of an object has this key.
fn position_of(object: &ast::Object<'_>, key: &str) -> Option<usize> {
    object.properties.iter().position(|property| property.name.as_str() == key)
}

impl Node {
    /// Whether a value is this one. (Never for an object, which we never compare.)
    fn is(&self, value: &CstNode) -> bool {
        match self {
            Node::Text(text) => {
                value.as_string_lit().and_then(|value| value.decoded_value().ok()).as_deref() == Some(text)
            }
            Node::Flag(flag) => value.as_boolean_lit().is_some_and(|value| value.value() == *flag),
            Node::Number(number) => value.as_number_lit().is_some_and(|value| value.to_string() == number.to_string()),
            Node::List(nodes) => value.as_array().is_some_and(|value| {
                let elements = value.elements();
                elements.len() == nodes.len() && nodes.iter().zip(&elements).all(|(node, element)| node.is(element))
            }),
            Node::Object(_) => false,
        }
    }
}

impl From<&Node> for CstInputValue {
    fn from(node: &Node) -> Self {
        match node {
            Node::Text(text) => text.as_str().into(),
            Node::Flag(flag) => (*flag).into(),
            Node::Number(number) => CstInputValue::Number(number.to_string()),
            Node::List(nodes) => CstInputValue::Array(nodes.iter().map(Into::into).collect()),
            Node::Object(pairs) => {
                CstInputValue::Object(pairs.iter().map(|(key, node)| ((*key).to_owned(), node.into())).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{JSON, entry, keys, there_and_back};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn an_entry_goes_into_json_and_out_again_and_all_else_stays() {
        let new = "\"prompts\": {\n      \"command\": \"/p\",\n      \"args\": [\n        \"a b\"\n      ],\n      \"env\": {}\n    }";
        there_and_back(JSON, "", &format!("{{\n  \"s\": {{\n    {new}\n  }}\n}}\n"), "{}\n");
        // With a comma behind the last entry, as those around it.
        let in_style = new.replace("\"env\": {}", "\"env\": {},");
        there_and_back(
            JSON,
            "// c\n{\n  \"a\": 1, // d\n  \"s\": {\n    // e\n    \"x\": {\"command\": \"y\"}, // f\n  },\n  \"b\": [1,2],\n}\n",
            &format!(
                "// c\n{{\n  \"a\": 1, // d\n  \"s\": {{\n    // e\n    \"x\": {{\"command\": \"y\"}}, // f\n    {in_style},\n  }},\n  \
                 \"b\": [1,2],\n}}\n"
            ),
            "// c\n{\n  \"a\": 1, // d\n  \"s\": {\n    // e\n    \"x\": {\"command\": \"y\"}, // f\n  },\n  \"b\": [1,2],\n}\n",
        );
        there_and_back(
            JSON,
            "{\r\n  \"a\": 1\r\n}\r\n",
            &format!("{{\n  \"a\": 1,\n  \"s\": {{\n    {new}\n  }}\n}}\n").replace('\n', "\r\n"),
            "{\r\n  \"a\": 1\r\n}\r\n",
        );
        there_and_back(
            JSON,
            "{\n\t\"a\": 1\n}\n",
            &format!("{{\n  \"a\": 1,\n  \"s\": {{\n    {new}\n  }}\n}}\n").replace("  ", "\t"),
            "{\n\t\"a\": 1\n}\n",
        );
    }

    #[test]
    fn what_is_there_twice_or_of_another_kind_is_left_alone() {
        for (text, place, message) in [
            ("{\"s\": {},\n \"s\": {}}", "2:2", "`s` is there twice; join the two, or remove one"),
            (
                "{\"s\": {\"prompts\": {},\n \"prompts\": {}}}",
                "2:2",
                "`s.prompts` is there twice; join the two, or remove one",
            ),
            ("{\"s\": []}", "1:2", "`s` must be an object, and is not"),
            ("{\"s\": {\"prompts\": \"x\"}}", "1:8", "`s.prompts` must be an object, and is not"),
        ] {
            let fault = set(JSON, text, &keys("s.prompts"), &entry(&[]), false).unwrap_err();
            assert_eq!((fault.position.to_string().as_str(), fault.message.as_str()), (place, message));
        }
    }

    #[test]
    fn a_hook_is_put_beside_others_once_and_taken_out_again() {
        let is_ours = |line: &str| line.starts_with("/p hook");
        let set = |text: &str, command: &str| set_hook(JSON, text, "Submit", command, 5, &is_ours).unwrap();
        let remove = |text: &str| remove_hook(JSON, text, "Submit", &is_ours).unwrap();
        let before = "{\n  \"hooks\": {\n    \"Submit\": [\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"log\" }] }\n    ]\n  }\n}\n";
        let with = set(before, "/p hook x");
        assert!(with.starts_with(&before[..before.len() - 15]), "{with}");
        assert!(with.contains("\"command\": \"/p hook x\",\n            \"timeout\": 5\n"), "{with}");
        assert_eq!(set(&with, "/p hook x"), with);
        assert_eq!(set(&with, "/p hook y"), with.replace("hook x", "hook y"));
        assert_eq!(remove(&with), before);
        assert_eq!(remove(before), before);
        assert_eq!(remove(&set("{\n  \"a\": 1\n}", "/p hook x")), "{\n  \"a\": 1\n}");
        let twice =
            "{\"hooks\": {\"Submit\": [{\"hooks\": [{\"command\": \"/p hook a\"}, {\"command\": \"/p hook b\"}]}]}}";
        let once = "{\"hooks\": {\"Submit\": [{\"hooks\": [{\"command\": \"/p hook x\"}]}]}}";
        assert_eq!(set(twice, "/p hook x"), once);
        let with_matcher = "{\"hooks\": {\"Submit\": [\n  {\"matcher\": \"\", \"hooks\": [{\"command\": \"/p hook a\"}]},\n  {\"hooks\": []} // c\n]}}";
        assert_eq!(remove(with_matcher), "{\"hooks\": {\"Submit\": [\n  {\"hooks\": []} // c\n]}}");
        let fault = set_hook(JSON, "{\"hooks\": {\n\"Submit\": {}}}", "Submit", "x", 5, &is_ours).unwrap_err();
        assert_eq!(
            (fault.position.to_string().as_str(), fault.message.as_str()),
            ("2:1", "`hooks.Submit` must be a list, and is not")
        );
    }

    /// A value of JSON with comments, in any layout.
    fn value() -> impl Strategy<Value = String> {
        let leaf =
            prop::sample::select(vec!["1", "-2.5e3", "true", "null", "\"x // y\"", "\"\\u00e9\\\"\"", "[]", "{}"]);
        let leaf = leaf.prop_map(str::to_owned);
        leaf.prop_recursive(3, 24, 4, |inner| {
            prop_oneof![
                object(prop::collection::vec(
                    (prop::sample::select(vec!["a", "b c", "é", "s", "prompts"]), inner.clone()),
                    0..4
                )),
                (prop::collection::vec((blank(), inner), 0..4), blank(), any::<bool>()).prop_map(
                    |(items, end, comma)| {
                        let list =
                            items.iter().map(|(blank, item)| format!("{blank}{item}")).collect::<Vec<_>>().join(",");
                        format!("[{list}{}{end}]", if comma && !items.is_empty() { "," } else { "" })
                    }
                ),
            ]
        })
    }

    fn blank() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec!["", " ", "\n", "\n\n    ", "\t", " /* c */ ", " // c\n", "\n  // c\n  "])
    }

    /// An object with these entries, each key once.
    fn object(entries: impl Strategy<Value = Vec<(&'static str, String)>>) -> impl Strategy<Value = String> {
        (entries, prop::collection::vec(blank(), 16), any::<bool>()).prop_map(|(mut entries, blanks, comma)| {
            let mut seen = Vec::new();
            entries.retain(|(key, _)| {
                !seen.contains(key) && {
                    seen.push(*key);
                    true
                }
            });
            let entry = |(at, (key, value)): (usize, &(&str, String))| {
                format!("{}\"{key}\"{}:{}{value}", blanks[3 * at], blanks[3 * at + 1], blanks[3 * at + 2])
            };
            let text = entries.iter().enumerate().map(entry).collect::<Vec<_>>().join(",");
            format!("{{{text}{}{}}}", if comma && !entries.is_empty() { "," } else { "" }, blanks[15])
        })
    }

    proptest! {
        #[test]
        fn of_any_json_only_the_entry_changes(
            text in object(prop::collection::vec((prop::sample::select(vec!["a", "s", "t"]), value()), 0..4)),
            before in blank(),
            after in blank(),
        ) {
            let text = format!("{before}{text}{after}");
            let old = JSON.parse(&text).unwrap();
            let keys = keys("s.prompts");
            let changed = set(JSON, &text, &keys, &entry(&["x"]), true);
            if old.get("s").is_some_and(|servers| !servers.is_object()) {
                prop_assert!(changed.is_err());
                return Ok(());
            }
            let changed = changed.unwrap();
            let mut new = JSON.parse(&changed).unwrap();
            prop_assert_eq!(new["s"]["prompts"]["args"].clone(), serde_json::json!(["x"]), "{}", changed);
            prop_assert_eq!(set(JSON, &changed, &keys, &entry(&["x"]), false).unwrap(), changed.as_str());
            let removed = remove(JSON, &changed, &keys).unwrap();
            let comments = |text: &str| text.matches("// c").count() + text.matches("/* c */").count();
            if old.get("s").is_none_or(|servers| servers.get("prompts").is_none()) {
                prop_assert_eq!(comments(&changed), comments(&text), "{}", changed);
                if old.get("s").is_none() || JSON.parse(&removed).unwrap().get("s").is_some() {
                    prop_assert_eq!(comments(&removed), comments(&text), "{}", removed);
                }
            }
            let mut left = JSON.parse(&removed).unwrap();
            // What was there otherwise, and nothing else; an empty object may stay or go.
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
        fn of_any_json_only_the_hook_changes(
            text in object(prop::collection::vec((prop::sample::select(vec!["a", "s", "t"]), value()), 0..4)),
            before in blank(),
            after in blank(),
        ) {
            let text = format!("{before}{text}{after}");
            let is_ours = |line: &str| line == "/p hook";
            let changed = set_hook(JSON, &text, "Submit", "/p hook", 5, &is_ours).unwrap();
            prop_assert_eq!(handlers_in(JSON, &changed, "Submit", &is_ours), Ok(1));
            prop_assert_eq!(set_hook(JSON, &changed, "Submit", "/p hook", 5, &is_ours).unwrap(), changed.as_str());
            let removed = remove_hook(JSON, &changed, "Submit", &is_ours).unwrap();
            prop_assert_eq!(JSON.parse(&removed).unwrap(), JSON.parse(&text).unwrap(), "{}", removed);
            prop_assert_eq!(removed.matches(" c").count(), text.matches(" c").count(), "{}", removed);
        }
    }
}
