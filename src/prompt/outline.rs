//! Parses the Markdown of a body to find its first heading, its first paragraph, and its code. Only
//! titles and descriptions are made from this; prompts are never re-rendered.

use super::file_text::truncate_at_boundary;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::ops::Range;

/// How much of a body is parsed for its outline, in bytes. It bounds the cost of a huge or hostile
/// body.
const MAX_PARSED_BYTES: usize = 16 * 1024;

/// The length of the longest description that is derived from a body, in characters.
const MAX_DESCRIPTION_CHARS: usize = 160;

/// The parts of a body from which a title and a description can be derived.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outline {
    /// The first heading.
    pub(super) heading: Option<String>,
    /// The first paragraph, truncated at a word to 160 characters. If there is none, the first
    /// other text that isn't a heading, e.g. a list item.
    pub(super) paragraph: Option<String>,
}

impl Outline {
    /// Returns the paragraph, falling back to the heading, which is truncated in the same way.
    pub(super) fn description(self) -> Option<String> {
        self.paragraph
            .or_else(|| self.heading.map(truncate_at_word))
    }
}

/// Parses the beginning of a body, up to its first heading and its first paragraph.
pub(super) fn parse_outline(body: &str) -> Outline {
    let body = truncate_at_boundary(body, MAX_PARSED_BYTES);
    let mut blocks = FirstBlocks::default();
    for (event, range) in Parser::new(body).into_offset_iter() {
        match event {
            Event::Start(tag) => blocks.start(&tag),
            Event::End(tag) => blocks.end(tag),
            Event::Text(piece) | Event::Code(piece) => blocks.text += &piece,
            Event::SoftBreak | Event::HardBreak => blocks.text.push(' '),
            Event::InlineHtml(_) if is_placeholder(body, &range) => blocks.text += &body[range],
            Event::Html(html) => push_without_tags(&mut blocks.text, &html),
            _ => {}
        }
        if blocks.heading.is_some() && blocks.paragraph.is_some() {
            break;
        }
    }
    Outline {
        heading: blocks.heading,
        paragraph: blocks.paragraph.or(blocks.other).map(truncate_at_word),
    }
}

/// The first block of each kind that has been parsed so far.
#[derive(Default)]
struct FirstBlocks {
    heading: Option<String>,
    paragraph: Option<String>,
    /// A list item, a code block or an HTML block.
    other: Option<String>,
    /// The text of the current block so far. A nested block ends it.
    text: String,
    is_in_heading_or_paragraph: bool,
}

impl FirstBlocks {
    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { .. } | Tag::Paragraph => {
                finish_block(&mut self.other, &mut self.text);
                self.is_in_heading_or_paragraph = true;
            }
            Tag::List(_) if !self.is_in_heading_or_paragraph => {
                finish_block(&mut self.other, &mut self.text);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                finish_block(&mut self.heading, &mut self.text);
                self.is_in_heading_or_paragraph = false;
            }
            TagEnd::Paragraph => {
                finish_block(&mut self.paragraph, &mut self.text);
                self.is_in_heading_or_paragraph = false;
            }
            TagEnd::Item | TagEnd::CodeBlock | TagEnd::HtmlBlock => {
                finish_block(&mut self.other, &mut self.text);
            }
            _ => {}
        }
    }
}

/// The byte ranges of the code blocks and inline code in a body.
pub(super) struct Code {
    /// In ascending order, which `contains` relies on.
    ranges: Vec<Range<usize>>,
}

impl Code {
    /// Finds the code in a body.
    pub(super) fn find_in(body: &str) -> Code {
        let mut ranges = Vec::new();
        for (event, range) in Parser::new(body).into_offset_iter() {
            if matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))) {
                ranges.push(range);
            }
        }
        Code { ranges }
    }

    /// Returns whether the byte at `offset` is in code.
    pub(super) fn contains(&self, offset: usize) -> bool {
        let count = self.ranges.partition_point(|range| range.start <= offset);
        let last_before = self.ranges[..count].last();
        last_before.is_some_and(|range| offset < range.end)
    }
}

