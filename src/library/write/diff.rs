//! Diffs between two texts of a prompt.

use diffy::{DiffOptions, Line};
use serde::Serialize;

/// The number of context lines before and after the changes in a hunk.
const CONTEXT_LINES: usize = 3;

/// The maximum number of changed lines that are diffed line by line. For more, diffing would take
/// minutes.
const MAX_DIFFED_LINES: usize = 2_000;

/// The maximum number of changed bytes that are diffed line by line.
const MAX_DIFFED_BYTES: usize = 64 * 1024;

/// A line of a diff, with its line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "text", rename_all = "lowercase")]
pub enum DiffLine<'t> {
    /// The line is in both texts.
    Context(&'t str),
    /// The line is only in the old text.
    Delete(&'t str),
    /// The line is only in the new text.
    Insert(&'t str),
}

/// A group of changed lines and the context lines around them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hunk<'t> {
    /// The 1-based number of the first line in the old and in the new text; 0 for an empty text.
    #[serde(skip)]
    start_lines: [usize; 2],
    /// The lines, in the order of a unified diff.
    pub lines: Vec<DiffLine<'t>>,
}

impl Hunk<'_> {
    /// Returns the line ranges in the old and in the new text for the hunk's header: `2,4` and
    /// `2,5` for `@@ -2,4 +2,5 @@`.
    fn header_ranges(&self) -> [String; 2] {
        let mut old_count = 0;
        let mut new_count = 0;
        for line in &self.lines {
            match line {
                DiffLine::Context(_) => {
                    old_count += 1;
                    new_count += 1;
                }
                DiffLine::Delete(_) => old_count += 1,
                DiffLine::Insert(_) => new_count += 1,
            }
        }
        let [old_start, new_start] = self.start_lines;
        [
            format_range(old_start, old_count),
            format_range(new_start, new_count),
        ]
    }
}

/// Formats a range of lines for the header of a hunk: `2,5` for five lines from line 2, or `2` for
/// a single line.
fn format_range(start: usize, count: usize) -> String {
    if count == 1 {
        start.to_string()
    } else {
        format!("{start},{count}")
    }
}

/// The lines of two texts, and how many of them are equal at the beginning and at the end.
struct ComparedLines<'t> {
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    /// The number of equal lines at the beginning.
    prefix_len: usize,
    /// The number of equal lines at the end. It doesn't overlap the prefix.
    suffix_len: usize,
}

/// Returns the hunks of a diff between two texts. Equal texts have none.
///
/// If the texts differ over too many lines, returns a single hunk that replaces them all, because
/// diffing them line by line would take minutes.
pub fn hunks<'t>(old: &'t str, new: &'t str) -> Vec<Hunk<'t>> {
    if old == new {
        return Vec::new();
    }
    let compared = ComparedLines::new(old, new);
    if is_too_long(compared.removed()) || is_too_long(compared.added()) {
        return vec![compared.single_hunk()];
    }
    let patch = DiffOptions::new()
        .set_context_len(CONTEXT_LINES)
        .create_patch(old, new);
    let hunks = patch.hunks().iter();
    hunks.map(|hunk| compared.convert_hunk(hunk)).collect()
}

