//! Values of frontmatter that all agents read alike.

use crate::wording::one_line;

/// Returns a text on one line that all parsers of frontmatter read alike between double quotes.
pub fn frontmatter_value(text: &str) -> String {
    let text = one_line(text);
    // mcpc knows only some escapes, so there are none.
    let text = text.replace('"', "'").replace('\\', "/");
    with_spaced_ampersands(&with_short_dashes(&text))
}

/// Shortens each run of hyphens to two: Claude Code ends the frontmatter at `---`.
fn with_short_dashes(text: &str) -> String {
    let mut shortened = String::new();
    for letter in text.chars() {
        if letter != '-' || !shortened.ends_with("--") {
            shortened.push(letter);
        }
    }
    shortened
}

/// Adds a space after each `&` that Claude Code would take for the start of an anchor.
fn with_spaced_ampersands(text: &str) -> String {
    let mut spaced = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let is_after_word = spaced.ends_with(char::is_alphanumeric);
        spaced.push(letter);
        let is_before_word = letters.peek().is_some_and(|next| *next != ' ');
        if letter == '&' && !is_after_word && is_before_word {
            spaced.push(' ');
        }
    }
    spaced
}

#[cfg(test)]
mod tests {
    use super::frontmatter_value;

    #[test]
    fn a_value_has_nothing_that_parsers_read_differently() {
        for (text, want) in [
            ("say \"why\"", "say 'why'"),
            ("a\\b", "a/b"),
            ("a\nb", "a b"),
            ("--- a -- b", "-- a -- b"),
            ("&x &&y R&D & z &", "& x & & y R&D & z &"),
        ] {
            assert_eq!(frontmatter_value(text), want);
        }
    }
}
