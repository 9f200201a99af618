//! The Markdown of a body: its first heading and its first paragraph as plain text, and where its
//! code is.
//!
//! Nothing of it is ever rendered back into a prompt.

use super::file_text::truncate_at_boundary;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};
use std::ops::Range;

/// How much of a body is parsed for its outline, in bytes. It bounds the cost of a huge or hostile
/// body; a paragraph that begins later is not a description.
const MAX_PARSED: usize = 16 * 1024;

/// The longest description that is made from a paragraph, in characters.
const MAX_DESCRIPTION: usize = 160;

/// What a body says about itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Outline {
    /// The first heading.
    pub(super) heading: Option<String>,
    /// The first paragraph; without one, the first other text that is not a heading, such as an
    /// item of a list. Cut after a word at 160 characters.
    pub(super) paragraph: Option<String>,
}

impl Outline {
    /// Returns the paragraph; without one, the heading, cut in the same way.
    pub(super) fn description(self) -> Option<String> {
        self.paragraph
            .or_else(|| self.heading.map(cut_after_a_word))
    }
}

/// Returns the first heading of a body and its first paragraph or, without a paragraph, the first
/// text in a list, a block of code or HTML.
pub(super) fn outline(body: &str) -> Outline {
    let body = truncate_at_boundary(body, MAX_PARSED);
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
        paragraph: blocks.paragraph.or(blocks.other).map(cut_after_a_word),
    }
}

/// The first block of each kind in a body that is being read.
#[derive(Default)]
struct FirstBlocks {
    heading: Option<String>,
    paragraph: Option<String>,
    /// An item of a list, a block of code or HTML.
    other: Option<String>,
    /// The text of the current block so far. The block ends where another one begins within it.
    text: String,
    is_in_heading_or_paragraph: bool,
}

impl FirstBlocks {
    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Heading { .. } | Tag::Paragraph => {
                set_first(&mut self.other, &mut self.text);
                self.is_in_heading_or_paragraph = true;
            }
            Tag::List(_) if !self.is_in_heading_or_paragraph => {
                set_first(&mut self.other, &mut self.text);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Heading(_) => {
                set_first(&mut self.heading, &mut self.text);
                self.is_in_heading_or_paragraph = false;
            }
            TagEnd::Paragraph => {
                set_first(&mut self.paragraph, &mut self.text);
                self.is_in_heading_or_paragraph = false;
            }
            TagEnd::Item | TagEnd::CodeBlock | TagEnd::HtmlBlock => {
                set_first(&mut self.other, &mut self.text);
            }
            _ => {}
        }
    }
}

/// The ranges of a body that are code: blocks, and spans between backquotes.
pub(super) struct Code {
    /// In the order of the body.
    ranges: Vec<Range<usize>>,
}

impl Code {
    /// Finds the code in a body.
    pub(super) fn of(body: &str) -> Code {
        let mut ranges = Vec::new();
        for (event, range) in Parser::new(body).into_offset_iter() {
            if matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(_))) {
                ranges.push(range);
            }
        }
        Code { ranges }
    }

    /// Returns whether the byte `at` is code.
    pub(super) fn contains(&self, at: usize) -> bool {
        let count = self.ranges.partition_point(|range| range.start <= at);
        let last = self.ranges[..count].last();
        last.is_some_and(|range| at < range.end)
    }
}

/// Ends a block: its text becomes the first of its kind, unless there is one already or the text is
/// blank. `text` is empty afterwards.
fn set_first(first: &mut Option<String>, text: &mut String) {
    if first.is_none() {
        let words: Vec<&str> = text.split_whitespace().collect();
        if !words.is_empty() {
            *first = Some(words.join(" "));
        }
    }
    text.clear();
}

/// Returns whether a tag of inline HTML is a placeholder: `<input>` in `<<input>>`.
fn is_placeholder(body: &str, range: &Range<usize>) -> bool {
    body[..range.start].ends_with('<') && body[range.end..].starts_with('>')
}

/// Adds a piece of HTML without its tags.
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

/// Returns at most 160 characters of a text, which end after a word.
fn cut_after_a_word(text: String) -> String {
    let Some((end, _)) = text.char_indices().nth(MAX_DESCRIPTION) else {
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
        assert_eq!(outline(body), want, "{body:?}");
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
        let cut = outline(&words).paragraph.unwrap();
        assert_eq!(cut, "wörd ".repeat(32).trim_end());
        let exact = format!("{} {}", "a".repeat(100), "b".repeat(59));
        assert_eq!(outline(&exact).paragraph.unwrap(), exact);
        assert_eq!(outline(&format!("{exact} c")).paragraph.unwrap(), exact);
        assert_eq!(
            outline(&"é".repeat(500)).paragraph.unwrap(),
            "é".repeat(160)
        );
    }

    #[test]
    fn only_the_beginning_of_a_huge_body_is_parsed() {
        let body = format!("First.\n\n{}", "é[".repeat(500_000));
        check(&body, None, Some("First."));
        let late = |newlines: usize| outline(&format!("{}Late", "\n".repeat(newlines))).paragraph;
        assert_eq!(late(MAX_PARSED), None);
        assert_eq!(late(MAX_PARSED - 4).as_deref(), Some("Late"));
    }
}
