//! How two texts of a prompt differ.

use diffy::DiffOptions;

/// How many equal lines are shown before and after different ones.
const CONTEXT: usize = 3;

/// Of parts that differ in more lines, or more bytes, all lines are shown as different: a search for equal ones would take minutes.
const MAX_LINES: usize = 2_000;
const MAX_BYTES: usize = 64 * 1024;

/// A unified diff of two texts, with these labels; empty if they are equal.
pub fn difference((old_label, old): (&str, &str), (new_label, new): (&str, &str)) -> String {
    if old == new {
        return String::new();
    }
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) = (lines(old), lines(new));
    let start = old_lines.iter().zip(&new_lines).take_while(|(old, new)| old == new).count();
    let rest = old_lines.len().min(new_lines.len()) - start;
    let end = old_lines.iter().rev().zip(new_lines.iter().rev()).take(rest).take_while(|(old, new)| old == new).count();
    let (removed, added) = (&old_lines[start..old_lines.len() - end], &new_lines[start..new_lines.len() - end]);
    let is_long =
        |lines: &[&str]| lines.len() > MAX_LINES || lines.iter().map(|line| line.len()).sum::<usize>() > MAX_BYTES;
    if !is_long(removed) && !is_long(added) {
        let mut options = DiffOptions::new();
        options.set_context_len(CONTEXT).set_original_filename(old_label.to_owned());
        return options.set_modified_filename(new_label.to_owned()).create_patch(old, new).to_string();
    }
    let (before, after) = (start.min(CONTEXT), end.min(CONTEXT));
    let range = |lines: &[&str]| format!("{},{}", start - before + 1, before + lines.len() + after);
    let mut text = format!("--- {old_label}\n+++ {new_label}\n@@ -{} +{} @@\n", range(removed), range(added));
    let context = |from: usize, count: usize| old_lines[from..from + count].iter().map(|line| (' ', line));
    let changed = removed.iter().map(|line| ('-', line)).chain(added.iter().map(|line| ('+', line)));
    for (mark, line) in context(start - before, before).chain(changed).chain(context(old_lines.len() - end, after)) {
        text.push(mark);
        text += line;
        if !line.ends_with('\n') {
            text += "\n\\ No newline at end of file\n";
        }
    }
    text
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_long_texts_differ_in_the_same_form() {
        let diff = |old: &str, new: &str| difference(("a", old), ("b", new));
        assert_eq!(diff("same\n", "same\n"), "");
        assert_eq!(diff("1\n2\n", "1\n3\n"), "--- a\n+++ b\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n");
        let long = |word: &str| format!("1\n2\n3\n4\n{}end\n", format!("{word}\n").repeat(5_000));
        let text = diff(&long("x"), &long("y"));
        assert!(text.starts_with("--- a\n+++ b\n@@ -2,5004 +2,5004 @@\n 2\n 3\n 4\n-x\n"), "{text:.80}");
        assert!(text.ends_with("+y\n end\n"));
        assert_eq!(text.matches("\n-x").count(), 5_000);
        assert_eq!(diffy::apply(&long("x"), &diffy::Patch::from_str(&text).unwrap()).unwrap(), long("y"));
    }
}
