//! How two texts of a prompt differ.

use diffy::{DiffOptions, Line};
use serde::Serialize;

/// How many equal lines a hunk has before and after the different ones.
const CONTEXT: usize = 3;

/// How many lines a part that differs may have, so that equal lines in it are searched for. In
/// longer parts, the search would take minutes.
const MAX_LINES: usize = 2_000;

/// How many bytes such a part may have.
const MAX_BYTES: usize = 64 * 1024;

/// A line of one of two texts, or of both, with its line break.
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

/// A part of two texts that differs, with the equal lines around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hunk<'t> {
    /// The number of the first line in the old and in the new text; 0 if that text is empty.
    #[serde(skip)]
    starts: [usize; 2],
    /// The lines of both texts, in the order of a unified diff.
    pub lines: Vec<DiffLine<'t>>,
}

impl Hunk<'_> {
    /// Returns the lines of the old text and those of the new text that the hunk shows, such as
    /// `2,4` and `2,5` in the head `@@ -2,4 +2,5 @@`.
    fn ranges(&self) -> [String; 2] {
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
        let [old_start, new_start] = self.starts;
        [
            range_of(old_start, old_count),
            range_of(new_start, new_count),
        ]
    }
}

/// Returns a range of lines as a unified diff shows it: `2,5` for five lines from line 2, and `2`
/// for one line.
fn range_of(start: usize, count: usize) -> String {
    if count == 1 {
        start.to_string()
    } else {
        format!("{start},{count}")
    }
}

/// Two texts, divided into lines, whose equal lines at the beginning and at the end are known.
struct Compared<'t> {
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    /// How many lines at the beginning are equal.
    equal_start: usize,
    /// How many lines at the end are equal. Lines that are part of the equal beginning do not
    /// count.
    equal_end: usize,
}

/// Returns the parts of two texts that differ, each with a few equal lines around it. Equal texts
/// have none.
///
/// If the part between the equal beginning and the equal end is long, it is one hunk, in which
/// every line is different: a search for equal lines in it would take minutes.
pub fn hunks<'t>(old: &'t str, new: &'t str) -> Vec<Hunk<'t>> {
    if old == new {
        return Vec::new();
    }
    let compared = Compared::of(old, new);
    if is_long(compared.removed()) || is_long(compared.added()) {
        return vec![compared.whole_difference()];
    }
    let patch = DiffOptions::new()
        .set_context_len(CONTEXT)
        .create_patch(old, new);
    let hunks = patch.hunks().iter();
    hunks.map(|hunk| compared.hunk(hunk)).collect()
}

impl<'t> Compared<'t> {
    /// Divides two texts into lines, and counts those that are equal at the start and at the end.
    fn of(old: &'t str, new: &'t str) -> Compared<'t> {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let new: Vec<&str> = new.split_inclusive('\n').collect();
        let equal_start = count_equal(old.iter().zip(&new));
        let old_from_end = old[equal_start..].iter().rev();
        let new_from_end = new[equal_start..].iter().rev();
        let equal_end = count_equal(old_from_end.zip(new_from_end));
        Compared {
            old,
            new,
            equal_start,
            equal_end,
        }
    }

    /// Returns the lines of the old text between the equal beginning and the equal end.
    fn removed(&self) -> &[&'t str] {
        &self.old[self.equal_start..self.old.len() - self.equal_end]
    }

    /// Returns the lines of the new text between the equal beginning and the equal end.
    fn added(&self) -> &[&'t str] {
        &self.new[self.equal_start..self.new.len() - self.equal_end]
    }

    /// Returns one hunk that replaces everything between the equal beginning and the equal end.
    fn whole_difference(&self) -> Hunk<'t> {
        let first = self.equal_start.saturating_sub(CONTEXT);
        let context_before = &self.old[first..self.equal_start];
        let equal_end = &self.old[self.old.len() - self.equal_end..];
        let context_after = &equal_end[..equal_end.len().min(CONTEXT)];
        let mut lines = Vec::new();
        lines.extend(context_before.iter().map(|line| DiffLine::Context(line)));
        lines.extend(self.removed().iter().map(|line| DiffLine::Delete(line)));
        lines.extend(self.added().iter().map(|line| DiffLine::Insert(line)));
        lines.extend(context_after.iter().map(|line| DiffLine::Context(line)));
        Hunk {
            starts: [&self.old, &self.new].map(|all| if all.is_empty() { 0 } else { first + 1 }),
            lines,
        }
    }

    /// Converts a hunk of diffy. The lines of the result are borrowed from the two texts, because
    /// the patch with the hunk is dropped before the result.
    fn hunk(&self, hunk: &diffy::Hunk<'_, str>) -> Hunk<'t> {
        let starts = [hunk.old_range().start(), hunk.new_range().start()];
        let mut old = self.old.iter().skip(starts[0].saturating_sub(1));
        let mut new = self.new.iter().skip(starts[1].saturating_sub(1));
        let mut lines = Vec::new();
        for line in hunk.lines() {
            let line = match line {
                Line::Context(_) => {
                    old.next();
                    new.next().map(|line| DiffLine::Context(line))
                }
                Line::Delete(_) => old.next().map(|line| DiffLine::Delete(line)),
                Line::Insert(_) => new.next().map(|line| DiffLine::Insert(line)),
            };
            lines.extend(line);
        }
        Hunk { starts, lines }
    }
}

/// Returns how many pairs of lines are equal, up to the first pair that is not.
fn count_equal<'l, 't: 'l>(pairs: impl Iterator<Item = (&'l &'t str, &'l &'t str)>) -> usize {
    pairs.take_while(|(old, new)| old == new).count()
}

/// Returns a unified diff of two texts, each of which has a label. It is empty if the texts are
/// equal.
///
/// ```diff
/// --- old label
/// +++ new label
/// @@ -1,2 +1,2 @@
///  first line
/// -old line
/// +new line
/// ```
pub fn difference((old_label, old): (&str, &str), (new_label, new): (&str, &str)) -> String {
    let hunks = hunks(old, new);
    if hunks.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {old_label}\n+++ {new_label}\n");
    for hunk in hunks {
        let [old, new] = hunk.ranges();
        text += &format!("@@ -{old} +{new} @@\n");
        for line in hunk.lines {
            let (mark, line) = match line {
                DiffLine::Context(line) => (' ', line),
                DiffLine::Delete(line) => ('-', line),
                DiffLine::Insert(line) => ('+', line),
            };
            text.push(mark);
            text += line;
            if !line.ends_with('\n') {
                text += "\n\\ No newline at end of file\n";
            }
        }
    }
    text
}

/// Returns whether a search for equal lines in these lines would take too long.
fn is_long(lines: &[&str]) -> bool {
    lines.len() > MAX_LINES || lines.iter().map(|line| line.len()).sum::<usize>() > MAX_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_texts_differ_in_the_same_form() {
        let diff = |old: &str, new: &str| difference(("a", old), ("b", new));
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
