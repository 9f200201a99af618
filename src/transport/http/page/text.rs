//! Text of prompts as HTML.

use crate::prompt::{MessageTemplate, Prompt};
use crate::wording::is_control;
use maud::{Markup, Render, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use std::mem;

/// What may stand in a path as it is.
const IN_PATH: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// A text that somebody else wrote. A browser shows it and does nothing else with it: markup is escaped, and a character that would
/// change the direction of what follows is enclosed and named. The text of the element is the same, character by character.
pub(super) struct Text<'t>(pub(super) &'t str);

impl Render for Text<'_> {
    fn render_to(&self, html: &mut String) {
        for piece in self.0.split_inclusive(acts) {
            let mut characters = piece.chars();
            let last = characters.next_back().filter(|last| acts(*last));
            let plain = if last.is_some() { characters.as_str() } else { piece };
            plain.render_to(html);
            match last {
                // As itself it would become a line ending, or none.
                Some('\r') => html.push_str("&#13;"),
                Some(control) => control_character(control).render_to(html),
                None => {}
            }
        }
    }
}

/// Whether a character does anything but be shown.
fn acts(character: char) -> bool {
    is_control(character) && !matches!(character, '\n' | '\t')
}

fn control_character(character: char) -> Markup {
    let code = format!("U+{:04X}", u32::from(character));
    html! { bdi.control data-code=(code) { (character) } }
}

/// The same for an attribute or a title, in which there can be no elements.
pub(super) fn plain(text: &str) -> String {
    text.replace(acts, "\u{fffd}")
}

/// What somebody has typed, as the content of a `textarea`, which has no elements.
pub(super) fn typed(text: &str) -> Markup {
    html! { "\n" (text) }
}

/// The longest text that is shown, in bytes, and the longest HTML of one. A browser would not be able to show much more.
const MAX_SHOWN: usize = 1024 * 1024;
const MAX_HTML: usize = 4 * MAX_SHOWN;

/// A text as HTML, unless it is too long to be shown.
pub(super) fn unless_too_long(text: &str, html: impl FnOnce() -> Markup) -> Option<Markup> {
    Some(text).filter(|text| text.len() <= MAX_SHOWN).map(|_| html()).filter(|html| html.0.len() <= MAX_HTML)
}

/// Text whose spaces and line endings count, as the content of a `pre`, where HTML drops a line ending at the beginning.
pub(super) fn verbatim(text: &str) -> Markup {
    html! {
        @if text.starts_with('\n') { "\n" }
        (Text(text))
    }
}

/// A text of a prompt, or its whole file, in which the placeholders are marked.
pub(super) fn source(text: &str, Prompt { format, arguments, .. }: &Prompt) -> Markup {
    let names = arguments.iter().map(|argument| argument.name.as_str());
    let template = MessageTemplate::parse(*format, text, 1, names);
    let mut plain = 0;
    html! {
        @if text.starts_with('\n') { "\n" }
        @for placeholder in template.placeholders() {
            @let start = mem::replace(&mut plain, placeholder.range.end);
            (Text(&text[start..placeholder.range.start]))
            span.slot { (Text(template.written(placeholder))) }
        }
        (Text(&text[plain..]))
    }
}

/// A name as it is typed in a chat, with its folders set apart. Each part has its own direction.
pub(super) fn command(name: &str) -> Markup {
    let (folder, last) = name.rsplit_once('/').map_or((None, name), |(folder, last)| (Some(folder), last));
    html! {
        bdi.command dir="ltr" {
            span.colon { ":" }
            @for part in folder.into_iter().flat_map(|folder| folder.split('/')) { span.folder { bdi { (Text(part)) } "/" } }
            bdi { (Text(last)) }
        }
    }
}

/// The address of a prompt.
pub(super) fn path_of(name: &str) -> String {
    path_in("/prompts/", name)
}

