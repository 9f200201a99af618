//! The `icons` of a frontmatter. Only what the protocol has is kept: a client may reject the whole list of prompts because of one
//! other value.

use super::{Field, Fields, Node, Reader, Value};
use crate::prompt::Icon;
use crate::prompt::limits::{MAX_ICON, MAX_ICONS};
use crate::wording::quoted;

const ICON_KEYS: [&str; 4] = ["src", "mimeType", "sizes", "theme"];

impl Reader<'_, '_> {
    /// The icons in a list of them, or the one that is given; each is an address, or a map with one. Those that clients do not get
    /// become warnings.
    pub(super) fn icons(&mut self, field: Option<Field>) -> Vec<Icon> {
        let Some(Field { node, .. }) = field else { return Vec::new() };
        let nodes = match node.value {
            Value::Null(_) => return Vec::new(),
            Value::List(nodes) => nodes,
            _ => vec![node],
        };
        if let Some(first) = nodes.get(MAX_ICONS) {
            let message = format!("the prompt has {} icons; clients get the first {MAX_ICONS}", nodes.len());
            self.warn(Some(self.item_position(first)), message, "delete the others");
        }
        nodes.into_iter().take(MAX_ICONS).filter_map(|node| self.icon(node)).collect()
    }

    fn icon(&mut self, node: Node) -> Option<Icon> {
        let mut position = self.item_position(&node);
        let icon = match node.value {
            Value::Text { text, .. } => Icon { src: text.trim().to_owned(), ..Icon::default() },
            Value::Map(fields) => {
                self.lint(&fields, &ICON_KEYS);
                let mut fields = Fields(fields);
                let src = fields.take("src");
                position = src.as_ref().map_or(position, |src| src.position);
                Icon {
                    src: self.text(src).unwrap_or_default(),
                    mime_type: self.fitting(fields.take("mimeType"), MIME_TYPE).pop(),
                    sizes: self.fitting(fields.take("sizes"), SIZE),
                    theme: self.fitting(fields.take("theme"), THEME).pop(),
                }
            }
            Value::Null(_) | Value::List(_) => Icon::default(),
        };
        let length = [&icon.src].into_iter().chain(&icon.mime_type).chain(&icon.sizes).map(String::len).sum::<usize>();
        let (why, fix) = match address_mistake(&icon.src) {
            Some((why, fix)) => (why.to_owned(), fix),
            None if length > MAX_ICON => (
                format!("is {length} bytes long, the limit is {MAX_ICON}"),
                "use a smaller image, or the address of one that begins with `https://`",
            ),
            None => return Some(icon),
        };
        let icon = if icon.src.is_empty() { "an icon".to_owned() } else { format!("the icon {}", quoted(&icon.src)) };
        let message = format!("{icon} {why}; clients do not get it");
        self.warn(Some(position), message, fix);
        None
    }

    /// The texts of a value that are what the protocol has for it.
    fn fitting(&mut self, field: Option<Field>, rule: Rule) -> Vec<String> {
        let Some(position) = field.as_ref().map(|field| field.node.position) else { return Vec::new() };
        let mut texts = self.texts(field);
        texts.retain(|text| {
            let fits = (rule.fits)(text);
            if !fits {
                let message = format!("{} is not {} of an icon; clients do not get it", quoted(text), rule.what);
                self.warn(Some(position), message, rule.fix);
            }
            fits
        });
        texts
    }
}

/// What the protocol has for a key of an icon.
struct Rule {
    what: &'static str,
    fits: fn(&str) -> bool,
    fix: &'static str,
}

const MIME_TYPE: Rule = Rule {
    what: "the MIME type",
    fits: |text| {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
        text.strip_prefix("image/").is_some_and(|kind| !kind.is_empty() && kind.bytes().all(is_part))
    },
    fix: "write one such as `image/png`",
};

const SIZE: Rule = Rule {
    what: "a size",
    fits: |text| {
        let is_number = |text: &str| (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text == "any" || text.split_once('x').is_some_and(|(width, height)| is_number(width) && is_number(height))
    },
    fix: "write it as `48x48`, or `any`",
};

const THEME: Rule =
    Rule { what: "the theme", fits: |text| matches!(text, "light" | "dark"), fix: "write `light` or `dark`" };

/// What is wrong with the address of an icon, in a clause that goes on after it, and the fix.
fn address_mistake(src: &str) -> Option<(&'static str, &'static str)> {
    let begins_with = |start: &str| src.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start));
    if src.is_empty() {
        return Some(("has no address", "write `- src: https://…`"));
    }
    if !begins_with("https://") && !begins_with("data:image/") {
        return Some((
            "begins with neither `https://` nor `data:image/`",
            "write its `https://` address, or the image itself as `data:image/png;base64,…`",
        ));
    }
    let is_complete = if begins_with("data:") { src.contains(',') } else { src.len() > "https://".len() };
    let is_plain = src.bytes().all(|byte| byte.is_ascii_graphic());
    (!is_complete || !is_plain)
        .then_some(("is not a whole address", "write it in one line without spaces, in quotes if it has a comma"))
}
