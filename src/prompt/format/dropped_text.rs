//! Finds values that YAML cuts: it reads ` #` as the start of a comment, `!word` as a tag, and
//! `&word` as an anchor.

use super::frontmatter::parse_bool;
use super::lenient::ValueLine;
use super::yaml::{self, Value};
use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::limits::MAX_YAML_SIZE;
use crate::wording::quoted;

/// Returns a warning for each value that YAML cuts, e.g. `title: Fix #12`, which it reads as `Fix`.
///
/// `yaml` is the frontmatter, and begins on `first_line` of the file. Only the values of keys and
/// the items of lists are checked, if they have no quotes and are on one line.
pub(super) fn dropped_text_warnings(yaml: &str, first_line: usize) -> Vec<Diagnostic> {
    let mut warnings = Vec::new();
    // Within a value that may have several lines: the indentation that its further lines exceed.
    let mut value_indent: Option<usize> = None;
    for (number, line) in (first_line..).zip(yaml.lines()) {
        if line.trim().is_empty() {
            continue;
        }
        let line_indent = line.len() - line.trim_start().len();
        if value_indent.is_some_and(|indent| line_indent > indent) {
            continue;
        }
        value_indent = None;
        let Some(value_line) = ValueLine::parse(line) else {
            continue;
        };
        if may_have_further_lines(value_line.value) {
            value_indent = Some(value_line.indent());
        } else if let Some(dropped) = dropped_part(value_line.value) {
            let warning = dropped_text_warning(&value_line, dropped);
            warnings.push(warning.with_position(value_line.position(number)));
        }
    }
    warnings
}

/// Returns whether a value is in quotes or brackets, or a block scalar (`|` or `>`), so that the
/// lines below it may belong to it.
fn may_have_further_lines(value: &str) -> bool {
    value.starts_with(['"', '\'', '[', '{', '|', '>'])
}

/// Returns the first part of a value without quotes that YAML drops: `#12` for `Fix #12`, and
/// `!important` for `!important look`.
///
/// Returns `None` if YAML drops nothing, or only a comment that can't be meant as text: one that is
/// the whole value, as in `title: # below`, or follows a boolean, as in `required: true # always`.
fn dropped_part(value: &str) -> Option<&str> {
    let is_only_comment = value.starts_with("# ");
    if is_only_comment || !may_be_cut(value) {
        return None;
    }
    let text = text_in_yaml(value)?;
    if text == value {
        return None;
    }
    let has_tag_or_anchor = value.starts_with(['!', '&']);
    if has_tag_or_anchor {
        return value.split_whitespace().next();
    }
    let comment = value.strip_prefix(&text)?;
    Some(comment.trim_start())
}

/// Returns whether a value has a character with which YAML begins a tag, an anchor or a comment.
/// Saves the parsing of all other values.
fn may_be_cut(value: &str) -> bool {
    value.starts_with(['#', '!', '&']) || value.contains(" #") || value.contains("\t#")
}

/// Returns the text that YAML reads as a value without quotes, e.g. `Fix` for `Fix #12`. Returns
/// `None` if it reads a boolean, a list or a map, or is not valid.
fn text_in_yaml(value: &str) -> Option<String> {
    // The item of a list, because a comment alone would be an empty document.
    let item = format!("- {value}");
    let first_line = 1; // arbitrary, because no position is used
    let mut budget = MAX_YAML_SIZE;
    let Value::List(nodes) = yaml::parse(&item, first_line, &mut budget).ok()?.value else {
        return None;
    };
    match nodes.into_iter().next()?.value {
        Value::Null(text) => Some(text),
        Value::Scalar { text, .. } if text.is_empty() || parse_bool(&text).is_none() => Some(text),
        Value::Scalar { .. } | Value::List(_) | Value::Map(_) => None,
    }
}

/// Returns the warning that YAML drops a part of a value.
fn dropped_text_warning(value_line: &ValueLine<'_>, dropped: &str) -> Diagnostic {
    let reading = match dropped.chars().next() {
        Some('!') => "a tag",
        Some('&') => "an anchor",
        _ => "a comment",
    };
    let owner = match value_line.key {
        Some(key) => quoted(key),
        None => "the item".to_owned(),
    };
    let message = format!(
        "{} is not part of {owner}, because YAML reads it as {reading}",
        quoted(dropped)
    );
    let fix = format!("{} if it is text", value_line.quote_fix());
    Diagnostic::warning(None, message, fix)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the warnings about a frontmatter that begins on line 2.
    #[track_caller]
    fn check(yaml: &str, want: &[&str]) {
        let warnings = dropped_text_warnings(yaml, 2);
        let texts: Vec<String> = warnings.iter().map(ToString::to_string).collect();
        assert_eq!(texts, want, "{yaml:?}");
    }

    #[test]
    fn text_that_yaml_drops_is_reported_with_the_quoted_value() {
        check(
            "description: Post in the #deploys channel",
            &[
                "line 2, column 14: `#deploys channel` is not part of `description`, because YAML reads it as a comment; \
               write `description: \"Post in the #deploys channel\"` if it is text",
            ],
        );
        check(
            "a: b\ntitle: !important look #1",
            &[
                "line 3, column 8: `!important` is not part of `title`, because YAML reads it as a tag; \
               write `title: \"!important look #1\"` if it is text",
            ],
        );
        for (yaml, dropped, fix) in [
            (
                "title: Say \"hi\" to #12",
                "#12",
                "write `title: 'Say \"hi\" to #12'`",
            ),
            (
                "tags: [a]\narguments:\n  - name: \"x\"\n    default: #general",
                "#general",
                "write `default: \"#general\"`",
            ),
            (
                "description: !important",
                "!important",
                "write `description: \"!important\"`",
            ),
            ("title: &co works", "&co", "write `title: \"&co works\"`"),
            ("choices:\n- C\n- F #", "#", "write `- \"F #\"`"),
            ("choices:\n  - #a", "#a", "write `- \"#a\"`"),
            ("a: |\n  x #1\nb: y #2", "#2", "write `b: \"y #2\"`"),
        ] {
            let warnings = dropped_text_warnings(yaml, 2);
            assert_eq!(warnings.len(), 1, "{yaml:?}: {warnings:?}");
            let text = warnings[0].text();
            assert!(
                text.starts_with(&format!("`{dropped}` is not part of")),
                "{text}"
            );
            assert!(text.ends_with(&format!("; {fix} if it is text")), "{text}");
        }
    }

    #[test]
    fn text_that_yaml_keeps_and_comments_that_cannot_be_text_are_not_reported() {
        for yaml in [
            "title: C# and a#b & c!",
            "# Post in the #deploys channel\n  # x",
            "title: 'Fix #12'\ntags: [a, b] # two\nb: \"x\" # y",
            "description: |\n  Fix #12\n\n  - see #13\n  key: x #14",
            "- >-\n  Fix #12",
            "description: \"Fix\n  the #12\"",
            "required: true # always",
            "arguments: # two\n- name: a",
            "title: # below\n  Text",
            "title: Review: the #12",
        ] {
            check(yaml, &[]);
        }
    }
}
