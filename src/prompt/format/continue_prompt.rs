//! Prompts of Continue: YAML without a first `---`, a line `---`, and the text, in which `{{{ input }}}` is the input. Or Markdown
//! with an ordinary frontmatter, or without one: then a `---` is a rule, and what is before it is text.
//!
//! Continue fills in the rest of the braces with Handlebars. Names such as `{{{ diff }}}` stay as written; a file with a block or a
//! partial, as Dotprompt has them too, needs that engine.

use super::frontmatter;
use super::markdown::{self, Source};
use crate::prompt::template::Place;
use crate::prompt::{Diagnostic, Format, Name, Prompt};
use std::borrow::Cow;
use std::ops::Range;

/// Reads the text of a prompt.
///
/// # Errors
/// Those of the frontmatter; or the text needs Handlebars.
pub(super) fn parse(name: Name, text: &str) -> Result<Prompt, Diagnostic> {
    let format = Format::ContinuePrompt;
    let text = text.replace("\r\n", "\n");
    let mut source = match text.split_once("\n---\n").or_else(|| text.split_once("\n---")) {
        Some((yaml, body))
            if !text.starts_with("---") && is_frontmatter(yaml) && (body.is_empty() || text.contains("\n---\n")) =>
        {
            match frontmatter::read(yaml, format, &mut Vec::new())? {
                Some(frontmatter) => Source::new(frontmatter, body, yaml.lines().count() + 2),
                None => markdown::read(format, &text)?,
            }
        }
        _ => markdown::read(format, &text)?,
    };
    let is_dotprompt = text.lines().take(source.first_line()).any(|line| line.starts_with("input:"));
    if let Some(tag) = handlebars(&source.body, is_dotprompt) {
        return Err(source.needs_engine("Handlebars", tag));
    }
    // Continue sends this part as the system prompt.
    if let Some((before, rest)) = source.body.split_once("<system>")
        && let Some((system, after)) = rest.split_once("</system>")
    {
        let texts = [system.trim(), before.trim(), after.trim()];
        let texts: Vec<&str> = texts.into_iter().filter(|text| !text.is_empty()).collect();
        source.body = Cow::Owned(texts.join("\n\n"));
        source.place = Place::made_at_line(1);
    }
    Ok(source.into_prompt(format, name))
}

/// Keys of Continue and of Dotprompt, of which a frontmatter has one at least.
const KEYS: [&str; 18] = [
    "alwaysApply",
    "config",
    "description",
    "globs",
    "input",
    "invokable",
    "maxTokens",
    "model",
    "name",
    "output",
    "regex",
    "schema",
    "temperature",
    "title",
    "tools",
    "variant",
    "version",
    "arguments",
];

/// Whether the text before the first `---` is a frontmatter. Continue takes any text for one, and sends the model nothing of it.
fn is_frontmatter(text: &str) -> bool {
    let is_of_key = |line: &&str| line.starts_with(|first: char| !first.is_whitespace() && !"#-".contains(first));
    let key = |line: &str| line.split_once(':').map(|(key, _)| key.trim().to_owned());
    let keys: Option<Vec<String>> = text.lines().filter(is_of_key).map(key).collect();
    keys.is_some_and(|keys| keys.iter().any(|key| KEYS.contains(&key.as_str())))
}

/// The first text in braces that is more than a name: `{{#if x}}`, `{{> partial}}`, `{{role "system"}}`. In a file of Dotprompt,
/// whose frontmatter has the names, a name too.
fn handlebars(body: &str, is_dotprompt: bool) -> Option<Range<usize>> {
    body.match_indices("{{").find_map(|(at, open)| {
        let inside = &body[at + open.len()..];
        let (inside, _) =
            inside.split_at(inside.find(['{', '}', '\n']).filter(|end| inside[*end..].starts_with("}}"))?);
        let is_helper = inside.trim_start().starts_with(['#', '>', '/', '^'])
            || ["role ", "media ", "history", "section "].iter().any(|helper| inside.trim_start().starts_with(helper));
        (is_helper || (is_dotprompt && !inside.trim().is_empty())).then(|| at..at + open.len() + inside.len() + 2)
    })
}

#[cfg(test)]
mod tests {
    use crate::prompt::Format;
    use crate::prompt::format::testing::{check, parsed, refused, warned};

    const CONTINUE: Format = Format::ContinuePrompt;

    #[test]
    fn the_frontmatter_has_no_first_rule_and_three_braces_are_the_input() {
        check(CONTINUE, "name: T\n---\nWrite tests.", "for a.ts", "Write tests.\n\nfor a.ts");
        check(CONTINUE, "name: T\r\ndescription: D\r\n---\r\nWrite tests.\r\n", "", "Write tests.");
        check(CONTINUE, "Explain {{{ input }}}", "this", "Explain this");
        check(
            CONTINUE,
            "---\ndescription: D\n---\nExplain {{{input}}} now",
            "{{{ input }}}",
            "Explain {{{ input }}} now",
        );
        check(CONTINUE, "A rule follows\n---\nText.", "", "A rule follows\n---\nText.");
        let file = "description: D\n---\nText.";
        assert_eq!(parsed(CONTINUE, file).description.as_deref(), Some("D"));
    }

    #[test]
    fn the_text_before_a_rule_is_not_lost() {
        for text in [
            "# Review\n\n---\n\nText.",
            "Note: be brief\n---\nText.",
            "Say: x\n  name: y\n---\nText.",
            "One.\n---",
            "a\nname: x\n---\nT",
        ] {
            check(CONTINUE, text, "", text);
        }
        check(CONTINUE, "# For all\nname: T\nmodel:\n  - x\n---\nText.", "", "Text.");
    }

    #[test]
    fn the_system_prompt_is_the_beginning_of_the_text() {
        check(CONTINUE, "<system>\nBe brief.\n</system>\n\nExplain {{{ input }}}", "x", "Be brief.\n\nExplain x");
    }

    #[test]
    fn providers_and_files_stay_and_check_says_so() {
        let file = "Review {{{ diff }}} of @src/main.rs";
        check(CONTINUE, file, "", file);
        let fix = "the agent gets the text, and decides what to do with it";
        warned(
            CONTINUE,
            file,
            &[
                &format!("1:8: `{{{{{{ diff }}}}}}` stays as written: Continue would replace it; {fix}"),
                &format!("1:24: `@src/main.rs` stays as written: Continue would attach it; {fix}"),
            ],
        );
    }

    #[test]
    fn a_file_that_needs_handlebars_is_a_problem_that_says_so() {
        let fix = "write the text for each case into a file of its own, with placeholders such as `{{name}}`";
        let needs = "needs the template engine Handlebars, which is not built in";
        refused(CONTINUE, "---\nmodel: x\n---\nHi\n{{#if a}}x{{/if}}", &format!("5:1: `{{{{#if a}}}}` {needs}; {fix}"));
        refused(CONTINUE, "{{role \"system\"}}\nHi", &format!("1:1: `{{{{role \"system\"}}}}` {needs}; {fix}"));
        let dotprompt = "---\ninput:\n  schema:\n    name: string\n---\nHello, {{name}}!\n";
        refused(CONTINUE, dotprompt, &format!("6:8: `{{{{name}}}}` {needs}; {fix}"));
        check(CONTINUE, "{{#if\né {{#if}é", "", "{{#if\né {{#if}é");
        refused(CONTINUE, "Hi {{>footer}}", &format!("1:4: `{{{{>footer}}}}` {needs}; {fix}"));
    }
}
