//! Which known word somebody may have meant by another.
//!
//! It never decides whether a word is right; it only helps to say that it is not.

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
    if word_length.abs_diff(length) > allowed || letters_apart(word, known) > allowed {
        return None;
    }
    let distance = strsim::osa_distance(&word.to_lowercase(), &known.to_lowercase());
    (distance <= allowed && distance < length).then_some(distance)
}

/// How many letters at least one of two words has that the other has not: so many edits there are at least. It spares nearly
/// all words the measure, which costs a hundred times as much.
fn letters_apart(a: &str, b: &str) -> usize {
    if !(a.is_ascii() && b.is_ascii()) {
        return 0; // whatever such letters are in lowercase
    }
    let letters =
        |word: &str| word.bytes().fold(0_u64, |letters, byte| letters | 1 << (byte.to_ascii_lowercase() & 63));
    let (a, b) = (letters(a), letters(b));
    (a & !b).count_ones().max((b & !a).count_ones()) as usize
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
}
