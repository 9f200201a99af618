//! How two texts of a prompt differ.

use diffy::{DiffOptions, Line};
use serde::Serialize;

/// How many equal lines are shown before and after different ones.
const CONTEXT: usize = 3;

/// Of parts that differ in more lines, or more bytes, all lines are shown as different: a search
/// for equal ones would take minutes.
const MAX_LINES: usize = 2_000;
const MAX_BYTES: usize = 64 * 1024;

/// A line of one of two texts, or of both, with its line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "text", rename_all = "lowercase")]
pub enum DiffLine<'t> {
    /// In both.
    Context(&'t str),
    /// In the first.
    Delete(&'t str),
    /// In the second.
    Insert(&'t str),
}

/// A part of two texts that differs, with the equal lines around it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hunk<'t> {
    /// The number of its first line in each of the texts; 0 if the text is empty.
    #[serde(skip)]
    starts: [usize; 2],
    /// Its lines.
    pub lines: Vec<DiffLine<'t>>,
}

impl Hunk<'_> {
    /// Returns its range of lines in the old and in the new text, as in the head of a hunk.
    fn ranges(&self) -> [String; 2] {
        let mut counts = [0; 2];
        for line in &self.lines {
            if !matches!(line, DiffLine::Insert(_)) {
                counts[0] += 1;
            }
            if !matches!(line, DiffLine::Delete(_)) {
                counts[1] += 1;
            }
        }
        [
            range_of(self.starts[0], counts[0]),
            range_of(self.starts[1], counts[1]),
        ]
    }
}

/// Returns a range of lines as a unified diff shows it: `START,COUNT`, or `START` for one line.
fn range_of(start: usize, count: usize) -> String {
    if count == 1 {
        start.to_string()
    } else {
        format!("{start},{count}")
    }
}

/// Two texts as lines, with their equal beginning and end.
struct Compared<'t> {
    old: Vec<&'t str>,
    new: Vec<&'t str>,
    /// How many lines at the beginning are equal.
    equal_start: usize,
    /// How many of the other lines at the end are equal.
    equal_end: usize,
}

/// Returns the parts of two texts that differ; none if the texts are equal.
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
        let old_rest = &old[equal_start..];
        let new_rest = &new[equal_start..];
        let equal_end = count_equal(old_rest.iter().rev().zip(new_rest.iter().rev()));
        Compared {
            old,
            new,
            equal_start,
            equal_end,
        }
    }

    /// Returns the old lines between the equal ones.
    fn removed(&self) -> &[&'t str] {
        &self.old[self.equal_start..self.old.len() - self.equal_end]
    }

    /// Returns the new lines between the equal ones.
    fn added(&self) -> &[&'t str] {
        &self.new[self.equal_start..self.new.len() - self.equal_end]
    }

    /// Returns one hunk that replaces everything between the common beginning and the common end.
    fn whole_difference(&self) -> Hunk<'t> {
        let before = self.equal_start.min(CONTEXT);
        let after = self.equal_end.min(CONTEXT);
        let first = self.equal_start - before;
        let end = self.old.len() - self.equal_end;
        let mut lines = Vec::new();
        lines.extend(
            self.old[first..self.equal_start]
                .iter()
                .map(|line| DiffLine::Context(line)),
        );
        lines.extend(self.removed().iter().map(|line| DiffLine::Delete(line)));
        lines.extend(self.added().iter().map(|line| DiffLine::Insert(line)));
        lines.extend(
            self.old[end..end + after]
                .iter()
                .map(|line| DiffLine::Context(line)),
        );
        Hunk {
            starts: [&self.old, &self.new].map(|all| if all.is_empty() { 0 } else { first + 1 }),
            lines,
        }
    }

    /// Converts a hunk of diffy. Its lines are those of the texts that are compared, which live
    /// longer than the patch.
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

/// Returns how many pairs of lines are equal, up to the first that is not.
fn count_equal<'l, 't: 'l>(pairs: impl Iterator<Item = (&'l &'t str, &'l &'t str)>) -> usize {
    pairs.take_while(|(old, new)| old == new).count()
}

/// A unified diff of two texts, with these labels; empty if they are equal.
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
