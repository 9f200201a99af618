//! What is different in two texts, as HTML.

use super::text::Text;
use crate::library::{DiffLine, hunks};
use maud::{Markup, html};

/// How many lines are shown.
const MAX_LINES: usize = 10_000;

/// What becomes of the first text, line by line with three lines around each change; `None` if that is too long for the page.
/// Equal texts have no lines.
pub(super) fn diff(old: &str, new: &str, label: &str) -> Option<Markup> {
    let hunks = hunks(old, new);
    if hunks.iter().map(|hunk| hunk.lines.len()).sum::<usize>() > MAX_LINES {
        return None;
    }
    Some(html! {
        pre.paper.diff tabindex="0" role="group" aria-label=(label) {
            @for (number, hunk) in hunks.iter().enumerate() {
                @if number > 0 { span.gap aria-hidden="true" { "⋯\n" } }
                @for line in &hunk.lines {
                    @match line {
                        DiffLine::Context(text) => { span { (Text(text)) } },
                        DiffLine::Delete(text) => { del { (Text(text)) } },
                        DiffLine::Insert(text) => { ins { (Text(text)) } },
                    }
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_marked_as_removed_and_added_and_are_text() {
        let html = diff("a\n<b>\n", "a\n</pre>\n", "x").unwrap().into_string();
        assert!(html.ends_with("<span>a\n</span><del>&lt;b&gt;\n</del><ins>&lt;/pre&gt;\n</ins></pre>"), "{html}");
        assert!(diff("a", "a", "x").unwrap().into_string().ends_with("></pre>"));
    }

    #[test]
    fn only_what_differs_counts_for_the_limit() {
        let long = "same\n".repeat(100_000);
        assert!(diff(&format!("{long}a\n{long}"), &format!("{long}b\nc\n{long}"), "x").is_some());
        let [old, new] = ["a", "b"].map(|text| (0..6_000).map(|line| format!("{text}{line}\n")).collect::<String>());
        assert!(diff(&old, &new, "x").is_none());
    }
}
