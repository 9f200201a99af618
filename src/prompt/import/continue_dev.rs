//! Imports prompts of Continue: frontmatter that has no opening `---`, a line `---`, and the text,
//! in which `{{{ input }}}` is the input.
//!
//! Files with ordinary frontmatter, or without any, are supported, too. Other names in braces, e.g.
//! `{{{ diff }}}`, are left as they are. Files that use blocks or partials of Handlebars are
//! rejected.

use crate::prompt::diagnostic::Diagnostic;
use crate::prompt::foreign_syntax::CONTINUE;
use crate::prompt::format::frontmatter::{self, Dialect};
use crate::prompt::format::markdown::{self, MarkdownSource};
use crate::prompt::model::Prompt;
use crate::prompt::name::Name;
use crate::prompt::template::{BodyPosition, PlaceholderSyntax, THREE_BRACES, TWO_BRACES};
use crate::wording::quoted;

const SYNTAX: PlaceholderSyntax = PlaceholderSyntax {
    forms: &[TWO_BRACES, THREE_BRACES],
    fallback: None,
    ..PlaceholderSyntax::OWN
};

/// The keys by which frontmatter without an opening `---` is recognized.
const KEYS: [&str; 5] = ["description", "invokable", "model", "name", "version"];

/// Prefixes of tags that require Handlebars.
const HANDLEBARS_TAGS: [&str; 8] = [
    "{{#",
    "{{>",
    "{{/",
    "{{^",
    "{{role ",
    "{{media ",
    "{{history",
    "{{section ",
];

/// Parses a prompt of Continue.
///
/// # Errors
/// Fails if the frontmatter exceeds a [limit](crate::prompt::limits) or has `engine: jinja`, or if
/// the text requires Handlebars.
pub(in crate::prompt) fn parse(name: &Name, text: &str) -> Result<Prompt, Diagnostic> {
    let text = text.replace("\r\n", "\n");
    let mut source = match parse_unopened(&text)? {
        Some(source) => source,
        None => markdown::read(Dialect::Other, &text)?,
    };
    reject_handlebars(&source)?;
    // A Markdown file could not keep a byte order mark before the text.
    source.body = source.body.trim_start_matches('\u{feff}').into();
    move_system_to_front(&mut source);
    let mut prompt = source.into_prompt(name, &SYNTAX);
    prompt.foreign_syntax = &CONTINUE;
    Ok(prompt)
}

/// Parses a file whose frontmatter has no opening `---`, e.g. `name: x`, a line `---`, and the
/// text. Returns `None` if the file has no such frontmatter.
///
/// # Errors
/// Fails if the frontmatter exceeds a [limit](crate::prompt::limits).
fn parse_unopened(text: &str) -> Result<Option<MarkdownSource>, Diagnostic> {
    let Some((yaml, body)) = text.split_once("\n---\n") else {
        return Ok(None);
    };
    let is_opened = text.starts_with("---");
    if is_opened || !looks_like_frontmatter(yaml) {
        return Ok(None);
    }
    let body_line = yaml.lines().count() + 2; // after the line `---`
    let mut warnings = Vec::new(); // not shown, because Continue reads just as leniently
    let frontmatter = frontmatter::read(yaml, Dialect::Other, &mut warnings)?;
    Ok(frontmatter.map(|frontmatter| MarkdownSource::new(frontmatter, body, body_line)))
}

/// Returns whether the text before the first `---` is frontmatter: every line that isn't indented
/// has a key, and at least one key is known.
///
/// This is stricter than Continue, which treats any text there as frontmatter, and drops it.
fn looks_like_frontmatter(text: &str) -> bool {
    let mut has_known_key = false;
    for line in text.lines() {
        let begins_key =
            line.starts_with(|first: char| !first.is_whitespace() && !"#-".contains(first));
        if begins_key {
            let Some((key, _)) = line.split_once(':') else {
                return false;
            };
            has_known_key = has_known_key || KEYS.contains(&key.trim());
        }
    }
    has_known_key
}