impl<'t> ComparedLines<'t> {
    /// Splits two texts into lines, and counts the lines that they have in common at the start and
    /// at the end.
    fn new(old_text: &'t str, new_text: &'t str) -> ComparedLines<'t> {
        let old: Vec<&str> = old_text.split_inclusive('\n').collect();
        let new: Vec<&str> = new_text.split_inclusive('\n').collect();
        let prefix_len = count_equal(old.iter().zip(&new));
        // Without the common prefix, so that no line counts twice.
        let old_from_end = old[prefix_len..].iter().rev();
        let new_from_end = new[prefix_len..].iter().rev();
        let suffix_len = count_equal(old_from_end.zip(new_from_end));
        ComparedLines {
            old,
            new,
            prefix_len,
            suffix_len,
        }
    }

    /// Returns the lines of the old text between the common prefix and suffix.
    fn removed(&self) -> &[&'t str] {
        &self.old[self.prefix_len..self.old.len() - self.suffix_len]
    }

    /// Returns the lines of the new text between the common prefix and suffix.
    fn added(&self) -> &[&'t str] {
        &self.new[self.prefix_len..self.new.len() - self.suffix_len]
    }

    /// Returns one hunk that replaces all lines between the common prefix and suffix.
    fn single_hunk(&self) -> Hunk<'t> {
        let first_index = self.prefix_len.saturating_sub(CONTEXT_LINES);
        let context_before = &self.old[first_index..self.prefix_len];
        let suffix = &self.old[self.old.len() - self.suffix_len..];
        let context_after = &suffix[..suffix.len().min(CONTEXT_LINES)];
        let mut lines = Vec::new();
        lines.extend(context_before.iter().map(|line| DiffLine::Context(line)));
        lines.extend(self.removed().iter().map(|line| DiffLine::Delete(line)));
        lines.extend(self.added().iter().map(|line| DiffLine::Insert(line)));
        lines.extend(context_after.iter().map(|line| DiffLine::Context(line)));
        let start_lines =
            [&self.old, &self.new].map(|text| if text.is_empty() { 0 } else { first_index + 1 });
        Hunk { start_lines, lines }
    }

    /// Converts a hunk from diffy. Its lines are looked up again in the two texts, because those in
    /// diffy's hunk are only borrowed from the patch, which is dropped first.
    fn convert_hunk(&self, hunk: &diffy::Hunk<'_, str>) -> Hunk<'t> {
        let start_lines = [hunk.old_range().start(), hunk.new_range().start()];
        let mut old = self.old.iter().skip(start_lines[0].saturating_sub(1));
        let mut new = self.new.iter().skip(start_lines[1].saturating_sub(1));
        let mut lines = Vec::new();
        for line in hunk.lines() {
            let line = match line {
                Line::Context(_) => {
                    old.next(); // a context line is in both texts
                    new.next().map(|line| DiffLine::Context(line))
                }
                Line::Delete(_) => old.next().map(|line| DiffLine::Delete(line)),
                Line::Insert(_) => new.next().map(|line| DiffLine::Insert(line)),
            };
            lines.extend(line);
        }
        Hunk { start_lines, lines }
    }
}

/// Returns the number of pairs of equal lines before the first pair that differs.
fn count_equal<'l, 't: 'l>(pairs: impl Iterator<Item = (&'l &'t str, &'l &'t str)>) -> usize {
    pairs.take_while(|(old, new)| old == new).count()
}

/// Returns a unified diff of two labeled texts, or an empty string if they are equal.
///
/// ```diff
/// --- old label
/// +++ new label
/// @@ -1,2 +1,2 @@
///  first line
/// -old line
/// +new line
/// ```
pub fn unified_diff((old_label, old): (&str, &str), (new_label, new): (&str, &str)) -> String {
    let hunks = hunks(old, new);
    if hunks.is_empty() {
        return String::new();
    }
    let mut diff = format!("--- {old_label}\n+++ {new_label}\n");
    for hunk in hunks {
        let [old_range, new_range] = hunk.header_ranges();
        diff += &format!("@@ -{old_range} +{new_range} @@\n");
        for line in hunk.lines {
            let (sign, line) = match line {
                DiffLine::Context(line) => (' ', line),
                DiffLine::Delete(line) => ('-', line),
                DiffLine::Insert(line) => ('+', line),
            };
            diff.push(sign);
            diff += line;
            if !line.ends_with('\n') {
                diff += "\n\\ No newline at end of file\n";
            }
        }
    }
    diff
}

/// Returns whether diffing these lines would take too long.
fn is_too_long(lines: &[&str]) -> bool {
    let bytes: usize = lines.iter().map(|line| line.len()).sum();
    lines.len() > MAX_DIFFED_LINES || bytes > MAX_DIFFED_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_texts_differ_in_the_same_form() {
        let diff = |old: &str, new: &str| unified_diff(("a", old), ("b", new));
        assert_eq!(diff("same\n", "same\n"), "");
        assert_eq!(
            diff("1\n2\n", "1\n3\n"),
            "--- a\n+++ b\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n"
        );
        let long = |word: &str| format!("1\n2\n3\n4\n{}end\n", format!("{word}\n").repeat(5_000));
        let text = diff(&long("x"), &long("y"));
        assert!(
            text.starts_with("--- a\n+++ b\n@@ -2,5004 +2,5004 @@\n 2\n 3\n 4\n-x\n"),
            "{text:.80}"
        );
        assert!(text.ends_with("+y\n end\n"));
        assert_eq!(text.matches("\n-x").count(), 5_000);
        for (old, new) in [
            (&*long("x"), &*long("y")),
            ("", &long("y")),
            (&long("x"), ""),
            ("", "1\n"),
            ("1", "1\n2"),
        ] {
            let text = diff(old, new);
            assert_eq!(
                diffy::apply(old, &diffy::Patch::from_str(&text).unwrap()).unwrap(),
                new
            );
        }
    }
}
