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
    /// The lines of it in the first and in the second text, as in the head of a hunk.
    fn ranges(&self) -> [String; 2] {
        let is_in = |line: &DiffLine<'_>, text: usize| match line {
            DiffLine::Context(_) => true,
            DiffLine::Delete(_) => text == 0,
            DiffLine::Insert(_) => text == 1,
        };
        [0, 1].map(
            |text| match self.lines.iter().filter(|line| is_in(line, text)).count() {
                1 => self.starts[text].to_string(),
                count => format!("{},{count}", self.starts[text]),
            },
        )
    }
}

/// The parts of two texts that differ; none if they are equal.
pub fn hunks<'t>(old: &'t str, new: &'t str) -> Vec<Hunk<'t>> {
    if old == new {
        return Vec::new();
    }
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) = (lines(old), lines(new));
    let start = old_lines
        .iter()
        .zip(&new_lines)
        .take_while(|(old, new)| old == new)
        .count();
    let rest = old_lines.len().min(new_lines.len()) - start;
    let end = old_lines
        .iter()
        .rev()
        .zip(new_lines.iter().rev())
        .take(rest)
        .take_while(|(old, new)| old == new)
        .count();
    let (removed, added) = (
        &old_lines[start..old_lines.len() - end],
        &new_lines[start..new_lines.len() - end],
    );
    if !is_long(removed) && !is_long(added) {
        let patch = DiffOptions::new()
            .set_context_len(CONTEXT)
            .create_patch(old, new);
        let mut hunks = Vec::new();
        for hunk in patch.hunks() {
            let starts = [hunk.old_range().start(), hunk.new_range().start()];
            let [mut olds, mut news] = [(&old_lines, starts[0]), (&new_lines, starts[1])]
                .map(|(lines, start)| lines.iter().copied().skip(start.saturating_sub(1)));
            let lines = hunk.lines().iter().filter_map(|line| match line {
                Line::Context(_) => olds.next().and(news.next()).map(DiffLine::Context),
                Line::Delete(_) => olds.next().map(DiffLine::Delete),
                Line::Insert(_) => news.next().map(DiffLine::Insert),
            });
            hunks.push(Hunk {
                starts,
                lines: lines.collect(),
            });
        }
        return hunks;
    }
    let (before, after) = (start.min(CONTEXT), end.min(CONTEXT));
    let context = |lines: &[&'t str]| {
        lines
            .iter()
            .copied()
            .map(DiffLine::Context)
            .collect::<Vec<_>>()
    };
    let mut lines = context(&old_lines[start - before..start]);
    lines.extend(removed.iter().copied().map(DiffLine::Delete));
    lines.extend(added.iter().copied().map(DiffLine::Insert));
    lines.extend(context(&old_lines[old_lines.len() - end..][..after]));
    let start_in = |text: &str| {
        if text.is_empty() {
            0
        } else {
            start - before + 1
        }
    };
    vec![Hunk {
        starts: [start_in(old), start_in(new)],
        lines,
    }]
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

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
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