/// Fails if the body contains a tag that requires Handlebars, e.g. `{{#if x}}`.
fn reject_handlebars(source: &MarkdownSource) -> Result<(), Diagnostic> {
    let first = HANDLEBARS_TAGS
        .iter()
        .filter_map(|tag| source.body.find(tag))
        .min();
    let Some(start) = first else {
        return Ok(());
    };
    let from_tag = &source.body[start..];
    let tag = match from_tag.find("}}") {
        Some(close) => &from_tag[..close + "}}".len()],
        None => from_tag,
    };
    Err(Diagnostic::error(
        Some(
            source
                .body_position
                .position_cursor(&source.body)
                .advance_to(start),
        ),
        format!(
            "{} needs the template engine Handlebars, which is not built in",
            quoted(tag)
        ),
        "write the text for each case into a file of its own, with placeholders such as `{{name}}`",
    ))
}

/// Moves the contents of `<system>…</system>`, which Continue sends as the system prompt, to the
/// beginning of the body.
fn move_system_to_front(source: &mut MarkdownSource) {
    let Some((before, after_opening)) = source.body.split_once("<system>") else {
        return;
    };
    let Some((system, after)) = after_opening.split_once("</system>") else {
        return;
    };
    let mut texts = vec![system.trim(), before.trim(), after.trim()];
    texts.retain(|text| !text.is_empty());
    source.body = texts.join("\n\n");
    source.body_position = BodyPosition::derived_at_line(1);
}

#[cfg(test)]
mod tests {
    use crate::prompt::Parse;
    use crate::prompt::format::testing::{check, parsed, refused};

    const CONTINUE: Parse = super::parse;

    #[test]
    fn the_frontmatter_has_no_first_rule_and_three_braces_are_the_input() {
        check(
            CONTINUE,
            "name: T\n---\nWrite tests.",
            "for a.ts",
            "Write tests.\n\nfor a.ts",
        );
        check(
            CONTINUE,
            "name: T\r\ndescription: D\r\n---\r\nWrite tests.\r\n",
            "",
            "Write tests.",
        );
        check(CONTINUE, "Explain {{{ input }}}", "this", "Explain this");
        check(CONTINUE, "name: T\n---\n\u{feff}Explain.", "", "Explain.");
        check(
            CONTINUE,
            "---\ndescription: D\n---\nExplain {{{input}}} now",
            "{{{ input }}}",
            "Explain {{{ input }}} now",
        );
        check(
            CONTINUE,
            "A rule follows\n---\nText.",
            "",
            "A rule follows\n---\nText.",
        );
        let file = "description: D\n---\nText.";
        assert_eq!(parsed(CONTINUE, file).description.as_deref(), Some("D"));
    }

    #[test]
    fn the_text_before_a_rule_is_not_lost() {
        for text in [
            "# Review\n\n---\n\nText.",
            "Note: be brief\n---\nText.",
            "Say: x\n  name: y\n---\nText.",
            "a\nname: x\n---\nT",
        ] {
            check(CONTINUE, text, "", text);
        }
        check(
            CONTINUE,
            "# For all\nname: T\nmodel:\n  - x\n---\nText.",
            "",
            "Text.",
        );
    }

    #[test]
    fn the_system_prompt_is_the_beginning_of_the_text() {
        check(
            CONTINUE,
            "<system>\nBe brief.\n</system>\n\nExplain {{{ input }}}",
            "x",
            "Be brief.\n\nExplain x",
        );
    }

    #[test]
    fn a_file_that_needs_handlebars_is_a_problem_that_says_so() {
        let fix = "write the text for each case into a file of its own, with placeholders such as `{{name}}`";
        for (file, tag) in [
            (
                "---\nmodel: x\n---\nHi\n{{#if a}}x{{/if}}",
                "5:1: `{{#if a}}`",
            ),
            ("{{role \"system\"}}\nHi", "1:1: `{{role \"system\"}}`"),
            ("Hi {{>footer}}", "1:4: `{{>footer}}`"),
        ] {
            refused(
                CONTINUE,
                file,
                &format!(
                    "{tag} needs the template engine Handlebars, which is not built in; {fix}"
                ),
            );
        }
    }
}
