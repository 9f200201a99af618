//! Suggests a known word for a misspelled one ("did you mean …").

/// The length of the longest known word that is compared, in characters. It bounds the cost, which
/// is proportional to the product of the lengths.
const MAX_COMPARED_CHARS: usize = 64;

/// Returns the number of edits between `word` and `known`, or `None` if `word` is too different to
/// be a misspelling: 1 for `reveiw` and `review`, `None` for `deploy` and `review`.
///
/// This is the optimal string alignment distance: an edit inserts, deletes or replaces a character,
/// or swaps two adjacent ones. Case is ignored. As in Cargo and rustc, at most a third of the
/// longer word may differ, but at least one character.
pub(crate) fn edit_distance(word: &str, known: &str) -> Option<usize> {
    let known_chars = known.chars().count();
    // Reject huge words by their byte length, before their characters are counted or copied. A word
    // that is longer than one and a half times the known one always differs too much.
    let max_word_chars = known_chars + known_chars / 2 + 1;
    let max_word_bytes = 4 * max_word_chars; // a character has at most 4 bytes in UTF-8
    if known_chars > MAX_COMPARED_CHARS || word.len() > max_word_bytes {
        return None;
    }
    let word_chars = word.chars().count();
    let max_distance = (word_chars.max(known_chars) / 3).max(1);
    if word_chars.abs_diff(known_chars) > max_distance {
        return None; // the distance is at least the difference in length
    }
    let distance = strsim::osa_distance(&word.to_lowercase(), &known.to_lowercase());
    let keeps_no_character = distance >= known_chars;
    if distance > max_distance || keeps_no_character {
        return None;
    }
    Some(distance)
}

/// Returns the known word with the smallest distance to `word`, or `None` if none is similar. Of
/// equally close words, the first one is returned.
pub(crate) fn closest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let mut closest_word = None;
    let mut least_distance = usize::MAX;
    for candidate in known {
        if let Some(distance) = edit_distance(word, candidate)
            && distance < least_distance
        {
            closest_word = Some(candidate);
            least_distance = distance;
        }
    }
    closest_word
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelled_word_finds_the_word_that_was_meant() {
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
