//! Words for errors: how a text that somebody sent is shown, and which known word they may have meant.
//!
//! It never decides whether a word is right; it only helps to say that it is not.

/// The longest text that an error repeats, in characters; what is longer ends in `…`.
const SHOWN: usize = 60;

/// Shows a text in backticks: control characters escaped, cut at 60 characters.
pub(crate) fn quoted(text: &str) -> String {
    let cut = text.char_indices().nth(SHOWN).map(|(at, _)| &text[..at]);
    format!("`{}{}`", printable(cut.unwrap_or(text)).replace('`', "'"), if cut.is_some() { "…" } else { "" })
}

/// A text that can be printed in one line: control characters escaped.
pub(crate) fn printable(text: &str) -> String {
    let escape = |character: char| {
        if character.is_control() { character.escape_default().collect() } else { character.to_string() }
    };
    text.chars().map(escape).collect()
}

/// Shows one of our own names in backticks: whole, so that it can be copied.
pub(crate) fn named(name: &str) -> String {
    format!("`{}`", printable(name))
}

/// Names: `` `a` ``, `` `a` or `b` ``, `` `a`, `b` or `c` ``.
pub(crate) fn alternatives(names: &[&str]) -> String {
    let named: Vec<String> = names.iter().map(|name| named(name)).collect();
    match named.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}

/// One `thing`, two `thing`s.
pub(crate) fn count(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// The longest known word that is compared, in characters. Nobody types a longer one, and the cost grows by the square.
const COMPARED: usize = 64;

/// How far `word` is from `known`, or `None` where nobody would take one for a slip of the other.
///
/// The measure is the optimal string alignment distance (an edit is one character added, dropped, changed, or two
/// neighbors swapped), letter case ignored; a third of the longer word may differ, as Cargo and rustc allow.
pub(crate) fn distance(word: &str, known: &str) -> Option<usize> {
    let length = known.chars().count();
    // Four bytes are the most that a character takes: this keeps a huge word from being measured, or copied.
    if length > COMPARED || word.len() > 4 * (length + length / 2 + 1) {
        return None;
    }
    let word_length = word.chars().count();
    let allowed = (word_length.max(length) / 3).max(1);
    if word_length.abs_diff(length) > allowed {
        return None;
    }
    let distance = strsim::osa_distance(&word.to_lowercase(), &known.to_lowercase());
    (distance <= allowed && distance < length).then_some(distance)
}

/// The known word that `word` is most likely a slip of; the first of several that are equally near.
pub(crate) fn closest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let near = known.into_iter().filter_map(|known| Some((distance(word, known)?, known)));
    near.min_by_key(|&(distance, _)| distance).map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_finds_the_word_that_was_meant() {
        let known = ["research", "summarize", "git/commit", "test"];
        for (word, meant) in [
            ("reserch", Some("research")),
            ("RESEARCH", Some("research")),
            ("summarise", Some("summarize")),
            ("tset", Some("test")),
            ("xyzzy", None),
            ("", None),
        ] {
            assert_eq!(closest(word, known), meant, "{word}");
        }
        assert_eq!(closest(&"r".repeat(100_000), known), None);
    }

    #[test]
    fn a_shown_text_is_short_and_holds_no_control_characters() {
        assert_eq!(quoted("git:commit"), "`git:commit`");
        assert_eq!(quoted("a\nb\0`"), "`a\\nb\\u{0}'`");
        assert_eq!(quoted(&"x".repeat(100_000)), format!("`{}…`", "x".repeat(60)));
    }

    #[test]
    fn a_name_to_be_copied_is_shown_whole() {
        assert_eq!(alternatives(&["a", "it`s", &"x".repeat(200)]), format!("`a`, `it`s` or `{}`", "x".repeat(200)));
    }
}