/// An address that ends in the name of a prompt.
pub(super) fn path_in(start: &str, name: &str) -> String {
    format!("{start}{}", utf8_percent_encode(name, &IN_PATH))
}

/// A sentence of a message, which begins in lower case and has no period.
pub(super) fn sentence(message: &str) -> String {
    let mut letters = message.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let end = if message.ends_with(['.', '?', '!']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// A message of this program, with what is in backticks as code.
pub(super) fn message(text: &str) -> Markup {
    // A text with backticks is in two of them, and is left as it is.
    let is_simple = !text.contains("``") && text.matches('`').count().is_multiple_of(2);
    html! {
        @if !is_simple { (Text(text)) } @else {
            @for (at, piece) in text.split('`').enumerate() {
                @if at.is_multiple_of(2) { (Text(piece)) } @else { code { bdi { (Text(piece)) } } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prompt::{Format, Name};

    fn html(text: &str) -> String {
        Text(text).render().into_string()
    }

    #[test]
    fn markup_is_text() {
        let escaped = "&lt;script&gt;alert(&quot;a&quot;)&lt;/script&gt; &amp;amp;";
        assert_eq!(html("<script>alert(\"a\")</script> &amp;"), escaped);
    }

    #[test]
    fn a_character_that_changes_the_direction_is_enclosed_and_named() {
        let shown = html("a\u{202e}b\u{2069}\u{1b}c");
        let want = "a<bdi class=\"control\" data-code=\"U+202E\">\u{202e}</bdi>b\
                    <bdi class=\"control\" data-code=\"U+2069\">\u{2069}</bdi>\
                    <bdi class=\"control\" data-code=\"U+001B\">\u{1b}</bdi>c";
        assert_eq!(shown, want);
        assert_eq!(plain("a\u{202e}b"), "a\u{fffd}b");
    }

    #[test]
    fn spaces_and_line_endings_stay() {
        assert_eq!(html("a\r\n\tb "), "a&#13;\n\tb ");
        assert_eq!(verbatim("\na").into_string(), "\n\na");
        assert_eq!(verbatim("a\n").into_string(), "a\n");
        assert_eq!(typed("\n</textarea>").into_string(), "\n\n&lt;/textarea&gt;");
    }

    #[test]
    fn placeholders_of_a_prompt_are_marked_and_others_are_not() {
        let marked = |format: Format, file: &str, text: &str| {
            let prompt = format.parse(Name::new("p").unwrap(), file.as_bytes()).unwrap();
            source(text, &prompt).into_string().replace("<span class=\"slot\">", "[").replace("</span>", "]")
        };
        let declared = "---\narguments: [a]\n---\n";
        let text = "{{a}} {{ a }}{{{a}}} {{b}} \\{{a}} {{ {{input}}";
        assert_eq!(marked(Format::Markdown, declared, text), "[{{a}}] [{{ a }}][{{{a}}}] {{b}} \\{{a}} {{ [{{input}}]");
        assert_eq!(marked(Format::CodexPrompt, "$1 {{input}}", "$1 {{input}}"), "[$1] {{input}}");
        assert_eq!(marked(Format::Markdown, "", "\n"), "\n\n");
    }

    #[test]
    fn names_in_a_message_are_code() {
        let code = "<code><bdi>&lt;b&gt;</bdi></code> and <code><bdi>b</bdi></code>";
        assert_eq!(message("`<b>` and `b`").into_string(), code);
        assert_eq!(message("`` a`b ``").into_string(), "`` a`b ``");
        assert_eq!(sentence("no prompt is called `a`"), "No prompt is called `a`.");
        assert_eq!(sentence("did you mean `b`?"), "Did you mean `b`?");
    }

    #[test]
    fn an_address_is_a_path_whatever_the_name() {
        assert_eq!(path_of("git/co mmit?#%é"), "/prompts/git/co%20mmit%3F%23%25%C3%A9");
        assert_eq!(path_of("javascript:alert(1)"), "/prompts/javascript%3Aalert%281%29");
    }
}