/// Ends a block: stores its text as the first of its kind, unless there already is one or the text
/// is blank. Clears `text` in any case.
fn finish_block(first: &mut Option<String>, text: &mut String) {
    if first.is_none() {
        let words: Vec<&str> = text.split_whitespace().collect();
        if !words.is_empty() {
            *first = Some(words.join(" "));
        }
    }
    text.clear();
}

/// Returns whether the parser mistook a placeholder for an HTML tag: the `<input>` in `<<input>>`.
fn is_placeholder(body: &str, range: &Range<usize>) -> bool {
    body[..range.start].ends_with('<') && body[range.end..].starts_with('>')
}

/// Appends HTML without its tags.
fn push_without_tags(text: &mut String, html: &str) {
    let mut rest = html;
    while let Some((before, tag)) = rest.split_once('<') {
        text.push_str(before);
        rest = match tag.split_once('>') {
            Some((_, after)) => after,
            None => "",
        };
    }
    text.push_str(rest);
}

/// Truncates a text to at most 160 characters, at the end of a word if possible.
fn truncate_at_word(text: String) -> String {
    let Some((end, _)) = text.char_indices().nth(MAX_DESCRIPTION_CHARS) else {
        return text;
    };
    if text[end..].starts_with(' ') {
        return text[..end].to_owned();
    }
    let last_space = text[..end].rfind(' ');
    text[..last_space.unwrap_or(end)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, heading: Option<&str>, paragraph: Option<&str>) {
        let want = Outline {
            heading: heading.map(str::to_owned),
            paragraph: paragraph.map(str::to_owned),
        };
        assert_eq!(parse_outline(body), want, "{body:?}");
    }

    #[test]
    fn the_first_heading_and_the_first_paragraph_are_plain_text() {
        check(
            "# The *big* `one`\n\nSee [the\nlink](http://x) & **bold** `code`.\n\nMore.",
            Some("The big one"),
            Some("See the link & bold code."),
        );
        check(
            "Text first.\n\n## Then a heading",
            Some("Then a heading"),
            Some("Text first."),
        );
        check("Setext\n======\ntext", Some("Setext"), Some("text"));
        check("#\n\n# Second", Some("Second"), None);
        check("", None, None);
    }

    #[test]
    fn placeholders_are_text_and_tags_are_not() {
        check(
            "About <<input>> and {{input}}.",
            None,
            Some("About <<input>> and {{input}}."),
        );
        check("Some <b>bold</b> words", None, Some("Some bold words"));
        check("<!-- a note -->\n\nText", None, Some("Text"));
    }

    #[test]
    fn without_a_paragraph_the_first_other_text_serves() {
        check("# H\n\n- one *item*\n- two", Some("H"), Some("one item"));
        check("- outer\n  - inner", None, Some("outer"));
        check("```\ncode\n```", None, Some("code"));
        check("<task>\nDo it.\n</task>", None, Some("Do it."));
        check("- one\n\nA paragraph.", None, Some("A paragraph."));
    }

    #[test]
    fn a_paragraph_is_cut_after_a_word_at_160_characters() {
        let words = "wörd ".repeat(40);
        let cut = parse_outline(&words).paragraph.unwrap();
        assert_eq!(cut, "wörd ".repeat(32).trim_end());
        let exact = format!("{} {}", "a".repeat(100), "b".repeat(59));
        assert_eq!(parse_outline(&exact).paragraph.unwrap(), exact);
        assert_eq!(
            parse_outline(&format!("{exact} c")).paragraph.unwrap(),
            exact
        );
        assert_eq!(
            parse_outline(&"é".repeat(500)).paragraph.unwrap(),
            "é".repeat(160)
        );
    }

    #[test]
    fn only_the_beginning_of_a_huge_body_is_parsed() {
        let body = format!("First.\n\n{}", "é[".repeat(500_000));
        check(&body, None, Some("First."));
        let late =
            |newlines: usize| parse_outline(&format!("{}Late", "\n".repeat(newlines))).paragraph;
        assert_eq!(late(MAX_PARSED_BYTES), None);
        assert_eq!(late(MAX_PARSED_BYTES - 4).as_deref(), Some("Late"));
    }
}
