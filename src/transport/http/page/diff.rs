//! What is different in two texts, as HTML.

use super::text::Text;
use diffy::{DiffOptions, Line};
use maud::{Markup, html};

/// How many lines that may differ are compared. The time grows with their square.
const MAX_LINES: usize = 10_000;

/// What becomes of the first text, line by line with three lines around each change; `None` if the texts are too long to be compared.
/// Equal texts have no lines.
pub(super) fn diff(old: &str, new: &str, label: &str) -> Option<Markup> {
    if changed_lines(old, new) > MAX_LINES {
        return None;
    }
    let patch = DiffOptions::new().create_patch(old, new);
    Some(html! {
        pre.paper.diff tabindex="0" role="group" aria-label=(label) {
            @for (number, hunk) in patch.hunks().iter().enumerate() {
                @if number > 0 { span.gap aria-hidden="true" { "⋯\n" } }
                @for line in hunk.lines() {
                    @match line {
                        Line::Context(text) => { span { (Text(text)) } },
                        Line::Delete(text) => { del { (Text(text)) } },
                        Line::Insert(text) => { ins { (Text(text)) } },
                    }
                }
            }
        }
    })
}

/// How many lines both texts have between their equal beginnings and ends.
fn changed_lines(old: &str, new: &str) -> usize {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let start = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old, new) = (&old[start..], &new[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(|(old, new)| old == new).count();
    old.len() + new.len() - 2 * end
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
        assert_eq!(changed_lines(&format!("{long}a\n{long}"), &format!("{long}b\nc\n{long}")), 3);
        assert_eq!((changed_lines("a\n", "a\n"), changed_lines("", "a\nb")), (0, 2));
        let [old, new] = ["a", "b"].map(|text| (0..6_000).map(|line| format!("{text}{line}\n")).collect::<String>());
        assert!(diff(&old, &new, "x").is_none());
    }
}
