//! Finds the known word to suggest for an unknown one. Only messages use it.

/// The longest known word that is compared, in characters: longer ones are not typed, and the cost
/// of a comparison is the product of the two lengths.
const MAX_COMPARED: usize = 64;

/// Returns how many edits separate `word` from `known`, or `None` if they are too different for a
/// misspelling: 1 for `reveiw` and `review`, `None` for `deploy` and `review`.
///
/// The measure is the optimal string alignment distance: an edit adds, drops or changes one
/// character, or swaps two neighbors. Letter case makes no difference. A third of the longer word
/// may differ, at least one character, as in Cargo and rustc.
pub(crate) fn edit_distance(word: &str, known: &str) -> Option<usize> {
    let known_length = known.chars().count();
    // A huge word is neither counted nor copied. A word that is more than half longer than the
    // known one differs too much, and each of its characters has at most four bytes.
    let max_word_length = known_length + known_length / 2 + 1;
    let max_word_bytes = 4 * max_word_length;
    if known_length > MAX_COMPARED || word.len() > max_word_bytes {
        return None;
    }
    let word_length = word.chars().count();
    let max_distance = (word_length.max(known_length) / 3).max(1);
    if word_length.abs_diff(known_length) > max_distance {
        return None; // at least as many characters are added or dropped
    }
    let distance = strsim::osa_distance(&word.to_lowercase(), &known.to_lowercase());
    let keeps_no_character = distance >= known_length;
    if distance > max_distance || keeps_no_character {
        return None;
    }
    Some(distance)
}

/// Returns the known word that is closest to `word`; the first of several that are equally close.
pub(crate) fn closest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let mut closest = None;
    let mut least = usize::MAX;
    for candidate in known {
        if let Some(distance) = edit_distance(word, candidate)
            && distance < least
        {
            closest = Some(candidate);
            least = distance;
        }
    }
    closest
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
